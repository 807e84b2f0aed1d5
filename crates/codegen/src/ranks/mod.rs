//! The program of one rank: a distributed program with the memory that a rank holds, and calls that move data between ranks.
//!
//! [`localise`] turns a distributed program (`docs/semantics.md`, "Ranks") into one that every rank runs on its own memory.
//! A container that is cut over a grid gets the extents of the box that the rank holds, and memlets count from its first
//! element. A map over ranks runs the one iteration of the rank. A copy that may move data between ranks becomes a call of a
//! function that the caller passes: the library of communication ([`mpi`](crate::mpi)) behind it knows the words that
//! describe the move, which the program computes itself. Hence one compiled program serves all ranks, and depends on no
//! MPI.
//!
//! What depends on the rank are symbols of the program: [`RankProgram::local`] gives their values.

mod bounds;
mod copies;
mod equal;
mod hidden;
mod library;
mod overlap;
mod parts;
mod run;
mod together;
mod traffic;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use sdfg::analysis::symbols::assigned_symbols;
use sdfg::analysis::{ScopeTree, is_leaf};
use sdfg::dtype::ScalarType;
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{
    Container, ContainerId, ContainerKind, Distribution, EdgeId, Flow, Layout, Map, NodeId, NodeKind,
    Schedule, ScheduleKind, Sdfg, StateId,
};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::{EvalError, Expr, Symbol};
use sdfg::validate::{Rejected, Validated, validate};
use thiserror::Error;

use bounds::Bounds;

use crate::mpi::MoveKind;
pub(crate) use library::bound_parameters;
pub use library::{LibraryError, RankLibrary};
pub use parts::Part;
pub use run::RankError;
pub use traffic::{CopyTraffic, Rates, Traffic, TrafficError, Waiting};

/// Symbol with the address of the context of communication.
pub const CONTEXT: &str = "__rank_context";

/// Why a distributed program has no native code.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LocaliseError {
    /// A construct that native code has not on several ranks.
    #[error("{what} is not supported in native code on several ranks; `sdfg interpret --ranks` runs it")]
    Unsupported {
        /// The construct, with the name of the element.
        what: String,
    },
    /// The graph of a rank cannot be made.
    #[error("the program of a rank cannot be made: {0}")]
    Edit(#[from] EditError),
}

/// The program that each rank runs.
#[derive(Clone, Debug)]
pub struct RankProgram {
    /// The program.
    pub program: Sdfg,
    /// Names of the functions that move data, in order, with what they do.
    pub moves: Vec<(String, MoveKind)>,
    /// Each argument that is cut, as the distributed program has it: with its whole extents.
    arguments: BTreeMap<String, Container>,
    /// Grids of processes with the symbols of their coordinates.
    grids: Vec<Grid>,
    /// Symbols of the boxes that ranks hold, with their values.
    held: Vec<(Symbol, Expr)>,
}

/// A grid of processes.
#[derive(Clone, Debug)]
struct Grid {
    extents: Vec<i64>,
    /// The coordinate of the rank along each dimension.
    coordinates: Vec<Symbol>,
    /// 1 for a rank with a process of the grid, otherwise 0.
    is_on: Symbol,
}

impl RankProgram {
    /// The least number of ranks that the program runs on.
    pub fn ranks(&self) -> u32 {
        processes(&self.grids)
    }

    /// The program, validated.
    ///
    /// # Errors
    /// [`Rejected`] would be a defect of [`localise`].
    pub fn validated(&self) -> Result<Validated, Rejected> {
        validate(self.program.clone())
    }

    /// The symbols of a rank: of each grid the coordinates and whether the rank has a process of it, then those of the boxes.
    fn rank_symbols(&self) -> impl Iterator<Item = &Symbol> {
        let of_grids = self.grids.iter().flat_map(|grid| grid.coordinates.iter().chain([&grid.is_on]));
        of_grids.chain(self.held.iter().map(|(symbol, _)| symbol))
    }

    /// Values of the symbols of a rank, for the values of the program's symbols.
    ///
    /// # Errors
    /// [`EvalError`] if a position has no value.
    pub fn symbols(
        &self,
        rank: u32,
        symbols: &BTreeMap<Symbol, i64>,
    ) -> Result<BTreeMap<Symbol, i64>, EvalError> {
        let mut values = BTreeMap::new();
        for grid in &self.grids {
            let mut rest = i64::from(rank);
            let mut coordinates = vec![0; grid.extents.len()];
            for (at, extent) in coordinates.iter_mut().zip(&grid.extents).rev() {
                (*at, rest) = (rest % extent, rest / extent);
            }
            values.extend(grid.coordinates.iter().cloned().zip(coordinates));
            values.insert(grid.is_on.clone(), i64::from(rest == 0));
        }
        for (symbol, value) in &self.held {
            let value = value.eval(&|name| values.get(name).or_else(|| symbols.get(name)).copied())?;
            values.insert(symbol.clone(), value);
        }
        Ok(values)
    }
}

/// Whether a program is distributed: it has containers that are cut, or maps over ranks.
pub fn is_distributed(program: &Sdfg) -> bool {
    let is_over_ranks = |(_, node): (NodeId, &sdfg::ir::Node)| node.kind.is_map_over_ranks();
    program.containers().any(|(_, container)| container.distribution != Distribution::Replicated)
        || program.states().any(|(_, state)| state.nodes().any(is_over_ranks))
}

/// Makes the program of a rank from a distributed program.
///
/// Data that control flow reads have equal bits on all ranks: rank 0 broadcasts what all ranks compute themselves by code that may give
/// them different bits, such as a parallel sum, functions of the mathematical library, or external code.
///
/// # Errors
/// [`LocaliseError::Unsupported`] for streams, views and nested SDFGs of distributed containers, for copies of distributed
/// containers inside of maps, and for code that all ranks run on them.
pub fn localise(program: &Sdfg) -> Result<RankProgram, LocaliseError> {
    let mut local = program.clone();
    let mut editor = Editor::new(&mut local);
    let made = Localising::edits(program, &mut editor)?;
    editor.commit()?;
    let Localising { grids, held, moves, arguments, .. } = made;
    Ok(RankProgram { program: local, moves: moves.into_iter().collect(), arguments, grids, held })
}

/// [`RankProgram::ranks`] of a program for which [`localise`] makes one. The memlets of that are not derived, which takes most of the time.
fn needed_ranks(program: &Sdfg) -> Result<u32, LocaliseError> {
    let mut local = program.clone();
    let made = Localising::edits(program, &mut Editor::of_draft(&mut local))?;
    Ok(processes(&made.grids))
}

/// The most processes of a grid.
fn processes(grids: &[Grid]) -> u32 {
    let of_grid = |grid: &Grid| grid.extents.iter().fold(1_i64, |n, extent| n.saturating_mul(*extent));
    u32::try_from(grids.iter().map(of_grid).max().unwrap_or(1)).unwrap_or(u32::MAX)
}

fn unsupported<T>(what: impl Into<String>) -> Result<T, LocaliseError> {
    Err(LocaliseError::Unsupported { what: what.into() })
}

/// The state of making the program of a rank.
struct Localising {
    grids: Vec<Grid>,
    /// For each container that is cut: what a rank holds in each dimension.
    boxes: BTreeMap<ContainerId, Vec<Bounds>>,
    held: Vec<(Symbol, Expr)>,
    moves: BTreeSet<(String, MoveKind)>,
    arguments: BTreeMap<String, Container>,
    /// Containers that are cut and that nothing but copies writes.
    only_copied: BTreeSet<ContainerId>,
    /// Number of moves so far, which names them.
    sites: i64,
}

impl Localising {
    /// Makes the program of a rank out of a distributed one, of which the editor has a copy.
    fn edits(program: &Sdfg, editor: &mut Editor<'_>) -> Result<Self, LocaliseError> {
        let mut made = Localising::new(program)?;
        editor.declare_symbol(&Symbol::of(CONTEXT), ScalarType::I64);
        for state in program.states().map(|(id, _)| id) {
            made.copies(editor, state)?;
            made.maps(editor, state)?;
        }
        for (block, container) in equal::broadcasts(program) {
            made.broadcast(editor, block, container)?;
        }
        made.containers(editor)?;
        for grid in &made.grids {
            for symbol in grid.coordinates.iter().chain([&grid.is_on]) {
                editor.declare_symbol(symbol, ScalarType::I64);
            }
        }
        for (symbol, _) in &made.held {
            editor.declare_symbol(symbol, ScalarType::I64);
        }
        Ok(made)
    }

    fn new(program: &Sdfg) -> Result<Self, LocaliseError> {
        let mut made = Localising {
            grids: Vec::new(),
            boxes: BTreeMap::new(),
            held: Vec::new(),
            moves: BTreeSet::new(),
            arguments: BTreeMap::new(),
            only_copied: only_copied(program),
            sites: 0,
        };
        let assigned: BTreeSet<Symbol> = assigned_symbols(program).into_iter().collect();
        let is_fixed = |symbol: &Symbol| program.symbol_type(symbol).is_some() && !assigned.contains(symbol);
        for (id, container) in program.containers() {
            let Distribution::Blocks(blocks) = &container.distribution else { continue };
            let name = &container.name;
            let is_packed = container.kind.layout().is_some_and(Layout::is_packed);
            if !matches!(container.kind, ContainerKind::Array(_)) || !is_packed {
                return unsupported(format!("the distributed container `{name}`, which is no packed array,"));
            }
            let Some(extents) = bounds::constant_grid(blocks) else {
                return unsupported(format!("the process grid of `{name}`, whose extents are no numbers,"));
            };
            let grid = made.grid(extents);
            let mut boxes = Vec::new();
            for (extent, cut) in container.shape().iter().zip(&blocks.cuts) {
                let mut bounds = Bounds::of(cut.as_ref(), extent, &grid);
                let fixed = |expr: &Expr| {
                    expr.free_symbols()
                        .iter()
                        .all(|symbol| is_fixed(symbol) || grid.coordinates.contains(symbol))
                };
                if cut.is_some() && fixed(&bounds.low) && fixed(&bounds.high) {
                    bounds.name(&mut made.held);
                }
                boxes.push(bounds);
            }
            if container.is_argument() {
                made.arguments.insert(name.clone(), container.clone());
            }
            made.boxes.insert(id, boxes);
        }
        Ok(made)
    }

    /// The grid with these extents.
    fn grid(&mut self, extents: Vec<i64>) -> Grid {
        if let Some(known) = self.grids.iter().find(|grid| grid.extents == extents) {
            return known.clone();
        }
        let number = self.grids.len();
        let coordinates = (0..extents.len()).map(|d| Symbol::of(&format!("__grid{number}_at{d}"))).collect();
        let grid = Grid { extents, coordinates, is_on: Symbol::of(&format!("__grid{number}_on")) };
        self.grids.push(grid.clone());
        grid
    }

    /// A subset of a container in the positions of the rank's memory.
    fn local(&self, id: ContainerId, subset: &Subset) -> Subset {
        match self.boxes.get(&id) {
            None => subset.clone(),
            Some(boxes) => {
                let offset: Vec<Expr> = boxes.iter().map(|held| -&held.low).collect();
                subset.offset(&offset)
            }
        }
    }

    /// Everything that the rank holds of a container.
    fn all(&self, sdfg: &Sdfg, id: ContainerId) -> Subset {
        let shape = match self.boxes.get(&id) {
            None => sdfg.container(id).shape().to_vec(),
            Some(boxes) => boxes.iter().map(|held| held.extent.clone()).collect(),
        };
        Subset(shape.into_iter().map(|extent| Range::new(Expr::zero(), extent)).collect())
    }

    /// Maps over ranks run the rank's iteration; their memlets count from the rank's first element.
    fn maps(&mut self, editor: &mut Editor<'_>, state: StateId) -> Result<(), LocaliseError> {
        let graph = editor.state(state)?.clone();
        let tree = ScopeTree::of(&graph);
        let is_over_ranks = |node: NodeId| graph.node(node).kind.is_map_over_ranks();
        for (_, edge) in graph.edges().filter(|(id, _)| is_leaf(&graph, *id)) {
            let touched = edge.memlet.accesses().find(|access| self.boxes.contains_key(&access.container));
            let Some(access) = touched else { continue };
            let name = &editor.sdfg().container(access.container).name;
            if matches!(edge.memlet.flow, Flow::Copy { .. } | Flow::Bind(_)) {
                return unsupported(format!(
                    "a copy of the distributed container `{name}` in a map, or a view of it,"
                ));
            }
            let node = if graph.node(edge.src).kind.is_code() { edge.src } else { edge.dst };
            if !tree.enclosing(node).any(is_over_ranks) && !is_move(&graph, node) {
                return unsupported(format!("code that all ranks run on the distributed container `{name}`"));
            }
        }
        for entry in tree.children(None).iter().copied().filter(|node| is_over_ranks(*node)) {
            self.map(editor, state, entry)?;
        }
        Ok(())
    }

    fn map(&mut self, editor: &mut Editor<'_>, state: StateId, entry: NodeId) -> Result<(), LocaliseError> {
        let graph = editor.state(state)?.clone();
        let node = graph.node(entry);
        let NodeKind::MapEntry(map) = &node.kind else { return Ok(()) };
        let Some(numbers) = map.ranges.0.iter().map(numbers).collect::<Option<Vec<_>>>() else {
            return unsupported(format!(
                "the range of `{}`, which is not of numbers or has none,",
                node.label
            ));
        };
        let grid = self.grid(numbers.iter().map(|(_, _, count)| *count).collect());
        let coordinates = grid.coordinates.iter().zip(numbers).enumerate();
        let ranges = coordinates.map(|(at, (coordinate, (first, step, _)))| {
            let begin = Expr::symbol(coordinate.clone()) * step + first;
            let length = if at == 0 { Expr::symbol(grid.is_on.clone()) } else { Expr::one() };
            Range::new(begin.clone(), &begin + &length)
        });
        let ranges = Subset(ranges.collect());
        let schedule = Schedule::from(ScheduleKind::Sequential);
        let map = Map { schedule, ..Map::new(map.params.clone(), ranges) };
        editor.replace_node(state, entry, NodeKind::MapEntry(map))?;
        let tree = ScopeTree::of(&graph);
        let inside = |edge: EdgeId| {
            let scope = tree.scope_of_edge(&graph, edge);
            scope.is_some_and(|scope| scope == entry || tree.enclosing(scope).any(|around| around == entry))
        };
        for (id, edge) in graph.edges() {
            let cut = edge.memlet.accesses().find(|access| self.boxes.contains_key(&access.container));
            let Some(access) = cut else { continue };
            let exit = graph.exit_of(entry).unwrap_or(entry);
            let is_root = edge.dst == entry || edge.src == exit;
            if !inside(id) && !is_root {
                continue;
            }
            let subset = if is_root {
                self.all(editor.sdfg(), access.container)
            } else {
                self.local(access.container, access.subset())
            };
            let mut memlet = edge.memlet.clone();
            let container = access.container;
            for access in memlet.accesses_mut().filter(|access| access.container == container) {
                *access.subset_mut() = subset.clone();
            }
            editor.set_memlet(state, id, memlet)?;
        }
        Ok(())
    }

    /// Containers get the extents of what a rank holds.
    fn containers(&self, editor: &mut Editor<'_>) -> Result<(), LocaliseError> {
        for (id, boxes) in &self.boxes {
            let shape: Vec<Expr> = boxes.iter().map(|held| held.extent.clone()).collect();
            editor.change_container(*id, |container| {
                container.distribution = Distribution::Replicated;
                container.kind = ContainerKind::Array(Layout::packed(shape));
            })?;
        }
        Ok(())
    }
}

/// The first number of a range, the step and the number of iterations, if these are numbers and there is an iteration.
fn numbers(range: &Range) -> Option<(i64, i64, i64)> {
    let numbers = (range.begin.as_int()?, range.step.as_int()?, range.steps().as_int()?);
    (range.tile.is_one() && numbers.2 > 0).then_some(numbers)
}

/// Transients that are cut and that only copies write. The copies that a caller passes of an argument may be others.
fn only_copied(program: &Sdfg) -> BTreeSet<ContainerId> {
    let is_cut = |id: &ContainerId| {
        let container = program.container(*id);
        container.transient && container.distribution.blocks().is_some()
    };
    let mut found: BTreeSet<ContainerId> = program.containers().map(|(id, _)| id).filter(is_cut).collect();
    for (_, state) in program.states() {
        for (_, edge) in state.edges() {
            if let Flow::Write { to, .. } = &edge.memlet.flow {
                found.remove(&to.container);
            }
        }
    }
    found
}

/// Whether a node is a call that moves data between ranks.
fn is_move(state: &sdfg::ir::State, node: NodeId) -> bool {
    use sdfg::ir::TaskletBody;
    matches!(&state.node(node).kind, NodeKind::Tasklet(tasklet) if matches!(&tasklet.body, TaskletBody::External(call) if call.symbol.starts_with(copies::PREFIX)))
}
