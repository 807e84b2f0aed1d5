//! [`MapStorage`].

use sdfg::edit::{EditError, Editor};
use sdfg::ir::{EdgeId, NodeId, Sdfg, State, Storage};
use serde::{Deserialize, Serialize};

use super::defined_before::cover;
use super::moved_data::{Moved, check_contents, outer_edges, outermost_on_host};
use super::{anchored, described};
use crate::engine::{Evidence, Group, Match, Metadata, Parameter, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Copies the box that a map accesses of a container to a transient before the map, and what the map writes back after it.
///
/// Then only copies access the container, and it may be cut over ranks by `DistributeContainer`, though all ranks run the map as a
/// whole: the copies bring to every rank the box that the map reads, and no rank sends what all of them compute.
///
/// # When it applies
///
/// The map is outside of all scopes, and reads or writes an array.
///
/// # Refusals
///
/// - The map is in a scope or a nested SDFG, has the schedule of a device, `mpi` or `simd`, or gets symbols from data.
/// - The map does not access the container, or the container is a stream, view, reference, constant, or not replicated.
/// - The map combines values in the container.
/// - Two edges of the map write the same elements, or an iteration reads an element after it wrote it.
/// - A node that the map waits for, or that waits for the map, touches its data at another access node.
/// - A part that is copied has no exact form. Arguments, and containers that an earlier state or counted loops set as a whole, may
///   be copied beyond what the map reads.
/// - The size of the box is not known outside of the loops around the map.
///
/// # Before
///
/// ```sdft
/// sdfg border {
///   symbol N: i64
///   symbol t: i64
///   array A: f64[N + 1, N] distribution(grid(4)[balanced(0), whole])
///   array B: f64[N + 1, N]
///
///   state s {
///     access B
///     map m [j = 0:N] {
///       tasklet t () -> (y) { y = 2.0 }
///       t.y -> m.B: B[t, j]
///       order m -> t
///     }
///     m.B -> B
///   }
///   state copy {
///     access A
///     access B
///     B -> A
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg border {
///   symbol N: i64
///   symbol t: i64
///   array A: f64[N + 1, N] distribution(grid(4)[balanced(0), whole])
///   array B: f64[N + 1, N]
///   transient array B_box0: f64[1, N]
///
///   state s {
///     access B
///     map m [j = 0:N] {
///       tasklet t () -> (y) { y = 2.0 }
///       t.y -> m.B: B_box0[0, j]
///       order m -> t
///     }
///     access "m.local0" = B_box0
///     m.B -> "m.local0"
///     "m.local0" -> B: B_box0[0, 0:N] -> B[t, 0:N]
///   }
///   state copy {
///     access A
///     access B
///     B -> A
///   }
/// }
/// ```
///
/// # Soundness
///
/// The map reads the values that the container had before it, and no two iterations of a map exchange data. The refusals keep each
/// copy in the place of the accesses that it stands for. The copies write exactly the elements that the map wrote.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MapStorage {
    /// The container; empty takes the first that passes.
    pub array: String,
}

static METADATA: Metadata = Metadata {
    name: "MapStorage",
    group: Group::Data,
    summary: "Copies what a map accesses of a container to a transient before the map, and back after it.",
    source: "paper, Table 4 (LocalStorage), at the border of a map",
    soundness: Soundness::Always,
    is_strict: false,
    file: include_str!("map_storage.rs"),
    parameters: &[Parameter {
        name: "array",
        ty: "name of a container",
        default: Some("\"\""),
        summary: "The container; empty takes the first that the map accesses.",
    }],
};

anchored!(MapStorage);

impl MapStorage {
    /// The part of a container that a map accesses.
    pub fn of(array: &str) -> Self {
        MapStorage { array: array.to_owned() }
    }

    /// The edges of the container at the border of the map; those that read come first.
    fn edges(&self, sdfg: &Sdfg, state: &State, entry: NodeId) -> Vec<EdgeId> {
        let container =
            |edge: &EdgeId| state.edge(*edge).memlet.accesses().next().map(|found| found.container);
        let edges = outer_edges(state, entry);
        let fits = |edge: &EdgeId| {
            container(edge).is_some_and(|id| self.array.is_empty() || sdfg.container(id).name == self.array)
        };
        let Some(chosen) = edges.iter().filter(|edge| fits(edge)).find_map(container) else {
            return Vec::new();
        };
        edges.into_iter().filter(|edge| container(edge) == Some(chosen)).collect()
    }
}

impl Transformation for MapStorage {
    described!(METADATA);

    fn pattern(&self) -> Pattern {
        Pattern::path([("map", NodeClass::MapEntry)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let (state, entry) = (site.state(), site.found.node(0));
        outermost_on_host(site)?;
        check_contents(site, entry)?;
        let edges = self.edges(site.sdfg, state, entry);
        if edges.is_empty() {
            let reason = format!("the map does not access `{}`", self.array);
            return Err(Refusal::Parameter { parameter: "array", reason });
        }
        for edge in edges {
            let memlet = &state.edge(edge).memlet;
            for access in memlet.accesses() {
                let container = site.sdfg.container(access.container);
                let is_replicated = container.distribution.blocks().is_none();
                if access.is_queue() || container.is_alias() || container.constant.is_some() || !is_replicated
                {
                    let reason = "is a stream, view, reference, constant, or cut over ranks";
                    return Err(Refusal::container(&container.name, reason));
                }
                if memlet.resolution().is_some() {
                    return Err(Refusal::container(&container.name, "is combined by a conflict resolution"));
                }
            }
        }
        Moved::of(site, entry).check(&|_, _| false)?;
        Moved::of(site, entry).check_copies()?;
        Ok(Evidence::of_structure())
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, entry) = (found.state(), found.node(0));
        for edge in self.edges(editor.sdfg(), editor.state(state)?, entry) {
            let access = editor.state(state)?.edge(edge).memlet.accesses().next();
            let Some(id) = access.map(|access| access.container) else { continue };
            let origin = editor.sdfg().container(id).name.clone();
            let name = editor.derived_container_name(&origin, "box");
            let cover = cover(editor, state, id);
            editor.add_local_copy(state, edge, &name, Storage::Default, cover)?;
        }
        Ok(())
    }
}
