//! Declarations for distributed programs, which run on the ranks of MPI.

use std::fmt::Write;

use crate::interface::{Interface, RankEntry, Ranks};
use crate::ranks::bound_parameters;

/// Further members of the configuration.
pub(super) const COMMUNICATOR: &str = concat!(
    "    int32_t communicator_kind; /* 0: MPI_COMM_WORLD, 1: MPI_Comm, 2: an int64_t with a handle of Fortran or mpi4py (comm.py2f()) */\n",
    "    const void *communicator;  /* points to that */\n"
);

/// Behind the description of `create`.
pub(super) const COLLECTIVE: &str = "All ranks of the communicator call it
 * together, with the same configuration. They also call each run together, with the same symbols. The function initialises MPI if
 * nobody has. A failure that other ranks cannot see ends all ranks. NULL as the handle of the error function gives the message of the
 * last failure here. ";

/// The functions that tell what a rank has.
pub(super) fn parts(interface: &Interface, ranks: &Ranks) -> String {
    let name = interface.name();
    let mut text = format!(
        "/* The program is divided over {} ranks; more ranks than that are idle. The caller's rank, and the number of ranks. */\n\
         int64_t {name}_rank(const {name}_t *handle);\nint64_t {name}_ranks(const {name}_t *handle);\n\n\
         /* Positions of a dimension of an argument, for the symbols of a run. The memory of the rank holds the positions from the local offset\n \
         * on, as many as the local extent, packed in row-major order: its own ones, and halos. -1 if there is no such dimension. */\n",
        ranks.least
    );
    for entry in RankEntry::BOUNDS {
        let _ = writeln!(text, "int64_t {name}{}({});", entry.suffix(), bound_parameters(interface));
    }
    text + "\n"
}

/// The run with whole arrays.
pub(super) fn run_whole(name: &str, parameters: &[String]) -> String {
    let with_handle = [format!("{name}_t *handle")].into_iter().chain(parameters.iter().cloned());
    format!(
        "/* The same with whole arrays of rank 0, which receives the results. The arguments of other ranks are ignored. */\n\
         int32_t {name}_run_whole(\n    {});\n\n",
        with_handle.collect::<Vec<_>>().join(",\n    ")
    )
}
