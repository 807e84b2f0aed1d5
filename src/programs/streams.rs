//! Example programs with streams and consume scopes.

use sdfg::builder::SdfgBuilder;
use sdfg::dtype::ElementType;
use sdfg::dtype::ScalarType::{F64, I64};
use sdfg::ir::ConflictResolution::Sum;
use sdfg::ir::ScheduleKind::Unrolled;
use sdfg::validate::{Rejected, Validated, Warnings};

/// The Fibonacci recurrence without memory (SC'19 paper, figure 8): processing elements take numbers from a stream and push the
/// two below.
///
/// # Errors
/// Never, unless the builder or validation is wrong.
pub fn fibonacci() -> Result<(Validated, Warnings), Rejected> {
    let mut b = SdfgBuilder::new("fibonacci");
    b.symbol("P");
    b.scalar("N", I64);
    b.scalar("out", I64);
    let stream = b.stream("S", I64, [""; 0]);
    b.state("clear", |s| {
        s.tasklet("zero").output("o", "out").code("o = 0");
    });
    b.state("compute", |s| {
        s.copy("N", "S");
        s.consume("workers", stream, "p", "P").body(|s| {
            s.tasklet("fib")
                .input("s", "S")
                .output("o", "out")
                .resolve(Sum)
                .at_most(1)
                .output("t", "S")
                .dynamic()
                .code("if s == 1:\n    o = 1\nelif s > 1:\n    t = s - 1\n    t = s - 2");
        });
    });
    b.build()
}

/// Filters a column: values above the threshold go through a stream to the front of `selected`, and are counted.
///
/// # Errors
/// Never, unless the builder or validation is wrong.
pub fn query() -> Result<(Validated, Warnings), Rejected> {
    let mut b = SdfgBuilder::new("query");
    b.symbol("N");
    b.array("column", F64, ["N"]);
    b.scalar("threshold", F64);
    b.array("selected", F64, ["N"]);
    b.scalar("count", I64);
    b.stream("found", F64, [""; 0]);
    b.state("clear", |s| {
        s.tasklet("zero").output("o", "count").code("o = 0");
    });
    b.state("filter", |s| {
        s.map("rows", [("i", "0:N")], |s| {
            s.tasklet("filter")
                .input("v", "column[i]")
                .input("t", "threshold")
                .output("f", "found")
                .dynamic()
                .output("c", "count")
                .resolve(Sum)
                .at_most(1)
                .code("if v > t:\n    f = v\n    c = 1");
        });
        s.drain("found", "selected[0:N]");
    });
    b.build()
}

/// Sorts in place: processing elements take ranges from a stream, split them around an element and push both sides, which they hand on by that.
///
/// # Errors
/// Never, unless the builder or validation is wrong.
pub fn quicksort() -> Result<(Validated, Warnings), Rejected> {
    const SPLIT: &str = "begin = lane(range, 0)
last = lane(range, 1) - 1
if begin < last:
    pivot = a[last]
    middle = begin
    for i in range(begin, last):
        if a[i] < pivot:
            smaller = a[i]
            o[i] = a[middle]
            o[middle] = smaller
            middle = middle + 1
    o[last] = a[middle]
    o[middle] = pivot
    rest = lanes(begin, middle)
    rest = lanes(middle + 1, last + 1)";
    let mut b = SdfgBuilder::new("quicksort");
    b.symbol("N");
    b.symbol("P");
    b.array("A", F64, ["N"]);
    let pair = ElementType::vector(I64, 2).unwrap_or(ElementType::scalar(I64));
    let stream = b.stream("ranges", pair, [""; 0]);
    b.state("begin", |s| {
        s.tasklet("whole").output("range", "ranges").code("range = lanes(0, N)");
    });
    b.state("sort", |s| {
        s.consume("workers", stream, "p", "P").body(|s| {
            s.tasklet("split")
                .input("range", "ranges")
                .input("a", "A[0:N]")
                .dynamic()
                .output("o", "A[0:N]")
                .dynamic()
                .output("rest", "ranges")
                .dynamic()
                .code(SPLIT);
        });
    });
    b.build()
}

/// A chain of `P` processing elements joined by streams (SC'19 paper, figure 7). Element `p` adds `p + 1`.
///
/// # Errors
/// Never, unless the builder or validation is wrong.
pub fn systolic() -> Result<(Validated, Warnings), Rejected> {
    let mut element = SdfgBuilder::new("element");
    element.symbol("N");
    element.symbol("p");
    for name in ["from", "to"] {
        let stream = element.stream(name, F64, [""; 0]);
        element.configure(stream, |container| container.transient = false);
    }
    element.for_loop("items", "i", "0:N", |b| {
        b.state("item", |s| {
            s.tasklet("add").input("a", "from").output("b", "to").code("b = a + (p + 1)");
        });
    });
    let mut b = SdfgBuilder::new("systolic");
    b.symbol("N");
    b.symbol("P");
    b.array("A", F64, ["N"]);
    b.array("B", F64, ["N"]);
    let pipe = b.stream("pipe", F64, ["P + 1"]);
    b.state("run", |s| {
        s.copy("A[0:N]", "pipe[0]");
        s.map_scope("elements", [("p", "0:P")]).schedule(Unrolled).body(|s| {
            s.local(pipe);
            s.nested("element", element)
                .input("from", "pipe[p]")
                .volume("N")
                .output("to", "pipe[p + 1]")
                .volume("N")
                .finish();
        });
        s.local(pipe);
        s.copy("pipe[P]", "B[0:N]");
    });
    b.build()
}
