//! Tests of lexer, parser and printer.

use proptest::prelude::*;

use super::arbitrary;
use super::*;

fn parse(source: &str) -> Expression {
    parse_expression(source).unwrap_or_else(|e| panic!("{source}: {e:?}"))
}

/// Prints every operation in parentheses, to make the grouping visible.
fn grouped(e: &Expression) -> String {
    match &e.kind {
        ExpressionKind::Unary { op, operand } => format!("({op:?} {})", grouped(operand)),
        ExpressionKind::Binary { op, left, right } => {
            format!("({} {} {})", grouped(left), op.text(), grouped(right))
        }
        ExpressionKind::Compare { first, rest } => {
            let rest: Vec<String> =
                rest.iter().map(|(op, e)| format!("{} {}", op.text(), grouped(e))).collect();
            format!("({} {})", grouped(first), rest.join(" "))
        }
        ExpressionKind::Conditional { condition, then, otherwise } => {
            format!("({} ? {} : {})", grouped(condition), grouped(then), grouped(otherwise))
        }
        _ => e.to_string(),
    }
}

#[test]
fn precedence_is_pythons() {
    for (source, expected) in [
        ("a + b * c", "(a + (b * c))"),
        ("a - b - c", "((a - b) - c)"),
        ("-a ** b", "(Negate (a ** b))"),
        ("a ** -b ** c", "(a ** (Negate (b ** c)))"),
        ("a ** b ** c", "(a ** (b ** c))"),
        ("~a * b", "((Invert a) * b)"),
        ("a // b % c", "((a // b) % c)"),
        ("a | b ^ c & d << e + f", "(a | (b ^ (c & (d << (e + f)))))"),
        ("a & b == c", "((a & b) == c)"),
        ("not a == b and c or d", "(((Not (a == b)) and c) or d)"),
        ("a < b <= c + 1", "(a < b <= (c + 1))"),
        ("a if b else c if d else e", "(b ? a : (d ? c : e))"),
        ("a if b or c else d + 1", "((b or c) ? a : (d + 1))"),
    ] {
        assert_eq!(grouped(&parse(source)), expected, "{source}");
    }
}

#[test]
fn atoms() {
    assert_eq!(parse("0x1F").kind, ExpressionKind::Integer(31));
    assert_eq!(parse("18446744073709551615").kind, ExpressionKind::Integer(u64::MAX));
    for (source, value) in [("1.5", 1.5), ("1e-3", 1e-3), (".5", 0.5), ("2.", 2.0), ("1E5", 1e5)] {
        assert_eq!(parse(source).kind, ExpressionKind::Float(FloatLiteral::new(value).unwrap()));
    }
    assert_eq!(parse("2j").kind, ExpressionKind::Imaginary(FloatLiteral::new(2.0).unwrap()));
    assert_eq!(parse("true").kind, ExpressionKind::Bool(true));
    assert_eq!(parse("math . sqrt( x , )").to_string(), "math.sqrt(x)");
    assert_eq!(parse("A[i,\n  0:N:2, :, ::-1]").to_string(), "A[i, 0:N:2, :, ::-1]");
    assert_eq!(parse("β1 + δ").to_string(), "β1 + δ");
}

#[test]
fn indices_may_be_a_tuple_in_parentheses() {
    for (source, expected) in [
        ("a[(i, j)]", "a[i, j]"),
        ("a[((i + 1), (j - 1))]", "a[i + 1, j - 1]"),
        ("a[((i), j, 0)]", "a[i, j, 0]"),
        ("a[((i, j))]", "a[i, j]"),
        ("a[(i,)]", "a[i]"),
        ("a[(i)]", "a[i]"),
        ("a[(0:n, )]", "a[0:n]"),
        ("a[(b[(i, j)], c[(0:n, 1)])]", "a[b[i, j], c[0:n, 1]]"),
        ("a[(0:n, ::2, i)] + (b[(i, j)] * 2)", "a[0:n, ::2, i] + b[i, j] * 2"),
        ("a[(i + 1) * (j + 1), 2]", "a[(i + 1) * (j + 1), 2]"),
        ("a[(i, j\n)]", "a[i, j]"),
    ] {
        assert_eq!(parse(source).to_string(), expected, "{source}");
    }
    for (source, message) in [
        ("a[(i, j), k]", "expected `)`, found `,`"),
        ("a[(i, j]", "expected `)`, found `,`"),
        ("a[()]", "expected an expression, found `)`"),
        ("(i, j)", "expected `)`, found `,`"),
        ("a[(i, (j, k))]", "expected `)`, found `,`"),
    ] {
        assert_eq!(parse_expression(source).unwrap_err()[0].to_string(), message, "{source}");
    }
    let block = parse_block("x[(i, j)] = y[(i, 0:2)]").unwrap();
    assert_eq!(print_block(&block).trim(), "x[i, j] = y[i, 0:2]");
    let deep = format!("a[{}i, j{}]", "(".repeat(100_000), ")".repeat(100_000));
    assert!(matches!(parse_expression(&deep).unwrap_err()[0].kind, ParseErrorKind::TooDeep { .. }));
}

#[test]
fn spans_cover_the_source() {
    let source = "alpha + f(b * 2)";
    let ExpressionKind::Binary { right, .. } = parse(source).kind else { panic!("a sum") };
    assert_eq!(right.span.slice(source), Some("f(b * 2)"));
}

#[test]
fn messages() {
    for (source, message) in [
        ("a +", "expected an expression, found the end of the text"),
        ("a b", "expected the end of the text, found `b`"),
        ("(a", "expected `)`, found the end of the text"),
        ("f(a:b)", "a range cannot stand here"),
        ("1x", "`1x` is not a number"),
        ("18446744073709551616", "the number `18446744073709551616` is out of range"),
        ("1e999", "the number `1e999` is out of range"),
        ("a ? b", "unexpected character `?`"),
        ("a + not b", "`not` is a word of the language and cannot be a name"),
        ("\"abc", "this string is not closed on its line"),
        ("A[]", "expected an index, found `]`"),
    ] {
        let errors = parse_expression(source).unwrap_err();
        assert_eq!(errors[0].to_string(), message, "{source}");
    }
    for deep in
        ["(".repeat(100_000), "-".repeat(100_000), "a+".repeat(100_000), "a if b else ".repeat(100_000)]
    {
        assert!(matches!(parse_expression(&deep).unwrap_err()[0].kind, ParseErrorKind::TooDeep { .. }));
    }
    let branches = "if a: b = 1\n".to_owned() + &"elif a: b = 1\n".repeat(100_000);
    assert!(matches!(parse_block(&branches).unwrap_err()[0].kind, ParseErrorKind::TooDeep { .. }));
    let long = vec!["a"; 200].join(" + ");
    assert_eq!(parse(&long).to_string(), long);
}

#[test]
fn statements() {
    let source = "\
t: f32 = a  # a local
if t > 0: o = t; p = 1
elif t < -1:
    for k in range(0, N, 2):
        t += A[k, 0]

    o = t
else:
    pass
while o < 10: o *= 2
for i in range(N):
    B[i] //= 3";
    let block = parse_block(source).unwrap();
    assert_eq!(block.len(), 4);
    let printed = print_block(&block);
    assert_eq!(parse_block(&printed).unwrap(), block);
    assert_eq!(block[1].span.slice(source).map(|s| s.lines().count()), Some(8));
    assert!(parse_block("").unwrap().is_empty());
    assert_eq!(parse_block("    a = b\n    c = d").unwrap().len(), 2);
}

#[test]
fn several_errors_at_once() {
    let errors =
        parse_block("a = = b; c = d; e\nfor x in y:\n    q = \n    r = 1\nz = 1 +\nif a:\nb = 1\n   c = 2")
            .unwrap_err();
    let messages: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        messages,
        [
            "expected an expression, found `=`",
            "an expression alone has no effect",
            "`for` needs `range(end)`, `range(begin, end)` or `range(begin, end, step)`",
            "expected an expression, found the end of the line",
            "expected an indented block after `:`",
            "this line is indented deeper than the block it stands in",
        ]
    );
}

#[test]
fn lambda() {
    assert_eq!(parse_lambda("lambda a, b : a*b + 1").unwrap().to_string(), "lambda a, b: a * b + 1");
}

#[test]
fn braces_match() {
    assert_eq!(find_matching_brace("x { a = \"}\" # }\n { } } }", 2), Ok(21));
    assert!(find_matching_brace("{ a { }", 0).is_err());
    assert!(find_matching_brace("a", 7).is_err());
}

/// Pieces that make random text look like programs.
fn scrambled() -> impl Strategy<Value = String> {
    let pieces = vec![
        "a", "if", "else", "elif", "for", "in", "range(", "while", ":", "\n", "\n    ", "\n  ", "\t", "=",
        "+=", "(", ")", "[", "]", "{", "}", ",", ";", "1", "1.5", "2j", "**", "//", "not ", "and ", "\"s",
        "'", "\\", "#", " ", ".", "->", "0x", "é", "lambda ", "-",
    ];
    proptest::collection::vec(prop::sample::select(pieces), 0..40).prop_map(|p| p.concat())
}

proptest! {
    #[test]
    fn printed_expressions_parse_to_themselves(e in arbitrary::expression()) {
        prop_assert_eq!(parse(&e.to_string()), e);
    }

    #[test]
    fn printed_blocks_parse_to_themselves(block in arbitrary::block()) {
        let printed = print_block(&block);
        prop_assert_eq!(parse_block(&printed).map_err(|e| format!("{e:?}\n{printed}")), Ok(block));
    }

    #[test]
    fn any_text_is_handled(text in prop_oneof![any::<String>(), scrambled()]) {
        let (tokens, _) = tokenize(&text, 0);
        prop_assert!(tokens.windows(2).all(|w| w[0].span.end <= w[1].span.start));
        for result in [parse_expression(&text).map(drop), parse_block(&text).map(drop), parse_lambda(&text).map(drop)] {
            prop_assert!(result.is_ok() || result.is_err_and(|e| !e.is_empty()));
        }
        let dedented = Dedented::new(&text);
        prop_assert_eq!(Dedented::new(dedented.text()).text().lines().count(), dedented.text().lines().count());
    }

    #[test]
    fn tokens_do_not_depend_on_the_base(text in scrambled()) {
        let (plain, _) = tokenize(&text, 0);
        let (shifted, _) = tokenize(&text, 1000);
        prop_assert!(plain.iter().zip(&shifted).all(|(a, b)| a.kind == b.kind && a.span.start + 1000 == b.span.start));
    }
}
