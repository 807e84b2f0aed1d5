//! Values that a part of a container gets before something is accumulated in it.

use std::collections::BTreeSet;

use sdfg::edit::{EditError, Editor};
use sdfg::ir::{
    Access, ConflictResolution, Connector, ContainerId, Edge, Flow, Map, Memlet, Node, NodeId, NodeKind,
    StateId, Tasklet, TaskletBody,
};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::{Expr, Symbol};
use sdfg::tasklet::{Code, Dialect};

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
            let name = editor.derived_container_name(&format!("i{}", params.len()), "element");
            let param = Symbol::of(&name);
            element.push(&range.begin + &(&range.step * &Expr::symbol(param.clone())));
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
