//! Tests of the canonical form and of printing.

use std::collections::BTreeMap;

use super::{EvalError, Expr, Symbol};

mod compare;
mod limits;
mod properties;
mod tree;

fn n() -> Expr {
    Expr::sym("N")
}

fn i() -> Expr {
    Expr::sym("i")
}

#[test]
fn prints_the_canonical_form() {
    let k = Expr::sym("K");
    let cases = [
        (n() * 2 + i() - 1, "2*N + i - 1"),
        (&i() - &n(), "i - N"),
        (-n() - 1, "-N - 1"),
        (n().floor_div(&Expr::int(2)), "N // 2"),
        (-(n().floor_div(&Expr::int(2))), "-(N // 2)"),
        (n() - n().floor_div(&Expr::int(2)), "N - N // 2"),
        (n().modulo(&Expr::int(4)) * 3, "3*(N % 4)"),
        (i().min(n()), "min(N, i)"),
        (n().pow(&k), "N**K"),
        (n().pow(&(&k + 1)), "N**(K + 1)"),
        ((n() + 1).pow(&k) * 2, "2*(N + 1)**K"),
        (n().ceil_div(&Expr::int(4)), "ceil_div(N, 4)"),
        ((n() + 3).floor_div(&Expr::int(4)), "ceil_div(N, 4)"),
        (-(-n()).floor_div(&Expr::int(4)), "ceil_div(N, 4)"),
        ((n() * &n() + &n()).exact_div(&Expr::int(2)).unwrap(), "(N**2 + N) / 2"),
        (n().exact_div(&Expr::int(-2)).unwrap(), "-N / 2"),
        (n().exact_div(&Expr::int(2)).unwrap().floor_div(&k), "N // (2*K)"),
        (Expr::rational(-3, 6).unwrap(), "-1 / 2"),
        (Expr::zero(), "0"),
        (n().floor_div(&Expr::zero()), "N // 0"),
        (Expr::call("f", vec![n(), i() + 1]), "f(N, i + 1)"),
        ((i() + 8).min(Expr::int(100)), "min(i + 8, 100)"),
    ];
    for (expression, text) in cases {
        assert_eq!(expression.to_string(), text);
    }
}

#[test]
fn equal_polynomials_are_equal_values() {
    let (r, k) = (Expr::sym("R"), Expr::sym("K"));
    assert_eq!(r.pow(&k) * &r, r.pow(&(&k + 1)));
    assert_eq!(r.pow(&k) * r.pow(&-&k), Expr::one());
    assert_eq!(Expr::int(2).pow(&(&k + 1)), Expr::int(2).pow(&k) * 2);
    assert_eq!((&r + &k).pow(&Expr::int(2)), &r * &r + &r * &k * 2 + &k * &k);
    assert_eq!((n() * 4 + 2).floor_div(&Expr::int(4)), n());
    assert_eq!((n() * &k + &i()).floor_div(&n()), &k + i().floor_div(&n()));
    assert_eq!(n().floor_div(&-&k), (-n()).floor_div(&k));
    assert_eq!(n().modulo(&-&k), -(-n()).modulo(&k));
    assert_eq!((n() * &k * 6).floor_div(&(&k * 4)), (n() * 3).floor_div(&Expr::int(2)));
    assert_eq!((n() * 5 + 7).modulo(&Expr::int(4)), (n() + 3).modulo(&Expr::int(4)));
    assert_eq!((n() - 1).min(i() + 3) + 1, n().min(i() + 4));
    assert_eq!(n().min(n() + 1), n());
    assert_eq!(n().max(i()).max(n()), i().max(n()));
}

#[test]
fn substitution_is_simultaneous() {
    let swap = BTreeMap::from([(Symbol::of("N"), i()), (Symbol::of("i"), n())]);
    assert_eq!((n() - i().floor_div(&Expr::int(2))).substitute(&swap), i() - n().floor_div(&Expr::int(2)));
}

#[test]
fn evaluation_reports_what_is_wrong() {
    let at = |value: i64| move |symbol: &Symbol| (symbol.as_str() == "N").then_some(value);
    assert_eq!((n() * n()).eval(&at(3)), Ok(9));
    assert_eq!((n() * n()).eval(&at(i64::MAX)), Err(EvalError::Overflow));
    assert_eq!((n() * n() - n() * n() + 1).eval(&at(i64::MAX)), Ok(1));
    assert_eq!(i().eval(&at(3)), Err(EvalError::UnknownSymbol(Symbol::of("i"))));
    assert_eq!(n().floor_div(&Expr::zero()).eval(&at(3)), Err(EvalError::DivisionByZero));
    assert_eq!(Expr::zero().pow(&-n()).eval(&at(3)), Err(EvalError::NegativeExponent));
    assert!(matches!(n().exact_div(&Expr::int(2)).unwrap().eval(&at(3)), Err(EvalError::NotIntegral { .. })));
    assert!(matches!(Expr::call("f", vec![]).eval(&at(3)), Err(EvalError::UnknownFunction(_))));
}

/// Nonsense stays affordable: what is too large to multiply out or to compare is left as it is.
#[test]
fn large_expressions_stay_small() {
    let factor = |k: i64| format!("(a + b*{k} + c*{} + d + {k})", k + 3);
    let product: Expr = (0..20).map(factor).collect::<Vec<_>>().join(" * ").parse().unwrap();
    assert!(product.to_string().len() < 2_000);
    let operand = |k: i64| format!("a*{k} + b*{}", k * 7 % 13);
    let least: Expr =
        format!("min({})", (0..100).map(operand).collect::<Vec<_>>().join(", ")).parse().unwrap();
    assert_eq!(least.eval(&|_| Some(1)), Ok(0));
    assert_eq!(least.simplify(&super::Assumptions::new()), least);
}
