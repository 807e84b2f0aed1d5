//! Captures of outlined functions: loops of teams, tasks, and the body of the program.
//!
//! This is the last step of lowering, because earlier steps move statements and change the allocation of
//! buffers.

use std::collections::BTreeSet;

use sdfg::symbolic::Symbol;

use super::uses::Uses;
use crate::plan::{
    Allocation, BufferId, Captured, Captures, Declarations, Part, PartMut, Plan, QueueOwner, Statement,
};

/// Variables and buffers that a function has at some place.
struct Scope {
    variables: BTreeSet<Symbol>,
    buffers: BTreeSet<BufferId>,
}

impl Scope {
    /// Variables and buffers of a function with `captures`, before its first statement.
    fn of(plan: &Plan, captures: &Captures, body: &[Statement]) -> Self {
        let declared = Declarations::of(body);
        let mut scope = Scope { variables: declared.variables, buffers: declared.buffers };
        scope.variables.extend(captures.variables.iter().cloned());
        scope.buffers.extend(captures.buffers.iter().map(|captured| captured.buffer));
        scope.buffers.extend(&captures.stack);
        for reference in declared.references {
            scope.buffers.insert(reference);
            scope.buffers.extend(plan.buffer(reference).defined);
        }
        scope
    }
}

/// Says of everything in a plan that runs in functions of its own what they are given.
pub(crate) fn capture(plan: &mut Plan) {
    let mut body = std::mem::take(&mut plan.body);
    let uses = Uses::of(plan, &body);
    let slots = plan.slot_of_buffers();
    let outside = |buffer: &BufferId| match plan.buffer(*buffer).allocation {
        Allocation::Argument(_)
        | Allocation::Persistent
        | Allocation::Queues { owner: QueueOwner::Handle | QueueOwner::Caller, .. } => true,
        Allocation::Handle => slots.contains_key(buffer),
        Allocation::Stack
        | Allocation::Thread
        | Allocation::Dynamic
        | Allocation::Queues { owner: QueueOwner::Statements, .. }
        | Allocation::Reference(_)
        | Allocation::Constant(_) => false,
    };
    // No other thread is there when the body begins.
    let given = |buffer: &BufferId| Captured { buffer: *buffer, contested: uses.aliased.contains(buffer) };
    let captures = Captures {
        variables: plan.symbols.iter().map(|symbol| symbol.name.clone()).collect(),
        buffers: uses.buffers.iter().filter(|buffer| outside(buffer)).map(given).collect(),
        stack: uses.buffers.iter().copied().filter(|buffer| is_on_stack(plan, *buffer)).collect(),
    };
    let mut scope = Scope::of(plan, &captures, &body);
    in_statements(plan, &mut body, &mut scope);
    plan.captures = captures;
    plan.body = body;
}

fn in_statements(plan: &Plan, body: &mut [Statement], scope: &mut Scope) {
    for statement in body {
        if statement.captures().is_some() {
            outline(plan, statement, scope);
        } else {
            scope.variables.extend(counted(statement));
            statement.bodies_mut(&mut |body| in_statements(plan, body, scope));
        }
    }
}

/// Gives a statement that has functions of its own what it uses of the function around it.
fn outline(plan: &Plan, statement: &mut Statement, scope: &Scope) {
    let owned = owned(statement);
    let captures = captures(plan, &Uses::of(plan, std::slice::from_ref(statement)), scope, &owned);
    let counted = counted(statement);
    statement.parts_mut(&mut |part| match part {
        PartMut::Body(body) => {
            let mut inner = Scope::of(plan, &captures, body);
            inner.variables.extend(counted.iter().cloned());
            inner.buffers.extend(&owned);
            in_statements(plan, body, &mut inner);
        }
        PartMut::Outlined(given) => *given = captures.clone(),
        PartMut::Touch(_) => {}
    });
}

/// Uses of a scope by a statement that has some buffers of its own.
fn captures(plan: &Plan, uses: &Uses, scope: &Scope, owned: &BTreeSet<BufferId>) -> Captures {
    let is_constant = |buffer: &BufferId| matches!(plan.buffer(*buffer).allocation, Allocation::Constant(_));
    let is_own = |buffer: &BufferId| owned.contains(buffer) || is_constant(buffer);
    let contested = |buffer: &BufferId| uses.contested.contains(buffer) || uses.aliased.contains(buffer);
    let (outside, inside): (Vec<BufferId>, Vec<BufferId>) = uses
        .buffers
        .iter()
        .filter(|buffer| !is_own(buffer))
        .partition(|buffer| scope.buffers.contains(buffer));
    Captures {
        variables: uses.variables.intersection(&scope.variables).cloned().collect(),
        buffers: outside
            .into_iter()
            .map(|buffer| Captured { buffer, contested: contested(&buffer) })
            .collect(),
        stack: inside.into_iter().filter(|buffer| is_on_stack(plan, *buffer)).collect(),
    }
}

fn is_on_stack(plan: &Plan, buffer: BufferId) -> bool {
    plan.buffer(buffer).allocation == Allocation::Stack
}

/// The variables that a statement itself counts in.
fn counted(statement: &Statement) -> Vec<Symbol> {
    let mut counted = Vec::new();
    statement.parts(&mut |part| {
        if let Part::Counts(variable) = part {
            counted.push(variable.clone());
        }
    });
    counted
}

/// The buffers of which every thread or task of a statement has its own, and those that threads have in statements inside
/// of the same function.
fn owned(statement: &Statement) -> BTreeSet<BufferId> {
    let mut owned = BTreeSet::new();
    statement.parts(&mut |part| {
        if let Part::Owns(buffer) = part {
            owned.insert(buffer);
        }
    });
    for inner in statement.bodies().into_iter().flatten().filter(|inner| inner.captures().is_none()) {
        owned.extend(self::owned(inner));
    }
    owned
}
