//! The `fast` expansion of a contraction that contains a matrix product, `C[i, j] += A[i, k] * B[k, j]`.
//!
//! The structure is that of Goto and van de Geijn ("Anatomy of High-Performance Matrix Multiplication", 2008), with
//! the roles of `A` and `B` exchanged. A tile of [`ROWS`] by [`Blocks::columns`] sums stays in registers: the
//! innermost loop, over products, adds to it a column of `A` times a row of `B`. Strips of `B`, as wide as a tile, are
//! copied into the order of their accesses; a panel of them fits into the second-level cache. The rows of a tile of
//! `A` are copied into the first-level cache. Threads share the panels, and the rows of tiles. The last tile of a row or
//! column ends at the border and computes elements of the tile before it again; each element of `C` is written once.
//!
//! Products with few rows or columns use each element of a matrix seldom, and those of few terms take less time than copies.
//! [`super::direct`] and [`super::sweep`] read both matrices in place where `B` has neighbours along its rows, and
//! [`super::thin`] has loops for other orders. Products of few elements are plain loops. If extents are symbols, branches
//! select among these.
//!
//! All other labels become enclosing loops: labels of output dimensions become dimensions of the parallel
//! map, and summed labels become control-flow loops.

use sdfg::dtype::ScalarType;
use sdfg::symbolic::Expr;

use super::expand::param;
use super::thin::Destination;
use super::tile::Tile;
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
/// Extents of matrices below which neither tiles nor the loops of thin matrices pay: rows, columns, and products of an element.
const LEAST: [i64; 3] = [2, 2, 4];
/// Multiplications below which plain loops are as fast.
const SMALL: i64 = 1024;
/// Multiplications below which plain loops take less time than it takes to prepare tiles that read both matrices in place.
const TINY: i64 = 64;
/// Products of an element up to which `B` is read in place: so many of its rows stay in the first-level cache.
const FEW_PRODUCTS: i64 = 16;
/// Rows up to which a `B` that is far away is read in the order of memory.
const SWEPT_ROWS: i64 = 16;
/// Products of an element up to which a panel that is read in place stays in the second-level cache.
const NEAR_PRODUCTS: i64 = 512;
/// Elements of a `B` whose rows are so far apart that tiles which walk down its columns wait for addresses and for memory.
const FAR: i64 = 3 << 20;
/// Rows of `B` that are copied side by side, and strips that a thread copies in this way.
const ROWS_TOGETHER: i64 = 8;
const STRIPS_TOGETHER: i64 = 7;
/// The panels of `B`.
const PANELS: &str = "__panels";
/// The rows of `A` of a tile.
const PICKED: &str = "__picked";
/// The sums of a tile in registers, and in memory.
const SUMS: [&str; 2] = ["__sums", "__tile"];

/// A contraction with the labels that make it a product of matrices.
pub(super) struct Blocks<'c> {
    pub(super) contraction: &'c Contraction,
    /// `A` and `B`.
    pub(super) left: &'c Term,
    pub(super) right: &'c Term,
    pub(super) row: Label,
    pub(super) depth: Label,
    pub(super) column: Label,
}

/// How products are added to the result.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Store {
    /// The first ones are stored: nothing has set the result before.
    First,
    /// All are added.
    Add,
}

impl Store {
    /// The resolution of a write.
    pub(super) const fn resolution(self) -> &'static str {
        match self {
            Store::First => "",
            Store::Add => " wcr(sum)",
        }
    }
}

/// A comparison of extents.
pub(super) enum Truth {
    Yes,
    No,
    /// The run tells.
    Open(String),
}

impl Truth {
    pub(super) fn not(self) -> Self {
        match self {
            Truth::Yes => Truth::No,
            Truth::No => Truth::Yes,
            Truth::Open(condition) => Truth::Open(format!("not ({condition})")),
        }
    }

    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Truth::No, _) | (_, Truth::No) => Truth::No,
            (Truth::Yes, other) | (other, Truth::Yes) => other,
            (Truth::Open(one), Truth::Open(other)) => Truth::Open(format!("({one}) and ({other})")),
        }
    }

    pub(super) fn or(self, other: Self) -> Self {
        self.not().and(other.not()).not()
    }
}

impl Contraction {
    /// The product of matrices in this contraction, if there is one whose blocks pay.
    pub(super) fn blocks(&self) -> Option<Blocks<'_>> {
        let ty = self.signature.output.element;
        if !matches!(ty.component(), ScalarType::F32 | ScalarType::F64) {
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
        let row = kept.iter().copied().rfind(|l| once(left, *l) && !has(right, *l) && long(l, rows));
        let row = row.or_else(|| self.vector(left, right))?;
        let sums: Vec<Label> = self.reduced();
        let sums = sums.into_iter().filter(|l| once(left, *l) && once(right, *l) && long(l, products));
        let last = |term: &Term| term.labels.last().copied().flatten();
        let depth = sums.max_by_key(|l| (last(right) == Some(*l), last(left) == Some(*l), *l))?;
        let constants: Option<Vec<i64>> =
            [row, depth, column].iter().map(|label| self.extents[*label].as_int()).collect();
        let is_small = constants.is_some_and(|n| n.iter().copied().fold(1, i64::saturating_mul) < SMALL);
        // Complex sums have one form, which needs neighbours along the rows of `B`.
        let has_form = !ty.is_complex() || last(right) == Some(column);
        let fits = once(right, column) && long(&column, columns) && !is_small && has_form;
        fits.then_some(Blocks { contraction: self, left, right, row, depth, column })
    }
}

impl Contraction {
    /// The row of a vector, or of one for each batch: a label of no dimension.
    fn vector(&self, left: &Term, right: &Term) -> Option<Label> {
        let is_vector = left.labels.iter().flatten().all(|label| right.labels.contains(&Some(*label)));
        let spare = self.extents.len().checked_sub(1).filter(|label| self.extents[*label].is_one())?;
        let is_used = |labels: &[Option<Label>]| labels.contains(&Some(spare));
        let uses = self.terms.iter().any(|term| is_used(&term.labels)) || is_used(&self.output);
        (is_vector && !uses).then_some(spare)
    }
}

impl Blocks<'_> {
    /// Whether `A` is a vector.
    pub(super) fn has_vector(&self) -> bool {
        !self.left.labels.contains(&Some(self.row))
    }

    /// Appends the states.
    pub(super) fn states(&self, template: &mut Template, target: &Target) -> Result<(), ExpandErrorKind> {
        let this = self.contraction;
        let outer: Vec<Label> = this.reduced().into_iter().filter(|label| *label != self.depth).collect();
        let is_set_by_products = outer.is_empty() && this.is_fresh(target);
        let store = if is_set_by_products { Store::First } else { Store::Add };
        if store == Store::Add {
            this.start(template, target)?;
        }
        let to = Destination { target, outer: &outer, store };
        if self.element().is_complex() {
            let tiny = self.is_fewer(template, TINY);
            return choose(
                template,
                "__tiny",
                &tiny,
                |template| self.plain(template, "tiny", to),
                |template| self.direct(template, to),
            );
        }
        if self.is_in_order() {
            let reads_in_place = self.reads_in_place(template);
            return choose(
                template,
                "__in_place",
                &reads_in_place,
                |template| self.in_place(template, to),
                |template| self.tiles(template, to),
            );
        }
        let small = self.is_fewer(template, SMALL);
        choose(
            template,
            "__few",
            &small,
            |template| self.plain(template, "few", to),
            |template| self.thin(template, to, |template| self.tiles(template, to)),
        )
    }

    /// Appends plain loops over all labels.
    pub(super) fn plain(
        &self,
        template: &mut Template,
        name: &str,
        Destination { target, store, .. }: Destination<'_>,
    ) -> Result<(), ExpandErrorKind> {
        let this = self.contraction;
        if store == Store::First {
            this.start_in(template, target, &format!("scale_{name}"))?;
        }
        let dimensions = this.dimensions(template, &this.order());
        template.elementwise(this.products(name, dimensions, target, true)?);
        Ok(())
    }

    /// Appends the loops over panels.
    fn tiles(
        &self,
        template: &mut Template,
        Destination { target, outer, store }: Destination<'_>,
    ) -> Result<(), ExpandErrorKind> {
        for (label, (param, range)) in outer.iter().zip(self.contraction.dimensions(template, outer)) {
            template.blocks(&format!("for __sum{label}: {param} = {range} {{\n"));
        }
        let (depth, step) = (self.extent(template, self.depth), self.depth_of_panels());
        template.blocks(&format!(
            "for __depth: __first = 0:{depth}:{step} {{
state bounds {{}}
-> pack with (__count = min({step}, {depth} - __first), __fresh = max(0, 1 - __first))
"
        ));
        self.declare(template);
        self.pack(template);
        self.multiply(template, target, store)?;
        template.blocks("}\n");
        outer.iter().for_each(|_| template.blocks("}\n"));
        Ok(())
    }

    /// Whether copies of parts of the matrices would take longer than they save.
    fn reads_in_place(&self, template: &mut Template) -> Truth {
        // More rows of `B` than fit into the second-level cache beside each other come from far away for each tile.
        let is_near = self.is_below(template, self.depth, NEAR_PRODUCTS + 1);
        let few_rows = self.is_below(template, self.row, super::thin::FEW_ROWS + 1).and(is_near);
        // Tiles that are copied need as many rows as they have.
        let few_rows = few_rows.or(self.is_below(template, self.row, SWEPT_ROWS + 1));
        let few_products = self.is_below(template, self.depth, FEW_PRODUCTS + 1);
        let few_columns = self.is_below(template, self.column, 2 * self.columns());
        few_rows.or(few_products).or(few_columns)
    }

    /// Appends the loops that read both matrices in place, along the rows of `B`.
    fn in_place(&self, template: &mut Template, to: Destination<'_>) -> Result<(), ExpandErrorKind> {
        let is_narrow = self.has_few_columns(template);
        let sweeps = self.sweeps(template);
        let tiny = self.is_fewer(template, TINY);
        let others = |template: &mut Template| {
            choose(
                template,
                "__swept",
                &sweeps,
                |template| self.sweep(template, to),
                |template| self.direct(template, to),
            )
        };
        choose(
            template,
            "__tiny",
            &tiny,
            |template| self.plain(template, "tiny", to),
            |template| {
                choose(template, "__narrow", &is_narrow, |template| self.few_columns(template, to), others)
            },
        )
    }

    /// Whether `B` should be read once in the order of memory: a single row needs no element of it twice, and few rows wait for one that
    /// is far away. The result is loaded and stored once for each group of rows of `B`.
    fn sweeps(&self, template: &mut Template) -> Truth {
        let is_row = self.is_below(template, self.row, 2);
        let has_group = self.is_below(template, self.depth, super::sweep::TOGETHER).not();
        let is_low = self.is_below(template, self.row, SWEPT_ROWS + 1);
        let is_far = self.is_far(template);
        let is_wide = self.is_below(template, self.column, self.columns()).not();
        is_row.or(is_low.and(is_far)).and(is_wide).and(has_group)
    }

    /// Whether the elements of `B` are far apart.
    fn is_far(&self, template: &mut Template) -> Truth {
        let extents = [self.column, self.depth].map(|label| &self.contraction.extents[label]);
        match extents.map(|extent| extent.as_int()) {
            [Some(columns), Some(products)] if columns.saturating_mul(products) >= FAR => Truth::Yes,
            [Some(_), Some(_)] => Truth::No,
            _ => Truth::Open(format!(
                "{} * {} >= {FAR}",
                template.extent(extents[0]),
                template.extent(extents[1])
            )),
        }
    }

    /// Whether there are fewer products than `least`, where an extent is not known before the run.
    fn is_fewer(&self, template: &mut Template, least: i64) -> Truth {
        let labels = [self.row, self.column, self.depth];
        let constants: Option<Vec<i64>> =
            labels.iter().map(|label| self.contraction.extents[*label].as_int()).collect();
        match constants {
            Some(_) => Truth::No,
            None => {
                let extents = labels.map(|label| self.extent(template, label));
                Truth::Open(format!("{} < {least}", extents.join(" * ")))
            }
        }
    }

    /// Whether a label has fewer values.
    pub(super) fn is_below(&self, template: &mut Template, label: Label, least: i64) -> Truth {
        match self.contraction.extents[label].as_int() {
            Some(extent) if extent < least => Truth::Yes,
            Some(_) => Truth::No,
            None => Truth::Open(format!("{} < {least}", self.extent(template, label))),
        }
    }

    pub(super) fn extent(&self, template: &mut Template, label: Label) -> String {
        template.extent(&self.contraction.extents[label])
    }

    /// The number of parts of so many elements into which a label's extent is cut.
    pub(super) fn parts(&self, template: &mut Template, label: Label, size: i64) -> String {
        template.extent(&self.contraction.extents[label].ceil_div(&Expr::int(size)))
    }

    /// The type of sums.
    pub(super) fn element(&self) -> ScalarType {
        self.contraction.signature.output.element
    }

    pub(super) fn elements(&self, bytes: i64) -> i64 {
        bytes / i64::try_from(self.element().size()).unwrap_or(i64::MAX).max(1)
    }

    /// Columns of a tile.
    pub(super) fn columns(&self) -> i64 {
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

    pub(super) fn operand(&self, term: &Term) -> &Operand {
        &self.contraction.signature.inputs[term.input]
    }

    /// The labels of the output that are no dimension of a tile.
    pub(super) fn around(&self) -> Vec<Label> {
        let kept = self.contraction.kept().into_iter();
        kept.filter(|label| *label != self.row && *label != self.column).collect()
    }

    /// Those of them that an operand has.
    pub(super) fn around_of(&self, term: &Term) -> Vec<Label> {
        self.around().into_iter().filter(|label| term.labels.contains(&Some(*label))).collect()
    }

    /// The first value of a label in a part of so many, which has no fewer: the last part ends at the border.
    pub(super) fn first_of(&self, template: &mut Template, label: Label, size: i64, part: &str) -> String {
        match self.contraction.extents[label].as_int() {
            Some(extent) if extent % size == 0 => format!("{size} * {part}"),
            Some(_) | None => format!("min({size} * {part}, {} - {size})", self.extent(template, label)),
        }
    }

    /// Values of a part that the part before has, unless there are none.
    pub(super) fn skipped(
        &self,
        template: &mut Template,
        label: Label,
        size: i64,
        part: &str,
    ) -> Option<String> {
        match self.contraction.extents[label].as_int() {
            Some(extent) if extent % size == 0 => None,
            Some(_) | None => {
                let extent = self.extent(template, label);
                Some(format!("max(0, {size} * {part} - {extent} + {size})"))
            }
        }
    }

    fn declare(&self, template: &mut Template) {
        let (element, columns, depth) = (self.element(), self.columns(), self.depth_of_panels());
        let mut shape: Vec<String> =
            self.around_of(self.right).iter().map(|label| self.extent(template, *label)).collect();
        shape.push(self.parts(template, self.column, columns));
        shape.extend([depth.to_string(), columns.to_string()]);
        template.transient(PANELS, element, &shape);
        template.transient(PICKED, element, &[ROWS.to_string(), depth.to_string()]);
        for name in SUMS {
            template.transient(name, element, &[ROWS.to_string(), columns.to_string()]);
        }
    }

    /// Appends the state that copies the rows of panels from `__first` on, in the order in which `B` has its elements.
    fn pack(&self, template: &mut Template) {
        let (operand, width) = (self.operand(self.right), self.columns());
        let first = self.first_of(template, self.column, width, "__strip");
        let column = format!("{first} + __j");
        let mut outer = self.outer(template, &self.around_of(self.right));
        let all = self.parts(template, self.column, width);
        let j = format!("__j = 0:{width}");
        let inner = if self.is_in_order() {
            // Few rows at a time, which processors fetch ahead side by side: the rows of one strip are far apart.
            let groups = self.parts(template, self.column, width * STRIPS_TOGETHER);
            outer.push(format!("__side = 0:{groups}"));
            let first = format!("{STRIPS_TOGETHER} * __side");
            vec![
                format!("__group = 0:(__count + {}) // {ROWS_TOGETHER}", ROWS_TOGETHER - 1),
                format!("__strip = {first}:min({first} + {STRIPS_TOGETHER}, {all})"),
                format!(
                    "__k = {ROWS_TOGETHER} * __group:min({ROWS_TOGETHER} * __group + {ROWS_TOGETHER}, __count)"
                ),
                j,
            ]
        } else {
            outer.push(format!("__strip = 0:{all}"));
            vec![j, "__k = 0:__count".to_owned()]
        };
        let from =
            self.element_at(operand, self.right, &[(self.column, &column), (self.depth, "__first + __k")]);
        let mut to: Vec<String> = self.around_of(self.right).into_iter().map(param).collect();
        to.extend(["__strip", "__k", "__j"].map(str::to_owned));
        template.blocks(&format!(
            "state pack {{
access {source}
access {PANELS}
map __strips [{outer}] collapse({shared}) {{
map __elements [{inner}] schedule(sequential) {{
tasklet __copy (__x) -> (__o) {{ __o = {value} }}
__elements.{source} -> __copy.__x: {from}
__copy.__o -> __elements.{PANELS}: {PANELS}[{to}]
}}
__strips.{source} -> __elements.{source}
__elements.{PANELS} -> __strips.{PANELS}
}}
{source} -> __strips.{source}
__strips.{PANELS} -> {PANELS}
}}
",
            shared = outer.len(),
            outer = outer.join(", "),
            inner = inner.join(", "),
            source = operand.connector,
            value = converted("__x", operand.element, self.element()),
            from = from.text(),
            to = to.join(", "),
        ));
    }

    /// Dimensions of a map over labels.
    pub(super) fn outer(&self, template: &mut Template, labels: &[Label]) -> Vec<String> {
        let dimensions = self.contraction.dimensions(template, labels).into_iter();
        dimensions.map(|(param, range)| format!("{param} = {range}")).collect()
    }

    /// The element of an operand where some labels have these values, and the others that of their parameters.
    pub(super) fn element_at(&self, operand: &Operand, term: &Term, values: &[(Label, &str)]) -> Element {
        self.element_of(operand, &operand.connector, &term.labels, values)
    }

    pub(super) fn element_of(
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

    /// The copy of the rows of `A` for a tile: a copy of a part, where elements keep their type and order.
    fn pick(&self, template: &mut Template) -> String {
        let (left, ty) = (self.operand(self.left), self.element());
        let first = self.first_of(template, self.row, ROWS, "__row");
        let place = |label: Label| self.left.labels.iter().position(|known| *known == Some(label));
        let is_turned = place(self.depth) < place(self.row);
        let from = &left.connector;
        if !is_turned && left.element == ty {
            // The matrix has as many rows. Back ends would write out a loop of constant length around the copies of rows.
            let count = match self.contraction.extents[self.row].as_int() {
                Some(_) => ROWS.to_string(),
                None => format!("min({ROWS}, {})", self.extent(template, self.row)),
            };
            let (rows, products) = (format!("{first}:{first} + {count}"), "__first:__first + __count");
            let a = self.element_at(left, self.left, &[(self.row, &rows), (self.depth, products)]);
            return format!(
                "__blocks.{from} -> __rows: {a} -> {PICKED}[0:{count}, 0:__count]\n",
                a = a.text()
            );
        }
        let row = format!("{first} + __r");
        let a = self.element_at(left, self.left, &[(self.row, row.as_str()), (self.depth, "__first + __k")]);
        let [r, k] = [format!("__r = 0:{ROWS}"), "__k = 0:__count".to_owned()];
        let picked = if is_turned { [k, r] } else { [r, k] };
        format!(
            "map __pick [{picked}] schedule(sequential) {{
tasklet __picks (__x) -> (__o) {{ __o = {value} }}
__pick.{from} -> __picks.__x: {a}
__picks.__o -> __pick.{PICKED}: {PICKED}[__r, __k]
}}
__blocks.{from} -> __pick.{from}
__pick.{PICKED} -> __rows
",
            picked = picked.join(", "),
            value = converted("__x", left.element, ty),
            a = a.text(),
        )
    }

    /// Appends the state that adds the products of tiles from `__first` on.
    fn multiply(
        &self,
        template: &mut Template,
        target: &Target,
        store: Store,
    ) -> Result<(), ExpandErrorKind> {
        let (width, strips) = (self.columns(), self.strips_of_panels());
        let rows = self.extent(template, self.row);
        let all = self.parts(template, self.column, width);
        let mut outer = self.outer(template, &self.around());
        outer.push(format!("__panel = 0:{}", self.parts(template, self.column, width * strips)));
        outer.push(format!("__row = 0:{}", self.parts(template, self.row, ROWS)));
        let left = self.operand(self.left);
        let pick = self.pick(template);
        let mut b: Vec<String> = self.around_of(self.right).into_iter().map(param).collect();
        b.extend(["__strip", "__k", "__j"].map(str::to_owned));
        let output = &self.contraction.signature.output;
        let (i, j) = (format!("{ROWS} * __row + __r"), format!("{width} * __strip + __j"));
        let places = [(self.row, i.as_str()), (self.column, j.as_str())];
        let c = self.element_of(output, target.container(), &self.contraction.output, &places);
        let (ty, alpha) = (self.element(), &self.contraction.alpha);
        let scale = if alpha.is_one() { String::new() } else { format!("{} * ", alpha.code(ty)?) };
        let [sums, tile] = SUMS;
        let from_row = match self.skipped(template, self.row, ROWS, "__row") {
            Some(skipped) => format!("__r + {skipped}"),
            None => "__r".to_owned(),
        };
        let skipped = self.skipped(template, self.column, width, "__strip");
        // The rows of a tile that no tile before has go to the result, at most so many of them.
        let written = |template: &mut Template, name: &str, most: &str, store: Store| {
            let rows = format!("0:min({ROWS}, {rows} - {ROWS} * __row{most})");
            let tile = Tile {
                name,
                container: tile,
                lanes: (self.column, width, "__strip"),
                rows,
                row: from_row.clone(),
                skipped: skipped.clone(),
                element: c.text(),
                scale: scale.clone(),
                store,
                is_wide: true,
            };
            tile.written(self, template)
        };
        let depth = self.contraction.extents[self.depth].as_int();
        let is_whole = depth.is_some_and(|depth| depth <= self.depth_of_panels());
        let written = if store == Store::First && !is_whole {
            let set = written(template, "__set", &format!(", {ROWS} * __fresh"), Store::First);
            let most = format!(", {ROWS} * (1 - __fresh)");
            set.then(written(template, "__add", &most, Store::Add))
        } else {
            written(template, "__write", "", store)
        };
        let edges = written.edges(&["__strips", "__blocks"], "__out");
        let writes = &written.maps;
        template.blocks(&format!(
            "state multiply {{
access {from}
access {PANELS}
access __out = {to}
map __blocks [{outer}] collapse({shared}) {{
access __rows = {PICKED}
{pick}map __strips [__strip = {strips} * __panel:min({strips} * __panel + {strips}, {all})] schedule(sequential) {{
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
{writes}{to_strips}order __strips -> __clear
__clear.{sums} -> __begin
order __begin -> __products
__strips.{PICKED} -> __products.{PICKED}
__strips.{PANELS} -> __products.{PANELS}
__products.{sums} -> __end
__end -> __stored: {sums}[0:{ROWS}, 0:{width}] -> {tile}[0:{ROWS}, 0:{width}]
}}
__rows -> __strips.{PICKED}
__blocks.{PANELS} -> __strips.{PANELS}
{to_blocks}}}
{from} -> __blocks.{from}
{PANELS} -> __blocks.{PANELS}
{to_result}}}
",
            to_strips = edges[0],
            to_blocks = edges[1],
            to_result = edges[2],
            from = left.connector,
            to = target.container(),
            shared = outer.len(),
            outer = outer.join(", "),
            b = b.join(", "),
        ));
        Ok(())
    }
}

/// Appends a branch, unless the condition is known.
pub(super) fn choose(
    template: &mut Template,
    label: &str,
    condition: &Truth,
    then: impl FnOnce(&mut Template) -> Result<(), ExpandErrorKind>,
    otherwise: impl FnOnce(&mut Template) -> Result<(), ExpandErrorKind>,
) -> Result<(), ExpandErrorKind> {
    match condition {
        Truth::Yes => then(template),
        Truth::No => otherwise(template),
        Truth::Open(condition) => {
            template.blocks(&format!("if {label}: {condition} {{\n"));
            then(template)?;
            template.blocks("} else {\n");
            otherwise(template)?;
            template.blocks("}\n");
            Ok(())
        }
    }
}
