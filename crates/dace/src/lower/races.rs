//! Iterations of a map that write the same element.
//!
//! DaCe does not define which value remains. Its programs rely on this where all iterations write the same
//! value. In our graph, such a write has the conflict resolution `Replace`.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::ir::{Access, Schedule};
use sdfg::subset::Range;
use sdfg::symbolic::{Assumptions, Expr, Symbol};

use super::SdfgLowering;
use super::state::Graph;
use crate::model;
use crate::report::Code;

impl<'a> SdfgLowering<'a> {
    /// Whether iterations of a map around a tasklet may write one element, of which any may stay; this is noted.
    pub(super) fn races(&self, graph: &Graph<'a>, edge: &'a model::Edge, access: &Access) -> bool {
        if !access.subset().is_element() || access.is_queue() {
            return false;
        }
        let Some(repeated) = self.repeated(graph, edge, access) else { return false };
        // Of those that follow each other, the last value does.
        if !repeated.in_order {
            let of = repeated.param.map_or_else(String::new, |param| format!(" of `{param}`"));
            let message = format!("every iteration{of} writes the same element: any of the values stays");
            self.log().note(Code::Approximated, &edge.path, message);
        }
        true
    }

    /// Arguments of a nested SDFG that are the same part of a container in all iterations of a map around the call.
    pub(super) fn passed_alike(&self, graph: &Graph<'a>, call: usize) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for edge in
            graph.model.edges.iter().filter(|edge| edge.src == call && edge.memlet.resolution.is_none())
        {
            let destination = &graph.model.nodes[graph.paths.destination(edge)];
            let (Some(name), Some(end)) = (&edge.src_connector, self.end(destination)) else { continue };
            if edge.memlet.data.as_deref() != Some(end.name) {
                continue;
            }
            let Ok(access) = self.one_end(edge, end) else { continue };
            if !access.is_queue() && self.repeated(graph, edge, &access).is_some_and(|found| !found.in_order)
            {
                found.insert(name.clone());
            }
        }
        found
    }

    /// The map of which all iterations write what an edge writes.
    ///
    /// A parameter tells iterations apart if the subset mentions it, or a parameter whose range is another one in each
    /// iteration, as that of a tile.
    fn repeated<'g>(
        &self,
        graph: &'g Graph<'a>,
        edge: &'a model::Edge,
        access: &Access,
    ) -> Option<Repeated<'g>> {
        let mut told = access.subset().free_symbols();
        let mut inner: Vec<&Range> = Vec::new();
        let home = graph.paths.scope_of(graph.paths.destination(edge));
        let mut scope = graph.paths.scope_of(edge.src);
        while let Some(entry) = scope.filter(|_| scope != home) {
            scope = graph.paths.scope_of(entry);
            let model::NodeKind::MapEntry(map) = &graph.model.nodes[entry].kind else { continue };
            for (param, range) in map.params.iter().zip(&map.ranges.0).rev() {
                if told.contains(param) || inner.iter().any(|tile| is_moved(tile, param, &range.step)) {
                    told.insert(param.clone());
                    inner.push(range);
                } else if !range.size().is_one() {
                    let in_order = map.schedule == Schedule::Sequential;
                    return Some(Repeated { param: Some(param), in_order });
                }
            }
        }
        // Symbols from outside may tell the iterations around the call apart.
        let own = self.params_around(graph, edge.src);
        let is_own = |symbol: &Symbol| own.iter().any(|(param, ..)| param == symbol);
        let is_alike = self
            .passed_alike
            .iter()
            .any(|name| self.containers.get(name).is_some_and(|(id, _)| *id == access.container));
        (is_alike && access.subset().free_symbols().iter().all(is_own))
            .then_some(Repeated { param: None, in_order: false })
    }
}

/// A map of which all iterations write the same.
struct Repeated<'g> {
    /// The parameter; `None` if the map is around a call of this SDFG.
    param: Option<&'g Symbol>,
    /// Whether the iterations follow each other.
    in_order: bool,
}

/// Whether a range lies, for each value of a parameter, wholly before or behind what it is for the next.
pub(super) fn is_moved(range: &Range, param: &Symbol, step: &Expr) -> bool {
    if !range.begin.depends_on(param) {
        return false;
    }
    let next = BTreeMap::from([(param.clone(), Expr::symbol(param.clone()) + step)]);
    let (begin, last) = (&range.begin, range.last());
    let gaps = [begin.substitute(&next) - &last, begin - last.substitute(&next)];
    gaps.into_iter().any(|gap| (gap - 1).is_nonnegative(&Assumptions::new()).is_proved())
}
