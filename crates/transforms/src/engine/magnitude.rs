//! The magnitude of the numbers in parameters.
//!
//! Rewrites multiply numbers of parameters with each other and with steps and extents of the program. An index that exceeds 64 bits
//! would make the rewritten program wrong, so the engine refuses such numbers, for all transformations.

use serde_json::Value;

use super::{Metadata, Parameter, Refusal, Transformation};

/// Bits that the product of the numbers of all parameters may have. Addresses have 48 bits, so no container has more elements and no
/// map over one has more iterations; the other 15 bits of an index are left for steps, offsets and sums.
const BITS: u32 = 48;

/// Refuses integers, alone or in expressions, whose product has too many bits. The parameter with the largest one is named.
pub(super) fn check(transformation: &dyn Transformation) -> Result<(), Refusal> {
    let metadata = transformation.metadata();
    if !metadata.parameters.iter().any(is_number) {
        return Ok(());
    }
    refuse(metadata, &transformation.parameters())
}

fn is_number(parameter: &Parameter) -> bool {
    parameter.ty.contains("integer")
}

fn refuse(metadata: &Metadata, parameters: &Value) -> Result<(), Refusal> {
    let (mut product, mut largest) = (1_u128, None);
    for parameter in metadata.parameters.iter().filter(|parameter| is_number(parameter)) {
        let mut numbers = Vec::new();
        collect(&parameters[parameter.name], &mut numbers);
        for number in numbers {
            product = product.saturating_mul(number.max(1));
            if largest.is_none_or(|(most, _)| number > most) {
                largest = Some((number, parameter.name));
            }
        }
    }
    match largest {
        Some((number, parameter)) if product >= 1 << BITS => {
            let reason = format!(
                "{number} is too large: the product of the numbers in the parameters has to stay below 2^{BITS}, so that no index \
                 exceeds 64 bits"
            );
            Err(Refusal::Parameter { parameter, reason })
        }
        Some(_) | None => Ok(()),
    }
}

/// The absolute values of the integers in a parameter, and of those in the expressions that it consists of.
fn collect(value: &Value, numbers: &mut Vec<u128>) {
    match value {
        Value::Number(number) => {
            let magnitude = number.as_i64().map(i64::unsigned_abs).or_else(|| number.as_u64());
            numbers.extend(magnitude.map(u128::from));
        }
        Value::String(expression) => {
            let words = expression.split(|c: char| !c.is_alphanumeric() && c != '_');
            let digits = words.filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
            // A literal that exceeds even these bits is none of an expression.
            numbers.extend(digits.filter_map(|word| word.parse::<u128>().ok()));
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, numbers)),
        Value::Null | Value::Bool(_) | Value::Object(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Registry;

    /// The parameter that is refused.
    fn refused(name: &str, parameters: Value) -> Option<&'static str> {
        let made = Registry::standard().make(name, &parameters).expect("parameters");
        match check(made.as_ref()) {
            Ok(()) => None,
            Err(Refusal::Parameter { parameter, .. }) => Some(parameter),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn products_of_parameters_stay_far_below_64_bits() {
        let most = i64::MAX;
        assert_eq!(refused("DiamondTiling", json!({"steps": 4, "width": most})), Some("width"));
        assert_eq!(refused("DiamondTiling", json!({"steps": 1_i64 << 30, "width": 1 << 18})), Some("steps"));
        assert_eq!(refused("DiamondTiling", json!({"steps": 1_i64 << 29, "width": 1 << 18})), None);
        assert_eq!(refused("MapSplit", json!({"count": most})), Some("count"));
        assert_eq!(refused("MapSplit", json!({"count": i64::MIN})), Some("count"));
        assert_eq!(refused("MapSplit", json!({"count": 3_000_000_000_i64})), None);
        assert_eq!(refused("MapSplit", json!({"at": "N - 281474976710656"})), Some("at"));
        assert_eq!(refused("MapSplit", json!({"at": "N281474976710656 - 3"})), None);
        assert_eq!(refused("Relayout", json!({"padding": most})), Some("padding"));
        assert_eq!(refused("Relayout", json!({"blocks": [most]})), Some("blocks"));
        assert_eq!(refused("Relayout", json!({"blocks": [65536, 65536, 65536]})), Some("blocks"));
        assert_eq!(refused("MapTiling", json!({"tile_sizes": [0, 32, "2*N"]})), None);
        assert_eq!(refused("LoopToMap", json!({})), None);
    }
}
