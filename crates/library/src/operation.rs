//! The operations of this crate: requirements and meaning of each, for computation and expansion.

use sdfg::interpret::{Libraries, LibraryOperand};
use sdfg::ir::{ConflictResolution, LibraryNode, NestedSdfg};
use sdfg::tasklet::arith;
use sdfg::value::Value;

use crate::blas::{Blas, Called, Calls};
use crate::cholesky::Cholesky;
use crate::contraction::{self, Contraction};
use crate::error::ExpandErrorKind;
use crate::fill::Fill;
use crate::fourier::{Direction, Fourier};
use crate::lapack::{Factorization, Substitution};
use crate::logical::{Logical, Quantifier};
use crate::operand::{Signature, overlaps, write_edge};
use crate::registry::{BuiltIn, Context, Pure, Registry};
use crate::select::Selection;
use crate::shift::CircularShift;
use crate::solve::Solve;
use crate::sparse::SparseProduct;
use crate::stencil::{Margin, Stencil};
use crate::sum::Sum;
use crate::template::{Element, Elementwise, Renamed, Template};
use crate::values::Values;

/// A node that is understood: its operands and properties fit its operation.
pub(crate) trait Meaning {
    /// The elements of each output, in the order of the node's outputs and row-major order; they are converted to its type.
    fn compute(&self, values: Values<'_>) -> Result<Vec<Vec<Value>>, String>;

    /// Number of unwritten elements at the beginning and the end of each dimension of an output; empty if all
    /// are written.
    fn margins_of(&self, _output: &str) -> Vec<Margin> {
        Vec::new()
    }

    /// Whether the expansion can add to what the target holds instead of setting it.
    fn adds(&self) -> bool {
        false
    }

    /// The expansions that the node has, the default one first.
    fn expansions(&self) -> &'static [Expansion] {
        &[Expansion::Pure]
    }

    /// Appends states that call BLAS or LAPACK, if there is a call; nothing if not.
    fn call(
        &self,
        _template: &mut Template,
        _target: &Target,
        _calls: &Calls<'_>,
    ) -> Result<Called, ExpandErrorKind> {
        Ok(Called::No("it has no such operation".to_owned()))
    }

    /// Appends the states of one of the node's expansions.
    fn expand(
        &self,
        template: &mut Template,
        target: &Target,
        expansion: Expansion,
    ) -> Result<(), ExpandErrorKind>;
}

/// A way to carry a node out, by maps and loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expansion {
    /// The meaning, in an order that suits memory.
    Pure,
    /// Fewer operations, or blocks that stay in registers and caches.
    Fast,
}

impl Expansion {
    fn name(self) -> &'static str {
        match self {
            Expansion::Pure => "pure",
            Expansion::Fast => "fast",
        }
    }
}

/// The expansion that a node asks for, or the default one.
fn chosen(node: &LibraryNode, meaning: &dyn Meaning) -> Result<Expansion, ExpandErrorKind> {
    let known = meaning.expansions();
    let found = match &node.expansion {
        None => known.first(),
        Some(name) => known.iter().find(|expansion| expansion.name() == name),
    };
    found.copied().ok_or_else(|| ExpandErrorKind::UnknownExpansion {
        expansion: node.expansion.clone().unwrap_or_default(),
        known: known.iter().map(|expansion| expansion.name().to_owned()).collect(),
    })
}

/// Destination of an expansion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// The first output.
    first: OutputPart,
    /// Others.
    further: Vec<OutputPart>,
    /// Whether results are added to what is there.
    pub(crate) adds: bool,
}

/// Destination of the results for an output.
#[derive(Clone, Debug, PartialEq, Eq)]
struct OutputPart {
    output: String,
    /// Transient for results that cannot be written to the output directly.
    transient: Option<String>,
}

impl OutputPart {
    fn container(&self) -> &str {
        self.transient.as_ref().unwrap_or(&self.output)
    }
}

impl Target {
    /// The container for the first output.
    pub(crate) fn container(&self) -> &str {
        self.first.container()
    }

    /// The container for an output.
    pub(crate) fn of<'t>(&'t self, output: &'t str) -> &'t str {
        let mut places = [&self.first].into_iter().chain(&self.further);
        places.find(|place| place.output == output).map_or(output, OutputPart::container)
    }

    /// Whether it is not the output itself, so that it does not hold what the output held.
    pub(crate) fn is_transient(&self) -> bool {
        self.first.transient.is_some()
    }
}

/// Constructor of an operation from a node.
type Understand = fn(&LibraryNode, &Signature) -> Result<Box<dyn Meaning>, ExpandErrorKind>;

/// Every operation.
const OPERATIONS: &[(&str, Understand)] = &[
    ("MatMul", |n, s| contracted(contraction::gemm(n, s))),
    ("Gemm", |n, s| contracted(contraction::gemm(n, s))),
    ("BatchedMatMul", |n, s| contracted(contraction::gemm(n, s))),
    ("Gemv", |n, s| contracted(contraction::gemv(n, s))),
    ("Ger", |n, s| contracted(contraction::ger(n, s))),
    ("Dot", |n, s| contracted(contraction::dot(n, s))),
    ("TensorDot", |n, s| contracted(contraction::tensor_product(n, s))),
    ("Einsum", |n, s| contracted(contraction::einsum(n, s))),
    ("Transpose", |n, s| contracted(contraction::transposition(n, s))),
    ("TensorTranspose", |n, s| contracted(contraction::permutation(n, s))),
    ("Copy", |n, s| contracted(contraction::copy(n, s))),
    ("Axpy", |n, s| contracted(contraction::axpy(n, s))),
    ("Fill", |n, s| Ok(Box::new(Fill::of(n, s)?))),
    ("Memset", |n, s| Ok(Box::new(Fill::with_zeros(n, s)?))),
    ("Merge", |n, s| Ok(Box::new(Selection::merge(n, s)?))),
    ("Sum", |n, s| Ok(Box::new(Sum::of(n, s)?))),
    ("All", |n, s| Ok(Box::new(Logical::of(n, s, Quantifier::All)?))),
    ("Any", |n, s| Ok(Box::new(Logical::of(n, s, Quantifier::Any)?))),
    ("Broadcast", |n, s| Ok(Box::new(Selection::broadcast(n, s)?))),
    ("CShift", |n, s| Ok(Box::new(CircularShift::of(n, s)?))),
    ("CSRMV", |n, s| Ok(Box::new(SparseProduct::of(n, s)?))),
    ("CSRMM", |n, s| Ok(Box::new(SparseProduct::of(n, s)?))),
    ("Cholesky", |n, s| Ok(Box::new(Cholesky::of(n, s)?))),
    ("Potrf", |n, s| Ok(Box::new(Cholesky::potrf(n, s)?))),
    ("Getrf", |n, s| Ok(Box::new(Factorization::of(n, s)?))),
    ("Getrs", |n, s| Ok(Box::new(Substitution::of(n, s)?))),
    ("Getri", |n, s| Ok(Box::new(Substitution::inverse(n, s)?))),
    ("Solve", |n, s| Ok(Box::new(Solve::of(n, s)?))),
    ("Inv", |n, s| Ok(Box::new(Solve::inverse(n, s)?))),
    ("Stencil", |n, s| Ok(Box::new(Stencil::of(n, s)?))),
    ("FFT", |n, s| Ok(Box::new(Fourier::of(n, s, Direction::Forward)?))),
    ("IFFT", |n, s| Ok(Box::new(Fourier::of(n, s, Direction::Inverse)?))),
];

fn contracted(found: Result<Contraction, ExpandErrorKind>) -> Result<Box<dyn Meaning>, ExpandErrorKind> {
    found.map(|contraction| Box::new(contraction) as Box<dyn Meaning>)
}

/// The names of the operations that [`BuiltIn`] knows.
pub fn operations() -> impl Iterator<Item = &'static str> {
    OPERATIONS.iter().map(|(name, _)| *name)
}

fn understand(node: &LibraryNode, signature: &Signature) -> Result<Box<dyn Meaning>, ExpandErrorKind> {
    let found = OPERATIONS.iter().find(|(name, _)| *name == node.operation);
    match found {
        Some((_, understand)) => understand(node, signature),
        None => Err(ExpandErrorKind::UnknownOperation {
            operation: node.operation.clone(),
            known: operations().map(str::to_owned).collect(),
        }),
    }
}

impl Registry for BuiltIn {
    fn expand(&self, node: &LibraryNode, context: Context<'_>) -> Result<NestedSdfg, ExpandErrorKind> {
        expanded(node, context, None)
    }
}

/// The name of the expansion that is a call.
const BLAS: &str = "blas";

/// The expansion of a node, a call where there is one and it may be made.
pub(crate) fn expanded(
    node: &LibraryNode,
    context: Context<'_>,
    blas: Option<&Blas>,
) -> Result<NestedSdfg, ExpandErrorKind> {
    if !OPERATIONS.iter().any(|(name, _)| *name == node.operation) {
        let known = operations().map(str::to_owned).collect();
        return Err(ExpandErrorKind::UnknownOperation { operation: node.operation.clone(), known });
    }
    let signature = Signature::of_graph(node, context)?;
    let (node, renamed) = &Template::renamed(node, context);
    let meaning = understand(node, &signature)?;
    let is_asked = node.expansion.as_deref() == Some(BLAS);
    let no_call = |reason: &str| ExpandErrorKind::NoCall {
        operation: node.operation.clone(),
        reason: reason.to_owned(),
    };
    if is_asked && blas.is_none() {
        return Err(no_call("calls need the option --blas"));
    }
    if let Some(blas) = blas.filter(|_| is_asked || node.expansion.is_none()) {
        let calls = Calls { blas, node, context };
        let append = |template: &mut Template, target: &Target| {
            meaning.call(template, target, &calls).map(|called| match called {
                Called::Yes => None,
                Called::No(reason) => Some(reason),
            })
        };
        match put_together((node, renamed), context, &signature, meaning.as_ref(), append)? {
            Ok(nested) => return Ok(nested),
            Err(reason) if is_asked => return Err(no_call(&reason)),
            Err(_) => {}
        }
    }
    let expansion = chosen(node, meaning.as_ref())?;
    let append =
        |template: &mut Template, target: &Target| meaning.expand(template, target, expansion).map(|()| None);
    put_together((node, renamed), context, &signature, meaning.as_ref(), append)?
        .map_err(|reason| no_call(&reason))
}

/// A nested SDFG of the states that a function appends, with those that resolve conflicts behind them; or why it appends none.
fn put_together(
    (node, renamed): (&LibraryNode, &Renamed),
    context: Context<'_>,
    signature: &Signature,
    meaning: &dyn Meaning,
    append: impl FnOnce(&mut Template, &Target) -> Result<Option<String>, ExpandErrorKind>,
) -> Result<Result<NestedSdfg, String>, ExpandErrorKind> {
    let mut template = Template::new(renamed.clone());
    for operand in signature.inputs.iter().chain(signature.outputs()) {
        template.argument(operand);
    }
    let (mut places, mut transfers, mut adds) = (Vec::new(), Vec::new(), false);
    for (number, output) in signature.outputs().enumerate() {
        let edge = write_edge(context, &output.connector);
        let resolution = edge.and_then(|edge| edge.memlet.resolution());
        let overlaps = overlaps(node, &output.connector, context);
        adds = resolution == Some(&ConflictResolution::Sum) && meaning.adds() && !overlaps;
        let apart = !adds && (overlaps || resolution.is_some());
        let transient = apart.then(|| format!("__result{number}"));
        if let Some(name) = &transient {
            let shape = template.shape(output);
            template.transient(name, output.element, &shape);
            transfers.push((format!("__resolve{number}"), name.clone(), output, shape, resolution));
        }
        places.push(OutputPart { output: output.connector.clone(), transient });
    }
    let target = Target { first: places.remove(0), further: places, adds };
    if let Some(reason) = append(&mut template, &target)? {
        return Ok(Err(reason));
    }
    let mut resolutions = Vec::new();
    for (label, name, output, shape, resolution) in &transfers {
        let margins = meaning.margins_of(&output.connector);
        let margins = output.seen().into_iter().map(|at| margins.get(at).copied().unwrap_or_default());
        template.elementwise(transfer(label, name, &output.connector, shape, margins));
        resolutions.extend(resolution.map(|resolution| (label.as_str(), resolution)));
    }
    template.finish(node, context, &resolutions).map(Ok)
}

impl Registry for Pure {
    fn expand(&self, node: &LibraryNode, context: Context<'_>) -> Result<NestedSdfg, ExpandErrorKind> {
        let expansion = Some(Expansion::Pure.name().to_owned());
        BuiltIn.expand(&LibraryNode { expansion, ..node.clone() }, context)
    }
}

/// A state that writes the elements of one container that are not in margins to another one.
fn transfer<'a>(
    label: &'a str,
    from: &str,
    to: &str,
    shape: &[String],
    margins: impl Iterator<Item = Margin>,
) -> Elementwise<'a> {
    let params: Vec<String> = (0..shape.len()).map(|position| format!("__i{position}")).collect();
    let ranges = shape.iter().zip(margins).map(|(size, margin)| margin.range(size));
    Elementwise {
        label,
        dimensions: params.iter().cloned().zip(ranges).collect(),
        reads: vec![("__x".to_owned(), Element::new(from, params.clone()))],
        value: "__x".to_owned(),
        write: Element::new(to, params),
        adds: false,
    }
}

impl Libraries for BuiltIn {
    fn compute(
        &self,
        node: &LibraryNode,
        inputs: &[LibraryOperand],
        outputs: &mut [LibraryOperand],
    ) -> Result<(), String> {
        let text = |error: ExpandErrorKind| format!("{error} ({})", error.code());
        let signature = Signature::of_values(node, inputs, outputs).map_err(text)?;
        let meaning = understand(node, &signature).map_err(text)?;
        let results = meaning.compute(Values { inputs, outputs })?;
        for ((operand, output), results) in signature.outputs().zip(outputs).zip(results) {
            let (ty, size) = (operand.element, operand.element.size());
            output.kept = kept(&output.shape, &meaning.margins_of(&operand.connector));
            for (bytes, value) in output.data.chunks_exact_mut(size).zip(results) {
                arith::cast(value, ty).write(bytes);
            }
        }
        Ok(())
    }
}

/// Elements of an output in margins; empty if there are none.
fn kept(shape: &[i64], margins: &[Margin]) -> Vec<bool> {
    if margins.iter().all(|margin| *margin == Margin::default()) {
        return Vec::new();
    }
    let mut kept = vec![false];
    for (size, margin) in shape.iter().zip(margins) {
        let is_out = |at: i64| at < margin.begin || at >= size - margin.end;
        kept = kept.iter().flat_map(|outer| (0..*size).map(move |at| *outer || is_out(at))).collect();
    }
    kept
}
