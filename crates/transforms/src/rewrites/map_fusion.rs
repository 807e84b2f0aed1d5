//! [`MapFusion`].

use std::collections::{BTreeMap, BTreeSet};

use sdfg::analysis::callbacks::scope_calls_back;
use sdfg::analysis::consumed_by;
use sdfg::analysis::symbols::{bound_symbols, symbol_types_in};
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{
    Access, ContainerId, ContainerKind, EdgeId, Flow, Lifetime, Map, Memlet, NodeId, NodeKind, StateId,
    Storage, Volume,
};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::{Assumptions, Expr, Sign, Symbol};
use serde::{Deserialize, Serialize};

use super::map_pair::{MapPair, touched};
use super::{anchored, described, map_split, nested_maps};
use crate::engine::{Claim, Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::Pattern;

/// Joins two maps of the same range, of which the second reads from a transient what the first writes. The
/// transient becomes a scalar of the iteration.
///
/// # When it applies
///
/// The ranges are proved to be the same. Iteration `i` of the second map reads only the element that
/// iteration `i` of the first one writes. Nothing else uses the transient. The maps share no other memory
/// that one of them writes, also by other names. Conditions around the state, and assumptions of the step, count for these proofs.
///
/// # Refusals
///
/// - The ranges or schedules differ, or equality is not proved.
/// - The second map reads another element of the transient than the iteration wrote.
/// - Another node, state, condition or assignment uses the transient, or it lies in memory of the caller.
/// - One map writes a container that the other one uses, also through a view or reference.
/// - A map gets symbols from data, uses a stream, or binds a view or reference.
/// - Both maps call functions of the caller, whose order would change.
///
/// # Before
///
/// ```sdft
/// sdfg scaled_sum {
///   symbol N: i64
///   array A: f64[N]
///   array B: f64[N]
///   transient array sum: f64[N]
///
///   state main {
///     access A
///     map add [i = 0:N] {
///       tasklet plus (a) -> (s) { s = a + 1.0 }
///       add.A -> plus.a: A[i]
///       plus.s -> add.sum: sum[i]
///     }
///     access sum
///     map scale [k = 0:N] {
///       tasklet times (s) -> (b) { b = 2.0 * s }
///       scale.sum -> times.s: sum[k]
///       times.b -> scale.B: B[k]
///     }
///     access B
///     A -> add.A
///     add.sum -> sum
///     sum -> scale.sum
///     scale.B -> B
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg scaled_sum {
///   symbol N: i64
///   array A: f64[N]
///   array B: f64[N]
///   transient scalar sum: f64
///
///   state main {
///     access A
///     access B
///     map "add.fused0" [i = 0:N] {
///       tasklet plus (a) -> (s) { s = a + 1.0 }
///       access sum
///       tasklet times (s) -> (b) { b = 2.0 * s }
///       "add.fused0".A -> plus.a: A[i]
///       plus.s -> sum: sum
///       sum -> times.s: sum
///       times.b -> "add.fused0".B: B[i]
///     }
///     "add.fused0".B -> B
///     A -> "add.fused0".A
///   }
/// }
/// ```
///
/// # Soundness
///
/// Iterations of the two maps depend on each other through one element of the transient alone, and this
/// element is written and read in the same iteration. An iteration of the joined map runs both tasklets in
/// this order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MapFusion {}

static METADATA: Metadata = Metadata {
    name: "MapFusion",
    group: Group::Map,
    summary: "Joins two maps of which the second reads what the first writes.",
    source: "paper, Table 4 and Appendix B.1",
    soundness: Soundness::Always,
    is_strict: false,
    file: include_str!("map_fusion.rs"),
    parameters: &[],
};

anchored!(several MapFusion);

impl MapFusion {
    /// The fusion of the maps with these paths.
    ///
    /// ```
    /// use sdfg_transforms::rewrites::MapFusion;
    ///
    /// assert_eq!(MapFusion::at("add", "scale").at.to_string(), "add, scale");
    /// ```
    ///
    /// # Panics
    /// If one of the texts is no path.
    pub fn at(first: &str, second: &str) -> crate::Step {
        MapFusion::default().at_all([first, second])
    }
}

impl Transformation for MapFusion {
    described!(METADATA);

    fn pattern(&self) -> Pattern {
        MapPair::pattern()
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let pair = MapPair::of(site.state(), site.found)?;
        let mut evidence = Evidence::default();
        pair.check_same_ranges(site, &mut evidence)?;
        pair.check_callbacks(site)?;
        pair.check_transient(site, &mut evidence)?;
        pair.check_others(site, Some(pair.container))?;
        if consumed_by(site.state(), site.state().in_edges(pair.between)[0]).is_some() {
            return Err(Refusal::structure(site.label(1), "is an element of a stream"));
        }
        nested_maps::no_declared_memlets(site, &pair.entries)?;
        Ok(evidence)
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, between, second) = (found.state(), found.node(1), found.node(2));
        let graph = editor.state(state)?;
        let Some(first) = graph.node(found.node(0)).kind.exit_of() else {
            return Err(EditError::NoNode(found.node(0)));
        };
        let container = graph.node(between).kind.container();
        join(editor, state, [first, second], &[between])?;
        let Some(container) = container else { return Err(EditError::NoNode(between)) };
        let edges: Vec<EdgeId> = {
            let graph = editor.state(state)?;
            [graph.in_edges(between), graph.out_edges(between)].concat()
        };
        editor.change_container(container, |found| {
            found.kind = ContainerKind::Scalar;
            found.lifetime = Lifetime::Scope;
            // An iteration of a kernel has its own element, where it runs.
            if found.storage == Storage::GpuGlobal {
                found.storage = Storage::Default;
            }
        })?;
        for edge in edges {
            let memlet = editor.state(state)?.edge(edge).memlet.clone();
            let scalar = Access::elements(container, Subset(Vec::new()));
            let memlet = match memlet.flow {
                Flow::Write { .. } => Memlet::write(scalar),
                Flow::Read(_) => Memlet::read(scalar),
                Flow::Order | Flow::Copy { .. } | Flow::Value | Flow::Bind(_) => continue,
            };
            editor.set_memlet(state, edge, memlet)?;
        }
        Ok(())
    }
}

/// Makes one map of two with the same ranges, and of nodes between them. The schedule is that of the first map.
pub(super) fn join(
    editor: &mut Editor<'_>,
    state: StateId,
    [first, second]: [NodeId; 2],
    between: &[NodeId],
) -> Result<(), EditError> {
    let map = nested_maps::entry_map(editor, state, first)?;
    let other = nested_maps::entry_map(editor, state, second)?;
    let label = editor.state(state)?.node(first).label.clone();
    let fused = editor.derived_label(state, &label, "fused")?;
    let values: BTreeMap<Symbol, Expr> = renaming(&other, &map);
    editor.substitute_in_scope(state, Some(second), &values)?;
    let nodes = between.iter().copied().chain([first, second]).collect();
    editor.wrap_in_map(state, &nodes, &fused, map.clone())?;
    // In an iteration of the new map each of the two has one iteration, of the same parameters.
    let own = map.params.iter().map(|param| Range::index(param.clone())).collect();
    let once = Map::new(map.params.clone(), Subset(own));
    for entry in [first, second] {
        editor.replace_node(state, entry, NodeKind::MapEntry(once.clone()))?;
        editor.unwrap_map(state, entry)?;
    }
    Ok(())
}

/// Whether two subsets are proved to have the same bounds. What is not evident is noted.
fn are_equal(
    (one, other): (&Subset, &Subset),
    about: &str,
    known: &dyn Fn() -> Assumptions,
    evidence: &mut Evidence,
) -> bool {
    if one == other {
        return true;
    }
    let known = known();
    let ends =
        |range: &Range| [range.begin.clone(), range.end.clone(), range.step.clone(), range.tile.clone()];
    let mut pairs = one.0.iter().flat_map(ends).zip(other.0.iter().flat_map(ends));
    one.rank() == other.rank()
        && pairs.all(|(a, b)| {
            if a != b && (&a - &b).sign(&known) != Sign::Zero {
                return false;
            }
            if a != b {
                evidence.note(about, Claim::Equal(a, b));
            }
            true
        })
}

/// The parameters of a map by those of another one.
fn renaming(from: &Map, to: &Map) -> BTreeMap<Symbol, Expr> {
    let pairs = from.params.iter().zip(&to.params);
    pairs.map(|(old, new)| (old.clone(), Expr::symbol(new.clone()))).collect()
}

impl<'p> MapPair<'p> {
    /// The calls of the first map come before those of the second one.
    pub(super) fn check_callbacks(&self, site: &Site<'_>) -> Result<(), Refusal> {
        let tree = site.scopes();
        if self.entries.into_iter().all(|entry| scope_calls_back(site.state(), &tree, entry)) {
            return Err(Refusal::structure(
                site.label(2),
                "calls functions of the caller, as the first map does",
            ));
        }
        Ok(())
    }

    /// Both maps have the same ranges, in names of the first.
    pub(super) fn check_same_ranges(&self, site: &Site<'_>, evidence: &mut Evidence) -> Result<(), Refusal> {
        let [first, second] = self.maps;
        let different = |reason: &str| Refusal::structure(site.label(2), reason);
        if first.params.len() != second.params.len() {
            return Err(different("has another number of dimensions"));
        }
        if first.schedule != second.schedule {
            return Err(different("has another schedule"));
        }
        let renamed = second.ranges.substitute(&renaming(second, first));
        let known = || site.known_in(site.scopes().scope_of(self.entries[0]));
        if !are_equal((&renamed, &first.ranges), site.label(2), &known, evidence) {
            return Err(different(&format!(
                "has the range [{}], and the first map [{}]",
                second.ranges, first.ranges
            )));
        }
        for entry in self.entries {
            if bound_symbols(site.state(), entry).len() > first.params.len() {
                return Err(Refusal::structure(&site.state().node(entry).label, "gets symbols from data"));
            }
        }
        // Symbols of that name inside of the second map would be taken for the parameters. They are defined around both maps.
        let tree = site.scopes();
        let defined = symbol_types_in(site.sdfg, site.state(), &tree, tree.scope_of(self.entries[0]));
        let is_other = |param: &&Symbol| !second.params.contains(param) && defined.contains_key(*param);
        let outer: BTreeSet<&Symbol> = first.params.iter().filter(is_other).collect();
        let uses =
            |symbol: &Symbol| different(&format!("uses the symbol `{symbol}`, a parameter of the first map"));
        let in_ranges = second.ranges.free_symbols();
        if let Some(symbol) = outer.iter().find(|symbol| in_ranges.contains(**symbol)) {
            return Err(uses(symbol));
        }
        let pairs = first.params.iter().zip(&second.params);
        let renamed = pairs.filter(|(own, other)| own != other).map(|(_, other)| other);
        let sizing: BTreeSet<&Symbol> = renamed.chain(outer.iter().copied()).collect();
        nested_maps::no_sizes(site, self.entries[1], &sizing)?;
        if outer.is_empty() {
            return Ok(());
        }
        let inside = sdfg::analysis::symbols::free_symbols_in_scope(site.state(), Some(self.entries[1]));
        match outer.into_iter().find(|symbol| inside.contains(*symbol)) {
            Some(symbol) => Err(uses(symbol)),
            None => Ok(()),
        }
    }

    /// Nothing but the two maps uses the transient, and iterations read the element that they wrote.
    fn check_transient(&self, site: &Site<'p>, evidence: &mut Evidence) -> Result<(), Refusal> {
        let into = self.alone(site)?;
        let state = site.state();
        let name = site.sdfg.container(self.container).name.as_str();
        evidence.note(name, Claim::NoOtherUse);
        let written = self.written(site, into)?;
        let [first, second] = self.maps;
        let names = renaming(second, first);
        for edge in state.out_edges(self.between) {
            let Some(port) = state.edge(edge).in_port() else {
                let by = "the range of the second map".to_owned();
                return Err(Refusal::UsedElsewhere { container: name.to_owned(), by });
            };
            for inner in state.edges_at(self.entries[1], sdfg::ir::Port::Out(port)) {
                let content = state.edge(*inner);
                let Flow::Read(read) = &content.memlet.flow else {
                    return Err(Refusal::structure(
                        &state.node(content.dst).label,
                        "does not simply read the transient",
                    ));
                };
                if !state.node(content.dst).kind.is_code() || !is_one_element(&content.memlet, read) {
                    return Err(Refusal::structure(
                        &state.node(content.dst).label,
                        "reads more than one element of the transient",
                    ));
                }
                let renamed = read.subset().substitute(&names);
                let known = || site.known_in(Some(self.entries[0]));
                if !are_equal((&renamed, written.subset()), name, &known, evidence) {
                    return Err(Refusal::Conflict {
                        container: name.to_owned(),
                        first: format!("the write {name}[{}]", written.subset()),
                        second: format!("the read {name}[{}]", read.subset()),
                        reason: "are different elements",
                    });
                }
                evidence.note(name, Claim::Covers { outer: written.subset().clone(), inner: renamed });
            }
        }
        Ok(())
    }

    /// The element that an iteration of the first map writes.
    fn written(&self, site: &Site<'p>, outside: EdgeId) -> Result<&'p Access, Refusal> {
        let state = site.state();
        let refuse = |reason: &str| Refusal::structure(site.label(0), reason.to_owned());
        let Some(port) = state.edge(outside).out_port() else {
            return Err(refuse("does not write the transient"));
        };
        let [inner] = state.edges_at(self.exit, sdfg::ir::Port::In(port)) else {
            return Err(refuse("writes the transient in several places"));
        };
        let content = state.edge(*inner);
        match &content.memlet.flow {
            Flow::Write { to, resolution: None }
                if state.node(content.src).kind.is_code() && is_one_element(&content.memlet, to) =>
            {
                Ok(to)
            }
            _ => Err(refuse("does not write one element of the transient in each iteration")),
        }
    }

    /// The maps share no memory that one of them writes, except for a container. They have no streams, and bind no views.
    pub(super) fn check_others(&self, site: &Site<'_>, except: Option<ContainerId>) -> Result<(), Refusal> {
        let state = site.state();
        let [first, second] = self.entries.map(|entry| touched(site, state, entry));
        for (container, is_written) in first.iter().filter(|(container, _)| Some(**container) != except) {
            let names = site.same_memory(*container);
            if second.iter().any(|(other, also)| names.contains(other) && (*also || *is_written)) {
                return Err(Refusal::container(
                    &site.sdfg.container(*container).name,
                    "is written by one of the maps and used by the other",
                ));
            }
        }
        for container in first.keys().chain(second.keys()) {
            let found = site.sdfg.container(*container);
            if found.is_stream() {
                return Err(Refusal::container(&found.name, "is a stream"));
            }
        }
        for edge in self.entries.into_iter().flat_map(|entry| site.edges_within(entry)) {
            map_split::no_binding(site, edge)?;
        }
        Ok(())
    }
}

/// Whether a memlet moves exactly one element.
pub(super) fn is_one_element(memlet: &Memlet, access: &Access) -> bool {
    !access.is_queue()
        && access.subset().is_element()
        && matches!(&memlet.volume, Volume::Exact(volume) if volume.is_one())
}
