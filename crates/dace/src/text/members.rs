//! Members of structures in code: `p[0].cells.block[i]` becomes `p_cells_block[i]`.
//!
//! The types decide about each index: one structure has none, so its `[0]` goes; an index of an array of
//! structures comes before those of the member.

use crate::model::{Member, Structure, Structures};

/// Maximum nesting of accesses in indices.
const MOST_NESTED: usize = 32;

/// A member that code names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    /// The structure, or the connector that carries it.
    pub(crate) root: String,
    /// The names of the path to the member.
    pub(crate) path: Vec<String>,
}

/// An access that no container of its own can stand for: the text and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unnamed {
    /// The access as it stands in the code.
    pub(crate) access: String,
    /// The reason.
    pub(crate) why: &'static str,
}

/// Code in which the names of members stand for accesses of structures.
///
/// `structure` knows the structures by the names that code has for them, and `name` says what a member is called.
///
/// # Errors
/// The first access that has no name.
pub(crate) fn with_members<'s>(
    code: &str,
    structure: &dyn Fn(&str) -> Option<&'s Structure>,
    name: &mut dyn FnMut(&Named) -> Option<String>,
) -> Result<String, Unnamed> {
    within(code, structure, name, MOST_NESTED)
}

/// As [`with_members`], for code that is nested at most this deeply in indices.
fn within<'s>(
    code: &str,
    structure: &dyn Fn(&str) -> Option<&'s Structure>,
    name: &mut dyn FnMut(&Named) -> Option<String>,
    levels: usize,
) -> Result<String, Unnamed> {
    let mut out = String::with_capacity(code.len());
    let mut rest = code;
    let mut before = ' ';
    while let Some(next) = rest.chars().next() {
        let length = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        if length == 0 {
            out.push(next);
            before = next;
            rest = &rest[next.len_utf8()..];
            continue;
        }
        let word = &rest[..length];
        let found = if before == '.' || next.is_ascii_digit() { None } else { structure(word) };
        let after = &rest[length..];
        before = 'a';
        match found {
            Some(found) if after.trim_start().starts_with(['.', '[']) => {
                let (text, taken) = access((word, found), after, structure, name, levels)?;
                out.push_str(&text);
                rest = &after[taken..];
            }
            Some(_) | None => {
                out.push_str(word);
                rest = after;
            }
        }
    }
    Ok(out)
}

fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The text of one access, and how much of the code behind the structure's name belongs to it.
fn access<'s>(
    (root, mut structure): (&str, &'s Structure),
    code: &str,
    all: &dyn Fn(&str) -> Option<&'s Structure>,
    name: &mut dyn FnMut(&Named) -> Option<String>,
    levels: usize,
) -> Result<(String, usize), Unnamed> {
    let Some(levels) = levels.checked_sub(1) else {
        return Err(Unnamed { access: root.to_owned(), why: "its indices are nested too deeply" });
    };
    let mut named = Named { root: root.to_owned(), path: Vec::new() };
    let mut indices: Vec<String> = Vec::new();
    let mut is_indexed = structure.extents.is_empty();
    let mut at = 0;
    let refuse = |at: usize, why| Unnamed { access: format!("{root}{}", code[..at].trim_end()), why };
    loop {
        at += code[at..].len() - code[at..].trim_start().len();
        if code[at..].starts_with('[') {
            let end = at + closing(&code[at..]).ok_or_else(|| refuse(code.len(), "a bracket is open"))?;
            let inner = parts(&code[at + 1..end - 1]);
            at = end;
            if structure.extents.is_empty() {
                if inner.iter().any(|index| index.trim() != "0") {
                    return Err(refuse(at, "one structure has no element but the first"));
                }
                continue;
            }
            if is_indexed
                || inner.len() != structure.extents.len()
                || inner.iter().any(|part| part.contains(':'))
            {
                return Err(refuse(at, "it is no single element of the array of structures"));
            }
            for part in inner {
                indices.push(within(part, all, name, levels)?);
            }
            is_indexed = true;
            continue;
        }
        let member = code[at..].strip_prefix('.').map(|rest| {
            let space = rest.len() - rest.trim_start().len();
            let rest = rest.trim_start();
            (&rest[..rest.find(|c: char| !is_part(c)).unwrap_or(rest.len())], 1 + space)
        });
        let Some((member, dot)) = member else {
            return Err(refuse(at, "a structure as a whole is no value"));
        };
        at += dot + member.len();
        if !is_indexed {
            return Err(refuse(at, "it names a member of all elements of an array of structures"));
        }
        named.path.push(member.to_owned());
        match structure.members.get(member) {
            None => return Err(refuse(at, "the structure has no such member")),
            Some(Member::Structure(inner)) => {
                structure = inner;
                is_indexed = inner.extents.is_empty();
            }
            Some(Member::Data(_)) => break,
        }
    }
    let own = name(&named).ok_or_else(|| refuse(at, "the structure has no such member"))?;
    let spaces = code[at..].len() - code[at..].trim_start().len();
    if code[at + spaces..].starts_with('[') {
        let start = at + spaces;
        let end = start + closing(&code[start..]).ok_or_else(|| refuse(code.len(), "a bracket is open"))?;
        indices.push(within(&code[start + 1..end - 1], all, name, levels)?);
        at = end;
    }
    let text = if indices.is_empty() { own } else { format!("{own}[{}]", indices.join(", ")) };
    Ok((text, at))
}

/// The place behind the bracket that closes the one at the beginning.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// The parts between the commas outside of brackets.
fn parts(text: &str) -> Vec<&str> {
    let (mut found, mut depth, mut begin) = (Vec::new(), 0_i32, 0);
    for (at, c) in text.char_indices() {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => depth -= 1,
            ',' if depth == 0 => {
                found.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    found.push(&text[begin..]);
    found
}

/// Code in which members of the structures of a program have the names of their containers.
///
/// # Errors
/// As [`with_members`].
pub(crate) fn flattened(code: &str, structures: &Structures) -> Result<String, Unnamed> {
    with_members(code, &|name| structures.all.get(name), &mut |named| {
        structures.name(&named.root, &named.path).map(str::to_owned)
    })
}
