//! Answers about pairs of accesses, which are kept while a program is checked: states and maps made by one front end ask the
//! same of other containers.

use std::cell::RefCell;

use crate::analysis::dependence::{IteratedAccess, Iteration, meets};
use crate::symbolic::{Assumptions, Memory, Truth};

/// Answers beyond these are not kept.
const MOST: usize = 1 << 14;

/// What is known about pairs of accesses. An answer depends on nothing but the question, of which the containers are no
/// part.
#[derive(Clone, Debug, Default)]
pub(in crate::validate) struct Meetings(RefCell<Memory<Question, Truth>>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Question {
    first: IteratedAccess,
    second: IteratedAccess,
    n_common: usize,
    iteration: Iteration,
    /// What is known of symbols, by its name.
    known: u32,
}

impl Meetings {
    /// Whether two accesses touch a common element; see [`meets`].
    pub(super) fn meet(
        &self,
        first: &IteratedAccess,
        second: &IteratedAccess,
        n_common: usize,
        iteration: Iteration,
        known: &Assumptions,
    ) -> Truth {
        let ask = || meets(first, second, n_common, iteration, known);
        let Some(name) = known.name() else { return ask() };
        let (first, second) = (first.clone(), second.clone());
        let question = Question { first, second, n_common, iteration, known: name };
        if let Some(answer) = self.0.borrow().get(&question) {
            return *answer;
        }
        let answer = ask();
        let mut answers = self.0.borrow_mut();
        if answers.len() < MOST {
            answers.insert(question, answer);
        }
        answer
    }
}
