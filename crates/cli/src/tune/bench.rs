//! The programs of points: the chain replayed on the program, compiled and run.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use sdfg::ir::Sdfg;
use sdfg_transforms::tune::{Bench, Point, Space, Unfit};
use sdfg_transforms::{Action, Soundness};

use crate::interrupt;
use crate::measure::{Loaded, Measure};

/// Native programs of points.
pub(super) struct NativeBench<'b> {
    measure: &'b Measure<'b>,
    space: &'b Space,
    program: &'b Sdfg,
    loaded: BTreeMap<Point, Loaded>,
    start: Instant,
}

impl<'b> NativeBench<'b> {
    pub(super) fn new(measure: &'b Measure<'b>, space: &'b Space, program: &'b Sdfg, start: Instant) -> Self {
        NativeBench { measure, space, program, loaded: BTreeMap::new(), start }
    }
}

impl Bench for NativeBench<'_> {
    fn prepare(&mut self, point: &Point) -> Result<(), Unfit> {
        let chain = self.space.chain(point);
        let registry = sdfg_library::transformations();
        let refused = |error: sdfg_transforms::ChainError| Unfit::Refused(error.to_string());
        let soundness = chain.actions(&registry).map_err(refused)?.iter().map(Action::soundness).max();
        let replayed = chain.replay(self.program.clone(), &registry).map_err(refused)?;
        let loaded = self.measure.load(replayed.program(), soundness.unwrap_or(Soundness::Always))?;
        self.loaded.insert(point.clone(), loaded);
        Ok(())
    }

    fn run(&mut self, point: &Point) -> Result<f64, Unfit> {
        match self.loaded.get(point) {
            Some(loaded) => self.measure.seconds(loaded),
            None => Err(Unfit::Refused("it is not compiled".to_owned())),
        }
    }

    fn release(&mut self, point: &Point) {
        self.loaded.remove(point);
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    fn is_stopped(&self) -> bool {
        interrupt::is_asked()
    }
}
