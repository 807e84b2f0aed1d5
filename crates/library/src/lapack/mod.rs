//! LAPACK's matrix operations: factors with exchanged rows (`Getrf`), and operations on these factors
//! (`Getrs`, `Getri`).
//!
//! `Solve` and `Inv` consist of the same parts. `elimination` computes with numbers; `states` expresses the
//! same as graphs.

mod elimination;
pub(crate) mod panels;
mod states;

use sdfg::dtype::ScalarType;
use sdfg::ir::LibraryNode;
use sdfg::symbolic::Expr;
use sdfg::tasklet::arith;
use sdfg::value::Value;

pub(crate) use elimination::{factorize, substitute};
use elimination::{pivots_of, unit};
pub(crate) use states::{Factors, Sides, first_on_diagonal, start_matrix};

use crate::error::ExpandErrorKind;
use crate::operand::{ExtentComparison, Operand, Signature, agreement};
use crate::operation::{Expansion, Meaning, Target};
use crate::properties::Properties;
use crate::template::{Element, Elementwise, Template};
use crate::values::{Values, count, wide};

/// `Getrf`: lower and upper triangular factors of a matrix, `P A = L U`, as LAPACK stores them.
pub(crate) struct Factorization {
    from: Operand,
    to: Operand,
    pivots: Operand,
    result: Option<Operand>,
    outputs: Vec<String>,
}

/// `Getrs` and `Getri`: solutions of `A X = B` from the factors of `A`.
pub(crate) struct Substitution {
    factors: Operand,
    pivots: Operand,
    /// The right-hand sides; the unit matrix without.
    right: Option<Operand>,
    to: Operand,
    result: Option<Operand>,
    outputs: Vec<String>,
}

/// The rows and columns of what must be a matrix.
pub(crate) fn matrix(operand: &Operand) -> Result<[Expr; 2], ExpandErrorKind> {
    let positions = operand.fit(2)?;
    Ok([operand.size(positions[0]).clone(), operand.size(positions[1]).clone()])
}

/// The rows of what must be a square matrix.
pub(crate) fn square(operand: &Operand) -> Result<Expr, ExpandErrorKind> {
    let [rows, columns] = matrix(operand)?;
    if agreement(&rows, &columns) == ExtentComparison::Different {
        return Err(misfit(operand, "it must be square"));
    }
    Ok(rows)
}

/// The extents of a matrix as an expansion sees it.
pub(crate) fn seen(template: &mut Template, operand: &Operand) -> Result<[String; 2], ExpandErrorKind> {
    let shape = template.shape(operand);
    shape.try_into().map_err(|_| misfit(operand, "it must be a matrix of more than one row and column"))
}

/// Refuses a result that is not a square matrix of the shape of an operand.
pub(crate) fn check_same_square(from: &Operand, to: &Operand) -> Result<(), ExpandErrorKind> {
    if agreement(&square(from)?, &square(to)?) == ExtentComparison::Different {
        return Err(misfit(to, &format!("it must have the shape of `{}`", from.connector)));
    }
    Ok(())
}

/// The number, from 1 on, of the first of `n` steps that fails, or 0: LAPACK's `info`.
pub(crate) fn first_failure(n: usize, fails: impl Fn(usize) -> bool) -> Value {
    Value::I64((0..n).find(|k| fails(*k)).map_or(0, |k| k as i64 + 1))
}

/// The elements of the right-hand sides, or of the unit matrix.
pub(crate) fn right_sides(
    values: &Values<'_>,
    right: Option<&Operand>,
    n: usize,
    ty: ScalarType,
) -> Result<Vec<Value>, String> {
    right.map_or_else(|| Ok(unit(n, ty)), |right| values.of(&right.connector, ty))
}

pub(crate) fn misfit(operand: &Operand, reason: &str) -> ExpandErrorKind {
    let operands = format!("{}{}", operand.connector, operand.shape());
    ExpandErrorKind::Shapes { operands, reason: reason.to_owned() }
}

/// Refuses right-hand sides and solutions that are not of one shape with as many rows as there are equations.
pub(crate) fn check_sides(rows: &Expr, right: &Operand, to: &Operand) -> Result<(), ExpandErrorKind> {
    let (from, into) = (right.seen(), to.seen());
    let differ =
        |(a, b): (&usize, &usize)| agreement(right.size(*a), to.size(*b)) == ExtentComparison::Different;
    if from.len() != into.len() || from.len() > 2 || from.iter().zip(&into).any(differ) {
        let operands = format!("{}{}, {}{}", right.connector, right.shape(), to.connector, to.shape());
        let reason = "both must be vectors, or matrices, of one shape".to_owned();
        return Err(ExpandErrorKind::Shapes { operands, reason });
    }
    // Of one equation there is no row to be seen.
    let is_of = |at: &usize| agreement(to.size(*at), rows) != ExtentComparison::Different;
    if rows.is_one() || into.first().is_some_and(is_of) {
        return Ok(());
    }
    Err(misfit(to, "it must have as many rows as there are equations"))
}

/// Refuses elements of which a quotient cannot be kept.
pub(crate) fn check_division(from: &Operand, to: &Operand) -> Result<(), ExpandErrorKind> {
    let (element, result) = (from.element, to.element);
    if (result.is_float() || result.is_complex()) && (result.is_complex() || !element.is_complex()) {
        return Ok(());
    }
    let reason = format!("a result of type {result} cannot hold quotients of {element}");
    Err(ExpandErrorKind::Element { connector: to.connector.clone(), reason })
}

/// Refuses lists that are not of one integer for each step of an elimination.
fn check_pivots(pivots: &Operand, rows: &Expr, columns: &Expr) -> Result<(), ExpandErrorKind> {
    check_integer(pivots)?;
    let size = pivots.size(pivots.fit(1)?[0]);
    let steps = if rows == columns { rows.clone() } else { Expr::min(rows, columns) };
    if agreement(size, &steps) == ExtentComparison::Different {
        return Err(misfit(pivots, "there is one exchange for each row or column, whichever are fewer"));
    }
    Ok(())
}

/// Refuses other connectors than these and `_res`, a single integer, which is given; who asks for no result drops it.
pub(crate) fn check_result(
    signature: &Signature,
    inputs: &[&str],
    outputs: &[&str],
) -> Result<Option<Operand>, ExpandErrorKind> {
    let result = signature.outputs().find(|operand| operand.connector == "_res").cloned();
    let mut outputs = outputs.to_vec();
    outputs.extend(result.as_ref().map(|_| "_res"));
    signature.check_all(inputs, &[], &outputs)?;
    if let Some(result) = &result {
        result.fit(0)?;
        check_integer(result)?;
    }
    Ok(result)
}

fn check_integer(operand: &Operand) -> Result<(), ExpandErrorKind> {
    if operand.element.is_integer() && operand.element != ScalarType::Bool {
        return Ok(());
    }
    let reason = format!("it holds integers, the elements have the type {}", operand.element);
    Err(ExpandErrorKind::Element { connector: operand.connector.clone(), reason })
}

/// The element of what holds a single one.
pub(crate) fn only(operand: &Operand, container: &str) -> Element {
    Element::new(container, operand.seen().iter().map(|_| "0".to_owned()).collect())
}

/// Results by the names of their outputs, in the order in which the node writes them.
pub(crate) fn ordered(outputs: &[String], mut results: Vec<(&str, Vec<Value>)>) -> Vec<Vec<Value>> {
    let mut take = |name: &String| {
        let at = results.iter().position(|(of, _)| of == name);
        at.map(|at| results.swap_remove(at).1).unwrap_or_default()
    };
    outputs.iter().map(&mut take).collect()
}

pub(crate) fn names(signature: &Signature) -> Vec<String> {
    signature.outputs().map(|operand| operand.connector.clone()).collect()
}

impl Factorization {
    pub(crate) fn of(node: &LibraryNode, signature: &Signature) -> Result<Self, ExpandErrorKind> {
        Properties(node).check(&["n"])?;
        let result = check_result(signature, &["_xin"], &["_xout", "_ipiv"])?;
        let (from, to) = (signature.input("_xin")?.clone(), signature.written("_xout")?.clone());
        let pivots = signature.written("_ipiv")?.clone();
        let ([rows, columns], into) = (matrix(&from)?, matrix(&to)?);
        let is_other = |(a, b): (&Expr, &Expr)| agreement(a, b) == ExtentComparison::Different;
        if [&rows, &columns].into_iter().zip(&into).any(is_other) {
            return Err(misfit(&to, "it must have the shape of `_xin`"));
        }
        check_division(&from, &to)?;
        check_pivots(&pivots, &rows, &columns)?;
        Ok(Factorization { from, to, pivots, result, outputs: names(signature) })
    }
}

impl Meaning for Factorization {
    fn compute(&self, values: Values<'_>) -> Result<Vec<Vec<Value>>, String> {
        let [rows, columns] = matrix(&self.to).map_err(|error| error.to_string())?;
        let (rows, columns) = (count(&rows)?, count(&columns)?);
        let mut factors = values.of("_xin", wide(self.to.element))?;
        let pivots = factorize(&mut factors, rows, columns);
        let failed = first_failure(pivots.len(), |k| !arith::is_true(factors[k * columns + k]));
        let pivots = pivots.into_iter().map(|row| Value::I64(row as i64 + 1)).collect();
        let results = vec![("_xout", factors), ("_ipiv", pivots), ("_res", vec![failed])];
        Ok(ordered(&self.outputs, results))
    }

    fn expansions(&self) -> &'static [Expansion] {
        panels::expansions(&self.to, self.to.element)
    }

    fn expand(
        &self,
        template: &mut Template,
        target: &Target,
        expansion: Expansion,
    ) -> Result<(), ExpandErrorKind> {
        let [rows, columns] = seen(template, &self.to)?;
        seen(template, &self.from)?;
        let container = target.of("_xout").to_owned();
        let ty = self.to.element;
        let factors = Factors { container, pivots: target.of("_ipiv").to_owned(), rows, columns, ty };
        start_matrix(template, &self.from, &factors);
        if expansion == Expansion::Fast {
            factors.eliminate_panels(template, self.pivots.element);
        } else {
            factors.eliminate(template, self.pivots.element);
        }
        if let Some(result) = &self.result {
            factors.find_zero(template, &only(result, target.of("_res")), result.element);
        }
        Ok(())
    }
}

impl Substitution {
    /// `Getrs`.
    pub(crate) fn of(node: &LibraryNode, signature: &Signature) -> Result<Self, ExpandErrorKind> {
        Properties(node).check(&["n"])?;
        let result = check_result(signature, &["_a", "_rhs_in", "_ipiv"], &["_rhs_out"])?;
        let right = Some(signature.input("_rhs_in")?.clone());
        Substitution::from_factors(signature, "_a", right, "_rhs_out", result)
    }

    /// `Getri`, which solves for the columns of the unit matrix.
    pub(crate) fn inverse(node: &LibraryNode, signature: &Signature) -> Result<Self, ExpandErrorKind> {
        Properties(node).check(&["n"])?;
        let result = check_result(signature, &["_xin", "_ipiv"], &["_xout"])?;
        Substitution::from_factors(signature, "_xin", None, "_xout", result)
    }

    fn from_factors(
        signature: &Signature,
        factors: &str,
        right: Option<Operand>,
        to: &str,
        result: Option<Operand>,
    ) -> Result<Self, ExpandErrorKind> {
        let (factors, pivots) = (signature.input(factors)?.clone(), signature.input("_ipiv")?.clone());
        let to = signature.written(to)?.clone();
        let rows = square(&factors)?;
        match &right {
            Some(right) => check_sides(&rows, right, &to)?,
            None => check_same_square(&factors, &to)?,
        }
        check_division(&factors, &to)?;
        check_pivots(&pivots, &rows, &rows)?;
        Ok(Substitution { factors, pivots, right, to, result, outputs: names(signature) })
    }
}

impl Meaning for Substitution {
    fn compute(&self, values: Values<'_>) -> Result<Vec<Vec<Value>>, String> {
        let ty = wide(self.to.element);
        let factors = values.of(&self.factors.connector, ty)?;
        let n = count(&square(&self.factors).map_err(|error| error.to_string())?)?;
        let pivots = pivots_of(&values.of("_ipiv", ScalarType::I64)?, n)?;
        let mut right = right_sides(&values, self.right.as_ref(), n, ty)?;
        substitute(&factors, &pivots, &mut right, n);
        // The factors of a matrix without an inverse have a zero on the diagonal.
        let failed = first_failure(n, |k| self.right.is_none() && !arith::is_true(factors[k * n + k]));
        let results = vec![(self.to.connector.as_str(), right), ("_res", vec![failed])];
        Ok(ordered(&self.outputs, results))
    }

    fn expand(
        &self,
        template: &mut Template,
        target: &Target,
        _expansion: Expansion,
    ) -> Result<(), ExpandErrorKind> {
        let [rows, columns] = seen(template, &self.factors)?;
        let from = self.factors.element;
        let factors = Factors {
            container: self.factors.connector.clone(),
            pivots: self.pivots.connector.clone(),
            rows,
            columns,
            ty: from,
        };
        let sides = Sides::of(template, &self.to, target.of(&self.to.connector));
        sides.start(template, self.right.as_ref());
        sides.exchange(template, &factors);
        sides.substitute(template, &factors);
        let Some(result) = &self.result else { return Ok(()) };
        let write = only(result, target.of("_res"));
        if self.right.is_none() {
            factors.find_zero(template, &write, result.element);
            return Ok(());
        }
        template.elementwise(Elementwise {
            label: "result",
            dimensions: Vec::new(),
            reads: Vec::new(),
            value: format!("{}(0)", result.element),
            write,
            adds: false,
        });
        Ok(())
    }
}
