//! Iterations in reports: from the numbers of the race detector back to the values of parameters.
//!
//! Nothing is recorded during the run. Therefore a report contains only values that follow from the symbols
//! at the beginning of the outermost state. It omits parameters that depend on data or on control flow inside
//! a nested SDFG, and everything inside their scopes.

use super::machine::{At, Machine};
use super::points::Points;
use super::program::{CallCode, ConsumeCode, ItemForm, MapCode};

/// Maximum number of points of a map that are enumerated to find one.
const POINTS: u32 = 1 << 24;

impl Machine<'_> {
    /// The parameters of the scopes around a place, from the outside in, as far as they are known.
    #[cold]
    pub(super) fn iteration(&self, at: At) -> Vec<(String, i64)> {
        // What was entered, and how far it was, from the inside out.
        let mut entered = Vec::new();
        let mut at = at;
        while let Some(parent) = self.instances.parent(at.instance) {
            entered.push((parent.item, at.position));
            at = At { instance: parent.instance, position: parent.position };
        }
        let mut found = Vec::new();
        let (mut procedure, mut symbols) = (0, self.outermost.clone());
        for (item, position) in entered.into_iter().rev() {
            let Some(place) = self.program.items.get(item as usize) else { break };
            let is_known = match &self.program.bodies[place.body].items[place.index].form {
                ItemForm::Map(code) => self.map_point(code, procedure, position, &mut symbols, &mut found),
                ItemForm::Consume(code) => self.taken(code, position, &mut symbols, &mut found),
                ItemForm::Call(code) => {
                    symbols = self.symbols_of_call(code, &symbols);
                    procedure = code.procedure;
                    true
                }
                ItemForm::Access
                | ItemForm::Copy(_)
                | ItemForm::Tasklet(_)
                | ItemForm::Reduce(_)
                | ItemForm::Library(_)
                | ItemForm::Set(_) => true,
            };
            if !is_known {
                break;
            }
        }
        found
    }

    fn map_point(
        &self,
        code: &MapCode,
        procedure: usize,
        position: u32,
        symbols: &mut [Option<i64>],
        found: &mut Vec<(String, i64)>,
    ) -> bool {
        code.reads.iter().for_each(|read| symbols[read.slot as usize] = None);
        // Positions count from 1; 0 is before the first point.
        if position == 0 || position > POINTS {
            return false;
        }
        let mut points = Points::new(code.params.len());
        for _ in 0..position {
            if !points.advance(code, symbols).unwrap_or(false) {
                return false;
            }
        }
        for slot in &code.params {
            let name = &self.program.procedures[procedure].symbols[*slot as usize].0;
            found.extend(symbols[*slot as usize].map(|value| (name.clone(), value)));
        }
        true
    }

    /// The elements of a consume scope are told by the order in which they were taken. Which processing element had
    /// one is not kept.
    fn taken(
        &self,
        code: &ConsumeCode,
        position: u32,
        symbols: &mut [Option<i64>],
        found: &mut Vec<(String, i64)>,
    ) -> bool {
        code.reads.iter().for_each(|read| symbols[read.slot as usize] = None);
        symbols[code.element as usize] = None;
        if position > 0 {
            let name = format!("number taken from `{}`", self.container(code.stream.access));
            found.push((name, i64::from(position - 1)));
        }
        true
    }

    fn symbols_of_call(&self, code: &CallCode, outer: &[Option<i64>]) -> Vec<Option<i64>> {
        let mut symbols = vec![None; self.program.procedures[code.procedure].symbols.len()];
        for (slot, value) in &code.symbols {
            symbols[*slot as usize] = value.eval(outer).ok();
        }
        symbols
    }
}
