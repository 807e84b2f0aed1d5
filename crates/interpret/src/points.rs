//! Points of a map in row-major order; later ranges may use earlier parameters.

use sdfg_language::symbolic::EvalError;

use super::index::Span;
use super::program::MapCode;

/// Progress of an enumeration of the points of a map.
#[derive(Clone, Debug)]
pub(super) struct Points {
    /// The values of each parameter, under the current values of the ones before.
    spans: Vec<Span>,
    /// Position of each parameter among its values.
    places: Vec<i64>,
    begun: bool,
}

impl Points {
    /// Before the first point of a map with so many parameters.
    pub(super) fn new(rank: usize) -> Self {
        let none = Span { begin: 0, step: 1, count: 0, tile: 1, is_index: false };
        Points { spans: vec![none; rank], places: vec![0; rank], begun: false }
    }

    /// Sets the parameters to the next point; false if there is none.
    ///
    /// # Errors
    /// A range without a value.
    #[inline]
    pub(super) fn advance(&mut self, code: &MapCode, symbols: &mut [Option<i64>]) -> Result<bool, EvalError> {
        // The common case: one step along the last dimension.
        if let (true, Some(place), Some(span), Some(param)) =
            (self.begun, self.places.last_mut(), self.spans.last(), code.params.last())
            && *place + 1 < span.len()
        {
            *place += 1;
            symbols[*param as usize] = Some(span.at(*place));
            return Ok(true);
        }
        self.carry(code, symbols)
    }

    fn carry(&mut self, code: &MapCode, symbols: &mut [Option<i64>]) -> Result<bool, EvalError> {
        let rank = code.params.len();
        if rank == 0 {
            return Ok(!std::mem::replace(&mut self.begun, true));
        }
        let mut dim = rank - 1;
        if self.begun {
            self.places[dim] += 1;
        } else {
            self.begun = true;
            dim = 0;
            self.begin(code, 0, symbols)?;
        }
        loop {
            let span = self.spans[dim];
            if self.places[dim] < span.len() {
                symbols[code.params[dim] as usize] = Some(span.at(self.places[dim]));
                if dim + 1 == rank {
                    return Ok(true);
                }
                dim += 1;
                self.begin(code, dim, symbols)?;
            } else if dim == 0 {
                return Ok(false);
            } else {
                dim -= 1;
                self.places[dim] += 1;
            }
        }
    }

    fn begin(&mut self, code: &MapCode, dim: usize, symbols: &[Option<i64>]) -> Result<(), EvalError> {
        self.spans[dim] = code.ranges[dim].eval(symbols)?;
        self.places[dim] = 0;
        Ok(())
    }
}
