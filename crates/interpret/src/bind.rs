//! Transfer of arguments into the memory of a run and back.

use std::collections::BTreeMap;

use sdfg_graph::ir::{Container, ContainerKind, Layout, Sdfg};
use sdfg_language::symbolic::{Expr, Symbol};

use super::arguments::{ArgumentError, Arguments, queue_names};
use super::machine::Machine;
use super::memory::{Binding, Contents, Dimension, Handle, packed};
use super::ranks::{Blocks, DistributionCode, Placement};
use super::stream::Stream;
use crate::tensor::Tensor;

/// An argument in memory.
pub(super) struct Bound {
    pub(super) binding: Binding,
    /// Extents of the elements, or of the queues.
    shape: Vec<i64>,
}

/// Moves the tensors of the arguments into memory.
pub(super) fn bind(
    sdfg: &Sdfg,
    symbols: &BTreeMap<Symbol, i64>,
    arguments: &mut Arguments,
    machine: &mut Machine<'_>,
) -> Result<Vec<(usize, Bound)>, ArgumentError> {
    // Everything that can fail comes before the first tensor is taken.
    let mut layouts = Vec::new();
    for (number, (_, container)) in sdfg.containers().enumerate() {
        if container.is_argument() {
            let (layout, queues) = (strides(container, symbols)?, queues(container, symbols)?);
            let placement = placement(container, layout.as_ref(), symbols, machine.options.ranks)?;
            layouts.push((number, container, layout, placement, queues));
        }
    }
    let mut bound = Vec::new();
    for (number, container, layout, placement, queues) in layouts {
        if let Some((shape, capacity)) = queues {
            let binding = Binding::Queues(receive(container, &shape, capacity, arguments, machine));
            bound.push((number, Bound { binding, shape }));
            continue;
        }
        let Some(tensor) = arguments.take(&container.name) else { continue };
        let shape = tensor.shape().to_vec();
        let (size, checked) = (container.element.size(), machine.options.check_conflicts);
        let (data, defined) = tensor.into_parts();
        let count = data.len() / size;
        let memory = machine.program.procedures[0].containers[number].memory;
        let binding = match layout {
            Some((dims, offset, total)) => {
                let (data, defined) = spread(&data, defined, size, &dims, offset, total);
                let contents = Contents::Bytes(data, Some(defined));
                let handle = machine.store.allocate(size, total, contents, memory, checked, placement);
                Binding::Elements(handle.with(offset, dims))
            }
            None => {
                let contents = Contents::Bytes(data, defined);
                let dims = if container.shape().is_empty() { Vec::new() } else { packed(&shape) };
                let handle = machine.store.allocate(size, count, contents, memory, checked, placement);
                Binding::Elements(handle.with(0, dims))
            }
        };
        bound.push((number, Bound { binding, shape }));
    }
    Ok(bound)
}

/// Extents of a stream that is an argument, and the number of elements in a queue before a push waits, if it has a bound;
/// `None` for other containers.
fn queues(container: &Container, symbols: &BTreeMap<Symbol, i64>) -> Result<Option<Queues>, ArgumentError> {
    let ContainerKind::Stream { shape, capacity } = &container.kind else { return Ok(None) };
    let value = |expr: &Expr| {
        let error = |error| ArgumentError::BadShape { name: container.name.clone(), error };
        expr.eval(&|symbol| symbols.get(symbol).copied()).map_err(error)
    };
    let extents = shape.iter().map(value).collect::<Result<Vec<i64>, _>>()?;
    let capacity = capacity.as_ref().map(value).transpose()?;
    Ok(Some((extents, capacity.map(|capacity| usize::try_from(capacity).unwrap_or(0)))))
}

type Queues = (Vec<i64>, Option<usize>);

/// Moves the tensors of the queues of a stream into memory.
fn receive(
    container: &Container,
    extents: &[i64],
    capacity: Option<usize>,
    arguments: &mut Arguments,
    machine: &mut Machine<'_>,
) -> Handle {
    let (size, names) = (container.element.size(), queue_names(&container.name, extents));
    let tensors: Vec<Tensor> = names.filter_map(|name| arguments.take(&name)).collect();
    let mut stream = Stream::new(tensors.len(), size, capacity, machine.options.ranks > 1);
    for (queue, tensor) in tensors.into_iter().enumerate() {
        // All that the caller gives, also beyond the bound.
        for element in tensor.into_parts().0.chunks_exact(size) {
            stream.push(queue, element, None);
        }
    }
    machine.store.allocate_stream(stream).with(0, packed(extents))
}

/// The ranks that hold the elements of an argument.
fn placement(
    container: &Container,
    layout: Option<&Strided>,
    symbols: &BTreeMap<Symbol, i64>,
    ranks: u32,
) -> Result<Placement, ArgumentError> {
    if ranks <= 1 {
        return Ok(Placement::Of(None));
    }
    let name = || container.name.clone();
    let mut value = |expr: &Expr| {
        let error = |error| ArgumentError::BadShape { name: name(), error };
        expr.eval(&|symbol| symbols.get(symbol).copied()).map_err(error)
    };
    let grid = match DistributionCode::new(&container.distribution, &mut value)? {
        DistributionCode::Replicated => return Ok(Placement::Replicated),
        DistributionCode::Local => {
            let what = "a container of each rank's own";
            return Err(ArgumentError::Unsupported { name: name(), what });
        }
        DistributionCode::Blocks(grid) => grid,
    };
    let (dims, offset, count) = match layout {
        Some(layout) => layout.clone(),
        None => {
            let shape = container.shape().iter().map(value).collect::<Result<Vec<i64>, _>>()?;
            let count = shape.iter().fold(1, |count: i64, extent| count.saturating_mul(*extent));
            (packed(&shape), 0, usize::try_from(count).unwrap_or(0))
        }
    };
    let blocks = Blocks::new(&grid, offset, &dims, count, ranks)
        .map_err(|what| ArgumentError::BadDistribution { name: name(), what })?;
    Ok(Placement::Blocks(Box::new(blocks)))
}

type Strided = (Vec<Dimension>, i64, usize);

/// The layout of an argument that is not packed, with its values.
fn strides(container: &Container, symbols: &BTreeMap<Symbol, i64>) -> Result<Option<Strided>, ArgumentError> {
    let Some(layout) = container.kind.layout().filter(|layout| !Layout::is_packed(layout)) else {
        return Ok(None);
    };
    let value = |expr: &Expr| {
        let error = |error| ArgumentError::BadShape { name: container.name.clone(), error };
        expr.eval(&|symbol| symbols.get(symbol).copied()).map_err(error)
    };
    let mut dims = Vec::with_capacity(layout.shape.len());
    let (mut least, mut most) = (value(&layout.offset)?, value(&layout.offset)?);
    for (extent, stride) in layout.shape.iter().zip(&layout.strides) {
        let (extent, stride) = (value(extent)?, value(stride)?);
        let reach = (extent - 1).max(0).saturating_mul(stride);
        least = least.saturating_add(reach.min(0));
        most = most.saturating_add(reach.max(0));
        dims.push(Dimension::new(extent, stride));
    }
    let total = value(&layout.total_size)?;
    let is_inside = dims.iter().any(|dim| dim.extent == 0) || least >= 0 && most < total;
    match usize::try_from(total) {
        Ok(size) if is_inside && total < 1 << 40 => Ok(Some((dims, value(&layout.offset)?, size))),
        Ok(_) | Err(_) => {
            let what = "an array whose strides lead out of its size";
            Err(ArgumentError::Unsupported { name: container.name.clone(), what })
        }
    }
}

/// Row-major elements at the places of a layout; what lies between is undefined.
fn spread(
    data: &[u8],
    defined: Option<Vec<bool>>,
    size: usize,
    dims: &[Dimension],
    offset: i64,
    total: usize,
) -> (Vec<u8>, Vec<bool>) {
    let (mut bytes, mut known) = (vec![0; total * size], vec![false; total]);
    for (k, element) in data.chunks_exact(size).enumerate() {
        let place = place(k as i64, dims, offset);
        bytes[place * size..(place + 1) * size].copy_from_slice(element);
        known[place] = defined.as_ref().is_none_or(|defined| defined[k]);
    }
    (bytes, known)
}

/// Position of the `k`-th element in row-major order.
fn place(mut k: i64, dims: &[Dimension], offset: i64) -> usize {
    let mut place = offset;
    for dim in dims.iter().rev() {
        place += k % dim.extent * dim.stride;
        k /= dim.extent;
    }
    usize::try_from(place).unwrap_or(0)
}

/// Moves an argument out of memory again.
pub(super) fn give_back(
    sdfg: &Sdfg,
    machine: &mut Machine<'_>,
    arguments: &mut Arguments,
    container: usize,
    bound: Bound,
) {
    let Some((_, container)) = sdfg.containers().nth(container) else { return };
    let (element, size) = (container.element, container.element.size());
    let tensor = match &bound.binding {
        Binding::Elements(handle) => {
            let (data, defined) = machine.store.take(handle);
            let count: i64 = bound.shape.iter().product();
            if data.len() == count as usize * size && container.kind.layout().is_none_or(Layout::is_packed) {
                Tensor::from_parts(element, bound.shape, data, defined)
            } else {
                let places: Vec<usize> = (0..count).map(|k| place(k, &handle.dims, handle.offset)).collect();
                let bytes = places.iter().flat_map(|at| data[at * size..(at + 1) * size].to_vec()).collect();
                let known =
                    defined.map(|defined| places.iter().map(|at| defined[*at]).collect::<Vec<bool>>());
                let known = known.filter(|known| known.contains(&false));
                Tensor::from_parts(element, bound.shape, bytes, known)
            }
        }
        Binding::Queues(handle) => {
            for (queue, name) in queue_names(&container.name, &bound.shape).enumerate() {
                let (mut data, mut next) = (Vec::new(), Vec::new());
                while machine.store.pop(handle, queue, &mut next).is_ok_and(|taken| taken.is_some()) {
                    data.extend_from_slice(&next);
                }
                let count = (data.len() / size) as i64;
                arguments.set(name, Tensor::from_parts(element, vec![count], data, None));
            }
            machine.store.release_stream(handle);
            return;
        }
        Binding::Nothing => return,
    };
    arguments.set(container.name.clone(), tensor);
}
