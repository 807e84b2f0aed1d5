//! The resolved form of a program: the same graph with slots instead of names.
//!
//! Every call of a nested SDFG has one caller node. Therefore the SDFGs of a program form a tree, and every
//! element has one fixed place. Execution follows the graph exactly: nothing is reordered, fused or omitted.

use sdfg_graph::ir::{ConflictResolution, LibraryNode, Lifetime};
use sdfg_language::dtype::{ElementType, ScalarType};
use sdfg_language::tasklet::{CompiledCode, ConnectorId, ExternalCall, SymbolId};
use sdfg_language::value::Value;

use super::index::{Index, RangeCode, SubsetCode};
use super::ranks::DistributionCode;
use super::shadow::{AccessKind, Point, Stamp};
use super::trap::Site;

/// An access in the text of a program: one end of one memlet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AccessId(pub(super) u32);

/// A whole program.
#[derive(Debug, Default)]
pub(super) struct Program {
    /// The outermost SDFG first.
    pub(super) procedures: Vec<Procedure>,
    pub(super) bodies: Vec<Body>,
    /// Code of tasklets, conditions, assignments and custom resolutions.
    pub(super) codes: Vec<CompiledCode>,
    /// Positions of the items of all bodies, by the number in [`Item::number`].
    pub(super) items: Vec<ItemPlace>,
    pub(super) accesses: Vec<AccessPlace>,
    /// Conflict resolutions without repetition.
    pub(super) resolutions: Vec<ResolutionCode>,
    /// Number of containers with lifetime `persistent`.
    pub(super) persistent: usize,
}

/// Position of an item.
#[derive(Debug)]
pub(super) struct ItemPlace {
    pub(super) body: usize,
    pub(super) index: usize,
    pub(super) site: Site,
}

/// Position of an access.
#[derive(Debug)]
pub(super) struct AccessPlace {
    /// The item that makes it; `None` for conditions and assignments between blocks.
    pub(super) item: Option<u32>,
    pub(super) kind: AccessKind,
    /// The container's name.
    pub(super) container: String,
    pub(super) site: Site,
    /// The memlet as text.
    pub(super) memlet: String,
    /// Bytes of one element.
    pub(super) size: u64,
}

/// One SDFG.
#[derive(Debug, Default)]
pub(super) struct Procedure {
    pub(super) name: String,
    /// Names and types of symbols by slot. Parameters of scopes have slots of their own.
    pub(super) symbols: Vec<(String, ScalarType)>,
    /// Slots with the names that a caller can give values.
    pub(super) globals: Vec<u32>,
    pub(super) containers: Vec<ContainerCode>,
    pub(super) regions: Vec<RegionCode>,
    pub(super) blocks: Vec<BlockCode>,
    /// Containers to allocate at every call.
    pub(super) allocate: Vec<usize>,
    /// The region that a call runs.
    pub(super) entry: usize,
    /// Number of registers: values that go from node to node.
    pub(super) registers: usize,
    /// Whether anything in it may wait for a stream.
    pub(super) waits_for_streams: bool,
    pub(super) site: Site,
}

#[derive(Debug)]
pub(super) struct ContainerCode {
    pub(super) name: String,
    pub(super) element: ElementType,
    pub(super) form: ContainerForm,
    pub(super) transient: bool,
    pub(super) lifetime: Lifetime,
    /// Its memory, unless it follows from the caller.
    pub(super) memory: Memory,
    pub(super) distribution: DistributionCode<Index>,
    /// Contents of a constant.
    pub(super) constant: Option<Vec<u8>>,
    /// Number among the persistent containers.
    pub(super) persistent: Option<usize>,
}

#[derive(Debug)]
pub(super) enum ContainerForm {
    Scalar,
    Array(LayoutCode),
    Stream { shape: Vec<Index>, capacity: Option<Index> },
    View(LayoutCode),
    Reference(LayoutCode),
}

#[derive(Debug)]
pub(super) struct LayoutCode {
    pub(super) shape: Vec<Index>,
    pub(super) strides: Vec<Index>,
    pub(super) offset: Index,
    pub(super) total_size: Index,
}

/// Processors that reach a memory, and the memories that a processor reaches: one bit for each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Memory(pub(super) u8);

impl Memory {
    pub(super) const HOST: Memory = Memory(1);
    pub(super) const GPU: Memory = Memory(2);
    pub(super) const FPGA: Memory = Memory(4);
    pub(super) const PINNED: Memory = Memory(3);
    pub(super) const ANY: Memory = Memory(7);

    pub(super) fn is_reached_by(self, device: Memory) -> bool {
        self.0 & device.0 != 0
    }
}

#[derive(Debug)]
pub(super) struct RegionCode {
    pub(super) start: Option<usize>,
}

#[derive(Debug)]
pub(super) struct BlockCode {
    pub(super) form: BlockForm,
    pub(super) transitions: Vec<TransitionCode>,
    pub(super) site: Site,
}

#[derive(Debug)]
pub(super) enum BlockForm {
    State { body: usize },
    Loop(Box<LoopCode>),
    Branch { arms: Vec<(ExpressionCode, usize)>, otherwise: Option<usize> },
    Break,
    Continue,
    Return,
}

#[derive(Debug)]
pub(super) struct LoopCode {
    pub(super) symbol: Option<u32>,
    pub(super) init: Option<ExpressionCode>,
    pub(super) condition: ExpressionCode,
    pub(super) update: Option<ExpressionCode>,
    pub(super) test_after: bool,
    pub(super) body: usize,
}

#[derive(Debug)]
pub(super) struct TransitionCode {
    pub(super) condition: Option<ExpressionCode>,
    pub(super) assignments: Vec<(u32, ExpressionCode)>,
    pub(super) target: usize,
}

/// An expression over symbols and containers.
#[derive(Debug)]
pub(super) struct ExpressionCode {
    /// Index into [`Program::codes`].
    pub(super) code: usize,
    pub(super) symbols: Vec<SymbolCode>,
    /// Containers that it reads.
    pub(super) reads: Vec<ContainerRead>,
    pub(super) site: Site,
}

/// A symbol that code names: its slot and its type there.
#[derive(Clone, Copy, Debug)]
pub(super) struct SymbolCode {
    pub(super) id: SymbolId,
    pub(super) slot: u32,
    pub(super) ty: ScalarType,
}

/// A container that an expression reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct ContainerRead {
    pub(super) id: ConnectorId,
    pub(super) container: usize,
    pub(super) access: AccessId,
    pub(super) element: ElementType,
    pub(super) form: ReadForm,
}

/// Access of an expression to a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadForm {
    /// The one element, before the code runs.
    Scalar,
    /// Elements that the code indexes.
    Elements,
    /// The lengths of queues.
    Lengths,
}

/// The dataflow of a state, or of one run of a scope.
#[derive(Debug, Default)]
pub(super) struct Body {
    /// In topological order, the smallest node first among those that are ready.
    pub(super) items: Vec<Item>,
    /// For each item, how many others it waits for.
    pub(super) waits: Vec<u32>,
    /// For each item, which others wait for it.
    pub(super) followers: Vec<Vec<u32>>,
    /// Bit `a * items + b`: a path leads from `a` to `b`.
    pub(super) reach: Vec<u64>,
    /// Containers that live as long as one run of the body.
    pub(super) allocate: Vec<usize>,
    /// Containers of the call whose size was not known when it began.
    pub(super) allocate_late: Vec<usize>,
    /// Views, in the order in which they are bound before the items run.
    pub(super) views: Vec<BindCode>,
    /// Whether an item may wait for a stream.
    pub(super) waits_for_streams: bool,
    /// Whether every item is done when it has been started: none waits, and none has items of its own.
    pub(super) is_plain: bool,
}

#[derive(Debug)]
pub(super) struct Item {
    pub(super) form: ItemForm,
    /// Index into [`Program::items`].
    pub(super) number: u32,
    pub(super) waits_for_streams: bool,
}

#[derive(Debug)]
pub(super) enum ItemForm {
    Access,
    Copy(Box<CopyCode>),
    Tasklet(Box<TaskletCode>),
    Map(Box<MapCode>),
    Consume(Box<ConsumeCode>),
    Call(Box<CallCode>),
    Reduce(Box<ReduceCode>),
    Library(Box<LibraryCode>),
    Set(Box<BindCode>),
}

/// One end of a memlet in a container.
#[derive(Debug)]
pub(super) struct EndCode {
    pub(super) container: usize,
    pub(super) subset: SubsetCode,
    pub(super) access: AccessId,
    /// Outer memlets that a user declared: elements must be in all of them.
    pub(super) declared: Vec<SubsetCode>,
    pub(super) device: Memory,
    /// Whether it is an end of a copy, which reaches the memories of all ranks.
    pub(super) is_copy: bool,
}

/// A write: where to, and what happens to the old value.
#[derive(Debug)]
pub(super) struct WriteCode {
    pub(super) end: EndCode,
    pub(super) resolution: Option<usize>,
}

#[derive(Debug)]
pub(super) enum CopySource {
    Elements(EndCode),
    Queue(EndCode),
    Register(u32),
}

#[derive(Debug)]
pub(super) struct CopyCode {
    pub(super) from: CopySource,
    pub(super) to: WriteCode,
    pub(super) to_queue: bool,
    /// Number of elements that go from or to queues.
    pub(super) count: CountCode,
}

#[derive(Debug)]
pub(super) enum InputCode {
    /// One element.
    Value(EndCode),
    /// Elements that the code indexes, over the ranges of the subset that are no single indices.
    Pointer(EndCode),
    /// Elements taken from queues before the code runs: one, or several that the code indexes.
    Pop(Box<PopCode>),
    /// A value that another node of the same body made, or an element that a consume scope took.
    Register {
        register: u32,
        /// Whether the code has it as a value; otherwise it indexes it.
        is_value: bool,
    },
}

impl InputCode {
    /// Whether it brings one element, before the code runs.
    pub(super) fn is_value(&self) -> bool {
        match self {
            InputCode::Value(_) => true,
            InputCode::Pop(pop) => pop.is_value,
            InputCode::Register { is_value, .. } => *is_value,
            InputCode::Pointer(_) => false,
        }
    }
}

/// Elements that a tasklet takes from queues.
#[derive(Debug)]
pub(super) struct PopCode {
    pub(super) end: EndCode,
    pub(super) count: CountCode,
    /// Whether the code has the one element as a value; otherwise it indexes them.
    pub(super) is_value: bool,
}

/// Number of elements that a memlet moves.
#[derive(Debug)]
pub(super) enum CountCode {
    /// Exactly so many, waiting for them.
    Exact(Index),
    /// Those that are there, so many at most.
    AtMost(Index),
    /// Those that are there.
    Any,
}

#[derive(Debug)]
pub(super) enum OutputCode {
    Value {
        write: WriteCode,
        required: bool,
    },
    Pointer {
        write: WriteCode,
    },
    Push {
        end: EndCode,
        count: CountCode,
    },
    Register(u32),
    /// One value for several edges.
    Several(Vec<OutputCode>),
    /// Connected to nothing that moves.
    Nothing,
}

impl OutputCode {
    /// Whether nothing leaves by it before the code has run.
    pub(super) fn is_value(&self) -> bool {
        match self {
            OutputCode::Value { .. } | OutputCode::Register(_) | OutputCode::Nothing => true,
            OutputCode::Pointer { .. } | OutputCode::Push { .. } => false,
            OutputCode::Several(outputs) => outputs.iter().all(OutputCode::is_value),
        }
    }
}

#[derive(Debug)]
pub(super) struct ConnectorCode<T> {
    pub(super) name: String,
    pub(super) id: Option<ConnectorId>,
    pub(super) element: ElementType,
    pub(super) form: T,
}

#[derive(Debug)]
pub(super) enum TaskletForm {
    /// Index into [`Program::codes`].
    Code(usize),
    External(Box<ExternalCode>),
}

/// A call of a C function.
#[derive(Debug)]
pub(super) struct ExternalCode {
    pub(super) call: ExternalCall,
    pub(super) arguments: Vec<ExternalOperand>,
    /// The output that receives what the function returns.
    pub(super) result: Option<usize>,
}

/// An argument of a C function.
#[derive(Clone, Copy, Debug)]
pub(super) enum ExternalOperand {
    Input(usize),
    Output(usize),
    /// The value of an expression: index into [`Program::codes`].
    Value(usize),
}

/// A tasklet. Connectors are in the order of the environment of its code: inputs, then outputs.
#[derive(Debug)]
pub(super) struct TaskletCode {
    pub(super) inputs: Vec<ConnectorCode<InputCode>>,
    pub(super) outputs: Vec<ConnectorCode<OutputCode>>,
    pub(super) form: TaskletForm,
    pub(super) symbols: Vec<SymbolCode>,
    /// Whether the code accesses memory and streams while it runs, besides the values that it begins and ends with.
    pub(super) accesses_memory: bool,
}

/// A symbol that gets its value from data when a scope is entered.
#[derive(Debug)]
pub(super) struct SymbolRead {
    pub(super) slot: u32,
    pub(super) element: ElementType,
    pub(super) from: InputCode,
}

#[derive(Debug)]
pub(super) struct MapCode {
    pub(super) reads: Vec<SymbolRead>,
    pub(super) params: Vec<u32>,
    pub(super) ranges: Vec<RangeCode>,
    /// Whether each iteration runs on a rank.
    pub(super) on_ranks: bool,
    pub(super) body: usize,
}

#[derive(Debug)]
pub(super) struct ConsumeCode {
    pub(super) reads: Vec<SymbolRead>,
    pub(super) element: u32,
    pub(super) elements: Index,
    pub(super) condition: Option<ExpressionCode>,
    pub(super) stream: EndCode,
    pub(super) register: u32,
    pub(super) body: usize,
}

/// Binding of an inner container of a call.
#[derive(Debug)]
pub(super) enum ArgumentCode {
    /// A part of an outer container.
    Part(PartCode),
    /// A single element of its own, which starts with the value of a register.
    In(u32),
    /// A single element of its own, whose value goes to a register.
    Out(u32),
}

/// A part of a container that gets another name.
#[derive(Debug)]
pub(super) struct PartCode {
    pub(super) end: EndCode,
    /// Whether it may reach beyond the container.
    pub(super) is_window: bool,
}

#[derive(Debug)]
pub(super) struct CallCode {
    pub(super) procedure: usize,
    /// The slot inside and its value outside.
    pub(super) symbols: Vec<(u32, Index)>,
    pub(super) reads: Vec<SymbolRead>,
    /// The container inside and what it names.
    pub(super) arguments: Vec<(usize, ArgumentCode)>,
}

#[derive(Debug)]
pub(super) struct ReduceCode {
    pub(super) from: EndCode,
    pub(super) to: WriteCode,
    /// Whether each axis of the input subset is reduced.
    pub(super) axes: Vec<bool>,
    pub(super) resolution: usize,
    pub(super) identity: Option<ExpressionCode>,
    pub(super) element: ElementType,
}

#[derive(Debug)]
pub(super) struct LibraryCode {
    pub(super) node: LibraryNode,
    /// The properties, by their positions, whose values depend on symbols.
    pub(super) computed: Vec<(usize, ExpressionCode)>,
    /// Symbols that properties use that are code.
    pub(super) symbols: Vec<(String, ExpressionCode)>,
    pub(super) inputs: Vec<ConnectorCode<InputCode>>,
    pub(super) outputs: Vec<ConnectorCode<OutputCode>>,
}

/// Makes a view or reference name a part of another container.
#[derive(Debug)]
pub(super) struct BindCode {
    pub(super) alias: usize,
    pub(super) target: PartCode,
}

/// A conflict resolution with the code of a custom one for the element type that it is used with.
#[derive(Debug)]
pub(super) struct ResolutionCode {
    pub(super) resolution: ConflictResolution,
    pub(super) element: ElementType,
    /// A custom function: its code, and the connectors of the old and the new value.
    pub(super) code: Option<(usize, ConnectorId, ConnectorId)>,
}

/// A constant as bytes.
pub(super) fn to_bytes(values: &[Value]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_bytes()[..value.ty().size()].to_vec()).collect()
}

impl Program {
    /// Whether a path joins two items; items of different bodies never meet here.
    pub(super) fn is_ordered(&self, a: u32, b: u32) -> bool {
        if a == b {
            return true;
        }
        let (Some(a), Some(b)) = (self.items.get(a as usize), self.items.get(b as usize)) else {
            return true;
        };
        a.body != b.body || {
            let body = &self.bodies[a.body];
            body.reaches(a.index, b.index) || body.reaches(b.index, a.index)
        }
    }

    /// Whether a path leads from one item of a body to another one.
    pub(super) fn leads(&self, from: u32, to: u32) -> bool {
        let (Some(from), Some(to)) = (self.items.get(from as usize), self.items.get(to as usize)) else {
            return false;
        };
        from.body == to.body && self.bodies[from.body].reaches(from.index, to.index)
    }

    /// Whether it has consume scopes, whose elements may order accesses.
    pub(super) fn consumes(&self) -> bool {
        let items = self.bodies.iter().flat_map(|body| &body.items);
        items.into_iter().any(|item| matches!(item.form, ItemForm::Consume(_)))
    }

    pub(super) fn kind(&self, access: AccessId) -> AccessKind {
        self.accesses[access.0 as usize].kind
    }

    pub(super) fn point(&self, stamp: Stamp) -> Point {
        let item = self.accesses[stamp.access.0 as usize].item.unwrap_or(u32::MAX);
        Point { instance: stamp.instance, position: stamp.position, item }
    }
}

impl Body {
    /// Whether a path leads from one item to another.
    pub(super) fn reaches(&self, from: usize, to: usize) -> bool {
        let bit = from * self.items.len() + to;
        self.reach[bit / 64] >> (bit % 64) & 1 == 1
    }
}
