//! Loops as native code at every level and for several vector widths, compared with the interpreter.
//!
//! LLVM decides by its own dependence analysis which loops it vectorises. Therefore the loops are small and
//! numerous: a fixed list of shapes from suites for vectorising compilers (`suite.loops`), and random loops.
//!
//! ```text
//! notation    language of the loops          generate    random loops
//! ```

mod generate;
mod notation;

pub use generate::loops as random_loops;
pub use notation::program as loop_program;

use sdfg::dtype::ScalarType;
use sdfg::interpret::{Arguments, Order};
use sdfg::validate::Validated;
use sdfg_codegen::llvm::{CompileOptions, Cpu, Level, OptLevel};

use super::check::{Failure, compile, difference, expanded, interpret, reduced_by, validated};
use super::inputs::{Sizes, inputs};
use super::rng::Rng;
use crate::trusted;

/// The compilations of a program that are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variants {
    /// One, which takes its turn with the seed.
    One,
    /// Every level for this processor, and the levels that vectorise for each width.
    All,
}

/// The loops of the fixed list, each with its name.
pub fn suite() -> Vec<(&'static str, &'static str)> {
    let parts = include_str!("suite.loops").split("\n= ").skip(1);
    parts.filter_map(|part| part.split_once('\n')).map(|(name, loops)| (name.trim(), loops)).collect()
}

/// Compares random loops.
///
/// # Errors
/// [`Failure`] if they are refused, trap or give different results.
pub fn check_random_loops(seed: u64, variants: Variants) -> Result<(), Box<Failure>> {
    let (ty, loops) = random_loops(seed);
    check_loops(&format!("loops_{seed}"), seed, ty, &loops, variants)
}

/// Compares loops in the notation, over elements of a type; numbers and sizes are those of a seed.
///
/// # Errors
/// [`Failure`] if they are refused, trap or give different results.
pub fn check_loops(
    name: &str,
    seed: u64,
    ty: ScalarType,
    loops: &str,
    variants: Variants,
) -> Result<(), Box<Failure>> {
    let mut rng = Rng::new(seed ^ 0x5eed);
    let sizes = Sizes { n: size(&mut rng), m: 1 };
    let source_text = notation::program(name, ty, loops).unwrap_or_else(|what| what);
    validated(&source_text)
        .and_then(|program| {
            let arguments = inputs(program.sdfg(), sizes, &mut rng);
            compare(&program, &arguments, seed, variants)
        })
        .map_err(|what| Box::new(Failure { seed, sizes, what, source_text }))
}

/// A smaller program that fails as the loops of a failure do; `None` if there is none.
pub fn reduced_loops(failure: &Failure) -> Option<Failure> {
    reduced_by(failure, |program| {
        let mut rng = Rng::new(failure.seed ^ 0x5eed);
        size(&mut rng);
        let arguments = inputs(program.sdfg(), failure.sizes, &mut rng);
        compare(program, &arguments, failure.seed, Variants::All).err()
    })
}

/// A number of iterations: few, or enough for several wide vectors.
fn size(rng: &mut Rng) -> i64 {
    if rng.chance(20) { 4 + rng.below(12) as i64 } else { 20 + rng.below(90) as i64 }
}

/// Compares native code of each variant with the interpreter.
pub(super) fn compare(
    program: &Validated,
    arguments: &Arguments,
    seed: u64,
    variants: Variants,
) -> Result<(), String> {
    let expected = interpret(program, arguments.clone(), Order::Fixed)?;
    let expanded = expanded(program)?;
    let mut compilations = compilations();
    if variants == Variants::One {
        let turn = (seed % compilations.len() as u64) as usize;
        compilations = vec![compilations.swap_remove(turn)];
    }
    for (level, cpu) in compilations {
        let how = match &cpu {
            Cpu::Named { name, .. } => format!("level {level} for {name}"),
            Cpu::Host | Cpu::Levels(_) => format!("level {level}"),
        };
        let options = CompileOptions { level, cpu, parallel_threshold: 0, ..CompileOptions::default() };
        let library = compile(&expanded, &options, None)?;
        let mut actual = arguments.clone();
        trusted::run(&library, &mut actual, None).map_err(|error| format!("native, {how}: {error}"))?;
        if let Some((name, tensor, other)) = difference(&expected, &actual) {
            return Err(format!("`{name}` differs with {how}: {tensor:?} and {other:?}"));
        }
    }
    Ok(())
}

/// Levels with processors: those that this one runs.
fn compilations() -> Vec<(OptLevel, Cpu)> {
    let host = OptLevel::ALL.into_iter().map(|level| (level, Cpu::Host));
    let of_width = |width: Level| {
        [OptLevel::Quick, OptLevel::O2, OptLevel::O3].map(|level| (level, Cpu::named(width.name())))
    };
    host.chain(widths().into_iter().flat_map(of_width)).collect()
}

/// The levels of x86-64 with vectors of 128, 256 and 512 bits that this processor has.
#[cfg(target_arch = "x86_64")]
fn widths() -> Vec<Level> {
    let has_v3 = std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma");
    let has = [
        (Level::V2, std::arch::is_x86_feature_detected!("sse4.2")),
        (Level::V3, has_v3),
        (Level::V4, std::arch::is_x86_feature_detected!("avx512vl")),
    ];
    has.into_iter().filter_map(|(level, has)| has.then_some(level)).collect()
}

#[cfg(not(target_arch = "x86_64"))]
fn widths() -> Vec<Level> {
    Vec::new()
}
