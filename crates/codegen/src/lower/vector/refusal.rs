//! Reasons for which a scope of schedule `simd` cannot run on lanes, and the checks that need only the graph.

use std::collections::BTreeSet;

use sdfg::analysis::ScopeTree;
use sdfg::ir::{ContainerKind, Flow, NodeId, NodeKind, Sdfg, State, Tasklet, TaskletBody};
use sdfg::symbolic::Symbol;
use sdfg::syntax::{Expression, Statement, StatementKind, visit_targets};
use sdfg::tasklet::Code;

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
    /// A tasklet has a loop that lanes may leave at different times: a `while`, or a `for` whose bounds differ from iteration to iteration.
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

/// The reason in the graph for not running a scope on lanes.
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
    let lanes = match &state.node(entry).kind {
        NodeKind::MapEntry(map) => map.params.last(),
        NodeKind::Access(_)
        | NodeKind::Tasklet(_)
        | NodeKind::MapExit(_)
        | NodeKind::ConsumeEntry(_)
        | NodeKind::ConsumeExit(_)
        | NodeKind::Nested(_)
        | NodeKind::Reduce(_)
        | NodeKind::Library(_) => None,
    };
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
                TaskletBody::Code(code) => {
                    let own = own_names(tasklet, code, lanes);
                    if code.block().iter().any(|statement| parts_lanes(statement, &own)) {
                        return Err(VectorRefusal::Loop { label: label() });
                    }
                }
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

/// Names whose values may differ from lane to lane: connectors, what code assigns, and the parameter that lanes share out. Loop variables
/// count alike in all lanes, as code does not assign them.
fn own_names<'g>(tasklet: &'g Tasklet, code: &'g Code, lanes: Option<&'g Symbol>) -> BTreeSet<&'g str> {
    let connectors = tasklet.inputs.iter().chain(&tasklet.outputs).map(|connector| connector.name.as_str());
    let mut own: BTreeSet<&str> = connectors.chain(lanes.map(Symbol::as_str)).collect();
    visit_targets(code.block(), &mut |target| {
        own.insert(target.name.text.as_str());
    });
    own
}

/// Whether lanes may leave a loop of a statement at different times.
fn parts_lanes(statement: &Statement, own: &BTreeSet<&str>) -> bool {
    let any = |block: &[Statement]| block.iter().any(|statement| parts_lanes(statement, own));
    let differs = |bound: &Expression| bound.names().iter().any(|name| own.contains(name));
    match &statement.kind {
        StatementKind::While { .. } => true,
        StatementKind::For { begin, end, step, body, .. } => {
            begin.iter().chain([end]).chain(step).any(differs) || any(body)
        }
        StatementKind::If { branches, otherwise } => {
            branches.iter().any(|(_, block)| any(block)) || any(otherwise)
        }
        StatementKind::Assign { .. } | StatementKind::Augmented { .. } | StatementKind::Pass => false,
    }
}
