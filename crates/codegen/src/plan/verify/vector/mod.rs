//! Rules of vector levels: lane statements occur only in vector loops, and each vector loop covers every
//! iteration and has memory and registers that fit its lanes.
//!
//! A back end prints lanes as the plan describes them, so a violation becomes code that computes something
//! else. `lane_access` checks the access patterns of lanes.

mod lane_access;

use std::collections::BTreeSet;

use sdfg::dtype::{ElementType, ScalarKind};
use sdfg::ir::{ConflictResolution, FloatMode};
use sdfg::symbolic::Symbol;
use sdfg::tasklet::{LocalId, TypedExpression, TypedExpressionKind, TypedStatement};

use super::PlanError;
use crate::plan::{
    Allocation, BufferId, Compute, Copy, Fold, Level, Loop, LoopDimension, Part, Plan, Statement, Vector,
    VectorCompute, identity,
};

/// Looks at every loop of level vector.
pub(super) fn check(plan: &Plan, errors: &mut Vec<PlanError>) {
    let mut walk = Walk { plan, errors, privates: BTreeSet::new(), elsewhere: BTreeSet::new() };
    walk.statements(&plan.body, None);
    let Walk { errors, privates, elsewhere, .. } = walk;
    for private in privates.intersection(&elsewhere) {
        errors.push(PlanError::Outside { buffer: plan.named(*private) });
    }
}

/// A walk over all statements.
struct Walk<'p, 'e> {
    plan: &'p Plan,
    errors: &'e mut Vec<PlanError>,
    /// Buffers of which lanes have their own.
    privates: BTreeSet<BufferId>,
    /// Buffers that statements use without giving each lane its own.
    elsewhere: BTreeSet<BufferId>,
}

impl Walk<'_, '_> {
    fn statements(&mut self, body: &[Statement], around: Option<&Vector>) {
        for statement in body {
            let mut inner = around;
            if let Statement::Loop(each) = statement
                && let Level::Vector(vector) = &each.level
            {
                self.privates.extend(&vector.privates);
                self.vector_loop(each, vector);
                inner = Some(vector);
            }
            if matches!(statement, Statement::Lanes(_)) && around.is_none() {
                self.errors.push(PlanError::Lanes);
            }
            let mut bodies = Vec::new();
            statement.parts(&mut |part| {
                if let Part::Body(body) = part {
                    bodies.push(body);
                } else if let Part::Touches(buffer) = part
                    && inner.is_none_or(|vector| !vector.privates.contains(&buffer))
                {
                    self.elsewhere.insert(buffer);
                }
            });
            for body in bodies {
                self.statements(body, inner);
            }
        }
    }

    fn vector_loop(&mut self, each: &Loop, vector: &Vector) {
        if self.plan.checked {
            self.errors.push(PlanError::UncheckedLanes);
        }
        if vector.width < 2 {
            self.errors.push(PlanError::Width { width: vector.width });
        }
        for private in &vector.privates {
            self.private(*private, vector.width);
        }
        for (position, fold) in vector.folds.iter().enumerate() {
            self.fold(fold, &vector.folds[..position]);
        }
        let mut lanes = Vec::new();
        if !lanes_of(&each.body, &mut lanes) || has_lanes(&vector.rest) {
            self.errors.push(PlanError::Lanes);
        }
        let dimensions = &each.dimensions;
        for each in &lanes {
            self.code(&each.compute, dimensions.first().map(|dimension| &dimension.variable));
        }
        // Loops with other dimensions are refused already.
        if let [dimension] = each.dimensions.as_slice() {
            self.left_over(&each.body, vector, dimension);
            lane_access::check(self.plan, (vector, dimension), &lanes, self.errors);
        }
    }

    /// Each lane has its part of a buffer.
    fn private(&mut self, buffer: BufferId, width: u32) {
        let described = self.plan.buffer(buffer);
        let size = described.size.as_int().filter(|size| *size > 0 && size % i64::from(width.max(1)) == 0);
        if described.allocation != Allocation::Stack || size.is_none() {
            let what = "one of each lane's own";
            self.errors.push(PlanError::Allocation { buffer: described.name.clone(), what });
        }
    }

    /// Lanes may combine into registers, whose order is not that of the iterations, before the rest of a loop is combined.
    fn fold(&mut self, fold: &Fold, before: &[Fold]) {
        let cell = self.plan.buffer(fold.cell);
        let mut is_not = |what| self.errors.push(PlanError::Allocation { buffer: cell.name.clone(), what });
        if before.iter().any(|other| other.cell == fold.cell) {
            is_not("folded twice");
        }
        if identity(&fold.resolution, cell.element).is_none() {
            is_not("folded by what has no identity");
        }
        if self.plan.float_mode == FloatMode::Strict && rounds(&fold.resolution, cell.element) {
            is_not("folded in a strict program: its results are rounded in the order of iterations");
        }
    }

    /// Lanes stay together, and code has what its names stand for.
    fn code(&mut self, compute: &Compute, lane: Option<&Symbol>) {
        let environment = &compute.code.environment;
        let is_complete = environment.connectors().len() == compute.bindings.len()
            && environment.symbols().len() == compute.symbols.len();
        if !is_complete || !stays_together(&compute.code.body, (compute, lane), &mut Vec::new()) {
            self.errors.push(PlanError::Lanes);
        }
    }

    /// Iterations that fill no vector are run, and do what the lanes do.
    fn left_over(&mut self, body: &[Statement], vector: &Vector, dimension: &LoopDimension) {
        let fills = dimension.count().is_some_and(|count| count % i64::from(vector.width.max(1)) == 0);
        if vector.rest.is_empty() {
            if !fills {
                self.errors.push(PlanError::LeftOver);
            }
            return;
        }
        let (mut here, mut there) = (BTreeSet::new(), BTreeSet::new());
        touched(body, &mut here);
        touched(&vector.rest, &mut there);
        for buffer in here.symmetric_difference(&there) {
            self.errors.push(PlanError::Rest { buffer: self.plan.named(*buffer) });
        }
    }
}

/// Collects the lanes of statements; false if there is something else.
fn lanes_of<'p>(body: &'p [Statement], lanes: &mut Vec<&'p VectorCompute>) -> bool {
    body.iter().all(|statement| {
        if let Statement::Lanes(each) = statement {
            lanes.push(each);
            return each.accesses.len() == each.compute.bindings.len();
        }
        if let Statement::Located { body, .. } | Statement::Timed { body, .. } = statement {
            return lanes_of(body, lanes);
        }
        matches!(statement, Statement::Comment(_))
    })
}

fn has_lanes(body: &[Statement]) -> bool {
    crate::plan::any_statement(body, &|statement| matches!(statement, Statement::Lanes(_)))
}

/// Whether code uses no queue and leaves its loops in all lanes at once, which differ in the variable `lane`. `counters` are those of the
/// loops around it.
fn stays_together(
    body: &[TypedStatement],
    within: (&Compute, Option<&Symbol>),
    counters: &mut Vec<LocalId>,
) -> bool {
    body.iter().all(|statement| match statement {
        TypedStatement::Local { .. } | TypedStatement::Output { .. } | TypedStatement::Store { .. } => true,
        TypedStatement::If { then, otherwise, .. } => {
            stays_together(then, within, counters) && stays_together(otherwise, within, counters)
        }
        TypedStatement::For { local, begin, end, step, body } => {
            let bounds = [begin, end, step].into_iter().all(|bound| is_shared(bound, within, counters));
            counters.push(*local);
            let inside = stays_together(body, within, counters);
            counters.pop();
            bounds && inside
        }
        TypedStatement::Push { .. } | TypedStatement::While { .. } => false,
    })
}

/// Whether all lanes have one value of an expression.
fn is_shared(e: &TypedExpression, within: (&Compute, Option<&Symbol>), counters: &[LocalId]) -> bool {
    let (compute, lane) = within;
    let own = match &e.kind {
        TypedExpressionKind::Input(_)
        | TypedExpressionKind::Output(_)
        | TypedExpressionKind::Load { .. }
        | TypedExpressionKind::Length { .. } => false,
        TypedExpressionKind::Local(local) => counters.contains(local),
        TypedExpressionKind::Symbol(symbol) => {
            let value = compute.symbols.get(symbol.index());
            value.is_some_and(|value| lane.is_none_or(|lane| !value.depends_on(lane)))
        }
        TypedExpressionKind::Constant(_)
        | TypedExpressionKind::Cast(_)
        | TypedExpressionKind::Splat(_)
        | TypedExpressionKind::Lanes(_)
        | TypedExpressionKind::Lane { .. }
        | TypedExpressionKind::Unary { .. }
        | TypedExpressionKind::Binary { .. }
        | TypedExpressionKind::Power { .. }
        | TypedExpressionKind::Compare { .. }
        | TypedExpressionKind::And(..)
        | TypedExpressionKind::Or(..)
        | TypedExpressionKind::Select { .. }
        | TypedExpressionKind::Call { .. } => true,
    };
    own && e.operands().into_iter().all(|operand| is_shared(operand, within, counters))
}

/// Whether a result depends on the order of combinations, for it is rounded.
fn rounds(resolution: &ConflictResolution, element: ElementType) -> bool {
    matches!(element.lane().kind(), ScalarKind::Float | ScalarKind::Complex)
        && matches!(resolution, ConflictResolution::Sum | ConflictResolution::Product)
}

/// The buffers of which statements use elements.
fn touched(body: &[Statement], buffers: &mut BTreeSet<BufferId>) {
    for statement in body.iter().filter(|statement| !is_nothing(statement)) {
        statement.parts(&mut |part| {
            if let Part::Body(body) = part {
                touched(body, buffers);
            } else if let Part::Touches(buffer) = part {
                buffers.insert(buffer);
            }
        });
    }
}

/// Whether a statement is a copy of no element, which no lane has.
fn is_nothing(statement: &Statement) -> bool {
    let Statement::Copy(Copy { dimensions, .. }) = statement else { return false };
    dimensions.iter().any(|dimension| dimension.extent.as_int().is_some_and(|extent| extent <= 0))
}

#[cfg(test)]
mod tests;
