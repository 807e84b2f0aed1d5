//! State of one SDFG call during lowering: the meaning of its names.

use std::collections::BTreeMap;

use sdfg::analysis::{Analyses, owning_scopes};
use sdfg::dtype::ScalarType;
use sdfg::ir::{Access, ContainerId, NodeId, Sdfg, StateId};
use sdfg::path::ElementPath;
use sdfg::subset::Subset;
use sdfg::symbolic::{Expr, Symbol};

use super::buffer_view::BufferView;
use crate::plan::{BufferId, JumpTarget};

/// Names of an SDFG call and what they stand for.
pub(super) struct CallFrame<'g> {
    /// The SDFG that is called.
    pub(super) sdfg: &'g Sdfg,
    /// Bindings of its containers.
    pub(super) containers: BTreeMap<ContainerId, BufferView>,
    /// The scopes in which transients live, for those that do not live as long as the call.
    pub(super) owning_scopes: BTreeMap<ContainerId, (StateId, NodeId)>,
    /// Values of its symbols over the plan's variables.
    pub(super) symbols: BTreeMap<Symbol, Expr>,
    /// Types of its symbols; others are `i64`.
    pub(super) types: BTreeMap<Symbol, ScalarType>,
    /// Block that a return leaves.
    pub(super) exit: JumpTarget,
    /// Whether something leaves it.
    pub(super) exit_used: bool,
    /// Innermost loop.
    pub(super) innermost: Option<JumpTarget>,
    /// Cells that carry values between the code nodes of the state that is lowered, by source node and connector.
    pub(super) value_cells: BTreeMap<(NodeId, String), BufferId>,
    /// Cells with the elements that the consume scopes around the current place took, by entry.
    pub(super) consumed: BTreeMap<NodeId, BufferId>,
    /// Transients whose size depends on symbols that the call sets.
    pub(super) deferred: Vec<DeferredTransient>,
    /// Transients in the arena of which nothing is left when a state begins that uses them.
    pub(super) begins: BTreeMap<StateId, Vec<BufferId>>,
    /// Tables of that SDFG.
    pub(super) analyses: Analyses,
    /// The place of the call.
    pub(super) path: ElementPath,
    /// Label of the state that is lowered; nothing between states.
    pub(super) state: Option<&'g str>,
}

/// A transient that is allocated by the first state that uses it, as its size is not known before.
pub(super) struct DeferredTransient {
    /// The transient.
    pub(super) container: ContainerId,
    /// Its memory.
    pub(super) buffer: BufferId,
    /// A variable that is 1 while it is allocated, else 0.
    pub(super) allocated: Symbol,
    /// Variables that keep the values that its layout depends on, with the symbols.
    pub(super) kept: Vec<(Symbol, Symbol)>,
}

impl<'g> CallFrame<'g> {
    /// A call of an SDFG whose returns leave `exit`, before anything of it is known.
    pub(super) fn new(sdfg: &'g Sdfg, exit: JumpTarget, path: ElementPath) -> Self {
        CallFrame {
            sdfg,
            owning_scopes: owning_scopes(sdfg),
            containers: BTreeMap::new(),
            symbols: BTreeMap::new(),
            types: BTreeMap::new(),
            exit,
            exit_used: false,
            innermost: None,
            value_cells: BTreeMap::new(),
            consumed: BTreeMap::new(),
            deferred: Vec::new(),
            begins: BTreeMap::new(),
            analyses: Analyses::new(),
            path,
            state: None,
        }
    }

    /// An expression of the SDFG over the plan's variables.
    pub(super) fn translate(&self, expr: &Expr) -> Expr {
        expr.substitute(&self.symbols)
    }

    /// A subset of the SDFG over the plan's variables.
    pub(super) fn translate_subset(&self, subset: &Subset) -> Subset {
        subset.substitute(&self.symbols)
    }

    /// Type of a symbol.
    pub(super) fn type_of(&self, symbol: &Symbol) -> ScalarType {
        self.types.get(symbol).copied().or_else(|| self.sdfg.symbol_type(symbol)).unwrap_or(ScalarType::I64)
    }

    /// Makes a symbol stand for an expression until the returned old meaning is given back to [`CallFrame::unbind`].
    pub(super) fn bind(&mut self, symbol: &Symbol, value: Expr) -> Option<Expr> {
        self.symbols.insert(symbol.clone(), value)
    }

    /// Gives a symbol its old meaning back.
    pub(super) fn unbind(&mut self, symbol: &Symbol, old: Option<Expr>) {
        match old {
            Some(value) => self.symbols.insert(symbol.clone(), value),
            None => self.symbols.remove(symbol),
        };
    }

    /// Whether an access is to queues.
    pub(super) fn is_stream(&self, access: &Access) -> bool {
        self.sdfg.container(access.container).is_stream()
    }

    /// The path of a node of the state that is lowered, and between states that of a block, for messages.
    pub(super) fn at(&self, label: &str) -> String {
        self.path_of(label).to_string()
    }

    /// The path that [`at`](CallFrame::at) prints.
    pub(super) fn path_of(&self, label: &str) -> ElementPath {
        self.state.map_or_else(|| self.path.clone(), |state| self.path.enter(state)).enter(label)
    }
}
