//! A stencil pipeline on pictures, built with the builder.

use sdfg::builder::SdfgBuilder;
use sdfg::dtype::ScalarType::{F32, U8};
use sdfg::ir::ScheduleKind::CpuMulticore;
use sdfg::validate::{Rejected, Validated, Warnings};

/// Unsharp masking, with the outlines that a Sobel operator finds drawn darker.
///
/// `picture` and `result` are `u8[H, W, 3]`; `amount` is the strength of the sharpening, `ink` that of the outlines, in
/// 0 to 1. The two outermost rows and columns are copied.
///
/// # Errors
/// Never, unless the builder or validation is wrong.
pub fn pipeline() -> Result<(Validated, Warnings), Rejected> {
    let mut b = SdfgBuilder::new("sharpen");
    b.symbol("H");
    b.symbol("W");
    b.array("picture", U8, ["H", "W", "3"]);
    b.scalar("amount", F32);
    b.scalar("ink", F32);
    b.array("result", U8, ["H", "W", "3"]);
    b.transient("colour", F32, ["3", "H", "W"]);
    b.transient("across", F32, ["3", "H", "W"]);
    b.transient("grey", F32, ["H", "W"]);

    b.state("read", |s| {
        s.copy("picture[0:H, 0:W, 0:3]", "result[0:H, 0:W, 0:3]");
        s.map_scope("planes", [("y", "0:H"), ("c", "0:3"), ("x", "0:W")]).schedule(CpuMulticore).body(|s| {
            s.tasklet("widen")
                .input("p", "picture[y, x, c]")
                .output("o", "colour[c, y, x]")
                .code("o = f32(p)");
        });
    });
    b.state("filter", |s| {
        s.map_scope("luma", [("y", "0:H"), ("x", "0:W")]).schedule(CpuMulticore).body(|s| {
            s.tasklet("weigh")
                .input("r", "colour[0, y, x]")
                .input("g", "colour[1, y, x]")
                .input("b", "colour[2, y, x]")
                .output("o", "grey[y, x]")
                .code("o = 0.299 * r + 0.587 * g + 0.114 * b");
        });
        s.map_scope("blur", [("y", "0:H"), ("c", "0:3"), ("x", "2:W - 2")]).schedule(CpuMulticore).body(
            |s| {
                s.tasklet("binomial")
                    .input("a", "colour[c, y, x - 2]")
                    .input("b", "colour[c, y, x - 1]")
                    .input("m", "colour[c, y, x]")
                    .input("d", "colour[c, y, x + 1]")
                    .input("e", "colour[c, y, x + 2]")
                    .output("o", "across[c, y, x]")
                    .code("o = (a + 4.0 * b + 6.0 * m + 4.0 * d + e) / 16.0");
            },
        );
    });
    b.state("write", |s| {
        s.map_scope("pixels", [("y", "2:H - 2"), ("c", "0:3"), ("x", "2:W - 2")])
            .schedule(CpuMulticore)
            .body(|s| {
                s.tasklet("sharpen")
                    .input("a", "across[c, y - 2, x]")
                    .input("b", "across[c, y - 1, x]")
                    .input("m", "across[c, y, x]")
                    .input("d", "across[c, y + 1, x]")
                    .input("e", "across[c, y + 2, x]")
                    .input("p", "colour[c, y, x]")
                    .input("nw", "grey[y - 1, x - 1]")
                    .input("n", "grey[y - 1, x]")
                    .input("ne", "grey[y - 1, x + 1]")
                    .input("w", "grey[y, x - 1]")
                    .input("ea", "grey[y, x + 1]")
                    .input("sw", "grey[y + 1, x - 1]")
                    .input("s", "grey[y + 1, x]")
                    .input("se", "grey[y + 1, x + 1]")
                    .input("strength", "amount")
                    .input("dark", "ink")
                    .output("o", "result[y, x, c]")
                    .code(
                        "blurred = (a + 4.0 * b + 6.0 * m + 4.0 * d + e) / 16.0\n\
                     sharp = p + strength * (p - blurred)\n\
                     dx = ne + 2.0 * ea + se - nw - 2.0 * w - sw\n\
                     dy = sw + 2.0 * s + se - nw - 2.0 * n - ne\n\
                     edge = min(sqrt(dx * dx + dy * dy) / 512.0, 1.0)\n\
                     o = u8(min(max(sharp * (1.0 - dark * edge) + 0.5, 0.0), 255.0))",
                    );
            });
    });
    b.build()
}
