//! The memories that code of a distributed program reaches: rewrites keep it to those that it reached before.
//!
//! Checks compare accesses of a container and know nothing of ranks. A rewrite that puts one container in the place of another
//! with the same contents may let a rank access elements that are on another one, or take away a copy that refreshes a halo.
//! The engine compares what code on ranks accesses before and after each rewrite, and takes back those that change it.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::analysis::accesses::memory_of_control_flow;
use sdfg::analysis::{ScopeTree, is_leaf, owning_scopes};
use sdfg::edit::EditError;
use sdfg::ir::{ContainerId, Distribution, Edge, Flow, NodeId, NodeKind, Sdfg, State, StateId};

/// Labels of the calls around a place, and a label or name there.
type Place = (Vec<String>, String);

/// The memories that code of a program reaches.
#[derive(Debug, Default)]
pub(super) struct Reach {
    /// Containers that code accesses, by the label and ranges of the map over ranks that it is in, and whether it writes. Reads of
    /// replicated containers are left out: every rank may read them. So are transients of which each iteration of a map over ranks,
    /// or of a scope in it, has its own.
    accesses: BTreeSet<(Place, Option<String>, bool)>,
    /// Maps over ranks with their ranges, in the order of their texts: maps in several states may have one label.
    maps: BTreeMap<Place, Vec<String>>,
    /// Containers that are cut or local, with shape and distribution as text.
    containers: BTreeMap<Place, String>,
    /// Copies from a container to itself, which refresh halos and replicas.
    refreshed: BTreeMap<Place, usize>,
}

impl Reach {
    /// What the code of a program reaches; `None` if the program is not distributed.
    pub(super) fn of(program: &Sdfg) -> Option<Self> {
        let mut reach = Reach::default();
        reach.add(program, &[]);
        reach.maps.values_mut().for_each(|ranges| ranges.sort());
        (!reach.maps.is_empty() || !reach.containers.is_empty()).then_some(reach)
    }

    fn add(&mut self, sdfg: &Sdfg, calls: &[String]) {
        let place = |name: &str| (calls.to_vec(), name.to_owned());
        for (_, container) in sdfg.containers() {
            if container.distribution != Distribution::Replicated {
                let text = format!("{:?} {:?}", container.shape(), container.distribution);
                self.containers.insert(place(&container.name), text);
            }
        }
        for id in memory_of_control_flow(sdfg) {
            self.access(sdfg, calls, (id, None, false));
        }
        let private = private_to_iterations(sdfg);
        for (_, state) in sdfg.states() {
            self.add_state(sdfg, state, calls, &private);
        }
    }

    fn add_state(&mut self, sdfg: &Sdfg, state: &State, calls: &[String], private: &BTreeSet<ContainerId>) {
        let is_over_ranks = |node: NodeId| state.node(node).kind.is_map_over_ranks();
        let tree = ScopeTree::of(state);
        for (id, node) in state.nodes() {
            match &node.kind {
                NodeKind::MapEntry(map) if is_over_ranks(id) => {
                    let place = (calls.to_vec(), node.label.clone());
                    self.maps.entry(place).or_default().push(map.ranges.to_string());
                }
                NodeKind::Nested(nested) => {
                    let calls: Vec<String> = calls.iter().chain([&node.label]).cloned().collect();
                    self.add(&nested.sdfg, &calls);
                }
                NodeKind::MapEntry(_)
                | NodeKind::MapExit(_)
                | NodeKind::Access(_)
                | NodeKind::Tasklet(_)
                | NodeKind::ConsumeEntry(_)
                | NodeKind::ConsumeExit(_)
                | NodeKind::Reduce(_)
                | NodeKind::Library(_) => {}
            }
        }
        for (_, edge) in state.edges().filter(|(id, _)| is_leaf(state, *id)) {
            let code = if state.node(edge.src).kind.is_code() { edge.src } else { edge.dst };
            let over_ranks = tree.enclosing(code).filter(|entry| is_over_ranks(*entry)).last();
            let over_ranks = over_ranks.map(|entry| {
                let node = state.node(entry);
                let NodeKind::MapEntry(map) = &node.kind else { return node.label.clone() };
                format!("{} [{}]", node.label, map.ranges)
            });
            match &edge.memlet.flow {
                Flow::Read(access) => self.access(sdfg, calls, (access.container, over_ranks, false)),
                Flow::Write { to, .. } if private.contains(&to.container) => {}
                Flow::Write { to, .. } => self.access(sdfg, calls, (to.container, over_ranks, true)),
                Flow::Copy { .. } => self.copy(sdfg, calls, edge),
                Flow::Order | Flow::Value | Flow::Bind(_) => {}
            }
        }
    }

    fn access(
        &mut self,
        sdfg: &Sdfg,
        calls: &[String],
        (id, over_ranks, writes): (ContainerId, Option<String>, bool),
    ) {
        let Some(container) = sdfg.get_container(id) else { return };
        let is_replicated = container.distribution == Distribution::Replicated;
        if !is_replicated || writes && over_ranks.is_some() {
            self.accesses.insert(((calls.to_vec(), container.name.clone()), over_ranks, writes));
        }
    }

    fn copy(&mut self, sdfg: &Sdfg, calls: &[String], edge: &Edge) {
        let Flow::Copy { from, to, .. } = &edge.memlet.flow else { return };
        if from.container == to.container
            && let Some(container) = sdfg.get_container(to.container)
        {
            *self.refreshed.entry((calls.to_vec(), container.name.clone())).or_insert(0) += 1;
        }
    }

    /// Refuses a rewrite after which code reaches other memories.
    pub(super) fn is_kept_in(&self, program: &Sdfg) -> Result<(), EditError> {
        let after = Reach::of(program).unwrap_or_default();
        let refuse = |name: &str, reason| Err(EditError::Ranks { name: name.to_owned(), reason });
        if let Some(((_, map), _)) = changed(&self.maps, &after.maps).or(changed(&after.maps, &self.maps)) {
            return refuse(map, "divides iterations over ranks, and would divide others");
        }
        if let Some(((_, name), _)) = changed(&after.containers, &self.containers) {
            return refuse(name, "is distributed, and would be distributed in another way");
        }
        if let Some(((_, name), over_ranks, _)) = after.accesses.difference(&self.accesses).next() {
            let reason = match over_ranks {
                Some(_) => "would be accessed by a rank that may not hold its elements",
                None => "is distributed, and would be accessed by code that all ranks run",
            };
            return refuse(name, reason);
        }
        let remains = |(place, count): &(&Place, &usize)| after.refreshed.get(*place) >= Some(*count);
        let stale = |(place, _): &(&Place, &usize)| after.containers.contains_key(*place);
        if let Some(((_, name), _)) = self.refreshed.iter().filter(stale).find(|found| !remains(found)) {
            return refuse(name, "would keep halos or replicas that no copy refreshes");
        }
        Ok(())
    }
}

/// Replicated transients of which each iteration of a map over ranks, or of a scope in it, has its own: no other rank holds them.
fn private_to_iterations(sdfg: &Sdfg) -> BTreeSet<ContainerId> {
    let mut nodes = sdfg.states().flat_map(|(_, state)| state.nodes());
    if !nodes.any(|(_, node)| node.kind.is_map_over_ranks()) {
        return BTreeSet::new();
    }
    let is_private = |(id, (state, scope)): &(ContainerId, (StateId, NodeId))| {
        let container = sdfg.container(*id);
        let graph = sdfg.state(*state);
        let tree = ScopeTree::of(graph);
        let mut around = tree.enclosing_scope(Some(*scope));
        container.transient
            && !container.is_alias()
            && container.distribution == Distribution::Replicated
            && around.any(|entry| graph.node(entry).kind.is_map_over_ranks())
    };
    owning_scopes(sdfg).into_iter().filter(is_private).map(|(id, _)| id).collect()
}

/// The first entry that has another value, or none, in the second map.
fn changed<'m, T: PartialEq>(
    one: &'m BTreeMap<Place, T>,
    other: &BTreeMap<Place, T>,
) -> Option<(&'m Place, &'m T)> {
    one.iter().find(|(place, value)| other.get(*place) != Some(*value))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two states have maps over ranks of one label. Each keeps its ranges.
    #[test]
    fn maps_of_one_label_keep_their_ranges() {
        let reach = |first: &str, second: &str| {
            let state = |number: usize, ranges: &str| {
                format!(
                    "  state s{number} {{
    access A
    map m [{ranges}] schedule(mpi) {{
      tasklet t (a) -> (b) {{ b = a + 1.0 }}
      m.A -> t.a: A[i]
      t.b -> m.A: A[i]
    }}
    access out = A
    A -> m.A
    m.A -> out
  }}
"
                )
            };
            let text = format!(
                "sdfg p {{\n  array A: f64[4] distribution(grid(4)[balanced(0)])\n{}  -> s1\n{}}}",
                state(0, first),
                state(1, second)
            );
            sdfg::text::parse("p.sdft", &text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"))
        };
        let before = reach("i = 0:4, j = 0:2", "i = 0:4");
        let kept = |after: &Sdfg| Reach::of(&before).expect("a map").is_kept_in(after);
        assert_eq!(kept(&before), Ok(()));
        for after in [reach("i = 0:4", "i = 0:4"), reach("i = 0:4, j = 0:2", "i = 0:4, j = 0:2")] {
            let message = kept(&after).expect_err("a refusal").to_string();
            assert!(message.contains("would divide others"), "{message}");
        }
    }

    /// A copy of a container to itself refreshes its halos: a rewrite must leave as many as there were.
    #[test]
    fn copies_that_refresh_halos_stay() {
        let reach = |copies: usize| {
            let copies: Vec<String> =
                (0..copies).map(|at| format!("    access H{at} = H\n    H -> H{at}\n")).collect();
            let text = format!(
                "sdfg p {{
  symbol N: i64
  array A: f64[N]
  transient array H: f64[N] distribution(grid(2)[balanced(0) halo(1, 1)])
  state s {{
    access A
    access H
    A -> H
{}  }}
}}",
                copies.concat()
            );
            sdfg::text::parse("p.sdft", &text).unwrap_or_else(|errors| panic!("{errors:?}"))
        };
        let [none, one, two] = [0, 1, 2].map(reach);
        let kept = |before: &Sdfg, after: &Sdfg| Reach::of(before).expect("a container").is_kept_in(after);
        assert_eq!(kept(&one, &two), Ok(()));
        for (before, after) in [(&one, &none), (&two, &one)] {
            let message = kept(before, after).expect_err("a refusal").to_string();
            assert!(message.contains("that no copy refreshes"), "{message}");
        }
    }
}
