//! Tests of edit series: reports, refusals and reverting.

use std::collections::BTreeSet;

use sdfg_graph::ir::{Memlet, Node, NodeKind};
use sdfg_graph::{ir, json, text};
use sdfg_language::subset::{Range, Subset};
use sdfg_language::symbolic::{Expr, Symbol};

use super::super::*;
use super::{Program, STENCIL};

fn twice() -> ir::Map {
    ir::Map::new(vec![Symbol::of("p")], Subset(vec![Range::new(0, 2)]))
}

#[test]
fn changes_are_reported_once_by_id_and_path() {
    let mut program = Program::new(STENCIL);
    let (state, t, m) = (program.state, program.node("t"), program.node("m"));
    let right = program.edge("m.OUT_A", "t.r");
    let mut editor = Editor::of_draft(&mut program.sdfg);
    let entry = editor.wrap_in_map(state, &BTreeSet::from([m]), "around", twice()).unwrap();
    editor.unwrap_map(state, entry).unwrap();
    editor.redirect_destination(state, right, t, Some("l")).unwrap();
    editor.rename_symbol(&Symbol::of("N"), "K").unwrap();
    let changes = editor.commit().unwrap();
    let edge = changes
        .iter()
        .find(|change| change.place.target == sdfg_graph::path::Target::Edge(state, right))
        .unwrap();
    assert_eq!(edge.kind, ChangeKind::Redirected);
    assert_eq!(edge.place.path(&program.sdfg).as_ref(), Some(&edge.path));
    let printed = changes.to_string();
    // The map that came and went is not told of.
    assert!(!printed.contains("around"), "{printed}");
    for line in [
        "redirected edge stencil/s/m.A -> t.l #2\n",
        "removed symbol stencil/symbol N\n",
        "added symbol stencil/symbol K\n",
        "changed container stencil/container A\n",
        "changed node stencil/s/m\n",
    ] {
        assert!(printed.contains(line), "{line} in\n{printed}");
    }
    assert!(!printed.contains("block"), "{printed}");
    let mut editor = Editor::of_draft(&mut program.sdfg);
    editor.remove_node(state, t).unwrap();
    let printed = editor.commit().unwrap().to_string();
    assert!(printed.contains("removed node stencil/s/t\n"), "{printed}");
    assert!(
        printed.contains("removed edge stencil/s/t.o -> exit m.B\n")
            || printed.contains("removed edge stencil/s/t.o -> m.B\n"),
        "{printed}"
    );
    assert!(printed.contains("added edge stencil/s/m -> m\n"), "{printed}");
    assert!(Editor::of_draft(&mut program.sdfg).commit().unwrap().is_empty());
}

#[test]
fn a_series_may_be_wrong_in_between_and_not_at_its_end() {
    let mut program = Program::new(STENCIL);
    let before = program.text();
    let (state, a, m) = (program.state, program.node("A"), program.node("m"));
    let container = program.sdfg.find_container("A").unwrap();
    let left = program.edge("m.OUT_A", "t.l");
    let whole = Memlet::read(ir::Access::elements(container, Subset(vec![Range::new(0, 1)])));
    let outer = ir::Edge {
        src: a,
        src_connector: None,
        dst: m,
        dst_connector: Some(ir::Port::In("D").to_string()),
        memlet: whole,
        loc: None,
    };
    let refused = program.edit(|e| e.add_edge(state, outer.clone()));
    assert_eq!(refused, Err(EditError::Unpaired { label: "m".to_owned(), connector: "D".to_owned() }));
    assert_eq!(program.text(), before);
    // The second edit brings what the first one lacks.
    let mut editor = Editor::new(&mut program.sdfg);
    editor.add_edge(state, outer).unwrap();
    editor.redirect_source(state, left, m, Some(&ir::Port::Out("D").to_string())).unwrap();
    editor.commit().unwrap();
    assert_eq!(
        program.lines("m.D"),
        ["m.D -> t.l: A[i - 1]", "A -> m.D  # A[0:N - 2] volume(max(0, N - 2))"]
    );
}

#[test]
fn a_commit_refuses_what_no_edit_could_see() {
    let mut program = Program::new(STENCIL);
    let (state, m) = (program.state, program.node("m"));
    let a = program.sdfg.find_container("A").unwrap();
    let before = program.text();
    let refused = program.edit(|e| e.remove_container(a));
    // The nodes that use it were not touched: validation tells of them.
    assert!(refused.is_ok());
    let mut program = Program::new(STENCIL);
    if cfg!(debug_assertions) {
        let mut editor = Editor::new(&mut program.sdfg);
        editor.remove_container(a).unwrap();
        let refused = editor.commit();
        assert!(matches!(refused, Err(EditError::Invalid { .. })), "{refused:?}");
        assert_eq!(program.text(), before);
    }
    // An order past the border of a scope.
    let t = program.node("t");
    let b = program.node("B");
    let refused = program.edit(|e| e.add_order(state, t, b));
    assert!(matches!(refused, Err(EditError::Crosses { .. })), "{refused:?}");
    let refused = program.edit(|e| {
        let kind = NodeKind::MapEntry(twice());
        e.add_node(state, Node { label: "half".to_owned(), kind, loc: None })
    });
    assert_eq!(refused, Err(EditError::HalfScope { label: "half".to_owned() }));
    assert_eq!(program.text(), before);
    assert!(program.sdfg.state(state).get_node(m).is_some());
}

#[test]
fn edges_keep_their_ids_while_scopes_come_and_go() {
    let mut program = Program::new(STENCIL);
    let (state, m) = (program.state, program.node("m"));
    let ids = |program: &Program| -> Vec<String> {
        let state = program.sdfg.state(state);
        let label = |id| state.node(id).label.clone();
        state.edges().map(|(id, edge)| format!("{id} {} {}", label(edge.src), label(edge.dst))).collect()
    };
    let before = ids(&program);
    let entry = program.edit(|e| e.wrap_in_map(state, &BTreeSet::from([m]), "around", twice())).unwrap();
    for edge in before.iter().filter(|edge| edge.contains(" t")) {
        assert!(ids(&program).contains(edge), "{edge}");
    }
    program.edit(|e| e.unwrap_map(state, entry)).unwrap();
    assert_eq!(ids(&program), before);
}

/// The memlet of a tasklet decides on those of both maps around it.
#[test]
fn memlets_further_out_follow_an_inner_one() {
    let mut program = Program::new(
        "sdfg p {
  symbol N: i64
  array A: f64[N + 1, N]
  array B: f64[N, N]
  state s {
    access A
    access B
    map m [i = 0:N] {
      map n [j = 0:N] {
        tasklet t (x) -> (o) { o = x }
        n.A -> t.x: A[i, j]
        t.o -> n.B: B[i, j]
      }
      m.A -> n.A
      n.B -> m.B
    }
    A -> m.A
    m.B -> B
  }
}",
    );
    let (state, read) = (program.state, program.edge("n.OUT_A", "t.x"));
    assert!(program.lines("A -> m.A")[0].starts_with("A -> m.A  # A[0:N, 0:N]"), "{}", program.text());
    let next = Expr::symbol(Symbol::of("i")) + 1;
    let subset = Subset(vec![Range::index(next), Range::index(Expr::symbol(Symbol::of("j")))]);
    let container = program.sdfg.find_container("A").unwrap();
    let memlet = Memlet::read(ir::Access::elements(container, subset));
    program.edit(|e| e.set_memlet(state, read, memlet)).unwrap();
    assert!(program.lines("m.A -> n.A")[0].starts_with("m.A -> n.A  # A[i + 1, 0:N]"), "{}", program.text());
    let outer: Vec<String> = program.lines(" -> m.A");
    assert!(outer[0].starts_with("A -> m.A  # A[1:N + 1, 0:N]"), "{}", program.text());
}

#[test]
fn memlets_outside_of_a_call_follow_its_contents() {
    let mut program = Program::new(STENCIL);
    let (state, t) = (program.state, program.node("t"));
    let call = program.edit(|e| e.wrap_in_nested(state, &BTreeSet::from([t]), "call")).unwrap();
    assert!(program.lines("A -> m.A")[0].starts_with("A -> m.A  # A[0:N] "), "{}", program.text());
    let mut editor = Editor::new(&mut program.sdfg);
    editor
        .within(state, call, |inside| {
            let (body, graph) = inside.sdfg().states().next().map(|(id, graph)| (id, graph.clone())).unwrap();
            for (id, edge) in graph.edges().filter(|(_, edge)| edge.dst_connector.is_some()) {
                let Some(access) = edge.memlet.read_access().cloned() else { continue };
                let first = ir::Access::elements(access.container, Subset(vec![Range::index(0)]));
                inside.set_memlet(body, id, Memlet::read(first))?;
            }
            Ok::<(), EditError>(())
        })
        .unwrap();
    let changes = editor.commit().unwrap();
    assert!(changes.to_string().contains("derived edge stencil/s/A -> m.A\n"), "{changes}");
    assert!(program.lines("A -> m.A")[0].starts_with("A -> m.A  # A[0] "), "{}", program.text());
    let mut anew = program.sdfg.clone();
    sdfg_graph::propagate::propagate(&mut anew);
    assert_eq!(text::print_with(&anew, text::PrintOptions { derived: true }).text, program.text());
    assert_eq!(json::to_string(&anew), json::to_string(&program.sdfg));
}

/// Of a state with two scopes, those parts are told of that mention the symbol.
#[test]
fn a_symbol_is_replaced_where_it_is_used_and_nowhere_else() {
    let text = "sdfg p {
  symbol N: i64
  symbol M: i64
  array A: f64[64]

  state s {
    access A
    map m [i = 0:N] {
      tasklet t () -> (y) { y = 1 }
      t.y -> m.A: A[i]
    }
    map o [j = 0:M] {
      tasklet u () -> (z) { z = 2 }
      u.z -> o.A: A[j + 32]
    }
    m.A -> A
    o.A -> A
  }
}";
    let mut program = text::parse("p.sdft", text).unwrap();
    let mut editor = Editor::of_draft(&mut program);
    editor.substitute(&[(Symbol::of("N"), sdfg_language::symbolic::Expr::int(8))].into()).unwrap();
    let printed = editor.commit().unwrap().to_string();
    let mut lines: Vec<&str> = printed.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["changed edge p/s/m.A -> A", "changed node p/s/m", "removed symbol p/symbol N"]);
}

#[test]
fn an_editor_goes_on_after_a_part_that_is_committed_or_put_back() {
    let text = "sdfg p {
  array A: f64[4]
  array B: f64[4]

  state s {
    access A
    access B
    nested q (x) -> (y) sdfg q {
      array x: f64[4]
      array y: f64[4]

      state inner {
        access x
        access y
        access lonely = x
        x -> y
      }
    }
    A -> q.x: A[0:4]
    q.y -> B: B[0:4]
  }
}
";
    let mut program = Program::new(text);
    let (state, call, b) = (program.state, program.node("q"), program.node("B"));
    let mut editor = Editor::new(&mut program.sdfg);
    let removed = editor.within(state, call, |editor| {
        let inner = editor.sdfg().states().next().unwrap().0;
        let lonely = editor.find(inner, "lonely").unwrap();
        editor.remove_node(inner, lonely)
    });
    removed.unwrap();
    editor.commit_part().unwrap();
    // The check went into the call.
    assert_eq!(editor.sdfg().name, "p");
    assert_eq!(editor.position(), 0);
    let into = editor.state(state).unwrap().in_edges(b)[0];
    let whole = editor.state(state).unwrap().edge(into).clone();
    let map = editor.wrap_in_map(state, &BTreeSet::from([call]), "around", twice());
    let wrapped = map.unwrap();
    let outer = ir::Edge {
        src: read_node(&editor, state),
        src_connector: None,
        dst: wrapped,
        dst_connector: Some(ir::Port::In("D").to_string()),
        memlet: whole.memlet,
        loc: None,
    };
    editor.add_edge(state, outer).unwrap();
    assert!(matches!(editor.commit_part(), Err(EditError::Unpaired { .. })));
    assert_eq!(editor.position(), 0);
    // The part that was put back left nothing, and the one before it stays.
    editor.rename_container(editor.sdfg().find_container("A").unwrap(), "C").unwrap();
    editor.commit_part().unwrap();
    drop(editor);
    let expected = text
        .replace("        access lonely = x\n", "")
        .replace("array A", "array C")
        .replace("access A", "access A = C")
        .replace("A[0:4]", "C[0:4]");
    assert_eq!(program.text(), expected);
}

/// The access node of `A`.
fn read_node(editor: &Editor<'_>, state: ir::StateId) -> ir::NodeId {
    editor.state(state).unwrap().find("A").unwrap()
}

/// An opaque value has no meaning, and validation refuses it.
#[test]
fn expressions_beyond_the_limits_are_refused_and_the_program_stays() {
    let deep = |mut value: String| {
        for _ in 0..40 {
            value = format!("({value} + 1) // (K + 2)");
        }
        value
    };
    let places = [
        ("index", "0:N", "0", deep("N".to_owned()), "4"),
        ("range", &*format!("0:{}", deep("N".to_owned())), "0", "0".to_owned(), "4"),
        ("size", "0:N", "0", "0".to_owned(), &*deep("N".to_owned())),
        ("argument", "0:N", &*deep("N".to_owned()), "0".to_owned(), "4"),
    ];
    for (place, range, argument, index, size) in places {
        let mut program = Program::new(&format!(
            "sdfg p {{
  symbol N: i64
  symbol K: i64
  array A: f64[4]
  array B: f64[{size}]
  state s {{
    access A
    access B
    map m [i = {range}] {{
      nested t (x) -> (y) with (M = {argument}) sdfg q {{
        symbol M: i64
        scalar x: f64
        scalar y: f64
        state s {{
          access x
          access y
          x -> y
        }}
      }}
      m.A -> t.x: A[{index}]
      t.y -> m.B: B[0] wcr(sum)
    }}
    A -> m.A
    m.B -> B
  }}
}}"
        ));
        let before = text::print(&program.sdfg);
        let value: Expr = deep("K".to_owned()).parse().unwrap();
        let mut editor = Editor::of_draft(&mut program.sdfg);
        editor.substitute(&[(Symbol::of("N"), value)].into()).unwrap();
        let refused = editor.commit();
        assert!(matches!(refused, Err(EditError::TooLarge { .. })), "{place}: {refused:?}");
        assert_eq!(text::print(&program.sdfg), before, "{place}");
    }
}
