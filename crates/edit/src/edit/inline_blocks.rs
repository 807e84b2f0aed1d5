//! Inlines the blocks of a nested SDFG at its call: its control flow becomes a part of that of the caller.

use std::collections::{BTreeMap, BTreeSet};

use sdfg_graph::analysis::symbols::{UNDECLARED_SYMBOL, assigned_symbols};
use sdfg_graph::analysis::{RegionGraph, ancestors, computes_in_i64, control_code_of, integer_of};
use sdfg_graph::ir::draft::DraftState;
use sdfg_graph::ir::{
    Block, BlockId, BlockKind, Branch, ContainerId, Flow, Loop, NestedSdfg, NodeId, NodeKind, RegionId, Sdfg,
    State, StateId, Transition,
};
use sdfg_graph::workspace::fresh;
use sdfg_language::subset::{Range, Subset};
use sdfg_language::symbolic::{Expr, Symbol};
use sdfg_language::syntax::{BinaryOp, Expression, ExpressionKind, Index, Name};

use super::control::expect_state_block;
use super::editor::Editor;
use super::inline::{
    Meaning, bound_part, keep_their_types, not_sized_in_scopes, outside, own_copy, translated,
};
use super::nested::check_conditions;
use super::streams::lifetime_outside;
use super::{EditError, expect_node, names, substitute};

impl Editor<'_> {
    /// Puts the blocks of a nested SDFG after the state of its call, in the place of the call. Its arguments become the
    /// containers that they were bound to, its transients and the symbols that it sets get free names, and other symbols their
    /// values. What the call depends on moves to a state before, everything else to a state after. The program means the same
    /// as before.
    ///
    /// # Errors
    /// [`EditError::ControlFlow`] for a call in a scope, for returns in loops and branches, for symbols from data, and if other
    /// nodes write what the call writes; [`EditError::Container`], [`EditError::Inexact`] and [`EditError::DimensionsChange`]
    /// as [`inline_nested`](Editor::inline_nested); [`EditError::AssignedSymbol`] for symbols of another type than `i64` that
    /// the nested SDFG sets; [`EditError::Captured`] for symbols with the name of a container; and those of
    /// [`split_state`](Editor::split_state).
    pub fn inline_blocks(&mut self, state: StateId, node: NodeId) -> Result<(), EditError> {
        let found = expect_node(self.state(state)?, node)?;
        let label = found.label.clone();
        let NodeKind::Nested(nested) = &found.kind else {
            return Err(EditError::WrongKind { label, found: found.kind.noun(), expected: "nested SDFGs" });
        };
        let nested = nested.clone();
        let refuse = |label: &str, reason| EditError::ControlFlow { label: label.to_owned(), reason };
        if self.scope_of(state, node).is_some() {
            return Err(refuse(&label, "a scope repeats nodes, not blocks"));
        }
        if nested.inputs.iter().any(|input| nested.sdfg.find_container(&input.name).is_none()) {
            return Err(refuse(&label, "a symbol of the nested SDFG gets its value from data"));
        }
        if let Some(inner) = inner_return(&nested.sdfg) {
            return Err(refuse(&inner, "it returns from within a loop or branch"));
        }
        let all = nested.sdfg.states().flat_map(|(_, state)| state.nodes().map(|(_, node)| node));
        check_conditions(&nested.sdfg, all)?;
        let runs = |kind: &BlockKind| matches!(kind, BlockKind::State(id) if *id == state);
        let block = self.sdfg().blocks().find(|(_, block)| runs(&block.kind)).map(|(id, _)| id);
        let block = block.ok_or(EditError::NoState(state))?;
        self.attempt(|editor| {
            let (block, node) = editor.isolate(block, node)?;
            let state = expect_state_block(editor.sdfg(), block)?;
            let blocks = Blocks::new(editor, state, node, &nested, &label)?;
            for id in editor.graph(state).nodes().map(|(id, _)| id).collect::<Vec<_>>() {
                editor.take_node(state, id);
            }
            blocks.put(editor, block)
        })
    }

    /// Cuts the state of a call, so that one state has the call and the access nodes at it alone. Gives its block and the call.
    fn isolate(&mut self, block: BlockId, node: NodeId) -> Result<(BlockId, NodeId), EditError> {
        let state = expect_state_block(self.sdfg(), block)?;
        let graph = self.graph(state);
        let label = graph.node(node).label.clone();
        let is_data = |id: NodeId| graph.node(id).kind.container().is_some();
        // An access node that only reads from the call state on needs no state before.
        let begins = |id: &NodeId| {
            let reads = |flow: &Flow| !matches!(flow, Flow::Order);
            is_data(*id)
                && graph.each_in_edge(*id).next().is_none()
                && graph.each_out_edge(*id).all(|(_, edge)| edge.dst != node || reads(&edge.memlet.flow))
        };
        let earlier: Vec<NodeId> =
            ancestors(graph, [node]).into_iter().filter(|id| *id != node && !begins(id)).collect();
        let (block, state, node) = if earlier.is_empty() {
            (block, state, node)
        } else {
            let first = ancestors(graph, earlier);
            let block = self.split_state(block, &first)?;
            let state = expect_state_block(self.sdfg(), block)?;
            let node = self.find(state, &label).ok_or(EditError::NoNode(node))?;
            (block, state, node)
        };
        let graph = self.graph(state);
        let ends = graph.each_in_edge(node).map(|(_, edge)| (edge.src, edge));
        let ends = ends.chain(graph.each_out_edge(node).map(|(_, edge)| (edge.dst, edge)));
        let mut near: BTreeSet<NodeId> =
            ends.filter(|(_, edge)| !matches!(edge.memlet.flow, Flow::Order)).map(|(end, _)| end).collect();
        near.insert(node);
        if !ancestors(graph, near.iter().copied()).is_subset(&near) {
            let reason = "other nodes write to what the call writes";
            return Err(EditError::ControlFlow { label, reason });
        }
        if graph.nodes().any(|(id, _)| !near.contains(&id)) {
            self.split_state(block, &near)?;
        }
        let graph = self.graph(state);
        if graph.edges().any(|(_, edge)| edge.src != node && edge.dst != node) {
            let reason = "data are copied beside the call";
            return Err(EditError::ControlFlow { label, reason });
        }
        Ok((block, node))
    }
}

/// Label of a return in a loop or branch.
fn inner_return(sdfg: &Sdfg) -> Option<String> {
    let is_inner = |block: &Block| block.region != sdfg.body() && matches!(block.kind, BlockKind::Return);
    sdfg.blocks().find(|(_, block)| is_inner(block)).map(|(_, block)| block.label.clone())
}

/// The blocks of a nested SDFG on their way to the caller.
struct Blocks<'n> {
    nested: &'n NestedSdfg,
    /// Label of the call.
    label: &'n str,
    meanings: BTreeMap<ContainerId, Meaning>,
    /// The values of symbols in the caller. Those that the blocks set have new names.
    values: BTreeMap<Symbol, Expr>,
    /// First values of symbols that the blocks set and the call gives.
    first: Vec<(Symbol, Expression)>,
    avoid: BTreeSet<Symbol>,
}

impl<'n> Blocks<'n> {
    fn new(
        editor: &mut Editor<'_>,
        state: StateId,
        node: NodeId,
        nested: &'n NestedSdfg,
        label: &'n str,
    ) -> Result<Self, EditError> {
        let inner = &nested.sdfg;
        keep_their_types(editor.sdfg(), nested, label)?;
        let is_narrow =
            |sdfg: &Sdfg, symbol: &Symbol| sdfg.symbol_type(symbol).is_some_and(|ty| ty != UNDECLARED_SYMBOL);
        let (mut values, mut first) = (BTreeMap::new(), Vec::new());
        let used = names::used(inner);
        let variables = [names::variables(editor.sdfg()), names::variables(inner)];
        for symbol in assigned_symbols(inner).into_iter().collect::<BTreeSet<_>>() {
            let given = nested.symbol_mapping.iter().find(|(own, _)| *own == symbol).map(|(_, value)| value);
            let mixes = given
                .is_some_and(|value| value.free_symbols().iter().any(|used| is_narrow(editor.sdfg(), used)));
            if is_narrow(inner, &symbol) || mixes {
                return Err(EditError::AssignedSymbol(symbol));
            }
            // Its own name, unless something of the caller has it.
            let taken = editor.names();
            let is_taken = |name: &str| {
                taken.contains(name)
                    || name != symbol.as_str() && used.contains(name)
                    || variables.iter().any(|variables| variables.contains(name))
            };
            let name = fresh(symbol.as_str(), is_taken);
            editor.note_name(&name);
            let new = Symbol::new(&name).map_err(|_| EditError::InvalidName { name: name.clone() })?;
            if let Some(value) = given {
                let reason = "a constant does not fit 64 bits, or an operand may be a fraction";
                let expression = value.to_expression().ok_or_else(|| EditError::NotExpressible {
                    value: value.clone(),
                    label: label.to_owned(),
                    reason,
                })?;
                first.push((new.clone(), expression));
            }
            values.insert(symbol, Expr::symbol(new));
        }
        for (symbol, value) in &nested.symbol_mapping {
            values.entry(symbol.clone()).or_insert_with(|| value.clone());
        }
        let inserted = values.values().flat_map(Expr::free_symbols);
        if let Some(symbol) = inserted.into_iter().find(|name| inner.find_container(name.as_str()).is_some())
        {
            return Err(EditError::Captured { symbol });
        }
        let avoid = editor.sdfg().symbols().map(|(symbol, _)| symbol.clone()).collect();
        let mut blocks = Blocks { nested, label, meanings: BTreeMap::new(), values, first, avoid };
        for (id, container) in inner.containers() {
            let meaning = if container.is_argument() {
                bound_part(editor.graph(state), node, nested, id)?
            } else {
                let mut copy = container.clone();
                copy.lifetime = lifetime_outside(inner, id, editor.sdfg(), state)?;
                not_sized_in_scopes(nested, id)?;
                substitute::shape_of(&mut copy, nested, &blocks.values);
                Meaning::Own(own_copy(editor, copy, &BTreeSet::new())?)
            };
            blocks.meanings.insert(id, meaning);
        }
        blocks.check_aliases(editor.sdfg())?;
        Ok(blocks)
    }

    /// Refuses views and references of arguments that are parts: the layout of a part is another one.
    fn check_aliases(&self, caller: &Sdfg) -> Result<(), EditError> {
        let Some((_, alias)) = self.nested.sdfg.containers().find(|(_, container)| container.is_alias())
        else {
            return Ok(());
        };
        let is_whole = |meaning: &Meaning| match meaning {
            Meaning::Own(_) => true,
            Meaning::Part(access, kept) => {
                let shape = caller.container(access.container).shape();
                kept.len() == shape.len() && *access.subset() == Subset::full(shape)
            }
        };
        if self.meanings.values().all(is_whole) {
            return Ok(());
        }
        let reason = "a view or reference of an argument would get the layout of what that is bound to";
        Err(EditError::Container { container: alias.name.clone(), reason })
    }

    /// Puts the blocks after an empty state, whose transitions the last of them take over.
    fn put(&self, editor: &mut Editor<'_>, block: BlockId) -> Result<(), EditError> {
        let inner = &self.nested.sdfg;
        let Some(start) = inner.region(inner.body()).start else { return Ok(()) };
        let region = editor.sdfg().block(block).region;
        let after = editor.insert_state_after(block)?;
        let copies = self.put_region(editor, inner.body(), region)?;
        let copy = |block: BlockId| copies.get(&block).copied().ok_or(EditError::NoBlock(block));
        let start = copy(start)?;
        for id in editor.sdfg().transitions_from(block) {
            editor.set_transition(id, |transition| {
                transition.dst = start;
                transition.assignments.clone_from(&self.first);
            });
        }
        // The blocks are listed where the call was.
        let new: Vec<BlockId> =
            inner.region(inner.body()).blocks.iter().map(|block| copy(*block)).collect::<Result<_, _>>()?;
        editor.set_region(region, |region| {
            region.blocks.retain(|id| *id != after && !new.contains(id));
            let at =
                region.blocks.iter().position(|id| *id == block).map_or(region.blocks.len(), |at| at + 1);
            region.blocks.splice(at..at, new.into_iter().chain([after]));
        });
        let graph = RegionGraph::of(inner, inner.body());
        for id in &inner.region(inner.body()).blocks {
            let returns = matches!(inner.block(*id).kind, BlockKind::Return);
            if returns || graph.may_end_after(*id) {
                let src = copy(*id)?;
                editor.put_transition(Transition {
                    src,
                    dst: after,
                    condition: None,
                    assignments: Vec::new(),
                    loc: None,
                });
            }
        }
        Ok(())
    }

    /// Copies the blocks of a region with their transitions. Gives the copy of each.
    fn put_region(
        &self,
        editor: &mut Editor<'_>,
        from: RegionId,
        into: RegionId,
    ) -> Result<BTreeMap<BlockId, BlockId>, EditError> {
        let inner = &self.nested.sdfg;
        let found = inner.region(from);
        let had_start = editor.sdfg().region(into).start;
        let mut copies = BTreeMap::new();
        for block in &found.blocks {
            copies.insert(*block, self.put_block(editor, *block, into)?);
        }
        for id in &found.transitions {
            let mut transition = inner.transition(*id).clone();
            let source = inner.block(transition.src);
            // What is written behind a return is never tried.
            if matches!(source.kind, BlockKind::Return) {
                continue;
            }
            for (symbol, value) in &mut transition.assignments {
                *symbol = self.renamed(symbol);
                *value = self.value(editor.sdfg(), value, &source.label)?;
            }
            if let Some(condition) = &mut transition.condition {
                *condition = self.value(editor.sdfg(), condition, &source.label)?;
            }
            let (Some(src), Some(dst)) = (copies.get(&transition.src), copies.get(&transition.dst)) else {
                continue;
            };
            (transition.src, transition.dst) = (*src, *dst);
            editor.put_transition(transition);
        }
        let start = had_start.or_else(|| found.start.and_then(|start| copies.get(&start).copied()));
        editor.set_region(into, |region| region.start = start);
        Ok(copies)
    }

    fn put_block(
        &self,
        editor: &mut Editor<'_>,
        id: BlockId,
        region: RegionId,
    ) -> Result<BlockId, EditError> {
        let found = self.nested.sdfg.block(id).clone();
        let wanted = format!("{}.{}", self.label, found.label);
        let label = match editor.sdfg().find_block(&wanted) {
            None => wanted,
            Some(_) => editor.derived_block_label(&wanted, "copy"),
        };
        let kind = match found.kind {
            BlockKind::State(state) => {
                let mut copy = self.state(editor.sdfg(), state)?;
                copy.label.clone_from(&label);
                let (block, state) = editor.put_state(region, copy);
                let calls = editor.graph(state).nodes();
                let calls = calls.filter(|(_, node)| matches!(node.kind, NodeKind::Nested(_)));
                for call in calls.map(|(id, _)| id).collect::<Vec<_>>() {
                    editor.mark_inside(state, call);
                }
                return Ok(block);
            }
            // It ends the call alone.
            BlockKind::Return => return Ok(editor.put_state(region, State::new(label)).0),
            BlockKind::Loop(repeated) => {
                let value = |value: &Expression| self.value(editor.sdfg(), value, &found.label);
                let (init, update) = (
                    repeated.init.as_ref().map(value).transpose()?,
                    repeated.update.as_ref().map(value).transpose()?,
                );
                let condition = value(&repeated.condition)?;
                let symbol = repeated.symbol.as_ref().map(|symbol| self.renamed(symbol));
                let body = editor.put_region();
                self.put_region(editor, repeated.body, body)?;
                BlockKind::Loop(Loop { symbol, init, condition, update, body, ..repeated })
            }
            BlockKind::Branch(Branch { arms, otherwise }) => {
                let mut copied = Vec::with_capacity(arms.len());
                for (condition, arm) in &arms {
                    let condition = self.value(editor.sdfg(), condition, &found.label)?;
                    let copy = editor.put_region();
                    self.put_region(editor, *arm, copy)?;
                    copied.push((condition, copy));
                }
                let otherwise = match otherwise {
                    Some(arm) => {
                        let copy = editor.put_region();
                        self.put_region(editor, arm, copy)?;
                        Some(copy)
                    }
                    None => None,
                };
                BlockKind::Branch(Branch { arms: copied, otherwise })
            }
            BlockKind::Break | BlockKind::Continue => found.kind,
        };
        Ok(editor.put_block(Block { label, kind, region, loc: found.loc }))
    }

    /// A state with containers and symbols of the caller.
    fn state(&self, caller: &Sdfg, id: StateId) -> Result<State, EditError> {
        let inner = substitute::inlined(caller, self.nested, id, &self.values, &self.avoid)?;
        let mut copy = inner.clone();
        for (id, node) in inner.nodes() {
            *copy.node_mut(id) = outside(&self.meanings, node);
        }
        for (id, _) in inner.edges() {
            *copy.memlet_mut(id) = translated(caller, &self.meanings, &inner, id)?;
        }
        Ok(copy)
    }

    /// The name in the caller of a symbol that the blocks set.
    fn renamed(&self, symbol: &Symbol) -> Symbol {
        self.values.get(symbol).and_then(Expr::as_symbol).unwrap_or(symbol).clone()
    }

    /// A condition or value with containers and symbols of the caller.
    fn value(&self, caller: &Sdfg, value: &Expression, label: &str) -> Result<Expression, EditError> {
        let value = substitute::inlined_value(caller, self.nested, value, &self.values, label)?;
        let inner = &self.nested.sdfg;
        let mut refused = None;
        let rewritten = value.rewrite(&mut |part| {
            let (name, indices) = match &part.kind {
                ExpressionKind::Name(name) => (name, None),
                ExpressionKind::Subscript { base, indices } => (&base.text, Some(indices)),
                ExpressionKind::Integer(_)
                | ExpressionKind::Float(_)
                | ExpressionKind::Imaginary(_)
                | ExpressionKind::Bool(_)
                | ExpressionKind::Unary { .. }
                | ExpressionKind::Binary { .. }
                | ExpressionKind::Compare { .. }
                | ExpressionKind::Conditional { .. }
                | ExpressionKind::Call { .. } => return None,
            };
            let id = inner.find_container(name)?;
            let element = self.element(caller, id, indices.map(Vec::as_slice));
            if element.is_none() {
                refused = Some(name.clone());
            }
            element
        });
        match refused {
            None => Ok(rewritten),
            Some(container) => {
                let reason = "control flow reads a part of it that no expression names outside";
                Err(EditError::Container { container, reason })
            }
        }
    }

    /// The element of the caller that control flow reads under the name of an inner container.
    fn element(&self, caller: &Sdfg, id: ContainerId, indices: Option<&[Index]>) -> Option<Expression> {
        let named = |id: ContainerId, indices: Vec<Index>| {
            let name = &caller.container(id).name;
            let plain = Expression::name(name.as_str());
            if indices.is_empty() {
                return plain;
            }
            let base = Name { text: name.clone(), span: plain.span };
            Expression { kind: ExpressionKind::Subscript { base, indices }, span: plain.span }
        };
        match self.meanings.get(&id)? {
            Meaning::Own(own) => Some(named(*own, indices.unwrap_or_default().to_vec())),
            Meaning::Part(access, kept) => {
                let indices = indices.unwrap_or_default();
                if indices.len() != kept.len() || access.is_queue() {
                    return None;
                }
                let mut outer = Vec::with_capacity(access.subset().rank());
                for (dimension, range) in access.subset().0.iter().enumerate() {
                    let at = kept.iter().position(|kept| *kept == dimension);
                    let Some(Index::Point(inner)) = at.and_then(|at| indices.get(at)) else {
                        // A dimension that the argument does not have, or a range of elements.
                        if at.is_some() || !range.is_index() {
                            return None;
                        }
                        outer.push(Index::Point(control_code_of(caller, &range.begin)?));
                        continue;
                    };
                    if !range.tile.is_one() {
                        return None;
                    }
                    outer.push(Index::Point(index(caller, range, inner)?));
                }
                Some(named(access.container, outer))
            }
        }
    }
}

/// An index into the range of a bound part, as an index into the container. The index has names of the caller already.
fn index(caller: &Sdfg, range: &Range, inner: &Expression) -> Option<Expression> {
    if let Some(inner) = integer_of(caller, inner) {
        return control_code_of(caller, &(&range.begin + &(&range.step * &inner)));
    }
    if range.begin.is_zero() && range.step.is_one() {
        return Some(inner.clone());
    }
    let mut index = inner.clone();
    if !computes_in_i64(caller, inner) {
        index = Expression::call(UNDECLARED_SYMBOL.name(), vec![index]);
    }
    if !range.step.is_one() {
        index = Expression::binary(BinaryOp::Multiply, control_code_of(caller, &range.step)?, index);
    }
    if range.begin.is_zero() {
        return Some(index);
    }
    Some(Expression::binary(BinaryOp::Add, control_code_of(caller, &range.begin)?, index))
}
