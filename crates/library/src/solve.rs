//! `Solve` and `Inv`: systems of linear equations by elimination with partial pivoting.

use sdfg::dtype::ScalarType;
use sdfg::ir::LibraryNode;
use sdfg::tasklet::{MathFunction, arith};
use sdfg::value::Value;

use crate::error::ExpandErrorKind;
use crate::operand::{Agreement, Operand, Signature, agreement};
use crate::operation::{Expansion, Meaning, Target};
use crate::properties::Properties;
use crate::template::{Element, Elementwise, Template, converted};
use crate::values::{Values, call, count, divide, multiply, subtract, wide};

/// A system of equations `A X = B`.
pub(crate) struct Solve {
    matrix: Operand,
    /// The right-hand sides; the unit matrix without.
    right: Option<Operand>,
    output: Operand,
}

impl Solve {
    pub(crate) fn of(node: &LibraryNode, signature: &Signature) -> Result<Self, ExpandErrorKind> {
        Properties(node).check(&[])?;
        signature.check(&["_ain", "_bin"], &[], "_bout")?;
        let (matrix, right) = (signature.input("_ain")?.clone(), signature.input("_bin")?.clone());
        let output = signature.output.clone();
        square(&matrix, &output, &output)?;
        let (from, to) = (right.seen(), output.seen());
        let differ = |(from, to): (&usize, &usize)| {
            agreement(right.size(*from), output.size(*to)) == Agreement::Different
        };
        if from.len() != to.len() || from.len() > 2 || from.iter().zip(&to).any(differ) {
            let operands = format!("_bin{}, _bout{}", right.shape(), output.shape());
            let reason = "both must be vectors, or matrices, of one shape".to_owned();
            return Err(ExpandErrorKind::Shapes { operands, reason });
        }
        Ok(Solve { matrix, right: Some(right), output })
    }

    /// The inverse, which solves for the columns of the unit matrix.
    pub(crate) fn inverse(node: &LibraryNode, signature: &Signature) -> Result<Self, ExpandErrorKind> {
        // DaCe's flags tell where it may write, not what it computes.
        Properties(node).check(&["overwrite_a", "use_getri"])?;
        signature.check(&["_ain"], &[], "_aout")?;
        let (matrix, output) = (signature.input("_ain")?.clone(), signature.output.clone());
        square(&matrix, &output, &output)?;
        square(&output, &output, &output)?;
        Ok(Solve { matrix, right: None, output })
    }
}

/// Refuses what is no square matrix, with as many rows as another operand, or cannot be divided in the result's type.
pub(crate) fn square(matrix: &Operand, rows: &Operand, result: &Operand) -> Result<(), ExpandErrorKind> {
    let wrong = |reason: String| {
        let operands = format!("{}{}", matrix.connector, matrix.shape());
        ExpandErrorKind::Shapes { operands, reason }
    };
    let positions = matrix.seen();
    let [first, second] = positions.as_slice() else {
        return Err(wrong("it must be a matrix of more than one element".to_owned()));
    };
    if agreement(matrix.size(*first), matrix.size(*second)) == Agreement::Different {
        return Err(wrong("it must be square".to_owned()));
    }
    let other = rows.seen().first().map(|position| rows.size(*position));
    if other.is_none_or(|other| agreement(matrix.size(*first), other) == Agreement::Different) {
        return Err(wrong(format!("`{}` must have as many rows", rows.connector)));
    }
    let (from, to) = (matrix.element, result.element);
    if !to.is_float() && !to.is_complex() || from.is_complex() && !to.is_complex() {
        let reason = format!("a result of type {to} cannot hold quotients of {from}");
        return Err(ExpandErrorKind::Element { connector: result.connector.clone(), reason });
    }
    Ok(())
}

impl Meaning for Solve {
    fn compute(&self, values: Values<'_>) -> Result<Vec<Value>, String> {
        let ty = wide(self.output.element);
        let mut matrix = values.of(&self.matrix.connector, ty)?;
        let n = count(self.matrix.size(self.matrix.seen()[0]))?;
        let mut right = match &self.right {
            Some(right) => values.of(&right.connector, ty)?,
            None => (0..n * n).map(|k| arith::cast(Value::Bool(k / n == k % n), ty)).collect(),
        };
        let width = right.len().checked_div(n).unwrap_or(0);
        // Gauss and Jordan: every other row loses the pivot's column, so that the matrix becomes the unit matrix.
        for k in 0..n {
            let size = |row: usize| magnitude(matrix[row * n + k]);
            let pivot =
                (k..n).reduce(|best, row| if size(row) > size(best) { row } else { best }).unwrap_or(k);
            (0..n).for_each(|j| matrix.swap(k * n + j, pivot * n + j));
            (0..width).for_each(|j| right.swap(k * width + j, pivot * width + j));
            let divisor = matrix[k * n + k];
            for (elements, width) in [(&mut matrix, n), (&mut right, width)] {
                (0..width).for_each(|j| elements[k * width + j] = divide(elements[k * width + j], divisor));
            }
            for row in (0..n).filter(|row| *row != k) {
                let factor = matrix[row * n + k];
                for (elements, width) in [(&mut matrix, n), (&mut right, width)] {
                    for j in 0..width {
                        let product = multiply(factor, elements[k * width + j]);
                        elements[row * width + j] = subtract(elements[row * width + j], product);
                    }
                }
            }
        }
        Ok(right)
    }

    fn expand(
        &self,
        template: &mut Template,
        target: &Target,
        _expansion: Expansion,
    ) -> Result<(), ExpandErrorKind> {
        let ty = self.output.element;
        let shape = template.shape(&self.output);
        let n = shape[0].clone();
        template.transient("__lu", ty, &[n.clone(), n.clone()]);
        template.transient("__best", ScalarType::I64, &[]);
        let system = System { n, columns: shape.get(1).cloned(), to: target.container().to_owned(), ty };
        system.start(template, &self.matrix, self.right.as_ref());
        system.eliminate(template);
        system.substitute(template);
        Ok(())
    }
}

/// The elements of a matrix with pivots, and of the right-hand sides that become the solution.
struct System {
    n: String,
    columns: Option<String>,
    to: String,
    ty: ScalarType,
}

impl System {
    fn matrix(&self, i: &str, j: &str) -> Element {
        Element::new("__lu", vec![i.to_owned(), j.to_owned()])
    }

    /// A row of the right-hand sides.
    fn row(&self, i: &str) -> Element {
        let column = self.columns.as_ref().map(|_| "__c".to_owned());
        Element::new(&self.to, [i.to_owned()].into_iter().chain(column).collect())
    }

    /// A dimension, and that of the right-hand sides.
    fn and_columns(&self, param: &str, range: &str) -> Vec<(String, String)> {
        let columns = self.columns.as_ref().map(|columns| ("__c".to_owned(), format!("0:{columns}")));
        [(param.to_owned(), range.to_owned())].into_iter().chain(columns).collect()
    }

    /// Copies the operands, which are not overwritten.
    fn start(&self, template: &mut Template, matrix: &Operand, right: Option<&Operand>) {
        let all = format!("0:{}", self.n);
        let element = Element::new(&matrix.connector, vec!["__i".to_owned(), "__j".to_owned()]);
        template.elementwise(Elementwise {
            label: "matrix",
            dimensions: vec![("__i".to_owned(), all.clone()), ("__j".to_owned(), all.clone())],
            reads: vec![("__x".to_owned(), element)],
            value: converted("__x", matrix.element, self.ty),
            write: self.matrix("__i", "__j"),
            adds: false,
        });
        let (reads, value) = match right {
            Some(right) => {
                let element = Element::new(&right.connector, self.row("__i").indices);
                (vec![("__x".to_owned(), element)], converted("__x", right.element, self.ty))
            }
            None => (Vec::new(), format!("{0}(1) if __i == __c else {0}(0)", self.ty)),
        };
        template.elementwise(Elementwise {
            label: "right",
            dimensions: self.and_columns("__i", &all),
            reads,
            value,
            write: self.row("__i"),
            adds: false,
        });
    }

    /// Makes the matrix triangular: of each column the element of the largest size comes to the diagonal.
    fn eliminate(&self, template: &mut Template) {
        let n = &self.n;
        template.blocks(&format!(
            "for __columns: __k = 0:{n} {{
state find {{
access __lu
access __best
tasklet __search (__v) -> (__o) {{
__o = __k
__size = abs(__v[0])
for __r in range(__k + 1, {n}):
    if abs(__v[__r - __k]) > __size:
        __size = abs(__v[__r - __k])
        __o = __r
}}
__lu -> __search.__v: __lu[__k:{n}, __k]
__search.__o -> __best
}}
-> exchange with (__p = __best)
if exchange: __p != __k {{
{}{}}}
",
            swap("rows", "__lu", &[("__j", n)], |row| self.matrix(row, "__j")),
            swap(
                "sides",
                &self.to,
                &self.columns.iter().map(|columns| ("__c", columns.as_str())).collect::<Vec<_>>(),
                |row| self.row(row)
            ),
        ));
        let below = format!("__k + 1:{n}");
        let read = |connector: &str, element: Element| (connector.to_owned(), element);
        template.elementwise(Elementwise {
            label: "divide",
            dimensions: vec![("__i".to_owned(), below.clone())],
            reads: vec![read("__x", self.matrix("__i", "__k")), read("__d", self.matrix("__k", "__k"))],
            value: "__x / __d".to_owned(),
            write: self.matrix("__i", "__k"),
            adds: false,
        });
        template.elementwise(Elementwise {
            label: "update",
            dimensions: vec![("__i".to_owned(), below.clone()), ("__j".to_owned(), below.clone())],
            reads: vec![
                read("__x", self.matrix("__i", "__j")),
                read("__l", self.matrix("__i", "__k")),
                read("__u", self.matrix("__k", "__j")),
            ],
            value: "__x - __l * __u".to_owned(),
            write: self.matrix("__i", "__j"),
            adds: false,
        });
        template.elementwise(self.reduce_sides("forward", &below));
        template.blocks("}\n");
    }

    /// Takes multiples of row `__k` of the right-hand sides from other rows.
    fn reduce_sides<'a>(&self, label: &'a str, rows: &str) -> Elementwise<'a> {
        let read = |connector: &str, element: Element| (connector.to_owned(), element);
        Elementwise {
            label,
            dimensions: self.and_columns("__i", rows),
            reads: vec![
                read("__x", self.row("__i")),
                read("__l", self.matrix("__i", "__k")),
                read("__y", self.row("__k")),
            ],
            value: "__x - __l * __y".to_owned(),
            write: self.row("__i"),
            adds: false,
        }
    }

    /// Solves for the last unknown first.
    fn substitute(&self, template: &mut Template) {
        template.blocks(&format!("for __unknowns: __k = {} - 1:-1:-1 {{\n", self.n));
        let read = |connector: &str, element: Element| (connector.to_owned(), element);
        template.elementwise(Elementwise {
            label: "unknown",
            dimensions: self.and_columns("__i", "__k:__k + 1"),
            reads: vec![read("__x", self.row("__i")), read("__d", self.matrix("__k", "__k"))],
            value: "__x / __d".to_owned(),
            write: self.row("__i"),
            adds: false,
        });
        template.elementwise(self.reduce_sides("backward", "0:__k"));
        template.blocks("}\n");
    }
}

/// A state that exchanges two rows.
fn swap(label: &str, container: &str, dimensions: &[(&str, &str)], row: impl Fn(&str) -> Element) -> String {
    let mut ranges: Vec<String> =
        dimensions.iter().map(|(param, count)| format!("{param} = 0:{count}")).collect();
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

/// The size of a number, by which pivots are chosen.
fn magnitude(value: Value) -> f64 {
    match arith::cast(call(MathFunction::Abs, value), ScalarType::F64) {
        Value::F64(size) => size,
        _ => 0.0,
    }
}
