//! Routes of links: their ends at nodes, and the points in between.

use super::layers::{LOOP, Layered};
use super::{Drawing, Link, NodeBox, Point, Route, Size};

/// One end of a link at a node.
struct End {
    link: usize,
    node: usize,
    /// Whether it is at the lower border of the node.
    at_bottom: bool,
    /// Next point of the line.
    towards: f64,
}

pub(super) fn route(
    nodes: &[NodeBox],
    links: &[Link],
    graph: &Layered,
    rows: &[Vec<usize>],
    centres: &[Point],
) -> Drawing {
    let corner = |place: usize| Point {
        x: centres[place].x - graph.sizes[place].width / 2.0,
        y: centres[place].y - graph.sizes[place].height / 2.0,
    };
    let ports = ports(nodes, links, graph, centres, &corner);
    let mut routes = Vec::with_capacity(links.len());
    for (index, link) in links.iter().enumerate() {
        let Some(passages) = &graph.passages[index] else {
            routes.push(round(corner(link.from), nodes[link.from].size, link.label));
            continue;
        };
        let (upper, lower) = ports[index];
        let mut points = vec![upper];
        for passage in passages {
            let (centre, layer) = (centres[*passage], graph.layer[*passage]);
            // The line crosses the whole row upright, so that it cannot cut a corner of a neighbour.
            let height = rows[layer].iter().map(|place| graph.sizes[*place].height).fold(0.0, f64::max);
            points.push(Point { x: centre.x, y: centre.y - height / 2.0 });
            points.push(Point { x: centre.x, y: centre.y + height / 2.0 });
        }
        points.push(lower);
        let label = passages.first().map_or(upper, |passage| centres[*passage]);
        if graph.reversed[index] {
            points.reverse();
        }
        routes.push(Route { points, label });
    }
    let mut size = Size::default();
    for (place, centre) in centres.iter().enumerate() {
        size.width = size.width.max(centre.x + graph.sizes[place].width / 2.0);
        size.height = size.height.max(centre.y + graph.sizes[place].height / 2.0);
    }
    Drawing { corners: (0..nodes.len()).map(corner).collect(), routes, size }
}

/// The upper and lower end of each link: spread over the border of the node in the order in which lines come.
fn ports(
    nodes: &[NodeBox],
    links: &[Link],
    graph: &Layered,
    centres: &[Point],
    corner: &dyn Fn(usize) -> Point,
) -> Vec<(Point, Point)> {
    let mut ends = Vec::new();
    for (index, link) in links.iter().enumerate() {
        let Some(passages) = &graph.passages[index] else { continue };
        let (top, bottom) = if graph.reversed[index] { (link.to, link.from) } else { (link.from, link.to) };
        let next = |passage: Option<&usize>, end: usize| centres[*passage.unwrap_or(&end)].x;
        ends.push(End { link: index, node: top, at_bottom: true, towards: next(passages.first(), bottom) });
        ends.push(End { link: index, node: bottom, at_bottom: false, towards: next(passages.last(), top) });
    }
    ends.sort_by(|a, b| {
        (a.node, a.at_bottom)
            .cmp(&(b.node, b.at_bottom))
            .then(a.towards.total_cmp(&b.towards))
            .then(a.link.cmp(&b.link))
    });
    let mut ports = vec![(Point::default(), Point::default()); links.len()];
    for group in ends.chunk_by(|a, b| (a.node, a.at_bottom) == (b.node, b.at_bottom)) {
        for (position, end) in group.iter().enumerate() {
            let (node, corner) = (&nodes[end.node], corner(end.node));
            let usable = node.size.width - 2.0 * node.inset;
            let x = corner.x + node.inset + usable * (position as f64 + 0.5) / group.len() as f64;
            if end.at_bottom {
                ports[end.link].0 = Point { x, y: corner.y + node.size.height };
            } else {
                ports[end.link].1 = Point { x, y: corner.y };
            }
        }
    }
    ports
}

/// The line of a link from a node to itself.
fn round(corner: Point, node: Size, label: Size) -> Route {
    let right = corner.x + node.width;
    let (upper, lower) = (corner.y + node.height * 0.3, corner.y + node.height * 0.7);
    let points = vec![
        Point { x: right, y: lower },
        Point { x: right + LOOP, y: lower },
        Point { x: right + LOOP, y: upper },
        Point { x: right, y: upper },
    ];
    Route { points, label: Point { x: right + LOOP + label.width / 2.0, y: (upper + lower) / 2.0 } }
}
