//! Copies between containers, and the ends of queues (`docs/semantics.md`, "Copies", "Streams" and "Ranks").

use super::access::{self, Part};
use super::machine::{Activity, ActivityFrame, ActivityStep, At, Call, Machine};
use super::memory::Handle;
use super::program::{CopyCode, CopySource, CountCode, EndCode, Item, WriteCode};
use super::shadow::Point;
use super::stream_order::Origin;
use super::trap::{Trap, TrapKind};

/// In a copy that may wait for a stream.
#[derive(Debug)]
pub(super) struct CopyFrame<'p> {
    code: &'p CopyCode,
    item: &'p Item,
    at: At,
    from: Part,
    to: Part,
    done: i64,
    /// Number of elements to move; `None` until the source is empty.
    total: Option<i64>,
    /// Elements taken and not yet put.
    element: Option<Vec<u8>>,
}

impl CopyFrame<'_> {
    /// Its point.
    pub(super) fn at(&self) -> At {
        self.at
    }
}

impl<'p> Machine<'p> {
    /// The queue of an end for the element of this number: the one there is, or one after the other, again and again.
    pub(super) fn queue(&self, call: &Call, end: &EndCode, number: i64) -> Result<usize, Box<Trap>> {
        if end.subset.ranges.iter().all(|range| range.rest.is_none()) {
            let position = self.locate(call, end)?;
            return usize::try_from(position).map_err(|_| self.unbound(end.access));
        }
        let mut part = Part::default();
        self.part(call, end, &mut part)?;
        self.queue_of(call, end, &part, number)
    }

    /// A single rank reaches the streams of all ranks by copies only.
    fn check_rank(&self, call: &Call, end: &EndCode, handle: &Handle) -> Result<(), Box<Trap>> {
        if call.rank.is_none() || end.is_copy || !self.store.is_shared(handle) {
            return Ok(());
        }
        let container = self.container(end.access);
        let kind = TrapKind::RemoteElement { container, index: Vec::new(), by: call.rank, owner: None };
        Err(self.trap(kind, self.site(end.access)))
    }

    /// Takes the oldest element of a queue, and tells where it was pushed; `None` if there is none.
    pub(super) fn pop(
        &mut self,
        call: &Call,
        end: &EndCode,
        queue: usize,
        element: &mut Vec<u8>,
    ) -> Result<Option<Origin>, Box<Trap>> {
        let Some(handle) = access::queues(call, end) else { return Err(self.unbound(end.access)) };
        self.check_rank(call, end, handle)?;
        let taken = self.store.pop(handle, queue, element).map_err(|_| self.unbound(end.access))?;
        if taken.is_some() {
            self.counts.moved[end.access.0 as usize] += 1;
            self.changed(handle.stream_number());
        }
        Ok(taken)
    }

    /// Adds an element to a queue; false if there is no room.
    pub(super) fn push(
        &mut self,
        call: &Call,
        end: &EndCode,
        queue: usize,
        element: &[u8],
        origin: Origin,
    ) -> Result<bool, Box<Trap>> {
        let Some(handle) = access::queues(call, end) else { return Err(self.unbound(end.access)) };
        self.check_rank(call, end, handle)?;
        let origin = self.notes_origins.then_some(origin);
        if !self.store.push(handle, queue, element, origin).map_err(|_| self.unbound(end.access))? {
            return Ok(false);
        }
        self.check_memory(self.site(end.access))?;
        self.counts.moved[end.access.0 as usize] += 1;
        self.changed(handle.stream_number());
        Ok(true)
    }

    /// Runs a copy that never waits.
    pub(super) fn run_copy(
        &mut self,
        call: &mut Call,
        item: &'p Item,
        code: &'p CopyCode,
        at: At,
    ) -> Result<(), Box<Trap>> {
        if let (CopySource::Elements(from), false) = (&code.from, code.to_queue) {
            return self.copy_elements(call, from, code, at);
        }
        let mut frame = self.copy_frame(call, item, code, at)?;
        while self.move_one(call, &mut frame)?.is_some_and(|waits| !waits) {}
        Ok(())
    }

    /// Reads all elements, then writes them, so that the parts may overlap.
    fn copy_elements(
        &mut self,
        call: &Call,
        from: &EndCode,
        code: &CopyCode,
        at: At,
    ) -> Result<(), Box<Trap>> {
        let (mut source, mut target) = (Part::default(), Part::default());
        self.passes(from);
        self.passes(&code.to.end);
        self.part(call, from, &mut source)?;
        self.part(call, &code.to.end, &mut target)?;
        let (found, expected) = (source.len(), target.len());
        if found != expected {
            return Err(self.trap(TrapKind::SizeMismatch { expected, found }, self.site(from.access)));
        }
        let (mut bytes, mut index) = (Vec::new(), Vec::new());
        for k in 0..found {
            source.index(k, &mut index);
            let position = self.position(call, from, &index)?;
            if self.options.ranks > 1 {
                let mut to = Vec::new();
                target.index(k, &mut to);
                let to = self.position(call, &code.to.end, &to)?;
                self.count_received(call, (from, position), (&code.to, to));
            }
            bytes.extend_from_slice(self.read(call, from, position, at)?);
        }
        let size = bytes.len() / usize::try_from(found).unwrap_or(1).max(1);
        for (k, element) in bytes.chunks_exact(size.max(1)).enumerate() {
            target.index(k as i64, &mut index);
            let position = self.position(call, &code.to.end, &index)?;
            self.write(call, &code.to, position, at, element)?;
        }
        Ok(())
    }

    /// Counts the bytes that ranks receive as one element is copied: those that hold the target and lack the source.
    fn count_received(&mut self, call: &Call, from: (&EndCode, i64), to: (&WriteCode, i64)) {
        let elements = (access::elements(call, from.0), access::elements(call, &to.0.end));
        let (Some(source), Some(target)) = elements else { return };
        let places = (usize::try_from(from.1), usize::try_from(to.1));
        let (Ok(source_place), Ok(target_place)) = places else { return };
        let bytes = self.program.accesses[from.0.access.0 as usize].size;
        let (source, target) = (self.store.placement(source), self.store.placement(target));
        self.counts.received.resize(self.options.ranks as usize, (0, 0));
        for (rank, (copied, combined)) in (0..).zip(&mut self.counts.received) {
            if target.is_on(target_place, rank) && !source.supplies(source_place, rank) {
                *(if to.0.resolution.is_some() { combined } else { copied }) += bytes;
            }
        }
    }

    fn copy_frame(
        &mut self,
        call: &Call,
        item: &'p Item,
        code: &'p CopyCode,
        at: At,
    ) -> Result<CopyFrame<'p>, Box<Trap>> {
        let (mut from, mut to) = (Part::default(), Part::default());
        self.passes(&code.to.end);
        if let CopySource::Elements(end) | CopySource::Queue(end) = &code.from {
            self.passes(end);
        }
        self.part(call, &code.to.end, &mut to)?;
        let total = match &code.from {
            CopySource::Elements(end) => {
                self.part(call, end, &mut from)?;
                Some(from.len())
            }
            CopySource::Queue(end) => {
                self.part(call, end, &mut from)?;
                let index_trap = |error| self.index_trap(call, &error, self.site(end.access));
                match &code.count {
                    CountCode::Exact(count) => Some(count.eval(&call.symbols).map_err(index_trap)?),
                    CountCode::AtMost(bound) => Some(bound.eval(&call.symbols).map_err(index_trap)?),
                    CountCode::Any => None,
                }
            }
            CopySource::Register(_) => Some(1),
        };
        let is_exact = matches!(code.count, CountCode::Exact(_));
        if let (Some(found), true, false) = (total, is_exact, code.to_queue)
            && found != to.len()
        {
            let kind = TrapKind::SizeMismatch { expected: to.len(), found };
            return Err(self.trap(kind, self.site(code.to.end.access)));
        }
        Ok(CopyFrame { code, item, at, from, to, done: 0, total, element: None })
    }

    pub(super) fn enter_copy(
        &mut self,
        activity: &mut Activity<'p>,
        item: &'p Item,
        code: &'p CopyCode,
        at: At,
    ) -> Result<(), Box<Trap>> {
        let frame = self.copy_frame(activity.call(), item, code, at)?;
        activity.frames.push(ActivityFrame::Copy(Box::new(frame)));
        Ok(())
    }

    pub(super) fn step_copy(&mut self, activity: &mut Activity<'p>) -> Result<ActivityStep, Box<Trap>> {
        let Some(ActivityFrame::Copy(mut frame)) = activity.frames.pop() else {
            return Ok(ActivityStep::Continue);
        };
        loop {
            match self.move_one(activity.call(), &mut frame)? {
                None => return Ok(ActivityStep::Continue),
                Some(false) => {}
                Some(true) => break,
            }
        }
        let call = activity.call();
        let to_push = frame.element.is_some();
        let (end, part) = match (&frame.code.from, to_push) {
            (CopySource::Queue(end), false) => (end, &frame.from),
            (CopySource::Queue(_) | CopySource::Elements(_) | CopySource::Register(_), _) => {
                (&frame.code.to.end, &frame.to)
            }
        };
        let queue = self.queue_of(call, end, part, frame.done)?;
        let site = self.site(end.access).clone();
        let wait = self.wait_for(call, end, queue, to_push, site)?;
        activity.frames.push(ActivityFrame::Copy(frame));
        Ok(ActivityStep::AwaitStream(wait))
    }

    /// The queue for the next element: the one there is, or one for each element in turn.
    fn queue_of(&self, call: &Call, end: &EndCode, part: &Part, done: i64) -> Result<usize, Box<Trap>> {
        let mut index = Vec::new();
        part.index(done, &mut index);
        let position = self.position(call, end, &index)?;
        usize::try_from(position).map_err(|_| self.unbound(end.access))
    }

    /// Moves one element. `None` when the copy is done, otherwise whether it has to wait.
    fn move_one(&mut self, call: &mut Call, frame: &mut CopyFrame<'p>) -> Result<Option<bool>, Box<Trap>> {
        let code = frame.code;
        if frame.total.is_some_and(|total| frame.done >= total) {
            return Ok(None);
        }
        let mut index = Vec::new();
        if frame.element.is_none() {
            let mut element = Vec::new();
            match &code.from {
                CopySource::Elements(end) => {
                    frame.from.index(frame.done, &mut index);
                    let position = self.position(call, end, &index)?;
                    element.extend_from_slice(self.read(call, end, position, frame.at)?);
                }
                CopySource::Register(register) => element.clone_from(&call.registers[*register as usize]),
                CopySource::Queue(end) => {
                    let queue = self.queue_of(call, end, &frame.from, frame.done)?;
                    if self.pop(call, end, queue, &mut element)?.is_none() {
                        let waits = matches!(code.count, CountCode::Exact(_));
                        return Ok(waits.then_some(true));
                    }
                }
            }
            frame.element = Some(element);
        }
        let Some(element) = &frame.element else { return Ok(None) };
        if code.to_queue {
            let queue = self.queue_of(call, &code.to.end, &frame.to, frame.done)?;
            let At { instance, position } = frame.at;
            let point = Point { instance, position, item: frame.item.number };
            // What the copy still has to read is not ordered before what it pushes now.
            let origin = Origin { point, after_own: false };
            if !self.push(call, &code.to.end, queue, element, origin)? {
                return Ok(Some(true));
            }
        } else {
            if frame.done >= frame.to.len() {
                let (expected, found) = (frame.to.len(), frame.done + 1);
                let site = &self.program.items[frame.item.number as usize].site;
                return Err(self.trap(TrapKind::SizeMismatch { expected, found }, site));
            }
            frame.to.index(frame.done, &mut index);
            let position = self.position(call, &code.to.end, &index)?;
            self.write(call, &code.to, position, frame.at, element)?;
        }
        frame.element = None;
        frame.done += 1;
        Ok(Some(false))
    }
}
