//! Validation: the rules of valid programs, checked all at once.
//!
//! [`validate`] takes a graph and returns a proof, [`Validated`], which the interpreter and code generation
//! require. They report constructs that they do not support, but never encounter an invalid graph. The first
//! phase checks the structure. The later rules make sense only for a valid structure; the second phase checks
//! them all. Each rule is a function, in a file for each topic. Each diagnostic has a code that
//! [`diagnostic::pages`](sdfg_graph::diagnostic::pages) explains.
//!
//! **Not checked.** A statement about symbols that is neither proved nor refuted gives no diagnostic, except
//! for conflicts, which give a warning. In particular, validation does not check:
//!
//! - bounds of dynamic memlets; bounds through values that a call gives to symbols in iterations of the
//!   surrounding scopes other than first and last ones; bounds through symbols of uncounted loops and of
//!   transitions; bounds where an inner range may be empty in the iteration that is outside, where
//!   conditions guard the state, or where the state runs for none of a few small values of the symbols;
//! - elements that code selects with operations other than sums and products of numbers, symbols and
//!   counters, behind conditions in the code, or in iterations of its loops other than the first and the
//!   last;
//! - whether the sides of a copy have equally many elements for all symbols, whether memory of a call has the
//!   extents of its argument, and whether memory of an alias suffices, if symbols decide;
//! - writes of constants and of inputs of calls through a name that may also name something else;
//! - conflicts between arguments of a call that overlap outside, with persistent transients of the callee, or
//!   through references that a state uses before it sets them. In states of more than 20000 nodes, and beyond
//!   2000 unordered pairs of accesses of one container in one state, a warning states that the rest is not
//!   compared; after four undecided pairs there is no such warning;
//! - whether a symbol has a value on *every* path to its use, and a transient on any path to its read;
//! - whether a reference is set before its use;
//! - deadlocks that depend on data, on the contents of conditions, on single queues of an array of streams,
//!   or on pushes and pops of calls; streams that are arguments or persistent;
//! - loops that may not end, depending on data, on arithmetic beyond a few steps of a counter, or on a
//!   counter that is not an `i64`; cycles of transitions with more than one exit, or with one that is decided
//!   anew in each round;
//! - library nodes, except for the form of their properties, and the signatures of external functions.
#![forbid(unsafe_code)]

mod bounds;
mod calls;
mod code;
mod conflicts;
mod constant_conditions;
mod containers;
mod control;
mod control_cycles;
mod dataflow;
mod direction;
mod elements;
mod infinite_loops;
mod layouts;
mod library;
mod memlets;
mod nested;
mod persistent_set;
mod reduce;
mod references;
mod repetition;
mod resolutions;
mod sample;
mod scope_context;
mod scopes;
mod site;
mod storage;
mod streams;
mod structure;
mod symbols;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use calls::Call;
pub use infinite_loops::never_ends;
use scope_context::{ScopeContext, ScopeContexts};
use sdfg_graph::analysis::Device;
use sdfg_graph::diagnostic::{Diagnostic, ElementPath, Style, render, render_built};
use sdfg_graph::ir::{NodeKind, Sdfg};
use sdfg_language::symbolic::with_proof_cache;
use site::{Findings, Program};
use streams::Streams;
use symbols::SymbolTable;

/// A program that passed validation; cheap to clone and to share between threads.
#[derive(Clone, Debug)]
pub struct Validated {
    program: Arc<Checked>,
}

#[derive(Debug)]
struct Checked {
    sdfg: Sdfg,
    warnings: Vec<Diagnostic>,
}

impl Validated {
    /// The program.
    pub fn sdfg(&self) -> &Sdfg {
        &self.program.sdfg
    }

    /// A probably unintended construct.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.program.warnings
    }

    /// The program for change: the proof ends, and the program is copied if it is shared.
    pub fn into_sdfg(self) -> Sdfg {
        Arc::try_unwrap(self.program).map_or_else(|shared| shared.sdfg.clone(), |checked| checked.sdfg)
    }
}

/// Probably unintended constructs of a program. Printing shows each warning with carets, and nothing if there
/// is none.
#[must_use = "warnings tell of likely mistakes: print them, or say that they do not matter"]
#[derive(Clone, Debug)]
pub struct Warnings {
    program: Validated,
}

impl Warnings {
    /// Those of a program.
    pub fn of(program: &Validated) -> Self {
        Warnings { program: program.clone() }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.program.warnings().is_empty()
    }

    /// Each by itself.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.program.warnings().iter()
    }
}

impl<'w> IntoIterator for &'w Warnings {
    type Item = &'w Diagnostic;
    type IntoIter = std::slice::Iter<'w, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Warnings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&render_built(self.program.warnings(), self.program.sdfg(), Style::Plain))
    }
}

/// A graph that is no program.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}", summary(self))]
pub struct Rejected {
    /// Errors and warnings, at least one error.
    pub diagnostics: Vec<Diagnostic>,
    /// The graph, given back.
    pub sdfg: Box<Sdfg>,
}

impl Rejected {
    /// All diagnostics with carets: under `source`, the name and text of the file that the graph was read from, or under
    /// its printed form.
    pub fn render(&self, source: Option<(&str, &str)>, style: Style) -> String {
        match source {
            Some(_) => render(&self.diagnostics, source, style),
            None => render_built(&self.diagnostics, &self.sdfg, style),
        }
    }
}

fn summary(rejected: &Rejected) -> String {
    let errors = rejected.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count();
    let plural = if errors == 1 { "" } else { "s" };
    let shown = rejected.render(None, Style::Plain);
    format!("the program is not valid: {errors} error{plural}\n\n{}", shown.trim_end())
}

/// Checks a graph with everything nested in it.
///
/// # Errors
/// Every error that was found, with the warnings. Errors in the structure hide others, which would follow from them.
pub fn validate(sdfg: Sdfg) -> Result<Validated, Rejected> {
    let findings = with_proof_cache(|| find(&sdfg));
    if findings.has_errors() {
        return Err(Rejected { diagnostics: findings.into_vec(), sdfg: Box::new(sdfg) });
    }
    Ok(Validated { program: Arc::new(Checked { sdfg, warnings: findings.into_vec() }) })
}

/// Everything that the rules find in a graph, each proof made anew. [`validate`] remembers proofs instead.
pub fn diagnose(sdfg: &Sdfg) -> Vec<Diagnostic> {
    find(sdfg).into_vec()
}

fn find(sdfg: &Sdfg) -> Findings {
    let mut findings = Findings::default();
    let program = Program::new(sdfg, ElementPath::sdfg(&sdfg.name), 0, Device::default());
    structure::check(&program, &mut findings);
    if !findings.has_errors() {
        meaning(&program, &mut findings);
    }
    findings
}

/// The second phase, for one SDFG and the ones nested in it.
fn meaning(program: &Program<'_>, findings: &mut Findings) {
    let table = SymbolTable::of(program.sdfg);
    containers::check(program, &table, findings);
    control::check(program, findings);
    code::check_control(program, &table, findings);
    infinite_loops::check(program, findings);
    let mut streams = Streams::default();
    for site in program.sites() {
        let defined =
            program.block_of(site.id).map_or_else(|| table.everywhere(), |block| table.before(block));
        let frames = ScopeContexts::of(&site, ScopeContext::of_state(program, site.id, defined.clone()));
        memlets::check(&site, &frames, findings);
        code::check_tasklets(&site, &frames, findings);
        code::check_consume(program, &site, &frames, findings);
        scopes::check(program, &site, &frames, findings);
        reduce::check(&site, findings);
        nested::check(&site, &frames, findings);
        storage::check(&site, &frames, findings);
        conflicts::check(program, &site, &frames, findings);
        dataflow::check_state(&site, findings);
        library::check(&site, &frames, findings);
        streams.collect(program, &site, &frames);
        for (id, node) in site.state.nodes() {
            if let NodeKind::Nested(nested) = &node.kind {
                let device = storage::device_at(&site, &frames, frames.scopes.scope_of(id));
                let call = Call::of(program, &site, frames.at(id), id, nested);
                let mut called = program.nested(&site, id, nested, device);
                (called.call, called.shared) = (Some(call), program.shared_in(&site, id, nested));
                meaning(&called, findings);
            }
        }
    }
    let answered = streams.check(program, findings);
    dataflow::never_written(program, &answered, findings);
    references::check(program, findings);
}
