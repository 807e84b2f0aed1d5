//! Buffers that may overlap: references, and arguments that are declared to overlap. All other buffers have
//! separate memory.

use std::collections::BTreeSet;

use super::buffer::{Allocation, BufferId};
use super::program::Plan;

impl Plan {
    /// Whether a buffer is a name for the memory of others.
    pub(crate) fn is_reference(&self, id: BufferId) -> bool {
        matches!(self.buffer(id).allocation, Allocation::Reference(_))
    }

    /// The buffers with memory of their own in which a buffer may lie: itself, or what a reference may name, through others too.
    pub(crate) fn owners(&self, id: BufferId) -> BTreeSet<BufferId> {
        let (mut owners, mut seen, mut waiting) = (BTreeSet::new(), BTreeSet::new(), vec![id]);
        while let Some(id) = waiting.pop() {
            if !seen.insert(id) {
                continue;
            }
            match &self.buffer(id).allocation {
                Allocation::Reference(targets) => waiting.extend(targets),
                Allocation::Argument(_)
                | Allocation::Stack
                | Allocation::Handle
                | Allocation::Persistent
                | Allocation::Thread
                | Allocation::Dynamic
                | Allocation::Queues { .. }
                | Allocation::Constant(_) => {
                    owners.insert(id);
                }
            }
        }
        owners
    }

    /// Whether two buffers may have elements in common. What takes turns in the arena is not asked for here.
    pub(crate) fn may_overlap(&self, a: BufferId, b: BufferId) -> bool {
        if a == b {
            return true;
        }
        if self.overlapping.is_empty() && !self.is_reference(a) && !self.is_reference(b) {
            return false;
        }
        let (a, b) = (self.owners(a), self.owners(b));
        !a.is_disjoint(&b) || !a.is_disjoint(&self.overlapping) && !b.is_disjoint(&self.overlapping)
    }
}
