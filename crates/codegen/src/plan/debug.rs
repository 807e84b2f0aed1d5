//! Origins of statements, for debuggers and profilers.

/// The sources of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DebugInfo {
    /// The folder that names of files are relative to.
    pub folder: String,
    /// Source locations of elements of the program; the first is the program itself.
    pub locations: Vec<SourceLocation>,
}

/// A location of a [`DebugInfo`], by position in [`DebugInfo::locations`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceLocationId(pub(crate) u32);

impl SourceLocationId {
    /// The program itself.
    pub const PROGRAM: SourceLocationId = SourceLocationId(0);

    /// The position in [`DebugInfo::locations`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Source location of an element of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLocation {
    /// Its name in debuggers: the label of the element, or `A -> B` for an edge.
    pub label: String,
    /// The file.
    pub file: String,
    /// Line, from 1; 0 is unknown.
    pub line: u32,
    /// Column, from 1; 0 is unknown.
    pub column: u32,
}
