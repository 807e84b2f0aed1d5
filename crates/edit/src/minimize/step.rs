//! Steps: single simplifications at some place among the nested SDFGs of a program.

use sdfg_graph::ir::draft::{DraftSdfg, DraftState};
use sdfg_graph::ir::{NodeId, NodeKind, Sdfg, StateId};
use sdfg_graph::propagate::propagate;

use crate::edit::{EditError, Editor};

/// The calls that lead from the outermost SDFG to one that is nested in it.
pub(super) type NestingPath = Vec<(StateId, NodeId)>;

/// A simplification of one SDFG, not of those nested in it. It may leave a wrong graph.
pub(super) struct Change {
    what: String,
    apply: Apply,
}

/// Gives `None` where the change has become impossible.
type Apply = Box<dyn Fn(&mut Sdfg) -> Option<()>>;

impl Change {
    /// A change with words for people: what is done to what.
    pub(super) fn new(what: impl Into<String>, apply: impl Fn(&mut Sdfg) -> Option<()> + 'static) -> Self {
        Change { what: what.into(), apply: Box::new(apply) }
    }
}

/// Makes edits; `None` if one of them is refused. What comes of them need not be valid.
pub(super) fn edited<T>(
    sdfg: &mut Sdfg,
    edits: impl FnOnce(&mut Editor<'_>) -> Result<T, EditError>,
) -> Option<T> {
    let mut editor = Editor::of_draft(sdfg);
    let made = edits(&mut editor).ok()?;
    editor.commit().ok()?;
    Some(made)
}

/// A change at its place.
pub(super) struct Simplification {
    place: NestingPath,
    change: Change,
}

impl Simplification {
    /// Simplification and its place.
    pub(super) fn what(&self) -> &str {
        &self.change.what
    }

    /// Changes the program, and derives its memlets anew; `None` if there is nothing to change any more.
    pub(super) fn apply(&self, program: &Sdfg) -> Option<Sdfg> {
        let mut changed = program.clone();
        (self.change.apply)(at(&mut changed, &self.place)?)?;
        propagate(&mut changed);
        Some(changed)
    }
}

/// The steps of a kind, those of outer SDFGs first.
pub(super) fn steps(program: &Sdfg, changes: fn(&Sdfg) -> Vec<Change>) -> Vec<Simplification> {
    let mut steps = Vec::new();
    for (place, sdfg) in places(program) {
        steps.extend(changes(sdfg).into_iter().map(|change| Simplification { place: place.clone(), change }));
    }
    steps
}

/// All SDFGs of a program, outer ones first.
pub(super) fn places(program: &Sdfg) -> Vec<(NestingPath, &Sdfg)> {
    let mut found = vec![(NestingPath::new(), program)];
    let mut next = 0;
    while let Some((place, sdfg)) = found.get(next).cloned() {
        for (state, graph) in sdfg.states() {
            for (node, content) in graph.nodes() {
                if let NodeKind::Nested(nested) = &content.kind {
                    let mut inner = place.clone();
                    inner.push((state, node));
                    found.push((inner, &nested.sdfg));
                }
            }
        }
        next += 1;
    }
    found
}

fn at<'a>(program: &'a mut Sdfg, place: &NestingPath) -> Option<&'a mut Sdfg> {
    let mut here = program;
    for (state, node) in place {
        here.get_state(*state)?.get_node(*node)?;
        let NodeKind::Nested(nested) = &mut here.state_mut(*state).node_mut(*node).kind else { return None };
        here = &mut nested.sdfg;
    }
    Some(here)
}
