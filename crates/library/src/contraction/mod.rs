//! Contractions: sums of tensor products, `C = alpha * sum(A * B * ...) + beta * D`, with a label for each
//! index, as in Einstein notation.
//!
//! Products of matrices and vectors, transpositions and outer products are contractions. They share one
//! meaning and one expansion ([`expand`]). Contractions with a matrix product also have a fast expansion
//! ([`blocks`], [`thin`]), and so have transposes ([`tiles`]).

mod blocks;
mod compute;
mod direct;
mod expand;
mod product;
mod specification;
mod sweep;
mod thin;
mod tile;
mod tiles;

use sdfg::symbolic::Expr;

use crate::error::ExpandErrorKind;
use crate::operand::{ExtentComparison, Operand, Signature, agreement, misfit};
use crate::properties::Factor;

pub(crate) use product::{dot, gemm, gemv, ger, tensor_product};
pub(crate) use specification::{axpy, copy, einsum, permutation, transposition};

/// An index by which elements are told apart, as the position of its extent.
pub(crate) type Label = usize;

/// One operand of a contraction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Term {
    /// The position among the inputs of the signature.
    pub(crate) input: usize,
    /// For each dimension of the operand its label; `None` where it has a single element, which is meant for all.
    pub(crate) labels: Vec<Option<Label>>,
    /// Whether its complex conjugate is the factor.
    pub(crate) conjugated: bool,
}

/// Summands of the product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Addend {
    /// The previous contents of the output.
    Output,
    /// Another operand.
    Term(Term),
}

/// A contraction of the operands of a signature.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Contraction {
    pub(crate) signature: Signature,
    /// The extent of each label.
    pub(crate) extents: Vec<Expr>,
    /// The factors.
    pub(crate) terms: Vec<Term>,
    /// For each dimension of the output its label; `None` where it has a single element.
    pub(crate) output: Vec<Option<Label>>,
    pub(crate) alpha: Factor,
    pub(crate) beta: Factor,
    pub(crate) addend: Addend,
}

/// The labels that operands and output have, before extents are compared.
struct Labels<'a> {
    /// Input, and pairs of one of its dimensions and the label of that.
    terms: Vec<(usize, Vec<(usize, Label)>)>,
    /// The labels of the output.
    output: Vec<Label>,
    /// Labels of which an operand may have one element for all, as in NumPy's broadcasting.
    broadcast: &'a [Label],
}

impl Labels<'_> {
    /// Compares extents. The flag tells whether all are known to agree.
    fn contraction(
        self,
        signature: &Signature,
        alpha: Factor,
        beta: Factor,
    ) -> Result<(Contraction, bool), ExpandErrorKind> {
        let misfit = |reason: String| misfit(signature, reason);
        let mut exact = true;
        let labelled = self.terms.iter().flat_map(|(_, labels)| labels).map(|(_, label)| *label);
        let count = labelled.chain(self.output.iter().copied()).max().map_or(0, |label| label + 1);
        let mut extents: Vec<Option<Expr>> = vec![None; count];
        for (input, labels) in &self.terms {
            let operand = &signature.inputs[*input];
            for (position, label) in labels {
                let size = operand.size(*position);
                let spreads = self.broadcast.contains(label);
                match &extents[*label] {
                    Some(known) if spreads && (size.is_one() || known.is_one()) => {
                        if known.is_one() {
                            extents[*label] = Some(size.clone());
                        }
                    }
                    Some(known) => match agreement(known, size) {
                        ExtentComparison::Same => {}
                        ExtentComparison::Open => exact = false,
                        ExtentComparison::Different => {
                            let connector = &operand.connector;
                            return Err(misfit(format!(
                                "dimension {position} of `{connector}` has {size} elements instead of {known}"
                            )));
                        }
                    },
                    None => extents[*label] = Some(size.clone()),
                }
            }
        }
        let extents: Vec<Expr> = extents.into_iter().map(|extent| extent.unwrap_or_else(Expr::one)).collect();
        let terms = self.terms.iter().map(|(input, labels)| {
            let operand = &signature.inputs[*input];
            Term { input: *input, labels: spread(operand, labels, &extents), conjugated: false }
        });
        let terms = terms.collect();
        let output = pair(&signature.output, &self.output, &extents, &mut exact).map_err(misfit)?;
        let signature = signature.clone();
        let addend = Addend::Output;
        Ok((Contraction { signature, extents, terms, output, alpha, beta, addend }, exact))
    }
}

/// The label of each dimension of an operand; none where a single element stands for all.
fn spread(operand: &Operand, labels: &[(usize, Label)], extents: &[Expr]) -> Vec<Option<Label>> {
    let mut spread = vec![None; operand.dimensions.len()];
    for (position, label) in labels {
        if !operand.size(*position).is_one() || extents[*label].is_one() {
            spread[*position] = Some(*label);
        }
    }
    spread
}

/// Pairs labels with the dimensions of an operand in order; those of one element may be there or not on either side.
fn pair(
    operand: &Operand,
    labels: &[Label],
    extents: &[Expr],
    exact: &mut bool,
) -> Result<Vec<Option<Label>>, String> {
    let long: Vec<Label> = labels.iter().copied().filter(|label| !extents[*label].is_one()).collect();
    let positions = operand.long();
    let connector = &operand.connector;
    if long.len() != positions.len() {
        let sizes: Vec<String> = labels.iter().map(|label| extents[*label].to_string()).collect();
        return Err(format!("`{connector}` should be of shape [{}]", sizes.join(", ")));
    }
    let mut paired = vec![None; operand.dimensions.len()];
    for (position, label) in positions.into_iter().zip(long) {
        match agreement(operand.size(position), &extents[label]) {
            ExtentComparison::Same => {}
            ExtentComparison::Open => *exact = false,
            ExtentComparison::Different => {
                return Err(format!(
                    "dimension {position} of `{connector}` has {} elements instead of {}",
                    operand.size(position),
                    extents[label]
                ));
            }
        }
        paired[position] = Some(label);
    }
    Ok(paired)
}

impl Contraction {
    /// Takes what is added from an input, whose dimensions are the last ones of the output or have one element.
    fn adding(mut self, input: usize) -> Result<Self, ExpandErrorKind> {
        let operand = &self.signature.inputs[input];
        let labels: Vec<Label> = self.output.iter().flatten().copied().collect();
        let all: Vec<usize> = (0..operand.dimensions.len()).collect();
        let found = [all, operand.long()].into_iter().find_map(|positions| {
            let first = labels.len().checked_sub(positions.len())?;
            let pairs: Vec<(usize, Label)> = positions.into_iter().zip(labels[first..].to_vec()).collect();
            let fits = pairs.iter().all(|(position, label)| {
                let size = operand.size(*position);
                size.is_one() || agreement(size, &self.extents[*label]) != ExtentComparison::Different
            });
            fits.then(|| spread(operand, &pairs, &self.extents))
        });
        let Some(labels) = found else {
            let reason = format!("`{}` cannot be added to the result", operand.connector);
            return Err(misfit(&self.signature, reason));
        };
        self.addend = Addend::Term(Term { input, labels, conjugated: false });
        Ok(self)
    }

    /// Takes the complex conjugate of an input's elements, which changes nothing for real ones.
    fn conjugating(mut self, input: &str) -> Self {
        let found = self.signature.find(input);
        for term in self.terms.iter_mut().filter(|term| Some(term.input) == found) {
            term.conjugated = self.signature.inputs[term.input].element.is_complex();
        }
        self
    }

    /// Refuses element types that cannot be converted to that of the output, or multiplied and added.
    fn checked(self) -> Result<Self, ExpandErrorKind> {
        let output = &self.signature.output;
        let used = self.terms.iter().chain(match &self.addend {
            Addend::Output => None,
            Addend::Term(term) => Some(term),
        });
        for term in used {
            let operand = &self.signature.inputs[term.input];
            let whole = |ty: sdfg::dtype::ScalarType| !ty.is_float() && !ty.is_complex();
            let loses = operand.element.is_complex() && !output.element.is_complex()
                || whole(output.element) && !whole(operand.element);
            if loses {
                let (connector, from, to) = (operand.connector.clone(), operand.element, output.element);
                let reason = format!("{from} cannot be converted to {to}, in which the result is");
                return Err(ExpandErrorKind::Element { connector, reason });
            }
        }
        if output.element == sdfg::dtype::ScalarType::Bool && !self.moves() {
            let connector = output.connector.clone();
            let reason = "truth values have no sums and products".to_owned();
            return Err(ExpandErrorKind::Element { connector, reason });
        }
        Ok(self)
    }

    /// Whether elements are moved and nothing is computed.
    fn moves(&self) -> bool {
        self.terms.len() == 1 && self.alpha.is_one() && self.beta.is_zero() && self.reduced().is_empty()
    }

    /// The labels over which sums run, without those of one element.
    pub(crate) fn reduced(&self) -> Vec<Label> {
        let is_summed =
            |label: &Label| !self.extents[*label].is_one() && !self.output.contains(&Some(*label));
        (0..self.extents.len()).filter(is_summed).collect()
    }

    /// The labels of the output, in order.
    pub(crate) fn kept(&self) -> Vec<Label> {
        self.output.iter().flatten().copied().collect()
    }
}

/// The contraction, unless its shapes are known not to fit.
fn contract(
    signature: &Signature,
    labels: Labels<'_>,
    alpha: Factor,
    beta: Factor,
) -> Result<Contraction, ExpandErrorKind> {
    let (mut contraction, _) = labels.contraction(signature, alpha, beta)?;
    // That of no dimension: a vector is a matrix with one row.
    contraction.extents.push(Expr::one());
    contraction.checked()
}
