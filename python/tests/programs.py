"""Small programs in the text form, for the tests of calls; none needs DaCe."""

import functools

import sdfg

AXPY = """sdfg axpy {
  symbol N: i64
  scalar a: f64
  array x: f64[N]
  array y: f64[N]

  state s {
    access a
    access x
    access old = y
    access new = y
    map m [i = 0:N] {
      tasklet t (a, x, y) -> (r) { r = a * x + y }
      m.a -> t.a: a
      m.x -> t.x: x[i]
      m.y -> t.y: y[i]
      t.r -> m.y: y[i]
    }
    a -> m.a
    x -> m.x
    old -> m.y
    m.y -> new
  }
}
"""

# Every number of its type: one by value, one in memory, and an array.
NUMBERS = """sdfg numbers_TYPE {
  symbol N: i64
  scalar s: TYPE
  array A: TYPE[N]
  array B: TYPE[N]
  array C: TYPE[1]
  scalar r: TYPE

  state s {
    access s
    access A
    access B
    access C
    access r
    A -> B
    tasklet t (s) -> (c, r) { c = s; r = s }
    s -> t.s: s
    t.c -> C: C[0]
    t.r -> r: r
  }
}
"""

# Layouts that a program declares: rows with a distance of the caller's, columns, columns of a block that begins at an offset.
LAYOUTS = """sdfg layouts {
  symbol N: i64
  symbol M: i64
  symbol S: i64
  array A: f64[N, M] strides(S, 1) size(N * S)
  array B: f64[N, M] strides(1, N)
  array C: f64[N] strides(-1) offset(N - 1) size(N)

  state s {
    access A
    access B
    access C
    A -> B
    A -> C: A[0:N, 0] -> C[0:N]
  }
}
"""

RESULTS = """sdfg results {
  symbol N: i64
  array A: f64[N]
  array __return_0: f64[N]
  array __return_10: f64[2, N] strides(1, 2)
  scalar __return_2: f64

  state s {
    access A
    access first = __return_0
    access last = __return_10
    access middle = __return_2
    A -> first
    A -> last: A[0:N] -> __return_10[1, 0:N]
    A -> middle: A[0] -> __return_2
  }
}
"""

SQUARE = """sdfg square {
  symbol N: i64
  symbol M: i64
  array A: f64[N, N]
  array B: f64[2 * N + M, M]
  array C: f64[N // 2, ceil_div(N, 2)]

  state s {
    access A
    access B
    access C
    A -> C: A[0, 0] -> C[0, 0]
    A -> B: A[0, 0] -> B[0, 0]
  }
}
"""

# An element that the data picks.
PICK = """sdfg pick {
  symbol N: i64
  array A: f64[N]
  scalar at: i64
  array __return: f64[1]

  state s {
    access A
    access at
    access out = __return
    tasklet t (values, at) -> (o) { o = values[at] }
    A -> t.values: A[0:N]
    at -> t.at: at
    t.o -> out: __return[0]
  }
}
"""

# As long as T says, in a loop that nothing shortens.
SLOW = """sdfg slow {
  symbol T: i64
  scalar x: f64
  transient array B: f64[64]

  for steps: t = 0:T {
    state s {
      access old = x
      access new = x
      tasklet step (x) -> (r) { r = sin(x) + 1.0 }
      old -> step.x: x
      step.r -> new: x
    }
  }
}
"""

VECTORS = """sdfg vectors {
  symbol N: i64
  array A: f32x4[N]
  array B: f32x4[N]

  state s {
    access A
    access B
    map m [i = 0:N] {
      tasklet t (a) -> (b) { b = a + a }
      m.A -> t.a: A[i]
      t.b -> m.B: B[i]
    }
    A -> m.A
    m.B -> B
  }
}
"""


@functools.lru_cache(maxsize=None)
def compiled(text, **options):
    """The program, which the tests that use it share."""
    return sdfg.compile(text, level="fast", **options)
