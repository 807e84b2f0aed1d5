//! Resolution of paths: from names to ids.

use super::parse::dotted;
use super::place::{ElementPlace, each_element};
use super::similar::nearest;
use super::{ConnectorName, Element, ElementPath, End};
use crate::ir::Sdfg;

/// Why a path names no element of a program, or not one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnresolvedPath {
    /// Nothing has this path.
    #[error("the program `{program}` has no `{path}`{}", did_you_mean(.similar))]
    Unknown {
        /// The path.
        path: Box<ElementPath>,
        /// The program.
        program: String,
        /// Paths of elements that were perhaps meant, the nearest first.
        similar: Vec<ElementPath>,
    },
    /// Several elements end like this.
    #[error("`{path}` may be {}: write more of the path", listed(.candidates))]
    Ambiguous {
        /// The path.
        path: Box<ElementPath>,
        /// The paths of the elements, in the order of the program.
        candidates: Vec<ElementPath>,
    },
}

/// Maximum number of paths in a message.
const LISTED: usize = 5;

fn did_you_mean(similar: &[ElementPath]) -> String {
    if similar.is_empty() { String::new() } else { format!("; did you mean {}?", listed(similar)) }
}

/// `a`, `b` or `c`.
fn listed(paths: &[ElementPath]) -> String {
    let mut shown: Vec<String> = paths.iter().take(LISTED).map(|path| format!("`{path}`")).collect();
    let last = match paths.len().saturating_sub(LISTED) {
        0 => shown.pop().unwrap_or_default(),
        more => format!("{more} more"),
    };
    if shown.is_empty() { last } else { format!("{} or {last}", shown.join(", ")) }
}

/// Every element of a program with its path, to resolve many paths in one program.
#[derive(Clone, Debug)]
pub struct Paths {
    program: String,
    all: Vec<(ElementPlace, ElementPath)>,
}

impl Paths {
    /// The paths of a program.
    pub fn of(root: &Sdfg) -> Self {
        let mut all = Vec::new();
        each_element(root, &mut |place, path| all.push((place, path)));
        Paths { program: root.name.clone(), all }
    }

    /// Every element with its whole path, from the outside in: of each SDFG its symbols, containers, blocks and
    /// transitions, then of each state its nodes with their connectors, the elements of what they call, and its edges.
    pub fn iter(&self) -> impl Iterator<Item = (&ElementPlace, &ElementPath)> {
        self.all.iter().map(|(place, path)| (place, path))
    }

    /// The element that a path means: that which has this path, or the only one whose path ends so.
    ///
    /// A name without a word in front is that of a block or node; only where there is none, that of a container or
    /// symbol. `gemm.tile0` is a connector of `gemm`; only where there is none, the node of this label.
    ///
    /// # Errors
    /// If there is no such element, or more than one.
    pub fn resolve(&self, path: &ElementPath) -> Result<ElementPlace, UnresolvedPath> {
        match self.candidates(path)[..] {
            [(place, _)] => Ok(place.clone()),
            [] => Err(UnresolvedPath::Unknown {
                path: Box::new(path.clone()),
                program: self.program.clone(),
                similar: self.similar(path),
            }),
            ref several => Err(UnresolvedPath::Ambiguous {
                path: Box::new(path.clone()),
                candidates: several.iter().map(|(_, path)| (*path).clone()).collect(),
            }),
        }
    }

    /// The elements that a path may mean, in the order of the program.
    fn candidates(&self, path: &ElementPath) -> Vec<(&ElementPlace, &ElementPath)> {
        // A path that begins at the program is what it says, also if another one ends so.
        let whole: Vec<_> = self.iter().filter(|(_, other)| *other == path).collect();
        if !whole.is_empty() {
            return whole;
        }
        let ends =
            |end: &ElementPath| self.iter().filter(|(_, other)| other.ends_with(end)).collect::<Vec<_>>();
        let found = ends(path);
        if !found.is_empty() {
            return found;
        }
        if let Element::Node(End { node, connector: Some(last @ ConnectorName::Plain(_)) }) = &path.element {
            let labels = path.labels.iter().cloned().chain([dotted(node, last)]).collect();
            return ends(&ElementPath { labels, element: Element::Scope });
        }
        let (Element::Scope, Some((name, labels))) = (&path.element, path.labels.split_last()) else {
            return found;
        };
        let elements = [Element::Container(name.clone()), Element::Symbol(name.clone())];
        elements
            .into_iter()
            .flat_map(|element| ends(&ElementPath { labels: labels.to_vec(), element }))
            .collect()
    }

    /// The shortest path that names an element and no other: the whole one, or as much of its end as is needed; `None` if
    /// the element is not in this program.
    pub fn anchor(&self, place: &ElementPlace) -> Option<ElementPath> {
        let (_, whole) = self.iter().find(|(other, _)| *other == place)?;
        let least = usize::from(matches!(whole.element, Element::Scope));
        let mut shorter = (least..whole.labels.len()).map(|length| ElementPath {
            labels: whole.labels[whole.labels.len() - length..].to_vec(),
            element: whole.element.clone(),
        });
        let names_this =
            |path: &ElementPath| matches!(self.candidates(path)[..], [(found, _)] if found == place);
        Some(shorter.find(names_this).unwrap_or_else(|| whole.clone()))
    }

    /// Elements that were perhaps meant: of the same name elsewhere, else those whose paths are nearest.
    fn similar(&self, path: &ElementPath) -> Vec<ElementPath> {
        let is_label = path.element == Element::Scope;
        let same_name = |other: &&ElementPath| {
            path.element == other.element && (!is_label || path.labels.last() == other.labels.last())
        };
        let elsewhere: Vec<ElementPath> =
            self.iter().map(|(_, other)| other).filter(same_name).cloned().collect();
        if !elsewhere.is_empty() {
            return elsewhere;
        }
        // As many labels as were written are compared, from the end.
        let ending = |other: &ElementPath| {
            let skipped = other.labels.len().saturating_sub(path.labels.len());
            let labels = other.labels.iter().skip(skipped).cloned().collect();
            ElementPath { labels, element: other.element.clone() }.to_string()
        };
        let endings: Vec<String> = self.iter().map(|(_, other)| ending(other)).collect();
        let near = nearest(&path.to_string(), endings.iter().map(String::as_str), LISTED);
        near.into_iter().filter_map(|at| self.all.get(at)).map(|(_, other)| other.clone()).collect()
    }
}

impl ElementPlace {
    /// The shortest path that names the element and no other in a program; see [`Paths::anchor`].
    pub fn anchor(&self, root: &Sdfg) -> Option<ElementPath> {
        Paths::of(root).anchor(self)
    }
}

impl ElementPath {
    /// The element of a program that the path means; see [`Paths::resolve`].
    ///
    /// # Errors
    /// If there is no such element, or more than one.
    pub fn resolve(&self, root: &Sdfg) -> Result<ElementPlace, UnresolvedPath> {
        Paths::of(root).resolve(self)
    }

    fn ends_with(&self, end: &ElementPath) -> bool {
        self.element == end.element && self.labels.ends_with(&end.labels)
    }
}
