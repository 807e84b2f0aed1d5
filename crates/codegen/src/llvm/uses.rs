//! Which buffers and variables statements use: what an outlined function has to be given, and what it has to declare.

use std::collections::BTreeSet;

use sdfg::symbolic::{Expr, Symbol};

use crate::plan::{Allocation, BufferId, Loop, Part, Plan, QueueOwner, Statement, TaskKind};

/// Buffers and variables, in order.
#[derive(Debug, Default)]
pub(super) struct Uses {
    pub(super) buffers: BTreeSet<BufferId>,
    pub(super) variables: BTreeSet<Symbol>,
    /// Buffers of which threads combine the same elements: atomically, or when they merge their accumulators.
    pub(super) contested: BTreeSet<BufferId>,
    /// References, and what they may name: the same elements under several names.
    pub(super) aliased: BTreeSet<BufferId>,
    /// Whether indices are compared with extents.
    checked: bool,
}

/// What statements set and allocate, in order, apart from what the loops of teams do in functions of their own. A jump may reach a
/// use whose text comes before that of the assignment, so a function declares all of them first.
#[derive(Debug, Default)]
pub(super) struct Declarations {
    pub(super) variables: BTreeSet<Symbol>,
    pub(super) buffers: BTreeSet<BufferId>,
    /// References that the statements set.
    pub(super) references: BTreeSet<BufferId>,
}

impl Declarations {
    pub(super) fn of(body: &[Statement]) -> Self {
        let mut declarations = Declarations::default();
        declarations.statements(body);
        declarations
    }

    fn statements(&mut self, body: &[Statement]) {
        body.iter().filter(|statement| !has_function(statement)).for_each(|statement| {
            statement.parts(&mut |part| self.part(part));
        });
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
            | Part::Compares(_)
            | Part::Touches(_)
            | Part::Contests(_)
            | Part::Owns(_)
            | Part::Begins(_)
            | Part::Frees(_) => {}
        }
    }
}

/// Whether a statement runs in functions of its own.
fn has_function(statement: &Statement) -> bool {
    match statement {
        Statement::Loop(each) => each.team().is_some(),
        Statement::Tasks(_) => true,
        Statement::Comment(_)
        | Statement::Let { .. }
        | Statement::Set { .. }
        | Statement::While(_)
        | Statement::If(_)
        | Statement::Block { .. }
        | Statement::Leave(_)
        | Statement::Repeat(_)
        | Statement::Dispatch { .. }
        | Statement::Goto { .. }
        | Statement::Begin(_)
        | Statement::Allocate(_)
        | Statement::Free(_)
        | Statement::Point { .. }
        | Statement::Check(_)
        | Statement::Undefine(_)
        | Statement::Compute(_)
        | Statement::External(_)
        | Statement::Copy(_)
        | Statement::Push(_)
        | Statement::Pop(_)
        | Statement::Consume(_)
        | Statement::Located { .. }
        | Statement::Timed { .. } => false,
    }
}

impl Uses {
    /// What statements use, with the bounds of their loops and the sizes of buffers that are theirs.
    pub(super) fn of(plan: &Plan, body: &[Statement]) -> Self {
        let mut uses = Uses { checked: plan.checked, ..Uses::default() };
        body.iter().for_each(|statement| statement.parts(&mut |part| uses.part(part)));
        uses.sizes(plan);
        uses
    }

    /// What a loop uses.
    pub(super) fn of_loop(plan: &Plan, each: &Loop) -> Self {
        let mut uses = Uses { checked: plan.checked, ..Uses::default() };
        each.parts(&mut |part| uses.part(part));
        uses.sizes(plan);
        uses
    }

    /// What tasks use, with the bounds of their numbers.
    pub(super) fn of_tasks(plan: &Plan, kinds: &[TaskKind]) -> Self {
        let mut uses = Uses { checked: plan.checked, ..Uses::default() };
        kinds.iter().for_each(|kind| kind.parts(&mut |part| uses.part(part)));
        uses.sizes(plan);
        uses
    }

    /// The variables in the sizes of the used buffers, for those that are allocated on the way and where sizes are looked at.
    fn sizes(&mut self, plan: &Plan) {
        let defined = self.buffers.iter().filter_map(|buffer| plan.buffer(*buffer).defined);
        self.buffers.extend(defined.collect::<Vec<_>>());
        self.aliased.extend(&plan.overlapping);
        for buffer in self.buffers.clone() {
            if plan.is_reference(buffer) {
                self.aliased.insert(buffer);
                self.aliased.extend(plan.owners(buffer));
            }
            let described = plan.buffer(buffer);
            let is_allocated_here = match &described.allocation {
                Allocation::Stack | Allocation::Thread | Allocation::Dynamic | Allocation::Queues { .. } => {
                    true
                }
                Allocation::Argument(_)
                | Allocation::Handle
                | Allocation::Persistent
                | Allocation::Reference(_)
                | Allocation::Constant(_) => false,
            };
            if is_allocated_here || plan.checked {
                self.expression(&described.size);
            }
            if let Allocation::Queues { capacity: Some(capacity), owner: QueueOwner::Statements } =
                &described.allocation
            {
                self.expression(capacity);
            }
        }
    }

    fn expression(&mut self, expression: &Expr) {
        self.variables.extend(expression.free_symbols());
    }

    fn part(&mut self, part: Part<'_>) {
        match part {
            Part::Body(body) => {
                body.iter().for_each(|statement| statement.parts(&mut |part| self.part(part)));
            }
            Part::Evaluates(expression) => self.expression(expression),
            Part::Compares(expression) if self.checked => self.expression(expression),
            Part::Compares(_) | Part::Begins(_) => {}
            Part::Sets(variable) | Part::Counts(variable) => {
                self.variables.insert(variable.clone());
            }
            Part::Touches(buffer) | Part::Owns(buffer) | Part::Allocates(buffer) | Part::Frees(buffer) => {
                self.buffers.insert(buffer);
            }
            Part::Contests(buffer) => {
                self.contested.insert(buffer);
            }
            Part::Points { reference, to } => self.buffers.extend([reference, to]),
        }
    }
}
