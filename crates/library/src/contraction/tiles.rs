//! The `fast` expansion of transposes: elements move in square tiles.
//!
//! Neighbours in the output are far apart in the input. Along a row of the output, each element comes from
//! another cache line. If rows are long, that line is evicted before the next row needs it, and if the
//! distance is a power of two, immediately. A tile of 8 by 8 elements uses every loaded and stored cache line
//! completely. The tile loops have constant trip counts, so back ends unroll and vectorise them. Two
//! additional states move the elements that fill no tile.

use super::expand::param;
use super::{Contraction, Label};
use crate::error::ExpandErrorKind;
use crate::operation::Target;
use crate::template::Template;

/// Rows and columns of a tile.
const TILE: i64 = 8;

/// The dimensions of tiles: neighbours in the output, and neighbours in the input.
#[derive(Clone, Copy)]
pub(super) struct Tiles {
    column: Label,
    row: Label,
}

impl Contraction {
    /// The tiles of this contraction, if it moves elements across rows that are not short.
    pub(super) fn tiles(&self) -> Option<Tiles> {
        let [term] = self.terms.as_slice() else { return None };
        let column = self.output.last().copied().flatten()?;
        let row = term.labels.last().copied().flatten()?;
        let once = |label: Label| term.labels.iter().filter(|known| **known == Some(label)).count() == 1;
        let is_kept = |label: Label| self.output.contains(&Some(label));
        let is_long = |label: Label| self.extents[label].as_int().is_none_or(|extent| extent >= 4 * TILE);
        let fits = [column, row].into_iter().all(|label| once(label) && is_kept(label) && is_long(label));
        (fits && column != row && self.reduced().is_empty()).then_some(Tiles { column, row })
    }

    /// Appends the states.
    pub(super) fn move_tiles(
        &self,
        template: &mut Template,
        target: &Target,
        tiles: Tiles,
    ) -> Result<(), ExpandErrorKind> {
        let adds = self.start(template, target)?;
        let others: Vec<Label> =
            self.kept().into_iter().filter(|label| *label != tiles.column && *label != tiles.row).collect();
        let others = self.dimensions(template, &others);
        let [rows, columns] = [tiles.row, tiles.column].map(|label| template.extent(&self.extents[label]));
        let (row, column) = (param(tiles.row), param(tiles.column));
        let tile =
            |param: &str, at: &str| (param.to_owned(), format!("{TILE} * {at}:{TILE} * {at} + {TILE}"));
        let inner = vec![tile(&row, "__row"), tile(&column, "__column")];
        let mut outer: Vec<String> =
            others.iter().map(|(param, range)| format!("{param} = {range}")).collect();
        outer.push(format!("__row = 0:{rows} // {TILE}"));
        outer.push(format!("__column = 0:{columns} // {TILE}"));
        let moved = self.products("tiles", inner, target, adds)?;
        let [(connector, from)] = &moved.reads[..] else { return Ok(()) };
        let inner: Vec<String> =
            moved.dimensions.iter().map(|(param, range)| format!("{param} = {range}")).collect();
        template.blocks(&format!(
            "state tiles {{
access {source}
access __out = {to}
map __tiles [{outer}] collapse({shared}) {{
map __elements [{inner}] schedule(sequential) {{
tasklet __compute ({connector}) -> (__o) {{ __o = {value} }}
__elements.{source} -> __compute.{connector}: {from}
__compute.__o -> __elements.__out: {write}{adds}
}}
__tiles.{source} -> __elements.{source}
__elements.__out -> __tiles.__out
}}
{source} -> __tiles.{source}
__tiles.__out -> __out
}}
",
            source = from.container,
            to = moved.write.container,
            shared = outer.len(),
            outer = outer.join(", "),
            inner = inner.join(", "),
            value = moved.value,
            from = from.text(),
            write = moved.write.text(),
            adds = if adds { " wcr(sum)" } else { "" },
        ));
        let whole = |extent: &str| format!("{TILE} * ({extent} // {TILE})");
        let rest = [
            ("below", (whole(&rows), rows.clone()), ("0".to_owned(), columns.clone())),
            ("beside", ("0".to_owned(), whole(&rows)), (whole(&columns), columns.clone())),
        ];
        let is_whole = |label: Label| self.extents[label].as_int().is_some_and(|extent| extent % TILE == 0);
        for ((label, of_rows, of_columns), extent) in rest.into_iter().zip([tiles.row, tiles.column]) {
            if is_whole(extent) {
                continue;
            }
            let mut dimensions = others.clone();
            dimensions.push((row.clone(), format!("{}:{}", of_rows.0, of_rows.1)));
            dimensions.push((column.clone(), format!("{}:{}", of_columns.0, of_columns.1)));
            template.elementwise(self.products(label, dimensions, target, adds)?);
        }
        Ok(())
    }
}
