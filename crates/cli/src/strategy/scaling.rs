//! Predicted times over the number of ranks, as SVG with logarithmic axes.

use std::fmt::Write;

use super::simulate::{Point, Scaling};

const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 60.0;

/// A line of a panel.
struct Curve {
    name: &'static str,
    colour: &'static str,
    points: Vec<(f64, f64)>,
}

/// The picture of strong scaling, beside that of weak scaling.
pub(super) fn scaling_picture(strong: &Scaling, weak: Option<&Scaling>) -> String {
    let mut panels = vec![("strong scaling", curves(strong, true))];
    panels.extend(weak.map(|weak| ("weak scaling", curves(weak, false))));
    let width = WIDTH * panels.len() as f64;
    // Writing to a string cannot fail, here and below.
    let mut text = String::new();
    let _ = write!(
        text,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{HEIGHT}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (number, (title, curves)) in panels.iter().enumerate() {
        let _ = writeln!(text, "<g transform=\"translate({} 0)\">", number as f64 * WIDTH);
        panel(&mut text, title, curves);
        text.push_str("</g>\n");
    }
    text + "</svg>\n"
}

fn curves(scaling: &Scaling, is_strong: bool) -> Vec<Curve> {
    let points = |value: &dyn Fn(&Point) -> Option<f64>| -> Vec<(f64, f64)> {
        let all = scaling.points.iter().filter_map(|point| Some((f64::from(point.ranks), value(point)?)));
        all.filter(|(_, seconds)| *seconds > 0.0).collect()
    };
    let first = scaling.points.first().map_or(0.0, |point| point.predicted.seconds);
    let ideal = |point: &Point| Some(if is_strong { first / f64::from(point.ranks) } else { first });
    let curves = vec![
        Curve { name: "ideal", colour: "#999999", points: points(&ideal) },
        Curve { name: "data parallel", colour: "#d95f02", points: points(&|point| point.data_parallel) },
        Curve { name: "optimal", colour: "#1b6ca8", points: points(&|point| Some(point.predicted.seconds)) },
        Curve { name: "measured", colour: "#111111", points: points(&|point| point.measured) },
    ];
    curves.into_iter().filter(|curve| !curve.points.is_empty()).collect()
}

fn panel(text: &mut String, title: &str, curves: &[Curve]) {
    let all = || curves.iter().flat_map(|curve| &curve.points);
    let bounds = |value: fn(&(f64, f64)) -> f64| {
        let least = all().map(value).fold(f64::INFINITY, f64::min);
        let most = all().map(value).fold(0.0, f64::max);
        (least.log10().floor(), most.log10().ceil().max(least.log10().floor() + 1.0))
    };
    let (x, y) = (bounds(|point| point.0), bounds(|point| point.1));
    let at_x = |ranks: f64| LEFT + (ranks.log10() - x.0) / (x.1 - x.0) * (WIDTH - LEFT - RIGHT);
    let at_y =
        |seconds: f64| HEIGHT - BOTTOM - (seconds.log10() - y.0) / (y.1 - y.0) * (HEIGHT - TOP - BOTTOM);
    let _ = writeln!(text, "<text x=\"{LEFT}\" y=\"20\" font-size=\"13\">{title}</text>");
    for power in x.0 as i32..=x.1 as i32 {
        let (value, place) = (10_f64.powi(power), at_x(10_f64.powi(power)));
        let _ = writeln!(
            text,
            "<line x1=\"{place:.1}\" x2=\"{place:.1}\" y1=\"{TOP}\" y2=\"{}\" stroke=\"#dddddd\"/><text x=\"{place:.1}\" y=\"{}\" text-anchor=\"middle\">{value}</text>",
            HEIGHT - BOTTOM,
            HEIGHT - BOTTOM + 15.0
        );
    }
    for power in y.0 as i32..=y.1 as i32 {
        let place = at_y(10_f64.powi(power));
        let _ = writeln!(
            text,
            "<line x1=\"{LEFT}\" x2=\"{}\" y1=\"{place:.1}\" y2=\"{place:.1}\" stroke=\"#dddddd\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">1e{power} s</text>",
            WIDTH - RIGHT,
            LEFT - 5.0,
            place + 4.0
        );
    }
    let _ = writeln!(
        text,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">ranks</text>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - BOTTOM + 30.0
    );
    for (number, Curve { name, colour, points }) in curves.iter().enumerate() {
        let places: Vec<String> =
            points.iter().map(|(x, y)| format!("{:.1},{:.1}", at_x(*x), at_y(*y))).collect();
        let _ = writeln!(
            text,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"/>",
            places.join(" ")
        );
        for (x, y) in points {
            let _ = writeln!(
                text,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"2\" fill=\"{colour}\"/>",
                at_x(*x),
                at_y(*y)
            );
        }
        let _ = writeln!(
            text,
            "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\">{name}</text>",
            LEFT + 85.0 * number as f64,
            HEIGHT - 10.0
        );
    }
}
