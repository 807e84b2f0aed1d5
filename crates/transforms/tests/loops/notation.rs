//! Loops in a short notation, as programs: each statement is a state with a tasklet.
//!
//! A line is `for i = 0:N {`, `if a[i] > 0 {`, `}`, or a statement `a[i] = b[i] + 1` or `s += a[i]`, which combines by a
//! conflict resolution.

use std::fmt::Write;

use sdfg::ir::Sdfg;

/// Containers of every program: vectors, matrices, and scalars, which are transients.
const VECTORS: [&str; 5] = ["a", "b", "c", "d", "e"];
const MATRICES: [&str; 2] = ["aa", "bb"];
const SCALARS: [&str; 3] = ["s", "t", "u"];

/// The program of some lines. Results of scalars are stored in `e[0]` where the last line asks for it.
pub(crate) fn program(lines: &str) -> Sdfg {
    let mut text = String::from("sdfg p {\n  symbol N: i64\n  symbol K: i64\n");
    for name in VECTORS {
        let _ = writeln!(text, "  array {name}: f64[3*N]");
    }
    for name in MATRICES {
        let _ = writeln!(text, "  array {name}: f64[N, N]");
    }
    for name in SCALARS {
        if lines.contains(name) {
            let _ = writeln!(text, "  transient scalar {name}: f64");
        }
    }
    let mut blocks = 0;
    for line in
        lines.split('\n').flat_map(|line| line.split(';')).map(str::trim).filter(|line| !line.is_empty())
    {
        blocks += 1;
        if let Some(header) = line.strip_prefix("for ") {
            let _ = writeln!(text, "for l{blocks}: {header}");
        } else if let Some(condition) = line.strip_prefix("if ") {
            let _ = writeln!(text, "if q{blocks}: {condition}");
        } else if line == "}" {
            text.push_str("}\n");
        } else if line == "break" {
            let _ = writeln!(text, "break x{blocks}");
        } else {
            statement(&mut text, blocks, line);
        }
    }
    text.push_str("}\n");
    match sdfg::text::parse("loops.sdft", &text) {
        Ok(program) => program,
        Err(errors) => panic!("{lines}\n{text}\n{errors:?}"),
    }
}

fn statement(text: &mut String, number: usize, line: &str) {
    let (target, value) = line.split_once('=').unwrap_or_else(|| panic!("`{line}` is no statement"));
    let (target, resolution) = match target.trim().strip_suffix('+') {
        Some(target) => (target.trim(), " wcr(sum)"),
        None => (target.trim(), ""),
    };
    let (code, reads) = connected(value.trim());
    let name = |element: &str| element.split('[').next().unwrap_or_default().to_owned();
    let connectors: Vec<String> = (0..reads.len()).map(|at| format!("x{at}")).collect();
    let _ = writeln!(text, "state s{number} {{");
    let mut seen: Vec<String> = Vec::new();
    for read in &reads {
        if !seen.contains(&name(read)) {
            let _ = writeln!(text, "access r_{0} = {0}", name(read));
            seen.push(name(read));
        }
    }
    let _ = writeln!(text, "access w_{0} = {0}", name(target));
    let _ = writeln!(text, "tasklet t ({}) -> (y) {{ y = {code} }}", connectors.join(", "));
    for (read, connector) in reads.iter().zip(&connectors) {
        let _ = writeln!(text, "r_{} -> t.{connector}: {read}", name(read));
    }
    let _ = writeln!(text, "t.y -> w_{}: {target}{resolution}", name(target));
    text.push_str("}\n");
}

/// The expression with connectors for elements, and the elements.
fn connected(value: &str) -> (String, Vec<String>) {
    let (mut code, mut reads) = (String::new(), Vec::new());
    let mut rest = value;
    while let Some(first) = rest.chars().next() {
        let word: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        if word.is_empty() {
            code.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        rest = &rest[word.len()..];
        let is_array = VECTORS.contains(&word.as_str()) || MATRICES.contains(&word.as_str());
        let element = if is_array {
            let end = rest.find(']').map_or(rest.len(), |at| at + 1);
            let index = &rest[..end];
            rest = &rest[end..];
            format!("{word}{index}")
        } else if SCALARS.contains(&word.as_str()) {
            word
        } else {
            code.push_str(&word);
            continue;
        };
        let at = reads.iter().position(|read| *read == element).unwrap_or_else(|| {
            reads.push(element);
            reads.len() - 1
        });
        let _ = write!(code, "x{at}");
    }
    (code, reads)
}
