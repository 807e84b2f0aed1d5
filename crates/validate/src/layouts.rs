//! Rule: layouts that cannot hold their elements, because one lies outside of the allocation or two share a
//! position.
//!
//! Sizes may be symbols: an error is reported only if it is proved for all their values.

use sdfg_graph::diagnostic::Code;
use sdfg_graph::ir::{Container, ContainerKind, Layout};
use sdfg_language::symbolic::{Assumptions, Expr};

use super::site::{Findings, Program};

/// Checks the layout of a container that has as many strides as dimensions.
pub(super) fn check(
    program: &Program<'_>,
    container: &Container,
    layout: &Layout,
    known: &Assumptions,
    findings: &mut Findings,
) {
    if layout.is_packed() || !layout.shape.iter().all(|extent| extent.is_positive(known).is_proved()) {
        return;
    }
    let (first, last) = corners(layout, known);
    let outside = if first.is_nonnegative(known).is_refuted() {
        Some(first)
    } else {
        (&last - &layout.total_size).is_nonnegative(known).is_proved().then_some(last)
    };
    let name = &container.name;
    let (message, advice) = if let Some(place) = outside {
        let message =
            format!("an element of `{name}` lies at {place}, outside of its {} places", layout.total_size);
        (message, "enlarge the size, or correct strides and offset")
    } else if let (ContainerKind::Array(_), Some((a, b))) = (&container.kind, overlap(layout)) {
        let index = |index: &[i64]| index.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
        let message = format!("`{name}[{}]` and `{name}[{}]` lie at the same place", index(&a), index(&b));
        (message, "correct the strides, or use a view where elements are meant to be shared")
    } else {
        return;
    };
    findings.push(program.container_error(Code::LayoutRank, container, message).suggest(advice));
}

/// Places of two elements: none lies before the first or behind the last, as far as signs of strides are known.
fn corners(layout: &Layout, known: &Assumptions) -> (Expr, Expr) {
    let (mut first, mut last) = (layout.offset.clone(), layout.offset.clone());
    for (extent, stride) in layout.shape.iter().zip(&layout.strides) {
        let reach = (extent - 1) * stride;
        if stride.is_nonnegative(known).is_proved() {
            last = last + reach;
        } else if stride.is_nonnegative(known).is_refuted() {
            first = first + reach;
        }
    }
    (first, last)
}

/// Two indices of one place, if they differ in at most two dimensions and extents and strides are numbers.
fn overlap(layout: &Layout) -> Option<(Vec<i64>, Vec<i64>)> {
    let numbers = |list: &[Expr]| list.iter().map(Expr::as_int).collect::<Option<Vec<i64>>>();
    let (shape, strides) = (numbers(&layout.shape)?, numbers(&layout.strides)?);
    let at = |places: &[(usize, i64)]| {
        let mut index = vec![0; shape.len()];
        for (dimension, place) in places {
            index[*dimension] = *place;
        }
        index
    };
    for (one, stride) in strides.iter().enumerate() {
        if *stride == 0 && shape[one] > 1 {
            return Some((at(&[]), at(&[(one, 1)])));
        }
        for (other, other_stride) in strides.iter().enumerate().take(one) {
            let divisor = num_integer::gcd(stride.unsigned_abs(), other_stride.unsigned_abs());
            let Some(divisor) = i64::try_from(divisor).ok().filter(|divisor| *divisor > 0) else { continue };
            // So many steps along the one dimension lead as far as so many along the other.
            let (steps, other_steps) =
                ((other_stride / divisor).saturating_abs(), (stride / divisor).saturating_abs());
            if steps == 0 || other_steps == 0 || steps >= shape[one] || other_steps >= shape[other] {
                continue;
            }
            return Some(if (*stride < 0) == (*other_stride < 0) {
                (at(&[(other, other_steps)]), at(&[(one, steps)]))
            } else {
                (at(&[]), at(&[(other, other_steps), (one, steps)]))
            });
        }
    }
    None
}
