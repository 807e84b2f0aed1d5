//! Pages about scopes, reductions and nested SDFGs.

use super::{Code, Example, Page};

pub(super) const PAGES: &[Page] = &[
    Page {
        code: Code::MapDimensions,
        why: "Each parameter of a map has a separate range, and a map without parameters repeats nothing.",
        action: "Give one range for each parameter, and at least one parameter.",
        example: Example::Programs {
            bad: "sdfg p {
  scalar A: f64
  state s {
    access a = A
    map m [] {
      tasklet t () -> (o) { o = 0.0 }
      t.o -> m.A: A wcr(sum)
    }
    m.A -> a
  }
}",
            good: "sdfg p {
  scalar A: f64
  state s {
    access a = A
    map m [i = 0:4] {
      tasklet t () -> (o) { o = 0.0 }
      t.o -> m.A: A wcr(sum)
    }
    m.A -> a
  }
}",
        },
    },
    Page {
        code: Code::DuplicateParameter,
        why: "Inside the scope, a name refers to one parameter.",
        action: "Rename one of the two.",
        example: Example::Programs {
            bad: "sdfg p {
  array A: f64[4]
  state s {
    access a = A
    map m [i = 0:4, i = 0:4] {
      tasklet t () -> (o) { o = 0.0 }
      t.o -> m.A: A[i] wcr(replace)
    }
    m.A -> a
  }
}",
            good: "sdfg p {
  array A: f64[4]
  state s {
    access a = A
    map m [i = 0:4, j = 0:4] {
      tasklet t () -> (o) { o = 0.0 }
      t.o -> m.A: A[i] wcr(replace)
    }
    m.A -> a
  }
}",
        },
    },
    Page {
        code: Code::ConsumeStream,
        why: "A consume scope runs once for each element of one stream, which enters it at the connector \
              `stream`.",
        action: "Connect the stream: `S -> c.stream: S`.",
        example: Example::Programs {
            bad: "sdfg p {
  transient stream S: f64
  scalar sum: f64
  state fill {
    access S
    tasklet one () -> (o) { o = 1.0 }
    one.o -> S: S
  }
  state s {
    access S
    access sum
    consume c [p = 0:4] {
      tasklet t (x) -> (o) { o = x }
      c.S -> t.x: S
      t.o -> c.sum: sum wcr(sum)
    }
    S -> c.S
    c.sum -> sum
  }
}",
            good: "sdfg p {
  transient stream S: f64
  scalar sum: f64
  state fill {
    access S
    tasklet one () -> (o) { o = 1.0 }
    one.o -> S: S
  }
  state s {
    access S
    access sum
    consume c [p = 0:4] {
      tasklet t (x) -> (o) { o = x }
      c.stream -> t.x: S
      t.o -> c.sum: sum wcr(sum)
    }
    S -> c.stream
    c.sum -> sum
  }
}",
        },
    },
    Page {
        code: Code::ReduceEdges,
        why: "A reduction reads one array and writes one array. It has no connectors to distinguish more of them.",
        action: "Give it one edge that reads elements and one that writes them.",
        example: Example::Programs {
            bad: "sdfg p {
  array A: f64[4]
  state s {
    access a = A
    reduce r wcr(sum)
    a -> r: A[0:4]
  }
}",
            good: "sdfg p {
  array A: f64[4]
  scalar y: f64
  state s {
    access a = A
    access y
    reduce r wcr(sum) identity(0.0)
    a -> r: A[0:4]
    r -> y: y
  }
}",
        },
    },
    Page {
        code: Code::ReduceShape,
        why: "The reduced axes disappear. The other axes are those of the output, in the same order. Dimensions \
              of extent one are optional.",
        action: "Reduce axes that the input has, and write as many elements as remain.",
        example: Example::Programs {
            bad: "sdfg p {
  array A: f64[4, 8]
  array B: f64[8]
  state s {
    access a = A
    access b = B
    reduce r wcr(sum) axes(1) identity(0.0)
    a -> r: A[0:4, 0:8]
    r -> b: B[0:8]
  }
}",
            good: "sdfg p {
  array A: f64[4, 8]
  array B: f64[8]
  state s {
    access a = A
    access b = B
    reduce r wcr(sum) axes(0) identity(0.0)
    a -> r: A[0:4, 0:8]
    r -> b: B[0:8]
  }
}",
        },
    },
    Page {
        code: Code::ReduceIdentity,
        why: "The output is set to the identity before anything is combined, so the identity is a constant of the \
              element type.",
        action: "Write a literal such as `0.0`; omit it to combine into the previous contents of the output.",
        example: Example::Programs {
            bad: "sdfg p {
  array A: i32[4]
  scalar y: i32
  state s {
    access a = A
    access y
    reduce r wcr(sum) identity(0.5)
    a -> r: A[0:4]
    r -> y: y
  }
}",
            good: "sdfg p {
  array A: i32[4]
  scalar y: i32
  state s {
    access a = A
    access y
    reduce r wcr(sum) identity(0)
    a -> r: A[0:4]
    r -> y: y
  }
}",
        },
    },
    Page {
        code: Code::NestedConnector,
        why: "A nested SDFG is called in place, with its arguments bound to connectors of the same names. Each \
              argument has a connector. Each connector has an argument or, for inputs, a symbol. Data that is \
              read and written has one memory. A written argument is an output; an argument that is only read is \
              an input.",
        action: "Give connectors and arguments the same names; make all other containers transient.",
        example: Example::Programs {
            bad: "sdfg p {
  array A: f64[4]
  state s {
    access a = A
    nested n () -> (X) sdfg inner {
      array Y: f64[4]
    }
    n.X -> a: A[0:4]
  }
}",
            good: "sdfg p {
  array A: f64[4]
  state s {
    access a = A
    nested n () -> (X) sdfg inner {
      array X: f64[4]
    }
    n.X -> a: A[0:4]
  }
}",
        },
    },
    Page {
        code: Code::NestedSymbol,
        why: "Symbols of a nested SDFG receive their values from the mapping of the call, from a connector, or \
              from a symbol of the same name outside.",
        action: "Add `with (K = ...)` to the call, or declare the symbol on the side where it is missing.",
        example: Example::Programs {
            bad: "sdfg p {
  array A: f64[4]
  state s {
    access a = A
    nested n () -> (X) sdfg inner {
      symbol K: i64
      array X: f64[K]
    }
    n.X -> a: A[0:4]
  }
}",
            good: "sdfg p {
  array A: f64[4]
  state s {
    access a = A
    nested n () -> (X) with (K = 4) sdfg inner {
      symbol K: i64
      array X: f64[K]
    }
    n.X -> a: A[0:4]
  }
}",
        },
    },
    Page {
        code: Code::NestedType,
        why: "The callee reads and writes the memory of its caller. Its container has the dimensions of the \
              subset, where single indices may be dropped, and at most as many elements.",
        action: "Declare the shape of the memlet, or change the memlet.",
        example: Example::Programs {
            bad: "sdfg p {
  array A: f64[4, 4]
  state s {
    access a = A
    nested n () -> (X) sdfg inner {
      array X: f64[4]
    }
    n.X -> a: A[0:4, 0:4]
  }
}",
            good: "sdfg p {
  array A: f64[4, 4]
  state s {
    access a = A
    nested n () -> (X) sdfg inner {
      array X: f64[4]
    }
    n.X -> a: A[0, 0:4]
  }
}",
        },
    },
    Page {
        code: Code::SymbolConnector,
        why: "A connector of a scope whose name does not begin with `IN_` sets a symbol before the scope is \
              entered. Its value is one integer.",
        action: "Read one element of an integer container.",
        example: Example::Programs {
            bad: "sdfg p {
  scalar n: f64
  array A: f64[8]
  state s {
    access n
    access a = A
    map m [i = 0:last] {
      tasklet t () -> (o) { o = 0.0 }
      t.o -> m.A: A[i]
    }
    n -> m@last: n
    m.A -> a
  }
}",
            good: "sdfg p {
  scalar n: i64
  array A: f64[8]
  state s {
    access n
    access a = A
    map m [i = 0:last] {
      tasklet t () -> (o) { o = 0.0 }
      t.o -> m.A: A[i]
    }
    n -> m@last: n
    m.A -> a
  }
}",
        },
    },
    Page {
        code: Code::BadCount,
        why: "Threads, chunks, processing elements and collapsed dimensions are counted from one.",
        action: "Use a positive number, and collapse at most as many dimensions as the map has.",
        example: Example::Programs {
            bad: "sdfg p {
  array A: f64[4]
  state s {
    access a = A
    map m [i = 0:4] schedule(cpu_multicore) threads(0) {
      tasklet t () -> (o) { o = 0.0 }
      t.o -> m.A: A[i]
    }
    m.A -> a
  }
}",
            good: "sdfg p {
  array A: f64[4]
  state s {
    access a = A
    map m [i = 0:4] schedule(cpu_multicore) threads(2) {
      tasklet t () -> (o) { o = 0.0 }
      t.o -> m.A: A[i]
    }
    m.A -> a
  }
}",
        },
    },
    Page {
        code: Code::UnreachableStorage,
        why: "Each memory is reachable from some schedules only: host code does not read the memory of a GPU, and \
              a kernel does not read the heap of the host. Copies move data between memories.",
        action: "Copy the data to a container in a reachable memory, or change the schedule.",
        example: Example::Programs {
            bad: "sdfg p {
  array A: f64[4] storage(gpu_global)
  state s {
    access a = A
    map m [i = 0:4] {
      tasklet t () -> (o) { o = 0.0 }
      t.o -> m.A: A[i]
    }
    m.A -> a
  }
}",
            good: "sdfg p {
  array A: f64[4] storage(gpu_global)
  state s {
    access a = A
    map m [i = 0:4] schedule(gpu_grid) {
      tasklet t () -> (o) { o = 0.0 }
      t.o -> m.A: A[i]
    }
    m.A -> a
  }
}",
        },
    },
    Page {
        code: Code::LibraryProperty,
        why: "Properties configure an operation before it is expanded: each has one value, which does not depend \
              on data.",
        action: "Give each property once, as a literal, a word, or an expression of symbols that have a value \
                 there.",
        example: Example::Programs {
            bad: "sdfg p {
  array A: f64[4]
  array B: f64[4]
  state s {
    access a = A
    access b = B
    library scale: Scale (x) -> (y) { factor = 2.0; factor = 3.0 }
    a -> scale.x
    scale.y -> b
  }
}",
            good: "sdfg p {
  array A: f64[4]
  array B: f64[4]
  state s {
    access a = A
    access b = B
    library scale: Scale (x) -> (y) { factor = 2.0 }
    a -> scale.x
    scale.y -> b
  }
}",
        },
    },
];
