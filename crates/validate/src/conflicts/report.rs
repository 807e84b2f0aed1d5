//! Diagnostics of two accesses that conflict, or may conflict.

use std::collections::BTreeSet;

use sdfg_graph::diagnostic::{Code, Diagnostic, Secondary};
use sdfg_graph::ir::{BlockKind, ContainerId, NodeId, NodeKind};
use sdfg_language::symbolic::{Expr, Symbol, Truth};

use super::super::scope_context::{Parameter, ScopeContext, ScopeContexts};
use super::super::site::Site;
use super::Between;
use super::touch::{Doubt, Mode, Touch};

/// Two accesses of a container that nothing orders.
pub(super) struct Found<'f, 'a> {
    pub(super) site: &'f Site<'a>,
    pub(super) frames: &'f ScopeContexts,
    pub(super) container: ContainerId,
    pub(super) own: &'f Touch<'a>,
    pub(super) other: &'f Touch<'a>,
    pub(super) between: Between,
}

impl Found<'_, '_> {
    /// They touch one element.
    pub(super) fn error(&self) -> Diagnostic {
        let message = self.message("touch");
        let error = self.site.edge_error(Code::WriteConflict, self.own.edge, message);
        self.with_other(error).note(self.unordered()).suggest(self.advice())
    }

    /// It is not known whether they touch one element, or whether they are made at all.
    pub(super) fn warning(&self, exists: Truth) -> Diagnostic {
        let message = self.message("may touch");
        let warning = self.site.edge_error(Code::PossibleConflict, self.own.edge, message).into_warning();
        let warning = self.with_other(warning).note(self.unordered());
        let advice = match self.between {
            Between::Iterations(entry) if !exists.is_proved() && !self.given_inside(entry).is_empty() => {
                "declare `wcr(replace)` if the data never lets two iterations meet, or combine the values, as in `wcr(sum)`".to_owned()
            }
            Between::Iterations(_) | Between::Nodes => self.advice(),
        };
        warning.note(self.reason(exists)).suggest(advice)
    }

    fn message(&self, touch: &str) -> String {
        let (own, other) = (self.place(self.own), self.place(self.other));
        let is_one = std::ptr::eq(self.own, self.other);
        let name = self.site.name(self.container);
        match self.between {
            Between::Iterations(entry) => {
                let label = &self.site.state.node(entry).label;
                if is_one {
                    if let Some(parameter) = self.repeated(entry)
                        && touch == "touch"
                    {
                        let (count, symbol) = (&parameter.count, &parameter.symbol);
                        return format!("all {count} iterations of `{label}` over `{symbol}` write {own}");
                    }
                    return format!(
                        "two iterations of `{label}` {touch} one element of `{name}`: they write {own}"
                    );
                }
                let (first, second) = (verb(self.own), verb(self.other));
                format!(
                    "two iterations of `{label}` {touch} one element of `{name}`: one {first} {own}, the other {second} {other}"
                )
            }
            Between::Nodes => {
                let (first, second) = (verb(self.own), verb(self.other));
                format!(
                    "two accesses that no path orders {touch} one element of `{name}`: one {first} {own}, the other {second} {other}"
                )
            }
        }
    }

    /// The memlet of an access as it is written; of a call, which part of it is touched.
    fn place(&self, touch: &Touch<'_>) -> String {
        let is_call = matches!(self.site.state.node(touch.node).kind, NodeKind::Nested(_));
        let is_part = is_call && touch.memlet.container == self.container;
        let subset = if is_part { &touch.access.subset } else { touch.memlet.subset() };
        let name = self.site.name(touch.memlet.container);
        let place = if subset.rank() == 0 { format!("`{name}`") } else { format!("`{name}[{subset}]`") };
        match touch.mode {
            Mode::Write(Some(resolution)) => format!("{place} with `wcr({})`", resolution.name()),
            Mode::Read | Mode::Write(None) => place,
        }
    }

    fn with_other(&self, found: Diagnostic) -> Diagnostic {
        if self.own.edge == self.other.edge {
            return found;
        }
        let edge = self.site.state.edge(self.other.edge);
        found.also(Secondary {
            message: format!("the other {} it here", verb(self.other)),
            path: self.site.edge_path(self.other.edge),
            loc: edge.loc.clone(),
        })
    }

    fn unordered(&self) -> String {
        let last = match (self.own.mode, self.other.mode) {
            (Mode::Read, _) | (_, Mode::Read) => "so what is read may be the old or the new value",
            (Mode::Write(_), Mode::Write(_)) => "so any of the values could be the last",
        };
        match self.between {
            Between::Iterations(entry) => match self.site.state.node(entry).kind {
                NodeKind::ConsumeEntry(_) => format!(
                    "iterations of a consume scope are not ordered unless one takes what the other pushed, {last}"
                ),
                NodeKind::MapEntry(_)
                | NodeKind::Access(_)
                | NodeKind::Tasklet(_)
                | NodeKind::MapExit(_)
                | NodeKind::ConsumeExit(_)
                | NodeKind::Nested(_)
                | NodeKind::Reduce(_)
                | NodeKind::Library(_) => format!("iterations of a map are not ordered, {last}"),
            },
            Between::Nodes => format!("only paths of edges order the nodes of a state, {last}"),
        }
    }

    fn advice(&self) -> String {
        let both_write = self.own.mode != Mode::Read && self.other.mode != Mode::Read;
        match self.between {
            Between::Iterations(_) if both_write => {
                let each = match self.between {
                    Between::Iterations(entry) => self.repeated(entry).map(|parameter| &parameter.symbol),
                    Between::Nodes => None,
                };
                let each = each.map_or_else(|| "iteration".to_owned(), |symbol| format!("`{symbol}`"));
                format!(
                    "combine the values, as in `wcr(sum)`, write one element for each {each}, or declare `wcr(replace)`"
                )
            }
            Between::Iterations(_) => {
                "write to another container than is read, or let a loop run what depends on earlier iterations".to_owned()
            }
            Between::Nodes => {
                "order them by an edge, as in `order a -> b`, or let the path of one begin at the access node of the other".to_owned()
            }
        }
    }

    /// Obstacle to proving or refuting a possible conflict.
    fn reason(&self, exists: Truth) -> String {
        if exists.is_proved() {
            return format!("it happens if the state runs, which is not known of {}", self.state());
        }
        for touch in [self.own, self.other] {
            let place = self.place(touch);
            match touch.doubt {
                Some(Doubt::Dynamic) => {
                    return format!(
                        "which elements of {place} are meant is decided while running: its volume is dynamic"
                    );
                }
                Some(Doubt::Code) => {
                    let label = &self.site.state.node(touch.node).label;
                    return format!("which elements of {place} are meant is decided in `{label}`");
                }
                Some(Doubt::Call) => {
                    let label = &self.site.state.node(touch.node).label;
                    return format!("which elements of {place} are meant is decided inside of `{label}`");
                }
                Some(Doubt::Alias) => return format!("which memory {place} is cannot be told here"),
                None => {}
            }
        }
        if let Between::Iterations(entry) = self.between {
            if matches!(self.site.state.node(entry).kind, NodeKind::ConsumeEntry(_)) {
                return "how often the scope runs is decided by the contents of its stream".to_owned();
            }
            let given = self.given_inside(entry);
            if !given.is_empty() {
                return format!(
                    "the place depends on {}, read from data in each iteration of `{}`: that no two values lead to one element cannot be proved",
                    quoted(&given),
                    self.site.state.node(entry).label
                );
            }
            if std::ptr::eq(self.own, self.other)
                && let Some((symbol, range)) = self.unused(entry)
            {
                return format!(
                    "the place does not depend on `{symbol}`, whose range `{range}` may have more than one value"
                );
            }
        }
        let symbols = self.free_symbols();
        if symbols.is_empty() {
            "whether the subsets meet could not be decided".to_owned()
        } else {
            format!("whether the subsets meet may depend on the value of {}", quoted(&symbols))
        }
    }

    fn state(&self) -> String {
        let own = self.site.sdfg.blocks().find_map(|(_, block)| match block.kind {
            BlockKind::State(id) if id == self.site.id => Some(block.label.as_str()),
            BlockKind::State(_)
            | BlockKind::Loop(_)
            | BlockKind::Branch(_)
            | BlockKind::Break
            | BlockKind::Continue
            | BlockKind::Return => None,
        });
        format!("`{}`", own.unwrap_or(&self.site.state.label))
    }

    /// Symbols from outside of the scopes that the accesses depend on.
    fn free_symbols(&self) -> BTreeSet<Symbol> {
        let mut found = BTreeSet::new();
        for touch in [self.own, self.other] {
            found.extend(touch.access.subset.free_symbols());
            for (_, range) in touch.access.around.iter().flat_map(|level| &level.symbols) {
                found.extend(range.free_symbols());
            }
        }
        for level in self.own.access.around.iter().chain(&self.other.access.around) {
            for (symbol, _) in &level.symbols {
                found.remove(symbol);
            }
        }
        found
    }

    /// Symbols that the places depend on and that data gives a value in each iteration of a scope, at entries further in.
    /// None if one of the accesses reads: then advice is another.
    fn given_inside(&self, entry: NodeId) -> BTreeSet<Symbol> {
        let both_write = self.own.mode != Mode::Read && self.other.mode != Mode::Read;
        let mut found = BTreeSet::new();
        for touch in [self.own, self.other].into_iter().filter(|_| both_write) {
            let mut needed = touch.access.subset.free_symbols();
            for (scope, level) in touch.scopes.iter().zip(&touch.access.around).rev() {
                if *scope == entry {
                    break;
                }
                for (symbol, range) in level.symbols.iter().rev() {
                    if needed.contains(symbol) {
                        needed.extend(range.free_symbols());
                    }
                }
                found.extend(level.given.iter().filter(|symbol| needed.contains(symbol)).cloned());
            }
        }
        found
    }

    /// A parameter of a map with provably two values that the place does not depend on.
    fn repeated(&self, entry: NodeId) -> Option<&Parameter> {
        let known = &self.frames.top().assumptions;
        self.unneeded(entry).find(|parameter| (&parameter.count - 2).is_nonnegative(known).is_proved())
    }

    /// A parameter of a map that the place does not depend on, with its range.
    fn unused(&self, entry: NodeId) -> Option<(&Symbol, String)> {
        let parameter = self.unneeded(entry).next()?;
        let ranges = self.own.access.around.iter().flat_map(|level| &level.symbols);
        let (_, range) = ranges.into_iter().find(|(symbol, _)| *symbol == parameter.symbol)?;
        Some((&parameter.symbol, range.to_string()))
    }

    fn unneeded(&self, entry: NodeId) -> impl Iterator<Item = &Parameter> {
        let frame = self.frames.inside(self.own.scopes.last().copied());
        let needed = dependencies(frame, self.own.access.subset.free_symbols());
        let own = match &self.site.state.node(entry).kind {
            NodeKind::MapEntry(map) => map.params.as_slice(),
            NodeKind::ConsumeEntry(_)
            | NodeKind::Access(_)
            | NodeKind::Tasklet(_)
            | NodeKind::MapExit(_)
            | NodeKind::ConsumeExit(_)
            | NodeKind::Nested(_)
            | NodeKind::Reduce(_)
            | NodeKind::Library(_) => &[],
        };
        let is_unneeded = move |parameter: &&Parameter| {
            own.contains(&parameter.symbol) && !needed.contains(&parameter.symbol)
        };
        frame.parameters.iter().filter(is_unneeded)
    }
}

/// There are more pairs of accesses than are compared; these two are the first that are not.
pub(super) fn left_out(
    site: &Site<'_>,
    container: ContainerId,
    own: &Touch<'_>,
    other: &Touch<'_>,
    n_accesses: usize,
) -> Diagnostic {
    let name = site.name(container);
    let message = format!(
        "`{name}` has {n_accesses} accesses here, more than are compared with each other: from this pair on, nothing is known"
    );
    let warning = site.edge_error(Code::PossibleConflict, own.edge, message).into_warning();
    let edge = site.state.edge(other.edge);
    let warning = if own.edge == other.edge {
        warning
    } else {
        let message = "the other access of the pair".to_owned();
        warning.also(Secondary { message, path: site.edge_path(other.edge), loc: edge.loc.clone() })
    };
    let compared = super::MOST_QUESTIONS;
    warning
        .note(format!("{compared} pairs of accesses that no path orders are compared for each container and state"))
        .suggest("spread the accesses over several states, or let edges order them; the interpreter checks all of them")
}

/// A state has more nodes than those whose order is looked at.
pub(super) fn too_many_nodes(site: &Site<'_>) -> Diagnostic {
    let nodes = site.state.nodes().count();
    let message = format!("with {nodes} nodes, which of them no path orders is not looked at");
    Diagnostic::warning(Code::PossibleConflict, site.path.clone(), message)
        .note("accesses by different nodes are not compared")
        .suggest("spread the nodes over several states; the interpreter checks all accesses")
}

fn quoted(symbols: &BTreeSet<Symbol>) -> String {
    let symbols: Vec<String> = symbols.iter().map(|symbol| format!("`{symbol}`")).collect();
    symbols.join(", ")
}

fn verb(touch: &Touch<'_>) -> &'static str {
    match touch.mode {
        Mode::Read => "reads",
        Mode::Write(_) => "writes",
    }
}

/// Symbols, and those that the ranges of parameters among them depend on.
fn dependencies(frame: &ScopeContext, symbols: BTreeSet<Symbol>) -> BTreeSet<Symbol> {
    let mut needed = symbols;
    for parameter in frame.parameters.iter().rev() {
        if needed.contains(&parameter.symbol) {
            match &parameter.ends {
                Some((first, last)) => needed.extend([first, last].into_iter().flat_map(Expr::free_symbols)),
                None => needed.extend(frame.parameters.iter().map(|other| other.symbol.clone())),
            }
        }
    }
    needed
}

#[cfg(test)]
mod tests {
    /// Not that the place is the same in every iteration, which is wrong.
    #[test]
    fn of_places_that_data_decides_the_note_says_so() {
        let source = include_str!("../../../filetest/filetests/validate/v705_data.sdft");
        let validated = crate::validate(sdfg_graph::text::parse("scale.sdft", source).unwrap()).unwrap();
        let [warning] = validated.warnings() else { panic!("{:?}", validated.warnings()) };
        let said = format!("{warning:?}");
        for part in ["`b`, `t`, read from data in each iteration of `r`", "wcr(replace)"] {
            assert!(said.contains(part), "{said}");
        }
    }
}
