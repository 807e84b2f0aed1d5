//! Pages about code: tasklets, conditions and external calls.

use super::{Code, Example, Page};

pub(super) const PAGES: &[Page] = &[
    Page {
        code: Code::UnknownName,
        why: "Code may name its connectors, the surrounding symbols and its own locals, but no containers. Its \
              edges declare all data that it reads and writes, which makes the program analysable.",
        action: "Add a connector for the data, or correct the name.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v401_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v401_right.sdft"),
        },
    },
    Page {
        code: Code::CodeType,
        why: "Operations are defined for some types. Pointers need as many indices as they have dimensions, and \
              an assignment needs a target that can hold the value. `docs/semantics-arithmetic.md` defines the \
              rules.",
        action: "Follow the message; casts are written `f32(x)`.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v402_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v402_right.sdft"),
        },
    },
    Page {
        code: Code::UnassignedOutput,
        why: "A memlet with an exact volume requires a write of its element. Code without an assignment violates \
              this.",
        action: "Assign the output, or remove the connector with its edge.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v403_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v403_right.sdft"),
        },
    },
    Page {
        code: Code::ConditionType,
        why: "A condition is true or false (numbers are true unless 0), and the value of a symbol is an integer. \
              Vectors, complex numbers and whole arrays are neither, and symbols hold no fractions.",
        action: "Compare, index or convert, as in `i64(x)`.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v404_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v404_right.sdft"),
        },
    },
    Page {
        code: Code::ExternalArgument,
        why: "A C function takes memory addresses, and scalars by value; each argument must be one of these. An \
              address is that of the first element of a memlet. C code proceeds from it by the strides of the \
              container, and not backwards.",
        action: "Pass connectors by name, and scalars with a cast to the parameter type of the function.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v405_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v405_right.sdft"),
        },
    },
];
