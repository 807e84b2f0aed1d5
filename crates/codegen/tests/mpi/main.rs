//! Tests of the library of communication: a driver in C calls it under MPI. Without MPI they pass, and say that they were skipped.

#![expect(clippy::print_stderr, reason = "a test that is skipped says so")]

mod random;

use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use random::{Case, Next, Random, are_equal, count, partial_results, random_case};
use sdfg::dtype::ScalarType;
use sdfg::interpret::Arguments;
use sdfg::tensor::Tensor;
use sdfg_codegen::cache::Cache;
use sdfg_codegen::llvm::{self, CompileOptions};
use sdfg_codegen::load::{CallError, Library};
use sdfg_codegen::lower::lower;
use sdfg_codegen::mpi::{
    Combination, Communicator, Context, Dimension, Elements, Flags, Launcher, Move, Mpi, MpiError, Side,
    ranks_of_environment,
};
use sdfg_codegen::ranks::localise;
use tempfile::TempDir;

/// The compiled driver with what starts it.
struct Driver {
    launcher: Launcher,
    program: PathBuf,
    folder: TempDir,
}

impl Driver {
    /// Compiles the driver and the library. `None` if this machine has no MPI.
    fn new() -> Option<Self> {
        Self::compiled(|command, mpi| {
            command.arg(mpi.library(Some(&cache())).unwrap().path());
        })
    }

    /// The same with AddressSanitizer and UBSan, which end the driver when they find a fault.
    fn with_sanitizers() -> Option<Self> {
        Self::compiled(|command, _| {
            command.args(["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]);
            command.arg(sources().join("sdfg_mpi.c")).arg("-lm");
        })
    }

    /// Compiles the driver with what `add` adds.
    fn compiled(add: impl FnOnce(&mut Command, &Mpi)) -> Option<Self> {
        let found = Mpi::find().and_then(|mpi| Ok((Launcher::find(&mpi)?, mpi)));
        let (launcher, mpi) = match found {
            Ok(found) => found,
            Err(error @ (MpiError::NoCompiler { .. } | MpiError::NoLauncher { .. })) => {
                eprintln!("skipped: {error}");
                return None;
            }
            Err(error) => panic!("{error}"),
        };
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("driver");
        let mut command = Command::new(mpi.compiler());
        command.args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror"]).arg("-o").arg(&program);
        command.arg("-I").arg(sources()).arg(tests().join("driver.c"));
        add(&mut command, &mpi);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(Driver { launcher, program, folder })
    }

    fn run(&self, ranks: usize, arguments: &[&str], variables: &[(&str, &str)]) -> (Output, Duration) {
        let start = Instant::now();
        let mut command = self.launcher.command(ranks, &self.program);
        // MPIs keep memory until the process ends.
        let leaks = tests().join("leaks.txt").display().to_string();
        let options = format!("suppressions={leaks}:print_suppressions=0:fast_unwind_on_malloc=0");
        command.env("LSAN_OPTIONS", options);
        let output = command.args(arguments).envs(variables.iter().copied()).output().unwrap();
        (output, start.elapsed())
    }

    /// Runs a test of the driver that has to succeed.
    fn succeed(&self, ranks: usize, test: &str) {
        let (output, _) = self.run(ranks, &[test], &[]);
        let messages = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{test} on {ranks} ranks: {:?}\n{messages}", output.status);
    }

    /// Writes what each rank reads.
    fn write(&self, cases: &[Case], ranks: usize) {
        for rank in 0..ranks {
            let mut file = Vec::new();
            cases.iter().for_each(|case| case.push(rank, &mut file));
            file.extend((-1_i64).to_ne_bytes());
            std::fs::write(self.folder.path().join(format!("{rank}.in")), file).unwrap();
        }
    }

    /// Runs cases on so many ranks, and compares every array and counter.
    fn compare(&self, cases: &[Case], ranks: usize, chunk: i64) {
        self.write(cases, ranks);
        let folder = self.folder.path().to_str().unwrap();
        let (output, _) = self.run(ranks, &["cases", folder], &[("SDFG_MPI_CHUNK", &chunk.to_string())]);
        assert!(output.status.success(), "{ranks} ranks:\n{}", String::from_utf8_lossy(&output.stderr));
        let mut files: Vec<Vec<u8>> = (0..ranks)
            .map(|rank| std::fs::read(self.folder.path().join(format!("{rank}.out"))).unwrap())
            .collect();
        let mut is_second_part = false;
        for (number, case) in cases.iter().enumerate() {
            case.check_sizes(ranks);
            let mut expected = case.expected(ranks, chunk);
            let predicted =
                if case.is_combination { vec![0; ranks] } else { case.description.moved_bytes(ranks) };
            let received = expected.counters.iter().map(|counters| counters[1].unsigned_abs());
            assert!(received.eq(predicted), "case {number} on {ranks} ranks: {:?}", case.description);
            // The first part of a bundle counts for both.
            if std::mem::take(&mut is_second_part) {
                expected.counters = vec![[0; 6]; ranks];
            } else if case.next == Next::Bundled {
                is_second_part = true;
                for (pair, bytes) in cases[number + 1].expected(ranks, chunk).messages {
                    *expected.messages.entry(pair).or_default() += bytes;
                }
                expected.counters = vec![[0; 6]; ranks];
                count(&expected.messages, chunk, &mut expected.counters);
            }
            let mut combined = 0;
            for (rank, file) in files.iter_mut().enumerate() {
                let mut rest = std::mem::take(file);
                let words: Vec<i64> = rest[..72]
                    .chunks_exact(8)
                    .map(|word| i64::from_ne_bytes(word.try_into().unwrap()))
                    .collect();
                let bytes = usize::try_from(words[8]).unwrap();
                let array = &rest[72..72 + bytes];
                let place = format!("case {number}, rank {rank} of {ranks}: {:?}", case.description);
                assert!(
                    are_equal(case.description.scalar, array, &expected.targets[rank]),
                    "{place}\nbefore   {:?}\nexpected {:?}\nfound    {array:?}",
                    case.targets[rank],
                    expected.targets[rank]
                );
                assert_eq!(words[..6], expected.counters[rank], "{place}");
                combined += words[6];
                *file = rest.split_off(72 + bytes);
            }
            let (least, most) = expected.combined;
            assert!((least..=most).contains(&combined), "case {number}: {combined} in {least}..={most}");
            if case.is_combination {
                let predicted: u64 = case.description.combined_bytes(ranks).iter().sum();
                assert_eq!(combined.unsigned_abs(), predicted, "case {number}: {:?}", case.description);
            }
        }
        assert!(files.iter().all(Vec::is_empty));
    }
}

/// One build serves the tests of this run, and the next ones.
fn cache() -> Cache {
    Cache::in_folder(Path::new(env!("CARGO_TARGET_TMPDIR")).join("mpi"))
}

/// The folder of the library's sources.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime/src/mpi")
}

/// The folder of these tests.
fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mpi")
}

/// Cases for so many ranks. Two that overlap have different sites.
fn cases(seed: u64, ranks: usize, n: usize) -> Vec<Case> {
    let mut random = Random(seed);
    let mut cases: Vec<Case> = (0..n).map(|_| random_case(&mut random, ranks)).collect();
    for at in 0..n {
        let Some([first, second]) = cases.get_mut(at..at + 2) else {
            cases[at].next = Next::After;
            continue;
        };
        let is_assignment = |case: &Case| case.description.combination == Combination::Assign;
        if first.next == Next::Bundled && !(is_assignment(first) && is_assignment(second)) {
            first.next = Next::Overlapping;
        }
        if first.next != Next::After {
            second.next = Next::After;
            second.site += i64::from(first.site == second.site);
        }
    }
    cases
}

#[test]
fn random_moves_set_what_brute_force_sets() {
    let Some(driver) = Driver::new() else { return };
    let n = std::env::var("SDFG_MPI_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    for ranks in 1..=6 {
        // Messages of a few bytes are cut into several.
        for (seed, chunk) in [(1, 1 << 30), (2, 24)] {
            driver.compare(&cases(1000 * seed + ranks as u64, ranks, n), ranks, chunk);
        }
    }
}

/// All ranks receive all partial results as long as these have no more than 4096 bytes together. Beyond, each rank combines a share of
/// the elements and sends it to the others: fewer bytes, but two steps.
#[test]
fn partial_results_travel_in_one_step_up_to_a_bound() {
    let Some(driver) = Driver::new() else { return };
    let mut random = Random(5);
    for ranks in [3, 4] {
        let n_ranks = i64::try_from(ranks).unwrap();
        let mut cases = Vec::new();
        for scalar in [ScalarType::I64, ScalarType::F32, ScalarType::U8] {
            let bytes = i64::try_from(scalar.size()).unwrap();
            let most = 4096 / n_ranks / bytes;
            for n in [most, most + 1] {
                let case = partial_results(&mut random, scalar, n, ranks);
                let predicted: u64 = case.description.combined_bytes(ranks).iter().sum();
                let copies = if n == most { n_ranks } else { 2 };
                assert_eq!(predicted, ((n_ranks - 1) * copies * n * bytes).unsigned_abs(), "{n}");
                cases.push(case);
            }
        }
        driver.compare(&cases, ranks, 1 << 30);
    }
}

/// A window of an array moves to another one of the same array, which overlaps it: all values are read before any is written, also
/// those of messages that MPI sends late because they are long.
#[test]
fn long_windows_of_one_array_may_overlap() {
    let Some(driver) = Driver::new() else { return };
    let (each, shift) = (4000, 2000);
    for ranks in 2..=4 {
        let n_ranks = i64::try_from(ranks).unwrap();
        let side = |begin| {
            let elements = Elements { begin, step: 1, moved: Some(0) };
            let starts = (0..=n_ranks).map(|rank| rank * each).collect();
            let extent = each * n_ranks;
            let dimension = Dimension { extent, cut: Some(0), starts, before: 0, after: 0, elements };
            Side { grid: vec![n_ranks], dimensions: vec![dimension] }
        };
        let description = Move {
            scalar: ScalarType::I64,
            lanes: 1,
            combination: Combination::Assign,
            flags: Flags { is_in_place: true, ..Flags::default() },
            extents: vec![each * n_ranks - shift],
            source: side(0),
            target: side(shift),
        };
        let array = |rank: i64| (rank * each..(rank + 1) * each).flat_map(i64::to_ne_bytes).collect();
        let targets = (0..n_ranks).map(array).collect();
        let sources = vec![Vec::new(); ranks];
        let next = Next::After;
        let case = Case { next, is_combination: false, site: 0, description, sources, targets };
        driver.compare(&[case], ranks, 1 << 30);
    }
}

#[test]
fn sanitizers_find_nothing() {
    let Some(driver) = Driver::with_sanitizers() else { return };
    for ranks in [1, 3, 4] {
        driver.compare(&cases(3000 + ranks as u64, ranks, 100), ranks, 1 << 30);
    }
    driver.succeed(2, "wrong_words");
    driver.succeed(3, "repeated");
    driver.succeed(2, "measured");
}

/// Contexts and moves come and go without growth: for a second, or for as many as `SDFG_MPI_SECONDS` says.
#[test]
fn memory_does_not_grow() {
    let Some(driver) = Driver::new() else { return };
    let seconds = std::env::var("SDFG_MPI_SECONDS").unwrap_or("1".to_owned());
    driver.write(&cases(4, 4, 60), 4);
    let folder = driver.folder.path().to_str().unwrap();
    let (output, _) = driver.run(4, &["soak", folder, &seconds], &[]);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    eprintln!("{}", text(&output.stdout));
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// An interrupt of the launcher ends all ranks, although one is stuck and the others wait for it.
#[test]
fn interrupts_end_all() {
    let Some(driver) = Driver::new() else { return };
    let mut command = driver.launcher.command(4, &driver.program);
    let mut launcher = command.args(["lost", "stuck"]).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(1));
    let start = Instant::now();
    let interrupt = Command::new("kill").args(["-INT", &launcher.id().to_string()]).status();
    assert!(interrupt.unwrap().success());
    assert!(!launcher.wait().unwrap().success() && start.elapsed() < Duration::from_secs(5));
    // The folder of the driver is its name in the list of processes.
    let name = driver.program.to_str().unwrap();
    let is_there = || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
        lines.into_iter().any(|line| String::from_utf8_lossy(&line).starts_with(name))
    };
    while is_there() && start.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(!is_there());
}

#[test]
fn ranks_agree() {
    let Some(driver) = Driver::new() else { return };
    for ranks in [1, 2, 3, 5] {
        driver.succeed(ranks, "agreement");
        driver.succeed(ranks, "wrong_words");
    }
}

#[test]
fn communicators_are_those_of_the_caller() {
    let Some(driver) = Driver::new() else { return };
    for ranks in [1, 2, 5] {
        driver.succeed(ranks, "communicators");
    }
}

#[test]
fn repeated_moves_keep_their_buffers() {
    let Some(driver) = Driver::new() else { return };
    for ranks in [1, 2, 4] {
        driver.succeed(ranks, "overlapping");
        driver.succeed(ranks, "repeated");
    }
}

#[test]
fn moves_are_measured() {
    let Some(driver) = Driver::new() else { return };
    for ranks in [1, 2, 3] {
        driver.succeed(ranks, "measured");
    }
}

#[test]
fn all_ranks_learn_that_one_has_no_memory() {
    let Some(driver) = Driver::new() else { return };
    for ranks in [2, 4] {
        driver.succeed(ranks, "no_memory");
    }
}

/// All ranks end soon, with a message that has this part.
#[test]
fn lost_ranks_end_all() {
    let Some(driver) = Driver::new() else { return };
    for (arguments, message) in [
        (&["lost", "killed"][..], "signal"),
        (&["lost", "exited"], "sdfg: rank 3 ended with status 3 while others go on"),
        (&["lost", "crashed"], "signal"),
        (&["lost", "reported"], "sdfg: rank 3: the residual is no number"),
        (&["lost", "elsewhere"], "sdfg: rank 3: move 0 is finished before it begins"),
        (&["lost", "stuck"], "sdfg: rank 0: other ranks did not arrive within 1 s (SDFG_MPI_DEADLINE)"),
        (&["different"], "sdfg: rank"),
    ] {
        let variables: &[(&str, &str)] =
            if arguments.contains(&"stuck") { &[("SDFG_MPI_DEADLINE", "1")] } else { &[] };
        let (output, time) = driver.run(4, arguments, variables);
        // Launchers print to either.
        let messages = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).to_lowercase();
        let has = messages.contains(&message.to_lowercase());
        assert!(!output.status.success() && has, "{arguments:?}: {messages}");
        assert!(time < Duration::from_secs(5), "{arguments:?} took {time:?}");
    }
}

#[test]
fn a_program_without_launcher_is_one_rank() {
    let Some(driver) = Driver::new() else { return };
    let output = Command::new(&driver.program).arg("agreement").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A rank of the next test, which MPI starts.
#[test]
#[ignore = "a part of `rust_calls_the_library`"]
fn rank_of_rust() {
    let mpi = Mpi::find().unwrap();
    let mut context = Context::of_world(&mpi.library(Some(&cache())).unwrap()).unwrap();
    let (rank, ranks) = (context.rank(), context.ranks());
    assert_eq!(ranks_of_environment(), Some((rank, ranks)));
    assert!(context.agree(None).is_ok());
    let error = context.agree((rank > 0).then_some(&format!("{rank} of {ranks}"))).unwrap_err();
    assert_eq!(error.to_string(), format!("rank 1: 1 of {ranks}"));
    assert!(context.same(&[1, 2, 3]).is_ok());
    let error = context.same(&[1, i64::from(rank == 2)]).unwrap_err();
    assert_eq!(error.to_string(), "rank 2 differs from rank 0 in word 1");
    let numbers = [-7.0, 0.5, -0.0];
    assert_eq!(context.largest(numbers[rank]).unwrap(), 0.5);
    assert_eq!(context.largest(numbers[rank] - 9.0).unwrap(), -8.5);
    assert!(context.largest(if rank == 1 { f64::NAN } else { 0.0 }).unwrap().is_nan());
    // Texts of another length at the same site, and those of other ranks do not count.
    for text in [&b""[..], b"a folder", &[7; 100_000]] {
        assert!(context.broadcast(if rank == 0 { text } else { b"another one" }).unwrap() == text);
    }
    let number = rank as i64;
    let of_all: Vec<i64> = (0..ranks as i64).flat_map(|rank| [rank, -7, i64::MIN + rank]).collect();
    assert_eq!(context.gather(&[number, -7, i64::MIN + number]).unwrap(), of_all);
    assert_eq!(context.gather(&[number]).unwrap(), (0..ranks as i64).collect::<Vec<_>>());
    let Case { description, is_combination, .. } = random_case(&mut Random(5), ranks);
    let seconds = context.measure(&description, is_combination, 5).unwrap();
    assert!(seconds > 0.0 && seconds < 1.0, "{seconds}");
    let wrong = Move { lanes: 0, ..description };
    assert!(matches!(context.measure(&wrong, false, 5), Err(MpiError::Communication { status: 3, .. })));
}

/// A map over ranks, and what all ranks run: a queue of the caller and a function of the caller.
const CALLS: &str = "\
sdfg calls {
  array A: f64[9] distribution(grid(3)[balanced(0)])
  stream S: f64[2]
  scalar total: f64
  state divided {
    access A
    map ranks [p = 0:3] schedule(mpi) {
      map own [i = 3 * p:3 * p + 3] {
        tasklet t () -> (y) { y = 1.5 * i }
        t.y -> own.A: A[i]
      }
      own.A -> ranks.A
    }
    ranks.A -> A
  }
  -> everywhere
  state everywhere {
    access S
    access total
    access again = S
    tasklet take (x) -> (y) external y = doubled(x) from callback
    tasklet put (x) -> (s) { s = x + 1.0 }
    S -> take.x: S[1]
    take.y -> total
    total -> put.x
    put.s -> again: S[0]
  }
}
";

extern "C" fn doubled(x: f64) -> f64 {
    2.0 * x
}

/// A rank of the next test.
#[test]
#[ignore = "a part of `ranks_take_queues_and_callbacks`"]
fn rank_with_a_queue() {
    let mpi = Mpi::find().unwrap();
    check_calls(&Context::of_world(&mpi.library(Some(&cache())).unwrap()).unwrap());
}

/// Runs the program on the ranks of a context.
fn check_calls(context: &Context) {
    let program = localise(&sdfg::text::parse("calls.sdft", CALLS).unwrap()).unwrap();
    let options = CompileOptions::default();
    let plan = lower(&program.validated().unwrap(), &options.target(), &options.lowering()).unwrap();
    let library = Library::load(&llvm::compile(&plan, &options).unwrap()).unwrap();
    let mut whole = Arguments::new();
    whole.set("A", Tensor::vector(&[0.0; 9]));
    whole.set("S[0]", Tensor::vector(&[4.0, 5.0]));
    whole.set("S[1]", Tensor::vector(&[7.0, 8.0]));
    whole.set("total", Tensor::scalar(0.0));
    let mut local = program.local(&whole, context.rank() as u32).unwrap();
    let hooks = context.hooks();
    let before = local.clone();
    // SAFETY: the library is the program compiled, and the function has the type of the program.
    let missing = unsafe { program.run(&library, &hooks, &mut local, |call| call) };
    assert!(matches!(missing, Err(CallError::Missing { argument }) if argument == "doubled"));
    assert_eq!(local, before);
    let function = doubled as *const c_void;
    // SAFETY: as above.
    unsafe { program.run(&library, &hooks, &mut local, |call| call.callback("doubled", function)) }.unwrap();
    // SAFETY: the arguments were made for this rank.
    let found = unsafe { program.gather(&hooks, &whole, &local) }.unwrap();
    let numbers = |name: &str| found.get(name).unwrap().to_vec::<f64>().unwrap();
    assert_eq!(numbers("A"), (0..9).map(|i| 1.5 * f64::from(i)).collect::<Vec<_>>());
    assert_eq!(numbers("S[0]"), [4.0, 5.0, 15.0]);
    assert_eq!(numbers("S[1]"), [8.0]);
    assert_eq!(numbers("total"), [14.0]);
}

/// Runs an ignored test of this file on ranks of MPI.
fn succeed_on_ranks(ranks: usize, test: &str) {
    let Some(driver) = Driver::new() else { return };
    let mut command = driver.launcher.command(ranks, std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", test, "--test-threads=1", "--nocapture"]);
    let output = command.output().unwrap();
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{messages}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(String::from_utf8_lossy(&output.stdout).matches("1 passed").count(), ranks);
}

#[test]
fn ranks_take_queues_and_callbacks() {
    succeed_on_ranks(3, "rank_with_a_queue");
}

#[test]
fn rust_calls_the_library() {
    succeed_on_ranks(3, "rank_of_rust");
}

/// The communicators of a caller in C: MPI, with the ranks of each parity in descending order.
const PARTS: &str = "\
#include <stdint.h>
#include <mpi.h>
MPI_Comm part;
MPI_Comm none = MPI_COMM_NULL;
void begin(void)
{
    int rank;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &part);
}
int64_t handle(void) { return MPI_Comm_c2f(part); }
void end(void) { MPI_Finalize(); }
";

/// A rank of the next test: the even ones of five run a program, and the odd ones only agree with each other.
#[test]
#[ignore = "a part of `programs_run_on_communicators_of_the_caller`"]
fn rank_of_a_part() {
    let mpi = Mpi::find().unwrap();
    let (world, ranks) = ranks_of_environment().unwrap();
    assert_eq!(ranks, 5);
    let folder = tempfile::tempdir().unwrap();
    let (source, file) = (folder.path().join("parts.c"), folder.path().join("parts.so"));
    std::fs::write(&source, PARTS).unwrap();
    let mut command = Command::new(mpi.compiler());
    assert!(command.args(["-shared", "-fPIC", "-o"]).args([&file, &source]).status().unwrap().success());
    let library = mpi.library(Some(&cache())).unwrap();
    let open = |communicator| {
        // SAFETY: the communicators are those of `PARTS`, which the same MPI compiled, or none.
        unsafe { Context::of_communicator(&library, communicator) }
    };
    let early = open(Communicator::Fortran(0)).unwrap_err().to_string();
    assert!(early.contains("MPI is not initialised"), "{early}");
    // SAFETY: the file was made of `PARTS`, which has functions and variables of these types.
    let (parts, handle, part, none) = unsafe {
        let parts = libloading::Library::new(&file).unwrap();
        parts.get::<unsafe extern "C" fn()>(b"begin\0").unwrap()();
        let handle = parts.get::<unsafe extern "C" fn() -> i64>(b"handle\0").unwrap()();
        let [part, none] = [&b"part\0"[..], b"none\0"].map(|name| *parts.get::<*const c_void>(name).unwrap());
        (parts, handle, part, none)
    };
    for communicator in
        [Communicator::Address(part), Communicator::Fortran(handle), Communicator::Address(part)]
    {
        let mut context = open(communicator).unwrap();
        assert_eq!(context.ranks(), if world % 2 == 0 { 3 } else { 2 });
        assert_eq!(context.rank(), (4 - world) / 2);
        let all = context.gather(&[world as i64]).unwrap();
        assert_eq!(all, if world % 2 == 0 { vec![4, 2, 0] } else { vec![3, 1] });
        if world % 2 == 0 {
            check_calls(&context);
        }
    }
    let error = open(Communicator::Address(none)).unwrap_err().to_string();
    assert!(error.contains("MPI_COMM_NULL"), "{error}");
    // SAFETY: as above; all contexts are dropped.
    unsafe { parts.get::<unsafe extern "C" fn()>(b"end\0").unwrap()() };
}

#[test]
fn programs_run_on_communicators_of_the_caller() {
    succeed_on_ranks(5, "rank_of_a_part");
}

#[test]
fn the_library_is_built_once() {
    let Ok(mpi) = Mpi::find() else {
        eprintln!("skipped: no MPI");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::in_folder(folder.path().join("cache"));
    let first = mpi.library(Some(&cache)).unwrap().path().to_owned();
    let written = first.metadata().unwrap().len();
    // What lies there is taken if it is whole.
    let again = mpi.library(Some(&cache)).unwrap();
    assert_eq!(again.path(), first);
    std::fs::write(&first, b"damaged").unwrap();
    assert_eq!(mpi.library(Some(&cache)).unwrap().path(), first);
    assert_eq!(first.metadata().unwrap().len(), written);
    let object = mpi.object(Some(&cache)).unwrap();
    assert_ne!(object.path(), first);
    assert_eq!(cache.contents().unwrap().objects, 2);
    // Without a cache, the file goes with the value.
    let alone = mpi.library(None).unwrap();
    let path = alone.path().to_owned();
    assert!(path.is_file());
    drop(alone);
    assert!(!path.exists());
}

#[test]
fn a_missing_mpi_is_named_with_its_remedy() {
    let error = Mpi::of_compiler("/nowhere/mpicc").unwrap_err();
    let message = error.to_string();
    assert!(matches!(error, MpiError::NoCompiler { .. }), "{message}");
    assert!(
        message.contains("/nowhere/mpicc") && message.contains("apt-get install libopenmpi-dev"),
        "{message}"
    );
    assert!(message.contains("SDFG_MPICC"), "{message}");
}
