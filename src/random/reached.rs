//! What a run of a random program reached: what had to move something and moved nothing, and elements that were combined into
//! more than once.

use std::collections::BTreeMap;

use sdfg::analysis::is_leaf;
use sdfg::diagnostic::{Element, ElementPath};
use sdfg::interpret::Report;
use sdfg::ir::{Edge, NodeKind, Sdfg, State, Volume};

use super::features::Features;
use super::inputs::Sizes;

/// Adds what a run with these sizes reached.
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
            for (id, edge) in state.edges() {
                if is_leaf(state, id) {
                    self.of_edge(sdfg, state, edge, &inside, *times, found);
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
        state: &State,
        edge: &Edge,
        inside: &ElementPath,
        times: u64,
        found: &mut Features,
    ) {
        let path = inside.to(Element::edge(state, edge));
        let elements = |writes| self.moved.get(&(&path, writes)).copied().unwrap_or(0);
        let memlet = &edge.memlet;
        let moves = memlet.read_access().is_some() || memlet.write_access().is_some();
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
