//! The table that `sdfg strategy` prints.

use std::time::Duration;

use sdfg_transforms::strategy::{OperationStrategy, StrategyFile};

/// One line for each operation, then totals, what other strategies cost, and what was proved.
pub(super) fn text(file: &StrategyFile, searched: Duration) -> String {
    let heads = ["operation", "domain", "configuration", "compute", "communication"];
    let mut rows = vec![heads.map(str::to_owned)];
    for operation in &file.operations {
        let joined = |numbers: Vec<String>| numbers.join(" x ");
        rows.push([
            operation.name.clone(),
            joined(operation.domain.iter().map(ToString::to_string).collect()),
            joined(operation.configuration.iter().map(ToString::to_string).collect()),
            format!("{:.4e}", operation.compute),
            format!("{:.4e}", operation.communication),
        ]);
    }
    let mut text: String = lines(&rows).into_iter().map(|line| line + "\n").collect();
    let sum =
        |of: fn(&OperationStrategy) -> f64| file.operations.iter().map(of).fold(0.0, |sum, cost| sum + cost);
    text.push_str(&format!(
        "\ncost {} on {} processors: compute {}, communication {}\n",
        file.cost,
        file.procs,
        sum(|operation| operation.compute),
        sum(|operation| operation.communication)
    ));
    let baselines = [("serial", file.serial), ("data parallel (first dimension)", file.data_parallel)];
    for (name, cost) in baselines {
        text.push_str(&match cost {
            Some(cost) if file.cost > 0.0 => {
                format!("{name}: {cost}, {:.3} times as much\n", cost / file.cost)
            }
            Some(cost) => format!("{name}: {cost}\n"),
            None => format!("{name}: an operation has no such configuration\n"),
        });
    }
    text.push_str(&format!(
        "proved: no strategy costs less than {} ({} minima computed again)\nfound in {:.3} ms\n",
        file.certificate.bound,
        file.certificate.minima,
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
