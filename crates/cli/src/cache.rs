//! `sdfg cache`: shows and clears cached object code.

use clap::Args;
use sdfg_codegen::cache::{Cache, Contents, VARIABLE};

use crate::failure::Failure;
use crate::output;

/// Show the location and size of cached code, or remove it. `run` and `compile` reuse code of the same program, options, processor
/// and compiler. Programs of `--target cuda` reuse their kernels.
#[derive(Args)]
#[command(
    name = "cache",
    after_help = "Examples:\n  sdfg cache\n  sdfg cache --clear\n\n\
                  The folder is $SDFG_CACHE, else $XDG_CACHE_HOME/sdfg, else ~/.cache/sdfg. An empty SDFG_CACHE, or \
                  --no-cache, turns it off. Above 1 GiB, the least recently used files are removed. \
                  Files are unfinished while they are written, and when their writer was killed."
)]
pub(crate) struct CacheCommand {
    /// Remove all cached code.
    #[arg(long)]
    clear: bool,
}

impl CacheCommand {
    pub(crate) fn execute(&self) -> Result<(), Failure> {
        let Some(cache) = Cache::of_user() else {
            return output::print(
                format!("there is no cache: {VARIABLE} is empty, or there is no HOME\n").as_bytes(),
            );
        };
        let folder = cache.folder().display();
        let result = if self.clear { cache.clear() } else { cache.contents() };
        let Contents { objects, unfinished, bytes } = result.map_err(|error| {
            Failure::usage(format_args!("cannot use the cache in `{folder}`: {error}"))
                .help(format_args!("name another folder with {VARIABLE}"))
        })?;
        let removed = if self.clear { " removed" } else { "" };
        let noun = if objects == 1 { "object" } else { "objects" };
        let left = match unfinished {
            0 => String::new(),
            1 => " and 1 unfinished file".to_owned(),
            _ => format!(" and {unfinished} unfinished files"),
        };
        output::print(format!("{folder}: {objects} {noun}{left}, {bytes} bytes{removed}\n").as_bytes())
    }
}
