//! Reductions in parts: elements along one axis are combined in a transient first, by threads or in pairs.
//!
//! Parts need no neutral element: each begins with an element of the input.

use std::fmt::Write;

use sdfg::dtype::ElementType;
use sdfg::ir::ConflictResolution;
use sdfg::symbolic::Expr;

use super::{INPUT, OUTPUT};
use crate::error::ExpandErrorKind;

/// The transient of the parts.
pub(super) const PARTS: &str = "_parts";
/// Label of the last block.
pub(super) const LAST: &str = "shrink";
/// Number of parts of an axis.
const COUNT: i64 = 16;

/// How a reduction is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReduceExpansion {
    /// A map over all elements.
    Pure,
    /// The same, on one thread.
    Sequential,
    /// Private results of 16 parts of the first axis, which are combined at the end.
    Parallel,
    /// Pairs of elements of the first axis, then pairs of pairs.
    Tree,
}

impl ReduceExpansion {
    /// All, the default first.
    pub(crate) const ALL: [ReduceExpansion; 4] = [
        ReduceExpansion::Pure,
        ReduceExpansion::Sequential,
        ReduceExpansion::Parallel,
        ReduceExpansion::Tree,
    ];

    /// The name in chains.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            ReduceExpansion::Pure => "pure",
            ReduceExpansion::Sequential => "sequential",
            ReduceExpansion::Parallel => "parallel",
            ReduceExpansion::Tree => "tree",
        }
    }
}

/// A program that combines the elements of the input along an axis in a transient, as far as the expansion does, and the extents
/// of what remains to be combined.
pub(super) fn shrinking(
    how: ReduceExpansion,
    (extents, to): (&[Expr], &[Expr]),
    axis: usize,
    (element, of_output): (ElementType, ElementType),
    resolution: &ConflictResolution,
) -> Result<(String, Vec<Expr>), ExpandErrorKind> {
    let is_ordered = matches!(resolution, ConflictResolution::Custom(_) | ConflictResolution::Replace);
    let size = extents.get(axis).filter(|_| !is_ordered);
    let size = size.ok_or(ExpandErrorKind::ReduceParts { expansion: how.name() })?;
    let name = resolution.name();
    let index = |at: &str| {
        let of = |dimension: usize| if dimension == axis { at.to_owned() } else { format!("i{dimension}") };
        (0..extents.len()).map(of).collect::<Vec<_>>().join(", ")
    };
    let over = |ranges: &str| {
        let others = (0..extents.len()).filter(|dimension| *dimension != axis);
        let others = others.map(|dimension| format!("i{dimension} = 0:{}", extents[dimension]));
        std::iter::once(ranges.to_owned()).chain(others).collect::<Vec<_>>().join(", ")
    };
    let state = |label: &str, ranges: &str, from: [&str; 2], to: &str, resolution: &str| {
        let [source, at] = from;
        let (ranges, read, write) = (over(ranges), index(at), index(to));
        format!(
            "state {label} {{
access from = {source}
access to = {PARTS}
map elements [{ranges}] {{
tasklet element (i) -> (o) {{ o = i }}
elements.x -> element.i: {source}[{read}]
element.o -> elements.y: {PARTS}[{write}]{resolution}
}}
from -> elements.x
elements.y -> to
}}
"
        )
    };
    let mut rest = extents.to_vec();
    let (shape, blocks) = match how {
        ReduceExpansion::Parallel => {
            rest[axis] = Expr::min(&Expr::int(COUNT), size);
            let mut shape = extents.to_vec();
            shape[axis] = Expr::int(COUNT);
            let first = state("first", &format!("p = 0:{}", rest[axis]), [INPUT, "p"], "p", "");
            let ranges = format!("p = 0:{}, q = p + {COUNT}:{size}:{COUNT}", rest[axis]);
            (shape, first + &state(LAST, &ranges, [INPUT, "q"], "p", &format!(" wcr({name})")))
        }
        ReduceExpansion::Tree | ReduceExpansion::Pure | ReduceExpansion::Sequential => {
            rest[axis] = Expr::min(&Expr::one(), size);
            let copy = state("first", &format!("q = 0:{size}"), [INPUT, "q"], "q", "");
            let ranges = format!("q = 0:{size} - s:2*s");
            let pairs = state("pairs", &ranges, [PARTS, "q + s"], "q", &format!(" wcr({name})"));
            let pairs = format!("loop {LAST}: s = 1; s < {size}; s = 2*s {{\n{pairs}}}\n");
            (extents.to_vec(), copy + &pairs)
        }
    };
    let mut text = String::from("sdfg expansion {\n");
    let symbols: std::collections::BTreeSet<_> =
        extents.iter().chain(to).flat_map(Expr::free_symbols).collect();
    for symbol in symbols {
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(text, "symbol {symbol}: i64");
    }
    let declared =
        [("", INPUT, element, extents), ("", OUTPUT, of_output, to), ("transient ", PARTS, element, &shape)];
    for (transient, name, element, shape) in declared {
        let shape: Vec<String> = shape.iter().map(ToString::to_string).collect();
        let _ = match &shape[..] {
            [] => writeln!(text, "{transient}scalar {name}: {element}"),
            shape => writeln!(text, "{transient}array {name}: {element}[{}]", shape.join(", ")),
        };
    }
    Ok((text + &blocks + "}\n", rest))
}
