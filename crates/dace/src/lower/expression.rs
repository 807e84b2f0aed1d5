//! Expressions of control flow: translation of their names.

use sdfg::dtype::ScalarType;
use sdfg::symbolic::Expr;
use sdfg::syntax::{BinaryOp, CompareOp, Expression, ExpressionKind, Index, Name};

use super::SdfgLowering;
use super::containers::rank;
use crate::model::{Descriptor, DescriptorKind};
use crate::text::{as_remainder, joined, map_expression};

impl SdfgLowering<'_> {
    /// A condition or right side in our terms.
    ///
    /// Scalars are read by name, one-element arrays by index, constants are their values, calls of arrays are reads of
    /// elements, and the quotient of integers is an integer, as in C; for operands that are not negative, it is also the one that
    /// is rounded down.
    pub(super) fn control_expression(&self, expression: &Expression) -> Expression {
        let decided = map_expression(expression.clone(), &mut |part| self.without_pointers(part));
        map_expression(decided, &mut |part| as_remainder(joined(self.control_part(part))))
    }

    /// `True` or `False` for the comparison of an array with 0: it is that of a pointer in DaCe's code, and every array is
    /// there when the program runs. Fortran's `ALLOCATED` is one.
    fn without_pointers(&self, expression: Expression) -> Expression {
        without_null_pointers(expression, &|name| {
            let found = self.containers.get(name).map(|(_, found)| *found);
            let has_elements = |found: &Descriptor| found.shape.iter().any(|extent| !extent.is_one());
            found.is_some_and(|found| {
                matches!(found.kind, DescriptorKind::Array | DescriptorKind::View) && has_elements(found)
            })
        })
    }

    fn control_part(&self, expression: Expression) -> Expression {
        let span = expression.span;
        let element = |name: &str, indices: Vec<Index>| {
            let (_, descriptor) = self.containers.get(name)?;
            let kind = match (rank(descriptor), indices.len()) {
                (0, _) => ExpressionKind::Name(name.to_owned()),
                (rank, 0) => {
                    let indices = vec![Index::Point(Expression::integer(0)); rank];
                    ExpressionKind::Subscript { base: Name::new(name), indices }
                }
                _ => ExpressionKind::Subscript {
                    base: Name::new(name),
                    indices: self.shifted_indices(descriptor, indices),
                },
            };
            Some(Expression { kind, span })
        };
        match expression.kind {
            ExpressionKind::Name(name) => match self.literals.get(&name) {
                Some(literal) => literal.clone(),
                None => element(&name, Vec::new())
                    .unwrap_or(Expression { kind: ExpressionKind::Name(name), span }),
            },
            ExpressionKind::Subscript { base, indices } => match element(&base.text, indices.clone()) {
                Some(found) => found,
                None => Expression { kind: ExpressionKind::Subscript { base, indices }, span },
            },
            ExpressionKind::Call { function, arguments } if self.containers.contains_key(&function.text) => {
                let indices = arguments.into_iter().map(Index::Point).collect();
                element(&function.text, indices).unwrap_or_else(|| Expression::name(function.text))
            }
            ExpressionKind::Binary { op: BinaryOp::Divide, left, right }
                if self.is_integer(&left) && self.is_integer(&right) =>
            {
                Expression::binary(BinaryOp::FloorDivide, *left, *right)
            }
            kind => Expression { kind, span },
        }
    }

    /// Indices with the offsets of their container added.
    fn shifted_indices(&self, descriptor: &Descriptor, indices: Vec<Index>) -> Vec<Index> {
        let shift = |(index, offset): (Index, &Expr)| match (index, self.size(offset).to_expression()) {
            (Index::Point(at), Some(offset)) if offset.kind != ExpressionKind::Integer(0) => {
                Index::Point(Expression::binary(BinaryOp::Add, at, offset))
            }
            (index, _) => index,
        };
        if indices.len() != descriptor.offset.len() {
            return indices;
        }
        indices.into_iter().zip(&descriptor.offset).map(shift).collect()
    }

    /// Whether an expression of control flow has an integer value; `bool` counts, too.
    pub(super) fn is_integer(&self, expression: &Expression) -> bool {
        let integral = |ty: ScalarType| ty.is_integer() || ty == ScalarType::Bool;
        match &expression.kind {
            ExpressionKind::Integer(_) | ExpressionKind::Bool(_) | ExpressionKind::Compare { .. } => true,
            ExpressionKind::Float(_) | ExpressionKind::Imaginary(_) => false,
            ExpressionKind::Name(name) => match self.containers.get(name) {
                Some((_, descriptor)) => integral(descriptor.dtype.element.lane()),
                None => {
                    !name.contains('.')
                        && !matches!(name.as_str(), "inf" | "nan")
                        && self.program.symbols.get(name).is_none_or(|ty| integral(ty.element.lane()))
                }
            },
            ExpressionKind::Subscript { base, .. } => {
                self.containers.get(&base.text).is_none_or(|(_, found)| integral(found.dtype.element.lane()))
            }
            ExpressionKind::Unary { operand, .. } => self.is_integer(operand),
            ExpressionKind::Binary { op: BinaryOp::And | BinaryOp::Or, .. } => true,
            ExpressionKind::Binary { left, right, .. } => self.is_integer(left) && self.is_integer(right),
            ExpressionKind::Conditional { then, otherwise, .. } => {
                self.is_integer(then) && self.is_integer(otherwise)
            }
            ExpressionKind::Call { function, arguments } => {
                let name = function.text.rsplit('.').next().unwrap_or_default();
                let converts =
                    ["int", "uint", "bool"].iter().any(|kind| name.starts_with(kind)) || name == "len";
                let keeps = matches!(
                    name,
                    "min"
                        | "max"
                        | "Min"
                        | "Max"
                        | "abs"
                        | "Abs"
                        | "cpp_mod"
                        | "py_mod"
                        | "Mod"
                        | "py_floor"
                        | "ceil_div"
                        | "sign"
                );
                converts || (keeps && arguments.iter().all(|argument| self.is_integer(argument)))
            }
        }
    }
}

/// `True` or `False` for the comparison of a pointer with 0, and other expressions as they are. Pointers of DaCe's code name
/// containers, which are there when the program runs.
pub(super) fn without_null_pointers(expression: Expression, is_pointer: &dyn Fn(&str) -> bool) -> Expression {
    let ExpressionKind::Compare { first, rest } = &expression.kind else { return expression };
    let is_pointer = |part: &Expression| match &part.kind {
        ExpressionKind::Name(name) => is_pointer(name),
        _ => false,
    };
    let is_null = |part: &Expression| part.kind == ExpressionKind::Integer(0);
    match rest.as_slice() {
        [(op @ (CompareOp::Equal | CompareOp::NotEqual), other)]
            if (is_pointer(first) && is_null(other)) || (is_null(first) && is_pointer(other)) =>
        {
            Expression { kind: ExpressionKind::Bool(*op == CompareOp::NotEqual), span: expression.span }
        }
        _ => expression,
    }
}
