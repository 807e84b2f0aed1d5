//! Barriers of a block: each stands where a thread may access an element that another thread of its block accessed since
//! the last barrier, unless both only read it or combine into it by atomic steps.
//!
//! Barriers are in the statements that all threads of a block run in the same way, so all reach each of them. An access is
//! pending from its statement to the next barrier. A statement whose accesses conflict with pending ones gets a barrier
//! before it. A loop whose iterations conflict with each other gets one at the end of each iteration.

use std::collections::BTreeSet;

use sdfg::ir::ConflictResolution;
use sdfg::subset::Subset;
use sdfg::symbolic::{Expr, Symbol};

use super::Lowering;
use super::block::{BlockLoop, Blocks, is_block_loop};
use crate::plan::{
    BufferId, Level, Loop, Part, Realisation, Resolved, Scalar, Statement, Touch, any_statement, touches,
    touches_of_scalar,
};

/// An access of threads of a block.
#[derive(Clone, Debug, PartialEq)]
struct Access {
    buffer: BufferId,
    kind: Kind,
    by: By,
    /// Variables that may have had other values then.
    stale: BTreeSet<Symbol>,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Read,
    Write,
    /// Combined by atomic steps.
    Atomic(ConflictResolution),
}

/// The threads that access something.
#[derive(Clone, Debug, PartialEq)]
enum By {
    All,
    /// The first thread.
    One,
    /// Those that share the loop with this first variable.
    Loop(Symbol),
}

/// Where barriers are placed: a kernel.
struct Placement<'l, 'g> {
    lowering: &'l Lowering<'g>,
    blocks: &'l Blocks,
    /// Memory that a thread alone reaches.
    own: BTreeSet<BufferId>,
    /// Variables that statements of the kernel set.
    set: BTreeSet<Symbol>,
}

/// A construct that cannot contain barriers, as a noun phrase.
type Placed<T> = Result<T, String>;

impl<'g> Lowering<'g> {
    /// The statements of an iteration, which the threads of a block run together, with the barriers that they need. The next
    /// iteration of the block uses the memory in `shared` again.
    pub(super) fn with_barriers(
        &self,
        body: Vec<Statement>,
        blocks: &Blocks,
        shared: &[BufferId],
    ) -> Placed<Vec<Statement>> {
        let mut placement = Placement { lowering: self, blocks, own: BTreeSet::new(), set: BTreeSet::new() };
        placement.collect(&body);
        let mut pending = Vec::new();
        let mut placed = placement.statements(&body, &mut pending)?;
        // Iterations of a kernel are independent but for the memory that they have in turn.
        pending.retain(|access| shared.contains(&access.buffer));
        let all = self.plan.variables.keys().skip(blocks.n_variables).cloned().collect();
        placement.age(&mut pending, &all);
        if placement.statements(&body, &mut pending)? != placed {
            placed.push(Statement::Barrier);
        }
        Ok(placed)
    }
}

impl Placement<'_, '_> {
    /// Notes what threads have for themselves, and the variables that are set.
    fn collect(&mut self, body: &[Statement]) {
        for statement in body {
            let (own, set) = (&mut self.own, &mut self.set);
            statement.parts(&mut |part| {
                if let Part::Owns(buffer) = part {
                    own.insert(buffer);
                }
                if let Part::Sets(variable) = part {
                    set.insert(variable.clone());
                }
            });
            statement.bodies().into_iter().for_each(|body| self.collect(body));
        }
    }

    /// Statements that all threads run, with barriers; `pending` are the accesses before them, and then those behind them.
    fn statements(&self, body: &[Statement], pending: &mut Vec<Access>) -> Placed<Vec<Statement>> {
        let mut placed = Vec::with_capacity(body.len());
        for statement in body {
            self.statement(statement, pending, &mut placed)?;
        }
        Ok(placed)
    }

    fn statement(
        &self,
        statement: &Statement,
        pending: &mut Vec<Access>,
        placed: &mut Vec<Statement>,
    ) -> Placed<()> {
        if is_block_loop(statement) {
            self.access(self.of_loop(statement), pending, placed);
            placed.push(statement.clone());
            return Ok(());
        }
        match statement {
            Statement::Comment(_) | Statement::Let { .. } => placed.push(statement.clone()),
            Statement::Set { value, .. } => {
                self.access(of_scalar(value), pending, placed);
                placed.push(statement.clone());
            }
            Statement::Located { location, body } => {
                let body = self.statements(body, pending)?;
                placed.push(Statement::Located { location: *location, body });
            }
            Statement::Timed { timer, body } => {
                let body = self.statements(body, pending)?;
                placed.push(Statement::Timed { timer: *timer, body });
            }
            Statement::Block { target, body } => {
                if any_statement(body, &|inner| matches!(inner, Statement::Leave(to) if to == target)) {
                    return Err("a jump out of statements that a block runs together".to_owned());
                }
                let body = self.statements(body, pending)?;
                placed.push(Statement::Block { target: *target, body });
            }
            Statement::If(choice) => {
                let conditions = choice.arms.iter().flat_map(|(condition, _)| of_scalar(condition)).collect();
                self.access(conditions, pending, placed);
                let mut choice = choice.clone();
                let mut after = Vec::new();
                let arms = choice.arms.iter_mut().map(|(_, body)| body);
                for body in arms.chain([&mut choice.otherwise]) {
                    let mut inside = pending.clone();
                    *body = self.statements(body, &mut inside)?;
                    after.extend(inside);
                }
                *pending = without_repetitions(after);
                placed.push(Statement::If(choice));
            }
            Statement::Loop(each) if matches!(each.level, Level::Sequential { .. } | Level::Unrolled) => {
                let counters = each.dimensions.iter().map(|dimension| dimension.variable.clone()).collect();
                let body = self.repeated(&[], &each.body, &counters, pending, placed)?;
                placed.push(Statement::Loop(Loop { body, ..each.clone() }));
            }
            Statement::While(each) => {
                if any_statement(
                    &each.body,
                    &|inner| matches!(inner, Statement::Leave(to) | Statement::Repeat(to) if *to == each.target),
                ) {
                    return Err("a jump out of a loop that a block runs together".to_owned());
                }
                // The update is the end of each iteration; the condition is read before each, and at last after all.
                let condition = of_scalar(&each.condition);
                let all: Vec<Statement> = each.body.iter().chain(&each.update).cloned().collect();
                let (mut body, mut update) = (Vec::new(), Vec::new());
                let whole = self.repeated(&condition, &all, &BTreeSet::new(), pending, placed)?;
                // Barriers do not count.
                let mut left = each.body.len();
                for statement in whole {
                    if left > 0 {
                        left -= usize::from(statement != Statement::Barrier);
                        body.push(statement);
                    } else {
                        update.push(statement);
                    }
                }
                let mut each = each.clone();
                (each.body, each.update) = (body, update);
                placed.push(Statement::While(each));
            }
            Statement::Loop(_)
            | Statement::Leave(_)
            | Statement::Repeat(_)
            | Statement::Dispatch { .. }
            | Statement::Goto { .. }
            | Statement::Begin(_)
            | Statement::Allocate(_)
            | Statement::Free(_)
            | Statement::Point { .. }
            | Statement::Keep(_)
            | Statement::Recall(_)
            | Statement::Check(_)
            | Statement::Undefine(_)
            | Statement::Compute(_)
            | Statement::Lanes(_)
            | Statement::External(_)
            | Statement::Copy(_)
            | Statement::Push(_)
            | Statement::Pop(_)
            | Statement::Consume(_)
            | Statement::Barrier
            | Statement::Commands(_)
            | Statement::Await(_)
            | Statement::Tasks(_) => {
                return Err("irregular control flow of a block".to_owned());
            }
        }
        Ok(())
    }

    /// The body of a loop whose condition reads `head`, with barriers in it and, if the loop needs one, before it.
    fn repeated(
        &self,
        head: &[Access],
        body: &[Statement],
        counters: &BTreeSet<Symbol>,
        pending: &mut Vec<Access>,
        placed: &mut Vec<Statement>,
    ) -> Placed<Vec<Statement>> {
        let mut inside = head.to_vec();
        let mut alone = self.statements(body, &mut inside)?;
        let differs = |before: &[Access]| -> Placed<bool> {
            let mut pending: Vec<Access> = before.iter().chain(head).cloned().collect();
            Ok(self.conflicts(before, head) || self.statements(body, &mut pending)? != alone)
        };
        if differs(pending)? {
            placed.push(Statement::Barrier);
            pending.clear();
        }
        self.age(&mut inside, counters);
        let conflicts = differs(&inside)?;
        if conflicts {
            alone.push(Statement::Barrier);
            inside.clear();
        }
        pending.extend(head.iter().cloned().chain(inside));
        *pending = without_repetitions(std::mem::take(pending));
        Ok(alone)
    }

    /// Adds accesses of a statement behind a barrier, if they conflict with pending ones.
    fn access(&self, accesses: Vec<Access>, pending: &mut Vec<Access>, placed: &mut Vec<Statement>) {
        if self.conflicts(pending, &accesses) {
            placed.push(Statement::Barrier);
            pending.clear();
        }
        pending.extend(accesses);
        *pending = without_repetitions(std::mem::take(pending));
    }

    /// Notes that variables get other values.
    fn age(&self, accesses: &mut [Access], variables: &BTreeSet<Symbol>) {
        for access in accesses {
            access.stale.extend(variables.iter().cloned());
        }
    }

    fn conflicts(&self, before: &[Access], after: &[Access]) -> bool {
        before.iter().any(|first| after.iter().any(|second| self.conflict(first, second)))
    }

    /// Whether different threads may access the same element by these accesses, of which the second follows the first.
    fn conflict(&self, first: &Access, second: &Access) -> bool {
        let may_overlap =
            first.buffer == second.buffer || self.lowering.plan.may_overlap(first.buffer, second.buffer);
        if !may_overlap || (first.kind == Kind::Read && second.kind == Kind::Read) {
            return false;
        }
        if matches!(first.kind, Kind::Atomic(_)) && first.kind == second.kind {
            return false;
        }
        match (&first.by, &second.by) {
            (By::One, By::One) => false,
            (By::Loop(a), By::Loop(b)) if first.buffer == second.buffer => {
                let loops = self.blocks.loops.get(a).zip(self.blocks.loops.get(b));
                !loops.is_some_and(|(a, b)| self.same_threads(first.buffer, (a, b), &first.stale))
            }
            (By::All | By::One | By::Loop(_), By::All | By::One | By::Loop(_)) => true,
        }
    }

    /// Whether each element of a buffer is accessed by the same thread in two loops: both distribute their iterations to
    /// threads alike, and the elements of an iteration depend on its position in the same way, in some dimension of the buffer
    /// for each dimension of the loops.
    fn same_threads(
        &self,
        buffer: BufferId,
        (first, second): (&BlockLoop, &BlockLoop),
        stale: &BTreeSet<Symbol>,
    ) -> bool {
        let is_fixed =
            |expr: &Expr| expr.free_symbols().iter().all(|s| !stale.contains(s) && !self.set.contains(s));
        let dimensions: Vec<_> = first.dimensions.iter().collect();
        let alike = first.extents == second.extents
            && dimensions.len() == second.dimensions.len()
            && dimensions.iter().zip(&second.dimensions).all(|(a, b)| {
                a.range.begin == b.range.begin
                    && a.range.step == b.range.step
                    && is_fixed(&a.range.begin)
                    && is_fixed(&a.range.step)
            });
        if !alike {
            return false;
        }
        let hulls = |each: &BlockLoop| -> Option<Vec<Subset>> {
            let fixed = each.dimensions.last()?.n_variables;
            let records = self.lowering.records[each.records.clone()].iter();
            let hulls: Option<Vec<Subset>> = records
                .filter(|record| record.buffer == buffer)
                .map(|record| self.lowering.hull(record, fixed))
                .collect();
            hulls.filter(|hulls| !hulls.is_empty())
        };
        let renamed: std::collections::BTreeMap<Symbol, Expr> = second
            .dimensions
            .iter()
            .zip(&first.dimensions)
            .map(|(from, to)| (from.variable.clone(), Expr::symbol(to.variable.clone())))
            .collect();
        let Some((mut all, others)) = hulls(first).zip(hulls(second)) else { return false };
        all.extend(others.iter().map(|hull| hull.substitute(&renamed)));
        let Some(rank) = all.first().map(Subset::rank) else { return false };
        dimensions.iter().all(|open| {
            (0..rank).any(|d| {
                let mut forms = all.iter().map(|hull| self.lowering.stride_of(&hull.0[d], open, &dimensions));
                let first = forms.next().flatten();
                first.as_ref().is_some_and(|(_, rest)| is_fixed(rest)) && forms.all(|form| form == first)
            })
        })
    }

    /// Accesses of a loop that the threads of a block share.
    fn of_loop(&self, statement: &Statement) -> Vec<Access> {
        let Statement::Loop(each) = statement else { return Vec::new() };
        let is_alone =
            matches!(&each.level, Level::Block(threads) if threads.extents.iter().all(|extent| *extent == 1));
        let by = match each.dimensions.first() {
            Some(_) if is_alone => By::One,
            Some(first) => By::Loop(first.variable.clone()),
            None => By::One,
        };
        let mut accesses = Vec::new();
        touches(&mut [statement.clone()], &mut |mut touch| {
            let buffer = touch.buffer();
            if self.own.contains(&buffer) {
                return;
            }
            let kind = kind_of(&mut touch);
            accesses.push(Access { buffer, kind, by: by.clone(), stale: BTreeSet::new() });
        });
        // Which elements were written is known with them: to forget it is a write of all.
        for_undefined(statement, &mut |defined| {
            let owner = self.lowering.plan.buffers.iter().position(|other| other.defined == Some(defined));
            let buffer = owner.map_or(defined, |owner| BufferId(owner as u32));
            if !self.own.contains(&buffer) {
                accesses.push(Access { buffer, kind: Kind::Write, by: by.clone(), stale: BTreeSet::new() });
            }
        });
        without_repetitions(accesses)
    }
}

/// Calls `visit` with each buffer whose elements a statement makes undefined.
fn for_undefined(statement: &Statement, visit: &mut dyn FnMut(BufferId)) {
    if let Statement::Undefine(buffer) = statement {
        visit(*buffer);
    }
    statement.bodies().into_iter().flatten().for_each(|inner| for_undefined(inner, visit));
}

/// Reads of a value that every thread computes.
fn of_scalar(scalar: &Scalar) -> Vec<Access> {
    let mut accesses = Vec::new();
    touches_of_scalar(&mut scalar.clone(), &mut |mut touch| {
        let (buffer, kind) = (touch.buffer(), kind_of(&mut touch));
        accesses.push(Access { buffer, kind, by: By::All, stale: BTreeSet::new() });
    });
    accesses
}

fn kind_of(touch: &mut Touch<'_>) -> Kind {
    if touch.reads() {
        return Kind::Read;
    }
    match touch.write_mut() {
        Some(Resolved::Combine { resolution, realisation: Realisation::Atomic, .. }) => {
            Kind::Atomic(resolution.clone())
        }
        Some(Resolved::Combine { .. } | Resolved::Store) | None => Kind::Write,
    }
}

fn without_repetitions(accesses: Vec<Access>) -> Vec<Access> {
    let mut kept: Vec<Access> = Vec::with_capacity(accesses.len());
    for access in accesses {
        if !kept.contains(&access) {
            kept.push(access);
        }
    }
    kept
}
