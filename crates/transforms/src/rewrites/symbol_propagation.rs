//! [`SymbolPropagation`].

use std::collections::BTreeMap;

use sdfg::analysis::integer_of;
use sdfg::analysis::symbols::{assigned_symbols, bound_symbols};
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{Container, Sdfg, State, StateId, TransitionId};
use sdfg::symbolic::{Expr, Symbol};
use serde::{Deserialize, Serialize};

use super::{anchored, described};
use crate::engine::{
    Claim, Evidence, Group, Match, Matched, Metadata, Refusal, Site, Soundness, Transformation,
};
use crate::pattern::{BlockClass, Pattern};

/// Puts the value of a symbol that one transition sets into all places that read it.
///
/// Constants are the simplest such values.
///
/// # When it applies
///
/// It applies to the first assignment of the transition that passes. Nothing else sets the symbol, and its
/// value is an integer expression of symbols that nothing sets. Every place that reads the symbol sees this
/// assignment.
///
/// # Refusals
///
/// - The value is no integer expression of symbols, or reads data.
/// - The value may be another one in code: it divides or shifts by a symbol, or computes with a symbol of another type than `i64`.
/// - Another transition or loop sets the symbol, or the caller gives it a value.
/// - Something sets a symbol of the value.
/// - A place may read the symbol before the assignment.
/// - The symbol sizes a container, and a scope binds a symbol of the value.
///
/// # Before
///
/// ```sdft
/// sdfg second_half {
///   symbol N: i64
///   array A: f64[2*N]
///
///   state begin {}
///   -> clear with (middle = N)
///   state clear {
///     map elements [i = middle:2*N] {
///       tasklet zero () -> (a) { a = 0.0 }
///       zero.a -> elements.A: A[i]
///       order elements -> zero
///     }
///     access A
///     elements.A -> A
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg second_half {
///   symbol N: i64
///   array A: f64[2*N]
///
///   state begin {}
///   state clear {
///     map elements [i = N:2*N] {
///       tasklet zero () -> (a) { a = 0.0 }
///       zero.a -> elements.A: A[i]
///       order elements -> zero
///     }
///     access A
///     elements.A -> A
///   }
/// }
/// ```
///
/// # Soundness
///
/// The symbol has this value wherever it is read, and the symbols of the value never change. So the
/// expression has the same value in each of these places.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SymbolPropagation {}

static METADATA: Metadata = Metadata {
    name: "SymbolPropagation",
    group: Group::ControlFlow,
    summary: "Puts the value of a symbol that one transition sets into all places that read it.",
    source: "DaCe, SymbolPropagation and ConstantPropagation",
    soundness: Soundness::Always,
    is_strict: false,
    file: include_str!("symbol_propagation.rs"),
    parameters: &[],
};

anchored!(SymbolPropagation);

/// The transitions between the blocks of a match.
fn between(sdfg: &Sdfg, found: &Match) -> Vec<TransitionId> {
    let Matched::Blocks(blocks) = &found.elements else { return Vec::new() };
    let [src, dst] = blocks.as_slice() else { return Vec::new() };
    let out = sdfg.transitions_from(*src).into_iter();
    out.filter(|id| sdfg.transition(*id).dst == *dst).collect()
}

/// The value of an assignment that may stand for the symbol everywhere.
fn propagated(site: &Site<'_>, id: TransitionId, symbol: &Symbol) -> Result<Expr, Refusal> {
    let sdfg = site.sdfg;
    let transition = sdfg.transition(id);
    let value = transition.assignments.iter().find(|(own, _)| own == symbol).map(|(_, value)| value);
    let refuse = |reason: String| Refusal::Unproved { about: symbol.to_string(), needed: reason };
    let value = value.and_then(|value| integer_of(sdfg, value));
    let Some(value) = value else {
        return Err(refuse("its value is an integer of symbols, exact also in code".to_owned()));
    };
    let assigned = assigned_symbols(sdfg);
    if assigned.iter().filter(|own| *own == symbol).count() > 1 {
        return Err(refuse("nothing else sets it".to_owned()));
    }
    for name in value.free_symbols() {
        if assigned.contains(&name) || sdfg.find_container(name.as_str()).is_some() {
            return Err(refuse(format!("nothing sets `{name}`, of which its value is made")));
        }
    }
    if sdfg.symbol_type(symbol).is_some() {
        return Err(refuse("the caller gives it no value".to_owned()));
    }
    let names = value.free_symbols();
    let is_sized = |container: &Container| container.kind.size_symbols().contains(symbol);
    if !names.is_empty() && sdfg.containers().any(|(_, container)| is_sized(container)) {
        let bound = |(_, state): (StateId, &State)| {
            state.nodes().flat_map(|(node, _)| bound_symbols(state, node)).find(|name| names.contains(name))
        };
        if let Some(name) = sdfg.states().find_map(bound) {
            return Err(refuse(format!("no scope binds `{name}`, which would size a container")));
        }
    }
    let reaching = site.reaching_symbols();
    // Nothing else sets it: another value would be that from before.
    let unset = reaching.reached_from_entry(symbol);
    if site.symbol_uses().readers(symbol).iter().any(|(_, step)| unset.contains(*step)) {
        return Err(refuse("every place that reads it sees this value".to_owned()));
    }
    Ok(value)
}

/// The first assignment that passes.
fn chosen(site: &Site<'_>) -> Result<(TransitionId, Symbol, Expr), Refusal> {
    let mut refused = None;
    for id in between(site.sdfg, site.found) {
        for (symbol, _) in &site.sdfg.transition(id).assignments {
            match propagated(site, id, symbol) {
                Ok(value) => return Ok((id, symbol.clone(), value)),
                Err(refusal) => refused = refused.or(Some(refusal)),
            }
        }
    }
    let label = &site.sdfg.block(site.found.block(0)).label;
    Err(refused.unwrap_or_else(|| Refusal::structure(label, "sets no symbol on the way to the next block")))
}

impl Transformation for SymbolPropagation {
    described!(METADATA, of_any_memory);

    fn pattern(&self) -> Pattern {
        Pattern::Blocks {
            blocks: vec![("source", BlockClass::Any), ("destination", BlockClass::Any)],
            transitions: vec![(0, 1)],
        }
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let (_, symbol, value) = chosen(site)?;
        let mut evidence = Evidence::default();
        evidence.note(symbol.as_str(), Claim::Equal(Expr::symbol(symbol.clone()), value));
        Ok(evidence)
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let here = Match { calls: Vec::new(), elements: found.elements.clone() };
        let tables = crate::engine::Tables::new();
        let assignment = Site::of(editor.sdfg(), &here, &tables).and_then(|site| chosen(&site).ok());
        let Some((id, symbol, value)) = assignment else { return Err(EditError::NoBlock(found.block(0))) };
        editor
            .change_transition(id, |transition| transition.assignments.retain(|(own, _)| *own != symbol))?;
        editor.substitute(&BTreeMap::from([(symbol, value)]))
    }
}
