//! Layered drawing of directed graphs (Sugiyama, Tagawa and Toda, 1981), independent of SDFGs.
//!
//! The algorithm uses longest-path layers, barycentre order within them, and positions that minimise the
//! squared distance to the middle of the neighbours within that order. Every label of a link has a point
//! between two layers, so labels never cover nodes. The result depends only on the input.

mod layers;
mod order;
mod position;
mod route;

/// A node to be placed.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeBox {
    /// Width and height.
    pub(super) size: Size,
    /// Distance of links from the left and right borders.
    pub(super) inset: f64,
}

/// Width and height.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Size {
    pub(super) width: f64,
    pub(super) height: f64,
}

/// A place, with `y` downwards.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
}

/// A link between two nodes, by their positions in the list of nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) from: usize,
    pub(super) to: usize,
    /// Room for its label; nothing for none.
    pub(super) label: Size,
}

/// Positions of all nodes; the top left corner of the drawing is the origin.
#[derive(Clone, Debug, Default)]
pub(super) struct Drawing {
    /// Top left corner of each node.
    pub(super) corners: Vec<Point>,
    /// Each link.
    pub(super) routes: Vec<Route>,
    /// Extent of the drawing.
    pub(super) size: Size,
}

/// The line of a link.
#[derive(Clone, Debug, Default)]
pub(super) struct Route {
    /// Points from source to destination; the line is vertical in each.
    pub(super) points: Vec<Point>,
    /// Middle of the label.
    pub(super) label: Point,
}

/// Places nodes and links. Links from a node to itself are drawn at its right side.
pub(super) fn draw(nodes: &[NodeBox], links: &[Link]) -> Drawing {
    let layered = layers::Layered::new(nodes, links);
    let layers = order::order(&layered);
    let centres = position::place(&layered, &layers);
    route::route(nodes, links, &layered, &layers, &centres)
}

#[cfg(test)]
mod tests;
