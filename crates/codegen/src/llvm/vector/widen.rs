//! Scalar instructions as vector instructions.
//!
//! `arithmetic` defines each operation for scalars. This module emits the scalar instructions for one lane
//! into an unreachable block, then repeats each instruction for all lanes with the same opcode, predicate and
//! flags. Therefore scalar and vector results agree bit by bit.

use std::collections::BTreeMap;

use inkwell::basic_block::BasicBlock;
use inkwell::intrinsics::Intrinsic;
use inkwell::types::{AnyTypeEnum, BasicTypeEnum, VectorType};
use inkwell::values::{
    AsValueRef, BasicValue, BasicValueEnum, CallSiteValue, FloatValue, InstructionOpcode, InstructionValue,
    IntValue, PointerValue, VectorValue,
};
use sdfg::dtype::ScalarType;

use crate::llvm::emitter::Emit;
use crate::llvm::function::Function;
use crate::llvm::value::{Lane, Lanes};

/// An element in every lane: its components, twice as many for complex numbers, each a vector or a scalar that all lanes have.
#[derive(Clone, Debug)]
pub(super) struct Wide<'ctx> {
    pub(super) ty: ScalarType,
    pub(super) parts: Vec<BasicValueEnum<'ctx>>,
}

/// Values of the lanes by the scalar that stands for them.
type Known<'ctx> = BTreeMap<usize, BasicValueEnum<'ctx>>;

impl<'ctx> Wide<'ctx> {
    /// A value that all lanes share.
    pub(super) fn uniform(value: &Lanes<'ctx>) -> Self {
        Wide { ty: value.ty, parts: value.lanes.iter().flat_map(|lane| parts_of(*lane)).collect() }
    }

    /// Components of one lane of an element of this type.
    pub(super) fn components(ty: ScalarType) -> usize {
        if ty.is_complex() { 2 } else { 1 }
    }

    /// The components of each lane of the element.
    pub(super) fn lanes(&self) -> impl ExactSizeIterator<Item = &[BasicValueEnum<'ctx>]> {
        self.parts.chunks(Self::components(self.ty))
    }

    pub(super) fn of_lane(&self, lane: usize) -> Option<Wide<'ctx>> {
        Some(Wide { ty: self.ty, parts: self.lanes().nth(lane)?.to_vec() })
    }
}

fn parts_of(lane: Lane<'_>) -> Vec<BasicValueEnum<'_>> {
    match lane {
        Lane::Int(value) => vec![value.into()],
        Lane::Float(value) => vec![value.into()],
        Lane::Complex(re, im) => vec![re.into(), im.into()],
    }
}

fn key(value: &impl AsValueRef) -> usize {
    value.as_value_ref() as usize
}

impl<'ctx> Function<'_, 'ctx> {
    /// One lane of the components of an element, which are scalars.
    fn lane_of(&self, parts: &[BasicValueEnum<'ctx>]) -> Emit<Lane<'ctx>> {
        match parts {
            [BasicValueEnum::IntValue(value)] => Ok(Lane::Int(*value)),
            [BasicValueEnum::FloatValue(value)] => Ok(Lane::Float(*value)),
            [BasicValueEnum::FloatValue(re), BasicValueEnum::FloatValue(im)] => Ok(Lane::Complex(*re, *im)),
            _ => Err(self.emitter.defect("a component is neither integer nor float")),
        }
    }

    /// An element of scalars.
    pub(super) fn scalars(&self, value: &Wide<'ctx>) -> Emit<Lanes<'ctx>> {
        let lanes = value.lanes().map(|parts| self.lane_of(parts)).collect::<Emit<_>>()?;
        Ok(Lanes { ty: value.ty, lanes })
    }

    /// An operation on elements, written for one lane by `operation`.
    pub(super) fn operate(
        &self,
        operands: &[&Wide<'ctx>],
        operation: impl FnOnce(&[Lanes<'ctx>]) -> Emit<Lanes<'ctx>>,
    ) -> Emit<Wide<'ctx>> {
        let arguments: Vec<_> = operands.iter().flat_map(|operand| operand.parts.iter().copied()).collect();
        let mut result = None;
        let parts = self.widened(&arguments, &[], |scalars| {
            let mut scalars = scalars.iter().copied();
            let elements = operands.iter().map(|operand| {
                let parts = scalars.by_ref().take(operand.parts.len()).collect();
                self.scalars(&Wide { ty: operand.ty, parts })
            });
            let value = operation(&elements.collect::<Emit<Vec<_>>>()?)?;
            result = Some(value.ty);
            Ok(Wide::uniform(&value).parts)
        })?;
        let ty = result.ok_or_else(|| self.emitter.defect("an operation has a result"))?;
        Ok(Wide { ty, parts })
    }

    /// Emits for vectors what `emit` computes for scalars: from `arguments`, and from the contents of the
    /// slots of `loads`.
    pub(super) fn widened(
        &self,
        arguments: &[BasicValueEnum<'ctx>],
        loads: &[(PointerValue<'ctx>, VectorValue<'ctx>)],
        emit: impl FnOnce(&[BasicValueEnum<'ctx>]) -> Emit<Vec<BasicValueEnum<'ctx>>>,
    ) -> Emit<Vec<BasicValueEnum<'ctx>>> {
        if loads.is_empty() && !arguments.iter().any(|argument| argument.is_vector_value()) {
            return emit(arguments);
        }
        let here = self.current()?;
        let template = self.block("lane");
        self.enter(template);
        let mut known = Known::new();
        let nowhere = self.emitter.pointer().const_null();
        let mut scalars = Vec::with_capacity(arguments.len());
        for argument in arguments {
            scalars.push(match argument {
                BasicValueEnum::VectorValue(vector) => {
                    let scalar =
                        self.builder.build_load(vector.get_type().get_element_type(), nowhere, "")?;
                    known.insert(key(&scalar), *argument);
                    scalar
                }
                scalar => *scalar,
            });
        }
        let results = emit(&scalars)?;
        if self.current()? != template {
            return Err(self.emitter.defect("the operation of a lane has branches"));
        }
        self.enter(here);
        for instruction in template.get_instructions() {
            if known.contains_key(&key(&instruction)) {
                continue;
            }
            let slot = loads.iter().find(|(slot, _)| {
                let operand = instruction.get_operand(0).and_then(|operand| operand.value());
                let address = operand.filter(|_| instruction.get_opcode() == InstructionOpcode::Load);
                address.is_some_and(|address| key(&address) == key(slot))
            });
            let value = match slot {
                Some((_, values)) => (*values).into(),
                None => self.widen(instruction, &known)?,
            };
            known.insert(key(&instruction), value);
        }
        let results = results.iter().map(|result| known.get(&key(result)).copied().unwrap_or(*result));
        let results = results.collect();
        self.forget(template)?;
        Ok(results)
    }

    fn forget(&self, template: BasicBlock<'ctx>) -> Emit<()> {
        // SAFETY: the block is of this function, no jump goes to it, and what was computed in it is used in it alone.
        unsafe { template.delete() }.map_err(|()| self.emitter.defect("a block has a function"))
    }

    /// An instruction of one lane for all lanes; as it is where its operands are.
    fn widen(&self, instruction: InstructionValue<'ctx>, known: &Known<'ctx>) -> Emit<BasicValueEnum<'ctx>> {
        let opcode = instruction.get_opcode();
        // The last operand of a call is what is called.
        let n = instruction.get_num_operands() - u32::from(opcode == InstructionOpcode::Call);
        let mut operands = Vec::with_capacity(n as usize);
        for position in 0..n {
            let operand = instruction.get_operand(position).and_then(|operand| operand.value());
            let operand = operand.ok_or_else(|| self.emitter.defect("a lane has no jumps"))?;
            operands.push(known.get(&key(&operand)).copied().unwrap_or(operand));
        }
        let width = operands.iter().find_map(|operand| match operand {
            BasicValueEnum::VectorValue(vector) => Some(vector.get_type().get_size()),
            _ => None,
        });
        let Some(width) = width else { return self.copy_of(instruction, &operands) };
        let wide = || -> Emit<Vec<VectorValue<'ctx>>> {
            operands.iter().map(|operand| self.splat(*operand, width)).collect()
        };
        let value = match opcode {
            InstructionOpcode::Add
            | InstructionOpcode::Sub
            | InstructionOpcode::Mul
            | InstructionOpcode::SDiv
            | InstructionOpcode::UDiv
            | InstructionOpcode::SRem
            | InstructionOpcode::URem
            | InstructionOpcode::Shl
            | InstructionOpcode::LShr
            | InstructionOpcode::AShr
            | InstructionOpcode::And
            | InstructionOpcode::Or
            | InstructionOpcode::Xor
            | InstructionOpcode::FAdd
            | InstructionOpcode::FSub
            | InstructionOpcode::FMul
            | InstructionOpcode::FDiv
            | InstructionOpcode::FRem => {
                let [a, b] = *wide()? else { return Err(self.unknown(instruction)) };
                self.builder.build_binop(opcode, a, b, "")?
            }
            InstructionOpcode::FNeg => {
                let [a] = *wide()? else { return Err(self.unknown(instruction)) };
                self.builder.build_float_neg(a, "")?.into()
            }
            InstructionOpcode::ICmp => {
                let ([a, b], Some(predicate)) = (&*wide()?, instruction.get_icmp_predicate()) else {
                    return Err(self.unknown(instruction));
                };
                self.builder.build_int_compare(predicate, *a, *b, "")?.into()
            }
            InstructionOpcode::FCmp => {
                let ([a, b], Some(predicate)) = (&*wide()?, instruction.get_fcmp_predicate()) else {
                    return Err(self.unknown(instruction));
                };
                self.builder.build_float_compare(predicate, *a, *b, "")?.into()
            }
            InstructionOpcode::Select => {
                let [condition, a, b] = *wide()? else { return Err(self.unknown(instruction)) };
                self.builder.build_select(condition, a, b, "")?
            }
            InstructionOpcode::Trunc
            | InstructionOpcode::ZExt
            | InstructionOpcode::SExt
            | InstructionOpcode::FPTrunc
            | InstructionOpcode::FPExt
            | InstructionOpcode::FPToSI
            | InstructionOpcode::FPToUI
            | InstructionOpcode::SIToFP
            | InstructionOpcode::UIToFP
            | InstructionOpcode::BitCast => {
                let [a] = *wide()? else { return Err(self.unknown(instruction)) };
                self.builder.build_cast(opcode, a, self.vector_of(instruction, width)?, "")?
            }
            InstructionOpcode::Call => return self.widen_call(instruction, &operands, width),
            _ => return Err(self.unknown(instruction)),
        };
        self.copy_flags(instruction, value)?;
        Ok(value)
    }

    /// The flags of floating-point arithmetic, unless the value was folded to a constant.
    fn copy_flags(&self, from: InstructionValue<'ctx>, to: BasicValueEnum<'ctx>) -> Emit<()> {
        let Some(to) = to.as_instruction_value() else { return Ok(()) };
        if !from.can_use_fast_math_flags() || !to.can_use_fast_math_flags() {
            return Ok(());
        }
        let flags = from.get_fast_math_flags().map_err(|error| self.emitter.defect(error))?;
        if flags.is_empty() {
            return Ok(());
        }
        to.set_fast_math_flags(flags).map_err(|error| self.emitter.defect(error))
    }

    fn unknown(&self, instruction: InstructionValue<'ctx>) -> crate::llvm::LlvmError {
        self.emitter.defect(format!("no instruction of vectors does {:?}", instruction.get_opcode()))
    }

    /// The type of an instruction's value in all lanes.
    fn vector_of(&self, instruction: InstructionValue<'ctx>, width: u32) -> Emit<VectorType<'ctx>> {
        match instruction.get_type() {
            AnyTypeEnum::IntType(ty) => Ok(ty.vec_type(width)),
            AnyTypeEnum::FloatType(ty) => Ok(ty.vec_type(width)),
            _ => Err(self.unknown(instruction)),
        }
    }

    /// The instruction with other operands, for a value that all lanes have.
    fn copy_of(
        &self,
        instruction: InstructionValue<'ctx>,
        operands: &[BasicValueEnum<'ctx>],
    ) -> Emit<BasicValueEnum<'ctx>> {
        let copy = instruction.explicit_clone();
        for (position, operand) in (0..).zip(operands) {
            copy.set_operand(position, *operand);
        }
        self.builder.insert_instruction(&copy, None);
        if let Ok(value) = IntValue::try_from(copy) {
            return Ok(value.into());
        }
        FloatValue::try_from(copy).map(Into::into).map_err(|()| self.unknown(instruction))
    }

    /// A call for all lanes: of an intrinsic at once, of a function of vectors where the mode allows it, and of others for one lane after the
    /// other.
    fn widen_call(
        &self,
        instruction: InstructionValue<'ctx>,
        operands: &[BasicValueEnum<'ctx>],
        width: u32,
    ) -> Emit<BasicValueEnum<'ctx>> {
        let call = CallSiteValue::try_from(instruction).map_err(|()| self.unknown(instruction))?;
        let function = call.get_called_fn_value().ok_or_else(|| self.unknown(instruction))?;
        let name = function.get_name().to_string_lossy().into_owned();
        let result = self.vector_of(instruction, width)?;
        if name.starts_with("llvm.") {
            let arguments: Vec<VectorValue<'ctx>> =
                operands.iter().map(|operand| self.splat(*operand, width)).collect::<Emit<_>>()?;
            let first = arguments.first().ok_or_else(|| self.unknown(instruction))?.get_type();
            // Conversions are overloaded on what they make, too; all others have one type.
            let types: Vec<BasicTypeEnum<'ctx>> =
                if name.contains(".sat.") { vec![result.into(), first.into()] } else { vec![first.into()] };
            let intrinsic = Intrinsic::find(&name)
                .and_then(|intrinsic| intrinsic.get_declaration(&self.emitter.module, &types))
                .ok_or_else(|| self.unknown(instruction))?;
            let arguments: Vec<_> = arguments.into_iter().map(Into::into).collect();
            let value = self.call(intrinsic, &arguments)?;
            self.copy_flags(instruction, value)?;
            return Ok(value);
        }
        let mut value = result.get_poison();
        let mut done = 0;
        if let Some((variant, lanes)) = self.emitter.variant_for(call, width, self.register_bytes.get()) {
            while done + lanes <= width {
                let part = |operand: &BasicValueEnum<'ctx>| -> Emit<_> {
                    let positions: Vec<u32> = (done..done + lanes).collect();
                    Ok(self.shuffled(self.splat(*operand, width)?, None, &positions)?.into())
                };
                let arguments = operands.iter().map(part).collect::<Emit<Vec<_>>>()?;
                let results = self.call(variant, &arguments)?;
                self.copy_flags(instruction, results)?;
                let in_place: Vec<u32> =
                    (0..width).map(|lane| lane.saturating_sub(done).min(lanes - 1)).collect();
                let results = self.shuffled(results.into_vector_value(), None, &in_place)?;
                let is_new = |lane: u32| (done..done + lanes).contains(&lane);
                let merged: Vec<u32> =
                    (0..width).map(|lane| if is_new(lane) { width + lane } else { lane }).collect();
                value = self.shuffled(value, Some(results), &merged)?;
                done += lanes;
            }
        }
        for lane in done..width {
            let arguments = operands.iter().map(|operand| self.lane(*operand, lane));
            let copy = self.copy_of(instruction, &arguments.collect::<Emit<Vec<_>>>()?)?;
            let position = self.emitter.i32().const_int(u64::from(lane), false);
            value = self.builder.build_insert_element(value, copy, position, "")?;
        }
        Ok(value.into())
    }

    // Lanes of registers.

    /// The value of one lane.
    pub(super) fn lane(&self, value: BasicValueEnum<'ctx>, lane: u32) -> Emit<BasicValueEnum<'ctx>> {
        match value {
            BasicValueEnum::VectorValue(vector) => {
                let position = self.emitter.i32().const_int(u64::from(lane), false);
                Ok(self.builder.build_extract_element(vector, position, "")?)
            }
            uniform => Ok(uniform),
        }
    }

    /// The value in every lane.
    pub(super) fn splat(&self, value: BasicValueEnum<'ctx>, width: u32) -> Emit<VectorValue<'ctx>> {
        let one = match value {
            BasicValueEnum::VectorValue(vector) => return Ok(vector),
            BasicValueEnum::IntValue(value) => value.get_type().vec_type(width),
            BasicValueEnum::FloatValue(value) => value.get_type().vec_type(width),
            BasicValueEnum::PointerValue(value) => value.get_type().vec_type(width),
            _ => return Err(self.emitter.defect("a lane has a number")),
        };
        let first = self.builder.build_insert_element(
            one.get_poison(),
            value,
            self.emitter.i32().const_zero(),
            "",
        )?;
        self.shuffled(first, None, &vec![0; width as usize])
    }

    /// Elements of one vector, or of two behind each other, by their positions.
    pub(super) fn shuffled(
        &self,
        first: VectorValue<'ctx>,
        second: Option<VectorValue<'ctx>>,
        positions: &[u32],
    ) -> Emit<VectorValue<'ctx>> {
        let second = second.unwrap_or(first.get_type().get_poison());
        let positions: Vec<_> = positions
            .iter()
            .map(|position| self.emitter.i32().const_int(u64::from(*position), false))
            .collect();
        Ok(self.builder.build_shuffle_vector(first, second, VectorType::const_vector(&positions), "")?)
    }

    /// The type of a component in registers, in `width` lanes.
    pub(super) fn vector_type(&self, ty: ScalarType, width: u32) -> Emit<VectorType<'ctx>> {
        if ty.is_float() || ty.is_complex() {
            return Ok(self.emitter.float_type(ty)?.vec_type(width));
        }
        Ok(self.emitter.int_type(ty)?.vec_type(width))
    }
}
