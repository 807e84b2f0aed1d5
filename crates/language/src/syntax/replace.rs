//! Replaces names in syntax trees: renamed connectors, and symbols substituted when scopes change.

use std::collections::BTreeMap;

use super::ast::{Expression, ExpressionKind, Index, Name};

impl Expression {
    /// The name that this expression itself reads, as a plain name or as the base of a subscript; not those inside.
    pub fn own_name(&self) -> Option<&str> {
        match &self.kind {
            ExpressionKind::Name(name) => Some(name),
            ExpressionKind::Subscript { base, .. } => Some(&base.text),
            ExpressionKind::Integer(_)
            | ExpressionKind::Float(_)
            | ExpressionKind::Imaginary(_)
            | ExpressionKind::Bool(_)
            | ExpressionKind::Unary { .. }
            | ExpressionKind::Binary { .. }
            | ExpressionKind::Compare { .. }
            | ExpressionKind::Conditional { .. }
            | ExpressionKind::Call { .. } => None,
        }
    }

    /// The expression with names replaced, all at once. The base of a subscript is replaced by names only.
    #[must_use]
    pub fn replace_names(&self, replacements: &BTreeMap<String, Expression>) -> Expression {
        self.rewrite(&mut |found| match &found.kind {
            ExpressionKind::Name(name) => replacements.get(name).cloned(),
            ExpressionKind::Subscript { base, indices } => {
                let kind =
                    ExpressionKind::Subscript { base: base.replaced(replacements), indices: indices.clone() };
                Some(Expression { kind, span: found.span })
            }
            ExpressionKind::Integer(_)
            | ExpressionKind::Float(_)
            | ExpressionKind::Imaginary(_)
            | ExpressionKind::Bool(_)
            | ExpressionKind::Unary { .. }
            | ExpressionKind::Binary { .. }
            | ExpressionKind::Compare { .. }
            | ExpressionKind::Conditional { .. }
            | ExpressionKind::Call { .. } => None,
        })
    }

    /// The expression with parts replaced: `replace` sees each part after the parts inside it were replaced, and gives another
    /// one or leaves it. It does not see what it gave.
    #[must_use]
    pub fn rewrite(&self, replace: &mut dyn FnMut(&Expression) -> Option<Expression>) -> Expression {
        let kind = match &self.kind {
            ExpressionKind::Name(_)
            | ExpressionKind::Integer(_)
            | ExpressionKind::Float(_)
            | ExpressionKind::Imaginary(_)
            | ExpressionKind::Bool(_) => self.kind.clone(),
            ExpressionKind::Unary { op, operand } => {
                ExpressionKind::Unary { op: *op, operand: Box::new(operand.rewrite(replace)) }
            }
            ExpressionKind::Binary { op, left, right } => ExpressionKind::Binary {
                op: *op,
                left: Box::new(left.rewrite(replace)),
                right: Box::new(right.rewrite(replace)),
            },
            ExpressionKind::Compare { first, rest } => ExpressionKind::Compare {
                first: Box::new(first.rewrite(replace)),
                rest: rest.iter().map(|(op, operand)| (*op, operand.rewrite(replace))).collect(),
            },
            ExpressionKind::Conditional { condition, then, otherwise } => ExpressionKind::Conditional {
                condition: Box::new(condition.rewrite(replace)),
                then: Box::new(then.rewrite(replace)),
                otherwise: Box::new(otherwise.rewrite(replace)),
            },
            ExpressionKind::Call { function, arguments } => ExpressionKind::Call {
                function: function.clone(),
                arguments: arguments.iter().map(|argument| argument.rewrite(replace)).collect(),
            },
            ExpressionKind::Subscript { base, indices } => ExpressionKind::Subscript {
                base: base.clone(),
                indices: indices.iter().map(|index| index.rewrite(replace)).collect(),
            },
        };
        let found = Expression { kind, span: self.span };
        replace(&found).unwrap_or(found)
    }
}

impl Index {
    /// The index with names replaced; see [`Expression::replace_names`].
    #[must_use]
    pub fn replace_names(&self, replacements: &BTreeMap<String, Expression>) -> Index {
        self.each_part(&mut |part| part.replace_names(replacements))
    }

    /// The index with parts replaced; see [`Expression::rewrite`].
    #[must_use]
    pub fn rewrite(&self, replace: &mut dyn FnMut(&Expression) -> Option<Expression>) -> Index {
        self.each_part(&mut |part| part.rewrite(replace))
    }

    fn each_part(&self, change: &mut dyn FnMut(&Expression) -> Expression) -> Index {
        match self {
            Index::Point(at) => Index::Point(change(at)),
            Index::Range { begin, end, step, tile, span } => {
                let mut part = |part: &Option<Expression>| part.as_ref().map(&mut *change);
                Index::Range {
                    begin: part(begin),
                    end: part(end),
                    step: part(step),
                    tile: part(tile),
                    span: *span,
                }
            }
        }
    }
}

impl Name {
    /// The name that replaces this one, if another name does.
    fn replaced(&self, replacements: &BTreeMap<String, Expression>) -> Name {
        match replacements.get(&self.text).map(|replacement| &replacement.kind) {
            Some(ExpressionKind::Name(text)) => Name { text: text.clone(), span: self.span },
            _ => self.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse_expression;
    use super::*;

    #[test]
    fn replaces_all_at_once() {
        let parse = |text: &str| parse_expression(text).unwrap();
        let replacements = [("a", "b"), ("b", "a"), ("i", "2*j + 1"), ("A", "B")];
        let replacements = replacements.map(|(name, text)| (name.to_owned(), parse(text)));
        let replaced =
            parse("a * -i if b < i else A[i, b:i] + f(i, a)").replace_names(&BTreeMap::from(replacements));
        let expected = "b * -(2 * j + 1) if a < 2 * j + 1 else B[2 * j + 1, a:2 * j + 1] + f(2 * j + 1, b)";
        assert_eq!(replaced.to_string(), expected);
    }
}
