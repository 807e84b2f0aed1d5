//! Changed programs of transformations of several maps, or of what a map contains.

use super::{Change, Refused, TAKEN, Taken, hold_changes};

/// A tasklet beside the inner map.
const OTHER_NODE: Change = (
    "      rows.A -> columns.A\n",
    "      rows.A -> columns.A\n      tasklet first (a) -> (c) { c = a }\n      rows.A -> first.a: A[i, 0]\n      first.c -> rows.C: C[i]\n",
);
const OTHER_ARRAY: Change = ("  array A", "  array C: f64[N]\n  array A");
const OTHER_EDGE: Change = ("    access B\n", "    access B\n    access C\n    rows.C -> C\n");

/// The number of columns from data.
const FROM_DATA: &[Change] = &[
    ("  array A", "  array size: i64[1]\n  array A"),
    ("j = 0:M] {", "j = 0:m] {"),
    ("      rows.A -> columns.A\n", "      rows.A -> columns.A\n      rows.size -> columns@m: size[0]\n"),
    ("    access A\n", "    access A\n    access size\n    size -> rows.size\n"),
];

#[test]
fn nested_maps_become_one() {
    hold_changes(
        "MapCollapse",
        &[
            (&[], Taken(&["map rows [i = 0:N, j = 0:M]"], &["map columns"])),
            (&[("j = 0:M", "j = 0:min(i, M)")], Taken(&["[i = 0:N, j = 0:min(M, i)]"], &["map columns"])),
            (
                &[("j = 0:M] {", "j = 0:M] schedule(sequential) {")],
                Refused("has another schedule than the outer map"),
            ),
            (
                &[
                    ("j = 0:M] {", "j = 0:M] schedule(sequential) {"),
                    ("i = 0:N] {", "i = 0:N] schedule(sequential) {"),
                ],
                Taken(&["[i = 0:N, j = 0:M] schedule(sequential)"], &["map columns"]),
            ),
            (
                &[("i = 0:N] {", "i = 0:N] schedule(sequential) {")],
                Taken(&["[i = 0:N, j = 0:M] schedule(sequential)"], &["map columns"]),
            ),
            (&[OTHER_ARRAY, OTHER_NODE, OTHER_EDGE], Refused("contains `first` besides the inner map")),
            (
                &[("j = 0:M]", "i = 0:M]"), ("A[i, j]", "A[0, i]"), ("B[i, j]", "B[0, i] wcr(sum)")],
                Refused("has the parameter `i` of the outer map"),
            ),
            (FROM_DATA, Refused("gets `m` from data")),
        ],
    );
    hold_changes(
        "MapInterchange",
        &[
            (&[], Taken(&["map rows [j = 0:M]", "map columns [i = 0:N]"], &[])),
            (&[("j = 0:M", "j = 0:min(i, M)")], Refused("depends on `i`")),
            (&[("j = 0:M", "j = i:M")], Refused("the range i:M depends on `i`")),
            (
                &[("j = 0:M] {", "j = 0:M] schedule(sequential) {")],
                Taken(&["map rows [j = 0:M] {", "map columns [i = 0:N] schedule(sequential) {"], &[]),
            ),
            (&[OTHER_ARRAY, OTHER_NODE, OTHER_EDGE], Refused("contains `first` besides the inner map")),
            (
                &[("j = 0:M]", "i = 0:M]"), ("A[i, j]", "A[0, i]"), ("B[i, j]", "B[0, i] wcr(sum)")],
                Refused("has the parameter `i` of the outer map"),
            ),
            (FROM_DATA, Refused("gets `m` from data")),
        ],
    );
}

#[test]
fn maps_of_several_parts_become_several() {
    const THREE: &[Change] = &[
        ("  array sums", "  array rest: f64[N]\n  array sums"),
        (
            "      elements.A -> add.a",
            "      tasklet subtract (a) -> (r) { r = a - 1 }\n      elements.A -> subtract.a: A[i]\n      subtract.r -> elements.rest: rest[i]\n      elements.A -> add.a",
        ),
        ("    access sums\n", "    access sums\n    access rest\n    elements.rest -> rest\n"),
    ];
    hold_changes(
        "MapFission",
        &[
            (&[], Taken(&["map elements [", "map elements_1 ["], &["map elements_2", "map elements_1_1"])),
            (THREE, TAKEN),
            (
                &[
                    ("(a, b) -> (p) { p = a * b }", "(a, b, c) -> (p) { p = a * b + c }"),
                    (
                        "      add.s -> elements.sums: sums[i]\n",
                        "      access own\n      add.s -> own: own\n      own -> multiply.c: own\n      own -> elements.sums: own -> sums[i]\n",
                    ),
                    ("  array sums", "  transient scalar own: f64\n  array sums"),
                ],
                Refused("has contents of one part"),
            ),
            (
                &[(
                    "multiply.p -> elements.products: products[i]",
                    "multiply.p -> elements.products: products[i]\n      order add -> multiply",
                )],
                Refused("has contents of one part"),
            ),
            // The parts have inner scopes.
            (
                &[
                    (
                        "      tasklet add (a, b) -> (s) { s = a + b }\n",
                        "      map inner [k = 0:3] {\n        tasklet add (a, b) -> (s) { s = a + b * k }\n        inner.A -> add.a: A[i]\n        inner.B -> add.b: B[i]\n        add.s -> inner.sums: sums[i] wcr(sum)\n      }\n",
                    ),
                    (
                        "      elements.A -> add.a: A[i]\n      elements.B -> add.b: B[i]\n",
                        "      elements.A -> inner.A\n      elements.B -> inner.B\n",
                    ),
                    ("add.s -> elements.sums: sums[i]", "inner.sums -> elements.sums"),
                ],
                Taken(&["map elements_1 ["], &["map elements_2", "map elements_1_1"]),
            ),
            (
                &[("array products: f64[N]", "stream products: f64"), ("products[i]", "products")],
                Refused("`products` is a stream"),
            ),
            (
                &[
                    ("  array sums", "  view V: f64[1]\n  array sums"),
                    (
                        "elements.A -> add.a: A[i]",
                        "access V\n      bind elements.A -> V: A[i:i + 1]\n      V -> add.a: V[0]",
                    ),
                ],
                Refused("`V` is a view or reference that the map binds"),
            ),
            // Both parts write one transient of the iteration.
            (
                &[
                    ("  array sums", "  transient array own: f64[2]\n  array sums"),
                    (
                        "add.s -> elements.sums: sums[i]",
                        "access own\n      add.s -> own: own[0]\n      own -> elements.sums: own[0] -> sums[i]",
                    ),
                    (
                        "multiply.p -> elements.products: products[i]",
                        "access own_1 = own\n      multiply.p -> own_1: own[1]\n      own_1 -> elements.products: own[1] -> products[i]",
                    ),
                ],
                Refused("`own` belongs to an iteration, and two parts use it"),
            ),
        ],
    );
}

#[test]
fn maps_that_read_the_same_container_join() {
    hold_changes(
        "SiblingMapFusion",
        &[
            (&[], Taken(&["q[i] wcr(sum)", "s[j] wcr(sum)"], &["map columns", "map rows ["])),
            (
                &[("l = 0:M]", "l = 0:M - 1]")],
                Refused("has the range [0:N, 0:M - 1], and the first map [0:N, 0:M]"),
            ),
            (&[("k = 0:N, ", "k = 0:N - 1, ")], Refused("and the first map [0:N, 0:M]")),
            (&[("l = 0:M] {", "l = 0:M] schedule(sequential) {")], Refused("has another schedule")),
            (&[("A[k, l]", "A[N - 1 - k, l]")], TAKEN),
            (
                &[("    r -> columns.r\n", "    r -> columns.r\n    order q -> columns\n")],
                Refused("is ordered with the first map"),
            ),
            (
                &[("    p -> rows.p\n", "    p -> rows.p\n    order s -> rows\n")],
                Refused("is ordered with the first map"),
            ),
        ],
    );
}

#[test]
fn maps_of_one_element_join() {
    const AFTER: &str = "    scale.B -> B\n  }\n";
    hold_changes(
        "MapFusion",
        &[
            (&[], Taken(&["scalar sum: f64"], &["map scale", "map add ["])),
            (&[("i = 0:N]", "i = N - 1:-1:-1]"), ("k = 0:N]", "k = N - 1:-1:-1]")], TAKEN),
            (&[("i = 0:N]", "i = 0:N - 0*N]")], TAKEN),
            (&[("k = 0:N]", "k = 0:N - 1]")], Refused("has the range [0:N - 1], and the first map [0:N]")),
            (&[("k = 0:N]", "k = 1:N]")], Refused("has the range [1:N], and the first map [0:N]")),
            (&[("k = 0:N]", "k = 0:N:2]")], Refused("has the range [0:N:2], and the first map [0:N]")),
            (&[("k = 0:N]", "k = N - 1:-1:-1]")], Refused("and the first map [0:N]")),
            (
                &[("k = 0:N]", "k = 0:N, l = 0:1]"), ("B[k]", "B[k + l]")],
                Refused("has another number of dimensions"),
            ),
            (&[("k = 0:N] {", "k = 0:N] schedule(sequential) {")], Refused("has another schedule")),
            (
                &[
                    ("k = 0:N] {", "k = 0:N] schedule(sequential) {"),
                    ("i = 0:N] {", "i = 0:N] schedule(sequential) {"),
                ],
                Taken(&["schedule(sequential)"], &["map scale"]),
            ),
            (&[("sum[k]", "sum[N - 1 - k]")], Refused("are different elements")),
            (&[("sum[k]", "sum[0]")], Refused("are different elements")),
            (&[("sum[k]", "sum[k:k + 1]")], TAKEN),
            (&[("sum[i]", "sum[i - 0*N]")], TAKEN),
            (
                &[("times.s: sum[k]", "times.s: sum[0:N]"), ("2.0 * s", "s[k]")],
                Refused("reads more than one element of the transient"),
            ),
            (
                &[("times.s: sum[k]", "times.s: sum[k] dynamic")],
                Refused("reads more than one element of the transient"),
            ),
            (
                &[("sum[i]\n", "sum[i] dynamic\n")],
                Refused("does not write one element of the transient in each iteration"),
            ),
            (
                &[("sum[i]\n", "sum[i] wcr(sum)\n")],
                Refused("does not write one element of the transient in each iteration"),
            ),
            (&[("sum[i]\n", "sum[N - 1 - i]\n"), ("sum[k]", "sum[N - 1 - k]")], Taken(&["scalar sum"], &[])),
            (
                &[
                    ("(a) -> (s) { s = a + 1.0 }", "(a) -> (s, t) { s = a + 1.0; t = a }"),
                    ("add.sum: sum[i]\n", "add.sum: sum[i, 0]\n      plus.t -> add.sum: sum[i, 1]\n"),
                    ("sum[k]", "sum[k, 0]"),
                    ("sum: f64[N]", "sum: f64[N, 2]"),
                ],
                Refused("writes the transient in several places"),
            ),
            (&[("transient array sum", "array sum")], Refused("`sum` is no transient array")),
            (&[("sum: f64[N]", "sum: f64[N] lifetime(external)")], Refused("lies in memory of the caller")),
            (
                &[("sum: f64[N]", "sum: f64[N] lifetime(persistent)")],
                Taken(&["transient scalar sum: f64\n"], &["persistent"]),
            ),
            (
                &[(
                    "    access B\n",
                    "    access B\n    access C = B\n    order B -> C\n    sum -> C: sum[0] -> B[0]\n",
                )],
                Refused("`sum`"),
            ),
            (
                &[(
                    AFTER,
                    "    scale.B -> B\n  }\n  state more {\n    access sum\n    access B\n    sum -> B: sum[0] -> B[0]\n  }\n",
                )],
                Refused("`sum`"),
            ),
            (
                &[(
                    AFTER,
                    "    scale.B -> B\n  }\n  if large: sum[0] > 1.0 {\n    state more {\n      access A\n      access B\n      B -> A\n    }\n  }\n",
                )],
                Refused("`sum`"),
            ),
            (
                &[("access B\n", "access B = A\n"), ("scale.B: B[k]", "scale.B: A[k]")],
                Refused("`A` is written by one of the maps and used by the other"),
            ),
            // Both only read an argument.
            (
                &[
                    ("(s) -> (b) { b = 2.0 * s }", "(s, c) -> (b) { b = 2.0 * s + c }"),
                    ("      times.b ->", "      scale.A -> times.c: A[0]\n      times.b ->"),
                    ("    add.sum -> sum\n", "    add.sum -> sum\n    A -> scale.A\n"),
                ],
                Taken(&["times.c: A[0]"], &["map scale"]),
            ),
            (
                &[("2.0 * s", "i * s"), ("  array A", "  symbol i: i64\n  array A")],
                Refused("uses the symbol `i`, a parameter of the first map"),
            ),
            (
                &[
                    (
                        "    access sum\n",
                        "    access sum\n    tasklet none () -> (z) { z = 0 }\n    none.z -> sum: sum[N]\n",
                    ),
                    ("sum: f64[N]", "sum: f64[N + 1]"),
                ],
                Refused("`sum`"),
            ),
            (&[("array B: f64[N]", "stream B: f64"), ("B[k]", "B")], Refused("`B` is a stream")),
            (
                &[
                    ("  transient array", "  view V: f64[1]\n  transient array"),
                    (
                        "scale.sum -> times.s: sum[k]",
                        "access V\n      bind scale.A -> V: A[k:k + 1]\n      scale.sum -> times.s: sum[k]\n      V -> times.c: V[0]",
                    ),
                    ("(s) -> (b) { b = 2.0 * s }", "(s, c) -> (b) { b = 2.0 * s + c }"),
                    ("    add.sum -> sum\n", "    add.sum -> sum\n    A -> scale.A\n"),
                ],
                Refused("`V` is a view or reference that the map binds"),
            ),
            (
                &[
                    (
                        "      scale.sum -> times.s: sum[k]\n",
                        "      access one\n      scale.sum -> one: sum[k] -> one\n      one -> times.s: one\n",
                    ),
                    ("  transient array", "  transient scalar one: f64\n  transient array"),
                ],
                Refused("does not simply read the transient"),
            ),
        ],
    );
}

#[test]
fn parameters_of_one_value_go() {
    hold_changes(
        "TrivialMapElimination",
        &[
            (&[], Taken(&["A[N]"], &["map once"])),
            (&[("i = N]", "i = N:N + 1:4]")], Taken(&["A[N]"], &["map once"])),
            (&[("i = N]", "i = N:N - 1:-1]")], Taken(&["A[N]"], &["map once"])),
            (
                &[("i = N]", "i = 0:N + 1]"), ("last: f64[1]", "last: f64[N + 1]"), ("last[0]", "last[i]")],
                Refused("it is not proved that 0:N + 1 has one value"),
            ),
            (
                &[
                    ("i = N]", "i = N:N + 1:4:4]"),
                    ("A: f64[N + 1]", "A: f64[N + 4]"),
                    ("last[0]", "last[i - N]"),
                    ("last: f64[1]", "last: f64[4]"),
                ],
                Refused("has one value"),
            ),
            (&[("i = N]", "i = N, j = i:i + 1]"), ("A[i]", "A[j]")], Taken(&["A[N]"], &["map once"])),
            (
                &[
                    ("i = N]", "i = N, j = 0:i]"),
                    ("A[i]", "A[j]"),
                    ("last[0]", "last[j]"),
                    ("last: f64[1]", "last: f64[N]"),
                ],
                Taken(&["map once [j = 0:N]"], &["i ="]),
            ),
            (
                &[("i = N]", "j = 0:N, i = j]"), ("last[0]", "last[j]"), ("last: f64[1]", "last: f64[N]")],
                Taken(&["map once [j = 0:N]", "A[j]"], &["i ="]),
            ),
            (&[("i = N] {", "i = N] schedule(sequential) {")], Taken(&[], &["map once"])),
            (&[("i = N] {", "i = N] schedule(simd) {")], Taken(&[], &["map once"])),
            (
                &[
                    ("i = N] {", "i = N, j = 0:2, k = 0:3] schedule(cpu_multicore) collapse(3) {"),
                    ("last[0]", "last[j, k]"),
                    ("last: f64[1]", "last: f64[2, 3]"),
                ],
                Taken(&["map once [j = 0:2, k = 0:3] schedule(cpu_multicore)"], &["collapse", "i ="]),
            ),
            (
                &[
                    ("i = N] {", "i = N, j = 0:2, k = 0:3] schedule(cpu_multicore) collapse(2) {"),
                    ("last[0]", "last[j, k]"),
                    ("last: f64[1]", "last: f64[2, 3]"),
                ],
                Taken(&["map once [j = 0:2, k = 0:3] schedule(cpu_multicore) collapse(2)"], &["i ="]),
            ),
        ],
    );
}

#[test]
fn maps_become_loops_and_calls() {
    hold_changes(
        "MapToForLoop",
        &[
            (&[], Taken(&["for \"elements.i0\": i = 0:N"], &["map "])),
            (&[("i = 0:N]", "i = N - 1:-1:-1]")], Taken(&["i = N - 1:-1:-1 {"], &["map "])),
            (&[("i = 0:N]", "i = 0:N:3]")], Taken(&["i = 0:N:3 {"], &["map "])),
            (&[("i = 0:N]", "i = 0:N:N]")], Refused("the step of 0:N:N is a number")),
            (&[("i = 0:N]", "i = 0:N:2:2]"), ("f64[N]", "f64[N + 2]")], Refused("is a number")),
            (
                &[("i = 0:N]", "i = 0:N, j = 0:2]"), ("f64[N]", "f64[N, 2]"), ("[i]", "[i, j]")],
                Taken(&["i = 0:N {", "j = 0:2 {"], &["map "]),
            ),
            (&[("i = 0:N] {", "i = 0:N] schedule(cpu_multicore) {")], Taken(&["i = 0:N {"], &["map "])),
            (
                &[("i = 0:N] {", "i = 0:N] schedule(mpi) {")],
                Refused("has a schedule that brings its contents to a device"),
            ),
            (
                &[("i = 0:N] {", "i = 0:N] schedule(fpga_device) {")],
                Refused("has a schedule that brings its contents to a device"),
            ),
            (
                &[("array B: f64[N]", "stream B: f64"), ("B[i]", "B")],
                Refused("is a stream: an iteration may wait for what a later one pushes"),
            ),
        ],
    );
    hold_changes(
        "NestSDFG",
        &[
            (&[], Taken(&["nested \"elements.call0\" (A) -> (B)"], &[])),
            (
                &[
                    ("  array B: f64[N]\n", "  array B: f64[N]\n  transient scalar own: f64\n"),
                    (
                        "double.b -> elements.B: B[i]",
                        "access own\n      double.b -> own: own\n      own -> elements.B: own -> B[i]",
                    ),
                ],
                Taken(
                    &["nested \"elements.call0\" (A) -> (B) with (N = N)"],
                    &["  transient scalar own: f64\n\n  state main"],
                ),
            ),
            (
                &[("access B", "access B = A"), ("elements.B: B[i]", "elements.B: A[i]")],
                Taken(&["(A) -> (A)"], &[]),
            ),
        ],
    );
}

#[test]
fn sums_are_split_into_their_terms() {
    hold_changes(
        "TaskletFission",
        &[
            (&[], Taken(&["o = a * a", "o = -(b * c)"], &[])),
            (&[("a * a - b * c", "b - (a - c)")], Taken(&["o = b }", "o = -a }", "o = c }"], &[])),
            (&[("a * a - b * c", "a * b * c")], Refused("assigns no sum")),
            (&[("a * a - b * c", "a * b - c * N")], Refused("uses a symbol, or a function of another type")),
            (&[(" wcr(sum)", " wcr(max)")], Refused("does not add its output to one element")),
            (&[("array B: f64", "array B: f32")], Refused("has elements of another type than the output")),
        ],
    );
}
