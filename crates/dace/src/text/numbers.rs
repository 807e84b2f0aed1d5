//! Calls of DaCe's runtime that implement whole algorithms (common divisors, parts of floats), as statements.
//!
//! Such a call is the complete right side of an assignment, as NumPy ufuncs and Fortran intrinsics produce
//! it.

use super::cpp::call_arguments;

/// The statements of a line that calls one of them.
pub(super) fn plain(line: &str) -> Option<String> {
    if let Some(inner) = line.strip_prefix("np_frexp(").and_then(|rest| rest.strip_suffix(')')) {
        let [value, mantissa, exponent] = call_arguments(inner)?.try_into().ok()?;
        return Some(format!("{}\n{mantissa} = __mantissa\n{exponent} = __exponent", parts(value)));
    }
    let (target, call) = line.split_once(" = ")?;
    let call = call.trim();
    let call = call.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')).unwrap_or(call);
    let call = call.strip_prefix("dace.math.").unwrap_or(call);
    let inner = |name: &str| call_arguments(call.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')')?);
    if let Some(found) = inner("frexp") {
        let [value] = found.try_into().ok()?;
        return Some(format!("{}\n{target} = __exponent", parts(value)));
    }
    if let Some(found) = inner("gcd") {
        let [a, b] = found.try_into().ok()?;
        return Some(format!("{}\n{target} = __divisor", divisor(a, b)));
    }
    if let Some(found) = inner("lcm") {
        let [a, b] = found.try_into().ok()?;
        let multiple = format!("abs({a}) // __divisor * abs({b}) if __divisor != 0 else __divisor");
        return Some(format!("{}\n{target} = {multiple}", divisor(a, b)));
    }
    None
}

/// Euclid's algorithm.
fn divisor(a: &str, b: &str) -> String {
    format!(
        "__divisor = abs({a})\n__rest = abs({b})\nwhile __rest != 0:\n    __next = __divisor % __rest\n    __divisor = \
         __rest\n    __rest = __next"
    )
}

/// A float as a mantissa from 0.5 to 1 and an exponent of two, found by exact steps; infinities, NaN and zero stay.
fn parts(value: &str) -> String {
    format!(
        "__mantissa = {value}\n__exponent = 0\nif isfinite(__mantissa) and __mantissa != 0.0:\n    while \
         abs(__mantissa) >= 1.0:\n        __mantissa = __mantissa * 0.5\n        __exponent = __exponent + 1\n    while \
         abs(__mantissa) < 0.5:\n        __mantissa = __mantissa * 2.0\n        __exponent = __exponent - 1"
    )
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn only_whole_right_sides_become_statements() {
        assert!(plain("o = gcd(a, b)").is_some_and(|text| text.ends_with("o = __divisor")));
        assert!(
            plain("np_frexp(dace.float64(x), m, e)").is_some_and(|text| text.ends_with("e = __exponent"))
        );
        for other in ["o = gcd(a, b) + gcd(c, d)", "o = gcd(a)", "o = lcm(a, b", "gcd(a, b)"] {
            assert_eq!(plain(other), None, "{other}");
        }
    }
}
