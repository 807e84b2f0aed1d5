//! Positions in a document, for messages.

use std::fmt;
use std::sync::Arc;

/// A path from the root of a document, made while it is walked: each step borrows the one before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'p> {
    parent: Option<&'p Place<'p>>,
    step: PathStep<'p>,
}

#[derive(Clone, Copy, Debug)]
enum PathStep<'p> {
    Name(&'p str),
    Index(&'p str, usize),
}

impl<'p> Place<'p> {
    /// The root, by the name of the program.
    pub(crate) fn root(name: &'p str) -> Self {
        Place { parent: None, step: PathStep::Name(name) }
    }

    /// A named part.
    pub(crate) fn at<'q>(&'q self, name: &'q str) -> Place<'q> {
        Place { parent: Some(self), step: PathStep::Name(name) }
    }

    /// An entry of a list.
    pub(crate) fn entry<'q>(&'q self, list: &'q str, index: usize) -> Place<'q> {
        Place { parent: Some(self), step: PathStep::Index(list, index) }
    }
}

/// The steps joined by slashes: `gemm/nodes[0]/edges[3]/subset`.
impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Documents are at most 128 levels deep, so the list is short.
        let mut steps = Vec::new();
        let mut place = Some(self);
        while let Some(found) = place {
            steps.push(found.step);
            place = found.parent;
        }
        for (index, step) in steps.iter().rev().enumerate() {
            if index > 0 {
                f.write_str("/")?;
            }
            match step {
                PathStep::Name(name) => f.write_str(name)?,
                PathStep::Index(list, index) => write!(f, "{list}[{index}]")?,
            }
        }
        Ok(())
    }
}

/// The place of something that outlives the walk through the document. Of the many in one list, each is a number until a
/// message needs it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Path {
    owner: Arc<str>,
    entry: Option<(&'static str, usize)>,
}

impl Path {
    /// An entry of a list of what stands at `owner`.
    pub(crate) fn entry(owner: &Arc<str>, list: &'static str, index: usize) -> Path {
        Path { owner: Arc::clone(owner), entry: Some((list, index)) }
    }
}

impl From<&str> for Path {
    fn from(path: &str) -> Path {
        Path { owner: Arc::from(path), entry: None }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.owner)?;
        match self.entry {
            Some((list, index)) => write!(f, "/{list}[{index}]"),
            None => Ok(()),
        }
    }
}
