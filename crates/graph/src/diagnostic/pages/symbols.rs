//! Pages about symbols and declarations.

use super::{Code, Example, Page};

pub(super) const PAGES: &[Page] = &[
    Page {
        code: Code::UndefinedSymbol,
        why: "A size, bound, index or condition is evaluated where it stands. Symbols get a value from the caller if they are \
              declared, from loops and transitions before, and from the scopes around.",
        action: "Declare the symbol, assign it on a transition before, or correct its name.",
        example: Example::Programs {
            bad: "sdfg p {
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  state s {
    access a = A
    access b = B
    a -> b: A[0:n] -> B[0:n]
  }
}",
            good: "sdfg p {
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  state s {
    access a = A
    access b = B
    a -> b: A[0:N] -> B[0:N]
  }
}",
        },
    },
    Page {
        code: Code::ContainerAsSymbol,
        why: "Symbolic expressions read no data, so that sizes and indices are known to the compiler; and what control flow \
              assigns is a symbol, never a container.",
        action: "Bring the value into a symbol: by an assignment on a transition, or by a connector of a map (`m@k`).",
        example: Example::Programs {
            bad: "sdfg p {
  scalar k: i64
  array A: f64[8]
  scalar x: f64
  state s {
    access a = A
    access x
    a -> x: A[k] -> x
  }
}",
            good: "sdfg p {
  scalar k: i64
  array A: f64[8]
  scalar x: f64
  state read { }
  -> s with (position = k)
  state s {
    access a = A
    access x
    a -> x: A[position] -> x
  }
}",
        },
    },
    Page {
        code: Code::ShadowedSymbol,
        why: "If a parameter of a scope had the name of another symbol that matters inside, one name would mean two things in \
              one expression: the `N` of a shape and the `N` that counts.",
        action: "Rename the parameter.",
        example: Example::Programs {
            bad: "sdfg p {
  symbol N: i64
  array A: f64[N]
  state s {
    access a = A
    map m [N = 0:4] {
      tasklet t () -> (o) { o = 0.0 }
      t.o -> m.A: A[N]
    }
    m.A -> a
  }
}",
            good: "sdfg p {
  symbol N: i64
  array A: f64[N]
  state s {
    access a = A
    map m [i = 0:4] {
      tasklet t () -> (o) { o = 0.0 }
      t.o -> m.A: A[i]
    }
    m.A -> a
  }
}",
        },
    },
    Page {
        code: Code::SymbolType,
        why: "Symbols are what sizes, bounds and indices are made of; those are integers.",
        action: "Declare an integer type, or use a scalar container for other values.",
        example: Example::Programs {
            bad: "sdfg p {
  symbol N: f64
  array A: f64[4]
}",
            good: "sdfg p {
  symbol N: i64
  array A: f64[N]
}",
        },
    },
    Page {
        code: Code::NonIntegral,
        why: "`N / 2` is a fraction for odd `N`. Rounding either way silently would hide mistakes, so a quotient is accepted \
              only where it is an integer for all values, as in `N * (N + 1) / 2`. What divides by zero, does not fit 64 bits \
              or calls a function such as `sqrt` is an integer for none.",
        action: "Write `N // 2` to round down or `ceil_div(N, 2)` to round up.",
        example: Example::Programs {
            bad: "sdfg p {
  symbol N: i64
  transient array A: f64[N / 2]
}",
            good: "sdfg p {
  symbol N: i64
  transient array A: f64[N // 2]
}",
        },
    },
    Page {
        code: Code::DuplicateAssignment,
        why: "All right sides of a transition are evaluated before any symbol changes, so the second assignment of a symbol \
              would not see the first; one of them has no effect.",
        action: "Keep one of the assignments, or put them on transitions one after the other.",
        example: Example::Programs {
            bad: "sdfg p {
  state a { }
  -> b with (i = 0, i = 1)
  state b { }
}",
            good: "sdfg p {
  state a { }
  -> b with (i = 0, j = 1)
  state b { }
}",
        },
    },
    Page {
        code: Code::FixedSymbol,
        why: "The caller made the arguments before the call, so their sizes and strides are fixed. With another value of a \
              symbol in them, indices would be looked up where the elements are not.",
        action: "Assign a symbol of another name, which begins with the value of this one.",
        example: Example::Programs {
            bad: "sdfg p {
  symbol N: i64
  array A: f64[N]
  state a { }
  -> b with (N = N + 1)
  state b { }
}",
            good: "sdfg p {
  symbol N: i64
  array A: f64[N]
  state a { }
  -> b with (n = N + 1)
  state b { }
}",
        },
    },
    Page {
        code: Code::AliasNotTransient,
        why: "A view or reference has no memory of its own; it names that of another container. The caller has nothing to \
              pass for it.",
        action: "Make it transient; to take memory from the caller, declare an array.",
        example: Example::NotInText,
    },
    Page {
        code: Code::BadShape,
        why: "An array holds elements along at least one dimension, and no dimension has less than no elements. One element \
              is a scalar.",
        action: "Declare `scalar x: TYPE` for one element; correct a negative extent.",
        example: Example::Programs {
            bad: "sdfg p {
  array A: f64[4, -1]
}",
            good: "sdfg p {
  array A: f64[4, 1]
}",
        },
    },
    Page {
        code: Code::LayoutRank,
        why: "An element lies at the offset plus the sum of index times stride over all dimensions, so there is a stride for \
              each, every element lies inside of the size, and no two elements of an array share a place.",
        action: "Give as many strides as dimensions, or none for a packed array; enlarge the size to what they reach.",
        example: Example::Programs {
            bad: "sdfg p {
  array A: f64[4, 8] strides(8)
}",
            good: "sdfg p {
  array A: f64[4, 8] strides(1, 4)
}",
        },
    },
    Page {
        code: Code::BadConstant,
        why: "The contents of a constant are compiled into the program: their number and type are known when it is compiled.",
        action: "Give one value of the element type for each element of a shape of numbers.",
        example: Example::Programs {
            bad: "sdfg p {
  constant array C: f64[3] = [1.0, 2.0]
}",
            good: "sdfg p {
  constant array C: f64[3] = [1.0, 2.0, 3.0]
}",
        },
    },
    Page {
        code: Code::DistributionRank,
        why: "A block distribution cuts every dimension into as many parts as the process grid has along it, at least 1.",
        action: "Give one number of parts for each dimension, 1 where it is not cut.",
        example: Example::Programs {
            bad: "sdfg p {
  symbol P: i64
  array A: f64[64, 64] distribution(block(P))
}",
            good: "sdfg p {
  symbol P: i64
  array A: f64[64, 64] distribution(block(P, 1))
}",
        },
    },
    Page {
        code: Code::BadCapacity,
        why: "A push into a full queue waits. A queue without room is always full, so the first push would wait for ever.",
        action: "Give a positive capacity, or none for queues without a limit.",
        example: Example::Programs {
            bad: "sdfg p {
  transient stream S: f64 capacity(0)
}",
            good: "sdfg p {
  transient stream S: f64 capacity(4)
}",
        },
    },
];
