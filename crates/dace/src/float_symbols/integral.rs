//! Symbols that are declared as floats, and have integers only as values.
//!
//! Fortran front ends declare bounds of loops so. DaCe's code keeps such a value in a float; sums, products and extrema of it are
//! the same numbers as those of an integer, as far as indices go. Quotients are not, nor is arithmetic in code.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::dtype::ScalarType;
use sdfg::subset::Subset;
use sdfg::symbolic::{Expr, Symbol};
use sdfg::syntax::{BinaryOp, Expression, ExpressionKind, UnaryOp};

use super::{assignments, parts, type_of};
use crate::model::{BlockKind, Dtype, NodeKind, Program, Region, State};

/// The symbols that are integers with another type: all their values are integers, and they stand only in ranges of maps and memlets.
/// `used` are the names in code, conditions and values.
pub(super) fn integral(
    program: &Program,
    floats: &BTreeMap<String, Dtype>,
    used: &BTreeSet<String>,
) -> Vec<String> {
    let is_part = |value: &Expression| {
        matches!(&value.kind, ExpressionKind::Name(_) | ExpressionKind::Subscript { .. })
            && type_of(value, program, floats).is_none_or(ScalarType::is_integer)
    };
    let is_integral = |name: &String| {
        let mut values = assignments(&program.body).filter(|(assigned, _)| assigned == name).peekable();
        values.peek().is_some()
            && values.all(|(_, value)| is_whole(value, &is_part))
            && !used.contains(name)
            && Symbol::new(name).is_ok_and(|symbol| {
                sizes_no_container(program, &symbol) && is_exact_in(&program.body, &symbol)
            })
    };
    floats.keys().filter(|name| program.symbols.contains_key(*name) && is_integral(name)).cloned().collect()
}

/// Whether a value is an integer if these parts are: it has them in sums, products and extrema only.
fn is_whole(value: &Expression, is_part: &dyn Fn(&Expression) -> bool) -> bool {
    let of = |value: &Expression| is_whole(value, is_part);
    if is_part(value) {
        return true;
    }
    match &value.kind {
        ExpressionKind::Integer(_) => true,
        ExpressionKind::Unary { op: UnaryOp::Negate | UnaryOp::Plus, operand } => of(operand),
        ExpressionKind::Binary {
            op: BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply,
            left,
            right,
        } => of(left) && of(right),
        ExpressionKind::Call { function, arguments } => {
            matches!(function.text.as_str(), "min" | "max" | "Min" | "Max") && arguments.iter().all(of)
        }
        ExpressionKind::Name(_)
        | ExpressionKind::Subscript { .. }
        | ExpressionKind::Unary { .. }
        | ExpressionKind::Binary { .. }
        | ExpressionKind::Float(_)
        | ExpressionKind::Imaginary(_)
        | ExpressionKind::Bool(_)
        | ExpressionKind::Compare { .. }
        | ExpressionKind::Conditional { .. } => false,
    }
}

fn sizes_no_container(program: &Program, symbol: &Symbol) -> bool {
    program.containers.values().all(|container| {
        let sizes = container.shape.iter().chain(&container.strides).chain(&container.offset);
        let mut sizes = sizes.chain([&container.start_offset, &container.total_size]);
        sizes.all(|size| !size.free_symbols().contains(symbol))
    })
}

/// Whether the ranges of a region have the same meaning with a float and with an integer.
fn is_exact_in(region: &Region, symbol: &Symbol) -> bool {
    region.blocks.iter().all(|block| match &block.kind {
        BlockKind::State(state) => is_exact_in_state(state, symbol),
        other => parts(other).into_iter().all(|part| is_exact_in(part, symbol)),
    })
}

fn is_exact_in_state(state: &State, symbol: &Symbol) -> bool {
    let subset = |subset: &Subset| {
        let mut bounds =
            subset.0.iter().flat_map(|range| [&range.begin, &range.end, &range.step, &range.tile]);
        bounds.all(|bound| is_exact(bound, symbol))
    };
    let nodes = state.nodes.iter().all(|node| match &node.kind {
        NodeKind::MapEntry(map) => subset(&map.ranges),
        NodeKind::ConsumeEntry(consume) => {
            [&consume.elements, &consume.chunk].iter().all(|size| !size.free_symbols().contains(symbol))
        }
        NodeKind::Tasklet { .. }
        | NodeKind::Nested { .. }
        | NodeKind::Library { .. }
        | NodeKind::Access { .. }
        | NodeKind::MapExit(_)
        | NodeKind::ConsumeExit(_) => true,
    });
    nodes
        && state
            .edges
            .iter()
            .all(|edge| edge.memlet.subset.iter().chain(&edge.memlet.other_subset).all(subset))
}

/// Whether an index has a symbol in sums, products and extrema only.
fn is_exact(index: &Expr, symbol: &Symbol) -> bool {
    let is_part = |part: &Expression| {
        matches!(&part.kind, ExpressionKind::Name(_)) || !part.names().contains(symbol.as_str())
    };
    !index.free_symbols().contains(symbol)
        || index.to_expression().is_some_and(|expression| is_whole(&expression, &is_part))
}
