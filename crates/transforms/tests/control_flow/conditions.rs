//! Steps under assumptions and guards, and simplification as a step.

use sdfg_transforms::rewrites::{LoopToMap, MapFusion, MapTiling, StateFusion};
use sdfg_transforms::{Chain, Conditions, Pipeline, Registry, Step, TransformError};

use super::{difference, parsed, program};

/// A loop whose iterations read `A[i + K]` and write `A[i]`: they are independent if `K >= N`.
fn shifted() -> sdfg::ir::Sdfg {
    parsed(
        "sdfg p {
  symbol N: i64
  symbol K: i64
  array A: f64[N + K]
  transient scalar T: f64
  for rows: i = 0:N {
    state s {
      access A
      access T
      access D = A
      tasklet t (x) -> (y) { y = 2 * x }
      tasklet u (x) -> (y) { y = x + 1 }
      A -> t.x: A[i + K]
      t.y -> T
      T -> u.x
      u.y -> D: A[i]
    }
  }
}",
    )
}

fn results(program: &sdfg::ir::Sdfg, n: i64, k: i64) -> Result<sdfg::interpret::Arguments, String> {
    use sdfg::interpret::{Arguments, Interpreter, Options, Order};
    let valid =
        sdfg::validate::validate(program.clone()).map_err(|error| format!("{:?}", error.diagnostics))?;
    let mut interpreter = Interpreter::new(&valid).map_err(|error| error.to_string())?;
    let values: Vec<f64> = (0..n + k).map(|i| (i * i % 7) as f64).collect();
    let mut arguments = Arguments::new().with_symbol("N", n).with_symbol("K", k);
    arguments.set("A", sdfg::tensor::Tensor::vector(&values));
    interpreter
        .run(&mut arguments, &Options { order: Order::Random(3), ..Options::default() })
        .map_err(|error| error.to_string())?;
    Ok(arguments)
}

#[test]
fn a_guard_runs_the_original_where_the_condition_does_not_hold() {
    let mut pipeline = Pipeline::on(shifted());
    pipeline.apply(LoopToMap::default().at("rows")).expect_err("a refusal");
    let step = LoopToMap::default().at("rows").under(Conditions::guarded_by(["K >= N"]));
    let applied = pipeline.apply(step).expect("an application");
    let facts: Vec<String> = applied.evidence.facts.iter().map(ToString::to_string).collect();
    assert!(facts.contains(&"LoopToMap: K >= N, which a guard tests".to_owned()), "{facts:?}");
    let text = sdfg::text::print(pipeline.program());
    assert!(
        text.contains("if \"rows.case0\": K >= N") && text.contains("map ") && text.contains("for "),
        "{text}"
    );
    for (n, k) in [(4, 4), (4, 5), (4, 1), (4, 0), (1, 0)] {
        let expected = results(&shifted(), n, k).expect("results");
        let found =
            results(pipeline.program(), n, k).unwrap_or_else(|error| panic!("{n} {k}: {error}\n{text}"));
        assert_eq!(found.get("A"), expected.get("A"), "{n} {k}\n{text}");
    }
}

#[test]
fn an_assumption_is_recorded_and_takes_the_place_of_a_proof() {
    let mut pipeline = Pipeline::on(shifted());
    pipeline
        .apply(LoopToMap::default().at("rows").under(Conditions::assuming(["K >= N"])))
        .expect("an application");
    let text = sdfg::text::print(pipeline.program());
    assert!(!text.contains("if ") && !text.contains("for ") && text.contains("map "), "{text}");
    let expected = results(&shifted(), 4, 4).expect("results");
    assert_eq!(results(pipeline.program(), 4, 4).expect("results").get("A"), expected.get("A"));
    // The assumption is wrong here, and so is the program.
    let wrong = results(pipeline.program(), 4, 1);
    assert!(
        wrong.is_err()
            || wrong.ok().as_ref().and_then(|found| found.get("A"))
                != results(&shifted(), 4, 1).ok().as_ref().and_then(|found| found.get("A"))
    );
    let json = pipeline.chain().to_json().expect("JSON");
    assert!(json.contains("\"assume\"") && !json.contains("guard"), "{json}");
    let chain = Chain::from_json(&json).expect("a chain");
    assert_eq!(chain.lines(), ["LoopToMap at p/rows assuming K >= N"]);
    let replayed = chain.replay(shifted(), &Registry::standard()).expect("a replay");
    assert_eq!(sdfg::text::print(replayed.program()), text);
    pipeline.undo().expect("an application");
    assert_eq!(sdfg::text::print(pipeline.program()), sdfg::text::print(&shifted()));
}

#[test]
fn a_condition_that_does_not_help_leaves_the_program() {
    let mut pipeline = Pipeline::on(shifted());
    let before = sdfg::text::print(pipeline.program());
    let refused = |pipeline: &mut Pipeline, condition: &str| {
        let step = LoopToMap::default().at("rows").under(Conditions::guarded_by([condition]));
        pipeline.apply(step).expect_err("a refusal")
    };
    assert!(matches!(refused(&mut pipeline, "K >= 1"), TransformError::Refused { .. }));
    for wrong in ["Q >= 1", "K", "A[0] > 1", "K >=", "K / 2 > 1"] {
        let error = refused(&mut pipeline, wrong);
        assert!(matches!(error, TransformError::Condition { .. }), "{wrong}: {error}");
    }
    assert_eq!(sdfg::text::print(pipeline.program()), before);
    let two = parsed("sdfg q {\n symbol N: i64\n state a { }\n state b { }\n}");
    let mut pipeline = Pipeline::on(two);
    let step = sdfg_transforms::Step::from(StateFusion::default()).under(Conditions::assuming(["N > 1"]));
    let error = pipeline.apply(step).expect_err("a refusal").to_string();
    assert!(error.contains("several blocks"), "{error}");
}

#[test]
fn tile_sizes_are_positive_by_assumption() {
    let text = "state s {
  access A
  access B
  map m [i = 0:N] {
    tasklet t (x) -> (y) { y = 2 * x + i }
    m.A -> t.x: A[i]
    t.y -> m.B: B[i]
  }
  A -> m.A
  m.B -> B
}";
    let size: sdfg::symbolic::Expr = "N - 2".parse().expect("an expression");
    for conditions in [Conditions::assuming(["N > 2"]), Conditions::guarded_by(["N > 2"])] {
        let mut pipeline = Pipeline::on(program(text));
        pipeline.apply(MapTiling::new([size.clone()]).at("m")).expect_err("a refusal");
        let least = if conditions.guard { 1 } else { 3 };
        pipeline.apply(MapTiling::new([size.clone()]).at("m").under(conditions)).expect("an application");
        let problem = difference(&program(text), pipeline.program(), least);
        assert!(problem.is_none(), "{problem:?}\n{}", sdfg::text::print(pipeline.program()));
    }
}

#[test]
fn simplification_is_a_step_of_a_chain() {
    let text = "state a { }\n state b {\n access A\n access B\n A -> B\n }\n state c {\n access B\n access C\n B -> C\n }";
    let mut pipeline = Pipeline::on(program(text));
    let counts = pipeline.simplify(&Registry::standard(), None);
    assert!(counts.iter().map(|tally| tally.applications).sum::<usize>() > 1, "{counts:?}");
    let json = pipeline.chain().to_json().expect("JSON");
    let chain = Chain::from_json(&json).expect("a chain");
    assert_eq!(chain.lines(), ["simplify"]);
    let replayed = chain.replay(program(text), &Registry::standard()).expect("a replay");
    assert_eq!(sdfg::text::print(replayed.program()), sdfg::text::print(pipeline.program()));
    pipeline.undo().expect("a step");
    assert_eq!(sdfg::text::print(pipeline.program()), sdfg::text::print(&program(text)));
    let once = json.replace("\"simplify\"", "\"simplify\", \"parameters\": { \"fuel\": 1 }");
    let once = Chain::from_json(&once).expect("a chain").replay(program(text), &Registry::standard());
    assert_ne!(sdfg::text::print(once.expect("a replay").program()), sdfg::text::print(replayed.program()));
    let wrong = json.replace("\"simplify\"", "\"simplify\", \"parameters\": { \"feul\": 1 }");
    Chain::from_json(&wrong)
        .expect("a chain")
        .replay(program(text), &Registry::standard())
        .expect_err("no such parameter");
}

/// Three maps, so that fusion applies twice, and the second time to what the first one made.
fn three_maps() -> sdfg::ir::Sdfg {
    let map = |at: usize, from: &str, to: &str| {
        format!(
            "map m{at} [i{at} = 0:N] {{\n tasklet t{at} (x) -> (y) {{ y = x + {at} }}\n m{at}.{from} -> t{at}.x: {from}[i{at}]\n \
             t{at}.y -> m{at}.{to}: {to}[i{at}]\n }}\n {from} -> m{at}.{from}\n m{at}.{to} -> {to}\n"
        )
    };
    let maps = [map(1, "A", "S"), map(2, "S", "T"), map(3, "T", "B")].concat();
    let text = format!(
        "sdfg p {{\n symbol N: i64\n array A: f64[N]\n array B: f64[N]\n transient array S: f64[N]\n transient array T: f64[N]\n \
         state s {{\n access A\n access S\n access T\n access B\n {maps} }}\n}}"
    );
    sdfg::text::parse("p.sdft", &text).expect("a program")
}

#[test]
fn a_step_everywhere_applies_until_nothing_is_left() {
    let everywhere = |limit| Step::from(MapFusion::default()).everywhere(limit);
    let n_maps = |pipeline: &Pipeline| sdfg::text::print(pipeline.program()).matches(" map ").count();
    let mut pipeline = Pipeline::on(three_maps());
    let before = sdfg::text::print(pipeline.program());
    let application = pipeline.apply(everywhere(None)).expect("applications");
    assert_eq!((application.name, application.at.as_str()), ("MapFusion", "every place (2)"));
    assert!(!application.evidence.facts.is_empty());
    assert_eq!(n_maps(&pipeline), 1);
    // The chain has one step, which is replayed, and taken back as one.
    let json = pipeline.chain().to_json().expect("JSON");
    assert!(json.contains("\"at\": \"everywhere\"") && !json.contains("limit"), "{json}");
    let chain = Chain::from_json(&json).expect("a chain");
    assert_eq!((&chain, chain.lines()), (&pipeline.chain(), vec!["MapFusion at every place".to_owned()]));
    let replayed = chain.replay(three_maps(), &Registry::standard()).expect("a replay");
    assert_eq!(sdfg::text::print(replayed.program()), sdfg::text::print(pipeline.program()));
    pipeline.undo().expect("the start");
    assert_eq!(sdfg::text::print(pipeline.program()), before);
    // With a limit it stops before.
    pipeline.apply(everywhere(Some(1))).expect("one application");
    assert_eq!(n_maps(&pipeline), 2);
    let json = pipeline.chain().to_json().expect("JSON");
    assert_eq!(Chain::from_json(&json).expect("a chain"), pipeline.chain());
    assert_eq!(pipeline.chain().lines(), ["MapFusion at every place, at most 1 times"]);
}

#[test]
fn a_step_everywhere_ends() {
    let mut pipeline = Pipeline::on(three_maps());
    pipeline.apply(Step::from(MapFusion::default()).everywhere(None)).expect("one map");
    let before = sdfg::text::print(pipeline.program());
    let error = pipeline.apply(Step::from(MapTiling::new([8])).everywhere(None)).expect_err("no end");
    assert!(matches!(error, TransformError::Endless { name: "MapTiling", count: 12 }), "{error}");
    let conditions = Conditions::assuming(["N >= 2"]);
    let error = pipeline.apply(Step::from(MapFusion::default()).everywhere(None).under(conditions));
    assert!(matches!(error, Err(TransformError::Condition { .. })), "{error:?}");
    assert_eq!(sdfg::text::print(pipeline.program()), before, "a step that fails changes nothing");
    for (json, part) in [
        (
            r#"{"version": 1, "steps": [{"transformation": "MapFusion", "limit": 3}]}"#,
            "1 (MapFusion): a limit needs",
        ),
        (
            r#"{"version": 1, "steps": [{"transformation": "StateFusion"}, {"transformation": "MapFusion", "limit": 3}]}"#,
            "2 (MapFusion): a limit needs",
        ),
        (
            r#"{"version": 1, "steps": [{"transformation": "MapFusion", "at": "all"}]}"#,
            "1 (MapFusion): `at` is a list of",
        ),
    ] {
        let error = Chain::from_json(json).expect_err("no chain");
        assert!(error.to_string().contains(part), "{error}");
    }
}
