//! Pages of errors in texts.

use super::{Code, Example, Page};

pub(super) const PAGES: &[Page] = &[
    Page {
        code: Code::Syntax,
        why: "`docs/text-format.md` defines the grammar of the text form. A text that violates it has no defined \
              meaning.",
        action: "Look at the token under the caret; the message lists the permitted tokens.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/p001_wrong.sdft"),
            good: include_str!("../../../filetests/explain/p001_right.sdft"),
        },
    },
    Page {
        code: Code::UnknownReference,
        why: "Edges refer to nodes, access nodes and memlets to containers, and arrows to blocks. Each must be \
              declared in the same SDFG, and nodes in the same state.",
        action: "Correct the name, or declare the element.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/p002_wrong.sdft"),
            good: include_str!("../../../filetests/explain/p002_right.sdft"),
        },
    },
];
