//! Loops like those of TSVC (Callahan, Dongarra, Levine: Vectorizing compilers, 1988), in both directions: LoopToMap takes those
//! whose iterations are independent, and the map gives the same results in every order; it refuses the others, and the map
//! that it refuses to make traps, is invalid or gives other results.

mod divided;
mod notation;

use notation::program;
use sdfg::edit::Editor;
use sdfg::interpret::{Arguments, Interpreter, Options, Order};
use sdfg::ir::Sdfg;
use sdfg::tensor::Tensor;
use sdfg::validate::validate;
use sdfg_transforms::rewrites::{LoopPeeling, LoopToMap, LoopUnroll, MapToForLoop, MoveLoopIntoMap};
use sdfg_transforms::{Match, TransformError, Transformation, apply, places};

/// Values of `N` and `K`. `K` is also one of the indices that symbolic distances name.
const SIZES: [(i64, i64); 3] = [(6, 1), (7, 2), (5, 4)];

fn arguments((n, k): (i64, i64)) -> Arguments {
    let vector = |seed: i64| {
        let values: Vec<f64> = (0..3 * n).map(|i| ((i * 7 + seed * 5) % 11 - 5) as f64 * 0.5).collect();
        Tensor::vector(&values)
    };
    let matrix = |seed: i64| {
        let values: Vec<f64> = (0..n * n).map(|i| ((i * 3 + seed) % 13 - 6) as f64 * 0.25).collect();
        Tensor::new(&[n, n], &values).expect("a matrix")
    };
    let mut arguments = Arguments::new().with_symbol("N", n).with_symbol("K", k);
    for (seed, name) in ["a", "b", "c", "d", "e"].into_iter().enumerate() {
        arguments.set(name, vector(seed as i64));
    }
    arguments.set("aa", matrix(1)).set("bb", matrix(2));
    arguments
}

/// The results of a program, or why it has none.
fn results(program: &Sdfg, sizes: (i64, i64), order: Order) -> Result<Arguments, String> {
    let valid = validate(program.clone()).map_err(|rejected| format!("{:?}", rejected.diagnostics))?;
    let mut interpreter = Interpreter::new(&valid).map_err(|error| error.to_string())?;
    let mut arguments = arguments(sizes);
    let options = Options { order, ..Options::default() };
    interpreter.run(&mut arguments, &options).map_err(|error| error.to_string())?;
    Ok(arguments)
}

fn same(a: &Arguments, b: &Arguments) -> bool {
    a.tensors().all(|(name, tensor)| b.get(name) == Some(tensor))
}

/// The first difference between a program and a rewritten one; both are run in the fixed order and in random ones.
fn difference(before: &Sdfg, after: &Sdfg) -> Option<String> {
    for sizes in SIZES {
        let expected = results(before, sizes, Order::Fixed).unwrap_or_else(|error| panic!("{error}"));
        for order in [Order::Fixed, Order::Random(1), Order::Random(2), Order::Random(3)] {
            match results(after, sizes, order) {
                Ok(found) if same(&expected, &found) => {}
                Ok(_) => return Some(format!("results differ for {sizes:?} in {order:?}")),
                Err(error) => return Some(error),
            }
        }
    }
    None
}

fn first_match(program: &Sdfg, transformation: &dyn Transformation) -> Match {
    places(program, transformation).into_iter().next().expect("a match")
}

/// Rewrites without a check.
fn force(before: &Sdfg, transformation: &dyn Transformation) -> Result<Sdfg, String> {
    let found = first_match(before, transformation);
    let mut forced = before.clone();
    let mut editor = Editor::new(&mut forced);
    transformation.apply(&mut editor, &found).map_err(|error| error.to_string())?;
    editor.commit().map_err(|error| error.to_string())?;
    Ok(forced)
}

const TAKEN: &[(&str, &str)] = &[
    ("s000", "for i = 0:N {; a[i] = b[i] + 1; }"),
    ("s111 strided", "for i = 1:N:2 {; a[i] = a[i - 1] + b[i]; }"),
    ("s1111 strided writes", "for i = 0:N {; a[2*i] = c[i] * b[i] + d[i]; }"),
    ("s112 reversed without a dependence", "for i = N - 1:-1:-1 {; a[i + 1] = b[i] + c[i]; }"),
    ("s113 one element read, others written", "for i = 1:N {; a[i] = a[0] + b[i]; }"),
    ("s1113 element outside of the range", "for i = 0:N {; a[i] = a[2*N] + b[i]; }"),
    ("s114 triangle", "for i = 0:N {; for j = 0:i {; aa[i, j] = bb[j, i] + 1; }; }"),
    ("s119 rows", "for i = 0:N {; for j = 1:N {; aa[i, j] = aa[i, j - 1] + bb[i, j]; }; }"),
    ("s121 halves", "for i = 0:N {; a[i] = a[i + N] + b[i]; }"),
    ("s122 far halves", "for i = 0:N {; a[i + N] = a[i] + a[i + 2*N]; }"),
    ("s127 pairs", "for i = 0:N {; a[2*i] = b[i] + c[i]; a[2*i + 1] = b[i] + d[i]; }"),
    (
        "s1279 nested conditions",
        "for i = 0:N {; if a[i] < 0 {; if b[i] > a[i] {; c[i] = c[i] + d[i]; }; }; }",
    ),
    ("s131 even and odd", "for i = 0:N {; a[2*i] = a[2*i + 1] + b[i]; }"),
    ("s132 columns", "for j = 1:N {; aa[0, j] = aa[1, j - 1] + b[j]; }"),
    ("s151 whole rows", "for i = 0:N {; for j = 0:N {; aa[i, j] = aa[i, j] + bb[i, j]; }; }"),
    ("s152 two statements", "for i = 0:N {; b[i] = d[i] * e[i]; a[i] = a[i] + b[i]; }"),
    ("s1251 scalar expansion", "for i = 0:N {; s = b[i] + c[i]; b[i] = a[i] + d[i]; a[i] = s * e[i]; }"),
    ("s251 private scalar", "for i = 0:N {; s = b[i] + c[i] * d[i]; a[i] = s * s; }"),
    (
        "s253 private scalar under a condition",
        "for i = 0:N {; if a[i] > b[i] {; s = a[i] - b[i] * d[i]; c[i] = c[i] + s; a[i] = s; }; }",
    ),
    ("s271 condition", "for i = 0:N {; if b[i] > 0 {; a[i] = a[i] + b[i] * c[i]; }; }"),
    (
        "s272 two under a condition",
        "for i = 0:N {; if e[i] >= 1 {; a[i] = a[i] + c[i] * d[i]; b[i] = b[i] + c[i] * c[i]; }; }",
    ),
    (
        "s273 condition on what is written",
        "for i = 0:N {; a[i] = a[i] + d[i]; if a[i] < 0 {; b[i] = b[i] + d[i]; }; c[i] = c[i] + a[i] * d[i]; }",
    ),
    (
        "s274 both arms by two conditions",
        "for i = 0:N {; a[i] = c[i] + e[i]; if a[i] > 0 {; b[i] = a[i] + b[i]; }; if a[i] <= 0 {; a[i] = d[i] * e[i]; }; }",
    ),
    (
        "s275 condition around an inner loop",
        "for i = 0:N {; if aa[i, 0] > 0 {; for j = 1:N {; aa[i, j] = aa[i, j - 1] + bb[i, j]; }; }; }",
    ),
    ("s281 reversal of the upper part", "for i = 0:N {; a[i] = a[3*N - 1 - i] + b[i]; }"),
    ("s291 reversed reads of another array", "for i = 0:N {; a[i] = b[N - 1 - i]; }"),
    ("s311 sum by resolution", "s = 0; for i = 0:N {; s += a[i]; }; e[0] = s"),
    ("s3111 conditional sum", "s = 0; for i = 0:N {; if a[i] > 0 {; s += a[i]; }; }; e[0] = s"),
    ("s312 sums per row", "for i = 0:N {; for j = 0:N {; a[i] += aa[i, j]; }; }"),
    ("s313 histogram of a symbol", "for i = 0:N {; a[i % 3] += b[i]; }"),
    ("s4112 symbolic offset of another array", "for i = 0:N {; a[i] = b[i + K] + 1; }"),
    ("s172 last row", "for i = 0:N {; aa[N - 1, i] = bb[0, i]; }"),
    ("s173 halves, backwards", "for i = N - 1:-1:-1 {; a[i + N] = a[i] + b[i]; }"),
    ("s174 far block", "for i = 0:N {; a[i + 2*N] = a[i] + a[i + N]; }"),
    ("s175 thirds", "for i = 0:N {; a[3*i] = a[3*i + 1] + a[3*i + 2]; }"),
    (
        "s176 inner reduction",
        "for i = 0:N {; s = 0; for j = 0:N {; s = s + aa[i, j] * bb[j, i]; }; a[i] = s; }",
    ),
    (
        "s231 columns of a recurrence",
        "for i = 0:N {; for j = 1:N {; aa[j, i] = aa[j - 1, i] + bb[j, i]; }; }",
    ),
    (
        "s233 two inner loops",
        "for i = 0:N {; for j = 1:N {; aa[j, i] = aa[j - 1, i] + 1; }; for j = 0:N {; bb[j, i] = aa[j, i]; }; }",
    ),
    ("s234 the symbol again", "for i = 0:N {; a[i] = b[i]; }; for i = 0:N {; c[i] = a[i]; }"),
    ("s343 bound by a symbol", "for i = K:N {; a[i] = b[i - K]; }"),
    ("s351 unrolled by hand", "for i = 0:N:2 {; a[i] = b[i]; a[i + 1] = b[i + 1]; }"),
    ("s353 offsets within the step", "for i = 0:N:3 {; a[i] = a[i + 2] + a[i + 1]; }"),
    ("s421 alias of nothing", "for i = 0:N {; a[i] = a[i] * 2; }"),
    ("s431 constant distance of zero", "for i = 0:N {; a[i + 2] = a[i + 2] + b[i]; }"),
    (
        "s441 three arms",
        "for i = 0:N {; if d[i] < 0 {; a[i] = a[i] + b[i]; }; if d[i] >= 0 {; a[i] = a[i] + c[i]; }; }",
    ),
    ("s452 the symbol as a value", "for i = 0:N {; a[i] = b[i] + c[i] * (i + 1); }"),
    ("s471 writes to two arrays", "for i = 0:N {; a[i] = b[i] + d[i]; b[i] = c[i] + d[i] * e[i]; }"),
];

/// Refused loops. A name that begins with `?` marks one that is right for the values of the test: the loop cannot be decided.
const REFUSED: &[(&str, &str)] = &[
    ("s112 carried, reversed", "for i = N - 1:0:-1 {; a[i] = a[i + 1] + b[i]; }"),
    ("s321 recurrence", "for i = 1:N {; a[i] = a[i - 1] + b[i]; }"),
    ("s322 second order", "for i = 2:N {; a[i] = a[i] + a[i - 1] * b[i] + a[i - 2] * c[i]; }"),
    ("anti-dependence", "for i = 0:N {; a[i] = a[i + 1] + b[i]; }"),
    ("s211 two statements", "for i = 1:N {; a[i] = b[i - 1] + c[i]; b[i] = b[i + 1] - e[i]; }"),
    ("s212 anti-dependence of two", "for i = 0:N {; a[i] = a[i] * c[i]; b[i] = b[i] + a[i + 1] * d[i]; }"),
    ("s221 partial recurrence", "for i = 1:N {; a[i] = a[i] + c[i] * d[i]; b[i] = b[i - 1] + a[i] + d[i]; }"),
    (
        "s222 recurrence in the middle",
        "for i = 1:N {; a[i] = a[i] + b[i] * c[i]; e[i] = e[i - 1] * e[i - 1]; a[i] = a[i] - b[i]; }",
    ),
    ("s2244 output dependence", "for i = 0:N {; a[i + 1] = b[i] + e[i]; a[i] = b[i] + c[i]; }"),
    (
        "s241 anti-dependence behind a statement",
        "for i = 0:N {; a[i] = b[i] * c[i]; b[i] = a[i] * a[i + 1] * d[i]; }",
    ),
    ("s242 recurrence by a sum", "for i = 1:N {; a[i] = a[i - 1] + 0.5 + b[i] + c[i]; }"),
    (
        "s243 anti-dependence",
        "for i = 0:N {; a[i] = b[i] + c[i]; b[i] = a[i] + d[i]; a[i] = b[i] + a[i + 1]; }",
    ),
    (
        "s244 output dependence",
        "for i = 0:N {; a[i] = b[i] + c[i]; b[i] = c[i] + b[i]; a[i + 1] = b[i] + a[i + 1]; }",
    ),
    (
        "s252 scalar from the iteration before",
        "t = 0; for i = 0:N {; s = b[i] * c[i]; a[i] = s + t; t = s; }",
    ),
    ("s254 carry around", "s = b[N - 1]; for i = 0:N {; a[i] = (b[i] + s) * 0.5; s = b[i]; }"),
    ("s255 two carries", "s = b[0]; t = b[1]; for i = 0:N {; a[i] = b[i] + s + t; t = s; s = b[i]; }"),
    (
        "s256 one row for all",
        "for i = 0:N {; for j = 1:N {; a[j] = 1 - a[j - 1]; aa[j, i] = a[j] + bb[j, i]; }; }",
    ),
    (
        "s257 vector for all",
        "for i = 1:N {; for j = 0:N {; a[i] = aa[j, i] - a[i - 1]; aa[j, i] = a[i] + bb[j, i]; }; }",
    ),
    (
        "s258 conditional carry",
        "s = 0; for i = 0:N {; if a[i] > 0 {; s = d[i] * d[i]; }; b[i] = s * c[i] + d[i]; }",
    ),
    (
        "s261 carry through a scalar",
        "for i = 1:N {; s = a[i] + b[i]; a[i] = s + c[i - 1]; s = c[i] * d[i]; c[i] = s; }",
    ),
    (
        "s277 condition and recurrence",
        "for i = 0:N {; if a[i] < 99 {; a[i] = a[i] + c[i] * d[i]; b[i + 1] = c[i] + d[i] * b[i]; }; }",
    ),
    ("condition on the iteration before", "for i = 1:N {; if a[i - 1] > 0 {; a[i] = 0 - b[i]; }; }"),
    ("condition on the next iteration", "for i = 0:N {; if a[i + 1] > 0 {; a[i] = b[i] - 3; }; }"),
    ("condition on one element", "for i = 0:N {; if a[3] > 0 {; a[i] = b[i] - 3; }; }"),
    ("s281 crossing", "for i = 0:N {; a[i] = a[N - 1 - i] + b[i]; }"),
    ("s2811 crossing in the middle of odd sizes", "for i = 0:N - 1 {; a[i] = a[N - i] * 2; }"),
    ("s1213 crossing of two arrays", "for i = 1:N {; a[i] = b[i - 1] + c[i]; b[i] = a[i + 1] * d[i]; }"),
    (
        "s232 triangle recurrence",
        "for i = 1:N {; for j = 1:N {; aa[i, j] = aa[i - 1, j] * 0.5 + bb[i, j]; }; }",
    ),
    ("diagonal", "for i = 1:N {; for j = 1:N {; aa[i, j] = aa[i - 1, j - 1] + bb[i, j]; }; }"),
    ("s1119 columns read by rows", "for i = 1:N {; for j = 0:N {; aa[i, j] = aa[i - 1, j] + bb[i, j]; }; }"),
    ("transposition in place", "for i = 0:N {; for j = 0:N {; aa[i, j] = aa[j, i] + 1; }; }"),
    ("one element written by all", "for i = 0:N {; a[0] = b[i]; }"),
    ("sum by hand", "s = 0; for i = 0:N {; s = s + a[i]; }; e[0] = s"),
    ("last value of a scalar", "s = 0; for i = 0:N {; s = a[i]; }; e[0] = s"),
    ("sum read in the loop", "s = 0; for i = 0:N {; s += a[i]; b[i] = s; }"),
    ("s123 strides that meet", "for i = 0:N {; a[2*i] = a[i] + 1; }"),
    ("strides of two and three", "for i = 0:N {; a[2*i] = a[3*i] + b[i]; }"),
    ("stride shorter than the distance", "for i = 0:N:2 {; a[i + 2] = a[i] + 1; }"),
    ("writes within the step of the next", "for i = 0:N:2 {; a[i] = b[i]; a[i + 2] = c[i]; }"),
    ("?distance of an unknown sign", "for i = 0:N {; a[i] = a[i + N + K] + 1; }"),
    ("s431 symbolic distance", "for i = 0:N {; a[i + K] = a[i] + b[i]; }"),
    ("symbolic distance backwards", "for i = N - 1:-1:-1 {; a[i] = a[i + K] + b[i]; }"),
    ("symbolic stride", "for i = 0:N {; a[(K - 1)*i] = b[i]; }"),
    ("?symbolic stride of a read", "for i = 0:2 {; a[K*i] = a[K*i*i] + 1; }"),
    ("symbolic element", "for i = 0:N {; a[i] = a[K] + b[i]; }"),
    ("remainders", "for i = 0:N {; a[i % 3] = b[i]; }"),
    ("quotients", "for i = 0:N {; a[i // 2] = b[i]; }"),
    ("squares that meet", "for i = 0:N {; a[(i - 2) * (i - 2)] = b[i]; }"),
    ("symbol read after the loop", "for i = 0:N {; a[i] = b[i]; }; c[i] = 1"),
    ("left early", "for i = 0:N {; if a[i] > 1 {; break; }; b[i] = a[i] + 1; }"),
    ("s141 packed triangle of another row", "for i = 1:N {; for j = 0:i {; aa[i, j] = aa[j, 0] + 1; }; }"),
    ("private only under a condition", "s = 1; for i = 0:N {; if b[i] > 0 {; s = b[i]; }; a[i] = s; }"),
];

#[test]
fn loops_with_independent_iterations_become_maps() {
    assert!(TAKEN.len() >= 40);
    let mut wrong = Vec::new();
    for (name, lines) in TAKEN {
        let before = program(lines);
        let mut after = before.clone();
        // A loop whose results come from a loop before it stands behind it.
        let found = first_match(&before, &LoopToMap::default());
        match apply(&mut after, &LoopToMap::default(), &found) {
            Ok(application) => {
                wrong.extend(difference(&before, &after).map(|what| format!("{name}: {what}")));
                for fact in &application.evidence.facts {
                    for (n, k) in SIZES {
                        let holds = fact.claim.holds(&|symbol| match symbol.as_str() {
                            "N" => Some(n),
                            "K" => Some(k),
                            _ => None,
                        });
                        if holds == Some(false) {
                            wrong.push(format!("{name}: `{fact}` does not hold for N = {n}, K = {k}"));
                        }
                    }
                }
            }
            Err(error) => wrong.push(format!("{name}: {error}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn loops_with_dependent_iterations_are_refused_and_would_be_wrong() {
    assert!(REFUSED.len() >= 40);
    let mut wrong = Vec::new();
    for (name, lines) in REFUSED {
        let before = program(lines);
        let mut after = before.clone();
        let found = first_match(&before, &LoopToMap::default());
        match apply(&mut after, &LoopToMap::default(), &found) {
            Err(TransformError::Refused { .. }) => {}
            Err(error) => wrong.push(format!("{name}: {error}")),
            Ok(_) => wrong.push(format!("{name}: taken")),
        }
        let is_right =
            force(&before, &LoopToMap::default()).is_ok_and(|forced| difference(&before, &forced).is_none());
        if is_right != name.starts_with('?') {
            let word = if is_right { "right" } else { "wrong" };
            wrong.push(format!("{name}: the forced map is {word}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Applies a transformation to the first match in each loop that it takes, and counts these.
fn applied(transformation: &dyn Transformation, loops: &[(&str, &str)]) -> (usize, Vec<String>) {
    let (mut count, mut wrong) = (0, Vec::new());
    for (name, lines) in loops {
        let before = program(lines);
        for found in places(&before, transformation) {
            let mut after = before.clone();
            match apply(&mut after, transformation, &found) {
                Ok(_) => {
                    count += 1;
                    wrong.extend(difference(&before, &after).map(|what| format!("{name}: {what}")));
                }
                Err(TransformError::Refused { .. }) => {}
                Err(error) => wrong.push(format!("{name}: {error}")),
            }
        }
    }
    (count, wrong)
}

#[test]
fn peeled_and_unrolled_loops_give_the_same_results() {
    for loops in [TAKEN, REFUSED] {
        for count in [1, 3] {
            let (count, wrong) = applied(&LoopPeeling { count }, loops);
            assert!(wrong.is_empty(), "{}", wrong.join("\n"));
            assert!(count >= 40, "{count}");
        }
    }
    let numbers: Vec<(&str, String)> =
        TAKEN.iter().chain(REFUSED).map(|(name, lines)| (*name, lines.replace('N', "5"))).collect();
    let numbers: Vec<(&str, &str)> = numbers.iter().map(|(name, lines)| (*name, lines.as_str())).collect();
    let numbers: Vec<(&str, &str)> = numbers.into_iter().filter(|(_, lines)| !lines.contains("aa")).collect();
    let (count, wrong) = applied(&LoopUnroll::default(), &numbers);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 40, "{count}");
}

/// The iteration that is peeled and never runs may access what is not there.
#[test]
fn iterations_that_a_loop_never_has_are_peeled() {
    let text = "sdfg p {
  array a: f64[1]
  for l: i = 0:1 {
    state s {
      access a
      tasklet t () -> (y) { y = 1 }
      t.y -> a: a[i]
    }
  }
}";
    let before = sdfg::text::parse("p.sdft", text).unwrap_or_else(|errors| panic!("{errors:?}"));
    let twice = LoopPeeling { count: 2 };
    let mut after = before.clone();
    let found = first_match(&before, &twice);
    apply(&mut after, &twice, &found).unwrap_or_else(|error| panic!("{error}"));
    assert!(sdfg::validate::validate(after.clone()).is_ok(), "{}", sdfg::text::print(&after));
}

/// Accesses in a strided range that provably has no values, as splits of tiles leave them, are no accesses out of bounds.
#[test]
fn strided_maps_without_values_are_valid() {
    let text = |range: &str| {
        format!(
            "sdfg p {{
  symbol N: i64
  array a: f64[min(N, 5)]
  state s {{
    access a
    map tiles [t = {range}] {{
      map m [i = t:min(N, t + 64, 5)] {{
        tasklet f () -> (y) {{ y = 1.0 }}
        f.y -> m.a: a[i + 64]
      }}
      m.a -> tiles.a
    }}
    tiles.a -> a
  }}
}}"
        )
    };
    let is_valid = |range: &str| {
        let program = sdfg::text::parse("p.sdft", &text(range)).unwrap_or_else(|errors| panic!("{errors:?}"));
        sdfg::validate::validate(program).is_ok()
    };
    assert!(is_valid("64:min(N, 5):64") && !is_valid("0:min(N, 5):64"));
}

/// Maps of loops become loops again, with the results of the start.
#[test]
fn maps_become_loops_again() {
    let mut wrong = Vec::new();
    for (name, lines) in TAKEN {
        let before = program(lines);
        let mut after = before.clone();
        let found = first_match(&before, &LoopToMap::default());
        apply(&mut after, &LoopToMap::default(), &found).expect("a map");
        let map = first_match(&after, &MapToForLoop::default());
        match apply(&mut after, &MapToForLoop::default(), &map) {
            Ok(_) => wrong.extend(difference(&before, &after).map(|what| format!("{name}: {what}"))),
            Err(error) => wrong.push(format!("{name}: {error}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A loop that reads `a` through a view and writes `target`.
fn with_view(target: &str, rest: &str) -> Sdfg {
    let text = format!(
        "sdfg p {{
  symbol N: i64
  symbol K: i64
  array a: f64[3*N]
  array b: f64[3*N]
  array c: f64[3*N]
  array d: f64[3*N]
  array e: f64[3*N]
  array aa: f64[N, N]
  array bb: f64[N, N]
  view v: f64[N]
  for l: i = 1:N {{
    state s {{
      access a
      access v
      access w = {target}
      map m [j = 0:1] {{
        tasklet t (x) -> (y) {{ y = 2 * x }}
        m.v -> t.x: v[0]
        t.y -> m.w: {target}[i]
      }}
      bind a -> v: a[i - 1:N + i - 1]
      v -> m.v
      m.w -> w
    }}
    {rest}
  }}
}}"
    );
    sdfg::text::parse("views.sdft", &text).unwrap_or_else(|errors| panic!("{text}\n{errors:?}"))
}

/// A symbol that an iteration sets may size views of the iteration.
#[test]
fn sizes_that_iterations_set_move_along() {
    let text = "sdfg p {
  symbol N: i64
  symbol K: i64
  array a: f64[3*N]
  array b: f64[3*N]
  array c: f64[3*N]
  array d: f64[3*N]
  array e: f64[3*N]
  array aa: f64[N, N]
  array bb: f64[N, N]
  view v: f64[k]
  for l: i = 0:N {
    state s {}
    -> r with (k = i + 1)
    state r {
      access a
      access v
      access b
      bind a -> v: a[i:i + k]
      v -> b: v[k - 1] -> b[i]
    }
  }
}";
    // A view of a view only reads, too.
    let twice = text
        .replace("  view v: f64[k]", "  view v: f64[k]\n  view w: f64[k]")
        .replace("v -> b: v[k - 1]", "access w\nbind v -> w: v[0:k]\nw -> b: w[k - 1]");
    for text in [text, &twice] {
        let before = sdfg::text::parse("sizes.sdft", text).unwrap_or_else(|errors| panic!("{errors:?}"));
        let mut after = before.clone();
        let found = first_match(&before, &LoopToMap::default());
        apply(&mut after, &LoopToMap::default(), &found).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(difference(&before, &after), None, "{}", sdfg::text::print(&after));
    }
    // What the view of the view is written to is the array.
    let written = twice.replace("w -> b: w[k - 1] -> b[i]", "b -> w: b[i] -> w[k - 1]");
    let before = sdfg::text::parse("sizes.sdft", &written).unwrap_or_else(|errors| panic!("{errors:?}"));
    let found = first_match(&before, &LoopToMap::default());
    let refused = apply(&mut before.clone(), &LoopToMap::default(), &found);
    assert!(matches!(refused, Err(TransformError::Refused { .. })), "{refused:?}");
}

#[test]
fn loops_that_read_through_views_become_maps() {
    let second = "-> r\nstate r {\naccess c\naccess q = b\nc -> q: c[i] -> b[N + i]\n}";
    for before in [with_view("b", ""), with_view("b", second)] {
        let mut after = before.clone();
        let found = first_match(&before, &LoopToMap::default());
        apply(&mut after, &LoopToMap::default(), &found).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(difference(&before, &after), None, "{}", sdfg::text::print(&after));
    }
    // The view shows what the loop writes: in the state itself, or in another one.
    let written = "-> r\nstate r {\naccess c\naccess q = a\nc -> q: c[i] -> a[i + 1]\n}";
    for before in [with_view("a", ""), with_view("b", written)] {
        let found = first_match(&before, &LoopToMap::default());
        let refused = apply(&mut before.clone(), &LoopToMap::default(), &found);
        assert!(matches!(refused, Err(TransformError::Refused { .. })), "{refused:?}");
    }
}

/// A loop of two states, of which the transition between them sets `k`.
fn with_symbol(first: &str, value: &str) -> Sdfg {
    let text = format!(
        "sdfg p {{
  symbol N: i64
  symbol K: i64
  array a: f64[3*N]
  array b: f64[3*N]
  array c: f64[3*N]
  array d: f64[3*N]
  array e: f64[3*N]
  array aa: f64[N, N]
  array bb: f64[N, N]
  state begin {{}}
  -> l with (k = {first})
  for l: i = 0:N {{
    state one {{}}
    -> two with (k = {value})
    state two {{
      access a
      access b
      tasklet t (x) -> (y) {{ y = 2 * x }}
      b -> t.x: b[k]
      t.y -> a: a[i]
    }}
  }}
}}"
    );
    sdfg::text::parse("symbol.sdft", &text).unwrap_or_else(|errors| panic!("{errors:?}"))
}

/// Symbols that an iteration sets stay in the call that the map makes; symbols that come from the iteration before refuse
/// (spcl/dace issue 2382).
#[test]
fn symbols_of_an_iteration_stay_in_it() {
    let transformation = LoopToMap::default();
    let before = with_symbol("0", "2*i");
    let mut after = before.clone();
    apply(&mut after, &transformation, &first_match(&before, &transformation)).expect("a map");
    let what = difference(&before, &after);
    assert!(what.is_none(), "{what:?}");
    let before = with_symbol("0", "k + 1");
    let refused = apply(&mut before.clone(), &transformation, &first_match(&before, &transformation));
    let message = refused.expect_err("a refusal").to_string();
    assert!(message.contains("reads `k` in an iteration before it is set there"), "{message}");
    let is_right = force(&before, &transformation).is_ok_and(|forced| difference(&before, &forced).is_none());
    assert!(!is_right, "the forced map is right");
}

/// A loop over `k` around a map over `i`, whose tasklet computes `value` of `x`.
fn steps(write: &str, read: &str, range: &str) -> Sdfg {
    let text = format!(
        "sdfg p {{
  symbol N: i64
  symbol K: i64
  array a: f64[3*N]
  array b: f64[3*N]
  array c: f64[3*N]
  array d: f64[3*N]
  array e: f64[3*N]
  array aa: f64[N, N]
  array bb: f64[N, N]
  for l: k = 0:N {{
    state s {{
      access r = {0}
      access w = {1}
      map m [i = {range}] {{
        tasklet t (x) -> (y) {{ y = 0.5 * x + k }}
        m.r -> t.x: {read}
        t.y -> m.w: {write}
      }}
      r -> m.r
      m.w -> w
    }}
  }}
}}",
        read.split('[').next().unwrap_or_default(),
        write.split('[').next().unwrap_or_default(),
    );
    sdfg::text::parse("steps.sdft", &text).unwrap_or_else(|errors| panic!("{errors:?}"))
}

#[test]
fn loops_move_into_maps_whose_iterations_are_apart_in_all_steps() {
    let transformation = MoveLoopIntoMap::default();
    for (write, read) in
        [("a[i]", "a[i]"), ("aa[k, i]", "b[i]"), ("aa[k, i]", "aa[0, i]"), ("a[i]", "b[i + 1]")]
    {
        let before = steps(write, read, "0:N");
        let mut after = before.clone();
        let found = first_match(&before, &transformation);
        apply(&mut after, &transformation, &found)
            .unwrap_or_else(|error| panic!("{write} = {read}: {error}"));
        let what = difference(&before, &after);
        assert!(what.is_none(), "{write} = {read}: {what:?}\n{}", sdfg::text::print(&after));
    }
    for (write, read) in
        [("a[i + k]", "b[i]"), ("a[2*i - k + N]", "b[i]"), ("aa[k, i]", "aa[(k + 1) % N, (i + 1) % N]")]
    {
        let before = steps(write, read, "0:N");
        let found = first_match(&before, &transformation);
        let refused = apply(&mut before.clone(), &transformation, &found);
        assert!(matches!(refused, Err(TransformError::Refused { .. })), "{write} = {read}: {refused:?}");
        let is_right =
            force(&before, &transformation).is_ok_and(|forced| difference(&before, &forced).is_none());
        assert!(!is_right, "{write} = {read}: the forced rewrite is right");
    }
    let before = steps("aa[k, i]", "b[i]", "0:k");
    let found = first_match(&before, &transformation);
    let message = apply(&mut before.clone(), &transformation, &found).expect_err("a refusal").to_string();
    assert!(message.contains("depends on `k`"), "{message}");
}

/// Each iteration of the map has its own element, whatever the loop does.
#[test]
fn loops_move_into_maps_with_transients_of_an_iteration() {
    let text = sdfg::text::print(&steps("a[i]", "a[i]", "0:N"));
    let text = text
        .replace("array aa:", "transient array T: f64[1]\n  array aa:")
        .replace(
            "t.y -> m.w: a[i]",
            "access T\n        tasklet u (z) -> (v) { v = 2 * z }\n        t.y -> T: T[0]\n        T -> u.z: T[0]\n        u.v -> m.w: a[i]",
        );
    let before = sdfg::text::parse("steps.sdft", &text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    assert!(text.contains("u.v -> m.w"), "{text}");
    let mut after = before.clone();
    let transformation = MoveLoopIntoMap::default();
    apply(&mut after, &transformation, &first_match(&before, &transformation)).expect("a rewrite");
    let wrong = difference(&before, &after);
    assert!(wrong.is_none(), "{wrong:?}\n{}", sdfg::text::print(&after));
}
