//! Rule: declarations of symbols and containers, independent of their uses.

use std::collections::BTreeSet;

use sdfg_graph::analysis::accesses::{containers_in, memory_of_control_flow};
use sdfg_graph::diagnostic::{Code, Diagnostic, Element};
use sdfg_graph::ir::{
    Blocks, Consume, Container, ContainerKind, Cut, Distribution, Lifetime, NodeKind, Parts,
};
use sdfg_language::symbolic::{EvalError, Expr};

use super::scope_context::ScopeContext;
use super::site::{Findings, Program, counted};
use super::symbols::SymbolTable;

/// Checks all declarations of an SDFG.
pub(super) fn check(program: &Program<'_>, table: &SymbolTable, findings: &mut Findings) {
    symbol_types(program, findings);
    let frame = ScopeContext::outermost(program, table.everywhere().clone());
    let mut inner = frame.clone();
    for (_, state) in program.sdfg.states() {
        inner.defined.extend(state.nodes().flat_map(|(_, node)| match &node.kind {
            NodeKind::MapEntry(map) => map.params.clone(),
            NodeKind::ConsumeEntry(consume) => vec![consume.element.clone()],
            NodeKind::Access(_)
            | NodeKind::Tasklet(_)
            | NodeKind::MapExit(_)
            | NodeKind::ConsumeExit(_)
            | NodeKind::Nested(_)
            | NodeKind::Reduce(_)
            | NodeKind::Library(_) => Vec::new(),
        }));
    }
    for (_, container) in program.sdfg.containers() {
        // A transient may be allocated inside a scope, with a size that depends on it; an argument is there before.
        shape(program, container, if container.transient { &inner } else { &frame }, findings);
        alias(program, container, findings);
        constant(program, container, findings);
        distribution(program, container, if container.transient { &inner } else { &frame }, findings);
    }
    ended(program, findings);
}

/// Control flow does not read containers that end with a state, nor does a consume scope in a state that does not access them.
fn ended(program: &Program<'_>, findings: &mut Findings) {
    let is_brief = |container: &Container| container.transient && container.lifetime == Lifetime::State;
    if !program.sdfg.containers().any(|(_, container)| is_brief(container)) {
        return;
    }
    for id in memory_of_control_flow(program.sdfg) {
        let container = program.sdfg.container(id);
        if is_brief(container) {
            let name = &container.name;
            let message =
                format!("`{name}` lives as long as a state, but a condition or an assignment reads it");
            let error = program.container_error(Code::EndedWithState, container, message);
            findings.push(error.suggest("leave out `lifetime(state)`"));
        }
    }
    for (id, container) in program.sdfg.containers().filter(|(_, container)| is_brief(container)) {
        for (_, state) in program.sdfg.states().filter(|(_, state)| state.accesses_of(id).next().is_none()) {
            for (_, node) in state.nodes() {
                let NodeKind::ConsumeEntry(Consume { condition: Some(condition), .. }) = &node.kind else {
                    continue;
                };
                if containers_in(program.sdfg, condition).contains(&id) {
                    let (name, label) = (&container.name, &node.label);
                    let message = format!(
                        "`{name}` lives as long as a state, and the condition of `{label}` reads it in a state without it"
                    );
                    let error = program.container_error(Code::EndedWithState, container, message);
                    findings.push(error.suggest("leave out `lifetime(state)`, or access it in that state"));
                }
            }
        }
    }
}

/// Symbols are integers.
fn symbol_types(program: &Program<'_>, findings: &mut Findings) {
    for (symbol, ty) in program.sdfg.symbols() {
        if !ty.is_integer() {
            let path = program.path.to(Element::Symbol(symbol.as_str().to_owned()));
            let error =
                Diagnostic::error(Code::SymbolType, path, format!("the symbol `{symbol}` has type {ty}"));
            findings.push(error.suggest("use an integer type, or a scalar container"));
        }
    }
}

/// Sizes are integers with known symbols; arrays have dimensions, none of them negative, and as many strides.
fn shape(program: &Program<'_>, container: &Container, frame: &ScopeContext, findings: &mut Findings) {
    let error = |code, message| program.container_error(code, container, message);
    for extent in container.shape() {
        frame.check(program.sdfg, extent, "size", &error, findings);
        if extent.as_int().is_some_and(|extent| extent < 0) {
            findings.push(error(Code::BadShape, format!("`{}` has an extent of {extent}", container.name)));
        }
    }
    match &container.kind {
        ContainerKind::Array(layout) | ContainerKind::View(layout) | ContainerKind::Reference(layout) => {
            if layout.shape.is_empty() {
                let message = format!("the array `{}` has no dimensions", container.name);
                findings.push(
                    error(Code::BadShape, message).suggest("declare a scalar, or one dimension of extent 1"),
                );
            }
            if layout.strides.len() != layout.shape.len() {
                let (dimensions, strides) = (layout.shape.len(), layout.strides.len());
                let message =
                    format!("`{}` has {dimensions} dimensions and {strides} strides", container.name);
                findings.push(error(Code::LayoutRank, message));
            }
            // A packed layout follows from the shape, which is checked above.
            if !layout.is_packed() {
                for stride in &layout.strides {
                    frame.check(program.sdfg, stride, "stride", &error, findings);
                }
                frame.check(program.sdfg, &layout.offset, "offset", &error, findings);
                frame.check(program.sdfg, &layout.total_size, "total size", &error, findings);
            }
            let fits = |size: &Expr| size.never_evaluates() != Some(EvalError::Overflow);
            if layout.is_packed() && layout.shape.iter().all(fits) && !fits(&layout.total_size) {
                let message = format!("`{}` has more elements than 64 bits can count", container.name);
                findings.push(error(Code::BadShape, message).suggest("make it smaller"));
            }
            if layout.strides.len() == layout.shape.len() {
                super::layouts::check(program, container, layout, &frame.assumptions, findings);
            }
        }
        ContainerKind::Stream { shape: _, capacity: Some(capacity) } => {
            frame.check(program.sdfg, capacity, "capacity", &error, findings);
            if capacity.as_int().is_some_and(|capacity| capacity < 1) {
                let message = format!("a queue of `{}` has room for {capacity} elements", container.name);
                findings.push(
                    error(Code::BadCapacity, message).suggest("leave the capacity out for unbounded queues"),
                );
            }
        }
        ContainerKind::Scalar | ContainerKind::Stream { .. } => {}
    }
}

/// Views and references name memory of others, so the caller cannot pass them.
fn alias(program: &Program<'_>, container: &Container, findings: &mut Findings) {
    if container.is_alias() && !container.transient {
        let message =
            format!("`{}` names memory of another container, so it cannot be an argument", container.name);
        let error = program.container_error(Code::AliasNotTransient, container, message);
        findings.push(error.suggest("make it transient, or an array"));
    }
}

/// Contents of a constant have the type of its elements and fill its shape.
fn constant(program: &Program<'_>, container: &Container, findings: &mut Findings) {
    let Some(values) = &container.constant else { return };
    let error = |message| program.container_error(Code::BadConstant, container, message);
    if container.is_stream() || container.is_alias() {
        findings
            .push(error(format!("`{}` is neither array nor scalar and cannot be constant", container.name)));
        return;
    }
    let lanes = i64::from(container.element.lanes());
    let size: Expr = container.shape().iter().cloned().product::<Expr>() * lanes;
    match size.as_int() {
        None => findings.push(error(format!("the constant `{}` needs a constant shape", container.name))),
        Some(size) if usize::try_from(size) != Ok(values.len()) => {
            let message = format!(
                "`{}` has {size} elements, and {} for them",
                container.name,
                counted(values.len(), "value")
            );
            findings.push(error(message));
        }
        Some(_) => {}
    }
    if let Some(value) = values.iter().find(|value| value.ty() != container.element.lane()) {
        let message = format!(
            "`{}` has elements of {}, but {value} is {}",
            container.name,
            container.element,
            value.ty()
        );
        findings.push(error(message));
    }
}

/// A process grid fits what it cuts, so that every element has one owner.
fn distribution(program: &Program<'_>, container: &Container, frame: &ScopeContext, findings: &mut Findings) {
    let Distribution::Blocks(blocks) = &container.distribution else { return };
    let error = |code, message| program.container_error(code, container, message);
    for expr in container.distribution.exprs() {
        frame.check(program.sdfg, expr, "distribution", &error, findings);
    }
    let mut misfit = |message| findings.push(error(Code::DistributionRank, message));
    let name = &container.name;
    if blocks.cuts.len() != container.shape().len() {
        let (dimensions, cuts) = (counted(container.shape().len(), "dimension"), blocks.cuts.len());
        let what = if blocks.is_plain() { "process grid" } else { "list of cuts" };
        misfit(format!("`{name}` has {dimensions}, its {what} {cuts}"));
    }
    if let Some(parts) = blocks.grid.iter().filter_map(Expr::as_int).find(|parts| *parts < 1) {
        misfit(format!("`{name}` is cut into {parts} parts along a dimension"));
    }
    let processes = blocks.grid.iter().filter_map(Expr::as_int).try_fold(1_i64, i64::checked_mul);
    if processes.is_none_or(|processes| processes > i64::from(Blocks::MOST_PROCESSES)) {
        let most = Blocks::MOST_PROCESSES;
        misfit(format!("the process grid of `{name}` has more than {most} processes"));
    }
    let mut cut_by = BTreeSet::new();
    for (dimension, cut) in blocks.cuts.iter().enumerate().filter_map(|(d, cut)| Some((d, cut.as_ref()?))) {
        let Some(parts) = blocks.grid.get(cut.along) else {
            let (along, grid) = (cut.along, counted(blocks.grid.len(), "dimension"));
            misfit(format!("`{name}` is cut along dimension {along} of a process grid with {grid}"));
            continue;
        };
        if !cut_by.insert(cut.along) {
            let along = cut.along;
            misfit(format!(
                "two dimensions of `{name}` are cut along dimension {along} of the process grid, so some elements \
                 have no owner"
            ));
        }
        if let Some(message) = misplaced(cut, parts, container.shape().get(dimension)) {
            misfit(format!("dimension {dimension} of `{name}`: {message}"));
        }
    }
}

/// Why constant starts or widths of a dimension of this extent cannot be those of so many parts.
fn misplaced(cut: &Cut, parts: &Expr, extent: Option<&Expr>) -> Option<String> {
    if let Some(width) = cut.halo.iter().filter_map(Expr::as_int).find(|width| *width < 0) {
        return Some(format!("a halo is {width} elements wide"));
    }
    let stated = match &cut.parts {
        Parts::Equal | Parts::Balanced(_) => return None,
        Parts::Starts(starts) => {
            if parts.as_int().is_some_and(|parts| parts - 1 != starts.len() as i64) {
                let starts = counted(starts.len(), "start");
                return Some(format!(
                    "{starts} for {parts} parts; part 0 starts at 0, the others are listed"
                ));
            }
            starts
        }
    };
    let extent = extent.and_then(Expr::as_int);
    let mut previous = 0;
    for start in stated.iter().filter_map(Expr::as_int) {
        if start < previous {
            return Some(format!("a part starts at {start}, after one that starts at {previous}"));
        }
        if let Some(extent) = extent.filter(|extent| start > *extent) {
            return Some(format!("a part starts at {start}, beyond the extent {extent}"));
        }
        previous = start;
    }
    None
}
