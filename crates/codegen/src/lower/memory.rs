//! Allocation of arguments, constants and transients.
//!
//! A transient is allocated outside of every loop and parallel region that its size permits. A small
//! transient is allocated on the stack. Otherwise, it belongs to the handle if its size depends on symbol
//! arguments only; otherwise to each thread; otherwise to the statements that use it.

use std::collections::BTreeSet;

use sdfg::dtype::{ElementType, ScalarType};
use sdfg::ir::{
    BlockKind, Container, ContainerId, ContainerKind, Layout, Lifetime, NodeId, State, StateId, Storage,
};
use sdfg::symbolic::{Expr, Symbol, Truth};

use super::buffer_view::BufferView;
use super::call_frame::{CallFrame, DeferredTransient};
use super::control::assigned_symbols;
use super::error::LowerError;
use super::scalar::less;
use super::{Lowering, Purpose};
use crate::plan::{Allocation, Buffer, BufferId, If, QueueOwner, Statement};

/// Shape of a buffer in its own dimensions.
#[derive(Clone, Debug)]
pub(super) struct RootShape {
    /// Extent of each dimension.
    pub(super) shape: Vec<Expr>,
    /// Elements between neighbours.
    pub(super) strides: Vec<Expr>,
    /// Position of the element with all indices zero.
    pub(super) offset: Expr,
}

impl RootShape {
    /// Elements in row-major order without gaps.
    pub(super) fn packed(shape: Vec<Expr>) -> Self {
        let Layout { shape, strides, offset, total_size: _ } = Layout::packed(shape);
        RootShape { shape, strides, offset }
    }
}

/// Statements before and after the ones that use some transients.
pub(super) type Brackets = (Vec<Statement>, Vec<Statement>);

impl<'g> Lowering<'g> {
    /// Adds a buffer with the shape of a container.
    fn add_buffer(
        &mut self,
        frame: &CallFrame<'g>,
        container: &Container,
        allocation: Allocation,
    ) -> BufferId {
        let translate = |parts: &[Expr]| parts.iter().map(|part| frame.translate(part)).collect();
        let root = match container.kind.layout() {
            Some(layout) => RootShape {
                shape: translate(&layout.shape),
                strides: translate(&layout.strides),
                offset: frame.translate(&layout.offset),
            },
            None => RootShape::packed(translate(container.kind.shape())),
        };
        let size = self.size_of(frame, container);
        let name = self.take_name(&container.name);
        let layout = container.kind.layout().filter(|layout| !layout.is_packed());
        let span = layout.map(|layout| frame.translate(&layout.span()));
        let buffer = Buffer { span, ..Buffer::new(name, container.element, size, allocation) };
        let id = self.push_buffer(buffer, root);
        self.storages[id.index()] = container.storage;
        self.add_defined(id);
        id
    }

    /// Number of elements or queues of a container.
    fn size_of(&self, frame: &CallFrame<'g>, container: &Container) -> Expr {
        match container.kind.layout() {
            Some(layout) => frame.translate(&layout.total_size),
            // Without dimensions, one.
            None => self.volume(container.kind.shape().iter().map(|extent| frame.translate(extent))),
        }
    }

    /// Adds a buffer.
    pub(super) fn push_buffer(&mut self, buffer: Buffer, root: RootShape) -> BufferId {
        let id = BufferId(u32::try_from(self.plan.buffers.len()).unwrap_or(u32::MAX));
        self.plan.buffers.push(buffer);
        self.roots.push(root);
        self.storages.push(Storage::Default);
        id
    }

    /// The buffer of the next argument.
    pub(super) fn argument_buffer(&mut self, frame: &CallFrame<'g>, container: &Container) -> BufferId {
        let allocation = if container.is_stream() {
            allocated_when_needed(frame, container)
        } else {
            Allocation::Argument(self.plan.arguments.len())
        };
        self.add_buffer(frame, container, allocation)
    }

    /// All of a container that lies in a buffer of its own.
    pub(super) fn bind_whole(&self, container: &Container, buffer: BufferId) -> BufferView {
        let root = &self.roots[buffer.index()];
        BufferView::whole(buffer, container.element, &root.shape, &root.strides, &root.offset)
    }

    /// Allocates the constants and transients that live as long as a call.
    pub(super) fn allocate_for_call(&mut self, frame: &mut CallFrame<'g>) -> Result<Brackets, LowerError> {
        let sdfg = frame.sdfg;
        let mut brackets = Brackets::default();
        let assigned = assigned_symbols(sdfg);
        for (id, container) in sdfg.containers() {
            if let Some(values) = &container.constant {
                let buffer = self.add_buffer(frame, container, Allocation::Constant(values.clone()));
                let bound = self.bind_whole(container, buffer);
                frame.containers.insert(id, bound);
            } else if container.transient && !container.is_alias() && !frame.owning_scopes.contains_key(&id) {
                let symbols = size_symbols(&container.kind);
                let deferred: Vec<Symbol> = symbols.intersection(&assigned).cloned().collect();
                if deferred.is_empty() {
                    self.allocate(frame, id, &mut brackets)?;
                } else {
                    self.declare_deferred(frame, id, deferred, &mut brackets)?;
                }
            }
        }
        self.declare_references(frame, None, &mut brackets);
        Ok(brackets)
    }

    /// Prepares a transient that the first state that uses it allocates, with the values that symbols have then.
    fn declare_deferred(
        &mut self,
        frame: &mut CallFrame<'g>,
        id: ContainerId,
        symbols: Vec<Symbol>,
        brackets: &mut Brackets,
    ) -> Result<(), LowerError> {
        let container = frame.sdfg.container(id);
        if container.lifetime == Lifetime::Persistent {
            let what = format!("`{}`, whose size depends on symbols that the program sets,", container.name);
            return Err(LowerError::Unsupported { what, path: frame.path.to_string() });
        }
        let mut kept = Vec::with_capacity(symbols.len());
        for symbol in symbols {
            let variable = self.new_variable(symbol.as_str(), ScalarType::I64);
            let outside = frame.bind(&symbol, Expr::symbol(variable.clone()));
            kept.push((variable, symbol, outside));
        }
        let buffer = self.add_buffer(frame, container, allocated_when_needed(frame, container));
        let bound = self.bind_whole(container, buffer);
        frame.containers.insert(id, bound);
        for (_, symbol, outside) in &mut kept {
            frame.unbind(symbol, outside.take());
        }
        let allocated = self.new_variable(&format!("{}_allocated", container.name), ScalarType::I64);
        brackets.0.push(Statement::Let { variable: allocated.clone(), value: Expr::zero() });
        // What no state uses, none allocates.
        if !frame.analyses.uses(frame.sdfg).states(id).is_empty() {
            brackets.1.insert(0, Statement::Free(buffer));
            brackets.1.extend(self.plan.buffer(buffer).defined.map(Statement::Free));
        }
        let kept = kept.into_iter().map(|(variable, symbol, _)| (variable, symbol)).collect();
        frame.deferred.push(DeferredTransient { container: id, buffer, allocated, kept });
        Ok(())
    }

    /// Allocates the transients that a state uses first. Those that live as long as the state are freed behind it.
    pub(super) fn allocate_for_state(&mut self, frame: &CallFrame<'g>, state: &State) -> Brackets {
        let mut brackets = Brackets::default();
        for (id, container) in frame.sdfg.containers() {
            let is_deferred = frame.deferred.iter().any(|deferred| deferred.container == id);
            let is_own = !is_deferred && !container.is_alias();
            if container.lifetime == Lifetime::State && is_own && state.accesses_of(id).next().is_some() {
                let buffer = frame.containers.get(&id).map(|bound| bound.origin.buffer);
                brackets.0.extend(buffer.and_then(|buffer| self.undefine(buffer)));
                // What is left of queues is lost.
                let queues = buffer.filter(|buffer| {
                    let allocation = &self.plan.buffer(*buffer).allocation;
                    matches!(allocation, Allocation::Queues { owner: QueueOwner::Statements, .. })
                });
                if let Some(queues) = queues {
                    brackets.0.extend([Statement::Free(queues), Statement::Allocate(queues)]);
                }
            }
        }
        for deferred in &frame.deferred {
            if state.accesses_of(deferred.container).next().is_none() {
                continue;
            }
            let set = |variable: &Symbol, value| Statement::Let { variable: variable.clone(), value };
            let kept = deferred.kept.iter();
            let mut body: Vec<Statement> = kept
                .map(|(variable, symbol)| set(variable, frame.translate(&Expr::symbol(symbol.clone()))))
                .collect();
            body.push(Statement::Allocate(deferred.buffer));
            body.extend(self.plan.buffer(deferred.buffer).defined.map(Statement::Allocate));
            body.extend(self.undefine(deferred.buffer));
            body.push(set(&deferred.allocated, Expr::one()));
            let missing = less(&Expr::symbol(deferred.allocated.clone()), &Expr::one());
            brackets.0.push(Statement::If(If { arms: vec![(missing, body)], otherwise: Vec::new() }));
            if frame.sdfg.container(deferred.container).lifetime == Lifetime::State {
                brackets.1.push(Statement::Free(deferred.buffer));
                brackets.1.extend(self.plan.buffer(deferred.buffer).defined.map(Statement::Free));
                brackets.1.push(set(&deferred.allocated, Expr::zero()));
            }
        }
        brackets
    }

    /// Finds the states that overwrite what is left of a transient: there, too, its lifetime begins, as nobody could tell.
    pub(super) fn find_beginnings(&self, frame: &mut CallFrame<'g>) {
        let sdfg = frame.sdfg;
        let in_arena = |id: ContainerId| {
            let container = sdfg.container(id);
            let buffer = frame.containers.get(&id).map(|bound| bound.origin.buffer);
            let own = container.transient && !container.is_alias();
            buffer.filter(|buffer| own && self.plan.buffer(*buffer).allocation == Allocation::Handle)
        };
        let buffers: Vec<(ContainerId, BufferId)> =
            sdfg.containers().filter_map(|(id, _)| Some((id, in_arena(id)?))).collect();
        // Where one block is all that there is, the call says as much.
        if self.purpose == Purpose::Refusals || buffers.is_empty() || sdfg.blocks().nth(1).is_none() {
            return;
        }
        let (liveness, uses) = (frame.analyses.liveness(sdfg), frame.analyses.uses(sdfg));
        for (block, content) in sdfg.blocks() {
            let BlockKind::State(state) = content.kind else { continue };
            let live = liveness.before(block);
            let begins =
                buffers.iter().filter(|(id, _)| !live.contains(*id) && uses.states(*id).contains(&state));
            frame.begins.insert(state, begins.map(|(_, buffer)| *buffer).collect());
        }
    }

    /// Allocates the transients whose uses are all in one scope.
    pub(super) fn allocate_for_scope(
        &mut self,
        frame: &mut CallFrame<'g>,
        state: StateId,
        entry: NodeId,
    ) -> Result<Brackets, LowerError> {
        let sdfg = frame.sdfg;
        let mut brackets = Brackets::default();
        for (id, container) in sdfg.containers() {
            if container.transient
                && !container.is_alias()
                && frame.owning_scopes.get(&id) == Some(&(state, entry))
            {
                self.allocate(frame, id, &mut brackets)?;
            }
        }
        self.declare_references(frame, Some((state, entry)), &mut brackets);
        Ok(brackets)
    }

    fn allocate(
        &mut self,
        frame: &mut CallFrame<'g>,
        id: ContainerId,
        brackets: &mut Brackets,
    ) -> Result<(), LowerError> {
        let container = frame.sdfg.container(id);
        let size = self.size_of(frame, container);
        for symbol in &size.free_symbols() {
            if !self.plan.variables.contains_key(symbol) {
                return Err(LowerError::UnknownSize {
                    container: container.name.clone(),
                    size: size.to_string(),
                    path: frame.path.to_string(),
                });
            }
        }
        let allocation = if container.is_stream() {
            self.lives_in_run(frame, container)?;
            let allocation = allocated_when_needed(frame, container);
            if let Allocation::Queues { capacity, owner: QueueOwner::Handle } = &allocation {
                self.of_caller(frame, container, &size)?;
                capacity.iter().try_for_each(|capacity| self.of_caller(frame, container, capacity))?;
            }
            allocation
        } else if container.lifetime == Lifetime::Persistent {
            self.of_caller(frame, container, &size)?;
            Allocation::Persistent
        } else if container.storage == Storage::GpuShared && self.blocks.is_none() {
            let what = format!("`{}` in storage `gpu_shared` outside of kernels", container.name);
            return Err(LowerError::Unsupported { what, path: frame.path.to_string() });
        } else if self.is_of_device(container.storage) {
            Allocation::Dynamic
        } else {
            self.placement(&size, container.element)
        };
        let buffer = self.add_buffer(frame, container, allocation);
        self.place(buffer, brackets);
        let bound = self.bind_whole(container, buffer);
        frame.containers.insert(id, bound);
        Ok(())
    }

    /// Refuses a persistent container of which the caller does not give a size.
    fn of_caller(&self, frame: &CallFrame<'g>, container: &Container, size: &Expr) -> Result<(), LowerError> {
        if self.plan.is_of_caller(size) {
            return Ok(());
        }
        let what = format!("persistent `{}` whose size {size} the caller does not give", container.name);
        Err(LowerError::Unsupported { what, path: frame.path.to_string() })
    }

    /// Allocation of memory of this size, as far out as the size permits.
    fn placement(&self, size: &Expr, element: ElementType) -> Allocation {
        let bytes = size
            .as_int()
            .and_then(|n| u64::try_from(n).ok())
            .and_then(|n| n.checked_mul(element.size() as u64));
        if bytes.is_some_and(|n| n <= self.most_on_stack()) {
            return Allocation::Stack;
        }
        // Tasks of one thread are in the middle of their work side by side.
        if self.loops.iter().any(|open| open.tasks) {
            return Allocation::Dynamic;
        }
        match self.parallel_mark() {
            Some(mark) => {
                let outside = |s: &Symbol| self.plan.variables.get_index_of(s).is_some_and(|i| i < mark);
                if size.free_symbols().iter().all(outside) { Allocation::Thread } else { Allocation::Dynamic }
            }
            None if self.plan.is_of_caller(size) => Allocation::Handle,
            None => Allocation::Dynamic,
        }
    }

    /// Adds what a new buffer needs before and after its uses.
    fn place(&mut self, buffer: BufferId, brackets: &mut Brackets) {
        self.place_memory(buffer, brackets);
        if let Some(defined) = self.plan.buffer(buffer).defined {
            self.place_memory(defined, brackets);
            brackets.0.extend(self.undefine(buffer));
        }
    }

    fn place_memory(&mut self, buffer: BufferId, brackets: &mut Brackets) {
        match self.plan.buffer(buffer).allocation {
            Allocation::Thread => self.add_thread_local(buffer),
            Allocation::Dynamic | Allocation::Queues { owner: QueueOwner::Statements, .. } => {
                brackets.0.push(Statement::Allocate(buffer));
                brackets.1.insert(0, Statement::Free(buffer));
            }
            Allocation::Handle => brackets.0.push(Statement::Begin(buffer)),
            Allocation::Argument(_)
            | Allocation::Stack
            | Allocation::Persistent
            | Allocation::Queues { owner: QueueOwner::Handle | QueueOwner::Caller, .. }
            | Allocation::Reference(_)
            | Allocation::Constant(_) => {}
        }
    }

    /// Packed memory for the statements between the brackets.
    pub(super) fn temporary(
        &mut self,
        name: &str,
        element: ElementType,
        shape: Vec<Expr>,
    ) -> (BufferView, Brackets) {
        let size = self.volume(shape.iter().cloned());
        let root = RootShape::packed(shape);
        let name = self.take_name(name);
        let allocation = self.placement(&size, element);
        let buffer = self.push_buffer(Buffer::new(name, element, size, allocation), root.clone());
        let mut brackets = Brackets::default();
        self.place(buffer, &mut brackets);
        (BufferView::whole(buffer, element, &root.shape, &root.strides, &Expr::zero()), brackets)
    }

    /// The number of elements of a shape, in which an extent may be below zero.
    fn volume(&self, shape: impl IntoIterator<Item = Expr>) -> Expr {
        shape.into_iter().fold(Expr::one(), |size, extent| size * self.at_least_zero(&extent))
    }

    /// An extent, or 0 for a range that ends before it begins.
    pub(super) fn at_least_zero(&self, extent: &Expr) -> Expr {
        if Expr::zero().le(extent, &self.assumptions) == Truth::Proved {
            extent.clone()
        } else {
            Expr::max(extent, &Expr::zero())
        }
    }
}

/// Memory, or queues, that statements allocate and free.
fn allocated_when_needed(frame: &CallFrame<'_>, container: &Container) -> Allocation {
    match &container.kind {
        ContainerKind::Stream { capacity, .. } => {
            let capacity = capacity.as_ref().map(|capacity| frame.translate(capacity));
            let owner = if container.is_argument() {
                QueueOwner::Caller
            } else if container.lifetime == Lifetime::Persistent {
                QueueOwner::Handle
            } else {
                QueueOwner::Statements
            };
            Allocation::Queues { capacity, owner }
        }
        ContainerKind::Scalar
        | ContainerKind::Array(_)
        | ContainerKind::View(_)
        | ContainerKind::Reference(_) => Allocation::Dynamic,
    }
}

/// Symbols of shape, strides, offset and size, or of the number of queues and their capacity.
fn size_symbols(kind: &ContainerKind) -> BTreeSet<Symbol> {
    let mut sizes: Vec<&Expr> = kind.shape().iter().collect();
    if let Some(layout) = kind.layout() {
        sizes.extend(layout.strides.iter().chain([&layout.offset, &layout.total_size]));
    }
    if let ContainerKind::Stream { capacity: Some(capacity), .. } = kind {
        sizes.push(capacity);
    }
    sizes.into_iter().flat_map(Expr::free_symbols).collect()
}
