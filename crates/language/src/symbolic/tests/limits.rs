//! Tests of limits: no text makes an expression grow, or a query run, without bound. Work is counted, not
//! timed.

use crate::subset::{Range, Subset};
use crate::symbolic::limits::{EFFORT, Effort, SIZE_LIMIT};
use crate::symbolic::prove::Prover;
use crate::symbolic::{Assumptions, Expr, Symbol, Truth};

fn parse(text: &str) -> Expr {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// `open` many times around `a`.
fn nested(open: &str, close: &str, times: usize) -> String {
    format!("{}a{}", open.repeat(times), close.repeat(times))
}

fn joined(count: usize, by: &str, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect::<Vec<_>>().join(by)
}

fn nonnegative() -> Assumptions {
    let mut known = Assumptions::new();
    for name in ["a", "b", "c", "d", "e", "N"] {
        known.nonnegative(Symbol::of(name));
    }
    known
}

/// The function of `x` that is written without it many times over.
fn doubled(x: &Expr) -> Expr {
    x.floor_div(&Expr::sym("b")) + x.modulo(&Expr::sym("c"))
}

#[test]
fn texts_that_grow_too_large_are_refused() {
    let message = "this expression is too large: more than 4096 parts; \
                   give parts of it names, as symbols that a transition assigns";
    for text in [
        nested("abs(b + ", ")", 60),
        joined(300, " * ", |k| format!("{k}**(a*N + {k})")),
        joined(500, " + ", |k| format!("(a*b + {k}) // (b + c)")),
        format!("min({})", joined(2000, ", ", |k| format!("x{k}"))),
    ] {
        let short: String = text.chars().take(60).collect();
        let error = text.parse::<Expr>().map(|e| e.parts()).expect_err(&short).to_string();
        assert_eq!(error, message, "{short}");
    }
    // What a printed opaque value reads back as.
    assert!("expression_too_large(1, 2, N) + 1".parse::<Expr>().is_err());
}

#[test]
fn sums_beside_large_factors_stay_factored() {
    let text = nested("min(c, (b + d + N) * ", ")", 12);
    let expression = parse(&text);
    assert!(expression.parts() < 2000, "{}", expression.parts());
    let one = |_: &Symbol| Some(1);
    assert_eq!(expression.eval(&one), Ok(1));
}

#[test]
fn substitution_ends_in_an_opaque_value() {
    let (a, b) = (Symbol::of("a"), Expr::sym("b"));
    let mut value = Expr::sym("a");
    let mut sizes = Vec::new();
    for _ in 0..40 {
        value = doubled(&value.with_symbol(&a, &(&value + &b)));
        sizes.push(value.parts());
        assert!(value.parts() <= SIZE_LIMIT);
    }
    assert!(value.is_too_large(), "{sizes:?}");
    assert!(value.depends_on(&a) && value.depends_on(&Symbol::of("b")));
}

#[test]
fn depth_is_limited_as_size_is() {
    let mut deep = Expr::sym("a");
    for _ in 0..500 {
        deep = (deep + 1).floor_div(&(Expr::sym("b") + 2));
    }
    assert!(deep.is_too_large());
    assert_eq!(deep.free_symbols().len(), 2);
}

#[test]
fn coefficients_are_limited() {
    let mut product = Expr::int(3);
    for _ in 0..20 {
        product = &product * &product;
    }
    assert!(product.is_too_large());
    // A power is kept as it is written.
    let power = parse("(9000000000000000000*N + 9000000000000000000*a)**1000000");
    assert!(!power.is_too_large() && power.parts() < 20);
    assert!(parse("(3000000000*N + 7)**255").parts() < 20);
}

#[test]
fn opaque_values_equal_themselves_and_nothing_else_is_known_of_them() {
    let large = |shift: i64| {
        let mut value = Expr::sym("a") + shift;
        for _ in 0..30 {
            value = doubled(&value);
        }
        value
    };
    let known = nonnegative();
    let (one, same, other) = (large(0), large(0), large(1));
    assert!(one.is_too_large());
    assert_eq!(one, same);
    assert_ne!(one, other);
    assert_eq!(one.equals(&same, &known), Truth::Proved);
    assert_eq!(one.equals(&other, &known), Truth::Unknown);
    assert_eq!(one.le(&other, &known), Truth::Unknown);
    // It stands for an expression that may be a fraction.
    assert_eq!(one.is_integral(&known), Truth::Unknown);
    assert!(one.eval(&|_| Some(1)).is_err());
    // It is a function of its symbols.
    let at = |value: i64| one.with_symbol(&Symbol::of("a"), &Expr::int(value));
    assert_eq!(at(3), at(3));
    assert_ne!(at(3), at(4));
    assert!(!at(3).depends_on(&Symbol::of("a")));
}

#[test]
fn subsets_of_large_parts_are_covered() {
    let (a, n) = (Symbol::of("a"), Expr::sym("N"));
    let part = parse(&joined(60, " + ", |k| format!("((a*{k} + b) % (c + {k})) * (d // (e + {k}))")));
    let known = nonnegative();
    let subset = Subset(vec![Range::new(part.clone(), &part + &n)]);
    let moved = subset.offset(std::slice::from_ref(&n));
    assert_eq!(subset.covers(&moved, &known), Truth::Unknown);
    assert_eq!(subset.disjoint(&moved, &known), Truth::Proved);
    let image = subset.image(&[(a.clone(), Range::new(0, n))], &known);
    assert!(image.is_none_or(|image| !image.is_exact() && !image.as_inner().free_symbols().contains(&a)));
}

/// Answers about large expressions, each with the work that it took.
#[test]
fn answers_end() {
    let known = nonnegative();
    let quotients = parse(&joined(60, " + ", |k| format!("((a*{k} + b) % (c + {k})) * (d // (e + {k}))")));
    let minima = parse(&joined(60, " - ", |k| format!("min(a*{k} + b, b*{k} + c, c*d, d + e*{k})")));
    let neighbours = parse(&joined(300, " - ", |k| format!("(a + {k}) // 7")));
    let operands = parse(&format!("min({})", joined(400, ", ", |k| format!("a*{k} - b*{}", k * 7 % 13))));
    let spent = |answer: &dyn Fn(&Effort)| {
        let effort = Effort::new();
        answer(&effort);
        effort.spent()
    };
    for (name, expression) in
        [("quotients", quotients), ("minima", minima), ("neighbours", neighbours), ("operands", operands)]
    {
        let work = [
            spent(&|effort| {
                let _ = Prover::new(&known, effort).nonnegative(&expression);
            }),
            spent(&|effort| {
                let _ = expression.simplify_within(&known, effort);
            }),
            spent(&|effort| {
                let (a, n) = (Symbol::of("a"), Expr::sym("N"));
                let _ = expression.bounds_within(&a, &Expr::zero(), &n, &known, effort);
            }),
        ];
        assert!(work.iter().all(|work| *work < 5 * EFFORT), "{name}: {work:?}");
    }
}

#[test]
fn integrality_is_decided_within_the_effort() {
    let product = joined(10, "*", |k| format!("x{k}"));
    let halves =
        |count| parse(&joined(count, " + ", |k| format!("min(a*{k}, {}*b*(b + 1)*{product}/2)", 2 * k + 1)));
    let effort = Effort::new();
    assert_eq!(halves(3).is_integral_within(&nonnegative(), &effort), Truth::Proved);
    assert_eq!(halves(60).is_integral_within(&nonnegative(), &effort), Truth::Unknown);
    assert!(effort.spent() < 2 * EFFORT, "{}", effort.spent());
}
