//! PolyBench: factorisations and solvers.

use sdfg::builder::SdfgBuilder;
use sdfg::dtype::ScalarType::F64;
use sdfg::validate::{Rejected, Validated, Warnings};

use super::{map, program, sum, tasklet};

/// `A = L L'`, the lower triangle, in place.
pub(super) fn cholesky() -> Result<(Validated, Warnings), Rejected> {
    let mut b = program("cholesky", &["N"], &[], &[("A", "N, N")]);
    b.for_loop("rows", "i", "0:N", |b| {
        b.for_loop("columns", "j", "0:i", |b| {
            let factors = [("a", "A[i, k]"), ("b", "A[j, k]")];
            sum(b, "subtract", &[("k", "0:j")], &factors, "o = -(a * b)", "A[i, j]");
            tasklet(b, "divide", &[("a", "A[i, j]"), ("d", "A[j, j]")], "o = a / d", &[("o", "A[i, j]")]);
        });
        sum(b, "subtract_squares", &[("k", "0:i")], &[("a", "A[i, k]")], "o = -(a * a)", "A[i, i]");
        tasklet(b, "root", &[("a", "A[i, i]")], "o = sqrt(a)", &[("o", "A[i, i]")]);
    });
    b.build()
}

/// Solves the Toeplitz system of Yule and Walker by Durbin's recursion.
pub(super) fn durbin() -> Result<(Validated, Warnings), Rejected> {
    let mut b = program("durbin", &["N"], &[], &[("r", "N"), ("y", "N")]);
    b.transient("z", F64, ["N"]);
    for scalar in ["alpha", "beta", "total"] {
        b.transient_scalar(scalar, F64);
    }
    let first = [("o", "y[0]"), ("a", "alpha"), ("b", "beta")];
    tasklet(&mut b, "begin", &[("v", "r[0]")], "o = -v\na = -v\nb = 1.0", &first);
    b.for_loop("orders", "k", "1:N", |b| {
        let beta = [("a", "alpha"), ("b", "beta")];
        tasklet(b, "shrink", &beta, "o = (1.0 - a * a) * b\nt = 0.0", &[("o", "beta"), ("t", "total")]);
        let before = [("i", "0:k")];
        sum(b, "correlate", &before, &[("v", "r[k - i - 1]"), ("w", "y[i]")], "o = v * w", "total");
        let next = [("v", "r[k]"), ("t", "total"), ("b", "beta")];
        tasklet(b, "reflect", &next, "o = -(v + t) / b", &[("o", "alpha")]);
        let both = [("a", "alpha"), ("v", "y[i]"), ("w", "y[k - i - 1]")];
        map(b, "update", &before, &both, "o = v + a * w", &[("o", "z[i]")]);
        map(b, "store", &before, &[("v", "z[i]")], "o = v", &[("o", "y[i]")]);
        tasklet(b, "extend", &[("a", "alpha")], "o = a", &[("o", "y[k]")]);
    });
    b.build()
}

/// `A = Q R` by the modified method of Gram and Schmidt.
pub(super) fn gramschmidt() -> Result<(Validated, Warnings), Rejected> {
    let mut b = program("gramschmidt", &["M", "N"], &[], &[("A", "M, N"), ("R", "N, N"), ("Q", "M, N")]);
    b.transient_scalar("nrm", F64);
    b.for_loop("columns", "k", "0:N", |b| {
        tasklet(b, "clear_norm", &[], "o = 0.0", &[("o", "nrm")]);
        sum(b, "square", &[("i", "0:M")], &[("a", "A[i, k]")], "o = a * a", "nrm");
        tasklet(b, "norm", &[("s", "nrm")], "o = sqrt(s)", &[("o", "R[k, k]")]);
        let column = [("a", "A[i, k]"), ("r", "R[k, k]")];
        map(b, "normalise", &[("i", "0:M")], &column, "o = a / r", &[("o", "Q[i, k]")]);
        map(b, "clear", &[("j", "k + 1:N")], &[], "o = 0.0", &[("o", "R[k, j]")]);
        let rest = [("j", "k + 1:N"), ("i", "0:M")];
        sum(b, "project", &rest, &[("q", "Q[i, k]"), ("a", "A[i, j]")], "o = q * a", "R[k, j]");
        let parts = [("a", "A[i, j]"), ("q", "Q[i, k]"), ("r", "R[k, j]")];
        map(b, "subtract", &rest, &parts, "o = a - q * r", &[("o", "A[i, j]")]);
    });
    b.build()
}

/// `A = L U` in place, with a unit diagonal of `L`.
pub(super) fn lu() -> Result<(Validated, Warnings), Rejected> {
    let mut b = program("lu", &["N"], &[], &[("A", "N, N")]);
    b.for_loop("rows", "i", "0:N", |b| {
        b.for_loop("columns", "j", "0:i", |b| {
            let factors = [("a", "A[i, k]"), ("b", "A[k, j]")];
            sum(b, "lower", &[("k", "0:j")], &factors, "o = -(a * b)", "A[i, j]");
            tasklet(b, "divide", &[("a", "A[i, j]"), ("d", "A[j, j]")], "o = a / d", &[("o", "A[i, j]")]);
        });
        let factors = [("a", "A[i, k]"), ("b", "A[k, j]")];
        sum(b, "upper", &[("j", "i:N"), ("k", "0:i")], &factors, "o = -(a * b)", "A[i, j]");
    });
    b.build()
}

/// Adds `w = from - sum of A[i, k] with[k]` over a range of `k`.
fn eliminate(b: &mut SdfgBuilder, label: &str, range: &str, from: &str, factors: [&str; 2]) {
    tasklet(b, &format!("{label}_begin"), &[("v", from)], "o = v", &[("o", "w")]);
    let factors = [("a", factors[0]), ("b", factors[1])];
    sum(b, &format!("{label}_subtract"), &[("k", range)], &factors, "o = -(a * b)", "w");
}

/// Solves `A x = b` by `A = L U`, with a scalar for the sum of each element.
pub(super) fn ludcmp() -> Result<(Validated, Warnings), Rejected> {
    let mut b = program("ludcmp", &["N"], &[], &[("A", "N, N"), ("b", "N"), ("x", "N"), ("y", "N")]);
    b.transient_scalar("w", F64);
    b.for_loop("rows", "i", "0:N", |b| {
        b.for_loop("lower", "j", "0:i", |b| {
            eliminate(b, "lower", "0:j", "A[i, j]", ["A[i, k]", "A[k, j]"]);
            tasklet(b, "lower_end", &[("v", "w"), ("d", "A[j, j]")], "o = v / d", &[("o", "A[i, j]")]);
        });
        b.for_loop("upper", "j", "i:N", |b| {
            eliminate(b, "upper", "0:i", "A[i, j]", ["A[i, k]", "A[k, j]"]);
            tasklet(b, "upper_end", &[("v", "w")], "o = v", &[("o", "A[i, j]")]);
        });
    });
    b.for_loop("forward", "i", "0:N", |b| {
        eliminate(b, "forward", "0:i", "b[i]", ["A[i, k]", "y[k]"]);
        tasklet(b, "forward_end", &[("v", "w")], "o = v", &[("o", "y[i]")]);
    });
    b.for_loop("backward", "i", "N - 1:-1:-1", |b| {
        eliminate(b, "backward", "i + 1:N", "y[i]", ["A[i, k]", "x[k]"]);
        tasklet(b, "backward_end", &[("v", "w"), ("d", "A[i, i]")], "o = v / d", &[("o", "x[i]")]);
    });
    b.build()
}

/// Solves `L x = b` with a lower triangular `L`.
pub(super) fn trisolv() -> Result<(Validated, Warnings), Rejected> {
    let mut b = program("trisolv", &["N"], &[], &[("L", "N, N"), ("x", "N"), ("b", "N")]);
    b.for_loop("rows", "i", "0:N", |b| {
        tasklet(b, "begin", &[("v", "b[i]")], "o = v", &[("o", "x[i]")]);
        let factors = [("l", "L[i, j]"), ("v", "x[j]")];
        sum(b, "subtract", &[("j", "0:i")], &factors, "o = -(l * v)", "x[i]");
        tasklet(b, "divide", &[("v", "x[i]"), ("l", "L[i, i]")], "o = v / l", &[("o", "x[i]")]);
    });
    b.build()
}
