//! Pages about memlets.

use super::{Code, Example, Page};

pub(super) const PAGES: &[Page] = &[
    Page {
        code: Code::WrongContainer,
        why: "The path of a memlet ends at an access node, which determines the container that is read or \
              written. A memlet with another name contradicts it.",
        action: "Name the container of the access node, or lead the edge to another node.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v301_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v301_right.sdft"),
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
            bad: include_str!("../../../filetests/explain/v303_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v303_right.sdft"),
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
            bad: include_str!("../../../filetests/explain/v304_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v304_right.sdft"),
        },
    },
    Page {
        code: Code::CopyVolume,
        why: "A copy pairs the elements of both sides in row-major order. With different numbers of elements, \
              some have no partner.",
        action: "Make both subsets the same size.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v305_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v305_right.sdft"),
        },
    },
    Page {
        code: Code::ElementMismatch,
        why: "Memlets move bits and convert nothing, so that precision is never lost silently. Views and \
              references do not convert elements either.",
        action: "Convert in a tasklet, as in `o = f64(x)`, or declare both ends with one type.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v306_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v306_right.sdft"),
        },
    },
    Page {
        code: Code::BadVolume,
        why: "The volume is the number of elements that move along the edge, so it is at least 0.",
        action: "Omit it to move the whole subset, or write `dynamic` if it is decided at run time.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v307_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v307_right.sdft"),
        },
    },
    Page {
        code: Code::ResolutionType,
        why: "A conflict resolution combines two elements by an operation that the element type must support. \
              Complex numbers have no order, floating-point numbers have no bitwise operations, and locations \
              need a value with an index.",
        action: "Use a resolution that is defined for the type, or a lambda.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v308_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v308_right.sdft"),
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
            bad: include_str!("../../../filetests/explain/v310_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v310_right.sdft"),
        },
    },
    Page {
        code: Code::ConstantWritten,
        why: "The contents of a constant are part of the compiled program and lie in read-only memory.",
        action: "Write to another container, or copy the constant to a transient first.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v311_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v311_right.sdft"),
        },
    },
    Page {
        code: Code::UnboundAlias,
        why: "A view names a part of another container, and each state that uses the view must bind it to that \
              part.",
        action: "Add a binding: `bind a -> v: A[0:4]`.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v312_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v312_right.sdft"),
        },
    },
    Page {
        code: Code::StreamUse,
        why: "A connector of a tasklet pops from or pushes to one queue. A push adds an element and never meets \
              an earlier one, so there is nothing to resolve. Queues have no memory that a view could name.",
        action: "Name one queue, as in `S[p]`; omit the resolution.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v313_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v313_right.sdft"),
        },
    },
    Page {
        code: Code::BoundTiles,
        why: "A view, a reference or a container of a nested SDFG names a part of memory whose elements are \
              evenly spaced along each dimension; library nodes and reductions become nested SDFGs. The elements \
              of a range with tiles are not evenly spaced.",
        action: "Copy them to a transient, or let a tasklet read the tiles.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v314_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v314_right.sdft"),
        },
    },
    Page {
        code: Code::BoundTwice,
        why: "A binding makes a view name its elements from the beginning of the state or the scope on. Two \
              bindings that hold at the same time leave open which elements the view names.",
        action: "Declare one view for each part: `view v: f64[2]` and `view w: f64[2]`.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v315_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v315_right.sdft"),
        },
    },
    Page {
        code: Code::IdleStrides,
        why: "A view with the extents of what it names shows these elements in their order, wherever they lie. \
              Its own strides count only if it has other extents, or is bound to a single element. So a square is \
              not transposed by the strides of a view of all of it.",
        action: "Bind the first element to count from it with the strides of the view. Leave the strides out if the \
                 elements are wanted as they are.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v316_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v316_right.sdft"),
        },
    },
];
