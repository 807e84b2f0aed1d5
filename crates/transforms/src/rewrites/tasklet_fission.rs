//! [`TaskletFission`].

use std::collections::BTreeSet;

use sdfg::dtype::ScalarType;
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{
    ConflictResolution, Connector, ContainerId, Edge, Flow, Node, NodeId, NodeKind, State, Tasklet,
    TaskletBody, Volume,
};
use sdfg::syntax::{BinaryOp, Expression, ExpressionKind, Statement, StatementKind, UnaryOp};
use sdfg::tasklet::{Code, MathFunction};
use serde::{Deserialize, Serialize};

use super::{anchored, described};
use crate::engine::{Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Splits a tasklet that adds a sum of terms to an element into one tasklet for each term.
///
/// `MapFission` makes a map of each, and `LiftToLibrary` a product of matrices of a term that multiplies two elements.
///
/// # When it applies
///
/// The code is one assignment to the only output. Its value is a sum or a difference, and `wcr(sum)` adds it to one element. The
/// terms use nothing but the inputs. Inputs and output have one type. Terms of integers are integers.
///
/// # Refusals
///
/// - The code is more than one assignment, or its value is no sum.
/// - The output is not added to one element with `wcr(sum)`.
/// - A term uses a symbol, or converts to another type.
/// - Types differ, or a term of integers is a quotient: it is rounded alone, and not with the sum.
/// - An input is an element of a stream or a value of another tasklet, or may be in the memory of the output.
///
/// # Before
///
/// ```sdft
/// sdfg sum_of_products {
///   symbol N: i64
///   array A: f64[N]
///   array B: f64[N]
///   scalar s: f64
///
///   state main {
///     access A
///     access B
///     map elements [i = 0:N] {
///       tasklet add (a, b, c) -> (o) { o = a * a - b * c }
///       elements.A -> add.a: A[i]
///       elements.B -> add.b: B[i]
///       elements.B -> add.c: B[0]
///       add.o -> elements.s: s wcr(sum)
///     }
///     access s
///     A -> elements.A
///     B -> elements.B
///     elements.s -> s
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg sum_of_products {
///   symbol N: i64
///   array A: f64[N]
///   array B: f64[N]
///   scalar s: f64
///
///   state main {
///     access A
///     access B
///     map elements [i = 0:N] {
///       tasklet add (a) -> (o) { o = a * a }
///       tasklet "add.term0" (b, c) -> (o) { o = -(b * c) }
///       elements.A -> add.a: A[i]
///       add.o -> elements.s: s wcr(sum)
///       elements.B -> "add.term0".c: B[0]
///       elements.B -> "add.term0".b: B[i]
///       "add.term0".o -> elements.s: s wcr(sum)
///     }
///     access s
///     A -> elements.A
///     B -> elements.B
///     elements.s -> s
///   }
/// }
/// ```
///
/// # Soundness
///
/// The element gets the same terms. Their order may be another one, so results may differ in rounding. No term reads the element
/// that another one is added to.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TaskletFission {}

static METADATA: Metadata = Metadata {
    name: "TaskletFission",
    group: Group::Map,
    summary: "Splits a tasklet that adds a sum of terms into one for each term.",
    source: "Allen and Kennedy, Optimizing Compilers for Modern Architectures, section 5 (statements are split for distribution)",
    soundness: Soundness::ChangesRounding,
    is_strict: false,
    file: include_str!("tasklet_fission.rs"),
    parameters: &[],
};

anchored!(TaskletFission);

impl Transformation for TaskletFission {
    described!(METADATA);

    fn pattern(&self) -> Pattern {
        Pattern::path([("tasklet", NodeClass::Tasklet)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let sum = Sum::of(site.state(), site.found.node(0))?;
        let label = site.label(0);
        let refused = |reason: &str| Err(Refusal::structure(label, reason));
        let target = site.sdfg.container(sum.target);
        let scalar = target.element.as_scalar();
        let Some(scalar) = scalar.filter(|scalar| *scalar != ScalarType::Bool) else {
            return Err(Refusal::container(&target.name, "has no numbers as elements"));
        };
        let connectors = sum.tasklet.inputs.iter().chain(&sum.tasklet.outputs);
        if connectors.filter_map(|own| own.element).any(|own| own != target.element) {
            return refused("converts an input or its output");
        }
        if scalar.is_integer() && !sum.terms.iter().all(is_integer) {
            return refused("has a term of integers that may be none itself");
        }
        // A value has the type of the code that it comes from.
        let is_value = |(_, edge): (_, &Edge)| matches!(edge.memlet.flow, Flow::Value);
        if site.state().each_in_edge(site.found.node(0)).any(is_value) {
            return refused("gets a value straight from another tasklet");
        }
        let memory = site.same_memory(sum.target);
        for id in sum.inputs(site.state()) {
            let container = site.sdfg.container(id);
            if container.is_stream() {
                return Err(Refusal::container(&container.name, "is a stream"));
            }
            if container.element != target.element {
                return Err(Refusal::container(
                    &container.name,
                    "has elements of another type than the output",
                ));
            }
            if memory.contains(&id) {
                let reason = "may hold the element to which the other terms are added";
                return Err(Refusal::container(&container.name, reason));
            }
        }
        Ok(Evidence::of_structure())
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, node) = (found.state(), found.node(0));
        let graph = editor.state(state)?;
        let Ok(sum) = Sum::of(graph, node) else { return Err(EditError::NoNode(node)) };
        let origin = graph.node(node).label.clone();
        let parts: Option<Vec<Tasklet>> = sum.terms.iter().map(|term| sum.part(term)).collect();
        let Some(parts) = parts else { return Err(EditError::NoNode(node)) };
        let edges: Vec<Edge> =
            graph.each_in_edge(node).chain(graph.each_out_edge(node)).map(|(_, edge)| edge.clone()).collect();
        let [first, others @ ..] = &parts[..] else { return Err(EditError::NoNode(node)) };
        for part in others {
            let label = editor.derived_label(state, &origin, "term")?;
            let kind = NodeKind::Tasklet(part.clone());
            let copy = editor.add_node(state, Node { label, kind, loc: None })?;
            for edge in edges.iter().filter(|edge| is_edge_of(edge, node, part)) {
                let mut edge = edge.clone();
                for end in [&mut edge.src, &mut edge.dst] {
                    *end = if *end == node { copy } else { *end };
                }
                editor.add_edge(state, edge)?;
            }
            // A part waits for what the tasklet waited for, and stays in its scope, without the data, too.
            for edge in edges.iter().filter(|edge| !is_edge_of(edge, node, part)) {
                editor.add_order(state, edge.src, copy)?;
            }
        }
        let graph = editor.state(state)?;
        let is_idle = |edge: &Edge| !is_edge_of(edge, node, first);
        let idle: Vec<_> =
            graph.each_in_edge(node).filter(|(_, edge)| is_idle(edge)).map(|(id, _)| id).collect();
        for edge in idle {
            let src = editor.state(state)?.edge(edge).src;
            editor.remove_edge(state, edge)?;
            if editor.state(state)?.get_node(src).is_some() {
                editor.add_order(state, src, node)?;
            }
        }
        editor.replace_node(state, node, NodeKind::Tasklet(first.clone())).map(|_| ())
    }
}

/// Whether a part of the tasklet at a node needs a copy of an edge of the tasklet.
fn is_edge_of(edge: &Edge, node: NodeId, part: &Tasklet) -> bool {
    edge.dst != node
        || edge.dst_connector.as_ref().is_none_or(|name| part.inputs.iter().any(|input| input.name == *name))
}

/// A tasklet that adds several terms to one element.
struct Sum<'p> {
    node: NodeId,
    tasklet: &'p Tasklet,
    code: &'p Code,
    statement: &'p Statement,
    /// The terms, with their signs.
    terms: Vec<Expression>,
    /// The container of the element.
    target: ContainerId,
}

impl<'p> Sum<'p> {
    fn of(state: &'p State, node: NodeId) -> Result<Self, Refusal> {
        let refused = |reason: &str| Refusal::structure(&state.node(node).label, reason);
        let NodeKind::Tasklet(tasklet) = &state.node(node).kind else { return Err(refused("is no tasklet")) };
        let (TaskletBody::Code(code), [output]) = (&tasklet.body, &tasklet.outputs[..]) else {
            return Err(refused("has no code with one output"));
        };
        let [statement] = code.block() else { return Err(refused("is more than one assignment")) };
        let StatementKind::Assign { target, value, annotation: None } = &statement.kind else {
            return Err(refused("is more than one assignment"));
        };
        if target.name.text != output.name || !target.indices.is_empty() {
            return Err(refused("does not assign to its output"));
        }
        let mut terms = Vec::new();
        add_terms(value, false, &mut terms);
        if terms.len() < 2 {
            return Err(refused("assigns no sum"));
        }
        let is_input = |name: &&str| tasklet.inputs.iter().any(|input| input.name == **name);
        if !terms.iter().all(|term| term.names().iter().all(is_input) && !converts(term)) {
            return Err(refused("uses a symbol, or a function of another type"));
        }
        let mut writes =
            state.each_out_edge(node).filter(|(_, edge)| !matches!(edge.memlet.flow, Flow::Order));
        let (Some((_, write)), None) = (writes.next(), writes.next()) else {
            return Err(refused("writes its output to several places"));
        };
        let is_one = matches!(&write.memlet.volume, Volume::Exact(volume) if volume.is_one());
        match &write.memlet.flow {
            Flow::Write { to, resolution: Some(ConflictResolution::Sum) }
                if is_one && !to.is_queue() && to.subset().is_element() =>
            {
                Ok(Sum { node, tasklet, code, statement, terms, target: to.container })
            }
            _ => Err(refused("does not add its output to one element")),
        }
    }

    /// The containers that the inputs come from.
    fn inputs(&self, state: &State) -> BTreeSet<ContainerId> {
        let edges = state.each_in_edge(self.node);
        edges.flat_map(|(_, edge)| edge.memlet.accesses()).map(|access| access.container).collect()
    }

    /// The tasklet of one term.
    fn part(&self, term: &Expression) -> Option<Tasklet> {
        let mut statement = self.statement.clone();
        if let StatementKind::Assign { value, .. } = &mut statement.kind {
            *value = term.clone();
        }
        let names = term.names();
        let is_used = |input: &&Connector| names.contains(input.name.as_str());
        let code = Code::from_block(&[statement], self.code.dialect()).ok()?;
        Some(Tasklet {
            inputs: self.tasklet.inputs.iter().filter(is_used).cloned().collect(),
            outputs: self.tasklet.outputs.clone(),
            body: TaskletBody::Code(code),
        })
    }
}

/// Adds the terms of a value to a list.
fn add_terms(value: &Expression, is_negative: bool, terms: &mut Vec<Expression>) {
    match &value.kind {
        ExpressionKind::Binary { op: op @ (BinaryOp::Add | BinaryOp::Subtract), left, right } => {
            add_terms(left, is_negative, terms);
            add_terms(right, is_negative != (*op == BinaryOp::Subtract), terms);
        }
        ExpressionKind::Unary { op: UnaryOp::Negate, operand } => add_terms(operand, !is_negative, terms),
        _ if is_negative => terms.push(Expression::unary(UnaryOp::Negate, value.clone())),
        _ => terms.push(value.clone()),
    }
}

/// Whether a term calls a function that is none of mathematics: it may convert to a type in which the sum has another value.
fn converts(term: &Expression) -> bool {
    let mut found = false;
    term.visit(&mut |inner| {
        if let ExpressionKind::Call { function, .. } = &inner.kind {
            found |= MathFunction::from_name(&function.text).is_none();
        }
    });
    found
}

/// Whether a term of integers is one: nothing in it has another type.
fn is_integer(term: &Expression) -> bool {
    match &term.kind {
        ExpressionKind::Integer(_) | ExpressionKind::Name(_) => true,
        ExpressionKind::Unary { op: UnaryOp::Negate | UnaryOp::Invert, operand } => is_integer(operand),
        ExpressionKind::Binary { op, left, right } => {
            !matches!(op, BinaryOp::Divide | BinaryOp::Power | BinaryOp::And | BinaryOp::Or)
                && is_integer(left)
                && is_integer(right)
        }
        _ => false,
    }
}
