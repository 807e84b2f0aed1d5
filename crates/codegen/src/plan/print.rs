//! Plans as text, for people: what lowering decided, one statement a line.

use std::fmt;

use sdfg::symbolic::{Expr, Symbol};

use super::buffer::{Allocation, BufferId, Location, QueueOwner, Strided};
use super::compute::{Binding, ExternalArgument, Scalar};
use super::loops::{Level, Loop, LoopDimension};
use super::program::Plan;
use super::statement::Statement;
use super::stream::Row;
use super::team::Team;
use super::write::{Realisation, Resolved};

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "plan {} float({}) {{", self.name, self.float_mode.name())?;
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
            writeln!(f, "  buffer {}: {}[{}] in {place}", buffer.name, buffer.element, buffer.size)?;
        }
        for slot in &self.slots {
            let names: Vec<&str> = slot.buffers.iter().map(|id| self.buffer(*id).name.as_str()).collect();
            writeln!(f, "  slot {}", names.join(", "))?;
        }
        Printer { plan: self, f, depth: 1 }.statements(&self.body)?;
        f.write_str("}\n")
    }
}

struct Printer<'p, 'f, 'b> {
    plan: &'p Plan,
    f: &'f mut fmt::Formatter<'b>,
    depth: usize,
}

impl<'p> Printer<'p, '_, '_> {
    fn line(&mut self, text: fmt::Arguments<'_>) -> fmt::Result {
        writeln!(self.f, "{:width$}{text}", "", width = 2 * self.depth)
    }

    fn nested(&mut self, header: fmt::Arguments<'_>, body: &[Statement]) -> fmt::Result {
        self.line(format_args!("{header} {{"))?;
        self.depth += 1;
        self.statements(body)?;
        self.depth -= 1;
        self.line(format_args!("}}"))
    }

    fn statements(&mut self, statements: &[Statement]) -> fmt::Result {
        statements.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Statement) -> fmt::Result {
        match statement {
            Statement::Comment(text) => self.line(format_args!("# {text}")),
            Statement::Let { variable, value } => self.line(format_args!("let {variable} = {value}")),
            Statement::Set { variable, value } => {
                let value = self.scalar(value);
                self.line(format_args!("set {variable} = {value}"))
            }
            Statement::Loop(repeated) => self.repeated(repeated),
            Statement::While(repeated) => {
                let condition = self.scalar(&repeated.condition);
                let word = if repeated.test_after { "do-while" } else { "while" };
                self.nested(format_args!("{word} L{} {condition}", repeated.target.index()), &repeated.body)?;
                if repeated.update.is_empty() {
                    Ok(())
                } else {
                    self.nested(format_args!("update"), &repeated.update)
                }
            }
            Statement::If(choice) => {
                for (condition, body) in &choice.arms {
                    let condition = self.scalar(condition);
                    self.nested(format_args!("if {condition}"), body)?;
                }
                if choice.otherwise.is_empty() {
                    Ok(())
                } else {
                    self.nested(format_args!("else"), &choice.otherwise)
                }
            }
            Statement::Timed { region, body } => {
                let path = self.plan.profile.as_ref().and_then(|profile| profile.regions.get(region.index()));
                let path = path.map_or("?", |region| &region.path).to_owned();
                self.nested(format_args!("timed {path}"), body)
            }
            Statement::Located { place, body } => {
                let place = self.plan.debug.as_ref().and_then(|debug| debug.places.get(place.index()));
                let line = place.map_or(0, |place| place.line);
                self.nested(format_args!("line {line}"), body)
            }
            Statement::Block { target, body } => self.nested(format_args!("block L{}", target.index()), body),
            Statement::Leave(target) => self.line(format_args!("leave L{}", target.index())),
            Statement::Repeat(target) => self.line(format_args!("repeat L{}", target.index())),
            Statement::Dispatch { target, cases } => {
                self.line(format_args!("dispatch L{} {{", target.index()))?;
                self.depth += 1;
                for (case, body) in cases.iter().enumerate() {
                    self.nested(format_args!("case {case}"), body)?;
                }
                self.depth -= 1;
                self.line(format_args!("}}"))
            }
            Statement::Goto { target, case } => {
                self.line(format_args!("goto L{} case {case}", target.index()))
            }
            Statement::Begin(buffer) => self.line(format_args!("begin {}", self.name(*buffer))),
            Statement::Allocate(buffer) => self.line(format_args!("allocate {}", self.name(*buffer))),
            Statement::Free(buffer) => self.line(format_args!("free {}", self.name(*buffer))),
            Statement::Point { reference, to } => {
                self.line(format_args!("point {} to {}", self.name(*reference), self.name(*to)))
            }
            Statement::Check(check) => self.line(format_args!("check {}", check.memlet)),
            Statement::Undefine(buffer) => self.line(format_args!("undefine {}", self.name(*buffer))),
            Statement::Compute(compute) => {
                let bindings = self.bindings(&compute.code.environment, &compute.bindings);
                self.line(format_args!("compute {}({bindings})", compute.label))
            }
            Statement::External(call) => {
                let arguments: Vec<String> = call
                    .arguments
                    .iter()
                    .map(|argument| match argument {
                        ExternalArgument::Value(value) => self.scalar(value),
                        ExternalArgument::Pointer(location) => format!("&{}", self.location(location)),
                    })
                    .collect();
                self.line(format_args!("external {} {}({})", call.label, call.symbol, arguments.join(", ")))
            }
            Statement::Copy(copy) => {
                let (from, to) = (self.location(&copy.from), self.location(&copy.to));
                let dimensions: Vec<String> = copy
                    .dimensions
                    .iter()
                    .map(|d| format!("{} from {} to {}", d.extent, d.from_stride, d.to_stride))
                    .collect();
                let write = resolved(&copy.write);
                self.line(format_args!("copy {from} -> {to}{write} [{}]", dimensions.join(", ")))
            }
            Statement::Push(push) => {
                let (from, queue) = (self.row(&push.from), self.location(&push.queue));
                self.line(format_args!("push {from} -> {queue}"))
            }
            Statement::Pop(pop) => {
                let (queue, to) = (self.location(&pop.queue), self.row(&pop.to));
                let word = if pop.waits { "pop" } else { "take" };
                let taken = pop.taken.as_ref().map(|taken| format!(" count {taken}")).unwrap_or_default();
                self.line(format_args!("{word} {queue} -> {to}{taken}"))
            }
            Statement::Tasks(kinds) => {
                self.line(format_args!("tasks {{"))?;
                self.depth += 1;
                for kind in kinds {
                    let over = kind.dimension.as_ref().map(|dimension| format!(" {dimension}"));
                    let after: Vec<&str> = kind.after.iter().map(|k| kinds[*k].label.as_str()).collect();
                    let after =
                        if after.is_empty() { String::new() } else { format!(" after {}", after.join(", ")) };
                    self.nested(
                        format_args!("task {}{}{after}", kind.label, over.unwrap_or_default()),
                        &kind.body,
                    )?;
                }
                self.depth -= 1;
                self.line(format_args!("}}"))
            }
            Statement::Consume(consume) => {
                let (queue, element) = (self.location(&consume.queue), self.location(&consume.element));
                let until =
                    consume.condition.as_ref().map(|condition| format!(" until {}", self.scalar(condition)));
                let several = if consume.batch.is_some() { " several" } else { "" };
                let gathers = if consume.gathers { " gathers" } else { "" };
                let until = until.unwrap_or_default();
                let header =
                    format!("consume {} {queue} -> {element}{several}{gathers}{until}", consume.label);
                self.nested(format_args!("{header}"), &consume.body)
            }
        }
    }

    fn repeated(&mut self, repeated: &Loop) -> fmt::Result {
        let ranges: Vec<String> = repeated.dimensions.iter().map(LoopDimension::to_string).collect();
        let ranges = ranges.join(", ");
        let independent = if repeated.independent { " independent" } else { "" };
        let word = repeated.level.kind().name();
        match &repeated.level {
            Level::Team(team) => {
                self.team(&ranges, independent, team)?;
                self.depth += 1;
                self.statements(&repeated.body)?;
                self.depth -= 1;
                self.line(format_args!("}}"))
            }
            Level::Sequential { bank } => {
                let bank = banks(bank.as_ref());
                self.nested(format_args!("{word} {ranges}{independent}{bank}"), &repeated.body)
            }
            Level::Grid(units) | Level::Block(units) => {
                let extents: Vec<String> = units.extents.iter().map(Expr::to_string).collect();
                let extents = extents.join(", ");
                self.nested(format_args!("{word} {ranges} of {extents}{independent}"), &repeated.body)
            }
            Level::Pipelined { interval } => {
                self.nested(format_args!("{word} {ranges} every {interval}{independent}"), &repeated.body)
            }
            Level::Rank | Level::Lane | Level::Unrolled | Level::Replicated => {
                self.nested(format_args!("{word} {ranges}{independent}"), &repeated.body)
            }
        }
    }

    /// The heading of a team's loop, and what each of its threads has.
    fn team(&mut self, ranges: &str, independent: &str, team: &Team) -> fmt::Result {
        let around: Vec<String> = team.around.iter().map(LoopDimension::to_string).collect();
        let jammed = if team.jammed { " jammed" } else { "" };
        let around =
            if around.is_empty() { String::new() } else { format!(" in {}{jammed}", around.join(", ")) };
        let (sharing, bank) = (team.sharing.name(), banks(team.bank.as_ref()));
        self.line(format_args!("team {} {ranges}{around} {sharing}{independent}{bank} {{", team.label))?;
        self.depth += 1;
        for local in &team.locals {
            let name = self.name(*local);
            self.line(format_args!("local {name}"))?;
        }
        for collected in &team.collected {
            let name = self.name(collected.stream);
            let into = match &collected.drain {
                None => String::new(),
                Some(drain) => format!(" into {}", self.row(&drain.to)),
            };
            self.line(format_args!("collected {name}{into}"))?;
        }
        for private in &team.privates {
            let name = self.name(private.buffer);
            let target = self.strided(&private.target);
            let resolution = private.resolution.name();
            self.line(format_args!("private {name} {resolution} into {target}"))?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn name(&self, buffer: BufferId) -> &'p str {
        &self.plan.buffer(buffer).name
    }

    fn location(&self, location: &Location) -> String {
        format!("{}[{}]", self.name(location.buffer), location.offset)
    }

    fn strided(&self, strided: &Strided) -> String {
        let dimensions: Vec<String> = strided
            .extents
            .iter()
            .zip(&strided.strides)
            .map(|(extent, stride)| format!("{extent} by {stride}"))
            .collect();
        format!("{}({})", self.location(&strided.origin), dimensions.join(", "))
    }

    fn row(&self, row: &Row) -> String {
        format!("{}({} by {})", self.location(&row.first), row.count, row.stride)
    }

    fn bindings(&self, environment: &sdfg::tasklet::Environment, bindings: &[Binding]) -> String {
        let bound = environment.connectors().zip(bindings).map(|((name, _), binding)| match binding {
            Binding::Load(location) => format!("{name} = {}", self.location(location)),
            Binding::View(strided) => format!("{name} = {}", self.strided(strided)),
            Binding::Store { to, write } => format!("{name} -> {}{}", self.location(to), resolved(write)),
            Binding::ViewMut { to, write } => format!("{name} -> {}{}", self.strided(to), resolved(write)),
            Binding::Push(queue) => format!("{name} -> push {}", self.location(queue)),
            Binding::Length(queues) => format!("{name} = lengths of {}", self.strided(queues)),
        });
        bound.collect::<Vec<_>>().join(", ")
    }

    fn scalar(&self, scalar: &Scalar) -> String {
        let symbols = scalar.code.environment.symbols().zip(&scalar.symbols);
        let symbols: Vec<String> = symbols.map(|((name, _), value)| format!("{name} = {value}")).collect();
        format!("<{}; {}>", self.bindings(&scalar.code.environment, &scalar.bindings), symbols.join(", "))
    }
}

fn banks(bank: Option<&Symbol>) -> String {
    bank.map_or(String::new(), |bank| format!(" banks {bank}"))
}

fn resolved(write: &Resolved) -> String {
    match write {
        Resolved::Store => String::new(),
        Resolved::Combine { resolution, custom: _, realisation } => {
            let realisation = match realisation {
                Realisation::Plain => "",
                Realisation::Atomic => " atomic",
            };
            format!(" {}{realisation}", resolution.name())
        }
    }
}
