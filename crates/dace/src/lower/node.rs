//! Lowers nodes of a state.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use sdfg::ir::{
    Connector, Consume, LibraryNode, Map, NestedSdfg, NodeId, NodeKind, Reduce, Schedule, ScheduleKind,
    Tasklet, TaskletBody,
};
use sdfg::subset::Subset;
use sdfg::symbolic::{Expr, Symbol};
use sdfg::syntax::{Expression, ExpressionKind, parse_expression};
use sdfg::tasklet::{Code as TaskletCode, Dialect};

use super::state::Graph;
use super::{SdfgLowering, lower_program};
use crate::model::{self, Dtype, IN_MEMORY};
use crate::report::{Code, Failed};
use crate::text::{lambda, map_expression, plain, resolution, symbolic};
use crate::wire::{Json, whole_factor};

/// The property with the name of the expansion that DaCe is to use.
const IMPLEMENTATION: &str = "implementation";

/// Scalars of integers that properties of library nodes name, where only symbols have a value.
pub(super) fn scalars_of_properties(sdfg: &sdfg::ir::Sdfg) -> BTreeSet<Symbol> {
    let nodes = sdfg.states().flat_map(|(_, state)| state.nodes());
    let properties = nodes.filter_map(|(_, node)| match &node.kind {
        NodeKind::Library(library) => Some(&library.properties),
        _ => None,
    });
    let values = properties.flatten().filter(|(name, _)| LibraryNode::assigned(name).is_none());
    let is_scalar = |name: &&str| {
        let container = sdfg.find_container(name).map(|id| sdfg.container(id));
        container.is_some_and(|found| found.shape().is_empty() && found.element.lane().is_integer())
    };
    values
        .flat_map(|(_, value)| value.names())
        .filter(is_scalar)
        .filter_map(|name| Symbol::new(name).ok())
        .collect()
}

impl<'a> SdfgLowering<'a> {
    /// Adds a node that ends no scope.
    pub(super) fn node(
        &mut self,
        graph: &mut Graph<'a>,
        at: usize,
        node: &'a model::Node,
    ) -> Result<NodeId, Failed> {
        let kind = match &node.kind {
            model::NodeKind::Access { data, setzero } => {
                let Some((id, descriptor)) = self.constant_container(data) else {
                    let message = format!("no container is called `{data}`");
                    return Err(self.log().error(Code::Dangling, &node.path, message));
                };
                if *setzero && descriptor.transient && !descriptor.kind_is_stream() {
                    self.zeroed.insert(id);
                }
                NodeKind::Access(id)
            }
            model::NodeKind::Tasklet { code, language, .. }
                if let Some(call) = self.callback(node, code, language) =>
            {
                NodeKind::Tasklet(Tasklet {
                    inputs: connectors(&node.inputs),
                    outputs: connectors(&node.outputs),
                    body: TaskletBody::External(call),
                })
            }
            model::NodeKind::Tasklet { code, language, .. } if self.is_foreign(node, code, language) => {
                graph.foreign.push(at);
                Self::foreign_tasklet(node)
            }
            model::NodeKind::Tasklet { code, language, .. } => {
                let block = self.tasklet(node, code, language, self.log())?;
                graph.tasklets.insert(at, block);
                // The code follows when all edges are known.
                let body = match TaskletCode::parse("pass", Dialect::C) {
                    Ok(code) => TaskletBody::Code(code),
                    Err(_) => return Err(self.log().error(Code::Expression, &node.path, "no code")),
                };
                NodeKind::Tasklet(Tasklet {
                    inputs: connectors(&node.inputs),
                    outputs: connectors(&node.outputs),
                    body,
                })
            }
            model::NodeKind::MapEntry(map) => {
                if map.is_persistent {
                    self.shares_nothing(graph, at, node)?;
                }
                NodeKind::MapEntry(Map {
                    params: map.params.clone(),
                    ranges: self.ranges(&map.ranges),
                    schedule: map.schedule.clone(),
                })
            }
            model::NodeKind::ConsumeEntry(consume) => NodeKind::ConsumeEntry(Consume {
                element: consume.element.clone(),
                elements: self.size(&consume.elements),
                chunk: self.size(&consume.chunk),
                condition: consume.condition.as_ref().map(|condition| self.control_expression(condition)),
                schedule: consume.schedule.clone(),
            }),
            model::NodeKind::Nested { program, mapping } => self.nested(graph, at, program, mapping)?,
            model::NodeKind::Library { class, properties } => self.library(graph, at, class, properties)?,
            model::NodeKind::MapExit(_) | model::NodeKind::ConsumeExit(_) => {
                return Err(self.log().error(
                    Code::Dangling,
                    &node.path,
                    "the end of a scope without its begin",
                ));
            }
        };
        Ok(graph.add(&node.label, kind))
    }

    /// Refuses maps within a scope that each thread runs: the threads share their iterations, so none of them runs all.
    fn shares_nothing(&self, graph: &Graph<'a>, at: usize, node: &model::Node) -> Result<(), Failed> {
        let is_shared = |(inner, found): (usize, &model::Node)| {
            graph.paths.scope_of(inner) == Some(at)
                && match &found.kind {
                    model::NodeKind::MapEntry(map) => map.schedule != Schedule::Sequential,
                    model::NodeKind::Nested { program, .. } => program.body.has_shared_iterations(),
                    model::NodeKind::ConsumeEntry(_) => true,
                    _ => false,
                }
        };
        if graph.model.nodes.iter().enumerate().any(is_shared) {
            let message = "maps within a scope with the schedule `CPU_Persistent` are not supported: \
                           the threads of its team share the iterations";
            return Err(self.log().error(Code::Node, &node.path, message));
        }
        Ok(())
    }

    fn ranges(&self, ranges: &Subset) -> Subset {
        if self.numbers.is_empty() { ranges.clone() } else { ranges.substitute(&self.numbers) }
    }

    /// Every symbol that a called SDFG needs has a value here. DaCe's simplification renames parameters of functions to their
    /// arguments, but not everywhere: what nothing else gives is then what the call says.
    fn give_values(
        &self,
        graph: &Graph<'a>,
        node: &model::Node,
        sdfg: &sdfg::ir::Sdfg,
        mapping: &mut Vec<(Symbol, Expr)>,
    ) -> Result<(), Failed> {
        let params = |name: &str| {
            graph.model.nodes.iter().any(|found| match &found.kind {
                model::NodeKind::MapEntry(map) => {
                    map.params.iter().any(|param| param.as_str() == name) || found.inputs.contains_key(name)
                }
                model::NodeKind::ConsumeEntry(consume) => consume.element.as_str() == name,
                _ => false,
            })
        };
        for (symbol, _) in sdfg.symbols() {
            let name = symbol.as_str();
            let is_given = mapping.iter().any(|(mapped, _)| mapped == symbol)
                || node.inputs.contains_key(name)
                || self.program.symbols.contains_key(name)
                || self.assigned.contains(name)
                || params(name);
            if is_given {
                continue;
            }
            if let Some((_, value)) = self.arguments.iter().find(|(parameter, _)| parameter == name) {
                let value = symbolic(value, &node.path, self.log())?;
                mapping.push((symbol.clone(), self.size(&value)));
            } else {
                let message = format!("nothing gives the symbol `{name}` of `{}` a value", sdfg.name);
                return Err(self.log().error(Code::Symbol, &node.path, message));
            }
        }
        Ok(())
    }

    fn nested(
        &mut self,
        graph: &Graph<'a>,
        at: usize,
        program: &'a model::Program,
        mapping: &[(String, String)],
    ) -> Result<NodeKind, Failed> {
        let node = &graph.model.nodes[at];
        let extents = self.limited_extents(graph, at, program, mapping);
        let sdfg = lower_program(program, self.shared, &self.constants, mapping, Some(&extents))?;
        let mut symbol_mapping = extents.symbols;
        for (name, value) in mapping {
            let declared = sdfg.symbols().find(|(symbol, _)| symbol.as_str() == name);
            let Some((symbol, _)) = declared else { continue };
            let value = symbolic(value, &node.path, self.log())?;
            symbol_mapping.push((symbol.clone(), self.size(&value)));
        }
        self.give_values(graph, node, &sdfg, &mut symbol_mapping)?;
        let known = |name: &&String| {
            let argument = sdfg.find_container(name).is_some_and(|id| sdfg.container(id).is_argument());
            argument || sdfg.symbols().any(|(symbol, _)| symbol.as_str() == **name)
        };
        let named = |connectors: &IndexMap<String, Option<Dtype>>| -> Vec<Connector> {
            connectors.keys().filter(known).map(Connector::new).collect()
        };
        let (inputs, outputs) = (named(&node.inputs), named(&node.outputs));
        for name in node.inputs.keys().chain(node.outputs.keys()).filter(|name| !known(name)) {
            let message = format!("the connector `{name}` leads to nothing inside");
            self.log().note(Code::PropertyIgnored, &node.path, message);
        }
        Ok(NodeKind::Nested(Box::new(NestedSdfg { sdfg, inputs, outputs, symbol_mapping })))
    }

    fn library(
        &self,
        graph: &Graph<'a>,
        at: usize,
        class: &str,
        properties: &IndexMap<String, Json>,
    ) -> Result<NodeKind, Failed> {
        let node = &graph.model.nodes[at];
        let implementation = self.implementation(node, properties);
        if class == "Reduce" {
            return self.reduce(node, properties);
        }
        let in_memory = properties.contains_key(IN_MEMORY);
        let mut lowered = Vec::new();
        let is_stencil = class == "Stencil";
        if is_stencil {
            lowered = self.stencil(node, properties)?;
        }
        let is_ours = |name: &str| name == IN_MEMORY || name == IMPLEMENTATION;
        for (name, value) in properties.iter().filter(|(name, _)| !is_stencil && !is_ours(name)) {
            let (matrices, value) = match (name.as_str(), value) {
                ("transA", Json::Bool(value)) if in_memory => (&["_a", "_A"][..], *value),
                ("transB", Json::Bool(value)) if in_memory => (&["_b"][..], *value),
                _ => {
                    self.property(node, name, value, &mut lowered)?;
                    continue;
                }
            };
            let by_columns = matrices.iter().any(|name| self.lies_by_columns(graph, at, name));
            lowered.push((name.clone(), Expression::bool(value != by_columns)));
        }
        if class == "Broadcast" && !properties.contains_key("dim") {
            // Here, none is NumPy's rule.
            lowered.push(("dim".to_owned(), Expression::integer(1)));
        }
        lowered.extend(implementation);
        // The value of a fill may come from an input, which is listed in any case.
        let is_joined = |name: &str| {
            let mut edges = graph.model.edges.iter().filter(|edge| edge.dst == at);
            class != "Fill" || edges.any(|edge| edge.dst_connector.as_deref() == Some(name))
        };
        let inputs = connectors(&node.inputs).into_iter().filter(|input| is_joined(&input.name)).collect();
        Ok(NodeKind::Library(LibraryNode {
            operation: class.to_owned(),
            inputs,
            outputs: connectors(&node.outputs),
            properties: lowered,
            expansion: None,
        }))
    }

    /// The name of the expansion that DaCe would use. It changes nothing here, and is kept for the way back where it is a word.
    fn implementation(
        &self,
        node: &model::Node,
        properties: &IndexMap<String, Json>,
    ) -> Option<(String, Expression)> {
        let name = properties.get(IMPLEMENTATION)?.as_text()?;
        let message =
            format!("the implementation `{name}` is not used: how the node is expanded is chosen here");
        self.log().note(Code::PropertyIgnored, &node.path, message);
        let word = parse_expression(name).ok()?;
        matches!(word.kind, ExpressionKind::Name(_)).then(|| (IMPLEMENTATION.to_owned(), word))
    }

    /// Whether the matrix that a memlet brings to a connector lies in memory column by column.
    fn lies_by_columns(&self, graph: &Graph<'a>, node: usize, connector: &str) -> bool {
        let is_its =
            |edge: &&model::Edge| edge.dst == node && edge.dst_connector.as_deref() == Some(connector);
        let Some(edge) = graph.model.edges.iter().find(is_its) else { return false };
        let Some(end) = self.end(&graph.model.nodes[graph.paths.source(edge)]) else { return false };
        let Ok(access) = self.one_end(edge, end) else { return false };
        let Some(layout) = self.sdfg.container(end.id).kind.layout() else { return false };
        let long = access.subset().0.iter().zip(&layout.strides).filter(|(range, _)| !range.is_index());
        let strides: Vec<&Expr> = long.map(|(_, stride)| stride).collect();
        matches!(strides.as_slice(), [.., first, last] if first.is_one() && !last.is_one())
    }

    /// A property of a library node; a list becomes one property for each entry, numbered from 0.
    fn property(
        &self,
        node: &model::Node,
        name: &str,
        value: &Json,
        found: &mut Vec<(String, Expression)>,
    ) -> Result<(), Failed> {
        let value = match value {
            Json::Null => return Ok(()),
            Json::Bool(value) => Expression::bool(*value),
            Json::Integer(value) => Expression::integer(*value),
            Json::Float(value) => {
                whole_factor(name, *value).map_or_else(|| Expression::float(*value), Expression::integer)
            }
            Json::Text(text) => {
                let text = plain(text);
                // Words that are no expressions, such as `ij,jk->ik`, keep their letters: `ij_jk_to_ik`.
                let word = text.replace("->", "_to_").replace(',', "_").replace(' ', "");
                match parse_expression(&text).or_else(|_| parse_expression(&word)) {
                    Ok(value) => map_expression(value, &mut |part| self.imaginary_unit(self.number(part))),
                    Err(_) => {
                        let message = format!("the property `{name}` is `{text}`, which is no expression");
                        return Err(self.log().error(Code::LibraryNode, &node.path, message));
                    }
                }
            }
            Json::List(list) => {
                for (at, value) in list.iter().enumerate() {
                    self.property(node, &format!("{name}_{at}"), value, found)?;
                }
                return Ok(());
            }
            Json::Object(_) => {
                let message = format!("the property `{name}` is an object, which is not supported");
                return Err(self.log().error(Code::LibraryNode, &node.path, message));
            }
        };
        found.push((name.to_owned(), value));
        Ok(())
    }

    /// The symbol that has the value of a scalar, where that is named.
    fn number(&self, expression: Expression) -> Expression {
        match &expression.kind {
            ExpressionKind::Name(name) => {
                let value = Symbol::new(name).ok().and_then(|name| self.numbers.get(&name)?.to_expression());
                value.unwrap_or(expression)
            }
            _ => expression,
        }
    }

    /// SymPy prints the imaginary unit as `I`, which is a symbol only where there is one of this name.
    fn imaginary_unit(&self, expression: Expression) -> Expression {
        match &expression.kind {
            ExpressionKind::Name(name) if name == "I" && !self.program.symbols.contains_key("I") => {
                Expression::call("complex", vec![Expression::integer(0), Expression::integer(1)])
            }
            _ => expression,
        }
    }

    fn reduce(&self, node: &model::Node, properties: &IndexMap<String, Json>) -> Result<NodeKind, Failed> {
        let refuse = |message: String| Err(self.log().error(Code::LibraryNode, &node.path, message));
        let mut axes = None;
        if let Some(Json::List(list)) = properties.get("axes") {
            let mut found = Vec::new();
            for axis in list {
                let Json::Integer(axis) = axis else { return refuse("an axis must be a number".to_owned()) };
                let Ok(axis) = usize::try_from(*axis) else {
                    return refuse(format!("the axis {axis} is below zero"));
                };
                found.push(axis);
            }
            found.sort_unstable();
            axes = Some(found);
        }
        let Some(text) = properties.get("wcr").and_then(Json::as_text) else {
            return refuse("a reduction needs a `wcr`".to_owned());
        };
        let function = lambda(text, self.shared.structs, &node.path, self.log())?;
        let identity = match properties.get("identity") {
            None | Some(Json::Null) => None,
            Some(Json::Bool(value)) => Some(Expression::bool(*value)),
            Some(Json::Integer(value)) => Some(Expression::integer(*value)),
            Some(Json::Float(value)) => Some(Expression::float(*value)),
            Some(Json::Text(text)) => match parse_expression(text) {
                Ok(value) => Some(value),
                Err(_) => return refuse(format!("the identity `{text}` is not understood")),
            },
            Some(Json::List(_) | Json::Object(_)) => return refuse("the identity is no number".to_owned()),
        };
        Ok(NodeKind::Reduce(Reduce {
            axes,
            resolution: resolution(&function),
            identity,
            schedule: ScheduleKind::Default,
        }))
    }
}

/// Connectors that take their types from the containers at the other ends.
fn connectors(found: &IndexMap<String, Option<Dtype>>) -> Vec<Connector> {
    found.keys().map(Connector::new).collect()
}
