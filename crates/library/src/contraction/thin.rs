//! Loops for products of a matrix and a thin one, with few rows or columns, in the `fast` expansion.
//!
//! Each element of the large matrix takes part in few products, so copies of it would take longer than the products:
//! it is read in place, once for each part of the thin one. A tile of sums stays in registers. The order of the
//! large matrix in memory selects its lanes ([`Form`]). The result has the lanes' label in the order of its own
//! elements; `A` and `B` exchange roles, as `C^T = B^T A^T`.

use super::blocks::{Blocks, Store, Truth, choose};
use super::expand::param;
use super::tile::{Tile, Written};
use super::{Label, Term};
use crate::error::ExpandErrorKind;
use crate::operation::Target;
use crate::template::{Template, converted};

/// Rows up to which `B` is read in place.
pub(super) const FEW_ROWS: i64 = 32;
/// Products of an element from which lanes run over them, for one row or column, for two of them one after the other, and for several side by side.
const LONG: [i64; 3] = [8, 16, 64];
/// Rows or columns of a thin matrix whose sums are beside each other in registers, with as many rows of the large matrix.
const SIDE_BY_SIDE: i64 = 4;
/// Lanes of a row of sums in memory where lanes run over products.
const FOLDED: i64 = 2;
/// Bytes of a register.
pub(super) const REGISTER: i64 = 64;
/// Rows of a tile for lanes along a large matrix: with three registers each, sums fill 12.
const LANE_ROWS: i64 = 4;
/// Rows of a tile with one register each. Fewer would wait for the multiply-add before.
const ROWS: i64 = 8;

/// The lanes of vectors.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Along the rows or columns of the large matrix, which are neighbours there.
    Long,
    /// Over the products of an element: two vectors are multiplied at a time, for so many rows or columns of the thin matrix side by side.
    Dots(i64),
    /// Along the columns or rows of the thin matrix, which is copied. Any order of the large matrix serves.
    Short,
}

/// A large matrix, with the label of its rows or columns, and a thin one.
struct Thin<'b> {
    blocks: &'b Blocks<'b>,
    large: &'b Term,
    thin: &'b Term,
    long: Label,
    short: Label,
    form: Form,
}

/// The result of a product, and how the product is added to it.
#[derive(Clone, Copy)]
pub(super) struct Destination<'t> {
    pub(super) target: &'t Target,
    /// The other summed labels, which enclosing loops run through.
    pub(super) outer: &'t [Label],
    pub(super) store: Store,
}

impl Blocks<'_> {
    /// Appends branches for thin matrices, around what serves others.
    pub(super) fn thin(
        &self,
        template: &mut Template,
        to: Destination<'_>,
        others: impl FnOnce(&mut Template) -> Result<(), ExpandErrorKind>,
    ) -> Result<(), ExpandErrorKind> {
        if self.has_vector() {
            // A vector has no rows: the matrix is the large one, however few columns there are.
            return self.few_rows(template, to);
        }
        let has_few_columns = self.is_below(template, self.column, self.columns());
        let has_few_rows = self.is_below(template, self.row, FEW_ROWS + 1);
        choose(
            template,
            "__narrow",
            &has_few_columns,
            |template| self.few_columns(template, to),
            |template| {
                choose(template, "__low", &has_few_rows, |template| self.few_rows(template, to), others)
            },
        )
    }

    /// Appends the loops for a thin `B`.
    pub(super) fn few_columns(
        &self,
        template: &mut Template,
        to: Destination<'_>,
    ) -> Result<(), ExpandErrorKind> {
        let by = |form: Form| Thin {
            blocks: self,
            large: self.left,
            thin: self.right,
            long: self.row,
            short: self.column,
            form,
        };
        let last = self.left.labels.last().copied().flatten();
        let short = |template: &mut Template| by(Form::Short).states(template, to);
        if last == Some(self.depth) {
            let [one, several] = self.dots_pay(template, self.column);
            let dots = |template: &mut Template| by(Form::Dots(SIDE_BY_SIDE)).states(template, to);
            let others = |template: &mut Template| match self.is_in_order() {
                // No others are here.
                true => dots(template),
                false => choose(template, "__narrow_several", &several, dots, short),
            };
            return choose(
                template,
                "__narrow_one",
                &one,
                |template| by(Form::Dots(1)).states(template, to),
                others,
            );
        }
        let is_long = match (last == Some(self.row), self.is_in_order()) {
            (true, true) => Truth::Yes,
            (true, false) => self.is_below(template, self.row, self.columns()).not(),
            (false, _) => Truth::No,
        };
        choose(template, "__narrow_special", &is_long, |template| by(Form::Long).states(template, to), short)
    }

    /// Appends the loops for a thin `A`, and a `B` that is not. Columns of `B` are not neighbours: [`super::direct`] has loops for those.
    fn few_rows(&self, template: &mut Template, to: Destination<'_>) -> Result<(), ExpandErrorKind> {
        let by = |form: Form| Thin {
            blocks: self,
            large: self.right,
            thin: self.left,
            long: self.column,
            short: self.row,
            form,
        };
        let last = self.right.labels.last().copied().flatten();
        let short = |template: &mut Template| by(Form::Short).states(template, to);
        if last != Some(self.depth) {
            return short(template);
        }
        let one = |template: &mut Template| by(Form::Dots(1)).states(template, to);
        if self.has_vector() {
            return one(template);
        }
        let [is_one, several] = self.dots_pay(template, self.row);
        choose(template, "__low_one", &is_one, one, |template| {
            choose(
                template,
                "__low_several",
                &several,
                |template| by(Form::Dots(SIDE_BY_SIDE)).states(template, to),
                short,
            )
        })
    }

    /// Whether a thin `B` has loops of its own although lanes can run along its rows: these would leave most lanes without a column.
    pub(super) fn has_few_columns(&self, template: &mut Template) -> Truth {
        let last = self.left.labels.last().copied().flatten();
        if last == Some(self.depth) {
            let [one, several] = self.dots_pay(template, self.column);
            one.or(several)
        } else if last == Some(self.row) {
            let is_narrow = self.is_below(template, self.column, LANE_ROWS + 1);
            is_narrow.and(self.is_below(template, self.row, self.columns()).not())
        } else {
            Truth::No
        }
    }

    /// Whether lanes over products pay for a thin matrix with one or two rows or columns of this label, one after the other, and for several
    /// side by side.
    fn dots_pay(&self, template: &mut Template, short: Label) -> [Truth; 2] {
        let [one, two, several] =
            [(1, LONG[0]), (2, LONG[1]), (SIDE_BY_SIDE, LONG[2])].map(|(number, long)| {
                let is_thin = self.is_below(template, short, number + 1);
                is_thin.and(self.is_below(template, self.depth, long).not())
            });
        [one.or(two), several]
    }
}

impl Thin<'_> {
    /// A name of this form.
    fn name(&self, name: &str) -> String {
        let side = if self.short == self.blocks.row { "low" } else { "narrow" };
        let form = match self.form {
            Form::Long => "long",
            Form::Dots(1) => "dots",
            Form::Dots(_) => "several",
            Form::Short => "short",
        };
        format!("__{side}_{form}_{name}")
    }

    /// Rows of the large matrix in a tile where lanes run over products.
    fn rows_of_dots(&self) -> i64 {
        if self.form == Form::Dots(1) { ROWS } else { SIDE_BY_SIDE }
    }

    /// Lanes of a register.
    fn lanes(&self) -> i64 {
        self.blocks.elements(REGISTER)
    }

    /// Appends the states.
    fn states(
        &self,
        template: &mut Template,
        Destination { target, outer, store }: Destination<'_>,
    ) -> Result<(), ExpandErrorKind> {
        let dimensions = self.blocks.contraction.dimensions(template, outer);
        for (label, (param, range)) in outer.iter().zip(dimensions) {
            let name = self.name(&format!("sum{label}"));
            template.blocks(&format!("for {name}: {param} = {range} {{\n"));
        }
        let (rows, width) = match self.form {
            Form::Long => (LANE_ROWS, self.blocks.columns()),
            Form::Dots(columns) => (self.rows_of_dots() * columns, self.lanes()),
            Form::Short => (ROWS, self.lanes()),
        };
        let stored = if matches!(self.form, Form::Dots(_)) { FOLDED } else { width };
        for (name, width) in [("sums", width), ("tile", stored)] {
            let shape = [rows.to_string(), width.to_string()];
            template.transient(&self.name(name), self.blocks.element(), &shape);
        }
        match self.form {
            Form::Long => self.along(template, target, store)?,
            Form::Dots(columns) => self.dots(template, target, store, columns)?,
            Form::Short => self.across(template, target, store)?,
        }
        outer.iter().for_each(|_| template.blocks("}\n"));
        Ok(())
    }

    /// Appends a state that copies the thin matrix, and returns the copy with its indices at the present values: those of
    /// [`Form::Dots`] are a row of products for each of its labels, those of [`Form::Short`] strips of lanes.
    fn packed(&self, template: &mut Template) -> (String, String) {
        let (blocks, operand) = (self.blocks, self.blocks.operand(self.thin));
        let around = blocks.around_of(self.thin);
        let (name, lanes) = (self.name("copy"), self.lanes());
        let [short, depth] = [self.short, blocks.depth].map(|label| blocks.extent(template, label));
        let mut shape: Vec<String> = around.iter().map(|label| blocks.extent(template, *label)).collect();
        let (dimensions, inner, at, value) = if matches!(self.form, Form::Dots(_)) {
            shape.extend([short.clone(), depth.clone()]);
            let inner = format!("__k = 0:{depth}");
            (format!("__part = 0:{short}"), inner, "__part, __k".to_owned(), "__part".to_owned())
        } else {
            let parts = blocks.parts(template, self.short, lanes);
            shape.extend([parts.clone(), depth.clone(), lanes.to_string()]);
            // Copies of the last row or column fill the last strip.
            let value = format!("min({lanes} * __part + __j, {short} - 1)");
            let inner = format!("__k = 0:{depth}, __j = 0:{lanes}");
            (format!("__part = 0:{parts}"), inner, "__part, __k, __j".to_owned(), value)
        };
        let mut outer = blocks.outer(template, &around);
        outer.push(dimensions);
        let mut to: Vec<String> = around.iter().map(|label| param(*label)).collect();
        to.push(at);
        let to = to.join(", ");
        template.transient(&name, blocks.element(), &shape);
        let from = blocks.element_at(operand, self.thin, &[(self.short, &value), (blocks.depth, "__k")]);
        template.blocks(&format!(
            "state {state} {{
access {source}
access {name}
map __strips [{outer}] collapse({shared}) {{
map __elements [{inner}] schedule(sequential) {{
tasklet __copy (__x) -> (__o) {{ __o = {value} }}
__elements.{source} -> __copy.__x: {from}
__copy.__o -> __elements.{name}: {name}[{to}]
}}
__strips.{source} -> __elements.{source}
__elements.{name} -> __strips.{name}
}}
{source} -> __strips.{source}
__strips.{name} -> {name}
}}
",
            state = self.name("pack"),
            source = operand.connector,
            shared = outer.len(),
            outer = outer.join(", "),
            value = converted("__x", operand.element, blocks.element()),
            from = from.text(),
        ));
        (name, to)
    }

    /// An element of an operand, as its container, its memlet and its value in the type of sums.
    fn element(&self, term: &Term, connector: &str, values: &[(Label, &str)]) -> [String; 3] {
        let operand = self.blocks.operand(term);
        let memlet = self.blocks.element_at(operand, term, values).text();
        [operand.connector.clone(), memlet, converted(connector, operand.element, self.blocks.element())]
    }

    /// An element of the result.
    fn result(&self, target: &Target, long: &str, short: &str) -> String {
        let contraction = self.blocks.contraction;
        let places = [(self.long, long), (self.short, short)];
        let output = &contraction.signature.output;
        self.blocks.element_of(output, target.container(), &contraction.output, &places).text()
    }

    fn scale(&self) -> Result<String, ExpandErrorKind> {
        let alpha = &self.blocks.contraction.alpha;
        Ok(if alpha.is_one() { String::new() } else { format!("{} * ", alpha.code(self.blocks.element())?) })
    }

    /// Lanes along the large matrix.
    fn along(&self, template: &mut Template, target: &Target, store: Store) -> Result<(), ExpandErrorKind> {
        let (blocks, width) = (self.blocks, self.blocks.columns());
        let short = blocks.extent(template, self.short);
        let first = blocks.first_of(template, self.long, width, "__at");
        let at = format!("{first} + __j");
        let row = format!("min({LANE_ROWS} * __part + __r, {short} - 1)");
        let a = self.element(self.thin, "__a", &[(self.short, &row), (blocks.depth, "__k")]);
        let b = self.element(self.large, "__b", &[(self.long, &at), (blocks.depth, "__k")]);
        let tile = Tile {
            name: "__write",
            container: &self.name("tile"),
            lanes: (self.long, width, "__at"),
            rows: format!("0:min({LANE_ROWS}, {short} - {LANE_ROWS} * __part)"),
            row: "__r".to_owned(),
            skipped: blocks.skipped(template, self.long, width, "__at"),
            element: self.result(
                target,
                &format!("{width} * __at + __j"),
                &format!("{LANE_ROWS} * __part + __r"),
            ),
            scale: self.scale()?,
            store,
            is_wide: true,
        };
        let write = tile.written(blocks, template);
        let parts = blocks.parts(template, self.short, LANE_ROWS);
        let depth = blocks.extent(template, blocks.depth);
        let loops =
            Loops { rows: LANE_ROWS, width, size: width, products: format!("0:{depth}"), rest: None, parts };
        self.multiply(template, target, &loops, [a, b], &write);
        Ok(())
    }

    /// Lanes along a copy of the thin matrix.
    fn across(&self, template: &mut Template, target: &Target, store: Store) -> Result<(), ExpandErrorKind> {
        let (blocks, lanes) = (self.blocks, self.lanes());
        let (copy, at) = self.packed(template);
        let long = blocks.extent(template, self.long);
        let row = format!("min({ROWS} * __at + __r, {long} - 1)");
        let a = self.element(self.large, "__a", &[(self.long, &row), (blocks.depth, "__k")]);
        let b = [copy.clone(), format!("{copy}[{at}]"), "__b".to_owned()];
        let tile = Tile {
            name: "__write",
            container: &self.name("tile"),
            lanes: (self.short, lanes, "__part"),
            rows: format!("0:min({ROWS}, {long} - {ROWS} * __at)"),
            row: "__r".to_owned(),
            // Strips of the copy begin at multiples.
            skipped: None,
            element: self.result(target, &format!("{ROWS} * __at + __r"), &format!("{lanes} * __part + __j")),
            scale: self.scale()?,
            store,
            is_wide: false,
        };
        let write = tile.written(blocks, template);
        let parts = blocks.parts(template, self.short, lanes);
        let depth = blocks.extent(template, blocks.depth);
        let loops =
            Loops { rows: ROWS, width: lanes, size: ROWS, products: format!("0:{depth}"), rest: None, parts };
        self.multiply(template, target, &loops, [a, b], &write);
        Ok(())
    }

    /// Lanes over products. Those that fill no vector are added to the first lane.
    fn dots(
        &self,
        template: &mut Template,
        target: &Target,
        store: Store,
        columns: i64,
    ) -> Result<(), ExpandErrorKind> {
        let (blocks, lanes, rows) = (self.blocks, self.lanes(), self.rows_of_dots());
        let [long, short, depth] =
            [self.long, self.short, blocks.depth].map(|label| blocks.extent(template, label));
        let (row, column, all, place) = if columns == 1 {
            (format!("{rows} * __at + __r"), "__part".to_owned(), String::new(), "__r".to_owned())
        } else {
            let column = format!("min({columns} * __part + __r % {columns}, {short} - 1)");
            let all = format!(", __c = 0:min({columns}, {short} - {columns} * __part)");
            (format!("{rows} * __at + __r // {columns}"), column, all, format!("{columns} * __r + __c"))
        };
        let row = format!("min({row}, {long} - 1)");
        let is_in_order = self.thin.labels.last().copied().flatten() == Some(blocks.depth);
        let copy = (!is_in_order).then(|| self.packed(template));
        let factors = |k: &str| {
            let a = self.element(self.large, "__a", &[(self.long, &row), (blocks.depth, k)]);
            let b = match &copy {
                Some((copy, at)) => {
                    let at = at.replace("__k", k).replace("__part", &column);
                    [copy.clone(), format!("{copy}[{at}]"), "__b".to_owned()]
                }
                None => self.element(self.thin, "__b", &[(self.short, &column), (blocks.depth, k)]),
            };
            [a, b]
        };
        let written = if columns == 1 { "__part".to_owned() } else { format!("{columns} * __part + __c") };
        let c = self.result(target, &format!("{rows} * __at + __r"), &written);
        let tile = self.name("tile");
        let write = format!(
            "map __write [__r = 0:min({rows}, {long} - {rows} * __at){all}] schedule(sequential) {{
tasklet __scale (__x) -> (__o) {{ __o = {scale}(__x[0] + __x[1]) }}
__write.{tile} -> __scale.__x: {tile}[{place}, 0:{FOLDED}]
__scale.__o -> __write.__out: {c}{resolution}
}}
__stored -> __write.{tile}
",
            scale = self.scale()?,
            resolution = store.resolution(),
        );
        let write = Written::by(write, "__write");
        let k = format!("({lanes} * __k + __j)");
        let products = format!("0:{depth} // {lanes}");
        // The elements that fill no vector are lanes with a mask.
        let ty = blocks.element();
        let chosen = factors(&format!("0:{depth}")).map(|[container, memlet, value]| {
            let element = value.replace("__a", &format!("__a[{k}]")).replace("__b", &format!("__b[{k}]"));
            [container, memlet, format!("({element} if {k} < {depth} else {ty}(0))")]
        });
        let rest = (format!("{depth} // {lanes}:({depth} + {}) // {lanes}", lanes - 1), chosen);
        let parts = blocks.parts(template, self.short, columns);
        let loops =
            Loops { rows: rows * columns, width: lanes, size: rows, products, rest: Some(rest), parts };
        self.multiply(template, target, &loops, factors(&k), &write);
        Ok(())
    }

    /// A loop over products that adds to the sums of a tile.
    fn added(
        &self,
        name: &str,
        range: &str,
        [[left, a, left_value], [right, b, right_value]]: &[[String; 3]; 2],
        Loops { rows, width, .. }: &Loops,
    ) -> String {
        let sums = self.name("sums");
        format!(
            "map __products{name} [__k = {range}] schedule(sequential) {{
map __column{name} [__r = 0:{rows}] schedule(unrolled) {{
map __lanes{name} [__j = 0:{width}] schedule(simd) {{
tasklet __product{name} (__a, __b) -> (__o) {{ __o = {left_value} * {right_value} }}
__lanes{name}.{left} -> __product{name}.__a: {a}
__lanes{name}.{right} -> __product{name}.__b: {b}
__product{name}.__o -> __lanes{name}.{sums}: {sums}[__r, __j] wcr(sum)
}}
__column{name}.{left} -> __lanes{name}.{left}
__column{name}.{right} -> __lanes{name}.{right}
__lanes{name}.{sums} -> __column{name}.{sums}
}}
__products{name}.{left} -> __column{name}.{left}
__products{name}.{right} -> __column{name}.{right}
__column{name}.{sums} -> __products{name}.{sums}
}}
__parts.{left} -> __products{name}.{left}
__parts.{right} -> __products{name}.{right}
"
        )
    }

    /// Maps that add the halves of each row of sums, until [`FOLDED`] lanes are left for the tile. Lanes of one row in registers are added
    /// by few instructions, those of several rows in memory by gathers.
    fn folded(&self, template: &mut Template, rows: i64, width: i64) -> String {
        let (mut text, mut half) = (String::new(), width / 2);
        let (mut node, mut from) = ("__end".to_owned(), self.name("sums"));
        while half >= FOLDED {
            let (next, to) = if half == FOLDED {
                ("__stored".to_owned(), self.name("tile"))
            } else {
                let (next, to) = (format!("__half{half}"), self.name(&format!("half{half}")));
                template.transient(&to, self.blocks.element(), &[rows.to_string(), half.to_string()]);
                text.push_str(&format!("access {next} = {to}\n"));
                (next, to)
            };
            text.push_str(&format!(
                "map __fold{half} [__r = 0:{rows}] schedule(unrolled) {{
map __fold{half}_lanes [__j = 0:{half}] schedule(simd) {{
tasklet __fold{half}_add (__x, __y) -> (__o) {{ __o = __x + __y }}
__fold{half}_lanes.{from} -> __fold{half}_add.__x: {from}[__r, __j]
__fold{half}_lanes.{from} -> __fold{half}_add.__y: {from}[__r, __j + {half}]
__fold{half}_add.__o -> __fold{half}_lanes.{to}: {to}[__r, __j]
}}
__fold{half}.{from} -> __fold{half}_lanes.{from}
__fold{half}_lanes.{to} -> __fold{half}.{to}
}}
{node} -> __fold{half}.{from}
__fold{half}.{to} -> {next}
"
            ));
            (node, from) = (next, to);
            half /= 2;
        }
        text
    }

    /// Appends the state that computes and writes tiles.
    fn multiply(
        &self,
        template: &mut Template,
        target: &Target,
        loops: &Loops,
        factors: [[String; 3]; 2],
        write: &Written,
    ) {
        let (blocks, element) = (self.blocks, self.blocks.element());
        let Loops { rows, width, size, products, rest, parts } = loops;
        let [sums, tile] = ["sums", "tile"].map(|name| self.name(name));
        let [left, right] = [&factors[0][0], &factors[1][0]];
        let (mut added, mut last) = (self.added("", products, &factors, loops), "__products");
        if let Some((range, factors)) = rest {
            added.push_str(&self.added("_rest", range, factors, loops));
            added.push_str(&format!(
                "access __between = {sums}
__products.{sums} -> __between
order __between -> __products_rest
"
            ));
            last = "__products_rest";
        }
        let stored = match self.form {
            Form::Dots(_) => self.folded(template, *rows, *width),
            Form::Long | Form::Short => {
                format!("__end -> __stored: {sums}[0:{rows}, 0:{width}] -> {tile}[0:{rows}, 0:{width}]\n")
            }
        };
        let edges = write.edges(&["__parts", "__tiles"], "__out");
        let mut outer = blocks.outer(template, &blocks.around());
        outer.push(format!("__at = 0:{}", blocks.parts(template, self.long, *size)));
        template.blocks(&format!(
            "state {state} {{
access {left}
access {right}
access __out = {to}
map __tiles [{outer}] collapse({shared}) {{
map __parts [__part = 0:{parts}] schedule(sequential) {{
access __begin = {sums}
access __end = {sums}
access __stored = {tile}
map __clear [__r = 0:{rows}] schedule(unrolled) {{
map __zeros [__j = 0:{width}] schedule(simd) {{
tasklet __zero () -> (__o) {{ __o = {element}(0) }}
__zero.__o -> __zeros.{sums}: {sums}[__r, __j]
order __zeros -> __zero
}}
__zeros.{sums} -> __clear.{sums}
order __clear -> __zeros
}}
{added}order __parts -> __clear
__clear.{sums} -> __begin
order __begin -> __products
{last}.{sums} -> __end
{stored}{write}{to_parts}}}
__tiles.{left} -> __parts.{left}
__tiles.{right} -> __parts.{right}
{to_tiles}}}
{left} -> __tiles.{left}
{right} -> __tiles.{right}
{to_result}}}
",
            state = self.name("multiply"),
            write = write.maps,
            to_parts = edges[0],
            to_tiles = edges[1],
            to_result = edges[2],
            to = target.container(),
            shared = outer.len(),
            outer = outer.join(", "),
        ));
    }
}

/// The loops around and in a tile.
struct Loops {
    /// Rows of a tile.
    rows: i64,
    /// Lanes of a row, of one or more registers.
    width: i64,
    /// Values of the large matrix's label in a tile.
    size: i64,
    /// The range of the loop over products.
    products: String,
    /// That of a second loop, with its factors.
    rest: Option<(String, [[String; 3]; 2])>,
    /// Parts of the thin matrix.
    parts: String,
}
