//! Constants in dataflow: our access nodes become names in tasklet code where only tasklets read them.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::analysis::accesses::control_flow_reads;
use sdfg::analysis::{is_leaf, memlet_path};
use sdfg::ir::{Access, ContainerId, ContainerKind, EdgeId, Flow, NodeId, NodeKind, Sdfg, State};
use sdfg::subset::Subset;
use sdfg::syntax::{Expression, ExpressionKind, Index, Name};

use super::SdfgLifting;
use super::functions::element;

/// Constants that code reads, and the nodes and edges that only bring them there.
#[derive(Default)]
pub(super) struct Constants {
    /// The part that a connector of a tasklet reads.
    reads: BTreeMap<(NodeId, String), Access>,
    pub(super) nodes: BTreeSet<NodeId>,
    pub(super) edges: BTreeSet<EdgeId>,
    /// Innermost edges within scopes, which keep the order.
    pub(super) orders: BTreeSet<EdgeId>,
}

impl SdfgLifting<'_> {
    /// Finds the uses of constants in a state.
    pub(super) fn constants(&self, state: &State) -> Constants {
        let mut found = Constants::default();
        let is_named = |container: ContainerId| {
            self.sdfg.container(container).constant.is_some() && !self.kept.contains(&container)
        };
        let is_constant = |access: &Access| is_named(access.container);
        for (id, edge) in state.edges() {
            let (Flow::Read(access), NodeKind::Tasklet(_)) = (&edge.memlet.flow, &state.node(edge.dst).kind)
            else {
                continue;
            };
            let Some(connector) = edge.dst_connector.clone().filter(|_| is_constant(access)) else {
                continue;
            };
            let path = memlet_path(state, id);
            found.edges.extend(path);
            found.reads.insert((edge.dst, connector), access.clone());
        }
        // Where nothing else holds a tasklet in its scope, an edge that only orders does.
        let mut held: BTreeSet<NodeId> = BTreeSet::new();
        for (id, edge) in state.edges() {
            let is_inner = state.node(edge.src).kind.is_scope_entry();
            let is_alone = state.in_edges(edge.dst).iter().all(|other| found.edges.contains(other));
            if found.edges.contains(&id) && is_inner && is_alone && held.insert(edge.dst) {
                found.orders.insert(id);
            }
        }
        for (id, node) in state.nodes() {
            let Some(container) = node.kind.container() else { continue };
            if !is_named(container) {
                continue;
            }
            found.nodes.insert(id);
            found.edges.extend(state.in_edges(id).into_iter().chain(state.out_edges(id)));
        }
        found
    }

    /// A part of code in which a connector of a tasklet is a constant, by the name of the constant.
    ///
    /// # Errors
    /// The name of a constant of which code indexes a part.
    pub(super) fn constant_part(
        &self,
        constants: &Constants,
        node: NodeId,
        part: Expression,
    ) -> Result<Expression, String> {
        let read = |name: &str| constants.reads.get(&(node, name.to_owned()));
        let constant = |access: &Access| self.sdfg.container(access.container).name.clone();
        match &part.kind {
            ExpressionKind::Name(name) => match read(name) {
                None => Ok(part),
                Some(access) => {
                    let indices = access.subset().0.iter().map(|range| range.begin.to_expression());
                    let indices: Option<Vec<Expression>> = indices.collect();
                    indices.map(|indices| element(&constant(access), indices)).ok_or_else(|| constant(access))
                }
            },
            ExpressionKind::Subscript { base, indices } => match read(&base.text) {
                None => Ok(part),
                Some(access) => {
                    let container = self.sdfg.container(access.container);
                    let is_whole = *access.subset() == Subset::full(container.shape());
                    let indices: Vec<Index> = indices.clone();
                    if !is_whole || indices.len() != container.shape().len() {
                        return Err(constant(access));
                    }
                    let base = Name::new(constant(access));
                    Ok(Expression { kind: ExpressionKind::Subscript { base, indices }, span: part.span })
                }
            },
            _ => Ok(part),
        }
    }

    /// Whether a connector of a tasklet reads a constant.
    pub(super) fn reads_constant(&self, constants: &Constants, node: NodeId, connector: &str) -> bool {
        constants.reads.contains_key(&(node, connector.to_owned()))
    }
}

/// The constants of an SDFG that other nodes than tasklets read: copies, calls, library nodes. Single values that control flow reads are
/// among them: its numbers have no types.
pub(super) fn kept(sdfg: &Sdfg) -> BTreeSet<ContainerId> {
    let is_value = |id: &ContainerId| {
        let container = sdfg.container(*id);
        container.constant.is_some() && container.kind == ContainerKind::Scalar
    };
    let mut kept: BTreeSet<ContainerId> = control_flow_reads(sdfg).into_iter().filter(is_value).collect();
    for (_, state) in sdfg.states() {
        for (id, edge) in state.edges() {
            if matches!(edge.memlet.flow, Flow::Order) || !is_leaf(state, id) {
                continue;
            }
            let is_named = matches!(edge.memlet.flow, Flow::Read(_))
                && matches!(state.node(edge.dst).kind, NodeKind::Tasklet(_));
            let touched = edge.memlet.accesses().map(|access| access.container);
            kept.extend(touched.filter(|id| sdfg.container(*id).constant.is_some() && !is_named));
        }
    }
    kept
}
