//! Corner cases of memory: small and shared by threads, of computed or growing size, of every lifetime, and
//! with constant contents.

use sdfg::dtype::ScalarKind;

use super::expression::expression;
use super::generate::Generator;

impl Generator {
    /// A small transient that all threads of a map read.
    pub(super) fn shared_memory(&mut self) {
        self.write(
            &[],
            "
            transient array $small: i64[3]
            state $fill {
              access total
              access $small
              tasklet fill (n) -> (o) { o[0] = n; o[1] = 3; o[2] = n - 5 }
              total -> fill.n: total[0]
              fill.o -> $small
            }
            state $s {
              access $small
              access src = W
              access dst = W
              map $m [j = 0:M]$SCHEDULE {
                tasklet t (w, s) -> (o) { o = w - $TY(s) }
                $m.W -> t.w: W[j]
                $m.small -> t.s: $small[j % 3]
                t.o -> $m.W: W[j]
              }
              src -> $m.W
              $small -> $m.small
              $m.W -> dst
            }",
        );
    }

    /// A transient whose size is an assigned symbol.
    pub(super) fn computed_size(&mut self) {
        self.write(
            &[],
            "
            transient array $late: $TY[$size]
            state $s1 {}
            -> $s2 with ($size = M // 2 + 1)
            state $s2 {
              access x = W
              access $late
              access y = W
              x -> $late: W[0:$size] -> $late[0:$size]
              $late -> y: $late[$size - 1:-1:-1] -> W[M - $size:M]
            }",
        );
    }

    /// A transient of a state whose size grows with each execution.
    pub(super) fn growing_transient(&mut self) {
        let range = self.rng.pick(&["1:M + 1", "M:0:-1", "1:M:2"]);
        self.write(
            &[("range", range)],
            "
            transient array $part: $TY[$k] lifetime(state)
            for $loop: $k = $range {
              state $s {
                access W
                access $part
                access dst = W
                W -> $part: W[0:$k] -> $part[0:$k]
                $part -> dst: $part[0:$k] -> W[M - $k:M]
              }
            }",
        );
    }

    /// A transient that is filled in one state and used in the next, or all in one.
    pub(super) fn lifetimes(&mut self) {
        let kept = self.label("kept");
        let lifetime = self.rng.pick(&["persistent", "persistent", "sdfg", "state"]);
        let names = vec![("x".to_owned(), self.others), ("w".to_owned(), self.others)];
        let value = expression(&mut self.rng, self.others, &names, 2);
        // Contents of a transient of a state do not reach the next one.
        let (border, order) = match lifetime {
            "state" => ("access src = W", "order W -> src"),
            _ => ("} ; state $use { access $kept ; access src = W", ""),
        };
        let border = border.replace("$use", &self.label("use")).replace("$kept", &kept);
        self.write(
            &[
                ("kept", &kept),
                ("lifetime", lifetime),
                ("value", &value),
                ("border", &border),
                ("order", order),
            ],
            "
            transient array $kept: $TY[M] lifetime($lifetime)
            state $s {
              access W
              access $kept
              W -> $kept: W[M - 1:-1:-1] -> $kept[0:M]
              $border
              access dst = W
              map $m [j = 0:M]$SCHEDULE {
                tasklet t (x, w) -> (o) { o = $value }
                $m.kept -> t.x: $kept[j]
                $m.W -> t.w: W[j]
                t.o -> $m.W: W[j]
              }
              $kept -> $m.kept
              src -> $m.W
              $m.W -> dst
              $order
            }",
        );
    }

    /// Constant arrays, one with strides, and a constant scalar in code and in a condition.
    pub(super) fn constants(&mut self) {
        let mut value = || match self.others.kind() {
            ScalarKind::Float | ScalarKind::Complex => format!("{}.5", self.rng.below(4)),
            ScalarKind::Signed | ScalarKind::Unsigned | ScalarKind::Bool => self.rng.below(9).to_string(),
        };
        let three = format!("{}, {}, {}", value(), value(), value());
        let four = format!("{}, {}, {}, {}", value(), value(), value(), value());
        let bound = self.rng.pick(&["2", "5"]);
        self.write(
            &[("three", &three), ("four", &four), ("bound", bound)],
            "
            constant array $table: $TY[3] = [$three]
            constant array $square: $TY[2, 2] strides(1, 2) = [$four]
            constant scalar $five: i32 = 5
            if $c: $five > $bound and $table[1] != $TY(7) {
              state $s {
                access $table
                access $square
                access $five
                access src = W
                access dst = W
                map $m [j = 0:M]$SCHEDULE {
                  tasklet t (a, b, c, w) -> (o) { o = a * w + b - $TY(c) }
                  $m.table -> t.a: $table[j % 3]
                  $m.square -> t.b: $square[j % 2, 1]
                  $m.five -> t.c: $five
                  $m.W -> t.w: W[j]
                  t.o -> $m.W: W[j]
                }
                $table -> $m.table
                $square -> $m.square
                $five -> $m.five
                src -> $m.W
                $m.W -> dst
              }
            }
            state $copy {
              access $square
              access hist
              $square -> hist: $square[0:2, 1] -> hist[6:8]
            }",
        );
    }
}
