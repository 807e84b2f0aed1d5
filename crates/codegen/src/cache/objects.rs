//! Objects in the cache: their names, their stored form, and the eviction order.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::{Cache, EXTENSION, count_as_used, hex, put, remove};
use crate::llvm::{self, CompileOptions, LlvmError, Machine, llvm_version};
use crate::object::{Hazard, ObjectCode, Requirements};
use crate::plan::Plan;

/// Bits of the byte before an object that says what it needs.
const OPENMP: u8 = 1;
const RUNTIME: u8 = 2;
const VECTOR_MATHEMATICS: u8 = 4;
const PROFILE: u8 = 8;
const PROCESSOR: u8 = 16;

/// Magic bytes of an object in the cache; a change of the layout below changes them.
pub(super) const MAGIC: &[u8] = b"sdfg object 2\n";

/// After so long, nobody writes a file any more.
pub(super) const ABANDONED: Duration = Duration::from_secs(3600);

/// Above so many bytes, the objects that were not used for the longest time are removed.
pub(super) const LIMIT: u64 = 1 << 30;

impl Cache {
    /// Compiles a plan, or takes what it was compiled to before.
    ///
    /// # Errors
    /// As [`llvm::compile`].
    pub fn compile(&self, plan: &Plan, options: &CompileOptions) -> Result<ObjectCode, LlvmError> {
        let path = self.path_of(plan, options)?;
        if let Some(object) = self.read(&path, plan, options)? {
            return Ok(object);
        }
        let mut object = llvm::compile(plan, options)?;
        object.requirements.source_cache = Some(self.folder.clone());
        // Without a cache, the next run compiles again.
        let _ = self.store(&path, &object);
        Ok(object)
    }

    /// The code that a plan was compiled to before, if the cache has it.
    ///
    /// # Errors
    /// If the options or the plan are wrong, as of [`llvm::compile`].
    pub fn find(&self, plan: &Plan, options: &CompileOptions) -> Result<Option<ObjectCode>, LlvmError> {
        self.read(&self.path_of(plan, options)?, plan, options)
    }

    fn path_of(&self, plan: &Plan, options: &CompileOptions) -> Result<PathBuf, LlvmError> {
        Ok(self.folder.join(format!("{}.{EXTENSION}", name(plan, options)?)))
    }

    /// The object of a plan in a file.
    fn read(
        &self,
        path: &Path,
        plan: &Plan,
        options: &CompileOptions,
    ) -> Result<Option<ObjectCode>, LlvmError> {
        let Some((needs, files)) = read(path) else { return Ok(None) };
        let requirements = Requirements {
            openmp: needs & OPENMP != 0,
            runtime: needs & RUNTIME != 0,
            profile: needs & PROFILE != 0,
            processor: needs & PROCESSOR != 0,
            vector_mathematics: needs & VECTOR_MATHEMATICS != 0,
            sanitizer: options.sanitizer,
            externals: plan.externals.clone(),
            source_level: options.level.of_sources(),
            source_cache: Some(self.folder.clone()),
        };
        let hazard = Some(Hazard::UnknownProgram);
        Ok(Some(ObjectCode { interface: plan.interface()?, files, requirements, hazard }))
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
        for file in &object.files {
            payload.extend_from_slice(&(file.len() as u64).to_le_bytes());
            payload.extend_from_slice(file);
        }
        put(&self.folder, path, &[MAGIC, &Sha256::digest(&payload), &payload])?;
        self.trim(LIMIT)
    }

    /// Removes the objects that were not used for the longest time, until the others take no more than so many bytes, and what
    /// killed writers left behind.
    pub(super) fn trim(&self, limit: u64) -> io::Result<()> {
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

/// The requirements of the objects in a file, and the objects; `None` if it is missing or damaged.
fn read(path: &Path) -> Option<(u8, Vec<Vec<u8>>)> {
    let bytes = std::fs::read(path).ok()?;
    let (hash, payload) = bytes.strip_prefix(MAGIC)?.split_at_checked(Sha256::output_size())?;
    if Sha256::digest(payload).as_slice() != hash {
        return None;
    }
    let (needs, mut rest) = payload.split_first()?;
    let mut files = Vec::new();
    while let Some((length, behind)) = rest.split_first_chunk() {
        let (file, behind) = behind.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        files.push(file.to_vec());
        rest = behind;
    }
    if files.is_empty() || !rest.is_empty() {
        return None;
    }
    count_as_used(path);
    Some((*needs, files))
}

/// A hash of everything that the object of a plan depends on.
pub(super) fn name(plan: &Plan, options: &CompileOptions) -> Result<String, LlvmError> {
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
