//! Bits of the index arithmetic in kernels: 32, which need fewer registers and instructions of a GPU, where all indices fit.
//!
//! Indices of elements are computed modulo 2^32, so it suffices that no buffer has more elements. Iterations of the grid are counted in
//! 32 bits, too. Where sizes are not known, a kernel has two versions, and the launch selects one.

use sdfg::symbolic::Expr;

use super::error::Print;
use super::function::Function;
use super::text::{Code, Precedence};
use crate::plan::{Kernel, Loop, LoopDimension};

/// The most elements of a buffer whose indices have 32 bits.
const MOST_ELEMENTS: i64 = u32::MAX as i64;

/// The most iterations along an axis of the grid that are counted in 32 bits: a thread adds the threads of the grid to the last one.
const MOST_ITERATIONS: i64 = 1 << 30;

/// The versions of a kernel.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Widths {
    /// Indices have 32 bits.
    Narrow,
    /// Indices have 64 bits.
    Wide,
    /// One version of each.
    Either {
        /// Sizes of buffers that the launch has to compare.
        sizes: Vec<Expr>,
        /// Axes of the grid whose iterations the launch has to compare.
        axes: Vec<usize>,
    },
}

impl Widths {
    /// The versions of a kernel. Checked ones note indices that do not fit, so theirs have 64 bits.
    pub(super) fn of(function: &Function<'_, '_>, each: &Loop, kernel: &Kernel) -> Self {
        let plan = function.program.plan;
        let buffers = kernel.captures.buffers.iter().map(|captured| plan.buffer(captured.buffer));
        let mut sizes: Vec<Expr> = Vec::new();
        for size in buffers.flat_map(|buffer| [&buffer.size].into_iter().chain(&buffer.span)) {
            if !sizes.contains(size) {
                sizes.push(size.clone());
            }
        }
        let lengths = lengths(&each.dimensions);
        let is_large = |most: i64| move |count: i64| count > most;
        if plan.checked
            || sizes.iter().filter_map(Expr::as_int).any(is_large(MOST_ELEMENTS))
            || lengths.iter().copied().flatten().any(is_large(MOST_ITERATIONS))
        {
            return Widths::Wide;
        }
        sizes.retain(|size| size.as_int().is_none());
        let axes: Vec<usize> = (0..lengths.len()).filter(|axis| lengths[*axis].is_none()).collect();
        if sizes.is_empty() && axes.is_empty() { Widths::Narrow } else { Widths::Either { sizes, axes } }
    }

    /// Whether indices have 32 bits, for each version.
    pub(super) fn versions(&self) -> &'static [bool] {
        match self {
            Widths::Narrow => &[true],
            Widths::Wide => &[false],
            Widths::Either { .. } => &[true, false],
        }
    }

    /// The condition under which the version with 32 bits is right.
    pub(super) fn fits(&self, function: &Function<'_, '_>, lengths: &[Code]) -> Print<String> {
        let Widths::Either { sizes, axes } = self else { return Ok("true".to_owned()) };
        let is_most = |code: &Code, most: &str| format!("{} <= {most}", code.at_least(Precedence::Shift));
        let elements = function.program.helper(NARROW_ELEMENTS, limit);
        let mut conditions = Vec::new();
        for size in sizes {
            conditions.push(is_most(&function.plain_index(size)?, &elements));
        }
        let iterations = MOST_ITERATIONS.to_string();
        let lengths = axes.iter().filter_map(|axis| lengths.get(*axis));
        conditions.extend(lengths.map(|length| is_most(length, &iterations)));
        Ok(conditions.join(" && "))
    }
}

/// Iterations along the axes of a grid, where they are known.
fn lengths(dimensions: &[LoopDimension]) -> Vec<Option<i64>> {
    let counts: Vec<Option<i64>> = dimensions.iter().rev().map(LoopDimension::count).collect();
    let mut lengths: Vec<Option<i64>> = counts.iter().take(2).copied().collect();
    if counts.len() > 2 {
        lengths.push(counts[2..].iter().try_fold(1_i64, |all, count| all.checked_mul((*count)?)));
    }
    lengths
}

/// The macro with the most elements of buffers whose indices have 32 bits.
const NARROW_ELEMENTS: &str = "SDFG_NARROW_ELEMENTS";

/// The definition of the macro.
fn limit() -> String {
    format!(
        "/* Kernels index buffers of at most so many elements in 32 bits. Less, as a macro of the compiler, makes kernels use 64 bits. */\n#ifndef {NARROW_ELEMENTS}\n#define {NARROW_ELEMENTS} INT64_C({MOST_ELEMENTS})\n#endif\n"
    )
}
