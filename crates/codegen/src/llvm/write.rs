//! Writes: plain stores, and combinations of old and new values, with or without protection against other
//! threads.

use inkwell::values::{FastMathFlags, IntValue, PointerValue};
use inkwell::{AtomicOrdering, AtomicRMWBinOp, IntPredicate};
use sdfg::dtype::{ElementType, ScalarKind, ScalarType};
use sdfg::ir::ConflictResolution;
use sdfg::syntax::CompareOp;
use sdfg::tasklet::TypedExpressionCode;

use super::check::Access;
use super::emitter::Emit;
use super::function::Function;
use super::memory::ElementAddress;
use super::value::{Lane, Lanes};
use crate::plan::{Realisation, Resolved, identity, operation};

impl<'ctx> Function<'_, 'ctx> {
    /// Writes `value` to `place`.
    pub(super) fn write(
        &self,
        place: &ElementAddress<'ctx>,
        value: &Lanes<'ctx>,
        resolved: &Resolved,
    ) -> Emit<()> {
        match resolved {
            Resolved::Store => self.store(place, value),
            Resolved::Combine { resolution, custom, realisation } => match realisation {
                Realisation::Plain => self.combine_plain(place, value, resolution, custom.as_deref()),
                Realisation::Atomic | Realisation::Locked => {
                    let replaces = matches!(resolution, ConflictResolution::Replace);
                    self.look_at(place, if replaces { Access::Write } else { Access::Update })?;
                    if *realisation == Realisation::Locked {
                        self.critical("GOMP_critical_start")?;
                        self.combine_plain(place, value, resolution, custom.as_deref())?;
                        return self.critical("GOMP_critical_end");
                    }
                    self.combine_atomic(place, value, resolution, custom.as_deref())
                }
            },
        }
    }

    pub(super) fn combine_plain(
        &self,
        place: &ElementAddress<'ctx>,
        value: &Lanes<'ctx>,
        resolution: &ConflictResolution,
        custom: Option<&TypedExpressionCode>,
    ) -> Emit<()> {
        let combined = match resolution {
            ConflictResolution::Replace => value.clone(),
            ConflictResolution::Sum
            | ConflictResolution::Product
            | ConflictResolution::Min
            | ConflictResolution::Max
            | ConflictResolution::And
            | ConflictResolution::Or
            | ConflictResolution::Xor
            | ConflictResolution::BitAnd
            | ConflictResolution::BitOr
            | ConflictResolution::BitXor
            | ConflictResolution::MinLocation
            | ConflictResolution::MaxLocation
            | ConflictResolution::Custom(_) => self.combine(&self.load(place)?, value, resolution, custom)?,
        };
        self.store(place, &combined)
    }

    /// The combination of an old and a new value.
    pub(super) fn combine(
        &self,
        old: &Lanes<'ctx>,
        new: &Lanes<'ctx>,
        resolution: &ConflictResolution,
        custom: Option<&TypedExpressionCode>,
    ) -> Emit<Lanes<'ctx>> {
        let ty = old.ty;
        if new.ty != ty || new.lanes.len() != old.lanes.len() {
            return Err(self.emitter.defect("old and new value of a combination have different types"));
        }
        match resolution {
            ConflictResolution::Replace => return Ok(new.clone()),
            ConflictResolution::Custom(_) => {
                let code = custom.ok_or_else(|| self.emitter.defect("a custom resolution has no code"))?;
                return self.evaluate_function(code, &[old.clone(), new.clone()]);
            }
            ConflictResolution::MinLocation => return self.combine_location(old, new, CompareOp::Less),
            ConflictResolution::MaxLocation => return self.combine_location(old, new, CompareOp::Greater),
            ConflictResolution::Sum
            | ConflictResolution::Product
            | ConflictResolution::Min
            | ConflictResolution::Max
            | ConflictResolution::And
            | ConflictResolution::Or
            | ConflictResolution::Xor
            | ConflictResolution::BitAnd
            | ConflictResolution::BitOr
            | ConflictResolution::BitXor => {}
        }
        let lanes = old.lanes.iter().zip(&new.lanes).map(|(a, b)| self.combine_lane(resolution, ty, *a, *b));
        Ok(Lanes { ty, lanes: lanes.collect::<Emit<_>>()? })
    }

    fn combine_lane(
        &self,
        resolution: &ConflictResolution,
        ty: ScalarType,
        old: Lane<'ctx>,
        new: Lane<'ctx>,
    ) -> Emit<Lane<'ctx>> {
        if let Some(op) = operation(resolution) {
            let combined = self.binary(op, ty, old, new)?;
            self.allow_reassociation(combined)?;
            return Ok(combined);
        }
        let (a, b) = (self.truth(ty, old)?, self.truth(ty, new)?);
        let truth = match resolution {
            ConflictResolution::And => self.builder.build_and(a, b, "")?,
            ConflictResolution::Or => self.builder.build_or(a, b, "")?,
            ConflictResolution::Sum
            | ConflictResolution::Product
            | ConflictResolution::Min
            | ConflictResolution::Max
            | ConflictResolution::Xor
            | ConflictResolution::BitAnd
            | ConflictResolution::BitOr
            | ConflictResolution::BitXor
            | ConflictResolution::MinLocation
            | ConflictResolution::MaxLocation
            | ConflictResolution::Replace
            | ConflictResolution::Custom(_) => self.builder.build_xor(a, b, "")?,
        };
        self.cast(ScalarType::Bool, Lane::Int(truth), ty)
    }

    /// A conflict resolution may combine in any order in every floating-point mode.
    fn allow_reassociation(&self, value: Lane<'ctx>) -> Emit<()> {
        if self.keeps_order.get() {
            return Ok(());
        }
        let parts = match value {
            Lane::Int(_) => return Ok(()),
            Lane::Float(value) => vec![value],
            Lane::Complex(re, im) => vec![re, im],
        };
        for instruction in parts.into_iter().filter_map(inkwell::values::FloatValue::as_instruction) {
            if let Ok(flags) = instruction.get_fast_math_flags() {
                let flags = flags | FastMathFlags::AllowReassoc;
                instruction.set_fast_math_flags(flags).map_err(|error| self.emitter.defect(error))?;
            }
        }
        Ok(())
    }

    /// The (value, index) pair that wins; the smaller index on a tie.
    fn combine_location(&self, old: &Lanes<'ctx>, new: &Lanes<'ctx>, wins: CompareOp) -> Emit<Lanes<'ctx>> {
        let ty = old.ty;
        let ([old_value, old_index], [new_value, new_index]) = (old.lanes.as_slice(), new.lanes.as_slice())
        else {
            return Err(self.emitter.defect("a location is a pair"));
        };
        let better = self.compare_lanes(wins, ty, *new_value, *old_value)?;
        let equal = self.compare_lanes(CompareOp::Equal, ty, *new_value, *old_value)?;
        let earlier = self.compare_lanes(CompareOp::Less, ty, *new_index, *old_index)?;
        let tie = self.builder.build_and(equal, earlier, "")?;
        let chosen = self.builder.build_or(better, tie, "")?;
        let value = self.select(chosen, *new_value, *old_value)?;
        let index = self.select(chosen, *new_index, *old_index)?;
        Ok(Lanes { ty, lanes: vec![value, index] })
    }

    /// One atomic step. Where every lane, or every part of a complex sum, is combined on its own, each is a step of its
    /// own.
    fn combine_atomic(
        &self,
        place: &ElementAddress<'ctx>,
        value: &Lanes<'ctx>,
        resolution: &ConflictResolution,
        custom: Option<&TypedExpressionCode>,
    ) -> Emit<()> {
        let pairs = matches!(
            resolution,
            ConflictResolution::MinLocation | ConflictResolution::MaxLocation | ConflictResolution::Custom(_)
        );
        if value.lanes.len() > 1 && !pairs {
            for (place, lane) in self.lane_places(place)?.iter().zip(&value.lanes) {
                self.combine_atomic(place, &Lanes::scalar(value.ty, *lane), resolution, custom)?;
            }
            return Ok(());
        }
        match (value.lanes.as_slice(), resolution) {
            ([Lane::Complex(re, im)], ConflictResolution::Sum) => {
                for (place, part) in self.complex_parts(place)?.iter().zip([*re, *im]) {
                    let part = Lanes::scalar(value.ty.component(), Lane::Float(part));
                    self.combine_atomic(place, &part, resolution, custom)?;
                }
                Ok(())
            }
            ([Lane::Int(new)], _) if atomic_operation(resolution, value.ty).is_some() => {
                let op = atomic_operation(resolution, value.ty);
                let op = op.ok_or_else(|| self.emitter.defect("the operation was just found"))?;
                self.builder.build_atomicrmw(op, place.address, *new, AtomicOrdering::Monotonic)?;
                Ok(())
            }
            ([Lane::Int(_) | Lane::Float(_)], _) => {
                self.compare_exchange(place.address, value, resolution, custom)
            }
            _ => Err(self.emitter.defect("what no atomic step combines takes a lock")),
        }
    }

    /// Enters or leaves the process-wide lock of the OpenMP runtime.
    pub(super) fn critical(&self, name: &str) -> Emit<()> {
        self.perform(self.emitter.declare(name, None, &[]), &[])
    }

    /// Combines until no other thread wrote in between.
    fn compare_exchange(
        &self,
        address: PointerValue<'ctx>,
        value: &Lanes<'ctx>,
        resolution: &ConflictResolution,
        custom: Option<&TypedExpressionCode>,
    ) -> Emit<()> {
        let ty = value.ty;
        let bits_type = match ty.size() {
            1 => self.emitter.i8(),
            2 => self.emitter.context.i16_type(),
            4 => self.emitter.i32(),
            _ => self.emitter.i64(),
        };
        let (before, retry, done) = (self.current()?, self.block("retry"), self.block("combined"));
        let first = self.builder.build_load(bits_type, address, "")?.into_int_value();
        if let Some(load) = first.as_instruction() {
            load.set_atomic_ordering(AtomicOrdering::Monotonic)
                .map_err(|error| self.emitter.defect(error))?;
        }
        self.jump(retry)?;
        self.enter(retry);
        let seen = self.builder.build_phi(bits_type, "")?;
        let bits = seen.as_basic_value().into_int_value();
        let old = Lanes::scalar(ty, self.lane_of_bits(ty, bits)?);
        let new = self.combine(&old, value, resolution, custom)?;
        let lane = new.lanes.first().ok_or_else(|| self.emitter.defect("a scalar has a lane"))?;
        let new_bits = self.bits_of_lane(*lane, bits_type)?;
        let exchange = self.builder.build_cmpxchg(
            address,
            bits,
            new_bits,
            AtomicOrdering::Monotonic,
            AtomicOrdering::Monotonic,
        )?;
        let found = self.builder.build_extract_value(exchange, 0, "")?.into_int_value();
        let success = self.builder.build_extract_value(exchange, 1, "")?.into_int_value();
        // A custom resolution may have branches, so the loop does not end in the block that it began in.
        let last = self.current()?;
        self.branch(success, done, retry)?;
        seen.add_incoming(&[(&first, before), (&found, last)]);
        self.enter(done);
        Ok(())
    }

    fn lane_of_bits(&self, ty: ScalarType, bits: IntValue<'ctx>) -> Emit<Lane<'ctx>> {
        Ok(match ty.kind() {
            ScalarKind::Bool => {
                Lane::Int(self.compare(IntPredicate::NE, bits, bits.get_type().const_zero())?)
            }
            ScalarKind::Signed | ScalarKind::Unsigned => Lane::Int(bits),
            ScalarKind::Float | ScalarKind::Complex => {
                let float = self.emitter.float_type(ty)?;
                Lane::Float(self.builder.build_bit_cast(bits, float, "")?.into_float_value())
            }
        })
    }

    fn bits_of_lane(&self, lane: Lane<'ctx>, bits: inkwell::types::IntType<'ctx>) -> Emit<IntValue<'ctx>> {
        match lane {
            Lane::Int(value) => Ok(self.builder.build_int_z_extend_or_bit_cast(value, bits, "")?),
            Lane::Float(value) => Ok(self.builder.build_bit_cast(value, bits, "")?.into_int_value()),
            Lane::Complex(..) => Err(self.emitter.defect("a complex number is combined under the lock")),
        }
    }

    /// The value that a resolution leaves every other value unchanged with.
    pub(super) fn identity(
        &self,
        resolution: &ConflictResolution,
        element: ElementType,
    ) -> Emit<Lanes<'ctx>> {
        let value = identity(resolution, element);
        let value =
            value.ok_or_else(|| self.emitter.defect("an accumulator's resolution has no identity"))?;
        let lanes = vec![self.constant_lane(value)?; usize::from(element.lanes())];
        Ok(Lanes { ty: element.lane(), lanes })
    }
}

/// The instruction that combines integers of type `ty` in one step, if there is one.
fn atomic_operation(resolution: &ConflictResolution, ty: ScalarType) -> Option<AtomicRMWBinOp> {
    if !ty.is_integer() {
        return None;
    }
    let signed = ty.kind() == ScalarKind::Signed;
    match resolution {
        ConflictResolution::Sum => Some(AtomicRMWBinOp::Add),
        ConflictResolution::Min => Some(if signed { AtomicRMWBinOp::Min } else { AtomicRMWBinOp::UMin }),
        ConflictResolution::Max => Some(if signed { AtomicRMWBinOp::Max } else { AtomicRMWBinOp::UMax }),
        ConflictResolution::BitAnd => Some(AtomicRMWBinOp::And),
        ConflictResolution::BitOr => Some(AtomicRMWBinOp::Or),
        ConflictResolution::BitXor => Some(AtomicRMWBinOp::Xor),
        ConflictResolution::Replace => Some(AtomicRMWBinOp::Xchg),
        ConflictResolution::Product
        | ConflictResolution::And
        | ConflictResolution::Or
        | ConflictResolution::Xor
        | ConflictResolution::MinLocation
        | ConflictResolution::MaxLocation
        | ConflictResolution::Custom(_) => None,
    }
}
