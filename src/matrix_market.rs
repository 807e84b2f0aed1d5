//! Sparse matrices from Matrix Market files, in coordinate format.
//!
//! The module only provides the input of one program, SpMV, in compressed-row format. Format: R. F. Boisvert,
//! R. Pozo, K. A. Remington, *The Matrix Market Exchange Formats: Initial Design*, NISTIR 5935, 1996.

use std::str::{FromStr, SplitWhitespace};

/// One entry of a sparse matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// The row, from 0.
    pub row: u32,
    /// The column, from 0.
    pub column: u32,
    /// The value; 1 in files that store a pattern only.
    pub value: f64,
}

/// A sparse matrix as a list of entries.
///
/// Entries of symmetric files are there twice, on both sides of the diagonal. Several entries may have the same place; the
/// element of the matrix is their sum.
#[derive(Clone, Debug, PartialEq)]
pub struct CoordinateMatrix {
    /// Number of rows.
    pub rows: u32,
    /// Number of columns.
    pub columns: u32,
    /// The entries, in the order of the file; the mirrored one follows its original.
    pub entries: Vec<Entry>,
}

/// A sparse matrix in compressed rows.
#[derive(Clone, Debug, PartialEq)]
pub struct CompressedRows {
    /// Number of columns.
    pub columns: u32,
    /// For each row the position of its first entry, then the number of entries.
    pub row_starts: Vec<u32>,
    /// The column of each entry, ascending in a row.
    pub column_indices: Vec<u32>,
    /// The value of each entry.
    pub values: Vec<f64>,
}

/// The reason that a text cannot be read as a matrix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {kind}")]
pub struct MatrixMarketError {
    /// The line, from 1.
    pub line: usize,
    /// The kind of error.
    pub kind: MatrixMarketErrorKind,
}

/// The kinds of errors.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MatrixMarketErrorKind {
    /// The first line is not that of a Matrix Market file.
    #[error("expected `%%MatrixMarket matrix coordinate <field> <symmetry>`")]
    Header,
    /// A format, field or symmetry that is not read.
    #[error("{what} `{found}` is not supported; expected one of {}", expected.join(", "))]
    Unsupported {
        /// The meaning of the word in the header.
        what: &'static str,
        /// The word.
        found: String,
        /// The words that are read.
        expected: &'static [&'static str],
    },
    /// A line with fewer words than it needs.
    #[error("the line ends where {what} is expected")]
    Missing {
        /// The missing part.
        what: &'static str,
    },
    /// A word that is not a number, or a number out of range.
    #[error("`{found}` is no {what}")]
    Number {
        /// The expected kind of number.
        what: &'static str,
        /// The word.
        found: String,
    },
    /// A line with more words than it may have.
    #[error("unexpected `{found}` at the end of the line")]
    Trailing {
        /// The first word too many.
        found: String,
    },
    /// The file ends before the line with the sizes.
    #[error("the file ends before the sizes of the matrix")]
    NoSizes,
    /// An index outside the matrix; indices begin at 1.
    #[error("{what} {found} is outside 1..={size}")]
    Index {
        /// `row` or `column`.
        what: &'static str,
        /// The index in the file.
        found: u32,
        /// The number of rows or columns.
        size: u32,
    },
    /// A symmetric matrix that is not square.
    #[error("a symmetric matrix must be square, this one has {rows} rows and {columns} columns")]
    NotSquare {
        /// Number of rows.
        rows: u32,
        /// Number of columns.
        columns: u32,
    },
    /// An entry above the diagonal of a symmetric matrix. Files store only its lower triangle.
    #[error("entry ({row}, {column}) lies above the diagonal of a symmetric matrix")]
    AboveDiagonal {
        /// The row in the file.
        row: u32,
        /// The column in the file.
        column: u32,
    },
    /// Another number of entries than the sizes say.
    #[error("the sizes say {expected} entries, the file has {found}")]
    Count {
        /// The number of entries that the sizes state.
        expected: u32,
        /// The number of entries, at most one more than expected.
        found: usize,
    },
}

use MatrixMarketErrorKind as Kind;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Real,
    Integer,
    Pattern,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Symmetry {
    General,
    Symmetric,
}

impl FromStr for CoordinateMatrix {
    type Err = MatrixMarketError;

    /// Reads the text of a file: `coordinate` format, fields `real`, `integer` and `pattern`, symmetries `general` and
    /// `symmetric`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
        let header = lines.next().map_or("", |(_, line)| line);
        let (field, symmetry) = read_header(header).map_err(|kind| MatrixMarketError { line: 1, kind })?;
        let mut last = 1;
        let mut content = lines.inspect(|(line, _)| last = *line).filter(|(_, text)| {
            let text = text.trim_start();
            !text.is_empty() && !text.starts_with('%')
        });
        let Some((line, sizes)) = content.next() else {
            return Err(MatrixMarketError { line: last, kind: Kind::NoSizes });
        };
        let (rows, columns, count) =
            read_sizes(sizes, symmetry).map_err(|kind| MatrixMarketError { line, kind })?;
        let mut entries = Vec::new();
        let mut found = 0_usize;
        for (line, text) in content.by_ref() {
            found += 1;
            if found > count as usize {
                return Err(MatrixMarketError { line, kind: Kind::Count { expected: count, found } });
            }
            let entry = read_entry(text, field, symmetry, rows, columns)
                .map_err(|kind| MatrixMarketError { line, kind })?;
            entries.push(entry);
            if symmetry == Symmetry::Symmetric && entry.row != entry.column {
                entries.push(Entry { row: entry.column, column: entry.row, ..entry });
            }
        }
        if found < count as usize {
            return Err(MatrixMarketError { line: last, kind: Kind::Count { expected: count, found } });
        }
        Ok(CoordinateMatrix { rows, columns, entries })
    }
}

impl CoordinateMatrix {
    /// The same matrix in compressed rows; entries of one place stay apart, in the order of the list.
    pub fn compressed_rows(&self) -> CompressedRows {
        let mut row_starts = vec![0_u32; self.rows as usize + 1];
        for entry in &self.entries {
            row_starts[entry.row as usize + 1] += 1;
        }
        for row in 0..self.rows as usize {
            row_starts[row + 1] += row_starts[row];
        }
        let mut sorted = self.entries.clone();
        sorted.sort_by_key(|entry| (entry.row, entry.column));
        CompressedRows {
            columns: self.columns,
            row_starts,
            column_indices: sorted.iter().map(|entry| entry.column).collect(),
            values: sorted.iter().map(|entry| entry.value).collect(),
        }
    }
}

fn read_header(line: &str) -> Result<(Field, Symmetry), Kind> {
    let words: Vec<String> = line.split_whitespace().map(str::to_ascii_lowercase).collect();
    let [banner, object, format, field, symmetry] = words.as_slice() else {
        return Err(Kind::Header);
    };
    if banner != "%%matrixmarket" || object != "matrix" {
        return Err(Kind::Header);
    }
    let unsupported =
        |what, found: &String, expected| Kind::Unsupported { what, found: found.clone(), expected };
    if format != "coordinate" {
        return Err(unsupported("format", format, &["coordinate"]));
    }
    let field = match field.as_str() {
        "real" => Field::Real,
        "integer" => Field::Integer,
        "pattern" => Field::Pattern,
        _ => return Err(unsupported("field", field, &["real", "integer", "pattern"])),
    };
    let symmetry = match symmetry.as_str() {
        "general" => Symmetry::General,
        "symmetric" => Symmetry::Symmetric,
        _ => return Err(unsupported("symmetry", symmetry, &["general", "symmetric"])),
    };
    Ok((field, symmetry))
}

/// Rows, columns, and entries in the file. Twice the entries fit `u32`, as those of symmetric files are doubled.
fn read_sizes(line: &str, symmetry: Symmetry) -> Result<(u32, u32, u32), Kind> {
    let mut words = line.split_whitespace();
    let rows: u32 = number(&mut words, "number of rows")?;
    let columns: u32 = number(&mut words, "number of columns")?;
    let count: u32 = number(&mut words, "number of entries below 2^31")?;
    end(&mut words)?;
    if count > i32::MAX as u32 {
        return Err(Kind::Number { what: "number of entries below 2^31", found: count.to_string() });
    }
    if symmetry == Symmetry::Symmetric && rows != columns {
        return Err(Kind::NotSquare { rows, columns });
    }
    Ok((rows, columns, count))
}

fn read_entry(line: &str, field: Field, symmetry: Symmetry, rows: u32, columns: u32) -> Result<Entry, Kind> {
    let mut words = line.split_whitespace();
    let row: u32 = number(&mut words, "row")?;
    let column: u32 = number(&mut words, "column")?;
    let value = match field {
        Field::Real => number(&mut words, "value")?,
        Field::Integer => number::<i64>(&mut words, "integer")? as f64,
        Field::Pattern => 1.0,
    };
    end(&mut words)?;
    for (what, found, size) in [("row", row, rows), ("column", column, columns)] {
        if !(1..=size).contains(&found) {
            return Err(Kind::Index { what, found, size });
        }
    }
    if symmetry == Symmetry::Symmetric && column > row {
        return Err(Kind::AboveDiagonal { row, column });
    }
    Ok(Entry { row: row - 1, column: column - 1, value })
}

fn number<T: FromStr>(words: &mut SplitWhitespace<'_>, what: &'static str) -> Result<T, Kind> {
    let word = words.next().ok_or(Kind::Missing { what })?;
    word.parse().map_err(|_| Kind::Number { what, found: word.to_owned() })
}

fn end(words: &mut SplitWhitespace<'_>) -> Result<(), Kind> {
    words.next().map_or(Ok(()), |word| Err(Kind::Trailing { found: word.to_owned() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<CoordinateMatrix, MatrixMarketError> {
        text.parse()
    }

    #[test]
    fn general_and_symmetric_matrices() {
        let general = "%%MatrixMarket Matrix Coordinate REAL general\r\n% a comment\r\n\r\n2 3 3\r\n2 1 -1.5e1\r\n\r\n1 3 2\n1 2 4";
        let matrix = parse(general).unwrap();
        assert_eq!((matrix.rows, matrix.columns, matrix.entries.len()), (2, 3, 3));
        let rows = matrix.compressed_rows();
        assert_eq!((rows.row_starts, rows.column_indices), (vec![0, 2, 3], vec![1, 2, 0]));
        assert_eq!(rows.values, [4.0, 2.0, -15.0]);
        let symmetric = "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 2\n3 1\n";
        let rows = parse(symmetric).unwrap().compressed_rows();
        assert_eq!((rows.row_starts, rows.column_indices), (vec![0, 1, 2, 3], vec![2, 1, 0]));
        assert_eq!(rows.values, [1.0; 3]);
        let empty = parse("%%MatrixMarket matrix coordinate integer general\n0 0 0\n").unwrap();
        assert_eq!(empty.compressed_rows().row_starts, [0]);
    }

    #[test]
    fn entries_of_one_place_stay_apart() {
        let text = "%%MatrixMarket matrix coordinate integer general\n1 1 2\n1 1 3\n1 1 4\n";
        assert_eq!(parse(text).unwrap().compressed_rows().values, [3.0, 4.0]);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let entries = |sizes: &str, rest: &str| {
            let error = parse(&format!("%%MatrixMarket matrix coordinate real general\n{sizes}\n{rest}"));
            let error = error.unwrap_err();
            (error.line, error.kind)
        };
        let missing = |what| Kind::Missing { what };
        assert_eq!(parse("").unwrap_err(), MatrixMarketError { line: 1, kind: Kind::Header });
        assert_eq!(entries("", "% nothing"), (3, Kind::NoSizes));
        assert_eq!(entries("2 2", ""), (2, missing("number of entries below 2^31")));
        assert_eq!(entries("2 2 1 1", ""), (2, Kind::Trailing { found: "1".into() }));
        assert_eq!(entries("2 2 1", "1 2"), (3, missing("value")));
        assert_eq!(entries("2 2 1", "1 2 x"), (3, Kind::Number { what: "value", found: "x".into() }));
        assert_eq!(entries("2 2 1", "0 2 1"), (3, Kind::Index { what: "row", found: 0, size: 2 }));
        assert_eq!(entries("2 2 1", "1 3 1"), (3, Kind::Index { what: "column", found: 3, size: 2 }));
        assert_eq!(entries("2 2 2", "1 1 1"), (3, Kind::Count { expected: 2, found: 1 }));
        assert_eq!(entries("2 2 1", "1 1 1\n1 2 1\n"), (4, Kind::Count { expected: 1, found: 2 }));
        assert!(matches!(entries("2 2 4294967295", "").1, Kind::Number { .. }));
        let header = |text: &str| parse(text).unwrap_err().kind;
        assert!(matches!(
            header("%%MatrixMarket matrix array real general"),
            Kind::Unsupported { what: "format", .. }
        ));
        assert!(matches!(
            header("%%MatrixMarket matrix coordinate complex general"),
            Kind::Unsupported { what: "field", .. }
        ));
        let symmetric = "%%MatrixMarket matrix coordinate real symmetric\n";
        assert!(matches!(header(&format!("{symmetric}2 3 0")), Kind::NotSquare { .. }));
        assert!(matches!(header(&format!("{symmetric}2 2 1\n1 2 1")), Kind::AboveDiagonal { .. }));
    }
}
