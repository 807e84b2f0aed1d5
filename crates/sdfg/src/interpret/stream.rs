//! Streams: arrays of queues, first in, first out (`docs/semantics.md`, "Streams").

use std::collections::VecDeque;

/// The elements that wait in one queue, as bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    bytes: VecDeque<u8>,
}

/// An array of queues with its bound.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    /// Queues in row-major order.
    queues: Vec<Queue>,
    /// Bytes of one element.
    size: usize,
    /// How many elements a queue holds; `None` is unbounded.
    capacity: Option<usize>,
    /// Whether it belongs to all ranks, so that a single one reaches it by copies only.
    is_shared: bool,
}

impl Stream {
    /// Empty queues.
    pub(super) fn new(queues: usize, size: usize, capacity: Option<usize>, is_shared: bool) -> Self {
        Stream { queues: vec![Queue::default(); queues], size, capacity, is_shared }
    }

    /// How many elements a queue holds; `None` if there is no such queue.
    pub(super) fn len(&self, queue: usize) -> Option<usize> {
        Some(self.queues.get(queue)?.bytes.len() / self.size)
    }

    /// Whether it belongs to all ranks.
    pub(super) fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Bytes of all elements.
    pub(super) fn bytes(&self) -> u64 {
        self.queues.iter().map(|queue| queue.bytes.len() as u64).sum()
    }

    /// Whether a push has to wait.
    pub(super) fn is_full(&self, queue: usize) -> bool {
        self.capacity.is_some_and(|capacity| self.queues[queue].bytes.len() / self.size >= capacity)
    }

    /// Takes the oldest element into `element`; false if there is none.
    pub(super) fn pop(&mut self, queue: usize, element: &mut Vec<u8>) -> bool {
        if self.queues[queue].bytes.is_empty() {
            return false;
        }
        element.clear();
        element.extend(self.queues[queue].bytes.drain(..self.size));
        true
    }

    /// Adds an element behind the others. The caller has made sure that there is room.
    pub(super) fn push(&mut self, queue: usize, element: &[u8]) {
        self.queues[queue].bytes.extend(element);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_may_be_larger_than_any_memory() {
        let mut stream = Stream::new(1, 8, Some(usize::MAX), false);
        stream.push(0, &[0; 8]);
        assert!(!stream.is_full(0));
    }

    #[test]
    fn elements_leave_in_the_order_in_which_they_came() {
        let mut stream = Stream::new(2, 2, Some(2), false);
        let mut element = Vec::new();
        assert!(!stream.pop(1, &mut element));
        stream.push(1, &[1, 2]);
        stream.push(1, &[3, 4]);
        assert!(stream.is_full(1) && stream.len(0) == Some(0));
        assert!(stream.pop(1, &mut element));
        assert_eq!(element, [1, 2]);
        assert!(!stream.is_full(1));
    }
}
