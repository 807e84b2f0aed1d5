//! Random programs with sums: maps before reductions, maps that accumulate behind initial values, and products of matrices.

use std::fmt::Write;

use super::rng::Rng;
use super::seldom::FACTOR;

/// Text of the program of a seed. Its symbol is `N`.
pub(super) fn reducible(seed: u64) -> String {
    let mut rng = Rng::new(seed ^ 0x50b5);
    let mut program = Program::default();
    let count = 1 + rng.below(3);
    for number in 0..count {
        match rng.below(4) {
            0 | 1 => program.map_and_reduction(&mut rng, number),
            2 => program.sum(&mut rng, number),
            _ => program.product(&mut rng, number),
        }
    }
    format!(
        "sdfg reducible {{\n  symbol N: i64\n  array A: f64[N, N]\n  array B: f64[N, N]\n  array D: f64[N + 1, N, N]\n{}{}}}\n",
        program.containers, program.states
    )
}

#[derive(Default)]
struct Program {
    containers: String,
    states: String,
}

/// Three parameters with their ranges, and the container that has all of their elements.
const INDICES: [&str; 3] = ["i", "j", "k"];

impl Program {
    fn container(&mut self, text: &str) {
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(self.containers, "  {text}");
    }

    fn state(&mut self, number: usize, contents: &str) {
        let _ = writeln!(self.states, "  state s{number} {{\n{contents}  }}");
    }

    /// A map that writes a transient, and a reduction of it.
    fn map_and_reduction(&mut self, rng: &mut Rng, number: usize) {
        let rank = 1 + rng.below(3);
        let params = &INDICES[..rank];
        let mut order: Vec<&str> = params.to_vec();
        if rng.chance(40) {
            order.rotate_left(1);
        }
        let resolution = ["sum", "sum", "sum", "max", "min"][rng.below(5)];
        // With an identity that is not neutral, too.
        let identity = match rng.below(4) {
            0 => String::new(),
            1 => " identity(1.5)".to_owned(),
            _ => " identity(0)".to_owned(),
        };
        let axes: Vec<usize> = (0..rank).filter(|_| rng.chance(50)).collect();
        let axes = if axes.is_empty() { vec![rank - 1] } else { axes };
        let kept = rank - axes.len();
        let full = |count: usize| vec!["0:N"; count].join(", ");
        let shape = |count: usize| vec!["N"; count].join(", ");
        let (t, r) = (format!("T{number}"), format!("R{number}"));
        self.container(&format!("transient array {t}: f64[{}]", shape(rank)));
        let target =
            if kept == 0 { format!("array {r}: f64[3]") } else { format!("array {r}: f64[{}]", shape(kept)) };
        self.container(&target);
        let place = if kept == 0 { "1".to_owned() } else { full(kept) };
        let list: Vec<String> = axes.iter().map(ToString::to_string).collect();
        // Some read fewer elements than there are, or read the transient elsewhere.
        let read = if rng.chance(8) { vec!["0"; rank].join(", ") } else { full(rank) };
        let is_part = read != full(rank);
        let axes = if is_part { String::new() } else { format!(" axes({})", list.join(", ")) };
        let place = if is_part && kept > 0 { vec!["0"; kept].join(", ") } else { place };
        let is_read_again = rng.chance(8);
        let value = ["x", "x * x", "x + 0.5 * z", "x * z"][rng.below(4)];
        let inner = rank > 1 && rng.chance(40);
        let ranges: Vec<String> = params.iter().map(|param| format!("{param} = {}", range(rng))).collect();
        let mut text = String::from("    access A\n");
        let (first, second) = if inner { ranges.split_at(1) } else { ranges.split_at(rank) };
        let at = if inner { "n" } else { "m" };
        let _ = writeln!(text, "    access {t}\n    access {r}\n    map m [{}] {{", first.join(", "));
        if inner {
            let _ = writeln!(text, "      map n [{}] {{", second.join(", "));
        }
        let _ = writeln!(text, "        tasklet t (x, z) -> (y) {{ y = {value} }}");
        let last = order.last().copied().unwrap_or("i");
        let _ = writeln!(text, "        {at}.A -> t.x: A[{}, {last}]", order[0]);
        let _ = writeln!(text, "        {at}.A -> t.z: A[{last}, 0]");
        let _ = writeln!(text, "        t.y -> {at}.T: {t}[{}]", order.join(", "));
        if inner {
            text.push_str("      }\n      m.A -> n.A\n      n.T -> m.T\n");
        }
        let _ = writeln!(text, "    }}\n    reduce r wcr({resolution}){axes}{identity}");
        let _ = writeln!(
            text,
            "    A -> m.A\n    m.T -> {t}\n    {t} -> r: {t}[{read}]\n    r -> {r}: {r}[{place}]"
        );
        if is_read_again {
            self.container(&format!("array Q{number}: f64[{}]", shape(rank)));
            let _ = writeln!(text, "    access Q{number}\n    {t} -> Q{number}");
        }
        self.state(number, &text);
    }

    /// A map that fills a container, and one that accumulates in it.
    fn sum(&mut self, rng: &mut Rng, number: usize) {
        let r = format!("R{number}");
        let (resolution, value) = if rng.chance(80) { ("sum", "0") } else { ("product", "1") };
        let value = if rng.chance(10) { "0.5" } else { value };
        let summand = if resolution == "product" { FACTOR } else { "x + 0.5 * z" };
        let params = ["i", "j"];
        let is_local = rng.chance(50);
        let (range, extent) = match rng.below(5) {
            0 => ("0:3", "0"),
            1 => ("0:N + 1", "k"),
            2 => ("N:-1:-1", "k"),
            3 => ("0:N", "k"),
            _ => ("1:N + 1:2", "k"),
        };
        let leaf = if rng.chance(15) { "j, i" } else { "i, j" };
        let position = rng.below(3);
        let mut ranges: Vec<String> = params.iter().map(|param| format!("{param} = 0:N")).collect();
        ranges.insert(position, format!("k = {range}"));
        let body = |at: &str, target: &str| {
            format!(
                "      tasklet t (x, z) -> (y) {{ y = {summand} }}\n      {at}.D -> t.x: D[{extent}, i, j]\n      {at}.D -> t.z: D[0, j, i]\n      t.y -> {at}.R: {target} wcr({resolution})\n"
            )
        };
        if is_local {
            self.container(&format!("array {r}: f64[N, N]"));
            self.container(&format!("transient scalar L{number}: f64"));
            let l = format!("L{number}");
            let text = format!(
                "    access D\n    access {r}\n    map m [i = 0:N, j = 0:N] {{\n      access z = {l}\n      access {l}\n      tasklet zero () -> (y) {{ y = {value} }}\n      zero.y -> z: {l}\n      map s [k = {range}] {{\n{}      }}\n      order z -> s\n      m.D -> s.D\n      s.R -> {l}\n      {l} -> m.R: {l} -> {r}[{leaf}]\n    }}\n    D -> m.D\n    m.R -> {r}\n",
                body("s", &l)
            );
            self.state(number, &text);
            return;
        }
        self.container(&format!("array {r}: f64[N, N]"));
        let text = format!(
            "    access D\n    access z = {r}\n    access {r}\n    map fill [p = 0:N, q = 0:N] {{\n      tasklet zero () -> (y) {{ y = {value} }}\n      zero.y -> fill.R: {r}[{}, q]\n    }}\n    map m [{}] {{\n{}    }}\n    fill.R -> z\n    order z -> m\n    D -> m.D\n    m.R -> {r}\n",
            if rng.chance(20) { "N - 1 - p" } else { "p" },
            ranges.join(", "),
            body("m", &format!("{r}[{leaf}]")),
        );
        self.state(number, &text);
    }

    /// A product of matrices, as a map and a sum.
    fn product(&mut self, rng: &mut Rng, number: usize) {
        let r = format!("R{number}");
        self.container(&format!("array {r}: f64[N, N]"));
        let [a, b, c] = [("i, k", "k, i"), ("k, j", "j, k"), ("i, j", "j, i")]
            .map(|(plain, swapped)| if rng.chance(30) { swapped } else { plain });
        let other = if rng.chance(30) { "A" } else { "B" };
        let body = format!(
            "      tasklet t (x, z) -> (y) {{ y = x * z }}\n      m.A -> t.x: A[{a}]\n      m.B -> t.z: {other}[{b}]\n"
        );
        let order = ["i = 0:N, j = 0:N, k = 0:N", "i = 0:N, k = 0:N, j = 0:N"][rng.below(2)];
        let source = if other == "A" { "" } else { "    access B\n" };
        if rng.chance(50) {
            let t = format!("T{number}");
            self.container(&format!("transient array {t}: f64[N, N, N]"));
            let text = format!(
                "    access A\n{source}    access {t}\n    access {r}\n    map m [{order}] {{\n{body}      t.y -> m.T: {t}[{c}, k]\n    }}\n    reduce r wcr(sum) axes(2) identity(0)\n    A -> m.A\n    {other} -> m.B\n    m.T -> {t}\n    {t} -> r: {t}[0:N, 0:N, 0:N]\n    r -> {r}: {r}[0:N, 0:N]\n"
            );
            self.state(number, &text);
            return;
        }
        let begin = if rng.chance(60) {
            format!(
                "    access z = {r}\n    map fill [p = 0:N, q = 0:N] {{\n      tasklet zero () -> (y) {{ y = 0 }}\n      zero.y -> fill.R: {r}[p, q]\n    }}\n    fill.R -> z\n    order z -> m\n"
            )
        } else {
            String::new()
        };
        let text = format!(
            "    access A\n{source}    access {r}\n    map m [{order}] {{\n{body}      t.y -> m.R: {r}[{c}] wcr(sum)\n    }}\n{begin}    A -> m.A\n    {other} -> m.B\n    m.R -> {r}\n"
        );
        self.state(number, &text);
    }
}

/// All indices of a dimension, in one order or the other.
fn range(rng: &mut Rng) -> &'static str {
    if rng.chance(20) { "N - 1:-1:-1" } else { "0:N" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::check::interprets;

    #[test]
    fn programs_are_valid_and_run() {
        for seed in 0..60 {
            let text = reducible(seed);
            interprets(seed, &text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        }
    }
}
