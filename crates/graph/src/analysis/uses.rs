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

use std::collections::{BTreeMap, BTreeSet};

use super::accesses::{block_expressions, containers_in};
use crate::ir::{BlockId, Consume, ContainerId, EdgeId, NodeId, NodeKind, Sdfg, StateId, TransitionId};

/// A place at which a program uses a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
}

/// The uses of all containers of one SDFG. What a called SDFG does with its own is at the memlets of the call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    uses: BTreeMap<ContainerId, Vec<Use>>,
    accessed: BTreeMap<ContainerId, BTreeSet<StateId>>,
}

impl Uses {
    /// The uses of an SDFG.
    pub fn of_program(sdfg: &Sdfg) -> Self {
        let mut found = Uses::default();
        for (id, state) in sdfg.states() {
            for (node, content) in state.nodes() {
                match &content.kind {
                    NodeKind::Access(container) => {
                        found.add(*container, Use::Access(id, node));
                        found.accessed.entry(*container).or_default().insert(id);
                    }
                    NodeKind::ConsumeEntry(Consume { condition: Some(condition), .. }) => {
                        found.add_all(containers_in(sdfg, condition), Use::Condition(id, node));
                    }
                    NodeKind::Tasklet(_)
                    | NodeKind::MapEntry(_)
                    | NodeKind::MapExit(_)
                    | NodeKind::ConsumeEntry(_)
                    | NodeKind::ConsumeExit(_)
                    | NodeKind::Nested(_)
                    | NodeKind::Reduce(_)
                    | NodeKind::Library(_) => {}
                }
            }
            for (edge, content) in state.edges() {
                let containers = content.memlet.accesses().map(|access| access.container);
                found.add_all(containers.collect(), Use::Memlet(id, edge));
            }
        }
        for (id, block) in sdfg.blocks() {
            let read = block_expressions(&block.kind).into_iter();
            found.add_all(read.flat_map(|value| containers_in(sdfg, value)).collect(), Use::Block(id));
        }
        for (id, transition) in sdfg.transitions() {
            let values = transition.assignments.iter().map(|(_, value)| value).chain(&transition.condition);
            let read = values.flat_map(|value| containers_in(sdfg, value)).collect();
            found.add_all(read, Use::Transition(id));
        }
        found
    }

    fn add(&mut self, container: ContainerId, place: Use) {
        self.uses.entry(container).or_default().push(place);
    }

    fn add_all(&mut self, containers: BTreeSet<ContainerId>, place: Use) {
        containers.into_iter().for_each(|container| self.add(container, place));
    }

    /// The uses of a container: of each state its nodes and then its memlets, after them those of control flow.
    pub fn of(&self, container: ContainerId) -> &[Use] {
        self.uses.get(&container).map_or(&[], Vec::as_slice)
    }

    /// The states that have access nodes of a container.
    pub fn states(&self, container: ContainerId) -> &BTreeSet<StateId> {
        static NONE: BTreeSet<StateId> = BTreeSet::new();
        self.accessed.get(&container).unwrap_or(&NONE)
    }

    /// Whether conditions or assignments read a container.
    pub fn in_control_flow(&self, container: ContainerId) -> bool {
        self.of(container).iter().any(|found| found.state().is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

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
        let of = |name: &str| uses.of(program.find_container(name).unwrap());
        let [Use::Access(s, _), Use::Memlet(at, edge), Use::Block(block)] = of("A") else {
            panic!("{:?}", of("A"))
        };
        assert!(s == at && program.state(*at).get_edge(*edge).is_some());
        assert!(!program.block(*block).kind.regions().is_empty());
        assert!(matches!(of("B"), [Use::Access(..), Use::Memlet(..), Use::Access(..)]), "{:?}", of("B"));
        assert!(of("C").is_empty());
        let id = |name: &str| program.find_container(name).unwrap();
        assert!(uses.in_control_flow(id("A")) && !uses.in_control_flow(id("B")));
        assert_eq!(
            (uses.states(id("A")).len(), uses.states(id("B")).len(), uses.states(id("C")).len()),
            (1, 2, 0)
        );
    }
}
