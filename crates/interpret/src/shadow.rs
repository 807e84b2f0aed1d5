//! Race detection: unordered accesses of an element (`docs/semantics.md`, "Conflicts").
//!
//! Consume scopes that push further work add more order (`stream_order`).
//!
//! An access happens at a *point* of a series-parallel tree: in an item of a dataflow body, at a position
//! (iteration or step) of an instance (one execution of a scope, or one call of an SDFG). Two points are
//! unordered if their paths separate at different iterations of one scope, or at items of one body that no
//! path joins. Every element keeps the few earlier accesses that suffice to find a conflict of any later
//! access:
//!
//! - An access that is ordered before a new one is dropped if the new one conflicts with everything that the
//!   old one conflicts with.
//! - Of accesses of one kind in different iterations of one scope, two suffice, because every later access
//!   differs from at least one of them. This also holds for iterations that streams order: an access descends
//!   from at most one of two unordered iterations, because each iteration has one giver.

use super::program::{AccessId, Program};
use super::stream_order::StreamOrder;

/// Point in the tree of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Point {
    /// Number of the scope execution or call.
    pub(super) instance: u32,
    /// The iteration of a scope, or how many steps its call has made.
    pub(super) position: u32,
    /// The item of a body (an index into [`Program::items`]); any number where the position is unique in a call.
    pub(super) item: u32,
}

/// Record at a point: an access and its memlet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) instance: u32,
    pub(super) position: u32,
    pub(super) access: AccessId,
}

/// Kinds of access: reads conflict with all writes, plain writes with everything, resolved writes with all
/// others except those of the same resolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AccessKind(u32);

impl AccessKind {
    pub(super) const READ: AccessKind = AccessKind(0);
    pub(super) const WRITE: AccessKind = AccessKind(1);

    /// Writes with the resolution of this number.
    pub(super) fn resolved(resolution: usize) -> Self {
        AccessKind(u32::try_from(resolution + 2).unwrap_or(u32::MAX))
    }

    pub(super) fn is_read(self) -> bool {
        self == AccessKind::READ
    }

    fn conflicts(self, other: AccessKind) -> bool {
        self != other || self == AccessKind::WRITE
    }

    /// Whether everything that conflicts with `other` also conflicts with this.
    fn covers(self, other: AccessKind) -> bool {
        self == AccessKind::WRITE || self == other
    }
}

/// One execution of a scope or one call of an SDFG.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instance {
    pub(super) parent: Point,
    pub(super) depth: u32,
    /// Whether its positions are unordered.
    pub(super) concurrent: bool,
    /// The number among executions of consume scopes, from 1, where what they take is noted; else 0.
    pub(super) consume: u32,
}

/// All executions since the last time that everything before was ordered before everything after.
#[derive(Debug)]
pub(super) struct Instances {
    base: u32,
    pub(super) live: Vec<Instance>,
    pub(super) stream_order: StreamOrder,
}

/// A point of no execution.
pub(super) const NOWHERE: Point = Point { instance: 0, position: 0, item: 0 };
const EMPTY: Stamp = Stamp { instance: 0, position: 0, access: AccessId(0) };

/// Separation of two points.
struct Parting {
    instance: u32,
    unordered: bool,
    /// Whether they are in different iterations of a scope.
    iterations: bool,
}

impl Instances {
    pub(super) fn new() -> Self {
        Instances { base: 1, live: Vec::new(), stream_order: StreamOrder::default() }
    }

    /// The outermost call; everything that was recorded before is forgotten, because it is ordered before.
    ///
    /// `None` once the numbers are used up.
    pub(super) fn restart(&mut self) -> Option<u32> {
        self.base = self.base.checked_add(u32::try_from(self.live.len()).ok()?)?;
        self.live.clear();
        self.stream_order.clear();
        self.enter(NOWHERE, false)
    }

    /// A new execution within the item of `parent`; `None` once the numbers are used up.
    pub(super) fn enter(&mut self, parent: Point, concurrent: bool) -> Option<u32> {
        let number = self.base.checked_add(u32::try_from(self.live.len()).ok()?)?;
        let depth = self.get(parent.instance).map_or(0, |instance| instance.depth + 1);
        self.live.push(Instance { parent, depth, concurrent, consume: 0 });
        Some(number)
    }

    /// Bytes that are kept.
    pub(super) fn bytes(&self) -> u64 {
        (self.live.len() * size_of::<Instance>()) as u64 + self.stream_order.bytes()
    }

    /// Starting point of an execution; `None` for the outermost call, and for forgotten ones.
    pub(super) fn parent(&self, instance: u32) -> Option<Point> {
        self.get(instance).map(|instance| instance.parent).filter(|parent| parent.instance != 0)
    }

    pub(super) fn get(&self, instance: u32) -> Option<&Instance> {
        self.live.get(instance.checked_sub(self.base)? as usize)
    }

    fn is_live(&self, stamp: Stamp) -> bool {
        stamp.instance >= self.base
    }

    /// Separation of the paths of two points. Points whose past is forgotten count as ordered.
    fn parting(&self, program: &Program, mut a: Point, mut b: Point) -> Parting {
        loop {
            if a.instance == b.instance {
                let concurrent = self.get(a.instance).is_some_and(|instance| instance.concurrent);
                let iterations = a.position != b.position && concurrent;
                let unordered = iterations || a.position == b.position && !program.is_ordered(a.item, b.item);
                return Parting { instance: a.instance, unordered, iterations };
            }
            let (Some(of_a), Some(of_b)) = (self.get(a.instance), self.get(b.instance)) else {
                return Parting { instance: 0, unordered: false, iterations: false };
            };
            if of_a.depth >= of_b.depth {
                a = of_a.parent;
            }
            if of_b.depth >= of_a.depth {
                b = of_b.parent;
            }
        }
    }

    fn is_within(&self, mut instance: u32, ancestor: u32) -> bool {
        while instance > ancestor {
            match self.get(instance) {
                Some(inner) => instance = inner.parent.instance,
                None => return false,
            }
        }
        instance == ancestor
    }
}

/// The accesses that the elements of a buffer remember. Most elements have one at most.
#[derive(Debug, Default)]
pub(super) struct Cells {
    cells: Vec<Cell>,
    further: Vec<Further>,
}

/// The accesses that one element remembers: here the first, and where the others are, if it ever had more.
#[derive(Clone, Copy, Debug)]
struct Cell {
    first: Stamp,
    /// Place in [`Cells::further`], counted from 1; 0 for none.
    further: u32,
}

/// The accesses of an element besides the first.
#[derive(Debug)]
struct Further {
    second: Stamp,
    others: Vec<Stamp>,
}

impl Cells {
    /// Bytes that an element takes, if it does not remember unusually many accesses.
    pub(super) const COST: usize = size_of::<Cell>() + size_of::<Further>();

    /// Forgets everything; there are `count` elements from now on.
    pub(super) fn reset(&mut self, count: usize) {
        self.cells.clear();
        self.further.clear();
        self.cells.resize(count, Cell { first: EMPTY, further: 0 });
    }

    /// Records an access of an element; the answer is an earlier access that conflicts with it. Nothing is recorded
    /// where there are no such elements.
    #[inline]
    pub(super) fn record(
        &mut self,
        element: usize,
        instances: &Instances,
        program: &Program,
        new: Stamp,
    ) -> Option<Stamp> {
        let cell = self.cells.get_mut(element)?;
        if cell.further == 0 && !instances.is_live(cell.first) {
            cell.first = new;
            return None;
        }
        if new == cell.first {
            return None;
        }
        self.record_another(element, instances, program, new)
    }

    fn record_another(
        &mut self,
        element: usize,
        instances: &Instances,
        program: &Program,
        new: Stamp,
    ) -> Option<Stamp> {
        let cell = self.cells.get_mut(element)?;
        if cell.further == 0 {
            self.further.push(Further { second: EMPTY, others: Vec::new() });
            // There is no memory for 2^32 of them.
            cell.further = self.further.len() as u32;
        }
        let further = self.further.get_mut(cell.further as usize - 1)?;
        if new == further.second {
            return None;
        }
        let has_second = instances.is_live(further.second);
        if further.others.is_empty() && !has_second && !instances.is_live(cell.first) {
            cell.first = new;
            return None;
        }
        // The common case of many iterations that read, or write with one resolution, the same element.
        let is_common = further.others.is_empty() && same_scope(instances, program, cell.first, new);
        if is_common && !has_second && cell.first.position != new.position {
            further.second = new;
            return None;
        }
        if is_common
            && further.second.position != cell.first.position
            && same_scope(instances, program, further.second, new)
        {
            return None;
        }
        cell.record_slowly(further, instances, program, new)
    }
}

/// Whether two accesses are of one kind that does not conflict with itself, made directly in iterations of one scope.
fn same_scope(instances: &Instances, program: &Program, old: Stamp, new: Stamp) -> bool {
    let kind = program.kind(new.access);
    old.instance == new.instance
        && kind != AccessKind::WRITE
        && program.kind(old.access) == kind
        && instances.get(new.instance).is_some_and(|instance| instance.concurrent && instance.consume == 0)
}

impl Cell {
    fn record_slowly(
        &mut self,
        further: &mut Further,
        instances: &Instances,
        program: &Program,
        new: Stamp,
    ) -> Option<Stamp> {
        let kind = program.kind(new.access);
        let at = program.point(new);
        let mut kept: Vec<Stamp> = Vec::new();
        // A scope in different iterations of which an old access of the same kind and the new one are.
        let mut shared = None;
        let mut is_known = false;
        let old = [self.first, further.second];
        for old in old.into_iter().chain(further.others.drain(..)) {
            if !instances.is_live(old) {
                continue;
            }
            let old_kind = program.kind(old.access);
            let old_at = program.point(old);
            let mut parting = instances.parting(program, old_at, at);
            parting.unordered = parting.unordered && !instances.is_ordered_by_stream(program, old_at, at);
            if parting.unordered && kind.conflicts(old_kind) {
                return Some(old);
            }
            if old_at == at && old_kind.covers(kind) {
                is_known = true;
            } else if !parting.unordered && kind.covers(old_kind) {
                continue;
            }
            if parting.iterations && parting.unordered && old_kind == kind && shared.is_none() {
                shared = Some((old, parting.instance));
            }
            kept.push(old);
        }
        if !is_known {
            add(instances, program, &mut kept, new, shared);
        }
        let mut kept = kept.into_iter();
        self.first = kept.next().unwrap_or(EMPTY);
        further.second = kept.next().unwrap_or(EMPTY);
        further.others = kept.collect();
        None
    }
}

/// Adds an access to those that are kept. With `shared`, the new and an old access stand for all others of their
/// kind within that scope.
fn add(
    instances: &Instances,
    program: &Program,
    kept: &mut Vec<Stamp>,
    new: Stamp,
    shared: Option<(Stamp, u32)>,
) {
    if let Some((partner, scope)) = shared {
        let kind = program.kind(new.access);
        kept.retain(|old| {
            *old == partner || program.kind(old.access) != kind || !instances.is_within(old.instance, scope)
        });
    }
    kept.push(new);
}
