//! Tests of calls that no program can express: each is an error with the line of the call, and none is
//! ignored.

use super::*;

/// The mistakes of the calls in `build`, each with its line, counted from that of the first one.
fn mistakes(build: impl FnOnce(&mut SdfgBuilder)) -> String {
    let mut b = SdfgBuilder::new("wrong");
    b.scalar("total", F64);
    b.array("A", F64, ["8"]);
    build(&mut b);
    let Err(rejected) = b.build() else { panic!("the program is wrong") };
    let line = |diagnostic: &Diagnostic| diagnostic.loc.as_ref().map(|loc| loc.line).unwrap();
    let first = rejected.diagnostics.iter().map(line).min().unwrap();
    let shown = rejected.diagnostics.iter().map(|d| {
        assert!(d.loc.as_ref().unwrap().file.ends_with("builder/tests/mistakes.rs"), "{d:?}");
        format!("{} {}: {}", line(d) - first, d.code, d.message)
    });
    shown.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_resolution_of_what_is_read_is_a_mistake() {
    let found = mistakes(|b| {
        b.state("s", |s| {
            s.map("m", [("i", "0:8")], |s| {
                s.tasklet("t")
                    .output("o", "total")
                    .input("a", "A[i]")
                    .resolve(ConflictResolution::Sum)
                    .resolve_by("lambda old, new: old")
                    .code("o = a");
            });
        });
    });
    let expected = "0 V302: `a` is an input: only a write has a conflict resolution\n\
                    1 V302: `a` is an input: only a write has a conflict resolution";
    assert_eq!(found, expected);
}

#[test]
fn a_resolution_is_that_of_the_output_before_it() {
    let mut b = SdfgBuilder::new("sums");
    b.array("A", F64, ["8"]);
    b.scalar("total", F64);
    b.array("copy", F64, ["8"]);
    b.state("s", |s| {
        s.map("m", [("i", "0:8")], |s| {
            s.tasklet("t")
                .input("a", "A[i]")
                .output("c", "copy[i]")
                .output("o", "total")
                .resolve(ConflictResolution::Sum)
                .code("o = a\nc = a");
        });
    });
    let text = shown(b);
    assert!(text.contains("t.o -> m.total: total wcr(sum)\n"), "{text}");
    assert!(text.contains("t.c -> m.copy: copy[i]\n"), "{text}");
}

#[test]
fn what_is_said_of_a_value_between_nodes_is_a_mistake() {
    let found = mistakes(|b| {
        b.state("s", |s| {
            let one = s.tasklet("one").output_value("o", F64).dynamic().code("o = 1.0");
            s.tasklet("t").input_from("a", one, "o").at_most(1).output("o", "total").code("o = a");
        });
    });
    assert_eq!(found.matches("is connected to a code node").count(), 2, "{found}");
}

#[test]
fn words_of_the_language_are_no_names() {
    let found = mistakes(|b| {
        b.symbol("if");
        b.symbol("lambda");
        b.scalar("for", F64);
        b.for_loop("l", "while", "0:4", |b| {
            b.state("s", |s| {
                s.map("m", [("in", "0:4")], |_| {});
                s.tasklet("t").output("not", "total").code("pass");
                s.map_scope("n", [("i", "0:4")]).bind("else", "A[0]").body(|_| {});
            });
        });
        b.assign("and", "1");
    });
    for word in ["if", "lambda", "for", "while", "in", "not", "else", "and"] {
        assert!(found.contains(&format!("`{word}` cannot be a name")), "{word}: {found}");
    }
    // What is refused here is what no text reads.
    let text = "sdfg p {\n  symbol if: i64\n  state s { }\n}";
    assert!(text::parse("p.sdft", text).is_err());
}

#[test]
fn mistakes_of_a_mapped_tasklet_are_told_at_the_call() {
    let found = mistakes(|b| {
        b.state("s", |s| {
            s.mapped_tasklet("t", [("i", "0:8")], [("a", "B[i]"), ("b", "A[i")], "o = = a", [("o", "C[i]")]);
        });
    });
    let lines: Vec<&str> = found.lines().collect();
    assert_eq!(lines.len(), 4, "{found}");
    assert!(lines.iter().all(|line| line.starts_with("0 ")), "{found}");
}

#[test]
fn findings_of_a_mapped_tasklet_are_told_at_the_call() {
    let mut b = SdfgBuilder::new("race");
    b.array("A", F64, ["8"]);
    b.scalar("total", F64);
    b.state("s", |s| {
        s.mapped_tasklet("t", [("i", "0:8")], [("a", "A[i]")], "o = a", [("o", "total")]);
    });
    let Err(rejected) = b.build() else { panic!("iterations conflict") };
    let places: Vec<String> =
        rejected.diagnostics.iter().map(|d| d.loc.as_ref().unwrap().file.to_string()).collect();
    assert!(places.iter().all(|file| file.ends_with("builder/tests/mistakes.rs")), "{places:?}");
}

#[test]
fn only_a_state_that_is_closed_is_extended() {
    let found = mistakes(|b| {
        let state = b.state("s", |_| {});
        let branch = b.if_then("b", "1 > 0", |_| {});
        b.extend_state(branch, |_| {});
        b.extend_state(state, |s| {
            s.program().extend_state(state, |_| {});
        });
    });
    let expected = "0 P002: this block is no state of `wrong`\n\
                    2 V005: `s` is being extended by a closure that has not ended";
    assert_eq!(found, expected);
}

#[test]
fn only_references_are_set_and_branches_have_arms() {
    let found = mistakes(|b| {
        b.state("s", |s| {
            s.set("A", "total");
        });
        b.branch("b").finish();
        b.branch("c").otherwise(|_| {});
    });
    assert!(found.contains("`A` is no reference"), "{found}");
    assert_eq!(found.matches("the branch has no arm").count(), 2, "{found}");
}

#[test]
fn warnings_come_with_the_program() {
    let mut b = SdfgBuilder::new("scatter");
    b.symbol("N");
    b.array("A", F64, ["N"]);
    b.array("I", ScalarType::I64, ["N"]);
    b.state("s", |s| {
        s.map("m", [("i", "0:N")], |s| {
            s.tasklet("t").input("k", "I[i]").output("a", "A[0:N]").dynamic().code("a[k] = i");
        });
    });
    let (program, warnings) = b.build().unwrap();
    assert!(!warnings.is_empty());
    assert_eq!(warnings.iter().count(), program.warnings().len());
    let text = warnings.to_string();
    assert!(text.starts_with("warning[V705]: two iterations of `m` may touch"), "{text}");
    assert!(text.contains("builder/tests/mistakes.rs"), "{text}");
    let mut b = SdfgBuilder::new("nothing");
    b.state("s", |_| {});
    let (_, warnings) = b.build().unwrap();
    assert!(warnings.is_empty() && warnings.to_string().is_empty());
}
