//! Origins of values by name: the order in which a refinement changes the arguments of a program.
//!
//! An index or bound that traps has a value that symbols, assignments and containers compute. [`Origins`] relates each name
//! to those that its values come from, in all nested SDFGs together. Equal names of different SDFGs count as one: the
//! relation orders a search, and decides nothing.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::interpret::{Trap, TrapKind};
use sdfg::ir::{BlockKind, EdgeId, NodeKind, Sdfg, State};
use sdfg::path::Target;
use sdfg::subset::Subset;
use sdfg::symbolic::{Expr, Symbol};
use sdfg::syntax::Expression;

/// The names that values of each name come from.
#[derive(Debug, Default)]
pub(super) struct Origins(BTreeMap<String, BTreeSet<String>>);

impl Origins {
    /// The origins of all names of a program.
    pub(super) fn of(sdfg: &Sdfg) -> Self {
        let mut origins = Origins::default();
        origins.add_sdfg(sdfg);
        origins
    }

    fn add(&mut self, name: &str, from: impl IntoIterator<Item = String>) {
        let from = from.into_iter().filter(|origin| origin != name);
        self.0.entry(name.to_owned()).or_default().extend(from);
    }

    fn add_sdfg(&mut self, sdfg: &Sdfg) {
        for (_, container) in sdfg.containers() {
            let extents = container.shape().iter().flat_map(|extent| names(extent.free_symbols()));
            self.add(&container.name, extents);
        }
        for (_, transition) in sdfg.transitions() {
            for (symbol, value) in &transition.assignments {
                self.add(symbol.as_str(), read_by(value));
            }
        }
        for (_, block) in sdfg.blocks() {
            if let BlockKind::Loop(repeated) = &block.kind
                && let Some(symbol) = &repeated.symbol
            {
                let values = repeated.init.iter().chain([&repeated.condition]).chain(&repeated.update);
                self.add(symbol.as_str(), values.flat_map(read_by));
            }
        }
        for (_, state) in sdfg.states() {
            self.add_state(sdfg, state);
        }
    }

    fn add_state(&mut self, sdfg: &Sdfg, state: &State) {
        for (id, node) in state.nodes() {
            let used =
                |edges: Vec<EdgeId>| edges.into_iter().flat_map(move |edge| used_by(sdfg, state, edge));
            let into: BTreeSet<String> = used(state.in_edges(id)).collect();
            match &node.kind {
                NodeKind::MapEntry(map) => {
                    for (param, range) in map.params.iter().zip(&map.ranges.0) {
                        self.add(param.as_str(), names(range.free_symbols()));
                    }
                }
                NodeKind::Nested(nested) => {
                    for (symbol, value) in &nested.symbol_mapping {
                        self.add(symbol.as_str(), names(value.free_symbols()));
                    }
                    for edge in state.in_edges(id).into_iter().chain(state.out_edges(id)) {
                        let found = state.edge(edge);
                        for connector in found.src_connector.iter().chain(&found.dst_connector) {
                            self.add(connector, used_by(sdfg, state, edge));
                        }
                    }
                    self.add_sdfg(&nested.sdfg);
                }
                _ => {}
            }
            for edge in state.out_edges(id) {
                for access in state.edge(edge).memlet.accesses() {
                    self.add(&sdfg.container(access.container).name, into.iter().cloned());
                }
            }
        }
    }

    /// The name that a name gets its value from, from one assignment or nested SDFG to the next, as far as one that `is_source`.
    /// `None` if there are several on the way.
    pub(super) fn source(&self, name: &str, is_source: &dyn Fn(&str) -> bool) -> Option<String> {
        let mut name = name;
        let mut visited = BTreeSet::new();
        while !is_source(name) {
            if !visited.insert(name) {
                return None;
            }
            let mut from = self.0.get(name)?.iter();
            name = from.next().filter(|_| from.next().is_none())?;
        }
        Some(name.to_owned())
    }

    /// The distance of each name from those that a trap is about: 0 for these, 1 for what they come from, and so on.
    pub(super) fn distances(&self, sdfg: &Sdfg, trap: &Trap) -> BTreeMap<String, usize> {
        let mut distances = BTreeMap::new();
        let mut next: BTreeSet<String> = about(sdfg, trap);
        let mut distance = 0;
        while !next.is_empty() {
            distances.extend(next.iter().map(|name| (name.clone(), distance)));
            distance += 1;
            let from = next.iter().filter_map(|name| self.0.get(name)).flatten();
            next = from.filter(|name| !distances.contains_key(*name)).cloned().collect();
        }
        distances
    }
}

fn names(symbols: BTreeSet<Symbol>) -> impl Iterator<Item = String> {
    symbols.into_iter().map(|symbol| symbol.as_str().to_owned())
}

fn read_by(value: &Expression) -> Vec<String> {
    value.names().into_iter().map(str::to_owned).collect()
}

/// Containers and symbols in the memlet of an edge.
fn used_by(sdfg: &Sdfg, state: &State, edge: EdgeId) -> Vec<String> {
    let mut found = Vec::new();
    for access in state.edge(edge).memlet.accesses() {
        found.push(sdfg.container(access.container).name.clone());
        found.extend(names(access.subset().free_symbols()));
    }
    found
}

/// Names in a trap, and in the element that trapped.
fn about(sdfg: &Sdfg, trap: &Trap) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    if let TrapKind::OutOfBounds { container, .. } = &trap.kind {
        found.insert(container.clone());
    }
    let Some((inner, target)) = trapped(sdfg, trap) else { return found };
    if let Target::Transition(id) = target {
        let transition = inner.transition(id);
        found.extend(transition.expressions().flat_map(read_by));
    }
    for (state, edge) in edges_at(inner, &target) {
        found.extend(used_by(inner, state, edge));
    }
    found
}

/// Constant ends of ranges in the memlets of the element that trapped: extents of arguments may have to be these.
pub(super) fn constant_ends(sdfg: &Sdfg, trap: &Trap) -> BTreeSet<i64> {
    let Some((inner, target)) = trapped(sdfg, trap) else { return BTreeSet::new() };
    let edges = edges_at(inner, &target);
    let accesses = edges.iter().flat_map(|(state, edge)| state.edge(*edge).memlet.accesses());
    let ranges = accesses.flat_map(|access| &access.subset().0);
    ranges.filter_map(|range| range.end.as_int()).collect()
}

/// A container where an access to it trapped.
pub(super) struct Place<'s> {
    /// Its extents there.
    pub(super) shape: &'s [Expr],
    /// The subsets of it in the memlets of the element that trapped.
    pub(super) subsets: Vec<&'s Subset>,
}

impl<'s> Place<'s> {
    /// `None` if the place is not known.
    pub(super) fn of(sdfg: &'s Sdfg, trap: &Trap, container: &str) -> Option<Self> {
        let (inner, target) = trapped(sdfg, trap)?;
        let id = inner.find_container(container)?;
        let edges = edges_at(inner, &target);
        let accesses = edges.iter().flat_map(|(state, edge)| state.edge(*edge).memlet.accesses());
        let subsets = accesses.filter(|access| access.container == id).map(|access| access.subset());
        Some(Place { shape: inner.container(id).shape(), subsets: subsets.collect() })
    }
}

/// The element of a trap, with its SDFG.
fn trapped<'s>(sdfg: &'s Sdfg, trap: &Trap) -> Option<(&'s Sdfg, Target)> {
    let place = trap.path.resolve(sdfg).ok()?;
    Some((place.sdfg(sdfg)?, place.target))
}

/// An edge, or the edges at a node.
fn edges_at<'s>(sdfg: &'s Sdfg, target: &Target) -> Vec<(&'s State, EdgeId)> {
    match target {
        Target::Edge(state, edge) => vec![(sdfg.state(*state), *edge)],
        Target::Node(state, node) => {
            let state = sdfg.state(*state);
            let edges = state.in_edges(*node).into_iter().chain(state.out_edges(*node));
            edges.map(|edge| (state, edge)).collect()
        }
        Target::Sdfg
        | Target::Symbol(_)
        | Target::Container(_)
        | Target::Block(_)
        | Target::Transition(_)
        | Target::Connector(..) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A symbol of a called SDFG has its value from the caller, and an argument from what is bound to it.
    #[test]
    fn names_of_called_sdfgs_come_from_the_caller() {
        let text = "sdfg p {
  symbol N: i64
  array A: f64[N]
  state s {
    access A
    access out = A
    nested f (x) -> (x) with (n = N) sdfg f {
      symbol n: i64
      array x: f64[n]
      for l: i = 0:n {
        state t {
          access x
          tasklet one () -> (y) { y = 1 }
          one.y -> x: x[i]
        }
      }
    }
    A -> f.x: A[0:N]
    f.x -> out: A[0:N]
  }
}";
        let program = sdfg::text::parse("p.sdft", text).unwrap_or_else(|errors| panic!("{errors:?}"));
        let origins = Origins::of(&program);
        assert_eq!(origins.source("n", &|name| name == "N").as_deref(), Some("N"));
        assert!(origins.0["x"].contains("A") && origins.0["i"].contains("n"));
    }
}
