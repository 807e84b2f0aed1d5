//! Tests of edits on random programs: an edit preserves everything that it should not change.
//!
//! Every edited program validates, gives the same outputs in the interpreter, also in a random order, and
//! returns to its old text.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::analysis::ScopeTree;
use sdfg::analysis::symbols::assigned_symbols;
use sdfg::dtype::{ElementType, ScalarType};
use sdfg::edit::{Cover, EditError, Editor, Snapshot};
use sdfg::interpret::{Arguments, Interpreter, Options, Order};
use sdfg::ir::{
    BlockId, BlockKind, Container, ContainerKind, EdgeId, Loop, Map, Node, NodeId, NodeKind, Sdfg, State,
    StateId, Storage, Transition,
};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::{Expr, Symbol};
use sdfg::text;
use sdfg::validate::validate;
use sdfg_programs::random::{Operations, Rng, Sizes, generate, inputs};
use sdfg_transforms::verify::same;

/// Values of symbols that an edited program has and the original has not.
type NewSymbols = Vec<(String, i64)>;

/// Random programs for each edit.
const PROGRAMS: u64 = 12;

/// Edits random programs and compares them with the originals. At least `least` percent of the edits must be possible.
fn preserves(least: u64, edit: impl Fn(&mut Editor<'_>, Sizes, &mut Rng) -> Result<NewSymbols, EditError>) {
    let mut made = 0;
    let mut refusals = BTreeMap::<String, u64>::new();
    for seed in 0..PROGRAMS {
        let mut rng = Rng::new(seed);
        let sizes = Sizes { n: 3 + rng.below(4) as i64, m: 3 + rng.below(4) as i64 };
        let original = text::parse("random.sdft", &generate(seed)).unwrap();
        let mut edited = original.clone();
        let snapshot = Snapshot::of(&edited);
        // A rolled back series leaves no trace: the same series then gives the same program.
        let mut editor = Editor::new(&mut edited);
        let _ = edit(&mut editor, sizes, &mut rng.clone());
        drop(editor);
        unchanged(seed, &original, &edited);
        let mut editor = Editor::new(&mut edited);
        let made_edits =
            edit(&mut editor, sizes, &mut rng).and_then(|symbols| editor.commit().map(|_| symbols));
        match made_edits {
            Ok(symbols) => {
                made += 1;
                settled(seed, &edited);
                compare(seed, &original, &edited, sizes, &symbols);
            }
            Err(refusal) => {
                *refusals.entry(refusal.to_string()).or_default() += 1;
                unchanged(seed, &original, &edited);
            }
        }
        snapshot.restore(&mut edited);
        assert_eq!(text::print(&edited), text::print(&original), "seed {seed}");
    }
    assert!(made * 100 >= least * PROGRAMS, "only {made} of {PROGRAMS} edits were made: {refusals:#?}");
}

/// The ids that new elements would get, of the SDFG and of its states.
fn next_ids(sdfg: &Sdfg) -> Vec<String> {
    let mut changed = sdfg.clone();
    let mut editor = Editor::of_draft(&mut changed);
    let mut ids = Vec::new();
    for state in sdfg.states().map(|(id, _)| id) {
        let mut node = |label: &str| {
            let map = NodeKind::MapEntry(Map::new(Vec::new(), Subset(Vec::new())));
            editor.add_node(state, Node { label: label.to_owned(), kind: map, loc: None }).unwrap()
        };
        let (src, dst) = (node("next one"), node("next two"));
        editor.add_order(state, src, dst).unwrap();
        let edge = editor.sdfg().state(state).out_edges(src)[0];
        ids.extend([src.to_string(), edge.to_string()]);
    }
    let container = Container::new("next", ElementType::scalar(ScalarType::F64), ContainerKind::Scalar);
    ids.push(editor.add_container(container).unwrap().to_string());
    let body = sdfg.body();
    let (block, state) = editor.add_state(body, State::new("next one")).unwrap();
    let transition =
        Transition { src: block, dst: block, condition: None, assignments: Vec::new(), loc: None };
    ids.extend([block.to_string(), state.to_string(), editor.add_region().to_string()]);
    ids.push(editor.add_transition(transition).unwrap().to_string());
    ids
}

/// A rolled back program equals the original, including the ids that it assigns next.
fn unchanged(seed: u64, original: &Sdfg, edited: &Sdfg) {
    assert_eq!(whole(edited), whole(original), "seed {seed}");
    assert_eq!(next_ids(edited), next_ids(original), "seed {seed}");
}

/// A program with all that is in it, also its derived memlets.
fn whole(sdfg: &Sdfg) -> String {
    text::print_with(sdfg, text::PrintOptions { derived: true }).text + &sdfg::json::to_string(sdfg)
}

/// Propagation of the changed parts gives the same as propagation of the whole program.
fn settled(seed: u64, edited: &Sdfg) {
    let mut anew = edited.clone();
    sdfg::propagate::propagate(&mut anew);
    let [actual, expected] = [edited, &anew].map(whole);
    assert!(actual == expected, "seed {seed}: {actual}\ninstead of\n{expected}");
}

fn compare(seed: u64, original: &Sdfg, edited: &Sdfg, sizes: Sizes, symbols: &NewSymbols) {
    let printed = text::print(edited);
    let arguments = inputs(original, sizes, &mut Rng::new(seed));
    let expected =
        run(original, arguments.clone(), Order::Fixed).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    let mut changed = Arguments::new();
    for (name, tensor) in arguments.tensors() {
        changed.set(name, tensor.clone());
    }
    for (symbol, _) in edited.symbols() {
        let value = match symbol.as_str() {
            "N" => sizes.n,
            "M" => sizes.m,
            name => symbols.iter().find(|(symbol, _)| symbol == name).map_or(0, |(_, value)| *value),
        };
        changed.set_symbol(symbol.as_str(), value);
    }
    let reparsed =
        text::parse("edited.sdft", &printed).unwrap_or_else(|e| panic!("seed {seed}: {e:?}\n{printed}"));
    assert_eq!(text::print(&reparsed), printed, "seed {seed}");
    for order in [Order::Fixed, Order::Random(seed)] {
        let actual =
            run(edited, changed.clone(), order).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{printed}"));
        for (name, tensor) in expected.tensors() {
            let other = actual.get(name).unwrap();
            assert!(same(tensor, other), "seed {seed}: `{name}` is {other:?}, not {tensor:?}\n{printed}");
        }
    }
}

fn run(sdfg: &Sdfg, mut arguments: Arguments, order: Order) -> Result<Arguments, String> {
    let program = validate(sdfg.clone()).map_err(|rejected| rejected.to_string())?;
    let mut interpreter = Interpreter::new(&program).map_err(|error| error.to_string())?;
    let options =
        Options { order, step_limit: Some(2_000_000), libraries: Some(&Operations), ..Options::default() };
    interpreter.run(&mut arguments, &options).map_err(|error| error.to_string())?;
    Ok(arguments)
}

fn symbol(name: &str) -> Symbol {
    Symbol::of(name)
}

#[test]
fn symbols_are_renamed() {
    preserves(100, |editor, sizes, _| {
        editor.rename_symbol(&symbol("N"), "rows")?;
        editor.rename_symbol(&symbol("M"), "j")?;
        for assigned in assigned_symbols(editor.sdfg()).into_iter().collect::<BTreeSet<_>>() {
            editor.rename_symbol(&assigned, &format!("{assigned}_new"))?;
        }
        Ok(vec![("rows".to_owned(), sizes.n), ("j".to_owned(), sizes.m)])
    });
}

#[test]
fn symbols_are_replaced_by_numbers() {
    preserves(100, |editor, sizes, _| {
        let values = [(symbol("N"), Expr::int(sizes.n)), (symbol("M"), Expr::int(sizes.m))];
        editor.substitute(&BTreeMap::from(values)).map(|()| Vec::new())
    });
}

#[test]
fn inserted_symbols_are_not_captured() {
    // Most programs have maps over `i` and `j`, and connectors `c` and `a`.
    preserves(100, |editor, sizes, _| {
        let values = [(symbol("N"), Expr::sym("i") + Expr::sym("c")), (symbol("M"), Expr::sym("a") - 1)];
        editor.substitute(&BTreeMap::from(values))?;
        let values = [("i", sizes.n - 2), ("c", 2), ("a", sizes.m + 1)];
        Ok(values.map(|(name, value)| (name.to_owned(), value)).to_vec())
    });
}

#[test]
fn symbols_are_swapped() {
    preserves(100, |editor, sizes, _| {
        let values = [(symbol("N"), Expr::sym("M")), (symbol("M"), Expr::sym("N"))];
        editor.substitute(&BTreeMap::from(values))?;
        editor.rename_symbol(&symbol("N"), "K")?;
        editor.rename_symbol(&symbol("M"), "L")?;
        Ok(vec![("K".to_owned(), sizes.m), ("L".to_owned(), sizes.n)])
    });
}

#[test]
fn transients_are_renamed() {
    preserves(100, |editor, _, _| {
        for (number, id) in
            editor.sdfg().containers().map(|(id, _)| id).collect::<Vec<_>>().into_iter().enumerate()
        {
            if editor.sdfg().container(id).transient {
                editor.rename_container(id, &format!("renamed{number}"))?;
            }
        }
        Ok(Vec::new())
    });
}

/// A random state, and random nodes of one of its scopes.
fn pick_nodes(sdfg: &Sdfg, rng: &mut Rng) -> (StateId, BTreeSet<NodeId>) {
    // A program without a computing state has a copy.
    let computes = |state: &State| state.nodes().any(|(_, node)| node.kind.is_code());
    let states = |wanted: &dyn Fn(&State) -> bool| -> Vec<StateId> {
        sdfg.states().filter(|(_, state)| wanted(state)).map(|(id, _)| id).collect()
    };
    let mut found = states(&computes);
    if found.is_empty() {
        found = states(&|state| state.n_nodes() > 0);
    }
    let state = rng.pick(&found);
    let graph = sdfg.state(state);
    let tree = ScopeTree::of(graph);
    let scopes: Vec<Option<NodeId>> =
        [None].into_iter().chain(tree.entries().into_iter().map(Some)).collect();
    let scope = rng.pick(&scopes);
    let mut nodes: BTreeSet<NodeId> =
        tree.children(scope).iter().copied().filter(|_| rng.chance(40)).collect();
    // Access nodes at the border of a subgraph stay outside of it.
    let is_code = |id: &NodeId| {
        let kind = &graph.node(*id).kind;
        kind.is_code() || kind.is_scope_entry()
    };
    if nodes.is_empty() || rng.chance(70) {
        nodes = tree.children(scope).iter().copied().filter(is_code).take(1).collect();
    }
    (state, nodes)
}

fn once(label: &str) -> Map {
    Map::new(vec![symbol(label)], Subset(vec![Range::new(Expr::zero(), Expr::one())]))
}

fn wrap(editor: &mut Editor<'_>, rng: &mut Rng, param: &str) -> Result<(StateId, NodeId), EditError> {
    let (state, nodes) = pick_nodes(editor.sdfg(), rng);
    let origin =
        nodes.first().map_or("none".to_owned(), |id| editor.sdfg().state(state).node(*id).label.clone());
    let label = editor.derived_label(state, &origin, "once")?;
    editor.wrap_in_map(state, &nodes, &label, once(param)).map(|entry| (state, entry))
}

#[test]
fn nodes_are_wrapped_in_a_map_of_one_iteration() {
    preserves(70, |editor, _, rng| wrap(editor, rng, "once").map(|_| Vec::new()));
}

#[test]
fn a_map_of_one_iteration_is_unwrapped() {
    preserves(70, |editor, _, rng| {
        let (state, entry) = wrap(editor, rng, "once")?;
        editor.unwrap_map(state, entry).map(|()| Vec::new())
    });
}

/// Map entries of a state over at least two parameters, of which later ranges do not use earlier ones.
fn rectangular_map(state: &State) -> Option<NodeId> {
    let rectangular = |map: &Map| {
        let used = map.ranges.free_symbols();
        map.params.len() >= 2 && map.params.iter().all(|param| !used.contains(param))
    };
    let is_found = |kind: &NodeKind| matches!(kind, NodeKind::MapEntry(map) if rectangular(map));
    state.nodes().find(|(_, node)| is_found(&node.kind)).map(|(id, _)| id)
}

#[test]
fn maps_are_tiled_expanded_and_collapsed() {
    // Three transformations in a few lines each: what the operations are for.
    preserves(30, |editor, _, rng| {
        let found = editor.sdfg().states().find_map(|(id, state)| Some((id, rectangular_map(state)?)));
        let Some((state, entry)) = found else { return Err(EditError::NoNodes) };
        let NodeKind::MapEntry(map) = editor.sdfg().state(state).node(entry).kind.clone() else {
            return Err(EditError::NoNodes);
        };
        if map.schedule.team().is_some_and(|team| team.collapse.is_some()) || !map.ranges.0[0].step.is_one() {
            return Err(EditError::NoNodes);
        }
        let label = editor.sdfg().state(state).node(entry).label.clone();
        match rng.below(2) {
            0 => {
                // Tiles of two iterations of the first parameter.
                let range = map.ranges.0[0].clone();
                let tile = Map::new(vec![symbol("tile")], Subset(vec![range.clone().with_step(2)]));
                let label = editor.derived_label(state, &label, "tile")?;
                editor.wrap_in_map(state, &BTreeSet::from([entry]), &label, tile)?;
                let mut inner = map;
                inner.ranges.0[0] =
                    Range::new(Expr::sym("tile"), Expr::min(&(Expr::sym("tile") + 2), &range.end));
                editor.replace_node(state, entry, NodeKind::MapEntry(inner))?;
            }
            _ => {
                // One map for each parameter, and back.
                let tree = ScopeTree::of(editor.sdfg().state(state));
                let inside: BTreeSet<NodeId> = tree.children(Some(entry)).iter().copied().collect();
                let mut outer = map.clone();
                outer.params.truncate(1);
                outer.ranges.0.truncate(1);
                let inner = Map::new(map.params[1..].to_vec(), map.ranges.0[1..].iter().cloned().collect());
                editor.replace_node(state, entry, NodeKind::MapEntry(outer))?;
                let label = editor.derived_label(state, &label, "inner")?;
                let inner = editor.wrap_in_map(state, &inside, &label, inner)?;
                if rng.chance(50) {
                    editor.replace_node(state, entry, NodeKind::MapEntry(map))?;
                    editor.unwrap_map(state, inner)?;
                }
            }
        }
        Ok(Vec::new())
    });
}

fn outline(editor: &mut Editor<'_>, rng: &mut Rng) -> Result<(StateId, NodeId), EditError> {
    let (state, nodes) = pick_nodes(editor.sdfg(), rng);
    let origin =
        nodes.first().map_or("none".to_owned(), |id| editor.sdfg().state(state).node(*id).label.clone());
    let label = editor.derived_label(state, &origin, "call")?;
    editor.wrap_in_nested(state, &nodes, &label).map(|node| (state, node))
}

#[test]
fn nodes_are_moved_into_a_nested_sdfg() {
    // Elements of a consume scope cannot be moved, and many programs have such a scope. Then other nodes of the
    // unchanged program are tried.
    preserves(70, |editor, _, rng| {
        let before = text::print(editor.sdfg());
        let moved = outline(editor, rng).or_else(|_| {
            assert_eq!(text::print(editor.sdfg()), before);
            outline(editor, rng)
        });
        moved.map(|_| Vec::new())
    });
}

#[test]
fn a_nested_sdfg_is_inlined() {
    preserves(60, |editor, _, rng| {
        let (state, node) = outline(editor, rng)?;
        if rng.chance(50) {
            // Other names inside, and other symbols.
            let NodeKind::Nested(nested) = editor.sdfg().state(state).node(node).kind.clone() else {
                unreachable!()
            };
            for connector in nested.inputs.iter().chain(&nested.outputs) {
                // An input that is an output, too, is renamed once.
                let _ =
                    editor.rename_connector(state, node, &connector.name, &format!("{}_in", connector.name));
            }
        }
        editor.inline_nested(state, node).map(|()| Vec::new())
    });
}

#[test]
fn what_passes_an_edge_gets_a_local_copy() {
    preserves(60, |editor, _, rng| {
        let mut refusal = EditError::NoNodes;
        for _ in 0..8 {
            let (state, _) = pick_nodes(editor.sdfg(), rng);
            let edges: Vec<_> =
                editor.sdfg().state(state).edges().map(|(id, edge)| (id, edge.clone())).collect();
            let Some((id, edge)) = (!edges.is_empty()).then(|| rng.pick(&edges)) else { continue };
            if edge.memlet.resolution().is_some() {
                continue;
            }
            let name = editor.derived_container_name("copy", "local");
            match editor.add_local_copy(state, id, &name, Storage::Default, Cover::Exact) {
                Ok(_) => return Ok(Vec::new()),
                Err(error) => refusal = error,
            }
        }
        Err(refusal)
    });
}

/// Blocks that satisfy a condition.
fn blocks(sdfg: &Sdfg, is_wanted: impl Fn(&BlockKind) -> bool) -> Vec<BlockId> {
    sdfg.blocks().filter(|(_, block)| is_wanted(&block.kind)).map(|(id, _)| id).collect()
}

#[test]
fn states_are_split_and_merged_again() {
    preserves(60, |editor, _, rng| {
        let mut refusal = EditError::NoNodes;
        for _ in 0..8 {
            let block = rng.pick(&blocks(editor.sdfg(), |kind| matches!(kind, BlockKind::State(_))));
            let BlockKind::State(state) = editor.sdfg().block(block).kind else { unreachable!() };
            let graph = editor.sdfg().state(state);
            let tree = ScopeTree::of(graph);
            let order = tree.children(None).to_vec();
            if order.len() < 2 {
                continue;
            }
            let first = order[..1 + rng.below(order.len() - 1)].iter().copied().collect();
            match editor.split_state(block, &first) {
                Ok(second) if rng.chance(50) => {
                    return editor.merge_states(block, second).map(|()| Vec::new());
                }
                Ok(_) => return Ok(Vec::new()),
                Err(error) => refusal = error,
            }
        }
        Err(refusal)
    });
}

#[test]
fn states_that_follow_each_other_are_merged() {
    preserves(60, |editor, _, _| {
        let mut result = Err(EditError::NoNodes);
        // As many as possible, from the first on.
        for first in blocks(editor.sdfg(), |kind| matches!(kind, BlockKind::State(_))) {
            while let Some(id) = editor
                .sdfg()
                .get_block(first)
                .and_then(|_| editor.sdfg().transitions_from(first).first().copied())
            {
                match editor.merge_states(first, editor.sdfg().transition(id).dst) {
                    Ok(()) => result = Ok(Vec::new()),
                    Err(_) => break,
                }
            }
        }
        result
    });
}

#[test]
fn blocks_get_states_around_them_and_loops() {
    preserves(60, |editor, _, rng| {
        let block = rng.pick(&blocks(editor.sdfg(), |_| true));
        match rng.below(3) {
            0 => {
                let before = editor.insert_state_before(block)?;
                if rng.chance(50) {
                    editor.remove_empty_state(before)?;
                }
            }
            1 => drop(editor.insert_state_after(block)?),
            _ => {
                let parse = |text| sdfg::syntax::parse_expression(text).unwrap();
                let header = Loop {
                    symbol: Some(symbol("once")),
                    init: Some(parse("0")),
                    condition: parse("once < 1"),
                    update: Some(parse("once + 1")),
                    test_after: rng.chance(50),
                    unroll: false,
                    body: editor.sdfg().body(),
                };
                let label = editor.derived_block_label(&editor.sdfg().block(block).label, "loop");
                editor.wrap_in_loop(block, &label, header)?;
            }
        }
        Ok(Vec::new())
    });
}

/// One random edit that keeps what a program means.
fn one_edit(editor: &mut Editor<'_>, rng: &mut Rng, number: u64) -> Result<(), EditError> {
    let is_state = |kind: &BlockKind| matches!(kind, BlockKind::State(_));
    match rng.below(10) {
        0 | 1 => wrap(editor, rng, &format!("once{number}")).map(drop),
        2 => {
            let (state, _) = pick_nodes(editor.sdfg(), rng);
            let is_once = |kind: &NodeKind| matches!(kind, NodeKind::MapEntry(map) if map.params.iter().all(|param| param.as_str().starts_with("once")));
            let graph = editor.sdfg().state(state);
            let found = graph.nodes().find(|(_, node)| is_once(&node.kind)).map(|(id, _)| id);
            editor.unwrap_map(state, found.ok_or(EditError::NoNodes)?)
        }
        3 => outline(editor, rng).map(drop),
        4 => {
            let (state, _) = pick_nodes(editor.sdfg(), rng);
            let graph = editor.sdfg().state(state);
            let found = graph.nodes().find(|(_, node)| matches!(node.kind, NodeKind::Nested(_)));
            let node = found.map(|(id, _)| id).ok_or(EditError::NoNodes)?;
            editor.inline_nested(state, node)
        }
        5 => {
            let (state, _) = pick_nodes(editor.sdfg(), rng);
            let edges: Vec<EdgeId> = editor.sdfg().state(state).edges().map(|(id, _)| id).collect();
            let edge = rng.pick(&edges);
            if editor.sdfg().state(state).edge(edge).memlet.resolution().is_some() {
                return Err(EditError::NoNodes);
            }
            let name = editor.derived_container_name("copy", "local");
            editor.add_local_copy(state, edge, &name, Storage::Default, Cover::Exact).map(drop)
        }
        6 => {
            let block = rng.pick(&blocks(editor.sdfg(), is_state));
            let BlockKind::State(state) = editor.sdfg().block(block).kind else { unreachable!() };
            let order = ScopeTree::of(editor.sdfg().state(state)).children(None).to_vec();
            let first = order[..rng.below(order.len() + 1)].iter().copied().collect();
            editor.split_state(block, &first).map(drop)
        }
        7 => {
            let first = rng.pick(&blocks(editor.sdfg(), is_state));
            let next = editor.sdfg().transitions_from(first).first().copied().ok_or(EditError::NoNodes)?;
            editor.merge_states(first, editor.sdfg().transition(next).dst)
        }
        8 => {
            let block = rng.pick(&blocks(editor.sdfg(), |_| true));
            let new = editor.insert_state_before(block)?;
            if rng.chance(50) { editor.remove_empty_state(new) } else { Ok(()) }
        }
        _ => {
            let transient = editor.sdfg().containers().find(|(_, container)| container.transient);
            let id = transient.map(|(id, _)| id).ok_or(EditError::NoNodes)?;
            editor.rename_container(id, &format!("renamed{number}"))
        }
    }
}

#[test]
fn many_edits_are_one_series() {
    preserves(100, |editor, _, rng| {
        let mut made = 0;
        for number in 0..24 {
            let printed = whole(editor.sdfg());
            let others = next_ids(editor.sdfg());
            if rng.chance(25) {
                // Edits that are made and taken back leave the series as it was.
                let again = editor
                    .attempt(|editor| one_edit(editor, rng, number).and(Err::<(), _>(EditError::NoNodes)));
                assert!(again.is_err());
            } else if editor.attempt(|editor| one_edit(editor, rng, number)).is_ok() {
                made += 1;
                continue;
            }
            assert_eq!(whole(editor.sdfg()), printed);
            assert_eq!(next_ids(editor.sdfg()), others);
        }
        if made > 3 { Ok(Vec::new()) } else { Err(EditError::NoNodes) }
    });
}
