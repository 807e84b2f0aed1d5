//! The inner loops of the search: least sums over rows of numbers, written so that the compiler vectorises them.
//!
//! The minimum is taken in a fixed number of lanes, whatever the machine, so that results are the same everywhere.

/// Independent minima, enough to hide the latency of comparing.
const LANES: usize = 8;

/// The lesser number, without the care for NaN that would cost an instruction: there is none among costs.
fn lesser(a: f64, b: f64) -> f64 {
    if b < a { b } else { a }
}

/// The least element; infinite for none.
pub(super) fn least(row: &[f64]) -> f64 {
    row.iter().copied().fold(f64::INFINITY, lesser)
}

/// The least `a[i] + b[i]` of two rows of the same length.
pub(super) fn least_sum(a: &[f64], b: &[f64]) -> f64 {
    let (a_lanes, a_rest) = a.as_chunks::<LANES>();
    let (b_lanes, b_rest) = b.as_chunks::<LANES>();
    let mut least = [f64::INFINITY; LANES];
    for (a, b) in a_lanes.iter().zip(b_lanes) {
        for lane in 0..LANES {
            least[lane] = lesser(least[lane], a[lane] + b[lane]);
        }
    }
    let rest = a_rest.iter().zip(b_rest).fold(f64::INFINITY, |least, (a, b)| lesser(least, a + b));
    least.into_iter().fold(rest, lesser)
}

/// The least `a[i] + b[i]` of one row with each of four.
pub(super) fn least_sums_of_four(a: &[f64], rows: [&[f64]; 4]) -> [f64; 4] {
    const WIDTH: usize = 4;
    let (a_lanes, a_rest) = a.as_chunks::<WIDTH>();
    let lanes = rows.map(|row| row.as_chunks::<WIDTH>());
    let mut least = [[f64::INFINITY; WIDTH]; 4];
    let rows = lanes[0].0.iter().zip(lanes[1].0).zip(lanes[2].0.iter().zip(lanes[3].0));
    for (a, ((r0, r1), (r2, r3))) in a_lanes.iter().zip(rows) {
        for (least, row) in least.iter_mut().zip([r0, r1, r2, r3]) {
            for lane in 0..WIDTH {
                least[lane] = lesser(least[lane], a[lane] + row[lane]);
            }
        }
    }
    let mut result = least.map(|lanes| lanes.into_iter().fold(f64::INFINITY, lesser));
    for (result, (_, rest)) in result.iter_mut().zip(lanes) {
        *result = a_rest.iter().zip(rest).fold(*result, |least, (a, b)| lesser(least, a + b));
    }
    result
}

/// The least `a[i] + b[i] + c[i]` of three rows of the same length.
pub(super) fn least_sum_of_three(a: &[f64], b: &[f64], c: &[f64]) -> f64 {
    let (a_lanes, a_rest) = a.as_chunks::<LANES>();
    let (b_lanes, b_rest) = b.as_chunks::<LANES>();
    let (c_lanes, c_rest) = c.as_chunks::<LANES>();
    let mut least = [f64::INFINITY; LANES];
    for ((a, b), c) in a_lanes.iter().zip(b_lanes).zip(c_lanes) {
        for lane in 0..LANES {
            least[lane] = lesser(least[lane], a[lane] + b[lane] + c[lane]);
        }
    }
    let rest = a_rest.iter().zip(b_rest).zip(c_rest);
    let rest = rest.fold(f64::INFINITY, |least, ((a, b), c)| lesser(least, a + b + c));
    least.into_iter().fold(rest, lesser)
}

/// Lowers each element to `addend + row[i]` where that is less.
pub(super) fn lower(least: &mut [f64], addend: f64, row: &[f64]) {
    for (least, cost) in least.iter_mut().zip(row) {
        *least = lesser(*least, addend + cost);
    }
}

/// Adds a row to another.
pub(super) fn add(sum: &mut [f64], row: &[f64]) {
    for (sum, addend) in sum.iter_mut().zip(row) {
        *sum += addend;
    }
}
