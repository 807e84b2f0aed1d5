//! Pages of errors in texts.

use super::{Code, Example, Page};

pub(super) const PAGES: &[Page] = &[
    Page {
        code: Code::Syntax,
        why: "The text form has one grammar, `docs/text-format.md`. Where a text leaves it, nothing can be said about what \
              was meant.",
        action: "Look at the token under the caret; the message says what could stand there.",
        example: Example::Programs {
            bad: "sdfg p {
  array A f64[4]
}",
            good: "sdfg p {
  array A: f64[4]
}",
        },
    },
    Page {
        code: Code::UnknownReference,
        why: "Edges name nodes, access nodes and memlets name containers, arrows name blocks. Each has to be declared in the \
              same SDFG, and nodes in the same state.",
        action: "Correct the name, or declare what it should name.",
        example: Example::Programs {
            bad: "sdfg p {
  array A: f64[4]
  array B: f64[4]
  state s {
    access a = A
    access b = C
    a -> b
  }
}",
            good: "sdfg p {
  array A: f64[4]
  array B: f64[4]
  state s {
    access a = A
    access b = B
    a -> b
  }
}",
        },
    },
];
