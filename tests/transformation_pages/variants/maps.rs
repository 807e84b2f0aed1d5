//! Changed programs of transformations of maps.

use super::{Change, Refused, TAKEN, Taken, hold_changes, hold_parameters};

#[test]
fn maps_have_tiles() {
    const STRIDED: &[Change] = &[("i = 0:N,", "i = N - 1:-1:-1,")];
    const TILES: &[Change] = &[("i = 0:N,", "i = 0:N:4:4,"), ("f64[N, M]", "f64[N + 4, M]")];
    hold_parameters(
        "MapTiling",
        &[
            (r#"{"tile_sizes": [3]}"#, STRIDED, TAKEN),
            (r#"{"tile_sizes": [0, 5]}"#, &[], Taken(&["j_tile0 = 0:M:5"], &["i_tile"])),
            (r#"{"tile_sizes": ["M + 1"]}"#, &[], Taken(&["0:N:M + 1"], &[])),
            (r#"{"parts": [3, 2]}"#, &[], TAKEN),
            (r#"{"parts": [3]}"#, STRIDED, TAKEN),
            (r#"{"parts": [0, "N + 1"]}"#, &[], TAKEN),
            (r#"{"tile_sizes": [0, 4], "parts": [2]}"#, &[], TAKEN),
            (r#"{"tile_sizes": [3]}"#, &[("i = 0:N,", "i = 1:N - 2:3,")], TAKEN),
            (r#"{"tile_sizes": [0, 0]}"#, &[], Refused("no dimension is tiled")),
            (r#"{"tile_sizes": []}"#, &[], Refused("no dimension is tiled")),
            (
                r#"{"tile_sizes": [1, 2, 3]}"#,
                &[],
                Refused("there are more sizes (3) than dimensions of the map (2)"),
            ),
            (
                r#"{"parts": [1, 2, 3]}"#,
                &[],
                Refused("there are more sizes (3) than dimensions of the map (2)"),
            ),
            (r#"{"tile_sizes": ["M"]}"#, &[], Refused("it is not proved that M is greater than 0")),
            (r#"{"tile_sizes": [-1]}"#, &[], Refused("it is not proved that -1 is greater than 0")),
            (r#"{"tile_sizes": ["Q + 1"]}"#, &[], Refused("`Q` is no symbol of `double_all`")),
            (r#"{"tile_sizes": [4]}"#, TILES, Refused("has a range of tiles")),
            (r#"{"tile_sizes": [4], "divides_evenly": true}"#, &[], Refused("4 divides N")),
            (
                r#"{"tile_sizes": [4], "divides_evenly": true}"#,
                &[("i = 0:N,", "i = 0:4*N,"), ("f64[N, M]", "f64[4*N, M]")],
                Taken(&["i_tile0 = 0:4*N:4", "i = i_tile0:i_tile0 + 4"], &["min("]),
            ),
            (r#"{"tile_sizes": [0, 4]}"#, &[("j = 0:M", "j = i:M")], Refused("the range i:M depends on `i`")),
        ],
    );
    hold_parameters(
        "StripMining",
        &[
            (r#"{"size": 3}"#, &[], TAKEN),
            (r#"{"size": -3}"#, &[], Refused("it is not proved that -3 is greater than 0")),
        ],
    );
}

#[test]
fn maps_are_unrolled_up_to_the_limit() {
    const THREE: &[Change] = &[("e = 0:2", "e = 0:3"), ("A: f64[N + 1]", "A: f64[2*N + 1]")];
    const PAIRS: &[Change] =
        &[("e = 0:2", "e = 0:2, f = 0:2"), ("A[N*e]", "A[2*e + f]"), ("f64[N + 1]", "f64[4]")];
    hold_parameters(
        "MapUnroll",
        &[
            (r#"{"limit": 2}"#, &[], TAKEN),
            (r#"{"limit": 2}"#, THREE, Refused("has more than 2 iterations")),
            (r#"{"limit": 3}"#, THREE, Taken(&["A[0]", "A[N]", "A[2*N]"], &["map ends"])),
            ("", &[("e = 0:2", "e = 1:-1:-1")], Taken(&["A[0]", "A[N]"], &["map ends"])),
            ("", &[("e = 0:2", "e = 0:2:2")], Taken(&["A[0]"], &["A[N]"])),
            ("", &[("e = 0:2", "e = 1:1")], Refused("has no iterations")),
            ("", &[("e = 0:2", "e = 0:1:-1")], Refused("has no iterations")),
            ("", &[("e = 0:2", "e = 2:0:0")], Refused("has no iterations")),
            ("", &[("e = 0:2", "e = 0:N")], Refused("are no numbers")),
            ("", PAIRS, Taken(&["A[0]", "A[3]"], &["map ends"])),
            (r#"{"limit": 3}"#, PAIRS, Refused("has more than 3 iterations")),
        ],
    );
    hold_parameters(
        "LoopUnroll",
        &[
            (r#"{"limit": 2}"#, &[], Taken(&["A[0, j]", "A[1, j]"], &["for rows"])),
            (r#"{"limit": 1}"#, &[], Refused("0:2 has more than 1 values")),
            ("", &[("i = 0:2", "i = 1:-1:-1")], Taken(&["A[0, j]", "A[1, j]"], &["for rows"])),
            ("", &[("i = 0:2", "i = 1:1")], Taken(&[], &["for rows", "A[0, j]"])),
            ("", &[("i = 0:2", "i = 0:N"), ("f64[2, N]", "f64[N, N]")], Refused("whose ends are no numbers")),
        ],
    );
    hold_parameters(
        "LoopPeeling",
        &[
            (r#"{"count": 1}"#, &[], TAKEN),
            (r#"{"count": 64}"#, &[], TAKEN),
            (r#"{"count": 0}"#, &[], Refused("0 is not between 1 and 64")),
            (r#"{"count": 65}"#, &[], Refused("65 is not between 1 and 64")),
            (r#"{"count": 3}"#, &[("i = 0:N", "i = N - 1:-1:-2")], TAKEN),
        ],
    );
}

#[test]
fn dimensions_of_maps_change() {
    hold_parameters(
        "MapDimShuffle",
        &[
            (r#"{"order": ["j", "i"]}"#, &[], Taken(&["[j = 0:M, i = 0:N]"], &[])),
            (r#"{"order": ["j"]}"#, &[], Refused("each of the 2 parameters of the map comes once")),
            (r#"{"order": ["j", "j"]}"#, &[], Refused("each of the 2 parameters of the map comes once")),
            (r#"{"order": ["j", "k"]}"#, &[], Refused("the map has no parameter `k`")),
            (r#"{"order": ["i", "j", "j"]}"#, &[], Refused("each of the 2 parameters of the map comes once")),
            (r#"{"order": ["j", "i"]}"#, &[("j = 0:M", "j = 0:min(i, M)")], Refused("depends on `i`")),
            (
                r#"{"order": ["k", "i", "j"]}"#,
                &[("j = 0:M]", "j = 0:M, k = 0:1]"), ("B[j, i]", "B[j, i + k]")],
                Taken(&["[k = 0, i = 0:N, j = 0:M]"], &[]),
            ),
        ],
    );
    hold_parameters(
        "MapExpansion",
        &[
            (r#"{"dimensions": 1}"#, &[], Taken(&["[i = 0:N]", "[j = 0:i + 1]"], &[])),
            (
                r#"{"dimensions": 0}"#,
                &[],
                Refused("the map has 2 dimensions, and both maps need at least one"),
            ),
            (
                r#"{"dimensions": 2}"#,
                &[],
                Refused("the map has 2 dimensions, and both maps need at least one"),
            ),
        ],
    );
    hold_parameters(
        "MapSplit",
        &[
            (r#"{"count": 2}"#, &[], TAKEN),
            (r#"{"count": 0}"#, &[], TAKEN),
            (r#"{"count": "N"}"#, &[("i = 0:N", "i = N - 1:-1:-2")], TAKEN),
            (r#"{"count": -1}"#, &[], Refused("it is not proved that -1 is not negative")),
            (r#"{"count": "i"}"#, &[], Refused("`i` is no symbol outside of the map")),
            (r#"{"count": 2, "dimension": 1}"#, &[], Refused("the map has 1 dimensions")),
            (r#"{"at": "N - 1"}"#, &[], TAKEN),
            (r#"{"at": -1}"#, &[], TAKEN),
            (r#"{"at": "N + 1"}"#, &[], TAKEN),
            (r#"{"at": 2}"#, &[("i = 0:N", "i = 0:N:2")], Refused("the step is 2, and `at` needs 1")),
            (r#"{"at": 2, "count": 2}"#, &[], Refused("`count` is given, too")),
            (r#"{"at": "i"}"#, &[], Refused("`i` is no symbol outside of the map")),
        ],
    );
    hold_parameters(
        "MapSchedule",
        &[
            (r#"{"schedule": "sequential"}"#, &[], Taken(&["schedule(sequential)"], &[])),
            (r#"{"schedule": "gpu_device"}"#, &[], Refused("is none of `default`")),
            (r#"{"schedule": "nothing"}"#, &[], Refused("`nothing` is none of `default`")),
        ],
    );
}

#[test]
fn reductions_join_their_maps() {
    hold_changes(
        "MapReduceFusion",
        &[
            (&[("wcr(sum)", "wcr(max)")], TAKEN),
            (&[("wcr(sum)", "wcr(product)")], TAKEN),
            (&[("axes(1)", "axes(0)")], TAKEN),
            (&[("transient array T", "array T")], Refused("`T`")),
            (&[("square.T: T[i, j]", "square.T: T[j, i]")], TAKEN),
            (&[("j = 0:N", "j = 0:N - 1")], Refused("are not the same elements")),
            (
                &[
                    ("T -> rows: T[0:N, 0:N]", "T -> rows: T[0:N - 1, 0:N]"),
                    ("rows -> B: B[0:N]", "rows -> B: B[0:N - 1]"),
                ],
                Refused("are not the same elements"),
            ),
            (
                &[("square.T: T[i, j]", "square.T: T[i, j] wcr(sum)")],
                Refused("combines what it writes to the transient with what is there"),
            ),
            (&[("wcr(sum)", "wcr(replace)")], Refused("whose result may depend on their order")),
            (
                &[("access B\n", "access B\n    access C = B\n    T -> C: T[0:N, 0] -> B[0:N]\n")],
                Refused("another node than the map and the reduction"),
            ),
            (
                &[
                    ("square.A -> t.x: A[i, j]", "square.A -> t.x: B[i]"),
                    ("access A\n", "access A = B\n"),
                    ("  array A: f64[N, N]\n", ""),
                ],
                Refused("is used by the map that would combine into it"),
            ),
        ],
    );
    hold_changes(
        "ReducePeeling",
        &[
            (&[("k = 0:N + 1", "k = N:-1:-1")], TAKEN),
            (&[("wcr(sum)", "wcr(product)"), ("y = 0 }", "y = 1 }")], TAKEN),
            (&[("y = 0 }", "y = 0.0 }")], TAKEN),
            (&[("wcr(sum)", "wcr(product)")], Refused("does not write the neutral element 1")),
            (&[("y = 0 }", "y = 1 }")], Refused("does not write the neutral element 0")),
            (&[("wcr(sum)", "wcr(max)")], Refused("computes no sum or product")),
            (&[("e = 0:N]", "e = 0:N - 1]")], Refused("are not the same elements")),
            (&[("k = 0:N + 1", "k = 0:N")], Refused("[0:N] has a value")),
            (&[("k = 0:N + 1", "k = 0:N + 1:2")], TAKEN),
        ],
    );
}

#[test]
fn maps_become_kernels() {
    const INNER: &str = "      tasklet t (x) -> (y) { y = 2.0 * x }
      m.A -> t.x: A[i]
      t.y -> m.B: B[i]
";
    const NESTED: &str = "      map n [j = 0:3] SCHEDULE {
        tasklet t (x) -> (y) { y = 2.0 * x + j }
        n.A -> t.x: A[i]
        t.y -> n.B: B[i, j]
      }
      m.A -> n.A
      n.B -> m.B
";
    const ROWS: Change = ("array B: f64[N]", "array B: f64[N, 3]");
    const FROM_DATA: &str = "      map n [j = lo:3] {
        tasklet t (x) -> (y) { y = 2.0 * x + j }
        n.A -> t.x: A[i]
        t.y -> n.B: B
      }
      m.A -> n.A
      m.R -> n@lo: R[i]
      n.B -> m.B
";
    const BOUNDS: Change = ("    A -> m.A\n", "    access R\n    R -> m.R\n    A -> m.A\n");
    hold_changes(
        "GPUTransform",
        &[
            (&[], Taken(&["schedule(gpu_grid)", "A_device0: f64[N]", "B_device0: f64[N]"], &[])),
            (
                &[("i = 0:N] {", "i = 0:N] schedule(sequential) {")],
                Taken(&["schedule(gpu_grid)"], &["sequential"]),
            ),
            (
                &[("i = 0:N] {", "i = 0:N] schedule(cpu_multicore) {")],
                Taken(&["schedule(gpu_grid)"], &["cpu"]),
            ),
            (&[("i = 0:N] {", "i = 0:N] schedule(simd) {")], Refused("has the schedule `simd`")),
            (&[("i = 0:N] {", "i = 0:N] schedule(unrolled) {")], Refused("has the schedule `unrolled`")),
            (
                &[("array B: f64[N]", "stream B: f64"), ("B[i]", "B")],
                Taken(&["stream B_device0: f64 storage(gpu_global)", "B_device0 -> B dynamic"], &[]),
            ),
            (
                &[("array B: f64[N]", "transient stream B: f64"), ("B[i]", "B")],
                Taken(&["transient stream B: f64 storage(gpu_global)"], &["B_device0"]),
            ),
            (
                &[("array B: f64[N]", "transient stream B: f64[2]"), ("B[i]", "B[i % 2]")],
                Taken(&["transient stream B: f64[2] storage(gpu_global)"], &["B_device0"]),
            ),
            (
                &[("array B: f64[N]", "stream B: f64[2]"), ("B[i]", "B[i % 2]")],
                Refused("`B` is an array of queues that code of the host uses, too"),
            ),
            (
                &[
                    ("array B: f64[N]", "stream B: f64"),
                    ("B[i]", "B dynamic"),
                    ("{ y = 2.0 * x }", "{\n        for k in range(2):\n          y = x\n      }"),
                ],
                Refused("`B` is a stream without a capacity to which a loop of a tasklet pushes"),
            ),
            (
                &[("array B: f64[N]", "array R: i64[N]\n  stream B: f64"), (INNER, FROM_DATA), BOUNDS],
                Refused("`B` is a stream without a capacity to which a map pushes whose range is data"),
            ),
            (
                &[
                    ("array B: f64[N]", "array R: i64[N]\n  stream B: f64 capacity(99 * N)"),
                    (INNER, FROM_DATA),
                    BOUNDS,
                ],
                Taken(&["stream B_device0: f64 capacity(99*N) storage(gpu_global)"], &[]),
            ),
            (
                &[
                    ("array B: f64[N]", "stream B: f64 capacity(9 * N + 9)"),
                    ("B[i]", "B dynamic"),
                    ("{ y = 2.0 * x }", "{\n        for k in range(2):\n          y = x\n      }"),
                ],
                Taken(&["stream B_device0: f64 capacity(9*N + 9) storage(gpu_global)"], &[]),
            ),
            (
                &[
                    ("array B: f64[N]", "stream B: f64"),
                    ("B[i]", "B"),
                    (
                        "    access B\n",
                        "    access B\n    access C = B\n    access D = A\n    D -> C: A[0] -> B\n",
                    ),
                ],
                Refused("`B` is a stream that other nodes use while the map runs"),
            ),
            (
                &[("array A: f64[N]", "stream A: f64"), ("A[i]", "A")],
                Refused("`A` is a stream from which the map takes elements"),
            ),
            (
                &[("array A: f64[N]", "constant array A: f64[3] = [1.0, 2.0, 3.0]"), ("A[i]", "A[i % 3]")],
                Refused("`A` is a constant"),
            ),
            (&[("B[i]", "B[i] wcr(sum)")], Taken(&["B_device0[i] wcr(sum)", "begin0\" -> m\n"], &[])),
            (
                &[("{ y = 2.0 * x }", "external y = f(x) from library \"f\"")],
                Refused("`t` cannot run in a kernel"),
            ),
            (
                &[ROWS, (INNER, NESTED), (" SCHEDULE", "")],
                Taken(&["map n [j = 0:3] schedule(sequential)"], &[]),
            ),
            (
                &[ROWS, (INNER, NESTED), (" SCHEDULE", " schedule(simd)")],
                Taken(&["schedule(gpu_grid)"], &["simd"]),
            ),
            (
                &[ROWS, (INNER, NESTED), (" SCHEDULE", " schedule(cpu_multicore)")],
                Taken(&["schedule(gpu_grid)"], &["cpu"]),
            ),
            (
                &[ROWS, (INNER, NESTED), (" SCHEDULE", " schedule(unrolled)")],
                Taken(&["schedule(gpu_grid)"], &[]),
            ),
            (
                &[
                    ("  array B", "  transient scalar own: f64 storage(cpu_heap)\n  array B"),
                    ("t.y -> m.B: B[i]", "access own\n      t.y -> own: own\n      own -> m.B: own -> B[i]"),
                ],
                Taken(&["schedule(gpu_grid)"], &["cpu_heap"]),
            ),
            (
                &[
                    ("  array B", "  scalar own: f64\n  array B"),
                    ("i = 0:N]", "i = 0:1]"),
                    ("t.y -> m.B: B[i]", "access own\n      t.y -> own: own\n      own -> m.B: own -> B[i]"),
                ],
                Refused("`own` is no transient of the kernel"),
            ),
            (
                &[("access B\n", "access B = A\n"), ("m.B: B[i]", "m.B: A[i]")],
                Taken(&["A_device0", "A_device1"], &[]),
            ),
            // Each second element is written, and copied back.
            (&[("m.B: B[i]", "m.B: B[2*i]"), ("B: f64[N]", "B: f64[2*N]")], TAKEN),
        ],
    );
}
