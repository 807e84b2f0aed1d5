//! Random maps around calls of SDFGs of several blocks: `MapFission`.

use super::rng::Rng;
use super::seldom::{Program, of_one};

/// Blocks between the first and the last state of the called SDFG. The first state defines `kept`, and `parts` at 0.
const BLOCKS: [&str; 9] = [
    "state $L { access kept; access after = kept; tasklet t (x) -> (y) { y = $CODE }; kept -> t.x; t.y -> after }",
    "state $L { access row; access parts; row -> parts: row[0] -> parts[1] }",
    "state $L { access kept; access parts; tasklet t (x) -> (y) { y = x }; kept -> t.x; t.y -> parts: parts[0] }",
    "for l$L: s$L = 0:$BOUND { state $L { access row; access kept; access after = kept; tasklet t (x, z) -> (y) { y = x + 0.5 * z }; kept -> t.x; row -> t.z: row[s$L]; t.y -> after } }",
    "if b$L: $CONDITION { state $L { access kept; access after = kept; tasklet t (x) -> (y) { y = $CODE }; kept -> t.x; t.y -> after } }",
    "if b$L: $CONDITION { state $L { access kept; access result; kept -> result } } else { state o$L { access row; access kept; tasklet t (x) -> (y) { y = x }; row -> t.x: row[0]; t.y -> kept } }",
    "state $L { access row; access own; access kept; map c [k = 0:K - 1] { tasklet t (x) -> (y) { y = $CODE }; c.row -> t.x: row[k]; t.y -> c.own: own[k] }; row -> c.row; c.own -> own; tasklet u (x) -> (y) { y = x }; own -> u.x: own[0]; u.y -> kept }",
    "state $L { }\n-> e$L with (w = $VALUE)\nstate e$L { }",
    "state $L { access row; access kept; tasklet t (x) -> (y) { y = x }; row -> t.x: row[at]; t.y -> kept }",
];

impl Program {
    /// A map around a call of several blocks, which keep values for each other and may go on differently in each iteration.
    pub(super) fn call_of_blocks(&mut self, rng: &mut Rng) {
        let n = self.number;
        self.container(&format!("array R{n}: f64[N]"));
        let range = rng.pick(&["0:N", "0:N", "1:N", "0:N:2", "N - 1:-1:-1", "N // 2:N"]);
        let lifetime = rng.pick(&["", "", " lifetime(sdfg)"]);
        let mut blocks = String::new();
        let count = 1 + rng.below(3);
        for at in 0..count {
            let bound = rng.pick(&["1", "K - 1", "K - 1", "at"]);
            let condition = rng.pick(&["K > 1", "kept > 0.25", "at > 1", "row[0] < kept", "K > w"]);
            let value = rng.pick(&["1", "K - 1", "K // 2", "at"]);
            let block = rng
                .pick(&BLOCKS)
                .replace("$CODE", of_one(rng))
                .replace("$BOUND", bound)
                .replace("$CONDITION", condition)
                .replace("$VALUE", value)
                .replace("$L", &format!("p{at}"));
            blocks.push_str(&block);
            blocks.push('\n');
        }
        let value = of_one(rng);
        self.add(&format!(
            "state s# {{
  access A
  access R = R#
  map m [i = {range}] {{
    nested n (row) -> (result) with (K = N + 1, at = i, w = 1) sdfg inner# {{
      symbol K: i64
      symbol at: i64
      symbol w: i64
      array row: f64[K - 1]
      scalar result: f64
      transient scalar kept: f64{lifetime}
      transient array parts: f64[2]{lifetime}
      transient array own: f64[K - 1]
      state first {{
        access row
        access kept
        access parts
        access result
        tasklet t (x) -> (y, z, r) {{ y = {value}; z = x; r = x }}
        row -> t.x: row[0]
        t.y -> kept
        t.z -> parts: parts[0]
        t.r -> result
      }}
      {blocks}
      state last {{
        access kept
        access parts
        access result
        tasklet t (x, z) -> (y) {{ y = x - 0.5 * z }}
        kept -> t.x
        parts -> t.z: parts[0]
        t.y -> result
      }}
    }}
    m.A -> n.row: A[i, 0:N]
    n.result -> m.R: R#[i]
  }}
  A -> m.A
  m.R -> R
}}"
        ));
    }
}
