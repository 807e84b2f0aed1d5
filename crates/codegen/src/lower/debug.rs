//! Source locations: the element of the graph that each statement comes from, if debug information is
//! requested.

use sdfg::ir::{Edge, Sdfg, SourceLoc, State};

use super::Lowering;
use crate::plan::{DebugInfo, PlaceId, SourcePlace, Statement};

impl Lowering<'_> {
    /// Statements with the place of the element that they come from; one without a place has that of what is around it.
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
        let place = PlaceId(debug.places.len() as u32);
        debug.places.push(place_of(loc, label));
        vec![Statement::Located { place, body }]
    }
}

/// The sources of a program, of which nothing is known yet but the program itself.
pub(super) fn debug_info(sdfg: &Sdfg, folder: &str) -> DebugInfo {
    let unknown = SourcePlace { label: sdfg.name.clone(), file: sdfg.name.clone(), line: 0, column: 0 };
    let program = sdfg.loc.as_ref().map_or(unknown, |loc| place_of(loc, &sdfg.name));
    DebugInfo { folder: folder.to_owned(), places: vec![program] }
}

fn place_of(loc: &SourceLoc, label: &str) -> SourcePlace {
    SourcePlace { label: label.to_owned(), file: loc.file.to_string(), line: loc.line, column: loc.column }
}

/// `A -> B`.
pub(super) fn edge_label(state: &State, edge: &Edge) -> String {
    format!("{} -> {}", state.node(edge.src).label, state.node(edge.dst).label)
}
