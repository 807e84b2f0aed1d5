//! Errors in code that parses: names, types and assignments. One closed list with one wording each.

use crate::dtype::ElementType;
use crate::syntax::Span;

/// A type error at a place in the source of a piece of code.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{kind}")]
pub struct TypeError {
    /// Span of the error.
    pub span: Span,
    /// The error.
    pub kind: TypeErrorKind,
}

/// The kinds of type errors.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TypeErrorKind {
    /// A name that is no connector, symbol, local or constant.
    #[error("unknown name `{name}`")]
    UnknownName {
        /// The name.
        name: String,
        /// The names that are known here.
        known: Vec<String>,
    },
    /// A call of something that is no function.
    #[error("unknown function `{name}`")]
    UnknownFunction {
        /// The name.
        name: String,
    },
    /// A declared type that is no type.
    #[error("unknown type `{name}`")]
    UnknownType {
        /// The name.
        name: String,
    },
    /// A call with too few or too many arguments.
    #[error("`{function}` takes {expected} but gets {found}")]
    WrongArgumentCount {
        /// The function.
        function: String,
        /// Required number of arguments.
        expected: &'static str,
        /// Given number of arguments.
        found: usize,
    },
    /// An operand or argument of a type that the operation is not defined for.
    #[error("`{operation}` is not defined for {ty}")]
    UndefinedOperation {
        /// The operator or function.
        operation: String,
        /// The type.
        ty: ElementType,
    },
    /// Operands with different numbers of lanes, neither of them a scalar.
    #[error("{left} and {right} have different numbers of lanes")]
    LaneMismatch {
        /// The left type.
        left: ElementType,
        /// The right type.
        right: ElementType,
    },
    /// A lane that is no literal, or that the vector does not have.
    #[error("{ty} has no lane `{lane}`")]
    NoLane {
        /// The type of the vector.
        ty: ElementType,
        /// The lane, as text.
        lane: String,
    },
    /// A vector where only one value can be.
    #[error("expected a scalar, found {found}")]
    ExpectedScalar {
        /// The type of the expression.
        found: ElementType,
    },
    /// A value that cannot become the type of what it is assigned or converted to.
    #[error("cannot convert {from} to {to}")]
    NoConversion {
        /// The type of the value.
        from: ElementType,
        /// The type that is needed.
        to: ElementType,
    },
    /// An index that is no integer.
    #[error("an index must be an integer, this is {found}")]
    IndexType {
        /// The type of the expression.
        found: ElementType,
    },
    /// Another number of indices than the pointer has dimensions.
    #[error("`{name}` has {expected} dimensions and is indexed with {found}")]
    IndexCount {
        /// The connector.
        name: String,
        /// Its rank.
        expected: usize,
        /// Given number of indices.
        found: usize,
    },
    /// A range as an index in code.
    #[error("code reads and writes single elements, not ranges")]
    RangeIndex,
    /// A subscript on something that is no pointer.
    #[error("`{name}` is a single value and cannot be indexed")]
    NotIndexable {
        /// The name.
        name: String,
    },
    /// A pointer or stream used as a value.
    #[error("`{name}` is {what}, not a value")]
    NotAValue {
        /// The name.
        name: String,
        /// Its kind.
        what: &'static str,
    },
    /// The length of something that is no stream, or of a stream where only its ends can be used.
    #[error("`{name}` is no stream whose length can be asked for here")]
    NotAStream {
        /// The argument of `len`.
        name: String,
    },
    /// An output that is read (before it is assigned).
    #[error("the output `{name}` is read {when}")]
    ReadsOutput {
        /// The connector.
        name: String,
        /// In which situation.
        when: &'static str,
    },
    /// An assignment to something that cannot be assigned.
    #[error("`{name}` is {what} and cannot be assigned")]
    NotAssignable {
        /// The name.
        name: String,
        /// Its kind.
        what: &'static str,
    },
    /// A local that is not assigned on every path to this place.
    #[error("the local `{name}` may be unassigned here")]
    MaybeUnassigned {
        /// The name.
        name: String,
    },
    /// A type declared for something that has one already.
    #[error("`{name}` has its type already")]
    MisplacedAnnotation {
        /// The name.
        name: String,
    },
    /// A chained comparison within a chained comparison within ..., which would have to be duplicated too often.
    #[error("chained comparisons are nested too deeply")]
    NestedChains,
}

impl TypeError {
    /// An error of `kind` at `span`.
    pub fn new(span: Span, kind: TypeErrorKind) -> Self {
        TypeError { span, kind }
    }

    /// The remedy.
    pub fn help(&self) -> Option<String> {
        let text = match &self.kind {
            TypeErrorKind::UnknownName { known, .. } if known.is_empty() => {
                "no connector or symbol is in scope; connect an edge to the tasklet".to_owned()
            }
            TypeErrorKind::UnknownName { known, .. } => format!("known here: {}", known.join(", ")),
            TypeErrorKind::UnknownFunction { .. } => {
                "known are the functions of `math`, `min`, `max`, and casts such as f32(x); call others through an external tasklet".to_owned()
            }
            TypeErrorKind::UnknownType { .. } => "types are bool, i8..i64, u8..u64, f16..f64, complex64, complex128".to_owned(),
            TypeErrorKind::UndefinedOperation { ty, .. } if ty.lane().is_complex() => {
                "take `real(x)`, `imag(x)` or `abs(x)` first".to_owned()
            }
            TypeErrorKind::UndefinedOperation { ty, .. } if ty.lane().is_float() => {
                "convert to an integer first, as in i64(x)".to_owned()
            }
            TypeErrorKind::NoConversion { from, .. } if from.lane().is_complex() => {
                "take `real(x)`, `imag(x)` or `abs(x)`".to_owned()
            }
            TypeErrorKind::ExpectedScalar { .. } | TypeErrorKind::LaneMismatch { .. } => {
                "connect elements with the same number of lanes, or take one lane, as in lane(v, 0)".to_owned()
            }
            TypeErrorKind::NoLane { ty, .. } => {
                format!("the lane is an integer literal from 0 to {}", ty.lanes().saturating_sub(1))
            }
            TypeErrorKind::IndexType { .. } => "convert it, as in i64(x)".to_owned(),
            TypeErrorKind::RangeIndex => "loop over the range with `for i in range(...)`".to_owned(),
            TypeErrorKind::NotIndexable { name } => format!("write `{name}` without a subscript"),
            TypeErrorKind::NotAValue { name, what: "a pointer" } => format!("give an index, as in `{name}[0]`"),
            TypeErrorKind::NotAValue { what: "a stream", .. } => {
                "take an element through a memlet; a condition may ask for the length, as in `len(S)`".to_owned()
            }
            TypeErrorKind::NotAStream { .. } => {
                "`len(S)` or `len(S[i])` counts the elements of a queue, in conditions and assignments".to_owned()
            }
            TypeErrorKind::ReadsOutput { name, .. } => format!(
                "collect in a local variable and assign `{name}` at the end, or connect the container as an input, too"
            ),
            TypeErrorKind::NotAssignable { what: "a loop variable", .. } => "copy it to another local first".to_owned(),
            TypeErrorKind::NotAssignable { what: "a pointer", name } => format!("give an index, as in `{name}[0] = ...`"),
            TypeErrorKind::NotAssignable { .. } => "assign an output or a new name".to_owned(),
            TypeErrorKind::MaybeUnassigned { .. } => "assign it before the branch or loop".to_owned(),
            TypeErrorKind::MisplacedAnnotation { .. } => "only the first assignment of a local declares a type".to_owned(),
            TypeErrorKind::NestedChains => "assign the middle operand to a local".to_owned(),
            TypeErrorKind::WrongArgumentCount { .. }
            | TypeErrorKind::UndefinedOperation { .. }
            | TypeErrorKind::NoConversion { .. }
            | TypeErrorKind::IndexCount { .. }
            | TypeErrorKind::NotAValue { .. } => return None,
        };
        Some(text)
    }
}
