//! [`RedundantArray`].

use sdfg::analysis::{Footprint, Use};
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{Container, ContainerId, ContainerKind, Edge, EdgeId, Flow, Memlet};
use sdfg::subset::Subset;
use serde::{Deserialize, Serialize};

use super::{anchored, described};
use crate::engine::{Claim, Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Writes data straight to an array instead of to a transient that is copied to it as a whole.
///
/// It applies if the copy is all that reads the transient and the only thing that touches the array in the state, if both have the
/// same shape and type, and if every execution of the state writes all of the transient without a conflict resolution.
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
        let (from, to) = whole_copy(site, state.edge(*copy))?;
        let (source, target) = (site.sdfg.container(from), site.sdfg.container(to));
        alike(source, target)?;
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
        if uses.of(from).iter().any(|used| others(*used, &|edge| !is_alias(edge), from_node)) {
            return Err(elsewhere(source));
        }
        evidence.note(&source.name, Claim::NoOtherUse);
        let is_own = |edge: EdgeId| {
            !is_alias(edge)
                && (edge == *copy
                    || state.edge(edge).memlet.write_access().is_none_or(|access| access.container != to))
        };
        if uses.in_state(to, site.found.state()).any(|used| others(used, &is_own, to_node)) {
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
        let copy = editor.state(state)?.out_edges(from);
        for edge in editor.state(state)?.in_edges(from) {
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
