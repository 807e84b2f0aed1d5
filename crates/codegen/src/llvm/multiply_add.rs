//! Fused multiply-adds at the quick level.
//!
//! At the other levels, instruction selection forms fused operations. Instruction selection of the quick
//! level considers one instruction at a time. Therefore this pass writes the fused operations out beforehand,
//! where the program allows contraction.

use inkwell::intrinsics::Intrinsic;
use inkwell::module::Module;
use inkwell::values::{BasicValue, BasicValueEnum, FastMathFlags, InstructionOpcode, InstructionValue};

use super::error::LlvmError;

/// Makes `llvm.fmuladd` of every sum with a product of its block that nothing else uses, where both may be contracted. It is one instruction on
/// processors that have it, and two on others.
pub(super) fn form_multiply_adds(module: &Module<'_>) -> Result<(), LlvmError> {
    for function in module.get_functions() {
        for block in function.get_basic_blocks() {
            let mut next = block.get_first_instruction();
            while let Some(sum) = next {
                // It is gone if it was fused; products come before it.
                next = sum.get_next_instruction();
                if is_contracted(sum, InstructionOpcode::FAdd) {
                    fuse(module, sum)?;
                }
            }
        }
    }
    Ok(())
}

/// Replaces a sum with a product.
fn fuse<'ctx>(module: &Module<'ctx>, sum: InstructionValue<'ctx>) -> Result<(), LlvmError> {
    let operand = |number| sum.get_operand(number).and_then(|operand| operand.value());
    let (Some(left), Some(right)) = (operand(0), operand(1)) else { return Ok(()) };
    let Some((product, addend)) = [(left, right), (right, left)]
        .into_iter()
        .find_map(|(value, other)| Some((sole_product(value, sum)?, other)))
    else {
        return Ok(());
    };
    let factor = |number| product.get_operand(number).and_then(|operand| operand.value());
    let (Some(a), Some(b)) = (factor(0), factor(1)) else { return Ok(()) };
    let Some(function) = Intrinsic::find("llvm.fmuladd")
        .and_then(|intrinsic| intrinsic.get_declaration(module, &[addend.get_type()]))
    else {
        return Ok(());
    };
    let builder = module.get_context().create_builder();
    builder.position_before(&sum);
    let call = builder.build_call(function, &[a.into(), b.into(), addend.into()], "")?;
    let Some(fused) = call.try_as_basic_value().basic().and_then(|value| value.as_instruction_value()) else {
        return Ok(());
    };
    if let Ok(flags) = sum.get_fast_math_flags() {
        // A call of a function of numbers takes them.
        let _ = fused.set_fast_math_flags(flags);
    }
    sum.replace_all_uses_with(&fused);
    sum.erase_from_basic_block();
    product.erase_from_basic_block();
    Ok(())
}

/// The product of the block of `sum` that a value is, if it may be contracted and is used once.
fn sole_product<'ctx>(
    value: BasicValueEnum<'ctx>,
    sum: InstructionValue<'ctx>,
) -> Option<InstructionValue<'ctx>> {
    let product = value.as_instruction_value()?;
    let is_sole = product.get_first_use().is_some_and(|first| first.get_next_use().is_none());
    let is_here = product.get_parent() == sum.get_parent();
    (is_sole && is_here && is_contracted(product, InstructionOpcode::FMul)).then_some(product)
}

fn is_contracted(instruction: InstructionValue<'_>, opcode: InstructionOpcode) -> bool {
    instruction.get_opcode() == opcode
        && instruction.get_fast_math_flags().is_ok_and(|flags| flags.contains(FastMathFlags::AllowContract))
}
