//! Private copies of accumulators: neighbouring iterations combine into different copies.
//!
//! Where code selects the elements of a small target, as in a histogram, neighbouring iterations often select
//! the same element. Each iteration would then wait until the previous sum is in memory. With one copy for
//! each of several consecutive iterations, the previous sum of the same copy is already available.

use sdfg::dtype::ScalarType;
use sdfg::symbolic::Expr;

use super::Lowering;
use crate::plan::{
    BufferId, CopySelector, Level, Loop, PrivateAccumulator, PrivateCopies, Statement, Touch, any_statement,
    touches,
};

impl Lowering<'_> {
    /// Gives accumulators private copies where that pays. Returns the selector of the body where the body itself picks elements; inner loops
    /// that do get selectors of their own.
    pub(super) fn replicate_accumulators(
        &mut self,
        privates: &mut [PrivateAccumulator],
        body: &mut [Statement],
    ) -> Option<CopySelector> {
        let count = self.target.team.private_copies;
        let most_bytes = i64::try_from(self.target.replicated_bytes()).unwrap_or(i64::MAX);
        // A line between two copies is not used. Without, copies of a power of two bytes would have the same element at addresses that are
        // equal in their low bits, by which processors guess whether a load waits for a store.
        let gap_bytes = i64::try_from(self.target.caches.line).unwrap_or(0);
        let mut of_body = None;
        for private in privates {
            let buffer = self.plan.buffer(private.buffer);
            let Some(size) = buffer.size.as_int().filter(|n| *n > 1) else { continue };
            let element = buffer.element.size() as i64;
            if size > most_bytes / element / i64::from(count) {
                continue;
            }
            let stride = size + gap_bytes / element;
            let Some(selector) = self.select_copies(body, private.buffer, &mut of_body) else { continue };
            let offset = Expr::symbol(selector.variable) * Expr::int(stride);
            touches(body, &mut |mut touch| {
                if touch.buffer() == private.buffer
                    && let Some(location) = touch.location_mut()
                {
                    location.offset = &location.offset + &offset;
                }
            });
            let buffer = &mut self.plan.buffers[private.buffer.index()];
            buffer.size = Expr::int(stride * i64::from(count));
            private.copies = Some(PrivateCopies { count, stride });
        }
        of_body
    }

    /// The selector of the copies of an accumulator: that of the one innermost loop in which code picks elements of it, which is all that
    /// happens to it.
    fn select_copies(
        &mut self,
        body: &mut [Statement],
        accumulator: BufferId,
        of_body: &mut Option<CopySelector>,
    ) -> Option<CopySelector> {
        if !only_picked(body, accumulator) {
            return None;
        }
        if !any_statement(body, &repeats) {
            return Some(of_body.get_or_insert_with(|| self.new_selector()).clone());
        }
        let Level::Sequential { selector } = &mut innermost_loop(body, accumulator)?.level else {
            return None;
        };
        Some(selector.get_or_insert_with(|| self.new_selector()).clone())
    }

    fn new_selector(&mut self) -> CopySelector {
        CopySelector {
            variable: self.new_variable("copy", ScalarType::I64),
            count: self.target.team.private_copies,
        }
    }
}

/// The innermost loop around all uses of a buffer, if statements with a loop use it at one place only and no choice is around that.
fn innermost_loop(body: &mut [Statement], buffer: BufferId) -> Option<&mut Loop> {
    let mut using =
        body.iter_mut().filter_map(|each| uses(std::slice::from_mut(each), buffer).then_some(each));
    let (only, None) = (using.next()?, using.next()) else { return None };
    if let Statement::Located { body, .. } = only {
        return innermost_loop(body, buffer);
    }
    let Statement::Loop(each) = only else { return None };
    if any_statement(&each.body, &repeats) { innermost_loop(&mut each.body, buffer) } else { Some(each) }
}

/// Whether nothing happens to a buffer but that code picks elements and combines into them.
fn only_picked(body: &mut [Statement], buffer: BufferId) -> bool {
    let (mut picked, mut others) = (false, false);
    touches(body, &mut |touch| {
        if touch.buffer() == buffer {
            let picks = matches!(&touch, Touch::ViewMut(part, _) if !part.extents.is_empty());
            (picked, others) = (picked || picks, others || !picks);
        }
    });
    picked && !others
}

fn uses(body: &mut [Statement], buffer: BufferId) -> bool {
    let mut found = false;
    touches(body, &mut |touch| found |= touch.buffer() == buffer);
    found
}

fn repeats(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Loop(_) | Statement::While(_) | Statement::Dispatch { .. } | Statement::Consume(_)
    )
}
