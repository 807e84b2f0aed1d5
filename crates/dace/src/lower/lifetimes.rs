//! Initial contents of transients where DaCe leaves them undefined.
//!
//! DaCe's fusion may replace a container that a nested SDFG writes on some paths only by a transient that is
//! read on all paths. The program then computes with the previous contents of that memory. The same happens
//! if it adds to an unwritten transient, and front ends leave reads of transients that nothing writes. In our
//! graph, such elements are zero. DaCe also allocates a transient with the lifetime of a state for the whole
//! call if several states use it.

use std::collections::BTreeSet;

use sdfg::analysis::Analyses;
use sdfg::analysis::accesses::memory_of_control_flow;
use sdfg::ir::draft::DraftSdfg;
use sdfg::ir::{
    BlockId, BlockKind, ConflictResolution, ContainerId, ContainerKind, EdgeId, Flow, Lifetime, NodeKind,
    Port, RegionId, Sdfg, State, TransitionId, Volume,
};
use sdfg::syntax::{Expression, UnaryOp};

use super::SdfgLowering;
use crate::report::Code;

impl SdfgLowering<'_> {
    /// Notes transients that are read and that nothing writes, or not for sure, as zero from the begin on.
    pub(super) fn zero_maybe_unwritten(&mut self) {
        let read_between = memory_of_control_flow(&self.sdfg);
        let transients = self.sdfg.containers().filter(|(_, found)| {
            // A stream that nothing was pushed into is empty.
            let is_filled = found.constant.is_some() || found.is_alias();
            found.transient && !is_filled && !matches!(found.kind, ContainerKind::Stream { .. })
        });
        let unsure: Vec<(ContainerId, &str)> = transients
            .map(|(id, _)| id)
            .filter(|id| !self.zeroed.contains(id))
            .filter_map(|id| {
                if is_unsure(&self.sdfg, id) {
                    Some((id, "may be read where nothing wrote it; it is zero there"))
                } else if is_unwritten(&self.sdfg, id, read_between.contains(&id)) {
                    Some((id, "is read and nothing writes it; it is zero"))
                } else {
                    None
                }
            })
            .collect();
        for (id, why) in unsure {
            let name = &self.sdfg.container(id).name;
            let message = format!("`{name}` {why}");
            self.log().note(Code::Approximated, &self.sdfg.name, message);
            self.zeroed.insert(id);
        }
    }

    /// Transients that several states use, or control flow reads, live longer than a state.
    pub(super) fn extend_lifetimes(&mut self) {
        let found = self.sdfg.containers().filter(|(_, found)| found.lifetime == Lifetime::State);
        let found: Vec<ContainerId> = found.map(|(id, _)| id).collect();
        let read_between =
            if found.is_empty() { BTreeSet::new() } else { memory_of_control_flow(&self.sdfg) };
        let uses = Analyses::new().uses(&self.sdfg);
        for id in found {
            if uses.states(id).len() > 1 || read_between.contains(&id) {
                self.sdfg.container_mut(id).lifetime = Lifetime::Scope;
            }
        }
    }
}

/// Whether all that writes a container combines its values with what is there, or are nested SDFGs that may leave it as it was.
fn is_unsure(sdfg: &Sdfg, container: ContainerId) -> bool {
    let mut is_written = false;
    for (_, state) in sdfg.states() {
        let into = state.accesses_of(container).flat_map(|node| state.in_edges(node));
        for edge in into.flat_map(|edge| innermost(state, edge)) {
            match state.edge(edge).memlet.flow {
                Flow::Order => {}
                // Through other names it may be written in ways that are not followed here.
                Flow::Bind(_) => return false,
                Flow::Read(_) | Flow::Write { .. } | Flow::Copy { .. } | Flow::Value => {
                    if !leaves_open(state, edge) && !accumulates(state, edge) {
                        return false;
                    }
                    is_written = true;
                }
            }
        }
    }
    is_written
}

/// Whether something reads a container, and nothing writes it or makes another name for it.
fn is_unwritten(sdfg: &Sdfg, container: ContainerId, is_read_between: bool) -> bool {
    let mut is_read = is_read_between;
    for (_, state) in sdfg.states() {
        for node in state.accesses_of(container) {
            let moves = |edge: &EdgeId| state.edge(*edge).memlet.flow != Flow::Order;
            if state.in_edges(node).iter().any(moves) {
                return false;
            }
            for edge in state.out_edges(node).into_iter().filter(moves) {
                if matches!(state.edge(edge).memlet.flow, Flow::Bind(_)) {
                    return false;
                }
                is_read = true;
            }
        }
    }
    is_read
}

/// The edges that bring values to an edge, through the ends of scopes.
fn innermost(state: &State, edge: EdgeId) -> Vec<EdgeId> {
    let (mut found, mut waiting, mut seen) = (Vec::new(), vec![edge], BTreeSet::new());
    while let Some(edge) = waiting.pop() {
        // The graph is not validated yet and may have cycles.
        if !seen.insert(edge) {
            continue;
        }
        let at = state.edge(edge);
        match at.out_port().filter(|_| state.node(at.src).kind.exit_of().is_some()) {
            Some(name) => waiting.extend(state.edges_at(at.src, Port::In(name))),
            None => found.push(edge),
        }
    }
    found
}

/// Whether an edge combines what it writes with what is there.
fn accumulates(state: &State, edge: EdgeId) -> bool {
    let edge = state.edge(edge);
    match (&edge.memlet.flow, &state.node(edge.src).kind) {
        (Flow::Write { .. }, NodeKind::Reduce(reduce)) => reduce.identity.is_none(),
        (Flow::Write { resolution, .. } | Flow::Copy { resolution, .. }, _) => {
            resolution.as_ref().is_some_and(|resolution| *resolution != ConflictResolution::Replace)
        }
        (Flow::Order | Flow::Bind(_) | Flow::Read(_) | Flow::Value, _) => false,
    }
}

/// Whether what an edge writes comes from a nested SDFG that may not write it.
fn leaves_open(state: &State, edge: EdgeId) -> bool {
    let edge = state.edge(edge);
    let NodeKind::Nested(nested) = &state.node(edge.src).kind else { return false };
    let Some(name) = edge.src_connector.as_deref() else { return false };
    match nested.sdfg.find_container(name) {
        // What is also an input was written before.
        Some(inner) if !nested.inputs.iter().any(|connector| connector.name == name) => {
            !writes(&nested.sdfg, nested.sdfg.body(), inner)
        }
        Some(_) | None => false,
    }
}

/// Whether every way through a region writes a container. Regions and nested SDFGs are at most as deep as a document.
fn writes(sdfg: &Sdfg, region: RegionId, container: ContainerId) -> bool {
    sdfg.region(region).start.is_some_and(|start| each_way_writes(sdfg, (start, None), container))
}

/// Whether every way from a block to another one, or to the end of the region, writes a container.
///
/// Loops count as if they ran: a graph in which they stand beside the reads, without the nested SDFG, is read in this way.
fn each_way_writes(sdfg: &Sdfg, (start, end): (BlockId, Option<BlockId>), container: ContainerId) -> bool {
    let mut reached: BTreeSet<BlockId> = BTreeSet::from([start]);
    let mut waiting = vec![start];
    while let Some(block) = waiting.pop() {
        if Some(block) == end {
            return false;
        }
        let is_written = match &sdfg.block(block).kind {
            BlockKind::State(state) => state_writes(sdfg.state(*state), container),
            BlockKind::Branch(branch) => {
                let mut arms = branch.arms.iter().map(|(_, arm)| *arm).chain(branch.otherwise);
                branch.otherwise.is_some() && arms.all(|arm| writes(sdfg, arm, container))
            }
            BlockKind::Loop(repeated) => writes(sdfg, repeated.body, container),
            BlockKind::Break | BlockKind::Continue | BlockKind::Return => return false,
        };
        if is_written {
            continue;
        }
        let next = sdfg.transitions_from(block);
        let is_decided = is_complete(sdfg, &next);
        if next.iter().all(|id| sdfg.transition(*id).condition.is_some()) && !is_decided {
            return false;
        }
        let mut next: Vec<BlockId> = next.into_iter().map(|id| sdfg.transition(id).dst).collect();
        if let Some((body, behind)) = loop_at(sdfg, (block, end), &next).filter(|_| is_decided) {
            if each_way_writes(sdfg, (body, Some(block)), container) {
                continue;
            }
            next = vec![behind];
        }
        waiting.extend(next.into_iter().filter(|next| reached.insert(*next)));
    }
    true
}

/// The first block of the loop that a block guards, and the block behind the loop: the first one alone leads back. Ways end at
/// the guard of the loop around.
fn loop_at(
    sdfg: &Sdfg,
    (guard, end): (BlockId, Option<BlockId>),
    next: &[BlockId],
) -> Option<(BlockId, BlockId)> {
    let leads_back = |from: BlockId| {
        let (mut reached, mut waiting) = (BTreeSet::from([from]), vec![from]);
        while let Some(block) = waiting.pop() {
            if block == guard {
                return true;
            }
            if Some(block) == end {
                continue;
            }
            let next = sdfg.transitions_from(block).into_iter().map(|id| sdfg.transition(id).dst);
            waiting.extend(next.filter(|next| reached.insert(*next)));
        }
        false
    };
    let [first, second] = *next else { return None };
    match (leads_back(first), leads_back(second)) {
        (true, false) => Some((first, second)),
        (false, true) => Some((second, first)),
        (true, true) | (false, false) => None,
    }
}

/// Whether one of two transitions is taken: their conditions are one and its negation, or the second has none.
fn is_complete(sdfg: &Sdfg, transitions: &[TransitionId]) -> bool {
    let [first, second] = transitions else { return false };
    let condition = |id: &TransitionId| sdfg.transition(*id).condition.as_ref();
    let Some(first) = condition(first) else { return false };
    let Some(second) = condition(second) else { return true };
    let negates =
        |one: &Expression, other: &Expression| Expression::unary(UnaryOp::Not, one.clone()) == *other;
    negates(first, second) || negates(second, first)
}

fn state_writes(state: &State, container: ContainerId) -> bool {
    let into = state.accesses_of(container).flat_map(|node| state.in_edges(node));
    let mut into = into.filter(|edge| state.edge(*edge).memlet.flow != Flow::Order);
    into.any(|edge| state.edge(edge).memlet.volume != Volume::Dynamic && !leaves_open(state, edge))
}

#[cfg(test)]
mod tests {
    use sdfg::ir::Transition;
    use sdfg::syntax::parse_expression;

    use super::*;

    #[test]
    fn a_condition_and_its_negation_leave_nothing_open() {
        for (first, second, expected) in [
            ("a > 0", "", true),
            ("", "a > 0", false),
            ("a > 0", "not a > 0", true),
            ("not (a > 0 and b)", "a > 0 and b", true),
            ("not ((a > 0))", "a  >  0", true),
            // The text is that of the negation, what it says is not.
            ("a and b", "not a and b", false),
            ("a > 0", "a < 0", false),
        ] {
            let mut sdfg = Sdfg::new("branches");
            let body = sdfg.body();
            let [(src, _), (dst, _)] = ["a", "b"].map(|label| sdfg.add_state(body, State::new(label)));
            let conditions = [first, second]
                .map(|text| Some(text).filter(|text| !text.is_empty()))
                .map(|text| text.map(|text| parse_expression(text).unwrap()));
            let ids = conditions.map(|condition| {
                sdfg.add_transition(Transition { src, dst, condition, assignments: Vec::new(), loc: None })
            });
            assert_eq!(is_complete(&sdfg, &ids), expected, "{first}; {second}");
        }
    }

    /// A state machine over states that write `A`, marked with `!`, and others.
    fn machine(blocks: &[&str], transitions: &[(usize, usize, Option<&str>)]) -> bool {
        let mut text = String::from("sdfg p {\n  array A: f64[4]\n");
        for (at, block) in blocks.iter().enumerate() {
            let write = if block.ends_with('!') {
                "access A\ntasklet t () -> (o) { o = 1 }\nt.o -> A: A[0]\n"
            } else {
                ""
            };
            text += &format!("state s{at} {{\n{write}}}\n");
            for (_, dst, condition) in transitions.iter().filter(|(src, ..)| *src == at) {
                let condition = condition.map_or_else(String::new, |condition| format!(" if {condition}"));
                text += &format!("-> s{dst}{condition}\n");
            }
            if transitions.iter().all(|(src, ..)| *src != at) {
                text += "-> end\n";
            }
        }
        let sdfg = sdfg::text::parse("machine.sdft", &(text + "}")).expect("a program");
        writes(&sdfg, sdfg.body(), sdfg.find_container("A").expect("a container"))
    }

    #[test]
    fn loops_count_as_if_they_ran() {
        let branch =
            |src, first, second| [(src, first, Some("A[1] > 0")), (src, second, Some("not A[1] > 0"))];
        let one = branch(0, 1, 2);
        assert!(machine(&["guard", "body!", "behind"], &[&one[..], &[(1, 0, None)]].concat()));
        assert!(machine(&["guard", "body", "behind!"], &[&one[..], &[(1, 0, None)]].concat()));
        assert!(!machine(&["guard", "body", "behind"], &[&one[..], &[(1, 0, None)]].concat()));
        let default = [(0, 1, Some("A[1] > 0")), (0, 2, None), (1, 0, None)];
        assert!(machine(&["guard", "body!", "behind"], &default));
        // A branch is no loop.
        assert!(!machine(&["choice", "arm!", "behind"], &[&one[..], &[(1, 2, None)]].concat()));
        // Two loops: the inner guard is block 1, the body block 2.
        let two = [branch(0, 1, 3), branch(1, 2, 0)].concat();
        assert!(machine(&["outer", "inner", "body!", "behind"], &[&two[..], &[(2, 1, None)]].concat()));
        assert!(!machine(&["outer", "inner", "body", "behind"], &[&two[..], &[(2, 1, None)]].concat()));
    }
}
