//! Pictures of a strategy: the graph coloured by configuration, in Graphviz's language or as SVG.

use std::collections::BTreeMap;
use std::fmt::Write;

use sdfg::picture::svg::{GraphLink, GraphNode, graph};

use super::problem::{Operations, edge_cost};

/// Graphviz source: vertices with the same configuration have the same colour, edges that cost something are labelled with
/// it. The strategy has a configuration for each vertex.
pub fn dot(problem: &dyn Operations, strategy: &[usize]) -> String {
    let colours = colours(problem, strategy);
    let mut text = format!("digraph \"{}\" {{\n", escaped(problem.model()));
    text.push_str("  node [shape=box, style=\"filled,rounded\", fontname=\"monospace\"];\n");
    text.push_str("  edge [fontname=\"monospace\", fontsize=10];\n");
    for (vertex, ([name, domain, parts], fill)) in
        (0..).zip(labels(problem, strategy).into_iter().zip(colours))
    {
        // Writing to a string cannot fail.
        let (name, domain) = (escaped(&name), escaped(&domain));
        let _ = writeln!(text, "  v{vertex} [label=\"{name}\\n{domain}\\n{parts}\", fillcolor=\"{fill}\"];");
    }
    for (edge, cost) in problem.edges().iter().zip(edge_labels(problem, strategy)) {
        let label = cost.map_or(String::new(), |cost| format!(" [label=\"{cost}\", penwidth=2]"));
        let _ = writeln!(text, "  v{} -> v{}{label};", edge.source, edge.target);
    }
    text.push_str("}\n");
    text
}

/// The same as an SVG document.
pub fn svg(problem: &dyn Operations, strategy: &[usize]) -> String {
    let nodes = labels(problem, strategy).into_iter().zip(colours(problem, strategy));
    let links = problem.edges().iter().zip(edge_labels(problem, strategy));
    graph(
        problem.model(),
        nodes.map(|(lines, fill)| GraphNode { lines: lines.into(), fill }).collect(),
        links.map(|(edge, label)| GraphLink { from: edge.source, to: edge.target, label }).collect(),
    )
}

/// Name, domain and configuration of each vertex.
fn labels(problem: &dyn Operations, strategy: &[usize]) -> Vec<[String; 3]> {
    let label = |(vertex, chosen): (usize, &usize)| {
        let domain = format!("{} {:?}", problem.kind(vertex), problem.domain(vertex));
        let configuration = &problem.configurations(vertex)[*chosen];
        [problem.name(vertex).to_owned(), domain, format!("{configuration:?}")]
    };
    strategy.iter().enumerate().map(label).collect()
}

/// Cost of each edge, if any.
fn edge_labels(problem: &dyn Operations, strategy: &[usize]) -> Vec<Option<String>> {
    let costs = (0..problem.edges().len()).map(|edge| edge_cost(problem, edge, strategy));
    costs.map(|cost| (cost > 0.0).then(|| format!("{cost:.2e}"))).collect()
}

/// A colour for each vertex. Steps of the golden ratio keep hues apart, however many configurations there are. What is not cut is
/// white.
fn colours(problem: &dyn Operations, strategy: &[usize]) -> Vec<String> {
    let mut hues: BTreeMap<&[u32], usize> = BTreeMap::new();
    let mut colours = Vec::new();
    for (vertex, chosen) in strategy.iter().enumerate() {
        let parts = problem.configurations(vertex)[*chosen].as_slice();
        let next = hues.len();
        let number = *hues.entry(parts).or_insert(next);
        let is_whole = parts.iter().all(|part| *part == 1);
        let hue = (number as f64 * 0.618_033_988_75).fract();
        colours.push(if is_whole { "#ffffff".to_owned() } else { tinted(hue) });
    }
    colours
}

/// A light colour of a hue between 0 and 1.
fn tinted(hue: f64) -> String {
    /// Distance of the weakest of the three primary colours below white.
    const DEPTH: f64 = 0.35;
    let channel = |shift: f64| {
        let distance = ((hue + shift).fract() * 6.0 - 3.0).abs() - 1.0;
        let value = 1.0 - DEPTH * (1.0 - distance.clamp(0.0, 1.0));
        (value * 255.0).round() as u8
    };
    let [r, g, b] = [0.0, 2.0 / 3.0, 1.0 / 3.0].map(channel);
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::{Costs, Edge, Operation, Tabulated};

    fn problem() -> Tabulated {
        let operation = |name: &str| Operation {
            name: name.to_owned(),
            kind: "FC".to_owned(),
            domain: vec![4],
            configurations: vec![vec![1], vec![2]],
            costs: vec![0.0, 0.0],
        };
        let operations = vec![operation("a"), operation("b\"q"), operation("c<d")];
        let costs = || Costs::from_rows(&[vec![0.0, 5.0], vec![0.0, 0.0]]);
        let edges = vec![(Edge { source: 0, target: 1 }, costs()), (Edge { source: 1, target: 2 }, costs())];
        Tabulated::new(2, operations, edges).unwrap()
    }

    #[test]
    fn equal_configurations_have_equal_colours_and_names_are_quoted() {
        let text = dot(&problem(), &[0, 1, 1]);
        assert!(text.contains("v0 [label=\"a\\nFC [4]\\n[1]\", fillcolor=\"#ffffff\"]"), "{text}");
        let colour = tinted(0.618_033_988_75);
        assert_eq!(text.matches(&format!("fillcolor=\"{colour}\"")).count(), 2, "{text}");
        assert!(text.contains("b\\\"q") && text.contains("v0 -> v1 [label=\"5.00e0\""), "{text}");
        assert!(text.contains("v1 -> v2;"), "{text}");
    }

    #[test]
    fn a_drawing_shows_the_same() {
        let text = svg(&problem(), &[0, 1, 1]);
        assert_eq!(text.matches(&tinted(0.618_033_988_75)).count(), 2, "{text}");
        assert!(text.starts_with("<svg") && text.contains("c&lt;d") && text.contains("5.00e0"), "{text}");
    }

    #[test]
    fn hues_go_around_the_colours() {
        assert_eq!([tinted(0.0), tinted(1.0 / 3.0), tinted(2.0 / 3.0)], ["#ffa6a6", "#a6ffa6", "#a6a6ff"]);
    }
}
