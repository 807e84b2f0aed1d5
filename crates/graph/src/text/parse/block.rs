//! Parser of control flow: the SDFG as a whole, regions, blocks and the arrows between them.

use std::collections::BTreeMap;

use sdfg_language::symbolic::Symbol;
use sdfg_language::syntax::{
    BinaryOp, CompareOp, Expression, ExpressionKind, Name, Punctuation, TokenKind, UnaryOp,
};

use super::super::error::ParseErrorKind;
use super::container::DECLARATIONS;
use super::{Fault, Parsed, Parser};
use crate::ir::sdfg::FloatMode;
use crate::ir::{Block, BlockId, BlockKind, Branch, Loop, RegionId, Sdfg, SourceLoc, State, Transition};
use crate::path::closest;

/// A region whose closing brace is not reached yet.
struct OpenRegion {
    id: RegionId,
    labels: BTreeMap<String, BlockId>,
    /// The blocks in order, each with what follows it.
    blocks: Vec<(BlockId, Continuation)>,
    start: Option<Name>,
}

/// Continuation of a block.
enum Continuation {
    /// With the next block, if there is one.
    Next,
    /// Nowhere: `-> end`, or a jump.
    Ends,
    /// With one of these.
    Arrows(Vec<Arrow>),
}

/// `-> target if condition with (assignments)`.
struct Arrow {
    target: Name,
    condition: Option<Expression>,
    assignments: Vec<(Symbol, Expression)>,
    loc: SourceLoc,
}

/// Contents of a loop's header.
#[derive(Default)]
struct LoopHeader {
    symbol: Option<Symbol>,
    init: Option<Expression>,
    condition: Option<Expression>,
    update: Option<Expression>,
    unroll: bool,
}

impl OpenRegion {
    fn new(id: RegionId) -> Self {
        OpenRegion { id, labels: BTreeMap::new(), blocks: Vec::new(), start: None }
    }
}

impl Parser<'_> {
    /// `sdfg NAME float(strict) { declarations and blocks }`.
    pub(super) fn sdfg(&mut self) -> Parsed<Sdfg> {
        let start = self.cursor.peek().span.start;
        self.cursor.expect_word("sdfg", "`sdfg`")?;
        let name = self.name()?;
        let mut sdfg = Sdfg::new(name.text);
        let float_mode = self.header(|parser| {
            if !parser.cursor.eat_word("float") {
                return Ok(FloatMode::default());
            }
            parser.argument(|p| p.word("floating-point mode", &FloatMode::ALL, |mode| mode.name()))
        })?;
        sdfg.float_mode = float_mode.unwrap_or_default();
        sdfg.loc = Some(self.loc_from(start));
        let mut region = OpenRegion::new(sdfg.body());
        let mut declared = true;
        let complete = self.braces(|parser| {
            if !parser.at_declaration() {
                let may_be_declaration = region.blocks.is_empty();
                let block = parser.block_statement(&mut sdfg, &mut region);
                // What stands before the first block and is none may be a declaration with a slip in its first word.
                declared &= block.is_ok() || !may_be_declaration;
                return block;
            }
            if !region.blocks.is_empty() {
                let token = parser.cursor.peek();
                let fault = Fault::new(token.span, ParseErrorKind::LateDeclaration);
                parser.report(fault);
            }
            let declaration = parser.declaration(&mut sdfg);
            declared &= declaration.is_ok();
            declaration
        })?;
        if !declared {
            // A container whose declaration is faulty may be the one that is missed elsewhere.
            self.forget_unknown("container");
        }
        self.close_region(&mut sdfg, region, complete);
        Ok(sdfg)
    }

    /// `{ blocks }` of a loop or branch.
    fn region(&mut self, sdfg: &mut Sdfg) -> Parsed<RegionId> {
        let id = sdfg.add_region();
        let mut region = OpenRegion::new(id);
        let complete = self.braces(|parser| parser.block_statement(sdfg, &mut region))?;
        self.close_region(sdfg, region, complete);
        Ok(id)
    }

    /// Adds the transitions, now that all labels are known. An unknown label is not reported if a block of the region
    /// is faulty: it may be the one.
    fn close_region(&mut self, sdfg: &mut Sdfg, region: OpenRegion, complete: bool) {
        let find = |parser: &mut Self, name: &Name| {
            let found = region.labels.get(&name.text).copied();
            if found.is_none() && complete {
                let similar = closest(&name.text, region.labels.keys().map(String::as_str));
                let similar = similar.map(str::to_owned);
                let kind = ParseErrorKind::Unknown { what: "block", name: name.text.clone(), similar };
                parser.report(Fault::new(name.span, kind));
            }
            found
        };
        if let Some(start) = region.start.as_ref().and_then(|name| find(self, name)) {
            sdfg.region_mut(region.id).start = Some(start);
        }
        let next: Vec<Option<BlockId>> =
            region.blocks.iter().skip(1).map(|(id, _)| Some(*id)).chain([None]).collect();
        for ((src, continuation), next) in region.blocks.iter().zip(next) {
            match continuation {
                Continuation::Ends => {}
                Continuation::Next => {
                    if let Some(dst) = next {
                        let (condition, assignments, loc) = (None, Vec::new(), sdfg.block(*src).loc.clone());
                        sdfg.add_transition(Transition { src: *src, dst, condition, assignments, loc });
                    }
                }
                Continuation::Arrows(arrows) => {
                    for arrow in arrows {
                        let Some(dst) = find(self, &arrow.target) else { continue };
                        sdfg.add_transition(Transition {
                            src: *src,
                            dst,
                            condition: arrow.condition.clone(),
                            assignments: arrow.assignments.clone(),
                            loc: Some(arrow.loc.clone()),
                        });
                    }
                }
            }
        }
    }

    /// `start LABEL`, or one block with the arrows behind it.
    fn block_statement(&mut self, sdfg: &mut Sdfg, region: &mut OpenRegion) -> Parsed<()> {
        if self.cursor.at_word("start") {
            let span = self.cursor.advance().span;
            if region.start.replace(self.name()?).is_some() {
                return Err(Fault::new(span, ParseErrorKind::Repeated { what: "where to start" }));
            }
            return Ok(());
        }
        let start = self.cursor.peek().span.start;
        let word = self.cursor.advance();
        let keyword = if word.kind == TokenKind::Identifier { self.cursor.text(word) } else { "" };
        const BLOCKS: [&str; 9] =
            ["state", "for", "loop", "while", "do", "if", "break", "continue", "return"];
        if !BLOCKS.contains(&keyword) {
            let mut known = BLOCKS.to_vec();
            let at_top = region.blocks.is_empty() && region.id == sdfg.body();
            if at_top {
                known.extend(DECLARATIONS);
            }
            let what = if at_top { "declaration or block" } else { "block" };
            let word_text = self.cursor.text(word).to_owned();
            let kind = ParseErrorKind::UnknownWord { what, word: word_text, known };
            return Err(Fault::new(word.span, kind));
        }
        let label = self.name()?;
        let kind = match keyword {
            "state" => {
                // The state is parsed before it has its place, since an error in its header drops it.
                let mut state = State::new(label.text.clone());
                state.loc = Some(self.loc_from(start));
                self.state(sdfg, &mut state)?;
                let (id, state_id) = sdfg.add_state(region.id, state);
                sdfg.block_mut(id).loc = sdfg.state(state_id).loc.clone();
                return self.add_block(region, label, id, false);
            }
            "for" => self.for_loop(sdfg)?,
            "loop" => self.general_loop(sdfg)?,
            "while" => self.while_loop(sdfg)?,
            "do" => self.do_loop(sdfg)?,
            "if" => self.branch(sdfg)?,
            "break" => BlockKind::Break,
            "continue" => BlockKind::Continue,
            _ => BlockKind::Return,
        };
        let jump = matches!(kind, BlockKind::Break | BlockKind::Continue | BlockKind::Return);
        let header_end = label.span.end;
        let loc = Some(self.loc(sdfg_language::syntax::Span::new(start, header_end)));
        let block = Block { label: label.text.clone(), kind, region: region.id, loc };
        let id = sdfg.add_block(region.id, block);
        self.add_block(region, label, id, jump)
    }

    /// Enters a block into the open region and reads its arrows. Jumps go nowhere unless arrows say so.
    fn add_block(&mut self, region: &mut OpenRegion, label: Name, id: BlockId, jump: bool) -> Parsed<()> {
        let duplicate = region.labels.insert(label.text.clone(), id).is_some();
        let position = region.blocks.len();
        region.blocks.push((id, if jump { Continuation::Ends } else { Continuation::Next }));
        if duplicate {
            let kind = ParseErrorKind::Duplicate { what: "block", name: label.text };
            self.report(Fault::new(label.span, kind));
        }
        let mut arrows = Vec::new();
        let mut end = None;
        while self.next_is_arrow() {
            self.skip_line_ends();
            let arrow = self.cursor.advance();
            if self.cursor.at_word("end") {
                end = Some(arrow.span.to(self.cursor.advance().span));
            } else {
                arrows.push(self.arrow(arrow.span.start)?);
            }
        }
        region.blocks[position].1 = match (end, arrows.is_empty()) {
            (None, true) => return Ok(()),
            (None, false) => Continuation::Arrows(arrows),
            (Some(_), true) => Continuation::Ends,
            (Some(span), false) => return Err(Fault::new(span, ParseErrorKind::EndWithArrows)),
        };
        Ok(())
    }

    fn next_is_arrow(&self) -> bool {
        let mut ahead = 0;
        while self.cursor.peek_nth(ahead).kind == TokenKind::Newline {
            ahead += 1;
        }
        self.cursor.peek_nth(ahead).kind == TokenKind::Punctuation(Punctuation::Arrow)
    }

    fn arrow(&mut self, start: u32) -> Parsed<Arrow> {
        let target = self.name()?;
        let condition = if self.cursor.eat_word("if") { Some(self.expression()?) } else { None };
        let assignments =
            if self.cursor.eat_word("with") { self.parenthesized(Self::assignment)? } else { Vec::new() };
        Ok(Arrow { target, condition, assignments, loc: self.loc_from(start) })
    }

    /// `: i = 0:N:2 { ... }`.
    fn for_loop(&mut self, sdfg: &mut Sdfg) -> Parsed<BlockKind> {
        let header = self.header(|parser| {
            parser.cursor.expect(Punctuation::Colon)?;
            let (symbol, begin) = parser.assignment()?;
            parser.cursor.expect(Punctuation::Colon)?;
            let end = parser.expression()?;
            let step = if parser.cursor.eat(Punctuation::Colon) {
                parser.expression()?
            } else {
                Expression::integer(1)
            };
            let (condition, update) = counting(&symbol, end, step);
            Ok(LoopHeader {
                symbol: Some(symbol),
                init: Some(begin),
                condition: Some(condition),
                update: Some(update),
                unroll: parser.cursor.eat_word("unroll"),
            })
        })?;
        self.loop_block(sdfg, header)
    }

    /// `: i = 0; i * i < N; i = 2 * i { ... }`.
    fn general_loop(&mut self, sdfg: &mut Sdfg) -> Parsed<BlockKind> {
        let header = self.header(|parser| {
            parser.cursor.expect(Punctuation::Colon)?;
            let mut header = LoopHeader::default();
            parser.loop_init(&mut header)?;
            parser.cursor.expect(Punctuation::Semicolon)?;
            if !parser.cursor.at(Punctuation::Semicolon) {
                header.condition = Some(parser.expression()?);
            }
            parser.cursor.expect(Punctuation::Semicolon)?;
            parser.loop_update(&mut header)?;
            header.unroll = parser.cursor.eat_word("unroll");
            Ok(header)
        })?;
        self.loop_block(sdfg, header)
    }

    /// `: s > 0 { ... }`.
    fn while_loop(&mut self, sdfg: &mut Sdfg) -> Parsed<BlockKind> {
        let header = self.header(|parser| {
            parser.cursor.expect(Punctuation::Colon)?;
            let condition = Some(parser.expression()?);
            Ok(LoopHeader { condition, unroll: parser.cursor.eat_word("unroll"), ..LoopHeader::default() })
        })?;
        self.loop_block(sdfg, header)
    }

    /// `: i = 0; i = i + 1 { ... } while i < N`.
    fn do_loop(&mut self, sdfg: &mut Sdfg) -> Parsed<BlockKind> {
        let header = self.header(|parser| {
            let mut header = LoopHeader::default();
            if parser.cursor.eat(Punctuation::Colon) {
                parser.loop_init(&mut header)?;
                parser.cursor.expect(Punctuation::Semicolon)?;
                parser.loop_update(&mut header)?;
            }
            header.unroll = parser.cursor.eat_word("unroll");
            Ok(header)
        })?;
        let mut kind = self.loop_block(sdfg, header)?;
        while self.cursor.peek().kind == TokenKind::Newline {
            self.cursor.advance();
        }
        self.cursor.expect_word("while", "`while` and the condition of the loop")?;
        let condition = self.expression()?;
        if let BlockKind::Loop(repeated) = &mut kind {
            repeated.condition = condition;
            repeated.test_after = true;
        }
        Ok(kind)
    }

    /// `i = 0`, `i`, or nothing.
    fn loop_init(&mut self, header: &mut LoopHeader) -> Parsed<()> {
        if self.cursor.at(Punctuation::Semicolon) {
            return Ok(());
        }
        header.symbol = Some(self.symbol()?);
        if self.cursor.eat(Punctuation::Assign) {
            header.init = Some(self.expression()?);
        }
        Ok(())
    }

    /// `i = i + 1`, or nothing.
    fn loop_update(&mut self, header: &mut LoopHeader) -> Parsed<()> {
        let assigns = self.cursor.peek_nth(1).kind == TokenKind::Punctuation(Punctuation::Assign);
        // A symbol may be called `unroll`, too.
        if self.cursor.at(Punctuation::OpenBrace) || (self.cursor.at_word("unroll") && !assigns) {
            return Ok(());
        }
        let span = self.cursor.peek().span;
        let (symbol, update) = self.assignment()?;
        let name = symbol.to_string();
        match &header.symbol {
            Some(other) if *other != symbol => {
                let similar = Some(other.to_string());
                return Err(Fault::new(span, ParseErrorKind::Unknown { what: "loop symbol", name, similar }));
            }
            Some(_) => {}
            None => header.symbol = Some(symbol),
        }
        header.update = Some(update);
        Ok(())
    }

    /// The body of a loop; a faulty header leaves an endless loop, which is thrown away with the rest.
    fn loop_block(&mut self, sdfg: &mut Sdfg, header: Option<LoopHeader>) -> Parsed<BlockKind> {
        let LoopHeader { symbol, init, condition, update, unroll } = header.unwrap_or_default();
        let condition = condition.unwrap_or_else(|| Expression::bool(true));
        let body = self.region(sdfg)?;
        Ok(BlockKind::Loop(Loop { symbol, init, condition, update, test_after: false, unroll, body }))
    }

    /// `: x > 0 { ... } elif x < 0 { ... } else { ... }`.
    fn branch(&mut self, sdfg: &mut Sdfg) -> Parsed<BlockKind> {
        let condition = self.header(|parser| {
            parser.cursor.expect(Punctuation::Colon)?;
            parser.expression()
        })?;
        let or_false = |condition: Option<Expression>| condition.unwrap_or_else(|| Expression::bool(false));
        let mut arms = vec![(or_false(condition), self.region(sdfg)?)];
        let mut otherwise = None;
        while otherwise.is_none() {
            if self.next_line_is("elif") {
                let condition = self.header(Self::expression)?;
                arms.push((or_false(condition), self.region(sdfg)?));
            } else if self.next_line_is("else") {
                otherwise = Some(self.region(sdfg)?);
            } else {
                break;
            }
        }
        Ok(BlockKind::Branch(Branch { arms, otherwise }))
    }

    /// Takes `word` if it comes next, also on a later line.
    fn next_line_is(&mut self, word: &str) -> bool {
        let mut ahead = 0;
        while self.cursor.peek_nth(ahead).kind == TokenKind::Newline {
            ahead += 1;
        }
        let token = self.cursor.peek_nth(ahead);
        if token.kind != TokenKind::Identifier || self.cursor.text(token) != word {
            return false;
        }
        self.skip_line_ends();
        self.cursor.eat_word(word)
    }

    /// Drops reports of unknown names of this kind, which may follow from another error.
    fn forget_unknown(&mut self, noun: &str) {
        self.faults
            .retain(|fault| !matches!(&fault.kind, ParseErrorKind::Unknown { what, .. } if *what == noun));
    }
}

/// Condition and update of a loop that counts to `end`; a step that is written as a negation counts down.
fn counting(symbol: &Symbol, end: Expression, step: Expression) -> (Expression, Expression) {
    let name = || Expression::name(symbol.as_str());
    match step.kind {
        ExpressionKind::Unary { op: UnaryOp::Negate, operand } => (
            Expression::compare(CompareOp::Greater, name(), end),
            Expression::binary(BinaryOp::Subtract, name(), *operand),
        ),
        _ => (
            Expression::compare(CompareOp::Less, name(), end),
            Expression::binary(BinaryOp::Add, name(), step),
        ),
    }
}
