//! Collects the actions of a plan and their positions in one walk, and checks levels and jumps on the way.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::symbolic::{Expr, Symbol};

use super::PlanError;
use super::position::PlanPosition;
use crate::plan::{
    Allocation, Buffer, BufferId, Captures, Entry, JumpTarget, LevelKind, Part, Plan, Resolved, Space,
    Statement,
};

/// Findings of a walk over a plan.
#[derive(Default)]
pub(super) struct Found<'p> {
    /// Allocations of buffers, and assignments of references.
    pub(super) made: BTreeMap<BufferId, Vec<PlanPosition>>,
    /// Begins of lifetimes of buffers.
    pub(super) begun: BTreeMap<BufferId, Vec<PlanPosition>>,
    /// The statements that give each thread or task a buffer.
    pub(super) owned: BTreeMap<BufferId, Vec<usize>>,
    /// References with what they are set to.
    pub(super) pointed: Vec<(BufferId, BufferId)>,
    /// Assignments of variables.
    pub(super) set: BTreeMap<Symbol, Vec<PlanPosition>>,
    /// The loops that count variables.
    pub(super) counted: BTreeMap<Symbol, Vec<usize>>,
    pub(super) touched: Vec<(BufferId, PlanPosition)>,
    pub(super) contested: Vec<(BufferId, PlanPosition)>,
    pub(super) read: Vec<(Symbol, PlanPosition)>,
    /// Captures of functions, by the positions of their statements, 0 for that of the program.
    pub(super) captures: BTreeMap<usize, &'p Captures>,
    targets: BTreeSet<JumpTarget>,
    pub(super) errors: Vec<PlanError>,
}

/// Possible targets of jumps.
#[derive(Clone, Copy, Debug)]
struct Entries {
    repeats: bool,
    cases: usize,
}

/// Around the statement at hand.
#[derive(Clone, Default)]
struct Around {
    place: PlanPosition,
    levels: Vec<LevelKind>,
    /// Whether the device carries out the statement for the host, which reaches its memory by that: copies, and bytes that are set.
    by_device: bool,
    jumps: BTreeMap<JumpTarget, Entries>,
}

impl<'p> Found<'p> {
    /// Contents of a plan.
    pub(super) fn of(plan: &'p Plan) -> Self {
        let mut found = Found::default();
        found.captures.insert(0, &plan.captures);
        let place = PlanPosition { functions: vec![0], ..PlanPosition::default() };
        found.statements(plan, &plan.body, &Around { place, ..Around::default() }, &mut 0);
        found
    }

    fn statements(&mut self, plan: &'p Plan, body: &'p [Statement], around: &Around, position: &mut usize) {
        for statement in body {
            *position += 1;
            let mut inner = around.clone();
            inner.place.position = *position;
            inner.by_device = matches!(statement, Statement::Undefine(_))
                || matches!(statement, Statement::Copy(copy) if copy.write == Resolved::Store)
                || moved_queue(statement)
                    .is_some_and(|queue| plan.buffer(queue).space == Space::DeviceGlobal);
            let (mut bodies, mut parts) = (Vec::new(), Vec::new());
            statement.parts(&mut |part| match part {
                Part::Body(body) => bodies.push(body),
                part => parts.push(part),
            });
            // The statement itself is in its functions, but for the order before what it repeats.
            for part in &parts {
                self.enter(part, &mut inner);
            }
            let mut outside = inner.place.clone();
            if parts.iter().any(|part| matches!(part, Part::Encloses)) {
                outside.repeated.clone_from(&around.place.repeated);
            }
            for part in parts {
                self.part(plan, part, around, (&outside, &inner));
            }
            for body in bodies {
                self.statements(plan, body, &inner, position);
            }
        }
    }

    /// Effect of a part on the statements inside.
    fn enter(&mut self, part: &Part<'p>, inner: &mut Around) {
        let here = inner.place.position;
        match *part {
            Part::Runs { level, dimensions, nested } => {
                self.level((level, nested), dimensions, &inner.levels);
                inner.levels.push(level);
            }
            Part::Repeats => inner.place.repeated.push(here),
            Part::Synchronises => self.barrier(&inner.levels),
            Part::Encloses => inner.jumps.clear(),
            Part::Outlined(captures) => {
                self.captures.insert(here, captures);
                inner.place.functions.push(here);
            }
            Part::Names { target, repeats, cases } => {
                if !self.targets.insert(target) {
                    self.errors.push(PlanError::TwoTargets { target: target.index() });
                }
                inner.jumps.insert(target, Entries { repeats, cases });
            }
            Part::Body(_)
            | Part::Evaluates(_)
            | Part::EvaluatesInside(_)
            | Part::Compares(_)
            | Part::Sets(_)
            | Part::Counts(_)
            | Part::Touches(_)
            | Part::Contests(_)
            | Part::Owns(_)
            | Part::Jumps { .. }
            | Part::Begins(_)
            | Part::Allocates(_)
            | Part::Frees(_)
            | Part::Points { .. } => {}
        }
    }

    /// Effect of a part at `place`; `inner` surrounds the statements inside.
    fn part(
        &mut self,
        plan: &Plan,
        part: Part<'p>,
        around: &Around,
        (place, inner): (&PlanPosition, &Around),
    ) {
        let here = place.position;
        match part {
            Part::Body(_)
            | Part::Runs { .. }
            | Part::Repeats
            | Part::Synchronises
            | Part::Encloses
            | Part::Outlined(_)
            | Part::Names { .. } => {}
            Part::Jumps { target, entry } => self.jump(target, entry, around),
            Part::Contests(buffer) => self.contested.push((buffer, place.clone())),
            Part::Begins(buffer) => self.begun.entry(buffer).or_default().push(place.clone()),
            Part::Evaluates(expression) => self.reads(expression, place),
            Part::EvaluatesInside(expression) => self.reads(expression, &inner.place),
            Part::Compares(expression) => {
                if plan.checked {
                    self.reads(expression, place);
                }
            }
            Part::Sets(variable) => self.set.entry(variable.clone()).or_default().push(place.clone()),
            Part::Counts(variable) => self.counted.entry(variable.clone()).or_default().push(here),
            Part::Touches(buffer) => {
                let described = plan.buffer(buffer);
                self.reach(described, inner);
                if plan.checked {
                    self.reads(&described.size, place);
                }
                self.touched.push((buffer, place.clone()));
            }
            Part::Frees(buffer) => self.touched.push((buffer, place.clone())),
            Part::Owns(buffer) => {
                self.owned.entry(buffer).or_default().push(here);
                // It is touched inside if at all; its size is known before.
                self.reads(&plan.buffer(buffer).size, place);
                self.touched.push((buffer, inner.place.clone()));
            }
            Part::Allocates(buffer) => {
                self.made.entry(buffer).or_default().push(place.clone());
                self.reads(&plan.buffer(buffer).size, place);
                let Allocation::Queues { capacity, .. } = &plan.buffer(buffer).allocation else { return };
                capacity.iter().for_each(|capacity| self.reads(capacity, place));
            }
            Part::Points { reference, to } => {
                self.made.entry(reference).or_default().push(place.clone());
                // In a checked plan, what says which elements were written is set with it.
                if let Some(defined) = plan.buffer(reference).defined {
                    self.made.entry(defined).or_default().push(place.clone());
                }
                if let Some(to) = to {
                    self.pointed.push((reference, to));
                    self.touched.push((to, place.clone()));
                }
            }
        }
    }

    fn reads(&mut self, expression: &Expr, place: &PlanPosition) {
        let symbols = expression.free_symbols().into_iter();
        self.read.extend(symbols.map(|symbol| (symbol.clone(), place.clone())));
    }

    fn jump(&mut self, target: JumpTarget, entry: Entry, around: &Around) {
        let has = |entries: &Entries| match entry {
            Entry::Behind => true,
            Entry::Again => entries.repeats,
            Entry::Case(case) => case < entries.cases,
        };
        match around.jumps.get(&target) {
            None => self.errors.push(PlanError::Jump { target: target.index() }),
            Some(entries) if !has(entries) => self.errors.push(PlanError::Entry { target: target.index() }),
            Some(_) => {}
        }
    }

    /// Looks at where a buffer lies that code inside of these levels uses.
    fn reach(&mut self, buffer: &Buffer, around: &Around) {
        let is_of_device =
            |level: &&LevelKind| matches!(level, LevelKind::Grid | LevelKind::Block | LevelKind::Lane);
        let level = around.levels.iter().rev().find(is_of_device).copied();
        let Buffer { name, space, .. } = buffer;
        let is_reached = match space {
            // Kernels are given values of the host.
            Space::HostHeap | Space::Stack => level.is_none() || buffer.is_value(),
            Space::RankLocal => level.is_none(),
            // Functions of the host move the elements of device queues.
            Space::DeviceGlobal => level.is_some() || around.by_device || buffer.is_stream(),
            Space::BlockShared | Space::Register => level.is_some(),
            Space::Pinned | Space::Constant => true,
        };
        if !is_reached {
            let buffer = name.clone();
            self.errors.push(PlanError::Unreachable { buffer, space: *space, level });
        }
    }

    /// A barrier is where all threads of a block come by.
    fn barrier(&mut self, around: &[LevelKind]) {
        let is_in = |level| around.contains(&level);
        if !is_in(LevelKind::Grid) || is_in(LevelKind::Block) || is_in(LevelKind::Lane) {
            self.errors.push(PlanError::Barrier);
        }
    }

    fn level(&mut self, (level, nested): (LevelKind, bool), dimensions: usize, around: &[LevelKind]) {
        let has_one = match level {
            LevelKind::Vector | LevelKind::Sequential | LevelKind::Unrolled | LevelKind::Pipelined => {
                dimensions == 1
            }
            LevelKind::Rank
            | LevelKind::Team
            | LevelKind::Grid
            | LevelKind::Block
            | LevelKind::Lane
            | LevelKind::Replicated => dimensions > 0,
        };
        if !has_one {
            self.errors.push(PlanError::Dimensions { level, n: dimensions });
        }
        if let Some(outer) = around.iter().find(|outer| excludes(**outer, (level, nested))) {
            self.errors.push(PlanError::Nesting { inner: level, outer: Some(*outer) });
        }
        let needed = match level {
            LevelKind::Team if nested => Some(LevelKind::Team),
            LevelKind::Block => Some(LevelKind::Grid),
            LevelKind::Lane => Some(LevelKind::Block),
            LevelKind::Rank
            | LevelKind::Team
            | LevelKind::Grid
            | LevelKind::Vector
            | LevelKind::Sequential
            | LevelKind::Unrolled
            | LevelKind::Pipelined
            | LevelKind::Replicated => None,
        };
        if needed.is_some_and(|needed| !around.contains(&needed)) {
            self.errors.push(PlanError::Nesting { inner: level, outer: None });
        }
    }
}

/// The queue to or from which a statement moves elements of memory.
fn moved_queue(statement: &Statement) -> Option<BufferId> {
    if let Statement::Push(push) = statement {
        return Some(push.queue.buffer);
    }
    if let Statement::Pop(pop) = statement { Some(pop.queue.buffer) } else { None }
}

/// Whether a level cannot be inside of another one.
fn excludes(outer: LevelKind, (inner, nested): (LevelKind, bool)) -> bool {
    // A vector has lanes alone.
    if outer == LevelKind::Vector {
        return true;
    }
    match inner {
        // One program, one team of the host without a limit, one kernel at a time: none is inside of itself or of what it starts.
        LevelKind::Rank => true,
        LevelKind::Team if nested && outer == LevelKind::Team => false,
        LevelKind::Team => matches!(
            outer,
            LevelKind::Team
                | LevelKind::Grid
                | LevelKind::Block
                | LevelKind::Lane
                | LevelKind::Pipelined
                | LevelKind::Replicated
        ),
        LevelKind::Grid => matches!(outer, LevelKind::Grid | LevelKind::Block | LevelKind::Lane),
        LevelKind::Block => matches!(outer, LevelKind::Block | LevelKind::Lane),
        LevelKind::Lane => outer == LevelKind::Lane,
        LevelKind::Vector
        | LevelKind::Sequential
        | LevelKind::Unrolled
        | LevelKind::Pipelined
        | LevelKind::Replicated => false,
    }
}
