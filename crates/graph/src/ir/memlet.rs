//! Memlets: the data that moves along an edge (paper section 3, Appendix A.1 "memlet").
//!
//! The direction is part of the type, and both ends of a copy are explicit, so the container of each subset
//! is unambiguous. The innermost edge of a memlet path is authoritative. Propagation derives the outer edges
//! from it, unless a user declared an over-approximation.

use sdfg_language::dtype::ElementType;
use sdfg_language::subset::Subset;
use sdfg_language::symbolic::Expr;
use sdfg_language::syntax::Lambda;

use super::ids::ContainerId;

/// The annotation of one edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memlet {
    /// Data movement, with its direction.
    pub flow: Flow,
    /// Number of elements that move in each execution of the edge.
    pub volume: Volume,
    /// Whether a user wrote this outer segment; propagation leaves it as it is.
    pub declared: bool,
}

/// Data movement of an edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Nothing: the destination waits for the source (the paper's empty memlet).
    Order,
    /// From a container to a connector.
    Read(Access),
    /// From a connector to a container.
    Write {
        /// The container and the part of it.
        to: Access,
        /// Resolution of a write to an element that was written before.
        resolution: Option<ConflictResolution>,
    },
    /// From a container to a container. Elements pair in row-major order after dimensions of extent one are dropped.
    Copy {
        /// The read subset.
        from: Access,
        /// The written subset.
        to: Access,
        /// Resolution of a write to an element that was written before.
        resolution: Option<ConflictResolution>,
    },
    /// One value from an output connector of a code node straight to an input connector of another.
    Value,
    /// Makes a view or reference name a part of a container. It moves nothing.
    Bind(Access),
}

/// A part of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The container.
    pub container: ContainerId,
    /// Its subset.
    pub place: AccessedPart,
}

/// Part of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessedPart {
    /// Elements of an array, scalar, view or reference.
    Elements(Subset),
    /// The ends of queues. How many elements are pushed or popped is the memlet's volume.
    Queues(Subset),
}

/// Number of moved elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Volume {
    /// Exactly so many.
    Exact(Expr),
    /// At most so many: which of them is decided while running.
    AtMost(Expr),
    /// Any number.
    Dynamic,
}

impl Volume {
    /// The number or bound, if there is one.
    pub fn bound(&self) -> Option<&Expr> {
        match self {
            Volume::Exact(expr) | Volume::AtMost(expr) => Some(expr),
            Volume::Dynamic => None,
        }
    }

    /// Whether the number is decided while running.
    pub fn is_dynamic(&self) -> bool {
        !matches!(self, Volume::Exact(_))
    }
}

/// Resolution of a write that meets an earlier value (paper section 3.3, "write-conflict resolution").
///
/// Each is a function of the old and the new value. All but [`Replace`](ConflictResolution::Replace) and perhaps
/// [`Custom`](ConflictResolution::Custom) are commutative and associative up to rounding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConflictResolution {
    /// `old + new`.
    Sum,
    /// `old * new`.
    Product,
    /// The smaller.
    Min,
    /// The larger.
    Max,
    /// Both are true.
    And,
    /// One is true.
    Or,
    /// Exactly one is true.
    Xor,
    /// Bitwise and.
    BitAnd,
    /// Bitwise or.
    BitOr,
    /// Bitwise exclusive or.
    BitXor,
    /// The (value, index) pair, held as a two-lane element, with the smaller value; the smaller index on a tie.
    MinLocation,
    /// The (value, index) pair, held as a two-lane element, with the larger value; the smaller index on a tie.
    MaxLocation,
    /// The new value, whichever comes last: the program declares that any one will do.
    Replace,
    /// Any pure function of the old and the new value, in this order.
    Custom(Lambda),
}

impl ConflictResolution {
    /// Whether each lane of an element, or each part of a complex number, is combined on its own, so that one atomic step for each
    /// suffices.
    pub fn is_by_parts(&self, element: ElementType) -> bool {
        use ConflictResolution::{Custom, MaxLocation, MinLocation, Sum};
        let takes_all = element.lanes() > 1 && matches!(self, MinLocation | MaxLocation | Custom(_));
        let takes_parts = element.lane().is_complex() && !matches!(self, Sum);
        !takes_all && !takes_parts
    }
}

impl ConflictResolution {
    /// The built-in resolutions, in order of declaration.
    pub const NAMED: [ConflictResolution; 13] = [
        ConflictResolution::Sum,
        ConflictResolution::Product,
        ConflictResolution::Min,
        ConflictResolution::Max,
        ConflictResolution::And,
        ConflictResolution::Or,
        ConflictResolution::Xor,
        ConflictResolution::BitAnd,
        ConflictResolution::BitOr,
        ConflictResolution::BitXor,
        ConflictResolution::MinLocation,
        ConflictResolution::MaxLocation,
        ConflictResolution::Replace,
    ];

    /// The name in text programs and JSON; `custom` for a user's own.
    pub const fn name(&self) -> &'static str {
        match self {
            ConflictResolution::Sum => "sum",
            ConflictResolution::Product => "product",
            ConflictResolution::Min => "min",
            ConflictResolution::Max => "max",
            ConflictResolution::And => "and",
            ConflictResolution::Or => "or",
            ConflictResolution::Xor => "xor",
            ConflictResolution::BitAnd => "bitand",
            ConflictResolution::BitOr => "bitor",
            ConflictResolution::BitXor => "bitxor",
            ConflictResolution::MinLocation => "min_location",
            ConflictResolution::MaxLocation => "max_location",
            ConflictResolution::Replace => "replace",
            ConflictResolution::Custom(_) => "custom",
        }
    }
}

impl Access {
    /// Elements of an array, scalar, view or reference.
    pub fn elements(container: ContainerId, subset: Subset) -> Self {
        Access { container, place: AccessedPart::Elements(subset) }
    }

    /// Ends of queues.
    pub fn queues(container: ContainerId, subset: Subset) -> Self {
        Access { container, place: AccessedPart::Queues(subset) }
    }

    /// The subset of elements or of queues.
    pub fn subset(&self) -> &Subset {
        match &self.place {
            AccessedPart::Elements(subset) | AccessedPart::Queues(subset) => subset,
        }
    }

    /// The subset of elements or of queues, for change.
    pub fn subset_mut(&mut self) -> &mut Subset {
        match &mut self.place {
            AccessedPart::Elements(subset) | AccessedPart::Queues(subset) => subset,
        }
    }

    /// Whether this accesses queues.
    pub fn is_queue(&self) -> bool {
        matches!(self.place, AccessedPart::Queues(_))
    }

    /// As many elements as the subset has; for queues, one for each queue.
    pub fn volume(&self) -> Volume {
        Volume::Exact(self.subset().volume())
    }
}

impl Memlet {
    /// An edge that only orders.
    pub fn order() -> Self {
        Memlet { flow: Flow::Order, volume: Volume::Exact(Expr::zero()), declared: false }
    }

    /// An edge that carries one value between code nodes.
    pub fn value() -> Self {
        Memlet { flow: Flow::Value, volume: Volume::Exact(Expr::one()), declared: false }
    }

    /// A read of as many elements as the subset has.
    pub fn read(from: Access) -> Self {
        Memlet { volume: from.volume(), flow: Flow::Read(from), declared: false }
    }

    /// A write of as many elements as the subset has.
    pub fn write(to: Access) -> Self {
        Memlet { volume: to.volume(), flow: Flow::Write { to, resolution: None }, declared: false }
    }

    /// A copy of as many elements as the source has, or the destination where the source is a queue.
    pub fn copy(from: Access, to: Access) -> Self {
        let volume = if from.is_queue() { to.volume() } else { from.volume() };
        Memlet { volume, flow: Flow::Copy { from, to, resolution: None }, declared: false }
    }

    /// An edge that makes a view or reference name `target`.
    pub fn bind(target: Access) -> Self {
        Memlet { flow: Flow::Bind(target), volume: Volume::Exact(Expr::zero()), declared: false }
    }

    /// The read access, if the edge reads a container.
    pub fn read_access(&self) -> Option<&Access> {
        match &self.flow {
            Flow::Read(from) | Flow::Copy { from, .. } => Some(from),
            Flow::Order | Flow::Write { .. } | Flow::Value | Flow::Bind(_) => None,
        }
    }

    /// The written access, if the edge writes a container.
    pub fn write_access(&self) -> Option<&Access> {
        match &self.flow {
            Flow::Write { to, .. } | Flow::Copy { to, .. } => Some(to),
            Flow::Order | Flow::Read(_) | Flow::Value | Flow::Bind(_) => None,
        }
    }

    /// The conflict resolution of a write.
    pub fn resolution(&self) -> Option<&ConflictResolution> {
        match &self.flow {
            Flow::Write { resolution, .. } | Flow::Copy { resolution, .. } => resolution.as_ref(),
            Flow::Order | Flow::Read(_) | Flow::Value | Flow::Bind(_) => None,
        }
    }

    /// Every access of the edge, what is read first.
    pub fn accesses(&self) -> impl Iterator<Item = &Access> {
        let (first, second) = match &self.flow {
            Flow::Order | Flow::Value => (None, None),
            Flow::Read(access) | Flow::Write { to: access, .. } | Flow::Bind(access) => (Some(access), None),
            Flow::Copy { from, to, .. } => (Some(from), Some(to)),
        };
        first.into_iter().chain(second)
    }

    /// Every access of the edge for change, what is read first.
    pub fn accesses_mut(&mut self) -> impl Iterator<Item = &mut Access> {
        let (first, second) = match &mut self.flow {
            Flow::Order | Flow::Value => (None, None),
            Flow::Read(access) | Flow::Write { to: access, .. } | Flow::Bind(access) => (Some(access), None),
            Flow::Copy { from, to, .. } => (Some(from), Some(to)),
        };
        first.into_iter().chain(second)
    }
}
