//! Tests of ranges that a map around them divides into parts.

use proptest::prelude::*;
use sdfg_language::symbolic::{Assumptions, Truth};

use super::{access, check, dependence, maps, meets, ranges, sizes};
use crate::analysis::dependence::Iteration;

/// Different iterations of the first map; nothing is known of any symbol.
fn exists(around: &str, own: &str, other: &str) -> Truth {
    let (own, other) = (access(maps(around), ranges(own)), access(maps(around), ranges(other)));
    dependence(&own, &other, own.around.len(), Iteration::Different(0), &Assumptions::new()).exists
}

#[test]
fn parts_of_a_range_share_nothing() {
    use Truth::Refuted;
    let part = "k=0:4; i=(N*k - 2*k)//4 + 1:(N*k + N - 2*k - 2)//4 + 1";
    for (around, own, other, is_refuted) in [
        (part, "i", "i", true),
        (part, "i + 3, j", "i + 3, j", true),
        ("k=0:4 | l=0:3; i=k*N//4:(k + 1)*N//4 | j=l*M//3:(l + 1)*M//3", "i, j", "i, j", true),
        ("k=0:4 | l=0:3; i=k*N//4:(k + 1)*N//4 | j=0:M", "i, j", "i, j", false),
        ("k=0:4; i=k*T:k*T + T", "i", "i", true),
        ("k=0:c; i=k*T:k*T + T:2", "i", "i", true),
        ("k=0:4; i=k*N//4 - k:(k + 1)*N//4 - k - 1", "i", "i", true),
        ("k=0:4; i=k - k*N//4:k + 1 - (k + 1)*N//4", "i", "i", true),
        // Pieces of parts.
        ("k=0:4; i=max(k*N//4, M) + 1:min((k + 1)*N//4, N - 1)", "i", "i", true),
        ("k=0:4; i=-min(-(k*N//4) - 1, k*M, 0):min(N, (k + 1)*N//4 - 2, M*k) - 1", "i", "i", true),
        ("k=0:4; i=max(k*N//4, k*M):min((k + 1)*N//4, k*M + 9)", "i", "i", true),
        (
            "k=0:4 | l=0:3; i=max(1, k*N//4):(k + 1)*N//4 | j=l*M//3:min(M - 1, (l + 1)*M//3)",
            "i, j",
            "i, j",
            true,
        ),
        // One more than there are, another index, another part of the other side.
        ("k=0:4; i=k*N//4:(k + 1)*N//4 + 1", "i", "i", false),
        ("k=0:4; i=k*N//4:(k + 1)*N//4", "i", "i + 1", false),
        ("k=0:4; i=k*N//4:(k + 1)*N//4", "2*i", "2*i", false),
        ("k=0:4; i=k*k*N//4:(k + 1)*(k + 1)*N//4", "i", "i", false),
        ("k=0:4; i=k*N//M:(k + 1)*N//M", "i", "i", false),
        ("k=0:4; i=k*N//4:(k + 1)*N//4:-1", "i", "i", false),
        ("k=0:4; i=min(k*N//4, M):(k + 1)*N//4", "i", "i", false),
        ("k=0:4; i=k*N//4:max((k + 1)*N//4, M)", "i", "i", false),
        ("k=0:4; i=max(k*N//4, M) + 1:min((k + 1)*N//4, N - 1) + 2", "i", "i", false),
        ("k=0:4; i=k*N//4 - k*k:(k + 1)*N//4 - (k + 1)*(k + 1)", "i", "i", false),
        ("k=0:4; i=2*(k*N//4) - k:2*((k + 1)*N//4) - k - 1", "i", "i", false),
        ("k=0:4; m=0:2; i=k*m//4:(k + 1)*m//4", "i", "i", false),
    ] {
        assert_eq!(exists(around, own, other) == Refuted, is_refuted, "{around} [{own}] [{other}]");
    }
}

#[test]
fn pieces_of_parts_share_nothing_with_those_of_other_parts() {
    let piece = |range: &str| access(maps(&format!("k=0:4; i={range}")), ranges("i"));
    let (begin, end) = ("max(k*N//4 - k, 1)", "min((k + 1)*N//4 - k - 1, M)");
    let [low, inside, high] = [
        format!("{begin}:min({end}, k*M)"),
        format!("{begin} + 1:{end} - 2"),
        format!("max({begin}, k*M - 3):{end}:2"),
    ]
    .map(|range| piece(&range));
    let beyond = piece(&format!("{begin}:{end} + 1"));
    for first in [&low, &inside, &high] {
        let exists = |second| meets(first, second, 1, Iteration::Different(0), &Assumptions::new());
        assert_eq!([&low, &inside, &high].map(exists), [Truth::Refuted; 3]);
        assert_eq!(exists(&beyond), Truth::Unknown);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parts_agree_with_enumeration(
        factor in -3i64..=3, shift in -2i64..=2, divisor in 1i64..=4, excess in -1i64..=1, squared in prop::bool::weighted(0.2),
        step in 1i64..=2, offset in -1i64..=1, clip in prop::option::of((-2i64..=2, -2i64..=2, -1i64..=1)),
    ) {
        let power = if squared { "*k" } else { "" };
        let next = if squared { "*(k + 1)" } else { "" };
        let begin = format!("({factor}*k{power} + {shift}*N*k)//{divisor}");
        let end = format!("({factor}*(k + 1){next} + {shift}*N*(k + 1))//{divisor} + {excess}");
        let pieces = match clip {
            None => [format!("{begin}:{end}"), format!("{begin}:{end}")],
            Some((low, high, more)) => [
                format!("max({begin}, {low}):min({end}, N + {high})"),
                format!("max({low}*k, {begin}) + {more}:min({end}, {high}, N)"),
            ],
        };
        let [own, other] = pieces.map(|piece| {
            access(maps(&format!("k=0:3; i={piece}:{step}")), ranges(&format!("i + {offset}")))
        });
        let n_common = if clip.is_none() { 2 } else { 1 };
        check([&own, &other], n_common, Iteration::Different(0), &sizes(0..4));
    }
}
