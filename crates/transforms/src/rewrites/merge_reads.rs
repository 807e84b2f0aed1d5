//! [`MergeReads`].

use std::collections::BTreeSet;

use sdfg::analysis::{Use, node_leads_to, scope_around};
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{ContainerKind, EdgeId, Flow, Memlet, NodeId, State};
use serde::{Deserialize, Serialize};

use super::{anchored, described};
use crate::engine::{Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Makes two access nodes of one container one, if the second only reads the elements that the first one has.
///
/// # When it applies
///
/// No data flows into the second access node, and it is outside of scopes. Every write of the container is
/// ordered before the node that stays, or after both. Views of the container that are only read count as
/// readers.
///
/// # Refusals
///
/// - The node is in a scope, is written, or is read by nothing.
/// - The container is a stream, a view or a reference, or the state may write it through a view.
/// - No other access node has these elements, or the order among the two and a write is not determined.
///
/// # Before
///
/// ```sdft
/// sdfg two_copies {
///   symbol N: i64
///   array A: f64[N]
///   array B: f64[N]
///   array C: f64[N]
///
///   state main {
///     access A
///     access B
///     access A_1 = A
///     access C
///     A -> B
///     A_1 -> C
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg two_copies {
///   symbol N: i64
///   array A: f64[N]
///   array B: f64[N]
///   array C: f64[N]
///
///   state main {
///     access A
///     access B
///     access C
///     A -> B
///     A -> C
///   }
/// }
/// ```
///
/// # Soundness
///
/// Both nodes see the same elements, because no write of the container comes between them. The reader of the
/// container waits for everything that it waited for before.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MergeReads {}

static METADATA: Metadata = Metadata {
    name: "MergeReads",
    group: Group::Data,
    summary: "Makes two access nodes of one container one, if the second only reads what the first one has.",
    source: "DaCe, StateFusion",
    soundness: Soundness::Always,
    is_strict: true,
    file: include_str!("merge_reads.rs"),
    parameters: &[],
};

anchored!(MergeReads);

impl Transformation for MergeReads {
    described!(METADATA);

    fn pattern(&self) -> Pattern {
        Pattern::path([("read", NodeClass::Access)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let (state, node) = (site.state(), site.found.node(0));
        let refused = |reason: &str| Err(Refusal::structure(site.label(0), reason));
        let Some(id) = state.node(node).kind.container() else { return refused("is no access node") };
        let container = site.sdfg.container(id);
        match &container.kind {
            ContainerKind::Scalar | ContainerKind::Array(_) => {}
            ContainerKind::Stream { .. } => return refused("is a stream"),
            ContainerKind::View(_) | ContainerKind::Reference(_) => return refused("is a view or reference"),
        }
        if has_data(state, node) {
            return refused("is written");
        }
        // `DeadDataflowElimination` removes those that move nothing.
        if state.each_out_edge(node).all(|(_, edge)| matches!(edge.memlet.flow, Flow::Order)) {
            return refused("is read by nothing");
        }
        if scope_around(state, node).is_some() {
            return refused("is in a scope");
        }
        if partner(site, node).is_none() {
            return refused("has elements that no other access node has, or is not ordered behind it");
        }
        Ok(Evidence::of_structure())
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (id, node) = (found.state(), found.node(0));
        let container = editor.state(id)?.node(node).kind.container();
        let mut all = container.map(|container| editor.accesses_of(id, container)).unwrap_or_default();
        all.sort_unstable();
        let state = editor.state(id)?;
        let at = all.partition_point(|other| *other < node);
        let (before, behind) = (all[..at].iter().rev(), all[at..].iter().skip(1));
        let candidates = candidates(node, all.iter().copied(), before.copied(), behind.copied());
        let writes: Vec<NodeId> = all.iter().copied().filter(|other| has_data(state, *other)).collect();
        let Some(kept) = kept_node(state, node, &candidates, &writes) else {
            return Err(EditError::NoNode(node));
        };
        let earlier: Vec<NodeId> = state.each_in_edge(node).map(|(_, edge)| edge.src).collect();
        let reading: Vec<NodeId> = state.each_out_edge(node).map(|(_, edge)| edge.dst).collect();
        for before in earlier {
            for after in &reading {
                let state = editor.state(id)?;
                // The node that stays may come behind it already, and with it all that reads.
                if !node_leads_to(state, before, kept) {
                    editor.add_order(id, before, *after)?;
                }
            }
        }
        for edge in editor.state(id)?.in_edges(node) {
            editor.remove_edge(id, edge)?;
        }
        for edge in editor.state(id)?.out_edges(node) {
            editor.redirect_source(id, edge, kept, None)?;
        }
        if editor.state(id)?.get_node(node).is_some() {
            editor.remove_node(id, node)?;
        }
        Ok(())
    }
}

/// Whether data flows into a node.
fn has_data(state: &State, node: NodeId) -> bool {
    state.each_in_edge(node).any(|(_, edge)| !matches!(edge.memlet.flow, Flow::Order))
}

fn partner(site: &Site<'_>, node: NodeId) -> Option<NodeId> {
    let (state, uses) = (site.state(), site.uses());
    let container = state.node(node).kind.container()?;
    let here = site.found.state();
    if !uses.bindings_in(container, here).all(|edge| only_reads(site, edge)) {
        return None;
    }
    let mut writes: Vec<NodeId> = uses.writes_in(container, here).map(|edge| state.edge(edge).dst).collect();
    writes.sort_unstable();
    writes.dedup();
    let candidates = candidates(
        node,
        uses.accesses_in(container, here, ..),
        uses.accesses_in(container, here, ..node).rev(),
        uses.accesses_in(container, here, node..).skip(1),
    );
    kept_node(state, node, &candidates, &writes)
}

/// Whether an edge makes no view through which the container may be written: nothing writes the view in the state, or makes
/// another one of it.
fn only_reads(site: &Site<'_>, edge: EdgeId) -> bool {
    let (state, uses) = (site.state(), site.uses());
    let found = state.edge(edge);
    let Flow::Bind(target) = &found.memlet.flow else { return true };
    let Some(view) = state.node(found.dst).kind.container() else { return false };
    let is_bound = |memlet: &Memlet| matches!(memlet.flow, Flow::Bind(_));
    let is_read = |used| match used {
        Use::Access(_, node) => state
            .each_in_edge(node)
            .all(|(_, edge)| matches!(edge.memlet.flow, Flow::Order) || is_bound(&edge.memlet)),
        Use::Memlet(_, edge) => !is_bound(&state.edge(edge).memlet),
        Use::Condition(..) | Use::Block(_) | Use::Transition(_) => true,
    };
    view != target.container && uses.in_state(view, site.found.state()).all(is_read)
}

/// The nodes of a container that may stay in place of one of them: the first ones, and some of those next to it. A node that is
/// read was mostly written or read next to it. More candidates make long states take quadratic time. `all` lists the nodes by
/// id, `before` those before the node, the last one first, and `behind` those behind it.
fn candidates(
    node: NodeId,
    all: impl Iterator<Item = NodeId>,
    before: impl Iterator<Item = NodeId>,
    behind: impl Iterator<Item = NodeId>,
) -> BTreeSet<NodeId> {
    let near = before.take(NEAR).chain(behind.take(NEAR - 1));
    all.take(FIRST).chain(near).filter(|other| *other != node).collect()
}

/// Candidates on each side of a node.
const NEAR: usize = 6;

/// Candidates at the beginning of a state.
const FIRST: usize = 4;

/// The access node among candidates that can stand for a node that only reads: the first by id. `writes` lists the access nodes
/// of the container into which data flow.
fn kept_node(
    state: &State,
    node: NodeId,
    candidates: &BTreeSet<NodeId>,
    writes: &[NodeId],
) -> Option<NodeId> {
    let leads = |from: NodeId, to: NodeId| node_leads_to(state, from, to);
    let copies = state.each_out_edge(node).any(|(_, edge)| matches!(edge.memlet.flow, Flow::Copy { .. }));
    candidates.iter().copied().find(|kept| {
        // Of two that only read, the first one stays, or the one that leads to the other.
        let may_stay = || !has_data(state, *kept) && *kept < node || leads(*kept, node);
        let is_fitting = scope_around(state, *kept).is_none() && may_stay() && !leads(node, *kept);
        // A copy is made when its source is reached.
        let is_in_time =
            !copies || state.each_in_edge(node).all(|(_, edge)| edge.src == *kept || leads(edge.src, *kept));
        let is_settled = writes.iter().filter(|other| *other != kept).all(|write| {
            scope_around(state, *write).is_none()
                && (leads(*write, *kept) || (leads(node, *write) && leads(*kept, *write)))
        });
        is_fitting && is_in_time && is_settled
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first four nodes, six before and five behind.
    #[test]
    fn candidates_are_near_or_first() {
        let copies: Vec<String> = (0..30).map(|at| format!("    access A_{at} = A\n")).collect();
        let text = format!("sdfg p {{\n  array A: f64[1]\n  state s {{\n{}  }}\n}}\n", copies.concat());
        let program = sdfg::text::parse("p.sdft", &text).unwrap_or_else(|errors| panic!("{errors:?}"));
        let (_, state) = program.states().next().expect("a state");
        let mut all: Vec<NodeId> = state.nodes().map(|(node, _)| node).collect();
        all.sort_unstable();
        let candidates_of = |at: usize, all: &[NodeId]| {
            let (before, behind) = (all[..at].iter().rev(), all[at + 1..].iter());
            let found = candidates(all[at], all.iter().copied(), before.copied(), behind.copied());
            found
                .iter()
                .map(|node| all.iter().position(|own| own == node).expect("a node"))
                .collect::<Vec<_>>()
        };
        let found = |at: usize| candidates_of(at, &all);
        assert_eq!(found(20), [0, 1, 2, 3, 14, 15, 16, 17, 18, 19, 21, 22, 23, 24, 25]);
        assert_eq!(found(2), [0, 1, 3, 4, 5, 6, 7]);
        assert_eq!(found(29), [0, 1, 2, 3, 23, 24, 25, 26, 27, 28]);
        assert_eq!(candidates_of(1, &all[..3]), [0, 2]);
    }
}
