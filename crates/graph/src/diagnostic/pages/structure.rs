//! Pages of the first phase: the structure of the graph.

use super::{Code, Example, Page};

pub(super) const PAGES: &[Page] = &[
    Page {
        code: Code::InvalidName,
        why: "Names of SDFGs, containers and connectors occur in code and in the generated C header, so they must \
              be identifiers of both. Labels of blocks and nodes may be any text except the empty one.",
        action: "Use letters, digits and `_`, without a digit at the beginning, and no keyword such as `if`.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v001_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v001_right.sdft"),
        },
    },
    Page {
        code: Code::DuplicateName,
        why: "Containers and symbols of an SDFG share one name space, because a condition or the caller may refer \
              to both.",
        action: "Rename one of the two.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v002_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v002_right.sdft"),
        },
    },
    Page {
        code: Code::DuplicateLabel,
        why: "Transitions, transformation chains and messages refer to blocks and nodes by label: to blocks \
              within their SDFG, to nodes within their state.",
        action: "Give one of them another label.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v003_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v003_right.sdft"),
        },
    },
    Page {
        code: Code::DanglingReference,
        why: "Elements refer to each other by ids, which are never reused. An element was removed, but a \
              reference to it remains.",
        action: "Remove the reference too, or make it refer to an existing element.",
        example: Example::NotInText,
    },
    Page {
        code: Code::MalformedRegion,
        why: "Every block belongs to one region, and every region to one loop or branch (or it is the body of the \
              SDFG). Every state belongs to one block, and transitions stay in their region. Otherwise the \
              program has no control flow.",
        action: "Create regions and blocks through `Sdfg::add_region`, `add_block`, `add_state` and \
                 `add_transition`, which preserve the tree.",
        example: Example::NotInText,
    },
    Page {
        code: Code::NestingTooDeep,
        why: "Programs are traversed recursively through loops, branches and nested SDFGs. The limit (256 \
              regions, 64 SDFGs) bounds the recursion for any input. An SDFG contains its callees, so recursion \
              is infinite nesting.",
        action: "Turn recursion into a loop, a stream or a consume scope.",
        example: Example::NotInText,
    },
    Page {
        code: Code::Cycle,
        why: "A state runs each node once, after all nodes that it depends on. No node of a cycle could start.",
        action: "Write to a second access node of the container, or move the repetition to a loop or another \
                 state.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v007_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v007_right.sdft"),
        },
    },
    Page {
        code: Code::UnknownConnector,
        why: "Data enters and leaves code through the connectors that the node declares. At scopes, these begin \
              with `IN_` and `OUT_`.",
        action: "Correct the name, or add the connector to the node.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v008_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v008_right.sdft"),
        },
    },
    Page {
        code: Code::UnconnectedConnector,
        why: "Code accesses memory only through its connectors. An input without an edge has no value, and an \
              output without an edge has no effect.",
        action: "Connect it, or remove it from the node.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v009_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v009_right.sdft"),
        },
    },
    Page {
        code: Code::ConnectorReused,
        why: "An input has one value, so exactly one edge leads to it. Each datum crosses the outer side of a \
              scope once. An output of a tasklet may have several edges if it is a single value.",
        action: "Use a connector for each edge.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v010_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v010_right.sdft"),
        },
    },
    Page {
        code: Code::MisplacedConnector,
        why: "Connectors distinguish the data of code and scope nodes. Access nodes and reductions have one datum \
              and no connectors. An edge that only orders has no connector at either end.",
        action: "Write the connector after the label, as in `t.x`, or omit it.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v011_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v011_right.sdft"),
        },
    },
    Page {
        code: Code::UnpairedScopeConnector,
        why: "Data that enters a scope at `IN_x` continues inside from `OUT_x`, and the exit works in the same \
              way. If one half is missing, the data has no source or no destination.",
        action: "Add the edge on the other side of the scope, or remove this one.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v012_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v012_right.sdft"),
        },
    },
    Page {
        code: Code::DuplicateConnector,
        why: "An edge finds its connector by name. Code does so too, and cannot distinguish an input from an \
              output of the same name. Only nested SDFGs may have both, for data that is read and written in \
              place.",
        action: "Rename one of the two.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v013_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v013_right.sdft"),
        },
    },
    Page {
        code: Code::MalformedScope,
        why: "A scope consists of the nodes between its entry and its exit. It has one of each, of one kind, with \
              one label.",
        action: "Add entries and exits together, and remove them together.",
        example: Example::NotInText,
    },
    Page {
        code: Code::EdgeCrossesScope,
        why: "A scope runs many times. An edge from outside directly to a node inside does not determine the \
              iteration, so data must pass the entry and the exit.",
        action: "Lead the edge through the scope: one edge to its entry, and one from there to the node.",
        example: Example::Programs {
            bad: include_str!("../../../filetests/explain/v015_wrong.sdft"),
            good: include_str!("../../../filetests/explain/v015_right.sdft"),
        },
    },
    Page {
        code: Code::NodeNotEnclosed,
        why: "An iteration of a scope is done when its exit is reached. A node without a path to the exit could \
              still run after the scope.",
        action: "Add an order edge to the exit, `order node -> scope`, or remove the node.",
        example: Example::NotInText,
    },
];
