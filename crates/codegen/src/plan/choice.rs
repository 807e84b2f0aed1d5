//! Choices between statements.

use std::fmt;

use super::compute::Scalar;
use super::parts::{Part, PartMut};
use super::print::Printer;
use super::statement::Statement;

/// A choice: the first arm whose condition holds.
#[derive(Clone, Debug, PartialEq)]
pub struct If {
    /// Conditions with what they guard, tried in order.
    pub arms: Vec<(Scalar, Vec<Statement>)>,
    /// Statements that run if no condition holds.
    pub otherwise: Vec<Statement>,
}

impl If {
    pub(super) fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        for (condition, body) in &self.arms {
            condition.parts(visit);
            visit(Part::Body(body));
        }
        visit(Part::Body(&self.otherwise));
    }

    pub(super) fn parts_mut(&mut self, visit: &mut dyn FnMut(PartMut<'_>)) {
        for (condition, body) in &mut self.arms {
            condition.parts_mut(visit);
            visit(PartMut::Body(body));
        }
        visit(PartMut::Body(&mut self.otherwise));
    }

    pub(super) fn print(&self, to: &mut Printer<'_, '_, '_>) -> fmt::Result {
        for (at, (condition, body)) in self.arms.iter().enumerate() {
            let (word, condition) = (if at == 0 { "if" } else { "elif" }, to.scalar(condition));
            to.nested(format_args!("{word} {condition}"), body)?;
        }
        if self.otherwise.is_empty() { Ok(()) } else { to.nested("else", &self.otherwise) }
    }
}
