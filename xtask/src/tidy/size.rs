//! Limits on the length of files and functions.
//!
//! Long files and functions mix concepts. The hard limits force a cut before this hurts.

use super::source::Source;
use super::{File, Finding};

const FILE_SOFT: usize = 500;
const FILE_HARD: usize = 800;
const FUNCTION_SOFT: usize = 80;
const FUNCTION_HARD: usize = 150;

/// Lines of a Rust file, comments and tests included.
pub(super) fn file_length(file: &File, findings: &mut Vec<Finding>) {
    let lines = file.text.lines().count();
    if lines > FILE_SOFT {
        let message = format!("{lines} lines; a file has at most {FILE_HARD}, better {FILE_SOFT}");
        let finding = Finding::new("file-length", &file.path, None, message);
        findings.push(Finding { soft: lines <= FILE_HARD, ..finding });
    }
}

/// Lines of each function, from `fn` to its closing brace.
pub(super) fn function_length(file: &File, source: &Source, findings: &mut Vec<Finding>) {
    for function in functions(&source.code) {
        let lines = function.last - function.first + 1;
        if lines > FUNCTION_SOFT {
            let message = format!(
                "`{}` has {lines} lines; a function has at most {FUNCTION_HARD}, better {FUNCTION_SOFT}",
                function.name
            );
            let finding = Finding::new("function-length", &file.path, Some(function.first), message);
            findings.push(Finding { soft: lines <= FUNCTION_HARD, ..finding });
        }
    }
}

/// A function with a body, by its first and last line counted from one.
struct Function {
    name: String,
    first: usize,
    last: usize,
}

/// Finds the functions in code without comments and literals.
fn functions(code: &str) -> Vec<Function> {
    // Functions whose body is still open, each with the brace depth around it.
    let mut open: Vec<(usize, Function)> = Vec::new();
    // The function whose signature is being read, with the depth of brackets in it.
    let mut signature: Option<(usize, Function)> = None;
    let mut found = Vec::new();
    let mut depth = 0_usize;
    let mut previous = "";
    for (line, token) in tokens(code) {
        if previous == "fn" && token.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            signature = Some((0, Function { name: token.to_owned(), first: line, last: line }));
        }
        previous = token;
        match token {
            "(" | "[" => signature.iter_mut().for_each(|(brackets, _)| *brackets += 1),
            ")" | "]" => {
                signature.iter_mut().for_each(|(brackets, _)| *brackets = brackets.saturating_sub(1))
            }
            ";" if signature.as_ref().is_some_and(|(brackets, _)| *brackets == 0) => signature = None,
            "{" => {
                if signature.as_ref().is_some_and(|(brackets, _)| *brackets == 0)
                    && let Some((_, function)) = signature.take()
                {
                    open.push((depth, function));
                }
                depth += 1;
            }
            "}" => {
                depth = depth.saturating_sub(1);
                if open.last().is_some_and(|(around, _)| *around == depth)
                    && let Some((_, function)) = open.pop()
                {
                    found.push(Function { last: line, ..function });
                }
            }
            _ => {}
        }
    }
    found
}

/// Words and single other characters, each with its line.
fn tokens(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    code.lines().enumerate().flat_map(move |(index, line)| {
        let mut rest = line.trim_start();
        std::iter::from_fn(move || {
            let first = rest.chars().next()?;
            let word: usize = rest.chars().take_while(|c| is_word(*c)).map(char::len_utf8).sum();
            let (token, tail) = rest.split_at(word.max(first.len_utf8()));
            rest = tail.trim_start();
            Some((index + 1, token))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::functions;

    #[test]
    fn functions_are_measured_from_signature_to_brace() {
        let code = "trait T { fn a(&self) -> [u8; 2]; }\nfn outer(\n  x: fn(u8) -> u8,\n) {\n  fn inner() {}\n  if x {}\n}\n";
        let found: Vec<_> = functions(code).into_iter().map(|f| (f.name, f.first, f.last)).collect();
        assert_eq!(found, [("inner".to_owned(), 5, 5), ("outer".to_owned(), 2, 7)]);
    }
}
