//! Coverage of a run: moves that moved nothing although they should, and elements that were combined more
//! than once.

use std::collections::BTreeMap;

use sdfg::analysis::is_leaf;
use sdfg::diagnostic::{Element, ElementPath};
use sdfg::interpret::Report;
use sdfg::ir::{EdgeId, NodeKind, Sdfg, State, Volume};

use super::features::Features;
use super::inputs::Sizes;

/// Adds the features that a run with these sizes reached.
pub(super) fn reached(sdfg: &Sdfg, report: &Report, sizes: Sizes, found: &mut Features) {
    let mut moved = BTreeMap::new();
    for one in &report.moved {
        *moved.entry((&one.path, one.writes)).or_insert(0) += one.elements;
    }
    let run =
        Run { executed: report.blocks.iter().map(|(path, count)| (path, *count)).collect(), moved, sizes };
    run.of_sdfg(sdfg, &ElementPath::sdfg(&sdfg.name), found);
}

/// The report of a run, by path.
struct Run<'r> {
    executed: BTreeMap<&'r ElementPath, u64>,
    /// Elements, by edge and whether they were written.
    moved: BTreeMap<(&'r ElementPath, bool), u64>,
    sizes: Sizes,
}

impl Run<'_> {
    fn of_sdfg(&self, sdfg: &Sdfg, path: &ElementPath, found: &mut Features) {
        for (_, state) in sdfg.states() {
            let block = path.to(Element::Block(state.label.clone()));
            let Some(times) = self.executed.get(&block) else { continue };
            let inside = path.enter(&state.label);
            for (id, _) in state.edges() {
                if is_leaf(state, id) {
                    self.of_edge(sdfg, (state, id), &inside, *times, found);
                }
            }
            for (_, node) in state.nodes() {
                if let NodeKind::Nested(nested) = &node.kind {
                    self.of_sdfg(&nested.sdfg, &inside.enter(&node.label), found);
                }
            }
        }
    }

    /// One edge of a state that was executed so many times.
    fn of_edge(
        &self,
        sdfg: &Sdfg,
        (state, id): (&State, EdgeId),
        inside: &ElementPath,
        times: u64,
        found: &mut Features,
    ) {
        let path = inside.to(Element::edge(state, id));
        let elements = |writes| self.moved.get(&(&path, writes)).copied().unwrap_or(0);
        let edge = state.edge(id);
        let memlet = &edge.memlet;
        // The nested SDFG itself reads and writes its arguments.
        let is_call = |node| matches!(state.node(node).kind, NodeKind::Nested(_));
        let has_data = memlet.read_access().is_some() || memlet.write_access().is_some();
        let moves = has_data && !is_call(edge.src) && !is_call(edge.dst);
        if moves && matches!(memlet.volume, Volume::Exact(_)) && elements(true) + elements(false) == 0 {
            found.insert("an empty range was reached");
        }
        if let (Some(_), Some(access)) = (memlet.resolution(), memlet.write_access()) {
            // More than all of the container, each time: some element at least twice.
            let extents =
                sdfg.container(access.container).shape().iter().map(|extent| self.sizes.value(extent));
            let all = extents.product::<Option<i64>>().and_then(|all| u64::try_from(all).ok());
            if all.is_some_and(|all| elements(true) > all.saturating_mul(times)) {
                found.insert("a resolution met a collision");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use sdfg::interpret::{Interpreter, Options};

    use super::*;
    use crate::random::{Operations, Rng, inputs};

    const MAP: &str = "
        sdfg p {
          symbol N: i64
          symbol M: i64
          array A: i64[N]
          array B: i64[M]
          state s {
            access A; access B
            nested n (x) -> (y) with (N = N, M = M) sdfg inner {
              symbol N: i64
              symbol M: i64
              array x: i64[N]
              array y: i64[M]
              state s {
                access x; access y
                map m [i = RANGE] { tasklet t (a) -> (b) { b = a }; m.x -> t.a: x[i]; t.b -> m.y: y[INDEX] wcr(sum) }
                x -> m.x
                m.y -> y
              }
            }
            A -> n.x
            n.y -> B
          }
        }";

    /// Every other kind of edge that moves something.
    const OTHERS: &str = "
        sdfg p {
          symbol N: i64
          symbol M: i64
          array A: i64[N]
          array B: i64[M]
          transient scalar last: i64
          transient stream S: i64
          state first { access last; access A; access S; tasklet t () -> (o) { o = M }; t.o -> last; A -> S }
          state s {
            access A; access B; access last; access S
            reduce r wcr(sum)
            A -> r: A[0:M]
            r -> B: B[1]
            library l: Rotated (a) -> (b)
            A -> l.a: A[0:M]
            access C = B
            l.b -> C: B[0:M]
            order B -> l
            access D = B
            map m [i = 0:last] { tasklet t (x) -> (y) { y = x }; m.S -> t.x: S; t.y -> m.B: B[i] }
            last -> m@last: last
            S -> m.S
            m.B -> D
            order C -> m
          }
        }";

    fn found(text: &str) -> Vec<&'static str> {
        let sdfg = sdfg::text::parse("p.sdft", text).unwrap();
        let program = sdfg::validate::validate(sdfg).unwrap();
        let sizes = Sizes { n: 4, m: 3 };
        let mut arguments = inputs(program.sdfg(), sizes, &mut Rng::new(1));
        let mut interpreter = Interpreter::new(&program).unwrap();
        let options = Options { libraries: Some(&Operations), ..Options::default() };
        let report = interpreter.run(&mut arguments, &options).unwrap();
        let mut found = Features::new();
        reached(program.sdfg(), &report, sizes, &mut found);
        found.into_iter().collect()
    }

    #[test]
    fn empty_ranges_and_collisions_are_found_in_nested_sdfgs() {
        let of_map = |range, index| found(&MAP.replace("RANGE", range).replace("INDEX", index));
        assert_eq!(of_map("0:N", "i % M"), ["a resolution met a collision"]);
        assert_eq!(of_map("0:M", "i"), Vec::<&str>::new());
        assert_eq!(of_map("0:M - N", "i"), ["an empty range was reached"]);
    }

    #[test]
    fn edges_of_every_kind_move_something() {
        assert_eq!(found(OTHERS), Vec::<&str>::new());
    }
}
