//! Arrays of a formula.

use std::collections::BTreeMap;

use sdfg::dtype::ScalarType;
use sdfg::interpret::Arguments;
use sdfg::tensor::Tensor;

/// Largest difference, relative to the largest element of an array.
const BOUND: f64 = 1e-11;

/// A row-major array of numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Array {
    pub(crate) shape: Vec<usize>,
    pub(crate) elements: Vec<f64>,
}

/// Symbols and arrays by name; scalars are arrays of one element.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    symbols: BTreeMap<String, usize>,
    arrays: BTreeMap<String, Array>,
}

impl Memory {
    pub(crate) fn of(arguments: &Arguments) -> Self {
        let symbols = arguments.symbols().map(|(name, value)| (name.to_owned(), value as usize)).collect();
        let arrays = arguments.tensors().map(|(name, tensor)| (name.to_owned(), read(tensor))).collect();
        Memory { symbols, arrays }
    }

    pub(crate) fn size(&self, name: &str) -> usize {
        self.symbols[name]
    }

    pub(crate) fn scalar(&self, name: &str) -> f64 {
        self.arrays[name].elements[0]
    }

    /// Takes an array out; [`put`](Memory::put) gives it back.
    pub(crate) fn take(&mut self, name: &str) -> Array {
        self.arrays.remove(name).unwrap_or_else(|| panic!("no array `{name}`"))
    }

    pub(crate) fn put(&mut self, name: &str, array: Array) {
        self.arrays.insert(name.to_owned(), array);
    }

    /// Fails unless every array is that of a run, and some array differs from the one before.
    pub(crate) fn compare(&self, before: &Arguments, after: &Arguments) {
        let mut is_changed = false;
        for (name, expected) in &self.arrays {
            let found = read(after.get(name).unwrap_or_else(|| panic!("no array `{name}`")));
            let largest = expected.elements.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
            for (at, (found, expected)) in found.elements.iter().zip(&expected.elements).enumerate() {
                let difference = (found - expected).abs();
                assert!(difference <= BOUND * largest, "{name}[{at}]: {found}, not {expected}");
            }
            is_changed |= before.get(name).map(read).as_ref() != Some(&found);
        }
        assert!(is_changed, "nothing was written");
    }
}

fn read(tensor: &Tensor) -> Array {
    let shape = tensor.shape().iter().map(|size| *size as usize).collect();
    let elements = match tensor.element().lane() {
        ScalarType::I8 => tensor.to_vec::<i8>().map(|all| all.into_iter().map(f64::from).collect()),
        ScalarType::I32 => tensor.to_vec::<i32>().map(|all| all.into_iter().map(f64::from).collect()),
        _ => tensor.to_vec::<f64>(),
    };
    Array { shape, elements: elements.unwrap_or_else(|error| panic!("{error}")) }
}

impl Array {
    pub(crate) fn zeros(shape: &[usize]) -> Self {
        Array { shape: shape.to_vec(), elements: vec![0.0; shape.iter().product()] }
    }
}

impl std::ops::Index<usize> for Array {
    type Output = f64;

    fn index(&self, i: usize) -> &f64 {
        &self.elements[i]
    }
}

impl std::ops::IndexMut<usize> for Array {
    fn index_mut(&mut self, i: usize) -> &mut f64 {
        &mut self.elements[i]
    }
}

impl std::ops::Index<(usize, usize)> for Array {
    type Output = f64;

    fn index(&self, (i, j): (usize, usize)) -> &f64 {
        &self.elements[i * self.shape[1] + j]
    }
}

impl std::ops::IndexMut<(usize, usize)> for Array {
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut f64 {
        &mut self.elements[i * self.shape[1] + j]
    }
}

impl std::ops::Index<(usize, usize, usize)> for Array {
    type Output = f64;

    fn index(&self, (i, j, k): (usize, usize, usize)) -> &f64 {
        &self.elements[(i * self.shape[1] + j) * self.shape[2] + k]
    }
}

impl std::ops::IndexMut<(usize, usize, usize)> for Array {
    fn index_mut(&mut self, (i, j, k): (usize, usize, usize)) -> &mut f64 {
        &mut self.elements[(i * self.shape[1] + j) * self.shape[2] + k]
    }
}
