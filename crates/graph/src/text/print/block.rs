//! Printer of control flow: regions, blocks and the arrows between them.

use std::collections::BTreeMap;

use sdfg_language::syntax::{BinaryOp, CompareOp, Expression, ExpressionKind, UnaryOp};

use super::super::names::written;
use super::{Printer, list};
use crate::ir::{Block, BlockId, BlockKind, Loop, RegionId, Sdfg, Transition, TransitionId};
use crate::path::Target;

impl Printer {
    /// The blocks of a region, each on lines of its own.
    ///
    /// A region that holds itself (in a wrong graph) is told in a comment.
    pub(super) fn region(&mut self, sdfg: &Sdfg, id: RegionId) {
        let key = (self.nested.len(), id);
        let Some(region) = sdfg.get_region(id).filter(|_| !self.regions.contains(&key)) else {
            self.begin_line();
            return self.push("# a region that is missing or holds itself\n");
        };
        self.regions.push(key);
        let blocks: Vec<(BlockId, &Block)> =
            region.blocks.iter().filter_map(|id| Some((*id, sdfg.get_block(*id)?))).collect();
        if let Some(start) = region.start.filter(|start| region.blocks.first() != Some(start))
            && let Some(block) = sdfg.get_block(start)
        {
            self.begin_line();
            self.push(&format!("start {}\n", written(&block.label)));
        }
        let mut leaving: BTreeMap<BlockId, Vec<(TransitionId, &Transition)>> = BTreeMap::new();
        for id in &region.transitions {
            if let Some(transition) = sdfg.get_transition(*id) {
                leaving.entry(transition.src).or_default().push((*id, transition));
            }
        }
        for (position, (id, block)) in blocks.iter().enumerate() {
            self.begin_line();
            self.block(sdfg, *id, block);
            self.text.push('\n');
            let next = blocks.get(position + 1).map(|(id, _)| *id);
            self.arrows(sdfg, leaving.get(id).map_or(&[], Vec::as_slice), block, next);
        }
        self.regions.pop();
    }

    /// One block from the current column on, without the line end.
    fn block(&mut self, sdfg: &Sdfg, id: BlockId, block: &Block) {
        let start = self.offset();
        let label = written(&block.label);
        let element = Target::Block(id);
        match &block.kind {
            BlockKind::State(state) => {
                self.push(&format!("state {label}"));
                self.record(start, element);
                self.state(sdfg, *state);
            }
            BlockKind::Loop(repeated) => {
                self.push(&loop_header(&label, repeated));
                self.record(start, element);
                self.braces(|printer| printer.region(sdfg, repeated.body));
                if repeated.test_after {
                    self.push(&format!(" while {}", repeated.condition));
                }
            }
            BlockKind::Branch(branch) => {
                // A branch without arms is wrong; it still shows what is run otherwise.
                let first = branch.arms.first().map_or_else(|| "False".to_owned(), |(c, _)| c.to_string());
                self.push(&format!("if {label}: {first}"));
                self.record(start, element);
                match branch.arms.first() {
                    Some((_, region)) => self.braces(|printer| printer.region(sdfg, *region)),
                    None => self.push(" {}"),
                }
                for (condition, region) in branch.arms.iter().skip(1) {
                    self.push(&format!(" elif {condition}"));
                    self.braces(|printer| printer.region(sdfg, *region));
                }
                if let Some(region) = branch.otherwise {
                    self.push(" else");
                    self.braces(|printer| printer.region(sdfg, region));
                }
            }
            BlockKind::Break | BlockKind::Continue | BlockKind::Return => {
                self.push(&format!("{} {label}", block.kind.noun()));
                self.record(start, element);
            }
        }
    }

    /// The transitions of a block, where they are not the ones that it has without a text.
    fn arrows(
        &mut self,
        sdfg: &Sdfg,
        transitions: &[(TransitionId, &Transition)],
        block: &Block,
        next: Option<BlockId>,
    ) {
        let jump = matches!(block.kind, BlockKind::Break | BlockKind::Continue | BlockKind::Return);
        let implied = match transitions {
            [] => jump || next.is_none(),
            [(_, only)] => {
                !jump && Some(only.dst) == next && only.condition.is_none() && only.assignments.is_empty()
            }
            _ => false,
        };
        if implied {
            return;
        }
        if transitions.is_empty() {
            self.begin_line();
            self.push("-> end\n");
        }
        for (id, transition) in transitions {
            self.line(&arrow(sdfg, transition), Target::Transition(*id));
        }
    }
}

/// `-> b if x > 0 with (i = i + 1)`.
fn arrow(sdfg: &Sdfg, transition: &Transition) -> String {
    let target = match sdfg.get_block(transition.dst) {
        // The bare word says that there is no transition.
        Some(block) if block.label == "end" => "\"end\"".to_owned(),
        Some(block) => written(&block.label),
        None => format!("\"<{}>\"", transition.dst),
    };
    let mut text = format!("-> {target}");
    if let Some(condition) = &transition.condition {
        text.push_str(&format!(" if {condition}"));
    }
    if !transition.assignments.is_empty() {
        let assignments = transition.assignments.iter().map(|(symbol, value)| format!("{symbol} = {value}"));
        text.push_str(&format!(" with ({})", list(assignments)));
    }
    text
}

/// Everything of a loop in front of its brace.
fn loop_header(label: &str, repeated: &Loop) -> String {
    let assignment = |value: &Option<Expression>| {
        let symbol = repeated.symbol.as_ref().map_or("?", |symbol| symbol.as_str());
        value.as_ref().map(|value| format!("{symbol} = {value}"))
    };
    let init = assignment(&repeated.init)
        .or_else(|| repeated.symbol.as_ref().map(ToString::to_string))
        .unwrap_or_default();
    let update = assignment(&repeated.update).map(|text| format!(" {text}")).unwrap_or_default();
    let bare = init.is_empty() && update.is_empty();
    let mut text = if repeated.test_after {
        if bare { format!("do {label}") } else { format!("do {label}: {init};{update}") }
    } else if bare {
        format!("while {label}: {}", repeated.condition)
    } else if let Some(range) = counted(repeated) {
        format!("for {label}: {range}")
    } else {
        format!("loop {label}: {init}; {};{update}", repeated.condition)
    };
    if repeated.unroll {
        text.push_str(" unroll");
    }
    text
}

/// `i = begin:end:step`, if the loop is what the parser makes of a `for`.
fn counted(repeated: &Loop) -> Option<String> {
    let (symbol, begin) = (repeated.symbol.as_ref()?, repeated.init.as_ref()?);
    let is_symbol = |e: &Expression| matches!(&e.kind, ExpressionKind::Name(name) if name == symbol.as_str());
    let ExpressionKind::Compare { first, rest } = &repeated.condition.kind else { return None };
    let [(compare, end)] = rest.as_slice() else { return None };
    let ExpressionKind::Binary { op, left, right } = &repeated.update.as_ref()?.kind else { return None };
    if !is_symbol(first) || !is_symbol(left) {
        return None;
    }
    let negated = matches!(right.kind, ExpressionKind::Unary { op: UnaryOp::Negate, .. });
    let step = match (compare, op) {
        (CompareOp::Less, BinaryOp::Add) if !negated => (**right).clone(),
        (CompareOp::Greater, BinaryOp::Subtract) => Expression::unary(UnaryOp::Negate, (**right).clone()),
        _ => return None,
    };
    let step = if step == Expression::integer(1) { String::new() } else { format!(":{step}") };
    Some(format!("{symbol} = {begin}:{end}{step}"))
}
