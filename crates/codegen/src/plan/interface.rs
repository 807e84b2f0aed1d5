//! The C interface of a plan.

use super::program::{PassedAs, Plan};
use crate::interface::{Access, Argument, ArgumentKind, Interface, InterfaceError};

impl Plan {
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
                PassedAs::Queue => ArgumentKind::Queue { element },
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
        Ok(interface.with_profile(self.profile.is_some()))
    }
}
