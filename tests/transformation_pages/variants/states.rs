//! Changed programs of transformations of states, calls and loops around maps.

use super::{Change, Refused, TAKEN, Taken, hold_changes, hold_parameters};

#[test]
fn empty_states_go() {
    /// A state in front of the empty one.
    const BEGIN: &str = "  state begin {
    access A
    tasklet two () -> (a) { a = 2.0 }
    two.a -> A: A[1]
  }
";
    const TWO: Change = ("f64[1]", "f64[4]");
    hold_changes(
        "StateElimination",
        &[
            (&[], Taken(&["state set"], &["nothing"])),
            (&[("  state nothing {}\n", "")], Refused("`set` has 2 nodes")),
            (
                &[(
                    "  state set {\n    access A\n    tasklet one () -> (a) { a = 1.0 }\n    one.a -> A: A[0]\n  }\n",
                    "",
                )],
                Refused("is the only block of its region"),
            ),
            // It begins the region, so no transition can make the assignment.
            (
                &[("nothing {}\n", "nothing {}\n  -> set with (k = 1)\n"), ("a = 1.0", "a = k")],
                Refused("is reached or left by transitions that cannot be joined"),
            ),
            (
                &[
                    TWO,
                    ("  state nothing {}\n", BEGIN),
                    ("  state set", "  state nothing {}\n  -> set with (k = 1)\n  state set"),
                    ("a = 1.0", "a = k"),
                ],
                Taken(&["set with (k = 1)"], &["nothing"]),
            ),
            (
                &[
                    TWO,
                    ("  state nothing {}\n", BEGIN),
                    (
                        "  state set",
                        "  -> nothing with (k = 1)\n  state nothing {}\n  -> set with (l = k)\n  state set",
                    ),
                    ("a = 1.0", "a = l"),
                ],
                Refused("is reached or left by transitions that cannot be joined"),
            ),
            (
                &[
                    TWO,
                    ("  state nothing {}\n", BEGIN),
                    (
                        "  state set",
                        "  -> nothing with (k = 1)\n  state nothing {}\n  -> set with (l = 3)\n  state set",
                    ),
                    ("a = 1.0", "a = k + l"),
                ],
                Taken(&["set with (k = 1, l = 3)"], &["nothing"]),
            ),
            // The second value is that which counts.
            (
                &[
                    TWO,
                    ("  state nothing {}\n", BEGIN),
                    (
                        "  state set",
                        "  -> nothing with (k = 1)\n  state nothing {}\n  -> set with (k = 3)\n  state set",
                    ),
                    ("a = 1.0", "a = k"),
                ],
                Taken(&["set with (k = 3)"], &["nothing", "k = 1"]),
            ),
            (
                &[
                    TWO,
                    ("  state nothing {}\n", BEGIN),
                    ("  state set", "  state nothing {}\n  -> set if A[1] > 0.0\n  state set"),
                ],
                Refused("is reached or left by transitions that cannot be joined"),
            ),
            // The region ends before it.
            (
                &[("  state nothing {}\n", ""), ("A: A[0]\n  }\n", "A: A[0]\n  }\n  state nothing {}\n")],
                Taken(&["state set"], &["nothing"]),
            ),
            (
                &[
                    ("  state nothing {}\n", ""),
                    ("A: A[0]\n  }\n", "A: A[0]\n  }\n  -> nothing if A[0] > 0.0\n  state nothing {}\n"),
                ],
                Refused("is reached or left by transitions that cannot be joined"),
            ),
            (
                &[
                    ("  state nothing {}\n", ""),
                    ("A: A[0]\n  }\n", "A: A[0]\n  }\n  -> nothing with (k = 1)\n  state nothing {}\n"),
                ],
                Refused("is reached or left by transitions that cannot be joined"),
            ),
            // Two transitions leave it.
            (
                &[
                    TWO,
                    ("nothing {}\n", "nothing {}\n  -> set if A[0] > 0.0\n  -> begin\n"),
                    (
                        "A: A[0]\n  }\n",
                        "A: A[0]\n  }\n  -> begin\n  state begin {\n    access A\n    tasklet two () -> (a) { a = 2.0 }\n    two.a -> A: A[1]\n  }\n",
                    ),
                ],
                Refused("is reached or left by transitions that cannot be joined"),
            ),
            // Two transitions lead to it, and it assigns nothing.
            (
                &[
                    TWO,
                    ("  state nothing {}\n", BEGIN),
                    (
                        "  state set",
                        "  -> nothing if A[1] > 0.0 with (k = 1)\n  -> nothing with (k = 2)\n  state nothing {}\n  state set",
                    ),
                    ("a = 1.0", "a = k"),
                ],
                Taken(&["set if A[1] > 0.0 with (k = 1)", "set with (k = 2)"], &["nothing"]),
            ),
            (
                &[
                    TWO,
                    ("  state nothing {}\n", BEGIN),
                    (
                        "  state set",
                        "  -> nothing if A[1] > 0.0 with (k = 1)\n  -> nothing with (k = 2)\n  state nothing {}\n  -> set with (l = 3)\n  state set",
                    ),
                    ("a = 1.0", "a = k + l"),
                ],
                Refused("is reached or left by transitions that cannot be joined"),
            ),
        ],
    );
}

#[test]
fn states_join() {
    const BEGIN: Change = (
        "  state first {\n",
        "  for once: q = 0:1 {\n    state begin {\n      access C\n      tasklet t () -> (c) { c = 3 }\n      t.c -> C: C[0]\n    }\n  }\n  state first {\n",
    );
    /// An assignment between the two states of the page, behind another state.
    const SET: Change = ("  state second {\n", "  -> second with (k = 2)\n  state second {\n");
    const USE: Change = ("c = 2.0 * b", "c = k * b");
    hold_changes(
        "StateFusion",
        &[
            (&[], Taken(&["B -> scale.B"], &["state second"])),
            (&[SET, USE], Refused("goes on with an assignment, and begins its region")),
            (&[BEGIN, SET, USE], Taken(&["first with (k = 2)"], &["state second"])),
            (
                &[
                    BEGIN,
                    SET,
                    USE,
                    ("b = a + 1.0", "b = a + k"),
                    ("  state first {", "  -> first with (k = 1)\n  state first {"),
                ],
                Refused("uses `k`, which is set after it"),
            ),
            (
                &[BEGIN, ("  state second {\n", "  -> second with (k = int(B[0]))\n  state second {\n"), USE],
                Refused("may write `B`, which an assignment after it reads"),
            ),
            (
                &[
                    BEGIN,
                    ("  state second {\n", "  -> second with (k = n[0])\n  state second {\n"),
                    USE,
                    ("  array A", "  array n: i64[1]\n  array A"),
                ],
                Taken(&["first with (k = n[0])"], &["state second"]),
            ),
            (
                &[
                    BEGIN,
                    ("  state second {\n", "  -> second with (k = n[0])\n  state second {\n"),
                    USE,
                    ("  array A", "  array n: i64[1]\n  array A"),
                    (
                        "  state first {\n",
                        "  state first {\n    access n\n    tasklet four () -> (m) { m = 4 }\n    four.m -> n: n[0]\n",
                    ),
                ],
                Refused("may write `n`, which an assignment after it reads"),
            ),
            (
                &[BEGIN, SET, USE, ("  state first {", "  -> first with (k = 1)\n  state first {")],
                Refused("needs `k` to be set before it, and an assignment after it as well"),
            ),
            (
                &[
                    BEGIN,
                    ("  state second {\n", "  -> second with (k = l + 1)\n  state second {\n"),
                    USE,
                    ("  state first {", "  -> first with (l = 1)\n  state first {"),
                ],
                Refused("needs `l` to be set before it, and an assignment after it as well"),
            ),
            (
                &[BEGIN, SET, USE, ("  state first {", "  -> first with (l = 1)\n  state first {")],
                Taken(&["first with (l = 1, k = 2)"], &["state second"]),
            ),
            (
                &[("  state second {\n", "  -> second if N > 2\n  state second {\n")],
                Refused("goes on with a condition"),
            ),
            (
                &[
                    ("  state second {\n", "  -> second if N > 2\n  -> third\n  state second {\n"),
                    ("    scale.C -> C\n  }\n", "    scale.C -> C\n  }\n  -> third\n  state third {}\n"),
                ],
                Refused("goes on to several blocks"),
            ),
            (
                &[BEGIN, ("  state first {", "  -> second if N > 2\n  -> first\n  state first {")],
                Refused("is reached in other ways, too"),
            ),
            // A size of a container is a use of the symbol.
            (
                &[
                    BEGIN,
                    SET,
                    USE,
                    ("  array B", "  transient array T: f64[k]\n  array B"),
                    (
                        "  state first {\n",
                        "  -> first with (k = 5)\n  state first {\n    access T\n    tasklet z () -> (t) { t = 0 }\n    z.t -> T: T[0]\n",
                    ),
                ],
                Refused("uses `k`, which is set after it"),
            ),
            // Reads before writes, and writes before writes, keep their order.
            (
                &[
                    ("    access B\n    access C\n", "    access B\n    access C = A\n"),
                    ("scale.C: C[i]", "scale.C: A[i]"),
                ],
                Taken(&["access C = A"], &["state second"]),
            ),
            (
                &[
                    ("    access B\n    access C\n", "    access B = A\n    access C = B\n"),
                    ("scale.B -> times.b: B[i]", "scale.B -> times.b: A[i]"),
                    ("scale.C: C[i]", "scale.C: B[i]"),
                ],
                Taken(&["order"], &["state second"]),
            ),
        ],
    );
}

#[test]
fn calls_are_inlined() {
    /// A second state of the called SDFG.
    const STATES: Change = (
        "        elements.y -> y\n      }\n",
        "        elements.y -> y\n      }\n      state more {\n        access y\n        tasklet one () -> (b) { b = 1 }\n        one.b -> y: y[0]\n      }\n",
    );
    const BESIDE: Change = (
        "    access B\n",
        "    access B\n    access last = B\n    tasklet three () -> (o) { o = 3 }\n    three.o -> last: B[7]\n",
    );
    hold_changes(
        "InlineSDFG",
        &[
            (&[], Taken(&["A[i + 2]", "B[i]"], &["nested"])),
            (&[("A[2:6]", "A[0:8:2]")], Taken(&["A[2*i]"], &["nested"])),
            (&[("B: B[0:4]", "B: B[4:8]")], Taken(&["B[i + 4]"], &["nested"])),
            (&[STATES], Taken(&["state \"doubled.more\"", "B[0]"], &["nested"])),
            (&[BESIDE], Taken(&["three"], &["nested"])),
            (&[STATES, BESIDE], Refused("calls an SDFG of several blocks while `three` runs")),
            (
                &[
                    STATES,
                    (
                        "    access A\n    nested",
                        "    access A\n    tasklet five () -> (o) { o = 5 }\n    five.o -> A: A[3]\n    nested",
                    ),
                ],
                Taken(&["state \"doubled.more\"", "five"], &["nested"]),
            ),
            // Names of the called SDFG that are taken outside.
            (
                &[
                    ("      array y: f64[4]\n", "      array y: f64[4]\n      transient array B: f64[4]\n"),
                    ("        access y\n", "        access y\n        access B\n        B -> y\n"),
                    ("double.b -> elements.y: y[i]", "double.b -> elements.y: B[i]"),
                    ("elements.y -> y\n      }", "elements.y -> B\n      }"),
                ],
                Taken(&["transient array B_"], &["nested"]),
            ),
            // A dimension more outside.
            (
                &[("array A: f64[8]", "array A: f64[3, 8]"), ("A[2:6]", "A[1, 2:6]")],
                Taken(&["A[1, i + 2]"], &["nested"]),
            ),
            (
                &[
                    (
                        "(x) -> (y) sdfg twice {\n",
                        "(x) -> (y) with (K = 3) sdfg twice {\n      symbol K: i64\n",
                    ),
                    ("2.0 * a", "K * a"),
                ],
                Taken(&["i64(3) * a"], &["nested"]),
            ),
        ],
    );
    hold_parameters(
        "InlineSDFG",
        &[(
            r#"{"serialize": true}"#,
            &[STATES, BESIDE],
            Taken(&["state \"doubled.more\"", "three"], &["nested"]),
        )],
    );
}

#[test]
fn loops_and_transitions_change_into_each_other() {
    hold_changes(
        "LowerLoops",
        &[
            (&[], Taken(&["double if i < N"], &["for times"])),
            (
                &[("i = 0:N", "i = N - 1:-1:-1")],
                Taken(&["double if i > -1", "with (i = i - 1)"], &["for times"]),
            ),
            (&[("i = 0:N", "i = 0:N:2")], Taken(&["with (i = i + 2)"], &["for times"])),
            (&[("b = 2.0 * a }", "b = 2.0 * a + i }")], TAKEN),
        ],
    );
    hold_changes(
        "RaiseLoops",
        &[
            (&[], Taken(&["for \"guard.loop0\": i = 0:N {"], &["state guard"])),
            (&[("with (i = 0)", "with (i = 3)")], Taken(&["i = 3:N {"], &["state guard"])),
            (&[("i = i + 1", "i = i + 2")], Taken(&["i = 0:N:2 {"], &["state guard"])),
            (
                &[("i = i + 1", "i = i - 1"), ("i < N", "i > 0"), ("(i = 0)", "(i = N)")],
                Taken(&["i = N:0:-1 {"], &["state guard"]),
            ),
            (&[("i < N", "i <= N")], Taken(&["i = 0; i <= N; i = i + 1 {"], &["state guard"])),
            (&[("i < N", "N > i")], Taken(&["i = 0; N > i; i = i + 1 {"], &["state guard"])),
        ],
    );
}

#[test]
fn loops_move_into_maps() {
    hold_changes(
        "MoveLoopIntoMap",
        &[
            (&[], Taken(&["for \"times.t0\": t = 0:T"], &["for times:"])),
            (&[("t = 0:T", "t = T - 1:-1:-1")], Taken(&["t = T - 1:-1:-1"], &["for times:"])),
            (&[("b = a * a", "b = a + t")], TAKEN),
            (&[("i = 0:N]", "i = 0:min(t, N)]")], Refused("depends on `t`")),
            (
                &[("A[i]\n        square", "A[N - 1 - i]\n        square")],
                Refused("may touch the same element in different iterations of the map"),
            ),
            (
                &[("cells.A: A[i]", "cells.A: A[0]")],
                Refused("may touch the same element in different iterations of the map"),
            ),
            (
                &[("i = 0:N]", "i = 0:N - 1]"), ("square.a: A[i]", "square.a: A[i + 1]")],
                Refused("may touch the same element in different iterations of the map"),
            ),
            (&[("i = 0:N]", "t = 0:N]"), ("A[i]", "A[t]")], Refused("counts with the parameter of its map")),
            (
                &[("      cells.A -> next\n    }\n", "      cells.A -> next\n    }\n    state more {}\n")],
                Refused("has a body of several blocks"),
            ),
            (
                &[
                    (
                        "      access next = A\n",
                        "      access next = A\n      access B\n      tasklet one () -> (o) { o = 1 }\n      one.o -> B: B[0]\n",
                    ),
                    ("  array A", "  array B: f64[N]\n  array A"),
                ],
                Refused("has a body of more than a map"),
            ),
            (
                &[
                    (
                        "      access next = A\n",
                        "      access next = A\n      access B\n      map m [j = 0:N] {\n        tasklet one () -> (o) { o = 1 }\n        one.o -> m.B: B[j]\n      }\n      m.B -> B\n",
                    ),
                    ("  array A", "  array B: f64[N]\n  array A"),
                ],
                Refused("has a body of no map, or of several"),
            ),
            (
                &[
                    (
                        "      access next = A\n",
                        "      access next = A\n      access B\n      next -> B: A[0] -> B[0]\n",
                    ),
                    ("  array A", "  array B: f64[N]\n  array A"),
                ],
                Refused("is copied outside of the map"),
            ),
            (
                &[
                    ("  array A", "  transient scalar own: f64\n  array A"),
                    (
                        "square.b -> cells.A: A[i]",
                        "access own\n        square.b -> own: own\n        own -> cells.A: own -> A[i]",
                    ),
                ],
                TAKEN,
            ),
            (
                &[(
                    "      cells.A -> next\n    }\n  }\n",
                    "      cells.A -> next\n    }\n  }\n  state after {\n    access A\n    tasklet last () -> (o) { o = t }\n    last.o -> A: A[0]\n  }\n",
                )],
                Refused("t"),
            ),
            (&[("{ b = a * a }", "external b = f(a) from library \"f\"")], Refused("foreign function")),
        ],
    );
}
