//! Compiled objects kept from one run to the next, found by their content.
//!
//! The name of an object is a hash of everything that its bytes depend on: the plan, every option, the processor with its
//! features, LLVM's version, and the compiler itself. So nothing is ever out of date, and two programs of one name do not
//! meet. Objects appear under their names whole or not at all, and carry a hash of their own, so that processes may share
//! a folder, and what was damaged is compiled again. A cache that cannot be read or written is as good as none: it makes
//! compilation slower, never wrong and never fail.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

use crate::link::EXTERNAL_EXTENSION;
use crate::llvm::{self, CompileOptions, LlvmError, Machine, llvm_version};
use crate::object::{Hazard, ObjectCode, Requirements};
use crate::plan::Plan;

/// Bits of the byte before an object that says what it needs.
const OPENMP: u8 = 1;
const RUNTIME: u8 = 2;
const VECTOR_MATHEMATICS: u8 = 4;
const PROFILE: u8 = 8;
const PROCESSOR: u8 = 16;

/// What an object in a cache begins with: a change of the layout below changes it.
const MAGIC: &[u8] = b"sdfg object 1\n";

/// What names of objects end with; nothing else in the folder is touched but what C++ of external tasklets was compiled to.
const EXTENSION: &str = "sdfg-object";

/// How names of files begin that are being written, and end: what a writer that was killed leaves behind is known by that.
const UNFINISHED: (&str, &str) = (".sdfg-", ".unfinished");

/// After so long, nobody writes a file any more.
const ABANDONED: Duration = Duration::from_secs(3600);

/// Above so many bytes, the objects that were not used for the longest time are removed.
const LIMIT: u64 = 1 << 30;

/// The variable that names the folder of the user's cache; empty for none.
pub const VARIABLE: &str = "SDFG_CACHE";

/// A folder of compiled objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    folder: PathBuf,
}

/// What a cache holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Number of objects.
    pub objects: u64,
    /// Number of files that are being written, or were when their writer was killed.
    pub unfinished: u64,
    /// The size of all of them on disk.
    pub bytes: u64,
}

impl Contents {
    fn add(&mut self, entry: &Entry) {
        *(if entry.is_unfinished { &mut self.unfinished } else { &mut self.objects }) += 1;
        self.bytes += entry.bytes;
    }
}

/// An object in the folder, or what becomes one.
struct Entry {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
    is_unfinished: bool,
}

impl Cache {
    /// The cache in a folder, which is made when the first object is put into it.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Cache { folder: folder.into() }
    }

    /// The user's cache: in the folder that [`VARIABLE`] names, else in `sdfg` in `$XDG_CACHE_HOME`, else in `~/.cache`.
    /// `None` if the variable is empty, or there is no home.
    pub fn of_user() -> Option<Self> {
        let folder = |variable: &str| std::env::var_os(variable).map(PathBuf::from);
        if let Some(folder) = folder(VARIABLE) {
            return (!folder.as_os_str().is_empty()).then(|| Cache::in_folder(folder));
        }
        let absolute = |path: PathBuf| path.is_absolute().then_some(path);
        let base = folder("XDG_CACHE_HOME").and_then(absolute);
        let base = base.or_else(|| Some(folder("HOME").and_then(absolute)?.join(".cache")));
        Some(Cache::in_folder(base?.join("sdfg")))
    }

    /// Where the objects are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Compiles a plan, or takes what it was compiled to before.
    ///
    /// # Errors
    /// As [`llvm::compile`].
    pub fn compile(&self, plan: &Plan, options: &CompileOptions) -> Result<ObjectCode, LlvmError> {
        let path = self.folder.join(format!("{}.{EXTENSION}", name(plan, options)?));
        if let Some((needs, bytes)) = read(&path) {
            let (openmp, runtime) = (needs & OPENMP != 0, needs & RUNTIME != 0);
            let vector_mathematics = needs & VECTOR_MATHEMATICS != 0;
            let externals = plan.externals.clone();
            let (profile, processor) = (needs & PROFILE != 0, needs & PROCESSOR != 0);
            let sanitizer = options.sanitizer;
            let requirements = Requirements {
                openmp,
                runtime,
                profile,
                processor,
                vector_mathematics,
                sanitizer,
                externals,
                source_level: options.level.of_sources(),
                source_cache: Some(self.folder.clone()),
            };
            let hazard = Some(Hazard::UnknownProgram);
            return Ok(ObjectCode { interface: plan.interface()?, bytes, requirements, hazard });
        }
        let mut object = llvm::compile(plan, options)?;
        object.requirements.source_cache = Some(self.folder.clone());
        // Without a cache, the next run compiles again.
        let _ = self.store(&path, &object);
        Ok(object)
    }

    /// What is in it now; nothing if the folder is not there.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn contents(&self) -> io::Result<Contents> {
        let mut contents = Contents::default();
        self.entries()?.iter().for_each(|entry| contents.add(entry));
        Ok(contents)
    }

    /// Removes every object, and what is unfinished; the answer is what there was. A process that is writing an object just now does not keep it.
    ///
    /// # Errors
    /// When the folder cannot be read, or an object not be removed.
    pub fn clear(&self) -> io::Result<Contents> {
        let mut removed = Contents::default();
        for entry in self.entries()? {
            remove(&entry.path)?;
            removed.add(&entry);
        }
        Ok(removed)
    }

    fn entries(&self) -> io::Result<Vec<Entry>> {
        let folder = match self.folder.read_dir() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            folder => folder?,
        };
        let mut entries = Vec::new();
        for entry in folder {
            let path = entry?.path();
            let is_unfinished = is_unfinished(&path);
            let is_object =
                path.extension().is_some_and(|found| found == EXTENSION || found == EXTERNAL_EXTENSION);
            if !is_object && !is_unfinished {
                continue;
            }
            // Another process may have removed it meanwhile.
            if let Ok(metadata) = path.metadata() {
                let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                entries.push(Entry { path, bytes: metadata.len(), used, is_unfinished });
            }
        }
        Ok(entries)
    }

    fn store(&self, path: &Path, object: &ObjectCode) -> io::Result<()> {
        let Requirements { openmp, runtime, profile, processor, vector_mathematics, .. } =
            object.requirements;
        let mut payload = vec![
            (u8::from(openmp) * OPENMP)
                | (u8::from(runtime) * RUNTIME)
                | (u8::from(vector_mathematics) * VECTOR_MATHEMATICS)
                | (u8::from(profile) * PROFILE)
                | (u8::from(processor) * PROCESSOR),
        ];
        payload.extend_from_slice(&object.bytes);
        put(&self.folder, path, &[MAGIC, &Sha256::digest(&payload), &payload])?;
        self.trim(LIMIT)
    }

    /// Removes the objects that were not used for the longest time, until the others take no more than so many bytes, and what
    /// killed writers left behind.
    fn trim(&self, limit: u64) -> io::Result<()> {
        let mut entries = self.entries()?;
        entries.sort_by(|a, b| (b.used, &b.path).cmp(&(a.used, &a.path)));
        let mut total = 0_u64;
        for entry in entries {
            if entry.is_unfinished {
                if entry.used.elapsed().is_ok_and(|age| age > ABANDONED) {
                    remove(&entry.path)?;
                }
                continue;
            }
            total = total.saturating_add(entry.bytes);
            if total > limit {
                remove(&entry.path)?;
            }
        }
        Ok(())
    }
}

/// An empty file that will be one of the folder.
fn unfinished(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let (prefix, suffix) = UNFINISHED;
    tempfile::Builder::new().prefix(prefix).suffix(suffix).tempfile_in(folder)
}

/// Whether a file has a name of those that are being written.
fn is_unfinished(path: &Path) -> bool {
    let (prefix, suffix) = UNFINISHED;
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with(prefix) && name.ends_with(suffix))
}

fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// What the object in a file needs, and the object; `None` if it is not there or not whole.
fn read(path: &Path) -> Option<(u8, Vec<u8>)> {
    let bytes = std::fs::read(path).ok()?;
    let (hash, payload) = bytes.strip_prefix(MAGIC)?.split_at_checked(Sha256::output_size())?;
    if Sha256::digest(payload).as_slice() != hash {
        return None;
    }
    let (needs, object) = payload.split_first()?;
    count_as_used(path);
    Some((*needs, object.to_vec()))
}

/// Writes a file of a folder, whole or not at all, also where other processes write the same one. The folder is made if it is not there.
pub(crate) fn put(folder: &Path, path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut file = unfinished(folder)?;
    for part in parts {
        file.write_all(part)?;
    }
    file.persist(path).map(|_| ()).map_err(|error| error.error)
}

/// Notes that a file was used now. Where that cannot be noted, it is removed earlier.
pub(crate) fn count_as_used(path: &Path) {
    if let Ok(file) = std::fs::File::options().append(true).open(path) {
        let _ = file.set_modified(SystemTime::now());
    }
}

/// A hash as a file's name.
pub(crate) fn hex(hash: Sha256) -> String {
    let mut name = String::new();
    for byte in hash.finalize() {
        let _ = write!(name, "{byte:02x}");
    }
    name
}

/// A hash of everything that the object of a plan depends on.
fn name(plan: &Plan, options: &CompileOptions) -> Result<String, LlvmError> {
    let machine = Machine::new(options)?;
    let mut hash = Hash(Sha256::new());
    // Debug texts have every field, and quote texts, so that no two values look alike. A hash takes any text.
    let _ = write!(hash, "{:?}{:?}{options:?}", compiler(), llvm_version());
    let _ = write!(hash, "{:?}{:?}{plan:?}", machine.cpu(), machine.features());
    Ok(hex(hash.0))
}

/// The compiler as it runs: its version, and place, size and time of its file, which change with each build of it.
fn compiler() -> String {
    let version = env!("CARGO_PKG_VERSION");
    let file = std::env::current_exe().ok().and_then(|path| {
        let metadata = path.metadata().ok()?;
        Some((metadata.len(), metadata.modified().ok(), path))
    });
    format!("{version} {file:?}")
}

struct Hash(Sha256);

impl std::fmt::Write for Hash {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.update(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use sdfg::validate::validate;

    use super::*;
    use crate::llvm::OptLevel;
    use crate::lower::{Instrumentation, LowerOptions, ProfileLevel, Target, lower};

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
        payload.extend_from_slice(b"other bytes");
        let changed = [MAGIC, Sha256::digest(&payload).as_slice(), &payload].concat();
        std::fs::write(file, changed).unwrap();
        let second = cache.compile(&plan, &quick()).unwrap();
        assert_eq!((second.bytes.as_slice(), second.requirements.openmp), (&b"other bytes"[..], false));
        assert!(first.requirements.openmp && first.interface == second.interface);
        // What is not whole is not.
        let whole = std::fs::read(file).unwrap();
        for length in [0, 5, MAGIC.len() + 7, whole.len() - 1] {
            std::fs::write(file, &whole[..length]).unwrap();
            assert_eq!(cache.compile(&plan, &quick()).unwrap().bytes, first.bytes);
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
        let versions = |levels: &[llvm::Level]| CompileOptions {
            cpu: llvm::Cpu::levels(levels.iter().copied()),
            ..quick()
        };
        let several = versions(&[llvm::Level::V2, llvm::Level::V3]);
        let first = cache.compile(&plan(PROGRAM), &several).unwrap();
        let second = cache.compile(&plan(PROGRAM), &several).unwrap();
        assert!(second.requirements.processor && first.bytes == second.bytes);
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
        assert!(!cache.compile(&plan(PROGRAM), &quick()).unwrap().bytes.is_empty());
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
        let expected = llvm::compile(&plan(PROGRAM), &quick()).unwrap().bytes;
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..5 {
                        assert_eq!(cache.compile(&plan(PROGRAM), &quick()).unwrap().bytes, expected);
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
}
