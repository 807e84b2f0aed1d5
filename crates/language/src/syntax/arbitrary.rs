//! Random syntax trees for property tests here and in `sdfg::tasklet`.

use proptest::collection::vec;
use proptest::prelude::*;
use sdfg_language::syntax::{
    AssignmentTarget, BinaryOp, Block, CompareOp, Expression, ExpressionKind, Index, Name, Statement,
    StatementKind, UnaryOp,
};

fn expression_of(kind: ExpressionKind) -> Expression {
    Expression { kind, span: Default::default() }
}

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "x", "y", "o", "p", "A", "B", "N", "i", "math.pi", "s"])
        .prop_map(str::to_owned)
}

fn simple_name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "x", "y", "o", "p", "A", "B", "N", "i", "t", "u"])
        .prop_map(str::to_owned)
}

fn function() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "sqrt", "min", "max", "abs", "f32", "i64", "np.exp", "atan2", "int", "fma", "nothing",
    ])
    .prop_map(str::to_owned)
}

fn unary_op() -> impl Strategy<Value = UnaryOp> {
    prop::sample::select(vec![UnaryOp::Negate, UnaryOp::Plus, UnaryOp::Not, UnaryOp::Invert])
}

fn leaf() -> BoxedStrategy<Expression> {
    prop_oneof![
        any::<u64>().prop_map(|v| expression_of(ExpressionKind::Integer(v))),
        (0_u64..6).prop_map(|v| expression_of(ExpressionKind::Integer(v))),
        any::<f64>().prop_map(|v| Expression::float(if v.is_finite() { v.abs() } else { 0.5 })),
        (0_u32..9).prop_map(|v| {
            let Expression { kind: ExpressionKind::Float(literal), .. } =
                Expression::float(f64::from(v) / 4.0)
            else {
                unreachable!("small numbers are literals")
            };
            expression_of(ExpressionKind::Imaginary(literal))
        }),
        any::<bool>().prop_map(Expression::bool),
        name().prop_map(Expression::name),
        name().prop_map(Expression::name),
    ]
    .boxed()
}

fn index(inner: BoxedStrategy<Expression>) -> impl Strategy<Value = Index> {
    let part = || prop::option::of(inner.clone());
    prop_oneof![
        3 => inner.clone().prop_map(Index::Point),
        1 => (part(), part(), part(), part()).prop_map(|(begin, end, step, tile)| Index::Range { begin, end, step, tile,
            span: Default::default()
        }),
    ]
}

/// Expressions of moderate size over a few names, mostly not well typed.
pub(crate) fn expression() -> BoxedStrategy<Expression> {
    leaf()
        .prop_recursive(4, 24, 3, |inner| {
            let boxed = || inner.clone().prop_map(Box::new);
            let compare = (prop::sample::select(CompareOp::ALL.to_vec()), inner.clone());
            prop_oneof![
                (unary_op(), inner.clone()).prop_map(|(op, operand)| Expression::unary(op, operand)),
                (prop::sample::select(BinaryOp::ALL.to_vec()), inner.clone(), inner.clone())
                    .prop_map(|(op, left, right)| Expression::binary(op, left, right)),
                (prop::sample::select(BinaryOp::ALL.to_vec()), inner.clone(), inner.clone())
                    .prop_map(|(op, left, right)| Expression::binary(op, left, right)),
                (boxed(), vec(compare, 1..3))
                    .prop_map(|(first, rest)| expression_of(ExpressionKind::Compare { first, rest })),
                (boxed(), boxed(), boxed()).prop_map(|(condition, then, otherwise)| expression_of(
                    ExpressionKind::Conditional { condition, then, otherwise }
                )),
                (function(), vec(inner.clone(), 0..3))
                    .prop_map(|(f, arguments)| Expression::call(&f, arguments)),
                (simple_name(), vec(index(inner.clone().boxed()), 1..3)).prop_map(|(base, indices)| {
                    expression_of(ExpressionKind::Subscript { base: Name::new(base), indices })
                }),
            ]
        })
        .boxed()
}

fn target() -> impl Strategy<Value = AssignmentTarget> {
    (simple_name(), prop::option::weighted(0.3, expression())).prop_map(|(name, index)| AssignmentTarget {
        name: Name::new(name),
        indices: index.map(Index::Point).into_iter().collect(),
    })
}

fn statement_of(kind: StatementKind) -> Statement {
    Statement { kind, span: Default::default() }
}

/// Blocks of a few statements, mostly not well typed.
pub(crate) fn block() -> BoxedStrategy<Block> {
    let augmenting: Vec<BinaryOp> =
        BinaryOp::ALL.into_iter().filter(|op| !matches!(op, BinaryOp::And | BinaryOp::Or)).collect();
    let annotation = prop::option::weighted(0.2, Just(Name::new("f32")));
    let simple = prop_oneof![
        4 => (target(), annotation, expression())
            .prop_map(|(target, annotation, value)| statement_of(StatementKind::Assign { target, annotation, value })),
        2 => (target(), prop::sample::select(augmenting), expression())
            .prop_map(|(target, op, value)| statement_of(StatementKind::Augmented { target, op, value })),
        1 => Just(statement_of(StatementKind::Pass)),
    ];
    let statement = simple.prop_recursive(2, 8, 3, |inner| {
        let body = || vec(inner.clone(), 1..3);
        prop_oneof![
            (vec((expression(), body()), 1..3), vec(inner.clone(), 0..2))
                .prop_map(|(branches, otherwise)| statement_of(StatementKind::If { branches, otherwise })),
            (
                simple_name(),
                prop::option::of((expression(), prop::option::of(expression()))),
                expression(),
                body()
            )
                .prop_map(|(variable, rest, end, body)| {
                    let (begin, step) = rest.map_or((None, None), |(begin, step)| (Some(begin), step));
                    statement_of(StatementKind::For { variable: Name::new(variable), begin, end, step, body })
                }),
            (expression(), body())
                .prop_map(|(condition, body)| statement_of(StatementKind::While { condition, body })),
        ]
    });
    vec(statement, 1..4).boxed()
}

/// Expressions of integer arithmetic over a few names, all of which have a symbolic form.
pub(crate) fn integer_expression() -> BoxedStrategy<Expression> {
    let name = prop::sample::select(vec!["a", "b", "N", "i"]).prop_map(Expression::name);
    let leaf = prop_oneof![name, (-9_i64..10).prop_map(Expression::integer)];
    let operators = vec![
        BinaryOp::Add,
        BinaryOp::Subtract,
        BinaryOp::Multiply,
        BinaryOp::FloorDivide,
        BinaryOp::Modulo,
        BinaryOp::ShiftLeft,
    ];
    let functions = vec!["min", "max", "ceil_div", "f"];
    leaf.prop_recursive(4, 16, 2, move |inner| {
        prop_oneof![
            3 => (prop::sample::select(operators.clone()), inner.clone(), inner.clone())
                .prop_map(|(op, left, right)| Expression::binary(op, left, right)),
            1 => (prop::sample::select(functions.clone()), inner.clone(), inner.clone())
                .prop_map(|(function, left, right)| Expression::call(function, vec![left, right])),
            1 => inner.clone().prop_map(|operand| Expression::unary(UnaryOp::Negate, operand)),
            1 => (inner, 0_i64..4)
                .prop_map(|(base, n)| Expression::binary(BinaryOp::Power, base, Expression::integer(n))),
        ]
    })
    .boxed()
}
