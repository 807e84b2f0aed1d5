//! Problem files: JSON, plain or compressed with gzip, distinguished by content.
//!
//! `{"model", "procs", "batch", "vertices": [{"name", "op", "domain", "configs", "costs"}], "edges": [{"source", "target", "costs": [[row per source configuration]]}]}`.
//! Unknown members are ignored.

use std::borrow::Cow;
use std::fmt;
use std::io::{BufReader, Read, Write};

use flate2::bufread::MultiGzDecoder;

use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde::ser::{SerializeSeq, Serializer};
use serde::{Deserialize, Serialize};

use super::error::ReadError;
use super::problem::{Edge, End, Operations, Problem};
use super::tabulated::{Costs, Operation, Tabulated};

/// The first bytes of a gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];

#[derive(Serialize, Deserialize)]
struct Graph<'g> {
    #[serde(default)]
    model: Cow<'g, str>,
    procs: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    batch: Option<u64>,
    vertices: Vec<Vertex<'g>>,
    edges: Vec<TabulatedEdge<'g>>,
}

#[derive(Serialize, Deserialize)]
struct Vertex<'g> {
    name: Cow<'g, str>,
    #[serde(default)]
    op: Cow<'g, str>,
    domain: Cow<'g, [u64]>,
    configs: Cow<'g, [Vec<u32>]>,
    costs: Cow<'g, [f64]>,
}

#[derive(Serialize, Deserialize)]
struct TabulatedEdge<'g> {
    source: usize,
    target: usize,
    costs: Rows<'g>,
}

/// The costs of an edge: read into one array, written from a problem.
enum Rows<'g> {
    Read(Costs),
    Written { problem: &'g Tabulated, edge: usize },
}

impl Tabulated {
    /// Reads a problem from JSON, which may be compressed with gzip.
    ///
    /// # Errors
    /// If it cannot be read, is not of this format, or makes no sense.
    pub fn read(mut input: impl Read) -> Result<Self, ReadError> {
        let mut start = Vec::new();
        input.by_ref().take(GZIP.len() as u64).read_to_end(&mut start)?;
        let is_compressed = start == GZIP;
        let input = std::io::Cursor::new(start).chain(input);
        let text: Box<dyn Read + '_> = if is_compressed {
            Box::new(MultiGzDecoder::new(BufReader::new(input)))
        } else {
            Box::new(input)
        };
        // The text is several times as large as the costs, so it is never in memory as a whole. The buffer is in front of
        // everything, because the parser takes single bytes.
        let graph: Result<Graph<'_>, _> = serde_json::from_reader(BufReader::with_capacity(1 << 16, text));
        let graph =
            graph.map_err(|error| if error.is_io() { ReadError::Io(error.into()) } else { error.into() })?;
        let operations = graph.vertices.into_iter().map(Vertex::into_operation).collect();
        let edges = graph.edges.into_iter().map(TabulatedEdge::into_edge).collect();
        let mut problem = Tabulated::new(graph.procs, operations, edges)?;
        problem.model = graph.model.into_owned();
        problem.batch = graph.batch;
        Ok(problem)
    }

    /// Writes the problem as JSON. The same problem gives the same bytes.
    ///
    /// # Errors
    /// If the output refuses them.
    pub fn write(&self, output: impl Write) -> std::io::Result<()> {
        Ok(serde_json::to_writer(output, &self.graph())?)
    }

    /// Writes the problem as JSON, compressed with gzip. The same problem gives the same bytes.
    ///
    /// # Errors
    /// If the output refuses them.
    pub fn write_gzip(&self, output: impl Write) -> std::io::Result<()> {
        let mut encoder = flate2::write::GzEncoder::new(output, flate2::Compression::best());
        self.write(&mut encoder)?;
        encoder.finish().map(|_| ())
    }

    fn graph(&self) -> Graph<'_> {
        let vertex = |operation| Vertex::of(operation);
        let edge = |(index, edge): (usize, &Edge)| TabulatedEdge {
            source: edge.source,
            target: edge.target,
            costs: Rows::Written { problem: self, edge: index },
        };
        Graph {
            model: Cow::Borrowed(&self.model),
            procs: self.n_processors(),
            batch: self.batch,
            vertices: self.operations().iter().map(vertex).collect(),
            edges: self.edges().iter().enumerate().map(edge).collect(),
        }
    }
}

impl<'g> Vertex<'g> {
    fn of(operation: &'g Operation) -> Self {
        Vertex {
            name: Cow::Borrowed(&operation.name),
            op: Cow::Borrowed(&operation.kind),
            domain: Cow::Borrowed(&operation.domain),
            configs: Cow::Borrowed(&operation.configurations),
            costs: Cow::Borrowed(&operation.costs),
        }
    }

    fn into_operation(self) -> Operation {
        Operation {
            name: self.name.into_owned(),
            kind: self.op.into_owned(),
            domain: self.domain.into_owned(),
            configurations: self.configs.into_owned(),
            costs: self.costs.into_owned(),
        }
    }
}

impl TabulatedEdge<'_> {
    fn into_edge(self) -> (Edge, Costs) {
        let costs = match self.costs {
            Rows::Read(costs) => costs,
            Rows::Written { problem, edge } => rows_of(problem, edge),
        };
        (Edge { source: self.source, target: self.target }, costs)
    }
}

/// The costs of an edge by configurations.
fn rows_of(problem: &Tabulated, edge: usize) -> Costs {
    let Edge { source, target } = problem.edges()[edge];
    let layout = |end, configuration| problem.layouts(edge, end).of(configuration);
    Costs::from_fn(problem.n_configurations(source), problem.n_configurations(target), |row, column| {
        problem.edge_cost(edge, layout(End::Source, row), layout(End::Target, column))
    })
}

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let owned;
        let costs = match self {
            Rows::Read(costs) => costs,
            Rows::Written { problem, edge } => {
                owned = rows_of(problem, *edge);
                &owned
            }
        };
        let mut rows = serializer.serialize_seq(Some(costs.row_ends.len()))?;
        let mut start = 0;
        for &end in &costs.row_ends {
            rows.serialize_element(&costs.values[start..end])?;
            start = end;
        }
        rows.end()
    }
}

impl<'de> Deserialize<'de> for Rows<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(AllRows).map(Rows::Read)
    }
}

/// Reads a list of rows.
struct AllRows;

impl<'de> Visitor<'de> for AllRows {
    type Value = Costs;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of rows of costs")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<Costs, A::Error> {
        let mut costs = Costs::default();
        while rows.next_element_seed(OneRow(&mut costs.values))?.is_some() {
            costs.row_ends.push(costs.values.len());
        }
        Ok(costs)
    }
}

/// Appends a row to the values, without an array of its own.
struct OneRow<'v>(&'v mut Vec<f64>);

impl<'de> DeserializeSeed<'de> for OneRow<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for OneRow<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a row of costs")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut row: A) -> Result<(), A::Error> {
        while let Some(cost) = row.next_element()? {
            self.0.push(cost);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
