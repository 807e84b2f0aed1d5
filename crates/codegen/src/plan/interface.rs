//! The C interface of a plan.

use super::program::{PassedAs, Plan};
use crate::interface::{Access, Argument, ArgumentKind, Interface, InterfaceError};

use super::buffer::{Allocation, BufferId, QueueOwner};
use super::space::Space;

impl Plan {
    /// Buffers with memory of their own in the handle, in order of their fields.
    pub(crate) fn persistent_buffers(&self) -> impl Iterator<Item = BufferId> {
        self.buffers.iter().enumerate().filter_map(|(index, buffer)| match buffer.allocation {
            Allocation::Persistent | Allocation::Queues { owner: QueueOwner::Handle, .. } => {
                Some(BufferId(index as u32))
            }
            Allocation::Argument(_)
            | Allocation::Handle
            | Allocation::Stack
            | Allocation::Thread
            | Allocation::Dynamic
            | Allocation::Queues { owner: QueueOwner::Statements | QueueOwner::Caller, .. }
            | Allocation::Reference(_)
            | Allocation::Constant(_) => None,
        })
    }

    /// The calling interface of the compiled program: containers, then symbols, in signature order.
    ///
    /// # Errors
    /// [`InterfaceError`] if the program's name or an argument cannot be used in C.
    pub fn interface(&self) -> Result<Interface, InterfaceError> {
        let containers = self.arguments.iter().map(|argument| {
            let access = match (argument.read, argument.written) {
                (true, true) => Access::ReadWrite,
                // An array that is only written may be written in part: the rest keeps its value, which is no read.
                (false, true) => Access::Write,
                (true | false, false) => Access::Read,
            };
            let element = argument.element;
            let kind = match argument.kind {
                PassedAs::Scalar => ArgumentKind::Scalar { element, access },
                PassedAs::Queue => ArgumentKind::Queue { element, shape: argument.shape.clone() },
                PassedAs::Array => ArgumentKind::Array {
                    element,
                    shape: argument.shape.clone(),
                    strides: argument.strides.clone(),
                    offset: argument.offset.clone(),
                    elements: argument.size.clone(),
                    access,
                },
            };
            Argument { name: argument.name.clone(), kind }
        });
        let symbols = self.symbols.iter().map(|symbol| Argument {
            name: symbol.name.as_str().to_owned(),
            kind: ArgumentKind::Symbol { ty: symbol.ty },
        });
        let interface = Interface::new(&self.name, containers.chain(symbols).collect())?;
        let is_on_device = |buffer: BufferId| self.buffer(buffer).space == Space::DeviceGlobal;
        let on_device = self.arguments.iter().filter(|argument| is_on_device(argument.buffer));
        let on_device = on_device.map(|argument| argument.name.clone()).collect();
        let interface = interface.with_profile(self.profile.is_some()).with_device(self.uses_device());
        let interface = interface.with_device_arguments(on_device);
        interface.with_callbacks(self.callbacks.clone())
    }
}
