//! Accesses of a call of a nested SDFG to the memory at its connectors.
//!
//! The memlet at a call binds memory. The accesses and their conflict resolutions are inside the callee.
//! Subsets that symbols of the caller cannot express are covered by the whole memlet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sdfg_graph::analysis::accesses::alias_targets;
use sdfg_graph::analysis::footprint::Part as InnerPart;
use sdfg_graph::analysis::symbols::assigned_symbols;
use sdfg_graph::analysis::{Footprint, bound_dimensions, connector_edges, is_leaf, leads_to};
use sdfg_graph::ir::{
    Access, ConflictResolution, ContainerId, EdgeId, NestedSdfg, NodeId, NodeKind, Sdfg, State,
};
use sdfg_language::subset::{Approx, Range, Subset};
use sdfg_language::symbolic::{Expr, Symbol};
use sdfg_language::tasklet::Direction;

use super::super::site::Site;
use super::touch::Mode;

/// A part of the memory at a connector that a call touches.
pub(super) struct Part<'a> {
    pub(super) edge: EdgeId,
    pub(super) mode: Mode<'a>,
    /// Binding of the edge's memlet.
    pub(super) bound: &'a Access,
    /// Exact if each execution of the call touches all of it.
    pub(super) subset: Approx<Subset>,
}

/// The parts that the call at a node touches, without repetition.
pub(super) fn parts<'a>(site: &Site<'a>, node: NodeId, nested: &'a NestedSdfg) -> Vec<Part<'a>> {
    let footprint = Footprint::of_body(&nested.sdfg);
    let caller = Caller::of(nested);
    let reads = footprint.reads.iter().map(|part| (part, Mode::Read));
    let writes = footprint.writes.iter().map(|part| (part, Mode::Write(resolution(&nested.sdfg, part.edge))));
    let touched: Vec<(&InnerPart, Mode<'a>)> = writes.chain(reads).collect();
    let mut parts: Vec<Part<'a>> = Vec::new();
    for (argument, container) in nested.sdfg.arguments() {
        let of = |direction| connector_edges(site.state, node, direction, &container.name).first().copied();
        let (into, out) = (of(Direction::In), of(Direction::Out));
        for (inner, mode) in &touched {
            let is_direct = inner.container == argument;
            if !is_direct && !caller.names(inner.container, argument) {
                continue;
            }
            let edge = if *mode == Mode::Read { into.or(out) } else { out.or(into) };
            let Some((edge, bound)) = edge.and_then(|edge| Some((edge, bound_memory(site.state, edge)?)))
            else {
                continue;
            };
            let direct = Some(&inner.subset).filter(|_| is_direct && !bound.is_queue());
            let found = direct.and_then(|subset| caller.outside(subset, bound, container.shape().len()));
            let subset = found.unwrap_or_else(|| Approx::Over(bound.subset().clone()));
            if !parts.iter().any(|part| part.edge == edge && part.mode == *mode && part.subset == subset) {
                parts.push(Part { edge, mode: *mode, bound, subset });
            }
        }
    }
    // Inputs that are symbols.
    for edge in site.state.in_edges(node) {
        let name = site.state.edge(edge).dst_connector.as_deref();
        if let Some(bound) = bound_memory(site.state, edge)
            && name.is_some_and(|name| nested.sdfg.find_container(name).is_none())
        {
            let subset = Approx::Exact(bound.subset().clone());
            parts.push(Part { edge, mode: Mode::Read, bound, subset });
        }
    }
    parts
}

fn bound_memory(state: &State, edge: EdgeId) -> Option<&Access> {
    let memlet = &state.edge(edge).memlet;
    memlet.read_access().or(memlet.write_access())
}

/// A callee, as seen from outside.
struct Caller<'a> {
    nested: &'a NestedSdfg,
    mapping: BTreeMap<Symbol, Expr>,
    /// Symbols whose values the caller does not know.
    hidden: BTreeSet<Symbol>,
    aliases: Arc<BTreeMap<ContainerId, BTreeSet<ContainerId>>>,
}

impl<'a> Caller<'a> {
    fn of(nested: &'a NestedSdfg) -> Self {
        let mut hidden: BTreeSet<Symbol> = assigned_symbols(&nested.sdfg).into_iter().collect();
        hidden.extend(nested.inputs.iter().filter_map(|input| Symbol::new(&input.name).ok()));
        let mapping = nested.symbol_mapping.iter().cloned().collect();
        Caller { nested, mapping, hidden, aliases: alias_targets(&nested.sdfg) }
    }

    /// Whether a container inside is an alias that may name another.
    fn names(&self, alias: ContainerId, target: ContainerId) -> bool {
        leads_to([alias], target, |at| self.aliases.get(&at).into_iter().flatten().copied())
    }

    /// Elements of an argument of this rank as elements of what is bound to it.
    fn outside(&self, inner: &Approx<Subset>, bound: &Access, rank: usize) -> Option<Approx<Subset>> {
        let kept = bound_dimensions(bound.subset(), rank)?;
        let subset = inner.as_inner();
        let is_hidden = |symbol: &Symbol| {
            let is_known =
                self.mapping.contains_key(symbol) || self.nested.sdfg.symbol_type(symbol).is_some();
            self.hidden.contains(symbol) || !is_known
        };
        if subset.rank() != rank || subset.free_symbols().iter().any(is_hidden) {
            return None;
        }
        let mut within = vec![Range::index(Expr::zero()); bound.subset().rank()];
        for (range, dimension) in subset.substitute(&self.mapping).0.into_iter().zip(kept) {
            *within.get_mut(dimension)? = range;
        }
        let composed = bound.subset().compose(&Subset(within));
        let is_exact = inner.is_exact() && composed.is_exact();
        Some(Approx::new(composed.into_inner(), is_exact))
    }
}

/// The resolution with which an edge of a called SDFG writes; at a further call, the one that all writes inside have.
fn resolution(sdfg: &Sdfg, edge: Option<(sdfg_graph::ir::StateId, EdgeId)>) -> Option<&ConflictResolution> {
    let (state, edge) = edge?;
    let state = sdfg.get_state(state)?;
    let content = state.get_edge(edge)?;
    let NodeKind::Nested(nested) = &state.node(content.src).kind else { return content.memlet.resolution() };
    let argument = nested.sdfg.find_container(content.src_connector.as_deref()?)?;
    let caller = Caller::of(nested);
    let mut common: Option<&ConflictResolution> = None;
    for (id, inner) in nested.sdfg.states() {
        for (edge, content) in inner.edges() {
            let Some(access) = content.memlet.write_access().filter(|_| is_leaf(inner, edge)) else {
                continue;
            };
            if !caller.names(access.container, argument) {
                continue;
            }
            let own = resolution(&nested.sdfg, Some((id, edge)))?;
            if common.is_some_and(|common| common != own) {
                return None;
            }
            common = Some(own);
        }
    }
    common
}
