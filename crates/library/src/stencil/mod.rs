//! `Stencil`: the same code computes every output element from input elements at constant offsets.
//!
//! The code consists of assignments, the properties `code_NAME`. In it, `a[-1, 0]` is the element of the
//! input `a` one row above the computed element. The boundary condition of the input applies where that
//! element does not exist. Flags select the iterators of an input with fewer dimensions than the outputs.
//! `compute` defines the meaning, element by element. `regions` divides the outputs into an interior without
//! boundary tests and a boundary. `expand` writes both as maps.

mod compute;
mod expand;
mod regions;

pub(crate) use regions::Margin;
use sdfg::ir::LibraryNode;
use sdfg::symbolic::Expr;
use sdfg::syntax::{Expression, ExpressionKind, Index, UnaryOp, map_expression};
use sdfg::tasklet::Dialect;

use crate::error::ExpandErrorKind;
use crate::operand::{ExtentComparison, Operand, Signature, agreement};
use crate::properties::{Factor, Properties};

const BOUNDARY: &str = "boundary_conditions";
const ITERATORS: &str = "iterator_mapping";

/// A node that is understood.
pub(crate) struct Stencil {
    /// The extents of the iterators.
    extents: Vec<Expr>,
    fields: Vec<Field>,
    /// All elements that the code reads.
    reads: Vec<Read>,
    /// The code, in order, with a name for each read.
    assignments: Vec<Assignment>,
    outputs: Vec<Output>,
    dialect: Dialect,
}

/// An input.
struct Field {
    operand: Operand,
    /// The dimensions that iterators go along; other ones have a single element.
    positions: Vec<usize>,
    /// The iterators that go along them.
    iterators: Vec<usize>,
    boundary: Boundary,
}

/// Values for reads where an input has no element.
enum Boundary {
    /// Nothing: elements of the outputs that need it keep what they hold.
    Shrink,
    /// The element without an offset.
    Copy,
    /// A value.
    Constant(Factor),
}

/// An element of an input, relative to that which is computed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Read {
    field: usize,
    offsets: Vec<i64>,
}

/// One assignment of the code.
struct Assignment {
    name: String,
    value: Expression,
}

struct Output {
    operand: Operand,
    /// The dimension that each iterator goes along.
    positions: Vec<usize>,
}

/// The name of a read in code.
fn read_name(read: usize) -> String {
    format!("__x{read}")
}

/// The name of an assigned value in code.
fn value_name(name: &str) -> String {
    format!("__v_{name}")
}

impl Stencil {
    pub(crate) fn of(node: &LibraryNode, signature: &Signature) -> Result<Self, ExpandErrorKind> {
        let properties = Properties(node);
        check_names(properties, signature)?;
        let dialect = match properties.get("dialect") {
            None => Dialect::Python,
            Some(_) => match properties.word("dialect")? {
                "c" => Dialect::C,
                "python" => Dialect::Python,
                _ => return Err(properties.wrong("dialect", "must be `python` or `c`")),
            },
        };
        let mut code = Code { signature, reads: Vec::new(), refused: None };
        let mut assignments: Vec<Assignment> = Vec::new();
        for (property, value) in &node.properties {
            let Some(name) = LibraryNode::assigned(property) else { continue };
            let value = map_expression(value.clone(), &mut |part| code.resolved(part, &assignments));
            if let Some(must) = code.refused.take() {
                return Err(properties.wrong(property, &must));
            }
            assignments.push(Assignment { name: name.to_owned(), value });
        }
        let reads = code.reads;
        for output in signature.outputs() {
            if !assignments.iter().any(|assignment| assignment.name == output.connector) {
                let property = format!("{}{}", LibraryNode::CODE, output.connector);
                return Err(properties.wrong(&property, "must tell what the output gets"));
            }
        }
        let rank = rank(properties, signature, &reads)?;
        let mut outputs = Vec::new();
        for operand in signature.outputs() {
            outputs.push(Output { operand: operand.clone(), positions: operand.fit(rank)? });
        }
        let first = &outputs[0];
        let extents: Vec<Expr> = first.positions.iter().map(|at| first.operand.size(*at).clone()).collect();
        let mut fields = Vec::new();
        for (number, operand) in signature.inputs.iter().enumerate() {
            let used = reads.iter().filter(|read| read.field == number);
            fields.push(field(properties, operand, used, rank)?);
        }
        let stencil = Stencil { extents, fields, reads, assignments, outputs, dialect };
        stencil.check_extents(signature)?;
        Ok(stencil)
    }

    /// Refuses operands that are known to have another extent than the iterators along them.
    fn check_extents(&self, signature: &Signature) -> Result<(), ExpandErrorKind> {
        let all: Vec<usize> = (0..self.extents.len()).collect();
        let inputs = self.fields.iter().map(|field| (&field.operand, &field.positions, &field.iterators));
        let outputs = self.outputs.iter().map(|output| (&output.operand, &output.positions, &all));
        for (operand, positions, iterators) in inputs.chain(outputs) {
            for (position, iterator) in positions.iter().zip(iterators) {
                let (size, extent) = (operand.size(*position), &self.extents[*iterator]);
                if agreement(size, extent) == ExtentComparison::Different {
                    let operands = signature.inputs.iter().chain(signature.outputs());
                    let operands: Vec<String> =
                        operands.map(|operand| format!("{}{}", operand.connector, operand.shape())).collect();
                    return Err(ExpandErrorKind::Shapes {
                        operands: operands.join(", "),
                        reason: format!(
                            "dimension {position} of `{}` has {size} elements instead of {extent}",
                            operand.connector
                        ),
                    });
                }
            }
        }
        Ok(())
    }
}

/// Refuses properties that belong to nothing.
fn check_names(properties: Properties<'_>, signature: &Signature) -> Result<(), ExpandErrorKind> {
    let mut known = vec!["dialect".to_owned()];
    for operand in &signature.inputs {
        known.push(format!("{BOUNDARY}_{}", operand.connector));
        known.push(format!("{ITERATORS}_{}", operand.connector));
    }
    let code = properties.0.properties.iter().map(|(name, _)| name);
    known.extend(code.filter(|name| LibraryNode::assigned(name).is_some()).cloned());
    properties.check(&known.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Code in which subscripts become names of reads.
struct Code<'s> {
    signature: &'s Signature,
    reads: Vec<Read>,
    /// Requirement that the text violates.
    refused: Option<String>,
}

impl Code<'_> {
    /// A part of the code with the names that this module gives; the parts of a subscript come before it, as they are.
    fn resolved(&mut self, part: Expression, before: &[Assignment]) -> Expression {
        let (name, offsets) = match &part.kind {
            ExpressionKind::Name(name) => (name, Some(Vec::new())),
            ExpressionKind::Subscript { base, indices } => {
                (&base.text, indices.iter().map(offset).collect::<Option<Vec<i64>>>())
            }
            ExpressionKind::Integer(_)
            | ExpressionKind::Float(_)
            | ExpressionKind::Imaginary(_)
            | ExpressionKind::Bool(_)
            | ExpressionKind::Unary { .. }
            | ExpressionKind::Binary { .. }
            | ExpressionKind::Compare { .. }
            | ExpressionKind::Conditional { .. }
            | ExpressionKind::Call { .. } => return part,
        };
        let Some(offsets) = offsets else {
            self.refused = Some(format!("must have numbers as the offsets of `{name}`"));
            return part;
        };
        if before.iter().any(|assignment| assignment.name == *name) {
            if offsets.iter().any(|offset| *offset != 0) {
                self.refused =
                    Some(format!("may use `{name}`, which is computed here, without offsets only"));
            }
            return Expression::name(value_name(name));
        }
        let Some(field) = self.signature.find(name) else {
            if !offsets.is_empty() {
                self.refused = Some(format!("may have offsets of inputs only, not of `{name}`"));
            }
            return part;
        };
        let read = Read { field, offsets };
        let number = self.reads.iter().position(|known| *known == read).unwrap_or_else(|| {
            self.reads.push(read);
            self.reads.len() - 1
        });
        Expression::name(read_name(number))
    }
}

/// The number that an index is.
fn offset(index: &Index) -> Option<i64> {
    let Index::Point(at) = index else { return None };
    match &at.kind {
        ExpressionKind::Integer(value) => i64::try_from(*value).ok(),
        ExpressionKind::Unary { op: UnaryOp::Negate, operand } => match operand.kind {
            ExpressionKind::Integer(value) => i64::try_from(value).ok().map(|value| -value),
            _ => None,
        },
        _ => None,
    }
}

/// Number of iterators: that of the longest mapping or subscript, otherwise the number of the output's
/// dimensions.
fn rank(properties: Properties<'_>, signature: &Signature, reads: &[Read]) -> Result<usize, ExpandErrorKind> {
    let mut rank = reads.iter().map(|read| read.offsets.len()).max().unwrap_or(0);
    for operand in &signature.inputs {
        let mapping = mapping(properties, &operand.connector)?;
        rank = rank.max(mapping.map_or(0, |mapping| mapping.len()));
    }
    Ok(if rank == 0 { signature.output.long().len() } else { rank })
}

/// For each iterator whether an input follows it; `None` if nothing is said.
fn mapping(properties: Properties<'_>, connector: &str) -> Result<Option<Vec<bool>>, ExpandErrorKind> {
    let mut mapping = Vec::new();
    loop {
        let name = format!("{ITERATORS}_{connector}_{}", mapping.len());
        if properties.get(&name).is_none() {
            return Ok((!mapping.is_empty()).then_some(mapping));
        }
        mapping.push(properties.flag(&name, false)?);
    }
}

fn field<'r>(
    properties: Properties<'_>,
    operand: &Operand,
    mut used: impl Iterator<Item = &'r Read>,
    rank: usize,
) -> Result<Field, ExpandErrorKind> {
    let connector = &operand.connector;
    let mapping = mapping(properties, connector)?;
    if mapping.as_ref().is_some_and(|mapping| mapping.len() != rank) {
        let name = format!("{ITERATORS}_{connector}_0");
        return Err(properties.wrong(&name, &format!("must be one of {rank} entries, one for each iterator")));
    }
    let count = used.next().map(|read| read.offsets.len());
    if let Some(other) = used.find(|read| Some(read.offsets.len()) != count) {
        let shape = operand.shape();
        return Err(ExpandErrorKind::Rank { connector: connector.clone(), shape, rank: other.offsets.len() });
    }
    let iterators: Vec<usize> = match mapping {
        Some(mapping) => (0..rank).filter(|iterator| mapping[*iterator]).collect(),
        None if count.unwrap_or(0) == 0 => Vec::new(),
        None => (0..rank).collect(),
    };
    if count.is_some_and(|count| count != iterators.len()) {
        let name = format!("{ITERATORS}_{connector}");
        let must = format!(
            "must tell, one flag for each of {rank} iterators, which ones the {} offsets of `{connector}` are along",
            count.unwrap_or(0)
        );
        return Err(properties.wrong(&name, &must));
    }
    let name = format!("{BOUNDARY}_{connector}");
    let boundary = match properties.get(&name).map(|value| &value.kind) {
        None => Boundary::Shrink,
        Some(ExpressionKind::Name(word)) if word == "shrink" => Boundary::Shrink,
        Some(ExpressionKind::Name(word)) if word == "copy" => Boundary::Copy,
        Some(_) => Boundary::Constant(properties.factor(&name, 0)),
    };
    // What is not read may have any shape.
    let positions = if count.is_some() { operand.fit(iterators.len())? } else { Vec::new() };
    let iterators = if count.is_some() { iterators } else { Vec::new() };
    Ok(Field { operand: operand.clone(), positions, iterators, boundary })
}
