//! Pages about scopes, reductions and nested SDFGs.

use super::{Code, Example, Page};

pub(super) const PAGES: &[Page] = &[
    Page {
        code: Code::MapDimensions,
        why: "Each parameter of a map has a separate range, and a map without parameters repeats nothing.",
        action: "Give one range for each parameter, and at least one parameter.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v501_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v501_right.sdft"),
        },
    },
    Page {
        code: Code::DuplicateParameter,
        why: "Inside the scope, a name refers to one parameter.",
        action: "Rename one of the two.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v502_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v502_right.sdft"),
        },
    },
    Page {
        code: Code::ConsumeStream,
        why: "A consume scope runs once for each element of one stream, which enters it at the connector \
              `stream`.",
        action: "Connect the stream: `S -> c.stream: S`.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v503_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v503_right.sdft"),
        },
    },
    Page {
        code: Code::ReduceEdges,
        why: "A reduction reads one array and writes one array. It has no connectors to distinguish more of them.",
        action: "Give it one edge that reads elements and one that writes them.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v504_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v504_right.sdft"),
        },
    },
    Page {
        code: Code::ReduceShape,
        why: "The reduced axes disappear. The other axes are those of the output, in the same order. Dimensions \
              of extent one are optional.",
        action: "Reduce axes that the input has, and write as many elements as remain.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v505_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v505_right.sdft"),
        },
    },
    Page {
        code: Code::ReduceIdentity,
        why: "The output is set to the identity before anything is combined, so the identity is a constant of the \
              element type.",
        action: "Write a literal such as `0.0`; omit it to combine into the previous contents of the output.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v506_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v506_right.sdft"),
        },
    },
    Page {
        code: Code::NestedConnector,
        why: "A nested SDFG is called in place, with its arguments bound to connectors of the same names. Each \
              argument has a connector. Each connector has an argument or, for inputs, a symbol. Data that is \
              read and written has one memory. A written argument is an output; an argument that is only read is \
              an input.",
        action: "Give connectors and arguments the same names; make all other containers transient.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v507_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v507_right.sdft"),
        },
    },
    Page {
        code: Code::NestedSymbol,
        why: "Symbols of a nested SDFG receive their values from the mapping of the call, from a connector, or \
              from a symbol of the same name outside.",
        action: "Add `with (K = ...)` to the call, or declare the symbol on the side where it is missing.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v508_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v508_right.sdft"),
        },
    },
    Page {
        code: Code::NestedType,
        why: "The callee reads and writes the memory of its caller. Its container has the dimensions of the \
              subset, where single indices may be dropped, and at most as many elements.",
        action: "Declare the shape of the memlet, or change the memlet.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v509_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v509_right.sdft"),
        },
    },
    Page {
        code: Code::SymbolConnector,
        why: "A connector of a scope whose name does not begin with `IN_` sets a symbol before the scope is \
              entered. Its value is one integer.",
        action: "Read one element of an integer container.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v510_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v510_right.sdft"),
        },
    },
    Page {
        code: Code::BadCount,
        why: "Threads, chunks, processing elements and collapsed dimensions are counted from one.",
        action: "Use a positive number, and collapse at most as many dimensions as the map has.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v511_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v511_right.sdft"),
        },
    },
    Page {
        code: Code::UnreachableStorage,
        why: "Each memory is reachable from some schedules only: host code does not read the memory of a GPU, and \
              a kernel does not read the heap of the host. Copies move data between memories.",
        action: "Copy the data to a container in a reachable memory, or change the schedule.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v512_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v512_right.sdft"),
        },
    },
    Page {
        code: Code::LibraryProperty,
        why: "Properties configure an operation before it is expanded: each has one value, which does not depend \
              on data.",
        action: "Give each property once, as a literal, a word, or an expression of symbols that have a value \
                 there.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v513_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v513_right.sdft"),
        },
    },
];
