//! CUDA by way of its driver: the C source of a program, whose loops of level grid are kernels in CUDA's C++. The kernels are a text
//! in the file, and images of them for chosen architectures; for other devices, NVRTC compiles the text when the program runs first.

use sdfg::ir::FloatMode;
use sdfg_runtime::nvrtc::{Architecture, Image, compile};

use super::error::{Print, SourceError};
use super::function::quoted;
use super::opencl::literal;
use super::program::Parts;
use super::{needed, part};

/// Options of NVRTC, besides the architecture.
pub(super) const fn options(floats: FloatMode) -> &'static str {
    match floats {
        FloatMode::Strict => "--std=c++17 --fmad=false",
        FloatMode::Contract => "--std=c++17 --fmad=true",
        FloatMode::Fast => "--std=c++17 --use_fast_math",
    }
}

/// The text of the kernels, in parts: what C's headers would have, helpers, constants and kernels.
pub(super) fn kernels(parts: &Parts, constants: &[(String, String)]) -> Vec<String> {
    let constants: Vec<(String, String)> = constants
        .iter()
        .map(|(name, text)| (name.clone(), text.replacen("static const ", "static __device__ const ", 1)))
        .collect();
    let constants = needed(constants, parts.kernels.iter());
    let helpers = needed(parts.helpers.clone(), constants.iter().chain(&parts.kernels));
    let helpers = helpers.into_iter().map(|text| match text.contains("__device__") {
        true => text,
        false => text.replace("static inline ", "static __device__ inline "),
    });
    // NVRTC knows this pragma.
    let kernels = parts.kernels.iter().map(|text| text.replace("#pragma GCC unroll", "#pragma unroll"));
    std::iter::once(PRELUDE.to_owned()).chain(helpers).chain(constants).chain(kernels).collect()
}

/// The device in the file: its functions, the text of the kernels, and images of them.
pub(super) fn device(
    floats: FloatMode,
    parts: &Parts,
    constants: &[(String, String)],
    architectures: &[Architecture],
) -> Print<String> {
    let kernels = kernels(parts, constants);
    let options = options(floats);
    let mut text = part("A device of CUDA by way of its driver.", &sdfg_runtime::CUDA_SOURCES);
    text.push_str(
        "\n/* Kernels in CUDA: a program may have none. */\n__attribute__((unused)) static const char *const sdfg_kernels[] = {\n",
    );
    for part in &kernels {
        text.push_str(&format!("    {},\n", literal(part)));
    }
    text.push_str(&format!(
        "}};\n\n__attribute__((unused)) static const char sdfg_kernel_options[] = {};\n\n",
        quoted(options)
    ));
    let has_kernels = !parts.kernels.is_empty();
    let mut images = Vec::new();
    for architecture in architectures.iter().filter(|_| has_kernels) {
        let image = compile(&kernels.concat(), options, *architecture);
        images.push(image.map_err(|error| SourceError::Image(error.to_string()))?);
    }
    text.push_str(&embedded(&images));
    Ok(text)
}

/// Images as C: a table that ends with an empty entry, and its length without it.
fn embedded(images: &[Image]) -> String {
    let mut text = String::new();
    for (number, image) in images.iter().enumerate() {
        text.push_str(&format!(
            "/* For {}. */\nstatic unsigned char sdfg_kernel_image_{number}[] = {{\n",
            image.architecture
        ));
        for bytes in image.bytes.chunks(24) {
            let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte}")).collect();
            text.push_str(&format!("    {},\n", bytes.join(",")));
        }
        text.push_str("};\n");
    }
    text.push_str("__attribute__((unused)) static const sdfg_image sdfg_kernel_images[] = {\n");
    for (number, image) in images.iter().enumerate() {
        let Architecture { number: architecture, is_ptx } = image.architecture;
        text.push_str(&format!(
            "    {{ {architecture}, {is_ptx}, sdfg_kernel_image_{number}, sizeof sdfg_kernel_image_{number} }},\n"
        ));
    }
    let count = images.len();
    text.push_str(&format!(
        "    {{ 0, false, NULL, 0 }}\n}};\nenum {{ sdfg_kernel_images_count = {count} }};\n\n"
    ));
    text
}

/// The types, limits and macros of C's headers that helpers and kernels use, which NVRTC does not have. Its functions are built in.
const PRELUDE: &str = "\
#define SDFG_RESTRICT __restrict__
#define SDFG_ALIGNED(bytes) alignas(bytes)
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
typedef unsigned long uintptr_t;
#ifndef INT64_MAX
#define INT8_MIN (-128)
#define INT8_MAX 127
#define UINT8_MAX 255
#define INT16_MIN (-32767 - 1)
#define INT16_MAX 32767
#define UINT16_MAX 65535
#define INT32_MIN (-2147483647 - 1)
#define INT32_MAX 2147483647
#define UINT32_MAX 4294967295u
#define INT64_MIN (-9223372036854775807l - 1)
#define INT64_MAX 9223372036854775807l
#define UINT64_MAX 18446744073709551615ul
#define INT64_C(value) value##l
#define UINT64_C(value) value##ul
#endif
#ifndef NULL
#define NULL 0
#endif
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#endif
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_become_a_table() {
        let image = |name: &str, bytes: &[u8]| Image {
            architecture: name.parse().expect("an architecture"),
            bytes: bytes.to_vec(),
            messages: String::new(),
        };
        let text = embedded(&[image("sm_80", &[127, 69]), image("compute_90", &[0; 30])]);
        assert!(text.contains("static unsigned char sdfg_kernel_image_0[] = {\n    127,69,\n};"), "{text}");
        assert!(
            text.contains("    { 80, false, sdfg_kernel_image_0, sizeof sdfg_kernel_image_0 },"),
            "{text}"
        );
        assert!(
            text.contains("    { 90, true, sdfg_kernel_image_1, sizeof sdfg_kernel_image_1 },"),
            "{text}"
        );
        assert!(text.contains("sdfg_kernel_images_count = 2 "), "{text}");
        assert!(embedded(&[]).contains("sdfg_kernel_images_count = 0 "));
    }
}
