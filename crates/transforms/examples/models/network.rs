//! Network layers as maps, one state each: the building blocks of the models.

use sdfg::builder::SdfgBuilder;
use sdfg::dtype::ScalarType::F64;
use sdfg::ir::ConflictResolution::{self, Max, Sum};

/// Declares symbols.
pub(crate) fn symbols(b: &mut SdfgBuilder, names: &[&str]) {
    for name in names {
        b.symbol(name);
    }
}

/// Declares arguments, as in `A[B, 3 * C]`.
pub(crate) fn arguments(b: &mut SdfgBuilder, arrays: &[&str]) {
    for (name, shape) in arrays.iter().map(|array| named(array)) {
        b.array(&name, F64, shape);
    }
}

/// Declares transients in the same way.
pub(crate) fn transients(b: &mut SdfgBuilder, arrays: &[&str]) {
    for (name, shape) in arrays.iter().map(|array| named(array)) {
        b.transient(&name, F64, shape);
    }
}

fn named(array: &str) -> (String, Vec<String>) {
    let (name, shape) = array.split_once('[').unwrap_or((array, "]"));
    (name.to_owned(), shape.trim_end_matches(']').split(", ").map(str::to_owned).collect())
}

/// A layer: in each iteration of a domain such as `b: B, k: 3 * C`, code that takes elements by name and gives `o`.
#[derive(Clone, Copy)]
pub(crate) struct Layer<'l> {
    pub(crate) name: &'l str,
    pub(crate) domain: &'l str,
    pub(crate) inputs: &'l [(&'l str, &'l str)],
    pub(crate) code: &'l str,
    /// Destination of `o`.
    pub(crate) output: &'l str,
}

impl Layer<'_> {
    /// Each iteration has an element of its own.
    pub(crate) fn each(&self, b: &mut SdfgBuilder) {
        self.add(b, None);
    }

    /// Iterations add to what is there.
    pub(crate) fn sum(&self, b: &mut SdfgBuilder) {
        self.add(b, Some(Sum));
    }

    /// The greatest of what iterations give and what is there stays.
    pub(crate) fn greatest(&self, b: &mut SdfgBuilder) {
        self.add(b, Some(Max));
    }

    fn add(&self, b: &mut SdfgBuilder, resolution: Option<ConflictResolution>) {
        let dimensions = self.domain.split(", ").filter_map(|dimension| dimension.split_once(": "));
        let ranges: Vec<(&str, String)> =
            dimensions.map(|(name, size)| (name, format!("0:{size}"))).collect();
        b.state(self.name, |s| {
            s.map("layer", ranges, |s| {
                let mut tasklet = s.tasklet("f");
                for (connector, access) in self.inputs {
                    tasklet = tasklet.input(connector, *access);
                }
                tasklet = tasklet.output("o", self.output);
                if let Some(resolution) = resolution {
                    tasklet = tasklet.resolve(resolution);
                }
                tasklet.code(self.code);
            });
        });
    }
}

/// The softmax of `from[rows, k]` over `k` into `to`, in arrays that it declares; `rows` as in `b, n`, `domain` as in `b: B, n: N`, and
/// `shape` as in `B, N`.
pub(crate) fn softmax(
    b: &mut SdfgBuilder,
    name: &str,
    (domain, rows, shape): (&str, &str, &str),
    size: &str,
    (from, to): (&str, &str),
) {
    let state = |role: &str| format!("{name}_{role}");
    let (most, power, total) = (state("most"), state("power"), state("total"));
    transients(
        b,
        &[&format!("{most}[{shape}]"), &format!("{power}[{shape}, {size}]"), &format!("{total}[{shape}]")],
    );
    let all = format!("{domain}, i: {size}");
    let (from, to) = (format!("{from}[{rows}, i]"), format!("{to}[{rows}, i]"));
    let (at_most, at_power, at_total) =
        (format!("{most}[{rows}]"), format!("{power}[{rows}, i]"), format!("{total}[{rows}]"));
    Layer { name: &state("least"), domain, inputs: &[], code: "o = -1.0e30", output: &at_most }.each(b);
    let inputs = [("x", from.as_str())];
    Layer { name: &state("greatest"), domain: &all, inputs: &inputs, code: "o = x", output: &at_most }
        .greatest(b);
    let inputs = [("x", from.as_str()), ("m", &at_most)];
    Layer {
        name: &state("powers"),
        domain: &all,
        inputs: &inputs,
        code: "o = exp(x - m)",
        output: &at_power,
    }
    .each(b);
    Layer { name: &state("zero"), domain, inputs: &[], code: "o = 0.0", output: &at_total }.each(b);
    let inputs = [("x", at_power.as_str())];
    Layer { name: &state("sum"), domain: &all, inputs: &inputs, code: "o = x", output: &at_total }.sum(b);
    let inputs = [("x", at_power.as_str()), ("t", &at_total)];
    Layer { name: &state("divide"), domain: &all, inputs: &inputs, code: "o = x / t", output: &to }.each(b);
}
