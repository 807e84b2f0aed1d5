//! Gives extents of arguments symbols of their own, where the program changes the symbols that they name.
//!
//! An argument has the extents that its caller passes. DaCe does not check extents: code that DaCe's Fortran front end
//! writes computes the size of an array and assigns it to the symbol that is the last extent of that array. Here, such an
//! extent is the symbol `__NAME_at_call`, which nothing assigns. An extent that decides strides stays as it is, and validation
//! refuses the assignment: DaCe would compute other addresses after it.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::symbolic::{Expr, Symbol};

use crate::float_symbols::assignments;
use crate::model::{BlockKind, Descriptor, DescriptorKind, Program, Region};
use crate::report::{Code, Log};

/// Replaces symbols that the program assigns in the extents of its arguments.
pub(crate) fn to_own_symbols(program: &mut Program, log: &Log) {
    let assigned = assigned(&program.body);
    let is_sized = |found: &Descriptor| !found.transient && found.kind == DescriptorKind::Array;
    let sized = program.containers.iter().filter(|(_, found)| is_sized(found));
    let changed: Vec<(String, Symbol)> = sized
        .flat_map(|(name, found)| {
            changed_extents(found, &assigned).into_iter().map(|symbol| (name.clone(), symbol))
        })
        .collect();
    let mut own: BTreeMap<Symbol, Symbol> = BTreeMap::new();
    for (name, symbol) in changed {
        let at_call = own.entry(symbol.clone()).or_insert_with(|| fresh(program, &symbol)).clone();
        log.note(
            Code::Approximated,
            &program.name,
            format!(
                "the program changes `{symbol}`, which sizes the argument `{name}`; here, `{at_call}` is the extent that the caller passes"
            ),
        );
        let Some(container) = program.containers.get_mut(&name) else { continue };
        let replaced = BTreeMap::from([(symbol, Expr::symbol(at_call))]);
        let extents = container.shape.iter_mut().chain([&mut container.total_size]);
        extents.for_each(|extent| *extent = extent.substitute(&replaced));
    }
    for (symbol, at_call) in own {
        let Some(dtype) = program.symbols.get(symbol.as_str()).cloned() else { continue };
        program.symbols.insert(at_call.as_str().to_owned(), dtype);
    }
}

/// Symbols that the program assigns and that are extents of a container, and decide no stride.
fn changed_extents(container: &Descriptor, assigned: &BTreeSet<String>) -> Vec<Symbol> {
    let decides_strides =
        |symbol: &Symbol| container.strides.iter().any(|stride| stride.mentions(&mut |used| used == symbol));
    let found: BTreeSet<Symbol> = container.shape.iter().flat_map(Expr::free_symbols).collect();
    let is_changed = |symbol: &Symbol| assigned.contains(symbol.as_str()) && !decides_strides(symbol);
    found.into_iter().filter(is_changed).collect()
}

/// Names that a region assigns, as symbols or as the variables of loops.
fn assigned(region: &Region) -> BTreeSet<String> {
    let mut found: BTreeSet<String> = assignments(region).map(|(name, _)| name.clone()).collect();
    variables(region, &mut found);
    found
}

fn variables(region: &Region, found: &mut BTreeSet<String>) {
    for block in &region.blocks {
        match &block.kind {
            BlockKind::Loop(repeated) => {
                found.extend(repeated.variable.clone());
                variables(&repeated.body, found);
            }
            BlockKind::Conditional(branches) => {
                branches.iter().for_each(|(_, part)| variables(part, found));
            }
            BlockKind::Group { body, .. } => variables(body, found),
            BlockKind::State(_) | BlockKind::Break | BlockKind::Continue | BlockKind::Return => {}
        }
    }
}

/// A name that nothing else of the program has.
fn fresh(program: &Program, symbol: &Symbol) -> Symbol {
    let mut name = format!("__{symbol}_at_call");
    while program.symbols.contains_key(&name)
        || program.constants.contains_key(&name)
        || program.containers.contains_key(&name)
    {
        name.push('_');
    }
    Symbol::of(&name)
}
