//! Conflict resolutions: each is defined for some element types.

use super::site::{Findings, Site};
use crate::diagnostic::Code;
use crate::dtype::{ElementType, ScalarKind};
use crate::ir::{ConflictResolution, EdgeId};

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
    let kind = element.lane().kind();
    let name = resolution.name();
    let defined = match resolution {
        ConflictResolution::Sum | ConflictResolution::Product => kind != ScalarKind::Bool,
        ConflictResolution::Min | ConflictResolution::Max => kind != ScalarKind::Complex,
        ConflictResolution::And
        | ConflictResolution::Or
        | ConflictResolution::Xor
        | ConflictResolution::BitAnd
        | ConflictResolution::BitOr
        | ConflictResolution::BitXor => kind <= ScalarKind::Signed,
        ConflictResolution::MinLocation | ConflictResolution::MaxLocation => {
            if element.lanes() != 2 {
                return Some(format!(
                    "`{name}` needs elements of two lanes, a value and its index; these are {element}"
                ));
            }
            kind != ScalarKind::Complex
        }
        ConflictResolution::Replace => true,
        ConflictResolution::Custom(function) => {
            let count = function.parameters.len();
            return (count != 2).then(|| {
                format!("a resolution is a function of the old and the new value, this takes {count}")
            });
        }
    };
    (!defined).then(|| format!("`{name}` is not defined for elements of {element}"))
}
