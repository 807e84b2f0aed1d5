//! Outputs that tasklet code reads back.
//!
//! In DaCe, an output of several elements is a pointer into its container, and code may read through it. In
//! our graph, an additional input provides the same elements. Inputs that are pointers are accessed when the
//! code does so, so the code sees its own writes.
//!
//! The reverse occurs as well: code writes through the pointer of an input, and the output that leads to the same
//! elements is never assigned. The writes then go to that output.

use std::collections::BTreeSet;

use sdfg::ir::draft::DraftState;
use sdfg::ir::{Connector, Flow, Memlet, NodeKind};
use sdfg::syntax::{
    AssignmentTarget, Expression, ExpressionKind, Name, Statement, StatementKind, visit_block,
    visit_bound_names,
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
        let block = written_inputs(model, at, block);
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

/// The block with the elements that it writes through inputs as elements of outputs: those that it never names and whose
/// memlets are the same.
fn written_inputs(model: &model::State, at: usize, mut block: Vec<Statement>) -> Vec<Statement> {
    let node = &model.nodes[at];
    let mut named = BTreeSet::new();
    visit_block(&block, &mut |part| named.extend(part.own_name().map(str::to_owned)));
    visit_bound_names(&block, &mut |name| {
        named.insert(name.text.clone());
    });
    for input in node.inputs.keys().filter(|input| named.contains(*input)) {
        let is = |connector: &Option<String>, name: &str| connector.as_deref() == Some(name);
        let mut read = model.edges.iter().filter(|edge| edge.dst == at && is(&edge.dst_connector, input));
        let (Some(read), None) = (read.next(), read.next()) else { continue };
        let is_same = |output: &&String| {
            let mut edges =
                model.edges.iter().filter(|edge| edge.src == at && is(&edge.src_connector, output));
            let (Some(write), None) = (edges.next(), edges.next()) else { return false };
            let (read, write) = (&read.memlet, &write.memlet);
            read.data.is_some()
                && (&read.data, &read.subset) == (&write.data, &write.subset)
                && write.resolution.is_none()
                && !named.contains(*output)
        };
        if let Some(output) = node.outputs.keys().find(is_same) {
            block = redirected(block, input, output);
        }
    }
    block
}

/// The block with elements of `output` for the elements of `input` that it assigns.
fn redirected(block: Vec<Statement>, input: &str, output: &str) -> Vec<Statement> {
    let inner = |block| redirected(block, input, output);
    let redirected = |statement: Statement| {
        let to_output = |mut target: AssignmentTarget| {
            if target.name.text == input && !target.indices.is_empty() {
                output.clone_into(&mut target.name.text);
            }
            target
        };
        let kind = match statement.kind {
            StatementKind::Assign { target, annotation, value } => {
                StatementKind::Assign { target: to_output(target), annotation, value }
            }
            StatementKind::Augmented { target, op, value } => {
                StatementKind::Augmented { target: to_output(target), op, value }
            }
            StatementKind::If { branches, otherwise } => StatementKind::If {
                branches: branches.into_iter().map(|(condition, block)| (condition, inner(block))).collect(),
                otherwise: inner(otherwise),
            },
            StatementKind::For { variable, begin, end, step, body } => {
                StatementKind::For { variable, begin, end, step, body: inner(body) }
            }
            StatementKind::While { condition, body } => StatementKind::While { condition, body: inner(body) },
            kind @ StatementKind::Pass => kind,
        };
        Statement { kind, ..statement }
    };
    block.into_iter().map(redirected).collect()
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
