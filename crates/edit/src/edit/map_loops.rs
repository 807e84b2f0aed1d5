//! Runs the iterations of a map in order: the map becomes loops in a nested SDFG.

use std::collections::BTreeSet;

use sdfg_graph::analysis::symbols::bound_symbols;
use sdfg_graph::analysis::{control_code_of, owning_scopes};
use sdfg_graph::ir::{BlockKind, Lifetime, Loop, Map, NodeId, NodeKind, RegionId, Sdfg, StateId};
use sdfg_language::subset::{Range, Subset};
use sdfg_language::symbolic::{Expr, Symbol};
use sdfg_language::syntax::{BinaryOp, CompareOp, Expression};

use super::EditError;
use super::editor::Editor;

impl Editor<'_> {
    /// Puts a map with its contents into a nested SDFG, and loops over its parameters, the first outermost, into the place of
    /// the map. Transients of an iteration are those of a run of the state in the loops. Gives the call.
    ///
    /// # Errors
    /// [`EditError::NoState`] and [`EditError::NoNode`]; [`EditError::WrongKind`] for other nodes;
    /// [`EditError::ControlFlow`] for ranges of tiles, steps that are no numbers and ranges from data; and those of
    /// [`wrap_in_nested`](Editor::wrap_in_nested).
    pub fn map_to_loops(&mut self, state: StateId, entry: NodeId) -> Result<NodeId, EditError> {
        let found = super::expect_node(self.state(state)?, entry)?;
        let label = found.label.clone();
        let NodeKind::MapEntry(map) = found.kind.clone() else {
            return Err(EditError::WrongKind { label, found: found.kind.noun(), expected: "maps" });
        };
        let sdfg = self.sdfg();
        let own = owning_scopes(sdfg).into_iter().filter(|(_, owner)| *owner == (state, entry));
        let own: Vec<String> = own.map(|(id, _)| sdfg.container(id).name.clone()).collect();
        let placeholder = sdfg.body();
        let refuse = |label: &String, reason| EditError::ControlFlow { label: label.clone(), reason };
        // A symbol from data is known only where the scope begins.
        if bound_symbols(sdfg.state(state), entry) != map.params {
            let reason = "data that flows into the map decides its ranges, and a loop cannot begin with data";
            return Err(refuse(&label, reason));
        }
        let headers = map.params.iter().zip(&map.ranges.0).map(|(param, range)| {
            header(sdfg, param, range, placeholder).map_err(|reason| refuse(&label, reason))
        });
        let headers = headers.collect::<Result<Vec<Loop>, _>>()?;
        let call = self.derived_label(state, &label, "in_order")?;
        self.attempt(|editor| {
            let call = editor.wrap_in_nested(state, &BTreeSet::from([entry]), &call)?;
            editor.within(state, call, |inner| inner.loops_in_place(&label, &map, headers, &own))?;
            Ok(call)
        })
    }

    /// Puts loops around the only state, in the place of the map with a label.
    fn loops_in_place(
        &mut self,
        label: &str,
        map: &Map,
        headers: Vec<Loop>,
        own: &[String],
    ) -> Result<(), EditError> {
        // Each iteration has these for itself.
        for id in own.iter().filter_map(|name| self.sdfg().find_container(name)).collect::<Vec<_>>() {
            let container = self.sdfg().container(id);
            if container.transient && !container.is_alias() {
                self.set_container(id, |container| container.lifetime = Lifetime::State);
            }
        }
        let only = self.sdfg().blocks().find_map(|(block, found)| match found.kind {
            BlockKind::State(id) => Some((block, id)),
            BlockKind::Loop(_)
            | BlockKind::Branch(_)
            | BlockKind::Break
            | BlockKind::Continue
            | BlockKind::Return => None,
        });
        let Some((mut block, id)) = only else { return Ok(()) };
        for (param, header) in map.params.iter().zip(headers).rev() {
            let label = self.derived_block_label(label, param.as_str());
            block = self.wrap_in_loop(block, &label, header)?;
        }
        let Some(entry) = self.find(id, label) else { return Ok(()) };
        let itself = Subset(map.params.iter().map(|param| Range::index(param.clone())).collect());
        let once = Map { ranges: itself, ..map.clone() };
        self.replace_node(id, entry, NodeKind::MapEntry(once))?;
        self.unwrap_map(id, entry)
    }
}

/// A loop over a parameter, or the reason for which there is none.
fn header(sdfg: &Sdfg, param: &Symbol, range: &Range, body: RegionId) -> Result<Loop, &'static str> {
    if !range.tile.is_one() {
        return Err("a range of tiles is no range of a loop");
    }
    let step = range.step.as_int().filter(|step| *step != 0);
    let step = step.ok_or("the direction of a loop is known only if the step is a number other than 0")?;
    let written = |bound: &Expr| control_code_of(sdfg, bound).ok_or("a bound cannot be written in code");
    let symbol = || Expression::name(param.as_str());
    let (goes_on, moves) =
        if step > 0 { (CompareOp::Less, BinaryOp::Add) } else { (CompareOp::Greater, BinaryOp::Subtract) };
    let stride = step.checked_abs().ok_or("its step is too large")?;
    Ok(Loop {
        symbol: Some(param.clone()),
        init: Some(written(&range.begin)?),
        condition: Expression::compare(goes_on, symbol(), written(&range.end)?),
        update: Some(Expression::binary(moves, symbol(), Expression::integer(stride))),
        test_after: false,
        unroll: false,
        body,
    })
}
