//! Test of a seven-dimensional convolution with strides: loads of ranks that compute iteration by iteration.
//!
//! It extends the simulation of random programs to more dimensions, and to indices with two parameters of
//! which one has a stride.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::super::load::Load;
use super::model;
use crate::strategy::{End, Operations, Problem, SumBound};

/// Images, filters, rows and columns of the result, channels, size of a filter, and how far apart its places are.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    images: i64,
    filters: i64,
    rows: i64,
    columns: i64,
    channels: i64,
    kernel: i64,
    stride: i64,
}

impl Sizes {
    /// Rows and columns of an image.
    fn image(&self) -> [i64; 2] {
        [self.rows, self.columns].map(|n| (n - 1) * self.stride + self.kernel)
    }

    fn text(&self) -> String {
        let Sizes { images: n, filters: k, rows: y, columns: x, channels: c, kernel: r, stride } = *self;
        let [h, w] = self.image();
        format!(
            "sdfg convolution {{
  array I: f64[{n}, {c}, {h}, {w}]
  array A: f64[{n}, {c}, {h}, {w}]
  array F: f64[{k}, {c}, {r}, {r}]
  array O: f64[{n}, {k}, {y}, {x}]
  state activate {{
    access I
    access A
    map m [b = 0:{n}, c = 0:{c}, y = 0:{h}, x = 0:{w}] {{
      tasklet f (i) -> (a) {{ a = max(i, 0.0) }}
      m.I -> f.i: I[b, c, y, x]
      f.a -> m.A: A[b, c, y, x]
    }}
    I -> m.I
    m.A -> A
  }}
  state convolve {{
    access A
    access F
    access O
    map m [b = 0:{n}, k = 0:{k}, y = 0:{y}, x = 0:{x}, c = 0:{c}, p = 0:{r}, q = 0:{r}] {{
      tasklet f (a, w) -> (o) {{ o = a * w }}
      m.A -> f.a: A[b, c, {stride} * y + p, {stride} * x + q]
      m.F -> f.w: F[k, c, p, q]
      f.o -> m.O: O[b, k, y, x] wcr(sum)
    }}
    A -> m.A
    F -> m.F
    m.O -> O
  }}
}}
"
        )
    }
}

/// An array, the elements along each of its dimensions, and for each of them the terms `(dimension, coefficient)` of its index.
type Access = (char, Vec<i64>, Vec<Vec<(usize, i64)>>);

/// An operation: its iterations, what it reads, what it writes, and the reduced dimensions.
struct Operation {
    domain: Vec<i64>,
    reads: Vec<Access>,
    write: Access,
    work: u64,
    reduced: Vec<usize>,
}

fn bounds(n: i64, parts: u32, part: u32) -> std::ops::Range<i64> {
    n * i64::from(part) / i64::from(parts)..n * i64::from(part + 1) / i64::from(parts)
}

/// All positions with a number from each range.
fn product(ranges: &[std::ops::Range<i64>]) -> Vec<Vec<i64>> {
    ranges.iter().fold(vec![Vec::new()], |all, range| {
        all.iter().flat_map(|one| range.clone().map(move |i| [one.as_slice(), &[i]].concat())).collect()
    })
}

fn parts(configuration: &[u32], rank: u32) -> Option<Vec<u32>> {
    let mut left = rank;
    let mut part = vec![0; configuration.len()];
    for (part, parts) in part.iter_mut().zip(configuration).rev() {
        (*part, left) = (left % parts, left / parts);
    }
    (left == 0).then_some(part)
}

impl Operation {
    fn iterations(&self, configuration: &[u32], part: &[u32]) -> Vec<Vec<i64>> {
        let cut = self.domain.iter().zip(configuration).zip(part);
        product(&cut.map(|((n, parts), part)| bounds(*n, *parts, *part)).collect::<Vec<_>>())
    }

    /// Elements of an array on a rank: along each dimension its part of the longest dimension in the index.
    fn owned(&self, access: &Access, configuration: &[u32], part: &[u32]) -> BTreeSet<Vec<i64>> {
        let held = |(extent, index): (&i64, &Vec<(usize, i64)>)| -> Vec<i64> {
            let lead = index.iter().rev().max_by_key(|(dimension, _)| self.domain[*dimension]);
            let &(dimension, coefficient) = lead.expect("an index");
            let owner = |x: i64| {
                let first =
                    |k: u32| coefficient * bounds(self.domain[dimension], configuration[dimension], k).start;
                (1..configuration[dimension]).filter(|k| x >= first(*k)).count()
            };
            (0..*extent).filter(|x| owner(*x) == part[dimension] as usize).collect()
        };
        let sides: Vec<Vec<i64>> = access.1.iter().zip(&access.2).map(held).collect();
        sides.iter().fold(BTreeSet::from([Vec::new()]), |all, side| {
            all.iter().flat_map(|one| side.iter().map(move |i| [one.as_slice(), &[*i]].concat())).collect()
        })
    }

    fn loads(&self, configuration: &[u32], ranks: u32) -> Vec<Load> {
        let mut rings: BTreeMap<Vec<u32>, Vec<usize>> = BTreeMap::new();
        let mut loads = vec![Load::default(); ranks as usize];
        for (rank, load) in (0..ranks).zip(&mut loads) {
            let Some(part) = parts(configuration, rank) else { continue };
            let iterations = self.iterations(configuration, &part);
            load.operations = self.work * iterations.len() as u64;
            for access in &self.reads {
                let read = elements(access, &iterations);
                load.memory_bytes += 8 * read.len() as u64;
                let owned = self.owned(access, configuration, &part);
                load.halo_bytes += 8 * read.difference(&owned).count() as u64;
            }
            load.memory_bytes += 8 * elements(&self.write, &iterations).len() as u64;
            load.messages = u64::from(load.halo_bytes > 0);
            let kept = (0..part.len()).filter(|d| !self.reduced.contains(d)).map(|d| part[d]).collect();
            rings.entry(kept).or_default().push(rank as usize);
        }
        for ring in rings.into_values().filter(|ring| ring.len() > 1) {
            let part = parts(configuration, ring[0] as u32).expect("a rank of the ring");
            let n = elements(&self.write, &self.iterations(configuration, &part)).len() as i64;
            let n_ranks = ring.len();
            let chunk = |c: usize| bounds(n, n_ranks as u32, (c % n_ranks) as u32).count() as u64;
            for (at, rank) in ring.iter().enumerate() {
                for step in 0..2 * (n_ranks - 1) {
                    // What the rank before has summed up, or has got as a whole sum, goes on.
                    let passed = chunk(at + 2 * n_ranks - 1 - step);
                    loads[*rank].reduction_bytes += 8 * passed;
                    loads[*rank].reduction_operations += if step < n_ranks - 1 { passed } else { 0 };
                    loads[*rank].messages += 1;
                }
            }
        }
        loads
    }
}

fn elements(access: &Access, iterations: &[Vec<i64>]) -> BTreeSet<Vec<i64>> {
    let at = |i: &Vec<i64>| access.2.iter().map(|index| index.iter().map(|(d, c)| c * i[*d]).sum()).collect();
    iterations.iter().map(at).collect()
}

fn operations(sizes: &Sizes) -> [Operation; 2] {
    let Sizes { images: n, filters: k, rows: y, columns: x, channels: c, kernel: r, stride } = *sizes;
    let [h, w] = sizes.image();
    let plain = |dimensions: &[usize]| dimensions.iter().map(|d| vec![(*d, 1)]).collect::<Vec<_>>();
    let all = plain(&[0, 1, 2, 3]);
    let image = vec![n, c, h, w];
    let input = (
        'A',
        image.clone(),
        vec![vec![(0, 1)], vec![(4, 1)], vec![(2, stride), (5, 1)], vec![(3, stride), (6, 1)]],
    );
    let filter = ('F', vec![k, c, r, r], plain(&[1, 4, 5, 6]));
    let output = ('O', vec![n, k, y, x], all.clone());
    [
        Operation {
            domain: image.clone(),
            reads: vec![('I', image.clone(), all.clone())],
            write: ('A', image, all),
            work: 1,
            reduced: Vec::new(),
        },
        Operation {
            domain: vec![n, k, y, x, c, r, r],
            // What is added to is read.
            reads: vec![input, filter, output.clone()],
            write: output,
            work: 2,
            reduced: vec![4, 5, 6],
        },
    ]
}

fn sizes() -> impl Strategy<Value = Sizes> {
    (1_i64..4, 1_i64..5, 1_i64..5, 2_i64..5, 1_i64..4, 1_i64..4, 1_i64..4).prop_map(
        |(images, filters, rows, columns, channels, kernel, stride)| Sizes {
            images,
            filters,
            rows,
            columns,
            channels,
            kernel,
            stride,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, ..ProptestConfig::default() })]
    #[test]
    fn loads_and_bytes_of_a_convolution_are_those_counted(
        sizes in sizes(),
        ranks in 1_u32..17,
        choice in any::<[prop::sample::Index; 2]>(),
    ) {
        let model = model(&sizes.text(), &[], ranks).expect("a model");
        prop_assert_eq!(model.approximations(), &[] as &[String]);
        let operations = operations(&sizes);
        let strategy: Vec<usize> =
            choice.iter().enumerate().map(|(v, c)| c.index(model.n_configurations(v))).collect();
        let configurations: Vec<&[u32]> =
            strategy.iter().enumerate().map(|(v, c)| model.configurations(v)[*c].as_slice()).collect();
        for (vertex, operation) in operations.iter().enumerate() {
            let counted = operation.loads(configurations[vertex], ranks);
            prop_assert_eq!(model.loads(vertex, strategy[vertex]), counted, "{:?}", configurations[vertex]);
        }
        // The activation is fetched where the convolution needs it and it was not computed.
        let [from, to] = &operations;
        let received = |rank: u32| -> u64 {
            let Some(part) = parts(configurations[1], rank) else { return 0 };
            let left = parts(configurations[0], rank)
                .map_or(BTreeSet::new(), |part| elements(&from.write, &from.iterations(configurations[0], &part)));
            let all = elements(&to.reads[0], &to.iterations(&[1; 7], &[0; 7]));
            let owned = to.owned(&to.reads[0], configurations[1], &part);
            8 * owned.intersection(&all).filter(|element| !left.contains(*element)).count() as u64
        };
        prop_assert_eq!(model.edges().len(), 1);
        let layout = |end| model.layouts(0, end).of(strategy[model.edges()[0].vertex(end)]);
        let fetched = model.fetched(0, layout(End::Source), layout(End::Target));
        prop_assert_eq!(fetched, (0..ranks).map(received).collect::<Vec<_>>());
    }
}

/// The cost of an edge looks at a part of the ranks only; the rank that fetches most is one of them.
#[test]
fn the_rank_that_fetches_most_decides_the_cost_of_an_edge() {
    let sizes = Sizes { images: 3, filters: 5, rows: 5, columns: 4, channels: 6, kernel: 3, stride: 2 };
    let model = model(&sizes.text(), &[], 48).expect("is modelled");
    assert!(!model.edges().is_empty());
    for edge in 0..model.edges().len() {
        let [sources, targets] = [End::Source, End::Target].map(|end| model.layouts(edge, end).len());
        for source in 0..sources {
            for target in (source % 7..targets).step_by(7) {
                let most = model.fetched(edge, source, target).into_iter().max().unwrap_or(0);
                let cost = model.edge_cost(edge, source, target);
                assert_eq!(
                    cost.to_bits(),
                    model.waiting(edge, most).to_bits(),
                    "edge {edge} between layouts {source} and {target}"
                );
                // What is no less than the least sum need not be exact, but must not become less.
                for share in [0.0, 0.3, 0.9, 1.0, 1.1] {
                    let bound = SumBound { base: 0.1 * cost, least: (0.1 + share) * cost };
                    let found = model.edge_cost_below(edge, source, target, bound);
                    assert!(
                        found <= cost && (found == cost || bound.is_reached(found)),
                        "{bound:?}: {found}"
                    );
                }
            }
        }
    }
}
