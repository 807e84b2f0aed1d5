//! Bindings of views that hold in every state.
//!
//! DaCe's code keeps the pointer of a view from the state that sets it, and later assignments between states
//! read through it. Our states bind the views that they use. A binding may be repeated in another state if
//! all states bind the view alike and nothing assigns a symbol of the binding.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::subset::Subset;

use super::parts;
use crate::model::{BlockKind, DescriptorKind, Edge, Memlet, NodeKind, Program, Region, State};

/// The connector of the edge that binds a view.
pub(super) const VIEWS: &str = "views";

/// What a view shows.
#[derive(Clone, Debug)]
pub(super) struct Binding {
    /// The container that it shows a part of.
    pub(super) target: String,
    pub(super) memlet: Memlet,
}

/// The views of a program that show the same in all of its states, with their bindings.
pub(super) fn of(program: &Program) -> BTreeMap<String, Binding> {
    let is_view = |name: &str| {
        program.containers.get(name).is_some_and(|container| container.kind == DescriptorKind::View)
    };
    let mut found: BTreeMap<String, Option<Binding>> = BTreeMap::new();
    let mut assigned = BTreeSet::new();
    visit(&program.body, &mut assigned, &mut |state| {
        for edge in &state.edges {
            let Some((view, binding)) = binding(state, edge).filter(|(view, _)| is_view(view)) else {
                continue;
            };
            let known = found.entry(view.to_owned()).or_insert_with(|| binding.clone());
            let is_same = |(a, b): (&Binding, &Binding)| {
                a.target == b.target
                    && a.memlet.data == b.memlet.data
                    && a.memlet.subset == b.memlet.subset
                    && a.memlet.other_subset == b.memlet.other_subset
            };
            if !known.as_ref().zip(binding.as_ref()).is_some_and(is_same) {
                *known = None;
            }
        }
    });
    let is_fixed = |binding: &Binding| {
        let memlet = &binding.memlet;
        let subsets: [&Option<Subset>; 2] = [&memlet.subset, &memlet.other_subset];
        let mut symbols = subsets.into_iter().flatten().flat_map(Subset::free_symbols);
        symbols.all(|symbol| !assigned.contains(symbol.as_str())) && !is_view(&binding.target)
    };
    let fixed = found.into_iter().filter_map(|(view, binding)| Some((view, binding?)));
    fixed.filter(|(_, binding)| is_fixed(binding)).collect()
}

/// The view that an edge binds, and its binding if the edge leads to the view and names the other container.
fn binding<'a>(state: &'a State, edge: &Edge) -> Option<(&'a str, Option<Binding>)> {
    let data = |node: usize| match &state.nodes.get(node)?.kind {
        NodeKind::Access { data, .. } => Some(data.as_str()),
        NodeKind::Tasklet { .. }
        | NodeKind::MapEntry(_)
        | NodeKind::MapExit(_)
        | NodeKind::ConsumeEntry(_)
        | NodeKind::ConsumeExit(_)
        | NodeKind::Nested { .. }
        | NodeKind::Library { .. } => None,
    };
    let is_marked = |connector: &Option<String>| connector.as_deref() == Some(VIEWS);
    let (view, target) = if is_marked(&edge.dst_connector) {
        (edge.dst, edge.src)
    } else if is_marked(&edge.src_connector) {
        (edge.src, edge.dst)
    } else {
        return None;
    };
    let target = data(target).filter(|target| edge.memlet.data.as_deref() == Some(*target));
    let binding = target.map(|target| Binding { target: target.to_owned(), memlet: edge.memlet.clone() });
    Some((data(view)?, binding))
}

/// Visits every state of a region, and collects the symbols that control flow or a map assigns.
fn visit(region: &Region, assigned: &mut BTreeSet<String>, found: &mut dyn FnMut(&State)) {
    assigned.extend(region.edges.iter().flat_map(|edge| &edge.assignments).map(|(name, _)| name.clone()));
    for block in &region.blocks {
        match &block.kind {
            BlockKind::State(state) => {
                for node in &state.nodes {
                    if let NodeKind::MapEntry(map) = &node.kind {
                        assigned.extend(map.params.iter().map(|symbol| symbol.as_str().to_owned()));
                    }
                }
                found(state);
            }
            BlockKind::Loop(repeated) => assigned.extend(repeated.variable.clone()),
            BlockKind::Group { arguments, .. } => {
                assigned.extend(arguments.iter().map(|(name, _)| name.clone()));
            }
            BlockKind::Conditional(_) | BlockKind::Break | BlockKind::Continue | BlockKind::Return => {}
        }
        for part in parts(&block.kind) {
            visit(part, assigned, found);
        }
    }
}
