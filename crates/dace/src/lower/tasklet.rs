//! Tasklet code: the meaning of names, the assigned outputs, and reads of names without a connector.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::dtype::{ElementType, ScalarType};
use sdfg::ir::draft::DraftState;
use sdfg::ir::{Access, Connector, Flow, Memlet, NodeKind, Port, TaskletBody};
use sdfg::subset::Subset;
use sdfg::symbolic::Symbol;
use sdfg::syntax::{
    Expression, ExpressionKind, Index, Name, Statement, StatementKind, visit_block, visit_bound_names,
};
use sdfg::tasklet::{Code as TaskletCode, Dialect, ExternalCall, ExternalOrigin};

use super::SdfgLowering;
use super::expression::without_null_pointers;
use super::state::{End, Graph};
use crate::model::{self, DescriptorKind};
use crate::report::{Code, Failed, Log};
use crate::text::{
    CONVERSION, assigned, assignments, expression, is_function, is_print, map_block, statements,
};

/// DaCe's name for the number of elements that a consume scope with chunks took at a time; here it takes one.
const CONSUMED: &str = "__dace_cons_numelems";

impl<'a> SdfgLowering<'a> {
    /// Whether the code of a tasklet is left to a C++ compiler: it is not understood, and that is allowed.
    pub(super) fn is_foreign(&self, node: &model::Node, code: &str, language: &str) -> bool {
        self.shared.options.allow_external
            && language == "CPP"
            && self.tasklet(node, code, language, &Log::default()).is_err()
    }

    /// The call of a function of the caller that is all that a tasklet does.
    pub(super) fn callback(&self, node: &model::Node, code: &str, language: &str) -> Option<ExternalCall> {
        if language != "Python" || self.program.callbacks.is_empty() {
            return None;
        }
        let code = code.trim();
        let (result, call) = match code.split_once('=') {
            Some((result, call)) if node.outputs.contains_key(result.trim()) => (Some(result.trim()), call),
            Some(_) | None => (None, code),
        };
        let parsed = expression(call, self.shared.structs, &node.path, &Log::default()).ok()?;
        let ExpressionKind::Call { function, arguments } = parsed.kind else { return None };
        self.program.callbacks.contains(&function.text).then(|| ExternalCall {
            symbol: function.text,
            arguments,
            result: result.map(str::to_owned),
            origin: ExternalOrigin::Callback,
        })
    }

    /// The statements of a tasklet, with constants put in. What is wrong is told to `log`.
    pub(super) fn tasklet(
        &self,
        node: &model::Node,
        code: &str,
        language: &str,
        log: &Log,
    ) -> Result<Vec<Statement>, Failed> {
        let translated = match language {
            "CPP" => assignments(code),
            "MLIR" => Some(from_mlir(node, code, log)?),
            _ => None,
        };
        if language != "Python" && translated.is_none() {
            let says_something = |line: &&str| !line.is_empty() && !line.starts_with("//");
            let line = code.lines().map(str::trim).find(says_something).unwrap_or_default();
            let message = if language == "CPP" {
                let label = &node.label;
                format!(
                    "the C++ code of `{label}` is more than assignments, and compiled only if you allow it (`--allow-external`): `{line}`"
                )
            } else {
                format!("tasklets in {language} are not supported: `{line}`")
            };
            return Err(log.error(Code::Language, &node.path, message));
        }
        if prints(code) {
            log.note(Code::Approximated, &node.path, "what its code prints is left out");
        }
        let code = translated.as_deref().unwrap_or(code);
        let block = statements(code, self.shared.structs, &node.path, log)?;
        self.know_functions(node, &block, language, log)?;
        let own = |name: &str| node.inputs.contains_key(name) || node.outputs.contains_key(name);
        Ok(map_block(block, &mut |part| match &part.kind {
            ExpressionKind::Name(name) if name == CONSUMED => Expression::integer(1),
            ExpressionKind::Name(name) if !own(name) => {
                let number = || self.numbers.get(&Symbol::new(name).ok()?)?.to_expression();
                self.literals.get(name).cloned().or_else(number).unwrap_or(part)
            }
            _ => part,
        }))
    }

    /// Functions that code calls are known, or elements of an input.
    fn know_functions(
        &self,
        node: &model::Node,
        block: &[Statement],
        language: &str,
        log: &Log,
    ) -> Result<(), Failed> {
        let mut unknown = None;
        visit_block(block, &mut |part| {
            if let ExpressionKind::Call { function, .. } = &part.kind
                && !node.inputs.contains_key(&function.text)
                && !is_function(&function.text)
                && !function.text.starts_with(CONVERSION)
            {
                unknown.get_or_insert_with(|| function.text.clone());
            }
        });
        match unknown {
            None => Ok(()),
            Some(name) => {
                let message = format!("the function `{name}` is not supported");
                let code = if language == "Python" { Code::Expression } else { Code::Language };
                Err(log.error(code, &node.path, message))
            }
        }
    }

    /// Whether every run of a tasklet assigns an output, or parts of it.
    pub(super) fn is_assigned(&self, graph: &Graph<'_>, node: usize, connector: &str) -> bool {
        graph.tasklets.get(&node).is_none_or(|block| assigns(block, connector))
    }

    /// Lets code read an element that may be out of bounds where it asks for it, instead of before it runs: the whole
    /// container is passed, and the code picks the element.
    pub(super) fn guarded(
        &self,
        graph: &mut Graph<'_>,
        edge: &model::Edge,
        from: End<'_>,
        access: &mut Access,
    ) -> bool {
        let (Some(connector), Some(block)) = (&edge.dst_connector, graph.tasklets.get(&edge.dst)) else {
            return false;
        };
        if !access.subset().is_element() || from.descriptor.kind_is_stream() {
            return false;
        }
        let whole = self.whole(from);
        let mut indices = Vec::new();
        for (range, all) in access.subset().0.iter().zip(&whole.subset().0) {
            if all.is_index() {
                continue;
            }
            let Some(at) = range.begin.to_expression() else { return false };
            indices.push(Index::Point(at));
        }
        if indices.is_empty() {
            return false;
        }
        let changed = map_block(block.clone(), &mut |part| match &part.kind {
            ExpressionKind::Name(name) if name == connector => {
                let base = Name::new(connector.clone());
                Expression {
                    kind: ExpressionKind::Subscript { base, indices: indices.clone() },
                    span: part.span,
                }
            }
            _ => part,
        });
        graph.tasklets.insert(edge.dst, changed);
        *access = whole;
        true
    }

    /// Gives tasklets their code, connectors for constants that it names, and types to values between them.
    pub(super) fn finish_tasklets(&mut self, graph: &mut Graph<'a>) -> Result<(), Failed> {
        for (at, block) in std::mem::take(&mut graph.tasklets) {
            let block = match graph.shapes.get(&at) {
                Some(shapes) => shapes.apply(block),
                None => block,
            };
            let block = self.convert(graph, at, block);
            let block = map_block(block, &mut |part| {
                without_null_pointers(part, &|connector| Self::is_pointer(graph, at, connector))
            });
            self.connect_named(graph, at, &block);
            let block = self.connect_read_outputs(graph, at, block);
            let path = &graph.model.nodes[at].path;
            let dialect = match graph.model.nodes[at].kind {
                model::NodeKind::Tasklet { is_pythonic: true, .. } => Dialect::Python,
                _ => self.shared.options.dialect,
            };
            let code = TaskletCode::from_block(&block, dialect).map_err(|errors| {
                let why = errors.first().map_or_else(String::new, ToString::to_string);
                self.log().error(Code::Expression, path, format!("the code cannot be written: {why}"))
            })?;
            if let NodeKind::Tasklet(tasklet) = &mut graph.state.node_mut(graph.nodes[at]).kind {
                tasklet.body = TaskletBody::Code(code);
            }
        }
        self.type_values(graph);
        Ok(())
    }

    /// Conversions to the types of connectors, as those of types; what is only assigned is converted in any case.
    fn convert(&self, graph: &Graph<'a>, at: usize, block: Vec<Statement>) -> Vec<Statement> {
        map_block(block, &mut |part| {
            let ExpressionKind::Call { function, arguments } = &part.kind else { return part };
            let Some(connector) = function.text.strip_prefix(CONVERSION) else { return part };
            let [value] = arguments.as_slice() else { return part };
            match self.type_at(graph, at, connector) {
                Some(ty) if ty.lanes() == 1 => Expression::call(ty.lane().name(), vec![value.clone()]),
                Some(_) | None => value.clone(),
            }
        })
    }

    /// Whether DaCe's code has the address of elements at an input: its memlet has more than one.
    fn is_pointer(graph: &Graph<'a>, at: usize, connector: &str) -> bool {
        let edges = graph.state.in_edges(graph.nodes[at]);
        let mut into = edges.into_iter().map(|edge| graph.state.edge(edge));
        into.any(|edge| {
            edge.dst_connector.as_deref() == Some(connector)
                && edge.memlet.accesses().any(|access| !access.is_queue() && !access.subset().is_element())
        })
    }

    /// The type of the elements at a connector of a node, as far as an edge or the file tells.
    fn type_at(&self, graph: &Graph<'a>, at: usize, connector: &str) -> Option<ElementType> {
        let own = graph.nodes[at];
        let is_its = |found: &Option<String>| found.as_deref() == Some(connector);
        let into = graph
            .state
            .in_edges(own)
            .into_iter()
            .filter(|edge| is_its(&graph.state.edge(*edge).dst_connector));
        let out_of = graph
            .state
            .out_edges(own)
            .into_iter()
            .filter(|edge| is_its(&graph.state.edge(*edge).src_connector));
        let joined = into.chain(out_of).flat_map(|edge| graph.state.edge(edge).memlet.accesses());
        let joined = joined.map(|access| self.sdfg.container(access.container).element).next();
        let node = &graph.model.nodes[at];
        let told = || {
            node.inputs.get(connector).or_else(|| node.outputs.get(connector))?.as_ref().map(|ty| ty.element)
        };
        joined.or_else(told)
    }

    /// Containers that code names without a connector, which are constants or scalars, get one.
    fn connect_named(&mut self, graph: &mut Graph<'a>, at: usize, block: &[Statement]) {
        let mut names: BTreeSet<String> = BTreeSet::new();
        visit_block(block, &mut |part| names.extend(part.own_name().map(str::to_owned)));
        visit_bound_names(block, &mut |name| {
            names.remove(&name.text);
        });
        let node = &graph.model.nodes[at];
        for name in names {
            if node.inputs.contains_key(&name) || node.outputs.contains_key(&name) {
                continue;
            }
            let scalar = self.containers.get(&name).copied();
            let scalar = scalar.filter(|(_, found)| found.kind == DescriptorKind::Scalar);
            let constant = || match self.constants.contains_key(&name) {
                true => self.constant_container(&name),
                false => None,
            };
            let Some((id, descriptor)) = scalar.or_else(constant) else { continue };
            let end = End { name: &name, id, descriptor };
            self.pass(graph, at, end, &name);
            if let NodeKind::Tasklet(tasklet) = &mut graph.state.node_mut(graph.nodes[at]).kind {
                tasklet.inputs.push(Connector::new(name.clone()));
            }
        }
    }

    /// Brings all of a container to a connector of a node, through the scopes around it.
    pub(super) fn pass(&self, graph: &mut Graph<'a>, node: usize, end: End<'_>, connector: &str) {
        self.pass_into(graph, (node, connector), (end, None), Memlet::read(self.whole(end)));
    }

    /// Brings a part of a container to a connector of a node, through the scopes between this one and the node.
    pub(super) fn pass_into(
        &self,
        graph: &mut Graph<'a>,
        (node, connector): (usize, &str),
        (end, outermost): (End<'_>, Option<usize>),
        memlet: Memlet,
    ) {
        let mut scopes = Vec::new();
        let mut scope = graph.paths.scope_of(node);
        while let Some(entry) = scope.filter(|entry| Some(*entry) != outermost) {
            scopes.push(entry);
            scope = graph.paths.scope_of(entry);
        }
        let access = graph.add(end.name, NodeKind::Access(end.id));
        if let Some(entry) = outermost {
            graph.join((graph.nodes[entry], None), (access, None), Memlet::order());
        }
        let mut from = (access, None);
        for entry in scopes.into_iter().rev() {
            let entry = graph.nodes[entry];
            let name = format!("{}_{}", end.name, graph.state.n_edges());
            graph.join(
                (from.0, from.1.as_deref()),
                (entry, Some(&Port::In(&name).to_string())),
                Memlet::read(self.whole(end)),
            );
            from = (entry, Some(Port::Out(&name).to_string()));
        }
        graph.join((from.0, from.1.as_deref()), (graph.nodes[node], Some(connector)), memlet);
    }

    /// Connectors at edges between code nodes have no container that tells their type.
    fn type_values(&self, graph: &mut Graph<'_>) {
        let mut found: BTreeMap<(usize, &str), ElementType> = BTreeMap::new();
        for edge in &graph.model.edges {
            let (Some(src), Some(dst)) = (edge.src_connector.as_deref(), edge.dst_connector.as_deref())
            else {
                continue;
            };
            let ends = [&graph.model.nodes[edge.src], &graph.model.nodes[edge.dst]];
            // A called program knows the types of its own containers.
            let is_tasklet = |node: &&model::Node| matches!(node.kind, model::NodeKind::Tasklet { .. });
            let carries =
                |node: &&model::Node| is_tasklet(node) || matches!(node.kind, model::NodeKind::Nested { .. });
            if !ends.iter().all(carries) || !ends.iter().any(is_tasklet) {
                continue;
            }
            let told = |node: &model::Node, name: &str, input: bool| {
                if let model::NodeKind::Nested { program, .. } = &node.kind {
                    return program.containers.get(name).map(|found| found.dtype.element);
                }
                let connectors = if input { &node.inputs } else { &node.outputs };
                connectors.get(name).and_then(Option::as_ref).map(|ty| ty.element)
            };
            let element = told(ends[0], src, false).or_else(|| told(ends[1], dst, true));
            let element = element.or_else(|| self.type_of_inputs(graph, edge.src, &found));
            found.insert((edge.dst, dst), element.unwrap_or(ScalarType::F64.into()));
            found.insert((edge.src, src), element.unwrap_or(ScalarType::F64.into()));
        }
        for ((node, name), element) in found {
            if let NodeKind::Tasklet(tasklet) = &mut graph.state.node_mut(graph.nodes[node]).kind {
                let connectors = tasklet.inputs.iter_mut().chain(&mut tasklet.outputs);
                for connector in connectors.filter(|connector| connector.name == name) {
                    connector.element = Some(element);
                }
            }
        }
    }

    /// The widest type of what a tasklet reads, which is that of its results where nothing else is said.
    fn type_of_inputs(
        &self,
        graph: &Graph<'_>,
        node: usize,
        known: &BTreeMap<(usize, &str), ElementType>,
    ) -> Option<ElementType> {
        let edges = graph.state.in_edges(graph.nodes[node]).into_iter();
        let read = edges.filter_map(|edge| match &graph.state.edge(edge).memlet.flow {
            Flow::Read(access) => Some(self.sdfg.container(access.container).element),
            _ => None,
        });
        let values = known.iter().filter(|((to, _), _)| *to == node).map(|(_, element)| *element);
        read.chain(values).max_by_key(|element| (element.lane().kind(), element.size()))
    }
}

/// Whether code writes to the standard output, which the translated code does not.
fn prints(code: &str) -> bool {
    code.split(['\n', ';']).any(|part| is_print(part.trim_start()))
}

/// Whether a block assigns a name, or elements of it, whichever way it runs.
fn assigns(block: &[Statement], name: &str) -> bool {
    block.iter().any(|statement| match &statement.kind {
        StatementKind::Assign { target, .. } | StatementKind::Augmented { target, .. } => {
            target.name.text == name
        }
        StatementKind::If { branches, otherwise } => {
            branches.iter().all(|(_, block)| assigns(block, name)) && assigns(otherwise, name)
        }
        StatementKind::For { .. } | StatementKind::While { .. } | StatementKind::Pass => false,
    })
}

/// The subset with each range reduced to its first index.
pub(super) fn first_element(subset: &Subset) -> Subset {
    Subset::element(&subset.0.iter().map(|range| range.begin.clone()).collect::<Vec<_>>())
}

/// The code of a module of MLIR in our language.
fn from_mlir(node: &model::Node, code: &str, log: &Log) -> Result<String, Failed> {
    let refused = |reason: &str| {
        let message = format!(
            "tasklets in MLIR are arithmetic of one block with one output: {reason} is not supported"
        );
        log.error(Code::Language, &node.path, message)
    };
    let mut outputs = node.outputs.keys();
    match (outputs.next(), outputs.next()) {
        (Some(output), None) => assigned(code, output).map_err(|reason| refused(&reason)),
        (None, _) | (Some(_), Some(_)) => Err(refused("another number of outputs")),
    }
}
