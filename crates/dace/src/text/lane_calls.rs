//! Functions over short vectors of DaCe's header `dace/cpu_vectorizable_math.h`, which its vectorisation calls in C++
//! tasklets.
//!
//! `vector_add<T, 8>(c, a, b)` computes `c[i] = a[i] + b[i]` for each of 8 lanes. The suffix `_w_scalar` marks a last
//! argument that is one number for all lanes, and `_w_scalar_c` a first one.

use super::cpp::call_arguments;

/// Results of one lane by the words after `vector_`, over the arguments `{0}` and `{1}`.
const FORMULAS: &[(&str, usize, &str)] = &[
    ("mult", 2, "{0} * {1}"),
    ("add", 2, "{0} + {1}"),
    ("sub", 2, "{0} - {1}"),
    ("div", 2, "{0} / {1}"),
    ("min", 2, "min({0}, {1})"),
    ("max", 2, "max({0}, {1})"),
    ("copy", 1, "{0}"),
    ("exp", 1, "exp({0})"),
    ("log", 1, "log({0})"),
    // Comparisons are numbers.
    ("gt", 2, "1.0 if {0} > {1} else 0.0"),
    ("lt", 2, "1.0 if {0} < {1} else 0.0"),
    ("ge", 2, "1.0 if {0} >= {1} else 0.0"),
    ("le", 2, "1.0 if {0} <= {1} else 0.0"),
    ("eq", 2, "1.0 if {0} == {1} else 0.0"),
    ("ne", 2, "1.0 if {0} != {1} else 0.0"),
    ("select", 3, "{1} if {0} else {2}"),
];

/// The variable of the loop over lanes.
const LANE: &str = "__lane";

/// The loop over lanes that a call such as `vector_add<dace::float64, 8>(c, a, b)` runs; `None` for other statements.
pub(super) fn lane_loop(statement: &str) -> Option<String> {
    let (name, rest) = statement.strip_prefix("vector_")?.split_once('<')?;
    let (types, rest) = rest.split_once('>')?;
    let n_lanes: u32 = types.split(',').nth(1)?.trim().parse().ok()?;
    let arguments = call_arguments(rest.trim().strip_prefix('(')?.strip_suffix(')')?)?;
    let (result, arguments) = arguments.split_first()?;
    let (operation, scalar) = match (name.strip_suffix("_w_scalar_c"), name.strip_suffix("_w_scalar")) {
        (Some(operation), _) => (operation, Some(0)),
        (None, Some(operation)) => (operation, arguments.len().checked_sub(1)),
        (None, None) => (name, None),
    };
    let (_, _, formula) =
        FORMULAS.iter().find(|(known, arity, _)| *known == operation && *arity == arguments.len())?;
    let is_word = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let mut value = (*formula).to_owned();
    for (position, argument) in arguments.iter().enumerate() {
        let is_scalar = scalar == Some(position);
        if !is_scalar && !is_word(argument) {
            return None;
        }
        let lane = if is_scalar { format!("({argument})") } else { format!("{argument}[{LANE}]") };
        value = value.replace(&format!("{{{position}}}"), &lane);
    }
    is_word(result).then(|| format!("for {LANE} in range({n_lanes}):\n    {result}[{LANE}] = {value}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_loops_over_lanes() {
        for (call, expected) in [
            ("vector_add<dace::float64, 8>(c, a, b)", Some("c[__lane] = a[__lane] + b[__lane]")),
            ("vector_copy<float, 8>(c, a)", Some("c[__lane] = a[__lane]")),
            ("vector_div_w_scalar<double, 8>(c, a, 2.0)", Some("c[__lane] = a[__lane] / (2.0)")),
            ("vector_sub_w_scalar_c<double,8>(c, x, a)", Some("c[__lane] = (x) - a[__lane]")),
            ("vector_le_w_scalar<double, 8>(c, a, x)", Some("c[__lane] = 1.0 if a[__lane] <= (x) else 0.0")),
            (
                "vector_select<double, 8>(c, m, a, b)",
                Some("c[__lane] = a[__lane] if m[__lane] else b[__lane]"),
            ),
            ("vector_add<double, 8>(c, a)", None),
            ("vector_add<double, N>(c, a, b)", None),
            ("vector_add<double, 8>(c, &a[1], b)", None),
            ("vector_gather<double, 8>(c, a, b)", None),
            ("c = a", None),
        ] {
            let expected = expected.map(|body| format!("for __lane in range(8):\n    {body}"));
            assert_eq!(lane_loop(call), expected, "{call}");
        }
    }
}
