//! Random views and references: parts and reshaped versions of fields under another name; references change
//! while the program runs.

use super::expression::expression;
use super::generate::Generator;

impl Generator {
    /// A map that reads `C` by another name: a row, a column, another shape, or a part of a view.
    pub(super) fn view(&mut self) {
        let (extents, subset, index) = self.rng.pick(&[
            ("M", "C[0, 0:M]", "j"),
            ("M", "C[N - 1, M - 1:-1:-1]", "M - 1 - j"),
            ("N", "C[0:N, M - 1]", "j % N"),
            ("(N + 1) // 2", "C[0:N:2, 0]", "j % ((N + 1) // 2)"),
            ("N * M", "C[0:N, 0:M]", "(N - 1) * M + j"),
            ("N] strides(M) size((N - 1) * M + 1)", "C[0:N, 0:M]", "j % N"),
        ]);
        // The view declares strides behind its extents.
        let extents = if extents.contains(']') { extents.to_owned() } else { format!("{extents}]") };
        let names = vec![("x".to_owned(), self.others), ("w".to_owned(), self.others)];
        let value = expression(&mut self.rng, self.others, &names, 2);
        let words =
            [("extents", extents.as_str()), ("subset", subset), ("index", index), ("value", value.as_str())];
        if self.rng.chance(70) {
            self.write(
                &words,
                "
                view $v: $TY[$extents
                state $s {
                  access C
                  access $v
                  access src = W
                  access dst = W
                  bind C -> $v: $subset
                  map $m [j = 0:M]$SCHEDULE {
                    tasklet t (x, w) -> (o) { o = $value }
                    $m.v -> t.x: $v[$index]
                    $m.W -> t.w: W[j]
                    t.o -> $m.W: W[j]
                  }
                  $v -> $m.v
                  src -> $m.W
                  $m.W -> dst
                }",
            );
        } else {
            self.write(
                &words,
                "
                view $all: $TY[N * M]
                view $row: $TY[M]
                state $s {
                  access C
                  access $all
                  access $row
                  access dst = W
                  bind C -> $all: C[0:N, 0:M]
                  bind $all -> $row: $all[(N - 1) * M:N * M]
                  $row -> dst: $row[M - 1:-1:-1] -> W[0:M]
                }",
            );
        }
    }

    /// A write to a view changes its target.
    pub(super) fn written_view(&mut self) {
        let (extents, subset, target) = self.rng.pick(&[
            ("M", "C[N - 1, 0:M]", "j"),
            ("M", "C[0, M - 1:-1:-1]", "j"),
            ("N * M", "C[0:N, 0:M]", "N * M - 1 - j"),
        ]);
        let resolution = self.rng.pick(&["", "", " wcr(max)"]);
        let target = if resolution.is_empty() { target } else { "j // 2" };
        let names = vec![("w".to_owned(), self.others)];
        let value = expression(&mut self.rng, self.others, &names, 2);
        self.write(
            &[
                ("extents", extents),
                ("subset", subset),
                ("target", target),
                ("wcr", resolution),
                ("value", &value),
            ],
            "
            view $v: $TY[$extents]
            state $s {
              access W
              access $v
              access C
              map $m [j = 0:M]$SCHEDULE {
                tasklet t (w) -> (o) { o = $value }
                $m.W -> t.w: W[j]
                t.o -> $m.v: $v[$target]$wcr
              }
              W -> $m.W
              $m.v -> $v
              bind $v -> C: $subset
            }",
        );
    }

    /// Each iteration of a map views its row.
    pub(super) fn view_of_an_iteration(&mut self) {
        let inside = self.rng.pick(&[" schedule(sequential)", ""]);
        self.write(
            &[("inside", inside)],
            "
            view $row: $TY[M]
            state $s {
              access C
              access total
              map $m [i = N - 1:-1:-1]$SCHEDULE {
                access $row
                bind $m.C -> $row: C[i, M - 1:-1:-1]
                map $n [j = 0:M]$inside {
                  tasklet t (x, y) -> (o) { o = min(max(i64(x), -100), 100) * (j + 1) - min(max(i64(y), -9), 9) }
                  $n.row -> t.x: $row[j]
                  $n.row -> t.y: $row[0]
                  t.o -> $n.total: total[0] wcr(sum)
                }
                $row -> $n.row
                $n.total -> $m.total
              }
              C -> $m.C
              $m.total -> total
            }",
        );
    }

    /// Two references change places between two transients in a loop, or are left as they are set first.
    pub(super) fn references_in_turn(&mut self) {
        let times = self.rng.pick(&["0:3", "0:N", "0:M - 1"]);
        let names = vec![("x".to_owned(), self.others), ("y".to_owned(), self.others)];
        let value = expression(&mut self.rng, self.others, &names, 2);
        let lifetime = self.rng.pick(&["", " lifetime(sdfg)"]);
        self.write(
            &[("times", times), ("value", &value), ("lifetime", lifetime)],
            "
            transient array $p: $TY[M]$lifetime
            transient array $q: $TY[M]
            reference $old: $TY[M]
            reference $new: $TY[M]
            state $fill {
              access W
              access $p
              access $q
              W -> $p
              W -> $q: W[M - 1:-1:-1] -> $q[0:M]
            }
            for $loop: $t = $times {
              if $c: $t % 2 == 0 {
                state $even { access $p; access $q; access $old; access $new; bind $p -> $old: $p[0:M]; bind $q -> $new: $q[0:M] }
              } else {
                state $odd { access $p; access $q; access $old; access $new; bind $p -> $new: $p[0:M]; bind $q -> $old: $q[0:M] }
              }
              state $step {
                access $old
                access $new
                map $m [j = 0:M]$SCHEDULE {
                  tasklet t (x, y) -> (o) { o = $value }
                  $m.old -> t.x: $old[j]
                  $m.old -> t.y: $old[(j + 1) % M]
                  t.o -> $m.new: $new[j]
                }
                $old -> $m.old
                $m.new -> $new
              }
            }
            state $last {
              access $p
              access $q
              access W
              access C
              $p -> W
              $q -> C: $q[0:M] -> C[N - 1, 0:M]
            }",
        );
    }

    /// A reference that a branch may set again. Afterwards it is read and written, here or in a nested SDFG.
    pub(super) fn reference_of_a_branch(&mut self) {
        let other = self.rng.pick(&["C[0, 0:M]", "C[N - 1, M - 1:-1:-1]", "C[0:N, 0:M]"]);
        let condition = self.choice();
        let names = vec![("x".to_owned(), self.others)];
        let value = expression(&mut self.rng, self.others, &names, 2);
        let words = [("other", other), ("condition", condition.as_str()), ("value", value.as_str())];
        let name = self.label("r");
        let words = [&words[..], &[("r", name.as_str())]].concat();
        self.write(
            &words,
            "
            reference $r: $TY[M]
            state $first { access W; access $r; bind W -> $r: W[0:M] }
            if $c: $condition {
              state $second { access C; access $r; bind C -> $r: $other }
            }",
        );
        if self.rng.chance(50) {
            self.write(
                &words,
                "
                state $use {
                  access $r
                  access after = $r
                  access total
                  map $m [j = 0:M]$SCHEDULE {
                    tasklet t (x) -> (o, n) { o = $value; n = min(max(i64(x), -100), 100) * j }
                    $m.r -> t.x: $r[j]
                    t.o -> $m.r: $r[j]
                    t.n -> $m.total: total[0] wcr(sum)
                  }
                  $r -> $m.r
                  $m.r -> after
                  $m.total -> total
                }",
            );
        } else {
            self.write(
                &words,
                "
                state $call {
                  access $r
                  access after = $r
                  nested n (a) -> (a) with (K = M) sdfg inner {
                    symbol K: i64
                    array a: $TY[K]
                    reference part: $TY[K]
                    if c: K % 2 == 0 {
                      state x { access a; access part; bind a -> part: a[0:K] }
                    } else {
                      state y { access a; access part; bind a -> part: a[K - 1:-1:-1] }
                    }
                    state work {
                      access part
                      access after = part
                      map m [k = 0:K - 1]$SCHEDULE {
                        tasklet t (x) -> (o) { o = $value }
                        m.part -> t.x: part[k]
                        t.o -> m.part: part[k]
                      }
                      part -> m.part
                      m.part -> after
                    }
                  }
                  $r -> n.a
                  n.a -> after
                }",
            );
        }
    }
}
