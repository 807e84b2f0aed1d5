//! Values that a rewrite would read at another time: lengths of streams, sizes of containers, elements, and symbols from data.

use sdfg_transforms::rewrites::{LocalStream, MapTiling, ScalarToSymbol, StateFusion, StripMining};

use super::support::{refuses, refuses_rightly};

#[test]
fn lengths_are_not_read_before_a_state_that_takes_elements() {
    let text = "sdfg p {
  array A: i64[4]
  array K: i64[4]
  transient stream S: i64 lifetime(sdfg)
  state fill {
    access S
    access A
    A -> S: A[0:3] -> S
  }
  loop l: q = 0; q < 1; q = q + 1 {
    state between {
      access K
      tasklet t () -> (y) { y = q }
      t.y -> K: K[1]
    }
  }
  state take {
    access S
    access A
    S -> A: S -> A[3]
  }
  -> tell with (k = len(S))
  state tell {
    access K
    tasklet t () -> (y) { y = k }
    t.y -> K: K[0]
  }
}
";
    let refusal = refuses_rightly(text, &StateFusion::default());
    assert!(refusal.contains("accesses `S`, whose length an assignment after it reads"), "{refusal}");
}

#[test]
fn symbols_are_not_set_before_a_state_whose_containers_they_size() {
    let text = "sdfg p {
  array A: i64[4]
  array K: i64[4]
  transient array T: i64[4] strides(1) offset(0) size(k)
  state start { }
  -> large with (k = 4)
  state large { }
  state use {
    access A
    access T
    A -> T
  }
  -> small with (k = 1)
  state small {
    access K
    tasklet t () -> (y) { y = k }
    t.y -> K: K[0]
  }
}
";
    let program = super::support::parsed(text);
    let reasons: Vec<String> = sdfg_transforms::places(&program, &StateFusion::default())
        .iter()
        .filter_map(|found| {
            let done = sdfg_transforms::apply(&mut program.clone(), &StateFusion::default(), found);
            Some(done.err()?.to_string())
        })
        .collect();
    assert!(reasons.iter().any(|reason| reason.contains("uses `k`, which is set after it")), "{reasons:?}");
}

#[test]
fn scalars_are_not_read_behind_what_is_ordered_before_them() {
    let text = "sdfg p {
  array A: i64[4]
  array K: i64[4]
  transient scalar s: i64
  state one {
    access read = A
    access written = A
    access s
    tasklet t (x) -> (y) { y = x + 1 }
    tasklet w () -> (y) { y = 77 }
    read -> t.x: A[0]
    t.y -> s: s
    order t -> w
    w.y -> written: A[0]
    order written -> s
  }
  state two {
    access K
    access s
    tasklet t (x) -> (y) { y = x - 1 }
    s -> t.x: s
    t.y -> K: K[0]
  }
}
";
    let refusal = refuses(text, &ScalarToSymbol::default());
    assert!(refusal.contains("reads `A`, which is changed before the scalar is written"), "{refusal}");
}

#[test]
fn maps_that_write_their_symbols_are_not_tiled() {
    let text = "sdfg p {
  symbol N: i64
  symbol K: i64
  array A: i64[N + K]
  state s {
    access A
    access out = A
    map m [i = 0:N] {
      tasklet t () -> (y) { y = s + i + 1 }
      t.y -> m.A: A[i]
    }
    A -> m@s: A[K - 1]
    m.A -> out
  }
}
";
    let tiling = MapTiling::new([2]);
    let refusal = refuses_rightly(text, &tiling);
    assert!(refusal.contains("gives the map a symbol, and the map writes it"), "{refusal}");
    refuses_rightly(text, &StripMining { size: 2.into(), ..StripMining::default() });
}

#[test]
fn declared_volumes_of_pushes_are_no_number_of_elements() {
    let text = "sdfg p {
  symbol N: i64
  symbol Q: i64
  array A: i64[N]
  array B: i64[2*N]
  transient stream S: i64
  state s {
    access A
    access S
    map outer [i = 0:N] {
      map inner [j = 0:2] {
        tasklet t (x) -> (y) { y = x }
        inner.A -> t.x: A[i]
        t.y -> inner.S: S
      }
      outer.A -> inner.A
      inner.S -> outer.S: S volume(Q)
    }
    A -> outer.A
    outer.S -> S
    access B
    S -> B: S -> B[0:2*N]
  }
}
";
    let refusal = refuses_rightly(text, &LocalStream::default());
    assert!(refusal.contains("has a memlet whose subset is declared"), "{refusal}");
}
