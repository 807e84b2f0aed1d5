//! `sdfg info`: contents of a program, and the data that it moves, computes and allocates.

mod costs;
mod memory;
mod ranks;

use std::collections::BTreeMap;
use std::fmt::Write;

use clap::Args;
use sdfg::analysis::Costs;
use sdfg::edit::Editor;
use sdfg::ir::{BlockKind, Container, ContainerKind, NestedSdfg, NodeKind, Sdfg, StateId};
use sdfg::symbolic::{Expr, Symbol};

use crate::data::{SymbolValue, check_extents, check_symbols};
use crate::failure::Failure;
use crate::output;
use crate::retarget::RetargetOption;
use crate::source::Source;
use crate::terminal::Terminal;
use costs::{Table, Values, shown};
pub(crate) use ranks::bytes_of_largest_rank;

/// Show symbols, containers, nodes, bytes moved, operations and memory.
///
/// Costs are those of one execution of each part, as expressions over the program's symbols. `--set` replaces symbols by numbers, which
/// also gives costs without a closed form. `at most` marks upper bounds, and `unknown` marks costs that only a run determines.
/// Memory is that of transients in native code, except for small ones on the stack; transients in one line share memory. For programs
/// with kernels of a GPU, there is also that of the device's pool and of blocks, and `device` lines are bytes of one call that copies
/// move, and that kernels access in the memory of the device.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sdfg info laplace.sdft\n  sdfg info laplace.sdft --set N=4096 --set T=100\n  sdfg print --format json laplace.sdft | sdfg info -"
)]
pub(crate) struct Info {
    /// The program; `-` is the standard input.
    #[arg(value_name = "PROGRAM")]
    program: String,
    /// Set a symbol in costs and sizes.
    #[arg(long = "set", value_name = "SYMBOL=VALUE")]
    symbols: Vec<SymbolValue>,
    /// Show the memory that each of N ranks holds of a distributed program, and the bytes that ranks receive by each copy; needs the
    /// symbols of sizes.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    ranks: Option<u32>,
    /// Accept C++ code of DaCe's files as external tasklets. This command does not compile it.
    #[arg(long)]
    allow_external: bool,
    #[command(flatten)]
    retarget: RetargetOption,
}

impl Info {
    pub(crate) fn execute(&self, terminal: Terminal) -> Result<(), Failure> {
        let source = Source::read(&self.program, self.allow_external)?.retargeted(self.retarget);
        let validated = source.validated(terminal)?;
        let values = self.values(validated.sdfg())?;
        let mut text = String::new();
        describe(&mut text, validated.sdfg(), &values, 0);
        for row in costs::traffic(&specialized(validated.sdfg(), &values), &values) {
            line(&mut text, 1, format_args!("{row}"));
        }
        let memory = match self.ranks {
            Some(ranks) => ranks::lines(&validated, &values, ranks)?,
            None => memory::lines(&validated, &values),
        };
        for row in memory {
            line(&mut text, 1, format_args!("{row}"));
        }
        output::print(text.as_bytes())
    }

    fn values(&self, sdfg: &Sdfg) -> Result<Values, Failure> {
        check_symbols(sdfg, "--set", &self.symbols)?;
        let mut values = Values::new();
        for SymbolValue { name, value } in &self.symbols {
            values.extend(Symbol::new(name).ok().map(|symbol| (symbol, *value)));
        }
        check_extents(sdfg, &values)?;
        Ok(values)
    }
}

fn line(text: &mut String, depth: usize, line: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{:1$}{line}", "", 2 * depth);
}

fn describe(text: &mut String, sdfg: &Sdfg, values: &Values, depth: usize) {
    let costs = Costs::of(&specialized(sdfg, values));
    line(text, depth, format_args!("sdfg {}, floating-point mode {}", sdfg.name, sdfg.float_mode.name()));
    let inner = depth + 1;
    let symbols: Vec<String> = sdfg.symbols().map(|(symbol, ty)| format!("{symbol}: {ty}")).collect();
    if !symbols.is_empty() {
        line(text, inner, format_args!("symbols {}", symbols.join(", ")));
    }
    for (_, container) in sdfg.containers() {
        line(text, inner, format_args!("{}", container_line(container)));
    }
    line(text, inner, format_args!("blocks: {}", counted(&blocks(sdfg))));
    for (id, _) in sdfg.states() {
        describe_state(text, sdfg, &costs, id, values, inner);
    }
    for row in Table::of(sdfg, &costs, values).lines() {
        line(text, inner, format_args!("{row}"));
    }
}

/// The program with the given values put in, for costs that have no closed form without.
fn specialized(sdfg: &Sdfg, values: &Values) -> Sdfg {
    let replacements: BTreeMap<Symbol, Expr> =
        values.iter().map(|(symbol, value)| (symbol.clone(), Expr::int(*value))).collect();
    let mut special = sdfg.clone();
    let mut editor = Editor::of_draft(&mut special);
    // Where that cannot be, costs are those of any values.
    if !replacements.is_empty() && editor.substitute(&replacements).is_ok() && editor.commit().is_ok() {
        return special;
    }
    sdfg.clone()
}

fn container_line(container: &Container) -> String {
    let noun = match &container.kind {
        ContainerKind::Scalar => "scalar",
        ContainerKind::Array(_) => "array",
        ContainerKind::Stream { .. } => "stream",
        ContainerKind::View(_) => "view",
        ContainerKind::Reference(_) => "reference",
    };
    let kind = if container.constant.is_some() {
        "constant "
    } else if container.transient {
        "transient "
    } else {
        ""
    };
    let shape: Vec<String> = container.shape().iter().map(ToString::to_string).collect();
    let shape = if shape.is_empty() { String::new() } else { format!("[{}]", shape.join(", ")) };
    let elements = match &container.kind {
        ContainerKind::Scalar => Some(Expr::one()),
        ContainerKind::Array(layout) => Some(layout.total_size.clone()),
        ContainerKind::Stream { .. } | ContainerKind::View(_) | ContainerKind::Reference(_) => None,
    };
    let bytes = elements.map(|n| n * Expr::int(container.element.size() as i64));
    let bytes = bytes.map(|bytes| format!(", {bytes} bytes")).unwrap_or_default();
    let storage = container.storage.name();
    format!("{kind}{noun} {}: {}{shape}{bytes}, storage {storage}", container.name, container.element)
}

/// Numbers of things by noun, in the order in which they are found first.
type Counts = Vec<(&'static str, usize)>;

fn count(counts: &mut Counts, noun: &'static str) {
    match counts.iter_mut().find(|(known, _)| *known == noun) {
        Some((_, n)) => *n += 1,
        None => counts.push((noun, 1)),
    }
}

fn counted(counts: &Counts) -> String {
    if counts.is_empty() {
        return "none".to_owned();
    }
    let plural = |noun: &str| if noun.ends_with("ch") { "es" } else { "s" };
    let one = |(noun, n): &(&str, usize)| format!("{n} {noun}{}", if *n == 1 { "" } else { plural(noun) });
    counts.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn blocks(sdfg: &Sdfg) -> Counts {
    let mut counts = Counts::new();
    for (_, block) in sdfg.blocks() {
        count(&mut counts, block.kind.noun());
    }
    counts
}

fn describe_state(text: &mut String, sdfg: &Sdfg, costs: &Costs, id: StateId, values: &Values, depth: usize) {
    let state = sdfg.state(id);
    let around = loops_around(sdfg, id);
    line(text, depth, format_args!("state {}{around}", state.label));
    let mut nodes = Counts::new();
    for (_, node) in state.nodes() {
        match &node.kind {
            NodeKind::MapEntry(_) => count(&mut nodes, "map"),
            NodeKind::ConsumeEntry(_) => count(&mut nodes, "consume scope"),
            NodeKind::MapExit(_) | NodeKind::ConsumeExit(_) => {}
            NodeKind::Access(_)
            | NodeKind::Tasklet(_)
            | NodeKind::Nested(_)
            | NodeKind::Reduce(_)
            | NodeKind::Library(_) => count(&mut nodes, node.kind.noun()),
        }
    }
    line(text, depth + 1, format_args!("nodes: {}; edges: {}", counted(&nodes), state.n_edges()));
    let cost = costs.of_state(id);
    line(text, depth + 1, format_args!("reads {} bytes", shown(&cost.read, values)));
    line(text, depth + 1, format_args!("writes {} bytes", shown(&cost.written, values)));
    for (_, node) in state.nodes() {
        if let NodeKind::Nested(nested) = &node.kind {
            describe(text, &nested.sdfg, &inside(nested, values), depth + 1);
        }
    }
}

/// ` in loop a, loop b`: what repeats a state, the innermost first.
fn loops_around(sdfg: &Sdfg, id: StateId) -> String {
    let block = sdfg.blocks().find(|(_, block)| matches!(block.kind, BlockKind::State(state) if state == id));
    let mut at = block.map(|(_, block)| block.region);
    let mut names = Vec::new();
    while let Some(region) = at {
        at = None;
        if let Some(block) = sdfg.get_region(region).and_then(|region| region.parent) {
            let block = sdfg.block(block);
            if matches!(block.kind, BlockKind::Loop(_)) {
                names.push(format!("loop {}", block.label));
            }
            at = Some(block.region);
        }
    }
    if names.is_empty() { String::new() } else { format!(" in {}", names.join(", ")) }
}

/// Values of the symbols of a nested SDFG, where the values outside give them.
fn inside(nested: &NestedSdfg, values: &Values) -> Values {
    let outer = |symbol: &Symbol| values.get(symbol).copied();
    let value = |symbol: &Symbol| match nested.symbol_mapping.iter().find(|(inner, _)| inner == symbol) {
        Some((_, value)) => value.eval(&outer).ok(),
        None => outer(symbol),
    };
    nested.sdfg.symbols().filter_map(|(symbol, _)| Some((symbol.clone(), value(symbol)?))).collect()
}
