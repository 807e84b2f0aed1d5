//! Which operation leaves what for which other one, and how often: control flow of states in a row and counted loops.
//!
//! A loop is gone through twice, once for its first iteration and once for all others, so that what an iteration leaves
//! for the next one is found. Elements that a reader has already fetched are not fetched again until they are written.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::analysis::loops::counted_range;
use sdfg::ir::{BlockId, BlockKind, ContainerId, Loop, RegionId, StateId};

use super::elements::{Sides, count};
use super::error::ModelError;
use super::operator::{Operand, Operator};
use super::read::Reader;

/// Loops within loops; each takes two times as long to go through.
const NESTING: usize = 10;

/// Elements of a container that one operation leaves for another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Flow {
    /// The operation that wrote them.
    pub(super) source: usize,
    /// The operation that reads them.
    pub(super) target: usize,
    /// Where they are.
    pub(super) container: ContainerId,
    /// Operations that wrote to the container in between; what they wrote flows from them.
    pub(super) later: Vec<usize>,
}

/// The operations of a program and what flows between them.
#[derive(Debug, Default)]
pub(super) struct Program {
    pub(super) operators: Vec<Operator>,
    /// How often each operation runs.
    pub(super) executions: Vec<u64>,
    /// How often each flow happens.
    pub(super) flows: BTreeMap<Flow, u64>,
}

/// An execution of an operation that wrote to a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Written {
    by: usize,
    /// Tells executions apart.
    time: usize,
}

pub(super) struct Walk<'r, 'a> {
    reader: &'r mut Reader<'a>,
    program: Program,
    of_state: BTreeMap<StateId, Vec<usize>>,
    /// Who wrote what is in each container, the latest last.
    writers: BTreeMap<ContainerId, Vec<Written>>,
    /// The times of what each operation has read of each container.
    read: BTreeMap<(usize, ContainerId), BTreeSet<usize>>,
    time: usize,
}

impl<'r, 'a> Walk<'r, 'a> {
    pub(super) fn program(reader: &'r mut Reader<'a>) -> Result<Program, ModelError> {
        let mut walk = Walk {
            program: Program::default(),
            of_state: BTreeMap::new(),
            writers: BTreeMap::new(),
            read: BTreeMap::new(),
            time: 0,
            reader,
        };
        walk.region(walk.reader.sdfg.body(), 1, 0)?;
        Ok(walk.program)
    }

    fn region(&mut self, region: RegionId, times: u64, depth: usize) -> Result<(), ModelError> {
        let sdfg = self.reader.sdfg;
        let mut seen = BTreeSet::new();
        let mut next = sdfg.region(region).start;
        while let Some(block) = next {
            let label = sdfg.block(block).label.clone();
            let refused = |what: &str, instead| {
                Err(ModelError::Unsupported { place: label.clone(), what: what.to_owned(), instead })
            };
            if !seen.insert(block) {
                return refused("a cycle of transitions", "write it as a counted loop");
            }
            match &sdfg.block(block).kind {
                BlockKind::State(state) => self.state(*state, times)?,
                BlockKind::Loop(repeated) => self.repeated(block, repeated, times, depth)?,
                BlockKind::Branch(_) => return refused("a branch", "model the arms apart"),
                BlockKind::Break | BlockKind::Continue | BlockKind::Return => {
                    return refused("a jump", "write the loop so that it counts");
                }
            }
            next = match sdfg.transitions_from(block).as_slice() {
                [] => None,
                [only] => {
                    let transition = sdfg.transition(*only);
                    if transition.condition.is_some() || !transition.assignments.is_empty() {
                        return refused("a transition that decides or assigns", "write it as a counted loop");
                    }
                    Some(transition.dst)
                }
                _ => return refused("a choice of transitions", "model the paths apart"),
            };
        }
        Ok(())
    }

    fn repeated(
        &mut self,
        block: BlockId,
        repeated: &Loop,
        times: u64,
        depth: usize,
    ) -> Result<(), ModelError> {
        let place = self.reader.sdfg.block(block).label.clone();
        let refused = |what: &str, instead| {
            Err(ModelError::Unsupported { place: place.clone(), what: what.to_owned(), instead })
        };
        if depth == NESTING {
            return refused("a loop within ten others", "make it a map");
        }
        let Some((symbol, range)) = counted_range(self.reader.sdfg, repeated) else {
            return refused("a loop that does not count", "give it a begin, an end and a constant step");
        };
        let n = self.reader.number(&range.count(), &place)?.max(0) as u64;
        let Some(all) = times.checked_mul(n) else {
            return Err(ModelError::TooLarge { place, what: "the number of iterations" });
        };
        // Within the loop its symbol has no value, whatever the symbol has outside.
        let outside = self.reader.values.remove(&symbol);
        if n > 0 {
            self.region(repeated.body, times, depth + 1)?;
        }
        if n > 1 {
            self.region(repeated.body, all - times, depth + 1)?;
        }
        self.reader.values.extend(outside.map(|value| (symbol, value)));
        Ok(())
    }

    fn state(&mut self, state: StateId, times: u64) -> Result<(), ModelError> {
        if !self.of_state.contains_key(&state) {
            let found = self.reader.operators(state)?;
            let first = self.program.operators.len();
            self.of_state.insert(state, (first..first + found.len()).collect());
            self.program.executions.extend(found.iter().map(|_| 0));
            self.program.operators.extend(found);
        }
        for operator in self.of_state[&state].clone() {
            self.program.executions[operator] += times;
            self.reads(operator, times);
            self.writes(operator);
        }
        Ok(())
    }

    fn reads(&mut self, target: usize, times: u64) {
        for operand in &self.program.operators[target].reads {
            let container = operand.container;
            let writers = self.writers.get(&container).map_or(&[][..], Vec::as_slice);
            let read = self.read.entry((target, container)).or_default();
            for (at, Written { by: source, time }) in writers.iter().copied().enumerate() {
                if !read.insert(time) {
                    continue;
                }
                let later = writers[at + 1..].iter().map(|written| written.by).collect();
                *self.program.flows.entry(Flow { source, target, container, later }).or_insert(0) += times;
            }
        }
    }

    fn writes(&mut self, by: usize) {
        for operand in &self.program.operators[by].writes {
            let new = everything(&self.program.operators[by], operand);
            let writers = self.writers.entry(operand.container).or_default();
            writers.retain(|old| {
                let operator = &self.program.operators[old.by];
                let covered = operator.writes.iter().filter(|one| one.container == operand.container);
                old.by != by && covered.into_iter().any(|one| is_left(&everything(operator, one), &new))
            });
            self.time += 1;
            writers.push(Written { by, time: self.time });
        }
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
