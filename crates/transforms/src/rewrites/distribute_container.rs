//! [`DistributeContainer`].

use sdfg::analysis::{Use, is_leaf};
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{Access, Blocks, ContainerId, Cut, Distribution, Edge, Flow, Layout, Sdfg};
use sdfg::subset::Range;
use sdfg::symbolic::Expr;
use serde::{Deserialize, Serialize};

use super::partition::fixed_symbols;
use super::{anchored, described};
use crate::engine::{Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Cuts a replicated container as one that it is copied to or from is cut, without halos.
///
/// Between these two, the copy then moves nothing between ranks, and `RedundantRedistribution` makes one container of both.
/// Other copies of the container move what they need. An argument is passed in parts afterwards: each rank passes its own.
///
/// # When it applies
///
/// The two containers have the same shape, one is replicated, and the other is cut over a process grid.
///
/// # Refusals
///
/// - Neither, or both, are replicated, or the shapes differ.
/// - The cuts depend on symbols that change while the program runs.
/// - Something else than copies accesses the container: code that all ranks run reaches no container that is cut.
/// - A copy from or to the container is one that ranks do not send: of a stream, of a scalar, of an array with strides, or between
///   dimensions of other extents.
///
/// # Before
///
/// ```sdft
/// sdfg smooth {
///   symbol N: i64
///   array A: f64[N]
///   transient array A_part0: f64[N] distribution(grid(4)[balanced(0, 1, N - 1) halo(1, 1)])
///   array B: f64[N]
///
///   state s {
///     access A
///     access A_part0
///     access B
///     A -> A_part0
///     A_part0 -> B
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg smooth {
///   symbol N: i64
///   array A: f64[N] distribution(grid(4)[balanced(0, 1, N - 1)])
///   transient array A_part0: f64[N] distribution(grid(4)[balanced(0, 1, N - 1) halo(1, 1)])
///   array B: f64[N]
///
///   state s {
///     access A
///     access A_part0
///     access B
///     A -> A_part0
///     A_part0 -> B
///   }
/// }
/// ```
///
/// # Soundness
///
/// A distribution decides who holds an element, and changes no value. Copies reach every rank.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DistributeContainer {}

static METADATA: Metadata = Metadata {
    name: "DistributeContainer",
    group: Group::Hardware,
    summary: "Cuts a replicated container as one that it is copied to or from is cut.",
    source: "DESIGN, decision 23",
    soundness: Soundness::Always,
    is_strict: false,
    file: include_str!("distribute_container.rs"),
    parameters: &[],
};

anchored!(DistributeContainer);

impl Transformation for DistributeContainer {
    described!(METADATA, of_any_memory);

    fn moves_between_ranks(&self) -> bool {
        true
    }

    fn pattern(&self) -> Pattern {
        Pattern::path([("source", NodeClass::Access), ("target", NodeClass::Access)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let state = site.state();
        let (from, to) = (site.found.node(0), site.found.node(1));
        let edge = state.each_out_edge(from).find(|(_, edge)| edge.dst == to && copied(edge).is_some());
        let Some((from, to)) = edge.and_then(|(_, edge)| copied(edge)) else {
            return Err(Refusal::structure(site.label(0), "is not copied there"));
        };
        let (source, target) = (site.sdfg.container(from), site.sdfg.container(to));
        let (whole, part) = match (source.distribution.blocks(), target.distribution.blocks()) {
            (None, Some(_)) => (from, to),
            (Some(_), None) => (to, from),
            (None, None) | (Some(_), Some(_)) => {
                let name = &source.name;
                return Err(Refusal::container(
                    name,
                    "and the container at the other end are both cut, or neither",
                ));
            }
        };
        let container = site.sdfg.container(whole);
        if container.distribution != Distribution::Replicated
            || container.is_alias()
            || container.is_stream()
            || container.constant.is_some()
        {
            return Err(Refusal::container(&container.name, "is no replicated array or scalar"));
        }
        if container.shape() != site.sdfg.container(part).shape() {
            return Err(Refusal::container(&container.name, "has another shape"));
        }
        let fixed = fixed_symbols(site.sdfg);
        let cuts = site.sdfg.container(part).distribution.exprs();
        if let Some(expr) = cuts.into_iter().find(|expr| !expr.free_symbols().is_subset(&fixed)) {
            let reason = format!("outlives `{expr}`, which changes while the program runs");
            return Err(Refusal::container(&container.name, reason));
        }
        only_copied(site, whole)?;
        Ok(Evidence::of_structure())
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let graph = editor.state(found.state())?;
        let ends = [found.node(0), found.node(1)].map(|node| graph.node(node).kind.container());
        let [Some(from), Some(to)] = ends else { return Err(EditError::NoNode(found.node(0))) };
        let blocks = |id: ContainerId| editor.sdfg().container(id).distribution.blocks().map(without_halos);
        let (whole, blocks) = match (blocks(from), blocks(to)) {
            (Some(blocks), None) => (to, blocks),
            (None, Some(blocks)) => (from, blocks),
            (None, None) | (Some(_), Some(_)) => return Err(EditError::NoContainer(from)),
        };
        editor.change_container(whole, |container| container.distribution = Distribution::Blocks(blocks))
    }
}

/// The containers at the ends of a copy.
pub(crate) fn copied(edge: &Edge) -> Option<(ContainerId, ContainerId)> {
    match &edge.memlet.flow {
        Flow::Copy { from, to, .. } => Some((from.container, to.container)),
        Flow::Read(_) | Flow::Write { .. } | Flow::Order | Flow::Value | Flow::Bind(_) => None,
    }
}

/// The same cuts without halos.
pub(super) fn without_halos(blocks: &Blocks) -> Blocks {
    let bare = |cut: &Cut| Cut::new(cut.along, cut.parts.clone());
    Blocks { grid: blocks.grid.clone(), cuts: blocks.cuts.iter().map(|cut| cut.as_ref().map(bare)).collect() }
}

/// Why native code has no message for a copy from or to a container that is cut.
fn unsent(sdfg: &Sdfg, id: ContainerId, edge: &Edge) -> Option<&'static str> {
    let Flow::Copy { from, to, resolution } = &edge.memlet.flow else { return None };
    let ends = [from, to].map(|end| sdfg.container(end.container));
    if ends.iter().any(|end| end.is_stream()) {
        return Some("of a stream");
    }
    if sdfg.container(id).shape().is_empty() || ends[0].shape().is_empty() {
        return Some("of a scalar");
    }
    if ends.iter().any(|end| !end.kind.layout().is_none_or(Layout::is_packed)) {
        return Some("of an array with strides");
    }
    let extents = |end: &Access| -> Vec<Expr> {
        end.subset().0.iter().map(Range::steps).filter(|extent| !extent.is_one()).collect()
    };
    // Partial results have a dimension more.
    (resolution.is_none() && extents(from) != extents(to)).then_some("between dimensions of other extents")
}

/// Refuses a container that something else than copies accesses, or a copy for which native code has no message.
fn only_copied(site: &Site<'_>, id: ContainerId) -> Result<(), Refusal> {
    let uses = site.uses();
    let memlets = uses.of(id).iter().filter_map(|used| match used {
        Use::Memlet(state, edge) => Some(site.sdfg.state(*state).edge(*edge)),
        _ => None,
    });
    for edge in memlets {
        if let Some(reason) = unsent(site.sdfg, id, edge) {
            let reason = format!("has a copy {reason}, which ranks do not send");
            return Err(Refusal::container(&site.sdfg.container(id).name, reason));
        }
    }
    let is_other = |used: Use| match used {
        Use::Access(..) => false,
        Use::Memlet(state, edge) => {
            let graph = site.sdfg.state(state);
            is_leaf(graph, edge) && copied(graph.edge(edge)).is_none()
        }
        Use::Condition(..) | Use::Block(_) | Use::Transition(_) => true,
    };
    let found = uses.of(id).iter().chain(uses.bindings_of(id)).find(|used| is_other(**used));
    found.map_or(Ok(()), |used| Err(site.used(id, *used)))
}
