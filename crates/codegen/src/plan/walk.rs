//! Walks over statements: every place of a buffer, and every queue, that they touch.

use super::buffer::{BufferId, Location, Strided};
use super::statement::{Binding, ExternalArgument, Scalar, Statement};
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
        /// What happens to the old value.
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
    let any = |body: &[Statement]| any_statement(body, holds);
    statements.iter().any(|statement| {
        let inside = match statement {
            Statement::Comment(_)
            | Statement::Let { .. }
            | Statement::Set { .. }
            | Statement::Leave(_)
            | Statement::Repeat(_)
            | Statement::Goto { .. }
            | Statement::Begin(_)
            | Statement::Allocate(_)
            | Statement::Free(_)
            | Statement::Point { .. }
            | Statement::Check(_)
            | Statement::Undefine(_)
            | Statement::Compute(_)
            | Statement::External(_)
            | Statement::Copy(_)
            | Statement::Push(_)
            | Statement::Pop(_) => false,
            Statement::Tasks(kinds) => kinds.iter().any(|kind| any(&kind.body)),
            Statement::Consume(consume) => any(&consume.body),
            Statement::For(repeated) => any(&repeated.body),
            Statement::Parallel(shared) => any(&shared.body),
            Statement::While(repeated) => any(&repeated.body) || any(&repeated.update),
            Statement::If(choice) => choice.arms.iter().any(|(_, body)| any(body)) || any(&choice.otherwise),
            Statement::Block { body, .. }
            | Statement::Timed { body, .. }
            | Statement::Located { body, .. } => any(body),
            Statement::Dispatch { cases, .. } => cases.iter().any(|case| any(case)),
        };
        inside || holds(statement)
    })
}

/// Calls `visit` for everything that the statements touch, in order.
pub fn touches(statements: &mut [Statement], visit: &mut dyn FnMut(Touch<'_>)) {
    for statement in statements {
        match statement {
            Statement::Comment(_)
            | Statement::Let { .. }
            | Statement::Leave(_)
            | Statement::Repeat(_)
            | Statement::Goto { .. }
            | Statement::Begin(_)
            | Statement::Allocate(_)
            | Statement::Free(_)
            | Statement::Check(_)
            | Statement::Undefine(_) => {}
            Statement::Point { reference: _, to } => visit(Touch::Name(*to)),
            Statement::Push(push) => {
                visit(Touch::CopyFrom(&mut push.from.first));
                visit(Touch::PushTo(&mut push.queue));
            }
            Statement::Pop(pop) => {
                visit(Touch::TakeFrom(&mut pop.queue));
                visit(Touch::Pointer(&mut pop.to.first));
            }
            Statement::Tasks(kinds) => kinds.iter_mut().for_each(|kind| touches(&mut kind.body, visit)),
            Statement::Consume(consume) => {
                visit(Touch::TakeFrom(&mut consume.queue));
                if let Some(condition) = &mut consume.condition {
                    touches_of_scalar(condition, visit);
                }
                touches(&mut consume.body, visit);
            }
            Statement::Set { variable: _, value } => touches_of_scalar(value, visit),
            Statement::For(repeated) => touches(&mut repeated.body, visit),
            Statement::Parallel(shared) => {
                touches(&mut shared.body, visit);
                for private in &mut shared.privates {
                    visit(Touch::Merge(&mut private.target));
                }
                for drain in shared.collected.iter_mut().filter_map(|collected| collected.drain.as_mut()) {
                    visit(Touch::Pointer(&mut drain.to.first));
                    visit(Touch::Pointer(&mut drain.delivered));
                }
            }
            Statement::While(repeated) => {
                touches_of_scalar(&mut repeated.condition, visit);
                touches(&mut repeated.body, visit);
                touches(&mut repeated.update, visit);
            }
            Statement::If(choice) => {
                for (condition, body) in &mut choice.arms {
                    touches_of_scalar(condition, visit);
                    touches(body, visit);
                }
                touches(&mut choice.otherwise, visit);
            }
            Statement::Block { target: _, body }
            | Statement::Timed { region: _, body }
            | Statement::Located { place: _, body } => touches(body, visit),
            Statement::Dispatch { target: _, cases } => {
                cases.iter_mut().for_each(|case| touches(case, visit))
            }
            Statement::Compute(compute) => in_bindings(&mut compute.bindings, visit),
            Statement::External(call) => {
                for argument in &mut call.arguments {
                    match argument {
                        ExternalArgument::Value(value) => touches_of_scalar(value, visit),
                        ExternalArgument::Pointer(location) => visit(Touch::Pointer(location)),
                    }
                }
                if let Some((_, to)) = &mut call.result {
                    visit(Touch::Store(to, &mut Resolved::Store));
                }
            }
            Statement::Copy(copy) => {
                visit(Touch::CopyFrom(&mut copy.from));
                let single = copy.dimensions.is_empty();
                visit(Touch::CopyTo { to: &mut copy.to, write: &mut copy.write, single });
            }
        }
    }
}

/// Calls `visit` for everything that an expression touches.
pub(crate) fn touches_of_scalar(scalar: &mut Scalar, visit: &mut dyn FnMut(Touch<'_>)) {
    in_bindings(&mut scalar.bindings, visit);
}

fn in_bindings(bindings: &mut [Binding], visit: &mut dyn FnMut(Touch<'_>)) {
    for binding in bindings {
        match binding {
            Binding::Load(location) => visit(Touch::Load(location)),
            Binding::View(strided) => visit(Touch::View(strided)),
            Binding::Store { to, write } => visit(Touch::Store(to, write)),
            Binding::ViewMut { to, write } => visit(Touch::ViewMut(to, write)),
            Binding::Push(queue) => visit(Touch::PushTo(queue)),
            Binding::Length(queues) => visit(Touch::Length(queues)),
        }
    }
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

    /// What happens to the old value of what is written.
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
