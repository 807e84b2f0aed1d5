//! Why a scope of schedule `simd` cannot run on lanes, and what the graph alone says of that.

use sdfg::analysis::ScopeTree;
use sdfg::ir::{ContainerKind, Flow, NodeId, NodeKind, Sdfg, State, TaskletBody};
use sdfg::syntax::{Statement, StatementKind};

/// Why a map of schedule `simd` cannot run on the lanes of vectors.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VectorRefusal {
    /// The scope has a node that is neither tasklet nor access node.
    #[error("`{label}` in it is a {noun}; lanes run tasklets and copies")]
    Node {
        /// The kind of node.
        noun: &'static str,
        /// Its label.
        label: String,
    },
    /// A tasklet calls a C function.
    #[error("tasklet `{label}` in it calls a C function")]
    External {
        /// The tasklet.
        label: String,
    },
    /// A tasklet has a loop.
    #[error("tasklet `{label}` in it has a loop, which lanes would leave at different times")]
    Loop {
        /// The tasklet.
        label: String,
    },
    /// The scope takes from or pushes to a stream.
    #[error("it uses the stream `{container}`")]
    Stream {
        /// The stream.
        container: String,
    },
    /// The scope sets a reference.
    #[error("it sets the reference `{container}`")]
    Reference {
        /// The reference.
        container: String,
    },
    /// The schedule is that of a consume scope.
    #[error("a consume scope has no iterations to run together")]
    Consume,
    /// Iterations may write what other iterations access.
    #[error("two iterations may access one element of `{container}`, and one of them writes it")]
    Overlap {
        /// The container, or the buffer that it is in.
        container: String,
    },
    /// Every iteration writes one element.
    #[error("every iteration writes one and the same element of `{container}`")]
    Same {
        /// The container, or the buffer that it is in.
        container: String,
    },
    /// A transient of each iteration is large, or its size is not a constant.
    #[error("each iteration has a `{container}` of its own, and its size is no small constant")]
    Memory {
        /// The transient.
        container: String,
    },
    /// A copy has many elements, or their number is not a constant.
    #[error("each iteration makes the copy `{label}`, and its size is no small constant")]
    Copy {
        /// The copy.
        label: String,
    },
    /// Code of another kind.
    #[error("its iterations need more than tasklets and copies")]
    Statement,
}

/// What the graph alone says against running a scope on lanes.
///
/// # Errors
/// The first reason found, in the order of nodes.
pub(in crate::lower) fn structure(
    sdfg: &Sdfg,
    state: &State,
    tree: &ScopeTree,
    entry: NodeId,
) -> Result<(), VectorRefusal> {
    if matches!(state.node(entry).kind, NodeKind::ConsumeEntry(_)) {
        return Err(VectorRefusal::Consume);
    }
    for &id in tree.children(Some(entry)) {
        let node = state.node(id);
        let label = || node.label.clone();
        match &node.kind {
            NodeKind::Access(container) => {
                let container = sdfg.container(*container);
                let is_set = || {
                    let mut edges = state.in_edges(id).into_iter().map(|edge| &state.edge(edge).memlet.flow);
                    edges.any(|flow| matches!(flow, Flow::Bind(_)))
                };
                if matches!(container.kind, ContainerKind::Reference(_)) && is_set() {
                    return Err(VectorRefusal::Reference { container: container.name.clone() });
                }
            }
            NodeKind::Tasklet(tasklet) => match &tasklet.body {
                TaskletBody::External(_) => return Err(VectorRefusal::External { label: label() }),
                TaskletBody::Code(code) if code.block().iter().any(repeats) => {
                    return Err(VectorRefusal::Loop { label: label() });
                }
                TaskletBody::Code(_) => {}
            },
            NodeKind::MapExit(_) | NodeKind::ConsumeExit(_) => {}
            NodeKind::MapEntry(_)
            | NodeKind::ConsumeEntry(_)
            | NodeKind::Nested(_)
            | NodeKind::Reduce(_)
            | NodeKind::Library(_) => {
                return Err(VectorRefusal::Node { noun: node.kind.noun(), label: label() });
            }
        }
        let touching = state.in_edges(id).into_iter().chain(state.out_edges(id));
        let accesses = touching.flat_map(|edge| state.edge(edge).memlet.accesses().collect::<Vec<_>>());
        for access in accesses {
            let container = sdfg.container(access.container);
            if container.is_stream() {
                return Err(VectorRefusal::Stream { container: container.name.clone() });
            }
        }
    }
    Ok(())
}

/// Whether a statement of a tasklet has a loop.
fn repeats(statement: &Statement) -> bool {
    match &statement.kind {
        StatementKind::For { .. } | StatementKind::While { .. } => true,
        StatementKind::If { branches, otherwise } => {
            branches.iter().any(|(_, block)| block.iter().any(repeats)) || otherwise.iter().any(repeats)
        }
        StatementKind::Assign { .. } | StatementKind::Augmented { .. } | StatementKind::Pass => false,
    }
}
