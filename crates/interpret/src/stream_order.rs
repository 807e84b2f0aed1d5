//! Order by streams: an iteration of a consume scope comes after the push of its element
//! (`docs/semantics.md`, "Conflicts").
//!
//! Every iteration takes one element, and every element was pushed at one point. Therefore the iterations
//! form a forest, in which the *giver* of an iteration is the iteration that pushed its element. An access
//! comes before another one if the second is in, or descends from, an iteration whose element was pushed
//! after the first. The query is made only for two accesses that would otherwise conflict. Skip links over
//! many givers answer it in logarithmic time.

use super::program::Program;
use super::shadow::{Instances, NOWHERE, Point};

/// Point of a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) point: Point,
    /// Whether what the pushing node itself accessed at this point comes before the push.
    pub(super) after_own: bool,
}

impl Origin {
    /// An unknown point: before the call, or unrecorded.
    pub(super) const UNKNOWN: Origin = Origin { point: NOWHERE, after_own: false };
}

/// An element that an iteration took. Elements are numbered from 1 in the order in which they were taken; 0 is none.
#[derive(Clone, Copy, Debug)]
struct Taken {
    origin: Origin,
    /// The iteration that pushed it.
    giver: u32,
    /// One of the givers before, some of which are far away.
    jump: u32,
    /// Number of givers before it, including itself.
    depth: u32,
    /// The scope, counted from 1.
    scope: u32,
    /// The first element on the way here that was pushed in another scope than it was taken in, without one in between.
    entry: u32,
}

/// The elements that consume scopes took since the last restart.
#[derive(Debug, Default)]
pub(super) struct StreamOrder {
    taken: Vec<Taken>,
    /// For each execution of a consume scope, its elements by position, which counts from 1.
    scopes: Vec<Vec<u32>>,
}

impl StreamOrder {
    pub(super) fn clear(&mut self) {
        self.taken.clear();
        self.scopes.clear();
    }

    /// Bytes that are kept.
    pub(super) fn bytes(&self) -> u64 {
        (self.taken.len() * (size_of::<Taken>() + size_of::<u32>())) as u64
    }

    fn get(&self, number: u32) -> Option<&Taken> {
        self.taken.get((number as usize).checked_sub(1)?)
    }

    fn giver(&self, number: u32) -> u32 {
        self.get(number).map_or(0, |taken| taken.giver)
    }

    fn jump(&self, number: u32) -> u32 {
        self.get(number).map_or(0, |taken| taken.jump)
    }

    fn depth(&self, number: u32) -> u32 {
        self.get(number).map_or(0, |taken| taken.depth)
    }

    /// Of an element and its givers, which have smaller numbers, the last one that was pushed by number `giver`.
    fn given_by(&self, mut number: u32, giver: u32) -> Option<&Taken> {
        while self.giver(number) > giver {
            let jump = self.jump(number);
            number = if jump > giver { jump } else { self.giver(number) };
        }
        self.get(number).filter(|taken| taken.giver == giver)
    }
}

impl Instances {
    /// A new execution of a consume scope; `None` once the numbers are used up.
    pub(super) fn enter_consume(&mut self, parent: Point) -> Option<u32> {
        let instance = self.enter(parent, true)?;
        self.stream_order.scopes.push(Vec::new());
        if let Some(last) = self.live.last_mut() {
            last.consume = u32::try_from(self.stream_order.scopes.len()).ok()?;
        }
        Some(instance)
    }

    /// Notes that the next iteration of a consume scope took an element.
    pub(super) fn take(&mut self, instance: u32, origin: Origin) {
        let Some(scope) = self.get(instance).map(|instance| instance.consume).filter(|scope| *scope > 0)
        else {
            return;
        };
        let giver = self.enclosing(origin.point).next().unwrap_or(0);
        let stream_order = &mut self.stream_order;
        // There is no memory for 2^32 of them.
        let number = stream_order.taken.len() as u32 + 1;
        let over = stream_order.jump(giver);
        let is_even = stream_order.depth(giver) - stream_order.depth(over)
            == stream_order.depth(over) - stream_order.depth(stream_order.jump(over));
        let entry =
            stream_order.get(giver).filter(|taken| taken.scope == scope).map_or(number, |taken| taken.entry);
        let depth = stream_order.depth(giver) + 1;
        let jump = if is_even { stream_order.jump(over) } else { giver };
        stream_order.taken.push(Taken { origin, giver, jump, depth, scope, entry });
        if let Some(elements) = stream_order.scopes.get_mut(scope as usize - 1) {
            elements.push(number);
        }
    }

    /// The elements of the iterations of consume scopes that a point is in, from the inside out.
    fn enclosing(&self, point: Point) -> impl Iterator<Item = u32> + '_ {
        let mut next = Some(point);
        std::iter::from_fn(move || {
            while let Some(point) = next {
                let instance = self.get(point.instance)?;
                next = Some(instance.parent);
                if instance.consume > 0 {
                    let elements = self.stream_order.scopes.get(instance.consume as usize - 1)?;
                    return elements.get((point.position as usize).checked_sub(1)?).copied();
                }
            }
            None
        })
    }

    /// Whether the elements that consume scopes took order an access before a later one. No path of nodes does.
    pub(super) fn is_ordered_by_stream(&self, program: &Program, first: Point, second: Point) -> bool {
        if self.stream_order.taken.is_empty() {
            return false;
        }
        let around_first: Vec<u32> = self.enclosing(first).collect();
        // Both are in the iterations that are left out.
        let around_second = self.enclosing(second).take_while(|number| !around_first.contains(number));
        let precedes = |number: u32| {
            let taken = self.stream_order.get(number);
            taken.is_some_and(|taken| self.precedes(program, first, taken.origin))
        };
        around_second.into_iter().any(|number| {
            let from_inside = around_first.iter().filter(|giver| **giver < number).any(|giver| {
                let given = self.stream_order.given_by(number, *giver);
                given.is_some_and(|taken| self.precedes(program, first, taken.origin))
            });
            let mut entries = std::iter::successors(self.entry(number), |entry| {
                self.entry(self.stream_order.giver(*entry))
            });
            from_inside || entries.any(precedes)
        })
    }

    fn entry(&self, number: u32) -> Option<u32> {
        self.stream_order.get(number).map(|taken| taken.entry)
    }

    /// Whether an access is made before an element is pushed, by position or along a path of nodes.
    fn precedes(&self, program: &Program, mut access: Point, origin: Origin) -> bool {
        let mut push = origin.point;
        loop {
            let (Some(of_access), Some(of_push)) = (self.get(access.instance), self.get(push.instance))
            else {
                return false;
            };
            if access.instance == push.instance {
                if access.position != push.position {
                    return !of_access.concurrent && access.position < push.position;
                }
                return if access.item == push.item {
                    origin.after_own
                } else {
                    program.leads(access.item, push.item)
                };
            }
            if of_access.depth >= of_push.depth {
                access = of_access.parent;
            }
            if of_push.depth >= of_access.depth {
                push = of_push.parent;
            }
        }
    }
}
