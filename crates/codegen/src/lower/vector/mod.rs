//! Maps of schedule `simd`: lowered to vector lanes, or refused with a reason.
//!
//! The map is examined in three steps. [`structure`] examines the contents of the scope in the graph. When
//! the innermost loop is complete, `lanes` examines the accesses of its iterations and refuses maps in which
//! one iteration may write memory that another one accesses. Enclosing loops may still change allocations
//! (`conflict`). Therefore [`finish`] selects the access pattern of each access only when the plan is
//! complete.

mod lane_access;
mod once;
mod refusal;
mod registers;

use sdfg::dtype::{ElementType, ScalarKind};
use sdfg::ir::{ConflictResolution, FloatMode};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::{Expr, Symbol, Truth};

pub(super) use lane_access::finish;
pub use refusal::VectorRefusal;
pub(super) use refusal::structure;
pub(super) use registers::widen;

use once::accesses_once;

use super::Lowering;
use super::access::{AccessKind, Record};
use super::conflict::OpenLoop;
use crate::plan::{
    Allocation, BufferId, Copy, Fold, Level, LoopDimension, Part, Resolved, Statement, Vector,
};

/// Lanes of the widest vector: more iterations of a map are run in several vectors.
const MOST_LANES: i64 = 64;
/// Registers of each vector of a map whose number of iterations is not known or large: instructions on one do not wait for another.
const REGISTERS: u64 = 4;
/// The same for maps with more values than [`FEW`], which would not all stay in registers.
const REGISTERS_OF_MANY: u64 = 2;
/// Connectors and local variables of a small map.
const FEW: usize = 4;
/// The most bytes of such a vector.
const MOST_BYTES: u64 = 128;
/// Elements that a copy of one lane has at most; it is written out.
const COPIED: i64 = 64;
/// Bytes of the memory that each lane has of its own, for one buffer.
const PRIVATE_BYTES: i64 = 1 << 10;

impl<'g> Lowering<'g> {
    /// Looks at the innermost loop, whose iterations are to run on lanes: at what they are made of, and whether one writes what another
    /// one accesses. Returns the buffers of which each lane needs its own.
    pub(super) fn lanes(&self, body: &[Statement]) -> Result<Vec<BufferId>, VectorRefusal> {
        let Some(open) = self.loops.last() else { return Ok(Vec::new()) };
        let privates = self.privates(open)?;
        self.statements_of_lanes(body)?;
        for (buffer, records) in &self.records_by_buffer(open) {
            if !self.is_made_inside(*buffer, open) {
                self.apart_in_lanes(*buffer, records, open, body)?;
            }
        }
        Ok(privates)
    }

    /// The buffers of the innermost loop.
    fn privates(&self, open: &OpenLoop) -> Result<Vec<BufferId>, VectorRefusal> {
        let mut privates = Vec::new();
        for id in self.buffers_from(open.n_buffers) {
            let buffer = self.plan.buffer(id);
            let bytes = buffer.size.as_int().and_then(|size| size.checked_mul(buffer.element.size() as i64));
            let is_small = bytes.is_some_and(|bytes| bytes <= PRIVATE_BYTES);
            if !is_small || buffer.allocation != Allocation::Stack {
                return Err(VectorRefusal::Memory { container: buffer.name.clone() });
            }
            privates.push(id);
        }
        Ok(privates)
    }

    fn statements_of_lanes(&self, body: &[Statement]) -> Result<(), VectorRefusal> {
        body.iter().try_for_each(|statement| match statement {
            Statement::Comment(_) | Statement::Check(_) | Statement::Undefine(_) | Statement::Compute(_) => {
                Ok(())
            }
            Statement::Timed { body, .. } | Statement::Located { body, .. } => self.statements_of_lanes(body),
            Statement::Copy(copy) if copied(copy).is_some() => Ok(()),
            Statement::Copy(copy) => Err(VectorRefusal::Copy { label: copy.label.clone() }),
            Statement::Loop(inner) => Err(copy_in(&inner.body).unwrap_or(VectorRefusal::Statement)),
            Statement::Begin(buffer) | Statement::Allocate(buffer) | Statement::Free(buffer) => {
                Err(VectorRefusal::Memory { container: self.plan.buffer(*buffer).name.clone() })
            }
            Statement::Let { .. }
            | Statement::Set { .. }
            | Statement::While(_)
            | Statement::If(_)
            | Statement::Block { .. }
            | Statement::Leave(_)
            | Statement::Repeat(_)
            | Statement::Dispatch { .. }
            | Statement::Goto { .. }
            | Statement::Point { .. }
            | Statement::Keep(_)
            | Statement::Recall(_)
            | Statement::Lanes(_)
            | Statement::External(_)
            | Statement::Push(_)
            | Statement::Pop(_)
            | Statement::Consume(_)
            | Statement::Barrier
            | Statement::Commands(_)
            | Statement::Await(_)
            | Statement::Tasks(_) => Err(VectorRefusal::Statement),
        })
    }

    /// Refuses a buffer of which one iteration may write what another one accesses, unless the order of lanes is that of the iterations.
    fn apart_in_lanes(
        &self,
        buffer: BufferId,
        records: &[Record],
        open: &OpenLoop,
        body: &[Statement],
    ) -> Result<(), VectorRefusal> {
        let container = || self.plan.buffer(buffer).name.clone();
        let writes = |record: &Record| record.kind != AccessKind::Read;
        let meeting = records.iter().enumerate().any(|(n, a)| {
            let others = records[n..].iter().filter(|b| writes(a) || writes(b));
            others.into_iter().any(|b| self.meet(a, b, open))
        });
        if !meeting {
            return Ok(());
        }
        let resolutions: Option<Vec<&ConflictResolution>> = records
            .iter()
            .map(|record| match &record.kind {
                AccessKind::Combine(resolution) => Some(resolution),
                AccessKind::Read | AccessKind::Write => None,
            })
            .collect();
        match (records, resolutions.as_deref()) {
            // Its lanes follow one another.
            ([only], _) if accesses_once(body, buffer) => {
                let is_same = only.kind == AccessKind::Write && self.stays(only, open);
                if is_same { Err(VectorRefusal::Same { container: container() }) } else { Ok(()) }
            }
            // Combinations of one kind may come in any order.
            (_, Some([first, rest @ ..])) if rest.iter().all(|other| other == first) => {
                let element = self.plan.buffer(buffer).element;
                let is_fixed = matches!(first, ConflictResolution::Custom(_) | ConflictResolution::Replace)
                    || self.keeps_order(first, element);
                if is_fixed { Err(VectorRefusal::Overlap { container: container() }) } else { Ok(()) }
            }
            _ => Err(VectorRefusal::Overlap { container: container() }),
        }
    }

    /// Whether combinations of this kind keep the order of iterations: their results are rounded, and the program asks for strict results.
    pub(super) fn keeps_order(&self, resolution: &ConflictResolution, element: ElementType) -> bool {
        let rounds = matches!(element.lane().kind(), ScalarKind::Float | ScalarKind::Complex)
            && matches!(resolution, ConflictResolution::Sum | ConflictResolution::Product);
        rounds && self.plan.float_mode == FloatMode::Strict
    }

    /// Whether an access is at one place in all iterations.
    fn stays(&self, record: &Record, open: &OpenLoop) -> bool {
        let Some(subset) = &record.subset else { return false };
        let moves = |s: &Symbol| self.plan.variables.get_index_of(s).is_none_or(|i| i >= open.n_variables);
        let stays = |symbol: &Symbol| *symbol != open.variable && !moves(symbol);
        subset.0.iter().all(|range| range.is_index() && range.free_symbols().iter().all(stays))
    }

    /// Whether two accesses may be to one element in different iterations.
    fn meet(&self, a: &Record, b: &Record, open: &OpenLoop) -> bool {
        let (a, b) = (self.hull(a, open.n_variables), self.hull(b, open.n_variables));
        let (Some(Subset(a)), Some(Subset(b))) = (a, b) else { return true };
        a.len() != b.len() || !a.iter().zip(&b).any(|(a, b)| self.is_apart_along(a, b, open))
    }

    /// Whether ranges of one dimension, in two different iterations, have no index in common.
    fn is_apart_along(&self, a: &Range, b: &Range, open: &OpenLoop) -> bool {
        let (Some((c, first)), Some((other, second))) =
            (a.begin.linear_in(&open.variable), b.begin.linear_in(&open.variable))
        else {
            return false;
        };
        if c != other {
            return false;
        }
        let length = |range: &Range| (&range.end - &range.begin).as_int().filter(|length| *length > 0);
        let Some(c) = c.as_int() else {
            // Iterations are at least one index apart.
            let moves = open.stride.as_ref().is_some_and(|stride| c == *stride || c == -stride);
            return moves && second == first && length(a) == Some(1) && length(b) == Some(1);
        };
        if c == 0 {
            let before = |a: &Range, b: &Range| a.end.le(&b.begin, &self.assumptions) == Truth::Proved;
            return before(a, b) || before(b, a);
        }
        let (Some(distance), Some(a), Some(b)) = ((&second - &first).as_int(), length(a), length(b)) else {
            return false;
        };
        let Some(step) = open.range.step.as_int().and_then(|step| step.checked_mul(c)) else {
            // Iterations are at least one index apart.
            return distance == 0 && a <= c.abs() && b <= c.abs();
        };
        let count = open.range.steps().as_int().unwrap_or(i64::MAX);
        // `k` iterations later, the second range begins at `distance + k * step` behind the first.
        let (least, most) = ((-b - distance) / step, (a - distance) / step);
        let near = least.min(most) - 1..=least.max(most) + 1;
        let meets = |k: i64| {
            let begin = distance + k * step;
            k != 0 && k.abs() < count && begin > -b && begin < a
        };
        !near.into_iter().any(meets)
    }

    /// The loop of a closed map whose iterations run on lanes; `after` combines what was accumulated in cells.
    pub(super) fn level_of_lanes(
        &self,
        dimension: &LoopDimension,
        body: &[Statement],
        privates: Vec<BufferId>,
        after: &[Statement],
    ) -> Level {
        let folds: Vec<Fold> = after
            .iter()
            .filter_map(|statement| {
                let Statement::Copy(Copy { from, write: Resolved::Combine { resolution, .. }, .. }) =
                    statement
                else {
                    return None;
                };
                Some(Fold { cell: from.buffer, resolution: resolution.clone() })
            })
            .collect();
        match self.width(dimension, body) {
            Some(width) => Level::Vector(Box::new(Vector {
                width,
                register_bytes: self.target.register_bytes,
                ahead: false,
                rest: Vec::new(),
                privates,
                folds,
            })),
            None => Level::Sequential { selector: None },
        }
    }

    /// Lanes of one vector; `None` for less than two iterations, which need none.
    fn width(&self, dimension: &LoopDimension, body: &[Statement]) -> Option<u32> {
        let lanes = match dimension.count() {
            Some(count) if count < 2 => return None,
            Some(count) if count <= MOST_LANES => count,
            Some(_) | None => {
                let mut bytes = 1;
                sizes(body, &mut |buffer| {
                    bytes = bytes.max(self.plan.buffer(buffer).element.lane().component().size() as u64);
                });
                let registers = if values(body) <= FEW { REGISTERS } else { REGISTERS_OF_MANY };
                let widest = self.target.vector_bytes.last().copied().unwrap_or_default();
                let lanes = |of: u64| i64::try_from(of / bytes).unwrap_or(MOST_LANES);
                let most = lanes((widest * registers).min(MOST_BYTES));
                let fitting = bound(dimension).map_or(most, |bound| fitting(bound, most, lanes(widest)));
                fitting.clamp(2, MOST_LANES)
            }
        };
        u32::try_from(lanes).ok()
    }
}

/// The most iterations of a loop, if it is a small constant.
fn bound(dimension: &LoopDimension) -> Option<i64> {
    let range = Range::new(dimension.begin.clone(), dimension.end.clone()).with_step(dimension.step.clone());
    let count = range.steps();
    (1..=MOST_LANES).find(|most| Expr::min(&count, &Expr::int(*most)) == count)
}

/// Lanes of vectors of whole registers, up to `most`, so that a loop with all of its iterations leaves none to the rest; if there
/// are none, as many as there may be iterations.
fn fitting(bound: i64, most: i64, register: i64) -> i64 {
    let whole = (1..=most / register.max(1)).rev().map(|registers| registers * register);
    let even = whole.into_iter().find(|lanes| bound % lanes == 0);
    even.unwrap_or_else(|| if bound < most { 1 << bound.max(1).ilog2() } else { most })
}

/// The connectors and local variables of an iteration.
fn values(body: &[Statement]) -> usize {
    let of = |statement: &Statement| {
        if let Statement::Compute(compute) = statement {
            return compute.bindings.len() + compute.code.locals.len();
        }
        statement.bodies().into_iter().map(values).sum()
    };
    body.iter().map(of).sum()
}

/// Calls `visit` for the buffers that statements access.
fn sizes(body: &[Statement], visit: &mut dyn FnMut(BufferId)) {
    for statement in body {
        statement.parts(&mut |part| match part {
            Part::Body(body) => sizes(body, visit),
            Part::Touches(buffer) => visit(buffer),
            Part::Evaluates(_)
            | Part::EvaluatesInside(_)
            | Part::Compares(_)
            | Part::Sets(_)
            | Part::Counts(_)
            | Part::Contests(_)
            | Part::Owns(_)
            | Part::Begins(_)
            | Part::Allocates(_)
            | Part::Frees(_)
            | Part::Outlined(_)
            | Part::Runs { .. }
            | Part::Synchronises
            | Part::Repeats
            | Part::Encloses
            | Part::Names { .. }
            | Part::Jumps { .. }
            | Part::Points { .. } => {}
        });
    }
}

/// The refusal of a copy that is a loop of its own.
fn copy_in(body: &[Statement]) -> Option<VectorRefusal> {
    body.iter().find_map(|statement| {
        let Statement::Copy(copy) = statement else { return None };
        Some(VectorRefusal::Copy { label: copy.label.clone() })
    })
}

/// The elements of a copy, each as how far it lies from the first one where it is read and where it is written; `None` if there are many,
/// or nobody knows how many.
fn copied(copy: &Copy) -> Option<Vec<(Expr, Expr)>> {
    let mut elements = vec![(Expr::zero(), Expr::zero())];
    for dimension in &copy.dimensions {
        let extent = dimension.extent.as_int().filter(|extent| *extent <= COPIED)?;
        let mut next = Vec::new();
        for (from, to) in &elements {
            for n in (0..extent).map(Expr::int) {
                next.push((from + &(&n * &dimension.from_stride), to + &(&n * &dimension.to_stride)));
            }
        }
        elements = next;
        if i64::try_from(elements.len()).ok()? > COPIED {
            return None;
        }
    }
    Some(elements)
}
