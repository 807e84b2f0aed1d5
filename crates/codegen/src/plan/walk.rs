//! Walks over statements: every buffer position and every queue that they touch.

use super::buffer::{BufferId, Location, Strided};
use super::compute::Scalar;
use super::parts::PartMut;
use super::statement::Statement;
use super::write::Resolved;

/// A place that a statement touches.
pub enum Touch<'a> {
    /// An element that is read.
    Load(&'a mut Location),
    /// Elements that are read.
    View(&'a mut Strided),
    /// An element that is written.
    Store(&'a mut Location, &'a mut Resolved),
    /// Elements that are written.
    ViewMut(&'a mut Strided, &'a mut Resolved),
    /// First element that a copy reads.
    CopyFrom(&'a mut Location),
    /// First element that a copy writes.
    CopyTo {
        /// The element.
        to: &'a mut Location,
        /// Treatment of the old value.
        write: &'a mut Resolved,
        /// Whether no other element is written.
        single: bool,
    },
    /// Memory from this element on that a C function may read and write, or that a pop fills.
    Pointer(&'a mut Location),
    /// Elements into which an accumulator is combined.
    Merge(&'a mut Strided),
    /// A queue that elements are pushed to.
    PushTo(&'a mut Location),
    /// A queue that elements are taken from.
    TakeFrom(&'a mut Location),
    /// Queues whose lengths are asked for.
    Length(&'a mut Strided),
    /// A buffer that a reference names from here on.
    Name(BufferId),
}

/// Whether something holds for any of the statements or of those inside of them.
pub(crate) fn any_statement(statements: &[Statement], holds: &dyn Fn(&Statement) -> bool) -> bool {
    statements.iter().any(|statement| {
        holds(statement) || statement.bodies().into_iter().any(|body| any_statement(body, holds))
    })
}

/// Calls `visit` for everything that the statements touch, in order.
pub fn touches(statements: &mut [Statement], visit: &mut dyn FnMut(Touch<'_>)) {
    for statement in statements {
        statement.parts_mut(&mut |part| match part {
            PartMut::Body(body) => touches(body, visit),
            PartMut::Touch(touch) => visit(touch),
            PartMut::Outlined(_) => {}
        });
    }
}

/// Calls `visit` for everything that an expression touches.
pub(crate) fn touches_of_scalar(scalar: &mut Scalar, visit: &mut dyn FnMut(Touch<'_>)) {
    scalar.parts_mut(&mut |part| match part {
        PartMut::Touch(touch) => visit(touch),
        PartMut::Body(_) | PartMut::Outlined(_) => {}
    });
}

impl Touch<'_> {
    /// The buffer that is touched.
    pub fn buffer(&self) -> BufferId {
        match self {
            Touch::Load(location)
            | Touch::Store(location, _)
            | Touch::CopyFrom(location)
            | Touch::CopyTo { to: location, .. }
            | Touch::Pointer(location)
            | Touch::PushTo(location)
            | Touch::TakeFrom(location) => location.buffer,
            Touch::View(strided)
            | Touch::ViewMut(strided, _)
            | Touch::Merge(strided)
            | Touch::Length(strided) => strided.origin.buffer,
            Touch::Name(buffer) => *buffer,
        }
    }

    /// The element that is touched, or the first one, for change; none is where a reference only gets a buffer.
    pub fn location_mut(&mut self) -> Option<&mut Location> {
        match self {
            Touch::Load(location)
            | Touch::Store(location, _)
            | Touch::CopyFrom(location)
            | Touch::CopyTo { to: location, .. }
            | Touch::Pointer(location)
            | Touch::PushTo(location)
            | Touch::TakeFrom(location) => Some(location),
            Touch::View(strided)
            | Touch::ViewMut(strided, _)
            | Touch::Merge(strided)
            | Touch::Length(strided) => Some(&mut strided.origin),
            Touch::Name(_) => None,
        }
    }

    /// Whether it combines with old values.
    pub fn combines(&mut self) -> bool {
        matches!(self.write_mut(), Some(Resolved::Combine { .. }))
    }

    /// Whether it only reads memory.
    pub fn reads(&self) -> bool {
        match self {
            Touch::Load(_) | Touch::View(_) | Touch::CopyFrom(_) | Touch::Name(_) => true,
            Touch::Store(..)
            | Touch::ViewMut(..)
            | Touch::CopyTo { .. }
            | Touch::Pointer(_)
            | Touch::Merge(_)
            | Touch::PushTo(_)
            | Touch::TakeFrom(_)
            | Touch::Length(_) => false,
        }
    }

    /// Treatment of the old value of written elements.
    pub fn write_mut(&mut self) -> Option<&mut Resolved> {
        match self {
            Touch::Store(_, write) | Touch::ViewMut(_, write) | Touch::CopyTo { write, .. } => Some(write),
            Touch::Load(_)
            | Touch::View(_)
            | Touch::CopyFrom(_)
            | Touch::Pointer(_)
            | Touch::Merge(_)
            | Touch::PushTo(_)
            | Touch::TakeFrom(_)
            | Touch::Length(_)
            | Touch::Name(_) => None,
        }
    }
}
