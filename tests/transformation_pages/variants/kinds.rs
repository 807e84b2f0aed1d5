//! Changed programs whose containers are of another kind, in another memory, or live longer.

use super::{Change, Refused, TAKEN, Taken, hold_changes, hold_parameters};

#[test]
fn other_containers_between_maps_stay() {
    hold_changes(
        "MapFusion",
        &[
            (
                &[("array sum: f64[N]", "stream sum: f64"), ("sum[i]", "sum"), ("sum[k]", "sum")],
                Refused("`sum` is no transient array"),
            ),
            (
                &[
                    ("transient array sum", "view sum"),
                    ("  array A", "  array C: f64[N]\n  array A"),
                    ("    access sum\n", "    access sum\n    access C\n    bind sum -> C: C[0:N]\n"),
                ],
                Refused("`sum` is no transient array"),
            ),
            (&[("sum: f64[N]", "sum: f64[N] storage(cpu_heap)")], Taken(&["scalar sum"], &[])),
            (&[("sum: f64[N]", "sum: f32[N]")], Taken(&["scalar sum: f32"], &[])),
        ],
    );
    hold_changes(
        "BufferTiling",
        &[
            (
                &[("array T: f64[N]", "array T: f64[N] lifetime(external)")],
                Refused("`T` lies in memory of the caller"),
            ),
            (&[("array T: f64[N]", "array T: f64[N] lifetime(persistent)")], Taken(&["T: f64[66]\n"], &[])),
            (&[("array T: f64[N]", "array T: f32[N]")], Taken(&["T: f32[66]"], &[])),
        ],
    );
    hold_changes(
        "MapReduceFusion",
        &[
            (
                &[("T: f64[N, N]", "T: f64[N, N] lifetime(external)")],
                Refused("`T` lies in memory of the caller"),
            ),
            (&[("T: f64[N, N]", "T: f64[N, N] lifetime(persistent)")], TAKEN),
            (
                &[("T: f64[N, N]", "T: f64[N, N] storage(cpu_heap)")],
                Refused("`T` lies in another memory than `B`"),
            ),
            (
                &[
                    ("T: f64[N, N]", "T: f64[N, N] storage(cpu_heap)"),
                    ("B: f64[N]", "B: f64[N] storage(cpu_heap)"),
                ],
                TAKEN,
            ),
            (
                &[
                    ("  array B: f64[N]", "  array C: f64[N]\n  view B: f64[N]"),
                    ("    access B\n", "    access B\n    access C\n    bind B -> C: C[0:N]\n"),
                ],
                Refused("`B` is a view, reference, stream or constant"),
            ),
            (
                &[(
                    "    access B\n",
                    "    access B\n    access C = B\n    tasklet one () -> (o) { o = 1 }\n    one.o -> C: B[0]\n    order C -> square\n",
                )],
                TAKEN,
            ),
            (
                &[
                    ("axes(1)", "axes(1) identity(0.0)"),
                    (
                        "    access B\n",
                        "    access B\n    access C = B\n    tasklet one () -> (o) { o = 1 }\n    one.o -> C: B[0]\n    order C -> square\n",
                    ),
                ],
                Refused("`B` is used elsewhere"),
            ),
            (&[("axes(1)", "axes(1) identity(0.0)")], Taken(&["= 0.0"], &["reduce"])),
            (&[("rows -> B: B[0:N]", "rows -> B: B[0:N] wcr(sum)")], TAKEN),
            (
                &[("rows -> B: B[0:N]", "rows -> B: B[0:N] wcr(max)")],
                Refused("writes with another resolution than its own"),
            ),
            (
                &[("rows -> B: B[0:N]", "rows -> B: B[1:N + 1]"), ("B: f64[N]", "B: f64[N + 1]")],
                Taken(&["B[i + 1] wcr(sum)"], &["reduce"]),
            ),
            (
                &[("rows -> B: B[0:N]", "rows -> B: B[0:2*N:2]"), ("B: f64[N]", "B: f64[2*N]")],
                Taken(&["B[2*i] wcr(sum)"], &["reduce"]),
            ),
            (&[("axes(1)", "axes(0)")], Taken(&["B[j] wcr(sum)"], &["reduce"])),
            (
                &[(" axes(1)", ""), ("rows -> B: B[0:N]", "rows -> B: B[0]")],
                Taken(&["B[0] wcr(sum)"], &["reduce"]),
            ),
            (
                &[("t.y -> square.T: T[i, j]", "t.y -> square.T: T[i, j] dynamic")],
                Refused("does not write one element in each iteration"),
            ),
        ],
    );
}

#[test]
fn other_containers_that_are_copied_stay() {
    hold_changes(
        "RedundantArray",
        &[
            (
                &[
                    ("  array B: f64[N]", "  array C: f64[N]\n  view B: f64[N]"),
                    ("    access B\n", "    access B\n    access C\n    bind B -> C: C[0:N]\n"),
                ],
                Refused("`B` is no array or scalar"),
            ),
            (
                &[("array B: f64[N]", "stream B: f64"), ("doubled -> B", "doubled -> B: doubled[0:N] -> B")],
                Refused("`doubled` is not copied as a whole"),
            ),
            (
                &[("doubled: f64[N]", "doubled: f64[N] storage(cpu_heap)")],
                Refused("`B` is in another memory than `doubled`"),
            ),
            (&[("doubled: f64[N]", "doubled: f64[N] lifetime(persistent)")], Taken(&[], &["doubled: f64"])),
            (&[("B: f64[N]", "B: f32[N]")], Refused("`B` has another type than `doubled`")),
        ],
    );
    hold_changes(
        "RedundantSecondArray",
        &[
            (
                &[
                    ("array A: f64[N]", "constant array A: f64[3] = [1.0, 2.0, 3.0]"),
                    ("f64[N]", "f64[3]"),
                    ("0:N", "0:3"),
                ],
                Refused("`A` is no array or scalar"),
            ),
            (
                &[
                    ("  array A: f64[N]", "  array C: f64[N]\n  view A: f64[N]"),
                    ("    access A\n", "    access A\n    access C\n    bind C -> A: C[0:N]\n"),
                ],
                Refused("`A` is no array or scalar"),
            ),
            (
                &[("A_copy: f64[N]", "A_copy: f64[N] storage(cpu_heap)")],
                Refused("`A` is in another memory than `A_copy`"),
            ),
        ],
    );
    hold_changes(
        "RedundantReadSlice",
        &[
            (
                &[("middle: f64[N]", "middle: f64[N] storage(cpu_heap)")],
                Refused("has another type, or is in another memory"),
            ),
            (&[("middle: f64[N]", "middle: f32[N]")], Refused("has another type, or is in another memory")),
        ],
    );
    hold_changes(
        "TaskletFusion",
        &[
            (
                &[("scalar s: f64", "scalar s: f64 lifetime(external)")],
                Refused("`s` lies in memory of the caller"),
            ),
            (&[("transient scalar s: f64", "transient stream s: f64")], Refused("s")),
            (
                &[("scalar s: f64", "array s: f64[2]"), ("s: s", "s: s[1]"), ("x: s", "x: s[1]")],
                Refused("is no scalar of a plain type"),
            ),
        ],
    );
}

#[test]
fn other_buffers_are_not_doubled() {
    hold_parameters(
        "DoubleBuffering",
        &[
            (
                "",
                &[("array T: f64[8]", "array T: f64[8] lifetime(persistent)")],
                Refused("may keep elements from one iteration to another, or is used elsewhere"),
            ),
            (
                "",
                &[("array T: f64[8]", "array T: f64[8] storage(cpu_heap)")],
                Taken(&["T: f64[2, 8] storage(cpu_heap)"], &[]),
            ),
            (
                "",
                &[
                    ("transient array T: f64[8]", "transient stream T: f64"),
                    ("T[0:8]", "T"),
                    ("T[7 - j]", "T"),
                ],
                Refused("`T` is no transient array or scalar"),
            ),
            (
                "",
                &[(
                    "      T -> m.T\n",
                    "      T -> m.T\n      access C = B\n      T -> C: T[0] -> B[i, 0]\n      order C -> m\n",
                )],
                TAKEN,
            ),
            (
                "",
                &[(
                    "      access B\n",
                    "      access B\n      access more = T\n      tasklet one () -> (o) { o = 1 }\n      one.o -> more: T[0]\n      order m -> one\n",
                )],
                Refused("`T` has not exactly one access node in the body"),
            ),
            (
                "",
                &[("    state s {", "    state before {}\n    state s {")],
                Refused("has a body of several blocks"),
            ),
            ("", &[("i = 0:N {", "i = 1:N:2 {")], Taken(&["T[0, 0:8]"], &[])),
            ("", &[("i = 0:N {", "i = 3:2 {"), ("f64[N, 8]", "f64[N + 4, 8]")], Refused("has no iterations")),
            ("", &[("i = 0:N {", "i = 0:N - 3 {")], Taken(&["if "], &[])),
            (
                "",
                &[("i = 0:N {", "i = 0:4 {"), ("f64[N, 8]", "f64[4, 8]")],
                Taken(&["T: f64[2, 8]"], &["if "]),
            ),
            (
                "",
                &[(
                    "T -> m.T",
                    "T -> m.T\n      A -> again.x: A[i, 0]\n      tasklet again (x) -> (y) { y = x }\n      again.y -> last: B[i, 0]\n      access last = B\n      order last -> m",
                )],
                TAKEN,
            ),
        ],
    );
}

#[test]
fn conditions_over_other_numbers_are_not_decided() {
    const SCALAR: Change = ("  array A", "  scalar n: i64\n  array A");
    hold_changes(
        "DeadStateElimination",
        &[
            (&[("symbol N: i64", "symbol N: i32")], Taken(&["a = 1.0"], &["a = 0.0"])),
            // The sum of an `i32` may wrap.
            (
                &[("symbol N: i64", "symbol N: i32"), ("N >= 0", "N + 1 > 0")],
                Refused("has arms that may all be taken"),
            ),
            (&[SCALAR, ("N >= 0", "n * n >= 0")], Refused("has arms that may all be taken")),
            (&[("N >= 0", "N * N >= 0")], Taken(&["a = 1.0"], &["a = 0.0"])),
            (&[("N >= 0", "not N >= 0")], Taken(&["a = 0.0"], &["a = 1.0"])),
            (&[("N >= 0", "N >= 0 and N < 0")], Taken(&["a = 0.0"], &["a = 1.0"])),
            (&[("N >= 0", "N < 0 and A[0] > 0.0")], Taken(&["a = 0.0"], &["a = 1.0"])),
            (&[("N >= 0", "N >= 0 and A[0] > 0.0")], Refused("has arms that may all be taken")),
            (&[("N >= 0", "A[0] > 0.0 and N < 0")], Refused("has arms that may all be taken")),
            (&[("N >= 0", "N >= 0 or A[0] > 0.0")], Taken(&["a = 1.0"], &["a = 0.0"])),
            (&[("N >= 0", "N < 0 or A[0] > 0.0")], Refused("has arms that may all be taken")),
            (&[("N >= 0", "N > -1")], Taken(&["a = 1.0"], &["a = 0.0"])),
            (&[("N >= 0", "N == -1")], Taken(&["a = 0.0"], &["a = 1.0"])),
            (&[("N >= 0", "N != -1")], Taken(&["a = 1.0"], &["a = 0.0"])),
            (&[("N >= 0", "N != 3")], Refused("has arms that may all be taken")),
            (&[("N >= 0", "N <= -1")], Taken(&["a = 0.0"], &["a = 1.0"])),
            (&[("N >= 0", "0 <= N < 0")], Refused("has arms that may all be taken")),
            (&[("N >= 0", "True")], Taken(&["a = 1.0"], &["a = 0.0"])),
            (&[("N >= 0", "False")], Taken(&["a = 0.0"], &["a = 1.0"])),
        ],
    );
}

#[test]
fn empty_bodies_stay() {
    const ADD: Change = (
        "    state add {
      access A
      access before = sums
      access after = sums
      tasklet plus (s, a) -> (t) { t = s + a }
      before -> plus.s: sums[i]
      A -> plus.a: A[i]
      plus.t -> after: sums[i + 1]
    }
",
        "",
    );
    hold_changes("LoopPeeling", &[(&[ADD], Refused("has an empty body"))]);
    const FORTH: Change = (
        "    state forth {
      access A
      access B
      map cells [i = 1:N - 1] {
        tasklet average (left, right) -> (o) { o = 0.5 * (left + right) }
        cells.A -> average.left: A[i - 1]
        cells.A -> average.right: A[i + 1]
        average.o -> cells.B: B[i]
      }
      A -> cells.A
      cells.B -> B
    }
",
        "",
    );
    const BACK: Change = (
        "    state back {
      access B
      access A
      map again [i = 1:N - 1] {
        tasklet hand_on (x) -> (o) { o = x }
        again.B -> hand_on.x: B[i]
        hand_on.o -> again.A: A[i]
      }
      B -> again.B
      again.A -> A
    }
",
        "",
    );
    hold_changes(
        "DiamondTiling",
        &[
            (&[FORTH, BACK], Refused("has a body that is no row of blocks")),
            (&[BACK], TAKEN),
            // No transition leads to the second state.
            (
                &[("    state back {", "    -> end\n    state back {")],
                Refused("has a body that is no row of blocks"),
            ),
        ],
    );
}

/// All elements of the transient, written by one tasklet.
#[test]
fn dimensions_that_a_writer_needs_stay() {
    const MAP: &str = "    map elements [i = 0:N] {
      tasklet double (a) -> (b) { b = 2.0 * a }
      elements.A -> double.a: A[i]
      double.b -> elements.doubled: doubled[i]
    }
";
    const TASKLET: &str = "    tasklet double (a) -> (b) {
      for i in range(N):
          b[INDEX] = 2.0 * a[i]
    }
";
    const IN: Change = ("A -> elements.A", "A -> double.a: A[0:N]");
    hold_changes(
        "RedundantArray",
        &[
            (
                &[
                    (MAP, TASKLET),
                    ("INDEX", "i"),
                    IN,
                    ("elements.doubled -> doubled", "double.b -> doubled: doubled[0:N]"),
                ],
                Refused("it is not proved that every execution of the state writes all of `doubled`"),
            ),
            (
                &[
                    (MAP, TASKLET),
                    ("INDEX", "0, i"),
                    IN,
                    ("elements.doubled -> doubled", "double.b -> doubled: doubled[0:1, 0:N]"),
                    ("doubled: f64[N]", "doubled: f64[1, N]"),
                    ("B: f64[N]", "B: f64[N, 4]"),
                    ("doubled -> B", "doubled -> B: doubled[0:1, 0:N] -> B[0:N, 3]"),
                ],
                Refused("needs the dimensions of the transient"),
            ),
            (
                &[
                    (MAP, TASKLET),
                    ("INDEX", "i, 0"),
                    IN,
                    ("elements.doubled -> doubled", "double.b -> doubled: doubled[0:N, 0:1]"),
                    ("doubled: f64[N]", "doubled: f64[N, 1]"),
                    ("B: f64[N]", "B: f64[N + 1]"),
                    ("doubled -> B", "doubled -> B: doubled[0:N, 0:1] -> B[1:N + 1]"),
                ],
                Refused("needs the dimensions of the transient"),
            ),
        ],
    );
}

/// A refusal names the other use, whether it stands before or behind that of the match.
#[test]
fn other_uses_are_named() {
    const LONGER: Change = ("sum: f64[N]", "sum: f64[N + 1]");
    hold_changes(
        "MapFusion",
        &[
            (
                &[
                    LONGER,
                    (
                        "    access sum\n",
                        "    access sum\n    tasklet none () -> (z) { z = 0 }\n    none.z -> sum: sum[N]\n",
                    ),
                ],
                Refused("none.z -> sum"),
            ),
            (
                &[
                    LONGER,
                    (
                        "    add.sum -> sum\n",
                        "    add.sum -> sum\n    tasklet none () -> (z) { z = 0 }\n    none.z -> sum: sum[N]\n",
                    ),
                ],
                Refused("none.z -> sum"),
            ),
        ],
    );
    hold_changes(
        "RedundantReadSlice",
        &[
            (
                &[
                    ("transient array middle", "view middle"),
                    ("A -> middle: A[1:N + 1] -> middle[0:N]", "bind A -> middle: A[1:N + 1]"),
                    (
                        "    m.B -> B\n  }\n",
                        "    m.B -> B\n    access again = middle\n    access A_1 = A\n    access B_1 = B\n    order B -> A_1\n    bind A_1 -> again: A[1:N + 1]\n    again -> B_1: middle[0] -> B[0]\n  }\n",
                    ),
                ],
                Refused("`middle` is used elsewhere"),
            ),
            (
                &[
                    ("transient array middle", "view middle"),
                    ("A -> middle: A[1:N + 1] -> middle[0:N]", "bind A -> middle: A[1:N + 1]"),
                    (
                        "    m.B -> B\n  }\n",
                        "    m.B -> B\n  }\n  state more {\n    access middle\n    access A\n    access B\n    bind A -> middle: A[1:N + 1]\n    middle -> B: middle[0] -> B[0]\n  }\n",
                    ),
                ],
                Taken(&["A[i + 1]"], &[]),
            ),
        ],
    );
}
