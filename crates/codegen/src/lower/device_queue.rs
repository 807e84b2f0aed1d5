//! Device queues: streams in memory of a device, to which kernels push.
//!
//! Memory of a queue does not grow while a kernel runs. The host makes room before the launch, so lowering bounds the number of
//! elements that a launch pushes: the pushes in the text of tasklets, times the iterations of the loops around. A stream with a
//! capacity needs no bound. Only the host takes elements out of a queue, and it does so between kernels.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::dtype::ScalarType;
use sdfg::ir::{Container, Lifetime, Volume};
use sdfg::symbolic::{Atom, Expr, Sign, Symbol};
use sdfg::tasklet::{ConnectorId, TypedExpression, TypedExpressionKind, TypedStatement};
use sdfg::value::Value;

use super::Lowering;
use super::call_frame::CallFrame;
use super::error::LowerError;
use super::scope::Nest;
use super::stream::length_of;
use super::uses::Uses;
use crate::plan::{
    Allocation, Binding, BufferId, Location, LoopDimension, Part, Pop, Push, PushedQueues, Row, Statement,
    Touch, touches,
};

impl<'g> Lowering<'g> {
    /// The device queues to which a kernel pushes, or a construct that it cannot run, as a noun phrase. The plan had
    /// `first_variable` variables before the kernel.
    pub(super) fn pushed_queues(
        &self,
        body: &mut [Statement],
        dimensions: &[LoopDimension],
        (nest, first_variable): (&Nest<'_, '_>, usize),
    ) -> Result<Vec<PushedQueues>, String> {
        let kernel = format!("in the kernel `{}`", nest.node.label);
        let mut taken = BTreeSet::new();
        touches(body, &mut |touch| {
            if matches!(touch, Touch::TakeFrom(_) | Touch::Length(_)) {
                taken.insert(touch.buffer());
            }
        });
        let mut queues = Vec::new();
        for stream in Uses::of(&self.plan, body).buffers {
            let described = self.plan.buffer(stream);
            let Allocation::Queues { capacity, .. } = &described.allocation else { continue };
            let name = &described.name;
            if stream.index() >= nest.n_buffers {
                return Err(format!("the stream `{name}` of an iteration {kernel}"));
            }
            if taken.contains(&stream) {
                return Err(format!("a pop from the stream `{name}`, or its length, {kernel}"));
            }
            if !self.is_device_queue(stream) {
                return Err(format!(
                    "the stream `{name}` in host memory {kernel} (`GPUTransform` gives it memory of the device)"
                ));
            }
            let is_known = |symbol: &Symbol| {
                self.plan.variables.get_index_of(symbol).is_some_and(|at| at < first_variable)
            };
            let most = Bound { lowering: self, stream, known: BTreeMap::new(), around: Vec::new() }
                .of_loop(dimensions, body)
                .filter(|most| most.free_symbols().iter().all(is_known));
            if most.is_none() && capacity.is_none() {
                return Err(format!(
                    "a number of pushes to the stream `{name}` that is not known before the launch {kernel} (give the stream a capacity)"
                ));
            }
            queues.push(PushedQueues { stream, most });
        }
        Ok(queues)
    }

    /// Whether a buffer is a stream in memory of a device.
    pub(super) fn is_device_queue(&self, buffer: BufferId) -> bool {
        self.plan.buffer(buffer).is_stream() && self.is_of_device(self.storages[buffer.index()])
    }

    /// Whether the host can move elements between a queue and memory; the construct that it cannot run, as a noun phrase. Queues
    /// of the host have elements in its memory only, and the host does not combine with elements on a device.
    pub(super) fn moves_elements(
        &self,
        (from, to): (BufferId, BufferId),
        combines: bool,
    ) -> Result<(), String> {
        let name = |id: BufferId| &self.plan.buffer(id).name;
        let is_stream = |id: BufferId| self.plan.buffer(id).is_stream();
        let is_memory_of_device =
            |id: BufferId| !is_stream(id) && self.is_of_device(self.storages[id.index()]);
        for (queue, memory) in [(from, to), (to, from)] {
            if is_stream(queue) && !self.is_device_queue(queue) && is_memory_of_device(memory) {
                let (queue, memory) = (name(queue), name(memory));
                return Err(format!(
                    "a copy between the stream `{queue}` in host memory and `{memory}` in memory of a device"
                ));
            }
        }
        if combines && is_stream(from) && is_memory_of_device(to) {
            let to = name(to);
            return Err(format!(
                "a conflict resolution of elements of a stream with `{to}` in memory of a device"
            ));
        }
        Ok(())
    }

    /// Elements of a queue to another one, by way of memory of the host: a device has much to do for a copy of one element.
    pub(super) fn forward_at_once(
        &mut self,
        (from, to): (&Location, &Location),
        volume: &Volume,
        label: &str,
    ) -> Vec<Statement> {
        let element = self.plan.buffer(from.buffer).element;
        let mut statements = Vec::new();
        let (count, waits) = match volume {
            Volume::Exact(count) => (count.clone(), true),
            Volume::AtMost(_) | Volume::Dynamic => {
                let variable = self.new_variable("length", ScalarType::I64);
                let length = Expr::symbol(variable.clone());
                statements.push(Statement::Set { variable, value: length_of(element, from) });
                (volume.bound().map_or(length.clone(), |most| Expr::min(most, &length)), false)
            }
        };
        let (memory, (before, after)) = self.temporary("moved", element, vec![count.clone()]);
        let row = Row { first: memory.origin, count, stride: Expr::one() };
        let label = label.to_owned();
        let pop = Pop { label: label.clone(), queue: from.clone(), to: row.clone(), waits, taken: None };
        let push = Push { label, from: row, queue: to.clone() };
        statements.extend(before);
        statements.extend([Statement::Pop(pop), Statement::Push(push)]);
        statements.extend(after);
        statements
    }

    /// Refuses a stream in memory of a device that outlives the run.
    pub(super) fn lives_in_run(
        &self,
        frame: &CallFrame<'_>,
        container: &Container,
    ) -> Result<(), LowerError> {
        let is_transient = container.transient && container.lifetime != Lifetime::Persistent;
        if !container.is_stream() || is_transient || !self.is_of_device(container.storage) {
            return Ok(());
        }
        let kind = if container.transient { "persistent stream" } else { "stream of the caller" };
        let what = format!("the {kind} `{}` in memory of a device", container.name);
        Err(LowerError::Unsupported { what, path: frame.path.to_string() })
    }
}

/// Variables that statements set, with those inside.
fn sets(body: &[Statement]) -> BTreeSet<Symbol> {
    let mut found = BTreeSet::new();
    for statement in body {
        statement.parts(&mut |part| {
            if let Part::Sets(variable) = part {
                found.insert(variable.clone());
            }
        });
        statement.bodies().into_iter().for_each(|body| found.extend(sets(body)));
    }
    found
}

/// The most elements that statements push to a stream. Each method gives `None` if no bound is known.
struct Bound<'l, 'g> {
    lowering: &'l Lowering<'g>,
    stream: BufferId,
    /// Variables that statements set so far, with their values; `None` if it is not known.
    known: BTreeMap<Symbol, Option<Expr>>,
    /// The variables of loops around, with their least and greatest values.
    around: Vec<(Symbol, Expr, Expr)>,
}

impl Bound<'_, '_> {
    fn of_loop(&mut self, dimensions: &[LoopDimension], body: &[Statement]) -> Option<Expr> {
        // What an iteration sets, it may have from the one before.
        self.forget(body);
        let n_around = self.around.len();
        let mut count = Some(Expr::one());
        for LoopDimension { variable, begin, end, step } in dimensions {
            let [begin, end, step] = [begin, end, step].map(|part| self.value(part));
            let (Some(begin), Some(end), Some(step)) = (begin, end, step) else {
                count = None;
                break;
            };
            count = count.zip(self.count(&begin, &end, &step)).map(|(all, count)| all * count);
            let Some(is_descending) = self.is_descending(&step) else {
                count = None;
                break;
            };
            let (low, high) =
                if is_descending { (end + Expr::one(), begin) } else { (begin, end - Expr::one()) };
            self.around.push((variable.clone(), low, high));
        }
        let each = self.of_statements(body);
        self.around.truncate(n_around);
        self.forget(body);
        let each = each?;
        if each == Expr::zero() { Some(each) } else { Some(each * count?) }
    }

    /// Notes that the values of the variables that statements set are not known.
    fn forget(&mut self, body: &[Statement]) {
        self.known.extend(sets(body).into_iter().map(|variable| (variable, None)));
    }

    /// Whether the values of a range with this step fall; `None` if that is not known.
    fn is_descending(&self, step: &Expr) -> Option<bool> {
        match step.sign(&self.lowering.assumptions) {
            Sign::Positive => Some(false),
            Sign::Negative => Some(true),
            Sign::NonNegative | Sign::NonPositive | Sign::Zero | Sign::Unknown => None,
        }
    }

    /// The most iterations of a range, whatever the values of the variables around.
    fn count(&self, begin: &Expr, end: &Expr, step: &Expr) -> Option<Expr> {
        // A range ends with the first of several ends: the least one where values rise, the greatest one where they fall.
        let ends = match (self.is_descending(step)?, end.as_atom()) {
            (false, Some(Atom::Min(ends))) | (true, Some(Atom::Max(ends))) => ends.as_slice(),
            _ => std::slice::from_ref(end),
        };
        let counts = ends.iter().filter_map(|end| {
            let range = sdfg::subset::Range::new(begin.clone(), end.clone()).with_step(step.clone());
            range.steps().bounds_over_all(&self.around, &self.lowering.assumptions).upper
        });
        let count = counts.reduce(|a, b| Expr::min(&a, &b))?;
        Some(self.lowering.at_least_zero(&count))
    }

    /// An expression in variables of loops, and those that are set before the kernel.
    fn value(&self, expression: &Expr) -> Option<Expr> {
        let mut known = BTreeMap::new();
        for symbol in expression.free_symbols() {
            if let Some(value) = self.known.get(&symbol) {
                known.insert(symbol, value.clone()?);
            }
        }
        Some(expression.substitute(&known))
    }

    fn of_statements(&mut self, body: &[Statement]) -> Option<Expr> {
        body.iter().try_fold(Expr::zero(), |most, statement| Some(most + self.of_statement(statement)?))
    }

    fn of_statement(&mut self, statement: &Statement) -> Option<Expr> {
        match statement {
            Statement::Let { variable, value } => {
                let value = self.value(value);
                self.known.insert(variable.clone(), value);
                Some(Expr::zero())
            }
            Statement::Compute(compute) => {
                let pushes = |connector: ConnectorId| {
                    let binding = compute.bindings.get(connector.index());
                    binding.and_then(Binding::pushed_queue).is_some_and(|queue| queue.buffer == self.stream)
                };
                most_in_text(&compute.code.body, &pushes).map(Expr::int)
            }
            Statement::Push(Push { from, queue, .. }) if queue.buffer == self.stream => {
                self.count(&Expr::zero(), &self.value(&from.count)?, &Expr::one())
            }
            Statement::Loop(each) => self.of_loop(&each.dimensions, &each.body),
            Statement::If(choice) => {
                let bodies = choice.arms.iter().map(|(_, body)| body).chain([&choice.otherwise]);
                let mut most = Expr::zero();
                for body in bodies {
                    most = Expr::max(&most, &self.of_statements(body)?);
                }
                // Which of them runs is not known.
                self.forget(std::slice::from_ref(statement));
                Some(most)
            }
            Statement::Block { body, .. }
            | Statement::Located { body, .. }
            | Statement::Timed { body, .. } => self.of_statements(body),
            _ => {
                self.forget(std::slice::from_ref(statement));
                is_unused(statement, self.stream).then(Expr::zero)
            }
        }
    }
}

/// Whether a statement does nothing with a stream.
fn is_unused(statement: &Statement, stream: BufferId) -> bool {
    let mut is_used = false;
    touches(std::slice::from_mut(&mut statement.clone()), &mut |touch| {
        is_used |= touch.buffer() == stream;
    });
    !is_used
}

/// The most pushes of a tasklet to connectors; `None` if a loop whose iterations are not known repeats them, or if they are so many that
/// the product with the iterations of maps might overflow.
fn most_in_text(body: &[TypedStatement], pushes: &dyn Fn(ConnectorId) -> bool) -> Option<i64> {
    body.iter().try_fold(0_i64, |most, statement| {
        let here = match statement {
            TypedStatement::Push { connector, .. } => i64::from(pushes(*connector)),
            TypedStatement::If { then, otherwise, .. } => {
                most_in_text(then, pushes)?.max(most_in_text(otherwise, pushes)?)
            }
            TypedStatement::For { begin, end, step, body, .. } => match most_in_text(body, pushes) {
                Some(0) => 0,
                each => each?.checked_mul(iterations(begin, end, step)?)?,
            },
            TypedStatement::While { body, .. } => match most_in_text(body, pushes) {
                Some(0) => 0,
                Some(_) | None => return None,
            },
            TypedStatement::Local { .. } | TypedStatement::Output { .. } | TypedStatement::Store { .. } => 0,
        };
        most.checked_add(here).filter(|most| *most <= MOST_IN_TEXT)
    })
}

/// The most pushes of one run of a tasklet that are counted.
const MOST_IN_TEXT: i64 = 1 << 31;

/// The iterations of a loop of a tasklet with constant bounds.
fn iterations(begin: &TypedExpression, end: &TypedExpression, step: &TypedExpression) -> Option<i64> {
    let [begin, end, step] = [begin, end, step].map(constant);
    let (begin, end, step) = (i128::from(begin?), i128::from(end?), i128::from(step?));
    let count = match step {
        0 => 0,
        1.. => (end - begin + step - 1).div_euclid(step),
        _ => (begin - end - step - 1).div_euclid(-step),
    };
    i64::try_from(count.max(0)).ok()
}

fn constant(expression: &TypedExpression) -> Option<i64> {
    if let TypedExpressionKind::Constant(Value::I64(value)) = &expression.kind { Some(*value) } else { None }
}
