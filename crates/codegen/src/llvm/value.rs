//! Values in registers: single lanes, and elements of one or more lanes.
//!
//! Lanes are separate values, and arithmetic is emitted lane by lane. LLVM's vectoriser combines them.

use inkwell::values::{FloatValue, IntValue};
use sdfg::dtype::{ElementType, ScalarType};

use super::emitter::{Emit, Emitter};

/// One lane.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lane<'ctx> {
    /// An integer, or a `bool` as one bit.
    Int(IntValue<'ctx>),
    /// A float.
    Float(FloatValue<'ctx>),
    /// Real and imaginary part.
    Complex(FloatValue<'ctx>, FloatValue<'ctx>),
}

/// An element: one or more lanes of a type.
#[derive(Clone, Debug)]
pub(super) struct Lanes<'ctx> {
    pub(super) ty: ScalarType,
    pub(super) lanes: Vec<Lane<'ctx>>,
}

impl<'ctx> Lanes<'ctx> {
    pub(super) fn scalar(ty: ScalarType, lane: Lane<'ctx>) -> Self {
        Lanes { ty, lanes: vec![lane] }
    }

    pub(super) fn element(&self) -> Option<ElementType> {
        ElementType::vector(self.ty, u16::try_from(self.lanes.len()).ok()?)
    }
}

impl<'ctx> Emitter<'ctx> {
    pub(super) fn as_int(&self, lane: Lane<'ctx>) -> Emit<IntValue<'ctx>> {
        match lane {
            Lane::Int(value) => Ok(value),
            Lane::Float(_) | Lane::Complex(..) => Err(self.defect("an integer was expected")),
        }
    }

    pub(super) fn as_float(&self, lane: Lane<'ctx>) -> Emit<FloatValue<'ctx>> {
        match lane {
            Lane::Float(value) => Ok(value),
            Lane::Int(_) | Lane::Complex(..) => Err(self.defect("a float was expected")),
        }
    }

    pub(super) fn as_complex(&self, lane: Lane<'ctx>) -> Emit<(FloatValue<'ctx>, FloatValue<'ctx>)> {
        match lane {
            Lane::Complex(re, im) => Ok((re, im)),
            Lane::Int(_) | Lane::Float(_) => Err(self.defect("a complex number was expected")),
        }
    }

    /// The only lane of a scalar integer or `bool`.
    pub(super) fn scalar_int(&self, value: &Lanes<'ctx>) -> Emit<IntValue<'ctx>> {
        match value.lanes.as_slice() {
            [Lane::Int(value)] => Ok(*value),
            _ => Err(self.defect("a scalar integer was expected")),
        }
    }
}
