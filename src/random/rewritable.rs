//! Random programs with what transformations look for: maps that follow each other over transients, nested and flat maps, copies of
//! whole arrays, transients that nothing reads, states in a row.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::rng::Rng;

/// Square matrices: arguments first, then transients.
const CONTAINERS: [&str; 16] =
    ["A", "B", "C", "D", "T", "U", "V", "W", "E", "F", "G", "H", "P", "Q", "R", "S"];

/// The first of [`CONTAINERS`] that is a transient.
const FIRST_TRANSIENT: usize = 4;

/// Text of the program of a seed. Its symbol is `N`.
pub(super) fn rewritable(seed: u64) -> String {
    let mut rng = Rng::new(seed ^ 0x7e77);
    let mut text = String::from("sdfg rewritable {\n  symbol N: i64\n");
    for (at, name) in CONTAINERS.iter().enumerate() {
        let transient = if at >= FIRST_TRANSIENT { "transient " } else { "" };
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(text, "  {transient}array {name}: f64[N, N]");
    }
    let mut defined: BTreeSet<usize> = (0..FIRST_TRANSIENT).collect();
    let count = 1 + rng.below(4);
    let kinds: Vec<Kind> = (0..count).map(|_| Kind::random(&mut rng)).collect();
    let mut last = None;
    for (number, kind) in kinds.iter().enumerate() {
        let row = (*kind == Kind::Rows).then(|| format!("k{number}"));
        let mut state = State { row, last, has_siblings: seed % 8 == 5, ..State::default() };
        for _ in 0..1 + rng.below(4) {
            state.operation(&mut rng, &mut defined);
        }
        let body = format!("  state s{number} {{\n{}{}  }}\n", state.nodes, state.edges);
        let _ = match kind {
            Kind::State => write!(text, "{body}"),
            Kind::Rows => write!(text, "  for l{number}: k{number} = 0:N {{\n{body}  }}\n"),
            Kind::Numbers => write!(text, "  for l{number}: k{number} = 0:3 {{\n{body}  }}\n"),
        };
        last = state.last;
        if let Some(next) = kinds.get(number + 1)
            && rng.chance(25)
        {
            let label = if *next == Kind::State { "s" } else { "l" };
            let _ = writeln!(text, "  -> {label}{} with (w{number} = N - 1)", number + 1);
            last = Some(number);
        }
    }
    text + "}\n"
}

/// Control flow around a state.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// None.
    State,
    /// A loop over the rows of all matrices.
    Rows,
    /// A loop over numbers that nothing reads.
    Numbers,
}

impl Kind {
    fn random(rng: &mut Rng) -> Self {
        match rng.below(10) {
            0 | 1 => Kind::Rows,
            2 => Kind::Numbers,
            _ => Kind::State,
        }
    }
}

/// A state under construction.
#[derive(Default)]
struct State {
    /// The symbol of the loop over rows around the state.
    row: Option<String>,
    /// Containers that the state defines.
    new: BTreeSet<usize>,
    /// The number of a symbol with the value `N - 1`.
    last: Option<usize>,
    /// Whether most maps read one container, rather than that which the map before wrote.
    has_siblings: bool,
    nodes: String,
    edges: String,
    /// Label of the access node of each container that the state uses.
    labels: BTreeMap<usize, String>,
    /// The container that the next operation probably reads.
    latest: Option<usize>,
    operations: usize,
}

impl State {
    /// Adds a map or a copy, if a container is left that the state does not use.
    fn operation(&mut self, rng: &mut Rng, defined: &mut BTreeSet<usize>) {
        let free: Vec<usize> = (0..CONTAINERS.len()).filter(|at| !self.labels.contains_key(at)).collect();
        if free.is_empty() {
            return;
        }
        // Transients are what most transformations are about.
        let transients: Vec<usize> = free.iter().copied().filter(|at| *at >= FIRST_TRANSIENT).collect();
        let target =
            if !transients.is_empty() && rng.chance(60) { rng.pick(&transients) } else { rng.pick(&free) };
        // What the state wrote last is read most often: transformations look for chains. In some programs, it is what the first
        // operation read: others look for siblings.
        let latest = self.latest.filter(|_| rng.chance(80));
        let choices: Vec<usize> = defined.iter().copied().filter(|at| *at != target).collect();
        let source = latest.unwrap_or_else(|| rng.pick(&choices));
        let arguments: Vec<usize> = choices.iter().copied().filter(|at| *at < FIRST_TRANSIENT).collect();
        let other = if rng.chance(70) { rng.pick(&arguments) } else { rng.pick(&choices) };
        // In a loop over rows, other rows of what the loop defines are not defined yet.
        let is_new = |at: usize| self.row.is_some() && self.new.contains(&at);
        let (is_new_source, is_new_other) = (is_new(source), is_new(other));
        if !defined.contains(&target) {
            self.new.insert(target);
        }
        let from = self.label(source);
        let number = self.operations;
        self.operations += 1;
        if !is_new_source && rng.chance(25) {
            let to = self.label(target);
            self.new.remove(&target);
            let _ = writeln!(self.edges, "    {from} -> {to}");
        } else {
            let second = (rng.chance(40) && other != source).then(|| (other, self.label(other)));
            let to = self.label(target);
            let is_defined = defined.contains(&target);
            let is_new = [is_new_source, is_new_other];
            self.map(rng, number, (source, from), second, (target, to, is_defined), is_new);
        }
        self.latest = Some(if self.has_siblings { self.latest.unwrap_or(source) } else { target });
        defined.insert(target);
    }

    /// The access node of a container.
    fn label(&mut self, at: usize) -> String {
        if !self.labels.contains_key(&at) {
            let _ = writeln!(self.nodes, "    access {}", CONTAINERS[at]);
        }
        self.labels.entry(at).or_insert_with(|| CONTAINERS[at].to_owned()).clone()
    }

    fn map(
        &mut self,
        rng: &mut Rng,
        number: usize,
        (source, from): (usize, String),
        second: Option<(usize, String)>,
        (target, to, is_defined): (usize, String, bool),
        is_new: [bool; 2],
    ) {
        let row = self.row.clone();
        let mut pair = if rng.chance(60) { ["i", "j"] } else { ["r", "c"] };
        if let Some(row) = &row {
            pair[0] = row;
        }
        let [i, j] = pair;
        let name = |at: usize| CONTAINERS[at];
        let own = format!("{i}, {j}");
        let read = if is_new[0] { own.clone() } else { self.index(rng, pair) };
        let other = if is_new[1] { own.clone() } else { self.index(rng, pair) };
        let is_plain = row.is_some() && !is_defined;
        let write = if is_plain || rng.chance(85) { own } else { format!("{j}, {i}") };
        // A resolution combines with what is there.
        let sums = is_defined && rng.chance(20);
        let write = if sums && rng.chance(60) { format!("{i}, 0") } else { write };
        let resolution = if sums { " wcr(sum)" } else { "" };
        let second = second.map(|(at, label)| (name(at), label));
        let inputs = if second.is_some() { "x, z" } else { "x" };
        let value = if second.is_some() { "x + 0.5 * z" } else { "0.5 * x - 1.0" };
        let (m, t, k) = (format!("m{number}"), format!("t{number}"), format!("k{number}"));
        let form = if row.is_some() {
            4
        } else if rng.chance(65) {
            3
        } else {
            rng.below(3)
        };
        let (inner, depth) = if form >= 3 { (&m, "") } else { (&k, "  ") };
        let mut body = format!("      {depth}tasklet {t} ({inputs}) -> (y) {{ y = {value} }}\n");
        let _ = writeln!(body, "      {depth}{inner}.p -> {t}.x: {}[{read}]", name(source));
        if let Some((at, _)) = &second {
            let _ = writeln!(body, "      {depth}{inner}.s -> {t}.z: {at}[{other}]");
        }
        let _ = writeln!(body, "      {depth}{t}.y -> {inner}.q: {}[{write}]{resolution}", name(target));
        let ranges = |first: &str, last: &str| match form {
            4 => (format!("{last} = 0:N"), None),
            3 => (format!("{i} = 0:N, {j} = 0:N"), None),
            2 => (format!("{i} = 0:N, {j} = 0:N"), Some("one = 0:1".to_owned())),
            1 => (format!("{first} = 0:N"), Some(format!("{last} = N - 1:-1:-1"))),
            _ => (format!("{first} = 0:N"), Some(format!("{last} = 0:N"))),
        };
        let (outer, nested) = ranges(i, j);
        let _ = writeln!(self.nodes, "    map {m} [{outer}] {{");
        match nested {
            None => self.nodes.push_str(&body),
            Some(range) => {
                let _ = writeln!(self.nodes, "      map {k} [{range}] {{\n{body}      }}");
                let _ = writeln!(self.nodes, "      {m}.p -> {k}.p");
                if second.is_some() {
                    let _ = writeln!(self.nodes, "      {m}.s -> {k}.s");
                }
                let _ = writeln!(self.nodes, "      {k}.q -> {m}.q");
            }
        }
        self.nodes.push_str("    }\n");
        let _ = writeln!(self.edges, "    {from} -> {m}.p");
        if let Some((_, label)) = &second {
            let _ = writeln!(self.edges, "    {label} -> {m}.s");
        }
        let _ = writeln!(self.edges, "    {m}.q -> {to}");
    }

    /// Indices of a read: mostly the element of the iteration.
    fn index(&self, rng: &mut Rng, [i, j]: [&str; 2]) -> String {
        match rng.below(10) {
            0 => format!("{j}, {i}"),
            1 => match self.last {
                Some(number) => format!("{i}, w{number} - {j}"),
                None => format!("{i}, N - 1 - {j}"),
            },
            2 => format!("{i}, 0"),
            3 => format!("min({i} + 1, N - 1), {j}"),
            _ => format!("{i}, {j}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::check::interprets;

    #[test]
    fn programs_are_valid_and_run() {
        for seed in 0..40 {
            let text = rewritable(seed);
            interprets(seed, &text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        }
    }
}
