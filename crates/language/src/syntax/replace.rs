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
        let replace = |e: &Expression| e.replace_names(replacements);
        let boxed = |e: &Expression| Box::new(replace(e));
        let kind = match &self.kind {
            ExpressionKind::Name(name) => match replacements.get(name) {
                Some(replacement) => return replacement.clone(),
                None => self.kind.clone(),
            },
            ExpressionKind::Integer(_)
            | ExpressionKind::Float(_)
            | ExpressionKind::Imaginary(_)
            | ExpressionKind::Bool(_) => self.kind.clone(),
            ExpressionKind::Unary { op, operand } => {
                ExpressionKind::Unary { op: *op, operand: boxed(operand) }
            }
            ExpressionKind::Binary { op, left, right } => {
                ExpressionKind::Binary { op: *op, left: boxed(left), right: boxed(right) }
            }
            ExpressionKind::Compare { first, rest } => ExpressionKind::Compare {
                first: boxed(first),
                rest: rest.iter().map(|(op, operand)| (*op, replace(operand))).collect(),
            },
            ExpressionKind::Conditional { condition, then, otherwise } => ExpressionKind::Conditional {
                condition: boxed(condition),
                then: boxed(then),
                otherwise: boxed(otherwise),
            },
            ExpressionKind::Call { function, arguments } => ExpressionKind::Call {
                function: function.clone(),
                arguments: arguments.iter().map(replace).collect(),
            },
            ExpressionKind::Subscript { base, indices } => {
                let indices = indices.iter().map(|index| index.replace_names(replacements)).collect();
                ExpressionKind::Subscript { base: base.replaced(replacements), indices }
            }
        };
        Expression { kind, span: self.span }
    }
}

impl Index {
    /// The index with names replaced; see [`Expression::replace_names`].
    #[must_use]
    pub fn replace_names(&self, replacements: &BTreeMap<String, Expression>) -> Index {
        let part = |part: &Option<Expression>| part.as_ref().map(|e| e.replace_names(replacements));
        match self {
            Index::Point(at) => Index::Point(at.replace_names(replacements)),
            Index::Range { begin, end, step, tile, span } => Index::Range {
                begin: part(begin),
                end: part(end),
                step: part(step),
                tile: part(tile),
                span: *span,
            },
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
