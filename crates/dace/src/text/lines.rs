//! Line-by-line rewriting of code that is not a statement or expression of our grammar, before parsing.

use super::numbers;

/// The text with each line in a form that our grammar has.
pub(super) fn plain_lines(text: &str) -> String {
    let text = text.replace("__DACESTRUCT_", "");
    let lines = text.lines().map(|line| {
        let written = line.trim();
        let indent = &line[..line.len() - line.trim_start().len()];
        match plain_line(written) {
            Some(plain) => plain.lines().map(|line| format!("{indent}{line}")).collect::<Vec<_>>().join("\n"),
            None => line.to_owned(),
        }
    });
    identities(&conversions(&infinities(&lines.collect::<Vec<_>>().join("\n"))))
}

/// Calls that write their last arguments, declarations and output; `None` for other lines.
fn plain_line(line: &str) -> Option<String> {
    let call = |name: &str| -> Option<Vec<String>> {
        let inner = line.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')')?;
        Some(inner.split(',').map(|part| part.trim().to_owned()).collect())
    };
    if let Some([a, b, quotient, remainder]) = call("py_divmod").as_deref() {
        return Some(format!("{quotient} = py_floor({a}, {b})\n{remainder} = py_mod({a}, {b})"));
    }
    // `floor` leaves the quotient of integers, which `/` cut off. DaCe rounds that of floats down, beside the remainder of C.
    if let Some([a, b, quotient, remainder]) = call("cpp_divmod").as_deref() {
        return Some(format!("{quotient} = floor(({a}) / ({b}))\n{remainder} = cpp_mod({a}, {b})"));
    }
    // Not in the order of NumPy's results, but in that of DaCe's runtime.
    if let Some([a, whole, fraction]) = call("np_modf").as_deref() {
        return Some(format!("{fraction} = {a} - trunc({a})\n{whole} = trunc({a})"));
    }
    if let Some(plain) = numbers::plain(line) {
        return Some(plain);
    }
    if let Some(plain) = chain(line) {
        return Some(plain);
    }
    // What is printed is no result.
    if is_print(line) && line.ends_with(')') {
        return Some("pass".to_owned());
    }
    // `t: dace.float64` declares a local that is assigned later.
    let (name, ty) = line.split_once(':')?;
    let is_name = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let ty = ty.trim().strip_prefix("dace.")?;
    (is_name(name.trim()) && is_name(ty)).then(|| format!("{}: {ty} = 0", name.trim()))
}

/// Whether a statement writes to the standard output, in C++ or in Python.
pub(crate) fn is_print(statement: &str) -> bool {
    statement.starts_with("printf(") || statement.starts_with("print(")
}

/// `a = b[i] = value`, one assignment after the other.
fn chain(line: &str) -> Option<String> {
    let bytes = line.as_bytes();
    let (mut parts, mut depth, mut begin) = (Vec::new(), 0_i32, 0);
    for (at, byte) in line.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            b'\'' | b'"' | b'#' => return None,
            b'=' if depth == 0 => {
                let before = at.checked_sub(1).and_then(|before| bytes.get(before)).copied();
                let is_other = matches!(before, Some(b'=' | b'<' | b'>' | b'!'));
                if !is_other && bytes.get(at + 1) != Some(&b'=') {
                    parts.push(line[begin..at].trim());
                    begin = at + 1;
                }
            }
            _ => {}
        }
    }
    let value = line[begin..].trim();
    let is_target = |part: &&str| part.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == ']');
    if parts.len() < 2 || !parts.iter().all(is_target) {
        return None;
    }
    let assigned = parts.iter().map(|target| format!("{target} = __chained"));
    Some(std::iter::once(format!("__chained = {value}")).chain(assigned).collect::<Vec<_>>().join("\n"))
}

/// `decltype(x)(a)` as a call of its own name with that of `x` in it.
fn conversions(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("decltype(") {
        plain.push_str(before);
        match after.split_once(')') {
            Some((name, behind)) => {
                plain.push_str(super::code::CONVERSION);
                plain.push_str(name.trim());
                rest = behind;
            }
            None => {
                plain.push_str("decltype(");
                rest = after;
            }
        }
    }
    plain + rest
}

/// Numbers beyond all floats, which is how Python prints infinity: `1e309`.
fn infinities(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let (mut plain, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(begin) = rest.find(is_part) {
        let end = rest[begin..].find(|c| !is_part(c)).map_or(rest.len(), |length| begin + length);
        let word = &rest[begin..end];
        let is_number = word.starts_with(|c: char| c.is_ascii_digit());
        let is_infinite = is_number && word.parse::<f64>().is_ok_and(f64::is_infinite);
        plain.push_str(&rest[..begin]);
        plain.push_str(if is_infinite { "inf" } else { word });
        rest = &rest[end..];
    }
    plain + rest
}

/// `a is None` is false, as every argument is there; other identities are equalities.
fn identities(text: &str) -> String {
    if !text.contains(" is ") {
        return text.to_owned();
    }
    let mut plain = text.to_owned();
    for (form, value) in [(" is not None", "True"), (" is None", "False")] {
        while let Some(at) = plain.find(form) {
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let start = plain[..at].rfind(|c| !is_name(c)).map_or(0, |before| before + 1);
            plain.replace_range(start..at + form.len(), value);
        }
    }
    plain.replace(" is not ", " != ").replace(" is ", " == ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_in_our_grammar() {
        for (line, plain) in [
            ("py_divmod(a, b, q, r)", "q = py_floor(a, b)\nr = py_mod(a, b)"),
            ("cpp_divmod(a, b, q, r)", "q = floor((a) / (b))\nr = cpp_mod(a, b)"),
            ("  t: dace.float64", "  t: float64 = 0"),
            ("(not (B is None))", "(not (False))"),
            ("x = (a is not False)", "x = (a != False)"),
            ("printf('%f', a)", "pass"),
            ("a: b = 1", "a: b = 1"),
            ("v = o[5] = f(x=1)", "__chained = f(x=1)\nv = __chained\no[5] = __chained"),
            ("o = (- 1e309)", "o = (- inf)"),
            ("o1e309 = 1e308 + x.y2[1]", "o1e309 = 1e308 + x.y2[1]"),
            ("v = a == b", "v = a == b"),
            ("o[i] += a <= b", "o[i] += a <= b"),
        ] {
            assert_eq!(plain_lines(line), plain);
        }
    }
}
