//! Per-lane accumulator registers, and writes that lanes perform one after the other.

use std::collections::BTreeMap;

use inkwell::values::{BasicValueEnum, VectorValue};
use sdfg::ir::ConflictResolution;
use sdfg::tasklet::TypedExpressionCode;

use super::Lanes;
use super::code::WideSlots;
use super::memory::Places;
use super::widen::Wide;
use crate::llvm::emitter::Emit;
use crate::llvm::function::Function;

use crate::plan::{BufferId, Fold, Location, Realisation, Resolved, Vector};

impl<'ctx> Function<'_, 'ctx> {
    /// Makes the registers of a loop's folds, which hold what combines with nothing.
    pub(super) fn begin_folds(&self, vector: &Vector) -> Emit<BTreeMap<BufferId, WideSlots<'ctx>>> {
        let mut folds = BTreeMap::new();
        for fold in &vector.folds {
            let buffer = self.emitter.plan.buffer(fold.cell);
            let slots = self.wide_slots(buffer.element, &buffer.name, vector.width)?;
            let identity = self.identity(&fold.resolution, buffer.element)?;
            self.store_wide(&slots, &Wide::uniform(&identity), vector.width)?;
            folds.insert(fold.cell, slots);
        }
        Ok(folds)
    }

    /// Combines the lanes of each fold with each other, and into its cell.
    pub(super) fn end_folds(&self, vector: &Vector, folds: &BTreeMap<BufferId, WideSlots<'ctx>>) -> Emit<()> {
        for fold in &vector.folds {
            let Some(slots) = folds.get(&fold.cell) else { continue };
            let value = self.fold_lanes(fold, &self.load_wide(slots, vector.width)?, vector.width)?;
            let write = Resolved::Combine {
                resolution: fold.resolution.clone(),
                custom: None,
                realisation: Realisation::Plain,
            };
            let place = self.place_at(fold.cell, self.emitter.constant(0))?;
            self.write(&place, &self.scalars(&value)?, &write)?;
        }
        Ok(())
    }

    /// The combination of all lanes: of both halves, until one is left.
    fn fold_lanes(&self, fold: &Fold, value: &Wide<'ctx>, mut width: u32) -> Emit<Wide<'ctx>> {
        let mut value = value.clone();
        let mut odd: Option<Wide<'ctx>> = None;
        let combine = |a: &Wide<'ctx>, b: &Wide<'ctx>| {
            self.operate(&[a, b], |pair| match pair {
                [a, b] => self.combine(a, b, &fold.resolution, None),
                _ => Err(self.emitter.defect("a combination is of two values")),
            })
        };
        while width > 1 {
            if width % 2 == 1 {
                let last = self.one_lane(&value, width - 1)?;
                odd = Some(match &odd {
                    None => last,
                    Some(odd) => combine(odd, &last)?,
                });
            }
            width /= 2;
            let half = |first: u32| -> Emit<Wide<'ctx>> {
                let positions: Vec<u32> = (first..first + width).collect();
                let part = |part: &BasicValueEnum<'ctx>| match part {
                    part if width == 1 => self.lane(*part, first),
                    BasicValueEnum::VectorValue(vector) => {
                        Ok(self.shuffled(*vector, None, &positions)?.into())
                    }
                    uniform => Ok(*uniform),
                };
                Ok(Wide { ty: value.ty, parts: value.parts.iter().map(part).collect::<Emit<_>>()? })
            };
            let (low, high) = (half(0)?, half(width)?);
            value = combine(&low, &high)?;
        }
        let value = self.one_lane(&value, 0)?;
        match odd {
            None => Ok(value),
            Some(odd) => combine(&value, &odd),
        }
    }

    /// The element of one lane.
    pub(super) fn one_lane(&self, value: &Wide<'ctx>, lane: u32) -> Emit<Wide<'ctx>> {
        let parts = value.parts.iter().map(|part| self.lane(*part, lane)).collect::<Emit<_>>()?;
        Ok(Wide { ty: value.ty, parts })
    }
}

impl<'ctx> Lanes<'_, '_, 'ctx> {
    /// Combines into the register of a fold.
    pub(super) fn fold(
        &self,
        position: usize,
        value: &Wide<'ctx>,
        mask: Option<VectorValue<'ctx>>,
    ) -> Emit<()> {
        let (function, width) = (self.function, self.vector.width);
        let defect = || function.emitter.defect("a fold has a register");
        let fold = self.vector.folds.get(position).ok_or_else(defect)?;
        let slots = self.folds.get(&fold.cell).ok_or_else(defect)?;
        let old = function.load_wide(slots, width)?;
        let combined = self.combined(&old, value, &fold.resolution, None)?;
        let value = self.chosen(mask, &combined, &old)?;
        function.store_wide(slots, &value, width)
    }

    /// The combination of old and new elements in each lane.
    fn combined(
        &self,
        old: &Wide<'ctx>,
        new: &Wide<'ctx>,
        resolution: &ConflictResolution,
        custom: Option<&TypedExpressionCode>,
    ) -> Emit<Wide<'ctx>> {
        self.function.operate(&[old, new], |pair| match pair {
            [old, new] => self.function.combine(old, new, resolution, custom),
            _ => Err(self.function.emitter.defect("a combination is of two values")),
        })
    }

    /// Combines into elements of which each lane has another one.
    pub(super) fn write(
        &self,
        places: &Places<'ctx>,
        value: &Wide<'ctx>,
        write: &Resolved,
        mask: Option<VectorValue<'ctx>>,
    ) -> Emit<()> {
        match write {
            Resolved::Store => self.store(places, value, mask),
            Resolved::Combine { resolution: ConflictResolution::Replace, .. } => {
                self.store(places, value, mask)
            }
            Resolved::Combine { resolution, custom, realisation: _ } => {
                let old = self.load(places, mask)?;
                let value = self.combined(&old, value, resolution, custom.as_deref())?;
                self.store(places, &value, mask)
            }
        }
    }

    /// Writes the elements of the lanes one after the other, to a location of the plan.
    pub(super) fn write_in_order(
        &self,
        to: &Location,
        value: &Wide<'ctx>,
        write: &Resolved,
        mask: Option<VectorValue<'ctx>>,
    ) -> Emit<()> {
        let function = self.function;
        self.in_order(mask, &|lane| {
            let element = function.scalars(&function.one_lane(value, lane)?)?;
            function.write(&function.place(to)?, &element, write)
        })
    }

    /// As [`Self::write_in_order`], to positions that code chose.
    pub(super) fn write_at_in_order(
        &self,
        buffer: BufferId,
        positions: BasicValueEnum<'ctx>,
        value: &Wide<'ctx>,
        write: &Resolved,
        mask: Option<VectorValue<'ctx>>,
    ) -> Emit<()> {
        let function = self.function;
        self.in_order(mask, &|lane| {
            let element = function.scalars(&function.one_lane(value, lane)?)?;
            let position = function.lane(positions, lane)?.into_int_value();
            function.write(&function.place_at(buffer, position)?, &element, write)
        })
    }
}
