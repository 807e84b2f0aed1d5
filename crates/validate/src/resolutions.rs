//! Rule: conflict resolutions, each of which is defined for some element types.

use sdfg_graph::diagnostic::Code;
use sdfg_graph::ir::{ConflictResolution, EdgeId};
use sdfg_language::dtype::ElementType;
use sdfg_language::syntax::Lambda;
use sdfg_language::tasklet::{BinaryOperation, typecheck_function};

use super::site::{Findings, Site};

/// Checks the resolution of a write.
pub(super) fn check(site: &Site<'_>, id: EdgeId, findings: &mut Findings) {
    let memlet = &site.state.edge(id).memlet;
    let (Some(resolution), Some(access)) = (memlet.resolution(), memlet.write_access()) else { return };
    if access.is_queue() {
        let message = "a push adds an element, it does not meet an earlier one".to_owned();
        findings.push(site.edge_error(Code::StreamUse, id, message).suggest("leave the resolution out"));
        return;
    }
    let element = site.sdfg.container(access.container).element;
    if let Some(problem) = problem(resolution, element) {
        findings.push(site.edge_error(Code::ResolutionType, id, problem));
    }
}

/// Why a resolution is not defined for elements of a type.
pub(super) fn problem(resolution: &ConflictResolution, element: ElementType) -> Option<String> {
    let lane = element.lane();
    let name = resolution.name();
    let defined = match resolution {
        ConflictResolution::Sum => BinaryOperation::Add.is_defined_for(lane),
        ConflictResolution::Product => BinaryOperation::Multiply.is_defined_for(lane),
        ConflictResolution::Min => BinaryOperation::Minimum.is_defined_for(lane),
        ConflictResolution::Max => BinaryOperation::Maximum.is_defined_for(lane),
        ConflictResolution::BitAnd => BinaryOperation::BitAnd.is_defined_for(lane),
        ConflictResolution::BitOr => BinaryOperation::BitOr.is_defined_for(lane),
        ConflictResolution::BitXor => BinaryOperation::BitXor.is_defined_for(lane),
        ConflictResolution::And | ConflictResolution::Or | ConflictResolution::Xor => !lane.is_complex(),
        ConflictResolution::MinLocation | ConflictResolution::MaxLocation => {
            if element.lanes() != 2 {
                return Some(format!(
                    "`{name}` needs elements of two lanes, a value and its index; these are {element}"
                ));
            }
            !lane.is_complex()
        }
        ConflictResolution::Replace => true,
        ConflictResolution::Custom(function) => return custom(function, element),
    };
    (!defined).then(|| format!("`{name}` is not defined for elements of {element}"))
}

/// A custom resolution is a function of two elements that gives one.
fn custom(function: &Lambda, element: ElementType) -> Option<String> {
    if function.parameters.len() != 2 {
        let count = function.parameters.len();
        return Some(format!("a resolution is a function of the old and the new value, this takes {count}"));
    }
    match typecheck_function(function, element) {
        Err(errors) => errors.first().map(|error| format!("in the resolution `{}`: {error}", function.body)),
        Ok(typed) => {
            let found = typed.expression.ty;
            let fits = found.lanes() == element.lanes() || found.lanes() == 1;
            let converts = fits && (element.lane().is_complex() || !found.lane().is_complex());
            (!converts).then(|| {
                format!("the resolution `{}` gives {found}, the elements are {element}", function.body)
            })
        }
    }
}
