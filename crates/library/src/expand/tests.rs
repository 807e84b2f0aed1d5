//! Tests of expansions: they have the shape that back ends rely on, and unsupported nodes are refused.

use sdfg::dtype::ScalarType;
use sdfg::ir::draft::{DraftSdfg, DraftState};
use sdfg::ir::{
    Access, ConflictResolution, Container, ContainerKind, Edge, Layout, LibraryNode, Memlet, Node, NodeKind,
    Reduce, ScheduleKind, Sdfg, State,
};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::{Expr, Symbol};
use sdfg::syntax::Expression;

use crate::{BuiltIn, ExpandErrorKind, expand, expand_library_nodes};

fn subset(sizes: &[&str]) -> Subset {
    sizes.iter().map(|size| Range::new(0, size.parse().map_or_else(|_| Expr::sym(size), Expr::int))).collect()
}

/// One state with a reduction of `A` of shape `from` to `B` of shape `to`.
fn reduction(
    from: &[&str],
    to: &[&str],
    axes: Option<Vec<usize>>,
    outer: Option<ConflictResolution>,
) -> Sdfg {
    let mut sdfg = Sdfg::new("program");
    for name in ["N", "M"] {
        sdfg.declare_symbol(Symbol::of(name), ScalarType::I64);
    }
    let mut array = |name: &str, sizes: &[&str]| {
        let kind = ContainerKind::Array(Layout::packed(subset(sizes).sizes()));
        sdfg.add_container(Container::new(name, ScalarType::F64.into(), kind))
    };
    let (a, b) = (array("A", from), array("B", to));
    let mut state = State::new("main");
    let node = |label: &str, kind| Node { label: label.to_owned(), kind, loc: None };
    let read = state.add_node(node("A", NodeKind::Access(a)));
    let reduce = state.add_node(node(
        "r",
        NodeKind::Reduce(Reduce {
            axes,
            resolution: ConflictResolution::Sum,
            identity: Some(Expression::float(0.0)),
            schedule: ScheduleKind::Default,
        }),
    ));
    let written = state.add_node(node("B", NodeKind::Access(b)));
    let edge =
        |src, dst, memlet| Edge { src, src_connector: None, dst, dst_connector: None, memlet, loc: None };
    state.add_edge(edge(read, reduce, Memlet::read(Access::elements(a, subset(from)))));
    let mut write = Memlet::write(Access::elements(b, subset(to)));
    if let sdfg::ir::Flow::Write { resolution, .. } = &mut write.flow {
        *resolution = outer;
    }
    state.add_edge(edge(reduce, written, write));
    let body = sdfg.body();
    sdfg.add_state(body, state);
    sdfg
}

/// The nested SDFG that replaced the node `r`.
fn nested(sdfg: &Sdfg) -> &sdfg::ir::NestedSdfg {
    let (_, state) = sdfg.states().next().expect("a state");
    match &state.node(state.find("r").expect("a node")).kind {
        NodeKind::Nested(nested) => nested,
        other => panic!("still a {}", other.noun()),
    }
}

/// The element of the output that one iteration combines into, and the order of the map's parameters.
fn combination(sdfg: &Sdfg) -> (String, String) {
    let inner = &nested(sdfg).sdfg;
    let (_, state) = inner.states().find(|(_, state)| state.label == "combine").expect("a state");
    let tasklet = state.find("element").expect("a tasklet");
    let memlet = &state.edge(state.out_edges(tasklet)[0]).memlet;
    assert_eq!(memlet.resolution(), Some(&ConflictResolution::Sum));
    let params = state.nodes().find_map(|(_, node)| match &node.kind {
        NodeKind::MapEntry(map) => Some(format!("{:?} {}", map.params, map.ranges)),
        _ => None,
    });
    (memlet.write_access().expect("a write").subset().to_string(), params.unwrap_or_default())
}

fn pair(a: &str, b: &str) -> (String, String) {
    (a.to_owned(), b.to_owned())
}

#[test]
fn neighbours_in_memory_are_innermost() {
    let expanded = expand(&reduction(&["N", "4", "M"], &["4", "M"], Some(vec![0]), None), &BuiltIn).unwrap();
    assert_eq!(combination(&expanded), pair("i1, i2", "[i0, i1, i2] 0:n0, 0:4, 0:n1"));
    let node = nested(&expanded);
    assert_eq!(node.symbol_mapping, [(Symbol::of("n0"), Expr::sym("N")), (Symbol::of("n1"), Expr::sym("M"))]);
    assert_eq!(node.sdfg.states().count(), 2);
    assert_eq!(node.sdfg.transitions().count(), 1);
    let (_, state) = expanded.states().next().unwrap();
    let ends: Vec<_> =
        state.edges().map(|(_, e)| (e.src_connector.as_deref(), e.dst_connector.as_deref())).collect();
    assert_eq!(ends, [(None, Some("_in")), (Some("_out"), None)]);
}

#[test]
fn single_dimensions_pair_with_nothing() {
    let to_one = expand(&reduction(&["N", "M"], &["1"], None, None), &BuiltIn).unwrap();
    assert_eq!(combination(&to_one).0, "0");
    let kept_rank = expand(&reduction(&["N", "M"], &["N", "1"], Some(vec![1]), None), &BuiltIn).unwrap();
    assert_eq!(combination(&kept_rank).0, "i0, 0");
    let one_more = expand(&reduction(&["1", "N", "M"], &["M"], Some(vec![1]), None), &BuiltIn).unwrap();
    assert_eq!(combination(&one_more), pair("i2", "[i0, i1, i2] 0, 0:n0, 0:n1"));
    let between = expand(&reduction(&["N", "M", "N"], &["M"], Some(vec![0, 2]), None), &BuiltIn).unwrap();
    assert_eq!(combination(&between).1, "[i1, i0, i2] 0:n1, 0:n0, 0:n0");
    let to_scalar = expand(&reduction(&["N"], &[], None, None), &BuiltIn).unwrap();
    assert_eq!(combination(&to_scalar).0, "");
}

#[test]
fn without_identity_nothing_is_initialised() {
    let mut program = reduction(&["N"], &["1"], None, None);
    let (id, _) = program.states().next().unwrap();
    let node = program.state(id).find("r").unwrap();
    if let NodeKind::Reduce(reduce) = &mut program.state_mut(id).node_mut(node).kind {
        reduce.identity = None;
    }
    assert_eq!(nested(&expand(&program, &BuiltIn).unwrap()).sdfg.states().count(), 1);
}

#[test]
fn refusals_name_the_node() {
    let error = expand(&reduction(&["N", "M"], &["N", "M"], Some(vec![1]), None), &BuiltIn).unwrap_err();
    assert_eq!(error.kind, ExpandErrorKind::ReduceShape { kept: 1, found: 2 });
    assert!(error.to_string().contains("/main/r: "), "{error}");
    let error = expand(&reduction(&["N"], &["1"], Some(vec![3]), None), &BuiltIn).unwrap_err();
    assert_eq!(error.kind, ExpandErrorKind::NoSuchAxis { axis: 3, rank: 1 });
    let other = Some(ConflictResolution::Max);
    let error = expand(&reduction(&["N"], &["1"], None, other), &BuiltIn).unwrap_err();
    assert_eq!(error.kind, ExpandErrorKind::OutputResolution);
    expand(&reduction(&["N"], &["1"], None, Some(ConflictResolution::Sum)), &BuiltIn).unwrap();
}

#[test]
fn library_nodes_are_looked_up_also_in_nested_programs() {
    let mut program = expand(&reduction(&["N"], &["1"], None, None), &BuiltIn).unwrap();
    let (id, _) = program.states().next().unwrap();
    let node = program.state(id).find("r").unwrap();
    let NodeKind::Nested(nested) = &mut program.state_mut(id).node_mut(node).kind else {
        panic!("not nested")
    };
    let library = LibraryNode {
        operation: "Nonsense".to_owned(),
        inputs: Vec::new(),
        outputs: Vec::new(),
        properties: Vec::new(),
        expansion: None,
    };
    let (inner, _) = nested.sdfg.states().next().unwrap();
    let label = "product".to_owned();
    nested.sdfg.state_mut(inner).add_node(Node { label, kind: NodeKind::Library(library), loc: None });
    let error = expand(&program, &BuiltIn).unwrap_err();
    let expected = "/main/r/initialise/product: the operation `Nonsense` is not known; known: MatMul, ";
    assert!(error.to_string().contains(expected), "{error}");
}

#[test]
fn reductions_stay_where_only_library_nodes_are_asked_for() {
    let sdfg = reduction(&["N", "M"], &["N"], Some(vec![1]), None);
    let kept = expand_library_nodes(&sdfg, &BuiltIn).expect("nothing to expand");
    assert!(
        kept.states()
            .all(|(_, state)| state.nodes().any(|(_, node)| matches!(node.kind, NodeKind::Reduce(_))))
    );
    let replaced = expand(&sdfg, &BuiltIn).expect("an expansion");
    assert!(
        replaced
            .states()
            .all(|(_, state)| state.nodes().all(|(_, node)| !matches!(node.kind, NodeKind::Reduce(_))))
    );
}
