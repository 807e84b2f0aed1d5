//! Pages about symbols and declarations.

use super::{Code, Example, Page};

pub(super) const PAGES: &[Page] = &[
    Page {
        code: Code::UndefinedSymbol,
        why: "A size, bound, index or condition is evaluated at its place. Symbols receive a value from the \
              caller if they are declared, from earlier loops and transitions, and from surrounding scopes.",
        action: "Declare the symbol, assign it on an earlier transition, or correct its name.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v101_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v101_right.sdft"),
        },
    },
    Page {
        code: Code::ContainerAsSymbol,
        why: "Symbolic expressions read no data, so that the compiler can analyse sizes and indices. Control flow \
              assigns symbols and never containers.",
        action: "Copy the value to a symbol: by an assignment on a transition, or by a connector of a map \
                 (`m@k`).",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v102_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v102_right.sdft"),
        },
    },
    Page {
        code: Code::ShadowedSymbol,
        why: "If a parameter of a scope has the name of another symbol that is used inside, one name has two \
              meanings in one expression: the `N` of a shape and the `N` that counts.",
        action: "Rename the parameter.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v103_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v103_right.sdft"),
        },
    },
    Page {
        code: Code::SymbolType,
        why: "Sizes, bounds and indices consist of symbols, and are integers.",
        action: "Declare an integer type, or use a scalar container for other values.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v104_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v104_right.sdft"),
        },
    },
    Page {
        code: Code::NonIntegral,
        why: "`N / 2` is a fraction for odd `N`. Silent rounding would hide errors, so a quotient is accepted \
              only if it is an integer for all values, such as `N * (N + 1) / 2`. An expression that divides by \
              zero, does not fit 64 bits or calls a function such as `sqrt` is never an integer.",
        action: "Write `N // 2` to round down or `ceil_div(N, 2)` to round up.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v105_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v105_right.sdft"),
        },
    },
    Page {
        code: Code::DuplicateAssignment,
        why: "All right sides of a transition are evaluated before any symbol changes. Therefore one of two \
              assignments to a symbol has no effect.",
        action: "Keep one of the assignments, or put them on successive transitions.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v106_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v106_right.sdft"),
        },
    },
    Page {
        code: Code::FixedSymbol,
        why: "The caller allocates the arguments before the call, so their sizes and strides are fixed. With \
              another value of a symbol in them, indices would address the wrong elements.",
        action: "Assign a symbol of another name, initialised with the value of this one.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v107_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v107_right.sdft"),
        },
    },
    Page {
        code: Code::AliasNotTransient,
        why: "A view or reference has no memory; it names the memory of another container. Therefore the caller \
              cannot pass it.",
        action: "Make it transient; to take memory from the caller, declare an array.",
        example: Example::NotInText,
    },
    Page {
        code: Code::BadShape,
        why: "An array has at least one dimension, and no dimension has a negative extent. One element is a \
              scalar.",
        action: "Declare `scalar x: TYPE` for one element; correct a negative extent.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v202_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v202_right.sdft"),
        },
    },
    Page {
        code: Code::LayoutRank,
        why: "The position of an element is the offset plus the sum of index times stride over all dimensions. \
              Therefore an array needs one stride for each dimension. Every element must lie within the size, \
              and no two elements may share a position.",
        action: "Give as many strides as dimensions, or none for a packed array; enlarge the size to include all \
                 elements.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v203_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v203_right.sdft"),
        },
    },
    Page {
        code: Code::BadConstant,
        why: "The contents of a constant are compiled into the program, so their number and type must be known at \
              compile time.",
        action: "Give one value of the element type for each element of a constant shape.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v204_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v204_right.sdft"),
        },
    },
    Page {
        code: Code::DistributionRank,
        why: "A distribution divides each dimension of a container along one dimension of the process grid, or not at \
              all. The grid has at least one process along each dimension, and no two dimensions share one: each \
              element has one owner. Parts start in ascending order, within the extent. A grid has at most 65536 processes.",
        action: "Give a cut for each dimension: `block(..)` has one number of parts each, 1 for an undivided one; \
                 `grid(..)[..]` lists cuts, `whole` for an undivided one.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v205_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v205_right.sdft"),
        },
    },
    Page {
        code: Code::BadCapacity,
        why: "A push into a full queue waits. A queue without capacity is always full, so the first push would \
              wait for ever.",
        action: "Give a positive capacity, or none for unbounded queues.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v206_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v206_right.sdft"),
        },
    },
];
