//! Random nested SDFGs: with loops and jumps, with values instead of memory, and nested in each other.

use super::expression::expression;
use super::generate::Generator;

impl Generator {
    /// A nested SDFG with a loop for each row, which it may leave.
    pub(super) fn nested_sdfg(&mut self) {
        let start = self.rng.below(5).to_string();
        let names = vec![("c".to_owned(), self.others), ("s".to_owned(), self.others)];
        let value = expression(&mut self.rng, self.others, &names, 2);
        let end = self.rng.pick(&["return done", "break out", "continue on"]);
        self.write(
            &[("start", &start), ("value", &value), ("end", end)],
            "
            state $s {
              access src = C
              access dst = W
              map $m [j = 0:M]$SCHEDULE {
                nested n (column) -> (result) with (K = N) sdfg inner {
                  symbol K: i64
                  array column: $TY[K]
                  scalar result: $TY
                  transient scalar sum: $TY
                  state begin {
                    access sum
                    access result
                    tasklet zero () -> (o, r) { o = $TY($start); r = $TY(1) }
                    zero.o -> sum
                    zero.r -> result
                  }
                  for each: k = 0:K {
                    if positive: column[k] > column[0] {
                      $end
                    }
                    state step {
                      access column
                      access before = sum
                      access after = sum
                      tasklet t (c, s) -> (o) { o = $value }
                      column -> t.c: column[k]
                      before -> t.s
                      t.o -> after
                    }
                    state store {
                      access sum
                      access result
                      sum -> result
                    }
                  }
                }
                $m.C -> n.column: C[0:N, j]
                n.result -> $m.W: W[j]
              }
              src -> $m.C
              $m.W -> dst
            }",
        );
    }

    /// Values between tasklets, into a nested SDFG and out of it.
    pub(super) fn values(&mut self) {
        let names = |name: &str| vec![(name.to_owned(), self.others)];
        let (x, u, v) = (names("x"), names("u"), names("v"));
        let first = expression(&mut self.rng, self.others, &x, 2);
        let inside = expression(&mut self.rng, self.others, &u, 2);
        let last = expression(&mut self.rng, self.others, &v, 2);
        self.write(
            &[("first", &first), ("inside", &inside), ("last", &last)],
            "
            state $s {
              access src = W
              access dst = W
              access total
              map $m [j = 0:M]$SCHEDULE {
                tasklet t (x) -> (y: $TY, z: i64) { y = $first; z = j }
                nested n (a) -> (b) sdfg inner {
                  scalar a: $TY
                  scalar b: $TY
                  state s { access a; access b; tasklet t (u) -> (o) { o = $inside }; a -> t.u; t.o -> b }
                }
                tasklet last (v: $TY, k: i64) -> (o, q) { o = $last; q = k }
                $m.W -> t.x: W[j]
                t.y -> n.a
                t.z -> last.k
                n.b -> last.v
                last.o -> $m.W: W[j]
                last.q -> $m.total: total[0] wcr(sum)
              }
              src -> $m.W
              $m.W -> dst
              $m.total -> total
            }",
        );
    }

    /// A value that is a symbol of a nested SDFG: the bound of a loop there, or of a map.
    pub(super) fn value_into_a_symbol(&mut self) {
        let value = self.rng.pick(&["i64(c) % 4", "i64(c) % 3 + 1", "i"]);
        let add = self.rng.pick(&[
            "for each: k = 0:K { state s { access r; tasklet t () -> (o) { o = k + 1 }; t.o -> r: r wcr(sum) } }",
            "state s { access r; map m [k = K - 1:-1:-1] { tasklet t () -> (o) { o = k + 1 }; t.o -> m.r: r wcr(sum) }; m.r -> r }",
        ]);
        self.write(
            &[("value", value), ("add", add)],
            "
            state $s {
              access C
              access total
              map $m [i = 0:N]$SCHEDULE {
                tasklet t (c) -> (z: i64) { z = $value }
                nested n (K) -> (r) sdfg inner {
                  symbol K: i64
                  scalar r: i64
                  state first { access r; tasklet zero () -> (o) { o = 7 }; zero.o -> r }
                  $add
                }
                tasklet last (x: i64) -> (q) { q = x }
                $m.C -> t.c: C[i, 0]
                t.z -> n.K
                n.r -> last.x
                last.q -> $m.total: total[0] wcr(sum)
              }
              C -> $m.C
              $m.total -> total
            }",
        );
    }

    /// Nested SDFGs in each other, in maps, loops and branches, up to five deep.
    pub(super) fn deep_calls(&mut self) {
        let levels = 2 + self.rng.below(4);
        let names = vec![("a".to_owned(), self.others)];
        let value = expression(&mut self.rng, self.others, &names, 2);
        let mut body = format!(
            "
state work {{
  access x; access y
  map work [k = K - 1:-1:-1]{} {{ tasklet t (a) -> (o) {{ o = {value} }}; work.x -> t.a: x[k]; t.o -> work.y: y[k] }}
  x -> work.x
  work.y -> y
}}",
            self.schedule()
        );
        for level in 0..levels {
            body = self.around(level, &body);
        }
        let whole = body.trim().replace('\n', "\n            ");
        self.write(
            &[("body", &whole)],
            "
            state $s {
              access src = W
              access dst = C
              nested n (x) -> (y) with (K = M) sdfg deep {
                symbol K: i64
                array x: $TY[K]
                array y: $TY[K]
                $body
              }
              src -> n.x
              n.y -> dst: C[N - 1, 0:M]
            }",
        );
    }

    /// Blocks that call an SDFG with the given blocks, from `x` to `y`, which have `K` elements inside as outside.
    fn around(&mut self, level: usize, body: &str) -> String {
        let ty = self.others;
        let call = |extent: &str| {
            format!(
                "nested n (x) -> (y) with (K = {extent}) sdfg level{level} {{
symbol K: i64
array x: {ty}[K]
array y: {ty}[K]
{}
}}",
                body.trim()
            )
        };
        let plain = format!("state s {{\naccess x; access y\n{}\nx -> n.x\nn.y -> y\n}}", call("K"));
        match self.rng.below(5) {
            0 => plain,
            1 => format!("for r{level}: q{level} = 0:2 {{\n{plain}\n}}"),
            2 => format!(
                "if even: K % 2 == 0 {{\n{plain}\n}} else {{\nstate copy {{ access x; access y; x -> y: x[K - 1:-1:-1] -> y[0:K] }}\n}}"
            ),
            3 => format!(
                "state s {{
access x; access y
map each [e{level} = 0:K]{} {{
{}
each.x -> n.x: x[e{level}:e{level} + 1]
n.y -> each.y: y[e{level}:e{level} + 1]
}}
x -> each.x
each.y -> y
}}",
                self.schedule(),
                call("1")
            ),
            _ => format!(
                "state halves {{
access x; access y
nested low (x) -> (y) with (K = K // 2) sdfg low {{
symbol K: i64
array x: {ty}[K]
array y: {ty}[K]
{body}
}}
x -> low.x: x[0:K // 2]
low.y -> y: y[K - K // 2:K]
}}
state rest {{ access x; access y; x -> y: x[K // 2:K] -> y[0:K - K // 2] }}",
                body = body.trim()
            ),
        }
    }
}
