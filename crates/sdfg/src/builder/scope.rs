//! Map and consume scopes in the builder.

use sdfg_graph::diagnostic::Element;
use sdfg_graph::ir::draft::DraftState;
use sdfg_graph::ir::{
    Access, Consume, ContainerId, Map, Memlet, Node, NodeId, NodeKind, OpenMpSchedule, Schedule,
    ScheduleAttributes, ScheduleKind, ScopeExit, SourceLoc,
};
use sdfg_language::subset::{Range, Subset};
use sdfg_language::symbolic::{Expr, Symbol};
use sdfg_language::syntax::Expression;

use super::StateBuilder;
use super::input::{self, InputError, IntoAccess, IntoContainer, IntoExpr, IntoExpression, IntoRange};
use super::order::ScopeFrame;

/// A map scope that is being described.
#[derive(Debug)]
pub struct MapBuilder<'s, 'b> {
    state: &'s mut StateBuilder<'b>,
    label: String,
    map: Map,
    schedule: ScheduleKind,
    attributes: ScheduleAttributes,
    symbols: Vec<(String, Access)>,
    loc: SourceLoc,
}

impl<'s, 'b> MapBuilder<'s, 'b> {
    #[track_caller]
    pub(super) fn new<'r>(
        state: &'s mut StateBuilder<'b>,
        label: &str,
        ranges: impl IntoIterator<Item = (&'r str, impl IntoRange)>,
    ) -> Self {
        let mut map = Map::new(Vec::new(), Subset(Vec::new()));
        for (parameter, range) in ranges {
            map.params.push(state.program.checked(input::symbol(parameter), || Symbol::of("unnamed")));
            map.ranges.0.push(state.program.checked(range.into_range(), || Range::new(0, 1)));
        }
        MapBuilder {
            state,
            label: label.to_owned(),
            map,
            schedule: ScheduleKind::Default,
            attributes: ScheduleAttributes::default(),
            symbols: Vec::new(),
            loc: SourceLoc::caller(),
        }
    }

    /// Gives a symbol that the ranges or the scope use its value from one element of a container.
    #[track_caller]
    #[must_use = "the scope is added by `body`"]
    pub fn bind(mut self, symbol: &str, element: impl IntoAccess) -> Self {
        let symbol = self.state.program.checked(input::symbol(symbol), || Symbol::of("unnamed"));
        if let Some(access) = self.state.access_to(element) {
            self.symbols.push((symbol.to_string(), access));
        }
        self
    }

    /// Chooses what runs the iterations. An attribute that does not belong to it is an error of the program.
    #[must_use = "the scope is added by `body`"]
    pub fn schedule(mut self, schedule: ScheduleKind) -> Self {
        self.schedule = schedule;
        self
    }

    /// Chooses how iterations are handed to threads.
    #[must_use = "the scope is added by `body`"]
    pub fn sharing(mut self, sharing: OpenMpSchedule) -> Self {
        self.attributes.sharing = Some(sharing);
        self
    }

    /// Chooses how many iterations are handed out at a time.
    #[track_caller]
    #[must_use = "the scope is added by `body`"]
    pub fn chunk(mut self, chunk: impl IntoExpr) -> Self {
        self.attributes.chunk = Some(self.state.program.checked(chunk.into_expr(), Expr::one));
        self
    }

    /// Chooses the number of threads.
    #[track_caller]
    #[must_use = "the scope is added by `body`"]
    pub fn threads(mut self, threads: impl IntoExpr) -> Self {
        self.attributes.threads = Some(self.state.program.checked(threads.into_expr(), Expr::one));
        self
    }

    /// Makes the leading dimensions one shared iteration space.
    #[must_use = "the scope is added by `body`"]
    pub fn collapse(mut self, dimensions: u32) -> Self {
        self.attributes.collapse = Some(dimensions);
        self
    }

    /// Has each thread around the map start a team of at most so many threads for it.
    #[track_caller]
    #[must_use = "the scope is added by `body`"]
    pub fn nested(mut self, threads: impl IntoExpr) -> Self {
        self.attributes.nested = Some(self.state.program.checked(threads.into_expr(), Expr::one));
        self
    }

    /// Chooses the extents of the blocks of a GPU kernel, innermost dimension first.
    #[track_caller]
    #[must_use = "the scope is added by `body`"]
    pub fn block(mut self, extents: impl IntoIterator<Item = impl IntoExpr>) -> Self {
        let mut found = Vec::new();
        for extent in extents {
            found.push(self.state.program.checked(extent.into_expr(), Expr::one));
        }
        self.attributes.block = Some(found);
        self
    }

    /// Adds the scope with what the closure puts into it; gives its entry.
    pub fn body(self, build: impl FnOnce(&mut StateBuilder<'b>)) -> NodeId {
        let MapBuilder { state, label, mut map, schedule, attributes, symbols, loc } = self;
        match Schedule::with(schedule, attributes) {
            Ok(found) => map.schedule = found,
            Err(foreign) => {
                state.program.note_at(Element::Scope, InputError::ForeignAttribute(foreign), &loc)
            }
        }
        let exit = |entry| NodeKind::MapExit(ScopeExit { entry });
        let (entry, exit) = add_pair(state, &label, NodeKind::MapEntry(map), exit, &loc);
        state.open_unit(entry, exit, &loc);
        for (symbol, access) in symbols {
            let end = state.source_of(access.container, &loc);
            state.join(end, (entry, Some(symbol)), Memlet::read(access), loc.clone());
        }
        state.frames.push(ScopeFrame::of_scope(entry, exit, None));
        build(state);
        state.close_frame();
        entry
    }
}

/// A consume scope that is being described.
#[derive(Debug)]
pub struct ConsumeBuilder<'s, 'b> {
    state: &'s mut StateBuilder<'b>,
    label: String,
    consume: Consume,
    stream: Option<ContainerId>,
    loc: SourceLoc,
}

impl<'s, 'b> ConsumeBuilder<'s, 'b> {
    #[track_caller]
    pub(super) fn new(
        state: &'s mut StateBuilder<'b>,
        label: &str,
        stream: impl IntoContainer,
        element: &str,
        elements: impl IntoExpr,
    ) -> Self {
        let stream = state.container(stream);
        let consume = Consume {
            element: state.program.checked(input::symbol(element), || Symbol::of("unnamed")),
            elements: state.program.checked(elements.into_expr(), Expr::one),
            chunk: Expr::one(),
            condition: None,
            schedule: Schedule::default(),
        };
        ConsumeBuilder { state, label: label.to_owned(), consume, stream, loc: SourceLoc::caller() }
    }

    /// Takes up to so many elements at a time.
    #[track_caller]
    #[must_use = "the scope is added by `body`"]
    pub fn chunk(mut self, chunk: impl IntoExpr) -> Self {
        self.consume.chunk = self.state.program.checked(chunk.into_expr(), Expr::one);
        self
    }

    /// Stops when a condition holds, instead of when the stream is empty and all processing elements wait.
    #[track_caller]
    #[must_use = "the scope is added by `body`"]
    pub fn until(mut self, condition: impl IntoExpression) -> Self {
        let condition = condition.into_expression();
        self.consume.condition = Some(self.state.program.checked(condition, || Expression::bool(true)));
        self
    }

    /// Chooses what runs the processing elements.
    #[must_use = "the scope is added by `body`"]
    pub fn schedule(mut self, schedule: impl Into<Schedule>) -> Self {
        self.consume.schedule = schedule.into();
        self
    }

    /// Adds the scope with what the closure puts into it; gives its entry.
    pub fn body(self, build: impl FnOnce(&mut StateBuilder<'b>)) -> NodeId {
        let ConsumeBuilder { state, label, consume, stream, loc } = self;
        let exit = |entry| NodeKind::ConsumeExit(ScopeExit { entry });
        let (entry, exit) = add_pair(state, &label, NodeKind::ConsumeEntry(consume), exit, &loc);
        state.open_unit(entry, exit, &loc);
        state.frames.push(ScopeFrame::of_scope(entry, exit, stream));
        build(state);
        state.close_frame();
        entry
    }
}

/// Adds entry and exit of a scope, which share a label.
fn add_pair(
    state: &mut StateBuilder<'_>,
    label: &str,
    entry: NodeKind,
    exit: impl FnOnce(NodeId) -> NodeKind,
    loc: &SourceLoc,
) -> (NodeId, NodeId) {
    let entry = state.add(label, entry, loc.clone());
    let label = state.state.node(entry).label.clone();
    let exit = state.state.add_node(Node { label, kind: exit(entry), loc: Some(loc.clone()) });
    let depth = state.depth();
    state.frames[depth].nodes.push(exit);
    (entry, exit)
}
