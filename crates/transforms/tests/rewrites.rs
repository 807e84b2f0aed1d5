//! Applications and refusals of transformations whose results are checked in the interpreter. A refusal that is about meaning
//! comes with a rewrite that is forced, and wrong.

use sdfg::edit::Editor;
use sdfg::interpret::{Arguments, Interpreter, Options, Order};
use sdfg::ir::Sdfg;
use sdfg::symbolic::Expr;
use sdfg::tensor::Tensor;
use sdfg::validate::validate;
use sdfg_transforms::rewrites::{
    AccumulateTransient, DeadDataflowElimination, DeadStateElimination, MapFission, MapSchedule, MapSplit,
    MapTiling, MapUnroll, RedundantSecondArray, Size, StripMining, SymbolPropagation, TrivialMapElimination,
};
use sdfg_transforms::{Match, Transformation, apply, places};

fn parsed(text: &str) -> Sdfg {
    sdfg::text::parse("rewrites.sdft", text).unwrap_or_else(|errors| panic!("{text}\n{errors:?}"))
}

/// A program over vectors `A`, `B`, `C` of `N` elements.
fn program(contents: &str) -> Sdfg {
    parsed(&format!(
        "sdfg p {{\n symbol N: i64\n array A: f64[N]\n array B: f64[N]\n array C: f64[N]\n{contents}\n}}"
    ))
}

fn results(program: &Sdfg, n: i64, order: Order) -> Result<Arguments, String> {
    let valid = validate(program.clone()).map_err(|rejected| format!("{:?}", rejected.diagnostics))?;
    let mut interpreter = Interpreter::new(&valid).map_err(|error| error.to_string())?;
    let mut arguments = Arguments::new().with_symbol("N", n);
    for (seed, name) in ["A", "B", "C"].into_iter().enumerate() {
        let values: Vec<f64> = (0..n).map(|i| ((i * 7 + seed as i64 * 3) % 5 - 2) as f64).collect();
        arguments.set(name, Tensor::vector(&values));
    }
    interpreter
        .run(&mut arguments, &Options { order, ..Options::default() })
        .map_err(|error| error.to_string())?;
    Ok(arguments)
}

/// The first difference in results.
fn difference(before: &Sdfg, after: &Sdfg) -> Option<String> {
    for n in [0, 1, 4, 7] {
        let expected = match results(before, n, Order::Fixed) {
            Ok(expected) => expected,
            // A program may need elements.
            Err(_) if n == 0 => continue,
            Err(error) => panic!("{error}"),
        };
        for order in [Order::Fixed, Order::Random(1), Order::Random(2)] {
            match results(after, n, order) {
                Ok(found) if expected.tensors().all(|(name, tensor)| found.get(name) == Some(tensor)) => {}
                Ok(_) => return Some(format!("results differ for N = {n} in {order:?}")),
                Err(error) => return Some(error),
            }
        }
    }
    None
}

fn first_match(program: &Sdfg, transformation: &dyn Transformation) -> Match {
    places(program, transformation).into_iter().next().expect("a match")
}

/// Applies a transformation at the first match; the results stay.
fn applies(before: &Sdfg, transformation: &dyn Transformation) -> String {
    let mut after = before.clone();
    let found = first_match(before, transformation);
    apply(&mut after, transformation, &found).unwrap_or_else(|error| panic!("{error}"));
    let text = sdfg::text::print(&after);
    let what = difference(before, &after);
    assert!(what.is_none(), "{what:?}\n{text}");
    text
}

/// The reason for which a transformation refuses the first match.
fn refuses(before: &Sdfg, transformation: &dyn Transformation) -> String {
    let found = first_match(before, transformation);
    apply(&mut before.clone(), transformation, &found).expect_err("a refusal").to_string()
}

/// As [`refuses`]; the rewrite is wrong if it is forced.
fn refuses_rightly(before: &Sdfg, transformation: &dyn Transformation) -> String {
    let found = first_match(before, transformation);
    let mut forced = before.clone();
    let mut editor = Editor::new(&mut forced);
    let edits = match transformation.apply(&mut editor, &found) {
        Ok(()) => editor.commit().is_ok(),
        Err(_) => {
            drop(editor);
            false
        }
    };
    assert!(!edits || difference(before, &forced).is_some(), "the forced rewrite is right");
    refuses(before, transformation)
}

/// A map over `range` with a tasklet from `A` to `B`.
fn map(range: &str) -> Sdfg {
    program(&format!(
        "state s {{
  access A
  access B
  map m [i = {range}] {{
    tasklet t (x) -> (y) {{ y = 2 * x + i }}
    m.A -> t.x: A[i]
    t.y -> m.B: B[i]
  }}
  A -> m.A
  m.B -> B
}}"
    ))
}

#[test]
fn maps_are_split_at_any_count_that_is_not_negative() {
    for range in ["0:N", "N - 1:-1:-1", "0:N:2"] {
        for count in [0, 1, 3, 100] {
            applies(&map(range), &MapSplit { count: Size::from(count), dimension: 0, ..MapSplit::default() });
        }
        applies(&map(range), &MapSplit { count: Size(Expr::sym("N")), dimension: 0, ..MapSplit::default() });
    }
    let negative = MapSplit { count: Size::from(-1), dimension: 0, ..MapSplit::default() };
    assert!(refuses_rightly(&map("0:N"), &negative).contains("not negative"));
    let inner = MapSplit { count: Size(Expr::sym("i")), dimension: 0, ..MapSplit::default() };
    assert!(refuses(&map("0:N"), &inner).contains("no symbol outside"));
}

#[test]
fn maps_are_split_at_a_value() {
    let at = |at: &str| MapSplit { at: Some(Size(at.parse().unwrap())), ..MapSplit::default() };
    for value in ["-3", "0", "2", "100", "N", "N - 1"] {
        for range in ["0:N", "1:N - 1", "2:N"] {
            applies(&map(range), &at(value));
        }
    }
    let strided = refuses_rightly(&map("0:N:2"), &at("1"));
    assert!(strided.contains("the step is 2, and `at` needs 1"), "{strided}");
    let both = MapSplit { count: Size::from(2), ..at("1") };
    assert!(refuses(&map("0:N"), &both).contains("`count` is given, too"));
    assert!(refuses(&map("0:N"), &at("i")).contains("no symbol outside"));
}

/// The end of the first part has a minimum only where it may be either one, whatever the dimensions before it are.
#[test]
fn parts_of_a_map_have_simple_bounds() {
    let triangle = |columns: &str| {
        program(&format!(
            "state s {{
  access A
  access B
  map outer [t = 0:N:4] {{
    map m [i = t:min(N, t + 4), j = {columns}] {{
      tasklet add (x) -> (y) {{ y = x }}
      m.A -> add.x: A[j]
      add.y -> m.B: B[i] wcr(sum)
    }}
    outer.A -> m.A
    m.B -> outer.B
  }}
  A -> outer.A
  outer.B -> B
}}"
        ))
    };
    for (columns, count, expected) in [
        ("0:i + 1", "t + 1", "j = 0:t + 1, "),
        ("0:i + 1", "t + 2", "j = 0:min("),
        ("0:i + 1", "N", "j = 0:i + 1, "),
        ("0:N", "1", "j = 0:min("),
    ] {
        let split = MapSplit { count: Size(count.parse().unwrap()), dimension: 1, ..MapSplit::default() };
        let before = triangle(columns);
        let found = places(&before, &split).pop().expect("the inner map");
        let mut after = before.clone();
        apply(&mut after, &split, &found).unwrap_or_else(|error| panic!("{error}"));
        let text = sdfg::text::print(&after);
        let is_expected = text.contains(expected) || text.contains(&expected.replace(", ", "]"));
        assert!(is_expected, "{columns} after {count}: {text}");
        assert_eq!(difference(&before, &after), None);
    }
    // The last row of a block begins where all others have begun.
    let before = triangle("i:N");
    let at: sdfg::symbolic::Expr = "min(N, t + 4) - 1".parse().unwrap();
    let split = MapSplit { at: Some(Size(at)), dimension: 1, ..MapSplit::default() };
    let found = places(&before, &split).pop().expect("the inner map");
    let mut after = before.clone();
    apply(&mut after, &split, &found).unwrap_or_else(|error| panic!("{error}"));
    let text = sdfg::text::print(&after);
    assert!(!text.contains("max("), "{text}");
    assert!(text.contains("j = min(N, t + 4) - 1:N]") || text.contains("j = min(N - 1, t + 3):N]"), "{text}");
    assert_eq!(difference(&before, &after), None);
}

#[test]
fn threads_share_iterations_as_told() {
    let dynamic = MapSchedule::new("cpu_multicore").dynamic();
    assert!(applies(&map("0:N"), &dynamic).contains("schedule(cpu_multicore) sharing(dynamic)"));
    let sharing = |schedule: &str, name: &str| MapSchedule {
        sharing: Some(name.to_owned()),
        ..MapSchedule::new(schedule)
    };
    assert!(refuses(&map("0:N"), &sharing("default", "fair")).contains("none of `static`"));
    assert!(refuses(&map("0:N"), &sharing("simd", "dynamic")).contains("no threads of the host"));
    assert!(refuses(&map("0:N"), &sharing("default", "static")).contains("has this schedule already"));
}

#[test]
fn strips_cover_a_dimension() {
    let text = applies(&map("0:N"), &StripMining { dimension: 0, size: Size::from(3) });
    assert!(text.contains("0:N:3"), "{text}");
    assert!(
        refuses(&map("0:N"), &StripMining { dimension: 1, size: Size::from(3) }).contains("1 dimensions")
    );
    let named = refuses(&map("0:N"), &StripMining { dimension: 0, size: Size::from(-1) });
    assert!(named.ends_with(": parameter `size`: it is not proved that -1 is greater than 0"), "{named}");
    let unknown = || Size("T".parse().expect("a size"));
    let named = refuses(&map("0:N"), &StripMining { dimension: 0, size: unknown() });
    assert!(named.contains(": parameter `size`: `T` is no symbol of `"), "{named}");
    let named = refuses(&map("0:N"), &MapTiling::new([unknown()]));
    assert!(named.contains(": parameter `tile_sizes`: `T` is no symbol of `"), "{named}");
    let named = refuses(&map("0:N"), &MapTiling::in_parts([unknown()]));
    assert!(named.contains(": parameter `parts`: `T` is no symbol of `"), "{named}");
    assert!(refuses_rightly(&map("0:N"), &MapTiling::new([-2])).contains("greater than 0"));
}

#[test]
fn maps_are_tiled_in_a_number_of_parts() {
    for range in ["0:N", "N - 1:-1:-1", "0:N:2", "1:N"] {
        for parts in [1, 2, 3, 10] {
            applies(&map(range), &MapTiling::in_parts([parts]));
        }
        let text = applies(&map(range), &MapTiling::in_parts([Size(&Expr::sym("N") + &Expr::one())]));
        assert!(text.contains("0:N + 1"), "{text}");
    }
    assert!(refuses(&map("0:N"), &MapTiling::in_parts([-1])).contains("greater than 0"));
}

#[test]
fn iterations_of_a_map_over_numbers_are_written_out() {
    let text = applies(&map("0:1"), &MapUnroll::default());
    assert!(!text.contains("map "), "{text}");
    let private = program(
        "transient scalar T: f64
state s {
  access B
  map m [i = 0:1, j = 0:3] {
    access T
    tasklet t () -> (y) { y = i + j }
    tasklet u (x) -> (y) { y = x }
    t.y -> T: T
    T -> u.x: T
    u.y -> m.B: B[0] wcr(sum)
  }
  m.B -> B
}",
    );
    let text = applies(&private, &MapUnroll::default());
    assert_eq!(text.matches("transient scalar").count(), 3, "{text}");
    let refused = |range: &str, limit| refuses(&map(range), &MapUnroll { limit });
    for (range, limit, reason) in [
        ("0:N", 16, ": `m` counts over 0:N, whose ends and step are no numbers"),
        ("0:0", 16, ": `m` has no iterations: its range is [0:0]"),
        ("0:3", 2, ": parameter `limit`: [0:3] has more than 2 iterations"),
    ] {
        assert!(refused(range, limit).ends_with(reason), "{range}: {}", refused(range, limit));
    }
}

#[test]
fn parameters_of_one_value_leave_a_map() {
    let nested = |ranges: &str| {
        program(&format!(
            "state s {{
              access A
              access B
              map m [{ranges}] {{
                tasklet t (x) -> (y) {{ y = x + 10 * j }}
                m.A -> t.x: A[i]
                t.y -> m.B: B[i]
              }}
              A -> m.A
              m.B -> B
            }}"
        ))
    };
    let trivial = TrivialMapElimination::default();
    for (ranges, left) in [
        ("i = 0:N, j = 2:3", "[i = 0:N]"),
        ("j = 2:3, i = 0:N:j", "[i = 0:N:2]"),
        ("i = 0:N, j = i:i + 1", "[i = 0:N]"),
    ] {
        let after = applies(&nested(ranges), &trivial);
        assert!(after.contains(left) && !after.contains('j'), "{after}");
    }
    assert!(!applies(&nested("i = N - 1:N, j = 2:3"), &trivial).contains("map"));
    assert!(refuses(&nested("i = 0:N, j = 0:N"), &trivial).contains("one value"));
    let shared = sdfg::text::print(&nested("j = 2:3, i = 0:N"));
    let shared = parsed(&shared.replace("0:N] {", "0:N] schedule(cpu_multicore) collapse(2) {"));
    let after = applies(&shared, &trivial);
    assert!(after.contains("cpu_multicore") && !after.contains("collapse"), "{after}");
}

#[test]
fn maps_of_several_parts_are_split_into_maps() {
    let two = program(
        "state s {
  access A
  access B
  access C
  map m [i = 0:N] {
    tasklet t (x) -> (y) { y = 2 * x }
    tasklet u (x) -> (y) { y = x + 1 }
    m.A -> t.x: A[i]
    t.y -> m.B: B[i]
    m.A -> u.x: A[N - 1 - i]
    u.y -> m.C: C[i]
  }
  A -> m.A
  m.B -> B
  m.C -> C
}",
    );
    let text = applies(&two, &MapFission::default());
    assert_eq!(text.matches("map ").count(), 2, "{text}");
    assert!(refuses(&map("0:N"), &MapFission::default()).contains("one part"));
}

/// Rows of `A`, taken as a matrix of `N` by 4, are combined in `B`; `other` is another tasklet in the outer map.
fn combined(resolution: &str, other: &str) -> Sdfg {
    program(&format!(
        "state s {{
  access A
  access B
  access C
  map m [i = 0:N] {{
    map k [j = 0:4] {{
      tasklet t (x) -> (y) {{ y = x + j }}
      k.A -> t.x: A[i]
      t.y -> k.B: B[i // 2] wcr({resolution})
    }}
    m.A -> k.A
    k.B -> m.B
    {other}
  }}
  A -> m.A
  m.B -> B
  m.C -> C
}}"
    ))
}

#[test]
fn sums_and_products_begin_with_the_neutral_element() {
    let transformation = AccumulateTransient::default();
    let other = "tasklet u () -> (y) { y = i }\n    u.y -> m.C: C[i]";
    for resolution in ["sum", "product"] {
        let text = applies(&combined(resolution, other), &transformation);
        assert!(text.contains("transient array B_sum0"), "{text}");
    }
    // Of these resolutions no element is neutral for all types.
    for resolution in ["max", "lambda old, new: 2 * old - new"] {
        let message = refuses_rightly(&combined(resolution, other), &transformation);
        assert!(message.contains("sums up or multiplies no part"), "{message}");
    }
}

/// `A` is copied to `T`, and a map reads `T[index]` and writes `target`.
fn copied(target: &str, index: &str) -> Sdfg {
    program(&format!(
        "transient array T: f64[N]
state s {{
  access A
  access T
  access W = {target}
  map m [i = 0:N] {{
    tasklet t (x) -> (y) {{ y = 2 * x }}
    m.T -> t.x: T[{index}]
    t.y -> m.W: {target}[i]
  }}
  A -> T
  T -> m.T
  m.W -> W
}}"
    ))
}

#[test]
fn copies_that_are_only_read_are_not_made() {
    let transformation = RedundantSecondArray::default();
    let text = applies(&copied("B", "N - 1 - i"), &transformation);
    assert!(!text.contains("array T"), "{text}");
    // The copy is needed: the map overwrites what it reads.
    let message = refuses_rightly(&copied("A", "N - 1 - i"), &transformation);
    assert!(message.contains("`A` is used elsewhere"), "{message}");
}

/// A transient that is written, and then combined with another value.
#[test]
fn what_a_resolution_combines_with_is_not_dead() {
    let state = |number: usize, resolution: &str| {
        format!(
            "state s{number} {{
  access A
  access T
  tasklet t (x) -> (y) {{ y = x }}
  A -> t.x: A[0]
  t.y -> T: T[0]{resolution}
}}"
        )
    };
    let text = format!("transient array T: f64[1]\n{}\n{}", state(0, ""), state(1, " wcr(sum)"));
    let before = program(&text);
    let transformation = DeadDataflowElimination::default();
    let all = places(&before, &transformation);
    let at = |state: &str| {
        let is_there = |found: &&Match| {
            found.paths(&before).iter().any(|path| path.to_string() == format!("p/{state}/T"))
        };
        all.iter().find(is_there).expect("a match")
    };
    let message = apply(&mut before.clone(), &transformation, at("s0")).expect_err("a refusal").to_string();
    assert!(message.contains("`p/s1/t.y -> T` moves `T[0] wcr(sum)`"), "{message}");
    let mut after = before.clone();
    apply(&mut after, &transformation, at("s1")).expect("an application");
    assert!(difference(&before, &after).is_none());
}

/// The state waits by access nodes that move no data.
#[test]
fn access_nodes_that_only_order_others_go() {
    let text = |contents: &str| {
        program(&format!(
            "state s {{
  access A
  access B
  access between = A
  tasklet t (x) -> (y) {{ y = 2 * x }}
  tasklet u (x) -> (y) {{ y = 3 * x }}
  access last = B
  A -> t.x: A[0]
  t.y -> B: B[0]
  order B -> between
  order between -> u
  A -> u.x: A[0]
  u.y -> last: B[0]
{contents}
}}"
        ))
    };
    let transformation = DeadDataflowElimination::default();
    let apply_at = |before: &Sdfg, label: &str| {
        let is_there = |found: &Match| found.paths(before)[0].to_string() == format!("p/s/{label}");
        let found = places(before, &transformation).into_iter().find(is_there).expect("a match");
        let mut after = before.clone();
        let applied =
            apply(&mut after, &transformation, &found).map(|_| ()).map_err(|error| error.to_string());
        applied.map(|()| after)
    };
    let before = text("");
    let after = apply_at(&before, "between").expect("an application");
    let printed = sdfg::text::print(&after);
    assert!(printed.contains("order B -> u") && !printed.contains("between"), "{printed}");
    assert_eq!(difference(&before, &after), None, "{printed}");
    // One that nothing waits for, and one without edges.
    for idle in
        ["access idle = C\n  order last -> idle", "access idle = C\n  order idle -> t", "access idle = C"]
    {
        let before = text(idle);
        let after = apply_at(&before, "idle").expect("an application");
        let printed = sdfg::text::print(&after);
        assert!(!printed.contains("idle") && printed.contains("array C"), "{printed}");
        assert_eq!(difference(&before, &after), None, "{printed}");
    }
    // Each of two waits for each of three others: six edges in place of five.
    let many = text(
        "access hub = C
  access one = A
  access two = A
  tasklet v (x) -> (y) { y = x }
  tasklet w (x) -> (y) { y = x }
  tasklet q (x) -> (y) { y = x }
  access end = C
  order B -> hub
  order last -> hub
  order hub -> v
  order hub -> w
  order hub -> q
  one -> v.x: A[0]
  two -> w.x: A[0]
  two -> q.x: A[0]
  v.y -> end: C[0]
  w.y -> end: C[1]
  q.y -> end: C[2]",
    );
    assert!(apply_at(&many, "hub").expect_err("a refusal").contains("puts many nodes in order"));
}

/// The first access makes a transient: an access node that moves nothing tells its size.
#[test]
fn access_nodes_that_make_memory_stay() {
    let before = program(
        "transient array T: f64[k]
state first {}
-> make with (k = N)
state make {
  access T
}
-> one with (k = 1)
state one {
  access A
  access T
  A -> T: A[0] -> T[0]
}
-> rest with (k = N)
state rest {
  access A
  access T
  access B
  A -> T: A[1:N] -> T[1:N]
  T -> B: T[0:N] -> B[0:N]
}",
    );
    let transformation = DeadDataflowElimination::default();
    let is_there = |found: &Match| found.paths(&before)[0].to_string() == "p/make/T";
    let found = places(&before, &transformation).into_iter().find(is_there).expect("a match");
    let refused = apply(&mut before.clone(), &transformation, &found).expect_err("a refusal").to_string();
    assert!(refused.contains("has a size with `k`, which changes"), "{refused}");
    // Forced, the program reads and writes beyond its memory.
    let mut forced = before.clone();
    let mut editor = Editor::new(&mut forced);
    transformation.apply(&mut editor, &found).expect("edits");
    assert!(editor.commit().is_err() || difference(&before, &forced).is_some());
}

/// The size of a container keeps the parameter that goes.
#[test]
fn maps_of_one_iteration_that_size_containers_stay() {
    let before = program(
        "transient array T: f64[j + 1]
state s {
  access A
  access B
  map n [j = 0:1] {
    access T
    tasklet v (x) -> (y) { y = x + j }
    n.A -> v.x: A[j]
    v.y -> T: T[j]
    tasklet w (x) -> (y) { y = x }
    T -> w.x: T[j]
    w.y -> n.B: B[j]
  }
  A -> n.A
  n.B -> B
}",
    );
    for transformation in [
        &TrivialMapElimination::default() as &dyn Transformation,
        &MapUnroll::default() as &dyn Transformation,
    ] {
        assert!(refuses(&before, transformation).contains("`T` has a size with the parameter `j`"));
    }
}

/// A transient that is used in an iteration alone would begin anew in each one.
#[test]
fn access_nodes_that_tell_where_memory_lives_stay() {
    let before = program(
        "transient array T: f64[1]
state s {
  access A
  access B
  access T
  map m [i = 0:N] schedule(sequential) {
    access own = T
    tasklet t (x) -> (y) { y = x }
    tasklet u (x) -> (y) { y = x }
    m.A -> t.x: A[i]
    t.y -> own: T[0]
    own -> u.x: T[0]
    u.y -> m.B: B[i]
  }
  A -> m.A
  m.B -> B
  order T -> m
}",
    );
    let transformation = DeadDataflowElimination::default();
    let is_there = |found: &Match| found.paths(&before)[0].to_string() == "p/s/T";
    let found = places(&before, &transformation).into_iter().find(is_there).expect("a match");
    let refused = apply(&mut before.clone(), &transformation, &found).expect_err("a refusal").to_string();
    assert!(refused.contains("is used in scopes alone"), "{refused}");
}

/// A state that reads `A[k]`, behind transitions that set `k`.
fn with_symbol(transitions: &str) -> Sdfg {
    program(&format!(
        "state one {{}}
{transitions}
state two {{
  access A
  access B
  tasklet t (x) -> (y) {{ y = x }}
  A -> t.x: A[k]
  t.y -> B: B[0]
}}"
    ))
}

#[test]
fn values_of_symbols_that_are_set_once_are_propagated() {
    let transformation = SymbolPropagation::default();
    for value in ["0", "N - 1", "N // 2"] {
        let text = applies(&with_symbol(&format!("-> two with (k = {value})")), &transformation);
        assert!(!text.contains("k ="), "{text}");
    }
    let twice = with_symbol("-> two if N > 3 with (k = 0)\n-> two with (k = N - 1)");
    assert!(refuses_rightly(&twice, &transformation).contains("nothing else sets it"));
    // The program stops where it reads a symbol without a value. A value would let it go on.
    let sometimes = with_symbol("-> two if N > 3 with (k = 0)\n-> two");
    assert!(results(&sometimes, 2, Order::Fixed).is_err());
    assert!(refuses(&sometimes, &transformation).contains("every place that reads it sees this value"));
}

#[test]
fn blocks_that_never_run_are_removed() {
    let branch = |condition: &str| {
        program(&format!(
            "if q: {condition} {{
  state s {{
    access A
    access B
    A -> B
  }}
}}"
        ))
    };
    for condition in ["N < 0", "1 > 2", "not (N >= 0)", "False"] {
        let text = applies(&branch(condition), &DeadStateElimination::default());
        assert!(!text.contains("A -> B"), "{text}");
    }
    // This block runs for some sizes.
    let alive = branch("N > 3");
    assert!(refuses(&alive, &DeadStateElimination::default()).contains("may all be taken"));
    let mut forced = alive.clone();
    let mut editor = Editor::new(&mut forced);
    let block = editor.sdfg().find_block("s").expect("a block");
    editor.remove_block(block).expect("a removal");
    assert!(editor.commit().is_err() || difference(&alive, &forced).is_some());
}
