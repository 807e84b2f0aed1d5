//! Report of a series of edits, for logs and for side tables.
//!
//! The report is derived from the journal when a series ends. It lists each changed element once, by id and
//! by path in the grammar of [`path`](sdfg_graph::path). It omits elements that were added and removed again,
//! and elements inside removed ones.

use std::collections::BTreeMap;
use std::fmt;

use sdfg_graph::analysis::ChangedParts;
use sdfg_graph::ir::{BlockId, BlockKind, Edge, EdgeId, Node, NodeId, Revision, Sdfg, StateId};
use sdfg_graph::path::{Element, ElementPath, ElementPlace, End, Target};
use sdfg_graph::workspace::Part;
use sdfg_graph::workspace::TouchedParts;

use super::editor::sdfg_at;
use super::journal::{Entry, Path, Undo};

/// Changes of a series of edits, in order of places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    all: Vec<Change>,
    touched: ChangedParts,
}

/// One element that is another one than before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its change.
    pub kind: ChangeKind,
    /// The element by ids, which name nothing any more if it was removed.
    pub place: ElementPlace,
    /// The element by names: as it is now, or was when it was removed.
    pub path: ElementPath,
}

/// Change of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// It has other contents; a block that runs a state may have all of them others.
    Changed,
    /// An edge leads from or to another node or connector; its memlet may be another one, too.
    Redirected,
    /// Propagation derived another memlet for the edge.
    Derived,
}

impl ChangeKind {
    /// The word for logs.
    pub const fn word(self) -> &'static str {
        match self {
            ChangeKind::Added => "added",
            ChangeKind::Removed => "removed",
            ChangeKind::Changed => "changed",
            ChangeKind::Redirected => "redirected",
            ChangeKind::Derived => "derived",
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.kind.word(), self.place.target.noun(), self.path)
    }
}

impl fmt::Display for Changes {
    /// One line for each change.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.all.iter().try_for_each(|change| writeln!(f, "{change}"))
    }
}

impl Changes {
    /// Whether nothing is another than before.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The changes, those of an SDFG before those of SDFGs that it calls.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Change> {
        self.all.iter()
    }

    /// Which parts of the program are others, for [`Analyses`](sdfg_graph::analysis::Analyses::follow).
    ///
    /// ```
    /// # mod sdfg { pub use sdfg_edit::edit; pub use sdfg_graph::{analysis, text}; }
    /// use sdfg::{analysis::Analyses, edit::Editor};
    ///
    /// let text = "sdfg p {\n array A: f64[4]\n state s {\n access A\n }\n state t {\n access A\n }\n}";
    /// let mut program = sdfg::text::parse("p.sdft", text).expect("a program");
    /// let states: Vec<_> = program.states().map(|(id, _)| id).collect();
    /// let mut analyses = Analyses::new();
    /// let before = analyses.footprint(&program, states[0]);
    ///
    /// let mut editor = Editor::new(&mut program);
    /// let node = editor.find(states[1], "A").expect("a node");
    /// editor.remove_node(states[1], node)?;
    /// let changes = editor.commit()?;
    /// analyses.follow(&program, changes.touched());
    /// assert!(std::sync::Arc::ptr_eq(&before, &analyses.footprint(&program, states[0])));
    /// # Ok::<(), sdfg::edit::EditError>(())
    /// ```
    pub fn touched(&self) -> &ChangedParts {
        &self.touched
    }

    /// Reads the journal of a series that has ended, and that began at a revision of the program.
    pub(super) fn of(program: &Sdfg, before: Revision, log: &[Entry]) -> Self {
        let removed = Removed::of(log);
        let mut found = Elements::default();
        for entry in log {
            note(program, entry, &mut found);
        }
        let mut bases = BTreeMap::new();
        let changes = found.0.into_iter().filter_map(|(place, found)| {
            let kind = found.kind(program, &place)?;
            let path = removed.path(program, &place, &found, &mut bases)?;
            Some(Change { kind, place, path })
        });
        Changes { all: changes.collect(), touched: touched(program, before, log) }
    }
}

/// Parts of a program that a journal concerns. Changes in a called SDFG concern the state with the call.
fn touched(program: &Sdfg, before: Revision, log: &[Entry]) -> ChangedParts {
    let mut found = TouchedParts { before, after: program.revision(), ..TouchedParts::default() };
    for entry in log {
        if let Some((state, _)) = entry.path.first() {
            found.states.insert(*state);
            continue;
        }
        match &entry.undo {
            Undo::NodeAdded(state, _)
            | Undo::NodeRemoved(state, ..)
            | Undo::NodeWas(state, ..)
            | Undo::EdgeAdded(state, _)
            | Undo::EdgeRemoved(state, ..)
            | Undo::EdgeWas(state, ..)
            | Undo::DerivedWas(state, ..) => found.states.extend([*state]),
            Undo::Part(part) => match &**part {
                Part::State(state, _) => found.states.extend([*state]),
                Part::Region(region, _) => found.regions.extend([*region]),
                Part::Block(id, was) => {
                    found.regions.extend(was.as_ref().map(|block| block.region));
                    found.regions.extend(program.get_block(*id).map(|block| block.region));
                }
                // Where a transition came or went, the region was written down, too.
                Part::Transition(id, was) => {
                    let sources = [was.as_ref(), program.get_transition(*id)].into_iter().flatten();
                    let blocks = sources.filter_map(|transition| program.get_block(transition.src));
                    found.regions.extend(blocks.map(|block| block.region));
                }
                Part::Container(..) | Part::Symbols(_) => found.is_more = true,
            },
        }
    }
    found.into()
}

/// Entries of the journal for an element.
#[derive(Debug, Default)]
struct Found<'l> {
    /// Whether the series made it.
    is_new: bool,
    /// Whether anything but propagation changed it.
    is_changed: bool,
    /// The edge as it was at first.
    edge: Option<&'l Edge>,
    /// The part as it was at first.
    part: Option<&'l Part>,
}

impl Found<'_> {
    /// Net change of the element; `None` for nothing.
    fn kind(&self, program: &Sdfg, place: &ElementPlace) -> Option<ChangeKind> {
        let sdfg = sdfg_at(program, &place.calls)?;
        let edge = |state, id| sdfg.get_state(state).and_then(|graph| graph.get_edge(id));
        let is_there = match &place.target {
            Target::Sdfg => true,
            Target::Symbol(symbol) => sdfg.symbol_type(symbol).is_some(),
            Target::Container(id) => sdfg.get_container(*id).is_some(),
            Target::Block(id) => sdfg.get_block(*id).is_some(),
            Target::Transition(id) => sdfg.get_transition(*id).is_some(),
            Target::Node(state, id) | Target::Connector(state, id, _) => {
                sdfg.get_state(*state)?.get_node(*id).is_some()
            }
            Target::Edge(state, id) => {
                sdfg.get_state(*state)?;
                edge(*state, *id).is_some()
            }
        };
        match (self.is_new, is_there) {
            (true, true) => Some(ChangeKind::Added),
            (true, false) => None,
            (false, false) => Some(ChangeKind::Removed),
            (false, true) => {
                let now = if let Target::Edge(state, id) = place.target { edge(state, id) } else { None };
                match (self.edge, now) {
                    (Some(before), Some(now)) => changed_edge(before, now),
                    (None, Some(_)) if !self.is_changed => Some(ChangeKind::Derived),
                    (Some(_) | None, Some(_) | None) => Some(ChangeKind::Changed),
                }
            }
        }
    }
}

fn changed_edge(before: &Edge, now: &Edge) -> Option<ChangeKind> {
    let ends = |edge: &Edge| (edge.src, edge.src_connector.clone(), edge.dst, edge.dst_connector.clone());
    if ends(before) != ends(now) {
        Some(ChangeKind::Redirected)
    } else {
        (before.memlet != now.memlet).then_some(ChangeKind::Changed)
    }
}

/// Entries of the journal for each element.
#[derive(Debug, Default)]
struct Elements<'l>(BTreeMap<ElementPlace, Found<'l>>);

impl<'l> Elements<'l> {
    fn of(&mut self, entry: &Entry, target: Target, is_new: bool) -> &mut Found<'l> {
        let place = ElementPlace { calls: entry.path.to_vec(), target };
        let first = Found { is_new, ..Found::default() };
        self.0.entry(place).or_insert(first)
    }
}

/// Adds what an entry of the journal tells.
fn note<'l>(program: &Sdfg, entry: &'l Entry, found: &mut Elements<'l>) {
    match &entry.undo {
        Undo::NodeAdded(state, id) => found.of(entry, Target::Node(*state, *id), true).is_changed = true,
        Undo::NodeRemoved(state, id, _) | Undo::NodeWas(state, id, _) => {
            found.of(entry, Target::Node(*state, *id), false).is_changed = true;
        }
        Undo::EdgeAdded(state, id) => found.of(entry, Target::Edge(*state, *id), true).is_changed = true,
        Undo::EdgeRemoved(state, id, edge, _) | Undo::EdgeWas(state, id, edge, _) => {
            let found = found.of(entry, Target::Edge(*state, *id), false);
            found.is_changed = true;
            found.edge.get_or_insert(edge);
        }
        Undo::DerivedWas(state, id, _) => drop(found.of(entry, Target::Edge(*state, *id), false)),
        Undo::Part(part) => {
            let target = match &**part {
                Part::Container(id, before) => (Target::Container(*id), before.is_none()),
                Part::Block(id, before) => (Target::Block(*id), before.is_none()),
                Part::Transition(id, before) => (Target::Transition(*id), before.is_none()),
                // A new or removed state is told by its block, and a region by what lies in it.
                Part::State(_, None) | Part::Region(..) => return,
                Part::State(id, Some(_)) => match block_of(program, entry, *id) {
                    Some(block) => (Target::Block(block), false),
                    None => return,
                },
                Part::Symbols(before) => {
                    let Some(sdfg) = sdfg_at(program, &entry.path) else { return };
                    let others = before.iter().filter(|(symbol, ty)| sdfg.symbol_type(symbol) != Some(**ty));
                    others.for_each(|(symbol, _)| {
                        found.of(entry, Target::Symbol(symbol.clone()), false).is_changed = true
                    });
                    let new = sdfg.symbols().filter(|(symbol, _)| !before.contains_key(*symbol));
                    new.for_each(|(symbol, _)| {
                        found.of(entry, Target::Symbol(symbol.clone()), true).is_changed = true
                    });
                    return;
                }
            };
            let found = found.of(entry, target.0, target.1);
            found.is_changed = true;
            found.part.get_or_insert(part);
        }
    }
}

/// The block that runs a state now.
fn block_of(program: &Sdfg, entry: &Entry, state: StateId) -> Option<BlockId> {
    let sdfg = sdfg_at(program, &entry.path)?;
    let runs = |kind: &BlockKind| matches!(kind, BlockKind::State(id) if *id == state);
    sdfg.blocks().find(|(_, block)| runs(&block.kind)).map(|(id, _)| id)
}

/// Names of what is not in the program any more.
struct Removed<'l> {
    nodes: BTreeMap<(&'l Path, StateId, NodeId), &'l Node>,
    blocks: BTreeMap<(&'l Path, BlockId), &'l str>,
}

impl<'l> Removed<'l> {
    fn of(log: &'l [Entry]) -> Self {
        let mut removed = Removed { nodes: BTreeMap::new(), blocks: BTreeMap::new() };
        for Entry { path, undo } in log {
            match undo {
                Undo::NodeRemoved(state, id, node) => drop(removed.nodes.insert((path, *state, *id), node)),
                Undo::Part(part) => {
                    if let Part::Block(id, Some(block)) = &**part {
                        removed.blocks.insert((path, *id), &block.label);
                    }
                }
                Undo::NodeAdded(..)
                | Undo::NodeWas(..)
                | Undo::EdgeAdded(..)
                | Undo::EdgeRemoved(..)
                | Undo::EdgeWas(..)
                | Undo::DerivedWas(..) => {}
            }
        }
        removed
    }

    /// The path of an element, also of one that is gone; `None` if what it was in is gone as a whole.
    fn path(
        &self,
        program: &Sdfg,
        place: &ElementPlace,
        found: &Found<'_>,
        bases: &mut BTreeMap<(Path, Option<StateId>), Option<ElementPath>>,
    ) -> Option<ElementPath> {
        let calls: Path = place.calls.as_slice().into();
        let sdfg = sdfg_at(program, &calls)?;
        let state = match &place.target {
            Target::Node(state, _) | Target::Connector(state, ..) | Target::Edge(state, _) => Some(*state),
            Target::Sdfg
            | Target::Symbol(_)
            | Target::Container(_)
            | Target::Block(_)
            | Target::Transition(_) => None,
        };
        let base = bases.entry((calls.clone(), state)).or_insert_with(|| base(program, &calls, state));
        let base = base.clone()?;
        Some(match &place.target {
            Target::Sdfg => base,
            Target::Symbol(symbol) => base.to(Element::Symbol(symbol.as_str().to_owned())),
            Target::Container(id) => {
                let name = match (sdfg.get_container(*id), found.part) {
                    (Some(container), _) | (None, Some(Part::Container(_, Some(container)))) => {
                        &container.name
                    }
                    (None, _) => return None,
                };
                base.to(Element::Container(name.clone()))
            }
            Target::Block(id) => base.enter(self.block(sdfg, &calls, *id)?),
            Target::Transition(id) => {
                if let Some(transition) = sdfg.get_transition(*id) {
                    return Some(base.to(Element::transition(sdfg, *id, transition)));
                }
                let Some(Part::Transition(_, Some(transition))) = found.part else { return None };
                let label = |id| self.block(sdfg, &calls, id).map(str::to_owned);
                base.to(Element::Transition {
                    source: label(transition.src)?,
                    destination: label(transition.dst)?,
                    before: 0,
                })
            }
            Target::Node(state, id) | Target::Connector(state, id, _) => {
                let node = self.node(sdfg, &calls, *state, *id)?;
                let end = End::node(&node.label);
                base.to(if node.kind.exit_of().is_some() { Element::Exit(end) } else { Element::Node(end) })
            }
            Target::Edge(state, id) => base.to(self.edge(sdfg, &calls, *state, *id, found)?),
        })
    }

    fn block<'a>(&'a self, sdfg: &'a Sdfg, calls: &Path, id: BlockId) -> Option<&'a str> {
        let there = sdfg.get_block(id).map(|block| block.label.as_str());
        there.or_else(|| self.blocks.get(&(calls, id)).copied())
    }

    fn node<'a>(&'a self, sdfg: &'a Sdfg, calls: &Path, state: StateId, id: NodeId) -> Option<&'a Node> {
        let there = sdfg.get_state(state).and_then(|graph| graph.get_node(id));
        there.or_else(|| self.nodes.get(&(calls, state, id)).copied())
    }

    fn edge(
        &self,
        sdfg: &Sdfg,
        calls: &Path,
        state: StateId,
        id: EdgeId,
        found: &Found<'_>,
    ) -> Option<Element> {
        let graph = sdfg.get_state(state)?;
        if graph.get_edge(id).is_some() {
            return Some(Element::edge(graph, id));
        }
        let edge = found.edge?;
        let end = |id, connector: &Option<String>| {
            Some(End::at(self.node(sdfg, calls, state, id)?, connector.as_deref()))
        };
        Some(Element::Edge {
            source: end(edge.src, &edge.src_connector)?,
            destination: end(edge.dst, &edge.dst_connector)?,
            before: 0,
        })
    }
}

/// The path of an SDFG, or of a state in it.
fn base(program: &Sdfg, calls: &Path, state: Option<StateId>) -> Option<ElementPath> {
    let Some(state) = state else {
        let Some(((state, node), outer)) = calls.split_last() else {
            return Some(ElementPath::sdfg(&program.name));
        };
        let place = ElementPlace { calls: outer.to_vec(), target: Target::Node(*state, *node) };
        return place.path(program);
    };
    let sdfg = sdfg_at(program, calls)?;
    let runs = |kind: &BlockKind| matches!(kind, BlockKind::State(id) if *id == state);
    let (block, _) = sdfg.blocks().find(|(_, block)| runs(&block.kind))?;
    ElementPlace { calls: calls.to_vec(), target: Target::Block(block) }.path(program)
}
