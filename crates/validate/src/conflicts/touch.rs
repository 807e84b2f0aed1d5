//! Accesses of the leaves of the memlet trees of a state: elements of containers, with aliases and calls
//! resolved.

use std::collections::BTreeMap;

use sdfg_graph::analysis::dependence::{IteratedAccess, Iterations};
use sdfg_graph::analysis::is_leaf;
use sdfg_graph::ir::{
    Access, ConflictResolution, ContainerId, Edge, EdgeId, Flow, NodeId, NodeKind, TaskletBody,
};
use sdfg_language::subset::Subset;
use sdfg_language::syntax::subscripted_names;

use super::super::scope_context::ScopeContexts;
use super::super::site::{Program, Site};
use super::alias::{Aliases, Bound, Resolved};
use super::call;

/// Kinds of access to elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Mode<'a> {
    Read,
    /// Written, or combined with what is there.
    Write(Option<&'a ConflictResolution>),
}

/// Why an access may leave out elements that its memlet names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doubt {
    /// Its volume is dynamic.
    Dynamic,
    /// Code or an operation touches what it likes.
    Code,
    /// Accesses of a call are covered approximately.
    Call,
    /// Elements of an alias are covered approximately.
    Alias,
}

/// Elements that an edge, or a call at it, reads or writes.
#[derive(Debug)]
pub(super) struct Touch<'a> {
    pub(super) edge: EdgeId,
    /// The node that makes the access; for copies either end.
    pub(super) node: NodeId,
    pub(super) mode: Mode<'a>,
    /// The memlet.
    pub(super) memlet: &'a Access,
    /// The elements, in the container that is no alias.
    pub(super) access: IteratedAccess,
    /// Entries of the scopes around, one for each of the iterations of the access.
    pub(super) scopes: Vec<NodeId>,
    pub(super) through: Option<Through>,
    pub(super) doubt: Option<Doubt>,
}

/// An access in terms of the alias that it goes through.
#[derive(Debug)]
pub(super) struct Through {
    /// Binding of the alias.
    pub(super) binding: Bound,
    /// Number of scopes around the binding.
    pub(super) depth: usize,
    /// Elements of the alias; different ones are different memory.
    pub(super) access: IteratedAccess,
}

impl Touch<'_> {
    /// Whether the two would conflict over an element that both touch.
    pub(super) fn clashes_with(&self, other: &Touch<'_>) -> bool {
        match (self.mode, other.mode) {
            (Mode::Read, Mode::Read) => false,
            (Mode::Write(Some(own)), Mode::Write(Some(other))) => own != other,
            (Mode::Read | Mode::Write(_), Mode::Read | Mode::Write(_)) => true,
        }
    }
}

/// The accesses of a state by container, writes first. Queues are not among them: pushes and pops never conflict.
pub(super) fn touches<'a>(
    program: &Program<'a>,
    site: &Site<'a>,
    frames: &ScopeContexts,
) -> BTreeMap<ContainerId, Vec<Touch<'a>>> {
    let mut list = List { aliases: Aliases::of(program, site, frames), site, frames, found: BTreeMap::new() };
    for (id, edge) in site.state.edges() {
        let node = |kind: &NodeKind| matches!(kind, NodeKind::Nested(_));
        let calls = match edge.memlet.flow {
            Flow::Read(_) => node(&site.state.node(edge.dst).kind),
            Flow::Write { .. } => node(&site.state.node(edge.src).kind),
            Flow::Order | Flow::Copy { .. } | Flow::Value | Flow::Bind(_) => false,
        };
        if is_leaf(site.state, id) && !calls {
            list.add_edge(id, edge);
        }
    }
    for (id, node) in site.state.nodes() {
        if let NodeKind::Nested(nested) = &node.kind {
            for part in call::parts(site, id, nested) {
                let doubt = (!part.subset.is_exact()).then_some(Doubt::Call);
                list.add(part.edge, id, part.mode, part.bound, part.subset.as_inner(), doubt);
            }
        }
    }
    for touches in list.found.values_mut() {
        touches.sort_by_key(|touch| touch.mode == Mode::Read);
    }
    list.found
}

struct List<'s, 'a> {
    site: &'s Site<'a>,
    frames: &'s ScopeContexts,
    aliases: Aliases<'s, 'a>,
    found: BTreeMap<ContainerId, Vec<Touch<'a>>>,
}

impl<'a> List<'_, 'a> {
    /// Adds what a leaf that is not at a call reads and writes.
    fn add_edge(&mut self, id: EdgeId, edge: &'a Edge) {
        if let Some(access) = edge.memlet.read_access() {
            let doubt = doubt(self.site, edge, access, edge.dst, edge.dst_connector.as_deref());
            self.add(id, edge.dst, Mode::Read, access, access.subset(), doubt);
        }
        if let Some(access) = edge.memlet.write_access() {
            let doubt = doubt(self.site, edge, access, edge.src, edge.src_connector.as_deref());
            let mode = Mode::Write(edge.memlet.resolution());
            self.add(id, edge.src, mode, access, access.subset(), doubt);
        }
    }

    fn add(
        &mut self,
        edge: EdgeId,
        node: NodeId,
        mode: Mode<'a>,
        memlet: &'a Access,
        subset: &Subset,
        doubt: Option<Doubt>,
    ) {
        if memlet.is_queue() || self.site.sdfg.get_container(memlet.container).is_none() {
            return;
        }
        let state = self.site.state;
        let scope = self.frames.scopes.scope_of_edge(state, edge);
        let mut scopes: Vec<NodeId> = self.frames.scopes.enclosing_scope(scope).collect();
        scopes.reverse();
        let around: Option<Vec<Iterations>> =
            scopes.iter().map(|entry| Iterations::of_scope(state, *entry)).collect();
        let Some(around) = around else { return };
        let iterated = |subset: Subset, certain| IteratedAccess { around: around.clone(), subset, certain };
        for Resolved { container, subset: elements, binding } in
            self.aliases.resolve(memlet.container, subset, scope)
        {
            // Which elements of the alias are meant is known even where it is only covered what they are in the memory.
            let through = binding.map(|(binding, depth)| Through {
                binding,
                depth,
                access: iterated(subset.clone(), doubt.is_none()),
            });
            let doubt = doubt.or((!elements.is_exact()).then_some(Doubt::Alias));
            let access = iterated(elements.into_inner(), doubt.is_none());
            let scopes = scopes.clone();
            let touch = Touch { edge, node, mode, memlet, access, scopes, through, doubt };
            self.found.entry(container).or_default().push(touch);
        }
    }
}

/// Why the node at the end of a leaf may leave out elements of its memlet.
fn doubt(
    site: &Site<'_>,
    edge: &Edge,
    access: &Access,
    node: NodeId,
    connector: Option<&str>,
) -> Option<Doubt> {
    if edge.memlet.volume.is_dynamic() {
        return Some(Doubt::Dynamic);
    }
    if matches!(edge.memlet.flow, Flow::Copy { .. }) {
        return None;
    }
    match &site.state.node(node).kind {
        NodeKind::Tasklet(tasklet) => match &tasklet.body {
            TaskletBody::Code(code) => {
                let subscripted = subscripted_names(code.block());
                let is_value = access.subset().is_element()
                    && connector.is_some_and(|connector| !subscripted.contains(connector));
                (!is_value).then_some(Doubt::Code)
            }
            TaskletBody::External(_) => Some(Doubt::Code),
        },
        NodeKind::Reduce(_) | NodeKind::MapEntry(_) | NodeKind::ConsumeEntry(_) => None,
        NodeKind::Access(_)
        | NodeKind::MapExit(_)
        | NodeKind::ConsumeExit(_)
        | NodeKind::Nested(_)
        | NodeKind::Library(_) => Some(Doubt::Code),
    }
}
