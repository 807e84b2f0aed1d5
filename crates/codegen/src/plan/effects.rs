//! Effects of typed code on its outputs: whether it assigns them, and what it pushes.

use sdfg::tasklet::{ConnectorId, TypedStatement};

use super::buffer::Location;
use super::compute::{Binding, Compute};

/// Whether code assigns a value output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assignment {
    /// On no path.
    Never,
    /// On some paths.
    Sometimes,
    /// On every path.
    Always,
}

/// The pushes in the text of a tasklet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pushes {
    /// The connector of each push, in the order of the text.
    pub connectors: Vec<ConnectorId>,
    /// Whether a loop may repeat one of them.
    pub in_loop: bool,
}

impl Assignment {
    /// Whether `statements` assign the output at position `connector`.
    pub fn of(statements: &[TypedStatement], connector: usize) -> Self {
        let mut found = Assignment::Never;
        for statement in statements {
            let here = match statement {
                TypedStatement::Output { connector: id, .. } if id.index() == connector => Assignment::Always,
                TypedStatement::Output { .. }
                | TypedStatement::Local { .. }
                | TypedStatement::Store { .. }
                | TypedStatement::Push { .. } => Assignment::Never,
                TypedStatement::If { then, otherwise, .. } => {
                    match (Assignment::of(then, connector), Assignment::of(otherwise, connector)) {
                        (Assignment::Always, Assignment::Always) => Assignment::Always,
                        (Assignment::Never, Assignment::Never) => Assignment::Never,
                        (
                            Assignment::Sometimes,
                            Assignment::Always | Assignment::Sometimes | Assignment::Never,
                        )
                        | (Assignment::Always, Assignment::Sometimes | Assignment::Never)
                        | (Assignment::Never, Assignment::Sometimes | Assignment::Always) => {
                            Assignment::Sometimes
                        }
                    }
                }
                TypedStatement::For { body, .. } | TypedStatement::While { body, .. } => {
                    match Assignment::of(body, connector) {
                        Assignment::Never => Assignment::Never,
                        Assignment::Sometimes | Assignment::Always => Assignment::Sometimes,
                    }
                }
            };
            match here {
                Assignment::Always => return Assignment::Always,
                Assignment::Sometimes => found = Assignment::Sometimes,
                Assignment::Never => {}
            }
        }
        found
    }
}

impl Compute {
    /// The pushes in its text.
    pub fn pushes(&self) -> Pushes {
        let mut pushes = Pushes::default();
        pushes.add(&self.code.body, false);
        pushes
    }
}

impl Pushes {
    fn add(&mut self, body: &[TypedStatement], is_repeated: bool) {
        for statement in body {
            match statement {
                TypedStatement::Push { connector, .. } => {
                    self.connectors.push(*connector);
                    self.in_loop |= is_repeated;
                }
                TypedStatement::If { then, otherwise, .. } => {
                    self.add(then, is_repeated);
                    self.add(otherwise, is_repeated);
                }
                TypedStatement::For { body, .. } | TypedStatement::While { body, .. } => self.add(body, true),
                TypedStatement::Local { .. }
                | TypedStatement::Output { .. }
                | TypedStatement::Store { .. } => {}
            }
        }
    }
}

impl Binding {
    /// The queue that the connector pushes to, if it pushes.
    pub fn pushed_queue(&self) -> Option<&Location> {
        match self {
            Binding::Push(queue) => Some(queue),
            Binding::Load(_)
            | Binding::Store { .. }
            | Binding::View(_)
            | Binding::ViewMut { .. }
            | Binding::Length(_) => None,
        }
    }
}
