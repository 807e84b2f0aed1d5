//! [`NestSdfg`].

use std::collections::BTreeSet;

use sdfg::edit::{EditError, Editor};
use serde::{Deserialize, Serialize};

use super::{anchored, described};
use crate::engine::{Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Moves a map with its contents into an SDFG of its own, which a node calls in its place.
///
/// `InlineSDFG` is the reverse.
///
/// # When it applies
///
/// It applies to every map. Containers that others use become arguments, bound as a whole. Transients that
/// only the map uses move along.
///
/// # Refusals
///
/// - The editor refuses an alias whose binding stays outside, and a stream that the condition of a consume
///   scope reads by name.
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
///     nested "elements.call0" (A) -> (B) with (N = N) sdfg double_all_elements_call0 {
///       symbol N: i64
///       array A: f64[N]
///       array B: f64[N]
///
///       state body {
///         map elements [i = 0:N] {
///           tasklet double (a) -> (b) { b = 2.0 * a }
///           elements.A -> double.a: A[i]
///           double.b -> elements.B: B[i]
///         }
///         access A
///         access B
///         A -> elements.A
///         elements.B -> B
///       }
///     }
///     A -> "elements.call0".A: A[0:N]
///     "elements.call0".B -> B: B[0:N]
///   }
/// }
/// ```
///
/// # Soundness
///
/// A call runs the state of its SDFG on the containers that it binds, which are the same. Edges to the map
/// become edges to the call, so the order stays.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NestSdfg {}

static METADATA: Metadata = Metadata {
    name: "NestSDFG",
    group: Group::ControlFlow,
    summary: "Moves a map with its contents into an SDFG of its own.",
    source: "DaCe, NestSDFG",
    soundness: Soundness::Always,
    is_strict: false,
    file: include_str!("nest_sdfg.rs"),
    parameters: &[],
};

anchored!(NestSdfg);

impl Transformation for NestSdfg {
    described!(METADATA, of_any_memory);

    fn pattern(&self) -> Pattern {
        Pattern::path([("map", NodeClass::MapEntry)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        site.map(0).map(|_| Evidence::of_structure())
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, entry) = (found.state(), found.node(0));
        let label = editor.state(state)?.node(entry).label.clone();
        let call = editor.derived_label(state, &label, "call")?;
        editor.wrap_in_nested(state, &BTreeSet::from([entry]), &call)?;
        Ok(())
    }
}
