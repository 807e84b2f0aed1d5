//! Explanation pages of the codes of library nodes: the reason for each error, the remedy, and a wrong and a
//! right program.

use sdfg::diagnostic::pages::{Entry, Example};

/// Pages of `sdfg explain` for each code of an [`ExpandErrorKind`](crate::ExpandErrorKind), in order of names.
pub const PAGES: [Entry; 5] = [
    Entry {
        name: "L001",
        title: "the operation of a library node is not known",
        why: "A library node names its operation. The interpreter and native code carry out the \
              operations that `docs/library.md` lists. DaCe's classes are read under their own names, \
              so nodes of its machine learning and communication libraries are refused here.",
        action: "Use an operation of the list, or write the operation as maps and tasklets. In DaCe, \
                 `sdfg.expand_library_nodes()` does this before the file is saved.",
        example: Some(Example::Programs {
            bad: "sdfg p {
  array A: f64[2, 3]
  array B: f64[3, 4]
  array C: f64[2, 4]
  state s {
    access A
    access B
    access C
    library n: Convolution (_a, _b) -> (_c) {}
    A -> n._a
    B -> n._b
    n._c -> C
  }
}",
            good: "sdfg p {
  array A: f64[2, 3]
  array B: f64[3, 4]
  array C: f64[2, 4]
  state s {
    access A
    access B
    access C
    library n: MatMul (_a, _b) -> (_c) {}
    A -> n._a
    B -> n._b
    n._c -> C
  }
}",
        }),
    },
    Entry {
        name: "L002",
        title: "a property of a library node does not fit its operation",
        why: "Each operation has the properties that `docs/library.md` lists. A property of another \
              name would silently change nothing, so it is refused, as are values that the property \
              cannot have.",
        action: "Correct the name or the value. The message lists the properties of the operation.",
        example: Some(Example::Programs {
            bad: "sdfg p {
  array A: f64[2, 3]
  array B: f64[3, 4]
  array C: f64[2, 4]
  state s {
    access A
    access B
    access C
    library n: MatMul (_a, _b) -> (_c) { alfa = 2 }
    A -> n._a
    B -> n._b
    n._c -> C
  }
}",
            good: "sdfg p {
  array A: f64[2, 3]
  array B: f64[3, 4]
  array C: f64[2, 4]
  state s {
    access A
    access B
    access C
    library n: MatMul (_a, _b) -> (_c) { alpha = 2 }
    A -> n._a
    B -> n._b
    n._c -> C
  }
}",
        }),
    },
    Entry {
        name: "L003",
        title: "the connectors of a library node are not those of its operation",
        why: "Each operation tells its operands apart by the names of connectors.",
        action: "Rename, add or remove connectors, so that the node has those that `docs/library.md` \
                 lists.",
        example: Some(Example::Programs {
            bad: "sdfg p {
  array A: f64[2, 3]
  array B: f64[3, 4]
  array C: f64[2, 4]
  state s {
    access A
    access B
    access C
    library n: MatMul (_x, _b) -> (_c) {}
    A -> n._x
    B -> n._b
    n._c -> C
  }
}",
            good: "sdfg p {
  array A: f64[2, 3]
  array B: f64[3, 4]
  array C: f64[2, 4]
  state s {
    access A
    access B
    access C
    library n: MatMul (_a, _b) -> (_c) {}
    A -> n._a
    B -> n._b
    n._c -> C
  }
}",
        }),
    },
    Entry {
        name: "L004",
        title: "the operands of a library node do not fit",
        why: "The operation is not defined for operands of these shapes or element types.",
        action: "Correct the memlets or the declarations of the operands; copy elements to a container of \
                 the type that the operation takes.",
        example: Some(Example::Programs {
            bad: "sdfg p {
  array A: f64[2, 3]
  array B: f64[5, 4]
  array C: f64[2, 4]
  state s {
    access A
    access B
    access C
    library n: MatMul (_a, _b) -> (_c) {}
    A -> n._a
    B -> n._b
    n._c -> C
  }
}",
            good: "sdfg p {
  array A: f64[2, 3]
  array B: f64[3, 4]
  array C: f64[2, 4]
  state s {
    access A
    access B
    access C
    library n: MatMul (_a, _b) -> (_c) {}
    A -> n._a
    B -> n._b
    n._c -> C
  }
}",
        }),
    },
    Entry {
        name: "L005",
        title: "a library node cannot be carried out in the way that is asked for",
        why: "A node or the command line asks for calls of BLAS, and there is no call for the operation, or an operand does \
              not lie in memory as BLAS reads it. Reductions whose edge combines in another way have no expansion.",
        action: "Leave the request out, as the message says; the other expansions work for all operands.",
        example: None,
    },
];
