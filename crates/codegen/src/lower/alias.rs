//! Views and references: names for parts of other containers.
//!
//! A view is resolved when its state or scope is lowered; it becomes a [`BufferView`] like any other container. A
//! reference names the target of the last `Bind` edge that ran. It is a separate buffer whose address and
//! layout are variables of the plan. Overlap analysis treats an access through a reference as an access to
//! every buffer that the reference may name ([`Plan::may_overlap`](crate::plan::Plan)).

use std::collections::BTreeSet;

use sdfg::analysis::accesses::all_alias_targets;
use sdfg::analysis::bound_alias;
use sdfg::dtype::ScalarType;
use sdfg::ir::{Access, ContainerId, ContainerKind, EdgeId, Flow, Layout, NodeId, Sdfg, State, StateId};
use sdfg::symbolic::{Expr, Truth};

use super::Lowering;
use super::buffer_view::{Axis, BufferView};
use super::call_frame::CallFrame;
use super::dataflow::Graph;
use super::error::LowerError;
use super::memory::{Brackets, RootShape};
use crate::plan::{Allocation, Buffer, BufferId, Location, Statement};

impl<'g> Lowering<'g> {
    /// Gives every view of a scope the part of memory that its edge names.
    pub(super) fn bind_views(
        &mut self,
        frame: &mut CallFrame<'g>,
        graph: Graph<'g, '_>,
        scope: Option<NodeId>,
    ) -> Result<(), LowerError> {
        let Graph { state, tree, .. } = graph;
        let mut waiting: Vec<(NodeId, EdgeId)> = Vec::new();
        for &id in tree.children(scope) {
            let Some(container) = state.node(id).kind.container() else { continue };
            if !matches!(frame.sdfg.container(container).kind, ContainerKind::View(_)) {
                continue;
            }
            let adjacent = state.in_edges(id).into_iter().chain(state.out_edges(id));
            let binds = |e: &EdgeId| matches!(&state.edge(*e).memlet.flow, Flow::Bind(target) if target.container != container);
            waiting.extend(adjacent.into_iter().find(binds).map(|edge| (id, edge)));
        }
        // A view of a view waits for the other one: each round binds at least one unless they form a cycle.
        for _ in 0..waiting.len() {
            for &(id, edge) in &waiting {
                let Some(container) = state.node(id).kind.container() else { continue };
                let Flow::Bind(target) = &state.edge(edge).memlet.flow else { continue };
                if frame.containers.contains_key(&target.container) {
                    let label = &state.node(id).label;
                    let bounds_are_deferred = state.edge(edge).memlet.volume.is_dynamic();
                    let bound = self.named_part(frame, container, (target, bounds_are_deferred), label)?;
                    if self.plan.is_reference(bound.origin.buffer) && sets_references(frame.sdfg, state) {
                        let view = &frame.sdfg.container(container).name;
                        return Err(LowerError::Unsupported {
                            what: format!("view `{view}` of a reference in a state that sets references"),
                            path: frame.at(label),
                        });
                    }
                    frame.containers.insert(container, bound);
                }
            }
        }
        Ok(())
    }

    /// The memory that a view or reference names when it is bound: the elements of the subset if the extents agree after single
    /// indices are dropped, else what its own layout makes of the memory from the first element on. A memlet of dynamic volume may reach beyond
    /// its container.
    fn named_part(
        &mut self,
        frame: &CallFrame<'g>,
        alias: ContainerId,
        (target, bounds_are_deferred): (&Access, bool),
        label: &str,
    ) -> Result<BufferView, LowerError> {
        let alias = frame.sdfg.container(alias);
        let noun = if matches!(alias.kind, ContainerKind::View(_)) { "view" } else { "reference" };
        let unsupported = |what: &str| LowerError::Unsupported {
            what: format!("{noun} `{}`{what}", alias.name),
            path: frame.at(label),
        };
        let layout = alias.kind.layout().ok_or_else(|| unsupported(" without a layout"))?;
        let (part, single) = self.resolve_part(frame, target, bounds_are_deferred, label)?;
        if part.element != alias.element {
            return Err(unsupported(" of another element type"));
        }
        let Layout { shape, strides, offset, total_size: _ } = layout;
        let shape: Vec<Expr> = shape.iter().map(|extent| frame.translate(extent)).collect();
        let strides: Vec<Expr> = strides.iter().map(|stride| frame.translate(stride)).collect();
        let offset = frame.translate(offset);
        let mut part = part.without(&surplus(&single, shape.len()));
        let fits = if part.axes.len() == shape.len() {
            let extents = shape.iter().zip(&part.axes);
            extents.fold(Truth::Proved, |fits, (extent, axis)| {
                fits.and(extent.le(&axis.extent, &self.assumptions))
            })
        } else {
            Truth::Refuted
        };
        let same_either_way =
            offset == Expr::zero() && strides.iter().eq(part.axes.iter().map(|axis| &axis.stride));
        let own_layout = |mut part: BufferView| {
            part.origin.offset = &part.origin.offset + &offset;
            part.root = None;
            part.deferred.clear();
            let axis =
                |stride: &Expr| Axis { extent: Expr::one(), stride: stride.clone(), root: None, tile: false };
            part.axes = strides.iter().map(axis).collect();
            part
        };
        if fits == Truth::Unknown && !target.subset().is_element() {
            let what = || format!("{noun} `{}` at {}", alias.name, frame.at(label));
            self.note_extents(what, &shape, &part.axes);
        }
        match fits {
            Truth::Proved => {}
            Truth::Unknown if same_either_way => {}
            // Of a single element there is nothing but its own layout from there on, or the one element in both.
            Truth::Unknown if target.subset().is_element() => part = own_layout(part),
            Truth::Unknown => return Err(unsupported(", not known to have the extents of what it names,")),
            Truth::Refuted => part = own_layout(part),
        }
        for (axis, extent) in part.axes.iter_mut().zip(shape) {
            axis.extent = extent;
        }
        Ok(part)
    }

    /// Gives the references that live as long as a call, or as a scope of it, a buffer and variables, and notes which buffers those of the
    /// call may name, as far as those are there already.
    pub(super) fn declare_references(
        &mut self,
        frame: &mut CallFrame<'g>,
        lifetime: Option<(StateId, NodeId)>,
        brackets: &mut Brackets,
    ) {
        let sdfg = frame.sdfg;
        let is_reference = |id: &ContainerId| matches!(sdfg.container(*id).kind, ContainerKind::Reference(_));
        if !sdfg.containers().any(|(id, _)| is_reference(&id)) {
            return;
        }
        for (id, _) in sdfg.containers().filter(|(id, _)| is_reference(id)) {
            if frame.owning_scopes.get(&id).copied() == lifetime {
                self.declare_reference(frame, id, brackets);
            }
        }
        let targets = all_alias_targets(sdfg);
        for (id, _) in sdfg.containers().filter(|(id, _)| is_reference(id)) {
            let Some(reference) = frame.containers.get(&id).map(|bound| bound.origin.buffer) else {
                continue;
            };
            for named in targets.get(&id).into_iter().flatten() {
                if let Some(bound) = frame.containers.get(named)
                    && bound.origin.buffer != reference
                {
                    self.add_target(reference, bound.origin.buffer);
                }
            }
        }
    }

    fn declare_reference(&mut self, frame: &mut CallFrame<'g>, id: ContainerId, brackets: &mut Brackets) {
        let container = frame.sdfg.container(id);
        let Some(layout) = container.kind.layout() else { return };
        let (name, element) = (&container.name, container.element);
        let mut variable = |lowering: &mut Self, what: &str| {
            let variable = lowering.new_variable(&format!("{name}_{what}"), ScalarType::I64);
            brackets.0.push(Statement::Let { variable: variable.clone(), value: Expr::zero() });
            Expr::symbol(variable)
        };
        // In the usual case, all that changes is where a reference begins.
        let keeps_strides = self.keeps_strides(frame, id, layout);
        let offset = variable(self, "begin");
        let size = variable(self, "size");
        let mut axes = Vec::with_capacity(layout.shape.len());
        for (extent, stride) in layout.shape.iter().zip(&layout.strides) {
            let (extent, stride) = (frame.translate(extent), frame.translate(stride));
            let extent = if self.plan.is_of_caller(&extent) { extent } else { variable(self, "extent") };
            let stride = if keeps_strides { stride } else { variable(self, "stride") };
            axes.push(Axis { extent, stride, root: None, tile: false });
        }
        let defined = self.options.checked.then(|| {
            let name = self.take_name(&format!("{name}_defined"));
            let element = sdfg::dtype::ElementType::scalar(ScalarType::U8);
            self.reference_buffer(name, element, size.clone(), None)
        });
        let name = self.take_name(name);
        let buffer = self.reference_buffer(name, element, size, defined);
        let origin = Location { buffer, offset };
        frame.containers.insert(id, BufferView { origin, element, axes, root: None, deferred: Vec::new() });
    }

    fn reference_buffer(
        &mut self,
        name: String,
        element: sdfg::dtype::ElementType,
        size: Expr,
        defined: Option<BufferId>,
    ) -> BufferId {
        let allocation = Allocation::Reference(BTreeSet::new());
        let buffer = Buffer { defined, ..Buffer::new(name, element, size, allocation) };
        self.push_buffer(buffer, RootShape::packed(Vec::new()))
    }

    /// Whether every edge that sets a reference gives it the strides of its own layout, and these do not change.
    fn keeps_strides(&self, frame: &CallFrame<'g>, id: ContainerId, layout: &Layout) -> bool {
        let translated = |strides: &[Expr]| strides.iter().map(|stride| frame.translate(stride)).collect();
        let own: Vec<Expr> = translated(&layout.strides);
        let gives_own = |target: &Access| {
            let subset = target.subset();
            let container = frame.sdfg.container(target.container);
            let strides: Vec<Expr> = match (frame.containers.get(&target.container), container.kind.layout())
            {
                (Some(bound), _) => bound.axes.iter().map(|axis| axis.stride.clone()).collect(),
                (None, Some(layout)) if !container.is_alias() => translated(&layout.strides),
                (None, _) => return false,
            };
            let single: Vec<bool> = subset.0.iter().map(sdfg::subset::Range::is_index).collect();
            let dropped = surplus(&single, own.len());
            let kept =
                strides.iter().zip(&dropped).filter(|(_, dropped)| !**dropped).map(|(stride, _)| stride);
            let kept: Vec<&Expr> = kept.collect();
            // With another number of dimensions it has its own anyway.
            subset.0.iter().all(|range| range.step.is_one())
                && (kept.len() != own.len() || kept.into_iter().eq(&own))
        };
        let states = frame.sdfg.states().flat_map(|(_, state)| set_references(state));
        own.iter().all(|stride| self.plan.is_of_caller(stride))
            && states.filter(|(alias, _)| *alias == id).all(|(_, target)| gives_own(target))
    }

    /// Statements of an edge that sets a reference; none for one that binds a view, which has its memory already.
    pub(super) fn set_reference(
        &mut self,
        frame: &mut CallFrame<'g>,
        state: &'g State,
        edge: EdgeId,
        label: &str,
    ) -> Result<Vec<Statement>, LowerError> {
        let Some((alias, target)) = bound_alias(state, edge) else { return Ok(Vec::new()) };
        let container = frame.sdfg.container(alias);
        if !matches!(container.kind, ContainerKind::Reference(_)) {
            return Ok(Vec::new());
        }
        let unsupported = |what: &str| LowerError::Unsupported {
            what: format!("reference `{}`, {what},", container.name),
            path: frame.at(label),
        };
        let names = frame.containers.get(&alias).cloned();
        let Some(reference) = names else { return Err(unsupported("which has no place here")) };
        let buffer = reference.origin.buffer;
        // Each thread would set a copy of its own; tasks share it.
        let mut around = self.loops.iter().filter(|open| open.parallel);
        if around.any(|open| buffer.index() < open.n_buffers) {
            return Err(unsupported("set by several threads, but used outside of them"));
        }
        let part = self.named_part(frame, alias, (target, false), label)?;
        let to = part.origin.buffer;
        if to == buffer {
            return Err(unsupported("set to a part of itself"));
        }
        self.add_target(buffer, to);
        let mut statements = self.take_checks();
        let mut set = |variable: &Expr, value: &Expr| match variable.as_symbol() {
            _ if variable == value => Ok(()),
            Some(variable) => {
                statements.push(Statement::Let { variable: variable.clone(), value: value.clone() });
                Ok(())
            }
            None => Err(unsupported("whose layout changes")),
        };
        set(&reference.origin.offset, &part.origin.offset)?;
        for (variable, value) in reference.axes.iter().zip(&part.axes) {
            set(&variable.stride, &value.stride)?;
            set(&variable.extent, &value.extent)?;
        }
        set(&self.plan.buffer(buffer).size, &self.plan.buffer(to).size)?;
        statements.push(Statement::Point { reference: buffer, to });
        statements.extend(self.keep(buffer));
        Ok(statements)
    }

    /// Notes that a reference may name a buffer.
    fn add_target(&mut self, reference: BufferId, target: BufferId) {
        let written = self.plan.buffer(reference).defined.zip(self.plan.buffer(target).defined);
        for (reference, target) in [Some((reference, target)), written].into_iter().flatten() {
            if let Allocation::Reference(targets) = &mut self.plan.buffers[reference.index()].allocation {
                targets.insert(target);
            }
        }
    }

    /// Says no more which elements of a buffer were written, as somebody writes it who does not tell.
    pub(super) fn follow_no_more(&mut self, buffer: BufferId) {
        let owners = self.plan.owners(buffer);
        for id in owners.into_iter().chain([buffer]) {
            self.plan.buffers[id.index()].defined = None;
        }
    }
}

/// Dimensions of a part that are dropped to reach the rank of an alias: single indices, the leftmost first.
fn surplus(single: &[bool], rank: usize) -> Vec<bool> {
    let mut surplus = single.len().saturating_sub(rank);
    let dropped = single.iter().map(|single| {
        let drops = *single && surplus > 0;
        surplus -= usize::from(drops);
        drops
    });
    dropped.collect()
}

/// The aliases that a state binds, with what each edge makes them name.
fn set_references(state: &State) -> impl Iterator<Item = (ContainerId, &Access)> {
    state.edges().filter_map(|(id, _)| bound_alias(state, id))
}

/// Whether iterations of a scope set a reference that outlives them. It is one for all of them, so that threads do not share them.
pub(super) fn sets_outer_references(frame: &CallFrame<'_>, graph: Graph<'_, '_>, entry: NodeId) -> bool {
    !references_of_iterations(frame, graph, entry).is_empty()
}

/// The references that iterations of a scope set and that outlive them.
pub(super) fn references_of_iterations(
    frame: &CallFrame<'_>,
    graph: Graph<'_, '_>,
    entry: NodeId,
) -> BTreeSet<ContainerId> {
    let is_inside = |scope| scope == entry || graph.tree.enclosing(scope).any(|outer| outer == entry);
    references_set(frame, graph, &|scope| scope.is_some_and(is_inside), &is_inside)
}

/// The references that nodes directly or further inside of a scope set and that outlive each of these nodes.
pub(super) fn references_of_nodes(
    frame: &CallFrame<'_>,
    graph: Graph<'_, '_>,
    around: Option<NodeId>,
) -> BTreeSet<ContainerId> {
    let is_deeper =
        |scope| around.is_none_or(|entry| graph.tree.enclosing(scope).any(|outer| outer == entry));
    references_set(frame, graph, &|scope| scope == around || scope.is_some_and(is_deeper), &is_deeper)
}

/// References that edges in some scopes set, without those that live as long as some scopes.
fn references_set(
    frame: &CallFrame<'_>,
    graph: Graph<'_, '_>,
    is_inside: &dyn Fn(Option<NodeId>) -> bool,
    lives_in: &dyn Fn(NodeId) -> bool,
) -> BTreeSet<ContainerId> {
    let Graph { id, state, tree } = graph;
    let outlives = |alias: &ContainerId| {
        !frame.owning_scopes.get(alias).is_some_and(|home| home.0 == id && lives_in(home.1))
    };
    let is_reference =
        |alias: &ContainerId| matches!(frame.sdfg.container(*alias).kind, ContainerKind::Reference(_));
    let set = state.edges().filter(|(edge, _)| is_inside(tree.scope_of_edge(state, *edge)));
    let aliases = set.filter_map(|(edge, _)| Some(bound_alias(state, edge)?.0));
    aliases.filter(|alias| is_reference(alias) && outlives(alias)).collect()
}

fn sets_references(sdfg: &Sdfg, state: &State) -> bool {
    set_references(state).any(|(alias, _)| matches!(sdfg.container(alias).kind, ContainerKind::Reference(_)))
}
