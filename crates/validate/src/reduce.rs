//! Rule: reductions, with their two edges, axes, output and identity.

use sdfg_graph::diagnostic::Code;
use sdfg_graph::ir::{Access, Flow, NodeId, NodeKind, Reduce};
use sdfg_language::dtype::{ElementType, ScalarKind, ScalarType};
use sdfg_language::subset::Subset;
use sdfg_language::symbolic::{Assumptions, Expr};
use sdfg_language::syntax::{Expression, ExpressionKind, UnaryOp};

use super::resolutions;
use super::site::{Findings, Site, counted};

/// Checks every reduce node of a state.
pub(super) fn check(site: &Site<'_>, findings: &mut Findings) {
    for (id, node) in site.state.nodes() {
        if let NodeKind::Reduce(reduce) = &node.kind
            && let Some((input, output)) = edges(site, id, findings)
        {
            let input_element = site.sdfg.container(input.container).element;
            let element = site.sdfg.container(output.container).element;
            if input_element != element {
                let message = format!("the input has elements of {input_element}, the output of {element}");
                findings.push(site.node_error(Code::ElementMismatch, id, None, message));
            }
            if let Some(problem) = resolutions::problem(&reduce.resolution, element) {
                findings.push(site.node_error(Code::ResolutionType, id, None, problem));
            }
            shape(site, id, reduce, input.subset(), output.subset(), findings);
            identity(site, id, reduce, element, findings);
        }
    }
}

/// One edge brings elements, one takes them on.
fn edges<'s>(site: &Site<'s>, id: NodeId, findings: &mut Findings) -> Option<(&'s Access, &'s Access)> {
    let moving = |edges: Vec<sdfg_graph::ir::EdgeId>| {
        let edges = edges.into_iter().map(|edge| &site.state.edge(edge).memlet);
        edges.filter(|memlet| memlet.flow != Flow::Order).collect::<Vec<_>>()
    };
    let (inputs, outputs) = (moving(site.state.in_edges(id)), moving(site.state.out_edges(id)));
    if let ([input], [output]) = (inputs.as_slice(), outputs.as_slice())
        && let (Some(input), Some(output)) = (input.read_access(), output.write_access())
        && !input.is_queue()
        && !output.is_queue()
    {
        return Some((input, output));
    }
    let message = format!(
        "a reduction has one edge that reads elements and one that writes them, this has {} and {}",
        inputs.len(),
        outputs.len()
    );
    findings.push(site.node_error(Code::ReduceEdges, id, None, message));
    None
}

/// Axes are dimensions of the input, each at most once; the others are those of the output.
fn shape(
    site: &Site<'_>,
    id: NodeId,
    reduce: &Reduce,
    input: &Subset,
    output: &Subset,
    findings: &mut Findings,
) {
    let error = |message: String| site.node_error(Code::ReduceShape, id, None, message);
    let rank = input.rank();
    let axes: Vec<usize> = reduce.axes.clone().unwrap_or_else(|| (0..rank).collect());
    for (index, axis) in axes.iter().enumerate() {
        if *axis >= rank {
            findings
                .push(error(format!("axis {axis} is reduced, the input has {}", counted(rank, "dimension"))));
            return;
        }
        if axes[..index].iter().any(|earlier| earlier >= axis) {
            findings.push(error("axes are given once each, in ascending order".to_owned()));
            return;
        }
    }
    // Dimensions of extent one may be there or not on either side.
    let is_long = |size: &Expr| !size.is_one();
    let kept = input.sizes().into_iter().enumerate().filter(|(axis, _)| !axes.contains(axis));
    let kept: Vec<Expr> = kept.map(|(_, size)| size).filter(|size| is_long(size)).collect();
    let written: Vec<Expr> = output.sizes().into_iter().filter(is_long).collect();
    let unknown = Assumptions::new();
    let differs = |(a, b): (&Expr, &Expr)| a.equals(b, &unknown).is_refuted();
    if kept.len() != written.len() || kept.iter().zip(&written).any(differs) {
        let show = |sizes: &[Expr]| sizes.iter().map(Expr::to_string).collect::<Vec<_>>().join(" x ");
        let shown = |sizes: &[Expr]| if sizes.is_empty() { "one element".to_owned() } else { show(sizes) };
        let message =
            format!("what remains of the input is {}, the output is {}", shown(&kept), shown(&written));
        findings.push(error(message));
    }
}

/// The identity is a literal, perhaps negated, that the element type has.
fn identity(site: &Site<'_>, id: NodeId, reduce: &Reduce, element: ElementType, findings: &mut Findings) {
    let Some(identity) = &reduce.identity else { return };
    let message = match literal(identity) {
        None => format!("the identity `{identity}` is not a constant"),
        Some(ty) if !converts(ty, element.lane()) => {
            format!("the identity `{identity}` is not of type {element}")
        }
        Some(_) => return,
    };
    findings.push(site.node_error(Code::ReduceIdentity, id, None, message));
}

/// The type of a literal or constant, negated or not.
fn literal(expression: &Expression) -> Option<ScalarType> {
    match &expression.kind {
        ExpressionKind::Integer(_) => Some(ScalarType::I64),
        ExpressionKind::Float(_) => Some(ScalarType::F64),
        ExpressionKind::Imaginary(_) => Some(ScalarType::Complex128),
        ExpressionKind::Bool(_) => Some(ScalarType::Bool),
        ExpressionKind::Name(name) => matches!(name.as_str(), "inf" | "nan").then_some(ScalarType::F64),
        ExpressionKind::Unary { op: UnaryOp::Negate | UnaryOp::Plus, operand } => literal(operand),
        ExpressionKind::Unary { .. }
        | ExpressionKind::Binary { .. }
        | ExpressionKind::Compare { .. }
        | ExpressionKind::Conditional { .. }
        | ExpressionKind::Call { .. }
        | ExpressionKind::Subscript { .. } => None,
    }
}

/// Whether a literal of one type can be an element of another: its kind converts without losing anything but precision.
fn converts(literal: ScalarType, element: ScalarType) -> bool {
    match literal.kind() {
        ScalarKind::Bool => !element.is_complex(),
        ScalarKind::Unsigned | ScalarKind::Signed => true,
        ScalarKind::Float => element.is_float() || element.is_complex(),
        ScalarKind::Complex => element.is_complex(),
    }
}
