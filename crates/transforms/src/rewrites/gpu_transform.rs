//! [`GpuTransform`].

use std::collections::BTreeSet;

use sdfg::analysis::leaf_edges;
use sdfg::edit::{Cover, EditError, Editor};
use sdfg::ir::{
    ConflictResolution, ContainerId, ContainerKind, Edge, EdgeId, Flow, Map, Memlet, Node, NodeId, NodeKind,
    Schedule, ScheduleKind, Sdfg, State, StateId, Storage, TaskletBody,
};
use serde::{Deserialize, Serialize};

use super::defined_before::{self, has_other_names, is_alone_in_callers};
use super::device_queues;
use super::moved_data::{
    Moved, accesses_before, check_copies, contents, outer_edges, outside_of_scopes_on_host,
};
use super::{anchored, described, nested_maps};
use crate::engine::{Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};
use crate::retarget;

/// Makes a map of the host a kernel of a GPU, with copies of its data in the memory of the GPU.
///
/// The map gets the schedule `gpu_grid`, and maps in it run in sequence in each thread. The data that the map
/// reads is copied to transients with the storage `gpu_global` before it, and the data that it writes is
/// copied back after it. Elements that the map combines with are copied in both directions. Scalars that only code of the host outside
/// of scopes writes get the storage `cpu_pinned`, which GPUs reach: the kernel is given their values. A transient stream to which the map pushes
/// moves to the memory of the GPU, if the host only copies from or to it. Another stream gets the elements from a stream
/// there, by a copy after the map. Transients of an iteration lie where it runs. `--retarget cpu` is the reverse.
///
/// # When it applies
///
/// The map is outside of all scopes, also if it is in a nested SDFG, whose call is then outside of all scopes, too. It contains maps,
/// tasklets in the tasklet language and transients of its own. Maps that library nodes stand for become kernels when
/// `ExpandLibrary` has expanded these. The elements that it writes, and those that it reads of transients, are known exactly: a copy of
/// others could overwrite results, or read undefined elements. Arguments of the program, and what was written as a whole
/// before, count as defined, and a copy of one may read elements between those that the map reads.
///
/// # Refusals
///
/// - The map or a call that leads to it is in a scope, or the map has a schedule of a device or `simd`, or gets symbols from data.
/// - The map uses a constant, takes elements from a stream, or calls a foreign function.
/// - Another node may use a stream to which the map pushes while the map runs.
/// - A loop of a tasklet, or a map whose range is data, pushes to a stream without a capacity.
/// - The map pushes to an array of queues that is an argument, or that code of the host uses by more than copies.
/// - A write has a conflict resolution that no atomic step combines: of parts of an element together.
/// - A write has a conflict resolution, and a node that neither follows the map nor precedes it uses the container in the state.
/// - Two edges of the map write the same elements, or an iteration reads an element after it wrote it.
/// - A node that the map waits for, or that waits for the map, touches its data at another access node.
/// - A part that is copied has no exact form.
/// - A node that no path orders may write an element that is copied to the device.
///
/// # Before
///
/// ```sdft
/// sdfg double_all {
///   symbol N: i64
///   array A: f64[N]
///   array B: f64[N]
///
///   state s {
///     access A
///     map m [i = 0:N] {
///       tasklet t (x) -> (y) { y = 2.0 * x }
///       m.A -> t.x: A[i]
///       t.y -> m.B: B[i]
///     }
///     access B
///     A -> m.A
///     m.B -> B
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
///   transient array A_device0: f64[N] storage(gpu_global)
///   transient array B_device0: f64[N] storage(gpu_global)
///
///   state s {
///     access A
///     map m [i = 0:N] schedule(gpu_grid) {
///       tasklet t (x) -> (y) { y = 2.0 * x }
///       m.A -> t.x: A_device0[i]
///       t.y -> m.B: B_device0[i]
///     }
///     access B
///     access "m.local0" = A_device0
///     access "m.local1" = B_device0
///     "m.local0" -> m.A
///     m.B -> "m.local1"
///     A -> "m.local0"
///     "m.local1" -> B
///   }
/// }
/// ```
///
/// # Soundness
///
/// Every iteration reads and writes the same values as before: it reads the values that the host had before
/// the map, and no two iterations of a map exchange data. The refusals keep each copy in the place of the
/// accesses that it stands for. Views and references count for the data that they name. The copies write exactly the elements that the map
/// wrote. Where the map combines, they also write old values to elements that the map left as they were, which nothing else
/// uses meanwhile.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GpuTransform {}

static METADATA: Metadata = Metadata {
    name: "GPUTransform",
    group: Group::Hardware,
    summary: "Makes a map a kernel of a GPU, with copies of its data there.",
    source: "paper, Table 4 and Appendix B",
    soundness: Soundness::Always,
    is_strict: false,
    file: include_str!("gpu_transform.rs"),
    parameters: &[],
};

anchored!(GpuTransform);

impl Transformation for GpuTransform {
    described!(METADATA);

    fn pattern(&self) -> Pattern {
        Pattern::path([("map", NodeClass::MapEntry)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let (state, entry) = (site.state(), site.found.node(0));
        outside_of_scopes_on_host(site)?;
        nested_maps::no_declared_memlets(site, &[entry])?;
        check_contents(site, entry)?;
        let moved = Moved::of(site, entry);
        for edge in outer_edges(state, entry) {
            let memlet = &state.edge(edge).memlet;
            for access in memlet.accesses() {
                let container = site.sdfg.container(access.container);
                if container.constant.is_some() {
                    return Err(Refusal::container(&container.name, "is a constant"));
                }
                let combines = memlet.resolution().is_some() || access.is_queue();
                if combines
                    && container.storage != Storage::GpuGlobal
                    && !is_alone_in_callers(site.program, &site.found.calls, access.container)
                {
                    let reason = "is an argument that the caller may use beside the call";
                    return Err(Refusal::container(&container.name, reason));
                }
                if access.is_queue() {
                    if memlet.write_access().is_none() {
                        return Err(Refusal::container(
                            &container.name,
                            "is a stream from which the map takes elements",
                        ));
                    }
                    continue;
                }
                let is_by_steps = |resolution: &ConflictResolution| resolution.is_by_parts(container.element);
                if !memlet.resolution().is_none_or(is_by_steps) {
                    let reason = "is written with a conflict resolution that no atomic step combines";
                    return Err(Refusal::container(&container.name, reason));
                }
                if memlet.resolution().is_some() && container.storage != Storage::GpuGlobal {
                    moved.check_old_elements(edge)?;
                }
            }
        }
        moved.check(&|_, _| false)?;
        check_copies(site, entry)?;
        device_queues::check(site, entry)?;
        Ok(Evidence::of_structure())
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, entry) = (found.state(), found.node(0));
        let map = nested_maps::entry_map(editor, state, entry)?;
        let tree = sdfg::analysis::ScopeTree::of(editor.state(state)?);
        let inner = contents(&tree, entry);
        device_queues::apply(editor, state, entry)?;
        for edge in outer_edges(editor.state(state)?, entry) {
            let access = editor.state(state)?.edge(edge).memlet.accesses().next().cloned();
            let Some(access) = access.filter(|access| !access.is_queue()) else { continue };
            let container = editor.sdfg().container(access.container);
            if container.storage == Storage::GpuGlobal {
                continue;
            }
            if found.calls.is_empty() && is_value_of_host(editor.sdfg(), (state, edge), access.container) {
                editor
                    .change_container(access.container, |container| container.storage = Storage::CpuPinned)?;
                continue;
            }
            let name = container.name.clone();
            let combines = editor.state(state)?.edge(edge).memlet.resolution().is_some();
            let name = editor.derived_container_name(&name, "device");
            let reads = editor.state(state)?.edge(edge).memlet.read_access().is_some();
            let cover = match reads || combines {
                true => defined_before::cover_at(editor, found, access.container, entry),
                false => Cover::Exact,
            };
            let (local, node) = editor.add_local_copy(state, edge, &name, Storage::GpuGlobal, cover)?;
            if combines {
                copy_old_elements(editor, state, entry, (local, node))?;
            }
        }
        let kernel = Schedule::from(ScheduleKind::GpuGrid);
        editor.replace_node(state, entry, NodeKind::MapEntry(Map { schedule: kernel, ..map }))?;
        let mut own = BTreeSet::new();
        for node in inner {
            let kind = editor.state(state)?.node(node).kind.clone();
            own.extend(kind.container());
            if let NodeKind::MapEntry(map) = kind
                && let Some(schedule) = retarget::schedule_in_kernel(map.schedule.kind())
            {
                let map = Map { schedule: Schedule::from(schedule), ..map };
                editor.replace_node(state, node, NodeKind::MapEntry(map))?;
            }
        }
        for id in own {
            if let Some(storage) = retarget::storage_in_kernel(editor.sdfg().container(id).storage) {
                editor.change_container(id, |container| container.storage = storage)?;
            }
        }
        Ok(())
    }
}

/// Whether an edge brings a scalar to tasklets of a map that only code of the host outside of scopes writes: the kernel is given its value.
/// Results of other kernels stay on the device, so that the host does not wait for them.
fn is_value_of_host(sdfg: &Sdfg, (state, edge): (StateId, EdgeId), id: ContainerId) -> bool {
    let container = sdfg.container(id);
    let graph = sdfg.state(state);
    let is_scalar = matches!(container.kind, ContainerKind::Scalar)
        && matches!(container.storage, Storage::Default | Storage::CpuPinned)
        && !has_other_names(sdfg, id);
    let is_read = matches!(graph.edge(edge).memlet.flow, Flow::Read(_))
        && leaf_edges(graph, edge)
            .into_iter()
            .all(|leaf| matches!(graph.node(graph.edge(leaf).dst).kind, NodeKind::Tasklet(_)));
    let is_of_host = |state: &State, edge: &Edge| {
        edge.memlet.write_access().is_none_or(|to| to.container != id)
            || match &state.node(edge.src).kind {
                NodeKind::Tasklet(_) => true,
                NodeKind::Access(from) => sdfg.container(*from).storage != Storage::GpuGlobal,
                NodeKind::MapEntry(_)
                | NodeKind::MapExit(_)
                | NodeKind::ConsumeEntry(_)
                | NodeKind::ConsumeExit(_)
                | NodeKind::Nested(_)
                | NodeKind::Reduce(_)
                | NodeKind::Library(_) => false,
            }
    };
    is_scalar
        && is_read
        && sdfg.states().all(|(_, state)| state.edges().all(|(_, edge)| is_of_host(state, edge)))
}

/// Copies the elements that a kernel combines with to the device before it. All of them are copied back behind the kernel, which
/// changes no others.
fn copy_old_elements(
    editor: &mut Editor<'_>,
    state: StateId,
    entry: NodeId,
    (local, node): (ContainerId, NodeId),
) -> Result<(), EditError> {
    let back = editor.state(state)?.out_edges(node).into_iter().next().ok_or(EditError::NoNode(node))?;
    let edge = editor.state(state)?.edge(back).clone();
    let Flow::Copy { from, to, .. } = edge.memlet.flow else { return Err(EditError::NoNode(node)) };
    editor.set_memlet(state, back, Memlet::copy(from.clone(), to.clone()))?;
    let label = editor.state(state)?.node(node).label.clone();
    let mut access = |container, role| {
        let label = editor.derived_label(state, &label, role)?;
        editor.add_node(state, Node { label, kind: NodeKind::Access(container), loc: None })
    };
    let container = to.container;
    let (host, device) = (access(container, "host")?, access(local, "begin")?);
    let copy = Edge {
        src: host,
        src_connector: None,
        dst: device,
        dst_connector: None,
        memlet: Memlet::copy(to, from),
        loc: None,
    };
    let earlier = accesses_before(editor.state(state)?, container, entry);
    for before in earlier {
        editor.add_order(state, before, host)?;
    }
    editor.add_edge(state, copy)?;
    editor.add_order(state, device, entry)
}

/// A kernel contains maps, tasklets and transients of its own.
fn check_contents(site: &Site<'_>, entry: NodeId) -> Result<(), Refusal> {
    let (state, tree) = (site.state(), site.scopes());
    let owners = site.owning_scopes();
    let nodes = contents(&tree, entry);
    let is_own = |id: &ContainerId| {
        let container = site.sdfg.container(*id);
        // The map is in no scope, so the one that holds all access nodes of the container is the map or in it.
        owners.contains_key(id) && container.transient && !container.is_alias() && !container.is_stream()
    };
    for node in &nodes {
        let found = state.node(*node);
        let reason = match &found.kind {
            NodeKind::Access(container) if is_own(container) => continue,
            NodeKind::Access(_) => "is no transient of the kernel",
            NodeKind::Tasklet(tasklet) if matches!(tasklet.body, TaskletBody::Code(_)) => continue,
            NodeKind::MapEntry(map)
                if matches!(
                    map.schedule.kind(),
                    ScheduleKind::Default
                        | ScheduleKind::Sequential
                        | ScheduleKind::CpuMulticore
                        | ScheduleKind::Unrolled
                        | ScheduleKind::Simd
                ) =>
            {
                continue;
            }
            NodeKind::MapExit(_) => continue,
            NodeKind::Tasklet(_)
            | NodeKind::MapEntry(_)
            | NodeKind::ConsumeEntry(_)
            | NodeKind::ConsumeExit(_)
            | NodeKind::Nested(_)
            | NodeKind::Reduce(_)
            | NodeKind::Library(_) => "cannot run in a kernel",
        };
        return Err(Refusal::structure(&found.label, reason));
    }
    Ok(())
}
