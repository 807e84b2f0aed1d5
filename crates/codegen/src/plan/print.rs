//! Plans as text, for people: the decisions of lowering, one statement per line.
//!
//! Each kind of statement prints itself in the file that defines it. This module provides the shared parts.

use std::fmt;

use sdfg::symbolic::{Expr, Symbol};
use sdfg::tasklet::Environment;

use super::buffer::{Allocation, Buffer, BufferId, Location, QueueOwner, Strided};
use super::capture::Captures;
use super::code;
use super::compute::{Binding, Scalar};
use super::program::Plan;
use super::statement::Statement;
use super::stream::Row;
use super::write::{Realisation, Resolved};
use crate::interface::{Callback, CallbackParameter};

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let checked = if self.checked { " checked" } else { "" };
        writeln!(f, "plan {} float({}){checked} {{", self.name, self.float_mode.name())?;
        for symbol in &self.symbols {
            writeln!(f, "  symbol {}: {}", symbol.name, symbol.ty)?;
        }
        if !self.overlapping.is_empty() {
            let names: Vec<&str> = self.overlapping.iter().map(|id| self.buffer(*id).name.as_str()).collect();
            writeln!(f, "  overlapping {}", names.join(", "))?;
        }
        for buffer in &self.buffers {
            let place = match &buffer.allocation {
                Allocation::Argument(position) => format!("argument {position}"),
                Allocation::Stack => "stack".to_owned(),
                Allocation::Handle => "handle".to_owned(),
                Allocation::Persistent => "persistent".to_owned(),
                Allocation::Thread => "thread".to_owned(),
                Allocation::Dynamic => "dynamic".to_owned(),
                Allocation::Queues { capacity, owner } => {
                    let kept = match owner {
                        QueueOwner::Statements => "",
                        QueueOwner::Handle => " of the handle",
                        QueueOwner::Caller => " of the caller",
                    };
                    let size = capacity.as_ref().map_or(String::new(), |capacity| format!(" of {capacity}"));
                    format!("queues{size}{kept}")
                }
                Allocation::Reference(targets) => {
                    let names: Vec<&str> = targets.iter().map(|id| self.buffer(*id).name.as_str()).collect();
                    format!("reference to {}", names.join(", "))
                }
                Allocation::Constant(_) => "constant".to_owned(),
            };
            let Buffer { name, element, size, space, .. } = buffer;
            writeln!(f, "  buffer {name}: {element}[{size}] in {place}, {space}")?;
        }
        for slot in &self.slots {
            let names: Vec<&str> = slot.buffers.iter().map(|id| self.buffer(*id).name.as_str()).collect();
            writeln!(f, "  slot {}", names.join(", "))?;
        }
        for callback in &self.callbacks {
            writeln!(f, "  callback {}{}", callback.name, signature(callback))?;
        }
        writeln!(f, "  threshold {}", self.threshold)?;
        if self.command_streams > 0 {
            writeln!(f, "  command streams {}, events {}", self.command_streams, self.events)?;
        }
        let mut printer = Printer { plan: self, f, depth: 1 };
        printer.captures(&self.captures)?;
        printer.statements(&self.body)?;
        f.write_str("}\n")
    }
}

/// Writes statements, each on a line of its own, those inside of others indented.
pub(super) struct Printer<'p, 'f, 'b> {
    plan: &'p Plan,
    f: &'f mut fmt::Formatter<'b>,
    depth: usize,
}

impl<'p> Printer<'p, '_, '_> {
    /// The plan that is printed.
    pub(super) fn plan(&self) -> &'p Plan {
        self.plan
    }

    /// A line.
    pub(super) fn line(&mut self, text: impl fmt::Display) -> fmt::Result {
        writeln!(self.f, "{:width$}{text}", "", width = 2 * self.depth)
    }

    /// A heading with what belongs to it in braces.
    pub(super) fn braced(
        &mut self,
        header: impl fmt::Display,
        inside: impl FnOnce(&mut Self) -> fmt::Result,
    ) -> fmt::Result {
        self.line(format_args!("{header} {{"))?;
        self.depth += 1;
        inside(self)?;
        self.depth -= 1;
        self.line("}")
    }

    /// A heading with statements in braces.
    pub(super) fn nested(&mut self, header: impl fmt::Display, body: &[Statement]) -> fmt::Result {
        self.braced(header, |to| to.statements(body))
    }

    /// Statements in their order.
    pub(super) fn statements(&mut self, statements: &[Statement]) -> fmt::Result {
        statements.iter().try_for_each(|statement| statement.print(self))
    }

    /// Captures of an outlined function, and the memory that it allocates.
    pub(super) fn captures(&mut self, captures: &Captures) -> fmt::Result {
        let variables = captures.variables.iter().map(Symbol::to_string);
        let buffers = captures.buffers.iter().map(|captured| {
            let contested = if captured.contested { " contested" } else { "" };
            format!("&{}{contested}", self.name(captured.buffer))
        });
        let given: Vec<String> = variables.chain(buffers).collect();
        if !given.is_empty() {
            self.line(format_args!("given {}", given.join(", ")))?;
        }
        if !captures.stack.is_empty() {
            let names: Vec<&str> = captures.stack.iter().map(|id| self.name(*id)).collect();
            self.line(format_args!("stack {}", names.join(", ")))?;
        }
        Ok(())
    }

    /// The name of a buffer.
    pub(super) fn name(&self, buffer: BufferId) -> &'p str {
        &self.plan.buffer(buffer).name
    }

    /// An element.
    pub(super) fn location(&self, location: &Location) -> String {
        format!("{}[{}]", self.name(location.buffer), location.offset)
    }

    /// A part of a buffer: its first element, then each dimension with the distance of its elements.
    pub(super) fn strided(&self, strided: &Strided) -> String {
        let dimensions: Vec<String> = strided
            .extents
            .iter()
            .zip(&strided.strides)
            .map(|(extent, stride)| format!("{extent} by {stride}"))
            .collect();
        format!("{}({})", self.location(&strided.origin), dimensions.join(", "))
    }

    /// Elements evenly apart.
    pub(super) fn row(&self, row: &Row) -> String {
        format!("{}({} by {})", self.location(&row.first), row.count, row.stride)
    }

    /// Bindings of the names of an environment. A symbol bound to the variable of the same name is omitted.
    pub(super) fn names(
        &self,
        environment: &Environment,
        bindings: &[Binding],
        symbols: &[Expr],
    ) -> Vec<String> {
        let bindings = environment.connectors().zip(bindings);
        let symbols = environment.symbols().zip(symbols).map(|((name, _), value)| (name, value.to_string()));
        let symbols = symbols.filter(|(name, value)| name != value);
        let bound = bindings.map(|((name, _), binding)| match binding {
            Binding::Load(location) => format!("{name} = {}", self.location(location)),
            Binding::View(strided) => format!("{name} = {}", self.strided(strided)),
            Binding::Store { to, write } => format!("{name} -> {}{}", self.location(to), resolved(write)),
            Binding::ViewMut { to, write } => format!("{name} -> {}{}", self.strided(to), resolved(write)),
            Binding::Push(queue) => format!("{name} -> push {}", self.location(queue)),
            Binding::Length(queues) => format!("{name} = lengths of {}", self.strided(queues)),
        });
        bound.chain(symbols.map(|(name, value)| format!("{name} = {value}"))).collect()
    }

    /// An expression with what its names stand for.
    pub(super) fn scalar(&self, scalar: &Scalar) -> String {
        let names = self.names(&scalar.code.environment, &scalar.bindings, &scalar.symbols);
        let names = if names.is_empty() { String::new() } else { format!("; {}", names.join(", ")) };
        format!("<{}{names}>", code::expression(&scalar.code))
    }
}

/// Treatment of the old value by a write, printed after its destination.
pub(super) fn resolved(write: &Resolved) -> String {
    match write {
        Resolved::Store => String::new(),
        Resolved::Combine { resolution, custom, realisation } => {
            let realisation = match realisation {
                Realisation::Plain => "",
                Realisation::Atomic => " atomic",
                Realisation::Locked => " locked",
            };
            let custom = custom.as_ref().map(|custom| format!(" <{}>", code::expression(custom)));
            format!(" {}{}{realisation}", resolution.name(), custom.unwrap_or_default())
        }
    }
}

/// `(f64, &i32 write [N] by [1]) -> f64`.
fn signature(callback: &Callback) -> String {
    let parameters: Vec<String> = callback
        .parameters
        .iter()
        .map(|parameter| match parameter {
            CallbackParameter::Value(ty) => ty.to_string(),
            CallbackParameter::Memory { element, access, layout } => {
                let list = |list: &[Expr]| list.iter().map(Expr::to_string).collect::<Vec<_>>().join(", ");
                let layout = layout.as_ref().map_or(String::new(), |(extents, strides)| {
                    format!(" [{}] by [{}]", list(extents), list(strides))
                });
                format!("&{element} {access}{layout}")
            }
        })
        .collect();
    let result = callback.result.map_or(String::new(), |ty| format!(" -> {ty}"));
    format!("({}){result}", parameters.join(", "))
}
