//! Encodes states: nodes, edges and memlets.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use sdfg::ir::{OpenMpSchedule, Schedule};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::{Assumptions, Expr};

use super::descriptor::dtype;
use super::program::{Numbers, sdfg};
use super::{Attributes, library_module, number, object, python, string, text};
use crate::lower::paths::Paths;
use crate::model::{Dtype, Edge, Map, Memlet, Node, NodeKind, State};

use crate::wire::Json;

/// A state, with the number that it has among the blocks.
pub(super) fn state(
    state: &State,
    label: &str,
    at: usize,
    known: &Assumptions,
    numbers: &mut Numbers,
) -> Json {
    let scopes = Scopes::of(state);
    let nodes = state.nodes.iter().enumerate().map(|(at, found)| node(found, at, &scopes, known, numbers));
    let nodes = Json::List(nodes.collect());
    object([
        ("type", string("SDFGState")),
        ("label", string(label)),
        ("id", number(at)),
        ("collapsed", Json::Bool(false)),
        ("scope_dict", scopes.dictionary()),
        ("nodes", nodes),
        ("edges", Json::List(state.edges.iter().map(|found| edge(found, known)).collect())),
        ("attributes", object([])),
    ])
}

/// The scope of each node, which files store twice.
struct Scopes {
    /// The entry of the scope around each node; for an exit, its own.
    entries: Vec<Option<usize>>,
    exits: BTreeMap<usize, usize>,
}

impl Scopes {
    fn of(state: &State) -> Self {
        let paths = Paths::of(state);
        let (mut entries, mut exits) = (Vec::new(), BTreeMap::new());
        for (at, node) in state.nodes.iter().enumerate() {
            entries.push(match node.kind {
                NodeKind::MapExit(entry) | NodeKind::ConsumeExit(entry) => {
                    exits.insert(entry, at);
                    Some(entry)
                }
                NodeKind::Access { .. }
                | NodeKind::Tasklet { .. }
                | NodeKind::MapEntry(_)
                | NodeKind::ConsumeEntry(_)
                | NodeKind::Nested { .. }
                | NodeKind::Library { .. } => paths.scope_of(at),
            });
        }
        Scopes { entries, exits }
    }

    /// The nodes of each scope; those outside of all are at -1.
    fn dictionary(&self) -> Json {
        let mut found: IndexMap<String, Json> = IndexMap::from([("-1".to_owned(), Json::List(Vec::new()))]);
        for (at, entry) in self.entries.iter().enumerate() {
            let key = entry.map_or_else(|| "-1".to_owned(), |entry| entry.to_string());
            if let Json::List(list) = found.entry(key).or_insert_with(|| Json::List(Vec::new())) {
                list.push(number(at));
            }
        }
        Json::Object(found)
    }

    /// `scope_entry` and `scope_exit` of a node.
    fn ends(&self, at: usize) -> (Json, Json) {
        let id = |found: Option<usize>| found.map_or(Json::Null, string);
        let entry = self.entries.get(at).copied().flatten();
        // An entry names its own exit, every other node that of the scope around it.
        let exit = self.exits.get(&at).or_else(|| self.exits.get(&entry?)).copied();
        (id(entry), id(exit))
    }
}

fn node(node: &Node, at: usize, scopes: &Scopes, known: &Assumptions, numbers: &mut Numbers) -> Json {
    let mut attributes = Attributes::new();
    let mut classpath = None;
    let kind = match &node.kind {
        NodeKind::Access { data, setzero } => {
            attributes.set("data", string(data));
            attributes.set_if(*setzero, "setzero", || Json::Bool(true));
            "AccessNode"
        }
        NodeKind::Tasklet { code, is_pythonic, .. } => {
            attributes.set("code", python(code));
            attributes.set_if(*is_pythonic, "_meta_python", || Json::Bool(true));
            attributes.set("label", string(&node.label));
            "Tasklet"
        }
        NodeKind::MapEntry(found) => {
            map(found, &node.label, known, &mut attributes);
            "MapEntry"
        }
        NodeKind::MapExit(_) => "MapExit",
        NodeKind::ConsumeEntry(found) => {
            attributes.set("label", string(&node.label));
            attributes.set("pe_index", string(&found.element));
            attributes.set("num_pes", string(text(&found.elements, known)));
            attributes.set("chunksize", count(&found.chunk, known));
            attributes.set("condition", found.condition.as_ref().map_or(Json::Null, python));
            schedule(&found.schedule, &mut attributes);
            "ConsumeEntry"
        }
        NodeKind::ConsumeExit(_) => "ConsumeExit",
        NodeKind::Nested { program, mapping } => {
            attributes.set("label", string(&node.label));
            attributes.set("sdfg", sdfg(program, numbers));
            let mapping = mapping.iter().map(|(name, value)| (name.clone(), string(value)));
            attributes.set("symbol_mapping", Json::Object(mapping.collect()));
            "NestedSDFG"
        }
        NodeKind::Library { class, properties } => {
            attributes.set("name", string(&node.label));
            attributes.set("label", string(&node.label));
            for (name, value) in properties {
                attributes.set(name, value.clone());
            }
            classpath = library_module(class).map(|module| format!("{module}.{class}"));
            "LibraryNode"
        }
    };
    for (name, found) in [("in_connectors", &node.inputs), ("out_connectors", &node.outputs)] {
        attributes.set_if(!found.is_empty(), name, || connectors(found));
    }
    let (entry, exit) = scopes.ends(at);
    let mut found = object([
        ("type", string(kind)),
        ("label", string(&node.label)),
        ("attributes", attributes.json()),
        ("id", number(at)),
        ("scope_entry", entry),
        ("scope_exit", exit),
    ]);
    if let (Json::Object(entries), Some(classpath)) = (&mut found, classpath) {
        entries.insert("classpath".to_owned(), string(classpath));
    }
    found
}

fn connectors(found: &IndexMap<String, Option<Dtype>>) -> Json {
    let pairs = found.iter().map(|(name, ty)| (name.clone(), ty.as_ref().map_or(Json::Null, dtype)));
    Json::Object(pairs.collect())
}

fn map(map: &Map, label: &str, known: &Assumptions, attributes: &mut Attributes) {
    attributes.set("label", string(label));
    attributes.set("params", Json::List(map.params.iter().map(string).collect()));
    attributes.set("range", subset(&map.ranges, known));
    schedule(&map.schedule, attributes);
    let found = map.schedule.attributes();
    if let Some(collapse) = found.collapse {
        attributes.set("collapse", Json::Integer(collapse.into()));
    }
    let sharing = match found.sharing {
        None | Some(OpenMpSchedule::Static) => None,
        Some(OpenMpSchedule::Dynamic) => Some("Dynamic"),
        Some(OpenMpSchedule::Guided) => Some("Guided"),
    };
    if let Some(sharing) = sharing {
        attributes.set("omp_schedule", string(sharing));
    }
    for (name, value) in [("omp_chunk_size", &found.chunk), ("omp_num_threads", &found.threads)] {
        if let Some(value) = value {
            attributes.set(name, count(value, known));
        }
    }
    if let Some(extents) = &found.block {
        let extents = extents.iter().map(|extent| count(extent, known));
        attributes.set("gpu_block_size", Json::List(extents.collect()));
    }
}

/// A number where DaCe has one, else a text.
fn count(value: &Expr, known: &Assumptions) -> Json {
    value.as_int().map_or_else(|| string(text(value, known)), Json::Integer)
}

fn schedule(schedule: &Schedule, attributes: &mut Attributes) {
    let name = match schedule {
        Schedule::Sequential => Some("Sequential"),
        Schedule::CpuMulticore(_) => Some("CPU_Multicore"),
        Schedule::GpuGrid(_) => Some("GPU_Device"),
        Schedule::GpuBlock(_) => Some("GPU_ThreadBlock"),
        Schedule::Unrolled => Some("Unrolled"),
        Schedule::Mpi => Some("MPI"),
        Schedule::Default(_) | Schedule::Simd | Schedule::FpgaDevice | Schedule::FpgaReplicated => None,
    };
    if let Some(name) = name {
        attributes.set("schedule", string(name));
    }
}

fn edge(edge: &Edge, known: &Assumptions) -> Json {
    let connector = |name: &Option<String>| name.as_ref().map_or(Json::Null, string);
    object([
        ("type", string("MultiConnectorEdge")),
        ("attributes", object([("data", memlet(&edge.memlet, known))])),
        ("src", string(edge.src)),
        ("dst", string(edge.dst)),
        ("dst_connector", connector(&edge.dst_connector)),
        ("src_connector", connector(&edge.src_connector)),
    ])
}

fn memlet(memlet: &Memlet, known: &Assumptions) -> Json {
    let mut attributes = Attributes::new();
    attributes.set(
        "volume",
        string(memlet.volume.as_ref().map_or_else(|| "0".to_owned(), |found| text(found, known))),
    );
    attributes.set_if(memlet.dynamic, "dynamic", || Json::Bool(true));
    if let Some(found) = &memlet.subset {
        attributes.set("subset", subset(found, known));
    }
    if let Some(found) = &memlet.other_subset {
        attributes.set("other_subset", subset(found, known));
    }
    if let Some(data) = &memlet.data {
        attributes.set("data", string(data));
    }
    if let Some(function) = &memlet.resolution {
        attributes.set("wcr", string(format!("({function})")));
    }
    attributes.set("is_data_src", memlet.is_data_src.map_or(Json::Null, Json::Bool));
    object([("type", string("Memlet")), ("attributes", attributes.json())])
}

fn subset(found: &Subset, known: &Assumptions) -> Json {
    let ranges = Json::List(found.0.iter().map(|found| range(found, known)).collect());
    object([("type", string("Range")), ("ranges", ranges)])
}

/// A range, whose end is inclusive in files.
fn range(range: &Range, known: &Assumptions) -> Json {
    let descends = range.step.as_int().is_some_and(|step| step < 0);
    let last = if descends { &range.end + Expr::one() } else { &range.end - Expr::one() };
    object([
        ("start", string(text(&range.begin, known))),
        ("end", string(text(&last, known))),
        ("step", string(text(&range.step, known))),
        ("tile", string(text(&range.tile, known))),
    ])
}
