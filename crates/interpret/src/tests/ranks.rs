//! Tests of virtual ranks: the meaning does not depend on their number, but reachability does.

use super::{Options, Order, run_with};
use crate::tensor::Tensor;
use crate::{ArgumentError, Arguments, RunError, TrapKind};

/// Runs on several numbers of ranks in several orders, which must give the same results.
#[track_caller]
fn run_on(source: &str, ranks: &[u32], arguments: &Arguments) -> Arguments {
    let mut expected: Option<Arguments> = None;
    for ranks in ranks {
        for order in [Order::Fixed, Order::Random(1), Order::Random(2)] {
            let mut found = arguments.clone();
            let options = Options { order, ranks: *ranks, ..Options::default() };
            run_with(source, &mut found, &options).unwrap_or_else(|error| panic!("{ranks} ranks: {error}"));
            assert_eq!(expected.get_or_insert_with(|| found.clone()), &found, "{ranks} ranks");
        }
    }
    expected.expect("something was run")
}

#[track_caller]
fn trap_on(source: &str, ranks: u32, arguments: &Arguments) -> TrapKind {
    let options = Options { ranks, ..Options::default() };
    let error = run_with(source, &mut arguments.clone(), &options).unwrap_err();
    error.trap().unwrap_or_else(|| panic!("{error}")).kind.clone()
}

/// Each rank smooths its block of `A` into `B`; neighbours come by copies, the sum goes to all ranks by one.
const STENCIL: &str = "sdfg stencil {
  symbol N: i64
  symbol P: i64
  array A: f64[N] distribution(block(P))
  array B: f64[N] distribution(block(P))
  scalar total: f64
  transient array halo: f64[N // P + 2]
  transient scalar part: f64
  state main {
    access A
    access B
    access total
    map ranks [r = 0:P] schedule(mpi) {
      access halo
      access part
      ranks.A -> halo: A[max(0, r * N // P - 1)] -> halo[0]
      ranks.A -> halo: A[r * N // P:(r + 1) * N // P] -> halo[1:N // P + 1]
      ranks.A -> halo: A[min(N - 1, (r + 1) * N // P)] -> halo[N // P + 1]
      map own [i = 0:N // P] {
        tasklet t (l, c, r) -> (o) { o = l + 2 * c + r }
        own.halo -> t.l: halo[i]
        own.halo -> t.c: halo[i + 1]
        own.halo -> t.r: halo[i + 2]
        t.o -> own.B: B[r * N // P + i]
      }
      halo -> own.halo
      own.B -> ranks.B
      reduce add wcr(sum) identity(0.0)
      halo -> add: halo[1:N // P + 1]
      add -> part: part
      part -> ranks.total: part -> total wcr(sum)
    }
    A -> ranks.A
    ranks.B -> B
    ranks.total -> total
  }
}";

fn numbers(n: usize) -> Vec<f64> {
    (0..n).map(|i| (i * i % 7) as f64).collect()
}

#[test]
fn copies_communicate() {
    let a = numbers(12);
    let arguments = Arguments::new()
        .with("A", Tensor::vector(&a))
        .with("B", Tensor::vector(&[0.0; 12]))
        .with("total", Tensor::scalar(0.5))
        .with_symbol("P", 4);
    let found = run_on(STENCIL, &[1, 2, 4, 7], &arguments);
    let at = |i: i64| a[i.clamp(0, 11) as usize];
    let expected: Vec<f64> = (0..12).map(|i| at(i - 1) + 2.0 * at(i) + at(i + 1)).collect();
    assert_eq!(found.get("B"), Some(&Tensor::vector(&expected)));
    assert_eq!(found.get("total"), Some(&Tensor::scalar(a.iter().sum::<f64>() + 0.5)));
}

#[test]
fn tasklets_reach_the_elements_of_their_rank() {
    let a = numbers(12);
    let arguments = Arguments::new()
        .with("A", Tensor::vector(&a))
        .with("B", Tensor::vector(&[0.0; 12]))
        .with("total", Tensor::scalar(0.0))
        .with_symbol("P", 4);
    let shifted = STENCIL.replace("B[r * N // P + i]", "B[(r * N // P + i + 3) % N]");
    run_on(&shifted, &[1], &arguments);
    let found = trap_on(&shifted, 4, &arguments);
    let expected =
        TrapKind::RemoteElement { container: "B".into(), index: vec![3], by: Some(0), owner: Some(1) };
    assert_eq!(found, expected);
    assert_eq!(
        found.to_string(),
        "remote element: rank 0 alone cannot access element [3] of `B`, which is on rank 1; copy it"
    );
}

/// A map over ranks around one tasklet, with the ends as told.
fn map_of_ranks(distribution: &str, read: &str, write: &str) -> String {
    format!(
        "sdfg p {{
  symbol P: i64
  array A: f64[2 * P]{distribution}
  array B: f64[2 * P]{distribution}
  state s {{
    access A
    access B
    map m [r = 0:P] schedule(mpi) {{
      tasklet t (x) -> (y) {{ y = 2 * x }}
      m.A -> t.x: A[{read}]
      t.y -> m.B: B[{write}]
    }}
    A -> m.A
    m.B -> B
  }}
}}"
    )
}

#[test]
fn one_rank_reads_copies_and_does_not_write_them() {
    let vector = || Tensor::vector(&[1.0_f64; 6]);
    let arguments = Arguments::new().with("A", vector()).with("B", vector()).with_symbol("P", 3);
    let source = map_of_ranks("", "5 - r", "r");
    run_on(&source, &[1], &arguments);
    let found = trap_on(&source, 3, &arguments);
    assert_eq!(
        found,
        TrapKind::RemoteElement { container: "B".into(), index: vec![0], by: Some(0), owner: None }
    );
    let blocks = map_of_ranks(" distribution(block(P))", "2 * r + 1", "2 * r");
    run_on(&blocks, &[1, 2, 3, 5], &arguments);
    let other = map_of_ranks(" distribution(block(P))", "2 * r + 1", "(2 * r + 2) % (2 * P)");
    let found = trap_on(&other, 2, &arguments);
    assert_eq!(
        found,
        TrapKind::RemoteElement { container: "B".into(), index: vec![2], by: Some(0), owner: Some(1) }
    );
    // Two of the blocks of three are on the first of two ranks.
    let third = map_of_ranks(" distribution(block(P))", "2 * r + 1", "(2 * r + 4) % (2 * P)")
        .replace("r = 0:P", "r = 0:1");
    run_on(&third, &[1, 2], &arguments);
}

#[test]
fn all_ranks_together_reach_only_what_each_has() {
    let source = "sdfg p {
  array A: f64[4] distribution(block(2))
  array B: f64[4]
  state s {
    access A
    access B
    tasklet t (x) -> (y) { y = x }
    A -> t.x: A[1]
    t.y -> B: B[0]
  }
}";
    let vector = || Tensor::vector(&[1.0_f64, 2.0, 3.0, 4.0]);
    let arguments = Arguments::new().with("A", vector()).with("B", vector());
    run_on(source, &[1], &arguments);
    let found = trap_on(source, 2, &arguments);
    assert_eq!(
        found,
        TrapKind::RemoteElement { container: "A".into(), index: vec![1], by: None, owner: Some(0) }
    );
    let gathered = source.replace("    tasklet", "    access C\n    A -> C: A[0:4] -> C[0:4]\n    tasklet");
    let gathered = gathered.replace("  array B", "  transient array C: f64[4]\n  array B");
    run_on(&gathered.replace("A -> t.x: A[1]", "C -> t.x: C[1]"), &[1, 2, 3], &arguments);
}

#[test]
fn grids_are_row_major() {
    let source = "sdfg p {
  array A: i64[4, 6] distribution(block(2, 3))
  state s {
    access A
    map m [i = 0:2, j = 0:3] schedule(mpi) {
      map n [k = 0:2, l = 0:2] {
        tasklet t () -> (y) { y = 10 * i + j }
        t.y -> n.A: A[2 * i + k, 2 * j + l]
      }
      n.A -> m.A
    }
    m.A -> A
  }
}";
    let arguments = Arguments::new().with("A", Tensor::new(&[4, 6], &[0_i64; 24]).unwrap());
    let found = run_on(source, &[1, 2, 4, 6, 8], &arguments);
    let expected: Vec<i64> = (0..24).map(|at| 10 * (at / 12) + at % 6 / 2).collect();
    assert_eq!(found.get("A").unwrap().to_vec::<i64>().unwrap(), expected);
    let transposed = source.replace("A[2 * i + k, 2 * j + l]", "A[(2 * i + k + 2) % 4, 2 * j + l]");
    let found = trap_on(&transposed, 6, &arguments);
    assert_eq!(
        found,
        TrapKind::RemoteElement { container: "A".into(), index: vec![2, 0], by: Some(0), owner: Some(3) }
    );
}

#[test]
fn each_rank_has_local_containers_of_its_own() {
    let source = "sdfg p {
  symbol P: i64
  array B: i64[P] distribution(block(P))
  transient array kept: i64[2] distribution(local) lifetime(sdfg)
  for l: t = 0:3 {
    state first {
      access kept
      map m [r = 0:P] schedule(mpi) {
        tasklet t () -> (y) { y = 10 * r + t }
        t.y -> m.kept: kept[1]
      }
      m.kept -> kept
    }
    -> second
    state second {
      access kept
      access B
      map m [r = 0:P] schedule(mpi) {
        tasklet t (x) -> (y) { y = x }
        m.kept -> t.x: kept[1]
        t.y -> m.B: B[r]
      }
      kept -> m.kept
      m.B -> B
    }
  }
}";
    let source = source
        .replace("tasklet t () -> (y) { y = 10 * r + t }", "tasklet u () -> (y) { y = 10 * r + t }")
        .replace("t.y -> m.kept", "u.y -> m.kept");
    let arguments = Arguments::new().with("B", Tensor::vector(&[0_i64; 3])).with_symbol("P", 3);
    let found = run_on(&source, &[3, 4], &arguments);
    assert_eq!(found.get("B").unwrap().to_vec::<i64>().unwrap(), [2, 12, 22]);
    // On fewer ranks, iterations share what is local.
    assert!(matches!(trap_on(&source, 2, &arguments), TrapKind::Conflict { .. }));
    let outside = source.replace(
        "map m [r = 0:P] schedule(mpi) {\n        tasklet u",
        "map m [r = 0:1] {\n        tasklet u",
    );
    let found = trap_on(&outside, 3, &arguments);
    assert_eq!(
        found,
        TrapKind::RemoteElement { container: "kept".into(), index: vec![1], by: None, owner: None }
    );
}

#[test]
fn the_last_block_may_be_shorter_or_empty() {
    // Seven elements in blocks of three, and of two: the fifth block has none.
    for (parts, owners) in [(3, [0, 0, 0, 1, 1, 1, 2]), (5, [0, 0, 1, 1, 2, 2, 3])] {
        for (element, owner) in owners.into_iter().enumerate() {
            let source = format!(
                "sdfg p {{
  array A: i64[7] distribution(block({parts}))
  state s {{
    access A
    map m [r = 0:{parts}] schedule(mpi) {{
      tasklet t () -> (y) {{
        if r == {owner}: y[0] = 10 + r
      }}
      t.y -> m.A: A[{element}:{element} + 1] dynamic
    }}
    m.A -> A
  }}
}}"
            );
            let arguments = Arguments::new().with("A", Tensor::vector(&[0_i64; 7]));
            let found = run_on(&source, &[1, 5, 6], &arguments);
            let mut expected = vec![0_i64; 7];
            expected[element] = 10 + i64::from(owner);
            assert_eq!(found.get("A").unwrap().to_vec::<i64>().unwrap(), expected);
            let other = source.replace(&format!("if r == {owner}"), &format!("if r == {}", (owner + 1) % 3));
            let by = Some((owner + 1) % 3);
            let index = vec![element as i64];
            let expected = TrapKind::RemoteElement { container: "A".into(), index, by, owner: Some(owner) };
            assert_eq!(trap_on(&other, 5, &arguments), expected);
        }
    }
}

#[test]
fn what_an_iteration_allocates_is_its_own() {
    let source = "sdfg p {
  symbol P: i64
  array B: f64[2 * P] distribution(block(P))
  transient array T: f64[2] distribution(block(2))
  transient stream S: f64
  state s {
    access B
    map m [r = 0:P] schedule(mpi) {
      access T
      access S
      # Inside, the schedule does not deal iterations out again.
      map inner [k = 0:2] schedule(mpi) {
        tasklet t () -> (y) { y = 10 * r + k }
        t.y -> inner.T: T[k]
      }
      inner.T -> T
      T -> S: T[0:2] -> S
      tasklet both (v) -> (w) {
        w[0] = v[0]
        w[1] = v[1]
      }
      S -> both.v: S volume(2)
      both.w -> m.B: B[2 * r:2 * r + 2]
    }
    m.B -> B
  }
}";
    let arguments = Arguments::new().with("B", Tensor::vector(&[0.0_f64; 6])).with_symbol("P", 3);
    let found = run_on(source, &[1, 2, 3, 4], &arguments);
    let expected = [0.0, 1.0, 10.0, 11.0, 20.0, 21.0];
    assert_eq!(found.get("B").unwrap().to_vec::<f64>().unwrap(), expected);
}

#[test]
fn streams_of_all_ranks_are_reached_by_copies() {
    let source = "sdfg p {
  array A: f64[3]
  array B: f64[3]
  transient stream S: f64
  transient scalar one: f64
  state s {
    access A
    access B
    access S
    A -> S: A[0:3] -> S
    map m [r = 0:3] schedule(mpi) {
      access one
      tasklet t (x) -> (y) { y = x }
      m.S -> one: S -> one
      one -> t.x: one
      t.y -> m.B: B[0] wcr(sum)
    }
    S -> m.S
    m.B -> B
  }
}";
    let vector = || Tensor::vector(&[1.0_f64, 2.0, 4.0]);
    let arguments = Arguments::new().with("A", vector()).with("B", vector());
    // The sum is kept in one element: on several ranks, a tasklet may not write what others have copies of.
    let blocks = source.replace("B: f64[3]", "B: f64[3] distribution(block(1))");
    let found = run_on(&blocks, &[1], &arguments);
    assert_eq!(found.get("B").unwrap().to_vec::<f64>().unwrap(), [8.0, 2.0, 4.0]);
    let by_copy = source
        .replace(
            "t.y -> m.B: B[0] wcr(sum)",
            "t.y -> two\n      two -> m.B: two -> B[0] wcr(sum)\n      access two",
        )
        .replace("transient scalar one: f64", "transient scalar one: f64\n  transient scalar two: f64");
    let found = run_on(&by_copy, &[1, 2, 3], &arguments);
    assert_eq!(found.get("B").unwrap().to_vec::<f64>().unwrap(), [8.0, 2.0, 4.0]);
    let popped = by_copy.replace("      m.S -> one: S -> one\n      one -> t.x: one", "      m.S -> t.x: S");
    let popped = popped.replace("      access one\n", "").replace("  transient scalar one: f64\n", "");
    run_on(&popped, &[1], &arguments);
    let found = trap_on(&popped, 2, &arguments);
    let expected = TrapKind::RemoteElement { container: "S".into(), index: vec![], by: Some(0), owner: None };
    assert_eq!(found, expected);
}

/// Two steps of smoothing over halos: `fresh` refreshes those of the container between them.
fn smoothing(distribution: &str, fresh: &str) -> String {
    format!(
        "sdfg smooth {{
  symbol N: i64
  array A: f64[N] distribution({distribution})
  transient array B: f64[N] distribution({distribution})
  for steps: t = 0:2 {{
    state refresh {{
      access A
      access fresh = A
      {fresh}
    }}
    -> ends
    state ends {{
      access A
      access B
      A -> B: A[0] -> B[0]
      A -> B: A[N - 1] -> B[N - 1]
    }}
    -> step
    state step {{
      access A
      access B
      access new = A
      map ranks [r = 0:3] schedule(mpi) {{
        map own [i = 1 + r * (N - 2) // 3:1 + (r + 1) * (N - 2) // 3] {{
          tasklet smooth (l, c, u) -> (o) {{ o = l + 2 * c + u }}
          own.A -> smooth.l: A[i - 1]
          own.A -> smooth.c: A[i]
          own.A -> smooth.u: A[i + 1]
          smooth.o -> own.B: B[i]
        }}
        ranks.A -> own.A
        own.B -> ranks.B
      }}
      A -> ranks.A
      ranks.B -> B
      B -> new: B[1:N - 1] -> A[1:N - 1]
    }}
  }}
}}"
    )
}

const HALO: &str = "grid(3)[balanced(0, 1, N - 1) halo(1, 1)]";

#[test]
fn a_copy_of_a_container_to_itself_refreshes_its_halos() {
    let a = numbers(12);
    let mut expected = a.clone();
    for _ in 0..2 {
        let old = expected.clone();
        (1..11).for_each(|i| expected[i] = old[i - 1] + 2.0 * old[i] + old[i + 1]);
    }
    let arguments = Arguments::new().with("A", Tensor::vector(&a));
    let source = smoothing(HALO, "A -> fresh");
    let found = run_on(&source, &[1, 3, 8], &arguments);
    assert_eq!(found.get("A"), Some(&Tensor::vector(&expected)));
    let halo = smoothing("grid(3)[starts(0, 4, 7) halo(1, 1)]", "A -> fresh");
    assert_eq!(run_on(&halo, &[1, 3, 8], &arguments), found);
}

#[test]
fn copies_are_undefined_until_a_copy_sets_them() {
    let arguments = Arguments::new().with("A", Tensor::vector(&numbers(12)));
    let stale =
        |by, index, owner| TrapKind::StaleCopy { container: "A".into(), index: vec![index], by, owner };
    // Nobody set the halos of the argument; the first missing one is met first.
    assert_eq!(trap_on(&smoothing(HALO, ""), 3, &arguments), stale(0, 4, 1));
    // The copy to the end sets the halo after part 0 only.
    let one = smoothing(HALO, "A -> fresh: A[4] -> A[4]");
    assert_eq!(trap_on(&one, 3, &arguments), stale(1, 3, 0));
    assert_eq!(
        stale(1, 3, 0).to_string(),
        "stale copy: rank 1 has a copy of element [3] of `A` that no copy set since rank 0 wrote it; copy it"
    );
    // A narrower halo has no place for the element.
    let narrow = smoothing("grid(3)[balanced(0, 1, N - 1) halo(0, 1)]", "A -> fresh");
    let expected =
        TrapKind::RemoteElement { container: "A".into(), index: vec![3], by: Some(1), owner: Some(0) };
    assert_eq!(trap_on(&narrow, 3, &arguments), expected);
    // On one rank everything is there.
    run_on(&smoothing(HALO, ""), &[1], &arguments);
}

#[test]
fn an_owner_makes_the_copies_of_others_stale() {
    // `C` has a part for each process along dimension 0 of the grid, and replicas along dimension 1.
    let source = |fresh: &str, reader: i64| {
        format!(
            "sdfg p {{
  transient array C: f64[4] distribution(grid(2, 2)[balanced(0)])
  array R: f64[4] distribution(grid(4)[balanced(0)])
  state write {{
    access C
    access fresh = C
    map m [p = 0:2, q = 0:2] schedule(mpi) {{
      map own [i = 2 * p:2 * p + 2 * (1 - q)] {{
        tasklet t () -> (y) {{ y = f64(i) }}
        t.y -> own.C: C[i]
      }}
      own.C -> m.C
    }}
    m.C -> C
    {fresh}
  }}
  -> read
  state read {{
    access C
    access R
    map m [k = 0:4] schedule(mpi) {{
      tasklet t (x) -> (y) {{ y = x + 1 }}
      m.C -> t.x: C[2 * (k // {reader}) % 4]
      t.y -> m.R: R[k]
    }}
    C -> m.C
    m.R -> R
  }}
}}"
        )
    };
    let arguments = Arguments::new().with("R", Tensor::vector(&[0.0; 4]));
    let found = run_on(&source("C -> fresh", 2), &[1, 4, 5], &arguments);
    assert_eq!(found.get("R"), Some(&Tensor::vector(&[1.0, 1.0, 3.0, 3.0])));
    let stale = TrapKind::StaleCopy { container: "C".into(), index: vec![0], by: 1, owner: 0 };
    assert_eq!(trap_on(&source("", 2), 4, &arguments), stale);
    let remote =
        TrapKind::RemoteElement { container: "C".into(), index: vec![2], by: Some(1), owner: Some(2) };
    assert_eq!(trap_on(&source("C -> fresh", 1), 4, &arguments), remote);
}

#[test]
fn copies_count_the_bytes_that_ranks_receive() {
    let mut arguments = Arguments::new().with("A", Tensor::vector(&numbers(12)));
    let source = smoothing(HALO, "A -> fresh");
    let mut report = |ranks| {
        let options = Options { ranks, ..Options::default() };
        run_with(&source, &mut arguments, &options).unwrap_or_else(|error| panic!("{error}"))
    };
    assert!(report(1).received.is_empty());
    let report = report(3);
    let copied: Vec<u64> = report.received.iter().map(|received| received.copied).collect();
    // Parts of `A` and `B` are 0..4, 4..7 and 7..12. In each of two steps, the halos of `A` come twice: by the refreshing
    // copy, and with what is copied from `B`, whose halos nobody set.
    assert_eq!(copied, [2 * 2 * 8, 2 * 4 * 8, 2 * 2 * 8]);
}

#[test]
fn an_empty_part_has_no_halo() {
    let source = "sdfg p {
  array A: f64[12] distribution(grid(3)[starts(0, 0, 7) halo(1, 2)])
  state s {
    access A
    access fresh = A
    A -> fresh
  }
}";
    let mut arguments = Arguments::new().with("A", Tensor::vector(&numbers(12)));
    let options = Options { ranks: 3, ..Options::default() };
    let report = run_with(source, &mut arguments, &options).unwrap_or_else(|error| panic!("{error}"));
    let copied: Vec<u64> = report.received.iter().map(|received| received.copied).collect();
    assert_eq!(copied, [0, 2 * 8, 8]);
}

#[test]
fn distributions_without_an_owner_for_each_element_trap() {
    let arguments = || Arguments::new().with("A", Tensor::vector(&numbers(12)));
    for (distribution, what) in [
        ("grid(N - 9)[starts(0, 4) halo(1, 1)]", "a dimension of 3 parts lists 1 starts"),
        ("grid(3)[balanced(0) halo(1, 3 - N)]", "a halo is -9 elements wide"),
        ("grid(10 - N)[balanced(0) halo(1, 1)]", "its process grid has -2 processes along a dimension"),
    ] {
        let source = smoothing(distribution, "A -> fresh");
        let options = Options { ranks: 3, ..Options::default() };
        let error = run_with(&source, &mut arguments(), &options).map(|_| ());
        let expected = ArgumentError::BadDistribution { name: "A".into(), what: what.into() };
        assert_eq!(error, Err(RunError::Arguments(expected)), "{distribution}");
        let transient = source.replacen(distribution, HALO, 1);
        let expected = TrapKind::BadDistribution { container: "B".into(), what: what.into() };
        assert_eq!(trap_on(&transient, 3, &arguments()), expected, "{distribution}");
    }
}

#[test]
fn parts_that_begin_before_others_or_beyond_the_end_are_empty() {
    for (distribution, owners) in [
        ("grid(3)[balanced(0, N + 8, 3)]", [0, 0]),
        ("grid(3)[starts(0, N, N + 5)]", [0, 0]),
        ("grid(3)[starts(0, 4, N - 10)]", [0, 2]),
        ("grid(3)[equal(0)]", [0, 2]),
    ] {
        for (index, owner) in [3, 11].into_iter().zip(owners) {
            let source = format!(
                "sdfg p {{
  symbol N: i64
  array A: f64[N] distribution({distribution})
  state s {{
    access A
    map m [q = 0:3] schedule(mpi) {{
      tasklet t () -> (y) {{ y = 1 }}
      t.y -> m.A: A[{index}] wcr(sum)
    }}
    m.A -> A
  }}
}}"
            );
            let arguments = Arguments::new().with("A", Tensor::vector(&numbers(12)));
            let by = if owner == 0 { 1 } else { 0 };
            let container = "A".into();
            let expected =
                TrapKind::RemoteElement { container, index: vec![index], by: Some(by), owner: Some(owner) };
            assert_eq!(trap_on(&source, 3, &arguments), expected, "{distribution}");
        }
    }
}
