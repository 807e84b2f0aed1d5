//! What holds of every plan, looked at in debug builds after each lowering.
//!
//! A back end trusts a plan, so a plan that breaks a rule becomes wrong code somewhere else. The rules here are those that need
//! no proof about indices: where statements are, and what comes before what.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::symbolic::{Expr, Symbol};

use super::buffer::{Allocation, Buffer, BufferId, QueueOwner};
use super::loops::{Level, LevelKind, Loop};
use super::parts::Part;
use super::program::Plan;
use super::space::Space;
use super::statement::{JumpTarget, Statement};
use super::vector::{Vector, Way};
use super::walk::any_statement;

/// A rule that a plan breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A jump goes to what is not around it, or is around the loop or task that it is in.
    #[error("a jump goes to L{target}, which is not around it in its loop")]
    Jump {
        /// The number of the target.
        target: usize,
    },
    /// A dispatch has no such case, or what is to be repeated is no loop with a condition.
    #[error("L{target} has no such entry")]
    Entry {
        /// The number of the target.
        target: usize,
    },
    /// Two statements have the same name.
    #[error("L{target} names two statements")]
    TwoTargets {
        /// The number of the target.
        target: usize,
    },
    /// A loop of a level is where that level cannot be.
    #[error("a loop of level `{}` is inside of {}", inner.name(), outer.map_or("no loop that it needs", LevelKind::name))]
    Nesting {
        /// The level of the loop.
        inner: LevelKind,
        /// The level around it that excludes it; `None` where one that it needs is missing.
        outer: Option<LevelKind>,
    },
    /// A loop has no dimension, or several at a level of one thread.
    #[error("a loop of level `{}` has {n} dimensions", level.name())]
    Dimensions {
        /// The level of the loop.
        level: LevelKind,
        /// How many it has.
        n: usize,
    },
    /// A loop of level vector has something else than lanes, they have not one way for each binding, or they are in no such loop.
    #[error("lanes are not those of a loop of level `vector`")]
    Lanes,
    /// Nothing that comes before makes a buffer.
    #[error("`{buffer}` is used before it is made")]
    BeforeMade {
        /// The buffer.
        buffer: String,
    },
    /// A buffer of threads or tasks is used outside of the loop or task that owns it.
    #[error("`{buffer}` is used outside of the loop or task that owns it")]
    Outside {
        /// The buffer.
        buffer: String,
    },
    /// A buffer of the arena is in no slot, or in several.
    #[error("`{buffer}` is in {n} slots")]
    Slots {
        /// The buffer.
        buffer: String,
        /// How many slots it is in.
        n: usize,
    },
    /// Code of a level does not reach the memory of a buffer.
    #[error("`{buffer}` lies in memory `{space}`, which {} does not reach", level.map_or("code of the host".to_owned(), |level| format!("code of level `{}`", level.name())))]
    Unreachable {
        /// The buffer.
        buffer: String,
        /// Its memory.
        space: Space,
        /// The innermost level of a device around the code; `None` on the host.
        level: Option<LevelKind>,
    },
    /// Nothing that comes before sets a variable, or it is used outside of its loop.
    #[error("variable `{variable}` is used before it is set")]
    BeforeSet {
        /// The variable.
        variable: Symbol,
    },
    /// A variable has no type.
    #[error("variable `{variable}` has no type")]
    Untyped {
        /// The variable.
        variable: Symbol,
    },
}

/// A place in the text of a plan.
#[derive(Clone, Debug, Default)]
struct Place {
    /// Statements before it.
    position: usize,
    /// Loops and dispatches around it, by their positions: from anywhere in one, everything in it may be reached.
    repeated: Vec<usize>,
}

impl Place {
    /// Whether what happens here may have happened before `later`.
    fn may_precede(&self, later: &Place) -> bool {
        self.position < later.position || self.repeated.iter().any(|around| later.repeated.contains(around))
    }

    /// Whether it is inside of the statement at a position.
    fn is_in(&self, position: usize) -> bool {
        self.repeated.contains(&position)
    }
}

/// Where jumps of a name may go.
#[derive(Clone, Copy, Debug)]
struct Entries {
    repeats: bool,
    cases: usize,
}

/// What a walk over a plan has seen.
#[derive(Default)]
struct Found {
    /// Where buffers are allocated and references set.
    made: BTreeMap<BufferId, Vec<Place>>,
    /// The statements that give each thread or task a buffer.
    owned: BTreeMap<BufferId, Vec<usize>>,
    /// Where variables are set.
    set: BTreeMap<Symbol, Vec<Place>>,
    /// The loops that count variables.
    counted: BTreeMap<Symbol, Vec<usize>>,
    touched: Vec<(BufferId, Place)>,
    read: Vec<(Symbol, Place)>,
    targets: BTreeSet<JumpTarget>,
    errors: Vec<PlanError>,
}

/// Around the statement at hand.
#[derive(Clone, Default)]
struct Around {
    repeated: Vec<usize>,
    levels: Vec<LevelKind>,
    jumps: BTreeMap<JumpTarget, Entries>,
}

impl Plan {
    /// Looks at every rule.
    ///
    /// # Errors
    /// Each rule that is broken, in the order of the text.
    pub fn verify(&self) -> Result<(), Vec<PlanError>> {
        let mut found = Found::default();
        found.statements(self, &self.body, &Around::default(), &mut 0);
        let mut errors = std::mem::take(&mut found.errors);
        found.check_buffers(self, &mut errors);
        found.check_variables(self, &mut errors);
        errors.dedup();
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }
}

impl Found {
    fn statements(&mut self, plan: &Plan, body: &[Statement], around: &Around, position: &mut usize) {
        for statement in body {
            *position += 1;
            let here = *position;
            let place = Place { position: here, repeated: around.repeated.clone() };
            if matches!(statement, Statement::Lanes(_)) && around.levels.last() != Some(&LevelKind::Vector) {
                self.errors.push(PlanError::Lanes);
            }
            let mut inner = around.clone();
            self.enter(statement, here, &mut inner);
            let inside = Place { position: here, repeated: inner.repeated.clone() };
            let mut bodies = Vec::new();
            statement.parts(&mut |part| match part {
                Part::Body(body) => bodies.push(body),
                part => self.part(plan, part, here, &place, &inside),
            });
            self.check_reach(plan, statement, &inner.levels);
            for body in bodies {
                self.statements(plan, body, &inner, position);
            }
        }
    }

    /// Looks at where the buffers of a statement lie, which is inside of loops of these levels.
    fn check_reach(&mut self, plan: &Plan, statement: &Statement, levels: &[LevelKind]) {
        let is_of_device =
            |level: &&LevelKind| matches!(level, LevelKind::Grid | LevelKind::Block | LevelKind::Lane);
        let level = levels.iter().rev().find(is_of_device).copied();
        statement.parts(&mut |part| {
            if let Part::Touches(buffer) = part {
                let Buffer { name, space, .. } = plan.buffer(buffer);
                let is_reached = match space {
                    Space::HostHeap | Space::Stack | Space::RankLocal => level.is_none(),
                    Space::DeviceGlobal | Space::BlockShared | Space::Register => level.is_some(),
                    Space::Pinned | Space::Constant => true,
                };
                if !is_reached {
                    let buffer = name.clone();
                    self.errors.push(PlanError::Unreachable { buffer, space: *space, level });
                }
            }
        });
    }

    /// Looks at a statement itself, and says what is around those inside of it.
    fn enter(&mut self, statement: &Statement, here: usize, inner: &mut Around) {
        let (target, entries) = match statement {
            Statement::Loop(each) => {
                self.enter_loop(each, &inner.levels);
                inner.repeated.push(here);
                inner.levels.push(each.level.kind());
                inner.jumps.clear();
                return;
            }
            Statement::Tasks(_) => {
                inner.repeated.push(here);
                inner.jumps.clear();
                return;
            }
            Statement::Consume(_) => {
                inner.repeated.push(here);
                return;
            }
            Statement::While(each) => {
                inner.repeated.push(here);
                (each.target, Entries { repeats: true, cases: 0 })
            }
            Statement::Dispatch { target, cases } => {
                inner.repeated.push(here);
                (*target, Entries { repeats: false, cases: cases.len() })
            }
            Statement::Block { target, body: _ } => (*target, Entries { repeats: false, cases: 0 }),
            Statement::Leave(target) => return self.jump(*target, inner, |_| true),
            Statement::Repeat(target) => return self.jump(*target, inner, |entries| entries.repeats),
            Statement::Goto { target, case } => {
                return self.jump(*target, inner, |entries| *case < entries.cases);
            }
            Statement::Comment(_)
            | Statement::Let { .. }
            | Statement::Set { .. }
            | Statement::If(_)
            | Statement::Begin(_)
            | Statement::Allocate(_)
            | Statement::Free(_)
            | Statement::Point { .. }
            | Statement::Check(_)
            | Statement::Undefine(_)
            | Statement::Compute(_)
            | Statement::Lanes(_)
            | Statement::External(_)
            | Statement::Copy(_)
            | Statement::Push(_)
            | Statement::Pop(_)
            | Statement::Located { .. }
            | Statement::Timed { .. } => return,
        };
        if !self.targets.insert(target) {
            self.errors.push(PlanError::TwoTargets { target: target.index() });
        }
        inner.jumps.insert(target, entries);
    }

    fn jump(&mut self, target: JumpTarget, around: &Around, has: impl Fn(Entries) -> bool) {
        match around.jumps.get(&target) {
            None => self.errors.push(PlanError::Jump { target: target.index() }),
            Some(entries) if !has(*entries) => self.errors.push(PlanError::Entry { target: target.index() }),
            Some(_) => {}
        }
    }

    fn enter_loop(&mut self, each: &Loop, around: &[LevelKind]) {
        let (level, n) = (each.level.kind(), each.dimensions.len());
        let has_one = match level {
            LevelKind::Vector | LevelKind::Sequential | LevelKind::Unrolled | LevelKind::Pipelined => n == 1,
            LevelKind::Rank
            | LevelKind::Team
            | LevelKind::Grid
            | LevelKind::Block
            | LevelKind::Lane
            | LevelKind::Replicated => n > 0,
        };
        if let Level::Vector(vector) = &each.level
            && (!has_lanes(&each.body, vector)
                || any_statement(&vector.rest, &|s| matches!(s, Statement::Lanes(_))))
        {
            self.errors.push(PlanError::Lanes);
        }
        if !has_one {
            self.errors.push(PlanError::Dimensions { level, n });
        }
        if let Some(outer) = around.iter().find(|outer| excludes(**outer, level)) {
            self.errors.push(PlanError::Nesting { inner: level, outer: Some(*outer) });
        }
        let needed = match level {
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

    fn part(&mut self, plan: &Plan, part: Part<'_>, here: usize, place: &Place, inside: &Place) {
        let mut reads = |expression: &Expr| {
            let symbols = expression.free_symbols();
            self.read.extend(symbols.into_iter().map(|symbol| (symbol.clone(), inside.clone())));
        };
        match part {
            Part::Body(_) | Part::Begins(_) | Part::Contests(_) | Part::Outlined(_) => {}
            Part::Evaluates(expression) => reads(expression),
            Part::Compares(expression) if plan.checked => reads(expression),
            Part::Compares(_) => {}
            Part::Sets(variable) => self.set.entry(variable.clone()).or_default().push(place.clone()),
            Part::Counts(variable) => self.counted.entry(variable.clone()).or_default().push(here),
            Part::Touches(buffer) | Part::Frees(buffer) => self.touched.push((buffer, inside.clone())),
            Part::Owns(buffer) => self.owned.entry(buffer).or_default().push(here),
            Part::Allocates(buffer) => self.made.entry(buffer).or_default().push(place.clone()),
            Part::Points { reference, to } => {
                self.made.entry(reference).or_default().push(place.clone());
                // In a checked plan, what says which elements were written is set with it.
                if let Some(defined) = plan.buffer(reference).defined {
                    self.made.entry(defined).or_default().push(place.clone());
                }
                self.touched.push((to, inside.clone()));
            }
        }
    }

    fn check_buffers(&self, plan: &Plan, errors: &mut Vec<PlanError>) {
        let name = |buffer: BufferId| plan.buffer(buffer).name.clone();
        let mut in_arena = BTreeSet::new();
        for (buffer, place) in &self.touched {
            let is_made = || {
                let made = self.made.get(buffer);
                made.is_some_and(|places| places.iter().any(|made| made.may_precede(place)))
            };
            let owners = self.owned.get(buffer);
            let is_owned = owners.is_some_and(|owners| owners.iter().any(|owner| place.is_in(*owner)));
            match &plan.buffer(*buffer).allocation {
                Allocation::Dynamic
                | Allocation::Reference(_)
                | Allocation::Queues { owner: QueueOwner::Statements, .. } => {
                    if !is_made() {
                        errors.push(PlanError::BeforeMade { buffer: name(*buffer) });
                    }
                }
                Allocation::Thread => {
                    if !is_owned {
                        errors.push(PlanError::Outside { buffer: name(*buffer) });
                    }
                }
                Allocation::Stack => {
                    if owners.is_some() && !is_owned {
                        errors.push(PlanError::Outside { buffer: name(*buffer) });
                    }
                }
                Allocation::Handle => {
                    in_arena.insert(*buffer);
                }
                Allocation::Argument(_)
                | Allocation::Persistent
                | Allocation::Queues { owner: QueueOwner::Handle | QueueOwner::Caller, .. }
                | Allocation::Constant(_) => {}
            }
        }
        for buffer in in_arena {
            let n = plan.slots.iter().filter(|slot| slot.buffers.contains(&buffer)).count();
            if n != 1 {
                errors.push(PlanError::Slots { buffer: name(buffer), n });
            }
        }
    }

    fn check_variables(&self, plan: &Plan, errors: &mut Vec<PlanError>) {
        for variable in self.set.keys().chain(self.counted.keys()) {
            if !plan.variables.contains_key(variable) {
                errors.push(PlanError::Untyped { variable: variable.clone() });
            }
        }
        for (variable, place) in &self.read {
            let is_argument = plan.symbols.iter().any(|symbol| symbol.name == *variable);
            let set = self.set.get(variable);
            let is_set = set.is_some_and(|places| places.iter().any(|set| set.may_precede(place)));
            let loops = self.counted.get(variable);
            let is_counted = loops.is_some_and(|loops| loops.iter().any(|each| place.is_in(*each)));
            if !is_argument && !is_set && !is_counted {
                errors.push(PlanError::BeforeSet { variable: variable.clone() });
            }
        }
    }
}

/// Whether statements are lanes alone, with a way for each binding and a register for each fold.
fn has_lanes(body: &[Statement], vector: &Vector) -> bool {
    body.iter().all(|statement| {
        if let Statement::Lanes(lanes) = statement {
            let is_there = |way: &Way| !matches!(way, Way::Fold(position) if *position >= vector.folds.len());
            return lanes.ways.len() == lanes.compute.bindings.len() && lanes.ways.iter().all(is_there);
        }
        if let Statement::Located { body, .. } | Statement::Timed { body, .. } = statement {
            return has_lanes(body, vector);
        }
        matches!(statement, Statement::Comment(_))
    })
}

/// Whether a level cannot be inside of another one.
fn excludes(outer: LevelKind, inner: LevelKind) -> bool {
    // A vector has lanes alone.
    if outer == LevelKind::Vector {
        return true;
    }
    match inner {
        // One program, one team of the host, one kernel at a time: none is inside of itself or of what it starts.
        LevelKind::Rank => true,
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

#[cfg(test)]
mod tests;
