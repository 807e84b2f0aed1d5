//! Captures of outlined statements: the loop of a team, tasks, and the body of the program.

use std::collections::BTreeSet;

use sdfg::symbolic::Symbol;

use super::buffer::BufferId;
use super::parts::Part;
use super::statement::Statement;

/// Captures of an outlined function, and the memory that it allocates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captures {
    /// Variables that it is given the values of, in order.
    pub variables: Vec<Symbol>,
    /// Buffers that it is given the addresses of, in order. Constants are reached from everywhere.
    pub buffers: Vec<Captured>,
    /// Buffers on the stack that each call of it makes, besides those that a thread or task has of its own, in order.
    pub stack: Vec<BufferId>,
}

/// A buffer that a function is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Captured {
    /// The buffer.
    pub buffer: BufferId,
    /// Whether its elements may change otherwise while the function runs: by other threads, or by another name.
    pub contested: bool,
}

/// Variables that statements set and buffers that they allocate, in order, except inside other outlined
/// functions. A jump may reach a use whose text precedes that of the assignment, so a function has all of
/// them from its beginning.
#[derive(Debug, Default)]
pub struct Declarations {
    /// Variables that are set.
    pub variables: BTreeSet<Symbol>,
    /// Buffers that are allocated.
    pub buffers: BTreeSet<BufferId>,
    /// References that are set.
    pub references: BTreeSet<BufferId>,
}

impl Declarations {
    /// Those of some statements.
    pub fn of(body: &[Statement]) -> Self {
        let mut declarations = Declarations::default();
        declarations.statements(body);
        declarations
    }

    fn statements(&mut self, body: &[Statement]) {
        let here = body.iter().filter(|statement| statement.captures().is_none());
        here.for_each(|statement| statement.parts(&mut |part| self.part(part)));
    }

    fn part(&mut self, part: Part<'_>) {
        match part {
            Part::Body(body) => self.statements(body),
            Part::Sets(variable) => {
                self.variables.insert(variable.clone());
            }
            Part::Allocates(buffer) => {
                self.buffers.insert(buffer);
            }
            Part::Points { reference, to: _ } => {
                self.references.insert(reference);
            }
            // The loops and tasks that count and own set what is theirs.
            Part::Counts(_)
            | Part::Evaluates(_)
            | Part::EvaluatesInside(_)
            | Part::Compares(_)
            | Part::Touches(_)
            | Part::Contests(_)
            | Part::Owns(_)
            | Part::Outlined(_)
            | Part::Runs { .. }
            | Part::Synchronises
            | Part::Repeats
            | Part::Encloses
            | Part::Names { .. }
            | Part::Jumps { .. }
            | Part::Begins(_)
            | Part::Frees(_) => {}
        }
    }
}

impl Statement {
    /// Captures of a statement, if it runs in outlined functions.
    pub fn captures(&self) -> Option<&Captures> {
        let mut captures = None;
        self.parts(&mut |part| {
            if let Part::Outlined(given) = part {
                captures = Some(given);
            }
        });
        captures
    }
}
