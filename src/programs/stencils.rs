//! Example programs: stencils over time.

use sdfg::builder::{SdfgBuilder, StateBuilder};
use sdfg::dtype::ScalarType::F64;
use sdfg::ir::ScheduleKind::CpuMulticore;
use sdfg::validate::{Rejected, Validated, Warnings};

/// One-dimensional Laplace operator over time (SC'19 paper, figure 2). Time steps alternate between the two rows of `A`.
///
/// # Errors
/// Never, unless the builder or validation is wrong.
pub fn laplace() -> Result<(Validated, Warnings), Rejected> {
    let mut b = SdfgBuilder::new("laplace");
    b.symbol("N");
    b.symbol("T");
    b.array("A", F64, ["2", "N"]);
    b.for_loop("steps", "t", "0:T", |b| {
        b.state("step", |s| {
            s.map_scope("cells", [("i", "1:N - 1")]).schedule(CpuMulticore).body(|s| {
                s.tasklet("lap")
                    .input("l", "A[t % 2, i - 1]")
                    .input("c", "A[t % 2, i]")
                    .input("r", "A[t % 2, i + 1]")
                    .output("o", "A[(t + 1) % 2, i]")
                    .code("o = l - 2.0 * c + r");
            });
        });
    });
    b.build()
}

/// Two-dimensional Jacobi iteration with five points, `T` times from `A` to `B` and back.
///
/// # Errors
/// Never, unless the builder or validation is wrong.
pub fn jacobi2d() -> Result<(Validated, Warnings), Rejected> {
    let average = |s: &mut StateBuilder<'_>, from: &str, to: &str| {
        s.map_scope("cells", [("i", "1:N - 1"), ("j", "1:N - 1")]).schedule(CpuMulticore).body(|s| {
            s.tasklet("average")
                .input("c", format!("{from}[i, j]").as_str())
                .input("w", format!("{from}[i, j - 1]").as_str())
                .input("e", format!("{from}[i, j + 1]").as_str())
                .input("s", format!("{from}[i + 1, j]").as_str())
                .input("n", format!("{from}[i - 1, j]").as_str())
                .output("o", format!("{to}[i, j]").as_str())
                .code("o = 0.2 * (c + w + e + s + n)");
        });
    };
    let mut b = SdfgBuilder::new("jacobi2d");
    b.symbol("N");
    b.symbol("T");
    b.array("A", F64, ["N", "N"]);
    b.array("B", F64, ["N", "N"]);
    b.for_loop("steps", "t", "0:T", |b| {
        b.state("forth", |s| average(s, "A", "B"));
        b.state("back", |s| average(s, "B", "A"));
    });
    b.build()
}
