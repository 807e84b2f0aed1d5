//! Where in a program a diagnostic applies, by names: owned, so that it outlives the program.

use std::fmt;

use crate::ir::{Edge, NodeId, State};

/// The place of an element: `laplace/step/lap.o` is connector `o` of node `lap` in state `step` of SDFG `laplace`.
///
/// Inside a nested SDFG the labels of the state and of the node that calls it come first:
/// `outer/step/call/inner_state/t`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ElementPath {
    /// The outermost SDFG, then states and nested nodes down to the element.
    pub scopes: Vec<String>,
    /// The element itself.
    pub element: Element,
}

/// The element at the end of a path.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Element {
    /// The last scope of the path as a whole: an SDFG or a state.
    #[default]
    Scope,
    /// A block that is not entered: a loop, branch or jump.
    Block(String),
    /// A container.
    Container(String),
    /// A symbol.
    Symbol(String),
    /// A node, or one connector of it.
    Node(End),
    /// An edge.
    Edge {
        /// Where it starts.
        source: End,
        /// Where it ends.
        destination: End,
    },
    /// A transition between two blocks.
    Transition {
        /// The block that has finished.
        source: String,
        /// The block that runs next.
        destination: String,
    },
}

/// A node, perhaps with a connector.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct End {
    /// Label of the node.
    pub node: String,
    /// Name of the connector.
    pub connector: Option<String>,
}

impl End {
    /// A node without a connector.
    pub fn node(label: impl Into<String>) -> Self {
        End { node: label.into(), connector: None }
    }

    /// A connector of a node.
    pub fn connector(label: impl Into<String>, connector: impl Into<String>) -> Self {
        End { node: label.into(), connector: Some(connector.into()) }
    }

    /// A node of a state as the text form writes it at the end of an edge: connectors of scopes without `IN_` and `OUT_`.
    pub(crate) fn of(state: &State, node: NodeId, connector: Option<&str>) -> Self {
        let Some(found) = state.get_node(node) else { return End::node(node.to_string()) };
        let is_scope = found.kind.is_scope_entry() || found.kind.exit_of().is_some();
        let shown = connector.map(|name| match name.strip_prefix("IN_").or(name.strip_prefix("OUT_")) {
            Some(short) if is_scope => short.to_owned(),
            _ => name.to_owned(),
        });
        End { node: found.label.clone(), connector: shown }
    }
}

impl Element {
    /// An edge of a state as the text form writes it.
    pub fn edge(state: &State, edge: &Edge) -> Self {
        Element::Edge {
            source: End::of(state, edge.src, edge.src_connector.as_deref()),
            destination: End::of(state, edge.dst, edge.dst_connector.as_deref()),
        }
    }
}

impl ElementPath {
    /// The SDFG of this name as a whole.
    pub fn sdfg(name: impl Into<String>) -> Self {
        ElementPath { scopes: vec![name.into()], element: Element::Scope }
    }

    /// The state or nested node of this label within the scope that this path names.
    #[must_use]
    pub fn enter(&self, label: impl Into<String>) -> Self {
        let mut scopes = self.scopes.clone();
        scopes.push(label.into());
        ElementPath { scopes, element: Element::Scope }
    }

    /// An element of the scope that this path names.
    #[must_use]
    pub fn to(&self, element: Element) -> Self {
        ElementPath { scopes: self.scopes.clone(), element }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.node)?;
        self.connector.iter().try_for_each(|connector| write!(f, ".{connector}"))
    }
}

impl fmt::Display for ElementPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.scopes.join("/"))?;
        match &self.element {
            Element::Scope => Ok(()),
            Element::Block(name) | Element::Container(name) | Element::Symbol(name) => write!(f, "/{name}"),
            Element::Node(end) => write!(f, "/{end}"),
            Element::Edge { source, destination } => write!(f, "/{source} -> {destination}"),
            Element::Transition { source, destination } => write!(f, "/{source} -> {destination}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_read_from_the_outside_in() {
        let state = ElementPath::sdfg("laplace").enter("step");
        assert_eq!(state.to_string(), "laplace/step");
        assert_eq!(state.to(Element::Node(End::connector("lap", "o"))).to_string(), "laplace/step/lap.o");
        let edge = Element::Edge { source: End::connector("cells", "A"), destination: End::node("new") };
        assert_eq!(state.enter("call").to(edge).to_string(), "laplace/step/call/cells.A -> new");
    }
}
