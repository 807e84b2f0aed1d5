//! Parts of files: processes read and write their elements at their own offsets.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use sdfg_language::dtype::ElementType;
use thiserror::Error;

use super::{Header, NpyError, read, swap};
use crate::tensor::Tensor;

/// Why a part of a file cannot be read or written.
#[derive(Debug, Error)]
pub enum FileError {
    /// The system refuses.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The contents are no tensor.
    #[error(transparent)]
    Npy(#[from] NpyError),
}

/// A file whose header is known.
#[derive(Debug)]
pub struct NpyFile {
    file: File,
    header: Header,
}

impl NpyFile {
    /// Opens a file and reads its header.
    ///
    /// # Errors
    /// [`FileError`]. The length of a regular file is that of its shape.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let mut file = File::open(path)?;
        let mut begin = Vec::new();
        // Magic, version and the longest length come first.
        (&mut file).take(12).read_to_end(&mut begin)?;
        let length = match begin.get(6..) {
            Some([1, _, low, high, ..]) => usize::from(u16::from_le_bytes([*low, *high])) + 10,
            Some([_, _, a, b, c, d, ..]) => u32::from_le_bytes([*a, *b, *c, *d]) as usize + 12,
            Some(_) | None => 0,
        };
        let missing = length.saturating_sub(begin.len()) as u64;
        (&mut file).take(missing).read_to_end(&mut begin)?;
        let header = Header::parse(&begin)?;
        let found = usize::try_from(file.metadata()?.len()).map_err(|_| NpyError::TooLarge)?;
        let (expected, found) = (header.data_bytes()?, found.saturating_sub(header.start));
        if expected != found {
            return Err(NpyError::Length { expected, found }.into());
        }
        Ok(NpyFile { file, header })
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The elements at positions of the leading dimensions, as elements of a type with the lanes of the dimension behind them.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn part(&self, element: ElementType, positions: &[Range<i64>]) -> Result<Tensor, FileError> {
        let extents: Vec<i64> = positions.iter().map(|range| range.end - range.start).collect();
        if self.header.is_column_major {
            let mut all = vec![0; self.header.start + self.header.data_bytes()?];
            self.file.read_exact_at(&mut all, 0)?;
            let whole = read(&all)?;
            let size = element.size();
            let mut bytes = Vec::new();
            each_row(&self.header.shape[..positions.len()], positions, |at, n| {
                bytes.extend_from_slice(whole.bytes().get(at * size..(at + n) * size).unwrap_or_default());
                Ok(())
            })?;
            return Ok(Tensor::from_bytes(element, extents, bytes).map_err(|_| NpyError::TooLarge)?);
        }
        let mut tensor = Tensor::zeros(element, extents).map_err(|_| NpyError::TooLarge)?;
        let (size, mut done) = (element.size(), 0);
        let bytes = tensor.bytes_mut();
        each_row(&self.header.shape[..positions.len()], positions, |at, n| {
            let row = bytes.get_mut(done..done + n * size).unwrap_or_default();
            done += n * size;
            self.file.read_exact_at(row, (self.header.start + at * size) as u64)
        })?;
        if self.header.is_swapped {
            swap(bytes, element.lane());
        }
        Ok(tensor)
    }
}

/// A file of which several processes write parts.
#[derive(Debug)]
pub struct NpyWriter {
    file: File,
    header: Header,
}

impl NpyWriter {
    /// Makes a file with a header and room for all elements. One process does this.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn create(path: &Path, element: ElementType, shape: &[i64]) -> Result<(), FileError> {
        let header = Header::of(element, shape);
        let file = File::create(path)?;
        file.write_all_at(&header.to_bytes(), 0)?;
        file.set_len((header.start + header.data_bytes()?) as u64)?;
        Ok(())
    }

    /// Opens a file that [`create`](NpyWriter::create) has made.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn open(path: &Path, element: ElementType, shape: &[i64]) -> Result<Self, FileError> {
        let file = File::options().write(true).open(path)?;
        Ok(NpyWriter { file, header: Header::of(element, shape) })
    }

    /// Writes the elements at some positions of the whole, out of a tensor that holds those from other positions on.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn write(&self, positions: &[Range<i64>], tensor: &Tensor, first: &[i64]) -> Result<(), FileError> {
        let size = tensor.element().size();
        let place = |at: &Range<i64>, first: &i64| at.start - first..at.end - first;
        let inside: Vec<Range<i64>> =
            positions.iter().zip(first).map(|(at, first)| place(at, first)).collect();
        let mut targets = Vec::new();
        each_row(&self.header.shape[..positions.len()], positions, |at, _| {
            targets.push(at);
            Ok(())
        })?;
        let mut targets = targets.into_iter();
        each_row(tensor.shape(), &inside, |at, n| {
            let Some(target) = targets.next() else { return Ok(()) };
            let mut row = tensor.bytes().get(at * size..(at + n) * size).unwrap_or_default().to_vec();
            if self.header.is_swapped {
                swap(&mut row, tensor.element().lane());
            }
            self.file.write_all_at(&row, (self.header.start + target * size) as u64)
        })?;
        Ok(())
    }
}

/// Gives the first element and the number of elements of each row of a box, in row-major order.
fn each_row(
    shape: &[i64],
    positions: &[Range<i64>],
    mut row: impl FnMut(usize, usize) -> io::Result<()>,
) -> io::Result<()> {
    if positions.iter().any(Range::is_empty) {
        return Ok(());
    }
    let Some((last, outer)) = positions.split_last() else { return row(0, 1) };
    let mut index: Vec<i64> = outer.iter().map(|range| range.start).collect();
    let n = usize::try_from(last.end - last.start).unwrap_or(0);
    loop {
        let at = index.iter().chain([&last.start]).zip(shape).fold(0, |at, (i, extent)| at * extent + i);
        row(usize::try_from(at).unwrap_or(0), n)?;
        let mut dimension = outer.len();
        loop {
            if dimension == 0 {
                return Ok(());
            }
            dimension -= 1;
            index[dimension] += 1;
            if index[dimension] < outer[dimension].end {
                break;
            }
            index[dimension] = outer[dimension].start;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::write;
    use super::*;

    #[test]
    fn parts_are_those_of_the_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        let values: Vec<f64> = (0..60).map(f64::from).collect();
        let whole = Tensor::new(&[3, 4, 5], &values).unwrap();
        std::fs::write(&path, write(&whole)).unwrap();
        let file = NpyFile::open(&path).unwrap();
        let part = file.part(whole.element(), &[1..3, 0..2, 2..4]).unwrap();
        assert_eq!(part.shape(), [2, 2, 2]);
        assert_eq!(part.to_vec::<f64>().unwrap(), [22.0, 23.0, 27.0, 28.0, 42.0, 43.0, 47.0, 48.0]);
        assert_eq!(file.part(whole.element(), &[0..3, 2..2, 0..5]).unwrap().len(), 0);
        // The same values in column-major order, big-endian.
        let header = String::from_utf8(Header::of(whole.element(), &[3, 4, 5]).to_bytes()[10..].to_vec());
        let header = header.unwrap().replace("<f8", ">f8").replace("False", "True ");
        let mut other = b"\x93NUMPY\x01\x00".to_vec();
        other.extend((header.len() as u16).to_le_bytes());
        other.extend(header.as_bytes());
        for position in 0..60 {
            let (i, j, k) = (position % 3, position / 3 % 4, position / 12);
            other.extend(f64::from(i * 20 + j * 5 + k).to_be_bytes());
        }
        std::fs::write(&path, &other).unwrap();
        let file = NpyFile::open(&path).unwrap();
        assert_eq!(file.part(whole.element(), &[1..3, 0..2, 2..4]).unwrap(), part);
        std::fs::write(&path, &other[..other.len() - 1]).unwrap();
        assert!(matches!(NpyFile::open(&path), Err(FileError::Npy(NpyError::Length { .. }))));
        std::fs::write(&path, &other[..30]).unwrap();
        assert!(matches!(NpyFile::open(&path), Err(FileError::Npy(NpyError::Truncated))));
    }

    #[test]
    fn parts_make_up_the_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        let whole = Tensor::new(&[4, 6], &(0..24).collect::<Vec<i32>>()).unwrap();
        NpyWriter::create(&path, whole.element(), &[4, 6]).unwrap();
        for (rows, columns) in [(0..3, 0..4), (0..3, 4..6), (3..4, 0..4), (3..4, 4..6)] {
            // Memory with a halo of one in front, as far as there is one.
            let first = [i64::max(rows.start - 1, 0), i64::max(columns.start - 1, 0)];
            let (file, held) = (folder.path().join("b.npy"), [first[0]..rows.end, first[1]..columns.end]);
            std::fs::write(&file, write(&whole)).unwrap();
            let memory = NpyFile::open(&file).unwrap().part(whole.element(), &held).unwrap();
            let writer = NpyWriter::open(&path, whole.element(), &[4, 6]).unwrap();
            writer.write(&[rows, columns], &memory, &first).unwrap();
        }
        assert_eq!(std::fs::read(&path).unwrap(), write(&whole));
    }
}
