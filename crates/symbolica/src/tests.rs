//! All checks in one test, because an unlicensed Symbolica accepts only one thread.

use sdfg::symbolic::Expr;
use symbolica::atom::AtomCore;

use crate::{FromSymbolicaError, ToSymbolicaError, from_symbolica, to_symbolica};

#[test]
fn expressions_survive_the_round_trip() {
    let texts = [
        "0",
        "-7",
        "2*N + i - 1",
        "(N**2 + N) / 2",
        "N // 4 + 3*(N % 4) - ceil_div(M, 8)",
        "min(N, i + 32) - i",
        "max(N, 0)*K",
        "R**K*R + 2**K",
        "f(N, i + 1) + 1 / 3",
        "123456789012345678*N**3",
    ];
    for text in texts {
        let expression: Expr = text.parse().expect(text);
        let atom = to_symbolica(&expression).expect(text);
        assert_eq!(from_symbolica(&atom), Ok(expression), "{text} by way of {atom}");
    }

    // A number beyond 64 bits, which no text of ours can hold.
    let large = Expr::int(i64::MAX) * i64::MAX * Expr::sym("N");
    assert_eq!(from_symbolica(&to_symbolica(&large).unwrap()), Ok(large));

    // What the bridge is for: a cost is factored there, and comes back as the same polynomial.
    let cost: Expr = "N**2*K + N*K**2".parse().unwrap();
    assert_eq!(from_symbolica(&to_symbolica(&cost).unwrap().factor()), Ok(cost));

    let wildcard = to_symbolica(&Expr::sym("x_"));
    assert_eq!(wildcard, Err(ToSymbolicaError::Wildcard { name: "x_".to_owned() }));
    let foreign = symbolica::atom::Symbol::parse("x", "elsewhere").unwrap().to_atom();
    assert_eq!(
        from_symbolica(&foreign),
        Err(FromSymbolicaError::Foreign { name: "elsewhere::x".to_owned() })
    );
    let float = symbolica::atom::Atom::num(symbolica::coefficient::Coefficient::from(0.5_f64));
    assert!(matches!(from_symbolica(&float), Err(FromSymbolicaError::NotRational { .. })));
}
