//! Tests for storing, sharing, repairing and evicting objects.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use sdfg::validate::validate;
use sha2::{Digest, Sha256};

use super::objects::{ABANDONED, LIMIT, MAGIC, name};
use super::{Cache, Contents, EXTENSION, UNFINISHED, put, unfinished};
use crate::llvm::{self, CompileOptions, OptLevel};
use crate::lower::{Instrumentation, LowerOptions, ProfileLevel, Target, lower};
use crate::object::Requirements;
use crate::plan::Plan;

const PROGRAM: &str = "sdfg p {
  symbol N: i64
  array A: f64[N]
  state s {
    access A
    map m [i = 0:N] {
      tasklet t () -> (o) { o = 1.0 }
      t.o -> m.A: A[i]
    }
    m.A -> A
  }
}";

fn plan(source: &str) -> Plan {
    let sdfg = sdfg::text::parse("p.sdft", source).unwrap();
    lower(&validate(sdfg).unwrap(), &Target::cpu(), &LowerOptions::default()).unwrap()
}

fn quick() -> CompileOptions {
    CompileOptions { level: OptLevel::Quick, ..CompileOptions::default() }
}

fn files(cache: &Cache) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = cache.entries().unwrap().into_iter().map(|entry| entry.path).collect();
    files.sort();
    files
}

#[test]
fn what_was_compiled_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::in_folder(folder.path().join("made/when/needed"));
    assert_eq!(cache.contents().unwrap(), Contents::default());
    let plan = plan(PROGRAM);
    let first = cache.compile(&plan, &quick()).unwrap();
    let [file] = &files(&cache)[..] else { panic!("one object") };
    // What is taken is what lies there: a change that is whole is believed.
    let mut payload = vec![0];
    payload.extend_from_slice(&11_u64.to_le_bytes());
    payload.extend_from_slice(b"other bytes");
    let changed = [MAGIC, Sha256::digest(&payload).as_slice(), &payload].concat();
    std::fs::write(file, changed).unwrap();
    let second = cache.compile(&plan, &quick()).unwrap();
    assert_eq!(
        (second.files.as_slice(), second.requirements.openmp),
        (&[b"other bytes".to_vec()][..], false)
    );
    assert!(first.requirements.openmp && first.interface == second.interface);
    // What is not whole is not.
    let whole = std::fs::read(file).unwrap();
    for length in [0, 5, MAGIC.len() + 7, whole.len() - 1] {
        std::fs::write(file, &whole[..length]).unwrap();
        assert_eq!(cache.compile(&plan, &quick()).unwrap().files, first.files);
    }
    assert_eq!(cache.contents().unwrap().objects, 1);
    assert_eq!(cache.clear().unwrap().objects, 1);
    assert_eq!(cache.contents().unwrap(), Contents::default());
}

/// Without it, what is taken from the cache could not be linked.
#[test]
fn what_an_object_needs_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::in_folder(folder.path());
    let streams = plan(
        "sdfg p {
  symbol N: i64
  array A: i64[N]
  array B: i64[N]
  transient stream S: i64
  state s {
    access A
    access S
    access B
    A -> S: A[0:N] -> S
    S -> B: S -> B[0:N]
  }
}",
    );
    let mathematics = plan(&PROGRAM.replace("i64[N]", "f64[N]").replace("1.0", "exp(i / N)"));
    let fast = CompileOptions { floats: Some(sdfg::ir::FloatMode::Fast), ..CompileOptions::default() };
    let timers = Instrumentation { level: ProfileLevel::Program, counters: false };
    let timed = LowerOptions { instrumentation: Some(timers), ..LowerOptions::default() };
    let program = validate(sdfg::text::parse("p.sdft", PROGRAM).unwrap()).unwrap();
    let timed = lower(&program, &Target::cpu(), &timed).unwrap();
    let mut needs = Vec::new();
    for plan in [&streams, &mathematics, &timed] {
        let first = cache.compile(plan, &fast).unwrap();
        let second = cache.compile(plan, &fast).unwrap();
        assert_eq!(first.requirements, second.requirements);
        let Requirements { runtime, profile, processor, vector_mathematics, .. } = second.requirements;
        assert!(!processor);
        needs.push([runtime, vector_mathematics, profile]);
    }
    assert_eq!(needs, [[true, false, false], [false, true, false], [false, false, true]]);
    assert_eq!(cache.contents().unwrap().objects, 3);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn versions_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::in_folder(folder.path());
    let versions =
        |levels: &[llvm::Level]| CompileOptions { cpu: llvm::Cpu::levels(levels.iter().copied()), ..quick() };
    let several = versions(&[llvm::Level::V2, llvm::Level::V3]);
    let first = cache.compile(&plan(PROGRAM), &several).unwrap();
    let second = cache.compile(&plan(PROGRAM), &several).unwrap();
    assert!(second.requirements.processor && first.files == second.files);
    cache.compile(&plan(PROGRAM), &versions(&[llvm::Level::V2, llvm::Level::V4])).unwrap();
    assert_eq!(cache.contents().unwrap().objects, 2);
}

#[test]
fn everything_counts_but_the_name() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::in_folder(folder.path());
    let strict = CompileOptions { floats: Some(sdfg::ir::FloatMode::Strict), ..quick() };
    let other_processor = CompileOptions {
        cpu: llvm::Cpu::Named { name: "generic".into(), features: String::new() },
        ..quick()
    };
    let mut objects = Vec::new();
    for (source, options) in [
        (PROGRAM.to_owned(), quick()),
        (PROGRAM.replace("1.0", "2.0"), quick()),
        (PROGRAM.replace("A[i]", "A[N - 1 - i]"), quick()),
        (PROGRAM.to_owned(), strict),
        (PROGRAM.to_owned(), other_processor),
        (PROGRAM.to_owned(), CompileOptions { parallel_threshold: 1, ..quick() }),
        (PROGRAM.to_owned(), CompileOptions { sanitizer: Some(llvm::Sanitizer::Address), ..quick() }),
        (PROGRAM.to_owned(), CompileOptions { sanitizer: Some(llvm::Sanitizer::Thread), ..quick() }),
    ] {
        objects.push(name(&plan(&source), &options).unwrap());
    }
    let again = name(&plan(PROGRAM), &quick()).unwrap();
    assert_eq!(objects[0], again);
    objects.sort();
    objects.dedup();
    assert_eq!(objects.len(), 8);
    assert!(files(&cache).is_empty());
}

#[test]
fn a_folder_that_cannot_be_used_changes_nothing() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let cache = Cache::in_folder(file.path());
    assert!(!cache.compile(&plan(PROGRAM), &quick()).unwrap().files.is_empty());
    assert!(cache.contents().is_err());
}

/// A writer that is killed cannot remove what it began.
#[test]
fn what_killed_writers_leave_is_counted_and_cleared() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::in_folder(folder.path());
    let (prefix, suffix) = UNFINISHED;
    let new = |name: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, b"half").unwrap();
        path
    };
    let (left, other) = (new(&format!("{prefix}a{suffix}")), new(".tmpa"));
    assert_eq!(cache.contents().unwrap(), Contents { objects: 0, unfinished: 1, bytes: 4 });
    // Somebody may still be writing it, until it is old.
    cache.trim(LIMIT).unwrap();
    assert!(left.exists());
    let old = SystemTime::now() - 2 * ABANDONED;
    std::fs::File::options().append(true).open(&left).unwrap().set_modified(old).unwrap();
    cache.trim(LIMIT).unwrap();
    assert!(!left.exists());
    let left = new(&format!("{prefix}b{suffix}"));
    assert_eq!(cache.clear().unwrap(), Contents { objects: 0, unfinished: 1, bytes: 4 });
    assert!(!left.exists() && other.exists());
    // The names are those of what is written.
    let writing = unfinished(folder.path()).unwrap();
    assert_eq!(cache.contents().unwrap().unfinished, 1);
    drop(writing);
    // A writer that fails removes what it began.
    assert!(put(folder.path(), &folder.path().join("none/object"), &[b"x"]).is_err());
    assert_eq!(cache.contents().unwrap(), Contents::default());
}

#[test]
fn many_threads_share_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::in_folder(folder.path());
    let expected = llvm::compile(&plan(PROGRAM), &quick()).unwrap().files;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5 {
                    assert_eq!(cache.compile(&plan(PROGRAM), &quick()).unwrap().files, expected);
                    cache.clear().unwrap();
                }
            });
        }
    });
}

#[test]
fn what_was_used_last_stays() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::in_folder(folder.path());
    for value in ["1.0", "2.0", "3.0"] {
        cache.compile(&plan(&PROGRAM.replace("1.0", value)), &quick()).unwrap();
    }
    let old = SystemTime::now() - Duration::from_secs(1000);
    for path in files(&cache) {
        std::fs::File::options().append(true).open(path).unwrap().set_modified(old).unwrap();
    }
    let kept = plan(&PROGRAM.replace("1.0", "2.0"));
    cache.compile(&kept, &quick()).unwrap();
    let size = cache.contents().unwrap().bytes / 3;
    cache.trim(size + size / 2).unwrap();
    let name = format!("{}.{EXTENSION}", name(&kept, &quick()).unwrap());
    assert_eq!(files(&cache), [folder.path().join(name)]);
}
