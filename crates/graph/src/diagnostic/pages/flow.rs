//! Pages about control flow and whole-program dataflow.

use super::{Code, Example, Page};

pub(super) const PAGES: &[Page] = &[
    Page {
        code: Code::JumpOutsideLoop,
        why: "`break` and `continue` refer to the innermost surrounding loop in the same SDFG. A nested SDFG \
              cannot reach a loop of its caller.",
        action: "Move it into a loop, or use `return` to end the SDFG.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v601_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v601_right.sdft"),
        },
    },
    Page {
        code: Code::UnreachableBlock,
        why: "No path reaches the block: no transition leads to it, or each follows an unconditional one, a jump, \
              or a loop or branch that is never left regularly; or its condition is constant and false. The \
              program has the same meaning without the block, which was probably not intended.",
        action: "Add a transition, put a condition on an earlier one, correct the condition, or remove the block.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v602_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v602_right.sdft"),
        },
    },
    Page {
        code: Code::EndlessLoop,
        why: "The loop, or the cycle of transitions, does not end once it is entered. The operands of its \
              condition never change, or the counter moves away from the end, past it or back to its start, and \
              there is no `break` or `return`. If the operands never change and depend on the caller, it is a \
              warning: with other values the loop is not entered.",
        action: "Change the operands of the condition, correct the step, or leave with `break`.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v603_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v603_right.sdft"),
        },
    },
    Page {
        code: Code::WriteConflict,
        why: "Iterations of a map or consume scope are unordered, and so are nodes of a state that no path joins: \
              they may run at the same time. If two of them access one element and at least one writes it, the \
              value that is read or that remains is undefined, also under a sequential schedule. Two writes with \
              the same conflict resolution do not conflict. An access through a view is an access to its target.",
        action: "Combine the values with a resolution such as `wcr(sum)`, write a separate element in each \
                 iteration, order the nodes by an edge, or declare with `wcr(replace)` that any of the values is \
                 acceptable.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v701_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v701_right.sdft"),
        },
    },
    Page {
        code: Code::NeverWritten,
        why: "A transient is initially undefined, and reading an undefined element traps. If nothing writes it, \
              every read traps. A conflict resolution other than `replace` also reads the old value.",
        action: "Write it first, or make it an argument that the caller passes.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v702_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v702_right.sdft"),
        },
    },
    Page {
        code: Code::Deadlock,
        why: "A pop waits for an element, and a push into a full queue waits for room. Here neither can come: \
              nothing pushes before or beside the pop, fewer elements are pushed than popped, pops wait for each \
              other, or more than the capacity is pushed before any is popped.",
        action: "Place producer and consumer side by side, each at a separate access node, and move as many \
                 elements in as out; or enlarge the capacity.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v703_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v703_right.sdft"),
        },
    },
    Page {
        code: Code::NeverPopped,
        why: "A transient stream loses its elements at the end of its lifetime. If nothing takes them, computing \
              them was useless; probably an edge is missing.",
        action: "Pop the elements, or make the stream an argument, so that the caller receives them.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v704_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v704_right.sdft"),
        },
    },
    Page {
        code: Code::PossibleConflict,
        why: "Two accesses, at least one of them a write, are in different iterations of a scope or in nodes that \
              no path joins. It is undecided whether they touch one element: the volume of a memlet is dynamic, \
              code or a call selects elements of its memlet, or the subsets depend on data. If they do, the \
              interpreter traps and the behaviour of native code is undefined.",
        action: "Write subsets that are provably disjoint, with exact volumes; order the accesses by an edge; or \
                 give the writes a conflict resolution, `wcr(replace)` if any of the values is acceptable.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v705_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v705_right.sdft"),
        },
    },
    Page {
        code: Code::EndedWithState,
        why: "A transient with the lifetime `state` exists only during each execution of a state that uses it. \
              Conditions and assignments of the control flow are evaluated between states, where it has no \
              memory. The condition of a consume scope reads it only in a state that accesses it.",
        action: "Give it the lifetime `scope`, which is the default, or `sdfg`.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v706_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v706_right.sdft"),
        },
    },
];
