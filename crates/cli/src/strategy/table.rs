//! The table that `sdfg strategy` prints.

use std::time::Duration;

use sdfg_transforms::strategy::{Checked, Solution, Tabulated};

use super::{baselines, shares};

/// One line for each operation, then totals, what other strategies cost, and what was proved.
pub(super) fn text(
    problem: &Tabulated,
    solution: &Solution,
    checked: &Checked,
    searched: Duration,
) -> String {
    let heads = ["operation", "domain", "configuration", "compute", "communication"];
    let mut rows = vec![heads.map(str::to_owned)];
    let shares = shares(problem, &solution.strategy);
    for ((operation, chosen), (compute, communication)) in
        problem.operations().iter().zip(&solution.strategy).zip(&shares)
    {
        let joined = |numbers: Vec<String>| numbers.join(" x ");
        rows.push([
            operation.name.clone(),
            joined(operation.domain.iter().map(ToString::to_string).collect()),
            joined(operation.configurations[*chosen].iter().map(ToString::to_string).collect()),
            format!("{compute:.4e}"),
            format!("{communication:.4e}"),
        ]);
    }
    let mut text: String = lines(&rows).into_iter().map(|line| line + "\n").collect();
    let sum = |of: fn(&(f64, f64)) -> f64| shares.iter().map(of).sum::<f64>();
    text.push_str(&format!(
        "\ncost {} on {} processors: compute {}, communication {}\n",
        solution.cost,
        problem.n_processors(),
        sum(|share| share.0),
        sum(|share| share.1)
    ));
    for (name, cost) in ["serial", "data parallel (first dimension)"].into_iter().zip(baselines(problem)) {
        text.push_str(&match cost {
            Some(cost) if solution.cost > 0.0 => {
                format!("{name}: {cost}, {:.3} times as much\n", cost / solution.cost)
            }
            Some(cost) => format!("{name}: {cost}\n"),
            None => format!("{name}: an operation has no such configuration\n"),
        });
    }
    text.push_str(&format!(
        "proved: no strategy costs less than {} ({} minima computed again)\nfound in {:.3} ms\n",
        checked.bound,
        checked.n_minima,
        searched.as_secs_f64() * 1e3
    ));
    text
}

/// Rows with columns as wide as their widest cell; numbers stand to the right.
fn lines(rows: &[[String; 5]]) -> Vec<String> {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 5] = std::array::from_fn(width);
    let line = |row: &[String; 5]| {
        let cells = row.iter().zip(widths).enumerate().map(|(column, (cell, width))| {
            if column < 3 { format!("{cell:width$}") } else { format!("{cell:>width$}") }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}
