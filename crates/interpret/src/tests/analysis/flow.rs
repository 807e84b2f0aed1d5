//! Tests of liveness and reaching definitions against the interpreter on random programs.
//!
//! Every write of a program writes a unique number, and every read marks the number that it saw in a table
//! that the program returns. A run therefore reveals the definition that reached each read. Dead contents can
//! be overwritten with anything without a difference.

mod generate;

use std::collections::BTreeSet;

use generate::{Generated, Seen, generate};
use sdfg_graph::analysis::control_graph::ControlStep;
use sdfg_graph::analysis::reaching::{Definition, SymbolDefinition};
use sdfg_graph::analysis::{Liveness, ReachingDefinitions, ReachingSymbols};
use sdfg_graph::ir::{BlockId, BlockKind, Sdfg, State, StateId};
use sdfg_graph::text;
use sdfg_language::symbolic::Symbol;
use sdfg_validate::{Validated, validate};

use crate::tensor::Tensor;
use crate::{Arguments, Interpreter, Options, RunError, TrapKind};

const PROGRAMS: u64 = 300;

fn parsed(program: &str) -> Option<Validated> {
    let sdfg = text::parse("random.sdft", program).unwrap_or_else(|errors| panic!("{errors:?}\n{program}"));
    validate(sdfg).ok()
}

fn run(validated: &Validated, program: &Generated, p: i64, q: i64) -> (Arguments, Option<RunError>) {
    let mut arguments = Arguments::new()
        .with("x", Tensor::scalar(0_i64))
        .with("y", Tensor::new(&[2], &[0_i64; 2]).unwrap())
        .with(
            "seen",
            Tensor::new(&[program.rows as i64, program.ids as i64], &vec![0_i64; program.rows * program.ids])
                .unwrap(),
        );
    for (symbol, value) in [("p", p), ("q", q), ("k", 0), ("s", 0), ("z", 0)] {
        arguments = arguments.with_symbol(symbol, value);
    }
    let mut interpreter = Interpreter::new(validated).unwrap();
    let options = Options { step_limit: Some(600), ..Options::default() };
    let error = interpreter.run(&mut arguments, &options).err();
    (arguments, error)
}

/// Pairs of a row and a number that were marked.
fn marked(arguments: &Arguments, program: &Generated) -> Vec<(usize, usize)> {
    let marks = arguments.get("seen").unwrap().to_vec::<i64>().unwrap();
    let found = marks.iter().enumerate().filter(|(_, mark)| **mark != 0);
    found.map(|(at, _)| (at / program.ids, at % program.ids)).collect()
}

fn state_named<'s>(sdfg: &'s Sdfg, label: &str) -> (BlockId, StateId, &'s State) {
    let block = sdfg.find_block(label).unwrap();
    let BlockKind::State(state) = sdfg.block(block).kind else { panic!("{label} is a state") };
    (block, state, sdfg.state(state))
}

/// The definitions of a read as numbers, and whether it may be undefined.
fn static_ids(sdfg: &Sdfg, found: &BTreeSet<Definition>, program: &Generated) -> (BTreeSet<usize>, bool) {
    let mut ids = BTreeSet::new();
    let mut undefined = false;
    for definition in found {
        match definition {
            Definition::Undefined => undefined = true,
            Definition::Initial => {
                ids.insert(0);
            }
            Definition::Write { state, .. } => {
                // What binds a reference writes no number.
                ids.extend(program.writes.get(&sdfg.state(*state).label));
            }
        }
    }
    (ids, undefined)
}

fn check_seen(sdfg: &Sdfg, program: &Generated, marks: &[(usize, usize)]) -> (usize, usize) {
    let reaching = ReachingDefinitions::of(sdfg);
    let symbols = ReachingSymbols::of(sdfg);
    let (mut seen, mut allowed) = (0, 0);
    for (row, site) in program.sites.iter().enumerate() {
        let observed: BTreeSet<usize> = marks.iter().filter(|(r, _)| *r == row).map(|(_, id)| *id).collect();
        let ids = match site {
            Seen::Read { state } => {
                let (_, id, graph) = state_named(sdfg, state);
                let node = graph.find("t").unwrap();
                let edge = graph.in_edges(node)[0];
                static_ids(sdfg, &reaching.reaching(sdfg, id, edge), program).0
            }
            Seen::Assigned { from, container } => {
                let block = sdfg.find_block(from).unwrap();
                let transition = sdfg.transitions_from(block)[0];
                let container = sdfg.find_container(container).unwrap();
                static_ids(sdfg, &reaching.at(ControlStep::Take(transition), container), program).0
            }
            Seen::Symbol { state } => {
                let (block, ..) = state_named(sdfg, state);
                let definitions = symbols.before(sdfg, block, &Symbol::of("s"));
                let id = |definition: &SymbolDefinition| match definition {
                    SymbolDefinition::Caller => 0,
                    SymbolDefinition::Assign(transition) => {
                        program.assignments[&sdfg.block(sdfg.transition(*transition).src).label]
                    }
                    SymbolDefinition::Undefined | SymbolDefinition::Init(_) | SymbolDefinition::Update(_) => {
                        panic!("s is declared and no loop sets it")
                    }
                };
                definitions.iter().map(id).collect()
            }
        };
        assert!(observed.is_subset(&ids), "{site:?} saw {observed:?}, not {ids:?}\n{}", program.text);
        if !observed.is_empty() {
            seen += observed.len();
            allowed += ids.len();
        }
    }
    (seen, allowed)
}

fn is_state(sdfg: &Sdfg, label: &str) -> bool {
    sdfg.states().any(|(_, state)| state.label == label)
}

/// A read that trapped because nothing was written must have been foreseen.
fn check_undefined(sdfg: &Sdfg, program: &Generated, error: Option<&RunError>) -> bool {
    let Some(trap) = error.and_then(RunError::trap) else { return false };
    let TrapKind::UndefinedRead { container, .. } = &trap.kind else { return false };
    let reaching = ReachingDefinitions::of(sdfg);
    let undefined = match trap.path.labels().get(1).filter(|label| is_state(sdfg, label)) {
        Some(label) => {
            let (_, id, graph) = state_named(sdfg, label);
            graph.edges().any(|(edge, _)| reaching.reaching(sdfg, id, edge).contains(&Definition::Undefined))
        }
        None => {
            let container = sdfg.find_container(container).unwrap();
            let at = sdfg.transitions().map(|(id, _)| ControlStep::Take(id));
            at.into_iter().any(|step| reaching.at(step, container).contains(&Definition::Undefined))
        }
    };
    assert!(undefined, "{trap}\n{}", program.text);
    true
}

#[test]
fn observed_definitions_are_foreseen() {
    let (mut valid, mut seen, mut allowed, mut undefined) = (0, 0, 0, 0);
    for seed in 0..PROGRAMS {
        let program = generate(seed);
        let Some(validated) = parsed(&program.text) else { continue };
        valid += 1;
        let sdfg = validated.sdfg();
        let mut marks = BTreeSet::new();
        for (p, q) in [(0, 1), (1, 0), (1, 2)] {
            let (arguments, error) = run(&validated, &program, p, q);
            marks.extend(marked(&arguments, &program));
            undefined += usize::from(check_undefined(sdfg, &program, error.as_ref()));
        }
        let marks: Vec<_> = marks.into_iter().collect();
        let counts = check_seen(sdfg, &program, &marks);
        seen += counts.0;
        allowed += counts.1;
    }
    // The test shows nothing if programs are invalid, end at once, or if the sets hold everything.
    assert!(valid * 10 >= PROGRAMS * 9, "{valid} of {PROGRAMS} are valid");
    assert!(seen > 400, "{seen} definitions were observed");
    assert!(seen * 10 > allowed * 6, "of {allowed} foreseen definitions {seen} were observed");
    assert!(undefined > 20, "{undefined} undefined reads");
}

#[test]
fn dead_containers_may_hold_anything() {
    let (mut poisoned, mut live) = (0, 0);
    for seed in 0..PROGRAMS / 3 {
        let program = generate(seed);
        let Some(validated) = parsed(&program.text) else { continue };
        let liveness = Liveness::of(validated.sdfg());
        for (p, q) in [(0, 1), (1, 2)] {
            let (expected, expected_error) = run(&validated, &program, p, q);
            if matches!(expected_error.as_ref().and_then(RunError::trap), Some(trap) if matches!(trap.kind, TrapKind::StepLimit { .. }))
            {
                continue;
            }
            for state in &program.states {
                let sdfg = validated.sdfg();
                let (block, ..) = state_named(sdfg, state);
                let after = liveness.after(block);
                for container in ["a", "b", "v", "x", "y"] {
                    if after.contains(sdfg.find_container(container).unwrap()) {
                        live += 1;
                        continue;
                    }
                    if (seed + poisoned) % 16 != 0 {
                        poisoned += 1;
                        continue;
                    }
                    poisoned += 1;
                    let other = parsed(&program.poisoned(state, container)).unwrap();
                    let (found, error) = run(&other, &program, p, q);
                    let kind = |error: &Option<RunError>| {
                        error.as_ref().and_then(RunError::trap).map(|trap| std::mem::discriminant(&trap.kind))
                    };
                    assert_eq!(kind(&error), kind(&expected_error), "{state} {container}\n{}", program.text);
                    // A call that traps has no results.
                    if error.is_some() {
                        continue;
                    }
                    assert_eq!(found, expected, "{container} after {state}\n{}", program.text);
                }
            }
        }
    }
    assert!(poisoned > 500 && live > 500, "{poisoned} dead, {live} live");
}
