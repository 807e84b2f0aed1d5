//! [`GpuTransform`].

use std::collections::BTreeSet;

use sdfg::analysis::symbols::bound_symbols;
use sdfg::analysis::{Use, leaf_edges, node_leads_to};
use sdfg::edit::{Cover, EditError, Editor};
use sdfg::ir::{
    Access, ContainerId, EdgeId, Flow, Map, NodeId, NodeKind, Schedule, ScheduleKind, State, Storage,
    TaskletBody,
};
use serde::{Deserialize, Serialize};

use super::{anchored, described, nested_maps};
use crate::engine::{Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};
use crate::retarget;

/// Makes a map of the host a kernel of a GPU, with copies of its data in the memory of the GPU.
///
/// The map gets the schedule `gpu_grid`, and maps in it run in sequence in each thread. The data that the map
/// reads is copied to transients with the storage `gpu_global` before it, and the data that it writes is
/// copied back after it. Transients of an iteration lie where it runs. `--retarget cpu` is the reverse.
///
/// # When it applies
///
/// The map is outside of all scopes, and contains maps, tasklets in the tasklet language and transients of
/// its own. The elements that it writes, and those that it reads of transients, are known exactly: a copy of
/// others could overwrite results, or read undefined elements. Arguments count as defined, and a copy of one may
/// read elements between those that the map reads.
///
/// # Refusals
///
/// - The map is in a scope or a nested SDFG, has a schedule of a device or `simd`, or gets symbols from data.
/// - The map uses a stream or constant, or calls a foreign function.
/// - A write has a conflict resolution, since it combines with elements of the host. `AccumulateTransient`
///   helps for inner maps.
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
/// wrote.
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
        let (state, entry, map) = (site.state(), site.found.node(0), site.map(0)?);
        let label = site.label(0);
        if site.scopes().scope_of(entry).is_some() || !site.found.calls.is_empty() {
            return Err(Refusal::structure(label, "is in a scope, or in a nested SDFG"));
        }
        if !matches!(
            map.schedule.kind(),
            ScheduleKind::Default | ScheduleKind::Sequential | ScheduleKind::CpuMulticore
        ) {
            let schedule = map.schedule.kind().name();
            return Err(Refusal::structure(label, format!("has the schedule `{schedule}`")));
        }
        if bound_symbols(state, entry) != map.params {
            return Err(Refusal::structure(label, "gets symbols from data"));
        }
        nested_maps::no_declared_memlets(site, &[entry])?;
        check_contents(site, entry)?;
        for edge in outer_edges(state, entry) {
            let memlet = &state.edge(edge).memlet;
            for access in memlet.accesses() {
                let container = site.sdfg.container(access.container);
                if access.is_queue() || container.constant.is_some() {
                    return Err(Refusal::container(&container.name, "is a stream or constant"));
                }
                if memlet.resolution().is_some() {
                    let reason =
                        "is written with a conflict resolution, which combines with elements of the host";
                    return Err(Refusal::container(&container.name, reason));
                }
            }
        }
        Moved::of(site, entry).check()?;
        check_copies(site, entry)?;
        Ok(Evidence::of_structure())
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, entry) = (found.state(), found.node(0));
        let map = nested_maps::entry_map(editor, state, entry)?;
        let tree = sdfg::analysis::ScopeTree::of(editor.state(state)?);
        let inner = contents(&tree, entry);
        for edge in outer_edges(editor.state(state)?, entry) {
            let access = editor.state(state)?.edge(edge).memlet.accesses().next().cloned();
            let Some(access) = access else { continue };
            let container = editor.sdfg().container(access.container);
            if container.storage == Storage::GpuGlobal {
                continue;
            }
            let (name, is_defined) = (container.name.clone(), container.is_argument());
            let name = editor.derived_container_name(&name, "device");
            let cover = if is_defined { Cover::MoreIsDefined } else { Cover::Exact };
            editor.add_local_copy(state, edge, &name, Storage::GpuGlobal, cover)?;
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

/// The data of a map that move to a device and back.
struct Moved<'s, 'p> {
    site: &'s Site<'p>,
    entry: NodeId,
    exit: NodeId,
}

impl<'s, 'p> Moved<'s, 'p> {
    fn of(site: &'s Site<'p>, entry: NodeId) -> Self {
        Moved { site, entry, exit: site.state().exit_of(entry).unwrap_or(entry) }
    }

    /// The edges of data at the entry, or at the exit, each with its access and the names of the same memory.
    fn edges(&self, node: NodeId) -> Vec<(EdgeId, &'p Access, BTreeSet<ContainerId>)> {
        let state = self.site.state();
        let edges = if node == self.entry { state.in_edges(node) } else { state.out_edges(node) };
        let access = |edge: &EdgeId| state.edge(*edge).memlet.accesses().next();
        let named = |edge| access(&edge).map(|found| (edge, found, self.site.same_memory(found.container)));
        edges.into_iter().filter_map(named).collect()
    }

    fn check(&self) -> Result<(), Refusal> {
        let (reads, writes) = (self.edges(self.entry), self.edges(self.exit));
        for (at, (edge, write, names)) in writes.iter().enumerate() {
            for (other, second, _) in &writes[at + 1..] {
                if names.contains(&second.container) && !self.are_apart(write, second) {
                    let reason = "may touch the same elements, and each is copied back on its own";
                    return Err(self.conflict(*edge, *other, reason));
                }
            }
            for (other, read, _) in &reads {
                if names.contains(&read.container) && self.reads_after(*edge, *other) {
                    let reason =
                        "may touch the same elements, and the read comes after the write in an iteration";
                    return Err(self.conflict(*edge, *other, reason));
                }
            }
        }
        let state = self.site.state();
        for (edge, read, names) in &reads {
            let source = state.edge(*edge).src;
            let comes_between =
                |node: NodeId| !node_leads_to(state, node, source) && node_leads_to(state, node, self.entry);
            if let Some(node) = self.touching(names, true).into_iter().find(|node| comes_between(*node)) {
                return Err(self.beside(read, node, "writes it before the map, and after it may be copied"));
            }
        }
        for (edge, write, names) in &writes {
            let target = state.edge(*edge).dst;
            let comes_between =
                |node: NodeId| !node_leads_to(state, target, node) && node_leads_to(state, self.exit, node);
            if let Some(node) = self.touching(names, false).into_iter().find(|node| comes_between(*node)) {
                return Err(self.beside(
                    write,
                    node,
                    "uses it after the map, and before it may be copied back",
                ));
            }
        }
        Ok(())
    }

    /// Whether two accesses outside of the map name different elements of one container.
    fn are_apart(&self, one: &Access, other: &Access) -> bool {
        let known = self.site.known_in(None);
        one.container == other.container && one.subset().disjoint(other.subset(), &known).is_proved()
    }

    /// Whether a node that reads by one edge of the map may run behind one that writes by another.
    fn reads_after(&self, write: EdgeId, read: EdgeId) -> bool {
        let state = self.site.state();
        let writers = leaf_edges(state, write).into_iter().map(|edge| state.edge(edge).src);
        let readers: Vec<NodeId> =
            leaf_edges(state, read).into_iter().map(|edge| state.edge(edge).dst).collect();
        writers.into_iter().any(|writer| {
            readers.iter().any(|reader| *reader != writer && node_leads_to(state, writer, *reader))
        })
    }

    /// The access nodes of containers and the nodes at them, apart from the map; only those that write, if asked.
    fn touching(&self, names: &BTreeSet<ContainerId>, writing: bool) -> BTreeSet<NodeId> {
        let state = self.site.state();
        let (uses, at) = (self.site.uses(), self.site.found.state());
        let access = |used| match used {
            Use::Access(_, node) => Some(node),
            Use::Memlet(..) | Use::Condition(..) | Use::Block(_) | Use::Transition(_) => None,
        };
        let mut found = BTreeSet::new();
        for node in names.iter().flat_map(|id| uses.in_state(*id, at)).filter_map(access) {
            let into = state.each_in_edge(node).filter(|(_, edge)| !matches!(edge.memlet.flow, Flow::Order));
            let sources: Vec<NodeId> = into.map(|(_, edge)| edge.src).collect();
            if writing && sources.is_empty() {
                continue;
            }
            let out = state.each_out_edge(node).filter(|(_, edge)| !matches!(edge.memlet.flow, Flow::Order));
            let readers: Vec<NodeId> = out.map(|(_, edge)| edge.dst).filter(|_| !writing).collect();
            found.extend(sources.into_iter().chain(readers).chain([node]));
        }
        found.retain(|node| *node != self.entry && *node != self.exit);
        found
    }

    fn conflict(&self, first: EdgeId, second: EdgeId, reason: &'static str) -> Refusal {
        let shown = |edge: EdgeId| {
            let access = self.site.state().edge(edge).memlet.accesses().next();
            let text = |access: &Access| {
                format!("`{}[{}]`", self.site.sdfg.container(access.container).name, access.subset())
            };
            access.map(text).unwrap_or_default()
        };
        let container = self.site.label(0).to_owned();
        Refusal::Conflict { container, first: shown(first), second: shown(second), reason }
    }

    fn beside(&self, access: &Access, node: NodeId, what: &str) -> Refusal {
        let container = self.site.sdfg.container(access.container).name.clone();
        let by = format!("`{}` {what}", self.site.state().node(node).label);
        Refusal::UsedElsewhere { container, by }
    }
}

/// The nodes in a scope and in the scopes inside it.
fn contents(tree: &sdfg::analysis::ScopeTree, entry: NodeId) -> Vec<NodeId> {
    let (mut found, mut waiting) = (Vec::new(), vec![entry]);
    while let Some(scope) = waiting.pop() {
        found.extend(tree.children(Some(scope)));
        waiting.extend(tree.children(Some(scope)).iter().filter(|node| tree.exit_of(**node).is_some()));
    }
    found
}

/// Edges that move data into a map or out of it.
fn outer_edges(state: &State, entry: NodeId) -> Vec<EdgeId> {
    let exit = state.exit_of(entry).unwrap_or(entry);
    let moves = |edge: &EdgeId| !matches!(state.edge(*edge).memlet.flow, Flow::Order);
    [state.in_edges(entry), state.out_edges(exit)].concat().into_iter().filter(moves).collect()
}

/// Copies to the device may read elements between those that the map reads, so nothing may write them meanwhile.
fn check_copies(site: &Site<'_>, entry: NodeId) -> Result<(), Refusal> {
    let (state, tree) = (site.state(), site.scopes());
    let known = site.known_in(None);
    let exit = state.exit_of(entry).unwrap_or(entry);
    let is_ordered = |source: NodeId, writer: NodeId| {
        let begins = state.node(writer).kind.exit_of().unwrap_or(writer);
        node_leads_to(state, writer, source) || node_leads_to(state, exit, begins)
    };
    let reads =
        state.each_in_edge(entry).filter_map(|(_, edge)| Some((edge.src, edge.memlet.read_access()?)));
    let (uses, at) = (site.uses(), site.found.state());
    for (source, copied) in reads {
        // Outside of scopes, what writes a container leads to an access node of it.
        let accesses = uses.in_state(copied.container, at).map_while(|used| match used {
            Use::Access(_, node) => Some(node),
            Use::Memlet(..) | Use::Condition(..) | Use::Block(_) | Use::Transition(_) => None,
        });
        let into = accesses.flat_map(|node| state.each_in_edge(node).map(|(id, _)| id));
        let writes: BTreeSet<EdgeId> = into.filter(|id| tree.scope_of_edge(state, *id).is_none()).collect();
        for id in writes {
            let edge = state.edge(id);
            let Some(written) = edge.memlet.write_access().filter(|to| to.container == copied.container)
            else {
                continue;
            };
            let is_apart = || copied.subset().disjoint(written.subset(), &known).is_proved();
            if edge.src != exit && !is_ordered(source, edge.src) && !is_apart() {
                let name = &site.sdfg.container(copied.container).name;
                return Err(Refusal::Conflict {
                    container: name.clone(),
                    first: format!("the copy of `{name}[{}]` to the device", copied.subset()),
                    second: format!("the write of `{name}[{}]`", written.subset()),
                    reason: "have no order, and may touch the same element",
                });
            }
        }
    }
    Ok(())
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
