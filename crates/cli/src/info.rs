//! `sdfg info`: what a program consists of and how much it moves.

use std::fmt::Write;

use clap::Args;
use sdfg::analysis::ScopeTree;
use sdfg::ir::{Access, BlockKind, Container, ContainerKind, NodeKind, Sdfg, State, StateId, Volume};
use sdfg::symbolic::Expr;

use crate::failure::Failure;
use crate::output;
use crate::source::Source;
use crate::terminal::Terminal;

/// Show symbols, containers, nodes, and how many bytes each state moves.
///
/// Bytes are those of one execution of a state, as expressions over the program's symbols.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sdfg info laplace.sdft\n  sdfg print --format json laplace.sdft | sdfg info -"
)]
pub(crate) struct Info {
    /// The program; `-` is the standard input.
    #[arg(value_name = "PROGRAM")]
    program: String,
}

impl Info {
    pub(crate) fn execute(&self, terminal: Terminal) -> Result<(), Failure> {
        let validated = Source::read(&self.program)?.validated(terminal)?;
        let mut text = String::new();
        describe(&mut text, validated.sdfg(), 0);
        output::print(text.as_bytes())
    }
}

fn line(text: &mut String, depth: usize, line: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{:1$}{line}", "", 2 * depth);
}

fn describe(text: &mut String, sdfg: &Sdfg, depth: usize) {
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
        describe_state(text, sdfg, id, inner);
    }
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

fn describe_state(text: &mut String, sdfg: &Sdfg, id: StateId, depth: usize) {
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
    let (read, written) = bytes_moved(sdfg, state);
    line(text, depth + 1, format_args!("reads {read}"));
    line(text, depth + 1, format_args!("writes {written}"));
    for (_, node) in state.nodes() {
        if let NodeKind::Nested(nested) = &node.kind {
            describe(text, &nested.sdfg, depth + 1);
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

/// A number of bytes, as far as it is known.
struct Bytes {
    known: Expr,
    at_most: bool,
    unknown: bool,
}

impl Bytes {
    fn none() -> Self {
        Bytes { known: Expr::zero(), at_most: false, unknown: false }
    }

    fn add(&mut self, sdfg: &Sdfg, access: &Access, volume: &Volume) {
        let Some(container) = sdfg.get_container(access.container) else { return };
        let size = Expr::int(container.element.size() as i64);
        match volume {
            Volume::Exact(n) => self.known = &self.known + n * &size,
            Volume::AtMost(n) => {
                self.known = &self.known + n * &size;
                self.at_most = true;
            }
            Volume::Dynamic => self.unknown = true,
        }
    }
}

impl std::fmt::Display for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let at_most = if self.at_most { "at most " } else { "" };
        write!(f, "{at_most}{} bytes", self.known)?;
        if self.unknown { f.write_str(", and a number that is decided while running") } else { Ok(()) }
    }
}

/// Bytes that the edges at the outermost level of a state read and write.
///
/// Edges that enter or leave scopes have the volume of all iterations.
fn bytes_moved(sdfg: &Sdfg, state: &State) -> (Bytes, Bytes) {
    let (mut read, mut written) = (Bytes::none(), Bytes::none());
    let tree = ScopeTree::of(state);
    for (id, edge) in state.edges() {
        if tree.scope_of_edge(state, id).is_some() {
            continue;
        }
        let volume = &edge.memlet.volume;
        if let Some(access) = edge.memlet.read_access() {
            read.add(sdfg, access, volume);
        }
        if let Some(access) = edge.memlet.write_access() {
            written.add(sdfg, access, volume);
        }
    }
    (read, written)
}
