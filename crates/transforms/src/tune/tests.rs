//! Tests of the search with costs that are formulas, and a clock that only runs when a program runs.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::engine::{Chain, Registry};

/// Seconds that the fake compiler takes.
const COMPILATION: f64 = 1.0;

/// A chain of one tiling with so many dimensions, all of size 16.
fn chain(dimensions: usize) -> Chain {
    let sizes = vec![16; dimensions];
    let step = json!({"transformation": "MapTiling", "parameters": {"tile_sizes": sizes}});
    Chain::from_json(&json!({"version": 1, "steps": [step]}).to_string()).expect("a chain")
}

/// A space of so many sizes, each 1, 2, 4, ... up to 256.
fn space(dimensions: usize) -> Space {
    let (chain, registry) = (chain(dimensions), Registry::standard());
    let variable = |at| {
        let text = format!("1.tile_sizes[{at}]=1,2,4,8,16,32,64,128,256");
        Variable::parse(&text, &chain, &registry).expect("a variable")
    };
    Space::new(chain.clone(), (0..dimensions).map(variable).collect()).expect("a space")
}

/// The binary logarithms of the sizes of a point.
fn logs(point: &Point) -> Vec<f64> {
    point.iter().map(|at| *at as f64).collect()
}

/// The program of a point takes the time of a formula.
struct Formula<F: Fn(&Point) -> Result<f64, Unfit>> {
    cost: F,
    clock: f64,
    /// Runs of each point.
    runs: BTreeMap<Point, usize>,
    prepared: BTreeMap<Point, usize>,
    /// Prepared and not released.
    held: Vec<Point>,
    most_held: usize,
    /// Every run takes up to this part longer or shorter.
    noise: f64,
    random: crate::random::Random,
    /// The number of preparations after which the user stops the search.
    patience: usize,
}

impl<F: Fn(&Point) -> Result<f64, Unfit>> Formula<F> {
    fn new(cost: F) -> Self {
        let random = crate::random::Random::new(5);
        let (runs, prepared) = (BTreeMap::new(), BTreeMap::new());
        let (held, most_held) = (Vec::new(), 0);
        Formula {
            cost,
            clock: 0.0,
            runs,
            prepared,
            held,
            most_held,
            noise: 0.0,
            random,
            patience: usize::MAX,
        }
    }
}

impl<F: Fn(&Point) -> Result<f64, Unfit>> Bench for Formula<F> {
    fn prepare(&mut self, point: &Point) -> Result<(), Unfit> {
        self.clock += COMPILATION;
        *self.prepared.entry(point.clone()).or_default() += 1;
        (self.cost)(point)?;
        self.held.push(point.clone());
        self.most_held = self.most_held.max(self.held.len());
        Ok(())
    }

    fn run(&mut self, point: &Point) -> Result<f64, Unfit> {
        assert!(self.held.contains(point), "{point:?} runs without a program");
        let seconds = (self.cost)(point)? * (1.0 + self.noise * (2.0 * self.random.fraction() - 1.0));
        self.clock += seconds;
        *self.runs.entry(point.clone()).or_default() += 1;
        Ok(seconds)
    }

    fn release(&mut self, point: &Point) {
        self.held.retain(|held| held != point);
    }

    fn elapsed(&self) -> Duration {
        Duration::from_secs_f64(self.clock)
    }

    fn is_stopped(&self) -> bool {
        self.prepared.values().sum::<usize>() >= self.patience
    }
}

/// Lines of a log in memory.
struct Memory<'s> {
    space: &'s Space,
    log: Log,
    written: String,
    /// Candidates in the order of the search.
    order: Vec<Point>,
    left: Vec<Duration>,
}

impl<'s> Memory<'s> {
    fn new(space: &'s Space, content: &str) -> Self {
        let log = Log::read(content, "key").expect("a log");
        Memory { space, log, written: content.to_owned(), order: Vec::new(), left: Vec::new() }
    }

    fn write(&mut self, pair: [&Point; 2], entry: Entry) {
        self.written.push_str(&self.log.line(self.space, pair, entry).expect("a line"));
    }
}

impl Journal for Memory<'_> {
    fn recall(&mut self, pair: [&Point; 2]) -> Option<Trial> {
        self.log.recall(self.space, pair)
    }

    fn begin(&mut self, pair: [&Point; 2]) {
        self.write(pair, Entry::Begun);
    }

    fn abandon(&mut self, pair: [&Point; 2]) {
        self.write(pair, Entry::Abandoned);
    }

    fn end(&mut self, progress: &Progress<'_>) {
        self.order.push(progress.candidate.clone());
        self.left.push(progress.left);
        if !progress.is_recalled {
            self.write([progress.candidate, progress.beside], progress.trial.clone().into());
        }
    }
}

fn settings(candidates: usize) -> Settings {
    Settings { budget: Duration::from_secs(100_000), seed: 1, turns: 7, candidates: Some(candidates) }
}

#[track_caller]
fn best(space: &Space, settings: &Settings, cost: impl Fn(&Point) -> Result<f64, Unfit>) -> Outcome {
    let mut bench = Formula::new(cost);
    let found = search(space, settings, &mut bench, &mut Memory::new(space, "")).expect("a result");
    // The given chain, the best one, the place of the descent and the candidate.
    assert!(bench.most_held <= 4, "{} programs were held", bench.most_held);
    found
}

/// Each size has its own optimum, so that descent finds all of them without a restart.
#[test]
fn descent_finds_the_optimum_of_separable_costs() {
    let space = space(4);
    let optimum = [8.0, 0.0, 5.0, 3.0];
    let cost = |point: &Point| {
        let factor = |(at, optimum): (f64, &f64)| 1.0 + 0.2 * (at - optimum).abs();
        Ok(logs(point).into_iter().zip(&optimum).map(factor).product())
    };
    // From 4: four steps up and four down, one each of the others, and the neighbours on the other side.
    let outcome = best(&space, &settings(25), cost);
    assert_eq!(outcome.best, [8, 0, 5, 3]);
    let confirmed = outcome.confirmation.expect("a final comparison");
    assert!((confirmed.ratio - 1.0 / (1.8 * 1.8 * 1.2 * 1.2)).abs() < 1e-9 && confirmed.turns == 14);
    assert_eq!(outcome.found[0].point, outcome.best);
    assert!(outcome.found.iter().any(|found| found.point == space.start() && found.ratio == 1.0));
    assert!(outcome.found.windows(2).all(|pair| pair[0].ratio <= pair[1].ratio));
}

/// A valley along the diagonal: no single size gains anything from the start.
#[test]
fn two_sizes_move_together_along_a_valley() {
    let space = space(2);
    let cost = |point: &Point| {
        let [x, y] = [point[0] as f64, point[1] as f64];
        Ok(1.0 + (x - y).abs() + 0.1 * ((x - 7.0).abs() + (y - 7.0).abs()))
    };
    let outcome = best(&space, &settings(70), cost);
    assert_eq!(outcome.best, [7, 7]);
    // And where the product of both counts, as in a cache.
    let cost = |point: &Point| {
        let [x, y] = [point[0] as f64, point[1] as f64];
        Ok(1.0 + (x + y - 8.0).abs() + 0.1 * (x - 7.0).abs())
    };
    assert_eq!(best(&space, &settings(70), cost).best, [7, 1]);
}

/// The start lies in a valley of its own, and the better one is narrow: only a restart gets there.
#[test]
fn restarts_leave_a_local_optimum() {
    let space = space(3);
    let distance = |point: &Point, to: [f64; 3]| -> f64 {
        logs(point).into_iter().zip(to).map(|(at, to)| (at - to).abs()).sum()
    };
    let cost = |point: &Point| {
        Ok((1.0 + 0.3 * distance(point, [4.0; 3])).min(0.5 + 0.3 * distance(point, [0.0, 8.0, 7.0])))
    };
    let outcome = best(&space, &settings(120), cost);
    assert_eq!(outcome.best, [0, 8, 7]);
    // Of 729 points; the order is that of the seed.
    assert_eq!(outcome.measured, 120);
}

/// Every point is tried at most once beside one other point, and the search ends when there is no further one.
#[test]
fn a_small_space_is_exhausted() {
    let space = space(1);
    let outcome = best(&space, &settings(1000), |_| Ok(1.0));
    assert_eq!((outcome.ended, outcome.measured), (Ended::Exhausted, 8));
    assert_eq!((outcome.best, outcome.confirmation), (space.start(), None));
}

/// Sizes between the start and the optimum have no program.
#[test]
fn refused_candidates_are_passed_over() {
    let space = space(2);
    let cost = |point: &Point| {
        if [5, 6].contains(&point[0]) {
            return Err(Unfit::Refused(format!("{} does not divide N", 1 << point[0])));
        }
        Ok(10.0 - point[0] as f64)
    };
    let mut bench = Formula::new(cost);
    let outcome = search(&space, &settings(60), &mut bench, &mut Memory::new(&space, "")).expect("a result");
    assert_eq!(outcome.best[0], 8);
    assert_eq!(outcome.refused[0], (vec![5, 4], "32 does not divide N".to_owned()));
    // None was tried twice.
    assert!(bench.prepared.iter().filter(|(point, _)| [5, 6].contains(&point[0])).all(|(_, n)| *n == 1));
}

#[test]
fn the_given_chain_must_have_a_program() {
    let space = space(1);
    let refused = |_: &Point| Err(Unfit::Refused("step 1 does not apply".to_owned()));
    let error = search(&space, &settings(9), &mut Formula::new(refused), &mut Memory::new(&space, ""));
    assert_eq!(error, Err(SearchError::Start("step 1 does not apply".to_owned())));
}

#[test]
fn a_wrong_rewrite_ends_the_search() {
    let space = space(2);
    let cost = |point: &Point| match point[1] {
        6 => Err(Unfit::Wrong("element 3 of `C` is 1, and was 2".to_owned())),
        at => Ok(10.0 - at as f64),
    };
    let mut journal = Memory::new(&space, "");
    let error = search(&space, &settings(99), &mut Formula::new(cost), &mut journal).expect_err("an error");
    let SearchError::Wrong { point, reason } = &error else { panic!("{error:?}") };
    assert_eq!((point[1], reason.as_str()), (6, "element 3 of `C` is 1, and was 2"));
    assert_eq!(error.to_string(), *reason);
    // The next search finds it again: it is no outcome.
    let again =
        search(&space, &settings(99), &mut Formula::new(cost), &mut Memory::new(&space, &journal.written));
    assert_eq!(again, Err(error));
}

/// The same order and the same result, while only the last comparison runs.
#[test]
fn a_resumed_search_measures_nothing_again() {
    let space = space(3);
    let cost = |point: &Point| {
        let [x, y, z] = [0, 1, 2].map(|at| point[at] as f64);
        if point[0] == 7 {
            return Err(Unfit::Refused("no".to_owned()));
        }
        Ok(1.0 + (x - 2.0).abs() + (y - 6.0).abs() + (z - x).abs())
    };
    let limit = |candidates| Settings { candidates: Some(candidates), ..settings(0) };
    let run = |limit: &Settings, log: &str| {
        let (mut bench, mut journal) = (Formula::new(cost), Memory::new(&space, log));
        let outcome = search(&space, limit, &mut bench, &mut journal).expect("a result");
        (outcome, bench, journal.written, journal.order)
    };
    let (whole, _, _, order) = run(&limit(60), "");
    let (first, _, log, first_order) = run(&limit(20), "");
    assert_eq!((first.measured, first.ended), (20, Ended::Candidates));
    assert_eq!(first_order, order[..20]);
    // Ended by the limit in the middle of a line.
    let killed = format!("{log}{{\"key\": \"ke");
    let (second, bench, log, second_order) = run(&limit(40), &killed);
    assert_eq!((second.measured, second.recalled), (40, 20));
    assert_eq!((second_order, &second.best), (order, &whole.best));
    let again = |point: &Point| bench.prepared.contains_key(point) && *point != space.start();
    let repeated: Vec<&Point> = first_order.iter().filter(|point| again(point)).collect();
    // Only places of the descent are prepared again.
    assert!(repeated.len() <= 2, "{repeated:?}");
    let log = log.replace("{\"key\": \"ke{", "{");
    let (third, bench, _, _) = run(&limit(0), &log);
    assert_eq!((third.measured, third.recalled, &third.best), (0, 60, &whole.best));
    assert_eq!(bench.prepared.len(), 2, "the given chain and the best one");
}

#[test]
fn logs_tell_keys_and_candidates_that_end_the_process_apart() {
    let space = space(2);
    let (start, other) = (space.start(), vec![2, 4]);
    let pair = [&other, &start];
    let mut journal = Memory::new(&space, "");
    let comparison =
        Comparison { seconds: 0.1, against_seconds: 0.3, ratio: 0.1 + 0.2, upper: 0.5, turns: 7 };
    journal.write(pair, Entry::Measured(comparison.clone()));
    let read = |content: &str, key: &str| Log::read(content, key).expect("a log");
    assert_eq!(
        journal.written,
        "{\"key\":\"key\",\"candidate\":{\"1.tile_sizes[0]\":4},\"beside\":{},\"outcome\":\"measured\",\
         \"seconds\":0.1,\"against_seconds\":0.3,\"ratio\":0.30000000000000004,\"upper\":0.5,\"turns\":7}\n"
    );
    assert_eq!(read(&journal.written, "key").recall(&space, pair), Some(Trial::Measured(comparison)));
    assert_eq!(read(&journal.written, "key").recall(&space, [&start, &other]), None);
    assert!(read(&journal.written, "another").is_empty());
    // A refusal does not depend on the point beside it.
    let mut journal = Memory::new(&space, "");
    journal.write(pair, Entry::Refused { reason: "no".to_owned() });
    let refused = Some(Trial::Refused { reason: "no".to_owned() });
    assert_eq!(read(&journal.written, "key").recall(&space, [&other, &vec![0, 0]]), refused);
    // Two searches that ended in a candidate without a word.
    let mut journal = Memory::new(&space, "");
    journal.begin(pair);
    assert_eq!(read(&journal.written, "key").recall(&space, pair), None);
    journal.begin(pair);
    let skipped = read(&journal.written, "key").recall(&space, pair);
    assert!(matches!(skipped, Some(Trial::Refused { reason }) if reason.starts_with("2 earlier searches")));
    journal.abandon(pair);
    assert_eq!(read(&journal.written, "key").recall(&space, pair), None);
    let wrong = Log::read("{}\n{}\n", "key").expect_err("no log");
    assert_eq!(wrong.number, 1);
}

/// One candidate may exceed the budget, by its compilation and its turns.
#[test]
fn the_budget_is_kept() {
    let space = space(3);
    let cost = |point: &Point| Ok(0.5 + 0.01 * logs(point).iter().sum::<f64>());
    for seconds in [30, 60, 200] {
        let settings = Settings { budget: Duration::from_secs(seconds), candidates: None, ..settings(0) };
        let (mut bench, mut journal) = (Formula::new(cost), Memory::new(&space, ""));
        let outcome = search(&space, &settings, &mut bench, &mut journal).expect("a result");
        assert_eq!(outcome.ended, Ended::Budget);
        assert!(bench.clock <= seconds as f64 + 2.0, "{} of {seconds} s", bench.clock);
        assert!(bench.clock > 0.6 * seconds as f64, "{} of {seconds} s", bench.clock);
        assert!(journal.left.windows(2).all(|pair| pair[0] > pair[1]));
    }
}

#[test]
fn the_user_ends_the_search_with_the_best_so_far() {
    let space = space(2);
    let mut bench = Formula::new(|point: &Point| Ok(20.0 - point[0] as f64));
    bench.patience = 4;
    let mut journal = Memory::new(&space, "");
    let outcome = search(&space, &settings(99), &mut bench, &mut journal).expect("a result");
    assert_eq!((outcome.ended, outcome.confirmation), (Ended::Stopped, None));
    // The third candidate was prepared, and has no outcome.
    assert_eq!((outcome.best, outcome.measured), (vec![6, 4], 2));
    assert!(journal.written.ends_with("\"outcome\":\"abandoned\"}\n"), "{}", journal.written);
}

/// All points take the same time, and runs differ by up to 10 %.
#[test]
fn noise_is_no_gain() {
    let space = space(3);
    let mut moved = 0;
    for seed in 0..20 {
        let mut bench = Formula::new(|_: &Point| Ok(1.0));
        (bench.noise, bench.random) = (0.1, crate::random::Random::new(seed));
        let outcome =
            search(&space, &settings(60), &mut bench, &mut Memory::new(&space, "")).expect("a result");
        moved += usize::from(outcome.best != space.start());
    }
    // Of 60 candidates some pass by chance; the final comparison holds most of them back.
    assert!(moved <= 4, "{moved} of 20 searches found a gain in noise");
    // A gain beyond the noise is found.
    let mut bench = Formula::new(|point: &Point| Ok(1.0 - 0.1 * (point[0] as f64 - 4.0).max(0.0)));
    bench.noise = 0.05;
    let outcome = search(&space, &settings(60), &mut bench, &mut Memory::new(&space, "")).expect("a result");
    assert_eq!(outcome.best[0], 8);
}

#[test]
fn clearly_slower_candidates_are_run_a_few_times_only() {
    let runs = |factor: f64| {
        let start = space(1).start();
        let mut bench = Formula::new(|point: &Point| Ok(if *point == start { 1.0 } else { factor }));
        let space = space(1);
        search(&space, &settings(1), &mut bench, &mut Memory::new(&space, "")).expect("a result");
        bench.runs[&vec![5]]
    };
    assert_eq!([5.0, 2.0, 1.2, 1.02].map(runs), [1, 2, 3, 7]);
}

fn parsed(text: &str) -> Result<Variable, String> {
    let steps = json!([
        {"transformation": "simplify"},
        {"transformation": "MapTiling", "parameters": {"tile_sizes": [0, 48]}, "at": ["a"]},
        {"transformation": "MapTiling", "parameters": {"tile_sizes": [0, 48]}, "at": ["b"]},
        {"transformation": "DiamondTiling", "parameters": {"steps": 8}},
        {"transformation": "MapSchedule", "parameters": {"schedule": "unrolled"}},
    ]);
    let chain = Chain::from_json(&json!({"version": 1, "steps": steps}).to_string()).expect("a chain");
    Variable::parse(text, &chain, &Registry::standard()).map_err(|error| error.to_string())
}

#[test]
fn variables_are_read_with_the_value_of_the_chain() {
    let read = |text: &str| {
        let variable = parsed(text).expect("a variable");
        (variable.to_string(), json!(variable.values()), variable.start())
    };
    assert_eq!(read("2.tile_sizes[1]=96,24"), ("2.tile_sizes[1]".to_owned(), json!([24, 48, 96]), 1));
    assert_eq!(read("2-3.tile_sizes[1]=48,8"), ("2-3.tile_sizes[1]".to_owned(), json!([8, 48]), 1));
    assert_eq!(read("3.tile_sizes=[8,8],[0,48]"), ("3.tile_sizes".to_owned(), json!([[8, 8], [0, 48]]), 1));
    // A parameter that the chain leaves out has its default.
    assert_eq!(read("4.width=32"), ("4.width".to_owned(), json!([32, 64]), 1));
    assert_eq!(read("5.schedule=default"), ("5.schedule".to_owned(), json!(["unrolled", "default"]), 0));
}

#[test]
fn wrong_variables_are_refused_with_what_there_is() {
    for (text, message) in [
        ("tile_sizes=3", "write `STEP.PARAMETER=VALUE,VALUE`"),
        ("2.tile_sizes[1]", "is no parameter of a step with values"),
        ("2.tile_sizes[1=8", "is no parameter"),
        ("x.tile_sizes=8", "is no parameter"),
        ("0.tile_sizes=8", "there is no step 0: the chain has 5 steps, and the first one is 1"),
        ("2-6.tile_sizes[1]=8", "there is no step 6"),
        ("3-2.tile_sizes[1]=8", "steps 3 to 2 are no row"),
        (
            "2.tile_size=8",
            "has no parameter `tile_size` (did you mean `tile_sizes`?); it has tile_sizes, divides",
        ),
        ("1.fuel=8", "step 1 (simplify) has no parameter `fuel`; it has none"),
        ("2-4.steps=8", "step 2 (MapTiling) has no parameter `steps`"),
        ("2.tile_sizes[2]=8", "step 2: `tile_sizes` is [0,48], which has no element 2"),
        ("4.steps[0]=8", "step 4: `steps` is 8, which has no element 0"),
        ("2.tile_sizes[1]=", "`2.tile_sizes[1]` has no values"),
        ("2.tile_sizes[1]= ,,", "has no values"),
        ("2.tile_sizes[1]=8,8", "`2.tile_sizes[1]` has the value 8 twice"),
        ("2.tile_sizes=8", "step 2 (MapTiling): parameters of `MapTiling`"),
        ("4.steps=many", "step 4 (DiamondTiling)"),
    ] {
        let error = parsed(text).expect_err(text);
        assert!(error.contains(message), "{text}: {error}");
    }
}

/// Steps that differ in their place vary together; each size has powers of two around it.
#[test]
fn sizes_vary_by_default() {
    let steps = json!([
        {"transformation": "MapTiling", "parameters": {"tile_sizes": [0, 48, "K"]}, "at": ["a"]},
        {"transformation": "MapTiling", "parameters": {"tile_sizes": [0, 48, "K"]}, "at": ["b"]},
        {"transformation": "MapTiling", "parameters": {"tile_sizes": [1]}, "at": ["b"]},
        {"transformation": "Vectorization"},
        {"transformation": "DiamondTiling", "parameters": {"width": 32}},
        {"transformation": "MapSplit", "parameters": {"count": 1920}},
    ]);
    let chain = Chain::from_json(&json!({"version": 1, "steps": steps}).to_string()).expect("a chain");
    let variables = Variable::defaults(&chain, &Registry::standard()).expect("variables");
    let shown: Vec<(String, Value)> =
        variables.iter().map(|variable| (variable.to_string(), json!(variable.values()))).collect();
    let expected = [
        ("1-2.tile_sizes[1]", json!([16, 32, 48, 64, 128])),
        ("3.tile_sizes[0]", json!([1, 2, 4])),
        ("5.steps", json!([1, 2, 4, 8, 16])),
        ("5.width", json!([8, 16, 32, 64, 128])),
    ];
    assert_eq!(shown, expected.map(|(name, values)| (name.to_owned(), values)));
    let space = Space::new(chain.clone(), variables).expect("a space");
    assert_eq!((space.len(), space.start()), (375, vec![2, 0, 2, 2]));
    assert_eq!(space.chain(&space.start()), chain);
    let lines = space.chain(&vec![4, 0, 2, 1]).lines();
    assert_eq!(lines[1], "MapTiling tile_sizes=[0,128,\"K\"] at b");
    assert_eq!(lines[4], "DiamondTiling width=16 at any place");
    assert_eq!(space.shown(&vec![4, 0, 2, 1], &space.start()), "1-2.tile_sizes[1]=128 5.width=16");
    let changes = json!({"1.tile_sizes[1]": 128, "2.tile_sizes[1]": 128, "5.width": 16});
    assert_eq!(Value::Object(space.changes(&vec![4, 0, 2, 1])), changes);
}

#[test]
fn spaces_have_a_choice_and_set_nothing_twice() {
    let (chain, registry) = (chain(2), Registry::standard());
    let variable = |text: &str| Variable::parse(text, &chain, &registry).expect("a variable");
    let space = |texts: &[&str]| Space::new(chain.clone(), texts.iter().map(|text| variable(text)).collect());
    assert!(space(&["1.tile_sizes[0]=8", "1.tile_sizes[1]=8"]).is_ok());
    for (texts, message) in [
        (
            &["1.tile_sizes[0]=8", "1.tile_sizes[0]=4"][..],
            "`1.tile_sizes[0]` and `1.tile_sizes[0]` set the same",
        ),
        (&["1.tile_sizes=[8]", "1.tile_sizes[0]=4"], "`1.tile_sizes` and `1.tile_sizes[0]` set"),
        (&["1.tile_sizes[0]=16"], "nothing varies"),
        (&[], "nothing varies"),
    ] {
        let error = space(texts).expect_err("an error").to_string();
        assert!(error.contains(message), "{error}");
    }
    // Two elements of one list are both set.
    let both = space(&["1.tile_sizes[0]=8", "1.tile_sizes[1]=64"]).expect("a space");
    assert_eq!(both.chain(&vec![0, 1]).lines(), ["MapTiling tile_sizes=[8,64] at any place"]);
}

/// Chains keep the record, replay ignores it, and other steps lose it.
#[test]
fn chains_keep_the_record_of_tuning() {
    let record = crate::Tuned {
        sizes: BTreeMap::from([("N".to_owned(), 512)]),
        processor: "P".to_owned(),
        options: vec!["--threads".to_owned(), "1".to_owned()],
        seconds_before: 0.002,
        seconds: 0.001,
        ratio: 0.5,
    };
    assert_eq!(
        record.to_string(),
        "tuned for N=512 on P with --threads 1: 2.000 ms to 1.000 ms, ratio 0.500"
    );
    let tuned = chain(1).with_tuned(Some(record.clone()));
    let read = Chain::from_json(&tuned.to_json().expect("JSON")).expect("a chain");
    assert_eq!((&read, read.tuned()), (&tuned, Some(&record)));
    assert_eq!(read.clone().cut(1), chain(1));
    assert_eq!(read.clone().then(chain(1)).tuned(), None);
    assert!(
        Space::new(read, vec![Variable::defaults(&chain(1), &Registry::standard()).expect("one")[0].clone()])
            .is_ok_and(|space| space.given().tuned().is_none())
    );
}
