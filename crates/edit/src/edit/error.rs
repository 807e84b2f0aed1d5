//! Reasons for refusing an edit.

use sdfg_graph::ir::{BlockId, ContainerId, EdgeId, NodeId, RegionId, StateId, TransitionId};
use sdfg_language::symbolic::{Expr, Symbol};
use thiserror::Error;

/// Why an edit cannot be made. The graph is as it was before.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EditError {
    /// The state was removed or belongs to another SDFG.
    #[error("there is no state {0}")]
    NoState(StateId),
    /// The block was removed or belongs to another SDFG.
    #[error("there is no block {0}")]
    NoBlock(BlockId),
    /// The region was removed or belongs to another SDFG.
    #[error("there is no region {0}")]
    NoRegion(RegionId),
    /// The transition was removed or belongs to another SDFG.
    #[error("there is no transition {0}")]
    NoTransition(TransitionId),
    /// The node was removed or belongs to another state.
    #[error("there is no node {0} in this state")]
    NoNode(NodeId),
    /// The edge was removed or belongs to another state.
    #[error("there is no edge {0} in this state")]
    NoEdge(EdgeId),
    /// The container was removed or belongs to another SDFG.
    #[error("there is no container {0}")]
    NoContainer(ContainerId),
    /// The edit would change which rank accesses which memory.
    #[error("`{name}` {reason}")]
    Ranks {
        /// The container or map.
        name: String,
        /// The reason.
        reason: &'static str,
    },
    /// A node of another kind is needed.
    #[error("`{label}` is a {found}, but this edit is for {expected}")]
    WrongKind {
        /// Label of the node or block.
        label: String,
        /// Its kind.
        found: &'static str,
        /// The kind that the edit requires.
        expected: &'static str,
    },
    /// A code node has no such connector.
    #[error("`{label}` has no connector `{connector}`")]
    NoConnector {
        /// Label of the node.
        label: String,
        /// The connector.
        connector: String,
    },
    /// A connector is missing where the node has connectors, or given where it has none.
    #[error("an edge at `{label}`, a {kind}, cannot have the connector `{connector}`")]
    ConnectorMisplaced {
        /// Label of the node.
        label: String,
        /// Its kind.
        kind: &'static str,
        /// The connector, empty if there is none.
        connector: String,
    },
    /// The data of an edge cannot come from or go to the nodes at its ends.
    #[error(
        "what the edge from `{src}` to `{dst}` moves cannot pass there: reads begin at access nodes, writes end at them, \
         values pass between code nodes"
    )]
    Misplaced {
        /// Label of the source.
        src: String,
        /// Label of the destination.
        dst: String,
    },
    /// A connector of a scope would have edges on one side alone, or several outside.
    #[error(
        "the connector `{connector}` of the scope `{label}` would not have one edge outside and some inside"
    )]
    Unpaired {
        /// Label of the scope.
        label: String,
        /// The connector, without its side.
        connector: String,
    },
    /// An entry has no exit, or an exit no entry.
    #[error("the scope `{label}` has only one of entry and exit")]
    HalfScope {
        /// Label of the scope.
        label: String,
    },
    /// An edge leads into a scope or out of it past its entry and exit.
    #[error("the edge from `{src}` to `{dst}` goes past the border of a scope")]
    Crosses {
        /// Label of the source.
        src: String,
        /// Label of the destination.
        dst: String,
    },
    /// A node or memlet names a container that was removed.
    #[error("`{label}` uses a container that was removed")]
    Dangling {
        /// Label of the node, or of the source of the edge.
        label: String,
    },
    /// The program was valid before the edits, and would not be after them.
    #[error("the edits would make the program wrong: {reason}")]
    Invalid {
        /// The errors that validation finds.
        reason: String,
    },
    /// The edge would close a cycle.
    #[error("`{dst}` already comes before `{src}`: an edge from `{src}` to `{dst}` would close a cycle")]
    Cycle {
        /// Label of the source.
        src: String,
        /// Label of the destination.
        dst: String,
    },
    /// The name means something else already.
    #[error("the name `{name}` is taken: choose another, for example by `Sdfg::fresh_container_name`")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// The name is no identifier.
    #[error("`{name}` is not a name: letters, digits and `_`, no digit first, and no word of the language")]
    InvalidName {
        /// The name.
        name: String,
    },
    /// Nothing declares, assigns or uses the symbol.
    #[error("there is no symbol `{0}`")]
    NoSymbol(Symbol),
    /// A loop or transition assigns the symbol, so that no expression can stand for it.
    #[error(
        "`{0}` is assigned by a loop or transition: it can be renamed, but not replaced by an expression"
    )]
    AssignedSymbol(Symbol),
    /// The replacement means something else at some of the places.
    #[error("`{symbol}` has another meaning where it would be inserted: rename it first")]
    Captured {
        /// The symbol in the replacement.
        symbol: Symbol,
    },
    /// The replacement cannot be written in code.
    #[error("`{value}` cannot be written in the code of `{label}`: {reason}")]
    NotExpressible {
        /// The replacement.
        value: Expr,
        /// Place of the insertion.
        label: String,
        /// Why not.
        reason: &'static str,
    },
    /// An index, range or size would exceed the limits of expressions.
    #[error("an index, range or size at `{label}` would be too large an expression: give parts of it names")]
    TooLarge {
        /// Label of the node, or of the source of the edge, or the container's name.
        label: String,
    },
    /// A range would become a single index, which code at the other end counts as one dimension less.
    #[error(
        "the memlet of `{edge}` at `{label}` would change its number of dimensions, which its code relies on"
    )]
    DimensionsChange {
        /// The edge, as [`print_ends`](sdfg_graph::text::print_ends) or [`print_edge`](sdfg_graph::text::print_edge) writes it.
        edge: String,
        /// The node with the code.
        label: String,
    },
    /// The nodes do not lie directly in one scope.
    #[error("`{first}` and `{second}` do not lie in the same scope")]
    DifferentScopes {
        /// Label of a node.
        first: String,
        /// Label of a node elsewhere.
        second: String,
    },
    /// A subgraph without nodes.
    #[error("there are no nodes to wrap")]
    NoNodes,
    /// A path leaves the subgraph and comes back.
    #[error("a path leaves the nodes at `{outside}` and comes back: take that node, too")]
    NotConvex {
        /// Label of a node on the path.
        outside: String,
    },
    /// An edge cannot be cut at the border.
    #[error("the edge from `{src}` to `{dst}` cannot cross the border: {reason}")]
    CannotCross {
        /// Label of the source.
        src: String,
        /// Label of the destination.
        dst: String,
        /// Why not.
        reason: &'static str,
    },
    /// Parameters and ranges do not pair up.
    #[error(
        "a map has one range for each parameter, and each parameter once: {params} parameters, {ranges} ranges"
    )]
    MapShape {
        /// Number of different parameters.
        params: usize,
        /// Number of ranges.
        ranges: usize,
    },
    /// A scope whose contents depend on what its entry binds.
    #[error("the contents of `{label}` use `{symbol}`, which its entry binds: substitute it first")]
    SymbolBound {
        /// Label of the scope.
        label: String,
        /// The symbol.
        symbol: Symbol,
    },
    /// A container cannot stand where the edit would put it.
    #[error("`{container}` cannot be moved: {reason}")]
    Container {
        /// Its name.
        container: String,
        /// Why not.
        reason: &'static str,
    },
    /// The data of an edge is not known precisely enough.
    #[error("the part of `{container}` that passes `{edge}` is not known exactly: {reason}")]
    Inexact {
        /// The edge, as [`print_ends`](sdfg_graph::text::print_ends) or [`print_edge`](sdfg_graph::text::print_edge) writes it.
        edge: String,
        /// The container.
        container: String,
        /// The missing fact.
        reason: &'static str,
    },
    /// Control flow that does not have the form that the edit needs.
    #[error("`{label}`: {reason}")]
    ControlFlow {
        /// Label of the block.
        label: String,
        /// The requirement.
        reason: &'static str,
    },
}
