//! Widths of registers, selected in an otherwise complete plan.
//!
//! Memory moves as fast by registers of 32 bytes as by those of 64, which split more cache lines. Where a loop
//! adds to a tile of values on the stack, the back end keeps the tile in registers, and arithmetic is the limit:
//! the widest registers compute twice as much. A function has registers of one width, because its vectors would
//! otherwise be cut and joined.

use crate::plan::{
    Allocation, Binding, LaneAccess, Level, Loop, Part, Plan, Realisation, Resolved, Statement, Vector,
};

/// Gives the vectors of functions that accumulate in registers `widest` bytes.
pub(in crate::lower) fn widen(plan: &mut Plan, widest: u64) {
    let mut body = std::mem::take(&mut plan.body);
    function(plan, &mut body, widest);
    plan.body = body;
}

/// Treats the statements of a function, and those of functions inside of it.
fn function(plan: &Plan, body: &mut [Statement], widest: u64) {
    let is_wide = body.iter().any(|statement| accumulates(plan, statement, widest));
    within(plan, body, widest, is_wide);
}

fn within(plan: &Plan, body: &mut [Statement], widest: u64, is_wide: bool) {
    for statement in body {
        let is_function = is_function(statement);
        if let Statement::Loop(Loop { level: Level::Vector(vector), .. }) = statement
            && is_wide
        {
            vector.register_bytes = widest;
        }
        statement.bodies_mut(&mut |body| match is_function {
            true => function(plan, body, widest),
            false => within(plan, body, widest, is_wide),
        });
    }
}

/// Whether the back end makes a function of the statement's body.
fn is_function(statement: &Statement) -> bool {
    let mut found = false;
    statement.parts(&mut |part| found |= matches!(part, Part::Outlined(_)));
    found
}

/// Whether a statement, without functions in it, contains vectors that combine into neighbours on the stack and fill
/// registers of so many bytes.
fn accumulates(plan: &Plan, statement: &Statement, bytes: u64) -> bool {
    if is_function(statement) {
        return false;
    }
    match statement {
        Statement::Loop(Loop { level: Level::Vector(vector), body, .. }) if vector.rest.is_empty() => {
            body.iter().any(|statement| is_tile(plan, statement, vector, bytes))
        }
        other => other
            .bodies()
            .into_iter()
            .any(|body| body.iter().any(|statement| accumulates(plan, statement, bytes))),
    }
}

/// Whether a computation of lanes combines into a tile on the stack.
fn is_tile(plan: &Plan, statement: &Statement, vector: &Vector, bytes: u64) -> bool {
    let Statement::Lanes(lanes) = statement else {
        return statement
            .bodies()
            .into_iter()
            .any(|body| body.iter().any(|inner| is_tile(plan, inner, vector, bytes)));
    };
    lanes.compute.bindings.iter().zip(&lanes.accesses).any(|(binding, way)| {
        let Binding::Store { to, write: Resolved::Combine { realisation: Realisation::Plain, .. } } = binding
        else {
            return false;
        };
        let buffer = plan.buffer(to.buffer);
        let filled = u64::from(vector.width) * buffer.element.size() as u64;
        *way == LaneAccess::Contiguous
            && buffer.allocation == Allocation::Stack
            && filled.is_multiple_of(bytes)
    })
}
