//! Estimate of the work in a shared loop. Loops with little work run on the calling thread.
//!
//! An unnecessary team costs a few microseconds. A missing team can make the program several times slower.
//! Therefore a loop whose work cannot be estimated gets a team.

use sdfg::symbolic::{Expr, Symbol};
use sdfg::tasklet::TypedStatement;

use super::Lowering;
use crate::plan::{Commands, LoopDimension, Pop, Push, Statement};

/// Loops around a place, outermost first: variable, first and last value.
type Around = Vec<(Symbol, Expr, Expr)>;

impl Lowering<'_> {
    /// Number of innermost steps of a shared loop with the loops around its shares, as far as it can be told before it; the plan had `fixed` variables then.
    /// `None` where nothing is known.
    pub(super) fn work(
        &self,
        dimensions: &[LoopDimension],
        repeated: &[LoopDimension],
        body: &[Statement],
        fixed: usize,
    ) -> Option<Expr> {
        let mut around: Around = dimensions.iter().map(around_one).collect();
        let mut iterations = dimensions.iter().fold(Expr::one(), |product, d| product * steps(d));
        for dimension in repeated {
            iterations = iterations * self.known(steps(dimension), &around, fixed);
            around.push(around_one(dimension));
        }
        let work = iterations * self.work_of(body, &mut around, fixed)?;
        // Back ends have no code for what is beyond the limits of expressions.
        (!work.is_too_large()).then_some(work)
    }

    fn work_of(&self, body: &[Statement], around: &mut Around, fixed: usize) -> Option<Expr> {
        let mut sum = Expr::zero();
        for statement in body {
            sum = sum + self.work_of_statement(statement, around, fixed)?;
        }
        Some(if sum == Expr::zero() { Expr::one() } else { sum })
    }

    fn work_of_statement(&self, statement: &Statement, around: &mut Around, fixed: usize) -> Option<Expr> {
        match statement {
            Statement::Comment(_)
            | Statement::Let { .. }
            | Statement::Set { .. }
            | Statement::Leave(_)
            | Statement::Repeat(_)
            | Statement::Goto { .. }
            | Statement::Allocate(_)
            | Statement::Begin(_)
            | Statement::Free(_)
            | Statement::Point { .. }
            | Statement::Keep(_)
            | Statement::Recall(_)
            | Statement::Check(_)
            | Statement::Await(_)
            | Statement::Barrier => Some(Expr::zero()),
            Statement::Undefine(buffer) => {
                Some(self.known(self.plan.buffer(*buffer).size.clone(), around, fixed))
            }
            Statement::Lanes(_) => Some(Expr::one()),
            Statement::Compute(compute) => (!compute.code.body.iter().any(repeats)).then(Expr::one),
            Statement::Copy(copy) => {
                let extents = copy.dimensions.iter().map(|d| self.known(d.extent.clone(), around, fixed));
                Some(extents.fold(Expr::one(), |product, extent| product * extent))
            }
            // What another team does, it does in its own time, unless each thread of this one starts it.
            Statement::Loop(each) if each.team().is_some_and(|team| team.nested.is_none()) => None,
            Statement::Loop(each) => {
                let n_around = around.len();
                let mut iterations = Expr::one();
                let repeated = each.team().into_iter().flat_map(|team| &team.around);
                for dimension in each.dimensions.iter().chain(repeated) {
                    iterations = iterations * self.known(steps(dimension), around, fixed);
                    around.push(around_one(dimension));
                }
                let inside = self.work_of(&each.body, around, fixed);
                around.truncate(n_around);
                Some(iterations * inside?)
            }
            Statement::If(choice) => {
                let mut sum = self.work_of(&choice.otherwise, around, fixed)?;
                for (_, body) in &choice.arms {
                    sum = sum + self.work_of(body, around, fixed)?;
                }
                Some(sum)
            }
            Statement::Block { body, .. }
            | Statement::Timed { body, .. }
            | Statement::Located { body, .. }
            | Statement::Commands(Commands { body, .. }) => self.work_of(body, around, fixed),
            Statement::While(_)
            | Statement::Dispatch { .. }
            | Statement::External(_)
            | Statement::Consume(_)
            | Statement::Tasks(_) => None,
            Statement::Push(Push { from: row, .. }) | Statement::Pop(Pop { to: row, .. }) => {
                Some(self.known(row.count.clone(), around, fixed))
            }
        }
    }

    /// A number of steps before the shared loop: the larger one at the ends of the loops that it depends on.
    fn known(&self, steps: Expr, around: &Around, fixed: usize) -> Expr {
        let mut steps = steps;
        for (variable, first, last) in around.iter().rev() {
            if steps.depends_on(variable) {
                let at = |value| steps.with_symbol(variable, value);
                steps = Expr::max(&at(first), &at(last));
            }
        }
        let is_known = |s: &Symbol| self.plan.variables.get_index_of(s).is_some_and(|i| i < fixed);
        if steps.free_symbols().iter().all(is_known) {
            steps
        } else {
            Expr::int(i64::try_from(self.options.data_dependent_steps).unwrap_or(i64::MAX))
        }
    }
}

fn around_one(dimension: &LoopDimension) -> (Symbol, Expr, Expr) {
    let last = &dimension.end - &dimension.step;
    (dimension.variable.clone(), dimension.begin.clone(), last)
}

fn steps(dimension: &LoopDimension) -> Expr {
    (&dimension.end - &dimension.begin).ceil_div(&dimension.step)
}

/// Whether a statement of a tasklet takes a number of steps that is not known beforehand.
fn repeats(statement: &TypedStatement) -> bool {
    match statement {
        TypedStatement::For { .. } | TypedStatement::While { .. } => true,
        TypedStatement::If { then, otherwise, .. } => then.iter().chain(otherwise).any(repeats),
        TypedStatement::Local { .. }
        | TypedStatement::Output { .. }
        | TypedStatement::Store { .. }
        | TypedStatement::Push { .. } => false,
    }
}
