//! Operands of a library node: shapes and element types, as the interpreter and the graph provide them.
//!
//! Both provide the same [`Signature`], so each operation interprets its operands in one place, whether it is
//! computed or expanded.

use std::collections::BTreeSet;

use sdfg::analysis::accesses::all_alias_targets;
use sdfg::dtype::ScalarType;
use sdfg::interpret::LibraryOperand;
use sdfg::ir::{Access, ContainerId, Edge, LibraryNode, Sdfg};
use sdfg::symbolic::Expr;

use crate::error::ExpandErrorKind;
use crate::registry::Context;

/// One dimension of an operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dimension {
    /// Number of elements.
    pub(crate) size: Expr,
    /// Whether it is a single index, which an expansion does not see.
    pub(crate) single: bool,
}

/// Operand at a connector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Operand {
    /// The connector.
    pub(crate) connector: String,
    /// The type of an element.
    pub(crate) element: ScalarType,
    /// The dimensions of the memlet, one for each of the container.
    pub(crate) dimensions: Vec<Dimension>,
}

/// The operands of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    /// Those that are read, in order of declaration; not what stands at the connector that is written, too.
    pub(crate) inputs: Vec<Operand>,
    /// The one that is written; of several, the first.
    pub(crate) output: Operand,
    /// Others that are written.
    pub(crate) further: Vec<Operand>,
}

/// Results of comparing two extents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExtentComparison {
    /// They are equal.
    Same,
    /// They may be equal for some values of the symbols.
    Open,
    /// They differ.
    Different,
}

/// Compares two extents.
pub(crate) fn agreement(a: &Expr, b: &Expr) -> ExtentComparison {
    if a == b {
        return ExtentComparison::Same;
    }
    let difference = a - b;
    match (difference.is_zero(), difference.is_constant()) {
        (true, _) => ExtentComparison::Same,
        (false, true) => ExtentComparison::Different,
        (false, false) => ExtentComparison::Open,
    }
}

impl Operand {
    /// The positions of `rank` dimensions: single indices are left out, the leftmost first, until so many are left.
    pub(crate) fn fit(&self, rank: usize) -> Result<Vec<usize>, ExpandErrorKind> {
        let mut surplus = self.dimensions.len().saturating_sub(rank);
        let mut kept = Vec::with_capacity(rank);
        for (position, dimension) in self.dimensions.iter().enumerate() {
            if surplus > 0 && dimension.size.is_one() {
                surplus -= 1;
            } else {
                kept.push(position);
            }
        }
        if kept.len() != rank {
            let (connector, shape) = (self.connector.clone(), self.shape());
            return Err(ExpandErrorKind::Rank { connector, shape, rank });
        }
        Ok(kept)
    }

    /// The positions of the dimensions that are no single element.
    pub(crate) fn long(&self) -> Vec<usize> {
        (0..self.dimensions.len()).filter(|position| !self.size(*position).is_one()).collect()
    }

    /// The positions of the dimensions that an expansion sees.
    pub(crate) fn seen(&self) -> Vec<usize> {
        (0..self.dimensions.len()).filter(|position| !self.dimensions[*position].single).collect()
    }

    pub(crate) fn size(&self, position: usize) -> &Expr {
        &self.dimensions[position].size
    }

    /// The extents, for messages.
    pub(crate) fn shape(&self) -> String {
        let sizes: Vec<String> = self.dimensions.iter().map(|d| d.size.to_string()).collect();
        format!("[{}]", sizes.join(", "))
    }
}

impl Signature {
    /// The operands as the graph around a node tells them.
    pub(crate) fn of_graph(node: &LibraryNode, context: Context<'_>) -> Result<Self, ExpandErrorKind> {
        let unconnected = |name: &str| ExpandErrorKind::Unconnected { connector: name.to_owned() };
        let mut inputs = Vec::new();
        for input in &node.inputs {
            let access = read_access(context, &input.name).ok_or_else(|| unconnected(&input.name))?;
            if !is_output(node, &input.name) {
                inputs.push(of_access(&input.name, access, context)?);
            } else if write_edge(context, &input.name).and_then(|e| e.memlet.write_access()) != Some(access) {
                return Err(ExpandErrorKind::TwoMemories { connector: input.name.clone() });
            }
        }
        let mut outputs = Vec::new();
        for output in &node.outputs {
            let written = write_edge(context, &output.name).and_then(|edge| edge.memlet.write_access());
            let written = written.ok_or_else(|| unconnected(&output.name))?;
            outputs.push(of_access(&output.name, written, context)?);
        }
        Signature::of(inputs, outputs)
    }

    fn of(inputs: Vec<Operand>, mut outputs: Vec<Operand>) -> Result<Self, ExpandErrorKind> {
        if outputs.is_empty() {
            return Err(ExpandErrorKind::Outputs { found: 0 });
        }
        let output = outputs.remove(0);
        Ok(Signature { inputs, output, further: outputs })
    }

    /// The operands as the interpreter hands them over.
    pub(crate) fn of_values(
        node: &LibraryNode,
        inputs: &[LibraryOperand],
        outputs: &[LibraryOperand],
    ) -> Result<Self, ExpandErrorKind> {
        let unconnected = |name: &str| ExpandErrorKind::Unconnected { connector: name.to_owned() };
        for input in &node.inputs {
            if !inputs.iter().any(|operand| operand.connector == input.name) {
                return Err(unconnected(&input.name));
            }
        }
        if let Some(output) = node.outputs.get(outputs.len()) {
            return Err(unconnected(&output.name));
        }
        let inputs = inputs.iter().filter(|operand| !is_output(node, &operand.connector));
        let inputs = inputs.map(of_value).collect::<Result<_, _>>()?;
        Signature::of(inputs, outputs.iter().map(of_value).collect::<Result<_, _>>()?)
    }

    /// The operands that are written, in order of declaration.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = &Operand> {
        [&self.output].into_iter().chain(&self.further)
    }

    /// Refuses a node that lacks one of the connectors or has another one. An input may have the name of the output.
    pub(crate) fn check(
        &self,
        needed: &[&str],
        optional: &[&str],
        output: &str,
    ) -> Result<(), ExpandErrorKind> {
        if !self.further.is_empty() {
            return Err(ExpandErrorKind::Outputs { found: 1 + self.further.len() });
        }
        self.check_all(needed, optional, &[output])
    }

    /// The same of a node that writes several outputs, in any order.
    pub(crate) fn check_all(
        &self,
        needed: &[&str],
        optional: &[&str],
        outputs: &[&str],
    ) -> Result<(), ExpandErrorKind> {
        let has = |name: &str| self.inputs.iter().any(|operand| operand.connector == name);
        if let Some(missing) = needed.iter().find(|name| !has(name)) {
            return Err(ExpandErrorKind::MissingConnector { connector: (*missing).to_owned() });
        }
        let writes = |name: &str| self.outputs().any(|operand| operand.connector == name);
        if let Some(missing) = outputs.iter().find(|name| !writes(name)) {
            return Err(ExpandErrorKind::MissingConnector { connector: (*missing).to_owned() });
        }
        let known = |name: &str| needed.contains(&name) || optional.contains(&name);
        let mut unknown = self
            .inputs
            .iter()
            .filter(|operand| !known(&operand.connector))
            .chain(self.outputs().filter(|operand| !outputs.contains(&operand.connector.as_str())));
        match unknown.next() {
            Some(other) => Err(ExpandErrorKind::UnknownConnector { connector: other.connector.clone() }),
            None => Ok(()),
        }
    }

    /// An output that [`Signature::check_all`] has found.
    pub(crate) fn written(&self, connector: &str) -> Result<&Operand, ExpandErrorKind> {
        let found = self.outputs().find(|operand| operand.connector == connector);
        found.ok_or_else(|| ExpandErrorKind::MissingConnector { connector: connector.to_owned() })
    }

    /// The position of an input.
    pub(crate) fn find(&self, connector: &str) -> Option<usize> {
        self.inputs.iter().position(|operand| operand.connector == connector)
    }

    /// An input that [`Signature::check`] has found.
    pub(crate) fn input(&self, connector: &str) -> Result<&Operand, ExpandErrorKind> {
        let found = self.find(connector).map(|position| &self.inputs[position]);
        found.ok_or_else(|| ExpandErrorKind::MissingConnector { connector: connector.to_owned() })
    }
}

/// The error that the shapes of a node's operands do not belong together.
pub(crate) fn misfit(signature: &Signature, reason: String) -> ExpandErrorKind {
    let operands = signature.inputs.iter().chain([&signature.output]);
    let operands: Vec<String> =
        operands.map(|operand| format!("{}{}", operand.connector, operand.shape())).collect();
    ExpandErrorKind::Shapes { operands: operands.join(", "), reason }
}

fn is_output(node: &LibraryNode, connector: &str) -> bool {
    node.outputs.iter().any(|output| output.name == connector)
}

fn read_access<'g>(context: Context<'g>, connector: &str) -> Option<&'g Access> {
    let edges = context.state.in_edges(context.node);
    let edge = edges.into_iter().map(|id| context.state.edge(id));
    edge.filter(|edge| edge.dst_connector.as_deref() == Some(connector))
        .find_map(|edge| edge.memlet.read_access())
}

/// The part of a container at a connector, an input or an output.
pub(crate) fn access_of<'g>(node: &LibraryNode, connector: &str, context: Context<'g>) -> Option<&'g Access> {
    if is_output(node, connector) {
        return write_edge(context, connector)?.memlet.write_access();
    }
    read_access(context, connector)
}

/// The edge that writes what stands at an output.
pub(crate) fn write_edge<'g>(context: Context<'g>, connector: &str) -> Option<&'g Edge> {
    let edges = context.state.out_edges(context.node);
    let mut edge = edges.into_iter().map(|id| context.state.edge(id));
    edge.find(|edge| edge.src_connector.as_deref() == Some(connector) && edge.memlet.write_access().is_some())
}

/// Whether elements that the node reads may be elements that it writes, under another connector.
pub(crate) fn overlaps(node: &LibraryNode, output: &str, context: Context<'_>) -> bool {
    let Some(written) = write_edge(context, output).and_then(|edge| edge.memlet.write_access()) else {
        return false;
    };
    let memory = |access: &Access| memory_of(context.sdfg, access.container);
    // Arguments of a nested SDFG may be parts of one container outside.
    let has_argument = |memory: &BTreeSet<ContainerId>| {
        context.is_nested && memory.iter().any(|id| context.sdfg.container(*id).is_argument())
    };
    let written = memory(written);
    let others = node.inputs.iter().filter(|input| input.name != output);
    others.filter_map(|input| read_access(context, &input.name)).any(|read| {
        let read = memory(read);
        !read.is_disjoint(&written) || has_argument(&read) && has_argument(&written)
    })
}

/// The containers with memory that a container stands for: those that a view or reference may be bound to, or itself.
fn memory_of(sdfg: &Sdfg, container: ContainerId) -> BTreeSet<ContainerId> {
    let has_memory = |id: &ContainerId| !sdfg.container(*id).is_alias();
    let targets = all_alias_targets(sdfg);
    let named = targets.get(&container).into_iter().flatten().copied();
    std::iter::once(container).chain(named).filter(has_memory).collect()
}

fn of_access(connector: &str, access: &Access, context: Context<'_>) -> Result<Operand, ExpandErrorKind> {
    let container = context.sdfg.container(access.container);
    if container.is_stream() {
        return Err(ExpandErrorKind::Stream { connector: connector.to_owned() });
    }
    let element = scalar(connector, container.element)?;
    let dimensions = access.subset().0.iter();
    let dimensions =
        dimensions.map(|range| Dimension { size: range.size(), single: range.is_index() }).collect();
    Ok(Operand { connector: connector.to_owned(), element, dimensions })
}

fn of_value(operand: &LibraryOperand) -> Result<Operand, ExpandErrorKind> {
    let element = scalar(&operand.connector, operand.element)?;
    let sizes = operand.shape.iter();
    let dimensions =
        sizes.map(|size| Dimension { size: Expr::int((*size).max(0)), single: *size == 1 }).collect();
    Ok(Operand { connector: operand.connector.clone(), element, dimensions })
}

fn scalar(connector: &str, element: sdfg::dtype::ElementType) -> Result<ScalarType, ExpandErrorKind> {
    element.as_scalar().ok_or_else(|| ExpandErrorKind::Element {
        connector: connector.to_owned(),
        reason: format!("elements of type {element} are not supported"),
    })
}
