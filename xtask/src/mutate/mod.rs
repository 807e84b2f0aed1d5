//! `cargo xtask mutate`: mutation testing with mutations that a seed draws from a mechanical list.
//!
//! cargo-mutants lists every mutation of the chosen files, and the seed draws some ([`draw`]). All that can
//! stand behind switches are built at once, as planted faults are ([`crate::faults`]); the others are built one
//! at a time. A run without a mutation records the tests that run each mutated function ([`reach`]), and only
//! these tests look for the mutation. `equivalent.toml` lists mutations without effect ([`judged`]).

mod draw;
mod judged;
mod reach;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::faults::{Fault, Outcome, Part, Planted, Suite, ground, parts, plant_together};
use crate::{setup, workspace};
use draw::Mutation;
use reach::{Tests, Verdict};

/// Code that is mutated, with the tests that may find its mutations.
struct Subject {
    /// The value of `--of`.
    name: &'static str,
    /// The files and folders that are mutated without `--files`.
    files: &'static [&'static str],
    /// The targets with the tests, besides the libraries.
    targets: &'static [&'static str],
    /// The filter expression of the tests.
    tests: &'static str,
}

/// Files that are left out: the strategy search, which has planted faults of its own, and random numbers, of
/// which any are right.
const LEFT_OUT: [&str; 2] = ["crates/transforms/src/strategy/**", "crates/transforms/src/random.rs"];

/// The transformations, the distribution over ranks, and the code for devices. The first one is mutated without `--of`.
const SUBJECTS: [Subject; 3] = [
    Subject {
        name: "transforms",
        files: &["crates/transforms/src"],
        targets: &[
            "transformations",
            "rewrites",
            "rewritten",
            "forced",
            "known_wrong",
            "loops",
            "control_flow",
            "transformation_pages",
            "own_transformation",
            "control",
            "facts",
            "minimize",
            "matmul_chain",
            "vector_maps",
            "polybench",
            "random",
            "cli",
        ],
        tests: "package(sdfg-transforms) & not test(/^strategy::/) \
            | package(sdfg-library) & binary(transformations) \
            | package(sdfg-programs) & not binary(random) & not binary(polybench) & not test(/^survey::/) \
            | binary(random) & test(/transformation|chain|simplif/) \
            | binary(polybench) & test(/transform|chain|simplif|match/) \
            | package(sdfg-cli) & test(/transform|chain|simplif/)",
    },
    Subject {
        name: "ranks",
        files: &[
            "crates/codegen/src/mpi",
            "crates/codegen/src/ranks",
            "crates/transforms/src/distribute",
            "crates/transforms/src/distribute.rs",
            "crates/transforms/src/ranks.rs",
            "crates/transforms/src/rewrites/distribute_container.rs",
            "crates/transforms/src/rewrites/halo_overlap.rs",
            "crates/transforms/src/rewrites/kept_values.rs",
            "crates/transforms/src/rewrites/map_storage.rs",
            "crates/transforms/src/rewrites/mpi_transform.rs",
            "crates/transforms/src/rewrites/redundant_redistribution.rs",
        ],
        targets: &[
            "mpi",
            "rank_functions",
            "rewrites",
            "rewritten",
            "forced",
            "ranks",
            "predicted_bytes",
            "random",
            "transformation_pages",
            "transformations",
            "cli",
        ],
        tests: "package(sdfg-codegen) & (test(/^(ranks|mpi|header|interface)::/) | binary(mpi) | binary(rank_functions)) \
            | package(sdfg-transforms) & (test(/distribut|rank|own_part/) | binary(rewrites)) \
            | binary(rewritten) & test(/^(copy_hoisting|halo_overlap|kept_values|map_storage|mpi_transform|redistribution)::/) \
            | binary(forced) & test(/rank/) \
            | package(sdfg-library) & binary(transformations) & test(/rank/) \
            | package(sdfg-programs) & (test(/halos|distribut/) | binary(ranks) | binary(predicted_bytes)) \
            | binary(transformation_pages) \
            | package(sdfg-cli) & test(/^rank|^strategy|distribut/)",
    },
    Subject {
        name: "device",
        files: &[
            "crates/codegen/src/lower/barrier.rs",
            "crates/codegen/src/lower/blocking.rs",
            "crates/codegen/src/lower/concurrency",
            "crates/codegen/src/lower/consume_rounds.rs",
            "crates/codegen/src/lower/device_queue.rs",
            "crates/codegen/src/lower/kernel.rs",
            "crates/codegen/src/lower/shared_reference.rs",
            "crates/codegen/src/lower/space.rs",
            "crates/codegen/src/plan/commands.rs",
            "crates/codegen/src/plan/kept.rs",
            "crates/codegen/src/plan/kernel.rs",
            "crates/codegen/src/source/commands.rs",
            "crates/codegen/src/source/cuda.rs",
            "crates/codegen/src/source/device.rs",
            "crates/codegen/src/source/dialect.rs",
            "crates/codegen/src/source/kernel.rs",
            "crates/codegen/src/source/nvrtc.rs",
            "crates/codegen/src/source/opencl.rs",
            "crates/codegen/src/source/push.rs",
            "crates/codegen/src/source/queue.rs",
            "crates/codegen/src/source/start.rs",
            "crates/codegen/src/source/width.rs",
            "crates/transforms/src/retarget.rs",
            "crates/transforms/src/rewrites/copy_hoisting.rs",
            "crates/transforms/src/rewrites/gpu_transform.rs",
        ],
        targets: &[
            "plans",
            "lower",
            "cuda_source",
            "cuda_driver",
            "opencl_source",
            "agreement",
            "rewritten",
            "forced",
            "transformations",
            "cli",
        ],
        tests: "package(sdfg-codegen) & (test(/^(lower|plan|source)::/) | binary(lower)) \
            | binary(agreement) & test(/^.llvm. .*(queue|stream|consum|filters|deadlocks|tasks|components)/) \
            | package(sdfg-transforms) & test(/copy_hoisting|gpu_transform|retarget|kernel|device/) \
            | package(sdfg-library) & binary(transformations) & test(/kernel|gpu|device/) \
            | package(sdfg-programs) \
                & (binary(plans) | binary(cuda_source) | binary(cuda_driver) | binary(opencl_source)) \
            | package(sdfg-cli) & test(/^cuda::|retarget/)",
    },
];

/// The options of the command.
struct Options {
    subject: &'static Subject,
    seed: u64,
    count: usize,
    /// Files and folders.
    files: Vec<String>,
    /// The numbers of the mutations that run; all without one.
    only: BTreeSet<usize>,
    list: bool,
    in_place: bool,
    is_recorded: bool,
    /// Mutations that are tested side by side.
    jobs: usize,
    /// Tests that are left out, by their names.
    without: Vec<String>,
}

impl Options {
    fn read(options: &[&str]) -> Result<Self> {
        let mut read = Self {
            subject: &SUBJECTS[0],
            seed: 1,
            count: 60,
            files: Vec::new(),
            only: BTreeSet::new(),
            list: false,
            in_place: false,
            is_recorded: false,
            jobs: 1,
            without: Vec::new(),
        };
        let number =
            |text: &str| text.parse::<u64>().with_context(|| format!("`{text}` is no number of `mutate`"));
        let mut options = options.iter();
        while let Some(option) = options.next() {
            let mut value = || options.next().with_context(|| format!("{option} takes a value"));
            match *option {
                "--seed" => read.seed = number(value()?)?,
                "--count" => read.count = number(value()?)? as usize,
                "--of" => read.subject = subject(value()?)?,
                "--files" => read.files.push((*value()?).to_owned()),
                "--only" => {
                    let numbers: Result<Vec<u64>> = value()?.split(',').map(number).collect();
                    read.only = numbers?.into_iter().map(|number| number as usize).collect();
                }
                "--without" => read.without.extend(value()?.split(',').map(str::to_owned)),
                "--jobs" => read.jobs = number(value()?)? as usize,
                "--list" => read.list = true,
                "--in-place" => read.in_place = true,
                "--recorded" => read.is_recorded = true,
                other => bail!("`mutate` knows no `{other}`; see `cargo xtask help`"),
            }
        }
        if read.files.is_empty() {
            read.files.extend(read.subject.files.iter().map(|file| (*file).to_owned()));
        }
        Ok(read)
    }

    /// The packages of the files.
    fn packages(&self) -> BTreeSet<String> {
        self.files.iter().map(|file| parts(Path::new(file))[0][0].clone()).collect()
    }

    /// The tests that may find a mutation: those of the subject if it has all files, otherwise all of the packages.
    fn part(&self) -> Part {
        let of: BTreeSet<String> =
            self.files.iter().flat_map(|file| parts(Path::new(file))).flatten().collect();
        let of: Vec<String> = of.into_iter().collect();
        let is_of_subject =
            |file: &String| self.subject.files.iter().any(|of| Path::new(file).starts_with(of));
        if !self.files.iter().all(is_of_subject) {
            return Part { only: self.without("all()"), ..Part::of(of.clone(), of) };
        }
        let targets = self.subject.targets.iter().flat_map(|target| ["--test", target]);
        let targets = std::iter::once("--lib").chain(targets).map(str::to_owned).collect();
        // The workspace has the features of other builds, which this one reuses.
        Part { built: Vec::new(), of, targets, only: self.without(self.subject.tests) }
    }

    /// The filter expression without the tests that are left out.
    fn without(&self, tests: &str) -> Option<String> {
        let names = self.without.iter().map(|name| format!("and not test(={name})"));
        Some(format!("({tests}) {}", names.collect::<Vec<_>>().join(" ")))
    }
}

/// The subject with a name.
fn subject(name: &str) -> Result<&'static Subject> {
    let names = SUBJECTS.map(|subject| subject.name).join("`, `");
    let found = SUBJECTS.iter().find(|subject| subject.name == name);
    found.with_context(|| format!("`mutate` has no subject `{name}`: there are `{names}`"))
}

/// The mutations without those that do not build, by verdict.
#[derive(Default)]
struct Tally {
    found: usize,
    equivalent: usize,
    undecided: usize,
    missed: Vec<String>,
}

/// Draws mutations by the seed and runs the tests on each.
///
/// # Errors
/// When options are wrong, the tests fail without a mutation, or more than one in ten is missed.
pub(crate) fn run(options: &[&str]) -> Result<()> {
    let options = Options::read(options)?;
    let root = workspace::root();
    let drawn = draw::draw(&root, &options)?;
    println!("{} mutations in {}", drawn.len(), options.files.join(", "));
    // One mutation in four does not build.
    let mut drawn: Vec<Mutation> = drawn.into_iter().take(options.count + options.count / 2).collect();
    drawn.retain(|mutation| options.only.is_empty() || options.only.contains(&mutation.number));
    if options.list {
        for mutation in drawn.iter().take(options.count) {
            println!(
                "{:>3} {}: {}\n        {}",
                mutation.number, mutation.place, mutation.change, mutation.code
            );
        }
        return Ok(());
    }
    let (copy, build) = ground(&root, options.in_place)?;
    let tools = setup::run()?;
    let suite = Suite::new(&tools, &copy, build);
    if !suite.nextest {
        bail!("`mutate` needs cargo-nextest: cargo install cargo-nextest --locked");
    }
    let part = options.part();
    let judged = judged::read(&root)?;
    let equivalent =
        |mutation: &Mutation| judged.iter().find(|entry| entry.is(mutation)).map(|entry| entry.why.as_str());
    let faults: Vec<&Fault> = drawn
        .iter()
        .filter(|mutation| equivalent(mutation).is_none())
        .map(|mutation| &mutation.fault)
        .collect();
    let planted = plant_together(&faults, &part, &copy, &suite)?;
    drawn.retain(|mutation| !planted.refused.contains(&mutation.fault.name));
    drawn.truncate(options.count);

    let mut tally = Tally::default();
    let folder = root.join("target/mutate");
    let mut tests = Tests::new(&suite, part.clone(), folder);
    let result = tests
        .record(options.is_recorded)
        .and_then(|()| tally.count_switched(&drawn, &planted, (&tests, options.jobs)));
    planted.take_back(&copy)?;
    result?;
    for mutation in drawn.iter().filter(|mutation| !planted.switched.contains(&mutation.fault.name)) {
        match equivalent(mutation) {
            Some(why) => {
                tally.equivalent += 1;
                report(mutation, &format!("equivalent: {why}"), None);
            }
            None => tally.count_alone(mutation, &part, &copy, &suite)?,
        }
    }
    tally.summary()
}

impl Tally {
    /// Runs the mutations behind switches, some side by side.
    fn count_switched(
        &mut self,
        drawn: &[Mutation],
        planted: &Planted,
        (tests, jobs): (&Tests<'_>, usize),
    ) -> Result<()> {
        let is_switched = |mutation: &&Mutation| planted.switched.contains(&mutation.fault.name);
        let waiting = Mutex::new(drawn.iter().filter(is_switched));
        let tally = Mutex::new(self);
        let work = || -> Result<()> {
            loop {
                let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some(mutation) = next else { return Ok(()) };
                let start = Instant::now();
                let verdict = tests.verdict(&mutation.fault)?;
                tally.lock().unwrap_or_else(PoisonError::into_inner).count(mutation, &verdict, start);
            }
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..jobs.max(1)).map(|_| scope.spawn(work)).collect();
            workers.into_iter().try_for_each(|worker| match worker.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            })
        })
    }

    fn count(&mut self, mutation: &Mutation, verdict: &Verdict, start: Instant) {
        let text = match verdict {
            Verdict::Found { by } => {
                self.found += 1;
                format!("found by {by}")
            }
            Verdict::Missed { reaching } => {
                self.missed.push(format!("{} {}: {}", mutation.number, mutation.place, mutation.change));
                format!("MISSED by {reaching} tests that run it\n        {}", mutation.code)
            }
            Verdict::Undecided { by } => {
                self.undecided += 1;
                format!("undecided: {by} takes too long, and may do so without it")
            }
        };
        report(mutation, &text, Some(start));
    }

    /// Builds a mutation for which there is no place for a switch.
    fn count_alone(
        &mut self,
        mutation: &Mutation,
        part: &Part,
        copy: &Path,
        suite: &Suite<'_>,
    ) -> Result<()> {
        let start = Instant::now();
        let path = copy.join(&mutation.fault.file);
        let right = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        fs::write(&path, mutation.fault.plant_in(&right)?)?;
        let outcome = suite.outcome(part, None);
        fs::write(&path, right)?;
        match outcome? {
            Outcome::Found { by, too_slow: true } => self.count(mutation, &Verdict::Undecided { by }, start),
            Outcome::Found { by, too_slow: false } => self.count(mutation, &Verdict::Found { by }, start),
            Outcome::Missed => self.count(mutation, &Verdict::Missed { reaching: 0 }, start),
            Outcome::DoesNotBuild(_) => report(mutation, "does not build", Some(start)),
        }
        Ok(())
    }

    fn summary(self) -> Result<()> {
        let Self { found, equivalent, undecided, missed } = self;
        let effective = found + missed.len();
        println!(
            "\n{} mutations: {found} found, {} missed, {equivalent} equivalent, {undecided} undecided",
            effective + equivalent + undecided,
            missed.len()
        );
        for line in &missed {
            println!("missed: {line}");
        }
        println!("{:.1} % of those that change behaviour are found", {
            100.0 * found as f64 / effective.max(1) as f64
        });
        if missed.len() * 10 > effective {
            bail!("the tests miss more than one mutation in ten");
        }
        Ok(())
    }
}

fn report(mutation: &Mutation, verdict: &str, start: Option<Instant>) {
    let time = start.map_or(String::new(), |start| format!(" ({:.0} s)", start.elapsed().as_secs_f64()));
    println!("{:>3} {}: {}: {verdict}{time}", mutation.number, mutation.place, mutation.change);
}
