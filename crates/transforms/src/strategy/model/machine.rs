//! Machine description for the cost model: a few numbers with units, in a small TOML file.
//!
//! The file is written without a serialiser, so that it contains units as comments.

use sdfg::ir::Blocks;
use serde::Deserialize;

/// The machine of a strategy: equal ranks, each with its memory, and links between them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Number of ranks, at least 1.
    pub ranks: u32,
    /// Operations that a rank does in a second.
    pub operations_per_second: f64,
    /// Bytes that a rank reads from or writes to its memory in a second.
    pub memory_bytes_per_second: f64,
    /// Bytes that a rank receives from others in a second.
    pub link_bytes_per_second: f64,
    /// Seconds that a message takes on top of its bytes; may be 0.
    pub latency_seconds: f64,
    /// Threads of a rank, at least 1. Only the optimiser uses them.
    #[serde(default = "default_threads")]
    pub threads: u32,
    /// Bytes of the cache that a thread has for itself. Only the optimiser uses them.
    #[serde(default = "default_cache")]
    pub cache_bytes: f64,
}

fn default_threads() -> u32 {
    8
}

fn default_cache() -> f64 {
    1_048_576.0
}

impl Default for Machine {
    /// One node of a cluster per rank in round numbers: 100 Gflop/s, 20 GB/s from memory, 10 GB/s and 2 µs between ranks, 8 threads
    /// with 1 MiB of cache each. Nothing was measured.
    fn default() -> Self {
        Machine {
            ranks: 1,
            operations_per_second: 1e11,
            memory_bytes_per_second: 2e10,
            link_bytes_per_second: 1e10,
            latency_seconds: 2e-6,
            threads: default_threads(),
            cache_bytes: default_cache(),
        }
    }
}

/// Why a description of a machine is none.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MachineError {
    /// The file is no TOML, or a key is missing, unknown or of another type.
    #[error("the machine is not described as it should be: {0}")]
    Syntax(String),
    /// A number makes no sense.
    #[error("`{key}` is {value}; it has to be {wanted}")]
    Value {
        /// The error.
        key: &'static str,
        /// Its value.
        value: f64,
        /// The correct form.
        wanted: &'static str,
    },
}

impl Machine {
    /// Reads a description of a machine; all keys have to be there.
    ///
    /// # Errors
    /// If the text is no such description, with the line, or if a number makes no sense.
    pub fn parse(text: &str) -> Result<Self, MachineError> {
        let machine: Machine = toml::from_str(text).map_err(|e| MachineError::Syntax(e.to_string()))?;
        machine.check()?;
        Ok(machine)
    }

    /// Checks the numbers.
    ///
    /// # Errors
    /// If there is no rank or there are more than 65536, a rate is not positive and finite, or the latency is negative or infinite.
    pub fn check(&self) -> Result<(), MachineError> {
        let wrong = |key, value, wanted| Err(MachineError::Value { key, value, wanted });
        if self.ranks == 0 {
            return wrong("ranks", 0.0, "at least 1");
        }
        if self.ranks > Blocks::MOST_PROCESSES {
            return wrong("ranks", f64::from(self.ranks), "at most 65536");
        }
        if self.threads == 0 {
            return wrong("threads", 0.0, "at least 1");
        }
        for (key, value) in [
            ("operations_per_second", self.operations_per_second),
            ("memory_bytes_per_second", self.memory_bytes_per_second),
            ("link_bytes_per_second", self.link_bytes_per_second),
            ("cache_bytes", self.cache_bytes),
        ] {
            if !(value.is_finite() && value > 0.0) {
                return wrong(key, value, "positive and finite");
            }
        }
        if !(self.latency_seconds.is_finite() && self.latency_seconds >= 0.0) {
            return wrong("latency_seconds", self.latency_seconds, "finite and not negative");
        }
        Ok(())
    }

    /// The description as a file, with units; reading it gives the same machine.
    pub fn to_toml(&self) -> String {
        format!(
            "# A machine for `--machine FILE` of `sdfg strategy`, `distribute` and `optimize`. All ranks are alike.\n\
             ranks = {}\n\
             operations_per_second = {:?} # of one rank\n\
             memory_bytes_per_second = {:?} # read or written by one rank\n\
             link_bytes_per_second = {:?} # received by one rank\n\
             latency_seconds = {:?} # of one message, on top of its bytes\n\
             threads = {} # of one rank\n\
             cache_bytes = {:?} # of one thread\n",
            self.ranks,
            self.operations_per_second,
            self.memory_bytes_per_second,
            self.link_bytes_per_second,
            self.latency_seconds,
            self.threads,
            self.cache_bytes
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_read_as_it_was_written() {
        let odd = Machine { ranks: 7, latency_seconds: 0.1 + 0.2, ..Machine::default() };
        for machine in [Machine::default(), odd] {
            assert_eq!(Machine::parse(&machine.to_toml()), Ok(machine));
        }
    }

    #[test]
    fn wrong_machines_are_refused_with_the_reason() {
        let text = Machine::default().to_toml();
        for (from, to, message) in [
            ("ranks = 1", "ranks = 0", "`ranks` is 0; it has to be at least 1"),
            ("ranks = 1", "ranks = 4294967295", "`ranks` is 4294967295; it has to be at most 65536"),
            ("= 20000000000.0", "= -1.0", "`memory_bytes_per_second` is -1"),
            ("= 10000000000.0", "= inf", "`link_bytes_per_second` is inf"),
            ("2e-6", "nan", "`latency_seconds` is NaN"),
            ("latency_seconds", "latency", "unknown field `latency`"),
            ("threads = 8", "threads = 0", "`threads` is 0; it has to be at least 1"),
            ("cache_bytes = 1", "cache_bytes = -1", "`cache_bytes` is -1"),
            ("ranks = 1", "", "missing field `ranks`"),
            ("ranks = 1", "ranks = many", "line 2"),
        ] {
            let error = Machine::parse(&text.replacen(from, to, 1)).expect_err(to).to_string();
            assert!(error.contains(message), "{to}: {error}");
        }
    }
}
