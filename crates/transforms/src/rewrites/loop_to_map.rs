//! [`LoopToMap`].

use std::collections::BTreeSet;

use sdfg::edit::{EditError, Editor};
use sdfg::ir::{BlockId, ContainerId, Flow, Lifetime, Map, NodeId, RegionId, Sdfg, StateId};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::Symbol;
use serde::{Deserialize, Serialize};

use super::{anchored, described};
use crate::engine::{
    Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Tables, Transformation, state_of,
};
use crate::loops::Counted;
use crate::pattern::{BlockClass, Pattern};

/// Makes a map of a loop whose iterations do not depend on each other.
///
/// A body of one state becomes the contents of the map. Several blocks become an SDFG that the map calls.
///
/// # When it applies
///
/// The loop counts and runs to its end, and no iteration touches an element that another one writes. Sums and
/// other resolutions without an order may meet. A transient that each iteration writes before it reads it,
/// and that nothing else reads, becomes one of the iteration. The symbol of the loop, and those that the body
/// sets, are not read after the loop.
///
/// # Refusals
///
/// - Two accesses, at least one of them a write, may touch the same element in different iterations. The
///   proof compares every write of the body with every other access of the container, for all pairs of
///   iterations. Anything that is not proved refuses.
/// - The loop may be left early, or counts with another symbol than one of type `i64`. Its bounds divide or shift by a symbol, or
///   compute with a symbol of another type.
/// - A symbol that the body sets is read in an iteration before it is set, or after the loop.
/// - The body has streams, references or foreign functions, or a view of something that it writes.
///
/// # Before
///
/// ```sdft
/// sdfg double_all {
///   symbol N: i64
///   array A: f64[N]
///   array B: f64[N]
///
///   for elements: i = 1:N {
///     state body {
///       access A
///       access B
///       tasklet double (a) -> (b) { b = 2.0 * a }
///       A -> double.a: A[i - 1]
///       double.b -> B: B[i]
///     }
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg double_all {
///   symbol N: i64
///   array A: f64[N]
///   array B: f64[N]
///
///   state body {
///     access A
///     access B
///     map elements [i = 1:N] {
///       tasklet double (a) -> (b) { b = 2.0 * a }
///       elements.A -> double.a: A[i - 1]
///       double.b -> elements.B: B[i]
///     }
///     elements.B -> B
///     A -> elements.A
///   }
/// }
/// ```
///
/// # Soundness
///
/// An iteration that touches no element that another one writes sees the same values in any order, also at
/// the same time. Only sums may meet, and these may differ in rounding.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LoopToMap {}

static METADATA: Metadata = Metadata {
    name: "LoopToMap",
    group: Group::ControlFlow,
    summary: "Makes a map of a loop whose iterations do not depend on each other.",
    source: "DaCe, LoopToMap; paper, section 4.1",
    soundness: Soundness::ChangesRounding,
    is_strict: false,
    file: include_str!("loop_to_map.rs"),
    parameters: &[],
};

anchored!(LoopToMap);

impl Transformation for LoopToMap {
    described!(METADATA);

    fn pattern(&self) -> Pattern {
        Pattern::block("loop", BlockClass::Loop)
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let counted = Counted::of(site)?;
        let own = own(&counted, site);
        counted.symbols_die_with(site, &own)?;
        if site.sdfg.region(counted.repeated.body).blocks.is_empty() {
            let label = &site.sdfg.block(counted.block).label;
            return Err(Refusal::structure(label, "has an empty body"));
        }
        let mut evidence = Evidence::default();
        counted.independent(site, &own, &mut evidence)?;
        Ok(evidence)
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let block = found.block(0);
        // The edits of a series may have changed what the check saw; the editor is in the SDFG of the match.
        let here = Match { calls: Vec::new(), elements: found.elements.clone() };
        let tables = Tables::new();
        let loop_of = Site::of(editor.sdfg(), &here, &tables)
            .and_then(|site| Some((Counted::of(&site).ok()?, site)))
            .map(|(counted, site)| {
                let private = own(&counted, &site);
                (counted.symbol, counted.range, counted.repeated.body, private)
            });
        let Some((symbol, range, body, private)) = loop_of else { return Err(EditError::NoBlock(block)) };
        let label = editor.sdfg().block(block).label.clone();
        let (state, inside) = match contents(editor.sdfg(), body, &private) {
            Some(direct) => direct,
            None => {
                let role = editor.derived_block_label(&label, "body");
                let (state, call) = editor.wrap_region_in_nested(body, &role, &private)?;
                (state, BTreeSet::from([call]))
            }
        };
        hoist(editor, block, body)?;
        for id in private {
            if editor.sdfg().get_container(id).is_some() {
                editor.change_container(id, |container| container.lifetime = Lifetime::Scope)?;
            }
        }
        let label = editor.fresh_label(state, &label)?;
        editor.wrap_in_map(state, &inside, &label, as_map(&symbol, &range))?;
        Ok(())
    }
}

/// The containers that move into the map: those that each iteration has for itself, and views that it only reads.
fn own(counted: &Counted<'_>, site: &Site<'_>) -> BTreeSet<ContainerId> {
    let mut own = counted.private(site);
    own.extend(counted.read_views(site));
    own
}

/// The only state of a body and its nodes that move into the map, if the access nodes outside remain at code or scopes.
fn contents(
    sdfg: &Sdfg,
    body: RegionId,
    private: &BTreeSet<ContainerId>,
) -> Option<(StateId, BTreeSet<NodeId>)> {
    let [only] = sdfg.region(body).blocks.as_slice() else { return None };
    let id = state_of(sdfg, *only).filter(|_| sdfg.region(body).transitions.is_empty())?;
    let state = sdfg.state(id);
    let is_confined = |container: ContainerId| {
        private.contains(&container) || sdfg.container(container).lifetime == Lifetime::State
    };
    let is_border = |node: NodeId| {
        let shared = state.node(node).kind.container().is_some_and(|container| !is_confined(container));
        let ends = state.in_edges(node).is_empty() || state.out_edges(node).is_empty();
        let moves =
            |(_, edge): (_, &sdfg::ir::Edge)| matches!(edge.memlet.flow, Flow::Read(_) | Flow::Write { .. });
        shared && ends && state.each_in_edge(node).chain(state.each_out_edge(node)).all(moves)
    };
    let tree = sdfg::analysis::ScopeTree::of(state);
    let inside: BTreeSet<NodeId> =
        tree.children(None).iter().copied().filter(|node| !is_border(*node)).collect();
    // Data that pass from one node to the next are ordered by access nodes; a map orders nothing among its iterations.
    let is_shared =
        |node: &NodeId| state.node(*node).kind.container().is_some_and(|container| !is_confined(container));
    (!inside.is_empty() && !inside.iter().any(is_shared)).then_some((id, inside))
}

/// Puts the only block of a loop into the place of the loop.
pub(super) fn hoist(
    editor: &mut Editor<'_>,
    repeated: BlockId,
    body: RegionId,
) -> Result<BlockId, EditError> {
    let sdfg = editor.sdfg();
    let region = sdfg.block(repeated).region;
    let [only] = sdfg.region(body).blocks.as_slice() else {
        let label = sdfg.block(repeated).label.clone();
        return Err(EditError::ControlFlow { label, reason: "its body has several blocks" });
    };
    let only = *only;
    editor.change_region(body, |body| {
        body.blocks.clear();
        body.start = None;
    })?;
    editor.change_region(region, |region| {
        let at = region.blocks.iter().position(|block| *block == repeated).unwrap_or(region.blocks.len());
        region.blocks.insert(at, only);
        if region.start == Some(repeated) {
            region.start = Some(only);
        }
    })?;
    editor.change_block(only, |block| block.region = region)?;
    for id in editor.sdfg().region(region).transitions.clone() {
        let transition = editor.sdfg().transition(id);
        let (src, dst) = (transition.src, transition.dst);
        if src == repeated || dst == repeated {
            let at = |block: BlockId| if block == repeated { only } else { block };
            editor.change_transition(id, |found| (found.src, found.dst) = (at(src), at(dst)))?;
        }
    }
    editor.remove_block(repeated)?;
    Ok(only)
}

/// The range of a loop as that of a map.
pub(super) fn as_map(symbol: &Symbol, range: &Range) -> Map {
    Map::new(vec![symbol.clone()], Subset(vec![range.clone()]))
}
