//! Example programs whose maps are divided over ranks: machine learning, and a transform by transposes.

use sdfg::builder::SdfgBuilder;
use sdfg::dtype::ScalarType::{Complex128, F64, I64};
use sdfg::ir::ConflictResolution::{Max, Min, Sum};
use sdfg::validate::{Rejected, Validated, Warnings};

use super::polybench::{combine, map, sum};

/// Attention of `N` queries to `M` keys with their values: `O = softmax(Q Kᵀ / sqrt(D)) V`.
///
/// # Errors
/// Never, unless the builder or validation is wrong.
pub fn attention() -> Result<(Validated, Warnings), Rejected> {
    let mut b = SdfgBuilder::new("attention");
    for size in ["N", "M", "D"] {
        b.symbol(size);
    }
    b.array("Q", F64, ["N", "D"]);
    for name in ["K", "V"] {
        b.array(name, F64, ["M", "D"]);
    }
    b.array("O", F64, ["N", "D"]);
    b.transient("scores", F64, ["N", "M"]);
    b.transient("weights", F64, ["N", "M"]);
    b.transient("most", F64, ["N"]);
    b.transient("total", F64, ["N"]);
    let (i, j, k) = (("i", "0:N"), ("j", "0:M"), ("k", "0:D"));
    map(&mut b, "clear_scores", &[i, j], &[], "o = 0.0", &[("o", "scores[i, j]")]);
    let factors = [("a", "Q[i, k]"), ("b", "K[j, k]")];
    sum(&mut b, "score", &[i, j, k], &factors, "o = a * b", "scores[i, j]");
    map(&mut b, "clear_most", &[i], &[], "o = -1.0e300", &[("o", "most[i]")]);
    combine(&mut b, Max, "greatest", &[i, j], &[("s", "scores[i, j]")], "o = s", "most[i]");
    let relative = [("s", "scores[i, j]"), ("m", "most[i]")];
    map(&mut b, "weigh", &[i, j], &relative, "o = exp((s - m) / sqrt(f64(D)))", &[("o", "weights[i, j]")]);
    map(&mut b, "clear_total", &[i], &[], "o = 0.0", &[("o", "total[i]")]);
    sum(&mut b, "add", &[i, j], &[("w", "weights[i, j]")], "o = w", "total[i]");
    map(&mut b, "clear", &[i, k], &[], "o = 0.0", &[("o", "O[i, k]")]);
    let factors = [("w", "weights[i, j]"), ("v", "V[j, k]")];
    sum(&mut b, "mix", &[i, k, j], &factors, "o = w * v", "O[i, k]");
    let fraction = [("v", "O[i, k]"), ("t", "total[i]")];
    map(&mut b, "divide", &[i, k], &fraction, "o = v / t", &[("o", "O[i, k]")]);
    std::mem::replace(&mut b, SdfgBuilder::new("none")).build()
}

/// Convolution of `B` images of `C` channels with `K` filters of `R` by `R`, and a bias.
///
/// # Errors
/// Never, unless the builder or validation is wrong.
pub fn conv2d() -> Result<(Validated, Warnings), Rejected> {
    let mut b = SdfgBuilder::new("conv2d");
    for size in ["B", "C", "K", "H", "W", "R"] {
        b.symbol(size);
    }
    b.array("images", F64, ["B", "C", "H + R - 1", "W + R - 1"]);
    b.array("filters", F64, ["K", "C", "R", "R"]);
    b.array("bias", F64, ["K"]);
    b.array("result", F64, ["B", "K", "H", "W"]);
    let of_result = [("b", "0:B"), ("k", "0:K"), ("y", "0:H"), ("x", "0:W")];
    let result = "result[b, k, y, x]";
    map(&mut b, "begin", &of_result, &[("v", "bias[k]")], "o = v", &[("o", result)]);
    let [image, channel, row, column] = of_result;
    let domain = [image, channel, row, column, ("c", "0:C"), ("p", "0:R"), ("q", "0:R")];
    let factors = [("a", "images[b, c, y + p, x + q]"), ("f", "filters[k, c, p, q]")];
    sum(&mut b, "convolve", &domain, &factors, "o = a * f", result);
    b.build()
}

/// Lloyd's algorithm: `T` times, each of `N` points in `D` dimensions is assigned to the first of the nearest of `K` centroids, and each centroid
/// that has points moves to their mean.
///
/// # Errors
/// Never, unless the builder or validation is wrong.
pub fn kmeans() -> Result<(Validated, Warnings), Rejected> {
    let mut b = SdfgBuilder::new("kmeans");
    for size in ["N", "K", "D", "T"] {
        b.symbol(size);
    }
    b.array("points", F64, ["N", "D"]);
    b.array("centroids", F64, ["K", "D"]);
    b.array("assignment", I64, ["N"]);
    b.transient("distances", F64, ["N", "K"]);
    b.transient("least", F64, ["N"]);
    b.transient("sums", F64, ["K", "D"]);
    b.transient("counts", I64, ["K"]);
    let (i, j, k) = (("i", "0:N"), ("j", "0:D"), ("k", "0:K"));
    b.for_loop("steps", "t", "0:T", |b| {
        map(b, "clear_distances", &[i, k], &[], "o = 0.0", &[("o", "distances[i, k]")]);
        let pair = [("p", "points[i, j]"), ("c", "centroids[k, j]")];
        sum(b, "measure", &[i, k, j], &pair, "o = (p - c) * (p - c)", "distances[i, k]");
        map(b, "clear_least", &[i], &[], "o = 1.0e300", &[("o", "least[i]")]);
        combine(b, Min, "nearest", &[i, k], &[("d", "distances[i, k]")], "o = d", "least[i]");
        map(b, "clear_assignment", &[i], &[], "o = K", &[("o", "assignment[i]")]);
        let pair = [("d", "distances[i, k]"), ("l", "least[i]")];
        let code = "o = k if d == l else K";
        combine(b, Min, "assign", &[i, k], &pair, code, "assignment[i]");
        map(b, "clear_sums", &[k, j], &[], "o = 0.0", &[("o", "sums[k, j]")]);
        map(b, "clear_counts", &[k], &[], "o = 0", &[("o", "counts[k]")]);
        b.state("add", |s| {
            s.map("add", [i, j], |s| {
                let add = s.tasklet("add").input("p", "points[i, j]").input("a", "assignment[i]");
                add.output("o", "sums[0:K, j]").resolve(Sum).volume(1).code("o[a] = p");
            });
        });
        b.state("count", |s| {
            s.map("count", [i], |s| {
                let count = s.tasklet("count").input("a", "assignment[i]");
                count.output("o", "counts[0:K]").resolve(Sum).volume(1).code("o[a] = 1");
            });
        });
        let mean = [("c", "centroids[k, j]"), ("s", "sums[k, j]"), ("n", "counts[k]")];
        let code = "o = s / n if n > 0 else c";
        map(b, "move", &[k, j], &mean, code, &[("o", "centroids[k, j]")]);
    });
    b.build()
}

/// The Fourier transform of `A B` complex numbers by transposes: transforms of columns, factors that turn them, and transforms of rows. Each
/// sum is along contiguous rows. Numbers are row by row in `x`, and in `y`.
///
/// # Errors
/// Never, unless the builder or validation is wrong.
pub fn fft() -> Result<(Validated, Warnings), Rejected> {
    let mut b = SdfgBuilder::new("fft");
    for size in ["A", "B"] {
        b.symbol(size);
    }
    b.array("x", Complex128, ["A", "B"]);
    b.array("y", Complex128, ["B", "A"]);
    let squares = [("roots_a", ["A", "A"]), ("roots_b", ["B", "B"])];
    let by_columns = ["turns", "columns", "first"].map(|name| (name, ["B", "A"]));
    let by_rows = ["rows", "second"].map(|name| (name, ["A", "B"]));
    for (name, shape) in squares.into_iter().chain(by_columns).chain(by_rows) {
        b.transient(name, Complex128, shape);
    }
    for (name, rows, columns, size) in
        [("roots_a", "0:A", "0:A", "A"), ("roots_b", "0:B", "0:B", "B"), ("turns", "0:B", "0:A", "A * B")]
    {
        let code = format!("o = exp(complex(0.0, -2.0 * math.pi * f64(j * k) / f64({size})))");
        map(&mut b, name, &[("j", rows), ("k", columns)], &[], &code, &[("o", &format!("{name}[j, k]"))]);
    }
    let (i, j) = (("i", "0:A"), ("j", "0:B"));
    map(&mut b, "turn_in", &[j, i], &[("v", "x[i, j]")], "o = v", &[("o", "columns[j, i]")]);
    map(&mut b, "clear_first", &[j, i], &[], "o = 0.0", &[("o", "first[j, i]")]);
    let factors = [("v", "columns[j, k]"), ("r", "roots_a[i, k]")];
    sum(&mut b, "transform_columns", &[j, i, ("k", "0:A")], &factors, "o = v * r", "first[j, i]");
    let factors = [("v", "first[j, i]"), ("t", "turns[j, i]")];
    map(&mut b, "turn", &[i, j], &factors, "o = v * t", &[("o", "rows[i, j]")]);
    map(&mut b, "clear_second", &[i, j], &[], "o = 0.0", &[("o", "second[i, j]")]);
    let factors = [("v", "rows[i, k]"), ("r", "roots_b[j, k]")];
    sum(&mut b, "transform_rows", &[i, j, ("k", "0:B")], &factors, "o = v * r", "second[i, j]");
    map(&mut b, "turn_out", &[j, i], &[("v", "second[i, j]")], "o = v", &[("o", "y[j, i]")]);
    b.build()
}
