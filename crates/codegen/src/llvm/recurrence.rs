//! Sums and products of which a term comes from the previous iteration.
//!
//! An iteration that needs a result of the previous one cannot begin before that result is there. If the result
//! is the first term of a long sum, each iteration waits for all additions of the sum. If it is the last one, it waits for one
//! addition, and the processor computes the other terms ahead. `A[i] = (A[i - 1] + A[i] + A[i + 1]) / 3` becomes
//! `A[i - 1] * third + (A[i] + A[i + 1]) * third`, one fused multiply-add behind the previous iteration.
//!
//! LLVM orders operands by where they are computed, and knows nothing of iterations. Therefore this pass runs behind the
//! passes that pass stored values from one iteration to the next in registers. The last operation loses
//! the permission to be reordered, so that later passes keep it.
//!
//! Only operations that may be reordered, and whose zeros have no sign that matters, take part: those of the relaxed
//! floating-point mode. Only loops take part in which additions wait for each other: the length of the chain, in
//! cycles, exceeds the cycles that the processor takes to issue the operations.

use std::collections::BTreeMap;

use inkwell::builder::Builder;
use inkwell::intrinsics::Intrinsic;
use inkwell::module::Module;
use inkwell::values::{
    AnyValueEnum, AsValueRef, BasicValue, BasicValueEnum, FastMathFlags, FloatMathValue, FunctionValue,
    InstructionOpcode, InstructionValue, PhiValue,
};

use super::body::{Body, Loop, operand};
use super::error::LlvmError;

/// Cycles from the operands of an addition or multiplication to its result, and operations that begin in one cycle: those of
/// most processors.
const LATENCY: usize = 4;
const PER_CYCLE: usize = 2;

/// Adds and multiplies what the previous iteration computed last. Returns the number of sums and products that changed.
pub(super) fn shorten_recurrences(module: &Module<'_>) -> Result<usize, LlvmError> {
    let mut changed = 0;
    for function in module.get_functions().filter(|function| has_relaxed_sums(*function)) {
        let body = Body::new(function);
        for each in body.innermost_loops() {
            // Each change makes other operands the last ones of an operation that keeps its place from then on.
            while let Some(found) = Iteration::of(&body, &each).improvement() {
                found.apply(module)?;
                changed += 1;
            }
        }
    }
    Ok(changed)
}

/// Whether a module has sums or products that this pass may reorder.
pub(super) fn has_relaxed(module: &Module<'_>) -> bool {
    module.get_functions().any(has_relaxed_sums)
}

fn has_relaxed_sums(function: FunctionValue<'_>) -> bool {
    function.get_basic_block_iter().any(|block| block.get_instructions().any(|each| kind(each).is_some()))
}

/// An operation whose operands may be taken in any order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Sum,
    Product,
}

/// The kind of an operation that may be reordered.
fn kind(instruction: InstructionValue<'_>) -> Option<Kind> {
    let kind = match instruction.get_opcode() {
        InstructionOpcode::FAdd | InstructionOpcode::FSub => Kind::Sum,
        InstructionOpcode::FMul => Kind::Product,
        _ => return None,
    };
    let needed = FastMathFlags::AllowReassoc | FastMathFlags::NoSignedZeros;
    instruction.get_fast_math_flags().is_ok_and(|flags| flags.contains(needed)).then_some(kind)
}

/// Whether an instruction takes the time of floating-point arithmetic.
fn is_arithmetic(instruction: InstructionValue<'_>) -> bool {
    matches!(
        instruction.get_opcode(),
        InstructionOpcode::FAdd
            | InstructionOpcode::FSub
            | InstructionOpcode::FMul
            | InstructionOpcode::FDiv
            | InstructionOpcode::Call
    )
}

/// The instructions of a loop without loops inside, numbered.
struct Iteration<'ctx> {
    instructions: Vec<InstructionValue<'ctx>>,
    numbers: BTreeMap<usize, usize>,
    /// The instructions of the same iteration whose results each instruction uses.
    operands: Vec<Vec<usize>>,
    /// The phi of a number of the previous iteration, and the instruction that computes it for the next one.
    recurrences: Vec<(usize, usize)>,
    n_arithmetic: usize,
}

/// An operand of a sum or product.
#[derive(Clone, Copy)]
struct Term<'ctx> {
    value: BasicValueEnum<'ctx>,
    is_subtracted: bool,
    /// Operations between the previous iteration's value and it, if it depends on that.
    depth: Option<usize>,
}

/// A sum or product in a better order.
struct Reordering<'ctx> {
    kind: Kind,
    root: InstructionValue<'ctx>,
    /// The operations that compute parts of it.
    parts: Vec<InstructionValue<'ctx>>,
    /// Those that do not depend on the previous iteration, in their old order.
    early: Vec<Term<'ctx>>,
    /// The others: those that are computed last are added last.
    late: Vec<Term<'ctx>>,
    scale: Option<Scale<'ctx>>,
}

/// The multiplication of a sum, which moves to its terms.
#[derive(Clone, Copy)]
struct Scale<'ctx> {
    product: InstructionValue<'ctx>,
    factor: BasicValueEnum<'ctx>,
}

impl<'ctx> Iteration<'ctx> {
    fn of(body: &Body<'ctx>, each: &Loop) -> Self {
        let instructions: Vec<_> =
            each.blocks.iter().flat_map(|block| body.blocks[*block].get_instructions()).collect();
        let numbers: BTreeMap<usize, usize> =
            instructions.iter().enumerate().map(|(number, each)| (key(*each), number)).collect();
        let header = each.headers.first().map(|header| body.blocks[*header]);
        let (mut operands, mut recurrences) = (Vec::new(), Vec::new());
        for (number, instruction) in instructions.iter().enumerate() {
            let is_first = each.headers.len() == 1 && instruction.get_parent() == header;
            let phi = PhiValue::try_from(*instruction).ok().filter(|_| is_first);
            if let Some(phi) = phi {
                operands.push(Vec::new());
                let inside = phi.get_incomings().filter_map(|(value, _)| value.as_instruction_value());
                let mut inside = inside.filter_map(|value| numbers.get(&key(value)));
                let is_number = matches!(
                    phi.as_basic_value(),
                    BasicValueEnum::FloatValue(_) | BasicValueEnum::VectorValue(_)
                );
                if let (Some(next), None, true) = (inside.next(), inside.next(), is_number) {
                    recurrences.push((number, *next));
                }
                continue;
            }
            let values = instruction.get_operands().flatten().filter_map(|operand| operand.value());
            let inside = values.filter_map(|value| numbers.get(&key(value.as_instruction_value()?)).copied());
            operands.push(inside.collect());
        }
        let n_arithmetic = instructions.iter().filter(|each| is_arithmetic(**each)).count();
        Iteration { instructions, numbers, operands, recurrences, n_arithmetic }
    }

    /// A sum or product whose order makes the next iteration wait longer than it has to.
    fn improvement(&self) -> Option<Reordering<'ctx>> {
        self.recurrences.iter().find_map(|(from, to)| {
            let depths = self.depths(*from);
            let latency = depths[*to]? * LATENCY;
            if latency * PER_CYCLE <= self.n_arithmetic {
                return None;
            }
            let leads = self.leading_to(*to);
            let on_the_way = (0..leads.len()).filter(|number| leads[*number] && depths[*number].is_some());
            on_the_way.into_iter().find_map(|number| self.reordering(self.instructions[number], &depths))
        })
    }

    /// For each instruction that depends on `from`: the operations from there to its result, on the longest way.
    fn depths(&self, from: usize) -> Vec<Option<usize>> {
        let mut depths = vec![None; self.instructions.len()];
        depths[from] = Some(0);
        // Instructions mostly stand behind their operands, so that the second turn finds nothing new.
        let mut is_changed = true;
        while is_changed {
            is_changed = false;
            for (number, operands) in self.operands.iter().enumerate() {
                let before = operands.iter().filter_map(|operand| depths[*operand]).max();
                let own = usize::from(is_arithmetic(self.instructions[number]));
                if let Some(depth) = before.map(|before| before + own)
                    && depths[number] != Some(depth)
                {
                    depths[number] = Some(depth);
                    is_changed = true;
                }
            }
        }
        depths
    }

    /// The instructions that `to` depends on, and itself.
    fn leading_to(&self, to: usize) -> Vec<bool> {
        let (mut leads, mut waiting) = (vec![false; self.instructions.len()], vec![to]);
        while let Some(number) = waiting.pop() {
            if !std::mem::replace(&mut leads[number], true) {
                waiting.extend(&self.operands[number]);
            }
        }
        leads
    }

    /// A better order of the sum or product that ends at `root`.
    fn reordering(&self, root: InstructionValue<'ctx>, depths: &[Option<usize>]) -> Option<Reordering<'ctx>> {
        let kind = kind(root)?;
        if sole_user(root).is_some_and(|user| self::kind(user) == Some(kind)) {
            return None;
        }
        let (terms, parts) = self.terms(root, kind, depths);
        let (mut late, early): (Vec<_>, Vec<_>) = terms.into_iter().partition(|term| term.depth.is_some());
        late.sort_by_key(|term| term.depth);
        let depth = |value: InstructionValue<'ctx>| depths[*self.numbers.get(&key(value))?];
        let after = late.iter().rev().zip(1..).filter_map(|(term, steps)| Some(term.depth? + steps)).max()?;
        let scale = self.scale(root, depths).filter(|_| kind == Kind::Sum && late.len() == 1);
        let is_better = match scale {
            Some(scale) => depth(scale.product)? > after,
            None => depth(root)? > after,
        };
        (is_better && !early.is_empty()).then_some(Reordering { kind, root, parts, early, late, scale })
    }

    /// The operands of a sum or product, and the operations below `root` that it consists of.
    fn terms(
        &self,
        root: InstructionValue<'ctx>,
        kind: Kind,
        depths: &[Option<usize>],
    ) -> (Vec<Term<'ctx>>, Vec<InstructionValue<'ctx>>) {
        let (mut terms, mut parts) = (Vec::new(), Vec::new());
        let mut waiting = vec![(root, false)];
        while let Some((operation, is_subtracted)) = waiting.pop() {
            for side in 0..2 {
                let Some(value) = operand(operation, side) else { continue };
                let flips = side == 1 && operation.get_opcode() == InstructionOpcode::FSub;
                let is_subtracted = is_subtracted != flips;
                let instruction = value.as_instruction_value();
                if let Some(part) = instruction
                    .filter(|part| self::kind(*part) == Some(kind) && sole_user(*part) == Some(operation))
                {
                    parts.push(part);
                    waiting.push((part, is_subtracted));
                    continue;
                }
                let number = instruction.and_then(|value| self.numbers.get(&key(value)));
                let depth = number.and_then(|number| depths[*number]);
                terms.push(Term { value, is_subtracted, depth });
            }
        }
        // The deepest ones come first in the order of the code.
        terms.reverse();
        (terms, parts)
    }

    /// The product of a sum and a factor that does not depend on the previous iteration, if nothing else uses the sum.
    fn scale(&self, sum: InstructionValue<'ctx>, depths: &[Option<usize>]) -> Option<Scale<'ctx>> {
        let product = sole_user(sum).filter(|user| kind(*user) == Some(Kind::Product))?;
        let operands = [operand(product, 0)?, operand(product, 1)?];
        let factor = operands.into_iter().find(|value| value.as_instruction_value() != Some(sum))?;
        let number = factor.as_instruction_value().and_then(|value| self.numbers.get(&key(value)));
        number.is_none_or(|number| depths[*number].is_none()).then_some(Scale { product, factor })
    }
}

impl<'ctx> Reordering<'ctx> {
    /// Writes the operations in the new order, and removes the old ones.
    fn apply(&self, module: &Module<'ctx>) -> Result<(), LlvmError> {
        let replaced = self.scale.map_or(self.root, |scale| scale.product);
        let builder = module.get_context().create_builder();
        builder.position_before(&replaced);
        let flags = self.root.get_fast_math_flags().unwrap_or(FastMathFlags::empty());
        let any = Operations { builder: &builder, kind: self.kind, flags };
        let last = Operations { flags: flags & !FastMathFlags::AllowReassoc, ..any };
        let mut early = self.early.iter().map(|term| (term.value, term.is_subtracted));
        let Some(first) = early.next() else { return Ok(()) };
        let early = early.try_fold(first, |sum, term| any.combined(sum, term))?;
        let result = match (self.scale, self.late.as_slice()) {
            (Some(scale), [late]) => {
                last.scaled(module, early, (late.value, late.is_subtracted), scale.factor)?
            }
            _ => {
                let late = self.late.iter().map(|term| (term.value, term.is_subtracted));
                let sum = late.into_iter().try_fold(early, |sum, term| last.combined(sum, term))?;
                last.plain(sum)?
            }
        };
        // An operation on a value of this loop is no constant.
        let Some(result) = result.as_instruction_value() else { return Ok(()) };
        replaced.replace_all_uses_with(&result);
        if self.scale.is_some() {
            replaced.erase_from_basic_block();
        }
        // Each stands behind the one that used it.
        for old in std::iter::once(&self.root).chain(&self.parts) {
            old.erase_from_basic_block();
        }
        Ok(())
    }
}

/// A value, and whether its negative is meant.
type Signed<'ctx> = (BasicValueEnum<'ctx>, bool);

/// Writes operations of one kind with these permissions.
#[derive(Clone, Copy)]
struct Operations<'a, 'ctx> {
    builder: &'a Builder<'ctx>,
    kind: Kind,
    flags: FastMathFlags,
}

impl<'ctx> Operations<'_, 'ctx> {
    /// The sum or the product of two values.
    fn combined(&self, left: Signed<'ctx>, right: Signed<'ctx>) -> Result<Signed<'ctx>, LlvmError> {
        let opcode = match (self.kind, left.1 == right.1) {
            (Kind::Product, _) => {
                return Ok((self.written(InstructionOpcode::FMul, left.0, right.0)?, false));
            }
            (Kind::Sum, true) => InstructionOpcode::FAdd,
            (Kind::Sum, false) => InstructionOpcode::FSub,
        };
        // The difference is taken from the positive one, so the result is negative only if both are.
        let (first, second) = if left.1 && !right.1 { (right, left) } else { (left, right) };
        Ok((self.written(opcode, first.0, second.0)?, first.1))
    }

    /// `early * factor + late * factor` as a fused operation behind `late`.
    fn scaled(
        &self,
        module: &Module<'ctx>,
        early: Signed<'ctx>,
        late: Signed<'ctx>,
        factor: BasicValueEnum<'ctx>,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let addend = self.written(InstructionOpcode::FMul, early.0, self.plain((factor, early.1))?)?;
        let factor = self.plain((factor, late.1))?;
        let function = Intrinsic::find("llvm.fmuladd")
            .and_then(|intrinsic| intrinsic.get_declaration(module, &[late.0.get_type()]));
        let Some(function) = function else {
            let product = self.written(InstructionOpcode::FMul, late.0, factor)?;
            return self.written(InstructionOpcode::FAdd, addend, product);
        };
        let call = self.builder.build_call(function, &[late.0.into(), factor.into(), addend.into()], "")?;
        let value = call.try_as_basic_value().basic().unwrap_or(addend);
        self.marked(value);
        Ok(value)
    }

    /// A value without a sign beside it.
    fn plain(&self, (value, is_negative): Signed<'ctx>) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        if !is_negative {
            return Ok(value);
        }
        let negative: BasicValueEnum<'ctx> = match value {
            BasicValueEnum::VectorValue(value) => self.builder.build_float_neg(value, "")?.into(),
            _ => self.builder.build_float_neg(value.into_float_value(), "")?.into(),
        };
        self.marked(negative);
        Ok(negative)
    }

    fn written(
        &self,
        opcode: InstructionOpcode,
        left: BasicValueEnum<'ctx>,
        right: BasicValueEnum<'ctx>,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let value: BasicValueEnum<'ctx> = match (left, right) {
            (BasicValueEnum::VectorValue(left), BasicValueEnum::VectorValue(right)) => {
                self.number(opcode, left, right)?.into()
            }
            _ => self.number(opcode, left.into_float_value(), right.into_float_value())?.into(),
        };
        self.marked(value);
        Ok(value)
    }

    fn number<T: FloatMathValue<'ctx>>(
        &self,
        opcode: InstructionOpcode,
        left: T,
        right: T,
    ) -> Result<T, LlvmError> {
        Ok(match opcode {
            InstructionOpcode::FAdd => self.builder.build_float_add(left, right, "")?,
            InstructionOpcode::FSub => self.builder.build_float_sub(left, right, "")?,
            _ => self.builder.build_float_mul(left, right, "")?,
        })
    }

    /// Gives an operation its permissions. Constants need none.
    fn marked(&self, value: BasicValueEnum<'ctx>) {
        if let Some(instruction) = value.as_instruction_value() {
            let _ = instruction.set_fast_math_flags(self.flags);
        }
    }
}

/// The instruction of the same block that alone uses a value, once.
fn sole_user(value: InstructionValue<'_>) -> Option<InstructionValue<'_>> {
    let first = value.get_first_use()?;
    let user = match (first.get_next_use(), first.get_user()) {
        (None, AnyValueEnum::FloatValue(user)) => user.as_instruction(),
        (None, AnyValueEnum::VectorValue(user)) => user.as_instruction(),
        _ => None,
    };
    user.filter(|user| user.get_parent() == value.get_parent())
}

fn key(instruction: InstructionValue<'_>) -> usize {
    instruction.as_value_ref() as usize
}

#[cfg(test)]
mod tests {
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;

    use super::*;

    /// The operations between two iterations of a loop whose sum `%s` comes from the previous one as `%p`, before and after the pass.
    fn latency(body: &str) -> (usize, usize) {
        let text = format!(
            "define double @f(i64 %n, double %k, ptr %a) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = phi double [ 0.0, %entry ], [ %s, %loop ]
  %g = getelementptr double, ptr %a, i64 %i
  %x = load double, ptr %g
  %g1 = getelementptr double, ptr %g, i64 1
  %y = load double, ptr %g1
  %g2 = getelementptr double, ptr %g, i64 2
  %z = load double, ptr %g2
{body}
  store double %s, ptr %g
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %exit
exit:
  ret double %s
}}
\0"
        );
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "test");
        let module = context.create_module_from_ir(buffer).unwrap_or_else(|error| panic!("{error}"));
        let longest = || {
            let body = Body::new(module.get_first_function().unwrap());
            let iteration = Iteration::of(&body, &body.innermost_loops()[0]);
            let latencies =
                iteration.recurrences.iter().filter_map(|(from, to)| iteration.depths(*from)[*to]);
            latencies.max().unwrap()
        };
        let before = longest();
        shorten_recurrences(&module).unwrap();
        assert!(module.verify().is_ok(), "{}", module.print_to_string().to_string());
        (before, longest())
    }

    #[test]
    fn the_previous_sum_is_added_last() {
        let sum = "  %t1 = fadd fast double %x, %p
  %t2 = fadd fast double %t1, %y
  %s = fadd fast double %t2, %z";
        assert_eq!(latency(sum), (3, 1));
        assert_eq!(latency(&sum.replace("fadd", "fmul")), (3, 1));
        assert_eq!(latency(&sum.replace("fadd", "fsub")), (3, 1));
    }

    #[test]
    fn a_factor_moves_to_the_terms() {
        let scaled = "  %t1 = fadd fast double %x, %p
  %t2 = fadd fast double %t1, %y
  %s = fmul fast double %t2, %k";
        assert_eq!(latency(scaled), (3, 1));
        assert_eq!(latency(&scaled.replace("fadd", "fsub")), (3, 1));
        // The previous iteration decides the factor, too.
        assert_eq!(latency(&scaled.replace("%t2, %k", "%t2, %p")), (3, 2));
        // The sum is needed elsewhere.
        let kept = format!("{scaled}\n  store double %t2, ptr %g2");
        assert_eq!(latency(&kept), (3, 2));
    }

    #[test]
    fn what_is_computed_last_is_added_last() {
        let two = "  %q = fmul fast double %p, %x
  %t1 = fadd fast double %q, %y
  %t2 = fadd fast double %t1, %z
  %s = fadd fast double %t2, %p";
        assert_eq!(latency(two), (4, 2));
    }

    #[test]
    fn order_that_must_stay_stays() {
        let sum = "  %t1 = fadd reassoc double %x, %p
  %t2 = fadd fast double %t1, %y
  %s = fadd fast double %t2, %z";
        // Only the part behind an operation of the program's order moves.
        assert_eq!(latency(sum), (3, 2));
        assert_eq!(latency(&sum.replace("fast", "contract")), (3, 3));
        // A part that something else uses stays as well.
        let used = format!("{}\n  store double %t1, ptr %g2", sum.replace("reassoc", "fast"));
        assert_eq!(latency(&used), (3, 2));
    }

    #[test]
    fn loops_that_wait_for_nothing_are_left_alone() {
        // The recurrence takes 12 cycles before. 23 operations begin in as many, 24 do not take longer than it.
        let many: Vec<_> = (0..25)
            .map(|n| format!("  %m{n} = fmul fast double %x, %y\n  store double %m{n}, ptr %g2"))
            .collect();
        let few = "  %t1 = fadd fast double %x, %p
  %t2 = fadd fast double %t1, %y
  %s = fadd fast double %t2, %z";
        assert_eq!(latency(&format!("{}\n{few}", many[..20].join("\n"))), (3, 1));
        assert_eq!(latency(&format!("{}\n{few}", many[..21].join("\n"))), (3, 3));
    }
}
