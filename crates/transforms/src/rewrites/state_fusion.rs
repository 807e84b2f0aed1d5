//! [`StateFusion`].

use std::collections::BTreeSet;

use sdfg::analysis::callbacks::state_calls_back;
use sdfg::analysis::symbols::{free_symbols_of_container, free_symbols_of_state};
use sdfg::analysis::{AccessSets, bound_alias};
use sdfg::edit::{EditError, Editor, stream_of_one_state};
use sdfg::ir::{BlockId, BlockKind, ContainerId, ContainerKind, Flow, Sdfg, State, Transition};
use sdfg::symbolic::Symbol;
use serde::{Deserialize, Serialize};

use super::{anchored, described};
use crate::engine::{Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation, state_of};
use crate::pattern::{BlockClass, Pattern};

/// Moves the nodes of a state into the state before it.
///
/// # When it applies
///
/// The second state follows the first one and no other block, always. Symbols that are set in between are set on the way to
/// the first state instead.
///
/// # Refusals
///
/// - The first state goes on to several blocks, or with a condition.
/// - The second state is reached in other ways, too.
/// - A symbol is set in between, and the first state begins a region: no transition before it can set the symbol.
/// - The first state uses such a symbol, also in the size of a container, or writes data that its value reads, or accesses a stream
///   whose length its value reads.
/// - A transition to the first state sets such a symbol, too, or one that its value reads.
/// - Both states call functions of the caller, whose order would not be kept.
/// - Both states use a stream that is empty when a state begins (lifetime `state`).
/// - The second state binds a view of a reference that the first state binds: views are bound when a state begins.
/// - In a called SDFG, the states use two arguments that may share elements, and one of them is written: names of
///   containers put nodes in order.
///
/// # Before
///
/// ```sdft
/// sdfg scaled_sum {
///   symbol N: i64
///   array A: f64[N]
///   array B: f64[N]
///   array C: f64[N]
///
///   state first {
///     access A
///     access B
///     map add [i = 0:N] {
///       tasklet plus (a) -> (b) { b = a + 1.0 }
///       add.A -> plus.a: A[i]
///       plus.b -> add.B: B[i]
///     }
///     A -> add.A
///     add.B -> B
///   }
///   state second {
///     access B
///     access C
///     map scale [i = 0:N] {
///       tasklet times (b) -> (c) { c = 2.0 * b }
///       scale.B -> times.b: B[i]
///       times.c -> scale.C: C[i]
///     }
///     B -> scale.B
///     scale.C -> C
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg scaled_sum {
///   symbol N: i64
///   array A: f64[N]
///   array B: f64[N]
///   array C: f64[N]
///
///   state first {
///     access A
///     access B
///     map add [i = 0:N] {
///       tasklet plus (a) -> (b) { b = a + 1.0 }
///       add.A -> plus.a: A[i]
///       plus.b -> add.B: B[i]
///     }
///     access C
///     map scale [i = 0:N] {
///       tasklet times (b) -> (c) { c = 2.0 * b }
///       scale.B -> times.b: B[i]
///       times.c -> scale.C: C[i]
///     }
///     A -> add.A
///     add.B -> B
///     B -> scale.B
///     scale.C -> C
///   }
/// }
/// ```
///
/// # Soundness
///
/// Nodes of the second state wait for the nodes of the first one on which they depend, in whatever component
/// of the graph they are: an edge, or an edge that only orders, is added for each write before a read, read
/// before a write, and write before a write. The first state neither uses a symbol whose assignment moves nor changes its
/// value, and assignments of one transition do not see each other.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StateFusion {}

static METADATA: Metadata = Metadata {
    name: "StateFusion",
    group: Group::ControlFlow,
    summary: "Moves the nodes of a state into the state before it.",
    source: "paper, Table 4 and Appendix B.4",
    soundness: Soundness::Always,
    is_strict: true,
    file: include_str!("state_fusion.rs"),
    parameters: &[],
};

anchored!(StateFusion);

impl Transformation for StateFusion {
    described!(METADATA, of_any_memory);

    fn pattern(&self) -> Pattern {
        Pattern::Blocks {
            blocks: vec![("first", BlockClass::State), ("second", BlockClass::State)],
            transitions: vec![(0, 1)],
        }
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let (first, second) = (site.found.block(0), site.found.block(1));
        let label = |block| site.sdfg.block(block).label.as_str();
        let out = site.sdfg.transitions_from(first);
        let [only] = out.as_slice() else {
            return Err(Refusal::structure(label(first), "goes on to several blocks"));
        };
        let transition = site.sdfg.transition(*only);
        if transition.condition.is_some() {
            return Err(Refusal::structure(label(first), "goes on with a condition"));
        }
        let region = site.sdfg.region(site.sdfg.block(second).region);
        if site.sdfg.transitions_to(second).len() > 1 || region.start == Some(second) {
            return Err(Refusal::structure(label(second), "is reached in other ways, too"));
        }
        let calls = |block| {
            let kind = &site.sdfg.block(block).kind;
            matches!(kind, BlockKind::State(state) if state_calls_back(site.sdfg.state(*state)))
        };
        if [first, second].into_iter().all(calls) {
            return Err(Refusal::structure(
                label(second),
                "calls functions of the caller after the first state did",
            ));
        }
        if let Some(stream) = emptied(site, first, second) {
            let name = &site.sdfg.container(stream).name;
            return Err(Refusal::container(name, "is empty when a state begins, and both states use it"));
        }
        if let Some([view, reference]) = bound_before(site, first, second) {
            let [view, reference] = [view, reference].map(|id| &site.sdfg.container(id).name);
            let reason = format!("is bound to `{reference}`, which the first state binds");
            return Err(Refusal::container(view, reason));
        }
        if let Some([one, other]) = shared(site, first, second) {
            let [one, other] = [one, other].map(|id| &site.sdfg.container(id).name);
            let reason = format!(
                "and `{other}` may share elements, and one is written: no name puts the states in order"
            );
            return Err(Refusal::container(one, reason));
        }
        if !transition.assignments.is_empty() {
            assigned_before(site, first, transition)?;
        }
        Ok(Evidence::of_structure())
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (first, second) = (found.block(0), found.block(1));
        for between in editor.sdfg().transitions_from(first) {
            let moved = editor.sdfg().transition(between).assignments.clone();
            if moved.is_empty() {
                continue;
            }
            for id in editor.sdfg().transitions_to(first) {
                editor.change_transition(id, |into| into.assignments.extend(moved.iter().cloned()))?;
            }
            editor.change_transition(between, |transition| transition.assignments.clear())?;
        }
        editor.merge_states(first, second)
    }
}

/// A stream that both states use and that each of them begins without elements.
fn emptied(site: &Site<'_>, first: BlockId, second: BlockId) -> Option<ContainerId> {
    stream_of_one_state(site.sdfg, state_of(site.sdfg, first)?, state_of(site.sdfg, second)?)
}

/// A view of the second state that is bound to a reference which the first state binds, and the reference.
fn bound_before(site: &Site<'_>, first: BlockId, second: BlockId) -> Option<[ContainerId; 2]> {
    let bindings = |block| {
        let state = match site.sdfg.block(block).kind {
            BlockKind::State(state) => Some(site.sdfg.state(state)),
            _ => None,
        };
        let edges = state.into_iter().flat_map(|state| state.edges().map(move |(edge, _)| (state, edge)));
        edges
            .filter_map(|(state, edge)| bound_alias(state, edge))
            .map(|(alias, target)| (alias, target.container))
    };
    let is_reference =
        |id: &ContainerId| matches!(site.sdfg.container(*id).kind, ContainerKind::Reference(_));
    let set: BTreeSet<ContainerId> = bindings(first).map(|(alias, _)| alias).filter(is_reference).collect();
    if set.is_empty() {
        return None;
    }
    let mut views = bindings(second).filter(|(alias, _)| !is_reference(alias));
    views.find(|(_, target)| set.contains(target)).map(|(view, target)| [view, target])
}

/// Two arguments that may share elements, one used by the first state and the other one by the second, one of them
/// written. Nodes that use one container are put in order, also through views.
fn shared(site: &Site<'_>, first: BlockId, second: BlockId) -> Option<[ContainerId; 2]> {
    let sets = |block| match &site.sdfg.block(block).kind {
        BlockKind::State(state) => AccessSets::of_state(site.sdfg.state(*state)).through_aliases(site.sdfg),
        BlockKind::Loop(_)
        | BlockKind::Branch(_)
        | BlockKind::Break
        | BlockKind::Continue
        | BlockKind::Return => AccessSets::default(),
    };
    let (before, after) = (sets(first), sets(second));
    before.reads.union(&before.writes).find_map(|one| {
        let meets = |other: &ContainerId| {
            let is_used = after.reads.contains(other) || after.writes.contains(other);
            is_used && (before.writes.contains(one) || after.writes.contains(other))
        };
        site.other_names(*one).into_iter().find(meets).map(|other| [*one, other])
    })
}

/// Checks that the transitions to a state can make the assignments of the transition after it.
fn assigned_before(site: &Site<'_>, first: BlockId, after: &Transition) -> Result<(), Refusal> {
    let sdfg = site.sdfg;
    let block = sdfg.block(first);
    let refused = |reason: String| Err(Refusal::structure(&block.label, reason));
    let BlockKind::State(state) = block.kind else { return refused("is no state".to_owned()) };
    let state = sdfg.state(state);
    if sdfg.region(block.region).start == Some(first) {
        return refused("goes on with an assignment, and begins its region".to_owned());
    }
    let used = symbols_of(sdfg, state);
    if let Some((symbol, _)) = after.assignments.iter().find(|(symbol, _)| used.contains(symbol)) {
        return refused(format!("uses `{symbol}`, which is set after it"));
    }
    let read: BTreeSet<&str> = after.assignments.iter().flat_map(|(_, value)| value.names()).collect();
    let data = read.iter().filter_map(|name| sdfg.find_container(name));
    for id in data {
        let same = site.same_memory(id);
        let name = &sdfg.container(id).name;
        if state_calls_back(state) || sdfg.container(id).is_alias() || writes(state, &same) {
            return refused(format!("may write `{name}`, which an assignment after it reads"));
        }
        // A pop reads an element, and changes the length.
        if sdfg.container(id).is_stream() && same.iter().any(|id| state.accesses_of(*id).next().is_some()) {
            return refused(format!("accesses `{name}`, whose length an assignment after it reads"));
        }
    }
    for (symbol, _) in sdfg.transitions_to(first).iter().flat_map(|id| &sdfg.transition(*id).assignments) {
        let is_set_twice = after.assignments.iter().any(|(other, _)| other == symbol);
        if is_set_twice || read.contains(symbol.as_str()) {
            return refused(format!(
                "needs `{symbol}` to be set before it, and an assignment after it as well"
            ));
        }
    }
    Ok(())
}

/// Symbols that a state uses, also for the sizes of its containers.
fn symbols_of(sdfg: &Sdfg, state: &State) -> BTreeSet<Symbol> {
    let mut used = free_symbols_of_state(state);
    for container in state.nodes().filter_map(|(_, node)| node.kind.container()).map(|id| sdfg.container(id))
    {
        used.extend(free_symbols_of_container(container));
    }
    used
}

/// Whether a state writes one of the containers, or lets a reference name another one.
fn writes(state: &State, containers: &BTreeSet<ContainerId>) -> bool {
    let is_set = |id| state.node(id).kind.container().is_some_and(|id| containers.contains(&id));
    state.edges().any(|(_, edge)| {
        let is_written =
            edge.memlet.write_access().is_some_and(|access| containers.contains(&access.container));
        is_written || matches!(edge.memlet.flow, Flow::Bind(_)) && is_set(edge.dst)
    })
}
