//! PolyBench: an image filter, shortest paths and a dynamic program.

use sdfg::builder::SdfgBuilder;
use sdfg::dtype::ScalarType::{F64, I8, I32};
use sdfg::ir::ConflictResolution::Max;
use sdfg::validate::{Rejected, Validated, Warnings};

use super::{combine, map, program, tasklet};

/// One pass of the recursive filter. The values of the two steps before are kept for each line.
struct Pass<'p> {
    /// The parameter of the lines with its range.
    line: (&'p str, &'p str),
    /// The symbol of the steps with its range.
    step: (&'p str, &'p str),
    from: &'p str,
    to: &'p str,
    /// Coefficients of the two inputs. A forward pass reads the input of this step and the one before, a backward pass those of the
    /// two steps before.
    inputs: [&'p str; 2],
    is_forward: bool,
}

impl Pass<'_> {
    fn add(&self, b: &mut SdfgBuilder, label: &str) {
        let (parameter, range) = self.line;
        let kept = |name: &str| format!("{name}[{parameter}]");
        let [x1, x2, y1, y2] = ["x1", "x2", "y1_before", "y2_before"].map(kept);
        let lines = [(parameter, range)];
        let all = [("w", x1.as_str()), ("x", x2.as_str()), ("y", y1.as_str()), ("z", y2.as_str())];
        map(b, &format!("{label}_begin"), &lines, &[], "w = 0.0\nx = 0.0\ny = 0.0\nz = 0.0", &all);
        let code = if self.is_forward {
            "o = f * v + g * w + h * y + l * z"
        } else {
            "o = f * w + g * x + h * y + l * z"
        };
        // All that is kept moves one step on.
        let code = format!("{code}\nw1 = v\nx1 = w\ny1 = o\nz1 = y");
        b.for_loop(&format!("{label}_loop"), self.step.0, self.step.1, |b| {
            let (from, to) = (format!("{}[i, j]", self.from), format!("{}[i, j]", self.to));
            map(
                b,
                label,
                &lines,
                &[
                    ("f", self.inputs[0]),
                    ("g", self.inputs[1]),
                    ("h", "b1"),
                    ("l", "b2"),
                    ("v", &from),
                    all[0],
                    all[1],
                    all[2],
                    all[3],
                ],
                &code,
                &[("o", &to), ("w1", &x1), ("x1", &x2), ("y1", &y1), ("z1", &y2)],
            );
        });
    }
}

/// The edge detector of Deriche: recursive filters along rows and columns, forward and backward.
pub(super) fn deriche() -> Result<(Validated, Warnings), Rejected> {
    let images = [("imgIn", "W, H"), ("imgOut", "W, H")];
    let mut b = program("deriche", &["W", "H"], &["alpha"], &images);
    b.transient("forward", F64, ["W", "H"]);
    b.transient("backward", F64, ["W", "H"]);
    for kept in ["x1", "x2", "y1_before", "y2_before"] {
        b.transient(kept, F64, ["Max(W, H)"]);
    }
    for scalar in ["a1", "a2", "a3", "a4", "b1", "b2"] {
        b.transient_scalar(scalar, F64);
    }
    tasklet(
        &mut b,
        "coefficients",
        &[("t", "alpha")],
        "e = exp(-t)\nk = (1.0 - e) * (1.0 - e) / (1.0 + 2.0 * t * e - exp(2.0 * t))\np = k\nq = k * e * (t - 1.0)\n\
         r = k * e * (t + 1.0)\ns = -k * exp(-2.0 * t)\nu = 2.0 ** (-t)\nv = -exp(-2.0 * t)",
        &[("p", "a1"), ("q", "a2"), ("r", "a3"), ("s", "a4"), ("u", "b1"), ("v", "b2")],
    );
    let (rows, columns) = (("i", "0:W"), ("j", "0:H"));
    let (rows_back, columns_back) = (("i", "W - 1:-1:-1"), ("j", "H - 1:-1:-1"));
    let forward =
        |line, step, from| Pass { line, step, from, to: "forward", inputs: ["a1", "a2"], is_forward: true };
    let backward =
        |line, step, from| Pass { line, step, from, to: "backward", inputs: ["a3", "a4"], is_forward: false };
    let both = [("f", "forward[i, j]"), ("g", "backward[i, j]")];
    forward(rows, columns, "imgIn").add(&mut b, "rows_forward");
    backward(rows, columns_back, "imgIn").add(&mut b, "rows_backward");
    map(&mut b, "add_rows", &[rows, columns], &both, "o = f + g", &[("o", "imgOut[i, j]")]);
    forward(columns, rows, "imgOut").add(&mut b, "columns_forward");
    backward(columns, rows_back, "imgOut").add(&mut b, "columns_backward");
    map(&mut b, "add_columns", &[rows, columns], &both, "o = f + g", &[("o", "imgOut[i, j]")]);
    b.build()
}

/// Lengths of the shortest paths between all pairs of vertices, by Floyd and Warshall.
pub(super) fn floyd_warshall() -> Result<(Validated, Warnings), Rejected> {
    let mut b = program("floyd_warshall", &["N"], &[], &[]);
    b.array("path", I32, ["N", "N"]);
    b.transient("row", I32, ["N"]);
    b.transient("column", I32, ["N"]);
    b.for_loop("vertices", "k", "0:N", |b| {
        // Paths through `k` do not change those that begin or end there, so copies replace the reads of what is written.
        map(b, "copy_row", &[("j", "0:N")], &[("v", "path[k, j]")], "o = v", &[("o", "row[j]")]);
        map(b, "copy_column", &[("i", "0:N")], &[("v", "path[i, k]")], "o = v", &[("o", "column[i]")]);
        let parts = [("v", "path[i, j]"), ("a", "column[i]"), ("b", "row[j]")];
        let pairs = [("i", "0:N"), ("j", "0:N")];
        map(b, "shorten", &pairs, &parts, "o = min(v, a + b)", &[("o", "path[i, j]")]);
    });
    b.build()
}

/// Folding of RNA with the most pairs of bases, by Nussinov's dynamic program.
pub(super) fn nussinov() -> Result<(Validated, Warnings), Rejected> {
    let mut b = program("nussinov", &["N"], &[], &[]);
    b.array("seq", I8, ["N"]);
    b.array("table", I32, ["N", "N"]);
    b.for_loop("begins", "i", "N - 1:-1:-1", |b| {
        b.for_loop("ends", "j", "i + 1:N", |b| {
            // Bases of neighbours do not pair.
            tasklet(
                b,
                "extend",
                &[
                    ("t", "table[i, j]"),
                    ("l", "table[i, j - 1]"),
                    ("d", "table[i + 1, j]"),
                    ("m", "table[i + 1, j - 1]"),
                    ("p", "seq[i]"),
                    ("q", "seq[j]"),
                ],
                "pair = 1 if i < j - 1 and i32(p) + i32(q) == 3 else 0\no = max(max(t, l), max(d, m + i32(pair)))",
                &[("o", "table[i, j]")],
            );
            let halves = [("a", "table[i, k]"), ("b", "table[k + 1, j]")];
            combine(b, Max, "split", &[("k", "i + 1:j")], &halves, "o = a + b", "table[i, j]");
        });
    });
    b.build()
}
