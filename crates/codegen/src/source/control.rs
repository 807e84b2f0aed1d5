//! Statements: sequences, assignments, branches, jumps and copies.

use sdfg::dtype::ScalarType;
use sdfg::symbolic::Expr;

use super::check::Access;
use super::dialect::Dialect;
use super::error::Print;
use super::function::{Base, Frame, Function};
use super::memory::{Place, product, sum};
use super::tasklet::unsupported;
use super::text::{Code, Precedence};
use crate::interface::Status;
use crate::plan::{
    BufferId, Copy, CopyDimension, ExternalArgument, ExternalCompute, If, JumpTarget, KeptReference,
    Location, Resolved, Statement, While,
};

impl Function<'_, '_> {
    pub(super) fn statements(&mut self, body: &[Statement]) -> Print<()> {
        body.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Statement) -> Print<()> {
        match statement {
            Statement::Comment(text) => {
                self.comment(text);
                Ok(())
            }
            Statement::Begin(_) => Ok(()),
            Statement::Let { variable, value } => {
                let value = self.index(value)?;
                let (name, value) = (self.variable(variable)?, self.converted(variable, &value)?);
                self.set(name, &value.text);
                Ok(())
            }
            Statement::Set { variable, value } => {
                let value = self.evaluate(value)?.only()?.clone();
                let name = self.variable(variable)?;
                self.set(name, &value.text);
                Ok(())
            }
            Statement::Loop(each) => self.repeated(each),
            Statement::While(each) => self.while_loop(each),
            Statement::If(choice) => self.choose(choice),
            Statement::Block { target, body } => {
                self.frames.push(Frame::Block(*target));
                self.block("", |f| f.statements(body))?;
                self.frames.pop();
                self.label(&after(*target));
                Ok(())
            }
            Statement::Located { location, body } => {
                let debug = self.program.plan.debug.as_ref();
                let found = debug.and_then(|debug| debug.locations.get(location.index()));
                if let Some(found) = found.filter(|found| found.line > 0) {
                    self.comment(&format!("{}:{}: {}", found.file, found.line, found.label));
                }
                self.statements(body)
            }
            Statement::Timed { .. } => Err(unsupported("timers")),
            Statement::Leave(target) => self.leave(*target),
            Statement::Repeat(target) => self.repeat(*target),
            Statement::Dispatch { target, cases } => self.dispatch(*target, cases),
            Statement::Goto { target, case } => self.go_to_case(*target, *case),
            Statement::Allocate(buffer) => self.allocate(*buffer),
            Statement::Free(buffer) => {
                let name = self.program.names.buffer(*buffer);
                if self.program.is_stream(*buffer) {
                    self.close_stream(*buffer, name);
                    return Ok(());
                }
                if self.program.is_on_device(*buffer) {
                    self.free_on_device(name)?;
                } else {
                    self.line(format!("free({name});"));
                }
                self.line(format!("{name} = NULL;"));
                Ok(())
            }
            Statement::Point { reference, to } => {
                let (ty, name) = (self.element_type(*reference), self.program.names.buffer(*reference));
                let address = self.address(*to);
                let cast =
                    if self.program.constness(*to).is_empty() { String::new() } else { format!("({ty} *)") };
                self.line(format!("{name} = {cast}{address};"));
                // What says which elements were written goes along.
                if let Some(written) = self.program.plan.buffer(*reference).defined {
                    let defined = self.program.plan.buffer(*to).defined;
                    let address = defined.map_or_else(|| "NULL".to_owned(), |defined| self.address(defined));
                    self.line(format!("{} = {address};", self.address(written)));
                }
                Ok(())
            }
            Statement::Keep(kept) => {
                let place = self.address(kept.place);
                for (position, buffer) in self.kept_addresses(kept) {
                    let address = self.address(buffer);
                    self.line(format!("{place}[{position}] = (int64_t)(intptr_t){address};"));
                }
                for (position, variable) in kept.variables.iter().enumerate() {
                    let value = self.plain_index(variable)?.text;
                    self.line(format!("{place}[{}] = {value};", KeptReference::ADDRESSES + position));
                }
                Ok(())
            }
            Statement::Recall(kept) => self.recall(kept),
            Statement::Check(check) => self.check(check),
            Statement::Undefine(buffer) => self.undefine(*buffer),
            Statement::Compute(compute) => self.compute(compute),
            Statement::Lanes(lanes) => self.compute(&lanes.compute),
            Statement::External(call) => self.external(call),
            Statement::Copy(copy) => self.copy(copy),
            Statement::Push(push) => self.push(push),
            Statement::Pop(pop) => self.pop(pop),
            Statement::Consume(consume) => self.consume(consume),
            Statement::Barrier => self.barrier(),
            Statement::Commands(commands) => self.commands(commands),
            Statement::Await(events) => self.host_waits(events),
            Statement::Tasks(tasks) => self.tasks(tasks),
        }
    }

    /// Takes a reference from memory that tasks share.
    pub(super) fn recall(&mut self, kept: &KeptReference) -> Print<()> {
        let place = self.address(kept.place);
        for (position, buffer) in self.kept_addresses(kept) {
            let (ty, name) = (self.element_type(buffer), self.program.names.buffer(buffer));
            self.line(format!("{name} = ({ty} *)(intptr_t){place}[{position}];"));
        }
        for (position, variable) in kept.variables.iter().enumerate() {
            let Some(symbol) = variable.as_symbol() else { continue };
            let name = self.variable(symbol)?;
            self.line(format!("{name} = {place}[{}];", KeptReference::ADDRESSES + position));
        }
        Ok(())
    }

    /// The addresses in the memory of a reference: its own, and that of what says which elements were written.
    fn kept_addresses(&self, kept: &KeptReference) -> impl Iterator<Item = (usize, BufferId)> + use<> {
        let written = self.program.plan.buffer(kept.reference).defined;
        [Some(kept.reference), written].into_iter().enumerate().filter_map(|(k, id)| Some((k, id?)))
    }

    fn comment(&mut self, text: &str) {
        self.line(format!("/* {} */", text.replace("*/", "* /").replace("/*", "/ *")));
    }

    fn choose(&mut self, choice: &If) -> Print<()> {
        let mut depth = 0;
        for (number, (condition, body)) in choice.arms.iter().enumerate() {
            let (condition, before) = self.apart(usize::from(number > 0), |f| f.condition(condition))?;
            if number == 0 {
                self.lines.append(&before);
                self.lines.open(format!("if ({}) {{", condition.text));
            } else if before.is_empty() {
                self.lines.close(format!("}} else if ({}) {{", condition.text));
                self.lines.indent();
            } else {
                self.lines.close("} else {");
                self.lines.indent();
                self.lines.append(&before);
                self.lines.open(format!("if ({}) {{", condition.text));
                depth += 1;
            }
            self.statements(body)?;
        }
        if choice.arms.is_empty() {
            return self.statements(&choice.otherwise);
        }
        if !choice.otherwise.is_empty() {
            self.lines.close("} else {");
            self.lines.indent();
            self.statements(&choice.otherwise)?;
        }
        for _ in 0..=depth {
            self.lines.close("}");
        }
        Ok(())
    }

    fn while_loop(&mut self, each: &While) -> Print<()> {
        let (repeat, leave) = (label("repeat", each.target), after(each.target));
        let (condition, before) = self.apart(1, |f| f.condition(&each.condition))?;
        let frame =
            Frame::Loop { target: Some(each.target), continues: each.update.is_empty() && before.is_empty() };
        self.frames.push(frame);
        let heading = match (before.is_empty(), each.test_after) {
            (true, false) => format!("while ({}) {{", condition.text),
            (true, true) => "do {".to_owned(),
            (false, _) => "for (;;) {".to_owned(),
        };
        self.lines.open(heading);
        let test = |f: &mut Self| {
            f.lines.append(&before);
            f.block(format!("if (!{})", condition.at_least(Precedence::Prefix)), |f| {
                f.line("break;");
                Ok(())
            })
        };
        if !before.is_empty() && !each.test_after {
            test(self)?;
        }
        let ((), body) = self.apart(0, |f| f.statements(&each.body))?;
        if self.has_jumps_to(&repeat) {
            // C++ lets no jump go past declarations in the same block.
            self.line("{");
            self.lines.append(&body);
            self.line("}");
            self.label(&repeat);
        } else {
            self.lines.append(&body);
        }
        self.statements(&each.update)?;
        if !before.is_empty() && each.test_after {
            test(self)?;
        }
        let end = if before.is_empty() && each.test_after {
            format!("}} while ({});", condition.text)
        } else {
            "}".to_owned()
        };
        self.lines.close(end);
        self.frames.pop();
        self.label(&leave);
        Ok(())
    }

    /// Irregular flow: a `switch` over the case that comes next, again and again.
    fn dispatch(&mut self, target: JumpTarget, cases: &[Vec<Statement>]) -> Print<()> {
        if cases.is_empty() {
            return Ok(());
        }
        let next = format!("next_{}", target.index());
        let (again, leave) = (label("again", target), after(target));
        self.declare(&next, format!("int {next} = 0;"));
        self.line(format!("{next} = 0;"));
        self.lines.open("for (;;) {");
        self.frames.push(Frame::Loop { target: None, continues: false });
        self.frames.push(Frame::Switch(target));
        self.lines.open(format!("switch ({next}) {{"));
        for (number, body) in cases.iter().enumerate() {
            let heading =
                if number + 1 == cases.len() { "default".to_owned() } else { format!("case {number}") };
            self.lines.open(format!("{heading}: {{"));
            self.statements(body)?;
            self.line("break;");
            self.lines.close("}");
        }
        self.lines.close("}");
        self.frames.pop();
        self.frames.pop();
        self.line("break;");
        self.label(&again);
        self.lines.close("}");
        self.label(&leave);
        Ok(())
    }

    fn leave(&mut self, target: JumpTarget) -> Print<()> {
        let innermost = self.frames.iter().rev().find(|frame| !matches!(frame, Frame::Block(_)));
        let breaks = match innermost {
            Some(Frame::Loop { target: Some(around), .. }) | Some(Frame::Switch(around)) => *around == target,
            Some(Frame::Loop { target: None, .. } | Frame::Block(_)) | None => false,
        };
        if breaks {
            self.line("break;");
        } else {
            self.go_to(after(target));
        }
        Ok(())
    }

    fn repeat(&mut self, target: JumpTarget) -> Print<()> {
        let innermost = self.frames.iter().rev().find(|frame| matches!(frame, Frame::Loop { .. }));
        match innermost {
            Some(Frame::Loop { target: Some(around), continues: true }) if *around == target => {
                self.line("continue;")
            }
            Some(_) | None => self.go_to(label("repeat", target)),
        }
        Ok(())
    }

    fn go_to_case(&mut self, target: JumpTarget, case: usize) -> Print<()> {
        self.line(format!("next_{} = {case};", target.index()));
        let mut inner = self.frames.iter().rev();
        let innermost = inner.find(|frame| !matches!(frame, Frame::Block(_)));
        match innermost {
            Some(Frame::Switch(around)) if *around == target => self.line("continue;"),
            Some(_) | None => self.go_to(label("again", target)),
        }
        Ok(())
    }

    // Memory.

    fn allocate(&mut self, id: BufferId) -> Print<()> {
        let name = self.program.names.buffer(id);
        if self.program.is_stream(id) { self.open_stream(id, name) } else { self.allocate_into(id, name) }
    }

    /// Allocates a buffer into a pointer of its type; without memory the function ends.
    pub(super) fn allocate_into(&mut self, id: BufferId, pointer: &str) -> Print<()> {
        let ty = self.element_type(id);
        let plan = self.program.plan;
        let buffer = plan.buffer(id);
        if self.program.is_on_device(id) {
            return self.allocate_on_device(&ty, pointer, &buffer.size);
        }
        let bytes = self.byte_size(&buffer.size, &ty)?;
        let allocate = self.program.allocate_helper();
        self.line(format!("{pointer} = ({ty} *){allocate}({bytes});"));
        self.fail_if(
            &format!("{pointer} == NULL"),
            Status::OutOfMemory,
            &format!("no memory for `{}`", buffer.name),
        )
    }

    /// The bytes of so many elements: none if their number is negative, and the largest number if it does not fit.
    pub(super) fn byte_size(&mut self, size: &Expr, ty: &str) -> Print<String> {
        let bytes = self.program.bytes_helper();
        let is_plain = size.as_int().is_some() || size.as_symbol().is_some();
        if is_plain {
            return Ok(format!("{bytes}({}, (int64_t)sizeof({ty}), 0)", self.index(size)?.text));
        }
        let name = self.temporary();
        let elements = self.program.index_noting(size, &|symbol| self.note_read(symbol))?;
        let flag = self.temporary();
        self.line(format!("int {flag} = 0;"));
        let elements = elements.text.replace("&overflow", &format!("&{flag}"));
        self.line(format!("const int64_t {name} = {elements};"));
        Ok(format!("{bytes}({name}, (int64_t)sizeof({ty}), {flag})"))
    }

    fn copy(&mut self, copy: &Copy) -> Print<()> {
        let is_on_device = |location: &Location| self.program.is_on_device(location.buffer);
        if !self.is_of_device && (is_on_device(&copy.from) || is_on_device(&copy.to)) {
            return self.copy_of_device(copy);
        }
        let mut dimensions = copy.merged_dimensions();
        // Checks look at each element.
        let is_block = !(self.is_of_device && self.program.dialect == Dialect::OpenCl || self.is_checked())
            && matches!(copy.write, Resolved::Store)
            && self.base(copy.from.buffer) == Base::Pointer
            && self.base(copy.to.buffer) == Base::Pointer
            && dimensions.last().is_some_and(|d| d.from_stride.is_one() && d.to_stride.is_one());
        let block = if is_block { dimensions.pop() } else { None };
        let offsets = (self.plain_index(&copy.from.offset)?, self.plain_index(&copy.to.offset)?);
        let reader = format!("the copy at `{}`", copy.label);
        self.read_by(Some(&reader), |f| f.copy_dimensions(copy, &dimensions, block.as_ref(), offsets))
    }

    fn copy_dimensions(
        &mut self,
        copy: &Copy,
        dimensions: &[CopyDimension],
        block: Option<&CopyDimension>,
        (from, to): (Code, Code),
    ) -> Print<()> {
        let Some((dimension, inner)) = dimensions.split_first() else {
            let (from, to) = (self.place_at(copy.from.buffer, &from), self.place_at(copy.to.buffer, &to));
            return match block {
                None => {
                    let value = self.load(&from)?;
                    self.write(&to, &value, &copy.write)
                }
                Some(block) => self.copy_block(&from, &to, &block.extent),
            };
        };
        self.along_copy(dimension, (from, to), &|f, from, to| {
            f.copy_dimensions(copy, inner, block, (from, to))
        })
    }

    /// A copy from or to memory of the device, which the host asks for: in rows, as long as they can be.
    fn copy_of_device(&mut self, copy: &Copy) -> Print<()> {
        if !matches!(copy.write, Resolved::Store) {
            return Err(unsupported("copies with conflict resolution to memory of a device"));
        }
        let mut dimensions = copy.merged_dimensions();
        let one = || CopyDimension { extent: Expr::one(), from_stride: Expr::one(), to_stride: Expr::one() };
        let is_even = |d: &CopyDimension| d.from_stride.is_one() && d.to_stride.is_one();
        let row = if dimensions.last().is_some_and(is_even) { dimensions.pop() } else { None };
        let (row, rows) = (row.unwrap_or_else(one), dimensions.pop().unwrap_or_else(one));
        let offsets = (self.plain_index(&copy.from.offset)?, self.plain_index(&copy.to.offset)?);
        let reader = format!("the copy at `{}`", copy.label);
        self.read_by(Some(&reader), |f| f.copy_outer(copy, &dimensions, (&row, &rows), offsets))
    }

    fn copy_outer(
        &mut self,
        copy: &Copy,
        dimensions: &[CopyDimension],
        (row, rows): (&CopyDimension, &CopyDimension),
        (from, to): (Code, Code),
    ) -> Print<()> {
        let Some((dimension, inner)) = dimensions.split_first() else {
            let address = |place: Place| format!("&{}", place.text);
            let offsets = (from.clone(), to.clone());
            let from = address(self.place_at(copy.from.buffer, &from));
            let to = address(self.place_at(copy.to.buffer, &to));
            let ty = self.program.memory_type(self.program.plan.buffer(copy.to.buffer).element);
            let width = self.index(&row.extent)?;
            let [extent, from_stride, to_stride] =
                [&rows.extent, &rows.from_stride, &rows.to_stride].map(|part| self.index(part));
            let (extent, from_stride, to_stride) = (extent?, from_stride?, to_stride?);
            if !self.is_checked() {
                return self.copy_rows((&from, &to), &ty, &width, (&extent, &from_stride, &to_stride));
            }
            let (width, extent) = (self.held(ScalarType::I64, width), self.held(ScalarType::I64, extent));
            self.look_at_rows(copy.from.buffer, &offsets.0, (&width, &extent, &from_stride), Access::Read)?;
            self.look_at_rows(copy.to.buffer, &offsets.1, (&width, &extent, &to_stride), Access::Write)?;
            return self.copy_rows((&from, &to), &ty, &width, (&extent, &from_stride, &to_stride));
        };
        self.along_copy(dimension, (from, to), &|f, from, to| {
            f.copy_outer(copy, inner, (row, rows), (from, to))
        })
    }

    /// The loop over a dimension of a copy; `body` is given the offsets of both sides.
    fn along_copy(
        &mut self,
        dimension: &CopyDimension,
        (from, to): (Code, Code),
        body: &dyn Fn(&mut Self, Code, Code) -> Print<()>,
    ) -> Print<()> {
        let [extent, from_stride, to_stride] =
            [&dimension.extent, &dimension.from_stride, &dimension.to_stride].map(|part| self.index(part));
        let (extent, from_stride, to_stride) = (extent?, from_stride?, to_stride?);
        let index = self.temporary();
        let heading =
            format!("for (int64_t {index} = 0; {index} < {}; ++{index})", extent.at_least(Precedence::Shift));
        let index = Code::atom(index);
        let from = sum(&from, &product(&index, &from_stride));
        let to = sum(&to, &product(&index, &to_stride));
        self.frames.push(Frame::Loop { target: None, continues: false });
        self.block(heading, |f| body(f, from, to))?;
        self.frames.pop();
        Ok(())
    }

    /// Elements that lie side by side on both sides.
    fn copy_block(&mut self, from: &Place, to: &Place, extent: &Expr) -> Print<()> {
        self.program.include("string.h");
        let ty = self.program.memory_type(from.element);
        let count = self.index(extent)?;
        let is_counted = extent.as_int().is_some_and(|count| count >= 0);
        let bytes = if is_counted {
            format!("{} * sizeof({ty})", count.text)
        } else {
            let counted = self.program.helper("sdfg_count", || COUNT.to_owned());
            format!("{counted}({}) * sizeof({ty})", count.text)
        };
        self.line(format!("memcpy(&{}, &{}, {bytes});", to.text, from.text));
        Ok(())
    }

    // Calls of C functions.

    fn external(&mut self, call: &ExternalCompute) -> Print<()> {
        let (mut types, mut arguments) = (Vec::new(), Vec::new());
        for argument in &call.arguments {
            match argument {
                ExternalArgument::Value(scalar) => {
                    let value = self.evaluate(scalar)?;
                    types.push(self.passed_type(call, value.ty, value.lanes.len())?.to_owned());
                    arguments.push(value.only()?.text.clone());
                }
                ExternalArgument::Pointer(location) => {
                    types.push("void *".to_owned());
                    arguments.push(format!("(void *)&{}", self.place_of(location)?.text));
                }
            }
        }
        let result = match &call.result {
            None => "void",
            Some((element, _)) => self.passed_type(call, element.lane(), usize::from(element.lanes()))?,
        };
        if let Some(callback) = call.callback {
            return self.call_back(call, callback, &arguments);
        }
        self.program.declare_external(&call.symbol, result, &types)?;
        let text = format!("{}({})", call.symbol, arguments.join(", "));
        match &call.result {
            None => self.line(format!("{text};")),
            Some((_, location)) => {
                let place = self.place_of(location)?;
                self.line(format!("{} = {text};", place.text));
            }
        }
        Ok(())
    }

    fn place_of(&mut self, location: &Location) -> Print<Place> {
        self.place(location)
    }

    /// The type of a value that C passes by value; complex numbers, vectors and `f16` travel in ways that differ between platforms.
    fn passed_type(
        &self,
        call: &ExternalCompute,
        ty: sdfg::dtype::ScalarType,
        lanes: usize,
    ) -> Print<&'static str> {
        if lanes == 1 && !ty.is_complex() && ty != sdfg::dtype::ScalarType::F16 {
            return Ok(super::types::value_type(ty));
        }
        let what = format!(
            "complex, f16 or vector values in the call of `{}` (pass a pointer instead)",
            call.symbol
        );
        Err(unsupported(&what))
    }
}

impl super::program::Program<'_> {
    /// Declares a C function that the program calls.
    fn declare_external(&self, symbol: &str, result: &str, types: &[String]) -> Print<()> {
        let parameters = if types.is_empty() { "void".to_owned() } else { types.join(", ") };
        let text = format!("SDFG_C {result} {symbol}({parameters});\n");
        let is_same = std::cell::Cell::new(true);
        self.helper_text(symbol, |known| is_same.set(known == text), || text.clone());
        if is_same.get() {
            return Ok(());
        }
        Err(unsupported(&format!("calling `{symbol}` with different signatures in one program")))
    }
}

const COUNT: &str = "\
static inline size_t sdfg_count(int64_t elements) {
    return elements > 0 ? (size_t)elements : 0;
}
";

fn label(word: &str, target: JumpTarget) -> String {
    format!("{word}_{}", target.index())
}

fn after(target: JumpTarget) -> String {
    label("after", target)
}
