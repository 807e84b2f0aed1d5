//! Maps in tiles whose last ones are smaller, with and without a copy of the tile, and memlets that take several elements at
//! each position.

use super::expression::expression;
use super::generate::Generator;

impl Generator {
    /// A map over tiles around one over the elements of a tile.
    pub(super) fn tiled_maps(&mut self) {
        let (rows, columns) = (self.rng.pick(&["2", "3", "8"]), self.rng.pick(&["1", "2", "4", "M"]));
        let names = vec![("a".to_owned(), self.fields)];
        let value = expression(&mut self.rng, self.fields, &names, 2);
        let words = [("t", rows), ("u", columns), ("value", value.as_str())];
        if self.rng.chance(50) {
            self.write(
                &words,
                "
                state $s {
                  access src = A
                  access dst = B
                  map $tiles [ti = 0:N:$t, tj = 0:M:$u]$SCHEDULE {
                    map $m [i = ti:min(ti + $t, N), j = tj:min(tj + $u, M)]$SCHEDULE {
                      tasklet t (a) -> (o) { o = $value }
                      $m.A -> t.a: A[i, j]
                      t.o -> $m.B: B[i, j]
                    }
                    $tiles.A -> $m.A
                    $m.B -> $tiles.B
                  }
                  src -> $tiles.A
                  $tiles.B -> dst
                }",
            );
        } else {
            self.write(
                &words,
                "
                transient array $tile: $FIELD[$t, $u]
                state $s {
                  access src = A
                  access dst = B
                  map $tiles [ti = 0:N:$t, tj = 0:M:$u]$SCHEDULE {
                    access $tile
                    map $m [i = 0:min($t, N - ti), j = min($u, M - tj) - 1:-1:-1]$SCHEDULE {
                      tasklet t (a) -> (o) { o = $value }
                      $m.tile -> t.a: $tile[i, j]
                      t.o -> $m.B: B[ti + i, tj + j]
                    }
                    $tiles.A -> $tile: A[ti:min(ti + $t, N), tj:min(tj + $u, M)] -> $tile[0:min($t, N - ti), 0:min($u, M - tj)]
                    $tile -> $m.tile
                    $m.B -> $tiles.B
                  }
                  src -> $tiles.A
                  $tiles.B -> dst
                }",
            );
        }
    }

    /// Copies out of tiles and back into others.
    pub(super) fn tiled_copies(&mut self) {
        let (tiles, count) = self.rng.pick(&[
            ("0:M - 1:2:2", "2 * (M // 2)"),
            ("0:M - 1:3:2", "2 * ((M + 1) // 3)"),
            ("M - 2:-1:-2:2", "2 * (M // 2)"),
        ]);
        let back = self.rng.pick(&["0:$n", "$n - 1:-1:-1"]).replace("$n", count);
        self.write(
            &[("tiles", tiles), ("n", count), ("back", &back)],
            "
            transient array $part: $TY[M]
            state $s {
              access src = W
              access $part
              access dst = C
              src -> $part: W[$tiles] -> $part[0:$n]
              $part -> dst: $part[$back] -> C[N - 1, $tiles]
            }",
        );
    }
}
