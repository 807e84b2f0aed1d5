//! Kernels: the function of a loop of level grid, and its launch.
//!
//! The innermost dimension runs along `x` of the grid, the next one along `y`, and all others along `z`, so that no index needs a
//! division in maps of up to three dimensions. A thread strides through the grid: a kernel is right for every launch.

use super::error::{Print, defect};
use super::function::{Base, Function, Lanes, Returns};
use super::index::NARROW;
use super::loops::Dimension;
use super::memory::{Place, product, sum};
use super::text::{Code, Precedence};
use super::width::Widths;
use crate::plan::{
    BlockAccumulator, BufferId, Captured, Kernel, Loop, PrivateAccumulator, Realisation, Resolved, Space,
    Threads,
};
use sdfg::dtype::ScalarType;
use sdfg::symbolic::Expr;

/// Axes of a grid with the most blocks along each.
const AXES: [&str; 3] = ["2147483647", "65535", "65535"];

/// As [`AXES`], for a kernel whose blocks accumulate, for one and for more dimensions: enough blocks for any device, so that each
/// combines many iterations before its atomic steps.
const ACCUMULATING: [[&str; 3]; 2] = [["1024", "1", "1"], ["32", "32", "1"]];

/// Threads of a block along each axis where the program names none: for one, for two, and for more dimensions.
const THREADS: [[u32; 3]; 3] = [[256, 1, 1], [32, 8, 1], [32, 8, 1]];

/// Threads of a warp.
const WARP: u32 = 32;

/// Types of which the threads of a warp exchange values.
const SHUFFLED: [ScalarType; 6] =
    [ScalarType::I32, ScalarType::U32, ScalarType::I64, ScalarType::U64, ScalarType::F32, ScalarType::F64];

impl<'w, 'p> Function<'w, 'p> {
    /// Defines the function of a kernel, and launches it unless it has no iterations.
    pub(super) fn launch(&mut self, each: &Loop, kernel: &Kernel) -> Print<()> {
        let program = self.program;
        if !program.dialect.has_kernels() {
            return Err(defect("a processor has no level `grid`"));
        }
        let word = if kernel.label.is_empty() { "kernel" } else { kernel.label.as_str() };
        let name = format!("{}_{word}", program.plan.name);
        let widths = Widths::of(self, each, kernel);
        let mut versions = Vec::new();
        let (mut arguments, mut faults) = (Vec::new(), Vec::new());
        for &is_narrow in widths.versions() {
            // The second version has the name of the first one.
            let wide = versions.first().map(|first: &String| format!("{first}_wide"));
            let name = program.names.global(wide.as_ref().unwrap_or(&name));
            (arguments, faults) = self.define(&name, each, kernel, is_narrow)?;
            versions.push(name);
        }
        // Values, and then memory.
        let of_host = |captured: &&Captured| self.program.is_given_by_value(captured.buffer);
        let values = kernel.captures.variables.len() + kernel.captures.buffers.iter().filter(of_host).count();
        self.block("", |f| {
            f.launch_of(each, kernel, (&versions, &widths), arguments.split_at(values), &faults)
        })
    }

    /// Defines the function of a kernel. Gives its arguments, and the messages of its faults.
    fn define(
        &mut self,
        name: &str,
        each: &Loop,
        kernel: &Kernel,
        is_narrow: bool,
    ) -> Print<(Vec<String>, Vec<String>)> {
        let program = self.program;
        let mut inner = Function::on_device(program);
        inner.has_narrow_indices = is_narrow;
        inner.faults.is_together = kernel.together.is_some();
        let (mut parameters, mut arguments) = self.captured(&kernel.captures, &mut inner)?;
        inner.kernel_body(each, kernel)?;
        let faults = std::mem::take(&mut inner.faults.messages);
        if !faults.is_empty() {
            parameters.push(format!("{}int64_t *sdfg_faults", program.dialect.global()));
            arguments.push("handle->sdfg_faults".to_owned());
        }
        if inner.is_fallible || inner.uses_handle {
            return Err(defect("a thread of a kernel cannot end a run"));
        }
        let heading = format!("{}({})", program.dialect.kernel(name, kernel.together), parameters.join(", "));
        program.define_kernel(inner.finish(&heading));
        Ok((arguments, faults))
    }

    fn launch_of(
        &mut self,
        each: &Loop,
        kernel: &Kernel,
        (versions, widths): (&[String], &Widths),
        arguments: (&[String], &[String]),
        faults: &[String],
    ) -> Print<()> {
        let (space, _) = self.space(&each.dimensions)?;
        let lengths = along_axes(&space);
        let chosen = THREADS[lengths.len().clamp(1, 3) - 1];
        let (mut blocks, mut threads) = (Vec::new(), Vec::new());
        let most = match (kernel.accumulators.is_empty(), lengths.len()) {
            (true, _) => AXES,
            (false, n) => ACCUMULATING[usize::from(n > 1)],
        };
        for (axis, most) in most.iter().enumerate() {
            let asked = kernel.block.iter().rev().nth(axis);
            // Threads of a block, and those of them that an iteration has for itself along the axis.
            let count = match asked {
                _ if kernel.together.is_some() => "1".to_owned(),
                Some(extent) if axis < lengths.len() => {
                    format!("(unsigned){}", self.index(extent)?.at_least(Precedence::Atom))
                }
                Some(_) => "1".to_owned(),
                None if kernel.block.is_empty() => chosen[axis].to_string(),
                None => "1".to_owned(),
            };
            blocks.push(match lengths.get(axis) {
                Some(length) => {
                    let helper = self.program.helper("sdfg_blocks", || BLOCKS.to_owned());
                    format!("{helper}({}, {count}, {most})", length.text)
                }
                None => "1".to_owned(),
            });
            threads.push(count);
        }
        if let Some(together) = kernel.together {
            threads = vec![together.to_string()];
        }
        let some: Vec<String> =
            lengths.iter().map(|length| format!("{} > 0", length.at_least(Precedence::Shift))).collect();
        self.block(format!("if ({})", some.join(" && ")), |f| {
            if f.program.plan.profile.is_some() {
                let amount = |amount: &Option<Expr>| -> Print<String> {
                    match amount {
                        Some(amount) => Ok(f.plain_index(amount)?.text),
                        None => Ok("-1".to_owned()),
                    }
                };
                let (bytes, operations) = (amount(&kernel.bytes)?, amount(&kernel.operations)?);
                f.line(format!("sdfg_device_work(handle->device, {bytes}, {operations});"));
            }
            f.prepare_queues(&kernel.queues)?;
            let grid = (blocks.as_slice(), threads.as_slice());
            match versions {
                [narrow, wide] => {
                    let fits = widths.fits(f, &lengths)?;
                    f.block(format!("if ({fits})"), |f| f.start(narrow, grid, arguments))?;
                    f.block("else", |f| f.start(wide, grid, arguments))?;
                }
                _ => versions.iter().try_for_each(|only| f.start(only, grid, arguments))?,
            }
            if !faults.is_empty() {
                f.take_fault(faults)?;
            }
            f.settle_queues(&kernel.label, &kernel.queues)
        })
    }

    /// The iterations of one thread.
    fn kernel_body(&mut self, each: &Loop, kernel: &Kernel) -> Print<()> {
        for buffer in kernel.locals.iter().chain(&kernel.captures.stack) {
            if self.program.plan.buffer(*buffer).space == Space::BlockShared {
                self.shared_buffer(*buffer)?;
            } else {
                self.stack_buffer(*buffer)?;
            }
        }
        self.declare_all(&each.body)?;
        self.open_faults();
        let (space, _) = self.space(&each.dimensions)?;
        let lengths = along_axes(&space);
        self.open_accumulators(kernel)?;
        self.along(each, kernel, &space, &lengths, None)?;
        self.close_accumulators(kernel)
    }

    /// The number of a thread in its block, and the number of threads, of a kernel with a known block.
    fn position_in_block(&mut self, kernel: &Kernel) -> Print<(String, u32)> {
        let extents: Option<Vec<u32>> = kernel
            .block
            .iter()
            .rev()
            .map(|extent| extent.as_int().and_then(|extent| u32::try_from(extent).ok()))
            .collect();
        let extents = extents.ok_or_else(|| defect("a block that accumulates has no constant extents"))?;
        let (mut position, mut before) = (String::new(), 1);
        for (axis, extent) in extents.iter().enumerate() {
            let thread = self.program.dialect.thread(axis);
            position = match axis {
                0 => thread,
                _ => format!("{position} + {before}u * {thread}"),
            };
            before *= extent;
        }
        let thread = self.temporary();
        self.line(format!("const unsigned {thread} = {position};"));
        Ok((thread, before))
    }

    /// Fills the accumulators of a block with identities.
    fn open_accumulators(&mut self, kernel: &Kernel) -> Print<()> {
        let mut shared = Vec::new();
        for BlockAccumulator { private, exchange } in &kernel.accumulators {
            match exchange {
                Some(exchange) => {
                    self.shared_buffer(*exchange)?;
                    self.stack_buffer(private.buffer)?;
                    self.initialise(private)?;
                }
                None => {
                    self.shared_buffer(private.buffer)?;
                    shared.push(private);
                }
            }
        }
        if shared.is_empty() {
            return Ok(());
        }
        let (thread, threads) = self.position_in_block(kernel)?;
        for private in shared {
            let buffer = self.program.plan.buffer(private.buffer);
            let identity = self.identity(&private.resolution, buffer.element)?;
            self.by_threads((&thread, threads), private, |f, index| {
                let place = f.place_at(private.buffer, index);
                f.store(&place, &identity)
            })?;
        }
        self.barrier()
    }

    /// Combines the accumulators of a block into their targets.
    fn close_accumulators(&mut self, kernel: &Kernel) -> Print<()> {
        if kernel.accumulators.is_empty() {
            return Ok(());
        }
        let (thread, threads) = self.position_in_block(kernel)?;
        if kernel.accumulators.iter().any(|each| each.exchange.is_none()) {
            self.barrier()?;
        }
        for BlockAccumulator { private, exchange } in &kernel.accumulators {
            let combined = Resolved::Combine {
                resolution: private.resolution.clone(),
                custom: None,
                realisation: Realisation::Atomic,
            };
            let Some(exchange) = *exchange else {
                self.by_threads((&thread, threads), private, |f, index| {
                    let place = f.place_at(private.buffer, index);
                    let value = f.load(&place)?;
                    let target = f.strided_place(&private.target, std::slice::from_ref(index))?;
                    f.write(&target, &value, &combined)
                })?;
                continue;
            };
            let first = self.place_at(private.buffer, &Code::int(0));
            let warps = self.combine_in_warps(threads, &first, private)?;
            let (slots, left) = match warps {
                Some(warps) => (warps, format!("{thread} / {WARP}u")),
                None => (threads, thread.clone()),
            };
            let (own, slot) = (Code::atom(thread.clone()), Code::atom(left));
            let place = self.place_at(exchange, &slot);
            let value = self.load(&first)?;
            match warps {
                Some(_) => {
                    self.block(format!("if ({thread} % {WARP}u == 0u)"), |f| f.store(&place, &value))?
                }
                None => self.store(&place, &value)?,
            }
            // Half of the values are combined into the other half, until one is left.
            let left = self.temporary();
            let next = format!("({left} + 1u) / 2u");
            self.lines.open(format!("for (unsigned {left} = {slots}u; {left} > 1u; {left} = {next}) {{"));
            self.loop_body(&|f| {
                f.barrier()?;
                f.block(format!("if ({thread} < {left} / 2u)"), |f| {
                    let other = Code::atom(format!("{thread} + {next}"));
                    let other = f.place_at(exchange, &other);
                    let value = f.load(&other)?;
                    f.combine_plain(&f.place_at(exchange, &own), &value, &private.resolution, None)
                })
            })?;
            self.block(format!("if ({thread} == 0u)"), |f| {
                let first = f.place_at(exchange, &Code::int(0));
                let value = f.load(&first)?;
                let target = f.strided_place(&private.target, &[Code::int(0)])?;
                f.write(&target, &value, &combined)
            })?;
        }
        Ok(())
    }

    /// Combines the registers of the threads of each warp into that of its first thread, if the device can. Gives the number of
    /// warps. All threads of the block call it.
    fn combine_in_warps(
        &mut self,
        threads: u32,
        own: &Place,
        private: &PrivateAccumulator,
    ) -> Print<Option<u32>> {
        let element = own.element;
        let ty = element.lane();
        let fits = element.lanes() == 1 && SHUFFLED.contains(&ty) && threads.is_multiple_of(WARP);
        if !fits || !self.program.dialect.has_warps() {
            return Ok(None);
        }
        let (distance, other) = (self.temporary(), self.temporary());
        let half = WARP / 2;
        self.lines.open(format!("for (unsigned {distance} = {half}u; {distance} > 0u; {distance} /= 2u) {{"));
        self.loop_body(&|f| {
            let name = f.program.scalar_type(ty);
            f.line(format!(
                "const {name} {other} = __shfl_down_sync(0xffffffffu, {}, {distance});",
                own.text
            ));
            let value = Lanes::scalar(ty, Code::atom(other.clone()));
            f.combine_plain(own, &value, &private.resolution, None)
        })?;
        Ok(Some(threads / WARP))
    }

    /// A loop over the elements of an accumulator, which the threads of a block share.
    fn by_threads(
        &mut self,
        (thread, threads): (&str, u32),
        private: &PrivateAccumulator,
        body: impl Fn(&mut Self, &Code) -> Print<()>,
    ) -> Print<()> {
        let size = self.index(&self.program.plan.buffer(private.buffer).size)?;
        let index = self.temporary();
        self.lines.open(format!(
            "for (int64_t {index} = {thread}; {index} < {}; {index} += {threads}) {{",
            size.at_least(Precedence::Shift)
        ));
        self.loop_body(&|f| body(f, &Code::atom(index.clone())))
    }

    /// Declares a buffer that the threads of a block share.
    fn shared_buffer(&mut self, id: BufferId) -> Print<()> {
        let buffer = self.program.plan.buffer(id);
        let size = buffer.size.as_int().filter(|size| *size >= 0);
        let size = size.ok_or_else(|| defect(format!("`{}` has no constant size", buffer.name)))?;
        let (ty, name) = (self.element_type(id), self.program.names.buffer(id));
        let shared = self.program.dialect.shared();
        self.declare(name, format!("{shared} {ty} {name}[{}];", size.max(1)));
        self.bind(id, Base::Pointer);
        Ok(())
    }

    /// The loops along so many axes, the last of them outermost.
    /// `before` is the number of the position along those before.
    fn along(
        &mut self,
        each: &Loop,
        kernel: &Kernel,
        space: &[Dimension],
        lengths: &[Code],
        before: Option<Code>,
    ) -> Print<()> {
        let Some((length, lengths)) = lengths.split_last() else {
            return self.in_iteration(before, |f| f.statements(&each.body));
        };
        let axis = lengths.len();
        let number = self.temporary();
        let (dialect, is_narrow) = (self.program.dialect, self.has_narrow_indices);
        let ty = if is_narrow { NARROW } else { "int64_t" };
        let (block, blocks) = (dialect.block(axis, ty), dialect.blocks(axis, ty));
        let (first, step) = match kernel.together {
            Some(_) => (block, blocks),
            None => {
                let (thread, threads) = (dialect.thread(axis), dialect.threads(axis, ty));
                (format!("{block} * {threads} + {thread}"), format!("{blocks} * {threads}"))
            }
        };
        let most = if is_narrow { Code::cast(NARROW, length) } else { length.clone() };
        self.lines.open(format!(
            "for ({ty} {number} = {first}; {number} < {}; {number} += {step}) {{",
            most.at_least(Precedence::Shift)
        ));
        self.loop_body(&|f| {
            let counted = Code::atom(number.clone());
            let number = f.widened(&counted);
            let last = space.len() - 1;
            if axis < 2 {
                let d = last - axis;
                f.set_counter(&each.dimensions[d], &space[d].begin, &space[d].step, &number)?;
            } else {
                f.set_outer_counters(each, space, counted)?;
            }
            let before = match &before {
                None => number.clone(),
                Some(before) => sum(&product(before, length), &number),
            };
            f.along(each, kernel, space, lengths, Some(before))
        })
    }

    /// A loop that the threads of a block share.
    pub(super) fn block_loop(&mut self, each: &Loop, threads: &Threads) -> Print<()> {
        for local in &threads.locals {
            self.stack_buffer(*local)?;
        }
        let used: u32 = threads.extents.iter().product();
        let thread = self.program.dialect.thread(0);
        self.section(&format!("{thread} < {used}u"), |f| {
            let (space, _) = f.space(&each.dimensions)?;
            f.along_block((each, threads), &space, (0, None))
        })
    }

    /// The loops of a thread of a block along the dimensions from `d` on; `before` is the number of the position along those before.
    fn along_block(
        &mut self,
        of: (&Loop, &Threads),
        space: &[Dimension],
        (d, before): (usize, Option<Code>),
    ) -> Print<()> {
        let (each, threads) = of;
        let (Some(dimension), Some(&extent)) = (each.dimensions.get(d), threads.extents.get(d)) else {
            return self.at_position(before, |f| f.statements(&each.body));
        };
        let inner: u32 = threads.extents[d + 1..].iter().product();
        let mut position = self.program.dialect.thread(0);
        if inner > 1 {
            position.push_str(&format!(" / {inner}u"));
        }
        if d > 0 {
            position.push_str(&format!(" % {extent}u"));
        }
        if extent == 1 {
            position = "0".to_owned();
        }
        let number = self.temporary();
        let count = dimension.count();
        let length = space[d].extent.at_least(Precedence::Shift);
        // A loop with a known number of iterations has no other one for any thread.
        self.lines.open(if count == Some(i64::from(extent)) {
            "{".to_owned()
        } else {
            format!("for (int64_t {number} = {position}; {number} < {length}; {number} += {extent}) {{")
        });
        if count == Some(i64::from(extent)) {
            self.line(format!("const int64_t {number} = {position};"));
        }
        let body = |f: &mut Self| {
            f.set_counter(dimension, &space[d].begin, &space[d].step, &Code::atom(number.clone()))?;
            let number = Code::atom(number.clone());
            let before = match &before {
                None => number,
                Some(before) => sum(&product(before, &space[d].extent), &number),
            };
            f.along_block(of, space, (d + 1, Some(before)))
        };
        self.loop_body(&body)
    }

    /// Threads of a block wait for each other.
    pub(super) fn barrier(&mut self) -> Print<()> {
        if !self.is_of_device {
            return Err(defect("a processor has no blocks of threads"));
        }
        self.line(self.program.dialect.barrier());
        self.leave_if_others_failed()
    }

    /// The number of an iteration in 64 bits.
    fn widened(&self, number: &Code) -> Code {
        if self.has_narrow_indices { Code::cast("int64_t", number) } else { number.clone() }
    }

    /// Sets the counters of all dimensions but the two innermost ones, which have one number together.
    fn set_outer_counters(&mut self, each: &Loop, space: &[Dimension], number: Code) -> Print<()> {
        let is_narrow = self.has_narrow_indices;
        let ty = if is_narrow { ScalarType::U32 } else { ScalarType::I64 };
        let mut rest = number;
        for d in (0..space.len().saturating_sub(2)).rev() {
            let extent = &space[d].extent;
            let extent = if is_narrow { Code::cast(NARROW, extent) } else { extent.clone() };
            let position = match d {
                0 => rest.clone(),
                _ => Code::infix("%", Precedence::Product, &rest, &extent),
            };
            let position = self.named(ty, position);
            let position = self.widened(&position);
            self.set_counter(&each.dimensions[d], &space[d].begin, &space[d].step, &position)?;
            if d > 0 {
                let quotient = Code::infix("/", Precedence::Product, &rest, &extent);
                rest = self.named(ty, quotient);
            }
        }
        Ok(())
    }
}

impl<'w, 'p> Function<'w, 'p> {
    /// A function that threads of a device run.
    fn on_device(program: &'w super::program::Program<'p>) -> Self {
        let mut function = Function::new(program, Returns::Nothing);
        function.is_of_device = true;
        function
    }
}

/// Iterations along `x`, `y` and `z`, as far as there are dimensions for them.
fn along_axes(space: &[Dimension]) -> Vec<Code> {
    let mut lengths: Vec<Code> =
        space.iter().rev().take(2).map(|dimension| dimension.extent.clone()).collect();
    let outer = space.iter().rev().skip(2).map(|dimension| dimension.extent.clone());
    lengths.extend(outer.reduce(|all, extent| product(&extent, &all)));
    lengths
}

const BLOCKS: &str = "\
/* The blocks that cover so many iterations, as far as a grid may have as many: threads then take several. */
static inline unsigned sdfg_blocks(int64_t iterations, unsigned threads, int64_t most) {
    const int64_t size = threads > 0 ? threads : 1, blocks = (iterations - 1) / size + 1;
    return (unsigned)(blocks < most ? blocks : most);
}
";
