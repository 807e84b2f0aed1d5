//! Random control flow: all forms of loops, branches, jumps, and transitions with conditions and assignments.

use super::generate::Generator;

impl Generator {
    /// A counting loop, which some of its iterations leave early.
    pub(super) fn for_loop(&mut self, nesting: usize) {
        let (label, symbol) = (self.label("loop"), self.label("t"));
        let range = self.rng.pick(&["0:3", "0:N", "2:0:-1", "1:4:2", "M:0:-2", "N:M"]);
        let unroll = if range == "0:3" && self.rng.chance(50) { " unroll" } else { "" };
        self.open(&format!("for {label}: {symbol} = {range}{unroll}"));
        self.loops.push(symbol.clone());
        for _ in 0..1 + self.rng.below(2) {
            self.step(nesting - 1);
        }
        if self.rng.chance(40) {
            let bound = self.rng.below(40).to_string();
            let word = self.rng.pick(&["break", "continue"]);
            self.write(
                &[("t", &symbol), ("bound", &bound), ("jump", word)],
                "
                if $when: $t == 1 or total[0] > $bound {
                  $jump $now
                }",
            );
            self.step(0);
        }
        self.loops.pop();
        self.close();
    }

    /// A choice by data or sizes, between two or three ways.
    pub(super) fn branch(&mut self, nesting: usize) {
        let label = self.label("branch");
        let condition = self.choice();
        self.open(&format!("if {label}: {condition}"));
        self.step(nesting - 1);
        self.depth -= 1;
        if self.rng.chance(40) {
            let condition = self.choice();
            self.open(&format!("}} elif {condition}"));
            self.step(nesting - 1);
            self.depth -= 1;
        }
        self.open("} else");
        self.step(nesting - 1);
        self.close();
    }

    /// A condition on data or sizes.
    pub(super) fn choice(&mut self) -> String {
        match self.rng.below(4) {
            0 => "total[0] % 2 == 0".to_owned(),
            1 => format!("hist[{}] > {}(3)", self.rng.below(8), self.others),
            2 => format!("alpha > {}(2)", self.others),
            _ => "N < M or total[0] > 5".to_owned(),
        }
    }

    /// A loop that a counter in a container ends.
    pub(super) fn while_loop(&mut self, nesting: usize) {
        let (label, count) = (self.label("while"), self.label("count"));
        self.declare(&format!("transient scalar {count}: i64"));
        self.set(&count, "0");
        let times = 1 + self.rng.below(3);
        self.open(&format!("while {label}: {count} < {times}"));
        self.write(
            &[("count", &count)],
            "
            state $s {
              access old = $count
              access new = $count
              tasklet next (i) -> (o) { o = i + 1 }
              old -> next.i
              next.o -> new
            }",
        );
        self.step(nesting.saturating_sub(2));
        self.close();
    }

    /// Loops whose test comes last, or whose symbol makes other steps than by a constant.
    pub(super) fn other_loop(&mut self, nesting: usize) {
        let (label, symbol) = (self.label("loop"), self.label("t"));
        let tests_after = self.rng.chance(50);
        if tests_after {
            let first = self.rng.pick(&["0", "2", "7"]);
            self.open(&format!("do {label}: {symbol} = {first}; {symbol} = {symbol} + 1"));
        } else {
            self.open(&format!(
                "loop {label}: {symbol} = 1; {symbol} * {symbol} < N + M; {symbol} = 2 * {symbol}"
            ));
        }
        self.loops.push(symbol.clone());
        self.step(nesting - 1);
        self.loops.pop();
        self.depth -= 1;
        self.line(&if tests_after { format!("}} while {symbol} < 3") } else { "}".to_owned() });
    }

    /// A loop in a loop. Data ends the inner loop, the outer loop or the program.
    pub(super) fn leave_early(&mut self, nesting: usize) {
        let (outer, inner) = (self.label("t"), self.label("t"));
        let (first, second) = (self.choice(), self.choice());
        self.open(&format!("for loop_{outer}: {outer} = 0:2"));
        self.write(
            &[("t", &outer), ("u", &inner), ("first", &first), ("second", &second)],
            "
            for $loop: $u = M:0:-1 {
              if $skip: $u % 2 == $t { continue $next }
              state $s {
                access total
                tasklet add () -> (o) { o = i64($u) + 2 * $t }
                add.o -> total: total[0] wcr(sum)
              }
              if $stop: $first { break $out }
            }
            if $end: $second and total[0] % 5 == 4 { return $all }",
        );
        self.loops.push(outer);
        self.step(nesting - 1);
        self.loops.pop();
        self.close();
    }

    /// Plain transitions with conditions and assignments.
    pub(super) fn jumps(&mut self) {
        let times = self.rng.below(4).to_string();
        self.write(
            &[("times", &times)],
            "
            state $j1 {}
            -> $j2 with ($x = 0)
            state $j2 {
              access total
              tasklet add () -> (o) { o = i64($x) + 1 }
              add.o -> total: total[0] wcr(sum)
            }
            -> $j3 if $x >= $times
            -> $j2 with ($x = $x + 1)
            state $j3 {}
            -> $j4
            state $j4 {}",
        );
    }

    /// Symbols that data gives, as bounds, as indices and in code.
    pub(super) fn symbols_from_data(&mut self) {
        let (x, y) = (self.label("x"), self.label("y"));
        let value = self.rng.pick(&["i64(hist[2]) % 4 + 1", "total[0] % 3 + 1", "i64(alpha) % 5 + 2"]);
        let rows = self.rng.pick(&["0:min($x, N)", "min($x, N) - 1:-1:-1", "0:N:$x"]).replace("$x", &x);
        self.write(
            &[("x", &x), ("y", &y), ("value", value), ("rows", &rows)],
            "
            state $s1 {}
            -> $s2 with ($x = $value, $y = i64(W[M - 1]) % M)
            state $s2 {
              access src = C
              access dst = C
              map $m [i = $rows, j = 0:M]$SCHEDULE {
                tasklet t (c) -> (o) { o = c + $TY($y) - $TY($x) }
                $m.C -> t.c: C[i, (j + $y) % M]
                t.o -> $m.C: C[i, (j + $y) % M]
              }
              src -> $m.C
              $m.C -> dst
            }",
        );
    }

    /// Sets a scalar.
    pub(super) fn set(&mut self, scalar: &str, value: &str) {
        self.write(
            &[("scalar", scalar), ("value", value)],
            "
            state $s {
              access $scalar
              tasklet set () -> (o) { o = i64($value) }
              set.o -> $scalar
            }",
        );
    }
}
