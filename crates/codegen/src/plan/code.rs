//! Typed code in the text of plans: names as in their environment, with every conversion written out.

use sdfg::dtype::ScalarType;
use sdfg::tasklet::{
    BinaryOperation, ConnectorId, Environment, Local, LocalId, TypedCode, TypedExpression,
    TypedExpressionCode, TypedExpressionKind, TypedStatement, UnaryOperation,
};

/// An expression.
pub(super) fn expression(code: &TypedExpressionCode) -> String {
    Names { environment: &code.environment, locals: &[] }.expression(&code.expression)
}

/// Statements of a tasklet, a line each, blocks indented by two spaces.
pub(super) fn statements(code: &TypedCode) -> Vec<String> {
    let mut lines = Vec::new();
    Names { environment: &code.environment, locals: &code.locals }.block(&code.body, 0, &mut lines);
    lines
}

/// Names of connectors, symbols and locals by their ids.
struct Names<'c> {
    environment: &'c Environment,
    locals: &'c [Local],
}

impl Names<'_> {
    fn block(&self, body: &[TypedStatement], depth: usize, lines: &mut Vec<String>) {
        for statement in body {
            self.statement(statement, depth, lines);
        }
    }

    fn statement(&self, statement: &TypedStatement, depth: usize, lines: &mut Vec<String>) {
        let line = |text: &str| format!("{:width$}{text}", "", width = 2 * depth);
        match statement {
            TypedStatement::Local { local, value } => {
                lines.push(line(&format!("{} = {}", self.local(*local), self.expression(value))));
            }
            TypedStatement::Output { connector, value } => {
                lines.push(line(&format!("{} = {}", self.connector(*connector), self.expression(value))));
            }
            TypedStatement::Store { connector, indices, value } => {
                let (to, value) = (self.indexed(*connector, indices), self.expression(value));
                lines.push(line(&format!("{to} = {value}")));
            }
            TypedStatement::Push { connector, value } => {
                let (value, to) = (self.expression(value), self.connector(*connector));
                lines.push(line(&format!("push {value} to {to}")));
            }
            TypedStatement::If { condition, then, otherwise } => {
                lines.push(line(&format!("if {} {{", self.expression(condition))));
                self.block(then, depth + 1, lines);
                if !otherwise.is_empty() {
                    lines.push(line("} else {"));
                    self.block(otherwise, depth + 1, lines);
                }
                lines.push(line("}"));
            }
            TypedStatement::For { local, begin, end, step, body } => {
                let [begin, end, step] = [begin, end, step].map(|bound| self.expression(bound));
                lines.push(line(&format!("for {} = {begin}:{end}:{step} {{", self.local(*local))));
                self.block(body, depth + 1, lines);
                lines.push(line("}"));
            }
            TypedStatement::While { condition, body } => {
                lines.push(line(&format!("while {} {{", self.expression(condition))));
                self.block(body, depth + 1, lines);
                lines.push(line("}"));
            }
        }
    }

    fn expression(&self, expression: &TypedExpression) -> String {
        match &expression.kind {
            TypedExpressionKind::Constant(value) => match expression.ty.as_scalar() {
                Some(ScalarType::Bool | ScalarType::I64 | ScalarType::F64 | ScalarType::Complex128) => {
                    value.to_string()
                }
                Some(_) | None => format!("{}({value})", expression.ty),
            },
            TypedExpressionKind::Local(local) => self.local(*local).to_owned(),
            TypedExpressionKind::Symbol(symbol) => {
                self.environment.symbol_at(*symbol).map_or("?", |(name, _)| name).to_owned()
            }
            TypedExpressionKind::Input(connector) | TypedExpressionKind::Output(connector) => {
                self.connector(*connector).to_owned()
            }
            TypedExpressionKind::Load { connector, indices } => self.indexed(*connector, indices),
            TypedExpressionKind::Length { connector, indices } => {
                format!("len({})", self.indexed(*connector, indices))
            }
            TypedExpressionKind::Cast(operand) => format!("{}({})", expression.ty, self.expression(operand)),
            TypedExpressionKind::Splat(operand) => call("splat", [self.expression(operand)]),
            TypedExpressionKind::Lanes(lanes) => format!("[{}]", self.list(lanes)),
            TypedExpressionKind::Lane { operand, lane } => {
                call("lane", [self.expression(operand), lane.to_string()])
            }
            TypedExpressionKind::Unary { op, operand } => {
                let sign = match op {
                    UnaryOperation::Negate => "-",
                    UnaryOperation::Not => "not ",
                    UnaryOperation::Invert => "~",
                };
                format!("{sign}{}", self.operand(operand))
            }
            TypedExpressionKind::Binary { op, left, right } => self.binary(*op, left, right),
            TypedExpressionKind::Power { base, exponent } => format!("{}**{exponent}", self.operand(base)),
            TypedExpressionKind::Compare { op, left, right } => self.infix(op.text(), left, right),
            TypedExpressionKind::And(left, right) => self.infix("and", left, right),
            TypedExpressionKind::Or(left, right) => self.infix("or", left, right),
            TypedExpressionKind::Select { condition, then, otherwise } => {
                let [condition, then, otherwise] =
                    [condition, then, otherwise].map(|part| self.operand(part));
                format!("{then} if {condition} else {otherwise}")
            }
            TypedExpressionKind::Call { function, arguments } => {
                call(function.name(), [self.list(arguments)])
            }
        }
    }

    fn binary(&self, op: BinaryOperation, left: &TypedExpression, right: &TypedExpression) -> String {
        let sign = match op {
            BinaryOperation::Add => "+",
            BinaryOperation::Subtract => "-",
            BinaryOperation::Multiply => "*",
            BinaryOperation::Divide => "/",
            BinaryOperation::FloorDivide => "//",
            BinaryOperation::FloorModulo => "%",
            BinaryOperation::Power => "**",
            BinaryOperation::ShiftLeft => "<<",
            BinaryOperation::ShiftRight => ">>",
            BinaryOperation::BitAnd => "&",
            BinaryOperation::BitOr => "|",
            BinaryOperation::BitXor => "^",
            BinaryOperation::TruncateDivide => return self.named("truncate_divide", left, right),
            BinaryOperation::TruncateModulo => return self.named("truncate_modulo", left, right),
            BinaryOperation::Minimum => return self.named("min", left, right),
            BinaryOperation::Maximum => return self.named("max", left, right),
        };
        self.infix(sign, left, right)
    }

    fn named(&self, name: &str, left: &TypedExpression, right: &TypedExpression) -> String {
        call(name, [self.expression(left), self.expression(right)])
    }

    fn infix(&self, sign: &str, left: &TypedExpression, right: &TypedExpression) -> String {
        format!("{} {sign} {}", self.operand(left), self.operand(right))
    }

    /// An expression that is part of another one: in parentheses, unless it has an end of its own.
    fn operand(&self, expression: &TypedExpression) -> String {
        let text = self.expression(expression);
        match expression.kind {
            TypedExpressionKind::Unary { .. }
            | TypedExpressionKind::Power { .. }
            | TypedExpressionKind::Compare { .. }
            | TypedExpressionKind::And(..)
            | TypedExpressionKind::Or(..)
            | TypedExpressionKind::Select { .. } => format!("({text})"),
            TypedExpressionKind::Binary { op, .. } => match op {
                BinaryOperation::TruncateDivide
                | BinaryOperation::TruncateModulo
                | BinaryOperation::Minimum
                | BinaryOperation::Maximum => text,
                BinaryOperation::Add
                | BinaryOperation::Subtract
                | BinaryOperation::Multiply
                | BinaryOperation::Divide
                | BinaryOperation::FloorDivide
                | BinaryOperation::FloorModulo
                | BinaryOperation::Power
                | BinaryOperation::ShiftLeft
                | BinaryOperation::ShiftRight
                | BinaryOperation::BitAnd
                | BinaryOperation::BitOr
                | BinaryOperation::BitXor => format!("({text})"),
            },
            TypedExpressionKind::Constant(_) if text.starts_with('-') => format!("({text})"),
            TypedExpressionKind::Constant(_)
            | TypedExpressionKind::Local(_)
            | TypedExpressionKind::Symbol(_)
            | TypedExpressionKind::Input(_)
            | TypedExpressionKind::Output(_)
            | TypedExpressionKind::Load { .. }
            | TypedExpressionKind::Length { .. }
            | TypedExpressionKind::Cast(_)
            | TypedExpressionKind::Splat(_)
            | TypedExpressionKind::Lanes(_)
            | TypedExpressionKind::Lane { .. }
            | TypedExpressionKind::Call { .. } => text,
        }
    }

    fn list(&self, expressions: &[TypedExpression]) -> String {
        let texts: Vec<String> = expressions.iter().map(|each| self.expression(each)).collect();
        texts.join(", ")
    }

    fn indexed(&self, connector: ConnectorId, indices: &[TypedExpression]) -> String {
        let name = self.connector(connector);
        if indices.is_empty() { name.to_owned() } else { format!("{name}[{}]", self.list(indices)) }
    }

    fn connector(&self, id: ConnectorId) -> &str {
        self.environment.connector_at(id).map_or("?", |(name, _)| name)
    }

    fn local(&self, id: LocalId) -> &str {
        self.locals.get(id.index()).map_or("?", |local| &local.name)
    }
}

fn call(name: &str, arguments: impl IntoIterator<Item = String>) -> String {
    let arguments: Vec<String> = arguments.into_iter().collect();
    format!("{name}({})", arguments.join(", "))
}
