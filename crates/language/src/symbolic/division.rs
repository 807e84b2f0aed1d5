//! Quotients: exact, floor and ceiling division, and the remainder of floor division.
//!
//! Floor and ceiling quotients are reduced to one representative: whole multiples of the divisor leave the
//! quotient, common factors cancel, and signs move outwards. Therefore `-((-N) // 4)`, `(N + 3) // 4` and
//! `ceil_div(N, 4)` are one value.

use num_integer::Integer as _;
use num_traits::{One, Signed, Zero};

use super::limits::DIVISION_STEPS;
use super::polynomial::{Monomial, Terms};
use super::{Atom, Expr, Integer, Term};

impl Expr {
    /// `self // divisor`: the largest integer that is not above the quotient.
    #[must_use]
    pub fn floor_div(&self, divisor: &Expr) -> Expr {
        if divisor.is_one() && self.is_integer_polynomial() {
            return self.clone();
        }
        match divisor.as_rational() {
            Some(value) if value.is_zero() => Expr::from_atom(Atom::FloorDiv(self.clone(), divisor.clone())),
            Some(value) => self.scale(value.denom(), value.numer()).floor(),
            None => self.floor_div_symbolic(divisor),
        }
    }

    /// The smallest integer that is not below the quotient.
    #[must_use]
    pub fn ceil_div(&self, divisor: &Expr) -> Expr {
        if divisor.is_one() && self.is_integer_polynomial() {
            return self.clone();
        }
        -(-self).floor_div(divisor)
    }

    /// The remainder `self - divisor * (self // divisor)`, which has the sign of the divisor.
    #[must_use]
    pub fn modulo(&self, divisor: &Expr) -> Expr {
        match divisor.as_rational() {
            Some(value) if value.is_zero() => Expr::from_atom(Atom::Mod(self.clone(), divisor.clone())),
            Some(value) if value.is_negative() => -(-self).modulo(&-divisor),
            Some(_) => self.modulo_constant(divisor),
            None => self.modulo_symbolic(divisor),
        }
    }

    /// The quotient when `divisor` divides this as a polynomial with rational coefficients; `None` otherwise, and
    /// for a zero divisor. The quotient holds wherever the divisor is not zero.
    #[must_use]
    pub fn exact_div(&self, divisor: &Expr) -> Option<Expr> {
        if divisor.is_zero() {
            return None;
        }
        if let Some(value) = divisor.as_rational() {
            return Some(self.scale(value.denom(), value.numer()));
        }
        let (quotient, rest) = self.divide(divisor, Quotient::Rational)?;
        rest.is_zero().then_some(quotient)
    }

    /// The largest integer that is not above this rational polynomial.
    fn floor(&self) -> Expr {
        if self.is_integer_polynomial() {
            return self.clone();
        }
        let divisor = &self.0.denominator;
        let mut whole = Vec::new();
        let mut rest = Vec::new();
        let mut constant = Integer::zero();
        let mut integral = true;
        for term in &self.0.terms {
            if term.is_constant() {
                let (quotient, remainder) = term.coefficient.div_mod_floor(divisor);
                whole.push(Term::constant(quotient));
                constant = remainder;
            } else if term.monomial.is_integral() {
                let (quotient, remainder) = term.coefficient.div_rem(divisor);
                whole.push(Term { monomial: term.monomial.clone(), coefficient: quotient });
                if !remainder.is_zero() {
                    rest.push(Term { monomial: term.monomial.clone(), coefficient: remainder });
                }
            } else {
                integral = false;
                rest.push(term.clone());
            }
        }
        let whole = Expr::from_parts(whole, Integer::one());
        if rest.is_empty() {
            return whole;
        }
        let fraction = if integral {
            floor_of_integers(rest, constant, divisor)
        } else {
            rest.push(Term::constant(constant));
            let numerator = Expr::from_parts(rest, Integer::one());
            let content = numerator.0.content().gcd(divisor);
            quotient_atom(&numerator.scale(&Integer::one(), &content), &Expr::big(divisor / content))
        };
        whole + fraction
    }

    fn floor_div_symbolic(&self, divisor: &Expr) -> Expr {
        let (numerator, divisor, _) = cancel(self, divisor);
        if divisor.is_constant() {
            return numerator.floor_div(&divisor);
        }
        if let Some(quotient) = numerator.exact_div(&divisor) {
            return quotient.floor();
        }
        match numerator.divide(&divisor, Quotient::Integral) {
            Some((quotient, rest)) => quotient + quotient_atom(&rest, &divisor),
            None => quotient_atom(&numerator, &divisor),
        }
    }

    /// Remainder by a positive constant.
    fn modulo_constant(&self, divisor: &Expr) -> Expr {
        // Over a common denominator, (A / d) mod (B / d) == (A mod B) / d with integers A and B.
        let common = self.0.denominator.lcm(&divisor.0.denominator);
        let dividend = self.scale(&common, &Integer::one());
        let modulus = divisor.scale(&common, &Integer::one()).0.content();
        let mut terms = Vec::new();
        let mut constant = Integer::zero();
        let mut integral = true;
        for term in &dividend.0.terms {
            if term.is_constant() {
                constant = term.coefficient.mod_floor(&modulus);
            } else if term.monomial.is_integral() {
                let coefficient = term.coefficient.mod_floor(&modulus);
                if !coefficient.is_zero() {
                    terms.push(Term { monomial: term.monomial.clone(), coefficient });
                }
            } else {
                integral = false;
                terms.push(term.clone());
            }
        }
        let mut content = terms.iter().fold(modulus.clone(), |gcd, term| gcd.gcd(&term.coefficient));
        if !integral {
            content = content.gcd(&constant);
        }
        // (g * A + c) mod (g * B) == g * ((A + c // g) mod B) + c % g for integers.
        let (shift, low) = constant.div_mod_floor(&content);
        for term in &mut terms {
            term.coefficient /= &content;
        }
        terms.push(Term::constant(shift));
        let numerator = Expr::from_parts(terms, Integer::one());
        let modulus = modulus / &content;
        let remainder = match numerator.as_rational() {
            Some(value) if value.is_integer() => Expr::big(value.to_integer().mod_floor(&modulus)),
            Some(_) | None if modulus.is_one() && integral => Expr::zero(),
            Some(_) | None => Expr::from_atom(Atom::Mod(numerator, Expr::big(modulus))),
        };
        (remainder.scale(&content, &Integer::one()) + Expr::big(low)).scale(&Integer::one(), &common)
    }

    fn modulo_symbolic(&self, divisor: &Expr) -> Expr {
        let (numerator, divisor, factor) = cancel(self, divisor);
        let remainder = if divisor.is_constant() {
            numerator.modulo(&divisor)
        } else {
            let rest = match numerator.divide(&divisor, Quotient::Integral) {
                Some((_, rest)) => rest,
                None => numerator,
            };
            if rest.is_zero() { rest } else { Expr::from_atom(Atom::Mod(rest, divisor)) }
        };
        remainder * factor
    }

    /// Polynomial division by descending terms: `(q, r)` with `self == q * divisor + r`. In `r`, no term (the first
    /// term, for rational quotients) can be divided further by the first term of the divisor. `None` when it takes
    /// too many steps.
    fn divide(&self, divisor: &Expr, kind: Quotient) -> Option<(Expr, Expr)> {
        let leading = divisor.0.terms.first()?;
        let mut quotient = Expr::zero();
        let mut rest = self.clone();
        for _ in 0..DIVISION_STEPS {
            let candidates = match kind {
                // A quotient without remainder has to divide the first term.
                Quotient::Rational => 1,
                Quotient::Integral => rest.0.terms.len(),
            };
            let step = rest.0.terms.iter().take(candidates).find_map(|term| {
                let monomial = term.monomial.divided_by(&leading.monomial)?;
                let numerator = &term.coefficient * &divisor.0.denominator;
                let denominator = &leading.coefficient * &rest.0.denominator;
                let allowed = match kind {
                    Quotient::Rational => true,
                    Quotient::Integral => numerator.is_multiple_of(&denominator) && monomial.is_integral(),
                };
                allowed.then(|| Expr::from_monomial(monomial).scale(&numerator, &denominator))
            });
            match step {
                None => return Some((quotient, rest)),
                Some(step) => {
                    rest = rest - &step * divisor;
                    quotient = quotient + step;
                }
            }
        }
        None
    }
}

/// Quotients that [`Expr::divide`] may extract.
#[derive(Clone, Copy)]
enum Quotient {
    /// Any rational coefficient.
    Rational,
    /// Only terms that are integers for all integer values of the symbols.
    Integral,
}

/// `floor((rest + constant) / divisor)` for integral terms with coefficients below the divisor in magnitude, and
/// `0 <= constant < divisor`.
fn floor_of_integers(mut rest: Vec<Term>, constant: Integer, divisor: &Integer) -> Expr {
    let content = rest.iter().fold(divisor.clone(), |gcd, term| gcd.gcd(&term.coefficient));
    for term in &mut rest {
        term.coefficient /= &content;
    }
    let divisor = divisor / &content;
    let mut constant = constant / &content;
    let negative = rest.first().is_some_and(|term| term.coefficient.is_negative());
    if negative {
        // floor((c - p) / d) == -floor((p + d - 1 - c) / d)
        for term in &mut rest {
            term.coefficient = -&term.coefficient;
        }
        constant = &divisor - 1 - constant;
    }
    let ceiling = constant == &divisor - 1;
    if !ceiling {
        rest.push(Term::constant(constant));
    }
    let numerator = Expr::from_parts(rest, Integer::one());
    let divisor = Expr::big(divisor);
    let quotient = Expr::from_atom(if ceiling {
        Atom::CeilDiv(numerator, divisor)
    } else {
        Atom::FloorDiv(numerator, divisor)
    });
    if negative { -quotient } else { quotient }
}

/// The atom of a floor division that nothing more can be taken out of, with a numerator that leads positive.
fn quotient_atom(numerator: &Expr, divisor: &Expr) -> Expr {
    if numerator.is_zero() {
        Expr::zero()
    } else if numerator.leads_negative() {
        -Expr::from_atom(Atom::CeilDiv(-numerator, divisor.clone()))
    } else {
        Expr::from_atom(Atom::FloorDiv(numerator.clone(), divisor.clone()))
    }
}

/// Divides both sides by their common factor, so that coefficients are integers without a common divisor, no
/// monomial divides both, and the divisor leads positive. The third part is the factor.
fn cancel(numerator: &Expr, divisor: &Expr) -> (Expr, Expr, Expr) {
    let denominator = numerator.0.denominator.lcm(&divisor.0.denominator);
    let integers = |side: &Expr| side.scale(&denominator, &Integer::one());
    let (numerator, divisor) = (integers(numerator), integers(divisor));
    let mut content = numerator.0.content().gcd(&divisor.0.content());
    if divisor.leads_negative() {
        content = -content;
    }
    let mut terms = divisor.0.terms.iter().chain(&numerator.0.terms);
    let first = terms.next().map_or_else(Monomial::one, |term| term.monomial.clone());
    let shared = terms.fold(first, |gcd, term| if gcd.is_one() { gcd } else { gcd.gcd(&term.monomial) });
    let divided = |side: &Expr| {
        let terms = side.0.terms.iter().filter_map(|term| {
            let monomial = term.monomial.divided_by(&shared)?;
            Some(Term { monomial, coefficient: &term.coefficient / &content })
        });
        Expr::from_parts(terms.collect::<Terms>(), Integer::one())
    };
    let factor = Expr::from_monomial(shared.clone()).scale(&content, &denominator);
    (divided(&numerator), divided(&divisor), factor)
}
