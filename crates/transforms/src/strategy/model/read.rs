//! Reading the operations of a state: top-level maps, reductions, tasklets and copies, at known sizes.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::analysis::cost::{Quantity, Work};
use sdfg::analysis::{Costs, ScopeTree, is_leaf};
use sdfg::ir::{
    Access, ConflictResolution, Container, ContainerId, ContainerKind, EdgeId, Flow, Lifetime, NodeId,
    NodeKind, Sdfg, State, StateId, Volume,
};
use sdfg::subset::Range;
use sdfg::symbolic::{Expr, Symbol};

use super::error::ModelError;
use super::index::{Parameters, index};
use super::operator::{Index, Operand, Operator};

/// The largest number that the model computes with; larger ones are not exact as costs.
const LARGEST: u64 = 1 << 53;

/// A program at given values of its symbols.
pub(super) struct Reader<'a> {
    pub(super) sdfg: &'a Sdfg,
    pub(super) values: BTreeMap<Symbol, Expr>,
    costs: Costs,
    /// Where the model is not exact, and in what.
    pub(super) approximations: Vec<String>,
}

/// A state that is read, with its scopes.
struct Scene<'a> {
    id: StateId,
    state: &'a State,
    tree: ScopeTree,
}

impl<'a> Reader<'a> {
    pub(super) fn new(sdfg: &'a Sdfg, values: &BTreeMap<Symbol, i64>) -> Self {
        let values = values.iter().map(|(symbol, value)| (symbol.clone(), Expr::int(*value))).collect();
        Reader { sdfg, values, costs: Costs::of(sdfg), approximations: Vec::new() }
    }

    /// The operations of a state in an order in which they may run.
    pub(super) fn operators(&mut self, id: StateId) -> Result<Vec<Operator>, ModelError> {
        let state = self.sdfg.state(id);
        let scene = Scene { id, state, tree: ScopeTree::of(state) };
        let mut found = Vec::new();
        for node in state.topological_order().unwrap_or_default() {
            if scene.tree.scope_of(node).is_some() {
                continue;
            }
            let content = state.node(node);
            let place = format!("{}.{}", state.label, content.label);
            let expand = "expand or inline it first";
            let refused =
                |what: String, instead| Err(ModelError::Unsupported { place: place.clone(), what, instead });
            match &content.kind {
                NodeKind::MapEntry(_) | NodeKind::Tasklet(_) => found.push(self.scope(&scene, node, &place)?),
                NodeKind::Reduce(_) => found.push(self.reduction(&scene, node, &place)?),
                NodeKind::Access(_) => {
                    for edge in state.in_edges(node) {
                        if let Flow::Copy { from, to, resolution: None } = &state.edge(edge).memlet.flow
                            && matches!(state.node(state.edge(edge).src).kind, NodeKind::Access(_))
                        {
                            found.push(self.copy(from, to, &place)?);
                        }
                    }
                }
                NodeKind::MapExit(_) | NodeKind::ConsumeExit(_) => {}
                NodeKind::ConsumeEntry(_) => {
                    return refused("a consume scope".to_owned(), "its work depends on data");
                }
                NodeKind::Nested(_) => return refused("a nested SDFG".to_owned(), expand),
                NodeKind::Library(library) => {
                    return refused(format!("library node `{}`", library.operation), expand);
                }
            }
        }
        Ok(found)
    }

    /// A map, or a tasklet outside of maps.
    fn scope(&mut self, scene: &Scene<'_>, node: NodeId, place: &str) -> Result<Operator, ModelError> {
        let state = scene.state;
        let mut domain = Vec::new();
        if let NodeKind::MapEntry(map) = &state.node(node).kind {
            for range in &map.ranges.0 {
                domain.push(self.numbers(range, place)?.2);
            }
        }
        let is_map = matches!(state.node(node).kind, NodeKind::MapEntry(_));
        let mut operator = Operator {
            name: place.to_owned(),
            kind: if is_map { "Map" } else { "Tasklet" },
            work: 0,
            domain,
            reads: Vec::new(),
            writes: Vec::new(),
        };
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
            if let Some(access) =
                content.memlet.read_access().filter(|access| !self.is_private(access.container))
            {
                let (operand, indices) = self.operand(access, &parameters, place)?;
                join(&mut operator.reads, operand, indices);
            }
            if let Some(access) =
                content.memlet.write_access().filter(|access| !self.is_private(access.container))
            {
                let (mut operand, indices) = self.operand(access, &parameters, place)?;
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

    fn reduction(&mut self, scene: &Scene<'_>, node: NodeId, place: &str) -> Result<Operator, ModelError> {
        let state = scene.state;
        let ends = (state.in_edges(node), state.out_edges(node));
        let flow = |edges: &[EdgeId]| edges.first().map(|edge| state.edge(*edge).memlet.clone());
        let NodeKind::Reduce(reduce) = &state.node(node).kind else { return Err(unpaired(place)) };
        let (Some(input), Some(output)) = (flow(&ends.0), flow(&ends.1)) else { return Err(unpaired(place)) };
        let (Some(from), Some(to)) = (input.read_access(), output.write_access()) else {
            return Err(unpaired(place));
        };
        let is_kept = |axis: &usize| reduce.axes.as_ref().is_some_and(|axes| !axes.contains(axis));
        let (domain, reads) = self.passed(from, place)?;
        let kept: Vec<usize> = (0..domain.len()).filter(is_kept).collect();
        let written = self.paired(to, &domain, &kept, place)?;
        let (operand, _) = self.operand(to, &Parameters::default(), place)?;
        let combining = Some(self.combining(&reduce.resolution, to.container, place)?);
        let mut operator = Operator {
            name: place.to_owned(),
            kind: "Reduce",
            domain,
            work: 0,
            reads: Vec::new(),
            writes: Vec::new(),
        };
        let (source, _) = self.operand(from, &Parameters::default(), place)?;
        join(&mut operator.reads, source, reads);
        if reduce.identity.is_none() {
            join(&mut operator.reads, operand.clone(), written.clone());
        }
        join(&mut operator.writes, Operand { combining, ..operand }, written);
        let work = self.costs.of_node(scene.id, node).work;
        self.spread(&mut operator, &work, place)?;
        Ok(operator)
    }

    fn copy(&mut self, from: &Access, to: &Access, place: &str) -> Result<Operator, ModelError> {
        let (sizes, _) = self.passed(from, place)?;
        let long: Vec<usize> = (0..sizes.len()).filter(|dimension| sizes[*dimension] != 1).collect();
        let domain: Vec<u64> = long.iter().map(|dimension| sizes[*dimension]).collect();
        let all: Vec<usize> = (0..domain.len()).collect();
        let (read, written) =
            (self.paired(from, &domain, &all, place)?, self.paired(to, &domain, &all, place)?);
        let mut operator = Operator {
            name: place.to_owned(),
            kind: "Copy",
            domain,
            work: 0,
            reads: Vec::new(),
            writes: Vec::new(),
        };
        let (source, _) = self.operand(from, &Parameters::default(), place)?;
        let (target, _) = self.operand(to, &Parameters::default(), place)?;
        join(&mut operator.reads, source, read);
        join(&mut operator.writes, target, written);
        Ok(operator)
    }

    /// A domain that passes through all of a subset, a dimension for each of its own.
    fn passed(&self, access: &Access, place: &str) -> Result<(Vec<u64>, Vec<Index>), ModelError> {
        let (mut domain, mut indices) = (Vec::new(), Vec::new());
        for (dimension, range) in access.subset().0.iter().enumerate() {
            let (start, step, n) = self.numbers(range, place)?;
            domain.push(n);
            indices.push(Index::Affine { start, parameters: vec![(dimension, step)], within: Vec::new() });
        }
        Ok((domain, indices))
    }

    /// Indices of a subset whose dimensions are those of a domain that are chosen, in their order; dimensions of size 1 may
    /// be missing or more.
    fn paired(
        &self,
        access: &Access,
        domain: &[u64],
        chosen: &[usize],
        place: &str,
    ) -> Result<Vec<Index>, ModelError> {
        let mut waiting = chosen.iter().filter(|dimension| domain[**dimension] != 1);
        let mut indices = Vec::new();
        for range in &access.subset().0 {
            let (start, step, n) = self.numbers(range, place)?;
            let parameters = if n == 1 {
                Vec::new()
            } else {
                let dimension = waiting.next().filter(|dimension| domain[**dimension] == n);
                vec![(*dimension.ok_or_else(|| unpaired(place))?, step)]
            };
            indices.push(Index::Affine { start, parameters, within: Vec::new() });
        }
        if waiting.next().is_some() { Err(unpaired(place)) } else { Ok(indices) }
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

    /// A container without accesses, and the indices of this access.
    fn operand(
        &mut self,
        access: &Access,
        parameters: &Parameters,
        place: &str,
    ) -> Result<(Operand, Vec<Index>), ModelError> {
        let container = self.sdfg.container(access.container);
        let what = match &container.kind {
            ContainerKind::Scalar | ContainerKind::Array(_) => None,
            ContainerKind::Stream { .. } => Some("stream"),
            ContainerKind::View(_) => Some("view"),
            ContainerKind::Reference(_) => Some("reference"),
        };
        if let Some(what) = what {
            let (place, what) = (place.to_owned(), format!("{what} `{}`", container.name));
            return Err(ModelError::Unsupported { place, what, instead: "access arrays instead" });
        }
        let extents = self.extents(container)?;
        let mut indices = Vec::new();
        for range in &access.subset().0 {
            let found = index(range, &self.values, parameters);
            if found == Index::Whole {
                let name = &container.name;
                self.approximate(
                    place,
                    &format!("`{name}[{}]` is not affine; all of a dimension is accessed", access.subset()),
                );
            }
            indices.push(found);
        }
        if repeats_a_parameter(&indices) {
            self.approximate(
                place,
                &format!(
                    "`{}[{}]` is a diagonal; its bounding box is accessed",
                    container.name,
                    access.subset()
                ),
            );
        }
        let element_bytes = container.element.size() as u64;
        let operand = Operand {
            container: access.container,
            element_bytes,
            extents,
            accesses: Vec::new(),
            combining: None,
        };
        Ok((operand, indices))
    }

    fn extents(&self, container: &Container) -> Result<Vec<u64>, ModelError> {
        let place = format!("container {}", container.name);
        let mut extents = Vec::new();
        for extent in container.shape() {
            extents.push(self.number(extent, &place)?.max(0) as u64);
        }
        bounded(&extents, container.element.size() as u64, &place, "its size in bytes")?;
        Ok(extents)
    }

    /// Where ranks combine parts of results, they need whole blocks in common.
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
                    Index::Whole => true,
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
    fn spread(&mut self, operator: &mut Operator, work: &Work, place: &str) -> Result<(), ModelError> {
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

    fn combining(
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
        Ok(self.number(&quantity.known, place)?.max(0) as u64)
    }

    /// Begin, step and number of steps of a range of numbers.
    fn numbers(&self, range: &Range, place: &str) -> Result<(i64, i64, u64), ModelError> {
        if !range.tile.is_one() {
            let (place, what) = (place.to_owned(), format!("the tiled range `{range}`"));
            return Err(ModelError::Unsupported { place, what, instead: "write the tiles as a dimension" });
        }
        let n = self.number(&range.count(), place)?;
        let n = bounded(&[n.max(0) as u64], 1, place, "the length of a range")?;
        Ok((self.number(&range.begin, place)?, self.number(&range.step, place)?, n))
    }

    pub(super) fn number(&self, expression: &Expr, place: &str) -> Result<i64, ModelError> {
        let value = |symbol: &Symbol| self.values.get(symbol).and_then(Expr::as_int);
        expression
            .eval(&value)
            .map_err(|_| ModelError::NoValue { place: place.to_owned(), expression: expression.to_string() })
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

    fn approximate(&mut self, place: &str, what: &str) {
        let note = format!("{place}: {what}");
        if !self.approximations.contains(&note) {
            self.approximations.push(note);
        }
    }
}

/// The product of numbers, if costs can be computed with it.
fn bounded(numbers: &[u64], factor: u64, place: &str, what: &'static str) -> Result<u64, ModelError> {
    let product = numbers.iter().try_fold(factor, |product, n| product.checked_mul(*n));
    let fits = product.filter(|product| *product <= LARGEST && numbers.iter().all(|n| *n <= LARGEST));
    fits.ok_or_else(|| ModelError::TooLarge { place: place.to_owned(), what })
}

fn unpaired(place: &str) -> ModelError {
    let what = "a change of shape".to_owned();
    ModelError::Unsupported { place: place.to_owned(), what, instead: "write it as a map" }
}

/// Whether a dimension of the domain leads through two dimensions of a container.
fn repeats_a_parameter(indices: &[Index]) -> bool {
    let mut seen = BTreeSet::new();
    indices.iter().any(|index| match index {
        Index::Affine { parameters, .. } => parameters.iter().any(|(parameter, _)| !seen.insert(*parameter)),
        Index::Whole => false,
    })
}

/// Adds an access to the operand of the same container.
fn join(operands: &mut Vec<Operand>, operand: Operand, indices: Vec<Index>) {
    let same = operands.iter().position(|one| one.container == operand.container);
    let at = same.unwrap_or_else(|| {
        operands.push(operand.clone());
        operands.len() - 1
    });
    operands[at].combining = operands[at].combining.or(operand.combining);
    if !operands[at].accesses.contains(&indices) {
        operands[at].accesses.push(indices);
    }
}
