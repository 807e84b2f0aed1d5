//! The bytes that each rank receives in a run of a distributed program, without the run.
//!
//! What remains of the program is its control flow, and for each copy that may move data a call with the words of the move. The
//! interpreter runs this; no container is allocated. Words tell what each rank receives ([`Move`]).

use std::cell::RefCell;
use std::collections::BTreeMap;

use sdfg::edit::Editor;
use sdfg::interpret::{Arguments, Callbacks, ExternalArgument, Interpreter, Options};
use sdfg::ir::{Container, Node, NodeKind, Sdfg, StateId, Tasklet, TaskletBody};
use sdfg::symbolic::{Expr, Symbol};
use sdfg::syntax::{Expression, parse_expression};
use sdfg::tasklet::{ExternalCall, ExternalOrigin};
use sdfg::validate::validate;
use sdfg::value::Value;
use thiserror::Error;

use super::equal::read_by_control_flow;
use super::{LocaliseError, Localising, localise, unsupported};
use crate::mpi::Move;

/// The name of the function that notes a move.
const NOTE: &str = "note";

/// The most blocks that are executed to count moves.
const MOST_STEPS: u64 = 1 << 26;

/// Why the traffic of a program is not known before it runs.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TrafficError {
    /// The program has no native code on several ranks.
    #[error(transparent)]
    Localise(#[from] LocaliseError),
    /// Data decide what runs.
    #[error("`{expression}` reads `{container}`, so only a run tells what moves")]
    Data {
        /// A condition, a bound of a loop or the value of a symbol.
        expression: String,
        /// The container that it reads.
        container: String,
    },
    /// The control flow of the program fails, or does not end within 2^26 blocks.
    #[error("the control flow of the program cannot be followed: {0}")]
    Control(String),
}

/// Bytes that ranks receive in a run, copy by copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// Number of ranks.
    pub ranks: usize,
    /// The copies that may move data, in the order of states and edges; also those that never run.
    pub copies: Vec<CopyTraffic>,
}

/// Bytes that ranks receive by one copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyTraffic {
    /// The label of its state.
    pub state: String,
    /// The name of the container that is read.
    pub source: String,
    /// The name of the container that is written.
    pub target: String,
    /// Whether it combines values.
    pub combines: bool,
    /// Whether replicas of the source may hold current values by chance: owners send to them all the same, because only a run knows.
    pub has_replicas: bool,
    /// How often it runs.
    pub times: u64,
    /// How often a rank receives something by it.
    pub waits: u64,
    /// The sum over all executions of the bytes that one rank receives at most.
    pub most: u64,
    /// Bytes that each rank receives in all these executions.
    pub received: Vec<u64>,
}

impl Traffic {
    /// What each of so many ranks receives in a run of a distributed program, whose symbols have these values.
    ///
    /// # Errors
    /// [`TrafficError`], such as for conditions that read data.
    pub fn of(program: &Sdfg, symbols: &BTreeMap<Symbol, i64>, ranks: u32) -> Result<Self, TrafficError> {
        let needed = localise(program)?.ranks();
        if ranks < needed {
            return Err(TrafficError::Control(format!("the program is divided over {needed} ranks")));
        }
        if let Some((expression, container)) = read_by_control_flow(program).next() {
            let container = program.container(container).name.clone();
            return Err(TrafficError::Data { expression: expression.to_string(), container });
        }
        let (skeleton, sites) = skeleton(program, ranks as usize)?;
        let skeleton = validate(skeleton).map_err(|rejected| TrafficError::Control(rejected.to_string()))?;
        let control = |error: String| TrafficError::Control(error);
        let mut interpreter = Interpreter::new(&skeleton).map_err(|error| control(error.to_string()))?;
        let mut arguments = Arguments::new();
        for (symbol, _) in skeleton.sdfg().symbols() {
            if let Some(value) = symbols.get(symbol) {
                arguments.set_symbol(symbol.as_str(), *value);
            }
        }
        let noted = RefCell::new((Traffic { ranks: ranks as usize, copies: sites }, Noted::new()));
        let note = |words: &[ExternalArgument], _: &mut [_]| {
            let (traffic, known) = &mut *noted.borrow_mut();
            traffic.note(&integers(words), known).map(|()| None)
        };
        let callbacks = Callbacks::new().with(NOTE, note);
        let options = Options {
            check_conflicts: false,
            step_limit: Some(MOST_STEPS),
            externals: Some(&callbacks),
            ..Options::default()
        };
        interpreter.run(&mut arguments, &options).map_err(|error| control(error.to_string()))?;
        drop(callbacks);
        Ok(noted.into_inner().0)
    }

    /// Bytes that each rank receives in all.
    pub fn received(&self) -> Vec<u64> {
        self.sum(|_| true)
    }

    /// Seconds in which ranks wait, with the formula of the cost model: for each execution of a copy that moves something the latency of
    /// a message, and the time of the bytes that one rank receives at most.
    pub fn seconds(&self, latency: f64, bytes_per_second: f64) -> f64 {
        let of = |copy: &CopyTraffic| copy.waits as f64 * latency + copy.most as f64 / bytes_per_second;
        // The sum of no floating-point numbers is -0.
        self.copies.iter().map(of).fold(0.0, |sum, one| sum + one)
    }

    /// Bytes that each rank receives by copies that combine nothing.
    pub fn moved(&self) -> Vec<u64> {
        self.sum(|copy| !copy.combines)
    }

    fn sum(&self, counts: impl Fn(&CopyTraffic) -> bool) -> Vec<u64> {
        let mut all = vec![0; self.ranks];
        for copy in self.copies.iter().filter(|copy| counts(copy)) {
            all.iter_mut().zip(&copy.received).for_each(|(sum, bytes)| *sum += bytes);
        }
        all
    }

    /// Counts one execution of the copy of a site, which is the first word.
    fn note(&mut self, words: &[i64], known: &mut Noted) -> Result<(), String> {
        let (site, words) = words.split_first().ok_or("a move without words")?;
        let copy = usize::try_from(*site).ok().and_then(|site| self.copies.get_mut(site));
        let copy = copy.ok_or("a move of no site")?;
        let bytes = match known.get(site) {
            Some((before, bytes)) if before == words => bytes.clone(),
            Some(_) | None => {
                let moved = Move::from_words(words).ok_or("words that describe no move")?;
                if copy.combines { moved.combined_bytes(self.ranks) } else { moved.moved_bytes(self.ranks) }
            }
        };
        copy.times += 1;
        let most = bytes.iter().copied().max().unwrap_or(0);
        copy.most += most;
        copy.waits += u64::from(most > 0);
        copy.received.iter_mut().zip(&bytes).for_each(|(sum, bytes)| *sum += bytes);
        known.insert(*site, (words.to_vec(), bytes));
        Ok(())
    }
}

/// For each site the words of its last execution, and what they move.
type Noted = BTreeMap<i64, (Vec<i64>, Vec<u64>)>;

fn integers(arguments: &[ExternalArgument]) -> Vec<i64> {
    let integer = |argument: &ExternalArgument| match argument {
        ExternalArgument::Value(Value::I64(value)) => Some(*value),
        ExternalArgument::Value(_) | ExternalArgument::Memory(_) => None,
    };
    arguments.iter().filter_map(integer).collect()
}

/// The control flow of a program, with a call for each copy that may move data, and these copies.
fn skeleton(program: &Sdfg, ranks: usize) -> Result<(Sdfg, Vec<CopyTraffic>), LocaliseError> {
    let mut skeleton = program.clone();
    let made = Localising::new(program)?;
    let mut copies = Vec::new();
    let mut editor = Editor::of_draft(&mut skeleton);
    for (state, graph) in program.states() {
        let found = made.found(graph);
        loop {
            let first = editor.state(state)?.nodes().map(|(id, _)| id).next();
            let Some(node) = first else { break };
            editor.remove_node(state, node)?;
        }
        for copied in &found {
            let (source, target) = (program.container(copied.from.1), program.container(copied.to.1));
            let moved = made.moved(program, copied)?;
            let blocks = source.distribution.blocks();
            let has_replicas = !moved.flags.are_source_replicas_current
                && blocks.is_some_and(|blocks| blocks.replicated_over().next().is_some());
            let words = moved.words()?;
            add_note(&mut editor, state, copies.len(), &words)?;
            let name = |container: &Container| container.name.clone();
            copies.push(CopyTraffic {
                state: graph.label.clone(),
                source: name(source),
                target: name(target),
                combines: copied.resolution.is_some(),
                has_replicas,
                times: 0,
                waits: 0,
                most: 0,
                received: vec![0; ranks],
            });
        }
    }
    for (id, _) in program.containers() {
        editor.remove_container(id)?;
    }
    editor.commit()?;
    Ok((skeleton, copies))
}

/// Adds a call with the number of a site and the words of its move.
fn add_note(
    editor: &mut Editor<'_>,
    state: StateId,
    site: usize,
    words: &[Expr],
) -> Result<(), LocaliseError> {
    let site_number = Expr::int(site as i64);
    let mut arguments = Vec::new();
    for word in [&site_number].into_iter().chain(words) {
        let Ok(word) = parse_expression(&word.to_string()) else {
            return unsupported("the description of a move");
        };
        arguments.push(Expression::call("i64", vec![word]));
    }
    let call =
        ExternalCall { symbol: NOTE.to_owned(), arguments, result: None, origin: ExternalOrigin::Callback };
    let tasklet = Tasklet { inputs: Vec::new(), outputs: Vec::new(), body: TaskletBody::External(call) };
    let label = editor.fresh_label(state, &format!("move{site}"))?;
    editor.add_node(state, Node { label, kind: NodeKind::Tasklet(tasklet), loc: None })?;
    Ok(())
}
