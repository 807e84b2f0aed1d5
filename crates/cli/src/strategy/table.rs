//! The table that `sdfg strategy` prints.

use std::time::Duration;

use sdfg_transforms::strategy::{OperationStrategy, StrategyFile};

/// One line for each operation, then totals, what other strategies cost, and what was proved.
pub(super) fn text(file: &StrategyFile, searched: Duration) -> String {
    let heads = ["operation", "domain", "configuration", "compute", "communication"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    for operation in &file.operations {
        let joined = |numbers: Vec<String>| numbers.join(" x ");
        rows.push(vec![
            operation.name.clone(),
            joined(operation.domain.iter().map(ToString::to_string).collect()),
            joined(operation.configuration.iter().map(ToString::to_string).collect()),
            format!("{:.4e}", operation.compute),
            format!("{:.4e}", operation.communication),
        ]);
    }
    let mut text = lines(&rows, 3);
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
    if let Some(proof) = &file.certificate {
        text.push_str(&format!(
            "proved: no strategy costs less than {} ({} minima computed again)\n",
            proof.bound, proof.minima
        ));
    }
    text.push_str(&format!("found in {:.3} ms\n", searched.as_secs_f64() * 1e3));
    text
}

/// Lines of rows with columns as wide as their widest cell: the first `n_texts` columns stand to the left, numbers to the right.
pub(super) fn lines(rows: &[Vec<String>], n_texts: usize) -> String {
    let n_columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..n_columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            if column < n_texts { format!("{cell:width$}") } else { format!("{cell:>width$}") }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}
