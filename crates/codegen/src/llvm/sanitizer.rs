//! Instrumentation for sanitizers, and annotations of memory that AddressSanitizer did not allocate.
//!
//! The module is separate because it does not belong to the meaning of any program. Without a sanitizer it
//! emits nothing.

use inkwell::attributes::AttributeLoc;
use inkwell::values::{FunctionValue, IntValue, PointerValue};

use super::emitter::{Emit, Emitter};
use super::function::Function;
use super::options::Sanitizer;

/// Bytes without meaning between neighbours in the arena.
const RED_ZONE: i64 = 64;

/// LLVM's passes for a sanitizer, after all others. ThreadSanitizer looks at accesses of 16 bytes at most: those before must
/// not vectorise for it.
pub(super) const fn passes(sanitizer: Sanitizer) -> &'static str {
    match sanitizer {
        Sanitizer::Address => "asan",
        Sanitizer::Thread => "tsan-module,function(tsan)",
    }
}

impl<'ctx> Emitter<'ctx> {
    /// Whether the code is for AddressSanitizer.
    pub(super) fn for_address_sanitizer(&self) -> bool {
        self.options.sanitizer == Some(Sanitizer::Address)
    }

    /// Has a function of this module instrumented, if anything is.
    pub(super) fn mark_instrumented(&self, function: FunctionValue<'ctx>) {
        let name = match self.options.sanitizer {
            None => return,
            Some(Sanitizer::Address) => "sanitize_address",
            Some(Sanitizer::Thread) => "sanitize_thread",
        };
        self.attribute(function, AttributeLoc::Function, name, 0);
    }

    /// Bytes that nothing may access between neighbours in the arena.
    pub(super) fn red_zone(&self) -> i64 {
        if self.for_address_sanitizer() { RED_ZONE } else { 0 }
    }
}

impl<'ctx> Function<'_, 'ctx> {
    /// Tells AddressSanitizer that of so many bytes, some may be accessed or none; nothing without it.
    pub(super) fn tell_accessible(
        &self,
        address: PointerValue<'ctx>,
        bytes: IntValue<'ctx>,
        accessible: bool,
    ) -> Emit<()> {
        if !self.emitter.for_address_sanitizer() {
            return Ok(());
        }
        let name = if accessible { "__asan_unpoison_memory_region" } else { "__asan_poison_memory_region" };
        let parameters = [self.emitter.pointer().into(), self.emitter.i64().into()];
        let tell = self.emitter.declare(name, None, &parameters);
        self.perform(tell, &[address.into(), bytes.into()])
    }
}
