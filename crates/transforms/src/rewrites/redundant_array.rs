//! [`RedundantArray`].

use sdfg::analysis::symbols::bound_symbols;
use sdfg::analysis::{Footprint, Use, node_leads_to};
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{
    Access, Container, ContainerId, ContainerKind, Edge, EdgeId, Flow, Memlet, NodeId, NodeKind, Sdfg, State,
};
use sdfg::subset::Subset;
use serde::{Deserialize, Serialize};

use super::redundant_read_slice::{aligned, binds_any, composed, moves_elements, only_out_edge, segments};
use super::{anchored, described};
use crate::engine::{Claim, Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Writes data straight to an array instead of to a transient that is copied to it, or to a part of it, as a whole.
///
/// # When it applies
///
/// The copy is the only reader of the transient, and moves all of it to the array or to a part of the array.
/// Both have the same type. Tasklets, copies, maps and reductions may write a transient that becomes a part;
/// library nodes and calls need an array of the same shape. Every execution of the state writes all of the
/// transient without a conflict resolution. Every other access of the array in the state comes before the
/// nodes that write the transient begin, or behind the copy.
///
/// # Refusals
///
/// - Another node, view, condition or assignment uses the transient.
/// - A node before the copy writes to this access node of the array, too, or another access may run between the writes
///   of the transient and the copy.
/// - It is not proved that every execution writes all of the transient: the rest would come from an earlier
///   execution.
/// - Type or memory differ, the copy moves a part of the transient, or a writer needs its dimensions.
/// - A map around a writer has a parameter of the name of a symbol of the part or of the size of the array.
/// - The transient is written with a conflict resolution, or has a view or reference.
///
/// # Before
///
/// ```sdft
/// sdfg double_all {
///   symbol N: i64
///   array A: f64[N]
///   array B: f64[N]
///   transient array doubled: f64[N]
///
///   state main {
///     access A
///     map elements [i = 0:N] {
///       tasklet double (a) -> (b) { b = 2.0 * a }
///       elements.A -> double.a: A[i]
///       double.b -> elements.doubled: doubled[i]
///     }
///     access doubled
///     access B
///     A -> elements.A
///     elements.doubled -> doubled
///     doubled -> B
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg double_all {
///   symbol N: i64
///   array A: f64[N]
///   array B: f64[N]
///
///   state main {
///     access A
///     map elements [i = 0:N] {
///       tasklet double (a) -> (b) { b = 2.0 * a }
///       elements.A -> double.a: A[i]
///       double.b -> elements.doubled: B[i]
///     }
///     access B
///     A -> elements.A
///     elements.doubled -> B
///   }
/// }
/// ```
///
/// # Soundness
///
/// The copy writes each element of the array with the value that this execution wrote to the transient. The
/// new writes come earlier, but nothing accesses the array in between.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RedundantArray {}

static METADATA: Metadata = Metadata {
    name: "RedundantArray",
    group: Group::Data,
    summary: "Writes data straight to an array instead of to a transient that is copied to it.",
    source: "paper, Table 4 and Appendix D",
    soundness: Soundness::Always,
    is_strict: true,
    file: include_str!("redundant_array.rs"),
    parameters: &[],
};

anchored!(RedundantArray);

impl Transformation for RedundantArray {
    described!(METADATA);

    fn pattern(&self) -> Pattern {
        Pattern::path([("transient", NodeClass::Access), ("array", NodeClass::Access)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let state = site.state();
        let (from_node, to_node) = (site.found.node(0), site.found.node(1));
        let Some(copy) = only_out_edge(state, from_node) else {
            return Err(Refusal::structure(site.label(0), "goes to several nodes"));
        };
        let mut writers = state.each_in_edge(to_node).filter(|(edge, _)| *edge != copy);
        if writers.any(|(_, edge)| node_leads_to(state, edge.src, from_node)) {
            return Err(Refusal::structure(site.label(1), "is written before the copy, too"));
        }
        let part = Part::of(site.sdfg, state, copy)?;
        let (from, to) = (part.from, part.part.container);
        let (source, target) = (site.sdfg.container(from), site.sdfg.container(to));
        for edge in segments(state, state.in_edges(from_node)) {
            part.writer(site.sdfg, state, edge)?;
        }
        let mut evidence = Evidence::default();
        let uses = site.uses();
        // Memlets belong to access nodes of the same state.
        let is_other = |used: &Use| match *used {
            Use::Access(state, node) => (state, node) != (site.found.state(), from_node),
            Use::Memlet(..) => false,
            Use::Condition(..) | Use::Block(_) | Use::Transition(_) => true,
        };
        let elsewhere = |container: &Container| Refusal::UsedElsewhere {
            container: container.name.clone(),
            by: "another node, view, condition or assignment".to_owned(),
        };
        if let Some(used) = uses.of(from).iter().find(|used| is_other(used)) {
            return Err(site.used(from, *used));
        }
        evidence.note(&source.name, Claim::NoOtherUse);
        let is_condition = |used: Use| matches!(used, Use::Condition(..));
        if uses.in_state(to, site.found.state()).any(is_condition) || !in_order(site, to, from_node, to_node)
        {
            return Err(elsewhere(target));
        }
        let is_bound = |used: &Use| match *used {
            Use::Memlet(state, edge) => {
                let flow = &site.sdfg.state(state).edge(edge).memlet.flow;
                matches!(flow, Flow::Bind(access) if access.container == to)
            }
            Use::Access(..) | Use::Condition(..) | Use::Block(_) | Use::Transition(_) => false,
        };
        if uses.of(to).iter().any(is_bound) {
            return Err(Refusal::container(&target.name, "has a view or reference"));
        }
        if let Some((_, edge)) = state.each_in_edge(from_node).find(|(_, edge)| !moves_plainly(&edge.memlet))
        {
            let label = &state.node(edge.src).label;
            return Err(Refusal::structure(
                label,
                "writes the transient with a conflict resolution, or only precedes it",
            ));
        }
        let whole = Subset::full(source.shape());
        // All that writes the transient leads to its only access node.
        let (into, id) = (state.in_edges(from_node), site.found.state());
        let footprint = Footprint::of_edges(site.sdfg, &site.facts(), site.scopes(), id, into);
        let known = site.known_in(None);
        let (_, writes) = footprint.of_container(from);
        let covering = writes.iter().find(|part| {
            part.subset.is_exact()
                && !part.combines
                && part.subset.as_inner().covers(&whole, &known).is_proved()
        });
        let Some(part) = covering.filter(|_| site.scopes().scope_of(from_node).is_none()) else {
            let needed = format!("every execution of the state writes all of `{}`", source.name);
            return Err(Refusal::Unproved { about: source.name.clone(), needed });
        };
        evidence.note(&source.name, Claim::Covers { outer: part.subset.as_inner().clone(), inner: whole });
        Ok(evidence)
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, from, to) = (found.state(), found.node(0), found.node(1));
        let container = editor.state(state)?.node(from).kind.container();
        let graph = editor.state(state)?;
        let copy = graph.out_edges(from);
        let whole = copy.first().map(|edge| Part::of(editor.sdfg(), graph, *edge));
        let Some(Ok(part)) = whole else { return Err(EditError::NoNode(from)) };
        let writes = graph.in_edges(from);
        let mut memlets = Vec::new();
        for edge in segments(graph, graph.in_edges(from)) {
            let mut memlet = graph.edge(edge).memlet.clone();
            for access in memlet.accesses_mut().filter(|access| access.container == part.from) {
                *access = part.composed(access).ok_or(EditError::NoEdge(edge))?;
            }
            memlets.push((edge, memlet));
        }
        for (edge, memlet) in memlets {
            editor.set_memlet(state, edge, memlet)?;
        }
        for edge in writes {
            editor.redirect_destination(state, edge, to, None)?;
        }
        for edge in copy {
            if editor.state(state)?.get_edge(edge).is_some() {
                editor.remove_edge(state, edge)?;
            }
        }
        if let Some(container) = container {
            editor.remove_container(container)?;
        }
        Ok(())
    }
}

/// A transient and the part of an array that it is copied to.
struct Part {
    from: ContainerId,
    part: Access,
    /// For each dimension of the part, that of the transient; `None` for those of one element.
    dimensions: Vec<Option<usize>>,
    /// Whether the transient has the shape of the array.
    is_whole: bool,
    keeps_rank: bool,
}

impl Part {
    /// The ends of an edge that copies a transient as a whole.
    fn of(sdfg: &Sdfg, state: &State, edge: EdgeId) -> Result<Part, Refusal> {
        let edge = state.edge(edge);
        let refused =
            |id: ContainerId, reason: &str| Err(Refusal::container(&sdfg.container(id).name, reason));
        let Flow::Copy { from, to, resolution: None } = &edge.memlet.flow else {
            return Err(Refusal::structure(&state.node(edge.src).label, "is not simply copied to the array"));
        };
        let (source, target) = (sdfg.container(from.container), sdfg.container(to.container));
        let is_all = !from.is_queue() && from.subset().is_all_of(source.shape());
        if !is_all || to.is_queue() || edge.memlet.volume.is_dynamic() {
            return refused(from.container, "is not copied as a whole");
        }
        alike_in_kind(source, target)?;
        let Some(dimensions) = aligned(to.subset(), source.shape()) else {
            return refused(to.container, "has another shape where the transient is copied to");
        };
        let keeps_rank = to.subset().rank() == source.shape().len()
            && dimensions.iter().enumerate().all(|(at, own)| *own == Some(at));
        let is_whole = keeps_rank && source.shape() == target.shape();
        Ok(Part { from: from.container, part: to.clone(), dimensions, is_whole, keeps_rank })
    }

    fn composed(&self, access: &Access) -> Option<Access> {
        composed(&self.part, &self.dimensions, access)
    }

    /// Refuses an edge on the way to the transient that cannot write the part instead.
    fn writer(&self, sdfg: &Sdfg, state: &State, edge: EdgeId) -> Result<(), Refusal> {
        let content = state.edge(edge);
        let refused = |reason: &str| Err(Refusal::structure(&state.node(content.src).label, reason));
        let entry = state.node(content.src).kind.exit_of();
        let sizes =
            entry.map(|_| sdfg.container(self.part.container).kind.size_symbols()).unwrap_or_default();
        if entry.is_some_and(|entry| binds_any(state, entry, &sizes)) {
            return refused("has a parameter of the name of a symbol in the size of the array");
        }
        let Some(access) = content.memlet.write_access().filter(|_| !self.is_whole) else { return Ok(()) };
        if content.memlet.declared || self.composed(access).is_none() {
            return refused("writes a part of the transient that has no form in the array");
        }
        let is_element = access.subset().is_element();
        match &state.node(content.src).kind {
            NodeKind::Tasklet(_) if is_element || self.keeps_rank => Ok(()),
            NodeKind::Library(_) if self.keeps_rank => Ok(()),
            NodeKind::Access(_) | NodeKind::Reduce(_) => Ok(()),
            NodeKind::MapExit(exit) => {
                let symbols = self.part.subset().free_symbols();
                match bound_symbols(state, exit.entry).iter().find(|symbol| symbols.contains(*symbol)) {
                    Some(_) => refused("has a parameter of the name of a symbol of the part"),
                    None => Ok(()),
                }
            }
            NodeKind::Tasklet(_)
            | NodeKind::Library(_)
            | NodeKind::Nested(_)
            | NodeKind::MapEntry(_)
            | NodeKind::ConsumeEntry(_)
            | NodeKind::ConsumeExit(_) => refused("needs the dimensions of the transient"),
        }
    }
}

/// Whether all else that touches an array in the state is done before that which writes the transient begins, or begins behind
/// the copy.
fn in_order(site: &Site<'_>, array: ContainerId, transient: NodeId, copied: NodeId) -> bool {
    let (state, tree) = (site.state(), site.scopes());
    let is_bound = |memlet: &Memlet| {
        matches!(&memlet.flow, Flow::Bind(_)) && memlet.accesses().any(|access| access.container == array)
    };
    let (uses, here) = (site.uses(), site.found.state());
    if uses
        .in_state(array, here)
        .any(|used| matches!(used, Use::Memlet(_, edge) if is_bound(&state.edge(edge).memlet)))
    {
        return false;
    }
    let writers: Vec<(NodeId, NodeId)> = state
        .each_in_edge(transient)
        .map(|(_, edge)| (edge.src, state.node(edge.src).kind.exit_of().unwrap_or(edge.src)))
        .collect();
    let mut others = uses.in_state(array, here).filter_map(|used| match used {
        Use::Access(_, other) => (other != copied).then_some(other),
        Use::Memlet(..) | Use::Condition(..) | Use::Block(_) | Use::Transition(_) => None,
    });
    others.all(|other| {
        if tree.scope_of(other).is_some() {
            return false;
        }
        let before = |(writer, first): &(NodeId, NodeId)| {
            node_leads_to(state, other, *first)
                && state.each_out_edge(other).all(|(_, edge)| match &state.node(edge.dst).kind {
                    // Copies are made when their source is reached.
                    NodeKind::Access(_) => true,
                    // Elements are read before the code runs, and written behind it.
                    NodeKind::Tasklet(_) if edge.dst == *writer => moves_elements(state, *writer),
                    NodeKind::Tasklet(_)
                    | NodeKind::MapEntry(_)
                    | NodeKind::MapExit(_)
                    | NodeKind::ConsumeEntry(_)
                    | NodeKind::ConsumeExit(_)
                    | NodeKind::Nested(_)
                    | NodeKind::Reduce(_)
                    | NodeKind::Library(_) => {
                        let done = state.exit_of(edge.dst).unwrap_or(edge.dst);
                        edge.dst != *writer && node_leads_to(state, done, *first)
                    }
                })
        };
        node_leads_to(state, copied, other) || writers.iter().all(before)
    })
}

/// The containers of an edge that copies one as a whole to the other.
pub(super) fn whole_copy(site: &Site<'_>, edge: &Edge) -> Result<(ContainerId, ContainerId), Refusal> {
    let Flow::Copy { from, to, resolution: None } = &edge.memlet.flow else {
        return Err(Refusal::structure(site.label(0), "is not simply copied to the array"));
    };
    for access in [from, to] {
        let container = site.sdfg.container(access.container);
        if access.is_queue() || !access.subset().is_all_of(container.shape()) {
            return Err(Refusal::container(&container.name, "is not copied as a whole"));
        }
    }
    Ok((from.container, to.container))
}

/// Whether a container can take the place of another one.
pub(super) fn alike(from: &Container, to: &Container) -> Result<(), Refusal> {
    alike_in_kind(from, to)?;
    let kinds = (matches!(from.kind, ContainerKind::Scalar), matches!(to.kind, ContainerKind::Scalar));
    if kinds.0 != kinds.1 || from.shape() != to.shape() {
        return Err(Refusal::container(&to.name, format!("has another shape or type than `{}`", from.name)));
    }
    Ok(())
}

/// Whether a container can take the place of another one, or of a part of it.
fn alike_in_kind(from: &Container, to: &Container) -> Result<(), Refusal> {
    let is_plain = |container: &Container| match container.kind {
        ContainerKind::Scalar | ContainerKind::Array(_) => true,
        ContainerKind::Stream { .. } | ContainerKind::View(_) | ContainerKind::Reference(_) => false,
    };
    if from.is_argument() || from.constant.is_some() || !is_plain(from) {
        return Err(Refusal::container(&from.name, "is no transient array or scalar"));
    }
    if !is_plain(to) || to.constant.is_some() {
        return Err(Refusal::container(&to.name, "is no array or scalar"));
    }
    if from.element != to.element {
        return Err(Refusal::container(&to.name, format!("has another type than `{}`", from.name)));
    }
    if from.storage != to.storage {
        return Err(Refusal::container(&to.name, format!("is in another memory than `{}`", from.name)));
    }
    Ok(())
}

/// Whether a memlet writes without a conflict resolution.
fn moves_plainly(memlet: &Memlet) -> bool {
    match &memlet.flow {
        Flow::Write { resolution, .. } | Flow::Copy { resolution, .. } => resolution.is_none(),
        Flow::Order | Flow::Read(_) | Flow::Value | Flow::Bind(_) => false,
    }
}
