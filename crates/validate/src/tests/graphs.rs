//! Codes of graphs that no text can express: a valid program is changed until it is invalid.

use sdfg_graph::diagnostic::Code;
use sdfg_graph::diagnostic::pages::{self, Example};
use sdfg_graph::ir::draft::{DraftSdfg, DraftState};
use sdfg_graph::ir::{
    AccessedPart, Block, BlockKind, Branch, Edge, Memlet, NestedSdfg, Node, NodeKind, Sdfg, State,
};
use sdfg_graph::text;
use sdfg_language::dtype::ScalarType;
use sdfg_language::subset::Range;
use sdfg_language::symbolic::Symbol;
use sdfg_language::syntax::Expression;

use super::super::{diagnose, validate};
use super::{BASE, edge_into, state_of};

/// A change of [`BASE`].
struct Broken {
    /// What is found in it then.
    code: Code,
    /// Where it is found.
    path: &'static str,
    change: fn(&mut Sdfg),
}

const BROKEN: &[Broken] = &[
    Broken {
        code: Code::DanglingReference,
        path: "p/s/a",
        change: |sdfg| {
            let id = sdfg.find_container("A").unwrap();
            sdfg.remove_container(id);
        },
    },
    Broken {
        code: Code::MalformedRegion,
        path: "p/lost",
        change: |sdfg| {
            let region = sdfg.add_region();
            sdfg.add_state(region, State::new("lost"));
        },
    },
    Broken {
        code: Code::MalformedRegion,
        path: "p",
        change: |sdfg| {
            let body = sdfg.body();
            sdfg.region_mut(body).start = None;
        },
    },
    Broken {
        code: Code::NestingTooDeep,
        path: "p/l256",
        change: |sdfg| {
            let mut region = sdfg.body();
            for depth in 0..300 {
                let body = sdfg.add_region();
                let kind =
                    BlockKind::Branch(Branch { arms: vec![(Expression::bool(true), body)], otherwise: None });
                sdfg.add_block(region, Block { label: format!("l{depth}"), kind, region, loc: None });
                region = body;
            }
        },
    },
    Broken {
        code: Code::MalformedScope,
        path: "p/s/m",
        change: |sdfg| {
            let state = state_of(sdfg);
            let exit = state.exit_of(state.find("m").unwrap()).unwrap();
            state.remove_node(exit);
        },
    },
    Broken {
        code: Code::EdgeCrossesScope,
        path: "p/s/a -> t",
        change: |sdfg| {
            let state = state_of(sdfg);
            let (src, dst) = (state.find("a").unwrap(), state.find("t").unwrap());
            let memlet = Memlet::order();
            state.add_edge(Edge { src, src_connector: None, dst, dst_connector: None, memlet, loc: None });
        },
    },
    Broken {
        code: Code::NodeNotEnclosed,
        path: "p/s/dead",
        change: |sdfg| {
            let state = state_of(sdfg);
            let src = state.find("t").unwrap();
            let container = state.node(state.find("b").unwrap()).kind.container().unwrap();
            let dst =
                state.add_node(Node { label: "dead".into(), kind: NodeKind::Access(container), loc: None });
            let memlet = Memlet::order();
            state.add_edge(Edge { src, src_connector: None, dst, dst_connector: None, memlet, loc: None });
        },
    },
    Broken {
        code: Code::MapDimensions,
        path: "p/s/m",
        change: |sdfg| {
            let state = state_of(sdfg);
            let entry = state.find("m").unwrap();
            if let NodeKind::MapEntry(map) = &mut state.node_mut(entry).kind {
                map.params.push(Symbol::of("j"));
            }
        },
    },
    Broken {
        code: Code::SymbolType,
        path: "p/symbol N",
        change: |sdfg| sdfg.declare_symbol(Symbol::of("N"), ScalarType::F64),
    },
    Broken {
        code: Code::AliasNotTransient,
        path: "p/container V",
        change: |sdfg| {
            let id = sdfg.find_container("V").unwrap();
            sdfg.container_mut(id).transient = false;
        },
    },
    Broken {
        code: Code::FlowMismatch,
        path: "p/s/m.A -> t.x",
        change: |sdfg| {
            let state = state_of(sdfg);
            let edge = edge_into(state, "t");
            *state.memlet_mut(edge) = Memlet::value();
        },
    },
    Broken {
        code: Code::PlaceMismatch,
        path: "p/s/m.A -> t.x",
        change: |sdfg| {
            let state = state_of(sdfg);
            let edge = edge_into(state, "t");
            for access in state.memlet_mut(edge).accesses_mut() {
                access.place = AccessedPart::Queues(access.subset().clone());
            }
        },
    },
    Broken {
        code: Code::BadStep,
        path: "p/s/m.A -> t.x",
        change: |sdfg| {
            let state = state_of(sdfg);
            let edge = edge_into(state, "t");
            for access in state.memlet_mut(edge).accesses_mut() {
                access.subset_mut().0[0] = Range::new(0, 4).with_step(0);
            }
        },
    },
];

#[test]
fn broken_graphs_have_their_code_at_their_place() {
    for Broken { code, path, change } in BROKEN {
        let mut sdfg = text::parse("test.sdft", BASE).unwrap();
        assert!(diagnose(&sdfg).is_empty());
        change(&mut sdfg);
        let rejected = validate(sdfg).unwrap_err();
        let found: Vec<String> =
            rejected.diagnostics.iter().map(|found| format!("{} {}", found.code, found.path)).collect();
        assert!(found.contains(&format!("{code} {path}")), "{code} {path} is not among {found:#?}");
        assert!(rejected.to_string().contains(code.name()));
    }
}

/// The bad programs of pages are held against their codes elsewhere; together every code is expected by a test.
#[test]
fn every_code_without_a_text_has_a_graph() {
    let missing: Vec<Code> = pages::all()
        .filter(|page| matches!(page.example, Example::NotInText))
        .map(|page| page.code)
        .filter(|code| BROKEN.iter().all(|broken| broken.code != *code))
        .collect();
    assert!(missing.is_empty(), "no test expects {missing:?}");
}

#[test]
fn sdfgs_nested_without_end() {
    let mut sdfg = Sdfg::new("inner");
    for _ in 0..100 {
        let nested = NestedSdfg { sdfg, inputs: Vec::new(), outputs: Vec::new(), symbol_mapping: Vec::new() };
        let mut state = State::new("s");
        state.add_node(Node { label: "call".into(), kind: NodeKind::Nested(Box::new(nested)), loc: None });
        sdfg = Sdfg::new("outer");
        let body = sdfg.body();
        sdfg.add_state(body, state);
    }
    let rejected = validate(sdfg).unwrap_err();
    assert_eq!(rejected.diagnostics[0].code, Code::NestingTooDeep);
}
