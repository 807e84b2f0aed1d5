//! Maps that run while halos travel: they read elements that their ranks own, and wait for nothing else of the copies.
//!
//! Such copies become two calls. The first one begins the moves, the second one waits for their end. The maps run in between.

use std::collections::BTreeSet;

use sdfg::analysis::{ScopeTree, reads_own_elements};
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{ContainerId, Flow, NodeId, Sdfg, State, StateId};

use super::copies::Copied;
use super::together::leads_to;

/// The maps over ranks that need nothing that these copies set: they read the containers that the copies refresh, but only elements
/// that each rank owns, and do not write them.
pub(super) fn early_maps(sdfg: &Sdfg, state: StateId, copies: &[Copied]) -> Vec<NodeId> {
    let graph = sdfg.state(state);
    if copies.iter().any(|copied| copied.from.1 != copied.to.1 || !copied.is_plain_move()) {
        return Vec::new();
    }
    let targets: BTreeSet<NodeId> = copies.iter().map(|copied| copied.to.0).collect();
    let behind = targets.iter().flat_map(|target| graph.each_out_edge(*target));
    let maps: BTreeSet<NodeId> =
        behind.map(|(_, edge)| edge.dst).filter(|node| graph.node(*node).kind.is_map_over_ranks()).collect();
    let waits_for_others = |map: &NodeId| {
        let mut before = graph.each_in_edge(*map).map(|(_, edge)| edge.src);
        before.any(|node| {
            !targets.contains(&node) && targets.iter().any(|target| leads_to(graph, *target, node))
        })
    };
    let needs_nothing = |map: &NodeId| {
        let mut containers = copies.iter().map(|copied| copied.to.1);
        containers.all(|id| !accesses(graph, *map, id) || reads_own_elements(sdfg, state, *map, id))
    };
    maps.into_iter().filter(|map| !waits_for_others(map) && needs_nothing(map)).collect()
}

/// Whether something in a scope accesses a container.
fn accesses(state: &State, entry: NodeId, id: ContainerId) -> bool {
    let tree = ScopeTree::of(state);
    let is_inside = |edge| tree.enclosing_scope(tree.scope_of_edge(state, edge)).any(|scope| scope == entry);
    let mut edges = state.edges().filter(|(edge, _)| is_inside(*edge));
    edges.any(|(_, edge)| edge.memlet.accesses().any(|access| access.container == id))
}

/// Lets a map that waits for the target of a copy wait for another node, and another node for the map.
pub(super) fn put_between(
    editor: &mut Editor<'_>,
    state: StateId,
    map: NodeId,
    (target, begun): (NodeId, NodeId),
    finish: NodeId,
) -> Result<(), EditError> {
    for edge in editor.state(state)?.out_edges(target) {
        let content = editor.state(state)?.edge(edge);
        if content.dst != map {
            continue;
        }
        if matches!(content.memlet.flow, Flow::Order) {
            editor.remove_edge(state, edge)?;
            editor.add_order(state, begun, map)?;
        } else {
            editor.redirect_source(state, edge, begun, None)?;
        }
    }
    let exit = editor.state(state)?.exit_of(map).unwrap_or(map);
    editor.add_order(state, exit, finish)
}

#[cfg(test)]
mod tests {
    use sdfg::ir::NodeId;

    use super::super::{RankProgram, localise};
    use super::leads_to;
    use crate::mpi::MoveKind;

    /// A program with an interior and a border, whose map over the interior has this range and reads at this distance.
    fn local(range: &str, read: &str, extra: &str) -> RankProgram {
        let text = format!(
            "sdfg p {{
  symbol N: i64
  array A: f64[N] distribution(grid(2)[balanced(0) halo(1, 1)])
  array B: f64[N] distribution(grid(2)[balanced(0)])
  state s {{
    access A
    access B
    access near = A
    map inside [p = 0:2] schedule(mpi) {{
      map m [i = {range}] {{
        tasklet t (l, r) -> (y) {{ y = l + r }}
        m.A -> t.l: {read}
        m.A -> t.r: A[i + 1]
        t.y -> m.B: B[i]
      }}
      inside.A -> m.A
      m.B -> inside.B
    }}
    map border [p = 0:2] schedule(mpi) {{
      map n [i = (N*p + N) // 2 - 1:min(N - 1, (N*p + N) // 2)] {{
        tasklet u (l, r) -> (y) {{ y = l + r }}
        n.A -> u.l: A[i - 1]
        n.A -> u.r: A[i + 1]
        u.y -> n.B: B[i]
      }}
      border.A -> n.A
      n.B -> border.B
    }}
    A -> near
    near -> inside.A
    inside.B -> B
    near -> border.A
    border.B -> B
    {extra}
  }}
}}"
        );
        let program =
            sdfg::text::parse("p.sdft", &text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
        let local = localise(&program).unwrap_or_else(|error| panic!("{error}\n{text}"));
        local.validated().unwrap_or_else(|rejected| panic!("{rejected}"));
        local
    }

    /// The moves of this program.
    fn moves(range: &str, read: &str, extra: &str) -> Vec<MoveKind> {
        local(range, read, extra).moves.into_iter().map(|(_, kind)| kind).collect()
    }

    const INTERIOR: &str = "max(1, N*p // 2 + 1):min(N - 1, (N*p + N) // 2 - 1)";
    const HALVES: [MoveKind; 2] = [MoveKind::Begin(1), MoveKind::Finish(1)];

    #[test]
    fn messages_travel_while_maps_run_that_read_own_elements() {
        assert_eq!(moves(INTERIOR, "A[i - 1]", ""), HALVES);
        // A narrower interior reads own elements, too.
        assert_eq!(moves(&INTERIOR.replace("+ 1)", "+ 2)"), "A[i - 1]", ""), HALVES);
        assert_eq!(moves(&INTERIOR.replace("// 2 + 1", "// 2"), "A[i]", ""), HALVES);
    }

    #[test]
    fn maps_that_may_read_halos_wait_for_messages() {
        let whole = [MoveKind::Move];
        assert_eq!(moves("max(1, N*p // 2):min(N - 1, (N*p + N) // 2)", "A[i - 1]", ""), whole);
        // One end of the range is not limited, or one read is further away.
        assert_eq!(moves(&INTERIOR.replace("// 2 - 1", "// 2"), "A[i - 1]", ""), whole);
        assert_eq!(moves(INTERIOR, "A[i - 2]", ""), whole);
        // The position is no parameter plus a number.
        assert_eq!(moves(INTERIOR, "A[min(i, N - 1)]", ""), whole);
        // It waits for something that comes after the messages.
        assert_eq!(moves(INTERIOR, "A[i - 1]", "order border -> inside"), whole);
    }

    #[test]
    fn messages_end_after_the_interior_and_before_the_border() {
        let local = local(INTERIOR, "A[i - 1]", "");
        let (_, state) = local.program.states().next().unwrap();
        let named = |is: &dyn Fn(&str) -> bool| -> NodeId {
            state.nodes().find(|(_, node)| is(&node.label)).map(|(id, _)| id).unwrap()
        };
        let calls: Vec<NodeId> = state
            .nodes()
            .filter(|(id, _)| {
                state.each_in_edge(*id).any(|(_, edge)| edge.dst_connector.as_deref() == Some("words"))
            })
            .map(|(id, _)| id)
            .collect();
        let [one, other] = calls[..] else { panic!("{calls:?}") };
        let [begin, finish] = if leads_to(state, one, other) { [one, other] } else { [other, one] };
        let (interior, border) = (named(&|label| label == "m"), named(&|label| label == "n"));
        assert!(leads_to(state, begin, interior) && leads_to(state, interior, finish));
        assert!(leads_to(state, finish, border));
    }
}
