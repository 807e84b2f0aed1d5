//! A picture of a strategy: the graph in Graphviz's language, coloured by configuration.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::problem::{Problem, edge_cost};
use super::tabulated::Tabulated;

/// Graphviz source: vertices with the same configuration have the same colour, edges that cost something are labelled with
/// it. The strategy has a configuration for each vertex.
pub fn dot(problem: &Tabulated, strategy: &[usize]) -> String {
    let chosen = |vertex: usize| problem.operations()[vertex].configurations[strategy[vertex]].as_slice();
    let mut hues: BTreeMap<&[u32], usize> = BTreeMap::new();
    for vertex in 0..problem.n_vertices() {
        let next = hues.len();
        hues.entry(chosen(vertex)).or_insert(next);
    }
    let mut text = format!("digraph \"{}\" {{\n", escaped(&problem.model));
    text.push_str("  node [shape=box, style=\"filled,rounded\", fontname=\"monospace\"];\n");
    text.push_str("  edge [fontname=\"monospace\", fontsize=10];\n");
    for (vertex, operation) in problem.operations().iter().enumerate() {
        let parts = chosen(vertex);
        // Steps of the golden ratio keep hues apart, however many there are. What is not cut is white.
        let hue = (hues[parts] as f64 * 0.618_033_988_75).fract();
        let saturation = if parts.iter().all(|part| *part == 1) { 0.0 } else { 0.35 };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "  v{vertex} [label=\"{}\\n{} {:?}\\n{parts:?}\", fillcolor=\"{hue:.3} {saturation:.2} 1.000\"];",
            escaped(&operation.name),
            escaped(&operation.kind),
            operation.domain,
        );
    }
    for (index, edge) in problem.edges().iter().enumerate() {
        let cost = edge_cost(problem, index, strategy);
        let label = if cost > 0.0 { format!(" [label=\"{cost:.2e}\", penwidth=2]") } else { String::new() };
        let _ = writeln!(text, "  v{} -> v{}{label};", edge.source, edge.target);
    }
    text.push_str("}\n");
    text
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::{Costs, Edge, Operation};

    #[test]
    fn equal_configurations_have_equal_colours_and_names_are_quoted() {
        let operation = |name: &str| Operation {
            name: name.to_owned(),
            kind: "FC".to_owned(),
            domain: vec![4],
            configurations: vec![vec![1], vec![2]],
            costs: vec![0.0, 0.0],
        };
        let operations = vec![operation("a"), operation("b\"q"), operation("c")];
        let costs = || Costs::from_rows(&[vec![0.0, 5.0], vec![0.0, 0.0]]);
        let edges = vec![(Edge { source: 0, target: 1 }, costs()), (Edge { source: 1, target: 2 }, costs())];
        let problem = Tabulated::new(2, operations, edges).unwrap();
        let text = dot(&problem, &[0, 1, 1]);
        assert!(text.contains("v0 [label=\"a\\nFC [4]\\n[1]\", fillcolor=\"0.000 0.00 1.000\"]"), "{text}");
        assert_eq!(text.matches("0.618 0.35").count(), 2, "{text}");
        assert!(text.contains("b\\\"q") && text.contains("v0 -> v1 [label=\"5.00e0\""), "{text}");
        assert!(text.contains("v1 -> v2;"), "{text}");
    }
}
