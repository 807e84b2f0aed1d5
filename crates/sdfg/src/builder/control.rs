//! Control flow in the builder: states, loops, branches, jumps and transitions.
//!
//! Blocks continue with the next block of their region in the order of the calls, unless transitions are
//! given.

use sdfg_graph::diagnostic::Element;
use sdfg_graph::ir::draft::DraftSdfg;
use sdfg_graph::ir::{
    Block, BlockId, BlockKind, Branch, Loop, RegionId, SourceLoc, State, StateId, Transition, TransitionId,
};
use sdfg_language::symbolic::Symbol;
use sdfg_language::syntax::{BinaryOp, CompareOp, Expression, UnaryOp};

use super::input::{self, InputError, IntoExpression, LoopRange};
use super::order::ScopeFrame;
use super::{OpenRegion, SdfgBuilder, StateBuilder};

impl SdfgBuilder {
    /// Adds a state.
    #[track_caller]
    pub fn state(&mut self, label: &str, build: impl FnOnce(&mut StateBuilder<'_>)) -> BlockId {
        let mut state = State::new(self.sdfg.fresh_block_label(label));
        state.loc = Some(SourceLoc::caller());
        let mut builder = StateBuilder::new(self, state, ScopeFrame::default());
        build(&mut builder);
        let (state, frame) = builder.close();
        let (block, state) = self.add_state(state);
        self.closed.insert(state, Some(frame));
        block
    }

    /// Adds to a state that an earlier call made. The calls go on in its program order: what they add is ordered after
    /// what it could disturb, and containers stay local.
    ///
    /// ```
    /// use sdfg::builder::SdfgBuilder;
    /// use sdfg::dtype::ScalarType::F64;
    ///
    /// let mut b = SdfgBuilder::new("twice");
    /// b.scalar("x", F64);
    /// let state = b.state("double", |s| {
    ///     s.tasklet("double").input("a", "x").output("o", "x").code("o = 2.0 * a");
    /// });
    /// b.extend_state(state, |s| {
    ///     s.tasklet("increment").input("a", "x").output("o", "x").code("o = a + 1.0");
    /// });
    /// let (program, _) = b.build()?;
    /// assert!(sdfg::text::print(program.sdfg()).contains("x_1 -> increment.a: x"));
    /// # Ok::<(), sdfg::validate::Rejected>(())
    /// ```
    #[track_caller]
    pub fn extend_state(&mut self, state: BlockId, build: impl FnOnce(&mut StateBuilder<'_>)) {
        let kind = self.sdfg.get_block(state).map(|block| &block.kind);
        let Some(&BlockKind::State(id)) = kind else {
            let program = self.sdfg.name.clone();
            return self.note(Element::Scope, InputError::NotAState { program });
        };
        let Some(frame) = self.closed.insert(id, None).unwrap_or_else(|| Some(ScopeFrame::default())) else {
            let label = self.sdfg.block(state).label.clone();
            return self.note(Element::Block(label.clone()), InputError::StateIsOpen { label });
        };
        let graph = std::mem::replace(self.sdfg.state_mut(id), State::new(""));
        let mut builder = StateBuilder::new(self, graph, frame);
        build(&mut builder);
        let (graph, frame) = builder.close();
        *self.sdfg.state_mut(id) = graph;
        self.closed.insert(id, Some(frame));
    }

    /// Adds `for symbol in range`: a text `begin:end` or `begin:end:step` with a constant step, as in `"0:T"`. The
    /// bounds may read containers; the end and the condition are evaluated before each iteration.
    #[track_caller]
    pub fn for_loop(
        &mut self,
        label: &str,
        symbol: &str,
        range: &str,
        build: impl FnOnce(&mut Self),
    ) -> BlockId {
        let zero = || LoopRange { begin: Expression::integer(0), end: Expression::integer(0), step: 1 };
        let range = self.checked(LoopRange::parse(range), zero);
        let variable = Expression::name(symbol);
        let compare = if range.step > 0 { CompareOp::Less } else { CompareOp::Greater };
        let step = match range.step {
            step if step < 0 => {
                Expression::unary(UnaryOp::Negate, Expression::integer(step.saturating_neg()))
            }
            step => Expression::integer(step),
        };
        let header = Loop {
            symbol: Some(self.checked(input::symbol(symbol), || Symbol::of("unnamed"))),
            init: Some(range.begin),
            condition: Expression::compare(compare, variable.clone(), range.end),
            update: Some(Expression::binary(BinaryOp::Add, variable, step)),
            test_after: false,
            unroll: false,
            body: self.sdfg.body(),
        };
        self.add_loop(label, header, build)
    }

    /// Adds a loop that runs while a condition holds.
    #[track_caller]
    pub fn while_loop(
        &mut self,
        label: &str,
        condition: impl IntoExpression,
        build: impl FnOnce(&mut Self),
    ) -> BlockId {
        let condition = self.checked(condition.into_expression(), || Expression::bool(false));
        self.add_loop(label, self.plain_loop(condition, false), build)
    }

    /// Adds a loop that runs once, and again while a condition holds.
    #[track_caller]
    pub fn do_while(
        &mut self,
        label: &str,
        build: impl FnOnce(&mut Self),
        condition: impl IntoExpression,
    ) -> BlockId {
        let condition = self.checked(condition.into_expression(), || Expression::bool(false));
        self.add_loop(label, self.plain_loop(condition, true), build)
    }

    /// Adds `for (symbol = init; condition; symbol = update)`.
    #[track_caller]
    pub fn general_loop(
        &mut self,
        label: &str,
        symbol: &str,
        [init, condition, update]: [&str; 3],
        build: impl FnOnce(&mut Self),
    ) -> BlockId {
        let stand_in = || Expression::bool(false);
        let header = Loop {
            symbol: Some(self.checked(input::symbol(symbol), || Symbol::of("unnamed"))),
            init: Some(self.checked(init.into_expression(), stand_in)),
            condition: self.checked(condition.into_expression(), stand_in),
            update: Some(self.checked(update.into_expression(), stand_in)),
            test_after: false,
            unroll: false,
            body: self.sdfg.body(),
        };
        self.add_loop(label, header, build)
    }

    /// Asks back ends to copy the body of a loop out.
    pub fn unroll(&mut self, block: BlockId) {
        if let BlockKind::Loop(repeated) = &mut self.sdfg.block_mut(block).kind {
            repeated.unroll = true;
        }
    }

    /// Adds a branch with one arm.
    #[track_caller]
    pub fn if_then(
        &mut self,
        label: &str,
        condition: impl IntoExpression,
        then: impl FnOnce(&mut Self),
    ) -> BlockId {
        let condition = self.checked(condition.into_expression(), || Expression::bool(false));
        let arms = vec![(condition, self.region(then))];
        self.add_block(label, BlockKind::Branch(Branch { arms, otherwise: None }))
    }

    /// Begins a branch with any number of arms, the first of which whose condition holds is run. It is added by
    /// [`otherwise`](BranchBuilder::otherwise), or by [`finish`](BranchBuilder::finish) if nothing runs otherwise.
    ///
    /// ```
    /// use sdfg::builder::SdfgBuilder;
    /// use sdfg::dtype::ScalarType::I64;
    ///
    /// let mut b = SdfgBuilder::new("sign");
    /// b.scalar("x", I64);
    /// b.scalar("sign", I64);
    /// let set = |b: &mut SdfgBuilder, value: i64| {
    ///     b.state("set", |s| {
    ///         s.tasklet("set").output("o", "sign").code(&format!("o = {value}"));
    ///     });
    /// };
    /// b.branch("by_sign")
    ///     .arm("x > 0", |b| set(b, 1))
    ///     .arm("x < 0", |b| set(b, -1))
    ///     .otherwise(|b| set(b, 0));
    /// let (program, _) = b.build()?;
    /// assert!(sdfg::text::print(program.sdfg()).contains("} elif x < 0 {"));
    /// # Ok::<(), sdfg::validate::Rejected>(())
    /// ```
    #[track_caller]
    #[must_use = "the branch is added by `otherwise` or `finish`"]
    pub fn branch(&mut self, label: &str) -> BranchBuilder<'_> {
        let loc = SourceLoc::caller();
        BranchBuilder { builder: self, label: label.to_owned(), arms: Vec::new(), loc }
    }

    /// Adds a branch with two arms. For more, see [`branch`](SdfgBuilder::branch).
    #[track_caller]
    pub fn if_else(
        &mut self,
        label: &str,
        condition: impl IntoExpression,
        then: impl FnOnce(&mut Self),
        otherwise: impl FnOnce(&mut Self),
    ) -> BlockId {
        let condition = self.checked(condition.into_expression(), || Expression::bool(false));
        let arms = vec![(condition, self.region(then))];
        let otherwise = Some(self.region(otherwise));
        self.add_block(label, BlockKind::Branch(Branch { arms, otherwise }))
    }

    /// Leaves the innermost loop.
    #[track_caller]
    pub fn break_loop(&mut self) -> BlockId {
        self.add_block("break", BlockKind::Break)
    }

    /// Goes on with the next iteration of the innermost loop.
    #[track_caller]
    pub fn continue_loop(&mut self) -> BlockId {
        self.add_block("continue", BlockKind::Continue)
    }

    /// Ends the program.
    #[track_caller]
    pub fn return_early(&mut self) -> BlockId {
        self.add_block("return", BlockKind::Return)
    }

    /// Sets a symbol between the blocks before and after; the value may read containers.
    #[track_caller]
    pub fn assign(&mut self, symbol: &str, value: impl IntoExpression) {
        let symbol = self.checked(input::symbol(symbol), || Symbol::of("unnamed"));
        let value = self.checked(value.into_expression(), || Expression::integer(0));
        let open = self.open();
        let is_free = |block: &BlockId| !open.explicit.contains(block) && !open.pending.contains_key(block);
        let before = match open.blocks.last().copied().filter(is_free) {
            Some(last) => last,
            None => self.empty_state("assign", SourceLoc::caller()),
        };
        self.open().pending.insert(before, (symbol, value, SourceLoc::caller()));
    }

    /// Adds a transition after the ones that the source has. Once a block has one, it goes on by its transitions only,
    /// no longer with the block that was added after it.
    #[track_caller]
    pub fn transition(&mut self, src: BlockId, dst: BlockId) -> TransitionBuilder<'_> {
        self.explicit(src);
        let loc = Some(SourceLoc::caller());
        let transition = Transition { src, dst, condition: None, assignments: Vec::new(), loc };
        let id = self.sdfg.add_transition(transition);
        TransitionBuilder { builder: self, id }
    }

    /// Says that the region may end after a block: it does not go on with the block that was added after it.
    pub fn end_after(&mut self, block: BlockId) {
        self.explicit(block);
    }

    /// Lets the region that is being built begin with this block instead of its first.
    pub fn start_with(&mut self, block: BlockId) {
        let region = self.open().region;
        self.sdfg.region_mut(region).start = Some(block);
    }

    fn explicit(&mut self, block: BlockId) {
        let region = self.sdfg.block(block).region;
        if let Some(open) = self.regions.iter_mut().find(|open| open.region == region) {
            open.explicit.insert(block);
        }
    }

    fn plain_loop(&self, condition: Expression, test_after: bool) -> Loop {
        let body = self.sdfg.body();
        Loop { symbol: None, init: None, condition, update: None, test_after, unroll: false, body }
    }

    #[track_caller]
    fn add_loop(&mut self, label: &str, header: Loop, build: impl FnOnce(&mut Self)) -> BlockId {
        let body = self.region(build);
        self.add_block(label, BlockKind::Loop(Loop { body, ..header }))
    }

    /// The innermost region that is open. The body of the SDFG is open until `build()`.
    fn open(&mut self) -> &mut OpenRegion {
        if self.regions.is_empty() {
            self.regions.push(OpenRegion::new(self.sdfg.body()));
        }
        let innermost = self.regions.len() - 1;
        &mut self.regions[innermost]
    }

    fn region(&mut self, build: impl FnOnce(&mut Self)) -> RegionId {
        let region = self.sdfg.add_region();
        self.regions.push(OpenRegion::new(region));
        build(self);
        if let Some(open) = self.regions.pop() {
            self.close_region(open);
        }
        region
    }

    /// Joins successive blocks.
    pub(super) fn close_region(&mut self, mut open: OpenRegion) {
        if let Some(last) = open.blocks.last().copied()
            && let Some((_, _, loc)) = open.pending.get(&last)
        {
            let mut state = State::new(self.sdfg.fresh_block_label("end"));
            state.loc = Some(loc.clone());
            open.blocks.push(self.sdfg.add_state(open.region, state).0);
        }
        for pair in open.blocks.windows(2) {
            let &[src, dst] = pair else { continue };
            let jumps = matches!(
                self.sdfg.block(src).kind,
                BlockKind::Break | BlockKind::Continue | BlockKind::Return
            );
            if jumps || open.explicit.contains(&src) {
                continue;
            }
            let (assignments, loc) = match open.pending.remove(&src) {
                Some((symbol, value, loc)) => (vec![(symbol, value)], Some(loc)),
                None => (Vec::new(), self.sdfg.block(src).loc.clone()),
            };
            self.sdfg.add_transition(Transition { src, dst, condition: None, assignments, loc });
        }
    }

    #[track_caller]
    fn add_block(&mut self, label: &str, kind: BlockKind) -> BlockId {
        self.add_block_at(label, kind, SourceLoc::caller())
    }

    fn add_block_at(&mut self, label: &str, kind: BlockKind, loc: SourceLoc) -> BlockId {
        let label = self.sdfg.fresh_block_label(label);
        let region = self.open().region;
        let id = self.sdfg.add_block(region, Block { label, kind, region, loc: Some(loc) });
        self.open().blocks.push(id);
        id
    }

    fn add_state(&mut self, state: State) -> (BlockId, StateId) {
        let region = self.open().region;
        let added = self.sdfg.add_state(region, state);
        self.open().blocks.push(added.0);
        added
    }

    fn empty_state(&mut self, label: &str, loc: SourceLoc) -> BlockId {
        let mut state = State::new(self.sdfg.fresh_block_label(label));
        state.loc = Some(loc);
        self.add_state(state).0
    }
}

/// A branch whose arms are being given.
#[derive(Debug)]
pub struct BranchBuilder<'b> {
    builder: &'b mut SdfgBuilder,
    label: String,
    arms: Vec<(Expression, RegionId)>,
    loc: SourceLoc,
}

impl BranchBuilder<'_> {
    /// Adds what runs if a condition holds and those of the arms before do not.
    #[track_caller]
    #[must_use = "the branch is added by `otherwise` or `finish`"]
    pub fn arm(mut self, condition: impl IntoExpression, then: impl FnOnce(&mut SdfgBuilder)) -> Self {
        let condition = self.builder.checked(condition.into_expression(), || Expression::bool(false));
        self.arms.push((condition, self.builder.region(then)));
        self
    }

    /// Adds the branch with what runs if no condition holds.
    #[track_caller]
    pub fn otherwise(self, build: impl FnOnce(&mut SdfgBuilder)) -> BlockId {
        let otherwise = Some(self.builder.region(build));
        self.add(otherwise)
    }

    /// Adds the branch; if no condition holds, nothing is run.
    #[track_caller]
    pub fn finish(self) -> BlockId {
        self.add(None)
    }

    #[track_caller]
    fn add(self, otherwise: Option<RegionId>) -> BlockId {
        let BranchBuilder { builder, label, arms, loc } = self;
        if arms.is_empty() {
            builder.note(Element::Block(label.clone()), InputError::NoArms);
        }
        builder.add_block_at(&label, BlockKind::Branch(Branch { arms, otherwise }), loc)
    }
}

/// A transition that was just added.
#[derive(Debug)]
pub struct TransitionBuilder<'b> {
    builder: &'b mut SdfgBuilder,
    id: TransitionId,
}

impl TransitionBuilder<'_> {
    /// Takes it only when a condition holds.
    #[track_caller]
    pub fn when(self, condition: impl IntoExpression) -> Self {
        let condition = self.builder.checked(condition.into_expression(), || Expression::bool(false));
        self.builder.sdfg.transition_mut(self.id).condition = Some(condition);
        self
    }

    /// Sets a symbol when it is taken. All assignments of a transition see the old values.
    #[track_caller]
    pub fn assign(self, symbol: &str, value: impl IntoExpression) -> Self {
        let symbol = self.builder.checked(input::symbol(symbol), || Symbol::of("unnamed"));
        let value = self.builder.checked(value.into_expression(), || Expression::integer(0));
        self.builder.sdfg.transition_mut(self.id).assignments.push((symbol, value));
        self
    }
}
