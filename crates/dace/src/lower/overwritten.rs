//! Writes that a later write of the same iteration overwrites.
//!
//! DaCe's code moves the output of a node immediately, before later nodes run. If two writes reach the same
//! elements through the exit of a scope, the first one is lost. Map fusion leaves such writes behind. The
//! reader removes them, so that they need no order (`hazards`).

use std::collections::{BTreeMap, BTreeSet};

use sdfg::ir::Port;
use sdfg::subset::Subset;

use super::SdfgLowering;
use super::state::Graph;
use crate::model::{DescriptorKind, Edge, NodeKind};

/// A write through the end of a scope that is not combined with what is there.
struct Write<'a> {
    edge: usize,
    from: usize,
    /// The written subset, as in the file.
    subset: &'a Subset,
    /// Whether every run of its node writes it.
    is_sure: bool,
}

impl<'a> SdfgLowering<'a> {
    /// The edges that another one makes superfluous, also around the scope where nothing else goes through a connector.
    pub(super) fn overwritten(&self, graph: &Graph<'a>) -> BTreeSet<usize> {
        let mut writes: BTreeMap<(usize, &str), Vec<Write<'a>>> = BTreeMap::new();
        for (at, edge) in graph.model.edges.iter().enumerate() {
            if let Some((data, write)) = self.plain_write(graph, at, edge) {
                writes.entry((edge.dst, data)).or_default().push(write);
            }
        }
        let mut covered = BTreeSet::new();
        for ((exit, data), group) in &writes {
            if group.len() < 2 || self.is_seen(graph, *exit, data) {
                continue;
            }
            let is_lost = |write: &Write<'_>| {
                group.iter().any(|later| {
                    later.is_sure
                        && later.edge != write.edge
                        && later.subset == write.subset
                        && leads_to(graph, write.from, later.from)
                })
            };
            covered.extend(group.iter().filter(|write| is_lost(write)).map(|write| write.edge));
        }
        if !covered.is_empty() {
            spread_outwards(graph, &mut covered);
        }
        covered
    }

    /// Whether code within a scope may see what is written to a container through the end of the scope: it reads the
    /// container, or what may be another name of it, or is a nested SDFG that has it.
    fn is_seen(&self, graph: &Graph<'a>, exit: usize, data: &str) -> bool {
        let nodes = &graph.model.nodes;
        let NodeKind::MapExit(entry) = nodes[exit].kind else { return true };
        let is_alias =
            |kind: &DescriptorKind| matches!(kind, DescriptorKind::View | DescriptorKind::Reference);
        graph.model.edges.iter().any(|edge| {
            let end = |node: usize| self.end(&nodes[node]);
            let comes_in = edge.dst == entry
                && end(graph.paths.source(edge))
                    .is_some_and(|from| from.name == data || is_alias(&from.descriptor.kind));
            let is_passed = edge.dst == exit
                && matches!(nodes[edge.src].kind, NodeKind::Nested { .. })
                && end(graph.paths.destination(edge)).is_some_and(|to| to.name == data);
            comes_in || is_passed
        })
    }

    fn plain_write(&self, graph: &Graph<'a>, at: usize, edge: &'a Edge) -> Option<(&'a str, Write<'a>)> {
        let nodes = &graph.model.nodes;
        if !matches!(nodes[edge.dst].kind, NodeKind::MapExit(_)) {
            return None;
        }
        let memlet = &edge.memlet;
        let end = self.end(&nodes[graph.paths.destination(edge)])?;
        let is_array = matches!(end.descriptor.kind, DescriptorKind::Array | DescriptorKind::Scalar);
        if !is_array || memlet.resolution.is_some() {
            return None;
        }
        let is_named = memlet.data.as_deref() == Some(end.name);
        let subset = if is_named { memlet.subset.as_ref() } else { memlet.other_subset.as_ref() }?;
        let is_sure = match (&nodes[edge.src].kind, edge.src_connector.as_deref()) {
            (NodeKind::Access { .. }, _) => true,
            (NodeKind::Tasklet { .. }, Some(connector)) => {
                graph.tasklets.contains_key(&edge.src) && self.is_assigned(graph, edge.src, connector)
            }
            _ => return None,
        };
        let is_sure = is_sure && !memlet.dynamic && subset.is_element();
        Some((end.name, Write { edge: at, from: edge.src, subset, is_sure }))
    }
}

/// Whether a way leads from one node to another one.
fn leads_to(graph: &Graph<'_>, from: usize, to: usize) -> bool {
    let next = |node| graph.model.edges.iter().filter(move |edge| edge.src == node).map(|edge| edge.dst);
    from != to && sdfg::analysis::leads_to([from], to, next)
}

fn port(connector: Option<&String>) -> Option<Port<'_>> {
    Port::parse(connector?)
}

/// Adds the edges behind the ends of scopes that nothing comes to any more.
fn spread_outwards(graph: &Graph<'_>, covered: &mut BTreeSet<usize>) {
    let edges = &graph.model.edges;
    loop {
        let feeds = |outer: &Edge, inner: &Edge| {
            inner.dst == outer.src
                && port(inner.dst_connector.as_ref()) == port(outer.src_connector.as_ref()).map(Port::partner)
        };
        let is_empty = |outer: &Edge| {
            let mut inner = edges
                .iter()
                .enumerate()
                .filter(|(_, inner)| feeds(outer, inner))
                .map(|(at, _)| at)
                .peekable();
            inner.peek().is_some() && inner.all(|at| covered.contains(&at))
        };
        let behind_exit = |edge: &Edge| matches!(graph.model.nodes[edge.src].kind, NodeKind::MapExit(_));
        let more: Vec<usize> = (0..edges.len())
            .filter(|at| !covered.contains(at) && behind_exit(&edges[*at]) && is_empty(&edges[*at]))
            .collect();
        if more.is_empty() {
            return;
        }
        covered.extend(more);
    }
}
