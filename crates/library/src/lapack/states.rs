//! Elimination with partial pivoting as states: loops over columns with maps inside.

use sdfg::dtype::ScalarType;

use super::panels::{self, Block};
use crate::operand::Operand;
use crate::template::{Element, Elementwise, Template, converted};

/// A matrix that becomes, or is, its factors.
pub(crate) struct Factors {
    pub(crate) container: String,
    /// The container of the row, counted from 1, that each step exchanges its own with.
    pub(crate) pivots: String,
    pub(crate) rows: String,
    pub(crate) columns: String,
    pub(crate) ty: ScalarType,
}

/// Right-hand sides that become solutions.
pub(crate) struct Sides {
    container: String,
    rows: String,
    columns: Option<String>,
    ty: ScalarType,
}

fn dimension(param: &str, range: &str) -> (String, String) {
    (param.to_owned(), range.to_owned())
}

fn read(connector: &str, element: Element) -> (String, Element) {
    (connector.to_owned(), element)
}

/// Copies a matrix to where it is factored.
pub(crate) fn start_matrix(template: &mut Template, from: &Operand, to: &Factors) {
    let element = Element::new(&from.connector, vec!["__i".to_owned(), "__j".to_owned()]);
    template.elementwise(Elementwise {
        label: "matrix",
        dimensions: vec![
            dimension("__i", &format!("0:{}", to.rows)),
            dimension("__j", &format!("0:{}", to.columns)),
        ],
        reads: vec![read("__x", element)],
        value: converted("__x", from.element, to.ty),
        write: to.at("__i", "__j"),
        adds: false,
    });
}

impl Factors {
    fn at(&self, i: &str, j: &str) -> Element {
        Element::new(&self.container, vec![i.to_owned(), j.to_owned()])
    }

    /// Number of eliminated columns.
    fn steps(&self) -> String {
        let (rows, columns) = (&self.rows, &self.columns);
        if rows == columns { rows.clone() } else { format!("min({rows}, {columns})") }
    }

    /// Makes the matrix triangular: of each column the element of the largest size comes to the diagonal.
    pub(crate) fn eliminate(&self, template: &mut Template, pivot: ScalarType) {
        template.transient("__best", ScalarType::I64, &[]);
        self.eliminate_columns(template, pivot, "0", &self.steps(), &self.columns);
    }

    /// The same by panels.
    pub(crate) fn eliminate_panels(&self, template: &mut Template, pivot: ScalarType) {
        template.transient("__best", ScalarType::I64, &[]);
        let (rows, columns) = (&self.rows, &self.columns);
        let left = panels::declare_left(template, self.ty, rows);
        let right = panels::declare_right(template, self.ty, columns);
        panels::begin_panels(template, "__panels", &self.steps());
        self.eliminate_columns(template, pivot, "__first", "__last", "__last");
        template.blocks("for __rows: __k = __first:__last {\n");
        template.elementwise(self.update("beside", "__k + 1:__last", &panels::behind(columns)));
        template.blocks("}\n");
        panels::copy_left(template, |i, j| self.at(i, j), rows);
        panels::copy_rows(template, |i, j| self.at(i, j), &panels::behind(columns), &right, "beside_copy");
        panels::subtract(
            template,
            &Block::new(&left, &[panels::behind(rows), panels::own()]),
            &Block::new(&right, &[panels::own(), panels::behind(columns)]),
            &Block::new(&self.container, &[panels::behind(rows), panels::behind(columns)]),
            false,
            "products",
        );
        template.blocks("}\n");
    }

    /// Takes multiples of row `__k` from other rows.
    fn update<'a>(&self, label: &'a str, rows: &str, columns: &str) -> Elementwise<'a> {
        Elementwise {
            label,
            dimensions: vec![dimension("__i", rows), dimension("__j", columns)],
            reads: vec![
                read("__x", self.at("__i", "__j")),
                read("__l", self.at("__i", "__k")),
                read("__u", self.at("__k", "__j")),
            ],
            value: "__x - __l * __u".to_owned(),
            write: self.at("__i", "__j"),
            adds: false,
        }
    }

    /// Eliminates columns from `first` to `last`; rows get what follows from it up to column `end`.
    fn eliminate_columns(
        &self,
        template: &mut Template,
        pivot: ScalarType,
        first: &str,
        last: &str,
        end: &str,
    ) {
        let (matrix, pivots, rows) = (&self.container, &self.pivots, &self.rows);
        // Of complex numbers LAPACK adds the sizes of both parts.
        let size = |row: &str| {
            let element = format!("__v[{row}]");
            if self.ty.is_complex() {
                format!("abs(real({element})) + abs(imag({element}))")
            } else {
                format!("abs({element})")
            }
        };
        template.blocks(&format!(
            "for __columns: __k = {first}:{last} {{
state find {{
access {matrix}
access __best
access {pivots}
tasklet __search (__v) -> (__o, __p) {{
__found = __k
__size = {}
for __r in range(__k + 1, {rows}):
    __candidate = {}
    if __candidate > __size:
        __size = __candidate
        __found = __r
__o = __found
__p = {pivot}(__found + 1)
}}
{matrix} -> __search.__v: {}
__search.__o -> __best
__search.__p -> {pivots}: {pivots}[__k]
}}
-> exchange with (__p = __best)
if exchange: __p != __k {{
{}}}
",
            size("0"),
            size("__r - __k"),
            self.at(&format!("__k:{rows}"), "__k").text(),
            swap("rows", matrix, &[dimension("__j", &format!("0:{}", self.columns))], |row| self
                .at(row, "__j")),
        ));
        let (below, right) = (format!("__k + 1:{rows}"), format!("__k + 1:{end}"));
        template.elementwise(Elementwise {
            label: "divide",
            dimensions: vec![dimension("__i", &below)],
            reads: vec![read("__x", self.at("__i", "__k")), read("__d", self.at("__k", "__k"))],
            // Where the largest one is zero, they are all.
            value: "__x / __d if __d != 0 else __x".to_owned(),
            write: self.at("__i", "__k"),
            adds: false,
        });
        template.elementwise(self.update("update", &below, &right));
        template.blocks("}\n");
    }

    /// Writes the number, from 1, of the first zero on the diagonal; 0 if there is none.
    pub(crate) fn find_zero(&self, template: &mut Template, to: &Element, ty: ScalarType) {
        first_on_diagonal(template, &self.container, &self.steps(), "__v[__r, __r] == 0", to, ty);
    }
}

/// Writes the number, from 1, of the first step for which a condition on `__v[__r, __r]` holds; 0 if there is none.
pub(crate) fn first_on_diagonal(
    template: &mut Template,
    matrix: &str,
    steps: &str,
    condition: &str,
    to: &Element,
    ty: ScalarType,
) {
    let result = &to.container;
    template.blocks(&format!(
        "state result {{
access {matrix}
access {result}
tasklet __search (__v) -> (__o) {{
__found = 0
for __r in range({steps}):
    if __found == 0 and {condition}:
        __found = __r + 1
__o = {ty}(__found)
}}
{matrix} -> __search.__v
__search.__o -> {result}: {}
}}
",
        to.text()
    ));
}

impl Sides {
    /// The right-hand sides of the shape of an operand, in a container.
    pub(crate) fn of(template: &mut Template, operand: &Operand, container: &str) -> Self {
        let mut shape = template.shape(operand).into_iter();
        let (rows, columns) = (shape.next().unwrap_or_else(|| "1".to_owned()), shape.next());
        Sides { container: container.to_owned(), rows, columns, ty: operand.element }
    }

    fn row(&self, i: &str) -> Element {
        let column = self.columns.as_ref().map(|_| "__c".to_owned());
        Element::new(&self.container, [i.to_owned()].into_iter().chain(column).collect())
    }

    /// A dimension, and that of the right-hand sides.
    fn and_columns(&self, param: &str, range: &str) -> Vec<(String, String)> {
        let columns = self.columns.as_ref().map(|columns| dimension("__c", &format!("0:{columns}")));
        [dimension(param, range)].into_iter().chain(columns).collect()
    }

    /// Copies the right-hand sides, or makes them the unit matrix.
    pub(crate) fn start(&self, template: &mut Template, right: Option<&Operand>) {
        let (reads, value) = match right {
            Some(right) => {
                let element = Element::new(&right.connector, self.row("__i").indices);
                (vec![read("__x", element)], converted("__x", right.element, self.ty))
            }
            None => (Vec::new(), format!("{0}(1) if __i == __c else {0}(0)", self.ty)),
        };
        template.elementwise(Elementwise {
            label: "right",
            dimensions: self.and_columns("__i", &format!("0:{}", self.rows)),
            reads,
            value,
            write: self.row("__i"),
            adds: false,
        });
    }

    /// Exchanges the rows that those of the matrix were exchanged with.
    pub(crate) fn exchange(&self, template: &mut Template, factors: &Factors) {
        let columns = self.columns.as_ref().map(|columns| dimension("__c", &format!("0:{columns}")));
        template.blocks(&format!(
            "for __exchanges: __k = 0:{} {{
state pick {{}}
-> exchange_sides with (__p = i64({}[__k]) - 1)
if exchange_sides: __p != __k {{
{}}}
}}
",
            self.rows,
            factors.pivots,
            swap("sides", &self.container, columns.as_slice(), |row| self.row(row)),
        ));
    }

    /// Solves for the factors, the lower one from the first unknown on and the upper one from the last.
    pub(crate) fn substitute(&self, template: &mut Template, factors: &Factors) {
        let rows = &self.rows;
        template.blocks(&format!("for __forward: __k = 0:{rows} {{\n"));
        template.elementwise(self.reduce("forward", &format!("__k + 1:{rows}"), factors));
        template.blocks(&format!("}}\nfor __backward: __k = {rows} - 1:-1:-1 {{\n"));
        self.divide(template, factors);
        template.elementwise(self.reduce("backward", "0:__k", factors));
        template.blocks("}\n");
    }

    /// The same by panels, for matrices.
    pub(crate) fn substitute_panels(&self, template: &mut Template, factors: &Factors) {
        // Blocks of products have four columns.
        let is_wide = |columns: &&String| columns.parse::<i64>().map_or(true, |columns| columns >= 4);
        let Some(columns) = self.columns.as_ref().filter(|_| factors.ty == self.ty).filter(is_wide) else {
            self.substitute(template, factors);
            return;
        };
        let (rows, all) = (&self.rows, format!("0:{columns}"));
        let right = panels::declare_solutions(template, self.ty, columns);
        let element = |i: &str, j: &str| Element::new(&self.container, vec![i.to_owned(), j.to_owned()]);
        let subtract = |template: &mut Template, others: String, label: &str| {
            panels::copy_rows(template, element, &all, &right, &format!("{label}_copy"));
            panels::subtract(
                template,
                &Block::new(&factors.container, &[others.clone(), "__first:__last".to_owned()]),
                &Block::new(&right, &[panels::own(), all.clone()]),
                &Block::new(&self.container, &[others, all.clone()]),
                false,
                label,
            );
        };
        panels::begin_panels(template, "__forward", rows);
        template.blocks("for __down: __k = __first:__last {\n");
        template.elementwise(self.reduce("forward", "__k + 1:__last", factors));
        template.blocks("}\n");
        subtract(template, panels::behind(rows), "below");
        template.blocks("}\n");
        panels::begin_panels_backward(template, "__backward", rows);
        template.blocks("for __up: __k = __last - 1:__first - 1:-1 {\n");
        self.divide(template, factors);
        template.elementwise(self.reduce("backward", "__first:__k", factors));
        template.blocks("}\n");
        subtract(template, "0:__first".to_owned(), "above");
        template.blocks("}\n");
    }

    /// Divides row `__k` by the diagonal of the factors.
    fn divide(&self, template: &mut Template, factors: &Factors) {
        let divisor = converted("__d", factors.ty, self.ty);
        template.elementwise(Elementwise {
            label: "unknown",
            dimensions: self.and_columns("__i", "__k:__k + 1"),
            reads: vec![read("__x", self.row("__i")), read("__d", factors.at("__k", "__k"))],
            value: format!("__x / {divisor}"),
            write: self.row("__i"),
            adds: false,
        });
    }

    /// Takes multiples of row `__k` from other rows.
    fn reduce<'a>(&self, label: &'a str, rows: &str, factors: &Factors) -> Elementwise<'a> {
        Elementwise {
            label,
            dimensions: self.and_columns("__i", rows),
            reads: vec![
                read("__x", self.row("__i")),
                read("__l", factors.at("__i", "__k")),
                read("__y", self.row("__k")),
            ],
            value: format!("__x - {} * __y", converted("__l", factors.ty, self.ty)),
            write: self.row("__i"),
            adds: false,
        }
    }
}

/// A state that exchanges the rows `__k` and `__p`.
fn swap(
    label: &str,
    container: &str,
    dimensions: &[(String, String)],
    row: impl Fn(&str) -> Element,
) -> String {
    let mut ranges: Vec<String> =
        dimensions.iter().map(|(param, range)| format!("{param} = {range}")).collect();
    if ranges.is_empty() {
        ranges.push("__once = 0:1".to_owned());
    }
    let (upper, lower) = (row("__k").text(), row("__p").text());
    format!(
        "state {label} {{
access __in = {container}
access __out = {container}
map __elements [{}] {{
tasklet __swap (__x, __y) -> (__u, __v) {{
__u = __y
__v = __x
}}
__elements.__in -> __swap.__x: {upper}
__elements.__in -> __swap.__y: {lower}
__swap.__u -> __elements.__out: {upper}
__swap.__v -> __elements.__out: {lower}
}}
__in -> __elements.__in
__elements.__out -> __out
}}
",
        ranges.join(", ")
    )
}
