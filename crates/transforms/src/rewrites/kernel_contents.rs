//! Contents of a map that becomes a kernel, also in the SDFGs that it calls: nodes and transients that a thread of a device can have, and
//! the schedules and storages that they get.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sdfg::analysis::symbols::assigned_symbols;
use sdfg::analysis::{Footprint, ScopeTree, SymbolFacts, leaf_edges, symbol_facts_at};
use sdfg::edit::{EditError, Editor, call_accesses_all};
use sdfg::ir::{
    Access, Container, ContainerKind, EdgeId, Lifetime, Map, NestedSdfg, NodeId, NodeKind, Schedule,
    ScheduleKind, Sdfg, State, StateId, Storage, TaskletBody, Volume,
};
use sdfg::symbolic::{Expr, Symbol};

use super::moved_data::{contents, outer_edges};
use crate::engine::{Refusal, Site};
use crate::retarget;

/// The largest transient in bytes of a called SDFG: each thread has one.
const MOST_IN_THREAD: i64 = 4096;

/// A kernel contains maps, tasklets, transients of its own, and calls of SDFGs of these.
pub(super) fn check(site: &Site<'_>, entry: NodeId) -> Result<(), Refusal> {
    let (state, tree) = (site.state(), site.scopes());
    let owners = site.owning_scopes();
    for node in &contents(&tree, entry) {
        let found = state.node(*node);
        if let NodeKind::Access(id) = &found.kind {
            let container = site.sdfg.container(*id);
            // The map is in no scope, so the one that holds all access nodes of the container is the map or in it.
            let is_own = owners.contains_key(id)
                && container.transient
                && !container.is_alias()
                && !container.is_stream();
            if !is_own {
                return Err(Refusal::structure(&found.label, "is no transient of the kernel"));
            }
        }
        check_node(&found.label, &found.kind, &BTreeMap::new())?;
    }
    Ok(())
}

/// Refuses a node that no thread of a device runs. `values` has those of symbols in the SDFG of the node.
fn check_node(label: &str, kind: &NodeKind, values: &BTreeMap<Symbol, Expr>) -> Result<(), Refusal> {
    match kind {
        NodeKind::Access(_) | NodeKind::MapExit(_) => Ok(()),
        NodeKind::Tasklet(tasklet) if matches!(tasklet.body, TaskletBody::Code(_)) => Ok(()),
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
            Ok(())
        }
        NodeKind::Nested(nested) => check_called(label, nested, values),
        NodeKind::Tasklet(_)
        | NodeKind::MapEntry(_)
        | NodeKind::ConsumeEntry(_)
        | NodeKind::ConsumeExit(_)
        | NodeKind::Reduce(_)
        | NodeKind::Library(_) => Err(Refusal::structure(label, "cannot run in a kernel")),
    }
}

/// Refuses a call with something that a thread of a device cannot have.
fn check_called(label: &str, nested: &NestedSdfg, around: &BTreeMap<Symbol, Expr>) -> Result<(), Refusal> {
    let sdfg = &nested.sdfg;
    let mapped =
        nested.symbol_mapping.iter().map(|(symbol, value)| (symbol.clone(), value.substitute(around)));
    let mut values = around.clone();
    values.extend(mapped);
    let assigned: BTreeSet<Symbol> = assigned_symbols(sdfg).into_iter().collect();
    let of_data = |symbol: &Symbol| nested.inputs.iter().any(|input| input.name == symbol.as_str());
    values.retain(|symbol, _| !assigned.contains(symbol) && !of_data(symbol));
    for (_, container) in sdfg.containers() {
        check_container(label, container, &values)?;
    }
    for (_, state) in sdfg.states() {
        for (_, edge) in state.edges() {
            let Some((to, resolution)) = edge.memlet.write_access().zip(edge.memlet.resolution()) else {
                continue;
            };
            let written = sdfg.container(to.container);
            if !(resolution.is_by_parts(written.element) || written.transient && !written.is_alias()) {
                let reason = "is written with a conflict resolution that no atomic step combines";
                return Err(Refusal::container(&written.name, reason));
            }
        }
        for (_, node) in state.nodes() {
            check_node(&node.label, &node.kind, &values)?;
        }
    }
    Ok(())
}

/// Refuses a container of an SDFG that a kernel calls.
fn check_container(
    label: &str,
    container: &Container,
    values: &BTreeMap<Symbol, Expr>,
) -> Result<(), Refusal> {
    let name = &container.name;
    let refuse = |reason: String| Err(Refusal::structure(label, reason));
    let size = match &container.kind {
        ContainerKind::Stream { .. } => {
            return refuse(format!("has the stream `{name}`, and runs in a kernel"));
        }
        ContainerKind::Reference(_) => {
            return refuse(format!("has the reference `{name}`, and runs in a kernel"));
        }
        ContainerKind::View(_) => return Ok(()),
        ContainerKind::Scalar => Expr::one(),
        ContainerKind::Array(layout) => layout.total_size.substitute(values),
    };
    let is_there = match container.storage {
        Storage::Default
        | Storage::Register
        | Storage::CpuHeap
        | Storage::CpuThreadLocal
        | Storage::CpuPinned => true,
        Storage::GpuGlobal => container.is_argument(),
        Storage::GpuShared
        | Storage::FpgaGlobal
        | Storage::FpgaLocal
        | Storage::FpgaRegister
        | Storage::File => false,
    };
    if !is_there {
        return refuse(format!("has `{name}` in memory of which no thread has a part"));
    }
    if !container.transient || container.constant.is_some() {
        return Ok(());
    }
    if matches!(container.lifetime, Lifetime::Persistent | Lifetime::External) {
        return refuse(format!("has `{name}`, which lives longer than the call"));
    }
    let bytes =
        size.as_int().and_then(|size| size.checked_mul(i64::try_from(container.element.size()).ok()?));
    match bytes {
        Some(bytes) if bytes <= MOST_IN_THREAD => Ok(()),
        Some(_) => refuse(format!("has `{name}` with more than {MOST_IN_THREAD} bytes for each thread")),
        None => refuse(format!("has `{name}` for each thread, whose size is not constant")),
    }
}

/// Whether an edge that leads out of a map may bring fewer elements than its subset has, so that the others keep their values.
pub(super) fn leaves_elements(state: &State, edge: EdgeId) -> bool {
    leaf_edges(state, edge).into_iter().any(|leaf| {
        let found = state.edge(leaf);
        let Some(part) = found.memlet.write_access() else { return false };
        let is_all = matches!(&found.memlet.volume, Volume::Exact(n) if *n == part.subset().volume());
        let by_pointer = |kind: &NodeKind| {
            kind.is_code() && !matches!(kind, NodeKind::Reduce(_)) && !part.subset().is_element()
        };
        let called = match (&state.node(found.src).kind, &found.src_connector) {
            (NodeKind::Nested(nested), Some(connector)) => {
                !call_accesses_all(nested, connector, part.subset(), false)
            }
            (kind, _) => by_pointer(kind),
        };
        !is_all || called
    })
}

/// The parts of containers that calls in a map get over edges of the map, if the memlets of these have less: a memlet outside has what the
/// call accesses, and the call still needs a place for all elements of its argument.
pub(super) fn passed_to_calls(sdfg: &Sdfg, id: StateId, entry: NodeId) -> BTreeMap<EdgeId, Access> {
    let state = sdfg.state(id);
    let mut found = BTreeMap::new();
    let edges = outer_edges(state, entry);
    let calls = |edge: &EdgeId| !calls_at(state, *edge).is_empty();
    let mut tables = None;
    for edge in edges.into_iter().filter(calls) {
        let Some(access) = state.edge(edge).memlet.accesses().next().filter(|access| !access.is_queue())
        else {
            continue;
        };
        let (places, tree) =
            tables.get_or_insert_with(|| (SymbolFacts::of(sdfg), Arc::new(ScopeTree::of(state))));
        let footprint = Footprint::of_edges(sdfg, places, tree.clone(), id, [edge]);
        let known = symbol_facts_at(sdfg, id, None);
        let parts = footprint.reads.iter().chain(&footprint.writes);
        let parts = parts.filter(|part| part.container == access.container);
        let all = parts.fold(access.subset().clone(), |all, part| {
            if all == *part.subset.as_inner() {
                return all;
            }
            all.bounding_union(part.subset.as_inner(), &known).into_inner()
        });
        if all != *access.subset() && !access.subset().covers(&all, &known).is_proved() {
            found.insert(edge, Access::elements(access.container, all));
        }
    }
    found
}

/// The calls to which or from which an edge of a map leads.
fn calls_at(state: &State, edge: EdgeId) -> BTreeSet<NodeId> {
    ends_of(state, leaf_edges(state, edge), |kind| matches!(kind, NodeKind::Nested(_)))
}

/// The nodes of a kind at the ends of some edges.
fn ends_of(
    state: &State,
    edges: impl IntoIterator<Item = EdgeId>,
    is: impl Fn(&NodeKind) -> bool,
) -> BTreeSet<NodeId> {
    let ends = edges.into_iter().flat_map(|edge| [state.edge(edge).src, state.edge(edge).dst]);
    ends.filter(|node| is(&state.node(*node).kind)).collect()
}

/// Tasklets in a map that have a pointer to several elements over an edge of the map.
fn pointers_at(state: &State, edge: EdgeId) -> BTreeSet<NodeId> {
    let of_several = |leaf: &EdgeId| {
        let mut accesses = state.edge(*leaf).memlet.accesses();
        accesses.any(|access| !access.is_queue() && !access.subset().is_element())
    };
    let leaves = leaf_edges(state, edge).into_iter().filter(of_several);
    ends_of(state, leaves, |kind| matches!(kind, NodeKind::Tasklet(_)))
}

/// Edges over which a map reads elements that a call in it writes over another edge of the map, with that edge: the call finds both in one
/// place. The parts are the same, or the second one has those of the first.
pub(super) fn in_place(
    sdfg: &Sdfg,
    (id, entry): (StateId, NodeId),
    passed: &BTreeMap<EdgeId, Access>,
) -> Vec<(EdgeId, EdgeId)> {
    let mut found = Vec::new();
    met_in_calls(sdfg, (id, entry), passed, &mut |read, write, _, is_covered| {
        if is_covered {
            found.push((read, write));
        }
    });
    found
}

/// Refuses a map in which a call reads and writes elements of one memory that a copy for each edge would separate.
pub(super) fn check_in_place(
    site: &Site<'_>,
    entry: NodeId,
    passed: &BTreeMap<EdgeId, Access>,
) -> Result<(), Refusal> {
    let mut met = Vec::new();
    met_in_calls(site.sdfg, (site.found.state(), entry), passed, &mut |read, write, call, is_covered| {
        met.push((read, write, call, is_covered));
    });
    let state = site.state();
    let name = |edge: EdgeId| {
        let access = state.edge(edge).memlet.accesses().next();
        access.map(|access| site.sdfg.container(access.container).name.clone()).unwrap_or_default()
    };
    for (at, (read, write, call, is_covered)) in met.iter().enumerate() {
        let has_other = met[..at].iter().any(|(first, other, ..)| first == read && other != write);
        if !is_covered || has_other {
            let by = format!("`{}` reads and writes parts of it that differ", state.node(*call).label);
            return Err(Refusal::UsedElsewhere { container: name(*read), by });
        }
    }
    // Other names of what a call reads or writes would get copies of their own.
    let exit = state.exit_of(entry).unwrap_or(entry);
    for read in state.in_edges(entry) {
        let Some(source) = state.edge(read).memlet.read_access() else { continue };
        let names = site.same_memory(source.container);
        for write in state.out_edges(exit) {
            let Some(target) = state.edge(write).memlet.write_access() else { continue };
            let is_copied = site.sdfg.container(source.container).storage != Storage::GpuGlobal;
            let tasklets = pointers_at(state, read);
            let both = pointers_at(state, write).intersection(&tasklets).next().copied();
            if let Some(tasklet) = both.filter(|_| is_copied && names.contains(&target.container)) {
                let by = format!("`{}` reads elements that it writes", state.node(tasklet).label);
                return Err(Refusal::UsedElsewhere { container: name(read), by });
            }
            let is_other = target.container != source.container && names.contains(&target.container);
            let calls = calls_at(state, read);
            if let Some(call) = calls_at(state, write).intersection(&calls).next().filter(|_| is_other) {
                let label = &state.node(*call).label;
                let by = format!("`{label}` reads and writes it by two names");
                return Err(Refusal::UsedElsewhere { container: name(read), by });
            }
        }
    }
    Ok(())
}

/// Calls `each` for edges of a map with parts of a container that one call in the map reads and writes, with the call, and whether the
/// written part has all that is read.
fn met_in_calls(
    sdfg: &Sdfg,
    (id, entry): (StateId, NodeId),
    passed: &BTreeMap<EdgeId, Access>,
    each: &mut dyn FnMut(EdgeId, EdgeId, NodeId, bool),
) {
    let state = sdfg.state(id);
    let edges = outer_edges(state, entry);
    let known = symbol_facts_at(sdfg, id, None);
    let writes: Vec<(EdgeId, &Access, BTreeSet<NodeId>)> = edges
        .iter()
        .filter_map(|edge| {
            let access = state.edge(*edge).memlet.write_access().filter(|access| !access.is_queue())?;
            Some((*edge, passed.get(edge).unwrap_or(access), calls_at(state, *edge)))
        })
        .filter(|(.., calls)| !calls.is_empty())
        .collect();
    if writes.is_empty() {
        return;
    }
    for read in &edges {
        let Some(access) = state.edge(*read).memlet.read_access() else { continue };
        let access = passed.get(read).unwrap_or(access);
        let readers = calls_at(state, *read);
        for (write, written, writers) in &writes {
            let Some(call) = writers.intersection(&readers).next() else { continue };
            let is_apart = || access.subset().disjoint(written.subset(), &known).is_proved();
            if written.container != access.container || is_apart() {
                continue;
            }
            let is_covered = written.subset() == access.subset()
                || written.subset().covers(access.subset(), &known).is_proved();
            each(*read, *write, *call, is_covered);
        }
    }
}

/// Gives the contents of a kernel the schedules and storages that they have there.
pub(super) fn apply(editor: &mut Editor<'_>, state: StateId, entry: NodeId) -> Result<(), EditError> {
    let tree = ScopeTree::of(editor.state(state)?);
    let mut own = BTreeSet::new();
    for node in contents(&tree, entry) {
        let kind = editor.state(state)?.node(node).kind.clone();
        own.extend(kind.container());
        match kind {
            NodeKind::MapEntry(map) => {
                if let Some(schedule) = retarget::schedule_in_kernel(map.schedule.kind()) {
                    let map = Map { schedule: Schedule::from(schedule), ..map };
                    editor.replace_node(state, node, NodeKind::MapEntry(map))?;
                }
            }
            NodeKind::Nested(mut nested) => {
                if retarget::into_kernel(&mut nested.sdfg) {
                    editor.replace_node(state, node, NodeKind::Nested(nested))?;
                }
            }
            NodeKind::Access(_)
            | NodeKind::Tasklet(_)
            | NodeKind::MapExit(_)
            | NodeKind::ConsumeEntry(_)
            | NodeKind::ConsumeExit(_)
            | NodeKind::Reduce(_)
            | NodeKind::Library(_) => {}
        }
    }
    for id in own {
        if let Some(storage) = retarget::storage_in_kernel(editor.sdfg().container(id).storage) {
            editor.change_container(id, |container| container.storage = storage)?;
        }
    }
    Ok(())
}
