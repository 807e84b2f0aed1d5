//! The `pure` expansion of a reduction: maps and a write-conflict resolution (paper section 3.3, "Reduce").
//!
//! The expansion is a nested SDFG that works in place. A first state sets every output element to the
//! identity, if there is one. A second state maps over all input elements and combines each into its output
//! element. The last axes, whose elements are consecutive in memory, are the innermost dimensions. Of the
//! other dimensions, kept axes enclose reduced ones. Back ends that run the inner dimensions in order
//! therefore access memory in order. They also keep an output element in a register where the last axis is
//! reduced.
//!
//! Other expansions combine [parts] first.

mod parts;

use sdfg::dtype::ElementType;
use sdfg::ir::draft::{DraftSdfg, DraftState};
use sdfg::ir::{
    Access, ConflictResolution, Connector, Container, ContainerId, ContainerKind, Edge, Flow, Layout, Map,
    Memlet, NestedSdfg, Node, NodeId, NodeKind, Port, Reduce, ScheduleKind, ScopeExit, Sdfg, State, Tasklet,
    TaskletBody, Transition, Volume,
};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::{Expr, Symbol};
use sdfg::syntax::Expression;
use sdfg::tasklet::{Code, Dialect};

use crate::error::ExpandErrorKind;
use crate::extents::Extents;

/// Input connector of the expansion.
pub(crate) const INPUT: &str = "_in";
/// Output connector of the expansion.
pub(crate) const OUTPUT: &str = "_out";

pub(crate) use parts::ReduceExpansion;

/// A nested SDFG that does what the reduction does, by one of the expansions.
pub(crate) fn expand_by(
    sdfg: &Sdfg,
    state: &State,
    id: NodeId,
    reduce: &Reduce,
    how: ReduceExpansion,
) -> Result<NestedSdfg, ExpandErrorKind> {
    let sequential = Reduce { schedule: ScheduleKind::Sequential, ..reduce.clone() };
    let reduce = if how == ReduceExpansion::Sequential { &sequential } else { reduce };
    let from = only(state.in_edges(id).into_iter().filter_map(|e| state.edge(e).memlet.read_access()))?;
    let out =
        only(state.out_edges(id).into_iter().filter(|e| state.edge(*e).memlet.write_access().is_some()))?;
    let outer = state.edge(out).memlet.resolution();
    if outer.is_some_and(|outer| *outer != reduce.resolution) {
        return Err(ExpandErrorKind::OutputResolution);
    }
    let to = state.edge(out).memlet.write_access().ok_or(ExpandErrorKind::ReduceEdges)?;
    let element = |access: &Access| {
        sdfg.get_container(access.container).map(|c| c.element).ok_or(ExpandErrorKind::ReduceEdges)
    };
    let shape = Shape::of(from.subset(), to.subset(), reduce.axes.as_deref())?;

    let mut extents = Extents::new("n");
    let mut in_extents: Vec<Expr> =
        from.subset().sizes().into_iter().map(|size| extents.name(size)).collect();
    let out_extents: Vec<Expr> = to.subset().sizes().into_iter().map(|size| extents.name(size)).collect();
    let (mut inner, input, output) = match how {
        ReduceExpansion::Pure | ReduceExpansion::Sequential => {
            let mut inner = Sdfg::new("");
            extents.declare(&mut inner);
            let input = inner.add_container(argument(INPUT, element(from)?, in_extents.clone()));
            let output = inner.add_container(argument(OUTPUT, element(to)?, out_extents.clone()));
            (inner, input, output)
        }
        ReduceExpansion::Parallel | ReduceExpansion::Tree => {
            let axis = (0..in_extents.len()).find(|axis| reduces(reduce, *axis));
            let axis = axis.ok_or(ExpandErrorKind::ReduceParts { expansion: how.name() })?;
            let elements = (element(from)?, element(to)?);
            let (text, rest) =
                parts::shrinking(how, (&in_extents, &out_extents), axis, elements, &reduce.resolution)?;
            let reason = |reason: String| ExpandErrorKind::Template { text: text.clone(), reason };
            let inner = sdfg::text::parse("expansion.sdft", &text);
            let inner = inner
                .map_err(|errors| reason(errors.first().map(ToString::to_string).unwrap_or_default()))?;
            let find = |name: &str| inner.find_container(name).ok_or_else(|| reason(name.to_owned()));
            let (input, output) = (find(parts::PARTS)?, find(OUTPUT)?);
            in_extents = rest;
            (inner, input, output)
        }
    };
    inner.name.clone_from(&state.node(id).label);
    inner.float_mode = sdfg.float_mode;

    let body = inner.body();
    let mut blocks: Vec<_> = inner.find_block(parts::LAST).into_iter().collect();
    if let Some(identity) = &reduce.identity {
        let state = initialise(output, &out_extents, identity, outer, reduce)?;
        blocks.push(inner.add_state(body, state).0);
    }
    let combining = combine(&shape, input, &in_extents, output, reduce)?;
    blocks.push(inner.add_state(body, combining).0);
    for pair in blocks.windows(2) {
        let (src, dst) = (pair[0], pair[1]);
        let always = Transition { src, dst, condition: None, assignments: Vec::new(), loc: None };
        inner.add_transition(always);
    }
    Ok(NestedSdfg {
        sdfg: inner,
        inputs: vec![Connector::new(INPUT)],
        outputs: vec![Connector::new(OUTPUT)],
        symbol_mapping: extents.into_mapping(),
    })
}

/// Whether the elements along an axis are combined.
fn reduces(reduce: &Reduce, axis: usize) -> bool {
    reduce.axes.as_ref().is_none_or(|axes| axes.contains(&axis))
}

fn only<T>(mut items: impl Iterator<Item = T>) -> Result<T, ExpandErrorKind> {
    let first = items.next().ok_or(ExpandErrorKind::ReduceEdges)?;
    if items.next().is_some() { Err(ExpandErrorKind::ReduceEdges) } else { Ok(first) }
}

/// Correspondence of dimensions of the input and the output.
struct Shape {
    /// Axes of the input from the outermost dimension of the map to the innermost: kept ones, reduced ones, and the kept ones behind all of these.
    axes: Vec<usize>,
    /// For each dimension of the output the axis of the input with the same coordinate; `None` where it has one index.
    of_output: Vec<Option<usize>>,
}

impl Shape {
    fn of(from: &Subset, to: &Subset, axes: Option<&[usize]>) -> Result<Self, ExpandErrorKind> {
        let rank = from.rank();
        let reduced: Vec<usize> = axes.map_or_else(|| (0..rank).collect(), <[usize]>::to_vec);
        if let Some(&axis) = reduced.iter().find(|axis| **axis >= rank) {
            return Err(ExpandErrorKind::NoSuchAxis { axis, rank });
        }
        let kept: Vec<usize> = (0..rank).filter(|axis| !reduced.contains(axis)).collect();
        let of_output = pair(from, to, &kept)?;
        let last = reduced.iter().max().copied();
        let (trailing, outer): (Vec<usize>, Vec<usize>) =
            kept.into_iter().partition(|axis| Some(*axis) > last);
        let reduced = (0..rank).filter(|axis| reduced.contains(axis));
        Ok(Shape { axes: outer.into_iter().chain(reduced).chain(trailing).collect(), of_output })
    }
}

/// For each dimension of the output its axis of the input: dimensions of extent one may be there or not on either side,
/// the others pair in order.
fn pair(from: &Subset, to: &Subset, kept: &[usize]) -> Result<Vec<Option<usize>>, ExpandErrorKind> {
    let is_long = |subset: &Subset, dimension: usize| !subset.0[dimension].size().is_one();
    let long: Vec<usize> = kept.iter().copied().filter(|axis| is_long(from, *axis)).collect();
    let found = (0..to.rank()).filter(|dimension| is_long(to, *dimension)).count();
    if long.len() != found {
        return Err(ExpandErrorKind::ReduceShape { kept: long.len(), found });
    }
    let mut long = long.into_iter();
    Ok((0..to.rank()).map(|dimension| if is_long(to, dimension) { long.next() } else { None }).collect())
}

fn argument(name: &str, element: ElementType, shape: Vec<Expr>) -> Container {
    let kind =
        if shape.is_empty() { ContainerKind::Scalar } else { ContainerKind::Array(Layout::packed(shape)) };
    Container::new(name, element, kind)
}

/// A state that sets every element of the output to the identity, or combines it with the identity if the
/// output has the same resolution as the reduction.
fn initialise(
    output: ContainerId,
    extents: &[Expr],
    identity: &Expression,
    outer: Option<&ConflictResolution>,
    reduce: &Reduce,
) -> Result<State, ExpandErrorKind> {
    let mut state = State::new("initialise");
    let tasklet = state.add_node(tasklet("identity", &[], assignment(identity)?));
    let written = state.add_node(access(OUTPUT, output));
    let params: Vec<Symbol> = (0..extents.len()).map(|k| Symbol::of(&format!("o{k}"))).collect();
    let indices: Vec<Expr> = params.iter().cloned().map(Expr::symbol).collect();
    let leaf = write(output, Subset::element(&indices), outer);
    let whole = write(output, Subset::full(extents), outer);
    if params.is_empty() {
        state.add_edge(edge((tasklet, Some("o".into())), (written, None), leaf));
        return Ok(state);
    }
    let (entry, exit) = map(&mut state, "outputs", params, extents, reduce);
    state.add_edge(edge((entry, None), (tasklet, None), Memlet::order()));
    state.add_edge(edge((tasklet, Some("o".into())), (exit, Some(Port::In("_out").into())), leaf));
    state.add_edge(edge((exit, Some(Port::Out("_out").into())), (written, None), whole));
    Ok(state)
}

/// A state that combines every element of the input into its element of the output.
fn combine(
    shape: &Shape,
    input: ContainerId,
    extents: &[Expr],
    output: ContainerId,
    reduce: &Reduce,
) -> Result<State, ExpandErrorKind> {
    let mut state = State::new("combine");
    let read = state.add_node(access(INPUT, input));
    let tasklet = state.add_node(tasklet("element", &["i"], assignment(&Expression::name("i"))?));
    let written = state.add_node(access(OUTPUT, output));

    let param = |axis: usize| Symbol::of(&format!("i{axis}"));
    let indices: Vec<Expr> = (0..extents.len()).map(|axis| Expr::symbol(param(axis))).collect();
    let targets: Vec<Expr> = shape
        .of_output
        .iter()
        .map(|axis| axis.map_or_else(Expr::zero, |axis| indices[axis].clone()))
        .collect();
    let leaf_read = Memlet::read(Access::elements(input, Subset::element(&indices)));
    let leaf_write = write(output, Subset::element(&targets), Some(&reduce.resolution));
    if extents.is_empty() {
        state.add_edge(edge((read, None), (tasklet, Some("i".into())), leaf_read));
        state.add_edge(edge((tasklet, Some("o".into())), (written, None), leaf_write));
        return Ok(state);
    }

    let params: Vec<Symbol> = shape.axes.iter().map(|axis| param(*axis)).collect();
    let sizes: Vec<Expr> = shape.axes.iter().map(|axis| extents[*axis].clone()).collect();
    let (entry, exit) = map(&mut state, "elements", params, &sizes, reduce);
    let outer_write: Subset = shape
        .of_output
        .iter()
        .map(|axis| axis.map_or_else(|| Range::index(0), |axis| Range::new(0, extents[axis].clone())))
        .collect();
    let outer_read = Memlet::read(Access::elements(input, Subset::full(extents)));
    let mut outer_write = write(output, outer_write, Some(&reduce.resolution));
    outer_write.volume = Volume::Exact(Subset::full(extents).volume());
    state.add_edge(edge((read, None), (entry, Some(Port::In("_in").into())), outer_read));
    state.add_edge(edge((entry, Some(Port::Out("_in").into())), (tasklet, Some("i".into())), leaf_read));
    state.add_edge(edge((tasklet, Some("o".into())), (exit, Some(Port::In("_out").into())), leaf_write));
    state.add_edge(edge((exit, Some(Port::Out("_out").into())), (written, None), outer_write));
    Ok(state)
}

fn map(
    state: &mut State,
    label: &str,
    params: Vec<Symbol>,
    extents: &[Expr],
    reduce: &Reduce,
) -> (NodeId, NodeId) {
    let mut map = Map::new(params, Subset::full(extents));
    map.schedule = reduce.schedule.into();
    let entry = state.add_node(node(label, NodeKind::MapEntry(map)));
    let exit = state.add_node(node(label, NodeKind::MapExit(ScopeExit { entry })));
    (entry, exit)
}

fn write(to: ContainerId, subset: Subset, resolution: Option<&ConflictResolution>) -> Memlet {
    let access = Access::elements(to, subset);
    let volume = access.volume();
    Memlet { flow: Flow::Write { to: access, resolution: resolution.cloned() }, volume, declared: false }
}

fn node(label: &str, kind: NodeKind) -> Node {
    Node { label: label.to_owned(), kind, loc: None }
}

fn access(label: &str, container: ContainerId) -> Node {
    node(label, NodeKind::Access(container))
}

fn tasklet(label: &str, inputs: &[&str], body: TaskletBody) -> Node {
    let inputs = inputs.iter().map(|name| Connector::new(*name)).collect();
    let outputs = vec![Connector::new("o")];
    node(label, NodeKind::Tasklet(Tasklet { inputs, outputs, body }))
}

/// The code `o = value`.
fn assignment(value: &Expression) -> Result<TaskletBody, ExpandErrorKind> {
    let code = Code::parse(&format!("o = {value}"), Dialect::Python);
    code.map(TaskletBody::Code).map_err(|_| ExpandErrorKind::Identity { identity: value.to_string() })
}

fn edge(src: (NodeId, Option<String>), dst: (NodeId, Option<String>), memlet: Memlet) -> Edge {
    Edge { src: src.0, src_connector: src.1, dst: dst.0, dst_connector: dst.1, memlet, loc: None }
}
