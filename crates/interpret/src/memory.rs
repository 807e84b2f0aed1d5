//! Memory of a running program: buffers of elements with the state of each element, and streams.

use super::program::{Memory, Program};
use super::ranks::{Elsewhere, Placement, Rank};
use super::shadow::{Cells, Instances, Stamp};
use super::stream::Stream;
use super::stream_order::Origin;

/// One dimension of what a container names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dimension {
    pub(super) extent: i64,
    /// Distance of neighbours, in elements or queues.
    pub(super) stride: i64,
    /// The first index that names an element, and the one behind the last: 0 and `extent`, but for a window, which may
    /// reach beyond its container.
    pub(super) first: i64,
    pub(super) end: i64,
}

impl Dimension {
    /// A dimension all of whose indices name elements.
    pub(super) fn new(extent: i64, stride: i64) -> Self {
        Dimension { extent, stride, first: 0, end: extent }
    }

    /// Whether an index names an element.
    #[inline]
    pub(super) fn contains(&self, index: i64) -> bool {
        (self.first..self.end).contains(&index)
    }
}

/// The position of all elements of a window of which none is in its container: it is in no buffer.
pub(super) const NOWHERE: i64 = i64::MIN;

/// Names elements of a buffer, or queues of a stream.
#[derive(Clone, Debug)]
pub(super) struct Handle {
    store: u32,
    /// Tells apart what lay in the same place at different times.
    generation: u32,
    /// Position of the element with all indices zero.
    pub(super) offset: i64,
    pub(super) dims: Vec<Dimension>,
}

/// Binding of a container in a call.
#[derive(Clone, Debug, Default)]
pub(super) enum Binding {
    #[default]
    Nothing,
    Elements(Handle),
    Queues(Handle),
}

/// Why an element cannot be accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Not in the buffer.
    Outside,
    /// Never written.
    Undefined,
    /// The memory is gone.
    Gone,
    /// The processor does not reach it.
    Unreachable,
    /// A rank, or all of them, cannot access what is on another one.
    Remote(Rank, Rank),
    /// The copy on the first rank is not what the second one, the owner, wrote.
    Stale(u32, u32),
    /// Another access of it is not ordered with this one.
    Conflict(Stamp),
}

/// Elements of one size.
#[derive(Debug, Default)]
struct Buffer {
    generation: u32,
    live: bool,
    /// Bytes of one element.
    size: usize,
    /// Number of elements.
    count: usize,
    data: Vec<u8>,
    /// One bit for each element; empty if all are defined.
    defined: Vec<u64>,
    /// Accesses of each element, if conflicts are looked for.
    cells: Cells,
    memory: Option<Memory>,
    /// Bytes that it takes, with what is known of each element.
    cost: u64,
    placement: Placement,
}

/// All memory of one execution.
#[derive(Debug, Default)]
pub(super) struct Store {
    /// Bytes in buffers and streams.
    used: u64,
    buffers: Vec<Buffer>,
    free: Vec<u32>,
    streams: Vec<(u32, Option<Stream>)>,
}

/// Executor of an access, for recording it.
#[derive(Clone, Copy)]
pub(super) struct Accessing<'a> {
    pub(super) program: &'a Program,
    pub(super) instances: &'a Instances,
    pub(super) stamp: Stamp,
    pub(super) device: Memory,
    pub(super) rank: Rank,
    pub(super) is_copy: bool,
}

/// Contents of a new buffer.
pub(super) enum Contents {
    /// Nothing is defined.
    Undefined,
    /// These bytes; all defined, or those that are told.
    Bytes(Vec<u8>, Option<Vec<bool>>),
}

impl Handle {
    /// Position of the element at `index`, which has as many numbers as there are dimensions; `None` outside the shape.
    pub(super) fn position(&self, index: &[i64]) -> Option<i64> {
        let mut position = self.offset;
        for (dim, &i) in self.dims.iter().zip(index) {
            if !dim.contains(i) {
                return None;
            }
            // Both factors are within a buffer that was allocated.
            position = position.wrapping_add(i.wrapping_mul(dim.stride));
        }
        Some(position)
    }

    /// The extent of each dimension.
    pub(super) fn shape(&self) -> Vec<i64> {
        self.dims.iter().map(|dim| dim.extent).collect()
    }

    /// The same store seen in another way.
    pub(super) fn with(&self, offset: i64, dims: Vec<Dimension>) -> Self {
        Handle { store: self.store, generation: self.generation, offset, dims }
    }
}

/// Number of bytes of elements with their records.
pub(super) fn cost(size: usize, count: i128, checked: bool) -> i128 {
    let cell = if checked { Cells::COST } else { 0 };
    count.saturating_mul((size + cell) as i128).saturating_add(count / 8)
}

/// Distances in the packed row-major layout of a shape.
pub(super) fn packed(shape: &[i64]) -> Vec<Dimension> {
    let mut dims: Vec<Dimension> = shape.iter().map(|&extent| Dimension::new(extent, 1)).collect();
    let mut stride = 1_i64;
    for dim in dims.iter_mut().rev() {
        dim.stride = stride;
        stride = stride.saturating_mul(dim.extent);
    }
    dims
}

impl Store {
    /// A buffer of `count` elements of `size` bytes.
    pub(super) fn allocate(
        &mut self,
        size: usize,
        count: usize,
        contents: Contents,
        memory: Memory,
        checked: bool,
        placement: Placement,
    ) -> Handle {
        let place = self.free.pop().unwrap_or_else(|| {
            self.buffers.push(Buffer::default());
            self.buffers.len() as u32 - 1
        });
        let buffer = &mut self.buffers[place as usize];
        buffer.live = true;
        buffer.size = size;
        buffer.memory = Some(memory);
        buffer.defined.clear();
        match contents {
            Contents::Undefined => {
                buffer.data.clear();
                buffer.data.resize(size * count, 0);
                buffer.defined.resize(count.div_ceil(64), 0);
            }
            Contents::Bytes(bytes, defined) => {
                buffer.data = bytes;
                if let Some(defined) = defined {
                    buffer.defined.resize(count.div_ceil(64), 0);
                    for (i, _) in defined.iter().enumerate().filter(|(_, defined)| **defined) {
                        buffer.defined[i / 64] |= 1 << (i % 64);
                    }
                }
            }
        }
        buffer.count = buffer.data.len() / size.max(1);
        buffer.cells.reset(if checked { count } else { 0 });
        buffer.placement = placement;
        buffer.cost = cost(size, count as i128, checked).try_into().unwrap_or(0);
        self.used += buffer.cost;
        Handle { store: place, generation: buffer.generation, offset: 0, dims: Vec::new() }
    }

    /// Gives a buffer back; handles of it fault from now on.
    pub(super) fn release(&mut self, handle: &Handle) {
        let buffer = &mut self.buffers[handle.store as usize];
        if buffer.live && buffer.generation == handle.generation {
            buffer.live = false;
            self.used = self.used.saturating_sub(buffer.cost);
            buffer.generation = buffer.generation.wrapping_add(1);
            self.free.push(handle.store);
        }
    }

    /// Takes the contents of a buffer out and gives it back.
    pub(super) fn take(&mut self, handle: &Handle) -> (Vec<u8>, Option<Vec<bool>>) {
        let buffer = &mut self.buffers[handle.store as usize];
        let data = std::mem::take(&mut buffer.data);
        let count = std::mem::take(&mut buffer.count);
        let defined = (!buffer.defined.is_empty())
            .then(|| (0..count).map(|i| buffer.is_defined(i)).collect::<Vec<bool>>())
            .filter(|defined| defined.contains(&false));
        self.release(handle);
        (data, defined)
    }

    /// Checks and records a read of an element. The answer is its place in the buffer.
    ///
    /// # Errors
    /// Every [`Fault`].
    #[inline]
    pub(super) fn check_read(
        &mut self,
        handle: &Handle,
        position: i64,
        accessing: Accessing<'_>,
    ) -> Result<usize, Fault> {
        let (buffer, at) = self.locate(handle, position, accessing, false)?;
        if !buffer.is_defined(at) {
            return Err(Fault::Undefined);
        }
        buffer.record(at, accessing)?;
        Ok(at)
    }

    /// The bytes of an element whose read was checked, at the place that [`Store::check_read`] found.
    #[inline]
    pub(super) fn bytes(&self, handle: &Handle, at: usize) -> &[u8] {
        let buffer = &self.buffers[handle.store as usize];
        &buffer.data[at * buffer.size..(at + 1) * buffer.size]
    }

    /// The bytes of an element, to be written whole; it counts as defined from now on.
    ///
    /// # Errors
    /// Every [`Fault`] but `Undefined`.
    #[inline]
    pub(super) fn write(
        &mut self,
        handle: &Handle,
        position: i64,
        accessing: Accessing<'_>,
    ) -> Result<&mut [u8], Fault> {
        let (buffer, at) = self.locate(handle, position, accessing, true)?;
        buffer.record(at, accessing)?;
        buffer.placement.wrote(at, accessing.is_copy);
        if let Some(word) = buffer.defined.get_mut(at / 64) {
            *word |= 1 << (at % 64);
        }
        Ok(&mut buffer.data[at * buffer.size..(at + 1) * buffer.size])
    }

    /// The bytes of an element that is read and written as one.
    ///
    /// # Errors
    /// Every [`Fault`].
    pub(super) fn update(
        &mut self,
        handle: &Handle,
        position: i64,
        accessing: Accessing<'_>,
    ) -> Result<&mut [u8], Fault> {
        let (buffer, at) = self.locate(handle, position, accessing, true)?;
        if !buffer.is_defined(at) {
            return Err(Fault::Undefined);
        }
        buffer.record(at, accessing)?;
        buffer.placement.wrote(at, accessing.is_copy);
        Ok(&mut buffer.data[at * buffer.size..(at + 1) * buffer.size])
    }

    /// The bytes of an element, without looking at conflicts; `None` if it is not there or not defined.
    pub(super) fn peek(&self, handle: &Handle, position: i64, rank: Rank) -> Option<&[u8]> {
        let buffer = self.buffers.get(handle.store as usize)?;
        let at = usize::try_from(position).ok()?;
        let at = buffer.placement.locate(at, rank, false, false).ok()?;
        if buffer.generation != handle.generation || !buffer.is_defined(at) {
            return None;
        }
        buffer.data.get(at * buffer.size..(at + 1) * buffer.size)
    }

    /// The ranks that hold each element of a buffer.
    pub(super) fn placement(&self, handle: &Handle) -> &Placement {
        &self.buffers[handle.store as usize].placement
    }

    /// The buffer of an element and its position in it, if the processor reaches it.
    #[inline]
    fn locate(
        &mut self,
        handle: &Handle,
        position: i64,
        accessing: Accessing<'_>,
        writes: bool,
    ) -> Result<(&mut Buffer, usize), Fault> {
        let buffer = &mut self.buffers[handle.store as usize];
        if buffer.generation != handle.generation {
            return Err(Fault::Gone);
        }
        if !buffer.memory.is_none_or(|memory| memory.is_reached_by(accessing.device)) {
            return Err(Fault::Unreachable);
        }
        let Ok(position) = usize::try_from(position) else { return Err(Fault::Outside) };
        match buffer.placement.locate(position, accessing.rank, accessing.is_copy, writes) {
            Ok(at) if at < buffer.count => Ok((buffer, at)),
            Ok(_) => Err(Fault::Outside),
            Err(Elsewhere::On(owner)) => Err(Fault::Remote(accessing.rank, owner)),
            Err(Elsewhere::Stale(owner)) => Err(Fault::Stale(accessing.rank.unwrap_or(owner), owner)),
        }
    }

    /// An array of queues.
    pub(super) fn allocate_stream(&mut self, stream: Stream) -> Handle {
        let free = self.streams.iter().position(|(_, stream)| stream.is_none());
        let place = free.unwrap_or_else(|| {
            self.streams.push((0, None));
            self.streams.len() - 1
        });
        self.streams[place].1 = Some(stream);
        Handle { store: place as u32, generation: self.streams[place].0, offset: 0, dims: Vec::new() }
    }

    /// Gives queues back; elements that are still in them are lost.
    pub(super) fn release_stream(&mut self, handle: &Handle) {
        if let Some((generation, stream)) = self.streams.get_mut(handle.store as usize)
            && *generation == handle.generation
        {
            *generation = generation.wrapping_add(1);
            let held = stream.take().map_or(0, |stream| stream.bytes());
            self.used = self.used.saturating_sub(held);
        }
    }

    /// Takes the oldest element of a queue, and tells where it was pushed; `None` if there is none.
    ///
    /// # Errors
    /// [`Fault::Gone`].
    pub(super) fn pop(
        &mut self,
        handle: &Handle,
        queue: usize,
        element: &mut Vec<u8>,
    ) -> Result<Option<Origin>, Fault> {
        let stream = self.stream(handle)?;
        let before = stream.bytes_of(queue);
        let taken = stream.pop(queue, element);
        let freed = before - stream.bytes_of(queue);
        self.used = self.used.saturating_sub(freed);
        Ok(taken)
    }

    /// Adds an element to a queue; false if there is no room.
    ///
    /// # Errors
    /// [`Fault::Gone`].
    pub(super) fn push(
        &mut self,
        handle: &Handle,
        queue: usize,
        element: &[u8],
        origin: Option<Origin>,
    ) -> Result<bool, Fault> {
        let stream = self.stream(handle)?;
        if stream.is_full(queue) {
            return Ok(false);
        }
        let more = stream.push(queue, element, origin);
        self.used += more;
        Ok(true)
    }

    /// Whether a stream belongs to all ranks.
    pub(super) fn is_shared(&self, handle: &Handle) -> bool {
        let stream = self.streams.get(handle.store as usize).and_then(|(_, stream)| stream.as_ref());
        stream.is_some_and(Stream::is_shared)
    }

    /// Bytes in buffers and streams.
    pub(super) fn used(&self) -> u64 {
        self.used
    }

    /// Number of elements in a queue; `None` if there is no such queue.
    pub(super) fn queue_length(&self, handle: &Handle, queue: usize) -> Option<usize> {
        let (generation, stream) = self.streams.get(handle.store as usize)?;
        stream.as_ref().filter(|_| *generation == handle.generation)?.len(queue)
    }

    /// The queues of a handle.
    fn stream(&mut self, handle: &Handle) -> Result<&mut Stream, Fault> {
        match self.streams.get_mut(handle.store as usize) {
            Some((generation, Some(stream))) if *generation == handle.generation => Ok(stream),
            Some(_) | None => Err(Fault::Gone),
        }
    }
}

impl Handle {
    /// Number of the stream, which distinguishes the queues of different streams.
    pub(super) fn stream_number(&self) -> u32 {
        self.store
    }
}

impl Buffer {
    #[inline]
    fn is_defined(&self, at: usize) -> bool {
        self.defined.get(at / 64).is_none_or(|word| word >> (at % 64) & 1 == 1)
    }

    #[inline]
    fn record(&mut self, at: usize, accessing: Accessing<'_>) -> Result<(), Fault> {
        match self.cells.record(at, accessing.instances, accessing.program, accessing.stamp) {
            None => Ok(()),
            Some(earlier) => Err(Fault::Conflict(earlier)),
        }
    }
}
