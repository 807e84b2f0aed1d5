//! `sdfg mpi-library`: writes the library of communication that libraries of distributed programs load.

use std::path::Path;

use clap::Args;
use sdfg_codegen::cache::Cache;
use sdfg_codegen::link::write_file;
use sdfg_codegen::mpi::Mpi;

use crate::failure::Failure;
use crate::output::unwritten;

/// The file name that libraries of distributed programs look for, in their own folder first.
pub(crate) const MPI_LIBRARY: &str = "libsdfg_mpi.so";

/// Write the library of communication, which libraries of distributed programs load: it is compiled by the C compiler of this machine's MPI.
#[derive(Args)]
#[command(
    after_help = "The variable SDFG_MPICC names the compiler; the default is the first of mpicc, mpicc.openmpi and mpicc.mpich in PATH.\n\n\
                        Example:\n  sdfg mpi-library -o lib/libsdfg_mpi.so"
)]
pub(crate) struct MpiLibraryCommand {
    /// The output file.
    #[arg(long, short, value_name = "FILE", default_value = MPI_LIBRARY)]
    output: String,
}

impl MpiLibraryCommand {
    pub(crate) fn execute(&self) -> Result<(), Failure> {
        let mpi = Mpi::find().map_err(Failure::usage)?;
        write_mpi_library(&mpi, Path::new(&self.output))
    }
}

/// Writes the library of communication of an MPI.
pub(crate) fn write_mpi_library(mpi: &Mpi, path: &Path) -> Result<(), Failure> {
    let library = mpi.library(Cache::of_user().as_ref()).map_err(Failure::usage)?;
    let bytes = std::fs::read(library.path())
        .map_err(|error| Failure::usage(format_args!("cannot read {}: {error}", library.path().display())))?;
    write_file(path, &bytes).map_err(|error| unwritten(&error))
}
