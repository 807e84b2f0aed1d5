//! Elements of an argument that a call accesses for certain.

use std::collections::{BTreeMap, BTreeSet};

use sdfg_graph::analysis::symbols::assigned_symbols;
use sdfg_graph::analysis::{Footprint, bound_dimensions};
use sdfg_graph::ir::{Flow, NestedSdfg, Sdfg};
use sdfg_graph::workspace::Sizes;
use sdfg_language::subset::{Range, Subset};
use sdfg_language::symbolic::{Expr, Symbol};

/// Whether each call of a nested SDFG reads all elements of the part at an input connector, or writes all of the part at an output
/// connector, of which it then uses no old values.
pub fn call_accesses_all(nested: &NestedSdfg, connector: &str, part: &Subset, reads: bool) -> bool {
    let sdfg = &nested.sdfg;
    let Some(id) = sdfg.find_container(connector) else {
        // A symbol gets its value from the element.
        return reads;
    };
    let shape = sdfg.container(id).shape();
    if !is_whole(nested, shape, part) || has_alias(sdfg, connector) {
        return false;
    }
    let footprint = Footprint::of_body(sdfg);
    let (read, written) = footprint.of_container(id);
    let (whole, known) = (Subset::full(shape), Sizes::of(sdfg).assumptions());
    let parts = if reads { &read } else { &written };
    let uses_old = !reads && (!read.is_empty() || written.iter().any(|part| part.combines));
    !uses_old
        && parts
            .iter()
            .any(|part| part.subset.is_exact() && part.subset.as_inner().covers(&whole, &known).is_proved())
}

/// Whether an argument of this shape has all elements of the part that is bound to it.
fn is_whole(nested: &NestedSdfg, shape: &[Expr], part: &Subset) -> bool {
    if part.is_element() {
        return true;
    }
    let mapping: BTreeMap<Symbol, Expr> = nested.symbol_mapping.iter().cloned().collect();
    let assigned: BTreeSet<Symbol> = assigned_symbols(&nested.sdfg).into_iter().collect();
    let is_fixed = |symbol: &Symbol| {
        !assigned.contains(symbol) && !nested.inputs.iter().any(|input| input.name == symbol.as_str())
    };
    let Some(kept) = bound_dimensions(part, shape.len()) else { return false };
    let sizes = kept.iter().filter_map(|dimension| part.0.get(*dimension)).map(Range::size);
    sizes.zip(shape).all(|(outside, extent)| {
        extent.free_symbols().iter().all(is_fixed) && extent.substitute(&mapping) == outside
    })
}

/// Whether a view or reference of an SDFG names a container.
fn has_alias(sdfg: &Sdfg, name: &str) -> bool {
    sdfg.states().any(|(_, state)| {
        state.edges().any(|(_, edge)| match &edge.memlet.flow {
            Flow::Bind(target) => sdfg.container(target.container).name == name,
            Flow::Order | Flow::Read(_) | Flow::Write { .. } | Flow::Copy { .. } | Flow::Value => false,
        })
    })
}
