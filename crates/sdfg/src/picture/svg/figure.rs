//! Figures: shapes with text, and groups of figures joined by links.

use std::borrow::Cow;

use crate::picture::layered::{self, Drawing, Link, NodeBox, Point, Size};

/// Width of a character of the monospaced font, as part of its size.
const ADVANCE: f64 = 0.602;
/// Size of the font of nodes.
pub(super) const FONT: f64 = 12.0;
/// Size of the font of labels at links.
pub(super) const SMALL: f64 = 10.0;
/// Distance of lines, as part of the size of the font.
pub(super) const LEADING: f64 = 1.25;
/// Room between a border and what is inside.
const PADDING: f64 = 12.0;

/// Outline of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outline {
    Ellipse,
    Octagon,
    Rectangle,
    Rounded,
    /// Wide side up: begin of a scope.
    TrapezoidDown,
    /// Wide side down: end of a scope.
    TrapezoidUp,
    Triangle,
    Dot,
}

/// Style of a border.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stroke {
    Solid,
    Bold,
    Dashed,
    Dotted,
}

/// Something that is drawn.
#[derive(Clone, Debug)]
pub(super) struct Figure {
    pub(super) size: Size,
    /// Distance of links from the left and right borders.
    pub(super) inset: f64,
    pub(super) fill: Cow<'static, str>,
    pub(super) stroke: Stroke,
    /// Tooltip of the figure; empty for nothing.
    pub(super) hint: String,
    pub(super) content: Content,
}

/// Contents of a figure.
#[derive(Clone, Debug)]
pub(super) enum Content {
    /// A node: its lines, with rows for the names of connectors above and below.
    Shape { outline: Outline, lines: Vec<String>, connectors: (bool, bool) },
    /// Figures that are joined by links, under a heading. `bare` groups have no border.
    Group { heading: Option<String>, graph: Box<Graph>, at: Point, bare: bool },
}

/// Figures that are joined by links, placed.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    pub(super) figures: Vec<Figure>,
    pub(super) arrows: Vec<Arrow>,
    pub(super) drawing: Drawing,
}

/// A link between figures.
#[derive(Clone, Debug)]
pub(super) struct Arrow {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) label: Vec<String>,
    /// Names of connectors at its begin and end.
    pub(super) connectors: (Option<String>, Option<String>),
    pub(super) stroke: Stroke,
}

/// Extent of lines of text.
pub(super) fn text_size(lines: &[String], font: f64) -> Size {
    let longest = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    Size { width: longest as f64 * ADVANCE * font, height: lines.len() as f64 * LEADING * font }
}

impl Figure {
    /// A node. `connectors` are the names above and below its text.
    pub(super) fn shape(outline: Outline, lines: Vec<String>, connectors: (&[String], &[String])) -> Self {
        let text = text_size(&lines, FONT);
        let slots = |names: &[String]| names.len() as f64 * (text_size(names, SMALL).width + 8.0);
        let rows = f64::from(u8::from(!connectors.0.is_empty()) + u8::from(!connectors.1.is_empty()));
        let width = text.width.max(slots(connectors.0)).max(slots(connectors.1));
        let height = text.height + rows * SMALL * LEADING;
        let (margin, inset) = match outline {
            Outline::Ellipse => (Size { width: 28.0, height: 14.0 }, 0.25),
            Outline::Octagon => (Size { width: 24.0, height: 12.0 }, 0.1),
            Outline::TrapezoidDown | Outline::TrapezoidUp => (Size { width: 44.0, height: 8.0 }, 0.0),
            Outline::Rectangle | Outline::Rounded => (Size { width: 14.0, height: 8.0 }, 0.0),
            Outline::Triangle => (Size { width: 100.0, height: 10.0 }, 0.3),
            Outline::Dot => (Size { width: 10.0, height: 10.0 }, 0.0),
        };
        let size = Size { width: width + margin.width, height: height + margin.height };
        let inset = match outline {
            Outline::TrapezoidDown | Outline::TrapezoidUp => 16.0,
            Outline::Ellipse
            | Outline::Octagon
            | Outline::Rectangle
            | Outline::Rounded
            | Outline::Triangle
            | Outline::Dot => inset * size.width,
        };
        let connectors = (!connectors.0.is_empty(), !connectors.1.is_empty());
        Figure {
            size,
            inset,
            fill: "#ffffff".into(),
            stroke: Stroke::Solid,
            hint: String::new(),
            content: Content::Shape { outline, lines, connectors },
        }
    }

    /// A group with a border and a heading, and with room for the names of connectors above it if it has any.
    pub(super) fn group(heading: Option<String>, graph: Graph, connectors: bool) -> Self {
        let text =
            heading.as_ref().map_or(Size::default(), |line| text_size(std::slice::from_ref(line), FONT));
        let inner = graph.drawing.size;
        let row = if connectors { SMALL * LEADING } else { 0.0 };
        let top = row + PADDING + if heading.is_some() { text.height + 4.0 } else { 0.0 };
        let width = inner.width.max(text.width) + 2.0 * PADDING;
        Figure {
            size: Size { width, height: inner.height + top + PADDING },
            inset: 0.0,
            fill: "#ffffff".into(),
            stroke: Stroke::Solid,
            hint: String::new(),
            content: Content::Group {
                heading,
                at: Point { x: (width - inner.width) / 2.0, y: top },
                graph: Box::new(graph),
                bare: false,
            },
        }
    }

    /// A group that is as large as its graph, so that links reach the nodes at its upper and lower border.
    pub(super) fn tight(graph: Graph, inset: f64) -> Self {
        let at = Point { x: 0.0, y: 0.0 };
        Figure {
            size: graph.drawing.size,
            inset,
            fill: "none".into(),
            stroke: Stroke::Solid,
            hint: String::new(),
            content: Content::Group { heading: None, graph: Box::new(graph), at, bare: true },
        }
    }
}

impl Graph {
    /// Places figures and arrows.
    pub(super) fn place(figures: Vec<Figure>, arrows: Vec<Arrow>) -> Self {
        let boxes: Vec<NodeBox> =
            figures.iter().map(|figure| NodeBox { size: figure.size, inset: figure.inset }).collect();
        let room = |label: &[String]| {
            let text = text_size(label, SMALL);
            if label.is_empty() { Size::default() } else { Size { width: text.width + 8.0, ..text } }
        };
        let links: Vec<Link> = arrows
            .iter()
            .map(|arrow| Link { from: arrow.from, to: arrow.to, label: room(&arrow.label) })
            .collect();
        let drawing = layered::draw(&boxes, &links);
        Graph { figures, arrows, drawing }
    }
}
