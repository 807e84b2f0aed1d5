//! Random programs with a race: the order or resolution of two writes is removed. Validation or the
//! interpreter refuses the race in every order, or in none.

use std::collections::BTreeMap;

use sdfg::analysis::{ScopeTree, is_leaf};
use sdfg::diagnostic::Code;
use sdfg::interpret::{Interpreter, Options, Order, RunError, TrapKind};
use sdfg::ir::draft::{DraftSdfg, DraftState};
use sdfg::ir::{EdgeId, Flow, NodeKind, Sdfg, StateId};
use sdfg::propagate::propagate;
use sdfg::symbolic::Expr;
use sdfg::validate::{Validated, validate};

use super::check::{Failure, difference};
use super::generate::generate;
use super::inputs::{Sizes, inputs};
use super::operations::Operations;
use super::rng::Rng;

/// The outcome of a program with a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Race {
    /// Validation refused it, as it happens whenever its state runs.
    Rejected,
    /// The interpreter refused it, in every order.
    Trapped,
    /// It did not happen with the sizes and inputs: results are the same in every order.
    Absent,
    /// The program has nothing to be taken away, or it is wrong in another way now.
    Unknown,
}

/// Number of random orders that are tried.
const ORDERS: u64 = 3;

/// Plants a race in the program of a seed.
///
/// # Errors
/// [`Failure`] if the interpreter refuses it in some orders only, or gives different results.
pub fn check_race(seed: u64) -> Result<Race, Box<Failure>> {
    let mut source_text = generate(seed);
    let mut rng = Rng::new(seed ^ 0xace);
    let sizes = Sizes { n: 1 + rng.below(7) as i64, m: 1 + rng.below(7) as i64 };
    let verdict = planted(&source_text, &mut rng).and_then(|planted| match planted {
        Planted::Nowhere => Ok(Race::Unknown),
        Planted::Refused(verdict) => Ok(verdict),
        Planted::In(program) => {
            source_text = sdfg::text::print(program.sdfg());
            in_orders(&program, seed, sizes, &mut rng)
        }
    });
    verdict.map_err(|what| Box::new(Failure { seed, sizes, what, source_text }))
}

/// The result of planting a race.
enum Planted {
    Nowhere,
    Refused(Race),
    In(Box<Validated>),
}

fn planted(text: &str, rng: &mut Rng) -> Result<Planted, String> {
    let mut sdfg =
        sdfg::text::parse("random.sdft", text).map_err(|errors| format!("not parsed: {errors:?}"))?;
    let places = places(&sdfg);
    if places.is_empty() {
        return Ok(Planted::Nowhere);
    }
    let (state, edge) = rng.pick(&places);
    plant(&mut sdfg, state, edge);
    propagate(&mut sdfg);
    Ok(match validate(sdfg) {
        Ok(program) => Planted::In(Box::new(program)),
        Err(rejected) => {
            let is_race = rejected.diagnostics.iter().any(|found| found.code == Code::WriteConflict);
            Planted::Refused(if is_race { Race::Rejected } else { Race::Unknown })
        }
    })
}

/// Innermost edges that write in a scope.
fn places(sdfg: &Sdfg) -> Vec<(StateId, EdgeId)> {
    let mut found = Vec::new();
    for (id, state) in sdfg.states() {
        let tree = ScopeTree::of(state);
        let writes = state.edges().filter(|(edge, value)| {
            let is_write = matches!(&value.memlet.flow, Flow::Write { to, .. } if !to.is_queue());
            is_write && is_leaf(state, *edge) && tree.scope_of(value.src).is_some()
        });
        found.extend(writes.map(|(edge, _)| (id, edge)));
    }
    found
}

/// Removes the resolution of a write, or makes all iterations of the enclosing scopes write the elements of the first.
fn plant(sdfg: &mut Sdfg, state: StateId, edge: EdgeId) {
    let graph = sdfg.state(state);
    let tree = ScopeTree::of(graph);
    let mut zero = BTreeMap::new();
    for entry in tree.enclosing(graph.edge(edge).src) {
        if let NodeKind::MapEntry(map) = &graph.node(entry).kind {
            zero.extend(map.params.iter().map(|param| (param.clone(), Expr::zero())));
        }
    }
    if let Flow::Write { to, resolution } = &mut sdfg.state_mut(state).memlet_mut(edge).flow
        && resolution.take().is_none()
    {
        let subset = to.subset().substitute(&zero);
        *to.subset_mut() = subset;
    }
}

fn in_orders(program: &Validated, seed: u64, sizes: Sizes, rng: &mut Rng) -> Result<Race, String> {
    let arguments = inputs(program.sdfg(), sizes, rng);
    let mut interpreter = Interpreter::new(program).map_err(|error| format!("not interpreted: {error}"))?;
    let mut run = |order| {
        let mut results = arguments.clone();
        let options = Options {
            order,
            step_limit: Some(2_000_000),
            libraries: Some(&Operations),
            ..Options::default()
        };
        match interpreter.run(&mut results, &options) {
            Ok(_) => Ok(Some(results)),
            Err(RunError::Trap(trap)) if matches!(trap.kind, TrapKind::Conflict { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    };
    let first = match run(Order::Fixed) {
        Ok(first) => first,
        Err(_) => return Ok(Race::Unknown),
    };
    for number in 0..ORDERS {
        let order = Order::Random(seed.wrapping_add(number));
        match (&first, run(order)) {
            (_, Err(_)) | (None, Ok(None)) => {}
            (Some(first), Ok(Some(other))) => {
                if let Some((name, ..)) = difference(first, &other) {
                    return Err(format!("`{name}` differs in {order:?}, and no race was seen"));
                }
            }
            (Some(_), Ok(None)) | (None, Ok(Some(_))) => {
                return Err(format!("a race is seen in one order of the fixed one and {order:?}"));
            }
        }
    }
    Ok(if first.is_none() { Race::Trapped } else { Race::Absent })
}
