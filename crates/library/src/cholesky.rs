//! `Cholesky`: the triangular factor of a positive definite matrix, `A = L L^H` or `A = U^H U`, with zeros in
//! the other half. `Potrf` is LAPACK's variant, which keeps the other half of the matrix.

use sdfg::dtype::ScalarType;
use sdfg::ir::LibraryNode;
use sdfg::tasklet::MathFunction;
use sdfg::value::Value;

use crate::blas::{Called, Calls};
use crate::error::ExpandErrorKind;
use crate::lapack::panels::{self, Block};
use crate::lapack::{
    check_division, check_result, check_same_square, first_failure, first_on_diagonal, names, only, ordered,
    seen, square,
};
use crate::operand::{Operand, Signature};
use crate::operation::{Expansion, Meaning, Target};
use crate::properties::Properties;
use crate::template::{Element, Elementwise, Template, converted};
use crate::values::{Values, call, count, divide, multiply, subtract, wide};

/// Columns that a product gives their values at once.
const SLAB: i64 = 256;

/// A factorization.
pub(crate) struct Cholesky {
    input: Operand,
    output: Operand,
    lower: bool,
    /// Whether the other half is that of the matrix, as `Potrf` leaves it.
    keeps_half: bool,
    /// Output in which `Potrf` reports whether the matrix is positive definite.
    result: Option<Operand>,
    outputs: Vec<String>,
}

impl Cholesky {
    pub(crate) fn of(node: &LibraryNode, signature: &Signature) -> Result<Self, ExpandErrorKind> {
        let properties = Properties(node);
        properties.check(&["lower"])?;
        signature.check(&["_a"], &[], "_b")?;
        Cholesky::from_operands(properties, signature, "_a", "_b")
    }

    /// LAPACK's, with the number of the first leading part that is not positive definite.
    pub(crate) fn potrf(node: &LibraryNode, signature: &Signature) -> Result<Self, ExpandErrorKind> {
        let properties = Properties(node);
        properties.check(&["lower", "n"])?;
        let result = check_result(signature, &["_xin"], &["_xout"])?;
        let factor = Cholesky::from_operands(properties, signature, "_xin", "_xout")?;
        Ok(Cholesky { keeps_half: true, result, ..factor })
    }

    fn from_operands(
        properties: Properties<'_>,
        signature: &Signature,
        input: &str,
        output: &str,
    ) -> Result<Self, ExpandErrorKind> {
        let (input, output) = (signature.input(input)?.clone(), signature.written(output)?.clone());
        check_same_square(&input, &output)?;
        check_division(&input, &output)?;
        let (lower, outputs) = (properties.flag("lower", true)?, names(signature));
        Ok(Cholesky { input, output, lower, keeps_half: false, result: None, outputs })
    }

    pub(crate) fn input(&self) -> &Operand {
        &self.input
    }

    pub(crate) fn output(&self) -> &Operand {
        &self.output
    }

    pub(crate) fn is_lower(&self) -> bool {
        self.lower
    }

    /// Whether the other half is that of the matrix.
    pub(crate) fn keeps_half(&self) -> bool {
        self.keeps_half
    }

    /// An element of the lower factor, or of the upper one with rows and columns exchanged.
    fn at(&self, container: &str, i: &str, j: &str) -> Element {
        let (row, column) = if self.lower { (i, j) } else { (j, i) };
        Element::new(container, vec![row.to_owned(), column.to_owned()])
    }

    /// Copies the matrix, of `n` rows, to where it is factored.
    pub(crate) fn start(&self, template: &mut Template, to: &str, n: &str) {
        let ty = self.output.element;
        let all = format!("0:{n}");
        let copy = converted("__x", self.input.element, ty);
        template.elementwise(Elementwise {
            label: "start",
            dimensions: vec![("__i".to_owned(), all.clone()), ("__j".to_owned(), all)],
            reads: vec![("__x".to_owned(), self.at(&self.input.connector, "__i", "__j"))],
            value: if self.keeps_half() { copy } else { format!("{copy} if __j <= __i else {ty}(0)") },
            write: self.at(to, "__i", "__j"),
            adds: false,
        });
    }

    /// Computes the factor by panels, and puts back what products wrote beside it.
    fn factor_panels(&self, template: &mut Template, to: &str, n: &str) {
        let ty = self.output.element;
        let left = panels::declare_left(template, ty, n);
        panels::begin_panels(template, "__panels", n);
        self.factor_columns(template, to, n, "__first", "__last");
        panels::copy_left(template, |i, j| self.at(to, i, j), n);
        // Slabs of columns, each from the diagonal on, so that little of the other half is computed.
        template.blocks(&format!(
            "for __slabs: __slab = __last:{n}:{SLAB} {{
state slab {{}}
-> products with (__end = min(__slab + {SLAB}, {n}))
"
        ));
        let (rows, columns) = (format!("__slab:{n}"), "__slab:__end".to_owned());
        let (one, other) = if self.lower { (rows, columns) } else { (columns, rows) };
        panels::subtract(
            template,
            &Block::new(&left, &[one.clone(), panels::own()]),
            &Block::new(&left, &[other.clone(), panels::own()]),
            &Block::new(to, &[one, other]),
            true,
            "products",
        );
        template.blocks("}\n}\n");
        let copy = converted("__x", self.input.element, ty);
        template.elementwise(Elementwise {
            label: "other_half",
            dimensions: vec![
                ("__i".to_owned(), format!("0:{n}")),
                ("__j".to_owned(), format!("__i + 1:{n}")),
            ],
            reads: vec![("__x".to_owned(), self.at(&self.input.connector, "__i", "__j"))],
            value: if self.keeps_half() { copy } else { format!("{ty}(0)") },
            write: self.at(to, "__i", "__j"),
            adds: false,
        });
    }

    /// Computes columns of the factor, `first` to `last`, of a matrix in which those before are taken into account.
    fn factor_columns(&self, template: &mut Template, to: &str, n: &str, first: &str, last: &str) {
        let ty = self.output.element;
        let range = |param: &str, range: &str| (param.to_owned(), range.to_owned());
        let read = |connector: &str, element: Element| (connector.to_owned(), element);
        let columns =
            if last == n { "__k + 1:__i + 1".to_owned() } else { format!("__k + 1:min(__i + 1, {last})") };
        template.blocks(&format!("for __columns: __k = {first}:{last} {{\n"));
        let root = if ty.is_complex() { format!("{ty}(sqrt(real(__x)))") } else { "sqrt(__x)".to_owned() };
        template.elementwise(Elementwise {
            label: "root",
            dimensions: Vec::new(),
            reads: vec![read("__x", self.at(to, "__k", "__k"))],
            value: root,
            write: self.at(to, "__k", "__k"),
            adds: false,
        });
        let below = format!("__k + 1:{n}");
        template.elementwise(Elementwise {
            label: "divide",
            dimensions: vec![range("__i", &below)],
            reads: vec![read("__x", self.at(to, "__i", "__k")), read("__d", self.at(to, "__k", "__k"))],
            value: "__x / __d".to_owned(),
            write: self.at(to, "__i", "__k"),
            adds: false,
        });
        let right = if ty.is_complex() { "conj(__r)" } else { "__r" };
        template.elementwise(Elementwise {
            label: "update",
            dimensions: vec![range("__i", &below), range("__j", &columns)],
            reads: vec![
                read("__x", self.at(to, "__i", "__j")),
                read("__l", self.at(to, "__i", "__k")),
                read("__r", self.at(to, "__j", "__k")),
            ],
            value: format!("__x - __l * {right}"),
            write: self.at(to, "__i", "__j"),
            adds: false,
        });
        template.blocks("}\n");
    }

    fn conjugated(&self, value: Value) -> Value {
        if self.output.element.is_complex() { call(MathFunction::Conj, value) } else { value }
    }
}

impl Meaning for Cholesky {
    fn compute(&self, values: Values<'_>) -> Result<Vec<Vec<Value>>, String> {
        let ty = wide(self.output.element);
        let from = values.of(&self.input.connector, ty)?;
        let n = count(&square(&self.output).map_err(|error| error.to_string())?)?;
        let place = |i: usize, j: usize| if self.lower { i * n + j } else { j * n + i };
        let mut factor = if self.keeps_half { from.clone() } else { vec![Value::zero(ty); n * n] };
        // Row by row, from the rows above (Cholesky and Banachiewicz).
        for i in 0..n {
            for j in 0..=i {
                let mut rest = from[place(i, j)];
                for k in 0..j {
                    let product = multiply(factor[place(i, k)], self.conjugated(factor[place(j, k)]));
                    rest = subtract(rest, product);
                }
                factor[place(i, j)] = if i == j {
                    let real = sdfg::tasklet::arith::cast(rest, ScalarType::F64);
                    sdfg::tasklet::arith::cast(call(MathFunction::Sqrt, real), ty)
                } else {
                    divide(rest, factor[place(j, j)])
                };
            }
        }
        let result = vec![first_failure(n, |k| !is_positive(factor[k * n + k]))];
        Ok(ordered(&self.outputs, vec![(self.output.connector.as_str(), factor), ("_res", result)]))
    }

    fn expansions(&self) -> &'static [Expansion] {
        panels::expansions(&self.output, self.output.element)
    }

    fn call(
        &self,
        template: &mut Template,
        target: &Target,
        calls: &Calls<'_>,
    ) -> Result<Called, ExpandErrorKind> {
        self.call_lapack(template, target, calls)
    }

    fn expand(
        &self,
        template: &mut Template,
        target: &Target,
        expansion: Expansion,
    ) -> Result<(), ExpandErrorKind> {
        let ty = self.output.element;
        seen(template, &self.input)?;
        let [n, _] = seen(template, &self.output)?;
        let to = target.of(&self.output.connector);
        self.start(template, to, &n);
        if expansion == Expansion::Fast {
            self.factor_panels(template, to, &n);
        } else {
            self.factor_columns(template, to, &n, "0", &n);
        }
        if let Some(result) = &self.result {
            let first = only(result, target.of("_res"));
            let diagonal = if ty.is_complex() { "real(__v[__r, __r])" } else { "__v[__r, __r]" };
            let open = format!("not {diagonal} > 0");
            first_on_diagonal(template, to, &n, &open, &first, result.element);
        }
        Ok(())
    }
}

/// Whether an element of the diagonal is a root of something positive, and no NaN.
fn is_positive(value: Value) -> bool {
    match sdfg::tasklet::arith::cast(value, ScalarType::F64) {
        Value::F64(root) => root > 0.0,
        _ => false,
    }
}
