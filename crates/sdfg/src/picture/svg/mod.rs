//! SVG pictures: control flow as nested boxes, states as layered dataflow graphs.
//!
//! Fill colours show memories and schedules, dashed lines conflict resolutions, and dotted lines order edges.

mod figure;
mod graph;
mod paint;
mod scene;

pub use graph::{GraphLink, GraphNode, graph};
use sdfg_graph::ir::Sdfg;

/// Options of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Number of open levels: loops, branches, states, scopes and nested SDFGs count one each. At 0, only the
    /// blocks of the program are shown, closed.
    pub depth: usize,
}

impl Default for Options {
    /// Everything is open.
    fn default() -> Self {
        Options { depth: usize::MAX }
    }
}

/// The picture as an SVG document.
pub fn write(sdfg: &Sdfg, options: &Options) -> String {
    paint::document(&scene::program(sdfg, options.depth), &scene::title(sdfg))
}
