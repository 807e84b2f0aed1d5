//! Tests of validation on any graph: programs are mutated at random, and nothing may panic, neither the
//! printing of diagnostics nor the interpreter on accepted programs.

use proptest::prelude::*;
use sdfg_graph::diagnostic::Diagnostic;
use sdfg_graph::diagnostic::pages::{self, Example};
use sdfg_graph::ir::draft::{DraftSdfg, DraftState};
use sdfg_graph::ir::ids::Id;
use sdfg_graph::ir::{
    AccessedPart, ContainerId, ContainerKind, EdgeId, Memlet, NodeId, NodeKind, Sdfg, StateId, Volume,
};
use sdfg_graph::text;
use sdfg_language::dtype::{ElementType, ScalarType};
use sdfg_language::subset::Range;
use sdfg_language::symbolic::{Expr, Symbol};
use sdfg_validate::{Validated, diagnose, validate};

use crate::tensor::Tensor;
use crate::{Arguments, Interpreter, Options};

/// What to break: the kind of change, where, and with what.
type Change = (u8, usize, usize);

/// Texts of all right examples.
fn sources() -> Vec<&'static str> {
    let good = pages::all().filter_map(|page| match page.example {
        Example::Programs { good, .. } => Some(good),
        Example::NotInText => None,
    });
    good.collect()
}

/// Breaks one thing of a program; changes that do not apply do nothing.
fn change(sdfg: &mut Sdfg, (kind, place, value): Change) {
    let containers: Vec<ContainerId> = sdfg.containers().map(|(id, _)| id).collect();
    let states: Vec<StateId> = sdfg.states().map(|(id, _)| id).collect();
    let pick = |place: usize, count: usize| if count == 0 { None } else { Some(place % count) };
    match kind {
        0 => {
            pick(place, containers.len()).map(|at| sdfg.remove_container(containers[at]));
        }
        1 => {
            if let Some(at) = pick(place, containers.len()) {
                let kinds = [
                    ContainerKind::Scalar,
                    ContainerKind::Stream { shape: vec![Expr::sym("N")], capacity: Some(Expr::zero()) },
                    ContainerKind::Array(sdfg_graph::ir::Layout::packed(vec![Expr::int(-3), Expr::sym("i")])),
                ];
                sdfg.container_mut(containers[at]).kind = kinds[value % kinds.len()].clone();
            }
        }
        2 => {
            if let Some(at) = pick(place, containers.len()) {
                let element = ElementType::vector(ScalarType::ALL[value % 14], 1 + (value % 3) as u16);
                sdfg.container_mut(containers[at]).element = element.unwrap();
            }
        }
        3 => sdfg.declare_symbol(Symbol::of(["N", "i", "A", "K"][place % 4]), ScalarType::ALL[value % 14]),
        _ => {
            if let Some(at) = pick(place / 7, states.len()) {
                change_state(sdfg, states[at], (kind, place, value));
            }
        }
    }
}

fn change_state(sdfg: &mut Sdfg, id: StateId, (kind, place, value): Change) {
    let state = sdfg.state_mut(id);
    let nodes: Vec<NodeId> = state.nodes().map(|(id, _)| id).collect();
    let edges: Vec<EdgeId> = state.edges().map(|(id, _)| id).collect();
    if nodes.is_empty() || edges.is_empty() {
        return;
    }
    let (node, edge) = (nodes[place % nodes.len()], edges[place % edges.len()]);
    let memlet = state.memlet_mut(edge);
    match kind {
        4 => {
            state.remove_node(node);
        }
        5 => {
            state.remove_edge(edge);
        }
        6 => *memlet = [Memlet::order(), Memlet::value()][value % 2].clone(),
        7 => {
            for access in memlet.accesses_mut() {
                access.container = ContainerId::from_index(value % 4);
            }
        }
        8 => {
            for access in memlet.accesses_mut() {
                access.subset_mut().0.push(Range::new(Expr::sym("i"), Expr::sym("N")));
            }
        }
        9 => {
            for access in memlet.accesses_mut() {
                for range in &mut access.subset_mut().0 {
                    *range = range.clone().with_step([0, -1, 2][value % 3]).with_tile([1, 0, 3][place % 3]);
                }
            }
        }
        10 => {
            for access in memlet.accesses_mut() {
                access.place = AccessedPart::Queues(access.subset().clone());
            }
        }
        11 => {
            memlet.volume = [Volume::Dynamic, Volume::Exact(Expr::int(-1)), Volume::AtMost(Expr::sym("k"))]
                [value % 3]
                .clone()
        }
        12 => {
            // An edge that joins any two nodes.
            let mut copy = state.edge(edge).clone();
            copy.dst = nodes[value % nodes.len()];
            state.add_edge(copy);
        }
        _ => match &mut state.node_mut(node).kind {
            NodeKind::Access(container) => *container = ContainerId::from_index(value % 5),
            NodeKind::MapEntry(map) => map.params = vec![Symbol::of(["N", "j", "A"][value % 3]); value % 3],
            NodeKind::Tasklet(tasklet) => tasklet.outputs = tasklet.inputs.clone(),
            NodeKind::MapExit(exit) | NodeKind::ConsumeExit(exit) => exit.entry = nodes[value % nodes.len()],
            NodeKind::Reduce(reduce) => reduce.axes = Some(vec![value % 3; value % 4]),
            NodeKind::Nested(nested) => change(&mut nested.sdfg, (value as u8 % 14, place, value)),
            NodeKind::ConsumeEntry(consume) => consume.chunk = Expr::int(value as i64 - 3),
            NodeKind::Library(_) => {}
        },
    }
}

/// Runs a program that validation accepts on zeros, with 4 for every symbol: it may trap, or not be supported.
fn run(validated: &Validated) {
    let Ok(mut interpreter) = Interpreter::new(validated) else { return };
    let mut arguments = Arguments::new();
    for (symbol, _) in validated.sdfg().symbols() {
        arguments.set_symbol(symbol.as_str(), 4);
    }
    for (_, container) in validated.sdfg().arguments() {
        let shape = container.shape().iter().map(|extent| extent.eval(&|_| Some(4)));
        let Ok(shape) = shape.collect::<Result<Vec<i64>, _>>() else { return };
        let Ok(tensor) = Tensor::zeros(container.element, shape) else { return };
        arguments.set(&container.name, tensor);
    }
    let _ = interpreter.run(&mut arguments, &Options { step_limit: Some(10_000), ..Options::default() });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn broken_graphs_are_answered(
        source in 0..sources().len(),
        changes in prop::collection::vec((0_u8..14, 0_usize..64, 0_usize..64), 1..5),
    ) {
        let mut sdfg = text::parse("test.sdft", sources()[source]).unwrap();
        changes.into_iter().for_each(|what| change(&mut sdfg, what));
        let findings = diagnose(&sdfg);
        match validate(sdfg) {
            Ok(validated) => {
                prop_assert!(!findings.iter().any(Diagnostic::is_error));
                prop_assert!(validated.warnings().iter().all(|found| !found.is_error()));
                run(&validated);
            }
            Err(rejected) => prop_assert!(findings.iter().any(Diagnostic::is_error) && !rejected.to_string().is_empty()),
        }
    }

    #[test]
    fn broken_texts_are_answered(source in 0..sources().len(), line in 0_usize..20, other in 0_usize..20, how in 0..3) {
        let mut lines: Vec<&str> = sources()[source].lines().collect();
        let (line, other) = (line % lines.len(), other % lines.len());
        match how {
            0 => drop(lines.remove(line)),
            1 => lines.swap(line, other),
            _ => lines.insert(line, lines[other]),
        }
        if let Ok(sdfg) = text::parse("test.sdft", &lines.join("\n")) {
            match validate(sdfg) {
                Ok(validated) => run(&validated),
                Err(rejected) => prop_assert!(!rejected.to_string().is_empty()),
            }
        }
    }
}
