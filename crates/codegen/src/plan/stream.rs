//! Streams: elements in queues, and the processing elements that consume them.
//!
//! A stream is a buffer with [`Allocation::Queues`](super::Allocation::Queues) whose positions are queues.
//! Only these statements, [`Binding::Push`](super::Binding::Push) and
//! [`Binding::Length`](super::Binding::Length) access the elements of a queue.

use std::fmt;

use sdfg::symbolic::{Expr, Symbol};

use super::buffer::{BufferId, Location};
use super::capture::Captures;
use super::compute::Scalar;
use super::kept::KeptReference;
use super::loops::LoopDimension;
use super::parts::{Part, PartMut};
use super::print::Printer;
use super::statement::Statement;
use super::walk::Touch;

/// Elements of memory side by side, or evenly apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The first element.
    pub first: Location,
    /// Number of elements; none if it is not positive.
    pub count: Expr,
    /// Elements between neighbours.
    pub stride: Expr,
}

/// Adds the elements of a row to a queue, in order; waits for room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Push {
    /// Label of the node or edge, for messages.
    pub label: String,
    /// The elements.
    pub from: Row,
    /// The queue.
    pub queue: Location,
}

/// Takes elements from a queue to a row, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pop {
    /// Label of the node or edge, for messages.
    pub label: String,
    /// The queue.
    pub queue: Location,
    /// Their destination.
    pub to: Row,
    /// Whether it waits until there are as many as the row holds; else it takes those that are there.
    pub waits: bool,
    /// A variable that is set to how many were taken.
    pub taken: Option<Symbol>,
}

/// A stream to which the threads of a loop push in queues of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collected {
    /// The stream: one queue without a bound.
    pub stream: BufferId,
    /// Destination of the elements instead of the stream, while it is empty; without, all elements go to the
    /// stream.
    pub array: Option<StreamToArray>,
}

/// Memory that takes the elements of a stream when a loop is done, and may have them at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamToArray {
    /// The memory. Nothing else in the loop accesses it.
    pub to: Row,
    /// An `i64` that counts the elements that went there; it is set before the loop.
    pub delivered: Location,
}

/// One processing element of a consume scope: it takes an element and runs the body, again and again, until the scope is done.
///
/// The processing elements of one scope are the iterations of a loop around this statement; threads may run several at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Consume {
    /// Label of the scope.
    pub label: String,
    /// The queue.
    pub queue: Location,
    /// Shared state of the processing elements of the scope: two `i64`, both zero before the first one
    /// begins.
    pub scope: Location,
    /// Location of the element for the body; each thread has its own.
    pub element: Location,
    /// Memory for elements that are taken at a time, one after the other, as many as its size; without, one is.
    pub batch: Option<BufferId>,
    /// Whether what the body pushes to the queue waits in a queue of the thread's own until the elements taken are done.
    pub gathers: bool,
    /// The scope is done when this holds, tested before each element; without it, when the queue is empty and no
    /// processing element works.
    pub condition: Option<Scalar>,
    /// References that tasks share and that the condition reads: it takes them from the memory before each test.
    pub recalls: Vec<KeptReference>,
    /// Processing of each element.
    pub body: Vec<Statement>,
}

/// Tasks of some kinds that run side by side on one thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tasks {
    /// The kinds.
    pub kinds: Vec<TaskKind>,
    /// Captures of their functions.
    pub captures: Captures,
}

/// Tasks that run the same statements.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskKind {
    /// Label of the node, for symbols and messages.
    pub label: String,
    /// One task for each value of this variable; one task alone without it.
    pub dimension: Option<LoopDimension>,
    /// Positions of the kinds whose tasks are all done before one of these begins.
    pub after: Vec<usize>,
    /// Buffers of which every task has its own, all [`Stack`](super::Allocation::Stack).
    pub locals: Vec<BufferId>,
    /// Statements of a task. No jump leaves it.
    pub body: Vec<Statement>,
}

impl Row {
    fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        self.first.parts(visit);
        visit(Part::Evaluates(&self.count));
        visit(Part::Evaluates(&self.stride));
    }
}

impl Push {
    pub(super) fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        self.from.parts(visit);
        self.queue.parts(visit);
    }

    pub(super) fn parts_mut(&mut self, visit: &mut dyn FnMut(PartMut<'_>)) {
        visit(PartMut::Touch(Touch::CopyFrom(&mut self.from.first)));
        visit(PartMut::Touch(Touch::PushTo(&mut self.queue)));
    }
}

impl Pop {
    pub(super) fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        self.queue.parts(visit);
        self.to.parts(visit);
        self.taken.iter().for_each(|taken| visit(Part::Sets(taken)));
    }

    pub(super) fn parts_mut(&mut self, visit: &mut dyn FnMut(PartMut<'_>)) {
        visit(PartMut::Touch(Touch::TakeFrom(&mut self.queue)));
        visit(PartMut::Touch(Touch::Pointer(&mut self.to.first)));
    }
}

impl Push {
    pub(super) fn print(&self, to: &mut Printer<'_, '_, '_>) -> fmt::Result {
        let (from, queue) = (to.row(&self.from), to.location(&self.queue));
        to.line(format_args!("push {from} -> {queue}"))
    }
}

impl Pop {
    pub(super) fn print(&self, to: &mut Printer<'_, '_, '_>) -> fmt::Result {
        let (queue, row) = (to.location(&self.queue), to.row(&self.to));
        let word = if self.waits { "pop" } else { "take" };
        let taken = self.taken.as_ref().map(|taken| format!(" count {taken}")).unwrap_or_default();
        to.line(format_args!("{word} {queue} -> {row}{taken}"))
    }
}

impl Collected {
    pub(super) fn print(&self, to: &mut Printer<'_, '_, '_>) -> fmt::Result {
        let name = to.name(self.stream);
        let into = self
            .array
            .as_ref()
            .map(|array| format!(" into {} counted in {}", to.row(&array.to), to.location(&array.delivered)));
        to.line(format_args!("collected {name}{}", into.unwrap_or_default()))
    }

    pub(super) fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        visit(Part::Touches(self.stream));
        if let Some(array) = &self.array {
            array.to.parts(visit);
            array.delivered.parts(visit);
            visit(Part::Contests(array.to.first.buffer));
            visit(Part::Contests(array.delivered.buffer));
        }
    }

    pub(super) fn parts_mut(&mut self, visit: &mut dyn FnMut(PartMut<'_>)) {
        if let Some(array) = &mut self.array {
            visit(PartMut::Touch(Touch::Pointer(&mut array.to.first)));
            visit(PartMut::Touch(Touch::Pointer(&mut array.delivered)));
        }
    }
}

impl Consume {
    pub(super) fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        visit(Part::Repeats);
        visit(Part::Encloses);
        self.queue.parts(visit);
        self.scope.parts(visit);
        self.element.parts(visit);
        visit(Part::Contests(self.scope.buffer));
        self.batch.iter().for_each(|batch| visit(Part::Touches(*batch)));
        self.recalls.iter().for_each(|kept| kept.parts_of_recall(visit));
        if let Some(condition) = &self.condition {
            condition.parts(&mut |part| {
                // Other threads change what it reads while it waits.
                if let Part::Touches(buffer) = part {
                    visit(Part::Contests(buffer));
                }
                visit(part);
            });
        }
        visit(Part::Body(&self.body));
    }

    pub(super) fn parts_mut(&mut self, visit: &mut dyn FnMut(PartMut<'_>)) {
        visit(PartMut::Touch(Touch::TakeFrom(&mut self.queue)));
        if let Some(condition) = &mut self.condition {
            condition.parts_mut(visit);
        }
        visit(PartMut::Body(&mut self.body));
    }
}

impl Consume {
    pub(super) fn print(&self, to: &mut Printer<'_, '_, '_>) -> fmt::Result {
        let (queue, element) = (to.location(&self.queue), to.location(&self.element));
        let mut header = format!("consume {} {queue} -> {element}", self.label);
        if let Some(batch) = self.batch {
            header.push_str(&format!(" batch {}", to.name(batch)));
        }
        if self.gathers {
            header.push_str(" gathers");
        }
        if let Some(condition) = &self.condition {
            header.push_str(&format!(" until {}", to.scalar(condition)));
        }
        for KeptReference { reference, place, .. } in &self.recalls {
            header.push_str(&format!(" recall {} from {}", to.name(*reference), to.name(*place)));
        }
        header.push_str(&format!(" scope {}", to.location(&self.scope)));
        to.nested(header, &self.body)
    }
}

impl Tasks {
    /// Tasks of these kinds.
    pub fn new(kinds: Vec<TaskKind>) -> Self {
        Tasks { kinds, captures: Captures::default() }
    }

    pub(super) fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        visit(Part::Repeats);
        visit(Part::Encloses);
        self.kinds.iter().for_each(|kind| kind.parts(visit));
        visit(Part::Outlined(&self.captures));
    }

    pub(super) fn parts_mut(&mut self, visit: &mut dyn FnMut(PartMut<'_>)) {
        self.kinds.iter_mut().for_each(|kind| kind.parts_mut(visit));
        visit(PartMut::Outlined(&mut self.captures));
    }

    pub(super) fn print(&self, to: &mut Printer<'_, '_, '_>) -> fmt::Result {
        to.braced("tasks", |to| {
            to.captures(&self.captures)?;
            for kind in &self.kinds {
                let mut header = format!("task {}", kind.label);
                header.extend(kind.dimension.iter().map(|dimension| format!(" {dimension}")));
                if !kind.after.is_empty() {
                    let after: Vec<&str> = kind.after.iter().map(|k| self.kinds[*k].label.as_str()).collect();
                    header.push_str(&format!(" after {}", after.join(", ")));
                }
                to.braced(header, |to| {
                    for local in &kind.locals {
                        let name = to.name(*local);
                        to.line(format_args!("local {name}"))?;
                    }
                    to.statements(&kind.body)
                })?;
            }
            Ok(())
        })
    }
}

impl TaskKind {
    fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        self.dimension.iter().for_each(|dimension| dimension.parts(visit));
        self.locals.iter().for_each(|local| visit(Part::Owns(*local)));
        visit(Part::Body(&self.body));
    }

    fn parts_mut(&mut self, visit: &mut dyn FnMut(PartMut<'_>)) {
        visit(PartMut::Body(&mut self.body));
    }
}
