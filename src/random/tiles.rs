//! Random tiled maps with smaller last tiles, with and without a copy of the tile, and memlets with several
//! elements at each position.

use super::expression::{exact, expression};
use super::generate::Generator;

/// Tiles among `M` elements, and how many elements they have.
const TILES: [(&str, &str); 3] = [
    ("0:M - 1:2:2", "2 * (M // 2)"),
    ("0:M - 1:3:2", "2 * ((M + 1) // 3)"),
    ("M - 2:-1:-2:2", "2 * (M // 2)"),
];

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
        let (tiles, count) = self.rng.pick(&TILES);
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

    /// A tasklet in a map that goes through the elements of tiles, and writes to others or combines with them.
    pub(super) fn tiles_at_tasklets(&mut self) {
        let (tiles, count) = self.rng.pick(&TILES);
        let place = self.rng.pick(&["k", "$n - 1 - k"]).replace("$n", count);
        let resolution = self.resolution(self.others);
        let (to, memlet, value) = if self.rng.chance(50) {
            let names = ["a", "b"].map(|name| (name.to_owned(), self.fields));
            ("B", format!("B[i, {tiles}]"), expression(&mut self.rng, self.fields, &names, 2))
        } else {
            let value = if self.fields.is_complex() { "real(a)" } else { "a" };
            let value = exact(self.others, self.fields.component(), value, resolution == "product");
            ("C", format!("C[0, {tiles}] wcr({resolution})"), value)
        };
        self.write(
            &[
                ("tiles", tiles),
                ("n", count),
                ("place", &place),
                ("to", to),
                ("memlet", &memlet),
                ("value", &value),
            ],
            "
            state $s {
              access src = A
              access dst = $to
              map $m [i = 0:N]$SCHEDULE {
                tasklet t (x) -> (o) {
                  for k in range($n):
                    a = x[$place]
                    b = x[k]
                    o[k] = $value
                }
                $m.A -> t.x: A[i, $tiles]
                t.o -> $m.out: $memlet
              }
              src -> $m.A
              $m.out -> dst
            }",
        );
    }
}
