//! Checks of a checked plan. On the host, the first failure ends the run with a message, as in native code.
//!
//! A thread of a device cannot end a run: it notes the failure in memory of the device, which the host reads behind the kernel
//! ([`fault`](super::fault)), and leaves out the rest of its work.

use sdfg::dtype::ScalarType;
use sdfg::symbolic::Expr;

use super::dialect::Dialect;
use super::error::Print;
use super::function::{Base, Function, quoted};
use super::memory::{Place, product, sum};
use super::program::Program;
use super::text::{Code, Precedence};
use crate::interface::Status;
use crate::plan::{BufferId, Check, CheckedDimension, Row, messages};

/// Bytes of a message, with the zero at its end; longer ones are cut.
pub(super) const MESSAGE: usize = 512;

/// Kind of access to an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
    /// Its value is used, and it has one afterwards.
    Update,
}

impl<'w, 'p> Function<'w, 'p> {
    pub(super) fn is_checked(&self) -> bool {
        self.program.plan.checked
    }

    /// The value of an index expression. In a checked program, one without a value ends the run.
    pub(super) fn index(&mut self, expression: &Expr) -> Print<Code> {
        let is_plain = expression.as_int().is_some() || expression.as_symbol().is_some();
        if !self.is_checked() || is_plain {
            return self.plain_index(expression);
        }
        let (value, flag) = self.index_noting(expression)?;
        self.trap_if(&format!("{flag} != 0"), &messages::no_index(expression), [None, None])?;
        // The value may be of use to nothing, but its computation has an effect.
        self.line(format!("(void){};", value.text));
        Ok(value)
    }

    /// The value of an expression under a name, and the name of a variable that is not 0 if it has none.
    fn index_noting(&mut self, expression: &Expr) -> Print<(Code, String)> {
        let (value, flag) = (self.temporary(), self.temporary());
        let code = self.program.index_noting(expression, &|symbol| self.note_read(symbol))?;
        self.line(format!("int {flag} = 0;"));
        let code = code.text.replace("&overflow", &format!("&{flag}"));
        self.line(format!("const int64_t {value} = {code};"));
        Ok((Code::atom(value), flag))
    }

    /// The number of elements of a buffer; the largest integer if it does not fit 64 bits: there is no such memory.
    fn elements(&mut self, id: BufferId) -> Print<Code> {
        let size = &self.program.plan.buffer(id).size;
        if size.as_int().is_some() || size.as_symbol().is_some() {
            return self.plain_index(size);
        }
        let (value, flag) = self.index_noting(size)?;
        Ok(self.named(
            ScalarType::I64,
            Code::new(format!("{flag} != 0 ? INT64_MAX : {}", value.text), Precedence::Choice),
        ))
    }

    /// Ends the run if a condition holds, with a message that has a number at each `%ld`.
    pub(super) fn trap_if(
        &mut self,
        condition: &str,
        message: &str,
        numbers: [Option<&Code>; 2],
    ) -> Print<()> {
        let [a, b] =
            numbers.map(|number| number.map_or_else(|| "0".to_owned(), |number| number.text.clone()));
        if self.is_of_device {
            return self.note_fault(condition, message, (&a, &b));
        }
        let trap = self.program.trap_helper();
        self.block(format!("if ({condition})"), |f| {
            f.end_with(&format!("{trap}(handle, {}, {a}, {b})", quoted(message)));
            Ok(())
        })
    }

    /// Ends the run if a memlet names something outside of its container.
    pub(super) fn check(&mut self, check: &Check) -> Print<()> {
        let mut some: Vec<String> = Vec::new();
        let mut bounds = Vec::with_capacity(check.dimensions.len());
        for dimension in &check.dimensions {
            let CheckedDimension { begin, count, step, tile, extent } = dimension;
            let (begin, extent) = (self.named_index(begin)?, self.index(extent)?);
            let (mut low, mut high) = (begin.clone(), begin.clone());
            if let Some(count) = count {
                let (count, step, tile) =
                    (self.named_index(count)?, self.named_index(step)?, self.named_index(tile)?);
                for number in [&count, &tile] {
                    match number.text.parse::<i64>() {
                        Ok(1..) => {}
                        Ok(_) | Err(_) => some.push(format!("{} > 0", number.text)),
                    }
                }
                let before = |code: &Code| Code::infix("-", Precedence::Sum, code, &Code::int(1));
                let last = sum(&begin, &product(&before(&count), &step));
                let last = self.named(ScalarType::I64, last);
                let minimum =
                    self.program.integer_helper(sdfg::tasklet::BinaryOperation::Minimum, ScalarType::I64)?;
                let maximum =
                    self.program.integer_helper(sdfg::tasklet::BinaryOperation::Maximum, ScalarType::I64)?;
                low = self.named(ScalarType::I64, Code::call(&minimum, &[&begin, &last]));
                let last = Code::call(&maximum, &[&begin, &last]);
                high = self.named(ScalarType::I64, sum(&last, &before(&tile)));
            }
            bounds.push((low, high, extent));
        }
        some.dedup();
        for (number, (low, high, extent)) in bounds.into_iter().enumerate() {
            let above = Code::infix(">=", Precedence::Relation, &high, &extent).text;
            let below = Code::infix("<", Precedence::Relation, &low, &Code::int(0)).text;
            let outside = format!("({below} || {above})");
            let condition: Vec<&str> = some.iter().map(String::as_str).chain([outside.as_str()]).collect();
            let condition = match condition.as_slice() {
                [_] => format!("{below} || {above}"),
                all => all.join(" && "),
            };
            let index = if low == high {
                low
            } else {
                Code::new(format!("{below} ? {} : {}", low.text, high.text), Precedence::Choice)
            };
            let message = messages::out_of_bounds(number, &format!("of {}", check.memlet));
            self.trap_if(&condition, &message, [Some(&index), Some(&extent)])?;
        }
        check.deferred.iter().try_for_each(|each| self.check(each))
    }

    /// The value of an index expression under a name.
    fn named_index(&mut self, expression: &Expr) -> Print<Code> {
        let code = self.index(expression)?;
        match code.text.parse::<i64>() {
            Ok(_) => Ok(code),
            Err(_) => Ok(self.named(ScalarType::I64, code)),
        }
    }

    /// Ends the run if a pointer's indices are outside of its memlet, or what they name outside of its container.
    pub(super) fn check_indices(&mut self, check: &Check, indices: &[Code]) -> Print<()> {
        let mut given = indices.iter().cloned();
        for (number, dimension) in check.dimensions.iter().enumerate() {
            let CheckedDimension { begin, count, step, tile, extent } = dimension;
            let (mut index, extent) = (self.index(begin)?, self.index(extent)?);
            if let Some(count) = count {
                let k = given.next().unwrap_or_else(|| Code::int(0));
                let of_memlet = format!("of the memlet {}", check.memlet);
                let (mut count, mut position) = (self.index(count)?, k.clone());
                if tile.is_one() {
                    self.check_below(&k, &count, number, &of_memlet)?;
                } else {
                    let tile = self.named_index(tile)?;
                    let maximum = self
                        .program
                        .integer_helper(sdfg::tasklet::BinaryOperation::Maximum, ScalarType::I64)?;
                    let positive = |code: &Code| Code::call(&maximum, &[code, &Code::int(0)]);
                    count = product(&positive(&count), &positive(&tile));
                    self.check_below(&k, &count, number, &of_memlet)?;
                    // An index below the count is not negative, and there is a tile.
                    position = Code::infix("/", Precedence::Product, &k, &tile);
                    index = sum(&index, &Code::infix("%", Precedence::Product, &k, &tile));
                }
                index = sum(&index, &product(&position, &self.index(step)?));
            }
            let index = self.named(ScalarType::I64, index);
            self.check_below(&index, &extent, number, &format!("in {}", check.memlet))?;
        }
        // A pointer to a single element is indexed with 0.
        for index in given {
            self.check_below(&index, &Code::int(1), 0, &format!("of the memlet {}", check.memlet))?;
        }
        check.deferred.iter().try_for_each(|each| self.check_indices(each, indices))
    }

    /// Ends the run if indices are not below the extents of what they index.
    pub(super) fn check_extents(&mut self, what: &str, indices: &[Code], extents: &[Expr]) -> Print<()> {
        if !self.is_checked() {
            return Ok(());
        }
        for (number, (index, extent)) in indices.iter().zip(extents).enumerate() {
            let extent = self.index(extent)?;
            self.check_below(index, &extent, number, &format!("of `{what}`"))?;
        }
        Ok(())
    }

    fn check_below(&mut self, index: &Code, extent: &Code, dimension: usize, place: &str) -> Print<()> {
        let condition = not_below(index, extent);
        self.trap_if(&condition, &messages::out_of_bounds(dimension, place), [Some(index), Some(extent)])
    }

    /// Emits an access by what messages say of it: a memlet, or a copy.
    pub(super) fn read_by<T>(
        &mut self,
        reader: Option<&str>,
        access: impl FnOnce(&mut Self) -> Print<T>,
    ) -> Print<T> {
        let outer = std::mem::replace(&mut self.reader, reader.map(str::to_owned));
        let result = access(self);
        self.reader = outer;
        result
    }

    /// Ends the run if an element is not there, or was never written where its value is used; notes that it was written.
    pub(super) fn look_at(&mut self, place: &Place, access: Access) -> Print<()> {
        let Some((id, position)) = &place.checked else { return Ok(()) };
        let (id, position) = (*id, self.named_position(position));
        self.look_at_position(id, &position)?;
        let plan = self.program.plan;
        let Some(defined) = plan.buffer(id).defined else { return Ok(()) };
        // Of what is not followed, such as arguments, a reference has no such bytes.
        if plan.is_reference(id) {
            let name = self.address(defined);
            return self
                .block(format!("if ({name} != NULL)"), |f| f.look_at_byte((id, defined), &position, access));
        }
        self.look_at_byte((id, defined), &position, access)
    }

    fn named_position(&mut self, position: &Code) -> Code {
        if position.text.parse::<i64>().is_ok() {
            position.clone()
        } else {
            self.named(ScalarType::I64, position.clone())
        }
    }

    /// Ends the run if a position is behind the elements of a buffer, or before them.
    pub(super) fn look_at_position(&mut self, id: BufferId, position: &Code) -> Print<()> {
        let size = self.elements(id)?;
        let known = position.text.parse::<i64>().ok().zip(size.text.parse::<i64>().ok());
        if known.is_some_and(|(position, size)| (0..size).contains(&position)) {
            return Ok(());
        }
        let message = messages::no_element(&self.program.plan.buffer(id).name);
        self.trap_if(&not_below(position, &size), &message, [Some(position), Some(&size)])
    }

    fn look_at_byte(
        &mut self,
        (id, defined): (BufferId, BufferId),
        position: &Code,
        access: Access,
    ) -> Print<()> {
        let byte = self.place_at(defined, position).text;
        // Threads that combine into one element say at the same time that it was written.
        let is_shared = !self.is_of_device && self.base(defined) == Base::Pointer;
        if access != Access::Write {
            let known =
                if is_shared { format!("__atomic_load_n(&{byte}, __ATOMIC_RELAXED)") } else { byte.clone() };
            self.trap_if(&format!("{known} == 0"), &self.never_written(id), [Some(position), None])?;
        }
        if access != Access::Read {
            self.line(match is_shared {
                true => format!("__atomic_store_n(&{byte}, (uint8_t)1, __ATOMIC_RELAXED);"),
                false => format!("{byte} = 1;"),
            });
        }
        Ok(())
    }

    /// The message of a read of an element that nothing wrote.
    pub(super) fn never_written(&self, id: BufferId) -> String {
        messages::never_written(&self.program.plan.buffer(id).name, self.reader.as_deref())
    }

    /// Looks at the elements of rows that a copy reads or writes, which may lie in memory of the device: `width` elements side by
    /// side in each of `rows` rows, `stride` elements apart.
    pub(super) fn look_at_rows(
        &mut self,
        id: BufferId,
        first: &Code,
        (width, rows, stride): (&Code, &Code, &Code),
        access: Access,
    ) -> Print<()> {
        if !self.program.is_on_device(id) {
            return self.along_rows(first, (width, rows, stride), |f, position| {
                let place = f.place_at(id, &position);
                f.look_at(&place, access)
            });
        }
        self.along_rows(first, (width, rows, stride), |f, position| f.look_at_position(id, &position))?;
        let Some(defined) = self.program.plan.buffer(id).defined else { return Ok(()) };
        let bytes = format!("&{}", self.place_at(defined, first).text);
        let name = self.address(defined);
        let look = |f: &mut Self| match access {
            Access::Read => {
                let (find, found) = (f.program.find_zero_helper()?, f.temporary());
                f.line(format!("int64_t {found} = -1;"));
                f.take_status(&format!(
                    "{find}(handle, {bytes}, {}, {}, {}, &{found})",
                    stride.text, width.text, rows.text
                ))?;
                let row = Code::infix("/", Precedence::Product, &Code::atom(found.clone()), width);
                let column = Code::infix("%", Precedence::Product, &Code::atom(found.clone()), width);
                let position = sum(&sum(first, &product(&row, stride)), &column);
                let message = f.never_written(id);
                f.trap_if(&format!("{found} >= 0"), &message, [Some(&position), None])
            }
            Access::Write | Access::Update => {
                f.fill_on_device(&bytes, (&width.text, &rows.text, &stride.text), 1)
            }
        };
        if self.program.plan.is_reference(id) {
            return self.block(format!("if ({name} != NULL)"), look);
        }
        look(self)
    }

    /// Loops over the positions of rows of elements.
    fn along_rows(
        &mut self,
        first: &Code,
        (width, rows, stride): (&Code, &Code, &Code),
        body: impl Fn(&mut Self, Code) -> Print<()>,
    ) -> Print<()> {
        let (row, column) = (self.temporary(), self.temporary());
        self.lines.open(format!("for (int64_t {row} = 0; {row} < {}; ++{row}) {{", rows.text));
        self.loop_body(&|f| {
            f.lines.open(format!("for (int64_t {column} = 0; {column} < {}; ++{column}) {{", width.text));
            f.loop_body(&|f| {
                let row = sum(first, &product(&Code::atom(row.clone()), stride));
                body(f, sum(&row, &Code::atom(column.clone())))
            })
        })
    }

    /// Looks at the first elements of a row, `count` of them.
    pub(super) fn look_at_row(&mut self, row: &Row, count: &str, access: Access) -> Print<()> {
        if !self.is_checked() {
            return Ok(());
        }
        let first = self.plain_index(&row.first.offset)?;
        let stride = self.index(&row.stride)?;
        if !self.is_of_device && self.program.is_on_device(row.first.buffer) {
            let rows = (&Code::int(1), &Code::atom(count.to_owned()), &stride);
            return self.look_at_rows(row.first.buffer, &first, rows, access);
        }
        let number = self.temporary();
        self.lines.open(format!("for (int64_t {number} = 0; {number} < {count}; ++{number}) {{"));
        self.loop_body(&|f| {
            let position = sum(&first, &product(&Code::atom(number.clone()), &stride));
            let place = f.place_at(row.first.buffer, &position);
            f.look_at(&place, access)
        })
    }

    /// Makes every element of a buffer undefined; `id` is what says which were written.
    pub(super) fn undefine(&mut self, id: BufferId) -> Print<()> {
        let name = self.program.names.buffer(id);
        if self.base(id) == Base::Variable {
            self.line(format!("{name} = 0;"));
            return Ok(());
        }
        if self.is_of_device {
            let (size, index) = (self.elements(id)?, self.temporary());
            self.lines.open(format!(
                "for (int64_t {index} = 0; {index} < {}; ++{index}) {{",
                size.at_least(Precedence::Shift)
            ));
            return self.loop_body(&|f| {
                f.line(format!("{name}[{index}] = 0;"));
                Ok(())
            });
        }
        let bytes = self.byte_size(&self.program.plan.buffer(id).size, "uint8_t")?;
        if self.program.is_on_device(id) {
            return self.fill_on_device(name, (&format!("(int64_t){bytes}"), "1", "0"), 0);
        }
        self.program.include("string.h");
        self.line(format!("memset({name}, 0, {bytes});"));
        Ok(())
    }
}

impl Program<'_> {
    /// Fields of the handle of a checked program.
    pub(super) fn fields_of_checks(&self) -> String {
        match (self.plan.checked, self.dialect.has_kernels()) {
            (false, _) => String::new(),
            (true, false) => format!("    char sdfg_message[{MESSAGE}];\n"),
            (true, true) => format!("    char sdfg_message[{MESSAGE}];\n    int64_t *sdfg_faults;\n"),
        }
    }

    /// The helper that leaves a message with numbers in the handle, if it has none yet. Its result is the status.
    pub(super) fn trap_helper(&self) -> String {
        let (name, trap) = (&self.plan.name, Status::Trap.code());
        self.include("stdio.h");
        self.helper("sdfg_trap", || {
            format!(
                "static SDFG_NOINLINE int32_t sdfg_trap({name}_t *handle, const char *format, int64_t a, int64_t b) {{\n    int32_t none = 0;\n    if (__atomic_compare_exchange_n(&handle->status, &none, {trap}, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {{\n        const char *const text = handle->sdfg_message;\n        (void)snprintf(handle->sdfg_message, sizeof handle->sdfg_message, format, (long)a, (long)b);\n        __atomic_store_n(&handle->error, text, __ATOMIC_RELAXED);\n    }}\n    return {trap};\n}}\n"
            )
        })
    }

    /// The helper of a step of index arithmetic that notes where it has no value.
    pub(super) fn noting_helper(&self, word: &str) -> Print<String> {
        let name = format!("sdfg_{word}_noting");
        let parameters = "int64_t a, int64_t b, int *overflow";
        let body = match word {
            // The compilers of devices have no such functions.
            "add" if self.dialect != Dialect::C => "    if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b) {\n        *overflow = 1;\n        return 0;\n    }\n    return a + b;".to_owned(),
            "sub" if self.dialect != Dialect::C => "    if (b > 0 ? a < INT64_MIN + b : a > INT64_MAX + b) {\n        *overflow = 1;\n        return 0;\n    }\n    return a - b;".to_owned(),
            "mul" if self.dialect != Dialect::C => "    if (a == 0 || b == 0) {\n        return 0;\n    }\n    if ((a == -1 && b == INT64_MIN) || (b == -1 && a == INT64_MIN)) {\n        *overflow = 1;\n        return 0;\n    }\n    if (a > 0 ? (b > 0 ? a > INT64_MAX / b : b < INT64_MIN / a) : (b > 0 ? a < INT64_MIN / b : b < INT64_MAX / a)) {\n        *overflow = 1;\n        return 0;\n    }\n    return a * b;".to_owned(),
            "add" | "sub" | "mul" => format!("    int64_t value;\n    if (__builtin_{word}_overflow(a, b, &value)) {{\n        *overflow = 1;\n    }}\n    return value;"),
            "floor_div" | "floor_mod" => {
                let op = if word == "floor_div" {
                    sdfg::tasklet::BinaryOperation::FloorDivide
                } else {
                    sdfg::tasklet::BinaryOperation::FloorModulo
                };
                let helper = self.integer_helper(op, ScalarType::I64)?;
                format!("    if (b == 0) {{\n        *overflow = 1;\n    }}\n    return {helper}(a, b);")
            }
            "exact_div" => "    if (a % b != 0) {\n        *overflow = 1;\n    }\n    return a / b;".to_owned(),
            _ => {
                let multiply = self.noting_helper("mul")?;
                format!("    int64_t value = 1;\n    if (b < 0) {{\n        *overflow = 1;\n        return 0;\n    }}\n    while (b > 0) {{\n        if (b % 2 != 0) {{\n            value = {multiply}(value, a, overflow);\n        }}\n        b /= 2;\n        if (b > 0) {{\n            a = {multiply}(a, a, overflow);\n        }}\n    }}\n    return value;")
            }
        };
        Ok(self.helper(&name, || format!("static inline int64_t {name}({parameters}) {{\n{body}\n}}\n")))
    }
}

/// The condition that an index is not below an extent, or negative.
fn not_below(index: &Code, extent: &Code) -> String {
    let above = Code::infix(">=", Precedence::Relation, index, extent).text;
    if index.text.parse::<i64>().is_ok_and(|index| index >= 0) {
        return above;
    }
    format!("{} || {above}", Code::infix("<", Precedence::Relation, index, &Code::int(0)).text)
}
