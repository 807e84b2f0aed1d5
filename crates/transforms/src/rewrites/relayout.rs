//! [`Relayout`].

use sdfg::analysis::Use;
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{ContainerId, ContainerKind, Flow, Layout, NodeId, NodeKind, State, TaskletBody};
use sdfg::symbolic::Expr;
use serde::{Deserialize, Serialize};

use super::{Size, anchored, described};
use crate::engine::{
    Claim, Evidence, Group, Match, Metadata, Parameter, Refusal, Site, Soundness, Transformation,
};
use crate::pattern::{NodeClass, Pattern};

/// Puts the elements of a transient into another order in memory, or leaves room between rows.
///
/// Indices stay as they are: only the strides of the container change. `order` lists the dimensions from the one whose
/// neighbours are furthest apart to the one whose neighbours adjoin, so that `[1, 0]` stores a matrix by columns. `padding` is
/// the number of unused elements behind each run of the last of these dimensions.
///
/// It applies to packed arrays that are transients and that no view, reference, nested SDFG, library node or external function
/// sees: these have the strides, too. Everything else names elements by their indices.
///
/// ```sdft
/// sdfg before {
///   symbol N: i64
///   array A: f64[N, N]
///   transient array T: f64[N, N]
///
///   state s {
///     access A
///     access T
///     A -> T: A[0:N, 0:N] -> T[0:N, 0:N]
///   }
/// }
/// ```
///
/// ```sdft
/// sdfg before {
///   symbol N: i64
///   array A: f64[N, N]
///   transient array T: f64[N, N] strides(1, N)
///
///   state s {
///     access A
///     access T
///     A -> T: A[0:N, 0:N] -> T[0:N, 0:N]
///   }
/// }
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Relayout {
    /// The dimensions from the outermost in memory to the innermost; empty reverses them.
    pub order: Vec<usize>,
    /// Unused elements behind each run of the innermost dimension.
    pub padding: Size,
}

impl Default for Relayout {
    fn default() -> Self {
        Relayout { order: Vec::new(), padding: Size::from(0) }
    }
}

static METADATA: Metadata = Metadata {
    name: "Relayout",
    group: Group::Data,
    summary: "Puts the elements of a transient into another order in memory.",
    source: "paper, sections 6.2 (packing) and 6.4",
    soundness: Soundness::Always,
    is_strict: false,
    file: include_str!("relayout.rs"),
    parameters: &[
        Parameter {
            name: "order",
            ty: "list of integers",
            default: Some("[]"),
            summary: "The dimensions from the outermost in memory to the innermost; empty reverses them.",
        },
        Parameter {
            name: "padding",
            ty: "integer or expression",
            default: Some("0"),
            summary: "Unused elements behind each run of the innermost dimension.",
        },
    ],
};

anchored!(Relayout);

impl Relayout {
    /// The order of dimensions in memory.
    fn order(&self, rank: usize) -> Option<Vec<usize>> {
        if self.order.is_empty() {
            return Some((0..rank).rev().collect());
        }
        let mut sorted = self.order.clone();
        sorted.sort_unstable();
        (sorted == (0..rank).collect::<Vec<_>>()).then(|| self.order.clone())
    }

    fn layout(&self, layout: &Layout) -> Option<Layout> {
        let mut new = layout.clone();
        let mut distance = Expr::one();
        for (position, at) in self.order(layout.shape.len())?.into_iter().rev().enumerate() {
            new.strides[at] = distance.clone();
            let room = if position == 0 { self.padding.0.clone() } else { Expr::zero() };
            distance = &distance * &(&layout.shape[at] + &room);
        }
        new.total_size = distance;
        Some(new)
    }
}

impl Transformation for Relayout {
    described!(METADATA);

    fn pattern(&self) -> Pattern {
        Pattern::path([("access", NodeClass::Access)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let Some(id) = site.state().node(site.found.node(0)).kind.container() else {
            return Err(Refusal::structure(site.label(0), "is no access node"));
        };
        let container = site.sdfg.container(id);
        let name = container.name.as_str();
        let ContainerKind::Array(layout) = &container.kind else {
            return Err(Refusal::container(name, "is no array"));
        };
        if !container.transient || container.constant.is_some() || !layout.is_packed() {
            return Err(Refusal::container(name, "is no packed transient"));
        }
        let Some(new) = self.layout(layout) else {
            let reason = format!("it is no order of the {} dimensions of `{name}`", layout.shape.len());
            return Err(Refusal::Parameter { parameter: "order", reason });
        };
        if new == *layout {
            return Err(Refusal::container(name, "has this layout already"));
        }
        // The size is that of a container of the program.
        let Size(padding) = &self.padding;
        if let Some(symbol) =
            padding.free_symbols().into_iter().find(|symbol| site.sdfg.symbol_type(symbol).is_none())
        {
            let reason = format!("`{symbol}` is no symbol of the program");
            return Err(Refusal::Parameter { parameter: "padding", reason });
        }
        if !padding.is_nonnegative(&site.known_in(None)).is_proved() {
            let reason = format!("it is not proved that {padding} is not negative");
            return Err(Refusal::Parameter { parameter: "padding", reason });
        }
        for used in site.uses().of(id) {
            let Use::Memlet(state, edge) = *used else { continue };
            let graph = site.sdfg.state(state);
            let found = graph.edge(edge);
            if matches!(found.memlet.flow, Flow::Bind(_)) {
                return Err(Refusal::container(name, "has a view or reference"));
            }
            if let Some(node) = [found.src, found.dst].into_iter().find(|node| sees_strides(graph, *node)) {
                let label = &graph.node(node).label;
                return Err(Refusal::container(name, format!("is passed to `{label}` with its strides")));
            }
        }
        let mut evidence = Evidence::default();
        evidence.note(name, Claim::Positive(padding + &Expr::one()));
        Ok(evidence)
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, node) = (found.state(), found.node(0));
        let id: Option<ContainerId> = editor.state(state)?.node(node).kind.container();
        let id = id.ok_or(EditError::NoNode(node))?;
        let layout = editor.sdfg().container(id).kind.layout().and_then(|layout| self.layout(layout));
        let layout = layout.ok_or(EditError::NoNode(node))?;
        editor.change_container(id, |container| container.kind = ContainerKind::Array(layout))
    }
}

/// Whether a node gets memory with its strides.
pub(super) fn sees_strides(state: &State, node: NodeId) -> bool {
    match &state.node(node).kind {
        NodeKind::Nested(_) | NodeKind::Library(_) => true,
        NodeKind::Tasklet(tasklet) => matches!(tasklet.body, TaskletBody::External(_)),
        NodeKind::Access(_)
        | NodeKind::MapEntry(_)
        | NodeKind::MapExit(_)
        | NodeKind::ConsumeEntry(_)
        | NodeKind::ConsumeExit(_)
        | NodeKind::Reduce(_) => false,
    }
}
