//! Maps over ranks that are divided in an interior and a border.

use sdfg_transforms::rewrites::HaloOverlap;
use sdfg_transforms::{Transformation, apply, places};

use super::support::{applies, page_is_true, parsed, refuses};

#[test]
fn the_page_is_true() {
    page_is_true(&HaloOverlap::default());
}

/// A map over four ranks that adds elements of `A` at some distances, where `cut` and `inner` are those of its only dimension.
fn line(cut: &str, inner: &str, offsets: &[i64]) -> String {
    let names: Vec<String> = (0..offsets.len()).map(|at| format!("v{at}")).collect();
    let edges = names.iter().zip(offsets).map(|(name, offset)| format!("m.A -> t.{name}: A[i + {offset}]\n"));
    format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[N + 9] distribution(grid(4)[{cut}])
  array B: f64[N + 9]
  transient array P: f64[N + 9] distribution(grid(4)[{own}])
  state s {{
    access A
    access P
    access B
    access near = A
    map ranks [p = 0:4] schedule(mpi) {{
      map m [i = {inner}] {{
        tasklet t ({parameters}) -> (y) {{ y = {sum} }}
        {edges}
        t.y -> m.P: P[i]
      }}
      ranks.A -> m.A
      m.P -> ranks.P
    }}
    A -> near
    near -> ranks.A
    ranks.P -> P
    P -> B: P[4:N + 5] -> B[4:N + 5]
  }}
}}",
        own = cut.split(" halo").next().expect("a cut"),
        parameters = names.join(", "),
        sum = names.join(" + "),
        edges = edges.collect::<String>(),
    )
}

const PARTS: &str = "max(4, (N + 9)*p // 4):min(N + 5, ((N + 9)*p + N + 9) // 4)";

#[test]
fn the_interior_reads_what_its_rank_owns() {
    for offsets in [&[-1, 1][..], &[-4, 0, 3], &[-2]] {
        let found = applies(&line("balanced(0) halo(4, 4)", PARTS, offsets), &HaloOverlap::default());
        // The interior reads no halo, and the border has two maps inside.
        let program = parsed(&found);
        let refusal = |place| {
            apply(&mut program.clone(), &HaloOverlap::default(), &place).expect_err("a refusal").to_string()
        };
        let refusals: Vec<String> =
            places(&program, &HaloOverlap::default()).into_iter().map(refusal).collect();
        let count = |reason: &str| refusals.iter().filter(|refusal| refusal.contains(reason)).count();
        assert_eq!([count("reads no halo"), count("something else inside")], [1, 1], "{refusals:?}\n{found}");
    }
    // Parts that are narrower than the reach have no interior, and each end of their border would have all iterations.
    let narrow = line("balanced(0) halo(4, 4)", PARTS, &[-4, 4])
        .replace("P[i]\n", "P[i] wcr(sum)\n")
        .replace("  state s {", "  state first {\n    access P\n    access B\n    B -> P\n  }\n  state s {");
    applies(&narrow, &HaloOverlap::default());
    // Parts with given beginnings, one of them empty.
    let part = |k: &str| format!("min(1, {k})*3 + min(1, max(0, {k} - 1))*(N - 1) + max(0, {k} - 3)*7");
    let inner = format!("max(4, {}):min(N + 5, {})", part("p"), part("(p + 1)"));
    applies(&line("starts(0, 3, N + 2, N + 2) halo(1, 1)", &inner, &[-1, 0, 1]), &HaloOverlap::default());
}

/// A map over a grid of two by two ranks with two refreshed containers.
fn plane(reads: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[N + 3, N + 4] distribution(grid(2, 2)[balanced(0) halo(1, 1), balanced(1) halo(2, 1)])
  array C: f64[N + 3, N + 4] distribution(grid(2, 2)[balanced(0), balanced(1) halo(0, 1)])
  transient array P: f64[N + 3, N + 4] distribution(grid(2, 2)[balanced(0), balanced(1)])
  array B: f64[N + 3, N + 4]
  state s {{
    access A
    access C
    access P
    access B
    access near = A
    access right = C
    map ranks [p = 0:2, q = 0:2] schedule(mpi) {{
      map m [i = max(1, (N + 3)*p // 2):min(N + 2, ((N + 3)*p + N + 3) // 2), j = max(2, (N + 4)*q // 2):min(N + 3, ((N + 4)*q + N + 4) // 2)] {{
        tasklet t (a, b, c) -> (y) {{ y = a - b + 2 * c }}
        {reads}
        t.y -> m.P: P[i, j]
      }}
      ranks.A -> m.A
      ranks.C -> m.C
      m.P -> ranks.P
    }}
    A -> near
    C -> right
    near -> ranks.A
    right -> ranks.C
    ranks.P -> P
    P -> B: P[1:N + 2, 2:N + 3] -> B[1:N + 2, 2:N + 3]
  }}
}}"
    )
}

const STAR: &str = "m.A -> t.a: A[i - 1, j - 2]\nm.A -> t.b: A[i + 1, j]\nm.C -> t.c: C[i, j + 1]";

#[test]
fn borders_of_several_dimensions_and_containers_are_disjoint() {
    let found = applies(&plane(STAR), &HaloOverlap::default());
    // One interior, and a slab at each end of each dimension.
    assert_eq!(found.matches("tasklet ").count(), 5, "{found}");
    // Elements that two maps compute get two values, which their order hides unless they accumulate.
    let sums = plane(STAR)
        .replace("P[i, j]\n", "P[i, j] wcr(sum)\n")
        .replace("  state s {", "  state first {\n    access P\n    access B\n    B -> P\n  }\n  state s {");
    assert!(sums.contains("wcr(sum)") && sums.contains("B -> P\n"), "{sums}");
    applies(&sums, &HaloOverlap::default());
    let flat = "m.A -> t.a: A[i, j]\nm.A -> t.b: A[i, j]\nm.C -> t.c: C[i, j + 1]";
    applies(&plane(flat), &HaloOverlap::default());
}

#[test]
fn what_cannot_be_divided_is_refused() {
    let overlap = HaloOverlap::default();
    let text = line("balanced(0) halo(1, 1)", PARTS, &[-1, 1]);
    let refused = |from: &str, to: &str| {
        let changed = text.replace(from, to);
        assert_ne!(changed, text, "{from}");
        refuses(&changed, &overlap)
    };
    assert!(
        refused("A -> near", "A -> near: A[0:N + 9] -> A[0:N + 9] wcr(max)").contains("is not refreshed")
    );
    // Other elements, and those of another container.
    assert!(refused("A -> near", "A -> near: A[0:2] -> A[2:4]").contains("is not refreshed"));
    let other = "  array C: f64[N + 9] distribution(grid(4)[balanced(0)])\n  state s {\n    access C";
    let other = text.replace("  state s {", other).replace("A -> near", "C -> near");
    assert!(refuses(&other, &overlap).contains("is not refreshed"));
    assert!(refused("schedule(mpi)", "").contains("is no map over ranks"));
    assert!(refused("A[i + 1]", "A[min(i + 1, N)]").contains("positions of another form"));
    assert!(refused("// 4)]", "// 4):2]").contains("a step other than 1"));
    // Process 0 of the other grid is not the rank of the first iteration.
    let other = "distribution(grid(4, 1)[balanced(0) halo(1, 1)])";
    assert!(
        refused("distribution(grid(4)[balanced(0) halo(1, 1)])", other).contains("positions of another form")
    );
}

#[test]
fn a_map_that_changes_what_it_reads_is_not_divided() {
    let text = line("balanced(0) halo(1, 1)", PARTS, &[0]).replace("m.P: P[i]", "m.A: A[i]");
    let text = text.replace("m.P -> ranks.P", "m.A -> ranks.A").replace("ranks.P -> P", "ranks.A -> after");
    let text = text.replace("access near = A", "access near = A\n    access after = A");
    let text = text.replace("P -> B: P[4:N + 5]", "after -> B: A[4:N + 5]").replace("    access P\n", "");
    // The order of interior and border would make it right in the interpreter; native code would send what the interior has changed.
    assert!(refuses(&text, &HaloOverlap::default()).contains("is written by the map"));
}

#[test]
fn maps_of_nested_sdfgs_are_not_divided() {
    let page = HaloOverlap::default().metadata().page();
    let before = page.split("```sdft\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a program");
    let nested = before.replacen("sdfg smooth", "nested f (A) -> (A, B) with (N = N) sdfg smooth", 1);
    let containers =
        before.lines().filter(|line| line.starts_with("  array ") || line.starts_with("  symbol "));
    let containers: String = containers.map(|line| format!("{line}\n")).collect();
    let text = format!(
        "sdfg p {{\n{containers}  state s {{\n    access A\n    access after = A\n    access B\n    {nested}
    A -> f.A: A[0:N]\n    f.A -> after: A[0:N]\n    f.B -> B: B[0:N]\n  }}\n}}"
    );
    let why = refuses(&text, &HaloOverlap::default());
    assert!(why.contains("is in a scope, or in a nested SDFG"), "{why}");
}
