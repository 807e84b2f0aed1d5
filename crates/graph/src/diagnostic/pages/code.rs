//! Pages about code: tasklets, conditions and external calls.

use super::{Code, Example, Page};

pub(super) const PAGES: &[Page] = &[
    Page {
        code: Code::UnknownName,
        why: "Code names its connectors, the symbols around it and its own locals. It does not see containers: what it reads \
              and writes is told by its edges, and that is what makes the program analysable.",
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
        why: "Operations are defined for some types, pointers need as many indices as they have dimensions, and a value is \
              assigned to what can hold it. `docs/semantics-arithmetic.md` has the rules.",
        action: "Do as the message says; casts are written `f32(x)`.",
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
        why: "A memlet with an exact volume promises that its element is written. Code without an assignment cannot keep the \
              promise.",
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
        why: "A condition is true or false (numbers are true unless 0), and a symbol takes an integer. Neither is a vector, a \
              complex number or an array as a whole, and symbols take no fractions.",
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
        why: "A C function takes addresses of memory and scalars by value: what is passed has to be one of these. An address is that of \
              the first element of a memlet, from which C goes on with the strides of the container, not backwards.",
        action: "Pass connectors by name, and scalars with a cast to the type that the function takes.",
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
