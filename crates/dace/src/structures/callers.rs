//! Structures as callers of DaCe's code have them in memory.
//!
//! DaCe passes a structure as a pointer to a `struct` with all members in their order: numbers lie in it, and
//! arrays and inner structures are pointers.

use sdfg::ir::structure::{CallerStructure, MemberKind, StructureMember, StructureType};

use super::Passed;
use crate::model::{DescriptorKind, Member, Structure, Structures};

/// The structures that give a program arguments, as far as their layout is known.
pub(crate) fn of_callers(structures: &Structures, passed: &[Passed]) -> Vec<CallerStructure> {
    let is_passed = |root: &str| passed.iter().any(|found| found.root == root);
    let arguments = structures.all.iter().filter(|(root, found)| found.extents.is_empty() && is_passed(root));
    let callers = arguments.filter_map(|(root, structure)| {
        let own: Vec<&Passed> = passed.iter().filter(|found| found.root == *root).collect();
        let ty = structure_type(structure, &mut Vec::new(), &own)?;
        // Members of arrays of structures are no arrays in the caller's memory.
        (ty.arguments().len() == own.len()).then(|| CallerStructure { name: root.clone(), ty })
    });
    callers.collect()
}

/// The type; `None` if a number in it has no type of C.
fn structure_type(
    structure: &Structure,
    path: &mut Vec<String>,
    passed: &[&Passed],
) -> Option<StructureType> {
    let mut members = Vec::new();
    for (name, member) in &structure.members {
        path.push(name.clone());
        let argument = passed.iter().find(|found| found.path == *path).map(|found| found.name.clone());
        let kind = match member {
            Member::Structure(inner) if inner.extents.is_empty() => {
                MemberKind::Structure(structure_type(inner, path, passed)?)
            }
            Member::Structure(_) => MemberKind::Opaque,
            Member::Data(data) => {
                let is_plain = data.dtype.fields.is_none() && data.dtype.element.lanes() == 1;
                let ty = data.dtype.element.lane();
                match data.kind {
                    DescriptorKind::Scalar if !data.by_reference => {
                        is_plain.then_some(MemberKind::Number { ty, argument })?
                    }
                    DescriptorKind::Scalar | DescriptorKind::Array if is_plain => {
                        MemberKind::Pointer { ty, argument }
                    }
                    DescriptorKind::Scalar
                    | DescriptorKind::Array
                    | DescriptorKind::Stream
                    | DescriptorKind::View
                    | DescriptorKind::Reference => MemberKind::Opaque,
                }
            }
        };
        path.pop();
        members.push(StructureMember { name: name.clone(), kind });
    }
    Some(StructureType { name: structure.name.clone(), members })
}
