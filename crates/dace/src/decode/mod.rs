//! Decodes JSON to DaCe's model: fills in defaults, resolves references by index, and parses texts.
//!
//! The content distinguishes versions, not the version number: `$` before symbols, `scope_exits` for
//! `scope_exit`, `View` for `ArrayView`. The report lists every property that is neither read nor known to
//! have no effect.

mod blas;
mod control;
mod descriptor;
mod memlet;
mod mkl;
mod node;
mod program;
mod start;
mod structure;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use sdfg::subset::Subset;
use sdfg::symbolic::Expr;

use crate::model::{Program, StructType, Structures};
use crate::report::{Failed, Log};
use crate::text::Structs;
use crate::wire::{Document, Place, Value};

/// Properties that every object may have and that mean nothing for what a program computes.
const ANYWHERE: [&str; 2] = ["guid", "debuginfo"];

/// Context of reading a document.
pub(crate) struct Decoder<'d> {
    pub(crate) log: &'d Log,
    pub(crate) structs: Structs,
    /// Symbolic texts that were read, most of which stand in a file many times.
    sizes: RefCell<BTreeMap<String, Expr>>,
    /// Ranges that were read and of which there was nothing to say, by their signature.
    subsets: RefCell<BTreeMap<String, Subset>>,
    /// The structures of the programs that are being read, the innermost last.
    structures: RefCell<Vec<Structures>>,
    /// Whether C++ code is left to a compiler.
    pub(crate) allow_external: bool,
}

/// A document as a model.
pub(crate) struct Decoded {
    pub(crate) program: Program,
    pub(crate) structs: Structs,
    pub(crate) version: Version,
}

/// Versions of DaCe between which the meaning of files differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Version {
    /// Before version 2.
    First,
    /// The alphas of version 2, which pass the first element of a memlet to a nested SDFG, as version 1 does.
    Alpha,
    /// The betas of version 2 and what follows them, which pass arrays as they are.
    Second,
}

impl Version {
    fn of(text: &str) -> Self {
        let major = text.split('.').next().and_then(|major| major.parse::<u32>().ok());
        match major {
            Some(2) if text.starts_with("2.0.0a") => Version::Alpha,
            Some(2..) => Version::Second,
            Some(_) | None => Version::First,
        }
    }
}

/// Reads a whole document.
pub(crate) fn decode(document: &Document<'_>, allow_external: bool, log: &Log) -> Result<Decoded, Failed> {
    let name = document.root().get("attributes").and_then(|found| found.get("name")).and_then(Value::as_text);
    let root = Place::root(name.unwrap_or("program"));
    let mut structs = BTreeMap::new();
    if document.mentions("struct") {
        collect_structs(document.root(), &mut structs);
    }
    let document = document.root();
    let decoder = Decoder {
        log,
        structs: Structs(structs),
        sizes: RefCell::default(),
        subsets: RefCell::default(),
        structures: RefCell::default(),
        allow_external,
    };
    let program = decoder.program(document, root)?;
    let version = document.get("dace_version").and_then(Value::as_text).unwrap_or_default();
    Ok(Decoded { program, structs: decoder.structs, version: Version::of(version) })
}

/// Struct types may be named in code before, after or without a container of the type, so they come first.
fn collect_structs(value: Value<'_>, found: &mut BTreeMap<String, Arc<StructType>>) {
    match value {
        Value::Object(entries) => {
            if let Some(record) = descriptor::struct_type(value) {
                found.entry(record.name.clone()).or_insert_with(|| Arc::new(record));
            }
            for (key, inner) in entries.iter() {
                if !matches!(key, "orig_sdfg" | "transformation_hist" | "debuginfo") {
                    collect_structs(inner, found);
                }
            }
        }
        Value::List(list) => list.iter().for_each(|inner| collect_structs(inner, found)),
        Value::Null | Value::Bool(_) | Value::Integer(_) | Value::Float(_) | Value::Text(_) => {}
    }
}
