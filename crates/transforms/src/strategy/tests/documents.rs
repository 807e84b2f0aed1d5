//! Literal implementations of the strategy-search documents: for each error that changes results, an example
//! that the document gets wrong, as listed in `docs/strategy.md`. Sub-strategies are partial maps, and speed
//! does not matter.

use super::super::problem;
use super::*;

/// A partial strategy with its cost.
type Row = (Vec<Option<usize>>, f64);

/// A problem with two configurations of each vertex: costs of vertices, and edges with their four costs.
fn binary(vertices: &[[f64; 2]], edges: &[(usize, usize, [f64; 4])]) -> Tabulated {
    let operation = |(index, costs): (usize, &[f64; 2])| Operation {
        name: format!("v{}", index + 1),
        kind: "Test".to_owned(),
        domain: vec![2],
        configurations: vec![vec![1], vec![2]],
        costs: costs.to_vec(),
    };
    let edges = edges.iter().map(|(source, target, costs)| {
        (
            Edge { source: *source, target: *target },
            Costs::from_rows(&[costs[..2].to_vec(), costs[2..].to_vec()]),
        )
    });
    Tabulated::new(2, vertices.iter().enumerate().map(operation).collect(), edges.collect()).unwrap()
}

fn optimum(problem: &Tabulated) -> f64 {
    search(problem, &Options { algorithm: Algorithm::Exhaustive, ..small() }, &()).unwrap().cost
}

/// Lines of document 2 that are implemented literally.
#[derive(Clone, Copy, Default)]
struct Literal {
    /// Algorithm 3, line 14: a table is added once for each processed neighbour that shares it.
    adds_shared_tables_again: bool,
    /// Algorithm 1, line 20: minimises over all but the unprocessed *neighbours*.
    forgets_fill_in: bool,
    /// Algorithm 1, lines 16 and 24: tables of unprocessed vertices are joined and replaced, too.
    replaces_unprocessed: bool,
    /// Algorithm 3, line 15: any entry that agrees on the processed neighbours.
    matches_processed_only: bool,
    /// Algorithm 1, line 28: the table of the last vertex is the result.
    returns_last_table: bool,
}

fn agree(a: &[Option<usize>], b: &[Option<usize>]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.is_none() || b.is_none() || a == b)
}

fn joined(a: &[Option<usize>], b: &[Option<usize>]) -> Vec<Option<usize>> {
    a.iter().zip(b).map(|(a, b)| a.or(*b)).collect()
}

fn neighbours(problem: &Tabulated, vertex: usize) -> Vec<usize> {
    let across = |edge: &Edge| match (edge.source == vertex, edge.target == vertex) {
        (true, false) => Some(edge.target),
        (false, true) => Some(edge.source),
        (true, true) | (false, false) => None,
    };
    let mut all: Vec<usize> = problem.edges().iter().filter_map(across).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Document 2, algorithm 1, in the given order. The strategy; vertices that it says nothing about take configuration 0.
fn document_2(problem: &Tabulated, order: &[usize], literal: Literal) -> Vec<usize> {
    let n = problem.n_vertices();
    let only = |vertex: usize, c: usize| (0..n).map(|v| (v == vertex).then_some(c)).collect::<Vec<_>>();
    // Tables by number; vertices share them.
    let mut tables: Vec<Vec<Row>> = (0..n).map(|v| vec![(only(v, 0), 0.0), (only(v, 1), 0.0)]).collect();
    let mut table_of: Vec<usize> = (0..n).collect();
    let mut processed = vec![false; n];
    let mut roots = Vec::new();
    for &vertex in order {
        let around = neighbours(problem, vertex);
        let mut rows: Vec<Vec<Option<usize>>> =
            tables[table_of[vertex]].iter().map(|row| row.0.clone()).collect();
        if !literal.replaces_unprocessed {
            rows = vec![only(vertex, 0), only(vertex, 1)];
        }
        for &other in &around {
            let of_other: Vec<Vec<Option<usize>>> = if processed[other] || literal.replaces_unprocessed {
                tables[table_of[other]].iter().map(|row| row.0.clone()).collect()
            } else {
                vec![only(other, 0), only(other, 1)]
            };
            let pairs = rows.iter().flat_map(|a| of_other.iter().map(move |b| (a, b)));
            rows = pairs.filter(|(a, b)| agree(a, b)).map(|(a, b)| joined(a, b)).collect();
        }
        let costs: Vec<Row> = rows
            .into_iter()
            .map(|row| {
                (
                    row.clone(),
                    row_cost(problem, vertex, &around, &row, &tables, &table_of, &processed, literal),
                )
            })
            .collect();
        processed[vertex] = true;
        // Partition by what the minimum may not decide.
        let kept = |v: usize| !processed[v] && (!literal.forgets_fill_in || around.contains(&v));
        let key = |row: &Row| (0..n).map(|v| if kept(v) { row.0[v] } else { None }).collect::<Vec<_>>();
        let mut least: Vec<Row> = Vec::new();
        for row in costs {
            match least.iter_mut().find(|other| key(other) == key(&row)) {
                Some(other) if row.1 < other.1 => *other = row,
                Some(_) => {}
                None => least.push(row),
            }
        }
        let members: Vec<usize> = (0..n).filter(|v| least[0].0[*v].is_some()).collect();
        if members.iter().all(|v| processed[*v]) {
            roots.push(tables.len());
        }
        tables.push(least);
        for v in members {
            if processed[v] || literal.replaces_unprocessed {
                table_of[v] = tables.len() - 1;
            }
        }
    }
    let last = [tables.len() - 1];
    let results = if literal.returns_last_table { &last[..] } else { roots.as_slice() };
    let all = results.iter().fold(vec![None; n], |all, table| joined(&all, &tables[*table][0].0));
    all.into_iter().map(|c| c.unwrap_or(0)).collect()
}

/// Algorithm 3 for one sub-strategy.
#[expect(clippy::too_many_arguments, reason = "it is the state of the document's algorithm, in its order")]
fn row_cost(
    problem: &Tabulated,
    vertex: usize,
    around: &[usize],
    row: &[Option<usize>],
    tables: &[Vec<Row>],
    table_of: &[usize],
    processed: &[bool],
    literal: Literal,
) -> f64 {
    let mut cost = problem.vertex_cost(vertex, row[vertex].unwrap());
    let all: Vec<usize> = row.iter().map(|c| c.unwrap_or(0)).collect();
    for (index, edge) in problem.edges().iter().enumerate() {
        let ends = [edge.source, edge.target];
        if ends.contains(&vertex) && ends.iter().all(|end| *end == vertex || !processed[*end]) {
            cost += edge_cost(problem, index, &all);
        }
    }
    let mut added = Vec::new();
    for other in around.iter().copied().filter(|other| processed[*other]) {
        if added.contains(&table_of[other]) && !literal.adds_shared_tables_again {
            continue;
        }
        added.push(table_of[other]);
        let known: Vec<Option<usize>> = if literal.matches_processed_only {
            (0..row.len()).map(|v| if around.contains(&v) && processed[v] { row[v] } else { None }).collect()
        } else {
            row.to_vec()
        };
        cost += tables[table_of[other]].iter().find(|entry| agree(&entry.0, &known)).unwrap().1;
    }
    cost
}

/// The corrected document finds the optimum, the literal one something dearer.
#[track_caller]
fn slips(problem: &Tabulated, order: &[usize], literal: Literal, expected: (f64, f64)) {
    let cost = |literal| problem::cost(problem, &document_2(problem, order, literal));
    assert_eq!((cost(Literal::default()), cost(literal)), expected);
    assert_eq!(optimum(problem), expected.0);
}

#[test]
fn a_shared_table_is_added_once_for_each_processed_neighbour() {
    let edges = [(0, 1, [0.0; 4]), (0, 2, [2.0, 0.0, 2.0, 0.0]), (1, 2, [0.0; 4])];
    let triangle = binary(&[[0.0; 2], [0.0; 2], [0.0, 3.0]], &edges);
    let literal = Literal { adds_shared_tables_again: true, ..Literal::default() };
    slips(&triangle, &[0, 1, 2], literal, (2.0, 3.0));
}

#[test]
fn a_minimum_over_vertices_that_are_joined_by_fill_in_is_taken_too_early() {
    let edges = [(0, 1, [0.0; 4]), (1, 2, [0.0; 4]), (2, 3, [0.0; 4]), (3, 0, [0.0, 0.0, 1.0, 1.0])];
    let cycle = binary(&[[0.0; 2], [0.0; 2], [0.0; 2], [10.0, 0.0]], &edges);
    let literal = Literal { forgets_fill_in: true, ..Literal::default() };
    slips(&cycle, &[0, 1, 2, 3], literal, (1.0, 10.0));
}

#[test]
fn tables_of_unprocessed_vertices_are_replaced_and_their_costs_lost() {
    let path = binary(&[[0.0; 2], [0.0, 3.0], [0.0; 2]], &[(0, 1, [5.0, 0.0, 5.0, 0.0]), (1, 2, [0.0; 4])]);
    let literal = Literal { replaces_unprocessed: true, ..Literal::default() };
    slips(&path, &[0, 2, 1], literal, (3.0, 5.0));
}

#[test]
fn an_entry_that_agrees_on_processed_neighbours_is_not_the_only_one() {
    let edges = [(0, 1, [0.0, 5.0, 0.0, 5.0]), (0, 2, [0.0; 4]), (1, 2, [0.0; 4])];
    let triangle = binary(&[[0.0; 2], [1.0, 0.0], [0.0; 2]], &edges);
    let literal = Literal { matches_processed_only: true, ..Literal::default() };
    slips(&triangle, &[0, 1, 2], literal, (1.0, 5.0));
}

#[test]
fn the_last_table_is_about_its_own_component() {
    let apart = binary(&[[7.0, 1.0], [7.0, 2.0]], &[]);
    let literal = Literal { returns_last_table: true, ..Literal::default() };
    slips(&apart, &[0, 1], literal, (3.0, 9.0));
}

/// Document 2, section 1: the costs of a vertex that two of the later ones are joined to are in the sum for each of them.
#[test]
fn the_recurrence_adds_a_vertex_once_for_each_later_neighbour() {
    let edges = [(0, 1, [0.0; 4]), (0, 2, [2.0, 0.0, 2.0, 0.0]), (1, 2, [0.0; 4])];
    let triangle = binary(&[[0.0; 2], [0.0; 2], [0.0, 3.0]], &edges);
    // min_cost(v3, {}) adds min_cost(v1, ..) and min_cost(v2, ..), and the latter adds min_cost(v1, ..) again.
    let first = |c: usize| if c == 0 { 2.0 } else { 0.0 };
    let second = first;
    let literal = |c: usize| problem_cost(&triangle, c) + first(c) + second(c);
    assert!(literal(0) > literal(1), "it chooses configuration 1 of v3, at cost 3");
    assert_eq!(optimum(&triangle), 2.0);
}

fn problem_cost(problem: &Tabulated, configuration: usize) -> f64 {
    problem.vertex_cost(2, configuration)
}

/// SortNodes says on how many vertices each one depends when its turn comes. On a cycle of four the second one depends on two:
/// its other neighbour, and the one that eliminating the first joined it to.
#[test]
fn sort_nodes_forgets_the_fill_in() {
    let cycle =
        binary(&[[0.0; 2]; 4], &[(0, 1, [0.0; 4]), (1, 2, [0.0; 4]), (2, 3, [0.0; 4]), (3, 0, [0.0; 4])]);
    let options = Options { order: OrderRule::Greedy(Greedy::SortNodes), ..small() };
    let order: Vec<usize> = order(&EliminationGraph::of(&cycle), options.order).unwrap();
    let unprocessed = |place: usize| {
        neighbours(&cycle, order[place]).into_iter().filter(|v| !order[..place].contains(v)).count()
    };
    assert_eq!((unprocessed(0), unprocessed(1)), (2, 1));
    assert_eq!(order[..2], [0, 1]);
    let path_back = neighbours(&cycle, order[0]).into_iter().filter(|v| *v != order[1]);
    assert_eq!(path_back.collect::<Vec<_>>(), [3], "which v2 depends on as soon as v1 is out");
}

/// Documents 1 and 3, algorithm 1: the best configuration of a vertex for its neighbours' ones, ties being open.
type Best = fn(usize, usize) -> usize;

/// Whether a cycle of four with these choices among equals has a strategy that is in every table.
fn some_strategy_is_left(best: [Best; 4]) -> bool {
    (0..16).any(|bits: usize| {
        let c = |v: usize| bits >> (v % 4) & 1;
        (0..4).all(|v| c(v) == best[v](c(v + 3), c(v + 1)))
    })
}

/// All strategies of a cycle of four cost nothing. If each vertex takes, of its two equal configurations, the one that these
/// formulas say, no strategy is in all tables: the strategy of each table is contradicted by another one. Restricting tables
/// helps nothing: every pair of configurations that two tables share is in both.
#[test]
fn ties_may_remove_every_optimum() {
    let contradicting: [Best; 4] =
        [|d, b| d ^ b, |a, c| a ^ c, |b, d| b ^ d, |c, a| usize::from(c == 0 && a == 0)];
    assert!(!some_strategy_is_left(contradicting));
    for (v, of) in contradicting.iter().enumerate() {
        for shared in 0..4 {
            let (own, before) = (shared & 1, shared >> 1);
            // The tables of a vertex and of its neighbours have the vertex and the neighbour in common.
            let with_next = (0..2).any(|other| of(other, before) == own);
            let with_previous = (0..2).any(|other| of(before, other) == own);
            assert!(v == 3 || (with_next && with_previous), "tables before the last one restrict nothing");
        }
    }
    // The first configuration of equal ones is the same for all: it stays.
    assert!(some_strategy_is_left([|_, _| 0; 4]));
    let cycle =
        binary(&[[0.0; 2]; 4], &[(0, 1, [0.0; 4]), (1, 2, [0.0; 4]), (2, 3, [0.0; 4]), (3, 0, [0.0; 4])]);
    let pruning = Options { algorithm: Algorithm::TablePruning, ..small() };
    assert_eq!(search(&cycle, &pruning, &()).unwrap().strategy, [0; 4]);
}

/// Edges are a set in the documents, so that of several tensors between two operations one counts.
#[test]
fn parallel_edges_all_count() {
    let edges = [(0, 1, [0.0, 1.0, 1.0, 1.0]), (0, 1, [9.0, 0.0, 0.0, 0.0])];
    let problem = binary(&[[0.0; 2]; 2], &edges);
    let first_only = binary(&[[0.0; 2]; 2], &edges[..1]);
    let strategy = search(&first_only, &small(), &()).unwrap().strategy;
    assert_eq!((problem::cost(&problem, &strategy), optimum(&problem)), (9.0, 1.0));
}
