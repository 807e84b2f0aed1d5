//! Signs of symbols: DaCe's C++ rounds quotients towards zero, ours round down.
//!
//! A symbol is non-negative if it is a size in the shape of an argument. It is also non-negative if every value
//! that it is given is non-negative under the assumption that the other symbols are (induction over
//! assignments).

use std::collections::{BTreeMap, BTreeSet};

use sdfg::ir::{NestedSdfg, NodeKind, Sdfg, State};
use sdfg::subset::Range;
use sdfg::symbolic::{Assumptions, Expr, Symbol};

/// Lower bounds of everything that gives symbols a value: `None` where nothing is known.
#[derive(Default)]
struct Values(BTreeMap<Symbol, Vec<Option<Expr>>>);

impl Values {
    fn add(&mut self, symbol: Symbol, least: Option<Expr>) {
        self.0.entry(symbol).or_default().push(least);
    }
}

/// Facts about the symbols of an SDFG; `call` is the node that calls it, with the facts there.
pub(super) fn known_signs(sdfg: &Sdfg, call: Option<(&NestedSdfg, &Assumptions)>) -> Assumptions {
    let in_shapes = symbols_of_shapes(sdfg);
    let mut values = Values::default();
    for (symbol, _) in sdfg.symbols() {
        let is_given = in_shapes.contains(symbol) || call.is_some_and(|call| gives_nonnegative(symbol, call));
        values.add(symbol.clone(), is_given.then(Expr::zero));
    }
    for (_, transition) in sdfg.transitions() {
        for (symbol, value) in &transition.assignments {
            values.add(symbol.clone(), Expr::from_expression(value).ok());
        }
    }
    let mut ranges: BTreeMap<&Symbol, &Range> = BTreeMap::new();
    for (_, state) in sdfg.states() {
        of_scopes(state, &mut values, &mut ranges);
    }
    let mut known = nonnegative(&values);
    // In its scope, a parameter that no other scope has lies in its range.
    for (param, range) in ranges {
        if range.step.is_one() && values.0.get(param).is_some_and(|values| values.len() == 1) {
            let last = &range.end - Expr::one();
            known.set_range(param.clone(), Some(range.begin.clone()), Some(last));
        }
    }
    known
}

/// Symbols that are sizes in the shapes of arguments.
fn symbols_of_shapes(sdfg: &Sdfg) -> BTreeSet<Symbol> {
    sdfg.arguments().flat_map(|(_, container)| container.size_symbols()).collect()
}

/// Whether a call gives a symbol a value that is never below zero.
fn gives_nonnegative(symbol: &Symbol, (nested, known): (&NestedSdfg, &Assumptions)) -> bool {
    // Symbols that are read from data are connectors.
    if nested.inputs.iter().any(|connector| connector.name == symbol.as_str()) {
        return false;
    }
    let value = nested.symbol_mapping.iter().find(|(inner, _)| inner == symbol).map(|(_, value)| value);
    let value = value.cloned().unwrap_or_else(|| Expr::symbol(symbol.clone()));
    value.is_nonnegative(known).is_proved()
}

/// Adds what the scopes of a state bind, and the ranges of parameters.
fn of_scopes<'s>(state: &'s State, values: &mut Values, ranges: &mut BTreeMap<&'s Symbol, &'s Range>) {
    for (_, node) in state.nodes() {
        if let NodeKind::MapEntry(map) = &node.kind {
            for (param, range) in map.params.iter().zip(&map.ranges.0) {
                let descends = range.step.as_int().is_some_and(|step| step < 0);
                let least = if descends { &range.end + Expr::one() } else { range.begin.clone() };
                values.add(param.clone(), Some(least));
                ranges.insert(param, range);
            }
        } else if let NodeKind::ConsumeEntry(consume) = &node.kind {
            values.add(consume.element.clone(), Some(Expr::zero()));
        }
    }
    // Connectors that give symbols their values from data.
    for (_, edge) in state.edges() {
        let binds = matches!(state.node(edge.dst).kind, NodeKind::MapEntry(_));
        if let Some(symbol) = edge.dst_connector.as_deref().filter(|_| binds).map(Symbol::new) {
            symbol.into_iter().for_each(|symbol| values.add(symbol, None));
        }
    }
}

/// The largest set of symbols of which each is not below zero if the others are not.
fn nonnegative(values: &Values) -> Assumptions {
    let mut left: BTreeSet<&Symbol> = values.0.keys().collect();
    loop {
        let mut known = Assumptions::new();
        for symbol in &left {
            known.nonnegative((*symbol).clone());
        }
        let holds = |value: &Option<Expr>| {
            value.as_ref().is_some_and(|value| value.is_nonnegative(&known).is_proved())
        };
        let before = left.len();
        left.retain(|symbol| values.0.get(*symbol).is_some_and(|values| values.iter().all(holds)));
        if left.len() == before {
            return known;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_not_below_zero_where_all_their_values_are_not() {
        let text = "sdfg p {
          symbol N: i64
          symbol shift: i64
          array A: f64[N]
          state begin {}
          -> body with (up = 0, down = N, moved = shift, both = 0)
          state body {
            access A
            map m [i = 0:N, j = -2:i] {
              tasklet t () -> (o) { o = 0.0 }
              t.o -> m.A: A[i]
            }
            m.A -> A
            map other [k = N - 1:-1:-1] {
              tasklet u () -> (o) { o = 0.0 }
              u.o -> other.A: A[k]
            }
            order A -> other
            access B = A
            other.A -> B
          }
          -> body if up < N with (up = up + 1, down = down - 1, moved = moved + up, both = both + moved)
        }";
        let sdfg = sdfg::text::parse("p", text).unwrap_or_else(|errors| panic!("{errors:?}"));
        let known = known_signs(&sdfg, None);
        let signed = |name: &str| !Expr::sym(name).is_nonnegative(&known).is_proved();
        let negative: Vec<&str> = ["N", "shift", "up", "down", "moved", "both", "i", "j", "k"]
            .into_iter()
            .filter(|name| signed(name))
            .collect();
        assert_eq!(negative, ["shift", "down", "moved", "both", "j"]);
        let difference: Expr = "N - i".parse().unwrap();
        assert!(difference.is_nonnegative(&known).is_proved());
    }
}
