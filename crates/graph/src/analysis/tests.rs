//! Tests of scopes and memlet paths of hand-written graphs, valid and invalid.

use sdfg_language::dtype::{ElementType, ScalarType};
use sdfg_language::subset::{Range, Subset};
use sdfg_language::symbolic::{Expr, Symbol};
use sdfg_language::syntax::Expression;
use sdfg_language::tasklet::{Code, ConnectorKind, Dialect};

use super::symbols::{DefinedSymbols, symbol_types};
use super::*;
use crate::ir::{
    Access, BlockId, Connector, Container, ContainerId, ContainerKind, Edge, EdgeId, Layout, Map, Memlet,
    Node, NodeId, NodeKind, ScopeExit, Sdfg, State, Tasklet, TaskletBody, Transition,
};

pub(super) fn node(label: &str, kind: NodeKind) -> Node {
    Node { label: label.to_owned(), kind, loc: None }
}

pub(super) fn tasklet(label: &str, inputs: &[&str], outputs: &[&str], code: &str) -> Node {
    let connectors = |names: &[&str]| names.iter().map(|name| Connector::new(*name)).collect();
    let body = TaskletBody::Code(Code::parse(code, Dialect::Python).unwrap());
    node(label, NodeKind::Tasklet(Tasklet { inputs: connectors(inputs), outputs: connectors(outputs), body }))
}

pub(super) fn map(label: &str, parameter: &str, end: &str) -> Node {
    let ranges = Subset(vec![Range::new(0, Expr::sym(end))]);
    node(label, NodeKind::MapEntry(Map::new(vec![Symbol::of(parameter)], ranges)))
}

pub(super) fn join(state: &mut State, src: (NodeId, &str), dst: (NodeId, &str), memlet: Memlet) -> EdgeId {
    let name = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    state.add_edge(Edge {
        src: src.0,
        src_connector: name(src.1),
        dst: dst.0,
        dst_connector: name(dst.1),
        memlet,
        loc: None,
    })
}

/// `a -> outer -> inner -> t -> inner -> outer -> b`, with a second leaf from `outer` to `u`.
struct Nested {
    state: State,
    nodes: [NodeId; 8],
    reads: [EdgeId; 3],
    writes: [EdgeId; 3],
    second: EdgeId,
}

fn nested() -> Nested {
    let c = |index| <ContainerId as crate::ir::ids::Id>::from_index(index);
    let mut s = State::new("s");
    let a = s.add_node(node("a", NodeKind::Access(c(0))));
    let outer = s.add_node(map("outer", "i", "N"));
    let inner = s.add_node(map("inner", "j", "M"));
    let t = s.add_node(tasklet("t", &["x"], &["y"], "y = x"));
    let inner_exit = s.add_node(node("inner", NodeKind::MapExit(ScopeExit { entry: inner })));
    let outer_exit = s.add_node(node("outer", NodeKind::MapExit(ScopeExit { entry: outer })));
    let b = s.add_node(node("b", NodeKind::Access(c(1))));
    let u = s.add_node(tasklet("u", &["x"], &[], "z = x"));
    let read = || Memlet::read(Access::elements(c(0), Subset::element(&[Expr::sym("i")])));
    let write = || Memlet::write(Access::elements(c(1), Subset::element(&[Expr::sym("j")])));
    let reads = [
        join(&mut s, (a, ""), (outer, "IN_A"), read()),
        join(&mut s, (outer, "OUT_A"), (inner, "IN_A"), read()),
        join(&mut s, (inner, "OUT_A"), (t, "x"), read()),
    ];
    let writes = [
        join(&mut s, (t, "y"), (inner_exit, "IN_B"), write()),
        join(&mut s, (inner_exit, "OUT_B"), (outer_exit, "IN_B"), write()),
        join(&mut s, (outer_exit, "OUT_B"), (b, ""), write()),
    ];
    let second = join(&mut s, (outer, "OUT_A"), (u, "x"), read());
    Nested { state: s, nodes: [a, outer, inner, t, inner_exit, outer_exit, b, u], reads, writes, second }
}

#[test]
fn scopes_of_nested_maps() {
    let Nested { state, nodes: [a, outer, inner, t, inner_exit, outer_exit, b, u], second, .. } = nested();
    let tree = ScopeTree::of(&state);
    assert_eq!(tree.scope_of(a), None);
    assert_eq!(tree.scope_of(outer), None);
    assert_eq!(tree.scope_of(inner), Some(outer));
    assert_eq!(tree.scope_of(t), Some(inner));
    assert_eq!(tree.scope_of(inner_exit), Some(outer));
    assert_eq!(tree.scope_of(outer_exit), None);
    assert_eq!(tree.scope_of(b), None);
    assert_eq!(tree.scope_of(u), Some(outer));
    assert_eq!(tree.children(None), [a, outer, outer_exit, b]);
    assert_eq!(tree.children(Some(outer)), [inner, inner_exit, u]);
    assert_eq!(tree.exit_of(inner), Some(inner_exit));
    assert_eq!(tree.entries(), [outer, inner]);
    assert_eq!(tree.enclosing(t).collect::<Vec<_>>(), [inner, outer]);
    assert_eq!((tree.depth(t), tree.depth(b)), (2, 0));
    assert_eq!(tree.scope_of_edge(&state, second), Some(outer));
    assert!(tree.crossing_edges().is_empty());
}

#[test]
fn paths_and_leaves() {
    let Nested { state, nodes, reads, writes, second } = nested();
    assert_eq!(memlet_path(&state, reads[2]), reads);
    assert_eq!(memlet_path(&state, reads[1]), reads[..2]);
    assert_eq!(memlet_path(&state, writes[0]), writes);
    assert_eq!(memlet_path(&state, writes[1]), writes[1..]);
    assert_eq!(memlet_path(&state, second), [reads[0], second]);
    assert_eq!(leaf_edges(&state, reads[0]), [reads[2], second]);
    assert_eq!(leaf_edges(&state, writes[2]), [writes[0]]);
    assert_eq!(leaf_edges(&state, second), [second]);
    assert!(is_leaf(&state, reads[2]) && is_leaf(&state, writes[0]));
    assert!(!is_leaf(&state, reads[1]) && !is_leaf(&state, writes[1]));
    assert_eq!(memlet_root(&state, reads[2]), Some(nodes[0]));
    assert_eq!(memlet_root(&state, writes[1]), Some(nodes[6]));
    assert_eq!(outer_segment(&state, writes[0]), Some(writes[1]));
    assert_eq!(outer_segment(&state, reads[0]), None);
}

#[test]
fn wrong_graphs_give_partial_answers() {
    let Nested { mut state, nodes: [a, outer, inner, t, .., u], reads, .. } = nested();
    let crossing = join(&mut state, (a, ""), (t, "w"), Memlet::order());
    let back = join(&mut state, (u, ""), (outer, ""), Memlet::order());
    let looped = join(&mut state, (outer, "OUT_A"), (outer, "IN_A"), Memlet::order());
    let tree = ScopeTree::of(&state);
    assert!(tree.crossing_edges().contains(&crossing));
    assert!(tree.crossing_edges().contains(&back));
    assert_eq!(tree.scope_of(t), Some(inner));
    assert_eq!(memlet_path(&state, looped), [reads[0], looped]);
    assert_eq!(leaf_edges(&state, looped).len(), 2);
    state.remove_node(outer);
    let tree = ScopeTree::of(&state);
    assert_eq!(tree.scope_of(inner), None);
    assert_eq!(memlet_path(&state, reads[0]), []);
}

#[test]
fn connector_roles_follow_memlets_and_code() {
    let mut sdfg = Sdfg::new("p");
    let shape = vec![Expr::sym("N"), Expr::sym("N")];
    let f64 = ElementType::scalar(ScalarType::F64);
    let a = sdfg.add_container(Container::new("A", f64, ContainerKind::Array(Layout::packed(shape))));
    let queues = ContainerKind::Stream { shape: Vec::new(), capacity: None };
    let q = sdfg.add_container(Container::new("Q", f64, queues));
    let mut s = State::new("s");
    let read = s.add_node(node("a", NodeKind::Access(a)));
    let queue = s.add_node(node("q", NodeKind::Access(q)));
    let names = ["value", "element", "row", "pop"];
    let t = s.add_node(tasklet("t", &names, &["push"], "push = value + element[0] + row[0] + pop"));
    let i = Expr::sym("i");
    let element = Subset::element(&[i.clone(), i.clone()]);
    let row = Subset(vec![Range::index(i), Range::new(0, Expr::sym("N"))]);
    for (name, subset) in [("value", &element), ("element", &element), ("row", &row)] {
        join(&mut s, (read, ""), (t, name), Memlet::read(Access::elements(a, subset.clone())));
    }
    join(&mut s, (queue, ""), (t, "pop"), Memlet::read(Access::queues(q, Subset(vec![]))));
    join(&mut s, (t, "push"), (queue, ""), Memlet::write(Access::queues(q, Subset(vec![]))));
    let NodeKind::Tasklet(code) = &s.node(t).kind else { panic!("{t} is a tasklet") };
    let environment = TaskletConnectors::of(&sdfg, &s, t, code, []).environment;
    let kind = |name| environment.connector(name).unwrap().1.kind;
    assert_eq!(kind("value"), ConnectorKind::Value);
    assert_eq!(kind("element"), ConnectorKind::Pointer { rank: 1 });
    assert_eq!(kind("row"), ConnectorKind::Pointer { rank: 1 });
    assert_eq!(kind("pop"), ConnectorKind::Value);
    assert_eq!(kind("push"), ConnectorKind::Stream);
    let free: Vec<String> = symbols::free_symbols_of_state(&s).iter().map(|s| s.to_string()).collect();
    assert_eq!(free, ["N", "i"]);
    let sets = AccessSets::of_node(&s, t);
    assert_eq!(sets.reads, [a, q].into());
    assert_eq!(sets.writes, [q].into());
}

#[test]
fn surplus_single_indices_are_dropped_from_the_left() {
    let i = || Range::index(Expr::sym("i"));
    let subset = Subset(vec![i(), Range::new(0, 4), i()]);
    assert_eq!(bound_dimensions(&subset, 3), Some(vec![0, 1, 2]));
    assert_eq!(bound_dimensions(&subset, 2), Some(vec![1, 2]));
    assert_eq!(bound_dimensions(&subset, 1), Some(vec![1]));
    assert_eq!(bound_dimensions(&subset, 0), None);
    assert_eq!(bound_dimensions(&subset, 4), None);
}

fn go(sdfg: &mut Sdfg, src: BlockId, dst: BlockId, condition: Option<&str>, set: &[&str]) {
    let assignments = set.iter().map(|name| (Symbol::of(name), Expression::integer(1))).collect();
    let condition = condition.map(Expression::name);
    sdfg.add_transition(Transition { src, dst, condition, assignments, loc: None });
}

#[test]
fn symbols_are_defined_where_every_path_sets_them() {
    let mut sdfg = Sdfg::new("p");
    sdfg.declare_symbol(Symbol::of("N"), ScalarType::I32);
    let body = sdfg.body();
    let mut state = |label: &str| sdfg.add_state(body, State::new(label)).0;
    let [start, left, right, end] = ["start", "left", "right", "end"].map(&mut state);
    go(&mut sdfg, start, left, Some("N"), &["x", "y"]);
    go(&mut sdfg, start, right, None, &["x"]);
    go(&mut sdfg, left, end, None, &[]);
    go(&mut sdfg, right, end, None, &["z"]);
    go(&mut sdfg, end, start, Some("N"), &[]);
    let defined = DefinedSymbols::of(&sdfg);
    let names = |block| {
        let set = defined.before(block).unwrap();
        set.iter().map(Symbol::as_str).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(start), "N");
    assert_eq!(names(left), "N x y");
    assert_eq!(names(end), "N x");
    let types = symbol_types(&sdfg);
    assert_eq!(types[&Symbol::of("N")], ScalarType::I32);
    assert_eq!(types[&Symbol::of("z")], ScalarType::I64);
    assert_eq!(symbols::free_symbols(&sdfg), [Symbol::of("N")].into());
    go(&mut sdfg, end, left, Some("y"), &[]);
    assert_eq!(symbols::free_symbols(&sdfg), [Symbol::of("N"), Symbol::of("y")].into());
}

#[test]
fn what_a_scope_binds_sizes_its_own_transients() {
    let text = |after: &str| {
        format!(
            "sdfg p {{
               array A: f64[10]
               transient array t: f64[i + k]
               state s {{
                 map m [i = 0:9] {{
                   access t
                   tasklet a () -> (o) {{ o[0] = 1 }}
                   tasklet b (x) -> (o) {{ o = x }}
                   a.o -> t: t[0:1]
                   t -> b.x: t[0]
                   b.o -> m.A: A[i]
                 }}
                 access A
                 m.A -> A
                 {after}
               }}
             }}"
        )
    };
    let free = |after| symbols::free_symbols(&crate::text::parse("p", &text(after)).unwrap());
    assert_eq!(free(""), [Symbol::of("k")].into());
    assert_eq!(free("access behind = t"), [Symbol::of("i"), Symbol::of("k")].into());
}
