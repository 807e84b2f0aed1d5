//! Copies between any two parts of buffers.
//!
//! A copy statement of a plan must not overlap itself. Where two parts of one buffer may overlap, the
//! elements pass through temporary memory.

use sdfg::ir::{Access, ConflictResolution};
use sdfg::subset::Subset;
use sdfg::symbolic::{Expr, Truth};

use super::Lowering;
use super::access::AccessKind;
use super::buffer_view::{Axis, BufferView};
use super::call_frame::CallFrame;
use super::error::LowerError;
use crate::plan::{Copy, CopyDimension, Location, Loop, LoopDimension, Resolved, Statement};

impl<'g> Lowering<'g> {
    /// Statements that copy one part of memory to another, paired in row-major order without dimensions of extent one.
    pub(super) fn copy(
        &mut self,
        frame: &CallFrame<'g>,
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
        let (from, to) = (source.origin.buffer, destination.origin.buffer);
        if !self.plan.may_overlap(from, to) || from == to && self.apart(&source, &destination) {
            let mut statements = self.take_checks();
            statements.extend(self.copy_parts(&source, &destination, write, label));
            return Ok(statements);
        }
        // All elements are read before the first is written.
        let name = format!("{}_copy", self.plan.buffer(source.origin.buffer).name);
        let shape = significant(&source).into_iter().map(|axis| axis.extent).collect();
        let mut statements = self.take_checks();
        let (memory, (before, after)) = self.temporary(&name, source.element, shape);
        statements.extend(before);
        self.record(&memory, AccessKind::Write);
        self.record(&memory, AccessKind::Read);
        statements.extend(self.copy_parts(&source, &memory, Resolved::Store, label));
        statements.extend(self.copy_parts(&memory, &destination, write, label));
        statements.extend(after);
        Ok(statements)
    }

    /// Whether two parts of one buffer, or of what a reference names, have no element in common, or are paired element by element with themselves.
    fn apart(&self, source: &BufferView, destination: &BufferView) -> bool {
        let disjoint = |a: Subset, b: Subset| a.disjoint(&b, &self.assumptions) == Truth::Proved;
        source.strided() == destination.strided()
            || source.root_subset().zip(destination.root_subset()).is_some_and(|(a, b)| disjoint(a, b))
    }

    /// Statements that copy one part of memory to another, which it does not overlap.
    fn copy_parts(
        &mut self,
        source: &BufferView,
        destination: &BufferView,
        write: Resolved,
        label: &str,
    ) -> Vec<Statement> {
        let (source_axes, destination_axes) = (significant(source), significant(destination));
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
            let (from, to) = (source.origin.clone(), destination.origin.clone());
            return vec![Statement::Copy(Copy { label, from, to, dimensions, write })];
        }
        // The shapes differ: element `q` in row-major order of both.
        let position = self.new_variable("q", sdfg::dtype::ScalarType::I64);
        let q = Expr::symbol(position.clone());
        // Two empty ranges that end before they begin would have a product above 0.
        let count = |axis: &Axis| self.at_least_zero(&axis.extent);
        let volume = source_axes.iter().fold(Expr::one(), |product, axis| product * count(axis));
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
        // The threads of a block may share it.
        let independent = self.is_by_blocks();
        vec![Statement::Loop(Loop { independent, ..Loop::sequential(dimension, body) })]
    }
}

/// Dimensions that may have more than one index.
pub(super) fn significant(part: &BufferView) -> Vec<Axis> {
    part.axes.iter().filter(|axis| !axis.extent.is_one()).cloned().collect()
}

/// Position of the `q`-th element in row-major order.
pub(super) fn row_major(q: &Expr, axes: &[Axis]) -> Expr {
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
