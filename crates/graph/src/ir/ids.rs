//! Typed ids of everything in an SDFG, and the arena that allocates them.
//!
//! Ids are allocated in order of creation and never reused after a removal. Therefore an id held across an
//! edit still means the same element, or is refused.

use std::fmt;
use std::marker::PhantomData;

/// A small integer that names one element of an arena.
pub trait Id: Copy + Eq + Ord + fmt::Debug + fmt::Display {
    /// The id of the `index`-th element ever created.
    fn from_index(index: usize) -> Self;
    /// The position in the order of creation.
    fn index(self) -> usize;
}

macro_rules! define_id {
    ($name:ident, $prefix:literal, $doc:literal) => {
        #[doc = $doc]
        ///
        /// Its number is the order of creation and means nothing else.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl Id for $name {
            fn from_index(index: usize) -> Self {
                $name(u32::try_from(index).unwrap_or(u32::MAX))
            }
            fn index(self) -> usize {
                self.0 as usize
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    };
}

define_id!(ContainerId, "c", "A container (array, scalar, stream, view, reference) of one SDFG.");
define_id!(RegionId, "r", "A control-flow region of one SDFG.");
define_id!(BlockId, "b", "A block (state, loop, branch, ...) of one SDFG.");
define_id!(TransitionId, "t", "A transition between two blocks of one region.");
define_id!(StateId, "s", "A state of one SDFG.");
define_id!(NodeId, "n", "A dataflow node of one state.");
define_id!(EdgeId, "e", "A memlet edge of one state.");

/// Elements under ids that are never reused.
#[derive(Clone, PartialEq, Eq)]
pub struct Arena<I, T> {
    slots: Vec<Option<T>>,
    id: PhantomData<I>,
}

impl<I: Id, T> Arena<I, T> {
    /// An arena without elements.
    pub const fn new() -> Self {
        Arena { slots: Vec::new(), id: PhantomData }
    }

    /// Adds an element and names it.
    pub fn insert(&mut self, element: T) -> I {
        self.slots.push(Some(element));
        I::from_index(self.slots.len() - 1)
    }

    /// Removes an element; its id will not name anything again.
    pub fn remove(&mut self, id: I) -> Option<T> {
        self.slots.get_mut(id.index())?.take()
    }

    /// Puts an element back under the id that it had, or takes the place of the one that is there.
    pub(crate) fn restore(&mut self, id: I, element: T) {
        if let Some(slot) = self.slots.get_mut(id.index()) {
            *slot = Some(element);
        }
    }

    /// Takes back the creation of the latest element, so that the next one gets its id.
    pub(crate) fn take_back(&mut self) -> Option<T> {
        self.slots.pop().flatten()
    }

    /// The element, unless it was removed or belongs to another arena.
    pub fn get(&self, id: I) -> Option<&T> {
        self.slots.get(id.index())?.as_ref()
    }

    /// The element for change, unless it was removed or belongs to another arena.
    pub fn get_mut(&mut self, id: I) -> Option<&mut T> {
        self.slots.get_mut(id.index())?.as_mut()
    }

    /// Elements that are present, in order of creation.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (I, &T)> {
        self.slots.iter().enumerate().filter_map(|(i, slot)| Some((I::from_index(i), slot.as_ref()?)))
    }

    /// Ids of the elements that are present, in order of creation.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + '_ {
        self.iter().map(|(id, _)| id)
    }

    /// Number of elements ever inserted; the next id has this index.
    pub fn created(&self) -> usize {
        self.slots.len()
    }

    /// Number of current elements.
    pub fn len(&self) -> usize {
        self.slots.iter().flatten().count()
    }

    /// Whether no element is present.
    pub fn is_empty(&self) -> bool {
        self.slots.iter().all(Option::is_none)
    }
}

impl<I: Id, T> Default for Arena<I, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: Id, T> std::ops::Index<I> for Arena<I, T> {
    type Output = T;
    /// # Panics
    /// If the element was removed or the id belongs to another arena: that is a fault of the calling code.
    fn index(&self, id: I) -> &T {
        self.get(id).unwrap_or_else(|| panic!("{id} names no element"))
    }
}

impl<I: Id, T> std::ops::IndexMut<I> for Arena<I, T> {
    fn index_mut(&mut self, id: I) -> &mut T {
        self.get_mut(id).unwrap_or_else(|| panic!("{id} names no element"))
    }
}

impl<I: Id, T: fmt::Debug> fmt::Debug for Arena<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
