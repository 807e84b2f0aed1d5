//! Places in structures: the structure that a node or a view of a structure shows.

use sdfg::subset::{Range, Subset};
use sdfg::symbolic::Expr;

use crate::model::{Member, Structure, Structures};

/// A structure, an array of structures or one of its elements, within a structure that is no view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The structure of the program.
    pub(crate) root: String,
    /// The names of the path to the structure within.
    pub(crate) path: Vec<String>,
    /// Indices of the arrays of structures on the way.
    pub(crate) indices: Vec<Expr>,
    /// Whether it is one structure; otherwise an array of structures.
    pub(crate) is_single: bool,
}

/// What a memlet names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A structure or an array of structures.
    Structure(Place),
    /// A member that holds numbers: the indices of the arrays of structures around it come before those of the memlet.
    Leaf { root: String, path: Vec<String>, indices: Vec<Expr> },
}

impl Place {
    /// All of a structure of the program.
    pub(crate) fn of(root: &str, structure: &Structure) -> Self {
        let is_single = structure.extents.is_empty();
        Place { root: root.to_owned(), path: Vec::new(), indices: Vec::new(), is_single }
    }

    /// Whether one of both structures is, or holds, the other.
    pub(crate) fn holds_or_is_held(&self, other: &Place) -> bool {
        let path = self.path.iter().zip(&other.path).all(|(one, other)| one == other);
        self.root == other.root
            && path
            && self.indices.iter().zip(&other.indices).all(|(one, other)| one == other)
    }

    /// The type of the structure at the place.
    pub(crate) fn structure<'s>(&self, structures: &'s Structures) -> Option<&'s Structure> {
        let root = structures.all.get(&self.root)?;
        if self.path.is_empty() {
            return Some(root);
        }
        match root.member(&self.path)? {
            Member::Structure(found) => Some(found),
            Member::Data(_) => None,
        }
    }

    /// The target of a memlet that names a path of members below this place, with a subset of the last one.
    ///
    /// # Errors
    /// The reason why it has none.
    pub(crate) fn member(
        &self,
        names: &[&str],
        subset: Option<&Subset>,
        structures: &Structures,
    ) -> Result<Target, &'static str> {
        let mut place = self.clone();
        let Some((last, inner)) = names.split_last() else {
            return place.element(subset, structures).map(Target::Structure);
        };
        for name in inner {
            place = place.step(name, structures)?;
        }
        let structure = place.structure(structures).ok_or("the structure has no such member")?;
        match structure.members.get(*last).ok_or("the structure has no such member")? {
            Member::Structure(_) => {
                place.step(last, structures)?.element(subset, structures).map(Target::Structure)
            }
            Member::Data(_) if place.is_single => {
                place.path.push((*last).to_owned());
                Ok(Target::Leaf { root: place.root, path: place.path, indices: place.indices })
            }
            Member::Data(_) => Err("it names a member of all elements of an array of structures"),
        }
    }

    fn step(mut self, name: &str, structures: &Structures) -> Result<Place, &'static str> {
        if !self.is_single {
            return Err("it names a member of all elements of an array of structures");
        }
        let structure = self.structure(structures).ok_or("the structure has no such member")?;
        let Some(Member::Structure(inner)) = structure.members.get(name) else {
            return Err("the structure has no such member");
        };
        self.path.push(name.to_owned());
        self.is_single = inner.extents.is_empty();
        Ok(self)
    }

    /// The part of the place that a subset selects: an element of an array of structures, or all of it.
    fn element(mut self, subset: Option<&Subset>, structures: &Structures) -> Result<Place, &'static str> {
        let extents = self.structure(structures).map_or(&[][..], |found| found.extents.as_slice());
        let (false, Some(subset)) = (self.is_single, subset) else { return Ok(self) };
        if subset.0.iter().zip(extents).all(|(range, extent)| range.size() == *extent) {
            return Ok(self);
        }
        if subset.rank() != extents.len() || !subset.0.iter().all(|range| range.size().is_one()) {
            return Err("it is no single element of the array of structures");
        }
        self.indices.extend(subset.0.iter().map(|range| range.begin.clone()));
        self.is_single = true;
        Ok(self)
    }
}

/// A subset of a member behind the indices of the arrays of structures around it.
pub(crate) fn behind(indices: &[Expr], subset: Subset) -> Subset {
    indices.iter().map(|index| Range::index(index.clone())).chain(subset.0).collect()
}
