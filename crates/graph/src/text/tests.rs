//! Tests of whole texts: programs, the examples of the documentation, errors.

use super::*;
use crate::ir::Sdfg;
use crate::path::Target;

/// Parses a text that is right.
fn parsed(source: &str) -> Sdfg {
    parse("test.sdft", source).unwrap_or_else(|errors| {
        panic!("{}", errors.iter().map(|error| format!("{error}\n")).collect::<String>())
    })
}

/// Every program of the repository, by file name.
fn programs() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs");
    let mut programs: Vec<(String, String)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "sdft"))
        .map(|path| {
            (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(path).unwrap())
        })
        .collect();
    programs.sort();
    programs
}

#[test]
fn programs_round_trip() {
    let programs = programs();
    assert!(programs.len() >= 13, "{} programs", programs.len());
    for (name, source) in programs {
        let printed = print(&parsed(&source));
        assert_eq!(print(&parsed(&printed)), printed, "{name}");
        let document = crate::json::to_string(&parsed(&source));
        assert_eq!(crate::json::to_string(&crate::json::parse(&document).unwrap()), document, "{name}");
    }
}

const FORMAT: &str = include_str!("../../../../docs/text-format.md");

#[test]
fn tables_of_the_documentation_are_read() {
    let mut read = 0;
    for section in ["Declarations", "Control flow", "Nodes"] {
        let text = FORMAT
            .split(&format!("## {section}\n"))
            .nth(1)
            .and_then(|rest| rest.split("\n## ").next())
            .unwrap();
        for row in text.lines().filter(|line| line.starts_with("| `")) {
            let cell = row.trim_start_matches('|').split(" | ").next().unwrap();
            for code in cell.split('`').skip(1).step_by(2) {
                let code = code.replace("{ ... }", "{}");
                let program = match section {
                    "Nodes" => format!("sdfg t {{ array A: f64[4]; state s {{ {code} }} }}"),
                    _ => format!("sdfg t {{ {code} }}"),
                };
                let printed = print(&parsed(&program));
                assert_eq!(print(&parsed(&printed)), printed);
                read += 1;
            }
        }
    }
    assert!(read >= 30, "{read} cells");
}

#[test]
fn outer_segments_are_derived() {
    let source = include_str!("../../../../programs/laplace.sdft");
    let printed = print_with(&parsed(source), PrintOptions { derived: true }).text;
    let comments: Vec<&str> = printed.lines().filter(|line| line.contains('#')).map(str::trim).collect();
    assert_eq!(comments.len(), 2, "{printed}");
    assert!(comments[0].starts_with("old -> cells.A  # A[t % 2, 0:N]"), "{}", comments[0]);
    assert!(comments[1].starts_with("cells.A -> new  # A[(t + 1) % 2, 1:N - 1]"), "{}", comments[1]);
    // Comments are no part of the program.
    assert_eq!(print(&parsed(&printed)), print(&parsed(source)));
}

#[test]
fn spans_cover_what_they_name() {
    let sdfg = parsed(include_str!("../../../../programs/mandelbrot.sdft"));
    let (text, spans) = print_with_spans(&sdfg);
    let mut starts: Vec<&str> = spans
        .iter()
        .map(|(place, span)| {
            let shown = span.slice(&text).unwrap();
            if let Target::Edge(..) = place.target {
                assert!(shown.contains(" -> "), "{shown}");
            }
            assert_eq!(spans.get(place), Some(span));
            assert!(place.calls.len() <= 1);
            shown.split([' ', '\n']).next().unwrap()
        })
        .collect();
    assert!(spans.codes().count() > 0);
    for (tasklet, code) in spans.codes() {
        assert!(code.slice(&text).unwrap().contains('='));
        assert_eq!(spans.code(tasklet), Some(code));
        // The code stands behind the header of its tasklet.
        assert!(spans.get(tasklet).unwrap().end <= code.start);
    }
    starts.sort_unstable();
    starts.dedup();
    for word in [
        "sdfg", "symbol", "array", "scalar", "state", "while", "map", "}", "nested", "tasklet", "access",
        "order",
    ] {
        let word = if word == "scalar" { "transient" } else { word };
        assert!(starts.contains(&word), "{word} in {starts:?}");
    }
}

#[test]
fn source_locations_point_into_the_text() {
    let source = include_str!("../../../../programs/laplace.sdft");
    let sdfg = parsed(source);
    let (_, container) = sdfg.containers().next().unwrap();
    let loc = container.loc.as_ref().unwrap();
    assert_eq!((loc.line, loc.column), (5, 3));
    assert_eq!(loc.span.unwrap().slice(source), Some("array A: f64[2, N]"));
    let (_, state) = sdfg.states().next().unwrap();
    let shown =
        |loc: &Option<crate::ir::SourceLoc>| loc.as_ref().unwrap().span.unwrap().slice(source).unwrap();
    assert!(state.edges().any(|(_, edge)| shown(&edge.loc) == "lap.o -> cells.A: A[(t + 1) % 2, i]"));
    assert!(
        state.nodes().any(|(_, node)| shown(&node.loc) == "map cells [i = 1:N - 1] schedule(cpu_multicore)")
    );
    assert_eq!(shown(&state.loc), "state step");
}

/// Graphs that no text gives: each is printed, and shows the fault.
#[test]
fn broken_graphs_are_printed() {
    use crate::ir::ids::Id;
    use crate::ir::{
        Access, BlockKind, ContainerId, Edge, Loop, Memlet, Node, NodeId, NodeKind, RegionId, ScopeExit,
    };
    let mut sdfg = parsed("sdfg broken { array A: f64[4]; state s { access A; access B = A; A -> B } }");
    let gone = ContainerId::from_index(7);
    let (state, _) = sdfg.states().next().unwrap();
    let graph = sdfg.state_mut(state);
    let node = |kind| Node { label: "x".into(), kind, loc: None };
    let a = graph.add_node(node(NodeKind::Access(gone)));
    let exit = graph.add_node(node(NodeKind::MapExit(ScopeExit { entry: NodeId::from_index(99) })));
    for (src, dst) in [(a, exit), (exit, a), (a, a)] {
        let memlet = Memlet::read(Access::elements(gone, sdfg_language::subset::Subset(Vec::new())));
        graph.add_edge(Edge {
            src,
            src_connector: Some("c".into()),
            dst,
            dst_connector: None,
            memlet,
            loc: None,
        });
    }
    let body = sdfg.body();
    let symbol = None;
    let (init, update) = (Some(sdfg_language::syntax::Expression::integer(0)), None);
    let condition = sdfg_language::syntax::Expression::bool(true);
    let endless = Loop { symbol, init, condition, update, test_after: false, unroll: false, body };
    let kind = BlockKind::Loop(endless.clone());
    sdfg.add_block(body, crate::ir::Block { label: "l".into(), kind, region: body, loc: None });
    let missing = sdfg.add_region();
    let kind = BlockKind::Loop(Loop { body: missing, ..endless });
    let block = sdfg.add_block(body, crate::ir::Block { label: "m".into(), kind, region: body, loc: None });
    if let BlockKind::Loop(repeated) = &mut sdfg.block_mut(block).kind {
        repeated.body = RegionId::from_index(50);
    }
    sdfg.region_mut(body).blocks.push(crate::ir::BlockId::from_index(33));
    sdfg.region_mut(body).transitions.push(crate::ir::TransitionId::from_index(44));
    insta::assert_snapshot!(print(&sdfg), @r###"
sdfg broken {
  array A: f64[4]

  state s {
    access A
    access B = A
    access x = "<c7>"
    # map exit x without its entry
    A -> B
    x.c -> x: "<c7>"
    x@c -> x: "<c7>"
    x.c -> x: "<c7>"
  }
  -> end
  loop l: ? = 0; True; {
    # a region that is missing or holds itself
  }
  -> end
  loop m: ? = 0; True; {
    # a region that is missing or holds itself
  }
}
"###);
    // The wire schema has them, too.
    assert!(crate::json::parse(&crate::json::to_string(&sdfg)).is_err());
}

mod round_trips {
    use proptest::prelude::*;

    use super::super::arbitrary::arbitrary_sdfg;
    use super::super::structure::structure;
    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn random_graphs_round_trip(seed in any::<u64>()) {
            let graph = arbitrary_sdfg(seed);
            let text = print(&graph);
            let back = match parse::parse_underived("random", &text) {
                Ok(back) => back,
                Err(errors) => return Err(TestCaseError::fail(format!("{text}\n{}", errors[0]))),
            };
            prop_assert_eq!(structure(&back), structure(&graph), "\n{}", text);
            prop_assert_eq!(print(&back), text.clone());
            // JSON to text to JSON: ids differ, for they are given out in the order of each form.
            let document = crate::json::to_string(&graph);
            let from_json = crate::json::parse(&document).map_err(|e| TestCaseError::fail(format!("{e}\n{document}")))?;
            prop_assert_eq!(print(&from_json), text.clone());
            let again = crate::json::to_string(&back);
            let again = crate::json::parse(&again).map_err(|e| TestCaseError::fail(format!("{e}\n{again}")))?;
            prop_assert_eq!(structure(&again), structure(&graph));
            prop_assert_eq!(print(&again), text);
        }
    }
}

mod recovery;

mod hostile {
    use proptest::prelude::*;

    use super::super::arbitrary::arbitrary_sdfg;
    use super::super::parse::parse_underived;
    use super::*;

    /// Pieces that open, close and join what the grammar has.
    const PIECES: [&str; 36] = [
        "sdfg", "state", "map", "consume", "nested", "tasklet", "access", "for", "if", "elif", "else",
        "while", "do", "{", "}", "(", ")", "[", "]", "->", ":", ";", ",", ".", "@", "=", "\n", " ", "\"",
        "#", "0", "1.5", "x", "é", "\\", "end",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn arbitrary_text_never_panics(text in any::<String>()) {
            let _ = parse_underived("text", &text);
        }

        #[test]
        fn arbitrary_tokens_never_panic(pieces in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..60)) {
            let _ = parse_underived("text", &pieces.join(" "));
            let _ = parse_underived("text", &format!("sdfg s {{ state t {{ {} }} }}", pieces.join(" ")));
        }

        #[test]
        fn mutated_programs_never_panic(
            seed in 0_u64..16,
            edits in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(PIECES.to_vec()), any::<bool>()), 1..6),
        ) {
            let mut text: Vec<char> = print(&arbitrary_sdfg(seed)).chars().collect();
            for (at, piece, replace) in edits {
                let at = at.index(text.len());
                let end = if replace { at + 1 } else { at };
                text.splice(at..end, piece.chars());
            }
            let text: String = text.into_iter().collect();
            if let Ok(sdfg) = parse_underived("text", &text) {
                let _ = print(&sdfg);
            } else {
                prop_assert!(!parse_underived("text", &text).unwrap_err().is_empty());
            }
        }
    }

    #[test]
    fn deep_nesting_is_an_error() {
        let mut text = "sdfg s { ".to_owned();
        text.push_str(&"while l: x { ".repeat(10_000));
        let errors = parse("deep", &text).unwrap_err();
        assert!(
            matches!(errors[..], [ParseError { kind: ParseErrorKind::TooDeep { .. }, .. }]),
            "{errors:?}"
        );
        // What is just not too deep fits the stack of a thread, also with deep expressions in it.
        let sums = format!("{}1{}", "(".repeat(150), ")".repeat(150));
        for (open, innermost, close) in [
            ("map m@ [i = 0:2] { ", format!("map n [i = 0:{sums}] {{}}"), " }"),
            ("nested n () -> () sdfg s { state t { ", format!("map n [i = 0:{sums}] {{}}"), " } }"),
        ] {
            let depth = 58 / open.matches('{').count();
            let opened: String = (0..depth).map(|level| open.replace('@', &level.to_string())).collect();
            let text = format!("sdfg s {{ state t {{ {opened}{innermost}{} }} }}", close.repeat(depth));
            let printed = print(&parsed(&text));
            assert_eq!(print(&parsed(&printed)), printed);
        }
    }
}

/// Every error of a text, one a line, with its help.
fn errors_of(source: &str) -> String {
    let errors = parse("wrong.sdft", source).unwrap_err();
    let line = |error: &ParseError| {
        let help = error.help().map_or(String::new(), |help| format!("\n    help: {help}"));
        format!("{error}{help}\n")
    };
    errors.iter().map(line).collect()
}

#[test]
fn several_errors_at_once() {
    let errors = errors_of(
        "sdfg wrong {
  symbol N: f99
  array A: f64[N
  array B: f64[N, 0.5]
  array C: f64
  aray D: f64[N]
  scalar s: f64 storag(register)
  scalar s2: f64 storage(ram)
  array B: f64[3]
  constant array K: u8[2] = [1, 256]

  state one {
    access B
    acess B
    access missing
    map m [i = 0:N {
      tasklet t (x) -> (y) { y = x + }
      m.B -> t.x: B[i, 0]
    }
    B -> m.B
    B -> nowhere.B: B[i, 0]
    order B -> B: B[0, 0]
    B -> B wcr(plus)
    B -> B volume(1) dynamic
  }
  -> two if s > 0
  -> end
  state two {
    access s
    access B
    s -> B: s
    s -> B: s -> B[0, $]
  }
  -> thre
  for l: i = 0:N:2 unrol { }
  loop l2: i = 0; i < N; j = i + 1 { }
  scalar late: f64
}
trailing
",
    );
    insta::assert_snapshot!(errors, @r###"
wrong.sdft:2:13: `f99` is not a type
    help: known: bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, f32, f64, complex64, complex128
wrong.sdft:3:17: expected `]`, found the end of the line
wrong.sdft:4:19: a symbolic expression holds integers only
    help: sizes, bounds and indices are integer arithmetic over symbols; bring data in through a connector
wrong.sdft:5:9: array `C` has no shape
    help: write `array C: TYPE[N]`, or `scalar C: TYPE` for one element
wrong.sdft:6:3: `aray` is not a declaration or block
    help: did you mean `array`?
wrong.sdft:7:17: `storag` is not a property of this container
    help: did you mean `storage`?
wrong.sdft:8:26: `ram` is not a storage
    help: known: default, register, cpu_heap, cpu_thread_local, cpu_pinned, gpu_global, gpu_shared, fpga_global, fpga_local, fpga_register, file
wrong.sdft:10:33: `256` is not a value of type u8
wrong.sdft:14:5: `acess` is not a node or edge
    help: did you mean `access`?
wrong.sdft:16:20: expected `]`, found `{`
wrong.sdft:17:37: expected an expression, found the end of the text
wrong.sdft:22:5: an edge that only orders names no container
    help: remove `order`, or the memlet
wrong.sdft:23:16: `plus` is not a conflict resolution
    help: known: sum, product, min, max, and, or, xor, bitand, bitor, bitxor, min_location, max_location, replace
wrong.sdft:24:22: this says how much moves a second time
wrong.sdft:27:3: `-> end` stands alone: without an arrow that applies, the region ends anyway
    help: remove `-> end`
wrong.sdft:32:23: unexpected character `$`
wrong.sdft:35:20: expected `{`, found `unrol`
wrong.sdft:36:26: there is no loop symbol `j`
    help: did you mean `i`?
wrong.sdft:37:3: declarations stand before the first block
    help: move it above the first block
wrong.sdft:39:1: expected the end of the text, found `trailing`
"###);
}

#[test]
fn misspelt_names_are_suggested() {
    let errors = errors_of(
        "sdfg wrong {
  array column: f64[4]
  scalar count: f64

  state first {
    access column
    access count
    tasklet reader (x) -> (y) { y = x }
    column -> reader.x: colum[0]
    raeder.y -> count
  }
  -> secnd
  state second {}
}
",
    );
    insta::assert_snapshot!(errors, @r###"
wrong.sdft:9:25: there is no container `colum`
    help: did you mean `column`?
wrong.sdft:10:5: there is no node `raeder`
    help: did you mean `reader`?
wrong.sdft:12:6: there is no block `secnd`
    help: did you mean `second`?
"###);
}

#[test]
fn edges_that_say_too_little_or_too_much() {
    let errors = errors_of(
        "sdfg wrong {
  array A: f64[4]
  array B: f64[4]

  state s {
    access A
    access B
    tasklet t (x) -> (y) { y = x }
    tasklet u (x) -> (y) { y = x }
    map m [i = 0:4] {
      access inner = B
      tasklet v (x) -> (y) { y = x }
      m.A -> v.x
      m.A -> inner: A[i]
    }
    A -> m.A
    A -> B: A[0:2]
    t.y -> u.x: A[0]
    A -> t.x: A[0] wcr(sum)
    bind A -> B: A[0:2] -> B[0:2]
  }
}
",
    );
    insta::assert_snapshot!(errors, @r###"
wrong.sdft:13:7: this edge does not say what moves along it
    help: write `: A[i, 0:N]` behind it, or `order a -> b` if it only orders
wrong.sdft:14:7: a copy names what is read and what is written
    help: write both sides: `a -> b: A[0:K] -> B[2:K + 2]`
wrong.sdft:17:5: a copy names what is read and what is written
    help: write both sides: `a -> b: A[0:K] -> B[2:K + 2]`
wrong.sdft:18:5: an edge between code nodes carries one value and names no container
    help: leave the memlet out, or pass through an access node
wrong.sdft:19:5: only a write has a conflict resolution
wrong.sdft:20:5: this edge reads or writes one container, its memlet names two
    help: name the container at the end of the path
"###);
}
