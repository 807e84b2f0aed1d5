//! SVG elements of figures.

use std::fmt::Write;

use super::figure::{Content, FONT, Figure, Graph, LEADING, Outline, SMALL, Stroke, text_size};
use crate::picture::layered::{Point, Route, Size};

/// Room around the picture.
const MARGIN: f64 = 16.0;
/// Colour of lines.
const INK: &str = "#37474f";
/// Colour of text at links.
const FAINT: &str = "#455a64";

/// The whole document.
pub(super) fn document(figure: &Figure, title: &str) -> String {
    let heading = text_size(&[title.to_owned()], FONT + 2.0);
    let top = MARGIN + heading.height + 8.0;
    let width = figure.size.width.max(heading.width) + 2.0 * MARGIN;
    let height = figure.size.height + top + MARGIN;
    let mut svg = String::new();
    let (w, h) = (width.ceil(), height.ceil());
    push(
        &mut svg,
        format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" \
             font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" font-size=\"{FONT}\">\n\
             <title>{}</title>\n\
             <defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" \
             markerHeight=\"7\" orient=\"auto\"><path d=\"M0,0.5 L8,4 L0,7.5 z\" fill=\"{INK}\"/></marker></defs>\n\
             <rect width=\"{w}\" height=\"{h}\" fill=\"#ffffff\"/>\n\
             <text x=\"{MARGIN}\" y=\"{}\" font-size=\"{}\" font-weight=\"bold\" fill=\"{INK}\">{}</text>\n",
            escape(title),
            number(MARGIN + FONT),
            FONT + 2.0,
            escape(title)
        ),
    );
    let left = (width - figure.size.width) / 2.0;
    paint(&mut svg, figure, Point { x: left, y: top });
    svg.push_str("</svg>\n");
    svg
}

fn paint(svg: &mut String, figure: &Figure, at: Point) {
    if !figure.hint.is_empty() {
        push(svg, format_args!("<g><title>{}</title>\n", escape(&figure.hint)));
    }
    match &figure.content {
        Content::Shape { outline, lines, connectors } => {
            shape(svg, figure, *outline, at);
            text(svg, figure, *outline, lines, *connectors, at);
        }
        Content::Group { heading, graph, at: inside, bare } => {
            group_border(svg, figure, *bare, at);
            if let Some(heading) = heading {
                let y = at.y + inside.y - 8.0;
                push(
                    svg,
                    format_args!(
                        "<text x=\"{}\" y=\"{}\" font-weight=\"bold\" fill=\"{INK}\">{}</text>\n",
                        number(at.x + 10.0),
                        number(y),
                        escape(heading)
                    ),
                );
            }
            paint_graph(svg, graph, Point { x: at.x + inside.x, y: at.y + inside.y });
        }
    }
    if !figure.hint.is_empty() {
        svg.push_str("</g>\n");
    }
}

fn group_border(svg: &mut String, figure: &Figure, bare: bool, at: Point) {
    if figure.fill == "none" {
        return;
    }
    let (width, height) = (number(figure.size.width), number(figure.size.height));
    let (x, y) = (number(at.x), number(at.y));
    // The inside of a scope has the tint of its schedule, and its borders are drawn by its entry and exit.
    let style = if bare {
        format!("fill=\"{}\" fill-opacity=\"0.25\"", figure.fill)
    } else {
        format!("rx=\"6\" fill=\"{}\" stroke=\"#90a4ae\"{}", figure.fill, stroke(figure.stroke))
    };
    push(svg, format_args!("<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" {style}/>\n"));
}

fn paint_graph(svg: &mut String, graph: &Graph, at: Point) {
    for (figure, corner) in graph.figures.iter().zip(&graph.drawing.corners) {
        paint(svg, figure, Point { x: at.x + corner.x, y: at.y + corner.y });
    }
    for (arrow, route) in graph.arrows.iter().zip(&graph.drawing.routes) {
        let gap = text_size(&arrow.label, SMALL).height / 2.0;
        line(svg, route, arrow.stroke, gap, at);
    }
    for (arrow, route) in graph.arrows.iter().zip(&graph.drawing.routes) {
        let label = Point { x: at.x + route.label.x, y: at.y + route.label.y };
        centred(svg, &arrow.label, label, SMALL, FAINT, true);
        let (Some(first), Some(last)) = (route.points.first(), route.points.last()) else { continue };
        let name = |svg: &mut String, name: &Option<String>, point: &Point, shift: f64| {
            if let Some(name) = name {
                let place = Point { x: at.x + point.x, y: at.y + point.y + shift };
                centred(svg, std::slice::from_ref(name), place, SMALL - 1.0, "#00695c", false);
            }
        };
        name(svg, &arrow.connectors.0, first, -SMALL * 0.8);
        name(svg, &arrow.connectors.1, last, SMALL * 0.8);
    }
}

/// The line of a link. It leaves out its label, which needs twice `gap`.
fn line(svg: &mut String, route: &Route, style: Stroke, gap: f64, at: Point) {
    let mut path = String::new();
    let mut before: Option<Point> = None;
    let to = |path: &mut String, command: char, x: f64, y: f64| {
        push(path, format_args!("{command}{},{} ", number(x), number(y)));
    };
    for point in &route.points {
        match before {
            None => to(&mut path, 'M', at.x + point.x, at.y + point.y),
            Some(last) if last.x == point.x || last.y == point.y => {
                if gap > 0.0 && holds(last, *point, route.label) {
                    let gap = if last.y < point.y { gap } else { -gap };
                    to(&mut path, 'L', at.x + point.x, at.y + route.label.y - gap);
                    to(&mut path, 'M', at.x + point.x, at.y + route.label.y + gap);
                }
                to(&mut path, 'L', at.x + point.x, at.y + point.y);
            }
            Some(last) => {
                let middle = at.y + (last.y + point.y) / 2.0;
                to(&mut path, 'C', at.x + last.x, middle);
                to(&mut path, ' ', at.x + point.x, middle);
                to(&mut path, ' ', at.x + point.x, at.y + point.y);
            }
        }
        before = Some(*point);
    }
    push(
        svg,
        format_args!(
            "<path d=\"{}\" fill=\"none\" stroke=\"{INK}\"{} marker-end=\"url(#arrow)\"/>\n",
            path.trim_end(),
            stroke(style)
        ),
    );
}

/// Whether an upright piece of a line goes through a point.
fn holds(from: Point, to: Point, point: Point) -> bool {
    from.x == to.x && to.x == point.x && from.y.min(to.y) <= point.y && point.y <= from.y.max(to.y)
}

fn shape(svg: &mut String, figure: &Figure, outline: Outline, at: Point) {
    let Size { width, height } = figure.size;
    let style = format!("fill=\"{}\" stroke=\"{INK}\"{}", figure.fill, stroke(figure.stroke));
    let polygon = |svg: &mut String, points: &[(f64, f64)]| {
        let points: Vec<String> =
            points.iter().map(|(x, y)| format!("{},{}", number(at.x + x), number(at.y + y))).collect();
        push(svg, format_args!("<polygon points=\"{}\" {style}/>\n", points.join(" ")));
    };
    let slant = 14.0_f64.min(width / 4.0);
    let cut = 8.0_f64.min(height / 3.0);
    match outline {
        Outline::Ellipse | Outline::Dot => {
            let (rx, ry) = (width / 2.0, height / 2.0);
            let (cx, cy) = (number(at.x + rx), number(at.y + ry));
            let (rx, ry) = (number(rx), number(ry));
            push(svg, format_args!("<ellipse cx=\"{cx}\" cy=\"{cy}\" rx=\"{rx}\" ry=\"{ry}\" {style}/>\n"));
        }
        Outline::Rectangle | Outline::Rounded => {
            let radius = if outline == Outline::Rounded { 8 } else { 0 };
            let (x, y, width, height) = (number(at.x), number(at.y), number(width), number(height));
            push(
                svg,
                format_args!(
                    "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"{radius}\" {style}/>\n"
                ),
            );
        }
        Outline::Octagon => polygon(
            svg,
            &[
                (cut, 0.0),
                (width - cut, 0.0),
                (width, cut),
                (width, height - cut),
                (width - cut, height),
                (cut, height),
                (0.0, height - cut),
                (0.0, cut),
            ],
        ),
        Outline::TrapezoidDown => {
            polygon(svg, &[(0.0, 0.0), (width, 0.0), (width - slant, height), (slant, height)]);
        }
        Outline::TrapezoidUp => {
            polygon(svg, &[(slant, 0.0), (width - slant, 0.0), (width, height), (0.0, height)]);
        }
        Outline::Triangle => {
            polygon(svg, &[(0.0, 0.0), (width, 0.0), (width - 45.0, height), (45.0, height)])
        }
    }
}

/// The lines of a node. Code keeps its indentation, so all but the first line of a tasklet start at one place.
fn text(
    svg: &mut String,
    figure: &Figure,
    outline: Outline,
    lines: &[String],
    connectors: (bool, bool),
    at: Point,
) {
    let row = SMALL * LEADING;
    let shift = f64::from(i8::from(connectors.0) - i8::from(connectors.1)) * row / 2.0;
    let centre = Point { x: at.x + figure.size.width / 2.0, y: at.y + figure.size.height / 2.0 + shift };
    let (Some((first, code)), Outline::Octagon) = (lines.split_first(), outline) else {
        return centred(svg, lines, centre, FONT, "#000000", false);
    };
    let step = FONT * LEADING;
    let top = centre.y - step * code.len() as f64 / 2.0;
    centred(svg, std::slice::from_ref(first), Point { x: centre.x, y: top }, FONT, "#000000", false);
    let left = number(centre.x - text_size(code, FONT).width / 2.0);
    for (index, line) in code.iter().enumerate() {
        let y = number(top + step * (index as f64 + 1.0) + FONT * 0.35);
        push(
            svg,
            format_args!("<text x=\"{left}\" y=\"{y}\" xml:space=\"preserve\">{}</text>\n", escape(line)),
        );
    }
}

/// Lines around a point. A halo keeps text legible over lines.
fn centred(svg: &mut String, lines: &[String], at: Point, font: f64, colour: &str, halo: bool) {
    let step = font * LEADING;
    // The middle of lower-case letters is about a third of the size above the base line.
    let first = at.y - step * (lines.len() as f64 - 1.0) / 2.0 + font * 0.35;
    let halo = if halo { " stroke=\"#ffffff\" stroke-width=\"3\" paint-order=\"stroke\"" } else { "" };
    for (index, line) in lines.iter().enumerate() {
        push(
            svg,
            format_args!(
                "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" font-size=\"{font}\" fill=\"{colour}\"{halo} \
                 xml:space=\"preserve\">{}</text>\n",
                number(at.x),
                number(first + step * index as f64),
                escape(line)
            ),
        );
    }
}

const fn stroke(stroke: Stroke) -> &'static str {
    match stroke {
        Stroke::Solid => "",
        Stroke::Bold => " stroke-width=\"2\"",
        Stroke::Dashed => " stroke-dasharray=\"6,3\"",
        Stroke::Dotted => " stroke-dasharray=\"2,3\"",
    }
}

/// A coordinate: tenths are enough, and the same on every machine.
fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = text.write_fmt(arguments);
}
