//! PolyBench: stencils over time.

use sdfg::builder::SdfgBuilder;
use sdfg::dtype::ScalarType::F64;
use sdfg::validate::{Rejected, Validated, Warnings};

use super::{map, program, tasklet};

/// Adds a sweep of the alternating direction method. `to` is solved along its second index if `is_row`, else along its first.
fn sweep(b: &mut SdfgBuilder, [to, from]: [&str; 2], [a, d, e]: [&str; 3], is_row: bool) {
    let at = |name: &str, i: &str, j: &str| {
        if is_row { format!("{name}[{i}, {j}]") } else { format!("{name}[{j}, {i}]") }
    };
    let label = |what: &str| format!("{what}_{to}");
    let lines = [("i", "1:N - 1")];
    let begin = at(to, "i", "0");
    let started = [("o", begin.as_str()), ("r", "p[i, 0]"), ("s", "q[i, 0]")];
    map(b, &label("begin"), &lines, &[], "o = 1.0\nr = 0.0\ns = 1.0", &started);
    b.for_loop(&label("forward"), "j", "1:N - 1", |b| {
        map(
            b,
            &label("eliminate"),
            &lines,
            &[
                ("a", a),
                ("d", d),
                ("e", e),
                ("r", "p[i, j - 1]"),
                ("s", "q[i, j - 1]"),
                ("x", &at(from, "i - 1", "j")),
                ("y", &at(from, "i", "j")),
                ("z", &at(from, "i + 1", "j")),
            ],
            "m = a * r + e\no = -a / m\nt = (-d * x + (1.0 + 2.0 * d) * y - d * z - a * s) / m",
            &[("o", "p[i, j]"), ("t", "q[i, j]")],
        );
    });
    let end = at(to, "i", "N - 1");
    map(b, &label("end"), &lines, &[], "o = 1.0", &[("o", &end)]);
    b.for_loop(&label("backward"), "j", "N - 2:0:-1", |b| {
        let (next, here) = (at(to, "i", "j + 1"), at(to, "i", "j"));
        let parts = [("r", "p[i, j]"), ("v", next.as_str()), ("s", "q[i, j]")];
        map(b, &label("substitute"), &lines, &parts, "o = r * v + s", &[("o", &here)]);
    });
}

/// Heat equation in two dimensions by the alternating direction implicit method.
pub(super) fn adi() -> Result<(Validated, Warnings), Rejected> {
    let mut b = program("adi", &["TSTEPS", "N"], &[], &[("u", "N, N")]);
    for transient in ["v", "p", "q"] {
        b.transient(transient, F64, ["N", "N"]);
    }
    let coefficients = ["a", "b", "d", "e"];
    for scalar in coefficients {
        b.transient_scalar(scalar, F64);
    }
    // Diffusion coefficients are 2 along columns and 1 along rows; the steps are 1 / N in space and 1 / TSTEPS in time.
    tasklet(
        &mut b,
        "coefficients",
        &[],
        "r = f64(N) * f64(N) / f64(TSTEPS)\nm = 2.0 * r\nw = -m / 2.0\nx = 1.0 + m\ny = -r / 2.0\nz = 1.0 + r",
        &[("w", "a"), ("x", "b"), ("y", "d"), ("z", "e")],
    );
    b.for_loop("steps", "t", "0:TSTEPS", |b| {
        sweep(b, ["v", "u"], ["a", "d", "b"], false);
        sweep(b, ["u", "v"], ["d", "a", "e"], true);
    });
    b.build()
}

/// Electric and magnetic fields in two dimensions by finite differences in time.
pub(super) fn fdtd_2d() -> Result<(Validated, Warnings), Rejected> {
    let arrays = [("ex", "NX, NY"), ("ey", "NX, NY"), ("hz", "NX, NY"), ("fict", "TMAX")];
    let mut b = program("fdtd_2d", &["TMAX", "NX", "NY"], &[], &arrays);
    b.for_loop("steps", "t", "0:TMAX", |b| {
        map(b, "border", &[("j", "0:NY")], &[("f", "fict[t]")], "o = f", &[("o", "ey[0, j]")]);
        let update_y = [("e", "ey[i, j]"), ("h", "hz[i, j]"), ("g", "hz[i - 1, j]")];
        let cells = [("i", "1:NX"), ("j", "0:NY")];
        map(b, "update_ey", &cells, &update_y, "o = e - 0.5 * (h - g)", &[("o", "ey[i, j]")]);
        let update_x = [("e", "ex[i, j]"), ("h", "hz[i, j]"), ("g", "hz[i, j - 1]")];
        let cells = [("i", "0:NX"), ("j", "1:NY")];
        map(b, "update_ex", &cells, &update_x, "o = e - 0.5 * (h - g)", &[("o", "ex[i, j]")]);
        map(
            b,
            "update_hz",
            &[("i", "0:NX - 1"), ("j", "0:NY - 1")],
            &[
                ("h", "hz[i, j]"),
                ("p", "ex[i, j + 1]"),
                ("q", "ex[i, j]"),
                ("r", "ey[i + 1, j]"),
                ("s", "ey[i, j]"),
            ],
            "o = h - 0.7 * (p - q + r - s)",
            &[("o", "hz[i, j]")],
        );
    });
    b.build()
}

/// Adds a map over the inner cells whose tasklet reads neighbours from one array and writes the cell of the other.
fn relax(b: &mut SdfgBuilder, names: [&str; 2], dimensions: usize, neighbours: &[(&str, &str)], code: &str) {
    let [from, to] = names;
    let ranges: Vec<(&str, &str)> =
        ["i", "j", "k"][..dimensions].iter().map(|name| (*name, "1:N - 1")).collect();
    let inputs: Vec<(&str, String)> =
        neighbours.iter().map(|(connector, at)| (*connector, format!("{from}[{at}]"))).collect();
    let inputs: Vec<(&str, &str)> = inputs.iter().map(|(connector, at)| (*connector, at.as_str())).collect();
    let here = format!("{to}[{}]", ["i", "i, j", "i, j, k"][dimensions - 1]);
    map(b, &format!("from_{from}"), &ranges, &inputs, code, &[("o", &here)]);
}

/// Adds time steps from `A` to `B` and back.
fn alternate(b: &mut SdfgBuilder, dimensions: usize, neighbours: &[(&str, &str)], code: &str) {
    b.for_loop("steps", "t", "0:TSTEPS", |b| {
        relax(b, ["A", "B"], dimensions, neighbours, code);
        relax(b, ["B", "A"], dimensions, neighbours, code);
    });
}

/// Heat equation in three dimensions.
pub(super) fn heat_3d() -> Result<(Validated, Warnings), Rejected> {
    let mut b = program("heat_3d", &["TSTEPS", "N"], &[], &[("A", "N, N, N"), ("B", "N, N, N")]);
    let neighbours = [
        ("c", "i, j, k"),
        ("n", "i + 1, j, k"),
        ("s", "i - 1, j, k"),
        ("e", "i, j + 1, k"),
        ("w", "i, j - 1, k"),
        ("u", "i, j, k + 1"),
        ("d", "i, j, k - 1"),
    ];
    let code = "o = 0.125 * (n - 2.0 * c + s) + 0.125 * (e - 2.0 * c + w) + 0.125 * (u - 2.0 * c + d) + c";
    alternate(&mut b, 3, &neighbours, code);
    b.build()
}

/// Mean of three cells.
pub(super) fn jacobi_1d() -> Result<(Validated, Warnings), Rejected> {
    let mut b = program("jacobi_1d", &["TSTEPS", "N"], &[], &[("A", "N"), ("B", "N")]);
    let neighbours = [("l", "i - 1"), ("c", "i"), ("r", "i + 1")];
    alternate(&mut b, 1, &neighbours, "o = 0.33333 * (l + c + r)");
    b.build()
}

/// Mean of five cells.
pub(super) fn jacobi_2d() -> Result<(Validated, Warnings), Rejected> {
    let mut b = program("jacobi_2d", &["TSTEPS", "N"], &[], &[("A", "N, N"), ("B", "N, N")]);
    let neighbours =
        [("c", "i, j"), ("w", "i, j - 1"), ("e", "i, 1 + j"), ("s", "1 + i, j"), ("n", "i - 1, j")];
    alternate(&mut b, 2, &neighbours, "o = 0.2 * (c + w + e + s + n)");
    b.build()
}

/// Mean of nine cells in place: each cell depends on those before it.
pub(super) fn seidel_2d() -> Result<(Validated, Warnings), Rejected> {
    let mut b = program("seidel_2d", &["TSTEPS", "N"], &[], &[("A", "N, N")]);
    b.for_loop("steps", "t", "0:TSTEPS", |b| {
        b.for_loop("rows", "i", "1:N - 1", |b| {
            b.for_loop("columns", "j", "1:N - 1", |b| {
                tasklet(
                    b,
                    "mean",
                    &[
                        ("p", "A[i - 1, j - 1]"),
                        ("q", "A[i - 1, j]"),
                        ("r", "A[i - 1, j + 1]"),
                        ("s", "A[i, j - 1]"),
                        ("c", "A[i, j]"),
                        ("u", "A[i, j + 1]"),
                        ("v", "A[i + 1, j - 1]"),
                        ("w", "A[i + 1, j]"),
                        ("x", "A[i + 1, j + 1]"),
                    ],
                    "o = (p + q + r + s + c + u + v + w + x) / 9.0",
                    &[("o", "A[i, j]")],
                );
            });
        });
    });
    b.build()
}
