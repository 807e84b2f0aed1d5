//! Accesses: from the ends of memlets to elements, with all checks.

use sdfg_language::symbolic::EvalError;

use super::conflict;
use super::index::{Span, unknown_slot};
use super::machine::{At, Call, Machine};
use super::memory::{Accessing, Binding, Fault, Handle};
use super::program::{AccessId, EndCode, Program, WriteCode};
use super::ranks::index_in;
use super::shadow::{AccessKind, Instances, Stamp};
use super::trap::{Accessor, Site, Trap, TrapKind};

/// The part of a container that an end names, in row-major order.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    pub(super) spans: Vec<Span>,
}

impl Part {
    /// Number of elements.
    pub(super) fn len(&self) -> i64 {
        self.spans.iter().fold(1, |product: i64, span| product.saturating_mul(span.len()))
    }

    /// The index of the element at a position in row-major order, into `index`.
    pub(super) fn index(&self, mut position: i64, index: &mut Vec<i64>) {
        index.clear();
        index.resize(self.spans.len(), 0);
        for (i, span) in index.iter_mut().zip(&self.spans).rev() {
            // Only the one place of an empty part can be asked for, by those who want its first element.
            let len = span.len().max(1);
            *i = span.at(position % len);
            position /= len;
        }
    }
}

/// Executor of an access.
#[inline]
fn accessing<'a>(
    program: &'a Program,
    instances: &'a Instances,
    stamp: Stamp,
    end: &EndCode,
    call: &Call,
) -> Accessing<'a> {
    Accessing { program, instances, stamp, device: end.device, rank: call.rank, is_copy: end.is_copy }
}

/// The elements that an end names.
#[inline]
pub(super) fn elements<'c>(call: &'c Call, end: &EndCode) -> Option<&'c Handle> {
    match &call.bindings[end.container] {
        Binding::Elements(handle) => Some(handle),
        Binding::Nothing | Binding::Queues(_) => None,
    }
}

/// The queues that an end names.
pub(super) fn queues<'c>(call: &'c Call, end: &EndCode) -> Option<&'c Handle> {
    match &call.bindings[end.container] {
        Binding::Queues(handle) => Some(handle),
        Binding::Nothing | Binding::Elements(_) => None,
    }
}

/// Objects of an end: elements of a buffer or queues of a stream.
pub(super) fn handle<'c>(call: &'c Call, end: &EndCode) -> Option<&'c Handle> {
    match &call.bindings[end.container] {
        Binding::Nothing => None,
        Binding::Elements(handle) | Binding::Queues(handle) => Some(handle),
    }
}

impl Machine<'_> {
    /// Place of an access.
    pub(super) fn site(&self, access: AccessId) -> &Site {
        &self.program.accesses[access.0 as usize].site
    }

    /// The position of the one element, or queue, of an end.
    pub(super) fn locate(&self, call: &Call, end: &EndCode) -> Result<i64, Box<Trap>> {
        let Some(handle) = handle(call, end) else { return Err(self.unbound(end.access)) };
        let mut position = handle.offset;
        for (dim, (range, extent)) in end.subset.ranges.iter().zip(&handle.dims).enumerate() {
            let i = range
                .begin
                .eval(&call.symbols)
                .map_err(|e| self.index_trap(call, &e, self.site(end.access)))?;
            if !extent.contains(i) {
                return Err(self.out_of_bounds(call, end, handle, dim, i));
            }
            position = position.wrapping_add(i.wrapping_mul(extent.stride));
        }
        if !end.declared.is_empty() {
            let mut part = Part::default();
            self.part(call, end, &mut part)?;
            let mut index = Vec::new();
            part.index(0, &mut index);
            self.check_declared(call, end, &index)?;
        }
        Ok(position)
    }

    /// Counts one use of an end that moves any number of elements.
    pub(super) fn passes(&mut self, end: &EndCode) {
        self.counts.passes[end.access.0 as usize] += 1;
    }

    /// The elements, or queues, of an end.
    pub(super) fn part(&self, call: &Call, end: &EndCode, part: &mut Part) -> Result<(), Box<Trap>> {
        let error = |e: EvalError| self.index_trap(call, &e, self.site(end.access));
        end.subset.eval(&call.symbols, &mut part.spans).map_err(error)
    }

    /// The position of an element with this index in the container of an end.
    pub(super) fn position(&self, call: &Call, end: &EndCode, index: &[i64]) -> Result<i64, Box<Trap>> {
        let Some(handle) = handle(call, end) else { return Err(self.unbound(end.access)) };
        if !end.declared.is_empty() {
            self.check_declared(call, end, index)?;
        }
        handle.position(index).ok_or_else(|| {
            let (container, shape) = (self.container(end.access), handle.shape());
            let kind = TrapKind::OutOfBounds { container, index: index.to_vec(), shape };
            self.trap(kind, self.site(end.access))
        })
    }

    fn check_declared(&self, call: &Call, end: &EndCode, index: &[i64]) -> Result<(), Box<Trap>> {
        for subset in &end.declared {
            let mut spans = Vec::new();
            let error = |e: EvalError| self.index_trap(call, &e, self.site(end.access));
            subset.eval(&call.symbols, &mut spans).map_err(error)?;
            if !spans.iter().zip(index).all(|(span, i)| span.contains(*i)) {
                let declared = spans.iter().map(|s| {
                    if s.is_index {
                        s.begin.to_string()
                    } else {
                        format!(
                            "{}:{}:{}",
                            s.begin,
                            s.begin.wrapping_add(s.count.wrapping_mul(s.step)),
                            s.step
                        )
                    }
                });
                let declared = format!("[{}]", declared.collect::<Vec<_>>().join(", "));
                let container = self.container(end.access);
                let kind = TrapKind::OutsideDeclared { container, index: index.to_vec(), declared };
                return Err(self.trap(kind, self.site(end.access)));
            }
        }
        Ok(())
    }

    /// Reads the element at a position of the container of an end.
    #[inline]
    pub(super) fn read(
        &mut self,
        call: &Call,
        end: &EndCode,
        position: i64,
        at: At,
    ) -> Result<&[u8], Box<Trap>> {
        let Some(handle) = elements(call, end) else { return Err(self.unbound(end.access)) };
        let stamp = Stamp { instance: at.instance, position: at.position, access: end.access };
        let accessing = accessing(self.program, &self.instances, stamp, end, call);
        self.counts.moved[end.access.0 as usize] += 1;
        // The borrow of a successful read would otherwise last over the error path.
        match self.store.check_read(handle, position, accessing) {
            Ok(at) => Ok(self.store.bytes(handle, at)),
            Err(fault) => Err(self.fault(fault, stamp, handle, position)),
        }
    }

    /// Writes an element, resolved with what is there.
    #[inline]
    pub(super) fn write(
        &mut self,
        call: &Call,
        write: &WriteCode,
        position: i64,
        at: At,
        element: &[u8],
    ) -> Result<(), Box<Trap>> {
        let end = &write.end;
        let Some(handle) = elements(call, end) else { return Err(self.unbound(end.access)) };
        let stamp = Stamp { instance: at.instance, position: at.position, access: end.access };
        let accessing = accessing(self.program, &self.instances, stamp, end, call);
        self.counts.moved[end.access.0 as usize] += 1;
        let done = match write.resolution {
            None => self.store.write(handle, position, accessing).map(|bytes| bytes.copy_from_slice(element)),
            Some(resolution) if conflict::replaces(&self.program.resolutions[resolution]) => {
                self.store.write(handle, position, accessing).map(|bytes| bytes.copy_from_slice(element))
            }
            Some(resolution) => self.store.update(handle, position, accessing).map(|bytes| {
                conflict::combine(self.program, &mut self.frames, resolution, bytes, element);
            }),
        };
        done.map_err(|fault| self.fault(fault, stamp, handle, position))
    }

    /// The trap that a fault is.
    #[cold]
    pub(super) fn fault(&self, fault: Fault, stamp: Stamp, handle: &Handle, position: i64) -> Box<Trap> {
        let access = stamp.access;
        let container = self.container(access);
        let index = index_in(&handle.dims, handle.offset, position);
        let kind = match fault {
            Fault::Outside => TrapKind::OutOfBounds { container, index, shape: handle.shape() },
            Fault::Undefined => TrapKind::UndefinedRead { container, index },
            Fault::Gone => TrapKind::Unbound { container },
            Fault::Unreachable => TrapKind::UnreachableMemory { container },
            Fault::Remote(by, owner) => TrapKind::RemoteElement { container, index, by, owner },
            Fault::Stale(by, owner) => TrapKind::StaleCopy { container, index, by, owner },
            Fault::Conflict(earlier) => {
                let first = Box::new(self.accessor(earlier));
                let second = Box::new(self.accessor(stamp));
                TrapKind::Conflict { container, index, first, second }
            }
        };
        self.trap(kind, self.site(access))
    }

    fn accessor(&self, stamp: Stamp) -> Accessor {
        let place = &self.program.accesses[stamp.access.0 as usize];
        let writes = place.kind != AccessKind::READ;
        let iteration = self.iteration(At { instance: stamp.instance, position: stamp.position });
        Accessor { writes, memlet: place.memlet.clone(), path: (*place.site).clone(), iteration }
    }

    /// The name of the container of an access.
    pub(super) fn container(&self, access: AccessId) -> String {
        self.program.accesses[access.0 as usize].container.clone()
    }

    #[cold]
    pub(super) fn unbound(&self, access: AccessId) -> Box<Trap> {
        self.trap(TrapKind::Unbound { container: self.container(access) }, self.site(access))
    }

    /// The trap for an index, size or bound without a value.
    #[cold]
    pub(super) fn index_trap(&self, call: &Call, error: &EvalError, site: &Site) -> Box<Trap> {
        let kind = match (error, unknown_slot(error)) {
            (EvalError::Overflow, _) => TrapKind::IndexOverflow,
            (_, Some(slot)) => {
                let symbols = &self.program.procedures[call.procedure].symbols;
                let symbol = symbols.get(slot).map_or_else(String::new, |(name, _)| name.clone());
                TrapKind::UndefinedSymbol { symbol }
            }
            (other, None) => TrapKind::UndefinedIndex(other.clone()),
        };
        self.trap(kind, site)
    }

    #[cold]
    fn out_of_bounds(&self, call: &Call, end: &EndCode, handle: &Handle, dim: usize, i: i64) -> Box<Trap> {
        let begin = |range: &super::index::RangeCode| range.begin.eval(&call.symbols).unwrap_or(0);
        let mut index: Vec<i64> = end.subset.ranges.iter().map(begin).collect();
        index[dim] = i;
        let container = self.container(end.access);
        self.trap(TrapKind::OutOfBounds { container, index, shape: handle.shape() }, self.site(end.access))
    }
}
