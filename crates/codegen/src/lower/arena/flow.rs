//! Control flow of a plan as a graph of steps: the arena memory that each step touches, and the steps that
//! may follow it.
//!
//! A loop that threads or tasks share, or whose iterations are independent, is one step, because the order of
//! its statements varies. All other loops, choices and jumps appear in the graph.

use std::collections::{BTreeMap, BTreeSet};

use crate::plan::{
    BufferId, Commands, JumpTarget, Level, Loop, Statement, Touch, While, touches, touches_of_scalar,
};

/// Something that happens at once, as far as memory is concerned.
#[derive(Debug, Default)]
pub(super) struct FlowStep {
    /// Buffers of which it may read what was there before.
    pub(super) reads: BTreeSet<BufferId>,
    /// Buffers that it may write.
    pub(super) writes: BTreeSet<BufferId>,
    /// A buffer whose lifetime begins.
    pub(super) begins: Option<BufferId>,
    /// Steps that may come next.
    pub(super) next: Vec<usize>,
}

/// Steps, the first one first.
#[derive(Debug, Default)]
pub(super) struct Flow {
    pub(super) steps: Vec<FlowStep>,
    jumps: BTreeMap<JumpTarget, Targets>,
}

/// Targets of jumps.
#[derive(Debug)]
struct Targets {
    leave: usize,
    repeat: Option<usize>,
    cases: Vec<usize>,
}

impl Flow {
    /// The steps of a body. It is not changed: the walk over what statements touch is one that could.
    pub(super) fn of(body: &mut [Statement]) -> Self {
        let mut flow = Flow::default();
        let start = flow.step();
        flow.statements(body, start);
        flow
    }

    /// Takes what is touched through a reference for a touch of everything that it may name.
    pub(super) fn resolve(&mut self, owners: &dyn Fn(BufferId) -> BTreeSet<BufferId>) {
        for step in &mut self.steps {
            for touched in [&mut step.reads, &mut step.writes] {
                *touched = touched.iter().flat_map(|buffer| owners(*buffer)).collect();
            }
        }
    }

    /// A step that touches nothing, and that nothing comes before.
    fn step(&mut self) -> usize {
        self.steps.push(FlowStep::default());
        self.steps.len() - 1
    }

    fn link(&mut self, from: usize, to: usize) {
        self.steps[from].next.push(to);
    }

    fn step_after(&mut self, before: usize) -> usize {
        let step = self.step();
        self.link(before, step);
        step
    }

    /// Adds statements that follow a step; returns the step behind them.
    fn statements(&mut self, body: &mut [Statement], mut at: usize) -> usize {
        for statement in body {
            at = self.statement(statement, at);
        }
        at
    }

    fn statement(&mut self, statement: &mut Statement, at: usize) -> usize {
        match statement {
            Statement::Comment(_)
            | Statement::Let { .. }
            | Statement::Allocate(_)
            | Statement::Free(_)
            | Statement::Check(_)
            | Statement::Undefine(_)
            | Statement::Await(_)
            | Statement::Barrier => at,
            Statement::Begin(buffer) => {
                let step = self.step_after(at);
                self.steps[step].begins = Some(*buffer);
                step
            }
            Statement::Loop(repeated) if in_turn(repeated) => {
                let head = self.step_after(at);
                let last = self.statements(&mut repeated.body, head);
                self.link(last, head);
                self.step_after(head)
            }
            Statement::Timed { timer: _, body }
            | Statement::Located { location: _, body }
            | Statement::Commands(Commands { body, .. }) => self.statements(body, at),
            Statement::While(repeated) => self.while_loop(repeated, at),
            Statement::If(choice) => {
                let done = self.step();
                let mut test = at;
                for (condition, body) in &mut choice.arms {
                    test = self.step_after(test);
                    touches_of_scalar(condition, &mut |touch| self.steps[test].touch(touch));
                    let first = self.step_after(test);
                    let last = self.statements(body, first);
                    self.link(last, done);
                }
                let first = self.step_after(test);
                let last = self.statements(&mut choice.otherwise, first);
                self.link(last, done);
                done
            }
            Statement::Block { target, body } => {
                let done = self.step();
                self.jumps.insert(*target, Targets { leave: done, repeat: None, cases: Vec::new() });
                let last = self.statements(body, at);
                self.link(last, done);
                done
            }
            Statement::Dispatch { target, cases } => {
                let done = self.step();
                let firsts: Vec<usize> = cases.iter().map(|_| self.step()).collect();
                self.link(at, firsts.first().copied().unwrap_or(done));
                let targets = Targets { leave: done, repeat: None, cases: firsts.clone() };
                self.jumps.insert(*target, targets);
                for (case, first) in cases.iter_mut().zip(firsts) {
                    let last = self.statements(case, first);
                    self.link(last, done);
                }
                done
            }
            Statement::Leave(target) => {
                let to = self.jumps.get(target).map(|targets| targets.leave);
                self.jump(at, to)
            }
            Statement::Repeat(target) => {
                let to = self.jumps.get(target).and_then(|targets| targets.repeat);
                self.jump(at, to)
            }
            Statement::Goto { target, case } => {
                let to = self.jumps.get(target).and_then(|targets| targets.cases.get(*case).copied());
                self.jump(at, to)
            }
            Statement::Set { .. }
            | Statement::Loop(_)
            | Statement::Compute(_)
            | Statement::Lanes(_)
            | Statement::External(_)
            | Statement::Copy(_)
            | Statement::Point { .. }
            | Statement::Keep(_)
            | Statement::Recall(_)
            | Statement::Push(_)
            | Statement::Pop(_)
            | Statement::Consume(_)
            | Statement::Tasks(_) => {
                let step = self.step_after(at);
                touches(std::slice::from_mut(statement), &mut |touch| self.steps[step].touch(touch));
                step
            }
        }
    }

    fn while_loop(&mut self, repeated: &mut While, at: usize) -> usize {
        let (test, first, update, done) = (self.step(), self.step(), self.step(), self.step());
        touches_of_scalar(&mut repeated.condition, &mut |touch| self.steps[test].touch(touch));
        let targets = Targets { leave: done, repeat: Some(update), cases: Vec::new() };
        self.jumps.insert(repeated.target, targets);
        self.link(at, if repeated.test_after { first } else { test });
        self.link(test, first);
        self.link(test, done);
        let last = self.statements(&mut repeated.body, first);
        self.link(last, update);
        let updated = self.statements(&mut repeated.update, update);
        self.link(updated, test);
        done
    }

    /// Goes elsewhere; what is behind is reached by other jumps only.
    fn jump(&mut self, at: usize, to: Option<usize>) -> usize {
        if let Some(to) = to {
            self.link(at, to);
        }
        self.step()
    }
}

/// Whether one thread runs the iterations one after the other, and they are not proved independent.
fn in_turn(repeated: &Loop) -> bool {
    match repeated.level {
        Level::Sequential { .. } | Level::Unrolled | Level::Pipelined { .. } => !repeated.independent,
        Level::Rank
        | Level::Team(_)
        | Level::Grid(_)
        | Level::Block(_)
        | Level::Lane
        | Level::Vector(_)
        | Level::Replicated => false,
    }
}

impl FlowStep {
    fn touch(&mut self, mut touch: Touch<'_>) {
        let buffer = touch.buffer();
        if !touch.reads() {
            self.writes.insert(buffer);
        }
        // A combination begins with what is there, too; but that counts only for whoever reads the result, and up to there the
        // buffer is in use anyway.
        if touch.write_mut().is_none() {
            self.reads.insert(buffer);
        }
    }

    /// Buffers that it reads or writes.
    pub(super) fn touched(&self) -> impl Iterator<Item = BufferId> + '_ {
        self.reads.union(&self.writes).copied()
    }
}
