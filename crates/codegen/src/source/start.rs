//! Runs that the caller starts on a stream of its own: the functions beside the synchronous ones, and the beginning and end of a run.
//!
//! Stream 0 of a plan is that of the caller, so the plan is the same for both. A run that is started ends with an event in this stream
//! instead of a wait of the host. The next run on the handle follows this event, as both use the memory of the handle.

use super::dialect::Dialect;
use super::error::Print;
use super::function::Function;
use super::program::Program;
use crate::interface::{EntryPoint, Interface, Status};
use crate::plan::{Allocation, BufferId, Space, Statement, any_statement};

/// The variable that says whether all commands of a run were given to the device.
const IS_GIVEN: &str = "sdfg_is_given";

impl Program<'_> {
    /// Whether callers may start runs: whether a device does something in them.
    pub(super) fn starts_runs(&self) -> bool {
        self.dialect.has_kernels() && self.plan.uses_device()
    }

    /// Members of the handle for runs that the caller starts.
    pub(super) fn fields_of_starts(&self) -> &'static str {
        match self.dialect {
            _ if !self.starts_runs() => "",
            Dialect::C => "",
            Dialect::Cuda => {
                "    cudaStream_t sdfg_stream;\n    cudaEvent_t sdfg_end;\n    bool sdfg_is_pending, sdfg_starts;\n"
            }
            Dialect::OpenCl | Dialect::CudaDriver => "    void *sdfg_stream;\n    bool sdfg_starts;\n",
        }
    }

    /// The stream of CUDA in which commands of the caller come before and behind a run.
    pub(super) fn callers_stream(&self) -> &'static str {
        if self.starts_runs() { "handle->sdfg_stream" } else { "0" }
    }

    /// Whether commands that the host does not wait for use memory of the host with an owner of some kind.
    fn commands_use(&self, is_used: impl Fn(BufferId) -> bool) -> bool {
        let of_host = |id: BufferId| {
            matches!(self.plan.buffer(id).space, Space::HostHeap | Space::Stack | Space::Pinned)
        };
        let is_used = |id: BufferId| of_host(id) && self.plan.owners(id).into_iter().any(&is_used);
        any_statement(&self.plan.body, &|statement| {
            let Statement::Copy(copy) = statement else { return false };
            let (from, to) = (copy.from.buffer, copy.to.buffer);
            (self.is_on_device(from) || self.is_on_device(to)) && (is_used(from) || is_used(to))
        })
    }

    /// Whether commands use memory that ends with the functions of a run: the stack, and arguments by value.
    pub(super) fn commands_use_the_stack(&self) -> bool {
        let by_value =
            |id| self.plan.arguments.iter().any(|argument| argument.buffer == id && argument.by_value);
        self.commands_use(|id| {
            matches!(self.plan.buffer(id).allocation, Allocation::Stack | Allocation::Thread) || by_value(id)
        })
    }

    /// Whether commands use memory of the host that the handle keeps for the next run.
    fn commands_use_the_handle(&self) -> bool {
        self.commands_use(|id| {
            matches!(self.plan.buffer(id).allocation, Allocation::Handle | Allocation::Persistent)
        })
    }

    /// Lets a run follow those that were started before, in the stream of the caller.
    pub(super) fn begin_run(&self, f: &mut Function<'_, '_>) -> Print<()> {
        if !self.starts_runs() {
            return Ok(());
        }
        let host_waits = self.commands_use_the_handle();
        if self.dialect.has_device_runtime() {
            return f.on_success_of(&format!(
                "sdfg_device_begin_run(handle->device, handle->sdfg_stream, {host_waits})"
            ));
        }
        let name = &self.plan.name;
        let follow = self.helper("sdfg_device_follow_run", || FOLLOW_RUN.replace("NAME", name));
        f.on_success_of(&format!("{follow}(handle, {host_waits})"))
    }

    /// Ends a run that the caller started.
    pub(super) fn end_run(&self, f: &mut Function<'_, '_>) -> Print<()> {
        if !self.starts_runs() {
            return Ok(());
        }
        f.block("if (handle->sdfg_starts)", |f| {
            if self.dialect.has_device_runtime() {
                return f.on_success_of("sdfg_device_end_run(handle->device)");
            }
            f.block("if (handle->sdfg_end == NULL)", |f| {
                f.on_success_of("cudaEventCreateWithFlags(&handle->sdfg_end, cudaEventDisableTiming)")
            })?;
            f.on_success_of("cudaEventRecord(handle->sdfg_end, handle->sdfg_stream)")?;
            f.line("handle->sdfg_is_pending = true;");
            Ok(())
        })
    }

    /// Waits for all commands if the end of a run fails: a copy to the caller's memory, or the event of a run that was started.
    pub(super) fn end_after_failed_end(&self, f: &mut Function<'_, '_>) {
        if self.starts_runs() {
            f.declare(IS_GIVEN, format!("bool {IS_GIVEN} = false;"));
            f.at_end(format!("if (status != 0 && {IS_GIVEN}) {{ {} }}", self.drain_call()));
        }
    }

    /// Notes that all commands of a run were given to the device.
    pub(super) fn note_given(&self, f: &mut Function<'_, '_>) {
        if self.starts_runs() {
            f.line(format!("{IS_GIVEN} = true;"));
        }
    }

    /// Waits for the last run, before memory of the host is freed that its commands use. For CUDA, it also frees the event; closing
    /// a device runtime does that.
    pub(super) fn close_starts(&self) -> &'static str {
        match self.dialect {
            Dialect::Cuda if self.starts_runs() => {
                "    if (handle->sdfg_end != NULL) {\n        (void)cudaEventSynchronize(handle->sdfg_end);\n        (void)cudaEventDestroy(handle->sdfg_end);\n    }\n"
            }
            Dialect::OpenCl | Dialect::CudaDriver if self.starts_runs() => {
                "    (void)sdfg_device_wait(handle->device);\n"
            }
            Dialect::C | Dialect::Cuda | Dialect::OpenCl | Dialect::CudaDriver => "",
        }
    }

    /// Writes the functions by which callers start runs, wait for them, and give them memory of the device.
    pub(super) fn starts(
        &self,
        interface: &Interface,
        parameters: &[String],
        arguments: &[String],
    ) -> Print<()> {
        if !self.starts_runs() {
            return Ok(());
        }
        let (name, invalid) = (interface.name(), Status::InvalidArgument.code());
        let symbol = |entry| interface.symbol(entry);
        let [start, start_by, wait, import, follow] = [
            EntryPoint::Start,
            EntryPoint::StartInvoke,
            EntryPoint::Wait,
            EntryPoint::Import,
            EntryPoint::Follow,
        ]
        .map(symbol);
        let ty = if self.dialect == Dialect::Cuda { "(cudaStream_t)" } else { "" };
        let around = |call: &str| {
            format!(
                "    int32_t status;
    if (handle == NULL) {{
        return {invalid};
    }}
    handle->sdfg_stream = {ty}sdfg_given_stream;
    handle->sdfg_starts = true;
    status = {call};
    handle->sdfg_stream = NULL;
    handle->sdfg_starts = false;
    return status;
"
            )
        };
        let handle = [format!("{name}_t *handle"), "void *sdfg_given_stream".to_owned()];
        let all: Vec<String> = handle.iter().chain(parameters).cloned().collect();
        let run = around(&format!("{name}_run({})", arguments.join(", ")));
        self.define(format!("SDFG_API int32_t {start}({}) {{\n{run}}}\n", all.join(", ")));
        let invoke = around(&format!("{}(handle, arguments)", symbol(EntryPoint::Invoke)));
        self.define(format!(
            "SDFG_API int32_t {start_by}({}, void **arguments) {{\n{invoke}}}\n",
            handle.join(", ")
        ));
        let device_status = self.device_status()?;
        let waits = if self.dialect.has_device_runtime() {
            format!("    return {device_status}(handle, sdfg_device_wait(handle->device));\n")
        } else {
            format!(
                "    if (!handle->sdfg_is_pending) {{\n        return 0;\n    }}\n    handle->sdfg_is_pending = false;\n    return {device_status}(handle, cudaEventSynchronize(handle->sdfg_end));\n"
            )
        };
        let begin = format!(
            "    if (handle == NULL) {{\n        return {invalid};\n    }}\n    handle->error = \"\";\n    handle->status = 0;\n"
        );
        self.define(format!("SDFG_API int32_t {wait}({name}_t *handle) {{\n{begin}{waits}}}\n"));
        let taken = if self.dialect == Dialect::OpenCl {
            format!(
                "    {{\n        int32_t status = {device_status}(handle, {});\n        if (status == 0) {{\n            status = {device_status}(handle, sdfg_device_import(handle->device, memory, address));\n        }}\n        return status;\n    }}\n",
                self.open_call("sdfg_given_stream")
            )
        } else {
            "    (void)sdfg_given_stream;\n    *address = memory;\n    return 0;\n".to_owned()
        };
        let null = begin.replacen("handle == NULL", "handle == NULL || address == NULL", 1);
        self.define(format!(
            "SDFG_API int32_t {import}({}, void *memory, void **address) {{\n{null}    *address = NULL;\n{taken}}}\n",
            handle.join(", ")
        ));
        let ordered = if self.dialect.has_device_runtime() {
            let queue = "sdfg_given_stream != NULL ? sdfg_given_stream : sdfg_before";
            format!(
                "    {{\n        int32_t status = {device_status}(handle, {});\n        if (status == 0) {{\n            status = {device_status}(handle, sdfg_device_order(handle->device, sdfg_given_stream, sdfg_before));\n        }}\n        return status;\n    }}\n",
                self.open_call(queue)
            )
        } else {
            let order = self.helper("sdfg_device_order", || ORDER.to_owned());
            format!(
                "    return {device_status}(handle, {order}((cudaStream_t)sdfg_given_stream, (cudaStream_t)sdfg_before));\n"
            )
        };
        self.define(format!(
            "SDFG_API int32_t {follow}({}, void *sdfg_before) {{\n{begin}{ordered}}}\n",
            handle.join(", ")
        ));
        Ok(())
    }

    /// The call that opens the device. OpenCL takes that of a queue of the caller, unless this is NULL.
    pub(super) fn open_call(&self, queue: &str) -> String {
        let (queue, images) = match self.dialect {
            Dialect::CudaDriver => (String::new(), ", sdfg_kernel_images, sdfg_kernel_images_count"),
            Dialect::C | Dialect::Cuda | Dialect::OpenCl => (format!("{queue}, "), ""),
        };
        format!(
            "sdfg_device_open(&handle->device, handle->device_name, {queue}sdfg_kernels, (uint32_t)(sizeof sdfg_kernels / sizeof sdfg_kernels[0]), sdfg_kernel_options{images})"
        )
    }
}

const FOLLOW_RUN: &str = "\
/* Lets the stream of the caller follow the last run that was started. The host waits for its end if it has to, or if the stream cannot. What the
 * host waited for is over, even if it failed: the failure is that of one run that follows. */
static cudaError_t sdfg_device_follow_run(NAME_t *handle, bool host_waits) {
    cudaError_t error = cudaSuccess, end;
    if (!handle->sdfg_is_pending) {
        return error;
    }
    if (!host_waits) {
        error = cudaStreamWaitEvent(handle->sdfg_stream, handle->sdfg_end, 0);
        if (error == cudaSuccess) {
            return error;
        }
    }
    handle->sdfg_is_pending = false;
    end = cudaEventSynchronize(handle->sdfg_end);
    return error != cudaSuccess ? error : end;
}
";

const ORDER: &str = "\
/* Lets commands that follow in one stream come behind those that are in another one now. */
static cudaError_t sdfg_device_order(cudaStream_t stream, cudaStream_t before) {
    cudaEvent_t event = NULL;
    cudaError_t error = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    if (error == cudaSuccess) {
        error = cudaEventRecord(event, before);
        if (error == cudaSuccess) {
            error = cudaStreamWaitEvent(stream, event, 0);
        }
        (void)cudaEventDestroy(event);
    }
    return error;
}
";
