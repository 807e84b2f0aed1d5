//! External tasklets: calls of C functions from outside the tasklet language.
//!
//! The text form is `external gemm(i32(101), A, B, C) from library "blas"`, or with a result
//! `external r = dot(i32(N), x, y) from library "blas"`. The other origins are `from file "path.c"` and
//! `from source "text"`, both in C, `from cpp "text"`, and `from callback`: a function that the caller of the
//! program passes.

use std::fmt;

use crate::syntax::{Cursor, Expression, ParseError, ParseErrorKind, ParseResult, Punctuation, quote};

/// A call of an `extern "C"` function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalCall {
    /// The name of the function.
    pub symbol: String,
    /// The arguments.
    ///
    /// A name of a connector passes a pointer for pointers and value outputs, and the element for value inputs. All
    /// others are expressions over symbols, value inputs and literals, passed by value; there an integer literal
    /// alone is a C `int` (`i32`) and a floating-point one a `double` (`f64`), so others need a cast: `i64(1)`.
    pub arguments: Vec<Expression>,
    /// The value output that receives what the function returns; without, the function returns nothing.
    pub result: Option<String>,
    /// Source of the function.
    pub origin: ExternalOrigin,
}

/// Source of an external function.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ExternalOrigin {
    /// A library by the name that a linker takes (`blas` for `-lblas`).
    Library(String),
    /// A C file, by path relative to the program's file.
    File(String),
    /// C source text.
    Source(String),
    /// C++ source text, with functions that are `extern "C"`.
    Cpp(String),
    /// The caller of the program, which passes the function as an argument of this name.
    Callback,
}

impl ExternalCall {
    /// Parses `external [result =] symbol(arguments) from origin "text"` at the current token.
    ///
    /// # Errors
    /// The first syntax error.
    pub fn parse(cursor: &mut Cursor<'_>) -> ParseResult<Self> {
        cursor.expect_word("external", "`external`")?;
        let mut symbol = cursor.expect_name()?.text;
        let mut result = None;
        if cursor.eat(Punctuation::Assign) {
            result = Some(symbol);
            symbol = cursor.expect_name()?.text;
        }
        cursor.expect(Punctuation::OpenParenthesis)?;
        let arguments = cursor.joined(|cursor| {
            let mut arguments = Vec::new();
            while !cursor.at(Punctuation::CloseParenthesis) {
                arguments.push(cursor.expression()?);
                if !cursor.eat(Punctuation::Comma) {
                    break;
                }
            }
            cursor.expect(Punctuation::CloseParenthesis)?;
            Ok(arguments)
        })?;
        cursor.expect_word("from", "`from`")?;
        let word = cursor.expect_name()?;
        let origin = match word.text.as_str() {
            "library" => ExternalOrigin::Library(cursor.expect_string()?),
            "file" => ExternalOrigin::File(cursor.expect_string()?),
            "source" => ExternalOrigin::Source(cursor.expect_string()?),
            "cpp" => ExternalOrigin::Cpp(cursor.expect_string()?),
            "callback" => ExternalOrigin::Callback,
            _ => {
                let kind = ParseErrorKind::UnknownExternalOrigin { word: word.text };
                return Err(ParseError::new(word.span, kind));
            }
        };
        Ok(ExternalCall { symbol, arguments, result, origin })
    }
}

impl fmt::Display for ExternalCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("external ")?;
        if let Some(result) = &self.result {
            write!(f, "{result} = ")?;
        }
        write!(f, "{}(", self.symbol)?;
        for (i, argument) in self.arguments.iter().enumerate() {
            write!(f, "{}{argument}", if i > 0 { ", " } else { "" })?;
        }
        let (word, text) = match &self.origin {
            ExternalOrigin::Library(name) => ("library", name),
            ExternalOrigin::File(path) => ("file", path),
            ExternalOrigin::Source(text) => ("source", text),
            ExternalOrigin::Cpp(text) => ("cpp", text),
            ExternalOrigin::Callback => return f.write_str(") from callback"),
        };
        write!(f, ") from {word} {}", quote(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips() {
        for text in [
            "external cblas_dgemm(i32(101), 1.0, A, i32(K)) from library \"blas\"",
            "external r = dot(x) from source \"double dot(double *x) {\\n  return \\\"a\\\"[0] + *x;\\n}\"",
            "external f() from file \"lib/f.c\"",
            "external r = note(x, i64(N)) from callback",
            "external f(i64(N)) from cpp \"extern \\\"C\\\" void f(long n) {}\"",
        ] {
            let call = ExternalCall::parse(&mut Cursor::new(text, 0)).unwrap();
            assert_eq!(call.to_string(), text);
        }
        let error = ExternalCall::parse(&mut Cursor::new("external f(a) from there \"x\"", 0)).unwrap_err();
        assert!(error.help().is_some());
    }
}
