//! Scopes: iterations of maps and processing elements of consume scopes (`docs/semantics.md`).

use sdfg_language::symbolic::EvalError;
use sdfg_language::value::Value;

use super::access;
use super::machine::{Activity, ActivityFrame, ActivityStep, At, Call, Machine, StreamWait};
use super::points::Points;
use super::program::{Body, ConsumeCode, EndCode, ExpressionCode, Item, MapCode, SymbolRead};
use super::ranks::Rank;
use super::trap::{Site, Trap, TrapKind};

/// The most processing elements of a consume scope.
const MAX_ELEMENTS: i64 = 1 << 24;

/// In a map.
#[derive(Debug)]
pub(super) struct MapFrame<'p> {
    code: &'p MapCode,
    item: &'p Item,
    at: At,
    next: Points,
    /// All points with their numbers in the order in which they run, the last one first, where that is random.
    points: Option<Vec<i64>>,
    /// Number of iterations that run in separate activities.
    running: u32,
    /// The rank that runs the map.
    rank: Rank,
}

/// In a consume scope.
#[derive(Debug)]
pub(super) struct ConsumeFrame<'p> {
    code: &'p ConsumeCode,
    item: &'p Item,
    at: At,
    /// Whether each processing element works.
    busy: Vec<bool>,
    /// The one that was given work last.
    last: usize,
    /// The one that works in frames above.
    current: Option<usize>,
    stopped: bool,
}

impl MapFrame<'_> {
    /// Its point.
    pub(super) fn at(&self) -> At {
        self.at
    }

    /// Notes that an iteration that ran in an activity of its own is done.
    pub(super) fn finished(&mut self) {
        self.running -= 1;
    }

    /// Sets the parameters and the position to the next point; false if there is none.
    fn advance(&mut self, symbols: &mut [Option<i64>]) -> Result<bool, EvalError> {
        let Some(points) = &mut self.points else {
            self.at.position = self.at.position.wrapping_add(1);
            return self.next.advance(self.code, symbols);
        };
        let rank = self.code.params.len();
        if points.len() <= rank {
            return Ok(false);
        }
        let point = points.split_off(points.len() - rank - 1);
        for (slot, value) in self.code.params.iter().zip(&point) {
            symbols[*slot as usize] = Some(*value);
        }
        // Numbers beyond 32 bits would not fit memory as a list.
        self.at.position = point.get(rank).map_or(0, |number| *number as u32);
        Ok(true)
    }
}

impl<'p> ConsumeFrame<'p> {
    /// Its point.
    pub(super) fn at(&self) -> At {
        self.at
    }

    /// Its end condition, besides quiescence.
    pub(super) fn condition(&self) -> Option<&'p ExpressionCode> {
        self.code.condition.as_ref()
    }

    /// Notes that a processing element that has an activity of its own is done.
    pub(super) fn finished(&mut self, element: u32) {
        self.busy[element as usize] = false;
    }
}

impl<'p> Machine<'p> {
    pub(super) fn enter_map(
        &mut self,
        activity: &mut Activity<'p>,
        item: &'p Item,
        code: &'p MapCode,
        at: At,
    ) -> Result<(), Box<Trap>> {
        self.read_symbols(activity, &code.reads, at)?;
        let site = &self.program.items[item.number as usize].site;
        let instance = self.enter_instance(at, item.number, true, site)?;
        let rank = code.params.len();
        let mut frame = MapFrame {
            code,
            item,
            at: At { instance, position: 0 },
            next: Points::new(rank),
            points: None,
            running: 0,
            rank: activity.call().rank,
        };
        if self.shuffler.is_some() {
            self.shuffle_points(activity, &mut frame)?;
        }
        activity.frames.push(ActivityFrame::Map(Box::new(frame)));
        Ok(())
    }

    /// Lists all points of a map in random order.
    fn shuffle_points(
        &mut self,
        activity: &mut Activity<'p>,
        frame: &mut MapFrame<'p>,
    ) -> Result<(), Box<Trap>> {
        let call = activity.call();
        let mut points: Vec<Vec<i64>> = Vec::new();
        let mut all = frame.next.clone();
        while all
            .advance(frame.code, &mut call.symbols)
            .map_err(|e| self.index_trap(call, &e, &self.program.items[frame.item.number as usize].site))?
        {
            let point = frame.code.params.iter().map(|slot| call.symbols[*slot as usize].unwrap_or(0));
            points.push(point.chain([points.len() as i64 + 1]).collect());
            let bytes = (points.len() * (frame.code.params.len() + 4) * size_of::<i64>()) as u64;
            if bytes > self.options.memory_limit {
                let limit = self.options.memory_limit;
                let site = &self.program.items[frame.item.number as usize].site;
                return Err(self.trap(TrapKind::MemoryLimit { limit }, site));
            }
            // What would not be allowed to run need not be listed.
            if let Some(limit) = self.options.step_limit
                && points.len() as u64 > limit
            {
                let site = &self.program.items[frame.item.number as usize].site;
                return Err(self.trap(TrapKind::StepLimit { limit }, site));
            }
        }
        if let Some(shuffler) = &mut self.shuffler {
            shuffler.shuffle(&mut points);
        }
        frame.points = Some(points.concat());
        Ok(())
    }

    pub(super) fn step_map(&mut self, activity: &mut Activity<'p>) -> Result<ActivityStep, Box<Trap>> {
        // The frame leaves its place while it is worked on, so that the call can be changed.
        let Some(ActivityFrame::Map(mut frame)) = activity.frames.pop() else {
            return Ok(ActivityStep::Continue);
        };
        let body = &self.program.bodies[frame.code.body];
        if body.is_plain && (self.shuffler.is_none() || body.items.len() <= 1) {
            let run = self.run_plain_map(activity, &mut frame, body);
            if run.is_err() {
                // It tells the report the iteration.
                activity.frames.push(ActivityFrame::Map(frame));
            }
            return run.map(|()| ActivityStep::Continue);
        }
        if !self.advance(activity, &mut frame)? {
            if frame.running > 0 {
                activity.frames.push(ActivityFrame::Map(frame));
                return Ok(ActivityStep::AwaitChild);
            }
            return Ok(ActivityStep::Continue);
        }
        let (code, at, item) = (frame.code, frame.at, frame.item);
        if body.waits_for_streams {
            frame.running += 1;
            activity.frames.push(ActivityFrame::Map(frame));
            self.check_memory(&self.program.items[item.number as usize].site)?;
            let call = activity.call().clone();
            self.spawn(activity, 0, call, ActivityFrame::Scope(code.body, at));
            return Ok(ActivityStep::Yield);
        }
        activity.frames.push(ActivityFrame::Map(frame));
        self.enter_body(activity, code.body, at)?;
        Ok(ActivityStep::Continue)
    }

    /// Runs what is left of a map whose body needs no frames of its own.
    fn run_plain_map(
        &mut self,
        activity: &mut Activity<'p>,
        frame: &mut MapFrame<'p>,
        body: &'p Body,
    ) -> Result<(), Box<Trap>> {
        while self.advance(activity, frame)? {
            self.begin_body(activity, body)?;
            for item in &body.items {
                self.start(activity, item, frame.at)?;
            }
            self.end_body(activity, body);
        }
        Ok(())
    }

    /// Goes on to the next iteration of a map; false if there is none.
    fn advance(&mut self, activity: &mut Activity<'p>, frame: &mut MapFrame<'p>) -> Result<bool, Box<Trap>> {
        let site = &self.program.items[frame.item.number as usize].site;
        let call = activity.call();
        let more = frame.advance(&mut call.symbols);
        if !more.map_err(|e| self.index_trap(call, &e, site))? {
            call.rank = frame.rank;
            return Ok(false);
        }
        self.count_step(site)?;
        if frame.code.on_ranks && frame.rank.is_none() && self.options.ranks > 1 {
            // Positions count from 1.
            call.rank = Some(frame.at.position.wrapping_sub(1) % self.options.ranks);
        }
        Ok(true)
    }

    fn read_symbols(
        &mut self,
        activity: &mut Activity<'p>,
        reads: &[SymbolRead],
        at: At,
    ) -> Result<(), Box<Trap>> {
        for read in reads {
            let call = activity.call();
            let element = self.input_element(call, &read.from, at)?;
            let value = Value::read(read.element.lane(), &element).and_then(Value::to_i64);
            call.symbols[read.slot as usize] = value;
        }
        Ok(())
    }

    pub(super) fn enter_consume(
        &mut self,
        activity: &mut Activity<'p>,
        item: &'p Item,
        code: &'p ConsumeCode,
        at: At,
    ) -> Result<(), Box<Trap>> {
        self.read_symbols(activity, &code.reads, at)?;
        let site = &self.program.items[item.number as usize].site;
        let call = activity.call();
        let elements = code.elements.eval(&call.symbols).map_err(|e| self.index_trap(call, &e, site))?;
        if elements > MAX_ELEMENTS {
            let container = self.container(code.stream.access);
            let elements = i128::from(elements);
            return Err(self.trap(TrapKind::OutOfMemory { container, elements }, site));
        }
        let instance = self.enter_consume_instance(at, item.number, site)?;
        let frame = ConsumeFrame {
            code,
            item,
            at: At { instance, position: 0 },
            busy: vec![false; usize::try_from(elements).unwrap_or(0)],
            last: usize::MAX,
            current: None,
            stopped: false,
        };
        activity.frames.push(ActivityFrame::Consume(Box::new(frame)));
        Ok(())
    }

    pub(super) fn step_consume(&mut self, activity: &mut Activity<'p>) -> Result<ActivityStep, Box<Trap>> {
        let Some(ActivityFrame::Consume(mut frame)) = activity.frames.pop() else {
            return Ok(ActivityStep::Continue);
        };
        let code = frame.code;
        if let Some(element) = frame.current.take() {
            frame.busy[element] = false;
        }
        if let (Some(condition), false) = (&code.condition, frame.stopped) {
            frame.stopped = self.holds_now(activity.call(), condition)?;
        }
        let is_working = frame.busy.contains(&true);
        let idle: Vec<usize> = (0..frame.busy.len()).filter(|i| !frame.busy[*i]).collect();
        if frame.stopped || idle.is_empty() {
            if is_working {
                activity.frames.push(ActivityFrame::Consume(frame));
                return Ok(ActivityStep::AwaitChild);
            }
            return Ok(ActivityStep::Continue);
        }
        let call = activity.call();
        let mut element = Vec::new();
        let queue = self.queue(call, &code.stream, 0)?;
        let Some(origin) = self.pop(call, &code.stream, queue, &mut element)? else {
            if code.condition.is_none() && !is_working {
                return Ok(ActivityStep::Continue);
            }
            let site = self.program.items[frame.item.number as usize].site.clone();
            activity.frames.push(ActivityFrame::Consume(frame));
            let wait = self.wait_for(activity.call(), &code.stream, queue, false, site)?;
            return Ok(ActivityStep::AwaitStream(wait));
        };
        let place = match &mut self.shuffler {
            Some(shuffler) => shuffler.below(idle.len()),
            None => idle.iter().position(|i| *i > frame.last || frame.last == usize::MAX).unwrap_or(0),
        };
        let worker = idle[place];
        frame.last = worker;
        frame.busy[worker] = true;
        frame.at.position = frame.at.position.wrapping_add(1);
        let at = frame.at;
        self.instances.take(at.instance, origin);
        call.symbols[code.element as usize] = Some(worker as i64);
        call.registers[code.register as usize] = element;
        if self.program.bodies[code.body].waits_for_streams {
            activity.frames.push(ActivityFrame::Consume(frame));
            let call = activity.call().clone();
            self.spawn(activity, worker as u32, call, ActivityFrame::Scope(code.body, at));
            return Ok(ActivityStep::Yield);
        }
        frame.current = Some(worker);
        activity.frames.push(ActivityFrame::Consume(frame));
        self.enter_body(activity, code.body, at)?;
        Ok(ActivityStep::Continue)
    }

    /// Reason to wait for an activity that found a queue empty, or full.
    pub(super) fn wait_for(
        &self,
        call: &Call,
        end: &EndCode,
        queue: usize,
        to_push: bool,
        site: Site,
    ) -> Result<StreamWait, Box<Trap>> {
        let Some(handle) = access::queues(call, end) else { return Err(self.unbound(end.access)) };
        let name = self.container(end.access);
        Ok(StreamWait { stream: handle.stream_number(), queue, to_push, name, site })
    }
}
