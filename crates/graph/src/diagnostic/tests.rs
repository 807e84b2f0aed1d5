//! Tests of rendering, codes and the JSON form. The tests of validation stand beside its rules.

use sdfg_language::syntax::parse_expression;

use super::*;

const TEXT: &str = "sdfg p {\n  array A: f64[N]\n  é: A[0:N + 1]\n}\n";

fn out_of_bounds() -> Diagnostic {
    let place = |word: &str| {
        let start = TEXT.find(word).unwrap() as u32;
        locate("p.sdft", TEXT, Span::new(start, start + word.len() as u32))
    };
    let path = ElementPath::sdfg("p").enter("s").to(Element::Node(End::connector("t", "a")));
    Diagnostic::error(Code::OutOfBounds, path, "`A[0:N + 1]` leaves `A`")
        .at(Some(&place("A[0:N + 1]")))
        .note("dimension 0 has N elements")
        .suggest("end at N")
        .also(Secondary {
            message: "declared here".into(),
            path: ElementPath::sdfg("p").to(Element::Container("A".into())),
            loc: Some(place("array A")),
        })
}

#[test]
fn carets_stand_under_the_source() {
    insta::assert_snapshot!(render(&[out_of_bounds()], Some(("p.sdft", TEXT)), Style::Plain), @r"
    error[V304]: `A[0:N + 1]` leaves `A`
     --> p.sdft:3:6
      |
    2 |   array A: f64[N]
      |   ------- declared here
    3 |   é: A[0:N + 1]
      |      ^^^^^^^^^^
      |
      = note: at p/s/t.a
      = note: dimension 0 has N elements
      = help: end at N
    ");
}

#[test]
fn without_the_text_the_place_is_told_in_words() {
    insta::assert_snapshot!(render(&[out_of_bounds()], None, Style::Plain), @r"
    error[V304]: `A[0:N + 1]` leaves `A`
    --> p.sdft:3:6
     = note: at p/s/t.a
     = note: p/container A: declared here
     = note: dimension 0 has N elements
     = help: end at N
    ");
}

#[test]
fn spans_outside_of_the_text_are_cut() {
    for span in [Span::new(28, 29), Span::new(4000, 4001), Span::new(9, 2)] {
        let loc = SourceLoc { span: Some(span), ..locate("p.sdft", TEXT, Span::new(0, 0)) };
        render(&[out_of_bounds().at(Some(&loc))], Some(("p.sdft", TEXT)), Style::Color);
    }
}

#[test]
fn syntax_errors_use_the_same_form() {
    let text = "a + ";
    let errors = parse_expression(text).unwrap_err();
    let found: Vec<_> = errors.iter().map(|error| Diagnostic::syntax(error, "-", text)).collect();
    let shown = render(&found, Some(("-", text)), Style::Plain);
    assert!(shown.starts_with("error[P001]: expected "), "{shown}");
    assert!(shown.contains("--> -:1:5"), "{shown}");
}

#[test]
fn codes_have_unique_sorted_names_that_read_back() {
    let names: Vec<&str> = Code::ALL.iter().map(|code| code.name()).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(names, sorted);
    for code in Code::ALL {
        assert_eq!(code.name().to_lowercase().parse(), Ok(*code));
    }
    assert!("V9".parse::<Code>().is_err());
}

#[test]
fn json_leaves_out_what_is_absent() {
    let path = ElementPath::sdfg("p");
    let warning = Diagnostic::warning(Code::UnreachableBlock, path, "never runs");
    let json = serde_json::to_string(&wire::Report::from(&warning)).unwrap();
    assert_eq!(json, r#"{"code":"V602","severity":"warning","message":"never runs","path":"p"}"#);
    let json = serde_json::to_string(&wire::Report::from(&out_of_bounds())).unwrap();
    assert!(json.contains(r#""location":{"file":"p.sdft","line":3,"column":6,"bytes":[33,43]}"#), "{json}");
}

#[test]
fn the_overview_has_every_code_once() {
    let overview = pages::overview(&[]);
    for code in Code::ALL {
        let line = format!("  {code}  {}", code.title());
        assert_eq!(overview.lines().filter(|shown| *shown == line).count(), 1, "{code}");
    }
}
