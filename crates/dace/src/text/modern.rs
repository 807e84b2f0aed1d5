//! Spelling of symbolic texts since version 2.0.0a4: `$N` for symbols, `symbol($N, dtype=...)`, and numbers
//! with a type suffix.

use std::borrow::Cow;

/// The text in the spelling of earlier versions.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    if text.contains('$') || has_typed_number(text) {
        Cow::Owned(without_marks(text))
    } else {
        Cow::Borrowed(text)
    }
}

/// Types that may stand behind a number.
const TYPES: [&str; 14] =
    ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64", "c64", "c128", "b"];

/// Number of bytes of a type at the beginning of a text that follows a number.
fn type_length(rest: &str) -> Option<usize> {
    let word = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
    let word = rest.get(..word)?;
    TYPES.contains(&word).then_some(word.len())
}

fn has_typed_number(text: &str) -> bool {
    let bytes = text.as_bytes();
    (1..bytes.len()).any(|at| {
        bytes[at - 1].is_ascii_digit()
            && bytes[at].is_ascii_lowercase()
            && starts_number(bytes, at - 1)
            && text.get(at..).and_then(type_length).is_some()
    })
}

/// Whether the digits that end at a place are a number and no part of a name.
fn starts_number(bytes: &[u8], mut at: usize) -> bool {
    while at > 0 && (bytes[at].is_ascii_digit() || bytes[at] == b'.') {
        at -= 1;
    }
    !(bytes[at].is_ascii_alphabetic() || bytes[at] == b'_')
}

fn without_marks(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        if let Some(inner) = rest.strip_prefix("symbol(") {
            // `symbol($N, dtype=dace.int64, nonnegative=True)` is N.
            let end = inner.find(')').unwrap_or(inner.len());
            let name = inner[..end].split(',').next().unwrap_or_default();
            plain.push_str(name.trim().trim_start_matches('$'));
            rest = inner.get(end + 1..).unwrap_or_default();
            continue;
        }
        if next == '$' {
            rest = &rest[1..];
            continue;
        }
        let typed = next.is_ascii_lowercase() && ends_number(&plain);
        if let Some(length) = typed.then(|| type_length(rest)).flatten() {
            rest = &rest[length..];
            continue;
        }
        plain.push(next);
        rest = &rest[next.len_utf8()..];
    }
    plain
}

fn ends_number(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.last().is_some_and(u8::is_ascii_digit) && starts_number(bytes, bytes.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_and_types_are_dropped() {
        for (modern, old) in [
            ("-1 + $N", "-1 + N"),
            ("1/3*$i", "1/3*i"),
            ("symbol($N, dtype=dace.int64, nonnegative=True) - 1", "N - 1"),
            ("$a2i16 + 2i16", "a2i16 + 2"),
            ("7.0f64*$x", "7.0*x"),
        ] {
            assert_eq!(plain(modern), old);
        }
        assert!(matches!(plain("N - 1 + x2f64"), Cow::Borrowed(_)));
    }
}
