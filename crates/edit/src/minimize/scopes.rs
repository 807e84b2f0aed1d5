//! Reduction of scopes and subsets.

use std::collections::BTreeMap;

use sdfg_graph::analysis::is_leaf;
use sdfg_graph::ir::draft::{DraftSdfg, DraftState};
use sdfg_graph::ir::{
    Consume, EdgeId, Flow, Map, Memlet, NodeId, NodeKind, ScopeExit, Sdfg, StateId, Volume,
};
use sdfg_language::subset::{Range, Subset};
use sdfg_language::symbolic::{Expr, Symbol};

use super::dataflow::remove_edge;
use super::step::{Change, edited};

/// Scopes replaced by their contents, in the first iteration of a map or the first processing element.
pub(super) fn unwrapped(sdfg: &Sdfg) -> Vec<Change> {
    let mut changes = Vec::new();
    for (state, graph) in sdfg.states() {
        for (entry, node) in graph.nodes().filter(|(_, node)| node.kind.is_scope_entry()) {
            let what = format!("the contents of `{}` in its place", node.label);
            if let NodeKind::ConsumeEntry(_) = node.kind {
                let what = format!("{what}, without its stream");
                changes.push(Change::new(what, move |sdfg| {
                    let graph = sdfg.get_state(state)?;
                    let is_stream = |edge: &EdgeId| graph.edge(*edge).in_port() == Some(Consume::PORT);
                    let stream = graph.in_edges(entry).into_iter().find(is_stream)?;
                    consume_as_map(sdfg, state, entry)?;
                    remove_edge(sdfg, state, stream)?;
                    unwrap(sdfg, state, entry)
                }));
            }
            changes.push(Change::new(what, move |sdfg| {
                consume_as_map(sdfg, state, entry)?;
                unwrap(sdfg, state, entry)
            }));
        }
    }
    changes
}

fn unwrap(sdfg: &mut Sdfg, state: StateId, entry: NodeId) -> Option<()> {
    while !map_mut(sdfg, state, entry)?.params.is_empty() {
        fix_first(sdfg, state, entry, 0)?;
    }
    edited(sdfg, |editor| editor.unwrap_map(state, entry))
}

/// Makes a map over the processing elements of a consume scope; its stream passes like everything else.
fn consume_as_map(sdfg: &mut Sdfg, state: StateId, entry: NodeId) -> Option<()> {
    let graph = sdfg.get_state(state)?;
    let NodeKind::ConsumeEntry(consume) = &graph.get_node(entry)?.kind else { return Some(()) };
    let range = Range::new(0, consume.elements.clone());
    let map = Map::new(vec![consume.element.clone()], Subset(vec![range]));
    let exit = graph.exit_of(entry)?;
    let graph = sdfg.state_mut(state);
    graph.node_mut(entry).kind = NodeKind::MapEntry(map);
    graph.node_mut(exit).kind = NodeKind::MapExit(ScopeExit { entry });
    Some(())
}

/// Maps with one parameter less, which has its first value.
pub(super) fn without_parameters(sdfg: &Sdfg) -> Vec<Change> {
    let mut changes = Vec::new();
    for (state, entry, label, map) in maps(sdfg).filter(|(.., map)| map.params.len() > 1) {
        for (at, param) in map.params.iter().enumerate() {
            let (what, param) = (format!("without the parameter `{param}` of `{label}`"), param.clone());
            changes.push(Change::new(what, move |sdfg| {
                let map = map_mut(sdfg, state, entry)?;
                // Those before it may have gone.
                let at = map.params.iter().take(at + 1).position(|other| *other == param)?;
                if map.params.len() < 2 {
                    return None;
                }
                fix_first(sdfg, state, entry, at)
            }));
        }
    }
    changes
}

fn maps(sdfg: &Sdfg) -> impl Iterator<Item = (StateId, NodeId, &str, &Map)> {
    sdfg.states().flat_map(|(state, graph)| {
        graph.nodes().filter_map(move |(id, node)| {
            let NodeKind::MapEntry(map) = &node.kind else { return None };
            Some((state, id, node.label.as_str(), map))
        })
    })
}

fn map_mut(sdfg: &mut Sdfg, state: StateId, entry: NodeId) -> Option<&mut Map> {
    sdfg.get_state(state)?.get_node(entry)?;
    let NodeKind::MapEntry(map) = &mut sdfg.state_mut(state).node_mut(entry).kind else { return None };
    Some(map)
}

/// Puts the first value of a parameter in its place, and takes the parameter away.
fn fix_first(sdfg: &mut Sdfg, state: StateId, entry: NodeId, at: usize) -> Option<()> {
    let map = map_mut(sdfg, state, entry)?;
    if at >= map.params.len() || at >= map.ranges.rank() {
        return None;
    }
    let values = BTreeMap::from([(map.params.remove(at), map.ranges.0.remove(at).begin)]);
    map.ranges = map.ranges.substitute(&values);
    edited(sdfg, |editor| editor.substitute_in_scope(state, Some(entry), &values))
}

/// Maps with fewer iterations, and innermost memlets of fewer elements or simpler places.
pub(super) fn smaller_ranges(sdfg: &Sdfg) -> Vec<Change> {
    let mut changes = Vec::new();
    for (state, entry, label, map) in maps(sdfg) {
        for (at, range) in map.ranges.0.iter().enumerate() {
            for smaller in smaller(range) {
                let what = format!("the range `{smaller}` in `{label}`");
                changes.push(Change::new(what, move |sdfg| {
                    *map_mut(sdfg, state, entry)?.ranges.0.get_mut(at)? = smaller.clone();
                    Some(())
                }));
            }
        }
    }
    for (state, graph) in sdfg.states() {
        for (entry, node) in graph.nodes() {
            let NodeKind::ConsumeEntry(consume) = &node.kind else { continue };
            for smaller in smaller_consumes(consume) {
                let what = format!("a plainer consume scope `{}`", node.label);
                changes.push(Change::new(what, move |sdfg| {
                    sdfg.get_state(state)?.get_node(entry)?;
                    sdfg.state_mut(state).node_mut(entry).kind = NodeKind::ConsumeEntry(smaller.clone());
                    Some(())
                }));
            }
        }
        for (id, edge) in graph.edges().filter(|(id, _)| is_leaf(graph, *id)) {
            for memlet in smaller_memlets(&edge.memlet) {
                let what = format!(
                    "less through the edge from `{}` to `{}`",
                    graph.node(edge.src).label,
                    graph.node(edge.dst).label
                );
                changes.push(Change::new(what, move |sdfg| set_memlet(sdfg, state, id, &memlet)));
            }
        }
    }
    changes
}

/// Consume scopes with one processing element, with elements taken one by one, and without a condition.
fn smaller_consumes(consume: &Consume) -> Vec<Consume> {
    let mut found = vec![
        Consume { elements: Expr::one(), ..consume.clone() },
        Consume { chunk: Expr::one(), ..consume.clone() },
        Consume { condition: None, ..consume.clone() },
    ];
    found.retain(|smaller| smaller != consume);
    found
}

fn set_memlet(sdfg: &mut Sdfg, state: StateId, edge: EdgeId, memlet: &Memlet) -> Option<()> {
    sdfg.get_state(state)?.get_edge(edge)?;
    *sdfg.state_mut(state).memlet_mut(edge) = memlet.clone();
    Some(())
}

/// Ranges with fewer or simpler values, the smallest first.
fn smaller(range: &Range) -> Vec<Range> {
    let begin = &range.begin;
    let mut found = vec![
        Range::index(0),
        Range::index(begin.clone()),
        Range::new(0, 2),
        Range::new(begin.clone(), begin + 2),
        Range { begin: Expr::zero(), ..range.clone() },
        Range::new(begin.clone(), range.end.clone()),
    ];
    if let (Some(first), Some(end)) = (begin.as_int(), range.end.as_int())
        && end - first > 2
    {
        found.push(Range::new(first, first + (end - first) / 2));
    }
    found.retain(|smaller| smaller != range);
    found
}

/// Memlets with a smaller or simpler range in one dimension; for copies with one element on each side.
fn smaller_memlets(memlet: &Memlet) -> Vec<Memlet> {
    let exact = memlet.accesses().next().map(|access| access.volume());
    let with = |change: &dyn Fn(&mut Subset)| {
        let mut changed = memlet.clone();
        changed.accesses_mut().for_each(|access| change(access.subset_mut()));
        let volume = changed.accesses().next().map(|access| access.volume());
        if let Some(volume) = volume.filter(|_| exact.as_ref() == Some(&memlet.volume)) {
            changed.volume = volume;
        }
        changed
    };
    let element = with(&|subset| {
        subset.0 = subset.0.iter().map(|range| Range::index(range.begin.clone())).collect();
    });
    let mut found = vec![element];
    if let Flow::Read(access) | Flow::Write { to: access, .. } = &memlet.flow {
        for (at, range) in access.subset().0.iter().enumerate() {
            for simpler in simpler_range(range) {
                found.push(with(&|subset| {
                    if let Some(old) = subset.0.get_mut(at) {
                        *old = simpler.clone();
                    }
                }));
            }
        }
    }
    if !matches!(memlet.volume, Volume::Exact(_))
        && let Some(volume) = exact
    {
        found.push(Memlet { volume, ..memlet.clone() });
    }
    found.retain(|smaller| smaller != memlet);
    found
}

fn simpler_range(range: &Range) -> Vec<Range> {
    if !range.is_index() {
        return vec![Range::index(range.begin.clone()), Range { begin: Expr::zero(), ..range.clone() }];
    }
    let symbols =
        range.begin.free_symbols().into_iter().map(|symbol: Symbol| Range::index(Expr::symbol(symbol)));
    std::iter::once(Range::index(0)).chain(symbols).filter(|simpler| simpler != range).collect()
}
