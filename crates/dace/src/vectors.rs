//! Nested programs that see an array of numbers as one of short vectors.
//!
//! DaCe passes a pointer, and a nested SDFG may declare it with vectors for elements. Our containers have the
//! elements that they are bound to: the container of the nested program becomes one of numbers, and its code
//! keeps connectors with vectors, which take an element with its neighbours.

use std::collections::BTreeMap;

use sdfg::subset::{Range, Subset};
use sdfg::symbolic::Expr;

use crate::model::{BlockKind, Descriptor, DescriptorKind, Dtype, Edge, NodeKind, Program, Region, State};

/// Rewrites the nested programs of a program.
pub(crate) fn to_numbers(program: &mut Program) {
    let (containers, body) = (&program.containers, &mut program.body);
    for_states(body, &mut |state| {
        let mut found: Vec<(usize, String)> = Vec::new();
        for edge in &state.edges {
            for (node, connector) in [(edge.dst, &edge.dst_connector), (edge.src, &edge.src_connector)] {
                let (Some(connector), NodeKind::Nested { program, .. }) =
                    (connector, &state.nodes[node].kind)
                else {
                    continue;
                };
                let outer = edge.memlet.data.as_ref().and_then(|data| containers.get(data));
                let inner = program.containers.get(connector);
                let is_cast = outer.zip(inner).is_some_and(|(outer, inner)| {
                    inner.kind == DescriptorKind::Array
                        && inner.strides.last().is_some_and(Expr::is_one)
                        && inner.dtype.fields.is_none()
                        && inner.dtype.element.lanes() > 1
                        && outer.dtype.element.lanes() == 1
                        && outer.dtype.element.lane() == inner.dtype.element.lane()
                });
                if is_cast && !found.contains(&(node, connector.clone())) {
                    found.push((node, connector.clone()));
                }
            }
        }
        for (node, name) in found {
            if let NodeKind::Nested { program, .. } = &mut state.nodes[node].kind {
                as_numbers(program, &name);
            }
        }
        for node in &mut state.nodes {
            if let NodeKind::Nested { program, .. } = &mut node.kind {
                to_numbers(program);
            }
        }
    });
}

/// Makes a container of vectors one of numbers.
fn as_numbers(program: &mut Program, name: &str) {
    let Some(container) = program.containers.get_mut(name) else { return };
    let vector = container.dtype.clone();
    let lanes = Expr::int(i64::from(vector.element.lanes()));
    container.dtype = Dtype::of(vector.element.lane());
    widen(container, &lanes);
    for_states(&mut program.body, &mut |state| {
        let mut typed: BTreeMap<(usize, bool), Vec<String>> = BTreeMap::new();
        for edge in state.edges.iter_mut().filter(|edge| edge.memlet.data.as_deref() == Some(name)) {
            let is_of_code = |node: usize| matches!(state.nodes[node].kind, NodeKind::Tasklet { .. });
            let (into, out_of) = (is_of_code(edge.dst), is_of_code(edge.src));
            spread(edge, &lanes, into || out_of);
            if let Some(connector) = edge.dst_connector.clone().filter(|_| into) {
                typed.entry((edge.dst, true)).or_default().push(connector);
            }
            if let Some(connector) = edge.src_connector.clone().filter(|_| out_of) {
                typed.entry((edge.src, false)).or_default().push(connector);
            }
        }
        for ((node, is_input), names) in typed {
            let node = &mut state.nodes[node];
            let connectors = if is_input { &mut node.inputs } else { &mut node.outputs };
            for name in names {
                if let Some(ty) = connectors.get_mut(&name) {
                    ty.get_or_insert_with(|| vector.clone());
                }
            }
        }
    });
}

/// Gives the last dimension of a container a place for each lane.
fn widen(container: &mut Descriptor, lanes: &Expr) {
    if let Some(extent) = container.shape.last_mut() {
        *extent = &*extent * lanes;
    }
    let last = container.strides.len().saturating_sub(1);
    for stride in &mut container.strides[..last] {
        *stride = &*stride * lanes;
    }
    container.total_size = &container.total_size * lanes;
    container.start_offset = &container.start_offset * lanes;
}

/// Makes the memlet of an edge name numbers: at code the first one of each vector, elsewhere all of them.
fn spread(edge: &mut Edge, lanes: &Expr, is_of_code: bool) {
    let Some(Subset(ranges)) = &mut edge.memlet.subset else { return };
    let Some(range) = ranges.last_mut() else { return };
    let begin = &range.begin * lanes;
    *range = if is_of_code && range.is_index() {
        Range::index(begin)
    } else {
        Range::new(begin, &range.end * lanes)
    };
    edge.memlet.volume = None;
}

/// Visits every state of a region.
fn for_states(region: &mut Region, visit: &mut dyn FnMut(&mut State)) {
    for block in &mut region.blocks {
        match &mut block.kind {
            BlockKind::State(state) => visit(state),
            BlockKind::Loop(repeated) => for_states(&mut repeated.body, visit),
            BlockKind::Conditional(branches) => {
                branches.iter_mut().for_each(|(_, part)| for_states(part, visit));
            }
            BlockKind::Group { body, .. } => for_states(body, visit),
            BlockKind::Break | BlockKind::Continue | BlockKind::Return => {}
        }
    }
}
