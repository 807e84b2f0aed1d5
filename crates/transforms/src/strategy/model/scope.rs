//! Maps and tasklets as operations: accesses and work of each iteration.

use sdfg::analysis::cost::{Quantity, Work};
use sdfg::analysis::{ScopeTree, is_leaf};
use sdfg::ir::{Access, ConflictResolution, ContainerId, EdgeId, Lifetime, NodeId, NodeKind, State, Volume};

use super::access::join;
use super::error::ModelError;
use super::index::{Parameters, index};
use super::operator::{Index, Operand, Operator};
use super::read::{LARGEST, Reader, Scene, bounded};

impl Reader<'_> {
    /// A map, or a tasklet outside of maps.
    pub(super) fn scope(
        &mut self,
        scene: &Scene<'_>,
        node: NodeId,
        place: &str,
    ) -> Result<Operator, ModelError> {
        let state = scene.state;
        let is_map = matches!(state.node(node).kind, NodeKind::MapEntry(_));
        let mut operator = self.operator(scene, node, if is_map { "Map" } else { "Tasklet" });
        if let NodeKind::MapEntry(map) = &state.node(node).kind {
            for (symbol, range) in map.params.iter().zip(&map.ranges.0) {
                operator.domain.push(self.numbers(range, place)?.2);
                operator.parameters.push(Some(symbol.to_string()));
            }
        }
        let leaves: Vec<EdgeId> =
            state.edges().map(|(edge, _)| edge).filter(|edge| is_leaf(state, *edge)).collect();
        for edge in leaves {
            let content = state.edge(edge);
            let scope = scene.tree.scope_of_edge(state, edge);
            let around: Vec<NodeId> = scene.tree.enclosing_scope(scope).collect();
            let belongs =
                if is_map { around.contains(&node) } else { content.src == node || content.dst == node };
            if !belongs {
                continue;
            }
            let parameters = self.parameters(state, node, &around, place)?;
            if matches!(content.memlet.volume, Volume::AtMost(_) | Volume::Dynamic) {
                self.approximate(place, "data decide how much of a memlet moves; all of it is counted");
            }
            let accesses = [content.memlet.read_access(), content.memlet.write_access()];
            let through = |access: Option<&Access>| -> Result<Option<Access>, ModelError> {
                let access =
                    access.map(|access| self.through_views(scene, access, scope, place)).transpose()?;
                Ok(access.filter(|access| !self.is_private(access.container)))
            };
            let [read, written] = [through(accesses[0])?, through(accesses[1])?];
            if let Some(access) = &read {
                let (operand, indices) = self.operand(access, &parameters, &operator.domain, place)?;
                join(&mut operator.reads, operand, indices);
            }
            if let Some(access) = &written {
                let (mut operand, indices) = self.operand(access, &parameters, &operator.domain, place)?;
                if let Some(resolution) = content.memlet.resolution() {
                    operand.combining = Some(self.combining(resolution, access.container, place)?);
                    join(
                        &mut operator.reads,
                        Operand { combining: None, ..operand.clone() },
                        indices.clone(),
                    );
                }
                join(&mut operator.writes, operand, indices);
            }
        }
        self.settle(&mut operator, place);
        let work = self.costs.of_node(scene.id, node).work;
        self.spread(&mut operator, &work, place)?;
        Ok(operator)
    }

    /// Symbols of the maps around an edge: those of the operation's own map are its domain, others pass through their
    /// ranges in each iteration.
    fn parameters(
        &mut self,
        state: &State,
        operation: NodeId,
        around: &[NodeId],
        place: &str,
    ) -> Result<Parameters, ModelError> {
        let mut parameters = Parameters::default();
        for entry in around.iter().rev() {
            let NodeKind::MapEntry(map) = &state.node(*entry).kind else { continue };
            for (dimension, (symbol, range)) in map.params.iter().zip(&map.ranges.0).enumerate() {
                match self.numbers(range, place) {
                    Ok(numbers) if *entry == operation => {
                        parameters.domain.insert(symbol.clone(), (dimension, numbers));
                    }
                    Ok(numbers) => {
                        parameters.within.insert(symbol.clone(), numbers);
                    }
                    // The range of an inner map may depend on the outer one; what it indexes is taken as a whole.
                    Err(_) => self.approximate(place, "the range of an inner map changes"),
                }
            }
        }
        Ok(parameters)
    }

    /// Elements that an access in a map touches.
    fn operand(
        &mut self,
        access: &Access,
        parameters: &Parameters,
        domain: &[u64],
        place: &str,
    ) -> Result<(Operand, Vec<Index>), ModelError> {
        let mut indices = Vec::new();
        for range in &access.subset().0 {
            let found = index(range, &self.values, parameters);
            let note = match found {
                Index::Affine { .. } => None,
                Index::Moving => Some("is elsewhere each time; all of a dimension moves between operations"),
                Index::Whole => Some("is not affine; all of a dimension is accessed"),
            };
            if let Some(note) = note {
                let name = &self.sdfg.container(access.container).name;
                self.approximate(place, &format!("`{name}[{}]` {note}", access.subset()));
            }
            indices.push(found);
        }
        self.located(access, &indices, domain, place)
    }

    /// If ranks combine parts of results, they need whole blocks in common.
    fn settle(&mut self, operator: &mut Operator, place: &str) {
        let mut changed = false;
        for operand in operator.writes.iter_mut().filter(|operand| operand.combining.is_some()) {
            for dimension in 0..operand.extents.len() {
                let first = operand.accesses[0][dimension].clone();
                let is_common = operand.accesses.iter().all(|access| access[dimension] == first);
                let is_plain = match &first {
                    Index::Affine { parameters, within, .. } => {
                        parameters.is_empty() || (parameters.len() == 1 && within.is_empty())
                    }
                    Index::Moving | Index::Whole => true,
                };
                if !(is_common && is_plain) {
                    operand.accesses.iter_mut().for_each(|access| access[dimension] = Index::Whole);
                    changed = true;
                }
            }
            operand.accesses.dedup();
        }
        if changed {
            self.approximate(
                place,
                "iterations combine into overlapping parts; all of a dimension is reduced",
            );
        }
    }

    /// Gives each iteration its share of the work of all of them.
    pub(super) fn spread(
        &mut self,
        operator: &mut Operator,
        work: &Work,
        place: &str,
    ) -> Result<(), ModelError> {
        let n_iterations = bounded(&operator.domain, 1, place, "the number of iterations")?;
        let total = self.quantity(&work.total(), place)?;
        if total > LARGEST {
            return Err(ModelError::TooLarge { place: place.to_owned(), what: "the number of operations" });
        }
        operator.work = total.div_ceil(n_iterations.max(1));
        if !total.is_multiple_of(n_iterations.max(1)) {
            self.approximate(place, "iterations differ in work; each is given the mean, rounded up");
        }
        Ok(())
    }

    pub(super) fn combining(
        &mut self,
        resolution: &ConflictResolution,
        container: ContainerId,
        place: &str,
    ) -> Result<u64, ModelError> {
        let element = self.sdfg.container(container).element;
        self.quantity(&Work::of_resolution(resolution, element).total(), place)
    }

    fn quantity(&mut self, quantity: &Quantity, place: &str) -> Result<u64, ModelError> {
        if quantity.unknown {
            self.approximate(place, "some of its work is unknown and not counted");
        } else if quantity.at_most {
            self.approximate(place, "its work is an upper bound");
        }
        Ok(self.mean(&quantity.known, place)?.max(0) as u64)
    }

    /// Whether each iteration has a container of its own.
    fn is_private(&self, container: ContainerId) -> bool {
        let content = self.sdfg.container(container);
        content.transient
            && content.lifetime == Lifetime::Scope
            && self.sdfg.states().all(|(_, state)| {
                let tree = ScopeTree::of(state);
                state.accesses_of(container).all(|node| tree.scope_of(node).is_some())
            })
    }
}
