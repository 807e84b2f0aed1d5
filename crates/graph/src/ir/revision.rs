//! Revisions, which detect changes of a graph since something was computed from it.
//!
//! A revision names contents, not an element, so it is separate from ids. Numbers come from one counter of
//! the process. Two graphs with the same revision therefore have the same contents, even if one is a diverged
//! snapshot of the other; with a counter in each graph, both would reach the same number. Revisions are never
//! printed or stored.

use std::sync::atomic::{AtomicU64, Ordering};

static LATEST: AtomicU64 = AtomicU64::new(0);

/// A state of the contents of an [`Sdfg`](super::Sdfg) or [`State`](super::State).
///
/// Every change gives the graph a revision that no graph had before and that is greater than all earlier ones. Equal
/// revisions mean equal contents; contents that are equal may have different revisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Revision(u64);

impl Revision {
    /// The revision of a graph that is about to change.
    pub(super) fn next() -> Self {
        // Only uniqueness matters: nothing else is ordered by the counter.
        Revision(LATEST.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

#[cfg(test)]
mod tests {
    use crate::ir::{NestedSdfg, Node, NodeKind, Sdfg, State};

    #[test]
    fn every_change_moves_the_revision_and_snapshots_keep_theirs() {
        let mut sdfg = Sdfg::new("p");
        let body = sdfg.body();
        let (block, state) = sdfg.add_state(body, State::new("s"));
        let snapshot = sdfg.clone();
        assert_eq!(snapshot.revision(), sdfg.revision());
        let mut seen = vec![sdfg.revision()];
        let mut changed = |sdfg: &Sdfg| {
            assert!(seen.iter().all(|earlier| *earlier < sdfg.revision()));
            seen.push(sdfg.revision());
        };
        sdfg.block_mut(block).label = "t".to_owned();
        changed(&sdfg);
        sdfg.region_mut(body).start = None;
        changed(&sdfg);
        let nested = NestedSdfg {
            sdfg: Sdfg::new("q"),
            inputs: Vec::new(),
            outputs: Vec::new(),
            symbol_mapping: Vec::new(),
        };
        let kind = NodeKind::Nested(Box::new(nested));
        let node = sdfg.state_mut(state).add_node(Node { label: "q".to_owned(), kind, loc: None });
        changed(&sdfg);
        let other = sdfg.clone();
        if let NodeKind::Nested(nested) = &mut sdfg.state_mut(state).node_mut(node).kind {
            let before = nested.sdfg.revision();
            nested.sdfg.add_region();
            assert!(nested.sdfg.revision() > before);
        }
        changed(&sdfg);
        assert!(sdfg.state(state).revision() > other.state(state).revision());
        assert_eq!(snapshot.revision(), snapshot.clone().revision());
        assert!(other.revision() < sdfg.revision());
    }

    #[test]
    fn copies_that_change_apart_never_agree() {
        let mut first = State::new("s");
        let node = first.add_node(Node {
            label: "e".to_owned(),
            kind: NodeKind::Nested(Box::new(NestedSdfg {
                sdfg: Sdfg::new("q"),
                inputs: Vec::new(),
                outputs: Vec::new(),
                symbol_mapping: Vec::new(),
            })),
            loc: None,
        });
        let mut second = first.clone();
        first.remove_node(node);
        second.node_mut(node).label = "f".to_owned();
        assert_ne!(first.revision(), second.revision());
        let before = second.revision();
        assert_eq!(second.get_node(node).map(|node| node.label.as_str()), Some("f"));
        assert_eq!(second.revision(), before);
    }
}
