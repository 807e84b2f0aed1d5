//! Tests of edits on small programs; `tests/edit.rs` of the repository tests random ones.

mod series;
mod tables;

use std::collections::{BTreeMap, BTreeSet};

use sdfg_graph::ir::draft::{DraftSdfg, DraftState};
use sdfg_graph::ir::{Map, NodeKind, Sdfg, StateId, Storage};
use sdfg_graph::text;
use sdfg_language::subset::{Range, Subset};
use sdfg_language::symbolic::{Expr, Symbol};

use super::*;

const STENCIL: &str = "\
sdfg stencil {
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  array C: f64[N]
  state s {
    access A
    access B
    access C
    map m [i = 1:N - 1] {
      tasklet t (l, c, r) -> (o, q) { k = l + r; o = k + c * N; q = k }
      m.A -> t.l: A[i - 1]
      m.A -> t.c: A[i]
      m.A -> t.r: A[i + 1]
      t.o -> m.B: B[i]
      t.q -> m.C: C[i]
    }
    A -> m.A
    m.B -> B
    m.C -> C
  }
}
";

struct Program {
    sdfg: Sdfg,
    state: StateId,
}

impl Program {
    fn new(source: &str) -> Self {
        let sdfg = text::parse("test.sdft", source).unwrap();
        let state = sdfg.states().next().unwrap().0;
        Program { sdfg, state }
    }

    fn node(&self, label: &str) -> NodeId {
        self.sdfg.state(self.state).find(label).unwrap()
    }

    fn edge(&self, src: &str, dst: &str) -> EdgeId {
        let state = self.sdfg.state(self.state);
        let at = |id: NodeId, connector: &Option<String>| match connector {
            Some(connector) => format!("{}.{connector}", state.node(id).label),
            None => state.node(id).label.clone(),
        };
        let is_found = |edge: &Edge| {
            at(edge.src, &edge.src_connector) == src && at(edge.dst, &edge.dst_connector) == dst
        };
        state.edges().find(|(_, edge)| is_found(edge)).unwrap().0
    }

    /// Makes one series of edits.
    fn edit<T>(
        &mut self,
        edits: impl FnOnce(&mut Editor<'_>) -> Result<T, EditError>,
    ) -> Result<T, EditError> {
        let mut editor = Editor::of_draft(&mut self.sdfg);
        let made = edits(&mut editor)?;
        editor.commit().map(|_| made)
    }

    fn remove_edge(&mut self, src: &str, dst: &str) {
        let edge = self.edge(src, dst);
        let state = self.state;
        self.edit(|e| e.remove_edge(state, edge)).unwrap();
    }

    fn remove_node(&mut self, label: &str) {
        let node = self.node(label);
        let state = self.state;
        self.edit(|e| e.remove_node(state, node)).unwrap();
    }

    fn text(&self) -> String {
        text::print_with(&self.sdfg, text::PrintOptions { derived: true }).text
    }

    fn is_valid(&self) -> bool {
        sdfg_validate::validate(self.sdfg.clone()).is_ok()
    }

    /// The lines of the text with these words.
    fn lines(&self, words: &str) -> Vec<String> {
        self.text().lines().filter(|line| line.contains(words)).map(|line| line.trim().to_owned()).collect()
    }
}

fn values(pairs: &[(&str, &str)]) -> BTreeMap<Symbol, Expr> {
    let parse =
        |text: &str| Expr::from_expression(&sdfg_language::syntax::parse_expression(text).unwrap()).unwrap();
    pairs.iter().map(|(symbol, value)| (Symbol::of(symbol), parse(value))).collect()
}

#[test]
fn an_edge_goes_with_what_only_it_needs() {
    let mut program = Program::new(STENCIL);
    program.remove_edge("m.OUT_A", "t.l");
    let left = ["m.A -> t.c: A[i]", "m.A -> t.r: A[i + 1]", "A -> m.A  # A[1:N] volume(2*max(0, N - 2))"];
    assert_eq!(program.lines("A ->"), left);
    // The outer segment takes the whole tree with it, and the access node that is left alone.
    program.remove_edge("A", "m.IN_A");
    assert_eq!(program.lines("A ->"), [""; 0]);
    assert_eq!(program.sdfg.state(program.state).find("A"), None);
    // The last edge of a path takes the segments outside, too.
    program.remove_edge("t.q", "m.IN_C");
    assert_eq!(program.lines("C"), ["array C: f64[N]"]);
    // A node in a scope stays in it.
    program.remove_edge("t.o", "m.IN_B");
    let state = program.sdfg.state(program.state);
    let tree = sdfg_graph::analysis::ScopeTree::of(state);
    assert_eq!(tree.scope_of(program.node("t")), Some(program.node("m")));
}

#[test]
fn a_removed_scope_takes_its_contents_along() {
    let mut program = Program::new(STENCIL);
    program.remove_node("m");
    assert_eq!(program.sdfg.state(program.state).n_nodes(), 0);
    let mut program = Program::new(STENCIL);
    program.remove_node("t");
    let state = program.sdfg.state(program.state);
    assert_eq!((state.n_nodes(), state.n_edges()), (2, 1));
    assert!(program.is_valid());
}

#[test]
fn edges_are_redirected_to_connectors_that_are_there() {
    let mut program = Program::new(STENCIL);
    let (state, edge) = (program.state, program.edge("m.OUT_A", "t.l"));
    let (t, m, b) = (program.node("t"), program.node("m"), program.node("B"));
    let refusal = program.edit(|e| e.redirect_destination(state, edge, t, Some("x"))).unwrap_err();
    assert_eq!(refusal, EditError::NoConnector { label: "t".to_owned(), connector: "x".to_owned() });
    let refusal = program.edit(|e| e.redirect_destination(state, edge, m, Some("IN_A")));
    assert!(matches!(refusal, Err(EditError::Cycle { .. })), "{refusal:?}");
    let refusal = program.edit(|e| e.redirect_destination(state, edge, b, Some("x")));
    assert!(matches!(refusal, Err(EditError::ConnectorMisplaced { .. })), "{refusal:?}");
    program.edit(|e| e.redirect_destination(state, edge, t, Some("r"))).unwrap();
    assert_eq!(program.sdfg.state(state).edge(edge).dst_connector.as_deref(), Some("r"));
    let edge = program.edge("m.OUT_B", "B");
    let mut again = program.sdfg.state(state).node(b).clone();
    again.label = "again".to_owned();
    let c = program.sdfg.state_mut(state).add_node(again);
    program.edit(|e| e.redirect_destination(state, edge, c, None)).unwrap();
    assert_eq!(program.edge("m.OUT_B", "again"), edge);
    assert_eq!(program.lines("m.B -> again").len(), 1);
    // Nothing is left at `B`.
    assert_eq!(program.sdfg.state(state).get_node(b).map(|node| node.label.as_str()), None);
}

#[test]
fn a_redirected_edge_names_what_it_is_led_to() {
    let mut program = Program::new(STENCIL);
    let (state, m, c) = (program.state, program.node("m"), program.node("C"));
    let exit = program.sdfg.state(state).exit_of(m).unwrap();
    // The outer edge of `B` ends at `C`, and so does what the tasklet writes.
    let edge = program.edge("m.OUT_B", "B");
    program.edit(|e| e.redirect_destination(state, edge, c, None)).unwrap();
    assert_eq!(program.lines("t.o ->"), ["t.o -> m.B: C[i]"]);
    assert_eq!(program.lines("m.B ->"), ["m.B -> C  # C[1:N - 1] volume(max(0, N - 2))"]);
    // Both outputs pass one connector: the other one goes.
    let edge = program.edge("t.o", "m.IN_B");
    program.edit(|e| e.redirect_destination(state, edge, exit, Some("IN_C"))).unwrap();
    assert_eq!(program.edge("t.o", "m.IN_C"), edge);
    assert_eq!(program.lines("-> C"), ["m.C -> C  # C[1:N - 1] volume(2*max(0, N - 2))"]);
}

#[test]
fn a_redirected_edge_leaves_no_connector_alone() {
    let mut program = Program::new(STENCIL);
    let before = program.text();
    let (state, m, t, a) = (program.state, program.node("m"), program.node("t"), program.node("A"));
    let edge = program.edge("A", "m.IN_A");
    let refusal = program.edit(|e| e.redirect_destination(state, edge, m, Some("IN_B")));
    assert!(matches!(refusal, Err(EditError::Unpaired { .. })), "{refusal:?}");
    assert_eq!(program.text(), before);
    // Nothing comes in there.
    let edge = program.edge("m.OUT_A", "t.l");
    let refusal = program.edit(|e| e.redirect_source(state, edge, m, Some("OUT_B")));
    assert!(matches!(refusal, Err(EditError::Misplaced { .. })), "{refusal:?}");
    let edge = program.edge("t.o", "m.IN_B");
    let refusal = program.edit(|e| e.redirect_destination(state, edge, t, Some("l")));
    assert!(matches!(refusal, Err(EditError::Cycle { .. })), "{refusal:?}");
    let refusal = program.edit(|e| e.redirect_source(state, edge, a, None));
    assert!(refusal.is_err());
    assert_eq!(program.text(), before);
}

#[test]
fn a_replacement_has_the_connectors_that_are_used() {
    let mut program = Program::new(STENCIL);
    let (state, t) = (program.state, program.node("t"));
    let NodeKind::Tasklet(mut tasklet) = program.sdfg.state(state).node(t).kind.clone() else { panic!() };
    tasklet.inputs.pop();
    let refusal = program.edit(|e| e.replace_node(state, t, NodeKind::Tasklet(tasklet))).unwrap_err();
    assert_eq!(refusal, EditError::NoConnector { label: "t".to_owned(), connector: "r".to_owned() });
    let kind = program.sdfg.state(state).node(t).kind.clone();
    let m = program.node("m");
    assert!(matches!(program.edit(|e| e.replace_node(state, m, kind)), Err(EditError::WrongKind { .. })));
    assert!(program.is_valid());
}

#[test]
fn connectors_and_locals_make_room() {
    let mut program = Program::new(STENCIL);
    let state = program.state;
    // `k` is a local and `c` a connector of the tasklet that uses N, `i` the parameter around it.
    program.edit(|e| e.substitute(&values(&[("N", "k + c + i")]))).unwrap();
    assert!(program.is_valid(), "{}", program.text());
    assert_eq!(program.lines("map m"), ["map m [i_1 = 1:c + i + k - 1] {"]);
    assert_eq!(
        program.lines("k_1 ="),
        ["tasklet t (l, c_1, r) -> (o, q) { k_1 = l + r; o = k_1 + c_1 * i64(c + i + k); q = k_1 }"]
    );
    assert_eq!(program.lines("t.c_1"), ["m.A -> t.c_1: A[i_1]"]);
    let t = program.node("t");
    let taken = program.edit(|e| e.rename_connector(state, t, "l", "k_1"));
    assert_eq!(taken, Err(EditError::NameTaken { name: "k_1".to_owned() }));
    program.edit(|e| e.rename_connector(state, t, "l", "left")).unwrap();
    program.edit(|e| e.rename_connector(state, t, "o", "out")).unwrap();
    assert!(program.is_valid(), "{}", program.text());
    assert_eq!(program.lines("-> t.left"), ["m.A -> t.left: A[i_1 - 1]"]);
}

#[test]
fn substitution_in_a_scope_stays_in_it() {
    let mut program = Program::new(STENCIL);
    let (state, m) = (program.state, program.node("m"));
    program.edit(|e| e.substitute_in_scope(state, Some(m), &values(&[("N", "4"), ("i", "i + 2")]))).unwrap();
    assert_eq!(program.lines("map m"), ["map m [i = 1:N - 1] {"]);
    assert_eq!(program.lines("t.r"), ["m.A -> t.r: A[i + 3]"]);
    assert_eq!(program.lines("c * i64(4)").len(), 1);
    let refusal = program.edit(|e| e.substitute_in_scope(state, Some(m), &values(&[("i", "A")])));
    assert_eq!(refusal, Err(EditError::Captured { symbol: Symbol::of("A") }));
}

#[test]
fn a_pointer_keeps_its_dimensions() {
    let source = "\
sdfg pointer {
  symbol N: i64
  symbol M: i64
  array A: f64[N, M]
  scalar s: f64
  state s {
    access A
    access s
    tasklet t (a) -> (o) { o = a[N - 1, 0] }
    A -> t.a
    t.o -> s
  }
}
";
    let mut program = Program::new(source);
    let refusal = program.edit(|e| e.substitute(&values(&[("N", "1")])));
    assert!(matches!(refusal, Err(EditError::DimensionsChange { .. })), "{refusal:?}");
    assert_eq!(text::print(&program.sdfg), text::print(&Program::new(source).sdfg));
    program.edit(|e| e.substitute(&values(&[("N", "2")]))).unwrap();
    assert!(program.is_valid());
}

#[test]
fn the_arithmetic_of_c_takes_no_division() {
    let source = "\
sdfg divides {
  symbol N: i64
  scalar s: i64
  state s {
    access s
    tasklet t () -> (o) dialect(c) { o = N }
    t.o -> s
  }
}
";
    let mut program = Program::new(source);
    let refusal = program.edit(|e| e.substitute(&values(&[("N", "K // 2")])));
    assert!(matches!(refusal, Err(EditError::NotExpressible { .. })), "{refusal:?}");
}

#[test]
fn a_map_around_nodes_has_one_connector_for_each_container() {
    let mut program = Program::new(STENCIL);
    let (state, m) = (program.state, program.node("m"));
    let twice = Map::new(vec![Symbol::of("p")], Subset(vec![Range::new(0, 2)]));
    let label = derived_label(program.sdfg.state(state), "m", "tile");
    assert_eq!(label, "m.tile0");
    let entry = program.edit(|e| e.wrap_in_map(state, &BTreeSet::from([m]), &label, twice.clone())).unwrap();
    assert_eq!(program.lines("A -> \"m.tile0\""), ["A -> \"m.tile0\".A  # A[0:N] volume(6*max(0, N - 2))"]);
    assert_eq!(derived_label(program.sdfg.state(state), "m", "tile"), "m.tile1");
    let again = program.edit(|e| e.wrap_in_map(state, &BTreeSet::from([m]), &label, twice.clone()));
    assert_eq!(again, Err(EditError::NameTaken { name: label.clone() }));
    let across = BTreeSet::from([m, program.node("A")]);
    let refusal = program.edit(|e| e.wrap_in_map(state, &across, "x", twice.clone()));
    assert!(matches!(refusal, Err(EditError::DifferentScopes { .. })), "{refusal:?}");
    let lonely = BTreeSet::from([program.node("A")]);
    let refusal = program.edit(|e| e.wrap_in_map(state, &lonely, "x", twice));
    assert!(matches!(refusal, Err(EditError::CannotCross { .. })), "{refusal:?}");
    // `i` is needed, `p` is not.
    let refusal = program.edit(|e| e.unwrap_map(state, m));
    assert_eq!(refusal, Err(EditError::SymbolBound { label: "m".to_owned(), symbol: Symbol::of("i") }));
    program.edit(|e| e.unwrap_map(state, entry)).unwrap();
    assert_eq!(program.lines("A -> m.A").len(), 1);
    assert!(program.is_valid());
}

#[test]
fn nodes_without_inputs_are_in_the_scope_around_them() {
    let mut program = Program::new(
        "sdfg fill {\n  array A: f64[2]\n  state s {\n    access A\n    tasklet t () -> (o) { o = 1.0 }\n    t.o -> A: A[p]\n  }\n}\n",
    );
    assert!(!program.is_valid());
    let (state, t) = (program.state, program.node("t"));
    let map = Map::new(vec![Symbol::of("p")], Subset(vec![Range::new(0, 2)]));
    program.edit(|e| e.wrap_in_map(state, &BTreeSet::from([t]), "all", map)).unwrap();
    assert!(program.is_valid(), "{}", program.text());
}

#[test]
fn a_container_is_renamed_where_control_flow_reads_it() {
    let mut program = Program::new(
        "sdfg flow {\n  transient scalar a: i64\n  state w {\n    access a\n    tasklet t () -> (o) { o = 1 }\n    t.o -> a\n  }\n  \
         -> l if a > 0 with (n = a)\n  for l: i = a:a + n {\n    if b: a == i {\n      state y {}\n    }\n  }\n}\n",
    );
    assert!(program.is_valid(), "{}", program.text());
    let container = program.sdfg.find_container("a").unwrap();
    program.edit(|e| e.rename_container(container, "other")).unwrap();
    assert!(program.is_valid(), "{}", program.text());
    assert_eq!(program.lines("-> l if"), ["-> l if other > 0 with (n = other)"]);
    assert_eq!(program.lines("for l"), ["for l: i = other:other + n {"]);
    assert_eq!(program.lines("if b"), ["if b: other == i {"]);
}

#[test]
fn edits_are_made_together_or_not_at_all() {
    let mut program = Program::new(STENCIL);
    let before = program.text();
    let result = program.edit(|e| {
        e.rename_symbol(&Symbol::of("N"), "K")?;
        e.rename_symbol(&Symbol::of("L"), "K")
    });
    assert_eq!(result, Err(EditError::NoSymbol(Symbol::of("L"))));
    assert_eq!(program.text(), before);
}

/// What a program means does not depend on the order in which a node lists its edges, but what is reported first does.
#[test]
fn what_is_taken_back_leaves_edges_in_their_order() {
    let mut program = Program::new(STENCIL);
    let (state, m, t) = (program.state, program.node("m"), program.node("t"));
    let order = |program: &Program| -> Vec<EdgeId> {
        let graph = program.sdfg.state(state);
        graph
            .nodes()
            .flat_map(|(id, _)| graph.each_in_edge(id).chain(graph.each_out_edge(id)).map(|(edge, _)| edge))
            .collect()
    };
    let (before, text) = (order(&program), program.text());
    let (left, right) = (program.edge("m.OUT_A", "t.l"), program.edge("m.OUT_A", "t.r"));
    let mut editor = Editor::of_draft(&mut program.sdfg);
    editor.redirect_destination(state, right, t, Some("l")).unwrap();
    editor.remove_edge(state, left).unwrap();
    editor.remove_node(state, m).unwrap();
    drop(editor);
    assert_eq!((order(&program), program.text()), (before, text));
}

#[test]
fn a_local_copy_counts_from_its_first_element() {
    let mut program = Program::new(STENCIL);
    let state = program.state;
    let edge = program.edge("A", "m.IN_A");
    let (_, node) = program
        .edit(|e| e.add_local_copy(state, edge, "near", Storage::Register, Cover::MoreIsDefined))
        .unwrap();
    assert_eq!(program.sdfg.state(program.state).node(node).label, "m.local0");
    assert_eq!(program.lines("transient"), ["transient array near: f64[N] storage(register)"]);
    let edge = program.edge("m.OUT_B", "B");
    program.edit(|e| e.add_local_copy(state, edge, "result", Storage::Default, Cover::Exact)).unwrap();
    assert_eq!(program.lines("array result"), ["transient array result: f64[max(0, N - 2)]"]);
    assert_eq!(program.lines("t.o ->"), ["t.o -> m.B: result[i - 1]"]);
    assert_eq!(program.lines("-> B"), ["\"m.local1\" -> B: result[0:N - 2] -> B[1:N - 1]"]);
    assert!(program.is_valid(), "{}", program.text());
}

/// The hull of `A[i]` and `A[i + 2]` has two elements more than a range without iterations.
#[test]
fn a_local_copy_stays_in_its_container() {
    let program = |range: &str| {
        Program::new(&format!(
            "sdfg p {{\n  symbol K: i64\n  symbol N: i64\n  array A: f64[N]\n  array B: f64[N]\n\n  state s {{\n    access A\n    access B\n    \
             map m [i = 0:{range}] {{\n      tasklet t (x, z) -> (y) {{ y = x + z }}\n      m.A -> t.x: A[i]\n      m.A -> t.z: A[i + 2]\n      \
             t.y -> m.B: B[i]\n    }}\n    A -> m.A\n    m.B -> B\n  }}\n}}\n"
        ))
    };
    for (range, is_known) in [("N - 2", true), ("K", false)] {
        let mut program = program(range);
        let (state, edge) = (program.state, program.edge("A", "m.IN_A"));
        let copied =
            program.edit(|e| e.add_local_copy(state, edge, "near", Storage::Default, Cover::MoreIsDefined));
        assert_eq!(copied.is_ok(), is_known, "{range}: {copied:?}");
        assert!(is_known || matches!(copied, Err(EditError::Inexact { .. })), "{copied:?}");
    }
}

#[test]
fn what_cannot_be_copied_is_not() {
    let mut program = Program::new(&STENCIL.replace(": C[i]", ": C[i] atmost(1)"));
    let (state, before) = (program.state, program.text());
    let edge = program.edge("m.OUT_C", "C");
    let refusal = program.edit(|e| e.add_local_copy(state, edge, "near", Storage::Default, Cover::Exact));
    assert!(matches!(refusal, Err(EditError::Inexact { .. })), "{refusal:?}");
    assert_eq!(program.text(), before);
}

#[test]
fn a_call_gets_what_its_nodes_used() {
    let mut program = Program::new(STENCIL);
    let (state, t) = (program.state, program.node("t"));
    let call = program.edit(|e| e.wrap_in_nested(state, &BTreeSet::from([t]), "call")).unwrap();
    let header = "nested call (A) -> (B, C) with (N = N, i = i) sdfg stencil_call {";
    assert_eq!(program.lines("nested"), [header]);
    assert_eq!(program.lines("m.A -> call.A"), ["m.A -> call.A: A[0:N]"]);
    assert!(program.is_valid(), "{}", program.text());
    program.edit(|e| e.inline_nested(state, call)).unwrap();
    assert_eq!(program.text(), Program::new(STENCIL).text());
}

#[test]
fn what_a_consume_scope_took_enters_no_nested_sdfg() {
    let mut program = Program::new(
        "sdfg p {
           scalar n: i64
           transient stream S: i64
           state s {
             access n
             access S
             consume c [p = 0:2] {
               tasklet t (x) -> (y) { y = x }
               c.stream -> t.x: S
               t.y -> c.n: n wcr(sum)
             }
             S -> c.stream
             c.n -> n
           }
         }",
    );
    let (state, t) = (program.state, program.node("t"));
    let before = text::print(&program.sdfg);
    let refused = program.edit(|e| e.wrap_in_nested(state, &BTreeSet::from([t]), "call"));
    assert!(matches!(refused, Err(EditError::CannotCross { .. })), "{refused:?}");
    assert_eq!(text::print(&program.sdfg), before);
}

#[test]
fn what_waits_for_a_map_waits_without_it() {
    let mut program = Program::new(
        "sdfg p {
           array A: i64[1]
           array B: i64[1]
           state s {
             access A
             access B
             access later = A
             tasklet first () -> (o) { o = 1 }
             tasklet last () -> (o) { o = 3 }
             map m [i = 0:1] {
               tasklet t () -> (o) { o = 2 }
               t.o -> m.B: B[0]
             }
             first.o -> A: A[0]
             order A -> m
             m.B -> B
             order m -> last
             last.o -> later: A[0]
           }
         }",
    );
    assert!(program.is_valid());
    let (state, m) = (program.state, program.node("m"));
    program.edit(|e| e.unwrap_map(state, m)).unwrap();
    assert_eq!(program.lines("order"), ["order A -> t", "order t -> last"], "{}", program.text());
}
