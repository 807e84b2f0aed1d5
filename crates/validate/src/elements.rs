//! Rule: single elements that code selects provably outside of their source: a tasklet outside of the memlet
//! at a connector, conditions and assignments of control flow outside of a container.
//!
//! The rule examines code that certainly runs: not branches, not operands that `and`, `or` and choices may
//! skip, and not loops that may be empty. As for memlets, an access is an error only if it is outside in all
//! iterations of the surrounding scopes or in a certain one. If conditions of the control flow decide whether
//! the code runs, it is a warning, and only for constants.

use std::collections::BTreeMap;

use sdfg_graph::analysis::TaskletConnectors;
use sdfg_graph::diagnostic::{Code, Diagnostic, Element, Excerpt, Secondary};
use sdfg_graph::ir::{EdgeId, NodeId};
use sdfg_language::dtype::{ElementType, ScalarType};
use sdfg_language::subset::Range;
use sdfg_language::symbolic::{Assumptions, Expr, Symbol};
use sdfg_language::syntax::Span;
use sdfg_language::tasklet::{
    self, BinaryOperation, ConnectorId, ConnectorKind, Environment, Local, LocalId, TypedCode,
    TypedExpression, TypedExpressionCode, TypedExpressionKind, TypedStatement, UnaryOperation,
};

use super::bounds;
use super::sample::may_run;
use super::scope_context::ScopeContext;
use super::site::{Findings, Program, Site};

/// Statements and accesses of one piece of code that are looked at, over all iterations that are.
const MOST_STEPS: usize = 5000;

/// Extents that the indices of each connector stay below, by position; `None` where they are not known.
type Extents = Vec<Option<Vec<Expr>>>;

/// An access that is outside.
struct Outside {
    connector: ConnectorId,
    dimension: usize,
    index: Expr,
    extent: Expr,
    span: Span,
    /// Values of symbols there.
    values: BTreeMap<Symbol, Expr>,
    /// Symbols and counters that have a certain value there.
    chosen: Vec<String>,
}

impl Outside {
    fn message(&self, access: &str, of: &str) -> String {
        let Outside { index, dimension, extent, .. } = self;
        let last = extent - 1;
        format!(
            "`{access}` takes index {index} of dimension {dimension} of {of}, whose indices are 0 to {last}"
        )
    }

    /// The finding, which is an error if the code runs for certain.
    fn finding(&self, error: Diagnostic, frame: &ScopeContext) -> Diagnostic {
        let error = match self.chosen.as_slice() {
            [] => error,
            chosen => error.note(format!("in the iteration with {}", chosen.join(", "))),
        };
        let error = match &frame.call {
            Some(call) => call.explain(error, &self.values.keys().cloned().collect(), &self.values),
            None => error,
        };
        if frame.is_guarded {
            error.note("conditions decide whether it runs at all").into_warning()
        } else {
            error
        }
    }
}

/// Checks what the code of a tasklet picks from its memlets.
pub(super) fn in_tasklet(
    site: &Site<'_>,
    id: NodeId,
    (code, typed): (&tasklet::Code, &TypedCode),
    connectors: &TaskletConnectors,
    frame: &ScopeContext,
    findings: &mut Findings,
) {
    let edge_at = |connector: usize| connectors.edges.get(connector).and_then(|edges| edges.first()).copied();
    let extents = typed.environment.connectors().enumerate().map(|(at, (_, connector))| {
        let is_pointer = matches!(connector.kind, ConnectorKind::Pointer { .. });
        edge_at(at).filter(|_| is_pointer).and_then(|edge| indexed(site, edge))
    });
    let extents: Extents = extents.collect();
    let search = |walk: &mut Walk<'_>| walk.block(&typed.body);
    let Some(outside) = first_outside(&typed.environment, &typed.locals, &extents, frame, &search) else {
        return;
    };
    let Some(edge) = edge_at(outside.connector.index()) else { return };
    let indices = code.source().get(outside.span.range()).unwrap_or_default();
    let name = typed.environment.connector_at(outside.connector).map_or("", |(name, _)| name);
    let memlet = &site.state.edge(edge).memlet;
    let access = memlet.read_access().or(memlet.write_access());
    let of = access
        .map_or_else(String::new, |access| format!("`{}[{}]`", site.name(access.container), access.subset()));
    let error =
        site.node_error(Code::OutOfBounds, id, None, outside.message(&format!("{name}[{indices}]"), &of));
    let line = super::code::line_of(code.source(), outside.span).unwrap_or_default().to_owned();
    let in_file = code.span_in_file(outside.span);
    let error = error.within(Excerpt { line, in_code: Some(outside.span), in_file }).also(Secondary {
        message: "the memlet that it indexes".to_owned(),
        path: site.edge_path(edge),
        loc: site.state.edge(edge).loc.clone(),
    });
    let help = "code counts from 0, the first element of the memlet, and not from the end: change the index or the memlet";
    findings.push(outside.finding(error, frame).suggest(help));
}

/// The sizes that indices of code run through at an edge: those of ranges, or one for a single element.
fn indexed(site: &Site<'_>, edge: EdgeId) -> Option<Vec<Expr>> {
    let memlet = &site.state.edge(edge).memlet;
    let access = memlet.read_access().or(memlet.write_access()).filter(|access| !access.is_queue())?;
    let sizes: Vec<Expr> =
        access.subset().0.iter().filter(|range| !range.is_index()).map(Range::size).collect();
    Some(if sizes.is_empty() { vec![Expr::one()] } else { sizes })
}

/// Checks what a condition or assignment picks from containers. `error` makes a diagnostic at its place.
pub(super) fn in_control(
    program: &Program<'_>,
    (source, typed): (&str, &TypedExpressionCode),
    frame: &ScopeContext,
    error: &dyn Fn(Code, String) -> Diagnostic,
    findings: &mut Findings,
) {
    let sdfg = program.sdfg;
    let container = |name: &str| sdfg.find_container(name).map(|id| sdfg.container(id));
    // What was allocated may differ from what the extent has become since, or from what its name means here.
    let is_elsewhere = |symbol: &Symbol| program.assigned.contains(symbol) || frame.binds(symbol);
    let extents = typed.environment.connectors().map(|(name, _)| {
        let shape = container(name)?.shape();
        let is_known = !shape.iter().flat_map(Expr::free_symbols).any(|symbol| is_elsewhere(&symbol));
        (is_known && !shape.is_empty()).then(|| shape.to_vec())
    });
    let extents: Extents = extents.collect();
    let search = |walk: &mut Walk<'_>| walk.expression(&typed.expression);
    let Some(outside) = first_outside(&typed.environment, &[], &extents, frame, &search) else { return };
    let Some((name, _)) = typed.environment.connector_at(outside.connector) else { return };
    let Some(container) = container(name) else { return };
    let error = error(Code::OutOfBounds, outside.message(source, &format!("`{name}`")));
    let error = super::code::within_control(error, source, outside.span).also(Secondary {
        message: format!("dimension {} has {} elements", outside.dimension, outside.extent),
        path: program.path.to(Element::Container(name.to_owned())),
        loc: container.loc.clone(),
    });
    findings.push(outside.finding(error, frame).suggest("indices count from 0, and not from the end"));
}

/// The first access that is outside, in the first iteration in which there is one.
fn first_outside(
    environment: &Environment,
    names: &[Local],
    extents: &Extents,
    frame: &ScopeContext,
    search: &dyn Fn(&mut Walk<'_>) -> Option<Outside>,
) -> Option<Outside> {
    if frame.never_runs || extents.iter().all(Option::is_none) {
        return None;
    }
    let known = &frame.assumptions;
    let (witnesses, only_numbers) = if frame.is_guarded {
        (vec![BTreeMap::new()], true)
    } else {
        if !may_run(frame) {
            return None;
        }
        (bounds::witnesses(frame, known), false)
    };
    let mut steps = MOST_STEPS;
    witnesses.iter().find_map(|values| {
        let within = |sizes: &Vec<Expr>| sizes.iter().map(|size| size.substitute(values)).collect();
        let extents: Extents = extents.iter().map(|sizes| sizes.as_ref().map(within)).collect();
        let locals = vec![None; names.len()];
        let mut walk = Walk {
            environment,
            extents: &extents,
            known,
            values,
            only_numbers,
            names,
            locals,
            counters: Vec::new(),
            steps: &mut steps,
        };
        search(&mut walk)
    })
}

/// A walk through what runs for certain, in one iteration.
struct Walk<'a> {
    environment: &'a Environment,
    extents: &'a Extents,
    known: &'a Assumptions,
    values: &'a BTreeMap<Symbol, Expr>,
    /// Whether nothing is said that depends on symbols.
    only_numbers: bool,
    /// The local variables, and what is known of them.
    names: &'a [Local],
    locals: Vec<Option<Expr>>,
    /// Counters of the loops around, the outermost first.
    counters: Vec<(LocalId, Expr)>,
    steps: &'a mut usize,
}

impl Walk<'_> {
    fn block(&mut self, statements: &[TypedStatement]) -> Option<Outside> {
        statements.iter().find_map(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &TypedStatement) -> Option<Outside> {
        *self.steps = self.steps.checked_sub(1)?;
        match statement {
            TypedStatement::Local { local, value } => {
                let found = self.expression(value);
                let value = self.value(value);
                self.assign(*local, value);
                found
            }
            TypedStatement::Output { value, .. } | TypedStatement::Push { value, .. } => {
                self.expression(value)
            }
            TypedStatement::Store { connector, indices, value } => {
                let found = indices.iter().find_map(|index| self.expression(index));
                found.or_else(|| self.expression(value)).or_else(|| self.access(*connector, indices))
            }
            TypedStatement::If { condition, then, otherwise } => {
                let found = self.expression(condition);
                self.forget(then);
                self.forget(otherwise);
                found
            }
            TypedStatement::While { condition, body } => {
                // The condition is evaluated before the body has run.
                let found = self.expression(condition);
                self.forget(body);
                found
            }
            TypedStatement::For { local, begin, end, step, body } => {
                let found = [begin, end, step].into_iter().find_map(|part| self.expression(part));
                let ends = self.ends(begin, end, step);
                self.forget(body);
                let found = found.or_else(|| {
                    let (first, last) = ends?;
                    self.iteration(*local, first, body).or_else(|| self.iteration(*local, last, body))
                });
                self.assign(*local, None);
                found
            }
        }
    }

    /// The first and last value of a counter that provably has one.
    fn ends(
        &self,
        begin: &TypedExpression,
        end: &TypedExpression,
        step: &TypedExpression,
    ) -> Option<(Expr, Expr)> {
        let range = Range::new(self.value(begin)?, self.value(end)?).with_step(self.value(step)?);
        let is_known = range.step.as_int().is_some_and(|step| step != 0);
        let runs = is_known && range.steps().is_positive(self.known).is_proved();
        let is_sure = !self.only_numbers || range.steps().as_int().is_some();
        (runs && is_sure).then(|| (range.begin.clone(), range.last()))
    }

    /// One iteration of a loop.
    fn iteration(&mut self, local: LocalId, value: Expr, body: &[TypedStatement]) -> Option<Outside> {
        let before = self.locals.clone();
        self.counters.push((local, value.clone()));
        self.assign(local, Some(value));
        let found = self.block(body);
        self.counters.pop();
        self.locals = before;
        found
    }

    fn assign(&mut self, local: LocalId, value: Option<Expr>) {
        if let Some(known) = self.locals.get_mut(local.index()) {
            *known = value;
        }
    }

    /// Variables that statements assign are unknown when the statements may have run.
    fn forget(&mut self, statements: &[TypedStatement]) {
        for statement in statements {
            match statement {
                TypedStatement::Local { local, .. } => self.assign(*local, None),
                TypedStatement::If { then, otherwise, .. } => {
                    self.forget(then);
                    self.forget(otherwise);
                }
                TypedStatement::For { local, body, .. } => {
                    self.assign(*local, None);
                    self.forget(body);
                }
                TypedStatement::While { body, .. } => self.forget(body),
                TypedStatement::Output { .. }
                | TypedStatement::Store { .. }
                | TypedStatement::Push { .. } => {}
            }
        }
    }

    /// Operands that an expression always evaluates.
    fn expression(&mut self, expression: &TypedExpression) -> Option<Outside> {
        *self.steps = self.steps.checked_sub(1)?;
        match &expression.kind {
            TypedExpressionKind::Constant(_)
            | TypedExpressionKind::Local(_)
            | TypedExpressionKind::Symbol(_)
            | TypedExpressionKind::Input(_)
            | TypedExpressionKind::Output(_) => None,
            TypedExpressionKind::Load { connector, indices }
            | TypedExpressionKind::Length { connector, indices } => {
                let found = indices.iter().find_map(|index| self.expression(index));
                found.or_else(|| self.access(*connector, indices))
            }
            TypedExpressionKind::Cast(operand)
            | TypedExpressionKind::Splat(operand)
            | TypedExpressionKind::Lane { operand, .. }
            | TypedExpressionKind::Unary { operand, .. }
            | TypedExpressionKind::Power { base: operand, .. } => self.expression(operand),
            TypedExpressionKind::Binary { left, right, .. }
            | TypedExpressionKind::Compare { left, right, .. } => {
                self.expression(left).or_else(|| self.expression(right))
            }
            // The right operand is not always evaluated.
            TypedExpressionKind::And(left, _) | TypedExpressionKind::Or(left, _) => self.expression(left),
            TypedExpressionKind::Select { condition, then, otherwise } => {
                let both = condition.ty.lanes() > 1;
                let found = self.expression(condition);
                found
                    .or_else(|| both.then(|| self.expression(then).or_else(|| self.expression(otherwise)))?)
            }
            TypedExpressionKind::Lanes(parts) | TypedExpressionKind::Call { arguments: parts, .. } => {
                parts.iter().find_map(|part| self.expression(part))
            }
        }
    }

    /// An access, if one of its indices is provably outside.
    fn access(&mut self, connector: ConnectorId, indices: &[TypedExpression]) -> Option<Outside> {
        let extents = self.extents.get(connector.index())?.as_ref()?;
        let span = indices.first()?.span.to(indices.last()?.span);
        indices.iter().zip(extents).enumerate().find_map(|(dimension, (index, extent))| {
            let index = self.value(index).filter(computes)?;
            if !self.is_outside(&index, extent) {
                return None;
            }
            let symbols = self.values.iter().map(|(symbol, value)| format!("{symbol} = {value}"));
            let counters = self.counters.iter().filter_map(|(local, value)| {
                Some(format!("{} = {value}", self.names.get(local.index())?.name))
            });
            let chosen = symbols.chain(counters).collect();
            let values = self.values.clone();
            Some(Outside { values, connector, dimension, index, extent: extent.clone(), span, chosen })
        })
    }

    fn is_outside(&self, index: &Expr, extent: &Expr) -> bool {
        if let (Some(index), Some(extent)) = (index.as_int(), extent.as_int()) {
            return index < 0 || index >= extent;
        }
        !self.only_numbers
            && (index.is_nonnegative(self.known).is_refuted() || index.lt(extent, self.known).is_refuted())
    }

    /// The value of an integer expression of numbers, symbols and what is known of local variables.
    fn value(&self, expression: &TypedExpression) -> Option<Expr> {
        let is_wide = expression.ty == ElementType::scalar(ScalarType::I64);
        match &expression.kind {
            TypedExpressionKind::Constant(value) if value.ty().is_integer() => value.to_i64().map(Expr::from),
            TypedExpressionKind::Local(local) => self.locals.get(local.index())?.clone(),
            TypedExpressionKind::Symbol(symbol) => {
                let symbol = Symbol::new(self.environment.symbol_at(*symbol)?.0).ok()?;
                Some(self.values.get(&symbol).cloned().unwrap_or_else(|| Expr::symbol(symbol)))
            }
            TypedExpressionKind::Cast(operand) if is_wide => {
                let is_integer = operand.ty.as_scalar().is_some_and(ScalarType::is_integer);
                self.value(operand).filter(|_| is_integer)
            }
            TypedExpressionKind::Unary { op: UnaryOperation::Negate, operand } if is_wide => {
                Some(-self.value(operand)?)
            }
            TypedExpressionKind::Binary { op, left, right } if is_wide => {
                let is_ring = matches!(
                    op,
                    BinaryOperation::Add | BinaryOperation::Subtract | BinaryOperation::Multiply
                );
                let (left, right) = is_ring.then(|| self.value(left).zip(self.value(right)))??;
                Some(match op {
                    BinaryOperation::Add => left + right,
                    BinaryOperation::Subtract => left - right,
                    _ => left * right,
                })
            }
            // Narrower integers wrap, and other operations are not those of symbolic expressions.
            TypedExpressionKind::Constant(_)
            | TypedExpressionKind::Cast(_)
            | TypedExpressionKind::Unary { .. }
            | TypedExpressionKind::Binary { .. }
            | TypedExpressionKind::Input(_)
            | TypedExpressionKind::Output(_)
            | TypedExpressionKind::Load { .. }
            | TypedExpressionKind::Length { .. }
            | TypedExpressionKind::Splat(_)
            | TypedExpressionKind::Lanes(_)
            | TypedExpressionKind::Lane { .. }
            | TypedExpressionKind::Power { .. }
            | TypedExpressionKind::Compare { .. }
            | TypedExpressionKind::And(..)
            | TypedExpressionKind::Or(..)
            | TypedExpressionKind::Select { .. }
            | TypedExpressionKind::Call { .. } => None,
        }
    }
}

/// Whether arithmetic of code, which wraps, gives the value of an expression: it does not wrap while symbols are below 2^20.
fn computes(expression: &Expr) -> bool {
    [0, 1 << 20, -(1 << 20)].into_iter().all(|value| expression.eval(&|_| Some(value)).is_ok())
}
