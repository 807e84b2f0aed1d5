//! The words of a move: the description of a redistribution that generated code passes to the library of communication.
//!
//! `sdfg_mpi.h` of `sdfg-runtime` defines them.

use std::ops::Range;

use sdfg::dtype::ScalarType;
use sdfg::ir::ConflictResolution;

/// An operation that combines the old and the new value of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combination {
    /// The new value.
    Assign,
    /// `old + new`.
    Sum,
    /// `old * new`.
    Product,
    /// The smaller.
    Min,
    /// The larger.
    Max,
    /// Both are true.
    And,
    /// One is true.
    Or,
    /// Exactly one is true.
    Xor,
    /// Bitwise and.
    BitAnd,
    /// Bitwise or.
    BitOr,
    /// Bitwise exclusive or.
    BitXor,
}

impl Combination {
    /// Every combination, in the order of its code.
    pub const ALL: [Combination; 11] = [
        Combination::Assign,
        Combination::Sum,
        Combination::Product,
        Combination::Min,
        Combination::Max,
        Combination::And,
        Combination::Or,
        Combination::Xor,
        Combination::BitAnd,
        Combination::BitOr,
        Combination::BitXor,
    ];

    /// Its code, which is its place in [`ALL`](Combination::ALL).
    pub(crate) const fn code(self) -> i64 {
        match self {
            Combination::Assign => 0,
            Combination::Sum => 1,
            Combination::Product => 2,
            Combination::Min => 3,
            Combination::Max => 4,
            Combination::And => 5,
            Combination::Or => 6,
            Combination::Xor => 7,
            Combination::BitAnd => 8,
            Combination::BitOr => 9,
            Combination::BitXor => 10,
        }
    }

    /// The combination of a conflict resolution; `None` for pairs with a location and for functions of the program.
    pub const fn of(resolution: &ConflictResolution) -> Option<Self> {
        Some(match resolution {
            ConflictResolution::Sum => Combination::Sum,
            ConflictResolution::Product => Combination::Product,
            ConflictResolution::Min => Combination::Min,
            ConflictResolution::Max => Combination::Max,
            ConflictResolution::And => Combination::And,
            ConflictResolution::Or => Combination::Or,
            ConflictResolution::Xor => Combination::Xor,
            ConflictResolution::BitAnd => Combination::BitAnd,
            ConflictResolution::BitOr => Combination::BitOr,
            ConflictResolution::BitXor => Combination::BitXor,
            ConflictResolution::Replace => Combination::Assign,
            ConflictResolution::MinLocation
            | ConflictResolution::MaxLocation
            | ConflictResolution::Custom(_) => return None,
        })
    }

    /// Whether the library combines values of this type so.
    pub const fn is_defined(self, scalar: ScalarType) -> bool {
        match self {
            Combination::Assign => true,
            Combination::Sum | Combination::Product => !matches!(scalar, ScalarType::Bool),
            Combination::Min | Combination::Max | Combination::And | Combination::Or | Combination::Xor => {
                !scalar.is_complex()
            }
            Combination::BitAnd | Combination::BitOr | Combination::BitXor => {
                matches!(scalar, ScalarType::Bool) || scalar.is_integer()
            }
        }
    }
}

/// The code of an element type: its place in [`ScalarType::ALL`].
pub(crate) const fn type_code(scalar: ScalarType) -> i64 {
    match scalar {
        ScalarType::Bool => 0,
        ScalarType::I8 => 1,
        ScalarType::I16 => 2,
        ScalarType::I32 => 3,
        ScalarType::I64 => 4,
        ScalarType::U8 => 5,
        ScalarType::U16 => 6,
        ScalarType::U32 => 7,
        ScalarType::U64 => 8,
        ScalarType::F16 => 9,
        ScalarType::F32 => 10,
        ScalarType::F64 => 11,
        ScalarType::Complex64 => 12,
        ScalarType::Complex128 => 13,
    }
}

/// Properties of a move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// Every replica of the source holds the values of the owner.
    pub are_source_replicas_current: bool,
    /// Every rank has all of the source, with current values.
    pub is_source_everywhere: bool,
    /// Every rank has all of the target.
    pub is_target_everywhere: bool,
    /// A combination does not include the old value of the target.
    pub is_fresh: bool,
    /// Source and target are the same array.
    pub is_in_place: bool,
}

impl Flags {
    pub(crate) const fn word(self) -> i64 {
        (self.are_source_replicas_current as i64)
            | ((self.is_source_everywhere as i64) << 1)
            | ((self.is_target_everywhere as i64) << 2)
            | ((self.is_fresh as i64) << 3)
            | ((self.is_in_place as i64) << 4)
    }

    const fn from_word(word: i64) -> Self {
        Flags {
            are_source_replicas_current: word & 1 != 0,
            is_source_everywhere: word >> 1 & 1 != 0,
            is_target_everywhere: word >> 2 & 1 != 0,
            is_fresh: word >> 3 & 1 != 0,
            is_in_place: word >> 4 & 1 != 0,
        }
    }
}

/// The elements of a dimension that are moved: `begin + step * m` for each index `m` of a moved dimension, or `begin` alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elements {
    /// The first one.
    pub begin: i64,
    /// The distance to the next one, not 0.
    pub step: i64,
    /// The moved dimension.
    pub moved: Option<usize>,
}

/// A dimension of a distributed container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// Number of elements.
    pub extent: i64,
    /// The dimension of the grid that cuts it.
    pub cut: Option<usize>,
    /// The first element of each part, and the extent behind the last one.
    pub starts: Vec<i64>,
    /// Elements of halo in front of each part.
    pub before: i64,
    /// Elements of halo behind each part.
    pub after: i64,
    /// The elements that are moved.
    pub elements: Elements,
}

/// One end of a move: a distributed container with a subset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Side {
    /// Extents of the grid of processes; none for one process, or for a container that is everywhere.
    pub grid: Vec<i64>,
    /// Dimensions of the container.
    pub dimensions: Vec<Dimension>,
}

/// A move, or a combination of partial results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The type of elements, or of the lanes of an element.
    pub scalar: ScalarType,
    /// Lanes of an element.
    pub lanes: i64,
    /// How values meet those in the target.
    pub combination: Combination,
    /// Its properties.
    pub flags: Flags,
    /// Extents of the moved dimensions.
    pub extents: Vec<i64>,
    /// The container that is read.
    pub source: Side,
    /// The container that is written.
    pub target: Side,
}

impl Move {
    /// Bytes of an element.
    pub fn element_bytes(&self) -> i64 {
        i64::try_from(self.scalar.size()).unwrap_or(i64::MAX).saturating_mul(self.lanes)
    }

    /// Its words.
    pub fn words(&self) -> Vec<i64> {
        let mut words = vec![
            self.element_bytes(),
            self.combination.code(),
            type_code(self.scalar),
            self.flags.word(),
            count(&self.extents),
        ];
        words.extend(&self.extents);
        self.source.push_words(&mut words);
        self.target.push_words(&mut words);
        words
    }

    /// The move that words describe; `None` if they describe none.
    pub fn from_words(words: &[i64]) -> Option<Self> {
        let mut rest = words.iter().copied();
        let (bytes, code, scalar, flags) = (rest.next()?, rest.next()?, rest.next()?, rest.next()?);
        let scalar = *ScalarType::ALL.get(usize::try_from(scalar).ok()?)?;
        let extents = list(&mut rest, 0)?;
        let moved = Move {
            scalar,
            lanes: bytes / i64::try_from(scalar.size()).ok()?,
            combination: *Combination::ALL.get(usize::try_from(code).ok()?)?,
            flags: Flags::from_word(flags),
            extents,
            source: Side::from_words(&mut rest)?,
            target: Side::from_words(&mut rest)?,
        };
        rest.next().is_none().then_some(moved)
    }
}

impl Side {
    /// Number of processes of the grid.
    pub fn processes(&self) -> i64 {
        self.grid.iter().fold(1, |n: i64, extent| n.saturating_mul(*extent))
    }

    /// The box that a rank holds, which is its local array: its part with halos. `None` if it holds nothing.
    pub fn held(&self, rank: usize, is_everywhere: bool) -> Option<Vec<Range<i64>>> {
        let own = self.own(rank, is_everywhere)?;
        let with_halo = |(range, dimension): (Range<i64>, &Dimension)| {
            let low = range.start.saturating_sub(dimension.before).max(0);
            low..range.end.saturating_add(dimension.after).min(dimension.extent)
        };
        Some(own.into_iter().zip(&self.dimensions).map(with_halo).collect())
    }

    /// The part of a rank, without halos. `None` if it has no elements.
    pub fn own(&self, rank: usize, is_everywhere: bool) -> Option<Vec<Range<i64>>> {
        let coordinates = match is_everywhere {
            true => vec![0; self.grid.len()],
            false => self.coordinates(rank)?,
        };
        let range = |dimension: &Dimension| {
            let part = match dimension.cut {
                None => 0,
                Some(cut) => usize::try_from(*coordinates.get(cut)?).ok()?,
            };
            let (start, end) = (*dimension.starts.get(part)?, *dimension.starts.get(part + 1)?);
            (start < end).then_some(start..end)
        };
        self.dimensions.iter().map(range).collect()
    }

    /// The number of a rank among those that have the same part, and how many they are. The owner has number 0. `None` if the rank is
    /// no process of the grid.
    pub(super) fn replica(&self, rank: usize) -> Option<(i64, i64)> {
        let coordinates = self.coordinates(rank)?;
        let is_cutting = |at: usize| self.dimensions.iter().any(|dimension| dimension.cut == Some(at));
        let others = coordinates.iter().zip(&self.grid).enumerate().filter(|(at, _)| !is_cutting(*at));
        Some(others.fold((0, 1), |(number, n), (_, (at, extent))| (number * extent + at, n * extent)))
    }

    /// The coordinates of a rank in the grid. `None` if it is no process of it.
    fn coordinates(&self, rank: usize) -> Option<Vec<i64>> {
        let mut rest = i64::try_from(rank).ok().filter(|rank| *rank < self.processes())?;
        let mut coordinates = vec![0; self.grid.len()];
        for (coordinate, extent) in coordinates.iter_mut().zip(&self.grid).rev() {
            (*coordinate, rest) = (rest % extent, rest / extent);
        }
        Some(coordinates)
    }

    fn push_words(&self, words: &mut Vec<i64>) {
        words.extend([count(&self.dimensions), count(&self.grid)]);
        words.extend(&self.grid);
        for dimension in &self.dimensions {
            let Dimension { extent, cut, starts, before, after, elements: _ } = dimension;
            words.extend([*extent, index(*cut), count(starts) - 1]);
            words.extend(starts);
            words.extend([*before, *after]);
        }
        for Elements { begin, step, moved } in self.dimensions.iter().map(|dimension| dimension.elements) {
            words.extend([begin, step, index(moved)]);
        }
    }
}

impl Side {
    fn from_words(rest: &mut impl Iterator<Item = i64>) -> Option<Self> {
        let rank = usize::try_from(rest.next()?).ok()?;
        let grid = list(rest, 0)?;
        let mut dimensions = Vec::new();
        for _ in 0..rank {
            let (extent, cut) = (rest.next()?, usize::try_from(rest.next()?).ok());
            let (starts, before, after) = (list(rest, 1)?, rest.next()?, rest.next()?);
            let elements = Elements { begin: 0, step: 1, moved: None };
            dimensions.push(Dimension { extent, cut, starts, before, after, elements });
        }
        for dimension in &mut dimensions {
            let (begin, step, moved) = (rest.next()?, rest.next()?, usize::try_from(rest.next()?).ok());
            dimension.elements = Elements { begin, step, moved };
        }
        Some(Side { grid, dimensions })
    }
}

/// A list of so many words more than the first word says.
fn list(rest: &mut impl Iterator<Item = i64>, more: usize) -> Option<Vec<i64>> {
    let n = usize::try_from(rest.next()?).ok()?;
    (0..n + more).map(|_| rest.next()).collect()
}

/// The length of a list as a word.
fn count<T>(list: &[T]) -> i64 {
    i64::try_from(list.len()).unwrap_or(i64::MAX)
}

/// An index as a word, -1 for none.
fn index(index: Option<usize>) -> i64 {
    index.map_or(-1, |index| i64::try_from(index).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_places_in_lists() {
        for (place, combination) in Combination::ALL.into_iter().enumerate() {
            assert_eq!(usize::try_from(combination.code()), Ok(place));
        }
        for (place, scalar) in ScalarType::ALL.into_iter().enumerate() {
            assert_eq!(usize::try_from(type_code(scalar)), Ok(place));
        }
    }

    #[test]
    fn words_are_those_of_the_header() {
        let elements = Elements { begin: 1, step: 2, moved: Some(0) };
        let whole = Dimension { extent: 9, cut: None, starts: vec![0, 9], before: 0, after: 0, elements };
        let cut = Dimension {
            cut: Some(1),
            starts: vec![0, 5, 9],
            before: 1,
            after: 2,
            elements: Elements { begin: 3, step: 1, moved: Some(0) },
            ..whole.clone()
        };
        let unit = Dimension {
            extent: 4,
            starts: vec![0, 4],
            elements: Elements { begin: 2, step: 1, moved: None },
            ..whole.clone()
        };
        let moved = Move {
            scalar: ScalarType::F64,
            lanes: 2,
            combination: Combination::Sum,
            flags: Flags { is_source_everywhere: true, is_fresh: true, ..Flags::default() },
            extents: vec![4],
            source: Side { grid: vec![], dimensions: vec![whole] },
            target: Side { grid: vec![2, 2], dimensions: vec![unit, cut] },
        };
        let head = [16, 1, 11, 10, 1, 4];
        let source = [1, 0, 9, -1, 1, 0, 9, 0, 0, 1, 2, 0];
        let target = [2, 2, 2, 2, 4, -1, 1, 0, 4, 0, 0, 9, 1, 2, 0, 5, 9, 1, 2, 2, 1, -1, 3, 1, 0];
        assert_eq!(moved.words(), [&head[..], &source, &target].concat());
        assert_eq!(Move::from_words(&moved.words()), Some(moved));
    }
}
