//! Edits on random programs: what an edit should not change, it does not change.
//!
//! Every edited program validates, gives the same outputs in the interpreter, also in a random order, and goes back to its
//! old text.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::analysis::ScopeTree;
use sdfg::analysis::symbols::assigned_symbols;
use sdfg::edit::{self, Cover, EditError, Snapshot};
use sdfg::interpret::{Arguments, Interpreter, Options, Order};
use sdfg::ir::{BlockId, BlockKind, Loop, Map, NodeId, NodeKind, Sdfg, State, StateId, Storage};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::{Expr, Symbol};
use sdfg::text;
use sdfg::validate::validate;
use sdfg_programs::random::{Operations, Rng, Sizes, generate, inputs, same};

/// Values of symbols that an edited program has and the original has not.
type NewSymbols = Vec<(String, i64)>;

/// Random programs for each edit.
const PROGRAMS: u64 = 12;

/// Edits random programs and compares them with the originals. At least `least` percent of the edits must be possible.
fn preserves(least: u64, edit: impl Fn(&mut Sdfg, Sizes, &mut Rng) -> Result<NewSymbols, EditError>) {
    let mut made = 0;
    let mut refusals = BTreeMap::<String, u64>::new();
    for seed in 0..PROGRAMS {
        let mut rng = Rng::new(seed);
        let sizes = Sizes { n: 3 + rng.below(4) as i64, m: 3 + rng.below(4) as i64 };
        let original = text::parse("random.sdft", &generate(seed)).unwrap();
        let mut edited = original.clone();
        let snapshot = Snapshot::of(&edited);
        match edit(&mut edited, sizes, &mut rng) {
            Ok(symbols) => {
                made += 1;
                compare(seed, &original, &edited, sizes, &symbols);
            }
            Err(refusal) => {
                *refusals.entry(refusal.to_string()).or_default() += 1;
                assert_eq!(text::print(&edited), text::print(&original), "seed {seed}: {refusal}");
            }
        }
        snapshot.restore(&mut edited);
        assert_eq!(text::print(&edited), text::print(&original), "seed {seed}");
    }
    assert!(made * 100 >= least * PROGRAMS, "only {made} of {PROGRAMS} edits were made: {refusals:#?}");
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
    preserves(100, |sdfg, sizes, _| {
        edit::rename_symbol(sdfg, &symbol("N"), "rows")?;
        edit::rename_symbol(sdfg, &symbol("M"), "j")?;
        for assigned in assigned_symbols(sdfg).into_iter().collect::<BTreeSet<_>>() {
            edit::rename_symbol(sdfg, &assigned, &format!("{assigned}_new"))?;
        }
        Ok(vec![("rows".to_owned(), sizes.n), ("j".to_owned(), sizes.m)])
    });
}

#[test]
fn symbols_are_replaced_by_numbers() {
    preserves(100, |sdfg, sizes, _| {
        let values = [(symbol("N"), Expr::int(sizes.n)), (symbol("M"), Expr::int(sizes.m))];
        edit::substitute(sdfg, &BTreeMap::from(values)).map(|()| Vec::new())
    });
}

#[test]
fn inserted_symbols_are_not_captured() {
    // Most programs have maps over `i` and `j`, and connectors `c` and `a`.
    preserves(100, |sdfg, sizes, _| {
        let values = [(symbol("N"), Expr::sym("i") + Expr::sym("c")), (symbol("M"), Expr::sym("a") - 1)];
        edit::substitute(sdfg, &BTreeMap::from(values))?;
        let values = [("i", sizes.n - 2), ("c", 2), ("a", sizes.m + 1)];
        Ok(values.map(|(name, value)| (name.to_owned(), value)).to_vec())
    });
}

#[test]
fn symbols_are_swapped() {
    preserves(100, |sdfg, sizes, _| {
        let values = [(symbol("N"), Expr::sym("M")), (symbol("M"), Expr::sym("N"))];
        edit::substitute(sdfg, &BTreeMap::from(values))?;
        edit::rename_symbol(sdfg, &symbol("N"), "K")?;
        edit::rename_symbol(sdfg, &symbol("M"), "L")?;
        Ok(vec![("K".to_owned(), sizes.m), ("L".to_owned(), sizes.n)])
    });
}

#[test]
fn transients_are_renamed() {
    preserves(100, |sdfg, _, _| {
        for (number, id) in sdfg.containers().map(|(id, _)| id).collect::<Vec<_>>().into_iter().enumerate() {
            if sdfg.container(id).transient {
                edit::rename_container(sdfg, id, &format!("renamed{number}"))?;
            }
        }
        Ok(Vec::new())
    });
}

/// A random state, and random nodes of one of its scopes.
fn pick_nodes(sdfg: &Sdfg, rng: &mut Rng) -> (StateId, BTreeSet<NodeId>) {
    // Where no state computes, there is a copy.
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

fn wrap(sdfg: &mut Sdfg, rng: &mut Rng) -> Result<(StateId, NodeId), EditError> {
    let (state, nodes) = pick_nodes(sdfg, rng);
    let origin = nodes.first().map_or("none".to_owned(), |id| sdfg.state(state).node(*id).label.clone());
    let label = edit::derived_label(sdfg.state(state), &origin, "once");
    edit::wrap_in_map(sdfg, state, &nodes, &label, once("once")).map(|entry| (state, entry))
}

#[test]
fn nodes_are_wrapped_in_a_map_of_one_iteration() {
    preserves(70, |sdfg, _, rng| wrap(sdfg, rng).map(|_| Vec::new()));
}

#[test]
fn a_map_of_one_iteration_is_unwrapped() {
    preserves(70, |sdfg, _, rng| {
        let (state, entry) = wrap(sdfg, rng)?;
        edit::unwrap_map(sdfg, state, entry).map(|()| Vec::new())
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
    preserves(30, |sdfg, _, rng| {
        let found = sdfg.states().find_map(|(id, state)| Some((id, rectangular_map(state)?)));
        let Some((state, entry)) = found else { return Err(EditError::NoNodes) };
        let NodeKind::MapEntry(map) = sdfg.state(state).node(entry).kind.clone() else {
            return Err(EditError::NoNodes);
        };
        if map.schedule.team().is_some_and(|team| team.collapse.is_some()) || !map.ranges.0[0].step.is_one() {
            return Err(EditError::NoNodes);
        }
        let label = sdfg.state(state).node(entry).label.clone();
        match rng.below(2) {
            0 => {
                // Tiles of two iterations of the first parameter.
                let range = map.ranges.0[0].clone();
                let tile = Map::new(vec![symbol("tile")], Subset(vec![range.clone().with_step(2)]));
                let label = edit::derived_label(sdfg.state(state), &label, "tile");
                edit::wrap_in_map(sdfg, state, &BTreeSet::from([entry]), &label, tile)?;
                let mut inner = map;
                inner.ranges.0[0] =
                    Range::new(Expr::sym("tile"), Expr::min(&(Expr::sym("tile") + 2), &range.end));
                edit::replace_node(sdfg, state, entry, NodeKind::MapEntry(inner))?;
                sdfg::propagate::propagate(sdfg);
            }
            _ => {
                // One map for each parameter, and back.
                let tree = ScopeTree::of(sdfg.state(state));
                let inside: BTreeSet<NodeId> = tree.children(Some(entry)).iter().copied().collect();
                let mut outer = map.clone();
                outer.params.truncate(1);
                outer.ranges.0.truncate(1);
                let inner = Map::new(map.params[1..].to_vec(), map.ranges.0[1..].iter().cloned().collect());
                edit::replace_node(sdfg, state, entry, NodeKind::MapEntry(outer))?;
                let label = edit::derived_label(sdfg.state(state), &label, "inner");
                let inner = edit::wrap_in_map(sdfg, state, &inside, &label, inner)?;
                if rng.chance(50) {
                    edit::replace_node(sdfg, state, entry, NodeKind::MapEntry(map))?;
                    edit::unwrap_map(sdfg, state, inner)?;
                }
            }
        }
        Ok(Vec::new())
    });
}

fn outline(sdfg: &mut Sdfg, rng: &mut Rng) -> Result<(StateId, NodeId), EditError> {
    let (state, nodes) = pick_nodes(sdfg, rng);
    let origin = nodes.first().map_or("none".to_owned(), |id| sdfg.state(state).node(*id).label.clone());
    let label = edit::derived_label(sdfg.state(state), &origin, "call");
    edit::wrap_in_nested(sdfg, state, &nodes, &label).map(|node| (state, node))
}

#[test]
fn nodes_are_moved_into_a_nested_sdfg() {
    // What a consume scope took cannot be moved, and many programs have one: then other nodes are tried, in the program as it is.
    preserves(70, |sdfg, _, rng| {
        let before = text::print(sdfg);
        let moved = outline(sdfg, rng).or_else(|_| {
            assert_eq!(text::print(sdfg), before);
            outline(sdfg, rng)
        });
        moved.map(|_| Vec::new())
    });
}

#[test]
fn a_nested_sdfg_is_inlined() {
    preserves(60, |sdfg, _, rng| {
        let (state, node) = outline(sdfg, rng)?;
        if rng.chance(50) {
            // Other names inside, and other symbols.
            let NodeKind::Nested(nested) = sdfg.state(state).node(node).kind.clone() else { unreachable!() };
            for connector in nested.inputs.iter().chain(&nested.outputs) {
                // An input that is an output, too, is renamed once.
                let _ = edit::rename_connector(
                    sdfg,
                    state,
                    node,
                    &connector.name,
                    &format!("{}_in", connector.name),
                );
            }
        }
        edit::inline_nested(sdfg, state, node).map(|()| Vec::new())
    });
}

#[test]
fn what_passes_an_edge_gets_a_local_copy() {
    preserves(60, |sdfg, _, rng| {
        let mut refusal = EditError::NoNodes;
        for _ in 0..8 {
            let (state, _) = pick_nodes(sdfg, rng);
            let edges: Vec<_> = sdfg.state(state).edges().map(|(id, edge)| (id, edge.clone())).collect();
            let Some((id, edge)) = (!edges.is_empty()).then(|| rng.pick(&edges)) else { continue };
            if edge.memlet.resolution().is_some() {
                continue;
            }
            let name = edit::derived_container_name(sdfg, "copy", "local");
            match edit::add_local_copy(sdfg, state, id, &name, Storage::Default, Cover::Exact) {
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
    preserves(60, |sdfg, _, rng| {
        let mut refusal = EditError::NoNodes;
        for _ in 0..8 {
            let block = rng.pick(&blocks(sdfg, |kind| matches!(kind, BlockKind::State(_))));
            let BlockKind::State(state) = sdfg.block(block).kind else { unreachable!() };
            let graph = sdfg.state(state);
            let tree = ScopeTree::of(graph);
            let order = tree.children(None).to_vec();
            if order.len() < 2 {
                continue;
            }
            let first = order[..1 + rng.below(order.len() - 1)].iter().copied().collect();
            match edit::split_state(sdfg, block, &first) {
                Ok(second) if rng.chance(50) => {
                    return edit::merge_states(sdfg, block, second).map(|()| Vec::new());
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
    preserves(60, |sdfg, _, _| {
        let mut result = Err(EditError::NoNodes);
        // As many as possible, from the first on.
        for first in blocks(sdfg, |kind| matches!(kind, BlockKind::State(_))) {
            while let Some(id) =
                sdfg.get_block(first).and_then(|_| sdfg.transitions_from(first).first().copied())
            {
                match edit::merge_states(sdfg, first, sdfg.transition(id).dst) {
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
    preserves(60, |sdfg, _, rng| {
        let block = rng.pick(&blocks(sdfg, |_| true));
        match rng.below(3) {
            0 => {
                let before = edit::insert_state_before(sdfg, block)?;
                if rng.chance(50) {
                    edit::remove_empty_state(sdfg, before)?;
                }
            }
            1 => drop(edit::insert_state_after(sdfg, block)?),
            _ => {
                let parse = |text| sdfg::syntax::parse_expression(text).unwrap();
                let header = Loop {
                    symbol: Some(symbol("once")),
                    init: Some(parse("0")),
                    condition: parse("once < 1"),
                    update: Some(parse("once + 1")),
                    test_after: rng.chance(50),
                    unroll: false,
                    body: sdfg.body(),
                };
                let label = edit::derived_block_label(sdfg, &sdfg.block(block).label.clone(), "loop");
                edit::wrap_in_loop(sdfg, block, &label, header)?;
            }
        }
        Ok(Vec::new())
    });
}
