//! Order of points within their layers: barycentre sweeps, of which the one with the fewest crossings wins.

use super::layers::Layered;

/// Sweeps down and up.
const SWEEPS: usize = 12;

/// The places of each layer from left to right.
pub(super) fn order(graph: &Layered) -> Vec<Vec<usize>> {
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); graph.depth];
    for (place, layer) in graph.layer.iter().enumerate() {
        rows[*layer].push(place);
    }
    let (above, below) = neighbours(graph);
    let mut best = rows.clone();
    let mut fewest = crossings(graph, &rows);
    for sweep in 0..SWEEPS {
        if fewest == 0 {
            break;
        }
        if sweep % 2 == 0 {
            (1..rows.len()).for_each(|row| sort_row(&mut rows, row, row - 1, &above));
        } else {
            (0..rows.len().saturating_sub(1)).rev().for_each(|row| sort_row(&mut rows, row, row + 1, &below));
        }
        let found = crossings(graph, &rows);
        if found < fewest {
            (best, fewest) = (rows.clone(), found);
        }
    }
    best
}

/// Places above and below each place.
pub(super) fn neighbours(graph: &Layered) -> (Vec<Vec<usize>>, Vec<Vec<usize>>) {
    let mut above = vec![Vec::new(); graph.sizes.len()];
    let mut below = vec![Vec::new(); graph.sizes.len()];
    for (top, bottom) in &graph.pieces {
        below[*top].push(*bottom);
        above[*bottom].push(*top);
    }
    (above, below)
}

/// Sorts one row by the middle of the neighbours in another one. Places without neighbours there keep their position.
fn sort_row(rows: &mut [Vec<usize>], row: usize, fixed: usize, neighbours: &[Vec<usize>]) {
    let mut position = std::collections::BTreeMap::new();
    for (index, place) in rows[fixed].iter().enumerate() {
        position.insert(*place, index as f64);
    }
    let middle = |(index, place): (usize, &usize)| {
        let found: Vec<f64> = neighbours[*place].iter().filter_map(|n| position.get(n).copied()).collect();
        if found.is_empty() { index as f64 } else { found.iter().sum::<f64>() / found.len() as f64 }
    };
    let mut keyed: Vec<(f64, usize)> =
        rows[row].iter().enumerate().map(|entry| (middle(entry), *entry.1)).collect();
    keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
    rows[row] = keyed.into_iter().map(|(_, place)| place).collect();
}

/// Number of pairs of pieces that cross.
fn crossings(graph: &Layered, rows: &[Vec<usize>]) -> usize {
    let mut index = vec![0usize; graph.sizes.len()];
    for row in rows {
        for (position, place) in row.iter().enumerate() {
            index[*place] = position;
        }
    }
    let mut between: Vec<Vec<(usize, usize)>> = vec![Vec::new(); rows.len()];
    for (top, bottom) in &graph.pieces {
        between[graph.layer[*top]].push((index[*top], index[*bottom]));
    }
    let count = |pieces: &Vec<(usize, usize)>| {
        let pairs = pieces.iter().enumerate().flat_map(|(k, a)| pieces[..k].iter().map(move |b| (a, b)));
        pairs.filter(|(a, b)| (a.0 < b.0 && a.1 > b.1) || (a.0 > b.0 && a.1 < b.1)).count()
    };
    between.iter().map(count).sum()
}
