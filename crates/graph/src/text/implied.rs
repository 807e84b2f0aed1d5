//! Implied meaning of edges with short texts: the parser adds it, the printer omits it.

use sdfg_language::subset::Subset;

use crate::ir::{Access, ContainerId, Edge, Memlet, Sdfg, State};

/// Whether the edge leads to the outside of a scope, where propagation derives memlets.
pub(super) fn is_outer(graph: &State, edge: &Edge) -> bool {
    let enters =
        graph.get_node(edge.dst).is_some_and(|node| node.kind.is_scope_entry()) && edge.in_port().is_some();
    let leaves = graph.get_node(edge.src).is_some_and(|node| node.kind.exit_of().is_some())
        && edge.out_port().is_some();
    enters || leaves
}

/// A part of a container, as queues or elements after its kind.
pub(super) fn access(sdfg: &Sdfg, id: ContainerId, subset: Subset) -> Access {
    let is_stream = sdfg.get_container(id).is_some_and(crate::ir::Container::is_stream);
    if is_stream { Access::queues(id, subset) } else { Access::elements(id, subset) }
}

/// All of a container.
pub(super) fn whole(sdfg: &Sdfg, id: ContainerId) -> Access {
    let shape = sdfg.get_container(id).map_or(&[][..], |container| container.shape());
    access(sdfg, id, Subset::full(shape))
}

/// The copy that an edge between two access nodes is without a memlet: all of one to all of the other.
pub(super) fn whole_copy(sdfg: &Sdfg, graph: &State, edge: &Edge) -> Option<Memlet> {
    let from = graph.get_node(edge.src)?.kind.container()?;
    let to = graph.get_node(edge.dst)?.kind.container()?;
    Some(Memlet::copy(whole(sdfg, from), whole(sdfg, to)))
}
