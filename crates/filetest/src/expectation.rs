//! Expectations in comments, and the corresponding results: diagnostics and derived memlets.

use std::fmt;

use sdfg::diagnostic::{Code, Diagnostic};

/// The kinds of things that are found on a line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// An error or warning.
    Diagnostic { severity: &'static str, code: Code },
    /// The memlet of an edge, derived by propagation.
    Memlet,
}

/// Something that was found, or that a comment expects.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Finding {
    /// The line, from 0.
    pub(crate) line: usize,
    /// Kind of expectation.
    pub(crate) kind: Kind,
    /// The message or memlet; of an expected diagnostic, a part of its message.
    pub(crate) text: String,
}

impl Finding {
    /// Reads what stands behind `#~` and its carets.
    pub(crate) fn parse(line: usize, text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let severity = match word {
            "memlet" => return Ok(Finding { line, kind: Kind::Memlet, text: rest.trim().to_owned() }),
            "error" => "error",
            "warning" => "warning",
            _ => {
                return Err(format!(
                    "line {}: expected `error`, `warning` or `memlet` behind `#~`",
                    line + 1
                ));
            }
        };
        let (code, message) = rest.split_once(':').unwrap_or((rest, ""));
        let code = code.trim().parse().map_err(|error| format!("line {}: {error}", line + 1))?;
        Ok(Finding { line, kind: Kind::Diagnostic { severity, code }, text: message.trim().to_owned() })
    }

    /// A diagnostic at its line; one without a place is at the first line of the program.
    pub(crate) fn diagnostic(found: &Diagnostic) -> Self {
        let line = found.loc.as_ref().map_or(0, |loc| (loc.line as usize).saturating_sub(1));
        let kind = Kind::Diagnostic { severity: found.severity.name(), code: found.code };
        Finding { line, kind, text: one_line(&found.message) }
    }

    /// Whether this expectation means that finding.
    pub(crate) fn expects(&self, found: &Finding) -> bool {
        let same_text = match self.kind {
            Kind::Diagnostic { .. } => found.text.contains(&self.text),
            Kind::Memlet => found.text == self.text,
        };
        self.line == found.line && self.kind == found.kind && same_text
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Diagnostic { severity, code } if self.text.is_empty() => write!(f, "{severity} {code}"),
            Kind::Diagnostic { severity, code } => write!(f, "{severity} {code}: {}", self.text),
            Kind::Memlet => write!(f, "memlet {}", self.text),
        }
    }
}

/// A message without line breaks and indentation.
pub(crate) fn one_line(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

/// Assignment of expectations to findings, by position; each matches at most one.
pub(crate) fn pair(expectations: &[Finding], findings: &[Finding]) -> Vec<(usize, usize)> {
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for (i, expectation) in expectations.iter().enumerate() {
        let free = |j: &usize| pairs.iter().all(|(_, taken)| taken != j);
        let found = (0..findings.len()).find(|j| expectation.expects(&findings[*j]) && free(j));
        pairs.extend(found.map(|j| (i, j)));
    }
    pairs
}
