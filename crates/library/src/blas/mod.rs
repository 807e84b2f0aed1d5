//! Library nodes as calls of BLAS and LAPACK, on request: the C interfaces `cblas_*` and `LAPACKE_*` with
//! 32-bit integers, from a library that the user names.
//!
//! A call is an external tasklet, which receives only addresses and leading dimensions. Therefore operands
//! must have a BLAS layout: consecutive elements along rows or columns. [`Calls`] checks this against the
//! declared layouts.

mod contraction;
mod factors;

use sdfg::dtype::ScalarType;
use sdfg::ir::{LibraryNode, NestedSdfg};
use sdfg::symbolic::Expr;

use crate::error::ExpandErrorKind;
use crate::operand::{Operand, access_of};
use crate::operation::{Target, expanded};
use crate::registry::{Context, Registry};
use crate::template::Template;

/// The operations of [`BuiltIn`](crate::BuiltIn), by calls of a library where it has them.
///
/// Nodes that ask for an expansion by name get that one: `blas` is this one, which fails where there is no call for the node. Other nodes
/// get a call where BLAS has the operation for the type of their elements, and their default expansion where it has not. In
/// both cases it is an error if an operand does not lie in memory as BLAS can read it.
#[derive(Clone, Debug)]
pub struct Blas {
    library: String,
    lapack: String,
}

impl Blas {
    /// Calls functions of the library of this name, as linkers take it (`openblas`), those of LAPACK from another one, which may be the same.
    pub fn new(library: impl Into<String>, lapack: impl Into<String>) -> Self {
        Blas { library: library.into(), lapack: lapack.into() }
    }
}

impl Registry for Blas {
    fn expand(&self, node: &LibraryNode, context: Context<'_>) -> Result<NestedSdfg, ExpandErrorKind> {
        expanded(node, context, Some(self))
    }
}

/// Whether there is a call for a node.
pub(crate) enum Called {
    Yes,
    /// No, for this reason.
    No(String),
}

/// Context of an operation that calls a library.
#[derive(Clone, Copy)]
pub(crate) struct Calls<'g> {
    pub(crate) blas: &'g Blas,
    pub(crate) node: &'g LibraryNode,
    pub(crate) context: Context<'g>,
}

/// Layout of a matrix in memory.
struct Matrix {
    /// Whether elements of a row are neighbours; else those of a column are.
    by_rows: bool,
    /// The distance of rows, or of columns.
    leading: String,
}

/// The letter of a type in names of functions.
fn letter(ty: ScalarType) -> Option<char> {
    match ty {
        ScalarType::F32 => Some('s'),
        ScalarType::F64 => Some('d'),
        _ => None,
    }
}

impl Calls<'_> {
    /// The distances of neighbours along each dimension of an operand, or of the container that takes its place in an expansion.
    fn strides(&self, operand: &Operand, target: Option<&Target>) -> Result<Vec<Expr>, ExpandErrorKind> {
        if target.is_some_and(|target| target.of(&operand.connector) != operand.connector) {
            let mut strides = vec![Expr::one(); operand.dimensions.len()];
            for at in (1..strides.len()).rev() {
                strides[at - 1] = &strides[at] * operand.size(at);
            }
            return Ok(strides);
        }
        let refuse = |reason: &str| ExpandErrorKind::Memory {
            connector: operand.connector.clone(),
            reason: reason.to_owned(),
        };
        let access = access_of(self.node, &operand.connector, self.context)
            .ok_or_else(|| refuse("it is not connected"))?;
        let container = self.context.sdfg.container(access.container);
        if container.is_alias() || self.context.is_nested && container.is_argument() {
            return Err(refuse(
                "its container is another name for memory whose layout is not known here; inline what gives it that name",
            ));
        }
        let Some(layout) = container.kind.layout() else {
            return Ok(vec![Expr::one(); operand.dimensions.len()]);
        };
        let ranges = access.subset().0.iter();
        if ranges.clone().any(|range| !range.is_index() && range.step.as_int().is_none_or(|step| step < 1)) {
            return Err(refuse("the steps of its memlet are not known to be positive"));
        }
        Ok(ranges.zip(&layout.strides).map(|(range, stride)| stride * &range.step).collect())
    }

    /// The distance of neighbours along one dimension.
    fn stride(
        &self,
        template: &mut Template,
        operand: &Operand,
        target: Option<&Target>,
        position: usize,
    ) -> Result<String, ExpandErrorKind> {
        let strides = self.strides(operand, target)?;
        Ok(template.extent(&strides[position]))
    }

    /// Layout of the matrix in two dimensions.
    fn matrix(
        &self,
        template: &mut Template,
        operand: &Operand,
        target: Option<&Target>,
        [row, column]: [usize; 2],
    ) -> Result<Matrix, ExpandErrorKind> {
        let strides = self.strides(operand, target)?;
        let leading = |template: &mut Template, stride: &Expr| format!("max({}, 1)", template.extent(stride));
        if strides[column].is_one() {
            return Ok(Matrix { by_rows: true, leading: leading(template, &strides[row]) });
        }
        if strides[row].is_one() {
            return Ok(Matrix { by_rows: false, leading: leading(template, &strides[column]) });
        }
        Err(ExpandErrorKind::Memory {
            connector: operand.connector.clone(),
            reason: format!(
                "its strides are {} along rows and columns, of which one must be 1",
                strides.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
            ),
        })
    }
}

/// A tasklet with a call, in a map over indices that are no dimensions of its matrices.
struct CallState<'c> {
    label: &'c str,
    dimensions: Vec<(String, String)>,
    /// Containers and memlets that are read, with connectors.
    reads: Vec<(&'c str, String, String)>,
    /// The same of what is written; the first one holds something before, which the function reads, too, if it has a connector in `before`.
    writes: Vec<(&'c str, String, String)>,
    before: bool,
    /// The connector that gets the value of the function.
    result: Option<&'c str>,
    function: String,
    arguments: Vec<String>,
    library: &'c str,
}

impl CallState<'_> {
    fn append(&self, template: &mut Template) {
        let mut dimensions: Vec<String> =
            self.dimensions.iter().map(|(param, range)| format!("{param} = {range}")).collect();
        if dimensions.is_empty() {
            dimensions.push("__once = 0:1".to_owned());
        }
        let (mut accesses, mut leaves, mut outer) = (String::new(), String::new(), String::new());
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        let written = self.writes.first().filter(|_| self.before);
        let before = written.map(|(_, container, memlet)| ("__before", container.clone(), memlet.clone()));
        for (connector, container, memlet) in self.reads.iter().chain(&before) {
            accesses.push_str(&format!("access {connector}_from = {container}\n"));
            leaves.push_str(&format!("__calls.{connector}_from -> __call.{connector}: {memlet}\n"));
            outer.push_str(&format!("{connector}_from -> __calls.{connector}_from\n"));
            inputs.push(*connector);
        }
        for (connector, container, memlet) in &self.writes {
            accesses.push_str(&format!("access {connector}_to = {container}\n"));
            leaves.push_str(&format!("__call.{connector} -> __calls.{connector}_to: {memlet}\n"));
            outer.push_str(&format!("__calls.{connector}_to -> {connector}_to\n"));
            outputs.push(*connector);
        }
        let result = self.result.map_or_else(String::new, |result| format!("{result} = "));
        template.blocks(&format!(
            "state {} {{
{accesses}map __calls [{}] schedule(sequential) {{
tasklet __call ({}) -> ({}) external {result}{}({}) from library \"{}\"
{leaves}}}
{outer}}}\n",
            self.label,
            dimensions.join(", "),
            inputs.join(", "),
            outputs.join(", "),
            self.function,
            self.arguments.join(", "),
            self.library,
        ));
    }
}

/// An extent or stride as BLAS takes it.
fn int(text: &str) -> String {
    format!("i32({text})")
}

const ROW_MAJOR: &str = "i32(101)";
const COLUMN_MAJOR: &str = "i32(102)";

/// The flag of a matrix that is read as it is, or transposed.
fn transposition(is_transposed: bool) -> String {
    int(if is_transposed { "112" } else { "111" })
}
