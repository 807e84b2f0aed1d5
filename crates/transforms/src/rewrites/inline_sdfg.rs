//! [`InlineSdfg`].

use std::collections::BTreeSet;

use sdfg::analysis::scope_around;
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{BlockKind, Flow, NestedSdfg, Node, NodeId, NodeKind, State};
use serde::{Deserialize, Serialize};

use super::{anchored, described};
use crate::engine::{Evidence, Group, Match, Metadata, Parameter, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Puts the contents of a called SDFG in the place of the call.
///
/// Arguments become the containers that they were bound to, also where they are parts with an offset. Transients, and symbols
/// that the called SDFG sets, get free names; other symbols get their values.
///
/// An SDFG of one state is inlined everywhere. Loops, branches and several states are inlined where no scope is around the
/// call. What the call depends on moves to a state before it, and what depends on the call to a state after it. The rewrite
/// refuses a call beside nodes that neither depend on it nor are dependences of it, because they would no longer run at the
/// same time; `serialize` moves them after the call. It also refuses a return in a loop or branch, and a symbol that gets its
/// value from data.
///
/// The editor refuses calls that bind parts which no subset expresses, transients that cannot live outside, views of parts of
/// arguments, and symbols of other types than `i64` that several states set.
///
/// Before:
///
/// ```text
/// state s {
///   access A
///   nested call (X) -> (X) sdfg inner {
///     array X: f64[3]
///     for l: i = 0:3 {
///       state body {
///         access X
///         access Y = X
///         tasklet t (x) -> (y) { y = 2 * x }
///         X -> t.x: X[i]
///         t.y -> Y: X[i]
///       }
///     }
///   }
///   access B = A
///   A -> call.X: A[2:5]
///   call.X -> B: A[2:5]
/// }
/// ```
///
/// After:
///
/// ```text
/// state s {
/// }
/// for call.l: i = 0:3 {
///   state call.body {
///     access X = A
///     access Y = A
///     tasklet t (x) -> (y) { y = 2 * x }
///     X -> t.x: A[i + 2]
///     t.y -> Y: A[i + 2]
///   }
/// }
/// state s.after0 {
/// }
/// ```
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
            let copy = copy_of_arguments(nested);
            if let Some(label) = copy.filter(|_| scope_around(site.state(), site.found.node(0)).is_some()) {
                let reason = format!(
                    "copies its argument `{label}` to another one in a scope: nothing outside would wait for it"
                );
                return Err(Refusal::structure(site.label(0), reason));
            }
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

/// The label of an argument of a called SDFG that is copied to another one. In a scope, such a copy would lose its memlets
/// through the scope, and with them the order of what is outside.
fn copy_of_arguments(nested: &NestedSdfg) -> Option<&str> {
    let sdfg = &nested.sdfg;
    sdfg.states().find_map(|(_, state)| {
        let (_, edge) = state.edges().find(|(_, edge)| {
            let is_copy = matches!(edge.memlet.flow, Flow::Copy { .. });
            is_copy && edge.memlet.accesses().all(|access| sdfg.container(access.container).is_argument())
        })?;
        Some(state.node(edge.src).label.as_str())
    })
}
