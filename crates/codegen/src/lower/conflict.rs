//! Independence of loops, and implementation of conflicting writes.
//!
//! When a loop is complete, the record of its accesses decides how each write with conflict resolution is
//! implemented. The write stays plain if no two concurrent iterations can write the same element. It uses an
//! accumulator in each thread if the target is small. Otherwise it becomes atomic. In a sequential loop, a
//! target that does not depend on the loop is accumulated in a register.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::subset::{Range, Subset};
use sdfg::symbolic::{Expr, Symbol, Truth};

use super::Lowering;
use super::access::{AccessKind, Record};
use super::accumulator::set_constant;
use super::scalar::less;
use crate::plan::{
    Allocation, BufferId, Collected, Copy, CopySelector, If, Location, LoopDimension, Part,
    PrivateAccumulator, Realisation, Resolved, Statement, TaskKind, Tasks, Touch, identity, touches,
};

/// A loop around the current place.
#[derive(Clone, Debug)]
pub(super) struct OpenLoop {
    /// Its number, unique.
    pub(super) number: usize,
    /// Its variable.
    pub(super) variable: Symbol,
    /// The values of its variable.
    pub(super) range: Range,
    /// The step of the range whose values the variable counts, if it is no number. It is not zero while an iteration runs.
    pub(super) stride: Option<Expr>,
    /// Whether threads share it.
    pub(super) parallel: bool,
    /// Whether its iterations are tasks.
    pub(super) tasks: bool,
    /// Whether its iterations run on the lanes of vectors.
    pub(super) lanes: bool,
    /// Number of variables of the plan before its own; loops that are shared together have theirs side by side.
    pub(super) first_variable: usize,
    /// Number of variables of the plan before its body.
    pub(super) n_variables: usize,
    /// Number of buffers of the plan before it.
    pub(super) n_buffers: usize,
    /// Number of records before it.
    pub(super) n_records: usize,
    /// Buffers of which each of its threads has one.
    pub(super) locals: Vec<BufferId>,
}

/// Memory in which a shared loop accumulates before it combines into its targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Accumulators {
    /// None: what may conflict is combined atomically.
    None,
    /// Memory of each thread of a team.
    OfThreads,
    /// Registers of each thread of a device for single elements, and memory of each block for several.
    OfBlocks {
        /// Threads of a block.
        threads: u32,
    },
}

/// Decisions at the end of a shared loop.
pub(super) struct Closed {
    pub(super) privates: Vec<PrivateAccumulator>,
    pub(super) collected: Vec<Collected>,
    /// As the loop's.
    pub(super) selector: Option<CopySelector>,
    pub(super) locals: Vec<BufferId>,
    pub(super) communicated: Vec<BufferId>,
    pub(super) independent: bool,
}

impl<'g> Lowering<'g> {
    /// Opens a loop over a dimension; the plan had `first_variable` variables before those of the loops that it is shared with.
    pub(super) fn open_loop(&mut self, dimension: &LoopDimension, first_variable: usize, parallel: bool) {
        let range =
            Range::new(dimension.begin.clone(), dimension.end.clone()).with_step(dimension.step.clone());
        if dimension.step.as_int().is_some_and(|step| step < 0) {
            let lowest = &dimension.end + &Expr::one();
            self.assumptions.set_range(
                dimension.variable.clone(),
                Some(lowest),
                Some(dimension.begin.clone()),
            );
        } else {
            let highest = &dimension.end - &Expr::one();
            self.assumptions.set_range(
                dimension.variable.clone(),
                Some(dimension.begin.clone()),
                Some(highest),
            );
        }
        self.loop_ranges.push((dimension.variable.clone(), range.clone()));
        self.loops.push(OpenLoop {
            number: self.loop_ranges.len() - 1,
            variable: dimension.variable.clone(),
            range,
            stride: None,
            parallel,
            tasks: false,
            lanes: false,
            first_variable,
            n_variables: self.plan.variables.len(),
            n_buffers: self.plan.buffers.len(),
            n_records: self.records.len(),
            locals: Vec::new(),
        });
    }

    /// Opens a loop whose iterations are tasks.
    pub(super) fn open_tasks(&mut self, dimension: &LoopDimension) {
        let first_variable = self.plan.variables.len() - 1;
        self.open_loop(dimension, first_variable, false);
        if let Some(open) = self.loops.last_mut() {
            open.tasks = true;
        }
    }

    /// Closes the innermost loop, whose iterations are tasks. Returns the loop with what comes before and after it.
    pub(super) fn close_tasks(
        &mut self,
        label: &str,
        dimension: LoopDimension,
        mut body: Vec<Statement>,
    ) -> Vec<Statement> {
        let n_buffers = self.loops.last().map_or(0, |open| open.n_buffers);
        let on_stack = |id: &BufferId| self.plan.buffer(*id).allocation == Allocation::Stack;
        // Tasks inside of these have their own already.
        let inner = owned_inside(&body);
        let locals = self.buffers_from(n_buffers).filter(on_stack).filter(|id| !inner.contains(id)).collect();
        let (_, before, after) = self.close_loop(&mut body);
        let label = label.to_owned();
        let kind = TaskKind { label, dimension: Some(dimension.clone()), after: Vec::new(), locals, body };
        self.enclosed(&dimension, before, Statement::Tasks(Tasks::new(vec![kind])), after)
    }

    /// A loop over a dimension between what sums in registers need before and after it.
    pub(super) fn enclosed(
        &self,
        dimension: &LoopDimension,
        before: Vec<Statement>,
        repeated: Statement,
        after: Vec<Statement>,
    ) -> Vec<Statement> {
        if before.is_empty() {
            return vec![repeated];
        }
        self.guarded(dimension, before.into_iter().chain([repeated]).chain(after).collect())
    }

    /// Number of variables before the innermost shared loop around the current place.
    pub(super) fn parallel_mark(&self) -> Option<usize> {
        self.loops.iter().rfind(|open| open.parallel).map(|open| open.first_variable)
    }

    /// Gives each thread of the innermost shared loop around the current place a buffer.
    pub(super) fn add_thread_local(&mut self, buffer: BufferId) {
        let mark = self.parallel_mark();
        // The outermost of the dimensions that are shared together.
        let is_its = |open: &&mut OpenLoop| open.parallel && Some(open.first_variable) == mark;
        if let Some(open) = self.loops.iter_mut().find(is_its) {
            open.locals.push(buffer);
        }
    }

    /// Closes the innermost loop, which one thread runs. Returns whether its iterations are proved independent.
    ///
    /// `body` is changed where targets are accumulated in registers; the statements before and after the loop that this
    /// needs are returned too.
    pub(super) fn close_loop(&mut self, body: &mut [Statement]) -> (bool, Vec<Statement>, Vec<Statement>) {
        let Some(open) = self.loops.pop() else { return (false, Vec::new(), Vec::new()) };
        let records = self.records_by_buffer(&open);
        let independent = self.is_independent(&records, &[&open]);
        let (mut before, mut after) = (Vec::new(), Vec::new());
        let sums = if self.options.checked || !self.may_defer_resolution(body) {
            Vec::new()
        } else {
            self.accumulated(body, &open, &records)
        };
        for (target, resolution) in sums {
            let element = self.plan.buffer(target.buffer).element;
            let Some(value) = identity(&resolution, element) else { continue };
            if open.lanes && self.keeps_order(&resolution, element) {
                continue;
            }
            let name = format!("{}_sum", self.plan.buffer(target.buffer).name);
            let cell = Location { buffer: self.cell(&name, element), offset: Expr::zero() };
            touches(body, &mut |mut touch| {
                if touch.buffer() == target.buffer
                    && touch.combines()
                    && let Some(location) = touch.location_mut()
                {
                    *location = cell.clone();
                }
            });
            before.push(set_constant(&cell, value, element));
            let write = Resolved::Combine { resolution, custom: None, realisation: Realisation::Plain };
            let label = name;
            after.push(Statement::Copy(Copy {
                label,
                from: cell,
                to: target,
                dimensions: Vec::new(),
                write,
            }));
        }
        (independent, before, after)
    }

    /// Closes the innermost loops, which are around the share of a thread: nothing is accumulated over them, as the shared loop is inside.
    pub(super) fn close_around(&mut self, n: usize) {
        self.loops.truncate(self.loops.len().saturating_sub(n));
    }

    /// A loop that is only entered if its range is not empty, where that matters.
    fn guarded(&self, dimension: &LoopDimension, statements: Vec<Statement>) -> Vec<Statement> {
        let down = dimension.step.as_int().is_some_and(|step| step < 0);
        let (low, high) =
            if down { (&dimension.end, &dimension.begin) } else { (&dimension.begin, &dimension.end) };
        if low.lt(high, &self.assumptions) == Truth::Proved {
            return statements;
        }
        vec![Statement::If(If { arms: vec![(less(low, high), statements)], otherwise: Vec::new() })]
    }

    /// Closes the innermost loops, whose iterations threads share together. `accumulators` says where they may accumulate.
    pub(super) fn close_shared(
        &mut self,
        n: usize,
        body: &mut [Statement],
        accumulators: Accumulators,
    ) -> Closed {
        let shared: Vec<OpenLoop> = self.loops.split_off(self.loops.len().saturating_sub(n));
        let Some(outermost) = shared.first() else {
            return Closed {
                privates: Vec::new(),
                collected: Vec::new(),
                selector: None,
                locals: Vec::new(),
                communicated: Vec::new(),
                independent: false,
            };
        };
        let dimensions: Vec<&OpenLoop> = shared.iter().collect();
        let communicated = self.communicated(body, outermost);
        let may_defer = accumulators != Accumulators::None && self.may_defer_resolution(body);
        let mut locals = outermost.locals.clone();
        let of_inner_teams = owned_inside(body);
        let is_own = |id: &BufferId| {
            self.plan.buffer(*id).allocation == Allocation::Stack && !of_inner_teams.contains(id)
        };
        locals.extend(self.buffers_from(outermost.n_buffers).filter(is_own));
        let records = self.records_by_buffer(outermost);
        let independent = self.is_independent(&records, &dimensions);
        let merged = merged_by_teams(body);
        let mut privates = Vec::new();
        let mut atomic = BTreeSet::new();
        for (buffer, records) in &records {
            let combines = records.iter().any(|r| matches!(r.kind, AccessKind::Combine(_)));
            if !combines || self.is_made_inside(*buffer, outermost) || self.distinct(records, &dimensions) {
                continue;
            }
            let is_merged = merged.contains(buffer);
            let private = if may_defer && !is_merged {
                let taken = privates.iter().map(|private| self.bytes_of_block(private, accumulators)).sum();
                self.private(*buffer, records, outermost, &mut locals, (accumulators, taken))
            } else {
                None
            };
            match private {
                Some((private, first)) => {
                    let is_shared = matches!(accumulators, Accumulators::OfBlocks { .. })
                        && !self.plan.buffer(private.buffer).size.is_one();
                    touches(body, &mut |mut touch| {
                        if touch.buffer() == *buffer
                            && touch.combines()
                            && let Some(location) = touch.location_mut()
                        {
                            *location =
                                Location { buffer: private.buffer, offset: &location.offset - &first };
                            if is_shared
                                && let Some(Resolved::Combine { realisation, .. }) = touch.write_mut()
                            {
                                *realisation = Realisation::Atomic;
                            }
                        }
                    });
                    privates.push(private);
                }
                None => {
                    atomic.insert(*buffer);
                }
            }
        }
        touches(body, &mut |mut touch| {
            let buffer = touch.buffer();
            if atomic.contains(&buffer)
                && let Some(Resolved::Combine { resolution, realisation, .. }) = touch.write_mut()
            {
                *realisation = self.target.realisation(resolution, self.plan.buffer(buffer).element);
                // Accumulators of inner teams are combined under the lock.
                if merged.contains(&buffer) {
                    *realisation = Realisation::Locked;
                }
            }
        });
        let n_buffers = outermost.n_buffers;
        let collected = self.collected(body, n_buffers);
        let selector = match accumulators {
            Accumulators::OfThreads => self.replicate_accumulators(&mut privates, body),
            Accumulators::None | Accumulators::OfBlocks { .. } => None,
        };
        let independent = independent && atomic.is_empty();
        Closed { privates, collected, selector, locals, communicated, independent }
    }

    /// The buffers that were added since there were `n`.
    pub(super) fn buffers_from(&self, n: usize) -> impl Iterator<Item = BufferId> {
        (n..self.plan.buffers.len()).filter_map(|id| u32::try_from(id).ok()).map(BufferId)
    }

    pub(super) fn records_by_buffer(&self, open: &OpenLoop) -> BTreeMap<BufferId, Vec<Record>> {
        let mut found: BTreeMap<BufferId, Vec<Record>> = BTreeMap::new();
        for record in &self.records[open.n_records..] {
            found.entry(record.buffer).or_default().push(record.clone());
        }
        let has_names =
            |buffer: &BufferId| self.plan.is_reference(*buffer) || self.plan.overlapping.contains(buffer);
        if found.keys().any(has_names) {
            return self.with_overlaps(&found);
        }
        found
    }

    /// Adds to the records of each buffer those of every other one that may overlap it: by which elements, nobody knows.
    fn with_overlaps(&self, found: &BTreeMap<BufferId, Vec<Record>>) -> BTreeMap<BufferId, Vec<Record>> {
        let overlapping = |buffer: BufferId| {
            let names: Vec<BufferId> =
                found.keys().copied().filter(|other| self.plan.may_overlap(buffer, *other)).collect();
            let is_alone = names.len() == 1 && !self.plan.is_reference(buffer);
            let records = names.iter().filter_map(|name| found.get(name)).flatten().cloned();
            let records =
                records.map(|record| Record { subset: record.subset.clone().filter(|_| is_alone), ..record });
            (buffer, records.collect())
        };
        found.keys().copied().map(overlapping).collect()
    }

    /// Whether a buffer is memory of one iteration of a loop or of one thread. What a reference names may be older.
    pub(super) fn is_made_inside(&self, buffer: BufferId, open: &OpenLoop) -> bool {
        buffer.index() >= open.n_buffers && !self.plan.is_reference(buffer)
    }

    /// Whether elements of a buffer are accessed by other names in a loop with these records.
    pub(super) fn has_other_names(&self, buffer: BufferId, records: &[Record]) -> bool {
        self.plan.is_reference(buffer) || records.iter().any(|record| record.buffer != buffer)
    }

    /// Whether no iteration of the loops touches an element that another one writes.
    fn is_independent(&self, records: &BTreeMap<BufferId, Vec<Record>>, dimensions: &[&OpenLoop]) -> bool {
        let Some(first) = dimensions.first() else { return false };
        records.iter().all(|(buffer, records)| {
            if self.is_made_inside(*buffer, first) {
                // Memory of one iteration that the next one uses again; single elements on the stack become registers.
                let buffer = self.plan.buffer(*buffer);
                return buffer.size.is_one() && buffer.allocation == Allocation::Stack;
            }
            records.iter().all(|r| r.kind == AccessKind::Read) || self.distinct(records, dimensions)
        })
    }

    /// Whether different iterations of the loops touch different elements of a buffer: for each loop there is a dimension of
    /// the buffer in which every access is at `c * variable + r` with the same nonzero `c` and the same `r`, which is fixed in the
    /// loops, over less than `|c|` indices. Reads of elements that no iteration writes do not count.
    fn distinct(&self, records: &[Record], dimensions: &[&OpenLoop]) -> bool {
        let [Some(outermost), Some(innermost)] = [dimensions.first(), dimensions.last()] else {
            return false;
        };
        let (read, written): (Vec<&Record>, Vec<&Record>) =
            records.iter().partition(|record| record.kind == AccessKind::Read);
        let is_apart = !read.is_empty()
            && !written.is_empty()
            && self.is_apart(&written, &read, outermost.first_variable);
        let counted = records.iter().filter(|record| !is_apart || record.kind != AccessKind::Read);
        let fixed = innermost.n_variables;
        let hulls: Option<Vec<Subset>> = counted.map(|record| self.indices(record, fixed)).collect();
        let Some(hulls) = hulls else { return false };
        let Some(rank) = hulls.first().map(Subset::rank) else { return false };
        dimensions.iter().all(|open| {
            (0..rank).any(|d| {
                let mut forms = hulls.iter().map(|hull| self.stride_of(&hull.0[d], open, dimensions));
                let first = forms.next().flatten();
                first.is_some() && forms.all(|form| form == first)
            })
        })
    }

    /// `(c, r)` of a range that begins at `c * variable + r` and is no longer than `|c|`.
    pub(super) fn stride_of(
        &self,
        range: &Range,
        open: &OpenLoop,
        shared: &[&OpenLoop],
    ) -> Option<(i64, Expr)> {
        let (coefficient, rest) = range.begin.linear_in(&open.variable)?;
        let coefficient = coefficient.as_int().filter(|c| *c != 0)?;
        if shared.iter().any(|other| rest.depends_on(&other.variable)) {
            return None;
        }
        let extent =
            if range.step.as_int()? > 0 { &range.end - &range.begin } else { &range.begin - &range.end };
        // Iterations are a step apart at least.
        let step = open.range.step.as_int().unwrap_or(1).abs();
        let apart = Expr::int(coefficient.checked_abs()?.checked_mul(step)?);
        (extent.le(&apart, &self.assumptions) == Truth::Proved).then_some((coefficient, rest))
    }
}

/// Buffers that the threads of loops and the tasks in a body have for themselves.
fn owned_inside(body: &[Statement]) -> BTreeSet<BufferId> {
    let mut owned = BTreeSet::new();
    owned_by(body, &mut owned);
    owned
}

fn owned_by(body: &[Statement], owned: &mut BTreeSet<BufferId>) {
    for statement in body {
        statement.parts(&mut |part| {
            if let Part::Owns(buffer) = part {
                owned.insert(buffer);
            }
        });
        statement.bodies().into_iter().for_each(|body| owned_by(body, owned));
    }
}

/// Buffers into which teams in a body combine accumulators.
fn merged_by_teams(body: &mut [Statement]) -> BTreeSet<BufferId> {
    let mut merged = BTreeSet::new();
    touches(body, &mut |touch| {
        if matches!(touch, Touch::Merge(_)) {
            merged.insert(touch.buffer());
        }
    });
    merged
}
