//! Regions of a stencil's outputs: the written part, its interior, where every input has all accessed
//! elements, and the boundary around the interior.

use super::{Boundary, Stencil};

/// Numbers of iterations at the beginning and at the end of an iterator that do not belong to a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Margin {
    pub(crate) begin: i64,
    pub(crate) end: i64,
}

/// The margins of a stencil, one of each kind for each iterator.
pub(super) struct Margins {
    /// Around what is written.
    pub(super) written: Vec<Margin>,
    /// Around the interior.
    pub(super) interior: Vec<Margin>,
}

/// A part of the outputs: its label, and a range for each iterator.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Region {
    pub(super) label: String,
    pub(super) ranges: Vec<String>,
    /// Whether inputs may lack elements.
    pub(super) is_boundary: bool,
}

impl Margin {
    /// The range of a dimension without its margin.
    pub(crate) fn range(self, extent: &str) -> String {
        format!("{}:{}", self.begin, back(extent, self.end))
    }
}

impl Stencil {
    /// The margins that the offsets of the reads make.
    pub(super) fn margins(&self) -> Margins {
        let none = vec![Margin::default(); self.extents.len()];
        let mut margins = Margins { written: none.clone(), interior: none };
        let widen = |margins: &mut Vec<Margin>, iterator: usize, offset: i64| {
            let margin: &mut Margin = &mut margins[iterator];
            margin.begin = margin.begin.max(-offset);
            margin.end = margin.end.max(offset);
        };
        for read in &self.reads {
            let field = &self.fields[read.field];
            for (iterator, offset) in field.iterators.iter().zip(&read.offsets) {
                widen(&mut margins.interior, *iterator, *offset);
                if matches!(field.boundary, Boundary::Shrink) {
                    widen(&mut margins.written, *iterator, *offset);
                }
            }
        }
        margins
    }
}

impl Margins {
    /// The interior, then the boundary: the outermost iterator has a part before and one behind the interior, which go along all of the
    /// others, the next iterator has two along the interior of the first, and so on. Parts do not overlap, and may be empty.
    pub(super) fn regions(&self, extents: &[String]) -> Vec<Region> {
        let bounds: Vec<Bounds> = extents
            .iter()
            .zip(self.written.iter().zip(&self.interior))
            .map(|(extent, (written, interior))| Bounds::of(extent, *written, *interior))
            .collect();
        let inner = |bounds: &Bounds| format!("{}:{}", bounds.interior.0, bounds.interior.1);
        let ranges = bounds.iter().map(inner).collect();
        let mut regions = vec![Region { label: "interior".to_owned(), ranges, is_boundary: false }];
        for (at, own) in bounds.iter().enumerate() {
            let sides = [
                ("before", self.interior[at].begin > self.written[at].begin, own.before()),
                ("behind", self.interior[at].end > self.written[at].end, own.behind()),
            ];
            for (side, _, range) in sides.into_iter().filter(|(_, is_there, _)| *is_there) {
                let mut ranges: Vec<String> = bounds[..at].iter().map(inner).collect();
                ranges.push(range);
                ranges.extend(bounds[at + 1..].iter().map(|b| format!("{}:{}", b.written.0, b.written.1)));
                regions.push(Region { label: format!("{side}_{at}"), ranges, is_boundary: true });
            }
        }
        regions
    }
}

/// The range of an iterator that is written, and that of its interior.
struct Bounds {
    written: (String, String),
    interior: (String, String),
}

impl Bounds {
    fn of(extent: &str, written: Margin, interior: Margin) -> Self {
        let range = |margin: Margin| (margin.begin.to_string(), back(extent, margin.end));
        Bounds { written: range(written), interior: range(interior) }
    }

    /// Elements written before the interior; all of them if the interior would begin behind the end.
    fn before(&self) -> String {
        format!("{}:min({}, {})", self.written.0, self.interior.0, self.written.1)
    }

    /// Elements written behind the interior and not before it.
    fn behind(&self) -> String {
        format!("max({}, {}):{}", self.interior.0, self.interior.1, self.written.1)
    }
}

/// A position counted from the end.
pub(super) fn back(extent: &str, count: i64) -> String {
    if count == 0 { extent.to_owned() } else { format!("{extent} - {count}") }
}
