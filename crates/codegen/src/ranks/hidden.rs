//! The time of maps that run while messages travel, on each rank.
//!
//! It is that of the cost model: the arithmetic operations of the iterations, or the bytes of the elements that they touch, whichever
//! takes longer. What is not known counts as no time.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::analysis::symbols::bound_symbols;
use sdfg::analysis::{ScopeTree, work_of_iterations};
use sdfg::ir::{NodeId, NodeKind, Sdfg, State, StateId};
use sdfg::subset::Range;
use sdfg::symbolic::{Expr, Symbol};

use super::numbers;
use super::traffic::Rates;

/// Maps over ranks that run while messages travel.
#[derive(Debug, Default)]
pub(super) struct Hidden {
    maps: Vec<OverRanks>,
    /// Symbols that decide ranges, other than parameters of the maps over ranks.
    symbols: Vec<Symbol>,
}

/// A map over ranks.
#[derive(Debug)]
struct OverRanks {
    /// Its parameters with their first values, steps and numbers of values.
    params: Vec<(Symbol, (i64, i64, i64))>,
    inner: Vec<Inner>,
}

/// A map in a map over ranks.
#[derive(Debug)]
struct Inner {
    ranges: Vec<Range>,
    /// Operations of each iteration.
    operations: i64,
    /// Its parameters, and symbols that it reads from data: they have no values outside of it.
    bound: Vec<Symbol>,
    /// What passes its entry and its exit, with the bytes of an element.
    touched: Vec<(Vec<Range>, i64)>,
}

impl Hidden {
    /// These maps over ranks of a state.
    pub(super) fn by(program: &Sdfg, state: StateId, maps: &[NodeId]) -> Self {
        if maps.is_empty() {
            return Hidden::default();
        }
        let graph = program.state(state);
        let tree = ScopeTree::of(graph);
        let over_ranks = |entry: &NodeId| {
            let NodeKind::MapEntry(map) = &graph.node(*entry).kind else { return None };
            let params = map.params.iter().cloned().zip(map.ranges.0.iter().map(numbers));
            let params = params.map(|(param, numbers)| Some((param, numbers?))).collect::<Option<_>>()?;
            let inside = tree.children(Some(*entry));
            let inner = inside.iter().zip(work_of_iterations(program, state, inside));
            let inner = inner.filter_map(|(inner, work)| {
                Inner::of(program, graph, *inner, work.total().known.as_int().unwrap_or(0))
            });
            Some(OverRanks { params, inner: inner.collect() })
        };
        let maps: Vec<OverRanks> = maps.iter().filter_map(over_ranks).collect();
        let mut symbols = BTreeSet::new();
        for map in &maps {
            let ranges = map.inner.iter().flat_map(|inner| {
                inner.ranges.iter().chain(inner.touched.iter().flat_map(|(ranges, _)| ranges))
            });
            let mut used: BTreeSet<Symbol> = ranges.flat_map(|range| range.steps().free_symbols()).collect();
            let bound = map.inner.iter().flat_map(|inner| &inner.bound);
            map.params.iter().map(|(param, _)| param).chain(bound).for_each(|symbol| {
                used.remove(symbol);
            });
            symbols.extend(used);
        }
        Hidden { maps, symbols: symbols.into_iter().collect() }
    }

    /// Whether no map runs.
    pub(super) fn is_empty(&self) -> bool {
        self.maps.is_empty()
    }

    /// The symbols whose values decide the time.
    pub(super) fn symbols(&self) -> impl Iterator<Item = &Symbol> {
        self.symbols.iter()
    }

    /// Seconds of the maps on a rank, where the symbols have these values.
    pub(super) fn seconds(&self, rank: usize, values: &[i64], rates: &Rates) -> f64 {
        let known: BTreeMap<&Symbol, i64> = self.symbols.iter().zip(values.iter().copied()).collect();
        self.maps.iter().map(|map| map.seconds(rank, &known, rates)).fold(0.0, |sum, one| sum + one)
    }
}

impl OverRanks {
    fn seconds(&self, rank: usize, values: &BTreeMap<&Symbol, i64>, rates: &Rates) -> f64 {
        let (mut values, mut rest) = (values.clone(), rank as i64);
        for (param, (first, step, count)) in self.params.iter().rev() {
            values.insert(param, first + step * (rest % count));
            rest /= count;
        }
        // Ranks without an iteration do nothing.
        if rest > 0 {
            return 0.0;
        }
        self.inner.iter().map(|inner| inner.seconds(&values, rates)).fold(0.0, |sum, one| sum + one)
    }
}

impl Inner {
    fn of(program: &Sdfg, graph: &State, entry: NodeId, operations: i64) -> Option<Self> {
        let NodeKind::MapEntry(map) = &graph.node(entry).kind else { return None };
        let exit = graph.exit_of(entry)?;
        let edges = graph.each_in_edge(entry).chain(graph.each_out_edge(exit));
        let accesses = edges.flat_map(|(_, edge)| edge.memlet.accesses());
        let touched = accesses.map(|access| {
            let size = program.container(access.container).element.size() as i64;
            (access.subset().0.clone(), size)
        });
        let bound = bound_symbols(graph, entry);
        Some(Inner { ranges: map.ranges.0.clone(), operations, bound, touched: touched.collect() })
    }

    fn seconds(&self, values: &BTreeMap<&Symbol, i64>, rates: &Rates) -> f64 {
        let count = |ranges: &[Range]| {
            let extent = |range: &Range| {
                let steps: Expr = range.steps();
                steps.eval(&|name| values.get(name).copied()).map_or(0, |steps| steps.max(0)) as f64
            };
            ranges.iter().map(extent).product::<f64>()
        };
        let iterations = count(&self.ranges);
        if iterations == 0.0 {
            return 0.0;
        }
        let bytes: f64 = self.touched.iter().map(|(ranges, size)| count(ranges) * *size as f64).sum();
        let operations = iterations * self.operations as f64;
        (operations / rates.operations_per_second).max(bytes / rates.memory_bytes_per_second)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use sdfg::symbolic::Symbol;

    use crate::ranks::{Rates, Traffic, Waiting};

    /// A vector of 64 elements on four of five ranks, in an interior of 14 iterations on each and a border.
    fn program(steps: i64) -> sdfg::ir::Sdfg {
        let text = format!(
            "sdfg p {{
  symbol N: i64
  array A: f64[N] distribution(grid(4)[balanced(0) halo(1, 1)])
  array B: f64[N] distribution(grid(4)[balanced(0)])
  for l: t = 0:{steps} {{
  state s {{
    access A
    access B
    access near = A
    map inside [p = 0:4] schedule(mpi) {{
      map m [i = max(1, N*p // 4 + 1):min(N - 1, (N*p + N) // 4 - 1)] {{
        tasklet t (l, r) -> (y) {{ y = l + r }}
        m.A -> t.l: A[i - 1]
        m.A -> t.r: A[i + 1]
        t.y -> m.B: B[i]
      }}
      inside.A -> m.A
      m.B -> inside.B
    }}
    map border [p = 0:4] schedule(mpi) {{
      map n [i = (N*p + N) // 4 - 1:min(N - 1, (N*p + N) // 4)] {{
        tasklet u (l, r) -> (y) {{ y = l + r }}
        n.A -> u.l: A[i - 1]
        n.A -> u.r: A[i + 1]
        u.y -> n.B: B[i]
      }}
      border.A -> n.A
      n.B -> border.B
    }}
    A -> near
    near -> inside.A
    inside.B -> B
    near -> border.A
    border.B -> B
    order inside -> border
  }}
  }}
}}"
        );
        sdfg::text::parse("p.sdft", &text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"))
    }

    /// Seconds of waiting and hidden ones, where a message has a latency of 1 s and its elements take 1 s each: two ranks wait 3 s, and
    /// those at the ends 2 s.
    fn waiting(size: i64, steps: i64, operations: f64, memory: f64) -> [f64; 2] {
        let rates = Rates {
            latency_seconds: 1.0,
            link_bytes_per_second: 8.0,
            operations_per_second: operations,
            memory_bytes_per_second: memory,
        };
        let symbols = BTreeMap::from([(Symbol::of("N"), size)]);
        let found = Waiting::of(&program(steps), &symbols, 5, rates).expect("it is known");
        [found.seconds, found.hidden]
    }

    #[test]
    fn interiors_hide_messages_as_long_as_they_take() {
        let fast = 1e300;
        assert_eq!(waiting(64, 1, fast, fast), [3.0, 0.0]);
        // One addition for each of 14 elements.
        assert_eq!(waiting(64, 1, 14.0, fast), [2.0, 1.0]);
        assert_eq!(waiting(64, 3, 7.0, fast), [3.0, 6.0]);
        assert_eq!(waiting(64, 1, 1.0, fast), [0.0, 3.0]);
        // They read 16 elements and write 14. The slower one of both counts.
        assert_eq!(waiting(64, 1, fast, 240.0), [2.0, 1.0]);
        assert_eq!(waiting(64, 1, 14.0, 120.0), [1.0, 2.0]);
        // Without an interior, nothing is hidden.
        assert_eq!(waiting(8, 1, 1e-9, 1e-9), [3.0, 0.0]);
    }

    /// Iterations of maps over ranks have the numbers of their ranges: here ranks 0 to 3 have 3, 5, 7 and 9 elements, or 9, 7, 5 and 3.
    #[test]
    fn ranges_over_ranks_may_begin_anywhere_and_have_steps() {
        let text = |range: &str| {
            format!(
                "sdfg p {{
  array A: f64[64] distribution(grid(4)[balanced(0) halo(1, 0)])
  array B: f64[4, 16] distribution(grid(4)[balanced(0), whole])
  state s {{
    access A
    access B
    access near = A
    map own [p = {range}] schedule(mpi) {{
      map m [i = 0:p] {{
        tasklet t () -> (y) {{ y = 2.0 * i }}
        t.y -> m.B: B[ROW, i]
      }}
      m.B -> own.B
    }}
    A -> near
    order near -> own
    own.B -> B
  }}
}}"
            )
        };
        let rates = Rates {
            latency_seconds: 0.0,
            link_bytes_per_second: 0.8,
            operations_per_second: 1.0,
            memory_bytes_per_second: 1e300,
        };
        // All but the first one wait for 10 s, and the least number of iterations decides.
        for (range, row, hidden) in [("3:11:2", "(p - 3) // 2", 5.0), ("9:2:-2", "(9 - p) // 2", 3.0)] {
            let text = text(range).replace("ROW", row);
            let program = sdfg::text::parse("p.sdft", &text).unwrap_or_else(|errors| panic!("{errors:?}"));
            let found = Waiting::of(&program, &BTreeMap::new(), 4, rates).expect("it is known");
            assert_eq!([found.seconds, found.hidden], [10.0 - hidden, hidden], "{range}");
        }
    }

    #[test]
    fn bytes_are_those_without_interiors() {
        let symbols = BTreeMap::from([(Symbol::of("N"), 64)]);
        let traffic = Traffic::of(&program(2), &symbols, 5).expect("it is known");
        assert_eq!(traffic.received(), [16, 32, 32, 16, 0]);
        assert_eq!(traffic.copies[0].hidden_by, ["inside"]);
    }
}
