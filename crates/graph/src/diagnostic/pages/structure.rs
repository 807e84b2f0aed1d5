//! Pages of the first phase: the structure of the graph.

use super::{Code, Example, Page};

pub(super) const PAGES: &[Page] = &[
    Page {
        code: Code::InvalidName,
        why: "Names of SDFGs, containers and connectors stand in code and in the generated C header, so they are identifiers \
              of both. Labels of blocks and nodes may be any text but the empty one.",
        action: "Use letters, digits and `_`, not starting with a digit, and no word of the language such as `if`.",
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
        why: "Containers and symbols of an SDFG share one space of names, because both can be named by a condition or by \
              the caller.",
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
        why: "Transitions, transformation chains and messages find blocks and nodes by label: blocks in their SDFG, nodes in \
              their state.",
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
        why: "Elements refer to each other by ids that are never used again. Something was removed, and a reference to it \
              stayed behind.",
        action: "Remove what refers to it as well, or make it refer to something that is there.",
        example: Example::NotInText,
    },
    Page {
        code: Code::MalformedRegion,
        why: "Every block is in one region and every region in one loop or branch (or is the body of the SDFG); every state \
              is run by one block, and transitions stay in their region. Only then has the program a control flow.",
        action: "Build regions and blocks through `Sdfg::add_region`, `add_block`, `add_state` and `add_transition`, which \
                 keep the tree.",
        example: Example::NotInText,
    },
    Page {
        code: Code::NestingTooDeep,
        why: "Everything that reads a program walks into loops, branches and nested SDFGs; the limit (256 regions, 64 SDFGs) \
              keeps these walks finite for any input. An SDFG holds what it calls, so recursion is nesting without end.",
        action: "Turn recursion into a loop, a stream or a consume scope.",
        example: Example::NotInText,
    },
    Page {
        code: Code::Cycle,
        why: "A state runs each node once, when all that it depends on is done. On a cycle nothing could begin.",
        action: "Write to a second access node of the container, or put the repetition into a loop or another state.",
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
        why: "Data enters and leaves code through the connectors that the node declares; at scopes, through those that begin \
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
        why: "Code reaches memory through its connectors alone. An input without an edge has no value, an output without an \
              edge goes nowhere.",
        action: "Connect it, or take it out of the node's lists.",
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
        why: "An input has one value, so one edge brings it; the outer side of a scope passes each datum once. An output of a \
              tasklet may go to several places if it is a single value.",
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
        why: "Code and scope nodes tell their data apart by connectors; access nodes and reductions have one datum and no \
              connectors, and an edge that only orders has none at either end.",
        action: "Name the connector after the label, as in `t.x`, or leave it out.",
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
        why: "What enters a scope as `IN_x` goes on inside as `OUT_x`, and the other way round at the exit. With one half \
              missing, the data comes from nowhere or is lost.",
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
        why: "An edge finds its connector by name. Code does so, too, and cannot tell an input from an output of the same \
              name; only nested SDFGs may have both, for data that is read and written in place.",
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
        why: "A scope is what lies between its entry and its exit. It has one of each, of one kind, with one label.",
        action: "Add entries and exits together, and remove them together.",
        example: Example::NotInText,
    },
    Page {
        code: Code::EdgeCrossesScope,
        why: "A scope runs many times. An edge from outside straight to a node inside does not say for which of the times, so \
              data passes the entry and the exit.",
        action: "Lead the edge through the scope: one edge to its entry, one from there to the node.",
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
        why: "An iteration of a scope is done when its exit is reached. A node that does not lead there could still run when \
              the scope is over.",
        action: "Add an edge to the exit that only orders, `order node -> scope`, or remove the node.",
        example: Example::NotInText,
    },
];
