//! Labels of lowered blocks and derived nodes that contain a point (`l.guard0`), as names that DaCe accepts.

/// Replacement of a point.
const POINT: &str = "_dot_";

/// A label as a name of letters, digits and underscores.
pub(crate) fn to_name(label: &str) -> String {
    let plain = label.replace('.', POINT);
    plain.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect()
}

/// The label that a name was made of: a point comes back where a role with a number follows, as in `l_dot_guard0`.
pub(crate) fn from_name(name: &str) -> String {
    let mut parts = name.split(POINT);
    let mut label = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let role = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let is_role = !role.is_empty() && role.len() < part.len() && !label.is_empty();
        label.push_str(if is_role { "." } else { POINT });
        label.push_str(part);
    }
    label
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_come_back() {
        for (label, name) in [
            ("l.guard0", "l_dot_guard0"),
            ("a.loop1.latch12", "a_dot_loop1_dot_latch12"),
            ("plain_0", "plain_0"),
        ] {
            assert_eq!(to_name(label), name);
            assert_eq!(from_name(name), label);
        }
        assert_eq!(from_name("x_dot_y"), "x_dot_y");
        assert_eq!(to_name("a b"), "a_b");
    }
}
