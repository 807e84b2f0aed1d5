//! Benchmark of edit series in states of growing size: `cargo xtask bench edit`.
//!
//! Each series makes 10,000 edits and one commit: maps are put around map scopes, memlets changed, edges
//! redirected, and the maps removed. The benchmark prints medians over several rounds on one core.
#![expect(clippy::print_stdout, reason = "this is a command")]

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use sdfg::edit::{EditError, Editor};
use sdfg::ir::{
    Access, Connector, ContainerId, Edge, EdgeId, Map, Memlet, Node, NodeId, NodeKind, Port, ScopeExit, Sdfg,
    StateId, Tasklet, TaskletBody,
};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::{Expr, Symbol};
use sdfg::tasklet::{Code, Dialect};

type Error = Box<dyn std::error::Error>;

const ROUNDS: usize = 5;
const SIZES: [usize; 4] = [1_000, 10_000, 30_000, 100_000];
const EDITS: usize = 10_000;
/// Nodes of each map scope with its access nodes.
const UNIT: usize = 5;

const FRAME: &str = "
sdfg edited {
  symbol N: i64
  array A: f64[N]
  state s { }
}";

/// Arrangement of the scopes of a state.
#[derive(Clone, Copy)]
enum Shape {
    /// Side by side.
    Wide,
    /// Each behind the one before.
    Chain,
    /// All read one access node and write another.
    Fan,
}

impl Shape {
    fn name(self) -> &'static str {
        match self {
            Shape::Wide => "side by side",
            Shape::Chain => "one behind the other",
            Shape::Fan => "around one access node",
        }
    }
}

fn main() -> Result<(), Error> {
    println!("{EDITS} edits and one commit, in a state of scopes (ms, medians of {ROUNDS} rounds)");
    for shape in [Shape::Wide, Shape::Chain, Shape::Fan] {
        println!("{}:", shape.name());
        for nodes in SIZES {
            let mut times = [Vec::new(), Vec::new(), Vec::new()];
            for _ in 0..ROUNDS {
                for (all, time) in times.iter_mut().zip(round(shape, nodes / UNIT)?) {
                    all.push(time);
                }
            }
            let [built, edited, committed] = times.map(median);
            println!(
                "{nodes:>9} nodes: built by edits {built:>8.1}, edits {edited:>8.1}, commit {committed:>8.1}, {:.2} us an edit",
                (edited + committed) * 1000.0 / EDITS as f64
            );
        }
    }
    Ok(())
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1000.0
}

/// The times to build a program, to edit it, and to commit.
fn round(shape: Shape, scopes: usize) -> Result<[Duration; 3], Error> {
    let mut program = sdfg::text::parse("frame.sdft", FRAME).map_err(|errors| format!("{errors:?}"))?;
    let state = program.states().next().ok_or("no state")?.0;
    let start = Instant::now();
    let units = build(&mut program, state, shape, scopes)?;
    let built = start.elapsed();
    let mut editor = Editor::new(&mut program);
    let start = Instant::now();
    for made in 0..EDITS / 4 {
        edit(&mut editor, state, &units[made % units.len()], made)?;
    }
    let edited = start.elapsed();
    let start = Instant::now();
    editor.commit()?;
    Ok([built, edited, start.elapsed()])
}

/// A map scope of the state.
struct Unit {
    entry: NodeId,
    /// The edge from the entry to the tasklet.
    read: EdgeId,
    /// The edge from outside to the entry.
    outer: EdgeId,
    source: NodeId,
    container: ContainerId,
}

/// Four edits: a map around the scope, another memlet inside, the outer edge led to where it is, the map away.
fn edit(editor: &mut Editor<'_>, state: StateId, unit: &Unit, made: usize) -> Result<(), EditError> {
    let label = editor.derived_label(state, "tile", "t")?;
    let tile = Map::new(vec![Symbol::of("tile")], Subset(vec![Range::new(0, 4)]));
    let entry = editor.wrap_in_map(state, &BTreeSet::from([unit.entry]), &label, tile)?;
    editor.set_memlet(state, unit.read, read(unit.container, 1 + i64::try_from(made % 7).unwrap_or(0)))?;
    editor.unwrap_map(state, entry)?;
    editor.redirect_source(state, unit.outer, unit.source, None)
}

fn read(container: ContainerId, offset: i64) -> Memlet {
    Memlet::read(Access::elements(container, Subset::element(&[Expr::sym("i") + offset])))
}

/// Fills the state by one series of edits.
fn build(program: &mut Sdfg, state: StateId, shape: Shape, scopes: usize) -> Result<Vec<Unit>, Error> {
    let container = program.find_container("A").ok_or("no container")?;
    let code = Code::parse("y = 2.0 * x", Dialect::Python).map_err(|error| format!("{error:?}"))?;
    let tasklet = Tasklet {
        inputs: vec![Connector::new("x")],
        outputs: vec![Connector::new("y")],
        body: TaskletBody::Code(code),
    };
    let mut editor = Editor::of_draft(program);
    let mut units = Vec::with_capacity(scopes);
    let mut ends = None;
    for number in 0..scopes {
        let mut node = |label: String, kind| editor.add_node(state, Node { label, kind, loc: None });
        let (source, sink) = match (shape, ends) {
            (Shape::Fan, Some(ends)) => ends,
            (Shape::Chain, Some((_, last))) => {
                (last, node(format!("A_{number}"), NodeKind::Access(container))?)
            }
            (Shape::Wide, _) | (Shape::Fan | Shape::Chain, None) => (
                node(format!("in_{number}"), NodeKind::Access(container))?,
                node(format!("A_{number}"), NodeKind::Access(container))?,
            ),
        };
        ends = Some((source, sink));
        let map = Map::new(vec![Symbol::of("i")], Subset(vec![Range::new(0, Expr::sym("N") - 8)]));
        let label = format!("m_{number}");
        let entry = node(label.clone(), NodeKind::MapEntry(map))?;
        let inner = node(format!("t_{number}"), NodeKind::Tasklet(tasklet.clone()))?;
        let exit = node(label, NodeKind::MapExit(ScopeExit { entry }))?;
        let write = Memlet::write(Access::elements(container, Subset::element(&[Expr::sym("i")])));
        let mut edge = |src: (NodeId, Option<&str>), dst: (NodeId, Option<&str>), memlet: Memlet| {
            let name = |connector: Option<&str>| connector.map(str::to_owned);
            let (src_connector, dst_connector) = (name(src.1), name(dst.1));
            editor.add_edge(
                state,
                Edge { src: src.0, src_connector, dst: dst.0, dst_connector, memlet, loc: None },
            )
        };
        let outer = edge((source, None), (entry, Some(&Port::In("a").to_string())), read(container, 0))?;
        let read = edge((entry, Some(&Port::Out("a").to_string())), (inner, Some("x")), read(container, 0))?;
        edge((inner, Some("y")), (exit, Some(&Port::In("b").to_string())), write.clone())?;
        edge((exit, Some(&Port::Out("b").to_string())), (sink, None), write)?;
        units.push(Unit { entry, read, outer, source, container });
    }
    editor.commit()?;
    Ok(units)
}
