//! Tiles of products that read both matrices in place, in the `fast` expansion.
//!
//! The lanes of vectors run along rows of `B`, whose elements are neighbours. Copies of parts of the matrices would take longer than
//! they save where `B` has few rows, or `A` has few. A tile of [`ROWS`] rows and [`Blocks::columns`] columns of sums stays in registers.
//! Columns that fill no tile form strips of one register, of which the last one has a mask. Rows that are missing in
//! the last tile repeat the last row, and are not written.
//!
//! Complex sums have separate registers for both parts, `C.re += A.re * B.re - A.im * B.im` and `C.im += A.re * B.im + A.im * B.re`: four
//! multiply-adds for each row, and the parts of a row of `B` are told apart once for all rows.
//!
//! Products of any size work, down to a single one: there is nothing to allocate and no loop over single elements.

use super::blocks::{Blocks, Store, Truth, choose};
use super::thin::{Destination, REGISTER};
use super::{Label, Term};
use crate::error::ExpandErrorKind;
use crate::template::{Template, converted};

/// Rows of a tile, and of one for few rows. Sums fill 24 or 12 registers.
const ROWS: i64 = 8;
const HALF: i64 = 4;
/// Tiles of a panel, which stays in the second-level cache while the rows of `A` pass. Threads share panels and rows of tiles.
const TILES_OF_PANELS: i64 = 21;
/// Tiles down the rows for which the columns of a tile stay in the first-level cache.
const TILES_OF_BLOCKS: i64 = 4;

/// Rows from which tiles of [`HALF`] as many rows save too little.
const FEW: i64 = 33;

/// Whether tiles of [`HALF`] rows fit so many rows better.
fn fills_half(rows: i64) -> bool {
    rows < FEW && (rows + ROWS - 1) % ROWS < HALF
}

/// Tiles of one width beside each other.
struct Strips {
    /// Rows of a tile.
    rows: i64,
    /// The name of the form, which names begin with.
    name: &'static str,
    /// Dimensions of the parallel map, and of the map over tiles inside: `__at` counts tiles down the rows, `__part` along them.
    outer: Vec<String>,
    inner: String,
    /// Columns of a tile.
    width: i64,
    /// The first column.
    first: &'static str,
    /// Whether the last tile has a mask: from the first column on, there are `__left`.
    masked: bool,
}

impl Blocks<'_> {
    /// Whether `B` has neighbours along its rows, so that tiles can read it in place.
    pub(super) fn is_in_order(&self) -> bool {
        self.right.labels.last().copied().flatten() == Some(self.column)
    }

    /// Appends the states of tiles that read both matrices in place.
    pub(super) fn direct(&self, template: &mut Template, to: Destination<'_>) -> Result<(), ExpandErrorKind> {
        let rows = self.extent(template, self.row);
        let is_half = match self.contraction.extents[self.row].as_int() {
            Some(rows) if fills_half(rows) => Truth::Yes,
            Some(_) => Truth::No,
            None => Truth::Open(format!("{rows} < {FEW} and ({rows} + {}) % {ROWS} < {HALF}", ROWS - 1)),
        };
        choose(
            template,
            "__half",
            &is_half,
            |template| self.direct_by(template, to, HALF),
            |template| self.direct_by(template, to, ROWS),
        )
    }

    /// Appends the state of tiles of so many rows.
    fn direct_by(
        &self,
        template: &mut Template,
        Destination { target, outer: sums, store }: Destination<'_>,
        rows: i64,
    ) -> Result<(), ExpandErrorKind> {
        let dimensions = self.contraction.dimensions(template, sums);
        for (label, (param, range)) in sums.iter().zip(dimensions) {
            template.blocks(&format!("for __direct{rows}_sum{label}: {param} = {range} {{\n"));
        }
        let (strips, bounds) = self.strips(template, rows);
        let first = strips.first().map_or("__wide", |strip| strip.name);
        template.blocks(&format!("state bounds{rows} {{}}\n-> {first}{rows} with ({bounds})\n"));
        let (left, right) = (self.operand(self.left), self.operand(self.right));
        for strip in &strips {
            let maps = self.strip(template, strip, target.container(), store)?;
            let mut outer = self.outer(template, &self.around());
            outer.extend(strip.outer.iter().cloned());
            template.blocks(&format!(
                "state {name}{rows} {{
access {a}
access {b}
access __out = {to}
map __tiles [{outer}] collapse({shared}) {{
{maps}__tiles.{a} -> {name}.{a}
__tiles.{b} -> {name}.{b}
{name}.__whole -> __tiles.__whole
{name}.__some -> __tiles.__some
}}
{a} -> __tiles.{a}
{b} -> __tiles.{b}
__tiles.__whole -> __out
__tiles.__some -> __out
}}
",
                name = strip.name,
                a = left.connector,
                b = right.connector,
                to = target.container(),
                outer = outer.join(", "),
                shared = outer.len(),
            ));
        }
        sums.iter().for_each(|_| template.blocks("}\n"));
        Ok(())
    }

    /// Strips of whole width, then those of one register, and the symbols that they use. Back ends compute with symbols of transitions
    /// as they are; extents would be written out wherever the symbol occurs.
    fn strips(&self, template: &mut Template, rows: i64) -> (Vec<Strips>, String) {
        let (width, lanes) = (self.columns(), self.lanes());
        let columns = self.extent(template, self.column);
        let tiles = self.parts(template, self.row, rows);
        let (mut strips, mut bounds) = (Vec::new(), Vec::new());
        let known = self.contraction.extents[self.column].as_int();
        // A register of each part for each row leaves none for more columns.
        if self.element().is_complex() {
            bounds.push(format!("__beside = 0, __left = {columns}"));
        } else {
            bounds.push(format!("__beside = {width} * ({columns} // {width}), __left = {columns} % {width}"));
        }
        if !self.element().is_complex() && known.is_none_or(|columns| columns >= width) {
            let (first, before) = (format!("{TILES_OF_PANELS} * __panel"), TILES_OF_PANELS - 1);
            let down = format!("{TILES_OF_BLOCKS} * __block");
            let blocks = self.parts(template, self.row, rows * TILES_OF_BLOCKS);
            bounds.push(format!("__all_wide = {columns} // {width}"));
            bounds.push(format!("__all_panels = ({columns} // {width} + {before}) // {TILES_OF_PANELS}"));
            strips.push(Strips {
                rows,
                name: "__wide",
                outer: vec!["__panel = 0:__all_panels".to_owned(), format!("__block = 0:{blocks}")],
                inner: format!(
                    "__part = {first}:min({first} + {TILES_OF_PANELS}, __all_wide), __at = {down}:min({down} + {TILES_OF_BLOCKS}, {tiles})"
                ),
                width,
                first: "0",
                masked: false,
            });
        }
        if self.element().is_complex() || known.is_none_or(|columns| columns % width != 0) {
            let left = if self.element().is_complex() { columns } else { format!("{columns} % {width}") };
            bounds.push(format!("__all_edge = ({left} + {}) // {lanes}", lanes - 1));
            bounds.push(format!("__edge_tiles = {tiles} * min(1, {left})"));
            strips.push(Strips {
                rows,
                name: "__edge",
                // Lowering does not know how many tiles there are, but that there are no more.
                outer: vec![format!("__at = 0:min({tiles}, __edge_tiles)")],
                inner: "__part = 0:__all_edge".to_owned(),
                width: lanes,
                first: "__beside",
                masked: true,
            });
        }
        (strips, bounds.join(", "))
    }

    /// Lanes of a register of sums.
    fn lanes(&self) -> i64 {
        let bytes = i64::try_from(self.element().component().size()).unwrap_or(REGISTER);
        REGISTER / bytes.max(1)
    }

    /// The map over tiles of one width. Its outputs are `__whole` and `__some`.
    fn strip(
        &self,
        template: &mut Template,
        strip: &Strips,
        to: &str,
        store: Store,
    ) -> Result<String, ExpandErrorKind> {
        let Strips { rows: size, name, inner, width, first, masked, .. } = strip;
        let ty = self.element();
        let (left, right) = (self.operand(self.left), self.operand(self.right));
        let (rows, depth) = (self.extent(template, self.row), self.extent(template, self.depth));
        let [sums, tile] = ["sums", "tile"].map(|kind| format!("{name}{size}_{kind}"));
        // Imaginary parts are behind the real ones.
        let all = if ty.is_complex() { 2 * size } else { *size };
        for container in [&sums, &tile] {
            template.transient(container, ty.component(), &[all.to_string(), width.to_string()]);
        }
        let is_whole = self.contraction.extents[self.row].as_int().is_some_and(|extent| extent % size == 0);
        let row = format!("{size} * __at + __r");
        let row = if is_whole { row } else { format!("min({row}, {rows} - 1)") };
        let a = self.element_at(left, self.left, &[(self.row, &row), (self.depth, "__k")]).text();
        let place = format!("{width} * __part + __j");
        let (columns, factor) = if *masked {
            let element = converted(&format!("__b[{place}]"), right.element, ty);
            let columns = format!("{first}:{}", self.extent(template, self.column));
            (columns, format!("({element} if {place} < __left else {ty}(0))"))
        } else {
            (place.clone(), converted("__b", right.element, ty))
        };
        let b = self.element_at(right, self.right, &[(self.column, &columns), (self.depth, "__k")]).text();
        let output = &self.contraction.signature.output;
        let places =
            [(self.row, format!("{size} * __at + __r")), (self.column, format!("{first} + {place}"))];
        let places: Vec<(Label, &str)> =
            places.iter().map(|(label, place)| (*label, place.as_str())).collect();
        let c = self.element_of(output, to, &self.contraction.output, &places).text();
        let alpha = &self.contraction.alpha;
        let scale = if alpha.is_one() { String::new() } else { format!("{} * ", alpha.code(ty)?) };
        let lanes =
            if *masked { format!("0:min({width}, __left - {width} * __part)") } else { format!("0:{width}") };
        // Back ends see that this is at most one.
        let full = format!("min(1, ({rows} - {size} * __at) // {size})");
        let (sum, parts) = if ty.is_complex() { ("complex(__x, __y)", "__x, __y") } else { ("__x", "__x") };
        let write = |to: &str, from: &str, schedule: &str, range: &str| {
            let imaginary = if ty.is_complex() {
                format!("{name}{to}_lanes.{from} -> {name}{to}_write.__y: {from}[__r + {size}, __j]\n")
            } else {
                String::new()
            };
            format!(
                "map {name}{to}_rows [__r = {range}] schedule({schedule}) {{
map {name}{to}_lanes [__j = {lanes}] schedule(simd) {{
tasklet {name}{to}_write ({parts}) -> (__o) {{ __o = {scale}{sum} }}
{name}{to}_lanes.{from} -> {name}{to}_write.__x: {from}[__r, __j]
{imaginary}{name}{to}_write.__o -> {name}{to}_lanes.__out: {c}{resolution}
}}
{name}{to}_rows.{from} -> {name}{to}_lanes.{from}
{name}{to}_lanes.__out -> {name}{to}_rows.__out
}}
{name}{to}_rows.__out -> {name}{to}.__out
",
                resolution = store.resolution(),
            )
        };
        Ok(format!(
            "map {name} [{inner}] schedule(sequential) {{
access {name}_begin = {sums}
access {name}_end = {sums}
map {name}_clear [__r = 0:{all}] schedule(unrolled) {{
map {name}_zeros [__j = 0:{width}] schedule(simd) {{
tasklet {name}_zero () -> (__o) {{ __o = {part}(0) }}
{name}_zero.__o -> {name}_zeros.{sums}: {sums}[__r, __j]
order {name}_zeros -> {name}_zero
}}
{name}_zeros.{sums} -> {name}_clear.{sums}
order {name}_clear -> {name}_zeros
}}
map {name}_products [__k = 0:{depth}] schedule(sequential) {{
map {name}_column [__r = 0:{size}] schedule(unrolled) {{
map {name}_lanes [__j = 0:{width}] schedule(simd) {{
{products}}}
{name}_column.{left} -> {name}_lanes.{left}
{name}_column.{right} -> {name}_lanes.{right}
{name}_lanes.{sums} -> {name}_column.{sums}
}}
{name}_products.{left} -> {name}_column.{left}
{name}_products.{right} -> {name}_column.{right}
{name}_column.{sums} -> {name}_products.{sums}
}}
map {name}_whole [__w = 0:{full}] schedule(sequential) {{
{whole}{name}_whole.{sums} -> {name}_whole_rows.{sums}
}}
map {name}_some [__w = {full}:1] schedule(sequential) {{
access {name}_stored = {tile}
{some}{name}_some.{sums} -> {name}_stored: {sums}[0:{all}, 0:{width}] -> {tile}[0:{all}, 0:{width}]
{name}_stored -> {name}_some_rows.{tile}
}}
order {name} -> {name}_clear
{name}_clear.{sums} -> {name}_begin
order {name}_begin -> {name}_products
{name}.{left} -> {name}_products.{left}
{name}.{right} -> {name}_products.{right}
{name}_products.{sums} -> {name}_end
{name}_end -> {name}_whole.{sums}
{name}_end -> {name}_some.{sums}
{name}_whole.__out -> {name}.__whole
{name}_some.__out -> {name}.__some
}}
",
            left = left.connector,
            right = right.connector,
            part = ty.component(),
            products = self.multiplied(name, &sums, *size, [&a, &b], &factor),
            whole = write("_whole", &sums, "unrolled", &format!("0:{size}")),
            some = write("_some", &tile, "sequential", &format!("0:min({size}, {rows} - {size} * __at)")),
        ))
    }

    /// The tasklets that add the product of an element of each matrix to the sums of a tile, with their edges.
    fn multiplied(&self, name: &str, sums: &str, size: i64, [a, b]: [&str; 2], factor: &str) -> String {
        let ty = self.element();
        let (left, right) = (self.operand(self.left), self.operand(self.right));
        let conjugated =
            |value: String, term: &Term| if term.conjugated { format!("conj({value})") } else { value };
        let value = conjugated(converted("__a", left.element, ty), self.left);
        let factor = conjugated(factor.to_owned(), self.right);
        let tasklet = |kind: &str, outputs: &[(&str, &str)], code: &str| {
            let names: Vec<&str> = outputs.iter().map(|(name, _)| *name).collect();
            let mut text = format!(
                "tasklet {name}_{kind} (__a, __b) -> ({names}) {{
{code}
}}
{name}_lanes.{left} -> {name}_{kind}.__a: {a}
{name}_lanes.{right} -> {name}_{kind}.__b: {b}
",
                names = names.join(", "),
                left = left.connector,
                right = right.connector,
            );
            for (output, row) in outputs {
                text.push_str(&format!(
                    "{name}_{kind}.{output} -> {name}_lanes.{sums}: {sums}[{row}, __j] wcr(sum)\n"
                ));
            }
            text
        };
        if !ty.is_complex() {
            return tasklet("product", &[("__o", "__r")], &format!("__o = {value} * {factor}"));
        }
        // Each sum adds one product at a time, so that both are multiply-adds.
        let behind = format!("__r + {size}");
        let outputs = [("__re", "__r"), ("__im", behind.as_str())];
        let factors = format!("__x = {value}\n__y = {factor}");
        let real = format!("{factors}\n__re = real(__x) * real(__y)\n__im = real(__x) * imag(__y)");
        let imaginary = format!("{factors}\n__re = -imag(__x) * imag(__y)\n__im = imag(__x) * real(__y)");
        tasklet("real", &outputs, &real) + &tasklet("imaginary", &outputs, &imaginary)
    }
}
