//! Facts in isl's language: the set of the values of symbols, iterations and elements that contradict a fact.
//!
//! isl knows sums of variables with constant factors, floors and remainders of them by constants, minima and maxima. Facts
//! with products of symbols, or with divisions by them, are outside of this fragment.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::subset::{Range, Subset};
use sdfg::symbolic::{Atom, Expr, Symbol, Term};
use sdfg_transforms::Claim;

use crate::admissible::Admissible;

/// The set that contradicts a claim, as a text.
///
/// # Errors
/// Why the claim is outside of the fragment.
pub(crate) fn contradiction(claim: &Claim, admissible: &Admissible) -> Result<String, Outside> {
    let mut set = Set::default();
    let free = symbols_of(claim);
    let own = quantified(claim);
    let is_unclear = |symbol: &&Symbol| Some(*symbol) != own.as_ref() && admissible.unclear.contains(*symbol);
    if let Some(symbol) = free.iter().find(is_unclear) {
        return Err(Outside(format!("`{symbol}` has several definitions")));
    }
    let all = admissible.closure(free);
    let is_set = |symbol: &&Symbol| admissible.inner.get(*symbol) == Some(&None);
    if let Some(symbol) = all.iter().find(is_set) {
        return Err(Outside(format!("control flow sets `{symbol}`")));
    }
    // Symbols that the place of the match does not know belong to iterations within it.
    let (inner, outer): (BTreeSet<Symbol>, BTreeSet<Symbol>) = all
        .into_iter()
        .filter(|symbol| Some(symbol) != own.as_ref())
        .partition(|symbol| admissible.inner.contains_key(symbol));
    let mut names = Names::new();
    for symbol in outer {
        let name = set.variable();
        names.insert(symbol, name);
    }
    let claimed = match claim {
        Claim::Apart { symbol, range, first, second } => {
            let apart = |v: &str, w: &str| format!("{v} != {w}");
            two_iterations(&mut set, (&names, &inner, admissible), (symbol, range, &apart), [first, second])?
        }
        Claim::Near { symbol, range, first, second, distance } => {
            let far = |v: &str, w: &str| format!("({v} - {w} > {distance} or {w} - {v} > {distance})");
            two_iterations(&mut set, (&names, &inner, admissible), (symbol, range, &far), [first, second])?
        }
        Claim::NeverLater { symbol, range, first, second } => {
            let Some(step) = range.step.as_int() else { return outside("its step is no number") };
            let later = |v: &str, w: &str| if step < 0 { format!("{w} < {v}") } else { format!("{w} > {v}") };
            two_iterations(&mut set, (&names, &inner, admissible), (symbol, range, &later), [first, second])?
        }
        Claim::Disjoint { symbol, range, first, second } => {
            let value = set.variable();
            let mut parts = vec![within(&mut set, range, &value, &names)?];
            let at: Vec<String> = first.0.iter().map(|_| set.variable()).collect();
            for part in [first, second] {
                let names =
                    iteration(&mut set, &names, Some((symbol, &value)), &inner, admissible, &mut parts)?;
                parts.push(element(&mut set, part, &at, &names)?);
            }
            parts
        }
        Claim::Covers { .. } | Claim::Positive(_) | Claim::Equal(..) | Claim::OneValue(_) => {
            let mut parts = Vec::new();
            let names = iteration(&mut set, &names, None, &inner, admissible, &mut parts)?;
            parts.push(of_one_place(&mut set, claim, &names)?);
            parts
        }
        Claim::NoOtherUse => return Err(Outside("it is about the graph".to_owned())),
        Claim::Stated { .. } => return Err(Outside("the user states it".to_owned())),
    };
    let mut all = claimed;
    for fact in &admissible.nonnegative {
        // A restriction that has no translation is left out: less is assumed then.
        if fact.free_symbols().iter().all(|symbol| names.contains_key(symbol))
            && let Ok(text) = affine(fact, &names)
        {
            all.push(format!("{text} >= 0"));
        }
    }
    Ok(format!("{{ [{}] : {} }}", set.variables.join(", "), all.join(" and ")))
}

/// Why a claim has no translation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Outside(pub(crate) String);

fn outside<T>(what: &str) -> Result<T, Outside> {
    Err(Outside(what.to_owned()))
}

/// Variables of isl for symbols.
type Names = BTreeMap<Symbol, String>;

/// A set under construction.
#[derive(Default)]
struct Set {
    variables: Vec<String>,
    bound: usize,
}

impl Set {
    /// A new variable of the set.
    fn variable(&mut self) -> String {
        let name = format!("v{}", self.variables.len());
        self.variables.push(name.clone());
        name
    }

    /// A new variable for a quantifier.
    fn bound(&mut self) -> String {
        self.bound += 1;
        format!("k{}", self.bound)
    }
}

/// The symbol of which a claim compares several values.
pub(crate) fn quantified(claim: &Claim) -> Option<Symbol> {
    match claim {
        Claim::Apart { symbol, .. }
        | Claim::Near { symbol, .. }
        | Claim::Disjoint { symbol, .. }
        | Claim::NeverLater { symbol, .. } => Some(symbol.clone()),
        Claim::Covers { .. }
        | Claim::Positive(_)
        | Claim::Equal(..)
        | Claim::OneValue(_)
        | Claim::NoOtherUse
        | Claim::Stated { .. } => None,
    }
}

pub(crate) fn symbols_of(claim: &Claim) -> BTreeSet<Symbol> {
    match claim {
        Claim::Covers { outer, inner } => &outer.free_symbols() | &inner.free_symbols(),
        Claim::Positive(value) => value.free_symbols(),
        Claim::Equal(a, b) => &a.free_symbols() | &b.free_symbols(),
        Claim::OneValue(range) => range.free_symbols(),
        Claim::Apart { range, first, second, .. }
        | Claim::Near { range, first, second, .. }
        | Claim::Disjoint { range, first, second, .. }
        | Claim::NeverLater { range, first, second, .. } => {
            &(&range.free_symbols() | &first.free_symbols()) | &second.free_symbols()
        }
        Claim::NoOtherUse | Claim::Stated { .. } => BTreeSet::new(),
    }
}

/// A condition on the numbers of two iterations.
type Relation<'r> = dyn Fn(&str, &str) -> String + 'r;

/// Two iterations that a relation of their numbers holds for, with an element that both parts have.
fn two_iterations(
    set: &mut Set,
    (names, inner, admissible): (&Names, &BTreeSet<Symbol>, &Admissible),
    (symbol, range, relation): (&Symbol, &Range, &Relation<'_>),
    subsets: [&Subset; 2],
) -> Result<Vec<String>, Outside> {
    let values = [set.variable(), set.variable()];
    let [v, w] = &values;
    let mut parts = vec![relation(v, w)];
    let at: Vec<String> = subsets[0].0.iter().map(|_| set.variable()).collect();
    for (value, subset) in values.iter().zip(subsets) {
        parts.push(within(set, range, value, names)?);
        let names = iteration(set, names, Some((symbol, value)), inner, admissible, &mut parts)?;
        parts.push(element(set, subset, &at, &names)?);
    }
    Ok(parts)
}

/// Variables for the symbols of one iteration: the given one, and new ones for those of scopes and loops within, each in its range.
fn iteration(
    set: &mut Set,
    names: &Names,
    given: Option<(&Symbol, &String)>,
    inner: &BTreeSet<Symbol>,
    admissible: &Admissible,
    parts: &mut Vec<String>,
) -> Result<Names, Outside> {
    let mut names = names.clone();
    if let Some((symbol, value)) = given {
        names.insert(symbol.clone(), value.clone());
    }
    for symbol in inner {
        let name = set.variable();
        names.insert(symbol.clone(), name);
    }
    for symbol in inner {
        if let Some(range) = &admissible.inner[symbol] {
            let name = names[symbol].clone();
            parts.push(within(set, range, &name, &names)?);
        }
    }
    Ok(names)
}

/// The contradiction of a claim about one place.
fn of_one_place(set: &mut Set, claim: &Claim, names: &Names) -> Result<String, Outside> {
    match claim {
        Claim::Covers { outer, inner } => {
            let at: Vec<String> = inner.0.iter().map(|_| set.variable()).collect();
            let inside = element(set, inner, &at, names)?;
            Ok(format!("{inside} and not ({})", element(set, outer, &at, names)?))
        }
        Claim::Positive(value) => Ok(format!("{} <= 0", affine(value, names)?)),
        Claim::Equal(a, b) => Ok(format!("{} != {}", affine(a, names)?, affine(b, names)?)),
        Claim::OneValue(range) => {
            let [a, b, c] = [(); 3].map(|()| set.bound());
            let none = format!("not (exists {a} : {})", within(set, range, &a, names)?);
            let (first, second) = (within(set, range, &b, names)?, within(set, range, &c, names)?);
            Ok(format!("({none} or (exists {b}, {c} : {b} < {c} and {first} and {second}))"))
        }
        Claim::Apart { .. }
        | Claim::Near { .. }
        | Claim::Disjoint { .. }
        | Claim::NeverLater { .. }
        | Claim::NoOtherUse
        | Claim::Stated { .. } => outside("it is about several iterations"),
    }
}

/// That a point is an element of a subset.
fn element(set: &mut Set, subset: &Subset, at: &[String], names: &Names) -> Result<String, Outside> {
    if subset.0.len() != at.len() {
        return outside("its parts have different numbers of dimensions");
    }
    let dimensions = subset.0.iter().zip(at).map(|(range, at)| within(set, range, at, names));
    let all: Vec<String> = dimensions.collect::<Result<_, _>>()?;
    Ok(if all.is_empty() { "0 = 0".to_owned() } else { all.join(" and ") })
}

/// That a variable has a value of a range.
fn within(set: &mut Set, range: &Range, at: &str, names: &Names) -> Result<String, Outside> {
    let (begin, end) = (affine(&range.begin, names)?, affine(&range.end, names)?);
    if range.is_index() {
        return Ok(format!("{at} = {begin}"));
    }
    if range.step.is_one() && range.tile.is_one() {
        return Ok(format!("{at} >= {begin} and {at} < {end}"));
    }
    let Some(step) = range.step.as_int().filter(|step| *step != 0) else {
        return outside("a step is no number");
    };
    let tile = affine(&range.tile, names)?;
    let number = set.bound();
    let start = format!("{begin} + {step}*{number}");
    let before = if step > 0 { "<" } else { ">" };
    Ok(format!(
        "(exists {number} : {number} >= 0 and {start} {before} {end} and {at} >= {start} and {at} < {start} + {tile})"
    ))
}

/// An expression in isl's language, in parentheses.
fn affine(expr: &Expr, names: &Names) -> Result<String, Outside> {
    let view = expr.view();
    if view.denominator.to_string() != "1" {
        return outside("an expression has a fraction");
    }
    let terms: Vec<String> = view.terms.iter().map(|term| summand(term, names)).collect::<Result<_, _>>()?;
    Ok(if terms.is_empty() { "0".to_owned() } else { format!("({})", terms.join(" + ")) })
}

fn summand(term: &Term, names: &Names) -> Result<String, Outside> {
    let coefficient = term.coefficient();
    match term.factors() {
        [] => Ok(coefficient.to_string()),
        [(atom, 1)] => Ok(format!("{coefficient}*{}", factor(atom, names)?)),
        _ => outside("symbols are multiplied"),
    }
}

fn factor(atom: &Atom, names: &Names) -> Result<String, Outside> {
    let divisor = |value: &Expr| match value.as_int() {
        Some(divisor) if divisor > 0 => Ok(divisor),
        _ => outside("a divisor is no positive number"),
    };
    let extremum = |word: &str, operands: &[Expr]| {
        let all: Vec<String> = operands.iter().map(|one| affine(one, names)).collect::<Result<_, _>>()?;
        let nested = all.into_iter().reduce(|one, other| format!("{word}({one}, {other})"));
        nested.ok_or_else(|| Outside("an extremum has no operands".to_owned()))
    };
    match atom {
        Atom::Symbol(symbol) => {
            names.get(symbol).cloned().ok_or_else(|| Outside(format!("`{symbol}` has no range")))
        }
        Atom::FloorDiv(a, b) => Ok(format!("floor({}/{})", affine(a, names)?, divisor(b)?)),
        Atom::CeilDiv(a, b) => Ok(format!("ceil({}/{})", affine(a, names)?, divisor(b)?)),
        Atom::Mod(a, b) => Ok(format!("({} mod {})", affine(a, names)?, divisor(b)?)),
        Atom::Min(operands) => extremum("min", operands),
        Atom::Max(operands) => extremum("max", operands),
        Atom::Sum(sum) => affine(sum, names),
        Atom::Pow(..) => outside("symbols are multiplied"),
        Atom::Call(..) => outside("a function is called"),
    }
}
