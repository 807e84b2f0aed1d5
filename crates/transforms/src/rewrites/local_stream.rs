//! [`LocalStream`].

use std::collections::BTreeSet;

use sdfg::analysis::symbols::bound_symbols;
use sdfg::analysis::{leaf_edges, memlet_path};
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{
    Access, Container, ContainerId, ContainerKind, Edge, EdgeId, Flow, Lifetime, Memlet, Node, NodeId,
    NodeKind, Sdfg, State, Storage, Volume,
};
use sdfg::subset::Subset;
use serde::{Deserialize, Serialize};

use super::{anchored, described};
use crate::engine::{Evidence, Group, Match, Metadata, Parameter, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Collects the elements that an inner map pushes to a stream in a stream of the outer map's iteration, and
/// moves all of them at once.
///
/// `MapTiling` makes the two maps of one.
///
/// # When it applies
///
/// The inner map pushes to one queue, which it does not choose. It takes elements from no stream and pushes
/// to no other stream with a bound.
///
/// # Refusals
///
/// - The inner map pushes nothing to the stream, or a user wrote the memlet outside of it.
/// - The stream is an array of queues among which the inner map chooses.
/// - The stream is in memory of a device, where kernels push to it.
/// - The inner map may wait: what it waits for may need an element that the local stream still holds.
///
/// # Before
///
/// ```sdft
/// sdfg filter {
///   symbol N: i64
///   array column: f64[8, N]
///   array sum: f64[1]
///   transient stream found: f64
///
///   state s {
///     access column
///     access found
///     access sum
///     map parts [p = 0:8] {
///       map rows [i = 0:N] {
///         tasklet f (v) -> (x) {
///           if v > 0:
///               x = v
///         }
///         rows.column -> f.v: column[p, i]
///         f.x -> rows.found: found dynamic
///       }
///       parts.column -> rows.column
///       rows.found -> parts.found
///     }
///     consume all [e = 0:4] {
///       tasklet g (x) -> (y) { y = x }
///       all.stream -> g.x: found
///       g.y -> all.sum: sum[0] wcr(sum)
///     }
///     column -> parts.column
///     parts.found -> found
///     found -> all.stream
///     all.sum -> sum
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg filter {
///   symbol N: i64
///   array column: f64[8, N]
///   array sum: f64[1]
///   transient stream found: f64
///   transient stream found_local0: f64
///
///   state s {
///     access column
///     access found
///     access sum
///     map parts [p = 0:8] {
///       map rows [i = 0:N] {
///         tasklet f (v) -> (x) {
///           if v > 0:
///               x = v
///         }
///         rows.column -> f.v: column[p, i]
///         f.x -> rows.found: found_local0 dynamic
///       }
///       access "rows.local0" = found_local0
///       parts.column -> rows.column
///       rows.found -> "rows.local0"
///       "rows.local0" -> parts.found: found_local0 -> found dynamic
///     }
///     consume all [e = 0:4] {
///       tasklet g (x) -> (y) { y = x }
///       all.stream -> g.x: found
///       g.y -> all.sum: sum[0] wcr(sum)
///     }
///     column -> parts.column
///     parts.found -> found
///     found -> all.stream
///     all.sum -> sum
///   }
/// }
/// ```
///
/// # Soundness
///
/// The order of pushes by different iterations is not determined, so a bulk of pushes is one of the orders
/// that were possible. Elements arrive later than before, which nothing can tell, because nothing in the
/// inner map waits.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LocalStream {
    /// The stream; empty takes the first to which the inner map pushes.
    pub stream: String,
}

static METADATA: Metadata = Metadata {
    name: "LocalStream",
    group: Group::Data,
    summary: "Collects what an inner map pushes in a local stream, and moves it at once.",
    source: "paper, Table 4 and Appendix B.2",
    soundness: Soundness::ChangesDeclaredNondeterminism,
    is_strict: false,
    file: include_str!("local_stream.rs"),
    parameters: &[Parameter {
        name: "stream",
        ty: "name of a container",
        default: Some("\"\""),
        summary: "The stream; empty takes the first to which the inner map pushes.",
    }],
};

anchored!(LocalStream);

impl LocalStream {
    /// The edge from the inner exit to the outer one that brings the elements, with the stream.
    fn edge(
        &self,
        sdfg: &Sdfg,
        state: &State,
        (outer, inner): (NodeId, NodeId),
    ) -> Option<(EdgeId, ContainerId)> {
        let (src, dst) = (state.exit_of(inner)?, state.exit_of(outer)?);
        // The first in order of creation: lists of edges have another order after edits that were taken back.
        let edges = state.out_edges(src).into_iter().map(|id| (id, state.edge(id)));
        edges.filter(|(_, edge)| edge.dst == dst).find_map(|(id, edge)| {
            let access = edge.memlet.write_access().filter(|access| access.is_queue())?;
            let is_wanted = self.stream.is_empty() || sdfg.container(access.container).name == self.stream;
            is_wanted.then_some((id, access.container))
        })
    }
}

impl Transformation for LocalStream {
    described!(METADATA);

    fn pattern(&self) -> Pattern {
        Pattern::path([("outer", NodeClass::MapEntry), ("inner", NodeClass::MapEntry)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let (state, outer, inner) = (site.state(), site.found.node(0), site.found.node(1));
        let Some((chosen, id)) = self.edge(site.sdfg, state, (outer, inner)) else {
            let reason = format!("the inner map pushes nothing to `{}`", self.stream);
            return Err(Refusal::Parameter { parameter: "stream", reason });
        };
        let container = site.sdfg.container(id);
        // The copy waits for as many elements as the memlet says.
        if state.edge(chosen).memlet.declared {
            return Err(Refusal::structure(site.label(1), "has a memlet whose subset is declared"));
        }
        if container.storage == Storage::GpuGlobal {
            let reason = "is in memory of a device, where no iteration has a stream of its own";
            return Err(Refusal::container(&container.name, reason));
        }
        let leaves = leaf_edges(state, chosen);
        let queue = |edge: &EdgeId| state.edge(*edge).memlet.write_access().map(Access::subset);
        let Some(first) = leaves.first().and_then(queue) else {
            return Err(Refusal::container(&container.name, "gets no elements of the inner map"));
        };
        let inside = site.nodes_within(inner).into_iter().chain([inner]);
        let bound: BTreeSet<_> = inside.flat_map(|node| bound_symbols(state, node)).collect();
        let is_one = first.is_element() && leaves.iter().all(|leaf| queue(leaf) == Some(first));
        if !is_one || !first.free_symbols().is_disjoint(&bound) {
            let reason = "is an array of queues among which the inner map chooses";
            return Err(Refusal::container(&container.name, reason));
        }
        for edge in site.edges_within(inner) {
            let memlet = &state.edge(edge).memlet;
            let waits = |access: &&Access| {
                let ContainerKind::Stream { capacity, .. } = &site.sdfg.container(access.container).kind
                else {
                    return false;
                };
                memlet.write_access() != Some(access) || access.container != id && capacity.is_some()
            };
            if let Some(access) = memlet.accesses().find(waits) {
                let reason = format!(
                    "may let the inner map wait, and what it waits for may need an element of `{}`",
                    container.name
                );
                return Err(Refusal::container(&site.sdfg.container(access.container).name, reason));
            }
        }
        Ok(Evidence::of_structure())
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, outer, inner) = (found.state(), found.node(0), found.node(1));
        let graph = editor.state(state)?;
        let Some((edge, id)) = self.edge(editor.sdfg(), graph, (outer, inner)) else {
            return Err(EditError::NoNode(inner));
        };
        let Edge { dst, dst_connector, memlet: passed, .. } = graph.edge(edge).clone();
        let mut segments = BTreeSet::from([edge]);
        for leaf in leaf_edges(graph, edge) {
            let path = memlet_path(graph, leaf);
            segments.extend(path.into_iter().take_while(|segment| *segment != edge));
        }
        let origin = editor.sdfg().container(id).clone();
        let local = Container {
            name: editor.derived_container_name(&origin.name, "local"),
            kind: ContainerKind::Stream { shape: Vec::new(), capacity: None },
            lifetime: Lifetime::Scope,
            transient: true,
            ..origin
        };
        let local = editor.add_container(local)?;
        let label = editor.state(state)?.node(inner).label.clone();
        let label = editor.derived_label(state, &label, "local")?;
        let node = editor.add_node(state, Node { label, kind: NodeKind::Access(local), loc: None })?;
        let queue = || Access::queues(local, Subset(Vec::new()));
        for segment in segments {
            let mut memlet = editor.state(state)?.edge(segment).memlet.clone();
            memlet
                .accesses_mut()
                .filter(|access| access.container == id)
                .for_each(|access| *access = queue());
            editor.set_memlet(state, segment, memlet)?;
        }
        let Some(to) = passed.write_access().cloned() else { return Err(EditError::NoNode(node)) };
        // All elements are there when the inner map has ended.
        let volume = match passed.volume {
            Volume::Exact(_) => passed.volume.clone(),
            Volume::AtMost(_) | Volume::Dynamic => Volume::Dynamic,
        };
        let flow = Flow::Copy { from: queue(), to, resolution: None };
        let memlet = Memlet { flow, volume, declared: false };
        let bulk = Edge { src: node, src_connector: None, dst, dst_connector, memlet, loc: None };
        editor.add_edge(state, bulk)?;
        editor.redirect_destination(state, edge, node, None)
    }
}
