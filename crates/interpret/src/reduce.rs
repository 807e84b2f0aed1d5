//! Reductions over axes (`docs/semantics.md`, "Reduce").

use super::access::Part;
use super::conflict;
use super::evaluate;
use super::machine::{At, Call, Machine};
use super::program::{Item, ReduceCode, WriteCode};
use super::trap::{Trap, TrapKind};

impl<'p> Machine<'p> {
    /// Runs a reduction.
    pub(super) fn run_reduce(
        &mut self,
        call: &mut Call,
        item: &'p Item,
        code: &'p ReduceCode,
        at: At,
    ) -> Result<(), Box<Trap>> {
        let site = &self.program.items[item.number as usize].site;
        self.count_step(site)?;
        let (mut from, mut to) = (Part::default(), Part::default());
        self.passes(&code.from);
        self.passes(&code.to.end);
        self.part(call, &code.from, &mut from)?;
        self.part(call, &code.to.end, &mut to)?;
        // The kept axes, as a part of its own: coordinates that remain, in row-major order, are places in the output.
        let kept = Part {
            spans: from
                .spans
                .iter()
                .zip(&code.axes)
                .filter(|(_, reduced)| !**reduced)
                .map(|(s, _)| *s)
                .collect(),
        };
        let (expected, found) = (to.len(), kept.len());
        if expected != found {
            return Err(self.trap(TrapKind::SizeMismatch { expected, found }, site));
        }
        let mut results = self.initial_results(call, code, at, &to)?;
        let (mut index, mut element) = (Vec::new(), Vec::new());
        for k in 0..from.len() {
            let mut place = 0;
            let mut rest = k;
            let mut weight = 1;
            for (span, reduced) in from.spans.iter().zip(&code.axes).rev() {
                let coordinate = rest % span.len();
                rest /= span.len();
                if !reduced {
                    place += coordinate * weight;
                    weight *= span.len();
                }
            }
            from.index(k, &mut index);
            let position = self.position(call, &code.from, &index)?;
            element.clear();
            element.extend_from_slice(self.read(call, &code.from, position, at)?);
            match &mut results[place as usize] {
                Some(result) => {
                    conflict::combine(self.program, &mut self.frames, code.resolution, result, &element);
                }
                empty => *empty = Some(element.clone()),
            }
        }
        self.write_results(call, &code.to, at, &to, results)
    }

    /// Initial value of a combination: the identity, or the contents of the output; nothing if the output is
    /// resolved.
    fn initial_results(
        &mut self,
        call: &mut Call,
        code: &'p ReduceCode,
        at: At,
        to: &Part,
    ) -> Result<Vec<Option<Vec<u8>>>, Box<Trap>> {
        let count = usize::try_from(to.len()).unwrap_or(0);
        if let Some(identity) = &code.identity {
            let value = self.evaluate_now(call, identity)?;
            let mut element = vec![0; code.element.size()];
            evaluate::encode_as(code.element, &[value], &mut element);
            return Ok(vec![Some(element); count]);
        }
        if code.to.resolution.is_some() {
            return Ok(vec![None; count]);
        }
        let mut results = Vec::with_capacity(count);
        let mut index = Vec::new();
        for k in 0..to.len() {
            to.index(k, &mut index);
            let position = self.position(call, &code.to.end, &index)?;
            results.push(Some(self.read(call, &code.to.end, position, at)?.to_vec()));
        }
        Ok(results)
    }

    fn write_results(
        &mut self,
        call: &Call,
        write: &WriteCode,
        at: At,
        to: &Part,
        results: Vec<Option<Vec<u8>>>,
    ) -> Result<(), Box<Trap>> {
        let mut index = Vec::new();
        for (k, result) in results.into_iter().enumerate() {
            let Some(result) = result else { continue };
            to.index(k as i64, &mut index);
            let position = self.position(call, &write.end, &index)?;
            self.write(call, write, position, at, &result)?;
        }
        Ok(())
    }
}
