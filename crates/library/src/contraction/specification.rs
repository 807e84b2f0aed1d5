//! Contractions specified by labels or axes: `Einsum`, `Transpose`, `TensorTranspose`, `Copy` and `Axpy`.

use sdfg::ir::LibraryNode;
use sdfg::syntax::Expression;

use super::{Contraction, Label, Labels, contract};
use crate::error::ExpandErrorKind;
use crate::operand::Signature;
use crate::properties::{Factor, Properties};

fn number(value: i64) -> Factor {
    Factor::of(Expression::integer(value))
}

/// Einstein's convention: `einsum_str = ij_jk_to_ik` is `ij,jk->ik`. The inputs are those of the node in their order.
pub(crate) fn einsum(node: &LibraryNode, signature: &Signature) -> Result<Contraction, ExpandErrorKind> {
    let properties = Properties(node);
    properties.check(&["einsum_str", "alpha", "beta"])?;
    let wrong = |must: &str| properties.wrong("einsum_str", must);
    let word = properties.word("einsum_str")?;
    let (inputs, output) =
        word.rsplit_once("_to_").ok_or_else(|| wrong("must be as `ij_jk_to_ik`, which is `ij,jk->ik`"))?;
    let inputs: Vec<&str> = inputs.split('_').collect();
    if inputs.len() != signature.inputs.len() {
        return Err(wrong("must have labels for each input"));
    }
    let mut known: Vec<char> = Vec::new();
    let mut terms = Vec::new();
    for (position, (labels, operand)) in inputs.iter().zip(&signature.inputs).enumerate() {
        if let Some(other) = labels.chars().find(|label| !label.is_ascii_alphabetic()) {
            return Err(wrong(&format!("must have letters as labels, which `{other}` is not")));
        }
        let positions = operand.fit(labels.len())?;
        let labels = labels.chars().map(|letter| {
            known.iter().position(|one| *one == letter).unwrap_or_else(|| {
                known.push(letter);
                known.len() - 1
            })
        });
        terms.push((position, positions.into_iter().zip(labels).collect()));
    }
    let mut labels: Vec<Label> = Vec::new();
    for letter in output.chars() {
        match known.iter().position(|one| *one == letter) {
            Some(label) if !labels.contains(&label) => labels.push(label),
            Some(_) => return Err(wrong("must have each label of the result once")),
            None => return Err(wrong("must have the labels of the result on an input, too")),
        }
    }
    let labels = Labels { terms, output: labels, broadcast: &[] };
    contract(signature, labels, properties.factor("alpha", 1), properties.factor("beta", 0))
}

/// The transpose of a matrix.
pub(crate) fn transposition(
    node: &LibraryNode,
    signature: &Signature,
) -> Result<Contraction, ExpandErrorKind> {
    Properties(node).check(&[])?;
    signature.check(&["_inp"], &[], "_out")?;
    let operand = signature.input("_inp")?;
    let rank = operand.dimensions.len().min(2);
    let labels: Vec<(usize, Label)> = operand.fit(rank)?.into_iter().zip(0..).collect();
    let labels = Labels { terms: vec![(0, labels)], output: (0..rank).rev().collect(), broadcast: &[] };
    contract(signature, labels, number(1), number(0))
}

/// `alpha * transpose(_inp_tensor, axes) + beta * _out_tensor`: dimension `d` of the output is axis `axes[d]` of the input.
pub(crate) fn permutation(node: &LibraryNode, signature: &Signature) -> Result<Contraction, ExpandErrorKind> {
    let properties = Properties(node);
    properties.check(&["axes", "alpha", "beta"])?;
    signature.check(&["_inp_tensor"], &[], "_out_tensor")?;
    let operand = signature.input("_inp_tensor")?;
    let given = properties.list("axes")?;
    let rank = given.as_ref().map_or(operand.dimensions.len(), Vec::len);
    let order = given.unwrap_or_else(|| (0..rank).rev().collect());
    let labels: Vec<(usize, Label)> = operand.fit(rank)?.into_iter().zip(0..).collect();
    let output = permuted(properties, "axes", &order, &(0..rank).collect::<Vec<_>>())?;
    let labels = Labels { terms: vec![(0, labels)], output, broadcast: &[] };
    contract(signature, labels, properties.factor("alpha", 1), properties.factor("beta", 0))
}

/// `_cpy_out = _cpy_in`.
pub(crate) fn copy(node: &LibraryNode, signature: &Signature) -> Result<Contraction, ExpandErrorKind> {
    Properties(node).check(&[])?;
    signature.check(&["_cpy_in"], &[], "_cpy_out")?;
    let rank = signature.input("_cpy_in")?.dimensions.len();
    let labels: Vec<(usize, Label)> = (0..rank).map(|position| (position, position)).collect();
    let labels = Labels { terms: vec![(0, labels)], output: (0..rank).collect(), broadcast: &[] };
    contract(signature, labels, number(1), number(0))
}

/// `_res = a * _x + _y`.
pub(crate) fn axpy(node: &LibraryNode, signature: &Signature) -> Result<Contraction, ExpandErrorKind> {
    let properties = Properties(node);
    properties.check(&["a", "n"])?;
    signature.check(&["_x", "_y"], &[], "_res")?;
    let x = signature.find("_x").unwrap_or(0);
    let rank = signature.inputs[x].dimensions.len();
    let labels: Vec<(usize, Label)> = (0..rank).map(|position| (position, position)).collect();
    let labels = Labels { terms: vec![(x, labels)], output: (0..rank).collect(), broadcast: &[] };
    let (contraction, _) = labels.contraction(signature, properties.factor("a", 1), number(1))?;
    contraction.adding(signature.find("_y").unwrap_or(0))?.checked()
}

/// The labels in the order that a property gives, which names each once.
pub(super) fn permuted(
    properties: Properties<'_>,
    name: &str,
    order: &[usize],
    labels: &[Label],
) -> Result<Vec<Label>, ExpandErrorKind> {
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    if !sorted.iter().copied().eq(0..labels.len()) {
        let must = format!("must have each of the axes 0 to {} once", labels.len().saturating_sub(1));
        return Err(properties.wrong(name, &must));
    }
    Ok(order.iter().map(|axis| labels[*axis]).collect())
}
