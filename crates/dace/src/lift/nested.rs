//! Lifts calls of other SDFGs.
//!
//! DaCe passes a pointer to the first element of a memlet, and the inner container applies its own strides.
//! Ours binds the inner container to the elements of the memlet. Both mean the same if the strides agree.

use std::collections::BTreeMap;

use sdfg::analysis::bound_dimensions;
use sdfg::analysis::symbols::free_symbols;
use sdfg::ir::{Access, ContainerKind, EdgeId, Layout, NestedSdfg, NodeId, NodeKind};
use sdfg::symbolic::{Expr, Symbol};

use super::signs::known_signs;
use super::state::Graph;
use super::{SdfgLifting, program};
use crate::encode::text;
use crate::model;
use crate::report::{Code, Failed};

impl SdfgLifting<'_> {
    pub(super) fn nested(
        &self,
        graph: &Graph<'_>,
        id: NodeId,
        nested: &NestedSdfg,
    ) -> Result<model::NodeKind, Failed> {
        let inner = &nested.sdfg;
        let is_symbol = |name: &str| inner.symbols().any(|(symbol, _)| symbol.as_str() == name);
        if let Some(connector) = nested.inputs.iter().find(|connector| is_symbol(&connector.name)) {
            let message = format!(
                "the connector `{}` gives a symbol its value from data; assign it to a symbol before the state",
                connector.name
            );
            return Err(self.refuse_node(graph, id, Code::UnwritableNode, message));
        }
        let known = known_signs(inner, Some((nested, &self.known)));
        let program = program(inner, self.log, self.at(&graph.part(id)), self.depth + 1, known)?;
        let given = nested.symbol_mapping.iter();
        let mut mapping: Vec<(String, String)> =
            given.map(|(symbol, value)| (symbol.to_string(), text(value, &self.known))).collect();
        // Symbols that keep the value that they have outside are written out.
        let declared = inner.symbols().map(|(symbol, _)| symbol.clone());
        let mut kept: Vec<Symbol> = declared.chain(free_symbols(inner)).collect();
        kept.retain(|symbol| inner.find_container(symbol.as_str()).is_none());
        for symbol in kept {
            if !mapping.iter().any(|(name, _)| name == symbol.as_str()) {
                mapping.push((symbol.to_string(), symbol.to_string()));
            }
        }
        Ok(model::NodeKind::Nested { program: Box::new(program), mapping })
    }

    /// Refuses an argument of a call whose inner strides are not those of the elements that it is bound to.
    pub(super) fn check_argument(
        &self,
        graph: &Graph<'_>,
        id: EdgeId,
        access: &Access,
    ) -> Result<(), Failed> {
        let edge = graph.state.edge(id);
        let ends = [(edge.dst, &edge.dst_connector), (edge.src, &edge.src_connector)];
        for (node, connector) in ends {
            let (NodeKind::Nested(nested), Some(name)) = (&graph.state.node(node).kind, connector) else {
                continue;
            };
            let Some(inner) = nested.sdfg.find_container(name) else { continue };
            let ContainerKind::Array(layout) = &nested.sdfg.container(inner).kind else { continue };
            if !self.strides_agree(access, layout, nested) {
                let message = format!(
                    "the strides of `{name}` inside are not those of `{}`; give it these strides",
                    self.sdfg.container(access.container).name
                );
                return Err(self.refuse(Code::UnwritableMemlet, &graph.edge_part(id), message));
            }
        }
        Ok(())
    }

    fn strides_agree(&self, access: &Access, inner: &Layout, nested: &NestedSdfg) -> bool {
        let values: BTreeMap<Symbol, Expr> = nested.symbol_mapping.iter().cloned().collect();
        let Some(kept) = bound_dimensions(access.subset(), inner.shape.len()) else { return false };
        let outer = self.sdfg.container(access.container).kind.layout();
        let agree = |(place, dimension): (usize, usize)| {
            let (extent, stride) = (&inner.shape[place], &inner.strides[place]);
            let range = access.subset().0.get(dimension);
            let outer = outer.and_then(|layout| layout.strides.get(dimension));
            let wanted = range.zip(outer).map(|(range, outer)| outer * &range.step);
            extent.is_one() || wanted.is_some_and(|wanted| wanted == stride.substitute(&values))
        };
        inner.offset == Expr::zero() && kept.into_iter().enumerate().all(agree)
    }
}
