//! Memlets of nested SDFGs that may reach beyond their containers.
//!
//! DaCe passes a pointer to the first element of a memlet without checking that this element exists;
//! conditions inside may exclude the missing elements. In our graph, only a dynamic memlet may reach beyond
//! its container (`docs/semantics.md`, windows). Memlets with known bounds keep their volume, because
//! analyses derive more from them.

use sdfg::ir::Access;
use sdfg::symbolic::{Assumptions, Expr};

use super::SdfgLowering;
use super::state::{End, Graph};

impl<'a> SdfgLowering<'a> {
    /// Whether a memlet of a nested SDFG is not known to stay in its container.
    pub(super) fn has_deferred_bounds(
        &self,
        graph: &Graph<'a>,
        node: usize,
        access: &Access,
        outer: End<'_>,
    ) -> bool {
        let shape = self.sdfg.container(outer.id).shape();
        let is_whole = |(range, extent): &(&sdfg::subset::Range, &Expr)| {
            range.begin == Expr::zero() && range.end == **extent && range.step.is_one()
        };
        let open: Vec<_> =
            access.subset().0.iter().zip(shape).filter(|dimension| !is_whole(dimension)).collect();
        if access.is_queue() || open.is_empty() {
            return false;
        }
        let around = self.params_around(graph, node);
        let mut known = Assumptions::new();
        for symbol in shape.iter().flat_map(Expr::free_symbols) {
            known.assume_nonnegative(Expr::symbol(symbol));
        }
        open.into_iter().any(|(range, extent)| {
            let (first, last) = (range.begin.clone(), range.last());
            let descends = range.step.as_int().is_some_and(|step| step < 0);
            let (low, high) = if descends { (last, first) } else { (first, last) };
            let room = extent - 1 - high;
            [low, room].iter().any(|distance| {
                let least = distance.bounds_over_all(&around, &known).lower;
                !least.is_some_and(|least| least.is_nonnegative(&known).is_proved())
            })
        })
    }
}
