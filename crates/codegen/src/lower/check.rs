//! Checks of a checked plan: bounds of memlets, and initialisation of transients.

use sdfg::dtype::{ElementType, ScalarType};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::Expr;

use super::Lowering;
use super::buffer_view::{Axis, BoundedDimension, BufferView, DeferredBounds};
use super::memory::RootShape;
use crate::plan::{Allocation, Buffer, BufferId, Check, CheckedDimension, Statement};

impl Lowering<'_> {
    /// Notes that the elements of a subset are accessed. Whoever lowers the access takes the check to where it belongs.
    pub(super) fn note_check(
        &mut self,
        memlet: impl FnOnce() -> String,
        bound: &BufferView,
        subset: &Subset,
    ) {
        if !self.options.checked {
            return;
        }
        let dimension = |(range, axis): (&Range, &Axis)| CheckedDimension {
            begin: range.begin.clone(),
            count: (!range.is_index()).then(|| range.steps()),
            step: range.step.clone(),
            tile: range.tile.clone(),
            extent: axis.extent.clone(),
        };
        let dimensions = subset.0.iter().zip(&bound.axes).map(dimension).collect();
        let deferred = bound.deferred.iter().map(|each| through(each, subset)).collect();
        self.checks.push(Check { memlet: memlet(), dimensions, deferred });
    }

    /// Notes at a part of a container that it may reach beyond: its elements are looked at where they are accessed.
    pub(super) fn note_deferred_bounds(
        &mut self,
        memlet: impl FnOnce() -> String,
        bound: &BufferView,
        subset: &Subset,
        part: &mut BufferView,
    ) {
        if !self.options.checked {
            return;
        }
        let side = |(number, (range, axis)): (usize, (&Range, &Axis))| BoundedDimension {
            begin: range.begin.clone(),
            axis: Some((number, range.step.clone())),
            extent: axis.extent.clone(),
        };
        let sides = subset.0.iter().zip(&bound.axes).enumerate().map(side).collect();
        part.deferred.push(DeferredBounds { memlet: memlet(), sides });
    }

    /// Notes that a part of memory gets these extents.
    pub(super) fn note_extents(&mut self, what: impl FnOnce() -> String, inside: &[Expr], outside: &[Axis]) {
        if !self.options.checked {
            return;
        }
        let dimension = |(extent, axis): (&Expr, &Axis)| CheckedDimension {
            begin: Expr::zero(),
            count: Some(extent.clone()),
            step: Expr::one(),
            tile: Expr::one(),
            extent: axis.extent.clone(),
        };
        let dimensions = inside.iter().zip(outside).map(dimension).collect();
        self.checks.push(Check { memlet: what(), dimensions, deferred: Vec::new() });
    }

    /// Recorded checks, for the place before the accesses.
    pub(super) fn take_checks(&mut self) -> Vec<Statement> {
        self.checks.drain(..).map(Statement::Check).collect()
    }

    /// Gives a transient a buffer that says which of its elements were written.
    pub(super) fn add_defined(&mut self, of: BufferId) {
        let Buffer { name, size, allocation, .. } = self.plan.buffer(of);
        let is_own = match allocation {
            Allocation::Stack
            | Allocation::Handle
            | Allocation::Persistent
            | Allocation::Thread
            | Allocation::Dynamic => true,
            // What a reference names has its own.
            Allocation::Argument(_)
            | Allocation::Queues { .. }
            | Allocation::Reference(_)
            | Allocation::Constant(_) => false,
        };
        if !self.options.checked || !is_own {
            return;
        }
        let (size, allocation) = (size.clone(), allocation.clone());
        let name = format!("{name}_defined");
        let name = self.take_name(&name);
        let element = ElementType::scalar(ScalarType::U8);
        let root = RootShape::packed(vec![size.clone()]);
        let defined = self.push_buffer(Buffer::new(name, element, size, allocation), root);
        self.plan.buffers[of.index()].defined = Some(defined);
        self.storages[defined.index()] = self.storages[of.index()];
    }

    /// The statement that makes every element of a transient undefined, where its lifetime begins.
    pub(super) fn undefine(&self, buffer: BufferId) -> Option<Statement> {
        let Buffer { allocation, defined, .. } = self.plan.buffer(buffer);
        // What is kept from run to run is undefined when the handle gets it.
        defined.filter(|_| *allocation != Allocation::Persistent).map(Statement::Undefine)
    }
}

/// Elements of a part that lie in the container whose bounds are deferred.
fn through(each: &DeferredBounds, subset: &Subset) -> Check {
    let dimension = |side: &BoundedDimension| {
        let along = side.axis.as_ref().and_then(|(axis, step)| Some((subset.0.get(*axis)?, step)));
        let (zero, one) = (Range::index(Expr::zero()), Expr::one());
        let (range, step) = along.unwrap_or((&zero, &one));
        CheckedDimension {
            begin: &side.begin + &(&range.begin * step),
            count: (!range.is_index()).then(|| range.steps()),
            step: &range.step * step,
            tile: range.tile.clone(),
            extent: side.extent.clone(),
        }
    };
    let dimensions = each.sides.iter().map(dimension).collect();
    Check { memlet: each.memlet.clone(), dimensions, deferred: Vec::new() }
}
