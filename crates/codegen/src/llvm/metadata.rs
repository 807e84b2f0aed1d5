//! Loop metadata: independence of iterations, vectorisation and unrolling.
//!
//! Loop identities and access groups must be *distinct* metadata nodes, which LLVM's C interface cannot
//! create. This module takes them from a small textual module that is parsed into the same context.

use std::fmt::Write;

use inkwell::context::ContextRef;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::values::{InstructionValue, MetadataValue};

use super::emitter::{Emit, Emitter};

/// The property of a loop that names the groups of its independent accesses.
pub(super) const PARALLEL_ACCESSES: &str = "llvm.loop.parallel_accesses";
/// The property of a loop whose body is copied out for every iteration.
pub(super) const UNROLL_FULL: &str = "llvm.loop.unroll.full";

/// Facts about and requests for one loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LoopHints {
    /// No iteration reads or writes what another iteration writes, for all accesses given to
    /// [`LoopHints::attach`].
    pub(super) parallel_accesses: bool,
    /// The body is to be copied out for every iteration.
    pub(super) full_unroll: bool,
    /// One vector at a time: there are few iterations, or several would be in the way of the function that each of them calls, and be kept
    /// in memory.
    pub(super) one_vector: bool,
    /// The loop is not vectorised, whatever LLVM finds out about it.
    pub(super) no_vectors: bool,
    /// The body is not copied out, unless for all iterations, whose number is known then: it is as long as lowering wants it.
    pub(super) no_copies: bool,
}

impl LoopHints {
    /// Writes the hints on `latch`, the branch that ends an iteration, and on `accesses`, the loop's loads and
    /// stores.
    pub(super) fn attach<'ctx>(
        &self,
        emitter: &Emitter<'ctx>,
        latch: InstructionValue<'ctx>,
        accesses: &[InstructionValue<'ctx>],
    ) -> Emit<()> {
        if *self == LoopHints::default() {
            return Ok(());
        }
        self.write(emitter.module.get_context(), latch, accesses).map_err(|error| emitter.defect(error))
    }

    /// As [`Self::attach`], but in place of what `latch` says, and also if there is nothing to say.
    pub(super) fn write<'ctx>(
        &self,
        context: ContextRef<'ctx>,
        latch: InstructionValue<'ctx>,
        accesses: &[InstructionValue<'ctx>],
    ) -> Result<(), String> {
        // A NUL must end the text.
        let text = self.template() + "\0";
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "loop");
        let template = context.create_module_from_ir(buffer).map_err(|error| error.to_string())?;
        let node = |name: &str| -> Result<MetadataValue<'ctx>, String> {
            let found = template.get_global_metadata(name).first().copied();
            found.ok_or_else(|| format!("the template lacks `{name}`"))
        };
        let set = |instruction: InstructionValue<'ctx>, value, kind| {
            instruction.set_metadata(value, context.get_kind_id(kind)).map_err(|error| error.to_string())
        };
        set(latch, node("loop")?, "llvm.loop")?;
        if self.parallel_accesses {
            let group = node("group")?;
            for access in accesses {
                set(*access, group, "llvm.access.group")?;
            }
        }
        Ok(())
    }

    /// A module text with the loop's identity as `!loop` and its access group as `!group`.
    fn template(&self) -> String {
        let mut nodes = String::new();
        let mut operands = String::from("!1");
        let mut next = 2;
        let mut add = |body: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(nodes, "!{next} = !{{{body}}}");
            let _ = write!(operands, ", !{next}");
            next += 1;
        };
        if self.parallel_accesses {
            add(format!("!\"{PARALLEL_ACCESSES}\", !0"));
        }
        if self.full_unroll {
            add(format!("!\"{UNROLL_FULL}\""));
        }
        if self.one_vector {
            add("!\"llvm.loop.interleave.count\", i32 1".to_owned());
        }
        if self.no_copies {
            add("!\"llvm.loop.unroll.runtime.disable\"".to_owned());
        }
        if self.no_vectors {
            add("!\"llvm.loop.vectorize.enable\", i1 false".to_owned());
        }
        format!(
            "!group = !{{!0}}\n!loop = !{{!1}}\n!0 = distinct !{{}}\n!1 = distinct !{{{operands}}}\n{nodes}"
        )
    }
}
