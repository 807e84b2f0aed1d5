//! Bytes of the memories of a device: its pool, and what the threads of a block share.

use std::collections::BTreeSet;

use sdfg::symbolic::Expr;

use super::arena::{larger, sum};
use super::buffer::{Allocation, BufferId};
use super::loops::{Level, Loop};
use super::parts::Part;
use super::program::Plan;
use super::space::Space;
use super::statement::Statement;

/// Bytes that a run of a plan takes of the memories of a device for transients, over the symbols that the caller passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceMemory {
    /// Transients in the pool, in the order of the plan's buffers, each with its bytes. What only a run knows the size of
    /// is in [`MemoryUse::uncounted`](super::MemoryUse::uncounted).
    pub pool: Vec<(BufferId, Expr)>,
    /// The most bytes of the pool that are allocated at one time; all of them where several command streams allocate in any order.
    pub most: Expr,
    /// All bytes of the pool.
    pub unshared: Expr,
    /// Persistent transients.
    pub persistent: Expr,
    /// Kernels whose blocks have memory, in the order of the plan.
    pub blocks: Vec<BlockMemory>,
}

/// Memory that the threads of each block of a kernel share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockMemory {
    /// The label of the kernel.
    pub kernel: String,
    /// What lies there: transients, and accumulators of the block.
    pub buffers: Vec<BufferId>,
    /// Their bytes together.
    pub bytes: Expr,
}

impl Plan {
    /// Memory of a device of this plan for transients.
    pub fn device_memory(&self) -> DeviceMemory {
        let ids = || (0..self.buffers.len()).map(|index| BufferId(index as u32));
        let pool: Vec<(BufferId, Expr)> =
            ids().filter(|id| self.is_in_pool(*id)).map(|id| (id, self.buffer(id).bytes())).collect();
        let is_kept = |id: &BufferId| {
            let buffer = self.buffer(*id);
            buffer.allocation == Allocation::Persistent && buffer.space == Space::DeviceGlobal
        };
        let unshared = sum(pool.iter().map(|(_, bytes)| bytes.clone()));
        let mut blocks = Vec::new();
        self.add_blocks(&self.body, &mut blocks);
        DeviceMemory {
            most: if self.command_streams > 1 { unshared.clone() } else { self.most_of_pool() },
            persistent: sum(ids().filter(is_kept).map(|id| self.buffer(id).bytes())),
            pool,
            unshared,
            blocks,
        }
    }

    /// Whether a buffer is allocated in the pool of a device, with a size that the caller decides.
    pub(super) fn is_in_pool(&self, id: BufferId) -> bool {
        let buffer = self.buffer(id);
        buffer.allocation == Allocation::Dynamic
            && buffer.space == Space::DeviceGlobal
            && self.is_of_caller(&buffer.size)
    }

    fn most_of_pool(&self) -> Expr {
        let mut live = Live { plan: self, now: BTreeSet::new(), together: BTreeSet::new() };
        live.walk(&self.body);
        let known = self.not_negative();
        let bytes = |ids: &BTreeSet<BufferId>| sum(ids.iter().map(|id| self.buffer(*id).bytes()));
        live.together.iter().map(bytes).fold(Expr::zero(), |most, bytes| larger(most, bytes, &known))
    }

    fn add_blocks(&self, body: &[Statement], blocks: &mut Vec<BlockMemory>) {
        for statement in body {
            if let Statement::Loop(Loop { level: Level::Grid(kernel), .. }) = statement {
                let mut buffers = Vec::new();
                kernel.parts(&mut |part| match part {
                    Part::Owns(id) if self.buffer(id).space == Space::BlockShared => buffers.push(id),
                    _ => {}
                });
                if !buffers.is_empty() {
                    let bytes = sum(buffers.iter().map(|id| self.buffer(*id).bytes()));
                    blocks.push(BlockMemory { kernel: kernel.label.clone(), buffers, bytes });
                }
            }
            statement.bodies().into_iter().for_each(|body| self.add_blocks(body, blocks));
        }
    }
}

/// Buffers of the pool that are allocated at one time, in the order of the statements.
struct Live<'p> {
    plan: &'p Plan,
    now: BTreeSet<BufferId>,
    /// Each set of buffers behind an allocation.
    together: BTreeSet<BTreeSet<BufferId>>,
}

impl Live<'_> {
    fn walk(&mut self, body: &[Statement]) {
        for statement in body {
            let mut repeats = false;
            let mut bodies = Vec::new();
            statement.parts(&mut |part| match part {
                Part::Allocates(id) if self.plan.is_in_pool(id) => {
                    self.now.insert(id);
                    self.together.insert(self.now.clone());
                }
                Part::Frees(id) => {
                    self.now.remove(&id);
                }
                Part::Repeats => repeats = true,
                Part::Body(body) => bodies.push(body),
                _ => {}
            });
            // What an iteration leaves, the next one finds.
            for _ in 0..if repeats { 2 } else { 1 } {
                bodies.iter().for_each(|body| self.walk(body));
            }
        }
    }
}
