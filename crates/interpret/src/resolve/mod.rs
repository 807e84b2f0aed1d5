//! Resolves a validated SDFG: names become slots, code gets types, and scopes become bodies.
//!
//! The module relies on the guarantees of validation. A violation is a [`ResolveError`](super::ResolveError),
//! never a panic.

mod body;
mod control;
mod ends;
mod lifetime;
mod node;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sdfg_graph::analysis::ScopeTree;
use sdfg_graph::analysis::symbols::symbol_types;
use sdfg_graph::diagnostic::ElementPath;
use sdfg_graph::ir::{Container, ContainerId, ContainerKind, Layout, Lifetime, NodeId, Sdfg, State, Storage};
use sdfg_language::dtype::ScalarType;
use sdfg_language::symbolic::{Expr, Symbol};
use sdfg_language::tasklet::{CompiledCode, Environment, TypeError};
use thiserror::Error;

use super::index::Index;
use super::program::{
    ContainerCode, ContainerForm, LayoutCode, Memory, Procedure, Program, SymbolCode, to_bytes,
};
use super::ranks::DistributionCode;

/// Why a program cannot be interpreted.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// Something that the interpreter does not do.
    #[error("the interpreter does not support {what}\n  at {path}")]
    Unsupported {
        /// The place.
        path: Box<ElementPath>,
        /// The construct.
        what: String,
    },
    /// A graph that validation should have refused.
    #[error("{what}\n  at {path}")]
    Malformed {
        /// The place.
        path: Box<ElementPath>,
        /// The error.
        what: String,
    },
    /// Code with type errors.
    #[error("{}\n  at {path}", .errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Code {
        /// The place.
        path: Box<ElementPath>,
        /// The error.
        errors: Vec<TypeError>,
    },
}

/// Resolves a whole program.
pub(super) fn resolve(sdfg: &Sdfg) -> Result<Program, ResolveError> {
    let mut resolver = Resolver { program: Program::default() };
    resolver.procedure(sdfg, &ElementPath::sdfg(&sdfg.name), Memory::HOST)?;
    Ok(resolver.program)
}

/// The program so far.
struct Resolver {
    program: Program,
}

/// Context of resolving one SDFG.
struct Context<'s> {
    sdfg: &'s Sdfg,
    path: ElementPath,
    /// Names and types by slot.
    symbols: Vec<(String, ScalarType)>,
    /// Symbols that the call sets or its caller gives.
    globals: Vec<(Symbol, u32)>,
    /// Symbols that the scopes around bind; the innermost last.
    bound: Vec<(Symbol, u32)>,
    containers: BTreeMap<ContainerId, usize>,
    /// The containers by number; `None` until a scope is resolved that binds symbols of their sizes.
    codes: Vec<(ContainerId, Option<ContainerCode>)>,
    registers: usize,
}

/// Context of resolving one state.
struct StateContext<'s> {
    state: &'s State,
    tree: ScopeTree,
    path: ElementPath,
    /// Registers of values between nodes, by source node and connector.
    values: BTreeMap<(NodeId, String), u32>,
    /// Registers of the elements that consume scopes take.
    consumed: BTreeMap<NodeId, u32>,
    /// Owning scopes of transients that the call does not allocate.
    lifetimes: BTreeMap<Option<NodeId>, Vec<usize>>,
}

impl Context<'_> {
    /// The slot of a symbol; one that no scope binds is the caller's to give.
    fn slot(&mut self, symbol: &Symbol) -> u32 {
        if let Some((_, slot)) = self.globals.iter().chain(&self.bound).rev().find(|(name, _)| name == symbol)
        {
            return *slot;
        }
        let slot = self.new_slot(symbol, ScalarType::I64);
        self.globals.push((symbol.clone(), slot));
        slot
    }

    /// Whether the sizes of a container name only symbols that the call sets or its caller gives.
    fn knows_sizes(&self, container: &Container) -> bool {
        let layout = container.kind.layout();
        let strides = layout
            .into_iter()
            .flat_map(|layout| layout.strides.iter().chain([&layout.offset, &layout.total_size]));
        let mut symbols = container.shape().iter().chain(strides).flat_map(Expr::free_symbols);
        symbols.all(|symbol| self.globals.iter().any(|(name, _)| *name == symbol))
    }

    fn new_slot(&mut self, symbol: &Symbol, ty: ScalarType) -> u32 {
        self.symbols.push((symbol.to_string(), ty));
        self.symbols.len() as u32 - 1
    }

    /// Symbols that code may name, with their types.
    fn visible_symbols(&self, names: &BTreeSet<&str>) -> Vec<(String, ScalarType)> {
        let mut found = BTreeMap::new();
        let all = self.globals.iter().chain(&self.bound);
        for (symbol, slot) in all.filter(|(symbol, _)| names.contains(symbol.as_str())) {
            found.insert(symbol.to_string(), self.symbols[*slot as usize].1);
        }
        found.into_iter().collect()
    }

    /// The slots of the symbols of an environment.
    fn symbol_codes(&mut self, environment: &Environment) -> Vec<SymbolCode> {
        let mut codes = Vec::new();
        for (name, ty) in environment.symbols() {
            if let (Some((id, _)), Ok(symbol)) = (environment.symbol(name), Symbol::new(name)) {
                codes.push(SymbolCode { id, slot: self.slot(&symbol), ty });
            }
        }
        codes
    }

    /// Binds a symbol in the scope that is being resolved.
    fn bind(&mut self, symbol: &Symbol) -> u32 {
        let slot = self.new_slot(symbol, ScalarType::I64);
        self.bound.push((symbol.clone(), slot));
        slot
    }

    fn index(&mut self, expr: &Expr) -> Index {
        Index::new(expr, &mut |symbol| self.slot(symbol))
    }

    fn new_register(&mut self) -> u32 {
        self.registers += 1;
        self.registers as u32 - 1
    }
}

impl Resolver {
    /// Resolves an SDFG that a device runs; the answer is its number.
    fn procedure(&mut self, sdfg: &Sdfg, path: &ElementPath, device: Memory) -> Result<usize, ResolveError> {
        let number = self.program.procedures.len();
        self.program.procedures.push(Procedure::default());
        let mut context = Context {
            sdfg,
            path: path.clone(),
            symbols: Vec::new(),
            globals: Vec::new(),
            bound: Vec::new(),
            containers: BTreeMap::new(),
            codes: Vec::new(),
            registers: 0,
        };
        for (symbol, ty) in symbol_types(sdfg) {
            let slot = context.slot(&symbol);
            context.symbols[slot as usize].1 = ty;
        }
        context.containers = sdfg.containers().enumerate().map(|(number, (id, _))| (id, number)).collect();
        let lifetimes = lifetime::lifetimes(&context);
        let in_scopes = lifetimes.bodies.iter().filter(|((_, scope), _)| scope.is_some());
        let in_scopes: BTreeSet<usize> = in_scopes.flat_map(|(_, owned)| owned.iter().copied()).collect();
        for (number, (id, container)) in sdfg.containers().enumerate() {
            // In a scope that makes a container, what the scope binds hides other symbols of the name.
            let waits =
                container.transient && (in_scopes.contains(&number) || !context.knows_sizes(container));
            let code = (!waits).then(|| self.container(&mut context, container, device));
            context.codes.push((id, code));
        }
        let mut procedure = self.control(&mut context, &lifetimes, device)?;
        // What no scope sizes is for the caller to size.
        self.size_containers(&mut context, 0..sdfg.containers().count(), device);
        procedure.name.clone_from(&sdfg.name);
        procedure.symbols = context.symbols;
        procedure.globals = context.globals.into_iter().map(|(_, slot)| slot).collect();
        procedure.containers = context.codes.into_iter().filter_map(|(_, code)| code).collect();
        procedure.registers = context.registers;
        procedure.site = Arc::new(path.clone());
        self.program.procedures[number] = procedure;
        Ok(number)
    }

    /// The number of a piece of code.
    fn code(&mut self, code: CompiledCode) -> usize {
        self.program.codes.push(code);
        self.program.codes.len() - 1
    }

    /// Resolves those of these containers that are not resolved yet, with the symbols that are bound here.
    fn size_containers(
        &mut self,
        context: &mut Context<'_>,
        numbers: impl IntoIterator<Item = usize>,
        device: Memory,
    ) {
        let sdfg = context.sdfg;
        for number in numbers {
            if let Some((id, None)) = context.codes.get(number) {
                let code = self.container(context, sdfg.container(*id), device);
                context.codes[number].1 = Some(code);
            }
        }
    }

    fn container(
        &mut self,
        context: &mut Context<'_>,
        container: &Container,
        device: Memory,
    ) -> ContainerCode {
        let mut layout = |layout: &Layout| LayoutCode {
            shape: layout.shape.iter().map(|extent| context.index(extent)).collect(),
            strides: layout.strides.iter().map(|stride| context.index(stride)).collect(),
            offset: context.index(&layout.offset),
            total_size: context.index(&layout.total_size),
        };
        let form = match &container.kind {
            ContainerKind::Scalar => ContainerForm::Scalar,
            ContainerKind::Array(array) => ContainerForm::Array(layout(array)),
            ContainerKind::View(view) => ContainerForm::View(layout(view)),
            ContainerKind::Reference(reference) => ContainerForm::Reference(layout(reference)),
            ContainerKind::Stream { shape, capacity } => ContainerForm::Stream {
                shape: shape.iter().map(|extent| context.index(extent)).collect(),
                capacity: capacity.as_ref().map(|capacity| context.index(capacity)),
            },
        };
        let mut index = |expr: &Expr| Ok(context.index(expr));
        let Ok(distribution) =
            DistributionCode::new::<std::convert::Infallible>(&container.distribution, &mut index);
        let is_persistent =
            container.transient && container.lifetime == Lifetime::Persistent && !container.is_alias();
        let persistent = is_persistent.then(|| {
            self.program.persistent += 1;
            self.program.persistent - 1
        });
        ContainerCode {
            name: container.name.clone(),
            element: container.element,
            form,
            transient: container.transient,
            lifetime: container.lifetime,
            memory: memory(container, device),
            distribution,
            constant: container.constant.as_deref().map(to_bytes),
            persistent,
        }
    }
}

/// The memory that holds a container which code of a device declares.
fn memory(container: &Container, device: Memory) -> Memory {
    if container.constant.is_some() {
        return Memory::ANY;
    }
    match container.storage {
        // What no memory is named for lies where it is used: a transient may be one of a scope on a device.
        Storage::Default if container.transient => Memory::ANY,
        Storage::Default => device,
        Storage::Register => Memory::ANY,
        Storage::CpuHeap | Storage::CpuThreadLocal | Storage::File => Memory::HOST,
        Storage::CpuPinned => Memory::PINNED,
        Storage::GpuGlobal | Storage::GpuShared => Memory::GPU,
        Storage::FpgaGlobal | Storage::FpgaLocal | Storage::FpgaRegister => Memory::FPGA,
    }
}
