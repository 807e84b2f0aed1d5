//! Where memory comes from: arguments, constants and transients.
//!
//! A transient is allocated outside of every loop and parallel region that its size allows: on the stack if it is small,
//! else with the handle if its size uses symbol arguments only, else once for each thread, else where it is used.

use sdfg::analysis::accesses::{alias_targets, control_flow_reads};
use sdfg::analysis::{AccessSets, ScopeTree};
use sdfg::ir::{Container, ContainerId, ContainerKind, Lifetime, NodeId, Sdfg, StateId};
use sdfg::symbolic::Expr;

use super::Lowering;
use super::bound::Bound;
use super::error::LowerError;
use super::frame::Frame;
use crate::plan::{Allocation, Buffer, BufferId, Statement};

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

/// Statements before and after the ones that use some transients.
pub(super) type Brackets = (Vec<Statement>, Vec<Statement>);

impl<'g> Lowering<'g> {
    /// Adds a buffer with the shape of a container.
    fn add_buffer(&mut self, frame: &Frame<'g>, container: &Container, allocation: Allocation) -> BufferId {
        let root = match container.kind.layout() {
            Some(layout) => RootShape {
                shape: layout.shape.iter().map(|e| frame.translate(e)).collect(),
                strides: layout.strides.iter().map(|e| frame.translate(e)).collect(),
                offset: frame.translate(&layout.offset),
            },
            None => RootShape { shape: Vec::new(), strides: Vec::new(), offset: Expr::zero() },
        };
        let size = container.kind.layout().map_or(Expr::one(), |layout| frame.translate(&layout.total_size));
        let name = self.take_name(&container.name);
        self.push_buffer(Buffer { name, element: container.element, size, allocation }, root)
    }

    /// Adds a buffer.
    pub(super) fn push_buffer(&mut self, buffer: Buffer, root: RootShape) -> BufferId {
        let id = BufferId(u32::try_from(self.plan.buffers.len()).unwrap_or(u32::MAX));
        self.plan.buffers.push(buffer);
        self.roots.push(root);
        id
    }

    /// The buffer of the next argument.
    pub(super) fn argument_buffer(
        &mut self,
        frame: &Frame<'g>,
        container: &Container,
    ) -> Result<BufferId, LowerError> {
        if container.is_stream() {
            return Err(unsupported_stream(frame, container));
        }
        let position = self.plan.arguments.len();
        Ok(self.add_buffer(frame, container, Allocation::Argument(position)))
    }

    /// All of a container that lies in a buffer of its own.
    pub(super) fn bind_whole(&self, container: &Container, buffer: BufferId) -> Bound {
        let root = &self.roots[buffer.index()];
        Bound::whole(buffer, container.element, &root.shape, &root.strides, &root.offset)
    }

    /// Allocates the constants and transients that live as long as a call.
    pub(super) fn allocate_for_call(&mut self, frame: &mut Frame<'g>) -> Result<Brackets, LowerError> {
        let sdfg = frame.sdfg;
        let mut brackets = Brackets::default();
        for (id, container) in sdfg.containers() {
            if let Some(values) = &container.constant {
                let buffer = self.add_buffer(frame, container, Allocation::Constant(values.clone()));
                let bound = self.bind_whole(container, buffer);
                frame.containers.insert(id, bound);
            } else if container.transient && !container.is_alias() && home(sdfg, id).is_none() {
                self.allocate(frame, id, &mut brackets)?;
            }
        }
        Ok(brackets)
    }

    /// Allocates the transients whose uses are all in one scope.
    pub(super) fn allocate_for_scope(
        &mut self,
        frame: &mut Frame<'g>,
        state: StateId,
        entry: NodeId,
    ) -> Result<Brackets, LowerError> {
        let sdfg = frame.sdfg;
        let mut brackets = Brackets::default();
        for (id, container) in sdfg.containers() {
            if container.transient && !container.is_alias() && home(sdfg, id) == Some((state, entry)) {
                self.allocate(frame, id, &mut brackets)?;
            }
        }
        Ok(brackets)
    }

    fn allocate(
        &mut self,
        frame: &mut Frame<'g>,
        id: ContainerId,
        brackets: &mut Brackets,
    ) -> Result<(), LowerError> {
        let container = frame.sdfg.container(id);
        if container.is_stream() {
            return Err(unsupported_stream(frame, container));
        }
        let size = container.kind.layout().map_or(Expr::one(), |layout| frame.translate(&layout.total_size));
        let symbols = size.free_symbols();
        for symbol in &symbols {
            if !self.plan.variables.contains_key(symbol) {
                return Err(LowerError::UnknownSize {
                    container: container.name.clone(),
                    size: size.to_string(),
                    path: frame.path.clone(),
                });
            }
        }
        let bytes = size
            .as_int()
            .and_then(|n| u64::try_from(n).ok())
            .and_then(|n| n.checked_mul(container.element.size() as u64));
        let of_caller = symbols.iter().all(|s| self.plan.symbols.iter().any(|argument| argument.name == *s));
        let allocation = if container.lifetime == Lifetime::Persistent && of_caller {
            Allocation::Persistent
        } else if bytes.is_some_and(|n| n <= self.target.stack_bytes) {
            Allocation::Stack
        } else if let Some(mark) = self.parallel_mark() {
            if symbols.iter().all(|s| self.plan.variables.get_index_of(s).is_some_and(|i| i < mark)) {
                Allocation::Thread
            } else {
                Allocation::Dynamic
            }
        } else if of_caller {
            Allocation::Handle
        } else {
            Allocation::Dynamic
        };
        let buffer = self.add_buffer(frame, container, allocation.clone());
        match allocation {
            Allocation::Thread => self.add_thread_local(buffer),
            Allocation::Dynamic => {
                brackets.0.push(Statement::Allocate(buffer));
                brackets.1.insert(0, Statement::Free(buffer));
            }
            Allocation::Argument(_)
            | Allocation::Stack
            | Allocation::Handle
            | Allocation::Persistent
            | Allocation::Constant(_) => {}
        }
        let bound = self.bind_whole(container, buffer);
        frame.containers.insert(id, bound);
        Ok(())
    }
}

fn unsupported_stream(frame: &Frame<'_>, container: &Container) -> LowerError {
    LowerError::Unsupported { what: format!("stream `{}`", container.name), path: frame.path.clone() }
}

/// The innermost scope that holds all uses of a transient; `None` if it lives as long as the call.
fn home(sdfg: &Sdfg, id: ContainerId) -> Option<(StateId, NodeId)> {
    if sdfg.container(id).lifetime != Lifetime::Scope {
        return None;
    }
    let mut users = sdfg.states().filter(|(_, state)| state.accesses_of(id).next().is_some());
    let (state_id, state) = users.next()?;
    if users.next().is_some() || control_flow_reads(sdfg).contains(&id) {
        return None;
    }
    let tree = ScopeTree::of(state);
    let chains: Vec<Vec<NodeId>> = state.accesses_of(id).map(|node| enclosing(&tree, node)).collect();
    let mut common = chains.first()?.clone();
    for chain in &chains {
        let shared = common.iter().zip(chain).take_while(|(a, b)| a == b).count();
        common.truncate(shared);
    }
    common.last().map(|entry| (state_id, *entry))
}

/// Entries of the scopes around a node, outermost first.
fn enclosing(tree: &ScopeTree, node: NodeId) -> Vec<NodeId> {
    let mut chain: Vec<NodeId> = tree.enclosing(node).collect();
    chain.reverse();
    chain
}

/// What an SDFG reads and writes; uses of a view count as uses of what it views.
pub(super) fn accesses(sdfg: &Sdfg) -> AccessSets {
    let mut sets = AccessSets::of_region(sdfg, sdfg.body());
    let aliases = alias_targets(sdfg);
    // A view of a view takes as many rounds as there are views.
    for _ in 0..aliases.len() {
        for (alias, targets) in &aliases {
            for set in [&mut sets.reads, &mut sets.writes] {
                if set.contains(alias) {
                    set.extend(targets);
                }
            }
        }
    }
    sets
}

/// Whether a container is an array, scalar or alias with a layout that lowering handles.
pub(super) fn is_memory(kind: &ContainerKind) -> bool {
    match kind {
        ContainerKind::Scalar
        | ContainerKind::Array(_)
        | ContainerKind::View(_)
        | ContainerKind::Reference(_) => true,
        ContainerKind::Stream { .. } => false,
    }
}
