//! Tests of grammar keywords as names: the text form reads back every name that the builder accepts.

use sdfg_graph::ir::ConflictResolution;
use sdfg_graph::text::{ParseError, parse, print};
use sdfg_language::dtype::ScalarType::{F64, I64};

use crate::builder::SdfgBuilder;

/// Words that mean something somewhere in the grammar, of programs, of code and of values.
const WORDS: [&str; 107] = [
    "sdfg",
    "float",
    "strict",
    "contract",
    "fast",
    "symbol",
    "array",
    "scalar",
    "stream",
    "view",
    "reference",
    "constant",
    "transient",
    "strides",
    "offset",
    "size",
    "storage",
    "lifetime",
    "distribution",
    "capacity",
    "default",
    "register",
    "start",
    "state",
    "for",
    "loop",
    "while",
    "do",
    "if",
    "elif",
    "else",
    "break",
    "continue",
    "return",
    "unroll",
    "end",
    "with",
    "access",
    "tasklet",
    "map",
    "consume",
    "nested",
    "reduce",
    "library",
    "expansion",
    "order",
    "bind",
    "dialect",
    "python",
    "c",
    "external",
    "from",
    "file",
    "source",
    "cpp",
    "wcr",
    "sum",
    "product",
    "custom",
    "lambda",
    "old",
    "new",
    "volume",
    "atmost",
    "dynamic",
    "schedule",
    "sequential",
    "unrolled",
    "simd",
    "sharing",
    "threads",
    "collapse",
    "block",
    "condition",
    "chunk",
    "axes",
    "identity",
    "and",
    "or",
    "not",
    "in",
    "is",
    "pass",
    "range",
    "True",
    "False",
    "true",
    "false",
    "None",
    "inf",
    "nan",
    "min",
    "max",
    "abs",
    "sqrt",
    "pi",
    "e",
    "j",
    "f64",
    "i64",
    "bool",
    "int",
    "len",
    "print",
    "ceil_div",
    "IN_A",
    "OUT_A",
];

/// Names that are no words at all: the text quotes them where it takes any name.
const ODD: [&str; 8] = ["", "a b", "élan", "1x", "a.b", "a\"b\\", "a\nb", "-"];

/// A position of a name: builds a program in which the word stands there.
type Position = (&'static str, fn(&mut SdfgBuilder, &str));

const POSITIONS: [Position; 26] = [
    ("declared symbol", |b, word| {
        b.symbol(word);
        b.array("A", F64, [word]);
        b.state("s", |s| {
            s.map("m", [("i", format!("0:{word}").as_str())], |s| {
                s.tasklet("t")
                    .output("o", format!("A[{word} - 1 - i]").as_str())
                    .code(&format!("o = {word} + 1.0"));
            });
        });
    }),
    ("array", |b, word| {
        b.array(word, F64, ["4"]);
        b.state("s", |s| {
            s.tasklet("t")
                .input("x", format!("{word}[1]").as_str())
                .output("o", format!("{word}[0]").as_str())
                .code("o = x");
            s.tasklet("u").output("o", format!("{word}[2]").as_str()).volume("1").code("o = 1.0");
        });
    }),
    ("scalar", |b, word| {
        b.scalar(word, F64);
        b.array("A", F64, ["4"]);
        b.state("s", |s| {
            s.tasklet("t").input("x", word).output("o", "A[0]").code("o = x");
            s.copy("A[1]", word);
        });
    }),
    ("transient", |b, word| {
        b.transient(word, F64, ["4"]);
        b.array("B", F64, ["4"]);
        b.state("s", |s| s.copy("B", word));
        b.state("u", |s| s.copy(word, "B"));
    }),
    ("queue", |b, word| {
        b.queue(word, F64);
        b.array("B", F64, ["4"]);
        b.state("s", |s| {
            s.tasklet("t").input("x", "B[0]").output("o", word).code("o = x");
        });
        b.state("d", |s| {
            s.tasklet("t").input("x", word).output("o", "B[1]").code("o = x");
        });
    }),
    ("view", |b, word| {
        b.array("A", F64, ["4"]);
        b.view(word, F64, ["2"]);
        b.state("s", |s| {
            s.bind(word, "A[1:3]");
            s.tasklet("t").output("o", format!("{word}[1]").as_str()).code("o = 1.0");
        });
    }),
    ("scalar in a condition", |b, word| {
        b.scalar(word, I64);
        b.array("A", F64, ["4"]);
        b.if_then("choose", format!("{word} > 0").as_str(), |b| {
            b.state("s", |s| {
                s.tasklet("t").output("o", "A[0]").code("o = 1.0");
            });
        });
    }),
    ("state", |b, word| {
        b.symbol("N");
        let first = b.state(word, |_| {});
        let second = b.state("other", |_| {});
        b.transition(first, second).when("N > 0");
        b.transition(second, first).when("N < 0");
        b.end_after(first);
    }),
    ("loop", |b, word| {
        b.for_loop(word, "i", "0:4", |b| {
            b.state("s", |_| {});
        });
    }),
    ("while loop", |b, word| {
        b.symbol("N");
        b.while_loop(word, "N > 0", |b| {
            b.state("s", |_| {});
        });
    }),
    ("branch", |b, word| {
        b.symbol("N");
        b.if_else(
            word,
            "N > 0",
            |b| {
                b.state("s", |_| {});
            },
            |b| {
                b.state("u", |_| {});
            },
        );
    }),
    ("symbol of a for loop", |b, word| {
        b.for_loop("l", word, "0:4", |b| {
            b.state("s", |_| {});
        });
        let id = b.for_loop("m", word, "0:4", |b| {
            b.state("t", |_| {});
        });
        b.unroll(id);
    }),
    ("symbol of a general loop", |b, word| {
        let again = format!("{word} * 2");
        let below = format!("{word} < 9");
        for unrolls in [false, true] {
            let id = b.general_loop("l", word, ["1", &below, &again], |b| {
                b.state("s", |_| {});
            });
            if unrolls {
                b.unroll(id);
            }
        }
    }),
    ("assigned symbol", |b, word| {
        b.state("s", |_| {});
        b.assign(word, "3");
        b.state("t", |_| {});
        b.if_then("choose", format!("{word} > 2").as_str(), |b| {
            b.state("u", |_| {});
        });
    }),
    ("parameter of a map", |b, word| {
        b.array("A", F64, ["4"]);
        b.state("s", |s| {
            s.map("m", [(word, "0:4")], |s| {
                s.tasklet("t").output("o", format!("A[{word}]").as_str()).code(&format!("o = {word}"));
            });
        });
    }),
    ("element of a consume scope", |b, word| {
        b.queue("S", I64);
        b.array("A", I64, ["4"]);
        b.state("s", |s| {
            s.consume("c", "S", word, "2").until(format!("{word} < 0").as_str()).body(|s| {
                s.tasklet("t")
                    .input("x", "S")
                    .output("o", "A[0]")
                    .resolve(ConflictResolution::Sum)
                    .code("o = x");
            });
        });
    }),
    ("tasklet", |b, word| {
        b.array("A", F64, ["4"]);
        b.state("s", |s| {
            let first = s.tasklet(word).output("o", "A[0]").code("o = 1.0");
            let second = s.tasklet("second").output("o", "A[1]").code("o = 1.0");
            s.order(first, second);
            s.order(second, first);
        });
    }),
    ("input", |b, word| {
        b.array("A", F64, ["4"]);
        b.state("s", |s| {
            s.tasklet("t").input(word, "A[1]").output("o", "A[0]").code(&format!("o = {word} + 1.0"));
        });
    }),
    ("output", |b, word| {
        b.array("A", F64, ["4"]);
        b.state("s", |s| {
            s.tasklet("t").output(word, "A[0]").code(&format!("{word} = 1.0"));
        });
    }),
    ("local of code", |b, word| {
        b.array("A", F64, ["4"]);
        b.state("s", |s| {
            s.tasklet("t").output("o", "A[0]").code(&format!("{word} = 1.0\no = {word} + 2.0"));
        });
    }),
    ("map", |b, word| {
        b.array("A", F64, ["4"]);
        b.array("B", F64, ["4"]);
        b.state("s", |s| {
            s.map(word, [("i", "0:4")], |s| {
                s.tasklet("t").input("x", "B[i]").output("o", "A[i]").code("o = x");
            });
        });
    }),
    ("nested program", |b, word| {
        let mut inner = SdfgBuilder::new(word);
        inner.array("X", F64, ["4"]);
        inner.state("s", |s| {
            s.tasklet("t").output("o", "X[0]").code("o = 1.0");
        });
        b.array("A", F64, ["4"]);
        b.state("s", |s| {
            s.nested(word, inner).output("X", "A").finish();
        });
    }),
    ("argument and symbol of a nested program", |b, word| {
        let mut inner = SdfgBuilder::new("inner");
        inner.symbol("K");
        inner.array(word, F64, ["4"]);
        inner.state("s", |s| {
            s.tasklet("t").output("o", format!("{word}[0]").as_str()).code("o = K");
        });
        b.array("A", F64, ["4"]);
        b.state("s", |s| {
            s.nested("n", inner).output(word, "A").map_symbol("K", "3").finish();
        });
    }),
    ("symbol of a nested program", |b, word| {
        let mut inner = SdfgBuilder::new("inner");
        inner.symbol(word);
        inner.array("X", F64, ["4"]);
        inner.state("s", |s| {
            s.tasklet("t").output("o", "X[0]").code(&format!("o = {word}"));
        });
        b.array("A", F64, ["4"]);
        b.state("s", |s| {
            s.nested("n", inner).output("X", "A").map_symbol(word, "3").finish();
        });
    }),
    ("library node, its connectors, properties and expansion", |b, word| {
        b.array("A", F64, ["4"]);
        b.array("B", F64, ["4"]);
        b.state("s", |s| {
            s.library(word, word)
                .input(word, "A")
                .output("out", "B")
                .property(word, word)
                .expansion(word)
                .finish();
        });
    }),
    ("reduction", |b, word| {
        b.array("A", F64, ["4"]);
        b.scalar("B", F64);
        b.state("s", |s| {
            s.reduce(word, ConflictResolution::Sum, "A", "B").finish();
        });
    }),
];

/// How many names are taken, and how many refused.
#[test]
fn names_that_the_builder_takes_are_read_back() {
    let (mut taken, mut refused, mut lost) = (0, 0, Vec::new());
    for (position, build) in POSITIONS {
        for word in WORDS.into_iter().chain(ODD) {
            let mut b = SdfgBuilder::new("p");
            build(&mut b, word);
            let Ok(sdfg) = b.finish() else {
                refused += 1;
                continue;
            };
            taken += 1;
            let text = print(&sdfg);
            let again = parse("p.sdft", &text);
            let lines =
                |errors: Vec<ParseError>| errors.iter().map(|error| format!("{error}\n")).collect::<String>();
            match again.map_err(lines) {
                Ok(again) if print(&again) == text => {}
                Ok(again) => lost.push(format!("{position} `{word}`: reads as\n{}", print(&again))),
                Err(errors) => lost.push(format!("{position} `{word}`: {errors}{text}")),
            }
        }
    }
    assert!(lost.is_empty(), "{} of {taken} names are lost:\n{}", lost.len(), lost.join("\n"));
    assert!(taken > 2000 && refused > 200, "{taken} taken, {refused} refused");
}
