//! Run-time checks before accesses, in checked code.
//!
//! A checked plan has a [`Check`] for every memlet. Each transient has a companion buffer that records which
//! of its elements were written ([`Buffer::defined`](super::Buffer::defined)). A failed check ends the run
//! with a status and a message.

use std::fmt;

use sdfg::symbolic::Expr;

use super::parts::Part;
use super::print::Printer;

/// The elements of a container that a memlet names: they lie in its shape.
///
/// A memlet of which one dimension is empty names nothing, and passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The memlet and where it is, for messages.
    pub memlet: String,
    /// One for each dimension of the container.
    pub dimensions: Vec<CheckedDimension>,
    /// The same elements in the containers of the memlets around whose bounds are deferred, which may reach beyond these containers.
    pub deferred: Vec<Check>,
}

/// Indices along one dimension of a container: `begin`, `begin + step`, ... and at each of them as many as a tile has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedDimension {
    /// The first index.
    pub begin: Expr,
    /// Number of positions; `None` for a single index, which pointers do not count.
    pub count: Option<Expr>,
    /// Distance of positions.
    pub step: Expr,
    /// Indices at each position.
    pub tile: Expr,
    /// Extent of the container: indices are below it.
    pub extent: Expr,
}

impl Check {
    /// Every expression in it.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        let deferred = self.deferred.iter().flat_map(|each| &each.dimensions);
        self.dimensions.iter().chain(deferred).flat_map(CheckedDimension::expressions)
    }

    pub(super) fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        self.expressions().for_each(|expression| visit(Part::Evaluates(expression)));
    }

    pub(super) fn print(&self, to: &mut Printer<'_, '_, '_>) -> fmt::Result {
        let deferred: String = self.deferred.iter().map(|each| format!(" within {each}")).collect();
        to.line(format_args!("check {}: {self}{deferred}", self.memlet))
    }

    /// The check of element number `k` of the memlet, in row-major order.
    pub fn element(&self, k: &Expr) -> Check {
        let mut inner = Expr::one();
        let mut dimensions = self.dimensions.clone();
        for dimension in dimensions.iter_mut().rev() {
            if let Some(count) = dimension.count.take() {
                let tile = std::mem::replace(&mut dimension.tile, Expr::one());
                let count = &count * &tile;
                let number = k.floor_div(&inner).modulo(&count);
                let (position, rest) = (number.floor_div(&tile), number.modulo(&tile));
                dimension.begin = &dimension.begin + &(&position * &dimension.step) + rest;
                inner = inner * count;
            }
        }
        let deferred = self.deferred.iter().map(|each| each.element(k)).collect();
        Check { memlet: self.memlet.clone(), dimensions, deferred }
    }
}

/// Messages of failed checks, as formats of C whose numbers are `%ld`: the index or position, and then the extent or size.
pub mod messages {
    use sdfg::symbolic::Expr;

    /// An index that is not below an extent; `place` says of what, or in what.
    pub fn out_of_bounds(dimension: usize, place: &str) -> String {
        let place = escaped(place);
        format!("out of bounds: index %ld in dimension {dimension} {place}, whose extent is %ld")
    }

    /// A position in memory behind the elements of a buffer.
    pub fn no_element(buffer: &str) -> String {
        format!("out of bounds: element %ld of `{buffer}`, which has %ld")
    }

    /// An element of a buffer that nothing wrote before `reader` uses its value.
    pub fn never_written(buffer: &str, reader: Option<&str>) -> String {
        let reader = reader.map_or(String::new(), |reader| format!(": {} reads it", escaped(reader)));
        format!(
            "undefined read: element %ld of `{buffer}`, in the order of memory, was never written{reader}"
        )
    }

    /// An index expression without a value.
    pub fn no_index(expression: &Expr) -> String {
        let text = escaped(&expression.to_string());
        format!("undefined index: `{text}` does not fit 64 bits, or is no integer")
    }

    /// A text as it is written in a format.
    fn escaped(text: &str) -> String {
        text.replace('%', "%%")
    }
}

/// Its indices along each dimension, and the extents that they are held against.
impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dimensions: Vec<String> = self.dimensions.iter().map(CheckedDimension::to_string).collect();
        write!(f, "[{}]", dimensions.join(", "))
    }
}

impl fmt::Display for CheckedDimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.begin)?;
        if let Some(count) = &self.count {
            write!(f, "({count} by {})", self.step)?;
        }
        if self.tile != Expr::one() {
            write!(f, " in tiles of {}", self.tile)?;
        }
        write!(f, " of {}", self.extent)
    }
}

impl CheckedDimension {
    fn expressions(&self) -> impl Iterator<Item = &Expr> {
        [&self.begin, &self.step, &self.tile, &self.extent].into_iter().chain(&self.count)
    }
}
