//! Random programs with what some transformations find in few other programs: sums of inner maps, independent parts of a map,
//! tasklets in a row, blocks that never run, local streams, wavefronts, loops around maps and states, buffers of a loop, products, copies of
//! parts, calls in maps, copies that loops repeat.
//!
//! Each part of a program is made for one transformation. Most choices keep it applicable; some do not, or change what the
//! rewritten program must respect.

use std::fmt::Write;

use super::rng::Rng;

/// The parts, each with the transformations that it is for in its documentation.
const PARTS: [fn(&mut Program, &mut Rng); 29] = [
    Program::inner_sum,
    Program::tasklets_in_a_row,
    Program::independent_parts,
    Program::decided,
    Program::pushes,
    Program::zeros_and_sum,
    Program::wavefront,
    Program::time_loop,
    Program::loop_around_map,
    Program::states_in_a_loop,
    Program::buffered,
    Program::product,
    Program::equal_reads,
    Program::handed_on,
    Program::part_of_array,
    Program::written_part,
    Program::assigned,
    Program::whole_copy,
    Program::call_of_blocks,
    Program::call_in_maps,
    Program::repeated_copy,
    Program::repeated_copy,
    // Those that fit least often are here twice.
    Program::inner_sum,
    Program::independent_parts,
    Program::decided,
    Program::product,
    Program::whole_copy,
    Program::inner_sum,
    Program::tasklets_in_a_row,
];

/// Text of the program of a seed. Its symbol is `N`.
pub(super) fn seldom(seed: u64) -> String {
    let mut rng = Rng::new(seed ^ 0x5e1d);
    let mut program = Program::default();
    for _ in 0..4 + rng.below(4) {
        let part = rng.pick(&PARTS);
        part(&mut program, &mut rng);
        if rng.chance(15) {
            program.add("state e# { }");
        }
        program.number += 1;
    }
    format!(
        "sdfg seldom {{\n  symbol N: i64\n  array A: f64[N, N]\n  array B: f64[N, N]\n  array D: f64[N, N, N]\n  array V: f64[N + 4]\n  array W: f64[N + 4]\n{}{}}}\n",
        program.containers, program.blocks
    )
}

#[derive(Default)]
pub(super) struct Program {
    containers: String,
    blocks: String,
    /// The number of the part, which is in the names of what it declares.
    pub(super) number: usize,
}

/// A tasklet's code over one element.
pub(super) fn of_one(rng: &mut Rng) -> &'static str {
    ["x", "0.5 * x", "x - 1.5", "max(x, 0.25)"][rng.below(4)]
}

/// A factor of a product that an element decides: products of any number of powers of two are exact.
pub(super) const FACTOR: &str = "2.0 if x > 0.25 else -0.5";

/// A tasklet's code over two elements.
fn of_two(rng: &mut Rng) -> &'static str {
    ["x + 0.5 * z", "x - z", "max(x, z)", "0.5 * x + 2.0"][rng.below(4)]
}

impl Program {
    pub(super) fn container(&mut self, text: &str) {
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(self.containers, "  {text}");
    }

    /// Adds text in which `#` is the number of the part.
    pub(super) fn add(&mut self, text: &str) {
        let number = self.number.to_string();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let _ = writeln!(self.blocks, "  {}", line.replace('#', &number));
        }
    }

    /// A map in a map that combines with elements: `AccumulateTransient`, `LocalStorage`.
    fn inner_sum(&mut self, rng: &mut Rng) {
        let n = self.number;
        let target = ["R#[i]", "R#[i]", "R#[0]", "R#[N - 1 - i]"][rng.below(4)];
        self.container(&format!("array R{n}: f64[N]"));
        let resolution = ["sum", "sum", "product", "max"][rng.below(4)];
        let (source, range, index) = if rng.chance(50) {
            ("A", ["0:N", "0:N", "1:N", "N - 1:-1:-1", "0:N:2"][rng.below(5)], "i, j")
        } else {
            ("V", ["0:4", "1:3", "3:-1:-1", "i:i + 3", "0:4:3"][rng.below(5)], "j")
        };
        let other = if rng.chance(20) {
            format!("  tasklet u () -> (y) {{ y = 1 }}\n  u.y -> o.R: {target} wcr({resolution})\n")
        } else {
            String::new()
        };
        let to_exit = if other.is_empty() { "" } else { "    o.R -> R\n" };
        let value = if resolution == "product" { FACTOR } else { of_one(rng) };
        self.add(&format!(
            "state s# {{
  access X = {source}
  access R = R#
  map o [i = 0:N] {{
    map m [j = {range}] {{
      tasklet t (x) -> (y) {{ y = {value} }}
      m.X -> t.x: {source}[{index}]
      t.y -> m.R: {target} wcr({resolution})
    }}
    o.X -> m.X
    m.R -> o.S
  {other}  }}
  X -> o.X
  o.S -> R
{to_exit}}}"
        ));
    }

    /// Two or three tasklets with scalars between them, in a map or not: `TaskletFusion`.
    fn tasklets_in_a_row(&mut self, rng: &mut Rng) {
        let n = self.number;
        let is_in_map = rng.chance(60);
        self.container(&format!("array P{n}: f64[N]"));
        let (mut nodes, mut edges) = (String::new(), String::new());
        let (port, index) = if is_in_map { ("m.", "i") } else { ("", "0") };
        let count = 2 + rng.below(2);
        for at in 0..count {
            // With locals, and with symbols.
            let symbol = if is_in_map { "i" } else { "N" };
            let code = match rng.below(6) {
                0 => "p = x - z; y = 0.5 * p".to_owned(),
                1 => format!("y = x + {symbol}"),
                2 => "y = max(x, z)".to_owned(),
                3 => "x1 = z; y = x + 0.5 * x1".to_owned(),
                _ => "y = x - 0.5 * z".to_owned(),
            };
            let code = if rng.chance(10) {
                "\n    if x > z:\n      y = x\n    else:\n      y = z\n  ".to_owned()
            } else {
                format!(" {code} ")
            };
            let _ = writeln!(nodes, "  tasklet t{at} (x, z) -> (y) {{{code}}}");
            let second = ["V", "W"][rng.below(2)];
            let offset = rng.below(3);
            let scalar = at.checked_sub(1).map(|before| format!("c#_{before}"));
            match &scalar {
                Some(scalar) => {
                    let _ = writeln!(edges, "  C{} -> t{at}.x: {scalar}", at - 1);
                }
                None => {
                    let _ = writeln!(edges, "  {port}V -> t{at}.x: V[{index}]");
                }
            }
            match &scalar {
                // The scalar twice.
                Some(scalar) if rng.chance(10) => {
                    let _ = writeln!(edges, "  C{} -> t{at}.z: {scalar}", at - 1);
                }
                _ => {
                    let _ = writeln!(edges, "  {port}{second} -> t{at}.z: {second}[{index} + {offset}]");
                }
            }
            if at + 1 < count {
                // Small numbers are exact in either type.
                let element = if rng.chance(20) { "f32" } else { "f64" };
                self.container(&format!("transient scalar c{n}_{at}: {element}"));
                let _ = writeln!(nodes, "  access C{at} = c#_{at}");
                let _ = writeln!(edges, "  t{at}.y -> C{at}: c#_{at}");
                if at > 0 && rng.chance(15) {
                    let _ = writeln!(edges, "  order t0 -> C{at}");
                }
            } else if is_in_map {
                let _ = writeln!(edges, "  t{at}.y -> m.P: P#[i]");
            } else {
                let _ = writeln!(edges, "  t{at}.y -> P: P#[0]");
            }
        }
        let used = |name: &str| edges.contains(&format!("{port}{name} -> "));
        let sources: Vec<&str> = ["V", "W"].into_iter().filter(|name| used(name)).collect();
        let mut text = String::from("state s# {\n");
        sources.iter().for_each(|name| text.push_str(&format!("  access {name}\n")));
        text.push_str("  access P = P#\n");
        if is_in_map {
            let range = ["0:N", "N - 1:-1:-1"][rng.below(2)];
            let _ = write!(text, "  map m [i = {range}] {{\n{nodes}{edges}  }}\n");
            sources.iter().for_each(|name| text.push_str(&format!("  {name} -> m.{name}\n")));
            text.push_str("  m.P -> P\n");
        } else {
            text.push_str(&nodes);
            text.push_str(&edges);
        }
        self.add(&(text + "}"));
    }

    /// A map with contents that no edge joins: `MapFission`.
    fn independent_parts(&mut self, rng: &mut Rng) {
        let n = self.number;
        let count = 2 + rng.below(2);
        let ranges = ["i = 0:N, j = 0:N", "j = 0:N, i = N - 1:-1:-1", "i = 0:N, j = 0:N:2"][rng.below(3)];
        let mut inside = String::new();
        let mut outside = String::new();
        for at in 0..count {
            self.container(&format!("array P{n}_{at}: f64[N, N]"));
            let source = rng.pick(&["A", "B"]);
            let index = ["i, j", "j, i", "i, 0"][rng.below(3)];
            let value = of_one(rng);
            let _ = write!(
                inside,
                "  tasklet t{at} (x) -> (y) {{ y = {value} }}
  m.p{at} -> t{at}.x: {source}[{index}]
  t{at}.y -> m.q{at}: P#_{at}[i, j]
"
            );
            let _ = write!(
                outside,
                "access X{at} = {source}
access Y{at} = P#_{at}
X{at} -> m.p{at}
m.q{at} -> Y{at}
"
            );
        }
        self.add(&format!("state s# {{\nmap m [{ranges}] {{\n{inside}}}\n{outside}}}"));
    }

    /// Conditions that sizes and loops decide: `DeadStateElimination`, `StateElimination`.
    fn decided(&mut self, rng: &mut Rng) {
        let step = |label: &str, rng: &mut Rng| {
            let value = of_one(rng);
            format!(
                "state {label} {{
  access V
  access X = V
  tasklet t (x) -> (y) {{ y = {value} }}
  V -> t.x: V[2]
  t.y -> X: V[2]
}}
"
            )
        };
        let [a, b, c] = ["a#", "b#", "c#"].map(|label| step(label, rng));
        let condition = ["N < 0", "N >= 0", "N + 1 > 0", "N == 0 - 2", "2 * N + 3 > 2"][rng.below(5)];
        let text = match rng.below(4) {
            0 => format!("if k#: {condition} {{\n{a}}}\n"),
            1 => format!("if k#: {condition} {{\n{a}}} else {{\n{b}}}\n"),
            2 => {
                let inner = ["t# >= 0", "t# < N", "t# > N", "t# - N >= 0"][rng.below(4)];
                format!("for l#: t# = 0:N {{\nif k#: {inner} {{\n{a}}} else {{\n{b}}}\n}}\n")
            }
            _ => format!("{a}-> c# if {condition}\n{b}{c}"),
        };
        self.add(&text);
    }

    /// Pushes by a map in a map, and a sum of what comes out: `LocalStream`.
    fn pushes(&mut self, rng: &mut Rng) {
        let n = self.number;
        self.container(&format!("transient stream Q{n}: f64"));
        self.container(&format!("array T{n}: f64[1]"));
        let range = ["0:N", "0:N", "0:i + 1", "1:N"][rng.below(4)];
        let code =
            if rng.chance(70) { "\n        if v > 0.5:\n            x = v\n      " } else { " x = v " };
        let dynamic = if code.contains("if") { " dynamic" } else { "" };
        let workers = 1 + rng.below(4);
        self.add(&format!(
            "state s# {{
  access A
  access Q = Q#
  access T = T#
  map o [i = 0:N] {{
    map m [j = {range}] {{
      tasklet f (v) -> (x) {{{code}}}
      m.A -> f.v: A[i, j]
      f.x -> m.Q: Q#{dynamic}
    }}
    o.A -> m.A
    m.Q -> o.Q
  }}
  consume all [e = 0:{workers}] {{
    tasklet g (x) -> (y) {{ y = x }}
    all.stream -> g.x: Q#
    g.y -> all.T: T#[0] wcr(sum)
  }}
  A -> o.A
  o.Q -> Q
  Q -> all.stream
  all.T -> T
}}"
        ));
    }

    /// Initial values, then a sum in them: `ReducePeeling`.
    fn zeros_and_sum(&mut self, rng: &mut Rng) {
        let n = self.number;
        let rank = 1 + rng.below(2);
        let (shape, points) = (["N", "N, N"][rank - 1], ["i", "i, j"][rank - 1]);
        self.container(&format!("array R{n}: f64[{shape}]"));
        let is_product = rank == 1 && rng.chance(25);
        let (resolution, neutral) = if is_product { ("product", "1") } else { ("sum", "0") };
        let range = ["0:N + 1", "0:3", "N:-1:-1", "0:N"][rng.below(4)];
        let mut params = vec![format!("k = {range}"), "i = 0:N".to_owned()];
        if rank == 2 {
            params.push("j = 0:N".to_owned());
        }
        let turn = rng.below(params.len());
        params.rotate_left(turn);
        let (fill, filled) = [("p = 0:N", "p"), ("p = 0:N, q = 0:N", "p, q")][rank - 1];
        let value = if is_product { FACTOR } else { of_one(rng) };
        self.add(&format!(
            "state s# {{
  access V
  access zeros = R#
  access R = R#
  map fill [{fill}] {{
    tasklet zero () -> (y) {{ y = {neutral} }}
    zero.y -> fill.R: R#[{filled}]
  }}
  map m [{}] {{
    tasklet t (x) -> (y) {{ y = {value} }}
    m.V -> t.x: V[k]
    t.y -> m.R: R#[{points}] wcr({resolution})
  }}
  fill.R -> zeros
  order zeros -> m
  V -> m.V
  m.R -> R
}}",
            params.join(", ")
        ));
    }

    /// Two nested loops over neighbours: `Skewing`, `LoopPeeling`, `LoopUnroll`.
    fn wavefront(&mut self, rng: &mut Rng) {
        let is_sweep = rng.chance(50);
        let (outer, inner) = if is_sweep { ("0:3", "1:N + 2") } else { ("1:N", "1:N") };
        let back = ["0", "1"][rng.below(2)];
        let (target, reads) = if is_sweep {
            let far = ["j# + 1", "j# + 2", "j#"][rng.below(3)];
            ("V[j#]", ["V[j# - 1]".to_owned(), format!("V[{far}]")])
        } else {
            let second =
                [format!("A[i# - 1, j# - {back}]"), format!("A[i#, j# - {back}]"), "A[i# - 1, 0]".to_owned()];
            ("A[i#, j#]", ["A[i# - 1, j#]".to_owned(), rng.pick(&second)])
        };
        let name = &target[..1];
        let value = ["0.5 * x - z", "max(x, z)", "x + 1.0"][rng.below(3)];
        self.add(&format!(
            "for o#: i# = {outer} {{
  for l#: j# = {inner} {{
    state s# {{
      access {name}
      access X = {name}
      tasklet t (x, z) -> (y) {{ y = {value} }}
      {name} -> t.x: {}
      {name} -> t.z: {}
      t.y -> X: {target}
    }}
  }}
}}",
            reads[0], reads[1]
        ));
    }

    /// A loop over stencils: `DiamondTiling`.
    fn time_loop(&mut self, rng: &mut Rng) {
        let mut states = String::new();
        let reach = rng.below(3);
        for (at, (from, to)) in [("V", "W"), ("W", "V")].into_iter().enumerate() {
            let offset = 2 + rng.below(reach + 1);
            let value = of_two(rng);
            let _ = write!(
                states,
                "  state s#_{at} {{
    access {from}
    access X = {to}
    map m [i = 2:N + 2] {{
      tasklet f (x, z) -> (y) {{ y = {value} }}
      m.p -> f.x: {from}[i]
      m.p -> f.z: {from}[i + {offset} - 2]
      f.y -> m.q: {to}[i]
    }}
    {from} -> m.p
    m.q -> X
  }}
"
            );
        }
        let steps = 2 + rng.below(3);
        self.add(&format!("for l#: t# = 0:{steps} {{\n{states}}}"));
    }

    /// A loop around a state with one map: `MoveLoopIntoMap`, `LoopToMap`, `LoopUnroll`.
    fn loop_around_map(&mut self, rng: &mut Rng) {
        let range = ["1:N", "1:N", "N - 1:0:-1", "1:min(N, 4)"][rng.below(4)];
        let before = if range.contains("-1") { "k# - 1" } else { "k#" };
        let read = ["i, k# - 1", "i, k#", "i, 0", "0, i"][rng.below(4)];
        let read = if read.contains("- 1") { format!("i, {before}") } else { read.to_owned() };
        let (source, target) = [("B", "B"), ("A", "B"), ("A", "B")][rng.below(3)];
        let value = of_one(rng);
        let inner = ["0:N", "N - 1:-1:-1", "0:k#"][rng.below(3)];
        // An element of another row would be one that another iteration of the map writes.
        let read = if source == target && !read.starts_with("i, ") { "i, k#".to_owned() } else { read };
        self.add(&format!(
            "for l#: k# = {range} {{
  state s# {{
    access X = {source}
    access Y = {target}
    map m [i = {inner}] {{
      tasklet t (x) -> (y) {{ y = {value} }}
      m.p -> t.x: {source}[{read}]
      t.y -> m.q: {target}[i, k#]
    }}
    X -> m.p
    m.q -> Y
  }}
}}"
        ));
    }

    /// A loop over states with a map each: `LoopFission`, `LoopStripMining`.
    fn states_in_a_loop(&mut self, rng: &mut Rng) {
        let range = ["1:N", "1:N", "N - 1:0:-1", "1:N:2"][rng.below(4)];
        let mut states = String::new();
        for (at, (from, to)) in [("B", "A"), ("A", "B"), ("A", "B")].into_iter().enumerate() {
            if at == 2 && rng.chance(60) {
                continue;
            }
            let from = if rng.chance(20) { to } else { from };
            // What another iteration of the map writes is not read.
            let read = ["k#", "k#", "k# - 1", "N - 1 - k#", "0"][rng.below(5)];
            let value = of_one(rng);
            let resolution = if rng.chance(15) && from != to { " wcr(sum)" } else { "" };
            let _ = write!(
                states,
                "  state s#_{at} {{
    access X = {from}
    access Y = {to}
    map m [i = 0:N] {{
      tasklet f (x) -> (y) {{ y = {value} }}
      m.p -> f.x: {from}[{read}, i]
      f.y -> m.q: {to}[k#, i]{resolution}
    }}
    X -> m.p
    m.q -> Y
  }}
"
            );
        }
        self.add(&format!("for l#: k# = {range} {{\n{states}}}"));
    }

    /// A transient that each iteration of a loop fills and reads: `DoubleBuffering`, `LoopToMap`.
    fn buffered(&mut self, rng: &mut Rng) {
        let n = self.number;
        self.container(&format!("transient array L{n}: f64[N]"));
        let range = ["0:N", "1:N", "N - 1:-1:-1", "0:N:2"][rng.below(4)];
        let (value, index) = (of_one(rng), ["j", "N - 1 - j"][rng.below(2)]);
        let is_row = rng.chance(60);
        let fills = if is_row {
            "A -> L: A[k#, 0:N] -> L#[0:N]".to_owned()
        } else {
            format!(
                "map f [j = 0:N] {{
  tasklet g (x) -> (y) {{ y = {} }}
  f.A -> g.x: A[j, k#]
  g.y -> f.L: L#[j]
}}
A -> f.A
f.L -> L",
                of_one(rng)
            )
        };
        // The part of this iteration may be written, which the next one does not read.
        let own = if is_row { "A[k#, j]" } else { "A[j, k#]" };
        let target = ["B[k#, j]", "B[j, k#]", "B[0, j]", own][rng.below(4)];
        let name = &target[..1];
        self.add(&format!(
            "for l#: k# = {range} {{
state s# {{
access A
access L = L#
access Y = {name}
{fills}
map m [j = 0:N] {{
  tasklet t (x) -> (y) {{ y = {value} }}
  m.L -> t.x: L#[{index}]
  t.y -> m.Y: {target}
}}
L -> m.L
m.Y -> Y
}}
}}"
        ));
    }

    /// A product of matrices, also of batches: `LiftToLibrary`, `ExpandLibrary`.
    fn product(&mut self, rng: &mut Rng) {
        let n = self.number;
        let is_batch = rng.chance(25);
        let [a, b, c] = [("i, k", "k, i"), ("k, j", "j, k"), ("i, j", "j, i")]
            .map(|(plain, swapped)| if rng.chance(30) { swapped } else { plain });
        let (first, shape, batch) = if is_batch { ("D", "N, N, N", "b, ") } else { ("A", "N, N", "") };
        let second = if is_batch { "D" } else { "B" };
        self.container(&format!("array R{n}: f64[{shape}]"));
        let mut params = vec!["i = 0:N", "j = 0:N", "k = 0:N"];
        if is_batch {
            params.push("b = 0:N");
        }
        let turn = rng.below(params.len());
        params.rotate_left(turn);
        let scale = if rng.chance(10) { "0.5 * x * z" } else { ["x * z", "z * x"][rng.below(2)] };
        self.add(&format!(
            "state s# {{
  access X = {first}
  access Y = {second}
  access R = R#
  map m [{}] {{
    tasklet t (x, z) -> (y) {{ y = {scale} }}
    m.X -> t.x: {first}[{batch}{a}]
    m.Y -> t.z: {second}[{batch}{b}]
    t.y -> m.R: R#[{batch}{c}] wcr(sum)
  }}
  X -> m.X
  Y -> m.Y
  m.R -> R
}}",
            params.join(", ")
        ));
    }

    /// Access nodes of a container that is only read, or written between: `MergeReads`.
    fn equal_reads(&mut self, rng: &mut Rng) {
        let n = self.number;
        for at in 0..2 {
            self.container(&format!("array P{n}_{at}: f64[N]"));
        }
        let indices = [["0", "0"], ["0", "N - 1"]][rng.below(2)];
        // A write between the reads, which it orders.
        let write = if rng.chance(25) {
            "tasklet w () -> (y) { y = 3 }\norder Y0 -> w\naccess Z = A\nw.y -> Z: A[N - 1, 0]\norder Z -> X1\n"
        } else {
            ""
        };
        self.add(&format!(
            "state s# {{
access X0 = A
access X1 = A
access Y0 = P#_0
access Y1 = P#_1
{write}X0 -> Y0: A[{}, 0:N] -> P#_0[0:N]
X1 -> Y1: A[{}, 0:N] -> P#_1[0:N]
}}",
            indices[0], indices[1]
        ));
    }

    /// A tasklet that only hands an element on: `TrivialTaskletElimination`.
    fn handed_on(&mut self, rng: &mut Rng) {
        let n = self.number;
        self.container(&format!("transient array L{n}: f64[N]"));
        self.container(&format!("transient scalar c{n}: f64"));
        let code = ["y = x", "y = x", "y = x", "y = 0.5 * x"][rng.below(4)];
        let value = of_two(rng);
        let middle = if rng.chance(50) { ("c#", "c#", "c#") } else { ("L#", "L#[0]", "L#[0]") };
        let (name, write, read) = middle;
        self.add(&format!(
            "state s# {{
  access A
  access L = {name}
  access V
  access W
  tasklet h (x) -> (y) {{ {code} }}
  A -> h.x: A[0, N - 1]
  h.y -> L: {write}
  map m [i = 2:N + 2] {{
    tasklet t (x, z) -> (y) {{ y = {value} }}
    m.L -> t.x: {read}
    m.V -> t.z: V[i]
    t.y -> m.W: W[i]
  }}
  L -> m.L
  V -> m.V
  m.W -> W
}}"
        ));
    }

    /// A copy of a part of an array that maps read: `RedundantReadSlice`, `RedundantSecondArray`.
    fn part_of_array(&mut self, rng: &mut Rng) {
        let n = self.number;
        self.container(&format!("transient array L{n}: f64[N]"));
        let part = ["V[0:N]", "V[2:N + 2]", "A[0, 0:N]", "A[0:N, N - 1]"][rng.below(4)];
        let source = &part[..1];
        let index = ["i", "N - 1 - i", "0"][rng.below(3)];
        // A target that is also the source is written after the copy.
        let target = if source == "V" && rng.chance(25) { "V" } else { "W" };
        let value = of_one(rng);
        self.add(&format!(
            "state s# {{
  access X = {source}
  access L = L#
  access Y = {target}
  X -> L: {part} -> L#[0:N]
  map m [i = 0:N] {{
    tasklet t (x) -> (y) {{ y = {value} }}
    m.L -> t.x: L#[{index}]
    t.y -> m.Y: {target}[i]
  }}
  L -> m.L
  m.Y -> Y
}}"
        ));
    }

    /// A map that writes a part of an array through a view, and perhaps through a view of the view: `RedundantWriteSlice`.
    fn written_part(&mut self, rng: &mut Rng) {
        // Rows, columns and borders; the elements of a part lie as far apart as those of the array.
        let (target, part, stride, size) = [
            ("V", "V[0:N]", "1", "N"),
            ("V", "V[2:N + 2]", "1", "N"),
            ("A", "A[N - 1, 0:N]", "1", "N"),
            ("A", "A[0:N, N - 1]", "N", "N*N - N + 1"),
        ][rng.below(4)];
        let view = format!("f64[N] strides({stride}) size({size})");
        self.container(&format!("view L{}: {view}", self.number));
        self.container(&format!("view K{}: {view}", self.number));
        let index = ["i", "N - 1 - i"][rng.below(2)];
        let value = of_one(rng);
        let read = ["", "\n  access R = R#\n  F -> R: L#[0:N] -> R#[0:N]\n  order R -> m"][rng.below(2)];
        if !read.is_empty() {
            self.container(&format!("array R{}: f64[N]", self.number));
        }
        let resolution = ["", " wcr(sum)"][rng.below(2)];
        let set_before = format!(
            "\n  access F = L#
  map z [i = 0:N] {{
    tasklet c () -> (y) {{ y = 1.5 }}
    order z -> c
    c.y -> z.F: L#[i]
  }}
  z.F -> F
  order F -> m{read}"
        );
        let (first, between) = match rng.below(10) {
            0..3 => ("K#", "\n  access K = K#\n  bind K -> L: L#[0:N]"),
            // The view is written at another node before, as by the identity of a reduction, and perhaps read there.
            3..6 => ("L#", set_before.as_str()),
            _ => ("L#", ""),
        };
        let node = &first[..1];
        self.add(&format!(
            "state s# {{
  access X = W
  access L = L#{between}
  access Y = {target}
  map m [i = 0:N] {{
    tasklet t (x) -> (y) {{ y = {value} }}
    m.W -> t.x: W[i]
    t.y -> m.{node}: {first}[{index}]{resolution}
  }}
  X -> m.W
  m.{node} -> {node}
  bind L -> Y: {part}
}}"
        ));
    }

    /// A copy of a whole array to or from a transient: `RedundantArray`, `RedundantSecondArray`.
    fn whole_copy(&mut self, rng: &mut Rng) {
        let n = self.number;
        self.container(&format!("transient array L{n}: f64[N, N]"));
        self.container(&format!("array P{n}: f64[N, N]"));
        let value = of_one(rng);
        let map = |from: &str, to: &str, index: &str| {
            format!(
                "map m [i = 0:N, j = 0:N] {{
    tasklet t (x) -> (y) {{ y = {value} }}
    m.p -> t.x: {from}[{index}]
    t.y -> m.q: {to}[i, j]
  }}
"
            )
        };
        let index = ["i, j", "i, j", "j, i"][rng.below(3)];
        let (map, edges) = if rng.chance(50) {
            // The target is read before it is written, or not.
            let from = if rng.chance(30) { "P#" } else { "A" };
            (map(from, "L#", index), format!("access X = {from}\n  X -> m.p\n  m.q -> L\n  L -> Y"))
        } else {
            (map("L#", "P#", index), "access X = B\n  X -> L\n  L -> m.p\n  m.q -> Y".to_owned())
        };
        self.add(&format!("state s# {{\n  access L = L#\n  access Y = P#\n  {map}  {edges}\n}}"));
    }

    /// A symbol that a transition sets: `SymbolPropagation`.
    fn assigned(&mut self, rng: &mut Rng) {
        let value = ["N - 1", "N // 2", "2", "N + 1", "min(N, 2)"][rng.below(5)];
        let index = ["w#", "w# + 1", "0"][rng.below(3)];
        let code = of_two(rng);
        let again = if rng.chance(20) { "-> c# with (w# = 1)\n" } else { "" };
        let step = |label: &str| {
            format!(
                "state {label} {{
  access V
  access X = V
  map m [i = 0:1] {{
    tasklet t (x, z) -> (y) {{ y = {code} }}
    m.V -> t.x: V[{index}]
    m.V -> t.z: V[w#]
    t.y -> m.X: V[w#]
  }}
  V -> m.V
  m.X -> X
}}
"
            )
        };
        let (b, c) = (step("b#"), step("c#"));
        self.add(&format!("state a# {{ }}\n-> b# with (w# = {value})\n{b}{again}{c}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::check::interprets;

    #[test]
    fn programs_are_valid_and_run() {
        for seed in 0..80 {
            let text = seldom(seed);
            interprets(seed, &text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        }
    }

    /// Each part alone writes a program that runs.
    #[test]
    fn every_part_runs() {
        for (number, part) in PARTS.iter().enumerate() {
            for seed in 0..12 {
                let mut program = Program::default();
                part(&mut program, &mut Rng::new(seed));
                let text = format!(
                    "sdfg p {{\n  symbol N: i64\n  array A: f64[N, N]\n  array B: f64[N, N]\n  array D: f64[N, N, N]\n  array V: f64[N + 4]\n  array W: f64[N + 4]\n{}{}}}\n",
                    program.containers, program.blocks
                );
                interprets(seed, &text)
                    .unwrap_or_else(|error| panic!("part {number}, seed {seed}: {error}\n{text}"));
            }
        }
    }
}
