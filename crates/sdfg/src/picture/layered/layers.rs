//! Layers: the row of every node, and the points between rows where long links and labels pass.

use std::collections::BTreeSet;

use super::{Link, NodeBox, Size};

/// Room at both sides of a link that passes a layer.
const PASSAGE: f64 = 14.0;
/// Distance by which a link from a node to itself protrudes.
pub(super) const LOOP: f64 = 26.0;

/// The graph with every link cut into pieces from one layer to the next. The nodes come first, then the passages.
#[derive(Debug)]
pub(super) struct Layered {
    /// Extent of each place.
    pub(super) sizes: Vec<Size>,
    /// Layer of each place.
    pub(super) layer: Vec<usize>,
    /// Pieces, downwards.
    pub(super) pieces: Vec<(usize, usize)>,
    /// Places that each link passes, from its upper to its lower end and without them; `None` for a link from a node to itself.
    pub(super) passages: Vec<Option<Vec<usize>>>,
    /// Links that point upwards.
    pub(super) reversed: Vec<bool>,
    /// Number of layers.
    pub(super) depth: usize,
    /// Number of nodes.
    nodes: usize,
}

impl Layered {
    /// Whether a place belongs to a link and not to a node.
    pub(super) fn is_passage(&self, place: usize) -> bool {
        place >= self.nodes
    }

    pub(super) fn new(nodes: &[NodeBox], links: &[Link]) -> Self {
        let reversed = backward(nodes.len(), links);
        let down: Vec<(usize, usize)> = links
            .iter()
            .zip(&reversed)
            .map(|(link, reversed)| if *reversed { (link.to, link.from) } else { (link.from, link.to) })
            .collect();
        let mut layer = longest_paths(nodes.len(), &down);
        let mut sizes: Vec<Size> = nodes.iter().map(|node| node.size).collect();
        // Links from a node to itself have their room at its right side.
        for link in links.iter().filter(|link| link.from == link.to) {
            let width = nodes[link.from].size.width + LOOP + link.label.width;
            sizes[link.from].width = sizes[link.from].width.max(width);
        }
        let mut pieces = Vec::new();
        let mut passages = Vec::with_capacity(links.len());
        for (link, (top, bottom)) in links.iter().zip(&down) {
            if top == bottom {
                passages.push(None);
                continue;
            }
            let mut passed = Vec::new();
            let mut at = *top;
            for row in layer[*top] + 1..layer[*bottom] {
                // The label goes into the first row below the upper end: all links of one fan have theirs in one row.
                let has_label = row == layer[*top] + 1;
                let label = if has_label { link.label } else { Size::default() };
                sizes.push(Size { width: label.width.max(PASSAGE), height: label.height });
                layer.push(row);
                let passage = sizes.len() - 1;
                pieces.push((at, passage));
                passed.push(passage);
                at = passage;
            }
            pieces.push((at, *bottom));
            passages.push(Some(passed));
        }
        let depth = layer.iter().max().map_or(0, |last| last + 1);
        Layered { sizes, layer, pieces, passages, reversed, depth, nodes: nodes.len() }
    }
}

/// Links that close a cycle in a depth-first search by order of nodes and links.
fn backward(nodes: usize, links: &[Link]) -> Vec<bool> {
    let mut reversed = vec![false; links.len()];
    let mut out_of: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    for (index, link) in links.iter().enumerate() {
        out_of[link.from].push(index);
    }
    let mut done = vec![false; nodes];
    for root in 0..nodes {
        if done[root] {
            continue;
        }
        done[root] = true;
        let mut on_path = BTreeSet::from([root]);
        let mut path = vec![(root, 0)];
        while let Some((node, next)) = path.last_mut() {
            let Some(&index) = out_of[*node].get(*next) else {
                on_path.remove(node);
                path.pop();
                continue;
            };
            *next += 1;
            let to = links[index].to;
            if on_path.contains(&to) {
                reversed[index] = true;
            } else if !done[to] {
                done[to] = true;
                on_path.insert(to);
                path.push((to, 0));
            }
        }
    }
    reversed
}

/// The layer of each node: two below the lowest that it follows, so that a row for labels lies between. Nodes that follow
/// none are moved down to the ones that follow them.
fn longest_paths(nodes: usize, down: &[(usize, usize)]) -> Vec<usize> {
    let mut waiting = vec![0usize; nodes];
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    for (top, bottom) in down.iter().filter(|(top, bottom)| top != bottom) {
        waiting[*bottom] += 1;
        below[*top].push(*bottom);
    }
    let is_source: Vec<bool> = waiting.iter().map(|n| *n == 0).collect();
    let mut ready: Vec<usize> = (0..nodes).filter(|node| is_source[*node]).collect();
    let mut layer = vec![0usize; nodes];
    while let Some(node) = ready.pop() {
        for &next in &below[node] {
            layer[next] = layer[next].max(layer[node] + 2);
            waiting[next] -= 1;
            if waiting[next] == 0 {
                ready.push(next);
            }
        }
    }
    for node in 0..nodes {
        if is_source[node]
            && let Some(nearest) = below[node].iter().map(|next| layer[*next]).min()
        {
            layer[node] = nearest - 2;
        }
    }
    layer
}
