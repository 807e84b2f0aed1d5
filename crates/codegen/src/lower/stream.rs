//! Stream transfers: copies, and elements that tasklets take before they run.

use std::collections::BTreeSet;

use sdfg::dtype::{ElementType, ScalarType};
use sdfg::ir::{EdgeId, Flow, State, Volume};
use sdfg::symbolic::{Expr, Symbol};
use sdfg::tasklet::{
    Connector, ConnectorKind, Direction, Environment, TypedExpressionCode, TypedExpressionKind,
};

use super::Lowering;
use super::access::AccessKind;
use super::buffer_view::{Axis, BufferView};
use super::call_frame::CallFrame;
use super::copy::{row_major, significant};
use super::error::LowerError;
use super::memory::Brackets;
use super::scalar::{less, typed};
use crate::plan::{
    Allocation, Binding, BufferId, Check, Collected, Copy, If, Location, Loop, LoopDimension, Pop, Push,
    Resolved, Row, Scalar, Statement, Strided, Touch, While, touches,
};

impl<'g> Lowering<'g> {
    /// A copy from or to queues.
    pub(super) fn transfer(
        &mut self,
        frame: &CallFrame<'g>,
        state: &'g State,
        edge: EdgeId,
        label: &str,
    ) -> Result<Vec<Statement>, LowerError> {
        let memlet = &state.edge(edge).memlet;
        let Flow::Copy { from, to, resolution } = &memlet.flow else { return Ok(Vec::new()) };
        let taken = self.consumed(frame, state, edge);
        let from_queues = taken.is_none() && frame.is_stream(from);
        let source = match taken {
            Some(element) => element,
            None => self.resolve(frame, from, label)?.0,
        };
        let (destination, _) = self.resolve(frame, to, label)?;
        if source.element != destination.element {
            return Err(LowerError::Invalid {
                what: format!("a copy from {} to {}", source.element, destination.element),
                path: frame.at(label),
            });
        }
        let ends = (source.origin.buffer, destination.origin.buffer);
        self.moves_elements(ends, resolution.is_some())
            .map_err(|what| LowerError::Unsupported { what, path: frame.at(label) })?;
        if !from_queues {
            self.record(&source, AccessKind::Read);
        }
        if !frame.is_stream(to) {
            let kind = resolution.as_ref().map_or(AccessKind::Write, |r| AccessKind::Combine(r.clone()));
            self.record(&destination, kind);
        }
        let write = self.resolved(frame, resolution.as_ref(), destination.element, label)?;
        let volume = translated(frame, &memlet.volume);
        let one_by_one = self.options.checked || write != Resolved::Store;
        if from_queues && !frame.is_stream(to) && volume.is_dynamic() && one_by_one {
            // Of the destination, only what is reached is looked at.
            let check = self.checks.pop();
            let mut statements = self.take_checks();
            let there = (&source, &destination, &volume);
            statements.extend(self.pop_what_is_there(there, &write, check.as_ref(), label));
            return Ok(statements);
        }
        let mut statements = self.take_checks();
        statements.extend(match (from_queues, frame.is_stream(to)) {
            (false, true) => self.push_all(&source, &destination, label),
            (true, true) => self.forward(&source, &destination, &volume, label),
            (true, false) if write == Resolved::Store => self.pop_to(&source, &destination, &volume, label),
            (true, false) => self.pop_into(&source, &destination, write, label),
            // The element that a consume scope took, to memory.
            (false, false) => {
                let (from, to) = (source.origin, destination.origin);
                let label = label.to_owned();
                vec![Statement::Copy(Copy { label, from, to, dimensions: Vec::new(), write })]
            }
        });
        Ok(statements)
    }

    /// Elements of memory to queues, in row-major order.
    fn push_all(&mut self, source: &BufferView, queues: &BufferView, label: &str) -> Vec<Statement> {
        if let Some(queue) = single(queues) {
            return self.rows(source, &mut |_, from| {
                vec![Statement::Push(Push { label: label.to_owned(), from, queue: queue.clone() })]
            });
        }
        let axes = significant(source);
        let count = self.count(&axes);
        self.one_by_one(count, &mut |_, k| {
            let first = moved(&source.origin, &row_major(k, &axes));
            let from = Row { first, count: Expr::one(), stride: Expr::one() };
            vec![Statement::Push(Push { label: label.to_owned(), from, queue: in_turn(queues, k) })]
        })
    }

    /// Elements of queues to memory, in row-major order.
    fn pop_to(
        &mut self,
        queues: &BufferView,
        destination: &BufferView,
        volume: &Volume,
        label: &str,
    ) -> Vec<Statement> {
        let pop = |queue: Location, to: Row, waits, taken| {
            Statement::Pop(Pop { label: label.to_owned(), queue, to, waits, taken })
        };
        match (single(queues), volume) {
            (Some(queue), Volume::Exact(_)) => {
                self.rows(destination, &mut |_, to| vec![pop(queue.clone(), to, true, None)])
            }
            (Some(queue), Volume::Dynamic) => {
                self.rows(destination, &mut |_, to| vec![pop(queue.clone(), to, false, None)])
            }
            (Some(queue), Volume::AtMost(most)) => {
                let left = self.new_variable("left", ScalarType::I64);
                let taken = self.new_variable("taken", ScalarType::I64);
                let value = |symbol: &Symbol| Expr::symbol(symbol.clone());
                let mut statements = vec![Statement::Let { variable: left.clone(), value: most.clone() }];
                statements.extend(self.rows(destination, &mut |_, to| {
                    let to = Row { count: Expr::min(&to.count, &value(&left)), ..to };
                    let rest = Statement::Let { variable: left.clone(), value: value(&left) - value(&taken) };
                    vec![pop(queue.clone(), to, false, Some(taken.clone())), rest]
                }));
                statements
            }
            (None, Volume::Exact(_)) => {
                let axes = significant(destination);
                let count = self.count(&axes);
                self.one_by_one(count, &mut |_, k| {
                    let first = moved(&destination.origin, &row_major(k, &axes));
                    let to = Row { first, count: Expr::one(), stride: Expr::one() };
                    vec![pop(in_turn(queues, k), to, true, None)]
                })
            }
            (None, Volume::AtMost(_) | Volume::Dynamic) => {
                self.pop_what_is_there((queues, destination, volume), &Resolved::Store, None, label)
            }
        }
    }

    /// Elements of queues to memory, one after the other, as many as there are.
    fn pop_what_is_there(
        &mut self,
        (queues, destination, volume): (&BufferView, &BufferView, &Volume),
        write: &Resolved,
        check: Option<&Check>,
        label: &str,
    ) -> Vec<Statement> {
        let axes = significant(destination);
        let most = self.count(&axes);
        let most = volume.bound().map_or(most.clone(), |bound| Expr::min(&most, bound));
        self.until_none(queues, Some(&most), label, &mut |_, cell, k| {
            let to = moved(&destination.origin, &row_major(k, &axes));
            let (label, write) = (label.to_owned(), write.clone());
            let check = check.map(|check| Statement::Check(check.element(k)));
            let copy = Statement::Copy(Copy { label, from: cell, to, dimensions: Vec::new(), write });
            check.into_iter().chain([copy]).collect()
        })
    }

    /// Elements of queues, combined with what is in memory.
    fn pop_into(
        &mut self,
        queues: &BufferView,
        destination: &BufferView,
        write: Resolved,
        label: &str,
    ) -> Vec<Statement> {
        let axes = significant(destination);
        let count = self.count(&axes);
        self.one_by_one(count, &mut |this, k| {
            let (pop, from) = this.pop_one(queues, k, true, None, label);
            let to = moved(&destination.origin, &row_major(k, &axes));
            let (label, write) = (label.to_owned(), write.clone());
            vec![pop, Statement::Copy(Copy { label, from, to, dimensions: Vec::new(), write })]
        })
    }

    /// Elements of queues to other queues.
    fn forward(
        &mut self,
        from: &BufferView,
        to: &BufferView,
        volume: &Volume,
        label: &str,
    ) -> Vec<Statement> {
        let push = |first: Location, k: &Expr| {
            let from = Row { first, count: Expr::one(), stride: Expr::one() };
            Statement::Push(Push { label: label.to_owned(), from, queue: in_turn(to, k) })
        };
        if let (Some(from), Some(to)) = (single(from), single(to))
            && (self.is_device_queue(from.buffer) || self.is_device_queue(to.buffer))
        {
            return self.forward_at_once((&from, &to), volume, label);
        }
        if let Volume::Exact(count) = volume {
            return self.one_by_one(count.clone(), &mut |this, k| {
                let (pop, cell) = this.pop_one(from, k, true, None, label);
                vec![pop, push(cell, k)]
            });
        }
        self.until_none(from, volume.bound(), label, &mut |_, cell, k| vec![push(cell, k)])
    }

    /// Takes one element after the other, until there is none or there were enough; `make` says what is done with number `k`.
    fn until_none(
        &mut self,
        from: &BufferView,
        most: Option<&Expr>,
        label: &str,
        make: &mut dyn FnMut(&mut Self, Location, &Expr) -> Vec<Statement>,
    ) -> Vec<Statement> {
        let variable = |this: &mut Self, name| this.new_variable(name, ScalarType::I64);
        let (number, taken) = (variable(self, "number"), variable(self, "taken"));
        let value = |symbol: &Symbol| Expr::symbol(symbol.clone());
        let (pop, cell) = self.pop_one(from, &value(&number), false, Some(taken.clone()), label);
        let mut wanted = less(&Expr::zero(), &value(&taken));
        if let Some(most) = most {
            // `taken` is 1 as long as elements come, so below the bound the product is the number that are left.
            wanted = less(&Expr::zero(), &(value(&taken) * (most - &value(&number))));
        }
        let set = |variable: &Symbol, value| Statement::Let { variable: variable.clone(), value };
        let next = set(&number, value(&number) + Expr::one());
        let mut found = make(self, cell, &value(&number));
        found.push(next);
        let arms = vec![(less(&Expr::zero(), &value(&taken)), found)];
        let body = vec![pop, Statement::If(If { arms, otherwise: Vec::new() })];
        let target = self.new_target();
        vec![
            set(&number, Expr::zero()),
            set(&taken, Expr::one()),
            Statement::While(While {
                target,
                condition: wanted,
                test_after: false,
                body,
                update: Vec::new(),
                unroll: false,
            }),
        ]
    }

    /// The streams before buffer number `n` to which statements push, and with which they do nothing else: those of one queue without a bound.
    pub(super) fn collected(&self, body: &mut [Statement], n: usize) -> Vec<Collected> {
        let (mut pushed, mut others) = (BTreeSet::new(), BTreeSet::new());
        touches(body, &mut |touch| {
            let uses = if matches!(touch, Touch::PushTo(_)) { &mut pushed } else { &mut others };
            uses.insert(touch.buffer());
        });
        let collects = |id: &BufferId| {
            let buffer = self.plan.buffer(*id);
            let is_unbounded = matches!(buffer.allocation, Allocation::Queues { capacity: None, .. });
            id.index() < n && is_unbounded && buffer.size.is_one() && !others.contains(id)
        };
        pushed.into_iter().filter(collects).map(|stream| Collected { stream, array: None }).collect()
    }

    /// Queues of a tasklet's input.
    pub(super) fn popped(
        &mut self,
        frame: &CallFrame<'g>,
        queues: &BufferView,
        volume: &Volume,
        kind: ConnectorKind,
        label: &str,
        brackets: &mut Brackets,
    ) -> Result<Binding, LowerError> {
        if kind == ConnectorKind::Value {
            let waits = matches!(volume, Volume::Exact(_));
            let (pop, cell) = self.pop_one(queues, &Expr::zero(), waits, None, label);
            brackets.0.push(pop);
            return Ok(Binding::Load(cell));
        }
        let volume = translated(frame, volume);
        let count = match &volume {
            Volume::Exact(count) | Volume::AtMost(count) => count.clone(),
            // Those that are there now; others take none meanwhile, or there are fewer.
            Volume::Dynamic => {
                let variable = self.new_variable("length", ScalarType::I64);
                brackets.0.push(Statement::Set {
                    variable: variable.clone(),
                    value: length_of(queues.element, &queues.origin),
                });
                Expr::symbol(variable)
            }
        };
        let (memory, (before, after)) = self.temporary("popped", queues.element, vec![count]);
        brackets.0.extend(before);
        brackets.1.splice(0..0, after);
        brackets.0.extend(self.pop_to(queues, &memory, &volume, label));
        Ok(Binding::View(memory.strided()))
    }

    /// Takes element number `k` to a cell.
    fn pop_one(
        &mut self,
        queues: &BufferView,
        k: &Expr,
        waits: bool,
        taken: Option<Symbol>,
        label: &str,
    ) -> (Statement, Location) {
        let cell = Location { buffer: self.cell("popped", queues.element), offset: Expr::zero() };
        let to = Row { first: cell.clone(), count: Expr::one(), stride: Expr::one() };
        let queue = in_turn(queues, k);
        (Statement::Pop(Pop { label: label.to_owned(), queue, to, waits, taken }), cell)
    }

    /// Statements for each row of a part of memory, in row-major order.
    fn rows(
        &mut self,
        part: &BufferView,
        make: &mut dyn FnMut(&mut Self, Row) -> Vec<Statement>,
    ) -> Vec<Statement> {
        let mut axes = significant(part);
        let (count, stride) =
            axes.pop().map_or((Expr::one(), Expr::one()), |axis| (axis.extent, axis.stride));
        let mut first = part.origin.clone();
        let mut dimensions = Vec::with_capacity(axes.len());
        for axis in &axes {
            let variable = self.new_variable("row", ScalarType::I64);
            first = moved(&first, &(Expr::symbol(variable.clone()) * &axis.stride));
            let end = axis.extent.clone();
            dimensions.push(LoopDimension { variable, begin: Expr::zero(), end, step: Expr::one() });
        }
        let body = make(self, Row { first, count, stride });
        dimensions
            .into_iter()
            .rev()
            .fold(body, |body, dimension| vec![Statement::Loop(Loop::sequential(dimension, body))])
    }

    /// Statements for each number below a count.
    fn one_by_one(
        &mut self,
        count: Expr,
        make: &mut dyn FnMut(&mut Self, &Expr) -> Vec<Statement>,
    ) -> Vec<Statement> {
        let variable = self.new_variable("k", ScalarType::I64);
        let body = make(self, &Expr::symbol(variable.clone()));
        let dimension = LoopDimension { variable, begin: Expr::zero(), end: count, step: Expr::one() };
        vec![Statement::Loop(Loop::sequential(dimension, body))]
    }

    /// Number of elements of a part of memory.
    fn count(&self, axes: &[Axis]) -> Expr {
        axes.iter().fold(Expr::one(), |product, axis| product * self.at_least_zero(&axis.extent))
    }
}

/// The one queue that a part of a stream is.
fn single(queues: &BufferView) -> Option<Location> {
    significant(queues).is_empty().then(|| queues.origin.clone())
}

/// The queue of element number `k`: one after the other, in row-major order, again and again.
fn in_turn(queues: &BufferView, k: &Expr) -> Location {
    let axes = significant(queues);
    if axes.is_empty() {
        return queues.origin.clone();
    }
    let count = axes.iter().fold(Expr::one(), |product, axis| product * &axis.extent);
    moved(&queues.origin, &row_major(&k.modulo(&count), &axes))
}

fn moved(location: &Location, by: &Expr) -> Location {
    Location { buffer: location.buffer, offset: &location.offset + by }
}

fn translated(frame: &CallFrame<'_>, volume: &Volume) -> Volume {
    match volume {
        Volume::Exact(count) => Volume::Exact(frame.translate(count)),
        Volume::AtMost(count) => Volume::AtMost(frame.translate(count)),
        Volume::Dynamic => Volume::Dynamic,
    }
}

/// Number of elements in a queue.
pub(super) fn length_of(element: ElementType, queue: &Location) -> Scalar {
    let mut environment = Environment::new();
    let kind = ConnectorKind::Queues { rank: 0 };
    let connector =
        environment.add_connector("stream", Connector { element, kind, direction: Direction::In });
    let kind = TypedExpressionKind::Length { connector, indices: Vec::new() };
    let code = TypedExpressionCode { environment, expression: typed(kind, ScalarType::I64.into()) };
    let first = Strided { origin: queue.clone(), extents: Vec::new(), strides: Vec::new() };
    Scalar { code, bindings: vec![Binding::Length(first)], symbols: Vec::new(), checks: Vec::new() }
}
