//! Value outputs with several edges: each edge becomes a separate output, and all of them are assigned
//! together.
//!
//! Each edge therefore keeps its own conflict resolution. No edge moves data if the tasklet does not assign
//! the output.

use sdfg::dtype::ElementType;
use sdfg::tasklet::{ConnectorId, TypedCode, TypedExpressionKind, TypedStatement};

use super::scalar::typed;

/// Adds an output that is assigned whenever the value output `connector` is.
pub(super) fn add_output(code: &mut TypedCode, connector: ConnectorId) {
    let Some((name, found)) = code.environment.connector_at(connector) else { return };
    let element = found.element;
    let mut copy = format!("{name}.copy");
    while code.environment.connector(&copy).is_some() {
        copy.push('\'');
    }
    let copy = code.environment.output(copy, element);
    assign_too(&mut code.body, connector, copy, element);
}

fn assign_too(
    body: &mut Vec<TypedStatement>,
    connector: ConnectorId,
    copy: ConnectorId,
    element: ElementType,
) {
    let mut at = 0;
    while at < body.len() {
        match &mut body[at] {
            TypedStatement::Output { connector: assigned, .. } if *assigned == connector => {
                let value = typed(TypedExpressionKind::Output(connector), element);
                at += 1;
                body.insert(at, TypedStatement::Output { connector: copy, value });
            }
            TypedStatement::Output { .. }
            | TypedStatement::Local { .. }
            | TypedStatement::Store { .. }
            | TypedStatement::Push { .. } => {}
            TypedStatement::If { then, otherwise, .. } => {
                assign_too(then, connector, copy, element);
                assign_too(otherwise, connector, copy, element);
            }
            TypedStatement::For { body, .. } | TypedStatement::While { body, .. } => {
                assign_too(body, connector, copy, element);
            }
        }
        at += 1;
    }
}
