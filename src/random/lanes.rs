//! Random short vectors and truth values: one map constructs them from scalars and combines them, another one
//! decomposes them.

use super::expression::{condition, expression};
use super::generate::Generator;

impl Generator {
    /// Vectors that are computed with, kept in memory, combined lane by lane or as a whole, and taken apart.
    pub(super) fn vectors(&mut self) {
        let names = vec![("w".to_owned(), self.others)];
        let first = expression(&mut self.rng, self.others, &names, 2);
        let second = expression(&mut self.rng, self.others, &names, 1);
        let operations: &[&str] = if self.others.is_float() {
            &[
                "v + q",
                "v * q - v",
                "max(v, q)",
                "min(q, v * lane(q, 1))",
                "v if lane(v, 0) > lane(q, 1) else -q",
            ]
        } else {
            &["v + q", "v * q - v", "max(v, q)", "v ^ q", "(v & q) | (v >> 1)", "v // q"]
        };
        let value = self.rng.pick(operations);
        let resolution = self.rng.pick(&["max", "min", "lambda o, n: max(o, n)"]);
        self.write(
            &[("first", &first), ("second", &second), ("value", value), ("wcr", resolution)],
            "
            transient array $vectors: $TYx4[M]
            transient array $best: $TYx4[2]
            state $make {
              access W
              access $vectors
              access $best
              map $m [j = 0:M]$SCHEDULE {
                tasklet t (w) -> (v) { v = lanes($first, $second, w, $TY(j)) }
                $m.W -> t.w: W[j]
                t.v -> $m.vectors: $vectors[j]
              }
              W -> $m.W
              $m.vectors -> $vectors
              tasklet zero () -> (b) {
                b[0] = lanes($TY(0), $TY(1), $TY(2), $TY(3))
                b[1] = lanes($TY(1), $TY(0), $TY(1), $TY(0))
              }
              zero.b -> $best: $best[0:2]
            }
            state $use {
              access $vectors
              access src = W
              access dst = W
              access $best
              map $m2 [j = 0:M]$SCHEDULE {
                tasklet t (v, q, w) -> (o, b) {
                  r = $value
                  o = lane(r, 0) + lane(r, 2) - lane(r, 3) * w
                  b = r
                }
                $m2.vectors -> t.v: $vectors[j]
                $m2.vectors -> t.q: $vectors[M - 1 - j]
                $m2.W -> t.w: W[j]
                t.o -> $m2.W: W[j]
                t.b -> $m2.best: $best[j % 2] wcr($wcr)
              }
              $vectors -> $m2.vectors
              src -> $m2.W
              $m2.W -> dst
              $m2.best -> $best
            }
            state $tell {
              access $best
              access hist
              tasklet t (b) -> (h) {
                h[0] = lane(b[0], 0) + lane(b[1], 1)
                h[1] = lane(b[1], 3)
              }
              $best -> t.b: $best[0:2]
              t.h -> hist: hist[0:2]
            }",
        );
    }

    /// Truth values in memory, combined and used as conditions.
    pub(super) fn masks(&mut self) {
        let names = vec![("c".to_owned(), self.others)];
        let condition = condition(&mut self.rng, self.others, &names);
        let resolution = self.rng.pick(&["and", "or", "xor", "bitor", "bitxor"]);
        self.write(
            &[("condition", &condition), ("wcr", resolution)],
            "
            transient array $mask: bool[N, M]
            transient array $rows: bool[N]
            state $make {
              access C
              access $mask
              access $rows
              map $m [i = 0:N, j = 0:M]$SCHEDULE {
                tasklet t (c) -> (b) { b = $condition }
                $m.C -> t.c: C[i, j]
                t.b -> $m.mask: $mask[i, j]
              }
              C -> $m.C
              $m.mask -> $mask
              map $n [i = 0:N]$SCHEDULE {
                tasklet t2 () -> (b) { b = i % 2 == 0 }
                t2.b -> $n.rows: $rows[i]
              }
              $n.rows -> $rows
            }
            state $combine {
              access $mask
              access $rows
              map $m2 [i = 0:N, j = 0:M]$SCHEDULE {
                tasklet t (b) -> (r) { r = b }
                $m2.mask -> t.b: $mask[i, j]
                t.r -> $m2.rows: $rows[i] wcr($wcr)
              }
              $mask -> $m2.mask
              $m2.rows -> $rows
            }
            state $use {
              access $mask
              access $rows
              access src = C
              access dst = C
              map $m3 [i = 0:N, j = 0:M]$SCHEDULE {
                tasklet t (b, r, c) -> (o) { o = c + $TY(1) if b and not r else c - $TY(r) }
                $m3.mask -> t.b: $mask[i, j]
                $m3.rows -> t.r: $rows[i]
                $m3.C -> t.c: C[i, j]
                t.o -> $m3.C: C[i, j]
              }
              $mask -> $m3.mask
              $rows -> $m3.rows
              src -> $m3.C
              $m3.C -> dst
            }",
        );
    }
}
