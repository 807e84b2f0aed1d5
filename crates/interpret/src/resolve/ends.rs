//! Resolution of memlet ends: part of a container, with the place for messages.

use std::sync::Arc;

use sdfg_graph::analysis::{consumed_by, memlet_path};
use sdfg_graph::diagnostic::{Element, ElementPath};
use sdfg_graph::ir::{Access, ConflictResolution, EdgeId, Flow, NodeId};
use sdfg_language::dtype::ElementType;
use sdfg_language::symbolic::Symbol;
use sdfg_language::tasklet::{CompiledCode, typecheck_function};

use super::super::conflict;
use super::super::index::SubsetCode;
use super::super::program::{
    AccessId, AccessPlace, EndCode, InputCode, Memory, ResolutionCode, SymbolRead, WriteCode,
};
use super::super::shadow::AccessKind;
use super::{Context, ResolveError, Resolver, StateContext};

/// The item that accesses, and the device that runs it.
#[derive(Clone, Copy)]
pub(super) struct Accessing {
    pub(super) item: u32,
    pub(super) device: Memory,
    /// Whether it copies.
    pub(super) is_copy: bool,
}

impl Resolver {
    /// The path of an edge.
    pub(super) fn edge_path(&self, inner: &StateContext<'_>, edge: EdgeId) -> ElementPath {
        inner.path.to(Element::edge(inner.state, edge))
    }

    /// Resolves one end of the memlet of an edge.
    pub(super) fn end(
        &mut self,
        context: &mut Context<'_>,
        inner: &StateContext<'_>,
        by: Accessing,
        edge: EdgeId,
        access: &Access,
        kind: AccessKind,
    ) -> Result<EndCode, ResolveError> {
        let path = self.edge_path(inner, edge);
        let Some(&container) = context.containers.get(&access.container) else {
            let what = "a memlet of a container that does not exist".to_owned();
            return Err(ResolveError::Malformed { path: Box::new(path), what });
        };
        let subset = SubsetCode::new(access.subset(), &mut |symbol| context.slot(symbol));
        let mut declared = Vec::new();
        for outer in memlet_path(inner.state, edge).into_iter().filter(|outer| *outer != edge) {
            let memlet = &inner.state.edge(outer).memlet;
            if !memlet.declared {
                continue;
            }
            let same = memlet.accesses().filter(|outer| outer.container == access.container);
            declared.extend(
                same.map(|outer| SubsetCode::new(outer.subset(), &mut |symbol| context.slot(symbol))),
            );
        }
        let name = context.sdfg.container(access.container).name.clone();
        let mut memlet =
            if access.subset().rank() == 0 { name.clone() } else { format!("{name}[{}]", access.subset()) };
        if let Some(resolution) = inner.state.edge(edge).memlet.resolution().filter(|_| !kind.is_read()) {
            memlet.push_str(&format!(" wcr({})", resolution.name()));
        }
        let number = AccessId(self.program.accesses.len() as u32);
        let site = Arc::new(path);
        let size = context.sdfg.container(access.container).element.size() as u64;
        let item = Some(by.item);
        self.program.accesses.push(AccessPlace { item, kind, container: name, site, memlet, size });
        Ok(EndCode { container, subset, access: number, declared, device: by.device, is_copy: by.is_copy })
    }

    /// Resolves the end that is read.
    pub(super) fn read_end(
        &mut self,
        context: &mut Context<'_>,
        inner: &StateContext<'_>,
        by: Accessing,
        edge: EdgeId,
    ) -> Result<EndCode, ResolveError> {
        match inner.state.edge(edge).memlet.read_access() {
            Some(access) => self.end(context, inner, by, edge, access, AccessKind::READ),
            None => Err(self.malformed(inner, edge, "an edge that should read a container")),
        }
    }

    /// Resolves the end that is written.
    pub(super) fn write_end(
        &mut self,
        context: &mut Context<'_>,
        inner: &StateContext<'_>,
        by: Accessing,
        edge: EdgeId,
    ) -> Result<WriteCode, ResolveError> {
        let memlet = &inner.state.edge(edge).memlet;
        let Some(access) = memlet.write_access() else {
            return Err(self.malformed(inner, edge, "an edge that should write a container"));
        };
        let resolution = match memlet.resolution() {
            Some(resolution) => {
                let element = context.sdfg.container(access.container).element;
                Some(self.resolution(resolution, element, &self.edge_path(inner, edge))?)
            }
            None => None,
        };
        let kind = resolution.map_or(AccessKind::WRITE, AccessKind::resolved);
        let end = self.end(context, inner, by, edge, access, kind)?;
        Ok(WriteCode { end, resolution })
    }

    /// Refuses a memlet whose container has elements of another type than its other end.
    pub(super) fn check_element(
        &self,
        context: &Context<'_>,
        inner: &StateContext<'_>,
        edge: EdgeId,
        element: ElementType,
    ) -> Result<(), ResolveError> {
        let memlet = &inner.state.edge(edge).memlet;
        for access in memlet.accesses() {
            let found = context.sdfg.get_container(access.container).map(|container| container.element);
            if found.is_some_and(|found| found != element) {
                return Err(self.malformed(inner, edge, "a memlet between elements of different types"));
            }
        }
        Ok(())
    }

    /// The number of a conflict resolution of elements of a type.
    pub(super) fn resolution(
        &mut self,
        resolution: &ConflictResolution,
        element: ElementType,
        path: &ElementPath,
    ) -> Result<usize, ResolveError> {
        let known = |code: &ResolutionCode| code.resolution == *resolution && code.element == element;
        if let Some(number) = self.program.resolutions.iter().position(known) {
            return Ok(number);
        }
        if !conflict::is_defined_for(resolution, element) {
            let what = format!("conflict resolution `{}` is not defined for {element}", resolution.name());
            return Err(ResolveError::Malformed { path: Box::new(path.clone()), what });
        }
        let code = match resolution {
            ConflictResolution::Custom(lambda) => {
                let code = typecheck_function(lambda, element)
                    .map_err(|errors| ResolveError::Code { path: Box::new(path.clone()), errors })?;
                let parameter =
                    |i: usize| Some(code.environment.connector(&lambda.parameters.get(i)?.text)?.0);
                let (Some(old), Some(new)) = (parameter(0), parameter(1)) else {
                    let what = "a conflict resolution that is no function of two values".to_owned();
                    return Err(ResolveError::Malformed { path: Box::new(path.clone()), what });
                };
                Some((self.code(CompiledCode::of_expression(&code)), old, new))
            }
            ConflictResolution::Sum
            | ConflictResolution::Product
            | ConflictResolution::Min
            | ConflictResolution::Max
            | ConflictResolution::And
            | ConflictResolution::Or
            | ConflictResolution::Xor
            | ConflictResolution::BitAnd
            | ConflictResolution::BitOr
            | ConflictResolution::BitXor
            | ConflictResolution::MinLocation
            | ConflictResolution::MaxLocation
            | ConflictResolution::Replace => None,
        };
        self.program.resolutions.push(ResolutionCode { resolution: resolution.clone(), element, code });
        Ok(self.program.resolutions.len() - 1)
    }

    /// The register of a value that goes from a connector to another node.
    pub(super) fn value_register(
        &mut self,
        context: &mut Context<'_>,
        inner: &mut StateContext<'_>,
        edge: EdgeId,
    ) -> u32 {
        let edge = inner.state.edge(edge);
        let key = (edge.src, edge.src_connector.clone().unwrap_or_default());
        *inner.values.entry(key).or_insert_with(|| context.new_register())
    }

    /// The register of the element that a consume scope took, if an edge brings that.
    pub(super) fn consumed_register(&self, inner: &StateContext<'_>, edge: EdgeId) -> Option<u32> {
        inner.consumed.get(&consumed_by(inner.state, edge)?).copied()
    }

    /// Resolves the symbol connectors of a scope entry and binds their symbols.
    pub(super) fn symbol_reads(
        &mut self,
        context: &mut Context<'_>,
        inner: &mut StateContext<'_>,
        by: Accessing,
        entry: NodeId,
    ) -> Result<Vec<SymbolRead>, ResolveError> {
        let mut reads = Vec::new();
        for edge in inner.state.in_edges(entry) {
            let Some(name) = inner.state.edge(edge).given_symbol() else { continue };
            let Ok(symbol) = Symbol::new(name) else {
                return Err(self.malformed(inner, edge, "a connector whose name is no symbol"));
            };
            let (from, element) = self.single_input(context, inner, by, edge)?;
            reads.push((symbol, from, element));
        }
        let bind = |(symbol, from, element): (Symbol, InputCode, ElementType)| SymbolRead {
            slot: context.bind(&symbol),
            element,
            from,
        };
        Ok(reads.into_iter().map(bind).collect())
    }

    /// Resolves an edge that brings one element.
    pub(super) fn single_input(
        &mut self,
        context: &mut Context<'_>,
        inner: &mut StateContext<'_>,
        by: Accessing,
        edge: EdgeId,
    ) -> Result<(InputCode, ElementType), ResolveError> {
        match &inner.state.edge(edge).memlet.flow {
            Flow::Read(access) | Flow::Copy { from: access, .. } => {
                let element = context.sdfg.container(access.container).element;
                if let Some(register) = self.consumed_register(inner, edge) {
                    return Ok((InputCode::Register { register, is_value: true }, element));
                }
                if access.is_queue() {
                    let path = Box::new(self.edge_path(inner, edge));
                    let what = "a stream where one element of an array is read".to_owned();
                    return Err(ResolveError::Unsupported { path, what });
                }
                Ok((InputCode::Value(self.read_end(context, inner, by, edge)?), element))
            }
            Flow::Value => {
                let register = self.value_register(context, inner, edge);
                let element = self.value_element(inner, edge);
                Ok((InputCode::Register { register, is_value: true }, element))
            }
            Flow::Order | Flow::Write { .. } | Flow::Bind(_) => {
                Err(self.malformed(inner, edge, "an edge that should bring a value"))
            }
        }
    }

    /// The element type of a value between nodes; `i64` where nothing declares it.
    fn value_element(&self, inner: &StateContext<'_>, edge: EdgeId) -> ElementType {
        let edge = inner.state.edge(edge);
        let outputs = inner.state.node(edge.src).kind.outputs();
        let output = outputs.iter().find(|output| Some(&output.name) == edge.src_connector.as_ref());
        output.and_then(|output| output.element).unwrap_or(sdfg_language::dtype::ScalarType::I64.into())
    }

    pub(super) fn malformed(&self, inner: &StateContext<'_>, edge: EdgeId, what: &str) -> ResolveError {
        ResolveError::Malformed { path: Box::new(self.edge_path(inner, edge)), what: what.to_owned() }
    }
}
