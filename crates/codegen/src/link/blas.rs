//! Search for a BLAS on this machine, for users who request one without naming it.

use std::process::{Command, Stdio};

use super::libraries;

/// Libraries that have the C interface of BLAS, the fast ones first.
const CANDIDATES: [&str; 6] = ["openblas", "mkl_rt", "blis", "cblas", "blas", "satlas"];

/// The library with the C interface of LAPACK where that of BLAS has it not.
const LAPACK: &str = "lapacke";

/// A BLAS, as linkers take the names of libraries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlasLibraries {
    /// The library with the functions `cblas_*`.
    pub blas: String,
    /// The library with the functions `LAPACKE_*`, which may be the same.
    pub lapack: String,
}

impl BlasLibraries {
    /// The first library of this machine that has the C interface of BLAS: one that `pkg-config` knows as `openblas`, `cblas` or `blas`, else one in the
    /// folders that linkers look into.
    pub fn find() -> Option<Self> {
        let known = ["openblas", "cblas", "blas"].into_iter().filter_map(by_package);
        let mut all = known.chain(CANDIDATES.map(str::to_owned));
        all.find(|name| holds(name, "cblas_dgemm")).map(Self::named)
    }

    /// A library by its name; LAPACK is that of the same library if it has one, else `lapacke`.
    pub fn named(blas: impl Into<String>) -> Self {
        let blas = blas.into();
        let lapack = if holds(&blas, "LAPACKE_dpotrf") { blas.clone() } else { LAPACK.to_owned() };
        BlasLibraries { blas, lapack }
    }

    /// Whether the library with the functions of LAPACK is on this machine.
    pub fn has_lapack(&self) -> bool {
        holds(&self.lapack, "LAPACKE_dpotrf")
    }
}

/// The first library that `pkg-config` tells to link with for a package.
fn by_package(package: &str) -> Option<String> {
    let mut command = Command::new("pkg-config");
    command.args(["--libs-only-l", package]).stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.split_whitespace().find_map(|word| word.strip_prefix("-l")).map(str::to_owned)
}

/// Whether a library is there and has a symbol, as the text of its names tells.
fn holds(library: &str, symbol: &str) -> bool {
    let Some(path) = libraries::find_by_link_name(library) else { return false };
    let Ok(bytes) = std::fs::read(path) else { return false };
    let name = [b"\0", symbol.as_bytes(), b"\0"].concat();
    bytes.windows(name.len()).any(|window| window == name)
}
