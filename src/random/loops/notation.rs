//! A short notation for loops over arrays, and the programs that it stands for.
//!
//! ```text
//! for i = 1:N {            a loop of control flow; steps and counting down as in programs
//!   if b[i] < 0 {          a branch on data, with `} else {`
//!     c[i + 1] = a[i] + s  a state with one tasklet
//!   }
//!   k = ip[i] % N          a symbol from data, for indices
//!   r -> a                 a reference set to an array, from its first element on
//!   p -> c                 a view of another array, up to the end of these braces
//!   break                  and `continue`
//! }
//! map i = 0:N as simd {    a map with one tasklet: what stands inside is its code
//!   if b[i] < 0:
//!     a[i] = c[i]
//! }
//! ```
//!
//! Arrays are `a` to `e` of `2 * N + 8` elements, `u`, `v` and `w` of two dimensions of `N + 4`, and `ip` of
//! integers. `s` and `t` are scalars: they start with 1, and arrays store them at the end. `p` is a view of
//! `a`, and `q` of `c`, both from the second element on. A line may change this: branches exchange views, and
//! each state has its own binding. `r` and `x` are references, initially to `a` and `b`. Symbols are `i`,
//! `j` and `k`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use sdfg::dtype::ScalarType;

/// Elements of arrays of one dimension.
const LENGTH: &str = "2 * N + 8";
/// Containers: name, extents, and declaration.
const CONTAINERS: [(&str, &str, &str); 15] = [
    ("a", LENGTH, "array"),
    ("b", LENGTH, "array"),
    ("c", LENGTH, "array"),
    ("d", LENGTH, "array"),
    ("e", LENGTH, "array"),
    ("u", "N + 4, N + 4", "array"),
    ("v", "N + 4, N + 4", "array"),
    ("w", "N + 4, N + 4", "array"),
    ("ip", LENGTH, "array"),
    ("s", "", "transient scalar"),
    ("t", "", "transient scalar"),
    ("p", "2 * N + 7", "view"),
    ("q", "2 * N + 7", "view"),
    ("r", LENGTH, "reference"),
    ("x", LENGTH, "reference"),
];

/// The indentation of a program's blocks.
const OUTERMOST: usize = 1;

/// The initial targets of the views and references.
const BASES: [(&str, &str); 4] = [("p", "a"), ("q", "c"), ("r", "a"), ("x", "b")];

/// The name of a container, as the list spells it.
fn declared(name: &str) -> Option<&'static str> {
    CONTAINERS.iter().map(|(container, ..)| *container).find(|container| *container == name)
}

fn is_view(name: &str) -> bool {
    matches!(name, "p" | "q")
}

fn is_scalar(name: &str) -> bool {
    matches!(name, "s" | "t")
}

/// The program that loops in this notation stand for, in the text form; elements are of type `ty`.
///
/// # Errors
/// A message about a line that is not in the notation.
pub fn program(name: &str, ty: ScalarType, source: &str) -> Result<String, String> {
    let mut writer = Writer {
        ty,
        text: String::new(),
        depth: OUTERMOST,
        labels: 0,
        used: BTreeSet::new(),
        bases: vec![BASES.into()],
    };
    let mut lines = source.lines().filter(|line| !line.trim().is_empty());
    while let Some(line) = lines.next() {
        let line = line.trim();
        if let Some(range) = line.strip_prefix("map ").and_then(|rest| rest.strip_suffix('{')) {
            let mut body = Vec::new();
            loop {
                let line = lines.next().ok_or_else(|| format!("`{range}` is not closed"))?;
                if line.trim() == "}" {
                    break;
                }
                body.push(line);
            }
            writer.map(range.trim(), &body)?;
        } else {
            writer.statement(line)?;
        }
    }
    Ok(writer.finish(name))
}

/// A part of code: an access, or the text between two accesses.
enum Piece<'a> {
    Access(Access<'a>),
    Text(&'a str),
}

/// A use of a container.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Access<'a> {
    name: &'a str,
    /// The text between the brackets; empty for scalars.
    index: &'a str,
}

impl Access<'_> {
    /// As a memlet.
    fn memlet(self) -> String {
        if self.index.is_empty() { self.name.to_owned() } else { format!("{}[{}]", self.name, self.index) }
    }
}

/// Code in its parts.
fn pieces(code: &str) -> Result<Vec<Piece<'_>>, String> {
    let (mut found, mut begin, mut at) = (Vec::new(), 0, 0);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    while let Some(c) = code[at..].chars().next() {
        if !is_name(c) {
            at += c.len_utf8();
            continue;
        }
        let end = code[at..].find(|c| !is_name(c)).map_or(code.len(), |length| at + length);
        let name = &code[at..end];
        let is_container = CONTAINERS.iter().any(|(container, ..)| *container == name);
        if !is_container {
            at = end;
            continue;
        }
        found.push(Piece::Text(&code[begin..at]));
        if is_scalar(name) {
            found.push(Piece::Access(Access { name, index: "" }));
            at = end;
        } else {
            let inside =
                code[end..].strip_prefix('[').and_then(|rest| rest.find(']').map(|close| &rest[..close]));
            let index = inside.ok_or_else(|| format!("`{name}` has no index in `{code}`"))?;
            found.push(Piece::Access(Access { name, index }));
            at = end + index.len() + 2;
        }
        begin = at;
    }
    found.push(Piece::Text(&code[begin..]));
    Ok(found)
}

/// The access that a target of an assignment is, if it is one.
fn only_access(target: &str) -> Result<Option<Access<'_>>, String> {
    let access = pieces(target)?.into_iter().find_map(|piece| match piece {
        Piece::Access(access) => Some(access),
        Piece::Text(_) => None,
    });
    Ok(access)
}

/// The position of an access in a list, to which it is added if it is not there.
fn number_of<'a>(access: Access<'a>, list: &mut Vec<Access<'a>>) -> usize {
    list.iter().position(|known| *known == access).unwrap_or_else(|| {
        list.push(access);
        list.len() - 1
    })
}

struct Writer {
    ty: ScalarType,
    text: String,
    depth: usize,
    labels: usize,
    /// Containers that the program has.
    used: BTreeSet<&'static str>,
    /// The targets of views, for each open brace.
    bases: Vec<BTreeMap<&'static str, &'static str>>,
}

impl Writer {
    /// The target of a view, or the first target of a reference, at this place.
    fn base(&self, name: &str) -> Option<&'static str> {
        self.bases.last().and_then(|bases| bases.get(name)).copied()
    }

    /// Braces: the targets that views get inside end with them.
    fn open(&mut self) {
        self.depth += 1;
        self.bases.extend(self.bases.last().cloned());
    }

    fn close(&mut self) -> Result<(), String> {
        if self.depth == OUTERMOST {
            return Err("braces are closed that were not open".to_owned());
        }
        self.depth -= 1;
        self.bases.pop();
        Ok(())
    }

    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{}{line}", "  ".repeat(self.depth));
    }

    fn label(&mut self, prefix: &str) -> String {
        self.labels += 1;
        format!("{prefix}{}", self.labels)
    }

    fn note(&mut self, name: &str) {
        self.used.extend(declared(name));
        // A view is of another container in other braces.
        self.used.extend(self.base(name));
    }

    fn statement(&mut self, line: &str) -> Result<(), String> {
        if let Some(range) = line.strip_prefix("for ") {
            let label = self.label("l");
            self.line(&format!("for {label}: {range}"));
            self.open();
        } else if let Some(condition) = line.strip_prefix("if ") {
            let label = self.label("b");
            self.condition(condition)?;
            self.line(&format!("if {label}: {condition}"));
            self.open();
        } else if line.starts_with('}') {
            self.condition(line)?;
            self.close()?;
            self.line(line);
            if line.ends_with('{') {
                self.open();
            }
        } else if matches!(line, "break" | "continue") {
            let label = self.label("j");
            self.line(&format!("{line} {label}"));
        } else if let Some((view, target)) = line.split_once(" -> ").filter(|(alias, _)| is_view(alias)) {
            let names = declared(view).zip(declared(target));
            let (view, target) = names.ok_or_else(|| format!("`{line}` names no container"))?;
            if let Some(bases) = self.bases.last_mut() {
                bases.insert(view, target);
            }
            self.note(view);
            self.note(target);
        } else if let Some((reference, target)) = line.split_once(" -> ") {
            self.note(reference);
            self.note(target);
            self.set(reference, target);
        } else {
            let (target, value) =
                line.split_once(" = ").ok_or_else(|| format!("`{line}` is no statement"))?;
            if target == "k" {
                self.symbol(value)?;
            } else {
                self.assign(target, value)?;
            }
        }
        Ok(())
    }

    fn condition(&mut self, condition: &str) -> Result<(), String> {
        for piece in pieces(condition)? {
            if let Piece::Access(access) = piece {
                self.note(access.name);
            }
        }
        Ok(())
    }

    fn set(&mut self, reference: &str, target: &str) {
        let label = self.label("set");
        self.line(&format!(
            "state {label} {{ access {target}; access {reference}; bind {target} -> {reference}: {target}[0:{LENGTH}] }}"
        ));
    }

    fn symbol(&mut self, value: &str) -> Result<(), String> {
        self.condition(value)?;
        let (from, to) = (self.label("from"), self.label("to"));
        self.line(&format!("state {from} {{}}"));
        self.line(&format!("-> {to} with (k = {value})"));
        self.line(&format!("state {to} {{}}"));
        Ok(())
    }

    /// A state with a tasklet for one assignment.
    fn assign(&mut self, target: &str, value: &str) -> Result<(), String> {
        let mut inputs = Vec::new();
        let code = self.code(value, &mut inputs)?;
        let target = only_access(target)?.ok_or_else(|| format!("`{target}` cannot be assigned to"))?;
        self.note(target.name);
        let label = self.label("x");
        self.line(&format!("state {label} {{"));
        self.depth += 1;
        self.sources(&inputs);
        let output = target.name;
        self.line(&format!("access to_{output} = {output}"));
        let connectors = (0..inputs.len()).map(|n| format!("in{n}")).collect::<Vec<_>>().join(", ");
        self.line(&format!("tasklet one ({connectors}) -> (out) {{ out = {}({code}) }}", self.ty));
        for (n, input) in inputs.iter().enumerate() {
            self.line(&format!("from_{} -> one.in{n}: {}", input.name, input.memlet()));
        }
        self.line(&format!("one.out -> to_{output}: {}", target.memlet()));
        if let Some(base) = self.base(output).filter(|_| is_view(output)) {
            self.line(&format!("access viewed_{output} = {base}"));
            self.line(&format!("bind to_{output} -> viewed_{output}: {base}[1:{LENGTH}]"));
        }
        self.depth -= 1;
        self.line("}");
        Ok(())
    }

    /// Code with connectors in place of accesses. `inputs` are the read accesses.
    fn code<'a>(&mut self, value: &'a str, inputs: &mut Vec<Access<'a>>) -> Result<String, String> {
        let mut code = String::new();
        for piece in pieces(value)? {
            match piece {
                Piece::Text(text) => code.push_str(text),
                Piece::Access(access) => {
                    self.note(access.name);
                    let _ = write!(code, "in{}", number_of(access, inputs));
                }
            }
        }
        Ok(code)
    }

    /// Access nodes of the read containers.
    fn sources(&mut self, inputs: &[Access<'_>]) {
        let names: BTreeSet<&str> = inputs.iter().map(|input| input.name).collect();
        for name in names {
            self.line(&format!("access from_{name} = {name}"));
            if let Some(base) = self.base(name).filter(|_| is_view(name)) {
                self.line(&format!("access base_{name} = {base}"));
                self.line(&format!("bind base_{name} -> from_{name}: {base}[1:{LENGTH}]"));
            }
        }
    }

    /// A map with one tasklet. Its outputs are the assigned accesses; an iteration may assign none.
    fn map(&mut self, range: &str, body: &[&str]) -> Result<(), String> {
        let (range, schedule) = range.split_once(" as ").unwrap_or((range, "default"));
        let mut inputs: Vec<Access<'_>> = Vec::new();
        let mut outputs: Vec<Access<'_>> = Vec::new();
        let mut code = Vec::new();
        for line in body {
            let Some((target, value)) = line.split_once(" = ") else {
                code.push(self.code(line, &mut inputs)?);
                continue;
            };
            let value = self.code(value, &mut inputs)?;
            let assigned = match only_access(target)? {
                Some(access) => {
                    self.note(access.name);
                    let indent = &target[..target.len() - target.trim_start().len()];
                    format!("{indent}out{}", number_of(access, &mut outputs))
                }
                // A variable of the code.
                None => target.to_owned(),
            };
            code.push(format!("{assigned} = {}({value})", self.ty));
        }
        let label = self.label("x");
        self.line(&format!("state {label} {{"));
        self.depth += 1;
        self.sources(&inputs);
        let written: BTreeSet<&str> = outputs.iter().map(|output| output.name).collect();
        for name in &written {
            self.line(&format!("access to_{name} = {name}"));
        }
        let schedule = if schedule == "default" { String::new() } else { format!(" schedule({schedule})") };
        self.line(&format!("map m [{range}]{schedule} {{"));
        self.depth += 1;
        let names = |prefix: &str, count: usize| {
            (0..count).map(|n| format!("{prefix}{n}")).collect::<Vec<_>>().join(", ")
        };
        self.line(&format!(
            "tasklet one ({}) -> ({}) {{",
            names("in", inputs.len()),
            names("out", outputs.len())
        ));
        for line in &code {
            self.line(line);
        }
        self.line("}");
        for (n, input) in inputs.iter().enumerate() {
            self.line(&format!("m.{} -> one.in{n}: {}", input.name, input.memlet()));
        }
        for (n, output) in outputs.iter().enumerate() {
            self.line(&format!("one.out{n} -> m.{}: {} dynamic", output.name, output.memlet()));
        }
        self.depth -= 1;
        self.line("}");
        let read: BTreeSet<&str> = inputs.iter().map(|input| input.name).collect();
        for name in read {
            self.line(&format!("from_{name} -> m.{name}"));
        }
        for name in written {
            self.line(&format!("m.{name} -> to_{name}"));
        }
        self.depth -= 1;
        self.line("}");
        Ok(())
    }

    /// The program: declarations, initial values, the statements, and the scalars at the end.
    fn finish(mut self, name: &str) -> String {
        let ty = self.ty;
        let body = std::mem::take(&mut self.text);
        let scalars: Vec<&str> = ["s", "t"].into_iter().filter(|scalar| self.used.contains(scalar)).collect();
        for scalar in &scalars {
            self.line(&format!("state first_{scalar} {{ access {scalar}; tasklet one () -> (out) {{ out = {ty}(1) }}; one.out -> {scalar} }}"));
        }
        for reference in ["r", "x"] {
            if let Some(target) = self.base(reference).filter(|_| self.used.contains(reference)) {
                self.set(reference, target);
            }
        }
        self.text.push_str(&body);
        for (n, scalar) in scalars.iter().enumerate() {
            self.line(&format!("state last_{scalar} {{ access {scalar}; access results; {scalar} -> results: {scalar} -> results[{n}] }}"));
        }
        let mut text = format!("sdfg {name} float(strict) {{\n  symbol N: i64\n");
        for (container, extents, declaration) in CONTAINERS {
            if !self.used.contains(container) {
                continue;
            }
            let element = if container == "ip" { ScalarType::I64 } else { ty };
            let extents = if extents.is_empty() { String::new() } else { format!("[{extents}]") };
            let _ = writeln!(text, "  {declaration} {container}: {element}{extents}");
        }
        if !scalars.is_empty() {
            let _ = writeln!(text, "  array results: {ty}[2]");
        }
        text + &self.text + "}\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_no_statements_are_refused() {
        for line in ["a[i]", "a = 1", "1 = a[i]", "map i = 0:N {", "p -> z", "}\n}\np -> a"] {
            assert!(program("p", ScalarType::F64, line).is_err(), "{line}");
        }
    }

    #[test]
    fn views_are_of_what_the_braces_around_say() {
        let text = "for i = 0:N {\n  p -> b\n  if d[i] < 0 {\n    p -> e\n    p[i] = 1\n  } else {\n    p[i] = 2\n  }\n}\np[0] = 3\n";
        let program = program("p", ScalarType::F64, text).unwrap();
        let viewed: Vec<&str> =
            program.lines().filter_map(|line| line.trim().strip_prefix("access viewed_p = ")).collect();
        assert_eq!(viewed, ["e", "b", "a"]);
    }
}
