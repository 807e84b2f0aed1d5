//! Source locations: the element of the graph that each statement comes from, if debug information is
//! requested.

use sdfg::ir::{Edge, Sdfg, SourceLoc, State};

use super::Lowering;
use crate::plan::{DebugInfo, SourceLocation, SourceLocationId, Statement};

impl Lowering<'_> {
    /// Statements with the location of the element that they come from; one without a location has that of what is around it.
    pub(super) fn located(
        &mut self,
        loc: Option<&SourceLoc>,
        label: &str,
        body: Vec<Statement>,
    ) -> Vec<Statement> {
        let (Some(debug), Some(loc)) = (&mut self.plan.debug, loc) else { return body };
        if body.is_empty() {
            return body;
        }
        let location = SourceLocationId(debug.locations.len() as u32);
        debug.locations.push(location_of(loc, label));
        vec![Statement::Located { location, body }]
    }
}

/// The sources of a program, of which nothing is known yet but the program itself.
pub(super) fn debug_info(sdfg: &Sdfg, folder: &str) -> DebugInfo {
    let unknown = SourceLocation { label: sdfg.name.clone(), file: sdfg.name.clone(), line: 0, column: 0 };
    let program = sdfg.loc.as_ref().map_or(unknown, |loc| location_of(loc, &sdfg.name));
    DebugInfo { folder: folder.to_owned(), locations: vec![program] }
}

fn location_of(loc: &SourceLoc, label: &str) -> SourceLocation {
    SourceLocation { label: label.to_owned(), file: loc.file.to_string(), line: loc.line, column: loc.column }
}

/// `A -> B`.
pub(super) fn edge_label(state: &State, edge: &Edge) -> String {
    format!("{} -> {}", state.node(edge.src).label, state.node(edge.dst).label)
}
