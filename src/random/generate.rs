//! Random programs as text.
//!
//! A program is a sequence of steps on a fixed set of containers, inside of random control flow. Every step is free of
//! conflicts by construction: a container that is written is read only at the index that is written.

use std::fmt::Write as _;

use sdfg::dtype::{ScalarKind, ScalarType};

use super::expression::{condition, exact, expression};
use super::rng::Rng;

/// Text of the program of a seed. Its symbols are `N` and `M`.
pub fn generate(seed: u64) -> String {
    let mut rng = Rng::new(seed);
    let types = [
        ScalarType::F64,
        ScalarType::F32,
        ScalarType::I32,
        ScalarType::I64,
        ScalarType::U8,
        ScalarType::I16,
        ScalarType::F16,
        ScalarType::U64,
        ScalarType::I8,
        ScalarType::Complex128,
    ];
    let fields = rng.pick(&types);
    let others = rng.pick(&types[..types.len() - 1]);
    let mut generator = Generator {
        rng,
        text: String::new(),
        depth: 1,
        labels: 0,
        rows: 0,
        fields,
        others,
        loops: Vec::new(),
        declared: Vec::new(),
    };
    generator.program(seed);
    generator.text
}

/// An argument with its type and number of dimensions.
#[derive(Clone)]
struct Container {
    name: &'static str,
    ty: ScalarType,
    dimensions: &'static [&'static str],
}

pub(super) struct Generator {
    pub(super) rng: Rng,
    text: String,
    depth: usize,
    labels: usize,
    /// How many of the transients of scopes are used.
    rows: usize,
    pub(super) fields: ScalarType,
    pub(super) others: ScalarType,
    /// Symbols of loops around the current place.
    loops: Vec<String>,
    /// Containers that steps need for themselves.
    declared: Vec<String>,
}

/// Transients that each serve one scope: a transient with uses in several scopes would belong to none of them.
const ROWS: usize = 3;

/// How a map counts.
#[derive(Clone)]
struct MapRange {
    text: &'static str,
}

/// Ranges over the whole of a dimension of extent `N`, or parts of it.
const RANGES: [MapRange; 5] = [
    MapRange { text: "0:N" },
    MapRange { text: "0:N" },
    MapRange { text: "0:N:2" },
    MapRange { text: "N - 1:-1:-1" },
    MapRange { text: "1:N" },
];

impl Generator {
    fn containers(&self) -> Vec<Container> {
        vec![
            Container { name: "A", ty: self.fields, dimensions: &["N", "M"] },
            Container { name: "B", ty: self.fields, dimensions: &["N", "M"] },
            Container { name: "C", ty: self.others, dimensions: &["N", "M"] },
            Container { name: "V", ty: self.fields, dimensions: &["N"] },
            Container { name: "W", ty: self.others, dimensions: &["M"] },
        ]
    }

    pub(super) fn line(&mut self, line: &str) {
        for _ in 0..self.depth {
            self.text.push_str("  ");
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    pub(super) fn open(&mut self, header: &str) {
        self.line(&format!("{header} {{"));
        self.depth += 1;
    }

    pub(super) fn close(&mut self) {
        self.depth -= 1;
        self.line("}");
    }

    pub(super) fn label(&mut self, prefix: &str) -> String {
        self.labels += 1;
        format!("{prefix}{}", self.labels)
    }

    fn program(&mut self, seed: u64) {
        let _ = writeln!(self.text, "sdfg random_{seed} float(strict) {{");
        self.line("symbol N: i64");
        self.line("symbol M: i64");
        for container in self.containers() {
            self.line(&format!(
                "array {}: {}[{}]",
                container.name,
                container.ty,
                container.dimensions.join(", ")
            ));
        }
        self.line(&format!("array hist: {}[8]", self.others));
        self.line("array total: i64[1]");
        self.line(&format!("transient array flat: {}[N * M]", self.fields));
        for row in 1..=ROWS {
            self.line(&format!("transient array row{row}: {}[M]", self.others));
        }
        self.line("transient array small: i64[3]");
        self.line("transient scalar count: i64");
        self.line("transient scalar limit: i64");
        let steps = 2 + self.rng.below(4);
        for _ in 0..steps {
            self.step(2);
        }
        self.text.push_str("}\n");
        // A size must be a symbol that something assigns.
        if self.text.contains("(size = ") {
            self.declare(&format!("transient array late: {}[size]", self.others));
        }
        let declared: String = self.declared.iter().map(|line| format!("  {line}\n")).collect();
        let place = self.text.find("  transient scalar count").unwrap_or_default();
        self.text.insert_str(place, &declared);
    }

    /// Adds a container that a step needs for itself.
    pub(super) fn declare(&mut self, line: &str) {
        self.declared.push(line.to_owned());
    }

    /// A block: control flow around others, or a state.
    fn step(&mut self, nesting: usize) {
        if nesting > 0 && self.rng.chance(35) {
            match self.rng.below(4) {
                0 => self.for_loop(nesting),
                1 => self.branch(nesting),
                2 => self.while_loop(nesting),
                _ => self.jumps(nesting),
            }
            return;
        }
        match self.rng.below(20) {
            0 | 1 => self.pointwise(),
            2 => self.stencil(),
            3 => self.accumulate(),
            4 => self.histogram(),
            5 => self.nested_maps(),
            6 => self.copies(),
            7 => self.nested_sdfg(),
            8 => self.reduce(),
            9 => self.triangle(),
            10 => self.copy_in_place(),
            11 => self.shared_memory(),
            12 => self.conditional(),
            13 => self.computed_size(),
            14 => self.filter_and_consume(),
            15 => self.chain(),
            16 => self.queues(),
            17 | 18 => self.relay(),
            _ => self.dynamic_range(),
        }
    }

    fn for_loop(&mut self, nesting: usize) {
        let label = self.label("loop");
        let symbol = self.label("t");
        let range = self.rng.pick(&["0:3", "0:N", "2:0:-1", "1:4:2"]);
        self.open(&format!("for {label}: {symbol} = {range}"));
        self.loops.push(symbol);
        for _ in 0..1 + self.rng.below(2) {
            self.step(nesting - 1);
        }
        if self.rng.chance(30) {
            let (branch, jump) = (self.label("when"), self.label("jump"));
            let symbol = self.loops.last().cloned().unwrap_or_default();
            let bound = self.rng.below(40);
            self.open(&format!("if {branch}: {symbol} == 1 or total[0] > {bound}"));
            let word = self.rng.pick(&["break", "continue"]);
            self.line(&format!("{word} {jump}"));
            self.close();
            self.step(0);
        }
        self.loops.pop();
        self.close();
    }

    fn branch(&mut self, nesting: usize) {
        let label = self.label("branch");
        let condition = match self.rng.below(3) {
            0 => "total[0] % 2 == 0".to_owned(),
            1 => format!("hist[{}] > {}(3)", self.rng.below(8), self.others),
            _ => "N < M or total[0] > 5".to_owned(),
        };
        self.open(&format!("if {label}: {condition}"));
        self.step(nesting - 1);
        self.depth -= 1;
        self.open("} else");
        self.step(nesting - 1);
        self.close();
    }

    /// A loop that a counter in a container ends.
    fn while_loop(&mut self, nesting: usize) {
        self.set("count", "0");
        let label = self.label("while");
        let times = 1 + self.rng.below(3);
        self.open(&format!("while {label}: count < {times}"));
        let state = self.label("s");
        self.open(&format!("state {state}"));
        self.line("access old = count");
        self.line("access new = count");
        self.line("tasklet next (i) -> (o) { o = i + 1 }");
        self.line("old -> next.i");
        self.line("next.o -> new");
        self.close();
        self.step(nesting.saturating_sub(2));
        self.close();
    }

    /// Plain transitions with conditions and assignments.
    fn jumps(&mut self, _nesting: usize) {
        let (a, b, c, d) = (self.label("j"), self.label("j"), self.label("j"), self.label("j"));
        let x = self.label("x");
        self.open(&format!("state {a}"));
        self.close();
        self.line(&format!("-> {b} with ({x} = 0)"));
        let inner = self.rng.below(4) as i64;
        self.open(&format!("state {b}"));
        self.add_to_total(&x);
        self.close();
        self.line(&format!("-> {c} if {x} >= {inner}"));
        self.line(&format!("-> {b} with ({x} = {x} + 1)"));
        self.open(&format!("state {c}"));
        self.close();
        self.line(&format!("-> {d}"));
        self.open(&format!("state {d}"));
        self.close();
    }

    fn add_to_total(&mut self, symbol: &str) {
        self.line("access total");
        self.line(&format!("tasklet add () -> (o) {{ o = i64({symbol}) + 1 }}"));
        self.line("add.o -> total: total[0] wcr(sum)");
    }

    fn set(&mut self, scalar: &str, value: &str) {
        let state = self.label("s");
        self.open(&format!("state {state}"));
        self.line(&format!("access {scalar}"));
        self.line(&format!("tasklet set () -> (o) {{ o = i64({value}) }}"));
        self.line(&format!("set.o -> {scalar}"));
        self.close();
    }

    /// Names that code may use beside its connectors.
    fn symbols(&self) -> Vec<(String, ScalarType)> {
        let mut names: Vec<(String, ScalarType)> =
            ["i", "N", "M"].map(|name| (name.to_owned(), ScalarType::I64)).to_vec();
        names.extend(self.loops.iter().map(|name| (name.clone(), ScalarType::I64)));
        names
    }

    pub(super) fn schedule(&mut self) -> &'static str {
        self.rng.pick(&[
            "",
            "",
            " schedule(sequential)",
            " schedule(cpu_multicore)",
            " schedule(cpu_multicore) sharing(dynamic, 2)",
            " schedule(cpu_multicore) sharing(guided)",
            " schedule(cpu_multicore) threads(2)",
        ])
    }

    /// A map over a field that reads others at the same place.
    fn pointwise(&mut self) {
        let all = self.containers();
        let target = all[self.rng.below(3)].clone();
        let mut sources: Vec<Container> = all.iter().filter(|_| self.rng.chance(50)).cloned().collect();
        if sources.is_empty() {
            sources.push(target.clone());
        }
        let rows = self.rng.pick(&RANGES).text;
        let columns = self.rng.pick(&RANGES).text.replace('N', "M");
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
        let connectors: Vec<(String, ScalarType)> =
            sources.iter().map(|s| (format!("c_{}", s.name), s.ty)).collect();
        let mut names = connectors.clone();
        names.extend(self.symbols());
        if target.ty.is_complex() {
            names.retain(|(_, ty)| ty.is_complex());
        } else {
            names.retain(|(_, ty)| !ty.is_complex());
        }
        let value = expression(&mut self.rng, target.ty, &names, 3);
        let list: Vec<&str> = connectors.iter().map(|(name, _)| name.as_str()).collect();
        let conditional = !target.ty.is_complex() && self.rng.chance(25);
        self.line(&format!("tasklet t ({}) -> (o) {{", list.join(", ")));
        if conditional {
            let condition = condition(&mut self.rng, target.ty, &names);
            self.line(&format!("  if {condition}:"));
            self.line(&format!("    o = {value}"));
        } else {
            self.line(&format!("  o = {value}"));
        }
        self.line("}");
        for source in &sources {
            let index = index_of(source.dimensions);
            self.line(&format!("{map}.{} -> t.c_{}: {}[{index}]", source.name, source.name, source.name));
        }
        let volume = if conditional { " atmost(1)" } else { "" };
        self.line(&format!("t.o -> {map}.out: {}[i, j]{volume}", target.name));
        self.close();
        for source in &sources {
            self.line(&format!("in_{} -> {map}.{}", source.name, source.name));
        }
        self.line(&format!("{map}.out -> out"));
        self.close();
    }

    /// Neighbours of one field into another.
    fn stencil(&mut self) {
        let (from, to) = if self.rng.chance(50) { ("A", "B") } else { ("B", "A") };
        let (state, map) = (self.label("s"), self.label("m"));
        let ty = self.fields;
        let schedule = self.schedule();
        self.open(&format!("state {state}"));
        self.line(&format!("access src = {from}"));
        self.line(&format!("access dst = {to}"));
        self.open(&format!("map {map} [i = 1:N - 1, j = 1:M - 1]{schedule}"));
        let names: Vec<(String, ScalarType)> = ["w", "e", "n"].map(|name| (name.to_owned(), ty)).to_vec();
        let value = expression(&mut self.rng, ty, &names, 3);
        self.line(&format!("tasklet t (w, e, n) -> (o) {{ o = {value} }}"));
        self.line(&format!("{map}.f -> t.w: {from}[i, j - 1]"));
        self.line(&format!("{map}.f -> t.e: {from}[i, j + 1]"));
        self.line(&format!("{map}.f -> t.n: {from}[i - 1, j]"));
        self.line(&format!("t.o -> {map}.g: {to}[i, j]"));
        self.close();
        self.line(&format!("src -> {map}.f"));
        self.line(&format!("{map}.g -> dst"));
        self.close();
    }

    fn resolution(&mut self, ty: ScalarType) -> &'static str {
        match ty.kind() {
            ScalarKind::Float => {
                self.rng.pick(&["sum", "product", "min", "max", "lambda old, new: max(old, new)"])
            }
            ScalarKind::Complex => "sum",
            ScalarKind::Signed | ScalarKind::Unsigned | ScalarKind::Bool => self.rng.pick(&[
                "sum",
                "product",
                "min",
                "max",
                "bitand",
                "bitor",
                "bitxor",
                "lambda p, q: p + q",
            ]),
        }
    }

    /// Conflicting writes that are resolved: to a vector or to one element.
    fn accumulate(&mut self) {
        let resolution = self.resolution(self.others);
        let (state, map) = (self.label("s"), self.label("m"));
        let schedule = self.schedule();
        let target = self.rng.pick(&["W[j]", "W[M - 1 - j]", "hist[0]", "hist[i % 8]", "C[i, 0]"]);
        let name = target.split('[').next().unwrap_or(target);
        let order = self.rng.pick(&["i = 0:N, j = 0:M", "j = 0:M, i = 0:N"]);
        self.open(&format!("state {state}"));
        self.line("access src = A");
        self.line(&format!("access dst = {name}"));
        self.open(&format!("map {map} [{order}]{schedule}"));
        let value = if self.fields.is_complex() { "real(a)".to_owned() } else { "a".to_owned() };
        let from = if self.fields.is_complex() { ScalarType::F64 } else { self.fields };
        let product = resolution == "product";
        let value = exact(self.others, from, &value, product);
        self.line(&format!("tasklet t (a) -> (o) {{ o = {value} }}"));
        self.line(&format!("{map}.A -> t.a: A[i, j]"));
        self.line(&format!("t.o -> {map}.out: {target} wcr({resolution})"));
        self.close();
        self.line(&format!("src -> {map}.A"));
        self.line(&format!("{map}.out -> dst"));
        self.close();
    }

    /// Writes to an element that data chooses.
    fn histogram(&mut self) {
        let (state, map) = (self.label("s"), self.label("m"));
        let schedule = self.schedule();
        let ty = self.others;
        self.open(&format!("state {state}"));
        self.line("access src = C");
        self.line("access dst = hist");
        self.open(&format!("map {map} [i = 0:N, j = 0:M]{schedule}"));
        self.line(&format!("tasklet t (c) -> (h) {{ h[i64(c) % 8] = {ty}(1) }}"));
        self.line(&format!("{map}.C -> t.c: C[i, j]"));
        self.line(&format!("t.h -> {map}.out: hist[0:8] wcr(sum) volume(1)"));
        self.close();
        self.line(&format!("src -> {map}.C"));
        self.line(&format!("{map}.out -> dst"));
        self.close();
    }

    /// A map in a map with a transient of the outer one's iteration.
    fn nested_maps(&mut self) {
        if self.rows == ROWS {
            return self.pointwise();
        }
        self.rows += 1;
        let row = format!("row{}", self.rows);
        let (state, outer, first, second) =
            (self.label("s"), self.label("m"), self.label("m"), self.label("m"));
        let (outside, inside) = (self.schedule(), self.schedule());
        let ty = self.others;
        self.open(&format!("state {state}"));
        self.line("access src = C");
        self.line("access dst = C");
        self.open(&format!("map {outer} [i = 0:N]{outside}"));
        self.line(&format!("access {row}"));
        self.open(&format!("map {first} [j = 0:M]{inside}"));
        let names =
            vec![("c".to_owned(), ty), ("i".to_owned(), ScalarType::I64), ("j".to_owned(), ScalarType::I64)];
        let value = expression(&mut self.rng, ty, &names, 2);
        self.line(&format!("tasklet t (c) -> (o) {{ o = {value} }}"));
        self.line(&format!("{first}.C -> t.c: C[i, j]"));
        self.line(&format!("t.o -> {first}.row: {row}[j]"));
        self.close();
        self.open(&format!("map {second} [k = 0:M]{inside}"));
        self.line("tasklet u (r, q) -> (o) { o = r - q }");
        self.line(&format!("{second}.row -> u.r: {row}[M - 1 - k]"));
        self.line(&format!("{second}.row -> u.q: {row}[k]"));
        self.line(&format!("u.o -> {second}.C: C[i, k]"));
        self.close();
        self.line(&format!("{outer}.C -> {first}.C"));
        self.line(&format!("{first}.row -> {row}"));
        self.line(&format!("{row} -> {second}.row"));
        self.line(&format!("{second}.C -> {outer}.C"));
        self.close();
        self.line(&format!("src -> {outer}.C"));
        self.line(&format!("{outer}.C -> dst"));
        self.close();
    }

    /// Copies between parts of different shapes.
    fn copies(&mut self) {
        let state = self.label("s");
        self.open(&format!("state {state}"));
        let (from, to, memlet) = self.rng.pick(&[
            ("A", "B", "A[0:N, 0:M] -> B[0:N, 0:M]"),
            ("A", "B", "A[0:N:2, 0:M] -> B[0:N:2, 0:M]"),
            ("B", "A", "B[0:N, M - 1] -> A[0:N, 0]"),
            ("A", "V", "A[N - 1:-1:-1, 0] -> V[0:N]"),
            ("C", "W", "C[0, 0:M] -> W[0:M]"),
        ]);
        self.line(&format!("access x = {from}"));
        self.line(&format!("access y = {to}"));
        self.line(&format!("x -> y: {memlet}"));
        self.close();
        if self.rng.chance(50) {
            let state = self.label("s");
            self.open(&format!("state {state}"));
            self.line("access x = B");
            self.line("access f = flat");
            self.line("access y = A");
            self.line("x -> f: B[0:N, 0:M] -> flat[0:N * M]");
            self.line("f -> y: flat[0:N * M] -> A[0:N, 0:M]");
            self.close();
        }
    }

    /// A nested SDFG with a loop for each row.
    fn nested_sdfg(&mut self) {
        let (state, map) = (self.label("s"), self.label("m"));
        let schedule = self.schedule();
        let ty = self.others;
        let start = self.rng.below(5);
        self.open(&format!("state {state}"));
        self.line("access src = C");
        self.line("access dst = W");
        self.open(&format!("map {map} [j = 0:M]{schedule}"));
        self.open("nested n (column) -> (result) with (K = N) sdfg inner");
        self.line("symbol K: i64");
        self.line(&format!("array column: {ty}[K]"));
        self.line(&format!("scalar result: {ty}"));
        self.line(&format!("transient scalar sum: {ty}"));
        self.open("state begin");
        self.line("access sum");
        self.line(&format!("tasklet zero () -> (o) {{ o = {ty}({start}) }}"));
        self.line("zero.o -> sum");
        self.close();
        self.open("for each: k = 0:K");
        self.open("if positive: column[k] > column[0]");
        self.line("return done");
        self.close();
        self.open("state step");
        self.line("access column");
        self.line("access before = sum");
        self.line("access after = sum");
        let names = vec![("c".to_owned(), ty), ("s".to_owned(), ty)];
        let value = expression(&mut self.rng, ty, &names, 2);
        self.line(&format!("tasklet t (c, s) -> (o) {{ o = {value} }}"));
        self.line("column -> t.c: column[k]");
        self.line("before -> t.s");
        self.line("t.o -> after");
        self.close();
        self.open("state store");
        self.line("access sum");
        self.line("access result");
        self.line("sum -> result");
        self.close();
        self.close();
        self.close();
        self.line(&format!("{map}.C -> n.column: C[0:N, j]"));
        self.line(&format!("n.result -> {map}.W: W[j]"));
        self.close();
        self.line(&format!("src -> {map}.C"));
        self.line(&format!("{map}.W -> dst"));
        self.close();
    }

    fn reduce(&mut self) {
        let state = self.label("s");
        let ty = self.others;
        // Sums of floating-point data are exact in no order that is not the interpreter's.
        let operation = if ty.is_float() {
            self.rng.pick(&["min", "max"])
        } else {
            self.rng.pick(&["sum", "min", "bitxor"])
        };
        let identity = if self.rng.chance(50) {
            if ty.is_float() { " identity(2.0)".to_owned() } else { " identity(2)".to_owned() }
        } else {
            String::new()
        };
        self.open(&format!("state {state}"));
        self.line("access C");
        match self.rng.below(3) {
            0 => {
                self.line("access W");
                self.line(&format!("reduce r wcr({operation}) axes(0){identity}"));
                self.line("C -> r: C[0:N, 0:M]");
                self.line("r -> W: W[0:M]");
            }
            1 => {
                self.line("access hist");
                self.line(&format!("reduce r wcr({operation}){identity}"));
                self.line("C -> r: C[0:N, 0:M]");
                self.line("r -> hist: hist[3]");
            }
            _ => {
                self.line("access hist");
                self.line(&format!("reduce r wcr({operation}) axes(1){identity}"));
                self.line("C -> r: C[0:min(N, 4), 0:M]");
                self.line("r -> hist: hist[0:min(N, 4)]");
            }
        }
        self.close();
    }

    /// A range that depends on an outer parameter.
    fn triangle(&mut self) {
        let (state, map) = (self.label("s"), self.label("m"));
        let schedule = self.schedule();
        let ty = self.fields;
        let range = self.rng.pick(&["0:min(i + 1, M)", "i:M", "0:i:2"]);
        let range = if range == "0:i:2" { "0:min(i, M):2" } else { range };
        self.open(&format!("state {state}"));
        self.line("access src = A");
        self.line("access dst = B");
        self.open(&format!("map {map} [i = 0:N, j = {range}]{schedule}"));
        let names = vec![("a".to_owned(), ty)];
        let value = expression(&mut self.rng, ty, &names, 2);
        self.line(&format!("tasklet t (a) -> (o) {{ o = {value} }}"));
        self.line(&format!("{map}.A -> t.a: A[i, j]"));
        self.line(&format!("t.o -> {map}.B: B[i, j]"));
        self.close();
        self.line(&format!("src -> {map}.A"));
        self.line(&format!("{map}.B -> dst"));
        self.close();
    }

    /// A range that data gives.
    fn dynamic_range(&mut self) {
        let last = self.rng.pick(&["min(N, M)", "M // 2", "0", "M"]);
        self.set("limit", last);
        let (state, map) = (self.label("s"), self.label("m"));
        let schedule = self.schedule();
        self.open(&format!("state {state}"));
        self.line("access limit");
        self.line("access src = C");
        self.line("access dst = total");
        self.open(&format!("map {map} [j = 0:last]{schedule}"));
        self.line("tasklet t (c) -> (o) { o = min(max(i64(c), -100), 100) + j }");
        self.line(&format!("{map}.C -> t.c: C[0, j]"));
        self.line(&format!("t.o -> {map}.total: total[0] wcr(sum)"));
        self.close();
        self.line(&format!("limit -> {map}@last: limit"));
        self.line(&format!("src -> {map}.C"));
        self.line(&format!("{map}.total -> dst"));
        self.close();
    }
}

fn index_of(dimensions: &[&str]) -> String {
    let index = dimensions.iter().map(|dimension| if *dimension == "N" { "i" } else { "j" });
    index.collect::<Vec<_>>().join(", ")
}
