//! C++ code: translation of simple code, and the names that other code uses.
//!
//! Most C++ tasklets of users are one assignment or several assignments in sequence. Code with blocks,
//! pointers or library calls is not translated.

use std::collections::BTreeSet;

use super::lane_calls::lane_loop;
use super::lines::is_print;

/// The same code in our language; `None` if it is more than a list of assignments.
pub(crate) fn assignments(code: &str) -> Option<String> {
    let code: String =
        code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join(" ");
    let (mut found, mut tables) = (Vec::new(), Vec::new());
    for statement in split(&code, b';')? {
        if statement.is_empty() || is_print(statement) {
            continue;
        }
        if let Some(table) = Table::of(statement) {
            tables.push(table);
            continue;
        }
        if let Some(lanes) = lane_loop(statement) {
            found.push(lanes);
            continue;
        }
        let foreign = ['{', '}', '"', '\'', '#', '~'];
        if statement.contains(foreign)
            || ["->", "__state", "++", "--", "<<", ">>", "&*"].iter().any(|text| statement.contains(text))
        {
            return None;
        }
        let picked = tables.iter().try_fold(assignment(statement)?, |line, table| table.picked(&line))?;
        found.push(picked);
    }
    Some(if found.is_empty() { "pass".to_owned() } else { found.join("\n") })
}

/// An array of constants that code declares.
struct Table {
    name: String,
    values: Vec<String>,
}

impl Table {
    /// The most values: each element that code picks becomes a choice among all.
    const MOST: usize = 64;

    /// The table that a statement such as `constexpr double T[3] = {1, 2, 3}` declares.
    fn of(statement: &str) -> Option<Table> {
        let (declared, values) = statement.strip_suffix('}')?.split_once('{')?;
        let declared = declared.trim_end().strip_suffix('=')?.trim_end();
        let (declared, extent) = declared.strip_suffix(']')?.split_once('[')?;
        let (ty, name) = declared.trim_end().rsplit_once(|c: char| c.is_whitespace())?;
        let is_constant = ty.split_whitespace().any(|word| matches!(word, "const" | "constexpr"));
        let ty: Vec<&str> = ty.split_whitespace().filter(|word| *word != "static").collect();
        let ty = local_type(&ty.join(" "))??;
        let numbers: Vec<&str> = values.split(',').map(str::trim).collect();
        let is_number = |text: &&str| {
            let plain = without_suffixes(text.trim_start_matches('-'));
            plain.parse::<f64>().is_ok() && plain.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        };
        let fits = extent.trim().is_empty() || extent.trim().parse() == Ok(numbers.len());
        (is_constant && fits && numbers.len() <= Table::MOST && numbers.iter().all(is_number)).then(|| {
            Table {
                name: name.to_owned(),
                values: numbers.iter().map(|value| format!("{ty}({})", without_suffixes(value))).collect(),
            }
        })
    }

    /// A line in which a choice stands for each element of the table; `None` where the table is used in another way.
    fn picked(&self, line: &str) -> Option<String> {
        let (mut out, mut rest) = (String::new(), line);
        while let Some(at) = rest.find(&self.name) {
            let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let after = &rest[at + self.name.len()..];
            if rest[..at].ends_with(word) || after.starts_with(word) {
                // The rest of another name.
                let end = after.find(|c| !word(c)).unwrap_or(after.len());
                out.push_str(&rest[..at + self.name.len() + end]);
                rest = &after[end..];
                continue;
            }
            let inner = after.strip_prefix('[')?;
            let end = closing(inner)?;
            let index = &inner[..end];
            let (last, others) = self.values.split_last()?;
            out.push_str(&rest[..at]);
            for (position, value) in others.iter().enumerate() {
                out.push_str(&format!("({value} if ({index}) == {position} else "));
            }
            out.push_str(last);
            out.push_str(&")".repeat(others.len()));
            rest = &inner[end + 1..];
        }
        out.push_str(rest);
        Some(out)
    }
}

/// The position of the bracket that closes one before the text.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'[' => depth += 1,
            b']' if depth == 0 => return Some(at),
            b']' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The names in C++ code that it does not declare: no words of comments and texts, no members, nothing behind a type.
pub(crate) fn free_names(code: &str) -> BTreeSet<String> {
    /// Words before a name that are no types.
    const NO_TYPES: [&str; 10] =
        ["return", "else", "case", "goto", "new", "delete", "throw", "sizeof", "and", "or"];
    let (mut names, mut declared) = (BTreeSet::new(), BTreeSet::new());
    let (mut rest, mut before) = (code, "");
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |at| at + 2),
            '"' | '\'' => quoted(rest, first),
            '-' | ':' if rest.starts_with("->") || rest.starts_with("::") => 2,
            _ if word(first) => rest.find(|c| !word(c)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        rest = after;
        if first.is_whitespace() || token.starts_with("//") || token.starts_with("/*") {
            continue;
        }
        let is_name = |token: &str| token.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if is_name(token) {
            if is_name(before) && !NO_TYPES.contains(&before) {
                declared.insert(token.to_owned());
            } else if !matches!(before, "." | "->" | "::") {
                names.insert(token.to_owned());
            }
        }
        before = token;
    }
    names.difference(&declared).cloned().collect()
}

/// Length of the string or character literal at the beginning of `text`.
fn quoted(text: &str, mark: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if c == mark && !escaped {
            return at + c.len_utf8();
        }
        escaped = c == '\\' && !escaped;
    }
    text.len()
}

/// One assignment; the type of a declaration, which converts the value, stands behind the name.
fn assignment(statement: &str) -> Option<String> {
    let at = statement.find('=').filter(|at| !statement[at + 1..].starts_with('='))?;
    let (left, value) = (&statement[..at], &statement[at + 1..]);
    let (left, operator) = match left.trim_end().chars().last()? {
        operator @ ('+' | '-' | '*' | '/' | '%') => {
            (left.trim_end().strip_suffix(operator)?, operator.to_string())
        }
        '<' | '>' | '!' | '|' | '&' | '^' => return None,
        _ => (left, String::new()),
    };
    let left = left.trim();
    // Spaces in an index belong to the target.
    let name = left.find('[').map_or(left, |at| left[..at].trim_end());
    let (target, ty) = match name.rfind(|c: char| c.is_whitespace()) {
        Some(at) => (left[at..].trim_start(), local_type(&left[..at])?),
        None => (left, None),
    };
    if target.starts_with(['*', '&', '(']) {
        return None;
    }
    let annotation = ty.map(|ty| format!(": {ty}")).unwrap_or_default();
    Some(format!("{target}{annotation} {operator}= {}", expression(value.trim())?))
}

/// The type of a declared local in our words; `Some(None)` if its value tells it, `None` if it is no type of numbers.
fn local_type(ty: &str) -> Option<Option<String>> {
    let words: Vec<&str> =
        ty.split_whitespace().filter(|word| !matches!(*word, "const" | "constexpr")).collect();
    let plain = words.join(" ").replace("std::", "").replace("::", ".");
    Some(Some(match plain.as_str() {
        "" | "auto" => return Some(None),
        "unsigned" | "unsigned int" => "uint32".to_owned(),
        "long" | "long int" | "long long" | "ptrdiff_t" => "int64".to_owned(),
        "unsigned long" | "unsigned long long" | "size_t" => "uint64".to_owned(),
        "unsigned char" => "uint8".to_owned(),
        "unsigned short" => "uint16".to_owned(),
        "bool" | "char" | "short" | "int" | "float" | "double" => plain,
        "int8_t" | "int16_t" | "int32_t" | "int64_t" => plain,
        "uint8_t" | "uint16_t" | "uint32_t" | "uint64_t" => plain,
        _ if plain.starts_with("dace.") => plain,
        _ => return None,
    }))
}

/// An expression: choices, logic, names of namespaces and suffixes of numbers.
fn expression(text: &str) -> Option<String> {
    if text.starts_with(['*', '&']) || text.contains("(*") || text.contains("(&") {
        return None;
    }
    let choices = split(text, b'?')?;
    if let [condition, rest @ ..] = choices.as_slice()
        && !rest.is_empty()
    {
        // A choice in a choice would need the pairs of its marks.
        let [rest] = rest else { return None };
        let rest = rest.replace("::", "\u{1}");
        let [then, otherwise] = split(&rest, b':')?.try_into().ok()?;
        let branch = |text: &str| expression(&text.replace('\u{1}', "::"));
        return Some(format!(
            "(({}) if ({}) else ({}))",
            branch(then)?,
            expression(condition)?,
            branch(otherwise)?
        ));
    }
    if text.contains('?') {
        // All of it in parentheses.
        let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'))?;
        return split(inner, b'?').and_then(|_| expression(inner.trim()));
    }
    let text = text.replace("&&", " and ").replace("||", " or ").replace("std::", "").replace("::", ".");
    let text = text.replace("!=", "\u{1}").replace('!', " not ").replace('\u{1}', "!=");
    Some(without_suffixes(&text))
}

/// `1.0f` as `1.0`.
fn without_suffixes(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let ends = !bytes.get(at + 1).is_some_and(|next| next.is_ascii_alphanumeric() || *next == b'_');
        let follows_number = at > 0 && {
            let digits =
                bytes[..at].iter().rev().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
            let before = at.checked_sub(digits + 1).and_then(|before| bytes.get(before));
            digits > 0 && !before.is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
        };
        if matches!(c, 'f' | 'F' | 'L' | 'l' | 'u' | 'U') && ends && follows_number {
            continue;
        }
        plain.push(c);
    }
    plain
}

/// Arguments of one call; `None` where the text is of more than one.
pub(crate) fn call_arguments(text: &str) -> Option<Vec<&str>> {
    split(text, b',')
}

/// The parts of a text between marks that stand in no parentheses; `None` where one closes that nothing opened.
fn split(text: &str, mark: u8) -> Option<Vec<&str>> {
    let (mut parts, mut depth, mut begin) = (Vec::new(), 0_usize, 0);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.checked_sub(1)?,
            _ if byte == mark && depth == 0 => {
                parts.push(text[begin..at].trim());
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[begin..].trim());
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_code_does_not_declare() {
        for (code, expected) in [
            (
                "int i = N; // M\nfor (; i < n; ++i) { o[i] = s.M + s->L + std::max(K, \"Q\\\"R\"[0]); }",
                "K N for int n o s std",
            ),
            ("auto x = a; /* b */ return c * 'd';", "a auto c return"),
            ("o = a", "a o"),
        ] {
            assert_eq!(free_names(code).into_iter().collect::<Vec<_>>().join(" "), expected);
        }
    }

    #[test]
    fn assignments_are_translated() {
        for (code, expected) in [
            ("out = 1;", Some("out = 1")),
            ("b = a;\n printf(\"x; y\");", Some("b = a")),
            ("auto i = 2; o += std::sqrt(a[i]) * 1.5f;", Some("i = 2\no += sqrt(a[i]) * 1.5")),
            (
                "const int64_t i = 5.5;\nstd::uint8_t k = a; o = i / 2;",
                Some("i: int64_t = 5.5\nk: uint8_t = a\no = i / 2"),
            ),
            ("o[i - 1] = a;\nint k = 2;", Some("o[i - 1] = a\nk: int = 2")),
            (
                "vector_mult<dace::float64, 8>(t, a, b);\nvector_copy<double, 8>(o, t);",
                Some(
                    "for __lane in range(8):\n    t[__lane] = a[__lane] * b[__lane]\nfor __lane in range(8):\n    o[__lane] = t[__lane]",
                ),
            ),
            ("vec3 v = a; o = v;", None),
            (
                "o = a < b && !c ? dace::float64(a) : b;",
                Some("o = ((dace.float64(a)) if (a < b  and   not c) else (b))"),
            ),
            ("o = (a >= 0 ? fabs(b) : -1.f);", Some("o = ((fabs(b)) if (a >= 0) else (-1.))")),
            ("o = (a ? b : c) + 1;", None),
            (
                "static constexpr double T[3] = {1, -2.f, 3e2};\no[i] = T[i - K[0]] * TT;",
                Some(
                    "o[i] = (double(1) if (i - K[0]) == 0 else (double(-2.) if (i - K[0]) == 1 else double(3e2))) * TT",
                ),
            ),
            ("const int T[2] = {1, 2};\no = T;", None),
            ("int T[2] = {1, 2};\nT[0] = 3;", None),
            ("for (int i = 0; i < 3; ++i) { o[i] = 1; }", None),
            ("out = *p;", None),
            ("o = s->x;", None),
        ] {
            assert_eq!(assignments(code).as_deref(), expected, "{code}");
        }
    }
}
