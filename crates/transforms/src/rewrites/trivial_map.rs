//! [`TrivialMapElimination`].

use std::collections::BTreeMap;

use sdfg::analysis::symbols::bound_symbols;
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{Map, NodeKind};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::{Expr, Symbol};
use serde::{Deserialize, Serialize};

use super::{anchored, described, nested_maps};
use crate::engine::{Claim, Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Removes the parameters of a map that have one value: its contents use the value. A map without other
/// parameters disappears, and its contents take its place.
///
/// # When it applies
///
/// A range has the form of one value, and the schedule is one of the host.
///
/// # Refusals
///
/// - It is not proved that one of the ranges has one value.
/// - The map gets symbols from data.
/// - The schedule brings the contents to a device.
///
/// # Before
///
/// ```sdft
/// sdfg last_element {
///   symbol N: i64
///   array A: f64[N + 1]
///   array last: f64[1]
///
///   state main {
///     access A
///     map once [i = N] {
///       tasklet copy (a) -> (l) { l = a }
///       once.A -> copy.a: A[i]
///       copy.l -> once.last: last[0]
///     }
///     access last
///     A -> once.A
///     once.last -> last
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg last_element {
///   symbol N: i64
///   array A: f64[N + 1]
///   array last: f64[1]
///
///   state main {
///     access A
///     tasklet copy (a) -> (l) { l = a }
///     access last
///     A -> copy.a: A[N]
///     copy.l -> last: last[0]
///   }
/// }
/// ```
///
/// # Soundness
///
/// In every iteration, the removed parameters have these values, so the other parameters name the same
/// iterations. A map without other parameters runs its contents once, and so does the state after the rewrite.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrivialMapElimination {}

static METADATA: Metadata = Metadata {
    name: "TrivialMapElimination",
    group: Group::Map,
    summary: "Removes a map of one iteration, or the parameters of a map that have one value.",
    source: "DaCe, TrivialMapElimination",
    soundness: Soundness::Always,
    is_strict: true,
    file: include_str!("trivial_map.rs"),
    parameters: &[],
};

anchored!(TrivialMapElimination);

impl Transformation for TrivialMapElimination {
    described!(METADATA, of_any_memory);

    fn pattern(&self) -> Pattern {
        Pattern::path([("map", NodeClass::MapEntry)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let map = site.map(0)?;
        let mut evidence = Evidence::default();
        let one_value = || map.params.iter().zip(&map.ranges.0).filter(|(_, range)| has_one_value(range));
        for (param, range) in one_value() {
            evidence.note(param.as_str(), Claim::OneValue(range.clone()));
        }
        if let (None, Some((param, range))) =
            (one_value().next(), map.params.iter().zip(&map.ranges.0).next())
        {
            let needed = format!("{range} has one value");
            return Err(Refusal::Unproved { about: param.to_string(), needed });
        }
        if bound_symbols(site.state(), site.found.node(0)).len() > map.params.len() {
            return Err(Refusal::structure(site.label(0), "gets symbols from data"));
        }
        nested_maps::on_host(site, map)?;
        nested_maps::no_sizes(site, site.found.node(0), &one_value().map(|(param, _)| param).collect())?;
        Ok(evidence)
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, entry) = (found.state(), found.node(0));
        let map = nested_maps::entry_map(editor, state, entry)?;
        // A range may use earlier parameters, which have their values by then.
        let mut values: BTreeMap<Symbol, Expr> = BTreeMap::new();
        let mut others = Map::new(Vec::new(), Subset(Vec::new()));
        for (param, range) in map.params.iter().zip(&map.ranges.0) {
            let range = range.substitute(&values);
            if has_one_value(&range) {
                values.insert(param.clone(), range.begin);
            } else {
                others.params.push(param.clone());
                others.ranges.0.push(range);
            }
        }
        editor.substitute_in_scope(state, Some(entry), &values)?;
        if others.params.is_empty() {
            return editor.unwrap_map(state, entry);
        }
        others.schedule = nested_maps::fitted(map.schedule, others.params.len());
        editor.replace_node(state, entry, NodeKind::MapEntry(others)).map(|_| ())
    }
}

fn has_one_value(range: &Range) -> bool {
    range.tile.is_one() && range.steps().is_one()
}
