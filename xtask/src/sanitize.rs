//! `cargo xtask sanitize`: runs the program list under AddressSanitizer, and under ThreadSanitizer with
//! LLVM's OpenMP runtime and its tool Archer, through which ThreadSanitizer understands barriers and locks.
//!
//! Tests compile their programs for the sanitizer that a variable names. This command preloads the
//! sanitizer's runtime into the test processes, one for each test. Programs with a planted fault run first,
//! and each fault must be found.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, anyhow, bail};

use crate::setup::{self, Tools};
use crate::workspace;

/// Packages and test targets that run the programs.
const TARGETS: [(&str, &str); 2] = [("sdfg-codegen", "agreement"), ("sdfg-programs", "programs")];

/// The folder of the programs with planted faults, which are tests of the first target.
const FAULTS: &str = "crates/codegen/tests/agreement/faults";

/// The allocations that LeakSanitizer ignores.
const LEAKS: &str = "xtask/leaks.txt";

/// The Debian and Ubuntu packages of the sanitizers' runtimes, of Archer, and of the symbolizer.
const PACKAGES: [&str; 3] = ["libclang-rt-19-dev", "libomp-19-dev", "llvm-19"];

/// The dynamic loader. Archer and the runtimes exist for Linux only.
const LOADER: &str =
    if cfg!(target_arch = "aarch64") { "/lib/ld-linux-aarch64.so.1" } else { "/lib64/ld-linux-x86-64.so.2" };

/// A sanitizer, with the environment of a process under it.
struct Sanitizer<'n> {
    name: &'n str,
    /// The libraries to preload.
    preload: String,
    variables: Vec<(&'static str, String)>,
}

/// A test, and the executable that contains it.
struct Test {
    executable: PathBuf,
    /// The working directory that cargo would use.
    folder: PathBuf,
    name: String,
}

/// Runs the programs whose names contain one of the words after `--programs`, or all programs.
///
/// # Errors
/// If a tool is missing, options are wrong, a planted fault is not found, or a report without a planted fault is.
pub(crate) fn run(options: &[&str]) -> Result<()> {
    let (sanitizers, words) = read(options)?;
    let tools = setup::run()?;
    setup::install_missing(&PACKAGES, || runtimes(&tools).is_ok())?;
    let (runtimes, archer) = runtimes(&tools)?;
    let tests = build(&tools)?;
    let mut failed = Vec::new();
    for name in sanitizers {
        let sanitizer = Sanitizer::new(name, &tools, &runtimes, &archer);
        println!("\n==> {name}");
        let found = planted(&sanitizer, &tests)?;
        let is_chosen = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word));
        let chosen: Vec<&Test> =
            tests.iter().filter(|test| !test.name.starts_with("faults/") && is_chosen(&test.name)).collect();
        if chosen.is_empty() {
            bail!("no test has one of these words in its name: {}", words.join(", "));
        }
        let wrong = unclean(&sanitizer, &chosen)?;
        let clean = chosen.len() - wrong.len();
        println!(
            "{name}: {found} planted faults are found, {clean} tests are clean, {} are not",
            wrong.len()
        );
        failed.extend(wrong.into_iter().map(|test| format!("{test} ({name})")));
    }
    if failed.is_empty() { Ok(()) } else { bail!("not clean: {}", failed.join(", ")) }
}

fn read<'o>(options: &[&'o str]) -> Result<(Vec<&'o str>, Vec<&'o str>)> {
    let (mut sanitizers, mut words) = (Vec::new(), Vec::new());
    let mut options = options.iter();
    while let Some(option) = options.next() {
        match *option {
            "--programs" => {
                let list = options.next().context("--programs takes names, as in `laplace,query`")?;
                words.extend(list.split(',').filter(|word| !word.is_empty()));
            }
            "address" | "thread" => sanitizers.push(*option),
            other => bail!("`sanitize` knows no `{other}`; there are `address` and `thread`"),
        }
    }
    Ok((if sanitizers.is_empty() { vec!["address", "thread"] } else { sanitizers }, words))
}

/// The folder of the runtimes, and Archer.
fn runtimes(tools: &Tools) -> Result<(PathBuf, PathBuf)> {
    let folder = tools.llvm_libraries.join("clang/19/lib/linux");
    let archer = tools.llvm_libraries.join("libarcher.so");
    let names = ["asan", "tsan"].map(|name| folder.join(runtime(name)));
    let missing = names.iter().chain([&archer]).find(|file| !file.is_file()).cloned();
    match missing {
        None => Ok((folder, archer)),
        Some(file) => bail!(
            "there is no {}; it comes with LLVM 19's compiler-rt and OpenMP runtime (Debian and Ubuntu: apt-get install {})",
            file.display(),
            PACKAGES.join(" ")
        ),
    }
}

fn runtime(name: &str) -> String {
    format!("libclang_rt.{name}-{}.so", std::env::consts::ARCH)
}

impl<'n> Sanitizer<'n> {
    fn new(name: &'n str, tools: &Tools, runtimes: &Path, archer: &Path) -> Self {
        let symbolizer = tools.llvm_libraries.with_file_name("bin").join("llvm-symbolizer");
        // Some tests request more memory than exists, and expect an error.
        let common = format!("allocator_may_return_null=1:external_symbolizer_path={}", symbolizer.display());
        let preload = |name: &str| runtimes.join(runtime(name)).display().to_string();
        if name == "address" {
            let leaks =
                format!("print_suppressions=0:suppressions={}", workspace::root().join(LEAKS).display());
            let variables = vec![("ASAN_OPTIONS", common), ("LSAN_OPTIONS", leaks)];
            return Sanitizer { name, preload: preload("asan"), variables };
        }
        let options = [
            // Code without instrumentation, such as the compiler in the same process, is not checked.
            "ignore_noninstrumented_modules=1",
            // The threads of an OpenMP runtime live until the process ends.
            "report_thread_leaks=0",
            &common,
        ];
        Sanitizer {
            name,
            preload: format!("{} libomp.so.5", preload("tsan")),
            variables: vec![
                ("TSAN_OPTIONS", options.join(":")),
                ("OMP_TOOL_LIBRARIES", archer.display().to_string()),
                // Archer of LLVM 19 loses the end of teams inside teams if the runtime frees them at once: hand-written C
                // gets reports, too, and crashes. Teams that the runtime keeps have none, at every depth up to this one.
                ("KMP_HOT_TEAMS_MODE", "1".to_owned()),
                ("KMP_HOT_TEAMS_MAX_LEVEL", "8".to_owned()),
            ],
        }
    }

    fn run(&self, test: &Test) -> Result<Output> {
        // Unlike the variable LD_PRELOAD, this does not reach the linkers and compilers that tests start.
        let mut command = Command::new(LOADER);
        command.args(["--preload", &self.preload]).arg(&test.executable);
        command.args(["--exact", &test.name, "--nocapture"]).current_dir(&test.folder);
        command.env("SDFG_TEST_SANITIZER", self.name);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.output().with_context(|| format!("cannot run {}", test.executable.display()))
    }
}

/// Runs tests in parallel, one for each processor, and prints the reports. Returns the names of the tests with a report.
fn unclean(sanitizer: &Sanitizer<'_>, tests: &[&Test]) -> Result<Vec<String>> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<String>> {
        let mut wrong = Vec::new();
        while let Some(test) = tests.get(next.fetch_add(1, Ordering::Relaxed)) {
            let output = sanitizer.run(test)?;
            if !output.status.success() {
                println!("{}", text(&output));
                wrong.push(test.name.clone());
            }
        }
        Ok(wrong)
    };
    let workers = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let mut wrong = Vec::new();
        for worker in running {
            wrong.extend(worker.join().map_err(|_| anyhow!("a thread that runs tests has failed"))??);
        }
        wrong.sort();
        Ok(wrong)
    })
}

/// Runs the programs with faults that the sanitizer must find. Returns their number.
fn planted(sanitizer: &Sanitizer<'_>, tests: &[Test]) -> Result<usize> {
    let mut found = 0;
    for test in tests {
        let Some(program) = test.name.strip_prefix("faults/") else { continue };
        let path = workspace::root().join(FAULTS).join(format!("{program}.sdft"));
        let source = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let mark = format!("#! test sanitize {} ", sanitizer.name);
        let command = source.lines().find_map(|line| line.strip_prefix(&mark));
        let Some((_, expected)) = command.and_then(|rest| rest.split_once("-> ")) else { continue };
        let output = sanitizer.run(test)?;
        if output.status.success() || !text(&output).contains(expected) {
            println!("{}", text(&output));
            bail!("the fault of {} was not found: there is no `{expected}` in the above", path.display());
        }
        found += 1;
    }
    Ok(found)
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

/// Builds the test targets, and lists their tests.
fn build(tools: &Tools) -> Result<Vec<Test>> {
    let mut tests = Vec::new();
    for (package, target) in TARGETS {
        println!("==> building the tests `{target}` of {package}");
        let arguments =
            ["test", "--package", package, "--test", target, "--no-run", "--message-format", "json"];
        let mut command = tools.cargo(&arguments);
        command.stderr(std::process::Stdio::inherit());
        let output = command.output().context("cannot run cargo")?;
        if !output.status.success() {
            bail!("the tests `{target}` of {package} were not built");
        }
        let messages = String::from_utf8_lossy(&output.stdout);
        let (executable, manifest) = built(&messages, target)
            .with_context(|| format!("cargo does not say where it built the tests `{target}`"))?;
        let folder = manifest.parent().unwrap_or(Path::new("")).to_owned();
        // Tests of planted faults are listed for a sanitizer only.
        let mut list = Command::new(&executable);
        list.args(["--list", "--format", "terse"]).env("SDFG_TEST_SANITIZER", "address");
        let output = list.current_dir(&folder).output().context("cannot list the tests")?;
        let names = text(&output);
        tests.extend(names.lines().filter_map(|line| line.strip_suffix(": test")).map(|name| Test {
            executable: executable.clone(),
            folder: folder.clone(),
            name: name.trim().to_owned(),
        }));
    }
    Ok(tests)
}

/// The executable of a test target and the manifest of its package, from cargo's JSON messages, one on each line.
fn built(messages: &str, target: &str) -> Option<(PathBuf, PathBuf)> {
    let field = |line: &str, name: &str| {
        let (_, rest) = line.split_once(&format!("\"{name}\":\""))?;
        Some(rest.split_once('"')?.0.to_owned())
    };
    messages
        .lines()
        .filter(|line| {
            line.contains("\"kind\":[\"test\"]") && line.contains(&format!("\"name\":\"{target}\""))
        })
        .find_map(|line| Some((field(line, "executable")?.into(), field(line, "manifest_path")?.into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_name_sanitizers_and_programs() {
        assert_eq!(read(&[]).unwrap(), (vec!["address", "thread"], vec![]));
        let some = read(&["thread", "--programs", "laplace,query"]).unwrap();
        assert_eq!(some, (vec!["thread"], vec!["laplace", "query"]));
        assert!(read(&["memory"]).is_err() && read(&["--programs"]).is_err());
    }

    #[test]
    fn cargo_tells_where_tests_are() {
        let messages = "{\"reason\":\"compiler-artifact\",\"manifest_path\":\"/a/Cargo.toml\",\
            \"target\":{\"kind\":[\"lib\"],\"name\":\"agreement\"},\"executable\":null}\n\
            {\"reason\":\"compiler-artifact\",\"manifest_path\":\"/b/Cargo.toml\",\
            \"target\":{\"kind\":[\"test\"],\"name\":\"agreement\"},\"executable\":\"/t/agreement-1\"}";
        assert_eq!(built(messages, "agreement"), Some(("/t/agreement-1".into(), "/b/Cargo.toml".into())));
        assert_eq!(built(messages, "programs"), None);
    }
}
