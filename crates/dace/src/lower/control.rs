//! Lowers regions, blocks and the edges between them.
//!
//! The state machine is kept; afterwards [`sdfg::control::raise`] converts it to loops and branches. DaCe's
//! assignments take effect one after the other, ours together. Therefore an edge whose assignments depend on
//! each other becomes several edges.

use sdfg::dtype::ScalarType;
use sdfg::ir::draft::DraftSdfg;
use sdfg::ir::{Block, BlockId, BlockKind, Branch, Loop, RegionId, State, Transition};
use sdfg::symbolic::Symbol;
use sdfg::syntax::{BinaryOp, Expression, UnaryOp};

use super::SdfgLowering;
use crate::model::{self, InterstateEdge, LoopRegion};
use crate::report::{Code, Failed};

impl<'a> SdfgLowering<'a> {
    /// Adds the blocks and edges of a region.
    pub(super) fn region(&mut self, region: &'a model::Region, into: RegionId) -> Result<(), Failed> {
        let mut blocks = Vec::with_capacity(region.blocks.len());
        let mut failed = None;
        for block in &region.blocks {
            match self.block(block, into) {
                Ok(id) => blocks.push(id),
                Err(error) => failed = Some(error),
            }
        }
        if let Some(error) = failed {
            return Err(error);
        }
        for edge in &region.edges {
            self.transition(edge, &blocks, into)?;
        }
        blocks.iter().for_each(|block| self.settle_last(*block));
        if let Some(start) = region.start.and_then(|start| blocks.get(start)) {
            self.sdfg.region_mut(into).start = Some(*start);
        }
        Ok(())
    }

    /// The last of several transitions is always taken where it is tried, if its condition is that no other one holds.
    fn settle_last(&mut self, block: BlockId) {
        let transitions = self.sdfg.transitions_from(block);
        let Some((last, before)) = transitions.split_last() else { return };
        let mut any: Option<Expression> = None;
        for id in before {
            let Some(condition) = self.sdfg.transition(*id).condition.clone() else { return };
            any = Some(match any {
                None => condition,
                Some(any) => Expression::binary(BinaryOp::Or, any, condition),
            });
        }
        let none = any.map(|any| Expression::unary(UnaryOp::Not, any));
        if none.is_some() && self.sdfg.transition(*last).condition == none {
            self.sdfg.transition_mut(*last).condition = None;
        }
    }

    fn block(&mut self, block: &'a model::Block, region: RegionId) -> Result<BlockId, Failed> {
        let label = self.fresh_label(&block.label);
        let kind = match &block.kind {
            model::BlockKind::State(state) => {
                let lowered = self.state(state, &label)?;
                return Ok(self.sdfg.add_state(region, lowered).0);
            }
            model::BlockKind::Loop(repeated) => self.loop_region(repeated)?,
            model::BlockKind::Conditional(branches) => {
                let (mut arms, mut otherwise) = (Vec::new(), None);
                for (condition, part) in branches {
                    let inner = self.sdfg.add_region();
                    self.region(part, inner)?;
                    match condition {
                        Some(condition) => arms.push((self.control_expression(condition), inner)),
                        None => otherwise = Some(inner),
                    }
                }
                BlockKind::Branch(Branch { arms, otherwise })
            }
            model::BlockKind::Group { body, arguments } => {
                let inner = self.sdfg.add_region();
                let outer = self.arguments;
                if !arguments.is_empty() {
                    self.arguments = arguments;
                }
                let result = self.region(body, inner);
                self.arguments = outer;
                result?;
                BlockKind::Branch(Branch { arms: vec![(Expression::bool(true), inner)], otherwise: None })
            }
            model::BlockKind::Break => BlockKind::Break,
            model::BlockKind::Continue => BlockKind::Continue,
            model::BlockKind::Return => BlockKind::Return,
        };
        Ok(self.sdfg.add_block(region, Block { label, kind, region, loc: None }))
    }

    fn loop_region(&mut self, found: &'a LoopRegion) -> Result<BlockKind, Failed> {
        let symbol = match &found.variable {
            Some(name) => Some(self.symbol(name, &found.path)?),
            None => None,
        };
        let (init, update) = (found.init.as_ref(), found.update.as_ref());
        for step in [init, update].into_iter().flatten() {
            self.integral(step, found.variable.as_deref().unwrap_or_default(), &found.path)?;
        }
        let mut lowered = Loop {
            symbol,
            init: init.map(|init| self.control_expression(init)),
            condition: self.control_expression(&found.condition),
            update: update.map(|update| self.control_expression(update)),
            test_after: found.inverted,
            unroll: found.unroll,
            body: self.sdfg.add_region(),
        };
        if found.inverted && !found.update_before_condition {
            // The test stands between the body and the update: it ends the loop from within.
            let inner = self.sdfg.add_region();
            self.region(&found.body, inner)?;
            let leave = self.sdfg.add_region();
            let label = self.fresh_label("leave");
            let leaving = Block { label, kind: BlockKind::Break, region: leave, loc: None };
            self.sdfg.add_block(leave, leaving);
            let condition = std::mem::replace(&mut lowered.condition, Expression::bool(true));
            let not = Expression::unary(UnaryOp::Not, condition);
            let group = Branch { arms: vec![(Expression::bool(true), inner)], otherwise: None };
            let test = Branch { arms: vec![(not, leave)], otherwise: None };
            let body = lowered.body;
            let add = |lowering: &mut Self, name: &str, branch| {
                let label = lowering.fresh_label(name);
                lowering.sdfg.add_block(
                    body,
                    Block { label, kind: BlockKind::Branch(branch), region: body, loc: None },
                )
            };
            let (src, dst) = (add(self, "body", group), add(self, "test", test));
            self.sdfg.add_transition(Transition {
                src,
                dst,
                condition: None,
                assignments: Vec::new(),
                loc: None,
            });
            lowered.test_after = false;
        } else {
            self.region(&found.body, lowered.body)?;
        }
        Ok(BlockKind::Loop(lowered))
    }

    fn transition(
        &mut self,
        edge: &InterstateEdge,
        blocks: &[BlockId],
        region: RegionId,
    ) -> Result<(), Failed> {
        let (Some(src), Some(dst)) = (blocks.get(edge.src), blocks.get(edge.dst)) else { return Ok(()) };
        let mut groups: Vec<Vec<(Symbol, Expression)>> = vec![Vec::new()];
        for (name, value) in &edge.assignments {
            let symbol = self.symbol(name, &edge.path)?;
            self.integral(value, name, &edge.path)?;
            let value = self.narrowed(name, self.control_expression(value));
            let used = value.names();
            let is_in = |group: &Vec<(Symbol, Expression)>| {
                group.iter().any(|(earlier, _)| used.contains(earlier.as_str()) || *earlier == symbol)
            };
            if groups.last().is_some_and(is_in) {
                groups.push(Vec::new());
            }
            if let Some(group) = groups.last_mut() {
                group.push((symbol, value));
            }
        }
        let mut condition = edge.condition.as_ref().map(|condition| self.control_expression(condition));
        let (mut from, last) = (*src, groups.len() - 1);
        for (at, assignments) in groups.into_iter().enumerate() {
            let to = if at == last {
                *dst
            } else {
                let label = self.fresh_label("assign");
                self.sdfg.add_state(region, State::new(label)).0
            };
            self.sdfg.add_transition(Transition {
                src: from,
                dst: to,
                condition: condition.take(),
                assignments,
                loc: None,
            });
            from = to;
        }
        Ok(())
    }

    fn symbol(&self, name: &str, path: &str) -> Result<Symbol, Failed> {
        if self.containers.contains_key(name) {
            let message = format!("`{name}` is a container and is assigned as a symbol");
            return Err(self.log().error(Code::Symbol, &path, message));
        }
        Symbol::new(name).map_err(|error| self.log().error(Code::Symbol, &path, error.to_string()))
    }

    /// Symbols are integers.
    fn integral(&self, value: &Expression, name: &str, path: &str) -> Result<(), Failed> {
        let declared = self.program.symbols.get(name).map(|ty| ty.element.lane());
        let is_integer = match declared {
            Some(ty) => ty.is_integer() || ty == ScalarType::Bool,
            None => self.is_integer(value),
        };
        if is_integer {
            return Ok(());
        }
        let message = format!("the symbol `{name}` gets the value `{value}`, which is no integer");
        Err(self.log().error(Code::Symbol, &path, message))
    }

    /// The value with the range of the symbol's type, which is wider here. Signed 32-bit symbols are taken for 64-bit ones.
    fn narrowed(&self, name: &str, value: Expression) -> Expression {
        match self.program.symbols.get(name).map(|ty| ty.element.lane()) {
            Some(
                ty @ (ScalarType::U8 | ScalarType::U16 | ScalarType::U32 | ScalarType::I8 | ScalarType::I16),
            ) => Expression::call(ty.name(), vec![value]),
            Some(ScalarType::Bool) => Expression::call("bool", vec![value]),
            _ if self.is_integer(&value) => value,
            _ => Expression::call("int64", vec![value]),
        }
    }
}
