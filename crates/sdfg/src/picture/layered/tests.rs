//! Tests of drawings: order of layers, no overlaps, separate space for labels.

use proptest::prelude::*;

use super::{Link, NodeBox, Size, draw};

fn square(side: f64) -> NodeBox {
    NodeBox { size: Size { width: side, height: side }, inset: 0.0 }
}

fn link(from: usize, to: usize) -> Link {
    Link { from, to, label: Size { width: 30.0, height: 10.0 } }
}

#[test]
fn a_chain_is_straight() {
    let drawing = draw(&[square(20.0), square(40.0), square(20.0)], &[link(0, 1), link(1, 2)]);
    let middles: Vec<f64> =
        drawing.corners.iter().zip([20.0, 40.0, 20.0]).map(|(c, s)| c.x + s / 2.0).collect();
    assert!(middles.iter().all(|x| (x - middles[0]).abs() < 0.1), "{middles:?}");
    assert!(drawing.corners[0].y < drawing.corners[1].y && drawing.corners[1].y < drawing.corners[2].y);
}

#[test]
fn crossings_that_can_be_avoided_are() {
    let nodes = vec![square(20.0); 4];
    let drawing = draw(&nodes, &[link(0, 3), link(1, 2)]);
    let x: Vec<f64> = drawing.corners.iter().map(|corner| corner.x).collect();
    assert_eq!(x[0] < x[1], x[3] < x[2], "{x:?}");
}

proptest! {
    #[test]
    fn nodes_do_not_overlap_and_lines_end_at_them(
        sides in prop::collection::vec(5.0..80.0f64, 1..9),
        ends in prop::collection::vec((0..9usize, 0..9usize), 0..16),
    ) {
        let nodes: Vec<NodeBox> = sides.iter().map(|side| square(*side)).collect();
        let links: Vec<Link> = ends.iter().map(|(a, b)| link(a % nodes.len(), b % nodes.len())).collect();
        let drawing = draw(&nodes, &links);
        for (a, first) in drawing.corners.iter().enumerate() {
            prop_assert!(first.x >= -0.01 && first.x + sides[a] <= drawing.size.width + 0.01);
            prop_assert!(first.y >= -0.01 && first.y + sides[a] <= drawing.size.height + 0.01);
            for (b, second) in drawing.corners.iter().enumerate().skip(a + 1) {
                let apart = first.x + sides[a] <= second.x || second.x + sides[b] <= first.x
                    || first.y + sides[a] <= second.y || second.y + sides[b] <= first.y;
                prop_assert!(apart, "{first:?} of {} and {second:?} of {}", sides[a], sides[b]);
            }
        }
        for (link, route) in links.iter().zip(&drawing.routes) {
            let touches = |node: usize, point: &super::Point| {
                let (corner, side) = (drawing.corners[node], sides[node]);
                (corner.x - 0.01..=corner.x + side + 0.01).contains(&point.x)
                    && (corner.y - 0.01..=corner.y + side + 0.01).contains(&point.y)
            };
            prop_assert!(touches(link.from, route.points.first().unwrap()));
            prop_assert!(touches(link.to, route.points.last().unwrap()));
        }
    }
}
