//! One compilation that all ranks share.
//!
//! Rank 0 compiles the program into a cache, and the others load it from there. Without a cache of the user, a folder of rank 0
//! is one until all have loaded the code. A rank that does not find the code compiles it itself: its folder is another one, or
//! its processor has other features.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use sdfg_codegen::cache::Cache;
use sdfg_codegen::load::Library;
use sdfg_codegen::mpi::Context;
use tempfile::TempDir;

use crate::failure::Failure;
use crate::native::{Lowered, NativeOptions};
use crate::terminal::Terminal;

/// The value of this rank, if all ranks have one. Otherwise, every rank fails with the largest status of all; rank 0 with its own
/// failure, if that is one.
pub(super) fn agreed<T>(context: &mut Context, value: Result<T, Failure>) -> Result<T, Failure> {
    agreed_beside(context, value, || None)
}

/// As [`agreed`], where other ranks prepare something else at the same time. If they fail and this rank does not, `other` is its own
/// failure to prepare that, if it has one: what is wrong for all ranks is told with its place, and not as a failure of one.
fn agreed_beside<T>(
    context: &mut Context,
    value: Result<T, Failure>,
    other: impl FnOnce() -> Option<Failure>,
) -> Result<T, Failure> {
    let failure = value.as_ref().err().map(Failure::message);
    let Err(agreement) = context.agree(failure.as_deref()) else { return value };
    let own = value.err();
    let status = own.as_ref().map_or(0.0, |failure| f64::from(failure.exit_status()));
    let status = context.largest(status).map_err(Failure::program)?;
    // Only rank 0 shows a failure, which has its place and help, too.
    let own = own.or_else(|| if context.rank() == 0 { other() } else { None });
    Err(own.unwrap_or_else(|| Failure::program(agreement)).with_exit_status(status as u8))
}

/// The code of a lowered program that all ranks run.
pub(super) struct SharedCode<'n> {
    pub(super) native: &'n NativeOptions,
    pub(super) lowered: &'n Lowered,
    pub(super) terminal: Terminal,
}

impl SharedCode<'_> {
    /// Loads the code on every rank, and prepares the data of its number meanwhile: other ranks do that while rank 0 compiles.
    ///
    /// # Errors
    /// On all ranks if one fails. If rank 0 does not compile the program, no other rank tries to.
    pub(super) fn load_beside<D>(
        &self,
        context: &mut Context,
        data: impl Fn(usize) -> Result<D, Failure>,
    ) -> Result<(Library, D), Failure> {
        let (cache, _folder) = self.cache(context)?;
        let rank = context.rank();
        if rank == 0 {
            let library = self
                .native
                .compile_in(self.lowered, cache.as_ref())
                .and_then(|object| self.native.open(&object));
            let library = agreed_beside(context, library, || data(rank).err())?;
            let data = agreed(context, data(rank))?;
            if context.largest(0.0).map_err(Failure::program)? > 0.0 {
                self.terminal.note(
                    "some ranks compiled the program themselves: they have another cache than rank 0, or other processors",
                );
            }
            return Ok((library, data));
        }
        let data = agreed(context, data(rank))?;
        let found = cache.as_ref().map_or(Ok(None), |cache| self.native.find(self.lowered, cache));
        let has_found = matches!(found, Ok(Some(_)));
        let object = found.and_then(|found| match found {
            Some(object) => Ok(object),
            None => self.native.compile_in(self.lowered, cache.as_ref()),
        });
        let library = agreed(context, object.and_then(|object| self.native.open(&object)))?;
        context.largest(if has_found { 0.0 } else { 1.0 }).map_err(Failure::program)?;
        Ok((library, data))
    }

    /// The cache of the user, or one in a folder of rank 0, which removes it when the answer is dropped.
    fn cache(&self, context: &mut Context) -> Result<(Option<Cache>, Option<TempDir>), Failure> {
        let cache = self.native.cache();
        // Some ranks may have one.
        if context.largest(if cache.is_some() { 0.0 } else { 1.0 }).map_err(Failure::program)? <= 0.0 {
            return Ok((cache, None));
        }
        let folder =
            if context.rank() == 0 { tempfile::Builder::new().prefix("sdfg-").tempdir().ok() } else { None };
        let path = folder.as_ref().map_or(&b""[..], |folder| folder.path().as_os_str().as_bytes());
        let path = context.broadcast(path).map_err(Failure::program)?;
        let shared = (!path.is_empty()).then(|| Cache::in_folder(OsStr::from_bytes(&path)));
        Ok((shared.or(cache), folder))
    }
}
