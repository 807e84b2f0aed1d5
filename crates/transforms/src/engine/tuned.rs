//! The record of tuning in a chain.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The measurement that selected the parameters of a chain. It is a remark for readers: replay ignores it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tuned {
    /// Values of symbols in the measured runs.
    pub sizes: BTreeMap<String, i64>,
    /// The processor, as the system names it.
    pub processor: String,
    /// Options of compilation and of the runs, as on the command line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Median seconds of a run with the parameters before.
    pub seconds_before: f64,
    /// Median seconds of a run with the parameters of this chain.
    pub seconds: f64,
    /// Median, over turns of both, of the time with these parameters divided by the time with those before.
    pub ratio: f64,
}

impl fmt::Display for Tuned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tuned { sizes, processor, options, seconds_before, seconds, ratio } = self;
        let sizes: Vec<String> = sizes.iter().map(|(symbol, value)| format!("{symbol}={value}")).collect();
        let sizes = if sizes.is_empty() { String::new() } else { format!(" for {}", sizes.join(" ")) };
        let options = if options.is_empty() { String::new() } else { format!(" with {}", options.join(" ")) };
        let (before, after) = (seconds_before * 1e3, seconds * 1e3);
        write!(f, "tuned{sizes} on {processor}{options}: {before:.3} ms to {after:.3} ms, ratio {ratio:.3}")
    }
}
