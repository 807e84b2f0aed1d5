//! Flattens structures: each member that a program uses becomes a container of its own.
//!
//! Our graphs have no structures. Their members are known when a file is read, so edges to a member become
//! edges to its container, views of structures are followed to what they show, and a structure that is passed
//! to a nested SDFG or a tasklet is passed member by member. Members that nothing uses are left out. Names
//! follow a rule: the member `b` of `a` is `a_b`. An access that does not tell its member is refused.

mod callers;
mod place;
mod state;

use std::collections::{BTreeMap, BTreeSet};

use sdfg::dtype::ScalarType;
use sdfg::syntax::{Expression, ExpressionKind, Name};

pub(crate) use self::callers::of_callers;
use self::place::Place;
use crate::model::{
    Block, BlockKind, DescriptorKind, Dtype, InterstateEdge, NodeKind, Program, Region, Structures, capacity,
};
use crate::report::{Code, Failed, Log};
use crate::text::map_expression;

/// A member of an argument that is a structure, as a caller passes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Passed {
    /// The argument.
    root: String,
    /// The names of the path to the member.
    path: Vec<String>,
    /// The container of the member in the program.
    name: String,
    reads: bool,
    writes: bool,
}

/// Flattens the structures of a program and of the programs nested in it. The answer lists the members of its
/// arguments that it uses.
pub(crate) fn flatten(program: &mut Program, log: &Log) -> Result<Vec<Passed>, Failed> {
    let structures = std::mem::take(&mut program.structures);
    let mut flattening = Flattening { structures: &structures, log, views: BTreeMap::new() };
    flattening.states(&mut program.body)?;
    flattening.expressions(&mut program.body, &program.name)?;
    let (mut read, mut written) = (BTreeSet::new(), BTreeSet::new());
    uses(&program.body, &mut read, &mut written);
    start(program, &structures, &mut read, &written, log);
    let mut passed = Vec::new();
    for (root, path, name) in structures.members() {
        let (reads, writes) = (read.contains(name), written.contains(name));
        let (true, Some(mut descriptor)) = (reads || writes, structures.descriptor(root, path)) else {
            continue;
        };
        if structures.all.get(root).is_some_and(|found| found.is_view) {
            continue;
        }
        descriptor.by_reference |= writes && descriptor.kind == DescriptorKind::Scalar;
        let capacity = capacity(root, &path.join("_"));
        if descriptor
            .shape
            .iter()
            .any(|extent| extent.as_symbol().is_some_and(|own| own.as_str() == capacity))
        {
            program.symbols.entry(capacity).or_insert_with(|| Dtype::of(ScalarType::I64));
        }
        if !descriptor.transient {
            let (root, path, name) = (root.to_owned(), path.to_vec(), name.to_owned());
            passed.push(Passed { root, path, name, reads, writes });
        }
        program.containers.insert(name.to_owned(), descriptor);
    }
    let names = std::mem::take(&mut program.arg_names);
    for name in names {
        if structures.all.contains_key(&name) {
            program
                .arg_names
                .extend(passed.iter().filter(|found| found.root == name).map(|found| found.name.clone()));
        } else {
            program.arg_names.push(name);
        }
    }
    Ok(passed)
}

/// Puts the values that symbols have when the program starts before its first block.
///
/// A symbol in an extent of an argument has the value that the caller's array gives it.
fn start(
    program: &mut Program,
    structures: &Structures,
    read: &mut BTreeSet<String>,
    written: &BTreeSet<String>,
    log: &Log,
) {
    let mut assignments = std::mem::take(&mut program.initial);
    let Some(first) = program.body.start.filter(|_| !assignments.is_empty()) else { return };
    let used = structures.members().filter(|(.., name)| read.contains(*name) || written.contains(*name));
    let members = used.filter_map(|(root, path, _)| structures.descriptor(root, path));
    let own = program.containers.values().cloned();
    let extents: BTreeSet<String> = own
        .chain(members)
        .filter(|found| !found.transient)
        .flat_map(|found| found.shape)
        .flat_map(|extent| extent.free_symbols())
        .map(|symbol| symbol.as_str().to_owned())
        .collect();
    let before = assignments.len();
    assignments.retain(|(name, _)| !extents.contains(name));
    if assignments.len() < before {
        let message =
            "code in C++ sets extents of arguments; here, the arguments that the caller passes have them";
        log.note(Code::Approximated, &program.name, message);
    }
    for (_, value) in &assignments {
        read.extend(value.names().into_iter().map(str::to_owned));
    }
    let src = program.body.blocks.len();
    let kind = BlockKind::State(crate::model::State::default());
    program.body.blocks.push(Block { label: "start".to_owned(), kind });
    let path = program.name.clone();
    program.body.edges.push(InterstateEdge { src, dst: first, condition: None, assignments, path });
    program.body.start = Some(src);
}

/// The flattening of one program.
pub(super) struct Flattening<'a> {
    pub(super) structures: &'a Structures,
    pub(super) log: &'a Log,
    /// The places that each view shows, over all states.
    pub(super) views: BTreeMap<String, Vec<Place>>,
}

impl Flattening<'_> {
    /// Flattens nested programs, then the states of a region.
    fn states(&mut self, region: &mut Region) -> Result<(), Failed> {
        for block in &mut region.blocks {
            match &mut block.kind {
                BlockKind::State(found) => {
                    let mut passed = BTreeMap::new();
                    for (at, node) in found.nodes.iter_mut().enumerate() {
                        if let NodeKind::Nested { program, .. } = &mut node.kind {
                            passed.insert(at, flatten(program, self.log)?);
                        }
                    }
                    if !self.structures.all.is_empty() {
                        self.state(found, &passed)?;
                    }
                }
                BlockKind::Loop(repeated) => self.states(&mut repeated.body)?,
                BlockKind::Conditional(branches) => {
                    branches.iter_mut().try_for_each(|(_, part)| self.states(part))?;
                }
                BlockKind::Group { body, .. } => self.states(body)?,
                BlockKind::Break | BlockKind::Continue | BlockKind::Return => {}
            }
        }
        Ok(())
    }

    /// Puts the members of what views show into conditions and values. A view must show the same everywhere.
    fn expressions(&self, region: &mut Region, place: &str) -> Result<(), Failed> {
        if self.structures.all.is_empty() {
            return Ok(());
        }
        for edge in &mut region.edges {
            for value in edge.condition.iter_mut().chain(edge.assignments.iter_mut().map(|(_, value)| value))
            {
                self.expression(value, &edge.path)?;
            }
        }
        for Block { kind, .. } in &mut region.blocks {
            match kind {
                BlockKind::Loop(repeated) => {
                    let path = repeated.path.clone();
                    let parts =
                        [repeated.init.as_mut(), Some(&mut repeated.condition), repeated.update.as_mut()];
                    parts.into_iter().flatten().try_for_each(|part| self.expression(part, &path))?;
                    self.expressions(&mut repeated.body, &path)?;
                }
                BlockKind::Conditional(branches) => {
                    for (condition, part) in branches {
                        if let Some(condition) = condition {
                            self.expression(condition, place)?;
                        }
                        self.expressions(part, place)?;
                    }
                }
                BlockKind::Group { body, .. } => self.expressions(body, place)?,
                BlockKind::State(_) | BlockKind::Break | BlockKind::Continue | BlockKind::Return => {}
            }
        }
        Ok(())
    }

    fn expression(&self, value: &mut Expression, place: &str) -> Result<(), Failed> {
        let mut failed = None;
        let whole = std::mem::replace(value, Expression::bool(true));
        *value = map_expression(whole, &mut |part| {
            let name = match &part.kind {
                ExpressionKind::Name(name) => name.clone(),
                ExpressionKind::Subscript { base, .. } => base.text.clone(),
                _ => return part,
            };
            let Some((view, path)) = self.structures.origin(&name) else { return part };
            if !self.structures.all.get(view).is_some_and(|found| found.is_view) {
                return part;
            }
            let shown = self.views.get(view).map_or(&[][..], Vec::as_slice);
            let why = match shown {
                [] => "shows nothing",
                [only] if !only.indices.is_empty() => "shows an element of an array of structures",
                [_] => "",
                _ => "shows different structures",
            };
            let ([only], true) = (shown, why.is_empty()) else {
                let access = format!("{view}.{}", path.join("."));
                let message = format!(
                    "the structure is not flattened because of `{access}`: the view {why} in other states"
                );
                failed = Some(self.log.error(Code::Descriptor, &place, message));
                return part;
            };
            let member: Vec<String> = only.path.iter().chain(path).cloned().collect();
            let Some(member) = self.structures.name(&only.root, &member) else { return part };
            let span = part.span;
            let kind = match part.kind {
                ExpressionKind::Subscript { base, indices } => {
                    ExpressionKind::Subscript { base: Name { text: member.to_owned(), ..base }, indices }
                }
                _ => ExpressionKind::Name(member.to_owned()),
            };
            Expression { kind, span }
        });
        failed.map_or(Ok(()), Err)
    }
}

/// The containers that states and expressions of a region read and write.
fn uses(region: &Region, read: &mut BTreeSet<String>, written: &mut BTreeSet<String>) {
    let names = |expression: &Expression, read: &mut BTreeSet<String>| {
        read.extend(expression.names().into_iter().map(str::to_owned));
    };
    for edge in &region.edges {
        for value in edge.condition.iter().chain(edge.assignments.iter().map(|(_, value)| value)) {
            names(value, read);
        }
    }
    for block in &region.blocks {
        match &block.kind {
            BlockKind::State(state) => {
                for edge in state.edges.iter().filter(|edge| edge.memlet.data.is_some()) {
                    if let NodeKind::Access { data, .. } = &state.nodes[edge.src].kind {
                        read.insert(data.clone());
                    }
                    if let NodeKind::Access { data, .. } = &state.nodes[edge.dst].kind {
                        written.insert(data.clone());
                    }
                }
            }
            BlockKind::Loop(repeated) => {
                let parts = [repeated.init.as_ref(), Some(&repeated.condition), repeated.update.as_ref()];
                parts.into_iter().flatten().for_each(|part| names(part, read));
                uses(&repeated.body, read, written);
            }
            BlockKind::Conditional(branches) => {
                for (condition, part) in branches {
                    condition.iter().for_each(|condition| names(condition, read));
                    uses(part, read, written);
                }
            }
            BlockKind::Group { body, .. } => uses(body, read, written),
            BlockKind::Break | BlockKind::Continue | BlockKind::Return => {}
        }
    }
}
