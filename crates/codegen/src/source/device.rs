//! The device from the host: launches, memory, copies, and the beginning and end of a run, by the functions of each language.

use sdfg::symbolic::Expr;

use super::dialect::Dialect;
use super::error::{Print, defect};
use super::function::{Function, quoted};
use super::memory::product;
use super::program::Program;
use super::text::Code;
use crate::interface::Status;
use crate::plan::Argument;

impl Function<'_, '_> {
    /// Starts a kernel on blocks of threads, with values and addresses of memory.
    pub(super) fn start(
        &mut self,
        name: &str,
        (blocks, threads): (&[String], &[String]),
        (values, addresses): (&[String], &[String]),
    ) -> Print<()> {
        if !self.program.dialect.has_device_runtime() {
            let extents = [blocks, threads].map(|extents| format!("dim3({})", extents.join(", ")));
            let parts = [name.to_owned(), self.stream_text()].into_iter().chain(extents);
            let parts: Vec<String> =
                parts.chain(values.iter().cloned()).chain(addresses.iter().cloned()).collect();
            self.line(format!("SDFG_LAUNCH({});", parts.join(", ")));
            return self.on_success_of("cudaGetLastError()");
        }
        let three = |extents: &[String]| {
            let mut all = extents.to_vec();
            all.resize(3, "1".to_owned());
            all.join(", ")
        };
        self.line(format!("const size_t sdfg_blocks_of[3] = {{ {} }};", three(blocks)));
        self.line(format!("const size_t sdfg_threads_of[3] = {{ {} }};", three(threads)));
        let values = values.iter().map(|value| format!("{{ &{value}, sizeof {value} }}"));
        let addresses = addresses.iter().map(|address| format!("{{ {address}, 0 }}"));
        let arguments: Vec<String> = values.chain(addresses).collect();
        let given = if arguments.is_empty() { "NULL" } else { "sdfg_arguments_of" };
        if !arguments.is_empty() {
            let all = arguments.join(", ");
            self.line(format!("const sdfg_kernel_argument {given}[] = {{ {all} }};"));
        }
        let n = arguments.len();
        self.on_success_of(&format!(
            "sdfg_device_launch(handle->device, \"{name}\", sdfg_blocks_of, sdfg_threads_of, {n}, {given})"
        ))
    }

    /// Goes on if a function of the device succeeds.
    pub(super) fn on_success_of(&mut self, call: &str) -> Print<()> {
        let status = self.program.device_status()?;
        self.take_status(&format!("{status}(handle, {call})"))
    }

    /// Allocates memory of the device into a pointer.
    pub(super) fn allocate_on_device(&mut self, ty: &str, pointer: &str, size: &Expr) -> Print<()> {
        let bytes = self.byte_size(size, ty)?;
        let stream = self.stream_text();
        let allocate = self.program.allocate_call(&stream);
        self.on_success_of(&format!("{allocate}(void **)&{pointer}, {bytes})"))
    }

    /// Frees memory of the device.
    pub(super) fn free_on_device(&mut self, pointer: &str) -> Print<()> {
        if self.program.dialect.has_device_runtime() {
            self.line(format!("sdfg_device_free(handle->device, {pointer});"));
            return Ok(());
        }
        let stream = self.stream_text();
        // Memory whose state did not run was never allocated.
        self.on_success_of(&format!("({pointer} == NULL ? cudaSuccess : cudaFreeAsync({pointer}, {stream}))"))
    }

    /// Frees memory of the device at the end of the function, whether it fails or not, unless the pointer is NULL.
    pub(super) fn free_on_device_at_end(&mut self, pointer: &str) {
        self.at_end(match self.program.dialect {
            Dialect::OpenCl | Dialect::CudaDriver => format!("sdfg_device_free(handle->device, {pointer});"),
            Dialect::C | Dialect::Cuda => {
                let stream = self.program.callers_stream();
                format!("if ({pointer} != NULL) {{ (void)cudaFreeAsync({pointer}, {stream}); }}")
            }
        });
    }

    /// Copies `rows` rows of `width` elements between any two memories.
    pub(super) fn copy_rows(
        &mut self,
        (from, to): (&str, &str),
        ty: &str,
        width: &Code,
        (rows, from_stride, to_stride): (&Code, &Code, &Code),
    ) -> Print<()> {
        let bytes = |elements: &Code| product(elements, &Code::atom(format!("(int64_t)sizeof({ty})"))).text;
        let copy = self.program.copy_call(&self.stream_text(), self.stream.is_none());
        self.on_success_of(&format!(
            "{copy}{to}, {}, {from}, {}, {}, {})",
            bytes(to_stride),
            bytes(from_stride),
            bytes(width),
            rows.text
        ))
    }
}

impl Program<'_> {
    /// The beginning of an allocation: the name of its function, and the device or the stream of CUDA.
    pub(super) fn allocate_call(&self, stream: &str) -> String {
        match self.dialect {
            Dialect::OpenCl | Dialect::CudaDriver => "sdfg_device_allocate(handle->device, ".to_owned(),
            Dialect::C | Dialect::Cuda => {
                format!("{}({stream}, ", self.helper("sdfg_device_allocate", || ALLOCATE.to_owned()))
            }
        }
    }

    /// The beginning of a copy of rows: the name of its function, and the device or the stream of CUDA. The host may wait for its end.
    pub(super) fn copy_call(&self, stream: &str, waits: bool) -> String {
        match self.dialect {
            Dialect::OpenCl | Dialect::CudaDriver if waits => "sdfg_device_copy(handle->device, ".to_owned(),
            Dialect::OpenCl | Dialect::CudaDriver => "sdfg_device_start_copy(handle->device, ".to_owned(),
            Dialect::C | Dialect::Cuda => {
                format!("{}({stream}, {waits}, ", self.helper("sdfg_device_copy", || COPY.to_owned()))
            }
        }
    }

    /// The helper that makes a status of an error of the device.
    pub(super) fn device_status(&self) -> Print<String> {
        let (name, fail) = (&self.plan.name, self.fail_helper());
        let (memory, device) = (Status::OutOfMemory.code(), Status::Device.code());
        let text = match self.dialect {
            Dialect::C => return Err(defect("a processor has no device")),
            Dialect::Cuda => format!(
                "static int32_t sdfg_device_status({name}_t *handle, cudaError_t error) {{\n    return error == cudaSuccess ? 0 : {fail}(handle, error == cudaErrorMemoryAllocation ? {memory} : {device}, cudaGetErrorString(error));\n}}\n"
            ),
            Dialect::OpenCl | Dialect::CudaDriver => format!(
                "static int32_t sdfg_device_status({name}_t *handle, int32_t status) {{\n    return status == 0 ? 0 : {fail}(handle, status, handle->device != NULL ? handle->device->text : \"no memory\");\n}}\n"
            ),
        };
        Ok(self.helper("sdfg_device_status", || text))
    }

    /// Whether a run uses a device by its runtime.
    fn uses_device(&self) -> bool {
        self.dialect.has_device_runtime() && (self.has_kernels() || self.plan.uses_device())
    }

    /// Opens the device.
    pub(super) fn open_device(&self, f: &mut Function<'_, '_>) -> Print<()> {
        if !self.uses_device() {
            return if self.dialect == Dialect::Cuda {
                self.open_streams(f)?;
                self.begin_run(f)
            } else {
                Ok(())
            };
        }
        let queue = if self.starts_runs() { "handle->sdfg_stream" } else { "NULL" };
        f.on_success_of(&self.open_call(queue))?;
        self.open_streams(f)?;
        self.begin_run(f)
    }

    /// Arguments in memory of a device, which are copied if the caller has them in memory of the host.
    pub(super) fn lent(&self) -> impl Iterator<Item = &Argument> {
        let is_lent = |argument: &&Argument| !argument.by_value && self.is_on_device(argument.buffer);
        let all = if self.dialect.has_device_runtime() { self.plan.arguments.as_slice() } else { &[] };
        all.iter().filter(is_lent)
    }

    /// Elements of an argument that are copied: its size, or up to the last one that its strides reach.
    pub(super) fn lent_elements(&self, argument: &Argument) -> Expr {
        let buffer = self.plan.buffer(argument.buffer);
        let Some(span) = &buffer.span else { return buffer.size.clone() };
        // An array without elements reaches nothing.
        let elements = argument.shape.iter().fold(Expr::one(), |product, extent| product * extent);
        let reached = span * Expr::min(&elements, &Expr::one());
        Expr::max(&buffer.size, &reached)
    }

    /// Lends arguments to the device.
    pub(super) fn lend_arguments(&self, f: &mut Function<'_, '_>) -> Print<()> {
        for argument in self.lent() {
            let (name, ty) = (self.names.buffer(argument.buffer), self.memory_type(argument.element));
            let bytes = f.byte_size(&self.lent_elements(argument), &ty)?;
            let host = format!("sdfg_host_{name}");
            f.declare(&host, format!("void *{host} = NULL;"));
            f.at_end(format!(
                "if ({host} != NULL) {{ sdfg_device_free(handle->device, (void *)(uintptr_t){name}); }}"
            ));
            f.on_success_of(&format!(
                "sdfg_device_lend(handle->device, {}, (void **)(uintptr_t)&{name}, {bytes}, &{host})",
                quoted(&self.plan.buffer(argument.buffer).name)
            ))?;
        }
        Ok(())
    }

    /// Waits for the device, unless the body of the program did so, and gives the caller the arguments that the program wrote.
    pub(super) fn end_on_device(&self, f: &mut Function<'_, '_>) -> Print<()> {
        if self.dialect == Dialect::Cuda {
            return f.block("if (status == 0)", |f| {
                self.note_given(f);
                self.finish_whole_run(f)?;
                self.end_run(f)
            });
        }
        if !self.uses_device() {
            return Ok(());
        }
        f.block("if (status == 0)", |f| {
            self.note_given(f);
            self.finish_whole_run(f)?;
            for argument in self.lent().filter(|argument| argument.written) {
                let (name, ty) = (self.names.buffer(argument.buffer), self.memory_type(argument.element));
                let (host, size) = (format!("sdfg_host_{name}"), f.temporary());
                let bytes = f.byte_size(&self.lent_elements(argument), &ty)?;
                f.line(format!("const int64_t {size} = (int64_t){bytes};"));
                f.block(format!("if ({host} != NULL)"), |f| {
                    f.on_success_of(&format!(
                        "sdfg_device_copy(handle->device, {host}, {size}, {name}, {size}, {size}, 1)"
                    ))
                })?;
            }
            self.end_run(f)
        })
    }

    /// Waits for the device, unless the body of the program did so or the caller started the run.
    fn finish_whole_run(&self, f: &mut Function<'_, '_>) -> Print<()> {
        if self.is_asynchronous() { Ok(()) } else { self.finish_unless_started(f) }
    }

    /// Frees persistent memory of the device with the handle. Closing a device runtime does it.
    pub(super) fn destroy_on_device(&self, name: &str) -> String {
        match self.dialect {
            Dialect::OpenCl | Dialect::CudaDriver => String::new(),
            Dialect::C | Dialect::Cuda => format!("    (void)cudaFree(handle->{name});\n"),
        }
    }
}

const ALLOCATE: &str = "\
/* Memory of the device, from its pool: the next run takes what this one frees. */
static cudaError_t sdfg_device_allocate(cudaStream_t stream, void **pointer, size_t bytes) {
    cudaMemPool_t pool;
    uint64_t kept = UINT64_MAX;
    int device;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess) {
        error = cudaDeviceGetDefaultMemPool(&pool, device);
    }
    if (error == cudaSuccess) {
        error = cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept);
    }
    return error == cudaSuccess ? cudaMallocAsync(pointer, bytes > 0 ? bytes : 1, stream) : error;
}
";

const COPY: &str = "\
/* Copies rows of bytes between memories of host and device. The strides are distances of rows in bytes. The host may wait for the end. */
static cudaError_t sdfg_device_copy(cudaStream_t stream, bool waits, void *to, int64_t to_stride, const void *from, int64_t from_stride, int64_t width, int64_t rows) {
    cudaError_t error = cudaSuccess;
    if (width <= 0 || rows <= 0) {
        return cudaSuccess;
    }
    if (rows == 1 || (to_stride == width && from_stride == width)) {
        error = cudaMemcpyAsync(to, from, (size_t)(width * rows), cudaMemcpyDefault, stream);
    } else if (to_stride >= width && from_stride >= width) {
        error = cudaMemcpy2DAsync(to, (size_t)to_stride, from, (size_t)from_stride, (size_t)width, (size_t)rows, cudaMemcpyDefault, stream);
    } else {
        for (int64_t row = 0; row < rows && error == cudaSuccess; ++row) {
            error = cudaMemcpyAsync((char *)to + row * to_stride, (const char *)from + row * from_stride, (size_t)width, cudaMemcpyDefault, stream);
        }
    }
    return waits && error == cudaSuccess ? cudaStreamSynchronize(stream) : error;
}
";
