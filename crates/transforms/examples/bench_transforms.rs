//! Benchmark of simplification and matching on graphs of growing size: `cargo xtask bench transforms`.
//!
//! Each shape repeats a unit that one strict transformation rewrites, in one state or in a row of states. The benchmark
//! prints medians over several rounds on one core, and the time for each node: where that stays the same, time is linear. An
//! argument selects the shapes with this text in their names.
#![expect(clippy::print_stdout, reason = "this is a command")]

#[path = "../../cli/src/allocator.rs"]
mod allocator;

use std::fmt::Write;
use std::time::{Duration, Instant};

use sdfg::ir::{NodeKind, Sdfg};
use sdfg_transforms::{Registry, Tables, matches_with, simplify};

/// The allocator of the command.
#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator;

const ROUNDS: usize = 5;
const SIZES: [usize; 4] = [1_250, 2_500, 5_000, 10_000];

/// A program of about so many nodes.
#[derive(Clone, Copy)]
struct Shape {
    name: &'static str,
    /// Nodes of a unit.
    unit: usize,
    text: fn(usize) -> String,
}

const SHAPES: [Shape; 7] = [
    Shape { name: "copies through transients", unit: 1, text: copies },
    Shape { name: "maps of one iteration", unit: 4, text: trivial_maps },
    Shape { name: "results that nothing reads", unit: 4, text: dead_maps },
    Shape { name: "calls of one state", unit: 3, text: calls },
    Shape { name: "states in a row", unit: 4, text: states },
    Shape { name: "loops in a row", unit: 3, text: loops },
    Shape { name: "all of these in a row of states", unit: 16, text: mixed },
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let shapes = || SHAPES.into_iter().filter(|shape| shape.name.contains(&wanted));
    println!(
        "simplification: milliseconds, nanoseconds for each node, applications (medians of {ROUNDS} rounds)"
    );
    for shape in shapes() {
        println!("{}:", shape.name);
        for size in SIZES {
            let program = read(&(shape.text)(size / shape.unit))?;
            let nodes = n_nodes(&program);
            let mut applied = 0;
            let time = median(|| {
                let mut copy = program.clone();
                let start = Instant::now();
                applied = simplify(&mut copy, &Registry::standard(), None).values().sum();
                start.elapsed()
            });
            println!("  {nodes:6} nodes {:9.1} ms {:8.0} ns {applied:6}", ms(time), ns(time, nodes));
        }
    }
    println!("matching of all transformations: milliseconds, nanoseconds for each node, matches that pass");
    for shape in shapes() {
        println!("{}:", shape.name);
        for size in SIZES {
            let program = read(&(shape.text)(size / shape.unit))?;
            let nodes = n_nodes(&program);
            let mut found = 0;
            let time = median(|| {
                let start = Instant::now();
                let tables = Tables::new();
                let all = Registry::standard().defaults();
                found = all.iter().map(|t| matches_with(&program, t.as_ref(), &tables).len()).sum();
                start.elapsed()
            });
            println!("  {nodes:6} nodes {:9.1} ms {:8.0} ns {found:6}", ms(time), ns(time, nodes));
        }
    }
    Ok(())
}

fn read(text: &str) -> Result<Sdfg, String> {
    sdfg::text::parse("bench.sdft", text).map_err(|errors| format!("{errors:?}"))
}

/// Nodes of a program and of what it calls.
fn n_nodes(sdfg: &Sdfg) -> usize {
    let inner = |kind: &NodeKind| if let NodeKind::Nested(nested) = kind { n_nodes(&nested.sdfg) } else { 0 };
    sdfg.states().map(|(_, state)| state.nodes().map(|(_, node)| 1 + inner(&node.kind)).sum::<usize>()).sum()
}

fn median(mut run: impl FnMut() -> Duration) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS).map(|_| run()).collect();
    times.sort();
    times[ROUNDS / 2]
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn ns(time: Duration, nodes: usize) -> f64 {
    time.as_secs_f64() * 1e9 / nodes as f64
}

/// A program of one state with arguments `A` and `B`, transients `T0` and on, nodes and edges.
fn program(transients: usize, body: &str) -> String {
    let mut text = String::from("sdfg p {\n  symbol N: i64\n  array A: f64[N]\n  array B: f64[N]\n");
    for at in 0..transients {
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(text, "  transient array T{at}: f64[N]");
    }
    text + body + "}\n"
}

/// `A` is copied from transient to transient and to `B`.
fn copies(units: usize) -> String {
    let mut body = String::from("  state s {\n    access A\n    access B\n");
    let mut edges = String::new();
    let mut last = "A".to_owned();
    for at in 0..units {
        let _ = writeln!(body, "    access T{at}");
        let _ = writeln!(edges, "    {last} -> T{at}");
        last = format!("T{at}");
    }
    program(units, &format!("{body}{edges}    {last} -> B\n  }}\n"))
}

/// Loops with symbols of their own, each over an array of its own.
fn loops(units: usize) -> String {
    let mut body = String::new();
    for at in 0..units {
        let _ = writeln!(
            body,
            "  for l{at}: i{at} = 0:N {{\n    state s{at} {{\n      access T{at}\n      access U{at} = T{at}"
        );
        let _ = writeln!(
            body,
            "      tasklet t{at} (x) -> (y) {{ y = x + 1 }}\n      T{at} -> t{at}.x: T{at}[i{at}]"
        );
        let _ = writeln!(body, "      t{at}.y -> U{at}: T{at}[i{at}]\n    }}\n  }}");
    }
    program(units, &body).replace("transient array", "array")
}

/// Independent maps of one iteration over `A`.
fn trivial_maps(units: usize) -> String {
    let mut body = String::from("  state s {\n    access A\n");
    let mut edges = String::new();
    for at in 0..units {
        let _ = writeln!(body, "    access T{at}\n    map m{at} [i = {at}:{at} + 1] {{");
        let _ = writeln!(body, "      tasklet t{at} (x) -> (y) {{ y = x }}");
        let _ = writeln!(body, "      m{at}.p -> t{at}.x: A[0]\n      t{at}.y -> m{at}.q: T{at}[0]\n    }}");
        let _ = writeln!(edges, "    A -> m{at}.p\n    m{at}.q -> T{at}");
    }
    let mut text = program(units, &format!("{body}{edges}  }}\n"));
    text = text.replace("transient array", "array");
    text
}

/// Independent maps to transients that nothing reads.
fn dead_maps(units: usize) -> String {
    let mut body = String::from("  state s {\n    access A\n");
    let mut edges = String::new();
    for at in 0..units {
        let _ = writeln!(body, "    access T{at}\n    map m{at} [i = 0:N] {{");
        let _ = writeln!(body, "      tasklet t{at} (x) -> (y) {{ y = x }}");
        let _ = writeln!(body, "      m{at}.p -> t{at}.x: A[i]\n      t{at}.y -> m{at}.q: T{at}[i]\n    }}");
        let _ = writeln!(edges, "    A -> m{at}.p\n    m{at}.q -> T{at}");
    }
    program(units, &format!("{body}{edges}  }}\n"))
}

/// Independent calls of an SDFG of one state.
fn calls(units: usize) -> String {
    let mut body = String::from("  state s {\n    access A\n");
    let mut edges = String::new();
    for at in 0..units {
        let _ = writeln!(
            body,
            "    access T{at}
    nested c{at} (x) -> (y) with (N = N) sdfg inner {{
      symbol N: i64
      array x: f64[N]
      array y: f64[N]
      state i {{
        access x
        access y
        x -> y
      }}
    }}"
        );
        let _ = writeln!(edges, "    A -> c{at}.x\n    c{at}.y -> T{at}");
    }
    program(units, &format!("{body}{edges}  }}\n")).replace("transient array", "array")
}

/// States in a row, each with a copy and a map.
fn states(units: usize) -> String {
    let mut body = String::new();
    for at in 0..units {
        let _ = writeln!(
            body,
            "  state s{at} {{
    access A
    access T{at}
    map m [i = 0:N] {{
      tasklet t (x) -> (y) {{ y = x }}
      m.p -> t.x: A[i]
      t.y -> m.q: T{at}[i]
    }}
    A -> m.p
    m.q -> T{at}
  }}"
        );
    }
    program(units, &body).replace("transient array", "array")
}

/// States in a row, each with a map of one iteration, a copy through a transient, a result that nothing reads, and a call.
fn mixed(units: usize) -> String {
    let mut body = String::new();
    for at in 0..units {
        let (kept, copied, dead) = (3 * at, 3 * at + 1, 3 * at + 2);
        let _ = writeln!(
            body,
            "  state s{at} {{
    access A
    access T{copied}
    access T{dead}
    access T{kept}
    access B
    map m [i = 0:1] {{
      map k [j = 0:N] {{
        tasklet t (x) -> (y) {{ y = x + i }}
        k.p -> t.x: A[j]
        t.y -> k.q: T{copied}[j]
      }}
      m.p -> k.p
      k.q -> m.q
    }}
    map d [i = 0:N] {{
      tasklet u (x) -> (y) {{ y = x }}
      d.p -> u.x: A[i]
      u.y -> d.q: T{dead}[i]
    }}
    nested c (x) -> (y) with (N = N) sdfg inner {{
      symbol N: i64
      array x: f64[N]
      array y: f64[N]
      state i {{
        access x
        access y
        x -> y
      }}
    }}
    A -> m.p
    m.q -> T{copied}
    T{copied} -> T{kept}
    A -> d.p
    d.q -> T{dead}
    T{kept} -> c.x
    c.y -> B
  }}"
        );
    }
    program(3 * units, &body)
}
