//! Uses of containers: a table for queries about many containers, or about one container in many states.
//!
//! ```
//! # use sdfg_graph as sdfg;
//! use sdfg::analysis::{Analyses, Use};
//!
//! let text = "sdfg p {
//!   array A: f64[4]
//!   transient array T: f64[4]
//!
//!   state s {
//!     access A
//!     access T
//!     A -> T
//!   }
//!   state t {
//!     access A
//!     access T
//!     T -> A
//!   }
//! }";
//! let program = sdfg::text::parse("p.sdft", text).expect("a program");
//! let transient = program.find_container("T").expect("a container");
//! let uses = Analyses::new().uses(&program);
//! assert_eq!(uses.states(transient).len(), 2);
//! assert!(uses.of(transient).iter().any(|found| matches!(found, Use::Memlet(..))));
//! ```

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, RangeBounds};

use super::accesses::containers_in;
use crate::ir::ids::Id;
use crate::ir::{
    BlockId, Consume, ContainerId, EdgeId, Flow, Node, NodeId, NodeKind, Sdfg, State, StateId, TransitionId,
};

/// A place at which a program uses a container. Places are ordered by state, of each state nodes before memlets; those of
/// control flow come last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Use {
    /// An access node.
    Access(StateId, NodeId),
    /// A memlet that names it.
    Memlet(StateId, EdgeId),
    /// The condition of a consume scope.
    Condition(StateId, NodeId),
    /// The condition of a branch, or one of the expressions of a loop.
    Block(BlockId),
    /// The condition or an assignment of a transition.
    Transition(TransitionId),
}

impl Use {
    /// The state in which it is; none for control flow.
    pub fn state(self) -> Option<StateId> {
        match self {
            Use::Access(state, _) | Use::Memlet(state, _) | Use::Condition(state, _) => Some(state),
            Use::Block(_) | Use::Transition(_) => None,
        }
    }

    /// The position in the order of places: the state, and the kind with the element. Tables compare places often.
    fn position(self) -> Position {
        let at =
            |state: usize, kind: usize, element: usize| Position(state, kind << (usize::BITS - 1) | element);
        match self {
            Use::Access(state, node) => at(state.index(), 0, 2 * node.index()),
            Use::Condition(state, node) => at(state.index(), 0, 2 * node.index() + 1),
            Use::Memlet(state, edge) => at(state.index(), 1, edge.index()),
            Use::Block(block) => at(usize::MAX, 0, block.index()),
            Use::Transition(transition) => at(usize::MAX, 1, transition.index()),
        }
    }
}

/// A place as numbers, which compare faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Position(usize, usize);

impl PartialOrd for Use {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Use {
    fn cmp(&self, other: &Self) -> Ordering {
        self.position().cmp(&other.position())
    }
}

static NONE: BTreeSet<Use> = BTreeSet::new();

/// The uses of all containers of one SDFG. What a called SDFG does with its own is at the memlets of the call.
///
/// [`update`](Uses::update) follows an edit in time that depends on the edited element alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    uses: BTreeMap<ContainerId, BTreeSet<Use>>,
    /// The containers at each place that uses any.
    at: BTreeMap<Position, (Use, Vec<ContainerId>)>,
    /// The memlets that make a view or reference name a container, or a part of it.
    bindings: BTreeMap<ContainerId, BTreeSet<Use>>,
    /// The memlets that move data into an access node of a container, and name the container.
    writes: BTreeMap<ContainerId, BTreeSet<Use>>,
}

impl Uses {
    /// The uses of an SDFG.
    pub fn of_program(sdfg: &Sdfg) -> Self {
        let mut places: Vec<Use> = Vec::new();
        for (id, state) in sdfg.states() {
            places.extend(places_in(id, state));
        }
        places.extend(sdfg.blocks().map(|(id, _)| Use::Block(id)));
        places.extend(sdfg.transitions().map(|(id, _)| Use::Transition(id)));
        // Maps of sorted lists are made at once.
        let (mut uses, mut bindings, mut writes, mut at) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for place in places {
            let used = containers_at(sdfg, place);
            if used.is_empty() {
                continue;
            }
            uses.extend(used.iter().map(|container| (*container, place)));
            if binds(sdfg, place) {
                bindings.extend(used.iter().map(|container| (*container, place)));
            }
            writes.extend(written_at(sdfg, place, &used).map(|container| (container, place)));
            at.push((place.position(), (place, used)));
        }
        Uses {
            uses: grouped(uses),
            at: at.into_iter().collect(),
            bindings: grouped(bindings),
            writes: grouped(writes),
        }
    }

    /// Follows a change of a place, which may be new or gone.
    pub fn update(&mut self, sdfg: &Sdfg, place: Use) {
        let used = containers_at(sdfg, place);
        let binds = binds(sdfg, place);
        let written = written_at(sdfg, place, &used);
        let is_as_before = |container: &ContainerId| {
            self.bindings_of(*container).contains(&place) == binds
                && self.writes.get(container).is_some_and(|places| places.contains(&place))
                    == (written == Some(*container))
        };
        // Most edits of a place leave its containers as they are.
        if self.at.get(&place.position()).map_or(&[][..], |(_, used)| used) == used
            && used.iter().all(is_as_before)
        {
            return;
        }
        self.forget(place);
        if used.is_empty() {
            return;
        }
        for container in &used {
            self.uses.entry(*container).or_default().insert(place);
            if binds {
                self.bindings.entry(*container).or_default().insert(place);
            }
        }
        if let Some(container) = written {
            self.writes.entry(container).or_default().insert(place);
        }
        self.at.insert(place.position(), (place, used));
    }

    /// Follows a change of all that is in a state, which may be new or gone.
    pub fn update_state(&mut self, sdfg: &Sdfg, state: StateId) {
        let first = Use::Access(state, NodeId::from_index(0));
        let own = self.at.range(first.position()..).map(|(_, (place, _))| *place);
        let known: Vec<Use> = own.take_while(|place| place.state() == Some(state)).collect();
        known.into_iter().for_each(|place| self.forget(place));
        let Some(graph) = sdfg.get_state(state) else { return };
        for place in places_in(state, graph) {
            self.update(sdfg, place);
        }
    }

    fn forget(&mut self, place: Use) {
        for container in self.at.remove(&place.position()).into_iter().flat_map(|(_, used)| used) {
            for table in [&mut self.uses, &mut self.bindings, &mut self.writes] {
                if let Some(places) = table.get_mut(&container)
                    && places.remove(&place)
                    && places.is_empty()
                {
                    table.remove(&container);
                }
            }
        }
    }

    /// The uses of a container: of each state its nodes and then its memlets, after them those of control flow.
    pub fn of(&self, container: ContainerId) -> &BTreeSet<Use> {
        self.uses.get(&container).unwrap_or(&NONE)
    }

    /// The memlets that make a view or reference name a container, or a part of it: few of its uses do.
    pub fn bindings_of(&self, container: ContainerId) -> &BTreeSet<Use> {
        self.bindings.get(&container).unwrap_or(&NONE)
    }

    /// The memlets of a state that make a view or reference name a container, or a part of it.
    pub fn bindings_in(&self, container: ContainerId, state: StateId) -> impl Iterator<Item = EdgeId> + '_ {
        memlets_in(self.bindings_of(container), state)
    }

    /// The memlets of a state that move data into an access node of a container, and name the container.
    pub fn writes_in(&self, container: ContainerId, state: StateId) -> impl Iterator<Item = EdgeId> + '_ {
        memlets_in(self.writes.get(&container).unwrap_or(&NONE), state)
    }

    /// The uses of a container in a state.
    pub fn in_state(&self, container: ContainerId, state: StateId) -> impl Iterator<Item = Use> + '_ {
        let first = Use::Access(state, NodeId::from_index(0));
        self.of(container).range(first..).copied().take_while(move |place| place.state() == Some(state))
    }

    /// The access nodes of a container in a state whose ids are in a range, by id.
    pub fn accesses_in(
        &self,
        container: ContainerId,
        state: StateId,
        nodes: impl RangeBounds<NodeId>,
    ) -> impl DoubleEndedIterator<Item = NodeId> + '_ {
        let access = |node: &NodeId| Use::Access(state, *node);
        let start = match nodes.start_bound() {
            Bound::Unbounded => Bound::Included(access(&NodeId::from_index(0))),
            bound => bound.map(access),
        };
        let end = match nodes.end_bound() {
            Bound::Unbounded => Bound::Excluded(Use::Memlet(state, EdgeId::from_index(0))),
            bound => bound.map(access),
        };
        self.of(container).range((start, end)).filter_map(|place| match place {
            Use::Access(_, node) => Some(*node),
            Use::Memlet(..) | Use::Condition(..) | Use::Block(_) | Use::Transition(_) => None,
        })
    }

    /// The states that have access nodes of a container.
    pub fn states(&self, container: ContainerId) -> BTreeSet<StateId> {
        let accesses = self.of(container).iter().filter_map(|place| match place {
            Use::Access(state, _) => Some(*state),
            Use::Memlet(..) | Use::Condition(..) | Use::Block(_) | Use::Transition(_) => None,
        });
        accesses.collect()
    }

    /// Whether conditions or assignments read a container.
    pub fn in_control_flow(&self, container: ContainerId) -> bool {
        self.of(container).last().is_some_and(|found| found.state().is_none())
    }
}

/// The places of a state that may use containers, in their order.
fn places_in(id: StateId, state: &State) -> impl Iterator<Item = Use> + '_ {
    let of_node = move |(node, content): (NodeId, &Node)| match &content.kind {
        NodeKind::Access(_) => Some(Use::Access(id, node)),
        NodeKind::ConsumeEntry(_) => Some(Use::Condition(id, node)),
        NodeKind::Tasklet(_)
        | NodeKind::MapEntry(_)
        | NodeKind::MapExit(_)
        | NodeKind::ConsumeExit(_)
        | NodeKind::Nested(_)
        | NodeKind::Reduce(_)
        | NodeKind::Library(_) => None,
    };
    state.nodes().filter_map(of_node).chain(state.edges().map(move |(edge, _)| Use::Memlet(id, edge)))
}

/// The places of each container, of pairs in the order of their places.
fn grouped(mut pairs: Vec<(ContainerId, Use)>) -> BTreeMap<ContainerId, BTreeSet<Use>> {
    pairs.sort_by_key(|(container, _)| *container);
    let groups = pairs.chunk_by(|(one, _), (other, _)| one == other);
    let group = |group: &[(ContainerId, Use)]| (group[0].0, group.iter().map(|(_, place)| *place).collect());
    groups.map(group).collect()
}

/// The containers that a place uses, each once, in order; none if it is not there.
fn containers_at(sdfg: &Sdfg, place: Use) -> Vec<ContainerId> {
    let mut used = used_at(sdfg, place);
    used.sort_unstable();
    used.dedup();
    used
}

/// Whether a place is a memlet that binds an alias.
fn binds(sdfg: &Sdfg, place: Use) -> bool {
    let Use::Memlet(state, edge) = place else { return false };
    let edge = sdfg.get_state(state).and_then(|graph| graph.get_edge(edge));
    edge.is_some_and(|edge| matches!(edge.memlet.flow, Flow::Bind(_)))
}

/// The container into whose access node a place moves data, if it is a memlet that names the container.
fn written_at(sdfg: &Sdfg, place: Use, used: &[ContainerId]) -> Option<ContainerId> {
    let Use::Memlet(state, edge) = place else { return None };
    let graph = sdfg.get_state(state)?;
    let edge = graph.get_edge(edge)?;
    let moves = !matches!(edge.memlet.flow, Flow::Order);
    graph.get_node(edge.dst)?.kind.container().filter(|container| moves && used.contains(container))
}

/// The memlets of a state among places.
fn memlets_in(places: &BTreeSet<Use>, state: StateId) -> impl Iterator<Item = EdgeId> + '_ {
    places.range(Use::Memlet(state, EdgeId::from_index(0))..).map_while(move |place| match place {
        Use::Memlet(of, edge) if *of == state => Some(*edge),
        Use::Access(..) | Use::Memlet(..) | Use::Condition(..) | Use::Block(_) | Use::Transition(_) => None,
    })
}

/// The containers that a place uses, some maybe twice; none if it is not there.
fn used_at(sdfg: &Sdfg, place: Use) -> Vec<ContainerId> {
    let kind = |state, node| Some(&sdfg.get_state(state)?.get_node(node)?.kind);
    match place {
        Use::Access(state, node) => kind(state, node).and_then(NodeKind::container).into_iter().collect(),
        Use::Memlet(state, edge) => {
            let edge = sdfg.get_state(state).and_then(|graph| graph.get_edge(edge));
            edge.into_iter().flat_map(|edge| edge.memlet.accesses().map(|access| access.container)).collect()
        }
        Use::Condition(state, node) => match kind(state, node) {
            Some(NodeKind::ConsumeEntry(Consume { condition: Some(condition), .. })) => {
                containers_in(sdfg, condition).into_iter().collect()
            }
            Some(_) | None => Vec::new(),
        },
        Use::Block(id) => {
            let expressions = sdfg.get_block(id).map(|block| block.kind.expressions());
            expressions.into_iter().flatten().flat_map(|value| containers_in(sdfg, value)).collect()
        }
        Use::Transition(id) => {
            let Some(transition) = sdfg.get_transition(id) else { return Vec::new() };
            transition.expressions().flat_map(|value| containers_in(sdfg, value)).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    #[test]
    fn memlets_that_bind_are_listed_apart() {
        let mut program = text::parse(
            "p.sdft",
            "sdfg p {
  array A: f64[4]
  view V: f64[2]
  array B: f64[2]

  state s {
    access A
    access V
    access B
    bind A -> V: A[0:2]
    V -> B
  }
}",
        )
        .unwrap();
        let (a, v) = (program.find_container("A").unwrap(), program.find_container("V").unwrap());
        let mut uses = Uses::of_program(&program);
        assert_eq!((uses.bindings_of(a).len(), uses.bindings_of(v).len()), (1, 0));
        assert!(uses.bindings_of(a).is_subset(uses.of(a)));
        // The same containers, but no binding any more.
        let Some(Use::Memlet(state, edge)) = uses.bindings_of(a).first().copied() else { panic!() };
        let read = Flow::Read(program.state(state).edge(edge).memlet.accesses().next().unwrap().clone());
        program.state_mut(state).memlet_mut(edge).flow = read;
        uses.update(&program, Use::Memlet(state, edge));
        assert_eq!(uses, Uses::of_program(&program));
        assert!(uses.bindings_of(a).is_empty());
    }

    #[test]
    fn accesses_and_writes_of_a_state_are_found_by_themselves() {
        let mut program = text::parse(
            "p.sdft",
            "sdfg p {
  array A: f64[4]
  array B: f64[4]

  state s {
    access a = A
    access b = B
    access c = A
    a -> b
    b -> c
    order a -> c
  }
  state t {
    access d = A
    access e = B
    d -> e
  }
}",
        )
        .unwrap();
        let (a, b) = (program.find_container("A").unwrap(), program.find_container("B").unwrap());
        let uses = Uses::of_program(&program);
        let states: Vec<StateId> = program.states().map(|(id, _)| id).collect();
        let labels = |nodes: Vec<NodeId>, state: StateId| -> Vec<String> {
            nodes.into_iter().map(|node| program.state(state).node(node).label.clone()).collect()
        };
        let accesses: Vec<NodeId> = uses.accesses_in(a, states[0], ..).collect();
        assert_eq!(labels(accesses.clone(), states[0]), ["a", "c"]);
        assert_eq!(uses.accesses_in(a, states[0], accesses[1]..).collect::<Vec<_>>(), accesses[1..]);
        assert_eq!(uses.accesses_in(a, states[0], ..accesses[1]).rev().collect::<Vec<_>>(), accesses[..1]);
        let written = |container, state| {
            let edges = uses.writes_in(container, state);
            labels(edges.map(|edge| program.state(state).edge(edge).dst).collect(), state)
        };
        assert_eq!([written(a, states[0]), written(b, states[0])], [["c"], ["b"]]);
        assert!(written(a, states[1]).is_empty());
        assert_eq!(written(b, states[1]), ["e"]);
        // The same containers, but nothing moves any more.
        let edge = uses.writes_in(b, states[1]).next().unwrap();
        let mut followed = uses.clone();
        program.state_mut(states[1]).memlet_mut(edge).flow = Flow::Order;
        followed.update(&program, Use::Memlet(states[1], edge));
        assert_eq!(followed, Uses::of_program(&program));
        assert_eq!(followed.writes_in(b, states[1]).count(), 0);
    }

    #[test]
    fn uses_are_in_states_and_in_control_flow() {
        let program = text::parse(
            "p.sdft",
            "sdfg p {
  array A: f64[4]
  array B: f64[4]
  array C: f64[4]

  state s {
    access A
    access B
    A -> B
  }
  if b: A[0] > 0 {
    state t {
      access B
    }
  }
}",
        )
        .unwrap();
        let uses = Uses::of_program(&program);
        let of = |name: &str| -> Vec<Use> {
            uses.of(program.find_container(name).unwrap()).iter().copied().collect()
        };
        let [Use::Access(s, _), Use::Memlet(at, edge), Use::Block(block)] = &of("A")[..] else {
            panic!("{:?}", of("A"))
        };
        assert!(s == at && program.state(*at).get_edge(*edge).is_some());
        assert!(!program.block(*block).kind.regions().is_empty());
        assert!(matches!(of("B")[..], [Use::Access(..), Use::Memlet(..), Use::Access(..)]), "{:?}", of("B"));
        assert!(of("C").is_empty() && uses.bindings_of(program.find_container("A").unwrap()).is_empty());
        let id = |name: &str| program.find_container(name).unwrap();
        assert!(uses.in_control_flow(id("A")) && !uses.in_control_flow(id("B")));
        assert_eq!(
            (uses.states(id("A")).len(), uses.states(id("B")).len(), uses.states(id("C")).len()),
            (1, 2, 0)
        );
    }
}
