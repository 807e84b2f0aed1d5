//! Integers of any size, stored in one word if they fit: the coefficients of expressions.
//!
//! Nearly all coefficients are small, and expressions are added and compared millions of times.
//! Heap-allocated numbers would allocate in each of these steps. The module is independent of expressions.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Rem, RemAssign, Sub, SubAssign};

use num_bigint::{BigInt, Sign, ToBigInt};
use num_rational::Ratio;
use num_traits::{Num, One, Pow, Signed, ToPrimitive, Zero};

/// An exact integer without a limit of size.
///
/// It compares, prints, divides and hashes as [`BigInt`] does, and is `i64` inside while it fits.
#[derive(Clone, PartialEq, Eq)]
pub struct Integer(Form);

/// An exact fraction, reduced, with a positive denominator.
pub type Rational = Ratio<Integer>;

/// The large form holds only what the small one cannot, so that equal numbers have equal forms.
#[derive(Clone, PartialEq, Eq)]
enum Form {
    Small(i64),
    Large(Box<BigInt>),
}
use Form::{Large, Small};

impl Integer {
    /// The number in the form without a limit.
    pub(super) fn large(&self) -> Cow<'_, BigInt> {
        match &self.0 {
            Small(value) => Cow::Owned(BigInt::from(*value)),
            Large(value) => Cow::Borrowed(value),
        }
    }

    /// The fewest bits that hold the magnitude; 0 for zero.
    #[must_use]
    pub fn bits(&self) -> u64 {
        match &self.0 {
            Small(value) => u64::from(u64::BITS - value.unsigned_abs().leading_zeros()),
            Large(value) => value.bits(),
        }
    }

    /// The power with a counter for its exponent.
    #[must_use]
    pub fn pow(&self, exponent: u32) -> Integer {
        match &self.0 {
            Small(value) if let Some(power) = value.checked_pow(exponent) => Integer(Small(power)),
            Small(_) | Large(_) => BigInt::pow(&self.large(), exponent).into(),
        }
    }

    /// `self ** exponent` modulo a positive number, not negative.
    #[must_use]
    pub(super) fn modpow(&self, exponent: &Integer, modulus: &Integer) -> Integer {
        self.large().modpow(&exponent.large(), &modulus.large()).into()
    }
}

impl From<BigInt> for Integer {
    fn from(value: BigInt) -> Integer {
        Integer(value.to_i64().map_or_else(|| Large(Box::new(value)), Small))
    }
}

/// Conversions from the machine's integers that always fit, and from those that may not.
macro_rules! from {
    ($($narrow:ty),+; $($wide:ty),+) => {
        $(impl From<$narrow> for Integer {
            fn from(value: $narrow) -> Integer {
                Integer(Small(i64::from(value)))
            }
        })+
        $(impl From<$wide> for Integer {
            fn from(value: $wide) -> Integer {
                Integer(i64::try_from(value).map_or_else(|_| Large(Box::new(BigInt::from(value))), Small))
            }
        })+
    };
}
from!(i32, u32, i64; u64, usize, i128, u128);

/// Implements an operator for owned and borrowed numbers; what overflows is done by the large form. Division and remainder
/// round towards zero, and fail for a zero divisor as those of the standard integers do.
macro_rules! operator {
    ($trait:ident, $method:ident, $checked:ident, $assign:ident, $assign_method:ident) => {
        impl $trait<&Integer> for &Integer {
            type Output = Integer;
            #[inline]
            fn $method(self, other: &Integer) -> Integer {
                if let (Small(a), Small(b)) = (&self.0, &other.0)
                    && let Some(value) = a.$checked(*b)
                {
                    return Integer(Small(value));
                }
                $trait::$method(&*self.large(), &*other.large()).into()
            }
        }
        impl $trait<Integer> for Integer {
            type Output = Integer;
            #[inline]
            fn $method(self, other: Integer) -> Integer {
                (&self).$method(&other)
            }
        }
        impl $trait<&Integer> for Integer {
            type Output = Integer;
            #[inline]
            fn $method(self, other: &Integer) -> Integer {
                (&self).$method(other)
            }
        }
        impl $trait<Integer> for &Integer {
            type Output = Integer;
            #[inline]
            fn $method(self, other: Integer) -> Integer {
                self.$method(&other)
            }
        }
        impl $trait<i64> for &Integer {
            type Output = Integer;
            #[inline]
            fn $method(self, other: i64) -> Integer {
                self.$method(&Integer::from(other))
            }
        }
        impl $assign<&Integer> for Integer {
            #[inline]
            fn $assign_method(&mut self, other: &Integer) {
                *self = (&*self).$method(other);
            }
        }
        impl $assign<Integer> for Integer {
            #[inline]
            fn $assign_method(&mut self, other: Integer) {
                *self = (&*self).$method(&other);
            }
        }
    };
}
operator!(Add, add, checked_add, AddAssign, add_assign);
operator!(Sub, sub, checked_sub, SubAssign, sub_assign);
operator!(Mul, mul, checked_mul, MulAssign, mul_assign);
operator!(Div, div, checked_div, DivAssign, div_assign);
operator!(Rem, rem, checked_rem, RemAssign, rem_assign);

impl Neg for &Integer {
    type Output = Integer;

    fn neg(self) -> Integer {
        match &self.0 {
            Small(value) if let Some(value) = value.checked_neg() => Integer(Small(value)),
            Small(_) | Large(_) => (-&*self.large()).into(),
        }
    }
}

impl Neg for Integer {
    type Output = Integer;

    fn neg(self) -> Integer {
        -&self
    }
}

impl Pow<u32> for &Integer {
    type Output = Integer;

    fn pow(self, exponent: u32) -> Integer {
        Integer::pow(self, exponent)
    }
}

impl Zero for Integer {
    fn zero() -> Integer {
        Integer(Small(0))
    }

    #[inline]
    fn is_zero(&self) -> bool {
        matches!(self.0, Small(0))
    }
}

impl One for Integer {
    fn one() -> Integer {
        Integer(Small(1))
    }

    #[inline]
    fn is_one(&self) -> bool {
        matches!(self.0, Small(1))
    }
}

impl Num for Integer {
    type FromStrRadixErr = num_bigint::ParseBigIntError;

    fn from_str_radix(text: &str, radix: u32) -> Result<Integer, Self::FromStrRadixErr> {
        BigInt::from_str_radix(text, radix).map(Integer::from)
    }
}

impl std::str::FromStr for Integer {
    type Err = num_bigint::ParseBigIntError;

    fn from_str(text: &str) -> Result<Integer, Self::Err> {
        text.parse::<BigInt>().map(Integer::from)
    }
}

impl Signed for Integer {
    fn abs(&self) -> Integer {
        if self.is_negative() { -self } else { self.clone() }
    }

    fn abs_sub(&self, other: &Integer) -> Integer {
        if self <= other { Integer::zero() } else { self - other }
    }

    fn signum(&self) -> Integer {
        match &self.0 {
            Small(value) => Integer(Small(value.signum())),
            Large(value) => value.signum().into(),
        }
    }

    #[inline]
    fn is_positive(&self) -> bool {
        match &self.0 {
            Small(value) => *value > 0,
            Large(value) => value.is_positive(),
        }
    }

    #[inline]
    fn is_negative(&self) -> bool {
        match &self.0 {
            Small(value) => *value < 0,
            Large(value) => value.is_negative(),
        }
    }
}

impl num_integer::Integer for Integer {
    fn div_floor(&self, other: &Integer) -> Integer {
        self.div_mod_floor(other).0
    }

    fn mod_floor(&self, other: &Integer) -> Integer {
        self.div_mod_floor(other).1
    }

    fn div_mod_floor(&self, other: &Integer) -> (Integer, Integer) {
        if let (Small(a), Small(b)) = (&self.0, &other.0)
            && *b != 0
            && *b != -1
        {
            let (quotient, rest) = a.div_mod_floor(b);
            return (Integer(Small(quotient)), Integer(Small(rest)));
        }
        let (quotient, rest) = self.large().div_mod_floor(&other.large());
        (quotient.into(), rest.into())
    }

    fn gcd(&self, other: &Integer) -> Integer {
        match (&self.0, &other.0) {
            (Small(a), Small(b)) => a.unsigned_abs().gcd(&b.unsigned_abs()).into(),
            (Small(_) | Large(_), Small(_) | Large(_)) => self.large().gcd(&other.large()).into(),
        }
    }

    fn lcm(&self, other: &Integer) -> Integer {
        if self == other && self.is_positive() {
            return self.clone();
        }
        if self.is_zero() && other.is_zero() {
            return Integer::zero();
        }
        let shared = self.gcd(other);
        (self / shared * other).abs()
    }

    fn is_multiple_of(&self, other: &Integer) -> bool {
        if other.is_zero() { self.is_zero() } else { (self % other).is_zero() }
    }

    fn is_even(&self) -> bool {
        match &self.0 {
            Small(value) => value.is_even(),
            Large(value) => value.is_even(),
        }
    }

    fn is_odd(&self) -> bool {
        !self.is_even()
    }

    fn div_rem(&self, other: &Integer) -> (Integer, Integer) {
        (self / other, self % other)
    }
}

impl ToBigInt for Integer {
    fn to_bigint(&self) -> Option<BigInt> {
        Some(self.large().into_owned())
    }
}

impl ToPrimitive for Integer {
    fn to_i64(&self) -> Option<i64> {
        match &self.0 {
            Small(value) => Some(*value),
            Large(_) => None,
        }
    }

    fn to_u64(&self) -> Option<u64> {
        match &self.0 {
            Small(value) => u64::try_from(*value).ok(),
            Large(value) => value.to_u64(),
        }
    }

    fn to_i128(&self) -> Option<i128> {
        match &self.0 {
            Small(value) => Some(i128::from(*value)),
            Large(value) => value.to_i128(),
        }
    }

    fn to_u128(&self) -> Option<u128> {
        match &self.0 {
            Small(value) => u128::try_from(*value).ok(),
            Large(value) => value.to_u128(),
        }
    }

    fn to_f64(&self) -> Option<f64> {
        match &self.0 {
            Small(value) => Some(*value as f64),
            Large(value) => value.to_f64(),
        }
    }
}

impl Ord for Integer {
    #[inline]
    fn cmp(&self, other: &Integer) -> Ordering {
        match (&self.0, &other.0) {
            (Small(a), Small(b)) => a.cmp(b),
            (Small(_) | Large(_), Small(_) | Large(_)) => self.large().cmp(&other.large()),
        }
    }
}

impl PartialOrd for Integer {
    #[inline]
    fn partial_cmp(&self, other: &Integer) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// As [`BigInt`] hashes where its digits are words of 64 bits: names of opaque values are made of it.
impl Hash for Integer {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.0 {
            Small(0) => Sign::NoSign.hash(state),
            Small(value) => {
                (if *value < 0 { Sign::Minus } else { Sign::Plus }).hash(state);
                [value.unsigned_abs()].as_slice().hash(state);
            }
            Large(value) => value.hash(state),
        }
    }
}

impl fmt::Display for Integer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Small(value) => fmt::Display::fmt(value, f),
            Large(value) => fmt::Display::fmt(value, f),
        }
    }
}

impl fmt::Debug for Integer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use std::hash::DefaultHasher;

    use num_integer::Integer as _;
    use proptest::prelude::*;

    use super::*;

    /// Numbers about the ends of the small form, small ones, and large ones.
    fn number() -> impl Strategy<Value = BigInt> {
        let small = (-40_i64..=40).prop_map(BigInt::from);
        let near = (any::<bool>(), -4_i64..=4).prop_map(|(most, distance)| {
            BigInt::from(if most { i64::MAX } else { i64::MIN }) + BigInt::from(distance)
        });
        let large = (any::<i64>(), any::<i64>()).prop_map(|(a, b)| BigInt::from(a) * BigInt::from(b));
        prop_oneof![small, near, large, any::<i64>().prop_map(BigInt::from)]
    }

    fn digest(value: &impl Hash) -> u64 {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        hasher.finish()
    }

    proptest! {
        #[test]
        fn it_computes_as_big_integers_do(a in number(), b in number(), exponent in 0_u32..6) {
            let (x, y) = (Integer::from(a.clone()), Integer::from(b.clone()));
            let same = |found: Integer, expected: BigInt| {
                // Equal numbers have equal forms, whatever way they were made.
                found == Integer::from(expected.clone()) && *found.large() == expected
            };
            prop_assert!(same(&x + &y, &a + &b));
            prop_assert!(same(&x - &y, &a - &b));
            prop_assert!(same(&x * &y, &a * &b));
            prop_assert!(same(-&x, -&a));
            prop_assert!(same(x.abs(), a.abs()));
            prop_assert!(same(x.signum(), a.signum()));
            prop_assert!(same(x.pow(exponent), BigInt::pow(&a, exponent)));
            prop_assert!(same(x.gcd(&y), a.gcd(&b)));
            prop_assert!(same(x.lcm(&y), a.lcm(&b)));
            prop_assert_eq!(x.is_multiple_of(&y), a.is_multiple_of(&b));
            if !b.is_zero() {
                prop_assert!(same(&x / &y, &a / &b));
                prop_assert!(same(&x % &y, &a % &b));
                prop_assert!(same(x.div_floor(&y), a.div_floor(&b)));
                prop_assert!(same(x.mod_floor(&y), a.mod_floor(&b)));
            }
            prop_assert_eq!(x.cmp(&y), a.cmp(&b));
            prop_assert_eq!(x.is_even(), a.is_even());
            prop_assert_eq!((x.is_positive(), x.is_negative()), (a.is_positive(), a.is_negative()));
            prop_assert_eq!(x.bits(), a.bits());
            prop_assert_eq!((x.to_i64(), x.to_u64()), (a.to_i64(), a.to_u64()));
            prop_assert_eq!((x.to_i128(), x.to_u128()), (a.to_i128(), a.to_u128()));
            prop_assert_eq!(x.to_string(), a.to_string());
            prop_assert_eq!(x.to_string().parse::<Integer>().unwrap(), x.clone());
            if cfg!(target_pointer_width = "64") {
                prop_assert_eq!(digest(&x), digest(&a));
            }
        }
    }
}
