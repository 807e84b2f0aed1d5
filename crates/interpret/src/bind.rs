//! Transfer of arguments into the memory of a run and back.

use std::collections::BTreeMap;

use sdfg_graph::ir::{Container, ContainerKind, Distribution, Layout, Sdfg};
use sdfg_language::symbolic::{Expr, Symbol};

use super::arguments::{ArgumentError, Arguments};
use super::machine::Machine;
use super::memory::{Binding, Contents, Dimension, packed};
use super::ranks::{Blocks, Placement};
use super::stream::Stream;
use crate::tensor::Tensor;

/// An argument in memory.
pub(super) struct Bound {
    pub(super) binding: Binding,
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
            let grid = grid(container, symbols, machine.options.ranks)?;
            let capacity = capacity(container, symbols)?;
            layouts.push((number, container, strides(container, symbols)?, grid, capacity));
        }
    }
    let mut bound = Vec::new();
    for (number, container, layout, grid, capacity) in layouts {
        let Some(tensor) = arguments.take(&container.name) else { continue };
        let shape = tensor.shape().to_vec();
        let (size, checked) = (container.element.size(), machine.options.check_conflicts);
        let (data, defined) = tensor.into_parts();
        let count = data.len() / size;
        let memory = machine.program.procedures[0].containers[number].memory;
        let binding = match (&container.kind, layout) {
            (ContainerKind::Stream { .. }, _) => {
                let mut stream = Stream::new(1, size, capacity, machine.options.ranks > 1);
                // All that the caller gives, also beyond the bound.
                for element in data.chunks_exact(size) {
                    stream.push(0, element, None);
                }
                let handle = machine.store.allocate_stream(stream);
                Binding::Queues(handle)
            }
            (_, Some((dims, offset, total))) => {
                let (data, defined) = spread(&data, defined, size, &dims, offset, total);
                let contents = Contents::Bytes(data, Some(defined));
                let placement = placement(grid, offset, &dims, machine.options.ranks);
                let handle = machine.store.allocate(size, total, contents, memory, checked, placement);
                Binding::Elements(handle.with(offset, dims))
            }
            (_, None) => {
                let contents = Contents::Bytes(data, defined);
                let dims = if container.shape().is_empty() { Vec::new() } else { packed(&shape) };
                let placement = placement(grid, 0, &dims, machine.options.ranks);
                let handle = machine.store.allocate(size, count, contents, memory, checked, placement);
                Binding::Elements(handle.with(0, dims))
            }
        };
        bound.push((number, Bound { binding, shape }));
    }
    Ok(bound)
}

/// Number of elements in the queue of an argument before a push waits; `None` for other containers and
/// unbounded streams.
fn capacity(container: &Container, symbols: &BTreeMap<Symbol, i64>) -> Result<Option<usize>, ArgumentError> {
    let ContainerKind::Stream { capacity: Some(capacity), .. } = &container.kind else { return Ok(None) };
    let capacity = capacity.eval(&|symbol| symbols.get(symbol).copied());
    let capacity =
        capacity.map_err(|error| ArgumentError::BadShape { name: container.name.clone(), error })?;
    Ok(Some(usize::try_from(capacity).unwrap_or(0)))
}

/// The grid over which an argument is cut into blocks, if it is.
fn grid(
    container: &Container,
    symbols: &BTreeMap<Symbol, i64>,
    ranks: u32,
) -> Result<Option<Vec<i64>>, ArgumentError> {
    let name = || container.name.clone();
    match &container.distribution {
        Distribution::Local if ranks > 1 => {
            Err(ArgumentError::Unsupported { name: name(), what: "a container of each rank's own" })
        }
        Distribution::Replicated | Distribution::Local => Ok(None),
        Distribution::Block { grid } => {
            let error = |error| ArgumentError::BadShape { name: name(), error };
            let parts = grid.iter().map(|parts| parts.eval(&|s| symbols.get(s).copied()).map_err(error));
            parts.collect::<Result<_, _>>().map(Some)
        }
    }
}

fn placement(grid: Option<Vec<i64>>, offset: i64, dims: &[Dimension], ranks: u32) -> Placement {
    match grid {
        Some(grid) if ranks > 1 => {
            Placement::Blocks(Box::new(Blocks { offset, dims: dims.to_vec(), grid, ranks }))
        }
        None if ranks > 1 => Placement::Replicated,
        Some(_) | None => Placement::Anywhere,
    }
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
            let (mut data, mut next) = (Vec::new(), Vec::new());
            while machine.store.pop(handle, 0, &mut next).is_ok_and(|taken| taken.is_some()) {
                data.extend_from_slice(&next);
            }
            machine.store.release_stream(handle);
            Tensor::from_parts(element, vec![(data.len() / size) as i64], data, None)
        }
        Binding::Nothing => return,
    };
    arguments.set(container.name.clone(), tensor);
}
