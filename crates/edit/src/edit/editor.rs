//! The editor: an atomic series of edits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sdfg_graph::diagnostic::Severity;
use sdfg_graph::ir::draft::{DraftSdfg, DraftState};
use sdfg_graph::ir::{Memlet, NodeId, NodeKind, Revision, Sdfg, State, StateId};
use sdfg_graph::workspace::{Part, Sizes, UndoSdfg, UndoState};
use sdfg_language::symbolic::with_proof_cache;

use super::index::Index;
use super::journal::{Entry, Path, Undo};
use super::pending::Pending;
use super::{Changes, EditError, contract};

/// A program in the course of a series of edits.
///
/// An editor borrows a program and changes it in place. Ids stay what they are: a redirected edge keeps its id, and no edit
/// gives an id out again. [`commit`](Editor::commit) ends the series: it derives outer memlets anew where something
/// changed, checks what edits promise, and reports the changes. An editor that is dropped without it puts everything back.
///
/// Between edits of a series the memlets outside of scopes may be those of before. [`propagate_pending`](Editor::propagate_pending) derives them
/// earlier.
///
/// ```
/// use std::collections::BTreeSet;
/// # mod sdfg { pub use sdfg_edit::edit; pub use sdfg_graph::{ir, text}; pub use sdfg_language::{subset, symbolic}; }
/// use sdfg::{edit::Editor, ir::Map, subset::{Range, Subset}, symbolic::Symbol, text};
///
/// let mut program = text::parse("double.sdft", "
/// sdfg double {
///   symbol N: i64
///   array A: f64[N]
///   state main {
///     access A
///     access B = A
///     map m [i = 0:N] {
///       tasklet t (x) -> (y) { y = 2 * x }
///       m.A -> t.x: A[i]
///       t.y -> m.A: A[i]
///     }
///     A -> m.A
///     m.A -> B
///   }
/// }").unwrap();
/// let state = program.states().next().unwrap().0;
///
/// let mut editor = Editor::new(&mut program);
/// let m = editor.find(state, "m").unwrap();
/// let once = Map::new(vec![Symbol::of("k")], Subset(vec![Range::new(0, 1)]));
/// let label = editor.derived_label(state, "m", "once")?;
/// editor.wrap_in_map(state, &BTreeSet::from([m]), &label, once)?;
/// let changes = editor.commit()?;
/// assert_eq!(changes.to_string().lines().next(), Some("added node double/main/\"m.once0\""));
/// # Ok::<(), sdfg::edit::EditError>(())
/// ```
#[derive(Debug)]
pub struct Editor<'p> {
    program: &'p mut Sdfg,
    /// The revision of the program when the series began.
    before: Revision,
    /// The calls that lead to the SDFG that edits are about.
    at: Path,
    log: Vec<Entry>,
    indices: BTreeMap<Path, BTreeMap<StateId, Index>>,
    /// Names that SDFGs use, while nothing has freed one.
    names: BTreeMap<Path, BTreeSet<String>>,
    pub(super) pending: Pending,
    /// Whether debug builds validate.
    validates: bool,
    is_done: bool,
}

impl<'p> Editor<'p> {
    /// Begins a series of edits.
    pub fn new(program: &'p mut Sdfg) -> Self {
        Editor::begin(program, true)
    }

    /// As [`new`](Editor::new), for a program that need not be valid after the series, such as one that is still being
    /// read: debug builds do not validate it either.
    pub fn of_draft(program: &'p mut Sdfg) -> Self {
        Editor::begin(program, false)
    }

    fn begin(program: &'p mut Sdfg, validates: bool) -> Self {
        Editor {
            before: program.revision(),
            program,
            at: Arc::new([]),
            log: Vec::new(),
            indices: BTreeMap::new(),
            names: BTreeMap::new(),
            pending: Pending::default(),
            validates,
            is_done: false,
        }
    }

    /// The SDFG that edits are about: the program, or inside of [`within`](Editor::within) the one that is called.
    pub fn sdfg(&self) -> &Sdfg {
        sdfg_at(self.program, &self.at).unwrap_or(self.program)
    }

    /// The program as a whole.
    pub fn program(&self) -> &Sdfg {
        self.program
    }

    /// A state of that SDFG.
    ///
    /// # Errors
    /// [`EditError::NoState`].
    pub fn state(&self, id: StateId) -> Result<&State, EditError> {
        self.sdfg().get_state(id).ok_or(EditError::NoState(id))
    }

    /// Edits the SDFG that a node calls. Memlets outside of the call follow what its contents access.
    ///
    /// # Errors
    /// Those of `edits`, [`EditError::NoState`], [`EditError::NoNode`], and [`EditError::WrongKind`] for other nodes.
    pub fn within<T, E: From<EditError>>(
        &mut self,
        state: StateId,
        node: NodeId,
        edits: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        let found = super::expect_node(self.state(state)?, node)?;
        if !matches!(found.kind, NodeKind::Nested(_)) {
            let (label, found) = (found.label.clone(), found.kind.noun());
            return Err(EditError::WrongKind { label, found, expected: "nested SDFGs" }.into());
        }
        let outer = self.at.clone();
        self.at = outer.iter().copied().chain([(state, node)]).collect();
        let result = edits(self);
        self.at = outer;
        result
    }

    /// Makes several edits as one: if one of them is refused, none is made. The series goes on in either case.
    ///
    /// # Errors
    /// Those of `edits`.
    pub fn attempt<T, E>(&mut self, edits: impl FnOnce(&mut Self) -> Result<T, E>) -> Result<T, E> {
        let (mark, at) = (self.log.len(), self.at.clone());
        let result = edits(self);
        if result.is_err() {
            self.undo_to(mark);
        }
        self.at = at;
        result
    }

    /// Whether nothing was changed so far.
    pub fn is_unchanged(&self) -> bool {
        self.log.is_empty()
    }

    /// Derives outer memlets where something changed. Edits that have to know them do so by themselves. A derived memlet that
    /// cannot be told stays as it is.
    pub fn propagate_pending(&mut self) {
        let at = self.at.clone();
        with_proof_cache(|| super::propagate_pending::propagate_pending(self));
        self.at = at;
    }

    /// Ends the series: derives outer memlets where something changed, and checks there that connectors of scopes pair up, that
    /// every edge ends at connectors that exist, that no edge crosses a scope, that containers are there, and that
    /// expressions are within their limits. Debug builds validate the whole program if it was valid before. Gives what changed.
    ///
    /// # Errors
    /// [`EditError::Unpaired`], [`EditError::HalfScope`], [`EditError::NoConnector`],
    /// [`EditError::ConnectorMisplaced`], [`EditError::Crosses`], [`EditError::Dangling`], [`EditError::TooLarge`] or
    /// [`EditError::Invalid`]. Nothing is changed then.
    pub fn commit(mut self) -> Result<Changes, EditError> {
        self.at = Arc::new([]);
        if !self.log.is_empty() {
            self.propagate_pending();
            contract::verify(&mut self)?;
        }
        let changes = Changes::of(self.program, self.before, &self.log);
        if cfg!(debug_assertions) && self.validates && !self.log.is_empty() {
            self.validate()?;
        }
        self.is_done = true;
        Ok(changes)
    }

    /// Ends the series as [`commit`](Editor::commit), without telling the changes, and begins another one. What the editor knows
    /// of states goes on to the next series: many short series cost what they change.
    ///
    /// # Errors
    /// Those of [`commit`](Editor::commit). What this series changed is put back then, and the editor begins another one.
    pub fn commit_part(&mut self) -> Result<(), EditError> {
        self.at = Arc::new([]);
        if self.log.is_empty() {
            return Ok(());
        }
        self.propagate_pending();
        let mut result = contract::verify(self);
        if cfg!(debug_assertions) && self.validates && result.is_ok() {
            result = self.validate();
        }
        if result.is_err() {
            self.undo_to(0);
            self.pending = Pending::default();
        }
        // The check went into called SDFGs.
        self.at = Arc::new([]);
        self.log.clear();
        self.before = self.program.revision();
        // Names that an edit of the last series used and gave up are free now.
        self.names.clear();
        result
    }

    /// Refuses a program that is not valid, if it was valid before the series.
    fn validate(&mut self) -> Result<(), EditError> {
        let Err(rejected) = sdfg_validate::validate(self.program.clone()) else { return Ok(()) };
        let edited = self.program.clone();
        self.undo_to(0);
        if sdfg_validate::validate(self.program.clone()).is_ok() {
            let errors = rejected.diagnostics.iter().filter(|found| found.severity == Severity::Error);
            let reason = errors.map(ToString::to_string).collect::<Vec<_>>().join("; ");
            return Err(EditError::Invalid { reason });
        }
        *self.program = edited;
        // They followed the edits back.
        self.indices.clear();
        self.pending = Pending::default();
        Ok(())
    }

    /// The log so far.
    pub(super) fn log(&self) -> &[Entry] {
        &self.log
    }

    /// The calls that lead to the SDFG that edits are about.
    pub(super) fn at(&self) -> Path {
        self.at.clone()
    }

    /// Goes to another SDFG of the program. False if it is there no more.
    pub(super) fn go_to(&mut self, path: &Path) -> bool {
        let is_there = sdfg_at(self.program, path).is_some();
        if is_there {
            self.at = path.clone();
        }
        is_there
    }

    /// Looks at a state with its index.
    ///
    /// # Panics
    /// If the state is absent: that is a fault of the calling code.
    pub(super) fn indexed<T>(&mut self, id: StateId, look: impl FnOnce(&State, &mut Index) -> T) -> T {
        let sdfg = sdfg_at(self.program, &self.at).unwrap_or(self.program);
        let state = sdfg.state(id);
        let of_sdfg = match self.indices.get_mut(&self.at) {
            Some(found) => found,
            None => self.indices.entry(self.at.clone()).or_default(),
        };
        look(state, of_sdfg.entry(id).or_insert_with(|| Index::of(state)))
    }

    /// Tells the index of a state, if there is one, of a change.
    pub(super) fn if_indexed(&mut self, id: StateId, tell: impl FnOnce(&State, &mut Index)) {
        let sdfg = sdfg_at(self.program, &self.at).unwrap_or(self.program);
        let index = self.indices.get_mut(&self.at).and_then(|found| found.get_mut(&id));
        if let (Some(state), Some(index)) = (sdfg.get_state(id), index) {
            tell(state, index);
        }
    }

    /// Names that the SDFG uses, and those that it used at an earlier time of the series and that nothing has freed.
    pub(super) fn names(&mut self) -> &mut BTreeSet<String> {
        let sdfg = sdfg_at(self.program, &self.at).unwrap_or(self.program);
        self.names.entry(self.at.clone()).or_insert_with(|| super::names::used(sdfg))
    }

    /// The symbols in sizes, as of the last time that memlets were derived.
    pub(super) fn sizes(&mut self) -> &Sizes {
        let sdfg = sdfg_at(self.program, &self.at).unwrap_or(self.program);
        self.pending.known(&self.at, || Sizes::of(sdfg))
    }

    /// Adds to the names that are known to be used.
    pub(super) fn note_name(&mut self, name: &str) {
        if let Some(names) = self.names.get_mut(&self.at)
            && !names.contains(name)
        {
            names.insert(name.to_owned());
        }
    }

    /// Adds the symbols of a memlet to the names that are known to be used.
    pub(super) fn note_names_of(&mut self, memlet: &Memlet) {
        if self.names.contains_key(&self.at) {
            let symbols: Vec<_> =
                memlet.accesses().flat_map(|access| access.subset().free_symbols()).collect();
            symbols.iter().for_each(|symbol| self.note_name(symbol.as_str()));
        }
    }

    /// Marks a part that is about to change, or was just made.
    pub(super) fn mark_part(&mut self, part: &Part) {
        let sdfg = sdfg_at(self.program, &self.at).unwrap_or(self.program);
        self.pending.part(&self.at, sdfg, part);
    }

    /// Marks all that a node calls: it may have been made elsewhere.
    pub(super) fn mark_inside(&mut self, state: StateId, id: NodeId) {
        let call = |path: &[(StateId, NodeId)], state, id| -> Path {
            path.iter().copied().chain([(state, id)]).collect()
        };
        let mut waiting = vec![call(&self.at, state, id)];
        while let Some(path) = waiting.pop() {
            let Some(sdfg) = sdfg_at(self.program, &path) else { continue };
            for (state, graph) in sdfg.states() {
                self.pending.whole(&path, state);
                let calls = graph.nodes().filter(|(_, node)| matches!(node.kind, NodeKind::Nested(_)));
                waiting.extend(calls.map(|(id, _)| call(&path, state, id)));
            }
        }
    }

    /// Lets [`names`](Editor::names) find out anew.
    pub(super) fn forget_names(&mut self) {
        self.names.remove(&self.at);
    }

    /// Writes down a change that is about to be made, and gives the SDFG for it.
    pub(super) fn change(&mut self, undo: Undo) -> &mut Sdfg {
        self.pending.touch(&self.at);
        self.log.push(Entry { path: self.at.clone(), undo });
        sdfg_mut_at(self.program, &self.at)
    }

    /// Writes down a change that was just made to something new.
    pub(super) fn changed(&mut self, undo: Undo) {
        self.pending.touch(&self.at);
        self.log.push(Entry { path: self.at.clone(), undo });
    }

    /// The SDFG that edits are about, for a change that is written down.
    pub(super) fn sdfg_mut(&mut self) -> &mut Sdfg {
        sdfg_mut_at(self.program, &self.at)
    }

    /// Forgets what is known of a state whose contents are others now, and of what it calls.
    pub(super) fn forget_state(&mut self, id: StateId) {
        if let Some(found) = self.indices.get_mut(&self.at) {
            found.remove(&id);
        }
        self.forget_calls(|call| call.0 == id);
    }

    /// Forgets what is known of the SDFGs behind some of the calls of this one.
    pub(super) fn forget_calls(&mut self, is_gone: impl Fn((StateId, NodeId)) -> bool) {
        let at = self.at.clone();
        let kept = |path: &Path| {
            let next = path.strip_prefix(&*at).and_then(|rest| rest.first());
            !next.is_some_and(|call| is_gone(*call))
        };
        self.indices.retain(|path, _| kept(path));
        self.names.retain(|path, _| kept(path));
        self.pending.forget_known(|path| !kept(path));
    }

    /// Takes changes back, the latest first, until so many are left.
    fn undo_to(&mut self, left: usize) {
        while self.log.len() > left {
            if let Some(Entry { path, undo }) = self.log.pop() {
                self.at = path;
                self.undo(undo);
            }
        }
    }

    fn undo(&mut self, undo: Undo) {
        match undo {
            Undo::Part(part) => {
                if let Part::State(id, _) = &*part {
                    self.forget_state(*id);
                }
                self.forget_names();
                self.mark_part(&part);
                self.sdfg_mut().restore(*part);
            }
            Undo::NodeAdded(state, id) => {
                self.unindex_node(state, id);
                self.forget_calls(|call| call == (state, id));
                self.forget_names();
                self.sdfg_mut().state_mut(state).take_back_node(id);
            }
            Undo::NodeRemoved(state, id, node) => {
                self.sdfg_mut().state_mut(state).restore_node(id, *node);
                self.index_node(state, id);
            }
            Undo::NodeWas(state, id, node) => {
                self.swap_node(state, id, *node);
                self.mark_node(state, id);
            }
            Undo::EdgeAdded(state, id) => {
                self.mark(state, id);
                self.unindex_edge(state, id);
                self.sdfg_mut().state_mut(state).take_back_edge(id);
            }
            Undo::EdgeRemoved(state, id, edge, place) => {
                let (src, dst) = (edge.src, edge.dst);
                self.if_indexed(state, |graph, index| {
                    index.connect(graph, src, dst);
                });
                self.sdfg_mut().state_mut(state).restore_edge(id, *edge, place);
                self.if_indexed(state, |_, index| index.edge_added(id, dst));
                self.mark(state, id);
            }
            Undo::EdgeWas(state, id, edge, place) => {
                let (src, dst) = (edge.src, edge.dst);
                self.mark(state, id);
                self.unindex_edge(state, id);
                // Where it is now, it may be in the way of where it was.
                self.sdfg_mut().state_mut(state).remove_edge(id);
                self.if_indexed(state, |graph, index| {
                    index.connect(graph, src, dst);
                });
                self.sdfg_mut().state_mut(state).restore_edge(id, *edge, place);
                self.if_indexed(state, |_, index| index.edge_added(id, dst));
                self.mark(state, id);
            }
            Undo::DerivedWas(state, id, memlet) => {
                *self.sdfg_mut().state_mut(state).memlet_mut(id) = *memlet;
                self.mark(state, id);
            }
        }
    }
}

impl Drop for Editor<'_> {
    fn drop(&mut self) {
        // An edit that panics may have left what cannot be taken back step by step.
        if !self.is_done && !std::thread::panicking() {
            self.undo_to(0);
        }
    }
}

/// The SDFG behind some calls; `None` if one of them is none any more.
pub(super) fn sdfg_at<'s>(program: &'s Sdfg, path: &[(StateId, NodeId)]) -> Option<&'s Sdfg> {
    path.iter().try_fold(program, |sdfg, (state, node)| {
        match &sdfg.get_state(*state)?.get_node(*node)?.kind {
            NodeKind::Nested(nested) => Some(&nested.sdfg),
            NodeKind::Access(_)
            | NodeKind::Tasklet(_)
            | NodeKind::MapEntry(_)
            | NodeKind::MapExit(_)
            | NodeKind::ConsumeEntry(_)
            | NodeKind::ConsumeExit(_)
            | NodeKind::Reduce(_)
            | NodeKind::Library(_) => None,
        }
    })
}

fn sdfg_mut_at<'s>(program: &'s mut Sdfg, path: &[(StateId, NodeId)]) -> &'s mut Sdfg {
    path.iter().fold(program, |sdfg, (state, node)| match &mut sdfg.state_mut(*state).node_mut(*node).kind {
        NodeKind::Nested(nested) => &mut nested.sdfg,
        NodeKind::Access(_)
        | NodeKind::Tasklet(_)
        | NodeKind::MapEntry(_)
        | NodeKind::MapExit(_)
        | NodeKind::ConsumeEntry(_)
        | NodeKind::ConsumeExit(_)
        | NodeKind::Reduce(_)
        | NodeKind::Library(_) => unreachable!("an editor goes into calls alone"),
    })
}
