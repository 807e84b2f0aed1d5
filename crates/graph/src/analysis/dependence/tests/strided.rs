//! Tests of symbolic strides, quotients and remainders: typical programs, and near misses against
//! enumeration.

use proptest::prelude::*;
use sdfg_language::symbolic::{Assumptions, Symbol, Truth};

use super::{Point, access, check, dependence, maps, ranges};
use crate::analysis::dependence::Iteration;

/// Different iterations of the first map; nothing is known of any symbol.
fn exists(around: &str, own: &str, other: &str) -> Truth {
    let (own, other) = (access(maps(around), ranges(own)), access(maps(around), ranges(other)));
    dependence(&own, &other, own.around.len(), Iteration::Different(0), &Assumptions::new()).exists
}

#[test]
fn idioms_of_strides_are_decided() {
    use Truth::{Refuted, Unknown};
    let cases = [
        // Loops collapsed into one.
        ("k=0:N*M", "k // M, k % M", "k // M, k % M", Refuted),
        ("k=0:N*M", "k % M, k // M", "k % M, k // M", Refuted),
        ("k=0:N*M*T", "k // (M*T), k // T % M, k % T", "k // (M*T), k // T % M, k % T", Unknown),
        ("k=0:N | m=0:M", "k // (M*T), k // T % M, k % T, m", "k // (M*T), k // T % M, k % T, m", Refuted),
        ("k=0:N", "(k + 1) // M, (k + 1) % M", "(k + 1) // M, (k + 1) % M", Refuted),
        ("k=0:N", "2*(k // M), 0, 3*(k % M)", "2*(k // M), 0, 3*(k % M)", Refuted),
        ("k=0:N", "k // M, k % T", "k // M, k % T", Unknown),
        ("k=0:N", "k // M, k % M", "k // M, (k + 1) % M", Unknown),
        ("k=0:N", "k // M, k % M", "k // M + 1, k % M", Unknown),
        ("k=0:N", "k % M", "k % M", Unknown),
        // Block-cyclic.
        ("p=0:P; i=p:N:P", "i", "i", Refuted),
        ("p=0:P + 1; i=p:N:P", "i", "i", Unknown),
        ("p=0:P; i=p:N:P - 1", "i", "i", Unknown),
        ("p=0:P; i=p:N:P", "i", "i + 1", Unknown),
        // Butterflies.
        ("b=0:N:2*h | j=0:h", "b + j", "b + j", Refuted),
        ("b=0:N:2*h | j=0:h", "b + j", "b + j + h", Refuted),
        ("b=0:N:2*h | j=0:h", "b + j", "b + j + 2*h", Unknown),
        ("b=0:N:2*h | j=0:2*h", "b + j", "b + j", Refuted),
        ("b=0:N:2*h | j=0:2*h + 1", "b + j", "b + j", Unknown),
        ("b=0:N:h | j=0:h", "b + j", "b + j + h", Unknown),
        // Rows with room to spare.
        ("i=0:N | j=0:M", "(M + 2)*i + j + 1", "(M + 2)*i + j + 1", Refuted),
        ("i=0:N | j=0:M", "(M + 2)*i + j", "(M + 2)*i + j + M + 2", Unknown),
        ("i=0:N; j=0:M", "(M + 2)*i + j", "(M + 2)*i + j + 2", Refuted),
        ("i=0:N; j=0:M", "(M + 2)*i + j", "(M + 2)*i + j + 3", Unknown),
        ("i=0:N | j=0:M + 3", "(M + 2)*i + j", "(M + 2)*i + j", Unknown),
        // That a loop around runs at all says that `M` is not 0, no more.
        ("i=0:N; p=0:M", "M*i", "M*i", Refuted),
        ("i=0:N; p=0:M", "(M - 1)*i", "(M - 1)*i", Unknown),
        ("i=0:N | j=0:M | k=0:T", "i*M*T + j*T + k", "i*M*T + j*T + k", Refuted),
    ];
    for (around, own, other, expected) in cases {
        assert_eq!(exists(around, own, other), expected, "for {around}: [{own}] and [{other}]");
    }
}

/// Maps with two accesses as programs write them, and one step beside that.
fn idiom() -> BoxedStrategy<(String, String, String)> {
    let near = || prop_oneof![4 => Just(0i64), 1 => Just(1), 1 => Just(-1)];
    let divisor = || prop_oneof![4 => Just("M"), 1 => Just("(M + 1)"), 1 => Just("2*M"), 1 => Just("(-M)")];
    let collapsed = (divisor(), divisor(), near(), [near(), near()], any::<bool>());
    let collapsed = collapsed.prop_map(|(a, b, c, [d, rows], swap)| {
        let place = |c: i64, rows: i64| {
            let (quotient, rest) = (format!("(k + {c}) // {a} + {rows}"), format!("(k + {d}) % {b}"));
            if swap { format!("{rest}, {quotient}") } else { format!("{quotient}, {rest}") }
        };
        ("k=0:N*M".to_owned(), place(d, 0), place(c + d, rows))
    });
    let nested = (divisor(), divisor(), near(), 1i64..=3).prop_map(|(a, b, c, t)| {
        let place = |c: i64| format!("(k + {c}) // {t} // {a}, (k + {c}) // {t} % {b}, (k + {c}) % {t}");
        (format!("k=0:{t}*N + {t}"), place(0), place(c))
    });
    let cyclic = (near(), near(), near(), 1i64..=2).prop_map(|(a, b, c, times)| {
        (format!("p=0:M + {a}; i=p:N + 4:{times}*M + {b}"), "i".to_owned(), format!("i + {c}"))
    });
    let strided = (1i64..=3, 0i64..=2, near(), near()).prop_map(|(times, part, a, c)| {
        let around = format!("b=0:4*N:{times}*M | j=0:M + {a}");
        (around, "b + j".to_owned(), format!("b + j + {part}*M + {c}"))
    });
    let padded = (0i64..=2, near(), near(), 0i64..=1).prop_map(|(room, a, c, rows)| {
        let around = format!("i=0:N | j=0:M + {a}");
        (around, format!("(M + {room})*i + j"), format!("(M + {room})*(i + {rows}) + j + {c}"))
    });
    prop_oneof![collapsed, nested, cyclic, strided, padded].boxed()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn strides_agree_with_enumeration((around, own, other) in idiom(), later in any::<bool>()) {
        let around = maps(&around);
        let (own, other) = (access(around.clone(), ranges(&own)), access(around, ranges(&other)));
        let n_common = own.around.len();
        let iteration = if later && n_common == 2 { Iteration::Different(1) } else { Iteration::Different(0) };
        let point = |n, m| Point::from([(Symbol::of("N"), n), (Symbol::of("M"), m)]);
        // Divisors are not zero: `M`, `M + 1`, and multiples.
        let free: Vec<Point> =
            (0..4).flat_map(|n| [-3, -2, 1, 2, 3].map(|m| point(n, m))).collect();
        check([&own, &other], n_common, iteration, &free);
    }
}
