//! Access nodes, parts of arrays and copies that reads do not need.

use sdfg_transforms::matches;
use sdfg_transforms::rewrites::{
    AccumulateTransient, InlineSdfg, LocalStorage, MergeReads, RedundantArray, RedundantReadSlice,
    RedundantWriteSlice, TrivialTaskletElimination,
};

use super::support::{applies, page_is_true, parsed, refuses, refuses_rightly};

#[test]
fn the_pages_are_true() {
    page_is_true(&MergeReads::default());
    page_is_true(&RedundantArray::default());
    page_is_true(&RedundantReadSlice::default());
    page_is_true(&RedundantWriteSlice::default());
    page_is_true(&TrivialTaskletElimination::default());
}

/// A state over vectors `A`, `B`, `C` and transients.
fn program(contents: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[N + 2]
  array B: f64[N + 2]
  array C: f64[N + 2]
  array single: f32[1]
  transient array T: f64[N]
  transient scalar x: f64
  view V: f64[N] strides(1) size(N)
  state s {{
{contents}
  }}
}}"
    )
}

const FILL: &str = "tasklet five () -> (o) { o = 5 }\n";

#[test]
fn reads_join_the_write_that_they_wait_for() {
    // What reads the second node waits for the write of `B`, as before.
    let waits = "access A\naccess one = A\naccess B\naccess two = A\naccess C\n
        tasklet five () -> (o) { o = 5 }\ntasklet t (a) -> (b) { b = a + 1 }\ntasklet u (a) -> (b) { b = a + 2 }\n
        five.o -> one: A[0]\none -> t.a: A[0]\nt.b -> B: B[0]\norder B -> two\ntwo -> u.a: A[0]\nu.b -> C: C[0]\norder one -> two\n
        access b = B\nB -> C2: B[0] -> C[1]\naccess C2 = C";
    let waits = waits.replace("access b = B\n", "");
    let text = applies(&program(&waits.replace("access A\n", "")), &MergeReads::default());
    assert!(!text.contains("two") && text.contains("order B -> u"), "{text}");
}

#[test]
fn reads_of_several_writes_and_copies_that_wait_stay() {
    let two = format!(
        "{FILL}tasklet six () -> (o) {{ o = 6 }}\naccess one = A\naccess two = A\naccess all = A\naccess C\n
        five.o -> one: A[0]\nsix.o -> two: A[1]\norder one -> all\norder two -> all\nall -> C: A[0:2] -> C[0:2]"
    );
    assert_eq!(matches(&parsed(&program(&two)), &MergeReads::default()), []);
    // The copy would be made before `C` is filled.
    let copy = format!(
        "access A\naccess B\naccess again = A\naccess C\naccess last = C\n{FILL}
        A -> B: A[0] -> B[0]\nfive.o -> C: C[0]\norder C -> again\nagain -> last: A[0] -> C[0]"
    );
    assert_eq!(matches(&parsed(&program(&copy)), &MergeReads::default()), []);
}

#[test]
fn views_and_copies_of_parts_go() {
    let map = |source: &str| {
        format!(
            "access A\naccess {source}\naccess B\nmap m [i = 0:N] {{\n
            tasklet t (a) -> (b) {{ b = 2 * a }}\nm.p -> t.a: {source}[N - 1 - i]\nt.b -> m.q: B[i]\n}}\n
            {source} -> m.p\nm.q -> B\n"
        )
    };
    let view = program(&(map("V") + "bind A -> V: A[1:N + 1]"));
    assert!(applies(&view, &RedundantReadSlice::default()).contains("A[N - i]"));
    let first =
        view.replace("view V: f64[N] strides(1) size(N)", "view V: f64[N + 2]").replace("A[1:N + 1]", "A[0]");
    assert!(applies(&first, &RedundantReadSlice::default()).contains("A[N - i - 1]"));
    let copy = program(&(map("T") + "A -> T: A[2:N + 2] -> T[0:N]"));
    assert!(applies(&copy, &RedundantReadSlice::default()).contains("A[N - i + 1]"));
    let element = "access A\naccess x\naccess B\ntasklet t (a) -> (b) { b = a + 1 }\nA -> x: A[N] -> x\nx -> t.a: x\nt.b -> B: B[0]";
    assert!(!applies(&program(element), &RedundantReadSlice::default()).contains("scalar x"));
    // The parameter of the map would take the place of the symbol.
    let captured =
        view.replace("A[1:N + 1]", "A[i:N + i]").replace("symbol N: i64", "symbol N: i64\nsymbol i: i64");
    let captured = captured.replace("f64[N + 2]", "f64[N + N]");
    assert!(refuses_rightly(&captured, &RedundantReadSlice::default()).contains("parameter"));
}

#[test]
fn views_that_are_only_written_go() {
    let map = "map m [i = 0:N] {\ntasklet t (a) -> (b) { b = 2 * a }\nm.A -> t.a: A[i]\nt.b -> m.V: V[N - 1 - i]\n}\n
        access A\naccess V\naccess B\nA -> m.A\nm.V -> V\n";
    let view = program(&format!("{map}bind V -> B: B[1:N + 1]"));
    assert!(applies(&view, &RedundantWriteSlice::default()).contains("B[N - i]"));
    // A conflict resolution stays.
    let summed = view.replace("V[N - 1 - i]", "V[0] wcr(sum)");
    assert!(applies(&summed, &RedundantWriteSlice::default()).contains("B[1] wcr(sum)"));
    // What waits for the writers waits for the array.
    let ordered = program(&format!(
        "{map}bind V -> B: B[1:N + 1]\naccess C\nB -> C: B[1] -> C[0]\n{FILL}access first = C\nfive.o -> first: C[1]\norder first -> V"
    ));
    assert!(applies(&ordered, &RedundantWriteSlice::default()).contains("order first -> B"), "{ordered}");
    let copied = program("access A\naccess V\naccess B\nA -> V: A[0:N] -> V[0:N]\nbind V -> B: B[2:N + 2]");
    assert!(applies(&copied, &RedundantWriteSlice::default()).contains("A[0:N] -> B[2:N + 2]"));
    let own = copied.replace("access B", "access B = A").replace("B[2:N + 2]", "A[2:N + 2]");
    assert!(refuses(&own, &RedundantWriteSlice::default()).contains("copies elements of the array to it"));
    // The parameter of the map would take the place of the symbol.
    let captured =
        view.replace("B[1:N + 1]", "B[i:N + i]").replace("symbol N: i64", "symbol N: i64\nsymbol i: i64");
    let captured = captured.replace("f64[N + 2]", "f64[N + N]");
    assert!(refuses_rightly(&captured, &RedundantWriteSlice::default()).contains("parameter"));
}

/// A reduction sets a view to its identity at another node.
#[test]
fn views_that_are_written_at_several_nodes_go() {
    let maps = "map z [i = 0:N] {\ntasklet none () -> (b) { b = 0 }\norder z -> none\nnone.b -> z.V: V[i]\n}\n
        map m [i = 0:N, k = 0:3] {\ntasklet t (a) -> (b) { b = 2 * a }\nm.A -> t.a: A[i]\nt.b -> m.V: V[i] wcr(sum)\n}\n
        access A\naccess first = V\naccess V\naccess B\nz.V -> first\norder first -> m\nA -> m.A\nm.V -> V\n";
    let summed = program(&format!("{maps}bind V -> B: B[1:N + 1]"));
    let text = applies(&summed, &RedundantWriteSlice::default());
    assert!(text.contains("access first = B") && text.contains("order first -> m"), "{text}");
    assert!(text.contains("B[i + 1]\n") && text.contains("B[i + 1] wcr(sum)"), "{text}");
    // What the first map wrote is read by a copy.
    let read = summed
        .replace("order first -> m", "order first -> m\naccess C\nfirst -> C: V[0] -> C[0]\norder C -> m");
    assert!(applies(&read, &RedundantWriteSlice::default()).contains("B[1] -> C[0]"));
    // A copy between elements of the array has an order of its own.
    let own = summed
        .replace("order first -> m", "order first -> m\naccess later = B\nfirst -> later: V[0] -> B[0]");
    let refused = refuses(&own, &RedundantWriteSlice::default());
    assert!(refused.contains("gets a copy of elements of the view"), "{refused}");
    let bound = summed
        .replace("order first -> m", "order first -> m\naccess other = B\nbind first -> other: B[1:N + 1]");
    let refused = refuses(&bound, &RedundantWriteSlice::default());
    assert!(refused.contains("does not simply read it"), "{refused}");
}

/// A symbol that a map gets from data hides that of the part.
#[test]
fn parts_at_symbols_that_a_map_hides_stay() {
    let head = "sdfg p {\n  symbol N: i64\n  symbol c: i64\n  array A: f64[2*N]\n  array B: f64[2*N]\n  array at: f64[1]\n  transient scalar x: i64\n  view v: f64[N] strides(1) size(N)\n  state s {\n    access A\n    access B\n    access at\n    access x\n    access v\n    tasklet zero () -> (o) { o = 0 }\n    zero.o -> x: x\n    x -> m@c: x\n";
    let write = format!(
        "{head}    order at -> zero\n    map m [i = 0:N] {{\n      tasklet t (a) -> (b) {{ b = a + c }}\n      m.A -> t.a: A[i]\n      t.b -> m.v: v[i]\n    }}\n    A -> m.A\n    m.v -> v\n    bind v -> B: B[c:c + N]\n  }}\n}}"
    );
    let refused = refuses_rightly(&write, &RedundantWriteSlice::default());
    assert!(refused.contains("parameter of the name of a symbol"), "{refused}");
    let read = format!(
        "{head}    order at -> zero\n    map m [i = 0:N] {{\n      tasklet t (a) -> (b) {{ b = a + c }}\n      m.v -> t.a: v[i]\n      t.b -> m.B: B[i]\n    }}\n    bind A -> v: A[c:c + N]\n    v -> m.v\n    m.B -> B\n  }}\n}}"
    );
    let refused = refuses_rightly(&read, &RedundantReadSlice::default());
    assert!(refused.contains("parameter of the name of a symbol"), "{refused}");
}

#[test]
fn copies_that_outlive_a_write_stay() {
    let overwritten = format!(
        "access A\naccess x\naccess later = A\naccess B\n{FILL}tasklet t (a) -> (b) {{ b = a + 1 }}\n
        A -> x: A[0] -> x\norder x -> five\nfive.o -> later: A[0]\norder later -> t\nx -> t.a: x\nt.b -> B: B[0]"
    );
    assert!(refuses_rightly(&program(&overwritten), &RedundantReadSlice::default()).contains("write"));
    let behind = format!(
        "access A\naccess x\naccess later = A\naccess B\n{FILL}tasklet t (a) -> (b) {{ b = a + 1 }}\n
        A -> x: A[0] -> x\nx -> t.a: x\nt.b -> B: B[0]\norder B -> five\nfive.o -> later: A[0]"
    );
    applies(&program(&behind), &RedundantReadSlice::default());
}

#[test]
fn tasklets_that_compute_or_convert_stay() {
    let tasklet = |code: &str, to: &str| {
        program(&format!(
            "access A\naccess to = {to}\ntasklet t (a) -> (b) {{ {code} }}\nA -> t.a: A[1]\nt.b -> to: {to}[0]"
        ))
    };
    assert!(!applies(&tasklet("b = a", "B"), &TrivialTaskletElimination::default()).contains("tasklet"));
    assert!(refuses(&tasklet("b = a + 1", "B"), &TrivialTaskletElimination::default()).contains("more than"));
    assert!(
        refuses(&tasklet("b = f32(a)", "single"), &TrivialTaskletElimination::default())
            .contains("more than")
    );
    assert!(refuses(&tasklet("b = a", "A"), &TrivialTaskletElimination::default()).contains("itself"));
}

#[test]
fn results_go_to_an_array_that_was_read_before_they_are_made() {
    let map = |read: &str, write: &str| {
        program(&format!(
            "access C\naccess T\naccess C_1 = C\nmap m [i = 0:N] {{\n
            tasklet t (a) -> (b) {{ b = 2 * a }}\nm.p -> t.a: {read}\nt.b -> m.q: T[{write}]\n}}\n
            C -> m.p\nm.q -> T\nT -> C_1"
        ))
        .replace("[N + 2]", "[N]")
    };
    // One iteration would read what another one has written already.
    assert!(refuses_rightly(&map("C[N - 1 - i]", "i"), &RedundantArray::default()).contains("elsewhere"));
    let first = "access C\naccess B\naccess T\naccess C_1 = C\nmap l [i = 0:N] {\n
        tasklet t (a) -> (b) { b = 2 * a }\nl.p -> t.a: C[N - 1 - i]\nt.b -> l.q: B[i]\n}\n
        map m [i = 0:N] {\ntasklet u (a) -> (b) { b = 3 * a }\nm.p -> u.a: B[i]\nu.b -> m.q: T[i]\n}\n
        C -> l.p\nl.q -> B\nB -> m.p\nm.q -> T\nT -> C_1";
    let text = applies(&program(first).replace("[N + 2]", "[N]"), &RedundantArray::default());
    assert!(!text.contains("access T"), "{text}");
    let element = "access C\naccess x\naccess C_1 = C\ntasklet t (a, b) -> (c) { c = a + b }\n
        C -> t.a: C[0]\nC -> t.b: C[1]\nt.c -> x: x\nx -> C_1: x -> C[1]";
    let text = applies(&program(element), &RedundantArray::default());
    assert!(!text.contains("scalar x"), "{text}");
}

/// In an iteration of the outer map, `N` is at least 1, so the inner map writes its element.
#[test]
fn parts_are_exact_where_an_outer_map_runs() {
    let rows = |range: &str| {
        program(&format!(
            "access A\naccess B\nmap m [i = 0:N] {{\nmap n [j = {range}] {{\n
            tasklet t (a) -> (b) {{ b = a + i }}\nn.A -> t.a: A[j]\nt.b -> n.B: B[i] wcr(sum)\n}}\n
            m.A -> n.A\nn.B -> m.B\n}}\nA -> m.A\nm.B -> B"
        ))
    };
    for range in ["0:N", "N - 1:-1:-1", "0:i + 1"] {
        let text = applies(&rows(range), &AccumulateTransient::default());
        assert!(text.contains("transient array B_sum"), "{text}");
    }
    assert!(refuses(&rows("1:N"), &AccumulateTransient::default()).contains("not known exactly"));
}

/// A map of calls, and a read of all elements behind it. Inlined, arguments that are copied, or read again, have no memlets through
/// the map any more; the read waits for the map itself.
#[test]
fn access_nodes_of_called_sdfgs_in_maps_keep_the_order_outside() {
    let call = |body: &str| {
        program(&format!(
            "access A\naccess T\naccess B\nmap m [i = 0:N] {{\n
            nested f (p) -> (q) sdfg f {{\nscalar p: f64\nscalar q: f64\nstate s {{\naccess p\naccess q\n{body}\n}}\n}}\n
            m.a -> f.p: A[N - 1 - i]\nf.q -> m.t: T[i]\n}}\n
            map n [j = 0:N] {{\ntasklet u (x) -> (y) {{ y = x + 1 }}\nn.t -> u.x: T[j]\nu.y -> n.b: B[j]\n}}\n
            A -> m.a\nm.t -> T\nT -> n.t\nn.b -> B"
        ))
    };
    let bodies = [
        "p -> q",
        "tasklet t (x) -> (y) { y = x }\np -> t.x: p\nt.y -> q: q",
        "access r = q\ntasklet t (x) -> (y) { y = x }\np -> t.x: p\nt.y -> q: q\n
        tasklet v (x) -> (y) { y = 2 * x }\nq -> v.x: q\nv.y -> r: q",
    ];
    for body in bodies {
        assert!(!applies(&call(body), &InlineSdfg::default()).contains("nested"));
    }
    let copied = applies(&call(bodies[1]), &TrivialTaskletElimination::default());
    assert!(copied.contains("p -> q"), "{copied}");
}

/// The second axis of the copy is the first one of the part.
#[test]
fn reductions_keep_their_dimensions() {
    let row = program(
        "access A\naccess T\naccess B\nreduce r wcr(sum) axes(1) identity(0.0)\n
        A -> T: A[0:N + 2] -> T[0, 0:N + 2]\nT -> r: T[0:1, 0:N + 2]\nr -> B: B[0:1]",
    )
    .replace("T: f64[N]", "T: f64[1, N + 2]");
    assert!(refuses_rightly(&row, &RedundantReadSlice::default()).contains("needs the dimensions"));
}

#[test]
fn arguments_are_not_redundant() {
    let one =
        format!("access single\naccess C\n{FILL}five.o -> single: single[0]\nsingle -> C: single[0] -> C[1]");
    let refused = refuses(&program(&one).replace("f32[1]", "f64[1]"), &RedundantArray::default());
    assert!(refused.contains("is no transient array or scalar"), "{refused}");
}

#[test]
fn local_copies_are_those_of_the_named_array() {
    let maps = program(
        "access A\naccess B\naccess C\nmap m [i = 0:N] {\nmap n [j = 0:N] {\n
        tasklet t (a, b) -> (c) { c = a + b }\nn.A -> t.a: A[j]\nn.B -> t.b: B[j]\n
        t.c -> n.C: C[i] wcr(sum)\n}\nm.A -> n.A\nm.B -> n.B\nn.C -> m.C\n}\n
        A -> m.A\nB -> m.B\nm.C -> C",
    );
    for array in ["A", "B"] {
        let text = applies(&maps, &LocalStorage::of_input(array));
        assert!(text.contains(&format!("transient array {array}_local")), "{text}");
    }
}

/// A tasklet takes one element from a stream, a copy takes all.
#[test]
fn tasklets_that_read_streams_and_views_stay() {
    let hands_on = |container: &str, filled: &str, read: &str| {
        program(&format!(
            "access {container}\naccess B\n{filled}\ntasklet t (a) -> (b) {{ b = a }}\n
            {container} -> t.a: {read}\nt.b -> B: B[0]"
        ))
        .replace("view V", "transient stream Q: f64\n  view V")
    };
    let stream = "map m [i = 0:2] {\ntasklet u () -> (o) { o = i }\nu.o -> m.Q: Q\n}\nm.Q -> Q";
    let refused = refuses(&hands_on("Q", stream, "Q"), &TrivialTaskletElimination::default());
    assert!(refused.contains("`Q` is not accessed at one element of an array"), "{refused}");
    let view = hands_on("V", "access A\nbind A -> V: A[1:N + 1]", "V[0]");
    let refused = refuses(&view, &TrivialTaskletElimination::default());
    assert!(refused.contains("`V` is not accessed at one element of an array"), "{refused}");
}

#[test]
fn reads_of_views_join_unless_the_view_is_written() {
    let views = |write: &str| {
        program(&format!(
            "access A\naccess V\naccess again = A\naccess B\naccess C\ntasklet t (a) -> (b) {{ b = a + 1 }}\n
            bind A -> V: A[1:N + 1]\nV -> t.a: V[0]\nt.b -> B: B[0]\nagain -> C: A[0] -> C[0]\n{write}"
        ))
    };
    let text = applies(&views(""), &MergeReads::default());
    assert!(!text.contains("again"), "{text}");
    let written = views(&format!("access W = V\n{FILL}five.o -> W: V[2]\norder W -> again\norder V -> five"));
    assert_eq!(matches(&parsed(&written), &MergeReads::default()), []);
    let read_by_code = written.replace(
        "again -> C: A[0] -> C[0]",
        "tasklet u (a) -> (b) { b = a }\nagain -> u.a: A[3]\nu.b -> C: C[0]",
    );
    assert_eq!(matches(&parsed(&read_by_code), &MergeReads::default()), []);
}

#[test]
fn a_tasklet_may_read_a_copy_and_write_the_array() {
    let copy = "access A\naccess x\naccess later = A\ntasklet t (a, c) -> (b) { b = a + c }\n
        A -> x: A[N] -> x\nx -> t.a: x\nA -> t.c: A[0]\nt.b -> later: A[N]";
    assert!(!applies(&program(copy), &RedundantReadSlice::default()).contains("scalar x"));
    // The code reads elements while it writes others.
    let whole = "access A\naccess T\naccess later = A\n
        tasklet t (a) -> (b) { for i in range(N): b[i] = a[N - 1 - i] }\n
        A -> T: A[0:N] -> T[0:N]\nT -> t.a: T[0:N]\nt.b -> later: A[0:N]";
    assert!(refuses_rightly(&program(whole), &RedundantReadSlice::default()).contains("write"));
}

#[test]
fn results_go_to_a_part_of_an_array() {
    let part = |source: &str, target: &str| {
        program(&format!(
            "access A\naccess T\naccess C\nmap m [i = 0:N] {{\ntasklet t (a) -> (b) {{ b = 2 * a }}\n
            m.p -> t.a: {source}[i]\nt.b -> m.q: T[i]\n}}\n{source} -> m.p\nm.q -> T\nT -> C: T[0:N] -> {target}"
        ))
    };
    let text = applies(&part("A", "C[1:N + 1]"), &RedundantArray::default());
    assert!(text.contains("t.b -> m.q: C[i + 1]") && !text.contains("T:"), "{text}");
    // The map has a parameter of the name of the symbol.
    let captured = part("A", "C[i:N + i]").replace("symbol N: i64", "symbol N: i64\n  symbol i: i64");
    let captured = captured.replace("C: f64[N + 2]", "C: f64[N + N]");
    assert!(refuses_rightly(&captured, &RedundantArray::default()).contains("parameter"));
    // Iterations would read what others have written.
    let reads = part("C", "C[1:N + 1]")
        .replace("access A\n", "access old = C\n")
        .replace("\nC -> m.p", "\nold -> m.p");
    assert!(refuses_rightly(&reads, &RedundantArray::default()).contains("used elsewhere"));
}
