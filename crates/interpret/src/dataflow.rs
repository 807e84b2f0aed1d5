//! Dataflow: the items of a body, each run when its dependences are done (`docs/semantics.md`, "States").

use super::machine::{Activity, ActivityFrame, ActivityStep, At, Machine};
use super::memory::Binding;
use super::program::{Body, Item, ItemForm, OutputCode};
use super::trap::Trap;

/// In a body.
#[derive(Debug)]
pub(super) struct BodyFrame<'p> {
    body: &'p Body,
    at: At,
    /// The next item, where items run in their stored order.
    next: usize,
    /// The order of items that may wait or run in random order.
    ready: Option<Box<Ready>>,
}

/// Ready items.
#[derive(Debug)]
struct Ready {
    /// For each item, how many others it still waits for.
    waits: Vec<u32>,
    items: Vec<u32>,
    /// Number of items that run in separate activities.
    running: u32,
    /// The item that runs in frames above.
    current: Option<u32>,
}

impl BodyFrame<'_> {
    /// Its point.
    pub(super) fn at(&self) -> At {
        self.at
    }

    /// Notes that an item that ran in an activity of its own is done. The answer is the registers that it has set.
    pub(super) fn finished(&mut self, item: u32) -> Vec<u32> {
        if let Some(ready) = &mut self.ready {
            ready.running -= 1;
            ready.complete(self.body, item);
        }
        let mut registers = Vec::new();
        if let ItemForm::Tasklet(tasklet) = &self.body.items[item as usize].form {
            tasklet.outputs.iter().for_each(|output| collect_registers(&output.form, &mut registers));
        }
        registers
    }
}

fn collect_registers(output: &OutputCode, registers: &mut Vec<u32>) {
    match output {
        OutputCode::Register(register) => registers.push(*register),
        OutputCode::Several(outputs) => {
            outputs.iter().for_each(|output| collect_registers(output, registers))
        }
        OutputCode::Value { .. }
        | OutputCode::Pointer { .. }
        | OutputCode::Push { .. }
        | OutputCode::Nothing => {}
    }
}

impl Ready {
    fn new(body: &Body) -> Self {
        let items = (0..body.items.len()).filter(|i| body.waits[*i] == 0).map(|i| i as u32).collect();
        Ready { waits: body.waits.clone(), items, running: 0, current: None }
    }

    fn complete(&mut self, body: &Body, item: u32) {
        for &follower in &body.followers[item as usize] {
            let waits = &mut self.waits[follower as usize];
            *waits -= 1;
            if *waits == 0 {
                self.items.push(follower);
            }
        }
    }
}

impl<'p> Machine<'p> {
    /// Begins a body.
    pub(super) fn enter_body(
        &mut self,
        activity: &mut Activity<'p>,
        body: usize,
        at: At,
    ) -> Result<(), Box<Trap>> {
        let body = &self.program.bodies[body];
        self.begin_body(activity, body)?;
        let is_unordered = body.waits_for_streams || self.shuffler.is_some() && body.items.len() > 1;
        let ready = is_unordered.then(|| Box::new(Ready::new(body)));
        activity.frames.push(ActivityFrame::Body(BodyFrame { body, at, next: 0, ready }));
        Ok(())
    }

    /// Allocates and binds what lives in a body.
    pub(super) fn begin_body(
        &mut self,
        activity: &mut Activity<'p>,
        body: &'p Body,
    ) -> Result<(), Box<Trap>> {
        for &container in &body.allocate {
            self.allocate(activity.call(), container)?;
        }
        for &container in &body.allocate_late {
            if matches!(activity.call().bindings[container], Binding::Nothing) {
                self.allocate(activity.call(), container)?;
            }
        }
        for view in &body.views {
            self.bind(activity.call(), view)?;
        }
        Ok(())
    }

    fn leave_body(&mut self, activity: &mut Activity<'p>, body: &'p Body) {
        activity.frames.pop();
        self.end_body(activity, body);
    }

    /// Gives back what lives in a body.
    pub(super) fn end_body(&mut self, activity: &mut Activity<'p>, body: &'p Body) {
        for &container in &body.allocate {
            self.release(activity.call(), container);
        }
    }

    pub(super) fn step_body(&mut self, activity: &mut Activity<'p>) -> Result<ActivityStep, Box<Trap>> {
        let depth = activity.frames.len();
        let Some(ActivityFrame::Body(frame)) = activity.frames.last_mut() else {
            return Ok(ActivityStep::Continue);
        };
        let (body, at) = (frame.body, frame.at);
        if frame.ready.is_some() {
            return self.step_unordered(activity);
        }
        let mut next = frame.next;
        while let Some(item) = body.items.get(next) {
            next += 1;
            self.start(activity, item, at)?;
            if activity.frames.len() > depth {
                if let Some(ActivityFrame::Body(frame)) = activity.frames.get_mut(depth - 1) {
                    frame.next = next;
                }
                return Ok(ActivityStep::Continue);
            }
        }
        self.leave_body(activity, body);
        Ok(ActivityStep::Continue)
    }

    fn step_unordered(&mut self, activity: &mut Activity<'p>) -> Result<ActivityStep, Box<Trap>> {
        let depth = activity.frames.len();
        loop {
            let Some(ActivityFrame::Body(BodyFrame { body, at, ready: Some(ready), .. })) =
                activity.frames.get_mut(depth - 1)
            else {
                return Ok(ActivityStep::Continue);
            };
            let (body, at) = (*body, *at);
            if let Some(item) = ready.current.take() {
                ready.complete(body, item);
            }
            if ready.items.is_empty() {
                if ready.running > 0 {
                    return Ok(ActivityStep::AwaitChild);
                }
                self.leave_body(activity, body);
                return Ok(ActivityStep::Continue);
            }
            let place = match &mut self.shuffler {
                Some(shuffler) => shuffler.below(ready.items.len()),
                None => ready
                    .items
                    .iter()
                    .enumerate()
                    .min_by_key(|(_, item)| **item)
                    .map_or(0, |(place, _)| place),
            };
            let number = ready.items.swap_remove(place);
            let item = &body.items[number as usize];
            if item.waits_for_streams {
                ready.running += 1;
                let call = activity.call().clone();
                self.spawn(activity, number, call, ActivityFrame::Item(item, at));
                return Ok(ActivityStep::Yield);
            }
            ready.current = Some(number);
            self.start(activity, item, at)?;
            if activity.frames.len() > depth {
                return Ok(ActivityStep::Continue);
            }
        }
    }

    /// Runs an item, or pushes the frame that will.
    pub(super) fn start(
        &mut self,
        activity: &mut Activity<'p>,
        item: &'p Item,
        at: At,
    ) -> Result<(), Box<Trap>> {
        match &item.form {
            ItemForm::Access => Ok(()),
            ItemForm::Tasklet(code) => {
                if item.waits_for_streams {
                    self.enter_tasklet(activity, item, code, at);
                    return Ok(());
                }
                self.run_tasklet(activity.call(), item, code, at)
            }
            ItemForm::Copy(code) => {
                if item.waits_for_streams {
                    return self.enter_copy(activity, item, code, at);
                }
                self.run_copy(activity.call(), item, code, at)
            }
            ItemForm::Map(code) => self.enter_map(activity, item, code, at),
            ItemForm::Consume(code) => self.enter_consume(activity, item, code, at),
            ItemForm::Call(code) => self.enter_call(activity, item, code, at),
            ItemForm::Reduce(code) => self.run_reduce(activity.call(), item, code, at),
            ItemForm::Library(code) => self.run_library(activity.call(), item, code, at),
            ItemForm::Set(code) => self.bind(activity.call(), code),
        }
    }
}
