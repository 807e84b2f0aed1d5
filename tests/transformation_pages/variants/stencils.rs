//! Changed programs of transformations of sweeps over a grid.

use super::{Refused, TAKEN, Taken, hold_parameters};

#[test]
fn loops_are_skewed() {
    hold_parameters(
        "Skewing",
        &[
            (r#"{"factor": 2}"#, &[], TAKEN),
            (r#"{"factor": 1}"#, &[], TAKEN),
            (r#"{"factor": 0}"#, &[], Refused("in iterations that would change their order")),
            (
                r#"{"factor": 1}"#,
                &[("A[i + 1]", "A[i + 2]"), ("f64[N]", "f64[N + 1]")],
                Refused("in iterations that would change their order"),
            ),
            (r#"{"factor": 2}"#, &[("A[i + 1]", "A[i + 2]"), ("f64[N]", "f64[N + 1]")], TAKEN),
            (
                r#"{"factor": 1}"#,
                &[("A[i + 1]", "A[N - 1 - i]")],
                Refused("in iterations that would change their order"),
            ),
            (
                r#"{"factor": 1}"#,
                &[("to: A[i]", "to: A[0]")],
                Refused("in iterations that would change their order"),
            ),
            (
                r#"{"factor": 1}"#,
                &[("i = 1:N - 1", "i = 1:N - 1:2")],
                Refused("counts by another step than one"),
            ),
            (r#"{"factor": 1}"#, &[("t = 0:T", "t = 0:T:2")], Refused("counts by another step than one")),
            (r#"{"factor": 1}"#, &[("i = 1:N - 1", "i = t + 1:N - 1")], Refused("depends on `t`")),
            (
                r#"{"factor": 1}"#,
                &[("{ w = x + y + z }", "external w = f(x, y, z) from library \"f\"")],
                Refused("calls a foreign function"),
            ),
            (
                r#"{"factor": 1}"#,
                &[("    for cells", "    state between {}\n    for cells")],
                Refused("has a body that is not one loop"),
            ),
            (
                r#"{"factor": 1}"#,
                &[("      state s {", "      state before {}\n      -> s with (k = 1)\n      state s {")],
                Refused("goes on with a condition or an assignment"),
            ),
            (
                r#"{"factor": 1}"#,
                &[("      state s {", "      state before {}\n      -> s if N > 3\n      state s {")],
                Refused("goes on with a condition or an assignment"),
            ),
        ],
    );
}

/// Tiles of two steps.
const SMALL: &str = r#"{"steps": 2, "width": 6}"#;

#[test]
fn stencils_are_tiled_over_time() {
    hold_parameters(
        "DiamondTiling",
        &[
            (SMALL, &[], Taken(&["t_time0 = 0:T:2", "(N + 3) // 6]"], &[])),
            (
                r#"{"steps": 2, "width": 5}"#,
                &[],
                Refused("tiles of 2 steps that reach 1 are at least 6 wide"),
            ),
            (r#"{"steps": 1, "width": 2}"#, &[], TAKEN),
            (
                r#"{"steps": 1, "width": 1}"#,
                &[],
                Refused("tiles of 1 steps that reach 1 are at least 2 wide"),
            ),
            (r#"{"steps": 0}"#, &[], Refused("`steps`: it is not greater than 0")),
            (r#"{"width": 0}"#, &[], Refused("`width`: it is not greater than 0")),
            (r#"{"steps": -1, "width": -1}"#, &[], Refused("`steps`: it is not greater than 0")),
            (SMALL, &[("t = 0:T", "t = 3:T")], Taken(&["t_time0 = 3:T:2"], &[])),
            (SMALL, &[("t = 0:T", "t = 0:T:2")], Refused("counts by another step than one")),
            (SMALL, &[("t = 0:T", "t = T - 1:-1:-1")], Refused("counts by another step than one")),
            // Two elements away, tiles are wider.
            (
                r#"{"steps": 2, "width": 12}"#,
                &[
                    ("A[i + 1]", "A[i + 3]"),
                    ("A[i - 1]", "A[i + 1]"),
                    ("A: f64[N]", "A: f64[N + 3]"),
                    ("again.A: A[i]", "again.A: A[i + 2]"),
                ],
                TAKEN,
            ),
            (
                r#"{"steps": 2, "width": 11}"#,
                &[("A[i + 1]", "A[i + 2]"), ("A: f64[N]", "A: f64[N + 1]")],
                Refused("tiles of 2 steps that reach 2 are at least 12 wide"),
            ),
            (
                SMALL,
                &[("average.o -> cells.B: B[i]", "average.o -> cells.B: B[0] wcr(sum)")],
                Refused("has no dimension whose index is everywhere the parameter plus a number"),
            ),
            (
                SMALL,
                &[("hand_on.x: B[i]", "hand_on.x: B[N - 1 - i]")],
                Refused("has no dimension whose index is everywhere the parameter plus a number"),
            ),
            // A container that is only read may have any index.
            (
                SMALL,
                &[
                    ("  array A", "  array C: f64[N]\n  array A"),
                    (
                        "(left, right) -> (o) { o = 0.5 * (left + right) }",
                        "(left, right, c) -> (o) { o = 0.5 * (left + right) + c }",
                    ),
                    (
                        "        average.o ->",
                        "        cells.C -> average.c: C[N - 1 - i]\n        average.o ->",
                    ),
                    ("      A -> cells.A\n", "      access C\n      C -> cells.C\n      A -> cells.A\n"),
                ],
                TAKEN,
            ),
        ],
    );
}

#[test]
fn rows_of_maps_are_tiled_over_time() {
    hold_parameters(
        "DiamondTiling",
        &[
            (
                SMALL,
                &[("cells [i = 1:N - 1]", "cells [i = 1:N - 1:2]")],
                Refused("has a first range whose step is not one"),
            ),
            (
                SMALL,
                &[("again [i = 1:N - 1]", "again [i = 0:N:4:4]"), ("f64[N]", "f64[N + 3]")],
                Refused("has a first range whose step is not one"),
            ),
            (
                SMALL,
                &[("cells [i = 1:N - 1]", "cells [i = 1:N - 1 - t]")],
                Refused("has a first range that the loop or the map changes"),
            ),
            (
                SMALL,
                &[
                    ("again [i = 1:N - 1]", "again [t = 1:N - 1]"),
                    ("B[i]\n        hand", "B[t]\n        hand"),
                    ("again.A: A[i]", "again.A: A[t]"),
                ],
                Refused("counts with the symbol of the loop"),
            ),
            (
                SMALL,
                &[
                    ("again [i = 1:N - 1]", "again [q = 1:N - 1]"),
                    ("B[i]\n        hand", "B[q]\n        hand"),
                    ("again.A: A[i]", "again.A: A[q]"),
                ],
                Taken(&["map again [q = "], &[]),
            ),
            (SMALL, &[("again [i = 1:N - 1]", "again [i = 2:N - 2]")], TAKEN),
            (SMALL, &[("cells [i = 1:N - 1]", "cells [i = 2:N - 3]")], TAKEN),
            (
                SMALL,
                &[("cells [i = 1:N - 1] {", "cells [i = 1:N - 1] schedule(sequential) {")],
                Taken(&["schedule(sequential)"], &[]),
            ),
            (
                SMALL,
                &[("cells [i = 1:N - 1] {", "cells [i = 1:N - 1] schedule(unrolled) {")],
                Refused("has a schedule that fixes its ranges or brings it to a device"),
            ),
            (
                SMALL,
                &[("    state back {", "    -> back with (k = 1)\n    state back {")],
                Refused("goes on with a condition or an assignment"),
            ),
            (
                SMALL,
                &[("    state back {", "    -> back if T > 3\n    state back {")],
                Refused("goes on with a condition or an assignment"),
            ),
            (
                SMALL,
                &[("    state back {", "    state between {}\n    state back {")],
                Refused("`between` has no map"),
            ),
            (
                SMALL,
                &[(
                    "      access B\n      access A\n",
                    "      access B\n      access A\n      access last = A\n      tasklet one () -> (o) { o = 1 }\n      one.o -> last: A[0]\n      order A -> one\n",
                )],
                Refused("`back` has more than one map"),
            ),
            (
                SMALL,
                &[(
                    "      access B\n      access A\n",
                    "      access B\n      access A\n      access last = B\n      A -> last: A[0] -> B[0]\n",
                )],
                Refused("copies data outside of its map"),
            ),
            (
                SMALL,
                &[(
                    "      again.A -> A\n    }\n  }\n",
                    "      again.A -> A\n    }\n  }\n  state end {\n    access A\n    tasklet one () -> (o) { o = t }\n    one.o -> A: A[0]\n  }\n",
                )],
                Refused("sets `t`, which is read after it"),
            ),
            (
                SMALL,
                &[
                    ("  array B: f64[N]", "  array B: f64[N]\n  transient scalar own: f64"),
                    (
                        "average.o -> cells.B: B[i]",
                        "access own\n        average.o -> own: own\n        own -> cells.B: own -> B[i]",
                    ),
                ],
                TAKEN,
            ),
        ],
    );
}
