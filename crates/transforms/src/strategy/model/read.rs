//! Reading the operations of a state: top-level maps, reductions, tasklets and copies, at known sizes.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::analysis::cost::{Quantity, Work};
use sdfg::analysis::{Costs, ScopeTree, connector_edges, is_leaf};
use sdfg::ir::{
    Access, ConflictResolution, Container, ContainerId, ContainerKind, EdgeId, Flow, Lifetime, NestedSdfg,
    NodeId, NodeKind, Sdfg, State, StateId, Volume,
};
use sdfg::subset::Range;
use sdfg::symbolic::{Expr, Symbol};
use sdfg::tasklet::Direction;

use super::binding::Binding;
use super::error::ModelError;
use super::index::{Parameters, index};
use super::operator::{Index, Operand, Operator};

/// The largest number that the model computes with; larger ones are not exact as costs.
const LARGEST: u64 = 1 << 53;

/// A program, or one call of a nested SDFG: what its symbols and containers stand for.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) sdfg: &'a Sdfg,
    /// Symbols that have a value.
    pub(super) values: BTreeMap<Symbol, Expr>,
    /// Labels of the calls around it, each a state and a node.
    pub(super) path: Vec<String>,
    /// Containers that are parts of others; all else has a storage of its own.
    pub(super) bound: BTreeMap<ContainerId, Binding>,
}

/// Reads the states of a call.
pub(super) struct Reader<'a> {
    pub(super) sdfg: &'a Sdfg,
    pub(super) values: BTreeMap<Symbol, Expr>,
    path: Vec<String>,
    bindings: BTreeMap<ContainerId, Binding>,
    costs: Costs,
    /// Where the model is not exact, and in what.
    pub(super) approximations: Vec<String>,
}

/// What a state does at its top level.
pub(super) enum Step<'a> {
    Operator(Operator),
    Call(Call<'a>),
}

/// A state that is read, with its scopes.
struct Scene<'a> {
    id: StateId,
    state: &'a State,
    tree: ScopeTree,
}

impl<'a> Reader<'a> {
    /// A reader of a call. Names of storages are added for its containers that have one of their own.
    pub(super) fn new(call: Call<'a>, storages: &mut Vec<Vec<String>>) -> Self {
        let Call { sdfg, values, path, bound: bindings } = call;
        let mut reader =
            Reader { sdfg, values, path, bindings, costs: Costs::of(sdfg), approximations: Vec::new() };
        for (id, container) in sdfg.containers() {
            if !reader.bindings.contains_key(&id) {
                let extents = reader.extents(container);
                storages.push(reader.path.iter().chain([&container.name]).cloned().collect());
                reader
                    .bindings
                    .insert(id, Binding::new(storages.len() - 1, container.shape().len(), extents));
            }
        }
        reader
    }

    /// A place in the call, for people.
    pub(super) fn at<const N: usize>(&self, labels: [&str; N]) -> String {
        let around = self.path.iter().map(String::as_str);
        around.chain(labels).collect::<Vec<_>>().join(".")
    }

    /// What a state does, in an order in which it may be done.
    pub(super) fn steps(&mut self, id: StateId) -> Result<Vec<Step<'a>>, ModelError> {
        let state = self.sdfg.state(id);
        let scene = Scene { id, state, tree: ScopeTree::of(state) };
        let mut found = Vec::new();
        for node in state.topological_order().unwrap_or_default() {
            if scene.tree.scope_of(node).is_some() {
                continue;
            }
            let content = state.node(node);
            let place = self.at([&state.label, &content.label]);
            let refused =
                |what: String, instead| Err(ModelError::Unsupported { place: place.clone(), what, instead });
            match &content.kind {
                NodeKind::MapEntry(_) | NodeKind::Tasklet(_) => {
                    found.push(Step::Operator(self.scope(&scene, node, &place)?));
                }
                NodeKind::Reduce(_) => found.push(Step::Operator(self.reduction(&scene, node, &place)?)),
                NodeKind::Access(_) => {
                    for edge in state.in_edges(node) {
                        if let Flow::Copy { from, to, resolution: None } = &state.edge(edge).memlet.flow
                            && matches!(state.node(state.edge(edge).src).kind, NodeKind::Access(_))
                        {
                            found.push(Step::Operator(self.copy(&scene, node, (from, to), &place)?));
                        }
                    }
                }
                NodeKind::MapExit(_) | NodeKind::ConsumeExit(_) => {}
                NodeKind::ConsumeEntry(_) => {
                    return refused(
                        "a consume scope".to_owned(),
                        "what is in a stream, and who takes it, is only known when the program runs; write it as a map",
                    );
                }
                NodeKind::Nested(nested) => found.push(Step::Call(self.call(&scene, node, nested, &place)?)),
                NodeKind::Library(library) => {
                    return refused(format!("library node `{}`", library.operation), "expand it first");
                }
            }
        }
        Ok(found)
    }

    /// A call of a nested SDFG outside of maps: its containers are parts of ours.
    fn call(
        &mut self,
        scene: &Scene<'a>,
        node: NodeId,
        nested: &'a NestedSdfg,
        place: &str,
    ) -> Result<Call<'a>, ModelError> {
        let state = scene.state;
        let mut values = self.values.clone();
        for (symbol, expression) in &nested.symbol_mapping {
            match self.number(expression, place) {
                Ok(value) => values.insert(symbol.clone(), Expr::int(value)),
                Err(_) => values.remove(symbol),
            };
        }
        let mut bound = BTreeMap::new();
        let inputs = nested.inputs.iter().map(|connector| (Direction::In, connector));
        for (direction, connector) in
            inputs.chain(nested.outputs.iter().map(|connector| (Direction::Out, connector)))
        {
            let edge = connector_edges(state, node, direction, &connector.name).first().copied();
            let memlet = edge.map(|edge| &state.edge(edge).memlet);
            let access = memlet.and_then(|memlet| memlet.read_access().or_else(|| memlet.write_access()));
            match (nested.sdfg.find_container(&connector.name), access) {
                (Some(inner), Some(access)) => {
                    self.check_kind(access.container, place)?;
                    let rank = nested.sdfg.container(inner).shape().len();
                    let numbers = |range: &Range| {
                        let (begin, step, _) = self.numbers(range, place).ok()?;
                        Some((begin, step))
                    };
                    let binding = self.bindings[&access.container].part(&access.subset().0, rank, numbers);
                    if binding.is_vague() {
                        let what = format!(
                            "`{}` inside is `{}[{}]`, of another shape or elsewhere each time; all of a dimension is accessed",
                            connector.name,
                            self.sdfg.container(access.container).name,
                            access.subset()
                        );
                        self.approximate(place, &what);
                    }
                    bound.insert(inner, binding);
                }
                // A value from a tasklet is nobody else's; a symbol's value is data.
                (Some(_), None) => {}
                (None, _) => values.retain(|symbol, _| symbol.as_str() != connector.name),
            }
        }
        let mut path = self.path.clone();
        path.extend([state.label.clone(), state.node(node).label.clone()]);
        Ok(Call { sdfg: &nested.sdfg, values, path, bound })
    }

    /// An operation without iterations and accesses.
    fn operator(&self, scene: &Scene<'_>, node: NodeId, kind: &'static str) -> Operator {
        let labels = [&scene.state.label, &scene.state.node(node).label];
        let mut path = self.path.clone();
        path.extend(labels.map(String::clone));
        Operator {
            name: self.at(labels.map(String::as_str)),
            path,
            kind,
            domain: Vec::new(),
            parameters: Vec::new(),
            work: 0,
            reads: Vec::new(),
            writes: Vec::new(),
        }
    }

    /// A map, or a tasklet outside of maps.
    fn scope(&mut self, scene: &Scene<'_>, node: NodeId, place: &str) -> Result<Operator, ModelError> {
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
            if let Some(access) =
                content.memlet.read_access().filter(|access| !self.is_private(access.container))
            {
                let (operand, indices) = self.operand(access, &parameters, &operator.domain, place)?;
                join(&mut operator.reads, operand, indices);
            }
            if let Some(access) =
                content.memlet.write_access().filter(|access| !self.is_private(access.container))
            {
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
        let mut operator = self.operator(scene, node, "Reduce");
        let (domain, reads) = self.passed(from, place)?;
        let kept: Vec<usize> = (0..domain.len()).filter(is_kept).collect();
        let written = self.paired(to, &domain, &kept, place)?;
        let combining = Some(self.combining(&reduce.resolution, to.container, place)?);
        let (operand, written) = self.located(to, &written, &domain, place)?;
        let (source, reads) = self.located(from, &reads, &domain, place)?;
        join(&mut operator.reads, source, reads);
        if reduce.identity.is_none() {
            join(&mut operator.reads, operand.clone(), written.clone());
        }
        join(&mut operator.writes, Operand { combining, ..operand }, written);
        (operator.parameters, operator.domain) = (vec![None; domain.len()], domain);
        let work = self.costs.of_node(scene.id, node).work;
        self.spread(&mut operator, &work, place)?;
        Ok(operator)
    }

    fn copy(
        &mut self,
        scene: &Scene<'_>,
        node: NodeId,
        (from, to): (&Access, &Access),
        place: &str,
    ) -> Result<Operator, ModelError> {
        let (sizes, _) = self.passed(from, place)?;
        let domain: Vec<u64> = sizes.into_iter().filter(|size| *size != 1).collect();
        let all: Vec<usize> = (0..domain.len()).collect();
        let (read, written) =
            (self.paired(from, &domain, &all, place)?, self.paired(to, &domain, &all, place)?);
        let mut operator = self.operator(scene, node, "Copy");
        let (source, read) = self.located(from, &read, &domain, place)?;
        let (target, written) = self.located(to, &written, &domain, place)?;
        join(&mut operator.reads, source, read);
        join(&mut operator.writes, target, written);
        (operator.parameters, operator.domain) = (vec![None; domain.len()], domain);
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

    /// What an access in a map touches.
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

    /// A storage without accesses, and the indices in it of an access with these indices.
    fn located(
        &mut self,
        access: &Access,
        indices: &[Index],
        domain: &[u64],
        place: &str,
    ) -> Result<(Operand, Vec<Index>), ModelError> {
        self.check_kind(access.container, place)?;
        let container = self.sdfg.container(access.container);
        let binding = &self.bindings[&access.container];
        let indices = binding.indices(indices, domain);
        let operand = Operand {
            storage: binding.storage,
            element_bytes: container.element.size() as u64,
            extents: binding.extents.clone()?,
            accesses: Vec::new(),
            combining: None,
        };
        if repeats_a_parameter(&indices) {
            let what = format!(
                "`{}[{}]` is a diagonal; its bounding box is accessed",
                container.name,
                access.subset()
            );
            self.approximate(place, &what);
        }
        Ok((operand, indices))
    }

    /// Whether what lies in a container is known.
    fn check_kind(&self, container: ContainerId, place: &str) -> Result<(), ModelError> {
        let container = self.sdfg.container(container);
        let (what, instead) = match &container.kind {
            ContainerKind::Scalar | ContainerKind::Array(_) => return Ok(()),
            ContainerKind::Stream { .. } => (
                "stream",
                "who takes which element is only known when the program runs; access arrays instead",
            ),
            ContainerKind::View(_) => ("view", "access what it views instead"),
            ContainerKind::Reference(_) => {
                ("reference", "what it names is only known when the program runs; access arrays instead")
            }
        };
        let (place, what) = (place.to_owned(), format!("{what} `{}`", container.name));
        Err(ModelError::Unsupported { place, what, instead })
    }

    fn extents(&self, container: &Container) -> Result<Vec<u64>, ModelError> {
        let place = format!("container {}", self.at([&container.name]));
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

    pub(super) fn approximate(&mut self, place: &str, what: &str) {
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
        Index::Moving | Index::Whole => false,
    })
}

/// Adds an access to the operand of the same container.
fn join(operands: &mut Vec<Operand>, operand: Operand, indices: Vec<Index>) {
    let same = operands.iter().position(|one| one.storage == operand.storage);
    let at = same.unwrap_or_else(|| {
        operands.push(operand.clone());
        operands.len() - 1
    });
    operands[at].combining = operands[at].combining.or(operand.combining);
    if !operands[at].accesses.contains(&indices) {
        operands[at].accesses.push(indices);
    }
}
