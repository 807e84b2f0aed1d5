//! Tests of the grammar of paths, and of their resolution in programs.

use super::*;
use crate::text;

#[test]
fn paths_read_from_the_outside_in() {
    let state = ElementPath::sdfg("laplace").enter("step");
    assert_eq!(state.to_string(), "laplace/step");
    assert_eq!(state.to(Element::Node(End::connector("lap", "o"))).to_string(), "laplace/step/lap.o");
    let edge =
        Element::Edge { source: End::connector("cells", "A"), destination: End::node("new"), before: 0 };
    assert_eq!(state.enter("call").to(edge).to_string(), "laplace/step/call/cells.A -> new");
}

#[test]
fn an_element_has_one_path_however_it_is_made() {
    let program = ElementPath::sdfg("p");
    assert_eq!(program.to(Element::Block("s".into())), program.enter("s"));
    assert_eq!(program.enter("s").to(Element::Node(End::node("t"))), program.enter("s").enter("t"));
    let transition = Element::Transition { source: "a".into(), destination: "b".into(), before: 1 };
    assert_eq!(program.to(transition).to_string(), "p/a -> b #2");
}

#[test]
fn what_is_printed_is_read_again() {
    let odd =
        ["t", "state_0 copy", "a/b", "for", "exit", "container", "symbol", "", "a\"\\\n\t->#2", "é.x@y", "1"];
    let mut elements = vec![Element::Scope];
    for name in odd {
        let end = End::connector(name, "x");
        let exact = End { node: name.to_owned(), connector: Some(ConnectorName::Exact(name.to_owned())) };
        elements.extend([
            Element::Container(name.to_owned()),
            Element::Symbol(name.to_owned()),
            Element::Node(end.clone()),
            Element::Exit(End::node(name)),
            Element::Exit(exact.clone()),
            Element::Edge { source: exact, destination: end, before: 0 },
            Element::Edge { source: End::node("x"), destination: End::connector(name, name), before: 11 },
        ]);
    }
    for label in odd {
        for element in &elements {
            for path in
                [ElementPath::sdfg(label), ElementPath::sdfg("p").enter(label), ElementPath::default()]
            {
                let path = path.to(element.clone());
                if !path.is_empty() {
                    assert_eq!(path.to_string().parse(), Ok(path.clone()), "{path}");
                }
            }
        }
    }
}

#[test]
fn blanks_may_stand_around_arrows_and_ordinals() {
    for text in ["p/s/a.x->b@k #2", " p / s / a.x  ->  b@k#2 "] {
        assert_eq!(text.parse::<ElementPath>().unwrap().to_string(), "p/s/a.x -> b@k #2");
    }
}

#[test]
fn labels_with_dots_need_no_quotes() {
    for (text, printed) in [
        ("p/gemm.tile0/t", "p/\"gemm.tile0\"/t"),
        ("p/a.b.c", "p/\"a.b\".c"),
        ("p/a.tile0.A -> b", "p/\"a.tile0\".A -> b"),
        ("exit a.tile0@k", "exit \"a.tile0\"@k"),
    ] {
        assert_eq!(text.parse::<ElementPath>().unwrap().to_string(), printed);
    }
    let program = text::parse(
        "p.sdft",
        "sdfg p {
  array A: f64[4]
  state s {
    access A
    map \"m.tile0\" [i = 0:4] {
      tasklet t () -> (y) { y = 1.0 }
      t.y -> \"m.tile0\".A: A[i]
    }
    \"m.tile0\".A -> A
  }
}",
    )
    .unwrap();
    for (text, whole) in [
        ("m.tile0", "p/s/\"m.tile0\""),
        ("s/m.tile0", "p/s/\"m.tile0\""),
        ("exit m.tile0.A", "p/s/exit \"m.tile0\".A"),
        ("t.y", "p/s/t.y"),
    ] {
        let place = text.parse::<ElementPath>().unwrap().resolve(&program).unwrap();
        assert_eq!(place.path(&program).unwrap().to_string(), whole);
    }
    assert!("m.tile1".parse::<ElementPath>().unwrap().resolve(&program).is_err());
}

#[test]
fn what_is_no_path_is_refused_with_the_character() {
    for (text, expected, at) in [
        ("", "a name", 1),
        ("p/", "a name", 3),
        ("p/s/t.", "the name of a connector", 7),
        ("p/s t", "the end", 5),
        ("p/a - b", "`->`", 6),
        ("p/a -> b #0", "a number from 1 on", 12),
        ("p/\"a", "`\"`", 5),
        ("é/a@b/c", "the end", 6),
    ] {
        let error = text.parse::<ElementPath>().unwrap_err();
        assert_eq!((error.expected, error.at), (expected, at), "{text}: {error}");
    }
}

const PROGRAM: &str = "
    sdfg p {
      symbol N: i64
      array A: f64[N]
      array B: f64[N]
      scalar step: f64

      state step {
        access a = A
        access B
        map m [i = 0:N] {
          tasklet gemm (x) -> (y) { y = x }
          m.A -> gemm.x: A[i]
          gemm.y -> m.B: B[i]
        }
        nested call (A) -> () sdfg inner {
          symbol N: i64
          array A: f64[N]
          transient scalar q: f64
          state step { access A; tasklet t (x) -> () { }; A -> t.x: A[0] }
        }
        a -> m.A
        m.B -> B
        a -> call.A
      }
      -> last if N > 1
      -> last if N > 2
      state last { access A; access B; A -> B: A[0] -> B[0]; A -> B: A[1] -> B[1] }
    }";

fn program() -> crate::ir::Sdfg {
    text::parse("p.sdft", PROGRAM).unwrap()
}

fn path(text: &str) -> ElementPath {
    text.parse().unwrap()
}

#[test]
fn a_path_may_leave_out_what_leads_to_the_element() {
    let sdfg = program();
    for (short, whole) in [
        ("gemm", "p/step/gemm"),
        ("gemm.x", "p/step/gemm.x"),
        ("m", "p/step/m"),
        ("exit m", "p/step/exit m"),
        ("t", "p/step/call/step/t"),
        ("call/step", "p/step/call/step"),
        ("container B", "p/container B"),
        ("q", "p/step/call/container q"),
        ("p/symbol N", "p/symbol N"),
        ("p/step", "p/step"),
        ("step -> last #2", "p/step -> last #2"),
        ("A -> B #2", "p/last/A -> B #2"),
        ("m.A -> gemm.x", "p/step/m.A -> gemm.x"),
    ] {
        let place = path(short).resolve(&sdfg).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(place.path(&sdfg).unwrap().to_string(), whole);
    }
}

#[test]
fn a_path_that_may_mean_several_elements_is_refused_with_all_of_them() {
    let sdfg = program();
    for (text, message) in [
        ("step", "`step` may be `p/step` or `p/step/call/step`: write more of the path"),
        ("B", "`B` may be `p/step/B` or `p/last/B`: write more of the path"),
        ("symbol N", "`symbol N` may be `p/symbol N` or `p/step/call/symbol N`: write more of the path"),
    ] {
        assert_eq!(path(text).resolve(&sdfg).unwrap_err().to_string(), message);
    }
}

#[test]
fn a_path_of_nothing_is_refused_with_what_is_near() {
    let sdfg = program();
    for (text, message) in [
        ("p/last/gemm", "the program `p` has no `p/last/gemm`; did you mean `p/step/gemm`?"),
        ("gem", "the program `p` has no `gem`; did you mean `p/step/gemm`?"),
        ("p/stp/gemm.x", "the program `p` has no `p/stp/gemm.x`; did you mean `p/step/gemm.x`?"),
        (
            "p/container C",
            "the program `p` has no `p/container C`; did you mean `p/container A`, `p/container B` or `p/container step`?",
        ),
        ("nowhere", "the program `p` has no `nowhere`"),
    ] {
        assert_eq!(path(text).resolve(&sdfg).unwrap_err().to_string(), message);
    }
}

#[test]
fn anchors_are_as_short_as_they_can_be() {
    let sdfg = program();
    let anchors = |text: &str| path(text).resolve(&sdfg).unwrap().anchor(&sdfg).unwrap().to_string();
    assert_eq!(anchors("p/step/gemm"), "gemm");
    assert_eq!(anchors("p/step"), "p/step");
    assert_eq!(anchors("p/step/call/step"), "call/step");
    assert_eq!(anchors("p/last/B"), "last/B");
    assert_eq!(anchors("p/last/A -> B #2"), "A -> B #2");
    assert_eq!(anchors("p"), "p");
}
