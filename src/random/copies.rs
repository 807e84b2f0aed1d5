//! Random copies: between parts of different shapes, within one container, and through strided memory.

use super::generate::Generator;

impl Generator {
    /// Copies between parts of different shapes.
    pub(super) fn copies(&mut self) {
        let (from, to, memlet) = self.rng.pick(&[
            ("A", "B", "A[0:N, 0:M] -> B[0:N, 0:M]"),
            ("A", "B", "A[0:N:2, 0:M] -> B[0:N:2, 0:M]"),
            ("B", "A", "B[0:N, M - 1] -> A[0:N, 0]"),
            ("A", "V", "A[N - 1:-1:-1, 0] -> V[0:N]"),
            ("C", "W", "C[0, 0:M] -> W[0:M]"),
            ("C", "W", "C[N - 1, M - 1:-1:-2] -> W[0:M:2]"),
        ]);
        self.write(
            &[("from", from), ("to", to), ("memlet", memlet)],
            "
            state $s {
              access x = $from
              access y = $to
              x -> y: $memlet
            }",
        );
        if self.rng.chance(50) {
            self.write(
                &[],
                "
                transient array $flat: $FIELD[N * M]
                state $s {
                  access x = B
                  access $flat
                  access y = A
                  x -> $flat: B[0:N, 0:M] -> $flat[0:N * M]
                  $flat -> y: $flat[0:N * M] -> A[0:N, 0:M]
                }",
            );
        }
    }

    /// A copy from one part of a container to another, which may overlap.
    pub(super) fn copy_in_place(&mut self) {
        let memlet = self.rng.pick(&[
            "C[0:N - 1, 0:M] -> C[1:N, 0:M]",
            "C[1:N, 0:M] -> C[0:N - 1, 0:M]",
            "C[N - 1:-1:-1, 0:M] -> C[0:N, 0:M]",
            "C[0:N, M - 1:-1:-1] -> C[0:N, 0:M]",
            "C[0, 0:min(N, M)] -> C[0:min(N, M), 0]",
            "C[0:N:2, 0:M] -> C[0:N:2, M - 1:-1:-1]",
        ]);
        let resolution = self.rng.pick(&["", "", " wcr(max)", " wcr(min)"]);
        self.write(
            &[("memlet", memlet), ("wcr", resolution)],
            "
            state $s {
              access x = C
              access y = C
              x -> y: $memlet$wcr
            }",
        );
    }

    /// Memory with strides, an offset or a storage of its own between two maps.
    pub(super) fn layouts(&mut self) {
        let layout = self.rng.pick(&[
            "strides(1, N)",
            "strides(M + 1, 1) size(N * (M + 1))",
            "strides(M + 2, 1) offset(2) size(N * (M + 2) + 2)",
            "strides(2 * M, 2) offset(1) size(2 * N * M)",
            "storage(cpu_heap)",
        ]);
        let rows = self.rng.pick(&["0:N", "N - 1:-1:-1"]);
        self.write(
            &[("layout", layout), ("rows", rows)],
            "
            transient array $own: $TY[N, M] $layout
            state $s1 {
              access C
              access $own
              C -> $own: C[$rows, 0:M] -> $own[0:N, 0:M]
            }
            state $s2 {
              access $own
              access src = C
              access dst = C
              map $m [i = 0:N, j = 0:M]$SCHEDULE {
                tasklet t (x, y, c) -> (o) { o = x - y + c }
                $m.own -> t.x: $own[i, M - 1 - j]
                $m.own -> t.y: $own[N - 1 - i, j]
                $m.C -> t.c: C[i, j]
                t.o -> $m.C: C[i, j]
              }
              $own -> $m.own
              src -> $m.C
              $m.C -> dst
            }",
        );
    }
}
