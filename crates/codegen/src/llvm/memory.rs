//! Element addresses, loads, stores and allocation.

use inkwell::IntPredicate;
use inkwell::module::Linkage;
use inkwell::values::{BasicValue, BasicValueEnum, FunctionValue, IntValue, PointerValue};
use sdfg::dtype::ElementType;

use super::check::{Access, Element};
use super::emitter::{Emit, Emitter};
use super::function::{Base, Function};
use super::value::{Lane, Lanes};
use crate::interface::Status;
use crate::plan::{Allocation, BufferId, Location, Stride, Strided};

/// The alignment of allocated buffers in bytes: a cache line, and the widest vector.
pub(super) const ALIGNMENT: u32 = 64;

/// From this size on, memory is asked for in huge pages.
pub(super) const HUGE: u64 = 4 << 20;
/// The size of a huge page.
pub(super) const HUGE_PAGE: u64 = 2 << 20;
/// `MADV_HUGEPAGE` of Linux.
const MADV_HUGEPAGE: u64 = 14;

/// Address and element type of something in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct ElementAddress<'ctx> {
    pub(super) address: PointerValue<'ctx>,
    pub(super) element: ElementType,
    /// Whether accesses belong to loop metadata: scratch memory is shared by the iterations of a loop that is
    /// otherwise independent.
    pub(super) recorded: bool,
    /// Checks before an access.
    pub(super) checked: Option<Element<'ctx>>,
}

impl<'ctx> Function<'_, 'ctx> {
    /// The address of the first element of a buffer.
    pub(super) fn base(&self, id: BufferId) -> Emit<PointerValue<'ctx>> {
        match self.buffer_base(id) {
            Some(Base::Fixed(pointer)) => Ok(pointer),
            Some(Base::Slot(slot)) => self.load_pointer(slot),
            None => {
                let name = &self.emitter.plan.buffer(id).name;
                Err(self.emitter.defect(format!("buffer `{name}` has no memory here")))
            }
        }
    }

    /// The place `offset` elements from the start of a buffer.
    pub(super) fn place_at(&self, id: BufferId, offset: IntValue<'ctx>) -> Emit<ElementAddress<'ctx>> {
        let buffer = self.emitter.plan.buffer(id);
        let address = self.address(self.emitter.element_type(buffer.element)?, self.base(id)?, offset)?;
        let recorded = match buffer.allocation {
            Allocation::Argument(_)
            | Allocation::Handle
            | Allocation::Persistent
            | Allocation::Dynamic
            | Allocation::Reference(_)
            | Allocation::Constant(_) => true,
            Allocation::Stack | Allocation::Thread | Allocation::Queues { .. } => false,
        };
        let is_looked_at = self.is_checked() && !self.is_stream(id);
        let checked = is_looked_at.then_some(Element { buffer: id, position: offset });
        Ok(ElementAddress { address, element: buffer.element, recorded, checked })
    }

    pub(super) fn place(&self, location: &Location) -> Emit<ElementAddress<'ctx>> {
        self.place_at(location.buffer, self.plain_index(&location.offset)?)
    }

    /// The place of an index of a strided part.
    pub(super) fn strided_place(
        &self,
        part: &Strided,
        indices: &[IntValue<'ctx>],
    ) -> Emit<ElementAddress<'ctx>> {
        let mut offset = self.plain_index(&part.origin.offset)?;
        for (index, stride) in indices.iter().zip(&part.strides) {
            offset = self.add(offset, self.stride_at(stride, *index)?)?;
        }
        self.place_at(part.origin.buffer, offset)
    }

    /// Distance of an index of a dimension from index 0.
    pub(super) fn stride_at(&self, stride: &Stride, index: IntValue<'ctx>) -> Emit<IntValue<'ctx>> {
        match stride {
            Stride::Even(stride) if stride.is_one() => Ok(index),
            Stride::Even(stride) => self.multiply(index, self.plain_index(stride)?),
            Stride::Tiled(tiled) => {
                let length = self.plain_index(&tiled.length)?;
                // Indices are not negative.
                let position = self.builder.build_int_unsigned_div(index, length, "")?;
                let rest = self.builder.build_int_unsigned_rem(index, length, "")?;
                let position = self.multiply(position, self.plain_index(&tiled.between)?)?;
                self.add(position, self.multiply(rest, self.plain_index(&tiled.within)?)?)
            }
        }
    }

    /// The addresses of the lanes of a place.
    fn lane_addresses(&self, place: &ElementAddress<'ctx>) -> Emit<Vec<PointerValue<'ctx>>> {
        let component = self.emitter.component_type(place.element.lane())?;
        let width = if place.element.lane().is_complex() { 2 } else { 1 };
        (0..i64::from(place.element.lanes()))
            .map(|lane| match lane {
                0 => Ok(place.address),
                _ => self.address(component, place.address, self.emitter.constant(lane * width)),
            })
            .collect()
    }

    /// Each lane of a place as a place of its own.
    pub(super) fn lane_places(&self, place: &ElementAddress<'ctx>) -> Emit<Vec<ElementAddress<'ctx>>> {
        let element = ElementType::scalar(place.element.lane());
        let addresses = self.lane_addresses(place)?;
        Ok(addresses.into_iter().map(|address| ElementAddress { address, element, ..*place }).collect())
    }

    /// The components of a complex number as places of their own.
    pub(super) fn complex_parts(&self, place: &ElementAddress<'ctx>) -> Emit<[ElementAddress<'ctx>; 2]> {
        let component = place.element.lane().component();
        let second =
            self.address(self.emitter.component_type(component)?, place.address, self.emitter.constant(1))?;
        let element = ElementType::scalar(component);
        Ok([ElementAddress { element, ..*place }, ElementAddress { address: second, element, ..*place }])
    }

    pub(super) fn load(&self, place: &ElementAddress<'ctx>) -> Emit<Lanes<'ctx>> {
        self.look_at(place, Access::Read)?;
        let ty = place.element.lane();
        let component = self.emitter.component_type(ty)?;
        let part = |address| -> Emit<BasicValueEnum<'ctx>> {
            let value = self.builder.build_load(component, address, "")?;
            self.record(place, value)?;
            Ok(value)
        };
        let mut lanes = Vec::with_capacity(usize::from(place.element.lanes()));
        for address in self.lane_addresses(place)? {
            lanes.push(match part(address)? {
                BasicValueEnum::IntValue(value) if ty == sdfg::dtype::ScalarType::Bool => {
                    let zero = value.get_type().const_zero();
                    Lane::Int(self.compare(IntPredicate::NE, value, zero)?)
                }
                BasicValueEnum::IntValue(value) => Lane::Int(value),
                BasicValueEnum::FloatValue(re) if ty.is_complex() => {
                    let second = self.address(component, address, self.emitter.constant(1))?;
                    Lane::Complex(re, part(second)?.into_float_value())
                }
                BasicValueEnum::FloatValue(value) => Lane::Float(value),
                _ => return Err(self.emitter.defect("an element is neither integer nor float")),
            });
        }
        Ok(Lanes { ty, lanes })
    }

    pub(super) fn store(&self, place: &ElementAddress<'ctx>, value: &Lanes<'ctx>) -> Emit<()> {
        if value.element() != Some(place.element) {
            return Err(self
                .emitter
                .defect(format!("a value of another type than {} is stored", place.element)));
        }
        self.look_at(place, Access::Write)?;
        let component = self.emitter.component_type(value.ty)?;
        for (address, lane) in self.lane_addresses(place)?.into_iter().zip(&value.lanes) {
            match lane {
                Lane::Int(bit) if value.ty == sdfg::dtype::ScalarType::Bool => {
                    let byte = self.builder.build_int_z_extend(*bit, self.emitter.i8(), "")?;
                    self.store_part(place, address, byte)?;
                }
                Lane::Int(value) => self.store_part(place, address, *value)?,
                Lane::Float(value) => self.store_part(place, address, *value)?,
                Lane::Complex(re, im) => {
                    self.store_part(place, address, *re)?;
                    let second = self.address(component, address, self.emitter.constant(1))?;
                    self.store_part(place, second, *im)?;
                }
            }
        }
        Ok(())
    }

    fn store_part<V: BasicValue<'ctx>>(
        &self,
        place: &ElementAddress<'ctx>,
        address: PointerValue<'ctx>,
        value: V,
    ) -> Emit<()> {
        let store = self.builder.build_store(address, value)?;
        if place.recorded {
            self.record_access(store);
        }
        Ok(())
    }

    fn record(&self, place: &ElementAddress<'ctx>, value: BasicValueEnum<'ctx>) -> Emit<()> {
        if let Some(load) = value.as_instruction_value().filter(|_| place.recorded) {
            self.record_access(load);
        }
        Ok(())
    }

    // Allocation.

    /// The bytes of `elements` elements; negative counts are none, and sizes beyond the address space all that there is.
    pub(super) fn byte_size(&self, element: ElementType, elements: IntValue<'ctx>) -> Emit<IntValue<'ctx>> {
        self.bytes_of(element.size() as u64, elements)
    }

    /// As [`Function::byte_size`], of elements of so many bytes.
    pub(super) fn bytes_of(&self, size: u64, elements: IntValue<'ctx>) -> Emit<IntValue<'ctx>> {
        let elements = self.larger(elements, self.emitter.constant(0))?;
        let size = size as i64;
        let most = self.emitter.constant(i64::MAX / size);
        let too_many = self.compare(IntPredicate::SGT, elements, most)?;
        let bytes = self.builder.build_int_mul(elements, self.emitter.constant(size), "")?;
        self.select_int(too_many, self.emitter.constant(i64::MAX), bytes)
    }

    /// Memory for so many bytes, aligned to [`ALIGNMENT`]; null if there is none.
    pub(super) fn allocate(&self, bytes: IntValue<'ctx>) -> Emit<PointerValue<'ctx>> {
        Ok(self.call(allocation_function(self.emitter)?, &[bytes.into()])?.into_pointer_value())
    }

    /// Frees memory, or does nothing to null.
    pub(super) fn free(&self, pointer: PointerValue<'ctx>) -> Emit<()> {
        let free = self.emitter.declare("free", None, &[self.emitter.pointer().into()]);
        self.perform(free, &[pointer.into()])
    }

    /// Allocates a buffer into `slot`; without memory the function ends.
    pub(super) fn allocate_buffer(&self, id: BufferId, slot: PointerValue<'ctx>) -> Emit<()> {
        let buffer = self.emitter.plan.buffer(id);
        let bytes = self.byte_size(buffer.element, self.size(&buffer.size)?)?;
        self.allocate_into(slot, bytes, &format!("`{}`", buffer.name))
    }

    /// Allocates memory into `slot`; without memory the function ends, and says for what there is none.
    pub(super) fn allocate_into(
        &self,
        slot: PointerValue<'ctx>,
        bytes: IntValue<'ctx>,
        what: &str,
    ) -> Emit<()> {
        let pointer = self.allocate(bytes)?;
        self.builder.build_store(slot, pointer)?;
        let missing = self.builder.build_is_null(pointer, "")?;
        self.fail_if(missing, Status::OutOfMemory, &format!("no memory for {what}"))
    }

    /// Frees a dynamic buffer before the function ends.
    pub(super) fn free_buffer(&self, id: BufferId) -> Emit<()> {
        let Some(Base::Slot(slot)) = self.buffer_base(id) else {
            let name = &self.emitter.plan.buffer(id).name;
            return Err(self.emitter.defect(format!("buffer `{name}` is freed where it was not allocated")));
        };
        let address = self.load_pointer(slot)?;
        match self.is_stream(id) {
            true => self.close_stream(address)?,
            false => self.free(address)?,
        }
        self.builder.build_store(slot, self.emitter.pointer().const_null())?;
        Ok(())
    }

    /// A buffer of constant size on the stack.
    pub(super) fn stack_buffer(&self, id: BufferId, elements: u32) -> Emit<PointerValue<'ctx>> {
        use inkwell::types::BasicType;
        let buffer = self.emitter.plan.buffer(id);
        let ty = self.emitter.element_type(buffer.element)?;
        let bytes = u64::from(elements) * buffer.element.size() as u64;
        if bytes < u64::from(ALIGNMENT) {
            return self.slot(ty.array_type(elements.max(1)), &buffer.name);
        }
        self.aligned_slot(ty.array_type(elements), &buffer.name, ALIGNMENT)
    }
}

/// The function of this module that allocates memory: aligned, and in huge pages where that pays.
fn allocation_function<'ctx>(emitter: &Emitter<'ctx>) -> Emit<FunctionValue<'ctx>> {
    const NAME: &str = "allocate";
    if let Some(function) = emitter.module.get_function(NAME) {
        return Ok(function);
    }
    let (i64, pointer) = (emitter.i64(), emitter.pointer());
    let value = emitter.define(NAME, pointer.fn_type(&[i64.into()], false), Linkage::Internal);
    emitter.attribute(value, inkwell::attributes::AttributeLoc::Return, "noalias", 0);
    emitter.mark_cold(value);
    // Only the second takes any size.
    let name = if emitter.for_address_sanitizer() { "memalign" } else { "aligned_alloc" };
    let aligned = emitter.declare(name, Some(pointer.into()), &[i64.into(), i64.into()]);
    let advise = emitter.declare(
        "madvise",
        Some(emitter.i32().into()),
        &[pointer.into(), i64.into(), emitter.i32().into()],
    );
    let builder = emitter.context.create_builder();
    let block = |name| emitter.context.append_basic_block(value, name);
    let (entry, huge, advised, small) = (block("entry"), block("huge"), block("advised"), block("small"));
    let constant = |value: u64| i64.const_int(value, false);
    let bytes =
        value.get_nth_param(0).ok_or_else(|| emitter.defect("a parameter is missing"))?.into_int_value();
    // The size that is asked for is a multiple of the alignment, and not zero.
    let rounded = |alignment: u64| -> Emit<_> {
        if emitter.for_address_sanitizer() {
            // What lies behind the last element is not to be accessed.
            return Ok(bytes);
        }
        let raised = builder.build_int_add(bytes, constant(alignment - 1), "")?;
        let rounded = builder.build_and(raised, constant(!(alignment - 1)), "")?;
        let zero = builder.build_int_compare(IntPredicate::EQ, rounded, constant(0), "")?;
        Ok(builder.build_select(zero, constant(alignment), rounded, "")?.into_int_value())
    };
    let ask = |alignment: u64, size: IntValue<'ctx>| -> Emit<PointerValue<'ctx>> {
        let call = builder.build_call(aligned, &[constant(alignment).into(), size.into()], "")?;
        let memory = call.try_as_basic_value().basic();
        Ok(memory.ok_or_else(|| emitter.defect("allocation returns an address"))?.into_pointer_value())
    };

    builder.position_at_end(entry);
    let large = builder.build_int_compare(IntPredicate::UGE, bytes, constant(HUGE), "")?;
    builder.build_conditional_branch(large, huge, small)?;

    builder.position_at_end(huge);
    let size = rounded(HUGE_PAGE)?;
    let memory = ask(HUGE_PAGE, size)?;
    let missing = builder.build_is_null(memory, "")?;
    builder.build_conditional_branch(missing, small, advised)?;

    builder.position_at_end(advised);
    let advice = emitter.i32().const_int(MADV_HUGEPAGE, false);
    builder.build_call(advise, &[memory.into(), size.into(), advice.into()], "")?;
    builder.build_return(Some(&memory))?;

    builder.position_at_end(small);
    let memory = ask(u64::from(ALIGNMENT), rounded(u64::from(ALIGNMENT))?)?;
    builder.build_return(Some(&memory))?;
    Ok(value)
}
