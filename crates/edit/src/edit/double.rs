//! Gives a scope another container in the place of one that it uses.

use sdfg_graph::ir::{
    Access, ConflictResolution, Container, ContainerId, ContainerKind, EdgeId, Flow, Layout, Memlet, Node,
    NodeId, NodeKind, StateId,
};
use sdfg_language::subset::{Range, Subset};
use sdfg_language::symbolic::Expr;

use super::editor::Editor;
use super::local::{Cover, checked_exact, segments_inside};
use super::{EditError, expect_edge, names};

/// A dimension in front of those of a container: its extent, and the index along it that a scope uses.
#[derive(Clone, Debug)]
pub struct LeadingDimension {
    /// Number of elements.
    pub extent: Expr,
    /// The index inside of the scope.
    pub index: Expr,
}

/// A container that takes the results of a scope in the place of another one.
#[derive(Clone, Debug)]
pub struct Partials {
    /// The container.
    pub container: ContainerId,
    /// The access node behind the scope.
    pub node: NodeId,
    /// The access node that the results went to.
    pub target: NodeId,
    /// The part of the other container that they went to.
    pub access: Access,
    /// How they were combined with what was there.
    pub resolution: Option<ConflictResolution>,
}

impl Editor<'_> {
    /// Puts a new transient of this name and of the same shape on the way of an edge between an access node and a scope: what
    /// the scope reads is copied to it first, what the scope writes is copied from it. Gives the container and its access node.
    ///
    /// The program means the same as before under the conditions of [`add_local_copy`](Editor::add_local_copy).
    ///
    /// # Errors
    /// As [`add_local_copy`](Editor::add_local_copy).
    pub fn add_double(
        &mut self,
        state: StateId,
        edge: EdgeId,
        name: &str,
        cover: Cover,
    ) -> Result<(ContainerId, NodeId), EditError> {
        self.check_new_name(name)?;
        expect_edge(self.state(state)?, edge)?;
        self.attempt(|editor| {
            let (access, reads) = checked_exact(editor, state, edge, cover)?;
            let (double, node) = editor.doubled(state, edge, name, (&access, reads), &[])?;
            let around = vec![Expr::zero(); access.subset().rank()];
            editor.splice(state, edge, (double, node), (&access, &around))?;
            Ok((double, node))
        })
    }

    /// Lets a scope write to a new transient instead of the container that an edge leads to from its exit. The transient has
    /// the shape of the container behind the given leading dimensions. `part` has the elements that are written. Nothing is
    /// copied; the caller brings the results to where they went.
    ///
    /// # Errors
    /// [`EditError::CannotCross`] if the edge does not lead from a scope to an access node.
    pub fn add_partials(
        &mut self,
        state: StateId,
        edge: EdgeId,
        (name, part): (&str, &Subset),
        leading: &[LeadingDimension],
    ) -> Result<Partials, EditError> {
        self.check_new_name(name)?;
        let found = expect_edge(self.state(state)?, edge)?.clone();
        let Flow::Write { to: access, resolution } = &found.memlet.flow else {
            let reason = "only what a scope writes can go to partial results";
            return Err(super::subgraph::cannot_cross(self.graph(state), edge, reason));
        };
        self.attempt(|editor| {
            editor.propagate_pending();
            let (container, node) = editor.doubled(state, edge, name, (access, false), leading)?;
            editor.move_edge(state, edge, (found.src, found.src_connector.clone()), (node, None))?;
            let whole = leading.iter().map(|dim| Range::new(Expr::zero(), dim.extent.clone()));
            let subset = Subset(whole.chain(part.0.iter().cloned()).collect());
            let flow =
                Flow::Write { to: Access::elements(container, subset), resolution: resolution.clone() };
            let memlet = Memlet { volume: found.memlet.volume.clone(), flow, declared: false };
            editor.put_memlet(state, edge, memlet);
            let access = Access::elements(access.container, part.clone());
            let resolution = resolution.clone();
            Ok(Partials { container, node, target: found.dst, access, resolution })
        })
    }

    /// What moves over an edge between an access node and a scope, if a copy of these elements accesses only what the scope does.
    ///
    /// # Errors
    /// As [`add_local_copy`](Editor::add_local_copy).
    pub fn copied_over(&mut self, state: StateId, edge: EdgeId, cover: Cover) -> Result<Access, EditError> {
        expect_edge(self.state(state)?, edge)?;
        checked_exact(self, state, edge, cover).map(|(access, _)| access)
    }

    fn check_new_name(&mut self, name: &str) -> Result<(), EditError> {
        names::check(name)?;
        match self.names().contains(name) {
            true => Err(EditError::NameTaken { name: name.to_owned() }),
            false => Ok(()),
        }
    }

    /// The new container with an access node. The memlets inside of the edge name it.
    fn doubled(
        &mut self,
        state: StateId,
        edge: EdgeId,
        name: &str,
        (access, reads): (&Access, bool),
        leading: &[LeadingDimension],
    ) -> Result<(ContainerId, NodeId), EditError> {
        let original = self.sdfg().container(access.container);
        if original.is_stream() || original.is_alias() {
            let reason = "is a stream, view or reference, which cannot be distributed";
            return Err(EditError::Container { container: original.name.clone(), reason });
        }
        let extents = leading.iter().map(|dim| dim.extent.clone());
        let shape: Vec<Expr> = extents.chain(original.shape().iter().cloned()).collect();
        let kind = match shape.is_empty() {
            true => ContainerKind::Scalar,
            false => ContainerKind::Array(Layout::packed(shape)),
        };
        let mut container = Container::new(name, original.element, kind);
        (container.transient, container.storage) = (true, original.storage);
        let double = self.put_container(container);
        let graph = self.graph(state);
        let inside = segments_inside(graph, edge, reads);
        let found = graph.edge(edge);
        let inner = if reads { found.dst } else { found.src };
        let origin = graph.node(inner).label.clone();
        for segment in inside {
            self.change_memlet(state, segment, |memlet| {
                memlet.declared = false;
                for part in memlet.accesses_mut().filter(|part| part.container == access.container) {
                    part.container = double;
                    let indices = leading.iter().map(|dim| Range::index(dim.index.clone()));
                    let ranges = indices.chain(part.subset().0.iter().cloned()).collect();
                    *part.subset_mut() = Subset(ranges);
                }
            });
        }
        let label = self.derived_label(state, &origin, "local")?;
        let node = self.put_node(state, Node { label, kind: NodeKind::Access(double), loc: None });
        Ok((double, node))
    }
}
