//! Example programs of dense and sparse linear algebra, and a histogram.

use sdfg::builder::SdfgBuilder;
use sdfg::dtype::ScalarType::{Complex128, F64, I64, U8, U32};
use sdfg::ir::ConflictResolution::Sum;
use sdfg::ir::ScheduleKind::{CpuMulticore, Sequential};
use sdfg::validate::{Rejected, Validated, Warnings};

/// Sparse matrix-vector product `b = A x` with `A` in compressed rows (SC'19 paper, figure 4).
///
/// # Errors
/// Never, unless the builder or validation is wrong.
pub fn spmv() -> Result<(Validated, Warnings), Rejected> {
    let mut b = SdfgBuilder::new("spmv");
    b.symbol("H");
    b.symbol("W");
    b.symbol("nnz");
    b.array("A_row", U32, ["H + 1"]);
    b.array("A_col", U32, ["nnz"]);
    b.array("A_val", F64, ["nnz"]);
    b.array("x", F64, ["W"]);
    b.array("b", F64, ["H"]);
    b.state("clear", |s| {
        s.mapped_tasklet("rows", [("i", "0:H")], [("", ""); 0], "o = 0.0", [("o", "b[i]")]);
    });
    b.state("multiply", |s| {
        s.map_scope("rows", [("i", "0:H")]).schedule(CpuMulticore).body(|s| {
            s.map_scope("entries", [("j", "first:last")])
                .bind("first", "A_row[i]")
                .bind("last", "A_row[i + 1]")
                .schedule(Sequential)
                .body(|s| {
                    let gather = s
                        .tasklet("gather")
                        .input("v", "x[0:W]")
                        .volume(1)
                        .input("c", "A_col[j]")
                        .output_value("e", F64)
                        .code("e = v[c]");
                    s.tasklet("times")
                        .input("a", "A_val[j]")
                        .input_from("e", gather, "e")
                        .of_type(F64)
                        .output("o", "b[i]")
                        .resolve(Sum)
                        .code("o = a * e");
                });
        });
    });
    b.build()
}

/// Matrix product by a call of BLAS (SC'19 paper, figure 5).
///
/// # Errors
/// Never, unless the builder or validation is wrong.
pub fn blas() -> Result<(Validated, Warnings), Rejected> {
    let mut b = SdfgBuilder::new("blas");
    for size in ["M", "N", "K"] {
        b.symbol(size);
    }
    b.array("A", F64, ["M", "K"]);
    b.array("B", F64, ["K", "N"]);
    b.array("C", F64, ["M", "N"]);
    b.state("multiply", |s| {
        // 101 is row-major order, 111 is "not transposed".
        s.tasklet("gemm").input("a", "A[0:M, 0:K]").input("b", "B[0:K, 0:N]").output("c", "C[0:M, 0:N]").external(
            "external cblas_dgemm(101, 111, 111, i32(M), i32(N), i32(K), 1.0, a, i32(K), b, i32(N), 0.0, c, i32(N)) \
             from library \"blas\"",
        );
    });
    b.build()
}

/// Matrix product as a map and a reduction (SC'19 paper, figure 9b).
///
/// # Errors
/// Never, unless the builder or validation is wrong.
pub fn matmul() -> Result<(Validated, Warnings), Rejected> {
    let mut b = SdfgBuilder::new("matmul");
    for size in ["M", "N", "K"] {
        b.symbol(size);
    }
    b.array("A", F64, ["M", "K"]);
    b.array("B", F64, ["K", "N"]);
    b.array("C", F64, ["M", "N"]);
    b.transient("products", F64, ["M", "N", "K"]);
    b.state("multiply", |s| {
        s.mapped_tasklet(
            "pairs",
            [("i", "0:M"), ("j", "0:N"), ("k", "0:K")],
            [("a", "A[i, k]"), ("b", "B[k, j]")],
            "p = a * b",
            [("p", "products[i, j, k]")],
        );
        s.reduce("total", Sum, "products[0:M, 0:N, 0:K]", "C[0:M, 0:N]").axes([2]).identity("0.0").finish();
    });
    b.build()
}

/// Histogram of the grey values of a picture: conflicting increments are resolved by addition.
///
/// # Errors
/// Never, unless the builder or validation is wrong.
pub fn histogram() -> Result<(Validated, Warnings), Rejected> {
    let mut b = SdfgBuilder::new("histogram");
    b.symbol("H");
    b.symbol("W");
    b.array("image", U8, ["H", "W"]);
    b.array("bins", I64, ["256"]);
    b.state("clear", |s| {
        s.mapped_tasklet("values", [("v", "0:256")], [("", ""); 0], "o = 0", [("o", "bins[v]")]);
    });
    b.state("count", |s| {
        s.map_scope("pixels", [("y", "0:H"), ("x", "0:W")]).schedule(CpuMulticore).body(|s| {
            s.tasklet("increment")
                .input("v", "image[y, x]")
                .output("bin", "bins[0:256]")
                .resolve(Sum)
                .volume(1)
                .code("bin[v] = 1");
        });
    });
    b.build()
}

/// Solves `L x = b` for a lower triangular `L`, column by column.
///
/// # Errors
/// Never, unless the builder or validation is wrong.
pub fn triangular_solve() -> Result<(Validated, Warnings), Rejected> {
    let mut b = SdfgBuilder::new("triangular_solve");
    b.symbol("N");
    b.array("L", F64, ["N", "N"]);
    b.array("b", F64, ["N"]);
    b.array("x", F64, ["N"]);
    b.state("copy", |s| s.copy("b[0:N]", "x[0:N]"));
    b.for_loop("columns", "j", "0:N", |b| {
        b.state("divide", |s| {
            s.tasklet("divide")
                .input("d", "L[j, j]")
                .input("v", "x[j]")
                .output("q", "x[j]")
                .code("q = v / d");
        });
        b.state("eliminate", |s| {
            s.mapped_tasklet(
                "rows",
                [("i", "j + 1:N")],
                [("l", "L[i, j]"), ("s", "x[j]"), ("v", "x[i]")],
                "o = v - l * s",
                [("o", "x[i]")],
            );
        });
    });
    b.build()
}

/// One radix-2 stage of a fast Fourier transform of `2 H` complex numbers, with twiddle factors `w`.
///
/// # Errors
/// Never, unless the builder or validation is wrong.
pub fn butterfly() -> Result<(Validated, Warnings), Rejected> {
    let mut b = SdfgBuilder::new("butterfly");
    b.symbol("H");
    b.array("x", Complex128, ["2 * H"]);
    b.array("w", Complex128, ["H"]);
    b.array("y", Complex128, ["2 * H"]);
    b.state("stage", |s| {
        s.mapped_tasklet(
            "pairs",
            [("k", "0:H")],
            [("a", "x[k]"), ("b", "x[k + H]"), ("t", "w[k]")],
            "p = t * b\ns = a + p\nd = a - p",
            [("s", "y[k]"), ("d", "y[k + H]")],
        );
    });
    b.build()
}
