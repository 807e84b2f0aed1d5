//! Pages of the first phase: the structure of the graph.

use super::{Code, Example, Page};

pub(super) const PAGES: &[Page] = &[
    Page {
        code: Code::InvalidName,
        why: "Names of SDFGs, containers and connectors occur in code and in the generated C header, so they must \
              be identifiers of both. Labels of blocks and nodes may be any text except the empty one.",
        action: "Use letters, digits and `_`, without a digit at the beginning, and no keyword such as `if`.",
        example: Example::Programs {
            bad: "sdfg p {
  scalar \"2x\": f64
}",
            good: "sdfg p {
  scalar x2: f64
}",
        },
    },
    Page {
        code: Code::DuplicateName,
        why: "Containers and symbols of an SDFG share one name space, because a condition or the caller may refer \
              to both.",
        action: "Rename one of the two.",
        example: Example::Programs {
            bad: "sdfg p {
  symbol N: i64
  scalar N: f64
}",
            good: "sdfg p {
  symbol N: i64
  scalar n: f64
}",
        },
    },
    Page {
        code: Code::DuplicateLabel,
        why: "Transitions, transformation chains and messages refer to blocks and nodes by label: to blocks \
              within their SDFG, to nodes within their state.",
        action: "Give one of them another label.",
        example: Example::Programs {
            bad: "sdfg p {
  state s { }
  state s { }
}",
            good: "sdfg p {
  state first { }
  state second { }
}",
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
            bad: "sdfg p {
  scalar x: f64
  state s {
    access x
    tasklet double (a) -> (b) { b = 2.0 * a }
    x -> double.a: x
    double.b -> x: x
  }
}",
            good: "sdfg p {
  scalar x: f64
  state s {
    access old = x
    access new = x
    tasklet double (a) -> (b) { b = 2.0 * a }
    old -> double.a: x
    double.b -> new: x
  }
}",
        },
    },
    Page {
        code: Code::UnknownConnector,
        why: "Data enters and leaves code through the connectors that the node declares. At scopes, these begin \
              with `IN_` and `OUT_`.",
        action: "Correct the name, or add the connector to the node.",
        example: Example::Programs {
            bad: "sdfg p {
  scalar x: f64
  scalar y: f64
  state s {
    access x
    access y
    tasklet t (value) -> (o) { o = value }
    x -> t.vlaue: x
    t.o -> y: y
  }
}",
            good: "sdfg p {
  scalar x: f64
  scalar y: f64
  state s {
    access x
    access y
    tasklet t (value) -> (o) { o = value }
    x -> t.value: x
    t.o -> y: y
  }
}",
        },
    },
    Page {
        code: Code::UnconnectedConnector,
        why: "Code accesses memory only through its connectors. An input without an edge has no value, and an \
              output without an edge has no effect.",
        action: "Connect it, or remove it from the node.",
        example: Example::Programs {
            bad: "sdfg p {
  scalar x: f64
  scalar y: f64
  state s {
    access x
    access y
    tasklet t (a, b) -> (o) { o = a }
    x -> t.a: x
    t.o -> y: y
  }
}",
            good: "sdfg p {
  scalar x: f64
  scalar y: f64
  state s {
    access x
    access y
    tasklet t (a) -> (o) { o = a }
    x -> t.a: x
    t.o -> y: y
  }
}",
        },
    },
    Page {
        code: Code::ConnectorReused,
        why: "An input has one value, so exactly one edge leads to it. Each datum crosses the outer side of a \
              scope once. An output of a tasklet may have several edges if it is a single value.",
        action: "Use a connector for each edge.",
        example: Example::Programs {
            bad: "sdfg p {
  scalar x: f64
  scalar y: f64
  scalar z: f64
  state s {
    access x
    access y
    access z
    tasklet t (a) -> (o) { o = a }
    x -> t.a: x
    y -> t.a: y
    t.o -> z: z
  }
}",
            good: "sdfg p {
  scalar x: f64
  scalar y: f64
  scalar z: f64
  state s {
    access x
    access y
    access z
    tasklet t (a, b) -> (o) { o = a + b }
    x -> t.a: x
    y -> t.b: y
    t.o -> z: z
  }
}",
        },
    },
    Page {
        code: Code::MisplacedConnector,
        why: "Connectors distinguish the data of code and scope nodes. Access nodes and reductions have one datum \
              and no connectors. An edge that only orders has no connector at either end.",
        action: "Write the connector after the label, as in `t.x`, or omit it.",
        example: Example::Programs {
            bad: "sdfg p {
  scalar x: f64
  scalar y: f64
  state s {
    access x
    access y
    tasklet t (a) -> (o) { o = a }
    x -> t: x
    t.o -> y: y
  }
}",
            good: "sdfg p {
  scalar x: f64
  scalar y: f64
  state s {
    access x
    access y
    tasklet t (a) -> (o) { o = a }
    x -> t.a: x
    t.o -> y: y
  }
}",
        },
    },
    Page {
        code: Code::UnpairedScopeConnector,
        why: "Data that enters a scope at `IN_x` continues inside from `OUT_x`, and the exit works in the same \
              way. If one half is missing, the data has no source or no destination.",
        action: "Add the edge on the other side of the scope, or remove this one.",
        example: Example::Programs {
            bad: "sdfg p {
  array A: f64[4]
  array B: f64[4]
  state s {
    access a = A
    access b = B
    map m [i = 0:4] {
      tasklet t (x) -> (o) { o = x }
      m.A -> t.x: A[i]
      t.o -> m.B: B[i]
    }
    a -> m.A
  }
}",
            good: "sdfg p {
  array A: f64[4]
  array B: f64[4]
  state s {
    access a = A
    access b = B
    map m [i = 0:4] {
      tasklet t (x) -> (o) { o = x }
      m.A -> t.x: A[i]
      t.o -> m.B: B[i]
    }
    a -> m.A
    m.B -> b
  }
}",
        },
    },
    Page {
        code: Code::DuplicateConnector,
        why: "An edge finds its connector by name. Code does so too, and cannot distinguish an input from an \
              output of the same name. Only nested SDFGs may have both, for data that is read and written in \
              place.",
        action: "Rename one of the two.",
        example: Example::Programs {
            bad: "sdfg p {
  scalar x: f64
  scalar y: f64
  state s {
    access x
    access y
    tasklet t (a) -> (a) { a = a + 1.0 }
    x -> t.a: x
    t.a -> y: y
  }
}",
            good: "sdfg p {
  scalar x: f64
  scalar y: f64
  state s {
    access x
    access y
    tasklet t (a) -> (b) { b = a + 1.0 }
    x -> t.a: x
    t.b -> y: y
  }
}",
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
            bad: "sdfg p {
  array A: f64[4]
  array B: f64[4]
  state s {
    access a = A
    access b = B
    map m [i = 0:4] {
      tasklet t (x) -> (o) { o = x }
      t.o -> m.B: B[i]
    }
    a -> t.x: A[0]
    m.B -> b
  }
}",
            good: "sdfg p {
  array A: f64[4]
  array B: f64[4]
  state s {
    access a = A
    access b = B
    map m [i = 0:4] {
      tasklet t (x) -> (o) { o = x }
      m.A -> t.x: A[0]
      t.o -> m.B: B[i]
    }
    a -> m.A
    m.B -> b
  }
}",
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
