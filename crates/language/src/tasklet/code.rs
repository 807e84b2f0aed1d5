//! Untyped code as programs store it: its text, for printing, and its syntax tree.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::symbolic::proof_cache::remembered;
use crate::syntax::{
    Block, Cursor, Dedented, Expression, ExpressionKind, ParseError, ParseErrorKind, Punctuation, Span,
    Statement, Token, TokenKind, parse_block, print_block, visit_block, visit_bound_names,
};

/// Whose arithmetic the operators of a piece of code mean.
///
/// The difference is listed in `docs/semantics-arithmetic.md`: division and remainder of integers, promotion of
/// narrow integers and of mixed signs, and the width of `int`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// `/` is true division, `//` and `%` round down; types promote by kind and width.
    #[default]
    Python,
    /// `/`, `//` and `%` of integers round towards zero; integers promote as in C. Imported programs use it.
    C,
}

/// The code of a tasklet.
///
/// Spans in the tree count from the start of [`Code::source`]. Two codes are equal if text and dialect are.
#[derive(Clone, Debug)]
pub struct Code {
    parsed: Arc<Parsed>,
    dialect: Dialect,
    /// Position in the file of the text before the removal of indentation, if it was read from a file.
    file_offset: Option<u32>,
}

/// A text with its statements. Tasklets are cloned more often than their code changes.
#[derive(Debug)]
struct Parsed {
    text: Dedented,
    block: Block,
}

impl PartialEq for Code {
    fn eq(&self, other: &Self) -> bool {
        self.source() == other.source() && self.dialect == other.dialect
    }
}

impl Eq for Code {}

impl Code {
    /// Parses statements; indentation that all lines share and blanks at both ends are not kept.
    ///
    /// # Errors
    /// Every syntax error, with spans that count from the start of `source`.
    pub fn parse(source: &str, dialect: Dialect) -> Result<Self, Vec<ParseError>> {
        /// The statements of a text. Generated programs consist of few different ones.
        #[derive(PartialEq, Eq, Hash)]
        struct Source(String);
        let known = remembered(Source(source.to_owned()), || {
            let text = Dedented::new(source);
            let block = parse_block(text.text()).ok()?;
            Some(Arc::new(Parsed { text, block }))
        });
        match known {
            Some(parsed) => Ok(Code { parsed, dialect, file_offset: None }),
            None => Self::parse_dedented(Dedented::new(source), None, dialect),
        }
    }

    fn parse_dedented(
        text: Dedented,
        file_offset: Option<u32>,
        dialect: Dialect,
    ) -> Result<Self, Vec<ParseError>> {
        match parse_block(text.text()) {
            Ok(block) => Ok(Code { parsed: Arc::new(Parsed { text, block }), dialect, file_offset }),
            Err(mut errors) => {
                for error in &mut errors {
                    error.span = text.to_original(error.span, file_offset.unwrap_or_default());
                }
                Err(errors)
            }
        }
    }

    /// Parses `{ statements }` at the current token of a larger text. The cursor ends behind the closing brace, also
    /// when the code has errors.
    ///
    /// # Errors
    /// Every syntax error, with spans in the larger text.
    pub fn parse_braced(cursor: &mut Cursor<'_>, dialect: Dialect) -> Result<Self, Vec<ParseError>> {
        let open = cursor.expect(Punctuation::OpenBrace).map_err(|e| vec![e])?;
        let mut depth = 1_usize;
        let close = loop {
            let token: Token = cursor.advance();
            match token.kind {
                TokenKind::Punctuation(Punctuation::OpenBrace) => depth += 1,
                TokenKind::Punctuation(Punctuation::CloseBrace) if depth == 1 => break token,
                TokenKind::Punctuation(Punctuation::CloseBrace) => depth -= 1,
                TokenKind::End => {
                    return Err(vec![ParseError::new(open.span, ParseErrorKind::UnmatchedBrace)]);
                }
                _ => {}
            }
        };
        let base = cursor.base();
        let inner = Span::new(open.span.end - base, close.span.start - base);
        let dedented = Dedented::behind_brace(inner.slice(cursor.source()).unwrap_or(""));
        Self::parse_dedented(dedented, Some(open.span.end), dialect)
    }

    /// Code that was generated as a tree; its text is the printed form.
    ///
    /// # Errors
    /// Syntax errors in that text, if the tree holds what no text can express, such as a name with a blank.
    pub fn from_block(block: &[Statement], dialect: Dialect) -> Result<Self, Vec<ParseError>> {
        Self::parse(&print_block(block), dialect)
    }

    /// The code with names replaced, all at once; the rest of the text stays as it is.
    ///
    /// A name that is assigned or subscripted is replaced by names only. Names in replacements must not be locals of
    /// this code ([`Code::names_assigned`]), which would capture them.
    ///
    /// # Errors
    /// Syntax errors in the new text, if a replacement holds what no text can express.
    pub fn replace_names(
        &self,
        replacements: &BTreeMap<String, Expression>,
    ) -> Result<Self, Vec<ParseError>> {
        let mut places: BTreeMap<Span, (&str, bool)> = BTreeMap::new();
        visit_block(self.block(), &mut |expression| match &expression.kind {
            ExpressionKind::Name(name) => {
                places.insert(expression.span, (name, false));
            }
            ExpressionKind::Subscript { base, .. } => {
                places.insert(base.span, (&base.text, true));
            }
            _ => {}
        });
        visit_bound_names(self.block(), &mut |name| {
            places.insert(name.span, (&name.text, true));
        });
        let mut text = String::new();
        let mut copied = 0;
        for (span, (name, bound)) in places {
            let Some(replacement) = replacements.get(name) else { continue };
            let is_name = matches!(replacement.kind, ExpressionKind::Name(_));
            if bound && !is_name {
                continue;
            }
            let before = self.source().get(copied..span.start as usize).unwrap_or("");
            let is_call = matches!(replacement.kind, ExpressionKind::Call { .. });
            let (open, close) = if is_name || is_call { ("", "") } else { ("(", ")") };
            text.push_str(&format!("{before}{open}{replacement}{close}"));
            copied = span.end as usize;
        }
        text.push_str(self.source().get(copied..).unwrap_or(""));
        Self::parse(&text, self.dialect)
    }

    /// The text, without common indentation.
    pub fn source(&self) -> &str {
        self.parsed.text.text()
    }

    /// Position of a part of the text in the larger text that it was read from ([`Code::parse_braced`]);
    /// `None` for code of another origin.
    pub fn span_in_file(&self, span: Span) -> Option<Span> {
        Some(self.parsed.text.to_original(span, self.file_offset?))
    }

    /// The statements.
    pub fn block(&self) -> &[Statement] {
        &self.parsed.block
    }

    /// Whose arithmetic is meant.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.source())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braced_code_in_a_larger_text() {
        let text = "x { o = a # }\n    p = b } y { q = = 1 }";
        let mut cursor = Cursor::new(text, 0);
        cursor.advance();
        let code = Code::parse_braced(&mut cursor, Dialect::Python).unwrap();
        assert_eq!(code.source(), "o = a # }\np = b");
        assert_eq!(code.block().len(), 2);
        let last = code.span_in_file(Span::new(10, 11)).unwrap();
        assert_eq!((code.source().get(10..11), last.slice(text)), (Some("p"), Some("p")));
        assert!(cursor.eat_word("y"));
        let errors = Code::parse_braced(&mut cursor, Dialect::Python).unwrap_err();
        assert_eq!(errors[0].span.start as usize, text.rfind('=').unwrap());
        assert!(cursor.at_end());
    }

    #[test]
    fn names_are_replaced_in_the_text() {
        let source = "t  = a + A[i]  # keep\nfor k in range(i):\n    o[k] -= i * k";
        let code = Code::parse(source, Dialect::Python).unwrap();
        let replacements = [("i", "n + 1"), ("A", "B"), ("o", "p"), ("k", "l"), ("t", "u"), ("a", "1")]
            .map(|(name, text)| (name.to_owned(), crate::syntax::parse_expression(text).unwrap()));
        let replaced = code.replace_names(&BTreeMap::from(replacements)).unwrap();
        let expected = "u  = (1) + B[(n + 1)]  # keep\nfor l in range((n + 1)):\n    p[l] -= (n + 1) * l";
        assert_eq!(replaced.source(), expected);
    }
}
