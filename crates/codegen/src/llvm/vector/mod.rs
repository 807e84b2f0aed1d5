//! Loops of level vector: one register holds the values of all lanes, such as `<8 x double>`, and one
//! instruction computes all lanes.
//!
//! `arithmetic` defines arithmetic once, for scalars; `widen` emits its instructions for vectors. `code`
//! walks the typed tree of tasklets with a mask of active lanes. `memory` accesses the lanes' elements by the
//! pattern that the plan specifies. `fold` holds the registers in which lanes accumulate.

mod code;
mod fold;
mod memory;
mod widen;

use std::collections::BTreeMap;

use inkwell::values::{BasicValueEnum, IntValue, VectorValue};
use sdfg::ir::FloatMode;
use sdfg::subset::Range;
use sdfg::symbolic::{Expr, Symbol};

use super::emitter::Emit;
use super::function::Function;
use super::metadata::LoopHints;
use crate::plan::{BufferId, LaneAccess, Loop, LoopDimension, Statement, Vector};
use code::WideSlots;
use widen::Wide;

/// Bytes of registers of which processors mask each lane.
const REGISTERS_WITH_MASKS: u64 = 64;

/// One vector of a loop that is being written.
struct Lanes<'f, 'e, 'ctx> {
    function: &'f Function<'e, 'ctx>,
    vector: &'f Vector,
    /// The loop variable, which has the value of the first lane.
    variable: &'f Symbol,
    /// Its values in all lanes.
    values: VectorValue<'ctx>,
    /// The distance between its values in neighbouring lanes, if that is a constant.
    step: Option<i64>,
    /// The registers of the folds.
    folds: &'f BTreeMap<BufferId, WideSlots<'ctx>>,
    /// The lanes that have an iteration; all do without.
    active: Option<VectorValue<'ctx>>,
}

impl<'ctx> Function<'_, 'ctx> {
    /// A loop whose iterations run on the lanes of vectors.
    pub(super) fn vector_loop(&self, each: &Loop, vector: &Vector) -> Emit<()> {
        let dimension = self.only_dimension(each)?;
        self.emitter.prefer_registers(self.value, vector.register_bytes);
        let (begin, step) = (self.index(&dimension.begin)?, self.index(&dimension.step)?);
        let count = self.extent(dimension, begin)?;
        let width = self.emitter.constant(i64::from(vector.width));
        let folds = self.begin_folds(vector)?;
        let outer = self.register_bytes.replace(vector.register_bytes);
        let iterate = |first: IntValue<'ctx>| {
            let value = self.add(begin, self.multiply(first, step)?)?;
            self.set_variable(&dimension.variable, value)
        };
        let vector_at = |first, active| {
            iterate(first)?;
            self.one_vector(dimension, (vector, step), (&folds, active), &each.body)
        };
        let lanes = |first| vector_at(first, None);
        let zero = self.emitter.constant(0);
        if vector.rest.is_empty() && count == width {
            lanes(zero)?;
            self.register_bytes.set(outer);
            return self.end_folds(vector, &folds);
        }
        let masks_rest = masks_rest(vector, &each.body);
        if masks_rest && is_at_most(dimension, vector.width) {
            vector_at(zero, Some(self.first_lanes(count, vector.width)?))?;
            self.register_bytes.set(outer);
            return self.end_folds(vector, &folds);
        }
        self.emitter.keep_copies(self.value);
        let last = if vector.ahead {
            let is_any = self.compare(inkwell::IntPredicate::SGT, count, zero)?;
            let before = self.subtract(count, self.emitter.constant(1))?;
            self.select_int(is_any, before, zero)?
        } else {
            count
        };
        let left = self.builder.build_int_unsigned_rem(last, width, "")?;
        let whole = self.subtract(last, left)?;
        let hints = LoopHints { no_copies: true, ..LoopHints::default() };
        self.counted_loop(zero, whole, width, false, hints, lanes)?;
        if masks_rest {
            let left = self.subtract(count, whole)?;
            let is_any = self.compare(inkwell::IntPredicate::SGT, left, zero)?;
            self.when(is_any, || vector_at(whole, Some(self.first_lanes(left, vector.width)?)))?;
            self.register_bytes.set(outer);
            return self.end_folds(vector, &folds);
        }
        self.register_bytes.set(outer);
        self.end_folds(vector, &folds)?;
        if vector.rest.is_empty() {
            return Ok(());
        }
        let hints =
            LoopHints { parallel_accesses: each.independent, one_vector: true, ..LoopHints::default() };
        let is_strict = self.emitter.float_mode() == FloatMode::Strict;
        let before = self.keeps_order.replace(is_strict);
        self.counted_loop(whole, count, self.emitter.constant(1), false, hints, |number| {
            iterate(number)?;
            self.statements(&vector.rest)
        })?;
        self.keeps_order.set(before);
        Ok(())
    }

    /// The mask of so many lanes, of all if there are fewer.
    fn first_lanes(&self, count: IntValue<'ctx>, width: u32) -> Emit<VectorValue<'ctx>> {
        let numbers: Vec<_> = (0..width).map(|lane| self.emitter.constant(i64::from(lane))).collect();
        let numbers = inkwell::types::VectorType::const_vector(&numbers);
        let count = self.splat(count.into(), width)?;
        Ok(self.builder.build_int_compare(inkwell::IntPredicate::SLT, numbers, count, "")?)
    }

    /// One vector, whose lanes are all active without a mask.
    fn one_vector(
        &self,
        dimension: &LoopDimension,
        (vector, step): (&Vector, IntValue<'ctx>),
        (folds, active): (&BTreeMap<BufferId, WideSlots<'ctx>>, Option<VectorValue<'ctx>>),
        body: &[Statement],
    ) -> Emit<()> {
        let first = self.variable(&dimension.variable)?;
        let lane = |lane: u32| self.emitter.constant(i64::from(lane));
        let numbers: Vec<IntValue<'ctx>> = (0..vector.width).map(lane).collect();
        let numbers = inkwell::types::VectorType::const_vector(&numbers);
        let distances =
            self.builder.build_int_nsw_mul(numbers, self.splat(step.into(), vector.width)?, "")?;
        let values =
            self.builder.build_int_nsw_add(self.splat(first.into(), vector.width)?, distances, "")?;
        let variable = &dimension.variable;
        let step = dimension.step.as_int();
        Lanes { function: self, vector, variable, values, step, folds, active }.statements(body)
    }
}

/// Whether the iterations that fill no vector run as one with a mask. Vectors of 64 bytes have masks for all operations. Those of
/// fewer bytes are in loops that memory limits, where the rest counts little.
fn masks_rest(vector: &Vector, body: &[Statement]) -> bool {
    !vector.rest.is_empty()
        && vector.register_bytes >= REGISTERS_WITH_MASKS
        && !body.iter().any(writes_in_order)
}

/// Whether lanes write one after the other.
fn writes_in_order(statement: &Statement) -> bool {
    match statement {
        Statement::Lanes(lanes) => lanes.accesses.contains(&LaneAccess::InOrder),
        other => other.bodies().into_iter().any(|body| body.iter().any(writes_in_order)),
    }
}

/// Whether a loop is known to have no more iterations.
fn is_at_most(dimension: &LoopDimension, most: u32) -> bool {
    let range = Range::new(dimension.begin.clone(), dimension.end.clone()).with_step(dimension.step.clone());
    let count = range.steps();
    Expr::min(&count, &Expr::int(i64::from(most))) == count
}

impl<'ctx> Lanes<'_, '_, 'ctx> {
    fn statements(&self, body: &[Statement]) -> Emit<()> {
        body.iter().try_for_each(|statement| {
            if let Statement::Lanes(lanes) = statement {
                return self.compute(lanes);
            }
            if let Statement::Located { location, body } = statement {
                return self.function.located(*location, || self.statements(body));
            }
            if let Statement::Timed { timer, body } = statement {
                return self.function.timed(*timer, || self.statements(body));
            }
            let is_comment = matches!(statement, Statement::Comment(_));
            if is_comment { Ok(()) } else { Err(self.function.emitter.defect("a vector has lanes alone")) }
        })
    }

    /// Whether the lanes have different values of an expression.
    fn moves(&self, expression: &Expr) -> bool {
        expression.depends_on(self.variable)
    }

    /// The value of an index expression in each lane.
    fn index(&self, expression: &Expr) -> Emit<BasicValueEnum<'ctx>> {
        if !self.moves(expression) {
            return Ok(self.function.index(expression)?.into());
        }
        let slot = self.function.variable_slot(self.variable)?.1;
        let known = [(slot, self.values)];
        let values = self
            .function
            .widened(&[], &known, |_| Ok(vec![self.function.plain_index(expression)?.into()]))?;
        values.first().copied().ok_or_else(|| self.function.emitter.defect("an index has a value"))
    }

    /// Runs `body` for one lane after the other, with the value that the loop variable has there, in those lanes that take part.
    fn in_order(&self, mask: Option<VectorValue<'ctx>>, body: &dyn Fn(u32) -> Emit<()>) -> Emit<()> {
        let function = self.function;
        let value = |lane: u32| -> Emit<IntValue<'ctx>> {
            Ok(function.lane(self.values.into(), lane)?.into_int_value())
        };
        let before = function.keeps_order.replace(true);
        for lane in 0..self.vector.width {
            function.set_variable(self.variable, value(lane)?)?;
            match mask {
                None => body(lane)?,
                Some(mask) => {
                    let takes_part = function.lane(mask.into(), lane)?.into_int_value();
                    function.when(takes_part, || body(lane))?;
                }
            }
        }
        function.keeps_order.set(before);
        function.set_variable(self.variable, value(0)?)
    }

    /// The value as every lane has it.
    fn spread(&self, value: &Wide<'ctx>) -> Emit<Vec<VectorValue<'ctx>>> {
        value.parts.iter().map(|part| self.function.splat(*part, self.vector.width)).collect()
    }
}
