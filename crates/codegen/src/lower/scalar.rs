//! Conditions and symbol values: typed expressions over symbols and containers.

use sdfg::analysis::control_environment_of;
use sdfg::dtype::{ElementType, ScalarType};
use sdfg::ir::{EdgeId, State};
use sdfg::subset::Range;
use sdfg::symbolic::{Expr, Symbol};
use sdfg::syntax::{CompareOp, Expression};
use sdfg::tasklet::{
    ConnectorKind, Dialect, Environment, TypedExpression, TypedExpressionCode, TypedExpressionKind,
    typecheck_expression,
};

use super::Lowering;
use super::access::AccessKind;
use super::call_frame::CallFrame;
use super::error::LowerError;
use crate::plan::{Binding, Location, Scalar, Statement};

impl<'g> Lowering<'g> {
    /// A condition.
    pub(super) fn condition(
        &mut self,
        frame: &CallFrame<'g>,
        condition: &Expression,
        label: &str,
    ) -> Result<Scalar, LowerError> {
        self.scalar(frame, condition, Some(ScalarType::Bool), label)
    }

    /// The value of an expression of control flow, converted to a type.
    pub(super) fn scalar(
        &mut self,
        frame: &CallFrame<'g>,
        expression: &Expression,
        ty: Option<ScalarType>,
        label: &str,
    ) -> Result<Scalar, LowerError> {
        let sdfg = frame.sdfg;
        // Only containers that the expression names: the others may not be bound yet.
        let names = expression.names();
        let mut environment = Environment::new();
        for (name, ty) in self.symbols_in_scope(frame, |name| names.contains(name)) {
            environment.add_symbol(name, ty);
        }
        let (mut bindings, mut checks) = (Vec::new(), Vec::new());
        let named = control_environment_of(sdfg, std::iter::empty(), &|name| names.contains(name));
        for (name, connector) in named.connectors() {
            let bound = sdfg.find_container(name).and_then(|id| frame.containers.get(&id)).cloned();
            let bound = bound.ok_or_else(|| LowerError::Unsupported {
                what: format!("`{name}` before it is bound"),
                path: frame.at(label),
            })?;
            environment.add_connector(name, *connector);
            if !matches!(connector.kind, ConnectorKind::Queues { .. }) {
                self.record(&bound, AccessKind::Read);
            }
            checks.push(if bound.deferred.is_empty() {
                None
            } else {
                let extents = bound.axes.iter().map(|axis| Range::new(0, axis.extent.clone()));
                self.note_check(|| format!("`{name}` at {}", frame.at(label)), &bound, &extents.collect());
                self.checks.pop()
            });
            bindings.push(match connector.kind {
                ConnectorKind::Value => Binding::Load(bound.origin),
                ConnectorKind::Pointer { .. } => Binding::View(bound.strided()),
                ConnectorKind::Queues { .. } => Binding::Length(bound.strided()),
                ConnectorKind::Stream => {
                    return Err(LowerError::Invalid {
                        what: format!("the stream `{name}` is no value"),
                        path: frame.at(label),
                    });
                }
            });
        }
        let code = typecheck_expression(expression, Dialect::Python, &environment)
            .map_err(|errors| LowerError::Types { errors, path: frame.at(label) })?;
        let symbols = self.symbol_values(frame, &code.environment);
        let scalar = Scalar { code, bindings, symbols, checks };
        Ok(match ty {
            Some(ty) => converted(scalar, ty),
            None => scalar,
        })
    }

    /// Sets a symbol of a scope or of a called SDFG to the element that an edge reads.
    pub(super) fn symbol_from_data(
        &mut self,
        frame: &CallFrame<'g>,
        inner: &mut CallFrame<'g>,
        edge: (&State, EdgeId),
        name: &str,
        label: &str,
    ) -> Result<Vec<Statement>, LowerError> {
        let symbol = Symbol::new(name).map_err(|_| LowerError::Invalid {
            what: format!("`{name}` names no symbol"),
            path: frame.at(label),
        })?;
        let (variable, statements) = self.load_symbol(frame, &symbol, inner.type_of(&symbol), edge, label)?;
        inner.symbols.insert(symbol, Expr::symbol(variable));
        Ok(statements)
    }

    /// A new variable with the element that an edge reads.
    pub(super) fn load_symbol(
        &mut self,
        frame: &CallFrame<'g>,
        symbol: &Symbol,
        ty: ScalarType,
        (state, edge): (&State, EdgeId),
        label: &str,
    ) -> Result<(Symbol, Vec<Statement>), LowerError> {
        let part = match (state.edge(edge).memlet.read_access(), self.carried(frame, state.edge(edge))) {
            (Some(access), _) => self.read_part(frame, state, edge, access, label)?.0,
            (None, Some(value)) => value,
            (None, None) => {
                return Err(LowerError::Invalid {
                    what: format!("connector `{symbol}` reads no container"),
                    path: frame.at(label),
                });
            }
        };
        self.record(&part, AccessKind::Read);
        let value = converted(element_at(part.origin, part.element), ty);
        let variable = self.new_variable(symbol.as_str(), ty);
        let mut statements = self.take_checks();
        statements.push(Statement::Set { variable: variable.clone(), value });
        Ok((variable, statements))
    }

    /// A new variable with a value in the type of a symbol of a called SDFG.
    pub(super) fn converted_symbol(
        &mut self,
        symbol: &Symbol,
        value: Expr,
        ty: ScalarType,
    ) -> (Symbol, Statement) {
        let mut environment = Environment::new();
        let id = environment.add_symbol(symbol.as_str(), ScalarType::I64);
        let expression = typed(TypedExpressionKind::Symbol(id), ScalarType::I64.into());
        let code = TypedExpressionCode { environment, expression };
        let value = Scalar { code, bindings: Vec::new(), symbols: vec![value], checks: Vec::new() };
        let variable = self.new_variable(symbol.as_str(), ty);
        (variable.clone(), Statement::Set { variable, value: converted(value, ty) })
    }

    /// One variable from another of the same type.
    pub(super) fn copy_variable(&self, variable: Symbol, from: &Symbol) -> Statement {
        let ty = self.plan.variables.get(from).copied().unwrap_or(ScalarType::I64);
        let mut environment = Environment::new();
        let id = environment.add_symbol(from.as_str(), ty);
        let code = TypedExpressionCode {
            environment,
            expression: typed(TypedExpressionKind::Symbol(id), ty.into()),
        };
        Statement::Set {
            variable,
            value: Scalar {
                code,
                bindings: Vec::new(),
                symbols: vec![Expr::symbol(from.clone())],
                checks: Vec::new(),
            },
        }
    }

    /// Names and types of those symbols that code names. The others are left out: what code has in its environment is handed to
    /// functions of teams and tasks.
    pub(super) fn symbols_in_scope(
        &self,
        frame: &CallFrame<'g>,
        is_named: impl Fn(&str) -> bool,
    ) -> Vec<(String, ScalarType)> {
        let named = frame.symbols.keys().filter(|symbol| is_named(symbol.as_str()));
        named.map(|symbol| (symbol.as_str().to_owned(), frame.type_of(symbol))).collect()
    }

    /// Bindings of the symbols of an environment.
    pub(super) fn symbol_values(&self, frame: &CallFrame<'g>, environment: &Environment) -> Vec<Expr> {
        let value =
            |name: &str| Symbol::new(name).ok().and_then(|symbol| frame.symbols.get(&symbol).cloned());
        environment.symbols().map(|(name, _)| value(name).unwrap_or_else(Expr::zero)).collect()
    }
}

/// `a < b` of two integer expressions.
pub(super) fn less(a: &Expr, b: &Expr) -> Scalar {
    let mut environment = Environment::new();
    let operand = |environment: &mut Environment, name: &str| {
        let id = environment.add_symbol(name, ScalarType::I64);
        Box::new(typed(TypedExpressionKind::Symbol(id), ScalarType::I64.into()))
    };
    let (left, right) = (operand(&mut environment, "a"), operand(&mut environment, "b"));
    let kind = TypedExpressionKind::Compare { op: CompareOp::Less, left, right };
    let code = TypedExpressionCode { environment, expression: typed(kind, ScalarType::Bool.into()) };
    Scalar { code, bindings: Vec::new(), symbols: vec![a.clone(), b.clone()], checks: Vec::new() }
}

/// The value of an element.
pub(super) fn element_at(location: Location, element: ElementType) -> Scalar {
    let mut environment = Environment::new();
    let connector = environment.input("value", element);
    let expression = typed(TypedExpressionKind::Input(connector), element);
    let code = TypedExpressionCode { environment, expression };
    Scalar { code, bindings: vec![Binding::Load(location)], symbols: Vec::new(), checks: Vec::new() }
}

/// A generated expression.
pub(super) fn typed(kind: TypedExpressionKind, ty: ElementType) -> TypedExpression {
    TypedExpression { kind, ty, span: sdfg::syntax::Span::default() }
}

/// A scalar converted to a type.
fn converted(mut scalar: Scalar, ty: ScalarType) -> Scalar {
    scalar.code = converted_code(scalar.code, ty.into());
    scalar
}

/// Code converted to a type; a scalar fills all lanes of a vector.
pub(super) fn converted_code(mut code: TypedExpressionCode, ty: ElementType) -> TypedExpressionCode {
    let is_repeated = code.expression.ty.lanes() < ty.lanes();
    let converted = if is_repeated { ElementType::scalar(ty.lane()) } else { ty };
    if code.expression.ty != converted {
        code.expression = typed(TypedExpressionKind::Cast(Box::new(code.expression)), converted);
    }
    if is_repeated {
        code.expression = typed(TypedExpressionKind::Splat(Box::new(code.expression)), ty);
    }
    code
}
