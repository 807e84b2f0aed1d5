//! [`RedundantWriteSlice`].

use sdfg::analysis::{Use, bound_alias};
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{Access, Edge, Flow, NodeId, NodeKind, State, TaskletBody};
use serde::{Deserialize, Serialize};

use super::redundant_read_slice::{Slice, binds_any, only_out_edge, readers, segments};
use super::{anchored, described};
use crate::engine::{Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Writes a part of an array straight instead of through a view of the part.
///
/// # When it applies
///
/// The node of the view leads to the array alone. Tasklets and copies write the view. Other access nodes of the view in the state become
/// nodes of the array.
///
/// # Refusals
///
/// - A condition or assignment uses the view, or a node inside of a map does, or another node binds it, too.
/// - The node of the view leads to something other than the array.
/// - A writer or reader does not simply access it, needs its dimensions, or accesses a part that has no form in the array.
/// - The view gets a copy of elements of the array, or elements of the view are copied to the array.
/// - Type, shape or strides differ.
/// - The view counts with the declared strides of an alias or of an argument of a call, which may have others.
/// - The view is of a reference that the state sets, or a view of it would have another form.
/// - A map around a writer has a parameter of the name of a symbol of the part or of the size of its array.
///
/// # Before
///
/// ```sdft
/// sdfg inner_part {
///   symbol N: i64
///   array A: f64[N]
///   array B: f64[N + 2]
///   view middle: f64[N]
///
///   state main {
///     access A
///     access middle
///     map m [i = 0:N] {
///       tasklet t (x) -> (y) { y = 2.0 * x }
///       m.A -> t.x: A[i]
///       t.y -> m.middle: middle[i]
///     }
///     access B
///     A -> m.A
///     m.middle -> middle
///     bind middle -> B: B[1:N + 1]
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg inner_part {
///   symbol N: i64
///   array A: f64[N]
///   array B: f64[N + 2]
///   view middle: f64[N]
///
///   state main {
///     access A
///     map m [i = 0:N] {
///       tasklet t (x) -> (y) { y = 2.0 * x }
///       m.A -> t.x: A[i]
///       t.y -> m.middle: B[i + 1]
///     }
///     access B
///     A -> m.A
///     m.middle -> B
///   }
/// }
/// ```
///
/// # Soundness
///
/// An element of the view is the element of the array with the offset of the part. What waited for the array waits for the writers of
/// the view as before. Other nodes of the view stay where they are, and order what they ordered before.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RedundantWriteSlice {}

static METADATA: Metadata = Metadata {
    name: "RedundantWriteSlice",
    group: Group::Data,
    summary: "Writes a part of an array straight instead of through a view of the part.",
    source: "DaCe, RemoveSliceView",
    soundness: Soundness::Always,
    is_strict: true,
    file: include_str!("redundant_write_slice.rs"),
    parameters: &[],
};

anchored!(RedundantWriteSlice);

impl Transformation for RedundantWriteSlice {
    described!(METADATA, of_any_memory);

    fn pattern(&self) -> Pattern {
        Pattern::path([("part", NodeClass::Access), ("array", NodeClass::Access)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let (state, node) = (site.state(), site.found.node(0));
        let slice = written(site.sdfg, state, node, site.found.node(1))
            .map_err(|reason| Refusal::structure(site.label(0), reason))?;
        slice.fits_at(site)?;
        let (part, view) = (site.sdfg.container(slice.part.container), site.sdfg.container(slice.id));
        if view.element != part.element || view.storage != part.storage {
            return Err(Refusal::container(&view.name, "has another type, or is in another memory"));
        }
        let here = site.found.state();
        let tree = site.scopes();
        let is_unknown = |used: &&Use| match **used {
            Use::Access(state, other) => {
                let is_inside = [node, other].iter().any(|node| tree.scope_of(*node).is_some());
                state == here && other != node && is_inside
            }
            Use::Memlet(..) => false,
            Use::Condition(..) | Use::Block(_) | Use::Transition(_) => true,
        };
        if let Some(other) = site.uses().of(slice.id).iter().find(is_unknown) {
            return Err(site.used(slice.id, *other));
        }
        writers(site, &slice, node)?;
        for other in site.uses().accesses_in(slice.id, here, ..).filter(|other| *other != node) {
            writers(site, &slice, other)?;
            readers(site, &slice, other)?;
            let out = segments(state, state.out_edges(other));
            if let Some(copy) = out.into_iter().find(|edge| copies_to(site, &slice, state.edge(*edge))) {
                let label = &state.node(state.edge(copy).dst).label;
                return Err(Refusal::structure(label, "gets a copy of elements of the view"));
            }
        }
        Ok(Evidence::of_structure())
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, node, array) = (found.state(), found.node(0), found.node(1));
        let graph = editor.state(state)?;
        let slice = written(editor.sdfg(), graph, node, array).map_err(|_| EditError::NoNode(node))?;
        let into = graph.in_edges(node);
        for other in editor.accesses_of(state, slice.id).into_iter().filter(|other| *other != node) {
            let graph = editor.state(state)?;
            let edges = [graph.in_edges(other), graph.out_edges(other)].concat();
            slice.replace_in(editor, state, &edges)?;
            editor.replace_node(state, other, NodeKind::Access(slice.part.container))?;
        }
        slice.replace_in(editor, state, &into)?;
        for edge in into {
            editor.redirect_destination(state, edge, array, None)?;
        }
        if editor.state(state)?.get_node(node).is_some() {
            editor.remove_node(state, node)?;
        }
        Ok(())
    }
}

/// The slice of a view that is written at a node, and bound to the array of another one.
fn written(sdfg: &sdfg::ir::Sdfg, state: &State, node: NodeId, array: NodeId) -> Result<Slice, &'static str> {
    let (Some(edge), Some(id)) = (only_out_edge(state, node), state.node(node).kind.container()) else {
        return Err("leads to something other than the array");
    };
    let target = match bound_alias(state, edge) {
        Some((alias, target)) if alias == id && state.edge(edge).dst == array => target,
        Some(_) | None => return Err("is no view of the array"),
    };
    if state.each_in_edge(node).next().is_none() {
        return Err("is written by nothing");
    }
    Slice::of_view(sdfg, id, target)
}

/// Whether an edge copies to the array of the view. A copy between elements of one array has an order of its own.
fn copies_to(site: &Site<'_>, slice: &Slice, edge: &Edge) -> bool {
    let to = match &edge.memlet.flow {
        Flow::Copy { to, .. } => to.container,
        Flow::Order | Flow::Value | Flow::Read(_) | Flow::Write { .. } | Flow::Bind(_) => return false,
    };
    site.same_memory(slice.part.container).contains(&to)
}

/// Refuses what does not simply write elements of the view at a node, and scopes with a parameter of the name of a symbol of the part.
fn writers(site: &Site<'_>, slice: &Slice, node: NodeId) -> Result<(), Refusal> {
    let state = site.state();
    let symbols = slice.symbols(site.sdfg);
    for edge in segments(state, state.in_edges(node)) {
        let content = state.edge(edge);
        if matches!(content.memlet.flow, Flow::Order) {
            continue;
        }
        let (src, dst) = (state.node(content.src), state.node(content.dst));
        let refused = |reason: &str| Err(Refusal::structure(&src.label, reason));
        let Some(access) = written_access(content).filter(|access| access.container == slice.id) else {
            return refused("does not simply write it");
        };
        if content.memlet.declared {
            return refused("has a memlet whose subset is declared");
        }
        if slice.composed(access).is_none() {
            return refused("writes a part of it that has no form in the array");
        }
        // A copy between elements of one array has an order of its own.
        let reads = content.memlet.read_access().map(|from| from.container);
        if reads.is_some_and(|from| site.same_memory(slice.part.container).contains(&from)) {
            return refused("copies elements of the array to it");
        }
        if dst.kind.exit_of().is_some_and(|entry| binds_any(state, entry, &symbols)) {
            return refused("is in a map with a parameter of the name of a symbol of the part");
        }
        let keeps_form = slice.keeps_rank || access.subset().is_element();
        match &src.kind {
            NodeKind::Access(_) | NodeKind::MapExit(_) => {}
            NodeKind::Tasklet(tasklet) => {
                let is_code = matches!(tasklet.body, TaskletBody::Code(_));
                if !(keeps_form && (is_code || access.subset().is_element())) {
                    return refused("gives several elements, whose places change");
                }
            }
            NodeKind::Reduce(_) | NodeKind::Library(_) if slice.keeps_rank => {}
            NodeKind::Reduce(_)
            | NodeKind::Library(_)
            | NodeKind::Nested(_)
            | NodeKind::MapEntry(_)
            | NodeKind::ConsumeEntry(_)
            | NodeKind::ConsumeExit(_) => return refused("needs the dimensions of the part"),
        }
    }
    Ok(())
}

/// The elements that an edge writes.
fn written_access(edge: &Edge) -> Option<&Access> {
    match &edge.memlet.flow {
        Flow::Write { to, .. } | Flow::Copy { to, .. } => Some(to),
        Flow::Order | Flow::Value | Flow::Read(_) | Flow::Bind(_) => None,
    }
}
