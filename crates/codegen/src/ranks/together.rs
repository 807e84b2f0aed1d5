//! Moves of a state whose values travel together: every two ranks exchange one message for all of them.

use std::collections::BTreeSet;

use sdfg::ir::{NodeId, State};

use super::copies::Copied;

/// The most moves of one call, which takes two arrays for each.
pub(super) const MOST: usize = 4;

/// Groups copies of a state that may begin at the same time. Each copy stands in one group, in the order of the first of each.
///
/// A group reads all of its sources before it writes a target. So no target of a group leads to a source of it, and no container that
/// one of its copies writes is read or written by another one. Combinations and broadcasts are alone.
pub(super) fn groups(state: &State, copies: Vec<Copied>) -> Vec<Vec<Copied>> {
    let mut groups: Vec<Vec<Copied>> = Vec::new();
    for copy in copies {
        let joined = groups.iter_mut().find(|group| {
            group.len() < MOST && group.iter().all(|other| may_travel_together(state, &copy, other))
        });
        match joined {
            Some(group) => group.push(copy),
            None => groups.push(vec![copy]),
        }
    }
    groups
}

fn may_travel_together(state: &State, one: &Copied, other: &Copied) -> bool {
    let (read, written) = ([one.from.1, other.from.1], [one.to.1, other.to.1]);
    one.is_plain_move()
        && other.is_plain_move()
        && written[0] != written[1]
        && written[0] != read[1]
        && written[1] != read[0]
        && !leads_to(state, one.to.0, other.from.0)
        && !leads_to(state, other.to.0, one.from.0)
}

/// Whether a path of at least no edge leads from one node to another one.
pub(super) fn leads_to(state: &State, from: NodeId, to: NodeId) -> bool {
    let (mut seen, mut waiting) = (BTreeSet::from([from]), vec![from]);
    while let Some(node) = waiting.pop() {
        if node == to {
            return true;
        }
        let next = state.each_out_edge(node).map(|(_, edge)| edge.dst);
        waiting.extend(next.filter(|next| seen.insert(*next)));
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::{Localising, localise};
    use super::*;
    use crate::mpi::MoveKind;

    /// A program with six vectors that are cut, and copies of a state.
    fn program(copies: &str) -> sdfg::ir::Sdfg {
        let cut = |name: &str| format!("  array {name}: f64[N] distribution(grid(2)[equal(0) halo(1, 1)])\n");
        let arrays: String = ["A", "B", "C", "D", "E", "F"].map(cut).concat();
        let text = format!("sdfg p {{\n  symbol N: i64\n{arrays}  state s {{\n{copies}  }}\n}}\n");
        sdfg::text::parse("p.sdft", &text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"))
    }

    /// The sizes of the groups.
    fn sizes(copies: &str) -> Vec<usize> {
        let program = program(copies);
        let (_, state) = program.states().next().expect("a state");
        let found = Localising::new(&program).expect("parts").found(state);
        groups(state, found).iter().map(Vec::len).collect()
    }

    const INDEPENDENT: &str = "access A\naccess a = A\nA -> a\naccess B\naccess b = B\nB -> b\n";

    #[test]
    fn independent_copies_travel_together() {
        assert_eq!(sizes(INDEPENDENT), [2]);
        assert_eq!(sizes("access A\naccess B\naccess C\nA -> B\nA -> C\n"), [2]);
        // A call takes four moves.
        let five: String = ["A", "B", "C", "D", "E"]
            .map(|name| format!("access {name}\naccess n{name} = {name}\n{name} -> n{name}\n"))
            .concat();
        assert_eq!(sizes(&five), [4, 1]);
        let moves = localise(&program(INDEPENDENT)).expect("a program").moves;
        assert_eq!(moves, [("ranks_together_f64_in_place_f64_in_place".to_owned(), MoveKind::Together(2))]);
    }

    /// A function that writes what it reads has another signature than one that does not.
    #[test]
    fn names_tell_what_is_written_in_place() {
        let moved = "access A\naccess a = A\nA -> a\naccess B\naccess C\nB -> C\n";
        assert_eq!(sizes(moved), [2]);
        let moves = localise(&program(moved)).expect("a program").moves;
        assert_eq!(moves, [("ranks_together_f64_in_place_f64".to_owned(), MoveKind::Together(2))]);
    }

    #[test]
    fn copies_that_wait_for_others_travel_alone() {
        // By what they copy, by their order, and by what they write.
        assert_eq!(sizes("access A\naccess B\naccess C\nA -> B\nB -> C\n"), [1, 1]);
        assert_eq!(sizes("access A\naccess B\naccess C\naccess D\nA -> B\norder B -> C\nC -> D\n"), [1, 1]);
        assert_eq!(
            sizes("access A\naccess B\naccess C\nA -> B: A[0:1] -> B[0:1]\nC -> B: C[1:2] -> B[1:2]\n"),
            [1, 1]
        );
        assert_eq!(
            sizes(
                "access A\naccess B\naccess C\naccess a = A\nA -> B: A[0:1] -> B[0:1]\nC -> a: C[1:2] -> A[1:2]\n"
            ),
            [1, 1]
        );
        assert_eq!(
            sizes("access A\naccess B\naccess C\nA -> B\nA -> C: A[0:N] -> C[0:N] wcr(sum)\n"),
            [1, 1]
        );
    }
}
