//! Lowering targets for the processor that code is compiled for.
//!
//! Lowering does not know processors, and the LLVM back end makes no lowering decisions. This module connects
//! them.

use crate::llvm::{CompileOptions, Cpu, Level, Sanitizer};
use crate::lower::{BASELINE_VECTOR, LowerOptions, Target};

/// Processors with vectors of 64 bytes (AVX-512), as LLVM names them.
const WITH_64: &str = "\
    cannonlake cascadelake cooperlake emeraldrapids graniterapids graniterapids-d icelake-client icelake-server knl knm \
    rocketlake sapphirerapids skx skylake-avx512 tigerlake x86-64-v4 znver4 znver5";

/// Processors with vectors of 32 bytes (AVX2).
const WITH_32: &str = "\
    alderlake arrowlake arrowlake-s bdver4 broadwell clearwaterforest core-avx2 gracemont grandridge haswell lunarlake \
    meteorlake pantherlake raptorlake sierraforest skylake x86-64-v3 znver1 znver2 znver3";

/// LLVM cuts vectors of 64 bytes in two for processors that prefer shorter ones, as most with AVX-512 do.
const MOST_WHOLE: u64 = 32;

impl CompileOptions {
    /// The machine that plans are made for.
    pub fn target(&self) -> Target {
        let widest = widest_of(&self.cpu);
        Target {
            vector_bytes: vectors_up_to(widest),
            register_bytes: widest.min(MOST_WHOLE),
            ..Target::cpu()
        }
    }

    /// The choices that lowering makes.
    pub fn lowering(&self) -> LowerOptions {
        LowerOptions {
            checked: self.checked,
            threshold: self.parallel_threshold,
            serial_components: self.serial_components,
            nested_threads: self.nested_threads,
            floats: self.floats,
            reproducible: self.reproducible,
            apart: self.sanitizer == Some(Sanitizer::Address),
            ..LowerOptions::default()
        }
    }
}

/// Bytes of vectors from the baseline up to so many.
fn vectors_up_to(widest: u64) -> Vec<u64> {
    [BASELINE_VECTOR, 32, 64].into_iter().filter(|bytes| *bytes <= widest).collect()
}

/// Bytes of the widest vectors that code of a processor may use.
fn widest_of(cpu: &Cpu) -> u64 {
    match cpu {
        Cpu::Host => host(),
        Cpu::Named { name, features } => features.split(',').map(str::trim).fold(named(name), with_feature),
        // One plan serves all of them.
        Cpu::Levels(levels) => levels.first().map_or(BASELINE_VECTOR, |lowest| named(Level::name(*lowest))),
    }
}

fn named(name: &str) -> u64 {
    let is_in = |table: &str| table.split(' ').any(|known| known == name);
    match name {
        "host" => host(),
        _ if is_in(WITH_64) => 64,
        _ if is_in(WITH_32) => 32,
        _ => BASELINE_VECTOR,
    }
}

fn with_feature(widest: u64, feature: &str) -> u64 {
    match feature {
        "+avx512f" => 64,
        "+avx2" => widest.max(32),
        "-avx512f" => widest.min(32),
        "-avx" | "-avx2" => BASELINE_VECTOR,
        _ => widest,
    }
}

#[cfg(target_arch = "x86_64")]
fn host() -> u64 {
    if std::is_x86_feature_detected!("avx512f") {
        64
    } else if std::is_x86_feature_detected!("avx2") {
        32
    } else {
        BASELINE_VECTOR
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn host() -> u64 {
    BASELINE_VECTOR
}

#[cfg(test)]
mod tests {
    use super::{host, vectors_up_to};
    use crate::llvm::{CompileOptions, Cpu, Level};

    fn widths(cpu: Cpu) -> Vec<u64> {
        CompileOptions { cpu, ..CompileOptions::default() }.target().vector_bytes
    }

    #[test]
    fn names_and_features_say_how_wide_vectors_are() {
        let named =
            |name: &str, features: &str| widths(Cpu::Named { name: name.into(), features: features.into() });
        assert_eq!(named("x86-64", ""), [16]);
        assert_eq!(named("haswell", ""), [16, 32]);
        assert_eq!(named("znver4", ""), [16, 32, 64]);
        assert_eq!(named("x86-64-v4", "-avx512f"), [16, 32]);
        assert_eq!(named("x86-64-v4", "-avx2"), [16]);
        assert_eq!(named("x86-64-v2", "+sse4a,+avx2"), [16, 32]);
        assert_eq!(named("neoverse-n1", ""), [16]);
        assert_eq!(widths(Cpu::Host), vectors_up_to(host()));
    }

    #[test]
    fn vectors_that_may_be_cut_are_none_that_are_whole() {
        let whole = |cpu: Cpu| CompileOptions { cpu, ..CompileOptions::default() }.target().register_bytes;
        assert_eq!(whole(Cpu::named("x86-64")), 16);
        assert_eq!(whole(Cpu::named("haswell")), 32);
        assert_eq!(whole(Cpu::named("x86-64-v4")), 32);
        assert_eq!(whole(Cpu::levels([Level::V4, Level::V2])), 16);
    }

    #[test]
    fn a_plan_for_several_levels_has_the_vectors_of_the_lowest() {
        assert_eq!(widths(Cpu::levels([Level::V4, Level::V3])), [16, 32]);
        assert_eq!(widths(Cpu::levels([Level::V4])), [16, 32, 64]);
    }
}
