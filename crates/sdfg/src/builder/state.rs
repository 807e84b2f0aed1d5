//! Dataflow of one state in the builder.

use sdfg_graph::diagnostic::Element;
use sdfg_graph::ir::draft::DraftSdfg;
use sdfg_graph::ir::{
    Access, ConflictResolution, Container, ContainerId, ContainerKind, Flow, Layout, Memlet, NodeId,
    SourceLoc, State, Volume,
};
use sdfg_language::dtype::ElementType;
use sdfg_language::symbolic::Expr;
use sdfg_language::tasklet::Dialect;

use super::SdfgBuilder;
use super::input::{InputError, IntoAccess, IntoContainer, IntoExpr, IntoNested, IntoRange};
use super::node::{CodeNodeBuilder, LibraryBody, NestedBody, ReduceBuilder, TaskletBuilderBody};
use super::order::ScopeFrame;
use super::scope::{ConsumeBuilder, MapBuilder};

/// Adds nodes and memlets to a state, or to a scope of it while the closure of the scope runs.
#[derive(Debug)]
pub struct StateBuilder<'b> {
    pub(super) program: &'b mut SdfgBuilder,
    pub(super) state: State,
    /// Open scopes, the state itself first.
    pub(super) frames: Vec<ScopeFrame>,
}

impl<'b> StateBuilder<'b> {
    pub(super) fn new(program: &'b mut SdfgBuilder, state: State, frame: ScopeFrame) -> Self {
        StateBuilder { program, state, frames: vec![frame] }
    }

    /// The state, and what the calls have left of their order.
    pub(super) fn close(mut self) -> (State, ScopeFrame) {
        self.frames.truncate(1);
        (self.state, self.frames.pop().unwrap_or_default())
    }

    /// The builder of the whole program, to declare containers and symbols.
    pub fn program(&mut self) -> &mut SdfgBuilder {
        self.program
    }

    /// The graph of the state as it is so far.
    pub fn graph(&self) -> &State {
        &self.state
    }

    /// Adds a map scope with one range for each parameter, as in `[("i", "0:N"), ("j", "0:M:2")]`.
    #[track_caller]
    pub fn map<'r>(
        &mut self,
        label: &str,
        ranges: impl IntoIterator<Item = (&'r str, impl IntoRange)>,
        build: impl FnOnce(&mut Self),
    ) -> NodeId {
        self.map_scope(label, ranges).body(build)
    }

    /// Begins a map scope with a schedule or with ranges from data; [`body`](MapBuilder::body) adds it.
    #[track_caller]
    #[must_use = "the scope is added by `body`"]
    pub fn map_scope<'r>(
        &mut self,
        label: &str,
        ranges: impl IntoIterator<Item = (&'r str, impl IntoRange)>,
    ) -> MapBuilder<'_, 'b> {
        MapBuilder::new(self, label, ranges)
    }

    /// Begins a consume scope whose processing elements take elements from `stream`; [`body`](ConsumeBuilder::body)
    /// adds it. Inside, a tasklet gets the element by an input from that stream.
    #[track_caller]
    #[must_use = "the scope is added by `body`"]
    pub fn consume(
        &mut self,
        label: &str,
        stream: impl IntoContainer,
        element: &str,
        elements: impl IntoExpr,
    ) -> ConsumeBuilder<'_, 'b> {
        ConsumeBuilder::new(self, label, stream, element, elements)
    }

    /// Begins a tasklet: give its connectors, then its code.
    #[track_caller]
    #[must_use = "the tasklet is added by `code` or `external`"]
    pub fn tasklet(&mut self, label: &str) -> CodeNodeBuilder<'_, 'b, TaskletBuilderBody> {
        CodeNodeBuilder::new(self, label, TaskletBuilderBody)
    }

    /// Adds a map scope with one tasklet, which gets the label of the scope with `_body`: ranges, inputs, code, outputs.
    #[track_caller]
    pub fn mapped_tasklet<'r>(
        &mut self,
        label: &str,
        ranges: impl IntoIterator<Item = (&'r str, impl IntoRange)>,
        inputs: impl IntoIterator<Item = (&'r str, impl IntoAccess)>,
        code: &str,
        outputs: impl IntoIterator<Item = (&'r str, impl IntoAccess)>,
    ) -> NodeId {
        // Everything is read here: inside the closure of the scope, the place of this call would not be known.
        let loc = SourceLoc::caller();
        let mut ports = Vec::new();
        for (connector, access) in inputs {
            ports.push(self.container_port(connector, access, false));
        }
        for (connector, access) in outputs {
            ports.push(self.container_port(connector, access, true));
        }
        let body = self.tasklet_body(code, Dialect::Python);
        MapBuilder::new(self, label, ranges).body(|scope| {
            CodeNodeBuilder::with_ports(scope, &format!("{label}_body"), ports, loc).add_tasklet(body);
        })
    }

    /// Begins a call of another program: give its connectors and symbols, then [`finish`](CodeNodeBuilder::finish).
    #[track_caller]
    #[must_use = "the call is added by `finish`"]
    pub fn nested(&mut self, label: &str, program: impl IntoNested) -> CodeNodeBuilder<'_, 'b, NestedBody> {
        let sdfg = program.into_nested(self.program);
        CodeNodeBuilder::new(self, label, NestedBody::new(sdfg))
    }

    /// Begins a library node: give its connectors and properties, then [`finish`](CodeNodeBuilder::finish).
    #[track_caller]
    #[must_use = "the node is added by `finish`"]
    pub fn library(&mut self, label: &str, operation: &str) -> CodeNodeBuilder<'_, 'b, LibraryBody> {
        CodeNodeBuilder::new(self, label, LibraryBody::new(operation))
    }

    /// Begins a reduction of all axes; [`ReduceBuilder::finish`] adds it.
    #[track_caller]
    #[must_use = "the node is added by `finish`"]
    pub fn reduce(
        &mut self,
        label: &str,
        resolution: ConflictResolution,
        from: impl IntoAccess,
        to: impl IntoAccess,
    ) -> ReduceBuilder<'_, 'b> {
        let (from, to) = (self.access_to(from), self.access_to(to));
        ReduceBuilder::new(self, label, resolution, from, to)
    }

    /// Copies from one container to another; between streams and arrays it pops or pushes. A copy that pops all there is
    /// has a dynamic volume: see [`drain`](StateBuilder::drain).
    #[track_caller]
    pub fn copy(&mut self, from: impl IntoAccess, to: impl IntoAccess) {
        let (Some(from), Some(to)) = (self.access_to(from), self.access_to(to)) else { return };
        self.copied(Memlet::copy(from.clone(), to.clone()), &from, &to);
    }

    /// Pops all elements of a stream into an array, from the first position of the destination on.
    #[track_caller]
    pub fn drain(&mut self, stream: impl IntoAccess, to: impl IntoAccess) {
        let (Some(from), Some(to)) = (self.access_to(stream), self.access_to(to)) else { return };
        let flow = Flow::Copy { from: from.clone(), to: to.clone(), resolution: None };
        let memlet = Memlet { flow, volume: Volume::Dynamic, declared: false };
        self.copied(memlet, &from, &to);
    }

    #[track_caller]
    fn copied(&mut self, memlet: Memlet, from: &Access, to: &Access) {
        if !self.add_copy(memlet, from, to, SourceLoc::caller()) {
            self.program.note(Element::Scope, InputError::CopyPassesThrough);
        }
    }

    /// Makes a reference name a part of a container, for the calls that follow in this scope and for what runs after. Calls
    /// in other states are ordered as if they accessed all that earlier calls have set the reference to. See
    /// [`SdfgBuilder::reference`].
    #[track_caller]
    pub fn set(&mut self, reference: impl IntoContainer, target: impl IntoAccess) -> Option<NodeId> {
        let reference = self.container(reference)?;
        let target = self.access_to(target)?;
        let declared = self.program.sdfg.container(reference);
        if !matches!(declared.kind, ContainerKind::Reference(_)) {
            let name = declared.name.clone();
            self.program.note(Element::Container(name.clone()), InputError::NotAReference { name });
            return None;
        }
        self.program.targets.entry(reference).or_default().insert(target.container);
        Some(self.add_binding(reference, target, SourceLoc::caller()))
    }

    /// Makes a view name a part of a container, for the calls that follow in this scope.
    #[track_caller]
    pub fn bind(&mut self, view: impl IntoContainer, target: impl IntoAccess) -> Option<NodeId> {
        let view = self.container(view)?;
        let target = self.access_to(target)?;
        Some(self.add_binding(view, target, SourceLoc::caller()))
    }

    /// Declares a transient array that is local to the scope: each iteration has its own.
    #[track_caller]
    pub fn transient(
        &mut self,
        name: &str,
        element: impl Into<ElementType>,
        shape: impl IntoIterator<Item = impl IntoExpr>,
    ) -> ContainerId {
        let shape: Vec<Expr> = self.program.shape(shape);
        let kind = ContainerKind::Array(Layout::packed(shape));
        self.local_transient(name, element.into(), kind)
    }

    /// Declares one element that is local to the scope.
    #[track_caller]
    pub fn transient_scalar(&mut self, name: &str, element: impl Into<ElementType>) -> ContainerId {
        self.local_transient(name, element.into(), ContainerKind::Scalar)
    }

    #[track_caller]
    fn local_transient(&mut self, name: &str, element: ElementType, kind: ContainerKind) -> ContainerId {
        let mut container = Container::new(self.program.sdfg.fresh_container_name(name), element, kind);
        container.transient = true;
        container.loc = Some(SourceLoc::caller());
        let id = self.program.sdfg.add_container(container);
        self.local(id);
        id
    }

    /// Says that a container is used in this scope only: its access nodes are in the scope, and nothing of it passes
    /// the entry and exit. Outside of scopes it says nothing.
    pub fn local(&mut self, container: ContainerId) {
        let depth = self.depth();
        self.frames[depth].locals.insert(container);
    }

    /// The access node of the latest contents of a container, for edges that are made by hand.
    #[track_caller]
    pub fn access(&mut self, container: impl IntoContainer) -> Option<NodeId> {
        let container = self.container(container)?;
        Some(self.latest(container, &SourceLoc::caller()))
    }

    /// Orders two nodes of the same scope.
    #[track_caller]
    pub fn order(&mut self, before: NodeId, after: NodeId) {
        self.join((before, None), (after, None), Memlet::order(), SourceLoc::caller());
    }

    /// Adds an edge by hand. Edges that are made so take no part in the order of later calls.
    #[track_caller]
    pub fn edge(&mut self, src: (NodeId, Option<&str>), dst: (NodeId, Option<&str>), memlet: Memlet) {
        let end = |(node, connector): (NodeId, Option<&str>)| (node, connector.map(str::to_owned));
        self.join(end(src), end(dst), memlet, SourceLoc::caller());
    }

    #[track_caller]
    pub(super) fn access_to(&mut self, access: impl IntoAccess) -> Option<Access> {
        let access = access.into_access(&self.program.sdfg);
        match access {
            Ok(access) => Some(access),
            Err(error) => {
                let path = Element::Block(self.state.label.clone());
                self.program.note(path, error);
                None
            }
        }
    }

    #[track_caller]
    pub(super) fn container(&mut self, container: impl IntoContainer) -> Option<ContainerId> {
        let container = container.into_container(&self.program.sdfg);
        match container {
            Ok(container) => Some(container),
            Err(error) => {
                let path = Element::Block(self.state.label.clone());
                self.program.note(path, error);
                None
            }
        }
    }
}
