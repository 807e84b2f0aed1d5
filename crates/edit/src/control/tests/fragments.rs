//! Tests on random state machines of the shapes that front ends emit: guards before and after the body,
//! latches, diamonds, early exits, and their nesting. Some contain a cycle with two entries, which must
//! remain.

use super::{Random, all_ways, digit};

/// A machine in the making; each shape is entered at a label and goes on to another.
struct Writer {
    random: Random,
    text: String,
    labels: u32,
    loops: usize,
    cycles: usize,
}

/// Where the loop around goes on after a break.
type Exit<'a> = Option<&'a str>;

impl Writer {
    fn label(&mut self) -> String {
        self.labels += 1;
        format!("b{}", self.labels)
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn empty(&mut self, label: &str) {
        self.line(&format!("state {label} {{}}"));
    }

    fn working(&mut self, label: &str) {
        let number = self.random.below(7);
        self.text.push_str(&digit(label, format!("{number} + x")));
    }

    fn condition(&mut self) -> &'static str {
        self.random.pick(&["x % 2 == 0", "x % 3 != 1", "trace % 3 == 0", "x > 40", "x % 2"])
    }

    /// What a transition that closes nothing may assign.
    fn assigned(&mut self) -> &'static str {
        self.random.pick(&["", "", " with (x = x + 3)", " with (x = (5 * x + 1) % 97)"])
    }

    /// Some shapes one after the other, from `from` to `next`.
    fn sequence(&mut self, depth: u32, from: &str, next: &str, exit: Exit<'_>) {
        let n = 1 + self.random.below(2);
        let mut from = from.to_owned();
        for last in (0..n).map(|i| i + 1 == n) {
            let to = if last { next.to_owned() } else { self.label() };
            self.shape(depth, &from, &to, exit);
            from = to;
        }
    }

    fn shape(&mut self, depth: u32, from: &str, next: &str, exit: Exit<'_>) {
        match self.random.below(if depth == 0 { 2 } else { 9 }) {
            0 => {
                self.working(from);
                let assigned = self.assigned();
                self.line(&format!("-> {next}{assigned}"));
            }
            1 => match exit {
                Some(exit) => {
                    self.working(from);
                    let condition = self.condition();
                    self.line(&format!("-> {exit} if {condition}\n-> {next}"));
                }
                None => {
                    self.empty(from);
                    let assigned = self.assigned();
                    self.line(&format!("-> {next}{assigned}"));
                }
            },
            2 | 3 => self.guarded(depth - 1, from, next),
            4 | 5 => self.tested_after(depth - 1, from, next),
            6 | 7 => self.choice(depth - 1, from, next, exit),
            _ => self.two_entries(from, next),
        }
    }

    /// `i = 0; while i < n`, with the exit behind the body or before it.
    fn guarded(&mut self, depth: u32, from: &str, next: &str) {
        self.loops += 1;
        let [guard, body, latch, after] = [(); 4].map(|()| self.label());
        let (i, n) = (format!("i_{guard}"), 1 + self.random.below(3));
        self.working(from);
        let first = self.random.pick(&["0", "x % 2"]);
        self.line(&format!("-> {guard} with (x = x + 1, {i} = {first})"));
        self.empty(&guard);
        let ways = [
            format!("-> {body} if {i} < {n}\n-> {after}"),
            format!("-> {body} if {i} < {n}\n-> {after} if {i} >= {n}"),
            format!("-> {after} if not {i} < {n}\n-> {body} if {i} < {n}"),
            format!("-> {after} if {i} >= {n}\n-> {body}"),
            format!("-> {body} if {i} < {n} with (x = x + 2)\n-> {after}"),
        ];
        let ways = ways[self.random.below(5) as usize].clone();
        self.line(&ways);
        self.sequence(depth, &body, &latch, Some(&after));
        if self.random.below(2) == 0 {
            self.empty(&latch)
        } else {
            self.working(&latch)
        }
        let assigned = self.random.pick(&["", ", x = x + 1"]);
        self.line(&format!("-> {guard} with ({i} = {i} + 1{assigned})"));
        self.working(&after);
        self.line(&format!("-> {next}"));
    }

    /// The test follows the body, in a state of its own or in the last one that works.
    fn tested_after(&mut self, depth: u32, from: &str, next: &str) {
        self.loops += 1;
        let [body, last, guard, after] = [(); 4].map(|()| self.label());
        let (i, n) = (format!("i_{guard}"), 1 + self.random.below(3));
        self.empty(from);
        // It may run once although the test fails from the beginning.
        let first = self.random.pick(&["0", "x % 4"]);
        self.line(&format!("-> {body} with ({i} = {first})"));
        self.sequence(depth, &body, &last, None);
        self.working(&last);
        self.line(&format!("-> {guard} with ({i} = {i} + 1)"));
        if self.random.below(2) == 0 {
            self.empty(&guard)
        } else {
            self.working(&guard)
        }
        self.line(&format!("-> {body} if {i} < {n}\n-> {after}"));
        self.working(&after);
        self.line(&format!("-> {next}"));
    }

    /// Two or three ways, some of which may be empty, which meet again.
    fn choice(&mut self, depth: u32, from: &str, next: &str, exit: Exit<'_>) {
        if self.random.below(2) == 0 {
            self.empty(from)
        } else {
            self.working(from)
        }
        let n = 1 + self.random.below(2);
        let mut arms = Vec::new();
        for last in (0..=n).map(|i| i == n) {
            let arm = if self.random.below(4) == 0 { next.to_owned() } else { self.label() };
            let condition = if last { String::new() } else { format!(" if {}", self.condition()) };
            let assigned = self.assigned();
            self.line(&format!("-> {arm}{condition}{assigned}"));
            arms.push(arm);
        }
        for arm in arms.iter().filter(|arm| *arm != next) {
            self.sequence(depth, arm, next, exit);
        }
    }

    /// A cycle that is entered at both of its states.
    fn two_entries(&mut self, from: &str, next: &str) {
        self.cycles += 1;
        let [first, second] = [(); 2].map(|()| self.label());
        let (k, condition) = (format!("k_{first}"), self.condition());
        self.empty(from);
        self.line(&format!("-> {first} if {condition} with ({k} = 0)\n-> {second} with ({k} = 0)"));
        self.working(&first);
        self.line(&format!("-> {second}"));
        self.working(&second);
        self.line(&format!("-> {first} if {k} < 2 with ({k} = {k} + 1)\n-> {next}"));
    }
}

#[test]
fn shapes_of_front_ends_become_blocks() {
    let (mut written, mut found, mut cycles, mut branches) = (0, 0, 0, 0);
    for seed in 0..50 {
        let random = Random(seed);
        let mut writer = Writer { random, text: String::new(), labels: 0, loops: 0, cycles: 0 };
        writer.line("state enter {}\n-> b with (x = 1)");
        writer.sequence(3, "b", "leave", None);
        let machine = writer.text + &digit("leave", "x");
        let count = all_ways(&format!("seed {seed}"), &machine);
        assert_eq!(count.loops, writer.loops, "seed {seed}\n{machine}");
        written += writer.loops;
        found += count.loops;
        cycles += writer.cycles;
        branches += count.branches;
    }
    assert_eq!(found, written);
    assert!(written > 100 && branches > 30 && cycles > 10, "{written} {branches} {cycles}");
}
