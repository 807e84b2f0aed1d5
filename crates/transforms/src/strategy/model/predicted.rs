//! The prediction of the model for one strategy: time, and the bytes that each rank receives.

use super::costs::Model;
use crate::strategy::problem::{End, Problem};

/// The prediction for one run of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Predicted {
    /// Seconds of all operations, one after the other, and of the communication between them.
    pub seconds: f64,
    /// Seconds of communication among them: of halos and partial results, and between operations.
    pub communication_seconds: f64,
    /// Bytes that each rank receives.
    pub received: Vec<u64>,
}

impl Model {
    /// The prediction for a strategy, which has a configuration for each operation.
    pub fn predicted(&self, strategy: &[usize]) -> Predicted {
        let n_ranks = self.n_ranks() as usize;
        let mut predicted =
            Predicted { seconds: 0.0, communication_seconds: 0.0, received: vec![0; n_ranks] };
        for (vertex, configuration) in strategy.iter().enumerate() {
            let times = self.executions(vertex);
            let loads = self.loads(vertex, *configuration);
            let seconds = times as f64 * self.once(&loads);
            let silent: Vec<_> = loads.iter().map(|load| load.without_communication()).collect();
            predicted.seconds += seconds;
            predicted.communication_seconds += seconds - times as f64 * self.once(&silent);
            for (received, load) in predicted.received.iter_mut().zip(&loads) {
                *received += times * (load.halo_bytes + load.reduction_bytes);
            }
        }
        for (index, edge) in self.edges().iter().enumerate() {
            let source = self.layouts(index, End::Source).of(strategy[edge.source]);
            let target = self.layouts(index, End::Target).of(strategy[edge.target]);
            let fetched = self.fetched(index, source, target);
            let most = fetched.iter().copied().max().unwrap_or(0);
            predicted.seconds += self.waiting(index, most);
            predicted.communication_seconds += self.waiting(index, most);
            for (received, bytes) in predicted.received.iter_mut().zip(&fetched) {
                *received += self.times(index) * bytes;
            }
        }
        predicted
    }
}
