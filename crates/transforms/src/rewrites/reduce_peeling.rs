//! [`ReducePeeling`].

use sdfg::analysis::ScopeTree;
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{ContainerId, EdgeId, Map, NodeId, NodeKind, State};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::Symbol;
use serde::{Deserialize, Serialize};

use super::fill::Initial;
use super::sole_write::SoleWrite;
use super::{anchored, described, fill, map_split, nested_maps};
use crate::engine::{Claim, Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Lets the first iteration of a sum write its elements instead of adding to them, and removes the zeros that
/// were there.
///
/// The map accumulates in one element for each point of its other dimensions, while one parameter runs over
/// the summands. Its iterations with the first value of this parameter become a map of their own, which runs
/// before the others and writes without a conflict resolution. Products are treated likewise.
///
/// # When it applies
///
/// The part of the container that gets zeros is exactly the part in which the first iterations accumulate.
/// Different points name different elements. The parameter has at least one value: without a summand, the sum would be
/// undefined.
///
/// # Refusals
///
/// - Another node reads the initial values.
/// - The initial values are not the neutral element, or cover other elements than the first iterations.
/// - The map does not accumulate over exactly one of its parameters, or different points may name the same
///   element.
/// - It is not proved that the range of the parameter has a value.
/// - The map uses the container in another way, too, or the container is a view or reference.
///
/// # Before
///
/// ```sdft
/// sdfg column_sums {
///   symbol N: i64
///   array A: f64[N + 1, N]
///   array B: f64[N]
///
///   state s {
///     access A
///     access zeros = B
///     map fill [e = 0:N] {
///       tasklet zero () -> (y) { y = 0 }
///       zero.y -> fill.B: B[e]
///       order fill -> zero
///     }
///     map sums [k = 0:N + 1, i = 0:N] {
///       tasklet t (x) -> (y) { y = x * x }
///       sums.A -> t.x: A[k, i]
///       t.y -> sums.B: B[i] wcr(sum)
///     }
///     access B
///     fill.B -> zeros
///     order zeros -> sums
///     A -> sums.A
///     sums.B -> B
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg column_sums {
///   symbol N: i64
///   array A: f64[N + 1, N]
///   array B: f64[N]
///
///   state s {
///     access A
///     access zeros = B
///     map sums [k = 0, i = 0:N] {
///       tasklet t (x) -> (y) { y = x * x }
///       sums.A -> t.x: A[k, i]
///       t.y -> sums.B: B[i]
///     }
///     access B
///     map sums_1 [k = 1:N + 1, i = 0:N] {
///       tasklet t_1 (x) -> (y) { y = x * x }
///       sums_1.A -> t_1.x: A[k, i]
///       t_1.y -> sums_1.B: B[i] wcr(sum)
///     }
///     A -> sums.A
///     sums.B -> zeros
///     order zeros -> sums_1
///     A -> sums_1.A
///     sums_1.B -> B
///   }
/// }
/// ```
///
/// # Soundness
///
/// The neutral element combined with the first summand is this summand, up to the sign of a zero. Each
/// element still combines all summands, and the first one comes first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReducePeeling {}

static METADATA: Metadata = Metadata {
    name: "ReducePeeling",
    group: Group::Map,
    summary: "Lets the first iteration of a sum write its elements instead of adding to zeros.",
    source: "paper, section 6.2",
    soundness: Soundness::ChangesRounding,
    is_strict: false,
    file: include_str!("reduce_peeling.rs"),
    parameters: &[],
};

anchored!(ReducePeeling);

impl Transformation for ReducePeeling {
    described!(METADATA);

    fn pattern(&self) -> Pattern {
        Pattern::Nodes {
            nodes: vec![("map", NodeClass::MapEntry), ("zeros", NodeClass::Access)],
            edges: vec![(1, 0)],
        }
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        map_split::copyable(site)?;
        let (state, tree) = (site.state(), site.scopes());
        let sum = Sum::of(state, &tree, site.found)?;
        let name = site.sdfg.container(sum.container).name.as_str();
        let known = site.known_in(tree.scope_of(site.found.node(0)));
        sum.check_scope(site)?;
        let mut evidence = Evidence::default();
        let others = sum.others();
        if !sum.write.tells_apart(&others) {
            let needed =
                format!("different iterations with one value of `{}` write different elements", sum.symbol());
            return Err(Refusal::Unproved { about: name.to_owned(), needed });
        }
        let (filled, summed) =
            (sum.filled.write.part(&known), sum.write.part_with(sum.symbol(), &sum.range().begin, &known));
        let (Some(filled), Some(summed)) = (filled, summed) else {
            return Err(Refusal::Unproved {
                about: name.to_owned(),
                needed: "all elements of a part are written".to_owned(),
            });
        };
        for (outer, inner) in [(&filled, &summed), (&summed, &filled)] {
            if !outer.covers(inner, &known).is_proved() {
                return Err(Refusal::Conflict {
                    container: name.to_owned(),
                    first: format!("the initial values [{filled}]"),
                    second: format!("the sums [{summed}]"),
                    reason: "are not the same elements",
                });
            }
            evidence.note(name, Claim::Covers { outer: outer.clone(), inner: inner.clone() });
        }
        let range = sum.range();
        if !range.is_empty(&known).is_refuted() {
            let needed = format!("[{range}] has a value");
            return Err(Refusal::Unproved { about: sum.symbol().to_string(), needed });
        }
        evidence.note(
            sum.symbol().as_str(),
            Claim::Covers {
                outer: Subset(vec![range.clone()]),
                inner: Subset(vec![Range::index(range.begin.clone())]),
            },
        );
        Ok(evidence)
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, entry, zeros) = (found.state(), found.node(0), found.node(1));
        let graph = editor.state(state)?;
        let tree = ScopeTree::of(graph);
        let Ok(sum) = Sum::of(graph, &tree, found) else { return Err(EditError::NoNode(entry)) };
        let (map, at, outside, path) = (sum.map.clone(), sum.at, sum.outside, sum.write.path.clone());
        let first_of_fill = sum.filled.outermost();
        // The iterations that write come after all that the initial values came after.
        let before = sum.filled.before(graph, tree.scope_of(entry));
        let orders: Vec<EdgeId> =
            graph.each_out_edge(zeros).filter(|(_, edge)| edge.dst == entry).map(|(id, _)| id).collect();
        let rest = editor.copy_scope(state, entry)?;
        let range = &map.ranges.0[at];
        let second = &range.begin + &range.step;
        for (node, part) in [
            (entry, Range { end: second.clone(), ..range.clone() }),
            (rest, Range { begin: second.clone(), ..range.clone() }),
        ] {
            let mut map = map.clone();
            map.ranges.0[at] = part;
            editor.replace_node(state, node, NodeKind::MapEntry(map))?;
        }
        for order in orders {
            editor.remove_edge(state, order)?;
        }
        for segment in path {
            editor.set_resolution(state, segment, None)?;
        }
        editor.redirect_destination(state, outside, zeros, None)?;
        editor.remove_node(state, first_of_fill)?;
        for node in before {
            editor.add_order(state, node, entry)?;
        }
        Ok(())
    }
}

/// A map that accumulates in elements that another node gave the neutral element.
struct Sum<'p> {
    map: &'p Map,
    container: ContainerId,
    /// Position of the parameter that runs over the summands.
    at: usize,
    /// The edge from the map to the sums.
    outside: EdgeId,
    write: SoleWrite<'p>,
    /// The neutral element.
    filled: Initial<'p>,
}

impl<'p> Sum<'p> {
    fn of(state: &'p State, tree: &ScopeTree, found: &Match) -> Result<Self, Refusal> {
        let (entry, zeros) = (found.node(0), found.node(1));
        let label = |node: NodeId| state.node(node).label.as_str();
        let (NodeKind::MapEntry(map), Some(container), Some(exit)) =
            (&state.node(entry).kind, state.node(zeros).kind.container(), state.exit_of(entry))
        else {
            return Err(Refusal::structure(label(entry), "is no map behind an access node"));
        };
        let sums: Vec<EdgeId> = state
            .each_out_edge(exit)
            .filter(|(_, edge)| edge.memlet.write_access().is_some_and(|to| to.container == container))
            .map(|(id, _)| id)
            .collect();
        let [outside] = &sums[..] else {
            let reason = "does not accumulate in the container through one edge";
            return Err(Refusal::structure(label(entry), reason));
        };
        if state.node(state.edge(*outside).dst).kind.container() != Some(container) {
            return Err(Refusal::structure(label(entry), "sums up through the exit of another map"));
        }
        let write = SoleWrite::behind(state, tree, *outside)?;
        let Some(neutral) = write.resolution.and_then(fill::neutral) else {
            return Err(Refusal::structure(label(entry), "computes no sum or product"));
        };
        let filled = Initial::of(state, tree, (zeros, entry), neutral)?;
        let used = write.access.subset().free_symbols();
        let free: Vec<usize> = (0..map.params.len()).filter(|at| !used.contains(&map.params[*at])).collect();
        let is_inner = |symbol: &Symbol| !map.params.contains(symbol) && !used.contains(symbol);
        let [at] = free[..] else {
            let reason = "does not sum up over exactly one of its parameters";
            return Err(Refusal::structure(label(entry), reason));
        };
        if let Some((symbol, _)) = write.parameters.iter().find(|(symbol, _)| is_inner(symbol)) {
            let reason = format!("sums up over `{symbol}`, a parameter of a map in it, too");
            return Err(Refusal::structure(label(entry), reason));
        }
        Ok(Sum { map, container, at, outside: *outside, write, filled })
    }

    /// The parameter that runs over the summands.
    fn symbol(&self) -> &'p Symbol {
        &self.map.params[self.at]
    }

    /// Its values.
    fn range(&self) -> &'p Range {
        &self.map.ranges.0[self.at]
    }

    /// The other parameters.
    fn others(&self) -> Vec<Symbol> {
        let all = self.write.parameters.iter().map(|(symbol, _)| symbol.clone());
        all.filter(|symbol| symbol != self.symbol()).collect()
    }

    /// The map does not touch the container otherwise, and the summands are the same for all elements.
    fn check_scope(&self, site: &Site<'_>) -> Result<(), Refusal> {
        let state = site.state();
        let same = site.same_memory(self.container);
        let names = |edge: &EdgeId| {
            let mut accesses = state.edge(*edge).memlet.accesses();
            !self.write.path.contains(edge) && accesses.any(|access| same.contains(&access.container))
        };
        let entry = site.found.node(0);
        let name = &site.sdfg.container(self.container).name;
        if site.edges_within(entry).iter().chain(&state.in_edges(entry)).any(names) {
            return Err(Refusal::container(name, "is used by the map in another way, too"));
        }
        if site.sdfg.container(self.container).is_alias() {
            return Err(Refusal::container(name, "is a view or reference"));
        }
        let others = self.others();
        nested_maps::independent(&Subset(vec![self.range().clone()]), &others)?;
        if !self.range().tile.is_one() {
            return Err(Refusal::structure(site.label(0), "has a range of tiles"));
        }
        nested_maps::no_declared_memlets(site, &self.write.entries)
    }
}
