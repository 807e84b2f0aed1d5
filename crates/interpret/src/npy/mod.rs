//! NumPy's `.npy` files, versions 1.0 to 3.0 (NumPy enhancement proposal 1): reading and writing of tensors.
//!
//! NumPy has no type for short vectors; their lanes are the last dimension of the file. [`NpyFile`] reads a part of a file, and
//! [`NpyWriter`] writes one, so that several processes share a file.

mod file;
mod header;

use std::fmt;

use sdfg_language::dtype::{ElementType, ScalarType};

use crate::tensor::Tensor;
pub use file::{FileError, NpyFile, NpyWriter};
pub use header::Header;

/// Why bytes are no tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NpyError {
    /// The bytes do not begin as such a file does.
    NotNpy,
    /// A version of the format that is not known: major, minor.
    Version(u8, u8),
    /// The header ends early.
    Truncated,
    /// The header lacks what is named.
    Header(&'static str),
    /// An extent that is no natural number.
    Extent(String),
    /// A type that no program has.
    Type(String),
    /// More elements than memory has addresses.
    TooLarge,
    /// The data has another length than the shape asks for.
    Length {
        /// Bytes that the shape asks for.
        expected: usize,
        /// Bytes that are there.
        found: usize,
    },
}

impl std::error::Error for NpyError {}

impl fmt::Display for NpyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NpyError::NotNpy => f.write_str("it is no .npy file"),
            NpyError::Version(major, minor) => {
                write!(f, "version {major}.{minor} of the format is not known")
            }
            NpyError::Truncated => f.write_str("its header ends early"),
            NpyError::Header(what) => write!(f, "its header has no {what}"),
            NpyError::Extent(text) => {
                write!(f, "its shape has the extent `{text}`, which is no natural number")
            }
            NpyError::Type(descr) => write!(f, "its elements have type `{descr}`, which no program has"),
            NpyError::TooLarge => f.write_str("its shape is too large for this machine"),
            NpyError::Length { expected, found } => {
                write!(f, "its shape asks for {expected} bytes of data, it has {found}")
            }
        }
    }
}

/// The bytes of a tensor as a file of version 1.0.
pub fn write(tensor: &Tensor) -> Vec<u8> {
    let mut file = Header::of(tensor.element(), tensor.shape()).to_bytes();
    let start = file.len();
    file.extend(tensor.bytes());
    if cfg!(target_endian = "big") {
        swap(&mut file[start..], tensor.element().lane());
    }
    file
}

/// A tensor from a file's bytes. Lanes of short vectors stay a last dimension.
///
/// # Errors
/// Bytes that are no such file, and types that no program has.
pub fn read(file: &[u8]) -> Result<Tensor, NpyError> {
    let header = Header::parse(file)?;
    let data = file.get(header.start..).unwrap_or_default();
    let expected = header.data_bytes()?;
    if data.len() != expected {
        return Err(NpyError::Length { expected, found: data.len() });
    }
    let mut data = data.to_vec();
    if header.is_swapped {
        swap(&mut data, header.scalar);
    }
    if header.is_column_major {
        data = row_major(&data, &header.shape, header.scalar.size());
    }
    Tensor::from_bytes(ElementType::scalar(header.scalar), header.shape, data).map_err(|_| NpyError::TooLarge)
}

/// Reverses the bytes of every number; a complex number is two.
fn swap(data: &mut [u8], scalar: ScalarType) {
    let size = if scalar.is_complex() { scalar.size() / 2 } else { scalar.size() };
    data.chunks_exact_mut(size).for_each(<[u8]>::reverse);
}

/// Column-major elements in row-major order.
fn row_major(data: &[u8], shape: &[i64], size: usize) -> Vec<u8> {
    let mut sorted = Vec::with_capacity(data.len());
    let count = data.len() / size;
    for position in 0..count {
        let (mut rest, mut weight, mut source) = (position, count, 0);
        let mut stride = 1;
        for extent in shape.iter().map(|extent| *extent as usize) {
            weight /= extent;
            source += rest / weight * stride;
            rest %= weight;
            stride *= extent;
        }
        sorted.extend_from_slice(&data[source * size..(source + 1) * size]);
    }
    sorted
}

#[cfg(test)]
mod tests {
    use sdfg_language::value::Complex;

    use super::header::{ALIGNMENT, MAGIC};
    use super::*;

    #[test]
    fn every_type_round_trips() {
        let bytes: Vec<u8> = (0..6 * 16).map(|i| (i % 2) as u8).collect();
        for scalar in ScalarType::ALL {
            let data = bytes[..6 * scalar.size()].to_vec();
            let tensor = Tensor::from_bytes(scalar.into(), vec![2, 3], data).unwrap();
            let file = write(&tensor);
            assert_eq!(file.iter().position(|b| *b == b'\n').unwrap() % ALIGNMENT, ALIGNMENT - 1);
            assert_eq!(read(&file).unwrap(), tensor, "{scalar}");
        }
    }

    /// As `numpy.save` writes it, in the given order of bytes and elements.
    fn file(descr: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let header = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
        let mut file = MAGIC.to_vec();
        file.extend([2, 0]);
        file.extend((header.len() as u32).to_le_bytes());
        file.extend(header.as_bytes());
        file.extend(data);
        file
    }

    #[test]
    fn other_orders_are_put_right() {
        let column_major: Vec<u8> = [0_i16, 3, 1, 4, 2, 5].iter().flat_map(|v| v.to_be_bytes()).collect();
        let tensor = read(&file(">i2", "True", "(2, 3)", &column_major)).unwrap();
        assert_eq!(tensor.to_vec::<i16>().unwrap(), [0, 1, 2, 3, 4, 5]);
        let complex: Vec<u8> = [1.0_f32, -2.0].iter().flat_map(|v| v.to_be_bytes()).collect();
        let tensor = read(&file(">c8", "False", "()", &complex)).unwrap();
        assert_eq!(tensor.to_vec::<Complex<f32>>().unwrap(), [Complex::new(1.0, -2.0)]);
        assert!(tensor.shape().is_empty());
    }

    #[test]
    fn broken_files_are_refused() {
        let good = file("<f8", "False", "(2,)", &[0; 16]);
        for cut in 0..good.len() {
            assert!(read(&good[..cut]).is_err(), "{cut} bytes are no file");
        }
        assert_eq!(read(&file("<U4", "False", "(2,)", &[])), Err(NpyError::Type("<U4".to_owned())));
        assert_eq!(read(&file("<f8", "False", "(-1,)", &[])), Err(NpyError::Extent("-1".to_owned())));
        let large = file("<f8", "False", "(4611686018427387904, 8)", &[]);
        assert_eq!(read(&large), Err(NpyError::TooLarge));
        assert_eq!(read(b"PK\x03\x04"), Err(NpyError::NotNpy));
    }
}
