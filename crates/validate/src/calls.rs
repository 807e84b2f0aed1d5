//! Values of symbols at a call: numbers, sums, and certain iterations of the scopes around the call with the
//! values of the symbols in them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sdfg_graph::analysis::symbols::assigned_symbols;
use sdfg_graph::diagnostic::{Diagnostic, Element, ElementPath, Secondary};
use sdfg_graph::ir::{NestedSdfg, NodeId, SourceLoc};
use sdfg_language::symbolic::{Expr, Symbol};

use super::bounds;
use super::sample::may_run;
use super::scope_context::ScopeContext;
use super::site::{Program, Site};

/// Iterations that are kept.
const MOST: usize = 32;

/// One call of a nested SDFG, which scopes around it may make many times.
#[derive(Debug)]
pub(super) struct Call {
    /// Values that symbols have in all iterations.
    pub(super) given: Vec<(Symbol, Expr)>,
    /// Symbols that may have another value in each iteration, or change while the SDFG runs.
    varying: BTreeSet<Symbol>,
    /// The place of the call.
    pub(super) frame: ScopeContext,
    /// Values at that place of the symbols that keep theirs inside.
    pub(super) meant: Vec<(Symbol, Expr)>,
    /// Whether the call is made for some sample of the values of symbols.
    pub(super) is_made: bool,
    /// Iterations that run if the call is made at all.
    pub(super) iterations: Vec<Iteration>,
    path: ElementPath,
    loc: Option<SourceLoc>,
}

/// The values of some varying symbols in one iteration.
#[derive(Clone, Debug)]
pub(super) struct Iteration {
    pub(super) values: BTreeMap<Symbol, Expr>,
    /// Sources of the values, and their places.
    told: String,
}

impl Call {
    /// Facts from the call `node` of `nested`, which stands in `frame`.
    pub(super) fn of(
        outer: &Program<'_>,
        site: &Site<'_>,
        frame: &ScopeContext,
        node: NodeId,
        nested: &NestedSdfg,
    ) -> Arc<Call> {
        let mut varying: BTreeSet<Symbol> = assigned_symbols(&nested.sdfg).into_iter().collect();
        varying.extend(nested.inputs.iter().filter_map(|input| Symbol::new(&input.name).ok()));
        let is_fixed_outside = |symbol: &Symbol| {
            !frame.binds(symbol) && !frame.varies(symbol) && !outer.assigned.contains(symbol)
        };
        let mapping: BTreeMap<&Symbol, &Expr> =
            nested.symbol_mapping.iter().map(|(s, value)| (s, value)).collect();
        let meant = nested.sdfg.symbols().map(|(symbol, _)| {
            let value =
                mapping.get(symbol).map_or_else(|| Expr::symbol(symbol.clone()), |value| (*value).clone());
            (symbol, value)
        });
        let meant: BTreeMap<&Symbol, Expr> = meant.filter(|(symbol, _)| !varying.contains(*symbol)).collect();
        // A symbol means the same inside if it is handed on and the same in all iterations.
        let means_the_same = |symbol: &Symbol| {
            is_fixed_outside(symbol)
                && meant.get(symbol).is_some_and(|value| *value == Expr::symbol(symbol.clone()))
        };
        let says = |value: &Expr| value.free_symbols().iter().all(means_the_same);
        let (mut given, mut changing) = (Vec::new(), Vec::new());
        for (symbol, value) in &meant {
            if !value.free_symbols().iter().all(is_fixed_outside) {
                changing.push((*symbol, value));
            } else if says(value) && *value != Expr::symbol((*symbol).clone()) {
                given.push(((*symbol).clone(), value.clone()));
            }
        }
        let is_made = may_run(frame);
        let mut iterations: Vec<Iteration> = Vec::new();
        if !changing.is_empty() && is_made {
            for witness in bounds::witnesses(frame, &frame.assumptions) {
                let values =
                    changing.iter().map(|(symbol, value)| ((*symbol).clone(), value.substitute(&witness)));
                let values: BTreeMap<Symbol, Expr> = values.filter(|(_, value)| says(value)).collect();
                let is_new = iterations.iter().all(|iteration| iteration.values != values);
                if !values.is_empty() && is_new && iterations.len() < MOST {
                    iterations.push(Iteration { told: told(&changing, &witness), values });
                }
            }
        }
        varying.extend(changing.into_iter().map(|(symbol, _)| symbol.clone()));
        let path = site.path.to(Element::Node(site.end(node, None)));
        let meant = meant.into_iter().map(|(symbol, value)| (symbol.clone(), value)).collect();
        let (frame, loc) = (frame.clone(), site.node_loc(node).cloned());
        Arc::new(Call { given, varying, frame, meant, is_made, iterations, path, loc })
    }

    /// Whether a symbol may have another value in each iteration.
    pub(super) fn varies(&self, symbol: &Symbol) -> bool {
        self.varying.contains(symbol)
    }

    /// The finding with the place that gives symbols among `used` the values of a witness.
    pub(super) fn explain(
        &self,
        finding: Diagnostic,
        used: &BTreeSet<Symbol>,
        witness: &BTreeMap<Symbol, Expr>,
    ) -> Diagnostic {
        let has = |(symbol, value): (&Symbol, &Expr)| witness.get(symbol) == Some(value);
        let decides = |iteration: &&Iteration| {
            iteration.values.keys().any(|symbol| used.contains(symbol)) && iteration.values.iter().all(has)
        };
        match self.iterations.iter().find(decides) {
            None => finding,
            Some(iteration) => finding.also(Secondary {
                message: format!("the call gives {}", iteration.told),
                path: self.path.clone(),
                loc: self.loc.clone(),
            }),
        }
    }
}

/// Sources of the values of symbols, and their iteration: "`k = i + 1` in the iteration with i = 9".
fn told(changing: &[(&Symbol, &Expr)], witness: &BTreeMap<Symbol, Expr>) -> String {
    let given = changing.iter().map(|(symbol, value)| {
        if **value == Expr::symbol((*symbol).clone()) {
            format!("`{symbol}`")
        } else {
            format!("`{symbol} = {value}`")
        }
    });
    let given: Vec<String> = given.collect();
    let used: BTreeSet<Symbol> = changing.iter().flat_map(|(_, value)| value.free_symbols()).collect();
    let chosen = witness.iter().filter(|(symbol, _)| used.contains(*symbol));
    let chosen: Vec<String> = chosen.map(|(symbol, value)| format!("{symbol} = {value}")).collect();
    format!("{} in the iteration with {}", given.join(", "), chosen.join(", "))
}
