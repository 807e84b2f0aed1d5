//! Command streams of a device: streams of CUDA, and queues of OpenCL, with the events that order them.

use super::dialect::Dialect;
use super::error::{Print, defect};
use super::function::Function;
use super::program::Program;
use crate::plan::{Commands, EventId, Space};

impl Function<'_, '_> {
    /// Writes statements whose commands go to a stream.
    pub(super) fn commands(&mut self, commands: &Commands) -> Print<()> {
        if self.stream.is_some() {
            return Err(defect("commands of a stream are inside of others"));
        }
        self.stream = Some(commands.stream);
        if self.program.dialect.has_device_runtime() {
            self.line(format!("sdfg_device_on(handle->device, {});", commands.stream));
        }
        for event in &commands.after {
            let call = self.program.event_call("sdfg_device_after", *event, |event| {
                format!("cudaStreamWaitEvent({}, {event}, 0)", self.stream_text())
            });
            self.on_success_of(&call)?;
        }
        self.statements(&commands.body)?;
        if let Some(event) = commands.event {
            let call = self.program.event_call("sdfg_device_record", event, |event| {
                format!("cudaEventRecord({event}, {})", self.stream_text())
            });
            self.on_success_of(&call)?;
        }
        self.stream = None;
        Ok(())
    }

    /// Writes a wait of the host.
    pub(super) fn host_waits(&mut self, events: &[EventId]) -> Print<()> {
        for event in events {
            let synchronize = |event: &str| format!("cudaEventSynchronize({event})");
            let call = self.program.event_call("sdfg_device_await", *event, synchronize);
            self.on_success_of(&call)?;
        }
        Ok(())
    }

    /// The stream of CUDA of what is being written.
    pub(super) fn stream_text(&self) -> String {
        match self.stream {
            None | Some(0) => self.program.callers_stream().to_owned(),
            Some(stream) => format!("handle->sdfg_streams[{stream}]"),
        }
    }
}

impl Program<'_> {
    /// A call of the device runtime about an event, or of CUDA's.
    fn event_call(&self, name: &str, event: EventId, of_cuda: impl FnOnce(&str) -> String) -> String {
        if self.dialect.has_device_runtime() {
            return format!("{name}(handle->device, {})", event.index());
        }
        of_cuda(&format!("handle->sdfg_events[{}]", event.index()))
    }

    /// Whether the host goes on while the device carries out commands.
    pub(super) fn is_asynchronous(&self) -> bool {
        self.plan.command_streams > 0
    }

    /// The streams and events of CUDA in the handle. Stream 0 is the default stream.
    pub(super) fn fields_of_streams(&self) -> String {
        if self.dialect != Dialect::Cuda || !self.is_asynchronous() {
            return String::new();
        }
        let mut text = String::new();
        if self.plan.command_streams > 1 {
            text.push_str(&format!("    cudaStream_t sdfg_streams[{}];\n", self.plan.command_streams));
        }
        if self.plan.events > 0 {
            text.push_str(&format!("    cudaEvent_t sdfg_events[{}];\n", self.plan.events));
        }
        text
    }

    /// Makes streams and events in the first run of a handle.
    pub(super) fn open_streams(&self, f: &mut Function<'_, '_>) -> Print<()> {
        let (streams, events) = (self.plan.command_streams, self.plan.events);
        if !self.is_asynchronous() || (streams < 2 && events == 0) {
            return Ok(());
        }
        if self.dialect.has_device_runtime() {
            return f.on_success_of(&format!("sdfg_device_streams(handle->device, {streams}, {events})"));
        }
        let made = [
            ("stream", 1, streams, "cudaStreamCreateWithFlags", "cudaStreamNonBlocking"),
            ("event", 0, events, "cudaEventCreateWithFlags", "cudaEventDisableTiming"),
        ];
        for (word, first, count, create, flag) in
            made.into_iter().filter(|(_, first, count, ..)| count > first)
        {
            f.block(format!("for (int sdfg_{word} = {first}; sdfg_{word} < {count}; ++sdfg_{word})"), |f| {
                let place = format!("handle->sdfg_{word}s[sdfg_{word}]");
                f.block(format!("if ({place} == NULL)"), |f| {
                    f.on_success_of(&format!("{create}(&{place}, {flag})"))
                })
            })?;
        }
        Ok(())
    }

    /// Frees streams and events with the handle.
    pub(super) fn close_streams(&self) -> String {
        if self.dialect != Dialect::Cuda || !self.is_asynchronous() {
            return String::new();
        }
        let (streams, events) = (self.plan.command_streams, self.plan.events);
        let kept = [("stream", 1, streams, "cudaStreamDestroy"), ("event", 0, events, "cudaEventDestroy")];
        let kept = kept.into_iter().filter(|(_, first, count, _)| count > first);
        kept.map(|(word, first, count, destroy)| {
            format!("    for (int sdfg_{word} = {first}; sdfg_{word} < {count}; ++sdfg_{word}) {{\n        if (handle->sdfg_{word}s[sdfg_{word}] != NULL) {{\n            (void){destroy}(handle->sdfg_{word}s[sdfg_{word}]);\n        }}\n    }}\n")
        })
        .collect()
    }

    /// Waits for the commands of stream 0, which follow all others.
    pub(super) fn finish_commands(&self, f: &mut Function<'_, '_>) -> Print<()> {
        if !self.is_asynchronous() {
            return Ok(());
        }
        if self.commands_use_the_stack() {
            return f.on_success_of(&self.finish_call());
        }
        self.finish_unless_started(f)
    }

    /// Waits for the commands of stream 0, unless the caller started the run.
    pub(super) fn finish_unless_started(&self, f: &mut Function<'_, '_>) -> Print<()> {
        if !self.starts_runs() {
            return f.on_success_of(&self.finish_call());
        }
        f.block("if (!handle->sdfg_starts)", |f| f.on_success_of(&self.finish_call()))
    }

    /// The call that waits for the commands of stream 0.
    fn finish_call(&self) -> String {
        if self.dialect.has_device_runtime() {
            "sdfg_device_finish(handle->device)".to_owned()
        } else {
            format!("cudaStreamSynchronize({})", self.callers_stream())
        }
    }

    /// Whether the arena is memory that the device reaches, so that copies from and to it run beside kernels.
    pub(super) fn has_pinned_arena(&self) -> bool {
        let mut buffers = self.plan.slots.iter().flat_map(|slot| &slot.buffers);
        self.is_asynchronous() && buffers.any(|buffer| self.plan.buffer(*buffer).space == Space::Pinned)
    }

    /// The call that allocates such an arena of at least one byte.
    pub(super) fn allocate_pinned(&self, bytes: &str) -> String {
        if self.dialect.has_device_runtime() {
            return format!(
                "sdfg_device_allocate_host(handle->device, (void **)&handle->arena, (size_t){bytes})"
            );
        }
        format!("cudaMallocHost((void **)&handle->arena, {bytes} > 0 ? (size_t){bytes} : 1)")
    }

    /// The statement that frees the arena; NULL is nothing.
    pub(super) fn free_arena(&self) -> &'static str {
        match (self.has_pinned_arena(), self.dialect.has_device_runtime()) {
            (false, _) => "free(handle->arena);",
            (true, true) => "sdfg_device_free_host(handle->device, handle->arena);",
            (true, false) => "(void)cudaFreeHost(handle->arena);",
        }
    }

    /// Ends commands that are under way when a run fails, before memory of the host is freed that they use.
    pub(super) fn end_after_failure(&self, f: &mut Function<'_, '_>) {
        if !self.is_asynchronous() && !self.starts_runs() {
            return;
        }
        f.at_end(format!("if (status != 0) {{ {} }}", self.drain_call()));
    }

    /// The statement that waits for all commands, whether they fail or not.
    pub(super) fn drain_call(&self) -> &'static str {
        match self.dialect {
            Dialect::OpenCl | Dialect::CudaDriver => "sdfg_device_drain(handle->device);",
            Dialect::C | Dialect::Cuda => "(void)cudaDeviceSynchronize();",
        }
    }
}
