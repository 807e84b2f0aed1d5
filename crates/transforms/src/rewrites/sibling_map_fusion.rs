//! [`SiblingMapFusion`].

use std::collections::BTreeSet;

use sdfg::analysis::node_leads_to;
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{Flow, Map, NodeId, NodeKind, State};
use sdfg::subset::Range;
use sdfg::symbolic::Expr;
use serde::{Deserialize, Serialize};

use super::map_pair::MapPair;
use super::{anchored, described, map_fusion, nested_maps};
use crate::engine::{Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Joins two maps of the same range that read the same container, so that each element comes from memory once.
///
/// # When it applies
///
/// The ranges are proved to be the same, and no path leads from one map to the other. The maps share no memory that one of them
/// writes, also by other names. Conditions around the state, and assumptions of the step, count for these proofs.
///
/// Of the maps that read one access node, `match` lists each with the next eight that may have its range. A step with the paths of
/// two maps joins any two.
///
/// # Refusals
///
/// - The ranges or schedules differ, or equality is not proved.
/// - One map comes before the other, also by an order.
/// - One map writes a container that the other one uses, also through a view or reference.
/// - A map gets symbols from data, uses a stream, or binds a view or reference.
/// - The second map uses a symbol with the name of a parameter of the first one, or a container whose size names its parameter.
/// - Both maps call functions of the caller, whose order would change.
///
/// # Before
///
/// ```sdft
/// sdfg bicg {
///   symbol N: i64
///   symbol M: i64
///   array A: f64[N, M]
///   array p: f64[M]
///   array r: f64[N]
///   array q: f64[N]
///   array s: f64[M]
///
///   state main {
///     access A
///     access p
///     map rows [i = 0:N, j = 0:M] {
///       tasklet times (a, v) -> (o) { o = a * v }
///       rows.A -> times.a: A[i, j]
///       rows.p -> times.v: p[j]
///       times.o -> rows.q: q[i] wcr(sum)
///     }
///     access q
///     access r
///     map columns [k = 0:N, l = 0:M] {
///       tasklet times_1 (a, v) -> (o) { o = a * v }
///       columns.A -> times_1.a: A[k, l]
///       columns.r -> times_1.v: r[k]
///       times_1.o -> columns.s: s[l] wcr(sum)
///     }
///     access s
///     A -> rows.A
///     p -> rows.p
///     rows.q -> q
///     A -> columns.A
///     r -> columns.r
///     columns.s -> s
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg bicg {
///   symbol N: i64
///   symbol M: i64
///   array A: f64[N, M]
///   array p: f64[M]
///   array r: f64[N]
///   array q: f64[N]
///   array s: f64[M]
///
///   state main {
///     access A
///     access p
///     access q
///     access r
///     access s
///     map "rows.fused0" [i = 0:N, j = 0:M] {
///       tasklet times (a, v) -> (o) { o = a * v }
///       tasklet times_1 (a, v) -> (o) { o = a * v }
///       "rows.fused0".A -> times.a: A[i, j]
///       "rows.fused0".p -> times.v: p[j]
///       times.o -> "rows.fused0".q: q[i] wcr(sum)
///       "rows.fused0".A -> times_1.a: A[i, j]
///       "rows.fused0".r -> times_1.v: r[i]
///       times_1.o -> "rows.fused0".s: s[j] wcr(sum)
///     }
///     "rows.fused0".q -> q
///     "rows.fused0".s -> s
///     A -> "rows.fused0".A
///     p -> "rows.fused0".p
///     r -> "rows.fused0".r
///   }
/// }
/// ```
///
/// # Soundness
///
/// No iteration of one map depends on one of the other, so they may run in any order, and in turns. What the maps combine into
/// the same element of a container, they combine in any order, too.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SiblingMapFusion {}

static METADATA: Metadata = Metadata {
    name: "SiblingMapFusion",
    group: Group::Map,
    summary: "Joins two maps that read the same container.",
    source: "DaCe, MapFusionHorizontal",
    soundness: Soundness::Always,
    is_strict: false,
    file: include_str!("sibling_map_fusion.rs"),
    parameters: &[],
};

anchored!(several SiblingMapFusion);

impl SiblingMapFusion {
    /// The fusion of the maps with these paths.
    ///
    /// ```
    /// use sdfg_transforms::rewrites::SiblingMapFusion;
    ///
    /// assert_eq!(SiblingMapFusion::at("rows", "columns").at.to_string(), "rows, columns");
    /// ```
    ///
    /// # Panics
    /// If one of the texts is no path.
    pub fn at(first: &str, second: &str) -> crate::Step {
        SiblingMapFusion::default().at_all([first, second])
    }
}

impl Transformation for SiblingMapFusion {
    described!(METADATA);

    fn pattern(&self) -> Pattern {
        Pattern::Nodes {
            nodes: vec![
                ("shared", NodeClass::Access),
                ("first", NodeClass::MapEntry),
                ("second", NodeClass::MapEntry),
            ],
            edges: vec![(0, 1), (0, 2)],
        }
    }

    fn places_in(&self, state: &State) -> Option<Vec<Vec<NodeId>>> {
        let mut found = Vec::new();
        for (shared, node) in state.nodes() {
            if node.kind.container().is_none() {
                continue;
            }
            let readers: BTreeSet<NodeId> = state.each_out_edge(shared).map(|(_, edge)| edge.dst).collect();
            let map_of = |entry: NodeId| match &state.node(entry).kind {
                NodeKind::MapEntry(map) => Some((entry, map)),
                _ => None,
            };
            let maps: Vec<(NodeId, Ends)> =
                readers.into_iter().filter_map(map_of).map(|(entry, map)| (entry, ends(map))).collect();
            for (at, (first, own)) in maps.iter().enumerate() {
                let later = maps[at + 1..].iter().filter(|(_, other)| may_be_equal(own, other));
                found.extend(later.take(NEXT).map(|(second, _)| vec![shared, *first, *second]));
            }
        }
        Some(found)
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let pair = siblings(site)?;
        let mut evidence = Evidence::default();
        if !pair.entries.iter().all(|entry| reads(site, pair.between, *entry)) {
            return Err(Refusal::structure(site.label(0), "is not read by both maps"));
        }
        pair.check_same_ranges(site, &mut evidence)?;
        pair.check_callbacks(site)?;
        let leads = |from: NodeId, to: NodeId| {
            site.state().exit_of(from).is_some_and(|exit| node_leads_to(site.state(), exit, to))
        };
        let [first, second] = pair.entries;
        if leads(first, second) || leads(second, first) {
            return Err(Refusal::structure(site.label(2), "is ordered with the first map"));
        }
        pair.check_others(site, None)?;
        nested_maps::no_declared_memlets(site, &pair.entries)?;
        Ok(evidence)
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        map_fusion::join(editor, found.state(), [found.node(1), found.node(2)], &[])
    }
}

/// The number of later maps that a map is listed with. A container that more maps read has places in the square of their number.
const NEXT: usize = 8;

/// The bounds, steps and tiles of the ranges of a map, where they are numbers.
type Ends = Vec<Option<i64>>;

fn ends(map: &Map) -> Ends {
    let of = |range: &Range| [&range.begin, &range.end, &range.step, &range.tile].map(Expr::as_int);
    map.ranges.0.iter().flat_map(of).collect()
}

/// Whether two maps may have the same ranges: what differs is no number.
fn may_be_equal(one: &Ends, other: &Ends) -> bool {
    one.len() == other.len()
        && one.iter().zip(other).all(|pair| !matches!(pair, (Some(a), Some(b)) if a != b))
}

/// The maps of a match.
fn siblings<'p>(site: &Site<'p>) -> Result<MapPair<'p>, Refusal> {
    let state = site.state();
    let [between, first, second] = [0, 1, 2].map(|at| site.found.node(at));
    let refuse = |at: usize, reason: &str| Refusal::structure(site.label(at), reason);
    let container = state.node(between).kind.container().ok_or_else(|| refuse(0, "is no access node"))?;
    let exit = state.exit_of(first).ok_or_else(|| refuse(1, "is no map"))?;
    match (&state.node(first).kind, &state.node(second).kind) {
        (NodeKind::MapEntry(one), NodeKind::MapEntry(other)) => {
            Ok(MapPair { entries: [first, second], maps: [one, other], exit, between, container })
        }
        _ => Err(refuse(2, "is no map")),
    }
}

/// Whether a map gets elements of an access node, not only an order.
fn reads(site: &Site<'_>, node: NodeId, entry: NodeId) -> bool {
    let state = site.state();
    state.each_out_edge(node).any(|(_, edge)| edge.dst == entry && !matches!(edge.memlet.flow, Flow::Order))
}
