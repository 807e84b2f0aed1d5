//! Random maps over fields: same position, neighbours, triangular, tiled, nested, and over ranges from data.

use sdfg::dtype::ScalarType;

use super::expression::{condition, expression};
use super::generate::{Container, Generator};

/// Ranges over the whole of a dimension of extent `N`, or parts of it.
const RANGES: [&str; 5] = ["0:N", "0:N", "0:N:2", "N - 1:-1:-1", "1:N"];

impl Generator {
    /// A map over a field that reads others at the same place.
    pub(super) fn pointwise(&mut self) {
        let all = self.containers();
        let target = all[self.rng.below(3)].clone();
        let mut sources: Vec<Container> = all.iter().filter(|_| self.rng.chance(50)).cloned().collect();
        if sources.is_empty() {
            sources.push(target.clone());
        }
        let rows = self.rng.pick(&RANGES);
        let columns = self.rng.pick(&RANGES).replace('N', "M");
        let (state, map) = (self.label("s"), self.label("m"));
        let schedule = self.schedule();
        let collapse =
            if schedule.contains("multicore") && self.rng.chance(40) { " collapse(2)" } else { "" };
        self.open(&format!("state {state}"));
        for source in &sources {
            self.line(&format!("access in_{} = {}", source.name, source.name));
        }
        self.line(&format!("access out = {}", target.name));
        self.open(&format!("map {map} [i = {rows}, j = {columns}]{schedule}{collapse}"));
        let volume = if self.pointwise_tasklet(&sources, &target) { " atmost(1)" } else { "" };
        for source in &sources {
            let index = index_of(source.dimensions);
            self.line(&format!("{map}.{} -> t.c_{}: {}[{index}]", source.name, source.name, source.name));
        }
        self.line(&format!("t.o -> {map}.out: {}[i, j]{volume}", target.name));
        self.close();
        // Sometimes the memlet at the border of the scope is declared, with a larger subset than necessary.
        let declares = self.rng.chance(25);
        for source in &sources {
            let declared = if declares && source.dimensions.len() == 2 {
                format!(": {}[0:N, 0:M]", source.name)
            } else {
                String::new()
            };
            self.line(&format!("in_{} -> {map}.{}{declared}", source.name, source.name));
        }
        self.line(&format!("{map}.out -> out"));
        self.close();
    }

    /// A tasklet `t` from connectors `c_X` to `o`; whether it may leave its output out.
    fn pointwise_tasklet(&mut self, sources: &[Container], target: &Container) -> bool {
        let connectors: Vec<(String, ScalarType)> =
            sources.iter().map(|source| (format!("c_{}", source.name), source.ty)).collect();
        let mut names = connectors.clone();
        names.extend(self.symbols());
        names.retain(|(_, ty)| ty.is_complex() == target.ty.is_complex());
        let value = expression(&mut self.rng, target.ty, &names, 3);
        let list: Vec<&str> = connectors.iter().map(|(name, _)| name.as_str()).collect();
        let leaves_out = !target.ty.is_complex() && self.rng.chance(25);
        let dialect = if self.rng.chance(15) { " dialect(c)" } else { "" };
        self.open(&format!("tasklet t ({}) -> (o){dialect}", list.join(", ")));
        if leaves_out {
            let condition = condition(&mut self.rng, target.ty, &names);
            self.line(&format!("if {condition}:"));
        }
        self.line(&format!("{}o = {value}", if leaves_out { "  " } else { "" }));
        self.close();
        leaves_out
    }

    /// Neighbours of one field into another.
    pub(super) fn stencil(&mut self) {
        let (from, to) = if self.rng.chance(50) { ("A", "B") } else { ("B", "A") };
        let names: Vec<(String, ScalarType)> =
            ["w", "e", "n"].map(|name| (name.to_owned(), self.fields)).to_vec();
        let value = expression(&mut self.rng, self.fields, &names, 3);
        self.write(
            &[("from", from), ("to", to), ("value", &value)],
            "
            state $s {
              access src = $from
              access dst = $to
              map $m [i = 1:N - 1, j = 1:M - 1]$SCHEDULE {
                tasklet t (w, e, n) -> (o) { o = $value }
                $m.f -> t.w: $from[i, j - 1]
                $m.f -> t.e: $from[i, j + 1]
                $m.f -> t.n: $from[i - 1, j]
                t.o -> $m.g: $to[i, j]
              }
              src -> $m.f
              $m.g -> dst
            }",
        );
    }

    /// A map in a map with a transient of the outer one's iteration.
    pub(super) fn nested_maps(&mut self) {
        let ty = self.others;
        let names =
            vec![("c".to_owned(), ty), ("i".to_owned(), ScalarType::I64), ("j".to_owned(), ScalarType::I64)];
        let value = expression(&mut self.rng, ty, &names, 2);
        let storage = self.rng.pick(&["", "", " storage(cpu_heap)", " storage(cpu_thread_local)"]);
        let inside = self.schedule();
        self.write(
            &[("value", &value), ("storage", storage), ("inside", inside)],
            "
            transient array $row: $TY[M]$storage
            state $s {
              access src = C
              access dst = C
              map $m [i = 0:N]$SCHEDULE {
                access $row
                map $m1 [j = 0:M]$inside {
                  tasklet t (c) -> (o) { o = $value }
                  $m1.C -> t.c: C[i, j]
                  t.o -> $m1.row: $row[j]
                }
                map $m2 [k = 0:M]$inside {
                  tasklet u (r, q) -> (o) { o = r - q }
                  $m2.row -> u.r: $row[M - 1 - k]
                  $m2.row -> u.q: $row[k]
                  u.o -> $m2.C: C[i, k]
                }
                $m.C -> $m1.C
                $m1.row -> $row
                $row -> $m2.row
                $m2.C -> $m.C
              }
              src -> $m.C
              $m.C -> dst
            }",
        );
    }

    /// A range that depends on an outer parameter.
    pub(super) fn triangle(&mut self) {
        let range = self.rng.pick(&["0:min(i + 1, M)", "i:M", "0:min(i, M):2", "min(i, M) - 1:-1:-1"]);
        let names = vec![("a".to_owned(), self.fields)];
        let value = expression(&mut self.rng, self.fields, &names, 2);
        self.write(
            &[("range", range), ("value", &value)],
            "
            state $s {
              access src = A
              access dst = B
              map $m [i = 0:N, j = $range]$SCHEDULE {
                tasklet t (a) -> (o) { o = $value }
                $m.A -> t.a: A[i, j]
                t.o -> $m.B: B[i, j]
              }
              src -> $m.A
              $m.B -> dst
            }",
        );
    }

    /// A range that data gives.
    pub(super) fn dynamic_range(&mut self) {
        let last = self.rng.pick(&["min(N, M)", "M // 2", "0", "M"]);
        let limit = self.label("limit");
        self.declare(&format!("transient scalar {limit}: i64"));
        self.set(&limit, last);
        let (to, place) = self.rng.pick(&[("total", "total[0]"), ("score", "score")]);
        let range = self.rng.pick(&["0:last", "last - 1:-1:-1", "0:last:2"]);
        self.write(
            &[("limit", &limit), ("range", range), ("to", to), ("place", place)],
            "
            state $s {
              access $limit
              access src = C
              access dst = $to
              map $m [j = $range]$SCHEDULE {
                tasklet t (c) -> (o) { o = min(max(i64(c), -100), 100) + j }
                $m.C -> t.c: C[0, j]
                t.o -> $m.to: $place wcr(sum)
              }
              $limit -> $m@last: $limit
              src -> $m.C
              $m.to -> dst
            }",
        );
    }

    /// Code with locals and loops over a row that it gets as a whole.
    pub(super) fn local_code(&mut self) {
        let update = self.rng.pick(&["max(s, r[k])", "s + r[k]", "r[k] - s", "s if s > r[k] else r[k]"]);
        let bound = self.rng.pick(&["k >= 2", "s == r[0]", "False"]);
        self.write(
            &[("update", update), ("bound", bound)],
            "
            state $s {
              access src = C
              access dst = C
              access alpha
              map $m [i = 0:N]$SCHEDULE {
                tasklet t (r, x) -> (o) {
                  s = $TY(0)
                  k = 0
                  while k < M and not ($bound):
                    s = $update
                    k += 1
                  for k2 in range(M - 1, -1, -1):
                    if k2 % 2 == 0:
                      o[k2] = s
                    else:
                      o[k2] = r[k2] + x
                }
                $m.C -> t.r: C[i, 0:M]
                $m.alpha -> t.x: alpha
                t.o -> $m.C: C[i, 0:M]
              }
              src -> $m.C
              alpha -> $m.alpha
              $m.C -> dst
            }",
        );
    }
}

/// The index of an element of a container with these dimensions in a map over `i` and `j`.
fn index_of(dimensions: &[&str]) -> String {
    let index = dimensions.iter().map(|dimension| if *dimension == "N" { "i" } else { "j" });
    index.collect::<Vec<_>>().join(", ")
}
