//! Dataflow nodes of a state (paper section 3, Appendix A.1).

use std::collections::BTreeSet;

use sdfg_language::dtype::ElementType;
use sdfg_language::subset::Subset;
use sdfg_language::symbolic::{Expr, Symbol};
use sdfg_language::syntax::Expression;
use sdfg_language::tasklet::{Code, ExternalCall};

use super::ids::{ContainerId, NodeId};
use super::memlet::ConflictResolution;
use super::schedule::{Schedule, ScheduleKind};
use super::sdfg::Sdfg;
use super::source::SourceLoc;

/// A node of a state.
#[derive(Clone, Debug)]
pub struct Node {
    /// Name, unique in its state; a scope's entry and exit share the name of the scope.
    ///
    /// Transformations and chains find nodes again by it.
    pub label: String,
    /// Its kind.
    pub kind: NodeKind,
    /// Source location of its creation.
    pub loc: Option<SourceLoc>,
}

/// The kinds of nodes.
#[derive(Clone, Debug)]
pub enum NodeKind {
    /// A use of a container ("data" and "stream" nodes of the paper).
    ///
    /// Connectors: none. Text: `access a = A`.
    Access(ContainerId),
    /// Stateless computation on what its connectors bring.
    Tasklet(Tasklet),
    /// Begin of a map scope. Connectors: `IN_x`/`OUT_x` pairs, and names of symbols that get their value from data.
    MapEntry(Map),
    /// End of a map scope. Connectors: `IN_x`/`OUT_x` pairs.
    MapExit(ScopeExit),
    /// Begin of a consume scope. Connectors as for maps, and `IN_stream`/`OUT_stream` for the consumed stream.
    ConsumeEntry(Consume),
    /// End of a consume scope.
    ConsumeExit(ScopeExit),
    /// Call of another SDFG ("invoke" in the paper).
    Nested(Box<NestedSdfg>),
    /// Reduction over axes of its input.
    Reduce(Reduce),
    /// A named operation with one meaning and several expansions.
    Library(LibraryNode),
}

/// A typed end of edges at a code node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connector {
    /// Name, unique among the connectors of its node; an input and an output may share one.
    pub name: String,
    /// Element type; `None` takes it from the container at the other end.
    pub element: Option<ElementType>,
}

impl Connector {
    /// A connector that takes its type from the container at the other end.
    pub fn new(name: impl Into<String>) -> Self {
        Connector { name: name.into(), element: None }
    }
}

/// Stateless computation: code that reaches memory only through its connectors (paper section 3.2).
///
/// A connector is a *value* if its memlet is one element and a *pointer* otherwise; see `docs/semantics.md`.
#[derive(Clone, Debug, PartialEq)]
pub struct Tasklet {
    /// Input connectors, in order of declaration.
    pub inputs: Vec<Connector>,
    /// Output connectors, in order of declaration.
    pub outputs: Vec<Connector>,
    /// Its computation.
    pub body: TaskletBody,
}

impl Tasklet {
    /// The variables of its code: names that it assigns or declares, without those of outputs. Foreign functions have none.
    pub fn variables(&self) -> BTreeSet<&str> {
        let TaskletBody::Code(code) = &self.body else { return BTreeSet::new() };
        let mut names = code.names_assigned();
        for output in &self.outputs {
            names.remove(output.name.as_str());
        }
        names
    }
}

/// Computation of a tasklet.
#[derive(Clone, Debug, PartialEq)]
pub enum TaskletBody {
    /// Code in the tasklet language.
    Code(Code),
    /// A call of a C function.
    External(ExternalCall),
}

/// A parametric scope of concurrent iterations (paper section 3.3, "Map").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map {
    /// Iteration symbols, outermost first; visible in the scope only.
    pub params: Vec<Symbol>,
    /// One range for each parameter. A range may use earlier parameters.
    pub ranges: Subset,
    /// Schedule of the iterations.
    pub schedule: Schedule,
}

/// Dynamic processing of a stream by concurrent elements (paper section 3.3, "Consume").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consume {
    /// Symbol that tells the processing elements apart, from 0.
    pub element: Symbol,
    /// Number of processing elements.
    pub elements: Expr,
    /// Elements taken from the stream at a time.
    pub chunk: Expr,
    /// Processing stops when this holds; without it, when the stream is empty and every processing element waits.
    pub condition: Option<Expression>,
    /// Schedule of the processing elements.
    pub schedule: Schedule,
}

impl Consume {
    /// The name of the ports of the entry at which the consumed stream comes in, and which bring the element that was taken.
    pub const PORT: &'static str = "stream";
}

/// End of a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScopeExit {
    /// The node that begins the scope.
    pub entry: NodeId,
}

/// Call of another SDFG.
///
/// Each non-transient container of the called SDFG is bound to the connector of its name: inputs are readable, outputs
/// writable. A connector with the name of a free symbol gives it its value. All other free symbols are in
/// `symbol_mapping`, or keep the name they have outside.
#[derive(Clone, Debug)]
pub struct NestedSdfg {
    /// The called SDFG; owned, so that it can be transformed for this call alone.
    pub sdfg: Sdfg,
    /// Input connectors, in order of declaration.
    pub inputs: Vec<Connector>,
    /// Output connectors, in order of declaration.
    pub outputs: Vec<Connector>,
    /// Values of free symbols of the called SDFG, in terms of symbols outside.
    pub symbol_mapping: Vec<(Symbol, Expr)>,
}

/// Reduction over axes (paper section 3.3, "Reduce").
///
/// It has one incoming and one outgoing edge without connectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reduce {
    /// Axes of the input that are reduced, ascending; `None` is all.
    pub axes: Option<Vec<usize>>,
    /// Resolution that combines elements.
    pub resolution: ConflictResolution,
    /// Initial value of the output; `None` combines into the previous contents of the output.
    pub identity: Option<Expression>,
    /// Its schedule.
    pub schedule: ScheduleKind,
}

/// A named operation with one meaning and several expansions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryNode {
    /// The operation, as its registry names it.
    pub operation: String,
    /// Input connectors, in order of declaration.
    pub inputs: Vec<Connector>,
    /// Output connectors, in order of declaration.
    pub outputs: Vec<Connector>,
    /// Properties of the operation by name, in order of declaration. One called [`CODE`](LibraryNode::CODE)`NAME` is code that the operation
    /// runs, an assignment to `NAME`: it may use connectors, and the names that code before it gives values to.
    pub properties: Vec<(String, Expression)>,
    /// The expansion to use; `None` leaves it to the registry.
    pub expansion: Option<String>,
}

impl LibraryNode {
    /// Prefix of the names of code properties.
    pub const CODE: &str = "code_";

    /// The name that a property assigns to; `None` if it is no code.
    pub fn assigned(property: &str) -> Option<&str> {
        property.strip_prefix(Self::CODE).filter(|name| !name.is_empty())
    }

    /// Whether a name in code is that of a connector, or of a value that code computes, and so no symbol.
    pub fn binds(&self, name: &str) -> bool {
        self.inputs.iter().chain(&self.outputs).any(|connector| connector.name == name)
            || self.properties.iter().any(|(property, _)| Self::assigned(property) == Some(name))
    }
}

impl Map {
    /// A map with the default schedule.
    pub fn new(params: Vec<Symbol>, ranges: Subset) -> Self {
        Map { params, ranges, schedule: Schedule::default() }
    }
}

impl NodeKind {
    /// Whether this begins a scope.
    pub fn is_scope_entry(&self) -> bool {
        matches!(self, NodeKind::MapEntry(_) | NodeKind::ConsumeEntry(_))
    }

    /// Whether this begins a map whose iterations are distributed over ranks.
    pub fn is_map_over_ranks(&self) -> bool {
        matches!(self, NodeKind::MapEntry(map) if matches!(map.schedule, Schedule::Mpi))
    }

    /// The entry of the scope that this node ends.
    pub fn exit_of(&self) -> Option<NodeId> {
        match self {
            NodeKind::MapExit(exit) | NodeKind::ConsumeExit(exit) => Some(exit.entry),
            NodeKind::Access(_)
            | NodeKind::Tasklet(_)
            | NodeKind::MapEntry(_)
            | NodeKind::ConsumeEntry(_)
            | NodeKind::Nested(_)
            | NodeKind::Reduce(_)
            | NodeKind::Library(_) => None,
        }
    }

    /// The container of an access node.
    pub fn container(&self) -> Option<ContainerId> {
        if let NodeKind::Access(container) = self { Some(*container) } else { None }
    }

    /// Whether this node computes: a tasklet, nested SDFG, reduction or library node.
    pub fn is_code(&self) -> bool {
        match self {
            NodeKind::Tasklet(_) | NodeKind::Nested(_) | NodeKind::Reduce(_) | NodeKind::Library(_) => true,
            NodeKind::Access(_)
            | NodeKind::MapEntry(_)
            | NodeKind::MapExit(_)
            | NodeKind::ConsumeEntry(_)
            | NodeKind::ConsumeExit(_) => false,
        }
    }

    /// Declared input connectors of a code node; empty for others.
    pub fn inputs(&self) -> &[Connector] {
        match self {
            NodeKind::Tasklet(tasklet) => &tasklet.inputs,
            NodeKind::Nested(nested) => &nested.inputs,
            NodeKind::Library(library) => &library.inputs,
            NodeKind::Access(_)
            | NodeKind::MapEntry(_)
            | NodeKind::MapExit(_)
            | NodeKind::ConsumeEntry(_)
            | NodeKind::ConsumeExit(_)
            | NodeKind::Reduce(_) => &[],
        }
    }

    /// Declared output connectors of a code node; empty for others.
    pub fn outputs(&self) -> &[Connector] {
        match self {
            NodeKind::Tasklet(tasklet) => &tasklet.outputs,
            NodeKind::Nested(nested) => &nested.outputs,
            NodeKind::Library(library) => &library.outputs,
            NodeKind::Access(_)
            | NodeKind::MapEntry(_)
            | NodeKind::MapExit(_)
            | NodeKind::ConsumeEntry(_)
            | NodeKind::ConsumeExit(_)
            | NodeKind::Reduce(_) => &[],
        }
    }

    /// A noun for messages.
    pub const fn noun(&self) -> &'static str {
        match self {
            NodeKind::Access(_) => "access node",
            NodeKind::Tasklet(_) => "tasklet",
            NodeKind::MapEntry(_) => "map entry",
            NodeKind::MapExit(_) => "map exit",
            NodeKind::ConsumeEntry(_) => "consume entry",
            NodeKind::ConsumeExit(_) => "consume exit",
            NodeKind::Nested(_) => "nested SDFG",
            NodeKind::Reduce(_) => "reduce node",
            NodeKind::Library(_) => "library node",
        }
    }
}
