//! Control flow reads equal bits on all ranks.
//!
//! Ranks that branch differently wait for each other forever. Copies between ranks bring equal bits everywhere, and so does code of IEEE
//! operations that all ranks run on equal bits. Other code need not: the threads of a parallel sum may add in another order on each rank,
//! functions of the mathematical library differ between processors, and external functions may do anything. Values that control flow
//! reads and that such code may have reached are broadcast by rank 0 after each state that writes them.

use std::collections::BTreeSet;

use sdfg::analysis::ScopeTree;
use sdfg::analysis::accesses::{all_alias_targets, memory_of_control_flow};
use sdfg::dtype::{ElementType, ScalarType};
use sdfg::ir::{
    BlockId, BlockKind, ContainerId, Distribution, Edge, EdgeId, Flow, NodeId, NodeKind, Schedule, Sdfg,
    State, TaskletBody,
};
use sdfg::syntax::{BinaryOp, Expression, ExpressionKind, visit_block};

use crate::mpi::Combination;

/// Functions of tasklets that are exact, or rounded as IEEE 754 says. Conversions are exact, too.
const EXACT: [&str; 12] =
    ["abs", "bool", "ceil", "float", "floor", "int", "lane", "lanes", "max", "min", "sqrt", "trunc"];

/// States whose results rank 0 has to broadcast, as their blocks, with the containers.
pub(super) fn broadcasts(program: &Sdfg) -> Vec<(BlockId, ContainerId)> {
    let read = memory_of_control_flow(program);
    let mut differing = BTreeSet::new();
    if read.is_empty() {
        return Vec::new();
    }
    let states: Vec<(BlockId, Common)> = program
        .blocks()
        .filter_map(|(block, content)| match content.kind {
            BlockKind::State(state) => Some((block, Common::of(program, program.state(state)))),
            BlockKind::Loop(_)
            | BlockKind::Branch(_)
            | BlockKind::Break
            | BlockKind::Continue
            | BlockKind::Return => None,
        })
        .collect();
    let mut before = None;
    while before != Some(differing.len()) {
        before = Some(differing.len());
        for (_, state) in &states {
            if state.is_source || !state.reads.is_disjoint(&differing) {
                differing.extend(state.writes.iter().copied());
            }
        }
    }
    // A view or reference has no memory of its own: what it names is sent. Streams stay with their rank.
    let is_own = |id: &ContainerId| !program.container(*id).is_alias() && !program.container(*id).is_stream();
    let wanted: BTreeSet<ContainerId> = read.intersection(&differing).copied().filter(is_own).collect();
    let of_state = |(block, state): &(BlockId, Common)| {
        let block = *block;
        state.writes.intersection(&wanted).map(move |id| (block, *id)).collect::<Vec<_>>()
    };
    states.iter().flat_map(of_state).collect()
}

/// Containers that conditions, bounds of loops and values of symbols read, each with the expression.
pub(super) fn read_by_control_flow(program: &Sdfg) -> impl Iterator<Item = (&Expression, ContainerId)> {
    let of_blocks = program.blocks().flat_map(|(_, block)| block.kind.expressions());
    let of_transitions = program.transitions().flat_map(|(_, transition)| transition.expressions());
    let containers = |expression: &Expression| -> Vec<ContainerId> {
        expression.names().into_iter().filter_map(|name| program.find_container(name)).collect()
    };
    of_blocks.chain(of_transitions).flat_map(move |expression| {
        containers(expression).into_iter().map(move |container| (expression, container))
    })
}

/// What a state does that all ranks do, each on its own copies. Containers that views and references name are among those here.
struct Common {
    reads: BTreeSet<ContainerId>,
    writes: BTreeSet<ContainerId>,
    /// Whether equal bits may become different ones.
    is_source: bool,
}

impl Common {
    fn of(program: &Sdfg, state: &State) -> Self {
        let tree = ScopeTree::of(state);
        let is_over_ranks = |node: NodeId| state.node(node).kind.is_map_over_ranks();
        let is_common = |node: NodeId| !is_over_ranks(node) && !tree.enclosing(node).any(is_over_ranks);
        let is_whole = |id: ContainerId| program.container(id).distribution == Distribution::Replicated;
        let targets = all_alias_targets(program);
        let named = |id: ContainerId| targets.get(&id).into_iter().flatten().copied().chain([id]);
        let mut common = Common { reads: BTreeSet::new(), writes: BTreeSet::new(), is_source: false };
        for (id, edge) in state.edges().filter(|(_, edge)| is_common(edge.src) && is_common(edge.dst)) {
            // What comes from parts has equal bits everywhere.
            if let Flow::Copy { from, .. } = &edge.memlet.flow
                && !is_whole(from.container)
            {
                continue;
            }
            common
                .reads
                .extend(edge.memlet.read_access().into_iter().flat_map(|access| named(access.container)));
            let written = edge.memlet.write_access().map(|access| access.container);
            common.writes.extend(written.into_iter().flat_map(named).filter(|id| is_whole(*id)));
            common.is_source |= written.is_some_and(|to| {
                combines_in_any_order(state, &tree, (id, edge), program.container(to).element)
            });
        }
        common.is_source |= state.nodes().any(|(node, _)| is_common(node) && !is_exact(state, node));
        common
    }
}

/// Whether threads may combine values in another order on each rank, with another result.
fn combines_in_any_order(
    state: &State,
    tree: &ScopeTree,
    (id, edge): (EdgeId, &Edge),
    element: ElementType,
) -> bool {
    let Some(resolution) = edge.memlet.resolution() else { return false };
    let in_order = |entry: NodeId| match &state.node(entry).kind {
        NodeKind::MapEntry(map) => matches!(map.schedule, Schedule::Sequential | Schedule::Unrolled),
        _ => false,
    };
    let scope = tree.scope_of_edge(state, id);
    if scope.into_iter().chain(scope.into_iter().flat_map(|scope| tree.enclosing(scope))).all(in_order) {
        return false;
    }
    let commutes = !matches!(Combination::of(resolution), None | Some(Combination::Assign));
    let lane = element.lane();
    !(commutes && (lane.is_integer() || lane == ScalarType::Bool))
}

/// Whether a node makes equal bits of equal bits on every rank.
fn is_exact(state: &State, node: NodeId) -> bool {
    match &state.node(node).kind {
        NodeKind::Tasklet(tasklet) => match &tasklet.body {
            TaskletBody::External(_) => false,
            TaskletBody::Code(code) => {
                let mut is_exact = true;
                visit_block(code.block(), &mut |expression| match &expression.kind {
                    ExpressionKind::Call { function, .. } => is_exact &= is_exact_function(&function.text),
                    ExpressionKind::Binary { op, .. } => is_exact &= *op != BinaryOp::Power,
                    _ => {}
                });
                is_exact
            }
        },
        NodeKind::Access(_) | NodeKind::MapEntry(_) | NodeKind::MapExit(_) | NodeKind::ConsumeExit(_) => true,
        NodeKind::ConsumeEntry(_) | NodeKind::Nested(_) | NodeKind::Reduce(_) | NodeKind::Library(_) => false,
    }
}

fn is_exact_function(name: &str) -> bool {
    let name = name.rsplit('.').next().unwrap_or(name);
    let is_type = || ScalarType::ALL.iter().any(|scalar| scalar.name() == name);
    EXACT.contains(&name) || is_type()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The states after which `x` is broadcast, in a loop whose condition reads it and that computes it from a copy of it.
    #[track_caller]
    fn broadcast_after(compute: &str) -> Vec<String> {
        broadcast_in(&text(compute))
    }

    fn text(compute: &str) -> String {
        format!(
            "sdfg p {{
  symbol N: i64
  array A: f64[N]
  transient array P: f64[N] distribution(grid(2)[balanced(0)])
  transient scalar x: f64
  transient scalar y: f64
  transient scalar n: i64
  state begin {{
    access x
    tasklet t () -> (o) {{ o = 1.0 }}
    t.o -> x
  }}
  while steps: x > 0.5 {{
    state keep {{
      access x
      access y
      x -> y
    }}
    state compute {{
      access x
      access y
      {compute}
    }}
  }}
}}"
        )
    }

    #[track_caller]
    fn broadcast_in(text: &str) -> Vec<String> {
        let program = sdfg::text::parse("p.sdft", text).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
        let label = |(block, id): (BlockId, ContainerId)| {
            assert_eq!(program.container(id).name, "x");
            program.block(block).label.clone()
        };
        broadcasts(&program).into_iter().map(label).collect()
    }

    const MAP: &str = "access A
      map m [i = 0:N] schedule(cpu_multicore) {
        tasklet t (a) -> (o) { o = a }
        m.A -> t.a: A[i]
        t.o -> m.x: x wcr(sum)
      }
      A -> m.A
      m.x -> x";

    #[test]
    fn operations_that_round_alike_need_no_broadcast() {
        let none: [String; 0] = [];
        assert_eq!(
            broadcast_after("tasklet t (v) -> (o) { o = sqrt(v) / 2 + f64(3) }\n y -> t.v\n t.o -> x"),
            none
        );
        assert_eq!(broadcast_after(&MAP.replace("schedule(cpu_multicore)", "schedule(sequential)")), none);
        assert_eq!(
            broadcast_after(
                &MAP.replace("x wcr(sum)", "n wcr(sum)")
                    .replace("m.x", "m.n")
                    .replace("-> x", "-> n")
                    .replace("access A", "access A\naccess n")
                    .replace("o = a", "o = i64(a)")
            ),
            none
        );
        // Rank 0 or an owner has one value for all.
        assert_eq!(broadcast_after("access P\n P -> x: P[0] -> x"), none);
    }

    #[test]
    fn what_may_differ_is_broadcast_where_it_is_written() {
        let all = ["begin", "compute"];
        let function = "tasklet t (v) -> (o) { o = exp(v) }\n y -> t.v\n t.o -> x";
        assert_eq!(broadcast_after(function), all);
        assert_eq!(broadcast_after(&function.replace("exp(v)", "v ** 0.3")), all);
        assert_eq!(
            broadcast_after(&function.replace(
                "{ o = exp(v) }",
                "external o = f(v) from source \"double f(double v) { return v; }\""
            )),
            all
        );
        assert_eq!(broadcast_after(MAP), all);
        assert_eq!(
            broadcast_after(
                "access y_1 = y\n tasklet t (v) -> (o) { o = exp(v) }\n x -> t.v\n t.o -> y_1\n y -> x"
            ),
            all
        );
    }

    /// What a map over ranks computes lies on one rank, which gives it to all. It does not matter to what all ranks compute beside it, nor
    /// does what it reads.
    #[test]
    fn maps_over_ranks_compute_nothing_that_is_broadcast() {
        // `y` differs between ranks, but no control flow reads it.
        let over_ranks = |read: &str, state: &str| {
            let computed = text(&format!(
                "access P
      map m [r = 0:2] schedule(mpi) {{
        map n [i = r * N // 2:(r + 1) * N // 2] schedule(sequential) {{
          tasklet t (a) -> (o) {{ o = exp(a) }}
          n.{read} -> t.a: {read}
          t.o -> n.P: P[i]
        }}
        m.{read} -> n.{read}
        n.P -> m.P
      }}
      access x_1 = x
      {read} -> m.{read}
      m.P -> P
      {state}"
            ));
            let kept = "      tasklet z (v) -> (w) { w = exp(v) }\n x -> z.v\n z.w -> y\n";
            broadcast_in(&computed.replacen("      x -> y\n", kept, 1))
        };
        assert_eq!(over_ranks("x", "P -> x_1: P[0] -> x"), [""; 0]);
        assert_eq!(over_ranks("x", "tasklet u () -> (o) { o = 0.25 }\n u.o -> x_1"), [""; 0]);
        assert_eq!(over_ranks("y", "tasklet u () -> (o) { o = 0.25 }\n u.o -> x_1"), [""; 0]);
    }

    /// A stream has no elements at fixed places that a rank could send.
    #[test]
    fn streams_are_not_broadcast() {
        let pushed = text("tasklet t (v) -> (o) { o = exp(v) }\n y -> t.v\n t.o -> x")
            .replace("transient scalar x: f64", "transient stream x: f64")
            .replace("x > 0.5", "len(x) > 0");
        assert_eq!(broadcast_in(&pushed), [""; 0]);
    }

    /// A view names what the condition reads, or the condition reads the view: what it names is broadcast.
    #[test]
    fn what_views_name_is_broadcast() {
        let function = "access V
      tasklet t (v) -> (o) { o = exp(v) }
      y -> t.v
      t.o -> V: V[0]
      bind V -> x: x[1:3]";
        let viewed = text(function)
            .replace("transient scalar x: f64", "transient array x: f64[3]\n  view V: f64[2]")
            .replace("t.o -> x\n", "t.o -> x: x[1]\n")
            .replace("x -> y", "x -> y: x[1] -> y");
        let [of_target, of_view] = ["x[1] > 0.5", "V[0] > 0.5"].map(|read| viewed.replace("x > 0.5", read));
        assert_eq!(broadcast_in(&of_target), ["begin", "compute"]);
        assert_eq!(broadcast_in(&of_view), ["begin", "compute"]);
    }
}
