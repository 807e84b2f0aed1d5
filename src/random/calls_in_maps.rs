//! Random maps around calls of SDFGs: of several blocks for `MapFission`, and of states for `InlineSDFG`.

use std::fmt::Write as _;

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

/// Steps of a state of the called SDFG, which define or update the one element `$R` of an iteration. Each has nodes of its own,
/// and starts and ends at the nodes that the order edges of the state name.
const STEPS: [(&str, &str, &str); 6] = [
    ("tasklet t$L () -> (y) { y = 0.25 }; access r$L = R; t$L.y -> r$L: R[$R]", "t$L", "r$L"),
    (
        "access p$L = P; access r$L = R; tasklet t$L (x) -> (y) { y = $CODE }; p$L -> t$L.x: P[$P]; t$L.y -> r$L: R[$R] wcr(sum)",
        "p$L",
        "r$L",
    ),
    (
        "access a$L = R; access r$L = R; tasklet t$L (x) -> (y) { y = $CODE }; a$L -> t$L.x: R[$R]; t$L.y -> r$L: R[$R]",
        "a$L",
        "r$L",
    ),
    ("access p$L = P; access r$L = R; p$L -> r$L: P[$P] -> R[$R]", "p$L", "r$L"),
    (
        "access p$L = P; access r$L = R; map m$L [k = 0:2] { tasklet t$L (x) -> (y) { y = $CODE }; m$L.P -> t$L.x: P[$P]; t$L.y -> m$L.R: R[$R] wcr(sum) }; p$L -> m$L.P; m$L.R -> r$L",
        "p$L",
        "r$L",
    ),
    (
        "access p$L = P; access k$L = kept; access r$L = R; tasklet t$L (x) -> (y) { y = $CODE }; p$L -> t$L.x: P[$P]; t$L.y -> k$L; k$L -> r$L: kept -> R[$R]",
        "p$L",
        "r$L",
    ),
];

impl Program {
    /// A call in one to three maps, which follows writes of the same state to what it reads and to what it writes: `InlineSDFG`.
    ///
    /// Paths of data alone order most of the parts; the other parts depend on order edges, also across the call.
    pub(super) fn call_in_maps(&mut self, rng: &mut Rng) {
        let n = self.number;
        self.container(&format!("array P{n}: f64[N]"));
        self.container(&format!("array R{n}: f64[N, 2]"));
        self.container(&format!("array Q{n}: f64[N, 2]"));
        let depth = 1 + rng.below(3);
        let has_columns = depth > 1 && rng.chance(50);
        let is_element = rng.chance(30);
        let column = if has_columns { "j" } else { "0" };
        let (written, element, own) = match is_element {
            true => (format!("R#[i, {column}]"), "0".to_owned(), "array R: f64[1]"),
            false => ("R#[0:N, 0:2]".to_owned(), format!("i, {column}"), "array R: f64[N, 2]"),
        };
        let steps = Self::steps_of_a_call(rng, &element);
        let is_read = steps.contains("access a") || steps.contains("wcr") || !is_element || rng.chance(50);
        let reads = if is_read { "P, R" } else { "P" };
        // The maps around the call, from the outermost to the innermost.
        let columns = if has_columns { "0:2" } else { "0:1" };
        let ranges = ["i = 0:N".to_owned(), format!("j = {columns}"), "one = 0:1".to_owned()];
        let mut body = format!(
            "nested call ({reads}) -> (R) with (N = N, i = i, j = {}) sdfg inner# {{
  symbol N: i64
  symbol i: i64
  symbol j: i64
  array P: f64[N]
  {own}
  transient scalar kept: f64
{steps}}}
",
            if depth > 1 { "j" } else { "0" }
        );
        let mut inner = "call".to_owned();
        for (level, range) in ranges[..depth].iter().enumerate().rev() {
            let is_innermost = level + 1 == depth;
            let [p, r] = if is_innermost {
                [": P#[0:N]".to_owned(), format!(": {written}")]
            } else {
                Default::default()
            };
            let back = if is_read { format!("m{level}.R -> {inner}.R{r}\n") } else { String::new() };
            let way = format!("m{level}.P -> {inner}.P{p}\n{back}{inner}.R -> m{level}.R{r}\n");
            body = format!("map m{level} [{range}] {{\n{body}{way}}}\n");
            inner = format!("m{level}");
        }
        self.write_call(rng, &body, is_read);
    }

    /// One or two states, with one to three steps in a row each.
    fn steps_of_a_call(rng: &mut Rng, element: &str) -> String {
        let mut text = String::new();
        for state in 0..1 + rng.below(2) {
            let _ = writeln!(text, "  state s{state} {{");
            let mut last: Option<String> = None;
            for step in 0..1 + rng.below(3) {
                let label = format!("{state}_{step}");
                let (nodes, first, end) = rng.pick(&STEPS);
                let index = rng.pick(&["i", "N - 1 - i", "0", "(i + 1) % N"]);
                let fill =
                    |text: &str| text.replace("$L", &label).replace("$R", element).replace("$P", index);
                let nodes = fill(nodes).replace("$CODE", of_one(rng));
                let _ = writeln!(text, "    {}", nodes.replace("; ", "\n    "));
                if let Some(last) = last {
                    let _ = writeln!(text, "    order {last} -> {}", fill(first));
                }
                last = Some(fill(end));
            }
            text.push_str("  }\n");
        }
        text
    }

    /// The state around the maps of a call: what is written before, and read behind.
    fn write_call(&mut self, rng: &mut Rng, maps: &str, is_read: bool) {
        let mut text = String::from("state s# {\n  access P1 = P#\n  access R0 = R#\n  access R1 = R#\n");
        let before_p = rng.below(3);
        match before_p {
            0 => text.push_str("  access V\n  V -> P1: V[0:N] -> P#[0:N]\n"),
            1 => text.push_str(
                "  access P0 = P#\n  map double [d = 0:N] {\n    tasklet twice (x) -> (y) { y = 2.0 * x }\n    double.P -> twice.x: P#[d]\n    twice.y -> double.P: P#[d]\n  }\n  P0 -> double.P\n  double.P -> P1\n",
            ),
            _ => {}
        }
        if rng.chance(40) {
            text.push_str(
                "  map clear [c = 0:N, e = 0:2] {\n    tasklet zero () -> (y) { y = 0.5 }\n    zero.y -> clear.R: R#[c, e]\n  }\n  clear.R -> R0\n",
            );
        }
        if before_p < 2 && rng.chance(40) {
            text.push_str("  order P1 -> R0\n");
        }
        text.push_str(maps);
        text.push_str("  P1 -> m0.P\n");
        text.push_str(if is_read { "  R0 -> m0.R\n" } else { "  order R0 -> m0\n" });
        text.push_str("  m0.R -> R1\n");
        match rng.below(3) {
            0 => text.push_str("  access Q = Q#\n  R1 -> Q\n"),
            1 => text.push_str(
                "  access P2 = P#\n  map behind [b = 0:N] {\n    tasklet add (x) -> (y) { y = x + 1.0 }\n    behind.R -> add.x: R#[N - 1 - b, 0]\n    add.y -> behind.P: P#[b]\n  }\n  R1 -> behind.R\n  behind.P -> P2\n",
            ),
            _ => {}
        }
        text.push('}');
        self.add(&text);
    }
}
