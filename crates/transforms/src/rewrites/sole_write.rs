//! The single memlet through which maps write a container, and the parts that it writes.

use sdfg::analysis::symbols::{bound_symbols, scope_parameters};
use sdfg::analysis::{ScopeTree, leaf_edges, memlet_path};
use sdfg::ir::{
    Access, ConflictResolution, ContainerId, EdgeId, Flow, NodeId, NodeKind, State, Tasklet, Volume,
};
use sdfg::subset::{Approx, Range, Subset};
use sdfg::symbolic::{Assumptions, Expr, Symbol};

use crate::engine::Refusal;

/// A write of one element by a tasklet, in every iteration of the maps around it.
pub(super) struct SoleWrite<'p> {
    /// The segments from the tasklet to the outside.
    pub(super) path: Vec<EdgeId>,
    /// The tasklet.
    pub(super) node: NodeId,
    /// Its code.
    pub(super) tasklet: &'p Tasklet,
    /// The element.
    pub(super) access: &'p Access,
    /// How it is combined with what is there.
    pub(super) resolution: Option<&'p ConflictResolution>,
    /// Entries of the maps that the path leaves, the outermost first.
    pub(super) entries: Vec<NodeId>,
    /// Parameters of these maps with their ranges, the outermost first.
    pub(super) parameters: Vec<(Symbol, Range)>,
}

impl<'p> SoleWrite<'p> {
    /// The write behind an edge: out of a tasklet, or out of the exit of a map.
    ///
    /// # Errors
    /// [`Refusal::Structure`] if there are several, if it is not that of a tasklet in maps, or of one element in each iteration.
    pub(super) fn behind(state: &'p State, tree: &ScopeTree, outside: EdgeId) -> Result<Self, Refusal> {
        let label = |node: NodeId| state.node(node).label.as_str();
        let src = state.edge(outside).src;
        let [leaf] = leaf_edges(state, outside)[..] else {
            return Err(Refusal::structure(label(src), "writes the container in several places"));
        };
        let content = state.edge(leaf);
        let NodeKind::Tasklet(tasklet) = &state.node(content.src).kind else {
            return Err(Refusal::structure(label(content.src), "is no tasklet"));
        };
        let Flow::Write { to, resolution } = &content.memlet.flow else {
            return Err(Refusal::structure(label(content.src), "does not simply write the container"));
        };
        let is_one = matches!(&content.memlet.volume, Volume::Exact(volume) if volume.is_one());
        if to.is_queue() || !to.subset().is_element() || !is_one {
            let reason = "does not write one element in each iteration";
            return Err(Refusal::structure(label(content.src), reason));
        }
        let end = tree.scope_of_edge(state, outside);
        let around = tree.enclosing_scope(tree.scope_of(content.src));
        let mut entries: Vec<NodeId> = around.take_while(|entry| Some(*entry) != end).collect();
        entries.reverse();
        let mut parameters: Vec<(Symbol, Range)> = Vec::new();
        for entry in &entries {
            let own = scope_parameters(state, *entry);
            let names: Vec<Symbol> = own.iter().map(|(symbol, _)| symbol.clone()).collect();
            if !matches!(state.node(*entry).kind, NodeKind::MapEntry(_)) {
                return Err(Refusal::structure(label(*entry), "is no map"));
            }
            if bound_symbols(state, *entry) != names {
                return Err(Refusal::structure(label(*entry), "gets symbols from data"));
            }
            if let Some(name) = names.iter().find(|name| parameters.iter().any(|(other, _)| other == *name)) {
                let reason = format!("has the parameter `{name}` of a map around it");
                return Err(Refusal::structure(label(*entry), reason));
            }
            parameters.extend(own);
        }
        let mut path = memlet_path(state, leaf);
        if let Some(last) = path.iter().position(|segment| *segment == outside) {
            path.truncate(last + 1);
        }
        Ok(SoleWrite {
            path,
            node: content.src,
            tasklet,
            access: to,
            resolution: resolution.as_ref(),
            entries,
            parameters,
        })
    }

    /// The container.
    pub(super) fn container(&self) -> ContainerId {
        self.access.container
    }

    /// The elements that all iterations write, if they are known exactly.
    pub(super) fn part(&self, known: &Assumptions) -> Option<Subset> {
        self.image(&self.parameters, known)
    }

    /// As [`part`](SoleWrite::part), of the iterations with one value of a parameter.
    pub(super) fn part_with(&self, fixed: &Symbol, value: &Expr, known: &Assumptions) -> Option<Subset> {
        let values = [(fixed.clone(), value.clone())].into_iter().collect();
        let moving = self.parameters.iter().filter(|(symbol, _)| symbol != fixed);
        let moving: Vec<(Symbol, Range)> =
            moving.map(|(symbol, range)| (symbol.clone(), range.substitute(&values))).collect();
        self.image(&moving, known)
    }

    fn image(&self, moving: &[(Symbol, Range)], known: &Assumptions) -> Option<Subset> {
        match self.access.subset().image(moving, known)? {
            Approx::Exact(part) => Some(part),
            Approx::Over(_) => None,
        }
    }

    /// Whether different values of some of the parameters name different elements, whatever the others are: each of them alone
    /// moves a dimension of its own, by a constant.
    pub(super) fn tells_apart(&self, parameters: &[Symbol]) -> bool {
        let all: Vec<&Symbol> = self.parameters.iter().map(|(symbol, _)| symbol).collect();
        let moves = |range: &Range, symbol: &Symbol| {
            let used = range.begin.free_symbols();
            used.contains(symbol) && all.iter().filter(|other| used.contains(**other)).count() == 1 && {
                let next =
                    [(symbol.clone(), &Expr::symbol(symbol.clone()) + &Expr::one())].into_iter().collect();
                let step = &range.begin.substitute(&next) - &range.begin;
                step.as_int().is_some_and(|step| step != 0)
            }
        };
        parameters.iter().all(|symbol| self.access.subset().0.iter().any(|range| moves(range, symbol)))
    }
}
