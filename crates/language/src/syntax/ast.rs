//! The syntax tree of expressions and statements: untyped, with a span at every node.
//!
//! Equality is structural and ignores spans, so a tree equals the parse of its printed form.

use std::cmp::Ordering;

use super::span::Span;
use crate::value::{Complex, Value};

/// A name with its place. Dotted names such as `math.sqrt` are one name.
#[derive(Clone, Debug)]
pub struct Name {
    /// The text; parts are joined by `.` without blanks.
    pub text: String,
    /// Its span.
    pub span: Span,
}

impl Name {
    /// A name without a place, for generated code.
    pub fn new(text: impl Into<String>) -> Self {
        Name { text: text.into(), span: Span::default() }
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Name {}

/// A finite floating-point literal, zero or above; compared by bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloatLiteral(u64);

impl FloatLiteral {
    /// The literal with this value; `None` if it is negative, infinite or NaN, which no literal is.
    pub fn new(value: f64) -> Option<Self> {
        (value.is_finite() && value.is_sign_positive()).then_some(FloatLiteral(value.to_bits()))
    }

    /// The value.
    pub fn value(self) -> f64 {
        f64::from_bits(self.0)
    }
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expression {
    /// Its kind.
    pub kind: ExpressionKind,
    /// Its span, without parentheses.
    pub span: Span,
}

impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

impl Eq for Expression {}

/// The forms of expressions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpressionKind {
    /// `12`, `0x1f`. Negative numbers are a unary minus before a literal.
    Integer(u64),
    /// `1.5`.
    Float(FloatLiteral),
    /// `2j`.
    Imaginary(FloatLiteral),
    /// `True` or `False`.
    Bool(bool),
    /// A local, a connector, a symbol, a container or a constant such as `math.pi`.
    Name(String),
    /// `-a`, `+a`, `not a`, `~a`.
    Unary {
        /// The operator.
        op: UnaryOp,
        /// Its operand.
        operand: Box<Expression>,
    },
    /// `a + b` and so on.
    Binary {
        /// The operator.
        op: BinaryOp,
        /// The left operand.
        left: Box<Expression>,
        /// The right operand.
        right: Box<Expression>,
    },
    /// `a < b <= c`: true if every neighbouring pair compares as told; each operand is evaluated at most once.
    Compare {
        /// The leftmost operand.
        first: Box<Expression>,
        /// At least one operator with its right operand.
        rest: Vec<(CompareOp, Expression)>,
    },
    /// `then if condition else otherwise`.
    Conditional {
        /// Decides.
        condition: Box<Expression>,
        /// The value if the condition holds.
        then: Box<Expression>,
        /// The value if not.
        otherwise: Box<Expression>,
    },
    /// `f(a, b)`.
    Call {
        /// The function, possibly dotted.
        function: Name,
        /// The arguments.
        arguments: Vec<Expression>,
    },
    /// `a[i, 0:n]`.
    Subscript {
        /// The indexed expression.
        base: Name,
        /// One or more indices.
        indices: Vec<Index>,
    },
}

/// One dimension of a subscript or subset.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "ranges are as frequent as points, and boxes would cost every reader a match"
)]
pub enum Index {
    /// A single position.
    Point(Expression),
    /// `begin:end:step:tile`; the end is exclusive, each part may be left out.
    Range {
        /// The first position.
        begin: Option<Expression>,
        /// The first position that is no longer covered.
        end: Option<Expression>,
        /// The distance between positions.
        step: Option<Expression>,
        /// The number of consecutive positions covered at each step.
        tile: Option<Expression>,
        /// Span of the range.
        span: Span,
    },
}

impl PartialEq for Index {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Index::Point(a), Index::Point(b)) => a == b,
            (
                Index::Range { begin, end, step, tile, span: _ },
                Index::Range { begin: b, end: e, step: s, tile: t, span: _ },
            ) => begin == b && end == e && step == s && tile == t,
            (Index::Point(_), Index::Range { .. }) | (Index::Range { .. }, Index::Point(_)) => false,
        }
    }
}

impl Eq for Index {}

impl Index {
    /// Span of the index.
    pub fn span(&self) -> Span {
        match self {
            Index::Point(expression) => expression.span,
            Index::Range { span, .. } => *span,
        }
    }
}

/// Unary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UnaryOp {
    /// `-`
    Negate,
    /// `+`
    Plus,
    /// `not`
    Not,
    /// `~`
    Invert,
}

/// Binary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `//`
    FloorDivide,
    /// `%`
    Modulo,
    /// `**`
    Power,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
    /// `and`
    And,
    /// `or`
    Or,
}

impl BinaryOp {
    /// Every operator.
    pub const ALL: [BinaryOp; 14] = [
        BinaryOp::Add,
        BinaryOp::Subtract,
        BinaryOp::Multiply,
        BinaryOp::Divide,
        BinaryOp::FloorDivide,
        BinaryOp::Modulo,
        BinaryOp::Power,
        BinaryOp::ShiftLeft,
        BinaryOp::ShiftRight,
        BinaryOp::BitAnd,
        BinaryOp::BitOr,
        BinaryOp::BitXor,
        BinaryOp::And,
        BinaryOp::Or,
    ];

    /// The text of the operator.
    pub const fn text(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Subtract => "-",
            BinaryOp::Multiply => "*",
            BinaryOp::Divide => "/",
            BinaryOp::FloorDivide => "//",
            BinaryOp::Modulo => "%",
            BinaryOp::Power => "**",
            BinaryOp::ShiftLeft => "<<",
            BinaryOp::ShiftRight => ">>",
            BinaryOp::BitAnd => "&",
            BinaryOp::BitOr => "|",
            BinaryOp::BitXor => "^",
            BinaryOp::And => "and",
            BinaryOp::Or => "or",
        }
    }
}

/// Comparison operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CompareOp {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
}

impl CompareOp {
    /// The operator that says of exchanged operands what this one says of them.
    #[must_use]
    pub fn turned_around(self) -> CompareOp {
        match self {
            CompareOp::Less => CompareOp::Greater,
            CompareOp::LessEqual => CompareOp::GreaterEqual,
            CompareOp::Greater => CompareOp::Less,
            CompareOp::GreaterEqual => CompareOp::LessEqual,
            CompareOp::Equal => CompareOp::Equal,
            CompareOp::NotEqual => CompareOp::NotEqual,
        }
    }

    /// Every operator.
    pub const ALL: [CompareOp; 6] = [
        CompareOp::Equal,
        CompareOp::NotEqual,
        CompareOp::Less,
        CompareOp::LessEqual,
        CompareOp::Greater,
        CompareOp::GreaterEqual,
    ];

    /// The text of the operator.
    pub const fn text(self) -> &'static str {
        match self {
            CompareOp::Equal => "==",
            CompareOp::NotEqual => "!=",
            CompareOp::Less => "<",
            CompareOp::LessEqual => "<=",
            CompareOp::Greater => ">",
            CompareOp::GreaterEqual => ">=",
        }
    }

    /// Whether operands that are ordered so satisfy the comparison; those without an order, as NaN has none, are only not equal.
    pub fn holds(self, ordering: Option<Ordering>) -> bool {
        match self {
            CompareOp::Equal => ordering == Some(Ordering::Equal),
            CompareOp::NotEqual => ordering != Some(Ordering::Equal),
            CompareOp::Less => ordering == Some(Ordering::Less),
            CompareOp::LessEqual => matches!(ordering, Some(Ordering::Less | Ordering::Equal)),
            CompareOp::Greater => ordering == Some(Ordering::Greater),
            CompareOp::GreaterEqual => matches!(ordering, Some(Ordering::Greater | Ordering::Equal)),
        }
    }
}

/// A function of its parameters, `lambda a, b: a + b`; conflict resolutions are written so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lambda {
    /// The parameters.
    pub parameters: Vec<Name>,
    /// The value.
    pub body: Expression,
}

/// A sequence of statements.
pub type Block = Vec<Statement>;

/// A statement.
#[derive(Clone, Debug)]
pub struct Statement {
    /// Its kind.
    pub kind: StatementKind,
    /// Its span; for a compound statement, that of the whole statement.
    pub span: Span,
}

impl PartialEq for Statement {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

impl Eq for Statement {}

/// The forms of statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatementKind {
    /// `target = value`, or `target: type = value`.
    Assign {
        /// The assigned target.
        target: AssignmentTarget,
        /// The declared type of a local.
        annotation: Option<Name>,
        /// The value.
        value: Expression,
    },
    /// `target op= value`.
    Augmented {
        /// The target that is read and assigned.
        target: AssignmentTarget,
        /// The operator; never [`BinaryOp::And`] or [`BinaryOp::Or`].
        op: BinaryOp,
        /// The right operand.
        value: Expression,
    },
    /// `if ...: elif ...: else: ...`.
    If {
        /// Conditions with their blocks, at least one; the first that holds is taken.
        branches: Vec<(Expression, Block)>,
        /// The `else` block, empty if there is none.
        otherwise: Block,
    },
    /// `for variable in range(begin, end, step): body`; the bounds are evaluated once.
    For {
        /// The loop variable.
        variable: Name,
        /// The first value, 0 if left out.
        begin: Option<Expression>,
        /// The end, exclusive.
        end: Expression,
        /// The step, 1 if left out.
        step: Option<Expression>,
        /// The block.
        body: Block,
    },
    /// `while condition: body`.
    While {
        /// Evaluated before every iteration.
        condition: Expression,
        /// The block.
        body: Block,
    },
    /// `pass`.
    Pass,
}

/// The left side of an assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssignmentTarget {
    /// The name.
    pub name: Name,
    /// The subscript, empty if there is none.
    pub indices: Vec<Index>,
}

impl AssignmentTarget {
    /// Its span.
    pub fn span(&self) -> Span {
        self.indices.iter().fold(self.name.span, |span, index| span.to(index.span()))
    }
}

/// Constructors for generated code; spans are empty.
impl Expression {
    fn generated(kind: ExpressionKind) -> Self {
        Expression { kind, span: Span::default() }
    }

    /// A name.
    pub fn name(text: impl Into<String>) -> Self {
        Self::generated(ExpressionKind::Name(text.into()))
    }

    /// An integer: a literal, or the negation of one.
    pub fn integer(value: i64) -> Self {
        let literal = Self::generated(ExpressionKind::Integer(value.unsigned_abs()));
        if value < 0 { Self::unary(UnaryOp::Negate, literal) } else { literal }
    }

    /// A floating-point number: a literal, the negation of one, or the names `inf` and `nan`.
    pub fn float(value: f64) -> Self {
        let literal = match FloatLiteral::new(value.abs()) {
            Some(literal) => Self::generated(ExpressionKind::Float(literal)),
            None if value.is_nan() => return Self::name("nan"),
            None => Self::name("inf"),
        };
        if value.is_sign_negative() { Self::unary(UnaryOp::Negate, literal) } else { literal }
    }

    /// `True` or `False`.
    pub fn bool(value: bool) -> Self {
        Self::generated(ExpressionKind::Bool(value))
    }

    /// A run-time scalar: a literal, or a call of `complex`.
    pub fn value(value: Value) -> Self {
        match value {
            Value::Bool(value) => Self::bool(value),
            Value::U64(value) => Self::generated(ExpressionKind::Integer(value)),
            Value::Complex64(Complex { re, im }) => {
                Self::value(Value::Complex128(Complex::new(f64::from(re), f64::from(im))))
            }
            Value::Complex128(Complex { re, im }) => {
                Self::call("complex", vec![Self::float(re), Self::float(im)])
            }
            Value::F16(value) => Self::float(value.to_f64()),
            Value::F32(value) => Self::float(f64::from(value)),
            Value::F64(value) => Self::float(value),
            Value::I8(_)
            | Value::I16(_)
            | Value::I32(_)
            | Value::I64(_)
            | Value::U8(_)
            | Value::U16(_)
            | Value::U32(_) => Self::integer(value.to_i64().unwrap_or(0)),
        }
    }

    /// A unary operation.
    pub fn unary(op: UnaryOp, operand: Expression) -> Self {
        Self::generated(ExpressionKind::Unary { op, operand: Box::new(operand) })
    }

    /// A binary operation.
    pub fn binary(op: BinaryOp, left: Expression, right: Expression) -> Self {
        Self::generated(ExpressionKind::Binary { op, left: Box::new(left), right: Box::new(right) })
    }

    /// A comparison of two operands.
    pub fn compare(op: CompareOp, left: Expression, right: Expression) -> Self {
        Self::generated(ExpressionKind::Compare { first: Box::new(left), rest: vec![(op, right)] })
    }

    /// A call.
    pub fn call(function: &str, arguments: Vec<Expression>) -> Self {
        Self::generated(ExpressionKind::Call { function: Name::new(function), arguments })
    }
}
