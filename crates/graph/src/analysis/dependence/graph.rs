//! Dependences between edges of a graph.

use sdfg_language::symbolic::Assumptions;

use super::Dependence;
use super::access::{AccessMode, IteratedAccess, Iterations, scopes_around};
use super::query::{Iteration, dependence};
use crate::analysis::{ScopeTree, SymbolFacts};
use crate::ir::{BlockId, BlockKind, ContainerId, ContainerKind, EdgeId, NodeId, Sdfg, State, StateId};

/// Dependence between the edges of one state.
///
/// Edges should be leaves of their memlet trees. Accesses of different containers are independent, and nothing is known
/// of views and references, which may name the memory of another container or of another iteration.
#[derive(Debug)]
pub struct StateDependence<'a> {
    sdfg: &'a Sdfg,
    state: &'a State,
    tree: &'a ScopeTree,
    known: Assumptions,
}

impl<'a> StateDependence<'a> {
    /// For a state with its scopes. `known` is what is known of symbols at the top of the state; nothing may be said
    /// there of the symbols that its scopes define.
    pub fn new(sdfg: &'a Sdfg, state: &'a State, tree: &'a ScopeTree, known: Assumptions) -> Self {
        StateDependence { sdfg, state, tree, known }
    }

    /// Whether two different iterations of the scope of `entry`, in one execution of that scope, touch a common element,
    /// one through `first` and one through `second`. Both edges lie in the scope, or the answer is unknown.
    pub fn between_iterations(
        &self,
        entry: NodeId,
        first: (EdgeId, AccessMode),
        second: (EdgeId, AccessMode),
    ) -> Dependence {
        let [own, other] = [first, second].map(|(edge, _)| scopes_around(self.state, self.tree, edge));
        let n_common = common_prefix(&own, &other);
        let at = own.iter().take(n_common).position(|scope| *scope == entry);
        let Some(level) = at else { return Dependence::unknown() };
        self.compare(first, second, n_common, Iteration::Different(level))
    }

    /// Whether `first` and `second` touch a common element in one iteration of the scopes that both lie in: what nodes
    /// do that no path orders. All iterations of scopes that only one of them lies in are compared.
    pub fn within_iteration(&self, first: (EdgeId, AccessMode), second: (EdgeId, AccessMode)) -> Dependence {
        let [own, other] = [first, second].map(|(edge, _)| scopes_around(self.state, self.tree, edge));
        let n_common = common_prefix(&own, &other);
        self.compare(first, second, n_common, Iteration::Same(n_common))
    }

    fn compare(
        &self,
        first: (EdgeId, AccessMode),
        second: (EdgeId, AccessMode),
        n_common: usize,
        iteration: Iteration,
    ) -> Dependence {
        let site = |(edge, mode)| Site { state: self.state, tree: self.tree, edge, mode };
        compare(self.sdfg, &site(first), &site(second), &[[], []], n_common, iteration, &self.known)
    }
}

/// An end of a memlet.
struct Site<'a> {
    state: &'a State,
    tree: &'a ScopeTree,
    edge: EdgeId,
    mode: AccessMode,
}

/// Compares two accesses in scopes and loops.
fn compare(
    sdfg: &Sdfg,
    first: &Site<'_>,
    second: &Site<'_>,
    loops: &[impl AsRef<[Iterations]>; 2],
    n_common: usize,
    iteration: Iteration,
    known: &Assumptions,
) -> Dependence {
    let containers =
        [first, second].map(|site| site.mode.of(site.state, site.edge).map(|access| access.container));
    let [Some(own), Some(other)] = containers else { return Dependence::unknown() };
    if is_alias(sdfg, own) || is_alias(sdfg, other) {
        return Dependence::unknown();
    }
    if own != other {
        return Dependence::none();
    }
    let [own, other] =
        [first, second].map(|site| IteratedAccess::of_edge(site.state, site.tree, site.edge, site.mode));
    let (Some(mut own), Some(mut other)) = (own, other) else { return Dependence::unknown() };
    for (access, loops) in [&mut own, &mut other].into_iter().zip(loops) {
        access.around.splice(0..0, loops.as_ref().iter().cloned());
    }
    dependence(&own, &other, n_common, iteration, known)
}

fn is_alias(sdfg: &Sdfg, container: ContainerId) -> bool {
    match sdfg.get_container(container).map(|container| &container.kind) {
        Some(ContainerKind::View { .. } | ContainerKind::Reference { .. }) => true,
        Some(ContainerKind::Scalar | ContainerKind::Array { .. } | ContainerKind::Stream { .. }) | None => {
            false
        }
    }
}

/// Whether a later iteration of a loop touches, through the memlet end `second`, an element that an earlier one touches
/// through `first`: a dependence that the loop carries. Both lie in states of the loop, or the answer is unknown.
///
/// `facts` are those of the SDFG. Which blocks of the body run in an iteration is not considered: with branches or
/// jumps in the loop nothing is proved.
pub fn carried_by_loop(
    sdfg: &Sdfg,
    facts: &SymbolFacts,
    repeated: BlockId,
    first: (StateId, EdgeId, AccessMode),
    second: (StateId, EdgeId, AccessMode),
) -> Dependence {
    let states = [first, second].map(|(state, ..)| sdfg.get_state(state));
    let [Some(own), Some(other)] = states else { return Dependence::unknown() };
    let loops = [first, second].map(|(state, ..)| loops_within(sdfg, repeated, facts.block_of(state)?));
    let [Some(own_loops), Some(other_loops)] = loops else { return Dependence::unknown() };
    let trees = [own, other].map(ScopeTree::of);
    let mut n_common = common_prefix(&own_loops, &other_loops);
    if first.0 == second.0 {
        let scopes = [scopes_around(own, &trees[0], first.1), scopes_around(other, &trees[1], second.1)];
        n_common += common_prefix(&scopes[0], &scopes[1]);
    }
    let iterations = |loops: &[BlockId]| -> Vec<Iterations> {
        loops.iter().filter_map(|block| Iterations::of_loop(sdfg, *block)).collect()
    };
    let around = [iterations(&own_loops), iterations(&other_loops)];
    let known = facts.whenever(sdfg, repeated);
    let site = |at: usize, (_, edge, mode)| Site { state: [own, other][at], tree: &trees[at], edge, mode };
    compare(sdfg, &site(0, first), &site(1, second), &around, n_common, Iteration::Later(0), &known)
}

/// The loop and the loops in it that a block lies in, the outermost first; `None` if the loop does not hold it.
fn loops_within(sdfg: &Sdfg, repeated: BlockId, block: BlockId) -> Option<Vec<BlockId>> {
    let parent = |block: &BlockId| sdfg.region(sdfg.block(*block).region).parent;
    let around = std::iter::successors(parent(&block), parent).take(sdfg.n_created_blocks());
    let mut loops = Vec::new();
    for block in around {
        if matches!(sdfg.block(block).kind, BlockKind::Loop(_)) {
            loops.push(block);
        }
        if block == repeated {
            loops.reverse();
            return Some(loops);
        }
    }
    None
}

fn common_prefix<T: PartialEq>(own: &[T], other: &[T]) -> usize {
    own.iter().zip(other).take_while(|(a, b)| a == b).count()
}
