//! The closed list of diagnostic codes, whose names never change meaning.
//!
//! Users search for codes, tests expect them, and tools filter by them. [`pages`](super::pages) contains the
//! explanations. Numbers of removed codes are not reused.

use std::fmt;
use std::str::FromStr;

/// Declares the codes; the title of each is also its documentation.
macro_rules! codes {
    ($($variant:ident = $name:literal $title:literal,)*) => {
        /// Diagnostic codes, with stable names such as `V304`.
        ///
        /// `P` codes come from reading a text, `V` codes from validation: `V0` structure, `V1` symbols, `V2` containers,
        /// `V3` memlets, `V4` code, `V5` nodes, `V6` control flow, `V7` dataflow as a whole.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code { $(#[doc = $title] $variant,)* }

        impl Code {
            /// Every code, in order of names within each group.
            pub const ALL: &[Code] = &[$(Code::$variant,)*];

            /// The stable name, such as `V304`.
            pub const fn name(self) -> &'static str {
                match self { $(Code::$variant => $name,)* }
            }

            /// The error, in a few words.
            pub const fn title(self) -> &'static str {
                match self { $(Code::$variant => $title,)* }
            }
        }
    };
}

codes! {
    Syntax = "P001" "the text does not follow the grammar",
    UnknownReference = "P002" "a text names something that it does not declare",

    InvalidName = "V001" "a name is not an identifier",
    DuplicateName = "V002" "two containers or symbols have one name",
    DuplicateLabel = "V003" "two blocks or nodes have one label",
    DanglingReference = "V004" "an id names nothing",
    MalformedRegion = "V005" "blocks, regions and states do not form a tree",
    NestingTooDeep = "V006" "regions or SDFGs are nested too deeply",
    Cycle = "V007" "a state has a cycle",
    UnknownConnector = "V008" "an edge ends at a connector that the node does not have",
    UnconnectedConnector = "V009" "a connector has no edge",
    ConnectorReused = "V010" "a connector has more than one edge",
    MisplacedConnector = "V011" "an edge has a connector where none belongs, or lacks one",
    UnpairedScopeConnector = "V012" "a connector of a scope goes in but not out, or out but not in",
    DuplicateConnector = "V013" "two connectors of a node have one name",
    MalformedScope = "V014" "a scope does not have exactly one exit of its kind",
    EdgeCrossesScope = "V015" "an edge crosses the border of a scope",
    NodeNotEnclosed = "V016" "a node of a scope does not lead to its exit",

    UndefinedSymbol = "V101" "an expression uses a symbol that has no value there",
    ContainerAsSymbol = "V102" "a symbol has the name of a container",
    ShadowedSymbol = "V103" "a scope parameter hides another symbol",
    SymbolType = "V104" "a symbol is not an integer",
    NonIntegral = "V105" "a size, bound or index is not always an integer",
    DuplicateAssignment = "V106" "a transition assigns a symbol twice",
    FixedSymbol = "V107" "a symbol that sizes an argument is assigned",

    AliasNotTransient = "V201" "a view or reference is not transient",
    BadShape = "V202" "an array has no dimensions, or a negative extent",
    LayoutRank = "V203" "a layout does not fit the shape",
    BadConstant = "V204" "the contents of a constant do not fit its declaration",
    DistributionRank = "V205" "a process grid does not fit the shape",
    BadCapacity = "V206" "the capacity of a stream is not positive",

    WrongContainer = "V301" "a memlet names another container than the access node that it leads to",
    FlowMismatch = "V302" "a memlet does not fit the ends of its edge",
    WrongRank = "V303" "a subset has another number of dimensions than its container",
    OutOfBounds = "V304" "an access leaves its container",
    CopyVolume = "V305" "the two sides of a copy have different numbers of elements",
    ElementMismatch = "V306" "the two ends of an edge have different element types",
    BadVolume = "V307" "the volume of a memlet is negative",
    ResolutionType = "V308" "a conflict resolution is not defined for the element type",
    PlaceMismatch = "V309" "elements of a stream, or queues of an array",
    BadStep = "V310" "the step of a range is zero, or its tile is not positive",
    ConstantWritten = "V311" "a constant is written",
    UnboundAlias = "V312" "a view is used in a state that does not bind it",
    StreamUse = "V313" "a stream is used against its direction or by more than one element",
    BoundTiles = "V314" "elements in tiles get another name",
    BoundTwice = "V315" "one view is bound to different elements at the same time",
    IdleStrides = "V316" "the strides of a view or reference do not count",

    UnknownName = "V401" "code uses a name that is neither connector, symbol nor local",
    CodeType = "V402" "code has a type error",
    UnassignedOutput = "V403" "an output is never assigned",
    ConditionType = "V404" "a condition or assignment has a type error",
    ExternalArgument = "V405" "an external call does not fit its connectors",

    MapDimensions = "V501" "a map does not have one range for each parameter",
    DuplicateParameter = "V502" "two parameters of a map have one name",
    ConsumeStream = "V503" "a consume scope does not consume exactly one stream",
    ReduceEdges = "V504" "a reduce node does not have one input and one output",
    ReduceShape = "V505" "the axes or the output of a reduction do not fit its input",
    ReduceIdentity = "V506" "the identity of a reduction is not a constant of its type",
    NestedConnector = "V507" "connectors and arguments of a nested SDFG differ",
    NestedSymbol = "V508" "a symbol of a nested SDFG gets no value, or a value goes to no symbol",
    NestedType = "V509" "a container of a nested SDFG does not fit what its connector brings",
    SymbolConnector = "V510" "a symbol of a scope does not get one integer",
    BadCount = "V511" "a count is not positive",
    UnreachableStorage = "V512" "a schedule cannot reach the memory of a container",
    LibraryProperty = "V513" "a property of a library node is given twice or is no constant",

    JumpOutsideLoop = "V601" "break or continue outside of a loop",
    UnreachableBlock = "V602" "a block can never run",
    EndlessLoop = "V603" "a loop cannot end",

    WriteConflict = "V701" "accesses that nothing orders touch the same element",
    NeverWritten = "V702" "a transient is read but never written",
    Deadlock = "V703" "a pop or push waits for ever",
    NeverPopped = "V704" "elements are pushed to a stream and never taken",
    PossibleConflict = "V705" "accesses that nothing orders may touch the same element",
    EndedWithState = "V706" "control flow reads what ended with a state",
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text that names no code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a diagnostic code; codes look like V304")]
pub struct UnknownCode {
    /// The text that was read.
    pub text: String,
}

impl FromStr for Code {
    type Err = UnknownCode;

    /// Reads a name such as `V304`, in either case.
    fn from_str(text: &str) -> Result<Self, UnknownCode> {
        let found = Code::ALL.iter().find(|code| code.name().eq_ignore_ascii_case(text));
        found.copied().ok_or_else(|| UnknownCode { text: text.to_owned() })
    }
}
