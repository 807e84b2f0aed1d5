//! Memlets of code that selects elements by data.
//!
//! DaCe's front end gives `A[indices] = x` a memlet with as many elements of `A` as there
//! are indices. Its code ignores the end of the memlet, so the memlet means the whole container.

use std::collections::BTreeSet;

use sdfg::ir::Access;
use sdfg::symbolic::Expr;
use sdfg::syntax::{ExpressionKind, Index, Statement, visit_block, visit_targets};

use super::SdfgLowering;
use super::state::Graph;
use crate::decode::Version;
use crate::model;
use crate::report::Code;

impl<'a> SdfgLowering<'a> {
    /// Makes what a connector of a tasklet has of a container reach to the container's end, along the dimensions that its code
    /// indexes by data, if it begins at the first element; this is noted.
    pub(super) fn widen_indirect(
        &self,
        graph: &mut Graph<'a>,
        edge: &model::Edge,
        reads: bool,
        access: &mut Access,
    ) {
        let (node, connector) =
            if reads { (edge.dst, &edge.dst_connector) } else { (edge.src, &edge.src_connector) };
        let (Some(connector), Some(block)) = (connector, graph.tasklets.get(&node)) else { return };
        // Before version 2, the front end did so only for connectors with these names.
        let is_index = |name: &str| self.shared.version > Version::First || name.starts_with("__ind_");
        if access.is_queue() {
            return;
        }
        let shape = self.sdfg.container(access.container).shape();
        let ranges = access.subset_mut().0.iter_mut().zip(shape);
        let indexed: Vec<_> = ranges.filter(|(range, _)| !range.is_index()).collect();
        let picked = indirect_dimensions(block, connector, indexed.len(), &|name: &str| {
            is_index(name) && graph.model.nodes[node].inputs.contains_key(name)
        });
        for (at, (range, extent)) in indexed.into_iter().enumerate() {
            let begins = range.begin == Expr::zero() && range.step.is_one() && range.tile.is_one();
            if begins && picked.contains(&at) && range.end != *extent {
                let message = format!(
                    "code picks elements by data: all {extent} along dimension {at} may be meant, and not only {}",
                    range.end
                );
                self.log().note(Code::Approximated, &edge.path, message);
                range.end = extent.clone();
                graph.widened.insert(node);
            }
        }
    }
}

/// The positions of indices of a connector that name inputs with indices, where there are so many indices.
fn indirect_dimensions(
    block: &[Statement],
    connector: &str,
    rank: usize,
    is_index: &dyn Fn(&str) -> bool,
) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut note = |indices: &[Index]| {
        if indices.len() != rank {
            return;
        }
        for (at, index) in indices.iter().enumerate() {
            if let Index::Point(index) = index
                && index.names().iter().any(|name| is_index(name))
            {
                found.insert(at);
            }
        }
    };
    visit_block(block, &mut |part| {
        if let ExpressionKind::Subscript { base, indices } = &part.kind
            && base.text == connector
        {
            note(indices);
        }
    });
    visit_targets(block, &mut |target| {
        if target.name.text == connector {
            note(&target.indices);
        }
    });
    found
}
