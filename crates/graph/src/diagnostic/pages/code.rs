//! Pages about code: tasklets, conditions and external calls.

use super::{Code, Example, Page};

pub(super) const PAGES: &[Page] = &[
    Page {
        code: Code::UnknownName,
        why: "Code may name its connectors, the surrounding symbols and its own locals, but no containers. Its \
              edges declare all data that it reads and writes, which makes the program analysable.",
        action: "Add a connector for the data, or correct the name.",
        example: Example::Programs {
            bad: "sdfg p {
  scalar x: f64
  scalar y: f64
  state s {
    access x
    access y
    tasklet t (a) -> (o) { o = a + x }
    x -> t.a: x
    t.o -> y: y
  }
}",
            good: "sdfg p {
  scalar x: f64
  scalar y: f64
  state s {
    access x
    access y
    tasklet t (a) -> (o) { o = a + a }
    x -> t.a: x
    t.o -> y: y
  }
}",
        },
    },
    Page {
        code: Code::CodeType,
        why: "Operations are defined for some types. Pointers need as many indices as they have dimensions, and \
              an assignment needs a target that can hold the value. `docs/semantics-arithmetic.md` defines the \
              rules.",
        action: "Follow the message; casts are written `f32(x)`.",
        example: Example::Programs {
            bad: "sdfg p {
  array A: f64[4]
  scalar y: f64
  state s {
    access a = A
    access y
    tasklet t (v) -> (o) { o = v[0, 1] }
    a -> t.v: A[0:4]
    t.o -> y: y
  }
}",
            good: "sdfg p {
  array A: f64[4]
  scalar y: f64
  state s {
    access a = A
    access y
    tasklet t (v) -> (o) { o = v[0] + v[1] }
    a -> t.v: A[0:4]
    t.o -> y: y
  }
}",
        },
    },
    Page {
        code: Code::UnassignedOutput,
        why: "A memlet with an exact volume requires a write of its element. Code without an assignment violates \
              this.",
        action: "Assign the output, or remove the connector with its edge.",
        example: Example::Programs {
            bad: "sdfg p {
  scalar x: f64
  scalar y: f64
  state s {
    access x
    access y
    tasklet t (a) -> (o) { result = a }
    x -> t.a: x
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
        code: Code::ConditionType,
        why: "A condition is true or false (numbers are true unless 0), and the value of a symbol is an integer. \
              Vectors, complex numbers and whole arrays are neither, and symbols hold no fractions.",
        action: "Compare, index or convert, as in `i64(x)`.",
        example: Example::Programs {
            bad: "sdfg p {
  scalar x: f64
  state a { }
  -> b with (k = x * 2.0)
  state b { }
}",
            good: "sdfg p {
  scalar x: f64
  state a { }
  -> b with (k = i64(x * 2.0))
  state b { }
}",
        },
    },
    Page {
        code: Code::ExternalArgument,
        why: "A C function takes memory addresses, and scalars by value; each argument must be one of these. An \
              address is that of the first element of a memlet. C code proceeds from it by the strides of the \
              container, and not backwards.",
        action: "Pass connectors by name, and scalars with a cast to the parameter type of the function.",
        example: Example::Programs {
            bad: "sdfg p {
  array A: f64[4]
  scalar y: f64
  state s {
    access a = A
    access y
    tasklet t (v) -> (o) external o = dot(i32(4), w) from library \"blas\"
    a -> t.v: A[0:4]
    t.o -> y: y
  }
}",
            good: "sdfg p {
  array A: f64[4]
  scalar y: f64
  state s {
    access a = A
    access y
    tasklet t (v) -> (o) external o = dot(i32(4), v) from library \"blas\"
    a -> t.v: A[0:4]
    t.o -> y: y
  }
}",
        },
    },
];
