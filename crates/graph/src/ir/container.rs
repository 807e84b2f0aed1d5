//! Containers of data (paper section 3.1, Appendix A.1 "data" and "stream").

use std::collections::BTreeSet;

use num_traits::Signed;
use sdfg_language::dtype::ElementType;
use sdfg_language::symbolic::{Expr, Symbol};
use sdfg_language::value::Value;

use super::distribution::Distribution;
use super::source::SourceLoc;
use super::storage::{Lifetime, Storage};

/// A named, typed holder of data.
///
/// Two containers never share memory, except a view with what it views and a reference with what it is set to.
#[derive(Clone, Debug)]
pub struct Container {
    /// Name, unique among containers and symbols of its SDFG.
    pub name: String,
    /// Type of one element.
    pub element: ElementType,
    /// Kind of container, with its shape.
    pub kind: ContainerKind,
    /// Whether it lives only inside the SDFG; others are arguments, in order of declaration.
    pub transient: bool,
    /// The memory it is in.
    pub storage: Storage,
    /// Lifetime of a transient.
    pub lifetime: Lifetime,
    /// Distribution over ranks.
    pub distribution: Distribution,
    /// Contents of a constant, in row-major order; a constant is never written.
    pub constant: Option<Vec<Value>>,
    /// Source location of its declaration.
    pub loc: Option<SourceLoc>,
}

/// The kinds of containers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContainerKind {
    /// One element.
    Scalar,
    /// An array of elements in memory.
    Array(Layout),
    /// An array of queues, each first-in first-out.
    Stream {
        /// Shape of the array of queues; empty for one queue.
        shape: Vec<Expr>,
        /// Number of elements in a queue before a push waits; `None` is unbounded.
        capacity: Option<Expr>,
    },
    /// Another way to index a part of another container: bound by a [`Flow::Bind`](super::memlet::Flow) edge in every
    /// state that uses it.
    View(Layout),
    /// A pointer that a [`Flow::Bind`](super::memlet::Flow) edge sets and that keeps its target until set again.
    Reference(Layout),
}

/// Shape of an array and where its elements lie, all counted in elements.
///
/// Element `(i0, i1, ...)` lies at `offset + i0 * strides[0] + i1 * strides[1] + ...` of an allocation of `total_size`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Extent of each dimension, never negative.
    pub shape: Vec<Expr>,
    /// Distance of neighbours along each dimension.
    pub strides: Vec<Expr>,
    /// Position of the element with all indices zero.
    pub offset: Expr,
    /// Number of elements that are allocated.
    pub total_size: Expr,
}

impl Layout {
    /// The packed row-major (C) layout of a shape.
    pub fn packed(shape: Vec<Expr>) -> Self {
        let mut strides = vec![Expr::one(); shape.len()];
        let mut size = Expr::one();
        for (stride, extent) in strides.iter_mut().zip(&shape).rev() {
            *stride = size.clone();
            size = &size * extent;
        }
        Layout { shape, strides, offset: Expr::zero(), total_size: size }
    }

    /// Elements of memory up to the last one that an index reaches. A layout whose size is less is only right for memory that has more.
    pub fn span(&self) -> Expr {
        let along = self
            .shape
            .iter()
            .zip(&self.strides)
            .map(|(extent, stride)| Expr::max(&((extent - Expr::one()) * stride), &Expr::zero()));
        along.fold(&self.offset + Expr::one(), |sum, distance| sum + distance)
    }

    /// Whether this is the packed row-major layout of its shape.
    pub fn is_packed(&self) -> bool {
        *self == Layout::packed(self.shape.clone())
    }
}

impl ContainerKind {
    /// Shape of the array of elements or queues; empty for a scalar.
    pub fn shape(&self) -> &[Expr] {
        match self {
            ContainerKind::Scalar => &[],
            ContainerKind::Stream { shape, .. } => shape,
            ContainerKind::Array(layout) | ContainerKind::View(layout) | ContainerKind::Reference(layout) => {
                &layout.shape
            }
        }
    }

    /// Layout of its elements; `None` for scalars and streams.
    pub fn layout(&self) -> Option<&Layout> {
        match self {
            ContainerKind::Array(layout) | ContainerKind::View(layout) | ContainerKind::Reference(layout) => {
                Some(layout)
            }
            ContainerKind::Scalar | ContainerKind::Stream { .. } => None,
        }
    }

    /// Symbols that decide how large it is and where elements lie, or how many queues there are and what they hold.
    pub fn size_symbols(&self) -> BTreeSet<Symbol> {
        let mut sizes: Vec<&Expr> = self.shape().iter().collect();
        match self {
            ContainerKind::Scalar => {}
            ContainerKind::Stream { capacity, .. } => sizes.extend(capacity),
            ContainerKind::Array(layout) | ContainerKind::View(layout) | ContainerKind::Reference(layout) => {
                sizes.extend(layout.strides.iter().chain([&layout.offset, &layout.total_size]));
            }
        }
        sizes.into_iter().flat_map(Expr::free_symbols).collect()
    }

    /// Layout of its elements, for modification; `None` for scalars and streams.
    pub fn layout_mut(&mut self) -> Option<&mut Layout> {
        match self {
            ContainerKind::Array(layout) | ContainerKind::View(layout) | ContainerKind::Reference(layout) => {
                Some(layout)
            }
            ContainerKind::Scalar | ContainerKind::Stream { .. } => None,
        }
    }
}

impl Container {
    /// An argument of the given kind with default properties.
    pub fn new(name: impl Into<String>, element: ElementType, kind: ContainerKind) -> Self {
        Container {
            name: name.into(),
            element,
            kind,
            transient: false,
            storage: Storage::Default,
            lifetime: Lifetime::Scope,
            distribution: Distribution::Replicated,
            constant: None,
            loc: None,
        }
    }

    /// Shape of the array of elements or queues; empty for a scalar.
    pub fn shape(&self) -> &[Expr] {
        self.kind.shape()
    }

    /// The symbols that are sizes by their place in the shape ([`size_symbols`]).
    pub fn size_symbols(&self) -> BTreeSet<Symbol> {
        size_symbols(self.shape()).into_iter().collect()
    }

    /// Whether this is an array of queues.
    pub fn is_stream(&self) -> bool {
        matches!(self.kind, ContainerKind::Stream { .. })
    }

    /// Whether the container names memory of another one.
    pub fn is_alias(&self) -> bool {
        matches!(self.kind, ContainerKind::View(_) | ContainerKind::Reference(_))
    }

    /// Whether it is passed by the caller: not transient and not a constant.
    pub fn is_argument(&self) -> bool {
        !self.transient && self.constant.is_none()
    }
}

/// The symbols that are sizes by their place in a shape: those of every extent that subtracts no symbol, once for each.
///
/// The extent `end - begin` tells the sign of neither: ranges may begin below zero.
pub fn size_symbols(shape: &[Expr]) -> Vec<Symbol> {
    let is_subtracted = |extent: &Expr, symbol: &Symbol| {
        extent
            .linear_in(symbol)
            .is_some_and(|(coefficient, _)| coefficient.as_int().is_some_and(|coefficient| coefficient < 0))
    };
    let mut sizes = Vec::new();
    for extent in shape {
        // A symbol that is subtracted has a negative coefficient: most extents have none.
        if extent.view().terms.iter().all(|term| term.coefficient().is_positive()) {
            match extent.as_symbol() {
                Some(symbol) => sizes.push(symbol.clone()),
                None => sizes.extend(extent.free_symbols()),
            }
            continue;
        }
        let symbols = extent.free_symbols();
        if !symbols.iter().any(|symbol| is_subtracted(extent, symbol)) {
            sizes.extend(symbols);
        }
    }
    sizes
}
