//! Random programs as text.
//!
//! A program is a sequence of steps on a fixed set of containers, inside random control flow. Every step is
//! free of conflicts by construction: a written container is read only at the written index. Files by topic
//! contain the steps. They use this file to write text and to track the state of the program.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sdfg::dtype::ScalarType;
use sdfg_codegen::lower::{LowerError, LowerOptions, Target, lower};

use super::check::{expanded, validated};
use super::rng::Rng;

/// The types of fields; the last ones, which are complex, are for some steps only.
const TYPES: [ScalarType; 13] = [
    ScalarType::F64,
    ScalarType::F32,
    ScalarType::I32,
    ScalarType::I64,
    ScalarType::U8,
    ScalarType::I16,
    ScalarType::F16,
    ScalarType::U64,
    ScalarType::I8,
    ScalarType::U16,
    ScalarType::U32,
    ScalarType::Complex64,
    ScalarType::Complex128,
];

/// The steps of programs. Steps with many variants are listed twice.
const STEPS: [fn(&mut Generator); 46] = [
    Generator::pointwise,
    Generator::pointwise,
    Generator::stencil,
    Generator::triangle,
    Generator::nested_maps,
    Generator::dynamic_range,
    Generator::tiled_maps,
    Generator::tiled_copies,
    Generator::tiles_at_tasklets,
    Generator::accumulate,
    Generator::histogram,
    Generator::reduce,
    Generator::conditional,
    Generator::locations,
    Generator::replace,
    Generator::copies,
    Generator::copy_in_place,
    Generator::shared_memory,
    Generator::computed_size,
    Generator::relay,
    Generator::relay,
    Generator::lifetimes,
    Generator::layouts,
    Generator::growing_transient,
    Generator::constants,
    Generator::view,
    Generator::view,
    Generator::written_view,
    Generator::view_of_an_iteration,
    Generator::references_in_turn,
    Generator::reference_of_a_branch,
    Generator::vectors,
    Generator::masks,
    Generator::values,
    Generator::value_into_a_symbol,
    Generator::nested_sdfg,
    Generator::deep_calls,
    Generator::library_nodes,
    Generator::local_code,
    Generator::components,
    Generator::symbols_from_data,
    Generator::filter_and_consume,
    Generator::consume_until,
    Generator::chain,
    Generator::queues,
    Generator::batches,
];

/// Text of the program of a seed. Its symbols are `N` and `M`. Maps of schedule `simd` are those that run on lanes.
pub fn generate(seed: u64) -> String {
    let text = program(seed, |generator| {
        for _ in 0..2 + generator.rng.below(4) {
            generator.step(2);
        }
    });
    with_promises_kept(text, &Target::cpu())
}

/// The program with the schedule `sequential` in place of each `simd` that is refused.
pub(super) fn with_promises_kept(mut text: String, target: &Target) -> String {
    while let Some(label) = refused_map(&text, target) {
        let heading = format!("{label} [");
        let is_refused = |line: &&str| line.contains(&heading) && line.contains("schedule(simd)");
        let Some(line) = text.lines().find(is_refused).map(str::to_owned) else { break };
        text = text.replace(&line, &line.replace("schedule(simd)", "schedule(sequential)"));
    }
    text
}

/// The label of a scope of schedule `simd` that cannot run on lanes.
fn refused_map(text: &str, target: &Target) -> Option<String> {
    if !text.contains("schedule(simd)") {
        return None;
    }
    let program = expanded(&validated(text).ok()?).ok()?;
    match lower(&program, target, &LowerOptions::default()) {
        Err(LowerError::Refused(refused)) => {
            refused.first().and_then(|refusal| refusal.path.labels().last().cloned())
        }
        Ok(_) | Err(_) => None,
    }
}

/// The program of a seed with the blocks that `write_blocks` writes.
pub(super) fn program(seed: u64, write_blocks: impl FnOnce(&mut Generator)) -> String {
    let mut rng = Rng::new(seed);
    let fields = rng.pick(&TYPES);
    let others = rng.pick(&TYPES[..TYPES.len() - 2]);
    let mut generator = Generator {
        rng,
        text: String::new(),
        depth: 1,
        labels: 0,
        fields,
        others,
        loops: Vec::new(),
        declared: Vec::new(),
    };
    write_blocks(&mut generator);
    let mut text = format!("sdfg random_{seed} float(strict) {{\n  symbol N: i64\n  symbol M: i64\n");
    let arguments = generator.containers().into_iter().map(|container| {
        format!("array {}: {}[{}]", container.name, container.ty, container.dimensions.join(", "))
    });
    let own = [
        format!("array hist: {others}[8]"),
        "array total: i64[1]".to_owned(),
        format!("scalar alpha: {others}"),
        "scalar score: i64".to_owned(),
    ];
    for declaration in arguments.chain(own).chain(generator.declared) {
        let _ = writeln!(text, "  {declaration}");
    }
    text + &generator.text + "}\n"
}

/// An argument with its type and number of dimensions.
#[derive(Clone)]
pub(super) struct Container {
    pub(super) name: &'static str,
    pub(super) ty: ScalarType,
    pub(super) dimensions: &'static [&'static str],
}

/// A program as far as it is written.
pub(super) struct Generator {
    pub(super) rng: Rng,
    text: String,
    pub(super) depth: usize,
    labels: usize,
    /// Type of `A`, `B` and `V`.
    pub(super) fields: ScalarType,
    /// Type of `C`, `W`, `hist` and `alpha`; not complex.
    pub(super) others: ScalarType,
    /// Symbols of loops around the current place.
    pub(super) loops: Vec<String>,
    /// Containers that steps need for themselves.
    declared: Vec<String>,
}

impl Generator {
    pub(super) fn containers(&self) -> Vec<Container> {
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
        // The line keeps them apart from all names that steps have for themselves.
        format!("{prefix}_{}", self.labels)
    }

    /// Adds a container for a step.
    pub(super) fn declare(&mut self, line: &str) {
        self.declared.push(line.to_owned());
    }

    /// Writes statements at the current depth, with words in them replaced.
    ///
    /// `$name` is a given word. `$TY` and `$FIELD` are the types of fields, `$TYx2` and `$TYx4` vectors. Each
    /// `$SCHEDULE` is a random schedule. Every other name is a new label of the program, the same in all of the text.
    /// Transients, constants, views and references that stand outside of braces are declared in the program.
    pub(super) fn write(&mut self, words: &[(&str, &str)], text: &str) {
        let mut labels = BTreeMap::new();
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let blanks = |line: &&str| line.len() - line.trim_start().len();
        let margin = lines.iter().map(blanks).min().unwrap_or(0);
        for line in lines {
            let line = self.replace_words(&line[margin..], words, &mut labels);
            let declares = ["transient ", "constant ", "view ", "reference "];
            if declares.iter().any(|word| line.starts_with(word)) {
                self.declare(&line);
            } else {
                self.line(&line);
            }
        }
    }

    fn replace_words(
        &mut self,
        line: &str,
        words: &[(&str, &str)],
        labels: &mut BTreeMap<String, String>,
    ) -> String {
        let mut pieces = line.split('$');
        let mut found = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let end = piece.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(piece.len());
            let (name, rest) = piece.split_at(end);
            let given = words.iter().find(|(word, _)| *word == name).map(|(_, text)| (*text).to_owned());
            let word = match (name, given) {
                (_, Some(text)) => text,
                ("TY" | "TYx2" | "TYx4", None) => name.replace("TY", self.others.name()),
                ("FIELD", None) => self.fields.to_string(),
                ("SCHEDULE", None) => self.schedule().to_owned(),
                (_, None) => labels.entry(name.to_owned()).or_insert_with(|| self.label(name)).clone(),
            };
            found.push_str(&word);
            found.push_str(rest);
        }
        found
    }

    /// A block: control flow around others, or a state.
    pub(super) fn step(&mut self, nesting: usize) {
        if nesting > 0 && self.rng.chance(35) {
            match self.rng.below(6) {
                0 => self.for_loop(nesting),
                1 => self.branch(nesting),
                2 => self.while_loop(nesting),
                3 => self.other_loop(nesting),
                4 => self.leave_early(nesting),
                _ => self.jumps(),
            }
            return;
        }
        let step = self.rng.pick(&STEPS);
        step(self);
    }

    /// Names that code may use beside its connectors.
    pub(super) fn symbols(&self) -> Vec<(String, ScalarType)> {
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
            " schedule(simd)",
            " schedule(unrolled)",
            " schedule(cpu_multicore)",
            " schedule(cpu_multicore) sharing(dynamic, 2)",
            " schedule(cpu_multicore) sharing(guided)",
            " schedule(cpu_multicore) threads(2)",
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::check::interprets;

    /// Each step alone writes a valid program, for all types and sizes.
    #[test]
    fn every_step_makes_programs_that_run() {
        let mut failures = Vec::new();
        for (number, step) in STEPS.iter().enumerate() {
            let failure = (0..6).find_map(|seed| {
                let text = program(1000 * number as u64 + seed, step);
                interprets(seed, &text)
                    .err()
                    .map(|what| format!("step {number}, seed {seed}: {what}\n{text}"))
            });
            failures.extend(failure);
        }
        assert!(failures.is_empty(), "{}", failures.join("\n"));
    }
}
