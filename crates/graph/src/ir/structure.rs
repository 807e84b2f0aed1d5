//! Structures that callers pass in the place of arguments.
//!
//! A program has no structures: the members that it uses are arguments of their own. A front end whose
//! programs have them describes here the structure that their callers have in memory, so that interfaces can
//! take it.

use sdfg_language::dtype::ScalarType;

/// A structure in the memory of a caller, which passes its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallerStructure {
    /// The parameter that stands for the arguments.
    pub name: String,
    /// The type of the structure.
    pub ty: StructureType,
}

/// A type of structures, with the layout of a `struct` of C.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructureType {
    /// The name of the `struct`.
    pub name: String,
    /// All members in their order in memory, also those that the program does not use.
    pub members: Vec<StructureMember>,
}

/// A member of a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructureMember {
    /// The name.
    pub name: String,
    /// The type, and the argument.
    pub kind: MemberKind,
}

/// The type of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberKind {
    /// A number in the structure.
    Number {
        /// Its type.
        ty: ScalarType,
        /// The argument that is this member; `None` if the program does not use it.
        argument: Option<String>,
    },
    /// A pointer to the elements of an array.
    Pointer {
        /// The type of an element.
        ty: ScalarType,
        /// The argument that is this member; `None` if the program does not use it.
        argument: Option<String>,
    },
    /// A pointer to a structure.
    Structure(StructureType),
    /// A pointer to memory that the description does not cover.
    Opaque,
}

impl StructureType {
    /// The types of all numbers and elements, in the order of the members.
    pub fn numbers(&self) -> Vec<ScalarType> {
        let mut found = Vec::new();
        for member in &self.members {
            match &member.kind {
                MemberKind::Number { ty, .. } | MemberKind::Pointer { ty, .. } => found.push(*ty),
                MemberKind::Structure(inner) => found.extend(inner.numbers()),
                MemberKind::Opaque => {}
            }
        }
        found
    }

    /// The arguments that are members, with their paths, in the order of the members.
    pub fn arguments(&self) -> Vec<(Vec<&str>, &str)> {
        let mut found = Vec::new();
        for member in &self.members {
            match &member.kind {
                MemberKind::Number { argument, .. } | MemberKind::Pointer { argument, .. } => {
                    found.extend(
                        argument.iter().map(|argument| (vec![member.name.as_str()], argument.as_str())),
                    );
                }
                MemberKind::Structure(inner) => {
                    found.extend(inner.arguments().into_iter().map(|(mut path, argument)| {
                        path.insert(0, &member.name);
                        (path, argument)
                    }));
                }
                MemberKind::Opaque => {}
            }
        }
        found
    }
}
