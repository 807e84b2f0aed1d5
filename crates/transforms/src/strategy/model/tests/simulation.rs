//! Simulation of a random program: ranks compute iteration by iteration and receive element by element.
//!
//! The simulation shares only the protocol with the model: distribution of iterations, the owned part of each rank,
//! ring reductions, and that arguments are where the first map needs them that reads them.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::super::load::Load;
use super::random::{EXTENT, Index, RandomMap, RandomProgram, plain_program, program};
use super::{Model, model};
use crate::strategy::{End, Operations, Problem};

type Element = (i64, i64);

/// The bounds of a part, sizes differing by at most one.
fn bounds(n: i64, parts: u32, part: u32) -> std::ops::Range<i64> {
    n * i64::from(part) / i64::from(parts)..n * i64::from(part + 1) / i64::from(parts)
}

/// Parts of a rank, which is counted row by row.
fn parts(configuration: &[u32], rank: u32) -> Option<[u32; 2]> {
    let part = [rank / configuration[1], rank % configuration[1]];
    (part[0] < configuration[0]).then_some(part)
}

fn iterations(map: &RandomMap, configuration: &[u32], rank: u32) -> Vec<[i64; 2]> {
    let Some(part) = parts(configuration, rank) else { return Vec::new() };
    let [rows, columns] = [0, 1].map(|d| bounds(map.sizes[d], configuration[d], part[d]));
    rows.flat_map(|i| columns.clone().map(move |j| [i, j])).collect()
}

fn elements(accesses: &[[Index; 2]], iterations: &[[i64; 2]]) -> BTreeSet<Element> {
    let touched = |at: &[i64; 2]| accesses.iter().map(|[r, c]| (r.at(*at), c.at(*at))).collect::<Vec<_>>();
    iterations.iter().flat_map(touched).collect()
}

/// Accesses that read an array, what is added to included.
fn reads(map: &RandomMap, array: usize) -> Vec<[Index; 2]> {
    let added = (map.adds && map.write.0 == array).then_some(map.write.1);
    map.reads.iter().filter(|(a, _)| *a == array).map(|(_, index)| *index).chain(added).collect()
}

/// Whether a rank holds a position along one dimension of an array: the middle access of those that the leading parameter
/// has in this dimension says where the array is cut.
fn holds(map: &RandomMap, configuration: &[u32], part: [u32; 2], indices: &[Index], x: i64) -> bool {
    let used: Vec<usize> = (0..2).filter(|p| indices[0].coefficients[*p] != 0).collect();
    let lead = match used.as_slice() {
        [] => return true,
        [only] => *only,
        _ => usize::from(map.sizes[1] > map.sizes[0]),
    };
    let c = indices[0].coefficients[lead];
    let offsets: BTreeSet<i64> =
        indices.iter().filter(|one| one.coefficients[lead] == c).map(|one| one.offset).collect();
    let middle = *offsets.iter().nth(offsets.len() / 2).expect("an access");
    let is_past = |k: u32| {
        let first = c * bounds(map.sizes[lead], configuration[lead], k).start + middle;
        if c > 0 { x >= first } else { x <= first }
    };
    (1..configuration[lead]).filter(|k| is_past(*k)).count() == part[lead] as usize
}

/// Whether a rank holds an element of an argument as a map owns it that reads it. All ranks hold what no rank has a part of.
fn has_passed(
    (map, configuration): (&RandomMap, &[u32]),
    rank: u32,
    accesses: &[[Index; 2]],
    element: Element,
) -> bool {
    let has = |rank| owned(map, configuration, rank, accesses);
    let n_parts: u32 = configuration.iter().product();
    let is_whole = (0..n_parts).all(|rank| has(rank).len() as i64 == EXTENT * EXTENT);
    is_whole || has(rank).contains(&element)
}

fn owned(map: &RandomMap, configuration: &[u32], rank: u32, accesses: &[[Index; 2]]) -> BTreeSet<Element> {
    let Some(part) = parts(configuration, rank) else { return BTreeSet::new() };
    let along = |dimension: usize| -> Vec<i64> {
        let indices: Vec<Index> = accesses.iter().map(|access| access[dimension]).collect();
        (0..EXTENT).filter(|x| holds(map, configuration, part, &indices, *x)).collect()
    };
    let (rows, columns) = (along(0), along(1));
    rows.into_iter().flat_map(|x| columns.iter().map(move |y| (x, *y))).collect()
}

/// Loads of one execution of a map.
fn loads(map: &RandomMap, configuration: &[u32], ranks: u32) -> Vec<Load> {
    let mut loads = vec![Load::default(); ranks as usize];
    for (rank, load) in (0..ranks).zip(&mut loads) {
        let iterations = iterations(map, configuration, rank);
        for _ in &iterations {
            load.operations += map.work();
        }
        for array in 0..super::random::ARRAYS {
            let accesses = reads(map, array);
            if accesses.is_empty() {
                continue;
            }
            let read = elements(&accesses, &iterations);
            load.memory_bytes += 8 * read.len() as u64;
            let owned = owned(map, configuration, rank, &accesses);
            load.halo_bytes += 8 * read.difference(&owned).count() as u64;
        }
        load.memory_bytes += 8 * elements(&[map.write.1], &iterations).len() as u64;
        load.messages = u64::from(load.halo_bytes > 0);
    }
    if map.adds {
        add_up(map, configuration, &mut loads);
    }
    loads
}

/// Ranks that have parts of the same sums pass them on in rings until each has all of them.
fn add_up(map: &RandomMap, configuration: &[u32], loads: &mut [Load]) {
    let is_reduced = |d: usize| map.write.1.iter().all(|index| index.coefficients[d] == 0);
    let mut rings: BTreeMap<Vec<u32>, Vec<usize>> = BTreeMap::new();
    for rank in 0..loads.len() {
        if let Some(part) = parts(configuration, rank as u32) {
            let key = (0..2).filter(|d| !is_reduced(*d)).map(|d| part[d]).collect();
            rings.entry(key).or_default().push(rank);
        }
    }
    for ring in rings.into_values().filter(|ring| ring.len() > 1) {
        let n = ring.len();
        let sums: Vec<Element> =
            elements(&[map.write.1], &iterations(map, configuration, ring[0] as u32)).into_iter().collect();
        let chunk = |c: usize| bounds(sums.len() as i64, n as u32, c as u32).count() as u64;
        // Whose results are in each chunk of each rank.
        let mut has: Vec<Vec<BTreeSet<usize>>> = (0..n).map(|r| vec![BTreeSet::from([r]); n]).collect();
        for step in 0..2 * (n - 1) {
            let before = has.clone();
            for to in 0..n {
                let from = (to + n - 1) % n;
                let passed = (from + 2 * n - step) % n;
                let is_sum = step < n - 1;
                let load = &mut loads[ring[to]];
                load.reduction_bytes += 8 * chunk(passed);
                load.messages += 1;
                if is_sum {
                    load.reduction_operations += chunk(passed);
                    assert!(has[to][passed].is_disjoint(&before[from][passed]), "something is added twice");
                    has[to][passed].extend(&before[from][passed]);
                } else {
                    has[to][passed].clone_from(&before[from][passed]);
                }
            }
        }
        assert!(has.iter().flatten().all(|whose| whose.len() == n), "a sum is not whole: {has:?}");
    }
}

/// Bytes that each rank receives in all of the program, for each source, target and array.
fn fetched(
    program: &RandomProgram,
    runs: Vec<usize>,
    configurations: &[Vec<u32>],
    ranks: u32,
) -> BTreeMap<(usize, usize, usize), Vec<u64>> {
    let mut bytes = BTreeMap::new();
    // The map that wrote an element last, and when.
    let mut written: BTreeMap<(usize, Element), (usize, usize)> = BTreeMap::new();
    let mut seen: BTreeSet<(usize, usize, Element, Option<usize>)> = BTreeSet::new();
    for (time, target) in runs.into_iter().enumerate() {
        let map = &program.maps[target];
        let all = iterations(map, &[1, 1], 0);
        for array in 0..super::random::ARRAYS {
            let accesses = reads(map, array);
            for element in elements(&accesses, &all) {
                let last = written.get(&(array, element)).copied();
                let first = || program.maps.iter().position(|map| !reads(map, array).is_empty());
                let Some(source) = last.map(|(source, _)| source).or_else(first) else { continue };
                let is_new = seen.insert((target, array, element, last.map(|(_, when)| when)));
                if !is_new || last.is_none() && source == target {
                    continue;
                }
                let from = &program.maps[source];
                let received = bytes.entry((source, target, array)).or_insert(vec![0; ranks as usize]);
                for rank in 0..ranks {
                    let has = if last.is_some() {
                        let left = iterations(from, &configurations[source], rank);
                        left.iter().any(|at| (from.write.1[0].at(*at), from.write.1[1].at(*at)) == element)
                    } else {
                        let ends = (from, configurations[source].as_slice());
                        has_passed(ends, rank, &reads(from, array), element)
                    };
                    let Some(part) = parts(&configurations[target], rank) else { continue };
                    let is_owned = [element.0, element.1].into_iter().enumerate().all(|(d, x)| {
                        let indices: Vec<Index> = accesses.iter().map(|access| access[d]).collect();
                        holds(map, &configurations[target], part, &indices, x)
                    });
                    received[rank as usize] += if is_owned && !has { 8 } else { 0 };
                }
            }
        }
        for element in elements(&[map.write.1], &all) {
            written.insert((map.write.0, element), (target, time));
        }
    }
    bytes
}

fn predicted(model: &Model, strategy: &[usize], ranks: u32) -> BTreeMap<(usize, usize, usize), Vec<u64>> {
    let mut bytes = BTreeMap::new();
    for (index, edge) in model.edges().iter().enumerate() {
        let layout = |end| model.layouts(index, end).of(strategy[edge.vertex(end)]);
        let (source, target) = (layout(End::Source), layout(End::Target));
        let once = model.fetched(index, source, target);
        let most = once.iter().copied().max().unwrap_or(0);
        assert_eq!(model.edge_cost(index, source, target), model.waiting(index, most));
        // `A0`, `A1` or `A2`.
        let container = model.container(index).to_string();
        let array = container.trim_end_matches('`').chars().last().and_then(|digit| digit.to_digit(10));
        let array = array.expect("the number of an array") as usize;
        let key = (edge.source, edge.target, array);
        let sum = bytes.entry(key).or_insert(vec![0; ranks as usize]);
        sum.iter_mut().zip(once).for_each(|(sum, n)| *sum += n * model.times(index));
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    #[test]
    fn predicted_and_counted_loads_are_equal(
        program in prop_oneof![program(), plain_program()],
        ranks in 1_u32..17,
        choice in prop::collection::vec(any::<prop::sample::Index>(), 5),
    ) {
        let program = program.decided();
        let text = program.text();
        let model = model(&text, &[], ranks).expect("a model");
        prop_assert_eq!(model.approximations(), &[] as &[String]);
        let strategy: Vec<usize> =
            (0..program.maps.len()).map(|v| choice[v].index(model.n_configurations(v))).collect();
        let configurations: Vec<Vec<u32>> =
            strategy.iter().enumerate().map(|(v, c)| model.configurations(v)[*c].clone()).collect();
        let runs = program.runs(|| true);
        for (vertex, map) in program.maps.iter().enumerate() {
            let counted = loads(map, &configurations[vertex], ranks);
            // What is computed for all configurations at once is the same.
            let seconds = model.executions(vertex) as f64 * model.once(&counted);
            prop_assert_eq!(model.vertex_cost(vertex, strategy[vertex]), seconds, "{}", text);
            prop_assert_eq!(model.loads(vertex, strategy[vertex]), counted, "{}", text);
            let times = runs.iter().filter(|run| **run == vertex).count();
            prop_assert_eq!(model.executions(vertex), times as u64);
        }
        let counted = fetched(&program, runs, &configurations, ranks);
        prop_assert_eq!(predicted(&model, &strategy, ranks), counted, "{}\n{:?}", text, configurations);
    }

    /// For any data, no rank fetches more than predicted, and no map runs more often.
    #[test]
    fn what_data_decide_is_bounded_from_above(
        program in prop_oneof![program(), plain_program(), plain_program()],
        ranks in 1_u32..17,
        choice in prop::collection::vec(any::<prop::sample::Index>(), 5),
        answers in prop::collection::vec(any::<u32>(), 6),
    ) {
        let text = program.text();
        let model = model(&text, &[], ranks).expect("a model");
        let is_decided = program.text() == program.decided().text();
        prop_assert_eq!(model.approximations().is_empty(), is_decided);
        let strategy: Vec<usize> =
            (0..program.maps.len()).map(|v| choice[v].index(model.n_configurations(v))).collect();
        let configurations: Vec<Vec<u32>> =
            strategy.iter().enumerate().map(|(v, c)| model.configurations(v)[*c].clone()).collect();
        let predicted = predicted(&model, &strategy, ranks);
        for answers in answers {
            let mut left = answers;
            let runs = program.runs(|| {
                left = left.rotate_left(1);
                left & 1 == 1
            });
            for vertex in 0..program.maps.len() {
                let times = runs.iter().filter(|run| **run == vertex).count() as u64;
                prop_assert!(times <= model.executions(vertex), "{} of {}\n{}", times, vertex, text);
            }
            for (flow, counted) in fetched(&program, runs, &configurations, ranks) {
                let none = vec![0; ranks as usize];
                let predicted = predicted.get(&flow).unwrap_or(&none);
                let fits = counted.iter().zip(predicted).all(|(counted, predicted)| counted <= predicted);
                prop_assert!(fits, "{:?}: {:?} of {:?}, {:b}\n{}", flow, counted, predicted, answers, text);
            }
        }
    }
}
