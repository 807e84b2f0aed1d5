//! Changed programs of maps whose iterations run on the lanes of a vector unit.

use super::{Change, Refused, TAKEN, Taken, hold_changes};

#[test]
fn last_dimensions_run_on_lanes() {
    hold_changes(
        "Vectorization",
        &[
            (&[], Taken(&["[j = 0:M] schedule(simd)", "map elements [i = 0:N] {"], &[])),
            (
                &[(", j = 0:M]", "]"), ("[i, j]", "[i, 0]")],
                Taken(&["map elements [i = 0:N] schedule(simd)"], &["inner"]),
            ),
            (
                &[("j = 0:M] {", "j = 0:M] schedule(sequential) {")],
                Taken(&["map elements [i = 0:N] schedule(sequential) {", "schedule(simd)"], &[]),
            ),
            (
                &[("j = 0:M] {", "j = 0:M] schedule(cpu_multicore) {")],
                Taken(&["map elements [i = 0:N] schedule(cpu_multicore) {", "schedule(simd)"], &[]),
            ),
            (
                &[(", j = 0:M] {", "] schedule(cpu_multicore) {"), ("[i, j]", "[i, 0]")],
                Refused("has one dimension, which threads share: tile it first"),
            ),
            (&[("j = 0:M] {", "j = 0:M] schedule(simd) {")], Refused("has the schedule `simd`")),
            (&[("j = 0:M] {", "j = 0:M] schedule(unrolled) {")], Refused("has the schedule `unrolled`")),
            (&[("B[i, j]", "B[i, 0]")], Refused("may touch the same element on different lanes")),
            (&[("B[i, j]", "B[j, i]"), ("f64[N, M]", "f64[N + M, M + N]")], TAKEN),
            (&[("B[i, j]", "B[i, 0] wcr(max)")], TAKEN),
            (&[("B[i, j]", "B[i, 0] wcr(sum)")], TAKEN),
            // Lanes store in the order of iterations.
            (&[("B[i, j]", "B[i, 0] wcr(replace)")], TAKEN),
            (&[("B[i, j]", "B[i, j // 2]")], TAKEN),
            (&[("access B\n", "access B = A\n"), ("elements.B: B[i, j]", "elements.B: A[i, j]")], TAKEN),
            (
                &[
                    ("access B\n", "access B = A\n"),
                    ("elements.B: B[i, j]", "elements.B: A[i, j + 1]"),
                    ("A: f64[N, M]", "A: f64[N, M + 1]"),
                ],
                Refused("may touch the same element on different lanes"),
            ),
            (
                &[
                    ("access B\n", "access B = A\n"),
                    ("elements.B: B[i, j]", "elements.B: A[i, j + M]"),
                    ("A: f64[N, M]", "A: f64[N, 2*M]"),
                ],
                Refused("may touch the same element on different lanes"),
            ),
            (
                &[
                    ("access B\n", "access B = A\n"),
                    ("elements.B: B[i, j]", "elements.B: A[i + N, j]"),
                    ("A: f64[N, M]", "A: f64[2*N, M]"),
                ],
                TAKEN,
            ),
        ],
    );
}

#[test]
fn lanes_run_tasklets_and_copies() {
    const IN_A_LOOP: Change =
        ("{ b = 2.0 * a }", "{\n        b = a\n        for k in range(3):\n            b = b + k\n      }");
    hold_changes(
        "Vectorization",
        &[
            (&[IN_A_LOOP], TAKEN),
            (&[IN_A_LOOP, ("range(3)", "range(N)")], TAKEN),
            (
                &[IN_A_LOOP, ("range(3)", "range(j)")],
                Refused("has a loop that lanes would leave at different times"),
            ),
            (
                &[IN_A_LOOP, ("range(3)", "range(j, 3)")],
                Refused("has a loop that lanes would leave at different times"),
            ),
            (
                &[IN_A_LOOP, ("range(3)", "range(0, 3, j + 1)")],
                Refused("has a loop that lanes would leave at different times"),
            ),
            (&[IN_A_LOOP, ("range(3)", "range(i)")], TAKEN),
            (
                &[(
                    "{ b = 2.0 * a }",
                    "{\n        b = a\n        if a > 0.0:\n            for k in range(j):\n                b = b + k\n      }",
                )],
                Refused("has a loop that lanes would leave at different times"),
            ),
            (
                &[(
                    "{ b = 2.0 * a }",
                    "{\n        b = a\n        if a > 0.0:\n            b = 1\n        else:\n            for k in range(j):\n                b = b + k\n      }",
                )],
                Refused("has a loop that lanes would leave at different times"),
            ),
            (
                &[(
                    "{ b = 2.0 * a }",
                    "{\n        b = a\n        for k in range(2):\n            for l in range(j):\n                b = b + k\n      }",
                )],
                Refused("has a loop that lanes would leave at different times"),
            ),
            (
                &[("{ b = 2.0 * a }", "{\n        b = a\n        if a > 0.0:\n            b = 1\n      }")],
                TAKEN,
            ),
            (
                &[(
                    "{ b = 2.0 * a }",
                    "{\n        b = a\n        while b > 9.0:\n            b = b - 10.0\n      }",
                )],
                Refused("has a loop that lanes would leave at different times"),
            ),
            (
                &[("{ b = 2.0 * a }", "external b = f(a) from library \"f\"")],
                Refused("calls a foreign function, which lanes cannot"),
            ),
            (&[("array B: f64[N, M]", "stream B: f64"), ("B[i, j]", "B")], Refused("uses the stream `B`")),
            (
                &[
                    ("  array B", "  transient scalar own: f64\n  array B"),
                    (
                        "double.b -> elements.B: B[i, j]",
                        "access own\n      double.b -> own: own\n      own -> elements.B: own -> B[i, j]",
                    ),
                ],
                TAKEN,
            ),
            (
                &[
                    ("  array B", "  transient array own: f64[128]\n  array B"),
                    (
                        "double.b -> elements.B: B[i, j]",
                        "access own\n      double.b -> own: own[0]\n      own -> elements.B: own[0] -> B[i, j]",
                    ),
                ],
                TAKEN,
            ),
            (
                &[
                    ("  array B", "  transient array own: f64[129]\n  array B"),
                    (
                        "double.b -> elements.B: B[i, j]",
                        "access own\n      double.b -> own: own[0]\n      own -> elements.B: own[0] -> B[i, j]",
                    ),
                ],
                Refused("`own` is a transient of each iteration, and its size is no small constant"),
            ),
            (
                &[
                    ("  array B", "  transient array own: f64[N]\n  array B"),
                    (
                        "double.b -> elements.B: B[i, j]",
                        "access own\n      double.b -> own: own[0]\n      own -> elements.B: own[0] -> B[i, j]",
                    ),
                ],
                Refused("`own` is a transient of each iteration, and its size is no small constant"),
            ),
            (
                &[
                    (
                        "    map elements [i = 0:N, j = 0:M] {\n",
                        "    map elements [i = 0:N, j = 0:M] {\n      nested f (x) -> (y) sdfg f {\n        scalar x: f64\n        scalar y: f64\n        state s {\n          access x\n          access y\n          x -> y\n        }\n      }\n",
                    ),
                    ("      tasklet double (a) -> (b) { b = 2.0 * a }\n", ""),
                    ("double.a", "f.x"),
                    ("double.b", "f.y"),
                ],
                Refused("is no tasklet, and lanes run only tasklets and copies"),
            ),
            (
                &[
                    (
                        "      tasklet double (a) -> (b) { b = 2.0 * a }\n      elements.A -> double.a: A[i, j]\n      double.b -> elements.B: B[i, j]\n",
                        "      access own\n      elements.A -> own: A[i, 0:64] -> own[0:64]\n      own -> elements.B: own[0] -> B[i, j]\n",
                    ),
                    ("array A: f64[N, M]", "array A: f64[N, M + 64]\n  transient array own: f64[64]"),
                ],
                TAKEN,
            ),
            (
                &[
                    (
                        "      tasklet double (a) -> (b) { b = 2.0 * a }\n      elements.A -> double.a: A[i, j]\n      double.b -> elements.B: B[i, j]\n",
                        "      access own\n      elements.A -> own: A[i, 0:65] -> own[0:65]\n      own -> elements.B: own[0] -> B[i, j]\n",
                    ),
                    ("array A: f64[N, M]", "array A: f64[N, M + 65]\n  transient array own: f64[65]"),
                ],
                Refused("copies elements of `A` whose number is no small constant"),
            ),
        ],
    );
}
