//! `Solve` and `Inv`: systems of linear equations by elimination with partial pivoting.

use sdfg::dtype::ScalarType;
use sdfg::ir::LibraryNode;
use sdfg::value::Value;

use crate::blas::{Called, Calls};
use crate::error::ExpandErrorKind;
use crate::lapack::panels;
use crate::lapack::{
    Factors, Sides, check_division, check_same_square, check_sides, factorize, right_sides, seen, square,
    start_matrix, substitute,
};
use crate::operand::{Operand, Signature};
use crate::operation::{Expansion, Meaning, Target};
use crate::properties::Properties;
use crate::template::Template;
use crate::values::{Values, count, wide};

/// A system of equations `A X = B`.
pub(crate) struct Solve {
    matrix: Operand,
    /// The right-hand sides; the unit matrix without.
    right: Option<Operand>,
    output: Operand,
}

impl Solve {
    pub(crate) fn of(node: &LibraryNode, signature: &Signature) -> Result<Self, ExpandErrorKind> {
        // DaCe's flag tells where it may write, not what it computes.
        Properties(node).check(&["overwrite"])?;
        signature.check(&["_ain", "_bin"], &[], "_bout")?;
        let (matrix, right) = (signature.input("_ain")?.clone(), signature.input("_bin")?.clone());
        let output = signature.output.clone();
        check_sides(&square(&matrix)?, &right, &output)?;
        check_division(&matrix, &output)?;
        check_division(&right, &output)?;
        Ok(Solve { matrix, right: Some(right), output })
    }

    /// The inverse, which solves for the columns of the unit matrix.
    pub(crate) fn inverse(node: &LibraryNode, signature: &Signature) -> Result<Self, ExpandErrorKind> {
        // DaCe's flags tell where it may write and what it calls, not what it computes.
        Properties(node).check(&["overwrite", "use_getri"])?;
        signature.check(&["_ain"], &[], "_aout")?;
        let (matrix, output) = (signature.input("_ain")?.clone(), signature.output.clone());
        check_same_square(&matrix, &output)?;
        check_division(&matrix, &output)?;
        Ok(Solve { matrix, right: None, output })
    }

    pub(crate) fn matrix(&self) -> &Operand {
        &self.matrix
    }

    pub(crate) fn right(&self) -> Option<&Operand> {
        self.right.as_ref()
    }

    pub(crate) fn output(&self) -> &Operand {
        &self.output
    }
}

impl Meaning for Solve {
    fn compute(&self, values: Values<'_>) -> Result<Vec<Vec<Value>>, String> {
        let ty = wide(self.output.element);
        let mut matrix = values.of(&self.matrix.connector, ty)?;
        let n = count(&square(&self.matrix).map_err(|error| error.to_string())?)?;
        let mut right = right_sides(&values, self.right.as_ref(), n, ty)?;
        let pivots = factorize(&mut matrix, n, n);
        substitute(&matrix, &pivots, &mut right, n);
        Ok(vec![right])
    }

    fn expansions(&self) -> &'static [Expansion] {
        panels::expansions(&self.matrix, self.output.element)
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
        let [rows, columns] = seen(template, &self.matrix)?;
        template.transient("__lu", ty, &[rows.clone(), columns.clone()]);
        template.transient("__pivots", ScalarType::I64, std::slice::from_ref(&rows));
        let factors =
            Factors { container: "__lu".to_owned(), pivots: "__pivots".to_owned(), rows, columns, ty };
        let sides = Sides::of(template, &self.output, target.container());
        start_matrix(template, &self.matrix, &factors);
        sides.start(template, self.right.as_ref());
        if expansion == Expansion::Fast {
            factors.eliminate_panels(template, ScalarType::I64);
            sides.exchange(template, &factors);
            sides.substitute_panels(template, &factors);
        } else {
            factors.eliminate(template, ScalarType::I64);
            sides.exchange(template, &factors);
            sides.substitute(template, &factors);
        }
        Ok(())
    }
}
