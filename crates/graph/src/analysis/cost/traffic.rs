//! Traffic of a GPU: bytes between the memories of the host and the device, and between kernels and the memory of the device. It is
//! a table of its own, because costs do not ask in which memory a container lies.

use std::collections::{BTreeMap, BTreeSet};

use sdfg_language::symbolic::{Expr, Symbol};

use super::{Cost, Costs, MemletTrees, NESTING_LIMIT, Quantity, Repeated, StateCost};
use crate::analysis::device::{Device, device_in, device_of};
use crate::ir::{ContainerId, EdgeId, Flow, NestedSdfg, NodeId, NodeKind, Sdfg, Storage};

/// Bytes that one call of an SDFG moves to, from and on a GPU. Kernels count each access to an array in the memory of the device;
/// caches are not modelled. Accesses to the memory of blocks and threads are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes that copies bring from the host.
    pub to_device: Quantity,
    /// Bytes that copies bring to the host.
    pub from_device: Quantity,
    /// Bytes that copies of the host's code move within the memory of the device, counted once.
    pub within_device: Quantity,
    /// Bytes that kernels read from the memory of the device.
    pub read: Quantity,
    /// Bytes that kernels write to the memory of the device.
    pub written: Quantity,
}

impl Traffic {
    /// The traffic of one call of an SDFG that the host runs.
    pub fn of(sdfg: &Sdfg) -> Self {
        Traffic::nested(sdfg, &Outside::default(), 0)
    }

    /// Whether nothing moves.
    pub fn is_zero(&self) -> bool {
        self.parts().into_iter().all(Quantity::is_zero)
    }

    fn parts(&self) -> [&Quantity; 5] {
        [&self.to_device, &self.from_device, &self.within_device, &self.read, &self.written]
    }

    fn zero() -> Self {
        Traffic::from_parts(std::array::from_fn(|_| Quantity::zero()))
    }

    fn from_parts(parts: [Quantity; 5]) -> Self {
        let [to_device, from_device, within_device, read, written] = parts;
        Traffic { to_device, from_device, within_device, read, written }
    }

    /// Replaces symbols by expressions in all numbers.
    #[must_use]
    pub fn substitute(&self, replacements: &BTreeMap<Symbol, Expr>) -> Self {
        self.map(|part| part.substitute(replacements))
    }

    fn map(&self, change: impl Fn(&Quantity) -> Quantity) -> Self {
        Traffic::from_parts(self.parts().map(change))
    }

    fn plus(&self, other: &Traffic) -> Self {
        let (own, other) = (self.parts(), other.parts());
        Traffic::from_parts(std::array::from_fn(|at| own[at].plus(other[at])))
    }

    fn nested(sdfg: &Sdfg, outside: &Outside, depth: usize) -> Self {
        if depth >= NESTING_LIMIT {
            return Traffic::zero().map(|_| Quantity::undetermined());
        }
        let costs = Costs::of(sdfg);
        let repeated = Repeated::of(sdfg);
        let mut total = Traffic::zero();
        for (block, id) in super::states_in(sdfg, sdfg.body()) {
            let state = StateCost::of(sdfg, &repeated.known, id, 0);
            let (trees, mut sum) = (MemletTrees::of(state.state), Traffic::zero());
            for (edge, _) in state.state.edges().filter(|(edge, _)| trees.is_leaf(*edge)) {
                sum = sum.plus(&outside.of_edge(&state, edge, &costs.of_edge(id, edge)));
            }
            for (node, content) in state.state.nodes() {
                if let NodeKind::Nested(nested) = &content.kind {
                    let inner = Traffic::nested(&nested.sdfg, &outside.inside(&state, node), depth + 1);
                    sum = sum.plus(&over_scopes(&state, node, &called(&inner, nested)));
                }
            }
            total = total.plus(&sum.map(|part| repeated.over_control(sdfg, block, part)));
        }
        total
    }
}

/// The traffic of a call in symbols of its place.
fn called(inner: &Traffic, nested: &NestedSdfg) -> Traffic {
    let mapped: BTreeMap<Symbol, Expr> = nested.symbol_mapping.iter().cloned().collect();
    let given: BTreeSet<Symbol> =
        nested.inputs.iter().filter_map(|input| Symbol::new(&input.name).ok()).collect();
    inner.map(|part| part.clone().without(&given)).substitute(&mapped)
}

/// The traffic of all iterations of the scopes around a node.
fn over_scopes(state: &StateCost<'_>, node: NodeId, once: &Traffic) -> Traffic {
    state.tree.enclosing(node).fold(once.clone(), |traffic, entry| {
        traffic.map(|part| state.over_scope(&Cost { read: part.clone(), ..Cost::zero() }, entry).read)
    })
}

/// Facts about the place from which an SDFG is called.
#[derive(Default)]
struct Outside {
    /// The device of the call.
    device: Device,
    /// Names of arguments that lie in the memory of a GPU, whatever their storage says.
    on_device: BTreeSet<String>,
}

impl Outside {
    /// Whether a container lies in the memory of a GPU.
    fn is_on_device(&self, sdfg: &Sdfg, id: ContainerId) -> bool {
        let Some(container) = sdfg.get_container(id) else { return false };
        container.storage == Storage::GpuGlobal
            || !container.transient && self.on_device.contains(&container.name)
    }

    /// The facts inside of a call.
    fn inside(&self, state: &StateCost<'_>, node: NodeId) -> Outside {
        let mut on_device = BTreeSet::new();
        let (inputs, outputs) = (state.state.in_edges(node), state.state.out_edges(node));
        for edge in inputs.into_iter().chain(outputs) {
            let edge = state.state.edge(edge);
            let connector = if edge.dst == node { &edge.dst_connector } else { &edge.src_connector };
            let passed = edge.memlet.accesses().next().map(|access| access.container);
            if let (Some(connector), Some(container)) = (connector, passed)
                && self.is_on_device(state.sdfg, container)
            {
                on_device.insert(connector.clone());
            }
        }
        Outside { device: device_of(state.state, &state.tree, node, self.device), on_device }
    }

    /// The traffic of a leaf, from its cost over all iterations.
    fn of_edge(&self, state: &StateCost<'_>, id: EdgeId, cost: &Cost) -> Traffic {
        let mut traffic = Traffic::zero();
        let edge = state.state.edge(id);
        let is_on_device = |container| self.is_on_device(state.sdfg, container);
        if let Flow::Copy { from, to, .. } = &edge.memlet.flow
            && device_in(state.state, &state.tree, state.tree.scope_of_edge(state.state, id), self.device)
                == Device::Host
        {
            match (is_on_device(from.container), is_on_device(to.container)) {
                (false, true) => traffic.to_device = cost.written.clone(),
                (true, false) => traffic.from_device = cost.read.clone(),
                (true, true) => traffic.within_device = cost.read.clone(),
                (false, false) => {}
            }
            return traffic;
        }
        if edge.memlet.read_access().is_some_and(|access| is_on_device(access.container)) {
            traffic.read = cost.read.clone();
        }
        if edge.memlet.write_access().is_some_and(|access| is_on_device(access.container)) {
            traffic.written = cost.written.clone();
        }
        traffic
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    fn traffic(source: &str) -> [String; 5] {
        let sdfg = text::parse("t.sdft", source).unwrap_or_else(|errors| panic!("{errors:?}"));
        Traffic::of(&sdfg).parts().map(ToString::to_string)
    }

    /// `A` goes to the device in each of `T` steps; kernels read and write it there, and use memory of a block.
    #[test]
    fn copies_and_kernels_are_counted_apart() {
        let source = "sdfg p {
  symbol N: i64
  symbol T: i64
  array A: f64[8 * N]
  array B: f32[8 * N]
  transient array A_device: f64[8 * N] storage(gpu_global)
  transient array C_device: f64[8 * N] storage(gpu_global)
  transient array tile: f64[8] storage(gpu_shared)

  for steps: t = 0:T {
    state s {
      access A
      access A_device
      access C_device
      access D = A_device
      access X = A
      map m [i = 0:8 * N:8] schedule(gpu_grid) {
        access tile
        map n [j = 0:8] schedule(gpu_block) {
          tasklet u (x) -> (y) { y = 2 * x }
          n.tile -> u.x: tile[7 - j]
          u.y -> n.C: C_device[i + j]
        }
        m.A -> tile: A_device[i:i + 8] -> tile[0:8]
        tile -> n.tile
        n.C -> m.C
      }
      A -> A_device
      A_device -> m.A
      m.C -> C_device
      C_device -> D
      D -> X: A_device[0:2] -> A[0:2]
    }
  }
}";
        assert_eq!(
            traffic(source),
            ["64*N*max(0, T)", "16*max(0, T)", "64*N*max(0, T)", "64*N*max(0, T)", "64*N*max(0, T)"]
        );
    }

    /// A nested SDFG does not say where its arguments lie.
    #[test]
    fn arguments_of_calls_lie_where_the_caller_has_them() {
        let source = "sdfg p {
  symbol N: i64
  array A: f64[N, 4] storage(gpu_global)
  array B: f64[4]

  state s {
    access A
    access X = A
    map m [i = 0:N] schedule(gpu_grid) {
      nested call (a) -> (b) sdfg inner {
        array a: f64[4]
        array b: f64[4]

        state t {
          access a
          access b
          a -> b
        }
      }
      m.A -> call.a: A[i, 0:4]
      call.b -> m.A: A[i, 0:4]
    }
    A -> m.A
    m.A -> X
  }
}";
        assert_eq!(traffic(source), ["0", "0", "0", "32*N", "32*N"]);
        let host = source.replace(" storage(gpu_global)", "").replace(" schedule(gpu_grid)", "");
        assert_eq!(traffic(&host), ["0"; 5]);
    }
}
