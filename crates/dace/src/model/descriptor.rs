//! Data descriptors: the contents and the layout of a container.

use std::sync::Arc;

use sdfg::dtype::{ElementType, ScalarType};
use sdfg::ir::{Lifetime, Storage};
use sdfg::symbolic::Expr;

/// An element type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dtype {
    /// Type of an element. A struct of numbers is a short vector of its fields.
    pub(crate) element: ElementType,
    /// The fields, if it is a struct.
    pub(crate) fields: Option<Arc<StructType>>,
}

/// A struct of numbers, each of which one lane holds exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StructType {
    pub(crate) name: String,
    /// Names and types of the fields; the position is the lane.
    pub(crate) fields: Vec<(String, ScalarType)>,
}

impl Dtype {
    /// A type without fields.
    pub(crate) fn of(element: impl Into<ElementType>) -> Self {
        Dtype { element: element.into(), fields: None }
    }
}

/// A container.
#[derive(Clone, Debug)]
pub(crate) struct Descriptor {
    pub(crate) kind: DescriptorKind,
    pub(crate) dtype: Dtype,
    /// Extents; `[1]` for a scalar.
    pub(crate) shape: Vec<Expr>,
    /// Distances in elements, as many as extents.
    pub(crate) strides: Vec<Expr>,
    /// Added to the indices of each dimension before strides are applied.
    pub(crate) offset: Vec<Expr>,
    /// Added to the place of every element.
    pub(crate) start_offset: Expr,
    pub(crate) total_size: Expr,
    pub(crate) transient: bool,
    pub(crate) storage: Storage,
    pub(crate) lifetime: Lifetime,
    /// A scalar that is passed by reference, as it is written: DaCe has an array of one element for it.
    pub(crate) by_reference: bool,
}

impl Descriptor {
    /// A scalar of a type that the caller has.
    pub(crate) fn scalar(dtype: Dtype) -> Self {
        Descriptor {
            kind: DescriptorKind::Scalar,
            dtype,
            shape: vec![Expr::one()],
            strides: vec![Expr::one()],
            offset: vec![Expr::zero()],
            start_offset: Expr::zero(),
            total_size: Expr::one(),
            transient: false,
            storage: Storage::Default,
            lifetime: Lifetime::Sdfg,
            by_reference: false,
        }
    }

    /// A packed array of a type, with one dimension.
    pub(crate) fn array(dtype: Dtype, extent: Expr) -> Self {
        let (kind, shape, total_size) = (DescriptorKind::Array, vec![extent.clone()], extent);
        Descriptor { kind, shape, total_size, ..Descriptor::scalar(dtype) }
    }
}

/// The kinds of containers that are supported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DescriptorKind {
    Scalar,
    Array,
    /// An array of queues without a bound.
    Stream,
    View,
    Reference,
}
