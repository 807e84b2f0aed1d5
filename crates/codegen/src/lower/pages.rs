//! Explanation pages of the refusal codes: the reason for the refusal, the remedy, and a wrong and a correct
//! program.

use sdfg::diagnostic::pages::{Entry, Example};

/// Pages of `sdfg explain` for each code of a [`Capability`](super::Capability), in order of names.
pub const PAGES: [Entry; 3] = [
    Entry {
        name: "T001",
        title: "the target has no hardware for a schedule",
        why: "Schedules of GPUs, FPGAs and ranks name the hardware that runs the iterations. Native code for a \
              CPU does not have this hardware. A schedule is a promise, so nothing else runs the scope instead.",
        action: "Use a schedule of the CPU (`cpu_multicore`, `sequential`, `simd`, `unrolled`) or none. `sdfg \
                 interpret` runs every schedule.",
        example: Some(Example::Programs {
            bad: "sdfg p {
  array A: f64[4]
  state s {
    access A
    map m [i = 0:4] schedule(fpga_device) {
      tasklet t () -> (o) { o = 1.0 }
      t.o -> m.A: A[i]
    }
    m.A -> A
  }
}",
            good: "sdfg p {
  array A: f64[4]
  state s {
    access A
    map m [i = 0:4] schedule(cpu_multicore) {
      tasklet t () -> (o) { o = 1.0 }
      t.o -> m.A: A[i]
    }
    m.A -> A
  }
}",
        }),
    },
    Entry {
        name: "T002",
        title: "the target has no memory for a storage",
        why: "Storages of GPUs and FPGAs, and of files, name the memory of a container. Native code for a CPU \
              cannot access it.",
        action: "Use a storage of the CPU (`cpu_heap`, `cpu_thread_local`, `register`) or none. `sdfg interpret` \
                 runs every storage.",
        example: Some(Example::Programs {
            bad: "sdfg p {
  array A: f64[4]
  array B: f64[4]
  transient array t: f64[4] storage(gpu_global)
  state s { access A; access t; access B; A -> t; t -> B }
}",
            good: "sdfg p {
  array A: f64[4]
  array B: f64[4]
  transient array t: f64[4]
  state s { access A; access t; access B; A -> t; t -> B }
}",
        }),
    },
    Entry {
        name: "T003",
        title: "lanes cannot run a map of schedule `simd`",
        why: "The schedule `simd` runs the iterations of the last parameter on vector lanes, one instruction for \
              all of them. Therefore no iteration may write an element that another one accesses, the scope \
              contains only tasklets and copies, and lanes leave loops together. `docs/semantics.md` has the \
              complete list, under \"Map scopes\". The schedule is a promise: the iterations do not run one \
              after the other instead.",
        action: "Correct the construct that the message names, or use the schedule `sequential`, which runs one \
                 iteration after the other.",
        example: Some(Example::Programs {
            bad: "sdfg p {
  array A: f64[8]
  array B: f64[8]
  state s {
    access A
    access B
    map m [i = 0:8] schedule(simd) {
      tasklet t (a) -> (o) {
        x = a
        while x > 1.0:
          x = x / 2.0
        o = x
      }
      m.A -> t.a: A[i]
      t.o -> m.B: B[i]
    }
    A -> m.A
    m.B -> B
  }
}",
            good: "sdfg p {
  array A: f64[8]
  array B: f64[8]
  state s {
    access A
    access B
    map m [i = 0:8] schedule(simd) {
      tasklet t (a) -> (o) {
        x = a
        if x > 1.0:
          x = x / 2.0
        o = x
      }
      m.A -> t.a: A[i]
      t.o -> m.B: B[i]
    }
    A -> m.A
    m.B -> B
  }
}",
        }),
    },
];
