//! Runs programs under the interpreter whether or not validation accepts them, to compare diagnostics with
//! behaviour.

use sdfg_graph::ir::Sdfg;
use sdfg_graph::text;

use crate::tensor::Tensor;
use crate::{Arguments, Interpreter, Options, Order, RunError, TrapKind};

/// What a run came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Well,
    OutOfBounds,
    Conflict,
    Deadlock,
    /// More steps than any of these programs needs.
    NotAtAll,
    Otherwise,
}

/// Runs a text with a value for every symbol, on zeros.
pub(super) fn run(source: &str, symbol: i64, order: Order) -> Ended {
    let sdfg = text::parse("test.sdft", source).unwrap();
    run_graph(&sdfg, &|_| symbol, order)
}

/// Runs a graph on zeros.
pub(super) fn run_graph(sdfg: &Sdfg, symbol: &dyn Fn(&str) -> i64, order: Order) -> Ended {
    let mut interpreter = Interpreter::of(sdfg).unwrap();
    let mut arguments = Arguments::new();
    for (name, _) in sdfg.symbols() {
        arguments.set_symbol(name.as_str(), symbol(name.as_str()));
    }
    for (_, container) in sdfg.arguments() {
        let extents = container.shape().iter().map(|extent| extent.eval(&|name| Some(symbol(name.as_str()))));
        let shape = extents.collect::<Result<Vec<i64>, _>>().unwrap();
        arguments.set(&container.name, Tensor::zeros(container.element, shape).unwrap());
    }
    let options = Options { order, step_limit: Some(20_000), ..Options::default() };
    match interpreter.run(&mut arguments, &options) {
        Ok(_) => Ended::Well,
        Err(RunError::Trap(trap)) => match trap.kind {
            TrapKind::OutOfBounds { .. } => Ended::OutOfBounds,
            TrapKind::Conflict { .. } => Ended::Conflict,
            TrapKind::Deadlock { .. } => Ended::Deadlock,
            TrapKind::StepLimit { .. } => Ended::NotAtAll,
            _ => Ended::Otherwise,
        },
        Err(error) => panic!("{error}"),
    }
}
