//! [`MapUnroll`].

use std::collections::BTreeMap;

use sdfg::edit::{EditError, Editor};
use sdfg::ir::Map;
use sdfg::symbolic::Expr;
use serde::{Deserialize, Serialize};

use super::{anchored, described, map_split, nested_maps};
use crate::engine::{Evidence, Group, Match, Metadata, Parameter, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Writes the iterations of a map out, one copy of its contents for each.
///
/// Transients of an iteration have copies.
///
/// # When it applies
///
/// The map runs over ranges of numbers, with at least one and at most `limit` iterations. It touches no
/// stream and gets no symbol from data.
///
/// # Refusals
///
/// - A range is none of numbers, or the map has no iterations, or more than `limit`.
/// - The map uses a stream, binds a view or reference, or gets symbols from data.
/// - The map has a schedule of a device.
///
/// # Before
///
/// ```sdft
/// sdfg both_ends {
///   symbol N: i64
///   array A: f64[N + 1]
///
///   state main {
///     map ends [e = 0:2] {
///       tasklet zero () -> (a) { a = 0.0 }
///       zero.a -> ends.A: A[N*e]
///       order ends -> zero
///     }
///     access A
///     ends.A -> A
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg both_ends {
///   symbol N: i64
///   array A: f64[N + 1]
///
///   state main {
///     tasklet zero () -> (a) { a = 0.0 }
///     access A
///     tasklet zero_1 () -> (a) { a = 0.0 }
///     zero.a -> A: A[N]
///     zero_1.a -> A: A[0]
///   }
/// }
/// ```
///
/// # Soundness
///
/// There is one copy for each iteration. Iterations of maps are concurrent, so the copies need no order. Sums
/// of floating-point numbers may differ in rounding.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MapUnroll {
    /// Largest number of iterations to write out.
    pub limit: i64,
}

impl Default for MapUnroll {
    fn default() -> Self {
        MapUnroll { limit: 16 }
    }
}

static METADATA: Metadata = Metadata {
    name: "MapUnroll",
    group: Group::Map,
    summary: "Writes the iterations of a map over numbers out.",
    source: "DaCe, MapUnroll",
    soundness: Soundness::ChangesRounding,
    is_strict: false,
    file: include_str!("map_unroll.rs"),
    parameters: &[Parameter {
        name: "limit",
        ty: "integer",
        default: Some("16"),
        summary: "Largest number of iterations to write out.",
    }],
};

anchored!(MapUnroll);

impl MapUnroll {
    /// The values of the parameters in each iteration. Refuses the map with this label if a range is none of numbers or empty, or if
    /// there are too many values.
    fn points(&self, label: &str, map: &Map) -> Result<Vec<Vec<i64>>, Refusal> {
        let limit = usize::try_from(self.limit).unwrap_or(0);
        let mut points = vec![Vec::new()];
        for range in &map.ranges.0 {
            let numbers = [&range.begin, &range.end, &range.step, &range.tile].map(Expr::as_int);
            let [Some(begin), Some(end), Some(step), Some(1)] = numbers else {
                let reason = format!("counts over {range}, whose ends and step are no numbers");
                return Err(Refusal::structure(label, reason));
            };
            let goes_on = |at: &i64| if step > 0 { *at < end } else { step < 0 && *at > end };
            let values = std::iter::successors(Some(begin), |at| at.checked_add(step)).take_while(goes_on);
            let values: Vec<i64> = values.take(limit.saturating_add(1)).collect();
            let longer = |point: Vec<i64>| {
                let values = values.clone();
                values.into_iter().map(move |value| [point.clone(), vec![value]].concat())
            };
            points = points.into_iter().flat_map(longer).collect();
            if points.len() > limit {
                let reason = format!("[{}] has more than {limit} iterations", map.ranges);
                return Err(Refusal::Parameter { parameter: "limit", reason });
            }
        }
        if points.is_empty() {
            return Err(Refusal::structure(
                label,
                format!("has no iterations: its range is [{}]", map.ranges),
            ));
        }
        Ok(points)
    }
}

impl Transformation for MapUnroll {
    described!(METADATA, of_any_memory);

    fn pattern(&self) -> Pattern {
        Pattern::path([("map", NodeClass::MapEntry)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        self.points(site.label(0), site.map(0)?)?;
        map_split::copyable(site)?;
        nested_maps::on_host(site, site.map(0)?)?;
        nested_maps::no_sizes(site, site.found.node(0), &site.map(0)?.params.iter().collect())?;
        Ok(Evidence::of_structure())
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, entry) = (found.state(), found.node(0));
        let map = nested_maps::entry_map(editor, state, entry)?;
        let points = self.points("", &map).unwrap_or_default();
        let Some((last, others)) = points.split_last() else { return Err(EditError::NoNode(entry)) };
        let mut scopes = Vec::new();
        for point in others {
            scopes.push((editor.copy_scope(state, entry)?, point));
        }
        scopes.push((entry, last));
        for (scope, point) in scopes {
            let values = map.params.iter().cloned().zip(point.iter().map(|value| Expr::int(*value)));
            let values: BTreeMap<_, _> = values.collect();
            editor.substitute_in_scope(state, Some(scope), &values)?;
            editor.unwrap_map(state, scope)?;
        }
        Ok(())
    }
}
