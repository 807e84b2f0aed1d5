//! From graphs to plans: this module makes every target-dependent decision exactly once.
//!
//! A state becomes statements in topological order of its nodes. A map becomes a loop nest whose outermost
//! suitable dimension is shared by threads. A nested SDFG becomes part of the plan of its caller. A `CallFrame`
//! holds the meaning of names. `access` records every access with its indices; from this record, `conflict`
//! proves which loops are independent and which writes need atomics.

mod access;
mod accumulator;
mod alias;
mod arena;
mod barrier;
mod block;
mod blocking;
mod buffer_view;
mod call_frame;
mod callback;
mod capability;
mod captures;
mod check;
mod communication;
mod components;
mod concurrency;
mod conflict;
mod consume;
mod consume_rounds;
mod control;
mod copy;
mod dataflow;
mod debug;
mod device_queue;
mod error;
mod fan_out;
mod kernel;
mod memory;
mod nested;
mod options;
mod ordered;
mod pages;
mod privatise;
mod profile;
mod scalar;
mod scope;
mod shared_reference;
mod space;
mod stream;
mod stream_to_array;
mod target;
mod tasklet;
mod uses;
mod vector;
mod work;

use std::collections::{BTreeMap, BTreeSet};

use sdfg::analysis::AccessSets;
use sdfg::dtype::ScalarType;
use sdfg::ir::{ContainerKind, Sdfg, Storage};
use sdfg::path::ElementPath;
use sdfg::subset::Range;
use sdfg::symbolic::{Assumptions, Expr, Symbol};
use sdfg::validate::Validated;

pub use capability::{Capability, Refusal, refusals};
#[cfg(feature = "llvm")]
pub(crate) use captures::capture;
pub use error::LowerError;
pub use options::LowerOptions;
pub use pages::PAGES;
pub use profile::{Instrumentation, ProfileLevel};
#[cfg(feature = "llvm")]
pub(crate) use target::BASELINE_VECTOR;
pub use target::{BlockLimits, Caches, StackLimits, Target, TeamLimits};
pub use vector::VectorRefusal;

use access::Record;
use block::Blocks;
use call_frame::CallFrame;
use capability::lacking;
#[cfg(not(feature = "llvm"))]
use captures::capture;
use conflict::OpenLoop;
use debug::debug_info;
use memory::RootShape;
use profile::timed;

use crate::plan::{Argument, Check, JumpTarget, PassedAs, Plan, Profile, SymbolArgument, TimerKind};
use shared_reference::SharedReference;

/// Lowers a program for a target.
///
/// # Errors
/// [`LowerError::Refused`] with everything that the target lacks, before anything is lowered where the graph alone tells it; other [`LowerError`]s for constructs that
/// lowering does not support and for nodes that are not expanded.
pub fn lower(program: &Validated, target: &Target, options: &LowerOptions) -> Result<Plan, LowerError> {
    let refused = lacking(program.sdfg(), target);
    if !refused.is_empty() {
        return Err(LowerError::Refused(refused));
    }
    let Lowering { mut plan, storages, .. } = statements(program.sdfg(), target, options, Purpose::Code)?;
    vector::finish(&mut plan);
    if let Some(widest) = target.vector_bytes.last() {
        vector::widen(&mut plan, *widest);
    }
    space::assign_spaces(&mut plan, target, &storages);
    arena::assign_slots(&mut plan, options.apart);
    concurrency::assign_streams(&mut plan, options.device_streams.get() as usize);
    capture(&mut plan);
    plan.verified().map_err(LowerError::Broken)
}

/// The statements of a program, without memory for its buffers. Every refusal of lowering is known then.
fn statements<'g>(
    sdfg: &'g Sdfg,
    target: &'g Target,
    options: &'g LowerOptions,
    purpose: Purpose,
) -> Result<Lowering<'g>, LowerError> {
    let mut lowering = Lowering::new(sdfg, target, options);
    lowering.purpose = purpose;
    let mut frame = lowering.outermost(sdfg)?;
    let timer = lowering.timer(TimerKind::Program, &frame.path.to_string());
    let body = lowering.call(&mut frame, Vec::new())?;
    lowering.plan.body = timed(timer, body);
    if lowering.refused.is_empty() { Ok(lowering) } else { Err(LowerError::Refused(lowering.refused)) }
}

/// The use of a lowered program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// Its code, whose buffers get memory.
    Code,
    /// Its refusals, which depend on no memory: lifetimes are not searched for.
    Refusals,
}

/// A plan under construction.
struct Lowering<'g> {
    plan: Plan,
    purpose: Purpose,
    target: &'g Target,
    options: &'g LowerOptions,
    /// Number of requests of each name.
    names: BTreeMap<String, u32>,
    n_targets: u32,
    /// Shapes of buffers in their own dimensions.
    roots: Vec<RootShape>,
    /// Requested memory of buffers.
    storages: Vec<Storage>,
    /// Every access so far, in order.
    records: Vec<Record>,
    /// Checks of accesses that are being lowered.
    checks: Vec<Check>,
    /// Number of groups of tasks around the current place.
    n_tasks: usize,
    /// References that tasks around the current place share.
    shared: Vec<SharedReference>,
    /// Number of consume scopes of the program: only these order accesses through streams.
    n_consume_scopes: usize,
    /// The blocks of the kernel around the current place, if they run its iterations together.
    blocks: Option<Blocks>,
    /// Whether a kernel is being lowered. Nothing takes elements out of a queue while it runs, so nothing in it waits.
    in_kernel: bool,
    /// Loops around the current place, outermost first.
    loops: Vec<OpenLoop>,
    /// Variable and range of every loop so far, by number.
    loop_ranges: Vec<(Symbol, Range)>,
    /// Facts about the plan's variables.
    assumptions: Assumptions,
    /// Scopes that lanes cannot run, as far as they are known.
    refused: Vec<Refusal>,
}

impl<'g> Lowering<'g> {
    fn new(sdfg: &'g Sdfg, target: &'g Target, options: &'g LowerOptions) -> Self {
        let plan = Plan {
            checked: options.checked,
            threshold: options.threshold,
            debug: options.debug.as_deref().map(|folder| debug_info(sdfg, folder)),
            profile: options
                .instrumentation
                .map(|asked| Profile { timers: Vec::new(), counters: asked.counters }),
            ..Plan::new(sdfg.name.clone(), options.floats.unwrap_or(sdfg.float_mode))
        };
        Lowering {
            plan,
            purpose: Purpose::Code,
            target,
            options,
            names: BTreeMap::new(),
            n_targets: 0,
            roots: Vec::new(),
            storages: Vec::new(),
            records: Vec::new(),
            checks: Vec::new(),
            n_tasks: 0,
            shared: Vec::new(),
            n_consume_scopes: communication::n_consume_scopes(sdfg),
            blocks: None,
            in_kernel: false,
            loops: Vec::new(),
            loop_ranges: Vec::new(),
            assumptions: Assumptions::new(),
            refused: Vec::new(),
        }
    }

    /// The frame of the program itself: its arguments are those of the compiled function.
    fn outermost(&mut self, sdfg: &'g Sdfg) -> Result<CallFrame<'g>, LowerError> {
        let in_shapes: BTreeSet<Symbol> =
            sdfg.arguments().flat_map(|(_, container)| container.size_symbols()).collect();
        for (symbol, ty) in sdfg.symbols() {
            let non_negative = in_shapes.contains(symbol);
            self.take_name(symbol.as_str());
            self.plan.variables.insert(symbol.clone(), ty);
            self.plan.symbols.push(SymbolArgument { name: symbol.clone(), ty, non_negative });
            if non_negative {
                self.assumptions.nonnegative(symbol.clone());
            }
        }
        let exit = self.new_target();
        let mut frame = CallFrame::new(sdfg, exit, ElementPath::sdfg(&sdfg.name));
        frame.symbols =
            sdfg.symbols().map(|(symbol, _)| (symbol.clone(), Expr::symbol(symbol.clone()))).collect();
        let accesses = AccessSets::of_region(sdfg, sdfg.body()).through_aliases(sdfg);
        for (id, container) in sdfg.arguments() {
            self.lives_in_run(&frame, container)?;
            let buffer = self.argument_buffer(&frame, container);
            let bound = self.bind_whole(container, buffer);
            let kind = match container.kind {
                ContainerKind::Scalar => PassedAs::Scalar,
                ContainerKind::Stream { .. } => PassedAs::Queue,
                ContainerKind::Array(_) | ContainerKind::View(_) | ContainerKind::Reference(_) => {
                    PassedAs::Array
                }
            };
            self.plan.arguments.push(Argument {
                name: container.name.clone(),
                element: container.element,
                shape: bound.axes.iter().map(|axis| axis.extent.clone()).collect(),
                strides: bound.axes.iter().map(|axis| axis.stride.clone()).collect(),
                offset: self.roots[buffer.index()].offset.clone(),
                size: self.plan.buffer(buffer).size.clone(),
                kind,
                by_value: kind == PassedAs::Scalar
                    && container.element.as_scalar().is_some_and(|ty| !ty.is_complex())
                    && !accesses.writes.contains(&id),
                read: accesses.reads.contains(&id),
                // The caller gets what is left of a stream, also of one from which elements are only taken.
                written: accesses.writes.contains(&id) || kind == PassedAs::Queue,
                buffer,
            });
            if !self.plan.arguments.last().is_some_and(|argument| argument.by_value)
                && self.options.overlapping.contains(&container.name)
            {
                self.plan.overlapping.insert(buffer);
            }
            frame.containers.insert(id, bound);
        }
        Ok(frame)
    }

    /// A name that nothing in the plan has, made of `wanted`.
    fn take_name(&mut self, wanted: &str) -> String {
        let mut name: String =
            wanted.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
        if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            name.insert(0, '_');
        }
        loop {
            match self.names.get_mut(&name) {
                None => {
                    self.names.insert(name.clone(), 0);
                    return name;
                }
                Some(n) => {
                    *n += 1;
                    name = format!("{name}_{n}");
                }
            }
        }
    }

    /// A new variable, named after a symbol of the graph.
    fn new_variable(&mut self, wanted: &str, ty: ScalarType) -> Symbol {
        let name = self.take_name(wanted);
        let symbol = Symbol::of(&name);
        self.plan.variables.insert(symbol.clone(), ty);
        symbol
    }

    fn new_target(&mut self) -> JumpTarget {
        self.n_targets += 1;
        JumpTarget(self.n_targets - 1)
    }
}
