//! Tasklets, conditions and assigned values: instructions for the typed tree.

mod expression;
mod push;
mod statement;

use sdfg::dtype::ElementType;
use sdfg::symbolic::Expr;
use sdfg::tasklet::{ConnectorId, Environment, TypedCode, TypedExpressionCode};

use super::emitter::Emit;
use super::function::{Function, Slots};
use super::value::Lanes;
use crate::plan::{Assignment, Binding, Check, Compute, Scalar};
use inkwell::values::{IntValue, PointerValue};
use push::Pushes;

/// Bindings of the names of a piece of code during emission.
struct Names<'a, 'ctx> {
    environment: &'a Environment,
    bindings: &'a [Binding],
    symbols: &'a [Expr],
    /// Value inputs, loaded before the code runs.
    inputs: Vec<Option<Lanes<'ctx>>>,
    /// Value outputs until they are written after the code has run.
    outputs: Vec<Option<Output<'ctx>>>,
    locals: Vec<Slots<'ctx>>,
    pushes: Pushes<'ctx>,
    /// Checks of accesses to the elements of a connector.
    checks: &'a [Option<Check>],
}

/// A value output that the code assigns.
struct Output<'ctx> {
    value: Slots<'ctx>,
    /// Whether it was assigned; without, it always is.
    assigned: Option<PointerValue<'ctx>>,
}

impl<'ctx> Function<'_, 'ctx> {
    /// A tasklet: loads, code, stores.
    pub(super) fn compute(&self, compute: &Compute) -> Emit<()> {
        let environment = &compute.code.environment;
        let mut names = Names {
            environment,
            bindings: &compute.bindings,
            symbols: &compute.symbols,
            inputs: self.load_inputs(&compute.bindings, &compute.checks)?,
            outputs: Vec::new(),
            locals: Vec::new(),
            pushes: self.begin_pushes(compute)?,
            checks: &compute.checks,
        };
        for local in &compute.code.locals {
            names.locals.push(self.element_slots(local.ty, &local.name)?);
        }
        for (index, (name, connector)) in environment.connectors().enumerate() {
            let output = match compute.bindings.get(index) {
                Some(Binding::Store { .. }) => {
                    self.output_slots(&compute.code, index, name, connector.element)?
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
        self.statements_of_code(&names, &compute.code.body)?;
        for (number, (binding, output)) in compute.bindings.iter().zip(&names.outputs).enumerate() {
            if let (Binding::Store { to, write }, Some(output)) = (binding, output) {
                let store = || -> Emit<()> {
                    names.check(number).map_or(Ok(()), |check| self.check(check))?;
                    let value = self.load_slots(&output.value)?;
                    self.read_by(names.memlet(number), || self.write(&self.place(to)?, &value, write))
                };
                match output.assigned {
                    None => store()?,
                    Some(flag) => {
                        let assigned = self.builder.build_load(self.emitter.i1(), flag, "")?.into_int_value();
                        self.when(assigned, store)?;
                    }
                }
            }
        }
        self.finish_pushes(&names)
    }

    /// The value of a scalar expression.
    pub(super) fn evaluate(&self, scalar: &Scalar) -> Emit<Lanes<'ctx>> {
        let names = Names {
            environment: &scalar.code.environment,
            bindings: &scalar.bindings,
            symbols: &scalar.symbols,
            inputs: self.load_inputs(&scalar.bindings, &scalar.checks)?,
            outputs: Vec::new(),
            locals: Vec::new(),
            pushes: Pushes::default(),
            checks: &scalar.checks,
        };
        self.expression(&names, &scalar.code.expression)
    }

    /// The value of a condition.
    pub(super) fn condition(&self, scalar: &Scalar) -> Emit<IntValue<'ctx>> {
        let value = self.evaluate(scalar)?;
        match value.lanes.as_slice() {
            [lane] => self.truth(value.ty, *lane),
            _ => Err(self.emitter.defect("a condition is a scalar")),
        }
    }

    /// The value of a pure function of value inputs.
    pub(super) fn evaluate_function(
        &self,
        code: &TypedExpressionCode,
        arguments: &[Lanes<'ctx>],
    ) -> Emit<Lanes<'ctx>> {
        let names = Names {
            environment: &code.environment,
            bindings: &[],
            symbols: &[],
            inputs: arguments.iter().cloned().map(Some).collect(),
            outputs: Vec::new(),
            locals: Vec::new(),
            pushes: Pushes::default(),
            checks: &[],
        };
        self.expression(&names, &code.expression)
    }

    fn load_inputs(&self, bindings: &[Binding], checks: &[Option<Check>]) -> Emit<Vec<Option<Lanes<'ctx>>>> {
        bindings
            .iter()
            .enumerate()
            .map(|(number, binding)| match binding {
                Binding::Load(location) => {
                    let check = checks.get(number).and_then(Option::as_ref);
                    check.map_or(Ok(()), |check| self.check(check))?;
                    let memlet = check.map(|check| check.memlet.as_str());
                    self.read_by(memlet, || Ok(Some(self.load(&self.place(location)?)?)))
                }
                Binding::Store { .. }
                | Binding::View(_)
                | Binding::ViewMut { .. }
                | Binding::Push(_)
                | Binding::Length(_) => Ok(None),
            })
            .collect()
    }

    fn output_slots(
        &self,
        code: &TypedCode,
        index: usize,
        name: &str,
        element: ElementType,
    ) -> Emit<Option<Output<'ctx>>> {
        let assigned = match Assignment::of(&code.body, index) {
            Assignment::Never => return Ok(None),
            Assignment::Always => None,
            Assignment::Sometimes => {
                let flag = self.slot(self.emitter.i1(), name)?;
                self.builder.build_store(flag, self.emitter.i1().const_zero())?;
                Some(flag)
            }
        };
        Ok(Some(Output { value: self.element_slots(element, name)?, assigned }))
    }

    /// Runs `body` if `condition` holds.
    pub(super) fn when(&self, condition: IntValue<'ctx>, body: impl FnOnce() -> Emit<()>) -> Emit<()> {
        let (then, done) = (self.block("then"), self.block("done"));
        self.branch(condition, then, done)?;
        self.enter(then);
        body()?;
        self.jump(done)?;
        self.enter(done);
        Ok(())
    }
}

impl<'ctx> Names<'_, 'ctx> {
    fn input(&self, function: &Function<'_, 'ctx>, id: ConnectorId) -> Emit<Lanes<'ctx>> {
        match self.inputs.get(id.index()) {
            Some(Some(value)) => Ok(value.clone()),
            Some(None) | None => Err(function.emitter.defect(self.unbound(id))),
        }
    }

    /// Checks of accesses to a connector's elements.
    fn check(&self, connector: usize) -> Option<&Check> {
        self.checks.get(connector)?.as_ref()
    }

    /// The memlet at a connector, if its accesses are looked at.
    fn memlet(&self, connector: usize) -> Option<&str> {
        self.check(connector).map(|check| check.memlet.as_str())
    }

    fn unbound(&self, id: ConnectorId) -> String {
        let name = self.environment.connector_at(id).map_or("?", |(name, _)| name);
        format!("connector `{name}` is not bound to what the code does with it")
    }
}
