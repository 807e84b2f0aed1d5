//! Buffers and variables that statements use: the inputs of an outlined function.

use std::collections::BTreeSet;

use sdfg::symbolic::{Expr, Symbol};

use crate::plan::{Allocation, BufferId, Part, Plan, QueueOwner, Statement};

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

impl Uses {
    /// Uses of statements, with the bounds of their loops and the sizes of their own buffers.
    pub(super) fn of(plan: &Plan, body: &[Statement]) -> Self {
        let mut uses = Uses { checked: plan.checked, ..Uses::default() };
        body.iter().for_each(|statement| statement.parts(&mut |part| uses.part(part)));
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
            Part::Evaluates(expression) | Part::EvaluatesInside(expression) => self.expression(expression),
            Part::Compares(expression) if self.checked => self.expression(expression),
            Part::Compares(_)
            | Part::Begins(_)
            | Part::Outlined(_)
            | Part::Runs { .. }
            | Part::Synchronises
            | Part::Repeats
            | Part::Encloses
            | Part::Names { .. }
            | Part::Jumps { .. } => {}
            Part::Sets(variable) | Part::Counts(variable) => {
                self.variables.insert(variable.clone());
            }
            Part::Touches(buffer) | Part::Owns(buffer) | Part::Allocates(buffer) | Part::Frees(buffer) => {
                self.buffers.insert(buffer);
            }
            Part::Contests(buffer) => {
                self.contested.insert(buffer);
            }
            Part::Points { reference, to } => {
                self.buffers.extend([Some(reference), to].into_iter().flatten())
            }
        }
    }
}
