//! Positions: each row moves, in turn, as close to its neighbours as its order and the widths permit.

use super::Point;
use super::layers::Layered;
use super::order::neighbours;

/// Room between places of one row.
const GAP: f64 = 22.0;
/// Room between two rows.
const ROW_GAP: f64 = 16.0;
/// Sweeps down and up.
const SWEEPS: usize = 16;

/// The middle of each place; the smallest coordinate of a border is 0.
pub(super) fn place(graph: &Layered, rows: &[Vec<usize>]) -> Vec<Point> {
    let mut x = vec![0.0; graph.sizes.len()];
    for row in rows {
        settle(graph, row, &mut x, &|_| (0.0, 1.0));
    }
    let (above, below) = neighbours(graph);
    for sweep in 0..SWEEPS {
        // The last sweeps look both ways, which evens the result out.
        let both = sweep + 4 >= SWEEPS;
        for step in 0..rows.len() {
            let row = if sweep % 2 == 0 { step } else { rows.len() - 1 - step };
            let wished = |place: usize, x: &[f64]| {
                let mut seen: Vec<usize> = Vec::new();
                if both || sweep % 2 == 0 {
                    seen.extend(&above[place]);
                }
                if both || sweep % 2 == 1 {
                    seen.extend(&below[place]);
                }
                if seen.is_empty() {
                    return (x[place], 0.01);
                }
                let weight = seen.iter().map(|n| pull(graph, place, *n)).sum::<f64>();
                let middle = seen.iter().map(|n| x[*n] * pull(graph, place, *n)).sum::<f64>() / weight;
                (middle, weight)
            };
            let before = x.clone();
            settle(graph, &rows[row], &mut x, &|place| wished(place, &before));
        }
    }
    let left = (0..x.len()).map(|k| x[k] - graph.sizes[k].width / 2.0).fold(f64::INFINITY, f64::min);
    let mut y = vec![0.0; x.len()];
    let mut top = 0.0;
    for row in rows {
        let height = row.iter().map(|place| graph.sizes[*place].height).fold(0.0, f64::max);
        row.iter().for_each(|place| y[*place] = top + height / 2.0);
        top += height + ROW_GAP;
    }
    x.iter().zip(y).map(|(x, y)| Point { x: x - left, y }).collect()
}

/// Weight of aligning two neighbours vertically: links across many rows are straight.
fn pull(graph: &Layered, a: usize, b: usize) -> f64 {
    match usize::from(graph.is_passage(a)) + usize::from(graph.is_passage(b)) {
        0 => 1.0,
        1 => 2.0,
        _ => 8.0,
    }
}

/// Moves the places of a row to their wished positions, each wish with its weight, without changing their order.
///
/// This is the least-squares problem under a chain of minimum distances; pooling adjacent violators solves it exactly.
fn settle(graph: &Layered, row: &[usize], x: &mut [f64], wish: &dyn Fn(usize) -> (f64, f64)) {
    // Each block: weighted sum of wishes less offsets, weight, number of places.
    let mut blocks: Vec<(f64, f64, usize)> = Vec::new();
    let mut offsets = Vec::with_capacity(row.len());
    let mut offset = 0.0;
    for (index, place) in row.iter().enumerate() {
        if index > 0 {
            let widths = graph.sizes[row[index - 1]].width + graph.sizes[*place].width;
            offset += widths / 2.0 + GAP;
        }
        offsets.push(offset);
        let (wanted, weight) = wish(*place);
        blocks.push(((wanted - offset) * weight, weight, 1));
        while let [.., a, b] = blocks.as_slice()
            && a.0 / a.1 > b.0 / b.1
        {
            let merged = (a.0 + b.0, a.1 + b.1, a.2 + b.2);
            blocks.truncate(blocks.len() - 2);
            blocks.push(merged);
        }
    }
    let mut places = row.iter().zip(offsets);
    for (sum, weight, count) in blocks {
        for (place, offset) in places.by_ref().take(count) {
            x[*place] = sum / weight + offset;
        }
    }
}
