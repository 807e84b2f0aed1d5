//! Device queues: kernels that push to streams give the elements of the interpreter, in any order.

use sdfg::interpret::Arguments;
use sdfg::tensor::Tensor;
use sdfg::validate::Validated;
use sdfg::value::Value;
use sdfg_codegen::lower::{LowerOptions, lower};
use sdfg_codegen::plan::Plan;
use sdfg_programs::random::{Device, check_on_device};
use sdfg_programs::trusted;

use super::checked::given;
use super::{interpreted, number, on_device, parsed, transformed};

/// A program of which kernels push, with the values of `N` for which it runs.
struct Pushing {
    name: &'static str,
    text: &'static str,
    sizes: &'static [i64],
}

/// Programs whose order of elements is not determined.
const PUSHING: &[Pushing] = &[
    Pushing {
        name: "a filter",
        text: "sdfg filter {
  symbol N: i64
  array A: f64[N] storage(gpu_global)
  array B: f64[N]
  array n: i64[1]
  transient stream S: f64 storage(gpu_global)
  state fill {
    access A
    map m [i = 0:N] schedule(gpu_grid) {
      tasklet t (a) -> (s) {
        if a > 0:
            s = a
      }
      m.A -> t.a: A[i]
      t.s -> m.S: S dynamic
    }
    access S
    A -> m.A
    m.S -> S
  }
  -> length with (L = len(S))
  state length {
    access n
    tasklet t () -> (o) { o = L }
    t.o -> n: n[0]
  }
  state take {
    access S
    access B
    S -> B: S -> B[0:N] dynamic
  }
}",
        // Checked code takes more elements one by one than the host reads ahead.
        sizes: &[0, 1, 31, 33, 20_001],
    },
    Pushing {
        name: "a range that falls to the lesser of two ends",
        text: "sdfg falling {
  symbol N: i64
  array A: i64[N] storage(gpu_global)
  array B: i64[N]
  transient stream S: i64 storage(gpu_global)
  state fill {
    access A
    map m [i = N - 1:min(N // 2, N % 7):-1] schedule(gpu_grid) {
      tasklet t (a) -> (s) { s = a }
      m.A -> t.a: A[i]
      t.s -> m.S: S
    }
    access S
    A -> m.A
    m.S -> S
  }
  state take {
    access S
    access B
    S -> B: S -> B[0:N] dynamic
  }
}",
        sizes: &[1, 23, 700],
    },
    Pushing {
        name: "two pushes to three queues, of two dimensions",
        text: "sdfg queues {
  symbol N: i64
  array A: i64[N, N] storage(gpu_global)
  array B: i64[3, 2 * N * N]
  transient stream S: i64[3] storage(gpu_global)
  state s {
    access A
    map m [i = 0:N, j = 0:N] schedule(gpu_grid) {
      tasklet t (a) -> (s, u) {
        s = a
        if a % 2 == 0:
            u = a + 1
      }
      m.A -> t.a: A[i, j]
      t.s -> m.S: S[(i + j) % 3]
      t.u -> m.S1: S[i % 2] dynamic
    }
    access S
    access T = S
    A -> m.A
    m.S -> S: S[0:3] dynamic
    m.S1 -> T: S[0:2] dynamic
  }
  state rest {
    access S
    access T = S
    access U = S
    access B
    access C = B
    access D = B
    S -> B: S[0] -> B[0, 0:2 * N * N] dynamic
    T -> C: S[1] -> B[1, 0:2 * N * N] dynamic
    U -> D: S[2] -> B[2, 0:2 * N * N] dynamic
  }
}",
        sizes: &[1, 5, 23],
    },
    Pushing {
        name: "kernels that find elements of others in the queue",
        text: "sdfg again {
  symbol N: i64
  array A: i64[N] storage(gpu_global)
  array B: i64[4 * N + 4]
  array C: i64[4] storage(gpu_global)
  transient stream S: i64 storage(gpu_global)
  for r: k = 0:3 {
    state fill {
      access A
      map m [i = 0:N] schedule(gpu_grid) {
        tasklet t (a) -> (s) { s = k + 1 }
        m.A -> t.a: A[i]
        t.s -> m.S: S
      }
      access S
      A -> m.A
      m.S -> S
    }
    state one {
      access S
      access T = S
      access B
      access C
      S -> B: S -> B[4 * N + k]
      T -> C: S -> C[k]
      order B -> T
    }
  }
  state rest {
    access S
    access B
    S -> B: S -> B[0:4 * N] dynamic
  }
}",
        sizes: &[2, 100, 300],
    },
    Pushing {
        name: "kernels that find a few elements at the end of the queue's memory",
        text: "sdfg rest {
  symbol N: i64
  array A: i64[N] storage(gpu_global)
  array B: i64[6, N]
  array C: i64[6 * N]
  transient stream S: i64 storage(gpu_global)
  for r: k = 0:6 {
    state s {
      access A
      access B
      map m [i = 0:N] schedule(gpu_grid) {
        tasklet t (a) -> (s) { s = k + 1 }
        m.A -> t.a: A[i]
        t.s -> m.S: S
      }
      access S
      A -> m.A
      m.S -> S
      S -> B: S -> B[k, 0:N] atmost(N - 1)
    }
  }
  state rest {
    access S
    access C
    S -> C: S -> C[0:6 * N] dynamic
  }
}",
        sizes: &[1, 90],
    },
    Pushing {
        name: "a loop with an empty queue in each iteration",
        text: "sdfg rounds {
  symbol N: i64
  array A: i64[N] storage(gpu_global)
  array B: i64[5, N]
  transient stream S: i64 storage(gpu_global)
  for r: k = 0:5 {
    state s {
      access A
      access B
      map m [i = 0:N] schedule(gpu_grid) {
        tasklet t (a) -> (s) {
          if a % (k + 1) == 0:
              s = a + k
        }
        m.A -> t.a: A[i]
        t.s -> m.S: S dynamic
      }
      access S
      A -> m.A
      m.S -> S
      S -> B: S -> B[k, 0:N] dynamic
    }
  }
}",
        sizes: &[1, 300],
    },
    Pushing {
        name: "a capacity that suffices, and pushes of which no number is known",
        text: "sdfg bounded {
  symbol N: i64
  array A: i64[N] storage(gpu_global)
  array B: u8[3 * N]
  transient stream S: u8 capacity(3 * N) storage(gpu_global)
  state s {
    access A
    access B
    map m [i = 0:N] schedule(gpu_grid) {
      tasklet t (a) -> (s) {
        k = a % 3 + 1
        while k > 0:
            s = u8(k + a % 5)
            k = k - 1
      }
      m.A -> t.a: A[i]
      t.s -> m.S: S dynamic
    }
    access S
    A -> m.A
    m.S -> S
    S -> B: S -> B[0:3 * N] dynamic
  }
}",
        sizes: &[1, 65, 500],
    },
    Pushing {
        name: "loops of tasklets and maps, whose iterations depend on those around",
        text: "sdfg triangle {
  symbol N: i64
  array A: i64[N] storage(gpu_global)
  array B: f32x2[3 * N * N]
  array D: i64[N] storage(gpu_global)
  transient stream S: f32x2 storage(gpu_global)
  state s {
    access A
    access B
    access D
    map m [i = 0:N] schedule(gpu_grid) {
      map o [j = i:N] {
        tasklet t (a) -> (s, d) {
          for k in range(1, 6, 2):
              s = lanes(f32(a), f32(j * k))
          d = a + i
        }
        o.A -> t.a: A[j]
        t.s -> o.S: S dynamic
        t.d -> o.D: D[i] wcr(sum)
      }
      m.A -> o.A
      o.S -> m.S
      o.D -> m.D
    }
    access S
    A -> m.A
    m.S -> S
    m.D -> D
    S -> B: S -> B[0:3 * N * N] dynamic
  }
}",
        sizes: &[1, 7, 30],
    },
    Pushing {
        name: "threads of blocks that push memory of their block",
        text: "sdfg blocks {
  symbol N: i64
  array A: i64[N, 40] storage(gpu_global)
  array B: i64[N * 40 + N * 5]
  transient stream S: i64 storage(gpu_global)
  transient array T: i64[40] storage(gpu_shared)
  state s {
    access A
    access B
    map m [i = 0:N] schedule(gpu_grid) {
      map fill [j = 0:40] schedule(gpu_block) {
        tasklet t (a) -> (o) { o = 2 * a }
        fill.A -> t.a: A[i, j]
        t.o -> fill.T: T[j]
      }
      access T
      access V = T
      map push [j = 0:40] schedule(gpu_block) {
        tasklet u (a) -> (s) {
          if a % 4 == 0:
              s = a
        }
        push.T -> u.a: T[39 - j]
        u.s -> push.S: S dynamic
      }
      m.A -> fill.A
      fill.T -> T
      T -> push.T
      push.S -> m.S
      T -> m.S1: T[3:8] -> S
    }
    access S
    access U = S
    A -> m.A
    m.S -> S
    m.S1 -> U
    order U -> S
    S -> B: S -> B[0:N * 40 + N * 5] dynamic
  }
}",
        sizes: &[1, 9],
    },
    Pushing {
        name: "elements of the host before those of a kernel, taken into memory of the device and combined",
        text: "sdfg mixed {
  symbol N: i64
  array A: i64[N] storage(gpu_global)
  array B: i64[2 * N, 2] storage(gpu_global)
  array H: i64[N]
  array C: i64[1]
  transient stream S: i64 storage(gpu_global)
  transient stream R: i64
  state first {
    access H
    access S
    tasklet t () -> (o) {
      for k in range(N):
          o[k] = 3
    }
    t.o -> H: H[0:N]
    H -> S: H[N - 1:-1:-1] -> S
  }
  state s {
    access A
    map m [i = 0:N] schedule(gpu_grid) {
      tasklet t (a) -> (s) { s = 3 }
      m.A -> t.a: A[i]
      t.s -> m.S: S
    }
    access S
    A -> m.A
    m.S -> S
  }
  state take {
    access S
    access T = S
    access U = S
    access B
    access R
    access C
    access D = C
    consume c [e = 0:2] {
      tasklet u (x) -> (y) { y = x }
      c.stream -> u.x: R
      u.y -> c.C: C[0] wcr(sum)
    }
    S -> B: S -> B[0:N, 1]
    T -> R: S -> R atmost(N - 1)
    U -> D: S -> C[0] wcr(sum)
    order B -> T
    order R -> U
    order D -> c
    R -> c.stream
    c.C -> C
  }
}",
        sizes: &[1, 2, 90],
    },
];

/// Consume scopes on a device.
const CONSUMING: &[Pushing] = &[
    Pushing {
        name: "a tree of calls",
        text: "sdfg fibonacci {
  symbol N: i64
  array B: i64[2]
  transient array D: i64[2] storage(gpu_global)
  transient array first: i64[1]
  transient stream S: i64 storage(gpu_global)
  state s {
    tasklet t () -> (o) { o = min(N, 17) }
    access first
    access S
    access begin = B
    access begun = D
    t.o -> first: first[0]
    first -> S
    begin -> begun
    consume workers [p = 0:3] schedule(gpu_grid) block(64) {
      tasklet fib (s) -> (o, t, r) {
        r = 1 if p >= 0 and p < 3 else 1000
        if s == 1:
            o = 1
        elif s > 1:
            t = s - 1
            t = s - 2
      }
      workers.stream -> fib.s: S
      fib.o -> workers.D: D[0] wcr(sum) atmost(1)
      fib.r -> workers.E: D[1] wcr(sum)
      fib.t -> workers.S: S dynamic
    }
    access more = S
    access D
    access E = D
    access B
    order begun -> workers
    S -> workers.stream
    workers.S -> more
    workers.D -> D
    workers.E -> E
    order E -> D
    D -> B
  }
}",
        sizes: &[0, 1, 17],
    },
    Pushing {
        name: "ranges whose memory goes from one iteration to others",
        text: "sdfg quicksort {
  symbol N: i64
  array A: f64[N] storage(gpu_global)
  transient stream given: i64x2
  transient stream ranges: i64x2 storage(gpu_global)
  state begin {
    access given
    tasklet whole () -> (range) { range = lanes(0, N) }
    whole.range -> given: given
  }
  state sort {
    access A
    access given
    access ranges
    consume workers [p = 0:2] schedule(gpu_grid) {
      tasklet split (range, a) -> (o, rest) {
        begin = lane(range, 0)
        last = lane(range, 1) - 1
        if begin < last:
            pivot = a[last]
            middle = begin
            for i in range(begin, last):
                if a[i] < pivot:
                    smaller = a[i]
                    o[i] = a[middle]
                    o[middle] = smaller
                    middle = middle + 1
            o[last] = a[middle]
            o[middle] = pivot
            rest = lanes(begin, middle)
            rest = lanes(middle + 1, last + 1)
      }
      workers.stream -> split.range: ranges
      workers.A -> split.a: A[0:N] dynamic
      split.o -> workers.A: A[0:N] dynamic
      split.rest -> workers.ranges: ranges dynamic
    }
    access sorted = A
    access more = ranges
    given -> ranges
    A -> workers.A
    ranges -> workers.stream
    workers.A -> sorted
    workers.ranges -> more
  }
}",
        sizes: &[1, 2, 400],
    },
    Pushing {
        name: "threads of blocks for each element",
        text: "sdfg blocks {
  symbol N: i64
  array A: i64[N]
  array B: i64[N * 9 + 1]
  array C: i64[1]
  transient array D: i64[1] storage(gpu_global)
  transient array T: i64[8] storage(gpu_shared)
  transient stream S: i64 storage(gpu_global)
  transient stream R: i64 storage(gpu_global)
  state fill {
    access A
    access S
    access C
    access D
    A -> S
    C -> D
  }
  state work {
    access S
    access R
    access D
    consume all [p = 0:N] schedule(gpu_grid) {
      map fill [j = 0:8] schedule(gpu_block) {
        tasklet t (x) -> (o) { o = x * j }
        fill.element -> t.x: S
        t.o -> fill.T: T[j]
      }
      access T
      map push [j = 0:8] schedule(gpu_block) {
        tasklet u (a) -> (s, d) {
          d = a
          if a % 2 == 0:
              s = a
        }
        push.T -> u.a: T[7 - j]
        u.s -> push.R: R dynamic
        u.d -> push.D: D[0] wcr(sum)
      }
      all.stream -> fill.element
      fill.T -> T
      T -> push.T
      push.R -> all.R
      push.D -> all.D
    }
    S -> all.stream
    all.R -> R
    all.D -> D
  }
  state take {
    access R
    access B
    access D
    access C
    R -> B: R -> B[0:N * 9 + 1] dynamic
    D -> C
  }
}",
        sizes: &[1, 40],
    },
];

/// The arguments with the elements of each row in order.
fn sorted(arguments: &Arguments) -> Vec<(String, Vec<Vec<Vec<u64>>>)> {
    let rows = |tensor: &Tensor| {
        let (lanes, length) = (usize::from(tensor.element().lanes()), tensor.shape().last().copied());
        let lanes_of = |at: usize| (0..lanes).map(|lane| tensor.lane(at, lane).map_or(0, bits)).collect();
        let all: Vec<Vec<u64>> = (0..tensor.len()).map(lanes_of).collect();
        let length = length.and_then(|length| usize::try_from(length).ok()).unwrap_or(1).max(1);
        all.chunks(length)
            .map(|row| {
                let mut row = row.to_vec();
                row.sort_unstable();
                row
            })
            .collect()
    };
    arguments.tensors().map(|(name, tensor)| (name.to_owned(), rows(tensor))).collect()
}

fn bits(value: Value) -> u64 {
    number(value).to_bits()
}

fn plan_with(program: &Validated, device: Device, checked: bool) -> Plan {
    let options = LowerOptions { serial_components: true, checked, ..LowerOptions::default() };
    lower(program, &device.target(), &options).unwrap_or_else(|error| panic!("{error}"))
}

/// Kernels push the elements that the interpreter pushes, with and without checks.
pub(crate) fn kernels_push_to_queues(device: Device) {
    agree(device, PUSHING);
}

/// Consume scopes run as one kernel after the other until their queue is empty.
pub(crate) fn consume_scopes_run_in_rounds(device: Device) {
    agree(device, CONSUMING);
}

fn agree(device: Device, programs: &[Pushing]) {
    for Pushing { name, text, sizes } in programs {
        let program = parsed(text);
        for checked in [false, true] {
            let plan = plan_with(&program, device, checked);
            let library = device.load(&plan).unwrap_or_else(|error| panic!("{name}: {error}"));
            for n in *sizes {
                let arguments = given(program.sdfg(), &[("N".to_owned(), *n)]);
                let expected = interpreted(&program, &arguments);
                let mut found = arguments;
                let ended = trusted::run(&library, &mut found, None);
                ended.unwrap_or_else(|error| panic!("{name}, N = {n}, checked: {checked}: {error}"));
                assert_eq!(sorted(&expected), sorted(&found), "{name}, N = {n}, checked: {checked}");
            }
        }
    }
}

/// A kernel that pushes more than a queue may have ends the run with the message of native code, and the next run is not affected.
pub(crate) fn full_queues_end_the_run(device: Device) {
    let text = |grid: &str, storage: &str| {
        format!(
            "sdfg full {{
  symbol N: i64
  array A: i64[N] {storage}
  array B: i64[N]
  transient stream S: i64 capacity(40) {storage}
  state s {{
    access A
    access B
    map m [i = 0:N] {grid} {{
      tasklet t (a) -> (s) {{ s = a }}
      m.A -> t.a: A[i]
      t.s -> m.S: S
    }}
    access S
    A -> m.A
    m.S -> S
    S -> B: S -> B[0:N] dynamic
  }}
}}"
        )
    };
    let program = parsed(&text("schedule(gpu_grid)", "storage(gpu_global)"));
    for checked in [false, true] {
        let plan = plan_with(&program, device, checked);
        let library = device.load(&plan).unwrap_or_else(|error| panic!("{error}"));
        for n in [41, 40, 500, 3] {
            let mut arguments = given(program.sdfg(), &[("N".to_owned(), n)]);
            let ended = trusted::run(&library, &mut arguments, None).map_err(|error| error.to_string());
            let Err(error) = ended else {
                let expected = given(program.sdfg(), &[("N".to_owned(), n)]);
                assert_eq!(sorted(&interpreted(&program, &expected)), sorted(&arguments), "N = {n}");
                assert!(n <= 40, "{n} elements in a queue of 40");
                continue;
            };
            assert!(n > 40, "N = {n}: {error}");
            assert!(error.contains("deadlock: `m` waits for room in the stream `S`"), "{error}");
        }
    }
}

/// A run that fails frees the memory of the device that it has: each of many finds as much as the first one.
pub(crate) fn runs_that_fail_free_their_memory(device: Device) {
    // For the stand-in, more than a third of the memory of the device.
    let elements = if device == Device::OpenCl { 8 } else { 3 << 27 };
    let program = parsed(&format!(
        "sdfg full {{
  symbol N: i64
  array A: f64[1]
  array B: i64[N]
  transient array T: f64[{elements}] storage(gpu_global)
  transient stream S: i64 capacity(4) storage(gpu_global)
  state one {{
    access T
    map k [i = 0:1] schedule(gpu_grid) {{
      tasklet t () -> (y) {{ y = 3.0 }}
      t.y -> k.T: T[i]
    }}
    k.T -> T
  }}
  state two {{
    access S
    access B
    map m [i = 0:N] schedule(gpu_grid) {{
      tasklet u () -> (s) {{ s = i }}
      u.s -> m.S: S
    }}
    m.S -> S
    S -> B: S -> B[0:N] dynamic
  }}
  state three {{
    access T
    access A
    T -> A: T[0] -> A[0]
  }}
}}"
    ));
    let plan = plan_with(&program, device, false);
    let library = device.load(&plan).unwrap_or_else(|error| panic!("{error}"));
    for n in [5, 500, 5, 3] {
        let mut arguments = given(program.sdfg(), &[("N".to_owned(), n)]);
        let ended = trusted::run(&library, &mut arguments, None).map_err(|error| error.to_string());
        let error = ended.err().unwrap_or_default();
        assert_eq!(error.contains("waits for room in the stream `S`"), n > 4, "N = {n}: {error}");
        assert!(n > 4 || error.is_empty(), "N = {n}: {error}");
    }
}

/// Pops that wait for elements that no kernel pushed end the run with the message of native code.
pub(crate) fn empty_queues_end_the_run(device: Device) {
    let program = parsed(
        "sdfg few {
  symbol N: i64
  array A: i64[N] storage(gpu_global)
  array B: i64[N]
  transient stream S: i64 storage(gpu_global)
  state s {
    access A
    access B
    map m [i = 0:N] schedule(gpu_grid) {
      tasklet t (a) -> (s) {
        if a > 0:
            s = a
      }
      m.A -> t.a: A[i]
      t.s -> m.S: S dynamic
    }
    access S
    A -> m.A
    m.S -> S
    S -> B: S -> B[0:N]
  }
}",
    );
    let library = device.load(&plan_with(&program, device, false)).unwrap_or_else(|error| panic!("{error}"));
    let mut arguments = given(program.sdfg(), &[("N".to_owned(), 30)]);
    let ended = trusted::run(&library, &mut arguments, None).map_err(|error| error.to_string());
    let error = ended.err().unwrap_or_default();
    assert!(error.contains("waits for an element of the stream `S`, and nothing else can run"), "{error}");
}

/// `GPUTransform` moves the paper's query to the device, in one piece or with a stream of the host behind the kernel.
pub(crate) fn the_query_runs_on_the_device(device: Device) {
    let source = include_str!("../../programs/query.sdft");
    let consumed = "sdfg consumed {
  symbol N: i64
  array column: f64[N]
  array total: f64[1]
  transient stream found: f64
  state filter {
    access column
    access found
    access total
    map rows [i = 0:N] {
      tasklet filter (v) -> (f) {
        if v > 3:
            f = v
      }
      rows.column -> filter.v: column[i]
      filter.f -> rows.found: found dynamic
    }
    consume all [e = 0:3] {
      tasklet sum (x) -> (y) { y = x }
      all.stream -> sum.x: found
      sum.y -> all.total: total[0] wcr(sum)
    }
    column -> rows.column
    rows.found -> found
    found -> all.stream
    all.total -> total
  }
}";
    for (source, streams) in [(source, 1), (consumed, 2)] {
        let program = parsed(source);
        let (moved, kernels) = transformed(program.sdfg());
        assert_eq!(kernels, 1);
        assert_eq!(moved.sdfg().containers().filter(|(_, container)| container.is_stream()).count(), streams);
        for n in [0, 1, 777] {
            let arguments = given(program.sdfg(), &[("N".to_owned(), n)]);
            let expected = interpreted(&program, &arguments);
            assert_eq!(sorted(&expected), sorted(&interpreted(&moved, &arguments)), "N = {n}");
            assert_eq!(sorted(&expected), sorted(&on_device(&moved, &arguments, device)), "N = {n}");
        }
    }
}

/// Random programs whose maps push to streams.
pub(crate) fn random_programs_push_to_queues(device: Device, first: u64) {
    let mut queues = 0;
    // Programs of these seeds push.
    for seed in (first..first + 128).filter(|seed| seed % 8 == 6) {
        let counts = check_on_device(seed, device).unwrap_or_else(|failure| panic!("{failure}"));
        queues += counts.get("queues").map_or(0, |outcomes| outcomes.applied);
        let refused = counts.get("GPUTransform").map(|outcomes| outcomes.refused.clone()).unwrap_or_default();
        assert!(refused.keys().all(|reason| !reason.contains("stream")), "seed {seed}: {refused:?}");
    }
    assert!(queues > 20, "{queues} queues");
}
