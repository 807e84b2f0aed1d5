//! [`RedundantSecondArray`].

use sdfg::analysis::Use;
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{EdgeId, Flow};
use serde::{Deserialize, Serialize};

use super::redundant_array::{alike, whole_copy};
use super::{anchored, described};
use crate::engine::{Claim, Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Reads data straight from an array instead of from a transient that it is copied to as a whole.
///
/// # When it applies
///
/// The copy is the only writer of the transient, and nothing uses the transient in other places. Both have
/// the same shape and type. The state touches the array at this access node alone.
///
/// # Refusals
///
/// - The transient is written by other nodes, too, or is read by nothing.
/// - Another node, view, condition or assignment uses the transient.
/// - Another node of the state uses the array.
/// - A reader does not simply read the transient, or shape, type or memory differ.
///
/// # Before
///
/// ```sdft
/// sdfg double_all {
///   symbol N: i64
///   array A: f64[N]
///   array B: f64[N]
///   transient array A_copy: f64[N]
///
///   state main {
///     access A
///     access A_copy
///     map elements [i = 0:N] {
///       tasklet double (a) -> (b) { b = 2.0 * a }
///       elements.A_copy -> double.a: A_copy[i]
///       double.b -> elements.B: B[i]
///     }
///     access B
///     A -> A_copy
///     A_copy -> elements.A_copy
///     elements.B -> B
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
///       elements.A_copy -> double.a: A[i]
///       double.b -> elements.B: B[i]
///     }
///     access B
///     A -> elements.A_copy
///     elements.B -> B
///   }
/// }
/// ```
///
/// # Soundness
///
/// The state does not write the array, so the array keeps the values that the copy read.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RedundantSecondArray {}

static METADATA: Metadata = Metadata {
    name: "RedundantSecondArray",
    group: Group::Data,
    summary: "Reads data straight from an array instead of from a transient that it is copied to.",
    source: "DaCe, RedundantSecondArray",
    soundness: Soundness::Always,
    is_strict: true,
    file: include_str!("redundant_second_array.rs"),
    parameters: &[],
};

anchored!(RedundantSecondArray);

impl Transformation for RedundantSecondArray {
    described!(METADATA);

    fn pattern(&self) -> Pattern {
        Pattern::path([("array", NodeClass::Access), ("transient", NodeClass::Access)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let state = site.state();
        let (from_node, to_node) = (site.found.node(0), site.found.node(1));
        let into = state.in_edges(to_node);
        let [copy] = into.as_slice() else {
            return Err(Refusal::structure(site.label(1), "is written by others, too"));
        };
        let (from, to) = whole_copy(site, state.edge(*copy))?;
        let (source, target) = (site.sdfg.container(from), site.sdfg.container(to));
        alike(target, source)?;
        if from == to {
            return Err(Refusal::container(&source.name, "is copied to itself"));
        }
        if state.each_out_edge(to_node).next().is_none() {
            return Err(Refusal::structure(site.label(1), "is read by nothing"));
        }
        let is_alias = |edge: EdgeId| matches!(state.edge(edge).memlet.flow, Flow::Bind(_));
        let uses = site.uses();
        let is_other = |used: Use, node| match used {
            Use::Access(state, other) => (state, other) != (site.found.state(), node),
            Use::Memlet(state, edge) => state != site.found.state() || is_alias(edge),
            Use::Condition(..) | Use::Block(_) | Use::Transition(_) => true,
        };
        if let Some(used) = uses.of(to).iter().find(|used| is_other(**used, to_node)) {
            return Err(site.used(to, *used));
        }
        touched_once(site, from, from_node, &is_alias)?;
        let binds = |used: &Use| match *used {
            Use::Memlet(state, edge) => {
                let flow = &site.sdfg.state(state).edge(edge).memlet.flow;
                matches!(flow, Flow::Bind(access) if access.container == from)
            }
            Use::Access(..) | Use::Condition(..) | Use::Block(_) | Use::Transition(_) => false,
        };
        if uses.of(from).iter().any(binds) {
            return Err(Refusal::container(&source.name, "has a view or reference"));
        }
        let plain = |(_, edge): (EdgeId, &sdfg::ir::Edge)| {
            matches!(edge.memlet.flow, Flow::Read(_) | Flow::Copy { .. })
        };
        if let Some((_, edge)) = state.each_out_edge(to_node).find(|edge| !plain(*edge)) {
            let label = &state.node(edge.dst).label;
            return Err(Refusal::structure(label, "does not simply read the transient"));
        }
        let mut evidence = Evidence::default();
        evidence.note(&target.name, Claim::NoOtherUse);
        Ok(evidence)
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, from, to) = (found.state(), found.node(0), found.node(1));
        let container = editor.state(state)?.node(to).kind.container();
        for edge in editor.state(state)?.out_edges(to) {
            editor.redirect_source(state, edge, from, None)?;
        }
        if editor.state(state)?.get_node(to).is_some() {
            editor.remove_node(state, to)?;
        }
        if let Some(container) = container {
            editor.remove_container(container)?;
        }
        Ok(())
    }
}

/// The state touches the array at one access node alone.
fn touched_once(
    site: &Site<'_>,
    from: sdfg::ir::ContainerId,
    node: sdfg::ir::NodeId,
    is_alias: &dyn Fn(EdgeId) -> bool,
) -> Result<(), Refusal> {
    let uses = site.uses();
    let id = site.found.state();
    let is_other = |used: Use| match used {
        Use::Access(_, other) => other != node,
        Use::Memlet(_, edge) => is_alias(edge),
        Use::Condition(..) | Use::Block(_) | Use::Transition(_) => true,
    };
    uses.in_state(from, id).find(|used| is_other(*used)).map_or(Ok(()), |used| Err(site.used(from, used)))
}
