//! Facts at one place of a program: symbols with a value, and facts about their values.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sdfg_graph::analysis::ScopeTree;
use sdfg_graph::analysis::executions::Frequency;
use sdfg_graph::analysis::symbols::UNDECLARED_SYMBOL;
use sdfg_graph::diagnostic::{Code, Diagnostic};
use sdfg_graph::ir::{BlockId, NodeId, NodeKind, Sdfg, StateId};
use sdfg_graph::workspace::did_you_mean;
use sdfg_language::dtype::ScalarType;
use sdfg_language::subset::{Range, Subset};
use sdfg_language::symbolic::{Assumptions, EvalError, Expr, Symbol, Truth};

use super::calls::Call;
use super::persistent_set::PersistentSet;
use super::site::{Findings, Program, Site};

/// A scope parameter with the values that it takes.
#[derive(Clone, Debug)]
pub(super) struct Parameter {
    pub(super) symbol: Symbol,
    /// Smallest and largest value of a scope that runs at all; `None` where the direction of the range is not known.
    pub(super) ends: Option<(Expr, Expr)>,
    /// Number of values.
    pub(super) count: Expr,
}

/// Symbols and assumptions at the top of a state or inside a scope.
#[derive(Clone, Debug)]
pub(super) struct ScopeContext {
    pub(super) defined: PersistentSet,
    pub(super) assumptions: Assumptions,
    /// Parameters of the scopes around, the outermost first.
    pub(super) parameters: Vec<Parameter>,
    /// Symbols of counted loops around that run the state in each of their iterations, the outermost first.
    pub(super) loops: Vec<Parameter>,
    /// Whether a range around is provably empty, a condition never holds, or no call is known to be made: the opposite would
    /// contradict the assumptions, and so prove anything.
    pub(super) never_runs: bool,
    /// Whether conditions may keep the state from running for some values of the symbols.
    pub(super) is_guarded: bool,
    /// Expressions that are at least 0 where conditions let the state run.
    pub(super) conditions: Arc<[Expr]>,
    /// The call that runs the SDFG.
    pub(super) call: Option<Arc<Call>>,
    /// Values of symbols in iterations that run this place.
    pub(super) calls: Vec<BTreeMap<Symbol, Expr>>,
    /// Symbols that the scopes around bind; they hide others of their name.
    bound: PersistentSet,
}

impl ScopeContext {
    /// Facts outside of scopes: symbols in shapes of arguments are non-negative, and so are those of unsigned
    /// types; nothing is known about others. A symbol that control flow assigns may have any value later.
    pub(super) fn outermost(program: &Program<'_>, defined: PersistentSet) -> Self {
        ScopeContext {
            defined,
            assumptions: program.outermost_facts().clone(),
            parameters: Vec::new(),
            loops: Vec::new(),
            never_runs: program.call.as_ref().is_some_and(|call| !call.is_made),
            is_guarded: false,
            conditions: Arc::default(),
            call: program.call.clone(),
            calls: Vec::new(),
            bound: PersistentSet::new(),
        }
    }

    /// ScopeContext of a state.
    pub(super) fn of_state(program: &Program<'_>, state: StateId, defined: PersistentSet) -> Self {
        match program.block_of(state) {
            Some(block) => ScopeContext::of_block(program, block, defined),
            None => ScopeContext::outermost(program, defined),
        }
    }

    /// ScopeContext of a block: the surrounding counted loops give ranges to their symbols.
    pub(super) fn of_block(program: &Program<'_>, block: BlockId, defined: PersistentSet) -> Self {
        let mut frame = ScopeContext::outermost(program, defined);
        let executions = program.executions().of_block(program.sdfg, block);
        frame.is_guarded = executions.frequency != Frequency::Once;
        // A condition may keep the state from running with just these values.
        if !frame.is_guarded {
            frame.assume_given(program);
        }
        if let Some(call) = program.call.as_ref().filter(|_| !frame.is_guarded) {
            frame.calls = call.iterations.iter().map(|iteration| iteration.values.clone()).collect();
        }
        for (symbol, range, is_certain) in super::repetition::counted_around(program, block) {
            let Some((first, last)) = ends(&range) else {
                frame.calls.clear();
                continue;
            };
            // Of a symbol of two loops, the inner one decides.
            frame.forget_loop(&symbol);
            frame.assume_between(&symbol, &range, (&first, &last));
            if is_certain {
                frame.loops.push(Parameter { symbol, ends: Some((first, last)), count: range.size() });
            }
        }
        // A condition around, or on the way, that never holds.
        if frame.is_guarded {
            let known = program.facts().where_reached(program.sdfg, block);
            let never = |fact: &Expr| fact.is_nonnegative(&frame.assumptions).is_refuted();
            frame.never_runs |= known.facts().iter().any(never);
            frame.conditions = known.facts().into();
        }
        frame
    }

    /// Facts from the caller about symbols that keep their value.
    fn assume_given(&mut self, program: &Program<'_>) {
        for (symbol, value) in program.call.iter().flat_map(|call| &call.given) {
            if !program.assigned.contains(symbol) {
                self.assumptions.set_range(symbol.clone(), Some(value.clone()), Some(value.clone()));
            }
        }
    }

    /// The frame within a range that a parameter runs through, given that it does at least once.
    fn bind(&mut self, symbol: &Symbol, range: &Range) {
        // A value from the caller is that of the symbol that is hidden.
        let mut given = self.call.iter().flat_map(|call| &call.given);
        if given.any(|(hidden, _)| hidden == symbol) {
            self.assumptions.set_range(symbol.clone(), None, None);
        }
        // A name that shapes or outer scopes use with another meaning is reported; nothing is concluded from it.
        let is_hidden = self.assumptions.range_of(symbol) != (None, None);
        self.forget_loop(symbol);
        let ends = ends(range).filter(|_| !is_hidden);
        if let Some((first, last)) = &ends {
            self.assume_between(symbol, range, (first, last));
        }
        self.define([symbol.clone()]);
        self.parameters.push(Parameter { symbol: symbol.clone(), ends, count: range.size() });
    }

    /// A loop whose symbol is hidden: that it runs in an iteration of the call can no longer be told.
    fn forget_loop(&mut self, symbol: &Symbol) {
        let before = self.loops.len();
        self.loops.retain(|outer| outer.symbol != *symbol);
        if self.loops.len() < before {
            self.calls.clear();
        }
    }

    /// Within a range that has values, which these are the ends of.
    fn assume_between(&mut self, symbol: &Symbol, range: &Range, (first, last): (&Expr, &Expr)) {
        // The last value of a strided range tells less than its bounds.
        let is_empty = || match first.le(last, &self.assumptions) {
            Truth::Proved => false,
            Truth::Refuted => true,
            Truth::Unknown => range.is_empty(&self.assumptions).is_proved(),
        };
        self.never_runs |= is_empty();
        self.assumptions.set_range(symbol.clone(), Some(first.clone()), Some(last.clone()));
        self.assumptions.assume_nonnegative(last - first);
    }

    /// Gives symbols a value in a scope.
    fn define(&mut self, symbols: impl IntoIterator<Item = Symbol>) {
        for symbol in symbols {
            self.calls.iter_mut().for_each(|values| drop(values.remove(&symbol)));
            self.defined.insert(symbol.clone());
            self.bound.insert(symbol);
        }
    }

    /// Whether a scope around gives the symbol its value.
    pub(super) fn binds(&self, symbol: &Symbol) -> bool {
        self.bound.contains(symbol)
    }

    /// Whether a symbol may have another value in each iteration of the scopes around the call that runs the SDFG.
    pub(super) fn varies(&self, symbol: &Symbol) -> bool {
        self.call.as_ref().is_some_and(|call| call.varies(symbol))
    }

    /// Whether a witness tells what symbols are in an iteration of the call.
    pub(super) fn is_of_call(&self, witness: &BTreeMap<Symbol, Expr>) -> bool {
        self.calls.iter().flat_map(BTreeMap::keys).any(|symbol| witness.contains_key(symbol))
    }

    /// Whether the symbol is a parameter of a scope around.
    pub(super) fn is_parameter(&self, symbol: &Symbol) -> bool {
        self.parameters.iter().any(|parameter| parameter.symbol == *symbol)
    }

    /// Names and types of the symbols that have a value, as code sees them.
    pub(super) fn typed(&self, sdfg: &Sdfg) -> Vec<(String, ScalarType)> {
        let ty = |symbol: &Symbol| {
            if self.bound.contains(symbol) { UNDECLARED_SYMBOL } else { type_of(sdfg, symbol) }
        };
        self.defined.iter().map(|symbol| (symbol.as_str().to_owned(), ty(symbol))).collect()
    }

    /// As [`ScopeContext::typed`], of the symbols that are among some names.
    pub(super) fn typed_among(&self, sdfg: &Sdfg, names: &BTreeSet<&str>) -> Vec<(String, ScalarType)> {
        let symbols = among(&self.defined, names).into_iter();
        let ty = |symbol: &Symbol| {
            if self.bound.contains(symbol) { UNDECLARED_SYMBOL } else { type_of(sdfg, symbol) }
        };
        symbols.map(|symbol| (symbol.as_str().to_owned(), ty(&symbol))).collect()
    }

    /// As [`ScopeContext::typed`], for control flow.
    pub(super) fn typed_symbols(sdfg: &Sdfg, defined: &PersistentSet) -> Vec<(String, ScalarType)> {
        defined.iter().map(|symbol| (symbol.as_str().to_owned(), type_of(sdfg, symbol))).collect()
    }

    /// As [`ScopeContext::typed_among`], for control flow.
    pub(super) fn typed_symbols_among(
        sdfg: &Sdfg,
        defined: &PersistentSet,
        names: &BTreeSet<&str>,
    ) -> Vec<(String, ScalarType)> {
        let symbols = among(defined, names).into_iter();
        symbols.map(|symbol| (symbol.as_str().to_owned(), type_of(sdfg, &symbol))).collect()
    }

    /// Checks an expression: its symbols have values, it has one, and it is an integer whatever they are.
    ///
    /// `what` is a noun for the expression, `error` makes a diagnostic at its place.
    pub(super) fn check(
        &self,
        sdfg: &Sdfg,
        expression: &Expr,
        what: &str,
        error: &dyn Fn(Code, String) -> Diagnostic,
        findings: &mut Findings,
    ) {
        if expression.mentions(&mut |symbol| !self.defined.contains(symbol)) {
            let undefined = expression.free_symbols().into_iter();
            for symbol in undefined.filter(|symbol| !self.defined.contains(symbol)) {
                findings.push(self.undefined(
                    sdfg,
                    symbol.as_str(),
                    &format!("the {what} `{expression}`"),
                    error,
                ));
            }
        }
        if let Some(problem) = expression.never_evaluates() {
            let message = format!("the {what} `{expression}` has no value: {problem}");
            findings.push(error(Code::NonIntegral, message).suggest(match problem {
                EvalError::UnknownFunction(_) => {
                    "compute it on a transition, as in `-> s with (n = i64(sqrt(N)))`, and name the symbol here"
                }
                EvalError::Overflow => "sizes, bounds and indices are integers of 64 bits",
                EvalError::DivisionByZero
                | EvalError::NegativeExponent
                | EvalError::UnknownSymbol(_)
                | EvalError::NotIntegral { .. } => "divide by something else, or by a symbol",
            }));
        } else if !expression.is_integral(&self.assumptions).is_proved() {
            let message =
                format!("the {what} `{expression}` is not an integer for all values of its symbols");
            let suggestion = "divide with `//` to round down, or with ceil_div(a, b) to round up";
            findings.push(error(Code::NonIntegral, message).suggest(suggestion));
        }
    }

    /// As [`ScopeContext::check`], for all parts of a subset; with `steps`, also whether its steps lead on.
    pub(super) fn check_subset(
        &self,
        sdfg: &Sdfg,
        subset: &Subset,
        steps: bool,
        error: &dyn Fn(Code, String) -> Diagnostic,
        findings: &mut Findings,
    ) {
        for range in &subset.0 {
            if range.is_index() {
                self.check(sdfg, &range.begin, "index", error, findings);
                continue;
            }
            for (part, what) in
                [(&range.begin, "begin"), (&range.end, "end"), (&range.step, "step"), (&range.tile, "tile")]
            {
                self.check(sdfg, part, what, error, findings);
            }
            if steps {
                bad_step(range, error, findings);
            }
        }
    }

    /// A diagnostic that a name has no value.
    pub(super) fn undefined(
        &self,
        sdfg: &Sdfg,
        name: &str,
        user: &str,
        error: &dyn Fn(Code, String) -> Diagnostic,
    ) -> Diagnostic {
        if sdfg.find_container(name).is_some() {
            return error(Code::ContainerAsSymbol, format!("{user} uses the container `{name}` as a symbol"))
                .suggest("bring the value in through a connector, or assign it to a symbol on a transition");
        }
        let found = error(Code::UndefinedSymbol, format!("{user} uses `{name}`, which has no value here"));
        match did_you_mean(name, self.defined.iter().map(Symbol::as_str)) {
            Some(suggestion) => found.suggest(suggestion),
            None => found.suggest(format!("declare it: `symbol {name}: i64`")),
        }
    }
}

/// The smallest and largest value of a range that is not empty, if its direction is known.
pub(super) fn ends(range: &Range) -> Option<(Expr, Expr)> {
    let step = range.step.as_int()?;
    let reach = &range.tile - 1;
    if step > 0 {
        Some((range.begin.clone(), range.last() + reach))
    } else {
        Some((range.last(), &range.begin + reach))
    }
}

/// Steps are not zero, tiles are positive.
fn bad_step(range: &Range, error: &dyn Fn(Code, String) -> Diagnostic, findings: &mut Findings) {
    if range.step.is_zero() {
        findings.push(error(Code::BadStep, format!("the range `{range}` never moves on: its step is 0")));
    }
    if range.tile.as_int().is_some_and(|tile| tile < 1) {
        findings.push(error(
            Code::BadStep,
            format!("the range `{range}` takes {} elements at each step", range.tile),
        ));
    }
}

/// The frames of a state: one for its top and one for the inside of each scope.
pub(super) struct ScopeContexts {
    pub(super) scopes: Arc<ScopeTree>,
    frames: BTreeMap<Option<NodeId>, ScopeContext>,
}

impl ScopeContexts {
    pub(super) fn of(site: &Site<'_>, outermost: ScopeContext) -> Self {
        let scopes = site.scopes();
        let mut frames: BTreeMap<Option<NodeId>, ScopeContext> = BTreeMap::new();
        for entry in scopes.entries() {
            let outer = frames.get(&scopes.scope_of(entry)).unwrap_or(&outermost);
            let mut inner = outer.clone();
            inner.define(scope_symbols(site, entry));
            match &site.state.node(entry).kind {
                NodeKind::MapEntry(map) => {
                    for (parameter, range) in map.params.iter().zip(&map.ranges.0) {
                        inner.bind(parameter, range);
                    }
                }
                NodeKind::ConsumeEntry(consume) => {
                    inner.bind(&consume.element, &Range::new(Expr::zero(), consume.elements.clone()));
                }
                NodeKind::Access(_)
                | NodeKind::Tasklet(_)
                | NodeKind::MapExit(_)
                | NodeKind::ConsumeExit(_)
                | NodeKind::Nested(_)
                | NodeKind::Reduce(_)
                | NodeKind::Library(_) => {}
            }
            frames.insert(Some(entry), inner);
        }
        frames.insert(None, outermost);
        ScopeContexts { scopes, frames }
    }

    /// The frame at the top of the state.
    pub(super) fn top(&self) -> &ScopeContext {
        &self.frames[&None]
    }

    /// The frame inside a scope.
    pub(super) fn inside(&self, scope: Option<NodeId>) -> &ScopeContext {
        self.frames.get(&scope).unwrap_or_else(|| self.top())
    }

    /// The frame where a node stands; for an entry or exit, outside of its scope.
    pub(super) fn at(&self, node: NodeId) -> &ScopeContext {
        self.inside(self.scopes.scope_of(node))
    }

    /// The frame where the ranges of an entry are evaluated: outside of its scope, with its symbol connectors.
    pub(super) fn ranges_of(&self, site: &Site<'_>, entry: NodeId) -> ScopeContext {
        let mut frame = self.at(entry).clone();
        frame.defined.extend(scope_symbols(site, entry));
        frame
    }
}

/// Symbols that connectors of an entry give a value.
fn scope_symbols(site: &Site<'_>, entry: NodeId) -> Vec<Symbol> {
    let edges = site.state.in_edges(entry).into_iter();
    edges.filter_map(|id| Symbol::new(site.state.edge(id).given_symbol()?).ok()).collect()
}

/// The symbols that are among some names.
fn among(defined: &PersistentSet, names: &BTreeSet<&str>) -> Vec<Symbol> {
    let symbols = names.iter().filter_map(|name| Symbol::new(name).ok());
    symbols.filter(|symbol| defined.contains(symbol)).collect()
}

/// The type of a symbol that no scope binds.
fn type_of(sdfg: &Sdfg, symbol: &Symbol) -> ScalarType {
    sdfg.symbol_type(symbol).unwrap_or(UNDECLARED_SYMBOL)
}
