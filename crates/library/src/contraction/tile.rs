//! Maps that write a tile of sums to the result of a product.

use super::Label;
use super::blocks::{Blocks, Store};
use crate::template::Template;

/// A tile in memory, and its place in the result.
pub(super) struct Tile<'t> {
    /// The name of the map over rows; others begin with it.
    pub(super) name: &'t str,
    /// The container.
    pub(super) container: &'t str,
    /// The label of lanes, of which the tile has so many values, and the parameter that counts tiles along it.
    pub(super) lanes: (Label, i64, &'t str),
    /// The range of `__r`, the rows of the tile that go to the result.
    pub(super) rows: String,
    /// The row of the tile for `__r`.
    pub(super) row: String,
    /// Lanes of the tile before that of `__j` = 0, if any.
    pub(super) skipped: Option<String>,
    /// The element of the result for `__r` and `__j`.
    pub(super) element: String,
    /// The factor before each sum, with its operator.
    pub(super) scale: String,
    pub(super) store: Store,
    /// Whether rows have several registers. Loops over vectors and what is left take more code than short ones save.
    pub(super) is_wide: bool,
}

/// Maps as text.
pub(super) struct Written {
    pub(super) maps: String,
    /// The names of those that write to the result.
    maps_out: Vec<String>,
}

impl Tile<'_> {
    /// The maps. Lanes that are neighbours in the result are vectors where there are several of them.
    pub(super) fn written(&self, blocks: &Blocks<'_>, template: &mut Template) -> Written {
        let (label, width, part) = self.lanes;
        let (name, tile, row, rows) = (self.name, self.container, &self.row, &self.rows);
        let extent = blocks.extent(template, label);
        let is_all = blocks.contraction.extents[label].as_int().is_some_and(|extent| extent % width == 0);
        let count =
            if is_all { width.to_string() } else { format!("min({width}, {extent} - {width} * {part})") };
        let place = match &self.skipped {
            Some(skipped) => format!("__j + {skipped}"),
            None => "__j".to_owned(),
        };
        let is_in_order = blocks.contraction.output.last().copied().flatten() == Some(label);
        let (outside, inside) = (format!("__r = {rows}"), format!("__j = 0:{count}"));
        let (outside, inside) = if is_in_order { (outside, inside) } else { (inside, outside) };
        let schedule = if is_in_order && self.is_wide { "simd" } else { "sequential" };
        let maps = format!(
            "map {name} [{outside}] schedule(sequential) {{
map {name}_elements [{inside}] schedule({schedule}) {{
tasklet {name}_element (__x) -> (__o) {{ __o = {scale}__x }}
{name}_elements.{tile} -> {name}_element.__x: {tile}[{row}, {place}]
{name}_element.__o -> {name}_elements.__out: {element}{resolution}
}}
{name}.{tile} -> {name}_elements.{tile}
{name}_elements.__out -> {name}.__out
}}
__stored -> {name}.{tile}
",
            scale = self.scale,
            element = self.element,
            resolution = self.store.resolution(),
        );
        Written::by(maps, name)
    }
}

impl Written {
    /// Maps of which the one of this name writes to the result.
    pub(super) fn by(maps: String, name: &str) -> Self {
        Written { maps, maps_out: vec![name.to_owned()] }
    }

    /// The edges that carry what is written out of enclosing maps, the innermost first, and to an access node from the last
    /// one. Those of the first map are within it.
    pub(super) fn edges(&self, scopes: &[&str], to: &str) -> Vec<String> {
        let connector = |scope: &str, number: usize| format!("{scope}.__out{number}");
        let mut edges = Vec::new();
        for (level, scope) in scopes.iter().enumerate() {
            let within = self.maps_out.iter().enumerate().map(|(number, map)| {
                let from = level
                    .checked_sub(1)
                    .map_or_else(|| format!("{map}.__out"), |at| connector(scopes[at], number));
                format!("{from} -> {}\n", connector(scope, number))
            });
            edges.push(within.collect());
        }
        let last = scopes.last().map_or("", |scope| *scope);
        edges.push((0..self.maps_out.len()).map(|n| format!("{} -> {to}\n", connector(last, n))).collect());
        edges
    }

    /// Both, the second one after the first.
    pub(super) fn then(mut self, other: Written) -> Written {
        self.maps.push_str(&other.maps);
        if let (Some(first), Some(second)) = (self.maps_out.last(), other.maps_out.first()) {
            self.maps.push_str(&format!("order {first} -> {second}\n"));
        }
        self.maps_out.extend(other.maps_out);
        self
    }
}
