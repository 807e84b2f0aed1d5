//! Iterations of a map that write the same element.
//!
//! DaCe does not define which value remains. Its programs rely on this where all iterations write the same
//! value. In our graph, such a write has the conflict resolution `Replace`.

use std::collections::BTreeMap;

use sdfg::ir::{Access, Schedule};
use sdfg::subset::Range;
use sdfg::symbolic::{Assumptions, Expr, Symbol};

use super::SdfgLowering;
use super::state::Graph;
use crate::model;
use crate::report::Code;

impl<'a> SdfgLowering<'a> {
    /// Whether iterations of a map around a tasklet may write one element, of which any may stay; this is noted.
    ///
    /// A parameter tells iterations apart if the subset mentions it, or a parameter whose range is another one in each
    /// iteration, as that of a tile.
    pub(super) fn races(&self, graph: &Graph<'a>, edge: &'a model::Edge, access: &Access) -> bool {
        if !access.subset().is_element() || access.is_queue() {
            return false;
        }
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
                    // Of those that follow each other, the last value does.
                    if map.schedule != Schedule::Sequential {
                        let message = format!(
                            "every iteration of `{param}` writes the same element: any of the values stays"
                        );
                        self.log().note(Code::Approximated, &edge.path, message);
                    }
                    return true;
                }
            }
        }
        false
    }
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
