//! Cost table of `sdfg info`: bytes and operations of the program, its states and scopes.

use std::collections::BTreeMap;

use sdfg::analysis::ScopeTree;
use sdfg::analysis::cost::{Cost, Costs, Quantity, Traffic};
use sdfg::ir::{NodeId, NodeKind, Sdfg, State, StateId};
use sdfg::symbolic::{Expr, Symbol};

/// Values that the user gave to symbols.
pub(super) type Values = BTreeMap<Symbol, i64>;

/// Rows of equal length, printed with columns as wide as their widest cell.
pub(super) struct Table {
    rows: Vec<[String; 5]>,
}

impl Table {
    /// The costs of one call of an SDFG, of one execution of each of its states, and of each scope and call in them.
    pub(super) fn of(sdfg: &Sdfg, costs: &Costs, values: &Values) -> Self {
        let head = ["costs", "bytes read", "bytes written", "operations", "operations/byte"];
        let mut table = Table { rows: vec![head.map(str::to_owned)] };
        table.add(format!("sdfg {}", sdfg.name), costs.of_program(), values);
        for (id, state) in sdfg.states() {
            table.add(format!("  state {}", state.label), &costs.of_state(id), values);
            table.add_scopes(id, state, costs, values);
        }
        table
    }

    fn add_scopes(&mut self, id: StateId, state: &State, costs: &Costs, values: &Values) {
        let tree = ScopeTree::of(state);
        let mut waiting: Vec<NodeId> = tree.children(None).iter().rev().copied().collect();
        while let Some(node) = waiting.pop() {
            let noun = match &state.node(node).kind {
                NodeKind::MapEntry(_) => "map",
                NodeKind::ConsumeEntry(_) => "consume scope",
                NodeKind::Nested(_) => "nested SDFG",
                NodeKind::Access(_)
                | NodeKind::Tasklet(_)
                | NodeKind::MapExit(_)
                | NodeKind::ConsumeExit(_)
                | NodeKind::Reduce(_)
                | NodeKind::Library(_) => continue,
            };
            let indent = 2 * tree.depth(node) + 4;
            let name = format!("{:indent$}{noun} {}", "", state.node(node).label);
            self.add(name, &costs.of_node(id, node), values);
            waiting.extend(tree.children(Some(node)).iter().rev());
        }
    }

    fn add(&mut self, name: String, cost: &Cost, values: &Values) {
        let work = cost.work.total();
        let intensity = intensity(cost, values);
        self.rows.push([
            name,
            shown(&cost.read, values),
            shown(&cost.written, values),
            shown(&work, values),
            intensity,
        ]);
    }

    /// The lines of the table.
    pub(super) fn lines(&self) -> Vec<String> {
        let width =
            |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: [usize; 5] = std::array::from_fn(width);
        let line = |row: &[String; 5]| {
            let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        self.rows.iter().map(line).collect()
    }
}

/// Lines about the bytes that move to, from and on a GPU; none if nothing does.
pub(super) fn traffic(sdfg: &Sdfg, values: &Values) -> Vec<String> {
    let traffic = Traffic::of(sdfg);
    if traffic.is_zero() {
        return Vec::new();
    }
    let line = |what: &str, part: &Quantity| format!("device: {what} {} bytes", shown(part, values));
    vec![
        line("copies to it move", &traffic.to_device),
        line("copies from it move", &traffic.from_device),
        line("copies in its memory move", &traffic.within_device),
        line("kernels read", &traffic.read),
        line("kernels write", &traffic.written),
    ]
}

/// A quantity with the given values put in.
pub(super) fn shown(quantity: &Quantity, values: &Values) -> String {
    let replacements = values.iter().map(|(symbol, value)| (symbol.clone(), Expr::int(*value))).collect();
    quantity.substitute(&replacements).to_string()
}

/// Operations for each byte: a number where both are known, a constant where they are multiples of each other.
fn intensity(cost: &Cost, values: &Values) -> String {
    let (work, bytes) = (cost.work.total(), cost.bytes());
    let about = if work.is_exact() && bytes.is_exact() { "" } else { "about " };
    if let Some(value) = cost.intensity(&|symbol| values.get(symbol).copied()) {
        return format!("{about}{value:.3}");
    }
    if work.unknown || bytes.unknown || bytes.known.is_zero() {
        return "-".to_owned();
    }
    match work.known.exact_div(&bytes.known) {
        Some(ratio) => format!("{about}{ratio}"),
        None => "-".to_owned(),
    }
}
