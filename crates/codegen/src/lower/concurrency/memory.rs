//! Memory that commands of a device and statements of the host read and write, and the statements that are commands.

use std::collections::BTreeMap;

use crate::plan::{BufferId, Level, Loop, Part, PartMut, Plan, Scalar, Space, Statement, Touch};

/// A piece of memory. Two statements that use different ones are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Piece {
    /// A buffer with memory of its own.
    Buffer(BufferId),
    /// A slot of the arena, which buffers use in turn.
    Slot(usize),
    /// All arguments that may overlap.
    Overlapping,
}

/// The use of a piece of memory. A write is the stronger one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Use {
    Read,
    Write,
}

/// Pieces of memory with their strongest use.
pub(super) type Uses = BTreeMap<Piece, Use>;

/// Memory of a plan.
pub(super) struct Memory {
    /// The pieces of each buffer; several for a reference.
    pieces: Vec<Vec<Piece>>,
    spaces: Vec<Space>,
    is_stream: Vec<bool>,
}

impl Memory {
    pub(super) fn of(plan: &Plan) -> Self {
        let slots = plan.slot_of_buffers();
        let piece = |owner: BufferId| match slots.get(&owner) {
            Some(slot) => Piece::Slot(*slot),
            None if plan.overlapping.contains(&owner) => Piece::Overlapping,
            None => Piece::Buffer(owner),
        };
        let all = || (0..plan.buffers.len() as u32).map(BufferId);
        Memory {
            pieces: all().map(|id| plan.owners(id).into_iter().map(piece).collect()).collect(),
            spaces: plan.buffers.iter().map(|buffer| buffer.space).collect(),
            is_stream: plan.buffers.iter().map(crate::plan::Buffer::is_stream).collect(),
        }
    }

    /// Whether a buffer lies in memory of the device.
    pub(super) fn is_on_device(&self, buffer: BufferId) -> bool {
        self.spaces[buffer.index()] == Space::DeviceGlobal
    }

    fn is_device_queue(&self, buffer: BufferId) -> bool {
        self.is_stream[buffer.index()] && self.is_on_device(buffer)
    }

    /// Whether a statement itself is a command of the device.
    pub(super) fn is_command(&self, statement: &Statement) -> bool {
        match statement {
            Statement::Loop(Loop { level: Level::Grid(_), .. }) => true,
            Statement::Copy(copy) => self.is_on_device(copy.from.buffer) || self.is_on_device(copy.to.buffer),
            Statement::Push(push) => self.is_device_queue(push.queue.buffer),
            Statement::Pop(pop) => self.is_device_queue(pop.queue.buffer),
            // Queues get their memory when elements are pushed.
            Statement::Allocate(buffer) => self.is_on_device(*buffer) && !self.is_device_queue(*buffer),
            Statement::Free(buffer) => self.is_on_device(*buffer),
            _ => false,
        }
    }

    /// Whether the host itself reads and writes memory when it gives the command: elements of a queue may be on the host already, and
    /// kernels are given values of the host.
    pub(super) fn is_of_host_too(&self, statement: &Statement) -> bool {
        matches!(statement, Statement::Push(_) | Statement::Pop(_) | Statement::Loop(_))
            && self.is_command(statement)
    }

    /// Whether a statement is a copy from memory of the host to the device.
    pub(super) fn is_copy_to_device(&self, statement: &Statement) -> bool {
        matches!(statement, Statement::Copy(copy) if !self.is_on_device(copy.from.buffer) && self.is_on_device(copy.to.buffer))
    }

    /// Whether a statement, or one inside of it, is a command.
    pub(super) fn has_commands(&self, statement: &Statement) -> bool {
        self.is_command(statement)
            || statement.bodies().into_iter().flatten().any(|inner| self.has_commands(inner))
    }

    /// What statements use of memory of the host and of the device.
    pub(super) fn uses(&self, statements: &mut [Statement]) -> Uses {
        let mut uses = Uses::new();
        statements.iter_mut().for_each(|statement| self.collect(statement, &mut uses));
        uses
    }

    /// As [`uses`](Self::uses), of an expression.
    pub(super) fn uses_of_scalar(&self, scalar: &mut Scalar) -> Uses {
        let mut uses = Uses::new();
        crate::plan::touches_of_scalar(scalar, &mut |touch| self.touch(&touch, &mut uses));
        uses
    }

    /// What the commands in statements use of memory of the host and of the device.
    pub(super) fn uses_of_commands(&self, statements: &mut [Statement]) -> Uses {
        let mut uses = Uses::new();
        self.collect_commands(statements, &mut uses);
        uses
    }

    /// Whether code of the host may use a piece. What it has of a device queue, such as the length, is there without a wait.
    pub(super) fn is_of_host(&self, piece: Piece) -> bool {
        match piece {
            Piece::Buffer(buffer) => !self.is_on_device(buffer),
            Piece::Slot(_) | Piece::Overlapping => true,
        }
    }

    /// The piece of a buffer with memory of its own.
    pub(super) fn piece(&self, buffer: BufferId) -> Option<Piece> {
        self.pieces[buffer.index()].first().copied()
    }

    fn collect_commands(&self, statements: &mut [Statement], uses: &mut Uses) {
        for statement in statements {
            if let (true, Statement::Allocate(buffer)) = (self.is_command(statement), &*statement) {
                self.add(*buffer, Use::Write, uses);
            } else if self.is_command(statement) {
                self.collect(statement, uses);
            } else {
                statement.bodies_mut(&mut |body| self.collect_commands(body, uses));
            }
        }
    }

    fn collect(&self, statement: &mut Statement, uses: &mut Uses) {
        match statement {
            Statement::Free(buffer) | Statement::Undefine(buffer) => self.add(*buffer, Use::Write, uses),
            Statement::Keep(_) | Statement::Recall(_) => statement.parts(&mut |part| {
                if let Part::Touches(buffer) = part {
                    self.add(buffer, Use::Write, uses);
                }
            }),
            _ => {}
        }
        statement.parts_mut(&mut |part| match part {
            PartMut::Touch(touch) => self.touch(&touch, uses),
            PartMut::Body(body) => body.iter_mut().for_each(|inner| self.collect(inner, uses)),
            PartMut::Outlined(_) => {}
        });
    }

    fn touch(&self, touch: &Touch<'_>, uses: &mut Uses) {
        match touch {
            // The address of a buffer is not its memory.
            Touch::Name(_) => {}
            Touch::Length(_) => self.add(touch.buffer(), Use::Read, uses),
            _ if touch.reads() => self.add(touch.buffer(), Use::Read, uses),
            _ => self.add(touch.buffer(), Use::Write, uses),
        }
    }

    fn add(&self, buffer: BufferId, kind: Use, uses: &mut Uses) {
        if matches!(self.spaces[buffer.index()], Space::Register | Space::BlockShared | Space::Constant) {
            return;
        }
        for piece in &self.pieces[buffer.index()] {
            let strongest = uses.entry(*piece).or_insert(kind);
            *strongest = (*strongest).max(kind);
        }
    }
}
