//! Random programs whose writes and reads are numbered.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A place that marks what it saw.
#[derive(Clone, Debug)]
pub(super) enum Seen {
    /// The first edge into the node `t` of a state.
    Read { state: String },
    /// The symbol `z`, which the only transition out of a state set from a container.
    Assigned { from: String, container: &'static str },
    /// The symbol `s` in a state.
    Symbol { state: String },
}

/// A program.
pub(super) struct Generated {
    pub(super) text: String,
    /// Rows of the table of marks.
    pub(super) rows: usize,
    /// Columns: numbers of writes, 0 for what the caller gave.
    pub(super) ids: usize,
    /// The number that a state writes.
    pub(super) writes: BTreeMap<String, usize>,
    /// The number that the transition out of a state assigns to `s`.
    pub(super) assignments: BTreeMap<String, usize>,
    pub(super) sites: Vec<Seen>,
    /// States that something may be inserted behind.
    pub(super) states: Vec<String>,
}

impl Generated {
    /// The program with a container overwritten behind a state.
    pub(super) fn poisoned(&self, state: &str, container: &str) -> String {
        let value = self.ids - 1;
        let write = if ["v", "y"].contains(&container) {
            format!(
                "map m [i = 0:2] {{ tasklet t () -> (o) {{ o = {value} }}\n t.o -> m.c: {container}[i] }}\n m.c -> {container}"
            )
        } else {
            format!("tasklet t () -> (o) {{ o = {value} }}\n t.o -> {container}")
        };
        let poison = format!("state poison {{\n access {container}\n {write}\n}}\n");
        self.text.replace(&format!("# behind {state}\n"), &poison)
    }
}

struct Generator {
    random: u64,
    text: String,
    labels: usize,
    ids: usize,
    depth: usize,
    loops: usize,
    budget: usize,
    writes: BTreeMap<String, usize>,
    assignments: BTreeMap<String, usize>,
    sites: Vec<Seen>,
    states: Vec<String>,
}

const SCALARS: [&str; 3] = ["a", "b", "x"];
const ARRAYS: [&str; 2] = ["v", "y"];

/// The program of a seed.
pub(super) fn generate(seed: u64) -> Generated {
    let mut generator = Generator {
        random: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
        text: String::new(),
        labels: 0,
        ids: 1,
        depth: 0,
        loops: 0,
        budget: 14,
        writes: BTreeMap::new(),
        assignments: BTreeMap::new(),
        sites: Vec::new(),
        states: Vec::new(),
    };
    if generator.below(4) > 0 {
        for container in ["a", "b", "v"] {
            generator.write_whole(container);
        }
    }
    // A reference that nothing binds is refused.
    if generator.below(4) > 0 {
        let label = generator.label();
        generator.state(&label, "access y\naccess r\nbind y -> r: y[0:2]\n");
    }
    generator.sequence();
    let (rows, ids) = (generator.sites.len().max(1), generator.ids + 1);
    let symbols: String = ["p", "q", "k", "s", "z"].map(|s| format!("symbol {s}: i64\n")).concat();
    let text = format!(
        "sdfg random {{\n{symbols}scalar x: i64\narray y: i64[2]\narray seen: i64[{rows}, {ids}]\ntransient scalar a: i64\n\
         transient scalar b: i64\ntransient array v: i64[2]\nreference r: i64[2]\nview w: i64[2]\n{}}}\n",
        generator.text
    );
    Generated {
        text: text.replace("COLUMNS", &ids.to_string()),
        rows,
        ids,
        writes: generator.writes,
        assignments: generator.assignments,
        sites: generator.sites,
        states: generator.states,
    }
}

impl Generator {
    fn below(&mut self, n: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as usize % n
    }

    fn pick(&mut self, from: &[&'static str]) -> &'static str {
        from[self.below(from.len())]
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("n{}", self.labels)
    }

    fn id(&mut self, state: &str) -> usize {
        self.ids += 1;
        self.writes.insert(state.to_owned(), self.ids - 1);
        self.ids - 1
    }

    fn row(&mut self, site: Seen) -> usize {
        self.sites.push(site);
        self.sites.len() - 1
    }

    fn state(&mut self, label: &str, body: &str) {
        let _ = write!(self.text, "state {label} {{\n{body}}}\n# behind {label}\n");
        self.states.push(label.to_owned());
    }

    /// The container with an element of it, or all of it for a scalar.
    fn element(&mut self) -> (&'static str, String) {
        if self.below(2) == 0 {
            let scalar = self.pick(&SCALARS);
            (scalar, scalar.to_owned())
        } else {
            let array = self.pick(&ARRAYS);
            (array, format!("{array}[{}]", ["0", "1", "p"][self.below(3)]))
        }
    }

    fn write_whole(&mut self, container: &str) {
        let label = self.label();
        let id = self.id(&label);
        let body = if ARRAYS.contains(&container) {
            format!(
                "access {container}\nmap m [i = 0:2] {{\ntasklet t () -> (o) {{ o = {id} }}\nt.o -> m.c: {container}[i]\n}}\nm.c -> {container}\n"
            )
        } else {
            format!("access {container}\ntasklet t () -> (o) {{ o = {id} }}\nt.o -> {container}\n")
        };
        self.state(&label, &body);
    }

    /// A state that accesses containers.
    fn access(&mut self) {
        let label = self.label();
        let (container, element) = self.element();
        let seen = |row: usize| format!("t.o -> seen: seen[{row}, 0:COLUMNS] dynamic\n");
        match self.below(13) {
            0 => {
                let whole = if self.below(2) == 0 { self.pick(&SCALARS) } else { self.pick(&ARRAYS) };
                self.write_whole(whole);
            }
            1 => {
                let id = self.id(&label);
                let body = format!(
                    "access {container}\ntasklet t () -> (o) {{ o = {id} }}\nt.o -> {container}: {element}\n"
                );
                self.state(&label, &body);
            }
            2 if self.below(2) == 0 => {
                // The smaller number stays.
                let id = self.id(&label);
                let scalar = self.pick(&SCALARS);
                let body = format!(
                    "access {scalar}\ntasklet t () -> (o) {{ o = {id} }}\nt.o -> {scalar} wcr(min)\n"
                );
                self.state(&label, &body);
            }
            2 => {
                let id = self.id(&label);
                let array = self.pick(&ARRAYS);
                let body = format!(
                    "access {array}\nmap m [i = 0:q] {{\ntasklet t () -> (o) {{ o = {id} }}\nt.o -> m.c: {array}[i % 2] wcr(max)\n}}\nm.c -> {array}\n"
                );
                self.state(&label, &body);
            }
            3 => {
                let id = self.id(&label);
                let body = format!(
                    "access {container}\ntasklet t () -> (o) {{ if p > 0: o = {id} }}\nt.o -> {container}: {element} atmost(1)\n"
                );
                self.state(&label, &body);
            }
            4 => {
                let id = self.id(&label);
                let array = self.pick(&ARRAYS);
                let body = format!(
                    "access w\naccess {array}\ntasklet t () -> (o) {{ o = {id} }}\nt.o -> w: w[0]\nbind w -> {array}: {array}[0:2]\n"
                );
                self.state(&label, &body);
            }
            5 => {
                let array = self.pick(&ARRAYS);
                self.state(&label, &format!("access {array}\naccess r\nbind {array} -> r: {array}[0:2]\n"));
            }
            6 => {
                let id = self.id(&label);
                let body = format!("access r\ntasklet t () -> (o) {{ o = {id} }}\nt.o -> r: r[1]\n");
                self.state(&label, &body);
            }
            7 => {
                let row = self.row(Seen::Read { state: label.clone() });
                let alias = if self.below(2) == 0 {
                    "access r\nr -> t.i: r[1]\n".to_owned()
                } else {
                    let array = self.pick(&ARRAYS);
                    format!("access w\naccess {array}\nbind {array} -> w: {array}[0:2]\nw -> t.i: w[0]\n")
                };
                let body = format!("access seen\ntasklet t (i) -> (o) {{ o[i] = 1 }}\n{alias}{}", seen(row));
                self.state(&label, &body);
            }
            8 => {
                // The same container is written and then read.
                let (id, row) = (self.id(&label), self.row(Seen::Read { state: label.clone() }));
                let body = format!(
                    "access {container}\naccess seen\ntasklet w () -> (o) {{ o = {id} }}\ntasklet t (i) -> (o) {{ o[i] = 1 }}\nw.o -> {container}: {element}\n{container} -> t.i: {element}\n{}",
                    seen(row)
                );
                self.state(&label, &body);
            }
            9 => {
                // A nested SDFG that perhaps writes.
                let id = self.id(&label);
                let body = format!(
                    "access {container}\nnested n () -> (c) with (p = p) sdfg inner {{\nsymbol p: i64\nscalar c: i64\nstate first {{}}\n-> second if p > 0\n-> last\nstate second {{\naccess c\ntasklet t () -> (o) {{ o = {id} }}\nt.o -> c\n}}\nstate last {{}}\n}}\nn.c -> {container}: {element}\n"
                );
                self.state(&label, &body);
            }
            10 => {
                // Reads one container and writes it, or another.
                let (id, row) = (self.id(&label), self.row(Seen::Read { state: label.clone() }));
                let (other, target) = self.element();
                let body = format!(
                    "access {container}\naccess after = {other}\naccess seen\ntasklet t (i) -> (o, n) {{\no[i] = 1\nn = {id}\n}}\n{container} -> t.i: {element}\nt.n -> after: {target}\n{}",
                    seen(row)
                );
                self.state(&label, &body);
            }
            _ => {
                let row = self.row(Seen::Read { state: label.clone() });
                let body = format!(
                    "access {container}\naccess seen\ntasklet t (i) -> (o) {{ o[i] = 1 }}\n{container} -> t.i: {element}\n{}",
                    seen(row)
                );
                self.state(&label, &body);
            }
        }
    }

    /// Two states that mark what a symbol holds.
    fn symbols(&mut self) {
        let (from, to) = (self.label(), self.label());
        let mark = |symbol: &str, row: usize| {
            format!(
                "access seen\ntasklet t () -> (o) {{ o[{symbol}] = 1 }}\nt.o -> seen: seen[{row}, 0:COLUMNS] dynamic\n"
            )
        };
        match self.below(3) {
            0 => {
                self.ids += 1;
                self.assignments.insert(from.clone(), self.ids - 1);
                let assigned = format!("-> {to} with (s = {})\n", self.ids - 1);
                self.state(&from, "");
                self.text.push_str(&assigned);
                self.state(&to, "");
            }
            1 => {
                let row = self.row(Seen::Symbol { state: from.clone() });
                self.state(&from, &mark("s", row));
            }
            _ => {
                let container = self.pick(&SCALARS);
                let row = self.row(Seen::Assigned { from: from.clone(), container });
                self.state(&from, "");
                let _ = writeln!(self.text, "-> {to} with (z = {container})");
                self.state(&to, &mark("z", row));
            }
        }
    }

    fn condition(&mut self) -> String {
        let factor = 1 + self.below(5);
        let rest = self.below(3);
        ["k", "k + p", "k + q"][self.below(3)].to_owned() + &format!(" * {factor} % 3 == {rest}")
    }

    /// Blocks one behind the other; each may also go to any other of the sequence.
    fn sequence(&mut self) {
        self.depth += 1;
        let labels: Vec<String> = (0..2 + self.below(4)).map(|_| self.label()).collect();
        for (at, label) in labels.iter().enumerate() {
            let _ = writeln!(self.text, "state {label} {{}}");
            if self.below(3) == 0 && at + 1 < labels.len() {
                let to = &labels[self.below(labels.len())];
                let condition = self.condition();
                let _ = write!(self.text, "-> {to} if {condition} with (k = k + 1)\n-> {}\n", labels[at + 1]);
                continue;
            }
            if self.budget == 0 {
                continue;
            }
            self.budget -= 1;
            match self.below(if self.depth < 4 { 9 } else { 5 }) {
                0..=3 => self.access(),
                4 => self.symbols(),
                5 => self.branch(),
                6 | 7 => self.repeat(),
                _ => {
                    self.access();
                    self.access();
                }
            }
        }
        self.depth -= 1;
    }

    fn branch(&mut self) {
        let (label, condition, jump) = (self.label(), self.condition(), self.label());
        let _ = writeln!(self.text, "if {label}: {condition} {{");
        self.sequence();
        match self.below(6) {
            0 | 1 if self.loops > 0 => {
                let kind = self.pick(&["break", "continue"]);
                let _ = writeln!(self.text, "{kind} {jump}");
            }
            2 => {
                let _ = writeln!(self.text, "return {jump}");
            }
            _ => {}
        }
        self.text.push('}');
        if self.below(2) == 0 {
            self.text.push_str(" else {\n");
            self.sequence();
            self.text.push('}');
        }
        self.text.push('\n');
    }

    fn repeat(&mut self) {
        let label = self.label();
        let end = ["0", "1", "2", "p", "q"][self.below(5)];
        let (head, tail) = match self.below(3) {
            0 => (
                format!("do {label}: i{label} = 0; i{label} = i{label} + 1 {{\n"),
                format!("}} while i{label} < {end}\n"),
            ),
            1 => (format!("for {label}: i{label} = 0:{end} {{\n"), "}\n".to_owned()),
            _ => (format!("while {label}: k < {} {{\n", 2 + self.below(4)), "}\n".to_owned()),
        };
        self.text.push_str(&head);
        self.loops += 1;
        self.sequence();
        let (from, to) = (self.label(), self.label());
        let _ = write!(self.text, "state {from} {{}}\n-> {to} with (k = k + 1)\nstate {to} {{}}\n");
        self.loops -= 1;
        self.text.push_str(&tail);
    }
}
