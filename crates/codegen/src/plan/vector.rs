//! Level of vectors: iterations on the lanes of vector registers, and the access pattern of each access.
//!
//! Nothing here is a hint. A back end prints one vector instruction for each operation, or one instruction
//! per lane where a [`LaneAccess`] requires it.

use std::fmt;

use sdfg::ir::ConflictResolution;
use sdfg::symbolic::Expr;

use super::buffer::BufferId;
use super::compute::Compute;
use super::parts::{Part, PartMut};
use super::print::Printer;
use super::statement::Statement;

/// Distribution of a one-dimensional loop to the lanes of vectors. The body of the loop contains only
/// computations on lanes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vector {
    /// Iterations that run together, one on each lane; the loop variable has the value of the first of them.
    pub width: u32,
    /// Bytes of the vectors that memory is accessed by, one after the other, and that functions of vectors take.
    pub register_bytes: u64,
    /// Whether vectors leave an iteration to the rest, whatever their number: with every other element they load the one behind it.
    pub ahead: bool,
    /// One iteration on its own, for those at the end that fill no vector; empty if there are none.
    pub rest: Vec<Statement>,
    /// Buffers on the stack of which each lane has its own: element `e` of lane `l` is element `e * width + l`. The rest uses the first
    /// elements for the lane that it is.
    pub privates: Vec<BufferId>,
    /// Single elements that each lane combines into in a register of its own; the lanes' values are combined into the element after the
    /// last vector.
    pub folds: Vec<Fold>,
}

/// An element into which the iterations of a loop only combine.
#[derive(Clone, Debug, PartialEq)]
pub struct Fold {
    /// A buffer that holds it alone, outside of the loop.
    pub cell: BufferId,
    /// The resolution; it has an identity.
    pub resolution: ConflictResolution,
}

/// A tasklet that runs on every lane.
#[derive(Clone, Debug, PartialEq)]
pub struct VectorCompute {
    /// The tasklet, as it is for one iteration. Its loops have bounds that all lanes share, and it pushes nothing.
    pub compute: Compute,
    /// For each binding, where the elements of the lanes are.
    pub accesses: Vec<LaneAccess>,
}

/// Locations of the lanes' elements of a connector; `offset` is that of the connector's location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaneAccess {
    /// All lanes have the same one.
    Uniform,
    /// Neighbours in memory, in the order of lanes.
    Contiguous,
    /// Neighbours in memory, the last lane first.
    Reversed,
    /// So many elements apart.
    Strided(Expr),
    /// Each lane finds its own: the offset is computed for every lane.
    Indexed,
    /// In memory of the lane's own, at an offset that all lanes share.
    Own,
    /// In memory of the lane's own, at an offset of its own.
    OwnIndexed,
    /// The lanes write one after the other, in their order: several may have the same element.
    InOrder,
    /// In the register of the fold of this position.
    Fold(usize),
}

impl Vector {
    pub(super) fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        visit(Part::Body(&self.rest));
        self.folds.iter().for_each(|fold| visit(Part::Touches(fold.cell)));
    }

    pub(super) fn parts_mut(&mut self, visit: &mut dyn FnMut(PartMut<'_>)) {
        visit(PartMut::Body(&mut self.rest));
    }

    /// The loop as text: what a lane has, the vectors, and what is left over.
    pub(super) fn print(
        &self,
        (ranges, independent): (&str, &str),
        body: &[Statement],
        to: &mut Printer<'_, '_, '_>,
    ) -> fmt::Result {
        to.braced(format_args!("vector {} {ranges}{independent}", self.width), |to| {
            to.line(format_args!("registers of {} bytes", self.register_bytes))?;
            if self.ahead {
                to.line(format_args!("leaves an iteration to the rest"))?;
            }
            for private in &self.privates {
                to.line(format_args!("private {}", to.name(*private)))?;
            }
            for fold in &self.folds {
                to.line(format_args!("fold {} into {}", fold.resolution.name(), to.name(fold.cell)))?;
            }
            to.statements(body)
        })?;
        if self.rest.is_empty() { Ok(()) } else { to.nested("rest", &self.rest) }
    }
}

impl VectorCompute {
    pub(super) fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        self.compute.parts(visit);
        for way in &self.accesses {
            match way {
                LaneAccess::Strided(stride) => visit(Part::Evaluates(stride)),
                LaneAccess::Uniform
                | LaneAccess::Contiguous
                | LaneAccess::Reversed
                | LaneAccess::Indexed
                | LaneAccess::Own
                | LaneAccess::OwnIndexed
                | LaneAccess::InOrder
                | LaneAccess::Fold(_) => {}
            }
        }
    }

    pub(super) fn parts_mut(&mut self, visit: &mut dyn FnMut(PartMut<'_>)) {
        self.compute.parts_mut(visit);
    }

    pub(super) fn print(&self, to: &mut Printer<'_, '_, '_>) -> fmt::Result {
        let accesses: Vec<String> = self.accesses.iter().map(LaneAccess::to_string).collect();
        self.compute.print_as("lanes", &accesses, to)
    }
}

impl fmt::Display for LaneAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LaneAccess::Uniform => f.write_str("uniform"),
            LaneAccess::Contiguous => f.write_str("contiguous"),
            LaneAccess::Reversed => f.write_str("reversed"),
            LaneAccess::Strided(stride) => write!(f, "strided {stride}"),
            LaneAccess::Indexed => f.write_str("indexed"),
            LaneAccess::Own => f.write_str("own"),
            LaneAccess::OwnIndexed => f.write_str("own indexed"),
            LaneAccess::InOrder => f.write_str("in order"),
            LaneAccess::Fold(position) => write!(f, "fold {position}"),
        }
    }
}
