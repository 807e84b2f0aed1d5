//! Cache of answers about pairs of accesses during validation: states and maps of one front end repeat the
//! same queries for other containers.

use std::cell::RefCell;

use sdfg_graph::analysis::dependence::{IteratedAccess, Iteration, meets};
use sdfg_language::symbolic::{Assumptions, Truth};
use sdfg_language::workspace::CacheMap;

/// Answers beyond these are not kept.
const MOST: usize = 1 << 14;

/// Cached answers about pairs of accesses. An answer depends only on the query, which does not include the
/// containers.
#[derive(Clone, Debug, Default)]
pub(crate) struct OverlapCache(RefCell<CacheMap<Question, Truth>>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Question {
    first: IteratedAccess,
    second: IteratedAccess,
    n_common: usize,
    iteration: Iteration,
    /// Facts about symbols, by name.
    known: u32,
}

impl OverlapCache {
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

#[cfg(test)]
mod tests {
    use sdfg_graph::analysis::dependence::Iterations;
    use sdfg_language::subset::{Range, Subset};
    use sdfg_language::symbolic::with_proof_cache;
    use sdfg_language::symbolic::{Expr, Symbol};

    use super::*;

    /// One element in each iteration of `i = 0:N`.
    fn access(index: Expr) -> IteratedAccess {
        let range = Range::new(Expr::zero(), Expr::sym("N"));
        let symbols = vec![(Symbol::of("i"), range)];
        let around = Iterations { symbols, given: Vec::new(), changing: Vec::new(), exactly_once: true };
        IteratedAccess { around: vec![around], subset: Subset(vec![Range::index(index)]), certain: true }
    }

    #[test]
    fn each_part_of_a_question_counts() {
        let (own, behind, far) = (Expr::sym("i"), Expr::sym("i") + 1, Expr::sym("i") + Expr::sym("K"));
        let (nothing, mut beyond) = (Assumptions::new(), Assumptions::new());
        beyond.assume_nonnegative(Expr::sym("K") - Expr::sym("N"));
        let questions = [
            (&own, &own, Iteration::Same(1), &nothing),
            (&own, &own, Iteration::Different(0), &nothing),
            (&own, &behind, Iteration::Same(1), &nothing),
            (&own, &behind, Iteration::Different(0), &nothing),
            (&behind, &own, Iteration::Later(0), &nothing),
            (&own, &behind, Iteration::Later(0), &nothing),
            (&own, &far, Iteration::Different(0), &nothing),
            (&own, &far, Iteration::Different(0), &beyond),
        ];
        let asked = |answer: &dyn Fn(&IteratedAccess, &IteratedAccess, Iteration, &Assumptions) -> Truth| {
            let each = |(first, second, iteration, known): &(&Expr, &Expr, Iteration, &Assumptions)| {
                answer(&access((*first).clone()), &access((*second).clone()), *iteration, known)
            };
            questions.iter().map(each).collect::<Vec<Truth>>()
        };
        let expected = asked(&|first, second, iteration, known| meets(first, second, 1, iteration, known));
        let distinct = [Truth::Refuted, Truth::Unknown];
        assert!(distinct.iter().all(|answer| expected.contains(answer)), "{expected:?}");
        let overlap_cache = OverlapCache::default();
        let known = |first: &IteratedAccess, second: &IteratedAccess, iteration, known: &Assumptions| {
            overlap_cache.meet(first, second, 1, iteration, known)
        };
        with_proof_cache(|| {
            for _ in 0..2 {
                assert_eq!(asked(&known), expected);
            }
            assert_eq!(overlap_cache.0.borrow().len(), questions.len());
        });
    }
}
