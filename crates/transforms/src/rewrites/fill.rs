//! Values that a part of a container gets before something is accumulated in it.

use std::collections::BTreeSet;

use sdfg::analysis::ScopeTree;
use sdfg::dtype::{ElementType, ScalarType};
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{
    Access, ConflictResolution, Connector, ContainerId, Edge, EdgeId, Flow, Map, Memlet, Node, NodeId,
    NodeKind, State, StateId, Tasklet, TaskletBody,
};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::{Expr, Symbol};
use sdfg::tasklet::{Code, Dialect};

use super::sole_write::SoleWrite;
use crate::engine::Refusal;

/// A part of a container with the value of its elements.
pub(super) struct Fill<'a> {
    /// The container.
    pub(super) container: ContainerId,
    /// The part.
    pub(super) part: &'a Subset,
    /// The value, as code.
    pub(super) value: &'a str,
    /// How the value is combined with what is there.
    pub(super) resolution: Option<&'a ConflictResolution>,
    /// The label that labels of new nodes are derived from.
    pub(super) origin: &'a str,
}

/// The element that changes nothing, as code.
pub(super) fn neutral(resolution: &ConflictResolution) -> Option<&'static str> {
    match resolution {
        ConflictResolution::Sum => Some("0"),
        ConflictResolution::Product => Some("1"),
        ConflictResolution::Min
        | ConflictResolution::Max
        | ConflictResolution::And
        | ConflictResolution::Or
        | ConflictResolution::Xor
        | ConflictResolution::BitAnd
        | ConflictResolution::BitOr
        | ConflictResolution::BitXor
        | ConflictResolution::MinLocation
        | ConflictResolution::MaxLocation
        | ConflictResolution::Replace
        | ConflictResolution::Custom(_) => None,
    }
}

/// The element of this type that changes nothing, whatever it is combined with, as code.
pub(super) fn neutral_of(resolution: &ConflictResolution, element: ElementType) -> Option<String> {
    let (ty, number) = (element.lane(), |value: &str| Some(value.to_owned()));
    let is_float = ty.is_float();
    match resolution {
        // Zero would make a negative zero positive.
        ConflictResolution::Sum if is_float => number("-0.0"),
        ConflictResolution::Sum => number("0"),
        ConflictResolution::BitOr | ConflictResolution::BitXor => number("0"),
        ConflictResolution::Product => number("1"),
        // Numbers become truth values, whatever they are combined with.
        ConflictResolution::And | ConflictResolution::Or | ConflictResolution::Xor
            if ty != ScalarType::Bool =>
        {
            None
        }
        ConflictResolution::And => number("1"),
        ConflictResolution::Or | ConflictResolution::Xor => number("0"),
        ConflictResolution::BitAnd => number("-1"),
        ConflictResolution::Min if is_float => number("inf"),
        ConflictResolution::Max if is_float => number("-inf"),
        ConflictResolution::Min
        | ConflictResolution::Max
        | ConflictResolution::MinLocation
        | ConflictResolution::MaxLocation
        | ConflictResolution::Replace
        | ConflictResolution::Custom(_) => None,
    }
}

/// An access node whose only purpose is the neutral element for a map behind it.
pub(super) struct Initial<'p> {
    /// The access node.
    node: NodeId,
    /// The write of the neutral element.
    pub(super) write: SoleWrite<'p>,
}

impl<'p> Initial<'p> {
    /// The initial values that an access node has for a map.
    ///
    /// # Errors
    /// If something else uses them, or they are not the neutral element.
    pub(super) fn of(
        state: &'p State,
        tree: &ScopeTree,
        (node, entry): (NodeId, NodeId),
        neutral: &str,
    ) -> Result<Self, Refusal> {
        let label = |node: NodeId| state.node(node).label.as_str();
        if state.each_out_edge(node).any(|(_, edge)| edge.dst != entry || !is_order(edge)) {
            let by = "a node that reads the initial values".to_owned();
            return Err(Refusal::UsedElsewhere { container: label(node).to_owned(), by });
        }
        let writes: Vec<EdgeId> =
            state.each_in_edge(node).filter(|(_, edge)| !is_order(edge)).map(|(id, _)| id).collect();
        let [only] = writes[..] else {
            return Err(Refusal::structure(label(node), "gets no initial values through one edge"));
        };
        let write = SoleWrite::behind(state, tree, only)?;
        if write.resolution.is_some() || !is_constant(write.tasklet, neutral) {
            let reason = format!("does not write the neutral element {neutral}");
            return Err(Refusal::structure(label(write.node), reason));
        }
        let initial = Initial { node, write };
        let outermost = initial.outermost();
        let exit = state.exit_of(outermost).unwrap_or(initial.write.node);
        if state.each_in_edge(outermost).any(|(_, edge)| !is_order(edge))
            || state.each_out_edge(exit).any(|(_, edge)| edge.dst != node)
        {
            return Err(Refusal::structure(label(outermost), "does more than to write the neutral element"));
        }
        Ok(initial)
    }

    /// The node that writes the values: the outermost map, or the tasklet.
    pub(super) fn outermost(&self) -> NodeId {
        self.write.entries.first().copied().unwrap_or(self.write.node)
    }

    /// The nodes that the values come after, except for the scope around.
    pub(super) fn before(&self, state: &State, scope: Option<NodeId>) -> Vec<NodeId> {
        let into = state.each_in_edge(self.outermost()).chain(state.each_in_edge(self.node));
        into.filter(|(_, edge)| is_order(edge) && Some(edge.src) != scope).map(|(_, edge)| edge.src).collect()
    }
}

/// A free parameter that counts the steps of a range, for a dimension of a map with this number, and the value at a step.
pub(super) fn counter(editor: &mut Editor<'_>, dimension: usize, range: &Range) -> (Symbol, Expr) {
    let param = Symbol::of(&editor.derived_container_name(&format!("i{dimension}"), "element"));
    let at = &range.begin + &(&range.step * &Expr::symbol(param.clone()));
    (param, at)
}

fn is_order(edge: &Edge) -> bool {
    matches!(edge.memlet.flow, Flow::Order)
}

/// Whether a tasklet without inputs writes a constant: the number, as an integer or as a fraction.
fn is_constant(tasklet: &Tasklet, number: &str) -> bool {
    let ([output], []) = (&tasklet.outputs[..], &tasklet.inputs[..]) else { return false };
    match &tasklet.body {
        TaskletBody::Code(code) => {
            let text = code.to_string();
            let value = text
                .trim()
                .strip_prefix(output.name.as_str())
                .and_then(|rest| rest.trim_start().strip_prefix('=').map(str::trim));
            value.is_some_and(|value| value == number || value.strip_suffix(".0") == Some(number))
        }
        TaskletBody::External(_) => false,
    }
}

impl Fill<'_> {
    /// Adds a map that writes the value to the elements, in a scope or outside of all. Gives the access node behind it, without
    /// further edges.
    pub(super) fn add(
        &self,
        editor: &mut Editor<'_>,
        state: StateId,
        scope: Option<NodeId>,
    ) -> Result<NodeId, EditError> {
        let label = editor.derived_label(state, self.origin, "begin")?;
        let access =
            editor.add_node(state, Node { label, kind: NodeKind::Access(self.container), loc: None })?;
        let code = Code::parse(&format!("y = {}", self.value), Dialect::Python);
        let Ok(code) = code else { return Err(EditError::NoNode(access)) };
        let outputs = vec![Connector::new("y")];
        let tasklet = Tasklet { inputs: Vec::new(), outputs, body: TaskletBody::Code(code) };
        let label = editor.derived_label(state, self.origin, "neutral")?;
        let kind = NodeKind::Tasklet(tasklet);
        let tasklet = editor.add_node(state, Node { label, kind, loc: None })?;
        let (mut params, mut ranges, mut element) = (Vec::new(), Vec::new(), Vec::new());
        for range in &self.part.0 {
            if range.is_index() {
                element.push(range.begin.clone());
                continue;
            }
            let (param, at) = counter(editor, params.len(), range);
            element.push(at);
            params.push(param);
            ranges.push(Range::new(Expr::zero(), range.steps()));
        }
        let to = Access::elements(self.container, Subset::element(&element));
        let mut memlet = Memlet::write(to);
        if let Flow::Write { resolution, .. } = &mut memlet.flow {
            *resolution = self.resolution.cloned();
        }
        let edge = Edge {
            src: tasklet,
            src_connector: Some("y".to_owned()),
            dst: access,
            dst_connector: None,
            memlet,
            loc: None,
        };
        editor.add_edge(state, edge)?;
        if let Some(scope) = scope {
            editor.add_order(state, scope, tasklet)?;
        }
        if !params.is_empty() {
            let label = editor.derived_label(state, self.origin, "fill")?;
            editor.wrap_in_map(
                state,
                &BTreeSet::from([tasklet]),
                &label,
                Map::new(params, Subset(ranges)),
            )?;
        }
        Ok(access)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The smallest integer is no neutral element that programs write.
    #[test]
    fn only_floating_point_numbers_have_a_neutral_extremum() {
        let neutral = |resolution: &ConflictResolution, ty| neutral_of(resolution, ElementType::scalar(ty));
        for (resolution, text) in [(ConflictResolution::Max, "-inf"), (ConflictResolution::Min, "inf")] {
            let found = neutral(&resolution, ScalarType::F64).expect("a neutral element");
            assert!(found.contains(text), "{found}");
            assert_eq!(neutral(&resolution, ScalarType::I64), None);
        }
        assert_eq!(neutral(&ConflictResolution::Sum, ScalarType::I64).as_deref(), Some("0"));
    }
}
