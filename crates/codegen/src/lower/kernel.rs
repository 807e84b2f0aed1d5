//! Kernels: maps of schedule `gpu_grid`, each of which becomes one loop of level grid.
//!
//! All dimensions whose ranges need no parameter of the map are shared by the threads of the device, or by blocks that run
//! iterations together ([`block`](super::block)); the others run in sequence inside. Writes with conflict resolution become atomic
//! unless no two iterations write the same element.

use sdfg::ir::Storage;
use sdfg::symbolic::Expr;

use super::Lowering;
use super::call_frame::CallFrame;
use super::error::LowerError;
use super::scope::{Nest, has_own_range};
use super::uses::Uses;
use crate::plan::{
    Allocation, Captures, Kernel, Level, Loop, Realisation, Resolved, Statement, any_statement, touches,
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
        let mut body = self.nested_loops(frame, nest, &inner)?;
        let closed = self.close_shared(dimensions.len(), &mut body, false);
        for (d, old) in hidden.into_iter().rev() {
            frame.unbind(&map.params[d], old);
        }
        let unsupported = |what| LowerError::Unsupported { what, path: frame.at(&nest.node.label) };
        self.fits_device(&mut body, nest).map_err(unsupported)?;
        let blocks = std::mem::replace(&mut self.blocks, outside);
        let mut together = None;
        let mut block: Vec<Expr> = Vec::new();
        match blocks {
            Some(blocks) => {
                self.fits_block(&closed.locals, nest).map_err(unsupported)?;
                together = Some(blocks.threads(&self.target.block));
                body = self.together(body, blocks, &closed.locals).map_err(unsupported)?;
            }
            // The graph lists the innermost dimension first, as CUDA does.
            None => block.extend(
                map.schedule
                    .block()
                    .into_iter()
                    .flat_map(|block| block.extents.iter().rev())
                    .map(|extent| frame.translate(extent)),
            ),
        }
        let kernel = Kernel {
            label: nest.node.label.clone(),
            block,
            together,
            locals: closed.locals,
            captures: Captures::default(),
        };
        let level = Level::Grid(Box::new(kernel));
        Ok(vec![Statement::Loop(Loop { dimensions, level, independent: closed.independent, body })])
    }

    /// Whether a thread of a device can run these statements; the construct that it cannot run, as a noun phrase.
    fn fits_device(&self, body: &mut [Statement], nest: &Nest<'_, '_>) -> Result<(), String> {
        let kernel = format!("in the kernel `{}`", nest.node.label);
        if any_statement(body, &|statement| matches!(statement, Statement::External(_))) {
            return Err(format!("external code {kernel}"));
        }
        for buffer in &Uses::of(&self.plan, body).buffers {
            let described = self.plan.buffer(*buffer);
            let name = &described.name;
            match &described.allocation {
                Allocation::Constant(_) => {}
                Allocation::Queues { .. } => return Err(format!("a stream {kernel}")),
                Allocation::Stack if buffer.index() >= nest.n_buffers => {}
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
                    if self.storages[buffer.index()] == Storage::GpuGlobal {
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

    /// Whether a buffer of this storage lies in memory of a device that the target has. The allocator of the device provides
    /// it, as the arena of the handle is memory of the host.
    pub(super) fn is_of_device(&self, storage: Storage) -> bool {
        storage == Storage::GpuGlobal && self.target.spaces.contains(&crate::plan::Space::DeviceGlobal)
    }
}
