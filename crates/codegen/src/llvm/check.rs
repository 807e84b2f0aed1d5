//! Run-time checks of a checked plan, and the failure path of a run.
//!
//! Each failure is reported once: the first thread that fails writes the message and its numbers to the
//! handle.

use inkwell::attributes::AttributeLoc;
use inkwell::module::Linkage;
use inkwell::types::BasicMetadataTypeEnum;
use inkwell::values::{BasicMetadataValueEnum, FunctionValue, InstructionValue, IntValue, PointerValue};
use inkwell::{AtomicOrdering, IntPredicate};
use sdfg::symbolic::Expr;

use super::emitter::{Emit, Emitter};
use super::function::{Function, Returns};
use super::memory::ElementAddress;
use crate::interface::Status;
use crate::plan::{BufferId, Check, CheckedDimension, Row, messages};

/// Bytes of a message, with the zero at its end; longer ones are cut.
pub(super) const MESSAGE: u32 = 512;

/// Maximum number of numbers in a message.
const NUMBERS: usize = 2;

/// An element of a buffer that will be accessed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element<'ctx> {
    pub(super) buffer: BufferId,
    pub(super) position: IntValue<'ctx>,
}

/// Kind of access to an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
    /// Its value is used, and it has one afterwards.
    Update,
}

impl<'ctx> Function<'_, 'ctx> {
    pub(super) fn is_checked(&self) -> bool {
        self.emitter.plan.checked
    }

    /// Ends the run if `condition` holds, with a message that has a number at each `%ld`.
    pub(super) fn trap_if(
        &self,
        condition: IntValue<'ctx>,
        message: &str,
        numbers: &[IntValue<'ctx>],
    ) -> Emit<()> {
        let (failed, fine) = (self.block("failed"), self.block("fine"));
        self.branch(condition, failed, fine)?;
        self.enter(failed);
        self.fallible.set(true);
        let report = report_function(self.emitter)?;
        let mut arguments: Vec<BasicMetadataValueEnum<'ctx>> =
            vec![self.handle.get().into(), self.emitter.text(message).into()];
        let zeros = std::iter::repeat(self.emitter.constant(0));
        arguments
            .extend(numbers.iter().copied().chain(zeros).take(NUMBERS).map(BasicMetadataValueEnum::from));
        self.perform(report, &arguments)?;
        let code = self.emitter.i32().const_int(Status::Trap.code() as u64, false);
        self.builder.build_store(self.status, code)?;
        self.leave_function()?;
        self.enter(fine);
        Ok(())
    }

    /// The value of an index expression that may have none; then the run ends.
    pub(super) fn checked_index(&self, expression: &Expr) -> Emit<IntValue<'ctx>> {
        let (value, is_wrong) = self.noting_overflow(expression)?;
        self.trap_if(is_wrong, &messages::no_index(expression), &[])?;
        Ok(value)
    }

    /// Ends the run if a memlet names something outside of its container.
    pub(super) fn check(&self, check: &Check) -> Emit<()> {
        let mut is_empty = self.emitter.i1().const_zero();
        let mut bounds = Vec::with_capacity(check.dimensions.len());
        for dimension in &check.dimensions {
            let CheckedDimension { begin, count, step, tile, extent } = dimension;
            let (begin, extent, one) = (self.index(begin)?, self.index(extent)?, self.emitter.constant(1));
            let (mut low, mut high) = (begin, begin);
            if let Some(count) = count {
                let (count, step, tile) = (self.index(count)?, self.index(step)?, self.index(tile)?);
                for number in [count, tile] {
                    let none = self.compare(IntPredicate::SLT, number, one)?;
                    is_empty = self.builder.build_or(is_empty, none, "")?;
                }
                let last = self.add(begin, self.multiply(self.subtract(count, one)?, step)?)?;
                (low, high) = (self.smaller(begin, last)?, self.larger(begin, last)?);
                high = self.add(high, self.subtract(tile, one)?)?;
            }
            bounds.push((low, high, extent));
        }
        for (number, (low, high, extent)) in bounds.into_iter().enumerate() {
            let below = self.compare(IntPredicate::SLT, low, self.emitter.constant(0))?;
            let above = self.compare(IntPredicate::SGE, high, extent)?;
            let outside = self.builder.build_or(below, above, "")?;
            let outside = self.builder.build_and(outside, self.builder.build_not(is_empty, "")?, "")?;
            let index = self.select_int(below, low, high)?;
            let message = messages::out_of_bounds(number, &format!("of {}", check.memlet));
            self.trap_if(outside, &message, &[index, extent])?;
        }
        check.deferred.iter().try_for_each(|each| self.check(each))
    }

    /// Ends the run if a pointer's indices are outside of its memlet, or what they name outside of its container.
    pub(super) fn check_indices(&self, check: &Check, indices: &[IntValue<'ctx>]) -> Emit<()> {
        let mut given = indices.iter().copied();
        for (number, dimension) in check.dimensions.iter().enumerate() {
            let CheckedDimension { begin, count, step, tile, extent } = dimension;
            let (mut index, extent) = (self.index(begin)?, self.index(extent)?);
            if let Some(count) = count {
                let k = given.next().unwrap_or_else(|| self.emitter.constant(0));
                let of_memlet = format!("of the memlet {}", check.memlet);
                let (mut count, mut position) = (self.index(count)?, k);
                if tile.is_one() {
                    self.check_below(k, count, number, &of_memlet)?;
                } else {
                    let (tile, zero) = (self.index(tile)?, self.emitter.constant(0));
                    count = self.multiply(self.larger(count, zero)?, self.larger(tile, zero)?)?;
                    self.check_below(k, count, number, &of_memlet)?;
                    // An index below the count is not negative, and there is a tile.
                    position = self.builder.build_int_unsigned_div(k, tile, "")?;
                    index = self.add(index, self.builder.build_int_unsigned_rem(k, tile, "")?)?;
                }
                index = self.add(index, self.multiply(position, self.index(step)?)?)?;
            }
            self.check_below(index, extent, number, &format!("in {}", check.memlet))?;
        }
        // A pointer to a single element is indexed with 0.
        for index in given {
            self.check_below(index, self.emitter.constant(1), 0, &format!("of the memlet {}", check.memlet))?;
        }
        check.deferred.iter().try_for_each(|each| self.check_indices(each, indices))
    }

    /// Ends the run if indices are not below the extents of what they index.
    pub(super) fn check_extents(&self, what: &str, indices: &[IntValue<'ctx>], extents: &[Expr]) -> Emit<()> {
        if !self.is_checked() {
            return Ok(());
        }
        for (number, (index, extent)) in indices.iter().zip(extents).enumerate() {
            self.check_below(*index, self.index(extent)?, number, &format!("of `{what}`"))?;
        }
        Ok(())
    }

    fn check_below(
        &self,
        index: IntValue<'ctx>,
        extent: IntValue<'ctx>,
        dimension: usize,
        place: &str,
    ) -> Emit<()> {
        // As unsigned numbers, negative ones are above every extent.
        let positive = self.larger(extent, self.emitter.constant(0))?;
        let outside = self.compare(IntPredicate::UGE, index, positive)?;
        self.trap_if(outside, &messages::out_of_bounds(dimension, place), &[index, extent])
    }

    /// Emits an access by what messages say of it: a memlet, or a copy.
    pub(super) fn read_by<T>(&self, reader: Option<&str>, access: impl FnOnce() -> Emit<T>) -> Emit<T> {
        let outer = self.reader.replace(reader.map(str::to_owned));
        let result = access();
        self.reader.replace(outer);
        result
    }

    /// Ends the run if an element is not there, or was never written where its value is used; notes that it was written.
    pub(super) fn look_at(&self, place: &ElementAddress<'ctx>, access: Access) -> Emit<()> {
        let Some(Element { buffer: id, position }) = place.checked else { return Ok(()) };
        let buffer = self.emitter.plan.buffer(id);
        let size = self.larger(self.size(&buffer.size)?, self.emitter.constant(0))?;
        let outside = self.compare(IntPredicate::UGE, position, size)?;
        self.trap_if(outside, &messages::no_element(&buffer.name), &[position, size])?;
        let Some(defined) = buffer.defined else { return Ok(()) };
        let written = self.base(defined)?;
        // Of what is not followed, such as arguments, a reference has no such bytes.
        if self.emitter.plan.is_reference(id) {
            let is_followed = self.builder.build_is_not_null(written, "")?;
            return self.when(is_followed, || self.look_at_byte(written, id, position, access));
        }
        self.look_at_byte(written, id, position, access)
    }

    fn look_at_byte(
        &self,
        written: PointerValue<'ctx>,
        id: BufferId,
        position: IntValue<'ctx>,
        access: Access,
    ) -> Emit<()> {
        let byte = self.address(self.emitter.i8(), written, position)?;
        // Threads that combine into one element say at the same time that it was written.
        let relaxed = |instruction: Option<InstructionValue<'ctx>>| -> Emit<()> {
            let set = instruction.map_or(Ok(()), |i| i.set_atomic_ordering(AtomicOrdering::Monotonic));
            set.map_err(|error| self.emitter.defect(error))
        };
        if access != Access::Write {
            let known = self.builder.build_load(self.emitter.i8(), byte, "")?.into_int_value();
            relaxed(known.as_instruction())?;
            let undefined = self.compare(IntPredicate::EQ, known, self.emitter.i8().const_zero())?;
            let reader = self.reader.borrow();
            let name = &self.emitter.plan.buffer(id).name;
            let message = messages::never_written(name, reader.as_deref());
            self.trap_if(undefined, &message, &[position])?;
        }
        if access != Access::Read {
            relaxed(Some(self.builder.build_store(byte, self.emitter.i8().const_int(1, false))?))?;
        }
        Ok(())
    }

    /// Looks at the first elements of a row, `count` of them.
    pub(super) fn look_at_row(&self, row: &Row, count: IntValue<'ctx>, access: Access) -> Emit<()> {
        if !self.is_checked() {
            return Ok(());
        }
        let (first, stride) = (self.place(&row.first)?, self.index(&row.stride)?);
        let (zero, one) = (self.emitter.constant(0), self.emitter.constant(1));
        self.counted_loop(zero, count, one, false, Default::default(), |number| {
            let place = self.moved(&first, number, stride)?;
            self.look_at(&place, access)
        })
    }

    /// Makes every element of a buffer undefined; `id` is what says which were written.
    pub(super) fn undefine(&self, id: BufferId) -> Emit<()> {
        let size = self.larger(self.size(&self.emitter.plan.buffer(id).size)?, self.emitter.constant(0))?;
        let zero = self.emitter.i8().const_zero();
        let set = self.builder.build_memset(self.base(id)?, 1, zero, size);
        set.map_err(|error| self.emitter.defect(error))?;
        Ok(())
    }
}

/// The function of this module that leaves a message with numbers in the handle, if it has none yet.
fn report_function<'ctx>(emitter: &Emitter<'ctx>) -> Emit<FunctionValue<'ctx>> {
    const NAME: &str = "report";
    if let Some(function) = emitter.module.get_function(NAME) {
        return Ok(function);
    }
    let (pointer, i32, i64) = (emitter.pointer(), emitter.i32(), emitter.i64());
    let mut parameters: Vec<BasicMetadataTypeEnum<'ctx>> = vec![pointer.into(), pointer.into()];
    parameters.extend([BasicMetadataTypeEnum::from(i64); NUMBERS]);
    let value =
        emitter.define(NAME, emitter.context.void_type().fn_type(&parameters, false), Linkage::Internal);
    emitter.mark_cold(value);
    emitter.attribute(value, AttributeLoc::Function, "noinline", 0);
    let f = Function::new(emitter, value, pointer.const_null())?;
    f.handle.set(f.parameter(0)?.into_pointer_value());
    let code = i32.const_int(Status::Trap.code() as u64, false);
    let relaxed = AtomicOrdering::Monotonic;
    let exchange = f.builder.build_cmpxchg(f.status_address()?, i32.const_zero(), code, relaxed, relaxed)?;
    let is_first = f.builder.build_extract_value(exchange, 1, "")?.into_int_value();
    f.when(is_first, || {
        let name = "snprintf";
        let format = || i32.fn_type(&[pointer.into(), i64.into(), pointer.into()], true);
        let print = emitter.module.get_function(name);
        let print = print.unwrap_or_else(|| emitter.module.add_function(name, format(), None));
        let message = f.message_address()?;
        let mut arguments =
            vec![message.into(), emitter.constant(i64::from(MESSAGE)).into(), f.parameter(1)?.into()];
        for number in 0..NUMBERS {
            arguments.push(f.parameter(2 + number as u32)?.into());
        }
        f.perform(print, &arguments)?;
        f.set_error(message, code)
    })?;
    f.finish(Returns::Nothing)?;
    Ok(value)
}
