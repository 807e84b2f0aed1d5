//! Inputs of random programs.

use sdfg::dtype::{ScalarKind, ScalarType};
use sdfg::interpret::{Arguments, tensors_of};
use sdfg::ir::Sdfg;
use sdfg::symbolic::Expr;
use sdfg::tasklet::arith::cast;
use sdfg::tensor::Tensor;
use sdfg::value::Value;

use super::rng::Rng;

/// Values of the symbols of a random program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Extent of the first dimension.
    pub n: i64,
    /// Extent of the second dimension.
    pub m: i64,
}

impl Sizes {
    /// The value of an expression over `N` and `M`; `None` if it has other symbols.
    pub(super) fn value(self, expr: &Expr) -> Option<i64> {
        expr.eval(&|symbol| match symbol.as_str() {
            "N" => Some(self.n),
            "M" => Some(self.m),
            _ => None,
        })
        .ok()
    }
}

/// Arguments of a random program: small dyadic numbers, so that sums and products of few of them are exact.
pub fn inputs(sdfg: &Sdfg, sizes: Sizes, rng: &mut Rng) -> Arguments {
    let mut arguments = Arguments::new();
    for (name, value) in [("N", sizes.n), ("M", sizes.m)] {
        if sdfg.symbols().any(|(symbol, _)| symbol.as_str() == name) {
            arguments.set_symbol(name, value);
        }
    }
    for (_, container) in sdfg.arguments() {
        let extent = |extent: &Expr| sizes.value(extent).unwrap_or(0);
        let extents = container.shape().iter().map(extent).collect();
        for (name, shape) in tensors_of(container, extents, || rng.below(6) as i64) {
            let count = shape.iter().product::<i64>().max(0);
            let mut bytes = Vec::new();
            for _ in 0..count {
                for _ in 0..container.element.lanes() {
                    let lane = container.element.lane();
                    bytes.extend_from_slice(&element(rng, lane).to_bytes()[..lane.size()]);
                }
            }
            if let Ok(tensor) = Tensor::from_bytes(container.element, shape, bytes) {
                arguments.set(name, tensor);
            }
        }
    }
    arguments
}

fn element(rng: &mut Rng, ty: ScalarType) -> Value {
    let number = rng.below(65) as f64 - 32.0;
    match ty.kind() {
        ScalarKind::Bool => Value::Bool(number > 0.0),
        ScalarKind::Signed => cast(Value::F64(number), ty),
        ScalarKind::Unsigned => cast(Value::F64(number.abs()), ty),
        ScalarKind::Float | ScalarKind::Complex => cast(Value::F64(number / 8.0), ty),
    }
}
