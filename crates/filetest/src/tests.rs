//! Tests of the file tests: files with wrong expectations must fail, and blessing must correct them.

use crate::back_end::NoBackEnd;
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

/// Text to replace, its replacement, and a part of the expected message of the harness.
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

#[test]
fn right_files_pass_and_files_without_commands_fail() {
    expect_failures(RIGHT, None);
    expect_failures("sdfg s {}\n", Some("no command"));
}

#[test]
fn planted_faults_are_found() {
    for (from, to, message) in FAULTS {
        expect_failures(&RIGHT.replacen(from, to, 1), Some(message));
    }
}

fn failures(text: &str) -> Vec<String> {
    match TestFile::parse(text) {
        Ok(file) => Outcome::of(&file, "planted.sdft", &NoBackEnd).failures,
        Err(failure) => vec![failure],
    }
}

fn expect_failures(text: &str, part: Option<&str>) {
    let found = failures(text).join("\n");
    let expected = part.map_or(found.is_empty(), |part| found.contains(part));
    assert!(expected, "expected {part:?}, found: {found}");
}

/// A file without expectations, blessed, is right; blessed again it is the same.
#[test]
fn blessing_writes_expectations() {
    let bare = RIGHT
        .replace("  #~ memlet A[0:N]", "")
        .replace("  #~ memlet B[0:N]", "")
        .replace(" -> B=[2.0, 4.0, 6.0]", "");
    assert_eq!(bless(&bare), RIGHT);
    let wrong = RIGHT.replace("#! test check\n", "#! test check\n#! test print\n").replace("A[i]", "C[i, $]");
    let blessed = bless(&wrong.replace("#! test interpret A=[1, 2, 3] -> B=[2.0, 4.0, 6.0]\n", ""));
    assert!(blessed.contains("#~ error P001"), "{blessed}");
    assert_eq!(bless(&blessed), blessed);
    expect_failures(&bless(RIGHT), None);
}

fn bless(text: &str) -> String {
    let file = TestFile::parse(text).unwrap_or_else(|error| panic!("{error}"));
    rewritten(&file, &Outcome::of(&file, "planted.sdft", &NoBackEnd))
}

/// Each variant is a program of its own, and a failure names its variant.
#[test]
fn variants_are_tested_one_by_one() {
    let text = RIGHT
        .replacen("#! test check", "#! for FACTOR in 2 3\n#! test check", 1)
        .replace("2 * x", "FACTOR * x");
    expect_failures(&text, Some("with FACTOR=3: interpret"));
    let found = failures(&text).join("\n");
    assert!(!found.contains("FACTOR=2"), "{found}");
    assert!(bless(&text).starts_with("#! for FACTOR in 2 3\n"));
}

#[test]
fn edits_are_shown_or_refused() {
    let edits = |edits: &str| RIGHT.replacen("#! test check", &format!("#! test edit {edits}"), 1);
    let blessed = bless(&edits("rename_container container B to C; order A before B"));
    assert!(
        blessed.contains("#= edit\n#| sdfg double {") && blessed.contains("#|   array C: f64[N]"),
        "{blessed}"
    );
    expect_failures(&blessed.replace("#|   array C", "#|   array D"), Some("`edit` expected"));
    expect_failures(&edits("inline m -> refused is a map"), None);
    expect_failures(&edits("inline m -> refused is a tasklet"), Some("found `refused"));
    expect_failures(&edits("unwrap_map s -> refused part"), Some("is no node"));
    expect_failures(&edits("fold m"), Some("there is no edit `fold`"));
}

#[test]
fn commands_about_code_need_a_back_end() {
    let with = |command: &str| RIGHT.replacen("#! test check", &format!("#! test {command}"), 1);
    expect_failures(&with("plan checked"), Some("no code generation"));
    expect_failures(&with("agree every_level N=3"), Some("no code generation"));
    expect_failures(&with("agree checked N=3"), Some("takes `every_level`"));
    expect_failures(&with("sanitize thread N=3"), Some("`-> PART`"));
    expect_failures(&with("plan fast"), Some("is none of"));
}
