//! Typing of the arguments of external calls.

use super::super::code::Dialect;
use super::super::environment::{ConnectorId, ConnectorKind, Direction, Environment};
use super::super::error::{TypeError, TypeErrorKind};
use super::super::external::ExternalCall;
use super::super::typed::TypedExpression;
use super::Checker;
use super::operand::with_lanes;
use crate::dtype::ScalarType;
use crate::syntax::{ExpressionKind, Span};

/// The typed form of an [`ExternalCall`].
#[derive(Clone, Debug, PartialEq)]
pub struct TypedExternal {
    /// The connectors and symbols that ids refer to.
    pub environment: Environment,
    /// The arguments, in order.
    pub arguments: Vec<ExternalArgument>,
    /// The value output that receives the result.
    pub result: Option<ConnectorId>,
}

/// One argument of an external call.
#[derive(Clone, Debug, PartialEq)]
pub enum ExternalArgument {
    /// The address of the memory of a pointer connector, or of a value output.
    Pointer(ConnectorId),
    /// A scalar by value.
    Value(TypedExpression),
}

/// Gives types to the arguments of an external call.
///
/// # Errors
/// Every type error, with spans in the text that the call was parsed from.
pub fn typecheck_external(
    call: &ExternalCall,
    environment: &Environment,
) -> Result<TypedExternal, Vec<TypeError>> {
    let mut checker = Checker::new(environment, Dialect::Python);
    let mut arguments = Vec::new();
    for argument in &call.arguments {
        if let ExpressionKind::Name(name) = &argument.kind
            && let Some((id, connector)) = environment.connector(name)
        {
            let by_address = match (connector.kind, connector.direction) {
                (ConnectorKind::Pointer { .. }, _) | (ConnectorKind::Value, Direction::Out) => true,
                (ConnectorKind::Value, Direction::In)
                | (ConnectorKind::Stream | ConnectorKind::Queues { .. }, _) => false,
            };
            if by_address {
                arguments.push(ExternalArgument::Pointer(id));
                continue;
            }
        }
        let Some(mut operand) = checker.expression(argument) else { continue };
        let literal = operand.integer_literal();
        if literal.is_some_and(|value| i32::try_from(value).is_ok()) {
            let int = with_lanes(ScalarType::I32, 1);
            let Some(expression) = checker.convert(operand.clone(), int) else { continue };
            operand.expression = expression;
        }
        if operand.lanes() > 1 {
            let found = operand.expression.ty;
            checker.error(argument.span, TypeErrorKind::ExpectedScalar { found });
        }
        arguments.push(ExternalArgument::Value(operand.expression));
    }
    let result = call.result.as_ref().and_then(|name| match environment.connector(name) {
        Some((id, connector))
            if connector.kind == ConnectorKind::Value && connector.direction == Direction::Out =>
        {
            Some(id)
        }
        Some(_) => {
            let kind = TypeErrorKind::NotAssignable { name: name.clone(), what: "no value output" };
            checker.error(Span::default(), kind);
            None
        }
        None => {
            checker.unknown_name(name, Span::default());
            None
        }
    });
    checker.finish()?;
    Ok(TypedExternal { environment: environment.clone(), arguments, result })
}
