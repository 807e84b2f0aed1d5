//! PolyBench: routines of BLAS.

use sdfg::dtype::ScalarType::F64;
use sdfg::validate::{Rejected, Validated, Warnings};

use super::{map, program, sum};

/// `C = alpha A B + beta C`.
pub(super) fn gemm() -> Result<(Validated, Warnings), Rejected> {
    let arrays = [("C", "NI, NJ"), ("A", "NI, NK"), ("B", "NK, NJ")];
    let mut b = program("gemm", &["NI", "NJ", "NK"], &["alpha", "beta"], &arrays);
    let scaled = [("c", "C[i, j]"), ("f", "beta")];
    map(&mut b, "scale", &[("i", "0:NI"), ("j", "0:NJ")], &scaled, "o = c * f", &[("o", "C[i, j]")]);
    sum(
        &mut b,
        "multiply",
        &[("i", "0:NI"), ("k", "0:NK"), ("j", "0:NJ")],
        &[("f", "alpha"), ("a", "A[i, k]"), ("b", "B[k, j]")],
        "o = f * a * b",
        "C[i, j]",
    );
    b.build()
}

/// `A = A + u1 v1' + u2 v2'`, `x = x + beta A' y + z`, `w = w + alpha A x`.
pub(super) fn gemver() -> Result<(Validated, Warnings), Rejected> {
    let vectors = ["u1", "v1", "u2", "v2", "w", "x", "y", "z"].map(|name| (name, "N"));
    let mut b = program("gemver", &["N"], &["alpha", "beta"], &[("A", "N, N")]);
    for (name, size) in vectors {
        b.array(name, F64, [size]);
    }
    let pairs = [("i", "0:N"), ("j", "0:N")];
    map(
        &mut b,
        "update",
        &pairs,
        &[("a", "A[i, j]"), ("p", "u1[i]"), ("q", "v1[j]"), ("r", "u2[i]"), ("s", "v2[j]")],
        "o = a + p * q + r * s",
        &[("o", "A[i, j]")],
    );
    let transposed = [("f", "beta"), ("a", "A[j, i]"), ("v", "y[j]")];
    sum(&mut b, "multiply_transposed", &pairs, &transposed, "o = f * a * v", "x[i]");
    map(&mut b, "add", &[("i", "0:N")], &[("v", "x[i]"), ("a", "z[i]")], "o = v + a", &[("o", "x[i]")]);
    let factors = [("f", "alpha"), ("a", "A[i, j]"), ("v", "x[j]")];
    sum(&mut b, "multiply", &pairs, &factors, "o = f * a * v", "w[i]");
    b.build()
}

/// `y = alpha A x + beta B x`.
pub(super) fn gesummv() -> Result<(Validated, Warnings), Rejected> {
    let arrays = [("A", "N, N"), ("B", "N, N"), ("x", "N"), ("y", "N")];
    let mut b = program("gesummv", &["N"], &["alpha", "beta"], &arrays);
    b.transient("tmp", F64, ["N"]);
    let (rows, pairs) = ([("i", "0:N")], [("i", "0:N"), ("j", "0:N")]);
    map(&mut b, "clear", &rows, &[], "t = 0.0\no = 0.0", &[("t", "tmp[i]"), ("o", "y[i]")]);
    sum(&mut b, "first", &pairs, &[("a", "A[i, j]"), ("v", "x[j]")], "o = a * v", "tmp[i]");
    sum(&mut b, "second", &pairs, &[("a", "B[i, j]"), ("v", "x[j]")], "o = a * v", "y[i]");
    let parts = [("f", "alpha"), ("t", "tmp[i]"), ("g", "beta"), ("v", "y[i]")];
    map(&mut b, "add", &rows, &parts, "o = f * t + g * v", &[("o", "y[i]")]);
    b.build()
}

/// `C = alpha A B + beta C` with a symmetric `A`, of which the lower triangle is stored.
pub(super) fn symm() -> Result<(Validated, Warnings), Rejected> {
    let arrays = [("C", "M, N"), ("A", "M, M"), ("B", "M, N")];
    let mut b = program("symm", &["M", "N"], &["alpha", "beta"], &arrays);
    b.transient("temp2", F64, ["N"]);
    b.for_loop("rows", "i", "0:M", |b| {
        let (columns, below) = ([("j", "0:N")], [("j", "0:N"), ("k", "0:i")]);
        map(b, "clear", &columns, &[], "o = 0.0", &[("o", "temp2[j]")]);
        let upper = [("f", "alpha"), ("v", "B[i, j]"), ("a", "A[i, k]")];
        sum(b, "upper", &below, &upper, "o = f * v * a", "C[k, j]");
        sum(b, "lower", &below, &[("v", "B[k, j]"), ("a", "A[i, k]")], "o = v * a", "temp2[j]");
        map(
            b,
            "add",
            &columns,
            &[
                ("g", "beta"),
                ("c", "C[i, j]"),
                ("f", "alpha"),
                ("v", "B[i, j]"),
                ("a", "A[i, i]"),
                ("t", "temp2[j]"),
            ],
            "o = g * c + f * v * a + f * t",
            &[("o", "C[i, j]")],
        );
    });
    b.build()
}

/// `C = alpha A B' + alpha B A' + beta C`, the lower triangle.
pub(super) fn syr2k() -> Result<(Validated, Warnings), Rejected> {
    let arrays = [("C", "N, N"), ("A", "N, M"), ("B", "N, M")];
    let mut b = program("syr2k", &["N", "M"], &["alpha", "beta"], &arrays);
    let triangle = [("i", "0:N"), ("j", "0:i + 1")];
    map(&mut b, "scale", &triangle, &[("c", "C[i, j]"), ("f", "beta")], "o = c * f", &[("o", "C[i, j]")]);
    sum(
        &mut b,
        "multiply",
        &[("i", "0:N"), ("j", "0:i + 1"), ("k", "0:M")],
        &[("f", "alpha"), ("p", "A[j, k]"), ("q", "B[i, k]"), ("r", "B[j, k]"), ("s", "A[i, k]")],
        "o = p * f * q + r * f * s",
        "C[i, j]",
    );
    b.build()
}

/// `C = alpha A A' + beta C`, the lower triangle.
pub(super) fn syrk() -> Result<(Validated, Warnings), Rejected> {
    let mut b = program("syrk", &["N", "M"], &["alpha", "beta"], &[("C", "N, N"), ("A", "N, M")]);
    let triangle = [("i", "0:N"), ("j", "0:i + 1")];
    map(&mut b, "scale", &triangle, &[("c", "C[i, j]"), ("f", "beta")], "o = c * f", &[("o", "C[i, j]")]);
    sum(
        &mut b,
        "multiply",
        &[("i", "0:N"), ("j", "0:i + 1"), ("k", "0:M")],
        &[("f", "alpha"), ("p", "A[i, k]"), ("q", "A[j, k]")],
        "o = f * p * q",
        "C[i, j]",
    );
    b.build()
}

/// `B = alpha A' B` with a unit lower triangular `A`.
pub(super) fn trmm() -> Result<(Validated, Warnings), Rejected> {
    let mut b = program("trmm", &["M", "N"], &["alpha"], &[("A", "M, M"), ("B", "M, N")]);
    b.for_loop("rows", "i", "0:M", |b| {
        let below = [("j", "0:N"), ("k", "i + 1:M")];
        sum(b, "multiply", &below, &[("a", "A[k, i]"), ("v", "B[k, j]")], "o = a * v", "B[i, j]");
        let scaled = [("f", "alpha"), ("v", "B[i, j]")];
        map(b, "scale", &[("j", "0:N")], &scaled, "o = f * v", &[("o", "B[i, j]")]);
    });
    b.build()
}
