//! Random loops in the notation: conditional stores to several arrays at offsets, references and views that
//! branches exchange, loop-local and loop-carried scalars, and indices from data.

use std::fmt::Write as _;

use sdfg::dtype::ScalarType;

use crate::random::rng::Rng;

/// The types of elements: one for each width of lanes, more often floats.
const TYPES: [ScalarType; 8] = [
    ScalarType::F64,
    ScalarType::F64,
    ScalarType::F32,
    ScalarType::I64,
    ScalarType::I32,
    ScalarType::I16,
    ScalarType::U8,
    ScalarType::U32,
];

/// The type of elements and the loops of a seed.
pub fn loops(seed: u64) -> (ScalarType, String) {
    let mut rng = Rng::new(seed);
    let ty = rng.pick(&TYPES);
    let mut writer =
        Writer { rng, text: String::new(), depth: 0, arrays: Vec::new(), aliases: false, indirect: false };
    for _ in 0..1 + writer.rng.below(3) {
        writer.choose_names();
        match writer.rng.below(8) {
            0 => writer.map(),
            1 => writer.rows(),
            _ => writer.one_loop(),
        }
    }
    (ty, writer.text)
}

struct Writer {
    rng: Rng,
    text: String,
    depth: usize,
    /// The arrays that the loop uses: few, so that its statements meet in them.
    arrays: Vec<&'static str>,
    /// Whether it uses views and references.
    aliases: bool,
    /// Whether `k` is an index from data.
    indirect: bool,
}

impl Writer {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{}{line}", "  ".repeat(self.depth));
    }

    fn open(&mut self, line: &str) {
        self.line(&format!("{line} {{"));
        self.depth += 1;
    }

    fn close(&mut self) {
        self.depth -= 1;
        self.line("}");
    }

    fn choose_names(&mut self) {
        self.arrays = vec!["a", "b", "c", "d", "e"];
        for _ in 0..self.rng.below(4) {
            let at = self.rng.below(self.arrays.len());
            self.arrays.remove(at);
        }
        self.aliases = self.rng.chance(35);
    }

    /// A loop of control flow whose iterations may depend on each other in any way.
    fn one_loop(&mut self) {
        let range = self.rng.pick(&[
            "0:N",
            "0:N",
            "0:N",
            "0:N",
            "1:N",
            "0:N:2",
            "N - 1:-1:-1",
            "N - 1:0:-1",
            "2:N:3",
        ]);
        self.indirect = self.rng.chance(15);
        if self.aliases && self.rng.chance(50) {
            self.exchange();
        }
        self.open(&format!("for i = {range}"));
        if self.indirect {
            let index = self.rng.pick(&["abs(ip[i]) % N", "(ip[i] % 4 + i) % N", "abs(ip[i]) % 2"]);
            self.line(&format!("k = {index}"));
        }
        self.statements(2);
        self.close();
        self.indirect = false;
    }

    /// One to four statements.
    fn statements(&mut self, nesting: usize) {
        for _ in 0..1 + self.rng.below(if nesting == 2 { 4 } else { 2 }) {
            match self.rng.below(20) {
                0..8 if nesting > 0 => self.branch(nesting),
                8 if nesting < 2 => {
                    let word = self.rng.pick(&["continue", "continue", "break"]);
                    self.line(word);
                    return;
                }
                9..12 if self.aliases => self.exchange(),
                12..15 => {
                    let scalar = self.rng.pick(&["s", "t"]);
                    let value = self.value(2);
                    self.line(&format!("{scalar} = {value}"));
                }
                _ => {
                    let (target, value) = (self.element(), self.value(2));
                    self.line(&format!("{target} = {value}"));
                }
            }
        }
    }

    fn branch(&mut self, nesting: usize) {
        let condition = self.choice();
        self.open(&format!("if {condition}"));
        self.statements(nesting - 1);
        if self.rng.chance(20) {
            let condition = self.choice();
            self.depth -= 1;
            self.open(&format!("}} elif {condition}"));
            self.statements(nesting - 1);
        }
        if self.rng.chance(70) {
            self.depth -= 1;
            self.open("} else");
            self.statements(nesting - 1);
        }
        self.close();
    }

    /// A condition of control flow, which no state binds views for.
    fn choice(&mut self) -> String {
        loop {
            let condition = self.condition();
            if !condition.contains("p[") && !condition.contains("q[") {
                return condition;
            }
        }
    }

    /// A reference or a view gets another target, or two exchange theirs.
    fn exchange(&mut self) {
        let (first, second) = (self.rng.pick(&self.arrays), self.rng.pick(&self.arrays));
        match self.rng.below(6) {
            3 => self.line(&format!("p -> {first}")),
            4 => self.line(&format!("q -> {second}")),
            5 => {
                self.line(&format!("p -> {first}"));
                self.line(&format!("q -> {second}"));
            }
            0 => self.line(&format!("r -> {first}")),
            1 => self.line(&format!("x -> {second}")),
            _ => {
                self.line(&format!("r -> {first}"));
                self.line(&format!("x -> {second}"));
            }
        }
    }

    /// An element near the iteration's own, mostly.
    fn element(&mut self) -> String {
        let name = if self.aliases && self.rng.chance(50) {
            self.rng.pick(&["r", "x", "p", "q"])
        } else {
            self.rng.pick(&self.arrays)
        };
        let index = match self.rng.below(24) {
            0..9 => "i".to_owned(),
            9..17 => format!("i + {}", 1 + self.rng.below(5)),
            17 => "N - i".to_owned(),
            18 => "2 * i + 1".to_owned(),
            19 => "i // 2".to_owned(),
            20 => self.rng.below(4).to_string(),
            21 => "i % 4".to_owned(),
            _ if self.indirect => "k".to_owned(),
            _ => "i + N // 2".to_owned(),
        };
        format!("{name}[{index}]")
    }

    fn value(&mut self, depth: usize) -> String {
        if depth == 0 || self.rng.chance(25) {
            return match self.rng.below(10) {
                0 => self.rng.below(4).to_string(),
                1 => self.rng.pick(&["s", "t"]).to_owned(),
                2 => "i".to_owned(),
                _ => self.element(),
            };
        }
        let (left, right) = (self.value(depth - 1), self.value(depth - 1));
        match self.rng.below(8) {
            0..3 => format!("({left} + {right})"),
            3 => format!("({left} - {right})"),
            4 => format!("({left} * {right})"),
            5 => format!("max({left}, {right})"),
            6 => format!("min({left}, {right})"),
            _ => {
                let condition = self.condition();
                format!("({left} if {condition} else {right})")
            }
        }
    }

    fn condition(&mut self) -> String {
        let left =
            if self.rng.chance(85) { self.element() } else { self.rng.pick(&["i", "s", "t"]).to_owned() };
        let right = if self.rng.chance(60) { self.rng.below(4).to_string() } else { self.element() };
        let operator = self.rng.pick(&["<", "<=", ">", ">=", "==", "!="]);
        format!("{left} {operator} {right}")
    }

    /// A loop over rows in which each element is from one of its neighbours.
    fn rows(&mut self) {
        let names = ["u", "v", "w"];
        let at = |rng: &mut Rng| {
            let indices = ["i", "j", "i + 1", "j + 1", "j + 2", "N - i"];
            format!("{}[{}, {}]", rng.pick(&names), rng.pick(&indices[..3]), rng.pick(&indices[1..]))
        };
        let [condition, first, second, third, fourth] = [(); 5].map(|()| at(&mut self.rng));
        let carried = self.rng.chance(30);
        self.open("for i = 0:min(N, 10)");
        self.open("for j = 0:N");
        self.open(&format!("if {condition} < 1"));
        self.line(&format!("{first} = {second} + {}", if carried { "s" } else { "1" }));
        if self.rng.chance(60) {
            self.depth -= 1;
            self.open("} else");
            self.line(&format!("{third} = {fourth} + j"));
        }
        self.close();
        if carried {
            self.line(&format!("s = {second}"));
        }
        self.close();
        self.close();
    }

    /// A map of independent iterations with conditional stores: each array that is written is read where it is written, if anywhere.
    fn map(&mut self) {
        let schedule = self.rng.pick(&["", " as sequential", " as sequential", " as simd"]);
        self.open(&format!("map i = 0:N{schedule}"));
        let offset = |rng: &mut Rng| rng.pick(&["i", "i + 1", "i + 3", "N - i", "2 * i"]);
        let targets = ["a", "b", "c"].map(|name| format!("{name}[{}]", offset(&mut self.rng)));
        let sources = ["d", "e"].map(|name| format!("{name}[{}]", offset(&mut self.rng)));
        let value = |rng: &mut Rng| {
            let (left, right) =
                (rng.pick(&sources), if rng.chance(50) { rng.pick(&targets) } else { rng.pick(&sources) });
            format!("{left} {} {right}", rng.pick(&["+", "-", "*"]))
        };
        let words = ["if", "elif", "else"];
        for (target, word) in targets.iter().zip(words) {
            let condition = format!("{} < {}", self.rng.pick(&sources), self.rng.below(3));
            self.line(&if word == "else" { "else:".to_owned() } else { format!("{word} {condition}:") });
            self.depth += 1;
            let assigned = value(&mut self.rng);
            self.line(&format!("{target} = {assigned}"));
            if self.rng.chance(40) {
                let other = self.rng.pick(&targets);
                let assigned = value(&mut self.rng);
                self.line(&format!("{other} = {assigned}"));
            }
            self.depth -= 1;
        }
        self.close();
    }
}
