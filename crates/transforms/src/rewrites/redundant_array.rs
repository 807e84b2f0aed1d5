//! [`RedundantArray`].

use sdfg::analysis::{Footprint, Use, node_leads_to};
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{Container, ContainerId, ContainerKind, Edge, EdgeId, Flow, Memlet, NodeId, NodeKind};
use sdfg::subset::Subset;
use sdfg::symbolic::Expr;
use serde::{Deserialize, Serialize};

use super::{anchored, described};
use crate::engine::{Claim, Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Writes data straight to an array instead of to a transient that is copied to it as a whole.
///
/// # When it applies
///
/// The copy is the only reader of the transient. Both have the same shape and type, or the transient has one
/// element that tasklets write. Every execution of the state writes all of the transient without a conflict
/// resolution. Every other access of the array in the state comes before the nodes that write the transient
/// begin, or behind the copy.
///
/// # Refusals
///
/// - Another node, view, condition or assignment uses the transient.
/// - The array is written by other nodes at this access node, or another access may run between the writes of
///   the transient and the copy.
/// - It is not proved that every execution writes all of the transient: the rest would come from an earlier
///   execution.
/// - Shape, type or memory differ, or the copy moves a part.
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
        let out = state.out_edges(from_node);
        let [copy] = out.as_slice() else {
            return Err(Refusal::structure(site.label(0), "goes to several nodes"));
        };
        if state.in_edges(to_node) != [*copy] {
            return Err(Refusal::structure(site.label(1), "is written by others, too"));
        }
        let (from, to) = match element_copy(site, from_node, state.edge(*copy)) {
            Some(ends) => ends,
            None => whole_copy(site, state.edge(*copy))?,
        };
        let (source, target) = (site.sdfg.container(from), site.sdfg.container(to));
        if element_copy(site, from_node, state.edge(*copy)).is_none() {
            alike(source, target)?;
        }
        let mut evidence = Evidence::default();
        let uses = site.uses();
        let others = |used: Use, own: &dyn Fn(EdgeId) -> bool, node| match used {
            Use::Access(state, other) => (state, other) != (site.found.state(), node),
            Use::Memlet(state, edge) => state != site.found.state() || !own(edge),
            Use::Condition(..) | Use::Block(_) | Use::Transition(_) => true,
        };
        let elsewhere = |container: &Container| Refusal::UsedElsewhere {
            container: container.name.clone(),
            by: "another node, view, condition or assignment".to_owned(),
        };
        // All memlets of the transient in this state belong to its only access node.
        let is_alias = |edge: EdgeId| matches!(state.edge(edge).memlet.flow, Flow::Bind(_));
        if let Some(used) =
            uses.of(from).iter().find(|used| others(**used, &|edge| !is_alias(edge), from_node))
        {
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
        let target = copy.first().and_then(|edge| graph.edge(*edge).memlet.write_access()).cloned();
        let writes = graph.in_edges(from);
        for edge in writes {
            let memlet = &editor.state(state)?.edge(edge).memlet;
            // An element has one place, which its writers may name themselves.
            if let Some(target) = target.as_ref().filter(|target| target.subset().is_element()) {
                let mut memlet = memlet.clone();
                memlet
                    .accesses_mut()
                    .filter(|access| Some(access.container) == container)
                    .for_each(|access| *access = target.clone());
                editor.set_memlet(state, edge, memlet)?;
            }
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

/// The containers of an edge that copies the only element of the first to one of the second, if tasklets and copies write it.
fn element_copy(site: &Site<'_>, node: NodeId, edge: &Edge) -> Option<(ContainerId, ContainerId)> {
    let Flow::Copy { from, to, resolution: None } = &edge.memlet.flow else { return None };
    let [source, target] = [from, to].map(|access| site.sdfg.container(access.container));
    let is_plain = |kind: &ContainerKind| matches!(kind, ContainerKind::Scalar | ContainerKind::Array(_));
    let is_right = source.transient
        && source.constant.is_none()
        && target.constant.is_none()
        && is_plain(&source.kind)
        && is_plain(&target.kind)
        && source.element == target.element
        && source.storage == target.storage
        && source.shape().iter().all(Expr::is_one)
        && to.subset().is_element();
    let is_element = |edge: &Edge| {
        let write = edge.memlet.write_access();
        let is_code = matches!(site.state().node(edge.src).kind, NodeKind::Tasklet(_) | NodeKind::Access(_));
        is_code && !edge.memlet.declared && write.is_some_and(|access| access.subset().is_element())
    };
    let are_elements = site.state().each_in_edge(node).all(|(_, edge)| is_element(edge));
    (is_right && are_elements).then_some((from.container, to.container))
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
    let is_element = |memlet: &Memlet| memlet.accesses().all(|access| access.subset().is_element());
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
                    NodeKind::Tasklet(_) if edge.dst == *writer => {
                        let own = state.each_out_edge(*writer).all(|(_, out)| is_element(&out.memlet));
                        own && state.each_in_edge(*writer).all(|(_, into)| is_element(&into.memlet))
                    }
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
        if access.is_queue() || *access.subset() != Subset::full(container.shape()) {
            return Err(Refusal::container(&container.name, "is not copied as a whole"));
        }
    }
    Ok((from.container, to.container))
}

/// Whether a container can take the place of another one.
pub(super) fn alike(from: &Container, to: &Container) -> Result<(), Refusal> {
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
    let kinds = (matches!(from.kind, ContainerKind::Scalar), matches!(to.kind, ContainerKind::Scalar));
    if kinds.0 != kinds.1 || from.shape() != to.shape() || from.element != to.element {
        return Err(Refusal::container(&to.name, format!("has another shape or type than `{}`", from.name)));
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
