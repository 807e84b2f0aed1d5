//! The machine: activities that run until they wait, and frames with the position of each activity.
//!
//! Activities wait for streams only between nodes. Therefore the state of an activity is a stack of frames,
//! one for each active region, loop, body, scope and call. Work that never waits runs in the frames of one
//! activity. Work that may wait gets a separate activity.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use sdfg_language::tasklet::CodeFrame;

use super::control::LoopFrame;
use super::dataflow::BodyFrame;
use super::memory::{Binding, Handle, Store};
use super::options::Options;
use super::order::{Order, Shuffler};
use super::program::{Item, Program};
use super::ranks::Rank;
use super::scope::{ConsumeFrame, MapFrame};
use super::shadow::{Instances, Point};
use super::tasklet::TaskletFrame;
use super::transfer::CopyFrame;
use super::trap::{Progress, Site, Trap, TrapKind, Waiting};

/// Maximum number of iterations of the loops of one run of a piece of code if the options set no limit.
const CODE_STEPS: u64 = 1 << 40;

/// About what an activity takes, with its copy of a call.
const ACTIVITY_BYTES: u64 = 1024;

/// Environment of a body: the execution of a scope or a call, and its progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct At {
    pub(super) instance: u32,
    pub(super) position: u32,
}

/// The values of one call of an SDFG.
#[derive(Clone, Debug, Default)]
pub(super) struct Call {
    pub(super) procedure: usize,
    pub(super) symbols: Vec<Option<i64>>,
    pub(super) bindings: Vec<Binding>,
    /// References, each with its binding that all copies of the call share.
    pub(super) references: Vec<(usize, Rc<RefCell<Binding>>)>,
    /// Elements that go from node to node, as bytes; empty where none was made.
    pub(super) registers: Vec<Vec<u8>>,
    pub(super) at: At,
    /// The rank that runs it; `None` for all of them.
    pub(super) rank: Rank,
}

impl Call {
    /// Takes what other activities made references name.
    fn follow_references(&mut self) {
        for (container, shared) in &self.references {
            self.bindings[*container].clone_from(&shared.borrow());
        }
    }
}

/// Frames of an activity, from the outside in.
#[derive(Debug)]
pub(super) enum ActivityFrame<'p> {
    /// In a call; what is inside leaves its memory to it.
    Call(super::call::CallFrame<'p>),
    /// In a region, at a block; `entered` once the block has begun.
    Region {
        block: usize,
        entered: bool,
    },
    Loop(LoopFrame<'p>),
    Body(BodyFrame<'p>),
    /// Before an item that has an activity of its own.
    Item(&'p Item, At),
    /// Before a run of a scope that has an activity of its own.
    Scope(usize, At),
    Map(Box<MapFrame<'p>>),
    Consume(Box<ConsumeFrame<'p>>),
    Tasklet(Box<TaskletFrame<'p>>),
    Copy(Box<CopyFrame<'p>>),
}

/// Next action of an activity.
pub(super) enum ActivityStep {
    /// It goes on.
    Continue,
    /// It goes on after others.
    Yield,
    /// It goes on when one of its children is done.
    AwaitChild,
    /// It goes on when the stream has changed.
    AwaitStream(StreamWait),
}

/// Reason for which an activity waits.
#[derive(Clone, Debug)]
pub(super) struct StreamWait {
    pub(super) stream: u32,
    pub(super) queue: usize,
    pub(super) to_push: bool,
    pub(super) name: String,
    pub(super) site: Site,
}

/// One thread of work.
#[derive(Debug, Default)]
pub(super) struct Activity<'p> {
    pub(super) calls: Vec<Call>,
    pub(super) frames: Vec<ActivityFrame<'p>>,
    /// The activity that is told when this one is done, its frame, and what the frame calls this one.
    parent: Option<(usize, usize, u32)>,
    waits: Option<StreamWait>,
    is_runnable: bool,
}

/// One execution of a program.
pub(super) struct Machine<'p> {
    pub(super) program: &'p Program,
    pub(super) options: &'p Options<'p>,
    pub(super) store: Store,
    pub(super) instances: Instances,
    /// Whether it is noted where elements are pushed: the consume scopes that take them order accesses.
    pub(super) notes_origins: bool,
    pub(super) shuffler: Option<Shuffler>,
    pub(super) persistent: Vec<Option<Handle>>,
    pub(super) counts: Counts,
    /// Registers for each piece of code; taken out while it runs.
    pub(super) frames: Vec<Option<Box<CodeFrame>>>,
    /// The symbols of the outermost call when its innermost step began.
    pub(super) outermost: Vec<Option<i64>>,
    activities: Vec<Activity<'p>>,
    free: Vec<usize>,
    /// Activities that can go on; the last one goes first.
    runnable: Vec<usize>,
    /// Activities that wait for a stream, by its number.
    waiting: BTreeMap<u32, Vec<usize>>,
    /// The activity that runs now.
    running: usize,
    /// Activities that it has started since it continued.
    spawned: Vec<usize>,
}

/// Counters of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    pub(super) steps: u64,
    pub(super) tasklets: u64,
    /// Elements moved, by access.
    pub(super) moved: Vec<u64>,
    /// Uses of ends that move any number of elements at once, by access.
    pub(super) passes: Vec<u64>,
    /// For each rank the bytes that copies brought from other ranks, and those of them that a resolution combined.
    pub(super) received: Vec<(u64, u64)>,
    /// Procedures and blocks in order of execution, if that is asked for.
    pub(super) order: Vec<(usize, usize)>,
    /// Executions, by procedure and block.
    pub(super) blocks: Vec<Vec<u64>>,
}

impl ActivityFrame<'_> {
    /// Point of the current frame, if it is in a state.
    fn at(&self) -> Option<At> {
        match self {
            ActivityFrame::Body(body) => Some(body.at()),
            ActivityFrame::Map(map) => Some(map.at()),
            ActivityFrame::Consume(consume) => Some(consume.at()),
            ActivityFrame::Tasklet(tasklet) => Some(tasklet.at()),
            ActivityFrame::Copy(copy) => Some(copy.at()),
            ActivityFrame::Item(_, at) | ActivityFrame::Scope(_, at) => Some(*at),
            ActivityFrame::Call(_) | ActivityFrame::Region { .. } | ActivityFrame::Loop(_) => None,
        }
    }
}

impl<'p> Activity<'p> {
    /// The innermost call.
    pub(super) fn call(&mut self) -> &mut Call {
        if self.calls.is_empty() {
            self.calls.push(Call::default());
        }
        let last = self.calls.len() - 1;
        &mut self.calls[last]
    }

    /// Whether this runs the control flow of the outermost SDFG.
    pub(super) fn is_outermost(&self) -> bool {
        self.parent.is_none() && self.calls.len() == 1
    }

    /// The first activity of a machine.
    pub(super) fn first(call: Call, frame: ActivityFrame<'p>) -> Self {
        Activity { calls: vec![call], frames: vec![frame], ..Activity::default() }
    }
}

impl<'p> Machine<'p> {
    pub(super) fn new(
        program: &'p Program,
        options: &'p Options<'p>,
        persistent: Vec<Option<Handle>>,
        store: Store,
        instances: Instances,
    ) -> Self {
        let shuffler = match options.order {
            Order::Fixed => None,
            Order::Random(seed) => Some(Shuffler::new(seed)),
        };
        let blocks = program.procedures.iter().map(|procedure| vec![0; procedure.blocks.len()]).collect();
        let none = vec![0; program.accesses.len()];
        let counts = Counts { moved: none.clone(), passes: none, blocks, ..Counts::default() };
        Machine {
            program,
            options,
            store,
            instances,
            notes_origins: options.check_conflicts && program.consumes(),
            shuffler,
            persistent,
            counts,
            frames: program.codes.iter().map(|code| Some(Box::new(code.frame()))).collect(),
            outermost: Vec::new(),
            activities: Vec::new(),
            free: Vec::new(),
            runnable: Vec::new(),
            waiting: BTreeMap::new(),
            running: 0,
            spawned: Vec::new(),
        }
    }

    /// Memory that remains for the next run.
    pub(super) fn into_kept(self) -> (Store, Instances, Vec<Option<Handle>>) {
        (self.store, self.instances, self.persistent)
    }

    /// Runs a first activity, and all that it starts, to the end.
    ///
    /// # Errors
    /// The first trap.
    pub(super) fn run(&mut self, first: Activity<'p>) -> Result<Call, Box<Trap>> {
        self.activities.push(first);
        self.make_runnable(0);
        loop {
            let Some(id) = self.choose() else {
                if self.wake_stopped()? {
                    continue;
                }
                return Err(self.deadlock());
            };
            debug_assert!(self.spawned.is_empty());
            let mut activity = std::mem::take(&mut self.activities[id]);
            activity.is_runnable = false;
            activity.calls.iter_mut().for_each(Call::follow_references);
            self.running = id;
            loop {
                if activity.frames.is_empty() {
                    if id == 0 {
                        return Ok(std::mem::take(activity.call()));
                    }
                    self.finish(id, activity);
                    break;
                }
                let step = self.step(&mut activity).map_err(|trap| self.placed(trap, &activity))?;
                match step {
                    ActivityStep::Continue => {}
                    ActivityStep::Yield => {
                        self.activities[id] = activity;
                        self.make_runnable(id);
                        break;
                    }
                    ActivityStep::AwaitChild => {
                        self.activities[id] = activity;
                        break;
                    }
                    ActivityStep::AwaitStream(wait) => {
                        self.waiting.entry(wait.stream).or_default().push(id);
                        activity.waits = Some(wait);
                        self.activities[id] = activity;
                        break;
                    }
                }
            }
            // What was started lies above the one that started it and goes first.
            for child in std::mem::take(&mut self.spawned) {
                self.make_runnable(child);
            }
        }
    }

    /// Lets consume scopes that wait for an element go on if their condition has come to hold meanwhile: what it reads
    /// may change without anything happening to their stream. False if there are none.
    fn wake_stopped(&mut self) -> Result<bool, Box<Trap>> {
        let mut found = false;
        for id in 0..self.activities.len() {
            let Some(ActivityFrame::Consume(consume)) = self.activities[id].frames.last() else { continue };
            let (Some(condition), true) = (consume.condition(), self.activities[id].waits.is_some()) else {
                continue;
            };
            let Some(mut call) = self.activities[id].calls.pop() else { continue };
            call.follow_references();
            let holds = self.holds_now(&call, condition);
            self.activities[id].calls.push(call);
            if holds? {
                self.stop_waiting(id);
                found = true;
            }
        }
        Ok(found)
    }

    /// A trap with the iteration that an activity is in.
    #[cold]
    fn placed(&self, mut trap: Box<Trap>, activity: &Activity<'p>) -> Box<Trap> {
        if trap.iteration.is_empty()
            && let Some(at) = activity.frames.iter().rev().find_map(ActivityFrame::at)
        {
            trap.iteration = self.iteration(at);
        }
        trap
    }

    fn make_runnable(&mut self, id: usize) {
        if !self.activities[id].is_runnable {
            self.activities[id].is_runnable = true;
            self.runnable.push(id);
        }
    }

    fn choose(&mut self) -> Option<usize> {
        match &mut self.shuffler {
            None => self.runnable.pop(),
            Some(_) if self.runnable.is_empty() => None,
            Some(shuffler) => {
                let place = shuffler.below(self.runnable.len());
                Some(self.runnable.swap_remove(place))
            }
        }
    }

    /// Starts an activity for work that may wait, in a copy of the innermost call. `name` is what the current frame of
    /// the parent calls it when it is done.
    pub(super) fn spawn(&mut self, parent: &Activity<'p>, name: u32, call: Call, frame: ActivityFrame<'p>) {
        let id = self.free.pop().unwrap_or_else(|| {
            self.activities.push(Activity::default());
            self.activities.len() - 1
        });
        self.activities[id] = Activity {
            calls: vec![call],
            frames: vec![frame],
            parent: Some((self.running, parent.frames.len() - 1, name)),
            waits: None,
            is_runnable: false,
        };
        self.spawned.push(id);
    }

    /// Tells the parent that an activity is done.
    fn finish(&mut self, id: usize, mut activity: Activity<'p>) {
        self.free.push(id);
        let Some((parent, frame, name)) = activity.parent else { return };
        let results = std::mem::take(&mut activity.call().registers);
        let waiting = &mut self.activities[parent];
        match waiting.frames.get_mut(frame) {
            Some(ActivityFrame::Body(body)) => {
                let outputs = body.finished(name);
                let call = waiting.call();
                for register in outputs {
                    call.registers[register as usize].clone_from(&results[register as usize]);
                }
            }
            Some(ActivityFrame::Map(map)) => map.finished(),
            Some(ActivityFrame::Consume(consume)) => consume.finished(name),
            Some(
                ActivityFrame::Call(_)
                | ActivityFrame::Region { .. }
                | ActivityFrame::Loop(_)
                | ActivityFrame::Item(..)
                | ActivityFrame::Scope(..)
                | ActivityFrame::Tasklet(_)
                | ActivityFrame::Copy(_),
            )
            | None => {}
        }
        if waiting.frames.len() == frame + 1 {
            self.stop_waiting(parent);
        }
    }

    /// Wakes whoever waits for a stream.
    pub(super) fn changed(&mut self, stream: u32) {
        if let Some(waiting) = self.waiting.remove(&stream) {
            for id in waiting {
                self.activities[id].waits = None;
                self.make_runnable(id);
            }
        }
    }

    fn stop_waiting(&mut self, id: usize) {
        if let Some(wait) = self.activities[id].waits.take()
            && let Some(waiting) = self.waiting.get_mut(&wait.stream)
        {
            waiting.retain(|other| *other != id);
        }
        self.make_runnable(id);
    }

    fn step(&mut self, activity: &mut Activity<'p>) -> Result<ActivityStep, Box<Trap>> {
        let Some(frame) = activity.frames.last_mut() else { return Ok(ActivityStep::Continue) };
        match frame {
            ActivityFrame::Body(_) => self.step_body(activity),
            ActivityFrame::Map(_) => self.step_map(activity),
            ActivityFrame::Consume(_) => self.step_consume(activity),
            ActivityFrame::Region { .. } => self.step_region(activity),
            ActivityFrame::Loop(_) => self.step_loop(activity),
            ActivityFrame::Call(_) => self.leave_call(activity),
            ActivityFrame::Tasklet(_) => self.step_tasklet(activity),
            ActivityFrame::Copy(_) => self.step_copy(activity),
            ActivityFrame::Item(item, at) => {
                let (item, at) = (*item, *at);
                activity.frames.pop();
                self.start(activity, item, at)?;
                Ok(ActivityStep::Continue)
            }
            ActivityFrame::Scope(body, at) => {
                let (body, at) = (*body, *at);
                activity.frames.pop();
                self.enter_body(activity, body, at)?;
                Ok(ActivityStep::Continue)
            }
        }
    }

    /// Bytes in containers and streams, and about what activities and the race detector take.
    pub(super) fn memory_in_use(&self) -> u64 {
        let activities = (self.activities.len() - self.free.len()) as u64 * ACTIVITY_BYTES;
        self.store.used() + activities + self.instances.bytes()
    }

    /// Traps if more memory is in use than the options allow.
    pub(super) fn check_memory(&self, site: &Site) -> Result<(), Box<Trap>> {
        let limit = self.options.memory_limit;
        if self.memory_in_use() <= limit {
            return Ok(());
        }
        Err(self.trap(TrapKind::MemoryLimit { limit }, site))
    }

    /// Maximum number of iterations of the loops of one run of a piece of code.
    pub(super) fn code_steps(&self) -> u64 {
        self.options.step_limit.map_or(CODE_STEPS, |limit| limit.saturating_sub(self.counts.steps))
    }

    /// The trap for code whose loops ran longer than [`Machine::code_steps`].
    #[cold]
    pub(super) fn code_limit(&self, site: &Site) -> Box<Trap> {
        let limit = self.options.step_limit.unwrap_or(CODE_STEPS);
        self.trap(TrapKind::StepLimit { limit }, site)
    }

    /// Counts a step against the limit.
    pub(super) fn count_step(&mut self, site: &Site) -> Result<(), Box<Trap>> {
        self.counts.steps += 1;
        match self.options.step_limit {
            Some(limit) if self.counts.steps > limit => Err(self.trap(TrapKind::StepLimit { limit }, site)),
            Some(_) | None => Ok(()),
        }
    }

    /// A new execution within an item of a body.
    pub(super) fn enter_instance(
        &mut self,
        at: At,
        item: u32,
        concurrent: bool,
        site: &Site,
    ) -> Result<u32, Box<Trap>> {
        self.check_memory(site)?;
        let parent = Point { instance: at.instance, position: at.position, item };
        self.instances.enter(parent, concurrent).ok_or_else(|| {
            // Four thousand million scopes: the numbers of the race detector are used up.
            self.trap(TrapKind::StepLimit { limit: u64::from(u32::MAX) }, site)
        })
    }

    /// As [`Machine::enter_instance`], for a consume scope.
    pub(super) fn enter_consume_instance(
        &mut self,
        at: At,
        item: u32,
        site: &Site,
    ) -> Result<u32, Box<Trap>> {
        if !self.notes_origins {
            return self.enter_instance(at, item, true, site);
        }
        self.check_memory(site)?;
        let parent = Point { instance: at.instance, position: at.position, item };
        let entered = self.instances.enter_consume(parent);
        entered.ok_or_else(|| self.trap(TrapKind::StepLimit { limit: u64::from(u32::MAX) }, site))
    }

    fn progress(&self) -> Progress {
        let blocks = self.counts.blocks.iter().flatten().filter(|count| **count > 0).count() as u64;
        Progress { blocks, steps: self.counts.steps }
    }

    #[cold]
    pub(super) fn trap(&self, kind: TrapKind, site: &Site) -> Box<Trap> {
        Box::new(Trap { kind, path: (**site).clone(), iteration: Vec::new(), progress: self.progress() })
    }

    #[cold]
    fn deadlock(&self) -> Box<Trap> {
        let mut waiting = Vec::new();
        let mut path = None;
        for activity in &self.activities {
            let Some(wait) = &activity.waits else { continue };
            path.get_or_insert_with(|| (*wait.site).clone());
            if waiting.len() == Waiting::LIMIT {
                break;
            }
            let call = activity.calls.last();
            let symbols = call.map_or_else(Vec::new, |call| {
                let procedure = &self.program.procedures[call.procedure];
                let bound = procedure.symbols.iter().zip(&call.symbols).enumerate();
                bound
                    .filter(|(slot, _)| !procedure.globals.contains(&(*slot as u32)))
                    .filter_map(|(_, ((name, _), value))| Some((name.clone(), (*value)?)))
                    .collect()
            });
            waiting.push(Waiting {
                path: (*wait.site).clone(),
                symbols,
                stream: wait.name.clone(),
                queue: wait.queue,
                to_push: wait.to_push,
            });
        }
        let path = path.unwrap_or_default();
        Box::new(Trap {
            kind: TrapKind::Deadlock { waiting },
            path,
            iteration: Vec::new(),
            progress: self.progress(),
        })
    }
}
