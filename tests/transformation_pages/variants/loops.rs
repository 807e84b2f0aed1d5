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

/// The second state reads what the first one writes in the same iteration, or in an earlier one.
#[test]
fn loops_are_divided() {
    hold_parameters(
        "LoopFission",
        &[
            ("", &[], Taken(&["for elements:", "for \"elements.second0\":"], &[])),
            (r#"{"count": 2}"#, &[], Refused("the body has 2 states")),
            (r#"{"count": 0}"#, &[], Refused("the body has 2 states")),
            ("", &[("half.s: sums[i]", "half.s: sums[i - 1]"), ("i = 0:N", "i = 1:N")], TAKEN),
            ("", &[("half.t -> after: sums[i]", "half.t -> after: sums[i + 1]")], Refused("later iteration")),
            (
                "",
                &[
                    ("half.s: sums[i]", "half.s: sums[i + 1]"),
                    ("half.t -> after: sums[i]", "half.t -> after: A[i]"),
                    ("access after = sums\n      tasklet half", "access after = A\n      tasklet half"),
                ],
                TAKEN,
            ),
            ("", &[("i = 0:N", "i = N - 1:-1:-1")], Refused("later iteration")),
            (
                "",
                &[("    state scale", "    -> scale if N > 3\n    state scale")],
                Refused("goes on with a condition or an assignment"),
            ),
            (
                "",
                &[("    state scale", "    -> scale with (k = i)\n    state scale")],
                Refused("goes on with a condition or an assignment"),
            ),
            (
                "",
                &[("{ t = 0.5 * s }", "external t = f(s) from library \"f\"")],
                Refused("calls a foreign function"),
            ),
        ],
    );
}

#[test]
fn loops_have_strips() {
    hold_parameters(
        "LoopStripMining",
        &[
            ("", &[], Taken(&["i_strip0 = 0:N:64", "i = i_strip0:min(N, i_strip0 + 64)"], &[])),
            (r#"{"size": 2}"#, &[("i = 0:N", "i = 1:N:3")], Taken(&["i_strip0 = 1:N:6"], &[])),
            (r#"{"size": 2}"#, &[("i = 0:N", "i = N - 1:-1:-1")], Taken(&["i_strip0 = N - 1:-1:-2"], &[])),
            (r#"{"size": 0}"#, &[], Refused("it is not greater than 0")),
            ("", &[("i = 0:N {", "i = 0:4 unroll {")], Refused("is to be unrolled")),
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
            (
                &[("middle = N)", "middle = A[0])")],
                Refused("its value is an integer of symbols, exact also in code"),
            ),
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

#[test]
fn symbols_of_loops_that_become_maps_die() {
    const BODY: &str = "    state body {
      access A
      access B
      tasklet double (a) -> (b) { b = 2.0 * a }
      A -> double.a: A[i - 1]
      double.b -> B: B[i]
    }
";
    const AFTER: &str = "      double.b -> B: B[i]\n    }\n  }\n";
    /// The first state of the body sets a symbol for the second one.
    const SETS: Change =
        ("    state body {", "    state set {}\n    -> body with (k = i - 1)\n    state body {");
    const USES: Change = ("A[i - 1]", "A[k]");
    hold_changes(
        "LoopToMap",
        &[
            (
                &[(
                    AFTER,
                    "      double.b -> B: B[i]\n    }\n  }\n  state end {\n    access A\n    tasklet one () -> (o) { o = i }\n    one.o -> A: A[0]\n  }\n",
                )],
                Refused("sets `i`, which is read after it"),
            ),
            (
                &[(
                    AFTER,
                    "      double.b -> B: B[i]\n    }\n  }\n  -> last with (q = i)\n  state last {\n    access A\n    tasklet one () -> (o) { o = q }\n    one.o -> A: A[0]\n  }\n",
                )],
                Refused("sets `i`, which is read after it"),
            ),
            (
                &[(
                    AFTER,
                    "      double.b -> B: B[i]\n    }\n  }\n  for again: i = 0:N {\n    state end {\n      access A\n      tasklet one () -> (o) { o = i }\n      one.o -> A: A[i]\n    }\n  }\n",
                )],
                Taken(&["map elements", "for again"], &["for elements"]),
            ),
            (&[SETS, USES], Taken(&["map elements"], &["for "])),
            (
                &[
                    SETS,
                    USES,
                    (
                        AFTER,
                        "      double.b -> B: B[i]\n    }\n  }\n  state end {\n    access A\n    tasklet one () -> (o) { o = k }\n    one.o -> A: A[0]\n  }\n",
                    ),
                ],
                Refused("sets `k`, which is read after it"),
            ),
            (
                &[
                    ("  for elements", "  state begin {}\n  -> elements with (k = 0)\n  for elements"),
                    (
                        "    state body {",
                        "    state early {\n      access C\n      tasklet one () -> (o) { o = k }\n      one.o -> C: C[i]\n    }\n    -> body with (k = i)\n    state body {",
                    ),
                    ("  array A", "  array C: f64[N]\n  array A"),
                ],
                Refused("reads `k` in an iteration before it is set there"),
            ),
            (
                &[
                    ("  for elements", "  state begin {}\n  -> elements with (k = N)\n  for elements"),
                    ("i = 1:N", "i = 1:k"),
                    SETS,
                ],
                Refused("does not count"),
            ),
            (
                &[
                    ("  array A", "  transient array T: f64[i]\n  array A"),
                    (
                        "      access A\n",
                        "      access A\n      access T\n      tasklet z () -> (o) { o = 0 }\n      z.o -> T: T[0]\n",
                    ),
                ],
                Refused("sets `i`, on which the shape or distribution of `T` depends"),
            ),
            (
                &[("  symbol N: i64\n", "  symbol N: i64\n  symbol i: i32\n")],
                Refused("does not count: its symbol gets a constant step"),
            ),
            (&[(BODY, "")], Refused("has an empty body")),
            (
                &[(
                    "      double.b -> B: B[i]\n    }\n",
                    "      double.b -> B: B[i]\n    }\n    if last: A[i] > 1.0 {\n      break out\n    }\n",
                )],
                Refused("may be left early"),
            ),
            (
                &[(
                    "      double.b -> B: B[i]\n    }\n",
                    "      double.b -> B: B[i]\n    }\n    if last: A[i] > 1.0 {\n      continue out\n    }\n",
                )],
                Refused("may be left early"),
            ),
            (
                &[(
                    "      double.b -> B: B[i]\n    }\n",
                    "      double.b -> B: B[i]\n    }\n    if last: A[i] > 1.0 {\n      return out\n    }\n",
                )],
                Refused("may be left early"),
            ),
            (
                &[(
                    "      double.b -> B: B[i]\n    }\n",
                    "      double.b -> B: B[i]\n    }\n    for inner: j = 0:3 {\n      if last: A[i] > 1.0 {\n        break out\n      }\n      state more {\n        access B\n        tasklet one () -> (o) { o = j }\n        one.o -> B: B[i]\n      }\n    }\n",
                )],
                Taken(&["map elements", "break"], &["for elements"]),
            ),
        ],
    );
}

#[test]
fn iterations_of_loops_that_become_maps_are_apart() {
    hold_changes(
        "LoopToMap",
        &[
            // Control flow reads what the body writes.
            (
                &[(
                    "      double.b -> B: B[i]\n    }\n",
                    "      double.b -> B: B[i]\n    }\n    if large: B[i] > 1.0 {\n      state more {\n        access B\n        tasklet one () -> (o) { o = 1 }\n        one.o -> B: B[i]\n      }\n    }\n",
                )],
                Taken(&["map elements", "if large"], &["for elements"]),
            ),
            (
                &[(
                    "      double.b -> B: B[i]\n    }\n",
                    "      double.b -> B: B[i]\n    }\n    if large: B[i - 1] > 1.0 {\n      state more {\n        access B\n        tasklet one () -> (o) { o = 1 }\n        one.o -> B: B[i]\n      }\n    }\n",
                )],
                Refused("may touch the same element in different iterations"),
            ),
            (
                &[
                    (
                        "      double.b -> B: B[i]\n    }\n",
                        "      double.b -> B: B[i]\n    }\n    if large: B[0] > 1.0 {\n      state more {\n        access B\n        tasklet one () -> (o) { o = 1 }\n        one.o -> B: B[i]\n      }\n    }\n",
                    ),
                    ("B: f64[N]", "B: f64[N + 1]"),
                ],
                TAKEN,
            ),
            // A transient that each iteration writes before it reads it.
            (
                &[
                    ("  array A", "  transient scalar s: f64\n  array A"),
                    (
                        "double.b -> B: B[i]",
                        "access s\n      double.b -> s: s\n      tasklet u (x) -> (y) { y = x + 1 }\n      s -> u.x: s\n      u.y -> B: B[i]",
                    ),
                ],
                Taken(&["map elements"], &["for elements"]),
            ),
            (
                &[
                    ("  array A", "  scalar s: f64\n  array A"),
                    (
                        "double.b -> B: B[i]",
                        "access s\n      double.b -> s: s\n      tasklet u (x) -> (y) { y = x + 1 }\n      s -> u.x: s\n      u.y -> B: B[i]",
                    ),
                ],
                Refused("`s[]` and `s[]` may touch the same element in different iterations"),
            ),
            (
                &[
                    ("  array A", "  transient scalar s: f64 lifetime(persistent)\n  array A"),
                    (
                        "double.b -> B: B[i]",
                        "access s\n      double.b -> s: s\n      tasklet u (x) -> (y) { y = x + 1 }\n      s -> u.x: s\n      u.y -> B: B[i]",
                    ),
                ],
                Refused("may touch the same element in different iterations"),
            ),
            (
                &[("B: B[i]", "B: B[0] wcr(replace)")],
                Refused("may touch the same element in different iterations"),
            ),
            (&[("B: B[i]", "B: B[0] wcr(max)")], TAKEN),
        ],
    );
}
