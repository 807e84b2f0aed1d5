//! [`StripMining`].

use sdfg::edit::{EditError, Editor};
use serde::{Deserialize, Serialize};

use super::{MapTiling, Size, anchored, described};
use crate::engine::{Evidence, Group, Match, Metadata, Parameter, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Divides one dimension of a map into strips: a new outer map runs over strips, and the map over one strip.
///
/// It is [`MapTiling`] of one dimension, and applies under the same conditions.
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
        self.tiling().check(site)
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        self.tiling().apply(editor, found)
    }
}
