//! One function in progress: its lines, the variables it reads, and the targets of its jumps.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use sdfg::dtype::{ElementType, ScalarType};
use sdfg::symbolic::{Expr, Symbol};

use super::error::{Print, defect};
use super::fault::Faults;
use super::program::Program;
use super::stream::Collector;
use super::tasklet::unsupported;
use super::text::{Code, Lines, Precedence};
use crate::interface::Status;
use crate::plan::{
    Allocation, BufferId, Captured, Captures, Declarations, JumpTarget, PassedAs, Space, Statement,
};

/// The expression that names a buffer in a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    /// A pointer to its first element.
    Pointer,
    /// A variable that is its only element.
    Variable,
}

/// A construct around what is being written that `break`, `continue` or a jump may mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// A loop; with a target, if jumps name it, and whether `continue` goes to its update.
    Loop {
        /// Its target in jumps.
        target: Option<JumpTarget>,
        /// Whether `continue` does what [`Statement::Repeat`] asks for.
        continues: bool,
    },
    /// The `switch` of a dispatch, directly in its loop.
    Switch(JumpTarget),
    /// Statements with an end that jumps go to.
    Block(JumpTarget),
}

/// The result of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Returns {
    /// Nothing: failures are left in the handle.
    Nothing,
    /// A status.
    Status,
}

/// A value, lane by lane.
#[derive(Clone, Debug)]
pub(super) struct Lanes {
    /// The type of each lane.
    pub(super) ty: ScalarType,
    /// The lanes.
    pub(super) lanes: Vec<Code>,
}

impl Lanes {
    /// A scalar.
    pub(super) fn scalar(ty: ScalarType, code: Code) -> Self {
        Lanes { ty, lanes: vec![code] }
    }

    /// The only lane.
    pub(super) fn only(&self) -> Print<&Code> {
        match self.lanes.as_slice() {
            [lane] => Ok(lane),
            _ => Err(defect("a scalar has one lane")),
        }
    }
}

/// A function that is being written.
pub(super) struct Function<'w, 'p> {
    pub(super) program: &'w Program<'p>,
    pub(super) lines: Lines,
    pub(super) frames: Vec<Frame>,
    /// Declarations before the statements of the function: a name with its line.
    declarations: Vec<(String, String)>,
    /// Names of parameters.
    parameters: Vec<String>,
    buffers: BTreeMap<BufferId, Base>,
    /// Variables whose values are read, here or by index expressions.
    read: RefCell<BTreeSet<Symbol>>,
    /// Variables that are declared at the beginning.
    declared: BTreeSet<Symbol>,
    /// Labels that something jumps to.
    labels: BTreeSet<String>,
    /// Statements at the end of the function, whether it fails or not.
    at_end: Vec<String>,
    /// Streams for which the function has a queue of its own.
    pub(super) collectors: BTreeMap<BufferId, Collector>,
    /// The task that the function runs in, as an argument of the runtime.
    pub(super) task: &'static str,
    /// Whether something in the function uses the handle other than to fail.
    pub(super) uses_handle: bool,
    returns: Returns,
    /// Whether something in the function can fail.
    pub(super) is_fallible: bool,
    /// Whether threads of a device run it.
    pub(super) is_of_device: bool,
    /// Whether indices of elements have 32 bits, which is right only where no buffer has more elements.
    pub(super) has_narrow_indices: bool,
    /// Its checks, if it is a kernel.
    pub(super) faults: Faults,
    /// The command stream of the device to which commands go; without, the host waits for copies.
    pub(super) stream: Option<u32>,
    /// The accesses that are being written, as messages of checks name them.
    pub(super) reader: Option<String>,
    temporaries: usize,
}

impl<'w, 'p> Function<'w, 'p> {
    /// A function without lines.
    pub(super) fn new(program: &'w Program<'p>, returns: Returns) -> Self {
        Function {
            program,
            lines: Lines::at(1),
            frames: Vec::new(),
            declarations: Vec::new(),
            parameters: Vec::new(),
            buffers: BTreeMap::new(),
            read: RefCell::default(),
            declared: BTreeSet::new(),
            labels: BTreeSet::new(),
            at_end: Vec::new(),
            collectors: BTreeMap::new(),
            task: "NULL",
            uses_handle: false,
            returns,
            is_fallible: false,
            is_of_device: false,
            has_narrow_indices: false,
            faults: Faults::default(),
            stream: None,
            reader: None,
            temporaries: 0,
        }
    }

    /// The function as text behind the heading of its definition.
    pub(super) fn finish(self, heading: &str) -> String {
        let has_end = self.lines.contains("goto done;");
        let has_status = self.is_fallible && self.returns == Returns::Status;
        let mut lines = Lines::at(1);
        if has_end {
            // C++ lets no jump go past declarations in the same block.
            lines.line("{");
        }
        lines.append(&self.lines);
        if has_end {
            lines.line("}");
            lines.line("done:;");
        }
        self.at_end.iter().for_each(|line| lines.line(line));
        match (self.returns, has_status) {
            (Returns::Nothing, _) => {}
            (Returns::Status, true) => lines.line("return status;"),
            (Returns::Status, false) => lines.line("return 0;"),
        }
        // What no statement reads was optimised away in the plan, and compilers would tell so.
        let mut all = Lines::at(1);
        self.declarations.iter().for_each(|(_, line)| all.line(line));
        all.append(&lines);
        let mut body = all.without_unused().into_text();
        let mut uses: BTreeMap<String, usize> = BTreeMap::new();
        for word in super::text::words(&body) {
            *uses.entry(word.to_owned()).or_default() += 1;
        }
        for (name, line) in self.declarations.iter().rev() {
            // The only use is the declaration itself.
            if uses.get(name) == Some(&1) {
                body = body.replacen(&format!("    {line}\n"), "", 1);
                for word in super::text::words(line) {
                    uses.entry(word.to_owned()).and_modify(|count| *count -= 1);
                }
            }
        }
        let body = without_idle_uses(&body, &uses);
        let named = words(&body);
        let mut head = Lines::at(1);
        if has_status {
            head.line("int32_t status = 0;");
        }
        for parameter in self.parameters.iter().filter(|parameter| !named.contains(parameter.as_str())) {
            head.line(format!("(void){parameter};"));
        }
        for symbol in self.declared.difference(&self.read.borrow()) {
            let name = self.program.names.variable(symbol).unwrap_or_default();
            if self.declarations.iter().any(|(declared, _)| declared == name) && named.contains(name) {
                head.line(format!("(void){name};"));
            }
        }
        format!("{heading} {{\n{}{body}}}\n", head.into_text())
    }

    /// Says that the function has a parameter of this name.
    pub(super) fn add_parameter(&mut self, name: &str) {
        self.parameters.push(name.to_owned());
    }

    /// Adds a line.
    pub(super) fn line(&mut self, line: impl AsRef<str>) {
        self.lines.line(line);
    }

    /// Adds a declaration of `name` to the beginning of the function, which stays if the function names it.
    pub(super) fn declare(&mut self, name: &str, line: impl Into<String>) {
        self.declarations.push((name.to_owned(), line.into()));
    }

    /// Adds a declaration of a pointer that is freed at the end.
    pub(super) fn declare_owned(&mut self, ty: &str, name: &str) {
        self.declare(name, format!("{ty} *{name} = NULL;"));
        self.at_end(format!("free({name});"));
    }

    /// Adds a statement to the end of the function, which runs whether it fails or not.
    pub(super) fn at_end(&mut self, line: String) {
        self.at_end.push(line);
    }

    /// Adds `line` with a block behind it.
    pub(super) fn block(
        &mut self,
        line: impl AsRef<str>,
        body: impl FnOnce(&mut Self) -> Print<()>,
    ) -> Print<()> {
        self.lines.open(format!("{} {{", line.as_ref()).trim_start());
        body(self)?;
        self.lines.close("}");
        Ok(())
    }

    /// The lines that `body` writes, kept apart from the lines so far.
    pub(super) fn apart<T>(
        &mut self,
        depth: usize,
        body: impl FnOnce(&mut Self) -> Print<T>,
    ) -> Print<(T, Lines)> {
        let inner = Lines::at(self.lines.depth() + depth);
        let outer = std::mem::replace(&mut self.lines, inner);
        let result = body(self);
        let inner = std::mem::replace(&mut self.lines, outer);
        Ok((result?, inner))
    }

    /// A new name for a value in the middle of an expression.
    pub(super) fn temporary(&mut self) -> String {
        self.temporaries += 1;
        format!("sdfg_t{}", self.temporaries)
    }

    /// A value under a name, if its text is more than one.
    pub(super) fn named(&mut self, ty: ScalarType, code: Code) -> Code {
        let is_name = code.text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if code.precedence == Precedence::Atom && is_name {
            return code;
        }
        let name = self.temporary();
        let ty = self.program.scalar_type(ty);
        self.line(format!("const {ty} {name} = {};", code.text));
        Code::atom(name)
    }

    // Variables.

    /// The value of an index expression, which is known to have one.
    pub(super) fn plain_index(&self, expression: &Expr) -> Print<Code> {
        self.program.index(expression, &|symbol| self.note_read(symbol))
    }

    /// As [`Self::plain_index`], in 32 bits.
    pub(super) fn narrow_index(&self, expression: &Expr) -> Print<Code> {
        self.program.narrow_index(expression, &|symbol| self.note_read(symbol))
    }

    /// Notes that a variable is read.
    pub(super) fn note_read(&self, symbol: &Symbol) {
        self.read.borrow_mut().insert(symbol.clone());
    }

    /// The name of a variable.
    pub(super) fn variable(&self, symbol: &Symbol) -> Print<&'w str> {
        let name = self.program.names.variable(symbol);
        name.ok_or_else(|| defect(format!("variable `{symbol}` has no type")))
    }

    /// The type of a variable.
    pub(super) fn variable_type(&self, symbol: &Symbol) -> ScalarType {
        self.program.plan.variables.get(symbol).copied().unwrap_or(ScalarType::I64)
    }

    /// A 64-bit integer as the value of a variable.
    pub(super) fn converted(&self, symbol: &Symbol, value: &Code) -> Print<Code> {
        self.program.cast(ScalarType::I64, value, self.variable_type(symbol))
    }

    /// Declares what statements set and allocate, apart from what is there already.
    pub(super) fn declare_all(&mut self, body: &[Statement]) -> Print<()> {
        let declarations = Declarations::of(body);
        for symbol in &declarations.variables {
            if self.declared.insert(symbol.clone()) {
                let (name, ty) =
                    (self.variable(symbol)?, self.program.scalar_type(self.variable_type(symbol)));
                self.declare(name, format!("{ty} {name} = 0;"));
            }
        }
        for reference in &declarations.references {
            self.declare_pointer(*reference, false)?;
            if let Some(written) = self.program.plan.buffer(*reference).defined {
                self.declare_pointer(written, false)?;
            }
        }
        for buffer in &declarations.buffers {
            self.declare_pointer(*buffer, true)?;
        }
        Ok(())
    }

    fn declare_pointer(&mut self, id: BufferId, is_owned: bool) -> Print<()> {
        if self.buffers.contains_key(&id) {
            return Ok(());
        }
        let (ty, name) = (self.element_type(id), self.program.names.buffer(id));
        if is_owned && self.program.is_stream(id) {
            self.declare(name, format!("{ty} *{name} = NULL;"));
            self.at_end(self.program.closing(id, name));
        } else if is_owned && self.program.is_on_device(id) {
            self.declare(name, format!("{ty} *{name} = NULL;"));
            self.free_on_device_at_end(name);
        } else if is_owned {
            self.declare_owned(&ty, name);
        } else {
            self.declare(name, format!("{ty} *{name} = NULL;"));
        }
        self.bind(id, Base::Pointer);
        Ok(())
    }

    // Buffers.

    /// Says how a buffer is named from here on.
    pub(super) fn bind(&mut self, id: BufferId, base: Base) {
        self.buffers.insert(id, base);
    }

    /// The expression that names a buffer. Constants have one name everywhere.
    pub(super) fn base(&self, id: BufferId) -> Base {
        self.buffers.get(&id).copied().unwrap_or(Base::Pointer)
    }

    /// Whether a buffer was bound.
    pub(super) fn is_bound(&self, id: BufferId) -> bool {
        self.buffers.contains_key(&id)
    }

    /// The type of a buffer's elements, as pointers to them have it; a stream is one thing that is pointed to.
    pub(super) fn element_type(&self, id: BufferId) -> String {
        if self.program.is_device_queue(id) {
            return self.program.queues_helper();
        }
        if self.program.is_stream(id) {
            self.program.use_runtime();
            return "sdfg_stream".to_owned();
        }
        self.program.memory_type(self.program.plan.buffer(id).element)
    }

    /// Declares a buffer of constant size on the stack.
    pub(super) fn stack_buffer(&mut self, id: BufferId) -> Print<()> {
        if self.is_bound(id) {
            return Ok(());
        }
        let buffer = self.program.plan.buffer(id);
        let size = buffer.size.as_int().filter(|size| *size >= 0);
        let size = size.ok_or_else(|| defect(format!("`{}` has no constant size", buffer.name)))?;
        let (ty, name) = (self.element_type(id), self.program.names.buffer(id));
        let bytes = size * buffer.element.size() as i64;
        match size {
            1 => {
                let zero = self.program.zero(buffer.element);
                self.declare(name, format!("{ty} {name} = {zero};"));
                self.bind(id, Base::Variable);
            }
            _ if bytes < 64 => {
                self.declare(name, format!("{ty} {name}[{}];", size.max(1)));
                self.bind(id, Base::Pointer);
            }
            _ => {
                self.declare(name, format!("SDFG_ALIGNED(64) {ty} {name}[{size}];"));
                self.bind(id, Base::Pointer);
            }
        }
        Ok(())
    }

    /// The parameters that a function of its own has for what it is given, and what its callers pass.
    pub(super) fn captured(
        &mut self,
        captures: &Captures,
        inner: &mut Function<'w, 'p>,
    ) -> Print<(Vec<String>, Vec<String>)> {
        let (mut parameters, mut arguments) = (Vec::new(), Vec::new());
        for symbol in &captures.variables {
            self.note_read(symbol);
            let (name, ty) = (self.variable(symbol)?, self.program.scalar_type(self.variable_type(symbol)));
            parameters.push(format!("{ty} {name}"));
            arguments.push(name.to_owned());
            inner.add_parameter(name);
            inner.take(symbol);
        }
        let is_value =
            |captured: &&Captured| inner.is_of_device && self.program.is_given_by_value(captured.buffer);
        let (values, memory): (Vec<&Captured>, Vec<&Captured>) = captures.buffers.iter().partition(is_value);
        for captured in values {
            let id = captured.buffer;
            let (ty, name) = (self.element_type(id), self.program.names.buffer(id));
            parameters.push(format!("{ty} {name}"));
            arguments.push(match self.base(id) {
                Base::Pointer => format!("{name}[0]"),
                Base::Variable => name.to_owned(),
            });
            inner.add_parameter(name);
            inner.bind(id, Base::Variable);
        }
        for captured in memory {
            let id = captured.buffer;
            let (ty, name) = (self.element_type(id), self.program.names.buffer(id));
            if inner.is_of_device && self.program.is_device_queue(id) {
                // A kernel has their memory, which begins with what it has to know.
                parameters.push(format!("{}int64_t *{name}", self.program.dialect.global()));
                arguments.push(format!("{name}->memory"));
                inner.add_parameter(name);
                inner.bind(id, Base::Pointer);
                continue;
            }
            let is_shared = captured.contested || self.program.is_stream(id);
            let restrict = if is_shared { "" } else { "SDFG_RESTRICT " };
            let space = if inner.is_of_device { self.program.dialect.global() } else { "" };
            parameters.push(format!("{space}{}{ty} *{restrict}{name}", self.program.constness(id)));
            arguments.push(self.address(id));
            inner.add_parameter(name);
            inner.bind(id, Base::Pointer);
        }
        Ok((parameters, arguments))
    }

    /// Says that a variable is there already.
    pub(super) fn take(&mut self, symbol: &Symbol) {
        self.declared.insert(symbol.clone());
    }

    /// The address of a buffer's first element.
    pub(super) fn address(&self, id: BufferId) -> String {
        let name = self.program.names.buffer(id);
        match self.base(id) {
            Base::Pointer => name.to_owned(),
            Base::Variable => format!("&{name}"),
        }
    }

    // Ends of the function.

    /// Ends the run with a status.
    pub(super) fn fail(&mut self, status: Status, text: &str) {
        let report = self.program.fail_helper();
        self.end_with(&format!("{report}(handle, {}, {})", status.code(), quoted(text)));
    }

    /// Ends the run with the status of a call, which leaves it in the handle.
    pub(super) fn end_with(&mut self, call: &str) {
        self.is_fallible = true;
        match self.returns {
            Returns::Nothing => self.line(format!("{call};")),
            Returns::Status => self.line(format!("status = {call};")),
        }
        self.line("goto done;");
    }

    /// Ends the run with a status and a text, both as code, unless it failed before: the first failure is the reason of those that follow it.
    pub(super) fn fail_first(&mut self, status: &str, text: &str) {
        self.is_fallible = true;
        let fail = self.program.fail_helper();
        let report = self.program.helper("sdfg_fail_first", || {
            format!(
                "static int32_t sdfg_fail_first({}_t *handle, int32_t status, const char *text) {{\n    return __atomic_load_n(&handle->status, __ATOMIC_RELAXED) != 0 ? status : {fail}(handle, status, text);\n}}\n",
                self.program.plan.name
            )
        });
        match self.returns {
            Returns::Nothing => self.line(format!("(void){report}(handle, {status}, {text});")),
            Returns::Status => self.line(format!("status = {report}(handle, {status}, {text});")),
        }
        self.line("goto done;");
    }

    /// Ends the function with the status that a call returns, unless it is 0.
    pub(super) fn take_status(&mut self, call: &str) -> Print<()> {
        if self.returns == Returns::Nothing {
            // Such functions run on several threads at once, and a device takes the commands of one.
            return Err(unsupported(
                "kernels, copies and memory of a device in a task or a parallel map of the host",
            ));
        }
        self.is_fallible = true;
        self.line(format!("status = {call};"));
        self.block("if (status != 0)", |f| {
            f.line("goto done;");
            Ok(())
        })
    }

    /// Ends the run with a status if a condition holds.
    pub(super) fn fail_if(&mut self, condition: &str, status: Status, text: &str) -> Print<()> {
        self.block(format!("if ({condition})"), |f| {
            f.fail(status, text);
            Ok(())
        })
    }

    /// Ends this function, too, if functions that it called left a failure in the handle.
    pub(super) fn fail_as_others_did(&mut self) -> Print<()> {
        self.is_fallible = true;
        self.block("if (handle->status != 0)", |f| {
            if f.returns == Returns::Status {
                f.line("status = handle->status;");
            }
            f.line("goto done;");
            Ok(())
        })
    }

    /// Jumps to a label.
    pub(super) fn go_to(&mut self, label: String) {
        self.line(format!("goto {label};"));
        self.labels.insert(label);
    }

    /// Writes a label, if something before jumps to it.
    pub(super) fn label(&mut self, label: &str) {
        if self.labels.contains(label) {
            self.lines.line(format!("{label}:;"));
        }
    }

    /// Whether something before jumps to a label.
    pub(super) fn has_jumps_to(&self, label: &str) -> bool {
        self.labels.contains(label)
    }
}

impl Program<'_> {
    /// The initialiser of a zero.
    pub(super) fn zero(&self, element: ElementType) -> &'static str {
        if element.lanes() > 1 {
            "{ { 0 } }"
        } else if element.lane().is_complex() {
            "{ 0, 0 }"
        } else {
            "0"
        }
    }

    /// Whether a buffer lies in memory of a device.
    pub(super) fn is_on_device(&self, id: BufferId) -> bool {
        self.plan.buffer(id).space == Space::DeviceGlobal
    }

    /// Whether kernels are given the value of a buffer: it lies on the host.
    pub(super) fn is_given_by_value(&self, id: BufferId) -> bool {
        let buffer = self.plan.buffer(id);
        buffer.is_value() && matches!(buffer.space, Space::HostHeap | Space::Stack | Space::Pinned)
    }

    /// The statement that closes a stream; NULL is nothing.
    pub(super) fn closing(&self, id: BufferId, pointer: &str) -> String {
        if self.is_device_queue(id) {
            return format!("sdfg_queues_close({}, {pointer});", self.queue_device());
        }
        format!("sdfg_stream_close({pointer});")
    }

    /// Whether a buffer is a stream.
    pub(super) fn is_stream(&self, id: BufferId) -> bool {
        let is_argument = self
            .plan
            .arguments
            .iter()
            .any(|argument| argument.buffer == id && argument.kind == PassedAs::Queue);
        is_argument || matches!(self.plan.buffer(id).allocation, Allocation::Queues { .. })
    }

    /// `const ` for buffers that the program only reads.
    pub(super) fn constness(&self, id: BufferId) -> &'static str {
        let is_read_only = match self.plan.buffer(id).allocation {
            Allocation::Argument(position) => {
                self.plan.arguments.get(position).is_some_and(|argument| !argument.written)
            }
            Allocation::Constant(_) => true,
            Allocation::Stack
            | Allocation::Handle
            | Allocation::Persistent
            | Allocation::Thread
            | Allocation::Dynamic
            | Allocation::Queues { .. }
            | Allocation::Reference(_) => false,
        };
        if is_read_only { "const " } else { "" }
    }

    /// The helper that leaves a status and a text in the handle. Its result is the status.
    pub(super) fn fail_helper(&self) -> String {
        let handle = format!("{}_t", self.plan.name);
        self.helper("sdfg_fail", || {
            format!(
                "static int32_t sdfg_fail({handle} *handle, int32_t status, const char *text) {{\n    __atomic_store_n(&handle->error, text, __ATOMIC_RELAXED);\n    __atomic_store_n(&handle->status, status, __ATOMIC_RELAXED);\n    return status;\n}}\n"
            )
        })
    }
}

/// Lines without those that only say that a variable is used, where other lines use it. `uses` counts words.
fn without_idle_uses(body: &str, uses: &BTreeMap<String, usize>) -> String {
    let only_used = |line: &str| line.trim().strip_prefix("(void)")?.strip_suffix(';').map(str::to_owned);
    let mut said: BTreeMap<String, usize> = BTreeMap::new();
    for name in body.lines().filter_map(only_used) {
        *said.entry(name).or_default() += 1;
    }
    // One use is the declaration.
    let is_idle = |line: &str| {
        let name = only_used(line)?;
        Some(uses.get(&name).copied().unwrap_or(0) > said.get(&name).copied().unwrap_or(0) + 1)
    };
    let kept = body.lines().filter(|line| is_idle(line) != Some(true));
    kept.flat_map(|line| [line, "\n"]).collect()
}

/// The words of source.
pub(super) fn words(text: &str) -> BTreeSet<&str> {
    super::text::words(text).collect()
}

/// A text as a literal.
pub(super) fn quoted(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|c| match c {
            '"' | '\\' => format!("\\{c}"),
            '\n' => "\\n".to_owned(),
            '?' => "\\?".to_owned(),
            c => c.to_string(),
        })
        .collect();
    format!("\"{escaped}\"")
}
