//! Owning scopes of transients: the scopes whose iterations each have a separate instance of a container
//! (`docs/semantics.md`, "Programs").
//!
//! The interpreter implements the same rule independently, because it is the oracle.

use std::collections::BTreeMap;

use super::accesses::control_flow_reads;
use super::scope_tree::ScopeTree;
use crate::ir::{ContainerId, Lifetime, NodeId, Sdfg, StateId};

/// The state and the innermost scope that hold all uses of a container, for those that do not live as long as the call.
///
/// A container has none if its lifetime is not [`Lifetime::Scope`], if control flow reads it, or if no scope holds all of its access
/// nodes. Arguments, constants, views and references are listed like others, though they live elsewhere.
pub fn owning_scopes(sdfg: &Sdfg) -> BTreeMap<ContainerId, (StateId, NodeId)> {
    let mut uses: BTreeMap<ContainerId, BTreeMap<StateId, Vec<NodeId>>> = BTreeMap::new();
    for (id, state) in sdfg.states() {
        for (node, container) in state.nodes().filter_map(|(node, it)| Some((node, it.kind.container()?))) {
            uses.entry(container).or_default().entry(id).or_default().push(node);
        }
    }
    let read = control_flow_reads(sdfg);
    uses.retain(|id, states| {
        let lifetime = sdfg.get_container(*id).map(|container| container.lifetime);
        states.len() == 1 && lifetime == Some(Lifetime::Scope) && !read.contains(id)
    });
    let mut trees = BTreeMap::new();
    let mut owning_scopes = BTreeMap::new();
    for (container, (state, nodes)) in
        uses.into_iter().flat_map(|(id, states)| states.into_iter().map(move |users| (id, users)))
    {
        let tree = trees.entry(state).or_insert_with(|| ScopeTree::of(sdfg.state(state)));
        let mut chains = nodes.iter().map(|node| enclosing(tree, *node));
        let Some(mut common) = chains.next() else { continue };
        for chain in chains {
            let shared = common.iter().zip(&chain).take_while(|(a, b)| a == b).count();
            common.truncate(shared);
        }
        owning_scopes.extend(common.last().map(|entry| (container, (state, *entry))));
    }
    owning_scopes
}

/// Entries of the scopes around a node, outermost first.
fn enclosing(tree: &ScopeTree, node: NodeId) -> Vec<NodeId> {
    let mut chain: Vec<NodeId> = tree.enclosing(node).collect();
    chain.reverse();
    chain
}

#[cfg(test)]
mod tests {
    use super::owning_scopes;
    use crate::text::parse;

    /// The labels of the scopes of all containers that live in one.
    fn found(text: &str) -> Vec<(String, String)> {
        let sdfg = parse("s", text).unwrap();
        let label = |state, scope| sdfg.state(state).node(scope).label.clone();
        let found = owning_scopes(&sdfg).into_iter();
        found.map(|(id, (state, scope))| (sdfg.container(id).name.clone(), label(state, scope))).collect()
    }

    fn pair(container: &str, scope: &str) -> (String, String) {
        (container.to_owned(), scope.to_owned())
    }

    /// A map in a map with declarations of `t` and `u`, and what comes after it.
    fn program(t: &str, u: &str, after: &str) -> String {
        format!(
            "sdfg s {{
               symbol n: i64
               array A: f64[4]
               transient scalar t: f64{t}
               transient scalar u: f64{u}
               state work {{
                 access A
                 map outer [i = 0:4] {{
                   access t
                   tasklet start () -> (o) {{ o = 1.0 }}
                   start.o -> t
                   map inner [j = 0:1] {{
                     access own = t
                     access u
                     tasklet both (x) -> (o, p) {{ o = x; p = x }}
                     inner.t -> both.x: t
                     both.o -> u
                     tasklet last (x) -> (o) {{ o = x }}
                     u -> last.x
                     last.o -> inner.A: A[i]
                     both.p -> own
                   }}
                   t -> inner.t
                   inner.A -> outer.A
                 }}
                 outer.A -> A
               }}
               {after}
             }}"
        )
    }

    #[test]
    fn the_innermost_scope_around_all_uses() {
        assert_eq!(found(&program("", "", "")), [pair("t", "outer"), pair("u", "inner")]);
    }

    #[test]
    fn uses_elsewhere_and_lifetimes_that_are_no_scopes() {
        assert_eq!(found(&program(" lifetime(sdfg)", " lifetime(state)", "")), []);
        assert_eq!(found(&program("", "", "-> next with (n = i64(t))\nstate next {}")), [pair("u", "inner")]);
        let read =
            "state next { access u; access A; tasklet r (x) -> (o) { o = x }; u -> r.x; r.o -> A: A[0] }";
        assert_eq!(found(&program("", "", read)), [pair("t", "outer")]);
    }
}
