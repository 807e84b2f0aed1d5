//! Robustness: no text, document or graph causes a panic, a hang or memory exhaustion.
//!
//! The fuzz targets (`fuzz/`) consist of these functions, and `#! test survive` runs them on findings. Round
//! trips are asserted, so a text or document that changes on the way is found too.

use sdfg::diagnostic::{Diagnostic, Style, render};
use sdfg::interpret::{Arguments, Interpreter, Options, Order, tensors_of};
use sdfg::ir::Sdfg;
use sdfg::symbolic::Expr;
use sdfg::tensor::Tensor;
use sdfg::validate::{Validated, validate};
use sdfg::{json, text};

/// Value of every symbol in a run.
const SYMBOL: i64 = 4;

/// Steps and elements of a run; small, as most runs end long before and the others are not worth the time.
const STEPS: u64 = 2_000;
const ELEMENTS: i64 = 1 << 14;

/// A text: errors are rendered, a program is printed, validated and run.
pub(crate) fn text(source: &str) {
    match text::parse("fuzz.sdft", source) {
        Err(errors) => {
            let diagnostics: Vec<Diagnostic> = errors.iter().map(Diagnostic::text).collect();
            assert!(!diagnostics.is_empty(), "a text that is refused has an error");
            let _ = render(&diagnostics, Some(("fuzz.sdft", source)), Style::Plain);
        }
        Ok(sdfg) => {
            let printed = text::print(&sdfg);
            match text::parse("printed.sdft", &printed) {
                Ok(again) => assert_eq!(text::print(&again), printed, "printing is stable"),
                Err(errors) => panic!("what was printed is refused: {errors:?}\n{printed}"),
            }
            let document = json::to_string(&sdfg);
            match json::parse(&document) {
                Ok(again) => assert_eq!(text::print(&again), printed, "JSON keeps the program"),
                // Braces nest deeper than JSON does.
                Err(error) => assert!(error.to_string().contains("recursion"), "{error}\n{document}"),
            }
            graph(sdfg);
        }
    }
}

/// A document: what it holds is written again, printed, validated and run.
pub(crate) fn document(source: &str) {
    let Ok(sdfg) = json::parse(source) else { return };
    let written = json::to_string(&sdfg);
    match json::parse(&written) {
        Ok(again) => assert_eq!(json::to_string(&again), written, "writing is stable"),
        Err(error) => panic!("what was written is refused: {error}\n{written}"),
    }
    let _ = text::print(&sdfg);
    graph(sdfg);
}

/// Any graph, however wrong: it is derived and validated; what is wrong is rendered, what is right is run.
pub(crate) fn graph(mut sdfg: Sdfg) {
    match validate(sdfg.clone()) {
        Err(rejected) => {
            assert!(rejected.diagnostics.iter().any(Diagnostic::is_error), "a refusal has an error");
            let _ = rejected.render(None, Style::Plain);
        }
        Ok(validated) => {
            run(&validated);
            sdfg::propagate::propagate(&mut sdfg);
            if let Ok(propagated) = validate(sdfg) {
                run(&propagated);
            }
        }
    }
}

/// Runs a program on zeros, in two orders: it may trap, or not be supported.
fn run(validated: &Validated) {
    if !is_small(validated.sdfg()) {
        return;
    }
    let Ok(mut interpreter) = Interpreter::new(validated) else { return };
    let mut arguments = Arguments::new();
    for (symbol, _) in validated.sdfg().symbols() {
        arguments.set_symbol(symbol.as_str(), SYMBOL);
    }
    for (_, container) in validated.sdfg().arguments() {
        let shape = container.shape().iter().map(|extent| extent.eval(&|_| Some(SYMBOL)));
        let Ok(shape) = shape.collect::<Result<Vec<i64>, _>>() else { return };
        for (name, shape) in tensors_of(container, shape, || 0) {
            let Ok(tensor) = Tensor::zeros(container.element, shape) else { return };
            arguments.set(name, tensor);
        }
    }
    for order in [Order::Fixed, Order::Random(1)] {
        let options = Options { order, step_limit: Some(STEPS), ..Options::default() };
        let _ = interpreter.run(&mut arguments.clone(), &options);
    }
}

/// Whether every container is small when each symbol is 4, as far as that can be told from outside.
fn is_small(sdfg: &Sdfg) -> bool {
    let small = |extents: &[Expr]| {
        let values = extents.iter().map(|extent| extent.eval(&|_| Some(SYMBOL)).unwrap_or(SYMBOL));
        values
            .into_iter()
            .try_fold(1_i64, |size, extent| size.checked_mul(extent.max(1)))
            .is_some_and(|size| size <= ELEMENTS)
    };
    sdfg.containers().all(|(_, container)| {
        let allocated =
            container.kind.layout().map_or(&[][..], |layout| std::slice::from_ref(&layout.total_size));
        small(container.shape()) && small(allocated)
    }) && sdfg.states().all(|(_, state)| {
        state.nodes().all(|(_, node)| match &node.kind {
            sdfg::ir::NodeKind::Nested(nested) => is_small(&nested.sdfg),
            _ => true,
        })
    })
}
