//! Elements of memory: locations, loads, stores, and conflict resolutions with and without other threads.

use sdfg::dtype::{ElementType, ScalarKind, ScalarType};
use sdfg::ir::ConflictResolution;
use sdfg::symbolic::Expr;
use sdfg::syntax::CompareOp;
use sdfg::tasklet::TypedExpressionCode;

use super::check::Access;
use super::dialect::Dialect;
use super::error::{Print, defect};
use super::function::{Base, Function, Lanes};
use super::index::{narrow, narrow_literal};
use super::text::{Code, Precedence};
use super::types::lane_type;
use crate::plan::{BufferId, Location, Realisation, Resolved, Space, Stride, Strided, identity, operation};

/// An element of memory.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// It, as what can be assigned.
    pub(super) text: String,
    pub(super) element: ElementType,
    /// Whether the threads of a block of a device share it.
    pub(super) is_shared: bool,
    /// What is looked at before an access of a checked program: an element of a buffer at a position.
    pub(super) checked: Option<(BufferId, Code)>,
}

impl Place {
    /// One lane of it.
    fn lane(&self, lane: usize) -> String {
        if self.element.lanes() == 1 { self.text.clone() } else { format!("{}.lane[{lane}]", self.text) }
    }
}

impl Function<'_, '_> {
    /// The element `offset` elements from the start of a buffer.
    pub(super) fn place_at(&self, id: BufferId, offset: &Code) -> Place {
        let name = self.program.names.buffer(id);
        let element = self.program.plan.buffer(id).element;
        let text = match self.base(id) {
            Base::Pointer => format!("{name}[{}]", offset.text),
            Base::Variable => name.to_owned(),
        };
        let is_shared = self.program.plan.buffer(id).space == Space::BlockShared;
        let is_looked_at = self.is_checked() && !self.program.is_stream(id);
        let checked = is_looked_at.then(|| (id, offset.clone()));
        Place { text, element, is_shared, checked }
    }

    pub(super) fn place(&self, location: &Location) -> Print<Place> {
        Ok(self.place_at(location.buffer, &self.offset(&location.offset)?))
    }

    /// The element at an index of a strided part.
    pub(super) fn strided_place(&self, part: &Strided, indices: &[Code]) -> Print<Place> {
        if !self.has_narrow_indices {
            return Ok(self.place_at(part.origin.buffer, &self.strided_offset(part, indices)?));
        }
        let mut offset = self.offset(&part.origin.offset)?;
        for (index, stride) in indices.iter().zip(&part.strides) {
            let distance = match stride {
                Stride::Even(stride) => product(&narrow(index), &self.offset(stride)?),
                Stride::Tiled(_) => narrow(&self.stride_at(stride, index)?),
            };
            offset = narrow_literal(&sum(&offset, &narrow_literal(&distance)));
        }
        Ok(self.place_at(part.origin.buffer, &offset))
    }

    /// A number of elements within a buffer, in as many bits as the function has for indices.
    fn offset(&self, elements: &Expr) -> Print<Code> {
        if self.has_narrow_indices { self.narrow_index(elements) } else { self.plain_index(elements) }
    }

    /// Offset of an index of a strided part from the start of its buffer.
    pub(super) fn strided_offset(&self, part: &Strided, indices: &[Code]) -> Print<Code> {
        let mut offset = self.plain_index(&part.origin.offset)?;
        for (index, stride) in indices.iter().zip(&part.strides) {
            offset = sum(&offset, &self.stride_at(stride, index)?);
        }
        Ok(offset)
    }

    /// Distance of an index of a dimension from index 0, in elements.
    pub(super) fn stride_at(&self, stride: &Stride, index: &Code) -> Print<Code> {
        Ok(match stride {
            Stride::Even(stride) => product(index, &self.plain_index(stride)?),
            Stride::Tiled(tiled) => {
                let length = self.plain_index(&tiled.length)?;
                let position = Code::infix("/", Precedence::Product, index, &length);
                let rest = Code::infix("%", Precedence::Product, index, &length);
                let position = product(&position, &self.plain_index(&tiled.between)?);
                sum(&position, &product(&rest, &self.plain_index(&tiled.within)?))
            }
        })
    }

    /// The value of an element.
    pub(super) fn load(&mut self, place: &Place) -> Print<Lanes> {
        self.look_at(place, Access::Read)?;
        Ok(self.value_of(place))
    }

    /// The value of an element that was looked at.
    fn value_of(&self, place: &Place) -> Lanes {
        let ty = place.element.lane();
        let lane = |lane| {
            let code = Code::atom(place.lane(lane));
            match ty {
                ScalarType::Bool => Code::infix("!=", Precedence::Equality, &code, &Code::int(0)),
                _ => code,
            }
        };
        Lanes { ty, lanes: (0..usize::from(place.element.lanes())).map(lane).collect() }
    }

    /// Assigns an element.
    pub(super) fn store(&mut self, place: &Place, value: &Lanes) -> Print<()> {
        self.check_lanes(place, value)?;
        self.look_at(place, Access::Write)?;
        for (lane, code) in value.lanes.iter().enumerate() {
            self.set(&place.lane(lane), &code.text);
        }
        Ok(())
    }

    /// Assigns a variable or an element; compilers tell of assignments to itself.
    pub(super) fn set(&mut self, place: &str, value: &str) {
        if place != value {
            self.line(format!("{place} = {value};"));
        }
    }

    fn check_lanes(&self, place: &Place, value: &Lanes) -> Print<()> {
        if value.ty == place.element.lane() && value.lanes.len() == usize::from(place.element.lanes()) {
            return Ok(());
        }
        Err(defect(format!("a value of another type than {} is stored", place.element)))
    }

    /// Writes a value to an element.
    pub(super) fn write(&mut self, place: &Place, value: &Lanes, resolved: &Resolved) -> Print<()> {
        match resolved {
            Resolved::Store => self.store(place, value),
            Resolved::Combine { resolution, custom, realisation } => match realisation {
                Realisation::Atomic | Realisation::Locked if place.checked.is_some() => {
                    let replaces = matches!(resolution, ConflictResolution::Replace);
                    self.look_at(place, if replaces { Access::Write } else { Access::Update })?;
                    self.write(&Place { checked: None, ..place.clone() }, value, resolved)
                }
                Realisation::Plain => self.combine_plain(place, value, resolution, custom.as_deref()),
                Realisation::Locked => {
                    self.program.has_threads.set(true);
                    self.line("#pragma omp critical");
                    self.block("", |f| f.combine_plain(place, value, resolution, custom.as_deref()))
                }
                Realisation::Atomic => self.combine_atomic(place, value, resolution, custom.as_deref()),
            },
        }
    }

    /// Combines where no other thread writes meanwhile.
    pub(super) fn combine_plain(
        &mut self,
        place: &Place,
        value: &Lanes,
        resolution: &ConflictResolution,
        custom: Option<&TypedExpressionCode>,
    ) -> Print<()> {
        self.check_lanes(place, value)?;
        if matches!(resolution, ConflictResolution::Replace) {
            return self.store(place, value);
        }
        if let Some(op) = compound(resolution, value.ty) {
            self.look_at(place, Access::Update)?;
            for (lane, code) in value.lanes.iter().enumerate() {
                self.line(format!("{} {op} {};", place.lane(lane), code.text));
            }
            return Ok(());
        }
        let old = self.load(place)?;
        if combines_lanes(resolution) {
            return self.block("", |f| {
                let old = f.named_lanes(&old);
                let new = f.named_lanes(value);
                let combined = f.combine(&old, &new, resolution, custom)?;
                f.store(place, &combined)
            });
        }
        let combined = self.combine(&old, value, resolution, custom)?;
        self.store(place, &combined)
    }

    /// Lanes in variables of their own.
    pub(super) fn named_lanes(&mut self, value: &Lanes) -> Lanes {
        let lanes = value.lanes.iter().map(|code| self.held(value.ty, code.clone())).collect();
        Lanes { ty: value.ty, lanes }
    }

    /// The combination of an old and a new value, which are evaluated once unless [`combines_lanes`] holds.
    pub(super) fn combine(
        &mut self,
        old: &Lanes,
        new: &Lanes,
        resolution: &ConflictResolution,
        custom: Option<&TypedExpressionCode>,
    ) -> Print<Lanes> {
        let ty = old.ty;
        match resolution {
            ConflictResolution::Replace => return Ok(new.clone()),
            ConflictResolution::Custom(_) => {
                let code = custom.ok_or_else(|| defect("a custom resolution has no code"))?;
                return self.evaluate_function(code, vec![old.clone(), new.clone()]);
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
        let lanes = old.lanes.iter().zip(&new.lanes).map(|(a, b)| self.combine_lane(resolution, ty, a, b));
        Ok(Lanes { ty, lanes: lanes.collect::<Print<_>>()? })
    }

    fn combine_lane(
        &self,
        resolution: &ConflictResolution,
        ty: ScalarType,
        old: &Code,
        new: &Code,
    ) -> Print<Code> {
        let program = self.program;
        if let Some(op) = operation(resolution) {
            return program.binary(op, ty, old, new);
        }
        let (a, b) = (program.truth(ty, old), program.truth(ty, new));
        let truth = match resolution {
            ConflictResolution::And => Code::infix("&&", Precedence::And, &a, &b),
            ConflictResolution::Or => Code::infix("||", Precedence::Or, &a, &b),
            _ => Code::infix("!=", Precedence::Equality, &bracketed(&a), &bracketed(&b)),
        };
        program.cast(ScalarType::Bool, &truth, ty)
    }

    /// The (value, index) pair that wins; the smaller index on a tie.
    fn combine_location(&self, old: &Lanes, new: &Lanes, wins: CompareOp) -> Print<Lanes> {
        let ([old_value, old_index], [new_value, new_index]) = (old.lanes.as_slice(), new.lanes.as_slice())
        else {
            return Err(defect("a location is a pair"));
        };
        let (ty, program) = (old.ty, self.program);
        let better = program.compare(wins, ty, new_value, old_value);
        let equal = program.compare(CompareOp::Equal, ty, new_value, old_value);
        let earlier = program.compare(CompareOp::Less, ty, new_index, old_index);
        let tie = Code::infix("&&", Precedence::And, &equal, &earlier);
        let chosen = Code::infix("||", Precedence::Or, &better, &tie);
        let lanes = vec![
            program.choice(ty, &chosen, new_value, old_value),
            program.choice(ty, &chosen, new_index, old_index),
        ];
        Ok(Lanes { ty, lanes })
    }

    /// One atomic step. Where every lane, or every part of a complex sum, is combined on its own, each is a step of its own.
    fn combine_atomic(
        &mut self,
        place: &Place,
        value: &Lanes,
        resolution: &ConflictResolution,
        custom: Option<&TypedExpressionCode>,
    ) -> Print<()> {
        self.check_lanes(place, value)?;
        if self.is_of_device {
            return self.combine_on_device(place, value, resolution, custom);
        }
        self.program.has_threads.set(true);
        for (lane, code) in value.lanes.iter().enumerate() {
            let element = place.lane(lane);
            if value.ty.is_complex() {
                let number = self.named(value.ty, code.clone());
                for part in ["re", "im"] {
                    self.line("#pragma omp atomic");
                    self.line(format!("{element}.{part} += {}.{part};", number.text));
                }
            } else if matches!(resolution, ConflictResolution::Sum)
                && value.ty.is_integer()
                && value.ty.size() >= 4
            {
                // The addition of OpenMP's atomics may overflow; this one wraps.
                let address = format!("&{element}");
                let order = Code::atom("__ATOMIC_RELAXED");
                let addition = Code::call("__atomic_fetch_add", &[&Code::atom(address), code, &order]);
                self.line(format!("(void){};", addition.text));
            } else if let Some(op) = compound(resolution, value.ty) {
                self.line("#pragma omp atomic");
                self.line(format!("{element} {op} {};", code.at_least(Precedence::Choice)));
            } else {
                self.compare_exchange((&element, false), value.ty, code, resolution, custom)?;
            }
        }
        Ok(())
    }

    /// As [`combine_atomic`](Self::combine_atomic), by the atomic functions of a device.
    fn combine_on_device(
        &mut self,
        place: &Place,
        value: &Lanes,
        resolution: &ConflictResolution,
        custom: Option<&TypedExpressionCode>,
    ) -> Print<()> {
        let is_sum = matches!(resolution, ConflictResolution::Sum);
        let is_opencl = self.program.dialect == Dialect::OpenCl;
        for (lane, code) in value.lanes.iter().enumerate() {
            let element = place.lane(lane);
            if value.ty.is_complex() {
                let number = self.named(value.ty, code.clone());
                for part in ["re", "im"] {
                    if is_opencl {
                        let (element, number) =
                            (format!("{element}.{part}"), format!("{}.{part}", number.text));
                        let place = (element.as_str(), place.is_shared);
                        self.compare_exchange(
                            place,
                            value.ty.component(),
                            &Code::atom(number),
                            resolution,
                            None,
                        )?;
                        continue;
                    }
                    self.line(format!("atomicAdd(&{element}.{part}, {}.{part});", number.text));
                }
                continue;
            }
            match value.ty {
                ScalarType::I32 | ScalarType::U32 if is_sum && is_opencl => {
                    let space = space(place.is_shared);
                    let code = code.at_least(Precedence::Atom);
                    self.line(format!(
                        "(void)atomic_add((volatile {space} uint *)&{element}, (uint){code});"
                    ));
                }
                _ if is_opencl => {
                    let place = (element.as_str(), place.is_shared);
                    self.compare_exchange(place, value.ty, code, resolution, custom)?;
                }
                ScalarType::F32 | ScalarType::F64 | ScalarType::I32 | ScalarType::U32 if is_sum => {
                    self.line(format!("atomicAdd(&{element}, {});", code.text));
                }
                // CUDA adds to one type of 64 bits, whose sums are those of the others.
                ScalarType::I64 | ScalarType::U64 if is_sum => {
                    let ty = "unsigned long long";
                    let code = code.at_least(Precedence::Atom);
                    self.line(format!("atomicAdd(({ty} *)&{element}, ({ty}){code});"));
                }
                _ => self.compare_exchange((&element, false), value.ty, code, resolution, custom)?,
            }
        }
        Ok(())
    }

    /// Combines until no other thread wrote in between. `is_shared` says whether a block shares the element.
    fn compare_exchange(
        &mut self,
        (element, is_shared): (&str, bool),
        ty: ScalarType,
        value: &Code,
        resolution: &ConflictResolution,
        custom: Option<&TypedExpressionCode>,
    ) -> Print<()> {
        self.block("", |f| {
            let value = f.named(ty, value.clone());
            let (old, next) = (f.temporary(), f.temporary());
            f.line(format!("{} {old}, {next};", lane_type(ty)));
            f.line(if f.is_of_device {
                format!("{old} = {element};")
            } else {
                format!("__atomic_load(&{element}, &{old}, __ATOMIC_RELAXED);")
            });
            f.lines.open("do {");
            let held = Code::atom(old.clone());
            let held = if ty == ScalarType::Bool {
                Code::infix("!=", Precedence::Equality, &held, &Code::int(0))
            } else {
                held
            };
            let combined = f.combine(&Lanes::scalar(ty, held), &Lanes::scalar(ty, value), resolution, custom)?;
            let code = combined.only()?.text.clone();
            f.line(format!("{next} = {code};"));
            let exchange = if f.is_of_device && f.program.dialect == Dialect::OpenCl {
                let exchange = f.program.opencl_exchange(ty, is_shared);
                format!("{exchange}(&{element}, &{old}, {next})")
            } else if f.is_of_device {
                let exchange = f.program.helper("sdfg_exchange", || DEVICE_EXCHANGE.to_owned());
                format!("{exchange}(&{element}, &{old}, {next})")
            } else {
                format!("__atomic_compare_exchange(&{element}, &{old}, &{next}, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)")
            };
            f.lines.close(format!("}} while (!{exchange});"));
            Ok(())
        })
    }

    /// The value that a resolution leaves every other value unchanged with.
    pub(super) fn identity(&self, resolution: &ConflictResolution, element: ElementType) -> Print<Lanes> {
        let value = identity(resolution, element);
        let value = value.ok_or_else(|| defect("an accumulator's resolution has no identity"))?;
        let lanes = vec![self.program.constant(value); usize::from(element.lanes())];
        Ok(Lanes { ty: element.lane(), lanes })
    }
}

/// The address space of elements that threads share, in OpenCL.
const fn space(is_shared: bool) -> &'static str {
    if is_shared { "__local" } else { "__global" }
}

impl super::program::Program<'_> {
    /// The helper that compares and swaps an element in OpenCL: a word of 4 or 8 bytes, or an element within its word.
    fn opencl_exchange(&self, ty: ScalarType, is_shared: bool) -> String {
        let (space, bytes, t) = (space(is_shared), ty.size(), lane_type(ty));
        let name = format!("sdfg_exchange_{}_{}", space.trim_start_matches('_'), ty.name());
        let (word, swap, bits) = match bytes {
            8 => ("ulong", "atom_cmpxchg", "as_ulong"),
            4 => ("uint", "atomic_cmpxchg", "as_uint"),
            _ => {
                let unsigned = if bytes == 1 { "uchar" } else { "ushort" };
                let mask = if bytes == 1 { "0xffu" } else { "0xffffu" };
                let text = format!(
                    "static inline bool {name}(volatile {space} {t} *place, {t} *expected, {t} desired) {{
    const uintptr_t address = (uintptr_t)place;
    const uint shift = (uint)(address & 3) * 8, mask = {mask} << shift;
    volatile {space} uint *const word = (volatile {space} uint *)(address & ~(uintptr_t)3);
    const uint before = (uint)as_{unsigned}(*expected) << shift, after = (uint)as_{unsigned}(desired) << shift;
    uint old = *word;
    /* Other elements of the word may change meanwhile. */
    while ((old & mask) == before) {{
        const uint found = atomic_cmpxchg(word, old, (old & ~mask) | after);
        if (found == old) {{
            return true;
        }}
        old = found;
    }}
    *expected = ({t})(old >> shift & {mask});
    return false;
}}
"
                );
                return self.helper(&name, || text);
            }
        };
        let back = format!("as_{}", opencl_type(ty));
        self.helper(&name, || {
            format!(
                "static inline bool {name}(volatile {space} {t} *place, {t} *expected, {t} desired) {{
    const {word} before = {bits}(*expected), found = {swap}((volatile {space} {word} *)place, before, {bits}(desired));
    *expected = {back}(found);
    return found == before;
}}
"
            )
        })
    }
}

/// The name of a type of 4 or 8 bytes in OpenCL C.
const fn opencl_type(ty: ScalarType) -> &'static str {
    match ty {
        ScalarType::F32 => "float",
        ScalarType::F64 => "double",
        ScalarType::I32 => "int",
        ScalarType::I64 => "long",
        ScalarType::U64 => "ulong",
        ScalarType::U32
        | ScalarType::Bool
        | ScalarType::I8
        | ScalarType::I16
        | ScalarType::U8
        | ScalarType::U16
        | ScalarType::F16
        | ScalarType::Complex64
        | ScalarType::Complex128 => "uint",
    }
}

/// Compare and swap on a device, which has it for words of 4 and 8 bytes; smaller elements are exchanged within their word.
const DEVICE_EXCHANGE: &str = "\
template <typename T>
static __device__ bool sdfg_exchange(T *place, T *expected, T desired) {
    bool is_done;
    if (sizeof(T) == 8) {
        unsigned long long before = 0, after = 0, found;
        memcpy(&before, expected, sizeof(T));
        memcpy(&after, &desired, sizeof(T));
        found = atomicCAS((unsigned long long *)(void *)place, before, after);
        is_done = found == before;
        memcpy(expected, &found, sizeof(T));
    } else {
        const uintptr_t address = (uintptr_t)place, shift = (address & 3) * 8;
        unsigned *const word = (unsigned *)(address & ~(uintptr_t)3);
        const unsigned mask = (sizeof(T) == 4 ? 0xffffffffu : (1u << (8 * sizeof(T) % 32)) - 1u) << shift;
        unsigned before = 0, after = 0, old = *word, found;
        memcpy(&before, expected, sizeof(T));
        memcpy(&after, &desired, sizeof(T));
        /* Other elements of the word may change meanwhile. */
        while ((old & mask) == (before << shift) && (found = atomicCAS(word, old, (old & ~mask) | (after << shift))) != old) {
            old = found;
        }
        is_done = (old & mask) == (before << shift);
        old = (old & mask) >> shift;
        memcpy(expected, &old, sizeof(T));
    }
    return is_done;
}
";

/// A sum of indices.
pub(super) fn sum(a: &Code, b: &Code) -> Code {
    if a.text == "0" {
        return b.clone();
    }
    if b.text == "0" {
        return a.clone();
    }
    if let Some(folded) = Code::folded("+", a, b) {
        return folded;
    }
    if b.precedence == Precedence::Sum {
        return Code::new(format!("{} + {}", a.at_least(Precedence::Sum), b.text), Precedence::Sum);
    }
    Code::infix("+", Precedence::Sum, a, b)
}

/// A product of indices.
pub(super) fn product(a: &Code, b: &Code) -> Code {
    if a.text == "0" || b.text == "0" {
        return Code::int(0);
    }
    if a.text == "1" {
        return b.clone();
    }
    if b.text == "1" {
        return a.clone();
    }
    if let Some(folded) = Code::folded("*", a, b) {
        return folded;
    }
    Code::infix("*", Precedence::Product, a, b)
}

/// An operand of `!=` between truths.
fn bracketed(code: &Code) -> Code {
    Code::atom(code.at_least(Precedence::Atom))
}

/// Whether a combination uses all lanes of both values, or each several times.
fn combines_lanes(resolution: &ConflictResolution) -> bool {
    matches!(
        resolution,
        ConflictResolution::MinLocation | ConflictResolution::MaxLocation | ConflictResolution::Custom(_)
    )
}

/// The assignment that is the combination of values of a type, where C's arithmetic is the same and needs no conversion.
fn compound(resolution: &ConflictResolution, ty: ScalarType) -> Option<&'static str> {
    let is_unsigned = ty.kind() == ScalarKind::Unsigned && ty.size() >= 4;
    let is_plain = is_unsigned || matches!(ty, ScalarType::F32 | ScalarType::F64);
    let is_wide = ty.is_integer() && ty.size() >= 4;
    match resolution {
        ConflictResolution::Sum => is_plain.then_some("+="),
        ConflictResolution::Product => is_plain.then_some("*="),
        ConflictResolution::BitAnd => is_wide.then_some("&="),
        ConflictResolution::BitOr => is_wide.then_some("|="),
        ConflictResolution::BitXor => is_wide.then_some("^="),
        ConflictResolution::Min
        | ConflictResolution::Max
        | ConflictResolution::And
        | ConflictResolution::Or
        | ConflictResolution::Xor
        | ConflictResolution::MinLocation
        | ConflictResolution::MaxLocation
        | ConflictResolution::Replace
        | ConflictResolution::Custom(_) => None,
    }
}
