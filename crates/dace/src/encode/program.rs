//! Encodes one SDFG with its states and the edges between them.

use sdfg::ir::FloatMode;
use sdfg::symbolic::Assumptions;

use super::dataflow::state;
use super::descriptor::{constant, descriptor, dtype};
use super::{Attributes, number, object, python, string};
use crate::model::{BlockKind, InterstateEdge, Program, Region};
use crate::wire::Json;

/// Counts SDFGs, which have numbers in files.
pub(super) struct Numbers(usize);

impl Numbers {
    fn next(&mut self) -> Json {
        let own = self.0;
        self.0 += 1;
        number(own)
    }
}

/// A whole file.
pub(crate) fn document(program: &Program) -> Json {
    let mut root = sdfg(program, &mut Numbers(0));
    if let Json::Object(entries) = &mut root {
        entries.insert("dace_version".to_owned(), string("1.0.2"));
    }
    root
}

/// An SDFG, the root or one that is called.
pub(super) fn sdfg(program: &Program, numbers: &mut Numbers) -> Json {
    let own = numbers.next();
    let known = &program.known;
    let mut attributes = Attributes::new();
    attributes.set("name", string(&program.name));
    let is_chosen = program.float_mode != FloatMode::default();
    attributes.set_if(is_chosen, "_meta_float_mode", || string(program.float_mode.name()));
    let has = |list: &[String]| !list.is_empty();
    attributes.set_if(has(&program.arg_names), "arg_names", || {
        Json::List(program.arg_names.iter().map(string).collect())
    });
    attributes.set_if(!program.constants.is_empty(), "constants_prop", || {
        Json::Object(
            program.constants.iter().map(|(name, found)| (name.clone(), constant(found, known))).collect(),
        )
    });
    let containers = program.containers.iter().map(|(name, found)| (name.clone(), descriptor(found, known)));
    attributes.set("_arrays", Json::Object(containers.collect()));
    let symbols = program.symbols.iter().map(|(name, ty)| (name.clone(), dtype(ty)));
    attributes.set("symbols", Json::Object(symbols.collect()));
    for text in ["global_code", "init_code", "exit_code"] {
        let empty = object([("string_data", string("")), ("language", string("CPP"))]);
        attributes.set(text, object([("frame", empty)]));
    }
    let (nodes, edges) = region(&program.body, known, numbers);
    object([
        ("type", string("SDFG")),
        ("attributes", attributes.json()),
        ("nodes", nodes),
        ("edges", edges),
        ("collapsed", Json::Bool(false)),
        ("label", string("")),
        ("id", Json::Null),
        ("cfg_list_id", own),
        ("start_block", program.body.start.map_or(Json::Null, number)),
    ])
}

/// The states of a region and the edges between them. Programs are lifted with states only.
fn region(region: &Region, known: &Assumptions, numbers: &mut Numbers) -> (Json, Json) {
    let mut nodes = Vec::with_capacity(region.blocks.len());
    for (at, block) in region.blocks.iter().enumerate() {
        match &block.kind {
            BlockKind::State(found) => nodes.push(state(found, &block.label, at, known, numbers)),
            BlockKind::Loop(_)
            | BlockKind::Conditional(_)
            | BlockKind::Group { .. }
            | BlockKind::Break
            | BlockKind::Continue
            | BlockKind::Return => {}
        }
    }
    (Json::List(nodes), Json::List(region.edges.iter().map(edge).collect()))
}

fn edge(edge: &InterstateEdge) -> Json {
    let mut attributes = Attributes::new();
    attributes.set_if(!edge.assignments.is_empty(), "assignments", || {
        let assignments = edge.assignments.iter();
        Json::Object(assignments.map(|(name, value)| (name.clone(), string(value))).collect())
    });
    if let Some(condition) = &edge.condition {
        attributes.set("condition", python(condition));
    }
    let data = object([("type", string("InterstateEdge")), ("attributes", attributes.json())]);
    object([
        ("type", string("Edge")),
        ("attributes", object([("data", data)])),
        ("src", string(edge.src)),
        ("dst", string(edge.dst)),
    ])
}
