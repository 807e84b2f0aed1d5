//! Rule: memlets that provably leave their container.
//!
//! A memlet is an error only if it leaves the container whenever it moves anything: for all values of the
//! symbols under which its scopes run and its ranges are not empty, all iterations are outside, or a certain
//! one is; and a sample of the values shows that something moves at all. The rule concerns the memlet itself, even
//! if code accesses only a part through a pointer. The interpreter and checked builds detect undecided cases.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use sdfg_graph::analysis::{bound_alias, bound_dimensions, memlet_path};
use sdfg_graph::diagnostic::{Code, Secondary};
use sdfg_graph::ir::{Access, EdgeId, Flow, Layout, Memlet};
use sdfg_language::subset::{Range, Subset};
use sdfg_language::symbolic::{Assumptions, Expr, Symbol};

use super::memlets::declaration;
use super::sample::{may_move, may_run};
use super::scope_context::{ScopeContext, ends};
use super::site::{Findings, Site};

/// Checks what the memlet of a leaf edge accesses, or what it binds.
///
/// `has_declared` tells whether the program declares the memlet of any edge of the state.
pub(super) fn check(
    site: &Site<'_>,
    id: EdgeId,
    frame: &ScopeContext,
    has_declared: bool,
    findings: &mut Findings,
) {
    let memlet = &site.state.edge(id).memlet;
    let moves = matches!(memlet.flow, Flow::Read(_) | Flow::Write { .. } | Flow::Copy { .. });
    let binds = matches!(memlet.flow, Flow::Bind(_));
    // Which elements of a dynamic memlet are accessed is decided while running.
    if frame.never_runs || memlet.volume.is_dynamic() || !(moves || binds) {
        return;
    }
    let before = findings.len();
    for access in memlet.accesses() {
        dimensions(site, id, access, frame, findings);
        if binds && findings.len() == before {
            alias_size(site, id, frame, findings);
            idle_strides(site, id, frame, findings);
        }
    }
    if has_declared && moves && findings.len() == before {
        declared(site, id, frame, findings);
    }
}

/// The data of a leaf edge stays within the outer memlets of its path that the program declares.
fn declared(site: &Site<'_>, id: EdgeId, frame: &ScopeContext, findings: &mut Findings) {
    let path = memlet_path(site.state, id);
    let Some(own) = path.iter().position(|edge| *edge == id) else { return };
    let leaf = &site.state.edge(id).memlet;
    for (position, outer) in path.iter().enumerate().filter(|(position, _)| *position != own) {
        let memlet = &site.state.edge(*outer).memlet;
        let access = |of: &'_ Memlet| {
            let access = if position < own { of.read_access() } else { of.write_access() };
            access.cloned()
        };
        let (Some(inner), Some(bound)) = (access(leaf), access(memlet)) else { continue };
        if !memlet.declared || inner.container != bound.container {
            continue;
        }
        if !moves(site, inner.subset(), frame) {
            return;
        }
        let assumptions = if_it_moves(inner.subset(), frame);
        let witnesses = witnesses(frame, &assumptions);
        for (range, outside) in inner.subset().0.iter().zip(&bound.subset().0) {
            // A symbol that a scope on the way binds may mean something else outside of it.
            if outside.free_symbols().iter().any(|symbol| frame.binds(symbol)) {
                continue;
            }
            let Some((low, high)) = ends(outside) else { continue };
            let leaving = |witness: &BTreeMap<Symbol, Expr>| {
                let (first, last) = ends(&range.substitute(witness))?;
                let index = if first.ge(&low, &assumptions).is_refuted() {
                    first
                } else {
                    last.le(&high, &assumptions).is_refuted().then_some(last)?
                };
                moves_at(inner.subset(), witness, frame).then_some(index)
            };
            let Some(index) = witnesses.iter().find_map(leaving).filter(|_| may_run(frame)) else { continue };
            let name = site.name(inner.container);
            let message =
                format!("`{name}[{}]` lets less pass than is moved inside: index {index}", bound.subset());
            findings.push(site.edge_error(Code::OutOfBounds, *outer, message).also(Secondary {
                message: format!("`{name}[{}]` is moved here", inner.subset()),
                path: site.edge_path(id),
                loc: site.state.edge(id).loc.clone(),
            }));
            return;
        }
    }
}

/// Whether the ranges of a subset have values in the iteration of a witness, given that they have in any.
fn moves_at(subset: &Subset, witness: &BTreeMap<Symbol, Expr>, frame: &ScopeContext) -> bool {
    subset.0.iter().all(|range| {
        let steps = range.steps();
        let at_witness = steps.substitute(witness);
        !is_open(frame, &steps.free_symbols(), witness)
            && (at_witness == steps || at_witness.is_positive(&frame.assumptions).is_proved())
    })
}

/// An alias with the extents of what it names shows these elements: strides that lead elsewhere are likely a mistake.
fn idle_strides(site: &Site<'_>, id: EdgeId, frame: &ScopeContext, findings: &mut Findings) {
    let Some((alias, target)) = bound_alias(site.state, id) else { return };
    let (alias, container) = (site.sdfg.container(alias), site.sdfg.container(target.container));
    let [Some(own), Some(layout)] = [alias, container].map(|found| found.kind.layout()) else { return };
    let subset = target.subset();
    let packed = Layout::packed(own.shape.clone());
    if own.strides == packed.strides || subset.rank() != layout.strides.len() {
        return;
    }
    let Some(kept) = bound_dimensions(subset, own.shape.len()) else { return };
    let mut places = kept.into_iter().map(|at| (&subset.0[at], &layout.strides[at])).zip(&own.shape);
    if !places.clone().all(|((range, _), extent)| extent.le(&range.size(), &frame.assumptions).is_proved()) {
        return;
    }
    let mut strides = own.strides.iter();
    let is_same = places.all(|((range, outer), extent)| {
        strides.next().is_some_and(|stride| extent.is_one() || *stride == outer * &range.step)
    });
    if is_same {
        return;
    }
    let strides: Vec<String> = own.strides.iter().map(ToString::to_string).collect();
    let (strides, name) = (strides.join(", "), &container.name);
    let message = format!(
        "the strides [{strides}] of `{}` do not count, as it has the extents of `{name}[{subset}]`",
        alias.name
    );
    let first: Vec<String> = subset.0.iter().map(|range| range.begin.to_string()).collect();
    let warning = site.edge_error(Code::IdleStrides, id, message).into_warning();
    let help = format!("bind the first element, `{name}[{}]`, to count with them", first.join(", "));
    findings.push(warning.suggest(help));
}

/// An alias with a shape of its own counts from the first element of what it is bound to, and ends before the memory does.
fn alias_size(site: &Site<'_>, id: EdgeId, frame: &ScopeContext, findings: &mut Findings) {
    let Some((alias, target)) = bound_alias(site.state, id) else { return };
    let (alias, container) = (site.sdfg.container(alias), site.sdfg.container(target.container));
    let layouts = [alias, container].map(|found| found.kind.layout());
    let [Some(own), Some(layout)] = layouts else { return };
    let subset = target.subset();
    // What lies behind a part of an alias may be more than the alias shows.
    if container.is_alias() || !own.is_packed() || subset.rank() != layout.strides.len() {
        return;
    }
    let shapes = own.shape.iter().chain([&layout.total_size]).chain(&layout.strides).chain([&layout.offset]);
    let is_elsewhere = |symbol: &Symbol| site.assigned.contains(symbol) || frame.binds(symbol);
    if shapes.flat_map(Expr::free_symbols).any(|symbol| is_elsewhere(&symbol)) {
        return;
    }
    if !moves(site, subset, frame) {
        return;
    }
    let mut assumptions = if_it_moves(subset, frame);
    if !own.shape.iter().all(|extent| may_move(frame, extent)) {
        return;
    }
    for extent in &own.shape {
        assumptions.to_mut().assume_nonnegative(extent - 1);
    }
    // An alias with the extents of the subset, or less, takes its elements wherever they lie.
    if let Some(kept) = bound_dimensions(subset, own.shape.len()) {
        let sizes = kept.iter().filter_map(|dimension| subset.0.get(*dimension)).map(Range::size);
        if !sizes.zip(&own.shape).any(|(size, extent)| extent.le(&size, &assumptions).is_refuted()) {
            return;
        }
    }
    let places = subset.0.iter().zip(&layout.strides).map(|(range, stride)| &range.begin * stride);
    let first = places.fold(layout.offset.clone(), |sum, place| sum + place);
    let left = &layout.total_size - &first;
    if own.total_size.le(&left, &assumptions).is_refuted() && may_run(frame) {
        let message = format!(
            "`{}` has {} elements, `{}` has {left} from the first of `[{subset}]` on",
            alias.name, own.total_size, container.name
        );
        findings.push(site.edge_error(Code::OutOfBounds, id, message).also(Secondary {
            message: "declared here".to_owned(),
            path: declaration(site, &alias.name),
            loc: alias.loc.clone(),
        }));
    }
}

/// Whether a size of a subset is less than an extent wherever the subset has elements.
pub(super) fn is_smaller(
    site: &Site<'_>,
    outer: &Subset,
    size: &Expr,
    inner: &Expr,
    frame: &ScopeContext,
) -> bool {
    !frame.never_runs
        && size.lt(inner, &if_it_moves(outer, frame)).is_proved()
        && moves(site, outer, frame)
        && may_run(frame)
}

/// Facts where a subset has elements, if it ever has any.
fn if_it_moves<'f>(subset: &Subset, frame: &'f ScopeContext) -> Cow<'f, Assumptions> {
    let mut assumptions = Cow::Borrowed(&frame.assumptions);
    for steps in subset.0.iter().filter(|range| !range.is_index()).map(Range::steps) {
        // In an iteration that moves anything, none of the ranges is empty.
        assumptions.to_mut().assume_nonnegative(steps - 1);
    }
    assumptions
}

/// Whether a subset has elements in some iteration. The question costs more than most proofs under [`if_it_moves`], which therefore
/// come first.
fn moves(site: &Site<'_>, subset: &Subset, frame: &ScopeContext) -> bool {
    subset.0.iter().filter(|range| !range.is_index()).map(Range::steps).all(|steps| {
        let varies = || steps.free_symbols().iter().any(|s| site.assigned.contains(s) || frame.binds(s));
        steps.is_positive(&frame.assumptions).is_proved()
            || (!frame.is_guarded && !varies() && may_move(frame, &steps))
    })
}

fn dimensions(site: &Site<'_>, id: EdgeId, access: &Access, frame: &ScopeContext, findings: &mut Findings) {
    let container = site.sdfg.container(access.container);
    let subset = access.subset();
    let assumptions = if_it_moves(subset, frame);
    // What was allocated may differ from what the extent has become since, or from what its name means here.
    let mut is_elsewhere = |symbol: &Symbol| site.assigned.contains(symbol) || frame.binds(symbol);
    // Most stay inside: what holds for all iterations need not be asked of each witness.
    let mut is_open = |(_, (range, extent)): &(usize, (&Range, &Expr))| {
        !extent.mentions(&mut is_elsewhere) && !stays_inside(range, extent, &assumptions)
    };
    let dimensions = subset.0.iter().zip(container.shape()).enumerate();
    let open: Vec<_> = dimensions.filter(&mut is_open).collect();
    if open.is_empty() || !moves(site, subset, frame) {
        return;
    }
    let mut found_witnesses = None;
    for (dimension, (range, extent)) in open {
        let witnesses = found_witnesses.get_or_insert_with(|| witnesses(frame, &assumptions));
        let outside = |witness: &BTreeMap<Symbol, Expr>| {
            let (first, last) = ends(&range.substitute(witness))?;
            let is_below = first.is_nonnegative(&assumptions).is_refuted();
            let is_above = || last.lt(extent, &assumptions).is_refuted();
            if is_below { Some(first) } else { is_above().then_some(last) }
        };
        let found = witnesses.iter().find_map(|witness| {
            let index = outside(witness).filter(|_| moves_at(subset, witness, frame))?;
            Some((index, witness))
        });
        let Some((index, witness)) = found.filter(|_| may_run(frame)) else { continue };
        let message = format!(
            "`{}[{subset}]` takes index {index} of dimension {dimension}, whose indices are 0 to {}",
            container.name,
            extent - 1
        );
        let error = site.edge_error(Code::OutOfBounds, id, message).also(Secondary {
            message: format!("dimension {dimension} has {extent} elements"),
            path: declaration(site, &container.name),
            loc: container.loc.clone(),
        });
        let symbols = range.free_symbols();
        let error = match &frame.call {
            Some(call) => call.explain(error, &symbols, witness),
            None => error,
        };
        let used = witness.iter().filter(|(symbol, _)| symbols.contains(*symbol));
        let values: Vec<String> = used.map(|(symbol, value)| format!("{symbol} = {value}")).collect();
        findings.push(if values.is_empty() {
            error
        } else {
            error.note(format!("in the iteration with {}", values.join(", ")))
        });
        return;
    }
}

/// Whether all indices of a range that is not empty are those of an extent.
fn stays_inside(range: &Range, extent: &Expr, assumptions: &Assumptions) -> bool {
    ends(range).is_some_and(|(first, last)| {
        first.is_nonnegative(assumptions).is_proved() && last.lt(extent, assumptions).is_proved()
    })
}

/// Iterations that run if any does, as values of the parameters that are first or last in their ranges. The first leaves
/// every parameter as it is: what holds there holds for all iterations.
pub(super) fn witnesses(frame: &ScopeContext, assumptions: &Assumptions) -> Vec<BTreeMap<Symbol, Expr>> {
    const MOST: usize = 32;
    let all = BTreeMap::new();
    let mut found = vec![BTreeMap::new()];
    found.extend(frame.calls.iter().filter(|values| !values.is_empty()).cloned());
    for parameter in frame.loops.iter().chain(&frame.parameters) {
        let Some((first, last)) = &parameter.ends else {
            found = vec![all.clone()];
            continue;
        };
        let symbols: BTreeSet<Symbol> = first.free_symbols().union(&last.free_symbols()).cloned().collect();
        if symbols.iter().any(|symbol| frame.binds(symbol) && !frame.is_parameter(symbol)) {
            // The range is data: in another iteration of the scopes outside it may be empty.
            found = vec![all.clone()];
        }
        let mut next = Vec::new();
        found.retain(|outer| !is_open(frame, &symbols, outer));
        for outer in &found {
            let ends = [first, last].map(|end| end.substitute(outer));
            // The range has a value in an iteration that runs; in this one, if it is the same or provably has.
            let is_same = symbols.iter().all(|symbol| !outer.contains_key(symbol));
            if !is_same && !ends[0].le(&ends[1], assumptions).is_proved() {
                continue;
            }
            next.extend(ends.into_iter().map(|value| {
                let mut witness = outer.clone();
                witness.insert(parameter.symbol.clone(), value);
                witness
            }));
        }
        // Outer parameters may be chosen while the inner ones take any value, as long as these ranges do not change.
        let kept = found.iter().filter(|outer| symbols.iter().all(|symbol| !outer.contains_key(symbol)));
        next.extend(kept.cloned());
        next.dedup();
        next.truncate(MOST);
        found = next;
    }
    found.sort_by_key(BTreeMap::len);
    found
}

/// Whether symbols may have other values in the iteration of a call that a witness stands for than in those that what is
/// assumed holds for.
fn is_open(frame: &ScopeContext, symbols: &BTreeSet<Symbol>, witness: &BTreeMap<Symbol, Expr>) -> bool {
    frame.is_of_call(witness)
        && symbols.iter().any(|symbol| frame.varies(symbol) && !witness.contains_key(symbol))
}
