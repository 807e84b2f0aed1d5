//! Copies of rectangular parts of buffers.

use std::fmt;

use sdfg::symbolic::Expr;

use super::buffer::Location;
use super::parts::{Part, PartMut};
use super::print::{Printer, resolved};
use super::walk::Touch;
use super::write::Resolved;

/// For every index: element of `from` to element of `to`. The two parts do not overlap unless they are the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Copy {
    /// Label of the edge, for comments and debug information.
    pub label: String,
    /// First element that is read.
    pub from: Location,
    /// First element that is written.
    pub to: Location,
    /// Dimensions, outermost first; none copies one element. An extent that is not positive copies nothing.
    pub dimensions: Vec<CopyDimension>,
    /// Treatment of the old value.
    pub write: Resolved,
}

/// One dimension of a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyDimension {
    /// Number of indices.
    pub extent: Expr,
    /// Elements between neighbours that are read.
    pub from_stride: Expr,
    /// Elements between neighbours that are written.
    pub to_stride: Expr,
}

impl Copy {
    /// The dimensions with neighbours put together where both sides allow it: fewer loops, longer blocks.
    pub(crate) fn merged_dimensions(&self) -> Vec<CopyDimension> {
        let mut merged: Vec<CopyDimension> = Vec::new();
        for dimension in &self.dimensions {
            match merged.last_mut() {
                Some(outer)
                    if outer.from_stride == &dimension.from_stride * &dimension.extent
                        && outer.to_stride == &dimension.to_stride * &dimension.extent =>
                {
                    // Both may be empty by ending before they begin.
                    let count = |extent| Expr::max(extent, &Expr::zero());
                    outer.extent = count(&outer.extent) * count(&dimension.extent);
                    outer.from_stride = dimension.from_stride.clone();
                    outer.to_stride = dimension.to_stride.clone();
                }
                Some(_) | None => merged.push(dimension.clone()),
            }
        }
        merged
    }

    pub(super) fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        self.from.parts(visit);
        self.to.parts(visit);
        for dimension in &self.dimensions {
            for expression in [&dimension.extent, &dimension.from_stride, &dimension.to_stride] {
                visit(Part::Evaluates(expression));
            }
        }
        self.write.parts(self.to.buffer, visit);
    }

    pub(super) fn parts_mut(&mut self, visit: &mut dyn FnMut(PartMut<'_>)) {
        visit(PartMut::Touch(Touch::CopyFrom(&mut self.from)));
        let single = self.dimensions.is_empty();
        visit(PartMut::Touch(Touch::CopyTo { to: &mut self.to, write: &mut self.write, single }));
    }

    pub(super) fn print(&self, to: &mut Printer<'_, '_, '_>) -> fmt::Result {
        let dimensions = self.dimensions.iter();
        let dimensions =
            dimensions.map(|d| format!("{} from {} to {}", d.extent, d.from_stride, d.to_stride));
        let dimensions = dimensions.collect::<Vec<_>>().join(", ");
        let (source, target, write) = (to.location(&self.from), to.location(&self.to), resolved(&self.write));
        to.line(format_args!("copy {source} -> {target}{write} [{dimensions}]"))
    }
}
