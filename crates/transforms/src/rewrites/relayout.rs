//! [`Relayout`].

use sdfg::analysis::{Use, bound_alias, bound_dimensions, is_leaf};
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{
    ContainerId, ContainerKind, EdgeId, Flow, Layout, NodeId, NodeKind, State, StateId, TaskletBody,
};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::Expr;
use serde::{Deserialize, Serialize};

use super::{Size, anchored, described};
use crate::engine::{
    Claim, Evidence, Group, Match, Metadata, Parameter, Refusal, Site, Soundness, Transformation,
};
use crate::pattern::{NodeClass, Pattern};

/// Puts the elements of a transient into another order in memory, leaves room between rows, or divides
/// dimensions into blocks.
///
/// Indices stay as they are: only the strides of the container change. `order` lists the dimensions from the
/// one whose neighbours are furthest apart to the one whose neighbours adjoin, so that `[1, 0]` stores a
/// matrix by columns. `padding` is the number of unused elements behind each run of the last of these
/// dimensions.
///
/// `blocks` divides dimensions, and is a step of its own: `T[i, j]` with `blocks=[4, 4]` becomes
/// `T[i // 4, j // 4, i % 4, j % 4]`, so that a block is one run of memory.
///
/// # When it applies
///
/// The container is a packed array and a transient, and no reference, nested SDFG, library node or external
/// function sees it, because these have the strides, too. A view has the extents of its part, so that its own
/// strides do not count. With `blocks`, all accesses name one index
/// of a dimension with blocks.
///
/// # Refusals
///
/// - The container is an argument, or not packed.
/// - A reference or a view of another shape shows the container, or it is passed to another SDFG or function
///   with its strides.
/// - `order` is no order of the dimensions, or the container has this layout already.
/// - `padding` is not proved to be at least 0, or a size of blocks to be greater than 0.
/// - With `blocks`: an access covers several blocks, or a condition, an assignment or a reduction names a
///   dimension.
///
/// # Before
///
/// ```sdft
/// sdfg store_by_columns {
///   symbol N: i64
///   array A: f64[N, N]
///   transient array T: f64[N, N]
///
///   state s {
///     access A
///     access T
///     A -> T
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg store_by_columns {
///   symbol N: i64
///   array A: f64[N, N]
///   transient array T: f64[N, N] strides(1, N)
///
///   state s {
///     access A
///     access T
///     A -> T
///   }
/// }
/// ```
///
/// # Soundness
///
/// Nodes name elements by their indices, and no index changes except by the division into blocks, which names
/// the same element. Strides of a transient are visible to nothing else.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Relayout {
    /// The dimensions from the outermost in memory to the innermost; empty reverses them.
    pub order: Vec<usize>,
    /// Unused elements behind each run of the innermost dimension.
    pub padding: Size,
    /// The size of blocks in each dimension, from the first; 0 leaves a dimension as it is.
    pub blocks: Vec<Size>,
}

impl Default for Relayout {
    fn default() -> Self {
        Relayout { order: Vec::new(), padding: Size::from(0), blocks: Vec::new() }
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
        Parameter {
            name: "blocks",
            ty: "list of integers or expressions",
            default: Some("[]"),
            summary: "The size of blocks in each dimension; 0 leaves a dimension as it is.",
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

    /// Blocks of these sizes.
    pub fn in_blocks<S: Into<Size>>(blocks: impl IntoIterator<Item = S>) -> Self {
        Relayout { blocks: blocks.into_iter().map(Into::into).collect(), ..Relayout::default() }
    }

    /// The size of the blocks of a dimension.
    fn block(&self, dimension: usize) -> Option<&Expr> {
        self.blocks.get(dimension).map(|Size(size)| size).filter(|size| !size.is_zero())
    }

    fn layout(&self, layout: &Layout) -> Option<Layout> {
        if !self.blocks.is_empty() {
            let number = |(at, extent): (usize, &Expr)| {
                self.block(at).map_or_else(|| extent.clone(), |size| extent.ceil_div(size))
            };
            let mut shape: Vec<Expr> = layout.shape.iter().enumerate().map(number).collect();
            shape.extend((0..layout.shape.len()).filter_map(|at| self.block(at).cloned()));
            return Some(Layout::packed(shape));
        }
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
        self.check_blocks(site, (id, layout.shape.len()))?;
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
                if !self.blocks.is_empty() || !follows_layout(site, state, edge) {
                    let reason = "has a reference, or a view of another shape or whose strides are seen";
                    return Err(Refusal::container(name, reason));
                }
                continue;
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
        let states: Vec<StateId> = editor.sdfg().states().map(|(state, _)| state).collect();
        for state in states.into_iter().filter(|_| !self.blocks.is_empty()) {
            self.divide(editor, state, id, &layout.shape)?;
        }
        editor.change_container(id, |container| container.kind = ContainerKind::Array(layout))
    }
}

impl Relayout {
    /// Refuses blocks of accesses that name more than one index of them, or whose sizes are not positive.
    fn check_blocks(&self, site: &Site<'_>, (id, rank): (ContainerId, usize)) -> Result<(), Refusal> {
        let wrong = |reason: String| Refusal::Parameter { parameter: "blocks", reason };
        if self.blocks.is_empty() {
            return Ok(());
        }
        if !self.order.is_empty() || !self.padding.0.is_zero() {
            return Err(wrong("order and padding are those of another step".to_owned()));
        }
        if self.blocks.len() > rank {
            return Err(wrong(format!("there are {} sizes, and {rank} dimensions", self.blocks.len())));
        }
        let name = &site.sdfg.container(id).name;
        for size in (0..rank).filter_map(|at| self.block(at)) {
            if let Some(symbol) =
                size.free_symbols().into_iter().find(|symbol| site.sdfg.symbol_type(symbol).is_none())
            {
                return Err(wrong(format!("`{symbol}` is no symbol of the program")));
            }
            if !size.is_positive(&site.known_in(None)).is_proved() {
                return Err(wrong(format!("it is not proved that {size} is greater than 0")));
            }
        }
        for used in site.uses().of(id) {
            let (state, edge) = match *used {
                Use::Memlet(state, edge) => (site.sdfg.state(state), edge),
                Use::Access(..) => continue,
                Use::Condition(..) | Use::Block(_) | Use::Transition(_) => {
                    return Err(site.used(id, *used));
                }
            };
            let found = state.edge(edge);
            if let Some(node) = [found.src, found.dst]
                .iter()
                .find(|node| matches!(state.node(**node).kind, NodeKind::Reduce(_)))
            {
                let reason = format!("has axes that `{}` reduces", state.node(*node).label);
                return Err(Refusal::container(name, reason));
            }
            if found.memlet.declared {
                return Err(Refusal::container(name, "has a memlet whose subset is declared"));
            }
            let accesses = found.memlet.accesses().filter(|access| access.container == id);
            let is_whole = |subset: &Subset| {
                subset.0.iter().enumerate().any(|(at, range)| self.block(at).is_some() && !range.is_index())
            };
            for access in accesses.filter(|_| is_leaf(state, edge)) {
                if is_whole(access.subset()) {
                    let reason = format!("is accessed as `[{}]`, over several blocks", access.subset());
                    return Err(Refusal::container(name, reason));
                }
            }
        }
        Ok(())
    }

    /// Lets the memlets of a state name blocks and the elements in them.
    fn divide(
        &self,
        editor: &mut Editor<'_>,
        state: StateId,
        id: ContainerId,
        shape: &[Expr],
    ) -> Result<(), EditError> {
        let graph = editor.state(state)?.clone();
        for (edge, found) in graph.edges() {
            let mut memlet = found.memlet.clone();
            if memlet.accesses().all(|access| access.container != id) {
                continue;
            }
            for access in memlet.accesses_mut().filter(|access| access.container == id) {
                // Memlets outside of scopes are derived again.
                let divided =
                    if is_leaf(&graph, edge) { self.divided(access.subset()) } else { Subset::full(shape) };
                *access.subset_mut() = divided;
            }
            editor.set_memlet(state, edge, memlet)?;
        }
        Ok(())
    }

    fn divided(&self, subset: &Subset) -> Subset {
        let (mut blocks, mut inside) = (Vec::new(), Vec::new());
        for (at, range) in subset.0.iter().enumerate() {
            match self.block(at) {
                Some(size) => {
                    blocks.push(Range::index(range.begin.floor_div(size)));
                    inside.push(Range::index(range.begin.modulo(size)));
                }
                None => blocks.push(range.clone()),
            }
        }
        blocks.extend(inside);
        Subset(blocks)
    }
}

/// Whether an edge binds a view that has the extents of its part, so that its own strides do not count, and that nothing takes
/// for memory with strides.
fn follows_layout(site: &Site<'_>, state: StateId, edge: EdgeId) -> bool {
    let Some((id, part)) = bound_alias(site.sdfg.state(state), edge) else { return false };
    let view = site.sdfg.container(id);
    let extent = |at: &usize| {
        let range = &part.subset().0[*at];
        (range.step.is_one() && range.tile.is_one()).then(|| &range.end - &range.begin)
    };
    let extents: Option<Vec<Option<Expr>>> =
        bound_dimensions(part.subset(), view.shape().len()).map(|kept| kept.iter().map(extent).collect());
    let has_extents = extents.is_some_and(|extents| {
        extents.iter().zip(view.shape()).all(|(extent, own)| extent.as_ref() == Some(own))
    });
    let is_plain = |used: &Use| match *used {
        Use::Memlet(state, edge) => {
            let graph = site.sdfg.state(state);
            let found = graph.edge(edge);
            !matches!(found.memlet.flow, Flow::Bind(_))
                && ![found.src, found.dst].into_iter().any(|node| sees_strides(graph, node))
        }
        Use::Access(..) | Use::Condition(..) | Use::Block(_) | Use::Transition(_) => true,
    };
    matches!(view.kind, ContainerKind::View(_)) && has_extents && site.uses().of(id).iter().all(is_plain)
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
