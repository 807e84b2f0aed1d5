//! Identifiers for the names of a plan: legal in C and C++, each unique.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use sdfg::symbolic::Symbol;

use crate::interface::{Callback, is_c_identifier};
use crate::plan::{BufferId, Plan};
use crate::reserved::is_reserved;

/// Names that headers define as macros or types, besides functions.
const OF_HEADERS: [&str; 12] = [
    "NULL",
    "INFINITY",
    "NAN",
    "HUGE_VAL",
    "EOF",
    "BUFSIZ",
    "RAND_MAX",
    "INT64_MIN",
    "INT64_MAX",
    "errno",
    "unix",
    "linux",
];

/// Names that generated functions and the handle use themselves.
const OF_FUNCTIONS: [&str; 21] = [
    "handle",
    "error",
    "arena",
    "arena_bytes",
    "status",
    "thread",
    "threads",
    "counter",
    "task",
    "number",
    "environment",
    "captured",
    "arguments",
    "config",
    // Of CUDA.
    "blockIdx",
    "blockDim",
    "gridDim",
    "threadIdx",
    "dim3",
    "atomicAdd",
    "atomicCAS",
];

/// The identifiers of a program.
#[derive(Debug)]
pub(super) struct Names {
    buffers: Vec<String>,
    variables: BTreeMap<Symbol, String>,
    callbacks: Vec<String>,
    taken: RefCell<BTreeSet<String>>,
}

impl Names {
    /// Identifiers for the buffers and variables of a plan, none of them among some words.
    pub(super) fn of(plan: &Plan, reserved: &[&str]) -> Self {
        let mut taken: BTreeSet<String> = reserved.iter().map(|word| (*word).to_owned()).collect();
        let exported = plan.name.as_str();
        taken.insert(exported.to_owned());
        // What the caller passes keeps its name where it can.
        let variables = plan
            .variables
            .keys()
            .map(|symbol| (symbol.clone(), fresh(&mut taken, symbol.as_str(), exported)));
        let variables = variables.collect();
        let buffers = plan.buffers.iter().map(|buffer| fresh(&mut taken, &buffer.name, exported)).collect();
        let callback =
            |callback: &Callback| fresh(&mut taken, &format!("callback_{}", callback.name), exported);
        let callbacks = plan.callbacks.iter().map(callback).collect();
        Names { buffers, variables, callbacks, taken: RefCell::new(taken) }
    }

    /// The identifier of a buffer.
    pub(super) fn buffer(&self, id: BufferId) -> &str {
        &self.buffers[id.index()]
    }

    /// The identifier of a variable.
    pub(super) fn variable(&self, symbol: &Symbol) -> Option<&str> {
        self.variables.get(symbol).map(String::as_str)
    }

    /// The identifier of the function that a caller passes as a callback.
    pub(super) fn callback(&self, index: usize) -> &str {
        &self.callbacks[index]
    }

    /// A new identifier of the whole program.
    pub(super) fn global(&self, name: &str) -> String {
        fresh(&mut self.taken.borrow_mut(), name, "")
    }

    /// An identifier for the code of one tasklet, which none of the program hides behind it, nor any of `others`.
    pub(super) fn local(&self, name: &str, others: &BTreeSet<String>) -> String {
        let mut candidate = identifier(name);
        while self.taken.borrow().contains(&candidate) || others.contains(&candidate) {
            candidate.push('_');
        }
        candidate
    }
}

/// A name that is not taken, which is then taken.
fn fresh(taken: &mut BTreeSet<String>, name: &str, exported: &str) -> String {
    let base = identifier(name);
    let is_exported = |candidate: &str| {
        !exported.is_empty() && candidate.strip_prefix(exported).is_some_and(|rest| rest.starts_with('_'))
    };
    // Another first letter than that of a program whose name is one letter.
    let base = match is_exported(&base) {
        true => format!("{}_{base}", if exported == "v" { "w" } else { "v" }),
        false => base,
    };
    let mut candidate = base.clone();
    let mut number = 2_u32;
    while taken.contains(&candidate) {
        candidate = format!("{base}_{number}");
        number += 1;
    }
    taken.insert(candidate.clone());
    candidate
}

/// A name as an identifier that no language or header has.
fn identifier(name: &str) -> String {
    let mut text: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if text.is_empty() || text.starts_with(|c: char| c.is_ascii_digit()) {
        text.insert(0, '_');
    }
    let is_taken = |text: &str| {
        !is_c_identifier(text)
            || is_reserved(text)
            || OF_HEADERS.contains(&text)
            || OF_FUNCTIONS.contains(&text)
            || ["INT", "UINT", "SDFG_", "SIZE_", "M_", "__builtin", "__atomic", "__sync", "cuda"]
                .iter()
                .any(|prefix| text.starts_with(prefix))
    };
    if is_taken(&text) {
        text.insert_str(0, "v_");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_legal_and_taken_by_nobody_else() {
        assert_eq!(identifier("A"), "A");
        assert_eq!(identifier("class"), "v_class");
        assert_eq!(identifier("exp"), "v_exp");
        assert_eq!(identifier("2d.x"), "_2d_x");
        let mut taken = BTreeSet::new();
        assert_eq!(fresh(&mut taken, "a", "p"), "a");
        assert_eq!(fresh(&mut taken, "a", "p"), "a_2");
        assert_eq!(fresh(&mut taken, "p_run", "p"), "v_p_run");
        assert_eq!(fresh(&mut taken, "class", "v"), "w_v_class");
    }
}
