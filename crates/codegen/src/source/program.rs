//! One source file in progress: names, functions, and the helpers they need.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use indexmap::IndexMap;
use sdfg::ir::FloatMode;

use super::dialect::Dialect;
use super::names::Names;
use crate::plan::Plan;

/// One source file that is being written.
pub(super) struct Program<'p> {
    pub(super) plan: &'p Plan,
    /// The arithmetic of floating-point numbers.
    pub(super) floats: FloatMode,
    pub(super) names: Names,
    /// The language of the file and of its kernels.
    pub(super) dialect: Dialect,
    /// Small functions and types that the code uses, by name, each after those that it uses itself.
    helpers: RefCell<IndexMap<String, String>>,
    /// Functions of the program itself, in the order in which they are defined.
    functions: RefCell<Vec<String>>,
    /// Kernels, if they are in a text of their own.
    kernels: RefCell<Vec<String>>,
    headers: RefCell<BTreeSet<&'static str>>,
    /// Whether a loop is shared by threads.
    pub(super) has_threads: Cell<bool>,
    /// Whether functions of the runtime are called.
    pub(super) has_runtime: Cell<bool>,
    /// Whether a kernel has checks.
    pub(super) has_faults: Cell<bool>,
}

/// The parts of a file, each in order.
pub(super) struct Parts {
    pub(super) headers: BTreeSet<&'static str>,
    /// Names with texts.
    pub(super) helpers: Vec<(String, String)>,
    pub(super) functions: Vec<String>,
    /// Kernels in a text of their own.
    pub(super) kernels: Vec<String>,
}

impl<'p> Program<'p> {
    /// An empty file for a plan.
    pub(super) fn new(plan: &'p Plan, floats: FloatMode, dialect: Dialect) -> Self {
        let headers = BTreeSet::from(["stdbool.h", "stddef.h", "stdint.h", "stdlib.h"]);
        Program {
            plan,
            floats,
            names: Names::of(plan, dialect.reserved()),
            dialect,
            helpers: RefCell::default(),
            functions: RefCell::default(),
            kernels: RefCell::default(),
            headers: RefCell::new(headers),
            has_threads: Cell::new(false),
            has_runtime: Cell::new(false),
            has_faults: Cell::new(false),
        }
    }

    /// A helper of this name, with the text of its definition where it is new. The name.
    pub(super) fn helper(&self, name: &str, text: impl FnOnce() -> String) -> String {
        if !self.helpers.borrow().contains_key(name) {
            // The text may need other helpers, which then stand before it.
            let text = text();
            self.helpers.borrow_mut().insert(name.to_owned(), text);
        }
        name.to_owned()
    }

    /// As [`helper`](Self::helper), telling `known` the text that is there already.
    pub(super) fn helper_text(&self, name: &str, known: impl FnOnce(&str), text: impl FnOnce() -> String) {
        if let Some(text) = self.helpers.borrow().get(name) {
            known(text);
            return;
        }
        self.helper(name, text);
    }

    /// Notes that functions of the runtime are called.
    pub(super) fn use_runtime(&self) {
        self.has_runtime.set(true);
    }

    /// Notes that a header of the C library is needed.
    pub(super) fn include(&self, header: &'static str) {
        self.headers.borrow_mut().insert(header);
    }

    /// Adds a function.
    pub(super) fn define(&self, text: String) {
        self.functions.borrow_mut().push(text);
    }

    /// Adds the function of a kernel.
    pub(super) fn define_kernel(&self, text: String) {
        if self.dialect.has_device_runtime() {
            self.kernels.borrow_mut().push(text);
        } else {
            self.define(text);
        }
    }

    /// Whether a kernel was added that is in a text of its own.
    pub(super) fn has_kernels(&self) -> bool {
        !self.kernels.borrow().is_empty()
    }

    /// The parts of the file.
    pub(super) fn finish(self) -> Parts {
        Parts {
            headers: self.headers.into_inner(),
            helpers: self.helpers.into_inner().into_iter().collect(),
            functions: self.functions.into_inner(),
            kernels: self.kernels.into_inner(),
        }
    }
}
