//! Random conflicting writes with resolution, and reductions. Combinations are exact, so their order does not
//! matter.

use sdfg::dtype::{ScalarKind, ScalarType};

use super::expression::{condition, exact};
use super::generate::Generator;

impl Generator {
    pub(super) fn resolution(&mut self, ty: ScalarType) -> &'static str {
        match ty.kind() {
            ScalarKind::Float => {
                self.rng.pick(&["sum", "product", "min", "max", "lambda old, new: max(old, new)"])
            }
            ScalarKind::Complex => "sum",
            ScalarKind::Signed | ScalarKind::Unsigned | ScalarKind::Bool => self.rng.pick(&[
                "sum",
                "product",
                "min",
                "max",
                "bitand",
                "bitor",
                "bitxor",
                "lambda p, q: p + q",
                "lambda p, q: (p ^ q) if True else p",
            ]),
        }
    }

    /// Conflicting writes: to a vector or to one element.
    pub(super) fn accumulate(&mut self) {
        let resolution = self.resolution(self.others);
        let target = self.rng.pick(&["W[j]", "W[M - 1 - j]", "hist[0]", "hist[i % 8]", "C[i, 0]"]);
        let name = target.split('[').next().unwrap_or(target);
        let order = self.rng.pick(&["i = 0:N, j = 0:M", "j = 0:M, i = 0:N"]);
        let value = if self.fields.is_complex() { "real(a)" } else { "a" };
        let value = exact(self.others, self.fields.component(), value, resolution == "product");
        self.write(
            &[("target", target), ("name", name), ("order", order), ("value", &value), ("wcr", resolution)],
            "
            state $s {
              access src = A
              access dst = $name
              map $m [$order]$SCHEDULE {
                tasklet t (a) -> (o) { o = $value }
                $m.A -> t.a: A[i, j]
                t.o -> $m.out: $target wcr($wcr)
              }
              src -> $m.A
              $m.out -> dst
            }",
        );
    }

    /// Writes to an element that data chooses.
    pub(super) fn histogram(&mut self) {
        self.write(
            &[],
            "
            state $s {
              access src = C
              access dst = hist
              map $m [i = 0:N, j = 0:M]$SCHEDULE {
                tasklet t (c) -> (h) { h[i64(c) % 8] = $TY(1) }
                $m.C -> t.c: C[i, j]
                t.h -> $m.out: hist[0:8] wcr(sum) volume(1)
              }
              src -> $m.C
              $m.out -> dst
            }",
        );
    }

    /// A reduction over one axis or all, from the identity or into the present values.
    pub(super) fn reduce(&mut self) {
        let is_float = self.others.is_float();
        // Sums of floating-point data are exact in no order that is not the interpreter's.
        let operations: &[&str] = if is_float {
            &["min", "max", "lambda old, new: max(old, new)"]
        } else {
            &["sum", "min", "bitxor", "product", "lambda old, new: old + new"]
        };
        let operation = self.rng.pick(operations);
        let identity = if is_float { " identity(2.0)" } else { " identity(2)" };
        let identity = if self.rng.chance(50) { identity } else { "" };
        let (to, axes, from, target) = self.rng.pick(&[
            ("W", " axes(0)", "C[0:N, 0:M]", "W[0:M]"),
            ("W", " axes(0)", "C[N - 1:-1:-2, 0:M]", "W[M - 1:-1:-1]"),
            ("hist", "", "C[0:N, 0:M]", "hist[3]"),
            ("hist", " axes(0, 1)", "C[0:N:2, 0:M]", "hist[5]"),
            ("hist", " axes(1)", "C[0:min(N, 4), 0:M]", "hist[0:min(N, 4)]"),
            ("hist", "", "C[1:N, 0:M]", "hist[1]"),
        ]);
        let schedule = self.rng.pick(&["", "", " schedule(sequential)"]);
        self.write(
            &[
                ("wcr", operation),
                ("identity", identity),
                ("to", to),
                ("axes", axes),
                ("from", from),
                ("target", target),
                ("schedule", schedule),
            ],
            "
            state $s {
              access C
              access $to
              reduce r wcr($wcr)$axes$identity$schedule
              C -> r: $from
              r -> $to: $target
            }",
        );
    }

    /// Combinations that a condition may leave out, also all of them.
    pub(super) fn conditional(&mut self) {
        let ty = self.others;
        let resolutions: &[&str] = if ty.is_float() {
            &["min", "max", "and", "or", "xor"]
        } else {
            &["sum", "min", "max", "and", "or", "xor", "bitand", "bitor", "bitxor"]
        };
        let resolution = self.rng.pick(resolutions);
        let target = self.rng.pick(&["hist[0]", "hist[(i + 2 * j) % 8]", "W[j]", "W[0]"]);
        let name = target.split('[').next().unwrap_or(target);
        let order = self.rng.pick(&["i = 0:N, j = 0:M", "j = 0:M, i = j:N", "i = N - 1:-1:-1, j = 0:M"]);
        let names = vec![("c".to_owned(), ty), ("i".to_owned(), ScalarType::I64)];
        let condition = condition(&mut self.rng, ty, &names);
        self.write(
            &[
                ("name", name),
                ("order", order),
                ("condition", &condition),
                ("target", target),
                ("wcr", resolution),
            ],
            "
            state $s {
              access src = C
              access dst = $name
              map $m [$order]$SCHEDULE {
                tasklet t (c) -> (o) {
                  if $condition:
                    o = c
                }
                $m.C -> t.c: C[i, j]
                t.o -> $m.out: $target wcr($wcr) atmost(1)
              }
              src -> $m.C
              $m.out -> dst
            }",
        );
    }

    /// Pairs of a value and its place. The best ones remain.
    pub(super) fn locations(&mut self) {
        let best = self.rng.pick(&["min_location", "max_location"]);
        let value = self.rng.pick(&["c", "floor(c / 2)", "max(c, $TY(1))"]);
        let value = if self.others.is_float() { value } else { self.rng.pick(&["c", "c // 2", "c % 3"]) };
        let value = value.replace("$TY", self.others.name());
        self.write(
            &[("wcr", best), ("value", &value)],
            "
            transient array $best: $TYx2[1]
            transient array $rows: $TYx2[3]
            state $begin {
              access $best
              access $rows
              tasklet t () -> (b, r) {
                b[0] = lanes($TY(1), $TY(60))
                for k in range(3):
                  r[k] = lanes($TY(k), $TY(50 + k))
              }
              t.b -> $best: $best[0:1]
              t.r -> $rows: $rows[0:3]
            }
            state $search {
              access C
              access $best
              access $rows
              map $m [i = 0:N, j = 0:M]$SCHEDULE {
                tasklet t (c) -> (b, r) {
                  b = lanes($value, $TY(i * M + j))
                  r = lanes($value, $TY(50 - i * M - j))
                }
                $m.C -> t.c: C[i, j]
                t.b -> $m.best: $best[0] wcr($wcr)
                t.r -> $m.rows: $rows[(i + j) % 3] wcr($wcr)
              }
              C -> $m.C
              $m.best -> $best
              $m.rows -> $rows
            }
            state $tell {
              access $best
              access $rows
              access hist
              tasklet t (b, r) -> (h) {
                h[0] = lane(b, 0)
                h[1] = lane(b, 1)
                h[2] = lane(r[1], 0) + lane(r[2], 1)
              }
              $best -> t.b: $best[0]
              $rows -> t.r: $rows[0:3]
              t.h -> hist: hist[0:3]
            }",
        );
    }

    /// Writes of equal values, any of which may remain.
    pub(super) fn replace(&mut self) {
        self.write(
            &[],
            "
            state $s {
              access W
              access hist
              map $m [j = 0:M, k = 0:N]$SCHEDULE {
                tasklet t (w) -> (o, p) { o = w; p = w + $TY(1) }
                $m.W -> t.w: W[0]
                t.o -> $m.hist: hist[4] wcr(replace)
                t.p -> $m.hist: hist[5 + j % 3] wcr(replace)
              }
              W -> $m.W
              $m.hist -> hist
            }",
        );
    }
}
