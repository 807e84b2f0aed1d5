//! [`StripMining`].

use sdfg::edit::{EditError, Editor};
use serde::{Deserialize, Serialize};

use super::{MapTiling, Size, anchored, described};
use crate::engine::{Evidence, Group, Match, Metadata, Parameter, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Divides one dimension of a map into strips: a new outer map runs over strips, and the map over one strip.
///
/// It is [`MapTiling`] of one dimension.
///
/// # When it applies
///
/// The range of the dimension depends on no parameter of the map, and `size` is proved to be positive.
///
/// # Refusals
///
/// - The map has fewer dimensions.
/// - The size is not proved to be positive, or the sign of the step is not known.
/// - The range depends on a parameter of the map, or is a range of tiles.
/// - An element gives the map a symbol, and the map writes its container: each strip would read it again.
///
/// # Before
///
/// ```sdft
/// sdfg double_all {
///   symbol N: i64
///   array A: f64[N]
///   array B: f64[N]
///
///   state main {
///     access A
///     map elements [i = 0:N] {
///       tasklet double (a) -> (b) { b = 2.0 * a }
///       elements.A -> double.a: A[i]
///       double.b -> elements.B: B[i]
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
/// sdfg double_all {
///   symbol N: i64
///   array A: f64[N]
///   array B: f64[N]
///
///   state main {
///     access A
///     access B
///     map "elements.tiles0" [i_tile0 = 0:N:64] {
///       map elements [i = i_tile0:min(N, i_tile0 + 64)] {
///         tasklet double (a) -> (b) { b = 2.0 * a }
///         elements.A -> double.a: A[i]
///         double.b -> elements.B: B[i]
///       }
///       "elements.tiles0".A -> elements.A
///       elements.B -> "elements.tiles0".B
///     }
///     "elements.tiles0".B -> B
///     A -> "elements.tiles0".A
///   }
/// }
/// ```
///
/// # Soundness
///
/// Every iteration is in exactly one strip. Iterations of maps are concurrent, so their order has no meaning.
/// Sums of floating-point numbers may differ in rounding.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StripMining {
    /// The dimension, from 0.
    pub dimension: usize,
    /// Iterations of a strip.
    pub size: Size,
}

impl Default for StripMining {
    fn default() -> Self {
        StripMining { dimension: 0, size: Size::from(64) }
    }
}

static METADATA: Metadata = Metadata {
    name: "StripMining",
    group: Group::Map,
    summary: "Divides one dimension of a map into strips.",
    source: "DaCe, StripMining",
    soundness: Soundness::ChangesRounding,
    is_strict: false,
    file: include_str!("strip_mining.rs"),
    parameters: &[
        Parameter { name: "dimension", ty: "integer", default: Some("0"), summary: "The dimension, from 0." },
        Parameter {
            name: "size",
            ty: "integer or expression",
            default: Some("64"),
            summary: "Iterations of a strip.",
        },
    ],
};

anchored!(StripMining);

impl StripMining {
    fn tiling(&self) -> MapTiling {
        let mut sizes = vec![Size::from(0); self.dimension];
        sizes.push(self.size.clone());
        MapTiling::new(sizes)
    }
}

impl Transformation for StripMining {
    described!(METADATA, of_any_memory);

    fn pattern(&self) -> Pattern {
        Pattern::path([("map", NodeClass::MapEntry)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        if self.dimension >= site.map(0)?.params.len() {
            let reason = format!("the map has {} dimensions", site.map(0)?.params.len());
            return Err(Refusal::Parameter { parameter: "dimension", reason });
        }
        self.tiling().check_named(site, ["size", "size"])
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        self.tiling().apply(editor, found)
    }
}
