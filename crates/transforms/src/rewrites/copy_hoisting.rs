//! [`CopyHoisting`].

use std::collections::{BTreeMap, BTreeSet};

use sdfg::analysis::executions::{ExecutionTable, Frequency};
use sdfg::analysis::symbols::{assigned_symbols_of, free_symbols_of_container, free_symbols_of_memlet};
use sdfg::analysis::{DominatorTree, Use, computes_in_i64};
use sdfg::dtype::ScalarType;
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{Access, BlockId, BlockKind, ContainerId, EdgeId, Flow, Lifetime, Loop, Memlet, Sdfg};
use sdfg::symbolic::Symbol;
use sdfg::syntax::Expression;
use serde::{Deserialize, Serialize};

use super::{anchored, described};
use crate::engine::{
    Claim, Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Tables, Transformation, state_of,
};
use crate::loops::{Counted, accesses_in, state_block};
use crate::pattern::{NodeClass, Pattern};

/// Moves a copy that does the same in each iteration of a loop in front of the loop.
///
/// The copy runs once, and only if the loop has an iteration. Copies to devices and between ranks are the most expensive ones that
/// loops repeat.
///
/// # When it applies
///
/// A copy between two access nodes in a state that each iteration of a loop runs once. The loop writes the source nowhere and the
/// target by this copy alone, and reads the target only after it. Copies inside of several loops are moved out of one loop at a
/// time.
///
/// # Refusals
///
/// - The loop writes the source, or writes the target elsewhere.
/// - Something in the loop reads the target before the copy sets it, or the loop reads the target itself.
/// - Some iterations do not run the copy.
/// - The loop changes a symbol on which the copied elements, or the extents of the containers, depend.
/// - The copy combines values, or one of the containers is a stream, a view or a reference, or is bound to one.
///
/// # Before
///
/// ```sdft
/// sdfg scaled_often {
///   symbol N: i64
///   symbol T: i64
///   array w: f64[N]
///   array A: f64[N]
///   transient array near: f64[N]
///
///   for times: t = 0:T {
///     state step {
///       access w
///       access near
///       access A
///       access next = A
///       map cells [i = 0:N] {
///         tasklet scale (a, f) -> (b) { b = f * a }
///         cells.A -> scale.a: A[i]
///         cells.near -> scale.f: near[i]
///         scale.b -> cells.A: A[i]
///       }
///       w -> near
///       near -> cells.near
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
/// sdfg scaled_often {
///   symbol N: i64
///   symbol T: i64
///   array w: f64[N]
///   array A: f64[N]
///   transient array near: f64[N]
///
///   start "times.before0.case0"
///   for times: t = 0:T {
///     state step {
///       access near
///       access A
///       access next = A
///       map cells [i = 0:N] {
///         tasklet scale (a, f) -> (b) { b = f * a }
///         cells.A -> scale.a: A[i]
///         cells.near -> scale.f: near[i]
///         scale.b -> cells.A: A[i]
///       }
///       near -> cells.near
///       A -> cells.A
///       cells.A -> next
///     }
///   }
///   -> end
///   if "times.before0.case0": 0 < T {
///     state "times.before0" {
///       access w
///       access near
///       w -> near
///     }
///   }
///   -> times
/// }
/// ```
///
/// # Soundness
///
/// The source keeps its values during the loop, so each iteration copies the same. Nothing else sets the target, so it has these
/// values wherever the loop reads it. Where the loop runs no iteration, the copy does not run either: the target keeps its values,
/// and a copy that would trap does not run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CopyHoisting {}

static METADATA: Metadata = Metadata {
    name: "CopyHoisting",
    group: Group::ControlFlow,
    summary: "Moves a copy that does the same in each iteration of a loop in front of the loop.",
    source: "DESIGN, decision 23",
    soundness: Soundness::Always,
    is_strict: false,
    file: include_str!("copy_hoisting.rs"),
    parameters: &[],
};

anchored!(CopyHoisting);

impl Transformation for CopyHoisting {
    described!(METADATA);

    fn moves_between_ranks(&self) -> bool {
        true
    }

    fn pattern(&self) -> Pattern {
        Pattern::path([("source", NodeClass::Access), ("target", NodeClass::Access)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let copy = RepeatedCopy::of(site)?;
        copy.check_nodes(site)?;
        copy.check_containers(site)?;
        copy.check_symbols(site)?;
        copy.check_writes(site)?;
        copy.check_reads(site)?;
        let mut evidence = Evidence::default();
        if copy.guard(site)?.is_none()
            && let Some(range) = copy.counted(site)
        {
            evidence.note(range.symbol.as_str(), Claim::Positive(range.range.steps()));
        }
        Ok(evidence)
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let here = Match { calls: Vec::new(), elements: found.elements.clone() };
        let tables = Tables::new();
        let moved = Site::of(editor.sdfg(), &here, &tables).and_then(|site| {
            let copy = RepeatedCopy::of(&site).ok()?;
            let guard = copy.guard(&site).ok()?;
            Some((copy.edge, copy.around, guard))
        });
        let state = found.state();
        let Some((edge, around, guard)) = moved else { return Err(EditError::NoNode(found.node(0))) };
        let content = editor.state(state)?.edge(edge).clone();
        let before = editor.insert_state_before(around)?;
        let Some(hoisted) = state_of(editor.sdfg(), before) else {
            return Err(EditError::NoBlock(before));
        };
        let mut ends = Vec::new();
        for node in [content.src, content.dst] {
            let mut node = editor.state(state)?.node(node).clone();
            node.label = editor.fresh_label(hoisted, &node.label)?;
            ends.push(editor.add_node(hoisted, node)?);
        }
        editor.add_edge(hoisted, sdfg::ir::Edge { src: ends[0], dst: ends[1], ..content })?;
        if let Some(guard) = guard {
            editor.guard_block(before, &guard, false)?;
        }
        // Nodes without edges go with their last one.
        editor.remove_edge(state, edge)
    }
}

/// A copy in a loop.
struct RepeatedCopy<'p> {
    edge: EdgeId,
    memlet: &'p Memlet,
    source: ContainerId,
    target: ContainerId,
    /// The block of the state.
    block: BlockId,
    /// The innermost loop around it.
    around: BlockId,
    repeated: &'p Loop,
}

impl<'p> RepeatedCopy<'p> {
    fn of(site: &Site<'p>) -> Result<Self, Refusal> {
        let (state, sdfg) = (site.state(), site.sdfg);
        let (from, to) = (site.found.node(0), site.found.node(1));
        let mut copies = state.each_out_edge(from).filter(|(_, edge)| edge.dst == to);
        let (Some((id, edge)), None) = (copies.next(), copies.next()) else {
            return Err(Refusal::structure(site.label(0), "is copied there more than once"));
        };
        let Flow::Copy { from: read, to: written, .. } = &edge.memlet.flow else {
            return Err(Refusal::structure(site.label(0), "is not copied there"));
        };
        let block = state_block(sdfg, site.found.state());
        let around = block.and_then(|block| sdfg.region(sdfg.block(block).region).parent);
        let Some((block, around)) = block.zip(around) else {
            return Err(Refusal::structure(&state.label, "is in no loop"));
        };
        let BlockKind::Loop(repeated) = &sdfg.block(around).kind else {
            return Err(Refusal::structure(&state.label, "is not run by each iteration of a loop"));
        };
        Ok(RepeatedCopy {
            edge: id,
            memlet: &edge.memlet,
            source: read.container,
            target: written.container,
            block,
            around,
            repeated,
        })
    }

    /// The copy is on its own, and each iteration runs it once.
    fn check_nodes(&self, site: &Site<'_>) -> Result<(), Refusal> {
        let (state, sdfg) = (site.state(), site.sdfg);
        let (from, to) = (site.found.node(0), site.found.node(1));
        if self.memlet.resolution().is_some() {
            return Err(Refusal::structure(site.label(1), "gets values that are combined with its own"));
        }
        if site.scopes().scope_of_edge(state, self.edge).is_some() {
            return Err(Refusal::structure(site.label(0), "is copied inside of a scope"));
        }
        if state.each_in_edge(from).next().is_some() {
            return Err(Refusal::structure(site.label(0), "follows other nodes in its state"));
        }
        if state.in_edges(to) != [self.edge] {
            return Err(Refusal::structure(site.label(1), "follows other nodes in its state, too"));
        }
        let runs = ExecutionTable::of(sdfg).within(sdfg, self.block, self.repeated.body);
        match runs.frequency {
            Frequency::Once => Ok(()),
            Frequency::AtMostOnce | Frequency::Unbounded => {
                Err(Refusal::structure(&state.label, "is not run once by each iteration of the loop"))
            }
        }
    }

    fn check_containers(&self, site: &Site<'_>) -> Result<(), Refusal> {
        for id in [self.source, self.target] {
            let container = site.sdfg.container(id);
            let refused = |reason: &str| Err(Refusal::container(&container.name, reason));
            if container.is_stream() || container.is_alias() {
                return refused("is a stream, a view or a reference");
            }
            if container.lifetime == Lifetime::State {
                return refused("loses its values with each run of the state");
            }
        }
        let target = &site.sdfg.container(self.target).name;
        if site.same_memory(self.target).len() > 1 {
            return Err(Refusal::container(target, "has a view, a reference or another name"));
        }
        let [read, written] = [self.memlet.read_access(), self.memlet.write_access()];
        let is_same_part = read.map(Access::subset) == written.map(Access::subset);
        match self.source == self.target && !is_same_part {
            false => Ok(()),
            true => Err(Refusal::container(target, "is copied to another part of itself")),
        }
    }

    /// Neither the copied elements nor the extents of the containers change in the loop, and the loop has the values of its first
    /// iteration before it begins.
    fn check_symbols(&self, site: &Site<'_>) -> Result<(), Refusal> {
        let sdfg = site.sdfg;
        let label = &sdfg.block(self.around).label;
        let mut set: BTreeSet<Symbol> = assigned_symbols_of(sdfg, self.repeated.body).into_iter().collect();
        set.extend(self.repeated.symbol.clone());
        let mut used = free_symbols_of_memlet(self.memlet);
        for id in [self.source, self.target] {
            used.extend(free_symbols_of_container(sdfg.container(id)));
        }
        match set.intersection(&used).next() {
            None => Ok(()),
            Some(symbol) => {
                let reason = format!("changes `{symbol}`, on which the copied elements depend");
                Err(Refusal::structure(label, reason))
            }
        }
    }

    /// The loop keeps the source, and nothing else in it writes the target.
    fn check_writes(&self, site: &Site<'_>) -> Result<(), Refusal> {
        let sdfg = site.sdfg;
        let label = &sdfg.block(self.around).label;
        let name = |id| sdfg.container(id).name.clone();
        let writes = accesses_in(sdfg, self.repeated.body);
        let mut writes = writes.iter().filter(|access| {
            access.writes() && (access.state, access.edge) != (site.found.state(), self.edge)
        });
        if let Some(write) = writes.clone().find(|write| write.container == self.target) {
            return Err(site.used(self.target, Use::Memlet(write.state, write.edge)));
        }
        let same = site.same_memory(self.source);
        if let Some(write) = writes.find(|write| same.contains(&write.container)) {
            let by = format!("`{label}` writes it by `{}[{}]`", name(write.container), write.subset);
            return Err(Refusal::UsedElsewhere { container: name(self.source), by });
        }
        Ok(())
    }

    /// Everything in the loop that reads the target comes after the copy.
    fn check_reads(&self, site: &Site<'_>) -> Result<(), Refusal> {
        let sdfg = site.sdfg;
        let graph = site.region_graph(self.repeated.body);
        let dominators = DominatorTree::dominators(&graph);
        let (from, to) = (site.found.node(0), site.found.node(1));
        let is_in_place = self.source == self.target;
        if is_in_place && site.state().out_edges(from) != [self.edge] {
            return Err(Refusal::structure(site.label(0), "is read before the copy, too"));
        }
        let uses = site.uses();
        for used in uses.of(self.target) {
            let place = match *used {
                Use::Condition(state, _) if state == site.found.state() => {
                    return Err(site.used(self.target, *used));
                }
                Use::Access(state, node) if state == site.found.state() => {
                    if node == to || (node == from && is_in_place) {
                        continue;
                    }
                    return Err(site.used(self.target, *used));
                }
                // An access node of the state stands for it.
                Use::Memlet(..) => continue,
                Use::Access(state, _) | Use::Condition(state, _) => state_block(sdfg, state),
                Use::Block(block) if block == self.around => return Err(site.used(self.target, *used)),
                Use::Block(block) => Some(block),
                Use::Transition(id) => Some(sdfg.transition(id).src),
            };
            let Some(inside) = place.and_then(|block| self.block_of_body(sdfg, block)) else { continue };
            if !dominators.dominates(self.block, inside) {
                return Err(site.used(self.target, *used));
            }
        }
        Ok(())
    }

    /// The block of the body that is another block, or has it inside; `None` outside of the loop.
    fn block_of_body(&self, sdfg: &Sdfg, block: BlockId) -> Option<BlockId> {
        let mut at = block;
        loop {
            let region = sdfg.block(at).region;
            if region == self.repeated.body {
                return Some(at);
            }
            at = sdfg.region(region).parent?;
        }
    }

    fn counted(&self, site: &Site<'p>) -> Option<Counted<'p>> {
        Counted::of_loop(site.sdfg, self.around).ok()
    }

    /// The condition under which the loop has an iteration; `None` if it always has one.
    fn guard(&self, site: &Site<'p>) -> Result<Option<Expression>, Refusal> {
        let (sdfg, repeated) = (site.sdfg, self.repeated);
        if repeated.test_after {
            return Ok(None);
        }
        let known = site.facts().whenever(sdfg, self.around);
        if self.counted(site).is_some_and(|loops| loops.range.steps().is_positive(&known).is_proved()) {
            return Ok(None);
        }
        let (Some(symbol), Some(init)) = (&repeated.symbol, &repeated.init) else {
            return Ok(Some(repeated.condition.clone()));
        };
        if sdfg.symbol_type(symbol).is_some_and(|ty| ty != ScalarType::I64) {
            let label = &sdfg.block(self.around).label;
            let reason = format!("counts with `{symbol}`, whose type is not `i64`");
            return Err(Refusal::structure(label, reason));
        }
        let mut init = init.clone();
        // Beside narrow symbols, a literal would take their type.
        if !computes_in_i64(sdfg, &init) || !computes_in_i64(sdfg, &repeated.condition) {
            init = Expression::call(ScalarType::I64.name(), vec![init]);
        }
        let first = BTreeMap::from([(symbol.to_string(), init)]);
        Ok(Some(repeated.condition.replace_names(&first)))
    }
}
