//! Counterexamples: values of symbols that satisfy the assumptions and violate a statement show that it has
//! no proof.
//!
//! Most proofs that fail take long, and most of them fail for simple values: large or small sizes, sizes in
//! either order, and iterations at the ends of their ranges. Proofs are sound. Therefore an attempt that an
//! example prevents would not have succeeded.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use super::assumptions::SymbolBounds;
use super::{Assumptions, Expr, Symbol};

/// One value for each symbol.
#[derive(Debug)]
struct Example {
    /// Of the symbols that have bounds.
    values: Vec<(Symbol, i64)>,
    choice: &'static Choice,
}

/// Choice of values.
#[derive(Debug)]
struct Choice {
    /// Distance of symbols with one bound from that bound, and the increment for each further symbol.
    distance: i64,
    further: i64,
    /// Position of symbols with two bounds between the lower and the upper bound, in halves.
    halves: i64,
    /// The sign of symbols without bounds.
    sign: i64,
}

const CHOICES: [Choice; 5] = [
    Choice { distance: 1000, further: 37, halves: 0, sign: 1 },
    Choice { distance: 3000, further: -41, halves: 2, sign: -1 },
    Choice { distance: 3, further: 0, halves: 2, sign: 1 },
    Choice { distance: 40, further: 9, halves: 1, sign: -1 },
    Choice { distance: 1, further: 0, halves: 0, sign: 1 },
];

/// Bounds on more symbols are not looked at.
const MOST_SYMBOLS: usize = 48;

/// The signs that an expression has in examples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Signs {
    pub(super) negative: bool,
    pub(super) zero: bool,
    pub(super) positive: bool,
}

impl Example {
    /// Values that satisfy the assumptions, if this choice leads to some.
    fn of(assumptions: &Assumptions, choice: &'static Choice) -> Option<Example> {
        let bounds = assumptions.bounds();
        let mut example = Example { values: Vec::with_capacity(bounds.len()), choice };
        let mut waiting: Vec<(usize, &Symbol, &SymbolBounds)> =
            bounds.iter().enumerate().map(|(at, (symbol, bounds))| (at, symbol, bounds)).collect();
        // Bounds mention symbols further out, which come first.
        while !waiting.is_empty() {
            let before = waiting.len();
            let mut later = Vec::new();
            for (at, symbol, own) in waiting {
                if own.mention(&mut |other| bounds.contains(other) && !example.has(other)) {
                    later.push((at, symbol, own));
                } else {
                    let value = example.choose(at as i64, own)?;
                    example.values.push((symbol.clone(), value));
                }
            }
            if later.len() == before {
                return None;
            }
            waiting = later;
        }
        let holds = |fact: &Expr| example.value(fact).is_some_and(|value| value >= 0);
        assumptions.facts().iter().all(holds).then_some(example)
    }

    fn choose(&self, at: i64, bounds: &SymbolBounds) -> Option<i64> {
        let end = |bound: &Expr| self.value(bound).and_then(|value| i64::try_from(value).ok());
        let distance = self.choice.distance + at * self.choice.further;
        match (&bounds.lower, &bounds.upper) {
            (None, None) => Some(self.choice.sign * distance),
            (Some(lower), None) => end(lower)?.checked_add(distance),
            (None, Some(upper)) => end(upper)?.checked_sub(distance),
            (Some(lower), Some(upper)) => {
                let (lower, upper) = (end(lower)?, end(upper)?);
                let reach = upper.checked_sub(lower)?;
                (reach >= 0).then(|| match self.choice.halves {
                    0 => lower,
                    1 => lower + reach / 2,
                    _ => upper,
                })
            }
        }
    }

    fn has(&self, symbol: &Symbol) -> bool {
        self.values.iter().any(|(own, _)| own == symbol)
    }

    fn value(&self, expression: &Expr) -> Option<i128> {
        expression.eval_quick(&|symbol| {
            let own = self.values.iter().find(|(own, _)| own == symbol);
            Some(own.map_or_else(|| self.free(symbol), |(_, value)| *value))
        })
    }

    /// The value of a symbol of which nothing is known: it depends on the name, so that different ones are different.
    fn free(&self, symbol: &Symbol) -> i64 {
        let mixed = symbol.as_str().bytes().fold(7_i64, |mixed, byte| (mixed * 31 + i64::from(byte)) % 997);
        self.choice.sign * (self.choice.distance + mixed)
    }
}

impl SymbolBounds {
    fn mention(&self, wanted: &mut dyn FnMut(&Symbol) -> bool) -> bool {
        self.lower.iter().chain(&self.upper).any(|bound| bound.mentions(wanted))
    }
}

impl Assumptions {
    /// Signs that an expression has for some values that satisfy these; none where no example was found.
    pub(super) fn signs_of(&self, expression: &Expr) -> Signs {
        let mut signs = Signs::default();
        for example in self.examples().of(self) {
            let Some(value) = example.value(expression) else { continue };
            signs.negative |= value < 0;
            signs.zero |= value == 0;
            signs.positive |= value > 0;
            if signs.negative && signs.positive {
                break;
            }
        }
        signs
    }
}

/// Examples of assumptions, when they are asked for. They follow from what is assumed, and are no part of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Examples(OnceLock<Arc<[Example]>>);

impl Examples {
    fn of(&self, assumptions: &Assumptions) -> &[Example] {
        self.0.get_or_init(|| {
            if assumptions.bounds().len() > MOST_SYMBOLS {
                return Arc::default();
            }
            CHOICES.iter().filter_map(|choice| Example::of(assumptions, choice)).collect()
        })
    }

    /// Forgets them, as assumptions change.
    pub(super) fn forget(&mut self) {
        self.0 = OnceLock::new();
    }
}

impl PartialEq for Examples {
    fn eq(&self, _: &Examples) -> bool {
        true
    }
}

impl Eq for Examples {}

impl Hash for Examples {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::limits::Effort;
    use super::super::prove::Prover;
    use super::*;

    fn expr(text: &str) -> Expr {
        text.parse().unwrap()
    }

    /// `N >= 0` and a triangle with a fact.
    fn triangle() -> Assumptions {
        let mut known = Assumptions::new();
        known.nonnegative(Symbol::of("N"));
        known.set_range(Symbol::of("j"), Some(expr("i + 1")), Some(expr("N - 1")));
        known.set_range(Symbol::of("i"), Some(Expr::zero()), Some(expr("N - 2")));
        known.assume_nonnegative(expr("N - 3"));
        known
    }

    #[test]
    fn examples_satisfy_what_is_assumed() {
        let known = triangle();
        let examples = known.examples().of(&known);
        assert!(examples.len() > 2, "{examples:?}");
        for example in examples {
            let holds = |text: &str| example.value(&expr(text)).unwrap() >= 0;
            for fact in ["N - 3", "i", "N - 2 - i", "j - i - 1", "N - 1 - j"] {
                assert!(holds(fact), "{fact} in {example:?}");
            }
        }
        let signs = |text: &str| known.signs_of(&expr(text));
        assert_eq!(signs("j - i"), Signs { positive: true, ..Signs::default() });
        assert_eq!(signs("N - K"), Signs { negative: true, positive: true, zero: false });
        assert!(signs("N - 2 - i").zero && signs("i").zero && !signs("i").negative);
    }

    #[test]
    fn there_are_none_where_nothing_satisfies_the_assumptions() {
        let mut known = triangle();
        assert!(!known.examples().of(&known).is_empty());
        // What was known before is forgotten.
        known.assume_nonnegative(expr("-i - 1"));
        assert!(known.examples().of(&known).is_empty());
        let mut circular = Assumptions::new();
        circular.set_range(Symbol::of("i"), Some(expr("j")), None);
        circular.set_range(Symbol::of("j"), Some(expr("i")), None);
        assert!(circular.examples().of(&circular).is_empty());
        assert_eq!(circular.signs_of(&expr("i")), Signs::default());
    }

    fn affine() -> impl Strategy<Value = Expr> {
        let part = prop_oneof![
            Just("1"),
            Just("N"),
            Just("K"),
            Just("i"),
            Just("j"),
            Just("N // 2"),
            Just("i % 4"),
            Just("i * j"),
            Just("min(N, K)"),
        ];
        prop::collection::vec((part, -3_i64..=3), 1..5)
            .prop_map(|parts| parts.into_iter().map(|(part, by)| expr(part) * by).sum())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

        /// Otherwise, leaving proofs out would change answers.
        #[test]
        fn nothing_is_proved_that_an_example_refutes(goal in affine(), fact in affine(), upper in affine()) {
            let mut known = Assumptions::new();
            known.nonnegative(Symbol::of("N")).set_range(Symbol::of("i"), Some(Expr::zero()), Some(upper));
            known.set_range(Symbol::of("j"), Some(Expr::zero()), Some(expr("i - 1")));
            known.assume_nonnegative(fact);
            let signs = known.signs_of(&goal);
            let shown = |goal: &Expr| Prover::new(&known, &Effort::new()).nonnegative(goal);
            prop_assert!(!(signs.negative && shown(&goal)), "{} >= 0 under {:?}", goal, known);
            prop_assert!(!(signs.positive && shown(&-&goal)), "{} <= 0 under {:?}", goal, known);
            let positive = Prover::new(&known, &Effort::new()).positive(&goal);
            prop_assert!(!((signs.negative || signs.zero) && positive), "{} > 0 under {:?}", goal, known);
        }
    }
}
