//! Lifts states, and the transitions between them with their conditions and assignments.
//!
//! Our assignments of a transition take effect together; DaCe's take effect one after the other. The writer
//! orders assignments so that none uses a symbol that an earlier one changed. Where no such order exists, an
//! additional symbol keeps the old value.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use sdfg::analysis::symbols::{assigned_symbols, free_symbols_of_state};
use sdfg::analysis::{control_environment, reached};
use sdfg::dtype::ScalarType;
use sdfg::ir::{BlockId, BlockKind, ContainerKind, NodeKind, TransitionId};
use sdfg::symbolic::{Expr, Symbol};
use sdfg::syntax::{BinaryOp, Expression, ExpressionKind, UnaryOp};
use sdfg::tasklet::{Dialect, Environment, typecheck_expression};

use super::functions::{convertible, element, spelled_python};
use super::{SdfgLifting, all};
use crate::model::{Block, InterstateEdge, Region, State};
use crate::report::{Code, Failed};
use crate::text::{map_expression, rounded_down, to_name};

impl SdfgLifting<'_> {
    /// Symbols that the caller does not give and that every assignment converts to one narrow type: they have this type in DaCe.
    pub(super) fn narrow_symbols(&self) -> BTreeMap<Symbol, ScalarType> {
        let mut types: BTreeMap<Symbol, Option<ScalarType>> = BTreeMap::new();
        for (_, transition) in self.sdfg.transitions() {
            for (symbol, value) in &transition.assignments {
                let ty = conversion_of(value).map(|(ty, _)| ty).filter(|ty| is_narrow(*ty));
                let known = types.entry(symbol.clone()).or_insert(ty);
                *known = known.filter(|known| Some(*known) == ty);
            }
        }
        let given: BTreeSet<&Symbol> = self.sdfg.symbols().map(|(symbol, _)| symbol).collect();
        let types = types.into_iter().filter(|(symbol, _)| !given.contains(symbol));
        types.filter_map(|(symbol, ty)| Some((symbol, ty?))).collect()
    }

    /// The states that can be reached, which DaCe asks for, and the edges between them.
    pub(super) fn body(&self) -> Result<Region, Failed> {
        let region = self.sdfg.region(self.sdfg.body());
        let Some(start) = region.start else {
            let kind = crate::model::BlockKind::State(State::default());
            let blocks = vec![Block { label: "empty".to_owned(), kind }];
            return Ok(Region { blocks, edges: Vec::new(), start: Some(0) });
        };
        let reached = self.reached(start);
        let kept: Vec<BlockId> =
            region.blocks.iter().copied().filter(|block| reached.contains(block)).collect();
        let places: BTreeMap<BlockId, usize> =
            kept.iter().enumerate().map(|(place, block)| (*block, place)).collect();
        let blocks = all(kept.iter().map(|block| self.block(*block)));
        let edges = all(kept.iter().flat_map(|block| self.edges(*block, &places)));
        let (mut blocks, mut edges) = (blocks?, edges?);
        let mut first = places.get(&start).copied();
        let early = self.used_early(start);
        if let (false, Some(dst)) = (early.is_empty(), first) {
            let label = to_name(&self.sdfg.fresh_block_label("begin"));
            let assignments = early.iter().map(|name| (name.to_string(), Expression::integer(0))).collect();
            let src = blocks.len();
            edges.insert(0, InterstateEdge { src, dst, condition: None, assignments, path: String::new() });
            blocks.push(Block { label, kind: crate::model::BlockKind::State(State::default()) });
            first = Some(src);
        }
        Ok(Region { blocks, edges, start: first })
    }

    /// Symbols that DaCe takes for arguments though they are assigned inside: it walks the states by their distance from the
    /// start, and may meet a use before the assignment that comes first when the program runs.
    fn used_early(&self, start: BlockId) -> BTreeSet<Symbol> {
        let given: BTreeSet<&Symbol> = self.sdfg.symbols().map(|(symbol, _)| symbol).collect();
        let (mut defined, mut early) = (BTreeSet::new(), BTreeSet::new());
        let mut seen = BTreeSet::from([start]);
        let mut waiting = VecDeque::from([start]);
        while let Some(block) = waiting.pop_front() {
            let in_state = match self.sdfg.block(block).kind {
                BlockKind::State(state) => free_symbols_of_state(self.sdfg.state(state)),
                BlockKind::Loop(_)
                | BlockKind::Branch(_)
                | BlockKind::Break
                | BlockKind::Continue
                | BlockKind::Return => BTreeSet::new(),
            };
            early.extend(in_state.difference(&defined).cloned());
            for id in self.tried(block) {
                let transition = self.sdfg.transition(id);
                let used = transition.expressions().flat_map(Expression::names);
                let used: BTreeSet<Symbol> = used.filter_map(|name| Symbol::new(name).ok()).collect();
                let assigned = transition.assignments.iter().map(|(symbol, _)| symbol);
                defined.extend(assigned.filter(|symbol| !used.contains(symbol)).cloned());
                early.extend(used.difference(&defined).cloned());
                if seen.insert(transition.dst) {
                    waiting.push_back(transition.dst);
                }
            }
        }
        let assigned: BTreeSet<Symbol> = assigned_symbols(self.sdfg).into_iter().collect();
        early.retain(|symbol| assigned.contains(symbol) && !given.contains(symbol));
        early
    }

    fn reached(&self, start: BlockId) -> BTreeSet<BlockId> {
        reached([start], |block| self.tried(block).into_iter().map(move |id| self.sdfg.transition(id).dst))
    }

    /// The transitions out of a block that may be taken, up to the first that always is.
    fn tried(&self, block: BlockId) -> Vec<TransitionId> {
        let mut tried = Vec::new();
        for id in self.sdfg.transitions_from(block) {
            match self.sdfg.transition(id).condition.as_ref().map(|condition| &condition.kind) {
                Some(ExpressionKind::Bool(false)) => {}
                None | Some(ExpressionKind::Bool(true)) => {
                    tried.push(id);
                    break;
                }
                Some(_) => tried.push(id),
            }
        }
        tried
    }

    fn block(&self, id: BlockId) -> Result<Block, Failed> {
        let block = self.sdfg.block(id);
        let label = to_name(&block.label);
        match block.kind {
            BlockKind::State(state) => {
                let state = self.state(self.sdfg.state(state))?;
                Ok(Block { label, kind: crate::model::BlockKind::State(state) })
            }
            BlockKind::Loop(_)
            | BlockKind::Branch(_)
            | BlockKind::Break
            | BlockKind::Continue
            | BlockKind::Return => {
                let part = format!("{} {}", block.kind.noun(), block.label);
                Err(self.refuse(Code::UnwritableControl, &part, "it was not lowered to states"))
            }
        }
    }

    fn edges(
        &self,
        block: BlockId,
        places: &BTreeMap<BlockId, usize>,
    ) -> Vec<Result<InterstateEdge, Failed>> {
        let mut earlier: Option<Expression> = None;
        let mut edges = Vec::new();
        for id in self.tried(block) {
            edges.push(self.edge(id, places, &mut earlier));
        }
        edges
    }

    /// An edge; `earlier` is the disjunction of the conditions that are tried before it.
    fn edge(
        &self,
        id: TransitionId,
        places: &BTreeMap<BlockId, usize>,
        earlier: &mut Option<Expression>,
    ) -> Result<InterstateEdge, Failed> {
        let transition = self.sdfg.transition(id);
        let label = |block: BlockId| self.sdfg.block(block).label.clone();
        let part = format!("transition {} -> {}", label(transition.src), label(transition.dst));
        let is_open = |condition: &&Expression| condition.kind != ExpressionKind::Bool(true);
        let condition = match transition.condition.as_ref().filter(is_open) {
            Some(condition) => {
                let condition = self.control_expression(condition, &part)?;
                *earlier = Some(match earlier.take() {
                    None => condition.clone(),
                    Some(before) => Expression::binary(BinaryOp::Or, before, condition.clone()),
                });
                Some(condition)
            }
            // DaCe's code leaves the program behind the last of several edges, unless it is told that one is always taken.
            None => earlier.take().map(|before| Expression::unary(UnaryOp::Not, before)),
        };
        let mut assignments = Vec::new();
        for (symbol, value) in &transition.assignments {
            // The type of the symbol converts.
            let value = match (self.narrow.get(symbol), &value.kind) {
                (Some(_), ExpressionKind::Call { arguments, .. }) => arguments.first().unwrap_or(value),
                _ => value,
            };
            assignments.push((symbol.clone(), self.control_expression(value, &part)?));
        }
        let place = |block: BlockId| places.get(&block).copied().unwrap_or_default();
        Ok(InterstateEdge {
            src: place(transition.src),
            dst: place(transition.dst),
            condition,
            assignments: self.sequence(assignments),
            path: String::new(),
        })
    }

    /// Assignments that take effect at once, as ones that take effect one after the other.
    fn sequence(&self, mut waiting: Vec<(Symbol, Expression)>) -> Vec<(String, Expression)> {
        let mut ordered: Vec<(String, Expression)> = Vec::new();
        while !waiting.is_empty() {
            let is_free = |at: &usize| {
                let symbol = waiting[*at].0.as_str();
                waiting
                    .iter()
                    .enumerate()
                    .all(|(other, (_, value))| other == *at || !value.names().contains(symbol))
            };
            let free = (0..waiting.len()).find(is_free);
            if let Some(at) = free {
                let (symbol, value) = waiting.remove(at);
                ordered.push((symbol.to_string(), value));
                continue;
            }
            // Each uses what another one changes: keep the old value of the first.
            let symbol = waiting[0].0.to_string();
            let old = self.name_of_old(&symbol, &ordered);
            for (_, value) in &mut waiting {
                let kept = value.clone();
                *value = map_expression(kept, &mut |part| match &part.kind {
                    ExpressionKind::Name(name) if *name == symbol => Expression::name(&*old),
                    _ => part,
                });
            }
            ordered.insert(0, (old, Expression::name(symbol)));
        }
        ordered
    }

    /// A name for the old value of a symbol that means nothing else anywhere in the SDFG.
    fn name_of_old(&self, symbol: &str, ordered: &[(String, Expression)]) -> String {
        let mut taken: BTreeSet<Symbol> = self.sdfg.symbols().map(|(symbol, _)| symbol.clone()).collect();
        taken.extend(assigned_symbols(self.sdfg));
        for (_, state) in self.sdfg.states() {
            taken.extend(free_symbols_of_state(state));
            for (_, node) in state.nodes() {
                if let NodeKind::MapEntry(map) = &node.kind {
                    taken.extend(map.params.iter().cloned());
                }
            }
        }
        let is_taken = |name: &str| {
            self.sdfg.find_container(name).is_some()
                || taken.iter().any(|symbol| symbol.as_str() == name)
                || ordered.iter().any(|(other, _)| other == name)
        };
        let mut name = format!("__old_{symbol}");
        while is_taken(&name) {
            name.push('_');
        }
        name
    }

    /// A condition, or the value of an assignment, in DaCe's terms.
    pub(super) fn control_expression(
        &self,
        expression: &Expression,
        part: &str,
    ) -> Result<Expression, Failed> {
        let names = expression.names();
        let symbols = names.iter().filter(|name| self.sdfg.find_container(name).is_none());
        let symbols = symbols.map(|name| ((*name).to_string(), ScalarType::I64));
        let environment = control_environment(self.sdfg, symbols);
        let mut failed = None;
        let rounded =
            map_expression(expression.clone(), &mut |inner| self.rounded_quotient(inner, &environment));
        let found = map_expression(rounded, &mut |inner| {
            let inner = converted(self.true_quotient(inner, &environment));
            match spelled_python(inner.clone()).and_then(without_conversion) {
                Ok(spelled) => self.by_reference_element(spelled),
                Err(why) => {
                    failed.get_or_insert(why);
                    inner
                }
            }
        });
        match failed {
            None => Ok(found),
            Some(why) => {
                let message =
                    format!("`{expression}`: {why} in DaCe's control flow; compute it in a tasklet");
                Err(self.refuse(Code::UnwritableControl, part, message))
            }
        }
    }

    /// `a // b` and `a % b` of integers, which C++ rounds towards zero.
    fn rounded_quotient(&self, expression: Expression, environment: &Environment) -> Expression {
        let is_integer = |operand: &Expression| {
            typecheck_expression(operand, Dialect::Python, environment)
                .is_ok_and(|code| is_signed(code.expression.ty.lane()))
        };
        let is_above = |operand: &Expression| {
            Expr::from_expression(operand).is_ok_and(|value| value.is_nonnegative(&self.known).is_proved())
        };
        let span = expression.span;
        match expression.kind {
            ExpressionKind::Binary { op: op @ (BinaryOp::FloorDivide | BinaryOp::Modulo), left, right }
                if is_integer(&left) && is_integer(&right) && !is_above(&left) =>
            {
                let negated = Expression::unary(UnaryOp::Negate, (*left).clone());
                let quotient = rounded_down((*left).clone(), negated, &right);
                if op == BinaryOp::FloorDivide {
                    return quotient;
                }
                let multiple = Expression::binary(BinaryOp::Multiply, *right, quotient);
                Expression::binary(BinaryOp::Subtract, *left, multiple)
            }
            kind => Expression { kind, span },
        }
    }

    /// `a / b` of integers is a fraction here and an integer in C++.
    fn true_quotient(&self, expression: Expression, environment: &Environment) -> Expression {
        let span = expression.span;
        match expression.kind {
            ExpressionKind::Binary { op: BinaryOp::Divide, left, right } => {
                let is_integer = |operand: &Expression| {
                    typecheck_expression(operand, Dialect::Python, environment)
                        .is_ok_and(|code| !code.expression.ty.lane().is_float())
                };
                let left = if is_integer(&left) && is_integer(&right) {
                    Box::new(Expression::binary(BinaryOp::Multiply, Expression::float(1.0), *left))
                } else {
                    left
                };
                Expression { kind: ExpressionKind::Binary { op: BinaryOp::Divide, left, right }, span }
            }
            kind => Expression { kind, span },
        }
    }

    /// Scalars that DaCe passes by reference are elements there.
    fn by_reference_element(&self, expression: Expression) -> Expression {
        match &expression.kind {
            ExpressionKind::Name(name) => {
                let id = self.sdfg.find_container(name).filter(|id| self.by_reference.contains(id));
                let is_scalar =
                    |id: &sdfg::ir::ContainerId| self.sdfg.container(*id).kind == ContainerKind::Scalar;
                match id.filter(is_scalar) {
                    Some(_) => element(name, vec![Expression::integer(0)]),
                    None => expression,
                }
            }
            _ => expression,
        }
    }
}

fn is_signed(ty: ScalarType) -> bool {
    matches!(ty, ScalarType::I8 | ScalarType::I16 | ScalarType::I32 | ScalarType::I64)
}

fn is_narrow(ty: ScalarType) -> bool {
    matches!(
        ty,
        ScalarType::Bool
            | ScalarType::I8
            | ScalarType::I16
            | ScalarType::U8
            | ScalarType::U16
            | ScalarType::U32
    )
}

/// The type and operand of a conversion.
fn conversion_of(expression: &Expression) -> Option<(ScalarType, &Expression)> {
    let ExpressionKind::Call { function, arguments } = &expression.kind else { return None };
    let [operand] = arguments.as_slice() else { return None };
    let name = function.text.strip_prefix("dace.").unwrap_or(&function.text);
    Some((convertible(name)?, operand))
}

/// Conversions to unsigned types as masks: DaCe's control flow has no conversions.
fn converted(expression: Expression) -> Expression {
    let mask = |bits: i64| (1_i64 << bits) - 1;
    match conversion_of(&expression) {
        Some((ScalarType::I64, operand)) => operand.clone(),
        Some((ScalarType::U8, operand)) => masked(operand, mask(8)),
        Some((ScalarType::U16, operand)) => masked(operand, mask(16)),
        Some((ScalarType::U32, operand)) => masked(operand, mask(32)),
        _ => expression,
    }
}

fn masked(operand: &Expression, mask: i64) -> Expression {
    Expression::binary(BinaryOp::BitAnd, operand.clone(), Expression::integer(mask))
}

/// # Errors
/// A conversion, as a sentence.
fn without_conversion(expression: Expression) -> Result<Expression, String> {
    match &expression.kind {
        ExpressionKind::Call { function, .. } if function.text.starts_with("dace.") => {
            Err(format!("`{}` is not known", function.text))
        }
        _ => Ok(expression),
    }
}
