//! PolyBench: statistics.

use sdfg::builder::SdfgBuilder;
use sdfg::dtype::ScalarType::F64;
use sdfg::validate::{Rejected, Validated, Warnings};

use super::{map, program, sum, tasklet};

/// Adds the means of the columns of `data`.
fn means(b: &mut SdfgBuilder) {
    let columns = [("j", "0:M")];
    map(b, "clear_mean", &columns, &[], "o = 0.0", &[("o", "mean[j]")]);
    sum(b, "sum_mean", &[("j", "0:M"), ("i", "0:N")], &[("d", "data[i, j]")], "o = d", "mean[j]");
    map(b, "divide_mean", &columns, &[("m", "mean[j]")], "o = m / f64(N)", &[("o", "mean[j]")]);
}

/// Correlation of the columns of a matrix.
pub(super) fn correlation() -> Result<(Validated, Warnings), Rejected> {
    let mut b = program("correlation", &["M", "N"], &[], &[("data", "N, M"), ("corr", "M, M")]);
    b.transient("mean", F64, ["M"]);
    b.transient("stddev", F64, ["M"]);
    means(&mut b);
    let columns = [("j", "0:M")];
    map(&mut b, "clear_deviation", &columns, &[], "o = 0.0", &[("o", "stddev[j]")]);
    sum(
        &mut b,
        "sum_deviation",
        &[("j", "0:M"), ("i", "0:N")],
        &[("d", "data[i, j]"), ("m", "mean[j]")],
        "o = (d - m) * (d - m)",
        "stddev[j]",
    );
    // A column of nearly equal values is not divided by its small deviation.
    let guarded = "r = sqrt(d / f64(N))\no = 1.0 if r <= 0.1 else r";
    map(&mut b, "deviation", &columns, &[("d", "stddev[j]")], guarded, &[("o", "stddev[j]")]);
    map(
        &mut b,
        "center",
        &[("i", "0:N"), ("j", "0:M")],
        &[("d", "data[i, j]"), ("m", "mean[j]"), ("s", "stddev[j]")],
        "o = (d - m) / (sqrt(f64(N)) * s)",
        &[("o", "data[i, j]")],
    );
    map(&mut b, "diagonal", &[("i", "0:M")], &[], "o = 1.0", &[("o", "corr[i, i]")]);
    let pairs = [("i", "0:M - 1"), ("j", "i + 1:M")];
    map(&mut b, "clear", &pairs, &[], "o = 0.0", &[("o", "corr[i, j]")]);
    sum(
        &mut b,
        "multiply",
        &[pairs[0], pairs[1], ("k", "0:N")],
        &[("a", "data[k, i]"), ("b", "data[k, j]")],
        "o = a * b",
        "corr[i, j]",
    );
    map(&mut b, "mirror", &pairs, &[("c", "corr[i, j]")], "o = c", &[("o", "corr[j, i]")]);
    b.build()
}

/// Covariance of the columns of a matrix.
pub(super) fn covariance() -> Result<(Validated, Warnings), Rejected> {
    let mut b = program("covariance", &["M", "N"], &[], &[("data", "N, M"), ("cov", "M, M")]);
    b.transient("mean", F64, ["M"]);
    means(&mut b);
    let centered = [("d", "data[i, j]"), ("m", "mean[j]")];
    let (cells, here) = ([("i", "0:N"), ("j", "0:M")], [("o", "data[i, j]")]);
    map(&mut b, "center", &cells, &centered, "o = d - m", &here);
    b.for_loop("rows", "i", "0:M", |b| {
        b.for_loop("columns", "j", "i:M", |b| {
            tasklet(b, "clear", &[], "o = 0.0", &[("o", "cov[i, j]")]);
            let factors = [("a", "data[k, i]"), ("b", "data[k, j]")];
            sum(b, "multiply", &[("k", "0:N")], &factors, "o = a * b", "cov[i, j]");
            tasklet(b, "divide", &[("c", "cov[i, j]")], "o = c / (f64(N) - 1.0)", &[("o", "cov[i, j]")]);
            tasklet(b, "mirror", &[("c", "cov[i, j]")], "o = c", &[("o", "cov[j, i]")]);
        });
    });
    b.build()
}
