//! Rule: maps and consume scopes, with parameters, ranges, counts, and inputs of their connectors.

use sdfg_graph::analysis::symbols::bound_symbols;
use sdfg_graph::diagnostic::{Code, Diagnostic};
use sdfg_graph::ir::{AccessedPart, Consume, Flow, Map, NodeId, NodeKind, Schedule, Volume};
use sdfg_language::symbolic::{Expr, Symbol};

use super::scope_context::{ScopeContext, ScopeContexts};
use super::site::{Findings, Program, Site, counted};

/// Checks every scope entry of a state.
pub(super) fn check(program: &Program<'_>, site: &Site<'_>, frames: &ScopeContexts, findings: &mut Findings) {
    for (id, node) in site.state.nodes() {
        match &node.kind {
            NodeKind::MapEntry(map) => {
                dimensions(site, id, map, findings);
                ranges(site, id, map, frames, findings);
                schedule(site, id, &map.schedule, map.params.len(), frames, findings);
                parameters(site, id, &map.params, frames, findings);
            }
            NodeKind::ConsumeEntry(consume) => {
                consumed_stream(site, id, findings);
                counts(site, id, consume, frames, findings);
                schedule(site, id, &consume.schedule, 1, frames, findings);
                parameters(site, id, std::slice::from_ref(&consume.element), frames, findings);
            }
            NodeKind::Access(_)
            | NodeKind::Tasklet(_)
            | NodeKind::MapExit(_)
            | NodeKind::ConsumeExit(_)
            | NodeKind::Nested(_)
            | NodeKind::Reduce(_)
            | NodeKind::Library(_) => continue,
        }
        symbol_connectors(site, id, findings);
        sizes_of_transients(program, site, id, findings);
    }
}

/// A map has parameters, and a range for each.
fn dimensions(site: &Site<'_>, id: NodeId, map: &Map, findings: &mut Findings) {
    let (parameters, ranges) = (map.params.len(), map.ranges.rank());
    if parameters != ranges || parameters == 0 {
        let (parameters, ranges) = (counted(parameters, "parameter"), counted(ranges, "range"));
        let message = format!("the map has {parameters} and {ranges}");
        findings.push(site.node_error(Code::MapDimensions, id, None, message));
    }
    for (index, parameter) in map.params.iter().enumerate() {
        if map.params[..index].contains(parameter) {
            let message = format!("two parameters are named `{parameter}`");
            findings.push(site.node_error(Code::DuplicateParameter, id, None, message));
        }
    }
}

/// Ranges use symbols from outside, symbol connectors and earlier parameters.
fn ranges(site: &Site<'_>, id: NodeId, map: &Map, frames: &ScopeContexts, findings: &mut Findings) {
    let mut frame = frames.ranges_of(site, id);
    let error = |code, message: String| site.node_error(code, id, None, message);
    for (parameter, range) in map.params.iter().zip(&map.ranges.0) {
        frame.check_subset(site.sdfg, &[range.clone()].into_iter().collect(), true, &error, findings);
        frame.defined.insert(parameter.clone());
    }
}

/// Numbers of threads and iterations are positive, no more dimensions collapse than there are, and a block has up to
/// three extents.
fn schedule(
    site: &Site<'_>,
    id: NodeId,
    schedule: &Schedule,
    dimensions: usize,
    frames: &ScopeContexts,
    findings: &mut Findings,
) {
    let attributes = schedule.attributes();
    let counts = [
        (&attributes.chunk, "chunk"),
        (&attributes.threads, "number of threads"),
        (&attributes.nested, "number of nested threads"),
    ];
    for (count, what) in counts {
        if let Some(count) = count {
            positive(site, id, count, what, frames.at(id), findings);
        }
    }
    let extents = attributes.block.unwrap_or_default();
    for extent in &extents {
        positive(site, id, extent, "extent of a block", frames.at(id), findings);
    }
    if extents.len() > 3 {
        let message = format!("a block has up to 3 dimensions, this one has {}", extents.len());
        findings.push(site.node_error(Code::BadCount, id, None, message));
    }
    if let Some(collapse) = attributes.collapse
        && !(1..=dimensions).contains(&(collapse as usize))
    {
        let collapse = counted(collapse as usize, "dimension");
        let message = format!("{collapse} cannot be collapsed, the scope has {dimensions}");
        findings.push(site.node_error(Code::BadCount, id, None, message));
    }
}

fn counts(site: &Site<'_>, id: NodeId, consume: &Consume, frames: &ScopeContexts, findings: &mut Findings) {
    let frame = frames.ranges_of(site, id);
    positive(site, id, &consume.elements, "number of processing elements", &frame, findings);
    positive(site, id, &consume.chunk, "chunk", &frame, findings);
}

/// A count is an integer that is not known to be less than one.
fn positive(
    site: &Site<'_>,
    id: NodeId,
    count: &Expr,
    what: &str,
    frame: &ScopeContext,
    findings: &mut Findings,
) {
    let error = |code, message: String| site.node_error(code, id, None, message);
    frame.check(site.sdfg, count, what, &error, findings);
    if count.is_positive(&frame.assumptions).is_refuted() {
        findings.push(error(Code::BadCount, format!("the {what} `{count}` is not positive")));
    }
}

/// Parameters hide neither containers nor parameters of outer scopes, nor symbols that shapes are made of.
///
/// Otherwise one name would mean two things in one scope: the `N` of a shape, and that of an index into it.
fn parameters(
    site: &Site<'_>,
    id: NodeId,
    parameters: &[Symbol],
    frames: &ScopeContexts,
    findings: &mut Findings,
) {
    let outer = frames.at(id);
    for symbol in parameters {
        let error = |code, message: String| site.node_error(code, id, None, message);
        if site.sdfg.find_container(symbol.as_str()).is_some() {
            let message = format!("the parameter `{symbol}` has the name of a container");
            findings.push(error(Code::ContainerAsSymbol, message).suggest("choose another name"));
            continue;
        }
        let of_scope = outer.parameters.iter().any(|parameter| parameter.symbol == *symbol);
        let hidden = match (of_scope, site.sized.get(symbol)) {
            (true, _) => "the parameter of an outer scope".to_owned(),
            (false, Some(argument)) => format!("the symbol in the shape of `{argument}`"),
            (false, None) => continue,
        };
        let message = format!("the parameter `{symbol}` hides {hidden}");
        findings.push(error(Code::ShadowedSymbol, message).suggest("choose another name"));
    }
}

/// What a scope binds hides no symbol in the size of a transient that the scope uses and that is made outside of it.
///
/// The size is that of the symbol, and an index inside would mean the parameter.
fn sizes_of_transients(program: &Program<'_>, site: &Site<'_>, id: NodeId, findings: &mut Findings) {
    for symbol in bound_symbols(site.state, id) {
        let sized = program.transients_sized_by(&symbol);
        if sized.is_empty() {
            continue;
        }
        let scopes = site.scopes();
        let is_inside =
            |scope: Option<NodeId>| scopes.enclosing_scope(scope).any(|enclosing| enclosing == id);
        let inside =
            site.state.edges().filter(|(edge, _)| is_inside(scopes.scope_of_edge(site.state, *edge)));
        let used = inside.flat_map(|(_, edge)| edge.memlet.accesses()).map(|access| access.container);
        let is_made_outside = |container| !is_inside(program.owning_scope(container));
        let hidden = used.filter(|used| sized.contains(used) && is_made_outside(*used)).min();
        if let Some(container) = hidden {
            let name = site.name(container);
            let message = format!(
                "`{symbol}` of the scope hides the symbol in the shape of `{name}`, which is used inside and made outside"
            );
            let error = site.node_error(Code::ShadowedSymbol, id, None, message);
            findings.push(error.suggest("choose another name"));
        }
    }
}

/// Exactly one stream enters a consume scope as `IN_stream`.
fn consumed_stream(site: &Site<'_>, id: NodeId, findings: &mut Findings) {
    let streams = site.state.in_edges(id).into_iter().filter(|edge| {
        let edge = site.state.edge(*edge);
        edge.in_port() == Some(Consume::PORT)
            && edge.memlet.read_access().is_some_and(sdfg_graph::ir::Access::is_queue)
    });
    let count = streams.count();
    if count != 1 {
        let message = format!(
            "{} this scope as `stream`, one is consumed",
            if count == 0 { "no stream enters".to_owned() } else { format!("{count} streams enter") }
        );
        let error = site.node_error(Code::ConsumeStream, id, None, message);
        findings.push(
            error.suggest(format!("write `S -> {}.stream: S` for a stream `S`", site.state.node(id).label)),
        );
    }
}

/// A connector that names a symbol brings one integer.
fn symbol_connectors(site: &Site<'_>, id: NodeId, findings: &mut Findings) {
    for edge_id in site.state.in_edges(id) {
        let edge = site.state.edge(edge_id);
        let Some(connector) = edge.given_symbol() else { continue };
        let error = |message: String| site.edge_error(Code::SymbolConnector, edge_id, message);
        match Symbol::new(connector) {
            Err(_) => findings.push(error(format!("`{connector}` cannot name a symbol"))),
            Ok(symbol) => {
                if let Some(argument) = site.sized.get(&symbol) {
                    let message =
                        format!("the symbol `{symbol}` hides the symbol in the shape of `{argument}`");
                    let error = site.edge_error(Code::ShadowedSymbol, edge_id, message);
                    findings.push(error.suggest("choose another name"));
                }
            }
        }
        if let Some(problem) = one_integer(site, edge, &error) {
            findings.push(problem);
        }
    }
}

fn one_integer(
    site: &Site<'_>,
    edge: &sdfg_graph::ir::Edge,
    error: &dyn Fn(String) -> Diagnostic,
) -> Option<Diagnostic> {
    let Flow::Read(access) = &edge.memlet.flow else { return None };
    let container = site.sdfg.container(access.container);
    let is_integer = container.element.as_scalar().is_some_and(sdfg_language::dtype::ScalarType::is_integer);
    let is_one = match &access.place {
        AccessedPart::Elements(subset) => subset.volume().as_int() == Some(1),
        AccessedPart::Queues(_) => matches!(&edge.memlet.volume, Volume::Exact(count) if count.is_one()),
    };
    if !is_integer {
        Some(error(format!(
            "a symbol is an integer, `{}` has elements of {}",
            container.name, container.element
        )))
    } else if !is_one {
        Some(error(format!("a symbol is one element, the memlet has {}", access.subset().volume())))
    } else {
        None
    }
}
