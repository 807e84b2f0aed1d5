//! Tests of round trips, and of error locations in wrong documents.

use proptest::prelude::*;

use super::*;
use crate::text::arbitrary::arbitrary_sdfg;
use crate::text::structure::structure;

const SMALL: &str = "sdfg small {
  symbol N: i64
  array A: f64[N]
  array B: f64[N]

  state s {
    access A
    access B
    map m [i = 0:N:2] {
      tasklet t (x) -> (y) { y = x + 1 }
      m.A -> t.x: A[i]
      t.y -> m.B: B[i] wcr(sum)
    }
    A -> m.A
    m.B -> B
  }
  -> s if N > 3
}
";

fn document() -> String {
    to_string(&crate::text::parse("small", SMALL).unwrap())
}

/// What reading says when one piece of a right document is replaced.
fn error_after(from: &str, to: &str) -> String {
    let document = document();
    assert!(document.contains(from), "{from} is not in\n{document}");
    parse(&document.replacen(from, to, 1)).unwrap_err().to_string()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn random_graphs_round_trip(seed in any::<u64>()) {
        let graph = arbitrary_sdfg(seed);
        let document = to_string(&graph);
        let back = parse(&document).map_err(|e| TestCaseError::fail(format!("{e}\n{document}")))?;
        prop_assert_eq!(structure(&back), structure(&graph));
        prop_assert_eq!(to_string(&back), document);
    }

    #[test]
    fn mutated_documents_never_panic(seed in any::<u64>(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = to_string(&arbitrary_sdfg(seed % 8)).into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = parse(&String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn files_of_version_1_stay_readable() {
    let file = include_str!("small.v1.json");
    assert_eq!(to_string(&parse(file).unwrap()), document());
}

#[test]
fn files_of_version_2_stay_readable() {
    let file = include_str!("small.v2.json");
    assert_eq!(document(), file);
    assert_eq!(to_string(&parse(file).unwrap()), file);
}

/// In version 1, every schedule had the attributes of a team of threads, which meant nothing where no team was.
#[test]
fn version_1_has_attributes_on_every_schedule() {
    let file = include_str!("small.v1.json");
    let execution = "\"schedule\": \"default\",\n                        \"sharing\": \"static\"";
    let with = |schedule: &str, attributes: &str| {
        assert!(file.contains(execution), "{file}");
        parse(&file.replacen(execution, &format!("\"schedule\": \"{schedule}\", {attributes}"), 1))
    };
    let attributes = "\"sharing\": \"dynamic\", \"chunk\": \"16\", \"threads\": \"T\", \"collapse\": 1";
    let text = |sdfg| crate::text::print(&sdfg);
    let multicore = text(with("cpu_multicore", attributes).unwrap());
    assert!(
        multicore.contains("schedule(cpu_multicore) sharing(dynamic, 16) threads(T) collapse(1) {"),
        "{multicore}"
    );
    let default = text(with("default", attributes).unwrap());
    assert!(default.contains("[i = 0:N:2] sharing(dynamic, 16) threads(T) collapse(1) {"), "{default}");
    for kind in crate::ir::ScheduleKind::ALL {
        let found = text(with(kind.name(), "\"sharing\": \"static\"").unwrap());
        let schedule = format!("[i = 0:N:2] schedule({}) {{", kind.name());
        assert!(found.contains(&schedule) || kind.name() == "default", "{found}");
    }
    let simd = text(with("simd", attributes).unwrap());
    assert!(simd.contains("[i = 0:N:2] schedule(simd) {"), "{simd}");
    assert!(with("simd", "\"sharing\": \"static\", \"block\": [\"32\"]").is_err());
}

#[test]
fn attributes_belong_to_their_schedule() {
    let with = |execution: &str| {
        let changed = document().replacen("\"schedule\": \"default\"", execution, 1);
        parse(&changed).map(|sdfg| crate::text::print(&sdfg)).map_err(|error| error.to_string())
    };
    let grid = with("\"schedule\": \"gpu_grid\", \"block\": [\"32\", \"B\"]").unwrap();
    assert!(grid.contains("schedule(gpu_grid) block(32, B) {"), "{grid}");
    let errors = [
        with("\"schedule\": \"simd\", \"sharing\": \"static\"").unwrap_err(),
        with("\"schedule\": \"gpu_block\", \"threads\": \"4\"").unwrap_err(),
        with("\"schedule\": \"cpu_multicore\", \"block\": [\"4\"]").unwrap_err(),
    ];
    let field = "sdfg.body.blocks[0].kind.state.nodes[2].kind.map_entry.execution";
    let (team, block) = ("`default` and `cpu_multicore`", "`gpu_grid` and `gpu_block`");
    let foreign = |attribute, schedule, owners| {
        format!("{field}: `{attribute}` does not belong to the schedule `{schedule}`; it belongs to {owners}")
    };
    assert_eq!(
        errors,
        [
            foreign("sharing", "simd", team),
            foreign("threads", "gpu_block", team),
            foreign("block", "cpu_multicore", block),
        ]
    );
}

#[test]
fn errors_say_where_and_what() {
    let errors = [
        error_after("\"version\": 2", "\"version\": 3"),
        error_after("\"format\": \"sdfg\"", "\"format\": \"dace\""),
        error_after("\"format\": \"sdfg\",", ""),
        error_after("\"float_mode\"", "\"floatmode\": \"strict\", \"float_mode\""),
        error_after("\"element\": \"f64\"", "\"element\": \"double\""),
        error_after("\"container\": \"A\"", "\"container\": \"a\""),
        error_after("\"0:N:2\"", "\"0:\""),
        error_after("\"0:N:2\"", "\"0:A[i]\""),
        error_after("\"y = x + 1\"", "\"y = x +\""),
        error_after("\"sum\"", "\"plus\""),
        error_after("\"entry\": 2", "\"entry\": 22"),
        error_after("\"to\": 0", "\"to\": 1"),
        error_after("\"N > 3\"", "\"N >\""),
        error_after("\"symbols\": [", "\"symbols\": {"),
        parse("[]").unwrap_err().to_string(),
        parse("").unwrap_err().to_string(),
    ];
    insta::assert_snapshot!(errors.join("\n"), @r###"
the document has version 3, this program reads versions 1 to 2; convert it with the program that wrote it, or use a newer one of this
this is not an SDFG document: `format` is "dace", not "sdfg"
this is not an SDFG document: `format` is missing, not "sdfg"
line 6, column 15: unknown field `floatmode`, expected one of `name`, `float_mode`, `symbols`, `containers`, `body`
sdfg.containers[0].element: `double` is not a type; known: bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, f32, f64, complex64, complex128
sdfg.body.blocks[0].kind.state.nodes[0].kind.access.container: there is no container `a`; did you mean `A`?
sdfg.body.blocks[0].kind.state.nodes[2].kind.map_entry.ranges[0]: `0:` is no symbolic expression: the end of this range is missing
sdfg.body.blocks[0].kind.state.nodes[2].kind.map_entry.ranges[0]: `0:A[i]` is no symbolic expression: a symbolic expression reads no data, and `A` is indexed
sdfg.body.blocks[0].kind.state.nodes[3].kind.tasklet.body: `y = x +` is no code: expected an expression, found the end of the text
sdfg.body.blocks[0].kind.state.edges[1].memlet.flow.write.resolution: `plus` is not a conflict resolution; known: sum, product, min, max, and, or, xor, bitand, bitor, bitxor, min_location, max_location, replace
sdfg.body.blocks[0].kind.state.nodes[4].kind.map_exit.entry: there is no node 22, only 5
sdfg.body.transitions[0].to: there is no block 1, only 1
sdfg.body.transitions[0].condition: `N >` is no expression: expected an expression, found the end of the text
line 8, column 7: key must be a string
line 1, column 2: invalid length 0, expected struct Header with 2 elements
line 1, column 0: EOF while parsing a value
"###);
}

/// The depths that `docs/text-format.md` tells.
#[test]
fn deep_documents_are_refused() {
    let deepest = |open: &str, close: &str| {
        let reads = |depth: usize| {
            let opened: String = (0..depth).map(|level| open.replace('@', &level.to_string())).collect();
            let source = format!("sdfg s {{ {opened}{} }}", close.repeat(depth));
            parse(&to_string(&crate::text::parse("deep", &source).unwrap())).is_ok()
        };
        (0..30).take_while(|depth| reads(*depth)).last()
    };
    assert_eq!(deepest("while l@: x { ", " }"), Some(24));
    assert_eq!(deepest("state t { nested n () -> () sdfg s { ", " } }"), Some(12));
}
