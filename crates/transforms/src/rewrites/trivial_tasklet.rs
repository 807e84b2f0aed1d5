//! [`TrivialTaskletElimination`].

use sdfg::edit::{EditError, Editor};
use sdfg::ir::{Access, ContainerKind, Edge, Flow, Memlet, NodeKind, Tasklet, TaskletBody};
use sdfg::syntax::{Expression, ExpressionKind, StatementKind};
use serde::{Deserialize, Serialize};

use super::{anchored, described};
use crate::engine::{Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Replaces a tasklet that only hands an element on by a copy.
///
/// Other transformations then remove the copy.
///
/// # When it applies
///
/// The tasklet has one statement, `out = in`, and stands between two access nodes of elements of one type.
///
/// # Refusals
///
/// - The tasklet has another statement, more inputs or outputs, or converts its input to another type.
/// - An edge moves several elements, or those of a stream, view or reference.
///
/// # Before
///
/// ```sdft
/// sdfg last_element {
///   symbol N: i64
///   array A: f64[N]
///   array B: f64[N]
///
///   state main {
///     access A
///     access B
///     tasklet hand_on (i) -> (o) { o = i }
///     A -> hand_on.i: A[0]
///     hand_on.o -> B: B[N - 1]
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg last_element {
///   symbol N: i64
///   array A: f64[N]
///   array B: f64[N]
///
///   state main {
///     access A
///     access B
///     A -> B: A[0] -> B[N - 1]
///   }
/// }
/// ```
///
/// # Soundness
///
/// The copy moves the same element to the same place without a conversion, at the same place in the order of
/// the state. This holds for two arguments that share memory, too.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrivialTaskletElimination {}

static METADATA: Metadata = Metadata {
    name: "TrivialTaskletElimination",
    group: Group::Data,
    summary: "Replaces a tasklet that only hands an element on by a copy.",
    source: "DaCe, TrivialTaskletElimination",
    soundness: Soundness::Always,
    is_strict: true,
    file: include_str!("trivial_tasklet.rs"),
    parameters: &[],
};

anchored!(TrivialTaskletElimination);

impl Transformation for TrivialTaskletElimination {
    described!(METADATA, of_any_memory);

    fn pattern(&self) -> Pattern {
        Pattern::path([
            ("from", NodeClass::Access),
            ("tasklet", NodeClass::Tasklet),
            ("to", NodeClass::Access),
        ])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let (state, node) = (site.state(), site.found.node(1));
        let refused = |reason: &str| Err(Refusal::structure(site.label(1), reason));
        let NodeKind::Tasklet(tasklet) = &state.node(node).kind else { return refused("is no tasklet") };
        if !hands_on(tasklet) {
            return refused("does more than to hand its input on");
        }
        let Some(memlet) = copy(state, node) else {
            return refused("has other edges than those of one input and one output");
        };
        let Flow::Copy { from, to, .. } = &memlet.flow else { return refused("moves no elements") };
        let [source, target] = [from, to].map(|access| site.sdfg.container(access.container));
        for (access, container) in [(from, source), (to, target)] {
            let is_plain = match container.kind {
                ContainerKind::Scalar | ContainerKind::Array(_) => true,
                ContainerKind::Stream { .. } | ContainerKind::View(_) | ContainerKind::Reference(_) => false,
            };
            if !is_plain || !access.subset().is_element() {
                return Err(Refusal::container(
                    &container.name,
                    "is not accessed at one element of an array",
                ));
            }
        }
        let types = tasklet.inputs.iter().chain(&tasklet.outputs).map(|connector| connector.element);
        let is_converted = types.into_iter().flatten().any(|ty| ty != source.element);
        if source.element != target.element || is_converted {
            return refused("converts its input to another type");
        }
        if from.container == to.container {
            return Err(Refusal::container(&source.name, "is copied to itself"));
        }
        Ok(Evidence::of_structure())
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, [src, node, dst]) = (found.state(), [0, 1, 2].map(|at| found.node(at)));
        let Some(memlet) = copy(editor.state(state)?, node) else { return Err(EditError::NoNode(node)) };
        let edge = Edge { src, src_connector: None, dst, dst_connector: None, memlet, loc: None };
        editor.add_edge(state, edge)?;
        editor.remove_node(state, node)
    }
}

/// Whether the code of a tasklet is `out = in`.
fn hands_on(tasklet: &Tasklet) -> bool {
    let TaskletBody::Code(code) = &tasklet.body else { return false };
    let ([input], [output], [statement]) = (&tasklet.inputs[..], &tasklet.outputs[..], code.block()) else {
        return false;
    };
    let is_input =
        |value: &Expression| matches!(&value.kind, ExpressionKind::Name(name) if *name == input.name);
    match &statement.kind {
        StatementKind::Assign { target, value, annotation: None } => {
            target.name.text == output.name && target.indices.is_empty() && is_input(value)
        }
        StatementKind::Assign { .. }
        | StatementKind::Augmented { .. }
        | StatementKind::If { .. }
        | StatementKind::For { .. }
        | StatementKind::While { .. }
        | StatementKind::Pass => false,
    }
}

/// The memlet of the copy from the one input of a node to its one output.
fn copy(state: &sdfg::ir::State, node: sdfg::ir::NodeId) -> Option<Memlet> {
    let ([input], [output]) = (&state.in_edges(node)[..], &state.out_edges(node)[..]) else { return None };
    let [input, output] = [input, output].map(|edge| &state.edge(*edge).memlet);
    let (Flow::Read(from), Flow::Write { to, resolution }) = (&input.flow, &output.flow) else { return None };
    let is_exact = |memlet: &Memlet| !memlet.volume.is_dynamic() && !memlet.declared;
    let copy = |from: &Access, to: &Access| Memlet {
        flow: Flow::Copy { from: from.clone(), to: to.clone(), resolution: resolution.clone() },
        ..Memlet::copy(from.clone(), to.clone())
    };
    (is_exact(input) && is_exact(output)).then(|| copy(from, to))
}
