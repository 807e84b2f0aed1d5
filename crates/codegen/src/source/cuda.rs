//! CUDA source: the C source of a program as C++, whose loops of level grid are kernels.
//!
//! Small functions and constants of the file that kernels use are there on the device as well.

use std::collections::BTreeSet;

use sdfg::ir::FloatMode;

use super::text::words;

/// The beginning of every kernel.
const KERNEL: &str = "static __global__ ";

/// Flags of `nvcc` that the source of a program needs, besides the architecture.
pub fn cuda_flags(floats: FloatMode) -> Vec<&'static str> {
    let mut flags = vec!["-O3", "-std=c++17"];
    flags.push(match floats {
        FloatMode::Strict => "--fmad=false",
        FloatMode::Contract => "--fmad=true",
        FloatMode::Fast => "--use_fast_math",
    });
    flags.push(match floats {
        FloatMode::Strict => "-Xcompiler=-fopenmp,-fno-math-errno,-fno-strict-aliasing,-ffp-contract=off",
        FloatMode::Contract => "-Xcompiler=-fopenmp,-fno-math-errno,-fno-strict-aliasing,-ffp-contract=fast",
        FloatMode::Fast => "-Xcompiler=-fopenmp,-fno-math-errno,-fno-strict-aliasing,-ffast-math",
    });
    flags
}

/// The first lines.
pub(super) fn head(name: &str, floats: FloatMode) -> String {
    let flags = cuda_flags(floats).join(" ");
    format!(
        "/* The SDFG program `{name}`. Generated; do not edit.\n *\n * Flags of nvcc that it needs, besides -arch: {flags}\n */\n#ifndef _GNU_SOURCE\n#define _GNU_SOURCE\n#endif\n#include <cuda_runtime.h>\n"
    )
}

/// Macros that differ from those of C source.
pub(super) const MACROS: &str = "
#define SDFG_C extern \"C\"
#define SDFG_RESTRICT __restrict__
#define SDFG_ALIGNED(bytes) alignas(bytes)
#define SDFG_API SDFG_C
#define SDFG_NOINLINE __attribute__((noinline))
#ifndef SDFG_LAUNCH
#define SDFG_LAUNCH(kernel, stream, blocks, threads, ...) kernel<<<(blocks), (threads), 0, (stream)>>>(__VA_ARGS__)
#endif

";

/// Gives kernels the helpers and constants that they use, which are named with their texts. Loops of host code are unrolled
/// by the pragma that CUDA's compiler knows.
pub(super) fn for_device(
    helpers: &mut [(String, String)],
    constants: &mut Vec<(String, String)>,
    functions: &mut [String],
) {
    let mut named: BTreeSet<String> = BTreeSet::new();
    for kernel in functions.iter_mut().filter(|function| function.starts_with(KERNEL)) {
        for (name, _) in constants.iter().filter(|(name, _)| words(kernel).any(|word| word == name)) {
            named.insert(name.clone());
        }
        for (name, _) in constants.iter() {
            *kernel = renamed(kernel, name, &on_device(name));
        }
        named.extend(words(kernel).map(str::to_owned));
    }
    for (name, text) in helpers.iter_mut().rev().filter(|(_, text)| !text.contains("__device__")) {
        if named.contains(name.as_str()) {
            named.extend(words(text).map(str::to_owned));
            *text = text.replace("static inline ", "static __host__ __device__ inline ");
        }
    }
    // nvcc does not see the uses in OpenMP's pragmas.
    for (_, text) in helpers {
        let marked = |line: &str| match line.starts_with("static ") && line.ends_with('{') {
            true => format!("[[maybe_unused]] {line}\n"),
            false => format!("{line}\n"),
        };
        *text = text.lines().map(marked).collect();
    }
    let copies: Vec<(String, String)> = constants
        .iter()
        .filter(|(name, _)| named.contains(name))
        .map(|(name, text)| {
            let text = renamed(text, name, &on_device(name));
            (on_device(name), text.replacen("static const ", "static __device__ const ", 1))
        })
        .collect();
    constants.extend(copies);
    for function in functions {
        *function = function.replace("#pragma GCC unroll", "#pragma unroll");
    }
}

/// The name of a constant in kernels.
fn on_device(constant: &str) -> String {
    format!("sdfg_device_{constant}")
}

/// A text with another word in place of a word.
fn renamed(text: &str, from: &str, to: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(from) {
        let (before, after) = (&rest[..at], &rest[at + from.len()..]);
        let follows = if before.is_empty() { result.ends_with(is_word) } else { before.ends_with(is_word) };
        let is_whole = !follows && !after.starts_with(is_word);
        result.push_str(before);
        result.push_str(if is_whole { to } else { from });
        rest = after;
    }
    result.push_str(rest);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_renamed_whole() {
        assert_eq!(renamed("a + ab + a[a_] * ba", "a", "x"), "x + ab + x[a_] * ba");
        assert_eq!(renamed("aa a", "a", "b"), "aa b");
    }

    #[test]
    fn kernels_have_what_they_use_on_the_device() {
        let mut helpers = vec![
            ("inner".to_owned(), "static inline int inner(int a) {\n    return a;\n}\n".to_owned()),
            ("outer".to_owned(), "static inline int outer(int a) {\n    return inner(a);\n}\n".to_owned()),
            ("host".to_owned(), "static inline int host(int a) {\n    return a;\n}\n".to_owned()),
        ];
        let mut constants = vec![
            ("table".to_owned(), "static const int table[1] = { 3 };\n".to_owned()),
            ("other".to_owned(), "static const int other[1] = { 4 };\n".to_owned()),
        ];
        let mut functions = vec![
            "static __global__ void k(int *a) { a[0] = outer(table[0]); }\n".to_owned(),
            "static void body(int *a) { a[0] = host(other[0]); }\n".to_owned(),
        ];
        for_device(&mut helpers, &mut constants, &mut functions);
        let is_on_device: Vec<bool> = helpers.iter().map(|(_, text)| text.contains("__device__")).collect();
        assert_eq!(is_on_device, [true, true, false]);
        assert!(helpers[2].1.starts_with("[[maybe_unused]] static inline int host"), "{}", helpers[2].1);
        let names: Vec<&str> = constants.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["table", "other", "sdfg_device_table"]);
        assert!(constants[2].1.starts_with("static __device__ const int sdfg_device_table[1]"));
        assert!(functions[0].contains("outer(sdfg_device_table[0])"), "{}", functions[0]);
    }
}
