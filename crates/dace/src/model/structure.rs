//! Structures: containers whose members have names, and arrays of them.

use indexmap::IndexMap;
use sdfg::ir::{Lifetime, Storage};
use sdfg::symbolic::Expr;

use super::Descriptor;

/// A structure, or an array of structures.
#[derive(Clone, Debug)]
pub(crate) struct Structure {
    /// The name of its type, which is that of a `struct` in C++.
    pub(crate) name: String,
    pub(crate) members: IndexMap<String, Member>,
    /// Extents of an array of structures; none for a single structure.
    pub(crate) extents: Vec<Expr>,
    /// Whether edges of states bind it to another structure.
    pub(crate) is_view: bool,
    pub(crate) transient: bool,
    pub(crate) storage: Storage,
    pub(crate) lifetime: Lifetime,
}

/// The symbol with the most elements that a pointer in the elements of a container leads to.
pub(crate) fn capacity(container: &str, member: &str) -> String {
    format!("{container}_{member}_size")
}

/// A member of a structure.
#[derive(Clone, Debug)]
pub(crate) enum Member {
    /// A container of numbers.
    Data(Box<Descriptor>),
    /// A structure within the structure.
    Structure(Structure),
}

impl Structure {
    /// The member at the end of a path of names.
    pub(crate) fn member(&self, path: &[String]) -> Option<&Member> {
        let (first, rest) = path.split_first()?;
        let member = self.members.get(first)?;
        match (member, rest) {
            (member, []) => Some(member),
            (Member::Structure(inner), rest) => inner.member(rest),
            (Member::Data(_), _) => None,
        }
    }

    /// The paths of all members that hold numbers, in order of declaration.
    pub(crate) fn leaves(&self) -> Vec<Vec<String>> {
        let mut found = Vec::new();
        for (name, member) in &self.members {
            match member {
                Member::Data(_) => found.push(vec![name.clone()]),
                Member::Structure(inner) => {
                    found.extend(inner.leaves().into_iter().map(|mut path| {
                        path.insert(0, name.clone());
                        path
                    }));
                }
            }
        }
        found
    }
}

/// The structures of a program with the names of the containers that their members become.
#[derive(Clone, Debug, Default)]
pub(crate) struct Structures {
    pub(crate) all: IndexMap<String, Structure>,
    names: IndexMap<(String, Vec<String>), String>,
}

impl Structures {
    /// Names every member by rule: the structure and the names of the path joined by `_`, with further `_` at the end
    /// while the name is taken.
    pub(crate) fn new(all: IndexMap<String, Structure>, is_taken: impl Fn(&str) -> bool) -> Self {
        let mut names: IndexMap<(String, Vec<String>), String> = IndexMap::new();
        let mut own = std::collections::BTreeSet::new();
        for (root, structure) in &all {
            for path in structure.leaves() {
                let mut name = format!("{root}_{}", path.join("_"));
                while is_taken(&name) || all.contains_key(&name) || own.contains(&name) {
                    name.push('_');
                }
                own.insert(name.clone());
                names.insert((root.clone(), path), name);
            }
        }
        Structures { all, names }
    }

    /// The container that a member becomes.
    pub(crate) fn name(&self, root: &str, path: &[String]) -> Option<&str> {
        self.names.get(&(root.to_owned(), path.to_vec())).map(String::as_str)
    }

    /// The structure and the path of the member that a name stands for.
    pub(crate) fn origin(&self, name: &str) -> Option<(&str, &[String])> {
        let found = self.names.iter().find(|(_, own)| own.as_str() == name);
        found.map(|((root, path), _)| (root.as_str(), path.as_slice()))
    }

    /// Every member that holds numbers: its structure, its path, and its container.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&str, &[String], &str)> {
        self.names.iter().map(|((root, path), name)| (root.as_str(), path.as_slice(), name.as_str()))
    }

    /// The container of a member: its own dimensions behind those of the arrays of structures around it.
    pub(crate) fn descriptor(&self, root: &str, path: &[String]) -> Option<Descriptor> {
        let mut structure = self.all.get(root)?;
        let (transient, storage, lifetime) = (structure.transient, structure.storage, structure.lifetime);
        let mut outer = structure.extents.clone();
        let (last, inner) = path.split_last()?;
        for name in inner {
            let Member::Structure(next) = structure.members.get(name)? else { return None };
            outer.extend(next.extents.iter().cloned());
            structure = next;
        }
        let Member::Data(data) = structure.members.get(last)? else { return None };
        let mut found = Descriptor { transient, storage, lifetime, ..(**data).clone() };
        if outer.is_empty() {
            return Some(found);
        }
        let mut stride = found.total_size.clone();
        let mut strides = Vec::new();
        for extent in outer.iter().rev() {
            strides.insert(0, stride.clone());
            stride = &stride * extent;
        }
        found.total_size = stride;
        if found.kind == super::DescriptorKind::Scalar {
            found.kind = super::DescriptorKind::Array;
            found.shape.clear();
            found.strides.clear();
            found.offset.clear();
        }
        found.shape.splice(0..0, outer.iter().cloned());
        found.strides.splice(0..0, strides);
        found.offset.splice(0..0, outer.iter().map(|_| Expr::zero()));
        Some(found)
    }
}
