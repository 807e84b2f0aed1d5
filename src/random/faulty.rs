//! Random programs with a memlet that a symbol displaces: checked code refuses the programs that the interpreter
//! refuses.

use std::num::NonZeroU32;

use sdfg::interpret::{Arguments, Interpreter, Options, RunError, Trap, TrapKind};
use sdfg::ir::draft::{DraftSdfg, DraftState};
use sdfg::ir::{AccessedPart, EdgeId, Flow, NodeId, NodeKind, Sdfg, StateId, Volume};
use sdfg::propagate::propagate;
use sdfg::symbolic::{Expr, Symbol};
use sdfg::validate::{Validated, validate};
use sdfg_codegen::llvm::{CompileOptions, OptLevel};
use sdfg_codegen::load::Library;
use sdfg_codegen::lower::{LowerOptions, lower};

use super::check::{Failure, compile, difference, expanded};
use super::device::{Device, lowered, moved};
use super::generate::generate;
use super::inputs::{Sizes, inputs};
use super::operations::Operations;
use super::rng::Rng;
use crate::trusted::{self, Compiler};

/// Behaviour of checked native code for a program with a moved memlet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It ended with an error, as the interpreter did.
    Refused,
    /// Its results are those of the interpreter.
    Agreed,
    /// Validation refuses the program, or the interpreter something that native code does not look at, as conflicts.
    Unknown,
}

/// The symbol that moves a memlet.
const SHIFT: &str = "Z";

/// The way of checked programs to code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckedCode {
    /// By LLVM.
    Native,
    /// By C source, with gcc.
    C,
    /// By the source for a device, after maps became kernels.
    OnDevice(Device),
}

/// Moves a memlet of the program of a seed by a symbol, and compares checked code with the interpreter for several
/// values of it.
///
/// # Errors
/// [`Failure`] if one of the two ends with an error and the other does not, or they give different results.
pub fn check_faulty(seed: u64, code: CheckedCode) -> Result<Vec<Verdict>, Box<Failure>> {
    let source_text = generate(seed);
    let mut rng = Rng::new(seed ^ 0xbad);
    let sizes = Sizes { n: 1 + rng.below(7) as i64, m: 1 + rng.below(7) as i64 };
    verdicts((seed, code), &source_text, sizes, &mut rng).map_err(|(what, text)| {
        let source_text = text.unwrap_or(source_text);
        Box::new(Failure { seed, sizes, what, source_text })
    })
}

type Problem = (String, Option<String>);

fn verdicts(
    (seed, code): (u64, CheckedCode),
    text: &str,
    sizes: Sizes,
    rng: &mut Rng,
) -> Result<Vec<Verdict>, Problem> {
    let mut sdfg =
        sdfg::text::parse("random.sdft", text).map_err(|e| (format!("not parsed: {e:?}"), None))?;
    if let CheckedCode::OnDevice(_) = code {
        match moved(&sdfg, rng).map_err(|what| (what, None))? {
            Some(moved) => sdfg = moved.program,
            None => return Ok(Vec::new()),
        }
    }
    let places = places(&sdfg, &mut Vec::new());
    if places.is_empty() {
        return Ok(Vec::new());
    }
    let place = rng.pick(&places);
    let scale = 1 + rng.below(2) as i64;
    let dimension = rng.below(8);
    let is_window = rng.below(2) == 0;
    move_memlet(&mut sdfg, &place, dimension, &(Expr::sym(SHIFT) * scale), is_window);
    propagate(&mut sdfg);
    let Ok(program) = validate(sdfg) else { return Ok(vec![Verdict::Unknown]) };
    let printed = || Some(sdfg::text::print(program.sdfg()));
    let library = library(seed, &program, code).map_err(|what| (what, printed()))?;
    let Some(library) = library else { return Ok(vec![Verdict::Unknown]) };
    let mut verdicts = Vec::new();
    for shift in [0, 1, -1, 3] {
        let mut arguments = inputs(program.sdfg(), sizes, rng);
        arguments.set_symbol(SHIFT, shift);
        let expected = interpreted(&program, &arguments).map_err(|what| (what, printed()))?;
        for threads in [1, 2] {
            let mut actual = arguments.clone();
            let run = trusted::run(&library, &mut actual, NonZeroU32::new(threads));
            let with = format!("{SHIFT} = {shift}, {threads} threads");
            verdicts.push(match (&expected, run) {
                (Err(trap), run) => match (&trap.kind, run) {
                    (
                        TrapKind::OutOfBounds { .. }
                        | TrapKind::UndefinedRead { .. }
                        | TrapKind::IndexOverflow
                        | TrapKind::UndefinedIndex(_),
                        Ok(()),
                    ) => return Err((format!("native code does not see, {with}: {trap}"), printed())),
                    (_, Err(_)) => Verdict::Refused,
                    (_, Ok(())) => Verdict::Unknown,
                },
                (Ok(_), Err(error)) => return Err((format!("native, {with}: {error}"), printed())),
                (Ok(expected), Ok(())) => match difference(expected, &actual) {
                    None => Verdict::Agreed,
                    Some((name, ..)) => return Err((format!("`{name}` differs, {with}"), printed())),
                },
            });
        }
    }
    Ok(verdicts)
}

/// Checked code of a program; `None` if a device cannot run it.
fn library(seed: u64, program: &Validated, code: CheckedCode) -> Result<Option<Library>, String> {
    let level = if seed.is_multiple_of(2) { OptLevel::O0 } else { OptLevel::Quick };
    let options = CompileOptions { level, checked: true, parallel_threshold: 0, ..CompileOptions::default() };
    match code {
        CheckedCode::Native => compile(&expanded(program)?, &options, None).map(Some),
        CheckedCode::C => {
            let plan = lower(&expanded(program)?, &options.target(), &options.lowering());
            let plan = plan.map_err(|error| format!("not lowered: {error}"))?;
            trusted::through_c(&plan, Compiler::Gcc).map(Some)
        }
        CheckedCode::OnDevice(device) => {
            match lowered(program, &device.target(), true, LowerOptions::DEVICE_STREAMS)? {
                Ok(plan) => device.load(&plan).map(Some),
                Err(_) => Ok(None),
            }
        }
    }
}

/// Results of the interpreter, or its trap.
fn interpreted(program: &Validated, arguments: &Arguments) -> Result<Result<Arguments, Box<Trap>>, String> {
    let mut arguments = arguments.clone();
    let mut interpreter = Interpreter::new(program).map_err(|error| format!("not interpreted: {error}"))?;
    let options = Options { step_limit: Some(2_000_000), libraries: Some(&Operations), ..Options::default() };
    match interpreter.run(&mut arguments, &options) {
        Ok(_) => Ok(Ok(arguments)),
        Err(RunError::Trap(trap)) => Ok(Err(trap)),
        Err(error @ RunError::Arguments(_)) => Err(format!("interpreter: {error}")),
    }
}

/// An edge: the nested SDFGs on the way to it, its state, itself.
#[derive(Clone)]
struct EdgePlace {
    nested: Vec<(StateId, NodeId)>,
    state: StateId,
    edge: EdgeId,
}

/// The edges that move elements of arrays.
fn places(sdfg: &Sdfg, around: &mut Vec<(StateId, NodeId)>) -> Vec<EdgePlace> {
    let mut found = Vec::new();
    for (id, state) in sdfg.states() {
        for (edge, value) in state.edges() {
            let has_dimensions =
                |place: &AccessedPart| matches!(place, AccessedPart::Elements(subset) if subset.rank() > 0);
            let moves = sdfg::analysis::is_leaf(state, edge)
                && value.memlet.accesses().any(|access| has_dimensions(&access.place));
            if moves {
                found.push(EdgePlace { nested: around.clone(), state: id, edge });
            }
        }
        for (node, value) in state.nodes() {
            if let NodeKind::Nested(nested) = &value.kind {
                around.push((id, node));
                found.extend(places(&nested.sdfg, around));
                around.pop();
            }
        }
    }
    found
}

/// Moves a memlet along a dimension; one that gives a part another name becomes a window if asked for.
fn move_memlet(sdfg: &mut Sdfg, place: &EdgePlace, dimension: usize, by: &Expr, is_window: bool) {
    // Nested SDFGs see a symbol of their caller by its name.
    sdfg.declare_symbol(Symbol::of(SHIFT), sdfg::dtype::ScalarType::I64);
    if let Some(((state, node), rest)) = place.nested.split_first() {
        if let NodeKind::Nested(nested) = &mut sdfg.state_mut(*state).node_mut(*node).kind {
            let inside = EdgePlace { nested: rest.to_vec(), ..*place };
            move_memlet(&mut nested.sdfg, &inside, dimension, by, is_window);
        }
        return;
    }
    let state = sdfg.state_mut(place.state);
    let edge = state.edge(place.edge);
    let is_nested = |node: NodeId| matches!(state.node(node).kind, NodeKind::Nested(_));
    let renames =
        [edge.src, edge.dst].into_iter().any(is_nested) || matches!(edge.memlet.flow, Flow::Bind(_));
    let memlet = state.memlet_mut(place.edge);
    if renames && is_window {
        memlet.volume = Volume::Dynamic;
    }
    let ranked = memlet.accesses_mut().find(|access| access.subset().rank() > 0);
    let Some(access) = ranked else { return };
    let subset = access.subset_mut();
    let dimension = dimension % subset.rank();
    let mut by_dimension = vec![Expr::zero(); subset.rank()];
    by_dimension[dimension] = by.clone();
    *subset = subset.offset(&by_dimension);
}
