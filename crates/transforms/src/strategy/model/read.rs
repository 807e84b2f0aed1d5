//! Reads the operations of a state, in a possible order of execution, at known sizes.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::analysis::{Costs, ScopeTree, connector_edges};
use sdfg::ir::{
    Container, ContainerId, ContainerKind, Flow, NestedSdfg, NodeId, NodeKind, Sdfg, State, StateId,
};
use sdfg::path::{Element, ElementPath};
use sdfg::subset::Range;
use sdfg::symbolic::{Expr, Symbol};
use sdfg::tasklet::Direction;

use super::binding::Binding;
use super::error::ModelError;
use super::operator::Operator;

/// The largest number that the model computes with; larger ones are not exact as costs.
pub(super) const LARGEST: u64 = 1 << 53;

/// A program, or one call of a nested SDFG: what its symbols and containers stand for.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) sdfg: &'a Sdfg,
    /// Symbols that have a value.
    pub(super) values: BTreeMap<Symbol, Expr>,
    /// Of symbols that change, a value in the middle.
    pub(super) means: BTreeMap<Symbol, Expr>,
    /// Its place, which is also that of its blocks and containers.
    pub(super) path: ElementPath,
    /// Containers that are parts of others; all else has a storage of its own.
    pub(super) bound: BTreeMap<ContainerId, Binding>,
}

/// Reads the states of a call.
pub(super) struct Reader<'a> {
    pub(super) sdfg: &'a Sdfg,
    pub(super) values: BTreeMap<Symbol, Expr>,
    /// Of the symbols of loops around that change, the values in their middle.
    pub(super) means: BTreeMap<Symbol, Expr>,
    path: ElementPath,
    pub(super) bindings: BTreeMap<ContainerId, Binding>,
    /// Containers that have a storage of their own.
    own: BTreeSet<ContainerId>,
    pub(super) costs: Costs,
    /// Approximations of the model, with their places.
    pub(super) approximations: Vec<String>,
}

/// Operations of a state at its top level.
pub(super) enum StateStep<'a> {
    Operator(Operator),
    Call(Call<'a>),
}

/// A state that is read, with its scopes.
pub(super) struct Scene<'a> {
    pub(super) id: StateId,
    pub(super) state: &'a State,
    pub(super) tree: ScopeTree,
}

impl<'a> Reader<'a> {
    /// A reader of a call. Names of storages are added for its containers that have one of their own.
    pub(super) fn new(call: Call<'a>, storages: &mut Vec<ElementPath>) -> Self {
        let Call { sdfg, values, means, path, bound: bindings } = call;
        let mut reader = Reader {
            sdfg,
            values,
            means,
            path,
            bindings,
            own: BTreeSet::new(),
            costs: Costs::of(sdfg),
            approximations: Vec::new(),
        };
        for (id, container) in sdfg.containers() {
            // Views are placed by the states that bind them.
            if !reader.bindings.contains_key(&id) && !matches!(container.kind, ContainerKind::View(_)) {
                let extents = reader.extents(container);
                storages.push(reader.path.to(Element::Container(container.name.clone())));
                reader.own.insert(id);
                reader
                    .bindings
                    .insert(id, Binding::new(storages.len() - 1, container.shape().len(), extents));
            }
        }
        reader
    }

    /// A short name of a place in the call, without that of the program.
    pub(super) fn at<const N: usize>(&self, labels: [&str; N]) -> String {
        let around = self.path.labels().iter().skip(1).map(String::as_str);
        around.chain(labels).collect::<Vec<_>>().join(".")
    }

    /// Operations of a state, in a possible order of execution.
    pub(super) fn steps(&mut self, id: StateId) -> Result<Vec<StateStep<'a>>, ModelError> {
        let state = self.sdfg.state(id);
        let scene = Scene { id, state, tree: ScopeTree::of(state) };
        self.bind_views(&scene, &self.at([&state.label]))?;
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
                    found.push(StateStep::Operator(self.scope(&scene, node, &place)?));
                }
                NodeKind::Reduce(_) => found.push(StateStep::Operator(self.reduction(&scene, node, &place)?)),
                NodeKind::Access(_) => {
                    for edge in state.in_edges(node) {
                        if let Flow::Copy { from, to, resolution } = &state.edge(edge).memlet.flow
                            && matches!(state.node(state.edge(edge).src).kind, NodeKind::Access(_))
                        {
                            let ends = (from, to, resolution.as_ref());
                            found.push(StateStep::Operator(self.copy(&scene, node, ends, &place)?));
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
                NodeKind::Nested(nested) => {
                    found.push(StateStep::Call(self.call(&scene, node, nested, &place)?))
                }
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
        let (mut values, mut means) = (self.values.clone(), self.means.clone());
        for (symbol, expression) in &nested.symbol_mapping {
            match self.number(expression, place) {
                Ok(value) => values.insert(symbol.clone(), Expr::int(value)),
                Err(_) => values.remove(symbol),
            };
            match self.middle(expression) {
                Some(value) => means.insert(symbol.clone(), Expr::int(value)),
                None => means.remove(symbol),
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
                    let numbers = |range: &Range| self.place(range);
                    let binding =
                        self.binding(access.container, place)?.part(&access.subset().0, rank, numbers);
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
        let path = self.path.enter(&state.label).enter(&state.node(node).label);
        Ok(Call { sdfg: &nested.sdfg, values, means, path, bound })
    }

    /// An operation without iterations and accesses.
    pub(super) fn operator(&self, scene: &Scene<'_>, node: NodeId, kind: &'static str) -> Operator {
        let labels = [&scene.state.label, &scene.state.node(node).label];
        Operator {
            name: self.at(labels.map(String::as_str)),
            path: labels.into_iter().fold(self.path.clone(), |path, label| path.enter(label)),
            kind,
            domain: Vec::new(),
            parameters: Vec::new(),
            work: 0,
            reads: Vec::new(),
            writes: Vec::new(),
        }
    }

    pub(super) fn number(&self, expression: &Expr, place: &str) -> Result<i64, ModelError> {
        let value = |symbol: &Symbol| self.values.get(symbol).and_then(Expr::as_int);
        expression
            .eval(&value)
            .map_err(|_| ModelError::NoValue { place: place.to_owned(), expression: expression.to_string() })
    }

    /// The value of a size, where a loop changes it that in the loop's middle.
    pub(super) fn mean(&mut self, expression: &Expr, place: &str) -> Result<i64, ModelError> {
        let exact = self.number(expression, place);
        if exact.is_ok() {
            return exact;
        }
        let Some(mean) = self.middle(expression) else { return exact };
        let what = format!("`{expression}` changes with a loop; its value in the middle is taken");
        self.approximate(place, &what);
        Ok(mean)
    }

    /// The value of an expression in the middle of the loops around.
    pub(super) fn middle(&self, expression: &Expr) -> Option<i64> {
        let value = |symbol: &Symbol| self.values.get(symbol).or_else(|| self.means.get(symbol))?.as_int();
        expression.eval(&value).ok()
    }

    /// Gives containers whose extents change with loops those in the middle of the loops around.
    pub(super) fn measure(&mut self) {
        let is_unknown = |id: &ContainerId| self.bindings[id].extents.is_err();
        let unknown: Vec<ContainerId> = self.own.iter().copied().filter(is_unknown).collect();
        for id in unknown {
            let extents = self.extents(self.sdfg.container(id));
            if let Some(binding) = self.bindings.get_mut(&id) {
                binding.extents = extents;
            }
        }
    }

    pub(super) fn extents(&mut self, container: &Container) -> Result<Vec<u64>, ModelError> {
        let place = format!("container {}", self.at([&container.name]));
        let mut extents = Vec::new();
        for extent in container.shape() {
            extents.push(self.mean(extent, &place)?.max(0) as u64);
        }
        bounded(&extents, container.element.size() as u64, &place, "its size in bytes")?;
        Ok(extents)
    }

    pub(super) fn approximate(&mut self, place: &str, what: &str) {
        let note = format!("{place}: {what}");
        if !self.approximations.contains(&note) {
            self.approximations.push(note);
        }
    }
}

/// The product of numbers, if costs can be computed with it.
pub(super) fn bounded(
    numbers: &[u64],
    factor: u64,
    place: &str,
    what: &'static str,
) -> Result<u64, ModelError> {
    let product = numbers.iter().try_fold(factor, |product, n| product.checked_mul(*n));
    let fits = product.filter(|product| *product <= LARGEST && numbers.iter().all(|n| *n <= LARGEST));
    fits.ok_or_else(|| ModelError::TooLarge { place: place.to_owned(), what })
}
