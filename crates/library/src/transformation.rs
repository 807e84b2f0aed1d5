//! [`ExpandLibrary`], a transformation, so that chains can name what is inside of library nodes and reductions.

use sdfg::edit::{EditError, Editor};
use sdfg::ir::NodeId;
use sdfg_transforms::pattern::{NodeClass, Pattern};
use sdfg_transforms::{
    Evidence, Group, Match, Metadata, Parameter, Refusal, Registry, Site, Soundness, Transformation,
};
use serde::{Deserialize, Serialize};

use crate::expand::{expansion_of, put_expansion};
use crate::registry::BuiltIn;

/// Replaces a reduction or a library node by the nested SDFG of one of its expansions.
///
/// Library nodes have the expansions of their operation: `pure`, and some `fast`. Reductions have `pure` (a
/// map over all elements), `sequential` (the same on one thread), `parallel` (16 private results along the
/// first axis that is reduced, which are combined at the end) and `tree` (pairs along this axis, then pairs
/// of pairs). The last two combine elements in another order, and need a transient.
///
/// # When it applies
///
/// The operation is one of the library's, the node fits it, and the operation has the expansion.
///
/// # Refusals
///
/// - The operation has no such expansion, or the node does not fit the operation.
/// - `parallel` and `tree`: the result of the function may depend on the order of elements (`replace`,
///   `custom`).
///
/// # Before
///
/// ```sdft
/// sdfg total {
///   symbol N: i64
///   array A: f64[N]
///   scalar s: f64
///
///   state main {
///     access A
///     access s
///     reduce r wcr(sum)
///     A -> r: A[0:N]
///     r -> s: s
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg total {
///   symbol N: i64
///   array A: f64[N]
///   scalar s: f64
///
///   state main {
///     access A
///     access s
///     nested r (_in) -> (_out) with (n0 = N) sdfg r {
///       symbol n0: i64
///       array _in: f64[n0]
///       scalar _out: f64
///
///       state combine {
///         access _in
///         access _out
///         map elements [i0 = 0:n0] {
///           tasklet element (i) -> (o) { o = i }
///           elements._in -> element.i: _in[i0]
///           element.o -> elements._out: _out wcr(sum)
///         }
///         _in -> elements._in
///         elements._out -> _out
///       }
///     }
///     A -> r._in: A[0:N]
///     r._out -> s: s
///   }
/// }
/// ```
///
/// # Soundness
///
/// The interpreter defines the operation, and tests compare every expansion with it. The call takes the place
/// of the node, with the same edges.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExpandLibrary {
    /// Name of the expansion; empty takes the one that the node asks for, or its default.
    pub implementation: String,
}

static METADATA: Metadata = Metadata {
    name: "ExpandLibrary",
    group: Group::Data,
    summary: "Replaces a reduction or a library node by one of its expansions.",
    source: "DaCe, library nodes; paper, section 3.3 (Reduce)",
    soundness: Soundness::ChangesRounding,
    is_strict: false,
    file: include_str!("transformation.rs"),
    parameters: &[Parameter {
        name: "implementation",
        ty: "word",
        default: Some("\"\""),
        summary: "The expansion, such as `pure`, `fast`, `sequential`, `parallel` or `tree`; empty takes the node's own.",
    }],
};

/// The transformations of `sdfg-transforms`, and those of this crate.
pub fn transformations() -> Registry {
    let mut registry = Registry::standard();
    registry.register::<ExpandLibrary>();
    registry
}

impl ExpandLibrary {
    /// The expansion of this name.
    pub fn by(implementation: &str) -> Self {
        ExpandLibrary { implementation: implementation.to_owned() }
    }

    fn implementation(&self) -> Option<&str> {
        Some(self.implementation.as_str()).filter(|name| !name.is_empty())
    }
}

impl Transformation for ExpandLibrary {
    fn metadata(&self) -> &'static Metadata {
        &METADATA
    }

    fn parameters(&self) -> serde_json::Value {
        // The parameter is a word, which has a form in JSON.
        serde_json::to_value(self).unwrap_or_default()
    }

    fn tells_containers_apart(&self) -> bool {
        false
    }

    fn pattern(&self) -> Pattern {
        Pattern::path([("node", NodeClass::Operation)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let (state, node): (_, NodeId) = (site.found.state(), site.found.node(0));
        let is_nested = !site.found.calls.is_empty();
        let found = expansion_of(site.sdfg, (state, node), &BuiltIn, is_nested, self.implementation());
        found.map_err(|kind| Refusal::structure(site.label(0), format!("has no such expansion: {kind}")))?;
        Ok(Evidence::of_structure())
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, node) = (found.state(), found.node(0));
        let is_nested = !found.calls.is_empty();
        let name = self.implementation();
        let nested = expansion_of(editor.sdfg(), (state, node), &BuiltIn, is_nested, name);
        put_expansion(editor, (state, node), nested.map_err(|_| EditError::NoNode(node))?)
    }
}
