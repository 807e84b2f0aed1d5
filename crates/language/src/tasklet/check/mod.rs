//! The type checker: from the untyped tree to the typed one.
//!
//! A local has one type, the promotion of all assigned values. In loops, these may depend on the local
//! itself. Therefore the code is walked until no type of a local changes; types only grow, so this
//! terminates. Errors are those of the last walk. `docs/semantics-arithmetic.md` contains the rules.
mod call;
mod complex;
mod expression;
mod external;
mod operand;
mod operator;
mod statement;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

pub use external::{ExternalArgument, TypedExternal, typecheck_external};
use indexmap::IndexMap;

use super::code::{Code, Dialect};
use super::environment::{ConnectorId, Environment};
use super::error::{TypeError, TypeErrorKind};
use super::typed::{Local, LocalId, TypedCode, TypedExpressionCode};
use crate::dtype::ElementType;
use crate::syntax::{Expression, Lambda, Span};

/// Gives types to the code of a tasklet.
///
/// # Errors
/// Every type error, in order of its place in [`Code::source`].
pub fn typecheck(code: &Code, environment: &Environment) -> Result<TypedCode, Vec<TypeError>> {
    let mut checker = Checker::new(environment, code.dialect());
    checker.collect_locals(code.block());
    loop {
        checker.errors.clear();
        checker.assigned = Assigned::default();
        checker.changed = false;
        let body = checker.block(code.block());
        if checker.changed {
            continue;
        }
        checker.finish()?;
        let locals = checker
            .locals
            .iter()
            .filter_map(|(name, local)| local.ty.map(|ty| Local { name: name.clone(), ty: ty.element }));
        return Ok(TypedCode { environment: environment.clone(), locals: locals.collect(), body });
    }
}

/// Gives types to a single expression, such as a condition. A literal alone is `i64` or `f64`.
///
/// # Errors
/// Every type error, in order of its place.
pub fn typecheck_expression(
    expression: &Expression,
    dialect: Dialect,
    environment: &Environment,
) -> Result<TypedExpressionCode, Vec<TypeError>> {
    let mut checker = Checker::new(environment, dialect);
    let operand = checker.expression(expression);
    checker.finish()?;
    // An operand without a type has left an error.
    let Some(operand) = operand else { return Err(Vec::new()) };
    Ok(TypedExpressionCode { environment: environment.clone(), expression: operand.expression })
}

/// Gives types to a function of elements of one type, such as a custom conflict resolution. Its arithmetic is Python's.
///
/// # Errors
/// Every type error, in order of its place.
pub fn typecheck_function(
    function: &Lambda,
    element: ElementType,
) -> Result<TypedExpressionCode, Vec<TypeError>> {
    let mut environment = Environment::new();
    for parameter in &function.parameters {
        environment.input(&parameter.text, element);
    }
    typecheck_expression(&function.body, Dialect::Python, &environment)
}

/// The type of an operand. A weak type is that of an expression made of literals only: it gives way to the type of
/// the other operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Type {
    element: ElementType,
    weak: bool,
}

/// Facts about a local.
#[derive(Clone, Debug, Default)]
struct LocalState {
    ty: Option<Type>,
    /// Whether the type was declared, so that it does not grow.
    declared: bool,
    /// Whether a `for` counts in it.
    counts: bool,
}

/// Names assigned on every path to a place.
#[derive(Clone, Debug, Default)]
struct Assigned {
    locals: BTreeSet<LocalId>,
    outputs: BTreeSet<ConnectorId>,
}

impl Assigned {
    /// Names assigned on both of two paths.
    fn meet(self, other: &Assigned) -> Assigned {
        Assigned {
            locals: self.locals.intersection(&other.locals).copied().collect(),
            outputs: self.outputs.intersection(&other.outputs).copied().collect(),
        }
    }
}

struct Checker<'e> {
    environment: &'e Environment,
    dialect: Dialect,
    locals: IndexMap<String, LocalState>,
    assigned: Assigned,
    /// Variables of the loops around the current place.
    counting: Vec<LocalId>,
    /// Chained comparisons around the current expression, whose middle operands are duplicated.
    chains: u32,
    /// Whether the type of a local has grown in this walk.
    changed: bool,
    errors: Vec<TypeError>,
}

impl<'e> Checker<'e> {
    fn new(environment: &'e Environment, dialect: Dialect) -> Self {
        Checker {
            environment,
            dialect,
            locals: IndexMap::new(),
            assigned: Assigned::default(),
            counting: Vec::new(),
            chains: 0,
            changed: false,
            errors: Vec::new(),
        }
    }

    fn error(&mut self, span: Span, kind: TypeErrorKind) {
        self.errors.push(TypeError::new(span, kind));
    }

    fn finish(&mut self) -> Result<(), Vec<TypeError>> {
        if self.errors.is_empty() {
            return Ok(());
        }
        let mut errors = std::mem::take(&mut self.errors);
        errors.sort_by_key(|e| e.span);
        errors.dedup();
        Err(errors)
    }

    /// The local of this name, with its state.
    fn local(&self, name: &str) -> Option<(LocalId, &LocalState)> {
        self.locals.get_full(name).map(|(i, _, state)| (LocalId(i as u32), state))
    }
}
