//! Accesses: memlets as positions in buffers, and a record of the elements that each loop touches.

use sdfg::analysis::consumed_by;
use sdfg::ir::{Access, AccessedPart, ConflictResolution, Edge, EdgeId, State};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::Expr;

use super::Lowering;
use super::buffer_view::BufferView;
use super::call_frame::CallFrame;
use super::error::LowerError;
use crate::plan::BufferId;

/// One access of the program, at the place where it was lowered.
#[derive(Clone, Debug)]
pub(super) struct Record {
    /// The buffer.
    pub(super) buffer: BufferId,
    /// Elements, in the buffer's own dimensions; `None` means any.
    pub(super) subset: Option<Subset>,
    /// The kind of access.
    pub(super) kind: AccessKind,
    /// Numbers of the loops around it, outermost first.
    pub(super) loops: Vec<usize>,
}

/// Kinds of access.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum AccessKind {
    /// Read.
    Read,
    /// Replaced.
    Write,
    /// Combined with a new value.
    Combine(ConflictResolution),
}

impl<'g> Lowering<'g> {
    /// The part of a buffer that an access names, and which of its dimensions are single indices.
    pub(super) fn resolve(
        &mut self,
        frame: &CallFrame<'g>,
        access: &Access,
        label: &str,
    ) -> Result<(BufferView, Vec<bool>), LowerError> {
        self.resolve_part(frame, access, false, label)
    }

    /// As [`Lowering::resolve`] of what gets another name; `bounds_are_deferred` says that it may reach beyond the container.
    pub(super) fn resolve_part(
        &mut self,
        frame: &CallFrame<'g>,
        access: &Access,
        bounds_are_deferred: bool,
        label: &str,
    ) -> Result<(BufferView, Vec<bool>), LowerError> {
        let container = frame.sdfg.container(access.container);
        let subset = match &access.place {
            AccessedPart::Elements(subset) | AccessedPart::Queues(subset) => frame.translate_subset(subset),
        };
        let bound = frame.containers.get(&access.container).ok_or_else(|| LowerError::Unsupported {
            what: format!("`{}` before it is bound", container.name),
            path: frame.at(label),
        })?;
        if bound.axes.len() != subset.rank() {
            return Err(LowerError::Invalid {
                what: format!(
                    "`{}` has {} dimensions, its memlet {}",
                    container.name,
                    bound.axes.len(),
                    subset.rank()
                ),
                path: frame.at(label),
            });
        }
        let memlet = || format!("`{}[{}]` at {}", container.name, access.subset(), frame.at(label));
        let mut part = bound.select(&subset);
        if bounds_are_deferred {
            self.note_deferred_bounds(memlet, bound, &subset, &mut part);
        } else {
            self.note_check(memlet, bound, &subset);
        }
        let mut ranges = subset.0.iter();
        let single = part.axes.iter().map(|axis| !axis.tile && ranges.next().is_some_and(Range::is_index));
        let single = single.collect();
        Ok((part, single))
    }

    /// The source of an edge: an access, or the element that a surrounding consume scope took.
    pub(super) fn read_part(
        &mut self,
        frame: &CallFrame<'g>,
        state: &State,
        edge: EdgeId,
        access: &Access,
        label: &str,
    ) -> Result<(BufferView, Vec<bool>), LowerError> {
        match self.consumed(frame, state, edge) {
            Some(element) => Ok((element, Vec::new())),
            None => self.resolve(frame, access, label),
        }
    }

    /// The element that a consume scope took, if an edge brings that.
    pub(super) fn consumed(&self, frame: &CallFrame<'g>, state: &State, edge: EdgeId) -> Option<BufferView> {
        let cell = frame.consumed.get(&consumed_by(state, edge)?)?;
        let element = self.plan.buffer(*cell).element;
        Some(BufferView::whole(*cell, element, &[], &[], &Expr::zero()))
    }

    /// The value that another node gave to an edge without a container.
    pub(super) fn carried(&self, frame: &CallFrame<'g>, edge: &Edge) -> Option<BufferView> {
        let connector = edge.src_connector.clone()?;
        let cell = frame.value_cells.get(&(edge.src, connector))?;
        let element = self.plan.buffer(*cell).element;
        Some(BufferView::whole(*cell, element, &[], &[], &Expr::zero()))
    }

    /// Notes that the statement being lowered accesses a part of a buffer.
    pub(super) fn record(&mut self, part: &BufferView, kind: AccessKind) {
        let loops = self.loops.iter().map(|open| open.number).collect();
        self.records.push(Record { buffer: part.origin.buffer, subset: part.root_subset(), kind, loops });
    }
}
