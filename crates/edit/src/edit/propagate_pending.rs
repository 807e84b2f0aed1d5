//! Derives pending memlets: at touched ports, and further out where a change propagates.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use sdfg_graph::analysis::SymbolFacts;
use sdfg_graph::analysis::symbols::scope_parameters;
use sdfg_graph::ir::{BlockId, BlockKind, EdgeId, Memlet, NodeId, State, StateId};
use sdfg_graph::workspace::{Scope, Sizes, enter_scope};
use sdfg_language::symbolic::Assumptions;

use super::editor::Editor;
use super::pending::{OfSdfg, OfState, Ports, assigned_at, marks};

/// Derives what changed, in called SDFGs before their callers.
pub(super) fn propagate_pending(editor: &mut Editor<'_>) {
    while let Some(path) = editor.pending.next() {
        let work = editor.pending.take(&path);
        if !editor.go_to(&path) {
            continue;
        }
        settle_sdfg(editor, work);
        if let Some(((state, node), outer)) = path.split_last()
            && editor.go_to(&outer.into())
        {
            editor.pending.touch(&outer.into());
            editor.mark_call(*state, *node);
        }
    }
}

fn settle_sdfg(editor: &mut Editor<'_>, mut work: OfSdfg) {
    spread(editor, &mut work);
    let path = editor.at();
    let mut around = None;
    for (state, of_state) in work.states {
        if editor.sdfg().get_state(state).is_none() {
            continue;
        }
        editor.refresh_scopes(state);
        let moved = editor.pending.of(&path).states.remove(&state).unwrap_or_default();
        let ports = ports_of(editor, state, of_state, moved.subtrees);
        if ports.is_empty() {
            continue;
        }
        if around.is_none() {
            around = Some(known(editor));
        }
        if let Some(around) = &around {
            let known = around.in_state(editor.sdfg(), state);
            derive(editor, state, ports, &known);
        }
    }
    editor.pending.settled(&path);
}

/// Finds the states whose assumptions changed.
fn spread(editor: &mut Editor<'_>, work: &mut OfSdfg) {
    let mut whole: BTreeSet<StateId> = BTreeSet::new();
    let sdfg = editor.sdfg();
    let assigns = |(id, before): (&_, &Option<_>)| {
        sdfg.get_transition(*id).and_then(|now| assigned_at(sdfg, now)) != *before
    };
    let counts = |id: &BlockId| {
        sdfg.get_block(*id)
            .is_some_and(|block| matches!(&block.kind, BlockKind::Loop(of) if of.symbol.is_some()))
    };
    let is_everywhere =
        work.is_everywhere || work.transitions.iter().any(assigns) || work.blocks.iter().any(counts);
    // A look at all containers costs as much as the program is long: most changes set no symbol.
    if work.is_known_old || is_everywhere {
        let now = Sizes::of(sdfg);
        if is_everywhere || work.known.as_ref() != Some(&now) {
            whole.extend(sdfg.states().map(|(id, _)| id));
        }
        let path = editor.at();
        editor.pending.remember(&path, now);
    }
    let sdfg = editor.sdfg();
    let mut waiting: Vec<BlockId> = work.blocks.iter().copied().collect();
    let mut seen = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        let Some(block) = sdfg.get_block(id).filter(|_| seen.insert(id)) else { continue };
        if let BlockKind::State(state) = block.kind {
            whole.insert(state);
        }
        let regions = block.kind.regions().into_iter().filter_map(|region| sdfg.get_region(region));
        waiting.extend(regions.flat_map(|region| region.blocks.iter().copied()));
    }
    let uses = |state: &State| {
        let mut containers = state.nodes().filter_map(|(_, node)| node.kind.container());
        containers.any(|container| work.containers.contains(&container))
    };
    if !work.containers.is_empty() {
        whole.extend(sdfg.states().filter(|(_, state)| uses(state)).map(|(id, _)| id));
    }
    for state in whole {
        work.states.entry(state).or_default().is_whole = true;
    }
}

/// The connectors of scopes that have to be looked at in a state.
fn ports_of(
    editor: &mut Editor<'_>,
    state: StateId,
    of: OfState,
    moved: BTreeSet<NodeId>,
) -> BTreeMap<NodeId, Ports> {
    let mut ports = of.ports;
    let graph = editor.graph(state);
    if of.is_whole {
        let entries = graph.nodes().filter(|(_, node)| node.kind.is_scope_entry());
        return entries.map(|(id, _)| (id, Ports::All)).collect();
    }
    let mut waiting: Vec<NodeId> = of.subtrees.into_iter().chain(moved).collect();
    let mut seen = BTreeSet::new();
    while let Some(entry) = waiting.pop() {
        let graph = editor.graph(state);
        let is_entry = graph.get_node(entry).is_some_and(|node| node.kind.is_scope_entry());
        if is_entry && seen.insert(entry) {
            ports.insert(entry, Ports::All);
            let inside = super::subgraph::contents(editor, state, entry);
            let graph = editor.graph(state);
            waiting.extend(inside.into_iter().filter(|id| graph.node(*id).kind.is_scope_entry()));
        }
    }
    ports
}

/// Derives segments, those of inner scopes first; those further out follow where one changed.
fn derive(editor: &mut Editor<'_>, state: StateId, ports: BTreeMap<NodeId, Ports>, known: &Assumptions) {
    let mut inside = BTreeMap::from([(None, known.clone())]);
    let mut of = OfState { ports, ..OfState::default() };
    let depth = |editor: &mut Editor<'_>, entry| Reverse(editor.enclosing(state, entry).len());
    let entries: Vec<NodeId> = of.ports.keys().copied().collect();
    let is_entry = |id: &NodeId| {
        let node = editor.graph(state).get_node(*id);
        node.is_some_and(|node| node.kind.is_scope_entry())
    };
    let entries: Vec<NodeId> = entries.into_iter().filter(is_entry).collect();
    let mut waiting: BTreeSet<(Reverse<usize>, NodeId)> = BTreeSet::new();
    for entry in entries {
        waiting.insert((depth(editor, entry), entry));
    }
    while let Some((_, entry)) = waiting.pop_first() {
        let Some(ports) = of.ports.remove(&entry) else { continue };
        let wanted = |name: &str| match &ports {
            Ports::All => true,
            Ports::Some(names) => names.contains(name),
        };
        let around = known_around(editor, state, entry, &mut inside);
        let Some(scope) = Scope::of(editor.sdfg(), editor.graph(state), entry, around) else { continue };
        let derived = scope.segments(&BTreeMap::new(), &wanted);
        for (edge, memlet, _) in derived {
            if editor.graph(state).edge(edge).memlet == memlet {
                continue;
            }
            editor.put_derived(state, edge, memlet);
            let graph = editor.graph(state);
            let passed = marks(graph, graph.edge(edge));
            for (outer, name) in passed.into_iter().filter(|(outer, name)| *outer != entry && name.is_some())
            {
                of.add(outer, name);
                waiting.insert((depth(editor, outer), outer));
            }
        }
    }
}

/// Facts about symbols around a scope.
fn known_around(
    editor: &mut Editor<'_>,
    state: StateId,
    entry: NodeId,
    inside: &mut BTreeMap<Option<NodeId>, Assumptions>,
) -> Assumptions {
    let mut unknown = Vec::new();
    let mut found = None;
    let enclosing = editor.enclosing(state, entry);
    for scope in enclosing.into_iter().map(Some).chain([None]) {
        match inside.get(&scope) {
            Some(known) => {
                found = Some(known.clone());
                break;
            }
            None => unknown.extend(scope),
        }
    }
    let mut known = found.unwrap_or_default();
    for scope in unknown.into_iter().rev() {
        enter_scope(editor.graph(state), scope, &mut known);
        inside.insert(Some(scope), known.clone());
    }
    known
}

/// Facts about symbols in the states of the SDFG.
fn known(editor: &mut Editor<'_>) -> SymbolFacts {
    let sizes = editor.sizes().clone();
    SymbolFacts::of_sizes(editor.sdfg(), &sizes)
}

/// Of the segments of a memlet tree from an edge inwards whether each is exactly what is accessed. Memlets are up to date.
pub(super) fn exactness(editor: &mut Editor<'_>, state: StateId, edge: EdgeId) -> BTreeMap<EdgeId, bool> {
    let graph = editor.graph(state);
    let mut tree = Vec::new();
    let mut waiting = vec![edge];
    let mut seen = BTreeSet::new();
    while let Some(edge) = waiting.pop() {
        if seen.insert(edge) {
            tree.push(edge);
            waiting.extend(sdfg_graph::workspace::inner_segments(graph, edge));
        }
    }
    let known = known(editor).in_running_state(editor.sdfg(), state);
    let mut inside = BTreeMap::from([(None, known)]);
    let mut exact = BTreeMap::new();
    for edge in tree.into_iter().rev() {
        let graph = editor.graph(state);
        let found = graph.edge(edge);
        let outwards = graph.node(found.src).kind.exit_of().zip(found.out_port());
        let inwards = graph.node(found.dst).kind.is_scope_entry().then_some(found.dst).zip(found.in_port());
        let Some((entry, name)) = outwards.or(inwards).map(|(entry, name)| (entry, name.to_owned())) else {
            continue;
        };
        let mut around = known_around(editor, state, entry, &mut inside);
        for outer in editor.enclosing(state, entry) {
            runs(editor.graph(state), outer, &mut around);
        }
        let graph = editor.graph(state);
        let Some(scope) = Scope::of(editor.sdfg(), graph, entry, around.clone()) else { continue };
        let segments = scope.segments(&exact, &|other| other == name);
        let found = segments.into_iter().find(|(segment, ..)| *segment == edge);
        // More is known where the scope runs than where the memlet was derived, which may cover more.
        let is_all = |derived: &Memlet| {
            let mut pairs = derived.accesses().zip(graph.edge(edge).memlet.accesses());
            pairs.all(|(derived, present)| derived.subset().covers(present.subset(), &around).is_proved())
        };
        exact.extend(found.map(|(_, derived, is_exact)| (edge, is_exact && is_all(&derived))));
    }
    exact
}

/// Adds that the parameters of a scope have values, as they do in each of its iterations.
fn runs(graph: &State, entry: NodeId, known: &mut Assumptions) {
    for (_, range) in scope_parameters(graph, entry) {
        range.assume_iteration(known);
    }
}
