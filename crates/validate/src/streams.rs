//! Rule: streams that provably wait for ever (`docs/semantics.md`, "Streams"), or whose elements are never
//! taken.
//!
//! The rule covers only transient streams that begin empty, because the contents of arguments and persistent
//! streams are unknown. An error means that the pop or push waits for ever whenever it runs.

use std::collections::{BTreeMap, BTreeSet};

use sdfg_graph::analysis::loops::counted_range;
use sdfg_graph::analysis::{RegionGraph, consumed_by, is_leaf, leads_to, node_leads_to};
use sdfg_graph::diagnostic::{Code, Diagnostic, Element, Secondary};
use sdfg_graph::ir::{
    BlockId, BlockKind, ContainerId, ContainerKind, EdgeId, Flow, Lifetime, NodeId, NodeKind, RegionId, Sdfg,
    State, StateId, Volume,
};
use sdfg_language::symbolic::{Assumptions, Expr};

use super::dataflow::is_consumed;
use super::persistent_set::PersistentSet;
use super::scope_context::{ScopeContext, ScopeContexts};
use super::site::{Findings, Program, Site};

/// One edge that pushes to or pops from a stream.
struct Use {
    block: BlockId,
    state: StateId,
    edge: EdgeId,
    /// Scopes around it, up to the one whose iterations each have a stream of their own.
    scopes: Vec<NodeId>,
    /// Minimum and maximum number of elements in one execution of the state; `None` if it is unknown.
    least: Option<Expr>,
    most: Option<Expr>,
    /// Whether it waits for an element, or for room.
    waits: bool,
    /// Whether the stream is there for the whole state: a scope around it may have no iterations.
    is_shared: bool,
    finding: Diagnostic,
}

/// The uses of every stream of an SDFG.
#[derive(Default)]
pub(super) struct Streams {
    pushes: BTreeMap<ContainerId, Vec<Use>>,
    pops: BTreeMap<ContainerId, Vec<Use>>,
}

impl Streams {
    /// Adds the uses in a state.
    pub(super) fn collect(&mut self, program: &Program<'_>, site: &Site<'_>, frames: &ScopeContexts) {
        let Some(block) = program.block_of(site.id) else { return };
        // What never runs waits for nothing.
        let runs = || executions(program, block) != Some(Expr::zero());
        for (id, edge) in site.state.edges() {
            let memlet = &edge.memlet;
            if !is_leaf(site.state, id) {
                continue;
            }
            if let Some(access) = memlet.read_access().filter(|access| access.is_queue()) {
                let waits = pop_waits(site, id) && runs();
                let found = Use::of(program, site, frames, block, id, access.container, waits);
                self.pops.entry(access.container).or_default().push(found);
            }
            if let Some(access) = memlet.write_access().filter(|access| access.is_queue()) {
                let waits = !memlet.volume.is_dynamic() && !is_call(site, edge.src) && runs();
                let found = Use::of(program, site, frames, block, id, access.container, waits);
                self.pushes.entry(access.container).or_default().push(found);
            }
        }
    }

    /// Judges every stream. Those that are answered for here are given back.
    pub(super) fn check(&self, program: &Program<'_>, findings: &mut Findings) -> BTreeSet<ContainerId> {
        let mut answered = BTreeSet::new();
        let known = ScopeContext::outermost(program, PersistentSet::new()).assumptions;
        let begins_empty = |id: ContainerId| {
            let container = program.sdfg.container(id);
            container.transient
                && matches!(container.lifetime, Lifetime::Scope | Lifetime::State | Lifetime::Sdfg)
        };
        let crossed = crossed(program, &self.pushes, &self.pops, &begins_empty, &known);
        for (id, container) in program.sdfg.containers() {
            let ContainerKind::Stream { shape, capacity } = &container.kind else { continue };
            if !begins_empty(id) {
                continue;
            }
            let none = Vec::new();
            let (pushes, pops) = (self.pushes.get(&id).unwrap_or(&none), self.pops.get(&id).unwrap_or(&none));
            let declared = Secondary {
                message: "the stream".to_owned(),
                path: program.path.to(Element::Container(container.name.clone())),
                loc: container.loc.clone(),
            };
            let room = capacity.as_ref().map(|capacity| capacity * shape.iter().cloned().product::<Expr>());
            let stuck = starved(program, &container.name, pushes, pops, &known)
                .or_else(|| overfull(program, &container.name, &room?, pushes, pops, &known))
                .or_else(|| crossed.iter().find(|(stream, _)| *stream == id).map(|(_, found)| found.clone()));
            if let Some(found) = stuck {
                findings.push(found.also(declared));
                answered.insert(id);
            } else if !pushes.is_empty() && pops.is_empty() {
                let message = format!("elements are pushed to `{}`, and nothing takes them", container.name);
                let path = program.path.to(Element::Container(container.name.clone()));
                let warning =
                    Diagnostic::warning(Code::NeverPopped, path, message).at(container.loc.as_ref());
                findings.push(warning.suggest("pop them, or make the stream an argument"));
            }
        }
        answered
    }
}

/// A pop that no push serves.
fn starved(
    program: &Program<'_>,
    name: &str,
    pushes: &[Use],
    pops: &[Use],
    known: &Assumptions,
) -> Option<Diagnostic> {
    for pop in pops.iter().filter(|pop| pop.waits) {
        if pushes.iter().any(|push| may_precede(program, push, pop)) {
            continue;
        }
        let why = if pushes.is_empty() { "nothing pushes to it" } else { "every push to it comes later" };
        let message = format!("this pop from `{name}` waits for ever: {why}");
        let found = Diagnostic { message, ..pop.finding.clone() };
        return Some(
            found.suggest("push before or beside it, or take what is there with a `dynamic` volume"),
        );
    }
    // As many elements as one state pushes are there for its pops, if no other state takes part.
    let state = pops.first()?.state;
    let is_alone = pops.iter().chain(pushes).all(|found| found.state == state);
    if !is_alone && pushes.len() > 16 {
        return None;
    }
    let given = |push: &Use| {
        let most = push.most.clone()?;
        // Symbols may have other values in other states.
        if is_alone { Some(most) } else { Some((most * executions(program, push.block)?).as_int()?.into()) }
    };
    let given: Expr = pushes.iter().map(given).sum::<Option<Expr>>()?;
    // In any case no state has more for its pops than all pushes together give.
    let states: BTreeSet<StateId> = pops.iter().map(|pop| pop.state).collect();
    for state in states {
        let own = || pops.iter().filter(|pop| pop.state == state && pop.waits);
        let wanted: Expr = own().filter_map(|pop| pop.least.clone()).sum();
        let is_comparable = is_alone || wanted.is_constant();
        if is_comparable && (&wanted - &given).is_positive(known).is_proved() {
            let message = format!(
                "this pop from `{name}` waits for ever: {wanted} elements are popped, {given} are pushed"
            );
            let found = Diagnostic { message, ..own().next_back()?.finding.clone() };
            return Some(found.suggest("push as many as are popped"));
        }
    }
    None
}

/// Maximum number of executions of a block, if only loops with constant ends repeat it.
fn executions(program: &Program<'_>, block: BlockId) -> Option<Expr> {
    let sdfg = program.sdfg;
    let mut times = Expr::one();
    for (region, block) in ancestors(sdfg, block) {
        if runs_before(&program.region_graph(region), block, block) {
            return None;
        }
        if let Some(holder) = sdfg.region(region).parent
            && let BlockKind::Loop(repeated) = &sdfg.block(holder).kind
        {
            let (_, range) = counted_range(sdfg, repeated)?;
            times = times * range.count().as_int()?;
        }
    }
    Some(times)
}

/// Pops of one state that wait for each other: each push that could serve one of them comes after another of them.
fn crossed(
    program: &Program<'_>,
    pushes: &BTreeMap<ContainerId, Vec<Use>>,
    pops: &BTreeMap<ContainerId, Vec<Use>>,
    begins_empty: &dyn Fn(ContainerId) -> bool,
    known: &Assumptions,
) -> Vec<(ContainerId, Diagnostic)> {
    let runs = |pop: &Use| pop.least.as_ref().is_some_and(|least| least.is_positive(known).is_proved());
    let mut stuck: Vec<(ContainerId, &Use)> = pops
        .iter()
        .filter(|(id, _)| begins_empty(**id))
        .flat_map(|(id, uses)| uses.iter().map(|pop| (*id, pop)))
        .filter(|(_, pop)| pop.waits && pop.is_shared && runs(pop))
        .collect();
    // A pop is not stuck if something may push before any of the stuck ones is done; then those behind it are not, either.
    loop {
        let is_kept = |(id, pop): &(ContainerId, &Use)| {
            pushes.get(id).into_iter().flatten().all(|push| {
                let waits = |(_, other): &(ContainerId, &Use)| {
                    other.state == push.state
                        && (other.edge == push.edge
                            || comes_after(program.sdfg.state(push.state), other.edge, push.edge))
                };
                push.state == pop.state && stuck.iter().any(waits)
            })
        };
        let kept: Vec<(ContainerId, &Use)> = stuck.iter().copied().filter(is_kept).collect();
        if kept.len() == stuck.len() {
            break;
        }
        stuck = kept;
    }
    let names = |id: ContainerId| program.sdfg.container(id).name.clone();
    let others: BTreeSet<String> = stuck.iter().map(|(id, _)| format!("`{}`", names(*id))).collect();
    let others = others.into_iter().collect::<Vec<_>>().join(" and ");
    stuck
        .into_iter()
        .map(|(id, pop)| {
            let message = format!(
                "this pop from `{}` waits for ever: every push to it comes after a pop that waits, too; so do all from \
                 {others}",
                names(id)
            );
            (id, Diagnostic { message, ..pop.finding.clone() }.suggest("push one of them before the pops"))
        })
        .collect()
}

/// A push beyond the room of all queues together, while nothing pops.
fn overfull(
    program: &Program<'_>,
    name: &str,
    room: &Expr,
    pushes: &[Use],
    pops: &[Use],
    known: &Assumptions,
) -> Option<Diagnostic> {
    for push in pushes.iter().filter(|push| push.waits) {
        let state = program.sdfg.state(push.state);
        let may_help = |pop: &Use| {
            let is_outside = !push.scopes.iter().any(|scope| pop.scopes.contains(scope));
            pop.state == push.state && !(is_outside && comes_after(state, push.edge, pop.edge))
        };
        let fills = push.least.as_ref().filter(|least| (*least - room).is_positive(known).is_proved());
        if let Some(count) = fills.filter(|_| !pops.iter().any(may_help)) {
            let message = format!(
                "this push to `{name}` waits for ever: it pushes {count} elements, there is room for {room}, and none is \
                 popped before"
            );
            let found = Diagnostic { message, ..push.finding.clone() };
            return Some(found.suggest("enlarge the capacity, or pop beside it from another access node"));
        }
    }
    None
}

impl Use {
    fn of(
        program: &Program<'_>,
        site: &Site<'_>,
        frames: &ScopeContexts,
        block: BlockId,
        id: EdgeId,
        container: ContainerId,
        waits: bool,
    ) -> Use {
        let owner = program.owning_scope(container);
        let scopes = frames.scopes.enclosing_scope(frames.scopes.scope_of_edge(site.state, id));
        let scopes: Vec<NodeId> = scopes.take_while(|scope| Some(*scope) != owner).collect();
        let volume = &site.state.edge(id).memlet.volume;
        let times = repetitions(site, frames, &scopes);
        let count = |bound: &Expr| Some(bound * times.as_ref()?);
        let is_code = matches!(site.state.node(site.state.edge(id).src).kind, NodeKind::Nested(_));
        let (least, most) = match volume {
            Volume::Exact(n) if !is_code => (count(n), count(n)),
            Volume::Exact(_) | Volume::Dynamic => (None, None),
            Volume::AtMost(n) => (None, if is_code { None } else { count(n) }),
        };
        let finding = site.edge_error(Code::Deadlock, id, "");
        Use {
            block,
            state: site.id,
            edge: id,
            scopes,
            least,
            most,
            waits,
            is_shared: owner.is_none(),
            finding,
        }
    }
}

/// Number of executions of the contents of these scopes, if each of them always has the same, positive number
/// of iterations.
fn repetitions(site: &Site<'_>, frames: &ScopeContexts, scopes: &[NodeId]) -> Option<Expr> {
    let mut times = Expr::one();
    for scope in scopes {
        let NodeKind::MapEntry(map) = &site.state.node(*scope).kind else { return None };
        for count in map.ranges.0.iter().map(|range| range.count()) {
            let is_fixed = count.free_symbols().iter().all(|symbol| frames.top().defined.contains(symbol))
                && (&count - 1).is_nonnegative(&frames.top().assumptions).is_proved();
            if !is_fixed {
                return None;
            }
            times = times * count;
        }
    }
    Some(times)
}

/// Whether an edge pops an exact number of elements itself: what enters a consume scope was taken by the scope, and what
/// a call takes is decided inside.
fn pop_waits(site: &Site<'_>, id: EdgeId) -> bool {
    let edge = site.state.edge(id);
    let consumed = consumed_by(site.state, id).is_some();
    let enters = is_consumed(site, edge);
    let exact = match &edge.memlet.volume {
        Volume::Exact(count) => count.as_int().is_none_or(|count| count > 0),
        Volume::AtMost(_) | Volume::Dynamic => false,
    };
    let copies = matches!(edge.memlet.flow, Flow::Copy { .. });
    let is_sure = copies || exact_one(&edge.memlet.volume);
    exact && is_sure && !consumed && !enters && !is_call(site, edge.dst)
}

fn exact_one(volume: &Volume) -> bool {
    matches!(volume, Volume::Exact(count) if count.is_one())
}

fn is_call(site: &Site<'_>, node: NodeId) -> bool {
    matches!(site.state.node(node).kind, NodeKind::Nested(_) | NodeKind::Library(_) | NodeKind::Reduce(_))
}

/// Whether a push may happen before the first time that a pop runs.
fn may_precede(program: &Program<'_>, push: &Use, pop: &Use) -> bool {
    let sdfg = program.sdfg;
    if push.state == pop.state {
        // Were it run again, the pop of the first time would still have to end.
        return !comes_after(sdfg.state(pop.state), pop.edge, push.edge);
    }
    let (pushes, pops) = (ancestors(sdfg, push.block), ancestors(sdfg, pop.block));
    let is_common = |(region, _): &(RegionId, BlockId)| pushes.iter().any(|(other, _)| other == region);
    let Some(at) = pops.iter().position(is_common) else { return true };
    let (region, pop_block) = &pops[at];
    let Some((_, push_block)) = pushes.iter().find(|(other, _)| other == region) else { return true };
    let graph = program.region_graph(*region);
    let is_first = *pop_block == pop.block
        && pop.scopes.is_empty()
        && program.dominators(*region).dominates(*pop_block, *push_block);
    if is_first {
        return false;
    }
    let repeats = pops[at + 1..].iter().any(|(region, block)| {
        let is_loop = matches!(sdfg.block(*block).kind, BlockKind::Loop(_));
        is_loop || runs_before(&program.region_graph(*region), *block, *block)
    });
    repeats || runs_before(&graph, *push_block, *pop_block)
}

/// The regions around a block, the innermost first, each with the block in it that is or holds this one.
fn ancestors(sdfg: &Sdfg, block: BlockId) -> Vec<(RegionId, BlockId)> {
    let holder = |block: &BlockId| sdfg.region(sdfg.block(*block).region).parent;
    std::iter::successors(Some(block), holder).map(|block| (sdfg.block(block).region, block)).collect()
}

/// Whether some way of at least one transition leads from a block to another.
fn runs_before(graph: &RegionGraph, from: BlockId, to: BlockId) -> bool {
    let next = |block| graph.successors(block).iter().copied();
    leads_to(next(from), to, next)
}

/// Whether what an edge does is done before another begins: a path leads from the end of the one to the start of the
/// other.
fn comes_after(state: &State, earlier: EdgeId, later: EdgeId) -> bool {
    node_leads_to(state, state.edge(earlier).dst, state.edge(later).src)
}
