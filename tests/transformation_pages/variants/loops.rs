//! Changed programs of transformations of loops and states.

use super::{Change, Refused, TAKEN, Taken, hold_changes, hold_parameters};

#[test]
fn loops_become_maps() {
    hold_changes(
        "LoopToMap",
        &[
            (&[("i = 1:N", "i = N - 1:0:-1")], Taken(&["map "], &["for "])),
            (
                &[("B: B[i]", "B: A[i]"), ("access B", "access B = A")],
                Refused("may touch the same element in different iterations"),
            ),
            (&[("B: B[i]", "B: B[0]")], Refused("may touch the same element in different iterations")),
            (&[("B: B[i]", "B: B[0] wcr(sum)")], Taken(&["wcr(sum)"], &["for "])),
            (
                &[("{ b = 2.0 * a }", "external b = f(a) from library \"f\"")],
                Refused("calls a foreign function"),
            ),
            (&[("array B: f64[N]", "stream B: f64"), ("B: B[i]", "B: B")], Refused("is a stream")),
            (
                &[(
                    "      access B\n",
                    "      access B\n      nested call () -> () sdfg keep {\n        transient scalar last: f64 lifetime(persistent)\n        state s {\n          access last\n          tasklet one () -> (o) { o = 1.0 }\n          one.o -> last: last\n        }\n      }\n",
                )],
                Refused(
                    "calls an SDFG with streams, foreign functions or containers that last from call to call",
                ),
            ),
        ],
    );
}

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
        ],
    );
}

#[test]
fn transients_of_loops_are_doubled() {
    hold_parameters(
        "DoubleBuffering",
        &[
            (r#"{"array": "T"}"#, &[], Taken(&["T: f64[2, 8]"], &[])),
            (r#"{"array": "A"}"#, &[], Refused("there is no transient `A`")),
            (r#"{"array": "Q"}"#, &[], Refused("there is no transient `Q`")),
            ("", &[("i = 0:N {", "i = N - 1:-1:-1 {")], TAKEN),
            ("", &[("i = 0:N {", "i = 0:N:2 {")], TAKEN),
            ("", &[("i = 0:N {", "i = 0:N + 1 {"), ("f64[N, 8]", "f64[N + 1, 8]")], TAKEN),
            (
                "",
                &[("T: A[i, 0:8] -> T[0:8]", "T: A[i, 0:4] -> T[0:4]")],
                Refused("may keep elements from one iteration to another"),
            ),
            ("", &[("transient array T", "array T")], Refused("fills no transient")),
            ("", &[("access B\n", "access B = A\n"), ("m.B: B[i, j]", "m.B: A[i, j]")], TAKEN),
            (
                "",
                &[
                    ("access B\n", "access B = A\n"),
                    ("m.B: B[i, j]", "m.B: A[i + 1, j]"),
                    ("f64[N, 8]", "f64[N + 1, 8]"),
                ],
                Refused("may be the same element"),
            ),
        ],
    );
}

#[test]
fn symbols_get_their_values() {
    hold_changes(
        "SymbolPropagation",
        &[
            (&[("middle = N)", "middle = N // 2)")], Taken(&[], &["middle"])),
            (&[("middle = N)", "middle = A[0])")], Refused("its value is an integer expression of symbols")),
            (&[("  array A", "  symbol middle: i64\n  array A")], Refused("the caller gives it no value")),
            (
                &[(
                    "  state begin {}\n",
                    "  state begin {\n    access A\n    tasklet t () -> (o) { o = middle }\n    t.o -> A: A[0]\n  }\n",
                )],
                Refused("every place that reads it sees this value"),
            ),
            (
                &[("with (middle = N)", "with (middle = N, N = 3)")],
                Refused("nothing sets `N`, of which its value is made"),
            ),
        ],
    );
}

#[test]
fn blocks_that_never_run_go() {
    const ELSE: Change = ("N >= 0", "N > 0");
    hold_changes(
        "DeadStateElimination",
        &[
            (&[("N >= 0", "N + 1 > 0")], Taken(&["a = 1.0"], &["if ", "a = 0.0"])),
            (&[("N >= 0", "N < 0")], Taken(&["a = 0.0"], &["a = 1.0"])),
            (&[ELSE], Refused("has arms that may all be taken")),
            (&[("N >= 0", "A[0] > 0.0")], Refused("has arms that may all be taken")),
            (
                &[("N >= 0 {", "N > 0 {"), ("  } else {", "  } elif N >= 0 {")],
                Refused("has arms that may all be taken"),
            ),
            (
                &[
                    ("N >= 0 {", "N > 5 {"),
                    (
                        "  } else {",
                        "  } elif N < 0 {\n    state never {\n      access A\n      tasklet two () -> (a) { a = 2.0 }\n      two.a -> A: A[0]\n    }\n  } else {",
                    ),
                ],
                Taken(&["a = 1.0", "a = 0.0"], &["a = 2.0"]),
            ),
        ],
    );
}
