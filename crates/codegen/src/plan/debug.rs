//! Origins of statements, for debuggers and profilers.

/// The sources of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DebugInfo {
    /// The folder that names of files are relative to.
    pub folder: String,
    /// Where elements of the program were written; the first is the program itself.
    pub places: Vec<SourcePlace>,
}

/// A place of a [`DebugInfo`], by position in [`DebugInfo::places`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlaceId(pub(crate) u32);

impl PlaceId {
    /// The program itself.
    pub const PROGRAM: PlaceId = PlaceId(0);

    /// The position in [`DebugInfo::places`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where an element of the program was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePlace {
    /// What debuggers call it: the label of the element, or `A -> B` of an edge.
    pub label: String,
    /// The file.
    pub file: String,
    /// Line, from 1; 0 is unknown.
    pub line: u32,
    /// Column, from 1; 0 is unknown.
    pub column: u32,
}
