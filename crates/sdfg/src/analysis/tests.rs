//! Scopes and memlet paths of hand-made graphs, right and wrong.

use super::*;
use crate::ir::{
    Access, Connector, ContainerId, Edge, EdgeId, Map, Memlet, Node, NodeId, NodeKind, ScopeExit, State,
    Tasklet, TaskletBody,
};
use crate::subset::{Range, Subset};
use crate::symbolic::{Expr, Symbol};
use crate::tasklet::{Code, Dialect};

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
