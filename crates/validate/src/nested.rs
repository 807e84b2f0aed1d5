//! Rule: nested SDFGs, the interface between a call and its callee.

use std::collections::BTreeMap;

use sdfg_graph::analysis::symbols::assigned_symbols;
use sdfg_graph::analysis::{bound_dimensions, consumed_by};
use sdfg_graph::diagnostic::Code;
use sdfg_graph::ir::{
    Access, Connector, Container, ContainerKind, EdgeId, Flow, NestedSdfg, NodeId, NodeKind, Sdfg,
};
use sdfg_graph::workspace::{did_you_mean, nearest};
use sdfg_language::subset::{Range, Subset};
use sdfg_language::symbolic::{Expr, Symbol};

use super::bounds;
use super::direction;
use super::scope_context::{ScopeContext, ScopeContexts};
use super::site::{Findings, Site, counted};

/// Checks the interface of every nested SDFG of a state.
pub(super) fn check(site: &Site<'_>, frames: &ScopeContexts, findings: &mut Findings) {
    for (id, node) in site.state.nodes() {
        if let NodeKind::Nested(nested) = &node.kind {
            let meant = connectors(site, id, nested, findings);
            arguments(site, id, nested, &meant, findings);
            direction::arguments(site, id, nested, findings);
            symbols(site, id, nested, frames, findings);
            in_out(site, id, nested, findings);
            bindings(site, id, nested, frames, findings);
        }
    }
}

fn is_symbol(sdfg: &Sdfg, name: &str) -> bool {
    sdfg.symbols().any(|(symbol, _)| symbol.as_str() == name)
}

/// Every connector has the name of an argument, or an input that of a symbol. The result are the arguments that were
/// probably meant by those that have not: that they have no connector is not reported as well.
fn connectors(site: &Site<'_>, id: NodeId, nested: &NestedSdfg, findings: &mut Findings) -> Vec<String> {
    let mut meant = Vec::new();
    let argument = |name: &str| {
        nested.sdfg.find_container(name).is_some_and(|found| nested.sdfg.container(found).is_argument())
    };
    let mut check = |connector: &Connector, may_be_symbol: bool, findings: &mut Findings| {
        let name = connector.name.as_str();
        if argument(name) || (may_be_symbol && is_symbol(&nested.sdfg, name)) {
            return;
        }
        let message = format!("`{}` has no argument `{name}`", nested.sdfg.name);
        let error = site.node_error(Code::NestedConnector, id, Some(name), message);
        let names = || nested.sdfg.arguments().map(|(_, container)| container.name.as_str());
        // Of a name that is not there, one that is not connected may be the right spelling: one error tells of both.
        let spelt = nearest(name, names(), 1).into_iter().filter_map(|at| names().nth(at));
        meant.extend(spelt.map(str::to_owned));
        findings.push(match did_you_mean(name, names()) {
            Some(suggestion) => error.suggest(suggestion),
            None => error.suggest(format!("declare a container `{name}` that is not transient")),
        });
    };
    nested.inputs.iter().for_each(|connector| check(connector, true, findings));
    nested.outputs.iter().for_each(|connector| check(connector, false, findings));
    meant
}

/// Every argument has a connector; `meant` are those that one with another name is probably for.
fn arguments(site: &Site<'_>, id: NodeId, nested: &NestedSdfg, meant: &[String], findings: &mut Findings) {
    for (_, container) in nested.sdfg.arguments().filter(|(_, argument)| !meant.contains(&argument.name)) {
        let mut connectors = nested.inputs.iter().chain(&nested.outputs);
        if !connectors.any(|connector| connector.name == container.name) {
            let message =
                format!("the argument `{}` of `{}` has no connector", container.name, nested.sdfg.name);
            let error = site.node_error(Code::NestedConnector, id, None, message);
            findings.push(error.suggest("connect it, or make it transient"));
        }
    }
}

/// Every symbol of the called SDFG gets a value, and values go to symbols.
fn symbols(
    site: &Site<'_>,
    id: NodeId,
    nested: &NestedSdfg,
    frames: &ScopeContexts,
    findings: &mut Findings,
) {
    let frame = frames.at(id);
    let error = |code, message: String| site.node_error(code, id, None, message);
    for (index, (symbol, value)) in nested.symbol_mapping.iter().enumerate() {
        frame.check(site.sdfg, value, "value", &error, findings);
        if nested.symbol_mapping[..index].iter().any(|(earlier, _)| earlier == symbol) {
            findings.push(error(Code::NestedSymbol, format!("`{symbol}` gets two values")));
        }
        if nested.sdfg.symbol_type(symbol).is_none() {
            let message = format!("`{}` declares no symbol `{symbol}`", nested.sdfg.name);
            let names = nested.sdfg.symbols().map(|(symbol, _)| symbol.as_str());
            let error = error(Code::NestedSymbol, message);
            findings.push(match did_you_mean(symbol.as_str(), names) {
                Some(suggestion) => error.suggest(suggestion),
                None => error.suggest("remove it, or declare the symbol inside"),
            });
        }
    }
    for (symbol, _) in nested.sdfg.symbols() {
        let is_mapped = nested.symbol_mapping.iter().any(|(mapped, _)| mapped == symbol);
        let is_connected = nested.inputs.iter().any(|connector| connector.name == symbol.as_str());
        if !is_mapped && !is_connected && !frame.defined.contains(symbol) {
            let message = format!("the symbol `{symbol}` of `{}` gets no value", nested.sdfg.name);
            let suggestion =
                format!("write `with ({symbol} = ...)`, or declare a symbol of this name outside");
            findings.push(error(Code::NestedSymbol, message).suggest(suggestion));
        }
    }
}

/// An argument that is read and written is one part of one container.
fn in_out(site: &Site<'_>, id: NodeId, nested: &NestedSdfg, findings: &mut Findings) {
    for input in &nested.inputs {
        if !nested.outputs.iter().any(|output| output.name == input.name) {
            continue;
        }
        let read = accessed(site, id, &input.name, true);
        let written = accessed(site, id, &input.name, false);
        if let (Some((_, read)), Some((_, written))) = (read, written)
            && (read.container != written.container || read.subset() != written.subset())
        {
            let message = format!(
                "`{}` is read from `{}[{}]` and written to `{}[{}]`, a call works in place",
                input.name,
                site.name(read.container),
                read.subset(),
                site.name(written.container),
                written.subset()
            );
            let error = site.node_error(Code::NestedConnector, id, Some(&input.name), message);
            findings.push(error.suggest("use one part for both, or two arguments"));
        }
    }
}

/// The edge at a connector and what it accesses.
fn accessed<'s>(site: &Site<'s>, id: NodeId, name: &str, input: bool) -> Option<(EdgeId, &'s Access)> {
    let edges = if input { site.state.in_edges(id) } else { site.state.out_edges(id) };
    let id = edges.into_iter().find(|edge| {
        let edge = site.state.edge(*edge);
        let connector = if input { &edge.dst_connector } else { &edge.src_connector };
        connector.as_deref() == Some(name)
    })?;
    let memlet = &site.state.edge(id).memlet;
    Some((id, if input { memlet.read_access()? } else { memlet.write_access()? }))
}

/// The data of a connector has the kind and the dimensions of the argument.
fn bindings(
    site: &Site<'_>,
    id: NodeId,
    nested: &NestedSdfg,
    frames: &ScopeContexts,
    findings: &mut Findings,
) {
    let inputs = nested.inputs.iter().map(|connector| (connector, true));
    let outputs = nested.outputs.iter().map(|connector| (connector, false));
    for (connector, input) in inputs.chain(outputs) {
        let Some(inner) = nested.sdfg.find_container(&connector.name) else { continue };
        let inner = nested.sdfg.container(inner);
        let Some((id_of_edge, access)) = accessed(site, id, &connector.name, input) else { continue };
        let edge = site.state.edge(id_of_edge);
        let problem = if consumed_by(site.state, id_of_edge).is_some() {
            let is_value = matches!(inner.kind, ContainerKind::Scalar);
            (!is_value).then(|| {
                format!("`{}` is one element that a consume scope took, and no scalar inside", inner.name)
            })
        } else {
            mismatch(site, access, inner, nested, frames.at(id))
        };
        if let Some(problem) = problem {
            let error = site.node_error(Code::NestedType, id, Some(&connector.name), problem);
            findings.push(error.at(edge.loc.as_ref()));
        }
        if let Flow::Write { resolution: Some(_), .. } = &edge.memlet.flow {
            let message = "a call works in place, so a write by it cannot be resolved here".to_owned();
            let error = site.node_error(Code::NestedConnector, id, Some(&connector.name), message);
            findings.push(error.suggest("put the resolution on the edges inside"));
        }
    }
}

/// Why an argument cannot be bound to a part of a container.
fn mismatch(
    site: &Site<'_>,
    access: &Access,
    inner: &Container,
    nested: &NestedSdfg,
    frame: &ScopeContext,
) -> Option<String> {
    let outer = site.sdfg.container(access.container);
    if outer.is_stream() != inner.is_stream() {
        let kind = |container: &Container| if container.is_stream() { "a stream" } else { "no stream" };
        return Some(format!("`{}` is {} outside and {} inside", inner.name, kind(outer), kind(inner)));
    }
    let (subset, rank) = (access.subset(), inner.shape().len());
    let Some(kept) = bound_dimensions(subset, rank) else {
        return Some(format!(
            "`{}` has {} inside, the memlet {}, of which {} are single indices",
            inner.name,
            counted(rank, "dimension"),
            subset.rank(),
            subset.0.iter().filter(|range| range.is_index()).count()
        ));
    };
    if matches!(inner.kind, ContainerKind::Scalar)
        && access.subset().volume().as_int().is_some_and(|n| n != 1)
    {
        let volume = access.subset().volume();
        return Some(format!("`{}` is one element inside, the memlet has {volume}", inner.name));
    }
    extents(site, subset, &kept, inner, nested, frame)
}

/// No extent is provably larger inside than outside.
fn extents(
    site: &Site<'_>,
    subset: &Subset,
    kept: &[usize],
    inner: &Container,
    nested: &NestedSdfg,
    frame: &ScopeContext,
) -> Option<String> {
    let mapping: BTreeMap<Symbol, Expr> = nested.symbol_mapping.iter().cloned().collect();
    let assigned = assigned_symbols(&nested.sdfg);
    // The value of an input is not known, and what control flow inside assigns is something else.
    let is_elsewhere = |symbol: &Symbol| {
        assigned.contains(symbol) || nested.inputs.iter().any(|input| input.name == symbol.as_str())
    };
    let sizes = kept.iter().filter_map(|dimension| subset.0.get(*dimension)).map(Range::size);
    for (dimension, (outside, extent)) in sizes.zip(inner.shape()).enumerate() {
        let inside = extent.substitute(&mapping);
        let is_less = match (outside.as_int(), inside.as_int()) {
            (Some(outside), Some(inside)) => outside < inside,
            (Some(_), None) | (None, Some(_)) | (None, None) => {
                !extent.free_symbols().iter().any(is_elsewhere)
                    && bounds::is_smaller(site, subset, &outside, &inside, frame)
            }
        };
        if is_less {
            return Some(format!(
                "dimension {dimension} of `{}` has {inside} elements inside, the memlet has {outside}",
                inner.name
            ));
        }
    }
    None
}
