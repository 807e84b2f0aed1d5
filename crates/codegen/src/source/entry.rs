//! The exported functions of a program, and the handle that holds its state.

use sdfg::dtype::ScalarType;

use super::error::Print;
use super::function::{Base, Function, Returns};
use super::program::Program;
use super::tasklet::unsupported;
use crate::interface::{EntryPoint, Interface, Status};
use crate::plan::{Allocation, Argument, BufferId, Captured, PassedAs};

impl Program<'_> {
    /// Writes every function of the program.
    pub(super) fn entries(&self, interface: &Interface, threads: u32) -> Print<()> {
        let measures = self.dialect.has_device_runtime();
        if self.plan.profile.as_ref().is_some_and(|profile| !measures || !profile.timers.is_empty()) {
            return Err(unsupported("timers (leave `--instrument` out)"));
        }
        let body = self.plan_body()?;
        self.create(interface, threads);
        self.define(self.destroy(interface));
        self.define(format!(
            "SDFG_API const char *{name}_error(const {name}_t *handle) {{\n    return handle != NULL ? handle->error : \"the handle is NULL\";\n}}\n",
            name = interface.name()
        ));
        if self.plan.profile.is_some() {
            self.define(format!(
                "SDFG_API const char *{}({}_t *handle, int32_t format) {{\n    return handle != NULL && handle->device != NULL ? sdfg_device_profile(handle->device, format) : \"\";\n}}\n",
                interface.symbol(EntryPoint::Profile),
                interface.name()
            ));
        }
        self.run(interface, &body)?;
        self.one_shot(interface);
        self.invoke(interface);
        self.start_entries(interface)?;
        self.stop(interface);
        Ok(())
    }

    /// The definition of the handle.
    pub(super) fn handle(&self) -> String {
        let name = &self.plan.name;
        let mut text = format!(
            "/* One instance of the program: its scratch memory and its last error. */\ntypedef struct {name}_t {{\n    const char *error;\n    int32_t threads;\n    int32_t status;\n"
        );
        if !self.plan.slots.is_empty() {
            text.push_str("    char *arena;\n    int64_t arena_bytes;\n");
        }
        for id in self.plan.persistent_buffers() {
            let name = self.names.buffer(id);
            text.push_str(&format!("    void *{name};\n    int64_t sdfg_{name}_bytes;\n"));
        }
        if self.dialect.has_device_runtime() {
            text.push_str("    sdfg_device *device;\n    char *device_name;\n");
        }
        text.push_str(self.fields_of_starts());
        text.push_str(&self.fields_of_streams());
        text.push_str(&self.fields_of_checks());
        text.push_str(&self.callback_fields());
        text.push_str(&format!(
            "}} {name}_t;\n\ntypedef struct {name}_config {{\n    size_t size;\n    int32_t num_threads;\n"
        ));
        text.push_str(if self.plan.uses_device() { "    const char *device;\n" } else { "" });
        text.push_str(&format!("}} {name}_config;\n"));
        text
    }

    /// Buffers of constants.
    pub(super) fn constants(&self) -> Print<Vec<(String, String)>> {
        let mut texts = Vec::new();
        for (index, buffer) in self.plan.buffers.iter().enumerate() {
            let Allocation::Constant(values) = &buffer.allocation else { continue };
            let name = self.names.buffer(BufferId(index as u32));
            let ty = self.memory_type(buffer.element);
            let values: Vec<String> = values.iter().map(|value| self.initialiser(*value)).collect();
            let lanes = usize::from(buffer.element.lanes());
            let elements: Vec<String> = if lanes == 1 {
                values
            } else {
                values.chunks(lanes).map(|lanes| format!("{{ {{ {} }} }}", lanes.join(", "))).collect()
            };
            let text = format!(
                "static const {ty} {name}[{}] = {{ {} }};\n",
                elements.len().max(1),
                elements.join(", ")
            );
            texts.push((name.to_owned(), text));
        }
        Ok(texts)
    }

    /// A value in the initialiser of static memory, where nothing is called.
    fn initialiser(&self, value: sdfg::value::Value) -> String {
        use sdfg::value::Value;
        let float = |value: f64, text: String| {
            if value.is_nan() {
                "(0.0f / 0.0f)".to_owned()
            } else if value.is_infinite() {
                if value > 0.0 { "(1.0f / 0.0f)".to_owned() } else { "(-1.0f / 0.0f)".to_owned() }
            } else {
                text
            }
        };
        match value {
            Value::Bool(value) => u8::from(value).to_string(),
            Value::F16(value) => format!("0x{:04x}u", value.to_bits()),
            Value::F32(value) => float(f64::from(value), format!("{value:?}f")),
            Value::F64(value) => float(value, format!("{value:?}")),
            Value::Complex64(value) => format!(
                "{{ {}, {} }}",
                float(f64::from(value.re), format!("{:?}f", value.re)),
                float(f64::from(value.im), format!("{:?}f", value.im))
            ),
            Value::Complex128(value) => format!(
                "{{ {}, {} }}",
                float(value.re, format!("{:?}", value.re)),
                float(value.im, format!("{:?}", value.im))
            ),
            Value::I8(_)
            | Value::I16(_)
            | Value::I32(_)
            | Value::I64(_)
            | Value::U8(_)
            | Value::U16(_)
            | Value::U32(_)
            | Value::U64(_) => self.constant(value).text,
        }
    }

    /// The function with the statements of the plan; the text of its call.
    fn plan_body(&self) -> Print<String> {
        let captures = &self.plan.captures;
        let slots = self.plan.slot_of_buffers();
        let mut f = Function::new(self, Returns::Status);
        let mut outer = Function::new(self, Returns::Status);
        // Buffers that take turns in one slot are one parameter, so that accesses keep their order.
        let mut first_of_slot: std::collections::BTreeMap<usize, Captured> =
            std::collections::BTreeMap::new();
        let mut own = captures.clone();
        own.buffers.clear();
        let mut turns = Vec::new();
        for captured in &captures.buffers {
            match slots.get(&captured.buffer) {
                Some(slot) => match first_of_slot.get(slot) {
                    Some(first) => turns.push((captured.buffer, first.buffer)),
                    None => {
                        let sharing =
                            captures.buffers.iter().filter(|other| slots.get(&other.buffer) == Some(slot));
                        let contested = sharing.clone().any(|other| other.contested);
                        first_of_slot.insert(*slot, *captured);
                        own.buffers.push(Captured { contested, ..*captured });
                    }
                },
                None => own.buffers.push(*captured),
            }
        }
        for id in own.buffers.iter().map(|captured| captured.buffer) {
            outer.bind(id, Base::Pointer);
        }
        let (mut parameters, mut arguments) = outer.captured(&own, &mut f)?;
        parameters.insert(0, format!("{}_t *handle", self.plan.name));
        f.add_parameter("handle");
        arguments.insert(0, "handle".to_owned());
        for (buffer, first) in turns {
            let (ty, name) = (self.memory_type(self.plan.buffer(buffer).element), self.names.buffer(buffer));
            f.declare(name, format!("{ty} *const {name} = ({ty} *)(void *){};", self.names.buffer(first)));
            f.bind(buffer, Base::Pointer);
        }
        self.end_after_failure(&mut f);
        for buffer in &captures.stack {
            f.stack_buffer(*buffer)?;
        }
        f.declare_all(&self.plan.body)?;
        f.statements(&self.plan.body)?;
        // Commands use memory of this function.
        self.finish_commands(&mut f)?;
        let name = self.names.global(&format!("{}_body", self.plan.name));
        self.define(f.finish(&format!("static SDFG_NOINLINE int32_t {name}({})", parameters.join(", "))));
        Ok(format!("{name}({})", arguments.join(", ")))
    }

    fn create(&self, interface: &Interface, threads: u32) {
        let name = interface.name();
        let (refused, kept) = self.named_device();
        self.define(format!(
            "SDFG_API int32_t {name}_create(const {name}_config *config, {name}_t **out) {{
    int32_t threads = {threads};
    {name}_t *handle;
    if (out == NULL) {{
        return {invalid};
    }}
    *out = NULL;
    if (config != NULL) {{
        if (config->size < 8 || (config->size >= 12 && config->num_threads < 0)) {{
            return {configuration};
        }}
        if (config->size >= 12 && config->num_threads != 0) {{
            threads = config->num_threads;
        }}{refused}
    }}
    handle = ({name}_t *)calloc(1, sizeof *handle);
    if (handle == NULL) {{
        return {memory};
    }}
    handle->error = \"\";
    handle->threads = threads;{kept}
    *out = handle;
    return 0;
}}\n",
            invalid = Status::InvalidArgument.code(),
            configuration = Status::InvalidConfiguration.code(),
            memory = Status::OutOfMemory.code(),
        ));
    }

    /// The device that the configuration of an instance names: the code that refuses it, and the code that keeps it.
    fn named_device(&self) -> (String, String) {
        let is_named = "config->size >= sizeof *config && config->device != NULL";
        let none = (String::new(), String::new());
        if !self.plan.uses_device() {
            return none;
        }
        if self.dialect.has_device_runtime() {
            self.include("string.h");
            let memory = Status::OutOfMemory.code();
            let kept = format!(
                "\n    if (config != NULL && {is_named}) {{\n        const size_t length = strlen(config->device) + 1;\n        handle->device_name = (char *)malloc(length);\n        if (handle->device_name == NULL) {{\n            free(handle);\n            return {memory};\n        }}\n        memcpy(handle->device_name, config->device, length);\n    }}"
            );
            return (String::new(), kept);
        }
        // The runtime of CUDA has a current device.
        let configuration = Status::InvalidConfiguration.code();
        (
            format!("\n        if ({is_named}) {{\n            return {configuration};\n        }}"),
            String::new(),
        )
    }

    fn destroy(&self, interface: &Interface) -> String {
        let name = interface.name();
        let mut text = format!(
            "SDFG_API void {name}_destroy({name}_t *handle) {{\n    if (handle == NULL) {{\n        return;\n    }}\n"
        );
        text.push_str(self.close_starts());
        if !self.plan.slots.is_empty() {
            text.push_str(&format!("    {}\n", self.free_arena()));
        }
        for id in self.plan.persistent_buffers() {
            let name = self.names.buffer(id);
            text.push_str(&if self.is_stream(id) {
                format!("    sdfg_stream_close((sdfg_stream *)handle->{name});\n")
            } else if self.is_on_device(id) {
                self.destroy_on_device(name)
            } else {
                format!("    free(handle->{name});\n")
            });
        }
        text.push_str(self.close_fault_memory());
        text.push_str(&self.close_streams());
        if self.dialect.has_device_runtime() {
            text.push_str("    sdfg_device_close(handle->device);\n    free(handle->device_name);\n");
        }
        text.push_str("    free(handle);\n}\n");
        text
    }

    /// The type of an argument in the signature.
    fn argument_type(&self, argument: &Argument) -> String {
        let ty = self.memory_type(argument.element);
        if argument.kind == PassedAs::Queue {
            self.use_runtime();
            "sdfg_queue *".to_owned()
        } else if argument.by_value {
            ty
        } else if argument.written {
            format!("{ty} *")
        } else {
            format!("const {ty} *")
        }
    }

    /// `type name` of every argument.
    fn parameters(&self) -> Vec<String> {
        let containers = self.plan.arguments.iter().map(|argument| {
            let ty = self.argument_type(argument);
            let space = if ty.ends_with('*') { "" } else { " " };
            format!("{ty}{space}{}", self.argument_name(argument))
        });
        let symbols = self.plan.symbols.iter().map(|symbol| {
            format!(
                "{} {}",
                self.scalar_type(symbol.ty),
                self.names.variable(&symbol.name).unwrap_or("symbol")
            )
        });
        containers.chain(symbols).chain(self.callback_parameters()).collect()
    }

    fn argument_name(&self, argument: &Argument) -> String {
        let name = self.names.buffer(argument.buffer);
        match argument.kind {
            PassedAs::Queue => format!("{name}_queue"),
            PassedAs::Scalar if argument.by_value => format!("{name}_value"),
            PassedAs::Scalar | PassedAs::Array => name.to_owned(),
        }
    }

    fn run(&self, interface: &Interface, body: &str) -> Print<()> {
        let name = interface.name();
        let mut f = Function::new(self, Returns::Status);
        self.argument_names().for_each(|name| f.add_parameter(&name));
        let invalid = Status::InvalidArgument;
        for symbol in self.plan.symbols.iter().filter(|symbol| symbol.non_negative) {
            let variable = f.variable(&symbol.name)?;
            if !matches!(symbol.ty, ScalarType::U8 | ScalarType::U16 | ScalarType::U32 | ScalarType::U64) {
                f.fail_if(&format!("{variable} < 0"), invalid, &format!("`{}` is negative", symbol.name))?;
            }
        }
        for argument in &self.plan.arguments {
            let buffer = self.plan.buffer(argument.buffer);
            let pointer = &self.argument_name(argument);
            if argument.by_value {
                let ty = self.memory_type(argument.element);
                let pointer = self.names.buffer(argument.buffer);
                f.declare(pointer, format!("{ty} {pointer}[1] = {{ {pointer}_value }};"));
            } else {
                let size = f.index(&buffer.size)?;
                let condition = match buffer.size.as_int() {
                    Some(1..) => format!("{pointer} == NULL"),
                    Some(_) => continue,
                    None => {
                        format!("{pointer} == NULL && {} > 0", size.at_least(super::text::Precedence::Shift))
                    }
                };
                f.fail_if(&condition, invalid, &format!("`{}` is NULL", buffer.name))?;
            }
        }
        self.receive_callbacks(&mut f)?;
        self.refuse_overlaps(&mut f)?;
        self.end_after_failed_end(&mut f);
        self.receive_queues(&mut f)?;
        self.open_device(&mut f)?;
        self.open_fault_memory(&mut f)?;
        for id in self.plan.persistent_buffers() {
            self.bind_persistent(&mut f, id)?;
        }
        self.bind_arena(&mut f)?;
        self.lend_arguments(&mut f)?;
        f.line(format!("status = {body};"));
        f.is_fallible = true;
        self.end_on_device(&mut f)?;
        self.hand_back(&mut f)?;
        let mut parameters = vec![format!("{name}_t *handle")];
        parameters.extend(self.parameters());
        let text = f.finish(&format!("SDFG_API int32_t {name}_run({})", parameters.join(", ")));
        // What the handle says is set before anything can fail.
        let begin = format!(
            "    int32_t status = 0;\n    if (handle == NULL) {{\n        return {};\n    }}\n    handle->error = \"\";\n    handle->status = 0;\n",
            invalid.code()
        );
        self.define(text.replacen("    int32_t status = 0;\n", &begin, 1));
        Ok(())
    }

    /// Ends the run if memory that the program writes is also that of another argument.
    fn refuse_overlaps(&self, f: &mut Function<'_, '_>) -> Print<()> {
        let arguments: Vec<&Argument> =
            self.plan.arguments.iter().filter(|argument| !argument.by_value).collect();
        for (at, first) in arguments.iter().enumerate() {
            for second in arguments.iter().skip(at + 1).filter(|second| first.written || second.written) {
                if [first, second].iter().all(|argument| self.plan.overlapping.contains(&argument.buffer)) {
                    continue;
                }
                let helper = self.helper("sdfg_meet", || MEET.to_owned());
                let mut ends = Vec::new();
                for argument in [first, second] {
                    let ty = match argument.kind {
                        PassedAs::Queue => "sdfg_queue".to_owned(),
                        PassedAs::Array | PassedAs::Scalar => self.memory_type(argument.element),
                    };
                    // Elements of one array that lie between those of another one would be given back with old values.
                    let is_lent = self.lent().any(|lent| lent.buffer == argument.buffer);
                    let size = if is_lent {
                        self.lent_elements(argument)
                    } else {
                        self.plan.buffer(argument.buffer).size.clone()
                    };
                    let bytes = f.byte_size(&size, &ty)?;
                    ends.push(format!("{}, {bytes}", self.argument_name(argument)));
                }
                let condition = format!("{helper}({})", ends.join(", "));
                let text =
                    format!("`{}` and `{}` overlap, and one of them is written", first.name, second.name);
                f.fail_if(&condition, Status::InvalidArgument, &text)?;
            }
        }
        Ok(())
    }

    /// Gives a persistent buffer its memory, which the first run allocates.
    fn bind_persistent(&self, f: &mut Function<'_, '_>, id: BufferId) -> Print<()> {
        let (buffer, name) = (self.plan.buffer(id), self.names.buffer(id));
        let ty = f.element_type(id);
        f.declare(name, format!("{ty} *{name};"));
        let bytes = f.byte_size(&buffer.size, &self.memory_type(buffer.element))?;
        let size = f.temporary();
        let allocate = self.allocate_helper();
        f.line(format!("const size_t {size} = {bytes};"));
        f.fail_if(
            &format!("handle->{name} != NULL && handle->sdfg_{name}_bytes != (int64_t){size}"),
            Status::InvalidArgument,
            &format!(
                "the size of persistent `{}` differs from that of the run before: use a handle for each size",
                buffer.name
            ),
        )?;
        let tells_what_was_written = self.plan.buffers.iter().any(|other| other.defined == Some(id));
        f.bind(id, Base::Pointer);
        f.block(format!("if (handle->{name} == NULL)"), |f| {
            f.line(format!("handle->sdfg_{name}_bytes = (int64_t){size};"));
            if self.is_stream(id) {
                f.open_stream(id, name)?;
                f.line(format!("handle->{name} = {name};"));
                return Ok(());
            }
            if self.is_on_device(id) {
                f.allocate_on_device(&ty, &format!("handle->{name}"), &buffer.size)?;
            } else {
                f.line(format!("handle->{name} = {allocate}({size});"));
                f.fail_if(
                    &format!("handle->{name} == NULL"),
                    Status::OutOfMemory,
                    &format!("no memory for `{}`", buffer.name),
                )?;
            }
            if tells_what_was_written {
                f.line(format!("{name} = ({ty} *)handle->{name};"));
                f.undefine(id)?;
            }
            Ok(())
        })?;
        f.line(format!("{name} = ({ty} *)handle->{name};"));
        if self.is_stream(id) {
            // A run that failed ended in the middle of whatever it did with the stream.
            f.at_end(format!("if (status != 0) {{ sdfg_stream_close((sdfg_stream *)handle->{name}); handle->{name} = NULL; }}"));
        }
        Ok(())
    }

    /// Makes queues of the streams that are arguments, with the elements that the caller gives.
    fn receive_queues(&self, f: &mut Function<'_, '_>) -> Print<()> {
        for argument in self.queues() {
            let (name, given) = (self.names.buffer(argument.buffer), self.argument_name(argument));
            f.declare(name, format!("sdfg_stream *{name} = NULL;"));
            f.at_end(format!("sdfg_stream_close({name});"));
            f.open_stream(argument.buffer, name)?;
            f.line(format!("status = sdfg_stream_receive({name}, {given});"));
            let text =
                format!("`{}` has elements, but no memory or a number below zero of them", argument.name);
            f.fail_if(
                &format!("status == {}", Status::InvalidArgument.code()),
                Status::InvalidArgument,
                &text,
            )?;
            f.fail_if("status != 0", Status::OutOfMemory, &format!("no memory for `{}`", argument.name))?;
        }
        Ok(())
    }

    /// Gives the caller the elements that are left in the streams, unless the run failed: then the queues hold what they held. Nothing
    /// fails any more once the first one has got its elements.
    fn hand_back(&self, f: &mut Function<'_, '_>) -> Print<()> {
        if self.queues().next().is_none() {
            return Ok(());
        }
        f.line("if (status != 0) {");
        f.line("    goto done;");
        f.line("}");
        for argument in self.queues() {
            let (name, given) = (self.names.buffer(argument.buffer), self.argument_name(argument));
            let text = "no memory for the elements that are left in a stream";
            f.fail_if(&format!("sdfg_stream_reserve({name}, {given}) != 0"), Status::OutOfMemory, text)?;
        }
        for argument in self.queues() {
            let (name, given) = (self.names.buffer(argument.buffer), self.argument_name(argument));
            f.line(format!("sdfg_stream_hand_back({name}, {given});"));
        }
        Ok(())
    }

    fn queues(&self) -> impl Iterator<Item = &Argument> {
        self.plan.arguments.iter().filter(|argument| argument.kind == PassedAs::Queue)
    }

    /// Gives every buffer of the arena its memory.
    fn bind_arena(&self, f: &mut Function<'_, '_>) -> Print<()> {
        if self.plan.slots.is_empty() {
            return Ok(());
        }
        let place = self.helper("sdfg_place", || PLACE.to_owned());
        let total = f.temporary();
        f.line(format!("int64_t {total} = 0;"));
        let mut first_of = Vec::new();
        for slot in &self.plan.slots {
            let mut sizes: Vec<String> = Vec::new();
            for buffer in slot.buffers.iter().map(|id| self.plan.buffer(*id)) {
                let ty = self.memory_type(buffer.element);
                let bytes = f.byte_size(&buffer.size, &ty)?;
                if !sizes.contains(&bytes) {
                    sizes.push(bytes);
                }
            }
            let maximum = self.integer_helper(sdfg::tasklet::BinaryOperation::Maximum, ScalarType::I64)?;
            let bytes = sizes.iter().fold(String::new(), |largest, bytes| {
                let bytes = format!("(int64_t){bytes}");
                if largest.is_empty() { bytes } else { format!("{maximum}({largest}, {bytes})") }
            });
            // The body is given one address for each slot that it uses.
            let mut captured = self.plan.captures.buffers.iter().map(|captured| captured.buffer);
            let used = captured.find(|id| slot.buffers.contains(id));
            let offset = f.temporary();
            f.line(match used {
                Some(_) => format!("const int64_t {offset} = {place}(&{total}, {bytes});"),
                None => format!("(void){place}(&{total}, {bytes});"),
            });
            first_of.extend(used.map(|id| (id, offset)));
        }
        f.block(format!("if (handle->arena == NULL || handle->arena_bytes < {total})"), |f| {
            f.line(self.free_arena());
            f.line("handle->arena_bytes = 0;");
            if self.has_pinned_arena() {
                f.line("handle->arena = NULL;");
                f.on_success_of(&self.allocate_pinned(&total))?;
            } else {
                let allocate = self.allocate_helper();
                f.line(format!("handle->arena = (char *){allocate}((size_t){total});"));
                f.fail_if("handle->arena == NULL", Status::OutOfMemory, "no memory for transients")?;
            }
            f.line(format!("handle->arena_bytes = {total};"));
            Ok(())
        })?;
        for (id, offset) in first_of {
            let (ty, name) = (self.memory_type(self.plan.buffer(id).element), self.names.buffer(id));
            f.declare(name, format!("{ty} *{name};"));
            f.line(format!("{name} = ({ty} *)(void *)(handle->arena + {offset});"));
        }
        Ok(())
    }

    fn one_shot(&self, interface: &Interface) {
        let name = interface.name();
        let parameters = self.parameters();
        let one_shot = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
        let mut arguments = vec!["handle".to_owned()];
        arguments.extend(self.argument_names());
        self.define(format!(
            "SDFG_API int32_t {name}({one_shot}) {{\n    {name}_t *handle;\n    int32_t status = {name}_create(NULL, &handle);\n    if (status == 0) {{\n        status = {name}_run({});\n        {name}_destroy(handle);\n    }}\n    return status;\n}}\n",
            arguments.join(", ")
        ));
    }

    fn start_entries(&self, interface: &Interface) -> Print<()> {
        let arguments: Vec<String> = ["handle".to_owned()].into_iter().chain(self.argument_names()).collect();
        self.starts(interface, &self.parameters(), &arguments)
    }

    fn argument_names(&self) -> impl Iterator<Item = String> {
        let containers = self.plan.arguments.iter().map(|argument| self.argument_name(argument));
        let symbols = self
            .plan
            .symbols
            .iter()
            .map(|symbol| self.names.variable(&symbol.name).unwrap_or("symbol").to_owned());
        containers.chain(symbols).chain(self.callback_names())
    }

    fn invoke(&self, interface: &Interface) {
        let name = interface.name();
        let containers =
            self.plan.arguments.iter().map(|argument| (self.argument_type(argument), !argument.by_value));
        let symbols = self.plan.symbols.iter().map(|symbol| (self.scalar_type(symbol.ty).to_owned(), false));
        let callbacks = self.callback_types().map(|ty| (ty, true));
        let arguments =
            containers.chain(symbols).chain(callbacks).enumerate().map(|(index, (ty, is_pointer))| {
                if is_pointer {
                    format!("({ty})arguments[{index}]")
                } else {
                    format!("*(const {ty} *)arguments[{index}]")
                }
            });
        let arguments: Vec<String> = ["handle".to_owned()].into_iter().chain(arguments).collect();
        let unused = if arguments.len() == 1 { "    (void)arguments;\n" } else { "" };
        self.define(format!(
            "SDFG_API int32_t {}({name}_t *handle, void **arguments) {{\n{unused}    return {name}_run({});\n}}\n",
            interface.symbol(EntryPoint::Invoke),
            arguments.join(", ")
        ));
    }

    /// The helper that allocates memory, aligned to 64 bytes; NULL if there is none.
    pub(super) fn allocate_helper(&self) -> String {
        self.helper("sdfg_allocate", || ALLOCATE.to_owned())
    }

    /// The helper that computes the size of memory.
    pub(super) fn bytes_helper(&self) -> String {
        self.helper("sdfg_bytes", || BYTES.to_owned())
    }

    /// The helper that says how many threads a team has.
    pub(super) fn threads_helper(&self) -> String {
        self.helper("sdfg_threads", || THREADS.to_owned())
    }
}

const MEET: &str = "\
static bool sdfg_meet(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
    const uintptr_t first = (uintptr_t)a, second = (uintptr_t)b;
    return a_bytes > 0 && b_bytes > 0 && first < second + b_bytes && second < first + a_bytes;
}
";

const BYTES: &str = "\
/* The bytes of so many elements: none if their number is negative, and more than there are if it does not fit. */
static inline size_t sdfg_bytes(int64_t elements, int64_t size, int overflow) {
    if (overflow != 0 || elements > INT64_MAX / size) {
        return (size_t)INT64_MAX;
    }
    return elements <= 0 ? 0 : (size_t)(elements * size);
}
";

const ALLOCATE: &str = "\
static void *sdfg_allocate(size_t bytes) {
    const size_t rounded = bytes == 0 ? 64 : (bytes + 63) / 64 * 64;
    return rounded > (size_t)INT64_MAX ? NULL : aligned_alloc(64, rounded);
}
";

const PLACE: &str = "\
/* Where the next bytes lie in the arena. What is large begins with a page of its own. */
static int64_t sdfg_place(int64_t *total, int64_t bytes) {
    const int64_t alignment = bytes >= ((int64_t)4 << 20) ? (int64_t)2 << 20 : 64;
    const int64_t begin = (*total + alignment - 1) / alignment * alignment;
    if (*total > INT64_MAX - alignment || bytes > INT64_MAX - begin) {
        *total = INT64_MAX;
        return 0;
    }
    *total = begin + bytes;
    return begin;
}
";

const THREADS: &str = "\
static inline int sdfg_threads(int32_t asked) {
    return asked > 0 ? asked : omp_get_max_threads();
}
";
