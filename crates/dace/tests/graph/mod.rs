//! Small graphs in the form of DaCe's files, as data, and their execution.

use sdfg::interpret::{Arguments, Interpreter, Options};
use sdfg::ir::Sdfg;
use sdfg::symbolic::Expr;
use sdfg::tasklet::arith::cast;
use sdfg::tensor::Tensor;
use sdfg::validate::validate;
use sdfg::value::Value;
use serde_json::{Map, Value as Json, json};

/// A graph with states that follow each other, of which the last is being made.
pub(crate) struct Graph {
    containers: Map<String, Json>,
    states: Vec<Json>,
    nodes: Vec<Json>,
    edges: Vec<Json>,
}

impl Graph {
    pub(crate) fn new() -> Self {
        Graph { containers: Map::new(), states: Vec::new(), nodes: Vec::new(), edges: Vec::new() }
    }

    pub(crate) fn with(mut self, name: &str, container: Json) -> Self {
        self.containers.insert(name.to_owned(), container);
        self
    }

    pub(crate) fn array(self, name: &str, dtype: &str, shape: &[&str]) -> Self {
        self.with(name, json!({"type": "Array", "attributes": {"dtype": dtype, "shape": shape}}))
    }

    pub(crate) fn nodes(self, nodes: Vec<Json>) -> Self {
        Graph { nodes, ..self }
    }

    pub(crate) fn edges(self, edges: Vec<Json>) -> Self {
        Graph { edges, ..self }
    }

    /// Changes the state that is being made.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut Vec<Json>, &mut Vec<Json>)) {
        change(&mut self.nodes, &mut self.edges);
    }

    /// Begins the next state.
    pub(crate) fn next(mut self) -> Self {
        self.states.push(self.state());
        Graph { nodes: Vec::new(), edges: Vec::new(), ..self }
    }

    fn state(&self) -> Json {
        let id = self.states.len();
        json!({
            "type": "SDFGState", "label": format!("s{id}"), "id": id, "attributes": {},
            "nodes": self.nodes, "edges": self.edges,
        })
    }

    pub(crate) fn document(&self) -> Json {
        let states: Vec<Json> = self.states.iter().cloned().chain([self.state()]).collect();
        let follows = |at: usize| {
            json!({"type": "Edge", "src": (at - 1).to_string(), "dst": at.to_string(),
                "attributes": {"data": {"type": "InterstateEdge", "attributes": {}}}})
        };
        json!({
            "type": "SDFG", "start_block": 0, "dace_version": "1.0.2",
            "attributes": {"name": "graph", "_arrays": self.containers},
            "nodes": states,
            "edges": (1..states.len()).map(follows).collect::<Vec<_>>(),
        })
    }

    /// The numbers of an argument after a run with these numbers in arguments; the same after the graph was written and
    /// read again, if it can be written.
    pub(crate) fn run(&self, inputs: &[(&str, &[f64])], output: &str) -> Vec<f64> {
        let sdfg = read(self.document().to_string().as_bytes());
        let found = run(&sdfg, inputs, output);
        if let Ok(bytes) = sdfg_dace::write(&sdfg, sdfg_dace::Form::Plain) {
            assert_eq!(run(&read(&bytes), inputs, output), found, "after it was written");
        }
        found
    }
}

pub(crate) fn read(bytes: &[u8]) -> Sdfg {
    let import = sdfg_dace::read(bytes, &sdfg_dace::Options::default());
    import.unwrap_or_else(|refused| panic!("{}", refused.report)).sdfg
}

pub(crate) fn run(sdfg: &Sdfg, inputs: &[(&str, &[f64])], output: &str) -> Vec<f64> {
    let program = validate(sdfg.clone()).unwrap_or_else(|rejected| panic!("{rejected}"));
    let mut arguments = Arguments::new();
    for (name, numbers) in inputs {
        let container = program.sdfg().container(program.sdfg().find_container(name).unwrap());
        let lane = container.element.lane();
        let mut bytes = vec![0; numbers.len() * lane.size()];
        for (number, place) in numbers.iter().zip(bytes.chunks_mut(lane.size())) {
            cast(Value::F64(*number), lane).write(place);
        }
        // An extent that is a symbol is that of the only dimension, which gives the symbol its value.
        let extent = |extent: &Expr| extent.as_int().unwrap_or(numbers.len() as i64);
        let shape = container.shape().iter().map(extent).collect();
        arguments.set(*name, Tensor::from_bytes(container.element, shape, bytes).unwrap());
    }
    let result = Interpreter::new(&program).unwrap().run(&mut arguments, &Options::default());
    result.unwrap_or_else(|error| panic!("{error}"));
    let as_float = |value| match cast(value, sdfg::dtype::ScalarType::F64) {
        Value::F64(number) => number,
        other => panic!("{other:?}"),
    };
    arguments.get(output).unwrap().values().map(as_float).collect()
}

/// Makes a transition assign values to symbols.
pub(crate) fn assign(document: &mut Json, transition: usize, values: Json) {
    document["edges"][transition]["attributes"]["data"]["attributes"]["assignments"] = values;
}

pub(crate) fn scalar(dtype: &str) -> Json {
    json!({"type": "Scalar", "attributes": {"dtype": dtype}})
}

pub(crate) fn stream(dtype: &str) -> Json {
    json!({"type": "Stream", "attributes": {"dtype": dtype, "shape": ["1"], "transient": true}})
}

pub(crate) fn vector(dtype: &str, lanes: u16) -> Json {
    json!({"type": "vector", "dtype": dtype, "elements": lanes.to_string()})
}

pub(crate) fn access(name: &str) -> Json {
    json!({"type": "AccessNode", "label": name, "attributes": {"data": name}})
}

fn connectors(names: &[&str]) -> Json {
    names.iter().map(|name| ((*name).to_owned(), Json::Null)).collect::<Map<_, _>>().into()
}

pub(crate) fn tasklet(code: &str, inputs: &[&str], outputs: &[&str]) -> Json {
    json!({"type": "Tasklet", "label": "t", "attributes": {
        "code": {"string_data": code, "language": "Python"},
        "in_connectors": connectors(inputs), "out_connectors": connectors(outputs)}})
}

/// The end of the map whose entry is this node.
pub(crate) fn end_of(entry: &str) -> Json {
    json!({"type": "MapExit", "label": "m", "attributes": {}, "scope_entry": entry})
}

pub(crate) fn nested(sdfg: Json, mapping: Json, inputs: &[&str], outputs: &[&str]) -> Json {
    json!({"type": "NestedSDFG", "label": "n", "attributes": {
        "sdfg": sdfg, "symbol_mapping": mapping,
        "in_connectors": connectors(inputs), "out_connectors": connectors(outputs)}})
}

/// The ranges of a text such as `0:3:2; i:i`, whose ends belong to them.
fn ranges(text: &str) -> Json {
    let ranges = text.split(';').map(|range| {
        let parts: Vec<&str> = range.split(':').map(str::trim).collect();
        json!({"start": parts[0], "end": parts[1], "step": parts.get(2).unwrap_or(&"1"), "tile": "1"})
    });
    json!({"type": "Range", "ranges": ranges.collect::<Vec<_>>()})
}

/// The begin of a map with one parameter.
pub(crate) fn map(param: &str, range: &str) -> Json {
    json!({"type": "MapEntry", "label": "m", "attributes": {"params": [param], "range": ranges(range)}})
}

/// The begin of a consume scope with chunks of this many elements.
pub(crate) fn consume(chunk: &str) -> Json {
    json!({"type": "ConsumeEntry", "label": "c", "attributes": {
        "pe_index": "p", "num_pes": "1", "chunksize": chunk}})
}

pub(crate) fn memlet(data: &str, subset: &str, volume: &str) -> Json {
    json!({"data": data, "subset": ranges(subset), "volume": volume})
}

pub(crate) fn dynamic(mut memlet: Json) -> Json {
    memlet["dynamic"] = true.into();
    memlet
}

/// The memlet with the part of the other end.
pub(crate) fn to(mut memlet: Json, subset: &str) -> Json {
    memlet["other_subset"] = ranges(subset);
    memlet
}

pub(crate) fn resolved(mut memlet: Json, function: &str) -> Json {
    memlet["wcr"] = function.into();
    memlet
}

/// An edge; an empty text is no connector.
pub(crate) fn edge(src: usize, src_connector: &str, dst: usize, dst_connector: &str, memlet: Json) -> Json {
    let connector = |name: &str| if name.is_empty() { Json::Null } else { name.into() };
    json!({
        "type": "MultiConnectorEdge", "src": src.to_string(), "dst": dst.to_string(),
        "src_connector": connector(src_connector), "dst_connector": connector(dst_connector),
        "attributes": {"data": {"type": "Memlet", "attributes": memlet}},
    })
}
