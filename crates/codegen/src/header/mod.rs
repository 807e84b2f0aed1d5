//! C header of a compiled program, for C99 and C++.
//!
//! The text depends only on the [`Interface`]. The same header serves the static and the shared library.

mod ranks;
mod start;

use std::fmt::Write;

use sdfg::dtype::ScalarType;

use crate::interface::{
    Access, Argument, ArgumentKind, Callback, CallbackParameter, Interface, ProfileFormat, Status,
    is_c_identifier,
};
use crate::structures::structure_functions;

/// The text of the header for `interface`.
pub fn c_header(interface: &Interface) -> String {
    let name = interface.name();
    let guard = format!("SDFG_{}_H", name.to_ascii_uppercase());
    let mut text = String::new();
    // Writing to a string cannot fail, here and below.
    let _ = write!(
        text,
        "/* Interface of the SDFG program `{name}`. Generated; do not edit.\n *\n * {LINKING} */\n\
         #ifndef {guard}\n#define {guard}\n\n#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n\n"
    );
    let elements = interface.arguments().iter().map(|argument| argument.element().lane());
    let passed =
        interface.callbacks().iter().flat_map(|callback| &callback.parameters).map(CallbackParameter::lane);
    let elements = elements.chain(passed);
    let members = interface.structures().iter().flat_map(|structure| structure.ty.numbers());
    if elements.chain(members).any(ScalarType::is_complex) {
        text.push_str(COMPLEX_TYPES);
    }
    if interface.arguments().iter().any(|argument| matches!(argument.kind, ArgumentKind::Queue { .. })) {
        text.push_str(QUEUE_TYPE);
    }
    text.push_str("#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    status_codes(&mut text, name);
    let ranks = interface.ranks();
    let device = if interface.has_device() { DEVICE } else { "" };
    let (communicator, collective) = ranks.map_or(("", ""), |_| (ranks::COMMUNICATOR, ranks::COLLECTIVE));
    let _ = write!(
        text,
        "/* One instance of the program: its scratch memory and its last error. A handle runs one call at a time;\n \
         * different handles may run at the same time. */\n\
         typedef struct {name}_t {name}_t;\n\n\
         /* Configuration of an instance. Set it to zero, then `size` to its size in bytes. */\n\
         typedef struct {name}_config {{\n\
         \x20   size_t size;         /* sizeof({name}_config) */\n\
         \x20   int32_t num_threads; /* threads of parallel regions; 0: the default */\n\
         {device}{communicator}}} {name}_config;\n\n\
         /* Makes an instance; `config` may be NULL. `*handle` is set to NULL on failure. {collective}*/\n\
         int32_t {name}_create(const {name}_config *config, {name}_t **handle);\n\n\
         /* Why the last call on `handle` failed; an empty text if it did not. Owned by the handle. */\n\
         const char *{name}_error(const {name}_t *handle);\n\n\
         /* Frees an instance; NULL is ignored. */\n\
         void {name}_destroy({name}_t *handle);\n\n"
    );
    callbacks(&mut text, interface);
    if let Some(ranks) = ranks {
        text.push_str(&ranks::parts(interface, ranks));
    }
    text.push_str("/* Runs the program. Arrays are dense and row-major unless strides are stated, which count elements; they need\n \
                   * no alignment beyond that of their elements, must not be NULL unless they are empty, and must not overlap\n \
                   * if one of them is written (such calls are refused, unless the library was made for them with --may-overlap). Unless it was made with\n \
                   * --checked, indices are not checked: one outside of its array is undefined behaviour, as in C\n \
                   * (`sdfg interpret` finds it).\n *\n");
    for argument in interface.arguments() {
        let part = ranks.and_then(|ranks| ranks.parts.get(&argument.name));
        let part = part.map_or(String::new(), |distribution| format!("; the rank's part of {distribution}"));
        let _ = writeln!(text, " * {}{part}", describe(argument));
    }
    for callback in interface.callbacks() {
        let _ = writeln!(text, " * {}: called by the program, see above", parameter_name(&callback.name));
    }
    let functions = interface
        .callbacks()
        .iter()
        .map(|callback| format!("{} {}", callback_type(name, callback), parameter_name(&callback.name)));
    let parameters: Vec<String> = interface.arguments().iter().map(parameter).chain(functions).collect();
    let profile = if interface.has_profile() { profile(name) } else { String::new() };
    let with_handle = [format!("{name}_t *handle")].into_iter().chain(parameters.iter().cloned());
    let start = if interface.has_device() { start::functions(name, &parameters) } else { String::new() };
    let whole = if ranks.is_some() { ranks::run_whole(name, &parameters) } else { String::new() };
    let one_shot = if parameters.is_empty() { "void".to_owned() } else { parameters.join(",\n    ") };
    let _ = write!(
        text,
        " */\nint32_t {name}_run(\n    {});\n\n{start}{whole}\
         /* The same with an instance of its own, for a single call. */\n\
         int32_t {name}(\n    {one_shot});\n\n{profile}{}\
         #ifdef __cplusplus\n}}\n#endif\n\n#endif /* {guard} */\n",
        with_handle.collect::<Vec<_>>().join(",\n    "),
        structure_functions(interface)
    );
    text
}

/// The choice of a device.
const DEVICE: &str = "    const char *device;  /* its number in `sdfg devices`, or a part of its name; NULL: that of the variable SDFG_DEVICE */\n";

const LINKING: &str =
    "Link with -lm, and with an OpenMP runtime (-lgomp or -lomp) when the static library is used.";

/// Complex numbers have the same layout in C and C++ but no common name.
const COMPLEX_TYPES: &str = "\
#ifndef SDFG_COMPLEX_TYPES
#define SDFG_COMPLEX_TYPES
#ifdef __cplusplus
#include <complex>
typedef std::complex<float> sdfg_complex64;
typedef std::complex<double> sdfg_complex128;
#else
typedef float _Complex sdfg_complex64;
typedef double _Complex sdfg_complex128;
#endif
#endif

";

/// It is the same for all programs, of which several headers may be included.
const QUEUE_TYPE: &str = "\
#ifndef SDFG_QUEUE_TYPE
#define SDFG_QUEUE_TYPE
/* A queue of a stream that is an argument: its elements, oldest first, in memory of malloc, which belongs to the caller. A run that succeeds
 * leaves the elements there that are in the stream at its end, for which it may move the memory as realloc does. */
typedef struct sdfg_queue {
    void *elements; /* NULL if there are none */
    int64_t count;
} sdfg_queue;
#endif

";

fn status_codes(text: &mut String, name: &str) {
    let prefix = name.to_ascii_uppercase();
    text.push_str("/* Results of the functions below. */\nenum {\n");
    let last = Status::ALL.len() - 1;
    for (index, status) in Status::ALL.into_iter().enumerate() {
        let comma = if index == last { "" } else { "," };
        let _ = writeln!(
            text,
            "    {prefix}_{} = {}{comma} /* {} */",
            status.constant_suffix(),
            status.code(),
            status.message()
        );
    }
    text.push_str("};\n\n");
}

/// Declarations for programs with timers.
fn profile(name: &str) -> String {
    let prefix = name.to_ascii_uppercase();
    let formats = ProfileFormat::ALL
        .map(|format| format!("    {prefix}_{} = {}", format.constant_suffix(), format.code()))
        .join(",\n");
    format!(
        "/* Texts of {name}_profile: a table for people, and JSON in the format of Chrome's trace viewer. */\n\
         enum {{\n{formats}\n}};\n\n\
         /* What the timers found in all runs on `handle` so far, also in failed ones; no run may be on it. The text is owned by the\n \
         * handle and lives until the next call of this function on it. NULL without memory. */\n\
         const char *{name}_profile({name}_t *handle, int32_t format);\n\n"
    )
}

/// The C types of the functions that callers pass, and how these end a run.
fn callbacks(text: &mut String, interface: &Interface) {
    if interface.callbacks().is_empty() {
        return;
    }
    let name = interface.name();
    text.push_str(
        "/* Functions that the caller passes. The thread that runs the program calls them, one at a time; a pointer leads to the first\n \
         * element of a part of an array, which goes on with the strides of the array, and is valid during the call. */\n",
    );
    for callback in interface.callbacks() {
        text.push_str(&callback_typedef(name, callback));
    }
    let _ = write!(
        text,
        "\n/* Ends the run on `handle` as soon as the callback that calls this returns, with the status {}_STOPPED. The text is what\n \
         * {name}_error gives then: it has to stay until the next run; NULL is a text of its own. */\n\
         void {name}_stop({name}_t *handle, const char *message);\n\n",
        name.to_ascii_uppercase()
    );
}

/// The definition of a callback's type.
pub(crate) fn callback_typedef(program: &str, callback: &Callback) -> String {
    let parameters: Vec<String> = callback.parameters.iter().map(callback_parameter).collect();
    let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
    let result = callback.result.map_or("void", c_type);
    format!("typedef {result} (*{})({parameters});\n", callback_type(program, callback))
}

/// The name of a callback's type.
pub(crate) fn callback_type(program: &str, callback: &Callback) -> String {
    format!("{program}_{}_t", callback.name)
}

fn callback_parameter(parameter: &CallbackParameter) -> String {
    let ty = c_type(parameter.lane());
    match parameter {
        CallbackParameter::Value(_) => ty.to_owned(),
        CallbackParameter::Memory { access: Access::Read, .. } => format!("const {ty} *"),
        CallbackParameter::Memory { access: Access::Write | Access::ReadWrite, .. } => format!("{ty} *"),
    }
}

/// `const double *A`, `int64_t N`.
pub(crate) fn parameter(argument: &Argument) -> String {
    let name = parameter_name(&argument.name);
    if matches!(argument.kind, ArgumentKind::Queue { .. }) {
        return format!("sdfg_queue *{name}");
    }
    let ty = c_type(argument.element().lane());
    match (argument.by_pointer(), argument.is_written()) {
        (true, true) => format!("{ty} *{name}"),
        (true, false) => format!("const {ty} *{name}"),
        (false, _) => format!("{ty} {name}"),
    }
}

pub(crate) fn parameter_name(name: &str) -> String {
    if is_c_identifier(name) { name.to_owned() } else { format!("{name}_") }
}

/// One line for the comment above the prototype.
fn describe(argument: &Argument) -> String {
    let name = parameter_name(&argument.name);
    let element = argument.element();
    match &argument.kind {
        ArgumentKind::Array { shape, access, .. } => {
            let extents: Vec<String> = shape.iter().map(ToString::to_string).collect();
            let layout = argument.layout().map_or(String::new(), |layout| format!("; {layout}"));
            format!("{name}: {element}[{}], {access}{layout}", extents.join(", "))
        }
        ArgumentKind::Scalar { access, .. } => format!("{name}: {element}, {access}"),
        ArgumentKind::Queue { shape, .. } => {
            let extents: Vec<String> = shape.iter().map(ToString::to_string).collect();
            let queues = if shape.is_empty() {
                "stream".to_owned()
            } else {
                format!("streams[{}], one sdfg_queue each in row-major order,", extents.join(", "))
            };
            format!("{name}: {queues} of {element} ({})", c_type(element.lane()))
        }
        ArgumentKind::Symbol { .. } => format!("{name}: size or parameter"),
    }
}

/// The C type of one lane.
pub(crate) const fn c_type(ty: ScalarType) -> &'static str {
    match ty {
        ScalarType::Bool => "bool",
        ScalarType::I8 => "int8_t",
        ScalarType::I16 => "int16_t",
        ScalarType::I32 => "int32_t",
        ScalarType::I64 => "int64_t",
        ScalarType::U8 => "uint8_t",
        ScalarType::U16 => "uint16_t",
        ScalarType::U32 => "uint32_t",
        ScalarType::U64 => "uint64_t",
        // The bits of an IEEE 754 binary16: C and C++ have no common portable type.
        ScalarType::F16 => "uint16_t",
        ScalarType::F32 => "float",
        ScalarType::F64 => "double",
        ScalarType::Complex64 => "sdfg_complex64",
        ScalarType::Complex128 => "sdfg_complex128",
    }
}
