//! One function under construction: its blocks, variables, buffers and jump targets.
//!
//! Variables and locals are stack slots. LLVM promotes them to registers, so the emitter never
//! builds SSA form itself.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::builder::Builder;
use inkwell::debug_info::DILocation;
use inkwell::intrinsics::Intrinsic;
use inkwell::types::{ArrayType, BasicType, BasicTypeEnum};
use inkwell::values::{
    BasicMetadataValueEnum, BasicValueEnum, FunctionValue, InstructionValue, IntValue, PointerValue,
};
use sdfg::dtype::{ElementType, ScalarType};
use sdfg::symbolic::Symbol;

use super::emitter::{Emit, Emitter};
use super::profile::Timers;
use super::stream::Cursor;
use super::value::{Lane, Lanes};
use crate::interface::Status;
use crate::plan::{Allocation, BufferId, JumpTarget};

/// Address of a buffer's first element.
#[derive(Clone, Copy, Debug)]
pub(super) enum Base<'ctx> {
    /// At an address that does not change.
    Fixed(PointerValue<'ctx>),
    /// At the address in this slot, which allocation changes.
    Slot(PointerValue<'ctx>),
}

/// Blocks that jumps of a name go to.
#[derive(Clone, Debug)]
pub(super) struct Jumps<'ctx> {
    pub(super) leave: BasicBlock<'ctx>,
    pub(super) repeat: Option<BasicBlock<'ctx>>,
    pub(super) cases: Vec<BasicBlock<'ctx>>,
}

/// Stack slots of an element, one for each component.
#[derive(Clone, Debug)]
pub(super) struct Slots<'ctx> {
    ty: ScalarType,
    lanes: Vec<(PointerValue<'ctx>, Option<PointerValue<'ctx>>)>,
}

/// Return value of a function.
#[derive(Clone, Copy, Debug)]
pub(super) enum Returns<'ctx> {
    /// Nothing.
    Nothing,
    /// Its status.
    Status,
    /// Contents of a slot.
    Slot(PointerValue<'ctx>, BasicTypeEnum<'ctx>),
}

/// A function that is being written.
pub(super) struct Function<'e, 'ctx> {
    pub(super) emitter: &'e Emitter<'ctx>,
    pub(super) value: FunctionValue<'ctx>,
    pub(super) builder: Builder<'ctx>,
    /// Writes stack slots into the entry block, which has nothing else.
    slots: Builder<'ctx>,
    /// The first block after the slots.
    start: BasicBlock<'ctx>,
    /// Frees dynamic memory and returns; reached by failures and by the end.
    exit: BasicBlock<'ctx>,
    /// The status to return.
    pub(super) status: PointerValue<'ctx>,
    /// The program's handle.
    pub(super) handle: Cell<PointerValue<'ctx>>,
    variables: RefCell<BTreeMap<Symbol, (ScalarType, PointerValue<'ctx>)>>,
    buffers: RefCell<BTreeMap<BufferId, Base<'ctx>>>,
    jumps: RefCell<BTreeMap<JumpTarget, Jumps<'ctx>>>,
    /// Memory accesses of the loops that are being written, innermost last.
    accesses: RefCell<Vec<Vec<InstructionValue<'ctx>>>>,
    /// Slots of memory to free before the function returns.
    owned: RefCell<Vec<PointerValue<'ctx>>>,
    /// Slots of streams to close before the function returns.
    owned_streams: RefCell<Vec<PointerValue<'ctx>>>,
    /// Streams that stand for a queue of this thread's own, with its end.
    pub(super) collected: RefCell<BTreeMap<BufferId, Cursor<'ctx>>>,
    /// The runtime's handle of the task that runs the function; null outside of tasks.
    pub(super) task: Cell<PointerValue<'ctx>>,
    /// Flag that records overflow of index arithmetic, if requested.
    pub(super) overflow: Cell<Option<PointerValue<'ctx>>>,
    /// Whether combinations keep their order, where a resolution by itself has none.
    pub(super) keeps_order: Cell<bool>,
    /// Bytes of the vectors that the lanes being written hand to functions.
    pub(super) register_bytes: Cell<u64>,
    /// Whether something in the function can fail.
    pub(super) fallible: Cell<bool>,
    /// The memlet or copy whose accesses are being written, for messages.
    pub(super) reader: RefCell<Option<String>>,
    pub(super) timers: Timers<'ctx>,
    /// Source locations of emitted instructions, if debug information is requested.
    pub(super) location: Cell<Option<DILocation<'ctx>>>,
}

impl<'e, 'ctx> Function<'e, 'ctx> {
    /// Begins to write `value`, which has no blocks; `handle` is the program's handle in it.
    pub(super) fn new(
        emitter: &'e Emitter<'ctx>,
        value: FunctionValue<'ctx>,
        handle: PointerValue<'ctx>,
    ) -> Emit<Self> {
        let context = emitter.context;
        let entry = context.append_basic_block(value, "entry");
        let start = context.append_basic_block(value, "start");
        let exit = context.append_basic_block(value, "exit");
        let (builder, slots) = (context.create_builder(), context.create_builder());
        slots.position_at_end(entry);
        builder.position_at_end(start);
        let location = emitter.describe(value);
        if let Some(location) = location {
            slots.set_current_debug_location(location);
            builder.set_current_debug_location(location);
        }
        let status = slots.build_alloca(emitter.i32(), "status")?;
        slots.build_store(status, emitter.i32().const_zero())?;
        Ok(Function {
            emitter,
            value,
            builder,
            slots,
            start,
            exit,
            status,
            handle: Cell::new(handle),
            variables: RefCell::default(),
            buffers: RefCell::default(),
            jumps: RefCell::default(),
            accesses: RefCell::default(),
            owned: RefCell::default(),
            owned_streams: RefCell::default(),
            collected: RefCell::default(),
            task: Cell::new(emitter.pointer().const_null()),
            overflow: Cell::new(None),
            keeps_order: Cell::new(false),
            register_bytes: Cell::new(0),
            fallible: Cell::new(false),
            reader: RefCell::new(None),
            timers: Timers::default(),
            location: Cell::new(location),
        })
    }

    /// Ends the function: what was written falls into the exit, which frees memory and returns.
    pub(super) fn finish(self, returns: Returns<'ctx>) -> Emit<()> {
        self.jump(self.exit)?;
        self.slots.build_unconditional_branch(self.start)?;
        self.enter(self.exit);
        self.stop_all_timers()?;
        let owned = self.owned.borrow().clone();
        for slot in owned {
            let pointer = self.load_pointer(slot)?;
            self.free(pointer)?;
        }
        for slot in self.owned_streams.borrow().iter() {
            self.close_stream(self.load_pointer(*slot)?)?;
        }
        let (slot, ty) = match returns {
            Returns::Nothing => {
                self.builder.build_return(None)?;
                return Ok(());
            }
            Returns::Status => (self.status, self.emitter.i32().into()),
            Returns::Slot(slot, ty) => (slot, ty),
        };
        let value = self.builder.build_load(ty, slot, "")?;
        self.builder.build_return(Some(&value))?;
        Ok(())
    }

    /// A parameter of the function.
    pub(super) fn parameter(&self, index: u32) -> Emit<BasicValueEnum<'ctx>> {
        self.value.get_nth_param(index).ok_or_else(|| self.emitter.defect("a parameter is missing"))
    }

    /// A new block of the function.
    pub(super) fn block(&self, name: &str) -> BasicBlock<'ctx> {
        // Before the exit, so that the text reads from top to bottom.
        self.emitter.context.prepend_basic_block(self.exit, name)
    }

    pub(super) fn enter(&self, block: BasicBlock<'ctx>) {
        self.builder.position_at_end(block);
    }

    pub(super) fn jump(&self, block: BasicBlock<'ctx>) -> Emit<()> {
        self.builder.build_unconditional_branch(block)?;
        Ok(())
    }

    pub(super) fn branch(
        &self,
        condition: IntValue<'ctx>,
        then: BasicBlock<'ctx>,
        otherwise: BasicBlock<'ctx>,
    ) -> Emit<InstructionValue<'ctx>> {
        Ok(self.builder.build_conditional_branch(condition, then, otherwise)?)
    }

    /// The block that is being written.
    pub(super) fn current(&self) -> Emit<BasicBlock<'ctx>> {
        self.builder.get_insert_block().ok_or_else(|| self.emitter.defect("no block is being written"))
    }

    /// Jumps away and goes on in a block that nothing reaches.
    pub(super) fn leave_to(&self, block: BasicBlock<'ctx>) -> Emit<()> {
        self.jump(block)?;
        self.enter(self.block("unreached"));
        Ok(())
    }

    /// Goes to the end of the function, with the status that its slot has; nothing may be written after it in this block.
    pub(super) fn leave_function(&self) -> Emit<()> {
        self.jump(self.exit)
    }

    /// Ends the run with `status` if `condition` holds.
    pub(super) fn fail_if(&self, condition: IntValue<'ctx>, status: Status, text: &str) -> Emit<()> {
        let (failed, fine) = (self.block("failed"), self.block("fine"));
        self.branch(condition, failed, fine)?;
        self.enter(failed);
        self.fail(status, text)?;
        self.enter(fine);
        Ok(())
    }

    /// Ends the run with `status`; nothing may be written after it in this block.
    pub(super) fn fail(&self, status: Status, text: &str) -> Emit<()> {
        self.fail_with(status, self.emitter.text(text))
    }

    /// As [`Function::fail`], with the address of a text that lives as long as the code.
    pub(super) fn fail_with(&self, status: Status, text: PointerValue<'ctx>) -> Emit<()> {
        self.fallible.set(true);
        let code = self.emitter.i32().const_int(status.code() as u64, false);
        self.builder.build_store(self.status, code)?;
        self.set_error(text, code)?;
        self.jump(self.exit)
    }

    /// Ends the function with the status in its slot if that is not success.
    pub(super) fn exit_if(&self, condition: IntValue<'ctx>) -> Emit<()> {
        let fine = self.block("fine");
        self.branch(condition, self.exit, fine)?;
        self.enter(fine);
        Ok(())
    }

    // Slots.

    /// A stack slot that lives as long as the function.
    pub(super) fn slot<T: BasicType<'ctx>>(&self, ty: T, name: &str) -> Emit<PointerValue<'ctx>> {
        Ok(self.slots.build_alloca(ty, name)?)
    }

    /// A stack slot with an alignment in bytes.
    pub(super) fn aligned_slot<T: BasicType<'ctx>>(
        &self,
        ty: T,
        name: &str,
        alignment: u32,
    ) -> Emit<PointerValue<'ctx>> {
        let slot = self.slot(ty, name)?;
        if let Some(instruction) = slot.as_instruction() {
            instruction.set_alignment(alignment).map_err(|error| self.emitter.defect(error))?;
        }
        Ok(slot)
    }

    /// A stack slot that is zero at the start of the function.
    pub(super) fn zeroed_slot(&self, ty: ArrayType<'ctx>, name: &str) -> Emit<PointerValue<'ctx>> {
        let slot = self.slot(ty, name)?;
        self.slots.build_store(slot, ty.const_zero())?;
        Ok(slot)
    }

    /// A slot for an address that is null at the start of the function.
    pub(super) fn null_slot(&self, name: &str) -> Emit<PointerValue<'ctx>> {
        let slot = self.slot(self.emitter.pointer(), name)?;
        self.slots.build_store(slot, self.emitter.pointer().const_null())?;
        Ok(slot)
    }

    /// A slot for an address that is null until memory is allocated, and freed at the end.
    pub(super) fn owned_slot(&self, name: &str) -> Emit<PointerValue<'ctx>> {
        let slot = self.null_slot(name)?;
        self.owned.borrow_mut().push(slot);
        Ok(slot)
    }

    /// A slot for the address of a stream that is null until it is made, and closed at the end.
    pub(super) fn owned_stream(&self, name: &str) -> Emit<PointerValue<'ctx>> {
        let slot = self.null_slot(name)?;
        self.owned_streams.borrow_mut().push(slot);
        Ok(slot)
    }

    /// Slots for an element.
    pub(super) fn element_slots(&self, element: ElementType, name: &str) -> Emit<Slots<'ctx>> {
        let ty = element.lane();
        let component: BasicTypeEnum<'ctx> = if ty.is_float() || ty.is_complex() {
            self.emitter.float_type(ty)?.into()
        } else {
            self.emitter.int_type(ty)?.into()
        };
        let lane = || -> Emit<_> {
            let second = if ty.is_complex() { Some(self.slot(component, name)?) } else { None };
            Ok((self.slot(component, name)?, second))
        };
        let lanes = (0..element.lanes()).map(|_| lane()).collect::<Emit<Vec<_>>>()?;
        Ok(Slots { ty, lanes })
    }

    /// Forgets what slots hold, so that no value is carried from one run of a tasklet to the next.
    pub(super) fn forget_slots(&self, slots: &Slots<'ctx>) -> Emit<()> {
        let ty = slots.ty;
        for (first, second) in &slots.lanes {
            for slot in [Some(first), second.as_ref()].into_iter().flatten() {
                if ty.is_float() || ty.is_complex() {
                    self.builder.build_store(*slot, self.emitter.float_type(ty)?.get_undef())?;
                } else {
                    self.builder.build_store(*slot, self.emitter.int_type(ty)?.get_undef())?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn load_slots(&self, slots: &Slots<'ctx>) -> Emit<Lanes<'ctx>> {
        let ty = slots.ty;
        let load_float = |slot| -> Emit<_> {
            Ok(self.builder.build_load(self.emitter.float_type(ty)?, slot, "")?.into_float_value())
        };
        let lane = |(first, second): &(PointerValue<'ctx>, Option<PointerValue<'ctx>>)| -> Emit<_> {
            Ok(match second {
                Some(second) => Lane::Complex(load_float(*first)?, load_float(*second)?),
                None if ty.is_float() => Lane::Float(load_float(*first)?),
                None => {
                    let int = self.emitter.int_type(ty)?;
                    Lane::Int(self.builder.build_load(int, *first, "")?.into_int_value())
                }
            })
        };
        Ok(Lanes { ty, lanes: slots.lanes.iter().map(lane).collect::<Emit<_>>()? })
    }

    pub(super) fn store_slots(&self, slots: &Slots<'ctx>, value: &Lanes<'ctx>) -> Emit<()> {
        if value.lanes.len() != slots.lanes.len() || value.ty != slots.ty {
            return Err(self.emitter.defect("a value does not have the type of its variable"));
        }
        for ((first, second), lane) in slots.lanes.iter().zip(&value.lanes) {
            match (lane, second) {
                (Lane::Int(value), _) => self.builder.build_store(*first, *value)?,
                (Lane::Float(value), _) => self.builder.build_store(*first, *value)?,
                (Lane::Complex(re, im), Some(second)) => {
                    self.builder.build_store(*first, *re)?;
                    self.builder.build_store(*second, *im)?
                }
                (Lane::Complex(..), None) => return Err(self.emitter.defect("a complex slot has two parts")),
            };
        }
        Ok(())
    }

    // Variables of the plan.

    /// The variable as a 64-bit integer.
    pub(super) fn variable(&self, name: &Symbol) -> Emit<IntValue<'ctx>> {
        let (ty, value) = self.typed_variable(name)?;
        self.to_i64(value, ty)
    }

    /// The variable in its own type.
    pub(super) fn typed_variable(&self, name: &Symbol) -> Emit<(ScalarType, IntValue<'ctx>)> {
        let (ty, slot) = self
            .variables
            .borrow()
            .get(name)
            .copied()
            .ok_or_else(|| self.emitter.defect(format!("variable `{name}` is read before it is set")))?;
        let int = self.emitter.int_type(ty)?;
        Ok((ty, self.builder.build_load(int, slot, name.as_str())?.into_int_value()))
    }

    /// Makes a slot for the variable if it has none.
    pub(super) fn declare_variable(&self, name: &Symbol) -> Emit<()> {
        self.variable_slot(name).map(|_| ())
    }

    /// The slot of a variable with its type, made if there is none.
    pub(super) fn variable_slot(&self, name: &Symbol) -> Emit<(ScalarType, PointerValue<'ctx>)> {
        let known = self.variables.borrow().get(name).copied();
        if let Some(known) = known {
            return Ok(known);
        }
        let ty = self.emitter.plan.variables.get(name).copied().unwrap_or(ScalarType::I64);
        let slot = self.slot(self.emitter.int_type(ty)?, name.as_str())?;
        self.variables.borrow_mut().insert(name.clone(), (ty, slot));
        Ok((ty, slot))
    }

    /// Sets the variable to a value of its own type.
    pub(super) fn set_typed_variable(&self, name: &Symbol, value: IntValue<'ctx>) -> Emit<()> {
        let (ty, slot) = self.variable_slot(name)?;
        if self.emitter.int_type(ty)? != value.get_type() {
            return Err(self.emitter.defect(format!("variable `{name}` is set to another type")));
        }
        self.builder.build_store(slot, value)?;
        Ok(())
    }

    /// Sets the variable to a 64-bit integer, converted to its type.
    pub(super) fn set_variable(&self, name: &Symbol, value: IntValue<'ctx>) -> Emit<()> {
        let ty = self.emitter.plan.variables.get(name).copied().unwrap_or(ScalarType::I64);
        let value = self.narrow(value, ty)?;
        self.set_typed_variable(name, value)
    }

    /// An integer or `bool` of type `ty` as 64 bits.
    pub(super) fn to_i64(&self, value: IntValue<'ctx>, ty: ScalarType) -> Emit<IntValue<'ctx>> {
        let i64 = self.emitter.i64();
        Ok(match ty {
            ScalarType::I64 | ScalarType::U64 => value,
            ScalarType::I8 | ScalarType::I16 | ScalarType::I32 => {
                self.builder.build_int_s_extend(value, i64, "")?
            }
            ScalarType::Bool
            | ScalarType::U8
            | ScalarType::U16
            | ScalarType::U32
            | ScalarType::F16
            | ScalarType::F32
            | ScalarType::F64
            | ScalarType::Complex64
            | ScalarType::Complex128 => self.builder.build_int_z_extend(value, i64, "")?,
        })
    }

    /// 64 bits as an integer or `bool` of type `ty`.
    pub(super) fn narrow(&self, value: IntValue<'ctx>, ty: ScalarType) -> Emit<IntValue<'ctx>> {
        Ok(match ty {
            ScalarType::I64 | ScalarType::U64 => value,
            ScalarType::Bool => self.compare(IntPredicate::NE, value, self.emitter.constant(0))?,
            ScalarType::I8
            | ScalarType::I16
            | ScalarType::I32
            | ScalarType::U8
            | ScalarType::U16
            | ScalarType::U32
            | ScalarType::F16
            | ScalarType::F32
            | ScalarType::F64
            | ScalarType::Complex64
            | ScalarType::Complex128 => {
                self.builder.build_int_truncate(value, self.emitter.int_type(ty)?, "")?
            }
        })
    }

    // Buffers and jumps.

    pub(super) fn bind_buffer(&self, id: BufferId, base: Base<'ctx>) {
        self.buffers.borrow_mut().insert(id, base);
    }

    pub(super) fn buffer_base(&self, id: BufferId) -> Option<Base<'ctx>> {
        self.buffers.borrow().get(&id).copied()
    }

    /// Whether a buffer is a stream.
    pub(super) fn is_stream(&self, id: BufferId) -> bool {
        matches!(self.emitter.plan.buffer(id).allocation, Allocation::Queues { .. })
    }

    pub(super) fn bind_jumps(&self, target: JumpTarget, jumps: Jumps<'ctx>) {
        self.timers.note_target(target);
        self.jumps.borrow_mut().insert(target, jumps);
    }

    pub(super) fn jumps(&self, target: JumpTarget) -> Emit<Jumps<'ctx>> {
        self.jumps
            .borrow()
            .get(&target)
            .cloned()
            .ok_or_else(|| self.emitter.defect("a jump leaves its function"))
    }

    // Accesses of the innermost loop, for its metadata.

    pub(super) fn begin_loop(&self) {
        self.accesses.borrow_mut().push(Vec::new());
    }

    /// The accesses since the loop began, without those of loops inside.
    pub(super) fn end_loop(&self) -> Vec<InstructionValue<'ctx>> {
        self.accesses.borrow_mut().pop().unwrap_or_default()
    }

    pub(super) fn record_access(&self, access: InstructionValue<'ctx>) {
        if let Some(innermost) = self.accesses.borrow_mut().last_mut() {
            innermost.push(access);
        }
    }

    // Instructions that every part of the emitter needs.

    pub(super) fn compare(
        &self,
        predicate: IntPredicate,
        a: IntValue<'ctx>,
        b: IntValue<'ctx>,
    ) -> Emit<IntValue<'ctx>> {
        Ok(self.builder.build_int_compare(predicate, a, b, "")?)
    }

    pub(super) fn select_int(
        &self,
        condition: IntValue<'ctx>,
        then: IntValue<'ctx>,
        otherwise: IntValue<'ctx>,
    ) -> Emit<IntValue<'ctx>> {
        Ok(self.builder.build_select(condition, then, otherwise, "")?.into_int_value())
    }

    pub(super) fn load_pointer(&self, slot: PointerValue<'ctx>) -> Emit<PointerValue<'ctx>> {
        Ok(self.builder.build_load(self.emitter.pointer(), slot, "")?.into_pointer_value())
    }

    /// The address of element `index` of an array of `ty` at `base`.
    pub(super) fn address<T: BasicType<'ctx>>(
        &self,
        ty: T,
        base: PointerValue<'ctx>,
        index: IntValue<'ctx>,
    ) -> Emit<PointerValue<'ctx>> {
        // SAFETY: a single index over a sized type is well-formed; that it stays inside of its buffer is what
        // validation of the program established.
        Ok(unsafe { self.builder.build_in_bounds_gep(ty, base, &[index], "")? })
    }

    /// Calls a function that returns a value.
    pub(super) fn call(
        &self,
        function: FunctionValue<'ctx>,
        arguments: &[BasicMetadataValueEnum<'ctx>],
    ) -> Emit<BasicValueEnum<'ctx>> {
        self.builder
            .build_call(function, arguments, "")?
            .try_as_basic_value()
            .basic()
            .ok_or_else(|| self.emitter.defect("a function without a result is used as a value"))
    }

    /// Calls a function for what it does.
    pub(super) fn perform(
        &self,
        function: FunctionValue<'ctx>,
        arguments: &[BasicMetadataValueEnum<'ctx>],
    ) -> Emit<()> {
        self.builder.build_call(function, arguments, "")?;
        Ok(())
    }

    /// Calls the intrinsic `name`, overloaded on `ty`.
    pub(super) fn intrinsic(
        &self,
        name: &str,
        types: &[BasicTypeEnum<'ctx>],
        arguments: &[BasicMetadataValueEnum<'ctx>],
    ) -> Emit<BasicValueEnum<'ctx>> {
        debug_assert!(Intrinsic::find(name).is_some(), "LLVM knows {name}");
        self.call(self.emitter.intrinsic(name, types)?, arguments)
    }
}
