//! A wrong rewrite is found, reduced to a small program, and a right one passes.

use std::collections::BTreeMap;

use sdfg::edit::Editor;
use sdfg::interpret::{Arguments, Options};
use sdfg::ir::{NodeKind, Sdfg};
use sdfg::tensor::Tensor;

use super::{Assumed, Difference, Verifier, reproducer};
use crate::rewrites::MapTiling;
use crate::{Conditions, Pipeline, Soundness};

const PROGRAM: &str = "sdfg p {
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  array total: f64[1]
  state clear {
    access total
    tasklet zero () -> (o) { o = 0.0 }
    zero.o -> total: total[0]
  }
  state s {
    access A
    access B
    access total
    map shift [i = 0:N - 1] {
      tasklet t (x) -> (y, z) { y = 3 * x; z = x / 3 }
      shift.A -> t.x: A[i + 1]
      t.y -> shift.B: B[i]
      t.z -> shift.total: total[0] wcr(sum)
    }
    A -> shift.A
    shift.B -> B
    shift.total -> total
  }
}
";

fn program() -> Sdfg {
    sdfg::text::parse("p.sdft", PROGRAM).unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn verifier(program: &Sdfg) -> Verifier<'static> {
    Verifier::of(program, &BTreeMap::new(), &Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Leaves out the last iteration of each map.
fn one_short(program: &mut Sdfg) -> bool {
    let mut shorter = Vec::new();
    for (state, graph) in program.states() {
        for (node, found) in graph.nodes() {
            if let NodeKind::MapEntry(map) = &found.kind {
                let mut map = map.clone();
                let range = &mut map.ranges.0[0];
                range.end = range.end.clone() - range.step.clone();
                shorter.push((state, node, map));
            }
        }
    }
    let changes = !shorter.is_empty();
    let mut editor = Editor::new(program);
    for (state, node, map) in shorter {
        editor.replace_node(state, node, NodeKind::MapEntry(map)).unwrap_or_else(|error| panic!("{error}"));
    }
    editor.commit().is_ok() && changes
}

#[test]
fn a_right_rewrite_passes_up_to_rounding() {
    let verifier = verifier(&program());
    let mut pipeline = Pipeline::on(program());
    pipeline.apply(MapTiling::new([3]).at("s/shift")).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(verifier.check(pipeline.program(), Soundness::ChangesRounding), Ok(()));
    assert_eq!(verifier.check(&program(), Soundness::Always), Ok(()));
}

#[test]
fn a_wrong_rewrite_is_found_at_an_element() {
    let mut wrong = program();
    assert!(one_short(&mut wrong));
    let found = verifier(&program()).check(&wrong, Soundness::ChangesRounding);
    assert!(matches!(&found, Err(Difference::Result { container, .. }) if container == "B"), "{found:?}");
}

#[test]
fn rewrites_that_stop_or_are_invalid_are_wrong() {
    let beyond = PROGRAM.replace("0:N - 1]", "0:N]");
    let outside = sdfg::text::parse("p.sdft", &beyond).unwrap_or_else(|errors| panic!("{errors:?}"));
    let found = verifier(&program()).check(&outside, Soundness::Always);
    assert!(matches!(found, Err(Difference::Stopped { .. } | Difference::Invalid(_))), "{found:?}");
}

#[test]
fn given_symbols_have_their_values() {
    let fixed = BTreeMap::from([(sdfg::symbolic::Symbol::of("N"), 5)]);
    let verifier =
        Verifier::of(&program(), &fixed, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(verifier.inputs().symbols().collect::<Vec<_>>(), [("N", 5)]);
}

/// The values of symbols of inputs that meet assumptions.
fn meeting(declared: &str, given: &[(&str, i64)], assume: &[&str]) -> Result<Vec<(String, i64)>, String> {
    let text = format!("sdfg p {{\n{declared}  state s {{ }}\n}}");
    let program = sdfg::text::parse("p.sdft", &text).unwrap_or_else(|errors| panic!("{errors:?}"));
    let conditions = Conditions::assuming(assume.iter().copied());
    let assumed = Assumed::of(&program, [&conditions]);
    let given = given.iter().map(|(name, value)| (sdfg::symbolic::Symbol::of(name), *value)).collect();
    let verifier = Verifier::under(&program, &given, &assumed, &Options::default())
        .map_err(|error| error.to_string())?;
    Ok(verifier.inputs().symbols().map(|(name, value)| (name.to_owned(), value)).collect())
}

#[test]
fn inputs_meet_assumptions() {
    let declared = "  symbol N: i64\n  symbol M: i64\n  symbol k: i64\n  array A: f64[N, M]\n";
    let holds = |given: &[(&str, i64)], assume: &[&str], test: fn(i64, i64, i64) -> bool| {
        let found = meeting(declared, given, assume).unwrap_or_else(|error| panic!("{assume:?}: {error}"));
        let value = |name: &str| found.iter().find(|(own, _)| own == name).expect("a symbol").1;
        assert!(test(value("N"), value("M"), value("k")), "{assume:?}: {found:?}");
    };
    holds(&[], &["N == 7"], |n, _, _| n == 7);
    holds(&[], &["N > 300"], |n, _, _| n > 300);
    holds(&[], &["N < 3"], |n, _, _| n < 3);
    holds(&[], &["3 >= N and M != N"], |n, m, _| n <= 3 && m != n);
    holds(&[], &["k >= N", "k > 2 * M"], |n, m, k| k >= n && k > 2 * m);
    holds(&[("N", 5)], &["N == M", "k < -N"], |n, m, k| n == 5 && m == 5 && k < -5);
    holds(&[], &["N % 12 == 0", "M % 7 == 3"], |n, m, _| n % 12 == 0 && m % 7 == 3);
    holds(&[], &["N >= 1000", "N == M"], |n, m, _| n >= 1000 && m == n);
    let strided =
        "  symbol N: i64\n  symbol M: i64\n  symbol k: i64\n  array A: f64[N, M] strides(k, 1) size(N * k)\n";
    let found = meeting(strided, &[], &["k > M"]).unwrap_or_else(|error| panic!("{error}"));
    // In alphabetical order: M, N, k.
    assert!(found[0].1 > 1 && found[2].1 > found[0].1, "{found:?}");
    let error = meeting(declared, &[], &["N * N == 2"]).expect_err("no number");
    assert!(error.contains("meet the assumption `N * N == 2`"), "{error}");
    let error = meeting(declared, &[("N", 5), ("k", 1)], &["N <= 5", "k >= N"]).expect_err("a contradiction");
    assert!(error.contains("contradict the assumption `k >= N`"), "{error}");
}

/// Guards test their conditions, so that inputs need not meet them; other steps do.
#[test]
fn assumptions_of_guards_are_not_assumed() {
    let conditions = [Conditions::guarded_by(["N == 7"]), Conditions::assuming(["N >= 6"])];
    let assumed = Assumed::of(&program(), &conditions);
    let none = BTreeMap::new();
    let verifier = Verifier::under(&program(), &none, &assumed, &Options::default());
    let verifier = verifier.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(verifier.inputs().symbols().collect::<Vec<_>>(), [("N", 8)]);
    assert_eq!(verifier.undecided(), None);
}

/// Inputs do not decide what the program sets, nor symbols to which a nested SDFG gives other values.
#[test]
fn assumptions_about_other_symbols_are_undecided() {
    let call = |mapping: &str| {
        format!(
            "sdfg p {{
  symbol N: i64
  symbol M: i64
  array A: f64[N]

  start begin
  state begin {{ }}
  -> s with (k = 0)
  state s {{
    access A
    access B = A
    nested call (A) -> (A) with ({mapping}) sdfg inner {{
      symbol N: i64
      array A: f64[N]
      state t {{ }}
    }}
    A -> call.A
    call.A -> B
  }}
}}
"
        )
    };
    let undecided = |mapping: &str, text: &str| {
        let text_of_program = call(mapping);
        let program = sdfg::text::parse("p.sdft", &text_of_program);
        let program = program.unwrap_or_else(|errors| panic!("{errors:?}\n{text_of_program}"));
        let conditions = Conditions::assuming([text]);
        Assumed::of(&program, [&conditions]).undecided().map(str::to_owned)
    };
    assert_eq!(undecided("N = N", "N >= 2"), None);
    assert_eq!(undecided("N = N", "M >= 2"), None);
    assert_eq!(undecided("N = M", "M >= 2"), None);
    assert_eq!(undecided("N = M", "N >= 2").as_deref(), Some("N >= 2"));
    assert_eq!(undecided("N = N", "k >= 5").as_deref(), Some("k >= 5"));
    assert_eq!(undecided("N = N", "other >= 5").as_deref(), Some("other >= 5"));
}

#[test]
fn a_program_that_reaches_a_limit_is_not_called_wrong() {
    let waits = "  for wait: k = 0:1000000 {\n    state tick { }\n  }\n  state s {";
    let long = PROGRAM.replace("  state s {", waits);
    let long = sdfg::text::parse("p.sdft", &long).unwrap_or_else(|errors| panic!("{errors:?}"));
    let found = verifier(&program()).check(&long, Soundness::Always);
    assert!(matches!(found, Err(Difference::Limit { .. })), "{found:?}");
}

#[test]
fn reproducers_are_small_and_wrong() {
    let small = reproducer(
        &program(),
        &|_| Assumed::none(),
        Soundness::ChangesRounding,
        &Options::default(),
        &one_short,
    );
    let text = sdfg::text::print(&small);
    assert!(text.lines().count() < 20, "{text}");
    let mut wrong = small.clone();
    assert!(one_short(&mut wrong));
    assert!(verifier(&small).check(&wrong, Soundness::ChangesRounding).is_err(), "{text}");
}

/// Sums of floats in a random order round in another way, also without a rewrite.
#[test]
fn sums_in_another_order_are_no_difference() {
    let fixed = BTreeMap::from([(sdfg::symbolic::Symbol::of("N"), 40)]);
    let verifier =
        Verifier::of(&program(), &fixed, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    assert!(verifier.depends_on_order);
    assert_eq!(verifier.check(&program(), Soundness::Always), Ok(()));
}

/// A large and a small sum of floats in one array, and in another one a sum whose summands cancel out.
fn sums(factor: &str) -> Sdfg {
    let text = format!(
        "sdfg p {{
  symbol N: i64
  array A: f32[N]
  array B: f32[2]
  array C: f32[1]
  state begin {{
    access C
    tasklet zero () -> (y) {{ y = 0.0 }}
    zero.y -> C: C[0]
  }}
  state s {{
    access A
    access B
    access C
    map m [i = 0:N] {{
      tasklet large (x) -> (y) {{ y = 1e4 * x }}
      tasklet small (x) -> (y) {{ y = {factor} * x }}
      tasklet none (x, z) -> (y) {{ y = x * x - z * z }}
      m.A -> large.x: A[i]
      m.A -> small.x: A[i]
      m.A -> none.x: A[i]
      m.A -> none.z: A[N - 1 - i]
      large.y -> m.B: B[0] wcr(sum)
      small.y -> m.B: B[1] wcr(sum)
      none.y -> m.C: C[0] wcr(sum)
    }}
    A -> m.A
    m.B -> B
    m.C -> C
  }}
}}
"
    );
    sdfg::text::parse("p.sdft", &text).unwrap_or_else(|errors| panic!("{errors:?}"))
}

/// The rounding of the large sum does not excuse the small one, and cancelled summands may leave any rounding.
#[test]
fn rounding_is_that_of_each_element() {
    let fixed = BTreeMap::from([(sdfg::symbolic::Symbol::of("N"), 40)]);
    let verifier =
        Verifier::of(&sums("1.0"), &fixed, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    assert!(verifier.depends_on_order);
    let mut pipeline = Pipeline::on(sums("1.0"));
    pipeline.apply(MapTiling::new([7]).at("s/m")).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(verifier.check(pipeline.program(), Soundness::ChangesRounding), Ok(()));
    let found = verifier.check(&sums("1.01"), Soundness::ChangesRounding);
    assert!(matches!(&found, Err(Difference::Result { position: 1, .. })), "{found:?}");
}

/// The first inputs do not pass the first access, others do. Nothing passes the second one.
#[test]
fn a_search_without_success_tells_of_the_inputs_that_came_furthest() {
    let text = "sdfg p {
  array A: f64[3]
  array B: f64[1]
  scalar k: i64
  scalar c: i64
  state begin {}
  -> first with (m = k)
  state first {
    access A
    access B
    A -> B: A[m - 7] -> B[0]
  }
  -> second with (j = c - c - 1)
  state second {
    access A
    access B
    A -> B: A[j] -> B[0]
  }
}";
    let program = sdfg::text::parse("p.sdft", text).unwrap_or_else(|errors| panic!("{errors:?}"));
    let program = sdfg::validate::validate(program).unwrap_or_else(|rejected| panic!("{rejected}"));
    let found = super::search(&program, &BTreeMap::new(), &Options::default());
    let error = found.err().unwrap_or_else(|| panic!("inputs that pass"));
    assert!(error.contains("p/second") && !error.contains("p/first"), "{error}");
}

/// The largest element is that of one place only, however long the array is: programs that return its place have
/// one result.
#[test]
fn elements_of_long_arrays_differ() {
    let text = "sdfg p {\n  array A: f64[20000]\n  array B: f64[1]\n  state s {\n    access A\n    access B\n    \
                A -> B: A[0] -> B[0]\n  }\n}\n";
    let program = sdfg::text::parse("p.sdft", text).unwrap_or_else(|errors| panic!("{errors:?}"));
    let program = sdfg::validate::validate(program).unwrap_or_else(|rejected| panic!("{rejected}"));
    let found = super::search(&program, &BTreeMap::new(), &Options::default());
    let found = found.unwrap_or_else(|error| panic!("{error}"));
    let tensor = found.before.get("A").unwrap_or_else(|| panic!("no A"));
    let distinct: std::collections::BTreeSet<&[u8]> = tensor.bytes().chunks(8).collect();
    assert_eq!(distinct.len(), 20000);
}

/// DaCe's Fortran front end passes the variables that size arrays twice, and both have one value.
#[test]
fn a_scalar_has_the_value_of_its_symbol() {
    let text = "sdfg p {\n  symbol sym_n: i64\n  symbol n_of_loop: i64\n  scalar n: i32\n  array A: f64[sym_n]\n  \
                state s {\n    access n\n    access A\n    tasklet t (k) -> (o) { o[k - 1] = 1.0 }\n    \
                n -> t.k: n[]\n    t.o -> A: A[0:sym_n] dynamic\n  }\n}\n";
    let program = sdfg::text::parse("p.sdft", text).unwrap_or_else(|errors| panic!("{errors:?}"));
    let program = sdfg::validate::validate(program).unwrap_or_else(|rejected| panic!("{rejected}"));
    let found = super::search(&program, &BTreeMap::new(), &Options::default());
    let found = found.unwrap_or_else(|error| panic!("{error}"));
    let scalar = found.before.get("n").and_then(|tensor| tensor.bytes().first().copied());
    let symbol = found.before.symbols().find(|(name, _)| *name == "sym_n").map(|(_, value)| value);
    assert_eq!(scalar.map(i64::from), symbol);
}

fn searched(text: &str, fixed: &[(&str, i64)]) -> Result<super::Fitting, String> {
    let program = sdfg::text::parse("p.sdft", text).unwrap_or_else(|errors| panic!("{errors:?}"));
    let program = sdfg::validate::validate(program).unwrap_or_else(|rejected| panic!("{rejected}"));
    let fixed = fixed.iter().map(|(symbol, value)| (sdfg::symbolic::Symbol::of(symbol), *value)).collect();
    super::search(&program, &fixed, &Options::default())
}

/// No size of the recipes reaches so far.
#[test]
fn sizes_grow_to_the_elements_that_are_read() {
    let text = "sdfg p {\n  symbol N: i64\n  array A: f64[N]\n  array B: f64[1]\n  state s {\n    access A\n    \
                access B\n    A -> B: A[400] -> B[0]\n  }\n}\n";
    let found = searched(text, &[]).unwrap_or_else(|error| panic!("{error}"));
    assert!(found.before.symbols().any(|(name, value)| name == "N" && value == 401));
    assert!(searched(text, &[("N", 400)]).is_err());
}

#[test]
fn elements_of_arguments_do_not_share_memory() {
    let text = "sdfg p {\n  symbol N: i64\n  symbol S: i64\n  array A: f64[N, N] strides(S, 1)\n  \
                state s {\n    access A\n    tasklet t () -> (o) { o = 1.0 }\n    t.o -> A: A[0, 0]\n  }\n}\n";
    assert!(searched(text, &[("N", 4), ("S", 4)]).is_ok());
    let error = searched(text, &[("N", 4), ("S", 3)]).err();
    assert!(error.as_ref().is_some_and(|error| error.contains("share memory")), "{error:?}");
    // No value of a symbol keeps these elements apart: the caller's arguments share memory, too.
    let text =
        text.replace("[N, N] strides(S, 1)", "[N, 4, 5] strides(5, 4, 1)").replace("A[0, 0]", "A[0, 0, 0]");
    assert!(searched(&text, &[("N", 2), ("S", 1)]).is_ok());
}

/// Inputs of a text program.
fn fitting(text: &str) -> super::Fitting {
    searched(text, &[]).unwrap_or_else(|error| panic!("{error}"))
}

/// Callers pass strides as symbols of their own.
#[test]
fn strides_that_are_symbols_do_not_overlap() {
    let found = fitting(
        "sdfg p {\n  symbol I: i64\n  symbol J: i64\n  symbol si: i64\n  symbol sj: i64\n  \
         array A: f64[I, J] strides(si, sj)\n  state s {\n    access A\n    tasklet t () -> (o) { o = 1.0 }\n    \
         t.o -> A: A[1, 2]\n  }\n}\n",
    );
    let symbols: BTreeMap<&str, i64> = found.before.symbols().collect();
    assert_eq!((symbols["sj"], symbols["si"]), (1, symbols["J"]));
    assert!(symbols["I"] > 1 && symbols["J"] > 2);
}

/// Fortran passes the lower bounds of arrays. No value fits two of the symbols, and no change of one symbol fits all.
#[test]
fn values_that_differ_are_found_one_by_one() {
    let found = fitting(
        "sdfg p {\n  symbol a: i64\n  symbol b: i64\n  symbol c: i64\n  array A: f64[8]\n  array B: f64[8]\n  \
         array C: f64[1]\n  state s {\n    access A\n    access B\n    access C\n    \
         tasklet t (x, y) -> (z) { z = x + y }\n    A -> t.x: A[-5 - a]\n    B -> t.y: B[1 - b]\n    \
         t.z -> C: C[0]\n  }\n  state after {\n    access A\n    access C\n    A -> C: A[c - 100] -> C[0]\n  }\n}\n",
    );
    let symbols: BTreeMap<&str, i64> = found.before.symbols().collect();
    let is_inside = |index| (0..8).contains(&index);
    let indices = [-5 - symbols["a"], 1 - symbols["b"], symbols["c"] - 100];
    assert!(indices.into_iter().all(is_inside), "{symbols:?}");
}

/// No two of the symbols have one value, and two of the values are those of no recipe: the smallest size of the first recipe is 8. The
/// factors keep repairs away, which move an index by the symbol in it.
#[test]
fn values_around_the_smallest_size_are_tried() {
    let reads = ["A[2 * k - 14]", "A[l + 12]", "A[2 * m - 32]", "A[2 * q - 64]"];
    let state = |(at, read): (usize, &str)| {
        format!("  state s{at} {{\n    access A\n    access R\n    A -> R: {read} -> R[0]\n  }}\n")
    };
    let states: Vec<String> = reads.into_iter().enumerate().map(state).collect();
    let found = fitting(&format!(
        "sdfg p {{\n  symbol k: i64\n  symbol l: i64\n  symbol m: i64\n  symbol q: i64\n  array A: f64[1]\n  \
         array R: f64[1]\n{}}}\n",
        states.concat()
    ));
    let symbols: BTreeMap<&str, i64> = found.before.symbols().collect();
    assert_eq!(["k", "l", "m", "q"].map(|name| symbols[name]), [7, -12, 16, 32]);
}

/// A size that grew for one access gets a value of its own for another one.
#[test]
fn sizes_that_grew_may_change_again() {
    let reads = ["A[k - 100]", "A[l + 12]", "E[20]", "A[N - 100]"];
    let state = |(at, read): (usize, &str)| {
        let array = &read[..1];
        format!(
            "  state s{at} {{\n    access {array}\n    access R\n    {array} -> R: {read} -> R[0]\n  }}\n"
        )
    };
    let states: Vec<String> = reads.into_iter().enumerate().map(state).collect();
    let found = fitting(&format!(
        "sdfg p {{\n  symbol N: i64\n  symbol k: i64\n  symbol l: i64\n  array A: f64[1]\n  array E: f64[N]\n  \
         array R: f64[1]\n{}}}\n",
        states.concat()
    ));
    let symbols: BTreeMap<&str, i64> = found.before.symbols().collect();
    assert_eq!(["N", "k", "l"].map(|name| symbols[name]), [100, 100, -12]);
}

/// The symbol of the trap changes first: trying all forty each time would take too many runs.
#[test]
fn values_of_many_symbols_are_found_where_they_trap() {
    let symbols: Vec<String> = (0..40).map(|at| format!("  symbol v{at}: i64\n")).collect();
    let state = |at: usize| {
        format!("  state s{at} {{\n    access A\n    access R\n    A -> R: A[v{at} - 7] -> R[0]\n  }}\n")
    };
    let states: Vec<String> = (0..40).rev().map(state).collect();
    let found = fitting(&format!(
        "sdfg p {{\n{}  array A: f64[1]\n  array R: f64[1]\n{}}}\n",
        symbols.concat(),
        states.concat()
    ));
    assert!(found.before.symbols().all(|(_, value)| value == 7));
}

/// Sixty traps that no size or index avoids are enough.
#[test]
fn a_search_ends_after_many_traps_of_other_kinds() {
    let search = |k: i64, n: i64| {
        let text = format!(
            "sdfg p {{\n  symbol k: i64\n  scalar n: i64\n  array A: i64[1]\n  transient scalar T: i64\n  \
             if right: k == {k} and n == {n} {{\n    state set {{\n      access T\n      \
             tasklet t () -> (o) {{ o = 1 }}\n      t.o -> T: T\n    }}\n  }}\n  state read {{\n    access T\n    \
             access A\n    T -> A: T -> A[0]\n  }}\n}}\n"
        );
        searched(&text, &[])
    };
    assert!(search(0, 0).is_ok());
    assert!(search(100, 100).is_err());
}

/// One value, then a larger array, and then two more values let the run come further.
#[test]
fn runs_that_come_further_with_larger_sizes_are_kept() {
    let reads = ["A[k - 100]", "A[l + 12]", "E[400]", "A[m + 12]", "A[q - 3]"];
    let state = |(at, read): (usize, &str)| {
        let array = &read[..1];
        format!(
            "  state s{at} {{\n    access {array}\n    access R\n    {array} -> R: {read} -> R[0]\n  }}\n"
        )
    };
    let states: Vec<String> = reads.into_iter().enumerate().map(state).collect();
    let found = fitting(&format!(
        "sdfg p {{\n  symbol N: i64\n  symbol k: i64\n  symbol l: i64\n  symbol m: i64\n  symbol q: i64\n  \
         array A: f64[1]\n  array E: f64[N]\n  array R: f64[1]\n{}}}\n",
        states.concat()
    ));
    let symbols: BTreeMap<&str, i64> = found.before.symbols().collect();
    assert_eq!(["N", "k", "l", "m", "q"].map(|name| symbols[name]), [401, 100, -12, -12, 3]);
}

/// Two sizes of one block are too small, one after the other, while a bound decides that the block runs.
#[test]
fn several_accesses_of_a_block_get_larger_sizes() {
    let found = fitting(
        "sdfg p {\n  symbol a: i64\n  symbol b: i64\n  symbol N: i64\n  symbol M: i64\n  array A: f64[N]\n  \
         array B: f64[M]\n  array C: f64[1]\n  array D: f64[8]\n  state s {\n    access A\n    access B\n    access C\n    \
         access D\n    tasklet t (x, y, u) -> (z) { z = x + y + u }\n    A -> t.x: A[3 - a]\n    B -> t.y: B[2 - a]\n    \
         D -> t.u: D[1 - b]\n    t.z -> C: C[0]\n  }\n  state after {\n    access D\n    access C\n    \
         D -> C: D[-5 - a] -> C[0]\n  }\n}\n",
    );
    let symbols: BTreeMap<&str, i64> = found.before.symbols().collect();
    assert!(symbols["N"] > 3 - symbols["a"] && symbols["M"] > 2 - symbols["a"], "{symbols:?}");
}

/// The only extent that fits is a constant of the place that trapped.
#[test]
fn constants_of_the_place_are_tried_as_sizes() {
    let found = fitting(
        "sdfg p {\n  symbol a: i64\n  symbol N: i64\n  array A: f64[N]\n  array B: f64[37]\n  array C: f64[8]\n  \
         state s {\n    access A\n    access B\n    access C\n    A -> B: A[0:N] -> B[0:37]\n    \
         A -> C: A[0] -> C[-5 - a]\n  }\n}\n",
    );
    assert!(found.before.symbols().any(|symbol| symbol == ("N", 37)));
}

/// Fortran's arrays, each with a lower bound and an extent of its own: each trap tells the value of one. The bound of `B` comes from a
/// scalar, and the loop ends at the extent of `B`, so that no larger extent fits.
#[test]
fn bounds_follow_from_the_traps() {
    let names = ["c", "d", "e", "f", "g", "h"];
    let of_all = |text: &dyn Fn(&str, usize) -> String| -> String {
        names.iter().enumerate().map(|(at, name)| text(name, at)).collect()
    };
    let symbols = of_all(&|name, _| format!("  symbol low_{name}: i64\n  symbol n_{name}: i64\n"));
    let arrays = of_all(&|name, _| format!("  array {name}: f64[n_{name}]\n"));
    let states = of_all(&|name, at| {
        let index = 17 * at as i64 - 40;
        format!(
            "  state s_{name} {{\n    access {name}\n    access R\n    {name} -> R: {name}[{index} - low_{name}] -> R[0]\n  }}\n"
        )
    });
    let found = fitting(&format!(
        "sdfg p {{\n{symbols}  symbol N: i64\n  scalar below: i64\n{arrays}  array B: f64[N]\n  array R: f64[1]\n{states}  \
         state first {{}}\n  -> all with (low = below)\n  loop all: i = 23; i < N + 23; i = i + 1 {{\n    state s {{\n      \
         access B\n      access R\n      B -> R: B[i - low] -> R[0]\n    }}\n  }}\n}}\n"
    ));
    let symbols: BTreeMap<&str, i64> = found.before.symbols().collect();
    for (at, name) in names.into_iter().enumerate() {
        let index = 17 * at as i64 - 40 - symbols[format!("low_{name}").as_str()];
        assert!((0..symbols[format!("n_{name}").as_str()]).contains(&index), "{name}: {symbols:?}");
    }
}

/// Index arrays with different values, which maps read one after the other. Empty maps come further than each of them, but the end
/// needs elements.
#[test]
fn arrays_are_not_empty_while_something_else_helps() {
    let states: String = [("I", 1), ("J", 0), ("K", 2)]
        .map(|(name, value)| {
            format!(
                "  state over_{name} {{
    access {name}
    access C
    access R
    map m [i = 0:N] {{
      tasklet t (c, at) -> (o) {{ o = c[at - {value}] }}
      m.C -> t.c: C[0:1]
      m.{name} -> t.at: {name}[i]
      t.o -> m.R: R[i]
    }}
    C -> m.C
    {name} -> m.{name}
    m.R -> R
  }}
"
            )
        })
        .concat();
    let found = fitting(&format!(
        "sdfg p {{
  symbol N: i64
  array I: i64[N]
  array J: i64[N]
  array K: i64[N]
  array A: f64[N]
  array C: f64[1]
  array R: f64[N]
  array S: f64[1]
{states}  state last {{
    access A
    access S
    A -> S: A[5] -> S[0]
  }}
}}
"
    ));
    assert!(found.before.symbols().any(|(_, value)| value > 5));
}

/// The loop fits an empty array, and a factor of zero. The end needs a product of one, so only the empty array leads to it: a change
/// that takes elements. `B` keeps the recipes away.
#[test]
fn arrays_are_empty_where_nothing_else_helps() {
    let found = fitting(
        "sdfg p {
          symbol N: i64
          symbol k: i64
          symbol j: i64
          symbol other: i64
          array A: f64[8]
          array B: f64[8]
          array C: f64[1]
          array E: f64[N]
          array R: f64[1]
          state s {
            access B
            access R
            B -> R: B[-200 - other] -> R[0]
          }
          -> rows with (at = k * j)
          loop rows: i = 0; i < N; i = i + 1 {
            state t {
              access A
              access R
              A -> R: A[i + at] -> R[0]
            }
          }
          state u {
            access C
            access R
            C -> R: C[at - 1] -> R[0]
          }
        }",
    );
    let symbols: BTreeMap<&str, i64> = found.before.symbols().collect();
    assert_eq!((symbols["N"], symbols["k"] * symbols["j"]), (0, 1));
}

/// All of `A` is moved by its lower bound into `B`, which has one element: the extent of `A` is one, and the bound that of the loop. A
/// repair that takes either value back finds none.
#[test]
fn repairs_leave_the_value_that_is_tried() {
    let found = fitting(
        "sdfg p {
          symbol N: i64
          symbol low: i64
          symbol first: i64
          array A: f64[N]
          array B: f64[1]
          array R: f64[1]
          loop rows: i = first + 20; i < first + 21; i = i + 1 {
            state s {
              access A
              access R
              A -> R: A[i - low] -> R[0]
            }
          }
          loop all: i = 0; i < N; i = i + 1 {
            state t {
              access B
              access R
              B -> R: B[i] -> R[0]
            }
          }
        }",
    );
    let symbols: BTreeMap<&str, i64> = found.before.symbols().collect();
    assert_eq!((symbols["N"], symbols["low"] - symbols["first"]), (1, 20));
}

/// The loop begins at a square, which is larger than every number that is tried, and ends at the extent of `B`: no larger extent fits,
/// and only the second trap there moves the lower bound.
#[test]
fn lower_bounds_move_where_no_extent_helps() {
    let found = fitting(
        "sdfg p {
          symbol N: i64
          symbol k: i64
          symbol low: i64
          array A: f64[1]
          array B: f64[N]
          array R: f64[1]
          state first {
            access A
            access R
            A -> R: A[k - 12] -> R[0]
          }
          loop all: i = k * k; i < N + k * k; i = i + 1 {
            state s {
              access B
              access R
              B -> R: B[i - low] -> R[0]
            }
          }
          state last {
            access B
            access R
            B -> R: B[0] -> R[0]
          }
        }",
    );
    let symbols: BTreeMap<&str, i64> = found.before.symbols().collect();
    assert_eq!((symbols["k"], symbols["low"]), (12, 144));
    assert!(symbols["N"] < 300, "{symbols:?}");
}

/// The loop begins at the lower bound of `A`, a sum, which therefore moves no index: only a larger extent helps. `B` keeps the recipes away.
#[test]
fn extents_grow_where_no_lower_bound_helps() {
    let found = fitting(
        "sdfg p {
          symbol N: i64
          symbol M: i64
          symbol low: i64
          symbol more: i64
          symbol other: i64
          array A: f64[N]
          array B: f64[M]
          array R: f64[1]
          state s {
            access B
            access R
            B -> R: B[-200 - other] -> R[0]
          }
          loop rows: i = low + more; i < low + more + 400; i = i + 1 {
            state t {
              access A
              access R
              A -> R: A[i - low - more] -> R[0]
            }
          }
        }",
    );
    assert!(found.before.symbols().any(|(name, value)| name == "N" && value >= 400));
}

#[test]
fn the_distance_counts_the_steps_to_the_origin_of_a_value() {
    let program = sdfg::text::parse(
        "p.sdft",
        "sdfg p {\n  symbol N: i64\n  symbol far: i64\n  array I: i64[N]\n  array A: f64[4]\n  array B: f64[1]\n  \
         state first {}\n  -> s with (k = I[0])\n  state s {\n    access A\n    access B\n    A -> B: A[k] -> B[0]\n  }\n}\n",
    )
    .unwrap_or_else(|errors| panic!("{errors:?}"));
    let validated = sdfg::validate::validate(program.clone()).unwrap_or_else(|rejected| panic!("{rejected}"));
    let tensor = |elements: &[f64]| Tensor::new(&[elements.len() as i64], elements).expect("a tensor");
    let mut arguments = Arguments::new();
    arguments.set_symbol("far", 0);
    arguments.set("I", Tensor::new(&[1], &[9_i64]).expect("a tensor"));
    arguments.set("A", tensor(&[0.0; 4]));
    arguments.set("B", tensor(&[0.0]));
    let mut interpreter = sdfg::interpret::Interpreter::new(&validated).expect("a program");
    let error = interpreter.run(&mut arguments, &Options::default()).expect_err("a trap");
    let trap = error.trap().expect("a trap");
    let distances = super::origins::Origins::of(&program).distances(&program, trap);
    let of = |name: &str| distances.get(name).copied();
    assert_eq!((of("A"), of("k"), of("I"), of("N"), of("far")), (Some(0), Some(0), Some(1), Some(2), None));
}
