//! Prints syntax trees with minimal parentheses; the output parses to the same tree.

use std::fmt::{self, Display, Formatter, Write};

use super::ast::{
    AssignmentTarget, Expression, ExpressionKind, Index, Lambda, Name, Statement, StatementKind, UnaryOp,
};
use super::expression::Level;

impl Display for Name {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Display for Expression {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_expression(f, self, Level::Conditional)
    }
}

impl Display for Index {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Index::Point(expression) => expression.fmt(f),
            Index::Range { begin, end, step, tile, span: _ } => {
                if let Some(begin) = begin {
                    begin.fmt(f)?;
                }
                f.write_char(':')?;
                if let Some(end) = end {
                    end.fmt(f)?;
                }
                if let Some(step) = step {
                    write!(f, ":{step}")?;
                }
                match tile {
                    Some(tile) if step.is_none() => write!(f, "::{tile}"),
                    Some(tile) => write!(f, ":{tile}"),
                    None => Ok(()),
                }
            }
        }
    }
}

impl Display for Lambda {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("lambda ")?;
        write_list(f, &self.parameters)?;
        write!(f, ": {}", self.body)
    }
}

impl Display for AssignmentTarget {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)?;
        if self.indices.is_empty() {
            return Ok(());
        }
        f.write_char('[')?;
        write_list(f, &self.indices)?;
        f.write_char(']')
    }
}

impl Display for Statement {
    /// Prints the statement on lines of its own, without a line end after the last.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_statement(f, self, 0)
    }
}

/// Prints statements on lines of their own, without a line end after the last.
pub fn print_block(block: &[Statement]) -> String {
    block.iter().map(Statement::to_string).collect::<Vec<_>>().join("\n")
}

fn write_list<T: Display>(f: &mut Formatter<'_>, items: &[T]) -> fmt::Result {
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            f.write_str(", ")?;
        }
        item.fmt(f)?;
    }
    Ok(())
}

/// Precedence of the outermost operator of an expression.
fn level(expression: &Expression) -> Level {
    match &expression.kind {
        ExpressionKind::Integer(_)
        | ExpressionKind::Float(_)
        | ExpressionKind::Imaginary(_)
        | ExpressionKind::Bool(_)
        | ExpressionKind::Name(_)
        | ExpressionKind::Call { .. }
        | ExpressionKind::Subscript { .. } => Level::Atom,
        ExpressionKind::Unary { op: UnaryOp::Not, .. } => Level::Not,
        ExpressionKind::Unary { .. } => Level::Unary,
        ExpressionKind::Binary { op, .. } => op.level(),
        ExpressionKind::Compare { .. } => Level::Compare,
        ExpressionKind::Conditional { .. } => Level::Conditional,
    }
}

/// Prints `expression` where an operator of `minimum` or tighter is needed.
fn write_expression(f: &mut Formatter<'_>, expression: &Expression, minimum: Level) -> fmt::Result {
    if level(expression) < minimum {
        f.write_char('(')?;
        write_bare(f, expression)?;
        return f.write_char(')');
    }
    write_bare(f, expression)
}

fn write_bare(f: &mut Formatter<'_>, expression: &Expression) -> fmt::Result {
    match &expression.kind {
        ExpressionKind::Integer(value) => write!(f, "{value}"),
        // The debug form always holds a point or an exponent, and reads back to the same bits.
        ExpressionKind::Float(literal) => write!(f, "{:?}", literal.value()),
        ExpressionKind::Imaginary(literal) => write!(f, "{:?}j", literal.value()),
        ExpressionKind::Bool(value) => f.write_str(if *value { "True" } else { "False" }),
        ExpressionKind::Name(name) => f.write_str(name),
        ExpressionKind::Unary { op, operand } => {
            let (text, minimum) = match op {
                UnaryOp::Negate => ("-", Level::Unary),
                UnaryOp::Plus => ("+", Level::Unary),
                UnaryOp::Invert => ("~", Level::Unary),
                UnaryOp::Not => ("not ", Level::Not),
            };
            f.write_str(text)?;
            write_expression(f, operand, minimum)
        }
        ExpressionKind::Binary { op, left, right } => {
            let level = op.level();
            // `**` groups to the right and takes a signed right operand; all others group to the left.
            let (left_level, right_level) =
                if level == Level::Power { (Level::Atom, Level::Unary) } else { (level, level.tighter()) };
            write_expression(f, left, left_level)?;
            write!(f, " {} ", op.text())?;
            write_expression(f, right, right_level)
        }
        ExpressionKind::Compare { first, rest } => {
            let operand = Level::Compare.tighter();
            write_expression(f, first, operand)?;
            for (op, right) in rest {
                write!(f, " {} ", op.text())?;
                write_expression(f, right, operand)?;
            }
            Ok(())
        }
        ExpressionKind::Conditional { condition, then, otherwise } => {
            write_expression(f, then, Level::Or)?;
            f.write_str(" if ")?;
            write_expression(f, condition, Level::Or)?;
            f.write_str(" else ")?;
            write_expression(f, otherwise, Level::Conditional)
        }
        ExpressionKind::Call { function, arguments } => {
            write!(f, "{function}(")?;
            write_list(f, arguments)?;
            f.write_char(')')
        }
        ExpressionKind::Subscript { base, indices } => {
            write!(f, "{base}[")?;
            write_list(f, indices)?;
            f.write_char(']')
        }
    }
}

fn write_indent(f: &mut Formatter<'_>, depth: usize) -> fmt::Result {
    for _ in 0..depth {
        f.write_str("    ")?;
    }
    Ok(())
}

/// Prints the indented lines of a block; an empty one is `pass`.
fn write_body(f: &mut Formatter<'_>, body: &[Statement], depth: usize) -> fmt::Result {
    if body.is_empty() {
        f.write_char('\n')?;
        write_indent(f, depth)?;
        return f.write_str("pass");
    }
    for statement in body {
        f.write_char('\n')?;
        write_statement(f, statement, depth)?;
    }
    Ok(())
}

fn write_statement(f: &mut Formatter<'_>, statement: &Statement, depth: usize) -> fmt::Result {
    write_indent(f, depth)?;
    match &statement.kind {
        StatementKind::Assign { target, annotation: None, value } => write!(f, "{target} = {value}"),
        StatementKind::Assign { target, annotation: Some(ty), value } => {
            write!(f, "{target}: {ty} = {value}")
        }
        StatementKind::Augmented { target, op, value } => write!(f, "{target} {}= {value}", op.text()),
        StatementKind::If { branches, otherwise } => {
            for (i, (condition, body)) in branches.iter().enumerate() {
                if i > 0 {
                    f.write_char('\n')?;
                    write_indent(f, depth)?;
                }
                write!(f, "{} {condition}:", if i == 0 { "if" } else { "elif" })?;
                write_body(f, body, depth + 1)?;
            }
            if !otherwise.is_empty() {
                f.write_char('\n')?;
                write_indent(f, depth)?;
                f.write_str("else:")?;
                write_body(f, otherwise, depth + 1)?;
            }
            Ok(())
        }
        StatementKind::For { variable, begin, end, step, body } => {
            write!(f, "for {variable} in range(")?;
            match (begin, step) {
                (None, None) => {}
                (Some(begin), _) => write!(f, "{begin}, ")?,
                (None, Some(_)) => f.write_str("0, ")?,
            }
            end.fmt(f)?;
            if let Some(step) = step {
                write!(f, ", {step}")?;
            }
            f.write_str("):")?;
            write_body(f, body, depth + 1)
        }
        StatementKind::While { condition, body } => {
            write!(f, "while {condition}:")?;
            write_body(f, body, depth + 1)
        }
        StatementKind::Pass => f.write_str("pass"),
    }
}
