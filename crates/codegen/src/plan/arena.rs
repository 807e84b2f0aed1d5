//! The arena: memory of the handle that transients with disjoint lifetimes share.
//!
//! Lowering assigns buffers to slots ([`Slot`]). This module computes the sizes in bytes.

use std::collections::BTreeMap;

use sdfg::symbolic::{Assumptions, Expr, Truth};

use super::buffer::{Allocation, Buffer, BufferId};
use super::program::Plan;
use super::space::Space;

/// A place in the arena of the handle, as large as the largest of its buffers.
///
/// Its buffers are never in use at the same time: while the contents of one may still be read, no statement writes another,
/// and no statement touches two of them. So whoever keeps the order of statements need not know that they share memory,
/// but must not take them for memory that does not overlap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The buffers, all [`Handle`](Allocation::Handle); each buffer of that kind that a statement touches is in one slot.
    pub buffers: Vec<BufferId>,
}

/// Bytes of the host that a run of a plan allocates for transients, over the symbols that the caller passes. Memory on the stack (a page
/// at most for each) and the gaps between slots (64 bytes at most, for places of 4 MiB and more 2 MiB) are not in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryUse {
    /// Each slot of [`Plan::slots`].
    pub slots: Vec<Expr>,
    /// All slots: what the handle keeps between runs, apart from what is persistent.
    pub arena: Expr,
    /// Size of the arena's buffers without sharing.
    pub unshared: Expr,
    /// Persistent transients.
    pub persistent: Expr,
    /// Transients of which every thread of a team has one while the team is at work, each with its bytes.
    pub each_thread: Vec<(BufferId, Expr)>,
    /// Transients whose size only a run decides: queues, and what statements allocate, in memory of the host or of a device.
    pub uncounted: Vec<BufferId>,
}

impl Plan {
    /// Memory of the host of this plan for transients; [`Plan::device_memory`] is that of a device.
    pub fn memory_use(&self) -> MemoryUse {
        let known = self.not_negative();
        let slots: Vec<Expr> = self.slots.iter().map(|slot| self.largest(slot, &known)).collect();
        let mut usage = MemoryUse {
            arena: sum(slots.iter().cloned()),
            slots,
            unshared: sum(self
                .slots
                .iter()
                .flat_map(|slot| &slot.buffers)
                .map(|id| self.buffer(*id).bytes())),
            persistent: Expr::zero(),
            each_thread: Vec::new(),
            uncounted: Vec::new(),
        };
        for (index, buffer) in self.buffers.iter().enumerate() {
            let id = BufferId(index as u32);
            match &buffer.allocation {
                Allocation::Argument(_)
                | Allocation::Stack
                | Allocation::Handle
                | Allocation::Reference(_)
                | Allocation::Constant(_) => {}
                Allocation::Persistent if buffer.space == Space::DeviceGlobal => {}
                Allocation::Persistent => usage.persistent = &usage.persistent + &buffer.bytes(),
                Allocation::Dynamic if self.is_in_pool(id) => {}
                Allocation::Thread if self.is_of_caller(&buffer.size) => {
                    usage.each_thread.push((id, buffer.bytes()));
                }
                Allocation::Thread | Allocation::Dynamic | Allocation::Queues { .. } => {
                    usage.uncounted.push(id)
                }
            }
        }
        usage
    }

    /// That symbols which the caller passes are not negative.
    pub(super) fn not_negative(&self) -> Assumptions {
        let mut known = Assumptions::new();
        for symbol in self.symbols.iter().filter(|symbol| symbol.non_negative) {
            known.nonnegative(symbol.name.clone());
        }
        known
    }

    /// Whether an expression uses symbol arguments only.
    pub(crate) fn is_of_caller(&self, size: &Expr) -> bool {
        size.free_symbols().iter().all(|s| self.symbols.iter().any(|argument| argument.name == *s))
    }

    /// The slot of every buffer in the arena, by position in [`Plan::slots`].
    pub(crate) fn slot_of_buffers(&self) -> BTreeMap<BufferId, usize> {
        let slots = self.slots.iter().enumerate();
        slots.flat_map(|(at, slot)| slot.buffers.iter().map(move |buffer| (*buffer, at))).collect()
    }

    /// Bytes of the largest buffer of a slot.
    fn largest(&self, slot: &Slot, known: &Assumptions) -> Expr {
        let bytes = slot.buffers.iter().map(|buffer| self.buffer(*buffer).bytes());
        bytes.fold(Expr::zero(), |largest, bytes| larger(largest, bytes, known))
    }
}

pub(super) fn larger(one: Expr, other: Expr, known: &Assumptions) -> Expr {
    if other.le(&one, known) == Truth::Proved {
        one
    } else if one.le(&other, known) == Truth::Proved {
        other
    } else {
        Expr::max(&one, &other)
    }
}

pub(super) fn sum(bytes: impl Iterator<Item = Expr>) -> Expr {
    bytes.fold(Expr::zero(), |sum, bytes| sum + bytes)
}

impl Buffer {
    /// Its size in bytes.
    pub(crate) fn bytes(&self) -> Expr {
        &self.size * &Expr::int(self.element.size() as i64)
    }
}
