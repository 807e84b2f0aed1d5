//! Regions, loops and branches.
//!
//! A region whose blocks follow each other unconditionally becomes a sequence. Any other region becomes a
//! dispatch loop.

use std::collections::BTreeSet;

use sdfg::analysis::loops::counted_range;
use sdfg::ir::{BlockId, BlockKind, Branch, Loop, RegionId, Sdfg, TransitionId};
use sdfg::symbolic::{Expr, Symbol};
use sdfg::syntax::Expression;

use super::Lowering;
use super::call_frame::CallFrame;
use super::error::LowerError;
use super::profile::timed;
use crate::plan::{If, Statement, TimerKind, While};

/// The least and the greatest value of a variable.
type Bounds = (Option<Expr>, Option<Expr>);

/// Symbols that loops and transitions of an SDFG set.
pub(super) fn assigned_symbols(sdfg: &Sdfg) -> BTreeSet<Symbol> {
    sdfg::analysis::symbols::assigned_symbols(sdfg).into_iter().collect()
}

impl<'g> Lowering<'g> {
    /// Statements of a region.
    pub(super) fn region(
        &mut self,
        frame: &mut CallFrame<'g>,
        region: RegionId,
    ) -> Result<Vec<Statement>, LowerError> {
        match sequence(frame.sdfg, region) {
            Some(blocks) => {
                let mut statements = Vec::new();
                for (block, transition) in blocks {
                    statements.extend(self.block(frame, block)?);
                    if let Some(transition) = transition {
                        statements.extend(self.assignments(frame, transition)?);
                    }
                }
                Ok(statements)
            }
            None => self.dispatch(frame, region),
        }
    }

    fn dispatch(
        &mut self,
        frame: &mut CallFrame<'g>,
        region: RegionId,
    ) -> Result<Vec<Statement>, LowerError> {
        let sdfg = frame.sdfg;
        let target = self.new_target();
        let region = sdfg.region(region);
        // The start comes first; the others keep their order.
        let mut blocks = region.blocks.clone();
        blocks.sort_by_key(|block| Some(*block) != region.start);
        let mut cases = Vec::with_capacity(blocks.len());
        for block in &blocks {
            let mut statements = self.block(frame, *block)?;
            for id in sdfg.transitions_from(*block) {
                let transition = sdfg.transition(id);
                let case =
                    blocks.iter().position(|b| *b == transition.dst).ok_or_else(|| LowerError::Invalid {
                        what: "a transition leaves its region".to_owned(),
                        path: frame.at(&sdfg.block(*block).label),
                    })?;
                let mut taken = self.assignments(frame, id)?;
                taken.push(Statement::Goto { target, case });
                match &transition.condition {
                    None => {
                        statements.extend(taken);
                        break;
                    }
                    Some(condition) => {
                        let condition = self.condition(frame, condition, &sdfg.block(*block).label)?;
                        statements.push(Statement::If(If {
                            arms: vec![(condition, taken)],
                            otherwise: Vec::new(),
                        }));
                    }
                }
            }
            cases.push(statements);
        }
        Ok(vec![Statement::Dispatch { target, cases }])
    }

    fn block(&mut self, frame: &mut CallFrame<'g>, id: BlockId) -> Result<Vec<Statement>, LowerError> {
        let sdfg = frame.sdfg;
        let block = sdfg.block(id);
        let timer = match block.kind {
            BlockKind::State(_) | BlockKind::Loop(_) | BlockKind::Branch(_) => {
                self.timer(TimerKind::Block, &frame.at(&block.label))
            }
            BlockKind::Break | BlockKind::Continue | BlockKind::Return => None,
        };
        let statements = match &block.kind {
            BlockKind::State(state) => timed(timer, self.state(frame, *state, &block.label)?),
            BlockKind::Loop(body) => timed(timer, self.while_loop(frame, body, &block.label)?),
            BlockKind::Branch(branch) => timed(timer, self.branch(frame, branch, &block.label)?),
            BlockKind::Break | BlockKind::Continue => {
                let target = frame.innermost.ok_or_else(|| LowerError::Invalid {
                    what: format!("{} outside of a loop", block.kind.noun()),
                    path: frame.at(&block.label),
                })?;
                let leaves = matches!(block.kind, BlockKind::Break);
                vec![if leaves { Statement::Leave(target) } else { Statement::Repeat(target) }]
            }
            BlockKind::Return => {
                frame.exit_used = true;
                vec![Statement::Leave(frame.exit)]
            }
        };
        Ok(self.located(block.loc.as_ref(), &block.label, statements))
    }

    fn while_loop(
        &mut self,
        frame: &mut CallFrame<'g>,
        body: &'g Loop,
        label: &str,
    ) -> Result<Vec<Statement>, LowerError> {
        let mut statements = vec![Statement::Comment(format!("loop {label}"))];
        let variable = body.symbol.as_ref();
        if let (Some(symbol), Some(init)) = (variable, &body.init) {
            statements.push(self.assignment(frame, symbol, init, label)?);
        }
        let target = self.new_target();
        let outer = frame.innermost.replace(target);
        let condition = self.condition(frame, &body.condition, label)?;
        let before = self.assume_counted(frame, body);
        let inside = self.region(frame, body.body);
        if let Some((variable, (lower, upper))) = before {
            self.assumptions.set_range(variable, lower, upper);
        }
        let inside = inside?;
        let update = match (variable, &body.update) {
            (Some(symbol), Some(update)) => vec![self.assignment(frame, symbol, update, label)?],
            (None, _) | (_, None) => Vec::new(),
        };
        frame.innermost = outer;
        statements.push(Statement::While(While {
            target,
            condition,
            test_after: body.test_after,
            body: inside,
            update,
            unroll: body.unroll,
        }));
        Ok(statements)
    }

    /// Assumes for the body of a counted loop that its variable lies in the range. Returns the variable with the bounds that it had
    /// before, which hold again behind the body.
    fn assume_counted(&mut self, frame: &CallFrame<'g>, body: &Loop) -> Option<(Symbol, Bounds)> {
        let (symbol, range) = counted_range(frame.sdfg, body)?;
        let variable = frame.symbols.get(&symbol)?.as_symbol()?.clone();
        let range = range.substitute(&frame.symbols);
        let (lower, upper) = self.assumptions.range_of(&variable);
        let before = (lower.cloned(), upper.cloned());
        let (first, last) = if range.step.as_int()? > 0 {
            (range.begin, &range.end - &Expr::one())
        } else {
            (&range.end + &Expr::one(), range.begin)
        };
        self.assumptions.set_range(variable.clone(), Some(first), Some(last));
        Some((variable, before))
    }

    fn branch(
        &mut self,
        frame: &mut CallFrame<'g>,
        branch: &'g Branch,
        label: &str,
    ) -> Result<Vec<Statement>, LowerError> {
        let mut arms = Vec::with_capacity(branch.arms.len());
        for (condition, region) in &branch.arms {
            let condition = self.condition(frame, condition, label)?;
            arms.push((condition, self.region(frame, *region)?));
        }
        let otherwise = match branch.otherwise {
            Some(region) => self.region(frame, region)?,
            None => Vec::new(),
        };
        Ok(vec![Statement::If(If { arms, otherwise })])
    }

    /// The assignments of a transition, as if at once.
    fn assignments(
        &mut self,
        frame: &mut CallFrame<'g>,
        id: TransitionId,
    ) -> Result<Vec<Statement>, LowerError> {
        let sdfg = frame.sdfg;
        let transition = sdfg.transition(id);
        let label = &sdfg.block(transition.src).label;
        if let [(symbol, value)] = transition.assignments.as_slice() {
            return Ok(vec![self.assignment(frame, symbol, value, label)?]);
        }
        // All right sides are evaluated before any symbol changes.
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for (symbol, value) in &transition.assignments {
            let temporary = self.new_variable(symbol.as_str(), frame.type_of(symbol));
            let value = self.scalar(frame, value, Some(frame.type_of(symbol)), label)?;
            first.push(Statement::Set { variable: temporary.clone(), value });
            let variable = self.variable_of(frame, symbol, label)?;
            second.push(self.copy_variable(variable, &temporary));
        }
        first.extend(second);
        Ok(first)
    }

    fn assignment(
        &mut self,
        frame: &mut CallFrame<'g>,
        symbol: &Symbol,
        value: &Expression,
        label: &str,
    ) -> Result<Statement, LowerError> {
        let variable = self.variable_of(frame, symbol, label)?;
        let value = self.scalar(frame, value, Some(frame.type_of(symbol)), label)?;
        Ok(Statement::Set { variable, value })
    }

    /// The variable behind a symbol that loops or transitions set.
    fn variable_of(&self, frame: &CallFrame<'g>, symbol: &Symbol, label: &str) -> Result<Symbol, LowerError> {
        frame.symbols.get(symbol).and_then(Expr::as_symbol).cloned().ok_or_else(|| LowerError::Invalid {
            what: format!("symbol `{symbol}` cannot be assigned here"),
            path: frame.at(label),
        })
    }
}

/// The blocks of a region in the order in which they run, each with the transition behind it, if that does not depend on
/// conditions and ends.
fn sequence(sdfg: &Sdfg, region: RegionId) -> Option<Vec<(BlockId, Option<TransitionId>)>> {
    let mut order = Vec::new();
    let mut next = sdfg.region(region).start;
    let mut seen = BTreeSet::new();
    while let Some(block) = next {
        if !seen.insert(block) {
            return None;
        }
        let transitions = sdfg.transitions_from(block);
        match transitions.as_slice() {
            [] => {
                order.push((block, None));
                next = None;
            }
            [id] if sdfg.transition(*id).condition.is_none() => {
                order.push((block, Some(*id)));
                next = Some(sdfg.transition(*id).dst);
            }
            _ => return None,
        }
    }
    Some(order)
}
