//! Loads and stores of the lanes' elements, by the access patterns of the plan.

use inkwell::types::{BasicType, BasicTypeEnum, VectorType};
use inkwell::values::{AsValueRef, BasicValueEnum, IntValue, PointerValue, VectorValue};
use sdfg::dtype::{ElementType, ScalarType};

use super::Lanes;
use super::widen::Wide;
use crate::llvm::emitter::{Emit, components};
use crate::plan::{BufferId, LaneAccess};

/// Locations of the lanes' elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places<'ctx> {
    buffer: BufferId,
    element: ElementType,
    /// Position of the elements in the buffer: one in each lane, or that of the lane which is first in memory.
    position: Position<'ctx>,
}

#[derive(Clone, Copy, Debug)]
enum Position<'ctx> {
    /// The same in all lanes.
    Uniform(IntValue<'ctx>),
    /// Neighbours from here on, the last lane first if so said.
    Row(IntValue<'ctx>, bool),
    /// Elements this far apart from here on, at a distance that is known.
    Spaced(IntValue<'ctx>, i64),
    /// Anywhere.
    Each(VectorValue<'ctx>),
}

impl<'ctx> Lanes<'_, '_, 'ctx> {
    /// The places of the lanes' elements of a buffer. `offset` is their position: a vector, or what it is in the first lane.
    pub(super) fn places(
        &self,
        buffer: BufferId,
        way: &LaneAccess,
        offset: BasicValueEnum<'ctx>,
    ) -> Emit<Places<'ctx>> {
        let function = self.function;
        let element = function.emitter.plan.buffer(buffer).element;
        let width = i64::from(self.vector.width);
        let scalar = || match offset {
            BasicValueEnum::IntValue(offset) => Ok(offset),
            _ => Err(function.emitter.defect("the lanes share an offset")),
        };
        let position = match way {
            LaneAccess::Uniform => Position::Uniform(scalar()?),
            LaneAccess::Contiguous => Position::Row(scalar()?, false),
            LaneAccess::Reversed => {
                let last = function.emitter.constant(width - 1);
                Position::Row(function.subtract(scalar()?, last)?, true)
            }
            LaneAccess::Strided(stride) => match stride.as_int() {
                Some(stride) => Position::Spaced(scalar()?, stride),
                None => {
                    let stride = function.splat(function.plain_index(stride)?.into(), self.vector.width)?;
                    let distance = function.builder.build_int_nsw_mul(self.numbers(), stride, "")?;
                    let first = function.splat(offset, self.vector.width)?;
                    Position::Each(function.builder.build_int_nsw_add(first, distance, "")?)
                }
            },
            LaneAccess::Own => {
                let width = function.emitter.constant(width);
                Position::Row(function.multiply(scalar()?, width)?, false)
            }
            LaneAccess::OwnIndexed => {
                let width = function.splat(function.emitter.constant(width).into(), self.vector.width)?;
                let offset = function.splat(offset, self.vector.width)?;
                let first = function.builder.build_int_nsw_mul(offset, width, "")?;
                Position::Each(function.builder.build_int_nsw_add(first, self.numbers(), "")?)
            }
            LaneAccess::Indexed => Position::Each(function.splat(offset, self.vector.width)?),
            LaneAccess::InOrder | LaneAccess::Fold(_) => {
                return Err(function.emitter.defect("what lanes do one after the other has no vector"));
            }
        };
        Ok(Places { buffer, element, position })
    }

    /// The numbers of the lanes.
    pub(super) fn numbers(&self) -> VectorValue<'ctx> {
        let number = |lane: u32| self.function.emitter.constant(i64::from(lane));
        let numbers: Vec<IntValue<'ctx>> = (0..self.vector.width).map(number).collect();
        VectorType::const_vector(&numbers)
    }

    /// The elements of all lanes, of those that take part if there is a mask; the others are zero then.
    pub(super) fn load(&self, places: &Places<'ctx>, mask: Option<VectorValue<'ctx>>) -> Emit<Wide<'ctx>> {
        let function = self.function;
        let (ty, width) = (places.element.lane(), self.vector.width);
        let n = components(places.element);
        let parts = match (places.position, mask) {
            (Position::Uniform(position), None) => {
                let place = function.place_at(places.buffer, position)?;
                return Ok(Wide::uniform(&function.load(&place)?));
            }
            (Position::Row(first, reversed), mask) => {
                let mask = mask.map(|mask| self.mask_of_row(mask, reversed, n)).transpose()?;
                let row = self.load_row(places, first, n * width, mask)?;
                let lane = |lane: u32| if reversed { width - 1 - lane } else { lane };
                self.taken_apart(row, n, &|number| lane(number) * n)?
            }
            (Position::Spaced(first, stride), None) if stride.abs() == 2 && n == 1 => {
                vec![self.load_every_other(places, first, stride < 0)?]
            }
            (position, mask) => {
                let component = function.emitter.component_type(ty)?;
                let mask = mask.map_or_else(|| self.all(), Ok)?;
                let addresses = self.addresses(places, position)?;
                let of = |address| self.gather(component, address, mask);
                addresses.into_iter().map(of).collect::<Emit<Vec<_>>>()?
            }
        };
        let parts = parts.into_iter().map(|part| Ok(self.in_register(ty, part)?.into()));
        Ok(Wide { ty, parts: parts.collect::<Emit<_>>()? })
    }

    /// Stores the elements of all lanes, or of those that take part.
    pub(super) fn store(
        &self,
        places: &Places<'ctx>,
        value: &Wide<'ctx>,
        mask: Option<VectorValue<'ctx>>,
    ) -> Emit<()> {
        let function = self.function;
        let (ty, width) = (places.element.lane(), self.vector.width);
        if value.ty != ty || value.parts.len() != components(places.element) as usize {
            return Err(function.emitter.defect("a value of another type is stored"));
        }
        let parts = self.spread(value)?.into_iter().map(|part| self.in_memory(ty, part));
        let parts = parts.collect::<Emit<Vec<_>>>()?;
        let n = components(places.element);
        match places.position {
            Position::Row(first, reversed) => {
                let turned: Vec<u32> = (0..width).rev().collect();
                let turn = |part: VectorValue<'ctx>| {
                    if reversed { function.shuffled(part, None, &turned) } else { Ok(part) }
                };
                let parts = parts.into_iter().map(turn).collect::<Emit<Vec<_>>>()?;
                let row = self.put_together(&parts)?;
                let mask = mask.map(|mask| self.mask_of_row(mask, reversed, n));
                self.store_row(places, first, row, mask.transpose()?)
            }
            position => {
                let mask = mask.map_or_else(|| self.all(), Ok)?;
                for (address, part) in self.addresses(places, position)?.into_iter().zip(parts) {
                    self.scatter(address, part, mask, alignment(ty))?;
                }
                Ok(())
            }
        }
    }

    /// The mask of the components of a row in memory, of which each lane has `n`.
    fn mask_of_row(&self, mask: VectorValue<'ctx>, reversed: bool, n: u32) -> Emit<VectorValue<'ctx>> {
        if n == 1 && !reversed {
            return Ok(mask);
        }
        let width = self.vector.width;
        let lane = |number: u32| if reversed { width - 1 - number / n } else { number / n };
        let positions: Vec<u32> = (0..width * n).map(lane).collect();
        self.function.shuffled(mask, None, &positions)
    }

    /// The mask of all lanes.
    pub(super) fn all(&self) -> Emit<VectorValue<'ctx>> {
        let yes = self.function.emitter.i1().const_int(1, false);
        self.function.splat(yes.into(), self.vector.width)
    }

    /// The position of each lane.
    fn each(&self, position: Position<'ctx>) -> Emit<VectorValue<'ctx>> {
        let (function, width) = (self.function, self.vector.width);
        let spaced = |first: IntValue<'ctx>, stride: i64| -> Emit<_> {
            let stride = function.splat(function.emitter.constant(stride).into(), width)?;
            let distance = function.builder.build_int_nsw_mul(self.numbers(), stride, "")?;
            Ok(function.builder.build_int_nsw_add(function.splat(first.into(), width)?, distance, "")?)
        };
        match position {
            Position::Uniform(position) => function.splat(position.into(), width),
            Position::Row(first, false) => spaced(first, 1),
            Position::Row(first, true) => {
                let last = function.add(first, function.emitter.constant(i64::from(width) - 1))?;
                spaced(last, -1)
            }
            Position::Spaced(first, stride) => spaced(first, stride),
            Position::Each(positions) => Ok(positions),
        }
    }

    // Rows of neighbours.

    fn row_address(&self, places: &Places<'ctx>, first: IntValue<'ctx>) -> Emit<PointerValue<'ctx>> {
        let element = self.function.emitter.element_type(places.element)?;
        self.function.address(element, self.function.base(places.buffer)?, first)
    }

    /// The parts of a row of `n` components that are accessed one after the other, each by its first component and their number. Left to
    /// itself, LLVM cuts longer vectors in pieces that it stores in any order, which takes half as long again beyond the nearest cache.
    fn pieces(&self, ty: ScalarType, n: u32) -> impl Iterator<Item = (u32, u32)> + use<> {
        let bytes = u64::from(alignment(ty));
        let most = u32::try_from(self.vector.register_bytes / bytes).unwrap_or(n).max(1);
        (0..n).step_by(most as usize).map(move |first| (first, most.min(n - first)))
    }

    /// The address of a component in a row.
    fn component_address(
        &self,
        places: &Places<'ctx>,
        row: PointerValue<'ctx>,
        number: u32,
    ) -> Emit<PointerValue<'ctx>> {
        if number == 0 {
            return Ok(row);
        }
        let component = self.function.emitter.component_type(places.element.lane())?;
        self.function.address(component, row, self.function.emitter.constant(i64::from(number)))
    }

    /// A row of `n` components, of those that take part if there is a mask; the others are zero then.
    fn load_row(
        &self,
        places: &Places<'ctx>,
        first: IntValue<'ctx>,
        n: u32,
        mask: Option<VectorValue<'ctx>>,
    ) -> Emit<VectorValue<'ctx>> {
        let function = self.function;
        let ty = places.element.lane();
        let address = self.row_address(places, first)?;
        let mut row: Option<VectorValue<'ctx>> = None;
        for (number, length) in self.pieces(ty, n) {
            let vector = vector_of(function.emitter.component_type(ty)?, length)
                .ok_or_else(|| function.emitter.defect("a component is a number"))?;
            let address = self.component_address(places, address, number)?;
            let piece = match mask {
                None => {
                    let piece = function.builder.build_load(vector, address, "")?.into_vector_value();
                    if let Some(load) = piece.as_instruction() {
                        load.set_alignment(alignment(ty)).map_err(|error| function.emitter.defect(error))?;
                    }
                    piece
                }
                Some(mask) => {
                    let types = [vector.into(), address.get_type().into()];
                    let alignment = function.emitter.i32().const_int(u64::from(alignment(ty)), false);
                    let load = function.emitter.intrinsic("llvm.masked.load", &types)?;
                    let mask = self.cut(mask, number, length)?;
                    let arguments =
                        [address.into(), alignment.into(), mask.into(), vector.const_zero().into()];
                    function.call(load, &arguments)?.into_vector_value()
                }
            };
            row = Some(match row {
                None => piece,
                Some(row) => self.joined(row, piece)?,
            });
        }
        row.ok_or_else(|| function.emitter.defect("a row has elements"))
    }

    /// So many numbers of a vector, from the number `first` on.
    fn cut(&self, whole: VectorValue<'ctx>, first: u32, length: u32) -> Emit<VectorValue<'ctx>> {
        if length == whole.get_type().get_size() {
            return Ok(whole);
        }
        let positions: Vec<u32> = (first..first + length).collect();
        self.function.shuffled(whole, None, &positions)
    }

    /// A vector and another one behind it, which is no longer.
    fn joined(&self, row: VectorValue<'ctx>, behind: VectorValue<'ctx>) -> Emit<VectorValue<'ctx>> {
        let (length, more) = (row.get_type().get_size(), behind.get_type().get_size());
        // Both operands of a shuffle have one length; what fills the second one up is not used.
        let longer: Vec<u32> = (0..length).map(|number| number.min(more - 1)).collect();
        let longer = if length == more { behind } else { self.function.shuffled(behind, None, &longer)? };
        let positions: Vec<u32> = (0..length + more).collect();
        self.function.shuffled(row, Some(longer), &positions)
    }

    /// Every other element from `first` on, or back. Where an iteration follows in any case, that is every element up to its own; otherwise
    /// both halves are loaded with what lies between, and nothing beyond the last one.
    fn load_every_other(
        &self,
        places: &Places<'ctx>,
        first: IntValue<'ctx>,
        reversed: bool,
    ) -> Emit<VectorValue<'ctx>> {
        let (function, width) = (self.function, self.vector.width);
        let constant = |value: u32| function.emitter.constant(i64::from(value));
        if self.vector.ahead {
            // The row begins or ends between the elements of two iterations.
            let least = if reversed { function.subtract(first, constant(2 * width - 1))? } else { first };
            let row = self.load_row(places, least, 2 * width, None)?;
            let of_lane = |lane: u32| if reversed { 2 * (width - lane) - 1 } else { 2 * lane };
            return function.shuffled(row, None, &(0..width).map(of_lane).collect::<Vec<_>>());
        }
        let least = if reversed { function.subtract(first, constant(2 * (width - 1)))? } else { first };
        let low = self.load_row(places, least, width, None)?;
        let high = self.load_row(places, function.add(least, constant(width - 1))?, width, None)?;
        let of_lane = |lane: u32| {
            let position = 2 * if reversed { width - 1 - lane } else { lane };
            // The second row begins with the last element of the first.
            if position < width { position } else { position + 1 }
        };
        function.shuffled(low, Some(high), &(0..width).map(of_lane).collect::<Vec<_>>())
    }

    fn store_row(
        &self,
        places: &Places<'ctx>,
        first: IntValue<'ctx>,
        row: VectorValue<'ctx>,
        mask: Option<VectorValue<'ctx>>,
    ) -> Emit<()> {
        let function = self.function;
        let ty = places.element.lane();
        let start = self.row_address(places, first)?;
        let length = row.get_type().get_size();
        for (number, part) in self.pieces(ty, length) {
            let piece = self.cut(row, number, part)?;
            let address = self.component_address(places, start, number)?;
            let Some(mask) = mask else {
                let store = function.builder.build_store(address, piece)?;
                store.set_alignment(alignment(ty)).map_err(|error| function.emitter.defect(error))?;
                continue;
            };
            let types = [piece.get_type().into(), address.get_type().into()];
            let alignment = function.emitter.i32().const_int(u64::from(alignment(ty)), false);
            let store = function.emitter.intrinsic("llvm.masked.store", &types)?;
            let mask = self.cut(mask, number, part)?;
            function.perform(store, &[piece.into(), address.into(), alignment.into(), mask.into()])?;
        }
        Ok(())
    }

    /// The components of elements in a row, of which that of a lane begins at `first`.
    fn taken_apart(
        &self,
        row: VectorValue<'ctx>,
        n: u32,
        first: &dyn Fn(u32) -> u32,
    ) -> Emit<Vec<VectorValue<'ctx>>> {
        let whole: Vec<u32> = (0..row.get_type().get_size()).collect();
        let part = |component: u32| {
            let positions: Vec<u32> = (0..self.vector.width).map(|lane| first(lane) + component).collect();
            if positions == whole { Ok(row) } else { self.function.shuffled(row, None, &positions) }
        };
        (0..n).map(part).collect()
    }

    /// Elements in a row: the components of the first lane, then of the next.
    fn put_together(&self, parts: &[VectorValue<'ctx>]) -> Emit<VectorValue<'ctx>> {
        let (function, width) = (self.function, self.vector.width);
        let [first, rest @ ..] = parts else {
            return Err(function.emitter.defect("an element has components"));
        };
        if rest.is_empty() {
            return Ok(*first);
        }
        // One component behind the other, then in the order of memory.
        let mut row = *first;
        for part in rest {
            row = self.joined(row, *part)?;
        }
        let n = parts.len() as u32;
        let positions: Vec<u32> = (0..width * n).map(|number| number % n * width + number / n).collect();
        function.shuffled(row, None, &positions)
    }

    // Elements anywhere.

    /// The addresses of each component in all lanes. Where lanes are a known distance apart, that of the first is one number, and the others are
    /// constants from there: nothing is computed for each lane.
    fn addresses(&self, places: &Places<'ctx>, position: Position<'ctx>) -> Emit<Vec<VectorValue<'ctx>>> {
        let (function, width) = (self.function, self.vector.width);
        let n = components(places.element);
        let component = function.emitter.component_type(places.element.lane())?;
        let base = function.base(places.buffer)?;
        let (base, positions) = match position {
            Position::Spaced(first, stride) => {
                let element = function.emitter.element_type(places.element)?;
                let distance = |lane: u32| function.emitter.constant(i64::from(lane).wrapping_mul(stride));
                let distances: Vec<IntValue<'ctx>> = (0..width).map(distance).collect();
                (function.address(element, base, first)?, VectorType::const_vector(&distances))
            }
            Position::Uniform(_) | Position::Row(..) | Position::Each(_) => (base, self.each(position)?),
        };
        let constant = |value: u32| function.splat(function.emitter.constant(i64::from(value)).into(), width);
        (0..n)
            .map(|number| {
                let mut index = positions;
                if n > 1 {
                    index = function.builder.build_int_nsw_mul(index, constant(n)?, "")?;
                    index = function.builder.build_int_nsw_add(index, constant(number)?, "")?;
                }
                // SAFETY: an address calculation takes a vector of indices in place of one, and makes a vector of addresses; inkwell has
                // types for one index and one address alone. That each lies within the buffer is what validation established.
                unsafe {
                    let index = IntValue::new(index.as_value_ref());
                    let address = function.builder.build_gep(component, base, &[index], "")?;
                    Ok(VectorValue::new(address.as_value_ref()))
                }
            })
            .collect()
    }

    /// The elements at addresses, in runs that processors gather without a lane to spare.
    fn gather(
        &self,
        component: BasicTypeEnum<'ctx>,
        addresses: VectorValue<'ctx>,
        mask: VectorValue<'ctx>,
    ) -> Emit<VectorValue<'ctx>> {
        let mut gathered: Option<VectorValue<'ctx>> = None;
        for (first, length) in runs(self.vector.width) {
            let (addresses, mask) = (self.cut(addresses, first, length)?, self.cut(mask, first, length)?);
            let run = self.gather_run(component, addresses, mask)?;
            gathered = Some(match gathered {
                None => run,
                Some(gathered) => self.joined(gathered, run)?,
            });
        }
        gathered.ok_or_else(|| self.function.emitter.defect("a vector has lanes"))
    }

    fn gather_run(
        &self,
        component: BasicTypeEnum<'ctx>,
        addresses: VectorValue<'ctx>,
        mask: VectorValue<'ctx>,
    ) -> Emit<VectorValue<'ctx>> {
        let function = self.function;
        let ty = vector_of(component, addresses.get_type().get_size())
            .ok_or_else(|| function.emitter.defect("a component is a number"))?;
        let bytes = component.size_of().and_then(|size| size.get_zero_extended_constant()).unwrap_or(1);
        let alignment = function.emitter.i32().const_int(bytes, false);
        let gather = function
            .emitter
            .intrinsic("llvm.masked.gather", &[ty.into(), addresses.get_type().as_basic_type_enum()])?;
        let arguments = [addresses.into(), alignment.into(), mask.into(), ty.const_zero().into()];
        Ok(function.call(gather, &arguments)?.into_vector_value())
    }

    fn scatter(
        &self,
        addresses: VectorValue<'ctx>,
        value: VectorValue<'ctx>,
        mask: VectorValue<'ctx>,
        alignment: u32,
    ) -> Emit<()> {
        let function = self.function;
        let alignment = function.emitter.i32().const_int(u64::from(alignment), false);
        let types = [value.get_type().into(), addresses.get_type().as_basic_type_enum()];
        let scatter = function.emitter.intrinsic("llvm.masked.scatter", &types)?;
        function.perform(scatter, &[value.into(), addresses.into(), alignment.into(), mask.into()])
    }

    // A `bool` is a byte in memory and a bit in registers.

    fn in_register(&self, ty: ScalarType, part: VectorValue<'ctx>) -> Emit<VectorValue<'ctx>> {
        if ty != ScalarType::Bool {
            return Ok(part);
        }
        let zero = part.get_type().const_zero();
        Ok(self.function.builder.build_int_compare(inkwell::IntPredicate::NE, part, zero, "")?)
    }

    fn in_memory(&self, ty: ScalarType, part: VectorValue<'ctx>) -> Emit<VectorValue<'ctx>> {
        if ty != ScalarType::Bool {
            return Ok(part);
        }
        let bytes = self.function.emitter.i8().vec_type(self.vector.width);
        Ok(self.function.builder.build_int_z_extend(part, bytes, "")?)
    }
}

/// Bytes that the components of elements are aligned to: nothing more is known of the caller's memory.
fn alignment(ty: ScalarType) -> u32 {
    ty.component().size() as u32
}

fn vector_of(component: BasicTypeEnum<'_>, n: u32) -> Option<VectorType<'_>> {
    match component {
        BasicTypeEnum::IntType(ty) => Some(ty.vec_type(n)),
        BasicTypeEnum::FloatType(ty) => Some(ty.vec_type(n)),
        _ => None,
    }
}

/// Lanes in runs of powers of two, each by its first lane and its length, the longest first.
///
/// LLVM 19 fills other gathers up with lanes whose indices are undefined. A register that has no other lanes may then be that of the
/// result, too, as in `vpgatherqd (%rcx,%ymm0,4), %xmm0`, which processors refuse as no instruction.
fn runs(width: u32) -> impl Iterator<Item = (u32, u32)> {
    let lengths = (0..u32::BITS).rev().map(|bit| 1 << bit).filter(move |length| width & length != 0);
    lengths.scan(0, |first, length| {
        let run = (*first, length);
        *first += length;
        Some(run)
    })
}

#[cfg(test)]
mod tests {
    use super::runs;

    #[test]
    fn runs_are_powers_of_two_and_all_lanes() {
        assert_eq!(runs(64).collect::<Vec<_>>(), [(0, 64)]);
        assert_eq!(runs(43).collect::<Vec<_>>(), [(0, 32), (32, 8), (40, 2), (42, 1)]);
    }
}
