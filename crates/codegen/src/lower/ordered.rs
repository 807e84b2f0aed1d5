//! Shared loops whose results do not depend on the number of threads, bit by bit.
//!
//! Sums of floating-point numbers depend on their order. Therefore iterations are divided into fixed chunks.
//! Each chunk has its own accumulators, which are combined into their targets in the order of the chunks,
//! whichever thread ran them. A loop that combines values step by step into shared elements runs on one
//! thread. Without a request for reproducibility, only stream pushes keep their order, as far as the sharing
//! rule gives each thread consecutive iterations.

use sdfg::dtype::{ElementType, ScalarKind};
use sdfg::ir::{ConflictResolution, OpenMpSchedule};
use sdfg::symbolic::Expr;

use super::Lowering;
use super::conflict::Closed;
use crate::plan::{OrderedChunks, Realisation, Resolved, Start, Statement, touches};

impl Lowering<'_> {
    /// When a team is started for a loop with so much work, and what it does in the order of iterations.
    pub(super) fn ordered(
        &self,
        body: &mut [Statement],
        closed: &Closed,
        work: Option<Expr>,
        (sharing, has_chunk): (OpenMpSchedule, bool),
    ) -> (Start, Option<OrderedChunks>) {
        let is_reproducible = self.options.reproducible;
        let start = if is_reproducible && self.combines_in_any_order(body) {
            Start::Never
        } else {
            work.map_or(Start::Always, Start::Worth)
        };
        let has_order = |private: &crate::plan::PrivateAccumulator| {
            is_ordered(&private.resolution, self.plan.buffer(private.buffer).element)
        };
        let accumulators = is_reproducible && closed.privates.iter().any(has_order);
        let keeps_order = sharing == OpenMpSchedule::Static && !has_chunk;
        let streams = !closed.collected.is_empty() && (keeps_order || is_reproducible);
        let limits = &self.target.team;
        let in_order = OrderedChunks { accumulators, chunks: limits.chunks, piece: limits.piece };
        (start, (accumulators || streams).then_some(in_order))
    }

    /// Whether threads combine into shared elements in an order that matters.
    fn combines_in_any_order(&self, body: &mut [Statement]) -> bool {
        let mut found = false;
        touches(body, &mut |mut touch| {
            let element = self.plan.buffer(touch.buffer()).element;
            if let Some(Resolved::Combine { resolution, realisation, .. }) = touch.write_mut() {
                found |= match realisation {
                    Realisation::Atomic | Realisation::Locked => is_ordered(resolution, element),
                    Realisation::Plain => false,
                };
            }
        });
        found
    }
}

/// Whether the order matters in which new values are combined into an element.
fn is_ordered(resolution: &ConflictResolution, element: ElementType) -> bool {
    match resolution {
        // Of several values, the last one stays; of a function of the user nothing is known.
        ConflictResolution::Replace | ConflictResolution::Custom(_) => true,
        ConflictResolution::Sum
        | ConflictResolution::Product
        | ConflictResolution::Min
        | ConflictResolution::Max
        | ConflictResolution::And
        | ConflictResolution::Or
        | ConflictResolution::Xor
        | ConflictResolution::BitAnd
        | ConflictResolution::BitOr
        | ConflictResolution::BitXor
        | ConflictResolution::MinLocation
        | ConflictResolution::MaxLocation => {
            matches!(element.lane().kind(), ScalarKind::Float | ScalarKind::Complex)
        }
    }
}
