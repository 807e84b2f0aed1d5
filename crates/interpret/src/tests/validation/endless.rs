//! Tests of loops that cannot end: no refused loop ends, and loops that may end are accepted.

use sdfg_graph::diagnostic::Code;

use super::oracle::{Ended, run};
use super::{findings, shown};
use crate::Order;

fn program(blocks: &str) -> String {
    let change = "access x\n    tasklet t () -> (o) { o = 1 }\n    t.o -> x";
    let blocks = blocks.replace("CHANGE", change);
    format!("sdfg p {{\n  symbol N: i64\n  scalar x: i64\n  view V: i64[1]\n{blocks}\n}}")
}

#[test]
fn loops_that_never_end_are_refused() {
    for blocks in [
        "  while l: x == 0 {\n    state s { }\n  }",
        "  while l: True {\n    state s { CHANGE }\n  }",
        "  loop l: i = 0; i < N; i = i - 1 {\n    state s { }\n  }",
        "  loop l: i = 0; N >= i; i = i + 0 {\n    state s { }\n  }",
        "  loop l: i = N; i > 0; i = 1 + i {\n    state s { }\n  }",
        "  loop l: i = 0; N > 2; i = i + 1 {\n    state s { CHANGE }\n  }",
        "  do l {\n    state s { }\n  } while 1 < 2",
        "  for o: j = 0:2 {\n    while l: j < 9 {\n      if b: N > 90 {\n        state s { }\n      }\n    }\n  }",
        "  state a { }\n  -> b\n  state b { }\n  -> a",
        "  state a { }\n  -> a",
        "  while l: x == 0 {\n    while inner: N > x + 5 {\n      break out\n    }\n  }",
        "  loop l: i = 0; i != 5; i = i + 2 {\n    state s { }\n  }",
        "  loop l: i = 7; 5 != i; i = i + 1 {\n    state s { }\n  }",
        "  loop l: i = 0; i < 5; i = i * 2 {\n    state s { }\n  }",
        "  loop l: i = 1; i < 5; i = 1 - i {\n    state s { }\n  }",
        "  for l: i = 0:5 {\n    state s { CHANGE }\n    -> z with (i = i - 1)\n    state z { }\n  }",
        "  for l: i = 0:N {\n    state s { }\n    -> z with (i = i - 2)\n    state z { }\n  }",
        "  state a { }\n  -> b with (i = 0)\n  state b { }\n  -> c if i < 10\n  state c { CHANGE }\n  -> b",
        "  state b { }\n  -> d if x > 10\n  -> c with (j = N)\n  state c { }\n  -> b\n  state d { }",
    ] {
        let source = program(blocks);
        let found = findings(&source);
        let codes: Vec<Code> = found.iter().map(|found| found.code).collect();
        assert_eq!(codes, [Code::EndlessLoop], "{source}\n{}", shown(&source, &found));
        assert_eq!(run(&source, 3, Order::Fixed), Ended::NotAtAll, "{source}");
    }
}

#[test]
fn loops_that_may_end_are_accepted() {
    for blocks in [
        "  while l: x == 0 {\n    state s { CHANGE }\n  }",
        "  while l: x == 0 {\n    if b: N > 2 {\n      break out\n    }\n  }",
        "  while l: True {\n    for o: j = 0:2 {\n      return done\n    }\n  }",
        "  loop l: i = 0; i != 4; i = i + 2 {\n    state s { }\n  }",
        "  loop l: i = 0; i < N; {\n    state s { }\n    -> t with (i = i + 1)\n    state t { }\n  }",
        "  loop l: i = N; i > 0; i = i // 2 {\n    state s { }\n  }",
        "  state a { }\n  -> a if x == 0 and N < 0\n  -> b\n  state b { }",
        "  do l {\n    state s { }\n  } while N < 0",
        "  loop l: i = 1; i != 5; i = i + 2 {\n    state s { }\n  }",
        "  loop l: i = 1; i < 5; i = i * 2 {\n    state s { }\n  }",
        "  for l: i = 0:5 {\n    state s { }\n    -> z if x > 0 with (i = i - 1)\n    -> z\n    state z { }\n  }",
        "  for l: i = 0:5 {\n    state s { }\n    -> z with (i = i + 1)\n    state z { }\n  }",
        "  for l: i = 0:5 {\n    state s { }\n    -> z with (i = i - 1)\n    state z { }\n    -> y with (i = i + 3)\n    state y { }\n  }",
        "  state a { }\n  -> b with (i = 0)\n  state b { }\n  -> c if i < 3\n  state c { }\n  -> b with (i = i + 1)",
        "  state b { }\n  -> d if x > 0\n  -> c\n  state c { CHANGE }\n  -> b\n  state d { }",
        "  state b { }\n  -> c if N > 9\n  state c { }\n  -> b if N < 90",
        "  while l: x == 0 {\n    state s {\n      access x\n      access V\n      tasklet t () -> (o) { o = 1 }\n      t.o -> V: V[0]\n      bind V -> x: x\n    }\n  }",
    ] {
        let source = program(blocks);
        let found = findings(&source);
        assert!(found.is_empty(), "{source}\n{}", shown(&source, &found));
        assert_eq!(run(&source, 3, Order::Fixed), Ended::Well, "{source}");
    }
}

#[test]
fn loops_that_are_never_repeated_end() {
    for blocks in [
        "  while l: False {\n    state s { }\n  }",
        "  loop l: i = 5; i != 5; i = i - 1 {\n    state s { }\n  }",
        "  while l: False and N > 1 {\n    state s { }\n  }",
        "  do l {\n    state s { }\n  } while 1 > 2",
    ] {
        let source = program(blocks);
        let found = findings(&source);
        assert!(found.iter().all(|found| found.code == Code::UnreachableBlock), "{}", shown(&source, &found));
        assert_eq!(run(&source, 3, Order::Fixed), Ended::Well, "{source}");
    }
}
