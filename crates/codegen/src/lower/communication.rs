//! Communication between threads through streams. A consume scope takes an element after its push, so it may
//! access memory that the producer wrote before the push (`docs/semantics.md`, "Conflicts").
//!
//! Two decisions follow. A loop that pushes does not defer conflict resolution to its end, because the
//! consumer may read the result earlier. Memory that passes between threads is not treated as thread-local
//! while the loop runs.

use sdfg::ir::{NodeKind, Sdfg};

use super::Lowering;
use super::conflict::OpenLoop;
use crate::plan::{BufferId, Statement, Touch, any_statement, touches};

/// Number of consume scopes of a program, including those of its nested SDFGs.
pub(super) fn n_consume_scopes(sdfg: &Sdfg) -> usize {
    let nodes = sdfg.states().flat_map(|(_, state)| state.nodes());
    nodes
        .map(|(_, node)| match &node.kind {
            NodeKind::ConsumeEntry(_) => 1,
            NodeKind::Nested(nested) => n_consume_scopes(&nested.sdfg),
            NodeKind::Access(_)
            | NodeKind::Tasklet(_)
            | NodeKind::MapEntry(_)
            | NodeKind::MapExit(_)
            | NodeKind::ConsumeExit(_)
            | NodeKind::Reduce(_)
            | NodeKind::Library(_) => 0,
        })
        .sum()
}

impl Lowering<'_> {
    /// Whether the conflict resolution of a closed loop may be deferred to the end of the loop.
    pub(super) fn may_defer_resolution(&self, body: &mut [Statement]) -> bool {
        // If the only consume scope pushes to itself, the records of its loop contain every access.
        let is_its_own = self.n_consume_scopes == 1 && is_consume(body) && self.is_alone();
        self.n_consume_scopes == 0 || is_its_own || !pushes(body)
    }

    /// Buffers through which threads of a closed loop may communicate, with each other or with other threads, while it
    /// runs.
    pub(super) fn communicated(&self, body: &mut [Statement], outermost: &OpenLoop) -> Vec<BufferId> {
        if self.n_consume_scopes == 0 {
            return Vec::new();
        }
        let is_alone = self.is_alone();
        let consumes = any_statement(body, &|statement| matches!(statement, Statement::Consume(_)));
        let takes_part = if is_alone { consumes && pushes(body) } else { consumes || pushes(body) };
        if !takes_part {
            return Vec::new();
        }
        // Memory that a lone scope only reads was written before it began. Memory that it combines is contended anyway.
        let only_writes = is_alone && is_consume(body);
        let mut found = Vec::new();
        touches(body, &mut |mut touch| {
            let buffer = touch.buffer();
            let is_older = buffer.index() < outermost.n_buffers;
            let is_left_out = is_queue(&touch) || only_writes && (touch.reads() || touch.combines());
            if is_older && !is_left_out && !found.contains(&buffer) {
                found.push(buffer);
            }
        });
        found
    }

    /// Whether nothing else runs beside what is being lowered.
    fn is_alone(&self) -> bool {
        self.n_tasks == 0 && !self.loops.iter().any(|open| open.parallel || open.tasks)
    }
}

/// Whether the body of a loop is a processing element.
fn is_consume(body: &[Statement]) -> bool {
    matches!(body, [Statement::Consume(_)])
}

fn pushes(body: &mut [Statement]) -> bool {
    let mut found = false;
    touches(body, &mut |touch| found |= matches!(touch, Touch::PushTo(_)));
    found
}

fn is_queue(touch: &Touch<'_>) -> bool {
    match touch {
        Touch::PushTo(_) | Touch::TakeFrom(_) | Touch::Length(_) => true,
        Touch::Load(_)
        | Touch::View(_)
        | Touch::Store(..)
        | Touch::ViewMut(..)
        | Touch::CopyFrom(_)
        | Touch::CopyTo { .. }
        | Touch::Pointer(_)
        | Touch::Merge(_)
        | Touch::Name(_) => false,
    }
}
