//! Which buffers and variables statements use: what an outlined function has to be given, and what it has to declare.

use std::collections::BTreeSet;

use sdfg::symbolic::{Expr, Symbol};

use crate::plan::{
    Allocation, Binding, BufferId, Check, Consume, ExternalArgument, Location, LoopDimension, ParallelLoop,
    Plan, QueueOwner, Realisation, Resolved, Row, Scalar, Statement, Stride, Strided, TaskKind,
};

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
        for statement in body {
            match statement {
                Statement::Let { variable, .. } | Statement::Set { variable, .. } => {
                    self.variables.insert(variable.clone());
                }
                Statement::Allocate(buffer) => {
                    self.buffers.insert(*buffer);
                }
                Statement::Point { reference, .. } => {
                    self.references.insert(*reference);
                }
                Statement::For(each) => self.statements(&each.body),
                Statement::While(each) => {
                    self.statements(&each.body);
                    self.statements(&each.update);
                }
                Statement::If(choice) => {
                    choice.arms.iter().for_each(|(_, body)| self.statements(body));
                    self.statements(&choice.otherwise);
                }
                Statement::Block { body, .. } | Statement::Timed { body, .. } | Statement::Located { body, .. } => self.statements(body),
                Statement::Dispatch { cases, .. } => cases.iter().for_each(|case| self.statements(case)),
                Statement::Comment(_)
                | Statement::Parallel(_)
                | Statement::Leave(_)
                | Statement::Repeat(_)
                | Statement::Goto { .. }
                | Statement::Begin(_)
                | Statement::Free(_)
                | Statement::Check(_)
                | Statement::Undefine(_)
                | Statement::Compute(_)
                | Statement::External(_)
                | Statement::Copy(_)
                | Statement::Push(_)
                // Tasks have functions of their own.
                | Statement::Tasks(_) => {}
                Statement::Pop(pop) => self.variables.extend(pop.taken.clone()),
                Statement::Consume(consume) => self.statements(&consume.body),
            }
        }
    }
}

impl Uses {
    /// What the iterations of a parallel loop use, with the loop's own bounds and the sizes of its local buffers.
    pub(super) fn of_parallel(plan: &Plan, parallel: &ParallelLoop) -> Self {
        let mut uses = Uses { checked: plan.checked, ..Uses::default() };
        uses.parallel(parallel);
        uses.sizes(plan);
        uses
    }

    /// What tasks use, with the bounds of their numbers.
    pub(super) fn of_tasks(plan: &Plan, kinds: &[TaskKind]) -> Self {
        let mut uses = Uses { checked: plan.checked, ..Uses::default() };
        uses.tasks(kinds);
        uses.sizes(plan);
        uses
    }

    /// What a whole program uses.
    pub(super) fn of_body(plan: &Plan, body: &[Statement]) -> Self {
        let mut uses = Uses { checked: plan.checked, ..Uses::default() };
        uses.statements(body);
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

    fn expressions(&mut self, expressions: &[Expr]) {
        expressions.iter().for_each(|expression| self.expression(expression));
    }

    fn location(&mut self, location: &Location) {
        self.buffers.insert(location.buffer);
        self.expression(&location.offset);
    }

    fn check(&mut self, check: &Check) {
        check.expressions().for_each(|expression| self.expression(expression));
    }

    fn strided(&mut self, part: &Strided) {
        self.location(&part.origin);
        part.strides.iter().flat_map(Stride::expressions).for_each(|expression| self.expression(expression));
        if self.checked {
            self.expressions(&part.extents);
        }
    }

    fn scalar(&mut self, scalar: &Scalar) {
        scalar.checks.iter().flatten().for_each(|check| self.check(check));
        self.expressions(&scalar.symbols);
        self.bindings(&scalar.bindings);
    }

    fn bindings(&mut self, bindings: &[Binding]) {
        for binding in bindings {
            match binding {
                Binding::Load(location) => self.location(location),
                Binding::View(part) | Binding::Length(part) => self.strided(part),
                Binding::Push(queue) => self.location(queue),
                Binding::Store { to, write } => {
                    self.location(to);
                    self.written(to.buffer, write);
                }
                Binding::ViewMut { to, write } => {
                    self.strided(to);
                    self.written(to.origin.buffer, write);
                }
            }
        }
    }

    fn written(&mut self, buffer: BufferId, write: &Resolved) {
        match write {
            Resolved::Combine { realisation: Realisation::Atomic, .. } => {
                self.contested.insert(buffer);
            }
            // A custom resolution is a function of its two values alone: it uses nothing.
            Resolved::Store | Resolved::Combine { realisation: Realisation::Plain, .. } => {}
        }
    }

    fn dimension(&mut self, dimension: &LoopDimension) {
        self.variables.insert(dimension.variable.clone());
        for bound in [&dimension.begin, &dimension.end, &dimension.step] {
            self.expression(bound);
        }
    }

    fn parallel(&mut self, parallel: &ParallelLoop) {
        parallel.dimensions.iter().chain(&parallel.around).for_each(|dimension| self.dimension(dimension));
        for expression in [&parallel.chunk, &parallel.threads, &parallel.work].into_iter().flatten() {
            self.expression(expression);
        }
        for private in &parallel.privates {
            self.buffers.insert(private.buffer);
            self.contested.insert(private.target.origin.buffer);
            self.strided(&private.target);
            self.expressions(&private.target.extents);
        }
        self.buffers.extend(&parallel.locals);
        for collected in &parallel.collected {
            self.buffers.insert(collected.stream);
            if let Some(drain) = &collected.drain {
                self.row(&drain.to);
                self.location(&drain.delivered);
                self.contested.extend([drain.to.first.buffer, drain.delivered.buffer]);
            }
        }
        self.statements(&parallel.body);
    }

    fn tasks(&mut self, kinds: &[TaskKind]) {
        for kind in kinds {
            kind.dimension.iter().for_each(|dimension| self.dimension(dimension));
            self.statements(&kind.body);
        }
    }

    fn row(&mut self, row: &Row) {
        self.location(&row.first);
        self.expressions(&[row.count.clone(), row.stride.clone()]);
    }

    fn consume(&mut self, consume: &Consume) {
        self.location(&consume.queue);
        self.location(&consume.scope);
        self.location(&consume.element);
        self.contested.insert(consume.scope.buffer);
        self.buffers.extend(consume.batch);
        if let Some(condition) = &consume.condition {
            // Other threads change what it reads while it waits.
            let mut read = Uses::default();
            read.scalar(condition);
            self.contested.extend(&read.buffers);
            self.scalar(condition);
        }
        self.statements(&consume.body);
    }

    fn statements(&mut self, body: &[Statement]) {
        body.iter().for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Comment(_)
            | Statement::Leave(_)
            | Statement::Repeat(_)
            | Statement::Goto { .. }
            | Statement::Begin(_) => {}
            Statement::Let { variable, value } => {
                self.variables.insert(variable.clone());
                self.expression(value);
            }
            Statement::Set { variable, value } => {
                self.variables.insert(variable.clone());
                self.scalar(value);
            }
            Statement::For(each) => {
                self.dimension(&each.dimension);
                self.statements(&each.body);
            }
            Statement::Parallel(parallel) => self.parallel(parallel),
            Statement::While(each) => {
                self.scalar(&each.condition);
                self.statements(&each.body);
                self.statements(&each.update);
            }
            Statement::If(choice) => {
                for (condition, body) in &choice.arms {
                    self.scalar(condition);
                    self.statements(body);
                }
                self.statements(&choice.otherwise);
            }
            Statement::Block { body, .. }
            | Statement::Timed { body, .. }
            | Statement::Located { body, .. } => self.statements(body),
            Statement::Dispatch { cases, .. } => cases.iter().for_each(|case| self.statements(case)),
            Statement::Allocate(buffer) | Statement::Free(buffer) => {
                self.buffers.insert(*buffer);
            }
            Statement::Point { reference, to } => self.buffers.extend([*reference, *to]),
            Statement::Check(check) => self.check(check),
            Statement::Undefine(buffer) => {
                self.buffers.insert(*buffer);
            }
            Statement::Compute(compute) => {
                compute.checks.iter().flatten().for_each(|check| self.check(check));
                self.expressions(&compute.symbols);
                self.bindings(&compute.bindings);
            }
            Statement::External(call) => {
                for argument in &call.arguments {
                    match argument {
                        ExternalArgument::Value(scalar) => self.scalar(scalar),
                        ExternalArgument::Pointer(location) => self.location(location),
                    }
                }
                if let Some((_, location)) = &call.result {
                    self.location(location);
                }
            }
            Statement::Push(push) => {
                self.row(&push.from);
                self.location(&push.queue);
            }
            Statement::Pop(pop) => {
                self.location(&pop.queue);
                self.row(&pop.to);
                self.variables.extend(pop.taken.clone());
            }
            Statement::Consume(consume) => self.consume(consume),
            Statement::Tasks(kinds) => self.tasks(kinds),
            Statement::Copy(copy) => {
                self.location(&copy.from);
                self.location(&copy.to);
                for dimension in &copy.dimensions {
                    for expression in [&dimension.extent, &dimension.from_stride, &dimension.to_stride] {
                        self.expression(expression);
                    }
                }
                self.written(copy.to.buffer, &copy.write);
            }
        }
    }
}
