//! The way back: recomputes the configurations that attain the minima, for the chosen combination only.

use super::{Dynamic, OwnCosts, side_by_side, step};
use crate::strategy::error::SearchError;
use crate::strategy::layouts::Layouts;
use crate::strategy::plan::Factor;
use crate::strategy::problem::{End, Problem};

impl Dynamic<'_> {
    /// The strategy that the tables' minima belong to; of equal configurations the first one, later steps first.
    pub(in crate::strategy) fn strategy(&self, own: &OwnCosts) -> Result<Vec<usize>, SearchError> {
        let mut strategy = vec![0; self.plan.steps.len()];
        self.choose(&self.schedule.together, &own.together, &mut strategy)?;
        // What a vertex depends on is above it: chosen by now, or by the same thread.
        let lists: Vec<_> = self.schedule.apart.iter().zip(&own.apart).collect();
        let chosen = side_by_side(&lists, |(steps, costs)| {
            let mut own = strategy.clone();
            self.choose(steps, costs, &mut own).map(|()| own)
        });
        for (steps, chosen) in self.schedule.apart.iter().zip(chosen) {
            let chosen = chosen?;
            for step in steps {
                let vertex = self.plan.steps[*step].vertex;
                strategy[vertex] = chosen[vertex];
            }
        }
        Ok(strategy)
    }

    /// Chooses the configurations of the vertices of these steps, the last one first. Their own costs lie one after the other.
    fn choose(&self, steps: &[usize], costs: &[f64], strategy: &mut [usize]) -> Result<(), SearchError> {
        let mut others: Vec<Chosen<'_>> = Vec::new();
        let mut left = costs;
        for &index in steps.iter().rev() {
            let step = &self.plan.steps[index];
            let own;
            (left, own) = left.split_at(left.len() - step.own.n_configurations());
            others.clear();
            others.extend(
                self.plan.joint.of(index).iter().map(|factor| self.chosen(step.vertex, *factor, strategy)),
            );
            // Of a single factor the sums are those that were compared: the first that is the minimum is known to be it.
            let known = (others.len() == 1).then(|| self.table(index)[step.entry(strategy)]);
            let mut best = (known.map_or(f64::INFINITY, f64::next_up), 0);
            for (configuration, own) in own.iter().enumerate() {
                // No cost is negative: where the vertex alone is no better, the others need not be looked at.
                if *own < best.0 {
                    let costs = others.iter().map(|other| other.cost(self.problem, configuration));
                    let cost = costs.sum::<Result<f64, SearchError>>()? + own;
                    if cost < best.0 {
                        best = (cost, configuration);
                        if known == Some(cost) {
                            break;
                        }
                    }
                }
            }
            strategy[step.vertex] = best.1;
        }
        Ok(())
    }

    /// A factor of a step, all vertices but that of the step being chosen.
    fn chosen(&self, vertex: usize, factor: Factor, strategy: &[usize]) -> Chosen<'_> {
        match factor {
            Factor::Edge { edge, end } => {
                let chosen = self.problem.edges()[edge].vertex(end.other());
                let chosen = self.problem.layouts(edge, end.other()).of(strategy[chosen]);
                let layouts = self.problem.layouts(edge, end);
                let n_columns = self.problem.layouts(edge, End::Target).len();
                let (place, stride) = match end {
                    End::Source => (chosen, n_columns),
                    End::Target => (chosen * n_columns, 1),
                };
                match self.problem.edge_table(edge) {
                    Some(values) => Chosen::Stored { values, place, stride, layouts },
                    None => Chosen::Computed { edge, end, chosen, layouts },
                }
            }
            Factor::Table(table) => {
                let dependents = &self.plan.steps[table].dependents;
                let (mut stride, mut place, mut own) = (1, 0, (1, &dependents[0].layouts));
                for one in dependents.iter().rev() {
                    if one.vertex == vertex {
                        own = (stride, &one.layouts);
                    } else {
                        place += stride * one.layouts.of(strategy[one.vertex]);
                    }
                    stride *= one.layouts.len();
                }
                Chosen::Stored { values: self.table(table), place, stride: own.0, layouts: own.1 }
            }
        }
    }
}

/// A factor as a function of the one vertex that is not chosen yet.
enum Chosen<'c> {
    /// Its costs are stored, from a place on, so far apart.
    Stored { values: &'c [f64], place: usize, stride: usize, layouts: &'c Layouts },
    /// An edge whose costs are computed; the layout at its other end.
    Computed { edge: usize, end: End, chosen: usize, layouts: &'c Layouts },
}

impl Chosen<'_> {
    fn cost(&self, problem: &dyn Problem, configuration: usize) -> Result<f64, SearchError> {
        match *self {
            Chosen::Stored { values, place, stride, layouts } => {
                Ok(values[place + stride * layouts.of(configuration)])
            }
            Chosen::Computed { edge, end, chosen, layouts } => {
                let own = layouts.of(configuration);
                let (row, column) = if end == End::Source { (own, chosen) } else { (chosen, own) };
                step::edge_cost(problem, edge, row, column)
            }
        }
    }
}
