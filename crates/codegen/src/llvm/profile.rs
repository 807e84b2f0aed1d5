//! Timers: calls of the runtime around timed regions.
//!
//! A timer is a record in the stack frame of the function that runs the region. A jump out of the region
//! stops the timer on its way. A failure jumps to the end of the function, which stops the timer there. The
//! declarations match `crates/runtime/src/c/profile.h`.

use std::cell::RefCell;
use std::collections::BTreeMap;

use inkwell::types::BasicMetadataTypeEnum;
use inkwell::values::{BasicValueEnum, PointerValue};

use super::emitter::{Emit, Emitter};
use super::function::{Function, Returns};
use crate::interface::{EntryPoint, Interface};
use crate::plan::{JumpTarget, Profile, TimerId, TimerKind};

/// Words of `sdfg_timer`.
const TIMER_WORDS: u32 = 6;

/// The timers of a function that is being written.
#[derive(Debug, Default)]
pub(super) struct Timers<'ctx> {
    /// One for each depth of regions in regions; not running at the start of the function.
    slots: RefCell<Vec<PointerValue<'ctx>>>,
    /// Number of running timers at the current position.
    running: RefCell<usize>,
    /// Number of running timers at the target of a jump.
    at_target: RefCell<BTreeMap<JumpTarget, usize>>,
}

impl Timers<'_> {
    /// Notes that jumps of a name go to the place that is being written.
    pub(super) fn note_target(&self, target: JumpTarget) {
        self.at_target.borrow_mut().insert(target, *self.running.borrow());
    }
}

impl<'ctx> Function<'_, 'ctx> {
    /// Takes the time of what `body` writes.
    pub(super) fn timed(&self, timer: TimerId, body: impl FnOnce() -> Emit<()>) -> Emit<()> {
        let depth = *self.timers.running.borrow();
        let number = self.emitter.constant(timer.index() as i64);
        let timer = self.timer_slot(depth)?;
        let pointer = self.emitter.pointer().into();
        let begin =
            self.emitter.declare("sdfg_timer_begin", None, &[pointer, pointer, self.emitter.i64().into()]);
        self.perform(begin, &[self.load_profile()?.into(), timer.into(), number.into()])?;
        self.timers.running.replace(depth + 1);
        body()?;
        self.timers.running.replace(depth);
        self.stop_timer(timer)
    }

    /// Stops the timers that a jump of this name leaves.
    pub(super) fn stop_timers_inside(&self, target: JumpTarget) -> Emit<()> {
        let running = *self.timers.running.borrow();
        let at_target = self.timers.at_target.borrow().get(&target).copied().unwrap_or(running);
        (at_target..running).rev().try_for_each(|depth| self.stop_timer(self.timer_slot(depth)?))
    }

    /// At the end of the function, stops the timers that failures left running.
    pub(super) fn stop_all_timers(&self) -> Emit<()> {
        let slots = self.timers.slots.borrow().clone();
        slots.into_iter().rev().try_for_each(|timer| self.stop_timer(timer))
    }

    fn timer_slot(&self, depth: usize) -> Emit<PointerValue<'ctx>> {
        if let Some(slot) = self.timers.slots.borrow().get(depth) {
            return Ok(*slot);
        }
        let slot = self.zeroed_slot(self.emitter.i64().array_type(TIMER_WORDS), "timer")?;
        self.timers.slots.borrow_mut().push(slot);
        Ok(slot)
    }

    /// Stops a timer; one that does not run stays as it is.
    fn stop_timer(&self, timer: PointerValue<'ctx>) -> Emit<()> {
        let pointer = self.emitter.pointer().into();
        let end = self.emitter.declare("sdfg_timer_end", None, &[pointer, pointer, pointer]);
        self.perform(end, &[self.load_profile()?.into(), timer.into(), self.task.get().into()])
    }

    /// Record of the measurements in the handle.
    fn load_profile(&self) -> Emit<PointerValue<'ctx>> {
        self.load_pointer(self.profile_field()?)
    }

    /// Gives a new handle what it keeps measurements in. Without memory for that, nothing is measured.
    pub(super) fn open_profile(&self, profile: &Profile) -> Emit<()> {
        let (emitter, pointer) = (self.emitter, self.emitter.pointer());
        let parameters = [pointer.into(), emitter.i64().into(), emitter.i32().into()];
        let open = emitter.declare("sdfg_profile_open", Some(pointer.into()), &parameters);
        let number = emitter.constant(profile.timers.len() as i64);
        let counters = emitter.i32().const_int(u64::from(profile.counters), false);
        let regions = emitter.region_table(profile);
        let opened = self.call(open, &[regions.into(), number.into(), counters.into()])?;
        self.builder.build_store(self.profile_field()?, opened)?;
        Ok(())
    }

    /// Frees what a handle keeps measurements in.
    pub(super) fn close_profile(&self) -> Emit<()> {
        let close = self.emitter.declare("sdfg_profile_close", None, &[self.emitter.pointer().into()]);
        self.perform(close, &[self.load_profile()?.into()])
    }
}

impl<'ctx> Emitter<'ctx> {
    /// The program's timers, as an array of `sdfg_region`.
    fn region_table(&self, profile: &Profile) -> PointerValue<'ctx> {
        let kind_text = |kind: TimerKind| self.text(kind.noun());
        let entries: Vec<_> = profile
            .timers
            .iter()
            .map(|timer| {
                let fields = [self.text(&timer.path).into(), kind_text(timer.kind).into()];
                self.context.const_struct(&fields, false)
            })
            .collect();
        let ty = self.context.struct_type(&[self.pointer().into(), self.pointer().into()], false);
        self.constant_table("regions", &ty.const_array(&entries))
    }

    /// `NAME_profile(handle, format)`.
    pub(super) fn profile_function(&self, interface: &Interface) -> Emit<()> {
        let (pointer, i32) = (self.pointer(), self.i32());
        let parameters: [BasicMetadataTypeEnum<'ctx>; 2] = [pointer.into(), i32.into()];
        let value = self.exported(interface, EntryPoint::Profile, Some(pointer.into()), &parameters);
        let f = Function::new(self, value, pointer.const_null())?;
        f.handle.set(f.parameter(0)?.into_pointer_value());
        let text = f.slot(pointer, "text")?;
        f.builder.build_store(text, BasicValueEnum::from(pointer.const_null()))?;
        let given = f.builder.build_is_not_null(f.handle.get(), "")?;
        f.when(given, || {
            let write = self.declare("sdfg_profile_text", Some(pointer.into()), &parameters);
            let written = f.call(write, &[f.load_profile()?.into(), f.parameter(1)?.into()])?;
            f.builder.build_store(text, written)?;
            Ok(())
        })?;
        f.finish(Returns::Slot(text, pointer.into()))
    }
}
