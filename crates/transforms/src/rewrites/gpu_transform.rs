//! [`GpuTransform`].

use std::collections::BTreeSet;

use sdfg::analysis::{leaf_edges, memlet_path};
use sdfg::edit::{Cover, EditError, Editor};
use sdfg::ir::{
    Access, ConflictResolution, ContainerId, ContainerKind, Edge, EdgeId, Flow, Map, Memlet, Node, NodeId,
    NodeKind, Schedule, ScheduleKind, Sdfg, State, StateId, Storage,
};
use sdfg::symbolic::Expr;
use serde::{Deserialize, Serialize};

use super::defined_before::{self, has_other_names, is_alone_in_callers};
use super::device_queues;
use super::moved_data::{Moved, accesses_before, outer_edges, outside_of_scopes_on_host};
use super::{anchored, described, kernel_contents, nested_maps};
use crate::engine::{Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

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
/// tasklets in the tasklet language, transients of its own, and calls of nested SDFGs of these. A called SDFG becomes part of the
/// kernel: each thread runs its control flow and its maps, and has its transients. Maps that library nodes stand for become kernels when
/// `ExpandLibrary` has expanded these. The elements that it writes, and those that it reads of transients, are known exactly: a copy of
/// others could overwrite results, or read undefined elements. Arguments of the program, and what was written as a whole
/// before, count as defined, and a copy of one may read elements between those that the map reads. Elements of these that a tasklet or a
/// call may leave as they are have their old values on the device. A call finds what it reads and writes in one place there.
///
/// # Refusals
///
/// - The map or a call that leads to it is in a scope, or the map has a schedule of a device or `simd`, or gets symbols from data.
/// - A called SDFG has a stream, a reference, memory of a device, or a transient that outlives the call, has more than 4096 bytes or
///   has no constant size.
/// - A call reads and writes parts of a container that differ, or one memory by two names of the state.
/// - A tasklet reads elements of a container through a pointer, and writes elements of it through another one.
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
/// wrote. Where the map combines, or may leave elements as they are, they also write old values to elements that the map left as
/// they were, which nothing else uses meanwhile.
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
        kernel_contents::check(site, entry)?;
        let passed = kernel_contents::passed_to_calls(site.sdfg, site.found.state(), entry);
        kernel_contents::check_in_place(site, entry, &passed)?;
        let in_place = kernel_contents::in_place(site.sdfg, (site.found.state(), entry), &passed);
        let moved = Moved::passing(site, entry, passed);
        for edge in outer_edges(state, entry) {
            let memlet = &state.edge(edge).memlet;
            for access in memlet.accesses() {
                let container = site.sdfg.container(access.container);
                if container.constant.is_some() {
                    return Err(Refusal::container(&container.name, "is a constant"));
                }
                let keeps = keeps_elements(state, edge, &in_place);
                if (keeps || access.is_queue())
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
                if keeps && container.storage != Storage::GpuGlobal {
                    moved.check_old_elements(edge)?;
                }
            }
        }
        moved.check(&|write, read| in_place.contains(&(read, write)))?;
        moved.check_copies()?;
        device_queues::check(site, entry)?;
        Ok(Evidence::of_structure())
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, entry) = (found.state(), found.node(0));
        let map = nested_maps::entry_map(editor, state, entry)?;
        let passed = kernel_contents::passed_to_calls(editor.sdfg(), state, entry);
        let in_place = kernel_contents::in_place(editor.sdfg(), (state, entry), &passed);
        device_queues::apply(editor, state, entry)?;
        for edge in outer_edges(editor.state(state)?, entry) {
            let access = editor.state(state)?.edge(edge).memlet.accesses().next().cloned();
            let Some(access) = access.filter(|access| !access.is_queue()) else { continue };
            let container = editor.sdfg().container(access.container);
            if container.storage == Storage::GpuGlobal || in_place.iter().any(|(read, _)| *read == edge) {
                continue;
            }
            if found.calls.is_empty() && is_value_of_host(editor.sdfg(), (state, edge), access.container) {
                editor
                    .change_container(access.container, |container| container.storage = Storage::CpuPinned)?;
                continue;
            }
            let name = container.name.clone();
            let keeps = keeps_elements(editor.state(state)?, edge, &in_place);
            let access = match passed.get(&edge) {
                Some(all) => pass(editor, (state, edge), all)?,
                None => access,
            };
            let name = editor.derived_container_name(&name, "device");
            let is_read = editor.state(state)?.edge(edge).memlet.read_access().is_some();
            let defined = (is_read || keeps)
                && defined_before::cover_at(editor, found, access.container, entry) == Cover::MoreIsDefined;
            let reads: Vec<EdgeId> =
                in_place.iter().filter(|(_, write)| *write == edge).map(|(read, _)| *read).collect();
            let kept = keeps && (defined || is_read_exactly(editor, state, &access, &reads));
            let (local, node) = editor.add_local_copy(
                state,
                edge,
                &name,
                Storage::GpuGlobal,
                Cover::OfCalls { defined, kept },
            )?;
            if !reads.is_empty() {
                read_in_place(editor, (state, entry), (local, node), &reads)?;
            } else if keeps {
                copy_old_elements(editor, state, entry, (local, node))?;
            }
        }
        let kernel = Schedule::from(ScheduleKind::GpuGrid);
        editor.replace_node(state, entry, NodeKind::MapEntry(Map { schedule: kernel, ..map }))?;
        kernel_contents::apply(editor, state, entry)
    }
}

/// Whether elements at an edge that leads out of a map need their old values on the device: the map combines with them, leaves some as
/// they are, or reads them in place.
fn keeps_elements(state: &State, edge: EdgeId, in_place: &[(EdgeId, EdgeId)]) -> bool {
    state.edge(edge).memlet.resolution().is_some()
        || in_place.iter().any(|(_, write)| *write == edge)
        || kernel_contents::leaves_elements(state, edge)
}

/// Lets the memlet of an edge have all elements of a part.
fn pass(
    editor: &mut Editor<'_>,
    (state, edge): (StateId, EdgeId),
    part: &Access,
) -> Result<Access, EditError> {
    let mut memlet = editor.state(state)?.edge(edge).memlet.clone();
    memlet.accesses_mut().for_each(|access| *access = part.clone());
    (memlet.volume, memlet.declared) = (part.volume(), true);
    editor.set_memlet(state, edge, memlet)?;
    Ok(part.clone())
}

/// Whether a map reads all elements of an access over one of some edges, so that they are defined.
fn is_read_exactly(editor: &mut Editor<'_>, state: StateId, access: &Access, reads: &[EdgeId]) -> bool {
    let exact = Cover::OfCalls { defined: false, kept: false };
    reads.iter().any(|read| editor.copied_over(state, *read, exact).is_ok_and(|found| found == *access))
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
        && leaf_edges(graph, edge).into_iter().all(|leaf| is_given_value(graph, leaf));
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

/// Whether an edge inside of a map brings a value to a tasklet, or to a call that does not write it.
fn is_given_value(state: &State, leaf: EdgeId) -> bool {
    let edge = state.edge(leaf);
    match &state.node(edge.dst).kind {
        NodeKind::Tasklet(_) => true,
        NodeKind::Nested(nested) => {
            !nested.outputs.iter().any(|output| Some(&output.name) == edge.dst_connector.as_ref())
        }
        NodeKind::Access(_)
        | NodeKind::MapEntry(_)
        | NodeKind::MapExit(_)
        | NodeKind::ConsumeEntry(_)
        | NodeKind::ConsumeExit(_)
        | NodeKind::Reduce(_)
        | NodeKind::Library(_) => false,
    }
}

/// Lets a map read the container on the device to which it writes the same elements. They are copied there before it, and all of them
/// back behind it.
fn read_in_place(
    editor: &mut Editor<'_>,
    (state, entry): (StateId, NodeId),
    (local, node): (ContainerId, NodeId),
    reads: &[EdgeId],
) -> Result<(), EditError> {
    let (to, from) = copied_back(editor, state, node)?;
    let offset: Vec<Expr> = (from.subset().0.iter().zip(&to.subset().0))
        .map(|(here, there)| &here.begin - &there.begin)
        .collect();
    let label = editor.state(state)?.node(node).label.clone();
    let label = editor.derived_label(state, &label, "begin")?;
    let begin = editor.add_node(state, Node { label, kind: NodeKind::Access(local), loc: None })?;
    let first = reads.first().ok_or(EditError::NoNode(node))?;
    let host = editor.state(state)?.edge(*first).src;
    // The edges to other nodes come first: a node without edges would be removed.
    for before in accesses_before(editor.state(state)?, to.container, entry) {
        if before != host {
            editor.add_order(state, before, begin)?;
        }
    }
    let container = to.container;
    let filling = Edge {
        src: host,
        src_connector: None,
        dst: begin,
        dst_connector: None,
        memlet: Memlet::copy(to, from),
        loc: None,
    };
    editor.add_edge(state, filling)?;
    for read in reads {
        let graph = editor.state(state)?;
        let mut segments = BTreeSet::new();
        for leaf in leaf_edges(graph, *read) {
            segments.extend(memlet_path(graph, leaf));
        }
        for segment in segments {
            let mut memlet = editor.state(state)?.edge(segment).memlet.clone();
            for access in memlet.accesses_mut().filter(|access| access.container == container) {
                let moved = access.subset().offset(&offset);
                access.container = local;
                *access.subset_mut() = moved;
            }
            memlet.declared = false;
            editor.set_memlet(state, segment, memlet)?;
        }
        editor.redirect_source(state, *read, begin, None)?;
    }
    Ok(())
}

/// Lets all elements be copied back from the device that a copy of results has. The part of the host, and that of the device.
fn copied_back(editor: &mut Editor<'_>, state: StateId, node: NodeId) -> Result<(Access, Access), EditError> {
    let back = editor.state(state)?.out_edges(node).into_iter().next().ok_or(EditError::NoNode(node))?;
    let edge = editor.state(state)?.edge(back).clone();
    let Flow::Copy { from, to, .. } = edge.memlet.flow else { return Err(EditError::NoNode(node)) };
    editor.set_memlet(state, back, Memlet::copy(from.clone(), to.clone()))?;
    Ok((to, from))
}

/// Copies the elements that a kernel combines with to the device before it. All of them are copied back behind the kernel, which
/// changes no others.
fn copy_old_elements(
    editor: &mut Editor<'_>,
    state: StateId,
    entry: NodeId,
    (local, node): (ContainerId, NodeId),
) -> Result<(), EditError> {
    let (to, from) = copied_back(editor, state, node)?;
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
