//! [`DeadDataflowElimination`].

use std::collections::BTreeSet;

use sdfg::analysis::Use;
use sdfg::analysis::symbols::{assigned_symbols, free_symbols_of_container};
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{ContainerId, ContainerKind, Flow, NodeId, NodeKind, ScheduleKind, Sdfg, State, TaskletBody};
use serde::{Deserialize, Serialize};

use super::{anchored, described};
use crate::engine::{
    Claim, Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation, edges_between,
};
use crate::pattern::{NodeClass, Pattern};

/// Removes the computation of a transient that nothing reads, and access nodes that move no data.
///
/// # When it applies
///
/// The access node is the last one of a transient array or scalar, and no memlet, view, condition or
/// assignment reads the transient. What computes it goes with it.
///
/// Or the access node is outside of all scopes, and its edges only put other nodes in order: then these others are put in order
/// without it. Another access node outside of scopes, if one is needed, tells where the container lives, and no symbol of its size
/// changes.
///
/// # Refusals
///
/// - The container is an argument or a constant, or a stream, view or reference.
/// - The container is read.
/// - What computes it also writes something else, takes elements from a stream, or calls a foreign function.
///
/// # Before
///
/// ```sdft
/// sdfg scale {
///   symbol N: i64
///   array A: f64[N]
///   array B: f64[N]
///   transient array squares: f64[N]
///
///   state main {
///     access A
///     map scaled [i = 0:N] {
///       tasklet double (a) -> (b) { b = 2.0 * a }
///       scaled.A -> double.a: A[i]
///       double.b -> scaled.B: B[i]
///     }
///     access B
///     map squared [i = 0:N] {
///       tasklet square (a) -> (s) { s = a * a }
///       squared.A -> square.a: A[i]
///       square.s -> squared.squares: squares[i]
///     }
///     access squares
///     A -> scaled.A
///     scaled.B -> B
///     A -> squared.A
///     squared.squares -> squares
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg scale {
///   symbol N: i64
///   array A: f64[N]
///   array B: f64[N]
///
///   state main {
///     access A
///     map scaled [i = 0:N] {
///       tasklet double (a) -> (b) { b = 2.0 * a }
///       scaled.A -> double.a: A[i]
///       double.b -> scaled.B: B[i]
///     }
///     access B
///     A -> scaled.A
///     scaled.B -> B
///   }
/// }
/// ```
///
/// # Soundness
///
/// The results of a program are its arguments. The removed nodes write nothing but the transient, and nothing
/// reads that, so no argument depends on them. An access node that moves no data does nothing, and what follows it still waits
/// for what comes before it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DeadDataflowElimination {}

static METADATA: Metadata = Metadata {
    name: "DeadDataflowElimination",
    group: Group::Data,
    summary: "Removes the computation of a transient that nothing reads, and access nodes that move no data.",
    source: "DaCe, DeadDataflowElimination",
    soundness: Soundness::Always,
    is_strict: true,
    file: include_str!("dead_dataflow.rs"),
    parameters: &[],
};

anchored!(DeadDataflowElimination);

impl Transformation for DeadDataflowElimination {
    described!(METADATA, of_any_memory);

    fn pattern(&self) -> Pattern {
        Pattern::path([("data", NodeClass::Access)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let (state, node) = (site.state(), site.found.node(0));
        let Some(id) = state.node(node).kind.container() else {
            return Err(Refusal::structure(site.label(0), "accesses no container"));
        };
        if moves_nothing(state, node) {
            is_needless(site, node, id)?;
            return Ok(Evidence::of_structure());
        }
        let container = site.sdfg.container(id);
        let name = container.name.as_str();
        if container.is_argument() || container.constant.is_some() {
            return Err(Refusal::container(name, "is an argument or a constant"));
        }
        match container.kind {
            ContainerKind::Scalar | ContainerKind::Array(_) => {}
            ContainerKind::Stream { .. } | ContainerKind::View(_) | ContainerKind::Reference(_) => {
                return Err(Refusal::container(name, "is a stream, a view or a reference"));
            }
        }
        let dead = dead_nodes(site, node)?;
        for used in site.uses().of(id) {
            let is_read = match *used {
                Use::Access(..) => false,
                Use::Memlet(state, edge) => {
                    let memlet = &site.sdfg.state(state).edge(edge).memlet;
                    // A conflict resolution reads what is there, unless it goes, too.
                    let ends = site.sdfg.state(state).edge(edge);
                    let goes =
                        state == site.found.state() && (dead.contains(&ends.src) || dead.contains(&ends.dst));
                    let combines = memlet.resolution().is_some() && !goes;
                    memlet.write_access().is_some_and(|access| access.container == id && combines)
                        || memlet.read_access().is_some_and(|access| access.container == id)
                        || matches!(&memlet.flow, Flow::Bind(access) if access.container == id)
                }
                Use::Condition(..) | Use::Block(_) | Use::Transition(_) => true,
            };
            if is_read {
                return Err(site.used(id, *used));
            }
        }
        let out = dead.iter().flat_map(|node| state.each_out_edge(*node));
        if let Some((_, edge)) = out.into_iter().find(|(_, edge)| !dead.contains(&edge.dst)) {
            let label = &state.node(edge.src).label;
            return Err(Refusal::structure(
                label,
                format!("is needed by `{}`, too", state.node(edge.dst).label),
            ));
        }
        let mut evidence = Evidence::default();
        evidence.note(name, Claim::NoOtherUse);
        Ok(evidence)
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, node) = (found.state(), found.node(0));
        let graph = editor.state(state)?;
        let container = graph.node(node).kind.container();
        if moves_nothing(graph, node) {
            for (before, after) in Order::around(graph, node).missing(graph) {
                editor.add_order(state, before, after)?;
            }
        } else {
            let producers: BTreeSet<NodeId> = graph
                .each_in_edge(node)
                .map(|(_, edge)| graph.node(edge.src).kind.exit_of().unwrap_or(edge.src))
                .filter(|node| graph.node(*node).kind.container().is_none())
                .collect();
            for producer in producers {
                editor.remove_node(state, producer)?;
            }
        }
        if editor.state(state)?.get_node(node).is_some() {
            editor.remove_node(state, node)?;
        }
        let may_go = |id: ContainerId| {
            let found = editor.sdfg().container(id);
            !found.is_argument() && found.constant.is_none() && !is_used(editor.sdfg(), id)
        };
        if let Some(container) = container.filter(|id| may_go(*id)) {
            editor.remove_container(container)?;
        }
        Ok(())
    }
}

/// Whether the edges of an access node only put others in order.
fn moves_nothing(state: &State, node: NodeId) -> bool {
    let mut edges = state.each_in_edge(node).chain(state.each_out_edge(node));
    edges.all(|(_, edge)| matches!(edge.memlet.flow, Flow::Order))
}

/// Whether an access node that moves nothing may go.
fn is_needless(site: &Site<'_>, node: NodeId, id: ContainerId) -> Result<(), Refusal> {
    let (state, here) = (site.state(), site.found.state());
    let container = site.sdfg.container(id);
    if site.scopes().scope_of(node).is_some() {
        return Err(Refusal::structure(site.label(0), "moves no data, and is in a scope"));
    }
    let order = Order::around(state, node);
    if order.before.len() * order.after.len() > order.before.len() + order.after.len() {
        return Err(Refusal::structure(site.label(0), "puts many nodes in order"));
    }
    // The first access makes a transient, and values of symbols at that time give it its size.
    if !container.is_argument() {
        let (set, sizes) = (assigned_symbols(site.sdfg), free_symbols_of_container(container));
        if let Some(symbol) = sizes.iter().find(|symbol| set.contains(symbol)) {
            let reason = format!("has a size with `{symbol}`, which changes");
            return Err(Refusal::container(&container.name, reason));
        }
    }
    let uses = site.uses();
    if let Some(used) = uses.in_state(id, here).find(|used| matches!(used, Use::Condition(..))) {
        return Err(site.used(id, used));
    }
    let is_outside = |used: &Use| match *used {
        Use::Access(state, other) => {
            (state, other) != (here, node) && site.scopes_of(state).scope_of(other).is_none()
        }
        Use::Memlet(..) | Use::Condition(..) | Use::Block(_) | Use::Transition(_) => false,
    };
    let others = uses.of(id);
    let is_unused = others.iter().all(|used| *used == Use::Access(here, node));
    if container.is_argument() || is_unused || others.iter().any(is_outside) {
        return Ok(());
    }
    if let Some(used) = others.iter().find(|used| matches!(used, Use::Block(_) | Use::Transition(_))) {
        return Err(site.used(id, *used));
    }
    Err(Refusal::container(&container.name, "is used in scopes alone, apart from this node"))
}

/// The nodes that an access node puts in order.
struct Order {
    before: BTreeSet<NodeId>,
    after: BTreeSet<NodeId>,
}

impl Order {
    fn around(state: &State, node: NodeId) -> Self {
        Order {
            before: state.each_in_edge(node).map(|(_, edge)| edge.src).collect(),
            after: state.each_out_edge(node).map(|(_, edge)| edge.dst).collect(),
        }
    }

    /// Those pairs that have no edge.
    fn missing(&self, state: &State) -> Vec<(NodeId, NodeId)> {
        let pairs =
            self.before.iter().flat_map(|before| self.after.iter().map(move |after| (*before, *after)));
        pairs.filter(|(before, after)| edges_between(state, *before, *after) == 0).collect()
    }
}

/// Whether a node accesses a container. Memlets name those that some node accesses, and nothing in control flow reads it.
fn is_used(sdfg: &Sdfg, container: ContainerId) -> bool {
    sdfg.states().any(|(_, state)| state.accesses_of(container).next().is_some())
}

/// The access node with all that computes it.
fn dead_nodes(site: &Site<'_>, node: NodeId) -> Result<BTreeSet<NodeId>, Refusal> {
    let state = site.state();
    let mut dead = BTreeSet::from([node]);
    for (_, edge) in state.each_in_edge(node) {
        let source = edge.src;
        match state.node(source).kind.exit_of() {
            Some(entry) => {
                dead.insert(entry);
                dead.extend(site.nodes_within(entry));
            }
            None if state.node(source).kind.container().is_none() => {
                dead.insert(source);
            }
            None => {}
        }
        if state.node(source).kind.is_scope_entry() {
            return Err(Refusal::structure(site.label(0), "is a copy at the beginning of a scope"));
        }
    }
    for id in &dead {
        if has_effects(site, state, *id) {
            return Err(Refusal::structure(&state.node(*id).label, "does more than compute values"));
        }
    }
    Ok(dead)
}

/// Whether running a node does more than to write what its memlets say.
fn has_effects(site: &Site<'_>, state: &State, id: NodeId) -> bool {
    let pops = |edge: &sdfg::ir::Edge| {
        edge.memlet.accesses().any(|access| site.sdfg.container(access.container).is_stream())
    };
    let takes = state.each_in_edge(id).chain(state.each_out_edge(id)).any(|(_, edge)| pops(edge));
    takes
        || match &state.node(id).kind {
            NodeKind::Tasklet(tasklet) => matches!(tasklet.body, TaskletBody::External(_)),
            NodeKind::MapEntry(map) => map.schedule.kind() == ScheduleKind::Mpi,
            NodeKind::ConsumeEntry(_)
            | NodeKind::ConsumeExit(_)
            | NodeKind::Nested(_)
            | NodeKind::Library(_) => true,
            NodeKind::Access(_) | NodeKind::MapExit(_) | NodeKind::Reduce(_) => false,
        }
}
