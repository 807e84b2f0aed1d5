//! Input files: whole ones, and those of which a rank reads its part.

use std::ops::Range;
use std::path::Path;

use sdfg::dtype::{ElementType, ScalarType};
use sdfg::ir::Container;
use sdfg::npy::{self, FileError, NpyError, NpyFile};
use sdfg::tensor::Tensor;

use crate::failure::Failure;

/// A file for an argument.
#[derive(Debug)]
pub(super) struct InputFile<'a> {
    pub(super) path: &'a str,
    /// Extents, without lanes of short vectors.
    pub(super) shape: Vec<i64>,
    contents: Contents,
}

#[derive(Debug)]
enum Contents {
    Whole(Tensor),
    /// To be read at the positions of a rank.
    Part(NpyFile),
}

impl<'a> InputFile<'a> {
    /// Opens a file, if it can be one of the container. Of one that is read in parts, only the header is read.
    pub(super) fn open(path: &'a str, container: &Container, is_part: bool) -> Result<Self, Failure> {
        let place = format!("--input {}={path}", container.name);
        if is_part {
            let file = NpyFile::open(Path::new(path)).map_err(|error| unopened(&error, path, &place))?;
            let header = file.header();
            let shape = outer_shape(container, (path, &place), header.scalar(), header.shape())?;
            return Ok(InputFile { path, shape, contents: Contents::Part(file) });
        }
        let tensor = read(path, &place)?;
        let shape = outer_shape(container, (path, &place), tensor.element().lane(), tensor.shape())?;
        let tensor = if container.element.lanes() == 1 {
            tensor
        } else {
            let bytes = tensor.bytes().to_vec();
            Tensor::from_bytes(container.element, shape.clone(), bytes)
                .map_err(|error| Failure::usage(error).at(&place))?
        };
        Ok(InputFile { path, shape, contents: Contents::Whole(tensor) })
    }

    /// The elements at some positions. A whole file has all of them.
    pub(super) fn part(self, container: &Container, positions: &[Range<i64>]) -> Result<Tensor, Failure> {
        let place = format!("--input {}={}", container.name, self.path);
        match self.contents {
            Contents::Whole(tensor) => Ok(tensor),
            Contents::Part(file) => {
                file.part(container.element, positions).map_err(|error| unopened(&error, self.path, &place))
            }
        }
    }

    /// The tensor of a whole file.
    pub(super) fn into_tensor(self) -> Option<Tensor> {
        match self.contents {
            Contents::Whole(tensor) => Some(tensor),
            Contents::Part(_) => None,
        }
    }
}

/// The tensor in a file, as it is there.
fn read(path: &str, place: &str) -> Result<Tensor, Failure> {
    let bytes = std::fs::read(path).map_err(|error| unread(&error, path, place))?;
    npy::read(&bytes).map_err(|error| unusable(&error, path, place))
}

fn unopened(error: &FileError, path: &str, place: &str) -> Failure {
    match error {
        FileError::Io(error) => unread(error, path, place),
        FileError::Npy(error) => unusable(error, path, place),
    }
}

fn unread(error: &std::io::Error, path: &str, place: &str) -> Failure {
    if error.kind() == std::io::ErrorKind::OutOfMemory {
        let size = std::fs::metadata(path).map_or(0, |found| found.len());
        return Failure::usage(format_args!(
            "`{path}` is too large: there is no memory for its {size} bytes"
        ))
        .at(place)
        .help("give a smaller array");
    }
    Failure::usage(format_args!("cannot read `{path}`: {error}"))
        .at(place)
        .help("give a .npy file, or one of `zeros`, `ones`, `range`, `const:VALUE`, `random`, `random:SEED`")
}

fn unusable(error: &NpyError, path: &str, place: &str) -> Failure {
    Failure::usage(format_args!("`{path}` cannot be used: {error}"))
        .at(place)
        .help("write the file with numpy.save and a numeric type")
}

/// The extents of a file without lanes, if its elements and their number of dimensions are those of a container.
fn outer_shape(
    container: &Container,
    (path, place): (&str, &str),
    found: ScalarType,
    shape: &[i64],
) -> Result<Vec<i64>, Failure> {
    let (name, element) = (&container.name, container.element);
    if found != element.lane() {
        let (found, wanted) = (ElementType::scalar(found), element.lane());
        return Err(Failure::usage(format_args!(
            "`{name}` has elements of type {element}, the file of {found}"
        ))
        .at(place)
        .help(format_args!("convert the array to {wanted} before it is saved")));
    }
    if element.lanes() == 1 {
        check_rank(container, path, shape)?;
        return Ok(shape.to_vec());
    }
    let (lanes, outer) = match shape.split_last() {
        Some((lanes, outer)) => (*lanes, outer.to_vec()),
        None => (0, Vec::new()),
    };
    if lanes == i64::from(element.lanes()) {
        return Ok(outer);
    }
    Err(Failure::usage(format_args!(
        "`{name}` has elements of {} lanes, the last dimension of the file is {lanes}",
        element.lanes()
    ))
    .at(place))
}

/// Whether a file has the dimensions of a container; before symbols, whose values its extents are.
fn check_rank(container: &Container, path: &str, found: &[i64]) -> Result<(), Failure> {
    let wanted = container.shape();
    if container.is_stream() {
        return if found.len() == 1 { Ok(()) } else { Err(not_flat(container, path, found)) };
    }
    let is_one_element = wanted.is_empty() && found.iter().all(|extent| *extent == 1);
    if wanted.len() == found.len() || is_one_element {
        return Ok(());
    }
    let name = &container.name;
    let what = format_args!(
        "`{name}` has shape {}, the file {}: the numbers of dimensions differ",
        listing(wanted),
        listing(found)
    );
    Err(Failure::usage(what)
        .at(format_args!("--input {name}={path}"))
        .help("reshape the array before it is saved, as with numpy.reshape"))
}

/// A file with another number of dimensions than the elements of a queue have.
fn not_flat(container: &Container, path: &str, found: &[i64]) -> Failure {
    let name = &container.name;
    Failure::usage(format_args!("`{name}` is a stream, the file has shape {}", listing(found)))
        .at(format_args!("--input {name}={path}"))
        .help("give an array of one dimension, as by numpy.ravel")
}

/// Extents as in `[N, 3]`.
pub(super) fn listing(extents: &[impl std::fmt::Display]) -> String {
    format!("[{}]", extents.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
}
