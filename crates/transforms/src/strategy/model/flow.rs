//! Data flow between operations and its frequency: through sequences of states, loops, branches, jumps and
//! calls.
//!
//! A loop is traversed twice: once for its first iteration and once for all others, which finds the data that
//! an iteration leaves for the next one. Elements that a reader has fetched are not fetched again until they
//! are written. The model is an upper bound where data decide the path. It assumes that every arm of such a
//! branch runs, and that the previous values may also remain. It counts operations that a jump may skip, and
//! the values at the jump may also exist at its target.
//!
//! Ranks hold what the caller passes as the first operation needs it that reads the argument. Other operations fetch from there.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::analysis::loops::counted_range;
use sdfg::analysis::symbols::assigned_symbols_of;
use sdfg::ir::{BlockId, BlockKind, Branch, Loop, RegionId, Sdfg, StateId, Transition};
use sdfg::path::ElementPath;
use sdfg::symbolic::{Expr, Symbol};

use super::binding::Storage;
use super::condition::decided;
use super::elements::{Sides, count};
use super::error::ModelError;
use super::operator::{Operand, Operator};
use super::read::{self, Call, LARGEST, Reader};

/// Loops within loops; each takes two times as long to go through.
const LOOPS: usize = 10;

/// Loops, branches and calls within each other; it bounds the stack.
const DEPTH: usize = 64;

/// Elements of a storage that one operation leaves for another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Flow {
    /// The operation that wrote them, or the first one that read them of the caller.
    pub(super) source: usize,
    /// Whether the source wrote them.
    pub(super) origin: Origin,
    /// The operation that reads them.
    pub(super) target: usize,
    /// Their places.
    pub(super) storage: Storage,
    /// Operations that surely wrote to the storage in between; what they wrote flows from them.
    pub(super) later: Vec<usize>,
}

/// Where elements come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origin {
    /// The operation wrote them.
    Written,
    /// The caller passed them, and ranks hold them as the operation needs them.
    Passed,
}

/// The operations of a program and what flows between them.
#[derive(Debug, Default)]
pub(super) struct Program {
    pub(super) operators: Vec<Operator>,
    /// Number of executions of each operation.
    pub(super) executions: Vec<u64>,
    /// Number of uses of each flow.
    pub(super) flows: BTreeMap<Flow, u64>,
    /// The container that each storage is: labels of the calls around it, and its name.
    pub(super) storages: Vec<ElementPath>,
    /// Approximations of the model, with their places.
    pub(super) approximations: Vec<String>,
}

/// Arms of branches that are open, each with a number of this execution of the branch.
type Arms = Vec<(usize, usize)>;

/// An execution of an operation that wrote to a storage, or the caller's values.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Written {
    by: Writer,
    /// Tells executions apart; 0 for the caller.
    time: usize,
    /// Arms that it is in; outside of them it may not have happened.
    arms: Arms,
}

/// The writer of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writer {
    /// The caller passes an argument.
    Caller,
    /// An operation, by its number.
    Operator(usize),
}

/// Writers of each storage, the latest last.
type Writers = BTreeMap<Storage, Vec<Written>>;

/// Operations of a state, by number.
#[derive(Clone, Copy, Debug)]
enum FlowStep {
    Operator(usize),
    Call(usize),
}

/// Position of the walk.
#[derive(Clone, Copy, Debug)]
struct WalkPosition {
    call: usize,
    /// Number of executions of the current place.
    times: u64,
    n_loops: usize,
    depth: usize,
}

/// Possible writers at the targets of jumps.
#[derive(Debug, Default)]
struct Jumps {
    /// Behind the loop or call.
    out: Writers,
    /// At the next iteration.
    next: Writers,
    /// Whether some jump in an arm may skip what follows it.
    may_skip: bool,
}

/// Goes through a program.
#[derive(Default)]
pub(super) struct Walk<'a> {
    calls: Vec<Reader<'a>>,
    /// Trip counts of loops, by their labels.
    iterations: BTreeMap<String, u64>,
    /// Labels of loops that were found there.
    told: BTreeSet<String>,
    /// Of the loops and calls around, the innermost last.
    jumps: Vec<Jumps>,
    /// Places of calls in `jumps`.
    calls_around: Vec<usize>,
    program: Program,
    of_state: BTreeMap<(usize, StateId), Vec<FlowStep>>,
    writers: Writers,
    arms: Arms,
    /// Number of data-dependent branches so far.
    n_choices: usize,
    /// The times of what each operation has read of each storage.
    read: BTreeMap<(usize, Storage), BTreeSet<usize>>,
    /// Of each argument the first operation that reads it.
    first_readers: BTreeMap<Storage, usize>,
    time: usize,
}

impl<'a> Walk<'a> {
    /// The operations of a program at the given values of its symbols.
    ///
    /// Loops that do not count run as often as it is told for their labels.
    pub(super) fn program(
        sdfg: &'a Sdfg,
        values: &BTreeMap<Symbol, i64>,
        iterations: &BTreeMap<String, u64>,
    ) -> Result<Program, ModelError> {
        let values = values.iter().map(|(symbol, value)| (symbol.clone(), Expr::int(*value))).collect();
        let mut walk = Walk { iterations: iterations.clone(), ..Walk::default() };
        let call = walk.enter(Call {
            sdfg,
            values,
            path: ElementPath::sdfg(&sdfg.name),
            means: BTreeMap::new(),
            bound: BTreeMap::new(),
        });
        let bindings = &walk.calls[call].bindings;
        let arguments = sdfg.containers().filter(|(_, container)| container.is_argument());
        let passed = || vec![Written { by: Writer::Caller, time: 0, arms: Arms::new() }];
        walk.writers = arguments
            .filter_map(|(id, _)| bindings.get(&id).map(|binding| (binding.storage, passed())))
            .collect();
        walk.call(WalkPosition { call, times: 1, n_loops: 0, depth: 0 })?;
        if let Some(label) = iterations.keys().find(|label| !walk.told.contains(*label)) {
            return Err(ModelError::UnknownLoop { label: label.clone() });
        }
        let notes = walk.calls.into_iter().flat_map(|reader| reader.approximations);
        walk.program.approximations.extend(notes);
        Ok(walk.program)
    }

    fn enter(&mut self, call: Call<'a>) -> usize {
        self.calls.push(Reader::new(call, &mut self.program.storages));
        self.calls.len() - 1
    }

    /// A program or nested SDFG from its start to where it returns.
    fn call(&mut self, place: WalkPosition) -> Result<(), ModelError> {
        self.calls_around.push(self.jumps.len());
        self.jumps.push(Jumps::default());
        let goes_on = self.region(self.calls[place.call].sdfg.body(), place)?;
        self.calls_around.pop();
        self.land(goes_on, |jumps| jumps.out);
        Ok(())
    }

    /// End of a loop or call: its writers are those at its end, if that is reached, or at some jump.
    fn land(&mut self, goes_on: bool, at: impl Fn(Jumps) -> Writers) {
        let landed = self.jumps.pop().map(at).unwrap_or_default();
        if !goes_on {
            self.writers.clear();
        }
        join(&mut self.writers, &landed);
    }

    /// The blocks of a region, in their order; whether its end is reached, perhaps.
    fn region(&mut self, region: RegionId, place: WalkPosition) -> Result<bool, ModelError> {
        let n_arms = self.arms.len();
        let goes_on = self.blocks(region, place);
        self.arms.truncate(n_arms);
        goes_on
    }

    fn blocks(&mut self, region: RegionId, place: WalkPosition) -> Result<bool, ModelError> {
        let sdfg = self.calls[place.call].sdfg;
        let place = WalkPosition { depth: place.depth + 1, ..place };
        let mut is_skipped = self.jumps_may_skip();
        let mut seen = BTreeSet::new();
        let mut next = sdfg.region(region).start;
        while let Some(block) = next {
            if place.depth > DEPTH {
                self.refused(block, place, "what is nested this deeply", "inline calls")?;
            }
            if !seen.insert(block) {
                self.refused(block, place, "a cycle of transitions", "write it as a loop")?;
            }
            let goes_on = match &sdfg.block(block).kind {
                BlockKind::State(state) => self.state(*state, place).map(|()| true)?,
                BlockKind::Loop(repeated) => self.repeated(block, repeated, place).map(|()| true)?,
                BlockKind::Branch(branch) => self.branch(block, branch, place)?,
                jump @ (BlockKind::Break | BlockKind::Continue | BlockKind::Return) => {
                    self.jump(jump, block, place);
                    false
                }
            };
            if !goes_on {
                return Ok(false);
            }
            if self.jumps_may_skip() && !is_skipped {
                // What follows is in an arm of its own.
                is_skipped = true;
                self.n_choices += 1;
                self.arms.push((self.n_choices, 0));
            }
            next = match sdfg.transitions_from(block).as_slice() {
                [] => None,
                [only] => {
                    let transition = sdfg.transition(*only);
                    if transition.condition.is_some() {
                        self.refused(block, place, "a transition that decides", "write it as a branch")?;
                    }
                    self.assign(transition, place);
                    Some(transition.dst)
                }
                _ => {
                    self.refused(block, place, "a choice of transitions", "write it as a branch")?;
                    None
                }
            };
        }
        Ok(true)
    }

    /// Leaves what there is where a jump leads.
    fn jump(&mut self, jump: &BlockKind, block: BlockId, place: WalkPosition) {
        let reader = &mut self.calls[place.call];
        let label = reader.at([&reader.sdfg.block(block).label]);
        reader.approximate(&label, "a jump may skip what follows; all of it is counted");
        let call = self.calls_around.last().copied().unwrap_or(0);
        let around =
            if matches!(jump, BlockKind::Return) { call } else { self.jumps.len().saturating_sub(1) };
        let Some(jumps) = self.jumps.get_mut(around) else { return };
        let to = if matches!(jump, BlockKind::Continue) { &mut jumps.next } else { &mut jumps.out };
        join(to, &self.writers);
        // A return skips what follows in all loops of its call.
        self.jumps[around..].iter_mut().for_each(|one| one.may_skip = true);
    }

    /// Whether a jump may have skipped what follows here.
    fn jumps_may_skip(&self) -> bool {
        self.jumps.last().is_some_and(|jumps| jumps.may_skip)
    }

    fn refused(
        &self,
        block: BlockId,
        place: WalkPosition,
        what: &str,
        instead: &'static str,
    ) -> Result<(), ModelError> {
        let reader = &self.calls[place.call];
        let place = reader.at([&reader.sdfg.block(block).label]);
        Err(ModelError::Unsupported { place, what: what.to_owned(), instead })
    }

    /// Symbols keep a value that is assigned once. In loops and arms they have different ones.
    fn assign(&mut self, transition: &Transition, place: WalkPosition) {
        let is_once = place.n_loops == 0 && self.arms.is_empty();
        let Reader { values, means, .. } = &mut self.calls[place.call];
        let number = |expression| {
            let value = |symbol: &Symbol| values.get(symbol).and_then(Expr::as_int);
            Expr::from_expression(expression).ok()?.eval(&value).ok().filter(|_| is_once)
        };
        // All of them are evaluated with the old values.
        let assigned: Vec<(Symbol, Option<i64>)> =
            transition.assignments.iter().map(|(symbol, value)| (symbol.clone(), number(value))).collect();
        for (symbol, value) in assigned {
            match value {
                Some(value) => values.insert(symbol.clone(), Expr::int(value)),
                None => values.remove(&symbol),
            };
            means.remove(&symbol);
        }
    }

    /// Symbols that a region assigns have no value that is known in all of it.
    fn forget_assigned(&mut self, region: RegionId, call: usize) {
        let reader = &mut self.calls[call];
        for symbol in assigned_symbols_of(reader.sdfg, region) {
            reader.values.remove(&symbol);
            reader.means.remove(&symbol);
        }
    }

    fn repeated(&mut self, block: BlockId, repeated: &Loop, place: WalkPosition) -> Result<(), ModelError> {
        if place.n_loops == LOOPS {
            return self.refused(block, place, "a loop within ten others", "make it a map");
        }
        let (n, middle) = self.n_iterations(block, repeated, place)?;
        let reader = &mut self.calls[place.call];
        let label = reader.at([&reader.sdfg.block(block).label]);
        let all = place.times.checked_mul(n).filter(|all| *all <= LARGEST);
        let Some(all) = all else {
            return Err(ModelError::TooLarge { place: label, what: "the number of iterations" });
        };
        if let Some(symbol) = &repeated.symbol {
            reader.values.remove(symbol);
            match middle {
                Some(middle) => reader.means.insert(symbol.clone(), Expr::int(middle)),
                None => reader.means.remove(symbol),
            };
            reader.measure();
        }
        self.forget_assigned(repeated.body, place.call);
        let inside = WalkPosition { n_loops: place.n_loops + 1, ..place };
        self.jumps.push(Jumps::default());
        let mut goes_on = true;
        for times in
            [place.times.min(all), all.saturating_sub(place.times)].into_iter().filter(|times| *times > 0)
        {
            if let Some(jumps) = self.jumps.last_mut() {
                jumps.may_skip = false;
            }
            goes_on = self.region(repeated.body, WalkPosition { times, ..inside })?;
            // The next iteration begins where this one ends or goes on.
            let next = self.jumps.last_mut().map(|jumps| std::mem::take(&mut jumps.next)).unwrap_or_default();
            if !goes_on {
                self.writers.clear();
            }
            goes_on |= !next.is_empty();
            join(&mut self.writers, &next);
        }
        if let Some(symbol) = &repeated.symbol {
            self.calls[place.call].means.remove(symbol);
        }
        self.land(goes_on, |jumps| jumps.out);
        Ok(())
    }

    /// Trip count of a loop: the given one, or its count; and the value of its symbol in the middle.
    fn n_iterations(
        &mut self,
        block: BlockId,
        repeated: &Loop,
        place: WalkPosition,
    ) -> Result<(u64, Option<i64>), ModelError> {
        let reader = &mut self.calls[place.call];
        let label = &reader.sdfg.block(block).label;
        let path = reader.at([label]);
        if let Some((known, n)) =
            [&path, label].into_iter().find_map(|name| self.iterations.get_key_value(name))
        {
            self.told.insert(known.clone());
            return Ok((*n, None));
        }
        let Some((_, range)) = counted_range(reader.sdfg, repeated) else {
            return Err(ModelError::Uncounted { place: path, label: label.clone() });
        };
        let label = label.clone();
        match reader.mean(&range.count(), &path) {
            Ok(n) => {
                let n = n.max(0);
                let half = Expr::int((n - 1).max(0) / 2);
                Ok((n as u64, reader.middle(&(range.begin + range.step * half))))
            }
            // Of a loop in a loop, the number of iterations may change.
            Err(_) if place.n_loops > 0 => Err(ModelError::Uncounted { place: path, label }),
            Err(error) => Err(error),
        }
    }

    fn branch(&mut self, block: BlockId, branch: &Branch, place: WalkPosition) -> Result<bool, ModelError> {
        let values = &self.calls[place.call].values;
        // What may run: regions, or nothing.
        let mut possible: Vec<Option<RegionId>> = Vec::new();
        let mut is_decided = false;
        for (condition, region) in &branch.arms {
            let holds = decided(condition, values);
            if holds != Some(false) {
                possible.push(Some(*region));
            }
            if holds == Some(true) {
                is_decided = true;
                break;
            }
        }
        if !is_decided {
            possible.push(branch.otherwise);
        }
        if let [only] = possible.as_slice() {
            return only.map_or(Ok(true), |region| self.region(region, place));
        }
        let reader = &mut self.calls[place.call];
        let label = reader.at([&reader.sdfg.block(block).label]);
        reader.approximate(&label, "which arm runs is not known; each is counted, every time");
        self.n_choices += 1;
        let choice = self.n_choices;
        let before = self.writers.clone();
        let (mut after, mut goes_on) = (Writers::new(), false);
        for (arm, region) in possible.into_iter().enumerate() {
            self.writers.clone_from(&before);
            let mut arm_goes_on = true;
            if let Some(region) = region {
                self.forget_assigned(region, place.call);
                self.arms.push((choice, arm));
                arm_goes_on = self.region(region, place)?;
                self.arms.pop();
            }
            if arm_goes_on {
                join(&mut after, &self.writers);
            }
            goes_on |= arm_goes_on;
        }
        self.writers = after;
        Ok(goes_on)
    }

    fn state(&mut self, state: StateId, place: WalkPosition) -> Result<(), ModelError> {
        let key = (place.call, state);
        if !self.of_state.contains_key(&key) {
            let mut steps = Vec::new();
            for step in self.calls[place.call].steps(state)? {
                steps.push(match step {
                    read::StateStep::Operator(operator) => {
                        self.program.operators.push(operator);
                        self.program.executions.push(0);
                        FlowStep::Operator(self.program.operators.len() - 1)
                    }
                    read::StateStep::Call(call) => FlowStep::Call(self.enter(call)),
                });
            }
            self.of_state.insert(key, steps);
        }
        for step in self.of_state[&key].clone() {
            match step {
                FlowStep::Operator(operator) => {
                    self.program.executions[operator] += place.times;
                    self.reads(operator, place.times);
                    self.writes(operator);
                }
                FlowStep::Call(call) => {
                    self.call(WalkPosition { call, ..place })?;
                }
            }
        }
        Ok(())
    }

    fn reads(&mut self, target: usize, times: u64) {
        for operand in &self.program.operators[target].reads {
            let storage = operand.storage;
            let first = *self.first_readers.entry(storage).or_insert(target);
            let writers = self.writers.get(&storage).map_or(&[][..], Vec::as_slice);
            let read = self.read.entry((target, storage)).or_default();
            for (at, Written { by, time, .. }) in writers.iter().enumerate() {
                if !read.insert(*time) {
                    continue;
                }
                let (source, origin) = match by {
                    Writer::Operator(source) => (*source, Origin::Written),
                    // They are where the first reader needs them.
                    Writer::Caller if first == target => continue,
                    Writer::Caller => (first, Origin::Passed),
                };
                let operators = &self.program.operators;
                let surely = |written: &Written| {
                    let Writer::Operator(by) = written.by else { return None };
                    let mut operands = operators[by].writes.iter().filter(|one| one.storage == storage);
                    let is_sure = self.arms.starts_with(&written.arms) && operands.all(Operand::is_certain);
                    is_sure.then_some(by)
                };
                let later = writers[at + 1..].iter().filter_map(surely).collect();
                let flow = Flow { source, origin, target, storage, later };
                *self.program.flows.entry(flow).or_insert(0) += times;
            }
        }
    }

    fn writes(&mut self, by: usize) {
        for operand in &self.program.operators[by].writes {
            // What is written somewhere covers nothing for sure.
            let new = if operand.is_certain() {
                everything(&self.program.operators[by], operand)
            } else {
                Vec::new()
            };
            let writers = self.writers.entry(operand.storage).or_default();
            writers.retain(|old| match old.by {
                Writer::Caller => is_left(&[operand.all()], &new),
                Writer::Operator(old) => {
                    let operator = &self.program.operators[old];
                    let covered = operator.writes.iter().filter(|one| one.storage == operand.storage);
                    old != by && covered.into_iter().any(|one| is_left(&everything(operator, one), &new))
                }
            });
            self.time += 1;
            writers.push(Written { by: Writer::Operator(by), time: self.time, arms: self.arms.clone() });
        }
    }
}

/// Adds what one arm leaves to what others do. Of an operation that wrote several times the last is kept: its elements are in one
/// place at most.
fn join(all: &mut Writers, some: &Writers) {
    for (storage, writers) in some {
        let joined = all.entry(*storage).or_default();
        for written in writers {
            match joined.iter_mut().find(|one| one.by == written.by) {
                Some(one) if one.time < written.time => *one = written.clone(),
                Some(_) => {}
                None => joined.push(written.clone()),
            }
        }
        joined.sort_by_key(|written| written.time);
    }
}

/// All elements that an operation accesses.
pub(super) fn everything(operator: &Operator, operand: &Operand) -> Vec<Sides> {
    operand.touched(&operator.whole())
}

/// Whether some element of the old boxes is in none of the new ones.
fn is_left(old: &[Sides], new: &[Sides]) -> bool {
    let boxes: Vec<&Sides> = old.iter().chain(new).collect();
    let n_old = old.len();
    // What cannot be told apart is taken to be left.
    boxes.len() > super::elements::BOXES || count(&boxes, |set| set >> n_old == 0) > 0
}
