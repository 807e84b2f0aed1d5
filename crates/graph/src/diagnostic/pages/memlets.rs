//! Pages about memlets.

use super::{Code, Example, Page};

pub(super) const PAGES: &[Page] = &[
    Page {
        code: Code::WrongContainer,
        why: "The path of a memlet ends at an access node, which determines the container that is read or \
              written. A memlet with another name contradicts it.",
        action: "Name the container of the access node, or lead the edge to another node.",
        example: Example::Programs {
            bad: "sdfg p {
  array A: f64[4]
  array B: f64[4]
  scalar y: f64
  state s {
    access a = A
    access y
    tasklet t (x) -> (o) { o = x }
    a -> t.x: B[0]
    t.o -> y: y
  }
}",
            good: "sdfg p {
  array A: f64[4]
  array B: f64[4]
  scalar y: f64
  state s {
    access a = A
    access y
    tasklet t (x) -> (o) { o = x }
    a -> t.x: A[0]
    t.o -> y: y
  }
}",
        },
    },
    Page {
        code: Code::FlowMismatch,
        why: "The ends of an edge determine its function: from an access node to code, it reads; from code to an \
              access node, it writes; between access nodes, it copies or binds; between code nodes, it carries a \
              value.",
        action: "Use the memlet that fits the ends, or insert an access node.",
        example: Example::NotInText,
    },
    Page {
        code: Code::WrongRank,
        why: "A subset has exactly one range for each dimension of its container.",
        action: "Give an index or a range for each dimension; a whole dimension of `N` elements is `0:N`.",
        example: Example::Programs {
            bad: "sdfg p {
  array A: f64[4, 4]
  scalar y: f64
  state s {
    access a = A
    access y
    tasklet t (x) -> (o) { o = x }
    a -> t.x: A[0]
    t.o -> y: y
  }
}",
            good: "sdfg p {
  array A: f64[4, 4]
  scalar y: f64
  state s {
    access a = A
    access y
    tasklet t (x) -> (o) { o = x }
    a -> t.x: A[0, 0]
    t.o -> y: y
  }
}",
        },
    },
    Page {
        code: Code::OutOfBounds,
        why: "The access leaves the container in every run in which it moves anything. Range ends are exclusive, \
              so the last index of `0:N` is `N - 1`. Tasklet code indexes its memlet, with 0 at the first \
              element. Conditions and assignments of control flow index containers. Negative indices do not \
              count from the end.",
        action: "Shorten the range or the surrounding scope, or enlarge the container.",
        example: Example::Programs {
            bad: "sdfg p {
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  state s {
    access a = A
    access b = B
    map m [i = 0:N] {
      tasklet t (left) -> (o) { o = left }
      m.A -> t.left: A[i - 1]
      t.o -> m.B: B[i]
    }
    a -> m.A
    m.B -> b
  }
}",
            good: "sdfg p {
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  state s {
    access a = A
    access b = B
    map m [i = 1:N] {
      tasklet t (left) -> (o) { o = left }
      m.A -> t.left: A[i - 1]
      t.o -> m.B: B[i]
    }
    a -> m.A
    m.B -> b
  }
}",
        },
    },
    Page {
        code: Code::CopyVolume,
        why: "A copy pairs the elements of both sides in row-major order. With different numbers of elements, \
              some have no partner.",
        action: "Make both subsets the same size.",
        example: Example::Programs {
            bad: "sdfg p {
  array A: f64[8]
  array B: f64[4]
  state s {
    access a = A
    access b = B
    a -> b: A[0:8] -> B[0:4]
  }
}",
            good: "sdfg p {
  array A: f64[8]
  array B: f64[4]
  state s {
    access a = A
    access b = B
    a -> b: A[0:8:2] -> B[0:4]
  }
}",
        },
    },
    Page {
        code: Code::ElementMismatch,
        why: "Memlets move bits and convert nothing, so that precision is never lost silently. Views and \
              references do not convert elements either.",
        action: "Convert in a tasklet, as in `o = f64(x)`, or declare both ends with one type.",
        example: Example::Programs {
            bad: "sdfg p {
  array A: f32[4]
  array B: f64[4]
  state s {
    access a = A
    access b = B
    a -> b
  }
}",
            good: "sdfg p {
  array A: f32[4]
  array B: f64[4]
  state s {
    access a = A
    access b = B
    map m [i = 0:4] {
      tasklet widen (x) -> (o) { o = f64(x) }
      m.A -> widen.x: A[i]
      widen.o -> m.B: B[i]
    }
    a -> m.A
    m.B -> b
  }
}",
        },
    },
    Page {
        code: Code::BadVolume,
        why: "The volume is the number of elements that move along the edge, so it is at least 0.",
        action: "Omit it to move the whole subset, or write `dynamic` if it is decided at run time.",
        example: Example::Programs {
            bad: "sdfg p {
  scalar x: f64
  scalar y: f64
  state s {
    access x
    access y
    tasklet t (a) -> (o) { o = a }
    x -> t.a: x volume(-1)
    t.o -> y: y
  }
}",
            good: "sdfg p {
  scalar x: f64
  scalar y: f64
  state s {
    access x
    access y
    tasklet t (a) -> (o) { o = a }
    x -> t.a: x
    t.o -> y: y
  }
}",
        },
    },
    Page {
        code: Code::ResolutionType,
        why: "A conflict resolution combines two elements by an operation that the element type must support. \
              Complex numbers have no order, floating-point numbers have no bitwise operations, and locations \
              need a value with an index.",
        action: "Use a resolution that is defined for the type, or a lambda.",
        example: Example::Programs {
            bad: "sdfg p {
  array A: complex128[4]
  scalar best: complex128
  state s {
    access a = A
    access best
    map m [i = 0:4] {
      tasklet t (x) -> (o) { o = x }
      m.A -> t.x: A[i]
      t.o -> m.best: best wcr(max)
    }
    a -> m.A
    m.best -> best
  }
}",
            good: "sdfg p {
  array A: complex128[4]
  scalar best: f64
  state s {
    access a = A
    access best
    map m [i = 0:4] {
      tasklet t (x) -> (o) { o = abs(x) }
      m.A -> t.x: A[i]
      t.o -> m.best: best wcr(max)
    }
    a -> m.A
    m.best -> best
  }
}",
        },
    },
    Page {
        code: Code::PlaceMismatch,
        why: "A stream is an array of queues: a memlet selects queues, and its volume is the number of elements. \
              An array has elements at positions.",
        action: "Use the kind of subset of the container; text programs do so automatically.",
        example: Example::NotInText,
    },
    Page {
        code: Code::BadStep,
        why: "A range advances by its step until it reaches its end. With a step of 0 it never does, and an empty \
              tile contains no elements.",
        action: "Use a step other than 0 and a tile of at least 1.",
        example: Example::Programs {
            bad: "sdfg p {
  array A: f64[4]
  state s {
    access a = A
    map m [i = 0:4:0] {
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
    map m [i = 0:4:2] {
      tasklet t () -> (o) { o = 0.0 }
      t.o -> m.A: A[i]
    }
    m.A -> a
  }
}",
        },
    },
    Page {
        code: Code::ConstantWritten,
        why: "The contents of a constant are part of the compiled program and lie in read-only memory.",
        action: "Write to another container, or copy the constant to a transient first.",
        example: Example::Programs {
            bad: "sdfg p {
  constant array C: f64[2] = [1.0, 2.0]
  array A: f64[2]
  state s {
    access a = A
    access c = C
    a -> c
  }
}",
            good: "sdfg p {
  constant array C: f64[2] = [1.0, 2.0]
  array A: f64[2]
  state s {
    access a = A
    access c = C
    c -> a
  }
}",
        },
    },
    Page {
        code: Code::UnboundAlias,
        why: "A view names a part of another container, and each state that uses the view must bind it to that \
              part.",
        action: "Add a binding: `bind a -> v: A[0:4]`.",
        example: Example::Programs {
            bad: "sdfg p {
  array A: f64[8]
  array B: f64[4]
  view V: f64[4]
  state s {
    access v = V
    access b = B
    v -> b
  }
}",
            good: "sdfg p {
  array A: f64[8]
  array B: f64[4]
  view V: f64[4]
  state s {
    access a = A
    access v = V
    access b = B
    bind a -> v: A[0:4]
    v -> b
  }
}",
        },
    },
    Page {
        code: Code::StreamUse,
        why: "A connector of a tasklet pops from or pushes to one queue. A push adds an element and never meets \
              an earlier one, so there is nothing to resolve. Queues have no memory that a view could name.",
        action: "Name one queue, as in `S[p]`; omit the resolution.",
        example: Example::Programs {
            bad: "sdfg p {
  stream S: f64[4]
  scalar x: f64
  state s {
    access x
    access S
    tasklet t (a) -> (o) { o = a }
    x -> t.a: x
    t.o -> S: S[0:4]
  }
}",
            good: "sdfg p {
  stream S: f64[4]
  scalar x: f64
  state s {
    access x
    access S
    tasklet t (a) -> (o) { o = a }
    x -> t.a: x
    t.o -> S: S[0]
  }
}",
        },
    },
    Page {
        code: Code::BoundTiles,
        why: "A view, a reference or a container of a nested SDFG names a part of memory whose elements are \
              evenly spaced along each dimension; library nodes and reductions become nested SDFGs. The elements \
              of a range with tiles are not evenly spaced.",
        action: "Copy them to a transient, or let a tasklet read the tiles.",
        example: Example::Programs {
            bad: "sdfg p {
  array A: f64[8]
  array B: f64[4]
  view V: f64[4]
  state s {
    access A
    access B
    access V
    bind A -> V: A[0:8:4:2]
    V -> B
  }
}",
            good: "sdfg p {
  array A: f64[8]
  array B: f64[4]
  state s {
    access A
    access B
    A -> B: A[0:8:4:2] -> B[0:4]
  }
}",
        },
    },
];
