//! [`MoveLoopIntoMap`].

use std::collections::BTreeSet;

use sdfg::analysis::dependence::{AccessMode, IteratedAccess, Iteration, Iterations, meets};
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{BlockKind, Map, NodeId, NodeKind, RegionId, StateId};
use serde::{Deserialize, Serialize};

use super::{anchored, described, loop_to_map, nested_maps};
use crate::engine::{
    Claim, Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Tables, Transformation,
};
use crate::loops::{Accessed, Counted, accesses_of_state, plain_state};
use crate::pattern::{BlockClass, Pattern};

/// Moves a loop around a map into the map, so that each iteration of the map runs the loop.
///
/// # When it applies
///
/// The body of the loop is one state with one map and access nodes. The range of the map does not depend on
/// the symbol of the loop. No two different iterations of the map touch an element that one of them writes,
/// in whatever iterations of the loop.
///
/// # Refusals
///
/// - The body has several blocks, or a state of more than one map and access nodes.
/// - Two different iterations of the map may touch the same element, and one of them writes it.
/// - The range of the map depends on the symbol of the loop, or the map gets symbols from data.
/// - The loop does not count, may be left early, or its symbol is read after it.
///
/// # Before
///
/// ```sdft
/// sdfg powers {
///   symbol N: i64
///   symbol T: i64
///   array A: f64[N]
///
///   for times: t = 0:T {
///     state step {
///       access A
///       access next = A
///       map cells [i = 0:N] {
///         tasklet square (a) -> (b) { b = a * a }
///         cells.A -> square.a: A[i]
///         square.b -> cells.A: A[i]
///       }
///       A -> cells.A
///       cells.A -> next
///     }
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg powers {
///   symbol N: i64
///   symbol T: i64
///   array A: f64[N]
///
///   state step {
///     access A
///     access next = A
///     map cells [i = 0:N] {
///       nested "times.steps0" (A) -> (A) with (N = N, i = i, T = T) sdfg powers_times_steps0 {
///         symbol N: i64
///         symbol i: i64
///         symbol T: i64
///         array A: f64[N]
///
///         for "times.t0": t = 0:T {
///           state body {
///             tasklet square (a) -> (b) { b = a * a }
///             access A
///             access A_1 = A
///             A -> square.a: A[i]
///             square.b -> A_1: A[i]
///           }
///         }
///       }
///       cells.A -> "times.steps0".A: A[0:N]
///       "times.steps0".A -> cells.A: A[0:N]
///     }
///     A -> cells.A
///     cells.A -> next
///   }
/// }
/// ```
///
/// # Soundness
///
/// Different iterations of the map exchange no data, also over iterations of the loop. Within one iteration
/// of the map, the loop keeps its order. So every element is written by the same operations in the same
/// order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MoveLoopIntoMap {}

static METADATA: Metadata = Metadata {
    name: "MoveLoopIntoMap",
    group: Group::ControlFlow,
    summary: "Moves a loop around a map into the map.",
    source: "DaCe, MoveLoopIntoMap",
    soundness: Soundness::Always,
    is_strict: false,
    file: include_str!("move_loop_into_map.rs"),
    parameters: &[],
};

anchored!(MoveLoopIntoMap);

/// The only state of a body, with its only map.
fn only_map(site: &Site<'_>, label: &str, body: RegionId) -> Result<(StateId, NodeId, Map), Refusal> {
    let sdfg = site.sdfg;
    let other = |reason: &str| Refusal::structure(label, reason);
    let [only] = sdfg.region(body).blocks.as_slice() else {
        return Err(other("has a body of several blocks"));
    };
    let id = crate::engine::state_of(sdfg, *only).ok_or_else(|| other("has a body that is no state"))?;
    let state = sdfg.state(id);
    let tree = site.scopes_of(id);
    let mut maps = Vec::new();
    for node in tree.children(None) {
        match &state.node(*node).kind {
            NodeKind::MapEntry(map) => maps.push((*node, map.clone())),
            NodeKind::Access(_) | NodeKind::MapExit(_) => {}
            NodeKind::Tasklet(_)
            | NodeKind::ConsumeEntry(_)
            | NodeKind::ConsumeExit(_)
            | NodeKind::Nested(_)
            | NodeKind::Reduce(_)
            | NodeKind::Library(_) => return Err(other("has a body of more than a map")),
        }
    }
    match maps.as_slice() {
        [(entry, map)] => Ok((id, *entry, map.clone())),
        [] | [_, ..] => Err(other("has a body of no map, or of several")),
    }
}

impl Transformation for MoveLoopIntoMap {
    described!(METADATA);

    fn pattern(&self) -> Pattern {
        Pattern::block("loop", BlockClass::Loop)
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let counted = Counted::of(site)?;
        let sdfg = site.sdfg;
        let label = &sdfg.block(counted.block).label;
        let (id, entry, map) = only_map(site, label, counted.repeated.body)?;
        counted.symbols_die(site)?;
        plain_state(sdfg, id)?;
        let (state, tree) = (sdfg.state(id), site.scopes_of(id));
        if map.params.contains(&counted.symbol) {
            return Err(Refusal::structure(label, "counts with the parameter of its map"));
        }
        nested_maps::independent(&map.ranges, std::slice::from_ref(&counted.symbol))?;
        if sdfg::analysis::symbols::bound_symbols(state, entry) != map.params {
            return Err(Refusal::structure(&state.node(entry).label, "gets symbols from data"));
        }
        let is_inside =
            |edge| tree.enclosing_scope(tree.scope_of_edge(state, edge)).any(|around| around == entry);
        if let Some((_, edge)) = state.edges().find(|(edge, content)| {
            !is_inside(*edge) && matches!(content.memlet.flow, sdfg::ir::Flow::Copy { .. })
        }) {
            return Err(Refusal::structure(&state.node(edge.src).label, "is copied outside of the map"));
        }
        let known = site.facts().whenever(sdfg, counted.block);
        let (Some(own), Some(outer)) =
            (Iterations::of_scope(state, entry), Iterations::of_loop(sdfg, counted.block))
        else {
            return Err(Refusal::structure(label, "does not count"));
        };
        let accesses = accesses_of_state(sdfg, id);
        let owners = site.owning_scopes();
        let is_private = |access: &Accessed| {
            // A container with an owner is accessed in the state of the owner alone.
            owners
                .get(&access.container)
                .is_some_and(|(_, scope)| tree.enclosing_scope(Some(*scope)).any(|around| around == entry))
        };
        let iterated = |access: &Accessed| {
            let mode = if access.writes() { AccessMode::Write } else { AccessMode::Read };
            let mut found = IteratedAccess::of_edge(state, &tree, access.edge, mode)?;
            // Every access lies in the map, whose iterations come before those of the loop now.
            found.around.first()?;
            found.around.splice(0..1, [own.clone(), outer.clone()]);
            Some(found)
        };
        let mut evidence = Evidence::default();
        for write in accesses.iter().filter(|access| access.writes() && !is_private(access)) {
            for other in accesses.iter().filter(|other| other.container == write.container) {
                let apart = iterated(write).zip(iterated(other)).is_some_and(|(first, second)| {
                    meets(&first, &second, 1, Iteration::Different(0), &known).is_refuted()
                });
                if !apart {
                    let name = &sdfg.container(write.container).name;
                    return Err(Refusal::Conflict {
                        container: name.clone(),
                        first: format!("`{name}[{}]`", write.subset),
                        second: format!("`{name}[{}]`", other.subset),
                        reason: "may touch the same element in different iterations of the map",
                    });
                }
                if let ([param], [range]) = (map.params.as_slice(), map.ranges.0.as_slice()) {
                    let claim = Claim::Apart {
                        symbol: param.clone(),
                        range: range.clone(),
                        first: write.subset.clone(),
                        second: other.subset.clone(),
                    };
                    evidence.note(sdfg.container(write.container).name.clone(), claim);
                }
            }
        }
        Ok(evidence)
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let block = found.block(0);
        let here = Match { calls: Vec::new(), elements: found.elements.clone() };
        let tables = Tables::new();
        let moved = Site::of(editor.sdfg(), &here, &tables).and_then(|site| {
            let counted = Counted::of(&site).ok()?;
            let (state, entry, _) = only_map(&site, "", counted.repeated.body).ok()?;
            let tree = site.scopes_of(state);
            let inside: BTreeSet<NodeId> = tree.children(Some(entry)).iter().copied().collect();
            Some((counted.symbol, counted.repeated.clone(), state, inside))
        });
        let Some((symbol, repeated, state, inside)) = moved else { return Err(EditError::NoBlock(block)) };
        let label = editor.sdfg().block(block).label.clone();
        let call = editor.derived_label(state, &label, "steps")?;
        let call = editor.wrap_in_nested(state, &inside, &call)?;
        editor.within(state, call, |inner| {
            let body = inner.sdfg().blocks().find(|(_, found)| matches!(found.kind, BlockKind::State(_)));
            let Some((body, _)) = body else { return Err(EditError::NoNode(call)) };
            let label = inner.derived_block_label(&label, symbol.as_str());
            inner.wrap_in_loop(body, &label, repeated.clone())?;
            Ok(())
        })?;
        // Bounds of the loop come into the call, and the symbol is set there.
        let NodeKind::Nested(mut nested) = editor.state(state)?.node(call).kind.clone() else {
            return Err(EditError::NoNode(call));
        };
        let types = sdfg::analysis::symbols::symbol_types(editor.sdfg());
        let used: BTreeSet<sdfg::symbolic::Symbol> =
            sdfg::analysis::symbols::free_symbols(&nested.sdfg).into_iter().collect();
        nested.symbol_mapping.retain(|(name, _)| *name != symbol);
        let mut missing = Vec::new();
        for name in used.into_iter().filter(|name| *name != symbol) {
            if !nested.symbol_mapping.iter().any(|(own, _)| *own == name) {
                missing.push(name.clone());
                nested.symbol_mapping.push((name.clone(), sdfg::symbolic::Expr::symbol(name)));
            }
        }
        editor.replace_node(state, call, NodeKind::Nested(nested))?;
        editor.within(state, call, |inner| {
            if inner.sdfg().symbol_type(&symbol).is_some() {
                inner.undeclare_symbol(&symbol)?;
            }
            for name in missing {
                let ty = types.get(&name).copied().unwrap_or(sdfg::analysis::symbols::UNDECLARED_SYMBOL);
                inner.declare_symbol(&name, ty);
            }
            Ok::<(), EditError>(())
        })?;
        loop_to_map::hoist(editor, block, repeated.body).map(|_| ())
    }
}
