//! Several versions of a program's statements in one object, one for each requested level of x86-64.
//!
//! Exported functions and other surrounding code exist once, for any x86-64 processor. `NAME_create` asks the
//! runtime for the best version that the processor supports and stores it in the handle. `NAME_run` calls
//! that version. All versions are functions of one module, so the object is linked, loaded and cached like
//! any other.

use inkwell::IntPredicate;
use inkwell::values::{BasicMetadataValueEnum, FunctionValue, IntValue};

use super::emitter::{Emit, Emitter};
use super::function::Function;
use super::level::Level;
use super::options::Cpu;

/// A function with what it is called with.
pub(super) type Called<'ctx> = (FunctionValue<'ctx>, Vec<BasicMetadataValueEnum<'ctx>>);

impl<'ctx> Emitter<'ctx> {
    /// The versions of the program's statements, ascending; none if there is one alone, for the processor.
    pub(super) fn versions(&self) -> &'ctx [Level] {
        match &self.options.cpu {
            Cpu::Host | Cpu::Named { .. } => &[],
            Cpu::Levels(levels) => levels,
        }
    }

    /// Target of subsequent functions: a level, or by default the processor of the module.
    ///
    /// Functions that several versions call are written once, for the first that does. So versions are written in ascending order.
    pub(super) fn write_for(&self, level: Option<Level>) {
        self.level.set(level);
    }

    /// Whether the module calls the runtime to know the processor.
    pub(super) fn asks_for_processor(&self) -> bool {
        !self.versions().is_empty()
    }
}

impl<'ctx> Function<'_, 'ctx> {
    /// The number of the best version that the processor has; below zero if it has none.
    pub(super) fn best_version(&self) -> Emit<IntValue<'ctx>> {
        let (emitter, i32) = (self.emitter, self.emitter.i32());
        let levels: Vec<_> =
            emitter.versions().iter().map(|level| i32.const_int(level.number(), false)).collect();
        let table = emitter.constant_table("levels", &i32.const_array(&levels));
        let parameters = [emitter.pointer().into(), emitter.i64().into()];
        let ask = emitter.declare("sdfg_processor_version", Some(i32.into()), &parameters);
        let count = emitter.constant(levels.len() as i64);
        Ok(self.call(ask, &[table.into(), count.into()])?.into_int_value())
    }

    /// Calls the version of a function that the handle names, with what `write` makes of each: the function and its arguments.
    pub(super) fn call_version(&self, write: impl Fn(&str) -> Emit<Called<'ctx>>) -> Emit<()> {
        let emitter = self.emitter;
        let call = |suffix: &str| -> Emit<()> {
            let (function, arguments) = write(suffix)?;
            let status = self.call(function, &arguments)?;
            self.builder.build_store(self.status, status)?;
            Ok(())
        };
        if emitter.versions().is_empty() {
            return call("");
        }
        let chosen =
            self.builder.build_load(emitter.i32(), self.version_field()?, "version")?.into_int_value();
        for (number, level) in emitter.versions().iter().enumerate() {
            let is_chosen =
                self.compare(IntPredicate::EQ, chosen, emitter.i32().const_int(number as u64, false))?;
            self.when(is_chosen, || {
                emitter.write_for(Some(*level));
                let called = call(&format!(".{level}"));
                emitter.write_for(None);
                called
            })?;
        }
        Ok(())
    }
}
