//! Loops of one thread, and loops that a team of threads shares.
//!
//! The loop of a team is a function of its own, which is given what it uses: buffers are then known not to overlap (`restrict`). An
//! OpenMP region calls it in every thread; a loop with little work is called directly.

use sdfg::dtype::ScalarType;
use sdfg::ir::OpenMpSchedule;
use sdfg::symbolic::Expr;
use sdfg::tasklet::BinaryOperation;

use super::error::{Print, defect};
use super::function::{Frame, Function, Returns};
use super::memory::product;
use super::stream::Collector;
use super::tasklet::unsupported;
use super::text::{Code, Precedence};
use crate::plan::{
    Allocation, Level, Loop, LoopDimension, OrderedChunks, PrivateAccumulator, PrivateCopies, Start, Team,
    Vector,
};

/// A function that writes the statements of one iteration.
pub(super) type Body<'f, 'w, 'p> = &'f dyn Fn(&mut Function<'w, 'p>) -> Print<()>;

/// One dimension of a shared iteration space.
pub(super) struct Dimension {
    pub(super) begin: Code,
    pub(super) step: Code,
    pub(super) extent: Code,
}

impl<'w, 'p> Function<'w, 'p> {
    /// A loop, by its level.
    pub(super) fn repeated(&mut self, each: &Loop) -> Print<()> {
        match &each.level {
            Level::Team(team) => self.team_loop(each, team),
            Level::Sequential { selector: None } => {
                let dimension = only_dimension(each)?;
                self.counted(dimension, &|f| f.statements(&each.body))
            }
            Level::Sequential { selector: Some(selector) } => {
                let dimension = only_dimension(each)?;
                let (begin, step) = (self.index(&dimension.begin)?, self.index(&dimension.step)?);
                let extent = self.extent(dimension, &begin)?;
                self.in_groups((&Code::int(0), &extent), selector.count, &|f, number, position| {
                    f.set_counter(dimension, &begin, &step, number)?;
                    f.set_copy(&selector.variable, position)?;
                    f.statements(&each.body)
                })
            }
            Level::Vector(vector) => self.vector_loop(each, vector),
            Level::Unrolled => {
                let dimension = only_dimension(each)?;
                let count = [&dimension.begin, &dimension.end, &dimension.step].map(Expr::as_int);
                if let [Some(begin), Some(end), Some(step)] = count
                    && step != 0
                    && let count @ 1..=64 = (end - begin + step - step.signum()) / step
                {
                    self.line(format!("#pragma GCC unroll {count}"));
                }
                self.counted(dimension, &|f| f.statements(&each.body))
            }
            Level::Grid(kernel) => self.launch(each, kernel),
            Level::Block(threads) => self.block_loop(each, threads),
            Level::Rank | Level::Lane | Level::Pipelined { .. } | Level::Replicated => {
                let level = each.level.kind().name();
                Err(defect(format!("a processor has no level `{level}`")))
            }
        }
    }

    /// A loop of level vector: its lanes do what iterations one after the other do, and `simd` says that they may be lanes.
    fn vector_loop(&mut self, each: &Loop, vector: &Vector) -> Print<()> {
        let dimension = only_dimension(each)?;
        for private in &vector.privates {
            self.stack_buffer(*private)?;
        }
        self.counted(dimension, &|f| {
            f.statements(if vector.rest.is_empty() { &each.body } else { &vector.rest })
        })
    }

    /// A loop over a dimension.
    fn counted(&mut self, dimension: &LoopDimension, body: Body<'_, 'w, 'p>) -> Print<()> {
        let [begin, end, step] =
            [&dimension.begin, &dimension.end, &dimension.step].map(|part| self.index(part));
        let (begin, end, step) = (begin?, end?, step?);
        self.counted_by(dimension, (&begin, &end, &step), body)
    }

    fn counted_by(
        &mut self,
        dimension: &LoopDimension,
        (begin, end, step): (&Code, &Code, &Code),
        body: Body<'_, 'w, 'p>,
    ) -> Print<()> {
        let name = self.variable(&dimension.variable)?;
        self.note_read(&dimension.variable);
        let is_down = dimension.step.as_int().is_some_and(|step| step < 0);
        let compare = if is_down { ">" } else { "<" };
        let ty = self.program.scalar_type(self.variable_type(&dimension.variable));
        let next = match dimension.step.as_int() {
            Some(1) => format!("++{name}"),
            Some(-1) => format!("--{name}"),
            Some(step) if step < 0 => format!("{name} -= {}", step.unsigned_abs()),
            Some(_) | None => format!("{name} += {}", step.text),
        };
        // Bounds keep their values, whatever the body does with what they were made of.
        let end = self.kept(&dimension.end, end);
        let heading = if ty == "int64_t" {
            format!(
                "for (int64_t {name} = {}; {name} {compare} {}; {next})",
                begin.text,
                end.at_least(Precedence::Shift)
            )
        } else {
            let counter = self.temporary();
            let step = self.kept(&dimension.step, step);
            self.lines.open(format!(
                "for (int64_t {counter} = {}; {counter} {compare} {}; {counter} += {}) {{",
                begin.text,
                end.at_least(Precedence::Shift),
                step.text
            ));
            let value = self.converted(&dimension.variable, &Code::atom(counter))?;
            self.line(format!("const {ty} {name} = {};", value.text));
            return self.loop_body(body);
        };
        self.lines.open(format!("{heading} {{"));
        self.loop_body(body)
    }

    /// The body of a loop whose heading was written, and its end.
    pub(super) fn loop_body(&mut self, body: Body<'_, 'w, 'p>) -> Print<()> {
        self.frames.push(Frame::Loop { target: None, continues: false });
        body(self)?;
        self.frames.pop();
        self.lines.close("}");
        Ok(())
    }

    /// A bound under a name, unless nothing in it changes.
    fn kept(&mut self, expression: &Expr, code: &Code) -> Code {
        let plan = self.program.plan;
        let is_argument =
            |symbol: &sdfg::symbolic::Symbol| plan.symbols.iter().any(|argument| argument.name == *symbol);
        if expression.free_symbols().iter().all(is_argument) {
            return code.clone();
        }
        let name = self.temporary();
        self.line(format!("const int64_t {name} = {};", code.text));
        Code::atom(name)
    }

    /// Gives the variable of a dimension the value with a number.
    pub(super) fn set_counter(
        &mut self,
        dimension: &LoopDimension,
        begin: &Code,
        step: &Code,
        number: &Code,
    ) -> Print<()> {
        self.note_read(&dimension.variable);
        let (name, ty) = (self.variable(&dimension.variable)?, self.variable_type(&dimension.variable));
        let value = super::memory::sum(begin, &product(number, step));
        let value = self.converted(&dimension.variable, &value)?;
        let ty = self.program.scalar_type(ty);
        self.line(format!("const {ty} {name} = {};", value.text));
        Ok(())
    }

    fn set_copy(&mut self, variable: &sdfg::symbolic::Symbol, position: &Code) -> Print<()> {
        self.note_read(variable);
        let (name, ty) = (self.variable(variable)?, self.program.scalar_type(self.variable_type(variable)));
        let value = self.converted(variable, position)?;
        self.line(format!("const {ty} {name} = {};", value.text));
        Ok(())
    }

    /// The number of values of a dimension that starts at `begin`.
    pub(super) fn extent(&mut self, dimension: &LoopDimension, begin: &Code) -> Print<Code> {
        let (end, step) = (self.index(&dimension.end)?, self.index(&dimension.step)?);
        let is_down = dimension.step.as_int().is_some_and(|step| step < 0);
        let distance = if is_down {
            Code::infix("-", Precedence::Sum, begin, &end)
        } else if begin.text == "0" {
            end
        } else {
            Code::infix("-", Precedence::Sum, &end, begin)
        };
        let name = self.program.helper("sdfg_extent", || EXTENT.to_owned());
        let step = if is_down { Code::prefix("-", &step) } else { step };
        let step = if dimension.step.as_int() == Some(-1) { Code::int(1) } else { step };
        Ok(Code::call(&name, &[&distance, &step]))
    }

    /// The numbers from `begin` to before `end` in groups of `size`, each with its position in the group; those that fill no group come
    /// alone, at position 0.
    fn in_groups(
        &mut self,
        (begin, end): (&Code, &Code),
        size: u32,
        body: &dyn Fn(&mut Self, &Code, &Code) -> Print<()>,
    ) -> Print<()> {
        let [first, last, group, position] = [(); 4].map(|()| self.temporary());
        self.line(format!("const int64_t {last} = {};", end.text));
        self.line(format!("int64_t {first} = {};", begin.text));
        self.lines.open(format!("for (; {last} - {first} >= {size}; {first} += {size}) {{"));
        self.line(format!("#pragma GCC unroll {size}"));
        self.lines.open(format!("for (int64_t {position} = 0; {position} < {size}; ++{position}) {{"));
        self.line(format!("const int64_t {group} = {first} + {position};"));
        let place = Code::atom(position);
        self.loop_body(&|f| body(f, &Code::atom(group.clone()), &place))?;
        self.lines.close("}");
        self.lines.open(format!("for (; {first} < {last}; ++{first}) {{"));
        self.loop_body(&|f| body(f, &Code::atom(first.clone()), &Code::int(0)))
    }

    // Loops of teams.

    fn team_loop(&mut self, each: &Loop, team: &Team) -> Print<()> {
        if team.part.is_some() {
            return Err(unsupported("timers"));
        }
        let program = self.program;
        let word = if team.label.is_empty() { "loop" } else { team.label.as_str() };
        let name = program.names.global(&format!("{}_{word}", program.plan.name));
        let mut inner = Function::new(program, Returns::Nothing);
        let (mut parameters, mut arguments) = self.captured(&team.captures, &mut inner)?;
        let has_counter = team.sharing != OpenMpSchedule::Static || team.in_order.is_some();
        inner.team_part(each, team)?;
        let is_fallible = inner.is_fallible;
        let uses_handle = is_fallible || inner.uses_handle;
        ["thread", "threads", "counter"]
            .iter()
            .filter(|name| has_counter || **name != "counter")
            .for_each(|name| inner.add_parameter(name));
        let fixed = [
            (uses_handle, format!("{}_t *handle", program.plan.name), "handle"),
            (has_counter, "int64_t *counter".to_owned(), "&counter"),
        ];
        for (_, parameter, argument) in fixed.into_iter().rev().filter(|(is_there, ..)| *is_there) {
            parameters.insert(0, parameter);
            arguments.insert(0, argument.to_owned());
        }
        parameters.extend(["int64_t thread".to_owned(), "int64_t threads".to_owned()]);
        let heading = format!("static SDFG_NOINLINE void {name}({})", parameters.join(", "));
        program.define(inner.finish(&heading));
        let call = |thread: &str, threads: &str| {
            let arguments: Vec<&str> =
                arguments.iter().map(String::as_str).chain([thread, threads]).collect();
            format!("{name}({});", arguments.join(", "))
        };
        let alone = call("0", "1");
        let start = |f: &mut Self| -> Print<()> {
            program.has_threads.set(true);
            let threads = match team.threads.as_ref().or(team.nested.as_ref()) {
                None => "sdfg_threads(handle->threads)".to_owned(),
                Some(threads) => f.asked_threads(each, threads)?,
            };
            program.threads_helper();
            let parallel = |f: &mut Self| {
                f.line(format!("#pragma omp parallel num_threads({threads})"));
                f.line(call("omp_get_thread_num()", "omp_get_num_threads()"));
            };
            if team.nested.is_none() {
                parallel(f);
                return Ok(());
            }
            // The runtime permits one level of teams by default.
            let most = f.temporary();
            f.block("", |f| {
                f.line(format!("const int {most} = omp_get_max_active_levels();"));
                f.lines
                    .open(format!("if (omp_get_active_level() > 0 && omp_get_active_level() >= {most}) {{"));
                f.line("omp_set_max_active_levels(omp_get_active_level() + 1);");
                f.lines.close("}");
                parallel(f);
                f.line(format!("omp_set_max_active_levels({most});"));
                Ok(())
            })
        };
        let write = |f: &mut Self| -> Print<()> {
            if has_counter {
                f.line("int64_t counter = 0;");
            }
            match &team.start {
                Start::Never => f.line(&alone),
                Start::Always => start(f)?,
                Start::Worth(work) => {
                    let work = f.work(work)?;
                    f.lines.open(format!("if ({work} < {}) {{", program.plan.threshold));
                    f.line(&alone);
                    f.lines.close("} else {");
                    f.lines.indent();
                    start(f)?;
                    f.lines.close("}");
                }
            }
            Ok(())
        };
        if has_counter {
            self.block("", write)?;
        } else {
            write(self)?;
        }
        if is_fallible { self.fail_as_others_did() } else { Ok(()) }
    }

    /// An estimate of work; what does not fit 64 bits is much.
    fn work(&mut self, work: &Expr) -> Print<String> {
        if work.as_int().is_some() || work.as_symbol().is_some() {
            return Ok(self.index(work)?.at_least(Precedence::Shift));
        }
        let (value, flag) = (self.temporary(), self.temporary());
        self.line(format!("int {flag} = 0;"));
        let code = self.program.index_noting(work, &|symbol| self.note_read(symbol))?;
        let code = code.text.replace("&overflow", &format!("&{flag}"));
        self.line(format!("const int64_t {value} = {code};"));
        Ok(format!("({flag} != 0 ? INT64_MAX : {value})"))
    }

    /// The number of threads that a loop asks for: a number below one is one, and more than iterations have nothing to do.
    fn asked_threads(&mut self, each: &Loop, threads: &Expr) -> Print<String> {
        let total = self.space(&each.dimensions)?.1;
        let minimum = self.program.integer_helper(BinaryOperation::Minimum, ScalarType::I64)?;
        let maximum = self.program.integer_helper(BinaryOperation::Maximum, ScalarType::I64)?;
        let threads = self.index(threads)?;
        Ok(format!("(int){maximum}(1, {minimum}({}, {minimum}({}, INT32_MAX)))", threads.text, total.text))
    }

    /// The dimensions of a shared iteration space, and how many iterations it has.
    pub(super) fn space(&mut self, dimensions: &[LoopDimension]) -> Print<(Vec<Dimension>, Code)> {
        let mut total: Option<Code> = None;
        let mut space = Vec::with_capacity(dimensions.len());
        for dimension in dimensions {
            let (begin, step) = (self.index(&dimension.begin)?, self.index(&dimension.step)?);
            let extent = self.extent(dimension, &begin)?;
            let extent = self.named(ScalarType::I64, extent);
            total = Some(match total {
                None => extent.clone(),
                Some(total) => Code::infix("*", Precedence::Product, &total, &extent),
            });
            space.push(Dimension { begin, step, extent });
        }
        Ok((space, total.unwrap_or_else(|| Code::int(1))))
    }

    /// The part of one thread: its own buffers, its share of the iterations, its accumulators into their targets.
    fn team_part(&mut self, each: &Loop, team: &Team) -> Print<()> {
        for local in &team.locals {
            self.thread_buffer(*local)?;
        }
        let collectors = self.open_collectors(&team.collected)?;
        for private in &team.privates {
            if matches!(self.program.plan.buffer(private.buffer).allocation, Allocation::Stack) {
                self.stack_buffer(private.buffer)?;
            }
        }
        for buffer in &team.captures.stack {
            self.stack_buffer(*buffer)?;
        }
        self.declare_all(&each.body)?;
        let (space, total) = self.space(&each.dimensions)?;
        let total = self.named(ScalarType::I64, total);
        if let Some(order @ OrderedChunks { accumulators: true, .. }) = team.in_order {
            return self.share_in_order(each, team, &space, &total, &collectors, order);
        }
        team.privates.iter().try_for_each(|private| self.initialise(private))?;
        if let Some(order) = team.in_order {
            self.share_in_order(each, team, &space, &total, &collectors, order)?;
        } else {
            self.share(each, team, &space, &total)?;
            collectors.iter().try_for_each(|collector| self.append_collected(collector))?;
        }
        if team.privates.is_empty() {
            return Ok(());
        }
        self.program.has_threads.set(true);
        // A thread that is alone shares its targets with nobody; the lock costs it little.
        self.line("#pragma omp critical");
        self.block("", |f| team.privates.iter().try_for_each(|private| f.merge(private)))
    }

    /// Memory of this thread: on its stack or allocated.
    fn thread_buffer(&mut self, id: crate::plan::BufferId) -> Print<()> {
        if self.program.plan.buffer(id).space == crate::plan::Space::Stack {
            return self.stack_buffer(id);
        }
        let (ty, name) = (self.element_type(id), self.program.names.buffer(id));
        self.declare_owned(&ty, name);
        self.bind(id, super::function::Base::Pointer);
        self.allocate_into(id, name)
    }

    /// Hands out the iterations of the space, numbered from 0.
    fn share(&mut self, each: &Loop, team: &Team, space: &[Dimension], total: &Code) -> Print<()> {
        let chunk = match &team.chunk {
            None => None,
            Some(chunk) => {
                let chunk = self.index(chunk)?;
                let name = self.temporary();
                let clamp = self.program.helper("sdfg_chunk", || CHUNK.to_owned());
                self.line(format!("const int64_t {name} = {clamp}({}, {});", chunk.text, total.text));
                Some(name)
            }
        };
        let [first, last] = [(); 2].map(|()| self.temporary());
        let range = (Code::atom(first.clone()), Code::atom(last.clone()));
        match (team.sharing, chunk) {
            (OpenMpSchedule::Static, None) => {
                let share = self.program.helper("sdfg_share", || SHARE.to_owned());
                self.line(format!("const int64_t {first} = {share}({}, thread, threads);", total.text));
                self.line(format!("const int64_t {last} = {share}({}, thread + 1, threads);", total.text));
                self.run_range(each, team, space, &range)
            }
            (OpenMpSchedule::Static, Some(chunk)) => {
                self.lines.open(format!(
                    "for (int64_t {first} = thread * {chunk}; {first} < {}; {first} += threads * {chunk}) {{",
                    total.at_least(Precedence::Shift)
                ));
                let minimum = self.program.integer_helper(BinaryOperation::Minimum, ScalarType::I64)?;
                self.line(format!("const int64_t {last} = {minimum}({first} + {chunk}, {});", total.text));
                self.loop_body(&|f| f.run_range(each, team, space, &range))
            }
            (OpenMpSchedule::Dynamic, chunk) => {
                let chunk = chunk.unwrap_or_else(|| "1".to_owned());
                self.line(format!("int64_t {first}, {last};"));
                let take = self.program.helper("sdfg_take", || TAKE.to_owned());
                self.lines
                    .open(format!("while ({take}(counter, {}, {chunk}, &{first}, &{last})) {{", total.text));
                self.loop_body(&|f| f.run_range(each, team, space, &range))
            }
            (OpenMpSchedule::Guided, chunk) => {
                let least = chunk.unwrap_or_else(|| "1".to_owned());
                self.line(format!("int64_t {first}, {last};"));
                let take = self.program.helper("sdfg_take_guided", || TAKE_GUIDED.to_owned());
                self.lines.open(format!(
                    "while ({take}(counter, {}, threads, {least}, &{first}, &{last})) {{",
                    total.text
                ));
                self.loop_body(&|f| f.run_range(each, team, space, &range))
            }
        }
    }

    /// Chunks that are always the same ones, done with in the order of iterations: each merged when its turn has come.
    fn share_in_order(
        &mut self,
        each: &Loop,
        team: &Team,
        space: &[Dimension],
        total: &Code,
        collectors: &[Collector],
        order: OrderedChunks,
    ) -> Print<()> {
        let privates = if order.accumulators { team.privates.as_slice() } else { &[] };
        let [count, chunk, first, last] = [(); 4].map(|()| self.temporary());
        let helper = |op| self.program.integer_helper(op, ScalarType::I64);
        let (minimum, maximum) = (helper(BinaryOperation::Minimum)?, helper(BinaryOperation::Maximum)?);
        let mut most = order.chunks.to_string();
        if !order.accumulators {
            // The order of elements does not depend on where chunks begin. What is moved on at once should still be in the cache.
            let pieces = if collectors.iter().any(|each| each.goes_to_memory()) {
                format!("{} / {}", total.at_least(Precedence::Product), order.piece)
            } else {
                "1".to_owned()
            };
            most = format!("threads == 1 ? {maximum}({pieces}, 1) : {maximum}({most}, {pieces})");
        }
        let share = self.program.helper("sdfg_share", || SHARE.to_owned());
        self.program.include("sched.h");
        let wait = self.program.helper("sdfg_await_turn", || AWAIT_TURN.to_owned());
        self.line(format!("const int64_t {count} = {minimum}({}, {most});", total.text));
        self.lines.open(format!("for (int64_t {chunk} = thread; {chunk} < {count}; {chunk} += threads) {{"));
        let range = (Code::atom(first.clone()), Code::atom(last.clone()));
        self.loop_body(&|f| {
            privates.iter().try_for_each(|private| f.initialise(private))?;
            f.line(format!("const int64_t {first} = {share}({}, {chunk}, {count});", total.text));
            f.line(format!("const int64_t {last} = {share}({}, {chunk} + 1, {count});", total.text));
            f.run_range(each, team, space, &range)?;
            // Elements that were pushed may need memory.
            if f.is_fallible || !collectors.is_empty() {
                f.is_fallible = true;
                f.block(format!("if (!{wait}(counter, {chunk}, &handle->status))"), |f| {
                    f.line("goto done;");
                    Ok(())
                })?;
            } else {
                f.line(format!("(void){wait}(counter, {chunk}, NULL);"));
            }
            privates.iter().try_for_each(|private| f.merge(private))?;
            collectors.iter().try_for_each(|collector| f.append_collected(collector))?;
            f.line(format!("__atomic_store_n(counter, {chunk} + 1, __ATOMIC_RELEASE);"));
            Ok(())
        })
    }

    /// Runs the iterations from the first to before the last number, row by row.
    fn run_range(
        &mut self,
        each: &Loop,
        team: &Team,
        space: &[Dimension],
        range: &(Code, Code),
    ) -> Print<()> {
        self.run_around(each, team, &team.around, space, range)
    }

    fn run_around(
        &mut self,
        each: &Loop,
        team: &Team,
        around: &[LoopDimension],
        space: &[Dimension],
        range: &(Code, Code),
    ) -> Print<()> {
        let Some((outermost, inner)) = around.split_first() else {
            return self.run_part(each, team, space, range, &|f| f.statements(&each.body));
        };
        match team.jam {
            Some(jam) if inner.is_empty() => {
                let (begin, step) = (self.index(&outermost.begin)?, self.index(&outermost.step)?);
                let extent = self.extent(outermost, &begin)?;
                let extent = self.named(ScalarType::I64, extent);
                self.run_jammed(each, team, (outermost, &begin, &step, &extent), jam, space, range)
            }
            _ => self.counted(outermost, &|f| f.run_around(each, team, inner, space, range)),
        }
    }

    /// Runs the innermost loop around a thread's part, several iterations in one pass.
    fn run_jammed(
        &mut self,
        each: &Loop,
        team: &Team,
        (around, begin, step, extent): (&LoopDimension, &Code, &Code, &Code),
        jam: u32,
        space: &[Dimension],
        range: &(Code, Code),
    ) -> Print<()> {
        let [first, position] = [(); 2].map(|()| self.temporary());
        self.line(format!("int64_t {first} = 0;"));
        let at = |f: &mut Self, number: &Code| {
            f.block("", |f| {
                f.set_counter(around, begin, step, number)?;
                f.statements(&each.body)
            })
        };
        self.lines.open(format!("for (; {} - {first} >= {jam}; {first} += {jam}) {{", extent.text));
        self.loop_body(&|f| {
            f.run_part(each, team, space, range, &|f| {
                f.line(format!("#pragma GCC unroll {jam}"));
                f.lines.open(format!("for (int64_t {position} = 0; {position} < {jam}; ++{position}) {{"));
                f.loop_body(&|f| at(f, &Code::new(format!("{first} + {position}"), Precedence::Sum)))
            })
        })?;
        self.lines.open(format!("for (; {first} < {}; ++{first}) {{", extent.text));
        self.loop_body(&|f| f.run_part(each, team, space, range, &|f| at(f, &Code::atom(first.clone()))))
    }

    fn run_part(
        &mut self,
        each: &Loop,
        team: &Team,
        space: &[Dimension],
        (first, last): &(Code, Code),
        body: Body<'_, 'w, 'p>,
    ) -> Print<()> {
        let Some((row, outer)) = space.split_last() else {
            return Err(defect("a shared loop has a dimension"));
        };
        if outer.is_empty() {
            return self.run_row(each, team, row, (first, last), body);
        }
        let [at, rest, column, stop] = [(); 4].map(|()| self.temporary());
        self.lines.open(format!(
            "for (int64_t {at} = {}, {stop}; {at} < {}; {at} += {stop}) {{",
            first.text, last.text
        ));
        self.line(format!("const int64_t {column} = {at} % {};", row.extent.text));
        let mut index = Code::new(format!("{at} / {}", row.extent.text), Precedence::Product);
        if outer.len() > 1 {
            self.line(format!("int64_t {rest} = {};", index.text));
            index = Code::atom(rest.clone());
        }
        let mut values = Vec::new();
        for (place, dimension) in outer.iter().enumerate().rev() {
            let value = if place == 0 {
                index.clone()
            } else {
                Code::infix("%", Precedence::Product, &index, &dimension.extent)
            };
            let value = self.held(ScalarType::I64, value.clone());
            if place > 0 {
                self.line(format!("{rest} /= {};", dimension.extent.text));
            }
            values.push((place, value));
        }
        for (place, value) in values {
            self.set_counter(&each.dimensions[place], &outer[place].begin, &outer[place].step, &value)?;
        }
        let minimum = self.program.integer_helper(BinaryOperation::Minimum, ScalarType::I64)?;
        self.line(format!("{stop} = {minimum}({} - {column}, {} - {at});", row.extent.text, last.text));
        let range = (Code::atom(column.clone()), Code::new(format!("{column} + {stop}"), Precedence::Sum));
        self.loop_body(&|f| f.run_row(each, team, row, (&range.0, &range.1), body))
    }

    /// Runs positions of the innermost dimension.
    fn run_row(
        &mut self,
        each: &Loop,
        team: &Team,
        row: &Dimension,
        (first, last): (&Code, &Code),
        body: Body<'_, 'w, 'p>,
    ) -> Print<()> {
        let dimension = each.dimensions.last().ok_or_else(|| defect("a shared loop has a dimension"))?;
        if let Some(selector) = &team.selector {
            return self.in_groups((first, last), selector.count, &|f, number, position| {
                f.set_counter(dimension, &row.begin, &row.step, number)?;
                f.set_copy(&selector.variable, position)?;
                body(f)
            });
        }
        let ty = self.program.scalar_type(self.variable_type(&dimension.variable));
        if dimension.step.is_one() && ty == "int64_t" {
            let name = self.variable(&dimension.variable)?;
            self.note_read(&dimension.variable);
            let (from, to) = (super::memory::sum(&row.begin, first), super::memory::sum(&row.begin, last));
            let to = self.held(ScalarType::I64, to.clone());
            self.lines
                .open(format!("for (int64_t {name} = {}; {name} < {}; ++{name}) {{", from.text, to.text));
            return self.loop_body(body);
        }
        let number = self.temporary();
        let last = self.held(ScalarType::I64, last.clone());
        self.lines.open(format!(
            "for (int64_t {number} = {}; {number} < {}; ++{number}) {{",
            first.text, last.text
        ));
        self.loop_body(&|f| {
            f.set_counter(dimension, &row.begin, &row.step, &Code::atom(number.clone()))?;
            body(f)
        })
    }

    /// Fills an accumulator with the identity of its resolution.
    pub(super) fn initialise(&mut self, private: &PrivateAccumulator) -> Print<()> {
        let buffer = self.program.plan.buffer(private.buffer);
        let identity = self.identity(&private.resolution, buffer.element)?;
        if buffer.size.is_one() {
            let place = self.place_at(private.buffer, &Code::int(0));
            return self.store(&place, &identity);
        }
        let (size, index) = (self.index(&buffer.size)?, self.temporary());
        self.lines.open(format!(
            "for (int64_t {index} = 0; {index} < {}; ++{index}) {{",
            size.at_least(Precedence::Shift)
        ));
        self.loop_body(&|f| {
            let place = f.place_at(private.buffer, &Code::atom(index.clone()));
            f.store(&place, &identity)
        })
    }

    /// Combines an accumulator into its target; no other thread does so meanwhile.
    fn merge(&mut self, private: &PrivateAccumulator) -> Print<()> {
        let Some(PrivateCopies { count, stride }) = private.copies else {
            return self.merge_dimension(private, &mut Vec::new(), &Code::int(0), &Code::int(0));
        };
        let copy = self.temporary();
        self.lines.open(format!("for (int64_t {copy} = 0; {copy} < {count}; ++{copy}) {{"));
        let first = product(&Code::atom(copy), &Code::int(stride));
        self.loop_body(&|f| f.merge_dimension(private, &mut Vec::new(), &first, &Code::int(0)))
    }

    /// Goes through the dimensions behind `indices` of the accumulator that starts at element `first`; `position` is the number of the
    /// indices so far among all of these dimensions, in row-major order.
    fn merge_dimension(
        &mut self,
        private: &PrivateAccumulator,
        indices: &mut Vec<Code>,
        first: &Code,
        position: &Code,
    ) -> Print<()> {
        let Some(extent) = private.target.extents.get(indices.len()) else {
            let element = super::memory::sum(first, position);
            let place = self.place_at(private.buffer, &element);
            let value = self.load(&place)?;
            let target = self.strided_place(&private.target, indices)?;
            return self.combine_plain(&target, &value, &private.resolution, None);
        };
        let extent = self.index(extent)?;
        let index = self.temporary();
        self.lines.open(format!(
            "for (int64_t {index} = 0; {index} < {}; ++{index}) {{",
            extent.at_least(Precedence::Shift)
        ));
        let index = Code::atom(index);
        let position = super::memory::sum(&product(position, &extent), &index);
        indices.push(index);
        self.frames.push(Frame::Loop { target: None, continues: false });
        self.merge_dimension(private, indices, first, &position)?;
        self.frames.pop();
        self.lines.close("}");
        indices.pop();
        Ok(())
    }
}

/// The dimension of a loop that one thread runs.
fn only_dimension(each: &Loop) -> Print<&LoopDimension> {
    match each.dimensions.as_slice() {
        [only] => Ok(only),
        _ => Err(defect("a loop of one thread has one dimension")),
    }
}

const EXTENT: &str = "\
/* The number of steps to cover a distance. */
static inline int64_t sdfg_extent(int64_t distance, int64_t step) {
    return distance <= 0 ? 0 : step == 1 ? distance : (distance - 1) / step + 1;
}
";

const SHARE: &str = "\
/* The first iteration of a thread: the first threads do one more where they cannot all do the same number. */
static inline int64_t sdfg_share(int64_t total, int64_t thread, int64_t threads) {
    const int64_t rest = total % threads;
    return thread * (total / threads) + (thread < rest ? thread : rest);
}
";

const CHUNK: &str = "\
static inline int64_t sdfg_chunk(int64_t chunk, int64_t total) {
    if (chunk > total) {
        chunk = total;
    }
    return chunk < 1 ? 1 : chunk;
}
";

const TAKE: &str = "\
static inline bool sdfg_take(int64_t *counter, int64_t total, int64_t chunk, int64_t *first, int64_t *last) {
    *first = __atomic_fetch_add(counter, chunk, __ATOMIC_RELAXED);
    *last = total - *first < chunk ? total : *first + chunk;
    return *first < total;
}
";

const TAKE_GUIDED: &str = "\
static inline bool sdfg_take_guided(int64_t *counter, int64_t total, int64_t threads, int64_t least, int64_t *first, int64_t *last) {
    *first = __atomic_load_n(counter, __ATOMIC_RELAXED);
    do {
        const int64_t left = total > *first ? total - *first : 0, share = (left + threads - 1) / threads;
        *last = *first + (share > least ? share : least);
        if (*last > total) {
            *last = total > *first ? total : *first;
        }
    } while (!__atomic_compare_exchange_n(counter, first, *last, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return *first < total;
}
";

const AWAIT_TURN: &str = "\
/* Waits until all chunks before this one are merged. A thread that fails never gets to its turn: then all leave. */
static bool sdfg_await_turn(const int64_t *turn, int64_t chunk, const int32_t *status) {
    while (__atomic_load_n(turn, __ATOMIC_ACQUIRE) != chunk) {
        if (status != NULL && __atomic_load_n(status, __ATOMIC_RELAXED) != 0) {
            return false;
        }
        sched_yield();
    }
    return true;
}
";
