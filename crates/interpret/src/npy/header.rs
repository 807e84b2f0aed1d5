//! The header of a file.

use sdfg_language::dtype::{ElementType, ScalarType};

use super::NpyError;

pub(super) const MAGIC: &[u8] = b"\x93NUMPY";
/// Alignment of the beginning of the data.
pub(super) const ALIGNMENT: usize = 64;

/// Type, shape and layout of the elements of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    pub(super) scalar: ScalarType,
    /// Extents, with the lanes of short vectors as the last one.
    pub(super) shape: Vec<i64>,
    /// Whether the bytes of numbers are in the other order than this machine's.
    pub(super) is_swapped: bool,
    pub(super) is_column_major: bool,
    /// The byte at which the data begins.
    pub(super) start: usize,
}

impl Header {
    /// The header of a row-major file with these elements.
    pub fn of(element: ElementType, shape: &[i64]) -> Self {
        let lanes = (element.lanes() > 1).then_some(i64::from(element.lanes()));
        let shape = shape.iter().copied().chain(lanes).collect();
        let mut header = Header {
            scalar: element.lane(),
            shape,
            is_swapped: cfg!(target_endian = "big"),
            is_column_major: false,
            start: 0,
        };
        header.start = header.to_bytes().len();
        header
    }

    /// The type of the elements, without lanes.
    pub fn scalar(&self) -> ScalarType {
        self.scalar
    }

    /// Extents, with the lanes of short vectors as the last one.
    pub fn shape(&self) -> &[i64] {
        &self.shape
    }

    /// Bytes of data behind the header.
    ///
    /// # Errors
    /// [`NpyError::TooLarge`].
    pub fn data_bytes(&self) -> Result<usize, NpyError> {
        let mut extents = self.shape.iter();
        let elements = extents.try_fold(1_usize, |n, extent| n.checked_mul(usize::try_from(*extent).ok()?));
        elements.and_then(|n| n.checked_mul(self.scalar.size())).ok_or(NpyError::TooLarge)
    }

    /// The bytes of the header, in version 1.0 of the format.
    pub fn to_bytes(&self) -> Vec<u8> {
        let shape = match self.shape.as_slice() {
            [one] => format!("({one},)"),
            several => {
                format!("({})", several.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
            }
        };
        let mut header =
            format!("{{'descr': '{}', 'fortran_order': False, 'shape': {shape}, }}", descr(self.scalar));
        let before = MAGIC.len() + 4;
        let padded = (before + header.len() + 1).next_multiple_of(ALIGNMENT);
        header.push_str(&" ".repeat(padded - before - header.len() - 1));
        header.push('\n');
        let mut file = MAGIC.to_vec();
        file.extend([1, 0]);
        // Ranks are small: a header never reaches 64 KiB.
        file.extend(u16::try_from(header.len()).unwrap_or(u16::MAX).to_le_bytes());
        file.extend(header.as_bytes());
        file
    }

    /// The header of a file that begins with these bytes.
    ///
    /// # Errors
    /// Bytes that are no such file, and types that no program has.
    pub fn parse(file: &[u8]) -> Result<Self, NpyError> {
        let rest = file.strip_prefix(MAGIC).ok_or(NpyError::NotNpy)?;
        let (version, rest) = rest.split_first_chunk::<2>().ok_or(NpyError::Truncated)?;
        let (length, rest) = match version {
            [1, 0] => {
                let (length, rest) = rest.split_first_chunk::<2>().ok_or(NpyError::Truncated)?;
                (usize::from(u16::from_le_bytes(*length)), rest)
            }
            [2 | 3, 0] => {
                let (length, rest) = rest.split_first_chunk::<4>().ok_or(NpyError::Truncated)?;
                (u32::from_le_bytes(*length) as usize, rest)
            }
            [major, minor] => return Err(NpyError::Version(*major, *minor)),
        };
        let header = rest.get(..length).ok_or(NpyError::Truncated)?;
        let header = std::str::from_utf8(header).map_err(|_| NpyError::Header("dictionary"))?;
        let (scalar, is_swapped) =
            scalar_of(text_field(header, "descr").ok_or(NpyError::Header("`descr`"))?)?;
        let is_column_major =
            field(header, "fortran_order").ok_or(NpyError::Header("`fortran_order`"))?.starts_with("True");
        let start = file.len() - rest.len() + length;
        Ok(Header { scalar, shape: shape_of(header)?, is_swapped, is_column_major, start })
    }
}

/// NumPy's name of a scalar type, little-endian.
fn descr(scalar: ScalarType) -> &'static str {
    match scalar {
        ScalarType::Bool => "|b1",
        ScalarType::I8 => "|i1",
        ScalarType::I16 => "<i2",
        ScalarType::I32 => "<i4",
        ScalarType::I64 => "<i8",
        ScalarType::U8 => "|u1",
        ScalarType::U16 => "<u2",
        ScalarType::U32 => "<u4",
        ScalarType::U64 => "<u8",
        ScalarType::F16 => "<f2",
        ScalarType::F32 => "<f4",
        ScalarType::F64 => "<f8",
        ScalarType::Complex64 => "<c8",
        ScalarType::Complex128 => "<c16",
    }
}

/// The rest of the header behind `'name':`.
fn field<'h>(header: &'h str, name: &str) -> Option<&'h str> {
    let found = ['\'', '"'].iter().find_map(|quote| header.split_once(&format!("{quote}{name}{quote}")));
    found?.1.trim_start().strip_prefix(':').map(str::trim_start)
}

fn text_field<'h>(header: &'h str, name: &str) -> Option<&'h str> {
    let value = field(header, name)?;
    let quote = value.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    value[1..].split(quote).next()
}

fn shape_of(header: &str) -> Result<Vec<i64>, NpyError> {
    let shape = field(header, "shape").and_then(|value| value.strip_prefix('('));
    let inner = shape.and_then(|value| value.split(')').next()).ok_or(NpyError::Header("`shape`"))?;
    let extents = inner.split(',').map(str::trim).filter(|text| !text.is_empty());
    let extent = |text: &str| text.parse().ok().filter(|extent: &i64| *extent >= 0);
    extents.map(|text| extent(text).ok_or_else(|| NpyError::Extent(text.to_owned()))).collect()
}

/// The scalar type of a `descr`, and whether the bytes are in the other order than this machine's.
fn scalar_of(descr_text: &str) -> Result<(ScalarType, bool), NpyError> {
    let unknown = || NpyError::Type(descr_text.to_owned());
    let (order, name) = descr_text.split_at_checked(1).ok_or_else(unknown)?;
    let scalar =
        ScalarType::ALL.into_iter().find(|scalar| &descr(*scalar)[1..] == name).ok_or_else(unknown)?;
    let native = if cfg!(target_endian = "big") { ">" } else { "<" };
    match order {
        "|" | "=" => Ok((scalar, false)),
        "<" | ">" => Ok((scalar, order != native)),
        _ => Err(unknown()),
    }
}
