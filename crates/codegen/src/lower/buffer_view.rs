//! Binding of a container name during lowering: a strided part of a buffer.
//!
//! Nested SDFGs and views name parts of memory that has another name outside. All positions are translated to
//! the root buffer. Their indices in the root's dimensions are kept as well, because the independence
//! analysis works on root dimensions.

use sdfg::dtype::ElementType;
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::Expr;

use crate::plan::{BufferId, Location, Stride, Strided, Tiled};

/// A strided part of a buffer with a shape.
#[derive(Clone, Debug)]
pub(super) struct BufferView {
    /// Element with all indices zero.
    pub(super) origin: Location,
    /// Type of one element.
    pub(super) element: ElementType,
    /// Dimensions.
    pub(super) axes: Vec<Axis>,
    /// Index of the origin in the dimensions of the buffer; `None` if the part has been reshaped.
    pub(super) root: Option<Vec<Expr>>,
    /// Deferred bounds of the memlets that it is a part of; noted for checked code only.
    pub(super) deferred: Vec<DeferredBounds>,
}

/// A memlet that may reach beyond its container: the elements of a part of it are looked at where they are accessed.
#[derive(Clone, Debug)]
pub(super) struct DeferredBounds {
    /// The memlet and where it is, for messages.
    pub(super) memlet: String,
    /// One for each dimension of the container.
    pub(super) sides: Vec<BoundedDimension>,
}

/// One dimension of the container of [`DeferredBounds`].
#[derive(Clone, Debug)]
pub(super) struct BoundedDimension {
    /// Index of the part's origin.
    pub(super) begin: Expr,
    /// Dimension of the part that it runs along, and by how many indices; `None` if all of the part has one index.
    pub(super) axis: Option<(usize, Expr)>,
    /// Extent of the container.
    pub(super) extent: Expr,
}

/// One dimension of a [`BufferView`].
#[derive(Clone, Debug)]
pub(super) struct Axis {
    /// Number of indices.
    pub(super) extent: Expr,
    /// Elements between neighbours.
    pub(super) stride: Expr,
    /// Dimension of the buffer that it runs along, and by how many indices of it.
    pub(super) root: Option<(usize, Expr)>,
    /// Whether it runs through the elements of the tiles whose positions are the dimension before: for indices, both are one.
    pub(super) tile: bool,
}

impl BufferView {
    /// All of a buffer with the given layout.
    pub(super) fn whole(
        buffer: BufferId,
        element: ElementType,
        shape: &[Expr],
        strides: &[Expr],
        offset: &Expr,
    ) -> Self {
        let axes = shape.iter().zip(strides).enumerate();
        BufferView {
            origin: Location { buffer, offset: offset.clone() },
            element,
            axes: axes
                .map(|(d, (extent, stride))| Axis {
                    extent: extent.clone(),
                    stride: stride.clone(),
                    root: Some((d, Expr::one())),
                    tile: false,
                })
                .collect(),
            root: Some(vec![Expr::zero(); shape.len()]),
            deferred: Vec::new(),
        }
    }

    /// The part that a subset over the plan's variables selects. Every dimension stays, single indices with extent one; a
    /// tiled range becomes two dimensions, the positions and the elements at each.
    pub(super) fn select(&self, subset: &Subset) -> BufferView {
        let mut part = self.clone();
        part.axes.clear();
        for side in part.deferred.iter_mut().flat_map(|each| &mut each.sides) {
            let Some((axis, step)) = &mut side.axis else { continue };
            let Some(range) = subset.0.get(*axis) else { continue };
            side.begin = &side.begin + &(&range.begin * &*step);
            *step = &*step * &range.step;
        }
        for (axis, range) in self.axes.iter().zip(&subset.0) {
            let tile = Axis { extent: range.tile.clone(), tile: true, ..axis.clone() };
            let mut axis = axis.clone();
            part.origin.offset = &part.origin.offset + &(&range.begin * &axis.stride);
            if let (Some(root), Some((d, step))) = (&mut part.root, &axis.root) {
                root[*d] = &root[*d] + &(&range.begin * step);
            }
            axis.extent = if range.is_index() { Expr::one() } else { range.steps() };
            axis.stride = &axis.stride * &range.step;
            if let Some((_, step)) = &mut axis.root {
                *step = &*step * &range.step;
            }
            part.axes.push(axis);
            if !range.tile.is_one() {
                part.axes.push(tile);
            }
        }
        part
    }

    /// Without the dimensions at the given positions of a mask, which have extent one.
    pub(super) fn without(mut self, dropped: &[bool]) -> BufferView {
        for side in self.deferred.iter_mut().flat_map(|each| &mut each.sides) {
            side.axis = side.axis.take().and_then(|(axis, step)| {
                let is_kept = !dropped.get(axis).copied().unwrap_or(false);
                let before = dropped.iter().take(axis).filter(|dropped| **dropped).count();
                is_kept.then(|| (axis - before, step))
            });
        }
        let mut dropped = dropped.iter();
        self.axes.retain(|_| !dropped.next().copied().unwrap_or(false));
        self
    }

    /// As indices go through it.
    pub(super) fn strided(&self) -> Strided {
        let mut strided = Strided { origin: self.origin.clone(), extents: Vec::new(), strides: Vec::new() };
        let mut axes = self.axes.iter().peekable();
        while let Some(axis) = axes.next() {
            let (extent, stride) = match axes.next_if(|next| next.tile) {
                None => (axis.extent.clone(), Stride::Even(axis.stride.clone())),
                Some(tile) => {
                    let (between, within) = (axis.stride.clone(), tile.stride.clone());
                    let length = tile.extent.clone();
                    let extent = &Expr::max(&axis.extent, &Expr::zero()) * &length;
                    (extent, Stride::Tiled(Box::new(Tiled { length, between, within })))
                }
            };
            strided.extents.push(extent);
            strided.strides.push(stride);
        }
        strided
    }

    /// The indices in the dimensions of the buffer; `None` if they are not known.
    pub(super) fn root_subset(&self) -> Option<Subset> {
        let root = self.root.as_ref()?;
        let mut ranges: Vec<Range> = root.iter().map(|index| Range::index(index.clone())).collect();
        for axis in &self.axes {
            let (d, step) = axis.root.as_ref()?;
            if axis.extent.is_one() {
                continue;
            }
            if !ranges[*d].is_index() {
                // The positions and the elements of a tile run along one dimension.
                return None;
            }
            let begin = root[*d].clone();
            // The end is one step behind the last index, so that a negative step stays a proper range.
            let end = &begin + &(&axis.extent * step);
            ranges[*d] = Range::new(begin, end).with_step(step.clone());
        }
        Some(Subset(ranges))
    }
}
