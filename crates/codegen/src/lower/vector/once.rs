//! Check that an iteration accesses a buffer at most once.

use sdfg::tasklet::{TypedCode, TypedExpression, TypedExpressionKind, TypedStatement};

use super::copied;
use crate::plan::{Binding, BufferId, Statement};

/// Whether an iteration touches a buffer at one place of the program only, and there with one store at most: what lanes write is then in
/// the order of iterations.
pub(super) fn accesses_once(body: &[Statement], buffer: BufferId) -> bool {
    fn count(body: &[Statement], buffer: BufferId) -> usize {
        let of = |statement: &Statement| {
            if let Statement::Compute(compute) = statement {
                let bindings = compute.bindings.iter().enumerate();
                return bindings
                    .map(|(connector, binding)| match binding {
                        Binding::Load(location) | Binding::Push(location) => {
                            usize::from(location.buffer == buffer)
                        }
                        Binding::Store { to, .. } => usize::from(to.buffer == buffer),
                        Binding::View(part) | Binding::Length(part) => {
                            2 * usize::from(part.origin.buffer == buffer)
                        }
                        Binding::ViewMut { to, .. } if to.origin.buffer == buffer => {
                            uses(&compute.code, connector)
                        }
                        Binding::ViewMut { .. } => 0,
                    })
                    .sum();
            }
            if let Statement::Copy(copy) = statement {
                let elements = copied(copy).map_or(2, |elements| elements.len());
                return elements
                    * (usize::from(copy.from.buffer == buffer) + usize::from(copy.to.buffer == buffer));
            }
            statement.bodies().into_iter().map(|body| count(body, buffer)).sum()
        };
        body.iter().map(of).sum()
    }
    count(body, buffer) <= 1
}

/// Number of stores through a pointer, counting each load through it twice.
fn uses(code: &TypedCode, connector: usize) -> usize {
    fn expression(e: &TypedExpression, connector: usize) -> usize {
        let loads =
            matches!(&e.kind, TypedExpressionKind::Load { connector: id, .. } if id.index() == connector);
        2 * usize::from(loads)
            + e.operands().into_iter().map(|operand| expression(operand, connector)).sum::<usize>()
    }
    fn statements(body: &[TypedStatement], connector: usize) -> usize {
        let of = |statement: &TypedStatement| match statement {
            TypedStatement::Local { value, .. }
            | TypedStatement::Output { value, .. }
            | TypedStatement::Push { value, .. } => expression(value, connector),
            TypedStatement::Store { connector: id, indices, value } => {
                let operands = indices.iter().chain([value]).map(|e| expression(e, connector));
                usize::from(id.index() == connector) + operands.sum::<usize>()
            }
            TypedStatement::If { condition, then, otherwise } => {
                expression(condition, connector)
                    + statements(then, connector)
                    + statements(otherwise, connector)
            }
            TypedStatement::For { begin, end, step, body, .. } => {
                let bounds = [begin, end, step].map(|bound| expression(bound, connector));
                bounds.into_iter().sum::<usize>() + 2 * statements(body, connector)
            }
            TypedStatement::While { condition, body } => {
                2 * (expression(condition, connector) + statements(body, connector))
            }
        };
        body.iter().map(of).sum()
    }
    statements(&code.body, connector)
}
