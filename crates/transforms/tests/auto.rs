//! The optimiser: its decisions on small programs. Random programs are compared in the tests of the root package.

use std::collections::BTreeMap;

use sdfg::ir::Sdfg;
use sdfg::symbolic::Symbol;
use sdfg_transforms::auto::{Decision, Target, optimize, optimize_watched};
use sdfg_transforms::strategy::model::Machine;
use sdfg_transforms::{Pipeline, Registry};

/// The text of an optimised program, where every symbol is `size`, and the decisions.
fn optimized(text: &str, size: i64) -> (String, Vec<Decision>) {
    optimized_for(Machine::default(), text, size)
}

fn optimized_for(machine: Machine, text: &str, size: i64) -> (String, Vec<Decision>) {
    let program: Sdfg =
        sdfg::text::parse("test.sdft", text).unwrap_or_else(|errors| panic!("{text}\n{errors:?}"));
    let sizes: BTreeMap<Symbol, i64> = program.symbols().map(|(symbol, _)| (symbol.clone(), size)).collect();
    let mut pipeline = Pipeline::on(program.clone());
    let target = Target { machine, sizes };
    let decisions = optimize(&mut pipeline, &Registry::standard(), &target);
    let replayed = pipeline.chain().replay(program, &Registry::standard()).expect("the chain is replayed");
    let after = sdfg::text::print(pipeline.program());
    assert_eq!(sdfg::text::print(replayed.program()), after);
    pipeline.finish().unwrap_or_else(|error| panic!("{error}\n{after}"));
    (after, decisions)
}

/// A map over matrices with one tasklet, which writes by `write`.
fn map(parameters: &str, code: &str, reads: &[&str], write: &str) -> String {
    let names = |element: &&str| element.split('[').next().unwrap_or_default().to_owned();
    let inputs: Vec<String> = (0..reads.len()).map(|at| format!("x{at}")).collect();
    let mut lines = vec![format!("    tasklet t ({}) -> (y) {{ {code} }}", inputs.join(", "))];
    let mut outside = Vec::new();
    for (at, read) in reads.iter().enumerate() {
        lines.push(format!("    m.{} -> t.x{at}: {read}", names(read)));
        outside.push(format!("  access {0}\n  {0} -> m.{0}", names(read)));
    }
    outside.sort();
    outside.dedup();
    let to = names(&write);
    format!(
        "state s {{\n  map m [{parameters}] {{\n{}\n    t.y -> m.to: {write}\n  }}\n{}\n  access to = {to}\n  m.to -> to\n}}",
        lines.join("\n"),
        outside.join("\n")
    )
}

fn program(contents: &str) -> String {
    format!(
        "sdfg p {{\n  symbol N: i64\n  array A: f64[N, N]\n  array B: f64[N, N]\n  array C: f64[N, N]\n{contents}\n}}"
    )
}

#[test]
fn maps_over_a_transient_become_one() {
    let two = program(
        "transient array T: f64[N, N]
state s {
  access A
  access T
  access B
  map first [i = 0:N, j = 0:N] {
    tasklet t (x) -> (y) { y = x + 1 }
    first.A -> t.x: A[i, j]
    t.y -> first.T: T[i, j]
  }
  map second [i = 0:N, j = 0:N] {
    tasklet t2 (x) -> (y) { y = 2 * x }
    second.T -> t2.x: T[i, j]
    t2.y -> second.B: B[i, j]
  }
  A -> first.A
  first.T -> T
  T -> second.T
  second.B -> B
}",
    );
    let (after, decisions) = optimized(&two, 4000);
    assert_eq!(after.matches("map ").count(), 1, "{after}");
    let fusion =
        decisions.iter().find(|decision| decision.transformation == "MapFusion").expect("a decision");
    assert!(fusion.is_kept && fusion.after < 0.6 * fusion.before, "{fusion}");
}

/// Two products with one matrix, by rows and by columns, as in PolyBench's `bicg`.
#[test]
fn maps_that_read_the_same_matrix_become_one() {
    let two = program(
        "array p: f64[N]
array q: f64[N]
array r: f64[N]
array s: f64[N]
state main {
  access A
  access p
  access q
  access r
  access s
  map rows [i = 0:N, j = 0:N] {
    tasklet t (a, v) -> (o) { o = a * v }
    rows.A -> t.a: A[i, j]
    rows.p -> t.v: p[j]
    t.o -> rows.q: q[i] wcr(sum)
  }
  map columns [k = 0:N, l = 0:N] {
    tasklet t2 (a, v) -> (o) { o = a * v }
    columns.A -> t2.a: A[k, l]
    columns.r -> t2.v: r[k]
    t2.o -> columns.s: s[l] wcr(sum)
  }
  A -> rows.A
  p -> rows.p
  rows.q -> q
  A -> columns.A
  r -> columns.r
  columns.s -> s
}",
    );
    let (after, decisions) = optimized(&two, 2000);
    assert_eq!(after.matches("map ").count(), 1, "{decisions:?}\n{after}");
    let is_fusion = |decision: &&Decision| decision.transformation == "SiblingMapFusion";
    let fusion = decisions.iter().find(is_fusion).expect("a decision");
    assert!(fusion.is_kept && fusion.after < 0.7 * fusion.before, "{fusion}");
    // Maps that read other matrices share nothing.
    let apart = two
        .replace("columns.A -> t2.a: A[k, l]", "columns.B -> t2.a: B[k, l]")
        .replace("  A -> columns.A", "  access B\n  B -> columns.B");
    let (after, decisions) = optimized(&apart, 2000);
    assert!(after.matches("map ").count() == 2, "{decisions:?}\n{after}");
}

#[test]
fn the_innermost_dimension_has_unit_stride() {
    let text = program(&map("j = 0:N, i = 0:N", "y = 2 * x0", &["A[i, j]"], "B[i, j]"));
    assert!(optimized(&text, 2000).0.contains("[i = 0:N, j = 0:N]"));
    let good = program(&map("i = 0:N, j = 0:N", "y = 2 * x0", &["A[i, j]"], "B[i, j]"));
    assert!(optimized(&good, 2000).0.contains("[i = 0:N, j = 0:N]"));
}

/// Threads add to the same element. They share `i` where that keeps them apart, as back ends do.
#[test]
fn sums_of_several_threads_take_longer() {
    let before = |write: &str| {
        let text = program(&map("k = 0:N, i = 0:N", "y = x0", &["A[k, i]"], write));
        optimized(&text, 2000).1[0].before
    };
    let [meeting, row, apart] = ["C[0, 0]", "C[0, i]", "C[k, i]"].map(|to| before(&format!("{to} wcr(sum)")));
    assert!(meeting > 1.5 * apart && row <= apart, "{meeting} {row} {apart}");
}

#[test]
fn tiles_are_made_where_data_leave_the_cache() {
    let transposed = program(&map("i = 0:N, j = 0:N", "y = x0", &["A[j, i]"], "B[i, j]"));
    let (large, decisions) = optimized(&transposed, 20000);
    assert!(large.contains("tiles0"), "{decisions:?}\n{large}");
    let (small, _) = optimized(&transposed, 100);
    assert!(!small.contains("tiles0"), "{small}");
}

#[test]
fn independent_iterations_of_a_loop_become_a_map() {
    let text = program(
        "for rows: i = 0:N {
  state s {
    access A
    access B
    tasklet t (x) -> (y) { y = x + 1 }
    A -> t.x: A[i, 0]
    t.y -> B: B[i, 0]
  }
}",
    );
    let (after, decisions) = optimized(&text, 1000);
    assert!(after.contains("map rows [i = 0:N]"), "{after}");
    assert!(decisions[0].to_string().starts_with("LoopToMap at 1 place: "), "{}", decisions[0]);
}

/// Each of the parts of a body has an order of dimensions of its own.
#[test]
fn maps_of_loops_are_split_where_their_parts_gain() {
    let text = program(
        "for rows: i = 0:N {
  for columns: j = i:N {
    state clear {
      access C
      tasklet zero () -> (o) { o = 0.0 }
      zero.o -> C: C[i, j]
    }
    state multiply {
      access A
      access B
      access C
      map products [k = 0:N] {
        tasklet t (a, b) -> (o) { o = a * b }
        products.A -> t.a: A[k, i]
        products.B -> t.b: B[k, j]
        t.o -> products.C: C[i, j] wcr(sum)
      }
      A -> products.A
      B -> products.B
      products.C -> C
    }
  }
}",
    );
    let (after, decisions) = optimized(&text, 1000);
    assert!(decisions[0].to_string().starts_with("MapFission at 2 places: "), "{}", decisions[0]);
    assert!(decisions[0].is_kept, "{decisions:?}");
    // The product is one of matrices, but for triangles, whose inner dimension is that of rows.
    assert!(after.contains("MatMul") && after.contains("k = 0:N, j = i:min("), "{after}");
}

/// A loop around a map starts threads in each iteration, unless it moves into the map. With short rows, several threads gain by that
/// and one thread loses, so the loop stays. Where columns of another array are read, nobody gains.
#[test]
fn loops_move_into_maps_unless_one_thread_loses() {
    let sweep = |read: &str, n: i64| {
        let text = program(&format!(
            "for sweep: j = 1:N {{
  state s {{
    access A
    access B
    access C = B
    map rows [i = 0:N] {{
      tasklet t (a, b) -> (o) {{ o = 0.5 * b + a }}
      rows.A -> t.a: {read}
      rows.B -> t.b: B[i, j - 1]
      t.o -> rows.B: B[i, j]
    }}
    A -> rows.A
    B -> rows.B
    rows.B -> C
  }}
}}"
        ));
        optimized(&text, n)
    };
    let (after, decisions) = sweep("A[i, j]", 3000);
    let map = after.find("map rows").unwrap_or_default();
    assert!(after[map..].contains("for "), "{decisions:?}\n{after}");
    let (after, decisions) = sweep("A[i, j]", 300);
    let (gain, loop_stays) = (decisions[0].before / decisions[0].after, after.contains("for sweep"));
    assert!(gain > 1.1 && !decisions[0].is_kept && loop_stays, "{decisions:?}\n{after}");
    let (after, decisions) = sweep("A[j, i]", 300);
    assert!(after.contains("for sweep"), "{decisions:?}\n{after}");
}

/// Steps of a stencil share what a tile has in the cache, unless all of it is there anyway.
#[test]
fn time_loops_over_large_data_are_tiled() {
    let step = |from: &str, to: &str| {
        format!(
            "state from_{from} {{
  access {from}
  access {to}
  map m [i = 1:N - 1] {{
    tasklet t (x, y) -> (o) {{ o = x + y }}
    m.{from} -> t.x: {from}[i - 1]
    m.{from} -> t.y: {from}[i + 1]
    t.o -> m.{to}: {to}[i]
  }}
  {from} -> m.{from}
  m.{to} -> {to}
}}"
        )
    };
    let text = format!(
        "sdfg p {{\nsymbol N: i64\nsymbol T: i64\narray D: f64[N]\narray E: f64[N]\nfor time: t = 0:T {{\n{}\n{}\n}}\n}}",
        step("D", "E"),
        step("E", "D")
    );
    let (large, decisions) = optimized(&text, 1_000_000);
    assert!(large.contains("time.shrinking0"), "{decisions:?}\n{large}");
    let (small, _) = optimized(&text, 10_000);
    assert!(!small.contains("shrinking"), "{small}");
}

/// A map with a small part of the time of a program counts by itself.
/// A map over a triangle of `C` that sums up `code` of `x0`, `x1` and so on.
fn triangle(columns: &str, code: &str, reads: &[&str]) -> String {
    program(&map(&format!("i = 0:N, j = {columns}, k = 0:N"), code, reads, "C[i, j] wcr(sum)"))
}

/// Whether the optimiser kept a transformation.
fn keeps(decisions: &[Decision], name: &str) -> bool {
    decisions.iter().any(|decision| decision.is_kept && decision.transformation == name)
}

/// Blocks of rows make a product of matrices of a triangle. Their rows have different lengths, so threads take blocks one by one.
#[test]
fn triangular_products_become_products_of_blocks() {
    for (columns, is_triangle) in [
        ("0:i + 1", true),
        ("0:i", true),
        ("i:N", true),
        ("i + 1:N", true),
        // Other bounds are no triangles.
        ("0:min(N, i + 3)", false),
        ("max(i, 3):N", false),
        ("i:min(N, i + 3)", false),
    ] {
        let (after, decisions) = optimized(&triangle(columns, "y = x0 * x1", &["A[i, k]", "B[j, k]"]), 1000);
        assert_eq!(keeps(&decisions, "LiftToLibrary"), is_triangle, "{columns}: {decisions:?}");
        assert_eq!(after.contains("MatMul") && after.contains("sharing(dynamic)"), is_triangle, "{after}");
    }
    let (small, _) = optimized(&triangle("0:i + 1", "y = x0 * x1", &["A[i, k]", "B[j, k]"]), 10);
    assert!(!small.contains("MatMul"), "{small}");
}

/// A loop over rows of `B` that adds products over the rows of a range, and then scales the row.
fn rows(range: &str, factor: &str) -> String {
    program(&format!(
        "for rows: i = 0:N {{
  state multiply {{
    access A
    access B
    access to = B
    map m [j = 0:N, k = {range}] {{
      tasklet t (a, b) -> (y) {{ y = a * b }}
      m.A -> t.a: {factor}
      m.B -> t.b: B[k, j]
      t.y -> m.B: B[i, j] wcr(sum)
    }}
    A -> m.A
    B -> m.B
    m.B -> to
  }}
  state scale {{
    access A
    access B
    access to = B
    map s [j = 0:N] {{
      tasklet u (x, a) -> (y) {{ y = x / a }}
      s.B -> u.x: B[i, j]
      s.A -> u.a: A[i, i]
      u.y -> s.B: B[i, j]
    }}
    A -> s.A
    B -> s.B
    s.B -> to
  }}
}}"
    ))
}

/// A product with a triangular matrix in place, and the solution of a triangular system, whose rows depend on each other.
#[test]
fn strips_of_dependent_rows_read_products() {
    for (range, factor, has_product) in [
        ("i + 1:N", "A[k, i]", true),
        ("0:i", "A[i, k]", true),
        // The product may have no summand, and no bound follows the row.
        ("i + 2:N", "A[k, i]", false),
        ("0:N - 1", "A[i, k]", false),
    ] {
        let (after, decisions) = optimized(&rows(range, factor), 1000);
        assert_eq!(keeps(&decisions, "LoopStripMining"), has_product, "{range}: {decisions:?}");
        assert_eq!(after.contains("MatMul"), has_product, "{after}");
    }
    let (small, _) = optimized(&rows("i + 1:N", "A[k, i]"), 10);
    assert!(!small.contains("MatMul"), "{small}");
}

/// Each term of a sum of products is a product of matrices.
#[test]
fn sums_of_products_become_several_products() {
    let reads = ["A[i, k]", "B[j, k]", "B[i, k]", "A[j, k]"];
    for columns in ["0:i + 1", "0:N"] {
        let (after, decisions) = optimized(&triangle(columns, "y = x0 * x1 + x2 * x3", &reads), 1000);
        assert!(keeps(&decisions, "TaskletFission"), "{columns}: {decisions:?}");
        assert_eq!(after.matches("MatMul").count(), 2, "{after}");
    }
    // Nothing is gained by two maps.
    let (after, decisions) = optimized(&triangle("0:N", "y = x0 + x1 + x2", &reads[..3]), 1000);
    assert!(!keeps(&decisions, "TaskletFission"), "{decisions:?}\n{after}");
}

#[test]
fn small_parts_of_a_program_are_optimised_too() {
    let small = map("i = 0:N, j = 0:N", "y = x0", &["A[j, i]"], "B[j, i]");
    let large =
        map("i = 0:N, j = 0:N, k = 0:N", "y = x0 + k", &["A[i, j]"], "B[i, j]").replace("state s", "state t");
    let (after, decisions) = optimized(&program(&format!("{small}\n{large}")), 4000);
    assert!(after.contains("[j = 0:N, i = 0:N]"), "{decisions:?}\n{after}");
    let shuffle = decisions
        .iter()
        .find(|decision| decision.is_kept && decision.transformation.starts_with("MapDimShuffle"));
    assert!(shuffle.is_some_and(|decision| decision.after > 0.95 * decision.before), "{decisions:?}");
}

/// A sum in a transient of an iteration needs no atomic operation.
#[test]
fn sums_of_an_iteration_are_its_own() {
    let text = program(
        "transient array row: f64[N]
for rows: r = 0:N {
  state s {
    map clear [p = 0:N] {
      tasklet zero () -> (o) { o = 0.0 }
      zero.o -> clear.row: row[p]
      order clear -> zero
    }
    access row
    map multiply [p = 0:N, s = 0:N] {
      tasklet t (a, b) -> (o) { o = a * b }
      multiply.A -> t.a: A[r, s]
      multiply.B -> t.b: B[s, p]
      t.o -> multiply.row: row[p] wcr(sum)
    }
    access A
    access B
    access sums = row
    map store [p = 0:N] {
      tasklet u (x) -> (y) { y = x }
      store.row -> u.x: row[p]
      u.y -> store.C: C[r, p]
    }
    access C
    clear.row -> row
    order row -> A
    order row -> B
    A -> multiply.A
    B -> multiply.B
    multiply.row -> sums
    sums -> store.row
    store.C -> C
  }
}",
    );
    let (after, decisions) = optimized(&text, 150);
    assert!(after.contains("map rows [r = 0:N]"), "{decisions:?}\n{after}");
}

/// Threads would wait for each other at the sum, so the loop stays.
#[test]
fn what_gains_nothing_is_taken_back() {
    let text = program(
        "for rows: i = 0:N {
  state s {
    access A
    access B
    tasklet t (x) -> (y) { y = x + 1 }
    A -> t.x: A[i, 0]
    t.y -> B: B[0, 0] wcr(sum)
  }
}",
    );
    let machine = Machine { threads: 2, ..Machine::default() };
    let (after, decisions) = optimized_for(machine, &text, 3000);
    assert!(!decisions[0].is_kept, "{}", decisions[0]);
    assert!(after.contains("for rows"), "{after}");
}

/// Data that are larger than the cache cross the bus of the memory at least once.
#[test]
fn no_map_is_faster_than_its_memory() {
    let text = program(&map("i = 0:N, j = 0:N", "y = 2 * x0", &["A[i, j]"], "B[i, j]"));
    let program = sdfg::text::parse("test.sdft", &text).expect("a program");
    let machine = Machine { memory_bytes_per_second: 1e9, ..Machine::default() };
    let sizes = BTreeMap::from([(Symbol::of("N"), 10_000)]);
    let mut pipeline = Pipeline::on(program);
    let decisions = optimize(&mut pipeline, &Registry::standard(), &Target { machine, sizes });
    let seconds = 2.0 * 8.0 * 1e8 / 1e9;
    assert!((seconds..2.0 * seconds).contains(&decisions[0].before), "{}", decisions[0]);
}

/// Decisions are the same whether somebody watches. The program after each is the one before the next, unless simplification or a
/// refusal comes between.
#[test]
fn decisions_are_told_with_their_programs() {
    let text = program(&map("i = 0:N, j = 0:N", "y = x0 + 1", &["A[j, i]"], "B[j, i]"));
    let parsed: Sdfg = sdfg::text::parse("test.sdft", &text).expect("a program");
    let target = Target { machine: Machine::default(), sizes: BTreeMap::new() };
    let mut told: Vec<(Decision, [String; 2])> = Vec::new();
    let mut pipeline = Pipeline::on(parsed.clone());
    let decisions =
        optimize_watched(&mut pipeline, &Registry::standard(), &target, &mut |decision, programs| {
            told.push((decision.clone(), programs.map(|program| sdfg::text::print(&program))));
        });
    let mut plain = Pipeline::on(parsed.clone());
    let same = optimize(&mut plain, &Registry::standard(), &target);
    let lines = |all: &[Decision]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!((lines(&decisions), plain.chain()), (lines(&same), pipeline.chain()));
    assert_eq!(told.len(), decisions.len());
    // The order of the dimensions is changed, and tiles are looked at, but not kept.
    let [(first, [before, after]), (last, [stays, tried])] = &told[..] else { panic!("{told:#?}") };
    assert!(first.is_kept && first.transformation.starts_with("MapDimShuffle"), "{first}");
    assert!(!last.is_kept && last.transformation.starts_with("MapTiling"), "{last}");
    assert_eq!(*before, sdfg::text::print(&parsed));
    assert_eq!((stays, after), (after, &sdfg::text::print(pipeline.program())));
    assert!(tried.contains("m.tiles0") && !after.contains("m.tiles0"), "{tried}");
}
