//! [`BufferTiling`].

use std::collections::BTreeSet;

use sdfg::analysis::symbols::bound_symbols;
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{ContainerId, ContainerKind, EdgeId, Layout, Lifetime, Map, NodeId, NodeKind};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::{Expr, Sign, Symbol};
use serde::{Deserialize, Serialize};

use super::map_pair::{MapPair, touched};
use super::relayout::sees_strides;
use super::{Size, anchored, described, nested_maps};
use crate::engine::{
    Claim, Evidence, Group, Match, Metadata, Parameter, Refusal, Site, Soundness, Transformation,
};
use crate::loops::{accesses_of_state, plain_state};
use crate::pattern::Pattern;

/// Tiles two maps together, of which the second reads from a transient what the first writes. The transient
/// shrinks to what a tile of the second map reads.
///
/// `tile_sizes` are those of the second map. Each tile runs the iterations of the first map that write what
/// it reads: where tiles read common elements, as those of stencils do, the first map computes them once for
/// each tile.
///
/// # When it applies
///
/// In one dimension of the transient, for each tiled parameter, reads have the parameter plus a number as
/// their index, and writes have a parameter of the first map plus a number. Both parameters count by one. The
/// maps have the same schedule and get no symbols from data.
///
/// # Refusals
///
/// - The transient is used elsewhere, is passed on with its strides, or is no array.
/// - The first map writes another container, or writes the transient with a conflict resolution: iterations
///   that tiles repeat would count twice.
/// - The second map writes a container that the first one reads.
/// - No dimension of the reads, or of the writes, has the form above.
/// - There are more sizes than dimensions, or a size is not proved to be positive.
///
/// # Before
///
/// ```sdft
/// sdfg blur {
///   symbol N: i64
///   array A: f64[N]
///   array B: f64[N]
///   transient array T: f64[N]
///
///   state s {
///     access A
///     access T
///     access B
///     map first [i = 0:N] {
///       tasklet f (x) -> (y) { y = 2 * x }
///       first.A -> f.x: A[i]
///       f.y -> first.T: T[i]
///     }
///     map second [i = 1:N - 1] {
///       tasklet g (x, y) -> (z) { z = x + y }
///       second.T -> g.x: T[i - 1]
///       second.T -> g.y: T[i + 1]
///       g.z -> second.B: B[i]
///     }
///     A -> first.A
///     first.T -> T
///     T -> second.T
///     second.B -> B
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg blur {
///   symbol N: i64
///   array A: f64[N]
///   array B: f64[N]
///   transient array T: f64[66]
///
///   state s {
///     access A
///     access B
///     map "second.tiles0" [i_tile0 = 1:N - 1:64] {
///       access T
///       map first [i = max(0, i_tile0 - 1):min(N, i_tile0 + 65)] {
///         tasklet f (x) -> (y) { y = 2 * x }
///         first.A -> f.x: A[i]
///         f.y -> first.T: T[i - i_tile0 + 1]
///       }
///       map second [i = i_tile0:min(N, i_tile0 + 65) - 1] {
///         tasklet g (x, y) -> (z) { z = x + y }
///         second.T -> g.x: T[i - i_tile0]
///         second.T -> g.y: T[i - i_tile0 + 2]
///         g.z -> second.B: B[i]
///       }
///       "second.tiles0".A -> first.A
///       first.T -> T
///       T -> second.T
///       second.B -> "second.tiles0".B
///     }
///     "second.tiles0".B -> B
///     A -> "second.tiles0".A
///   }
/// }
/// ```
///
/// # Soundness
///
/// The first map is a function of data that neither map changes, so an iteration that runs in several tiles
/// writes the same value in each. A tile runs all iterations of the first map that write what it reads, and
/// every iteration of the second map is in exactly one tile.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BufferTiling {
    /// Iterations of a tile in each dimension of the second map, from the first; 0 leaves a dimension as it is.
    pub tile_sizes: Vec<Size>,
}

impl Default for BufferTiling {
    fn default() -> Self {
        BufferTiling::new([64])
    }
}

static METADATA: Metadata = Metadata {
    name: "BufferTiling",
    group: Group::Map,
    summary: "Tiles two maps together, and shrinks the transient between them to a tile.",
    source: "DaCe, BufferTiling",
    soundness: Soundness::ChangesRounding,
    is_strict: false,
    file: include_str!("buffer_tiling.rs"),
    parameters: &[Parameter {
        name: "tile_sizes",
        ty: "list of integers or expressions",
        default: Some("[64]"),
        summary: "Iterations of a tile in each dimension of the second map; 0 leaves a dimension as it is.",
    }],
};

anchored!(BufferTiling);

/// A dimension that is tiled.
struct Tiled {
    size: Expr,
    /// Position of the parameter of the second map.
    reader: usize,
    /// Position of the parameter of the first map.
    writer: usize,
    /// The dimension of the transient.
    dimension: usize,
    /// The element that iteration `i` of the first map writes is `i` plus this number.
    written: i64,
    /// Iteration `i` of the second map reads from `i` plus the first of these numbers to before `i` plus the second one.
    read: (i64, i64),
}

impl MapPair<'_> {
    /// The dimensions to tile, by the indices of reads and writes.
    fn tiled(&self, sizes: &[Size], accesses: &[(bool, Subset)]) -> Result<Vec<Tiled>, Refusal> {
        let wrong = |reason| Refusal::Parameter { parameter: "tile_sizes", reason };
        let [first, second] = self.maps;
        if sizes.len() > second.params.len() {
            let (sizes, count) = (sizes.len(), second.params.len());
            return Err(wrong(format!(
                "there are more sizes ({sizes}) than dimensions of the second map ({count})"
            )));
        }
        let mut tiled: Vec<Tiled> = Vec::new();
        for (reader, Size(size)) in sizes.iter().enumerate().filter(|(_, size)| !size.0.is_zero()) {
            let rank = accesses.first().map_or(0, |(_, subset)| subset.rank());
            let window = |dimension: usize| {
                let reads = accesses.iter().filter(|(writes, _)| !writes);
                let ends = reads.map(|(_, subset)| offsets(&subset.0[dimension], &second.params[reader]));
                let ends = ends.collect::<Option<Vec<_>>>()?;
                let least = ends.iter().map(|(begin, _)| *begin).min()?;
                Some((dimension, (least, ends.iter().map(|(_, end)| *end).max()?)))
            };
            let Some((dimension, read)) = (0..rank).find_map(window) else {
                let reason = format!("no dimension of reads has `{}` plus a number", second.params[reader]);
                return Err(wrong(reason));
            };
            let taken = |writer: &usize| tiled.iter().all(|other| other.writer != *writer);
            let written = (0..first.params.len()).filter(taken).find_map(|writer| {
                let writes = accesses.iter().filter(|(writes, _)| *writes);
                let mut ends = writes.map(|(_, subset)| {
                    let (begin, end) = offsets(&subset.0[dimension], &first.params[writer])?;
                    (end == begin + 1).then_some(begin)
                });
                let number = ends.next()??;
                ends.all(|other| other == Some(number)).then_some((writer, number))
            });
            let Some((writer, written)) = written else {
                let reason = format!("dimension {dimension} of writes has no parameter plus a number");
                return Err(wrong(reason));
            };
            tiled.push(Tiled { size: size.clone(), reader, writer, dimension, written, read });
        }
        if tiled.is_empty() {
            return Err(wrong("no dimension is tiled".to_owned()));
        }
        Ok(tiled)
    }

    /// Ranges that tiles can cut.
    fn check_tiled_ranges(&self, site: &Site<'_>, tiled: &[Tiled]) -> Result<(), Refusal> {
        let bound: Vec<Symbol> =
            self.entries.iter().flat_map(|entry| bound_symbols(site.state(), *entry)).collect();
        if bound.len() > self.maps[0].params.len() + self.maps[1].params.len() {
            return Err(Refusal::structure(site.label(2), "or the first map gets symbols from data"));
        }
        for Tiled { reader, writer, size, .. } in tiled {
            for (map, at) in self.maps.into_iter().zip([*writer, *reader]) {
                let range = &map.ranges.0[at];
                nested_maps::independent(&Subset(vec![range.clone()]), &bound)?;
                if !range.step.is_one() || !range.tile.is_one() {
                    return Err(Refusal::structure(map.params[at].as_str(), "does not count by one"));
                }
            }
            if let Some(symbol) =
                size.free_symbols().into_iter().find(|symbol| site.sdfg.symbol_type(symbol).is_none())
            {
                let reason = format!("`{symbol}` is no symbol of the program");
                return Err(Refusal::Parameter { parameter: "tile_sizes", reason });
            }
            if size.sign(&site.known_in(None)) != Sign::Positive {
                let reason = format!("it is not proved that {size} is greater than 0");
                return Err(Refusal::Parameter { parameter: "tile_sizes", reason });
            }
        }
        Ok(())
    }

    /// The first map may run an iteration for several tiles, and after iterations of the second map.
    fn check_first(&self, site: &Site<'_>) -> Result<(), Refusal> {
        let (state, sdfg) = (site.state(), site.sdfg);
        let [first, second] = self.entries;
        let (own, others) = (touched(site, state, first), touched(site, state, second));
        for (id, is_written) in own.iter().filter(|(id, _)| **id != self.container) {
            let name = &sdfg.container(*id).name;
            if *is_written && !is_owned(site, first, *id) {
                return Err(Refusal::container(name, "is written by the first map, too"));
            }
            if others.get(id) == Some(&true) {
                return Err(Refusal::container(name, "is read by the first map and written by the second"));
            }
        }
        let writes = state.in_edges(self.between);
        if writes.iter().any(|edge| state.edge(*edge).memlet.resolution().is_some()) {
            let name = &sdfg.container(self.container).name;
            return Err(Refusal::container(name, "is written with a conflict resolution"));
        }
        Ok(())
    }
}

/// The numbers by which the ends of a range differ from a parameter.
fn offsets(range: &Range, param: &Symbol) -> Option<(i64, i64)> {
    let number = |end: &Expr| (end - &Expr::symbol(param.clone())).as_int();
    (range.step.is_one() && range.tile.is_one()).then_some(())?;
    let (begin, end) = (number(&range.begin)?, number(&range.end)?);
    (end > begin).then_some((begin, end))
}

/// Whether all access nodes of a transient are in a scope, so that each iteration has its own.
fn is_owned(site: &Site<'_>, entry: NodeId, id: ContainerId) -> bool {
    let owners = site.owning_scopes();
    let tree = site.scopes();
    owners.get(&id).is_some_and(|(state, scope)| {
        *state == site.found.state() && tree.enclosing_scope(Some(*scope)).any(|around| around == entry)
    })
}

/// Subsets of the leaves that access a transient: whether it is written, and the elements.
fn leaves(sdfg: &sdfg::ir::Sdfg, state: sdfg::ir::StateId, id: ContainerId) -> Vec<(bool, Subset)> {
    let accesses = accesses_of_state(sdfg, state).into_iter().filter(|access| access.container == id);
    accesses.map(|access| (access.writes(), access.subset)).collect()
}

impl BufferTiling {
    /// Tiles of these sizes.
    pub fn new<S: Into<Size>>(tile_sizes: impl IntoIterator<Item = S>) -> Self {
        BufferTiling { tile_sizes: tile_sizes.into_iter().map(Into::into).collect() }
    }
}

impl Transformation for BufferTiling {
    described!(METADATA);

    fn pattern(&self) -> Pattern {
        MapPair::pattern()
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let state = site.state();
        let pair = MapPair::of(state, site.found)?;
        let name = &site.sdfg.container(pair.container).name;
        pair.alone(site)?;
        if !matches!(site.sdfg.container(pair.container).kind, ContainerKind::Array(_)) {
            return Err(Refusal::container(name, "is no array"));
        }
        plain_state(site.sdfg, site.found.state())?;
        let accesses = accesses_of_state(site.sdfg, site.found.state());
        for access in accesses.iter().filter(|access| access.container == pair.container) {
            let edge = state.edge(access.edge);
            if let Some(node) = [edge.src, edge.dst].into_iter().find(|node| sees_strides(state, *node)) {
                let reason = format!("is passed to `{}` with its strides", state.node(node).label);
                return Err(Refusal::container(name, reason));
            }
        }
        let tiled = pair.tiled(&self.tile_sizes, &leaves(site.sdfg, site.found.state(), pair.container))?;
        pair.check_tiled_ranges(site, &tiled)?;
        pair.check_first(site)?;
        nested_maps::no_declared_memlets(site, &pair.entries)?;
        let mut evidence = Evidence::default();
        evidence.note(name, Claim::NoOtherUse);
        for Tiled { size, reader, .. } in &tiled {
            evidence.note(pair.maps[1].params[*reader].as_str(), Claim::Positive(size.clone()));
        }
        Ok(evidence)
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let state = found.state();
        let between = found.node(1);
        let pair = MapPair::of(editor.state(state)?, found).map_err(|_| EditError::NoNode(between))?;
        let (container, [first, second]) = (pair.container, pair.entries);
        let [mut writing, mut reading] = pair.maps.map(Clone::clone);
        let tiled = pair.tiled(&self.tile_sizes, &leaves(editor.sdfg(), state, container));
        let tiled = tiled.map_err(|_| EditError::NoNode(between))?;
        let (mut params, mut ranges) = (Vec::new(), Vec::new());
        let mut shape = editor.sdfg().container(container).shape().to_vec();
        let mut moved = vec![Expr::zero(); shape.len()];
        for Tiled { size, reader, writer, dimension, written, read } in &tiled {
            let range = &mut reading.ranges.0[*reader];
            let name = editor.derived_container_name(reading.params[*reader].as_str(), "tile");
            let mut name = name;
            while params.iter().any(|param: &Symbol| param.as_str() == name) {
                name.push('_');
            }
            let tile = Symbol::of(&name);
            let begin = Expr::symbol(tile.clone());
            let end = Expr::min(&(&begin + size), &range.end);
            params.push(tile);
            ranges.push(range.clone().with_step(size.clone()));
            // The elements that the tile reads.
            let (from, to) = (&begin + &Expr::int(read.0), &end + &Expr::int(read.1 - 1));
            (range.begin, range.end) = (begin, end);
            let range = &mut writing.ranges.0[*writer];
            let back = Expr::int(*written);
            range.begin = Expr::max(&range.begin, &(&from - &back));
            range.end = Expr::min(&range.end, &(&to - &back));
            shape[*dimension] = size + &Expr::int(read.1 - 1 - read.0);
            moved[*dimension] = -&from;
        }
        let label = editor.state(state)?.node(second).label.clone();
        let tiles = editor.derived_label(state, &label, "tiles")?;
        let edges: Vec<EdgeId> = editor.state(state)?.edges().map(|(id, _)| id).collect();
        for edge in edges {
            let mut memlet = editor.state(state)?.edge(edge).memlet.clone();
            let mut is_named = false;
            for access in memlet.accesses_mut().filter(|access| access.container == container) {
                *access.subset_mut() = access.subset().offset(&moved);
                is_named = true;
            }
            if is_named {
                editor.set_memlet(state, edge, memlet)?;
            }
        }
        let schedule = nested_maps::fitted(reading.schedule.clone(), params.len());
        let outer = Map { schedule, ..Map::new(params, Subset(ranges)) };
        for (entry, map) in [(first, writing), (second, reading)] {
            editor.replace_node(state, entry, NodeKind::MapEntry(map))?;
        }
        editor.wrap_in_map(state, &BTreeSet::from([first, between, second]), &tiles, outer)?;
        editor.change_container(container, |found| {
            found.kind = ContainerKind::Array(Layout::packed(shape));
            found.lifetime = Lifetime::Scope;
        })
    }
}
