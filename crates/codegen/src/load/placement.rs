//! Element placement for dense caller arrays: scatter to the program's strides before a call, gather after
//! it.

use sdfg::symbolic::Expr;

use super::call::{Immediate, Symbols, size, value};
use super::error::CallError;
use crate::interface::{Argument, ArgumentKind};

/// The elements of a dense row-major array in an allocation with strides of its own.
#[derive(Debug)]
pub(super) struct Placement {
    shape: Vec<i64>,
    strides: Vec<i64>,
    offset: i64,
    /// Elements of the allocation.
    elements: usize,
    /// Bytes of one element.
    element_bytes: usize,
}

impl Placement {
    /// The placement of an argument; `None` if the program takes it dense, too.
    ///
    /// Every position is in the allocation.
    pub(super) fn of(argument: &Argument, symbols: &Symbols) -> Result<Option<Self>, CallError> {
        let ArgumentKind::Array { element, shape, strides, offset, elements, .. } = &argument.kind else {
            return Ok(None);
        };
        if argument.is_dense() {
            return Ok(None);
        }
        let sizes = |expressions: &[Expr]| -> Result<Vec<i64>, CallError> {
            expressions.iter().map(|expression| size(argument, expression, symbols)).collect()
        };
        let strides = strides.iter().map(|stride| value(argument, stride, symbols));
        let placement = Placement {
            shape: sizes(shape)?,
            strides: strides.collect::<Result<_, _>>()?,
            offset: value(argument, offset, symbols)?,
            elements: usize::try_from(size(argument, elements, symbols)?).unwrap_or(usize::MAX),
            element_bytes: element.size(),
        };
        match placement.outside() {
            Some(position) => Err(CallError::Outside {
                argument: argument.name.clone(),
                position,
                elements: placement.elements,
            }),
            None => Ok(Some(placement)),
        }
    }

    /// The first or last position if it is not in the allocation.
    fn outside(&self) -> Option<i128> {
        if self.shape.contains(&0) {
            return None;
        }
        let (mut first, mut last) = (i128::from(self.offset), i128::from(self.offset));
        for (extent, stride) in self.shape.iter().zip(&self.strides) {
            let reach = i128::from(extent - 1) * i128::from(*stride);
            *(if reach < 0 { &mut first } else { &mut last }) += reach;
        }
        let within = |position: i128| 0 <= position && position < self.elements as i128;
        [first, last].into_iter().find(|position| !within(*position))
    }

    /// Positions of all elements in row-major order.
    fn positions(&self) -> impl Iterator<Item = usize> {
        let count = self.shape.iter().product::<i64>();
        (0..count).map(|index| {
            let (mut rest, mut position) = (index, self.offset);
            for (extent, stride) in self.shape.iter().zip(&self.strides).rev() {
                position += rest % extent * stride;
                rest /= extent;
            }
            // `of` has shown that it is not negative.
            position as usize
        })
    }

    /// An allocation with the elements of `dense` in their places; what lies between them is zero.
    pub(super) fn spread(&self, dense: &[u8]) -> Vec<Immediate> {
        let bytes = self.elements * self.element_bytes;
        let mut allocation = vec![Immediate([0; 16]); bytes.div_ceil(16)];
        let target = Immediate::bytes_mut(&mut allocation);
        for (element, position) in dense.chunks_exact(self.element_bytes).zip(self.positions()) {
            let start = position * self.element_bytes;
            target[start..start + self.element_bytes].copy_from_slice(element);
        }
        allocation
    }

    /// Takes the elements back.
    pub(super) fn collect(&self, allocation: &mut [Immediate], dense: &mut [u8]) {
        let source = Immediate::bytes_mut(allocation);
        for (element, position) in dense.chunks_exact_mut(self.element_bytes).zip(self.positions()) {
            let start = position * self.element_bytes;
            element.copy_from_slice(&source[start..start + self.element_bytes]);
        }
    }
}
