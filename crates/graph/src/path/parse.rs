//! Parser of paths: the inverse of printing.

use std::iter::Peekable;
use std::str::{CharIndices, FromStr};

use super::{ConnectorName, Element, ElementPath, End};

/// Why a text is no path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no path: {expected} is expected at character {at}; {}", PathError::HELP)]
pub struct PathError {
    /// The text.
    pub text: String,
    /// The expected text.
    pub expected: &'static str,
    /// The character, counted from 1.
    pub at: usize,
}

impl PathError {
    const HELP: &'static str = "a path is written as `program/state/node`, and names with other characters than letters, digits and `_` in double quotes";
}

impl FromStr for ElementPath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        let mut reader = Reader { text, rest: text.char_indices().peekable() };
        reader.path()
    }
}

/// A label with a dot, as rewrites derive them: `gemm.tile0`.
pub(super) fn dotted(label: &str, last: &ConnectorName) -> String {
    format!("{label}.{}", last.name())
}

struct Reader<'t> {
    text: &'t str,
    rest: Peekable<CharIndices<'t>>,
}

impl Reader<'_> {
    fn path(&mut self) -> Result<ElementPath, PathError> {
        let mut labels = Vec::new();
        loop {
            let was_quoted = self.at('"');
            let name = self.name("a name")?;
            match name.as_str() {
                "container" | "symbol" | "exit" if !was_quoted && self.at_name() => {
                    let element = match name.as_str() {
                        "container" => Element::Container(self.name("the name of a container")?),
                        "symbol" => Element::Symbol(self.name("the name of a symbol")?),
                        _ => Element::Exit(self.end()?),
                    };
                    return self.finish(ElementPath { labels, element });
                }
                _ => {}
            }
            let End { node: name, connector } = self.connector_of(name)?;
            self.blanks();
            if !matches!(connector, Some(ConnectorName::Exact(_))) && self.eat('/') {
                // What follows lies in a block or node, whose label has dots: `gemm.tile0/t`.
                labels.push(connector.map_or(name.clone(), |last| dotted(&name, &last)));
                continue;
            }
            if self.eat('-') {
                let source = End { node: name, connector };
                if !self.eat('>') {
                    return Err(self.expected("`->`"));
                }
                let destination = self.end()?;
                let before = self.ordinal()?;
                return self
                    .finish(ElementPath { labels, element: Element::Edge { source, destination, before } });
            }
            let element = if connector.is_some() {
                Element::Node(End { node: name, connector })
            } else {
                labels.push(name);
                Element::Scope
            };
            return self.finish(ElementPath { labels, element });
        }
    }

    fn finish(&mut self, path: ElementPath) -> Result<ElementPath, PathError> {
        self.blanks();
        if self.rest.peek().is_some() { Err(self.expected("the end")) } else { Ok(path) }
    }

    fn end(&mut self) -> Result<End, PathError> {
        let label = self.name("a label")?;
        self.connector_of(label)
    }

    /// The connector behind a label. Of several dots the last one begins the connector.
    fn connector_of(&mut self, label: String) -> Result<End, PathError> {
        let mut end = End { node: label, connector: None };
        while self.eat('.') {
            let name = self.name("the name of a connector")?;
            if let Some(last) = end.connector.replace(ConnectorName::Plain(name)) {
                end.node = dotted(&end.node, &last);
            }
        }
        if self.eat('@') {
            let name = self.name("the name of a connector")?;
            if let Some(last) = end.connector.replace(ConnectorName::Exact(name)) {
                end.node = dotted(&end.node, &last);
            }
        }
        Ok(end)
    }

    /// ` #2` behind ends that several edges have.
    fn ordinal(&mut self) -> Result<usize, PathError> {
        self.blanks();
        if !self.eat('#') {
            return Ok(0);
        }
        let mut digits = String::new();
        while let Some((_, digit)) = self.rest.next_if(|(_, c)| c.is_ascii_digit()) {
            digits.push(digit);
        }
        let number: Option<usize> = digits.parse().ok();
        number.and_then(|number| number.checked_sub(1)).ok_or_else(|| self.expected("a number from 1 on"))
    }

    /// A bare name or a string, after blanks.
    fn name(&mut self, expected: &'static str) -> Result<String, PathError> {
        self.blanks();
        if self.eat('"') {
            return self.string();
        }
        let mut name = String::new();
        while let Some((_, c)) = self.rest.next_if(|(_, c)| c.is_alphanumeric() || *c == '_') {
            name.push(c);
        }
        if name.is_empty() { Err(self.expected(expected)) } else { Ok(name) }
    }

    fn string(&mut self) -> Result<String, PathError> {
        let mut name = String::new();
        while let Some((_, c)) = self.rest.next() {
            match c {
                '"' => return Ok(name),
                '\\' => match self.rest.next() {
                    Some((_, 'n')) => name.push('\n'),
                    Some((_, 't')) => name.push('\t'),
                    Some((_, other)) => name.push(other),
                    None => break,
                },
                other => name.push(other),
            }
        }
        Err(self.expected("`\"`"))
    }

    fn at_name(&mut self) -> bool {
        self.blanks();
        self.rest.peek().is_some_and(|(_, c)| c.is_alphanumeric() || matches!(c, '_' | '"'))
    }

    fn at(&mut self, expected: char) -> bool {
        self.blanks();
        self.rest.peek().is_some_and(|(_, c)| *c == expected)
    }

    fn eat(&mut self, expected: char) -> bool {
        self.rest.next_if(|(_, c)| *c == expected).is_some()
    }

    fn blanks(&mut self) {
        while self.rest.next_if(|(_, c)| c.is_whitespace()).is_some() {}
    }

    fn expected(&mut self, expected: &'static str) -> PathError {
        let offset = self.rest.peek().map_or(self.text.len(), |(offset, _)| *offset);
        let at = self.text.get(..offset).unwrap_or(self.text).chars().count() + 1;
        PathError { text: self.text.to_owned(), expected, at }
    }
}
