//! Products of matrices and vectors as contractions: `MatMul`, `Gemm`, `BatchedMatMul`, `Gemv`, `Ger`, `Dot`
//! and `TensorDot`.

use sdfg::ir::LibraryNode;
use sdfg::syntax::Expression;

use super::{Contraction, Label, Labels, contract, misfit};
use crate::error::ExpandErrorKind;
use crate::operand::Signature;
use crate::properties::{Factor, Properties};

/// Label of the rows of the left matrix, of its columns, and of the columns of the right one; behind them the batches.
const ROW: Label = 0;
const INNER: Label = 1;
const COLUMN: Label = 2;
const FIRST_BATCH: Label = 3;

fn one() -> Factor {
    Factor::of(Expression::integer(1))
}

/// `_a @ _b` by NumPy's rules for shapes, with `transA`, `transB`, `alpha`, and `beta` times `_cin` or what `_c` held.
pub(crate) fn gemm(node: &LibraryNode, signature: &Signature) -> Result<Contraction, ExpandErrorKind> {
    let properties = Properties(node);
    // The last three are DaCe's for graphics cards.
    properties.check(&[
        "alpha",
        "beta",
        "transA",
        "transB",
        "cin",
        "algorithm",
        "accumulator_type",
        "compute_type",
    ])?;
    signature.check(&["_a", "_b"], &["_cin"], "_c")?;
    let transposed = [properties.flag("transA", false)?, properties.flag("transB", false)?];
    let contraction =
        matrices(signature, transposed, properties.factor("alpha", 1), properties.factor("beta", 0))?;
    match signature.find("_cin") {
        Some(input) if !contraction.beta.is_zero() => contraction.adding(input)?.checked(),
        Some(_) | None => contraction.checked(),
    }
}

/// NumPy's `@`. Where dimensions are single indices, they may be meant or not: what fits the output decides.
fn matrices(
    signature: &Signature,
    transposed: [bool; 2],
    alpha: Factor,
    beta: Factor,
) -> Result<Contraction, ExpandErrorKind> {
    let (a, b) = (signature.input("_a")?, signature.input("_b")?);
    let all = [(0..a.dimensions.len()).collect::<Vec<_>>(), (0..b.dimensions.len()).collect::<Vec<_>>()];
    let mut open = None;
    let mut refused = None;
    for [left, right] in [all, [a.long(), b.long()]] {
        let is_outer = left.len() == 1 && right.len() == 1 && signature.output.long().len() == 2;
        let labels = labels_of(signature, &left, &right, transposed, is_outer);
        match labels.contraction(signature, alpha.clone(), beta.clone()) {
            Ok((contraction, true)) => return Ok(contraction),
            Ok((contraction, false)) => open = open.or(Some(contraction)),
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    open.ok_or_else(|| refused.unwrap_or_else(|| misfit(signature, "they are no matrices".to_owned())))
}

/// Gives labels to the dimensions that count of both operands.
fn labels_of(
    signature: &Signature,
    left: &[usize],
    right: &[usize],
    [left_transposed, right_transposed]: [bool; 2],
    is_outer: bool,
) -> Labels<'static> {
    let inputs = ["_a", "_b"].map(|name| signature.find(name).unwrap_or(0));
    let rank = |positions: &[usize]| positions.len().saturating_sub(2);
    let batches = rank(left).max(rank(right));
    // Batches are counted from the last, as broadcasting pairs them.
    let batch = |rank: usize| (0..rank).rev().map(|distance| FIRST_BATCH + distance);
    let core = |positions: &[usize], transposed: bool, vector: Label, matrix: [Label; 2]| -> Vec<Label> {
        match positions.len() {
            0 => Vec::new(),
            1 => vec![vector],
            _ if transposed => vec![matrix[1], matrix[0]],
            _ => matrix.to_vec(),
        }
    };
    let (row, column) = if is_outer { (ROW, COLUMN) } else { (INNER, INNER) };
    // A number multiplies a matrix or vector as it is.
    let is_scaled = left.is_empty() || right.is_empty();
    let left_labels: Vec<Label> =
        batch(rank(left)).chain(core(left, left_transposed, row, [ROW, INNER])).collect();
    let right_labels: Vec<Label> =
        batch(rank(right)).chain(core(right, right_transposed, column, [INNER, COLUMN])).collect();
    let sums = |label: &Label| *label == INNER && !is_scaled;
    let is_kept = |label: &Label| *label < FIRST_BATCH && !sums(label);
    let has_all = is_scaled && (left_transposed || right_transposed);
    let mut output: Vec<Label> = batch(batches).collect();
    output.extend(left_labels.iter().chain(&right_labels).copied().filter(is_kept));
    if has_all && output.len() >= 2 {
        let last = output.len() - 1;
        output.swap(last - 1, last);
    }
    let pairs = |positions: &[usize], labels: Vec<Label>| positions.iter().copied().zip(labels).collect();
    Labels {
        terms: vec![(inputs[0], pairs(left, left_labels)), (inputs[1], pairs(right, right_labels))],
        output,
        broadcast: BATCHES,
    }
}

/// Labels of batches: containers have fewer dimensions than this.
const BATCHES: &[Label] = &[3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];

/// `alpha * _A @ _x + beta * _y`, the matrix transposed or not.
pub(crate) fn gemv(node: &LibraryNode, signature: &Signature) -> Result<Contraction, ExpandErrorKind> {
    let properties = Properties(node);
    properties.check(&["alpha", "beta", "transA", "n", "m"])?;
    signature.check(&["_A", "_x"], &[], "_y")?;
    let matrix = signature.input("_A")?.fit(2)?;
    let vector = signature.input("_x")?.fit(1)?;
    let labels = if properties.flag("transA", false)? { [INNER, ROW] } else { [ROW, INNER] };
    let terms = vec![
        (signature.find("_A").unwrap_or(0), matrix.into_iter().zip(labels).collect()),
        (signature.find("_x").unwrap_or(0), vector.into_iter().zip([INNER]).collect()),
    ];
    let labels = Labels { terms, output: vec![ROW], broadcast: &[] };
    contract(signature, labels, properties.factor("alpha", 1), properties.factor("beta", 0))
}

/// `alpha * outer(_x, _y) + _A`.
pub(crate) fn ger(node: &LibraryNode, signature: &Signature) -> Result<Contraction, ExpandErrorKind> {
    let properties = Properties(node);
    // Tiles are DaCe's for FPGAs.
    properties.check(&["alpha", "n", "m", "n_tile_size", "m_tile_size"])?;
    signature.check(&["_x", "_y", "_A"], &[], "_res")?;
    let vector = |name: &str, label: Label| -> Result<_, ExpandErrorKind> {
        let positions = signature.input(name)?.fit(1)?;
        Ok((signature.find(name).unwrap_or(0), positions.into_iter().zip([label]).collect()))
    };
    let terms = vec![vector("_x", 0)?, vector("_y", 1)?];
    let labels = Labels { terms, output: vec![0, 1], broadcast: &[] };
    let (contraction, _) = labels.contraction(signature, properties.factor("alpha", 1), one())?;
    contraction.adding(signature.find("_A").unwrap_or(0))?.checked()
}

/// The sum of `_x * _y`, or of `conj(_x) * _y`.
pub(crate) fn dot(node: &LibraryNode, signature: &Signature) -> Result<Contraction, ExpandErrorKind> {
    let properties = Properties(node);
    // The accumulator is DaCe's for graphics cards.
    properties.check(&["n", "accumulator_type", "conjugate"])?;
    signature.check(&["_x", "_y"], &[], "_result")?;
    let vector = |name: &str| -> Result<_, ExpandErrorKind> {
        let positions = signature.input(name)?.fit(1)?;
        Ok((signature.find(name).unwrap_or(0), positions.into_iter().zip([0]).collect()))
    };
    let labels = Labels { terms: vec![vector("_x")?, vector("_y")?], output: Vec::new(), broadcast: &[] };
    let product = contract(signature, labels, one(), properties.factor("beta", 0))?;
    Ok(if properties.flag("conjugate", false)? { product.conjugating("_x") } else { product })
}

/// The sum over `left_axes` of `_left_tensor` and `right_axes` of `_right_tensor`, the other axes of the left before those
/// of the right, unless a `permutation` tells which of them each dimension of the output is.
pub(crate) fn tensor_product(
    node: &LibraryNode,
    signature: &Signature,
) -> Result<Contraction, ExpandErrorKind> {
    let properties = Properties(node);
    properties.check(&["left_axes", "right_axes", "permutation"])?;
    signature.check(&["_left_tensor", "_right_tensor"], &[], "_out_tensor")?;
    let axes = [
        properties.list("left_axes")?.unwrap_or_default(),
        properties.list("right_axes")?.unwrap_or_default(),
    ];
    if axes[0].len() != axes[1].len() {
        return Err(properties.wrong("right_axes", "must have as many entries as `left_axes`"));
    }
    let mut next = axes[0].len();
    let (mut terms, mut output) = (Vec::new(), Vec::new());
    for (name, property, axes) in
        [("_left_tensor", "left_axes", &axes[0]), ("_right_tensor", "right_axes", &axes[1])]
    {
        let rank = signature.input(name)?.dimensions.len();
        let is_twice = |axis: &usize| axes.iter().filter(|other| *other == axis).count() > 1;
        if axes.iter().any(|axis| *axis >= rank || is_twice(axis)) {
            return Err(properties.wrong(property, "must have axes of its operand, each once"));
        }
        let mut labels = Vec::new();
        for position in 0..rank {
            let label = axes.iter().position(|axis| *axis == position).unwrap_or_else(|| {
                output.push(next);
                next += 1;
                next - 1
            });
            labels.push((position, label));
        }
        terms.push((signature.find(name).unwrap_or(0), labels));
    }
    if let Some(order) = properties.list("permutation")? {
        output = super::specification::permuted(properties, "permutation", &order, &output)?;
    }
    contract(signature, Labels { terms, output, broadcast: &[] }, one(), Factor::of(Expression::integer(0)))
}
