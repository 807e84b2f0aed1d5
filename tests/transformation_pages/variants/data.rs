//! Changed programs of transformations of data, tasklets and scalars.

use super::{Change, Refused, TAKEN, Taken, hold_changes, hold_parameters};

/// Zeros for elements of `C`, in front of the product.
const ZEROS: Change = (
    "    map pairs",
    "    access zeroed = C
    map zero [p = 0:N, q = 0:N] {
      tasklet none () -> (z) { z = 0 }
      none.z -> zero.C: C[p, q]
    }
    zero.C -> zeroed
    order zeroed -> pairs
    map pairs",
);

#[test]
fn products_become_library_nodes() {
    hold_changes(
        "LiftToLibrary",
        &[
            (&[("a * b", "b * a")], TAKEN),
            (&[("B[j, k]", "B[k, j]")], Taken(&["(_a, _b) -> (_c)\n"], &["trans"])),
            (&[("A[i, k]", "A[k, i]")], Taken(&["transA = True", "transB = True"], &[])),
            (&[("C[i, j]", "C[j, i]")], Taken(&["B -> \"pairs.product0\"._a"], &[])),
            (&[("k = 0:N", "k = N - 1:-1:-1")], TAKEN),
            // One factor is the same for all matrices of a batch.
            (
                &[
                    ("i = 0:N", "p = 0:2, i = 0:N"),
                    ("array A: f64[N, N]", "array A: f64[2, N, N]"),
                    ("A[i, k]", "A[p, i, k]"),
                    ("array C: f64[N, N]", "array C: f64[2, N, N]"),
                    ("C[i, j]", "C[p, i, j]"),
                ],
                Taken(&["A[0:2, 0:N, 0:N]", "B[0:N, 0:N]"], &[]),
            ),
            (
                &[
                    ("i = 0:N", "p = 0:2, i = 0:N"),
                    ("array C: f64[N, N]", "array C: f64[2, N, N]"),
                    ("C[i, j]", "C[p, i, j]"),
                ],
                Refused("has not the indices of a matrix product"),
            ),
            (&[("a * b", "a + b")], Refused("is no product of two elements")),
            (&[("a * b", "a * a")], Refused("is no product of two elements")),
            (&[("c = a * b", "c = a * b\n      c = c * 2")], Refused("is no product of two elements")),
            (&[(" wcr(sum)", "")], Refused("computes no sum")),
            (&[("wcr(sum)", "wcr(max)")], Refused("computes no sum")),
            (&[("A[i, k]", "A[i, i]")], Refused("is no parameter of it, or one twice")),
            (&[("A[i, k]", "A[i, 0]")], Refused("is no parameter of it, or one twice")),
            (&[("C[i, j]", "C[i, k]")], Refused("has not the indices of a matrix product")),
            (&[("B[j, k]", "B[i, k]")], Refused("has not the indices of a matrix product")),
            (&[("k = 0:N", "k = 0:N, l = 0:2")], Refused("has not the indices of a matrix product")),
            (&[("k = 0:N", "k = 0:j")], Refused("depends on `j`")),
            (&[("k = 0:N", "k = 0:N:4:4")], Refused("in tiles")),
            (&[("k = 0:N", "k = 5:N"), ("f64[N, N]", "f64[N + 5, N + 5]")], Refused("5 <= N")),
            (&[("array B: f64", "array B: f32")], Refused("`B` has elements of another type, or vectors")),
            (&[("array A: f64", "array A: f32")], Refused("`A` has elements of another type, or vectors")),
            (&[ZEROS], Taken(&["\"pairs.product0\"._c -> C: C[0:N, 0:N]\n"], &["wcr(sum)", "zero"])),
            (&[ZEROS, ("z = 0", "z = 1")], Taken(&["wcr(sum)", "map zero"], &[])),
            (&[ZEROS, ("p = 0:N", "p = 0:N - 1")], Taken(&["wcr(sum)", "map zero"], &[])),
            (
                &[
                    ("access C", "access C = A"),
                    ("pairs.C: C[i, j]", "pairs.C: A[i, j]"),
                    ("j = 0:N", "j = N:2 * N"),
                    ("A: f64[N, N]", "A: f64[N, 2 * N]"),
                    ("B: f64[N, N]", "B: f64[2 * N, N]"),
                ],
                TAKEN,
            ),
            (
                &[("access C", "access C = A"), ("pairs.C: C[i, j]", "pairs.C: A[i, j]")],
                Refused("the factor `A[0:N, 0:N]` and the result `A[0:N, 0:N]`"),
            ),
            (
                &[
                    ("f64[N, N]", "f64[4, N, N]"),
                    ("i = 0:N,", "b = 0:4, i = 0:N,"),
                    ("A[i", "A[b, i"),
                    ("B[j", "B[b, j"),
                    ("C[i", "C[b, i"),
                ],
                Taken(&["A[0:4, 0:N, 0:N]", "C[0:4, 0:N, 0:N]"], &[]),
            ),
            (
                &[
                    ("f64[N, N]", "f64[N, N, N]"),
                    ("i = 0:N,", "b = 0:N, i = 0:N,"),
                    ("A[i", "A[b, i"),
                    ("B[j, k]", "B[k, b, j]"),
                    ("C[i", "C[b, i"),
                ],
                Refused("has not the indices of a matrix product"),
            ),
        ],
    );
}

#[test]
fn scalars_become_symbols() {
    hold_changes(
        "ScalarToSymbol",
        &[
            (&[("s + 1", "s - N")], Taken(&["sizes[0] - N"], &["scalar n"])),
            (&[("s + 1", "-s * 3")], TAKEN),
            (&[("s + 1", "s // 2 + s % 3")], TAKEN),
            (&[("s + 1", "N")], TAKEN),
            (&[("s + 1", "s / 2")], Refused("computes more than a transition")),
            (&[("add (s)", "add (s: f64)")], Refused("computes more than a transition")),
            (&[("-> (m) {", "-> (m: i32) {")], Refused("computes more than a transition")),
            (&[("add (s) -> (m)", "add (s: i64) -> (m: i64)")], Taken(&["n = sizes[0] + 1"], &["scalar n"])),
            (&[("s + 1", "s << 1")], Refused("computes more than a transition")),
            (&[("s + 1", "min(s, N)")], Refused("computes more than a transition")),
            (&[("s + 1", "1.0 + s")], Refused("computes more than a transition")),
            (&[("s + 1", "s + 1.0")], Refused("computes more than a transition")),
            (&[("m = s + 1", "m = s\n      m = m + 1")], Refused("computes more than a transition")),
            (&[("array sizes: i64", "array sizes: i32")], Refused("computes more than a transition")),
            (&[("n: n\n", "n: n wcr(sum)\n")], Refused("n")),
            (
                &[("transient scalar n: i64", "scalar n: i64")],
                Refused("is no transient that one run alone sees"),
            ),
            (
                &[("scalar n: i64", "scalar n: i64 lifetime(persistent)")],
                Refused("is no transient that one run alone sees"),
            ),
            (&[("scalar n: i64", "scalar n: i32")], Refused("is no scalar of type `i64`")),
            (
                &[
                    ("    tasklet add (s) -> (m) { m = s + 1 }\n", ""),
                    ("    sizes -> add.s: sizes[0]\n", ""),
                    ("add.m -> n: n", "sizes -> n: sizes[0] -> n"),
                ],
                Taken(&["n = sizes[0]"], &["scalar n"]),
            ),
            // The scalar is read by a tasklet, too.
            (
                &[
                    ("zero () -> (a) { a = 0.0 }", "zero (k) -> (a) { a = k }"),
                    ("access A\n", "access A\n      access n\n      n -> zero.k: n\n"),
                ],
                Taken(&["a = n"], &["scalar n"]),
            ),
            (
                &[
                    (
                        "zero () -> (a) { a = 0.0 }",
                        "zero (k) -> (a) {\n        k = 2\n        a = k\n      }",
                    ),
                    ("access A\n", "access A\n      access n\n      n -> zero.k: n\n"),
                ],
                Refused("gives another value to the connector that reads `n`"),
            ),
            (
                &[
                    (
                        "zero () -> (a) { a = 0.0 }",
                        "zero (k) -> (a) {\n        n = 2\n        a = k + n\n      }",
                    ),
                    ("access A\n", "access A\n      access n\n      n -> zero.k: n\n"),
                ],
                Refused("gives another meaning to the name `n`"),
            ),
            (
                &[
                    ("zero () -> (a) { a = 0.0 }", "zero (k: f64) -> (a) { a = k }"),
                    ("access A\n", "access A\n      access n\n      n -> zero.k: n\n"),
                ],
                Refused("converts `n`"),
            ),
            // A node of its own reads the value from before the state.
            (
                &[(
                    "    access n\n",
                    "    access n\n    access old = n\n    access A\n    tasklet use (k) -> (a) { a = k }\n    old -> use.k: n\n    use.a -> A: A[0]\n",
                )],
                Refused("may be read before it is written"),
            ),
            (
                &[
                    (
                        "  state size {\n    access sizes\n",
                        "  state begin {\n    access n\n    tasklet one () -> (m) { m = 1 }\n    one.m -> n: n\n  }\n  state size {\n    access sizes\n",
                    ),
                    (
                        "    access n\n    tasklet add",
                        "    access n\n    access old = n\n    access A\n    tasklet use (k) -> (a) { a = k }\n    old -> use.k: n\n    use.a -> A: A[0]\n    tasklet add",
                    ),
                ],
                Refused("is read beside the write of its state"),
            ),
            (
                &[(
                    "    access n\n",
                    "    access n\n    access A\n    tasklet use (k) -> (a) { a = k }\n    n -> use.k: n\n    use.a -> A: A[0]\n",
                )],
                Taken(&["a = n"], &["scalar n"]),
            ),
            (
                &[(
                    "    access n\n",
                    "    access n\n    access again = n\n    tasklet next () -> (m) { m = 2 }\n    next.m -> again: n\n    order n -> next\n",
                )],
                Refused("is written several times in a state"),
            ),
            (
                &[("array sizes: i64[1]", "transient array sizes: i64[1] lifetime(state)")],
                Refused("computes more than a transition"),
            ),
            (
                &[
                    ("s + 1", "s"),
                    (
                        "    sizes -> add.s: sizes[0]\n",
                        "    access part\n    bind sizes -> part: sizes[0:1]\n    part -> add.s: part[0]\n",
                    ),
                    ("  array A", "  view part: i64[1]\n  array A"),
                ],
                Refused("computes more than a transition"),
            ),
            // An order edge is no input.
            (
                &[(
                    "    access n\n",
                    "    access n\n    access A\n    tasklet first () -> (a) { a = 1.0 }\n    first.a -> A: A[0]\n    order A -> add\n",
                )],
                Taken(&["n = sizes[0] + 1"], &["scalar n"]),
            ),
        ],
    );
}

#[test]
fn layouts_of_transients_change() {
    /// Elements pass one by one.
    const ELEMENTS: &[Change] = &[(
        "    A -> T\n",
        "    map m [i = 0:N, j = 0:N] {
      tasklet t (x) -> (y) { y = x }
      m.A -> t.x: A[i, j]
      t.y -> m.T: T[i, j]
    }
    A -> m.A
    m.T -> T
",
    )];
    hold_parameters(
        "Relayout",
        &[
            ("", ELEMENTS, Taken(&["strides(1, N)"], &[])),
            (r#"{"padding": 3}"#, &[], Taken(&["strides(1, N + 3)"], &[])),
            (r#"{"padding": "N"}"#, &[], Taken(&["strides(1, 2*N)"], &[])),
            (r#"{"padding": -1}"#, &[], Refused("it is not proved that -1 is not negative")),
            (r#"{"padding": "Q"}"#, &[], Refused("`Q` is no symbol of the program")),
            (r#"{"order": [0, 1]}"#, &[], Refused("has this layout already")),
            (r#"{"order": [1, 0]}"#, &[], Taken(&["strides(1, N)"], &[])),
            (r#"{"order": [1, 1]}"#, &[], Refused("order")),
            (r#"{"order": [0]}"#, &[], Refused("order")),
            (r#"{"blocks": [4]}"#, &[], Refused("over several blocks")),
            (r#"{"blocks": [4]}"#, ELEMENTS, Taken(&["T[i // 4, j, i % 4]"], &[])),
            (r#"{"blocks": [0, 4]}"#, ELEMENTS, Taken(&["T[i, j // 4, j % 4]"], &[])),
            (r#"{"blocks": [2, 3]}"#, ELEMENTS, Taken(&["T[i // 2, j // 3, i % 2, j % 3]"], &[])),
            (r#"{"blocks": [2, 3, 4]}"#, ELEMENTS, Refused("there are 3 sizes, and 2 dimensions")),
            (r#"{"blocks": ["Q"]}"#, ELEMENTS, Refused("`Q` is no symbol of the program")),
            (r#"{"blocks": [-2]}"#, ELEMENTS, Refused("it is not proved that -2 is greater than 0")),
            (
                r#"{"blocks": [4], "padding": 1}"#,
                ELEMENTS,
                Refused("order and padding are those of another step"),
            ),
            (
                r#"{"blocks": [4], "order": [1, 0]}"#,
                ELEMENTS,
                Refused("order and padding are those of another step"),
            ),
        ],
    );
}

#[test]
fn buffers_are_those_of_tiles() {
    hold_parameters(
        "BufferTiling",
        &[
            (r#"{"tile_sizes": [1]}"#, &[], Taken(&["T: f64[3]"], &[])),
            (r#"{"tile_sizes": [5]}"#, &[], Taken(&["T: f64[7]"], &[])),
            (r#"{"tile_sizes": ["N + 1"]}"#, &[], Taken(&["T: f64[N + 3]"], &[])),
            (r#"{"tile_sizes": [0]}"#, &[], Refused("no dimension is tiled")),
            (r#"{"tile_sizes": [-3]}"#, &[], Refused("it is not proved that -3 is greater than 0")),
            (r#"{"tile_sizes": ["i"]}"#, &[], Refused("`i` is no symbol of the program")),
            (r#"{"tile_sizes": [2, 2]}"#, &[], Refused("there are more sizes (2) than dimensions")),
            (r#"{"tile_sizes": [3]}"#, &[("g.x: T[i - 1]", "g.x: T[i]")], Taken(&["T: f64[4]"], &[])),
            (
                "",
                &[("first.T: T[i]", "first.T: T[N - 1 - i]")],
                Refused("dimension 0 of writes has no parameter plus a number"),
            ),
            (
                "",
                &[("g.x: T[i - 1]", "g.x: T[i - 1:i + 2:2]"), ("z = x + y", "z = x[0] + y")],
                Refused("dimension"),
            ),
            (
                "",
                &[("g.x: T[i - 1]", "g.x: T[i - 1:i + 1]"), ("z = x + y", "z = x[0] + y")],
                Taken(&["T: f64[66]"], &[]),
            ),
            ("", &[("g.x: T[i - 1]", "g.x: T[N - 1 - i]")], Refused("dimension")),
            ("", &[("i = 0:N]", "i = 0:N:2]")], Refused("does not count by one")),
            ("", &[("i = 1:N - 1]", "i = 1:N - 1:2]")], Refused("does not count by one")),
            ("", &[("first.T: T[i]", "first.T: T[i] wcr(sum)")], Refused("`T`")),
            ("", &[("transient array T", "array T")], Refused("`T`")),
            (
                "",
                &[("access B\n", "access B = A\n"), ("second.B: B[i]", "second.B: A[i]")],
                Refused("`A` is read by the first map and written by the second"),
            ),
            // A value of one iteration alone is computed again with the iteration.
            (
                r#"{"tile_sizes": [3]}"#,
                &[
                    ("transient array T", "transient scalar v: f64\n  transient array T"),
                    (
                        "      first.A -> f.x: A[i]\n",
                        "      access v\n      tasklet e (x) -> (y) { y = x + 1 }\n      first.A -> e.x: A[i]\n      e.y -> v: v\n      v -> f.x: v\n",
                    ),
                ],
                Taken(&["T: f64[5]", "v -> f.x: v"], &[]),
            ),
        ],
    );
}

#[test]
fn tasklets_become_one() {
    hold_changes(
        "TaskletFusion",
        &[
            (&[("y = 2.0 * x", "z = 2.0 * x\n      y = z * z")], TAKEN),
            (&[("y = x + 1.0", "y = x * x\n      y = y + x")], TAKEN),
            (&[("scalar s: f64", "scalar s: f32")], Taken(&["s: f32"], &[])),
            (
                &[
                    ("scalar s: f64", "array s: f64[1]"),
                    ("scale.y -> s: s", "scale.y -> s: s[0]"),
                    ("add.x: s", "add.x: s[0]"),
                ],
                TAKEN,
            ),
            (
                &[("y = 2.0 * x", "y = x\n      y = 2.0 * y")],
                Refused("is no list of assignments that ends with its output"),
            ),
            (
                &[("y = 2.0 * x", "y = 1.0\n      y = 2.0 * x")],
                Refused("is no list of assignments that ends with its output"),
            ),
            (
                &[("y = 2.0 * x", "if x > 0.0:\n          y = 2.0 * x\n      else:\n          y = x")],
                Refused("does not end with an assignment"),
            ),
            (&[("scale (x) -> (y)", "scale (x) -> (y: f32)")], Refused("converts the scalar")),
            (&[("add (x) -> (y)", "add (x: f32) -> (y)")], Refused("converts the scalar")),
            (&[("scale.y -> s: s", "scale.y -> s: s wcr(sum)")], Refused("s")),
            (&[("transient scalar s", "scalar s")], Refused("s")),
            (
                &[("    access B\n", "    access B\n    access C = B\n    s -> C: s -> B[0]\n")],
                Refused("is not all that goes to the second tasklet"),
            ),
            // Two connectors get one value.
            (
                &[
                    ("add (x) -> (y) { y = x + 1.0 }", "add (x, z) -> (y) { y = x + z }"),
                    ("add.x: s", "add.x: s\n    s -> add.z: s"),
                ],
                Taken(&[], &["scalar s"]),
            ),
            // Both read the same element, or different ones.
            (
                &[
                    ("add (x) -> (y) { y = x + 1.0 }", "add (x, z) -> (y) { y = x + z }"),
                    ("add.x: s", "add.x: s\n    A -> add.z: A[0]"),
                ],
                Taken(&[], &["A -> add.x_1"]),
            ),
            (
                &[
                    ("add (x) -> (y) { y = x + 1.0 }", "add (x, z) -> (y) { y = x + z }"),
                    ("add.x: s", "add.x: s\n    A -> add.z: A[N]"),
                ],
                Taken(&["A[0]", "A[N]"], &[]),
            ),
        ],
    );
}

#[test]
fn parts_are_read_where_they_are() {
    hold_changes(
        "RedundantReadSlice",
        &[
            (
                &[("A[1:N + 1] -> middle[0:N]", "A[2:N + 2] -> middle[0:N]")],
                Taken(&["A[i + 2]"], &["middle:"]),
            ),
            (&[("middle[i]", "middle[N - 1 - i]")], Taken(&[], &["array middle"])),
            (
                &[("A[1:N + 1] -> middle[0:N]", "A[1:N] -> middle[0:N - 1]"), ("i = 0:N]", "i = 0:N - 1]")],
                Refused("is not copied as a whole"),
            ),
            (&[("-> middle[0:N]", "-> middle[0:N] dynamic")], Refused("is not copied as a whole")),
            (
                &[("A[1:N + 1]", "A[0:2*N:2]"), ("f64[N + 2]", "f64[2*N]")],
                Refused("has another shape than the part"),
            ),
            (&[("-> middle[0:N]", "-> middle[0:N] wcr(sum)")], Refused("is no view or copy")),
            // What is written to a view of a part.
            (
                &[
                    ("  transient array middle", "  view last: f64[1]\n  transient array middle"),
                    (
                        "    m.B -> B\n",
                        "    m.B -> B\n    tasklet one () -> (o) { o = 1 }\n    access last\n    access B_1 = B\n    one.o -> last: last[0]\n    bind last -> B_1: B[N - 1:N]\n    order B -> one\n    access C = A\n    B_1 -> C: B[N - 1] -> A[0]\n    order B_1 -> C\n",
                    ),
                    ("A[1:N + 1] -> middle[0:N]", "A[1:N] -> middle[0:N - 1]"),
                    ("i = 0:N]", "i = 0:N - 1]"),
                ],
                Refused("is no view of the array"),
            ),
            (
                &[("transient array middle", "array middle")],
                Refused("is neither a view nor a transient array or scalar"),
            ),
            (
                &[("f64[N + 2]", "f64[N + 2, 3]"), ("A[1:N + 1]", "A[1:N + 1, 2]")],
                Taken(&["A[i + 1, 2]"], &[]),
            ),
            // A view of a view becomes one of the array, but a view of a copy has other strides.
            (
                &[
                    ("transient array middle: f64[N]", "view middle: f64[N]\n  view inner: f64[N]"),
                    ("A -> middle: A[1:N + 1] -> middle[0:N]", "bind A -> middle: A[1:N + 1]"),
                    (
                        "    middle -> m",
                        "    access inner\n    bind middle -> inner: middle[0:N]\n    inner -> m",
                    ),
                    ("t.x: middle[i]", "t.x: inner[i]"),
                ],
                Taken(&["bind A -> inner: A[1:N + 1]"], &["access middle"]),
            ),
            (
                &[
                    ("array middle: f64[N]", "array middle: f64[N]\n  view inner: f64[N]"),
                    (
                        "    middle -> m",
                        "    access inner\n    bind middle -> inner: middle[0:N]\n    inner -> m",
                    ),
                    ("t.x: middle[i]", "t.x: inner[i]"),
                ],
                Taken(&["A[1:N + 1] -> middle[0:N]"], &["inner[i]"]),
            ),
        ],
    );
    hold_changes(
        "RedundantArray",
        &[
            (
                &[
                    ("doubled -> B", "doubled -> B: doubled[0:N] -> B[1:N + 1]"),
                    ("B: f64[N]", "B: f64[N + 1]"),
                ],
                Taken(&["B[i + 1]"], &["doubled[i]"]),
            ),
            (
                &[("doubled -> B", "doubled -> B: doubled[0:N] -> B[0:N] wcr(sum)")],
                Refused("is not simply copied to the array"),
            ),
            (
                &[("doubled -> B", "doubled -> B: doubled[0:N] -> B[0:N] dynamic")],
                Refused("is not copied as a whole"),
            ),
            (
                &[("doubled -> B", "doubled -> B: doubled[0:N - 1] -> B[0:N - 1]")],
                Refused("is not copied as a whole"),
            ),
            (
                &[("doubled -> B", "doubled -> B: doubled[0:N] -> B[0:2*N:2]"), ("B: f64[N]", "B: f64[2*N]")],
                Refused("has another shape where the transient is copied to"),
            ),
            (&[("B: f64[N]", "B: f32[N]")], Refused("`doubled`")),
            (&[("transient array doubled", "array doubled")], Refused("is no transient array or scalar")),
            (
                &[
                    ("f64[N]\n  transient", "f64[N, 3]\n  transient"),
                    ("doubled -> B", "doubled -> B: doubled[0:N] -> B[0:N, 1]"),
                ],
                Taken(&["B[i, 1]"], &[]),
            ),
        ],
    );
}

#[test]
fn parts_are_written_where_they_are() {
    hold_changes(
        "RedundantWriteSlice",
        &[
            (
                &[("middle -> B: B[1:N + 1]", "middle -> B: B[2:N + 2]")],
                Taken(&["B[i + 2]"], &["access middle"]),
            ),
            (&[("middle[i]", "middle[N - 1 - i]")], Taken(&[], &["access middle"])),
            // The view of a row, of which the binding tells the first element only.
            (
                &[
                    ("array B: f64[N + 2]", "array B: f64[3, N]"),
                    ("bind middle -> B: B[1:N + 1]", "bind middle -> B: B[0, 0]"),
                ],
                Taken(&["B[0, i]"], &["access middle"]),
            ),
            (
                &[
                    ("array B: f64[N + 2]", "array B: f64[N, 3]"),
                    ("bind middle -> B: B[1:N + 1]", "bind middle -> B: B[0:N, 1]"),
                ],
                Refused("has other strides than the array"),
            ),
            (
                &[
                    ("array B: f64[N + 2]", "array B: f64[N, 3]"),
                    ("view middle: f64[N]", "view middle: f64[N] strides(3) size(3 * N - 2)"),
                    ("bind middle -> B: B[1:N + 1]", "bind middle -> B: B[0:N, 1]"),
                ],
                Taken(&["B[i, 1]"], &["access middle"]),
            ),
            (&[("bind middle -> B: B[1:N + 1]", "bind middle -> B: B[0:N + 2:2]")], Refused("shape")),
            (&[("view middle: f64[N]", "view middle: f32[N]")], Refused("has another type")),
            (
                &[(
                    "    bind middle",
                    "    access C = A\n    middle -> C: middle[0] -> A[0]\n    bind middle",
                )],
                Refused("leads to something other than the array"),
            ),
            (
                &[(
                    "    m.middle -> middle\n",
                    "    m.middle -> middle\n    access all = B\n    access last = middle\n    bind all -> last: B[1:N + 1]\n    access C = A\n    last -> C: middle[0] -> A[0]\n    order B -> all\n    order A -> last\n    order middle -> last\n",
                )],
                Refused("leads to something other than the array"),
            ),
        ],
    );
}
