//! Inner loops of the search: minimum sums over rows of numbers, in a form that the compiler vectorises.
//!
//! Minima use a fixed number of lanes on every machine, so results are identical everywhere.

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

/// Elements of a long row whose least is known, so that they can be passed over together.
pub(super) const BLOCK: usize = 64;

/// The least element of each block of each of several rows of `n` elements.
pub(super) fn block_minima(rows: &[f64], n: usize) -> Vec<f64> {
    rows.chunks_exact(n).flat_map(|row| row.chunks(BLOCK).map(least)).collect()
}

/// The least sum of several rows, and where it was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) least: f64,
    /// The block that has it.
    pub(super) block: usize,
    /// Number of skipped blocks.
    pub(super) n_passed: usize,
}

/// The least sum of several long rows of the same length `n`, each with the least element of each of its blocks: blocks whose least
/// elements alone add up to no less than what was found are passed over. The search begins in one of the blocks.
pub(super) fn least_sum_in_blocks(rows: &[(&[f64], &[f64])], n: usize, begin: usize) -> Found {
    let n_blocks = n.div_ceil(BLOCK);
    let mut found = Found { least: f64::INFINITY, block: begin, n_passed: 0 };
    for block in std::iter::once(begin).chain((0..n_blocks).filter(|block| *block != begin)) {
        // Rounding keeps the order of sums, so this is no more than any sum in the block.
        let bound = rows.iter().fold(0.0, |sum, (_, minima)| sum + minima[block]);
        if bound >= found.least {
            found.n_passed += 1;
            continue;
        }
        let range = block * BLOCK..n.min((block + 1) * BLOCK);
        let part = |row: usize| &rows[row].0[range.clone()];
        let least = match rows.len() {
            2 => least_sum(part(0), part(1)),
            3 => least_sum_of_three(part(0), part(1), part(2)),
            _ => {
                let mut sums = [0.0; BLOCK];
                let sums = &mut sums[..range.len()];
                (0..rows.len()).for_each(|row| add(sums, part(row)));
                least_in_lanes(sums)
            }
        };
        if least < found.least {
            (found.least, found.block) = (least, block);
        }
    }
    found
}

/// The least element, found in lanes.
fn least_in_lanes(row: &[f64]) -> f64 {
    let (lanes, rest) = row.as_chunks::<LANES>();
    let mut least = [f64::INFINITY; LANES];
    for chunk in lanes {
        for lane in 0..LANES {
            least[lane] = lesser(least[lane], chunk[lane]);
        }
    }
    least.into_iter().fold(rest.iter().copied().fold(f64::INFINITY, lesser), lesser)
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn blocks_that_are_passed_over_have_nothing_less(
            n in 1_usize..300,
            seed in prop::collection::vec(0_u16..900, 900),
            begin in any::<prop::sample::Index>(),
        ) {
            // Most blocks of the first row are much dearer than others.
            let row = |of: usize| -> Vec<f64> {
                let far = |i: usize| if of == 0 { f64::from(seed[i / BLOCK] % 7) * 500.0 } else { 0.0 };
                (0..n).map(|i| far(i) + f64::from(seed[of * n + i]) / 7.0).collect()
            };
            let rows = [row(0), row(1), row(2)];
            let minima = rows.each_ref().map(|row| block_minima(row, n));
            let all = (0..n).map(|i| rows[0][i] + rows[1][i] + rows[2][i]);
            let expected = all.fold(f64::INFINITY, f64::min);
            let pairs: Vec<_> =
                rows.iter().zip(&minima).map(|(row, minima)| (row.as_slice(), minima.as_slice())).collect();
            let begin = begin.index(n.div_ceil(BLOCK));
            let Found { least, block, .. } = least_sum_in_blocks(&pairs, n, begin);
            prop_assert_eq!(least, expected);
            let has_it = |i: usize| rows[0][i] + rows[1][i] + rows[2][i] == expected;
            prop_assert!((block * BLOCK..n.min((block + 1) * BLOCK)).any(has_it));
            // So it is of two rows, and of four.
            let two = (0..n).map(|i| rows[0][i] + rows[2][i]).fold(f64::INFINITY, f64::min);
            prop_assert_eq!(least_sum_in_blocks(&[pairs[0], pairs[2]], n, begin).least, two);
            let four = (0..n).map(|i| rows[0][i] + rows[1][i] + rows[2][i] + rows[1][i]).fold(f64::INFINITY, f64::min);
            let rows = [pairs[0], pairs[1], pairs[2], pairs[1]];
            prop_assert_eq!(least_sum_in_blocks(&rows, n, begin).least, four);
        }
    }
}
