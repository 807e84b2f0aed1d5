//! Blocks: kernels whose blocks run iterations together, and maps of schedule `gpu_block`, whose iterations the threads of a
//! block share.
//!
//! All threads of a block run the statements of an iteration, and all in the same way, because they see the same values. Loops
//! of level block distribute work to them: maps of schedule `gpu_block`, copies, and whatever one thread does for all. The
//! memory of an iteration is shared by its block, and the memory of an iteration of a loop of level block belongs to a thread.
//! [`barrier`](super::barrier) orders the accesses of different threads.

use std::collections::BTreeMap;
use std::ops::Range;

use sdfg::dtype::ScalarType;
use sdfg::ir::{NodeId, NodeKind, Schedule, Sdfg, Storage};
use sdfg::symbolic::{Expr, Symbol, Truth};

use super::Lowering;
use super::call_frame::CallFrame;
use super::conflict::{Accumulators, OpenLoop};
use super::dataflow::Graph;
use super::error::LowerError;
use super::scope::{Nest, has_own_range};
use super::target::BlockLimits;
use crate::plan::{
    BufferId, Copy, CopyDimension, Level, Location, Loop, LoopDimension, Statement, Threads, any_statement,
};

/// The blocks of a kernel, while its body is lowered.
#[derive(Debug)]
pub(super) struct Blocks {
    /// The number of threads that the program asks for.
    asked: Option<u32>,
    /// The most threads that a loop has work for.
    used: u32,
    /// Number of variables of the plan before those of the kernel.
    pub(super) n_variables: usize,
    /// Whether the current place is in a loop that threads of the block share.
    in_loop: bool,
    /// The accesses of each loop of level block, by its first variable.
    pub(super) loops: BTreeMap<Symbol, BlockLoop>,
}

/// A loop of level block, for questions about the elements that its threads access.
#[derive(Debug)]
pub(super) struct BlockLoop {
    /// Its dimensions.
    pub(super) dimensions: Vec<OpenLoop>,
    /// Threads along them.
    pub(super) extents: Vec<u32>,
    /// Records of its accesses.
    pub(super) records: Range<usize>,
}

impl Blocks {
    /// The number of threads of each block.
    pub(super) fn threads(&self, limits: &BlockLimits) -> u32 {
        let used = if self.used == 0 { limits.usual_threads } else { self.used };
        self.asked.unwrap_or_else(|| used.next_multiple_of(limits.together).min(limits.threads))
    }
}

impl<'g> Lowering<'g> {
    /// The blocks of a kernel that run its iterations together: where a map is for the threads of a block, or memory is for a block.
    pub(super) fn blocks_of(
        &self,
        frame: &CallFrame<'g>,
        nest: &Nest<'g, '_>,
    ) -> Result<Option<Blocks>, LowerError> {
        let (graph, entry) = (nest.graph, nest.entry);
        let owner = (graph.id, entry);
        let shares = frame.sdfg.containers().any(|(id, container)| {
            container.storage == Storage::GpuShared
                && frame.owning_scopes.get(&id).is_some_and(|(state, scope)| {
                    (*state, *scope) == owner || *state == graph.id && is_inside(graph, *scope, entry)
                })
        });
        if !shares && !has_blocks(graph, entry) {
            return Ok(None);
        }
        let asked = match nest.map.schedule.block().filter(|block| !block.extents.is_empty()) {
            Some(block) => {
                let extents: Vec<Expr> = block.extents.iter().map(|extent| frame.translate(extent)).collect();
                let path = || frame.at(&nest.node.label);
                Some(self.constant_extents(&extents, path)?.iter().product())
            }
            None => None,
        };
        let n_variables = self.plan.variables.len();
        Ok(Some(Blocks { asked, used: 0, n_variables, in_loop: false, loops: BTreeMap::new() }))
    }

    /// Whether the threads of a block run the statements of the current place together.
    pub(super) fn is_by_blocks(&self) -> bool {
        self.blocks.as_ref().is_some_and(|blocks| !blocks.in_loop)
    }

    /// The largest transient in bytes that is put on the stack of a thread, or in the memory of a block.
    pub(super) fn most_on_stack(&self) -> u64 {
        if self.is_by_blocks() { self.target.block.memory } else { self.target.stack.transient }
    }

    /// A map whose iterations the threads of a block share: the dimensions that have ranges of their own. The others run in
    /// sequence in each thread.
    pub(super) fn block_loop(
        &mut self,
        frame: &mut CallFrame<'g>,
        nest: &Nest<'g, '_>,
    ) -> Result<Vec<Statement>, LowerError> {
        let map = nest.map;
        let (outer, inner): (Vec<usize>, Vec<usize>) =
            (0..map.params.len()).partition(|d| has_own_range(map, *d));
        let first_variable = self.plan.variables.len();
        let mut dimensions = Vec::with_capacity(outer.len());
        let mut values = Vec::with_capacity(outer.len());
        for &d in &outer {
            let (dimension, value) = self.dimension(frame, nest, d)?;
            dimensions.push(dimension);
            values.push((d, value));
        }
        let asked = map.schedule.block().map(|block| block.extents.as_slice()).unwrap_or_default();
        // The graph lists the innermost dimension first, as CUDA does.
        let asked: Vec<Expr> = outer
            .iter()
            .filter_map(|d| asked.get(map.params.len() - 1 - d))
            .map(|e| frame.translate(e))
            .collect();
        let extents = if asked.is_empty() {
            let counts: Vec<Expr> = dimensions.iter().map(count).collect();
            self.arranged(&counts, self.asked_threads())
        } else {
            let mut extents = self.constant_extents(&asked, || frame.at(&nest.node.label))?;
            extents.resize(dimensions.len(), 1);
            extents
        };
        let most = self.asked_threads().unwrap_or(self.target.block.threads);
        if extents.iter().map(|extent| u64::from(*extent)).product::<u64>() > u64::from(most) {
            let what = format!("a map for more than {most} threads of a block");
            return Err(LowerError::Unsupported { what, path: frame.at(&nest.node.label) });
        }
        let hidden: Vec<_> =
            values.into_iter().map(|(d, value)| (d, frame.bind(&map.params[d], value))).collect();
        for dimension in &dimensions {
            self.open_loop(dimension, first_variable, true);
        }
        self.set_in_loop(true);
        let records = self.records.len();
        let mut body = self.nested_loops(frame, nest, &inner)?;
        let open = self.loops[self.loops.len() - dimensions.len()..].to_vec();
        let closed = self.close_shared(dimensions.len(), &mut body, Accumulators::None);
        self.set_in_loop(false);
        for (d, old) in hidden.into_iter().rev() {
            frame.unbind(&map.params[d], old);
        }
        if let (Some(blocks), Some(first)) = (&mut self.blocks, dimensions.first()) {
            blocks.used = blocks.used.max(extents.iter().product());
            let each = BlockLoop {
                dimensions: open,
                extents: extents.clone(),
                records: records..self.records.len(),
            };
            blocks.loops.insert(first.variable.clone(), each);
        }
        let level = Level::Block(Threads { extents, locals: closed.locals });
        Ok(vec![Statement::Loop(Loop { dimensions, level, independent: closed.independent, body })])
    }

    fn set_in_loop(&mut self, in_loop: bool) {
        if let Some(blocks) = &mut self.blocks {
            blocks.in_loop = in_loop;
        }
    }

    fn asked_threads(&self) -> Option<u32> {
        self.blocks.as_ref().and_then(|blocks| blocks.asked)
    }

    /// Threads along dimensions with so many iterations: one for each iteration if a block has as many, else as many as usual,
    /// the innermost dimensions first.
    fn arranged(&self, counts: &[Expr], asked: Option<u32>) -> Vec<u32> {
        let limits = &self.target.block;
        let most = asked.unwrap_or(limits.threads);
        let bounds: Vec<Option<u32>> = counts.iter().map(|count| self.at_most(count, most)).collect();
        let all = bounds.iter().try_fold(1_u32, |all, bound| all.checked_mul((*bound)?));
        let mut left = match all {
            Some(all) if all <= most => most,
            Some(_) | None => asked.unwrap_or(limits.usual_threads),
        };
        let mut extents: Vec<u32> = bounds
            .iter()
            .rev()
            .map(|bound| {
                let extent = bound.unwrap_or(left).clamp(1, left);
                left /= extent;
                extent
            })
            .collect();
        extents.reverse();
        extents
    }

    /// A bound of a number of iterations, if one up to a limit is known.
    fn at_most(&self, count: &Expr, limit: u32) -> Option<u32> {
        if let Some(count) = count.as_int() {
            return u32::try_from(count.max(1)).ok().filter(|count| *count <= limit);
        }
        let bounds = (0..32).map(|power| 1_u32 << power).take_while(|bound| *bound <= limit);
        let holds = |bound: &u32| count.le(&Expr::int(i64::from(*bound)), &self.assumptions) == Truth::Proved;
        bounds.into_iter().find(holds)
    }

    /// Extents of a block that are known, and not too many.
    fn constant_extents(&self, extents: &[Expr], path: impl Fn() -> String) -> Result<Vec<u32>, LowerError> {
        let most = self.target.block.threads;
        let constant = |extent: &Expr| extent.as_int().and_then(|extent| u32::try_from(extent).ok());
        let constants: Option<Vec<u32>> = extents.iter().map(constant).collect();
        let is_possible = |extents: &Vec<u32>| {
            let threads = extents.iter().try_fold(1_u32, |all, extent| all.checked_mul(*extent));
            threads.is_some_and(|threads| (1..=most).contains(&threads))
        };
        constants.filter(is_possible).ok_or_else(|| {
            let extents: Vec<String> = extents.iter().map(Expr::to_string).collect();
            let what = format!(
                "a block of {} threads that share memory or maps, which is not a number from 1 to {most},",
                extents.join(" x ")
            );
            LowerError::Unsupported { what, path: path() }
        })
    }

    /// Whether the memory of a block has room for these buffers.
    pub(super) fn fits_block(&self, locals: &[BufferId], nest: &Nest<'_, '_>) -> Result<(), String> {
        let bytes = |id: &BufferId| {
            let buffer = self.plan.buffer(*id);
            // Each begins at a multiple of 64 bytes.
            let size = buffer.size.as_int().and_then(|size| u64::try_from(size).ok()).unwrap_or(u64::MAX);
            size.saturating_mul(buffer.element.size() as u64).max(1).div_ceil(64).saturating_mul(64)
        };
        let all = locals.iter().map(bytes).fold(0_u64, u64::saturating_add);
        let most = self.target.block.memory;
        if all <= most {
            return Ok(());
        }
        let label = &nest.node.label;
        Err(format!("{all} bytes that a block shares in the kernel `{label}` (at most {most})"))
    }

    /// The statements of an iteration for threads that run it together; the construct that they cannot run, as a noun phrase.
    pub(super) fn together(
        &mut self,
        body: Vec<Statement>,
        blocks: Blocks,
        shared: &[BufferId],
    ) -> Result<Vec<Statement>, String> {
        let threads = blocks.threads(&self.target.block);
        let body = self.distributed(body, threads);
        self.with_barriers(body, &blocks, shared)
    }

    /// The statements with work for each thread: copies are shared by all, and one thread runs what is not shared. All
    /// threads set variables.
    fn distributed(&mut self, body: Vec<Statement>, threads: u32) -> Vec<Statement> {
        let mut result = Vec::with_capacity(body.len());
        let mut alone = Vec::new();
        for mut statement in body {
            if !is_for_all(&statement) {
                alone.push(statement);
                continue;
            }
            self.by_one_thread(&mut alone, &mut result);
            if let Statement::Copy(copy) = statement {
                result.push(self.shared_copy(copy, threads));
                continue;
            }
            if let Some(each) = copying_loop(&mut statement) {
                let counts: Vec<Expr> = each.dimensions.iter().map(count).collect();
                let extents = self.arranged(&counts, Some(threads));
                each.level = Level::Block(Threads { extents, locals: Vec::new() });
            }
            if !is_block_loop(&statement) {
                statement.bodies_mut(&mut |body| *body = self.distributed(std::mem::take(body), threads));
            }
            result.push(statement);
        }
        self.by_one_thread(&mut alone, &mut result);
        result
    }

    /// Moves statements into a loop of one iteration, which the first thread runs.
    fn by_one_thread(&mut self, alone: &mut Vec<Statement>, result: &mut Vec<Statement>) {
        let mut body = std::mem::take(alone);
        let is_comment = |statement: &Statement| matches!(statement, Statement::Comment(_));
        let Some(last) = body.iter().rposition(|statement| !is_comment(statement)) else {
            result.extend(body);
            return;
        };
        let comments = body.split_off(last + 1);
        let dimension = self.counter("one", Expr::one());
        let level = Level::Block(Threads { extents: vec![1], locals: Vec::new() });
        result.push(Statement::Loop(Loop { dimensions: vec![dimension], level, independent: false, body }));
        result.extend(comments);
    }

    /// A copy whose elements the threads of a block share.
    fn shared_copy(&mut self, copy: Copy, threads: u32) -> Statement {
        let counts: Vec<Expr> = copy.dimensions.iter().map(|dimension| dimension.extent.clone()).collect();
        let extents = self.arranged(&counts, Some(threads));
        let (mut from, mut to) = (copy.from.offset.clone(), copy.to.offset.clone());
        let mut dimensions = Vec::with_capacity(counts.len());
        for CopyDimension { extent, from_stride, to_stride } in copy.dimensions {
            let dimension = self.counter("q", extent);
            let position = Expr::symbol(dimension.variable.clone());
            from = from + &position * &from_stride;
            to = to + &position * &to_stride;
            dimensions.push(dimension);
        }
        let element = Copy {
            from: Location { buffer: copy.from.buffer, offset: from },
            to: Location { buffer: copy.to.buffer, offset: to },
            dimensions: Vec::new(),
            ..copy
        };
        let level = Level::Block(Threads { extents, locals: Vec::new() });
        let body = vec![Statement::Copy(element)];
        Statement::Loop(Loop { dimensions, level, independent: true, body })
    }

    fn counter(&mut self, name: &str, end: Expr) -> LoopDimension {
        let variable = self.new_variable(name, ScalarType::I64);
        LoopDimension { variable, begin: Expr::zero(), end, step: Expr::one() }
    }
}

/// The number of iterations of a dimension.
fn count(dimension: &LoopDimension) -> Expr {
    let range = sdfg::subset::Range::new(dimension.begin.clone(), dimension.end.clone());
    range.with_step(dimension.step.clone()).steps()
}

/// Whether all threads of a block run a statement: loops that they share, copies of several elements, assignments of
/// variables, and everything that contains one of these.
fn is_for_all(statement: &Statement) -> bool {
    any_statement(std::slice::from_ref(statement), &|statement| {
        is_block_loop(statement)
            || matches!(statement, Statement::Let { .. } | Statement::Set { .. })
            || matches!(statement, Statement::Copy(copy) if !copy.dimensions.is_empty())
            || copying_loop(&mut statement.clone()).is_some()
    })
}

/// A loop that copies an element in each iteration, which are independent: a copy between parts of different shapes.
fn copying_loop(statement: &mut Statement) -> Option<&mut Loop> {
    let Statement::Loop(each) = statement else { return None };
    let copies = matches!(each.body.as_slice(), [Statement::Copy(copy)] if copy.dimensions.is_empty());
    let is_sequential = matches!(each.level, Level::Sequential { selector: None });
    (copies && is_sequential && each.independent).then_some(each)
}

pub(super) fn is_block_loop(statement: &Statement) -> bool {
    matches!(statement, Statement::Loop(Loop { level: Level::Block(_), .. }))
}

/// Whether a map for the threads of a block is inside of a scope.
fn has_blocks(graph: Graph<'_, '_>, entry: NodeId) -> bool {
    graph.state.nodes().any(|(id, node)| is_inside(graph, id, entry) && is_for_block(&node.kind))
}

fn is_for_block(node: &NodeKind) -> bool {
    match node {
        NodeKind::MapEntry(map) => matches!(map.schedule, Schedule::GpuBlock(_)),
        NodeKind::Nested(nested) => has_blocks_anywhere(&nested.sdfg),
        NodeKind::Access(_)
        | NodeKind::Tasklet(_)
        | NodeKind::MapExit(_)
        | NodeKind::ConsumeEntry(_)
        | NodeKind::ConsumeExit(_)
        | NodeKind::Reduce(_)
        | NodeKind::Library(_) => false,
    }
}

/// Whether a nested SDFG has a map for the threads of a block, or memory for a block.
fn has_blocks_anywhere(sdfg: &Sdfg) -> bool {
    let shares =
        |container: &sdfg::ir::Container| container.transient && container.storage == Storage::GpuShared;
    let nodes = sdfg.states().flat_map(|(_, state)| state.nodes());
    sdfg.containers().any(|(_, container)| shares(container))
        || nodes.into_iter().any(|(_, node)| is_for_block(&node.kind))
}

fn is_inside(graph: Graph<'_, '_>, node: NodeId, entry: NodeId) -> bool {
    graph.tree.enclosing(node).any(|scope| scope == entry)
}
