//! `Cholesky`: the triangular factor of a positive definite matrix, `A = L L^H` or `A = U^H U`, with zeros beside it.

use sdfg::dtype::ScalarType;
use sdfg::ir::LibraryNode;
use sdfg::tasklet::MathFunction;
use sdfg::value::Value;

use crate::error::ExpandErrorKind;
use crate::operand::{Operand, Signature};
use crate::operation::{Expansion, Meaning, Target};
use crate::properties::Properties;
use crate::solve::square;
use crate::template::{Element, Elementwise, Template, converted};
use crate::values::{Values, call, count, divide, multiply, subtract, wide};

/// A factorization.
pub(crate) struct Cholesky {
    input: Operand,
    output: Operand,
    lower: bool,
}

impl Cholesky {
    pub(crate) fn of(node: &LibraryNode, signature: &Signature) -> Result<Self, ExpandErrorKind> {
        let properties = Properties(node);
        properties.check(&["lower"])?;
        signature.check(&["_a"], &[], "_b")?;
        let (input, output) = (signature.input("_a")?.clone(), signature.output.clone());
        square(&input, &output, &output)?;
        square(&output, &output, &output)?;
        Ok(Cholesky { input, output, lower: properties.flag("lower", true)? })
    }

    fn conjugated(&self, value: Value) -> Value {
        if self.output.element.is_complex() { call(MathFunction::Conj, value) } else { value }
    }
}

impl Meaning for Cholesky {
    fn compute(&self, values: Values<'_>) -> Result<Vec<Value>, String> {
        let ty = wide(self.output.element);
        let from = values.of(&self.input.connector, ty)?;
        let n = count(self.output.size(0))?;
        let place = |i: usize, j: usize| if self.lower { i * n + j } else { j * n + i };
        let mut factor = vec![Value::zero(ty); n * n];
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
        Ok(factor)
    }

    fn expand(
        &self,
        template: &mut Template,
        target: &Target,
        _expansion: Expansion,
    ) -> Result<(), ExpandErrorKind> {
        let ty = self.output.element;
        let n = template.shape(&self.output)[0].clone();
        let at = |container: &str, i: &str, j: &str| {
            let (row, column) = if self.lower { (i, j) } else { (j, i) };
            Element::new(container, vec![row.to_owned(), column.to_owned()])
        };
        let to = target.container();
        let range = |param: &str, range: &str| (param.to_owned(), range.to_owned());
        let read = |connector: &str, element: Element| (connector.to_owned(), element);
        let all = format!("0:{n}");
        template.elementwise(Elementwise {
            label: "start",
            dimensions: vec![range("__i", &all), range("__j", &all)],
            reads: vec![read("__x", at(&self.input.connector, "__i", "__j"))],
            value: format!("{} if __j <= __i else {ty}(0)", converted("__x", self.input.element, ty)),
            write: at(to, "__i", "__j"),
            adds: false,
        });
        template.blocks(&format!("for __columns: __k = 0:{n} {{\n"));
        let root = if ty.is_complex() { format!("{ty}(sqrt(real(__x)))") } else { "sqrt(__x)".to_owned() };
        template.elementwise(Elementwise {
            label: "root",
            dimensions: Vec::new(),
            reads: vec![read("__x", at(to, "__k", "__k"))],
            value: root,
            write: at(to, "__k", "__k"),
            adds: false,
        });
        let below = format!("__k + 1:{n}");
        template.elementwise(Elementwise {
            label: "divide",
            dimensions: vec![range("__i", &below)],
            reads: vec![read("__x", at(to, "__i", "__k")), read("__d", at(to, "__k", "__k"))],
            value: "__x / __d".to_owned(),
            write: at(to, "__i", "__k"),
            adds: false,
        });
        let right = if ty.is_complex() { "conj(__r)" } else { "__r" };
        template.elementwise(Elementwise {
            label: "update",
            dimensions: vec![range("__i", &below), range("__j", "__k + 1:__i + 1")],
            reads: vec![
                read("__x", at(to, "__i", "__j")),
                read("__l", at(to, "__i", "__k")),
                read("__r", at(to, "__j", "__k")),
            ],
            value: format!("__x - __l * {right}"),
            write: at(to, "__i", "__j"),
            adds: false,
        });
        template.blocks("}\n");
        Ok(())
    }
}
