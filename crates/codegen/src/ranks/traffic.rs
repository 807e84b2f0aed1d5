//! The bytes that each rank receives in a run of a distributed program, without the run.
//!
//! What remains of the program is its control flow, and for copies that may move data a call with the words of the moves. The
//! interpreter runs this; no container is allocated. Words tell what each rank receives ([`Move`]). Maps that run while messages
//! travel hide a part of the time.

use std::cell::RefCell;
use std::collections::BTreeMap;

use sdfg::edit::Editor;
use sdfg::interpret::{Arguments, Callbacks, ExternalArgument, Interpreter, Options};
use sdfg::ir::{Container, Node, NodeId, NodeKind, Sdfg, StateId, Tasklet, TaskletBody};
use sdfg::symbolic::{Expr, Symbol};
use sdfg::syntax::{Expression, parse_expression};
use sdfg::tasklet::{ExternalCall, ExternalOrigin};
use sdfg::validate::validate;
use sdfg::value::Value;
use thiserror::Error;

use super::equal::read_by_control_flow;
use super::hidden::Hidden;
use super::overlap::early_maps;
use super::together::groups;
use super::{LocaliseError, Localising, needed_ranks, unsupported};
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
    /// The copies that may move data, in the order of states, those together that travel together; also those that never run.
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
    /// The labels of the maps that run while its messages travel.
    pub hidden_by: Vec<String>,
}

/// Rates of a machine, from which the time of moves follows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Seconds of each message beside the time of its bytes.
    pub latency_seconds: f64,
    /// Bytes that a rank receives in a second.
    pub link_bytes_per_second: f64,
    /// Arithmetic operations of a rank in a second.
    pub operations_per_second: f64,
    /// Bytes that a rank reads from and writes to its memory in a second.
    pub memory_bytes_per_second: f64,
}

/// Seconds in which ranks wait for messages in a run, with the formula of the cost model: for each execution of a copy that moves
/// something the latency of a message, and the time of the bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Waiting {
    /// Seconds in which ranks wait: for each copy those of the rank that receives most, less what maps hide.
    pub seconds: f64,
    /// Seconds that maps hide: the difference that they make for the rank that waits longest.
    pub hidden: f64,
}

impl Traffic {
    /// What each of so many ranks receives in a run of a distributed program, whose symbols have these values.
    ///
    /// # Errors
    /// [`TrafficError`], such as for conditions that read data.
    pub fn of(program: &Sdfg, symbols: &BTreeMap<Symbol, i64>, ranks: u32) -> Result<Self, TrafficError> {
        Ok(Count::of(program, symbols, ranks, None)?.traffic)
    }

    /// Bytes that each rank receives in all.
    pub fn received(&self) -> Vec<u64> {
        self.sum(|_| true)
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
}

impl Waiting {
    /// The seconds of a run of a distributed program on so many ranks, whose symbols have these values.
    ///
    /// # Errors
    /// As [`Traffic::of`].
    pub fn of(
        program: &Sdfg,
        symbols: &BTreeMap<Symbol, i64>,
        ranks: u32,
        rates: Rates,
    ) -> Result<Self, TrafficError> {
        Ok(Count::of(program, symbols, ranks, Some(rates))?.waiting)
    }
}

/// What a run without computation has counted so far.
struct Count {
    traffic: Traffic,
    waiting: Waiting,
    rates: Option<Rates>,
    sites: Vec<Site>,
    /// For each site the words of its last execution, and what they move.
    known: BTreeMap<usize, (Vec<i64>, Moved)>,
}

/// Copies that travel together.
struct Site {
    /// Their positions in [`Traffic::copies`].
    copies: Vec<usize>,
    /// The maps that run meanwhile.
    hidden: Hidden,
}

/// What one execution of a site moves.
#[derive(Clone)]
struct Moved {
    /// For each copy the bytes that each rank receives.
    received: Vec<Vec<u64>>,
    waiting: Waiting,
}

impl Count {
    fn of(
        program: &Sdfg,
        symbols: &BTreeMap<Symbol, i64>,
        ranks: u32,
        rates: Option<Rates>,
    ) -> Result<Self, TrafficError> {
        let needed = needed_ranks(program)?;
        if ranks < needed {
            return Err(TrafficError::Control(format!("the program is divided over {needed} ranks")));
        }
        if let Some((expression, container)) = read_by_control_flow(program).next() {
            let container = program.container(container).name.clone();
            return Err(TrafficError::Data { expression: expression.to_string(), container });
        }
        let (skeleton, copies, sites) = skeleton(program, ranks as usize)?;
        let skeleton = validate(skeleton).map_err(|rejected| TrafficError::Control(rejected.to_string()))?;
        let control = |error: String| TrafficError::Control(error);
        let mut interpreter = Interpreter::new(&skeleton).map_err(|error| control(error.to_string()))?;
        let mut arguments = Arguments::new();
        for (symbol, _) in skeleton.sdfg().symbols() {
            if let Some(value) = symbols.get(symbol) {
                arguments.set_symbol(symbol.as_str(), *value);
            }
        }
        let traffic = Traffic { ranks: ranks as usize, copies };
        let count = Count { traffic, waiting: Waiting::default(), rates, sites, known: BTreeMap::new() };
        let count = RefCell::new(count);
        let note = |words: &[ExternalArgument], _: &mut [_]| {
            count.borrow_mut().note(&integers(words)).map(|()| None)
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
        Ok(count.into_inner())
    }

    /// Counts one execution of a site, which is the first word. For each of its copies follow the number of words and the words, then
    /// what [`Hidden`] needs.
    fn note(&mut self, words: &[i64]) -> Result<(), String> {
        let (site, words) = words.split_first().ok_or("moves without words")?;
        let number = usize::try_from(*site).map_err(|_| "moves of no site")?;
        let site = self.sites.get(number).ok_or("moves of no site")?;
        let moved = match self.known.get(&number) {
            Some((before, moved)) if before == words => moved.clone(),
            Some(_) | None => self.moved(site, words)?,
        };
        for (copy, bytes) in site.copies.iter().zip(&moved.received) {
            let copy = &mut self.traffic.copies[*copy];
            copy.times += 1;
            let most = bytes.iter().copied().max().unwrap_or(0);
            copy.most += most;
            copy.waits += u64::from(most > 0);
            copy.received.iter_mut().zip(bytes).for_each(|(sum, bytes)| *sum += bytes);
        }
        self.waiting.seconds += moved.waiting.seconds;
        self.waiting.hidden += moved.waiting.hidden;
        self.known.insert(number, (words.to_vec(), moved));
        Ok(())
    }

    fn moved(&self, site: &Site, mut words: &[i64]) -> Result<Moved, String> {
        let ranks = self.traffic.ranks;
        let mut received = Vec::new();
        for copy in &site.copies {
            let (count, rest) = words.split_first().ok_or("a move without words")?;
            let own = usize::try_from(*count).ok().and_then(|count| rest.split_at_checked(count));
            let (own, rest) = own.ok_or("too few words of a move")?;
            let moved = Move::from_words(own).ok_or("words that describe no move")?;
            received.push(match self.traffic.copies[*copy].combines {
                true => moved.combined_bytes(ranks),
                false => moved.moved_bytes(ranks),
            });
            words = rest;
        }
        let waiting = self.rates.map_or(Waiting::default(), |rates| waiting(&received, site, words, &rates));
        Ok(Moved { received, waiting })
    }
}

/// The seconds of one execution of a site, of which each rank receives so many bytes by each copy.
fn waiting(received: &[Vec<u64>], site: &Site, values: &[i64], rates: &Rates) -> Waiting {
    let time = |bytes: u64| match bytes {
        0 => 0.0,
        bytes => rates.latency_seconds + bytes as f64 / rates.link_bytes_per_second,
    };
    let most = |bytes: &Vec<u64>| time(bytes.iter().copied().max().unwrap_or(0));
    // The sum of no floating-point numbers is -0.
    let all = received.iter().map(most).fold(0.0, |sum, one| sum + one);
    if site.hidden.is_empty() {
        return Waiting { seconds: all, hidden: 0.0 };
    }
    // A rank waits for what remains when its own maps are done.
    let ranks = received.first().map_or(0, Vec::len);
    let travels =
        |rank: usize| received.iter().map(|bytes| time(bytes[rank])).fold(0.0, |sum, one| sum + one);
    let travels: Vec<f64> = (0..ranks).map(travels).collect();
    let remains = |(rank, travels): (usize, &f64)| match *travels {
        0.0 => 0.0,
        travels => travels - site.hidden.seconds(rank, values, rates),
    };
    let most = travels.iter().copied().fold(0.0, f64::max);
    // Copies of which different ranks receive most take as long as without maps, less what the maps save.
    let hidden = most - travels.iter().enumerate().map(remains).fold(0.0, f64::max);
    Waiting { seconds: all - hidden, hidden }
}

fn integers(arguments: &[ExternalArgument]) -> Vec<i64> {
    let integer = |argument: &ExternalArgument| match argument {
        ExternalArgument::Value(Value::I64(value)) => Some(*value),
        ExternalArgument::Value(_) | ExternalArgument::Memory(_) => None,
    };
    arguments.iter().filter_map(integer).collect()
}

/// The control flow of a program with a call for copies that travel together, these copies, and the calls.
fn skeleton(program: &Sdfg, ranks: usize) -> Result<(Sdfg, Vec<CopyTraffic>, Vec<Site>), LocaliseError> {
    let mut skeleton = program.clone();
    let made = Localising::new(program)?;
    let (mut copies, mut sites) = (Vec::new(), Vec::new());
    let mut editor = Editor::of_draft(&mut skeleton);
    for (state, graph) in program.states() {
        loop {
            let first = editor.state(state)?.nodes().map(|(id, _)| id).next();
            let Some(node) = first else { break };
            editor.remove_node(state, node)?;
        }
        let mut used: Vec<NodeId> = Vec::new();
        for group in groups(graph, made.found(graph)) {
            // A map hides one group of copies: its time is counted once.
            let mut maps = early_maps(program, state, &group);
            maps.retain(|map| !used.contains(map));
            used.extend(&maps);
            let hidden = Hidden::by(program, state, &maps);
            let hidden_by: Vec<String> = maps.iter().map(|map| graph.node(*map).label.clone()).collect();
            let mut words = vec![Expr::int(sites.len() as i64)];
            let first = copies.len();
            for copied in &group {
                let (source, target) = (program.container(copied.from.1), program.container(copied.to.1));
                let moved = made.moved(program, copied)?;
                let blocks = source.distribution.blocks();
                let has_replicas = !moved.flags.are_source_replicas_current
                    && blocks.is_some_and(|blocks| blocks.replicated_over().next().is_some());
                let own = moved.words()?;
                words.push(Expr::int(own.len() as i64));
                words.extend(own);
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
                    hidden_by: hidden_by.clone(),
                });
            }
            words.extend(hidden.symbols().map(|symbol| Expr::symbol(symbol.clone())));
            add_note(&mut editor, state, sites.len(), &words)?;
            sites.push(Site { copies: (first..copies.len()).collect(), hidden });
        }
    }
    for (id, _) in program.containers() {
        editor.remove_container(id)?;
    }
    editor.commit()?;
    Ok((skeleton, copies, sites))
}

/// Adds a call with these words, the first of which is the number of a site.
fn add_note(
    editor: &mut Editor<'_>,
    state: StateId,
    site: usize,
    words: &[Expr],
) -> Result<(), LocaliseError> {
    let mut arguments = Vec::new();
    for word in words {
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
