//! Debug information: source lines of the program, and graph elements as frames.
//!
//! Each element of the graph becomes a function that is inlined into the function of the enclosing element. A
//! debugger's or profiler's backtrace therefore shows the nesting of the graph: tasklet, map, state, loop,
//! then the generated function.

use std::cell::RefCell;
use std::collections::BTreeMap;

use inkwell::debug_info::{
    AsDIScope, DICompileUnit, DIFile, DIFlags, DIFlagsConstants, DILocation, DISubprogram, DWARFEmissionKind,
    DWARFSourceLanguage, DebugInfoBuilder,
};
use inkwell::module::{FlagBehavior, Module};
use inkwell::values::FunctionValue;

use super::emitter::{Emit, Emitter};
use super::function::Function;
use super::options::OptLevel;
use crate::plan::{DebugInfo, SourceLocation, SourceLocationId};

/// The debug information of a module that is being written.
pub(super) struct Debug<'ctx> {
    builder: DebugInfoBuilder<'ctx>,
    unit: DICompileUnit<'ctx>,
    info: &'ctx DebugInfo,
    is_optimised: bool,
    files: RefCell<BTreeMap<&'ctx str, DIFile<'ctx>>>,
    /// The function that an element became.
    elements: RefCell<BTreeMap<SourceLocationId, DISubprogram<'ctx>>>,
    /// The elements around the statement that is being written, across functions.
    around: RefCell<Vec<SourceLocationId>>,
}

impl<'ctx> Debug<'ctx> {
    /// Begins the debug information of a module.
    pub(super) fn new(
        module: &Module<'ctx>,
        info: &'ctx DebugInfo,
        level: OptLevel,
        version: inkwell::values::IntValue<'ctx>,
    ) -> Self {
        module.add_basic_value_flag("Debug Info Version", FlagBehavior::Warning, version);
        let is_optimised = level != OptLevel::O0;
        let file = info.locations.first().map_or("", |program| program.file.as_str());
        let (builder, unit) = module.create_debug_info_builder(
            true,
            DWARFSourceLanguage::C,
            file,
            &info.folder,
            concat!("sdfg ", env!("CARGO_PKG_VERSION")),
            is_optimised,
            "",
            0,
            "",
            DWARFEmissionKind::Full,
            0,
            true,
            false,
            "",
            "",
        );
        let (files, elements, around) = Default::default();
        Debug { builder, unit, info, is_optimised, files, elements, around }
    }

    fn location(&self, location: SourceLocationId) -> Option<&'ctx SourceLocation> {
        self.info.locations.get(location.index())
    }

    fn file(&self, name: &'ctx str) -> DIFile<'ctx> {
        let make = || self.builder.create_file(name, &self.info.folder);
        *self.files.borrow_mut().entry(name).or_insert_with(make)
    }

    fn function(
        &self,
        name: &str,
        symbol: Option<&str>,
        location: &'ctx SourceLocation,
    ) -> DISubprogram<'ctx> {
        let file = self.file(&location.file);
        let ty = self.builder.create_subroutine_type(file, None, &[], DIFlags::ZERO);
        self.builder.create_function(
            self.unit.as_debug_info_scope(),
            name,
            symbol,
            file,
            location.line,
            ty,
            symbol.is_none(),
            true,
            location.line,
            DIFlags::ZERO,
            self.is_optimised,
        )
    }
}

impl<'ctx> Emitter<'ctx> {
    /// Makes a generated function known to debuggers; where its code begins, as far as elements say nothing else.
    pub(super) fn describe(&self, value: FunctionValue<'ctx>) -> Option<DILocation<'ctx>> {
        let debug = self.debug.borrow();
        let debug = debug.as_ref()?;
        let innermost = debug.around.borrow().last().copied().unwrap_or(SourceLocationId::PROGRAM);
        let location = debug.location(innermost)?;
        let symbol = value.get_name().to_string_lossy().into_owned();
        let function = debug.function(&symbol, Some(&symbol), location);
        value.set_subprogram(function);
        let scope = function.as_debug_info_scope();
        Some(debug.builder.create_debug_location(self.context, location.line, location.column, scope, None))
    }

    /// The start of an element inside of a location.
    fn begin_element(
        &self,
        id: SourceLocationId,
        outer: Option<DILocation<'ctx>>,
    ) -> Option<DILocation<'ctx>> {
        let debug = self.debug.borrow();
        let debug = debug.as_ref()?;
        debug.around.borrow_mut().push(id);
        let location = debug.location(id)?;
        let known = debug.elements.borrow().get(&id).copied();
        let function = known.unwrap_or_else(|| debug.function(&location.label, None, location));
        debug.elements.borrow_mut().insert(id, function);
        let scope = function.as_debug_info_scope();
        Some(debug.builder.create_debug_location(self.context, location.line, location.column, scope, outer))
    }

    fn end_element(&self) {
        if let Some(debug) = self.debug.borrow().as_ref() {
            debug.around.borrow_mut().pop();
        }
    }

    /// Writes what belongs to the program as a whole, in the middle of an element.
    pub(super) fn outside_of_elements<T>(&self, write: impl FnOnce() -> T) -> T {
        let around = self.debug.borrow().as_ref().map(|debug| debug.around.take());
        let written = write();
        if let (Some(debug), Some(around)) = (self.debug.borrow().as_ref(), around) {
            debug.around.replace(around);
        }
        written
    }

    /// Ends the debug information, before the optimiser changes what it speaks of.
    pub(super) fn finish_debug(&self) {
        self.debug.take();
    }
}

impl<'ctx> Function<'_, 'ctx> {
    /// Writes an element of the program: what `body` writes is at its location.
    pub(super) fn located(&self, location: SourceLocationId, body: impl FnOnce() -> Emit<()>) -> Emit<()> {
        let outer = self.location.get();
        self.set_location(self.emitter.begin_element(location, outer).or(outer));
        let written = body();
        self.emitter.end_element();
        self.set_location(outer);
        written
    }

    fn set_location(&self, location: Option<DILocation<'ctx>>) {
        self.location.set(location);
        if let Some(location) = location {
            self.builder.set_current_debug_location(location);
        }
    }
}
