//! Example programs with data-dependent control flow.

use sdfg::builder::SdfgBuilder;
use sdfg::dtype::ScalarType::{F64, I64};
use sdfg::ir::FloatMode;
use sdfg::ir::ScheduleKind::CpuMulticore;
use sdfg::validate::{Rejected, Validated, Warnings};

/// A state machine (SC'19 paper, figure 10a): the sum is doubled if it is at most 5, else halved.
///
/// # Errors
/// Never, unless the builder or validation is wrong.
pub fn branching() -> Result<(Validated, Warnings), Rejected> {
    let mut b = SdfgBuilder::new("branching");
    b.scalar("A", F64);
    b.scalar("B", F64);
    b.transient_scalar("sum", F64);
    b.scalar("C", F64);
    let add = b.state("add", |s| {
        s.tasklet("add").input("a", "A").input("b", "B").output("s", "sum").code("s = a + b");
    });
    let twice = b.state("twice", |s| {
        s.tasklet("twice").input("s", "sum").output("c", "C").code("c = 2.0 * s");
    });
    let half = b.state("half", |s| {
        s.tasklet("half").input("s", "sum").output("c", "C").code("c = s / 2.0");
    });
    b.transition(add, twice).when("sum <= 5.0");
    b.transition(add, half);
    b.end_after(twice);
    b.build()
}

/// The Mandelbrot set (SC'19 paper, figure 10b): each pixel has a convergence loop of its own, in a nested SDFG.
///
/// # Errors
/// Never, unless the builder or validation is wrong.
pub fn mandelbrot() -> Result<(Validated, Warnings), Rejected> {
    let mut inner = SdfgBuilder::new("escape");
    for symbol in ["x", "y", "W", "H", "limit"] {
        inner.symbol(symbol);
    }
    inner.scalar("count", I64);
    inner.transient_scalar("re", F64);
    inner.transient_scalar("im", F64);
    inner.transient_scalar("n", I64);
    inner.state("start", |s| {
        s.tasklet("zero")
            .output("r", "re")
            .output("i", "im")
            .output("k", "n")
            .code("r = 0.0\ni = 0.0\nk = 0");
    });
    inner.while_loop("converging", "re * re + im * im <= 4.0 and n < limit", |b| {
        b.state("step", |s| {
            s.tasklet("step")
                .input("r", "re")
                .input("i", "im")
                .input("k", "n")
                .output("r2", "re")
                .output("i2", "im")
                .output("k2", "n")
                .code(
                    "cr = 3.5 * x / W - 2.5\n\
                     ci = 2.0 * y / H - 1.0\n\
                     r2 = r * r - i * i + cr\n\
                     i2 = 2.0 * r * i + ci\n\
                     k2 = k + 1",
                );
        });
    });
    inner.state("finish", |s| s.copy("n", "count"));

    let mut b = SdfgBuilder::new("mandelbrot");
    b.float_mode(FloatMode::Strict);
    for symbol in ["H", "W", "limit"] {
        b.symbol(symbol);
    }
    b.array("image", I64, ["H", "W"]);
    b.state("pixels", |s| {
        s.map_scope("pixels", [("py", "0:H"), ("px", "0:W")]).schedule(CpuMulticore).body(|s| {
            s.nested("escape", inner)
                .output("count", "image[py, px]")
                .map_symbol("x", "px")
                .map_symbol("y", "py")
                .finish();
        });
    });
    b.build()
}
