//! Factorizations and solutions by panels of columns (right-looking, as LAPACK's blocked algorithms).
//!
//! A panel is computed column by column. A matrix product then updates the rest of the matrix at once and
//! performs nearly all operations. The product is a separate library node, which is expanded in turn. Its
//! inputs are copied, so that it can work in place.

use sdfg::dtype::ScalarType;
use sdfg::symbolic::Expr;

use super::matrix;
use crate::operand::Operand;
use crate::operation::Expansion;
use crate::template::{Element, Elementwise, Template};

/// Columns of a panel.
pub(crate) const PANEL: i64 = 64;

/// Containers for what products read.
const LEFT: &str = "__left";
const RIGHT: &str = "__right";
const SOLUTIONS: &str = "__solutions";

/// The expansions of an operation that factors a matrix to elements of a type. Panels pay unless the matrix has a constant small size, as
/// it has one panel then.
pub(crate) fn expansions(factored: &Operand, ty: ScalarType) -> &'static [Expansion] {
    let pays = |rows: &Expr| {
        matches!(ty, ScalarType::F32 | ScalarType::F64) && rows.as_int().is_none_or(|rows| rows > PANEL)
    };
    let is_fast = matrix(factored).is_ok_and(|[rows, _]| pays(&rows));
    if is_fast { &[Expansion::Fast, Expansion::Pure] } else { &[Expansion::Pure] }
}

/// A part of a matrix: its name, and a range for rows and columns.
pub(crate) struct Block {
    pub(crate) container: String,
    pub(crate) ranges: Vec<String>,
}

impl Block {
    pub(crate) fn new(container: &str, ranges: &[String]) -> Self {
        Block { container: container.to_owned(), ranges: ranges.to_vec() }
    }

    fn text(&self) -> String {
        format!("{}[{}]", self.container, self.ranges.join(", "))
    }
}

/// Begins the loop over panels of `steps` columns, from `__first` to `__last`.
pub(crate) fn begin_panels(template: &mut Template, label: &str, steps: &str) {
    template.blocks(&format!(
        "for {label}: __first = 0:{steps}:{PANEL} {{
state {label}_bounds {{}}
-> {label}_panel with (__last = min(__first + {PANEL}, {steps}))
state {label}_panel {{}}
"
    ));
}

/// The same from the last panel to the first one.
pub(crate) fn begin_panels_backward(template: &mut Template, label: &str, steps: &str) {
    template.blocks(&format!(
        "for {label}: __first = ({steps} - 1) // {PANEL} * {PANEL}:-1:-{PANEL} {{
state {label}_bounds {{}}
-> {label}_panel with (__last = min(__first + {PANEL}, {steps}))
state {label}_panel {{}}
"
    ));
}

/// A range of rows or columns behind the panel.
pub(crate) fn behind(extent: &str) -> String {
    format!("__last:{extent}")
}

/// The columns of the panel, in a copy that has only them.
pub(crate) fn own() -> String {
    "0:__last - __first".to_owned()
}

/// Declares the copy of the part of a matrix on the left of products.
pub(crate) fn declare_left(template: &mut Template, ty: ScalarType, rows: &str) -> String {
    template.transient(LEFT, ty, &[rows.to_owned(), PANEL.to_string()]);
    LEFT.to_owned()
}

/// The same of the right.
pub(crate) fn declare_right(template: &mut Template, ty: ScalarType, columns: &str) -> String {
    template.transient(RIGHT, ty, &[PANEL.to_string(), columns.to_owned()]);
    RIGHT.to_owned()
}

/// The same of solutions, which have other columns.
pub(crate) fn declare_solutions(template: &mut Template, ty: ScalarType, columns: &str) -> String {
    template.transient(SOLUTIONS, ty, &[PANEL.to_string(), columns.to_owned()]);
    SOLUTIONS.to_owned()
}

/// Copies the columns of the panel below it.
pub(crate) fn copy_left(template: &mut Template, from: impl Fn(&str, &str) -> Element, rows: &str) {
    template.elementwise(Elementwise {
        label: "left",
        dimensions: vec![("__i".to_owned(), behind(rows)), ("__j".to_owned(), "__first:__last".to_owned())],
        reads: vec![("__x".to_owned(), from("__i", "__j"))],
        value: "__x".to_owned(),
        write: Element::new(LEFT, vec!["__i".to_owned(), "__j - __first".to_owned()]),
        adds: false,
    });
}

/// Copies rows of the panel, of these columns.
pub(crate) fn copy_rows(
    template: &mut Template,
    from: impl Fn(&str, &str) -> Element,
    columns: &str,
    to: &str,
    label: &str,
) {
    template.elementwise(Elementwise {
        label,
        dimensions: vec![
            ("__i".to_owned(), "__first:__last".to_owned()),
            ("__j".to_owned(), columns.to_owned()),
        ],
        reads: vec![("__x".to_owned(), from("__i", "__j"))],
        value: "__x".to_owned(),
        write: Element::new(to, vec!["__i - __first".to_owned(), "__j".to_owned()]),
        adds: false,
    });
}

/// Takes the product of two blocks, the second one perhaps transposed, from a third one, in a state of this label.
pub(crate) fn subtract(
    template: &mut Template,
    left: &Block,
    right: &Block,
    to: &Block,
    transposed: bool,
    label: &str,
) {
    let accesses: String = if left.container == right.container {
        format!(
            "access __a = {}\n__a -> __product._a: {}\n__a -> __product._b: {}\n",
            left.container,
            left.text(),
            right.text()
        )
    } else {
        format!(
            "access __a = {}\naccess __b = {}\n__a -> __product._a: {}\n__b -> __product._b: {}\n",
            left.container,
            right.container,
            left.text(),
            right.text()
        )
    };
    let flag = if transposed { "transB = True; " } else { "" };
    template.blocks(&format!(
        "state {label} {{
library __product: Gemm (_a, _b) -> (_c) {{ {flag}alpha = -1; beta = 1 }} expansion(fast)
{accesses}access __to = {}
__product._c -> __to: {}
}}
",
        to.container,
        to.text()
    ));
}
