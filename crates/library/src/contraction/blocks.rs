//! The `fast` expansion of a contraction that contains a matrix product, `C[i, j] += A[i, k] * B[k, j]`.
//!
//! The structure is that of Goto and van de Geijn ("Anatomy of High-Performance Matrix Multiplication", 2008), with
//! the roles of `A` and `B` exchanged. A tile of [`ROWS`] by [`Blocks::columns`] sums stays in registers: the
//! innermost loop, over products, adds to it a column of `A` times a row of `B`. Strips of `B`, as wide as a tile, are
//! copied into the order of their accesses; a panel of them fits into the second-level cache. The rows of a tile of
//! `A` are copied into the first-level cache. Threads share the panels, and the rows of tiles. Copies of rows and
//! columns at the border repeat the last ones of the matrix, so every tile is whole. Only the elements of `C` are written.
//!
//! All other labels become enclosing loops: labels of output dimensions become dimensions of the parallel
//! map, and summed labels become control-flow loops. Products of few elements, which only the run tells, have a
//! loop of their own.

use sdfg::dtype::ScalarType;
use sdfg::symbolic::Expr;

use super::expand::param;
use super::{Contraction, Label, Term};
use crate::error::ExpandErrorKind;
use crate::operand::Operand;
use crate::operation::Target;
use crate::template::{Element, Template, converted};

/// Rows of a tile.
const ROWS: i64 = 8;
/// Bytes of a row of a tile: three registers of 64. With eight rows, sums fill 24 of 32 registers.
const ROW_BYTES: i64 = 192;
/// Bytes of the products of one element: those of the rows of a tile have 16 KiB.
const DEPTH_BYTES: i64 = 2048;
/// Bytes of a panel of `B`, about half of a second-level cache.
const PANEL_BYTES: i64 = 1 << 20;
/// Extents of matrices below which tiles do not pay: rows, columns, and products of an element.
const LEAST: [i64; 3] = [4, 4, 4];
/// Multiplications below which tiles do not pay.
const SMALL: i64 = 8192;
/// The panels of `B`.
const PANELS: &str = "__panels";
/// The rows of `A` of a tile.
const PICKED: &str = "__picked";
/// The sums of a tile in registers, and in memory.
const SUMS: [&str; 2] = ["__sums", "__tile"];

/// A contraction with the labels that make it a product of matrices.
pub(super) struct Blocks<'c> {
    contraction: &'c Contraction,
    /// `A` and `B`.
    left: &'c Term,
    right: &'c Term,
    row: Label,
    depth: Label,
    column: Label,
}

impl Contraction {
    /// The product of matrices in this contraction, if there is one whose blocks pay.
    pub(super) fn blocks(&self) -> Option<Blocks<'_>> {
        if !matches!(self.signature.output.element, ScalarType::F32 | ScalarType::F64) {
            return None;
        }
        let [one, other] = self.terms.as_slice() else { return None };
        // Neighbours in the output are columns: of both operands, `B` is the one that has them.
        let column = self.output.last().copied().flatten()?;
        let has = |term: &Term, label: Label| term.labels.contains(&Some(label));
        let (left, right) = match (has(one, column), has(other, column)) {
            (false, true) => (one, other),
            (true, false) => (other, one),
            (true, true) | (false, false) => return None,
        };
        // Diagonals are no matrices.
        let once = |term: &Term, label: Label| term.labels.iter().filter(|l| **l == Some(label)).count() == 1;
        let long = |label: &Label, least: i64| self.extents[*label].as_int().is_none_or(|n| n >= least);
        let [rows, columns, products] = LEAST;
        let kept = self.kept();
        let row = kept.iter().copied().rfind(|l| once(left, *l) && !has(right, *l) && long(l, rows))?;
        let sums: Vec<Label> = self.reduced();
        let sums = sums.into_iter().filter(|l| once(left, *l) && once(right, *l) && long(l, products));
        let last = |term: &Term| term.labels.last().copied().flatten();
        let depth = sums.max_by_key(|l| (last(right) == Some(*l), last(left) == Some(*l), *l))?;
        let constants: Option<Vec<i64>> =
            [row, depth, column].iter().map(|label| self.extents[*label].as_int()).collect();
        let is_small = constants.is_some_and(|n| n.iter().copied().fold(1, i64::saturating_mul) < SMALL);
        let fits = once(right, column) && long(&column, columns) && !is_small;
        fits.then_some(Blocks { contraction: self, left, right, row, depth, column })
    }
}

impl Blocks<'_> {
    /// Appends the states.
    pub(super) fn states(&self, template: &mut Template, target: &Target) -> Result<(), ExpandErrorKind> {
        let this = self.contraction;
        this.start(template, target)?;
        let outer: Vec<Label> = this.reduced().into_iter().filter(|label| *label != self.depth).collect();
        let is_few = self.is_few(template);
        if let Some(is_few) = &is_few {
            template.blocks(&format!("if __few: {is_few} {{\n"));
            let dimensions = this.dimensions(template, &this.order());
            template.elementwise(this.products("few", dimensions, target, true)?);
            template.blocks("} else {\n");
        }
        for (label, (param, range)) in outer.iter().zip(this.dimensions(template, &outer)) {
            template.blocks(&format!("for __sum{label}: {param} = {range} {{\n"));
        }
        let (depth, step) = (self.extent(template, self.depth), self.depth_of_panels());
        template.blocks(&format!(
            "for __depth: __first = 0:{depth}:{step} {{
state bounds {{}}
-> pack with (__count = min({step}, {depth} - __first))
"
        ));
        self.declare(template);
        self.pack(template);
        self.multiply(template, target)?;
        template.blocks("}\n");
        outer.iter().for_each(|_| template.blocks("}\n"));
        if is_few.is_some() {
            template.blocks("}\n");
        }
        Ok(())
    }

    /// The condition for products of too few elements for tiles, unless constants answer it.
    fn is_few(&self, template: &mut Template) -> Option<String> {
        let labels = [self.row, self.column, self.depth];
        if labels.iter().all(|label| self.contraction.extents[*label].as_int().is_some()) {
            return None;
        }
        let extents = labels.map(|label| self.extent(template, label));
        // Tiles are faster for few columns, too: the plain loop adds to each of them in memory.
        let is_known = self.contraction.extents[self.row].as_int().is_some();
        let short = (!is_known).then(|| format!("{} < {}", extents[0], LEAST[0]));
        let mut conditions: Vec<String> = short.into_iter().collect();
        conditions.push(format!("{} < {SMALL}", extents.join(" * ")));
        Some(conditions.join(" or "))
    }

    fn extent(&self, template: &mut Template, label: Label) -> String {
        template.extent(&self.contraction.extents[label])
    }

    /// The number of parts of so many elements into which a label's extent is cut.
    fn parts(&self, template: &mut Template, label: Label, size: i64) -> String {
        template.extent(&self.contraction.extents[label].ceil_div(&Expr::int(size)))
    }

    /// The type of sums.
    fn element(&self) -> ScalarType {
        self.contraction.signature.output.element
    }

    fn elements(&self, bytes: i64) -> i64 {
        bytes / i64::try_from(self.element().size()).unwrap_or(i64::MAX).max(1)
    }

    /// Columns of a tile.
    fn columns(&self) -> i64 {
        self.elements(ROW_BYTES)
    }

    /// Rows of a panel, which has no more than all.
    fn depth_of_panels(&self) -> i64 {
        let most = self.elements(DEPTH_BYTES);
        self.contraction.extents[self.depth].as_int().map_or(most, |depth| depth.min(most))
    }

    /// Strips of a panel.
    fn strips_of_panels(&self) -> i64 {
        self.elements(PANEL_BYTES) / self.elements(DEPTH_BYTES) / self.columns()
    }

    fn operand(&self, term: &Term) -> &Operand {
        &self.contraction.signature.inputs[term.input]
    }

    /// The labels of the output that are no dimension of a tile.
    fn around(&self) -> Vec<Label> {
        let kept = self.contraction.kept().into_iter();
        kept.filter(|label| *label != self.row && *label != self.column).collect()
    }

    /// Those of them that `B` has.
    fn around_panels(&self) -> Vec<Label> {
        self.around().into_iter().filter(|label| self.right.labels.contains(&Some(*label))).collect()
    }

    fn declare(&self, template: &mut Template) {
        let (element, columns, depth) = (self.element(), self.columns(), self.depth_of_panels());
        let mut shape: Vec<String> =
            self.around_panels().iter().map(|label| self.extent(template, *label)).collect();
        shape.push(self.parts(template, self.column, columns));
        shape.extend([depth.to_string(), columns.to_string()]);
        template.transient(PANELS, element, &shape);
        template.transient(PICKED, element, &[ROWS.to_string(), depth.to_string()]);
        for name in SUMS {
            template.transient(name, element, &[ROWS.to_string(), columns.to_string()]);
        }
    }

    /// Appends the state that copies the rows of panels from `__first` on.
    fn pack(&self, template: &mut Template) {
        let width = self.columns();
        let columns = self.extent(template, self.column);
        let (whole, all) = match self.contraction.extents[self.column].as_int() {
            Some(columns) => ((columns / width).to_string(), ((columns + width - 1) / width).to_string()),
            None => (format!("{columns} // {width}"), self.parts(template, self.column, width)),
        };
        let at = format!("{width} * __strip + __j");
        let mut state = format!("state pack {{\naccess {from}\n", from = self.operand(self.right).connector);
        if whole != "0" {
            state += &self.packed(template, "whole", &format!("0:{whole}"), &at);
        }
        if whole != all {
            let last = format!("min({at}, {columns} - 1)");
            state += &self.packed(template, "last", &format!("{whole}:{all}"), &last);
        }
        template.blocks(&(state + "}\n"));
    }

    /// A map that copies strips, in the order in which `B` has its elements.
    fn packed(&self, template: &mut Template, label: &str, strips: &str, column: &str) -> String {
        let (operand, width) = (self.operand(self.right), self.columns());
        let mut outer = self.outer(template, &self.around_panels());
        outer.push(format!("__strip = {strips}"));
        let is_in_order = self.right.labels.last().copied().flatten() == Some(self.column);
        let [k, j] = ["__k = 0:__count".to_owned(), format!("__j = 0:{width}")];
        let inner = if is_in_order { [k, j] } else { [j, k] };
        let from =
            self.element_at(operand, self.right, &[(self.column, column), (self.depth, "__first + __k")]);
        let mut to: Vec<String> = self.around_panels().into_iter().map(param).collect();
        to.extend(["__strip", "__k", "__j"].map(str::to_owned));
        let value = converted("__x", operand.element, self.element());
        format!(
            "access __{label} = {PANELS}
map __{label}_strips [{outer}] collapse({shared}) {{
map __{label}_elements [{inner}] schedule(sequential) {{
tasklet __{label}_copy (__x) -> (__o) {{ __o = {value} }}
__{label}_elements.{source} -> __{label}_copy.__x: {from}
__{label}_copy.__o -> __{label}_elements.{PANELS}: {PANELS}[{to}]
}}
__{label}_strips.{source} -> __{label}_elements.{source}
__{label}_elements.{PANELS} -> __{label}_strips.{PANELS}
}}
{source} -> __{label}_strips.{source}
__{label}_strips.{PANELS} -> __{label}
",
            shared = outer.len(),
            outer = outer.join(", "),
            inner = inner.join(", "),
            source = operand.connector,
            from = from.text(),
            to = to.join(", "),
        )
    }

    /// Dimensions of a map over labels.
    fn outer(&self, template: &mut Template, labels: &[Label]) -> Vec<String> {
        let dimensions = self.contraction.dimensions(template, labels).into_iter();
        dimensions.map(|(param, range)| format!("{param} = {range}")).collect()
    }

    /// The element of an operand where some labels have these values, and the others that of their parameters.
    fn element_at(&self, operand: &Operand, term: &Term, values: &[(Label, &str)]) -> Element {
        self.element_of(operand, &operand.connector, &term.labels, values)
    }

    fn element_of(
        &self,
        operand: &Operand,
        container: &str,
        labels: &[Option<Label>],
        values: &[(Label, &str)],
    ) -> Element {
        let mut element = self.contraction.element(operand, container, labels);
        for (index, position) in element.indices.iter_mut().zip(operand.seen()) {
            let value = values.iter().find(|(label, _)| labels[position] == Some(*label));
            if let Some((_, value)) = value {
                (*value).clone_into(index);
            }
        }
        element
    }

    /// Appends the state that adds the products of tiles from `__first` on.
    fn multiply(&self, template: &mut Template, target: &Target) -> Result<(), ExpandErrorKind> {
        let (width, strips) = (self.columns(), self.strips_of_panels());
        let [rows, columns] = [self.row, self.column].map(|label| self.extent(template, label));
        let all = self.parts(template, self.column, width);
        let mut outer = self.outer(template, &self.around());
        outer.push(format!("__panel = 0:{}", self.parts(template, self.column, width * strips)));
        outer.push(format!("__row = 0:{}", self.parts(template, self.row, ROWS)));
        let left = self.operand(self.left);
        let row = format!("min({ROWS} * __row + __r, {rows} - 1)");
        let a = self.element_at(left, self.left, &[(self.row, row.as_str()), (self.depth, "__first + __k")]);
        let is_turned = {
            let place = |label: Label| self.left.labels.iter().position(|known| *known == Some(label));
            place(self.depth) < place(self.row)
        };
        let [r, k] = [format!("__r = 0:{ROWS}"), "__k = 0:__count".to_owned()];
        let picked = if is_turned { [k, r] } else { [r, k] };
        let mut b: Vec<String> = self.around_panels().into_iter().map(param).collect();
        b.extend(["__strip", "__k", "__j"].map(str::to_owned));
        let output = &self.contraction.signature.output;
        let (i, j) = (format!("{ROWS} * __row + __r"), format!("{width} * __strip + __j"));
        let places = [(self.row, i.as_str()), (self.column, j.as_str())];
        let c = self.element_of(output, target.container(), &self.contraction.output, &places);
        let (ty, alpha) = (self.element(), &self.contraction.alpha);
        let scale = if alpha.is_one() { String::new() } else { format!("{} * ", alpha.code(ty)?) };
        let [sums, tile] = SUMS;
        template.blocks(&format!(
            "state multiply {{
access {from}
access {PANELS}
access __out = {to}
map __blocks [{outer}] collapse({shared}) {{
access __rows = {PICKED}
map __pick [{picked}] schedule(sequential) {{
tasklet __picks (__x) -> (__o) {{ __o = {value} }}
__pick.{from} -> __picks.__x: {a}
__picks.__o -> __pick.{PICKED}: {PICKED}[__r, __k]
}}
map __strips [__strip = {strips} * __panel:min({strips} * __panel + {strips}, {all})] schedule(sequential) {{
access __begin = {sums}
access __end = {sums}
access __stored = {tile}
map __clear [__r = 0:{ROWS}] schedule(unrolled) {{
map __zeros [__j = 0:{width}] schedule(simd) {{
tasklet __zero () -> (__o) {{ __o = {ty}(0) }}
__zero.__o -> __zeros.{sums}: {sums}[__r, __j]
order __zeros -> __zero
}}
__zeros.{sums} -> __clear.{sums}
order __clear -> __zeros
}}
map __products [__k = 0:__count] schedule(sequential) {{
map __column [__r = 0:{ROWS}] schedule(unrolled) {{
map __lanes [__j = 0:{width}] schedule(simd) {{
tasklet __product (__a, __b) -> (__o) {{ __o = __a * __b }}
__lanes.{PICKED} -> __product.__a: {PICKED}[__r, __k]
__lanes.{PANELS} -> __product.__b: {PANELS}[{b}]
__product.__o -> __lanes.{sums}: {sums}[__r, __j] wcr(sum)
}}
__column.{PICKED} -> __lanes.{PICKED}
__column.{PANELS} -> __lanes.{PANELS}
__lanes.{sums} -> __column.{sums}
}}
__products.{PICKED} -> __column.{PICKED}
__products.{PANELS} -> __column.{PANELS}
__column.{sums} -> __products.{sums}
}}
map __write [__r = 0:min({ROWS}, {rows} - {ROWS} * __row)] schedule(sequential) {{
map __add [__j = 0:min({width}, {columns} - {width} * __strip)] schedule(simd) {{
tasklet __scale (__x) -> (__o) {{ __o = {scale}__x }}
__add.{tile} -> __scale.__x: {tile}[__r, __j]
__scale.__o -> __add.__out: {c} wcr(sum)
}}
__write.{tile} -> __add.{tile}
__add.__out -> __write.__out
}}
order __strips -> __clear
__clear.{sums} -> __begin
order __begin -> __products
__strips.{PICKED} -> __products.{PICKED}
__strips.{PANELS} -> __products.{PANELS}
__products.{sums} -> __end
__end -> __stored: {sums}[0:{ROWS}, 0:{width}] -> {tile}[0:{ROWS}, 0:{width}]
__stored -> __write.{tile}
__write.__out -> __strips.__out
}}
__blocks.{from} -> __pick.{from}
__pick.{PICKED} -> __rows
__rows -> __strips.{PICKED}
__blocks.{PANELS} -> __strips.{PANELS}
__strips.__out -> __blocks.__out
}}
{from} -> __blocks.{from}
{PANELS} -> __blocks.{PANELS}
__blocks.__out -> __out
}}
",
            from = left.connector,
            to = target.container(),
            shared = outer.len(),
            outer = outer.join(", "),
            picked = picked.join(", "),
            value = converted("__x", left.element, ty),
            a = a.text(),
            b = b.join(", "),
            c = c.text(),
        ));
        Ok(())
    }
}
