//! Additions of the model to a strategy file: positions of operations in the program, and partitions of their
//! containers.

use std::collections::BTreeMap;

use sdfg::symbolic::Symbol;

use super::costs::Model;
use super::operator::{Block, Operand, Operator, share};
use crate::strategy::problem::Operations;
use crate::strategy::strategy_file::{ContainerLayout, Cut, StrategyFile};

impl Model {
    /// Fills in what a strategy's file says of the program: values of symbols, and for each operation its place, the names of its
    /// dimensions, and the layouts of its containers. The strategy has a configuration for each operation.
    pub fn describe(&self, values: &BTreeMap<Symbol, i64>, strategy: &[usize], file: &mut StrategyFile) {
        file.symbols = values.iter().map(|(symbol, value)| (symbol.to_string(), *value)).collect();
        for (vertex, (described, chosen)) in file.operations.iter_mut().zip(strategy).enumerate() {
            let operator = self.operator(vertex);
            let configuration = &self.configurations(vertex)[*chosen];
            described.path = operator.path.clone();
            described.parameters = operator.parameters.clone();
            let layouts = |operands: &[Operand], is_written: bool| -> Vec<ContainerLayout> {
                let layout = |operand: &Operand| ContainerLayout {
                    container: self.storage(operand.storage).clone(),
                    dimensions: operand.cuts(operator, configuration),
                    combined_over: if is_written && operand.combining.is_some() {
                        operand.reduced(operator)
                    } else {
                        Vec::new()
                    },
                };
                operands.iter().map(layout).collect()
            };
            described.reads = layouts(&operator.reads, false);
            described.writes = layouts(&operator.writes, true);
        }
    }
}

impl Operand {
    /// Partition of each dimension of the container: the sides of ranks' owned parts.
    fn cuts(&self, operator: &Operator, configuration: &[u32]) -> Vec<Option<Cut>> {
        let cut = |dimension: usize| {
            let (leading, _, _) = self.lead(operator, dimension)?;
            let n_parts = u64::from(configuration[leading]);
            if n_parts == 1 {
                return None;
            }
            let side = |part: u64| {
                let Block { part: mut parts, mut bounds } = operator.whole();
                (parts[leading], bounds[leading]) = (part, share(operator.domain[leading], n_parts, part));
                let owned = self.owned(operator, configuration, &Block { part: parts, bounds });
                let (begin, end) = owned[dimension].bounds().unwrap_or((0, 0));
                // Owned parts lie within the container.
                (begin.unsigned_abs(), end.unsigned_abs())
            };
            Some(Cut { dimension: leading, parts: (0..n_parts).map(side).collect() })
        };
        (0..self.extents.len()).map(cut).collect()
    }
}
