//! Side tables for checks: analyses of a program and of the SDFGs that it calls, each computed when a check first asks for it.
//!
//! Many matches are checked with the same tables. A driver that edits between checks tells the tables of the touched parts,
//! so that a table costs what changed and not what the program is long.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use sdfg::analysis::{Analyses, ScopeTree, SymbolFacts, Use, Uses};
use sdfg::edit::{TouchedAt, TouchedPart};
use sdfg::ir::{NodeId, Sdfg, StateId};
use sdfg::path::{ElementPlace, Target};

use super::found::places_with;
use super::promise;
use super::reach::Reach;
use super::shared_arguments::{SharedArguments, shared_arguments};
use super::{Match, Transformation};
use crate::pattern::Hosts;

/// The calls that lead from a program to an SDFG.
type Calls = Vec<(StateId, NodeId)>;

/// The tables of a program.
#[derive(Debug, Default)]
pub struct Tables {
    own: RefCell<BTreeMap<Calls, OfSdfg>>,
    /// Arguments that share memory, which depend on the SDFGs around.
    shared: RefCell<BTreeMap<Calls, Arc<SharedArguments>>>,
    /// Whether edits were followed since the tables were renewed.
    has_followed: bool,
    /// The graphs of states in which patterns are searched.
    hosts: RefCell<Hosts>,
    /// Whether the program was distributed over ranks when that was asked for first.
    is_distributed: OnceCell<bool>,
    /// Whether the program had maps of schedule `simd` when that was asked for first.
    has_promises: OnceCell<bool>,
}

/// The tables of one SDFG.
#[derive(Debug, Default)]
struct OfSdfg {
    uses: Option<Arc<Uses>>,
    facts: Option<Arc<SymbolFacts>>,
    /// Whether containers changed since the facts were found.
    has_other_containers: bool,
    scopes: BTreeMap<StateId, Arc<ScopeTree>>,
    /// Tables that no edit leaves as they are; they drop out of date by themselves.
    others: Analyses,
}

impl Tables {
    /// No tables yet.
    pub fn new() -> Self {
        Tables::default()
    }

    fn of<T>(&self, calls: &[(StateId, NodeId)], look: impl FnOnce(&mut OfSdfg) -> T) -> T {
        let mut tables = self.own.borrow_mut();
        match tables.get_mut(calls) {
            Some(found) => look(found),
            None => look(tables.entry(calls.to_vec()).or_default()),
        }
    }

    /// What code reaches in a distributed program. Rewrites that keep it make no program distributed.
    pub(super) fn reach_to_keep(&self, program: &Sdfg, transformation: &dyn Transformation) -> Option<Reach> {
        let is_distributed = || Reach::of(program).is_some();
        if transformation.moves_between_ranks() || !*self.is_distributed.get_or_init(is_distributed) {
            return None;
        }
        Reach::of(program)
    }

    /// Whether rewrites have to keep promises of maps of schedule `simd`. None of those that make such maps is strict.
    pub(super) fn has_promises(&self, program: &Sdfg) -> bool {
        *self.has_promises.get_or_init(|| promise::is_made(program))
    }

    /// The uses of the containers of an SDFG behind some calls.
    pub(super) fn uses(&self, calls: &[(StateId, NodeId)], sdfg: &Sdfg) -> Arc<Uses> {
        self.of(calls, |of| of.uses.get_or_insert_with(|| Arc::new(Uses::of_program(sdfg))).clone())
    }

    /// Facts about the symbols of an SDFG behind some calls.
    pub(super) fn facts(&self, calls: &[(StateId, NodeId)], sdfg: &Sdfg) -> Arc<SymbolFacts> {
        self.of(calls, |of| of.facts.get_or_insert_with(|| Arc::new(SymbolFacts::of(sdfg))).clone())
    }

    /// The scopes of a state of an SDFG behind some calls.
    pub(super) fn scopes(&self, calls: &[(StateId, NodeId)], sdfg: &Sdfg, state: StateId) -> Arc<ScopeTree> {
        let tree = || Arc::new(ScopeTree::of(sdfg.state(state)));
        self.of(calls, |of| of.scopes.entry(state).or_insert_with(tree).clone())
    }

    /// Other analyses of an SDFG behind some calls.
    pub(super) fn analyses<T>(
        &self,
        calls: &[(StateId, NodeId)],
        look: impl FnOnce(&mut Analyses) -> T,
    ) -> T {
        self.of(calls, |of| look(&mut of.others))
    }

    /// Arguments of the SDFG behind some calls that share memory.
    pub(super) fn shared_arguments(
        &self,
        program: &Sdfg,
        calls: &[(StateId, NodeId)],
    ) -> Arc<SharedArguments> {
        if let Some(found) = self.shared.borrow().get(calls) {
            return found.clone();
        }
        let found = shared_arguments(program, calls, self);
        self.shared.borrow_mut().insert(calls.to_vec(), found.clone());
        found
    }

    /// Every place of a transformation in the program.
    pub(super) fn places(&self, program: &Sdfg, transformation: &dyn Transformation) -> Vec<Match> {
        places_with(program, transformation, &mut self.hosts.borrow_mut())
    }

    /// Follows edits of a program.
    pub(super) fn follow<'e>(&mut self, program: &Sdfg, touched: impl IntoIterator<Item = TouchedAt<'e>>) {
        let (tables, shared) = (self.own.get_mut(), self.shared.get_mut());
        for (calls, part) in touched {
            self.has_followed = true;
            forget_shared(shared, calls);
            forget_calls(tables, calls, part);
            let Some(of) = tables.get_mut(calls) else { continue };
            let place = ElementPlace { calls: calls.to_vec(), target: Target::Sdfg };
            match place.sdfg(program) {
                Some(sdfg) => of.follow(sdfg, part),
                None => *of = OfSdfg::default(),
            }
        }
    }

    /// Drops what is right of the program, but not what new tables would tell: facts that follow from containers that are gone.
    pub(super) fn renew(&mut self) {
        if !std::mem::take(&mut self.has_followed) {
            return;
        }
        self.shared.get_mut().clear();
        for of in self.own.get_mut().values_mut().filter(|of| of.has_other_containers) {
            (of.facts, of.has_other_containers) = (None, false);
        }
    }

    /// Whether the tables are those of the program: for tests of [`follow`](Tables::follow).
    pub(super) fn are_of(&self, program: &Sdfg) -> bool {
        self.own.borrow().iter().all(|(calls, of)| {
            let place = ElementPlace { calls: calls.clone(), target: Target::Sdfg };
            place.sdfg(program).is_none_or(|sdfg| of.are_of(sdfg))
        })
    }
}

/// Drops what is known of the arguments of SDFGs that a touched one calls, directly or not.
fn forget_shared(shared: &mut BTreeMap<Calls, Arc<SharedArguments>>, calls: &[(StateId, NodeId)]) {
    let below = (Bound::Excluded(calls.to_vec()), Bound::Unbounded);
    let called: Vec<Calls> = shared
        .range(below)
        .map(|(path, _)| path)
        .take_while(|path| path.starts_with(calls))
        .cloned()
        .collect();
    for path in called {
        shared.remove(&path);
    }
}

/// Drops the tables of SDFGs that a touched node called.
fn forget_calls(tables: &mut BTreeMap<Calls, OfSdfg>, calls: &[(StateId, NodeId)], part: TouchedPart) {
    let is_gone = |call: &(StateId, NodeId)| match part {
        TouchedPart::Node(state, node) => *call == (state, node),
        TouchedPart::State(state) => call.0 == state,
        TouchedPart::Edge(..)
        | TouchedPart::Block(_)
        | TouchedPart::Transition(_)
        | TouchedPart::Container(_)
        | TouchedPart::Other => false,
    };
    if matches!(part, TouchedPart::Node(..) | TouchedPart::State(_)) {
        tables.retain(|path, _| !path.strip_prefix(calls).and_then(<[_]>::first).is_some_and(is_gone));
    }
}

impl OfSdfg {
    fn follow(&mut self, sdfg: &Sdfg, part: TouchedPart) {
        let uses = self.uses.as_mut().map(Arc::make_mut);
        match part {
            TouchedPart::Node(state, node) => {
                if let Some(uses) = uses {
                    uses.update(sdfg, Use::Access(state, node));
                    uses.update(sdfg, Use::Condition(state, node));
                }
                let is_there = sdfg.get_state(state).is_some_and(|graph| graph.get_node(node).is_some());
                if is_there {
                    // A new node, or a scope whose symbols are others.
                    self.scopes.remove(&state);
                } else if let Some(tree) = self.scopes.get_mut(&state) {
                    Arc::make_mut(tree).forget(node);
                }
            }
            TouchedPart::Edge(state, edge) => {
                if let Some(uses) = uses {
                    uses.update(sdfg, Use::Memlet(state, edge));
                }
            }
            TouchedPart::State(state) => {
                if let Some(uses) = uses {
                    uses.update_state(sdfg, state);
                }
                self.scopes.remove(&state);
            }
            TouchedPart::Block(block) => {
                if let Some(uses) = uses {
                    uses.update(sdfg, Use::Block(block));
                }
                self.facts = None;
            }
            TouchedPart::Transition(transition) => {
                if let Some(uses) = uses {
                    uses.update(sdfg, Use::Transition(transition));
                }
                self.facts = None;
            }
            // Facts from the sizes of containers hold of every run of the program as it was.
            TouchedPart::Container(_) => self.has_other_containers = true,
            TouchedPart::Other => self.facts = None,
        }
    }

    fn are_of(&self, sdfg: &Sdfg) -> bool {
        let uses = self.uses.as_ref().is_none_or(|uses| **uses == Uses::of_program(sdfg));
        let scopes = self.scopes.iter().all(|(state, tree)| {
            let Some(graph) = sdfg.get_state(*state) else { return true };
            let fresh = ScopeTree::of(graph);
            graph.nodes().all(|(node, _)| fresh.scope_of(node) == tree.scope_of(node))
        });
        uses && scopes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sdfg::ir::NodeKind;

    /// Two states that call SDFGs.
    const TEXT: &str = "sdfg p {
  array A: f64[1]
  state first {
    access A
    nested f () -> (q) sdfg f {
      array q: f64[1]
      state s {
        access q
        tasklet t () -> (y) { y = 1 }
        t.y -> q: q[0]
      }
    }
    f.q -> A: A[0:1]
  }
  state second {
    access A
    nested g () -> (q) sdfg g {
      array q: f64[1]
      state s {
        access q
        tasklet t () -> (y) { y = 2 }
        t.y -> q: q[0]
      }
    }
    g.q -> A: A[0:1]
  }
}
";

    /// Tables of a called SDFG go with its call, with the state of the call, and with no other part.
    #[test]
    fn tables_of_called_sdfgs_go_with_the_call() {
        let program = sdfg::text::parse("p.sdft", TEXT).unwrap_or_else(|errors| panic!("{errors:?}"));
        let calls: Vec<(StateId, NodeId)> = program
            .states()
            .flat_map(|(id, state)| state.nodes().map(move |(node, found)| (id, node, found)))
            .filter_map(|(id, node, found)| matches!(found.kind, NodeKind::Nested(_)).then_some((id, node)))
            .collect();
        let [first, second] = calls[..] else { panic!("{calls:?}") };
        let left_of = |paths: &[Calls], part: TouchedPart| {
            let mut tables = Tables::new();
            for path in paths {
                let place = ElementPlace { calls: path.clone(), target: Target::Sdfg };
                tables.uses(path, place.sdfg(&program).expect("an SDFG"));
            }
            tables.follow(&program, [(&[][..], part)]);
            let own = tables.own.into_inner();
            [&vec![][..], &[first], &[second]].map(|path: &[_]| own.contains_key(path))
        };
        let left = |part| left_of(&[vec![], vec![first], vec![second]], part);
        // A check may have asked for the tables of a called SDFG alone.
        assert_eq!(left_of(&[vec![first]], TouchedPart::State(first.0)), [false; 3]);
        assert_eq!(left(TouchedPart::State(first.0)), [true, false, true]);
        assert_eq!(left(TouchedPart::State(second.0)), [true, true, false]);
        assert_eq!(left(TouchedPart::Node(first.0, first.1)), [true, false, true]);
        let access = program.state(first.0).nodes().map(|(node, _)| node).find(|node| *node != first.1);
        assert_eq!(left(TouchedPart::Node(first.0, access.expect("a node"))), [true; 3]);
        let edge = program.state(first.0).edges().next().expect("an edge").0;
        assert_eq!(left(TouchedPart::Edge(first.0, edge)), [true; 3]);
        assert_eq!(left(TouchedPart::Other), [true; 3]);
    }
}
