//! Stream-to-array forwarding: a loop fills a stream, and a copy behind the loop empties it into an array.
//!
//! The filter pattern pushes selected elements to a stream and then copies them to the front of an array.
//! Through the stream, each element would be written three times, to new memory each time. Instead, the
//! queues of the threads are emptied directly into the array, one after the other. The copy moves only the
//! remaining elements: those for which the array has no space, or all if the stream was not empty before the
//! loop.

use sdfg::dtype::ScalarType;
use sdfg::symbolic::Expr;
use sdfg::value::Value;

use super::Lowering;
use super::accumulator::set_constant;
use super::scalar::element_at;
use crate::plan::{BufferId, Location, Pop, Row, Statement, StreamToArray, Team, any_statement, touches};

impl Lowering<'_> {
    /// Looks for streams that are emptied right after the loop that fills them.
    pub(super) fn fill_arrays_directly(&mut self, statements: &mut Vec<Statement>) {
        // Checked code looks at every element of the copy.
        if self.options.checked || self.in_parallel() {
            return;
        }
        let mut at = 0;
        while at < statements.len() {
            let (before, rest) = statements.split_at_mut(at);
            if let Some(pop) = rest.first_mut().and_then(the_pop)
                && let Some(filler) = self.filler(before, pop)
            {
                let (cell, count) = self.redirect(&mut before[filler], pop);
                statements.insert(at, count);
                statements.insert(filler, set_constant(&cell, Value::I64(0), ScalarType::I64.into()));
                at += 2;
            }
            at += 1;
        }
    }

    /// The loop that fills what a statement takes from, if nothing comes in between.
    fn filler(&self, before: &mut [Statement], pop: &Pop) -> Option<usize> {
        let memory = pop.to.first.buffer;
        if self.plan.is_reference(memory) {
            return None;
        }
        for (at, statement) in before.iter_mut().enumerate().rev() {
            if let Some(filled) = the_loop(statement) {
                let collects = filled
                    .collected
                    .iter()
                    .any(|each| each.stream == pop.queue.buffer && each.array.is_none());
                if collects {
                    return (!self.touches_any(std::slice::from_mut(statement), &[memory])).then_some(at);
                }
            }
            let one = std::slice::from_mut(statement);
            if self.touches_any(one, &[memory, pop.queue.buffer]) || prepares(one, pop) {
                return None;
            }
        }
        None
    }

    /// Whether statements touch one of some buffers, by whatever name.
    fn touches_any(&self, statements: &mut [Statement], buffers: &[BufferId]) -> bool {
        let mut found = false;
        touches(statements, &mut |touch| {
            found |= buffers
                .iter()
                .any(|buffer| touch.buffer() == *buffer || self.plan.may_overlap(touch.buffer(), *buffer));
        });
        found
    }

    /// Gives a loop the memory that a statement empties its stream to. Returns where the elements are counted that went there, and the
    /// statement that reads their number for the other one.
    fn redirect(&mut self, filler: &mut Statement, pop: &mut Pop) -> (Location, Statement) {
        let cell = Location { buffer: self.cell("delivered", ScalarType::I64.into()), offset: Expr::zero() };
        let variable = self.new_variable("delivered", ScalarType::I64);
        let there = Expr::symbol(variable.clone());
        let array = StreamToArray { to: pop.to.clone(), delivered: cell.clone() };
        let collected = the_loop(filler).map(|filled| filled.collected.as_mut_slice()).unwrap_or_default();
        for each in collected.iter_mut().filter(|each| each.stream == pop.queue.buffer) {
            each.array = Some(array.clone());
        }
        let Row { first, count, stride } = &mut pop.to;
        first.offset = &first.offset + &(&there * &*stride);
        *count = &*count - &there;
        let value = element_at(cell.clone(), ScalarType::I64.into());
        (cell, Statement::Set { variable, value })
    }
}

/// The one statement that takes what is there from a stream, to a row.
fn the_pop(statement: &mut Statement) -> Option<&mut Pop> {
    if let Statement::Located { body, .. } = statement {
        let [only] = body.as_mut_slice() else { return None };
        return the_pop(only);
    }
    if let Statement::Pop(pop) = statement {
        Some(pop).filter(|pop| !pop.waits && pop.taken.is_none())
    } else {
        None
    }
}

/// The team whose loop a statement ends with.
fn the_loop(statement: &mut Statement) -> Option<&mut Team> {
    if let Statement::Located { body, .. } | Statement::Timed { body, .. } = statement {
        return body.last_mut().and_then(the_loop);
    }
    if let Statement::Loop(filled) = statement { filled.team_mut() } else { None }
}

/// Whether statements make the memory or the queue, or set a variable that says where elements go.
fn prepares(statements: &[Statement], pop: &Pop) -> bool {
    let memory = [pop.to.first.buffer, pop.queue.buffer];
    let places = [&pop.to.first.offset, &pop.to.count, &pop.to.stride];
    any_statement(statements, &|statement| {
        if let Statement::Begin(buffer) | Statement::Allocate(buffer) | Statement::Free(buffer) = statement {
            return memory.contains(buffer);
        }
        if let Statement::Let { variable, .. }
        | Statement::Set { variable, .. }
        | Statement::Pop(Pop { taken: Some(variable), .. }) = statement
        {
            return places.iter().any(|place| place.depends_on(variable));
        }
        false
    })
}
