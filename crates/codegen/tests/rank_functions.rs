//! Functions that programs of ranks call to move data: one name for each signature.

use sdfg::ir::Sdfg;
use sdfg_codegen::llvm::CompileOptions;
use sdfg_codegen::lower::lower;
use sdfg_codegen::ranks::localise;

/// A program with these containers and this state.
fn program(containers: &str, state: &str) -> Sdfg {
    let text = format!("sdfg p {{\n  symbol N: i64\n{containers}\n  state s {{\n{state}\n  }}\n}}\n");
    sdfg::text::parse("p.sdft", &text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"))
}

/// The names of the functions of a program, if one has native code for its calls.
fn names(containers: &str, state: &str) -> Vec<String> {
    let program = program(containers, state);
    let text = sdfg::text::print(&program);
    let local = localise(&program).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let valid = local.validated().unwrap_or_else(|rejected| panic!("{rejected}\n{text}"));
    let options = CompileOptions::default();
    let lowered = lower(&valid, &options.target(), &options.lowering());
    assert!(lowered.is_ok(), "{:?}\n{}", lowered.err(), sdfg::text::print(&local.program));
    local.moves.into_iter().map(|(name, _)| name).collect()
}

/// Two vectors and a matrix that are cut.
const CUT: &str = "  array A: f64[N] distribution(grid(2)[equal(0) halo(1, 1)])
array B: f64[N] distribution(grid(2)[equal(0)])
array C: f64[N, N] distribution(grid(2)[equal(0), whole])
array S: f64[N]";

#[test]
fn functions_that_write_what_they_read_have_names_of_their_own() {
    // By one copy: moves and refreshes.
    let moved = "access A\naccess a = A\naccess B\nA -> a\na -> B";
    assert_eq!(names(CUT, moved), ["ranks_move_f64", "ranks_move_f64_in_place"]);
    // Combinations with the values of another container, and with those of the same one.
    let combined = "access A\naccess a = A\naccess S\nA -> a: A[0:1] -> A[1:2] wcr(sum)\na -> S: A[0:N] -> S[0:N] wcr(sum)";
    assert_eq!(names(CUT, combined), ["ranks_combine_f64", "ranks_combine_f64_in_place"]);
    // Copies that travel together, in each order.
    let together = "access A\naccess a = A\naccess B\naccess C\naccess S\nA -> a\nB -> S";
    assert_eq!(names(CUT, together), ["ranks_together_f64_in_place_f64"]);
}

#[test]
fn single_elements_are_moved_by_their_addresses() {
    let one = format!("{CUT}\n  array O: f64[1]\n  scalar x: f64");
    let found =
        names(&one, "access B\naccess O\naccess P = B\nB -> O: B[3:4] -> O[0:1]\nO -> P: O[0:1] -> B[2:3]");
    assert_eq!(found, ["ranks_move_f64"]);
    assert_eq!(names(&one, "access B\naccess x\nB -> x: B[3] -> x"), ["ranks_move_f64"]);
}

/// A call for a move is told no strides: it would take other elements, or write behind the array.
#[test]
fn arrays_with_strides_are_not_moved() {
    let containers = format!("{CUT}\n  array W: f64[N] strides(2) size(2*N)");
    for state in ["access B\naccess W\nW -> B", "access B\naccess W\nB -> W"] {
        let error = localise(&program(&containers, state)).expect_err("a refusal").to_string();
        assert!(error.contains("a move of `W`, which is no packed array, is not supported"), "{error}");
    }
}
