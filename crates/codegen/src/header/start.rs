//! Declarations for callers that start runs on streams of their own.

/// The functions of a program with a device; `parameters` are those of a run behind the handle.
pub(super) fn functions(name: &str, parameters: &[String]) -> String {
    let all: Vec<String> = [format!("{name}_t *handle"), "void *sdfg_stream".to_owned()]
        .into_iter()
        .chain(parameters.iter().cloned())
        .collect();
    format!(
        "/* As {name}_run, but the device carries out the commands in a stream of the caller: `sdfg_stream` is a stream of CUDA (CUstream,\n \
         * cudaStream_t; NULL is the default stream), or an in-order queue of OpenCL (cl_command_queue; NULL is one of the handle). Commands that\n \
         * are in the stream come before the run, and those that follow come behind it.\n \
         * The call returns when all commands are given, unless the host needs what they compute: it waits where code of the host or the\n \
         * length of a queue depends on the device, and at the end if it writes an array of the device that is memory of the host, or if commands use\n \
         * memory that the call owns. Arrays of the host that commands copy must stay as they are until the commands are complete, and have their results\n \
         * then only; all other arguments are read before the call returns. Runs on one handle follow each other, also in several streams.\n \
         * An error of a command that the call did not wait for is one of the stream, and of {name}_wait. */\n\
         int32_t {name}_start(\n    {});\n\n\
         /* Waits until the last run that was started on `handle` is complete; other streams need not be synchronised then. */\n\
         int32_t {name}_wait({name}_t *handle);\n\n\
         /* The address that stands for memory of the device in arguments. Of CUDA, it is `memory` itself, and arguments need not be imported. Of\n \
         * OpenCL, `memory` is a buffer (cl_mem) of the context of `sdfg_stream`, which the handle retains; each call has the same address until\n \
         * the handle is destroyed. */\n\
         int32_t {name}_import({name}_t *handle, void *sdfg_stream, void *memory, void **address);\n\n\
         /* Commands that are given to `sdfg_stream` behind the call come behind those that are in `sdfg_before` now. Both are streams as of\n \
         * {name}_start, of one device. */\n\
         int32_t {name}_follow({name}_t *handle, void *sdfg_stream, void *sdfg_before);\n\n",
        all.join(",\n    ")
    )
}
