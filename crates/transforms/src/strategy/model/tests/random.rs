//! Random affine programs: sequences of maps over a few square arrays, some in loops, in calls of nested
//! SDFGs, in data-dependent branches, or after jumps.

use std::fmt::Write;

use proptest::prelude::*;

/// Elements of an array along each of its two dimensions.
pub(super) const EXTENT: i64 = 40;

/// Number of arrays.
pub(super) const ARRAYS: usize = 3;

/// `c0 i + c1 j + offset` in iterations counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Index {
    pub(super) coefficients: [i64; 2],
    pub(super) offset: i64,
}

impl Index {
    pub(super) fn at(&self, iteration: [i64; 2]) -> i64 {
        self.coefficients[0] * iteration[0] + self.coefficients[1] * iteration[1] + self.offset
    }
}

#[derive(Clone, Debug)]
pub(super) struct RandomMap {
    pub(super) sizes: [i64; 2],
    /// Begins of the ranges, which the text has to account for.
    begins: [i64; 2],
    pub(super) reads: Vec<(usize, [Index; 2])>,
    pub(super) write: (usize, [Index; 2]),
    /// Whether iterations add up what they write.
    pub(super) adds: bool,
    /// Whether the map is in a nested SDFG, whose arrays are parts of those outside.
    called: bool,
}

/// Whether a map runs, as data decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guard {
    Always,
    /// In the arm of a branch.
    If,
    /// In the other arm of the branch that the map before is in.
    Else,
    /// In an arm that ends the loop, or outside of a loop the program.
    Break,
    /// In an arm that goes on with the next iteration, or outside of a loop ends the program.
    Continue,
}

#[derive(Clone, Debug)]
pub(super) struct RandomProgram {
    pub(super) maps: Vec<RandomMap>,
    /// Of each map.
    pub(super) guards: Vec<Guard>,
    /// Maps of the loop, and how often it runs.
    pub(super) repeated: std::ops::Range<usize>,
    pub(super) times: usize,
}

impl RandomProgram {
    /// The same program without anything that data decide.
    pub(super) fn decided(&self) -> Self {
        RandomProgram { guards: vec![Guard::Always; self.maps.len()], ..self.clone() }
    }

    /// Maps in the order in which they run, where data decide by answering.
    pub(super) fn runs(&self, mut decide: impl FnMut() -> bool) -> Vec<usize> {
        let mut runs = Vec::new();
        let parts = [
            (0..self.repeated.start, 1),
            (self.repeated.clone(), self.times),
            (self.repeated.end..self.maps.len(), 1),
        ];
        for (maps, times) in parts {
            let is_loop = maps == self.repeated && !maps.is_empty();
            'iterations: for _ in 0..times {
                let mut holds = false;
                for map in maps.clone() {
                    let guard = self.guard(map);
                    if guard == Guard::Always || (guard == Guard::Else && !holds) {
                        runs.push(map);
                    } else if guard != Guard::Else {
                        holds = decide();
                        if !holds {
                            continue;
                        }
                        runs.push(map);
                        match guard {
                            Guard::Always | Guard::If | Guard::Else => {}
                            Guard::Break | Guard::Continue if !is_loop => return runs,
                            Guard::Break => break 'iterations,
                            Guard::Continue => continue 'iterations,
                        }
                    }
                }
            }
        }
        runs
    }

    /// An arm needs the other one in the same part of the program.
    fn guard(&self, map: usize) -> Guard {
        let guard = self.guards[map];
        let begins = [0, self.repeated.start, self.repeated.end];
        let has_other = !begins.contains(&map) && self.guards[map - 1] == Guard::If;
        if guard == Guard::Else && !has_other { Guard::If } else { guard }
    }

    pub(super) fn text(&self) -> String {
        let mut text = "sdfg random {\n  scalar a: f64\n".to_owned();
        for array in 0..ARRAYS {
            writeln!(text, "  array A{array}: f64[{EXTENT}, {EXTENT}]").expect("a string");
        }
        for (at, map) in self.maps.iter().enumerate() {
            if at == self.repeated.start && !self.repeated.is_empty() {
                writeln!(text, "  for steps: t = 0:{} {{", self.times).expect("a string");
            }
            let (state, is_loop) = (map.text(at), self.repeated.contains(&at));
            let has_else = self.maps.len() > at + 1 && self.guard(at + 1) == Guard::Else;
            let jump = |jump: &str| {
                format!(
                    "  if b{at}: a > 0.5 {{\n{state}  {} j{at}\n  }}\n",
                    if is_loop { jump } else { "return" }
                )
            };
            text.push_str(&match self.guard(at) {
                Guard::Always => state,
                Guard::If => {
                    format!("  if b{at}: a > 0.5 {{\n{state}  }}{}", if has_else { "" } else { "\n" })
                }
                Guard::Else => format!(" else {{\n{state}  }}\n"),
                Guard::Break => jump("break"),
                Guard::Continue => jump("continue"),
            });
            if at + 1 == self.repeated.end && !self.repeated.is_empty() {
                text.push_str("  }\n");
            }
        }
        text + "}\n"
    }
}

impl RandomMap {
    /// Operations of one iteration: a sum of all that is read, and adding it.
    pub(super) fn work(&self) -> u64 {
        self.reads.len() as u64 - 1 + u64::from(self.adds)
    }

    /// An index of an array that begins at position `first` of that of the program.
    fn index(&self, index: &Index, first: i64) -> String {
        let [c0, c1] = index.coefficients;
        let offset = index.offset - c0 * self.begins[0] - c1 * self.begins[1] - first;
        format!("{c0}*i + {c1}*j + {offset}")
    }

    fn access(&self, (array, [row, column]): &(usize, [Index; 2]), first: i64) -> String {
        format!("A{array}[{}, {}]", self.index(row, first), self.index(column, first))
    }

    /// The arrays that are read, each once.
    fn arrays(&self) -> Vec<usize> {
        let mut arrays: Vec<usize> = self.reads.iter().map(|(array, _)| *array).collect();
        arrays.sort_unstable();
        arrays.dedup();
        arrays
    }

    /// The least position that is accessed, along any dimension.
    fn first(&self) -> i64 {
        let corners = [0, 1].map(|d| [0, self.sizes[d] - 1]);
        let accesses = self.reads.iter().chain([&self.write]).flat_map(|(_, indices)| indices);
        let least = |index: &Index| {
            let at = |i: i64| corners[1].map(|j| index.at([i, j]));
            corners[0].map(at).into_iter().flatten().min().unwrap_or(0)
        };
        accesses.map(least).min().unwrap_or(0)
    }

    fn text(&self, at: usize) -> String {
        let mut text = format!("  state s{at} {{\n");
        if !self.called {
            text.push_str(&self.graph(0));
            return text + "  }\n";
        }
        let (arrays, to, first) = (self.arrays(), self.write.0, self.first());
        let inputs: Vec<String> = arrays.iter().map(|array| format!("A{array}")).collect();
        let mut all = arrays.clone();
        all.push(to);
        for array in &all {
            writeln!(text, "    access A{array}").expect("a string");
        }
        writeln!(text, "    nested call ({}) -> (A{to}) sdfg inner {{", inputs.join(", ")).expect("a string");
        for array in &all {
            writeln!(text, "  array A{array}: f64[{n}, {n}]", n = EXTENT - first).expect("a string");
        }
        writeln!(text, "  state body {{\n{}  }}\n    }}", self.graph(first)).expect("a string");
        let part = format!("{first}:{EXTENT}, {first}:{EXTENT}");
        for array in &arrays {
            writeln!(text, "    A{array} -> call.A{array}: A{array}[{part}]").expect("a string");
        }
        writeln!(text, "    call.A{to} -> A{to}: A{to}[{part}]\n  }}").expect("a string");
        text
    }

    /// The map and its arrays, which begin at position `first` of those of the program.
    fn graph(&self, first: i64) -> String {
        let [i, j] = [0, 1].map(|d| (self.begins[d], self.begins[d] + self.sizes[d]));
        let inputs: Vec<String> = (0..self.reads.len()).map(|k| format!("x{k}")).collect();
        let (arrays, to) = (self.arrays(), self.write.0);
        let mut text = String::new();
        for array in &arrays {
            writeln!(text, "    access A{array}").expect("a string");
        }
        let (sum, list) = (inputs.join(" + "), inputs.join(", "));
        writeln!(
            text,
            "    access A{to}\n    map m [i = {}:{}, j = {}:{}] {{\n      tasklet f ({list}) -> (o) {{ o = {sum} }}",
            i.0, i.1, j.0, j.1
        )
        .expect("a string");
        for (k, read) in self.reads.iter().enumerate() {
            writeln!(text, "      m.A{} -> f.x{k}: {}", read.0, self.access(read, first)).expect("a string");
        }
        let adds = if self.adds { " wcr(sum)" } else { "" };
        writeln!(text, "      f.o -> m.A{to}: {}{adds}\n    }}", self.access(&self.write, first))
            .expect("a string");
        for array in &arrays {
            writeln!(text, "    A{array} -> m.A{array}").expect("a string");
        }
        writeln!(text, "    m.A{to} -> A{to}").expect("a string");
        text
    }
}

/// Indices in which each dimension of the domain is used by one dimension of the array at most.
fn indices() -> impl Strategy<Value = [Index; 2]> {
    let coefficient = || prop::sample::select(vec![-2, -1, 0, 1, 1, 1, 2]);
    let offsets = (0_i64..4, 0_i64..4);
    (coefficient(), coefficient(), offsets, 0..4).prop_map(|(a, b, (o, p), places)| {
        let coefficients = match places {
            0 => [[a, 0], [0, b]],
            1 => [[0, b], [a, 0]],
            2 => [[a, b], [0, 0]],
            _ => [[0, 0], [a, b]],
        };
        // Coefficients of -2 and sizes below 9 reach down by 32 at most, and up by as much.
        let index = |coefficients: [i64; 2], offset: i64| {
            let down: i64 = coefficients.iter().map(|c| (-c).max(0) * 8).sum();
            Index { coefficients, offset: offset + down }
        };
        [index(coefficients[0], o), index(coefficients[1], p)]
    })
}

fn map() -> impl Strategy<Value = RandomMap> {
    let reads = prop::collection::vec(
        (0..ARRAYS - 1, indices(), prop::collection::vec((0_i64..3, 0_i64..3), 0..3)),
        1..3,
    );
    let sizes = (1_i64..9, 1_i64..9);
    (sizes, (0_i64..3, 0_i64..3), reads, 0..ARRAYS, indices(), any::<[bool; 2]>()).prop_map(
        |((m, n), (b0, b1), reads, to, mut write, [wants_to_add, called])| {
            // What is written is read from nowhere else, so that iterations do not conflict.
            let other = |array: usize| (to + 1 + array) % ARRAYS;
            let mut all = Vec::new();
            for (array, indices, shifts) in reads {
                all.push((other(array), indices));
                for (s0, s1) in shifts {
                    let shifted = |index: Index, by: i64| Index { offset: index.offset + by, ..index };
                    all.push((other(array), [shifted(indices[0], s0), shifted(indices[1], s1)]));
                }
            }
            // A sum has one parameter in an index at most; without a sum each iteration has its own element.
            let used: Vec<[i64; 2]> = write.iter().map(|index| index.coefficients).collect();
            let is_single = |c: &[i64; 2]| c[0] == 0 || c[1] == 0;
            let total = [used[0][0] + used[1][0], used[0][1] + used[1][1]];
            if !used.iter().all(is_single) {
                write = [
                    Index { coefficients: [1, 0], offset: write[0].offset % 20 },
                    Index { coefficients: [0, 1], offset: write[1].offset % 20 },
                ];
            }
            let is_own = !used.iter().all(is_single) || (total[0] != 0 && total[1] != 0);
            let adds = wants_to_add || !is_own;
            RandomMap { sizes: [m, n], begins: [b0, b1], reads: all, write: (to, write), adds, called }
        },
    )
}

/// A map from a part of an array to one of another, of which there are few, so that maps write over what others wrote.
fn plain_map() -> impl Strategy<Value = RandomMap> {
    let part = || (0_i64..2, 0_i64..2);
    (part(), part(), 0..ARRAYS, 1..ARRAYS, any::<bool>()).prop_map(|(from, (p, q), to, other, called)| {
        let index =
            |(p, q)| [Index { coefficients: [1, 0], offset: p }, Index { coefficients: [0, 1], offset: q }];
        RandomMap {
            sizes: [5 - p, 5 - q],
            begins: [0, 0],
            reads: vec![((to + other) % ARRAYS, index(from))],
            write: (to, index((p, q))),
            adds: false,
            called,
        }
    })
}

pub(super) fn program() -> impl Strategy<Value = RandomProgram> {
    program_of(map())
}

/// A program whose maps write over what others wrote.
pub(super) fn plain_program() -> impl Strategy<Value = RandomProgram> {
    program_of(plain_map())
}

fn program_of(map: impl Strategy<Value = RandomMap>) -> impl Strategy<Value = RandomProgram> {
    let guard = prop::sample::select(vec![
        Guard::Always,
        Guard::Always,
        Guard::If,
        Guard::Else,
        Guard::Break,
        Guard::Continue,
    ]);
    let guards = prop::collection::vec(guard, 5);
    (prop::collection::vec(map, 1..6), 0_usize..6, 0_usize..6, 1_usize..4, guards).prop_map(
        |(maps, a, b, times, guards)| {
            let (a, b) = (a.min(maps.len()), b.min(maps.len()));
            RandomProgram { maps, guards, repeated: a.min(b)..a.max(b), times }
        },
    )
}
