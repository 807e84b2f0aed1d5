//! Effects of one execution of a state on whole containers: possible reads of earlier contents, certain
//! overwrites, and remaining writes.
//!
//! Liveness and reaching definitions share these effects. An overwrite is certain if the footprint is exact:
//! a write covers a container if its leaf, carried through the surrounding scopes, is exactly the whole
//! container, without a conflict resolution.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sdfg_language::subset::Subset;
use sdfg_language::symbolic::Assumptions;

use super::accesses::{
    AccessSets, alias_targets, all_alias_targets, consume_condition_reads, control_flow_reads,
};
use super::filling::fills_output;
use super::footprint::{Footprint, Part};
use super::known::SymbolFacts;
use super::memlet_path::memlet_root;
use super::scope_tree::ScopeTree;
use crate::ir::{
    ContainerId, ContainerKind, EdgeId, Flow, Lifetime, NodeId, NodeKind, Sdfg, State, StateId, TaskletBody,
};

/// Facts about the containers of an SDFG that do not depend on a state.
#[derive(Clone, Debug)]
pub(super) struct Containers {
    /// For each view and reference all containers whose memory it may name, through other aliases too.
    targets: Arc<BTreeMap<ContainerId, BTreeSet<ContainerId>>>,
    /// Transients whose lifetime begins in a state or in a scope: they keep nothing from block to block.
    confined: BTreeSet<ContainerId>,
    /// Facts about the symbols in states.
    places: Arc<SymbolFacts>,
}

/// One end of an edge that writes memory of a container, or a read with what it may see.
#[derive(Clone, Debug)]
pub(super) struct Write {
    pub(super) edge: EdgeId,
    /// The container whose memory it may write, with aliases resolved.
    pub(super) container: ContainerId,
    /// Subset that it certainly overwrites in each iteration of its scope; `None` if nothing is certain.
    covers: Option<Subset>,
    /// The access node at the root of its memlet.
    root: Option<NodeId>,
    /// The scope that holds the root.
    scope: Option<NodeId>,
}

/// A read of a container's memory.
#[derive(Clone, Debug)]
pub(super) struct Read {
    /// The edge; `None` for the condition of a consume scope.
    pub(super) edge: Option<EdgeId>,
    pub(super) container: ContainerId,
    /// Whether it may see what the container held before the state.
    pub(super) sees_before: bool,
    /// Positions of the writes of this state that it may see.
    pub(super) sees: Vec<usize>,
}

/// The effects of one state.
#[derive(Clone, Debug, Default)]
pub(super) struct StateEffects {
    pub(super) writes: Vec<Write>,
    pub(super) reads: Vec<Read>,
    /// Containers of which nothing is left that was there before.
    pub(super) overwritten: BTreeSet<ContainerId>,
}

impl Containers {
    pub(super) fn of(sdfg: &Sdfg) -> Self {
        Containers {
            targets: all_alias_targets(sdfg),
            confined: confined(sdfg),
            places: Arc::new(SymbolFacts::of(sdfg)),
        }
    }

    /// The container itself, and what it may name.
    pub(super) fn named_by(&self, container: ContainerId) -> impl Iterator<Item = ContainerId> + '_ {
        let targets = self.targets.get(&container).into_iter().flatten().copied();
        std::iter::once(container).chain(targets.filter(move |target| *target != container))
    }

    /// Whether its contents last from one block to the next.
    pub(super) fn lasts(&self, container: ContainerId) -> bool {
        !self.confined.contains(&container)
    }
}

/// Transients that live in one state, or in one scope of it (`docs/semantics.md`, "Programs"), and views, which are bound
/// anew in each.
fn confined(sdfg: &Sdfg) -> BTreeSet<ContainerId> {
    let in_control_flow = control_flow_reads(sdfg);
    let mut uses: BTreeMap<ContainerId, BTreeSet<(StateId, Option<NodeId>)>> = BTreeMap::new();
    let mut trees: BTreeMap<StateId, ScopeTree> = BTreeMap::new();
    for (id, state) in sdfg.states() {
        let tree = ScopeTree::of(state);
        for (node, content) in state.nodes() {
            if let Some(container) = content.kind.container() {
                uses.entry(container).or_default().insert((id, tree.scope_of(node)));
            }
        }
        for (edge, content) in state.edges() {
            for access in content.memlet.accesses() {
                uses.entry(access.container).or_default().insert((id, tree.scope_of_edge(state, edge)));
            }
        }
        trees.insert(id, tree);
    }
    let in_one_scope = |places: &BTreeSet<(StateId, Option<NodeId>)>| {
        let Some((state, scope)) = places.first() else { return false };
        let Some(tree) = trees.get(state) else { return false };
        tree.enclosing_scope(*scope).any(|around| {
            places.iter().all(|(other, scope)| {
                other == state && tree.enclosing_scope(*scope).any(|outer| outer == around)
            })
        })
    };
    let is_confined = |(id, container): &(ContainerId, &crate::ir::Container)| {
        let transient = !container.is_argument() && container.constant.is_none();
        let by_lifetime = match container.lifetime {
            Lifetime::Scope => !in_control_flow.contains(id) && uses.get(id).is_some_and(in_one_scope),
            Lifetime::State => true,
            Lifetime::Sdfg | Lifetime::Persistent | Lifetime::External => false,
        };
        matches!(container.kind, ContainerKind::View(_)) || (transient && by_lifetime)
    };
    sdfg.containers().filter(is_confined).map(|(id, _)| id).collect()
}

impl StateEffects {
    pub(super) fn of(sdfg: &Sdfg, id: StateId, containers: &Containers) -> Self {
        let state = sdfg.state(id);
        let order = Order { state, tree: ScopeTree::of(state), behind: RefCell::new(BTreeMap::new()) };
        let known = containers.places.everywhere();
        let footprint = Footprint::at_roots(sdfg, &containers.places, id);
        let mut effects = StateEffects::default();
        for part in &footprint.writes {
            effects.add_write(&order, part, containers);
        }
        effects.add_bindings(sdfg, &order, containers);
        for write in &effects.writes {
            if write.scope.is_some() {
                continue;
            }
            let whole = Subset::full(sdfg.container(write.container).shape());
            let stream = sdfg.container(write.container).is_stream();
            if !stream && write.covers.as_ref().is_some_and(|part| part.covers(&whole, known).is_proved()) {
                effects.overwritten.insert(write.container);
            }
        }
        let mut reads: Vec<(Option<EdgeId>, ContainerId, Subset)> = Vec::new();
        for part in footprint.reads.iter().filter(|part| part.edge.is_some()) {
            reads.push((part.edge.map(|(_, edge)| edge), part.container, part.subset.as_inner().clone()));
        }
        for part in &footprint.writes {
            if let Some((_, edge)) =
                part.edge.filter(|(_, edge)| part.combines || may_read(sdfg, state, *edge))
            {
                reads.push((Some(edge), part.container, part.subset.as_inner().clone()));
            }
        }
        for container in consume_condition_reads(sdfg, state, None) {
            reads.push((None, container, Subset::full(sdfg.container(container).shape())));
        }
        for (edge, container, subset) in reads {
            for named in containers.named_by(container) {
                let through_alias = named != container;
                let read = effects.read(&order, edge, named, (!through_alias).then_some(&subset), known);
                effects.reads.push(read);
            }
        }
        effects
    }

    fn add_write(&mut self, order: &Order<'_>, part: &Part, containers: &Containers) {
        let Some((_, edge)) = part.edge else { return };
        let root = memlet_root(order.state, edge);
        let scope = root.and_then(|root| order.tree.scope_of(root));
        let certain = part.subset.is_exact() && !part.combines && root.is_some();
        // What is written through an alias is written to what it names, not to where it points.
        let through_alias = containers.targets.contains_key(&part.container);
        for container in containers.named_by(part.container).skip(usize::from(through_alias)) {
            let covers = (certain && container == part.container).then(|| part.subset.as_inner().clone());
            self.writes.push(Write { edge, container, covers, root, scope });
        }
    }

    /// Binding a reference overwrites where it points to.
    fn add_bindings(&mut self, sdfg: &Sdfg, order: &Order<'_>, containers: &Containers) {
        let state = order.state;
        for (edge, content) in state.edges() {
            let Flow::Bind(target) = &content.memlet.flow else { continue };
            for end in [content.src, content.dst] {
                let Some(alias) = state.node(end).kind.container().filter(|alias| *alias != target.container)
                else {
                    continue;
                };
                if containers.lasts(alias) {
                    let whole = Subset::full(sdfg.container(alias).shape());
                    let scope = order.tree.scope_of(end);
                    self.writes.push(Write {
                        edge,
                        container: alias,
                        covers: Some(whole),
                        root: Some(end),
                        scope,
                    });
                }
            }
        }
    }

    /// Writes that a read may see: all writes except later ones, back to the last that certainly overwrote
    /// everything.
    fn read(
        &self,
        order: &Order<'_>,
        edge: Option<EdgeId>,
        container: ContainerId,
        subset: Option<&Subset>,
        known: &Assumptions,
    ) -> Read {
        let at = edge.and_then(|edge| memlet_root(order.state, edge));
        let before = |write: &Write| match (write.root, at) {
            (Some(root), Some(at)) => {
                let in_scope =
                    write.scope.is_none() || order.tree.enclosing(at).any(|s| Some(s) == write.scope);
                in_scope && ((root == at && Some(write.edge) != edge) || order.precedes(root, at))
            }
            (None, _) | (_, None) => false,
        };
        let own: Vec<usize> =
            (0..self.writes.len()).filter(|i| self.writes[*i].container == container).collect();
        let covering: Vec<&Write> = own
            .iter()
            .map(|position| &self.writes[*position])
            .filter(|write| before(write))
            .filter(|write| {
                let covers = write.covers.as_ref().zip(subset);
                covers.is_some_and(|(part, subset)| part.covers(subset, known).is_proved())
            })
            .collect();
        let sees = own.into_iter().filter(|position| {
            let write = &self.writes[*position];
            let behind = match (at, write.root) {
                (Some(at), Some(root)) => at != root && order.precedes(at, root),
                (None, _) | (_, None) => false,
            };
            let hidden = covering.iter().any(|cover| {
                cover.edge != write.edge
                    && matches!((write.root, cover.root), (Some(a), Some(b)) if a != b && order.precedes(a, b))
            });
            !behind && !hidden
        });
        let sees = sees.collect();
        Read { edge, container, sees_before: covering.is_empty(), sees }
    }
}

/// Whether what a write at this edge comes from may read the old contents, too.
fn may_read(sdfg: &Sdfg, state: &State, edge: EdgeId) -> bool {
    let content = state.edge(edge);
    let stream = content.memlet.write_access().is_some_and(|access| {
        access.is_queue()
            || sdfg.get_container(access.container).is_some_and(|container| container.is_stream())
    });
    let by_node = match &state.node(content.src).kind {
        // A call may read all that it is given; a part that it leaves alone keeps its contents.
        NodeKind::Nested(nested) => {
            let inner = content.src_connector.as_deref().and_then(|name| nested.sdfg.find_container(name));
            let sets = AccessSets::of_region(&nested.sdfg, nested.sdfg.body());
            let aliased = alias_targets(&nested.sdfg);
            inner.is_none_or(|inner| {
                sets.reads.contains(&inner) || aliased.values().any(|targets| targets.contains(&inner))
            })
        }
        NodeKind::Library(library) => !fills_output(library, content.src_connector.as_deref()),
        NodeKind::Tasklet(tasklet) => matches!(tasklet.body, TaskletBody::External(_)),
        NodeKind::Reduce(reduce) => reduce.identity.is_none(),
        NodeKind::Access(_)
        | NodeKind::MapEntry(_)
        | NodeKind::MapExit(_)
        | NodeKind::ConsumeEntry(_)
        | NodeKind::ConsumeExit(_) => false,
    };
    // What is pushed waits behind what is there.
    stream || by_node
}

/// Order of the nodes of a state.
struct Order<'a> {
    state: &'a State,
    tree: ScopeTree,
    behind: RefCell<BTreeMap<NodeId, BTreeSet<NodeId>>>,
}

impl Order<'_> {
    /// Whether some path leads from a node to another one.
    fn precedes(&self, first: NodeId, second: NodeId) -> bool {
        let mut behind = self.behind.borrow_mut();
        let found = behind.entry(first).or_insert_with(|| {
            let (mut found, mut waiting) = (BTreeSet::new(), vec![first]);
            while let Some(node) = waiting.pop() {
                for edge in self.state.out_edges(node) {
                    let next = self.state.edge(edge).dst;
                    if found.insert(next) {
                        waiting.push(next);
                    }
                }
            }
            found
        });
        found.contains(&second)
    }
}
