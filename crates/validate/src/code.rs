//! Rule: names and types in tasklets, conditions, assignments and custom resolutions.

use std::collections::BTreeSet;

use sdfg_graph::analysis::symbols::UNDECLARED_SYMBOL;
use sdfg_graph::analysis::{TaskletConnectors, control_environment, control_environment_of};
use sdfg_graph::diagnostic::{Code, Diagnostic, Excerpt};
use sdfg_graph::ir::{
    BlockId, BlockKind, NodeId, NodeKind, RegionId, Sdfg, Tasklet, TaskletBody, TransitionId, Volume,
};
use sdfg_graph::workspace::did_you_mean;
use sdfg_language::dtype::ScalarType;
use sdfg_language::symbolic::Symbol;
use sdfg_language::syntax::{Expression, ExpressionKind, Span, names_in};
use sdfg_language::tasklet::{
    self, ConnectorKind, Dialect, Direction, Environment, TypeError, TypeErrorKind, TypedStatement,
    typecheck, typecheck_expression, typecheck_external,
};

use super::elements;
use super::persistent_set::PersistentSet;
use super::scope_context::{ScopeContext, ScopeContexts};
use super::site::{Findings, Program, Site};
use super::symbols::SymbolTable;

/// Checks the code of every tasklet of a state.
pub(super) fn check_tasklets(site: &Site<'_>, frames: &ScopeContexts, findings: &mut Findings) {
    for (id, node) in site.state.nodes() {
        if let NodeKind::Tasklet(tasklet) = &node.kind {
            let frame = frames.at(id);
            // Of very many symbols, the code names few.
            let mut symbols = frame.typed_among(site.sdfg, &names_of(tasklet));
            symbols.extend(set_elsewhere(site, tasklet, frame));
            let connectors = TaskletConnectors::of(site.sdfg, site.state, id, tasklet, symbols);
            untyped(site, id, &connectors, findings);
            one_value(site, id, tasklet, &connectors, findings);
            match &tasklet.body {
                TaskletBody::Code(code) => match typecheck(code, &connectors.environment) {
                    Ok(typed) => {
                        let mut assigned = BTreeSet::new();
                        collect_assigned(&typed.body, &mut assigned);
                        unassigned(site, id, &connectors, &assigned, findings);
                        elements::in_tasklet(site, id, (code, &typed), &connectors, frame, findings);
                    }
                    Err(_) => {
                        let all = everything(site, id, tasklet, frame);
                        let known = known_names(&all.environment);
                        for error in typecheck(code, &all.environment).err().into_iter().flatten() {
                            let diagnostic = |code, message| site.node_error(code, id, None, message);
                            let found = type_error(&error, code, &known, &diagnostic);
                            let container =
                                unknown_name(&error).filter(|name| site.sdfg.find_container(name).is_some());
                            findings.push(match container {
                                Some(name) => found.suggest(format!(
                                    "`{name}` is a container: read or write it through a connector"
                                )),
                                None => found,
                            });
                        }
                    }
                },
                TaskletBody::External(call) => match typecheck_external(call, &connectors.environment) {
                    Ok(_) => external(site, id, call, &connectors, findings),
                    Err(_) => external(site, id, call, &everything(site, id, tasklet, frame), findings),
                },
            }
        }
    }
}

/// Names in the code of a tasklet.
fn names_of(tasklet: &Tasklet) -> BTreeSet<&str> {
    match &tasklet.body {
        TaskletBody::Code(code) => names_in(code.block()),
        TaskletBody::External(call) => {
            let passed = call.arguments.iter().flat_map(Expression::names);
            passed.chain(call.result.as_deref()).collect()
        }
    }
}

/// Symbols that control flow sets elsewhere and that the code assigns. A name has one meaning in an SDFG, so they are no
/// variables of the code.
fn set_elsewhere(site: &Site<'_>, tasklet: &Tasklet, frame: &ScopeContext) -> Vec<(String, ScalarType)> {
    let TaskletBody::Code(code) = &tasklet.body else { return Vec::new() };
    let names = code.names_assigned().into_iter().filter_map(|name| Symbol::new(name).ok());
    let is_set = |symbol: &Symbol| site.assigned.contains(symbol) && !frame.defined.contains(symbol);
    let typed = |symbol: Symbol| {
        let ty = site.sdfg.symbol_type(&symbol).unwrap_or(UNDECLARED_SYMBOL);
        (symbol.as_str().to_owned(), ty)
    };
    names.filter(is_set).map(typed).collect()
}

/// Names that the code of a tasklet may use; suggestions in errors come from all of them.
fn everything(site: &Site<'_>, id: NodeId, tasklet: &Tasklet, frame: &ScopeContext) -> TaskletConnectors {
    let symbols = frame.typed(site.sdfg).into_iter().chain(set_elsewhere(site, tasklet, frame));
    TaskletConnectors::of(site.sdfg, site.state, id, tasklet, symbols)
}

/// The element type of every connector is known.
fn untyped(site: &Site<'_>, id: NodeId, connectors: &TaskletConnectors, findings: &mut Findings) {
    for name in &connectors.untyped {
        let message = format!("nothing tells the element type of `{name}`");
        let error = site.node_error(Code::ElementMismatch, id, Some(name), message);
        findings.push(error.suggest(format!("declare it, as in `{name}: f64`")));
    }
}

/// An output with several edges is one value for all of them.
fn one_value(
    site: &Site<'_>,
    id: NodeId,
    tasklet: &Tasklet,
    connectors: &TaskletConnectors,
    findings: &mut Findings,
) {
    for output in &tasklet.outputs {
        let Some((position, connector)) = connectors.environment.connector(&output.name) else { continue };
        let edges = connectors.edges.get(position.index()).map_or(&[][..], Vec::as_slice);
        let is_value = connector.kind == ConnectorKind::Value
            && edges.iter().all(|edge| {
                let memlet = &site.state.edge(*edge).memlet;
                memlet.write_access().is_none_or(|access| !access.is_queue() && access.subset().is_element())
            });
        if edges.len() > 1 && !is_value {
            let message =
                format!("{} edges take `{}` on, which is not a single value", edges.len(), output.name);
            findings.push(site.node_error(Code::ConnectorReused, id, Some(&output.name), message));
        }
    }
}

/// Connectors that statements assign, store to or push to, by position.
fn collect_assigned(statements: &[TypedStatement], assigned: &mut BTreeSet<usize>) {
    for statement in statements {
        match statement {
            TypedStatement::Output { connector, .. }
            | TypedStatement::Store { connector, .. }
            | TypedStatement::Push { connector, .. } => {
                assigned.insert(connector.index());
            }
            TypedStatement::If { then, otherwise, .. } => {
                collect_assigned(then, assigned);
                collect_assigned(otherwise, assigned);
            }
            TypedStatement::For { body, .. } | TypedStatement::While { body, .. } => {
                collect_assigned(body, assigned)
            }
            TypedStatement::Local { .. } => {}
        }
    }
}

/// Every output is assigned somewhere. One that only may be written is left alone with a warning.
fn unassigned(
    site: &Site<'_>,
    id: NodeId,
    connectors: &TaskletConnectors,
    assigned: &BTreeSet<usize>,
    findings: &mut Findings,
) {
    for (position, (name, connector)) in connectors.environment.connectors().enumerate() {
        if connector.direction == Direction::In || assigned.contains(&position) {
            continue;
        }
        let edges = connectors.edges.get(position).map_or(&[][..], Vec::as_slice);
        let must = connector.kind == ConnectorKind::Value
            && edges.iter().any(|edge| matches!(site.state.edge(*edge).memlet.volume, Volume::Exact(_)));
        let message = format!("the code never assigns the output `{name}`");
        let error = site.node_error(Code::UnassignedOutput, id, Some(name), message);
        let error = error.suggest(format!("assign it: `{name} = ...`, or remove the connector"));
        findings.push(if must { error } else { error.into_warning() });
    }
}

fn external(
    site: &Site<'_>,
    id: NodeId,
    call: &sdfg_language::tasklet::ExternalCall,
    connectors: &TaskletConnectors,
    findings: &mut Findings,
) {
    let error = |message: String| site.node_error(Code::ExternalArgument, id, None, message);
    match typecheck_external(call, &connectors.environment) {
        Ok(_) => {}
        Err(errors) => {
            for found in errors {
                let diagnostic = error(format!("in the call of `{}`: {found}", call.symbol));
                findings.push(match found.help() {
                    Some(help) => diagnostic.suggest(help),
                    None => diagnostic,
                });
            }
        }
    }
    for (name, connector) in connectors.environment.connectors() {
        if connector.kind == ConnectorKind::Stream {
            findings.push(error(format!("the stream `{name}` cannot be passed to a C function")));
        }
    }
    // A pointer leads to the first element, and C goes on from there with the strides of the container.
    for edge in site.state.in_edges(id).into_iter().chain(site.state.out_edges(id)) {
        let memlet = &site.state.edge(edge).memlet;
        let Some(access) = memlet.read_access().or(memlet.write_access()) else { continue };
        if access.subset().0.iter().any(|range| range.step.as_int().is_some_and(|step| step < 0)) {
            let message = format!("the elements of `{}` lie backwards, which C cannot see", access.subset());
            let error = site.edge_error(Code::ExternalArgument, edge, message);
            findings
                .push(error.suggest("pass the range with a positive step, or copy it to a transient first"));
        }
    }
}

/// Checks the conditions and assignments of an SDFG.
pub(super) fn check_control(program: &Program<'_>, table: &SymbolTable, findings: &mut Findings) {
    let sdfg = program.sdfg;
    for (id, block) in sdfg.blocks() {
        if !matches!(block.kind, BlockKind::Loop(_) | BlockKind::Branch(_)) {
            continue;
        }
        let expressions = Expressions::new(program, table.before(id));
        let error = |code, message| program.block_error(code, id, message);
        let (first, later) = (|| frame_at(program, id, true), || frame_at(program, id, false));
        match &block.kind {
            BlockKind::Loop(repeated) => {
                let inside = inside_loop(program, table, id);
                let inside = Expressions::new(program, &inside);
                if let Some(init) = &repeated.init {
                    expressions.assignment(init, "the first value", &first, &error, findings);
                }
                let tested = || frame_at(program, id, !repeated.test_after);
                inside.condition(&repeated.condition, &tested, &error, findings);
                if let Some(update) = &repeated.update {
                    inside.assignment(update, "the next value", &later, &error, findings);
                }
            }
            BlockKind::Branch(branch) => {
                for (at, (condition, _)) in branch.arms.iter().enumerate() {
                    let tested = || frame_at(program, id, at == 0);
                    expressions.condition(condition, &tested, &error, findings);
                }
            }
            BlockKind::State(_) | BlockKind::Break | BlockKind::Continue | BlockKind::Return => {}
        }
    }
    let tried_first = tried_first(sdfg);
    for (id, transition) in sdfg.transitions() {
        if transition.condition.is_none() && transition.assignments.is_empty() {
            continue;
        }
        let expressions = Expressions::new(program, &table.after(sdfg, transition.src));
        let error = |code, message: String| {
            let path = program.transition_path(id, transition);
            Diagnostic::error(code, path, message).at(transition.loc.as_ref())
        };
        let is_first = tried_first.contains(&id);
        let tested = || frame_at(program, transition.src, is_first);
        if let Some(condition) = &transition.condition {
            expressions.condition(condition, &tested, &error, findings);
        }
        let taken = || frame_at(program, transition.src, is_first && transition.condition.is_none());
        for (symbol, value) in &transition.assignments {
            expressions.assignment(value, &format!("the value of `{symbol}`"), &taken, &error, findings);
        }
    }
}

/// Facts where a block stands; with a guard for code that does not run whenever the block does.
fn frame_at(program: &Program<'_>, block: BlockId, is_certain: bool) -> ScopeContext {
    let mut frame = ScopeContext::of_block(program, block, PersistentSet::new());
    frame.is_guarded |= !is_certain;
    frame
}

/// The transitions that are tried whenever their block is done.
fn tried_first(sdfg: &Sdfg) -> BTreeSet<TransitionId> {
    let regions: BTreeSet<RegionId> = sdfg.blocks().map(|(_, block)| block.region).collect();
    let mut left = BTreeSet::new();
    let transitions = regions.into_iter().flat_map(|region| &sdfg.region(region).transitions).copied();
    transitions.filter(|id| left.insert(sdfg.transition(*id).src)).collect()
}

/// Symbols that may have a value when the condition of a loop is tested.
fn inside_loop(program: &Program<'_>, table: &SymbolTable, id: BlockId) -> PersistentSet {
    let mut defined = table.before(id).clone();
    super::symbols::assigned_by(program.sdfg, id, &mut defined);
    defined
}

/// Checks consume conditions, which may ask for symbols and containers like those of control flow.
pub(super) fn check_consume(
    program: &Program<'_>,
    site: &Site<'_>,
    frames: &ScopeContexts,
    findings: &mut Findings,
) {
    for (id, node) in site.state.nodes() {
        if let NodeKind::ConsumeEntry(consume) = &node.kind
            && let Some(condition) = &consume.condition
        {
            let error = |code, message: String| site.node_error(code, id, None, message);
            let expressions = Expressions::new(program, &frames.at(id).defined);
            expressions.condition(condition, &|| frames.at(id).clone(), &error, findings);
        }
    }
}

/// Names that conditions and assignments at one place may use.
struct Expressions<'a> {
    program: &'a Program<'a>,
    defined: PersistentSet,
}

impl<'a> Expressions<'a> {
    fn new(program: &'a Program<'a>, defined: &PersistentSet) -> Self {
        Expressions { program, defined: defined.clone() }
    }

    /// `frame` tells what holds where the expression is evaluated.
    fn condition(
        &self,
        expression: &Expression,
        frame: &dyn Fn() -> ScopeContext,
        error: &dyn Fn(Code, String) -> Diagnostic,
        findings: &mut Findings,
    ) {
        let Some(ty) = self.type_of(expression, frame, error, findings) else { return };
        if ty.is_none_or(ScalarType::is_complex) {
            let message = format!("`{expression}` is neither true nor false");
            findings.push(error(Code::ConditionType, message).suggest("compare it with something"));
        }
    }

    fn assignment(
        &self,
        expression: &Expression,
        what: &str,
        frame: &dyn Fn() -> ScopeContext,
        error: &dyn Fn(Code, String) -> Diagnostic,
        findings: &mut Findings,
    ) {
        let Some(ty) = self.type_of(expression, frame, error, findings) else { return };
        if !ty.is_some_and(|ty| ty.is_integer() || ty == ScalarType::Bool) {
            let shown = ty.map_or_else(|| "a vector".to_owned(), |ty| ty.to_string());
            let message = format!("{what}, `{expression}`, is {shown}, and symbols are integers");
            findings.push(error(Code::ConditionType, message).suggest("convert it, as in `i64(x)`"));
        }
    }

    /// The scalar type of an expression (`None` inside for a vector), whose elements are looked at; `None` if it has none,
    /// which is reported.
    #[expect(clippy::option_option, reason = "an expression without a type is not an expression with lanes")]
    fn type_of(
        &self,
        expression: &Expression,
        frame: &dyn Fn() -> ScopeContext,
        error: &dyn Fn(Code, String) -> Diagnostic,
        findings: &mut Findings,
    ) -> Option<Option<ScalarType>> {
        let source = expression.to_string();
        let sdfg = self.program.sdfg;
        let names = expression.names();
        let symbols = ScopeContext::typed_symbols_among(sdfg, &self.defined, &names);
        let named = control_environment_of(sdfg, symbols, &|name| names.contains(name));
        match typecheck_expression(expression, Dialect::Python, &named) {
            Ok(typed) => {
                let mut picks = false;
                expression.visit(&mut |part| picks |= matches!(part.kind, ExpressionKind::Subscript { .. }));
                if picks {
                    elements::in_control(self.program, (&source, &typed), &frame(), error, findings);
                }
                Some(typed.expression.ty.as_scalar())
            }
            Err(_) => {
                let all = control_environment(sdfg, ScopeContext::typed_symbols(sdfg, &self.defined));
                let known = known_names(&all);
                let errors = typecheck_expression(expression, Dialect::Python, &all).err();
                for found in errors.into_iter().flatten() {
                    findings.push(control_error(&found, &source, &known, error));
                }
                None
            }
        }
    }
}

fn known_names(environment: &Environment) -> Vec<String> {
    let connectors = environment.connectors().map(|(name, _)| name.to_owned());
    connectors.chain(environment.symbols().map(|(name, _)| name.to_owned())).collect()
}

/// The diagnostic for a type error in the code of a tasklet.
fn type_error(
    found: &TypeError,
    code: &tasklet::Code,
    known: &[String],
    error: &dyn Fn(Code, String) -> Diagnostic,
) -> Diagnostic {
    let is_name = matches!(found.kind, TypeErrorKind::UnknownName { .. });
    let kind = if is_name { Code::UnknownName } else { Code::CodeType };
    let line = line_of(code.source(), found.span).unwrap_or_default().to_owned();
    let excerpt = Excerpt { line, in_code: Some(found.span), in_file: code.span_in_file(found.span) };
    with_help(error(kind, found.to_string()), found, known).within(excerpt)
}

/// The diagnostic for a type error in a condition or assignment.
fn control_error(
    found: &TypeError,
    source: &str,
    known: &[String],
    error: &dyn Fn(Code, String) -> Diagnostic,
) -> Diagnostic {
    let is_name = matches!(found.kind, TypeErrorKind::UnknownName { .. });
    let code = if is_name { Code::UndefinedSymbol } else { Code::ConditionType };
    within_control(with_help(error(code, found.to_string()), found, known), source, found.span)
}

/// A finding about a part of a condition or assignment.
pub(super) fn within_control(diagnostic: Diagnostic, source: &str, part: Span) -> Diagnostic {
    // Spans count in the text that the expression was read from: this one, if they lie in the statement.
    let statement = diagnostic.loc.as_ref().and_then(|loc| loc.span);
    let in_file =
        statement.filter(|outer| outer.start <= part.start && part.end <= outer.end && part.start < part.end);
    let in_file = in_file.map(|_| part);
    diagnostic.within(Excerpt { line: source.to_owned(), in_code: None, in_file })
}

fn with_help(diagnostic: Diagnostic, found: &TypeError, known: &[String]) -> Diagnostic {
    let closest = unknown_name(found).and_then(|name| did_you_mean(name, known.iter().map(String::as_str)));
    match closest.or_else(|| found.help()) {
        Some(help) => diagnostic.suggest(help),
        None => diagnostic,
    }
}

/// The name that an error is about, if it is that nothing has it.
fn unknown_name(found: &TypeError) -> Option<&str> {
    if let TypeErrorKind::UnknownName { name, .. } = &found.kind { Some(name) } else { None }
}

/// The line of code that a span starts in.
pub(super) fn line_of(source: &str, span: Span) -> Option<&str> {
    let start = span.start as usize;
    let before = source.get(..start)?;
    let begin = before.rfind('\n').map_or(0, |at| at + 1);
    source.get(begin..)?.lines().next().map(str::trim)
}
