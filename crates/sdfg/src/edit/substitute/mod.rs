//! Symbols replaced by expressions, and renamed, everywhere they occur.
//!
//! Ranges, memlets, shapes, conditions, tasklet code and symbol mappings change together. Nothing is captured: a scope
//! parameter, connector or local of the same name as an inserted symbol is renamed first.

mod replacement;
mod state;
mod tasklet;

use std::collections::{BTreeMap, BTreeSet};

use super::{EditError, names, snapshot::atomically};
use crate::analysis::symbols::{UNDECLARED_SYMBOL, assigned_symbols};
use crate::ir::{
    BlockKind, Container, ContainerId, ContainerKind, Distribution, NestedSdfg, NodeId, Sdfg, State, StateId,
};
use crate::symbolic::{Expr, Symbol};

use replacement::Replacements;
pub(super) use tasklet::{names_of, rename_in_tasklet};

/// Replaces symbols of an SDFG by expressions, all at once. Symbols of nested SDFGs keep their names and get their values
/// by the symbol mapping of the call.
///
/// Declarations of replaced symbols are taken back. Symbols that only the expressions mention are declared, with the type
/// of the symbol that they stand for.
///
/// # Errors
/// [`EditError::AssignedSymbol`] for symbols that a loop or transition assigns, [`EditError::Captured`] if an expression
/// mentions one or the name of a container, [`EditError::NotExpressible`] if code cannot hold the expression, and
/// [`EditError::DimensionsChange`] if a memlet at a code node loses a dimension.
pub fn substitute(sdfg: &mut Sdfg, values: &BTreeMap<Symbol, Expr>) -> Result<(), EditError> {
    let assigned = assigned_symbols(sdfg);
    let replacements = Replacements::new(sdfg, values);
    if let Some(symbol) = replacements.symbols().find(|symbol| assigned.contains(symbol)) {
        return Err(EditError::AssignedSymbol(symbol.clone()));
    }
    if let Some(symbol) = replacements.inserted().into_iter().find(|symbol| assigned.contains(symbol)) {
        return Err(EditError::Captured { symbol });
    }
    atomically(sdfg, |sdfg| {
        let mut types = Vec::new();
        for symbol in replacements.symbols() {
            let ty = sdfg.symbol_type(symbol);
            let inserted = values.get(symbol).map(Expr::free_symbols).unwrap_or_default();
            types.extend(inserted.into_iter().map(|inner| (inner, ty.unwrap_or(UNDECLARED_SYMBOL))));
        }
        everywhere(sdfg, &replacements)?;
        let kept = replacements.inserted();
        for symbol in replacements.symbols().filter(|symbol| !kept.contains(symbol)) {
            sdfg.undeclare_symbol(symbol);
        }
        for (symbol, ty) in types {
            if sdfg.symbol_type(&symbol).is_none() {
                sdfg.declare_symbol(symbol, ty);
            }
        }
        Ok(())
    })
}

/// Replaces symbols by expressions inside the scope of `entry`, or with `None` in the whole state. The ranges of the
/// scope itself stay as they are, so that a transformation may first change what an entry binds and then tell its
/// contents.
///
/// # Errors
/// As [`substitute`]; symbols that control flow assigns may be replaced here.
pub fn substitute_in_scope(
    sdfg: &mut Sdfg,
    state: StateId,
    entry: Option<NodeId>,
    values: &BTreeMap<Symbol, Expr>,
) -> Result<(), EditError> {
    let found = sdfg.get_state(state).ok_or(EditError::NoState(state))?;
    if let Some(entry) = entry {
        super::expect_entry(found, entry)?;
    }
    let replacements = Replacements::new(sdfg, values);
    no_containers(sdfg, &replacements)?;
    let changed = state::substituted(sdfg, found, entry, &replacements, &BTreeSet::new())?;
    *sdfg.state_mut(state) = changed;
    Ok(())
}

/// Gives a symbol another name, where it is declared, assigned and used. Parameters of scopes that have the old name
/// hide the symbol and keep it.
///
/// # Errors
/// [`EditError::NoSymbol`], [`EditError::InvalidName`], and [`EditError::NameTaken`] if a container or another symbol of
/// the SDFG has the name.
pub fn rename_symbol(sdfg: &mut Sdfg, from: &Symbol, to: &str) -> Result<(), EditError> {
    names::check(to)?;
    let new = Symbol::new(to).map_err(|_| EditError::InvalidName { name: to.to_owned() })?;
    let assigned = assigned_symbols(sdfg);
    let free = crate::analysis::symbols::free_symbols(sdfg);
    if !free.contains(from) && !assigned.contains(from) {
        return Err(EditError::NoSymbol(from.clone()));
    }
    if free.contains(&new) || assigned.contains(&new) || sdfg.find_container(to).is_some() {
        return Err(EditError::NameTaken { name: to.to_owned() });
    }
    let mut replacements =
        Replacements::new(sdfg, &BTreeMap::from([(from.clone(), Expr::symbol(new.clone()))]));
    replacements.same_type(from, &new);
    atomically(sdfg, |sdfg| {
        everywhere(sdfg, &replacements)?;
        let declared: Vec<_> = sdfg.symbols().map(|(symbol, ty)| (symbol.clone(), ty)).collect();
        for (symbol, _) in &declared {
            sdfg.undeclare_symbol(symbol);
        }
        for (symbol, ty) in declared {
            sdfg.declare_symbol(if symbol == *from { new.clone() } else { symbol }, ty);
        }
        for block in blocks(sdfg) {
            if let BlockKind::Loop(repeated) = &mut sdfg.block_mut(block).kind
                && repeated.symbol.as_ref() == Some(from)
            {
                repeated.symbol = Some(new.clone());
            }
        }
        for id in transitions(sdfg) {
            for (symbol, _) in &mut sdfg.transition_mut(id).assignments {
                if symbol == from {
                    *symbol = new.clone();
                }
            }
        }
        Ok(())
    })
}

/// The state of a nested SDFG with symbols replaced by expressions of the caller. Scopes get other names for what they bind
/// where it is in `avoid`.
pub(super) fn inlined(
    caller: &Sdfg,
    nested: &NestedSdfg,
    state: StateId,
    values: &BTreeMap<Symbol, Expr>,
    avoid: &BTreeSet<Symbol>,
) -> Result<State, EditError> {
    let mut replacements = Replacements::new(&nested.sdfg, values);
    for symbol in replacements.inserted() {
        let types = [&nested.sdfg, caller].map(|sdfg| sdfg.symbol_type(&symbol).unwrap_or(UNDECLARED_SYMBOL));
        if nested.sdfg.symbol_type(&symbol).is_some() && types[0] != types[1] {
            return Err(EditError::Captured { symbol });
        }
        replacements.set_type(symbol, types[1]);
    }
    state::substituted(&nested.sdfg, nested.sdfg.state(state), None, &replacements, avoid)
}

/// Replaces symbols in the shape of a container of a nested SDFG.
pub(super) fn shape_of(container: &mut Container, nested: &NestedSdfg, values: &BTreeMap<Symbol, Expr>) {
    shape(container, &Replacements::new(&nested.sdfg, values));
}

fn no_containers(sdfg: &Sdfg, replacements: &Replacements) -> Result<(), EditError> {
    let is_container = |symbol: &Symbol| sdfg.find_container(symbol.as_str()).is_some();
    match replacements.inserted().into_iter().find(is_container) {
        Some(symbol) => Err(EditError::Captured { symbol }),
        None => Ok(()),
    }
}

/// Replaces in containers, control flow and states.
fn everywhere(sdfg: &mut Sdfg, replacements: &Replacements) -> Result<(), EditError> {
    if replacements.is_empty() {
        return Ok(());
    }
    no_containers(sdfg, replacements)?;
    let mut changed = Vec::new();
    for (id, state) in sdfg.states() {
        changed.push((id, state::substituted(sdfg, state, None, replacements, &BTreeSet::new())?));
    }
    for (id, state) in changed {
        *sdfg.state_mut(id) = state;
    }
    control_flow(sdfg, replacements)?;
    let containers: Vec<ContainerId> = sdfg.containers().map(|(id, _)| id).collect();
    for id in containers {
        shape(sdfg.container_mut(id), replacements);
    }
    Ok(())
}

fn shape(container: &mut Container, replacements: &Replacements) {
    let expr = |expr: &mut Expr| replacements.expr(expr);
    match &mut container.kind {
        ContainerKind::Scalar => {}
        ContainerKind::Array(layout) | ContainerKind::View(layout) | ContainerKind::Reference(layout) => {
            layout.shape.iter_mut().chain(&mut layout.strides).for_each(expr);
            expr(&mut layout.offset);
            expr(&mut layout.total_size);
        }
        ContainerKind::Stream { shape, capacity } => shape.iter_mut().chain(capacity).for_each(expr),
    }
    match &mut container.distribution {
        Distribution::Block { grid } => grid.iter_mut().for_each(expr),
        Distribution::Replicated | Distribution::Local => {}
    }
}

fn control_flow(sdfg: &mut Sdfg, replacements: &Replacements) -> Result<(), EditError> {
    for id in blocks(sdfg) {
        let mut kind = sdfg.block(id).kind.clone();
        let label = sdfg.block(id).label.clone();
        match &mut kind {
            BlockKind::State(_) | BlockKind::Break | BlockKind::Continue | BlockKind::Return => continue,
            BlockKind::Loop(repeated) => {
                let values =
                    [repeated.init.as_mut(), Some(&mut repeated.condition), repeated.update.as_mut()];
                for value in values.into_iter().flatten() {
                    replacements.control(sdfg, value, &label)?;
                }
            }
            BlockKind::Branch(branch) => {
                for (condition, _) in &mut branch.arms {
                    replacements.control(sdfg, condition, &label)?;
                }
            }
        }
        sdfg.block_mut(id).kind = kind;
    }
    for id in transitions(sdfg) {
        let mut transition = sdfg.transition(id).clone();
        let label = sdfg.block(transition.src).label.clone();
        let values = transition.assignments.iter_mut().map(|(_, value)| value);
        for value in values.chain(&mut transition.condition) {
            replacements.control(sdfg, value, &label)?;
        }
        *sdfg.transition_mut(id) = transition;
    }
    Ok(())
}

fn blocks(sdfg: &Sdfg) -> Vec<crate::ir::BlockId> {
    sdfg.blocks().map(|(id, _)| id).collect()
}

fn transitions(sdfg: &Sdfg) -> Vec<crate::ir::TransitionId> {
    sdfg.transitions().map(|(id, _)| id).collect()
}
