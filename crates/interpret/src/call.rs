//! Memory of calls and scopes: allocation, in-place binding of nested SDFGs, views and references.

use std::rc::Rc;

use sdfg_graph::ir::Lifetime;
use sdfg_language::value::Value;

use super::access::{self, Part};
use super::evaluate::wrapped;
use super::index::{Index, Span};
use super::machine::{Activity, ActivityFrame, ActivityStep, At, Call, Machine};
use super::memory::{self, Binding, Contents, Dimension, Handle, NOWHERE, packed};
use super::program::{
    ArgumentCode, BindCode, CallCode, ContainerCode, ContainerForm, Item, LayoutCode, Memory, PartCode,
};
use super::ranks::{Blocks, DistributionCode, Placement};
use super::stream::Stream;
use super::trap::{Site, Trap, TrapKind};

/// In a call.
#[derive(Debug)]
pub(super) struct CallFrame<'p> {
    /// `None` for the outermost call.
    pub(super) code: Option<&'p CallCode>,
}

impl<'p> Machine<'p> {
    /// Begins a call of a nested SDFG.
    pub(super) fn enter_call(
        &mut self,
        activity: &mut Activity<'p>,
        item: &'p Item,
        code: &'p CallCode,
        at: At,
    ) -> Result<(), Box<Trap>> {
        let site = &self.program.items[item.number as usize].site;
        self.count_step(site)?;
        let procedure = &self.program.procedures[code.procedure];
        let instance = self.enter_instance(at, item.number, false, site)?;
        let mut inner = Call {
            procedure: code.procedure,
            symbols: vec![None; procedure.symbols.len()],
            bindings: vec![Binding::Nothing; procedure.containers.len()],
            references: Vec::new(),
            registers: vec![Vec::new(); procedure.registers],
            at: At { instance, position: 0 },
            rank: activity.call().rank,
        };
        let outer = activity.call();
        for (slot, value) in &code.symbols {
            // A symbol of the same name that has no value outside is one that the call assigns itself.
            let is_name = matches!(value, Index::Offset(_, 0));
            inner.symbols[*slot as usize] = match value.eval(&outer.symbols) {
                Ok(value) => Some(wrapped(value, procedure.symbols[*slot as usize].1)),
                Err(error) if is_name && super::index::unknown_slot(&error).is_some() => None,
                Err(error) => return Err(self.index_trap(outer, &error, site)),
            };
        }
        for read in &code.reads {
            let element = self.input_element(outer, &read.from, at)?;
            let value = Value::read(read.element.lane(), &element).and_then(Value::to_i64);
            inner.symbols[read.slot as usize] =
                value.map(|value| wrapped(value, procedure.symbols[read.slot as usize].1));
        }
        for (container, argument) in &code.arguments {
            let form = &procedure.containers[*container];
            inner.bindings[*container] = match argument {
                ArgumentCode::Part(part) => self.narrow(outer, part, &inner, form, site)?,
                ArgumentCode::In(register) => {
                    let bytes = outer.registers[*register as usize].clone();
                    let contents = Contents::Bytes(bytes, None);
                    let checked = self.options.check_conflicts;
                    Binding::Elements(self.store.allocate(
                        form.element.size(),
                        1,
                        contents,
                        Memory::ANY,
                        checked,
                        Placement::Of(outer.rank),
                    ))
                }
                ArgumentCode::Out(_) => {
                    let checked = self.options.check_conflicts;
                    let size = form.element.size();
                    Binding::Elements(self.store.allocate(
                        size,
                        1,
                        Contents::Undefined,
                        Memory::ANY,
                        checked,
                        Placement::Of(outer.rank),
                    ))
                }
            };
        }
        for &container in &procedure.allocate {
            self.allocate(&mut inner, container)?;
        }
        activity.calls.push(inner);
        activity.frames.push(ActivityFrame::Call(CallFrame { code: Some(code) }));
        self.enter_region(activity, procedure.entry);
        Ok(())
    }

    /// Ends the innermost call. The outermost one keeps its memory for the caller to take.
    pub(super) fn leave_call(&mut self, activity: &mut Activity<'p>) -> Result<ActivityStep, Box<Trap>> {
        let Some(ActivityFrame::Call(frame)) = activity.frames.pop() else {
            return Ok(ActivityStep::Continue);
        };
        let Some(code) = frame.code else { return Ok(ActivityStep::Continue) };
        let Some(mut inner) = activity.calls.pop() else { return Ok(ActivityStep::Continue) };
        self.release_all(&mut inner);
        for (container, argument) in &code.arguments {
            let Binding::Elements(handle) = &inner.bindings[*container] else { continue };
            match argument {
                ArgumentCode::Part(_) => {}
                ArgumentCode::In(_) => self.store.release(handle),
                ArgumentCode::Out(register) => {
                    let bytes = self.store.peek(handle, 0, None).map_or_else(Vec::new, <[u8]>::to_vec);
                    activity.call().registers[*register as usize] = bytes;
                    self.store.release(handle);
                }
            }
        }
        Ok(ActivityStep::Continue)
    }

    /// Allocates a transient or constant of a call.
    pub(super) fn allocate(&mut self, call: &mut Call, container: usize) -> Result<(), Box<Trap>> {
        let procedure = &self.program.procedures[call.procedure];
        let (code, site) = (&procedure.containers[container], &procedure.site);
        if let Some(kept) = code.persistent.and_then(|number| self.persistent[number].clone()) {
            let shape = match &code.form {
                ContainerForm::Scalar => &[][..],
                ContainerForm::Stream { shape, .. } => shape,
                ContainerForm::Array(layout)
                | ContainerForm::View(layout)
                | ContainerForm::Reference(layout) => &layout.shape,
            };
            let found = self.shape(call, code, shape, site)?;
            let extents: Vec<i64> = kept.dims.iter().map(|dimension| dimension.extent).collect();
            if extents != found {
                let container = code.name.clone();
                return Err(self.trap(TrapKind::PersistentSize { container, kept: extents, found }, site));
            }
            let is_stream = end_is_queue(&code.form);
            call.bindings[container] =
                if is_stream { Binding::Queues(kept) } else { Binding::Elements(kept) };
            return Ok(());
        }
        let (dims, offset, count) = match &code.form {
            ContainerForm::Scalar => (Vec::new(), 0, 1),
            ContainerForm::Array(layout) => {
                let (dims, offset) = self.layout(call, code, layout, site)?;
                let count = self.size(call, &layout.total_size, site)?;
                (dims, offset, count)
            }
            ContainerForm::Stream { shape, capacity } => {
                let dims = packed(&self.shape(call, code, shape, site)?);
                let count = dims.iter().fold(1, |count: i64, dim| count.saturating_mul(dim.extent));
                let capacity =
                    capacity.as_ref().map(|capacity| self.size(call, capacity, site)).transpose()?;
                self.check_size(code, i128::from(count), site)?;
                let capacity = capacity.map(|capacity| usize::try_from(capacity).unwrap_or(0));
                let stream = Stream::new(
                    usize::try_from(count).unwrap_or(0),
                    code.element.size(),
                    capacity,
                    call.rank.is_none(),
                );
                let handle = self.store.allocate_stream(stream).with(0, dims);
                if let Some(number) = code.persistent {
                    self.persistent[number] = Some(handle.clone());
                }
                call.bindings[container] = Binding::Queues(handle);
                return Ok(());
            }
            ContainerForm::View(_) | ContainerForm::Reference(_) => {
                call.bindings[container] = Binding::Nothing;
                if matches!(code.form, ContainerForm::Reference(_)) {
                    call.references.retain(|(other, _)| *other != container);
                    call.references.push((container, Rc::default()));
                }
                return Ok(());
            }
        };
        let placement = self.placement(call, code, &dims, offset, count, site)?;
        let copies = if let Placement::Local(_) = placement { self.options.ranks } else { 1 };
        let count = count.saturating_mul(i64::from(copies));
        self.check_size(code, i128::from(count), site)?;
        let contents = match &code.constant {
            Some(bytes) => Contents::Bytes(bytes.clone(), None),
            None => Contents::Undefined,
        };
        let count = usize::try_from(count).unwrap_or(0);
        let checked = self.options.check_conflicts;
        let handle =
            self.store.allocate(code.element.size(), count, contents, code.memory, checked, placement);
        let handle = handle.with(offset, dims);
        if let Some(number) = code.persistent {
            self.persistent[number] = Some(handle.clone());
        }
        call.bindings[container] = Binding::Elements(handle);
        Ok(())
    }

    /// Distribution of a container over ranks. A container that a single rank allocates is its own.
    fn placement(
        &self,
        call: &Call,
        code: &ContainerCode,
        dims: &[Dimension],
        offset: i64,
        count: i64,
        site: &Site,
    ) -> Result<Placement, Box<Trap>> {
        let ranks = self.options.ranks;
        if ranks <= 1 || call.rank.is_some() || code.constant.is_some() {
            return Ok(Placement::Of(call.rank));
        }
        Ok(match &code.distribution {
            DistributionCode::Replicated => Placement::Replicated,
            DistributionCode::Local => Placement::Local(usize::try_from(count).unwrap_or(0)),
            DistributionCode::Blocks(grid) => {
                let grid = grid.eval(|parts| self.size(call, parts, site))?;
                let count = usize::try_from(count).unwrap_or(0);
                let blocks = Blocks::new(&grid, offset, dims, count, ranks).map_err(|what| {
                    self.trap(TrapKind::BadDistribution { container: code.name.clone(), what }, site)
                })?;
                Placement::Blocks(Box::new(blocks))
            }
        })
    }

    /// Ends the lifetime of everything that lives as long as a call.
    pub(super) fn release_all(&mut self, call: &mut Call) {
        for (container, code) in self.program.procedures[call.procedure].containers.iter().enumerate() {
            if code.transient || code.constant.is_some() {
                self.release(call, container);
            }
        }
    }

    /// Ends the lifetime of a container.
    pub(super) fn release(&mut self, call: &mut Call, container: usize) {
        let code = &self.program.procedures[call.procedure].containers[container];
        if code.lifetime == Lifetime::Persistent && code.transient {
            return;
        }
        call.references.retain(|(other, _)| *other != container);
        match std::mem::take(&mut call.bindings[container]) {
            Binding::Elements(handle)
                if !matches!(code.form, ContainerForm::View(_) | ContainerForm::Reference(_)) =>
            {
                self.store.release(&handle);
            }
            Binding::Queues(handle) => self.store.release_stream(&handle),
            Binding::Elements(_) | Binding::Nothing => {}
        }
    }

    fn check_size(&self, code: &ContainerCode, elements: i128, site: &Site) -> Result<(), Box<Trap>> {
        let cost = memory::cost(code.element.size(), elements, self.options.check_conflicts);
        if cost.saturating_add(i128::from(self.memory_in_use())) <= i128::from(self.options.memory_limit) {
            return Ok(());
        }
        Err(self.trap(TrapKind::OutOfMemory { container: code.name.clone(), elements }, site))
    }

    fn size(&self, call: &Call, size: &Index, site: &Site) -> Result<i64, Box<Trap>> {
        size.eval(&call.symbols).map_err(|e| self.index_trap(call, &e, site))
    }

    /// The extents of a container.
    fn shape(
        &self,
        call: &Call,
        code: &ContainerCode,
        shape: &[Index],
        site: &Site,
    ) -> Result<Vec<i64>, Box<Trap>> {
        let mut extents = Vec::with_capacity(shape.len());
        for (dimension, extent) in shape.iter().enumerate() {
            let extent = self.size(call, extent, site)?;
            if extent < 0 {
                let kind = TrapKind::NegativeExtent { container: code.name.clone(), dimension, extent };
                return Err(self.trap(kind, site));
            }
            extents.push(extent);
        }
        Ok(extents)
    }

    /// Dimensions and offset of a layout with the symbols of `call`.
    fn layout(
        &self,
        call: &Call,
        code: &ContainerCode,
        layout: &LayoutCode,
        site: &Site,
    ) -> Result<(Vec<Dimension>, i64), Box<Trap>> {
        let shape = self.shape(call, code, &layout.shape, site)?;
        let mut dims = Vec::with_capacity(shape.len());
        for (extent, stride) in shape.into_iter().zip(&layout.strides) {
            dims.push(Dimension::new(extent, self.size(call, stride, site)?));
        }
        Ok((dims, self.size(call, &layout.offset, site)?))
    }

    /// Binding of an inner container or alias to a part of an outer one: the elements of the part, if the
    /// shapes agree after single indices are dropped; otherwise, for an alias, the memory from its first
    /// element on under the layout of the alias.
    fn narrow(
        &self,
        outer: &Call,
        PartCode { end, is_window }: &PartCode,
        inner: &Call,
        code: &ContainerCode,
        site: &Site,
    ) -> Result<Binding, Box<Trap>> {
        let Some(handle) = access::handle(outer, end) else { return Err(self.unbound(end.access)) };
        if end_is_queue(&code.form) != access::queues(outer, end).is_some() {
            return Err(self.unbound(end.access));
        }
        let mut part = Part::default();
        self.part(outer, end, &mut part)?;
        let is_window = *is_window && !end_is_queue(&code.form);
        let mut offset = handle.offset;
        let mut dims = Vec::with_capacity(part.spans.len());
        for (dim, (span, outer_dim)) in part.spans.iter().zip(&handle.dims).enumerate() {
            let last = if span.len() == 0 { span.begin } else { span.at(span.len() - 1) };
            let is_inside = outer_dim.contains(span.begin) && outer_dim.contains(last);
            if part.len() > 0 && !is_window && !is_inside {
                let mut index: Vec<i64> = part.spans.iter().map(|span| span.begin).collect();
                index[dim] = if outer_dim.contains(span.begin) { last } else { span.begin };
                let (container, shape) = (self.container(end.access), handle.shape());
                return Err(self.trap(TrapKind::OutOfBounds { container, index, shape }, site));
            }
            offset = offset.wrapping_add(span.begin.wrapping_mul(outer_dim.stride));
            dims.push((span.is_index, through(span, outer_dim)));
        }
        let (shape, layout) = match &code.form {
            ContainerForm::Scalar => (Vec::new(), None),
            ContainerForm::Stream { shape, .. } => (self.shape(inner, code, shape, site)?, None),
            ContainerForm::Array(layout) | ContainerForm::View(layout) | ContainerForm::Reference(layout) => {
                (self.shape(inner, code, &layout.shape, site)?, Some(layout))
            }
        };
        let mut dropped = dims.len().saturating_sub(shape.len());
        // Without the index that is outside, there is none left that could tell.
        let mut is_nowhere = false;
        dims.retain(|(is_index, dim)| {
            let drops = dropped > 0 && (*is_index || shape.is_empty() && dim.extent == 1);
            dropped -= usize::from(drops);
            is_nowhere |= drops && !dim.contains(0);
            !drops
        });
        let fits = dims.len() == shape.len()
            && dims.iter().zip(&shape).all(|((_, dim), extent)| *extent <= dim.extent);
        let is_alias = matches!(code.form, ContainerForm::View(_) | ContainerForm::Reference(_));
        let dims = match layout {
            Some(layout) if !fits && is_alias => {
                let (dims, inner_offset) = self.layout(inner, code, layout, site)?;
                offset = offset.wrapping_add(inner_offset);
                dims
            }
            Some(_) | None if fits => dims
                .iter()
                .zip(&shape)
                .map(|((_, dim), extent)| Dimension { extent: *extent, end: dim.end.min(*extent), ..*dim })
                .collect(),
            Some(_) | None => {
                let (expected, found) = (shape.iter().product(), part.len());
                return Err(self.trap(TrapKind::SizeMismatch { expected, found }, site));
            }
        };
        let offset = if is_nowhere && part.len() > 0 { NOWHERE } else { offset };
        let handle: Handle = handle.with(offset, dims);
        Ok(if end_is_queue(&code.form) { Binding::Queues(handle) } else { Binding::Elements(handle) })
    }

    /// Makes a view or reference name a part of another container.
    pub(super) fn bind(&mut self, call: &mut Call, code: &BindCode) -> Result<(), Box<Trap>> {
        let container = &self.program.procedures[call.procedure].containers[code.alias];
        let site = self.site(code.target.end.access);
        let binding = self.narrow(call, &code.target, call, container, site)?;
        if let Some((_, shared)) = call.references.iter().find(|(reference, _)| *reference == code.alias) {
            shared.borrow_mut().clone_from(&binding);
        }
        call.bindings[code.alias] = binding;
        Ok(())
    }
}

/// The dimension that the indices of a span make of one: index `k` is the `k`-th of the span.
fn through(span: &Span, outer: &Dimension) -> Dimension {
    let extent = span.len();
    let (mut first, mut end) = (0, extent);
    if extent > 0 && !(outer.contains(span.begin) && outer.contains(span.at(extent - 1))) {
        let [begin, step, low, high] = [span.begin, span.step, outer.first, outer.end].map(i128::from);
        // How many steps lead up to a distance, or past it.
        let up_to = |distance: i128| (distance + step.abs() - 1).div_euclid(step.abs().max(1));
        let past = |distance: i128| distance.div_euclid(step.abs().max(1)) + 1;
        let (from, to) = if step > 0 {
            (up_to(low - begin), up_to(high - begin))
        } else {
            (past(begin - high), past(begin - low))
        };
        let within = |k: i128| k.clamp(0, i128::from(extent)) as i64;
        (first, end) = (within(from), within(to));
    }
    Dimension { extent, stride: outer.stride.wrapping_mul(span.step), first, end }
}

fn end_is_queue(form: &ContainerForm) -> bool {
    matches!(form, ContainerForm::Stream { .. })
}
