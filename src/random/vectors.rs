//! Random maps of schedule `simd`, all of which must run on vector lanes.
//!
//! They vary the properties that determine access patterns and masks. Maps have from less than one vector of
//! iterations to several vectors with a remainder, and steps of both signs. Accesses have offsets, strides and
//! data-dependent indices. Code has branches, loops that all lanes run together, and conflicting writes. Elements
//! are transients of an iteration, short vectors, and truth values. Maps enclose the map, also maps of threads.

use std::fmt::Write;

use sdfg::dtype::{ScalarKind, ScalarType};

use super::check::{Failure, validated};
use super::expression::{condition, exact, expression};
use super::inputs::{Sizes, inputs};
use super::loops::{Variants, compare};
use super::rng::Rng;

/// Element types.
const TYPES: [ScalarType; 15] = [
    ScalarType::F64,
    ScalarType::F32,
    ScalarType::F16,
    ScalarType::I8,
    ScalarType::I16,
    ScalarType::I32,
    ScalarType::I64,
    ScalarType::U8,
    ScalarType::U16,
    ScalarType::U32,
    ScalarType::U64,
    ScalarType::Bool,
    ScalarType::Bool,
    ScalarType::Complex64,
    ScalarType::Complex128,
];

/// Those in which products of a few numbers are exact.
const WIDE: [ScalarType; 5] =
    [ScalarType::F64, ScalarType::F64, ScalarType::I32, ScalarType::I64, ScalarType::U16];

/// Compares a random program whose maps run on lanes.
///
/// # Errors
/// [`Failure`] if it is refused, traps or gives different results.
pub fn check_vectors(seed: u64, variants: Variants) -> Result<(), Box<Failure>> {
    let source_text = vectors(seed);
    let mut rng = Rng::new(seed ^ 0x5eed);
    let sizes = Sizes { n: rng.below(70) as i64, m: 1 + rng.below(5) as i64 };
    validated(&source_text)
        .and_then(|program| {
            let arguments = inputs(program.sdfg(), sizes, &mut rng);
            compare(&program, &arguments, seed, variants)
        })
        .map_err(|what| Box::new(Failure { seed, sizes, what, source_text }))
}

/// A program with a map whose iterations run on lanes.
pub fn vectors(seed: u64) -> String {
    let mut rng = Rng::new(seed ^ 0xfeed);
    // If products may be fused with sums, they are exact: few numbers, in types with enough bits.
    let strict = rng.chance(60);
    let types = if strict { &TYPES[..] } else { &WIDE };
    let ty = rng.pick(types);
    let other = if ty.is_complex() { ty.component() } else { rng.pick(&types[..types.len().min(13)]) };
    let lanes = rng.pick(&[2, 3, 4, 8]);
    Program { rng, ty, other, lanes, strict, text: String::new() }.write(seed)
}

struct Program {
    rng: Rng,
    /// Of `A`, `B` and `O`.
    ty: ScalarType,
    /// Of `C`, `P`, and lanes of `E` and `G`.
    other: ScalarType,
    /// Lanes of the elements of `E` and `G`.
    lanes: usize,
    strict: bool,
    text: String,
}

impl Program {
    fn line(&mut self, line: impl std::fmt::Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{line}");
    }

    /// An index that differs from iteration to iteration, and stays within 1000.
    fn index(&mut self) -> String {
        let offset = self.rng.below(5);
        match self.rng.below(8) {
            0..=3 => format!("i + {offset}"),
            4 => format!("900 - i - {offset}"),
            5 => format!("2 * i + {offset}"),
            6 => format!("3 * i + {offset}"),
            _ => format!("900 - 2 * i - {offset}"),
        }
    }

    /// The iterations: of a known number or of `N`, and what is around them.
    fn range(&mut self) -> (String, Option<String>) {
        let count = if self.rng.chance(50) { (2 + self.rng.below(63)).to_string() } else { "N".to_owned() };
        let begin = self.rng.below(4);
        match self.rng.below(8) {
            0..=2 => (format!("{begin}:{begin} + {count}"), None),
            3 => (format!("{begin}:{begin} + 2 * {count}:2"), None),
            4 => (format!("{begin} + {count}:{begin}:-1"), None),
            5 => (format!("2 * {count} + {begin}:{begin}:-2"), None),
            // As maps are cut into vectors.
            6 => {
                let width = self.rng.pick(&["2", "4", "5", "8", "16"]);
                (format!("{width} * v:{width} * v + {width}"), Some("0:M".to_owned()))
            }
            _ => (format!("20 * v:20 * v + min({count}, 17)"), Some("0:M".to_owned())),
        }
    }

    fn write(mut self, seed: u64) -> String {
        let (ty, other) = (self.ty, self.other);
        let (range, around) = self.range();
        let mode = if self.strict { "strict" } else { "contract" };
        self.line(format_args!("sdfg vectors_{seed} float({mode}) {{"));
        self.line("symbol N: i64\nsymbol M: i64");
        for (name, ty) in
            [("A", ty), ("B", ty), ("O", ty), ("C", other), ("P", other), ("K", ScalarType::I64)]
        {
            self.line(format_args!("array {name}: {ty}[1000]"));
        }
        self.line(format_args!("array F: {ty}[1000, 3]\narray H: {other}[16]\narray R: {other}[1]"));
        let lanes = self.lanes;
        self.line(format_args!("array E: {other}x{lanes}[1000]\narray G: {other}x{lanes}[1000]"));
        let of_lane = self.rng.pick(&["", "", "scalar", "array"]);
        match of_lane {
            "scalar" => self.line(format_args!("transient scalar T: {ty}")),
            "array" => self.line(format_args!("transient array T: {ty}[3]")),
            _ => {}
        }
        self.line("state s {");
        let writes_field = self.rng.chance(25);
        let output = if writes_field { "F" } else { "O" };
        for name in ["A", "B", "C", "K", output, "P", "E", "G"] {
            self.line(format_args!("access {name}"));
        }
        self.line(format_args!("access before = {output}\naccess H\naccess R"));
        let schedule = self.rng.pick(&["", " schedule(sequential)", " schedule(cpu_multicore)"]);
        if let Some(around) = &around {
            self.line(format_args!("map o [v = {around}]{schedule} {{"));
        }
        self.line(format_args!("map m [i = {range}] schedule(simd) {{"));
        let edges = self.inside(output, of_lane);
        self.line("}");
        let (from, to): (Vec<&str>, Vec<&str>) = (edges.0, edges.1);
        let inner = |name: &str| if name == "before" { "before".to_owned() } else { name.to_owned() };
        if around.is_some() {
            for name in &from {
                let name = inner(name);
                self.line(format_args!("o.{name} -> m.{name}"));
            }
            for name in &to {
                self.line(format_args!("m.out_{name} -> o.out_{name}"));
            }
            self.line("}");
        }
        let scope = if around.is_some() { "o" } else { "m" };
        for name in &from {
            self.line(format_args!("{name} -> {scope}.{name}"));
        }
        for name in &to {
            self.line(format_args!("{scope}.out_{name} -> {name}"));
        }
        self.line("}\n}");
        self.text
    }

    /// The tasklets; the access nodes that they read and write.
    fn inside(&mut self, output: &str, of_lane: &str) -> (Vec<&'static str>, Vec<&'static str>) {
        let (ty, other) = (self.ty, self.other);
        let mut names: Vec<(String, ScalarType)> =
            [("a", ty), ("b", ty), ("c", other)].map(|(name, ty)| (name.to_owned(), ty)).to_vec();
        names.retain(|(_, own)| own.is_complex() == ty.is_complex());
        if !ty.is_complex() {
            names.push(("i".to_owned(), ScalarType::I64));
        }
        let reads_old = self.rng.chance(30);
        if reads_old {
            names.push(("old".to_owned(), ty));
        }
        let chooses = self.rng.chance(35);
        let scatters = self.rng.chance(30);
        let sums = self.rng.chance(50);
        let has_short = self.rng.chance(40);
        let mut inputs = vec!["a", "b", "c"];
        if has_short {
            inputs.push("e");
        }
        if reads_old {
            inputs.push("old");
        }
        if chooses || scatters {
            inputs.push("k");
        }
        if chooses {
            inputs.push("g");
        }
        let mut outputs = vec!["o", "p"];
        if has_short {
            outputs.push("q");
        }
        if scatters {
            outputs.push("h");
        }
        if sums {
            outputs.push("r");
        }
        self.line(format_args!("tasklet t ({}) -> ({}) {{", inputs.join(", "), outputs.join(", ")));
        if chooses {
            // One element for each lane, in some lanes only.
            let condition = condition(&mut self.rng, ScalarType::I64, &[("k".to_owned(), ScalarType::I64)]);
            self.line(format_args!("x = g[(k * 37 + i) % 1000] if {condition} else g[i % 7]"));
            names.push(("x".to_owned(), ty));
        }
        let leaves_out = self.assign("o", ty, &names);
        let value = if ty.is_complex() { "real(a)" } else { "a" };
        let from: Vec<(String, ScalarType)> = vec![("c".to_owned(), other)];
        let plain = expression(&mut self.rng, other, &from, 2);
        self.line(format_args!("p = {plain}"));
        if has_short {
            self.short();
        }
        if scatters {
            let condition = condition(&mut self.rng, ScalarType::I64, &[("k".to_owned(), ScalarType::I64)]);
            let one = if other == ScalarType::Bool { "True".to_owned() } else { format!("{other}(1)") };
            self.line(format_args!("if {condition}:\n  h[k % 16] = {one}"));
        }
        let resolution = self.resolution();
        if sums {
            let summed = exact(other, ty.component(), value, resolution == "product");
            self.line(format_args!("r = {summed}"));
        }
        self.line("}");
        let mut from = vec!["A", "B", "C"];
        let mut to = vec![if output == "F" { "F" } else { "O" }, "P"];
        if has_short {
            from.push("E");
            to.push("G");
            let (read, written) = (self.index(), self.index());
            self.line(format_args!("m.E -> t.e: E[{read}]\nt.q -> m.out_G: G[{written}]"));
        }
        for (connector, name) in [("a", "A"), ("b", "B"), ("c", "C")] {
            let index = if self.rng.chance(10) { "3".to_owned() } else { self.index() };
            self.line(format_args!("m.{name} -> t.{connector}: {name}[{index}]"));
        }
        let index = self.index();
        let place =
            if output == "F" { format!("F[{index}, {}]", self.rng.below(3)) } else { format!("O[{index}]") };
        if reads_old {
            from.push("before");
            self.line(format_args!("m.before -> t.old: {place}"));
        }
        if chooses || scatters {
            from.push("K");
            let index = self.index();
            self.line(format_args!("m.K -> t.k: K[{index}]"));
        }
        if chooses {
            self.line("m.A -> t.g: A[0:1000]");
        }
        let volume = if leaves_out { " atmost(1)" } else { "" };
        if of_lane.is_empty() {
            self.line(format_args!("t.o -> m.out_{output}: {place}{volume}"));
        } else {
            self.through_transient(of_lane, output, &place, leaves_out);
        }
        let index = self.index();
        self.line(format_args!("t.p -> m.out_P: P[{index}]"));
        if scatters {
            to.push("H");
            let resolution = if other == ScalarType::Bool { "or" } else { "sum" };
            self.line(format_args!("t.h -> m.out_H: H[0:16] wcr({resolution}) atmost(1)"));
        }
        if sums {
            to.push("R");
            self.line(format_args!("t.r -> m.out_R: R[0] wcr({resolution})"));
        }
        (from, to)
    }

    /// Computes with elements of several lanes.
    fn short(&mut self) {
        let (other, n) = (self.other, self.lanes);
        let lane = |rng: &mut Rng| format!("lane(e, {})", rng.below(n));
        let values: Vec<String> = (0..n).map(|_| lane(&mut self.rng)).collect();
        let (one, two) = (lane(&mut self.rng), lane(&mut self.rng));
        let turned = format!("lanes({})", values.join(", "));
        let value = match other.kind() {
            ScalarKind::Bool => turned,
            ScalarKind::Complex => self.rng.pick(&["e + e", "e", "e - TURNED"]).replace("TURNED", &turned),
            ScalarKind::Float => self
                .rng
                .pick(&["e + TURNED", "max(e, TURNED)", "e if ONE > TWO else TURNED", "-e", "TURNED"])
                .replace("TURNED", &turned),
            ScalarKind::Signed | ScalarKind::Unsigned => self
                .rng
                .pick(&[
                    "e * TURNED",
                    "min(e, TURNED)",
                    "e if ONE > TWO else TURNED",
                    "e // TURNED",
                    "e ^ TURNED",
                ])
                .replace("TURNED", &turned),
        };
        let value = value.replace("ONE", &one).replace("TWO", &two);
        if other.is_complex() || self.rng.chance(50) {
            self.line(format_args!("q = {value}"));
        } else {
            let names = vec![("c".to_owned(), other)];
            let condition = condition(&mut self.rng, other, &names);
            self.line(format_args!("s = {value}\nif {condition}:\n  s = e\nq = s"));
        }
    }

    /// Hands the output on in memory of the iteration.
    fn through_transient(&mut self, of_lane: &str, output: &str, place: &str, leaves_out: bool) {
        let ty = self.ty;
        // An output that the tasklet omits needs an initial value.
        let first = if leaves_out { "tasklet z () -> (z) { z = 0 }" } else { "" };
        let index = if of_lane == "array" { "T[1]" } else { "T" };
        if leaves_out {
            let zero = if ty == ScalarType::Bool { "False".to_owned() } else { format!("{ty}(0)") };
            self.line(first.replace("z = 0", &format!("z = {zero}")));
            self.line("access T0 = T\naccess T");
            self.line(format_args!("z.z -> T0: {index}\norder T0 -> t"));
            self.line(format_args!("t.o -> T: {index} atmost(1)"));
        } else {
            self.line("access T");
            self.line(format_args!("t.o -> T: {index}"));
        }
        if self.rng.chance(50) {
            let subset = if of_lane == "array" { "T[1]" } else { "T" };
            self.line(format_args!("T -> m.out_{output}: {subset} -> {place}"));
        } else {
            let names = vec![("q".to_owned(), ty)];
            let value = expression(&mut self.rng, ty, &names, 2);
            self.line(format_args!("tasklet u (q) -> (o) {{ o = {value} }}"));
            self.line(format_args!("T -> u.q: {index}\nu.o -> m.out_{output}: {place}"));
        }
    }

    /// Assigns a connector, in branches or at once; whether it may leave it out.
    fn assign(&mut self, to: &str, ty: ScalarType, names: &[(String, ScalarType)]) -> bool {
        let compares = !ty.is_complex();
        let depth = if self.strict { 3 } else { 2 };
        let value = |rng: &mut Rng| expression(rng, ty, names, depth);
        if !compares || self.rng.chance(40) {
            let value = value(&mut self.rng);
            self.line(format_args!("{to} = {value}"));
            return false;
        }
        let (first, second) = (value(&mut self.rng), value(&mut self.rng));
        let one = condition(&mut self.rng, ty, names);
        let two = condition(&mut self.rng, ty, names);
        match self.rng.below(6) {
            4 => {
                // All lanes count together, whatever decides in each of them.
                let (begin, end) = (self.rng.below(3), self.rng.pick(&["4", "M", "N - N + 3"]));
                let less = if ty == ScalarType::Bool {
                    "y and l > 1".to_owned()
                } else {
                    format!("min(y, {ty}(l))")
                };
                self.line(format_args!(
                    "y = {first}\nfor j in range({begin}, {end}):\n  if {one}:\n    y = {second}\n  else:\n    for l in range(j, -1, -2):\n      y = {less}\n{to} = y"
                ));
                false
            }
            5 => {
                self.line(format_args!("for j in range(2):\n  if {one}:\n    {to} = {first}"));
                true
            }
            0 => {
                self.line(format_args!("if {one}:\n  {to} = {first}"));
                true
            }
            1 => {
                self.line(format_args!("if {one}:\n  {to} = {first}\nelse:\n  {to} = {second}"));
                false
            }
            2 => {
                self.line(format_args!(
                    "if {one} and {two}:\n  y = {first}\n  {to} = y\nelif {two}:\n  {to} = {second}"
                ));
                true
            }
            _ => {
                let twice = if ty == ScalarType::Bool { "not y" } else { "y + y" };
                self.line(format_args!(
                    "y = {first}\nif {one}:\n  if {two}:\n    y = {second}\n  else:\n    y = {twice}\n{to} = y"
                ));
                false
            }
        }
    }

    fn resolution(&mut self) -> &'static str {
        match self.other.kind() {
            ScalarKind::Float => self.rng.pick(&["sum", "product", "min", "max"]),
            ScalarKind::Complex => "sum",
            ScalarKind::Bool => self.rng.pick(&["and", "or", "xor", "bitand", "bitor", "bitxor"]),
            ScalarKind::Signed | ScalarKind::Unsigned => {
                self.rng.pick(&["sum", "product", "min", "max", "bitand", "bitor", "bitxor"])
            }
        }
    }
}
