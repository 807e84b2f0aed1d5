//! Changed programs of nested maps, of which the outer one gets data of its own.

use super::{Change, Refused, Taken, hold_parameters};

/// The place of further statements in an iteration of the outer map.
const ROWS: &str = "      rows.A -> columns.A\n";

#[test]
fn inner_maps_get_local_copies() {
    const READ_AGAIN: Change = (
        ROWS,
        "      rows.A -> columns.A\n      tasklet again (a) -> (c) { c = a }\n      rows.B_in -> again.a: B[i, 0]\n      again.c -> rows.C: C[i]\n",
    );
    hold_parameters(
        "LocalStorage",
        &[
            ("", &[], Taken(&["A_local0: f64[1, 16]"], &["B_local"])),
            (r#"{"array": "B"}"#, &[], Refused("no part of `B` passes between the maps in this direction")),
            (r#"{"array": "B", "direction": "out"}"#, &[], Taken(&["B_local0: f64[1, 16]"], &["A_local"])),
            (r#"{"direction": "out"}"#, &[], Taken(&["B_local0: f64[1, 16]"], &["A_local"])),
            (
                r#"{"array": "A", "direction": "out"}"#,
                &[],
                Refused("no part of `A` passes between the maps in this direction"),
            ),
            (r#"{"array": "A", "name": "cache"}"#, &[], Taken(&["cache: f64[1, 16]"], &["A_local"])),
            (
                r#"{"direction": "out"}"#,
                &[("B[i, j]", "B[i, j] wcr(sum)")],
                Refused("is written with a conflict resolution: use AccumulateTransient"),
            ),
            ("", &[("j = 0:16", "j = 2:10")], Taken(&["A_local0: f64[1, 8]"], &[])),
            (
                "",
                &[("A[i, 15 - j]", "A[j, i]"), ("A: f64[N, 16]", "A: f64[16, N]")],
                Taken(&["A_local0: f64[16, 1]"], &[]),
            ),
            // The inner map reads what the iteration writes.
            (
                "",
                &[("access B\n", "access B = A\n"), ("columns.B: B[i, j]", "columns.B: A[i, j]")],
                Refused("may touch the same elements in one iteration of the outer map"),
            ),
            (
                r#"{"direction": "out"}"#,
                &[("access B\n", "access B = A\n"), ("columns.B: B[i, j]", "columns.B: A[i, j]")],
                Refused("may touch the same elements in one iteration of the outer map"),
            ),
            // Another read in the iteration is no obstacle for a copy of what is read.
            (
                "",
                &[
                    ("  array B", "  array C: f64[N]\n  array B"),
                    (
                        ROWS,
                        "      rows.A -> columns.A\n      tasklet again (a) -> (c) { c = a }\n      rows.A -> again.a: A[i, 0]\n      again.c -> rows.C: C[i]\n",
                    ),
                    ("    access B\n", "    access B\n    access C\n    rows.C -> C\n"),
                ],
                Taken(&["A_local0: f64[1, 16]"], &[]),
            ),
            (
                r#"{"direction": "out"}"#,
                &[
                    ("  array B", "  array C: f64[N]\n  array B"),
                    READ_AGAIN,
                    (
                        "    access B\n",
                        "    access B\n    access C\n    rows.C -> C\n    access old = B\n    old -> rows.B_in\n",
                    ),
                ],
                Refused("may touch the same elements in one iteration of the outer map"),
            ),
        ],
    );
}

#[test]
fn inner_maps_combine_in_transients() {
    hold_parameters(
        "AccumulateTransient",
        &[
            ("", &[], Taken(&["sums_sum0: f64[1]", "y = 0"], &[])),
            ("", &[("wcr(sum)", "wcr(product)")], Taken(&["y = 1", "wcr(product)"], &["y = 0"])),
            ("", &[("wcr(sum)", "wcr(max)")], Refused("the inner map sums up or multiplies no part of ``")),
            (
                "",
                &[(" wcr(sum)", ""), ("sums[i]", "sums[i, j]"), ("sums: f64[N]", "sums: f64[N, 16]")],
                Refused("the inner map sums up or multiplies no part of ``"),
            ),
            (r#"{"array": "sums"}"#, &[], Taken(&["sums_sum0"], &[])),
            (r#"{"array": "A"}"#, &[], Refused("the inner map sums up or multiplies no part of `A`")),
            (
                "",
                &[("sums[i]", "sums[j]"), ("sums: f64[N]", "sums: f64[16]")],
                Taken(&["sums_sum0: f64[16]"], &[]),
            ),
            (
                "",
                &[("sums[i]", "sums[i, j]"), ("sums: f64[N]", "sums: f64[N, 16]")],
                Taken(&["sums_sum0: f64[1, 16]"], &[]),
            ),
            // A second write with another resolution, or with none.
            (
                "",
                &[
                    ("(s) { s = a }", "(s, t) { s = a; t = a }"),
                    (
                        "sums[i] wcr(sum)\n",
                        "sums[i] wcr(sum)\n        element.t -> columns.sums: sums[i] wcr(max)\n",
                    ),
                ],
                Refused("the inner map sums up or multiplies no part of ``"),
            ),
            (
                "",
                &[
                    ("(s) { s = a }", "(s, t) { s = a; t = a }"),
                    (
                        "sums[i] wcr(sum)\n",
                        "sums[i] wcr(sum)\n        element.t -> columns.sums: sums[i] wcr(sum)\n",
                    ),
                ],
                Taken(&["sums_sum0: f64[1]"], &[]),
            ),
            // Another node of the iteration combines, too.
            (
                "",
                &[(
                    ROWS,
                    "      rows.A -> columns.A\n      tasklet more (a) -> (c) { c = a }\n      rows.A -> more.a: A[i, 0]\n      more.c -> rows.sums: sums[i] wcr(sum)\n",
                )],
                Refused("may touch the same elements in one iteration of the outer map"),
            ),
        ],
    );
}

#[test]
fn inner_maps_collect_in_streams() {
    const QUEUES: Change = ("stream found: f64", "stream found: f64[8]");
    const FIRST: Change = ("all.stream -> g.x: found", "all.stream -> g.x: found[0]");
    hold_parameters(
        "LocalStream",
        &[
            ("", &[], Taken(&["found_local0 -> found dynamic"], &[])),
            (r#"{"stream": "found"}"#, &[], Taken(&["stream found_local0"], &[])),
            (r#"{"stream": "sum"}"#, &[], Refused("the inner map pushes nothing to `sum`")),
            (
                "",
                &[
                    ("          if v > 0:\n              x = v\n", "          x = v\n"),
                    ("found dynamic", "found"),
                ],
                Taken(&["found_local0 -> found"], &["dynamic"]),
            ),
            (
                "",
                &[QUEUES, ("rows.found: found dynamic", "rows.found: found[p] dynamic"), FIRST],
                Taken(&["found_local0 -> found[p] dynamic"], &["found_local0[p]"]),
            ),
            (
                "",
                &[QUEUES, ("rows.found: found dynamic", "rows.found: found[i % 8] dynamic"), FIRST],
                Refused("is an array of queues among which the inner map chooses"),
            ),
            (
                "",
                &[("stream found: f64", "stream found: f64 capacity(100)")],
                Taken(&["found_local0: f64\n"], &["found_local0: f64 capacity"]),
            ),
            (
                "",
                &[
                    ("  transient stream", "  transient stream other: f64 capacity(100)\n  transient stream"),
                    ("(v) -> (x) {", "(v) -> (x, y) {\n          y = v"),
                    ("        f.x ->", "        f.y -> rows.other: other\n        f.x ->"),
                    (
                        "      rows.found -> parts.found\n",
                        "      rows.found -> parts.found\n      rows.other -> parts.other\n",
                    ),
                    ("    access sum\n", "    access sum\n    access other\n    parts.other -> other\n"),
                ],
                Refused("may let the inner map wait"),
            ),
            (
                "",
                &[
                    ("array column: f64[8, N]", "array column: f64[8, N] storage(gpu_global)"),
                    ("array sum: f64[1]", "array sum: f64[1] storage(gpu_global)"),
                    ("stream found: f64", "stream found: f64 storage(gpu_global)"),
                    ("map parts [p = 0:8] {", "map parts [p = 0:8] schedule(gpu_grid) {"),
                    ("consume all [e = 0:4] {", "consume all [e = 0:4] schedule(gpu_grid) {"),
                ],
                Refused("is in memory of a device, where no iteration has a stream of its own"),
            ),
        ],
    );
}
