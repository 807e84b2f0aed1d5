//! Mutation tests: the checker rejects every change of a result.

use super::*;
use crate::strategy::random::{self, Random};
use crate::strategy::{Options, Pruning, Solution, problem, search};

/// Something that is done to tables.
type Change<'c> = dyn Fn(&mut Vec<Table>) + 'c;

fn solved(problem: &dyn Problem) -> Solution {
    search(problem, &Options { n_threads: 1, pruning: Pruning::Never, ..Options::default() }, &())
        .expect("a small problem")
}

const ONE_THREAD: Limits = Limits { n_threads: 1, memory: 1 << 30 };

fn check(problem: &dyn Problem, solution: &Solution) -> Result<Checked, Rejected> {
    solution.certificate.check(problem, &solution.strategy, solution.cost, &ONE_THREAD)
}

#[track_caller]
fn rejected(problem: &dyn Problem, solution: &Solution, what: &str) {
    assert!(check(problem, solution).is_err(), "accepted in spite of {what}: {solution:?}");
}

#[test]
fn a_check_keeps_its_limit_of_memory_or_tells_what_it_needs() {
    let problem = random::band(12, 9, 2);
    let solution = solved(&problem);
    let check = |memory, n_threads| {
        let limits = Limits { n_threads, memory };
        solution.certificate.check(&problem, &solution.strategy, solution.cost, &limits)
    };
    let Err(Rejected::Memory { needed, limit: 1000, vertex }) = check(1000, 1) else {
        panic!("accepted with 1000 bytes");
    };
    // Two edges of 9 by 9 configurations, and whether each of 81 minima was seen.
    assert!(needed > 2 * 8 * 81 + 81, "{needed} for {vertex}");
    for n_threads in [1, 3] {
        assert_eq!(
            check(needed - 1, n_threads),
            check(1000, 1).map_err(|_| Rejected::Memory {
                needed,
                limit: needed - 1,
                vertex: vertex.clone(),
            })
        );
        assert!(check(needed, n_threads).is_ok());
    }
}

#[test]
fn every_changed_minimum_is_rejected() {
    for number in 0..random::n_cases(150) {
        let problem = random::problem(number, 5, 3);
        let solution = solved(&problem);
        for table in 0..solution.certificate.tables.len() {
            for entry in 0..solution.certificate.tables[table].minima.len() {
                let old = solution.certificate.tables[table].minima[entry];
                for new in [old + 1e-6 * old.max(1e-6), old - 1e-6 * old, f64::NAN, f64::INFINITY] {
                    if new == old {
                        continue;
                    }
                    let mut changed = solution.clone();
                    changed.certificate.tables[table].minima[entry] = new;
                    rejected(&problem, &changed, &format!("case {number}: {new} for {old}"));
                }
            }
        }
    }
}

#[test]
fn every_other_strategy_and_cost_is_rejected() {
    for number in 0..random::n_cases(150) {
        let problem = random::problem(number, 5, 3);
        let solution = solved(&problem);
        for vertex in 0..solution.strategy.len() {
            for configuration in 0..=problem.n_configurations(vertex) {
                let mut changed = solution.clone();
                changed.strategy[vertex] = configuration;
                if configuration == problem.n_configurations(vertex) {
                    rejected(&problem, &changed, "a configuration that is not there");
                    continue;
                }
                // With the cost that it has, and with the one that was proved.
                let cost = problem::cost(&problem, &changed.strategy);
                if (cost - solution.cost).abs() <= 1e-12 * solution.cost {
                    continue;
                }
                rejected(&problem, &changed, &format!("case {number}: a dearer strategy"));
                changed.cost = cost;
                rejected(&problem, &changed, &format!("case {number}: a dearer strategy and its cost"));
            }
        }
        let mut shorter = solution.clone();
        shorter.strategy.pop();
        rejected(&problem, &shorter, "a vertex without configuration");
        for cost in [solution.cost + 1e-6 * solution.cost.max(1.0), -1.0, f64::NAN] {
            let changed = Solution { cost, ..solution.clone() };
            rejected(&problem, &changed, &format!("case {number}: the cost {cost}"));
        }
    }
}

#[test]
fn tables_of_another_shape_or_order_are_rejected() {
    for number in 0..random::n_cases(300) {
        let problem = random::problem(number, 6, 3);
        let solution = solved(&problem);
        let mut random = Random::new(number);
        let n = solution.certificate.tables.len();
        let table = random.below(n);
        let changes: [&Change<'_>; 7] = [
            &|tables| drop(tables.remove(table)),
            &|tables| tables.push(tables[table].clone()),
            &|tables| tables[table].vertex = tables[(table + 1) % n].vertex + usize::from(n == 1),
            &|tables| {
                tables[table].minima.pop();
            },
            &|tables| tables[table].minima.push(0.0),
            &|tables| {
                // A dependent that is none.
                let mut dependents = tables[table].dependents.clone();
                dependents.push((tables[table].vertex, Layouts::distinct(1)));
                tables[table].dependents = dependents;
            },
            &|tables| match tables[table].dependents.pop() {
                // One dependent less, at the configuration that is best.
                Some((_, layouts)) => {
                    let minima = tables[table].minima.chunks(layouts.len());
                    let best = minima.map(|chunk| chunk.iter().copied().fold(f64::INFINITY, f64::min));
                    tables[table].minima = best.collect();
                }
                None => tables[table].minima.clear(),
            },
        ];
        for (index, change) in changes.into_iter().enumerate() {
            let mut changed = solution.clone();
            change(&mut changed.certificate.tables);
            rejected(&problem, &changed, &format!("case {number}, change {index}"));
        }
    }
}

#[test]
fn a_table_that_takes_different_configurations_for_the_same_is_rejected() {
    let mut n_rejected = 0;
    for number in 0..300 {
        let problem = random::problem(number, 6, 3);
        let solution = solved(&problem);
        for table in 0..solution.certificate.tables.len() {
            let mut changed = solution.clone();
            let old = &mut changed.certificate.tables[table];
            if let [(_, layouts)] = old.dependents.as_mut_slice()
                && layouts.len() > 1
                && old.minima.iter().any(|minimum| (minimum - old.minima[0]).abs() > 1e-9 * minimum)
            {
                *layouts = Layouts::by_key(vec![0; layouts.n_configurations()]);
                old.minima = vec![old.minima.iter().copied().fold(f64::INFINITY, f64::min)];
                rejected(&problem, &changed, "merged configurations");
                n_rejected += 1;
            }
        }
    }
    assert!(n_rejected > 100, "{n_rejected}");
}

#[test]
fn configurations_that_are_left_out_have_to_be_dominated() {
    let mut n_rejected = 0;
    for number in 0..300 {
        let problem = random::problem(number, 4, 4);
        let solution = solved(&problem);
        for vertex in 0..problem.n_vertices() {
            // What the best strategy needs is not dominated by anything that would cost more.
            let configuration = solution.strategy[vertex];
            for by in 0..problem.n_configurations(vertex) {
                let mut other = solution.strategy.clone();
                other[vertex] = by;
                if problem::cost(&problem, &other) <= solution.cost * (1.0 + 1e-9) {
                    continue;
                }
                let mut changed = solution.clone();
                changed.certificate.dominated.push(Dominated { vertex, configuration, by });
                let answer = check(&problem, &changed);
                assert!(matches!(answer, Err(Rejected::Dominance { .. })), "case {number}: {answer:?}");
                n_rejected += 1;
            }
        }
    }
    assert!(n_rejected > 100, "{n_rejected}");
}

#[test]
fn configurations_that_are_too_dear_have_to_be() {
    let (mut n_accepted, mut n_rejected) = (0, 0);
    for number in 0..random::n_cases(300) {
        let problem = random::problem(number, 5, 4);
        let options = Options { n_threads: 1, pruning: Pruning::Always, ..Options::default() };
        let solution = search(&problem, &options, &()).unwrap();
        check(&problem, &solution).unwrap();
        n_accepted += solution.certificate.too_dear.len();
        let vertices = 0..problem.n_vertices();
        let least = |v: usize| {
            (0..problem.n_configurations(v)).map(|c| problem.vertex_cost(v, c)).fold(f64::INFINITY, f64::min)
        };
        let floor: f64 = vertices.clone().map(least).sum();
        for vertex in vertices {
            for configuration in 0..problem.n_configurations(vertex) {
                let bound = floor - least(vertex) + problem.vertex_cost(vertex, configuration);
                let is_known = solution.certificate.too_dear.contains(&(vertex, configuration));
                if bound < solution.cost * (1.0 - 1e-9) || is_known {
                    let mut changed = solution.clone();
                    changed.certificate.too_dear.push((vertex, configuration));
                    let answer = check(&problem, &changed);
                    assert!(matches!(answer, Err(Rejected::TooDear { .. })), "case {number}: {answer:?}");
                    n_rejected += 1;
                }
            }
        }
        for (vertex, configuration) in [(problem.n_vertices(), 0), (0, problem.n_configurations(0))] {
            let mut changed = solution.clone();
            changed.certificate.too_dear.push((vertex, configuration));
            rejected(&problem, &changed, "something that is not there is too dear");
        }
        for index in 0..solution.certificate.too_dear.len() {
            let mut silent = solution.clone();
            let (vertex, _) = silent.certificate.too_dear.remove(index);
            let is_over = |table: &Table| table.dependents.iter().any(|(of, _)| *of == vertex);
            if silent.certificate.tables.iter().any(is_over) {
                rejected(&problem, &silent, &format!("case {number}: a configuration left out silently"));
            }
        }
    }
    assert!(n_accepted > 20 && n_rejected > 100, "{n_accepted} {n_rejected}");
}

#[test]
fn what_is_left_out_has_to_be_told_in_an_order_in_which_it_follows() {
    let mut n_rejected = 0;
    for number in 0..random::n_cases(200) {
        let problem = random::problem(number, 5, 4);
        let options = Options { n_threads: 1, pruning: Pruning::Always, ..Options::default() };
        let solution = search(&problem, &options, &()).unwrap();
        check(&problem, &solution).unwrap();
        for index in 0..solution.certificate.dominated.len() {
            let mut silent = solution.clone();
            let one = silent.certificate.dominated.remove(index);
            // Where no table depends on the vertex, the evidence is right without.
            let vertices = |table: &Table| table.dependents.iter().any(|(vertex, _)| *vertex == one.vertex);
            if silent.certificate.tables.iter().any(vertices) {
                rejected(&problem, &silent, &format!("case {number}: a configuration left out silently"));
            }
            let mut by_itself = solution.clone();
            by_itself.certificate.dominated[index].by = one.configuration;
            rejected(&problem, &by_itself, &format!("case {number}: a configuration that dominates itself"));
            let mut twice = solution.clone();
            twice.certificate.dominated.push(one);
            rejected(&problem, &twice, &format!("case {number}: a configuration left out twice"));
            let mut unknown = solution.clone();
            unknown.certificate.dominated[index].vertex = problem.n_vertices();
            rejected(&problem, &unknown, &format!("case {number}: a vertex that is not there"));
            n_rejected += 1;
        }
    }
    assert!(n_rejected > 100, "{n_rejected}");
}
