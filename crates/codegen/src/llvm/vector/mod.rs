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
use sdfg::symbolic::{Expr, Symbol};

use super::emitter::Emit;
use super::function::Function;
use super::metadata::LoopHints;
use crate::plan::{BufferId, Loop, LoopDimension, Statement, Vector};
use code::WideSlots;
use widen::Wide;

/// One vector of a loop that is being written.
struct Lanes<'f, 'e, 'ctx> {
    function: &'f Function<'e, 'ctx>,
    vector: &'f Vector,
    /// The loop variable, which has the value of the first lane.
    variable: &'f Symbol,
    /// Its values in all lanes.
    values: VectorValue<'ctx>,
    /// The registers of the folds.
    folds: &'f BTreeMap<BufferId, WideSlots<'ctx>>,
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
        let lanes = |first| {
            iterate(first)?;
            self.one_vector(dimension, (vector, step), &folds, &each.body)
        };
        let zero = self.emitter.constant(0);
        if vector.rest.is_empty() && count == width {
            lanes(zero)?;
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

    fn one_vector(
        &self,
        dimension: &LoopDimension,
        (vector, step): (&Vector, IntValue<'ctx>),
        folds: &BTreeMap<BufferId, WideSlots<'ctx>>,
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
        Lanes { function: self, vector, variable, values, folds }.statements(body)
    }
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
