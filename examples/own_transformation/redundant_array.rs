//! A transformation written from scratch: Appendix D of the paper *Stateful Dataflow Multigraphs* (SC'19).
//!
//! `docs/adding/a-transformation.md` explains this file step by step.

use sdfg::analysis::{Footprint, Use};
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{ContainerId, ContainerKind, EdgeId, Flow};
use sdfg::subset::Subset;
use sdfg_transforms::pattern::{NodeClass, Pattern};
use sdfg_transforms::{Claim, Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use serde::{Deserialize, Serialize};

/// Removes a transient that is copied as a whole to an array.
///
/// What writes the transient writes the array instead. Appendix D asks that both have the same shape and memory, and that
/// nothing else uses the transient. This check asks for two more conditions: nothing else uses the array in the state, and
/// every execution of the state writes the whole transient.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RedundantArray {}

static METADATA: Metadata = Metadata {
    name: "RedundantArray",
    group: Group::Data,
    summary: "Removes a transient that is copied as a whole to an array.",
    source: "paper, Appendix D",
    soundness: Soundness::Always,
    is_strict: true,
    file: include_str!("redundant_array.rs"),
    parameters: &[],
};

/// The copy that is to be removed.
struct Copy {
    transient: ContainerId,
    array: ContainerId,
}

impl Transformation for RedundantArray {
    fn metadata(&self) -> &'static Metadata {
        &METADATA
    }

    fn parameters(&self) -> serde_json::Value {
        serde_json::json!({})
    }

    fn pattern(&self) -> Pattern {
        Pattern::path([("transient", NodeClass::Access), ("array", NodeClass::Access)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let copy = only_copy(site)?;
        check_containers(site, &copy)?;
        check_uses(site, &copy)?;
        check_writes(site, &copy)
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, transient, array) = (found.state(), found.node(0), found.node(1));
        let container = editor.state(state)?.node(transient).kind.container();
        let copies = editor.state(state)?.out_edges(transient);
        for edge in editor.state(state)?.in_edges(transient) {
            // The editor renames the container in the memlets of the whole path.
            editor.redirect_destination(state, edge, array, None)?;
        }
        // It removes an access node with its last edge.
        for edge in copies {
            editor.remove_edge(state, edge)?;
        }
        if let Some(container) = container {
            editor.remove_container(container)?;
        }
        Ok(())
    }
}

/// The copy, if it is the only edge that leaves the transient and the only one that enters the array, and copies all.
fn only_copy(site: &Site<'_>) -> Result<Copy, Refusal> {
    let (state, from, to) = (site.state(), site.found.node(0), site.found.node(1));
    let [edge] = state.out_edges(from)[..] else {
        return Err(Refusal::structure(site.label(0), "goes to several nodes"));
    };
    if state.in_edges(to) != [edge] {
        return Err(Refusal::structure(site.label(1), "is written by others, too"));
    }
    let Flow::Copy { from, to, resolution: None } = &state.edge(edge).memlet.flow else {
        return Err(Refusal::structure(site.label(0), "is not simply copied to the array"));
    };
    for access in [from, to] {
        let container = site.sdfg.container(access.container);
        if *access.subset() != Subset::full(container.shape()) {
            return Err(Refusal::container(&container.name, "is not copied as a whole"));
        }
    }
    Ok(Copy { transient: from.container, array: to.container })
}

/// The array can take the place of the transient.
fn check_containers(site: &Site<'_>, copy: &Copy) -> Result<(), Refusal> {
    let (transient, array) = (site.sdfg.container(copy.transient), site.sdfg.container(copy.array));
    for container in [transient, array] {
        if !matches!(container.kind, ContainerKind::Array(_)) || container.constant.is_some() {
            return Err(Refusal::container(&container.name, "is no array that can be written"));
        }
    }
    if transient.is_argument() {
        return Err(Refusal::container(&transient.name, "is no transient"));
    }
    let is_alike = transient.shape() == array.shape()
        && transient.element == array.element
        && transient.storage == array.storage;
    if !is_alike {
        let reason = format!("has another shape, type or memory than `{}`", transient.name);
        return Err(Refusal::container(&array.name, reason));
    }
    Ok(())
}

/// Nothing else uses the transient, and nothing else in the state uses the array.
fn check_uses(site: &Site<'_>, copy: &Copy) -> Result<(), Refusal> {
    let (here, state) = (site.found.state(), site.state());
    let is_bound = |edge: EdgeId| matches!(state.edge(edge).memlet.flow, Flow::Bind(_));
    let is_own = |used: &Use, node| match *used {
        Use::Access(state, other) => (state, other) == (here, node),
        // Without other access nodes, all memlets in the state are of paths from or to this one.
        Use::Memlet(state, edge) => state == here && !is_bound(edge),
        Use::Condition(..) | Use::Block(_) | Use::Transition(_) => false,
    };
    let elsewhere = |container: ContainerId| Refusal::UsedElsewhere {
        container: site.sdfg.container(container).name.clone(),
        by: "another node, view, condition or assignment".to_owned(),
    };
    let uses = site.uses();
    if !uses.of(copy.transient).iter().all(|used| is_own(used, site.found.node(0))) {
        return Err(elsewhere(copy.transient));
    }
    if !uses.in_state(copy.array, here).all(|used| is_own(&used, site.found.node(1))) {
        return Err(elsewhere(copy.array));
    }
    // A view of the array in another place would hide a use.
    let binds = |used: &Use| match *used {
        Use::Memlet(state, edge) => {
            let flow = &site.sdfg.state(state).edge(edge).memlet.flow;
            matches!(flow, Flow::Bind(access) if access.container == copy.array)
        }
        Use::Access(..) | Use::Condition(..) | Use::Block(_) | Use::Transition(_) => false,
    };
    if uses.of(copy.array).iter().any(binds) {
        return Err(Refusal::container(&site.sdfg.container(copy.array).name, "has a view or reference"));
    }
    Ok(())
}

/// Every execution of the state writes the whole transient: otherwise the copy also moves elements of earlier executions.
fn check_writes(site: &Site<'_>, copy: &Copy) -> Result<Evidence, Refusal> {
    let (state, node) = (site.found.state(), site.found.node(0));
    let transient = site.sdfg.container(copy.transient);
    let whole = Subset::full(transient.shape());
    let into = site.state().in_edges(node);
    let footprint = Footprint::of_edges(site.sdfg, &site.facts(), site.scopes(), state, into);
    let (_, writes) = footprint.of_container(copy.transient);
    if writes.iter().any(|part| part.combines) {
        return Err(Refusal::container(&transient.name, "is written with a conflict resolution"));
    }
    let known = site.known_in(None);
    let covering = writes
        .iter()
        .find(|part| part.subset.is_exact() && part.subset.as_inner().covers(&whole, &known).is_proved());
    let Some(part) = covering.filter(|_| site.scopes().scope_of(node).is_none()) else {
        let needed = format!("every execution of the state writes all of `{}`", transient.name);
        return Err(Refusal::Unproved { about: transient.name.clone(), needed });
    };
    let mut evidence = Evidence::default();
    evidence.note(&transient.name, Claim::NoOtherUse);
    evidence.note(&transient.name, Claim::Covers { outer: part.subset.as_inner().clone(), inner: whole });
    Ok(evidence)
}
