//! Copies between any two parts of buffers.

use sdfg::ir::{Access, ConflictResolution};
use sdfg::symbolic::Expr;

use super::Lowering;
use super::access::AccessKind;
use super::bound::{Axis, Bound};
use super::error::LowerError;
use super::frame::Frame;
use crate::plan::{Copy, CopyDimension, For, Location, LoopDimension, Statement};

impl<'g> Lowering<'g> {
    /// Statements that copy one part of memory to another, paired in row-major order without dimensions of extent one.
    pub(super) fn copy(
        &mut self,
        frame: &Frame<'g>,
        from: &Access,
        to: &Access,
        resolution: Option<&ConflictResolution>,
        label: &str,
    ) -> Result<Vec<Statement>, LowerError> {
        let (source, _) = self.resolve(frame, from, label)?;
        let (destination, _) = self.resolve(frame, to, label)?;
        if source.element != destination.element {
            return Err(LowerError::Invalid {
                what: format!("a copy from {} to {}", source.element, destination.element),
                path: frame.at(label),
            });
        }
        self.record(&source, AccessKind::Read);
        self.record(&destination, resolution.map_or(AccessKind::Write, |r| AccessKind::Combine(r.clone())));
        let write = self.resolved(frame, resolution, destination.element, label)?;
        let (source_axes, destination_axes) = (significant(&source), significant(&destination));
        let label = label.to_owned();
        let matches = source_axes.len() == destination_axes.len()
            && source_axes.iter().zip(&destination_axes).all(|(a, b)| a.extent == b.extent);
        if matches {
            let dimensions = source_axes.iter().zip(&destination_axes).map(|(a, b)| CopyDimension {
                extent: a.extent.clone(),
                from_stride: a.stride.clone(),
                to_stride: b.stride.clone(),
            });
            let dimensions = dimensions.collect();
            return Ok(vec![Statement::Copy(Copy {
                label,
                from: source.origin,
                to: destination.origin,
                dimensions,
                write,
            })]);
        }
        // The shapes differ: element `q` in row-major order of both.
        let position = self.new_variable("q", sdfg::dtype::ScalarType::I64);
        let q = Expr::symbol(position.clone());
        let volume = source_axes.iter().fold(Expr::one(), |product, axis| &product * &axis.extent);
        let from = Location {
            buffer: source.origin.buffer,
            offset: &source.origin.offset + &row_major(&q, &source_axes),
        };
        let to = Location {
            buffer: destination.origin.buffer,
            offset: &destination.origin.offset + &row_major(&q, &destination_axes),
        };
        let body = vec![Statement::Copy(Copy { label, from, to, dimensions: Vec::new(), write })];
        let dimension =
            LoopDimension { variable: position, begin: Expr::zero(), end: volume, step: Expr::one() };
        Ok(vec![Statement::For(For { dimension, independent: false, unroll: false, body })])
    }
}

/// Dimensions that may have more than one index.
fn significant(part: &Bound) -> Vec<Axis> {
    part.axes.iter().filter(|axis| !axis.extent.is_one()).cloned().collect()
}

/// Position of the `q`-th element in row-major order.
fn row_major(q: &Expr, axes: &[Axis]) -> Expr {
    let mut offset = Expr::zero();
    let mut inner = Expr::one();
    for (d, axis) in axes.iter().enumerate().rev() {
        let index = q.floor_div(&inner);
        let index = if d == 0 { index } else { index.modulo(&axis.extent) };
        offset = &offset + &(&index * &axis.stride);
        inner = &inner * &axis.extent;
    }
    offset
}
