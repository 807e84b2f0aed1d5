//! Pictures of graphs other than programs, such as search problems.

use super::figure::{Arrow, Figure, Graph, Outline, Stroke};
use super::paint;

/// A node: a rounded box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphNode {
    /// Its text.
    pub lines: Vec<String>,
    /// Its colour, as `#rrggbb`.
    pub fill: String,
}

/// A link between two nodes, by their positions in the list of nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphLink {
    /// Its source.
    pub from: usize,
    /// Its destination; may equal the source.
    pub to: usize,
    /// Its label; links without a label are thin.
    pub label: Option<String>,
}

/// A drawn graph as an SVG document; the same input gives the same bytes. Links of nodes that are not there are left out.
pub fn graph(title: &str, nodes: Vec<GraphNode>, links: Vec<GraphLink>) -> String {
    let n = nodes.len();
    let figures = nodes.into_iter().map(|node| {
        let figure = Figure::shape(Outline::Rounded, node.lines, (&[], &[]));
        Figure { fill: node.fill.into(), ..figure }
    });
    let arrows = links.into_iter().filter(|link| link.from < n && link.to < n).map(|link| Arrow {
        from: link.from,
        to: link.to,
        stroke: if link.label.is_some() { Stroke::Bold } else { Stroke::Solid },
        label: link.label.into_iter().collect(),
        connectors: (None, None),
    });
    let figure = Figure::tight(Graph::place(figures.collect(), arrows.collect()), 0.0);
    paint::document(&figure, title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_and_links_are_drawn_with_their_text() {
        let node = |name: &str| GraphNode { lines: vec![name.to_owned()], fill: "#abcdef".to_owned() };
        let link = |from, to, label: Option<&str>| GraphLink { from, to, label: label.map(str::to_owned) };
        let links = vec![link(0, 1, Some("<2 s>")), link(1, 1, None), link(0, 7, Some("lost"))];
        let svg = graph("a & b", vec![node("first"), node("second")], links);
        assert!(svg.starts_with("<svg") && svg.contains("a &amp; b") && svg.contains("&lt;2 s&gt;"), "{svg}");
        assert_eq!((svg.matches("#abcdef").count(), svg.matches("marker-end").count()), (2, 2), "{svg}");
        assert!(!svg.contains("lost"), "{svg}");
    }
}
