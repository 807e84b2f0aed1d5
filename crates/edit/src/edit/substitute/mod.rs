//! Replaces symbols by expressions, or renames them, everywhere.
//!
//! Ranges, memlets, shapes, conditions, tasklet code and symbol mappings change together. Nothing is
//! captured: a scope parameter, connector or local with the name of an inserted symbol is renamed first.

mod replacement;
mod state;
mod tasklet;

use std::collections::{BTreeMap, BTreeSet};

use replacement::Replacements;
use sdfg_graph::analysis::symbols::{
    UNDECLARED_SYMBOL, assigned_symbols, free_symbols, free_symbols_of_state,
};
use sdfg_graph::ir::draft::DraftState;
use sdfg_graph::ir::{
    BlockId, BlockKind, Container, ContainerId, ContainerKind, Edge, EdgeId, NestedSdfg, NodeId, NodeKind,
    Sdfg, State, StateId, TransitionId,
};
use sdfg_language::symbolic::{Expr, Symbol};
use sdfg_language::syntax::Expression;
pub(super) use tasklet::{names_of, rename_in_tasklet};

use super::copies::copy_into;
use super::editor::Editor;
use super::subgraph::contents;
use super::{EditError, names};

impl Editor<'_> {
    /// Replaces symbols of an SDFG by expressions, all at once. Symbols of nested SDFGs keep their names and get their values
    /// by the symbol mapping of the call.
    ///
    /// Declarations of replaced symbols are taken back. Symbols that only the expressions mention are declared, with the type
    /// of the symbol that they stand for.
    ///
    /// # Errors
    /// [`EditError::AssignedSymbol`] for symbols that a loop or transition assigns, [`EditError::Captured`] if an expression
    /// mentions one or the name of a container, [`EditError::NotExpressible`] if code cannot hold the expression, and
    /// [`EditError::DimensionsChange`] if a memlet at a code node loses a dimension.
    pub fn substitute(&mut self, values: &BTreeMap<Symbol, Expr>) -> Result<(), EditError> {
        let assigned = assigned_symbols(self.sdfg());
        let replacements = Replacements::new(self.sdfg(), values);
        if let Some(symbol) = replacements.symbols().find(|symbol| assigned.contains(symbol)) {
            return Err(EditError::AssignedSymbol(symbol.clone()));
        }
        if let Some(symbol) = replacements.inserted().into_iter().find(|symbol| assigned.contains(symbol)) {
            return Err(EditError::Captured { symbol });
        }
        self.attempt(|editor| {
            let mut types = Vec::new();
            for symbol in replacements.symbols() {
                let ty = editor.sdfg().symbol_type(symbol);
                let inserted = values.get(symbol).map(Expr::free_symbols).unwrap_or_default();
                types.extend(inserted.into_iter().map(|inner| (inner, ty.unwrap_or(UNDECLARED_SYMBOL))));
            }
            editor.replace_everywhere(&replacements)?;
            let kept = replacements.inserted();
            for symbol in replacements.symbols().filter(|symbol| !kept.contains(symbol)) {
                if editor.sdfg().symbol_type(symbol).is_some() {
                    editor.put_symbol(symbol, None);
                }
            }
            for (symbol, ty) in types {
                if editor.sdfg().symbol_type(&symbol).is_none() {
                    editor.put_symbol(&symbol, Some(ty));
                }
            }
            Ok(())
        })
    }

    /// Replaces symbols by expressions inside the scope of `entry`, or with `None` in the whole state. The ranges of the
    /// scope itself stay as they are, so that a transformation may first change what an entry binds and then tell its
    /// contents.
    ///
    /// # Errors
    /// As [`substitute`](Editor::substitute); symbols that control flow assigns may be replaced here.
    pub fn substitute_in_scope(
        &mut self,
        state: StateId,
        entry: Option<NodeId>,
        values: &BTreeMap<Symbol, Expr>,
    ) -> Result<(), EditError> {
        let found = self.state(state)?;
        let replacements = Replacements::new(self.sdfg(), values);
        no_containers(self.sdfg(), &replacements)?;
        let Some(entry) = entry else {
            let changed = state::substituted(self.sdfg(), found, None, &replacements, &BTreeSet::new())?;
            self.adopt(state, &changed);
            return Ok(());
        };
        super::expect_entry(found, entry)?;
        // The scope alone is copied: a state may be much larger.
        let part = ScopeCopy::of(self, state, entry);
        let root = part.nodes.iter().find(|(_, original)| **original == entry).map(|(copy, _)| *copy);
        let changed = state::substituted(self.sdfg(), &part.state, root, &replacements, &BTreeSet::new())?;
        self.adopt_part(state, &part, &changed);
        Ok(())
    }

    /// A copy of a state with symbols replaced by expressions.
    pub(super) fn substituted_state(
        &self,
        state: StateId,
        values: &BTreeMap<Symbol, Expr>,
    ) -> Result<State, EditError> {
        let replacements = Replacements::new(self.sdfg(), values);
        no_containers(self.sdfg(), &replacements)?;
        state::substituted(self.sdfg(), self.state(state)?, None, &replacements, &BTreeSet::new())
    }

    /// Replaces symbols by expressions in a condition or value at a block with this label.
    pub(super) fn replace_in_expression(
        &self,
        value: &mut Expression,
        values: &BTreeMap<Symbol, Expr>,
        label: &str,
    ) -> Result<(), EditError> {
        Replacements::new(self.sdfg(), values).control(self.sdfg(), value, label)
    }

    /// Gives a symbol another name, where it is declared, assigned and used. Parameters of scopes that have the old name
    /// hide the symbol and keep it.
    ///
    /// # Errors
    /// [`EditError::NoSymbol`], [`EditError::InvalidName`], and [`EditError::NameTaken`] if a container or another symbol of
    /// the SDFG has the name.
    pub fn rename_symbol(&mut self, from: &Symbol, to: &str) -> Result<(), EditError> {
        names::check(to)?;
        let new = Symbol::new(to).map_err(|_| EditError::InvalidName { name: to.to_owned() })?;
        let sdfg = self.sdfg();
        let assigned = assigned_symbols(sdfg);
        let free = free_symbols(sdfg);
        if !free.contains(from) && !assigned.contains(from) {
            return Err(EditError::NoSymbol(from.clone()));
        }
        if free.contains(&new) || assigned.contains(&new) || sdfg.find_container(to).is_some() {
            return Err(EditError::NameTaken { name: to.to_owned() });
        }
        let mut replacements =
            Replacements::new(sdfg, &BTreeMap::from([(from.clone(), Expr::symbol(new.clone()))]));
        replacements.same_type(from, &new);
        self.attempt(|editor| {
            editor.replace_everywhere(&replacements)?;
            let declared: Vec<_> =
                editor.sdfg().symbols().map(|(symbol, ty)| (symbol.clone(), ty)).collect();
            if declared.iter().any(|(symbol, _)| symbol == from) {
                let renamed = declared.into_iter().map(|(symbol, ty)| {
                    (if symbol == *from { new.clone() } else { symbol }, ty)
                });
                editor.put_symbols(renamed.collect());
            }
            for block in blocks(editor.sdfg()) {
                let counts = |kind: &BlockKind| matches!(kind, BlockKind::Loop(of) if of.symbol.as_ref() == Some(from));
                if counts(&editor.sdfg().block(block).kind) {
                    editor.set_block(block, |block| {
                        if let BlockKind::Loop(repeated) = &mut block.kind {
                            repeated.symbol = Some(new.clone());
                        }
                    });
                }
            }
            for id in transitions(editor.sdfg()) {
                if editor.sdfg().transition(id).assignments.iter().any(|(symbol, _)| symbol == from) {
                    editor.set_transition(id, |transition| {
                        let assigned = transition.assignments.iter_mut().map(|(symbol, _)| symbol);
                        assigned.filter(|symbol| *symbol == from).for_each(|symbol| *symbol = new.clone());
                    });
                }
            }
            Ok(())
        })
    }

    /// Replaces in containers, control flow and states.
    fn replace_everywhere(&mut self, replacements: &Replacements) -> Result<(), EditError> {
        if replacements.is_empty() {
            return Ok(());
        }
        let sdfg = self.sdfg();
        no_containers(sdfg, replacements)?;
        let mut changed = Vec::new();
        for (id, state) in sdfg.states().filter(|(_, state)| uses(state, replacements)) {
            changed.push((id, state::substituted(sdfg, state, None, replacements, &BTreeSet::new())?));
        }
        for (id, state) in changed {
            self.adopt(id, &state);
        }
        self.replace_in_control(replacements)?;
        let containers: Vec<ContainerId> = self.sdfg().containers().map(|(id, _)| id).collect();
        for id in containers {
            let before = self.sdfg().container(id);
            let mut after = before.clone();
            shape(&mut after, replacements);
            if after.kind != before.kind || after.distribution != before.distribution {
                self.set_container(id, |container| *container = after);
            }
        }
        Ok(())
    }

    /// Puts those nodes and edges of a changed copy of a state that are others in the place of what they were.
    fn adopt(&mut self, id: StateId, changed: &State) {
        let before = self.graph(id);
        let edges = changed.edges().filter(|(edge, found)| !is_same_edge(before.edge(*edge), found));
        let nodes =
            changed.nodes().filter(|(node, found)| !is_same_kind(&before.node(*node).kind, &found.kind));
        let (edges, nodes): (Vec<_>, Vec<_>) = (edges.collect(), nodes.collect());
        for (edge, found) in edges {
            let before = self.graph(id).edge(edge);
            let (src, dst) = (found.src_connector.clone(), found.dst_connector.clone());
            if (&src, &dst) != (&before.src_connector, &before.dst_connector) {
                // Its nodes stay, so that no cycle is closed.
                let _ = self.move_edge(id, edge, (found.src, src), (found.dst, dst));
            }
            if self.graph(id).edge(edge).memlet != found.memlet {
                self.put_memlet(id, edge, found.memlet.clone());
            }
        }
        for (node, found) in nodes {
            self.set_node(id, node, found.clone());
        }
    }

    /// As [`adopt`](Editor::adopt), for a copy of a scope.
    fn adopt_part(&mut self, id: StateId, part: &ScopeCopy, changed: &State) {
        for (edge, found) in
            changed.edges().filter(|(edge, found)| !is_same_edge(part.state.edge(*edge), found))
        {
            let Some(original) = part.edges.get(&edge).copied() else { continue };
            let before = self.graph(id).edge(original).clone();
            let (src, dst) = (found.src_connector.clone(), found.dst_connector.clone());
            if (&src, &dst) != (&before.src_connector, &before.dst_connector) {
                // Its nodes stay, so that no cycle is closed.
                let _ = self.move_edge(id, original, (before.src, src), (before.dst, dst));
            }
            if before.memlet != found.memlet {
                self.put_memlet(id, original, found.memlet.clone());
            }
        }
        for (node, found) in changed.nodes() {
            if is_same_kind(&part.state.node(node).kind, &found.kind) {
                continue;
            }
            if let Some(original) = part.nodes.get(&node).copied() {
                self.set_node(id, original, found.clone());
            }
        }
    }

    fn replace_in_control(&mut self, replacements: &Replacements) -> Result<(), EditError> {
        for id in blocks(self.sdfg()) {
            let sdfg = self.sdfg();
            let found = sdfg.block(id);
            let mut kind = found.kind.clone();
            for value in kind.expressions_mut() {
                replacements.control(sdfg, value, &found.label)?;
            }
            if kind.expressions() != found.kind.expressions() {
                self.set_block(id, |block| block.kind = kind);
            }
        }
        for id in transitions(self.sdfg()) {
            let sdfg = self.sdfg();
            let found = sdfg.transition(id);
            let mut transition = found.clone();
            let label = &sdfg.block(transition.src).label;
            for value in transition.expressions_mut() {
                replacements.control(sdfg, value, label)?;
            }
            if transition.assignments != found.assignments || transition.condition != found.condition {
                self.set_transition(id, |found| *found = transition);
            }
        }
        Ok(())
    }
}

/// A copy of a scope in a state of its own.
struct ScopeCopy {
    state: State,
    /// The original of each node and edge.
    nodes: BTreeMap<NodeId, NodeId>,
    edges: BTreeMap<EdgeId, EdgeId>,
}

impl ScopeCopy {
    fn of(editor: &mut Editor<'_>, state: StateId, entry: NodeId) -> Self {
        let mut originals = contents(editor, state, entry);
        originals.insert(entry);
        let graph = editor.graph(state);
        originals.extend(graph.exit_of(entry));
        let mut copy = State::new(&graph.label);
        let copies = copy_into(&mut copy, originals.iter().map(|id| (*id, graph.node(*id).clone())));
        let mut edges = BTreeMap::new();
        for id in originals.iter().filter(|id| **id != entry).flat_map(|id| graph.in_edges(*id)) {
            let edge = graph.edge(id);
            if let (Some(src), Some(dst)) = (copies.get(&edge.src), copies.get(&edge.dst)) {
                edges.insert(copy.add_edge(Edge { src: *src, dst: *dst, ..edge.clone() }), id);
            }
        }
        let nodes = copies.into_iter().map(|(original, copy)| (copy, original)).collect();
        ScopeCopy { state: copy, nodes, edges }
    }
}

fn is_same_edge(before: &Edge, after: &Edge) -> bool {
    before.memlet == after.memlet
        && (&before.src_connector, &before.dst_connector) == (&after.src_connector, &after.dst_connector)
}

/// Whether symbols were replaced in nothing of a node. Of a nested SDFG, the mapping alone changes.
fn is_same_kind(before: &NodeKind, after: &NodeKind) -> bool {
    match before {
        NodeKind::Access(_) | NodeKind::MapExit(_) | NodeKind::ConsumeExit(_) => true,
        NodeKind::Tasklet(before) => matches!(after, NodeKind::Tasklet(after) if before == after),
        NodeKind::MapEntry(before) => matches!(after, NodeKind::MapEntry(after) if before == after),
        NodeKind::ConsumeEntry(before) => matches!(after, NodeKind::ConsumeEntry(after) if before == after),
        NodeKind::Reduce(before) => matches!(after, NodeKind::Reduce(after) if before == after),
        NodeKind::Library(before) => matches!(after, NodeKind::Library(after) if before == after),
        NodeKind::Nested(before) => {
            matches!(after, NodeKind::Nested(after) if before.symbol_mapping == after.symbol_mapping)
        }
    }
}

/// Whether a state may hold one of the symbols that are replaced. The names of properties of library nodes are not known to
/// be symbols before they are.
fn uses(state: &State, replacements: &Replacements) -> bool {
    let free = free_symbols_of_state(state);
    replacements.symbols().any(|symbol| free.contains(symbol))
        || state.nodes().any(|(_, node)| matches!(node.kind, NodeKind::Library(_)))
}

/// The state of a nested SDFG with symbols replaced by expressions of the caller. Scopes get other names for what they bind
/// where it is in `avoid`.
pub(super) fn inlined(
    caller: &Sdfg,
    nested: &NestedSdfg,
    state: StateId,
    values: &BTreeMap<Symbol, Expr>,
    avoid: &BTreeSet<Symbol>,
) -> Result<State, EditError> {
    let replacements = of_caller(caller, nested, values)?;
    state::substituted(&nested.sdfg, nested.sdfg.state(state), None, &replacements, avoid)
}

/// A condition or value in the control flow of a nested SDFG with symbols replaced by expressions of the caller.
pub(super) fn inlined_value(
    caller: &Sdfg,
    nested: &NestedSdfg,
    value: &Expression,
    values: &BTreeMap<Symbol, Expr>,
    label: &str,
) -> Result<Expression, EditError> {
    let mut value = value.clone();
    of_caller(caller, nested, values)?.control(&nested.sdfg, &mut value, label)?;
    Ok(value)
}

/// Replacements of symbols of a nested SDFG by expressions of the caller.
fn of_caller(
    caller: &Sdfg,
    nested: &NestedSdfg,
    values: &BTreeMap<Symbol, Expr>,
) -> Result<Replacements, EditError> {
    let mut replacements = Replacements::new(&nested.sdfg, values);
    for symbol in replacements.inserted() {
        let types = [&nested.sdfg, caller].map(|sdfg| sdfg.symbol_type(&symbol).unwrap_or(UNDECLARED_SYMBOL));
        if nested.sdfg.symbol_type(&symbol).is_some() && types[0] != types[1] {
            return Err(EditError::Captured { symbol });
        }
        replacements.set_type(symbol, types[1]);
    }
    Ok(replacements)
}

/// Replaces symbols in the shape of a container of a nested SDFG.
pub(super) fn shape_of(container: &mut Container, nested: &NestedSdfg, values: &BTreeMap<Symbol, Expr>) {
    shape(container, &Replacements::new(&nested.sdfg, values));
}

fn no_containers(sdfg: &Sdfg, replacements: &Replacements) -> Result<(), EditError> {
    let is_container = |symbol: &Symbol| sdfg.find_container(symbol.as_str()).is_some();
    match replacements.inserted().into_iter().find(is_container) {
        Some(symbol) => Err(EditError::Captured { symbol }),
        None => Ok(()),
    }
}

fn shape(container: &mut Container, replacements: &Replacements) {
    let expr = |expr: &mut Expr| replacements.expr(expr);
    match &mut container.kind {
        ContainerKind::Scalar => {}
        ContainerKind::Array(layout) | ContainerKind::View(layout) | ContainerKind::Reference(layout) => {
            layout.shape.iter_mut().chain(&mut layout.strides).for_each(expr);
            expr(&mut layout.offset);
            expr(&mut layout.total_size);
        }
        ContainerKind::Stream { shape, capacity } => shape.iter_mut().chain(capacity).for_each(expr),
    }
    container.distribution.exprs_mut().for_each(expr);
}

fn blocks(sdfg: &Sdfg) -> Vec<BlockId> {
    sdfg.blocks().map(|(id, _)| id).collect()
}

fn transitions(sdfg: &Sdfg) -> Vec<TransitionId> {
    sdfg.transitions().map(|(id, _)| id).collect()
}
