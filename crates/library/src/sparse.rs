//! `CSRMV` and `CSRMM`: a matrix in compressed-row format times a vector or matrix,
//! `_c = alpha * A @ _b + beta * _cin`, the right matrix transposed or not.

use sdfg::dtype::ScalarType;
use sdfg::ir::LibraryNode;
use sdfg::value::Value;

use crate::error::ExpandErrorKind;
use crate::operand::{Operand, Signature};
use crate::operation::{Expansion, Meaning, Target};
use crate::properties::{Factor, Properties};
use crate::template::{Element, Elementwise, Template, converted};
use crate::values::{Values, add, count, multiply};

/// A product with a sparse matrix.
pub(crate) struct SparseProduct {
    signature: Signature,
    /// 1 if vectors are multiplied, 2 if matrices are.
    rank: usize,
    /// Whether the right matrix is given by its columns.
    transposed: bool,
    alpha: Factor,
    beta: Factor,
}

impl SparseProduct {
    pub(crate) fn of(node: &LibraryNode, signature: &Signature) -> Result<Self, ExpandErrorKind> {
        let properties = Properties(node);
        properties.check(&["alpha", "beta", "transA", "transB"])?;
        signature.check(&["_a_rows", "_a_cols", "_a_vals", "_b"], &["_cin"], "_c")?;
        if properties.flag("transA", false)? {
            let must =
                "must be `False`: only `_b` may be transposed; give the transpose of the matrix instead";
            return Err(properties.wrong("transA", must));
        }
        let transposed = properties.flag("transB", false)?;
        if transposed && node.operation == "CSRMV" {
            return Err(properties.wrong("transB", "must be `False`: `_b` is a vector"));
        }
        for name in ["_a_rows", "_a_cols"] {
            let operand = signature.input(name)?;
            if !operand.element.is_integer() {
                let reason = format!("{} does not count elements", operand.element);
                return Err(ExpandErrorKind::Element { connector: name.to_owned(), reason });
            }
        }
        for name in ["_a_rows", "_a_cols", "_a_vals"] {
            let operand = signature.input(name)?;
            if operand.fit(1)? != operand.seen() {
                let (connector, shape) = (name.to_owned(), operand.shape());
                return Err(ExpandErrorKind::Rank { connector, shape, rank: 1 });
            }
        }
        let rank = if node.operation == "CSRMV" { 1 } else { 2 };
        let others = [Some(signature.input("_b")?), signature.find("_cin").map(|at| &signature.inputs[at])];
        for operand in others.into_iter().flatten().chain([&signature.output]) {
            if operand.fit(rank)? != operand.seen() {
                let (connector, shape) = (operand.connector.clone(), operand.shape());
                return Err(ExpandErrorKind::Rank { connector, shape, rank });
            }
        }
        let (alpha, beta) = (properties.factor("alpha", 1), properties.factor("beta", 0));
        Ok(SparseProduct { signature: signature.clone(), rank, transposed, alpha, beta })
    }

    /// The summand multiplied by `beta`.
    fn addend(&self) -> &Operand {
        let input = self.signature.find("_cin").map(|at| &self.signature.inputs[at]);
        input.unwrap_or(&self.signature.output)
    }
}

/// The extents of the dimensions that are no single index.
fn extents(operand: &Operand) -> Result<Vec<usize>, String> {
    operand.seen().into_iter().map(|position| count(operand.size(position))).collect()
}

impl Meaning for SparseProduct {
    fn compute(&self, values: Values<'_>) -> Result<Vec<Vec<Value>>, String> {
        let ty = self.signature.output.element;
        let missing = || "an index leads out of an operand".to_owned();
        let integers = |name: &str| -> Result<Vec<usize>, String> {
            let values = values.of(name, ScalarType::I64)?.into_iter();
            let values = values.map(|value| value.to_i64().and_then(|value| usize::try_from(value).ok()));
            values.collect::<Option<_>>().ok_or_else(missing)
        };
        let (rows, columns) = (integers("_a_rows")?, integers("_a_cols")?);
        let (elements, right) = (values.of("_a_vals", ty)?, values.of("_b", ty)?);
        let before = values.of(&self.addend().connector, ty)?;
        let alpha = self.alpha.value(ty).map_err(|error| error.to_string())?;
        let beta = self.beta.value(ty).map_err(|error| error.to_string())?;
        let width = extents(&self.signature.output)?.get(1).copied().unwrap_or(1);
        let depth = extents(self.signature.input("_b").map_err(|error| error.to_string())?)?;
        let depth = depth.get(1).copied().unwrap_or(1);
        let mut results = Vec::with_capacity(before.len());
        for (place, before) in before.into_iter().enumerate() {
            let (row, column) = (place / width, place % width);
            let (first, last) = rows.get(row).zip(rows.get(row + 1)).ok_or_else(missing)?;
            let mut sum = Value::zero(ty);
            for entry in *first..*last {
                let (element, k) = elements.get(entry).zip(columns.get(entry)).ok_or_else(missing)?;
                let place = if self.transposed { column * depth + k } else { k * width + column };
                let factor =
                    right.get(place).filter(|_| !self.transposed || *k < depth).ok_or_else(missing)?;
                sum = add(sum, multiply(*element, *factor));
            }
            let product = multiply(alpha, sum);
            results.push(if self.beta.is_zero() { product } else { add(product, multiply(beta, before)) });
        }
        Ok(vec![results])
    }

    fn adds(&self) -> bool {
        self.beta.is_zero()
    }

    fn expand(
        &self,
        template: &mut Template,
        target: &Target,
        _expansion: Expansion,
    ) -> Result<(), ExpandErrorKind> {
        let ty = self.signature.output.element;
        let shape = template.shape(&self.signature.output);
        let params: Vec<String> = ["__i", "__j"][..self.rank].iter().map(|name| (*name).to_owned()).collect();
        let ranges = shape.iter().map(|size| format!("0:{size}"));
        let dimensions: Vec<(String, String)> = params.iter().cloned().zip(ranges).collect();
        if !target.adds {
            let addend = self.addend();
            let (reads, value) = if self.beta.is_zero() {
                (Vec::new(), format!("{ty}(0)"))
            } else {
                let value = converted("__before", addend.element, ty);
                let read = Element::new(&addend.connector, params.clone());
                (vec![("__before".to_owned(), read)], format!("{} * {value}", self.beta.code(ty)?))
            };
            template.elementwise(Elementwise {
                label: "scale",
                dimensions: dimensions.clone(),
                reads,
                value,
                write: Element::new(target.container(), params.clone()),
                adds: false,
            });
        }
        let right = self.signature.input("_b")?;
        let scale = if self.alpha.is_one() { String::new() } else { format!("{} * ", self.alpha.code(ty)?) };
        let element = converted("__a", self.signature.input("_a_vals")?.element, ty);
        let factor = converted("__v[__c]", right.element, ty);
        let mut column = template.shape(right);
        let (summed, kept) = if self.transposed { (1, 0) } else { (0, 1) };
        column[summed] = format!("0:{}", column[summed]);
        if self.rank == 2 {
            column[kept] = "__j".to_owned();
        }
        let map: Vec<String> = dimensions.iter().map(|(param, range)| format!("{param} = {range}")).collect();
        let (target, result) = (target.container(), Element::new(target.container(), params).text());
        template.blocks(&format!(
            "state multiply {{
access _a_rows
access _a_cols
access _a_vals
access _b
access __out = {target}
map __rows [{}] {{
map __entries [__e = __first:__last] schedule(sequential) {{
tasklet __gather (__v, __c) -> (__x: {ty}) {{ __x = {factor} }}
tasklet __times (__a, __x: {ty}) -> (__o) {{ __o = {scale}{element} * __x }}
__entries._b -> __gather.__v: _b[{}] volume(1)
__entries._a_cols -> __gather.__c: _a_cols[__e]
__entries._a_vals -> __times.__a: _a_vals[__e]
__gather.__x -> __times.__x
__times.__o -> __entries.__out: {result} wcr(sum)
}}
__rows._a_rows -> __entries@__first: _a_rows[__i]
__rows._a_rows -> __entries@__last: _a_rows[__i + 1]
__rows._a_cols -> __entries._a_cols
__rows._a_vals -> __entries._a_vals
__rows._b -> __entries._b
__entries.__out -> __rows.__out
}}
_a_rows -> __rows._a_rows
_a_cols -> __rows._a_cols
_a_vals -> __rows._a_vals
_b -> __rows._b
__rows.__out -> __out
}}
",
            map.join(", "),
            column.join(", "),
        ));
        Ok(())
    }
}
