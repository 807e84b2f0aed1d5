//! Kernels: maps of schedule `gpu_grid`, each of which becomes one loop of level grid.
//!
//! All dimensions whose ranges need no parameter of the map are shared by the threads of the device, or by blocks that run
//! iterations together ([`block`](super::block)); the others run in sequence inside. Writes with conflict resolution become atomic
//! unless no two iterations write the same element. Where the elements are few and known, each block accumulates before it
//! takes one atomic step for each of them.

use std::collections::BTreeSet;

use sdfg::analysis::Costs;
use sdfg::analysis::cost::Quantity;
use sdfg::ir::Storage;
use sdfg::symbolic::{Expr, Symbol};

use super::Lowering;
use super::call_frame::CallFrame;
use super::conflict::Accumulators;
use super::error::LowerError;
use super::memory::RootShape;
use super::scope::{Nest, has_own_range};
use super::uses::Uses;
use crate::plan::{
    Allocation, BlockAccumulator, Buffer, BufferId, Captures, Kernel, Level, Loop, PrivateAccumulator,
    Realisation, Resolved, Statement, Touch, any_statement, touches,
};

impl<'g> Lowering<'g> {
    /// A kernel over all dimensions of a map that have ranges of their own.
    pub(super) fn kernel(
        &mut self,
        frame: &mut CallFrame<'g>,
        nest: &Nest<'g, '_>,
    ) -> Result<Vec<Statement>, LowerError> {
        let map = nest.map;
        let (outer, inner): (Vec<usize>, Vec<usize>) =
            (0..map.params.len()).partition(|d| has_own_range(map, *d));
        let blocks = self.blocks_of(frame, nest)?;
        let outside = std::mem::replace(&mut self.blocks, blocks);
        let first_variable = self.plan.variables.len();
        let mut dimensions = Vec::with_capacity(outer.len());
        let mut hidden = Vec::with_capacity(outer.len());
        for &d in &outer {
            let (dimension, value) = self.dimension(frame, nest, d)?;
            dimensions.push(dimension);
            hidden.push((d, value));
        }
        let hidden: Vec<_> =
            hidden.into_iter().map(|(d, value)| (d, frame.bind(&map.params[d], value))).collect();
        for dimension in &dimensions {
            self.open_loop(dimension, first_variable, true);
        }
        self.in_kernel = true;
        let body = self.nested_loops(frame, nest, &inner);
        self.in_kernel = false;
        let mut body = body?;
        let block = match &self.blocks {
            Some(_) => None,
            None => self.block_that_accumulates(frame, nest, dimensions.len()),
        };
        let accumulates = match &block {
            Some(extents) => Accumulators::OfBlocks { threads: extents.iter().product() },
            None => Accumulators::None,
        };
        let closed = self.close_shared(dimensions.len(), &mut body, accumulates);
        for (d, old) in hidden.into_iter().rev() {
            frame.unbind(&map.params[d], old);
        }
        let accumulators = self.block_accumulators(closed.privates, accumulates);
        let unsupported = |what| LowerError::Unsupported { what, path: frame.at(&nest.node.label) };
        self.fits_device(&mut body, &accumulators, nest).map_err(unsupported)?;
        let queues =
            self.pushed_queues(&mut body, &dimensions, (nest, first_variable)).map_err(unsupported)?;
        let blocks = std::mem::replace(&mut self.blocks, outside);
        let mut together = None;
        let chosen = block.filter(|_| !accumulators.is_empty()).unwrap_or_default();
        let mut block: Vec<Expr> = chosen.into_iter().map(|extent| Expr::int(i64::from(extent))).collect();
        match blocks {
            Some(blocks) => {
                self.fits_block(&closed.locals, nest).map_err(unsupported)?;
                together = Some(blocks.threads(&self.target.block));
                body = self.together(body, blocks, &closed.locals).map_err(unsupported)?;
            }
            // The graph lists the innermost dimension first, as CUDA does.
            None if !block.is_empty() => {}
            None => block.extend(
                map.schedule
                    .block()
                    .into_iter()
                    .flat_map(|block| block.extents.iter().rev())
                    .map(|extent| frame.translate(extent)),
            ),
        }
        let (bytes, operations) = match self.plan.profile {
            Some(_) => self.amounts(frame, nest, first_variable),
            None => (None, None),
        };
        let kernel = Kernel {
            label: nest.node.label.clone(),
            block,
            together,
            locals: closed.locals,
            accumulators,
            queues,
            bytes,
            operations,
            captures: Captures::default(),
        };
        let level = Level::Grid(Box::new(kernel));
        Ok(vec![Statement::Loop(Loop { dimensions, level, independent: closed.independent, body })])
    }

    /// The bytes that a map moves and its operations, if they are known exactly before the variable of this number.
    fn amounts(
        &self,
        frame: &CallFrame<'g>,
        nest: &Nest<'g, '_>,
        first_variable: usize,
    ) -> (Option<Expr>, Option<Expr>) {
        let cost = Costs::of(frame.sdfg).of_node(nest.graph.id, nest.entry);
        let is_known =
            |symbol: &Symbol| self.plan.variables.get_index_of(symbol).is_some_and(|at| at < first_variable);
        let known = |quantity: Quantity| {
            let amount = quantity.is_exact().then(|| frame.translate(&quantity.known))?;
            amount.free_symbols().iter().all(is_known).then_some(amount)
        };
        (known(cost.bytes()), known(cost.work.total()))
    }

    /// Threads of a block along the innermost dimensions of a kernel, innermost last, if they are known and as many as a block may have.
    fn block_that_accumulates(
        &self,
        frame: &CallFrame<'g>,
        nest: &Nest<'g, '_>,
        n_dimensions: usize,
    ) -> Option<Vec<u32>> {
        let asked = nest.map.schedule.block().filter(|block| !block.extents.is_empty());
        let Some(asked) = asked else {
            return Some(if n_dimensions == 1 { vec![256] } else { vec![8, 32] });
        };
        let constant =
            |extent| frame.translate(extent).as_int().and_then(|extent| u32::try_from(extent).ok());
        // The graph lists the innermost dimension first, as CUDA does.
        let extents = asked.extents.iter().take(n_dimensions.min(3)).rev();
        let extents: Vec<u32> = extents.map(constant).collect::<Option<_>>()?;
        let threads = extents.iter().try_fold(1_u32, |all, extent| all.checked_mul(*extent))?;
        (1..=self.target.block.threads).contains(&threads).then_some(extents)
    }

    /// Accumulators of a kernel. Those of single elements get memory in which the threads of a block combine theirs.
    fn block_accumulators(
        &mut self,
        privates: Vec<PrivateAccumulator>,
        accumulators: Accumulators,
    ) -> Vec<BlockAccumulator> {
        let Accumulators::OfBlocks { threads } = accumulators else { return Vec::new() };
        let with_exchange = |private: PrivateAccumulator| {
            let own = self.plan.buffer(private.buffer);
            let (is_one, name, element) = (own.size.is_one(), format!("{}_exchange", own.name), own.element);
            let exchange = is_one.then(|| {
                let (name, size) = (self.take_name(&name), Expr::int(i64::from(threads)));
                let buffer = Buffer::new(name, element, size.clone(), Allocation::Stack);
                self.push_buffer(buffer, RootShape::packed(vec![size]))
            });
            BlockAccumulator { private, exchange }
        };
        privates.into_iter().map(with_exchange).collect()
    }

    /// Whether a thread of a device can run these statements; the construct that it cannot run, as a noun phrase.
    fn fits_device(
        &self,
        body: &mut [Statement],
        accumulators: &[BlockAccumulator],
        nest: &Nest<'_, '_>,
    ) -> Result<(), String> {
        let kernel = format!("in the kernel `{}`", nest.node.label);
        if any_statement(body, &|statement| matches!(statement, Statement::External(_))) {
            return Err(format!("external code {kernel}"));
        }
        let values = self.values_of_host(body);
        let targets = accumulators.iter().map(|each| each.private.target.origin.buffer);
        for buffer in Uses::of(&self.plan, body).buffers.iter().copied().chain(targets) {
            let described = self.plan.buffer(buffer);
            let name = &described.name;
            match &described.allocation {
                // Queues have requirements of their own.
                Allocation::Constant(_) | Allocation::Queues { .. } => {}
                Allocation::Stack if buffer.index() >= nest.n_buffers => {}
                Allocation::Dynamic
                    if buffer.index() >= nest.n_buffers
                        && self.storages[buffer.index()] == Storage::GpuGlobal =>
                {
                    return Err(format!(
                        "`{name}` in storage `gpu_global`, of which each iteration has one, {kernel} (`default` lies in memory of the thread or block; a dimension for the iterations makes one for all)"
                    ));
                }
                Allocation::Thread | Allocation::Dynamic if buffer.index() >= nest.n_buffers => {
                    let (most, whose) =
                        (self.most_on_stack(), if self.is_by_blocks() { "block" } else { "thread" });
                    return Err(format!("`{name}` with more than {most} bytes in each {whose} {kernel}"));
                }
                Allocation::Reference(_) => return Err(format!("the reference `{name}` {kernel}")),
                Allocation::Argument(_)
                | Allocation::Stack
                | Allocation::Handle
                | Allocation::Persistent
                | Allocation::Thread
                | Allocation::Dynamic => {
                    if self.storages[buffer.index()] == Storage::GpuGlobal || values.contains(&buffer) {
                        continue;
                    }
                    return Err(format!(
                        "`{name}` in host memory {kernel} (`GPUTransform` copies data to the device)"
                    ));
                }
            }
        }
        let mut locked = false;
        touches(body, &mut |mut touch| {
            let realisation = match touch.write_mut() {
                Some(Resolved::Combine { realisation, .. }) => Some(*realisation),
                Some(Resolved::Store) | None => None,
            };
            locked |= realisation == Some(Realisation::Locked);
        });
        if locked {
            return Err(format!("a conflict resolution of elements that no atomic step combines {kernel}"));
        }
        Ok(())
    }

    /// The scalars of the host that statements of a kernel read and do nothing else with: the kernel is given their values. Only those
    /// are asked for whose storage a device reaches.
    fn values_of_host(&self, body: &mut [Statement]) -> BTreeSet<BufferId> {
        let (mut values, mut others) = (BTreeSet::new(), BTreeSet::new());
        touches(body, &mut |touch| {
            let buffer = touch.buffer();
            let is_value = matches!(touch, Touch::Load(_) | Touch::CopyFrom(_))
                && self.storages[buffer.index()] == Storage::CpuPinned
                && self.plan.buffer(buffer).is_value();
            if is_value {
                values.insert(buffer)
            } else {
                others.insert(buffer)
            };
        });
        let mut values = &values - &others;
        // In a checked plan, the bytes beside them are values, too.
        let defined: Vec<BufferId> =
            values.iter().filter_map(|value| self.plan.buffer(*value).defined).collect();
        values.extend(defined);
        values
    }

    /// Whether a buffer of this storage lies in memory of a device that the target has. The allocator of the device provides
    /// it, as the arena of the handle is memory of the host.
    pub(super) fn is_of_device(&self, storage: Storage) -> bool {
        storage == Storage::GpuGlobal && self.target.spaces.contains(&crate::plan::Space::DeviceGlobal)
    }
}
