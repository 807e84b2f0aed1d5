//! Vector variants of mathematical functions from glibc's libmvec, which the loop vectoriser substitutes for
//! calls of the C library.
//!
//! Results of libmvec differ from the exact ones by up to 4 units in the last place. Therefore only the mode
//! `fast` uses it. An attribute on the call of the scalar function names the vector variants (x86-64 vector
//! function ABI). The vectoriser selects the variant of its width.

use inkwell::attributes::AttributeLoc;
use inkwell::module::Linkage;
use inkwell::types::BasicType;
use inkwell::values::{BasicValue, CallSiteValue, FunctionValue};
use sdfg::dtype::ScalarType;
use sdfg::ir::FloatMode;

use crate::llvm::emitter::{Emit, Emitter};

/// Functions of libmvec since glibc 2.35, by their names for `double`.
const FUNCTIONS: [&str; 25] = [
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "erf", "erfc", "exp",
    "exp2", "expm1", "hypot", "log", "log10", "log1p", "log2", "pow", "sin", "sinh", "tan", "tanh",
];

/// Instruction sets with the bytes of their vectors: SSE4, AVX2, AVX-512. The vectoriser takes no wider vectors than the processor has.
const INSTRUCTION_SETS: [(char, usize); 3] = [('b', 16), ('d', 32), ('e', 64)];

/// The attribute of a call that names functions of vectors.
const VARIANTS: &str = "vector-function-abi-variant";

/// Bytes of the widest vectors there are.
const STACK_ALIGNMENT: u64 = 64;

impl<'ctx> Emitter<'ctx> {
    /// Says of a call of the C library's function `scalar`, which is `name` for `ty`, which functions of vectors do the same.
    pub(super) fn allow_vectors(
        &self,
        call: CallSiteValue<'ctx>,
        (name, scalar): (&str, &str),
        ty: ScalarType,
        arity: usize,
    ) -> Emit<()> {
        if self.float_mode() != FloatMode::Fast || !FUNCTIONS.contains(&name) || !self.is_x86_64() {
            return Ok(());
        }
        let element = self.float_type(ty)?;
        let mut variants = Vec::with_capacity(INSTRUCTION_SETS.len());
        for (set, bytes) in INSTRUCTION_SETS {
            let lanes = bytes / ty.component().size();
            let variant = format!("_ZGV{set}N{lanes}{}_{scalar}", "v".repeat(arity));
            let vector = element.vec_type(lanes as u32);
            let function = self.declare_pure(&variant, vector.as_basic_type_enum(), arity);
            self.keep_declared(function);
            variants.push(format!("{variant}({variant})"));
        }
        let attribute = self.context.create_string_attribute(VARIANTS, &variants.join(","));
        call.add_attribute(AttributeLoc::Function, attribute);
        self.align_stack_of_caller(call);
        self.vector_calls.set(self.vector_calls.get() + 1);
        Ok(())
    }

    /// The widest function of vectors of at most `bytes`, with its lanes, that does the same as a call.
    pub(in crate::llvm) fn variant_for(
        &self,
        call: CallSiteValue<'ctx>,
        width: u32,
        bytes: u64,
    ) -> Option<(FunctionValue<'ctx>, u32)> {
        let attribute = call.get_string_attribute(AttributeLoc::Function, VARIANTS)?;
        let names = attribute.get_string_value().to_string_lossy().into_owned();
        let fitting = names.split(',').filter_map(|variant| {
            let name = variant.split('(').next()?;
            let (set, rest) = name.strip_prefix("_ZGV")?.split_once('N')?;
            let (_, taken) = INSTRUCTION_SETS.into_iter().find(|(known, _)| set == known.to_string())?;
            let lanes: u32 = rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()?;
            let fits = taken as u64 <= bytes && lanes <= width;
            Some((self.module.get_function(name)?, lanes)).filter(|_| fits)
        });
        fitting.max_by_key(|(_, lanes)| *lanes)
    }

    /// Aligns the stack of the function with a call for whole vectors. No vector register keeps its value over a call, and what is
    /// stored across two cache lines instead takes several times as long to come back.
    fn align_stack_of_caller(&self, call: CallSiteValue<'ctx>) {
        let call = call.try_as_basic_value().basic().and_then(|value| value.as_instruction_value());
        let caller = call.and_then(|call| call.get_parent()).and_then(|block| block.get_parent());
        if let Some(caller) = caller {
            self.attribute(caller, AttributeLoc::Function, "alignstack", STACK_ALIGNMENT);
        }
    }

    /// Writes the list of functions that the optimiser must not forget before it has made use of them.
    pub(in crate::llvm) fn write_kept(&self) {
        let kept = self.kept.borrow();
        if kept.is_empty() {
            return;
        }
        let pointers: Vec<_> =
            kept.values().map(|function| function.as_global_value().as_pointer_value()).collect();
        let list = self.pointer().const_array(&pointers);
        let global = self.module.add_global(list.get_type(), None, "llvm.compiler.used");
        global.set_linkage(Linkage::Appending);
        global.set_section(Some("llvm.metadata"));
        global.set_initializer(&list);
    }
}
