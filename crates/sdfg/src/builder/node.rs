//! Code nodes in the builder: tasklets, calls of other programs, library nodes and reductions.

use sdfg_graph::diagnostic::Element;
use sdfg_graph::ir::{
    Access, ConflictResolution, Connector, Flow, LibraryNode, Memlet, NestedSdfg, NodeId, NodeKind, Reduce,
    ScheduleKind, Sdfg, SourceLoc, Tasklet, TaskletBody, Volume,
};
use sdfg_language::dtype::ElementType;
use sdfg_language::symbolic::{Expr, Symbol};
use sdfg_language::syntax::{Cursor, Expression, parse_lambda};
use sdfg_language::tasklet::{Code, Dialect, ExternalCall, ExternalOrigin};

use super::StateBuilder;
use super::input::{self, InputError, IntoAccess, IntoExpr, IntoExpression};

/// A code node whose connectors are being given. What is said of a memlet (`resolve`, `volume`, ...) is said of the
/// connector that was given last.
#[derive(Debug)]
pub struct CodeNodeBuilder<'s, 'b, B> {
    state: &'s mut StateBuilder<'b>,
    label: String,
    ports: Vec<Port>,
    body: B,
    loc: SourceLoc,
}

/// A tasklet without its code.
#[derive(Clone, Copy, Debug)]
pub struct TaskletBuilderBody;

/// A called program with the values of its symbols.
#[derive(Debug)]
pub struct NestedBody {
    sdfg: Sdfg,
    symbol_mapping: Vec<(Symbol, Expr)>,
}

/// An operation of a library with its properties.
#[derive(Debug)]
pub struct LibraryBody {
    operation: String,
    properties: Vec<(String, Expression)>,
    expansion: Option<String>,
}

impl NestedBody {
    pub(super) fn new(sdfg: Sdfg) -> Self {
        NestedBody { sdfg, symbol_mapping: Vec::new() }
    }
}

impl LibraryBody {
    pub(super) fn new(operation: &str) -> Self {
        LibraryBody { operation: operation.to_owned(), properties: Vec::new(), expansion: None }
    }
}

#[derive(Debug)]
pub(super) struct Port {
    connector: Connector,
    is_output: bool,
    link: Link,
}

/// Other end of a connector.
#[derive(Debug)]
enum Link {
    /// A container.
    Container { access: Access, resolution: Option<ConflictResolution>, volume: Option<Volume> },
    /// An output of another code node.
    Output { node: NodeId, connector: String },
    /// Inputs of code nodes that come later.
    Inputs,
    /// Nothing, because the memlet was wrong.
    Unknown,
}

impl<'s, 'b, B> CodeNodeBuilder<'s, 'b, B> {
    #[track_caller]
    pub(super) fn new(state: &'s mut StateBuilder<'b>, label: &str, body: B) -> Self {
        CodeNodeBuilder { state, label: label.to_owned(), ports: Vec::new(), body, loc: SourceLoc::caller() }
    }

    /// Adds an input connector that reads from a container.
    #[track_caller]
    #[must_use]
    pub fn input(self, connector: &str, from: impl IntoAccess) -> Self {
        self.port(connector, from, false)
    }

    /// Adds an output connector that writes to a container.
    #[track_caller]
    #[must_use]
    pub fn output(self, connector: &str, to: impl IntoAccess) -> Self {
        self.port(connector, to, true)
    }

    /// Adds an input connector that gets one value straight from an output of an earlier node of this scope.
    #[track_caller]
    #[must_use]
    pub fn input_from(mut self, connector: &str, node: NodeId, output: &str) -> Self {
        self.state.check_connector(connector);
        let link = Link::Output { node, connector: output.to_owned() };
        self.ports.push(Port { connector: Connector::new(connector), is_output: false, link });
        self
    }

    /// Adds an output connector of a type, whose value later nodes get by
    /// [`input_from`](CodeNodeBuilder::input_from).
    #[track_caller]
    #[must_use]
    pub fn output_value(mut self, connector: &str, element: impl Into<ElementType>) -> Self {
        self.state.check_connector(connector);
        let connector = Connector { name: connector.to_owned(), element: Some(element.into()) };
        self.ports.push(Port { connector, is_output: true, link: Link::Inputs });
        self
    }

    /// Combines what the output that was given last writes with the old value, by a conflict resolution. Behind an input it
    /// is a mistake.
    #[track_caller]
    #[must_use]
    pub fn resolve(mut self, how: ConflictResolution) -> Self {
        let Some(port) = self.ports.last_mut() else { return self.note(InputError::NoConnector) };
        if !port.is_output {
            let connector = port.connector.name.clone();
            return self.note(InputError::ResolutionOnInput { connector });
        }
        match &mut port.link {
            Link::Container { resolution, .. } => *resolution = Some(how),
            Link::Unknown => {}
            Link::Output { .. } | Link::Inputs => return self.misplaced(),
        }
        self
    }

    /// As [`resolve`](CodeNodeBuilder::resolve), by a function, as in `"lambda old, new: old + new"`.
    #[track_caller]
    #[must_use]
    pub fn resolve_by(self, function: &str) -> Self {
        match parse_lambda(function) {
            Ok(lambda) => self.resolve(ConflictResolution::Custom(lambda)),
            Err(errors) => self.note(InputError::Syntax { text: function.to_owned(), errors }),
        }
    }

    /// Moves exactly so many elements.
    #[track_caller]
    #[must_use]
    pub fn volume(self, elements: impl IntoExpr) -> Self {
        match elements.into_expr() {
            Ok(elements) => self.moves(Volume::Exact(elements)),
            Err(error) => self.note(error),
        }
    }

    /// Moves at most so many elements; which of them is decided while running.
    #[track_caller]
    #[must_use]
    pub fn at_most(self, elements: impl IntoExpr) -> Self {
        match elements.into_expr() {
            Ok(elements) => self.moves(Volume::AtMost(elements)),
            Err(error) => self.note(error),
        }
    }

    /// Moves any number of elements.
    #[track_caller]
    #[must_use]
    pub fn dynamic(self) -> Self {
        self.moves(Volume::Dynamic)
    }

    /// Declares the element type of the connector that was given last.
    #[track_caller]
    #[must_use]
    pub fn of_type(mut self, element: impl Into<ElementType>) -> Self {
        let Some(port) = self.ports.last_mut() else { return self.note(InputError::NoConnector) };
        port.connector.element = Some(element.into());
        self
    }

    #[track_caller]
    fn moves(mut self, new: Volume) -> Self {
        match self.ports.last_mut().map(|port| &mut port.link) {
            Some(Link::Container { volume, .. }) => *volume = Some(new),
            Some(Link::Unknown) => {}
            Some(Link::Output { .. } | Link::Inputs) | None => return self.misplaced(),
        }
        self
    }

    #[track_caller]
    fn port(mut self, connector: &str, access: impl IntoAccess, is_output: bool) -> Self {
        let port = self.state.container_port(connector, access, is_output);
        self.ports.push(port);
        self
    }

    /// Notes that what was said of a memlet was said of no memlet.
    #[track_caller]
    fn misplaced(self) -> Self {
        let error = match self.ports.last() {
            Some(port) => InputError::ValueConnector { connector: port.connector.name.clone() },
            None => InputError::NoConnector,
        };
        self.note(error)
    }

    #[track_caller]
    fn note(self, error: InputError) -> Self {
        let element = Element::Block(self.state.state.label.clone());
        self.state.program.note(element, error);
        self
    }

    fn connectors(&self, outputs: bool) -> Vec<Connector> {
        let side = self.ports.iter().filter(|port| port.is_output == outputs);
        side.map(|port| port.connector.clone()).collect()
    }

    /// Adds the node and its edges.
    fn add(self, kind: NodeKind) -> NodeId {
        let CodeNodeBuilder { state, label, ports, body: _, loc } = self;
        let node = state.add(&label, kind, loc.clone());
        state.open_unit(node, node, &loc);
        for port in ports {
            let name = Some(port.connector.name);
            match port.link {
                Link::Container { access, resolution, volume } if port.is_output => {
                    let end = state.destination_of(access.container, &loc);
                    let mut memlet = Memlet::write(access);
                    if let Flow::Write { resolution: slot, .. } = &mut memlet.flow {
                        *slot = resolution;
                    }
                    memlet.volume = volume.unwrap_or(memlet.volume);
                    state.join((node, name), end, memlet, loc.clone());
                }
                Link::Container { access, resolution: _, volume } => {
                    let end = state.source_of(access.container, &loc);
                    let mut memlet = Memlet::read(access);
                    memlet.volume = volume.unwrap_or(memlet.volume);
                    state.join(end, (node, name), memlet, loc.clone());
                }
                Link::Output { node: from, connector } => {
                    state.join((from, Some(connector)), (node, name), Memlet::value(), loc.clone());
                }
                Link::Inputs | Link::Unknown => {}
            }
        }
        state.close_unit();
        node
    }
}

impl StateBuilder<'_> {
    /// A connector with its container; notes what is wrong with them.
    #[track_caller]
    pub(super) fn container_port(
        &mut self,
        connector: &str,
        access: impl IntoAccess,
        is_output: bool,
    ) -> Port {
        self.check_connector(connector);
        let link = match self.access_to(access) {
            Some(access) => Link::Container { access, resolution: None, volume: None },
            None => Link::Unknown,
        };
        Port { connector: Connector::new(connector), is_output, link }
    }

    #[track_caller]
    fn check_connector(&mut self, connector: &str) {
        let label = &self.state.label;
        self.program.check_name(connector, || Element::Block(label.clone()));
    }

    /// The code of a tasklet, or a stand-in and a note of the mistakes.
    #[track_caller]
    pub(super) fn tasklet_body(&mut self, code: &str, dialect: Dialect) -> TaskletBody {
        match Code::parse(code, dialect) {
            Ok(code) => TaskletBody::Code(code),
            Err(errors) => {
                let element = Element::Block(self.state.label.clone());
                self.program.note(element, InputError::Syntax { text: code.to_owned(), errors });
                no_code()
            }
        }
    }
}

impl<'s, 'b> CodeNodeBuilder<'s, 'b, TaskletBuilderBody> {
    /// A tasklet with connectors that were read by the call at `loc`.
    pub(super) fn with_ports(
        state: &'s mut StateBuilder<'b>,
        label: &str,
        ports: Vec<Port>,
        loc: SourceLoc,
    ) -> Self {
        CodeNodeBuilder { state, label: label.to_owned(), ports, body: TaskletBuilderBody, loc }
    }

    /// Gives the code, in the tasklet language, and adds the tasklet.
    #[track_caller]
    pub fn code(self, code: &str) -> NodeId {
        self.code_in(code, Dialect::Python)
    }

    /// Gives the code with the arithmetic of another dialect and adds the tasklet.
    #[track_caller]
    pub fn code_in(self, code: &str, dialect: Dialect) -> NodeId {
        let body = self.state.tasklet_body(code, dialect);
        self.add_tasklet(body)
    }

    /// Calls a C function instead, as in `external dot(i32(N), x, y) from library "blas"`, and adds the tasklet.
    #[track_caller]
    pub fn external(self, call: &str) -> NodeId {
        let mut cursor = Cursor::new(call, 0);
        let parsed = ExternalCall::parse(&mut cursor).map_err(|error| vec![error]);
        let body = match parsed.and_then(|parsed| cursor.finish(parsed)) {
            Ok(parsed) => TaskletBody::External(parsed),
            Err(errors) => {
                let element = Element::Block(self.state.state.label.clone());
                self.state.program.note(element, InputError::Syntax { text: call.to_owned(), errors });
                no_code()
            }
        };
        self.add_tasklet(body)
    }

    pub(super) fn add_tasklet(self, body: TaskletBody) -> NodeId {
        let (inputs, outputs) = (self.connectors(false), self.connectors(true));
        self.add(NodeKind::Tasklet(Tasklet { inputs, outputs, body }))
    }
}

/// Stands in for code with mistakes, so that the calls that follow can be checked, too.
fn no_code() -> TaskletBody {
    let origin = ExternalOrigin::Source(String::new());
    TaskletBody::External(ExternalCall { symbol: String::new(), arguments: Vec::new(), result: None, origin })
}

impl CodeNodeBuilder<'_, '_, NestedBody> {
    /// Gives a symbol of the called program its value. Others keep the value of the symbol of their name outside.
    #[track_caller]
    #[must_use]
    pub fn map_symbol(mut self, symbol: &str, value: impl IntoExpr) -> Self {
        match (input::symbol(symbol), value.into_expr()) {
            (Ok(symbol), Ok(value)) => {
                self.body.symbol_mapping.push((symbol, value));
                self
            }
            (Err(error), _) | (_, Err(error)) => self.note(error),
        }
    }

    /// Adds the call.
    pub fn finish(mut self) -> NodeId {
        let empty = NestedBody::new(Sdfg::new(""));
        let NestedBody { sdfg, symbol_mapping } = std::mem::replace(&mut self.body, empty);
        let (inputs, outputs) = (self.connectors(false), self.connectors(true));
        self.add(NodeKind::Nested(Box::new(NestedSdfg { sdfg, inputs, outputs, symbol_mapping })))
    }
}

impl CodeNodeBuilder<'_, '_, LibraryBody> {
    /// Sets a property of the operation.
    #[track_caller]
    #[must_use]
    pub fn property(mut self, name: &str, value: impl IntoExpression) -> Self {
        match value.into_expression() {
            Ok(value) => {
                self.body.properties.push((name.to_owned(), value));
                self
            }
            Err(error) => self.note(error),
        }
    }

    /// Chooses the expansion.
    #[must_use]
    pub fn expansion(mut self, name: &str) -> Self {
        self.body.expansion = Some(name.to_owned());
        self
    }

    /// Adds the node.
    pub fn finish(mut self) -> NodeId {
        let LibraryBody { operation, properties, expansion } =
            std::mem::replace(&mut self.body, LibraryBody::new(""));
        let (inputs, outputs) = (self.connectors(false), self.connectors(true));
        self.add(NodeKind::Library(LibraryNode { operation, inputs, outputs, properties, expansion }))
    }
}

/// A reduction that is being described.
#[derive(Debug)]
pub struct ReduceBuilder<'s, 'b> {
    state: &'s mut StateBuilder<'b>,
    label: String,
    reduce: Reduce,
    ends: Option<(Access, Access)>,
    loc: SourceLoc,
}

impl<'s, 'b> ReduceBuilder<'s, 'b> {
    #[track_caller]
    pub(super) fn new(
        state: &'s mut StateBuilder<'b>,
        label: &str,
        resolution: ConflictResolution,
        from: Option<Access>,
        to: Option<Access>,
    ) -> Self {
        let reduce = Reduce { axes: None, resolution, identity: None, schedule: ScheduleKind::Default };
        let loc = SourceLoc::caller();
        ReduceBuilder { state, label: label.to_owned(), reduce, ends: from.zip(to), loc }
    }

    /// Reduces these axes of the input only, counted from 0.
    #[must_use = "the node is added by `finish`"]
    pub fn axes(mut self, axes: impl IntoIterator<Item = usize>) -> Self {
        let mut axes: Vec<usize> = axes.into_iter().collect();
        axes.sort_unstable();
        self.reduce.axes = Some(axes);
        self
    }

    /// Sets the output to a constant before; without, elements are combined into what it holds.
    #[track_caller]
    #[must_use = "the node is added by `finish`"]
    pub fn identity(mut self, value: impl IntoExpression) -> Self {
        let value = value.into_expression();
        self.reduce.identity = Some(self.state.program.checked(value, || Expression::integer(0)));
        self
    }

    /// Chooses what runs it.
    #[must_use = "the node is added by `finish`"]
    pub fn schedule(mut self, schedule: ScheduleKind) -> Self {
        self.reduce.schedule = schedule;
        self
    }

    /// Adds the node.
    pub fn finish(self) -> NodeId {
        let ReduceBuilder { state, label, reduce, ends, loc } = self;
        let node = state.add(&label, NodeKind::Reduce(reduce), loc.clone());
        let Some((from, to)) = ends else { return node };
        state.open_unit(node, node, &loc);
        let source = state.source_of(from.container, &loc);
        state.join(source, (node, None), Memlet::read(from), loc.clone());
        let destination = state.destination_of(to.container, &loc);
        state.join((node, None), destination, Memlet::write(to), loc);
        state.close_unit();
        node
    }
}
