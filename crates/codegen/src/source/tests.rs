//! Tests of printed text: names, parentheses, comments, and declarations without a reader. Agreement tests compile
//! whole programs and compare their results.

mod device;

use std::collections::BTreeSet;

use sdfg::text::parse;
use sdfg::validate::validate;

use super::text::{Code, Precedence, words};
use super::*;
use crate::lower::{LowerOptions, Target, lower};

#[test]
fn flags_follow_the_mode() {
    assert!(c_flags(FloatMode::Strict).contains(&"-ffp-contract=off"));
    assert!(c_flags(FloatMode::Fast).contains(&"-ffast-math"));
}

/// The C source of a program.
fn printed(program: &str) -> String {
    let program = parse("p.sdft", program).unwrap_or_else(|errors| panic!("{errors:?}"));
    let program = validate(program).unwrap_or_else(|rejected| panic!("{rejected}"));
    let plan = lower(&program, &Target::cpu(), &LowerOptions::default()).unwrap();
    c_source(&plan, &SourceOptions::default()).unwrap()
}

/// The text of one function, without its name and result type.
fn function<'t>(source: &'t str, name: &str) -> &'t str {
    let definition = source
        .split("\n}\n")
        .find(|part| part.lines().any(|line| line.contains(&format!(" {name}(")) && line.ends_with('{')));
    definition.and_then(|part| part.split_once(&format!(" {name}("))).unwrap().1
}

/// A program with one map, whose names are `names`: of the map's parameter, an array, a transient and a connector.
fn with_names([parameter, array, transient, connector]: [&str; 4]) -> String {
    format!(
        "sdfg p {{
  symbol N: i64
  array {array}: f64[N]
  transient array {transient}: f64[N]
  state s {{
    access {array}
    access {transient}
    map m [{parameter} = 0:N] {{
      tasklet t ({connector}) -> (o) {{ o = 2 * {connector} }}
      m.{array} -> t.{connector}: {array}[{parameter}]
      t.o -> m.{transient}: {transient}[{parameter}]
    }}
    {array} -> m.{array}
    m.{transient} -> {transient}
    map n [{parameter} = 0:N] {{
      tasklet u ({connector}) -> (o) {{ o = {connector} }}
      n.{transient} -> u.{connector}: {transient}[N - 1 - {parameter}]
      u.o -> n.{array}: {array}[{parameter}]
    }}
    {transient} -> n.{transient}
    access last = {array}
    n.{array} -> last
  }}
}}"
    )
}

#[test]
fn names_of_the_program_are_the_names_in_c() {
    let source = printed(&with_names(["row", "matrix", "scratch", "x"]));
    for name in ["row", "matrix", "scratch"] {
        assert!(words(&source).any(|word| word == name), "{name} is not in\n{source}");
    }
}

/// Names that C, C++, OpenMP, the C library or generated functions use get a prefix.
#[test]
fn names_that_c_uses_are_replaced() {
    for names in [
        ["register", "class", "template", "double"],
        ["sin", "malloc", "omp_get_num_threads", "exp"],
        ["INT64_MAX", "NULL", "errno", "M_PI"],
        ["thread", "handle", "status", "threads"],
        ["p_run", "p_create", "p", "p_destroy"],
    ] {
        let source = printed(&with_names(names));
        let run = function(&source, "p_run");
        let arguments = run.split_once(')').unwrap().0;
        let declared: Vec<&str> = arguments
            .split(',')
            .filter_map(|argument| words(argument).filter(|word| !word.is_empty()).last())
            .collect();
        let distinct: BTreeSet<&str> = declared.iter().copied().collect();
        assert_eq!(distinct.len(), declared.len(), "{arguments}");
        assert!(!declared[1..].contains(&names[1]), "`{}` is an argument: {arguments}", names[1]);
    }
}

/// Headers define macros of these names, which generated code does not use.
#[test]
fn names_of_macros_are_replaced() {
    let names = ["linux", "unix", "EOF", "BUFSIZ"];
    let source = printed(&with_names(names));
    // Messages for callers, in quotes, contain the names of the program.
    let code: String = source.split('"').step_by(2).collect();
    for name in names {
        assert!(!words(&code).any(|word| word == name), "{name} is in\n{code}");
    }
}

/// A label may contain any text, also the end of a comment.
#[test]
fn comments_end_where_they_should() {
    for label in ["a */ b", "*/", "/*", "*//*", "**//", "/*/", "a /* b */ c", "*/*/"] {
        let source = printed(&format!(
            "sdfg p {{
  array A: f64[4]
  state \"{label}\" {{
    access A
    map \"{label} map\" [i = 0:4] {{
      tasklet \"{label} tasklet\" () -> (o) {{ o = 1.0 }}
      \"{label} tasklet\".o -> \"{label} map\".A: A[i]
    }}
    \"{label} map\".A -> A
  }}
}}"
        ));
        let mut rest = source.as_str();
        let mut n_comments = 0;
        while let Some((_, comment)) = rest.split_once("/*") {
            let (comment, behind) = comment.split_once("*/").unwrap();
            assert!(!comment.contains("/*"), "{label}: compilers warn of a comment in a comment: {comment}");
            assert!(behind.starts_with('\n'), "{label}: a comment is followed by code: {behind:.40}");
            rest = behind;
            n_comments += 1;
        }
        assert!(n_comments > 4 && !rest.contains("*/"), "{label}");
    }
}

/// An expression tree, for comparison with the tree that C reads.
#[derive(Clone, Debug, PartialEq)]
enum Tree {
    Name(String),
    Prefix(&'static str, Box<Tree>),
    Infix(&'static str, Box<Tree>, Box<Tree>),
    Choice(Box<[Tree; 3]>),
}

/// The binary operators of C by precedence (C11, 6.5.5 to 6.5.14), loosest first.
const LEVELS: [(&[&str], Precedence); 10] = [
    (&["||"], Precedence::Or),
    (&["&&"], Precedence::And),
    (&["|"], Precedence::BitOr),
    (&["^"], Precedence::BitXor),
    (&["&"], Precedence::BitAnd),
    (&["==", "!="], Precedence::Equality),
    (&["<", ">="], Precedence::Relation),
    (&["<<", ">>"], Precedence::Shift),
    (&["+", "-"], Precedence::Sum),
    (&["*", "/", "%"], Precedence::Product),
];

impl Tree {
    /// A tree that the state of a generator selects.
    fn random(state: &mut u64, depth: usize) -> Tree {
        let mut next = |below: usize| {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (*state >> 33) as usize % below
        };
        let kind = if depth == 0 { 0 } else { next(8) };
        let level = LEVELS[next(LEVELS.len())].0;
        let operator = level[next(level.len())];
        let name = ["a", "b", "c", "d"][next(4)];
        let mut inner = || Box::new(Tree::random(state, depth - 1));
        match kind {
            0 => Tree::Name(name.to_owned()),
            1 => Tree::Prefix(["-", "!", "~"][name.len() + level.len() - 2], inner()),
            2 => Tree::Choice(Box::new([*inner(), *inner(), *inner()])),
            _ => Tree::Infix(operator, inner(), inner()),
        }
    }

    fn code(&self) -> Code {
        match self {
            Tree::Name(name) => Code::atom(name),
            Tree::Prefix(operator, operand) => Code::prefix(operator, &operand.code()),
            Tree::Infix(operator, left, right) => {
                let level = LEVELS.iter().find(|(level, _)| level.contains(operator)).unwrap();
                Code::infix(operator, level.1, &left.code(), &right.code())
            }
            Tree::Choice(parts) => {
                let [condition, then, otherwise] = parts.each_ref().map(Tree::code);
                Code::choice(&condition, &then, &otherwise)
            }
        }
    }
}

/// Reads an expression as a C compiler does.
struct Reader<'t> {
    tokens: Vec<&'t str>,
    at: usize,
}

impl<'t> Reader<'t> {
    /// The tree of a text, or nothing if the text is not an expression.
    fn read(text: &'t str) -> Option<Tree> {
        let mut tokens = Vec::new();
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let two = ["||", "&&", "==", "!=", ">=", "<<", ">>", "--"];
            let length = two.iter().find(|token| rest.starts_with(**token)).map_or(1, |token| token.len());
            tokens.push(&rest[..length]);
            rest = rest[length..].trim_start();
        }
        let mut reader = Reader { tokens, at: 0 };
        let tree = reader.choice()?;
        (reader.at == reader.tokens.len()).then_some(tree)
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.tokens.get(self.at) == Some(&token);
        self.at += usize::from(found);
        found
    }

    fn choice(&mut self) -> Option<Tree> {
        let condition = self.infix(0)?;
        if !self.eat("?") {
            return Some(condition);
        }
        let then = self.choice()?;
        self.eat(":").then_some(())?;
        Some(Tree::Choice(Box::new([condition, then, self.choice()?])))
    }

    fn infix(&mut self, level: usize) -> Option<Tree> {
        let Some((operators, _)) = LEVELS.get(level) else { return self.prefix() };
        let mut left = self.infix(level + 1)?;
        while let Some(operator) = operators.iter().find(|operator| self.eat(operator)) {
            left = Tree::Infix(operator, Box::new(left), Box::new(self.infix(level + 1)?));
        }
        Some(left)
    }

    fn prefix(&mut self) -> Option<Tree> {
        if let Some(operator) = ["-", "!", "~"].iter().find(|operator| self.eat(operator)) {
            return Some(Tree::Prefix(operator, Box::new(self.prefix()?)));
        }
        if self.eat("(") {
            let tree = self.choice()?;
            return self.eat(")").then_some(tree);
        }
        let name = self.tokens.get(self.at)?;
        self.at += 1;
        name.starts_with(|c: char| c.is_ascii_alphabetic()).then(|| Tree::Name((*name).to_owned()))
    }
}

/// Every pair of matching parentheses of a text, by position.
fn parentheses(text: &str) -> Vec<(usize, usize)> {
    let (mut open, mut pairs) = (Vec::new(), Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '(' => open.push(at),
            ')' => pairs.push((open.pop().unwrap(), at)),
            _ => {}
        }
    }
    pairs
}

#[test]
fn c_reads_the_expression_that_was_printed() {
    let mut state = 1;
    for _ in 0..4000 {
        let tree = Tree::random(&mut state, 4);
        let text = tree.code().text;
        assert_eq!(Reader::read(&text).as_ref(), Some(&tree), "{text}");
    }
}

/// Each pair changes the meaning, or is one that `-Wparentheses` asks for, or stands in a conditional expression.
#[test]
fn parentheses_are_minimal() {
    let mut state = 2;
    let mut n_pairs = 0;
    for _ in 0..4000 {
        let tree = Tree::random(&mut state, 3);
        let text = tree.code().text;
        for (open, close) in parentheses(&text) {
            n_pairs += 1;
            let without = [&text[..open], &text[open + 1..close], &text[close + 1..]].concat();
            if Reader::read(&without).as_ref() != Some(&tree) {
                continue;
            }
            let inner = Reader::read(&text[open + 1..close]);
            assert!(
                is_for_readers(&tree, inner.as_ref().unwrap()),
                "{text}: not needed are those of {inner:?}"
            );
        }
    }
    assert!(n_pairs > 1000);
}

/// Whether `inner` stands in `tree` as an operand of an operator that readers mistake beside it.
fn is_for_readers(tree: &Tree, inner: &Tree) -> bool {
    let bitwise = ["|", "^", "&", "<<", ">>"];
    let comparisons = ["==", "!=", "<", ">="];
    let asks = |outer: &str, operand: &Tree| match operand {
        Tree::Infix(operator, ..) => {
            outer == "||" && *operator == "&&"
                || bitwise.contains(&outer) && *operator != outer
                || comparisons.contains(&outer) && comparisons.contains(operator)
        }
        Tree::Name(_) | Tree::Prefix(..) | Tree::Choice(_) => false,
    };
    match tree {
        Tree::Name(_) => false,
        Tree::Prefix(outer, operand) => {
            let repeats = matches!(&**operand, Tree::Prefix(operator, _) if operator == outer);
            **operand == *inner && repeats || is_for_readers(operand, inner)
        }
        Tree::Infix(outer, left, right) => [left, right]
            .into_iter()
            .any(|side| **side == *inner && asks(outer, side) || is_for_readers(side, inner)),
        Tree::Choice(parts) => parts
            .iter()
            .any(|part| *part == *inner && matches!(part, Tree::Choice(_)) || is_for_readers(part, inner)),
    }
}

/// A declaration without a reader is a warning of gcc and clang.
#[test]
fn declarations_have_readers() {
    let source = printed(
        "sdfg p {
  symbol N: i64
  symbol M: i64
  array A: f64[N, M]
  array B: f64[N, M]
  state s {
    access A
    access B
    map m [i = 0:N, j = 0:M] schedule(cpu_multicore) {
      tasklet t (x, unread) -> (o) {
        doubled = x * 2
        raised = unread + 1
        squared = raised * raised
        o = doubled
      }
      m.A -> t.x: A[i, j]
      m.A -> t.unread: A[N - 1 - i, j]
      t.o -> m.B: B[i, j]
    }
    A -> m.A
    m.B -> B
  }
}",
    );
    for name in ["raised", "squared", "unread"] {
        assert!(!words(&source).any(|word| word == name), "{name} is declared:\n{source}");
    }
    for body in source.split("\n}\n") {
        for line in
            body.lines().filter(|line| line.trim_start().starts_with("const ") && line.contains(" = "))
        {
            let place = line.split_once(" = ").unwrap().0;
            let name = words(place).filter(|word| !word.is_empty()).last().unwrap();
            assert!(words(body).filter(|word| *word == name).count() > 1, "{name} has no reader:\n{body}");
        }
    }
}
