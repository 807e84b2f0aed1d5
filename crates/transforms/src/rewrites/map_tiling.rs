//! [`MapTiling`].

use std::collections::BTreeSet;

use sdfg::analysis::symbols::{bound_symbols, symbol_types_in};
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{Map, NodeKind, Schedule};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::{Assumptions, Expr, Sign, Symbol};
use serde::{Deserialize, Serialize};

use super::{Size, anchored, described, map_split, nested_maps};
use crate::engine::{
    Claim, Evidence, Group, Match, Metadata, Parameter, Refusal, Site, Soundness, Transformation,
};
use crate::pattern::{NodeClass, Pattern};

/// Divides the iteration space of a map into tiles: a new outer map runs over tiles, and the map over one
/// tile.
///
/// The map keeps its label, and the new one around it gets the schedule. Tiles need not divide the ranges:
/// the last one is shorter. Instead of sizes, `parts` gives the number of tiles of a dimension, as strategies
/// do: of `n` iterations in `c` parts, part `k` begins with iteration `k*n // c`. Parts differ in at most one
/// iteration.
///
/// The first tile begins where the range does. Tiles of 8 of the range `3:N` begin at 3, 11, 19 and so on, and
/// not at multiples of 8. `MapSplit` at a value in the range lets the tiles behind it begin there.
///
/// # When it applies
///
/// The tiled ranges depend on no parameter of the map. Sizes are numbers or expressions of symbols that are
/// proved to be positive.
///
/// # Refusals
///
/// - There are more sizes than dimensions, a size uses an unknown symbol, or is not proved to be positive.
/// - A tiled range depends on a parameter of the map, or is a range of tiles.
/// - The sign of a step is not known.
/// - An element gives the map a symbol, and the map writes its container: each tile would read it again.
/// - With `divides_evenly`: it is not proved that the size divides the range.
///
/// # Before
///
/// ```sdft
/// sdfg double_all {
///   symbol N: i64
///   symbol M: i64
///   array A: f64[N, M]
///   array B: f64[N, M]
///
///   state main {
///     access A
///     map elements [i = 0:N, j = 0:M] {
///       tasklet double (a) -> (b) { b = 2.0 * a }
///       elements.A -> double.a: A[i, j]
///       double.b -> elements.B: B[i, j]
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
/// With `tile_sizes=[16, 64]`:
///
/// ```sdft
/// sdfg double_all {
///   symbol N: i64
///   symbol M: i64
///   array A: f64[N, M]
///   array B: f64[N, M]
///
///   state main {
///     access A
///     access B
///     map "elements.tiles0" [i_tile0 = 0:N:16, j_tile0 = 0:M:64] {
///       map elements [i = i_tile0:min(N, i_tile0 + 16), j = j_tile0:min(M, j_tile0 + 64)] {
///         tasklet double (a) -> (b) { b = 2.0 * a }
///         elements.A -> double.a: A[i, j]
///         double.b -> elements.B: B[i, j]
///       }
///       "elements.tiles0".A -> elements.A
///       elements.B -> "elements.tiles0".B
///     }
///     "elements.tiles0".B -> B
///     A -> "elements.tiles0".A
///   }
/// }
/// ```
///
/// # Soundness
///
/// Every iteration is in exactly one tile: a range `b:e:s` in tiles of `t` becomes `b:e:s*t` outside and
/// `k:min(k + s*t, e):s` inside. Iterations of maps are concurrent, so their order has no meaning. Sums of
/// floating-point numbers may differ in rounding.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MapTiling {
    /// Iterations of a tile in each dimension, from the first; 0 leaves a dimension as it is, as do dimensions without a size.
    pub tile_sizes: Vec<Size>,
    /// Whether the sizes are known to divide the ranges. Then the inner ranges have no minimum.
    pub divides_evenly: bool,
    /// Number of tiles in each dimension, from the first, which goes before a size; 0 leaves a dimension to `tile_sizes`.
    pub parts: Vec<Size>,
}

impl Default for MapTiling {
    fn default() -> Self {
        MapTiling::new([32])
    }
}

static METADATA: Metadata = Metadata {
    name: "MapTiling",
    group: Group::Map,
    summary: "Divides the iteration space of a map into tiles.",
    source: "paper, Table 4 and Appendix B.1",
    soundness: Soundness::ChangesRounding,
    is_strict: false,
    file: include_str!("map_tiling.rs"),
    parameters: &[
        Parameter {
            name: "tile_sizes",
            ty: "list of integers or expressions",
            default: Some("[32]"),
            summary: "Iterations of a tile in each dimension; 0 leaves a dimension as it is.",
        },
        Parameter {
            name: "divides_evenly",
            ty: "boolean",
            default: Some("false"),
            summary: "Whether the sizes are proved to divide the ranges, so that no tile is shorter.",
        },
        Parameter {
            name: "parts",
            ty: "list of integers or expressions",
            default: Some("[]"),
            summary: "Number of tiles in each dimension, before its size; 0 leaves a dimension to `tile_sizes`.",
        },
    ],
};

anchored!(MapTiling);

/// The parameters with sizes and numbers of parts.
const NAMES: [&str; 2] = ["tile_sizes", "parts"];

/// A dimension that is tiled.
struct Tiled {
    /// Position of the parameter.
    at: usize,
    /// Iterations of a tile.
    size: Expr,
    /// Whether the range ascends.
    ascends: bool,
    /// Whether `size` is the number of tiles instead.
    is_count: bool,
}

impl MapTiling {
    /// Tiles of these sizes.
    pub fn new<S: Into<Size>>(tile_sizes: impl IntoIterator<Item = S>) -> Self {
        let tile_sizes = tile_sizes.into_iter().map(Into::into).collect();
        MapTiling { tile_sizes, divides_evenly: false, parts: Vec::new() }
    }

    /// This many tiles in each dimension.
    pub fn in_parts<S: Into<Size>>(parts: impl IntoIterator<Item = S>) -> Self {
        let parts = parts.into_iter().map(Into::into).collect();
        MapTiling { tile_sizes: Vec::new(), divides_evenly: false, parts }
    }

    /// The check, with the names that users gave sizes and numbers of parts.
    pub(super) fn check_named(&self, site: &Site<'_>, names: [&'static str; 2]) -> Result<Evidence, Refusal> {
        let (map, state, entry) = (site.map(0)?, site.state(), site.found.node(0));
        let mut evidence = Evidence::default();
        let tree = site.scopes();
        let scope = tree.scope_of(entry);
        let in_scope = symbol_types_in(site.sdfg, state, &tree, scope);
        let bound = bound_symbols(state, entry);
        for (parameter, sizes) in names.into_iter().zip([&self.tile_sizes, &self.parts]) {
            for Size(size) in sizes {
                let symbols = size.free_symbols();
                if let Some(parameter) = symbols.iter().find(|symbol| bound.contains(symbol)) {
                    return Err(Refusal::DependsOn { range: size.to_string(), parameter: parameter.clone() });
                }
                if let Some(symbol) = symbols.iter().find(|symbol| !in_scope.contains_key(*symbol)) {
                    let reason = format!("`{symbol}` is no symbol of `{}`", site.sdfg.name);
                    return Err(Refusal::Parameter { parameter, reason });
                }
            }
        }
        for Tiled { at, .. } in self.tiled(map, &site.known_in(scope), &mut evidence, names)? {
            nested_maps::independent(&Subset(vec![map.ranges.0[at].clone()]), &bound)?;
        }
        map_split::keeps_its_symbols(site, entry)?;
        nested_maps::no_declared_memlets(site, &[entry])?;
        Ok(evidence)
    }

    /// The dimensions to tile, with the facts that this relies on.
    fn tiled(
        &self,
        map: &Map,
        known: &Assumptions,
        evidence: &mut Evidence,
        names: [&'static str; 2],
    ) -> Result<Vec<Tiled>, Refusal> {
        let wrong = |parameter, reason| Refusal::Parameter { parameter, reason };
        let sizes = self.tile_sizes.len().max(self.parts.len());
        if sizes > map.params.len() {
            let (parameter, count) = (names[usize::from(self.parts.len() == sizes)], map.params.len());
            let reason = format!("there are more sizes ({sizes}) than dimensions of the map ({count})");
            return Err(wrong(parameter, reason));
        }
        let mut tiled = Vec::new();
        for at in 0..sizes {
            let chosen =
                |sizes: &[Size]| sizes.get(at).map(|Size(size)| size.clone()).filter(|size| !size.is_zero());
            let (size, is_count) = match (chosen(&self.tile_sizes), chosen(&self.parts)) {
                (None, None) => continue,
                (Some(size), None) => (size, false),
                (_, Some(count)) => (count, true),
            };
            let (param, range) = (&map.params[at], &map.ranges.0[at]);
            if size.sign(known) != Sign::Positive {
                let reason = format!("it is not proved that {size} is greater than 0");
                return Err(wrong(names[usize::from(is_count)], reason));
            }
            evidence.note(param.as_str(), Claim::Positive(size.clone()));
            let ascends = match range.step.sign(known) {
                Sign::Positive => true,
                Sign::Negative => false,
                Sign::NonPositive | Sign::Zero | Sign::NonNegative | Sign::Unknown => {
                    let needed = format!("the step {} is positive, or that it is negative", range.step);
                    return Err(Refusal::Unproved { about: param.to_string(), needed });
                }
            };
            if !range.tile.is_one() {
                return Err(Refusal::structure(param.as_str(), "has a range of tiles"));
            }
            if self.divides_evenly && !is_count {
                let rest = range.steps().modulo(&size);
                if !rest.is_zero() {
                    let needed = format!("{size} divides {}", range.steps());
                    return Err(Refusal::Unproved { about: param.to_string(), needed });
                }
                evidence.note(param.as_str(), Claim::Equal(rest, Expr::zero()));
            }
            tiled.push(Tiled { at, size, ascends, is_count });
        }
        if tiled.is_empty() {
            return Err(wrong(names[0], "no dimension is tiled".to_owned()));
        }
        Ok(tiled)
    }
}

impl Transformation for MapTiling {
    described!(METADATA, of_any_memory);

    fn pattern(&self) -> Pattern {
        Pattern::path([("map", NodeClass::MapEntry)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        self.check_named(site, NAMES)
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, entry) = (found.state(), found.node(0));
        let label = editor.state(state)?.node(entry).label.clone();
        let map = nested_maps::entry_map(editor, state, entry)?;
        let tree = sdfg::analysis::ScopeTree::of(editor.state(state)?);
        let known = sdfg::analysis::symbol_facts_at(editor.sdfg(), state, tree.scope_of(entry));
        let Ok(tiled) = self.tiled(&map, &known, &mut Evidence::default(), NAMES) else {
            return Err(EditError::NoNode(entry));
        };
        let (mut params, mut ranges, mut inner) = (Vec::new(), Vec::new(), map.clone());
        for Tiled { at, size, ascends, is_count } in tiled {
            let range = &map.ranges.0[at];
            let name = editor.derived_container_name(map.params[at].as_str(), "tile");
            let tile = Symbol::of(&fresh(&name, &params));
            if is_count {
                // Part `k` of `c` begins with iteration `k*n // c`.
                let iteration = |part: &Expr| {
                    let first = (part * &range.steps()).floor_div(&size);
                    &range.begin + &(&range.step * &first)
                };
                let part = Expr::symbol(tile.clone());
                let end = iteration(&(&part + &Expr::one()));
                inner.ranges.0[at] = Range { begin: iteration(&part), end, ..range.clone() };
                ranges.push(Range::new(Expr::zero(), size));
                params.push(tile);
                continue;
            }
            let (first, stride) = (Expr::symbol(tile.clone()), &range.step * &size);
            let end = &first + &stride;
            let end = match (self.divides_evenly, ascends) {
                (true, _) => end,
                (false, true) => Expr::min(&end, &range.end),
                (false, false) => Expr::max(&end, &range.end),
            };
            inner.ranges.0[at] = Range { begin: first, end, ..range.clone() };
            ranges.push(Range { step: stride, ..range.clone() });
            params.push(tile);
        }
        let is_of_one_iteration = matches!(map.schedule, Schedule::Simd | Schedule::Unrolled);
        let outer = if is_of_one_iteration {
            Map::new(params, Subset(ranges))
        } else {
            let schedule = nested_maps::fitted(std::mem::take(&mut inner.schedule), params.len());
            Map { schedule, ..Map::new(params, Subset(ranges)) }
        };
        let tiles = editor.derived_label(state, &label, "tiles")?;
        editor.replace_node(state, entry, NodeKind::MapEntry(inner))?;
        editor.wrap_in_map(state, &BTreeSet::from([entry]), &tiles, outer)?;
        Ok(())
    }
}

/// A name that is none of some others.
fn fresh(name: &str, others: &[Symbol]) -> String {
    let is_free = |name: &str| others.iter().all(|other| other.as_str() != name);
    if is_free(name) {
        return name.to_owned();
    }
    let numbered = (1..).map(|number| format!("{name}_{number}"));
    numbered.take(others.len() + 1).find(|name| is_free(name)).unwrap_or_else(|| name.to_owned())
}
