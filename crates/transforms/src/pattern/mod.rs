//! Patterns: small graphs over kinds of nodes or blocks, and where a program contains them.
//!
//! A pattern is found as a subgraph monomorphism of directed multigraphs: its nodes stand for different nodes of the
//! program, and its edges for different edges. Further edges of the program do not matter.

mod host;
mod monomorphism;
#[cfg(test)]
mod tests;

pub use host::{Host, Hosts};
pub use monomorphism::{Shape, monomorphisms};
use sdfg::ir::{BlockKind, NodeKind};

/// The kind of a node of a state in a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeClass {
    /// Any node.
    Any,
    /// An access node.
    Access,
    /// A tasklet.
    Tasklet,
    /// The entry of a map.
    MapEntry,
    /// The exit of a map.
    MapExit,
    /// A call of an SDFG.
    Nested,
    /// A reduction.
    Reduce,
    /// A library node.
    Library,
    /// A reduction or a library node: what has expansions.
    Operation,
}

impl NodeClass {
    /// All classes.
    pub(crate) const ALL: [Self; 9] = [
        NodeClass::Any,
        NodeClass::Access,
        NodeClass::Tasklet,
        NodeClass::MapEntry,
        NodeClass::MapExit,
        NodeClass::Nested,
        NodeClass::Reduce,
        NodeClass::Library,
        NodeClass::Operation,
    ];

    /// Whether a node is of this class.
    pub fn fits(self, kind: &NodeKind) -> bool {
        match self {
            NodeClass::Any => true,
            NodeClass::Access => matches!(kind, NodeKind::Access(_)),
            NodeClass::Tasklet => matches!(kind, NodeKind::Tasklet(_)),
            NodeClass::MapEntry => matches!(kind, NodeKind::MapEntry(_)),
            NodeClass::MapExit => matches!(kind, NodeKind::MapExit(_)),
            NodeClass::Nested => matches!(kind, NodeKind::Nested(_)),
            NodeClass::Reduce => matches!(kind, NodeKind::Reduce(_)),
            NodeClass::Library => matches!(kind, NodeKind::Library(_)),
            NodeClass::Operation => matches!(kind, NodeKind::Reduce(_) | NodeKind::Library(_)),
        }
    }
}

/// The kind of a block of control flow in a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockClass {
    /// Any block.
    Any,
    /// A state.
    State,
    /// A loop.
    Loop,
    /// A branch.
    Branch,
}

impl BlockClass {
    /// Whether a block is of this class.
    pub fn fits(self, kind: &BlockKind) -> bool {
        match self {
            BlockClass::Any => true,
            BlockClass::State => matches!(kind, BlockKind::State(_)),
            BlockClass::Loop => matches!(kind, BlockKind::Loop(_)),
            BlockClass::Branch => matches!(kind, BlockKind::Branch(_)),
        }
    }
}

/// The graph that a transformation looks for.
///
/// Nodes have names, for messages and documentation. Edges are pairs of positions in the list of nodes; a pair that is
/// listed twice stands for two parallel edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Nodes of one state with edges between them.
    Nodes {
        /// Names and classes.
        nodes: Vec<(&'static str, NodeClass)>,
        /// Edges.
        edges: Vec<(usize, usize)>,
    },
    /// Blocks of one region with transitions between them.
    Blocks {
        /// Names and classes.
        blocks: Vec<(&'static str, BlockClass)>,
        /// Transitions.
        transitions: Vec<(usize, usize)>,
    },
    /// An SDFG as a whole.
    Sdfg,
}

impl Pattern {
    /// Nodes in a row, each with an edge to the next.
    pub fn path(nodes: impl Into<Vec<(&'static str, NodeClass)>>) -> Self {
        let nodes = nodes.into();
        let edges = (1..nodes.len()).map(|at| (at - 1, at)).collect();
        Pattern::Nodes { nodes, edges }
    }

    /// One block.
    pub fn block(name: &'static str, class: BlockClass) -> Self {
        Pattern::Blocks { blocks: vec![(name, class)], transitions: Vec::new() }
    }

    /// The names of its nodes or blocks.
    pub fn names(&self) -> Vec<&'static str> {
        match self {
            Pattern::Nodes { nodes, .. } => nodes.iter().map(|(name, _)| *name).collect(),
            Pattern::Blocks { blocks, .. } => blocks.iter().map(|(name, _)| *name).collect(),
            Pattern::Sdfg => Vec::new(),
        }
    }
}
