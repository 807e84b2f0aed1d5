//! The flattened control flow of an SDFG: every step of control, and its possible successors.
//!
//! Loops, branches and jumps are decomposed into steps, so an analysis is one worklist algorithm for any
//! nesting. Nested SDFGs are calls inside states and have separate graphs.
//! [`RegionGraph`](super::RegionGraph) keeps the structure instead.

use std::collections::BTreeMap;

use sdfg_language::symbolic::Symbol;
use sdfg_language::syntax::Expression;

use super::accesses::containers_in;
use super::region_graph::{one_is_taken, tried_transitions};
use crate::ir::{Block, BlockId, BlockKind, ContainerId, Loop, RegionId, Sdfg, TransitionId};

/// One step of control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ControlStep {
    /// The call begins.
    Entry,
    /// A state runs.
    State(BlockId),
    /// A break, continue or return is reached.
    Jump(BlockId),
    /// A loop begins: its symbol is set, if it has one.
    Init(BlockId),
    /// The condition of a loop is tested.
    Test(BlockId),
    /// The symbol of a loop is set anew after the body.
    Update(BlockId),
    /// The condition of an arm of a branch, by position, is tested. The branch begins with the first.
    Arm(BlockId, usize),
    /// A block is done: its transitions are tried next.
    Done(BlockId),
    /// The condition of a transition is tested.
    Try(TransitionId),
    /// A transition is taken: its assignments take effect together.
    Take(TransitionId),
    /// The call ends.
    Exit,
}

/// The steps of an SDFG, with every way that control may take among them and perhaps more: conditions are not evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlGraph {
    steps: Vec<ControlStep>,
    index: BTreeMap<ControlStep, usize>,
    successors: Vec<Vec<usize>>,
    predecessors: Vec<Vec<usize>>,
}

impl ControlGraph {
    /// The flattened control flow. Jumps outside of loops, which validation refuses, end the call.
    pub fn of(sdfg: &Sdfg) -> Self {
        let mut graph = ControlGraph {
            steps: Vec::new(),
            index: BTreeMap::new(),
            successors: Vec::new(),
            predecessors: Vec::new(),
        };
        let entry = graph.add(ControlStep::Entry);
        graph.join(entry, region_begin(sdfg, sdfg.body()));
        graph.add(ControlStep::Exit);
        for (id, block) in sdfg.blocks() {
            graph.add_block(sdfg, id, block);
        }
        for at in 0..graph.steps.len() {
            for next in graph.successors[at].clone() {
                graph.predecessors[next].push(at);
            }
        }
        graph
    }

    /// Number of steps; they are told apart by numbers below it.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there is no step; an SDFG has at least its entry and exit.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// All steps, by number.
    pub fn steps(&self) -> &[ControlStep] {
        &self.steps
    }

    /// The number of a step, if the graph has it.
    pub fn number(&self, step: ControlStep) -> Option<usize> {
        self.index.get(&step).copied()
    }

    /// Numbers of the steps that may come next, in the order in which they are tried.
    pub fn successors(&self, step: usize) -> &[usize] {
        self.successors.get(step).map_or(&[], Vec::as_slice)
    }

    /// Numbers of the steps that may have come before.
    pub fn predecessors(&self, step: usize) -> &[usize] {
        self.predecessors.get(step).map_or(&[], Vec::as_slice)
    }

    fn add(&mut self, step: ControlStep) -> usize {
        if let Some(known) = self.index.get(&step) {
            return *known;
        }
        let number = self.steps.len();
        self.steps.push(step);
        self.index.insert(step, number);
        self.successors.push(Vec::new());
        self.predecessors.push(Vec::new());
        number
    }

    fn join(&mut self, from: usize, to: ControlStep) {
        let to = self.add(to);
        if !self.successors[from].contains(&to) {
            self.successors[from].push(to);
        }
    }

    fn add_block(&mut self, sdfg: &Sdfg, id: BlockId, block: &Block) {
        match &block.kind {
            BlockKind::State(_) => {
                let run = self.add(ControlStep::State(id));
                self.join(run, ControlStep::Done(id));
            }
            BlockKind::Break | BlockKind::Continue | BlockKind::Return => {
                let jump = self.add(ControlStep::Jump(id));
                self.join(jump, jump_target(sdfg, block));
                return;
            }
            BlockKind::Loop(repeated) => {
                let [init, test, update] =
                    [ControlStep::Init(id), ControlStep::Test(id), ControlStep::Update(id)]
                        .map(|s| self.add(s));
                let body = region_begin(sdfg, repeated.body);
                self.join(init, if repeated.test_after { body } else { ControlStep::Test(id) });
                self.join(test, body);
                self.join(test, ControlStep::Done(id));
                self.join(update, ControlStep::Test(id));
            }
            BlockKind::Branch(branch) => {
                let otherwise =
                    branch.otherwise.map_or(ControlStep::Done(id), |region| region_begin(sdfg, region));
                // A branch without arms has a first step all the same.
                let arms = branch.arms.len().max(1);
                for position in 0..arms {
                    let test = self.add(ControlStep::Arm(id, position));
                    if let Some((_, region)) = branch.arms.get(position) {
                        self.join(test, region_begin(sdfg, *region));
                    }
                    self.join(
                        test,
                        if position + 1 < arms { ControlStep::Arm(id, position + 1) } else { otherwise },
                    );
                }
            }
        }
        let tried = tried_transitions(sdfg, id);
        let mut at = self.add(ControlStep::Done(id));
        for transition in &tried {
            self.join(at, ControlStep::Try(*transition));
            at = self.add(ControlStep::Try(*transition));
            self.join(at, ControlStep::Take(*transition));
            let take = self.add(ControlStep::Take(*transition));
            self.join(take, begin(sdfg, sdfg.transition(*transition).dst));
        }
        if !one_is_taken(sdfg, &tried) {
            self.join(at, region_end(sdfg, block.region));
        }
    }
}

/// The step with which a block begins.
pub fn begin(sdfg: &Sdfg, block: BlockId) -> ControlStep {
    match sdfg.block(block).kind {
        BlockKind::State(_) => ControlStep::State(block),
        BlockKind::Loop(_) => ControlStep::Init(block),
        BlockKind::Branch(_) => ControlStep::Arm(block, 0),
        BlockKind::Break | BlockKind::Continue | BlockKind::Return => ControlStep::Jump(block),
    }
}

fn region_begin(sdfg: &Sdfg, region: RegionId) -> ControlStep {
    match sdfg.region(region).start {
        Some(start) => begin(sdfg, start),
        None => region_end(sdfg, region),
    }
}

/// The step after a region is done.
fn region_end(sdfg: &Sdfg, region: RegionId) -> ControlStep {
    let Some(parent) = sdfg.region(region).parent else { return ControlStep::Exit };
    match sdfg.block(parent).kind {
        BlockKind::Loop(_) => ControlStep::Update(parent),
        BlockKind::Branch(_) => ControlStep::Done(parent),
        BlockKind::State(_) | BlockKind::Break | BlockKind::Continue | BlockKind::Return => ControlStep::Exit,
    }
}

fn jump_target(sdfg: &Sdfg, jump: &Block) -> ControlStep {
    let leaves = match jump.kind {
        BlockKind::Break => true,
        BlockKind::Continue => false,
        BlockKind::Return | BlockKind::State(_) | BlockKind::Loop(_) | BlockKind::Branch(_) => {
            return ControlStep::Exit;
        }
    };
    let outer = |block: &BlockId| sdfg.region(sdfg.block(*block).region).parent;
    // A wrong graph may have a region that contains itself.
    let around = std::iter::successors(sdfg.region(jump.region).parent, outer).take(sdfg.n_created_blocks());
    let innermost = around.into_iter().find(|block| matches!(sdfg.block(*block).kind, BlockKind::Loop(_)));
    match innermost {
        Some(repeated) if leaves => ControlStep::Done(repeated),
        Some(repeated) => ControlStep::Update(repeated),
        None => ControlStep::Exit,
    }
}

/// The expressions that a step evaluates.
pub fn expressions(sdfg: &Sdfg, step: ControlStep) -> Vec<&Expression> {
    let of_loop = |block: BlockId| match &sdfg.block(block).kind {
        BlockKind::Loop(repeated) => Some(repeated),
        BlockKind::State(_)
        | BlockKind::Branch(_)
        | BlockKind::Break
        | BlockKind::Continue
        | BlockKind::Return => None,
    };
    match step {
        ControlStep::Entry
        | ControlStep::State(_)
        | ControlStep::Jump(_)
        | ControlStep::Done(_)
        | ControlStep::Exit => Vec::new(),
        ControlStep::Init(block) => of_loop(block).and_then(|l| l.init.as_ref()).into_iter().collect(),
        ControlStep::Test(block) => of_loop(block).map(|l| &l.condition).into_iter().collect(),
        ControlStep::Update(block) => of_loop(block).and_then(|l| l.update.as_ref()).into_iter().collect(),
        ControlStep::Arm(block, position) => match &sdfg.block(block).kind {
            BlockKind::Branch(branch) => {
                branch.arms.get(position).map(|(test, _)| test).into_iter().collect()
            }
            BlockKind::State(_)
            | BlockKind::Loop(_)
            | BlockKind::Break
            | BlockKind::Continue
            | BlockKind::Return => Vec::new(),
        },
        ControlStep::Try(id) => sdfg.transition(id).condition.iter().collect(),
        ControlStep::Take(id) => sdfg.transition(id).assignments.iter().map(|(_, value)| value).collect(),
    }
}

/// The containers that a step reads, apart from what a state does.
pub fn containers_read(sdfg: &Sdfg, step: ControlStep) -> Vec<ContainerId> {
    expressions(sdfg, step).into_iter().flat_map(|value| containers_in(sdfg, value)).collect()
}

/// The symbols that a step sets.
pub fn symbols_set(sdfg: &Sdfg, step: ControlStep) -> Vec<Symbol> {
    let of_loop = |block: BlockId, value: fn(&Loop) -> &Option<Expression>| match &sdfg.block(block).kind {
        BlockKind::Loop(repeated) if value(repeated).is_some() => repeated.symbol.iter().cloned().collect(),
        BlockKind::Loop(_)
        | BlockKind::State(_)
        | BlockKind::Branch(_)
        | BlockKind::Break
        | BlockKind::Continue
        | BlockKind::Return => Vec::new(),
    };
    match step {
        ControlStep::Init(block) => of_loop(block, |repeated| &repeated.init),
        ControlStep::Update(block) => of_loop(block, |repeated| &repeated.update),
        ControlStep::Take(id) => {
            sdfg.transition(id).assignments.iter().map(|(symbol, _)| symbol.clone()).collect()
        }
        ControlStep::Entry
        | ControlStep::State(_)
        | ControlStep::Jump(_)
        | ControlStep::Test(_)
        | ControlStep::Arm(..)
        | ControlStep::Done(_)
        | ControlStep::Try(_)
        | ControlStep::Exit => Vec::new(),
    }
}
