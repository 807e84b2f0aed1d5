//! Callbacks for the interpreter: closures under the names that a program calls.

use std::collections::BTreeMap;

use sdfg_language::dtype::ElementType;
use sdfg_language::tasklet::{ExternalCall, ExternalOrigin};
use sdfg_language::value::Value;

use super::external::{ExternalArgument, ExternalMemory, Externals};

/// A function that a program calls back. An error ends the run with its text.
///
/// Memory that an argument names begins with the first element of its memlet, and has the strides of the container.
pub type Callback<'f> =
    dyn Fn(&[ExternalArgument], &mut [ExternalMemory]) -> Result<Option<Value>, String> + 'f;

/// The functions that a run may call back; other external functions are left to `others`, if they are allowed.
#[derive(Default)]
pub struct Callbacks<'f> {
    functions: BTreeMap<String, Box<Callback<'f>>>,
    others: Option<&'f dyn Externals>,
}

impl<'f> Callbacks<'f> {
    /// Without functions.
    pub fn new() -> Self {
        Callbacks::default()
    }

    /// With a function more; the last one of a name counts.
    #[must_use]
    pub fn with(
        mut self,
        name: &str,
        function: impl Fn(&[ExternalArgument], &mut [ExternalMemory]) -> Result<Option<Value>, String> + 'f,
    ) -> Self {
        self.functions.insert(name.to_owned(), Box::new(function));
        self
    }

    /// With functions of libraries and sources.
    #[must_use]
    pub fn with_others(self, others: &'f dyn Externals) -> Self {
        Callbacks { others: Some(others), ..self }
    }
}

impl Externals for Callbacks<'_> {
    fn call(
        &self,
        call: &ExternalCall,
        arguments: &[ExternalArgument],
        memory: &mut [ExternalMemory],
        result: Option<ElementType>,
    ) -> Result<Option<Value>, String> {
        if call.origin != ExternalOrigin::Callback {
            let others = self.others.ok_or("external functions are not allowed here")?;
            return others.call(call, arguments, memory, result);
        }
        let function = self.functions.get(&call.symbol).ok_or_else(|| not_given(&call.symbol))?;
        let returned = function(arguments, memory)?;
        match (result, &returned) {
            (None, _) => Ok(None),
            (Some(element), Some(value)) if ElementType::scalar(value.ty()) == element => Ok(returned),
            (Some(element), Some(value)) => {
                Err(format!("the callback returned a value of type {}, not {element}", value.ty()))
            }
            (Some(element), None) => {
                Err(format!("the callback returned nothing, not a value of type {element}"))
            }
        }
    }
}

impl std::fmt::Debug for Callbacks<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Callbacks").field("functions", &self.functions.keys()).finish_non_exhaustive()
    }
}

/// The message for a callback that the caller does not pass.
pub(super) fn not_given(name: &str) -> String {
    format!("the caller does not pass the callback `{name}`")
}
