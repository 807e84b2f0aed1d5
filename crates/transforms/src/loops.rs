//! Legality of rewriting loops: the form of a loop, the life of its symbol, and the independence of its iterations.
//!
//! Every check of a transformation of loops asks here. An answer that is not proved refuses.

use std::collections::BTreeSet;

use sdfg::analysis::control_graph::{ControlStep, expressions};
use sdfg::analysis::dependence::{AccessMode, IteratedAccess, Iteration, Iterations, carried_by_loop, meets};
use sdfg::analysis::loops::counted_range;
use sdfg::analysis::reaching::SymbolDefinition;
use sdfg::analysis::region_graph::tried_transitions;
use sdfg::analysis::symbols::assigned_symbols_of;
use sdfg::analysis::{AccessSets, Use, is_leaf};
use sdfg::dtype::ScalarType;
use sdfg::ir::{
    Block, BlockId, BlockKind, ConflictResolution, Container, ContainerId, ContainerKind, EdgeId, Flow,
    Lifetime, Loop, NodeKind, RegionId, Sdfg, StateId, TaskletBody,
};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::Symbol;
use sdfg::syntax::{Expression, ExpressionKind};

use crate::engine::{Claim, Evidence, Refusal, Site};

/// A loop whose symbol counts through a range.
pub(crate) struct Counted<'p> {
    /// The block.
    pub block: BlockId,
    /// Its contents.
    pub repeated: &'p Loop,
    /// The symbol.
    pub symbol: Symbol,
    /// Its values at the start of the body.
    pub range: Range,
}

impl<'p> Counted<'p> {
    /// The loop at the first position of a match, if it counts and its body runs to its end.
    pub(crate) fn of(site: &Site<'p>) -> Result<Self, Refusal> {
        Counted::of_loop(site.sdfg, site.found.block(0))
    }

    /// The same, for a loop of an SDFG.
    pub(crate) fn of_loop(sdfg: &'p Sdfg, block: BlockId) -> Result<Self, Refusal> {
        let found: &Block = sdfg.block(block);
        let label = found.label.as_str();
        let BlockKind::Loop(repeated) = &found.kind else {
            return Err(Refusal::structure(label, "is no loop"));
        };
        let Some((symbol, range)) = counted_range(sdfg, repeated) else {
            return Err(Refusal::structure(
                label,
                "does not count: its symbol gets a constant step, a bound that the body keeps, and no other value",
            ));
        };
        if let Some(jump) = jump_out(sdfg, repeated.body, false) {
            let jump = &sdfg.block(jump).label;
            return Err(Refusal::structure(label, format!("may be left early, at `{jump}`")));
        }
        Ok(Counted { block, repeated, symbol, range })
    }

    /// The blocks of the body, if they run one after the other, always and without assignments.
    pub(crate) fn row(&self, sdfg: &Sdfg) -> Result<Vec<BlockId>, Refusal> {
        let region = sdfg.region(self.repeated.body);
        let (mut row, mut next) = (Vec::new(), region.start);
        while let Some(block) = next {
            let label = &sdfg.block(block).label;
            if row.len() == region.blocks.len() {
                return Err(Refusal::structure(label, "is reached again in the body"));
            }
            row.push(block);
            next = match tried_transitions(sdfg, block).as_slice() {
                [] => None,
                [only] => {
                    let transition = sdfg.transition(*only);
                    if transition.condition.is_some() || !transition.assignments.is_empty() {
                        return Err(Refusal::structure(label, "goes on with a condition or an assignment"));
                    }
                    Some(transition.dst)
                }
                [_, _, ..] => return Err(Refusal::structure(label, "goes on to several blocks")),
            };
        }
        if row.is_empty() || row.len() != region.blocks.len() {
            let label = &sdfg.block(self.block).label;
            return Err(Refusal::structure(label, "has a body that is no row of blocks"));
        }
        Ok(row)
    }

    /// Refuses a symbol that is read after the loop, where it holds its last value, and symbols that the body sets and that
    /// are read after the loop or before they are set in an iteration.
    pub(crate) fn symbols_die(&self, site: &Site<'_>) -> Result<(), Refusal> {
        self.symbols_die_with(site, &BTreeSet::new())
    }

    /// The same, if the containers of `moved` go where the body sets its symbols: these may size them.
    pub(crate) fn symbols_die_with(
        &self,
        site: &Site<'_>,
        moved: &BTreeSet<ContainerId>,
    ) -> Result<(), Refusal> {
        let sdfg = site.sdfg;
        let label = sdfg.block(self.block).label.as_str();
        if sdfg.symbol_type(&self.symbol).is_some_and(|ty| ty != ScalarType::I64) {
            let reason = format!("counts with `{}`, whose type is not `i64`", self.symbol);
            return Err(Refusal::structure(label, reason));
        }
        let inner = blocks_in(sdfg, self.repeated.body);
        let is_own = |definition: &SymbolDefinition| match definition {
            SymbolDefinition::Undefined | SymbolDefinition::Caller => false,
            SymbolDefinition::Init(block) | SymbolDefinition::Update(block) => {
                *block == self.block || inner.contains(block)
            }
            SymbolDefinition::Assign(id) => inner.contains(&sdfg.transition(*id).src),
        };
        let mut set: BTreeSet<Symbol> = assigned_symbols_of(sdfg, self.repeated.body).into_iter().collect();
        let body_sets = set.clone();
        set.insert(self.symbol.clone());
        let uses = site.symbol_uses();
        let sized = |symbol| uses.sized(symbol).iter().map(move |id| (*id, symbol));
        let fixed = |(id, symbol): &(ContainerId, &Symbol)| **symbol == self.symbol || !moved.contains(id);
        if let Some((id, symbol)) = set.iter().flat_map(sized).filter(fixed).min() {
            let name = &sdfg.container(id).name;
            let reason = format!("sets `{symbol}`, on which the shape or distribution of `{name}` depends");
            return Err(Refusal::structure(label, reason));
        }
        let reaching = site.reaching_symbols();
        let start = sdfg.region(self.repeated.body).start;
        let own = own_steps(sdfg, self.block, &inner);
        let mut readers: Vec<(usize, &Symbol, ControlStep)> = Vec::new();
        for symbol in &set {
            let is_near =
                |step| block_of(sdfg, step).is_some_and(|at| at == self.block || inner.contains(&at));
            let (near, far): (Vec<_>, Vec<_>) =
                uses.readers(symbol).iter().copied().partition(|(_, step)| is_near(*step));
            readers.extend(near.into_iter().map(|(at, step)| (at, symbol, step)));
            // The steps behind the loop are many, and a symbol is seldom read there.
            if !far.is_empty() {
                let reached = reaching.reached_after(own.iter().copied(), symbol);
                let seen = far.into_iter().filter(|(_, step)| reached.contains(*step));
                readers.extend(seen.map(|(at, step)| (at, symbol, step)));
            }
        }
        // The first reader in the order of the program gives the reason.
        readers.sort_unstable();
        for (_, symbol, step) in readers {
            let block = block_of(sdfg, step);
            let is_inside = block.is_some_and(|block| inner.contains(&block));
            let is_header =
                block == Some(self.block) && !matches!(step, ControlStep::Try(_) | ControlStep::Take(_));
            let definitions = reaching.at(step, symbol);
            if !is_inside && !is_header && definitions.iter().any(is_own) {
                let reason = format!("sets `{symbol}`, which is read after it");
                return Err(Refusal::structure(label, reason));
            }
            if is_inside && body_sets.contains(symbol) {
                // A value from before the loop gets here in the first iteration: a value of the iteration before in later ones.
                let mut foreign = definitions.iter().filter(|definition| !is_own(definition)).peekable();
                let earlier = match (foreign.peek(), start) {
                    (Some(_), Some(start)) => reaching.before(sdfg, start, symbol),
                    (None, _) | (_, None) => BTreeSet::new(),
                };
                if foreign.any(|definition| earlier.contains(definition)) {
                    let reason = format!("reads `{symbol}` in an iteration before it is set there");
                    return Err(Refusal::structure(label, reason));
                }
            }
            if is_header && body_sets.contains(symbol) {
                let reason = format!("reads `{symbol}`, which its body sets");
                return Err(Refusal::structure(label, reason));
            }
        }
        Ok(())
    }

    /// The transients that each iteration has for itself: each iteration writes what it reads of them, and nothing reads them
    /// after the loop or uses them elsewhere.
    pub(crate) fn private(&self, site: &Site<'_>) -> BTreeSet<ContainerId> {
        let sdfg = site.sdfg;
        let Some(start) = sdfg.region(self.repeated.body).start else { return BTreeSet::new() };
        let (liveness, uses) = (site.liveness(), site.uses());
        let inner = blocks_in(sdfg, self.repeated.body);
        let states: BTreeSet<StateId> = inner.iter().filter_map(|block| state_in(sdfg, *block)).collect();
        let is_inside = |used: &Use| match *used {
            Use::Access(state, _) | Use::Memlet(state, _) | Use::Condition(state, _) => {
                states.contains(&state)
            }
            Use::Block(block) => inner.contains(&block),
            Use::Transition(id) => inner.contains(&sdfg.transition(id).src),
        };
        let sets = AccessSets::of_region(sdfg, self.repeated.body);
        let used: BTreeSet<ContainerId> = sets.reads.union(&sets.writes).copied().collect();
        let is_private = |id: &ContainerId| {
            let container = sdfg.container(*id);
            let dies = match container.lifetime {
                Lifetime::Scope | Lifetime::State | Lifetime::Sdfg => true,
                Lifetime::Persistent | Lifetime::External => false,
            };
            let is_plain = matches!(container.kind, ContainerKind::Array(_) | ContainerKind::Scalar);
            let is_read_across =
                liveness.before(start).contains(*id) || liveness.after(self.block).contains(*id);
            container.transient
                && container.constant.is_none()
                && dies
                && is_plain
                && !is_read_across
                && uses.of(*id).iter().all(is_inside)
        };
        used.into_iter().filter(is_private).collect()
    }

    /// The views that the body only reads, also through views of them, of containers that it does not write: reading them is
    /// never a conflict.
    pub(crate) fn read_views(&self, site: &Site<'_>) -> BTreeSet<ContainerId> {
        let sdfg = site.sdfg;
        let body = self.repeated.body;
        let states: Vec<StateId> =
            blocks_in(sdfg, body).into_iter().filter_map(|block| state_in(sdfg, block)).collect();
        let written = AccessSets::of_region(sdfg, body).through_aliases(sdfg).writes;
        let uses = site.uses();
        let is_read = |used: &Use, views: &BTreeSet<ContainerId>| match *used {
            Use::Access(state, node) => {
                let graph = sdfg.state(state);
                let into: Vec<EdgeId> = graph.in_edges(node);
                let binds = |edge: &EdgeId| match &graph.edge(*edge).memlet.flow {
                    Flow::Bind(target) => !written.contains(&target.container),
                    Flow::Order | Flow::Read(_) | Flow::Write { .. } | Flow::Copy { .. } | Flow::Value => {
                        false
                    }
                };
                let reads = |(_, edge): (EdgeId, &sdfg::ir::Edge)| match edge.memlet.flow {
                    Flow::Order | Flow::Read(_) | Flow::Copy { .. } => true,
                    Flow::Bind(_) => {
                        graph.node(edge.dst).kind.container().is_some_and(|id| views.contains(&id))
                    }
                    Flow::Write { .. } | Flow::Value => false,
                };
                states.contains(&state)
                    && matches!(&into[..], [edge] if binds(edge))
                    && graph.each_out_edge(node).all(reads)
            }
            Use::Memlet(state, _) => states.contains(&state),
            Use::Condition(..) | Use::Block(_) | Use::Transition(_) => false,
        };
        let is_view = |container: &Container| matches!(container.kind, ContainerKind::View(_));
        let views = sdfg.containers().filter(|(_, container)| is_view(container)).map(|(id, _)| id);
        // Without uses, a view does not go along with the body.
        let is_read_only = |id: &ContainerId| !written.contains(id) && !uses.of(*id).is_empty();
        let mut views: BTreeSet<ContainerId> = views.filter(is_read_only).collect();
        loop {
            let read = |id: &ContainerId| uses.of(*id).iter().all(|used| is_read(used, &views));
            let left: BTreeSet<ContainerId> = views.iter().copied().filter(read).collect();
            if left.len() == views.len() {
                return left;
            }
            views = left;
        }
    }

    /// Proves that no iteration touches what another one writes, apart from private containers and sums of both. Views among
    /// the private containers are those of [`read_views`](Counted::read_views).
    pub(crate) fn independent(
        &self,
        site: &Site<'_>,
        private: &BTreeSet<ContainerId>,
        evidence: &mut Evidence,
    ) -> Result<(), Refusal> {
        let sdfg = site.sdfg;
        plain_contents(sdfg, self.block, self.repeated.body, private)?;
        let accesses = accesses_in(sdfg, self.repeated.body);
        let facts = site.facts();
        for write in accesses.iter().filter(|access| access.writes() && !private.contains(&access.container))
        {
            let container = sdfg.container(write.container);
            for other in accesses.iter().filter(|other| other.container == write.container) {
                if write.combines_with(other) {
                    continue;
                }
                let carried = [(write, other), (other, write)].into_iter().find(|(first, second)| {
                    let ends = [first, second].map(|end| (end.state, end.edge, end.mode));
                    !carried_by_loop(sdfg, &facts, self.block, ends[0], ends[1]).exists.is_refuted()
                });
                if carried.is_some() {
                    return Err(self.conflict(container, &write.subset, &other.subset));
                }
                evidence.note(container.name.clone(), self.claim(&write.subset, &other.subset));
            }
            for (block, read) in control_reads(sdfg, self.repeated.body, &container.name) {
                let is_apart = read.as_ref().is_some_and(|read| self.is_apart(site, write, block, read));
                if !is_apart {
                    let read = read.unwrap_or_else(|| Subset::full(container.shape()));
                    return Err(self.conflict(container, &write.subset, &read));
                }
            }
        }
        Ok(())
    }

    fn claim(&self, first: &Subset, second: &Subset) -> Claim {
        Claim::Apart {
            symbol: self.symbol.clone(),
            range: self.range.clone(),
            first: first.clone(),
            second: second.clone(),
        }
    }

    fn conflict(&self, container: &Container, first: &Subset, second: &Subset) -> Refusal {
        Refusal::Conflict {
            container: container.name.clone(),
            first: format!("`{}[{first}]`", container.name),
            second: format!("`{}[{second}]`", container.name),
            reason: "may touch the same element in different iterations",
        }
    }

    /// Whether a write and the read of an element by control flow at a block meet in no two iterations.
    fn is_apart(&self, site: &Site<'_>, write: &Accessed, block: BlockId, read: &Subset) -> bool {
        let sdfg = site.sdfg;
        let state = sdfg.state(write.state);
        let around = |block| loops_around(sdfg, self.block, block);
        let Some(own) = state_block(sdfg, write.state) else { return false };
        let Some(mut written) =
            IteratedAccess::of_edge(state, &site.scopes_of(write.state), write.edge, write.mode)
        else {
            return false;
        };
        written.around.splice(0..0, around(own));
        let read = IteratedAccess { around: around(block), subset: read.clone(), certain: false };
        let known = site.facts().whenever(sdfg, self.block);
        let later = Iteration::Later(0);
        meets(&written, &read, 1, later, &known).is_refuted()
            && meets(&read, &written, 1, later, &known).is_refuted()
    }
}

/// The iterations of a loop and of the loops in it around a block, the outermost first.
fn loops_around(sdfg: &Sdfg, outermost: BlockId, block: BlockId) -> Vec<Iterations> {
    let parent = |block: &BlockId| sdfg.region(sdfg.block(*block).region).parent;
    let mut found = Vec::new();
    // The header of an inner loop is evaluated with the symbol of that loop, too.
    for around in std::iter::successors(Some(block), parent) {
        found.extend(Iterations::of_loop(sdfg, around));
        if around == outermost {
            break;
        }
    }
    found.reverse();
    found
}

/// An end of a memlet in a loop.
pub(crate) struct Accessed {
    pub(crate) state: StateId,
    pub(crate) edge: EdgeId,
    pub(crate) mode: AccessMode,
    pub(crate) container: ContainerId,
    pub(crate) subset: Subset,
    resolution: Option<ConflictResolution>,
}

impl Accessed {
    pub(crate) fn writes(&self) -> bool {
        self.mode == AccessMode::Write
    }

    /// Whether both combine with the same element in a way that has no order.
    pub(crate) fn combines_with(&self, other: &Accessed) -> bool {
        self.writes()
            && other.writes()
            && self.resolution == other.resolution
            && self.resolution.as_ref().is_some_and(has_no_order)
    }
}

/// Whether a resolution gives the same result in every order, up to rounding.
fn has_no_order(resolution: &ConflictResolution) -> bool {
    !matches!(resolution, ConflictResolution::Replace | ConflictResolution::Custom(_))
}

/// The accesses of the leaf edges in the states of a region.
pub(crate) fn accesses_in(sdfg: &Sdfg, region: RegionId) -> Vec<Accessed> {
    let states = blocks_in(sdfg, region).into_iter().filter_map(|block| state_in(sdfg, block));
    states.flat_map(|state| accesses_of_state(sdfg, state)).collect()
}

/// The accesses of the leaf edges of a state.
pub(crate) fn accesses_of_state(sdfg: &Sdfg, state: StateId) -> Vec<Accessed> {
    let graph = sdfg.state(state);
    let mut found = Vec::new();
    for (edge, content) in graph.edges().filter(|(edge, _)| is_leaf(graph, *edge)) {
        let memlet = &content.memlet;
        let ends = [(AccessMode::Read, memlet.read_access()), (AccessMode::Write, memlet.write_access())];
        for (mode, access) in ends {
            let Some(access) = access else { continue };
            let resolution = memlet.resolution().filter(|_| mode == AccessMode::Write).cloned();
            let (container, subset) = (access.container, access.subset().clone());
            found.push(Accessed { state, edge, mode, container, subset, resolution });
        }
    }
    found
}

/// Refuses contents whose effects memlets do not tell, or that have an order.
fn plain_contents(
    sdfg: &Sdfg,
    block: BlockId,
    region: RegionId,
    private: &BTreeSet<ContainerId>,
) -> Result<(), Refusal> {
    for state in blocks_in(sdfg, region).into_iter().filter_map(|block| state_in(sdfg, block)) {
        plain_state_but(sdfg, state, private)?;
    }
    let reads = sdfg::analysis::accesses::control_reads_of(sdfg, region);
    if let Some(alias) = reads.iter().map(|id| sdfg.container(*id)).find(|container| container.is_alias()) {
        let label = &sdfg.block(block).label;
        return Err(Refusal::structure(label, format!("reads `{}`, a view or reference", alias.name)));
    }
    Ok(())
}

/// Refuses a state whose effects memlets do not tell, or that have an order.
pub(crate) fn plain_state(sdfg: &Sdfg, state: StateId) -> Result<(), Refusal> {
    plain_state_but(sdfg, state, &BTreeSet::new())
}

/// The same, where some views are known to be harmless.
fn plain_state_but(sdfg: &Sdfg, state: StateId, views: &BTreeSet<ContainerId>) -> Result<(), Refusal> {
    let graph = sdfg.state(state);
    for (_, node) in graph.nodes() {
        let reason = match &node.kind {
            NodeKind::ConsumeEntry(_) | NodeKind::ConsumeExit(_) => "takes elements from a stream",
            NodeKind::Tasklet(tasklet) if matches!(tasklet.body, TaskletBody::External(_)) => {
                "calls a foreign function"
            }
            NodeKind::Nested(nested) if keeps_state(&nested.sdfg) => {
                "calls an SDFG with streams, foreign functions or containers that last from call to call"
            }
            NodeKind::Access(id) if sdfg.container(*id).is_stream() => "is a stream",
            NodeKind::Access(id) if sdfg.container(*id).is_alias() && !views.contains(id) => {
                "is a view or reference"
            }
            NodeKind::Access(_)
            | NodeKind::Tasklet(_)
            | NodeKind::MapEntry(_)
            | NodeKind::MapExit(_)
            | NodeKind::Nested(_)
            | NodeKind::Reduce(_)
            | NodeKind::Library(_) => continue,
        };
        return Err(Refusal::structure(&node.label, reason));
    }
    let binds_another = |edge: &sdfg::ir::Edge| {
        let bound = graph.node(edge.dst).kind.container();
        matches!(edge.memlet.flow, Flow::Bind(_)) && bound.is_none_or(|bound| !views.contains(&bound))
    };
    if let Some((_, edge)) = graph.edges().find(|(_, edge)| binds_another(edge)) {
        return Err(Refusal::structure(&graph.node(edge.src).label, "binds a view or reference"));
    }
    Ok(())
}

/// Whether calls of an SDFG may have effects beyond the memlets at the call.
fn keeps_state(sdfg: &Sdfg) -> bool {
    let lasts = |container: &Container| match container.lifetime {
        Lifetime::Persistent | Lifetime::External => container.transient,
        Lifetime::Scope | Lifetime::State | Lifetime::Sdfg => container.is_stream(),
    };
    let acts = |kind: &NodeKind| match kind {
        NodeKind::Tasklet(tasklet) => matches!(tasklet.body, TaskletBody::External(_)),
        NodeKind::Nested(nested) => keeps_state(&nested.sdfg),
        NodeKind::ConsumeEntry(_) | NodeKind::ConsumeExit(_) => true,
        NodeKind::Access(_)
        | NodeKind::MapEntry(_)
        | NodeKind::MapExit(_)
        | NodeKind::Reduce(_)
        | NodeKind::Library(_) => false,
    };
    sdfg.containers().any(|(_, container)| lasts(container))
        || sdfg.states().any(|(_, state)| state.nodes().any(|(_, node)| acts(&node.kind)))
}

/// The blocks in a region and in the regions inside it.
pub(crate) fn blocks_in(sdfg: &Sdfg, region: RegionId) -> BTreeSet<BlockId> {
    let (mut found, mut waiting) = (BTreeSet::new(), vec![region]);
    while let Some(region) = waiting.pop() {
        for block in &sdfg.region(region).blocks {
            if found.insert(*block) {
                waiting.extend(sdfg.block(*block).kind.regions());
            }
        }
    }
    found
}

/// The state of a block, if it runs one.
pub(crate) fn state_in(sdfg: &Sdfg, block: BlockId) -> Option<StateId> {
    crate::engine::state_of(sdfg, block)
}

/// The block that runs a state.
pub(crate) fn state_block(sdfg: &Sdfg, state: StateId) -> Option<BlockId> {
    sdfg.blocks().map(|(block, _)| block).find(|block| state_in(sdfg, *block) == Some(state))
}

/// A break, continue or return that leaves a region; `in_loop` if a loop of the region is around.
pub(crate) fn jump_out(sdfg: &Sdfg, region: RegionId, in_loop: bool) -> Option<BlockId> {
    sdfg.region(region).blocks.iter().find_map(|id| match &sdfg.block(*id).kind {
        BlockKind::State(_) => None,
        BlockKind::Return => Some(*id),
        BlockKind::Break | BlockKind::Continue => (!in_loop).then_some(*id),
        BlockKind::Loop(repeated) => jump_out(sdfg, repeated.body, true),
        BlockKind::Branch(_) => {
            let arms = sdfg.block(*id).kind.regions();
            arms.into_iter().find_map(|arm| jump_out(sdfg, arm, in_loop))
        }
    })
}

fn block_of(sdfg: &Sdfg, step: ControlStep) -> Option<BlockId> {
    match step {
        ControlStep::State(block)
        | ControlStep::Jump(block)
        | ControlStep::Init(block)
        | ControlStep::Test(block)
        | ControlStep::Update(block)
        | ControlStep::Arm(block, _)
        | ControlStep::Done(block) => Some(block),
        ControlStep::Try(id) | ControlStep::Take(id) => Some(sdfg.transition(id).src),
        ControlStep::Entry | ControlStep::Exit => None,
    }
}

/// The elements of a container that the control flow of a region reads, each with the block that reads it; `None` for an index
/// that is no integer expression.
fn control_reads(sdfg: &Sdfg, region: RegionId, name: &str) -> Vec<(BlockId, Option<Subset>)> {
    let inner = blocks_in(sdfg, region);
    let shape = sdfg.find_container(name).map(|id| sdfg.container(id).shape().to_vec()).unwrap_or_default();
    let is_data = |subset: &Subset| {
        subset.free_symbols().iter().any(|symbol| sdfg.find_container(symbol.as_str()).is_some())
    };
    let mut found = Vec::new();
    for (block, value) in expressions_in(sdfg, &inner) {
        value.visit(&mut |part: &Expression| match &part.kind {
            ExpressionKind::Subscript { base, indices } if base.text == name => {
                let subset = Subset::from_indices(indices, &shape).ok();
                found.push((block, subset.filter(|subset| !is_data(subset))));
            }
            ExpressionKind::Name(own) if own == name => {
                found.push((block, Some(Subset::full(&shape))));
            }
            _ => {}
        });
    }
    found
}

/// The steps of a loop and of the blocks in it that may set symbols.
fn own_steps(sdfg: &Sdfg, block: BlockId, inner: &BTreeSet<BlockId>) -> Vec<ControlStep> {
    let mut found = vec![ControlStep::Init(block), ControlStep::Update(block)];
    for block in inner {
        found.extend([ControlStep::Init(*block), ControlStep::Update(*block)]);
        found.extend(sdfg.transitions_from(*block).into_iter().map(ControlStep::Take));
    }
    found
}

/// The expressions of control flow that blocks and the transitions from them evaluate, each with its block.
fn expressions_in<'p>(sdfg: &'p Sdfg, blocks: &BTreeSet<BlockId>) -> Vec<(BlockId, &'p Expression)> {
    let mut found = Vec::new();
    for block in blocks {
        let steps = match &sdfg.block(*block).kind {
            BlockKind::Loop(_) => {
                vec![ControlStep::Init(*block), ControlStep::Test(*block), ControlStep::Update(*block)]
            }
            BlockKind::Branch(branch) => {
                (0..branch.arms.len()).map(|at| ControlStep::Arm(*block, at)).collect()
            }
            BlockKind::State(_) | BlockKind::Break | BlockKind::Continue | BlockKind::Return => Vec::new(),
        };
        let ways = sdfg.transitions_from(*block).into_iter();
        let ways = ways.flat_map(|id| [ControlStep::Try(id), ControlStep::Take(id)]);
        let values = steps.into_iter().chain(ways).flat_map(|step| expressions(sdfg, step));
        found.extend(values.map(|value| (*block, value)));
    }
    found
}
