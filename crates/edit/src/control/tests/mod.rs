//! Tests on state machines of other front ends; random ones are in separate files.

mod fragments;
mod jumps;

use sdfg_graph::text;
use sdfg_interpret::tensor::Tensor;
use sdfg_interpret::{Arguments, Interpreter, Options};

use super::*;

/// What a program leaves in `trace`.
fn trace(sdfg: &Sdfg) -> i64 {
    let program = match sdfg_validate::validate(sdfg.clone()) {
        Ok(program) => program,
        Err(rejected) => panic!("{rejected}\n{}", text::print(sdfg)),
    };
    let mut arguments = Arguments::new().with("trace", Tensor::scalar(0_i64));
    let options = Options { step_limit: Some(100_000), ..Options::default() };
    Interpreter::new(&program)
        .unwrap()
        .run(&mut arguments, &options)
        .unwrap_or_else(|error| panic!("{error}\n{}", text::print(sdfg)));
    arguments.get("trace").unwrap().to_vec::<i64>().unwrap()[0]
}

/// A state that appends a digit to the trace.
fn digit(label: &str, number: impl std::fmt::Display) -> String {
    format!(
        "state {label} {{ access old = trace; access new = trace; tasklet t (a) -> (b) {{ b = a * 7 + {number} }}; \
         old -> t.a; t.b -> new }}\n"
    )
}

fn parse(body: &str) -> Sdfg {
    let source = format!("sdfg machine {{\nscalar trace: i64\n{body}}}\n");
    text::parse("machine.sdft", &source).unwrap_or_else(|errors| panic!("{errors:?}\n{source}"))
}

/// The program after raising, which does the same.
fn raised(body: &str) -> String {
    let mut sdfg = parse(body);
    let before = trace(&sdfg);
    raise(&mut sdfg);
    assert_eq!(trace(&sdfg), before, "{}", text::print(&sdfg));
    let printed = text::print(&sdfg);
    let mut again = sdfg.clone();
    lower(&mut again);
    assert_eq!(trace(&again), before, "{}", text::print(&again));
    printed
}

#[test]
fn guards_of_dace() {
    let machine = format!(
        "{}-> sweep_guard with (i = 0)\nstate sweep_guard {{}}\n-> body if i < 5\n-> done if not i < 5\n{}-> sweep_guard with (i = i + 1)\n{}",
        digit("begin", 1),
        digit("body", 2),
        digit("done", 3)
    );
    let printed = raised(&machine);
    assert!(printed.contains("for sweep: i = 0:5 {"), "{printed}");
    assert!(!printed.contains("->  "), "{printed}");
}

#[test]
fn a_guard_may_leave_first() {
    let machine = format!(
        "{}-> g with (i = 0)\nstate g {{}}\n-> done if i >= 5\n-> body\n{}-> g with (i = i + 2)\n{}",
        digit("begin", 1),
        digit("body", 2),
        digit("done", 3)
    );
    let printed = raised(&machine);
    assert!(printed.contains("loop \"g.loop0\": i = 0; not i >= 5; i = i + 2 {"), "{printed}");
}

#[test]
fn breaks_continues_and_two_arms() {
    let machine = format!(
        "state begin {{}}\n-> g with (i = 0)\nstate g {{}}\n-> a if i < 9\n-> done\n{}-> b if i % 2 == 0\n-> c\n{}-> leave if i > 6\n-> latch\n\
         {}-> latch\nstate leave {{}}\n-> done\nstate latch {{}}\n-> g with (i = i + 1)\n{}",
        digit("a", 1),
        digit("b", 2),
        digit("c", 3),
        digit("done", 4)
    );
    let printed = raised(&machine);
    assert!(printed.contains("for \"g.loop0\": i = 0:9 {"), "{printed}");
    assert!(printed.contains("break leave"), "{printed}");
    assert_eq!(printed.matches("if \"").count(), 2, "{printed}");
}

#[test]
fn a_test_after_working_states() {
    let machine = format!(
        "state begin {{}}\n-> a with (i = 0)\n{}-> b with (i = i + 1)\n{}-> a if i < 4\n-> done\n{}",
        digit("a", 1),
        digit("b", 2),
        digit("done", 3)
    );
    let printed = raised(&machine);
    assert!(printed.contains("do "), "{printed}");
}

#[test]
fn continue_and_break_of_blocks() {
    let program = format!(
        "for l: i = 0:6 {{\nif c: i % 2 == 1 {{\ncontinue n\n}} elif i > 3 {{\nbreak b\n}}\n{}}}\n{}",
        digit("a", "i"),
        digit("done", 5)
    );
    assert_eq!(all_ways("jumps", &program).loops, 1);
}

#[test]
fn what_ends_the_body_around_a_loop_does_not_return() {
    let machine = format!(
        "for o: j = 0:3 {{\nstate begin {{}}\n-> g with (i = 0)\nstate g {{}}\n-> a if i < 4\n-> done\n{}\
         -> g if i != j with (i = i + 1)\n{}}}\n{}",
        digit("a", "i"),
        digit("done", 5),
        digit("after", 6)
    );
    assert_eq!(all_ways("ended", &machine).loops, 1);
}

#[test]
fn two_entries_stay_transitions() {
    let machine = format!(
        "state begin {{}}\n-> a if x > 0 with (n = 0)\n-> b with (n = 0)\n{}-> b\n{}-> a if n < 3 with (n = n + 1)\n-> done\n{}",
        digit("a", 1),
        digit("b", 2),
        digit("done", 3)
    );
    let mut sdfg = parse(&format!("state first {{}}\n-> begin with (x = 0)\n{machine}"));
    let before = trace(&sdfg);
    raise(&mut sdfg);
    assert_eq!(trace(&sdfg), before);
    assert!(sdfg.blocks().all(|(_, block)| !matches!(block.kind, BlockKind::Loop(_))));
}

#[test]
fn a_loop_that_would_never_end_stays_transitions() {
    let machine = format!(
        "state begin {{}}\n-> g with (i = 7)\nstate g {{}}\n-> body if i < 5\n-> done\n{}-> g with (i = i - 1)\n{}",
        digit("body", 1),
        digit("done", 2)
    );
    assert_eq!(all_ways("endless", &machine).loops, 0);
}

#[test]
fn what_is_never_tried_is_in_no_arm() {
    let machine = format!(
        "state begin {{}}\n-> c with (x = 1)\nstate c {{}}\n-> a if x > 0\n-> b\n{}-> d\n-> e if x > 0\n{}-> d\n{}{}-> d\n",
        digit("a", 1),
        digit("b", 2),
        digit("d", 3),
        digit("e", 4)
    )
    .replace("state e ", "-> end\nstate e ");
    assert_eq!(all_ways("untried", &machine).branches, 1);
}

#[test]
fn what_is_behind_a_jump_is_never_tried() {
    let mut sdfg = parse(&format!(
        "for l: i = 0:5 {{\nstate c {{}}\n-> b if i == 2\n-> s\nbreak b\n{}}}\n{}",
        digit("s", "i"),
        digit("done", 9)
    ));
    let [jump, next] = ["b", "s"].map(|label| sdfg.find_block(label).unwrap());
    connect(&mut sdfg, jump, next, (None, Vec::new()));
    let before = trace(&sdfg);
    lower(&mut sdfg);
    assert_eq!(trace(&sdfg), before);
}

#[test]
fn long_chains_of_choices_are_not_nested_without_end() {
    let mut machine = "state begin {}\n-> c0 with (x = 25)\n".to_owned();
    for i in 0..40 {
        let next = if i == 39 { "done".to_owned() } else { format!("c{}", i + 1) };
        machine += &format!(
            "state c{i} {{}}\n-> w{i} if x == {i}\n-> {next}\n{}-> done\n",
            digit(&format!("w{i}"), i)
        );
    }
    machine += &digit("done", 1);
    assert!(all_ways("chain", &machine).branches >= 16);
    let mut sdfg = parse(&machine);
    raise(&mut sdfg);
    assert!(sdfg_graph::json::parse(&sdfg_graph::json::to_string(&sdfg)).is_ok());
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len() as u64) as usize]
    }
}

/// How many loops and branches there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    loops: usize,
    branches: usize,
}

fn count(sdfg: &Sdfg) -> Count {
    let of = |is: fn(&BlockKind) -> bool| sdfg.blocks().filter(|(_, block)| is(&block.kind)).count();
    Count {
        loops: of(|kind| matches!(kind, BlockKind::Loop(_))),
        branches: of(|kind| matches!(kind, BlockKind::Branch(_))),
    }
}

/// Raises, raises again, lowers and raises a machine; each time it must do what it did. Gives what was found.
fn all_ways(name: &str, body: &str) -> Count {
    let mut sdfg = parse(body);
    let before = trace(&sdfg);
    raise(&mut sdfg);
    let printed = text::print(&sdfg);
    assert_eq!(trace(&sdfg), before, "{name} raised\n{body}\n{printed}");
    let again = text::parse("raised.sdft", &printed).unwrap_or_else(|errors| panic!("{errors:?}\n{printed}"));
    assert_eq!(text::print(&again), printed, "{name} raised and read");
    let mut twice = sdfg.clone();
    raise(&mut twice);
    assert_eq!(text::print(&twice), printed, "{name} raised twice\n{body}");
    let found = count(&sdfg);
    lower(&mut sdfg);
    assert!(sdfg.blocks().all(|(_, block)| matches!(block.kind, BlockKind::State(_))), "{name} lowered");
    assert_eq!(trace(&sdfg), before, "{name} lowered\n{printed}\n{}", text::print(&sdfg));
    raise(&mut sdfg);
    let once_more = text::print(&sdfg);
    assert_eq!(trace(&sdfg), before, "{name} lowered and raised\n{printed}\n{once_more}");
    assert_eq!(count(&sdfg).loops, found.loops, "{name} lowered and raised\n{printed}\n{once_more}");
    found
}
