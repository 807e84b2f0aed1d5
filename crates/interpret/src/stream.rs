//! Streams: arrays of queues, first in, first out (`docs/semantics.md`, "Streams").

use std::collections::VecDeque;

use super::stream_order::Origin;

/// The elements that wait in one queue, as bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    bytes: VecDeque<u8>,
    /// Points of the pushes of the elements, as far as they are recorded: of so many from the front.
    origins: VecDeque<Origin>,
}

impl Queue {
    fn bytes(&self) -> u64 {
        (self.bytes.len() + self.origins.len() * size_of::<Origin>()) as u64
    }
}

/// An array of queues with its bound.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    /// Queues in row-major order.
    queues: Vec<Queue>,
    /// Bytes of one element.
    size: usize,
    /// Capacity of a queue; `None` is unbounded.
    capacity: Option<usize>,
    /// Whether it belongs to all ranks, so that a single one reaches it by copies only.
    is_shared: bool,
}

impl Stream {
    /// Empty queues.
    pub(super) fn new(queues: usize, size: usize, capacity: Option<usize>, is_shared: bool) -> Self {
        Stream { queues: vec![Queue::default(); queues], size, capacity, is_shared }
    }

    /// Number of elements in a queue; `None` if there is no such queue.
    pub(super) fn len(&self, queue: usize) -> Option<usize> {
        Some(self.queues.get(queue)?.bytes.len() / self.size)
    }

    /// Whether it belongs to all ranks.
    pub(super) fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Bytes of all elements.
    pub(super) fn bytes(&self) -> u64 {
        self.queues.iter().map(Queue::bytes).sum()
    }

    /// Bytes of the elements of one queue.
    pub(super) fn bytes_of(&self, queue: usize) -> u64 {
        self.queues.get(queue).map_or(0, Queue::bytes)
    }

    /// Whether a push has to wait.
    pub(super) fn is_full(&self, queue: usize) -> bool {
        self.capacity.is_some_and(|capacity| self.queues[queue].bytes.len() / self.size >= capacity)
    }

    /// Takes the oldest element into `element`, and tells where it was pushed; `None` if there is none.
    pub(super) fn pop(&mut self, queue: usize, element: &mut Vec<u8>) -> Option<Origin> {
        let queue = &mut self.queues[queue];
        if queue.bytes.is_empty() {
            return None;
        }
        element.clear();
        element.extend(queue.bytes.drain(..self.size));
        Some(queue.origins.pop_front().unwrap_or(Origin::UNKNOWN))
    }

    /// Adds an element behind the others, with where it is pushed if that is to be noted. The caller has made sure that there is
    /// room. The answer is how many bytes more are in use.
    pub(super) fn push(&mut self, queue: usize, element: &[u8], origin: Option<Origin>) -> u64 {
        let queue = &mut self.queues[queue];
        let before = queue.origins.len();
        if let Some(origin) = origin {
            queue.origins.resize(queue.bytes.len() / self.size, Origin::UNKNOWN);
            queue.origins.push_back(origin);
        }
        queue.bytes.extend(element);
        (element.len() + (queue.origins.len() - before) * size_of::<Origin>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::super::shadow::Point;
    use super::*;

    #[test]
    fn a_bound_may_be_larger_than_any_memory() {
        let mut stream = Stream::new(1, 8, Some(usize::MAX), false);
        stream.push(0, &[0; 8], None);
        assert!(!stream.is_full(0));
    }

    #[test]
    fn elements_leave_in_the_order_in_which_they_came() {
        let mut stream = Stream::new(2, 2, Some(2), false);
        let mut element = Vec::new();
        assert_eq!(stream.pop(1, &mut element), None);
        stream.push(1, &[1, 2], None);
        let point = Point { instance: 1, position: 2, item: 3 };
        stream.push(1, &[3, 4], Some(Origin { point, after_own: true }));
        assert!(stream.is_full(1) && stream.len(0) == Some(0));
        assert_eq!(stream.pop(1, &mut element), Some(Origin::UNKNOWN));
        assert_eq!(element, [1, 2]);
        assert!(!stream.is_full(1));
        stream.push(1, &[5, 6], None);
        assert_eq!(stream.pop(1, &mut element), Some(Origin { point, after_own: true }));
        assert_eq!(stream.pop(1, &mut element), Some(Origin::UNKNOWN));
        assert_eq!((element, stream.bytes()), (vec![5, 6], 0));
    }
}
