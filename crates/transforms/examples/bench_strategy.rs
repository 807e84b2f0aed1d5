//! Benchmark of the strategy search on given graphs, beside the reference's times, on generated graphs of
//! growing size, and on programs.
//!
//! `cargo xtask bench strategy` runs it. Reading a file and merging equal rows and columns of its tables are
//! reported separately.
#![expect(clippy::print_stdout, reason = "this is a command for people at a terminal")]

#[path = "models/alexnet.rs"]
mod alexnet;
#[path = "models/lstm.rs"]
mod lstm;
#[path = "models/network.rs"]
mod network;
#[path = "models/transformer.rs"]
mod transformer;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sdfg::symbolic::Symbol;
use sdfg::validate::{Rejected, Validated, Warnings};
use sdfg_transforms::strategy::model::{Machine, Model, ModelOptions};
use sdfg_transforms::strategy::{
    ConfigurationRule, Costs, Edge, End, Greedy, Layouts, Limits, Operation, Options, OrderRule, PartCounts,
    Problem, Pruning, SearchError, Tabulated, predict, search,
};

fn main() {
    println!(
        "{:<44} {:>10} {:>10} {:>10} {:>9} {:>9}",
        "graph", "least", "median", "check", "entries", "goal"
    );
    given();
    generated();
    println!("\ndependent sets and configurations grow, to the memory limit of 1 GiB:");
    growing();
    println!("\nmany configurations, edge costs by the layout of a shared tensor of 4 dimensions:");
    many_configurations();
    programs();
    gains();
}

/// The time of a search, repeated until half a second has passed: the least, and the median.
fn measure(
    problem: &dyn Problem,
    options: &Options,
) -> Result<(Duration, Duration, Duration, u64), SearchError> {
    let mut times = Vec::new();
    let begin = Instant::now();
    let solution = loop {
        let start = Instant::now();
        let solution = search(problem, options, &())?;
        times.push(start.elapsed());
        if times.len() >= 3 && (begin.elapsed() > Duration::from_millis(500) || times.len() >= 1000) {
            break solution;
        }
    };
    let start = Instant::now();
    solution
        .certificate
        .check(problem, &solution.strategy, solution.cost, &Limits::from(options))
        .expect("every result is accepted");
    let check = start.elapsed();
    times.sort();
    Ok((times[0], times[times.len() / 2], check, solution.prediction.entries))
}

fn report(name: &str, problem: &dyn Problem, goal: &str) {
    let options = Options { memory_limit: 1 << 30, ..Options::default() };
    match measure(problem, &options) {
        Ok((least, median, check, entries)) => println!(
            "{name:<44} {:>10} {:>10} {:>10} {entries:>9} {goal:>9}",
            shown(least),
            shown(median),
            shown(check)
        ),
        Err(error) => println!("{name:<44} {error}"),
    }
}

fn shown(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}

/// A given graph, with the time that reading it took.
fn read(name: &str) -> Option<(Tabulated, Duration)> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/strategy");
    let folder = std::env::var_os("SDFG_STRATEGY").map_or(beside, PathBuf::from);
    let path = folder.join(format!("{name}.json.gz"));
    let Ok(file) = File::open(&path) else {
        println!("{name}: {} is not there; SDFG_STRATEGY names the folder of the graphs", path.display());
        return None;
    };
    let start = Instant::now();
    let problem = Tabulated::read(file).expect("a graph");
    Some((problem, start.elapsed()))
}

fn given() {
    for (name, reference, goal) in [("alexnet.8", "80 ms", "0.2 ms"), ("inception3.8", "5600 ms", "5 ms")] {
        let Some((problem, read)) = read(name) else { continue };
        let (all, merged) = problem.n_edge_costs();
        report(name, &problem, goal);
        println!("  reference {reference}; read in {}; {all} edge costs, {merged} merged", shown(read));
    }
}

/// Costs that are no better or worse for a rule, the same in every run.
fn noise(place: usize) -> f64 {
    let mut mixed = (place as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) >> 40) as f64
}

fn problem(n: usize, size: usize, pairs: &[(usize, usize)]) -> Tabulated {
    let operations = (0..n).map(|v| Operation {
        name: format!("v{v}"),
        kind: "Bench".to_owned(),
        domain: vec![1 << 20],
        configurations: (1..=size as u32).map(|parts| vec![parts]).collect(),
        costs: (0..size).map(|c| noise(v * size + c)).collect(),
    });
    let edges = pairs.iter().enumerate().map(|(index, &(source, target))| {
        let costs =
            Costs::from_fn(size, size, |row, column| noise((index * size + row) * size + column + 77));
        (Edge { source, target }, costs)
    });
    Tabulated::new(1 << 20, operations.collect(), edges.collect()).expect("a graph")
}

fn chain(n: usize) -> Vec<(usize, usize)> {
    (1..n).map(|v| (v - 1, v)).collect()
}

/// Each vertex is joined to the `width` before it: dependent sets of that size.
fn band(n: usize, width: usize) -> Vec<(usize, usize)> {
    (1..n).flat_map(|v| (v.saturating_sub(width)..v).map(move |u| (u, v))).collect()
}

fn generated() {
    report("219 vertices, 100 configurations, width 2", &problem(219, 100, &band(219, 2)), "100 ms");
    report("chain of 10000, 50 configurations", &problem(10_000, 50, &chain(10_000)), "30 ms");
}

fn growing() {
    for n in [100, 1000, 10_000, 100_000] {
        report(&format!("{n} vertices, 8 configurations, width 2"), &problem(n, 8, &band(n, 2)), "");
    }
    for size in [25, 50, 100, 200, 400] {
        report(&format!("20 vertices, {size} configurations, width 2"), &problem(20, size, &band(20, 2)), "");
    }
    for width in [1, 2, 3, 4, 5, 6] {
        report(
            &format!("20 vertices, 20 configurations, width {width}"),
            &problem(20, 20, &band(20, width)),
            "",
        );
    }
}

/// Operations of 7 dimensions in a chain whose edges see 4 of them.
struct Lazy {
    configurations: Vec<Vec<u32>>,
    layouts: [Layouts; 2],
    representatives: [Vec<usize>; 2],
    edges: Vec<Edge>,
    n: usize,
}

impl Lazy {
    /// Each operation reads the first four dimensions of its domain, and writes a tensor of the third to the sixth.
    fn new(n: usize, n_processors: u32, merged: bool) -> Self {
        let configurations =
            ConfigurationRule::all(n_processors).configurations(&[1 << 10; 7]).expect("processors");
        let layouts = if merged {
            let by = |range: std::ops::Range<usize>| {
                Layouts::by_key(configurations.iter().map(|c| c[range.clone()].to_vec()))
            };
            [by(2..6), by(0..4)]
        } else {
            [Layouts::distinct(configurations.len()), Layouts::distinct(configurations.len())]
        };
        let representatives = [layouts[0].representatives(), layouts[1].representatives()];
        let edges = chain(n).into_iter().map(|(source, target)| Edge { source, target }).collect();
        Lazy { configurations, layouts, representatives, edges, n }
    }
}

impl Problem for Lazy {
    fn n_vertices(&self) -> usize {
        self.n
    }

    fn n_configurations(&self, _vertex: usize) -> usize {
        self.configurations.len()
    }

    fn vertex_cost(&self, vertex: usize, configuration: usize) -> f64 {
        let parts: u32 = self.configurations[configuration].iter().product();
        let cut = self.configurations[configuration][6] - 1;
        1e9 / f64::from(parts) + f64::from(cut) * (vertex + 1) as f64 * 1e5
    }

    fn edges(&self) -> &[Edge] {
        &self.edges
    }

    fn layouts(&self, _edge: usize, end: End) -> &Layouts {
        match end {
            End::Source => &self.layouts[0],
            End::Target => &self.layouts[1],
        }
    }

    fn edge_cost(&self, _edge: usize, source_layout: usize, target_layout: usize) -> f64 {
        let written = &self.configurations[self.representatives[0][source_layout]][2..6];
        let read = &self.configurations[self.representatives[1][target_layout]][0..4];
        let kept: f64 =
            written.iter().zip(read).map(|(a, b)| f64::from(*a.min(b)) / f64::from(*a.max(b))).product();
        1e8 * (1.0 - kept)
    }
}

fn many_configurations() {
    for (n_processors, merged) in [(8, false), (8, true), (64, true), (64, false)] {
        let problem = Lazy::new(10, n_processors, merged);
        let kind = if merged { "layouts merged" } else { "each configuration apart" };
        let n = problem.configurations.len();
        let name = format!("10 operations of {n} configurations, {kind}");
        let prediction = predict(&problem, &Options::default()).expect("an order");
        println!("{name}: {} sums", prediction.operations);
        // Without merging the hard case has a hundred times as many: some seconds, and a minute to check.
        if prediction.operations < 500_000_000 {
            report(&name, &problem, "");
        }
    }
}

/// A problem that counts how many costs of edges are asked for.
struct Counted<'p> {
    problem: &'p dyn Problem,
    asked: AtomicU64,
}

impl Problem for Counted<'_> {
    fn n_vertices(&self) -> usize {
        self.problem.n_vertices()
    }

    fn n_configurations(&self, vertex: usize) -> usize {
        self.problem.n_configurations(vertex)
    }

    fn vertex_cost(&self, vertex: usize, configuration: usize) -> f64 {
        self.problem.vertex_cost(vertex, configuration)
    }

    fn vertex_costs(&self, vertex: usize) -> Option<&[f64]> {
        self.problem.vertex_costs(vertex)
    }

    fn edges(&self) -> &[Edge] {
        self.problem.edges()
    }

    fn layouts(&self, edge: usize, end: End) -> &Layouts {
        self.problem.layouts(edge, end)
    }

    fn edge_cost(&self, edge: usize, source_layout: usize, target_layout: usize) -> f64 {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.problem.edge_cost(edge, source_layout, target_layout)
    }
}

/// A program, the values of its symbols, ranks, and whether dimensions are only cut into divisors.
type Case = (
    &'static str,
    fn() -> Result<(Validated, Warnings), Rejected>,
    &'static [(&'static str, i64)],
    u32,
    bool,
);

/// Costs of programs: what merging layouts and asking for costs only when they are needed gain.
fn programs() {
    println!(
        "\nprograms; costs of edges: of pairs of configurations, of layouts, and those that the search asks for:"
    );
    let cases: [Case; 9] = [
        ("alexnet", alexnet::alexnet, alexnet::SIZES, 8, false),
        ("alexnet", alexnet::alexnet, alexnet::SIZES, 16, false),
        ("alexnet", alexnet::alexnet, alexnet::SIZES, 32, false),
        ("alexnet", alexnet::alexnet, alexnet::SIZES, 64, false),
        ("alexnet", alexnet::alexnet, alexnet::SIZES, 64, true),
        ("lstm", lstm::lstm, lstm::SIZES, 64, false),
        ("transformer", transformer::transformer, transformer::SIZES, 8, false),
        ("transformer", transformer::transformer, transformer::SIZES, 16, false),
        ("transformer", transformer::transformer, transformer::SIZES, 64, true),
    ];
    for (name, build, sizes, ranks, divisors_only) in cases {
        let (program, _) = build().expect("a program");
        let values = sizes.iter().map(|(name, value)| (Symbol::new(name).expect("a name"), *value)).collect();
        let machine = Machine { ranks, ..Machine::default() };
        let start = Instant::now();
        let parts = if divisors_only { PartCounts::DivideDimension } else { PartCounts::All };
        let options = ModelOptions { parts, ..ModelOptions::default() };
        let model = Model::new(&program, &values, &machine, &options).expect("a model");
        let modelled = start.elapsed();
        let start = Instant::now();
        let n_costs: usize =
            (0..model.n_vertices()).filter_map(|vertex| model.vertex_costs(vertex)).map(<[f64]>::len).sum();
        let own = start.elapsed();
        let options = Options { memory_limit: 1 << 30, ..Options::default() };
        let counted = Counted { problem: &model, asked: AtomicU64::new(0) };
        let start = Instant::now();
        let solution = search(&counted, &options, &()).expect("a strategy");
        let searched = start.elapsed();
        let asked = counted.asked.into_inner();
        let start = Instant::now();
        solution
            .certificate
            .check(&model, &solution.strategy, solution.cost, &Limits::from(&options))
            .expect("every result is accepted");
        let checked = start.elapsed();
        let sum = |size: &dyn Fn(usize, End) -> usize| -> usize {
            (0..model.edges().len()).map(|edge| size(edge, End::Source) * size(edge, End::Target)).sum()
        };
        let pairs = sum(&|edge, end| model.n_configurations(model.edges()[edge].vertex(end)));
        let layouts = sum(&|edge, end| model.layouts(edge, end).len());
        let most = (0..model.n_vertices()).map(|vertex| model.n_configurations(vertex)).max().unwrap_or(0);
        let unmerged = predict(&Unmerged::new(&model), &Options::default()).expect("an order");
        println!(
            "{name} on {ranks} ranks{}: {n_costs} configurations, at most {most}; model {}, own costs {}, search {}, check {}",
            if divisors_only { ", divisors" } else { "" },
            shown(modelled),
            shown(own),
            shown(searched),
            shown(checked)
        );
        let merged = &solution.prediction;
        println!(
            "  edge costs {pairs}, {layouts}, {asked}; sums {} merged, {} not; bytes {} merged, {} not",
            merged.operations, unmerged.operations, merged.bytes, unmerged.bytes
        );
    }
}

/// A problem with its layouts hidden: nothing is merged.
struct Unmerged<'p>(&'p dyn Problem, Vec<[Layouts; 2]>);

impl<'p> Unmerged<'p> {
    fn new(problem: &'p dyn Problem) -> Self {
        let distinct = |vertex| Layouts::distinct(problem.n_configurations(vertex));
        let layouts = problem.edges().iter().map(|edge| [distinct(edge.source), distinct(edge.target)]);
        Unmerged(problem, layouts.collect())
    }
}

impl Problem for Unmerged<'_> {
    fn n_vertices(&self) -> usize {
        self.0.n_vertices()
    }

    fn n_configurations(&self, vertex: usize) -> usize {
        self.0.n_configurations(vertex)
    }

    fn vertex_cost(&self, vertex: usize, configuration: usize) -> f64 {
        self.0.vertex_cost(vertex, configuration)
    }

    fn edges(&self) -> &[Edge] {
        self.0.edges()
    }

    fn layouts(&self, edge: usize, end: End) -> &Layouts {
        &self.1[edge][usize::from(end == End::Target)]
    }

    fn edge_cost(&self, edge: usize, source: usize, target: usize) -> f64 {
        let layout = |end, configuration| self.0.layouts(edge, end).of(configuration);
        self.0.edge_cost(edge, layout(End::Source, source), layout(End::Target, target))
    }
}

/// Gains of merging, dominance and orders on the largest given graph.
fn gains() {
    let Some((problem, _)) = read("inception3.8") else { return };
    println!("\nInceptionV3, sums by elimination order, each configuration apart and merged:");
    let rules = [
        ("sort-nodes", OrderRule::Greedy(Greedy::SortNodes)),
        ("dependent-sets", OrderRule::Greedy(Greedy::DependentSets)),
        ("min-fill", OrderRule::Greedy(Greedy::MinFill)),
        ("min-volume", OrderRule::Greedy(Greedy::MinVolume)),
        ("random-restarts", OrderRule::RandomRestarts { n: 100, seed: 0 }),
        ("best", OrderRule::Best),
    ];
    let unmerged = Unmerged::new(&problem);
    for (name, order) in rules {
        let sums = |problem: &dyn Problem| {
            predict(problem, &Options { order, ..Options::default() }).expect("an order").operations
        };
        println!("  {name:<16} {:>12} {:>12}", sums(&unmerged), sums(&problem));
    }
    println!("InceptionV3, dominated configurations:");
    for pruning in [Pruning::Never, Pruning::Always] {
        let options = Options { pruning, ..Options::default() };
        let start = Instant::now();
        let solution = search(&problem, &options, &()).expect("a small graph");
        let (time, left_out) = (start.elapsed(), solution.certificate.dominated.len());
        let all: usize = (0..problem.n_vertices()).map(|vertex| problem.n_configurations(vertex)).sum();
        println!(
            "  {pruning:?}: {left_out} of {all} left out, {} sums, {}",
            solution.prediction.operations,
            shown(time)
        );
    }
}
