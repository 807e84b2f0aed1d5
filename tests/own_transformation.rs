//! The transformation of the tutorial `docs/adding/a-transformation.md`: its code runs, and the page quotes it. The
//! examples about transformations run, too.

#[path = "../examples/own_transformation/main.rs"]
mod own_transformation;
#[path = "../examples/transform.rs"]
mod transform;

use std::collections::BTreeMap;

use own_transformation::redundant_array::RedundantArray;
use sdfg::edit::Editor;
use sdfg::interpret::Options;
use sdfg::ir::Sdfg;
use sdfg_transforms::verify::{Difference, Verifier};
use sdfg_transforms::{Pipeline, Registry, Soundness, TransformError, Transformation, places};

/// A program with more containers and with these states.
fn program(more: &str, states: &str) -> Sdfg {
    let text = format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  transient array t: f64[N]
{more}
{states}
}}"
    );
    sdfg::text::parse("p.sdft", &text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"))
}

const SCALE: &str = "  state main {
    access A
    access t
    access B
    map scale [i = 0:N] {
      tasklet twice (x) -> (y) { y = 2.0 * x }
      scale.A -> twice.x: A[i]
      twice.y -> scale.t: t[i]
    }
    A -> scale.A
    scale.t -> t
    t -> B
  }";

/// The state reads the old B before the copy writes it; the rewritten map would write B at the same time.
const READS_TARGET: &str = "  state main {
    access A
    access t
    access B
    access old = B
    access C
    map scale [i = 0:N] {
      tasklet twice (x) -> (y) { y = 2.0 * x }
      scale.A -> twice.x: A[i]
      twice.y -> scale.t: t[i]
    }
    A -> scale.A
    scale.t -> t
    old -> C
    order C -> t
    t -> B
  }";

/// The second time, the state writes all but one element of the transient, and copies that of the first time again.
const WRITES_A_PART: &str = "  for steps: k = 0:2 {
    state clear {
      access B
      map all [i = 0:N] {
        tasklet zero () -> (y) { y = 0.0 }
        zero.y -> all.B: B[i]
      }
      all.B -> B
    }
    state main {
      access A
      access t
      access B
      map scale [i = 0:N - k] {
        tasklet twice (x) -> (y) { y = 2.0 * x }
        scale.A -> twice.x: A[i]
        twice.y -> scale.t: t[i]
      }
      A -> scale.A
      scale.t -> t
      t -> B
    }
  }";

fn verifier(program: &Sdfg) -> Verifier<'static> {
    Verifier::of(program, &BTreeMap::new(), &Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(program: &Sdfg) -> String {
    match Pipeline::on(program.clone()).apply(RedundantArray::default()) {
        Err(TransformError::Refused { refusal, .. }) => refusal.to_string(),
        other => panic!("{other:?}"),
    }
}

/// Rewrites without the check.
fn forced(program: &Sdfg) -> Sdfg {
    let mut forced = program.clone();
    let found = places(&forced, &RedundantArray::default()).remove(0);
    let mut editor = Editor::new(&mut forced);
    RedundantArray::default().apply(&mut editor, &found).unwrap_or_else(|error| panic!("{error}"));
    editor.commit().unwrap_or_else(|error| panic!("{error}"));
    forced
}

#[test]
fn the_examples_run() {
    own_transformation::main().unwrap_or_else(|error| panic!("{error}"));
    transform::main().unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn a_transient_that_is_only_copied_is_removed() {
    let before = program("", SCALE);
    let mut pipeline = Pipeline::on(before.clone());
    pipeline.apply(RedundantArray::default()).unwrap_or_else(|error| panic!("{error}"));
    assert!(!sdfg::text::print(pipeline.program()).contains("transient"));
    verifier(&before).check(pipeline.program(), Soundness::Always).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn it_replaces_the_transformation_of_the_same_name() {
    let mut registry = Registry::standard();
    let count = registry.all().count();
    registry.register::<RedundantArray>();
    assert_eq!(registry.all().count(), count);
    let page = registry.all().find(|metadata| metadata.name == "RedundantArray").map(|own| own.page());
    assert!(page.is_some_and(|page| page.contains("Appendix D asks")));
}

#[test]
fn an_array_that_the_state_reads_elsewhere_stays_apart() {
    let before = program("  array C: f64[N]", READS_TARGET);
    assert!(refusal(&before).contains("`B` is used elsewhere"), "{}", refusal(&before));
    let difference = verifier(&before).check(&forced(&before), Soundness::Always);
    assert!(difference.is_err(), "the forced rewrite is right");
}

#[test]
fn a_transient_that_is_written_in_part_stays() {
    let before = program("", WRITES_A_PART);
    assert!(
        refusal(&before).contains("every execution of the state writes all of `t`"),
        "{}",
        refusal(&before)
    );
    let difference = verifier(&before).check(&forced(&before), Soundness::Always);
    assert!(matches!(difference, Err(Difference::Result { .. })), "{difference:?}");
}

/// Each block of Rust code on the page is a part of the example or of this file, so that it compiles and runs.
#[test]
fn the_page_quotes_code_that_runs() {
    let page = include_str!("../docs/adding/a-transformation.md");
    let sources = [
        include_str!("../examples/own_transformation/redundant_array.rs"),
        include_str!("../examples/own_transformation/main.rs"),
        include_str!("own_transformation.rs"),
    ];
    let plain = |text: &str| text.split_whitespace().collect::<String>();
    let blocks: Vec<&str> =
        page.split("```rust,ignore\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() > 5);
    for block in blocks {
        // A comment `...` stands for lines that are left out.
        for part in block.split("// ...").map(str::trim).filter(|part| !part.is_empty()) {
            assert!(
                sources.iter().any(|source| plain(source).contains(&plain(part))),
                "not in the code:\n{part}"
            );
        }
    }
}
