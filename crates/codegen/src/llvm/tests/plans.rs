//! Construction of plans for tests, with tasklets from text.

use std::num::NonZeroU32;

use sdfg::dtype::{ElementType, ScalarType};
use sdfg::ir::FloatMode;
use sdfg::symbolic::{Expr, Symbol};
use sdfg::tasklet::{
    Code, Connector, ConnectorKind, Dialect, Direction, Environment, typecheck, typecheck_expression,
};

use crate::llvm::{CompileOptions, OptLevel, compile};
use crate::load::Library;
use crate::plan::{
    Allocation, Argument, Binding, Buffer, BufferId, Compute, Location, Loop, LoopDimension, PassedAs, Plan,
    Resolved, Scalar, Statement, Stride, Strided, SymbolArgument, Team,
};

pub(super) fn symbol(name: &str) -> Symbol {
    Symbol::new(name).unwrap()
}

/// `begin:end`.
pub(super) fn range(name: &str, begin: Expr, end: Expr) -> LoopDimension {
    LoopDimension { variable: symbol(name), begin, end, step: Expr::one() }
}

pub(super) fn empty(name: &str) -> Plan {
    Plan::new(name, FloatMode::Strict)
}

pub(super) fn size_symbol(plan: &mut Plan, name: &str) -> Expr {
    plan.symbols.push(SymbolArgument { name: symbol(name), ty: ScalarType::I64, non_negative: true });
    plan.variables.insert(symbol(name), ScalarType::I64);
    Expr::sym(name)
}

/// A one-dimensional array argument that may be read and written.
pub(super) fn array(plan: &mut Plan, name: &str, element: impl Into<ElementType>, size: &Expr) -> BufferId {
    let element = element.into();
    let buffer = local(plan, name, element, size, Allocation::Argument(plan.arguments.len()));
    plan.arguments.push(Argument {
        name: name.to_owned(),
        element,
        shape: vec![size.clone()],
        strides: vec![Expr::one()],
        offset: Expr::zero(),
        size: size.clone(),
        kind: PassedAs::Array,
        by_value: false,
        read: true,
        written: true,
        buffer,
    });
    buffer
}

/// A scalar argument by value.
pub(super) fn scalar(plan: &mut Plan, name: &str, element: impl Into<ElementType>) -> BufferId {
    let buffer = array(plan, name, element, &Expr::one());
    let argument = plan.arguments.last_mut().unwrap();
    (argument.shape, argument.strides) = (Vec::new(), Vec::new());
    (argument.kind, argument.by_value, argument.written) = (PassedAs::Scalar, true, false);
    buffer
}

pub(super) fn local(
    plan: &mut Plan,
    name: &str,
    element: impl Into<ElementType>,
    size: &Expr,
    allocation: Allocation,
) -> BufferId {
    let (element, buffer) = (element.into(), BufferId(plan.buffers.len() as u32));
    plan.buffers.push(Buffer::new(name.to_owned(), element, size.clone(), allocation));
    buffer
}

pub(super) fn at(buffer: BufferId, offset: Expr) -> Location {
    Location { buffer, offset }
}

pub(super) fn load(buffer: BufferId, offset: Expr) -> Binding {
    Binding::Load(at(buffer, offset))
}

pub(super) fn store(buffer: BufferId, offset: Expr) -> Binding {
    Binding::Store { to: at(buffer, offset), write: Resolved::Store }
}

/// The whole of a buffer of `size` elements.
pub(super) fn all_of(buffer: BufferId, size: &Expr) -> Strided {
    Strided {
        origin: at(buffer, Expr::zero()),
        extents: vec![size.clone()],
        strides: vec![Stride::Even(Expr::one())],
    }
}

/// An environment with a connector for each binding, and the symbols `symbols` of type `i64`.
fn environment(plan: &Plan, bindings: &[(&str, Binding)], symbols: &[&str]) -> Environment {
    let mut environment = Environment::new();
    for (name, binding) in bindings {
        let (buffer, kind, direction) = match binding {
            Binding::Load(location) => (location.buffer, ConnectorKind::Value, Direction::In),
            Binding::Store { to, .. } => (to.buffer, ConnectorKind::Value, Direction::Out),
            Binding::View(part) => {
                (part.origin.buffer, ConnectorKind::Pointer { rank: part.strides.len() }, Direction::In)
            }
            Binding::Push(queue) => (queue.buffer, ConnectorKind::Stream, Direction::Out),
            Binding::Length(queues) => {
                (queues.origin.buffer, ConnectorKind::Queues { rank: queues.strides.len() }, Direction::In)
            }
            Binding::ViewMut { to, .. } => {
                (to.origin.buffer, ConnectorKind::Pointer { rank: to.strides.len() }, Direction::Out)
            }
        };
        environment.add_connector(*name, Connector { element: plan.buffer(buffer).element, kind, direction });
    }
    for name in symbols {
        environment.add_symbol(*name, ScalarType::I64);
    }
    environment
}

/// A tasklet of this text.
pub(super) fn tasklet(
    plan: &Plan,
    text: &str,
    bindings: Vec<(&str, Binding)>,
    symbols: &[&str],
) -> Statement {
    let environment = environment(plan, &bindings, symbols);
    let code = typecheck(&Code::parse(text, Dialect::Python).unwrap(), &environment).unwrap();
    Statement::Compute(Compute {
        label: "tasklet".to_owned(),
        code,
        bindings: bindings.into_iter().map(|(_, binding)| binding).collect(),
        symbols: symbols.iter().map(|name| Expr::sym(name)).collect(),
        checks: Vec::new(),
    })
}

/// A scalar expression of this text.
pub(super) fn expression(
    plan: &Plan,
    text: &str,
    bindings: Vec<(&str, Binding)>,
    symbols: &[&str],
) -> Scalar {
    let environment = environment(plan, &bindings, symbols);
    let parsed = sdfg::syntax::parse_expression(text).unwrap();
    Scalar {
        code: typecheck_expression(&parsed, Dialect::Python, &environment).unwrap(),
        bindings: bindings.into_iter().map(|(_, binding)| binding).collect(),
        symbols: symbols.iter().map(|name| Expr::sym(name)).collect(),
        checks: Vec::new(),
    }
}

pub(super) fn parallel(dimensions: Vec<LoopDimension>, body: Vec<Statement>) -> Loop {
    shared(dimensions, Team::default(), body)
}

/// A loop of independent iterations for a team.
pub(super) fn shared(dimensions: Vec<LoopDimension>, team: Team, body: Vec<Statement>) -> Loop {
    let team = Team { label: "map".to_owned(), ..team };
    Loop { independent: true, ..Loop::shared(dimensions, team, body) }
}

/// `y[i] = a * x[i] + y[i]`, shared by threads.
pub(super) fn axpy() -> Plan {
    let mut plan = empty("axpy");
    let n = size_symbol(&mut plan, "N");
    let a = scalar(&mut plan, "a", ScalarType::F64);
    let x = array(&mut plan, "x", ScalarType::F64, &n);
    let y = array(&mut plan, "y", ScalarType::F64, &n);
    plan.arguments[1].written = false;
    plan.variables.insert(symbol("i"), ScalarType::I64);
    let i = Expr::sym("i");
    let bindings = vec![
        ("alpha", load(a, Expr::zero())),
        ("left", load(x, i.clone())),
        ("right", load(y, i.clone())),
        ("out", store(y, i.clone())),
    ];
    let body = tasklet(&plan, "out = alpha * left + right", bindings, &[]);
    plan.body.push(Statement::Loop(parallel(vec![range("i", Expr::zero(), n)], vec![body])));
    captured(plan)
}

/// A plan whose functions are given what they use, as lowering does it last.
pub(super) fn captured(mut plan: Plan) -> Plan {
    crate::lower::capture(&mut plan);
    plan
}

/// Compiles at a level, with every parallel loop run by a team.
pub(super) fn library_at(plan: &Plan, level: OptLevel) -> Library {
    let options = CompileOptions { level, parallel_threshold: 0, ..CompileOptions::default() };
    let plan = captured(Plan { threshold: options.parallel_threshold, ..plan.clone() });
    // SAFETY: the sources of these tests have no constructors.
    unsafe { Library::load_external(&compile(&plan, &options).unwrap()) }.unwrap()
}

pub(super) fn library(plan: &Plan) -> Library {
    library_at(plan, OptLevel::O1)
}

pub(super) fn threads(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).unwrap()
}
