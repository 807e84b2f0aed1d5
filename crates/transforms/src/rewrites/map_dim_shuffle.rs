//! [`MapDimShuffle`].

use std::collections::BTreeSet;

use sdfg::edit::{EditError, Editor};
use sdfg::ir::{Map, NodeKind};
use sdfg::subset::Subset;
use sdfg::symbolic::Symbol;
use serde::{Deserialize, Serialize};

use super::{anchored, described, nested_maps};
use crate::engine::{Evidence, Group, Match, Metadata, Parameter, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Puts the parameters of a map into another order.
///
/// # When it applies
///
/// No range depends on a parameter that would come after it. `order` lists the parameters.
///
/// # Refusals
///
/// - A range depends on a parameter that would come later.
/// - `order` does not list each parameter of the map once.
/// - The map has one parameter.
///
/// # Before
///
/// ```sdft
/// sdfg transpose {
///   symbol N: i64
///   symbol M: i64
///   array A: f64[N, M]
///   array B: f64[M, N]
///
///   state main {
///     access A
///     map elements [i = 0:N, j = 0:M] {
///       tasklet copy (a) -> (b) { b = a }
///       elements.A -> copy.a: A[i, j]
///       copy.b -> elements.B: B[j, i]
///     }
///     access B
///     A -> elements.A
///     elements.B -> B
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg transpose {
///   symbol N: i64
///   symbol M: i64
///   array A: f64[N, M]
///   array B: f64[M, N]
///
///   state main {
///     access A
///     map elements [j = 0:M, i = 0:N] {
///       tasklet copy (a) -> (b) { b = a }
///       elements.A -> copy.a: A[i, j]
///       copy.b -> elements.B: B[j, i]
///     }
///     access B
///     A -> elements.A
///     elements.B -> B
///   }
/// }
/// ```
///
/// # Soundness
///
/// The map has the same iterations. Iterations of maps are concurrent, so their order has no meaning. Sums of
/// floating-point numbers may differ in rounding.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MapDimShuffle {
    /// The parameters in the new order; empty reverses them.
    pub order: Vec<String>,
}

static METADATA: Metadata = Metadata {
    name: "MapDimShuffle",
    group: Group::Map,
    summary: "Puts the parameters of a map into another order.",
    source: "DaCe, MapDimShuffle",
    soundness: Soundness::ChangesRounding,
    is_strict: false,
    file: include_str!("map_dim_shuffle.rs"),
    parameters: &[Parameter {
        name: "order",
        ty: "list of parameters",
        default: Some("[]"),
        summary: "The parameters in the new order; empty reverses them.",
    }],
};

anchored!(MapDimShuffle);

impl MapDimShuffle {
    /// An order of parameters.
    pub fn new<'a>(order: impl IntoIterator<Item = &'a str>) -> Self {
        MapDimShuffle { order: order.into_iter().map(str::to_owned).collect() }
    }

    /// The map with its parameters in the new order.
    fn shuffled(&self, map: &Map) -> Result<Map, Refusal> {
        let count = map.params.len();
        let wrong = |reason: String| Refusal::Parameter { parameter: "order", reason };
        let position = |name: &String| {
            let found = map.params.iter().position(|param| param.as_str() == name);
            found.ok_or_else(|| wrong(format!("the map has no parameter `{name}`")))
        };
        let order: Vec<usize> = if self.order.is_empty() {
            (0..count).rev().collect()
        } else {
            self.order.iter().map(position).collect::<Result<_, _>>()?
        };
        if order.len() != count || order.iter().collect::<BTreeSet<_>>().len() != count {
            return Err(wrong(format!("each of the {count} parameters of the map comes once")));
        }
        let params: Vec<Symbol> = order.iter().map(|at| map.params[*at].clone()).collect();
        let ranges: Vec<_> = order.iter().map(|at| map.ranges.0[*at].clone()).collect();
        for (at, range) in ranges.iter().enumerate() {
            let used = range.free_symbols();
            if let Some(parameter) = params[at..].iter().find(|parameter| used.contains(*parameter)) {
                return Err(Refusal::DependsOn { range: range.to_string(), parameter: parameter.clone() });
            }
        }
        Ok(Map { params, ranges: Subset(ranges), schedule: map.schedule.clone() })
    }
}

impl Transformation for MapDimShuffle {
    described!(METADATA, of_any_memory);

    fn pattern(&self) -> Pattern {
        Pattern::path([("map", NodeClass::MapEntry)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let map = site.map(0)?;
        if map.params.len() < 2 {
            return Err(Refusal::structure(site.label(0), "has one parameter"));
        }
        self.shuffled(map).map(|_| Evidence::of_structure())
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, entry) = (found.state(), found.node(0));
        let map = nested_maps::entry_map(editor, state, entry)?;
        if let Ok(map) = self.shuffled(&map) {
            editor.replace_node(state, entry, NodeKind::MapEntry(map))?;
        }
        Ok(())
    }
}
