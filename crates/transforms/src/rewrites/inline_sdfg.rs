//! [`InlineSdfg`].

use std::collections::BTreeSet;

use sdfg::analysis::scope_around;
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{BlockKind, NestedSdfg, Node, NodeId, NodeKind, State};
use serde::{Deserialize, Serialize};

use super::{anchored, described};
use crate::engine::{Evidence, Group, Match, Metadata, Parameter, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Puts the contents of a called SDFG in the place of the call.
///
/// Arguments become the containers that they were bound to, also where they are parts with an offset.
/// Transients, and symbols that the called SDFG sets, get free names. Other symbols get their values.
///
/// # When it applies
///
/// An SDFG of one state is inlined everywhere. Loops, branches and several states are inlined where no scope
/// is around the call. The nodes on which the call depends move to a state before it, and those that depend
/// on the call to a state after it. With `serialize`, nodes that are neither move after the call.
///
/// # Refusals
///
/// - A call of several blocks is in a scope, which repeats nodes and not blocks.
/// - A call of several blocks stands beside nodes that neither depend on it nor are dependences of it: they
///   would no longer run at the same time. `serialize` permits it.
/// - The called SDFG returns from a loop or branch, or a symbol gets its value from data.
/// - A bound part is no subset, a transient cannot live outside, or a view shows a part of an argument.
/// - The call may be repeated, and several of its states use a stream of the called SDFG, which is empty when a call begins.
/// - Several states set a symbol of another type than `i64`.
///
/// # Before
///
/// ```sdft
/// sdfg pipeline {
///   array A: f64[8]
///   array B: f64[8]
///
///   state main {
///     access A
///     nested doubled (x) -> (y) sdfg twice {
///       array x: f64[4]
///       array y: f64[4]
///
///       state body {
///         access x
///         access y
///         map elements [i = 0:4] {
///           tasklet double (a) -> (b) { b = 2.0 * a }
///           elements.x -> double.a: x[i]
///           double.b -> elements.y: y[i]
///         }
///         x -> elements.x
///         elements.y -> y
///       }
///     }
///     access B
///     A -> doubled.x: A[2:6]
///     doubled.y -> B: B[0:4]
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg pipeline {
///   array A: f64[8]
///   array B: f64[8]
///
///   state main {
///     access A
///     access B
///     map elements [i = 0:4] {
///       tasklet double (a) -> (b) { b = 2.0 * a }
///       elements.x -> double.a: A[i + 2]
///       double.b -> elements.y: B[i]
///     }
///     A -> elements.x
///     elements.y -> B
///   }
/// }
/// ```
///
/// # Soundness
///
/// A call runs the blocks of its SDFG on the bound parts of its arguments. The inlined blocks access the same
/// elements by the names and offsets of the caller. New names are free, so no access reaches another
/// container. The states before and after the call keep the order of the edges that they replace.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InlineSdfg {
    /// Whether nodes that run at the same time as a call of several blocks may run after it.
    pub serialize: bool,
}

static METADATA: Metadata = Metadata {
    name: "InlineSDFG",
    group: Group::ControlFlow,
    summary: "Puts the contents of a called SDFG in the place of the call.",
    source: "paper, Table 4 and Appendix B.4; DaCe, InlineMultistateSDFG",
    soundness: Soundness::Always,
    is_strict: true,
    file: include_str!("inline_sdfg.rs"),
    parameters: &[Parameter {
        name: "serialize",
        ty: "boolean",
        default: Some("false"),
        summary: "Whether nodes that run at the same time as a call of several blocks may run after it.",
    }],
};

/// Whether the contents of a called SDFG are the nodes of one state.
fn is_one_state(nested: &NestedSdfg) -> bool {
    let body = nested.sdfg.region(nested.sdfg.body());
    match body.blocks.as_slice() {
        [only] => matches!(nested.sdfg.block(*only).kind, BlockKind::State(_)) && body.transitions.is_empty(),
        [] | [_, ..] => false,
    }
}

/// A node that no path joins with a call.
fn beside(state: &State, call: NodeId) -> Option<NodeId> {
    let mut joined = BTreeSet::new();
    for forward in [true, false] {
        let mut waiting = vec![call];
        while let Some(node) = waiting.pop() {
            joined.insert(node);
            let next: Vec<NodeId> = if forward {
                state.each_out_edge(node).map(|(_, edge)| edge.dst).collect()
            } else {
                state.each_in_edge(node).map(|(_, edge)| edge.src).collect()
            };
            waiting.extend(next.into_iter().filter(|node| !joined.contains(node)));
        }
    }
    // Access nodes do nothing themselves.
    let works = |node: &Node| node.kind.container().is_none();
    state.nodes().find(|(id, node)| works(node) && !joined.contains(id)).map(|(id, _)| id)
}

anchored!(InlineSdfg);

impl Transformation for InlineSdfg {
    described!(METADATA, of_any_memory);

    fn pattern(&self) -> Pattern {
        Pattern::path([("call", NodeClass::Nested)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let NodeKind::Nested(nested) = &site.state().node(site.found.node(0)).kind else {
            return Err(Refusal::structure(site.label(0), "calls no SDFG"));
        };
        if is_one_state(nested) {
            return Ok(Evidence::of_structure());
        }
        let (state, call) = (site.state(), site.found.node(0));
        if scope_around(state, call).is_some() {
            let reason = "calls an SDFG of several blocks in a scope, which repeats nodes and not blocks";
            return Err(Refusal::structure(site.label(0), reason));
        }
        if let Some(other) = beside(state, call).filter(|_| !self.serialize) {
            let other = &state.node(other).label;
            let reason = format!("calls an SDFG of several blocks while `{other}` runs");
            return Err(Refusal::structure(site.label(0), reason));
        }
        Ok(Evidence::of_structure())
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, call) = (found.state(), found.node(0));
        match &editor.state(state)?.node(call).kind {
            NodeKind::Nested(nested) if !is_one_state(nested) => editor.inline_blocks(state, call),
            NodeKind::Nested(_)
            | NodeKind::Access(_)
            | NodeKind::Tasklet(_)
            | NodeKind::MapEntry(_)
            | NodeKind::MapExit(_)
            | NodeKind::ConsumeEntry(_)
            | NodeKind::ConsumeExit(_)
            | NodeKind::Reduce(_)
            | NodeKind::Library(_) => editor.inline_nested(state, call),
        }
    }
}
