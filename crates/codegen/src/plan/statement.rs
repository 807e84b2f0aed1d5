//! Statements of a plan.

use std::fmt;

use sdfg::symbolic::{Expr, Symbol};

use super::buffer::BufferId;
use super::check::Check;
use super::choice::If;
use super::commands::{Commands, EventId, events};
use super::compute::{Compute, ExternalCompute, Scalar};
use super::copy::Copy;
use super::debug::SourceLocationId;
use super::kept::KeptReference;
use super::loops::{Loop, While};
use super::parts::{Entry, Part, PartMut};
use super::print::Printer;
use super::profile::TimerId;
use super::stream::{Consume, Pop, Push, Tasks};
use super::vector::VectorCompute;
use super::walk::Touch;

/// A place that [`Statement::Leave`] and [`Statement::Repeat`] name; unique in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JumpTarget(pub(crate) u32);

impl JumpTarget {
    /// Its number.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// A heading for readers of the generated code: a state, a map.
    Comment(String),
    /// Sets a variable to the value of an integer expression.
    Let {
        /// The variable.
        variable: Symbol,
        /// Its value.
        value: Expr,
    },
    /// Sets a variable to the value of a typed expression of the variable's type.
    Set {
        /// The variable.
        variable: Symbol,
        /// Its value.
        value: Scalar,
    },
    /// A loop over an iteration space.
    Loop(Loop),
    /// A loop with a condition.
    While(While),
    /// A choice.
    If(If),
    /// Statements that [`Leave`](Statement::Leave) can leave.
    Block {
        /// Name of the block.
        target: JumpTarget,
        /// The statements.
        body: Vec<Statement>,
    },
    /// Goes on after the block, while loop or dispatch of this name.
    Leave(JumpTarget),
    /// Goes on with the update of the while loop of this name.
    Repeat(JumpTarget),
    /// Irregular control flow: runs the first case; [`Goto`](Statement::Goto) goes to another; after the end of a case it goes on after the dispatch.
    Dispatch {
        /// Name of the dispatch.
        target: JumpTarget,
        /// The cases.
        cases: Vec<Vec<Statement>>,
    },
    /// Goes to a case of the dispatch of this name, from inside it.
    Goto {
        /// The dispatch.
        target: JumpTarget,
        /// The position of the case.
        case: usize,
    },
    /// The lifetime of a [`Handle`](super::Allocation::Handle) buffer begins: what it held is not defined any more.
    Begin(BufferId),
    /// Allocates a [`Dynamic`](super::Allocation::Dynamic) buffer or makes empty [`Queues`](super::Allocation::Queues); without memory the run ends with a status.
    Allocate(BufferId),
    /// Frees what [`Allocate`](Statement::Allocate) made.
    Free(BufferId),
    /// Makes a [`Reference`](super::Allocation::Reference) name the memory of another buffer, and what says which of its elements were written, too.
    Point {
        /// The reference.
        reference: BufferId,
        /// The jump target that it names.
        to: BufferId,
    },
    /// Writes a reference to memory that tasks share.
    Keep(KeptReference),
    /// Takes a reference from memory that tasks share.
    Recall(KeptReference),
    /// Ends the run if a memlet names what is not there.
    Check(Check),
    /// Makes every element undefined of the buffer whose [`defined`](super::Buffer::defined) this is.
    Undefine(BufferId),
    /// A tasklet.
    Compute(Compute),
    /// A tasklet on the lanes of vectors, in a loop of level vector.
    Lanes(VectorCompute),
    /// A tasklet that calls a C function.
    External(ExternalCompute),
    /// A copy between buffers.
    Copy(Copy),
    /// Elements into a queue.
    Push(Push),
    /// Elements out of a queue.
    Pop(Pop),
    /// A processing element of a consume scope.
    Consume(Consume),
    /// Each thread of a block waits here for the others, and then sees what they wrote. All threads reach it together: it is in
    /// a kernel whose blocks run iterations [together](super::Kernel::together), outside of loops of level block.
    Barrier,
    /// Commands of a device on one of its streams.
    Commands(Commands),
    /// The host waits for events.
    Await(Vec<EventId>),
    /// Tasks that run side by side on the thread that is here, each until it waits at a queue; goes on when all are done.
    Tasks(Tasks),
    /// Statements that come from an element of the program.
    Located {
        /// Its source location.
        location: SourceLocationId,
        /// The statements.
        body: Vec<Statement>,
    },
    /// Statements whose time is taken each time they run, however they are left.
    Timed {
        /// The statements.
        timer: TimerId,
        /// The statements.
        body: Vec<Statement>,
    },
}

impl Statement {
    /// Names what belongs to the statement, in the order in which it happens.
    pub fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        match self {
            Statement::Comment(_) => {}
            Statement::Let { variable, value } => {
                visit(Part::Sets(variable));
                visit(Part::Evaluates(value));
            }
            Statement::Set { variable, value } => {
                visit(Part::Sets(variable));
                value.parts(visit);
            }
            Statement::Loop(repeated) => repeated.parts(visit),
            Statement::While(repeated) => repeated.parts(visit),
            Statement::If(choice) => choice.parts(visit),
            Statement::Timed { timer: _, body } | Statement::Located { location: _, body } => {
                visit(Part::Body(body));
            }
            Statement::Block { target, body } => {
                visit(Part::Names { target: *target, repeats: false, cases: 0 });
                visit(Part::Body(body));
            }
            Statement::Dispatch { target, cases } => {
                visit(Part::Names { target: *target, repeats: false, cases: cases.len() });
                visit(Part::Repeats);
                cases.iter().for_each(|case| visit(Part::Body(case)));
            }
            Statement::Leave(target) => visit(Part::Jumps { target: *target, entry: Entry::Behind }),
            Statement::Repeat(target) => visit(Part::Jumps { target: *target, entry: Entry::Again }),
            Statement::Goto { target, case } => {
                visit(Part::Jumps { target: *target, entry: Entry::Case(*case) });
            }
            Statement::Begin(buffer) => visit(Part::Begins(*buffer)),
            Statement::Allocate(buffer) => visit(Part::Allocates(*buffer)),
            Statement::Free(buffer) => visit(Part::Frees(*buffer)),
            Statement::Point { reference, to } => {
                visit(Part::Points { reference: *reference, to: Some(*to) });
            }
            Statement::Keep(kept) => kept.parts_of_keep(visit),
            Statement::Recall(kept) => kept.parts_of_recall(visit),
            Statement::Check(check) => check.parts(visit),
            Statement::Undefine(buffer) => visit(Part::Touches(*buffer)),
            Statement::Compute(compute) => compute.parts(visit),
            Statement::Lanes(lanes) => lanes.parts(visit),
            Statement::External(call) => call.parts(visit),
            Statement::Copy(copy) => copy.parts(visit),
            Statement::Push(push) => push.parts(visit),
            Statement::Pop(pop) => pop.parts(visit),
            Statement::Consume(consume) => consume.parts(visit),
            Statement::Barrier => visit(Part::Synchronises),
            Statement::Commands(commands) => commands.parts(visit),
            Statement::Await(_) => {}
            Statement::Tasks(tasks) => tasks.parts(visit),
        }
    }

    /// As [`parts`](Statement::parts), for change.
    pub fn parts_mut(&mut self, visit: &mut dyn FnMut(PartMut<'_>)) {
        match self {
            Statement::Comment(_)
            | Statement::Let { .. }
            | Statement::Leave(_)
            | Statement::Repeat(_)
            | Statement::Goto { .. }
            | Statement::Begin(_)
            | Statement::Allocate(_)
            | Statement::Free(_)
            | Statement::Keep(_)
            | Statement::Recall(_)
            | Statement::Check(_)
            | Statement::Undefine(_)
            | Statement::Await(_)
            | Statement::Barrier => {}
            Statement::Set { variable: _, value } => value.parts_mut(visit),
            Statement::Loop(repeated) => repeated.parts_mut(visit),
            Statement::While(repeated) => repeated.parts_mut(visit),
            Statement::If(choice) => choice.parts_mut(visit),
            Statement::Block { target: _, body }
            | Statement::Timed { timer: _, body }
            | Statement::Located { location: _, body } => visit(PartMut::Body(body)),
            Statement::Dispatch { target: _, cases } => {
                cases.iter_mut().for_each(|case| visit(PartMut::Body(case)))
            }
            Statement::Point { reference: _, to } => visit(PartMut::Touch(Touch::Name(*to))),
            Statement::Compute(compute) => compute.parts_mut(visit),
            Statement::Lanes(lanes) => lanes.parts_mut(visit),
            Statement::External(call) => call.parts_mut(visit),
            Statement::Copy(copy) => copy.parts_mut(visit),
            Statement::Push(push) => push.parts_mut(visit),
            Statement::Pop(pop) => pop.parts_mut(visit),
            Statement::Consume(consume) => consume.parts_mut(visit),
            Statement::Commands(commands) => commands.parts_mut(visit),
            Statement::Tasks(tasks) => tasks.parts_mut(visit),
        }
    }

    /// Writes it as text.
    pub(super) fn print(&self, to: &mut Printer<'_, '_, '_>) -> fmt::Result {
        match self {
            Statement::Comment(text) => to.line(format_args!("# {text}")),
            Statement::Let { variable, value } => to.line(format_args!("let {variable} = {value}")),
            Statement::Set { variable, value } => {
                let value = to.scalar(value);
                to.line(format_args!("set {variable} = {value}"))
            }
            Statement::Loop(repeated) => repeated.print(to),
            Statement::While(repeated) => repeated.print(to),
            Statement::If(choice) => choice.print(to),
            Statement::Block { target, body } => to.nested(format_args!("block L{}", target.index()), body),
            Statement::Leave(target) => to.line(format_args!("leave L{}", target.index())),
            Statement::Repeat(target) => to.line(format_args!("repeat L{}", target.index())),
            Statement::Dispatch { target, cases } => {
                to.braced(format_args!("dispatch L{}", target.index()), |to| {
                    let mut cases = cases.iter().enumerate();
                    cases.try_for_each(|(case, body)| to.nested(format_args!("case {case}"), body))
                })
            }
            Statement::Goto { target, case } => to.line(format_args!("goto L{} case {case}", target.index())),
            Statement::Begin(buffer) => to.line(format_args!("begin {}", to.name(*buffer))),
            Statement::Allocate(buffer) => to.line(format_args!("allocate {}", to.name(*buffer))),
            Statement::Free(buffer) => to.line(format_args!("free {}", to.name(*buffer))),
            Statement::Point { reference, to: target } => {
                to.line(format_args!("point {} to {}", to.name(*reference), to.name(*target)))
            }
            Statement::Keep(KeptReference { reference, place, .. }) => {
                to.line(format_args!("keep {} in {}", to.name(*reference), to.name(*place)))
            }
            Statement::Recall(KeptReference { reference, place, .. }) => {
                to.line(format_args!("recall {} from {}", to.name(*reference), to.name(*place)))
            }
            Statement::Check(check) => check.print(to),
            Statement::Undefine(buffer) => to.line(format_args!("undefine {}", to.name(*buffer))),
            Statement::Compute(compute) => compute.print(to),
            Statement::Lanes(lanes) => lanes.print(to),
            Statement::External(call) => call.print(to),
            Statement::Copy(copy) => copy.print(to),
            Statement::Push(push) => push.print(to),
            Statement::Pop(pop) => pop.print(to),
            Statement::Consume(consume) => consume.print(to),
            Statement::Barrier => to.line(format_args!("barrier")),
            Statement::Commands(commands) => commands.print(to),
            Statement::Await(awaited) => to.line(format_args!("await {}", events(awaited))),
            Statement::Tasks(tasks) => tasks.print(to),
            Statement::Located { location, body } => {
                let location =
                    to.plan().debug.as_ref().and_then(|debug| debug.locations.get(location.index()));
                to.nested(format_args!("line {}", location.map_or(0, |location| location.line)), body)
            }
            Statement::Timed { timer, body } => {
                let profile = to.plan().profile.as_ref();
                let timer = profile.and_then(|profile| profile.timers.get(timer.index()));
                to.nested(format_args!("timed {}", timer.map_or("?", |timer| &timer.path)), body)
            }
        }
    }

    /// The statements inside of it, in order.
    pub fn bodies(&self) -> Vec<&[Statement]> {
        let mut bodies = Vec::new();
        self.parts(&mut |part| {
            if let Part::Body(body) = part {
                bodies.push(body);
            }
        });
        bodies
    }

    /// Calls `visit` for the statements inside of it, in order.
    pub fn bodies_mut(&mut self, visit: &mut dyn FnMut(&mut Vec<Statement>)) {
        self.parts_mut(&mut |part| match part {
            PartMut::Body(body) => visit(body),
            PartMut::Touch(_) | PartMut::Outlined(_) => {}
        });
    }
}
