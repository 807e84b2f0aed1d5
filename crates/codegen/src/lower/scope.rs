//! Maps: loop nests whose outermost suitable dimensions are shared by threads.

use sdfg::analysis::ScopeTree;
use sdfg::ir::{Map, Node, NodeId, Schedule, State};
use sdfg::symbolic::{Expr, Symbol, Truth};

use super::Lowering;
use super::alias::{references_of_iterations, sets_outer_references};
use super::call_frame::CallFrame;
use super::capability::{Capability, Refusal, promise};
use super::conflict::Accumulators;
use super::consume_rounds::Round;
use super::dataflow::Graph;
use super::error::LowerError;
use super::profile::timed;
use super::vector::VectorRefusal;
use crate::plan::{Captures, Level, Location, Loop, LoopDimension, Statement, Team, TimerKind, touches};

/// Executor of the iterations of a map.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Carrier {
    Threads,
    /// The threads of a device.
    Kernel,
    /// The threads of a block.
    Block,
    /// Tasks that wait for each other.
    Tasks,
    OneThread {
        unroll: bool,
    },
}

/// A map that is being lowered.
pub(super) struct Nest<'g, 't> {
    pub(super) graph: Graph<'g, 't>,
    pub(super) entry: NodeId,
    pub(super) node: &'g Node,
    pub(super) map: &'t Map,
    pub(super) carrier: Carrier,
    /// As the team's.
    pub(super) nested: Option<Expr>,
    /// Number of buffers of the plan before it.
    pub(super) n_buffers: usize,
    /// The elements that it processes, if it is a consume scope on a device.
    pub(super) round: Option<Round>,
}

impl<'g> Lowering<'g> {
    /// Statements of a map.
    pub(super) fn map(
        &mut self,
        frame: &mut CallFrame<'g>,
        graph: Graph<'g, '_>,
        entry: NodeId,
        node: &'g Node,
        map: &'g Map,
    ) -> Result<Vec<Statement>, LowerError> {
        let by_one = map.params.is_empty()
            || sets_outer_references(frame, graph, entry)
            || graph.calls_back_inside(entry);
        let is_kernel = matches!(map.schedule, Schedule::GpuGrid(_));
        let mut carrier = if !is_kernel && !self.in_kernel && graph.has_blocking_iterations(frame, entry) {
            Carrier::Tasks
        } else {
            self.carrier(frame, &map.schedule, by_one, &node.label)?
        };
        // Iterations that push keep their order, for which one thread is enough.
        let may_nest = carrier == Carrier::OneThread { unroll: false }
            && !by_one
            && !graph.pushes_inside(frame.sdfg, entry);
        let nested = if may_nest { self.nested_team(frame, &map.schedule) } else { None };
        if nested.is_some() {
            carrier = Carrier::Threads;
        }
        let timer = self.timer(TimerKind::Map, &frame.at(&node.label));
        let mut statements = vec![Statement::Comment(format!("map {}", node.label))];
        let mut hidden = self.bind_connectors(frame, graph, entry, &mut statements)?;
        let n_buffers = self.plan.buffers.len();
        let nest = Nest { graph, entry, node, map, carrier, nested, n_buffers, round: None };
        let order: Vec<usize> = (0..map.params.len()).collect();
        statements.extend(match carrier {
            Carrier::Tasks => {
                let set = references_of_iterations(frame, graph, entry);
                let sharing = self.share_references(frame, &set);
                let tasks = self.nested_loops(frame, &nest, &order)?;
                self.end_sharing(sharing, tasks)
            }
            Carrier::OneThread { .. } => self.nested_loops(frame, &nest, &order)?,
            Carrier::Threads => self.shared(frame, &nest)?,
            Carrier::Kernel => self.kernel(frame, &nest)?,
            Carrier::Block => self.block_loop(frame, &nest)?,
        });
        while let Some((symbol, old)) = hidden.pop() {
            frame.unbind(&symbol, old);
        }
        Ok(timed(timer, statements))
    }

    /// Reads the symbols that edges bring to a scope, and binds them; returns what they meant before.
    pub(super) fn bind_connectors(
        &mut self,
        frame: &mut CallFrame<'g>,
        graph: Graph<'g, '_>,
        entry: NodeId,
        statements: &mut Vec<Statement>,
    ) -> Result<Vec<(Symbol, Option<Expr>)>, LowerError> {
        let label = &graph.state.node(entry).label;
        let mut hidden = Vec::new();
        for id in graph.state.in_edges(entry) {
            let Some(name) = graph.state.edge(id).given_symbol() else { continue };
            let symbol = Symbol::new(name).map_err(|_| LowerError::Invalid {
                what: format!("`{name}` names no symbol"),
                path: frame.at(label),
            })?;
            let ty = frame.type_of(&symbol);
            let (variable, loaded) = self.load_symbol(frame, &symbol, ty, (graph.state, id), label)?;
            statements.extend(loaded);
            let old = frame.bind(&symbol, Expr::symbol(variable));
            hidden.push((symbol, old));
        }
        Ok(hidden)
    }

    /// The executor of the iterations of a scope that do not wait for each other; `by_one` requires one
    /// thread.
    pub(super) fn carrier(
        &self,
        frame: &CallFrame<'g>,
        schedule: &Schedule,
        by_one: bool,
        label: &str,
    ) -> Result<Carrier, LowerError> {
        match schedule {
            Schedule::Default(_) | Schedule::CpuMulticore(_) if !self.in_parallel() && !by_one => {
                Ok(Carrier::Threads)
            }
            // Threads are already at work around it.
            Schedule::Default(_) | Schedule::CpuMulticore(_) | Schedule::Sequential | Schedule::Simd => {
                Ok(Carrier::OneThread { unroll: false })
            }
            Schedule::Unrolled => Ok(Carrier::OneThread { unroll: true }),
            // A range without dimensions has one iteration.
            Schedule::GpuGrid(_) if !self.in_parallel() && !by_one => Ok(Carrier::Kernel),
            Schedule::GpuBlock(_) if self.is_by_blocks() && !by_one => Ok(Carrier::Block),
            // Each thread has an iteration of another map of the block.
            Schedule::GpuBlock(_) if self.blocks.is_some() => Ok(Carrier::OneThread { unroll: false }),
            Schedule::GpuGrid(_)
            | Schedule::GpuBlock(_)
            | Schedule::FpgaDevice
            | Schedule::FpgaReplicated
            | Schedule::Mpi => Err(LowerError::Unsupported {
                what: format!("schedule `{}`", schedule.kind().name()),
                path: frame.at(label),
            }),
        }
    }

    /// The most threads of a team that each thread around a map starts for it, if it has one: where the map or the user asks for it.
    /// Results that do not depend on the number of threads need a fixed order, which is that of one thread here.
    fn nested_team(&self, frame: &CallFrame<'g>, schedule: &Schedule) -> Option<Expr> {
        let team = schedule.team()?;
        let waits = self.n_tasks > 0 || self.loops.iter().any(|open| open.tasks);
        if !self.in_parallel() || waits || self.options.reproducible {
            return None;
        }
        let limit = self.options.nested_threads.map(|limit| Expr::int(i64::from(limit.get())));
        let asked = match (schedule, &limit) {
            (Schedule::CpuMulticore(_), Some(_)) => team.nested.as_ref().or(team.threads.as_ref()),
            _ => Some(team.nested.as_ref()?),
        };
        let asked = asked.map(|asked| frame.translate(asked));
        let most = match (asked, limit) {
            (Some(asked), Some(limit)) => Expr::min(&asked, &limit),
            (asked, limit) => asked.or(limit)?,
        };
        (!most.is_one()).then_some(most)
    }

    /// The given dimensions as tasks or as loops that one thread runs, then the inside of the scope.
    pub(super) fn nested_loops(
        &mut self,
        frame: &mut CallFrame<'g>,
        nest: &Nest<'g, '_>,
        dimensions: &[usize],
    ) -> Result<Vec<Statement>, LowerError> {
        let Some((&d, rest)) = dimensions.split_first() else {
            return match &nest.round {
                Some(round) => self.in_round(frame, nest, round),
                None => self.inside(frame, nest),
            };
        };
        let first_variable = self.plan.variables.len();
        let (dimension, value) = self.dimension(frame, nest, d)?;
        let stride = value.linear_in(&dimension.variable).map(|(stride, _)| stride);
        let old = frame.bind(&nest.map.params[d], value);
        let has_tasks = nest.carrier == Carrier::Tasks;
        if has_tasks {
            self.open_tasks(&dimension);
        } else {
            self.open_loop(&dimension, first_variable, false);
        }
        let has_lanes = nest.map.schedule == Schedule::Simd && rest.is_empty();
        if has_lanes && let Some(open) = self.loops.last_mut() {
            open.lanes = true;
            open.stride = stride.filter(|stride| stride.as_int().is_none());
        }
        let mut body = self.nested_loops(frame, nest, rest)?;
        frame.unbind(&nest.map.params[d], old);
        if has_tasks {
            return Ok(self.close_tasks(&nest.node.label, dimension, body));
        }
        let privates = if has_lanes { self.lanes(&body) } else { Ok(Vec::new()) };
        let privates = privates.unwrap_or_else(|reason| {
            self.refuse_lanes(frame, nest, reason);
            Vec::new()
        });
        let (independent, before, after) = self.close_loop(&mut body);
        let level = if has_lanes && !self.options.checked {
            self.level_of_lanes(&dimension, &body, privates, &after)
        } else if nest.carrier == (Carrier::OneThread { unroll: true }) {
            Level::Unrolled
        } else {
            Level::Sequential { selector: None }
        };
        let repeated = Loop { dimensions: vec![dimension.clone()], level, independent, body };
        Ok(self.enclosed(&dimension, before, Statement::Loop(repeated), after))
    }

    /// Takes down why lanes cannot run a scope. Lowering goes on, to find the others; there will be no plan.
    fn refuse_lanes(&mut self, frame: &CallFrame<'g>, nest: &Nest<'g, '_>, reason: VectorRefusal) {
        self.refused.push(Refusal {
            lacks: Capability::Lanes(reason),
            target: self.target.name,
            what: promise(&nest.map.schedule),
            path: frame.path_of(&nest.node.label),
        });
    }

    /// A loop nest whose outermost dimensions threads share.
    fn shared(
        &mut self,
        frame: &mut CallFrame<'g>,
        nest: &Nest<'g, '_>,
    ) -> Result<Vec<Statement>, LowerError> {
        let map = nest.map;
        let of_schedule = map.schedule.team().cloned().unwrap_or_default();
        let part = self.timer(TimerKind::Part, &frame.at(&nest.node.label));
        // What is pushed keeps the order of iterations, of which a thread then has some that follow each other.
        let pushes = nest.graph.pushes_inside(frame.sdfg, nest.entry);
        let outer = if pushes && of_schedule.collapse.is_none() { vec![0] } else { shared_dimensions(nest) };
        // Loops keep the order that the program gives them, so the dimensions before a shared one stay around it.
        let around: Vec<usize> = (0..outer.first().copied().unwrap_or(0)).collect();
        let inner: Vec<usize> = (around.len()..map.params.len()).filter(|d| !outer.contains(d)).collect();
        let first_variable = self.plan.variables.len();
        let mut dimensions = Vec::with_capacity(outer.len());
        let mut values = Vec::with_capacity(outer.len());
        for &d in &outer {
            let (dimension, value) = self.dimension(frame, nest, d)?;
            dimensions.push(dimension);
            values.push((d, value));
        }
        let mut hidden = Vec::with_capacity(outer.len());
        for (d, value) in values {
            hidden.push((d, frame.bind(&map.params[d], value)));
        }
        for dimension in &dimensions {
            self.open_loop(dimension, first_variable, true);
        }
        let mut repeated = Vec::with_capacity(around.len());
        for &d in &around {
            let (dimension, value) = self.dimension(frame, nest, d)?;
            hidden.push((d, frame.bind(&map.params[d], value)));
            self.open_loop(&dimension, first_variable, false);
            repeated.push(dimension);
        }
        let mut body = self.nested_loops(frame, nest, &inner)?;
        let work = self.work(&dimensions, &repeated, &body, first_variable);
        self.close_around(repeated.len());
        let closed = self.close_shared(dimensions.len(), &mut body, Accumulators::OfThreads);
        for (d, old) in hidden.into_iter().rev() {
            frame.unbind(&map.params[d], old);
        }
        let translate = |expr: &Option<Expr>| expr.as_ref().map(|expr| frame.translate(expr));
        let is_jammed = dimensions.len() == 1
            && repeated.last().is_some_and(|around| is_short(&body) && combines_again(&mut body, around));
        let sharing = of_schedule.sharing;
        let (start, in_order) =
            self.ordered(&mut body, &closed, work, (sharing, of_schedule.chunk.is_some()));
        let team = Team {
            label: nest.node.label.clone(),
            around: repeated,
            jam: is_jammed.then_some(self.target.team.jam),
            selector: closed.selector,
            sharing,
            chunk: translate(&of_schedule.chunk),
            threads: translate(&of_schedule.threads).filter(|_| nest.nested.is_none()),
            nested: nest.nested.clone(),
            start,
            privates: closed.privates,
            collected: closed.collected,
            in_order,
            locals: closed.locals,
            communicated: closed.communicated,
            part,
            captures: Captures::default(),
        };
        let level = Level::Team(Box::new(team));
        Ok(vec![Statement::Loop(Loop { dimensions, level, independent: closed.independent, body })])
    }

    /// The inside of the scope, with its transients.
    pub(super) fn inside(
        &mut self,
        frame: &mut CallFrame<'g>,
        nest: &Nest<'g, '_>,
    ) -> Result<Vec<Statement>, LowerError> {
        let (mut statements, after) = self.allocate_for_scope(frame, nest.graph.id, nest.entry)?;
        statements.extend(self.nodes_in(frame, nest.graph, Some(nest.entry))?);
        statements.extend(after);
        Ok(statements)
    }

    /// The loop of a dimension, and the value of its parameter in it: its variable, or what that counts where the direction
    /// of the range is not known or several values are taken at each step.
    pub(super) fn dimension(
        &mut self,
        frame: &CallFrame<'g>,
        nest: &Nest<'g, '_>,
        d: usize,
    ) -> Result<(LoopDimension, Expr), LowerError> {
        if let Some(round) = &nest.round {
            let variable = self.new_variable("position", sdfg::dtype::ScalarType::I64);
            let counter = Expr::symbol(variable.clone());
            let (begin, end, step) = (Expr::zero(), round.size(), Expr::one());
            return Ok((LoopDimension { variable, begin, end, step }, counter));
        }
        let range =
            nest.map.ranges.0.get(d).map(|range| range.substitute(&frame.symbols)).ok_or_else(|| {
                LowerError::Invalid {
                    what: "a map with fewer ranges than parameters".to_owned(),
                    path: frame.at(&nest.node.label),
                }
            })?;
        let zero = Expr::zero();
        let step_known = range.step.as_int().is_some_and(|step| step != 0)
            || range.step.gt(&zero, &self.assumptions) == Truth::Proved;
        let parameter = &nest.map.params[d];
        let variable = self.new_variable(parameter.as_str(), sdfg::dtype::ScalarType::I64);
        let counter = Expr::symbol(variable.clone());
        if step_known && range.tile.is_one() {
            let dimension = LoopDimension { variable, begin: range.begin, end: range.end, step: range.step };
            return Ok((dimension, counter));
        }
        let (steps, within) = (counter.floor_div(&range.tile), counter.modulo(&range.tile));
        let value = &range.begin + steps * &range.step + within;
        let count = Expr::max(&range.steps(), &zero) * Expr::max(&range.tile, &zero);
        Ok((LoopDimension { variable, begin: zero, end: count, step: Expr::one() }, value))
    }
}

/// Dimensions that threads share: those that the map asks for, else the outermost one in which all writes with conflict
/// resolution move, else the first. The order of iterations is free, so any dimension may be the outermost one whose
/// range needs no other.
fn shared_dimensions(nest: &Nest<'_, '_>) -> Vec<usize> {
    let map = nest.map;
    let independent = |d: usize| has_own_range(map, d);
    if let Some(n) = map.schedule.team().and_then(|team| team.collapse).filter(|n| *n > 1) {
        let n = usize::try_from(n).unwrap_or(usize::MAX).min(map.params.len());
        return (0..n).take_while(|d| *d == 0 || independent(*d)).collect();
    }
    let moving = (0..map.params.len()).find(|d| {
        independent(*d) && writes_move_with(nest.graph.state, nest.graph.tree, nest.entry, &map.params[*d])
    });
    vec![moving.unwrap_or(0)]
}

/// Whether the range of a dimension uses no parameter of its map.
pub(super) fn has_own_range(map: &Map, d: usize) -> bool {
    map.ranges.0.get(d).is_some_and(|range| {
        let symbols = range.free_symbols();
        map.params.iter().all(|parameter| !symbols.contains(parameter))
    })
}

/// Whether every write with conflict resolution inside of a scope has an index that moves with a parameter.
fn writes_move_with(state: &State, tree: &ScopeTree, entry: NodeId, parameter: &Symbol) -> bool {
    let inside = |node: NodeId| tree.enclosing(node).any(|scope| scope == entry);
    state.edges().filter(|(_, edge)| inside(edge.src) && state.node(edge.src).kind.exit_of().is_none()).all(
        |(_, edge)| {
            let Some(access) = edge.memlet.write_access().filter(|_| edge.memlet.resolution().is_some())
            else {
                return true;
            };
            access.subset().0.iter().any(|range| {
                let linear = range.begin.linear_in(parameter);
                range.is_index() && linear.and_then(|(c, _)| c.as_int()).is_some_and(|c| c != 0)
            })
        },
    )
}

/// Whether a body is nothing but one tasklet, so that copies of it cost little.
fn is_short(body: &[Statement]) -> bool {
    let does_something = |s: &&Statement| !matches!(s, Statement::Comment(_) | Statement::Check(_));
    let mut statements = body.iter().filter(does_something);
    let first_is_short = statements.next().is_none_or(|statement| {
        if let Statement::Located { body, .. } = statement {
            is_short(body)
        } else {
            matches!(statement, Statement::Compute(_))
        }
    });
    first_is_short && statements.next().is_none()
}

/// Whether all that a body writes is combined with what is there, at places that a loop around does not move.
fn combines_again(body: &mut [Statement], around: &LoopDimension) -> bool {
    let (mut some, mut all) = (false, true);
    touches(body, &mut |mut touch| {
        if !touch.reads() {
            let moves = |location: &mut Location| location.offset.depends_on(&around.variable);
            let stays = touch.combines() && touch.location_mut().is_some_and(|location| !moves(location));
            (some, all) = (true, all && stays);
        }
    });
    some && all
}
