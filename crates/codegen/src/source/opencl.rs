//! OpenCL source: the C source of a program, whose loops of level grid are kernels in OpenCL C 1.2. The kernels are a text in the
//! file, which the driver of the device compiles when the program runs first.

use sdfg::ir::FloatMode;

use super::function::quoted;
use super::program::Parts;
use super::{needed, part};

/// Options of the device's compiler.
const fn options(floats: FloatMode) -> &'static str {
    match floats {
        FloatMode::Strict | FloatMode::Contract => "-cl-std=CL1.2",
        FloatMode::Fast => "-cl-std=CL1.2 -cl-fast-relaxed-math",
    }
}

/// The device in the file: its functions, and the text of the kernels.
pub(super) fn device(floats: FloatMode, parts: &Parts, constants: &[(String, String)]) -> String {
    let mut text = part("A device by way of OpenCL.", &sdfg_runtime::OPENCL_SOURCES);
    let constants: Vec<(String, String)> = constants
        .iter()
        .map(|(name, text)| (name.clone(), text.replacen("static const ", "__constant ", 1)))
        .collect();
    let constants = needed(constants, parts.kernels.iter());
    let helpers = needed(parts.helpers.clone(), constants.iter().chain(&parts.kernels));
    let contraction = if floats == FloatMode::Strict { "OFF" } else { "ON" };
    let head = format!("#pragma OPENCL FP_CONTRACT {contraction}\n{PRELUDE}");
    text.push_str(&format!(
        "\n/* Kernels in OpenCL C: a program may have none. */\n__attribute__((unused)) static const char *const sdfg_kernels[] = {{\n    {},\n",
        literal(&head)
    ));
    for part in helpers.iter().chain(&constants).chain(&parts.kernels) {
        text.push_str(&format!("    {},\n", literal(part)));
    }
    text.push_str(&format!(
        "}};\n\n__attribute__((unused)) static const char sdfg_kernel_options[] = {};\n\n",
        quoted(options(floats))
    ));
    text
}

/// A text as a literal, a line each.
pub(super) fn literal(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| quoted(&format!("{line}\n"))).collect();
    lines.join("\n    ")
}

/// The types, limits and functions of C that helpers and kernels use.
const PRELUDE: &str = "\
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#ifdef cl_khr_int64_base_atomics
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#endif
#ifdef cl_khr_byte_addressable_store
#pragma OPENCL EXTENSION cl_khr_byte_addressable_store : enable
#endif
#define SDFG_RESTRICT restrict
#define SDFG_ALIGNED(bytes) __attribute__((aligned(bytes)))
typedef char int8_t;
typedef uchar uint8_t;
typedef short int16_t;
typedef ushort uint16_t;
typedef int int32_t;
typedef uint uint32_t;
typedef long int64_t;
typedef ulong uint64_t;
#define INT8_MIN CHAR_MIN
#define INT8_MAX CHAR_MAX
#define UINT8_MAX UCHAR_MAX
#define INT16_MIN SHRT_MIN
#define INT16_MAX SHRT_MAX
#define UINT16_MAX USHRT_MAX
#define INT32_MIN INT_MIN
#define INT32_MAX INT_MAX
#define UINT32_MAX UINT_MAX
#define INT64_MIN LONG_MIN
#define INT64_MAX LONG_MAX
#define UINT64_MAX ULONG_MAX
#define INT64_C(value) value##L
#define UINT64_C(value) value##UL
#define sqrtf sqrt
#define cbrtf cbrt
#define expf exp
#define exp2f exp2
#define expm1f expm1
#define logf log
#define log2f log2
#define log10f log10
#define log1pf log1p
#define sinf sin
#define cosf cos
#define tanf tan
#define asinf asin
#define acosf acos
#define atanf atan
#define atan2f atan2
#define sinhf sinh
#define coshf cosh
#define tanhf tanh
#define asinhf asinh
#define acoshf acosh
#define atanhf atanh
#define hypotf hypot
#define erff erf
#define erfcf erfc
#define tgammaf tgamma
#define lgammaf lgamma
#define floorf floor
#define ceilf ceil
#define rintf rint
#define truncf trunc
#define fabsf fabs
#define copysignf copysign
#define fmodf fmod
#define powf pow
#define remainderf remainder
#define nextafterf nextafter
#define fmaf fma
static void sdfg_move(uchar *to, const uchar *from, uint bytes) {
    for (uint n = 0; n < bytes; ++n) {
        to[n] = from[n];
    }
}
#define memcpy(to, from, bytes) sdfg_move((uchar *)(to), (const uchar *)(from), (uint)(bytes))
";
