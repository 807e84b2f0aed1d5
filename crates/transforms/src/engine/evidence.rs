//! Evidence: the facts that a rewrite relied on (decision 21).
//!
//! A fact can be checked without the prover that found it: [`Claim::holds`] enumerates elements for given values of the
//! symbols. Tests do so at small sizes.

use std::collections::BTreeSet;
use std::fmt;

use sdfg::subset::{Range, Subset};
use sdfg::symbolic::{Expr, Symbol};
use sdfg::syntax::CompareOp;

/// The facts that an application relied on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// In the order in which the check established them.
    pub facts: Vec<Fact>,
}

impl Evidence {
    /// Nothing but the structure of the graph.
    pub fn of_structure() -> Self {
        Evidence::default()
    }

    /// Adds a fact.
    pub fn note(&mut self, about: impl Into<String>, claim: Claim) {
        self.facts.push(Fact { about: about.into(), claim });
    }
}

/// A claim with what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// The container, parameter or node concerned.
    pub about: String,
    /// What holds.
    pub claim: Claim,
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.about, self.claim)
    }
}

/// Something that holds for all admissible values of the symbols in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Every element of `inner` is one of `outer`.
    Covers {
        /// The larger part.
        outer: Subset,
        /// The smaller part.
        inner: Subset,
    },
    /// An expression is greater than zero.
    Positive(Expr),
    /// Two expressions are equal.
    Equal(Expr, Expr),
    /// A range has exactly one value.
    OneValue(Range),
    /// No two different values of a symbol in a range give two parts a common element.
    Apart {
        /// The symbol.
        symbol: Symbol,
        /// Its values.
        range: Range,
        /// A part.
        first: Subset,
        /// Another part.
        second: Subset,
    },
    /// Two values of a symbol in a range give two parts a common element only if they differ by at most a distance.
    Near {
        /// The symbol.
        symbol: Symbol,
        /// Its values.
        range: Range,
        /// A part.
        first: Subset,
        /// Another part.
        second: Subset,
        /// The distance.
        distance: i64,
    },
    /// For no value of a symbol in a range do two parts have a common element.
    Disjoint {
        /// The symbol.
        symbol: Symbol,
        /// Its values.
        range: Range,
        /// A part.
        first: Subset,
        /// Another part.
        second: Subset,
    },
    /// The second part at a value of a symbol has no element that the first one has at an earlier value: one that comes before it in
    /// the range.
    NeverLater {
        /// The symbol.
        symbol: Symbol,
        /// Its values, in order.
        range: Range,
        /// The part at the earlier value.
        first: Subset,
        /// The part at the later value.
        second: Subset,
    },
    /// No other part of the program uses the container.
    NoOtherUse,
    /// A comparison that the user states, instead of the prover.
    Stated {
        /// The left side.
        left: Expr,
        /// The comparison.
        op: CompareOp,
        /// The right side.
        right: Expr,
        /// Whether the rewritten program tests it.
        tested: bool,
    },
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Claim::Covers { outer, inner } => write!(f, "[{outer}] covers [{inner}]"),
            Claim::Positive(value) => write!(f, "{value} > 0"),
            Claim::Equal(a, b) => write!(f, "{a} = {b}"),
            Claim::OneValue(range) => write!(f, "{range} has one value"),
            Claim::Apart { symbol, range, first, second } => {
                write!(f, "[{first}] and [{second}] are apart for different {symbol} in {range}")
            }
            Claim::Near { symbol, range, first, second, distance } => {
                write!(
                    f,
                    "[{first}] and [{second}] meet for {symbol} in {range} at a distance of at most {distance}"
                )
            }
            Claim::Disjoint { symbol, range, first, second } => {
                write!(f, "[{first}] and [{second}] are disjoint for each {symbol} in {range}")
            }
            Claim::NeverLater { symbol, range, first, second } => {
                write!(f, "[{second}] has nothing of [{first}] at an earlier {symbol} in {range}")
            }
            Claim::NoOtherUse => f.write_str("nothing else uses it"),
            Claim::Stated { left, op, right, tested } => {
                let by = if *tested { "which a guard tests" } else { "which the user assumes" };
                write!(f, "{left} {} {right}, {by}", op.text())
            }
        }
    }
}

impl Claim {
    /// Whether the claim holds for values of symbols, by enumeration; `None` for claims about the graph, and if an expression has
    /// no value.
    pub fn holds(&self, value: &dyn Fn(&Symbol) -> Option<i64>) -> Option<bool> {
        let number = |expr: &Expr| expr.eval(&|symbol: &Symbol| value(symbol)).ok();
        match self {
            Claim::Covers { outer, inner } => {
                Some(elements(inner, value)?.is_subset(&elements(outer, value)?))
            }
            Claim::Positive(expr) => Some(number(expr)? > 0),
            Claim::Equal(a, b) => Some(number(a)? == number(b)?),
            Claim::OneValue(range) => Some(values(range, value)?.len() == 1),
            Claim::Apart { symbol, range, first, second } => {
                apart((symbol, range), [first, second], |one, other| one != other, value)
            }
            Claim::Near { symbol, range, first, second, distance } => {
                let is_far = |one: i64, other: i64| {
                    i128::from(other).abs_diff(i128::from(one)) > distance.unsigned_abs().into()
                };
                apart((symbol, range), [first, second], is_far, value)
            }
            Claim::Disjoint { symbol, range, first, second } => {
                let disjoint = |number: i64| {
                    let here = |name: &Symbol| if name == symbol { Some(number) } else { value(name) };
                    Some(elements(first, &here)?.is_disjoint(&elements(second, &here)?))
                };
                values(range, value)?.into_iter().try_fold(true, |all, number| Some(all & disjoint(number)?))
            }
            Claim::NeverLater { symbol, range, first, second } => {
                let is_descending = number(&range.step)? < 0;
                let comes_later =
                    |one: i64, other: i64| if is_descending { other < one } else { other > one };
                apart((symbol, range), [first, second], comes_later, value)
            }
            Claim::NoOtherUse => None,
            Claim::Stated { left, op, right, .. } => Some(op.holds(Some(number(left)?.cmp(&number(right)?)))),
        }
    }
}

/// Whether pairs of values of a symbol, those that are compared, give two parts no common element.
fn apart(
    (symbol, range): (&Symbol, &Range),
    parts: [&Subset; 2],
    is_compared: impl Fn(i64, i64) -> bool,
    value: &dyn Fn(&Symbol) -> Option<i64>,
) -> Option<bool> {
    let at = |part: &Subset, number: i64| {
        elements(part, &|name: &Symbol| if name == symbol { Some(number) } else { value(name) })
    };
    let numbers = values(range, value)?;
    let mut is_apart = true;
    for one in &numbers {
        for other in numbers.iter().filter(|other| is_compared(*one, **other)) {
            is_apart &= at(parts[0], *one)?.is_disjoint(&at(parts[1], *other)?);
        }
    }
    Some(is_apart)
}

/// The elements of a subset.
fn elements(subset: &Subset, value: &dyn Fn(&Symbol) -> Option<i64>) -> Option<BTreeSet<Vec<i64>>> {
    let mut found = BTreeSet::from([Vec::new()]);
    for range in &subset.0 {
        let at = values(range, value)?;
        found = found
            .into_iter()
            .flat_map(|front| at.iter().map(move |last| front.iter().copied().chain([*last]).collect()))
            .collect();
    }
    Some(found)
}

/// The values of a range.
fn values(range: &Range, value: &dyn Fn(&Symbol) -> Option<i64>) -> Option<BTreeSet<i64>> {
    let number = |expr: &Expr| expr.eval(&|symbol: &Symbol| value(symbol)).ok();
    let (begin, end) = (number(&range.begin)?, number(&range.end)?);
    let (step, tile) = (number(&range.step)?, number(&range.tile)?);
    let (mut found, mut at) = (BTreeSet::new(), begin);
    while step != 0 && if step > 0 { at < end } else { at > end } {
        found.extend(at..at + tile);
        at += step;
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subset(text: &str) -> Subset {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn range(text: &str) -> Range {
        subset(text).0.remove(0)
    }

    fn expr(text: &str) -> Expr {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    /// With `N = 3`.
    fn holds(claim: &Claim) -> Option<bool> {
        claim.holds(&|symbol| (symbol.as_str() == "N").then_some(3))
    }

    #[test]
    fn ranges_have_the_values_that_loops_have() {
        let values =
            |text| values(&range(text), &|_| Some(3)).map(|found| found.into_iter().collect::<Vec<_>>());
        assert_eq!(values("1:N"), Some(vec![1, 2]));
        assert_eq!(values("0:7:N"), Some(vec![0, 3, 6]));
        assert_eq!(values("5:0:-2"), Some(vec![1, 3, 5]));
        assert_eq!(values("0:6:N:2"), Some(vec![0, 1, 3, 4]));
        assert_eq!(values("N:N"), Some(Vec::new()));
        assert_eq!(values("2"), Some(vec![2]));
    }

    #[test]
    fn claims_hold_or_not() {
        let covers = |outer, inner| Claim::Covers { outer: subset(outer), inner: subset(inner) };
        let stated =
            |left, op, right| Claim::Stated { left: expr(left), op, right: expr(right), tested: true };
        let cases = [
            (covers("0:N, 0:2", "1:3, 1"), true),
            (covers("0:N, 0:2", "1:4, 1"), false),
            (covers("0:N, 0:2", "1:3, 2"), false),
            (Claim::Positive(expr("N - 2")), true),
            (Claim::Positive(expr("N - 3")), false),
            (Claim::Equal(expr("N + 1"), expr("4")), true),
            (Claim::Equal(expr("N"), expr("4")), false),
            (Claim::OneValue(range("2:N")), true),
            (Claim::OneValue(range("1:N")), false),
            (Claim::OneValue(range("N:N")), false),
            (stated("N", CompareOp::GreaterEqual, "3"), true),
            (stated("N", CompareOp::Greater, "3"), false),
        ];
        for (claim, expected) in cases {
            assert_eq!(holds(&claim), Some(expected), "{claim}");
        }
        assert_eq!(holds(&Claim::NoOtherUse), None);
        assert_eq!(holds(&Claim::Positive(expr("M"))), None);
    }

    #[test]
    fn parts_of_iterations_meet_or_not() {
        let cases = [
            // The parts, then whether they are apart, are disjoint in each iteration, and the largest distance at which
            // they meet.
            ("i", "i", true, false, 0),
            ("i", "i + 1", false, true, 1),
            ("2*i", "2*i + 1", true, true, 0),
            ("2*i:2*i + 2", "2*i + 1:2*i + 3", false, false, 1),
            ("i", "2", false, false, 2),
            ("i, 0", "i + 2, 0", false, true, 2),
            ("i, 0", "i + 2, 1", true, true, 0),
        ];
        for (first, second, apart, disjoint, distance) in cases {
            let (symbol, range) = (Symbol::of("i"), range("0:N"));
            let (first, second) = (subset(first), subset(second));
            let with = |distance| Claim::Near {
                symbol: symbol.clone(),
                range: range.clone(),
                first: first.clone(),
                second: second.clone(),
                distance,
            };
            assert_eq!(holds(&with(distance)), Some(true), "{}", with(distance));
            if distance > 0 {
                assert_eq!(holds(&with(distance - 1)), Some(false), "{}", with(distance - 1));
            }
            let claim = Claim::Apart {
                symbol: symbol.clone(),
                range: range.clone(),
                first: first.clone(),
                second: second.clone(),
            };
            assert_eq!(holds(&claim), Some(apart), "{claim}");
            let claim = Claim::Disjoint { symbol, range, first, second };
            assert_eq!(holds(&claim), Some(disjoint), "{claim}");
        }
    }

    #[test]
    fn later_values_are_those_behind_in_the_range() {
        let never_later = |first, second, values| Claim::NeverLater {
            symbol: Symbol::of("i"),
            range: range(values),
            first: subset(first),
            second: subset(second),
        };
        let cases = [
            ("i", "i", "0:N", true),
            ("i", "i + 1", "0:N", true),
            ("i + 1", "i", "0:N", false),
            ("i + 1", "i", "N - 1:-1:-1", true),
            ("i", "i + 1", "N - 1:-1:-1", false),
        ];
        for (first, second, values, expected) in cases {
            let claim = never_later(first, second, values);
            assert_eq!(holds(&claim), Some(expected), "{claim}");
        }
    }

    #[test]
    fn facts_name_their_claims() {
        let fact = |claim| Fact { about: "A".to_owned(), claim }.to_string();
        let stated =
            Claim::Stated { left: expr("N"), op: CompareOp::GreaterEqual, right: expr("3"), tested: false };
        assert_eq!(fact(stated), "A: N >= 3, which the user assumes");
        assert_eq!(fact(Claim::OneValue(range("2:N"))), "A: 2:N has one value");
        assert_eq!(fact(Claim::NoOtherUse), "A: nothing else uses it");
    }
}
