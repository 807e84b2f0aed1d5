//! Rule: memlets of edges against their ends and their containers.

use sdfg_graph::analysis::{is_leaf, memlet_path};
use sdfg_graph::diagnostic::{Code, Element, Secondary};
use sdfg_graph::ir::{Access, AccessedPart, ContainerId, Edge, EdgeId, Flow, NodeId, NodeKind};
use sdfg_language::dtype::ElementType;

use super::bounds;
use super::direction;
use super::resolutions;
use super::scope_context::{ScopeContext, ScopeContexts};
use super::site::{Findings, Site, counted};

/// Checks every edge of a state.
pub(super) fn check(site: &Site<'_>, frames: &ScopeContexts, findings: &mut Findings) {
    let has_declared = site.state.edges().any(|(_, edge)| edge.memlet.declared);
    for (id, edge) in site.state.edges() {
        let frame = frames.inside(frames.scopes.scope_of_edge(site.state, id));
        let leaf = is_leaf(site.state, id);
        if !flow_fits(site, id, leaf, findings) {
            continue;
        }
        let mut fits = true;
        for access in edge.memlet.accesses() {
            fits &= place(site, id, access, findings);
            let error = |code, message: String| site.edge_error(code, id, message);
            // What propagation derives from a subset that is empty may have less than no elements.
            let is_derived = !leaf && !edge.memlet.declared;
            frame.check_subset(site.sdfg, access.subset(), !is_derived, &error, findings);
        }
        if leaf || edge.memlet.declared {
            volume(site, id, frame, findings);
        }
        if leaf {
            direction::written_constant(site, id, findings);
            bound_tiles(site, id, findings);
        }
        if leaf && fits {
            if let Flow::Copy { from, to, .. } = &edge.memlet.flow {
                copy_volume(site, id, from, to, frame, findings);
            }
            bounds::check(site, id, frame, has_declared, findings);
            element_types(site, id, findings);
            resolutions::check(site, id, findings);
        }
    }
}

/// A subset with another name has a constant distance between neighbours along each dimension; elements in
/// tiles do not.
fn bound_tiles(site: &Site<'_>, id: EdgeId, findings: &mut Findings) {
    let edge = site.state.edge(id);
    // Library nodes and reductions become nested SDFGs.
    let has_names = |node| {
        let kind = &site.state.node(node).kind;
        matches!(kind, NodeKind::Nested(_) | NodeKind::Library(_) | NodeKind::Reduce(_))
    };
    if !matches!(edge.memlet.flow, Flow::Bind(_)) && !has_names(edge.src) && !has_names(edge.dst) {
        return;
    }
    for access in edge.memlet.accesses() {
        if let Some(tiled) = access.subset().0.iter().find(|range| !range.tile.is_one()) {
            let name = site.name(access.container);
            let message =
                format!("`{name}[{}]` has the tiles `{tiled}`, and gets another name", access.subset());
            let error = site.edge_error(Code::BoundTiles, id, message);
            findings.push(error.suggest("copy the elements to a transient, and use that"));
        }
    }
}

/// The access nodes at the outer ends of the path of an edge: where data comes from, where it goes.
fn path_ends(site: &Site<'_>, id: EdgeId) -> (NodeId, NodeId) {
    let path = memlet_path(site.state, id);
    let edge = site.state.edge(id);
    let src = path.first().map_or(edge.src, |first| site.state.edge(*first).src);
    let dst = path.last().map_or(edge.dst, |last| site.state.edge(*last).dst);
    (src, dst)
}

/// Requirement of the ends of an edge: `Some(container)` if its path ends at an access node.
fn flow_fits(site: &Site<'_>, id: EdgeId, leaf: bool, findings: &mut Findings) -> bool {
    let edge = site.state.edge(id);
    if edge.memlet.flow == Flow::Order {
        return false;
    }
    let (src, dst) = path_ends(site, id);
    let container = |node: NodeId| site.state.node(node).kind.container();
    let (from, to) = (container(src), container(dst));
    let fits = match &edge.memlet.flow {
        Flow::Order => true,
        // An outer segment says what may pass; on the way of a copy it may show the one side or the other.
        Flow::Read(_) | Flow::Write { .. } | Flow::Copy { .. } | Flow::Bind(_) if !leaf => {
            from.or(to).is_some()
        }
        Flow::Read(_) => from.is_some() && to.is_none(),
        Flow::Write { .. } => from.is_none() && to.is_some(),
        Flow::Copy { .. } => from.is_some() && to.is_some(),
        Flow::Value => from.is_none() && to.is_none() && is_code(site, edge),
        Flow::Bind(_) => from.is_some() && to.is_some(),
    };
    if !fits {
        let message = format!(
            "{} cannot lie between {} and {}",
            noun(&edge.memlet.flow),
            end(site, src),
            end(site, dst)
        );
        let error = site.edge_error(Code::FlowMismatch, id, message);
        findings.push(error.suggest(format!("make it {}", expected(from, to))));
        return false;
    }
    containers_fit(site, id, leaf, from, to, findings)
}

fn is_code(site: &Site<'_>, edge: &Edge) -> bool {
    site.state.node(edge.src).kind.is_code() && site.state.node(edge.dst).kind.is_code()
}

fn noun(flow: &Flow) -> &'static str {
    match flow {
        Flow::Order => "an ordering edge",
        Flow::Read(_) => "a read",
        Flow::Write { .. } => "a write",
        Flow::Copy { .. } => "a copy",
        Flow::Value => "a single value",
        Flow::Bind(_) => "a binding",
    }
}

fn expected(from: Option<ContainerId>, to: Option<ContainerId>) -> &'static str {
    match (from, to) {
        (Some(_), Some(_)) => "a copy, or bind a view",
        (Some(_), None) => "a read",
        (None, Some(_)) => "a write",
        (None, None) => "a value, or an edge that orders",
    }
}

fn end(site: &Site<'_>, node: NodeId) -> String {
    let found = site.state.node(node);
    format!("the {} `{}`", found.kind.noun(), found.label)
}

/// The memlet names the containers that its path leads to.
fn containers_fit(
    site: &Site<'_>,
    id: EdgeId,
    leaf: bool,
    from: Option<ContainerId>,
    to: Option<ContainerId>,
    findings: &mut Findings,
) -> bool {
    let edge = site.state.edge(id);
    let pairs: Vec<(ContainerId, Option<ContainerId>)> = match &edge.memlet.flow {
        Flow::Order | Flow::Value => Vec::new(),
        Flow::Read(access) => vec![(access.container, from)],
        Flow::Write { to: access, .. } => vec![(access.container, to)],
        Flow::Copy { from: read, to: written, .. } if leaf => {
            vec![(read.container, from), (written.container, to)]
        }
        // Outer segments of a copy need one right side.
        Flow::Copy { from: read, to: written, .. } => {
            if from == Some(read.container) || to == Some(written.container) {
                Vec::new()
            } else {
                vec![(read.container, from)]
            }
        }
        Flow::Bind(target) => match (from, to) {
            (Some(from), Some(to)) if leaf => return binding(site, id, target.container, from, to, findings),
            _ => vec![(target.container, from.or(to))],
        },
    };
    let mut fits = true;
    for (named, found) in pairs {
        if found.is_some_and(|found| found != named) {
            let (named, found) = (site.name(named), found.map_or_else(String::new, |found| site.name(found)));
            let message = format!("the memlet names `{named}`, its path leads to `{found}`");
            findings
                .push(site.edge_error(Code::WrongContainer, id, message).suggest(format!("write `{found}`")));
            fits = false;
        }
    }
    fits
}

/// A binding stands between a view or reference and the container that it names, which the memlet is about; both have
/// one element type.
fn binding(
    site: &Site<'_>,
    id: EdgeId,
    target: ContainerId,
    from: ContainerId,
    to: ContainerId,
    findings: &mut Findings,
) -> bool {
    let is_alias = |id: ContainerId| site.sdfg.container(id).is_alias();
    let alias = if to == target { from } else { to };
    let error = |code, message: String| site.edge_error(code, id, message);
    let found = if from == to {
        error(Code::WrongContainer, format!("`{}` cannot name a part of itself", site.name(to)))
    } else if !is_alias(from) && !is_alias(to) {
        let message = format!("neither `{}` nor `{}` is a view or reference", site.name(from), site.name(to));
        error(Code::FlowMismatch, message).suggest("declare a view, or copy")
    } else if (from != target && to != target) || !is_alias(alias) {
        let message =
            format!("the memlet names `{}`, which is not what the other end binds", site.name(target));
        error(Code::WrongContainer, message)
    } else {
        let (alias, target) = (site.sdfg.container(alias), site.sdfg.container(target));
        if alias.element == target.element {
            return true;
        }
        let (left, right) = (alias.element, target.element);
        error(
            Code::ElementMismatch,
            format!("`{}` has elements of {left}, `{}` of {right}", alias.name, target.name),
        )
    };
    findings.push(found);
    false
}

/// The subset has the rank of its container, and is of elements or queues as the container is.
fn place(site: &Site<'_>, id: EdgeId, access: &Access, findings: &mut Findings) -> bool {
    let container = site.sdfg.container(access.container);
    let is_queue = matches!(access.place, AccessedPart::Queues(_));
    if is_queue != container.is_stream() {
        let (what, kind) = if is_queue { ("queues", "no stream") } else { ("elements", "a stream") };
        let message = format!("the memlet is about {what} of `{}`, which is {kind}", container.name);
        findings.push(site.edge_error(Code::PlaceMismatch, id, message));
        return false;
    }
    let (rank, found) = (container.shape().len(), access.subset().rank());
    if rank != found {
        let message = format!("`{}` has {}, the memlet {found}", container.name, counted(rank, "dimension"));
        findings.push(site.edge_error(Code::WrongRank, id, message).also(Secondary {
            message: "declared here".to_owned(),
            path: declaration(site, &container.name),
            loc: container.loc.clone(),
        }));
    }
    rank == found
}

/// The path of a container of the SDFG that a state belongs to.
pub(super) fn declaration(site: &Site<'_>, name: &str) -> sdfg_graph::diagnostic::ElementPath {
    site.path.leave().to(Element::Container(name.to_owned()))
}

/// The volume is an integer that is not negative.
fn volume(site: &Site<'_>, id: EdgeId, frame: &ScopeContext, findings: &mut Findings) {
    let memlet = &site.state.edge(id).memlet;
    let Some(count) = memlet.volume.bound() else { return };
    // A volume that follows from the subset is as right as that; of a range that may be empty it may look negative.
    if memlet.accesses().any(|access| access.subset().volume() == *count) {
        return;
    }
    let error = |code, message: String| site.edge_error(code, id, message);
    frame.check(site.sdfg, count, "volume", &error, findings);
    if count.as_int().is_some_and(|count| count < 0) {
        findings.push(error(Code::BadVolume, format!("{count} elements cannot move")));
    }
}

/// Both sides of a copy have as many elements.
fn copy_volume(
    site: &Site<'_>,
    id: EdgeId,
    from: &Access,
    to: &Access,
    frame: &ScopeContext,
    findings: &mut Findings,
) {
    if from.is_queue() || to.is_queue() {
        return;
    }
    let (read, written) = (from.subset().volume(), to.subset().volume());
    if read.equals(&written, &frame.assumptions).is_refuted() {
        let message = format!(
            "{read} elements of `{}` are copied to {written} of `{}`",
            site.name(from.container),
            site.name(to.container)
        );
        findings.push(site.edge_error(Code::CopyVolume, id, message));
    }
}

/// Nothing converts on the way: both ends of an edge have one element type.
fn element_types(site: &Site<'_>, id: EdgeId, findings: &mut Findings) {
    let edge = site.state.edge(id);
    let type_of = |access: &Access| Some(site.sdfg.container(access.container).element);
    let (from, to) = match &edge.memlet.flow {
        Flow::Order | Flow::Bind(_) => return,
        Flow::Read(access) => (Some(access), None),
        Flow::Write { to, .. } => (None, Some(to)),
        Flow::Copy { from, to, .. } => (Some(from), Some(to)),
        Flow::Value => (None, None),
    };
    let source = || declared(site, edge.src, edge.src_connector.as_deref(), false);
    let destination = || declared(site, edge.dst, edge.dst_connector.as_deref(), true);
    let left = from.map_or_else(source, type_of);
    let right = to.map_or_else(destination, type_of);
    if let (Some(left), Some(right)) = (left, right)
        && left != right
    {
        let name = |access: Option<&Access>, connector: &Option<String>| match access {
            Some(access) => site.name(access.container),
            None => connector.clone().unwrap_or_default(),
        };
        let (left_name, right_name) = (name(from, &edge.src_connector), name(to, &edge.dst_connector));
        let message = format!("`{left_name}` has elements of {left}, `{right_name}` of {right}");
        let error = site.edge_error(Code::ElementMismatch, id, message);
        findings.push(error.suggest("memlets do not convert; convert in a tasklet"));
    }
}

/// The element type that a connector declares.
fn declared(site: &Site<'_>, node: NodeId, connector: Option<&str>, is_input: bool) -> Option<ElementType> {
    let kind = &site.state.node(node).kind;
    let connectors = if is_input { kind.inputs() } else { kind.outputs() };
    if let NodeKind::Nested(nested) = kind {
        let container = nested.sdfg.find_container(connector?)?;
        return Some(nested.sdfg.container(container).element);
    }
    connectors.iter().find(|found| Some(found.name.as_str()) == connector)?.element
}
