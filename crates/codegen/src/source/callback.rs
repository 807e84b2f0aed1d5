//! Functions that callers pass: their types, their parameters, and their calls.
//!
//! The handle keeps them as functions without a type, because the types of their parameters are declared behind the handle.

use super::error::Print;
use super::function::{Function, quoted};
use super::program::Program;
use crate::header::{callback_type, callback_typedef};
use crate::interface::{EntryPoint, Interface, Status};
use crate::plan::ExternalCompute;

impl Program<'_> {
    /// The fields of the handle.
    pub(super) fn callback_fields(&self) -> String {
        self.callback_names().map(|name| format!("    void (*{name})(void);\n")).collect()
    }

    /// `type name` of each function.
    pub(super) fn callback_parameters(&self) -> impl Iterator<Item = String> {
        self.callback_types().zip(self.callback_names()).map(|(ty, name)| format!("{ty} {name}"))
    }

    /// The name of each function, as a parameter and in the handle.
    pub(super) fn callback_names(&self) -> impl Iterator<Item = String> {
        (0..self.plan.callbacks.len()).map(|index| self.names.callback(index).to_owned())
    }

    /// The type of each function.
    pub(super) fn callback_types(&self) -> impl Iterator<Item = String> {
        (0..self.plan.callbacks.len()).map(|index| self.callback_type(index))
    }

    fn callback_type(&self, index: usize) -> String {
        let (program, callback) = (&self.plan.name, &self.plan.callbacks[index]);
        self.helper(&callback_type(program, callback), || {
            callback.parameters.iter().for_each(|parameter| self.declare_type(parameter.lane()));
            callback_typedef(program, callback)
        })
    }

    /// Checks the functions that a run is given, and leaves them in the handle.
    pub(super) fn receive_callbacks(&self, f: &mut Function<'_, '_>) -> Print<()> {
        for (name, callback) in self.callback_names().zip(&self.plan.callbacks) {
            let text = format!("the callback `{}` is NULL", callback.name);
            f.fail_if(&format!("{name} == NULL"), Status::InvalidArgument, &text)?;
            f.line(format!("handle->{name} = (void (*)(void)){name};"));
        }
        Ok(())
    }

    /// `NAME_stop(handle, message)`, if there is something that may call it.
    pub(super) fn stop(&self, interface: &Interface) {
        if self.plan.callbacks.is_empty() {
            return;
        }
        let fail = self.fail_helper();
        self.define(format!(
            "SDFG_API void {}({}_t *handle, const char *message) {{\n    if (handle != NULL) {{\n        (void){fail}(handle, {}, message != NULL ? message : {});\n    }}\n}}\n",
            interface.symbol(EntryPoint::Stop),
            interface.name(),
            Status::Stopped.code(),
            quoted(Status::Stopped.message()),
        ));
    }
}

impl Function<'_, '_> {
    /// Calls a function that the caller passed, which may end the run.
    pub(super) fn call_back(
        &mut self,
        call: &ExternalCompute,
        callback: usize,
        arguments: &[String],
    ) -> Print<()> {
        let (ty, name) = (self.program.callback_type(callback), self.program.names.callback(callback));
        let text = format!("(({ty})handle->{name})({})", arguments.join(", "));
        let Some((element, location)) = &call.result else {
            self.line(format!("{text};"));
            return self.fail_as_others_did();
        };
        let returned = self.temporary();
        let element = self.program.scalar_type(element.lane());
        self.line(format!("const {element} {returned} = {text};"));
        self.fail_as_others_did()?;
        let place = self.place(location)?;
        self.line(format!("{} = {returned};", place.text));
        Ok(())
    }
}
