//! Snapshots, and atomic edits.

use sdfg_graph::ir::Sdfg;

/// An SDFG as it was at some time, to go back to.
///
/// States are shared with the SDFG until one of the two changes them, so a snapshot costs little more than the lists of
/// containers and blocks.
#[derive(Clone, Debug)]
pub struct Snapshot(Sdfg);

impl Snapshot {
    /// The SDFG as it is now.
    pub fn of(sdfg: &Sdfg) -> Self {
        Snapshot(sdfg.clone())
    }

    /// The SDFG as it was.
    pub fn sdfg(&self) -> &Sdfg {
        &self.0
    }

    /// Puts the SDFG back. Ids that were given out since then mean nothing afterwards.
    pub fn restore(&self, sdfg: &mut Sdfg) {
        *sdfg = self.0.clone();
    }
}

/// Makes several raw changes as one: if one of them is refused, none is made. Edits are made so by
/// [`Editor::attempt`](super::Editor::attempt).
///
/// # Errors
/// Those of `edits`; the SDFG is then as it was before.
pub(crate) fn atomically<T, E>(
    sdfg: &mut Sdfg,
    edits: impl FnOnce(&mut Sdfg) -> Result<T, E>,
) -> Result<T, E> {
    let before = Snapshot::of(sdfg);
    let result = edits(sdfg);
    if result.is_err() {
        *sdfg = before.0;
    }
    result
}
