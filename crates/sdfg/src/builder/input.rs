//! Inputs of builder calls: texts of the grammar, or typed values.
//!
//! Texts are parsed when they are given. A parse error is recorded with the place of the call, and `build()`
//! reports it together with all others. The call continues with a placeholder.

use sdfg_graph::ir::{Access, AccessedPart, Container, ContainerId, ForeignAttribute, Sdfg};
use sdfg_language::subset::{Range, Subset};
use sdfg_language::symbolic::{Expr, ParseExprError, Symbol};
use sdfg_language::syntax::{
    Expression, ExpressionKind, Index, ParseError, parse_expression, parse_index_list,
};
use sdfg_validate::Validated;

use super::SdfgBuilder;

/// Why a builder call cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// A text that does not follow the grammar.
    #[error("`{text}`: {}", .errors.first().map_or_else(String::new, ToString::to_string))]
    Syntax {
        /// The text.
        text: String,
        /// The error.
        errors: Vec<ParseError>,
    },
    /// A text that is no integer expression or subset.
    #[error("`{text}`: {reason}")]
    NotSymbolic {
        /// The text.
        text: String,
        /// Why.
        reason: ParseExprError,
    },
    /// A name that cannot be one.
    #[error(
        "`{name}` cannot be a name: letters, digits and underscores, not a digit first, and no word of the language"
    )]
    InvalidName {
        /// The name.
        name: String,
    },
    /// A memlet that is no `container[subset]`.
    #[error("`{text}` is no memlet; write `A[i, 0:K]`, or `A` for all of A")]
    NotAMemlet {
        /// The text.
        text: String,
    },
    /// A container that was not declared.
    #[error("no container is called `{name}`")]
    UnknownContainer {
        /// The name.
        name: String,
        /// One that may have been meant.
        similar: Option<String>,
    },
    /// A range where a `for` loop needs `begin:end` or `begin:end:step`.
    #[error("`{text}` is no range of a loop; write `begin:end` or `begin:end:step` with a constant step")]
    NotALoopRange {
        /// The text.
        text: String,
    },
    /// Copying between two containers that both live outside of the scope.
    #[error("a copy inside a scope needs a container that is local to it")]
    CopyPassesThrough,
    /// A property of a memlet before there is a connector that it belongs to.
    #[error("no connector was given before this call")]
    NoConnector,
    /// An attribute that the schedule of a scope does not have.
    #[error("{0}")]
    ForeignAttribute(ForeignAttribute),
    /// A conflict resolution of what is read.
    #[error("`{connector}` is an input: only a write has a conflict resolution")]
    ResolutionOnInput {
        /// The connector that was given last.
        connector: String,
    },
    /// A property of a memlet where the connector is connected to a code node.
    #[error("`{connector}` is connected to a code node: one value moves, and nothing more can be said of it")]
    ValueConnector {
        /// The connector that was given last.
        connector: String,
    },
    /// A block to extend that is no state of the program.
    #[error("this block is no state of `{program}`")]
    NotAState {
        /// The program.
        program: String,
    },
    /// A state to extend while another closure adds to it.
    #[error("`{label}` is being extended by a closure that has not ended")]
    StateIsOpen {
        /// The state.
        label: String,
    },
    /// A container to set that is no reference.
    #[error("`{name}` is no reference")]
    NotAReference {
        /// The container.
        name: String,
    },
    /// A branch without arms.
    #[error("the branch has no arm")]
    NoArms,
    /// A declaration with a name that is taken.
    #[error("`{name}` is declared already")]
    NameTaken {
        /// The name.
        name: String,
    },
}

impl InputError {
    /// The remedy.
    pub(super) fn suggestion(&self) -> Option<String> {
        match self {
            InputError::Syntax { errors, .. } => errors.first().and_then(ParseError::help),
            InputError::UnknownContainer { similar, .. } => similar.clone(),
            InputError::CopyPassesThrough => {
                Some("declare one in the scope with `transient`, or use a tasklet".to_owned())
            }
            InputError::ForeignAttribute(_) => {
                Some("leave it out, or choose a schedule that it belongs to".to_owned())
            }
            InputError::ResolutionOnInput { .. } => {
                Some("call it right behind the `output` that it is for".to_owned())
            }
            InputError::ValueConnector { .. } => {
                Some("call it right behind an `input` or `output` with a memlet".to_owned())
            }
            InputError::NotAReference { .. } => {
                Some("declare it with `reference`; a view is bound with `bind`".to_owned())
            }
            InputError::NoArms => Some("add one with `arm`".to_owned()),
            InputError::NotSymbolic { .. }
            | InputError::NotAState { .. }
            | InputError::StateIsOpen { .. }
            | InputError::InvalidName { .. }
            | InputError::NotAMemlet { .. }
            | InputError::NotALoopRange { .. }
            | InputError::NoConnector
            | InputError::NameTaken { .. } => None,
        }
    }
}

/// A size, bound or index: a text such as `"2 * N"`, a number, or an expression.
pub trait IntoExpr {
    /// The expression.
    ///
    /// # Errors
    /// If a text is no integer expression.
    fn into_expr(self) -> Result<Expr, InputError>;
}

impl IntoExpr for &str {
    fn into_expr(self) -> Result<Expr, InputError> {
        self.parse().map_err(|reason| InputError::NotSymbolic { text: self.to_owned(), reason })
    }
}

impl IntoExpr for &String {
    fn into_expr(self) -> Result<Expr, InputError> {
        self.as_str().into_expr()
    }
}

impl IntoExpr for String {
    fn into_expr(self) -> Result<Expr, InputError> {
        self.as_str().into_expr()
    }
}

impl IntoExpr for Expr {
    fn into_expr(self) -> Result<Expr, InputError> {
        Ok(self)
    }
}

impl IntoExpr for &Expr {
    fn into_expr(self) -> Result<Expr, InputError> {
        Ok(self.clone())
    }
}

impl IntoExpr for Symbol {
    fn into_expr(self) -> Result<Expr, InputError> {
        Ok(Expr::symbol(self))
    }
}

impl IntoExpr for i64 {
    fn into_expr(self) -> Result<Expr, InputError> {
        Ok(Expr::int(self))
    }
}

/// A range of a map: a text such as `"1:N - 1"` or `"0:N:2"`, or a typed range.
pub trait IntoRange {
    /// The range.
    ///
    /// # Errors
    /// If a text is no range.
    fn into_range(self) -> Result<Range, InputError>;
}

impl IntoRange for &str {
    fn into_range(self) -> Result<Range, InputError> {
        let text = || self.to_owned();
        let subset: Subset =
            self.parse().map_err(|reason| InputError::NotSymbolic { text: text(), reason })?;
        match <[Range; 1]>::try_from(subset.0) {
            Ok([range]) => Ok(range),
            Err(_) => Err(InputError::NotALoopRange { text: text() }),
        }
    }
}

impl IntoRange for String {
    fn into_range(self) -> Result<Range, InputError> {
        self.as_str().into_range()
    }
}

impl IntoRange for Range {
    fn into_range(self) -> Result<Range, InputError> {
        Ok(self)
    }
}

/// A condition or a right side of an assignment, over symbols and containers: a text, a number or a syntax tree.
pub trait IntoExpression {
    /// The syntax tree.
    ///
    /// # Errors
    /// If a text is no expression.
    fn into_expression(self) -> Result<Expression, InputError>;
}

impl IntoExpression for &str {
    fn into_expression(self) -> Result<Expression, InputError> {
        parse_expression(self).map_err(|errors| InputError::Syntax { text: self.to_owned(), errors })
    }
}

impl IntoExpression for String {
    fn into_expression(self) -> Result<Expression, InputError> {
        self.as_str().into_expression()
    }
}

impl IntoExpression for Expression {
    fn into_expression(self) -> Result<Expression, InputError> {
        Ok(self)
    }
}

impl IntoExpression for i64 {
    fn into_expression(self) -> Result<Expression, InputError> {
        Ok(Expression::integer(self))
    }
}

/// A part of a container: a text such as `"A[i, 0:K]"`, `"A"` for all of it, or a typed access.
pub trait IntoAccess {
    /// The access.
    ///
    /// # Errors
    /// If a text is no memlet or names no container.
    fn into_access(self, sdfg: &Sdfg) -> Result<Access, InputError>;
}

impl IntoAccess for &str {
    fn into_access(self, sdfg: &Sdfg) -> Result<Access, InputError> {
        let expression = self.into_expression()?;
        let (name, indices): (&str, Option<&[Index]>) = match &expression.kind {
            ExpressionKind::Name(name) => (name, None),
            ExpressionKind::Subscript { base, indices } => (&base.text, Some(indices)),
            _ => return Err(InputError::NotAMemlet { text: self.to_owned() }),
        };
        let id = find_container(sdfg, name)?;
        let container = sdfg.container(id);
        let subset = match indices {
            None => Subset::full(container.shape()),
            Some(indices) => Subset::from_indices(indices, container.shape()).map_err(|reason| {
                InputError::NotSymbolic { text: self.to_owned(), reason: ParseExprError::NotPure(reason) }
            })?,
        };
        Ok(place(container, id, subset))
    }
}

impl IntoAccess for String {
    fn into_access(self, sdfg: &Sdfg) -> Result<Access, InputError> {
        self.as_str().into_access(sdfg)
    }
}

impl IntoAccess for Access {
    fn into_access(self, _: &Sdfg) -> Result<Access, InputError> {
        Ok(self)
    }
}

/// The whole container.
impl IntoAccess for ContainerId {
    fn into_access(self, sdfg: &Sdfg) -> Result<Access, InputError> {
        let container = container(sdfg, self)?;
        Ok(place(container, self, Subset::full(container.shape())))
    }
}

impl IntoAccess for (ContainerId, Subset) {
    fn into_access(self, sdfg: &Sdfg) -> Result<Access, InputError> {
        Ok(place(container(sdfg, self.0)?, self.0, self.1))
    }
}

/// A container: its id or its name.
pub trait IntoContainer {
    /// The id.
    ///
    /// # Errors
    /// If there is none.
    fn into_container(self, sdfg: &Sdfg) -> Result<ContainerId, InputError>;
}

impl IntoContainer for &str {
    fn into_container(self, sdfg: &Sdfg) -> Result<ContainerId, InputError> {
        find_container(sdfg, self)
    }
}

impl IntoContainer for ContainerId {
    fn into_container(self, sdfg: &Sdfg) -> Result<ContainerId, InputError> {
        container(sdfg, self).map(|_| self)
    }
}

/// A program that another one calls: one that is being built, a graph, or a checked program.
pub trait IntoNested {
    /// The graph; what is wrong with it is noted in `caller`.
    fn into_nested(self, caller: &mut SdfgBuilder) -> Sdfg;
}

impl IntoNested for SdfgBuilder {
    fn into_nested(mut self, caller: &mut SdfgBuilder) -> Sdfg {
        self.close_body();
        caller.errors.append(&mut self.errors);
        self.sdfg
    }
}

impl IntoNested for Sdfg {
    fn into_nested(self, _: &mut SdfgBuilder) -> Sdfg {
        self
    }
}

impl IntoNested for Validated {
    fn into_nested(self, _: &mut SdfgBuilder) -> Sdfg {
        self.into_sdfg()
    }
}

/// A name as a symbol.
pub(super) fn symbol(name: &str) -> Result<Symbol, InputError> {
    Symbol::new(name).map_err(|_| InputError::InvalidName { name: name.to_owned() })
}

/// `begin:end` or `begin:end:step` of a `for` loop, whose bounds may read data.
pub(super) struct LoopRange {
    pub(super) begin: Expression,
    pub(super) end: Expression,
    pub(super) step: i64,
}

impl LoopRange {
    pub(super) fn parse(text: &str) -> Result<LoopRange, InputError> {
        let refuse = || InputError::NotALoopRange { text: text.to_owned() };
        let mut indices = parse_index_list(text)
            .map_err(|errors| InputError::Syntax { text: text.to_owned(), errors })?
            .into_iter();
        let (Some(Index::Range { begin, end: Some(end), step, tile: None, span: _ }), None) =
            (indices.next(), indices.next())
        else {
            return Err(refuse());
        };
        let step = match step {
            None => 1,
            Some(step) => Expr::from_expression(&step)
                .ok()
                .and_then(|step| step.as_int())
                .filter(|step| *step != 0)
                .ok_or_else(refuse)?,
        };
        Ok(LoopRange { begin: begin.unwrap_or_else(|| Expression::integer(0)), end, step })
    }
}

fn place(container: &Container, id: ContainerId, subset: Subset) -> Access {
    let place =
        if container.is_stream() { AccessedPart::Queues(subset) } else { AccessedPart::Elements(subset) };
    Access { container: id, place }
}

fn container(sdfg: &Sdfg, id: ContainerId) -> Result<&Container, InputError> {
    sdfg.get_container(id).ok_or_else(|| InputError::UnknownContainer { name: id.to_string(), similar: None })
}

fn find_container(sdfg: &Sdfg, name: &str) -> Result<ContainerId, InputError> {
    sdfg.find_container(name).ok_or_else(|| {
        let names = sdfg.containers().map(|(_, container)| container.name.as_str());
        InputError::UnknownContainer {
            name: name.to_owned(),
            similar: sdfg_graph::workspace::did_you_mean(name, names),
        }
    })
}
