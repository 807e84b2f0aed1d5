//! Validation of processor names and features.
//!
//! For an unknown name, LLVM prints a warning, generates code for some other processor and reports success.
//! Some names of old processors end the process. Therefore names are checked before LLVM sees them. LLVM's C
//! interface has no list of names. The tables below are those of `llc -mcpu=help` of LLVM 19, without 32-bit
//! processors and old spellings.

use inkwell::targets::TargetMachine;

use super::error::LlvmError;

const X86_64: &str = "\
    alderlake amdfam10 arrowlake arrowlake-s athlon-fx athlon64 athlon64-sse3 atom barcelona bdver1 bdver2 bdver3 \
    bdver4 bonnell broadwell btver1 btver2 cannonlake cascadelake clearwaterforest cooperlake core-avx-i core-avx2 \
    core2 corei7 corei7-avx emeraldrapids generic goldmont goldmont-plus gracemont grandridge graniterapids \
    graniterapids-d haswell icelake-client icelake-server ivybridge k8 k8-sse3 knl knm lunarlake meteorlake nehalem \
    nocona opteron opteron-sse3 pantherlake penryn raptorlake rocketlake sandybridge sapphirerapids sierraforest \
    silvermont skx skylake skylake-avx512 slm tigerlake tremont westmere x86-64 x86-64-v2 x86-64-v3 x86-64-v4 znver1 \
    znver2 znver3 znver4 znver5";

const AARCH64: &str = "\
    a64fx ampere1 ampere1a ampere1b apple-a10 apple-a11 apple-a12 apple-a13 apple-a14 apple-a15 apple-a16 apple-a17 \
    apple-a7 apple-m4 carmel cortex-a34 cortex-a35 cortex-a510 cortex-a520 cortex-a520ae cortex-a53 cortex-a55 \
    cortex-a57 cortex-a65 cortex-a65ae cortex-a710 cortex-a715 cortex-a72 cortex-a720 cortex-a720ae cortex-a725 \
    cortex-a73 cortex-a75 cortex-a76 cortex-a76ae cortex-a77 cortex-a78 cortex-a78ae cortex-a78c cortex-r82 \
    cortex-r82ae cortex-x1 cortex-x1c cortex-x2 cortex-x3 cortex-x4 cortex-x925 exynos-m3 exynos-m4 exynos-m5 falkor \
    generic kryo neoverse-512tvb neoverse-e1 neoverse-n1 neoverse-n2 neoverse-n3 neoverse-v1 neoverse-v2 neoverse-v3 \
    neoverse-v3ae oryon-1 saphira thunderx thunderx2t99 thunderx3t110 thunderxt81 thunderxt83 thunderxt88 tsv110";

/// Features without which there is no 64-bit code at all.
const REQUIRED: [&str; 6] = ["64bit", "sse", "sse2", "x87", "fp-armv8", "neon"];

/// The names for the architecture of `triple`.
fn known(triple: &str) -> impl Iterator<Item = &'static str> {
    let table = if triple.starts_with("x86_64") { X86_64 } else { AARCH64 };
    table.split(' ').filter(|name| !name.is_empty())
}

/// Whether LLVM knows the processor `name`.
pub(super) fn check_name(triple: &str, name: &str) -> Result<(), LlvmError> {
    if known(triple).any(|known| known == name) {
        return Ok(());
    }
    Err(LlvmError::UnknownCpu { name: name.to_owned(), known: known(triple).map(str::to_owned).collect() })
}

/// Whether `features`, as in `+avx2,-fma`, can be asked for.
pub(super) fn check_features(triple: &str, features: &str) -> Result<(), LlvmError> {
    // LLVM tells the host's features by all names that it knows of an x86 processor, each present or not.
    let host = TargetMachine::get_host_cpu_features().to_string();
    let names: Vec<&str> = host.split(',').map(|feature| feature.trim_start_matches(['+', '-'])).collect();
    for feature in features.split(',').map(str::trim).filter(|feature| !feature.is_empty()) {
        let name = feature.strip_prefix('+').or_else(|| feature.strip_prefix('-'));
        let allowed = name.is_some_and(|name| {
            if triple.starts_with("x86_64") {
                names.contains(&name)
            } else {
                name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.'))
            }
        });
        let feature = feature.to_owned();
        if !allowed {
            return Err(LlvmError::UnknownFeature { feature });
        }
        if feature.strip_prefix('-').is_some_and(|name| REQUIRED.contains(&name)) {
            return Err(LlvmError::RequiredFeature { feature });
        }
    }
    Ok(())
}
