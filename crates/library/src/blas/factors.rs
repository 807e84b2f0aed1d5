//! Matrix factorizations as calls of LAPACK: `potrf` for `Cholesky`, `getrf` and `getrs` for `Solve`.
//!
//! Operands that LAPACK overwrites are copied first. If LAPACK fails (the matrix is singular, or not positive
//! definite), the results are NaN, as the meaning of the node requires.

use sdfg::dtype::ScalarType;

use super::{COLUMN_MAJOR, CallState, Called, Calls, ROW_MAJOR, int, letter};
use crate::cholesky::Cholesky;
use crate::error::ExpandErrorKind;
use crate::lapack::{Factors, Sides, seen, start_matrix};
use crate::operation::Target;
use crate::solve::Solve;
use crate::template::{Element, Elementwise, Template};

/// Container of the status of calls.
const INFO: &str = "__info";

impl Cholesky {
    /// Appends states that call LAPACK, if there is a call.
    pub(crate) fn call_lapack(
        &self,
        template: &mut Template,
        target: &Target,
        calls: &Calls<'_>,
    ) -> Result<Called, ExpandErrorKind> {
        let output = self.output();
        let Some(letter) = letter(output.element).filter(|_| !self.keeps_half()) else {
            return Ok(Called::No("LAPACK is called for `Cholesky` of f32 and f64".to_owned()));
        };
        seen(template, self.input())?;
        let [n, _] = seen(template, output)?;
        let positions = output.fit(2)?;
        let place = [positions[0], positions[1]];
        let matrix = calls.matrix(template, output, Some(target), place)?;
        let to = target.container();
        template.transient(INFO, ScalarType::I32, &[]);
        self.start(template, to, &n);
        // The characters `L` and `U`.
        let half = if self.is_lower() { "i8(76)" } else { "i8(85)" };
        let all = format!("{to}[0:{n}, 0:{n}]");
        CallState {
            label: "factor",
            dimensions: Vec::new(),
            reads: Vec::new(),
            writes: vec![("__a", to.to_owned(), all), ("__r", INFO.to_owned(), INFO.to_owned())],
            before: true,
            result: Some("__r"),
            function: format!("LAPACKE_{letter}potrf"),
            arguments: vec![
                if matrix.by_rows { ROW_MAJOR } else { COLUMN_MAJOR }.to_owned(),
                half.to_owned(),
                int(&n),
                "__a".to_owned(),
                int(&matrix.leading),
            ],
            library: &calls.blas.lapack,
        }
        .append(template);
        let (row, column) = if self.is_lower() { ("__i", "__j") } else { ("__j", "__i") };
        let element = Element::new(to, vec![row.to_owned(), column.to_owned()]);
        let dimensions =
            vec![("__i".to_owned(), format!("0:{n}")), ("__j".to_owned(), "0:__i + 1".to_owned())];
        failing(template, dimensions, element, output.element);
        Ok(Called::Yes)
    }
}

impl Solve {
    /// Appends states that call LAPACK, if there is a call.
    pub(crate) fn call_lapack(
        &self,
        template: &mut Template,
        target: &Target,
        calls: &Calls<'_>,
    ) -> Result<Called, ExpandErrorKind> {
        let output = self.output();
        let ty = output.element;
        let Some(letter) = letter(ty).filter(|_| self.right().is_some()) else {
            return Ok(Called::No("LAPACK is called for `Solve` of f32 and f64".to_owned()));
        };
        let [n, columns] = seen(template, self.matrix())?;
        let positions = output.seen();
        let strides = calls.strides(output, Some(target))?;
        let (layout, leading, unknowns) = match positions[..] {
            // One right-hand side: its elements are the rows of a matrix of one column.
            [row] => (ROW_MAJOR, template.extent(&strides[row]), "1".to_owned()),
            [row, column] => {
                let matrix = calls.matrix(template, output, Some(target), [row, column])?;
                let layout = if matrix.by_rows { ROW_MAJOR } else { COLUMN_MAJOR };
                (layout, matrix.leading, template.extent(output.size(column)))
            }
            _ => return Ok(Called::No("there is one equation".to_owned())),
        };
        let container = "__lu".to_owned();
        template.transient(&container, ty, &[n.clone(), columns.clone()]);
        template.transient("__pivots", ScalarType::I32, std::slice::from_ref(&n));
        template.transient(INFO, ScalarType::I32, &[]);
        let matrix = format!("__lu[0:{n}, 0:{columns}]");
        let pivots = format!("__pivots[0:{n}]");
        let factors = Factors { container, pivots: "__pivots".to_owned(), rows: n.clone(), columns, ty };
        let sides = Sides::of(template, output, target.container());
        start_matrix(template, self.matrix(), &factors);
        sides.start(template, self.right());
        CallState {
            label: "factor",
            dimensions: Vec::new(),
            reads: Vec::new(),
            writes: vec![
                ("__a", "__lu".to_owned(), matrix.clone()),
                ("__p", "__pivots".to_owned(), pivots.clone()),
                ("__r", INFO.to_owned(), INFO.to_owned()),
            ],
            before: true,
            result: Some("__r"),
            function: format!("LAPACKE_{letter}getrf"),
            // The transpose of the matrix where right-hand sides lie by columns.
            arguments: vec![
                layout.to_owned(),
                int(&n),
                int(&n),
                "__a".to_owned(),
                int(&format!("max({n}, 1)")),
                "__p".to_owned(),
            ],
            library: &calls.blas.lapack,
        }
        .append(template);
        let shape: Vec<String> =
            positions.iter().map(|at| format!("0:{}", template.extent(output.size(*at)))).collect();
        let to = target.container();
        CallState {
            label: "substitute",
            dimensions: Vec::new(),
            reads: vec![("__a", "__lu".to_owned(), matrix), ("__p", "__pivots".to_owned(), pivots)],
            writes: vec![("__b", to.to_owned(), format!("{to}[{}]", shape.join(", ")))],
            before: true,
            result: None,
            function: format!("LAPACKE_{letter}getrs"),
            arguments: vec![
                layout.to_owned(),
                // The characters `N` and `T`.
                if layout == ROW_MAJOR { "i8(78)" } else { "i8(84)" }.to_owned(),
                int(&n),
                int(&unknowns),
                "__a".to_owned(),
                int(&format!("max({n}, 1)")),
                "__p".to_owned(),
                "__b".to_owned(),
                int(&leading),
            ],
            library: &calls.blas.lapack,
        }
        .append(template);
        let names: Vec<String> = (0..shape.len()).map(|at| format!("__i{at}")).collect();
        let dimensions = names.iter().cloned().zip(shape).collect();
        failing(template, dimensions, Element::new(to, names), ty);
        Ok(Called::Yes)
    }
}

/// Writes NaN to elements unless a call was successful.
fn failing(template: &mut Template, dimensions: Vec<(String, String)>, write: Element, ty: ScalarType) {
    template.blocks(&format!(
        "state call {{}}\n-> failing with (__failed = {INFO})\nif failing: __failed != 0 {{\n"
    ));
    template.elementwise(Elementwise {
        label: "undefined",
        dimensions,
        reads: Vec::new(),
        value: format!("{ty}(math.nan)"),
        write,
        adds: false,
    });
    template.blocks("}\n");
}
