//! Pushes of a tasklet.
//!
//! The consumer of an element may read the tasklet's output values. Therefore a tasklet with output values
//! pushes after it has written them. Until then, each push statement has a buffer of one element; if a loop
//! may repeat the statement, each connector has a local queue. A tasklet without output values pushes
//! immediately.

use std::cell::Cell;

use inkwell::IntPredicate;
use inkwell::values::PointerValue;
use sdfg::tasklet::ConnectorId;

use super::Names;
use crate::llvm::emitter::Emit;
use crate::llvm::function::{Function, Slots};
use crate::llvm::value::Lanes;
use crate::plan::{Binding, Compute, Location};

/// The pushes of a piece of code.
#[derive(Default)]
pub(super) struct Pushes<'ctx> {
    label: String,
    waiting: PendingElements<'ctx>,
}

/// Buffers of elements that wait for the output values.
#[derive(Default)]
enum PendingElements<'ctx> {
    /// They do not.
    #[default]
    Nowhere,
    /// In the place of their push, in the order of the text, of which so many were met.
    InPlaces(Vec<Place<'ctx>>, Cell<usize>),
    /// In a queue of their connector: the slot with the address of each.
    InQueues(Vec<Option<PointerValue<'ctx>>>),
}

/// A push in the text.
struct Place<'ctx> {
    connector: ConnectorId,
    value: Slots<'ctx>,
    is_reached: PointerValue<'ctx>,
}

impl<'ctx> Function<'_, 'ctx> {
    /// Prepares the pushes of a tasklet.
    pub(super) fn begin_pushes(&self, compute: &Compute) -> Emit<Pushes<'ctx>> {
        let mut pushes = Pushes { label: compute.label.clone(), ..Pushes::default() };
        let found = compute.pushes();
        if found.connectors.is_empty() {
            return Ok(pushes);
        }
        let writes = compute.bindings.iter().any(|binding| matches!(binding, Binding::Store { .. }));
        pushes.waiting = match (writes, found.in_loop) {
            (false, _) => PendingElements::Nowhere,
            (true, false) => PendingElements::InPlaces(self.places(compute, found.connectors)?, Cell::new(0)),
            (true, true) => PendingElements::InQueues(self.queues_for(compute)?),
        };
        Ok(pushes)
    }

    fn places(&self, compute: &Compute, connectors: Vec<ConnectorId>) -> Emit<Vec<Place<'ctx>>> {
        let place = |connector: ConnectorId| {
            let description = compute.code.environment.connector_at(connector);
            let (name, description) =
                description.ok_or_else(|| self.emitter.defect("a push has no connector"))?;
            let value = self.element_slots(description.element, name)?;
            self.forget_slots(&value)?;
            let is_reached = self.slot(self.emitter.i1(), name)?;
            self.builder.build_store(is_reached, self.emitter.i1().const_zero())?;
            Ok(Place { connector, value, is_reached })
        };
        connectors.into_iter().map(place).collect()
    }

    fn queues_for(&self, compute: &Compute) -> Emit<Vec<Option<PointerValue<'ctx>>>> {
        let mut slots = Vec::with_capacity(compute.bindings.len());
        for binding in &compute.bindings {
            slots.push(match binding.pushed_queue() {
                None => None,
                Some(queue) => {
                    let slot = self.owned_stream("waiting")?;
                    self.open_queue(queue.buffer, slot)?;
                    Some(slot)
                }
            });
        }
        Ok(slots)
    }

    /// Pushes an element, or has it wait.
    pub(super) fn note_push(
        &self,
        names: &Names<'_, 'ctx>,
        connector: ConnectorId,
        value: &Lanes<'ctx>,
    ) -> Emit<()> {
        names.check(connector.index()).map_or(Ok(()), |check| self.check(check))?;
        match &names.pushes.waiting {
            PendingElements::Nowhere => self.push_to(names, connector, value),
            PendingElements::InPlaces(places, met) => {
                let number = met.replace(met.get() + 1);
                let place = places.get(number).filter(|place| place.connector == connector);
                let place = place.ok_or_else(|| self.emitter.defect("pushes are met out of order"))?;
                self.store_slots(&place.value, value)?;
                self.builder.build_store(place.is_reached, self.emitter.i1().const_int(1, false))?;
                Ok(())
            }
            PendingElements::InQueues(slots) => {
                let Some(Some(slot)) = slots.get(connector.index()) else {
                    return Err(self.emitter.defect(names.unbound(connector)));
                };
                let (queue, first) = (self.load_pointer(*slot)?, self.emitter.constant(0));
                let stream = self.queue_bound(names, connector)?.buffer;
                self.push_value(&names.pushes.label, (stream, queue), first, value)
            }
        }
    }

    /// Pushes what waits.
    pub(super) fn finish_pushes(&self, names: &Names<'_, 'ctx>) -> Emit<()> {
        match &names.pushes.waiting {
            PendingElements::Nowhere => {}
            PendingElements::InPlaces(places, _) => {
                for place in places {
                    let is_reached = self.builder.build_load(self.emitter.i1(), place.is_reached, "")?;
                    let value = self.load_slots(&place.value)?;
                    let queue = self.queue_bound(names, place.connector)?;
                    let label = &names.pushes.label;
                    self.push_element_if(label, queue, &value, is_reached.into_int_value())?;
                }
            }
            PendingElements::InQueues(slots) => {
                for (slot, binding) in slots.iter().zip(names.bindings) {
                    let (Some(slot), Some(queue)) = (slot, binding.pushed_queue()) else { continue };
                    self.push_waiting(names, queue, *slot)?;
                }
            }
        }
        Ok(())
    }

    /// Moves the elements of a connector from where they wait to its queue.
    fn push_waiting(
        &self,
        names: &Names<'_, 'ctx>,
        queue_place: &Location,
        slot: PointerValue<'ctx>,
    ) -> Emit<()> {
        let stream = queue_place.buffer;
        let waiting = self.load_pointer(slot)?;
        let place = self.element_slot(stream)?;
        let (next, take, done) = (self.block("next"), self.block("take"), self.block("done"));
        self.jump(next)?;
        self.enter(next);
        self.begin_loop();
        let taken = self.take_one(waiting, &place)?;
        let some = self.compare(IntPredicate::NE, taken, self.emitter.constant(0))?;
        self.branch(some, take, done)?;
        self.enter(take);
        let value = self.load(&place)?;
        self.push_element(&names.pushes.label, queue_place, &value)?;
        self.jump(next)?;
        self.end_loop();
        self.enter(done);
        self.close_stream(waiting)?;
        self.builder.build_store(slot, self.emitter.pointer().const_null())?;
        Ok(())
    }

    fn queue_bound<'n>(&self, names: &'n Names<'_, 'ctx>, connector: ConnectorId) -> Emit<&'n Location> {
        let queue = names.bindings.get(connector.index()).and_then(Binding::pushed_queue);
        queue.ok_or_else(|| self.emitter.defect(names.unbound(connector)))
    }

    fn push_to(&self, names: &Names<'_, 'ctx>, connector: ConnectorId, value: &Lanes<'ctx>) -> Emit<()> {
        self.push_element(&names.pushes.label, self.queue_bound(names, connector)?, value)
    }
}
