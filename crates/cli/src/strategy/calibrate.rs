//! `sdfg strategy --calibrate`: measures this machine and writes the file that `--machine` reads.
//!
//! The rates are those of compiled SDFGs, so they do not depend on the build of this command. The link is the
//! link between two threads, or between the ranks that a launcher of MPI started. This module is separate from the search, which reads no clock and queries no
//! machine.

mod cache;
mod link;
mod processors;
mod ranks;
mod rates;

use std::num::NonZeroUsize;
use std::path::Path;

use link::Link;
use ranks::Measured;
use rates::Rates;
use sdfg_codegen::mpi::ranks_of_environment;
use sdfg_transforms::strategy::model::Machine;

use crate::failure::Failure;

/// Number of repetitions of each measurement. The best one counts, because other work on the machine only
/// makes it slower.
const ROUNDS: usize = 5;

/// Measures this machine with so many ranks, without a number with one for each processor. Under MPI, the ranks are those that run
/// this command, and only the first one has a file.
pub(super) fn machine_file(ranks: Option<u32>) -> Result<Option<String>, Failure> {
    if let Some((_, started)) = ranks_of_environment().filter(|(_, started)| *started > 1) {
        if ranks.is_some_and(|ranks| ranks as usize != started) {
            return Err(Failure::usage(format_args!(
                "MPI started {started} ranks, which are those measured"
            ))
            .at("-p")
            .help("leave out the number, or start as many"));
        }
        let Measured { rank, threads, rates, link } = ranks::measure()?;
        return if rank == 0 { text(MPI, (started, threads), &rates, &link).map(Some) } else { Ok(None) };
    }
    let n_processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let ranks = match ranks {
        Some(ranks) if ranks == 0 || ranks as usize > n_processors => {
            return Err(Failure::usage(format_args!(
                "{ranks} ranks cannot be measured: there are {n_processors} processors here, and a rank is one"
            ))
            .at("-p")
            .help("measure as many as there are, and write another number into the file"));
        }
        Some(ranks) => ranks as usize,
        None => n_processors,
    };
    let threads = u32::try_from(n_processors / ranks).unwrap_or(u32::MAX);
    text(THREADS, (ranks, threads), &rates::measure(ranks, threads)?, &link::measure()).map(Some)
}

/// The text of a file with the method of its measurements.
fn text(how: &str, (ranks, threads): (usize, u32), rates: &Rates, link: &Link) -> Result<String, Failure> {
    let machine = Machine {
        ranks: u32::try_from(ranks).unwrap_or(u32::MAX),
        operations_per_second: plausible("operations_per_second", rates.operations_per_second, 1e6..1e14)?,
        memory_bytes_per_second: plausible(
            "memory_bytes_per_second",
            rates.memory_bytes_per_second,
            1e6..1e14,
        )?,
        link_bytes_per_second: plausible("link_bytes_per_second", link.bytes_per_second, 1e6..1e14)?,
        latency_seconds: plausible("latency_seconds", link.latency_seconds, 1e-10..1.0)?,
        threads,
        cache_bytes: cache::bytes_of_thread(Path::new(cache::OF_FIRST_PROCESSOR))
            .unwrap_or(Machine::default().cache_bytes),
    };
    machine.check().map_err(Failure::program)?;
    Ok(format!("{how}{}", machine.to_toml()))
}

/// The method of the measurements with threads, for readers of the file.
const THREADS: &str = "\
# Measured by `sdfg strategy --calibrate`: the best of five rounds, three digits.
# Operations: products and sums of f64 on 8 KiB, compiled, all threads of all ranks at once; the slowest thread, times the threads of a rank.
# Memory: B[i] = 0.5 * A[i] + C[i] on 96 MiB of f64 for each thread, in the same way, 24 bytes each.
# Link: copying 1 MiB that another thread wrote; half the way of 8 bytes to that thread and back.
# Cache: the share of a processor in its second-level cache, as the system tells it.
# Between the nodes of a cluster these two are others: measure them under `mpirun`.
";

/// The same with ranks of MPI.
const MPI: &str = "\
# Measured by `sdfg strategy --calibrate` with ranks of MPI, three digits.
# Operations: products and sums of f64 on 8 KiB, compiled, all threads of all ranks at once; the best of five rounds, the slowest rank.
# Memory: B[i] = 0.5 * A[i] + C[i] on 96 MiB of f64 for each thread, in the same way, 24 bytes each.
# Link: least squares over messages of 8 bytes to 4 MiB, rank r and rank ranks - 1 - r with each other, all at once, medians of 51.
# Cache: the share of a processor in its second-level cache, as the system tells it.
# Threads: the processors that a rank may run on, divided by the ranks that share them.
";

/// A number with three digits, if a machine can be like that.
fn plausible(key: &'static str, value: f64, bounds: std::ops::Range<f64>) -> Result<f64, Failure> {
    let rounded = format!("{value:.2e}").parse().unwrap_or(f64::NAN);
    if bounds.contains(&rounded) {
        return Ok(rounded);
    }
    Err(Failure::program(format_args!(
        "`{key}` came out as {value:e}, which is not between {:e} and {:e}",
        bounds.start, bounds.end
    ))
    .help("measure again while the machine does nothing else, or write the file by hand"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_make_sense() {
        assert_eq!(plausible("latency_seconds", 1.234_567e-7, 1e-10..1.0).ok(), Some(1.23e-7));
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY, 2.0] {
            assert!(plausible("latency_seconds", wrong, 1e-10..1.0).is_err(), "{wrong}");
        }
    }
}
