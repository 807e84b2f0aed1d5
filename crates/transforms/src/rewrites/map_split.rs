//! [`MapSplit`].

use sdfg::analysis::bound_alias;
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{EdgeId, Map, NodeId, NodeKind, StateId};
use sdfg::subset::Range;
use sdfg::symbolic::{Assumptions, Expr, Sign, Symbol};
use serde::{Deserialize, Serialize};

use super::map_pair::touched;
use super::{Size, anchored, described, nested_maps};
use crate::engine::{
    Claim, Evidence, Group, Match, Metadata, Parameter, Refusal, Site, Soundness, Transformation,
};
use crate::pattern::{NodeClass, Pattern};

/// Splits the range of a map in two: a map over the first `count` iterations of a dimension, and one over the
/// others. Or the second map begins at the value `at`, for ranges that begin elsewhere in each iteration of another dimension.
///
/// So the borders of a stencil become maps of their own, and a triangle becomes a smaller one and a rectangle.
///
/// # When it applies
///
/// The map has one dimension or several, with steps of a known sign. It touches no stream. Data that give it symbols are not
/// written by it.
///
/// # Refusals
///
/// - The map has fewer dimensions, or `count` is not proved to be at least 0.
/// - `at` is given, and the step is not 1, or `count` is given, too.
/// - The sign of the step is not known.
/// - The map uses a stream, binds a view or reference, or writes what gives it a symbol.
///
/// # Before
///
/// ```sdft
/// sdfg double_all {
///   symbol N: i64
///   array A: f64[N]
///   array B: f64[N]
///
///   state main {
///     access A
///     map elements [i = 0:N] {
///       tasklet double (a) -> (b) { b = 2.0 * a }
///       elements.A -> double.a: A[i]
///       double.b -> elements.B: B[i]
///     }
///     access B
///     A -> elements.A
///     elements.B -> B
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg double_all {
///   symbol N: i64
///   array A: f64[N]
///   array B: f64[N]
///
///   state main {
///     access A
///     map elements [i = 0:min(N, 1)] {
///       tasklet double (a) -> (b) { b = 2.0 * a }
///       elements.A -> double.a: A[i]
///       double.b -> elements.B: B[i]
///     }
///     access B
///     map elements_1 [i = 1:N] {
///       tasklet double_1 (a) -> (b) { b = 2.0 * a }
///       elements_1.A -> double_1.a: A[i]
///       double_1.b -> elements_1.B: B[i]
///     }
///     A -> elements.A
///     elements.B -> B
///     A -> elements_1.A
///     elements_1.B -> B
///   }
/// }
/// ```
///
/// # Soundness
///
/// Each iteration is in exactly one of the maps: a range `b:e:s` becomes `b:min(b + s*count, e):s` and
/// `b + s*count:e:s`. With `at`, a range `b:e` becomes `b:min(at, e)` and `max(at, b):e`. Iterations of maps are concurrent, so the
/// two maps need no order.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MapSplit {
    /// Number of iterations of the dimension in the first map.
    pub count: Size,
    /// The dimension, from 0.
    pub dimension: usize,
    /// The first value of the second map, in place of `count`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Size>,
}

impl Default for MapSplit {
    fn default() -> Self {
        MapSplit { count: Size::from(1), dimension: 0, at: None }
    }
}

static METADATA: Metadata = Metadata {
    name: "MapSplit",
    group: Group::Map,
    summary: "Splits the range of a map in two.",
    source: "DaCe, MapSplit; paper, section 6.2",
    soundness: Soundness::ChangesRounding,
    is_strict: false,
    file: include_str!("map_split.rs"),
    parameters: &[
        Parameter {
            name: "count",
            ty: "integer or expression",
            default: Some("1"),
            summary: "Number of iterations of the dimension in the first map.",
        },
        Parameter { name: "dimension", ty: "integer", default: Some("0"), summary: "The dimension, from 0." },
        Parameter {
            name: "at",
            ty: "integer or expression",
            default: Some("behind `count` iterations"),
            summary: "The first value of the second map, in place of `count`.",
        },
    ],
};

anchored!(MapSplit);

/// Refuses scopes that cannot be copied: those with streams, symbols from data, declared memlets, or views and references that
/// they bind. Those that are bound outside of the scope name the same elements in a copy.
pub(super) fn copyable(site: &Site<'_>) -> Result<(), Refusal> {
    copyable_at(site, 0)
}

/// As [`copyable`], of the map at a position of the pattern.
pub(super) fn copyable_at(site: &Site<'_>, at: usize) -> Result<(), Refusal> {
    let (state, entry) = (site.state(), site.found.node(at));
    let map = site.map(at)?;
    if sdfg::analysis::symbols::bound_symbols(state, entry) != map.params {
        return Err(Refusal::structure(site.label(at), "gets symbols from data"));
    }
    copyable_with_symbols_at(site, entry)
}

/// As [`copyable`], of scopes whose copies all read the same symbols from data.
pub(super) fn copyable_with_symbols(site: &Site<'_>) -> Result<(), Refusal> {
    copyable_with_symbols_at(site, site.found.node(0))
}

/// Refuses a map that writes what gives it a symbol: where it begins again, it would read another value.
pub(super) fn keeps_its_symbols(site: &Site<'_>, entry: NodeId) -> Result<(), Refusal> {
    let state = site.state();
    let touched = touched(site, state, entry);
    for (_, edge) in state.each_in_edge(entry).filter(|(_, edge)| edge.given_symbol().is_some()) {
        for access in edge.memlet.accesses() {
            let names = site.same_memory(access.container);
            if touched.iter().any(|(id, is_written)| *is_written && names.contains(id)) {
                let name = &site.sdfg.container(access.container).name;
                return Err(Refusal::container(name, "gives the map a symbol, and the map writes it"));
            }
        }
    }
    Ok(())
}

fn copyable_with_symbols_at(site: &Site<'_>, entry: NodeId) -> Result<(), Refusal> {
    let state = site.state();
    keeps_its_symbols(site, entry)?;
    for edge in site.edges_within(entry) {
        for access in state.edge(edge).memlet.accesses() {
            let container = site.sdfg.container(access.container);
            if container.is_stream() {
                return Err(Refusal::container(&container.name, "is a stream"));
            }
        }
        no_binding(site, edge)?;
    }
    nested_maps::no_declared_memlets(site, &[entry])
}

/// Refuses an edge that binds a view or reference.
pub(super) fn no_binding(site: &Site<'_>, edge: EdgeId) -> Result<(), Refusal> {
    match bound_alias(site.state(), edge) {
        Some((alias, _)) => {
            let name = &site.sdfg.container(alias).name;
            Err(Refusal::container(name, "is a view or reference that the map binds"))
        }
        None => Ok(()),
    }
}

/// One of two bounds, where `known` tells which one, or the expression that takes it.
fn bound(one: &Expr, other: &Expr, is_least: bool, known: &Assumptions) -> Expr {
    let precedes = |a: &Expr, b: &Expr| {
        let (least, most) = if is_least { (a, b) } else { (b, a) };
        least.le(most, known).is_proved()
    };
    if precedes(one, other) {
        one.clone()
    } else if precedes(other, one) {
        other.clone()
    } else if is_least {
        Expr::min(one, other)
    } else {
        Expr::max(one, other)
    }
}

impl MapSplit {
    fn ascends(&self, range: &Range, known: &Assumptions) -> Option<bool> {
        match range.step.sign(known) {
            Sign::Positive => Some(true),
            Sign::Negative => Some(false),
            Sign::NonPositive | Sign::Zero | Sign::NonNegative | Sign::Unknown => None,
        }
    }

    /// The two parts of a range, where `known` is known whether or not the range has values.
    fn parts(&self, range: &Range, ascends: bool, known: &Assumptions) -> [Range; 2] {
        let (middle, begin) = match &self.at {
            Some(Size(at)) => (at.clone(), bound(at, &range.begin, false, known)),
            None => {
                let middle = &range.begin + &(&range.step * &self.count.0);
                (middle.clone(), middle)
            }
        };
        let end = bound(&middle, &range.end, ascends, known);
        [Range { end, ..range.clone() }, Range { begin, ..range.clone() }]
    }

    /// The parameter that tells where the range is split, with its name.
    fn place(&self) -> (&'static str, &Expr) {
        match &self.at {
            Some(Size(at)) => ("at", at),
            None => ("count", &self.count.0),
        }
    }
}

impl Transformation for MapSplit {
    described!(METADATA, of_any_memory);

    fn pattern(&self) -> Pattern {
        Pattern::path([("map", NodeClass::MapEntry)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let map = site.map(0)?;
        let Some((param, range)) = map.params.iter().zip(&map.ranges.0).nth(self.dimension) else {
            let reason = format!("the map has {} dimensions", map.params.len());
            return Err(Refusal::Parameter { parameter: "dimension", reason });
        };
        copyable_with_symbols(site)?;
        let (tree, (parameter, place)) = (site.scopes(), self.place());
        let scope = tree.scope_of(site.found.node(0));
        let known = site.known_in(scope);
        let in_scope = sdfg::analysis::symbols::symbol_types_in(site.sdfg, site.state(), &tree, scope);
        let unknown = |symbol: &Symbol| map.params.contains(symbol) || !in_scope.contains_key(symbol);
        if let Some(symbol) = place.free_symbols().iter().find(|symbol| unknown(symbol)) {
            let reason = format!("`{symbol}` is no symbol outside of the map");
            return Err(Refusal::Parameter { parameter, reason });
        }
        let mut evidence = Evidence::default();
        if self.at.is_some() {
            if !range.step.is_one() {
                let reason = format!("the step is {}, and `at` needs 1", range.step);
                return Err(Refusal::Parameter { parameter, reason });
            }
            if self.count != MapSplit::default().count {
                let reason = "`count` is given, too".to_owned();
                return Err(Refusal::Parameter { parameter, reason });
            }
        } else if place.is_nonnegative(&known).is_proved() {
            evidence.note(param.as_str(), Claim::Positive(place + &Expr::one()));
        } else {
            // A negative count would give the second map iterations that the first one has, too.
            let reason = format!("it is not proved that {place} is not negative");
            return Err(Refusal::Parameter { parameter, reason });
        }
        if self.ascends(range, &known).is_none() || !range.tile.is_one() {
            let needed = format!("the step {} is positive, or that it is negative", range.step);
            return Err(Refusal::Unproved { about: param.to_string(), needed });
        }
        Ok(evidence)
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, entry) = (found.state(), found.node(0));
        let map = nested_maps::entry_map(editor, state, entry)?;
        let tree = sdfg::analysis::ScopeTree::of(editor.state(state)?);
        let known = sdfg::analysis::symbol_facts_at(editor.sdfg(), state, tree.scope_of(entry));
        let range = map.ranges.0.get(self.dimension).ok_or(EditError::NoNode(entry))?;
        let ascends = self.ascends(range, &known).ok_or(EditError::NoNode(entry))?;
        // A dimension has its values in iterations of those before it.
        let mut within = known;
        for (symbol, range) in map.params.iter().zip(&map.ranges.0).take(self.dimension) {
            range.constrain(symbol.clone(), &mut within);
        }
        let [first, second] = self.parts(range, ascends, &within);
        let copy = editor.copy_scope(state, entry)?;
        set_range(editor, (state, entry), &map, self.dimension, first)?;
        set_range(editor, (state, copy), &map, self.dimension, second)
    }
}

fn set_range(
    editor: &mut Editor<'_>,
    (state, entry): (StateId, NodeId),
    map: &Map,
    dimension: usize,
    range: Range,
) -> Result<(), EditError> {
    let mut map = map.clone();
    if let Some(own) = map.ranges.0.get_mut(dimension) {
        *own = range;
    }
    editor.replace_node(state, entry, NodeKind::MapEntry(map)).map(|_| ())
}
