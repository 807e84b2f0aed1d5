//! The harness held against planted faults: files whose expectations are wrong must fail, and blessing must mend them.

use libtest_mimic::{Failed, Trial};

use crate::bless::rewritten;
use crate::outcome::Outcome;
use crate::test_file::TestFile;

const RIGHT: &str = "#! test check
#! test propagate
#! test interpret A=[1, 2, 3] -> B=[2.0, 4.0, 6.0]
sdfg double {
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  transient array unused: f64[N]

  state s {
    access A
    access B
    access unused
    map m [i = 0:N] {
      tasklet t (x) -> (y) { y = 2 * x }
      m.A -> t.x: A[i]
      t.y -> m.B: B[i]
    }
    A -> m.A  #~ memlet A[0:N]
    m.B -> B  #~ memlet B[0:N]
    A -> unused
  }
}
";

/// What to replace by what, and a part of what the harness must say.
const FAULTS: [(&str, &str, &str); 12] = [
    ("#! test propagate\n", "", "expected, not found: memlet A[0:N]"),
    ("  #~ memlet A[0:N]", "", "found, not expected: memlet A[0:N]"),
    ("#~ memlet B[0:N]", "#~ memlet B[0:N] covering", "expected, not found: memlet B[0:N] covering"),
    ("    m.B -> B  #~", "    m.B -> B\n    #~^^", "line 19: expected, not found"),
    ("6.0]", "7.0]", "found: B=[2.0, 4.0, 6.0]"),
    (" -> B=[2.0, 4.0, 6.0]", " -> nothing", "found: B=[2.0, 4.0, 6.0]"),
    (" -> B=[2.0, 4.0, 6.0]", " -> trap conflict", "found: B=[2.0, 4.0, 6.0]"),
    (" -> B=[2.0, 4.0, 6.0]", " -> A=[1, 2, 3]", "found: B=[2.0, 4.0, 6.0]"),
    ("A[i]", "A[i + 1]", "found, not expected: error V304"),
    ("  state s {", "  #~ error V304\n  state s {", "needs a `^`"),
    ("#! test check", "#! test chek", "no command `chek`"),
    ("}\n", "}\n#= print\n#| sdfg double {}\n", "blocks of output are the end"),
];

/// One test for each fault, and for blessing.
pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = vec![
        Trial::test("harness/right", || expect_failures(RIGHT, None)),
        Trial::test("harness/no_command", || expect_failures("sdfg s {}\n", Some("no command"))),
        Trial::test("harness/bless", blessing),
    ];
    for (i, (from, to, message)) in FAULTS.into_iter().enumerate() {
        trials.push(Trial::test(format!("harness/fault_{i}"), move || {
            expect_failures(&RIGHT.replacen(from, to, 1), Some(message))
        }));
    }
    trials
}

fn failures(text: &str) -> Vec<String> {
    match TestFile::parse(text) {
        Ok(file) => Outcome::of(&file, "planted.sdft").failures,
        Err(failure) => vec![failure],
    }
}

fn expect_failures(text: &str, part: Option<&str>) -> Result<(), Failed> {
    let found = failures(text).join("\n");
    let expected = part.map_or(found.is_empty(), |part| found.contains(part));
    if expected { Ok(()) } else { Err(format!("expected {part:?}, found: {found}").into()) }
}

/// A file without expectations, blessed, is right; blessed again it is the same.
fn blessing() -> Result<(), Failed> {
    let bare = RIGHT
        .replace("  #~ memlet A[0:N]", "")
        .replace("  #~ memlet B[0:N]", "")
        .replace(" -> B=[2.0, 4.0, 6.0]", "");
    let bless = |text: &str| -> Result<String, String> {
        let file = TestFile::parse(text)?;
        Ok(rewritten(&file, &Outcome::of(&file, "planted.sdft")))
    };
    let blessed = bless(&bare)?;
    if blessed != RIGHT {
        return Err(format!("blessing gives\n{blessed}").into());
    }
    let wrong = RIGHT.replace("#! test check\n", "#! test check\n#! test print\n").replace("A[i]", "C[i, $]");
    let blessed = bless(&wrong.replace("#! test interpret A=[1, 2, 3] -> B=[2.0, 4.0, 6.0]\n", ""))?;
    if !blessed.contains("#~ error P001") || bless(&blessed)? != blessed {
        return Err(format!("blessing gives\n{blessed}").into());
    }
    expect_failures(&bless(RIGHT)?, None)
}
