//! Outputs that tasklet code reads back.
//!
//! In DaCe, an output of several elements is a pointer into its container, and code may read through it. In
//! our graph, an additional input provides the same elements. Inputs that are pointers are accessed when the
//! code does so, so the code sees its own writes.

use std::collections::BTreeSet;

use sdfg::ir::draft::DraftState;
use sdfg::ir::{Connector, Flow, Memlet, NodeKind};
use sdfg::syntax::{
    Expression, ExpressionKind, Name, Statement, StatementKind, visit_block, visit_bound_names,
};

use super::SdfgLowering;
use super::state::Graph;
use crate::model;
use crate::text::map_block;

impl<'a> SdfgLowering<'a> {
    /// Gives a tasklet inputs for the outputs of which its code reads elements. The code that reads them there.
    pub(super) fn connect_read_outputs(
        &self,
        graph: &mut Graph<'a>,
        at: usize,
        block: Vec<Statement>,
    ) -> Vec<Statement> {
        let model = graph.model;
        let node = &model.nodes[at];
        let outputs = || node.outputs.keys().filter(|output| !node.inputs.contains_key(*output));
        let mut block = written_out(block, &|name| outputs().any(|output| output == name));
        for output in outputs() {
            if !reads(&block, output) {
                continue;
            }
            let is_its = |connector: &Option<String>| connector.as_ref() == Some(output);
            let edges = graph.state.out_edges(graph.nodes[at]).into_iter();
            let mut edges = edges.map(|id| graph.state.edge(id)).filter(|edge| is_its(&edge.src_connector));
            let (Some(edge), None) = (edges.next(), edges.next()) else { continue };
            let Flow::Write { to: access, .. } = &edge.memlet.flow else { continue };
            let written = model.edges.iter().find(|edge| edge.src == at && is_its(&edge.src_connector));
            let Some(written) = written.filter(|edge| edge.memlet.resolution.is_none()) else { continue };
            let place = graph.paths.destination(written);
            let Some(end) = self.end(&model.nodes[place]).filter(|_| !access.is_queue()) else { continue };
            let memlet = Memlet { volume: edge.memlet.volume.clone(), ..Memlet::read(access.clone()) };
            let input = unused_name(output, &block, node);
            // Where the container is at home in a scope, it is read there.
            let scope = graph.paths.scope_of(place);
            self.pass_into(graph, (at, &input), (end, scope), memlet);
            if let NodeKind::Tasklet(tasklet) = &mut graph.state.node_mut(graph.nodes[at]).kind {
                tasklet.inputs.push(Connector::new(input.clone()));
            }
            block = map_block(block, &mut |part| match part.kind {
                ExpressionKind::Subscript { base, indices } if base.text == *output => {
                    let base = Name { text: input.clone(), ..base };
                    Expression { kind: ExpressionKind::Subscript { base, indices }, span: part.span }
                }
                kind => Expression { kind, span: part.span },
            });
        }
        block
    }
}

/// A block in which elements of outputs are assigned, instead of changed by what they are: `o[0] = o[0] + x`.
fn written_out(block: Vec<Statement>, is_output: &dyn Fn(&str) -> bool) -> Vec<Statement> {
    let inner = |block| written_out(block, is_output);
    let written_out = |statement: Statement| {
        let kind = match statement.kind {
            StatementKind::Augmented { target, op, value }
                if is_output(&target.name.text) && !target.indices.is_empty() =>
            {
                let (base, indices) = (target.name.clone(), target.indices.clone());
                let old =
                    Expression { kind: ExpressionKind::Subscript { base, indices }, span: target.span() };
                StatementKind::Assign { target, annotation: None, value: Expression::binary(op, old, value) }
            }
            StatementKind::If { branches, otherwise } => StatementKind::If {
                branches: branches.into_iter().map(|(condition, block)| (condition, inner(block))).collect(),
                otherwise: inner(otherwise),
            },
            StatementKind::For { variable, begin, end, step, body } => {
                StatementKind::For { variable, begin, end, step, body: inner(body) }
            }
            StatementKind::While { condition, body } => StatementKind::While { condition, body: inner(body) },
            kind @ (StatementKind::Assign { .. } | StatementKind::Augmented { .. } | StatementKind::Pass) => {
                kind
            }
        };
        Statement { kind, ..statement }
    };
    block.into_iter().map(written_out).collect()
}

/// Whether code reads elements of an output.
fn reads(block: &[Statement], output: &str) -> bool {
    let mut is_read = false;
    visit_block(block, &mut |part| {
        is_read |= matches!(&part.kind, ExpressionKind::Subscript { base, .. } if base.text == output);
    });
    is_read
}

/// A name for the input beside an output that code does not use.
fn unused_name(output: &str, block: &[Statement], node: &model::Node) -> String {
    let mut used: BTreeSet<String> = node.inputs.keys().chain(node.outputs.keys()).cloned().collect();
    visit_block(block, &mut |part| used.extend(part.own_name().map(str::to_owned)));
    visit_bound_names(block, &mut |name| {
        used.insert(name.text.clone());
    });
    let mut name = format!("{output}_so_far");
    while used.contains(&name) {
        name.push('_');
    }
    name
}
