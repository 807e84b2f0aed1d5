//! Decodes one SDFG: containers, symbols, constants and control flow.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use sdfg::dtype::ScalarType;
use sdfg::ir::FloatMode;
use sdfg::symbolic::Assumptions;
use sdfg::tasklet::arith::cast;
use sdfg::value::{Complex, Value as Number};

use super::{ANYWHERE, Decoder, start};
use crate::model::{Constant, Program, Structures};
use crate::report::{Code, Failed};
use crate::wire::{List, Object, Place, Value};

/// Properties about viewers, history, instrumentation and ways to generate C++.
const KNOWN: [&str; 18] = [
    "orig_sdfg",
    "transformation_hist",
    "logical_groups",
    "instrument",
    "openmp_sections",
    "using_experimental_blocks",
    "using_explicit_control_flow",
    "hash",
    "is_collapsed",
    "build_folder",
    "source_files",
    "label",
    "collapsed",
    "pre_conditions",
    "post_conditions",
    "invariant_conditions",
    "no_inline",
    "unique_name",
];

impl Decoder<'_> {
    /// An SDFG, the whole document or within a nested node.
    pub(super) fn program(&self, value: Value<'_>, place: Place<'_>) -> Result<Program, Failed> {
        let object = Object::of(value, place, self.log)?;
        if object.text("type")? != "SDFG" {
            return Err(self.log.error(Code::Malformed, &place, "this is no SDFG"));
        }
        let attributes = Object::of(object.required("attributes")?, place, self.log)?;
        let name = attributes.text("name")?.to_owned();
        let (mut containers, mut structures) = (IndexMap::new(), IndexMap::new());
        let mut failed = None;
        for (name, value) in attributes.pairs("_arrays")? {
            let list = place.at("_arrays");
            let here = list.at(name);
            let structure = self.structure(value, here).and_then(|found| match found {
                Some(found) => Ok(Some(found)),
                None => self.record(name, value, here),
            });
            match structure {
                Ok(Some(found)) => {
                    structures.insert(name.to_owned(), found);
                    continue;
                }
                Ok(None) => {}
                Err(error) => {
                    failed = Some(error);
                    continue;
                }
            }
            match self.descriptor(value, here) {
                Ok(found) => {
                    containers.insert(name.to_owned(), found);
                }
                Err(error) => failed = Some(error),
            }
        }
        let (mut symbols, mut callbacks) = (IndexMap::new(), BTreeSet::new());
        for (name, value) in attributes.pairs("symbols")? {
            // Calls of it have its signature.
            if value.get("type").and_then(Value::as_text) == Some("callback") {
                callbacks.insert(name.to_owned());
                continue;
            }
            match self.dtype(value, &place.at("symbols").at(name)) {
                Ok(found) => {
                    symbols.insert(name.to_owned(), found);
                }
                Err(error) => failed = Some(error),
            }
        }
        let mut arg_names = Vec::new();
        for (at, value) in attributes.optional_list("arg_names")?.iter().enumerate() {
            let name = value.as_text().ok_or_else(|| {
                self.log.error(Code::Malformed, &place.entry("arg_names", at), "expected a text")
            })?;
            arg_names.push(name.to_owned());
        }
        let constants = self.constants(&attributes, &place)?;
        // DaCe leaves it to the options of the C++ compiler; the writer of this project notes it.
        let mode = attributes.optional_text("_meta_float_mode")?;
        let float_mode =
            FloatMode::ALL.into_iter().find(|found| Some(found.name()) == mode).unwrap_or_default();
        let is_taken = |name: &str| containers.contains_key(name) || symbols.contains_key(name);
        let is_root = self.structures.borrow().is_empty();
        self.structures.borrow_mut().push(Structures::new(structures, is_taken));
        let starts = if is_root { start::assignments(&attributes) } else { None };
        let globals = self.foreign_code(&attributes, &place, starts.is_some());
        let starts = starts.unwrap_or_default().into_iter().filter(|(name, _)| symbols.contains_key(name));
        let initial = starts.filter_map(|(name, value)| {
            let found = self.start_value(&name, &value, &place.at("init_code")).transpose()?;
            Some(found.map(|value| (name, value)))
        });
        let initial: Result<Vec<_>, Failed> = initial.collect();
        let body = self.region(&object, &place);
        let structures = self.structures.borrow_mut().pop().unwrap_or_default();
        attributes.ignore(&ANYWHERE);
        attributes.ignore(&KNOWN);
        attributes.finish();
        if let Some(error) = failed {
            return Err(error);
        }
        Ok(Program {
            name,
            float_mode,
            arg_names,
            constants,
            containers,
            structures,
            symbols,
            callbacks,
            initial: initial?,
            body: body?,
            globals: globals?,
            known: Assumptions::new(),
        })
    }

    /// Text in other languages that would go to the begin or end of the generated file. The answer is what tasklets in C++
    /// may need, with its place. `starts_symbols` states that [`start`] read the code before the program.
    fn foreign_code(
        &self,
        attributes: &Object<'_>,
        place: &Place<'_>,
        starts_symbols: bool,
    ) -> Result<Vec<(String, String)>, Failed> {
        let (mut result, mut globals) = (Ok(()), Vec::new());
        for property in ["global_code", "init_code", "exit_code"] {
            // The code sets symbols alone, which was read already.
            if starts_symbols && property != "exit_code" {
                continue;
            }
            for (target, value) in attributes.pairs(property)? {
                let text = value.get("string_data").and_then(Value::as_text).unwrap_or_default();
                let says_something = |line: &&str| {
                    let line = line.trim();
                    !line.is_empty() && !line.starts_with("//") && !line.starts_with("#include")
                };
                let section = place.at(property);
                let here = section.at(target);
                if self.allow_external && property == "global_code" && target == "frame" {
                    globals.push((here.to_string(), text.to_owned()));
                } else if let Some(line) = text.lines().find(says_something) {
                    let only = match (property, target) {
                        ("global_code", "frame") => "compiled only if you allow it (`--allow-external`)",
                        _ => "not supported",
                    };
                    let message = format!("C++ code of the whole program is {only}: `{}`", line.trim());
                    result = Err(self.log.error(Code::ForeignCode, &here, message));
                } else if !text.trim().is_empty() {
                    self.log.note(Code::PropertyIgnored, &here, "includes and comments are not honoured");
                }
            }
        }
        // Which function of Python each is, callers say.
        attributes.ignore(&["callback_mapping"]);
        for property in ["_pgrids", "_subarrays", "_rdistrarrays"] {
            if !attributes.get(property).is_none_or(Value::is_empty) {
                let message = "distributed containers are not supported";
                result = Err(self.log.error(Code::Descriptor, &place.at(property), message));
            }
        }
        result.map(|()| globals)
    }

    fn constants(
        &self,
        attributes: &Object<'_>,
        place: &Place<'_>,
    ) -> Result<IndexMap<String, Constant>, Failed> {
        let mut constants = IndexMap::new();
        for (name, value) in attributes.pairs("constants_prop")? {
            let list = place.at("constants_prop");
            let here = list.at(name);
            let Some([descriptor, value]) = value.as_list().and_then(List::exactly) else {
                let message = "expected a descriptor and a value";
                return Err(self.log.error(Code::Malformed, &here, message));
            };
            let descriptor = self.descriptor(descriptor, here)?;
            let lane = descriptor.dtype.element.lane();
            let data = value.get("data").unwrap_or(value);
            let mut values = Vec::new();
            if !flatten(data, lane, &mut values) {
                return Err(self.log.error(Code::Malformed, &here, "the value holds what is no number"));
            }
            let expected: sdfg::symbolic::Expr = descriptor.shape.iter().cloned().product();
            if expected.as_int() != i64::try_from(values.len()).ok() {
                let message = format!("the shape has {expected} elements, the value {}", values.len());
                return Err(self.log.error(Code::Malformed, &here, message));
            }
            constants.insert(name.to_owned(), Constant { descriptor, values });
        }
        Ok(constants)
    }
}

/// The numbers of nested lists in row-major order; `false` if there is anything else.
fn flatten(value: Value<'_>, lane: ScalarType, found: &mut Vec<Number>) -> bool {
    let number = |value: Value<'_>| match value {
        Value::Bool(value) => Some(f64::from(u8::from(value))),
        Value::Integer(value) => Some(value as f64),
        Value::Float(value) => Some(value),
        Value::Text(text) => text.parse().ok(),
        Value::Null | Value::List(_) | Value::Object(_) => None,
    };
    match value {
        Value::List(list) => list.iter().all(|value| flatten(value, lane, found)),
        Value::Object(parts) => {
            match (parts.get("real").and_then(number), parts.get("imag").and_then(number)) {
                (Some(re), Some(im)) => {
                    found.push(cast(Number::Complex128(Complex::new(re, im)), lane));
                    true
                }
                _ => false,
            }
        }
        Value::Integer(value) => {
            found.push(cast(Number::I64(value), lane));
            true
        }
        other => match number(other) {
            Some(value) => {
                found.push(cast(Number::F64(value), lane));
                true
            }
            None => false,
        },
    }
}
