//! Tests of program reduction with planted bugs: random programs that a wrong rewriting breaks shrink to the
//! broken construct.

use std::convert::Infallible;

use sdfg::analysis::ScopeTree;
use sdfg::dtype::ElementType;
use sdfg::interpret::{Arguments, Interpreter, Options};
use sdfg::ir::draft::{DraftSdfg, DraftState};
use sdfg::ir::{ConflictResolution, Flow, NodeId, NodeKind, Sdfg, StateId};
use sdfg::minimize::{Minimized, Size, candidates, minimize};
use sdfg::text;
use sdfg::validate::{Validated, validate};
use sdfg_programs::random::{Operations, Rng, Sizes, generate, inputs};
use sdfg_transforms::verify::same;

fn program(seed: u64) -> Validated {
    validate(text::parse("random.sdft", &generate(seed)).unwrap()).unwrap()
}

/// A wrong rewriting: where iterations of a map write the same element, it lets the last one win.
fn forget_resolutions(sdfg: &mut Sdfg) {
    let states: Vec<StateId> = sdfg.states().map(|(id, _)| id).collect();
    for id in states {
        let state = sdfg.state_mut(id);
        let tree = ScopeTree::of(state);
        let edges = state.edges().map(|(edge, _)| edge);
        let is_map = |entry: NodeId| matches!(state.node(entry).kind, NodeKind::MapEntry(_));
        let inside: Vec<_> =
            edges.filter(|edge| tree.scope_of_edge(state, *edge).is_some_and(is_map)).collect();
        for edge in inside {
            if let Flow::Write { resolution: Some(resolution), .. } = &mut state.memlet_mut(edge).flow {
                *resolution = ConflictResolution::Replace;
            }
        }
        let nodes: Vec<_> = state.nodes().map(|(node, _)| node).collect();
        for node in nodes {
            if let NodeKind::Nested(nested) = &mut state.node_mut(node).kind {
                forget_resolutions(&mut nested.sdfg);
            }
        }
    }
}

/// Number of candidates that a random predicate judges.
const TRIES: usize = 50;

/// Results of the program for small inputs; `None` if it does not run.
fn results(sdfg: &Sdfg) -> Option<Arguments> {
    let program = validate(sdfg.clone()).ok()?;
    let sizes = Sizes { n: 4, m: 3 };
    let generated = inputs(sdfg, sizes, &mut Rng::new(7));
    let mut arguments = Arguments::new();
    for (symbol, _) in sdfg.symbols() {
        arguments.set_symbol(symbol.as_str(), if symbol.as_str() == "N" { sizes.n } else { sizes.m });
    }
    for (name, tensor) in generated.tensors() {
        arguments.set(name, tensor.clone());
    }
    // The wrong rewriting is seen by its results, as in a compiler.
    let options = Options {
        step_limit: Some(20_000),
        check_conflicts: false,
        libraries: Some(&Operations),
        ..Options::default()
    };
    Interpreter::new(&program).ok()?.run(&mut arguments, &options).ok()?;
    Some(arguments)
}

/// Whether the rewriting changes what the program computes.
fn is_broken(sdfg: &Sdfg) -> bool {
    let mut rewritten = sdfg.clone();
    forget_resolutions(&mut rewritten);
    let (Some(right), Some(wrong)) = (results(sdfg), results(&rewritten)) else { return false };
    right.tensors().any(|(name, tensor)| !wrong.get(name).is_some_and(|other| same(tensor, other)))
}

fn reduced(program: &Validated, fails: impl Fn(&Sdfg) -> bool) -> Minimized {
    minimize(program, None, |candidate| Ok::<_, Infallible>(fails(candidate.sdfg))).unwrap()
}

/// Dataflow nodes that the programs of these seeds have at least before they are reduced.
const LARGE: usize = 50;

#[test]
fn a_planted_bug_is_found_in_a_map_with_one_tasklet() {
    // A transient of several lanes cannot become an argument, and a value of few bits hides what is wrong: then what writes and reads it
    // is left, too.
    let is_wide = |ty: ElementType| ty.lanes() == 1 && ty.size() >= 4;
    let are_wide = |sdfg: &Sdfg| sdfg.containers().all(|(_, container)| is_wide(container.element));
    let is_large = |program: &Validated| {
        let sdfg = program.sdfg();
        Size::of(sdfg).nodes >= LARGE && are_wide(sdfg) && is_broken(sdfg)
    };
    let programs = (0..400).map(|seed| (seed, program(seed))).filter(|(_, program)| is_large(program));
    let programs: Vec<(u64, Validated)> = programs.take(6).collect();
    assert_eq!(programs.len(), 6);
    for (seed, program) in programs {
        let found = reduced(&program, is_broken);
        let printed = text::print(found.program.sdfg());
        assert!(is_broken(found.program.sdfg()), "seed {seed}:\n{printed}");
        // One state with the map, the tasklet, and the container that it writes.
        assert_eq!(
            (found.after.blocks, found.after.nodes, found.after.names),
            (1, 4, 1),
            "seed {seed}:\n{printed}"
        );
        assert!(found.complete && found.tries < 200, "seed {seed}: {} tries", found.tries);
        for smaller in candidates(&found.program) {
            assert!(
                !is_broken(smaller.sdfg()),
                "seed {seed}: a step is left:\n{}",
                text::print(smaller.sdfg())
            );
        }
    }
}

/// Keeps a fifth of the steps by chance. Gives the text of what is left.
fn reduced_by_chance(program: &Validated, seed: u64) -> String {
    let mut random = Rng::new(seed);
    let mut size = Size::of(program.sdfg());
    let found = minimize(program, Some(TRIES), |candidate| {
        assert!(candidate.size < size, "seed {seed}: {}", candidate.step);
        let read = text::parse("candidate.sdft", candidate.text).unwrap();
        assert_eq!(text::print(&read), candidate.text);
        validate(read).unwrap();
        let keep = random.chance(20);
        if keep {
            size = candidate.size;
        }
        Ok::<_, Infallible>(keep)
    });
    let found = found.unwrap();
    assert_eq!(found.after, size);
    text::print(found.program.sdfg())
}

#[test]
fn whatever_is_answered_programs_stay_right_and_shrink() {
    let files = std::fs::read_dir("programs").unwrap().map(|entry| entry.unwrap().path());
    let examples = files.filter(|path| path.is_file()).map(|path| {
        let source = std::fs::read_to_string(path).unwrap();
        validate(text::parse("example.sdft", &source).unwrap()).unwrap()
    });
    for (seed, program) in (0..).zip(examples.chain((0..2).map(program))) {
        let once = reduced_by_chance(&program, seed);
        assert_eq!(once, reduced_by_chance(&program, seed), "the search is deterministic");
    }
}
