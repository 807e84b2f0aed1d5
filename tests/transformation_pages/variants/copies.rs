//! Changed programs of transformations that remove data, copies and access nodes.

use super::{Change, Refused, Taken, hold_changes};

#[test]
fn data_that_nothing_reads_go() {
    /// Another node in place of the map that computes squares.
    const SQUARED: &str = "    map squared [i = 0:N] {
      tasklet square (a) -> (s) { s = a * a }
      squared.A -> square.a: A[i]
      square.s -> squared.squares: squares[i]
    }
";
    const NO_EDGE: Change = ("    A -> squared.A\n", "");
    const ZEROED: Change = (
        "    access squares\n",
        "    map zero [i = 0:N] {
      tasklet none () -> (z) { z = 0 }
      none.z -> zero.squares: squares[i]
    }
    access zeroed = squares
    zero.squares -> zeroed
    order zeroed -> squared
    access squares
",
    );
    hold_changes(
        "DeadDataflowElimination",
        &[
            (&[], Taken(&["map scaled"], &["map squared", "squares"])),
            (&[("squares: f64[N]", "squares: f64[N] lifetime(persistent)")], Taken(&[], &["squares"])),
            (&[("transient array squares", "array squares")], Refused("is an argument or a constant")),
            // The sum goes, and the zeros that it begins with stay for a second step.
            (
                &[ZEROED, ("squared.squares: squares[i]", "squared.squares: squares[i] wcr(sum)")],
                Taken(&["map zero", "squares"], &["map squared"]),
            ),
            (
                &[(
                    "    access squares\n",
                    "    access squares\n    access last = B\n    squares -> last: squares[0] -> B[0]\n    order B -> last\n",
                )],
                Refused("`squares`"),
            ),
            (
                &[
                    ("  array B: f64[N]\n", "  array B: f64[N]\n  array C: f64[N]\n"),
                    ("(s) { s = a * a }", "(s, t) { s = a * a; t = a }"),
                    ("squares: squares[i]\n", "squares: squares[i]\n      square.t -> squared.C: C[i]\n"),
                    ("    access squares\n", "    access squares\n    access C\n    squared.C -> C\n"),
                ],
                Refused("is needed by `C`, too"),
            ),
            (
                &[
                    ("transient array squares: f64[N]", "transient stream squares: f64"),
                    ("squares[i]", "squares"),
                ],
                Refused("is a stream, a view or a reference"),
            ),
            (
                &[("{ s = a * a }", "external s = f(a) from library \"f\"")],
                Refused("does more than compute values"),
            ),
            (
                &[
                    ("  transient array", "  transient stream Q: f64\n  transient array"),
                    ("squared.A -> square.a: A[i]", "squared.Q -> square.a: Q"),
                    (
                        "    A -> squared.A\n",
                        "    map fill [i = 0:N] {\n      tasklet f () -> (q) { q = i }\n      f.q -> fill.Q: Q\n    }\n    access Q\n    fill.Q -> Q\n    Q -> squared.Q\n",
                    ),
                ],
                Refused("does more than compute values"),
            ),
            (
                &[
                    (SQUARED, ""),
                    NO_EDGE,
                    ("squared.squares -> squares", "A -> squares: A[0:N] -> squares[0:N]"),
                ],
                Taken(&["map scaled"], &["squares"]),
            ),
            (
                &[
                    (SQUARED, "    tasklet one () -> (s) { s = 1 }\n"),
                    NO_EDGE,
                    ("squared.squares -> squares", "one.s -> squares: squares[0]"),
                ],
                Taken(&["map scaled"], &["squares", "one"]),
            ),
            (
                &[
                    (SQUARED, "    reduce total wcr(sum) axes(0) identity(0.0)\n"),
                    ("A -> squared.A", "A -> total: A[0:N]"),
                    ("squared.squares -> squares", "total -> squares: squares[0:1]"),
                ],
                Taken(&["map scaled"], &["squares", "total"]),
            ),
            (
                &[(
                    "    squared.squares -> squares\n  }\n",
                    "    squared.squares -> squares\n  }\n  if large: squares[0] > 4.0 {\n    state more {\n      access B\n      tasklet one () -> (b) { b = 1 }\n      one.b -> B: B[0]\n    }\n  }\n",
                )],
                Refused("`squares`"),
            ),
            (
                &[(
                    "    squared.squares -> squares\n  }\n",
                    "    squared.squares -> squares\n  }\n  state more {\n    access squares\n    access B\n    squares -> B: squares[0] -> B[0]\n  }\n",
                )],
                Refused("`squares`"),
            ),
            // A write in another state needs the container.
            (
                &[(
                    "    squared.squares -> squares\n  }\n",
                    "    squared.squares -> squares\n  }\n  state more {\n    access squares\n    tasklet one () -> (s) { s = 1 }\n    one.s -> squares: squares[0]\n  }\n",
                )],
                Taken(&["transient array squares"], &["map squared"]),
            ),
        ],
    );
}

#[test]
fn copies_of_whole_arrays_go() {
    const AFTER: &str = "    elements.B -> B\n  }\n";
    hold_changes(
        "RedundantSecondArray",
        &[
            (&[], Taken(&["A -> elements.A_copy"], &["A_copy: f64", "access A_copy"])),
            (
                &[("transient array A_copy", "array A_copy")],
                Refused("`A_copy` is no transient array or scalar"),
            ),
            (&[("A_copy: f64[N]", "A_copy: f32[N]")], Refused("has another type than `A_copy`")),
            (
                &[
                    ("A_copy: f64[N]", "A_copy: f64[N + 1]"),
                    ("A -> A_copy\n", "A -> A_copy: A[0:N] -> A_copy[0:N]\n"),
                ],
                Refused("`A_copy` is not copied as a whole"),
            ),
            (
                &[
                    ("array A: f64[N]", "array A: f64[N + 1]"),
                    ("A -> A_copy\n", "A -> A_copy: A[0:N] -> A_copy[0:N]\n"),
                ],
                Refused("`A` is not copied as a whole"),
            ),
            (
                &[("A -> A_copy\n", "A -> A_copy: A[0:N] -> A_copy[0:N] wcr(sum)\n")],
                Refused("is not simply copied to the array"),
            ),
            (
                &[
                    ("array B: f64[N]", "array B: f64[N]\n  array C: f64[N]"),
                    ("    access B\n", "    access B\n    access C\n    A_copy -> C\n"),
                ],
                Taken(&["A -> C"], &["A_copy: f64"]),
            ),
            (
                &[("    access B\n", "    access B\n    order A_copy -> B\n")],
                Refused("does not simply read the transient"),
            ),
            (&[("access B\n", "access B = A\n"), ("elements.B: B[i]", "elements.B: A[i]")], Refused("`A`")),
            (
                &[(
                    AFTER,
                    "    elements.B -> B\n    access again = A\n    again -> B_1: A[0] -> B[0]\n    access B_1 = B\n    order B -> again\n  }\n",
                )],
                Refused("`A`"),
            ),
            (
                &[(
                    AFTER,
                    "    elements.B -> B\n  }\n  state more {\n    access A_copy\n    access B\n    A_copy -> B: A_copy[0] -> B[0]\n  }\n",
                )],
                Refused("`A_copy`"),
            ),
            // Other states may change the array.
            (
                &[(
                    AFTER,
                    "    elements.B -> B\n  }\n  state more {\n    access A\n    access B\n    B -> A\n  }\n",
                )],
                Taken(&["A -> elements.A_copy", "B -> A"], &["A_copy: f64"]),
            ),
            (
                &[(
                    AFTER,
                    "    elements.B -> B\n  }\n  if large: A_copy[0] > 1.0 {\n    state more {\n      access A\n      access B\n      B -> A\n    }\n  }\n",
                )],
                Refused("`A_copy`"),
            ),
            (
                &[
                    ("  transient array", "  view V: f64[N]\n  transient array"),
                    (
                        AFTER,
                        "    elements.B -> B\n  }\n  state more {\n    access A\n    access V\n    access B\n    bind A -> V: A[0:N]\n    B -> V\n  }\n",
                    ),
                ],
                Refused("`A` has a view or reference"),
            ),
            (
                &[
                    (
                        "    access A_copy\n",
                        "    access A_copy\n    tasklet two () -> (o) { o = 2 }\n    two.o -> A_copy: A_copy[N - 1]\n",
                    ),
                    ("array A: f64[N]", "array A: f64[N - 1]"),
                    ("A -> A_copy\n", "A -> A_copy: A[0:N - 1] -> A_copy[0:N - 1]\n"),
                ],
                Refused("is written by others, too"),
            ),
        ],
    );
}

#[test]
fn access_nodes_of_equal_elements_become_one() {
    hold_changes(
        "MergeReads",
        &[
            (&[], Taken(&["A -> B", "A -> C"], &["A_1"])),
            (
                &[("    A_1 -> C\n", "    A_1 -> C\n    order B -> A_1\n")],
                Refused("has elements that no other access node has, or is not ordered behind it"),
            ),
            (
                &[(
                    "    A_1 -> C\n",
                    "    tasklet t (a) -> (c) { c = a }\n    A_1 -> t.a: A[0]\n    t.c -> C: C[0]\n    order B -> A_1\n",
                )],
                Taken(&["A -> t.a: A[0]", "order B -> t"], &["A_1"]),
            ),
            (
                &[("access A_1 = A", "access A_1 = B"), ("A_1 -> C", "A_1 -> C\n    order B -> A_1")],
                Taken(&["B -> C"], &["A_1", "order"]),
            ),
            // A write comes between: the reader goes to the node of the new elements.
            (
                &[(
                    "    A_1 -> C\n",
                    "    tasklet one () -> (o) { o = 1 }\n    access W = A\n    one.o -> W: A[0]\n    order B -> one\n    order W -> A_1\n    A_1 -> C\n",
                )],
                Taken(&["W -> C", "A -> B"], &["A_1"]),
            ),
            (
                &[(
                    "    A_1 -> C\n",
                    "    A_1 -> C\n    tasklet one () -> (o) { o = 1 }\n    access W = A\n    one.o -> W: A[0]\n    order B -> one\n    order C -> one\n",
                )],
                Taken(&["A -> C", "order C -> one"], &["A_1"]),
            ),
            (
                &[
                    ("array A: f64[N]", "stream A: f64"),
                    ("    A_1 -> C\n", "    A_1 -> C\n    order B -> A_1\n"),
                ],
                Refused("is a stream"),
            ),
            (&[("    A_1 -> C\n", "")], Refused("is read by nothing")),
            (
                &[
                    (
                        "    A_1 -> C\n",
                        "    map m [i = 0:N] {\n      access T\n      access T_1 = T\n      tasklet t (a) -> (c) { c = a + i }\n      m.A -> t.a: A[i]\n      t.c -> T: T\n      tasklet u (a) -> (c) { c = a }\n      T_1 -> u.a: T\n      order T -> T_1\n      u.c -> m.C: C[i]\n    }\n    A -> m.A\n    m.C -> C\n",
                    ),
                    ("    access A_1 = A\n", ""),
                    ("  array B", "  transient scalar T: f64\n  array B"),
                ],
                Refused("is in a scope"),
            ),
            (
                &[
                    ("  array B", "  view V: f64[N]\n  array B"),
                    (
                        "    A_1 -> C\n",
                        "    access V\n    access V_1 = V\n    bind A -> V: A[0:N]\n    V -> C\n",
                    ),
                    ("    access A_1 = A\n", ""),
                    ("    access V_1 = V\n", ""),
                ],
                Refused("is a view or reference"),
            ),
        ],
    );
}

#[test]
fn tasklets_that_hand_on_become_copies() {
    const VIEW: Change = ("  array B", "  view V: f64[N]\n  array B");
    hold_changes(
        "TrivialTaskletElimination",
        &[
            (&[], Taken(&["A -> B: A[0] -> B[N - 1]"], &["tasklet"])),
            (
                &[("B[N - 1]", "B[N - 1] wcr(sum)")],
                Taken(&["A -> B: A[0] -> B[N - 1] wcr(sum)"], &["tasklet"]),
            ),
            (&[("o = i", "o = i + 1")], Refused("does more than to hand its input on")),
            (&[("o = i", "o = 1")], Refused("does more than to hand its input on")),
            (&[("o = i", "o = N")], Refused("does more than to hand its input on")),
            (&[("o = i", "o: f64 = i")], Refused("does more than to hand its input on")),
            (&[("o = i", "o = i; o = i")], Refused("does more than to hand its input on")),
            (&[("o = i", "j = i")], Refused("does more than to hand its input on")),
            (
                &[
                    ("(i) -> (o) { o = i }", "(i, j) -> (o) { o = i }"),
                    ("A -> hand_on.i: A[0]", "A -> hand_on.i: A[0]\n    A -> hand_on.j: A[0]"),
                ],
                Refused("does more than to hand its input on"),
            ),
            (
                &[
                    ("(i) -> (o) { o = i }", "(i) -> (o, p) { o = i }"),
                    ("hand_on.o -> B: B[N - 1]", "hand_on.o -> B: B[N - 1]\n    hand_on.p -> B: B[0]"),
                ],
                Refused("does more than to hand its input on"),
            ),
            (
                &[("{ o = i }", "external o = f(i) from library \"f\"")],
                Refused("does more than to hand its input on"),
            ),
            (
                &[("A -> hand_on.i: A[0]", "A -> hand_on.i: A[0]\n    access Z = B\n    order Z -> hand_on")],
                Refused("has other edges than those of one input and one output"),
            ),
            (
                &[("    hand_on.o", "    access C = A\n    order hand_on -> C\n    hand_on.o")],
                Refused("has other edges than those of one input and one output"),
            ),
            (
                &[("B[N - 1]", "B[N - 1] dynamic")],
                Refused("has other edges than those of one input and one output"),
            ),
            (&[("A[0]", "A[0] dynamic")], Refused("has other edges than those of one input and one output")),
            (&[("array B: f64", "array B: f32")], Refused("converts its input to another type")),
            (&[("array A: f64", "array A: f32")], Refused("converts its input to another type")),
            (&[("hand_on (i)", "hand_on (i: f32)")], Refused("converts its input to another type")),
            (&[("(o) {", "(o: f32) {")], Refused("converts its input to another type")),
            (&[("(i) -> (o)", "(i: f64) -> (o: f64)")], Taken(&["A -> B"], &["tasklet"])),
            (
                &[("access B", "access B = A"), ("B: B[N - 1]", "B: A[N - 1]")],
                Refused("`A` is copied to itself"),
            ),
            (&[("A[0]", "A[0:1]")], Taken(&["A -> B"], &["tasklet"])),
            (
                &[("A[0]", "A[0:N]"), ("B[N - 1]", "B[0:N]")],
                Refused("`A` is not accessed at one element of an array"),
            ),
            (
                &[
                    VIEW,
                    ("    access B\n", "    access V\n    access B\n    bind A -> V: A[0:N]\n"),
                    ("A -> hand_on.i: A[0]", "V -> hand_on.i: V[0]"),
                ],
                Refused("`V` is not accessed at one element of an array"),
            ),
            (
                &[
                    VIEW,
                    ("    access B\n", "    access V\n    access B\n    bind V -> B: B[0:N]\n"),
                    ("hand_on.o -> B: B[N - 1]", "hand_on.o -> V: V[0]"),
                ],
                Refused("`V` is not accessed at one element of an array"),
            ),
        ],
    );
}
