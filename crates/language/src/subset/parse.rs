//! Parser of subsets from texts and syntax trees: `i, 0:K:2, j`.

use std::str::FromStr;

use super::{Range, Subset};
use crate::symbolic::{Expr, NotPure, NotPureKind, ParseExprError};
use crate::syntax::{Expression, Index, parse_index_list};

impl FromStr for Subset {
    type Err = ParseExprError;

    /// Parses a list of indices; the end of every range must be given.
    fn from_str(text: &str) -> Result<Subset, ParseExprError> {
        let indices = parse_index_list(text).map_err(ParseExprError::Syntax)?;
        Ok(Subset::from_indices(&indices, &[])?)
    }
}

impl Subset {
    /// The subset of a list of indices.
    ///
    /// A begin that is left out is 0, a step and a tile are 1; an end that is left out is the size of the dimension,
    /// if `shape` has it.
    ///
    /// # Errors
    /// [`NotPure`] for the first part that has no symbolic form, or is missing.
    pub fn from_indices(indices: &[Index], shape: &[Expr]) -> Result<Subset, NotPure> {
        indices.iter().enumerate().map(|(i, index)| Range::from_syntax(index, shape.get(i))).collect()
    }
}

impl Range {
    /// The range of one index; see [`Subset::from_indices`].
    ///
    /// A step of 0 and an empty tile are kept: validation reports them (V310), and readers accept what writers write.
    ///
    /// # Errors
    /// [`NotPure`] for the first part that has no symbolic form, or is missing.
    pub fn from_syntax(index: &Index, size: Option<&Expr>) -> Result<Range, NotPure> {
        let (begin, end, step, tile, span) = match index {
            Index::Point(at) => return Ok(Range::index(Expr::from_expression(at)?)),
            Index::Range { begin, end, step, tile, span } => (begin, end, step, tile, *span),
        };
        let part = |part: &Option<Expression>, default: Expr| match part {
            Some(expression) => Expr::from_expression(expression),
            None => Ok(default),
        };
        let end = match (end, size) {
            (Some(end), _) => Expr::from_expression(end)?,
            (None, Some(size)) => size.clone(),
            (None, None) => return Err(NotPure { span, kind: NotPureKind::MissingEnd }),
        };
        let (step, tile) = (part(step, Expr::one())?, part(tile, Expr::one())?);
        Ok(Range::new(part(begin, Expr::zero())?, end).with_step(step).with_tile(tile))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_round_trip() {
        for text in ["i, 0:K:2, j", "0:N", "N - 1:-1:-1", "0:N:4:4", "2*i + 1, j:j + 2", "0:4:0, 0:4:1:0"] {
            assert_eq!(text.parse::<Subset>().unwrap().to_string(), text);
        }
        assert_eq!("i:i+1".parse::<Subset>().unwrap(), Subset::element(&[Expr::sym("i")]));
        let whole =
            Subset::from_indices(&parse_index_list(":, ::2").unwrap(), &[Expr::sym("N"), Expr::int(8)]);
        assert_eq!(whole.unwrap().to_string(), "0:N, 0:8:2");
    }

    #[test]
    fn errors() {
        for (text, message) in [
            ("0:", "the end of this range is missing"),
            ("0:A[i]", "a symbolic expression reads no data, and `A` is indexed"),
            ("", "expected an index, found the end of the text"),
        ] {
            assert_eq!(text.parse::<Subset>().unwrap_err().to_string(), message, "{text}");
        }
    }
}
