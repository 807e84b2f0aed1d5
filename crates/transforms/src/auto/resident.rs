//! The data that a loop touches in all of its iterations.

use std::collections::BTreeMap;

use sdfg::analysis::ScopeTree;
use sdfg::analysis::loops::counted_range;
use sdfg::ir::{BlockKind, ContainerId, RegionId, Sdfg};
use sdfg::subset::Range;
use sdfg::symbolic::Symbol;

use super::kernel::Kernel;
use super::model::{Values, trips};

/// Bytes of cache lines that a region touches while the loops around it run, outermost first. Calls count with all that they are
/// given. Containers count once, with the part that one state touches: the largest one.
pub(super) fn resident(sdfg: &Sdfg, region: RegionId, values: &Values, around: &[(Symbol, Range)]) -> f64 {
    let mut bytes = BTreeMap::new();
    add_region(sdfg, region, values.clone(), around, &mut bytes);
    bytes.values().sum()
}

fn add_region(
    sdfg: &Sdfg,
    region: RegionId,
    values: Values,
    around: &[(Symbol, Range)],
    bytes: &mut BTreeMap<ContainerId, f64>,
) {
    for id in &sdfg.region(region).blocks {
        match &sdfg.block(*id).kind {
            BlockKind::State(id) => {
                let state = sdfg.state(*id);
                for (container, touched) in
                    Kernel::touched(sdfg, (state, &ScopeTree::of(state)), &values, around)
                {
                    let most = bytes.entry(container).or_insert(0.0_f64);
                    *most = most.max(touched);
                }
            }
            BlockKind::Loop(repeated) => {
                let mut around = around.to_vec();
                around.extend(counted_range(sdfg, repeated));
                add_region(sdfg, repeated.body, values.clone(), &around, bytes);
            }
            BlockKind::Branch(branch) => {
                for arm in branch.arms.iter().map(|(_, arm)| *arm).chain(branch.otherwise) {
                    add_region(sdfg, arm, values.clone(), around, bytes);
                }
            }
            BlockKind::Break | BlockKind::Continue | BlockKind::Return => {}
        }
    }
}

/// The values at the middle of loops, with their numbers of iterations.
pub(super) fn middle(values: &Values, around: &[(Symbol, Range)]) -> (Values, Vec<f64>) {
    let mut values = values.clone();
    let mut counts = Vec::with_capacity(around.len());
    for (symbol, range) in around {
        let (count, middle) = trips(range, &values);
        values.insert(symbol.clone(), middle);
        counts.push(count);
    }
    (values, counts)
}
