//! Environment of a piece of code: the connectors of its node and the symbols in scope, with their types.

use indexmap::IndexMap;

use crate::dtype::{ElementType, ScalarType};

/// A connector of an [`Environment`], by position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectorId(u32);

/// A symbol of an [`Environment`], by position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SymbolId(u32);

impl ConnectorId {
    /// The position among the connectors, in order of declaration.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl SymbolId {
    /// The position among the symbols, in order of declaration.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Kind of a connector as the code sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConnectorKind {
    /// One element: an input is read by name, an output is assigned.
    Value,
    /// Memory that is indexed with `rank` integers, relative to the start of the memlet's subset.
    Pointer {
        /// Number of indices, at least 1.
        rank: usize,
    },
    /// An output stream: every assignment pushes one element.
    Stream,
    /// An array of queues, in conditions and assignments of control flow: `len(S)` or `len(S[i])` tells how many
    /// elements one of them holds.
    Queues {
        /// Number of indices; 0 for a single queue.
        rank: usize,
    },
}

/// Whether a connector brings data in or out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Read by the code.
    In,
    /// Written by the code.
    Out,
}

/// The type of a connector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Connector {
    /// The type of the element or elements.
    pub element: ElementType,
    /// One value, memory or a stream.
    pub kind: ConnectorKind,
    /// In or out.
    pub direction: Direction,
}

/// Connectors and symbols by name, in order of declaration.
///
/// On interstate edges the containers that are read are connectors: a scalar is a value, an array is a pointer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    connectors: IndexMap<String, Connector>,
    symbols: IndexMap<String, ScalarType>,
}

impl Environment {
    /// No connectors and no symbols.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a connector, or replaces the one of this name.
    pub fn add_connector(&mut self, name: impl Into<String>, connector: Connector) -> ConnectorId {
        ConnectorId(self.connectors.insert_full(name.into(), connector).0 as u32)
    }

    /// Adds an input that is one element.
    pub fn input(&mut self, name: impl Into<String>, element: impl Into<ElementType>) -> ConnectorId {
        let (element, kind) = (element.into(), ConnectorKind::Value);
        self.add_connector(name, Connector { element, kind, direction: Direction::In })
    }

    /// Adds an output that is one element.
    pub fn output(&mut self, name: impl Into<String>, element: impl Into<ElementType>) -> ConnectorId {
        let (element, kind) = (element.into(), ConnectorKind::Value);
        self.add_connector(name, Connector { element, kind, direction: Direction::Out })
    }

    /// Adds a symbol, or replaces the one of this name. Where a program declares no type it is `i64`.
    pub fn add_symbol(&mut self, name: impl Into<String>, ty: ScalarType) -> SymbolId {
        SymbolId(self.symbols.insert_full(name.into(), ty).0 as u32)
    }

    /// The connector of this name. A connector hides a symbol of the same name.
    pub fn connector(&self, name: &str) -> Option<(ConnectorId, Connector)> {
        self.connectors.get_full(name).map(|(i, _, connector)| (ConnectorId(i as u32), *connector))
    }

    /// The symbol of this name.
    pub fn symbol(&self, name: &str) -> Option<(SymbolId, ScalarType)> {
        self.symbols.get_full(name).map(|(i, _, ty)| (SymbolId(i as u32), *ty))
    }

    /// The connectors in order of declaration, which is the order of their ids.
    pub fn connectors(&self) -> impl ExactSizeIterator<Item = (&str, &Connector)> {
        self.connectors.iter().map(|(name, connector)| (name.as_str(), connector))
    }

    /// The symbols in order of declaration, which is the order of their ids.
    pub fn symbols(&self) -> impl ExactSizeIterator<Item = (&str, ScalarType)> {
        self.symbols.iter().map(|(name, ty)| (name.as_str(), *ty))
    }

    /// The name and type of a connector of this environment.
    pub fn connector_at(&self, id: ConnectorId) -> Option<(&str, &Connector)> {
        self.connectors.get_index(id.index()).map(|(name, connector)| (name.as_str(), connector))
    }

    /// The name and type of a symbol of this environment.
    pub fn symbol_at(&self, id: SymbolId) -> Option<(&str, ScalarType)> {
        self.symbols.get_index(id.index()).map(|(name, ty)| (name.as_str(), *ty))
    }
}
