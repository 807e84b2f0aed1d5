//! PolyBench: products of matrices and vectors.

use sdfg::builder::SdfgBuilder;
use sdfg::dtype::ScalarType::F64;
use sdfg::validate::{Rejected, Validated, Warnings};

use super::{map, program, sum};

/// Adds `out = left right`, with the numbers of rows, columns and terms.
fn multiply(b: &mut SdfgBuilder, [rows, columns, terms]: [&str; 3], [out, left, right]: [&str; 3]) {
    let (i, j, k) = (format!("0:{rows}"), format!("0:{columns}"), format!("0:{terms}"));
    let to = format!("{out}[i, j]");
    let pairs = [("i", i.as_str()), ("j", j.as_str())];
    map(b, &format!("clear_{out}"), &pairs, &[], "o = 0.0", &[("o", &to)]);
    let factors = [("a", &*format!("{left}[i, k]")), ("b", &*format!("{right}[k, j]"))];
    sum(b, &format!("multiply_{out}"), &[pairs[0], pairs[1], ("k", &k)], &factors, "o = a * b", &to);
}

/// `D = alpha A B C + beta D`.
pub(super) fn k2mm() -> Result<(Validated, Warnings), Rejected> {
    let arrays = [("A", "NI, NK"), ("B", "NK, NJ"), ("C", "NJ, NL"), ("D", "NI, NL")];
    let mut b = program("k2mm", &["NI", "NJ", "NK", "NL"], &["alpha", "beta"], &arrays);
    b.transient("tmp", F64, ["NI", "NJ"]);
    map(&mut b, "clear", &[("i", "0:NI"), ("j", "0:NJ")], &[], "o = 0.0", &[("o", "tmp[i, j]")]);
    sum(
        &mut b,
        "first",
        &[("i", "0:NI"), ("j", "0:NJ"), ("k", "0:NK")],
        &[("f", "alpha"), ("a", "A[i, k]"), ("b", "B[k, j]")],
        "o = f * a * b",
        "tmp[i, j]",
    );
    let scaled = [("d", "D[i, j]"), ("f", "beta")];
    map(&mut b, "scale", &[("i", "0:NI"), ("j", "0:NL")], &scaled, "o = d * f", &[("o", "D[i, j]")]);
    sum(
        &mut b,
        "second",
        &[("i", "0:NI"), ("j", "0:NL"), ("k", "0:NJ")],
        &[("a", "tmp[i, k]"), ("b", "C[k, j]")],
        "o = a * b",
        "D[i, j]",
    );
    b.build()
}

/// `G = (A B) (C D)`.
pub(super) fn k3mm() -> Result<(Validated, Warnings), Rejected> {
    let arrays = [("A", "NI, NK"), ("B", "NK, NJ"), ("C", "NJ, NM"), ("D", "NM, NL"), ("G", "NI, NL")];
    let mut b = program("k3mm", &["NI", "NJ", "NK", "NL", "NM"], &[], &arrays);
    b.transient("E", F64, ["NI", "NJ"]);
    b.transient("F", F64, ["NJ", "NL"]);
    multiply(&mut b, ["NI", "NJ", "NK"], ["E", "A", "B"]);
    multiply(&mut b, ["NJ", "NL", "NM"], ["F", "C", "D"]);
    multiply(&mut b, ["NI", "NL", "NJ"], ["G", "E", "F"]);
    b.build()
}

/// `y = A' (A x)`.
pub(super) fn atax() -> Result<(Validated, Warnings), Rejected> {
    let mut b = program("atax", &["M", "N"], &[], &[("A", "M, N"), ("x", "N"), ("y", "N")]);
    b.transient("tmp", F64, ["M"]);
    map(&mut b, "clear_y", &[("i", "0:N")], &[], "o = 0.0", &[("o", "y[i]")]);
    map(&mut b, "clear_tmp", &[("i", "0:M")], &[], "o = 0.0", &[("o", "tmp[i]")]);
    let pairs = [("i", "0:M"), ("j", "0:N")];
    sum(&mut b, "multiply", &pairs, &[("a", "A[i, j]"), ("v", "x[j]")], "o = a * v", "tmp[i]");
    sum(&mut b, "multiply_transposed", &pairs, &[("a", "A[i, j]"), ("v", "tmp[i]")], "o = a * v", "y[j]");
    b.build()
}

/// `s = A' r`, `q = A p`.
pub(super) fn bicg() -> Result<(Validated, Warnings), Rejected> {
    let arrays = [("A", "N, M"), ("s", "M"), ("q", "N"), ("p", "M"), ("r", "N")];
    let mut b = program("bicg", &["M", "N"], &[], &arrays);
    map(&mut b, "clear_s", &[("i", "0:M")], &[], "o = 0.0", &[("o", "s[i]")]);
    map(&mut b, "clear_q", &[("i", "0:N")], &[], "o = 0.0", &[("o", "q[i]")]);
    let pairs = [("i", "0:N"), ("j", "0:M")];
    sum(&mut b, "multiply_transposed", &pairs, &[("v", "r[i]"), ("a", "A[i, j]")], "o = v * a", "s[j]");
    sum(&mut b, "multiply", &pairs, &[("a", "A[i, j]"), ("v", "p[j]")], "o = a * v", "q[i]");
    b.build()
}

/// Multiplies each row of a tensor of three dimensions with a matrix.
pub(super) fn doitgen() -> Result<(Validated, Warnings), Rejected> {
    let arrays = [("A", "NR, NQ, NP"), ("C4", "NP, NP")];
    let mut b = program("doitgen", &["NQ", "NR", "NP"], &[], &arrays);
    b.transient("row", F64, ["NP"]);
    b.for_loop("r_loop", "r", "0:NR", |b| {
        b.for_loop("q_loop", "q", "0:NQ", |b| {
            let row = [("p", "0:NP")];
            map(b, "clear", &row, &[], "o = 0.0", &[("o", "row[p]")]);
            let factors = [("a", "A[r, q, s]"), ("c", "C4[s, p]")];
            sum(b, "multiply", &[("p", "0:NP"), ("s", "0:NP")], &factors, "o = a * c", "row[p]");
            map(b, "store", &row, &[("v", "row[p]")], "o = v", &[("o", "A[r, q, p]")]);
        });
    });
    b.build()
}

/// `x1 = x1 + A y1`, `x2 = x2 + A' y2`.
pub(super) fn mvt() -> Result<(Validated, Warnings), Rejected> {
    let arrays = [("x1", "N"), ("x2", "N"), ("y1", "N"), ("y2", "N"), ("A", "N, N")];
    let mut b = program("mvt", &["N"], &[], &arrays);
    let pairs = [("i", "0:N"), ("j", "0:N")];
    sum(&mut b, "multiply", &pairs, &[("a", "A[i, j]"), ("v", "y1[j]")], "o = a * v", "x1[i]");
    sum(&mut b, "multiply_transposed", &pairs, &[("a", "A[j, i]"), ("v", "y2[j]")], "o = a * v", "x2[i]");
    b.build()
}
