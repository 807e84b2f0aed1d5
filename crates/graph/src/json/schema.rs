//! The wire schema. Existing files use these names: fields and variants are only added, and then with a
//! default.
//!
//! Expressions, ranges and code are texts of the shared grammar. Containers are referred to by name, nodes
//! and blocks by their position in their list.

use serde::{Deserialize, Serialize};

/// Members that identify a document, whatever else it contains.
#[derive(Deserialize)]
pub(super) struct Header {
    pub(super) format: Option<String>,
    pub(super) version: Option<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Document {
    pub(super) format: String,
    pub(super) version: u64,
    pub(super) sdfg: Sdfg,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sdfg {
    pub(super) name: String,
    pub(super) float_mode: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) symbols: Vec<SymbolDeclaration>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) containers: Vec<Container>,
    pub(super) body: Region,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SymbolDeclaration {
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) ty: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Container {
    pub(super) name: String,
    pub(super) element: String,
    pub(super) kind: ContainerKind,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) transient: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) storage: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) lifetime: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) distribution: Option<Distribution>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) constant: Option<Vec<String>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ContainerKind {
    Scalar,
    Array(Layout),
    Stream(Stream),
    View(Layout),
    Reference(Layout),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Layout {
    pub(super) shape: Vec<String>,
    pub(super) strides: Vec<String>,
    pub(super) offset: String,
    pub(super) total_size: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stream {
    pub(super) shape: Vec<String>,
    /// Unbounded if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) capacity: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Distribution {
    Local,
    Block { grid: Vec<String> },
    Grid { grid: Vec<String>, cuts: Vec<Option<Cut>> },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cut {
    pub(super) along: usize,
    pub(super) parts: Parts,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) halo: Option<[String; 2]>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Parts {
    Equal,
    Balanced,
    Within([String; 2]),
    Starts(Vec<String>),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Region {
    pub(super) blocks: Vec<Block>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) transitions: Vec<Transition>,
    /// The first block if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) start: Option<usize>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Transition {
    pub(super) from: usize,
    pub(super) to: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) condition: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) assignments: Vec<Assignment>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Assignment {
    pub(super) symbol: String,
    pub(super) value: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Block {
    pub(super) label: String,
    pub(super) kind: BlockKind,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum BlockKind {
    State(State),
    Loop(Box<Loop>),
    Branch(Branch),
    Break,
    Continue,
    Return,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Loop {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) symbol: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) init: Option<String>,
    pub(super) condition: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) update: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) test_after: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) unroll: bool,
    pub(super) body: Region,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Branch {
    pub(super) arms: Vec<Arm>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) otherwise: Option<Region>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Arm {
    pub(super) condition: String,
    pub(super) body: Region,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct State {
    pub(super) nodes: Vec<Node>,
    pub(super) edges: Vec<Edge>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Node {
    pub(super) label: String,
    pub(super) kind: NodeKind,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum NodeKind {
    Access { container: String },
    Tasklet(Tasklet),
    MapEntry(Map),
    MapExit(ScopeExit),
    ConsumeEntry(Consume),
    ConsumeExit(ScopeExit),
    Nested(Box<Nested>),
    Reduce(Reduce),
    Library(Library),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScopeExit {
    /// Position of the entry among the nodes.
    pub(super) entry: usize,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Connector {
    pub(super) name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) element: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tasklet {
    pub(super) inputs: Vec<Connector>,
    pub(super) outputs: Vec<Connector>,
    pub(super) body: TaskletBody,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TaskletBody {
    Code(Code),
    External(External),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Code {
    pub(super) source: String,
    pub(super) dialect: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct External {
    pub(super) symbol: String,
    pub(super) arguments: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) result: Option<String>,
    pub(super) origin: Origin,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Origin {
    Library(String),
    File(String),
    Source(String),
    Cpp(String),
    Callback,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Map {
    pub(super) params: Vec<String>,
    pub(super) ranges: Vec<String>,
    pub(super) execution: Execution,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Consume {
    pub(super) element: String,
    pub(super) elements: String,
    pub(super) chunk: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) condition: Option<String>,
    pub(super) execution: Execution,
}

/// The schedule of a scope and the attributes that belong to it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Execution {
    pub(super) schedule: String,
    /// Always present in version 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) sharing: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) chunk: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) threads: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) collapse: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) nested: Option<String>,
    /// Absent in version 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) block: Option<Vec<String>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nested {
    pub(super) inputs: Vec<Connector>,
    pub(super) outputs: Vec<Connector>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) symbol_mapping: Vec<Assignment>,
    pub(super) sdfg: Sdfg,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reduce {
    /// All axes if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) axes: Option<Vec<usize>>,
    pub(super) resolution: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) identity: Option<String>,
    pub(super) schedule: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Library {
    pub(super) operation: String,
    pub(super) inputs: Vec<Connector>,
    pub(super) outputs: Vec<Connector>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) properties: Vec<Property>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expansion: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Property {
    pub(super) name: String,
    pub(super) value: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Edge {
    pub(super) from: EdgeEnd,
    pub(super) to: EdgeEnd,
    pub(super) memlet: Memlet,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EdgeEnd {
    /// Position among the nodes of the state.
    pub(super) node: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) connector: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Memlet {
    pub(super) flow: Flow,
    pub(super) volume: Volume,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) declared: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Flow {
    Order,
    Read {
        from: Access,
    },
    Write {
        to: Access,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resolution: Option<String>,
    },
    Copy {
        from: Access,
        to: Access,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resolution: Option<String>,
    },
    Value,
    Bind {
        to: Access,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Access {
    pub(super) container: String,
    /// One range for each dimension.
    pub(super) subset: Vec<String>,
    /// Whether the subset tells queues and not elements.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) queues: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Volume {
    Exact(String),
    AtMost(String),
    Dynamic,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands references to such functions")]
fn is_false(value: &bool) -> bool {
    !value
}
