//! Scalar code: typed expressions, tasklets and calls of C functions, with the bindings of their names.

use std::fmt;

use sdfg::dtype::ElementType;
use sdfg::symbolic::Expr;
use sdfg::tasklet::{TypedCode, TypedExpressionCode};

use super::buffer::{Location, Strided};
use super::check::Check;
use super::code;
use super::parts::{Part, PartMut};
use super::print::Printer;
use super::walk::Touch;
use super::write::Resolved;

/// A typed expression with what its names stand for.
#[derive(Clone, Debug, PartialEq)]
pub struct Scalar {
    /// The expression.
    pub code: TypedExpressionCode,
    /// Binding of each connector of the environment.
    pub bindings: Vec<Binding>,
    /// Value of each symbol of the environment; an integer expression is converted to the symbol's type.
    pub symbols: Vec<Expr>,
    /// In a checked plan, what is looked at when the elements of a connector are accessed: those whose bounds are deferred.
    pub checks: Vec<Option<Check>>,
}

/// A tasklet with what its names stand for.
#[derive(Clone, Debug, PartialEq)]
pub struct Compute {
    /// Label of the tasklet, for symbols and debug information.
    pub label: String,
    /// The code.
    pub code: TypedCode,
    /// Binding of each connector of the environment.
    pub bindings: Vec<Binding>,
    /// Value of each symbol of the environment; an integer expression is converted to the symbol's type.
    pub symbols: Vec<Expr>,
    /// In a checked plan, what is looked at when a connector's elements are accessed; shorter where nothing is.
    pub checks: Vec<Option<Check>>,
}

/// Binding of a connector.
#[derive(Clone, Debug, PartialEq)]
pub enum Binding {
    /// An element that is loaded before the code runs.
    Load(Location),
    /// An element that is written after the code has run, if the code assigned it.
    Store {
        /// The element.
        to: Location,
        /// Treatment of the old value.
        write: Resolved,
    },
    /// Elements that are read while the code runs.
    View(Strided),
    /// Elements that are written while the code runs.
    ViewMut {
        /// The elements.
        to: Strided,
        /// Treatment of the old value.
        write: Resolved,
    },
    /// A queue, to which each assignment adds an element. Tasklets only.
    Push(Location),
    /// Queues whose lengths are asked for. Conditions and values only.
    Length(Strided),
}

/// A tasklet that calls a C function.
#[derive(Clone, Debug, PartialEq)]
pub struct ExternalCompute {
    /// Label of the tasklet.
    pub label: String,
    /// Name of the C function.
    pub symbol: String,
    /// Its position in [`Plan::callbacks`](super::Plan::callbacks) if the caller passes it.
    pub callback: Option<usize>,
    /// Its arguments.
    pub arguments: Vec<ExternalArgument>,
    /// Destination of its result, with the result's type; without, it returns nothing.
    pub result: Option<(ElementType, Location)>,
}

/// An argument of a C function.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a call has a dozen of them at most")]
pub enum ExternalArgument {
    /// A value, of the expression's type. Its bindings are loads.
    Value(Scalar),
    /// The address of an element; what follows it in memory may be read and written through it.
    Pointer(Location),
}

impl Scalar {
    pub(super) fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        self.checks.iter().flatten().for_each(|check| check.parts(visit));
        self.symbols.iter().for_each(|value| visit(Part::Evaluates(value)));
        self.bindings.iter().for_each(|binding| binding.parts(visit));
    }

    pub(super) fn parts_mut(&mut self, visit: &mut dyn FnMut(PartMut<'_>)) {
        self.bindings.iter_mut().for_each(|binding| visit(PartMut::Touch(binding.touch())));
    }
}

impl Compute {
    pub(super) fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        self.checks.iter().flatten().for_each(|check| check.parts(visit));
        self.symbols.iter().for_each(|value| visit(Part::Evaluates(value)));
        self.bindings.iter().for_each(|binding| binding.parts(visit));
    }

    pub(super) fn parts_mut(&mut self, visit: &mut dyn FnMut(PartMut<'_>)) {
        self.bindings.iter_mut().for_each(|binding| visit(PartMut::Touch(binding.touch())));
    }
}

impl Compute {
    pub(super) fn print(&self, to: &mut Printer<'_, '_, '_>) -> fmt::Result {
        self.print_as("compute", &[], to)
    }

    /// The tasklet as a statement of another name, with a word on each binding.
    pub(super) fn print_as(
        &self,
        word: &str,
        accesses: &[String],
        to: &mut Printer<'_, '_, '_>,
    ) -> fmt::Result {
        let mut names = to.names(&self.code.environment, &self.bindings, &self.symbols);
        names.iter_mut().zip(accesses).for_each(|(name, way)| *name = format!("{name} {way}"));
        let names = names.join(", ");
        let connectors = self.code.environment.connectors().zip(&self.checks);
        let checked = connectors.filter_map(|((name, _), check)| Some(format!("{name} {}", check.as_ref()?)));
        let checked = checked.collect::<Vec<_>>().join(", ");
        let checked = if checked.is_empty() { checked } else { format!(" checks {checked}") };
        let header = format!("{word} {}({names}){checked}", self.label);
        let lines = code::statements(&self.code);
        match lines.as_slice() {
            [line] => to.line(format_args!("{header} {{ {line} }}")),
            lines => to.braced(header, |to| lines.iter().try_for_each(|line| to.line(line))),
        }
    }
}

impl Binding {
    fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        match self {
            Binding::Load(location) | Binding::Push(location) => location.parts(visit),
            Binding::View(part) | Binding::Length(part) => part.parts(visit),
            Binding::Store { to, write } => {
                to.parts(visit);
                write.parts(to.buffer, visit);
            }
            Binding::ViewMut { to, write } => {
                to.parts(visit);
                write.parts(to.origin.buffer, visit);
            }
        }
    }

    fn touch(&mut self) -> Touch<'_> {
        match self {
            Binding::Load(location) => Touch::Load(location),
            Binding::View(strided) => Touch::View(strided),
            Binding::Store { to, write } => Touch::Store(to, write),
            Binding::ViewMut { to, write } => Touch::ViewMut(to, write),
            Binding::Push(queue) => Touch::PushTo(queue),
            Binding::Length(queues) => Touch::Length(queues),
        }
    }
}

impl ExternalCompute {
    pub(super) fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        for argument in &self.arguments {
            match argument {
                ExternalArgument::Value(value) => value.parts(visit),
                ExternalArgument::Pointer(location) => location.parts(visit),
            }
        }
        if let Some((_, to)) = &self.result {
            to.parts(visit);
        }
    }

    pub(super) fn parts_mut(&mut self, visit: &mut dyn FnMut(PartMut<'_>)) {
        for argument in &mut self.arguments {
            match argument {
                ExternalArgument::Value(value) => value.parts_mut(visit),
                ExternalArgument::Pointer(location) => visit(PartMut::Touch(Touch::Pointer(location))),
            }
        }
        if let Some((_, to)) = &mut self.result {
            visit(PartMut::Touch(Touch::Store(to, &mut Resolved::Store)));
        }
    }

    pub(super) fn print(&self, to: &mut Printer<'_, '_, '_>) -> fmt::Result {
        let arguments = self.arguments.iter().map(|argument| match argument {
            ExternalArgument::Value(value) => to.scalar(value),
            ExternalArgument::Pointer(location) => format!("&{}", to.location(location)),
        });
        let arguments = arguments.collect::<Vec<_>>().join(", ");
        let result = self.result.as_ref().map(|(_, result)| format!(" -> {}", to.location(result)));
        let (label, symbol, result) = (&self.label, &self.symbol, result.unwrap_or_default());
        let word = if self.callback.is_some() { "callback" } else { "external" };
        to.line(format_args!("{word} {label} {symbol}({arguments}){result}"))
    }
}
