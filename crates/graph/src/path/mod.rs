//! Paths: places in a program by name, with one grammar for messages, strategies, command options and anchors
//! of transformations.
//!
//! An [`ElementPath`] is a path as text: it consists of names, so it outlives the program. A [`ElementPlace`] is the
//! corresponding element of one program, by ids. [`ElementPlace::path`] converts ids to names, and
//! [`ElementPath::resolve`] names to ids. `docs/text-format.md` contains the grammar.
//!
//! ```
//! # use sdfg_graph as sdfg;
//! use sdfg::path::{ElementPath, Target};
//!
//! let program = sdfg::text::parse("p.sdft", "sdfg p { state s { tasklet t () -> () {  } } }").unwrap();
//! let full: ElementPath = "p/s/t".parse().unwrap();
//! let place = full.resolve(&program).unwrap();
//! assert!(matches!(place.target, Target::Node(..)));
//! assert_eq!(place.path(&program), Some(full));
//! // A path may leave out what leads to it, where only one element is meant.
//! assert_eq!("t".parse::<ElementPath>().unwrap().resolve(&program).unwrap(), place);
//! assert_eq!(place.anchor(&program).unwrap().to_string(), "t");
//! ```

mod parse;
mod place;
mod resolve;
mod serial;
pub(crate) mod similar;
#[cfg(test)]
mod tests;

use std::fmt;

pub use parse::PathError;
pub use place::{ElementPlace, Target};
pub use resolve::{Paths, UnresolvedPath};
use sdfg_language::syntax::{is_name, quote};
pub use similar::closest;

use crate::ir::{BlockId, Edge, EdgeId, Node, NodeId, Port, Sdfg, State, Transition, TransitionId};

/// The place of an element: `laplace/step/lap.o` is connector `o` of node `lap` in state `step` of SDFG `laplace`.
///
/// Inside a nested SDFG the labels of the state and of the node that calls it come first:
/// `outer/step/call/inner_state/t`. Labels of the loops and branches around a block do not, since labels are unique
/// among the blocks of an SDFG.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ElementPath {
    /// The outermost SDFG, then blocks and nodes in turn, down to the one that is meant, or that has the element.
    labels: Vec<String>,
    /// The part of it; neither [`Element::Block`], nor [`Element::Transition`], nor [`Element::Node`] without a connector:
    /// these are said by labels and [`Element::Edge`].
    element: Element,
}

/// The element at the end of a path.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Element {
    /// Kind of the last label: an SDFG, a block, or a node.
    #[default]
    Scope,
    /// A block of the SDFG.
    Block(String),
    /// A container of the SDFG.
    Container(String),
    /// A symbol of the SDFG.
    Symbol(String),
    /// A node of the state, or one connector of it. A scope is named by its entry.
    Node(End),
    /// The exit of a scope of the state, or one connector of it.
    Exit(End),
    /// An edge of the state.
    Edge {
        /// Its source.
        source: End,
        /// Its destination.
        destination: End,
        /// Number of earlier edges with these ends.
        before: usize,
    },
    /// A transition between two blocks.
    Transition {
        /// The block that has finished.
        source: String,
        /// The block that runs next.
        destination: String,
        /// Number of transitions between these blocks that are tried before it.
        before: usize,
    },
}

/// A node, perhaps with a connector, as the text form writes it at the end of an edge.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct End {
    /// Label of the node.
    pub node: String,
    /// The connector.
    pub connector: Option<ConnectorName>,
}

/// A connector of a node, as the text form writes it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConnectorName {
    /// `t.x`: connectors of this name of a code node, or both sides of a port of a scope node.
    Plain(String),
    /// `m@k`: any other connector of a scope node, such as one that brings a symbol.
    Exact(String),
}

impl ConnectorName {
    /// The name without what tells the kind.
    pub fn name(&self) -> &str {
        match self {
            ConnectorName::Plain(name) | ConnectorName::Exact(name) => name,
        }
    }
}

impl End {
    /// A node without a connector.
    pub fn node(label: impl Into<String>) -> Self {
        End { node: label.into(), connector: None }
    }

    /// A connector of a node, or a port of a scope.
    pub fn connector(label: impl Into<String>, connector: impl Into<String>) -> Self {
        End { node: label.into(), connector: Some(ConnectorName::Plain(connector.into())) }
    }

    /// A node of a state as the text form writes it at the end of an edge: ports of scopes by their names.
    pub fn of(state: &State, node: NodeId, connector: Option<&str>) -> Self {
        match state.get_node(node) {
            Some(found) => End::at(found, connector),
            None => End::node(node.to_string()),
        }
    }

    /// As [`of`](End::of), for a node that need not be in a state any more.
    pub fn at(found: &Node, connector: Option<&str>) -> Self {
        let is_scope = found.kind.is_scope_entry() || found.kind.exit_of().is_some();
        let shown = |name: &str| match Port::parse(name) {
            Some(port) if is_scope => ConnectorName::Plain(port.name().to_owned()),
            None if is_scope => ConnectorName::Exact(name.to_owned()),
            Some(_) | None => ConnectorName::Plain(name.to_owned()),
        };
        End { node: found.label.clone(), connector: connector.map(shown) }
    }
}

impl Element {
    /// An edge of a state as the text form writes it.
    ///
    /// # Panics
    /// If the edge is absent: that is a fault of the calling code.
    pub fn edge(state: &State, id: EdgeId) -> Self {
        let edge = state.edge(id);
        Element::Edge {
            source: End::of(state, edge.src, edge.src_connector.as_deref()),
            destination: End::of(state, edge.dst, edge.dst_connector.as_deref()),
            before: edges_before(state, id, edge),
        }
    }

    /// A transition of an SDFG; a block that is not there by its id.
    pub fn transition(sdfg: &Sdfg, id: TransitionId, transition: &Transition) -> Self {
        let label = |block: BlockId| {
            sdfg.get_block(block).map_or_else(|| block.to_string(), |found| found.label.clone())
        };
        let (source, destination) = (label(transition.src), label(transition.dst));
        Element::Transition { source, destination, before: transitions_before(sdfg, id, transition) }
    }
}

/// Number of transitions between the same blocks that are tried earlier.
fn transitions_before(sdfg: &Sdfg, id: TransitionId, transition: &Transition) -> usize {
    if sdfg.get_block(transition.src).is_none_or(|block| sdfg.get_region(block.region).is_none()) {
        return 0;
    }
    let earlier = sdfg.transitions_from(transition.src).into_iter().take_while(|other| *other != id);
    earlier.filter(|other| sdfg.transition(*other).dst == transition.dst).count()
}

/// Number of older edges with the same ends. Searches the edges of the end with fewer edges.
fn edges_before(state: &State, id: EdgeId, edge: &Edge) -> usize {
    let is_before = |(other, found): &(EdgeId, &Edge)| {
        *other < id
            && (found.src, found.dst) == (edge.src, edge.dst)
            && (&found.src_connector, &found.dst_connector) == (&edge.src_connector, &edge.dst_connector)
    };
    let least = state.each_out_edge(edge.src).zip(state.each_in_edge(edge.dst)).count();
    if state.each_out_edge(edge.src).nth(least).is_none() {
        state.each_out_edge(edge.src).filter(is_before).count()
    } else {
        state.each_in_edge(edge.dst).filter(is_before).count()
    }
}

impl ElementPath {
    /// The SDFG of this name as a whole.
    pub fn sdfg(name: impl Into<String>) -> Self {
        ElementPath { labels: vec![name.into()], element: Element::Scope }
    }

    /// The block or node of this label within what this path names.
    #[must_use]
    pub fn enter(&self, label: impl Into<String>) -> Self {
        let mut labels = Vec::with_capacity(self.labels.len() + 1);
        labels.extend_from_slice(&self.labels);
        labels.push(label.into());
        ElementPath { labels, element: Element::Scope }
    }

    /// Path of the parent of the SDFG, block or node of the last label.
    #[must_use]
    pub fn leave(&self) -> Self {
        let outer = self.labels.len().saturating_sub(1);
        ElementPath { labels: self.labels[..outer].to_vec(), element: Element::Scope }
    }

    /// An element of the SDFG or state that this path names.
    #[must_use]
    pub fn to(&self, element: Element) -> Self {
        let element = match element {
            Element::Block(label) | Element::Node(End { node: label, connector: None }) => {
                return self.enter(label);
            }
            Element::Transition { source, destination, before } => {
                Element::Edge { source: End::node(source), destination: End::node(destination), before }
            }
            Element::Scope
            | Element::Container(_)
            | Element::Symbol(_)
            | Element::Node(_)
            | Element::Exit(_)
            | Element::Edge { .. } => element,
        };
        ElementPath { labels: self.labels.clone(), element }
    }

    /// Owner of the element: the SDFG, block or node that the labels name.
    #[must_use]
    pub(crate) fn holder(&self) -> Self {
        ElementPath { labels: self.labels.clone(), element: Element::Scope }
    }

    /// Labels from the outside in: of a whole path the name of the program, then blocks and nodes in turn.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// The part of what the labels name. Blocks and nodes as a whole are told by the last label, and transitions by the
    /// blocks at their ends, as edges are.
    pub fn element(&self) -> &Element {
        &self.element
    }

    /// Whether the path names nothing, as that of an error of syntax.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.element == Element::Scope
    }
}

/// The name as a path writes it: bare where that reads back, else a string.
fn written(name: &str) -> String {
    if is_name(name) { name.to_owned() } else { quote(name) }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&written(&self.node))?;
        match &self.connector {
            None => Ok(()),
            Some(ConnectorName::Plain(name)) => write!(f, ".{}", written(name)),
            Some(ConnectorName::Exact(name)) => write!(f, "@{}", written(name)),
        }
    }
}

impl fmt::Display for ElementPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for label in &self.labels {
            write!(f, "{separator}{}", written(label))?;
            separator = "/";
        }
        let ordinal = |before: usize| match before {
            0 => String::new(),
            _ => format!(" #{}", before + 1),
        };
        match &self.element {
            Element::Scope => Ok(()),
            Element::Block(label) => write!(f, "{separator}{}", written(label)),
            Element::Container(name) => write!(f, "{separator}container {}", written(name)),
            Element::Symbol(name) => write!(f, "{separator}symbol {}", written(name)),
            Element::Node(end) => write!(f, "{separator}{end}"),
            Element::Exit(end) => write!(f, "{separator}exit {end}"),
            Element::Edge { source, destination, before } => {
                write!(f, "{separator}{source} -> {destination}{}", ordinal(*before))
            }
            Element::Transition { source, destination, before } => {
                let (source, destination) = (written(source), written(destination));
                write!(f, "{separator}{source} -> {destination}{}", ordinal(*before))
            }
        }
    }
}
