//! Tasklets, conditions and assigned values as statements and expressions.

use std::collections::BTreeSet;

use sdfg::dtype::{ElementType, ScalarType};
use sdfg::symbolic::Expr;
use sdfg::tasklet::{ConnectorId, Environment, LocalId, TypedCode, TypedExpressionCode, TypedStatement};

use super::error::{Print, SourceError, defect};
use super::function::{Function, Lanes};
use super::push::Pushes;
use super::text::{Code, Lines, Precedence};
use super::uses::{
    is_free, is_one_assignment, is_only_counted, is_single_assignment, mentions_local, mentions_output,
    uses_in, uses_of_input,
};
use crate::plan::{Assignment, Binding, Check, Compute, Location, Resolved, Scalar, Strided};

/// Meanings of the names in a piece of code.
pub(super) struct Names<'a> {
    environment: &'a Environment,
    pub(super) bindings: &'a [Binding],
    /// Pushes of the code.
    pub(super) pushes: Pushes,
    /// Checks of accesses to the elements of a connector.
    checks: &'a [Option<Check>],
    symbols: &'a [Expr],
    /// Values of inputs.
    inputs: Vec<Option<Lanes>>,
    /// Names of the lanes of outputs until they are written, and of the variable that says whether one was assigned.
    outputs: Vec<Option<Output>>,
    /// Names of the lanes of local variables.
    locals: Vec<Variable>,
    /// The innermost branch that is being written.
    branch: Option<Branch>,
}

/// Parts of a branch that move out of it, so that compilers need no jump. gcc jumps to the uses of a flag that a branch sets, and
/// wrong predictions of such jumps made a filter of random values five times slower.
#[derive(Default)]
struct Branch {
    /// Lines before it: values that only flags let anybody use.
    before: Vec<String>,
    /// Flags that are set after it.
    flags: BTreeSet<String>,
}

/// A variable with a name for each lane.
#[derive(Clone)]
pub(super) struct Variable {
    ty: ElementType,
    lanes: Vec<String>,
    is_declared: bool,
}

/// A value output that the code assigns.
struct Output {
    value: Variable,
    assigned: Option<String>,
    /// Whether nothing but its flag tells that it was assigned: one statement assigns it, and none reads it.
    is_single: bool,
}

impl Function<'_, '_> {
    /// A tasklet: loads, code, stores.
    pub(super) fn compute(&mut self, compute: &Compute) -> Print<()> {
        let ((), body) = self.apart(1, |f| f.compute_code(compute))?;
        match body.count() {
            0 => {}
            // A single statement needs no block.
            1 => self.line(body.into_text().trim()),
            _ => {
                self.line("{");
                self.lines.append(&body);
                self.line("}");
            }
        }
        Ok(())
    }

    fn compute_code(&mut self, compute: &Compute) -> Print<()> {
        let environment = &compute.code.environment;
        let mut taken = BTreeSet::new();
        let mut names = Names {
            environment,
            bindings: &compute.bindings,
            symbols: &compute.symbols,
            inputs: Vec::new(),
            outputs: Vec::new(),
            locals: Vec::new(),
            branch: None,
            pushes: Pushes::default(),
            checks: &compute.checks,
        };
        let is_simple = is_one_assignment(compute);
        for (number, binding) in compute.bindings.iter().enumerate() {
            let input = match binding {
                Binding::Load(location) => {
                    let value = self.load_input(location, &compute.checks, number)?;
                    let uses = uses_of_input(&compute.code.body, number);
                    match uses {
                        0 => None,
                        1 if is_simple => Some(value),
                        _ => Some(self.named_input(environment, number, &value, &mut taken)),
                    }
                }
                Binding::Store { .. }
                | Binding::View(_)
                | Binding::ViewMut { .. }
                | Binding::Push(_)
                | Binding::Length(_) => None,
            };
            names.inputs.push(input);
        }
        for local in &compute.code.locals {
            names.locals.push(self.new_variable(&local.name, local.ty, &mut taken));
        }
        if is_simple {
            return self.one_assignment(&names, compute);
        }
        for (number, (name, connector)) in environment.connectors().enumerate() {
            let output = match compute.bindings.get(number) {
                Some(Binding::Store { .. }) => {
                    self.output(&compute.code, number, (name, connector.element), &mut taken)
                }
                Some(
                    Binding::Load(_)
                    | Binding::View(_)
                    | Binding::ViewMut { .. }
                    | Binding::Push(_)
                    | Binding::Length(_),
                )
                | None => None,
            };
            names.outputs.push(output);
        }
        self.declare_locals(&mut names, &compute.code);
        names.pushes = self.begin_pushes(compute, &mut taken)?;
        self.statements_of_code(&mut names, &compute.code.body)?;
        for (number, (binding, output)) in compute.bindings.iter().zip(&names.outputs).enumerate() {
            if let (Binding::Store { to, write }, Some(output)) = (binding, output) {
                let value = output.value.value();
                let store = |f: &mut Self| f.write_output(&names, number, (to, write), &value);
                match &output.assigned {
                    None => store(self)?,
                    Some(flag) => self.block(format!("if ({flag})"), store)?,
                }
            }
        }
        self.finish_pushes(&names)
    }

    /// A tasklet that is one assignment of its only output: it needs no variables.
    fn one_assignment(&mut self, names: &Names<'_>, compute: &Compute) -> Print<()> {
        let [TypedStatement::Output { connector, value }] = compute.code.body.as_slice() else {
            return Err(defect("the code is one assignment"));
        };
        let Some(Binding::Store { to, write }) = compute.bindings.get(connector.index()) else {
            return Err(defect(names.unbound(*connector)));
        };
        let value = self.expression(names, value)?;
        self.write_output(names, connector.index(), (to, write), &value)
    }

    /// Writes a value output of a tasklet.
    fn write_output(
        &mut self,
        names: &Names<'_>,
        number: usize,
        (to, write): (&Location, &Resolved),
        value: &Lanes,
    ) -> Print<()> {
        if let Some(check) = names.check(number) {
            self.check(check)?;
        }
        let place = self.place(to)?;
        self.read_by(names.memlet(number), |f| f.write(&place, value, write))
    }

    /// The value of an input.
    fn load_input(&mut self, location: &Location, checks: &[Option<Check>], number: usize) -> Print<Lanes> {
        let check = checks.get(number).and_then(Option::as_ref);
        if let Some(check) = check {
            self.check(check)?;
        }
        let place = self.place(location)?;
        self.read_by(check.map(|check| check.memlet.as_str()), |f| f.load(&place))
    }

    /// An input under its name.
    fn named_input(
        &mut self,
        environment: &Environment,
        number: usize,
        value: &Lanes,
        taken: &mut BTreeSet<String>,
    ) -> Lanes {
        let name = environment.connectors().nth(number).map_or("input", |(name, _)| name);
        let ty = self.program.scalar_type(value.ty);
        let variable = self.new_names(name, value.lanes.len(), taken);
        for (name, code) in variable.iter().zip(&value.lanes) {
            self.line(format!("const {ty} {name} = {};", code.text));
        }
        Lanes { ty: value.ty, lanes: variable.into_iter().map(Code::atom).collect() }
    }

    /// Names for the lanes of a variable.
    pub(super) fn new_names(&self, name: &str, lanes: usize, taken: &mut BTreeSet<String>) -> Vec<String> {
        let new = |name: &str, taken: &mut BTreeSet<String>| {
            let name = self.program.names.local(name, taken);
            taken.insert(name.clone());
            name
        };
        match lanes {
            1 => vec![new(name, taken)],
            _ => (0..lanes).map(|lane| new(&format!("{name}_{lane}"), taken)).collect(),
        }
    }

    pub(super) fn new_variable(&self, name: &str, ty: ElementType, taken: &mut BTreeSet<String>) -> Variable {
        let lanes = self.new_names(name, usize::from(ty.lanes()), taken);
        Variable { ty, lanes, is_declared: false }
    }

    pub(super) fn declare_variable(&mut self, variable: &Variable) {
        let ty = self.program.scalar_type(variable.ty.lane());
        let zero = self.program.zero(ElementType::scalar(variable.ty.lane()));
        for name in &variable.lanes {
            self.line(format!("{ty} {name} = {zero};"));
        }
    }

    /// The variable of an output that the code assigns.
    fn output(
        &mut self,
        code: &TypedCode,
        number: usize,
        (name, ty): (&str, ElementType),
        taken: &mut BTreeSet<String>,
    ) -> Option<Output> {
        let how = Assignment::of(&code.body, number);
        if how == Assignment::Never {
            return None;
        }
        let mut value = self.new_variable(name, ty, taken);
        let is_first = code.body.iter().position(|statement| mentions_output(statement, number)).is_some_and(|at| {
            matches!(&code.body[at], TypedStatement::Output { connector, .. } if connector.index() == number)
        });
        if !is_first {
            self.declare_variable(&value);
            value.is_declared = true;
        }
        let assigned = (how == Assignment::Sometimes).then(|| {
            let flag = self.new_names(&format!("has_{name}"), 1, taken).remove(0);
            self.line(format!("bool {flag} = false;"));
            flag
        });
        Some(Output { value, assigned, is_single: is_single_assignment(&code.body, number) })
    }

    /// Declares local variables that are not first assigned in a line of their own.
    fn declare_locals(&mut self, names: &mut Names<'_>, code: &TypedCode) {
        for (number, variable) in names.locals.iter_mut().enumerate() {
            let first = code.body.iter().find(|statement| mentions_local(statement, number));
            let is_assigned =
                matches!(first, Some(TypedStatement::Local { local, .. }) if local.index() == number);
            if !is_assigned && !is_only_counted(&code.body, number) {
                self.declare_variable(variable);
                variable.is_declared = true;
            }
        }
    }

    /// The value of a scalar expression.
    pub(super) fn evaluate(&mut self, scalar: &Scalar) -> Print<Lanes> {
        let mut inputs = Vec::new();
        for (number, binding) in scalar.bindings.iter().enumerate() {
            inputs.push(match binding {
                Binding::Load(location) => {
                    let value = self.load_input(location, &scalar.checks, number)?;
                    let uses = uses_in(&scalar.code.expression, number);
                    if uses > 1 { Some(self.named_lanes(&value)) } else { Some(value) }
                }
                Binding::Store { .. }
                | Binding::View(_)
                | Binding::ViewMut { .. }
                | Binding::Push(_)
                | Binding::Length(_) => None,
            });
        }
        let names = Names {
            environment: &scalar.code.environment,
            bindings: &scalar.bindings,
            symbols: &scalar.symbols,
            inputs,
            outputs: Vec::new(),
            locals: Vec::new(),
            branch: None,
            pushes: Pushes::default(),
            checks: &scalar.checks,
        };
        self.expression(&names, &scalar.code.expression)
    }

    /// The value of a condition.
    pub(super) fn condition(&mut self, scalar: &Scalar) -> Print<Code> {
        let value = self.evaluate(scalar)?;
        Ok(self.program.truth(value.ty, value.only()?))
    }

    /// The value of a pure function of value inputs.
    pub(super) fn evaluate_function(
        &mut self,
        code: &TypedExpressionCode,
        arguments: Vec<Lanes>,
    ) -> Print<Lanes> {
        let names = Names {
            environment: &code.environment,
            bindings: &[],
            symbols: &[],
            inputs: arguments.into_iter().map(Some).collect(),
            outputs: Vec::new(),
            locals: Vec::new(),
            branch: None,
            pushes: Pushes::default(),
            checks: &[],
        };
        self.expression(&names, &code.expression)
    }

    fn statements_of_code(&mut self, names: &mut Names<'_>, body: &[TypedStatement]) -> Print<()> {
        body.iter().try_for_each(|statement| self.statement_of_code(names, statement))
    }

    fn statement_of_code(&mut self, names: &mut Names<'_>, statement: &TypedStatement) -> Print<()> {
        match statement {
            TypedStatement::Local { local, value } => {
                let value = self.expression(names, value)?;
                let missing = || defect("the code has no such local variable");
                let variable = names.locals.get_mut(local.index()).ok_or_else(missing)?;
                self.assign(variable, &value);
                Ok(())
            }
            TypedStatement::Output { connector, value } => {
                let is_free = is_free(value);
                let value = self.expression(names, value)?;
                let unbound = names.unbound(*connector);
                let Some(Some(output)) = names.outputs.get_mut(connector.index()) else {
                    return Err(defect(unbound));
                };
                match output.assigned.clone() {
                    None => self.assign(&mut output.value, &value),
                    Some(flag) => {
                        let is_free = is_free && output.is_single;
                        let variable = output.value.clone();
                        self.assign_flagged(names, (variable, flag), &value, is_free);
                    }
                }
                Ok(())
            }
            TypedStatement::Store { connector, indices, value } => {
                let Some(Binding::ViewMut { to, write }) = names.bindings.get(connector.index()) else {
                    return Err(defect(names.unbound(*connector)));
                };
                let indices = self.code_indices(names, indices)?;
                let value = self.expression(names, value)?;
                self.check_access(names, *connector, to, &indices)?;
                let place = self.strided_place(to, &indices)?;
                self.read_by(names.memlet(connector.index()), |f| f.write(&place, &value, write))
            }
            TypedStatement::Push { connector, value } => {
                let is_free = is_free(value);
                let value = self.expression(names, value)?;
                self.note_push(names, *connector, &value, is_free)
            }
            TypedStatement::If { condition, then, otherwise } => {
                let condition = self.expression(names, condition)?.only()?.clone();
                self.branch(names, condition, then, otherwise)
            }
            TypedStatement::For { local, begin, end, step, body } => {
                let bounds = [begin, end, step].map(|bound| self.expression(names, bound));
                let [begin, end, step] = bounds;
                let [begin, end, step] = [begin?, end?, step?].map(|bound| bound.only().cloned());
                self.for_of_code(names, *local, (begin?, end?, step?), body)
            }
            TypedStatement::While { condition, body } => {
                let (condition, before) =
                    self.apart(1, |f| Ok(f.expression(names, condition)?.only()?.clone()))?;
                if before.is_empty() {
                    return self.block(format!("while ({})", condition.text), |f| {
                        f.repeated_statements(names, body)
                    });
                }
                self.block("for (;;)", |f| {
                    f.lines.append(&before);
                    f.block(format!("if (!{})", condition.at_least(Precedence::Prefix)), |f| {
                        f.line("break;");
                        Ok(())
                    })?;
                    f.repeated_statements(names, body)
                })
            }
        }
    }

    /// The body of a loop, which sets its flags at once.
    fn repeated_statements(&mut self, names: &mut Names<'_>, body: &[TypedStatement]) -> Print<()> {
        let outside = names.branch.take();
        self.statements_of_code(names, body)?;
        names.branch = outside;
        Ok(())
    }

    /// `if` and `else`.
    fn branch(
        &mut self,
        names: &mut Names<'_>,
        condition: Code,
        then: &[TypedStatement],
        otherwise: &[TypedStatement],
    ) -> Print<()> {
        let (on_true, then) = self.branch_body(names, then)?;
        let (on_false, otherwise) = self.branch_body(names, otherwise)?;
        let has_flags = !on_true.flags.is_empty() || !on_false.flags.is_empty();
        let condition = if has_flags { self.held(ScalarType::Bool, condition) } else { condition };
        let negated = format!("!{}", condition.at_least(Precedence::Prefix));
        for line in on_true.before.iter().chain(&on_false.before) {
            self.line(line);
        }
        if then.is_empty() && !otherwise.is_empty() {
            self.enclosed(format!("if ({negated})"), &otherwise);
        } else if !then.is_empty() {
            self.enclosed(format!("if ({})", condition.text), &then);
            if !otherwise.is_empty() {
                self.enclosed("else", &otherwise);
            }
        }
        for flag in &on_true.flags {
            self.line(format!("{flag} |= {};", condition.text));
        }
        for flag in &on_false.flags {
            self.line(format!("{flag} |= {negated};"));
        }
        Ok(())
    }

    /// One side of a branch: parts that move out of it, and its lines.
    fn branch_body(&mut self, names: &mut Names<'_>, body: &[TypedStatement]) -> Print<(Branch, Lines)> {
        let outside = names.branch.replace(Branch::default());
        let ((), lines) = self.apart(1, |f| f.statements_of_code(names, body))?;
        let branch = std::mem::replace(&mut names.branch, outside);
        Ok((branch.unwrap_or_default(), lines))
    }

    /// Assigns a declared variable and sets its flag. With `is_free`, the value may be assigned where the flag is not set.
    pub(super) fn assign_flagged(
        &mut self,
        names: &mut Names<'_>,
        (mut variable, flag): (Variable, String),
        value: &Lanes,
        is_free: bool,
    ) {
        let Some(branch) = &mut names.branch else {
            self.assign(&mut variable, value);
            return self.line(format!("{flag} = true;"));
        };
        branch.flags.insert(flag);
        match (variable.lanes.as_slice(), value.lanes.as_slice()) {
            ([name], [code]) if is_free => branch.before.push(format!("{name} = {};", code.text)),
            _ => self.assign(&mut variable, value),
        }
    }

    fn enclosed(&mut self, heading: impl AsRef<str>, body: &Lines) {
        self.lines.open(format!("{} {{", heading.as_ref()));
        self.lines.append(body);
        self.lines.close("}");
    }

    /// Assigns a variable, which is declared by that if it is not yet.
    pub(super) fn assign(&mut self, variable: &mut Variable, value: &Lanes) {
        let ty = self.program.scalar_type(variable.ty.lane());
        let declaration = if variable.is_declared { String::new() } else { format!("{ty} ") };
        if variable.lanes.len() == 1 || !variable.is_declared {
            for (name, code) in variable.lanes.iter().zip(&value.lanes) {
                self.set(&format!("{declaration}{name}"), &code.text);
            }
        } else {
            // Lanes of the new value may be made of lanes of the old one.
            let new: Vec<Code> = value.lanes.iter().map(|code| self.held(value.ty, code.clone())).collect();
            for (name, code) in variable.lanes.iter().zip(&new) {
                self.line(format!("{name} = {};", code.text));
            }
        }
        variable.is_declared = true;
    }

    /// Counts by a step of any sign; a step of 0 runs nothing, and counting ends where the next value would not fit.
    fn for_of_code(
        &mut self,
        names: &mut Names<'_>,
        local: LocalId,
        (begin, end, step): (Code, Code, Code),
        body: &[TypedStatement],
    ) -> Print<()> {
        let missing = || defect("the code has no such local variable");
        let variable = names.locals.get_mut(local.index()).ok_or_else(missing)?;
        let name = variable.lanes.first().cloned().unwrap_or_default();
        let was_declared = std::mem::replace(&mut variable.is_declared, true);
        let ty = if was_declared { "" } else { "int64_t " };
        // Bounds are evaluated once.
        let ty_of_bound = ScalarType::I64;
        let end = if is_constant(&end) { end } else { self.held(ty_of_bound, end) };
        let heading = match step.text.as_str() {
            "1" => format!(
                "for ({ty}{name} = {}; {name} < {}; ++{name})",
                begin.text,
                end.at_least(Precedence::Shift)
            ),
            "-1" => format!(
                "for ({ty}{name} = {}; {name} > {}; --{name})",
                begin.text,
                end.at_least(Precedence::Shift)
            ),
            _ => {
                let step = self.named(ty_of_bound, step);
                let next = self.program.helper("sdfg_counts", || COUNTS.to_owned());
                let more = self.program.helper("sdfg_goes_on", || GOES_ON.to_owned());
                let begin = self.named(ty_of_bound, begin);
                let flag = self.temporary();
                self.line(format!("bool {flag} = {more}({}, {}, {});", begin.text, end.text, step.text));
                format!(
                    "for ({ty}{name} = {}; {flag}; {flag} = {next}(&{name}, {}, {}))",
                    begin.text, end.text, step.text
                )
            }
        };
        self.block(heading, |f| f.repeated_statements(names, body))?;
        if let Some(variable) = names.locals.get_mut(local.index()) {
            variable.is_declared = was_declared;
        }
        Ok(())
    }

    /// A value in a variable that keeps it, whatever happens to what it was made of.
    pub(super) fn held(&mut self, ty: ScalarType, code: Code) -> Code {
        let name = self.temporary();
        let ty = self.program.scalar_type(ty);
        self.line(format!("const {ty} {name} = {};", code.text));
        Code::atom(name)
    }
}

impl Variable {
    /// It, once it was declared.
    pub(super) fn declared(self) -> Self {
        Variable { is_declared: true, ..self }
    }

    /// Its value.
    pub(super) fn value(&self) -> Lanes {
        Lanes { ty: self.ty.lane(), lanes: self.lanes.iter().map(Code::atom).collect() }
    }
}

impl Names<'_> {
    /// The name of a connector.
    pub(super) fn name_of(&self, id: ConnectorId) -> &str {
        self.environment.connector_at(id).map_or("?", |(name, _)| name)
    }

    /// Checks of accesses to a connector's elements.
    pub(super) fn check(&self, connector: usize) -> Option<&Check> {
        self.checks.get(connector)?.as_ref()
    }

    /// The memlet at a connector, if its accesses are looked at.
    pub(super) fn memlet(&self, connector: usize) -> Option<&str> {
        self.check(connector).map(|check| check.memlet.as_str())
    }

    pub(super) fn unbound(&self, id: ConnectorId) -> String {
        let name = self.name_of(id);
        format!("connector `{name}` is not bound to what the code does with it")
    }

    /// The value of an input.
    pub(super) fn input(&self, id: ConnectorId) -> Print<Lanes> {
        let value = self.inputs.get(id.index()).cloned().flatten();
        value.ok_or_else(|| defect(self.unbound(id)))
    }

    /// The value of a local variable.
    pub(super) fn local(&self, id: LocalId) -> Print<Lanes> {
        let variable = self.locals.get(id.index()).map(Variable::value);
        variable.ok_or_else(|| defect("an expression has no such local variable"))
    }

    /// The value of an output that was assigned before.
    pub(super) fn output(&self, id: ConnectorId) -> Print<Lanes> {
        let output = self.outputs.get(id.index()).and_then(Option::as_ref);
        output.map(|output| output.value.value()).ok_or_else(|| defect(self.unbound(id)))
    }

    /// The expression of a symbol, and the symbol's type.
    pub(super) fn symbol(&self, id: sdfg::tasklet::SymbolId) -> Print<(&Expr, ScalarType)> {
        let missing = || defect("a symbol of the code stands for nothing");
        let expression = self.symbols.get(id.index()).ok_or_else(missing)?;
        let (_, ty) = self.environment.symbol_at(id).ok_or_else(missing)?;
        Ok((expression, ty))
    }

    /// The elements of a pointer.
    pub(super) fn part(&self, id: ConnectorId) -> Print<&Strided> {
        match self.bindings.get(id.index()) {
            Some(Binding::View(part) | Binding::ViewMut { to: part, .. }) => Ok(part),
            Some(Binding::Load(_) | Binding::Store { .. } | Binding::Push(_) | Binding::Length(_)) | None => {
                Err(defect(self.unbound(id)))
            }
        }
    }
}

const GOES_ON: &str = "\
static inline bool sdfg_goes_on(int64_t at, int64_t end, int64_t step) {
    return step > 0 ? at < end : step < 0 && at > end;
}
";

const COUNTS: &str = "\
static inline bool sdfg_counts(int64_t *at, int64_t end, int64_t step) {
    if (step > 0 ? *at > INT64_MAX - step : *at < INT64_MIN - step) {
        return false;
    }
    *at += step;
    return step > 0 ? *at < end : *at > end;
}
";

pub(super) fn unsupported(what: &str) -> SourceError {
    SourceError::Unsupported { language: "C", what: what.to_owned() }
}

fn is_constant(code: &Code) -> bool {
    code.text.chars().all(|c| c.is_ascii_digit() || c == '-')
}
