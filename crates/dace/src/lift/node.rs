//! Lifts nodes of a state.

use indexmap::IndexMap;
use sdfg::dtype::ScalarType;
use sdfg::ir::{
    Connector, Consume, EdgeId, LibraryNode, Map, NodeId, NodeKind, Reduce, Schedule, ScheduleKind,
    TaskletBody,
};
use sdfg::subset::{Range, Subset};
use sdfg::syntax::{Expression, ExpressionKind, UnaryOp};
use sdfg::tasklet::arith::cast;
use sdfg::tasklet::{
    CompiledCode, Dialect, Environment, NoAccess, TypedExpressionCode, typecheck_expression,
};
use sdfg::value::Value;

use super::SdfgLifting;
use super::edge::lambda;
use super::state::Graph;
use crate::encode::{library_module, scalar};
use crate::model::{self, Dtype};
use crate::report::{Code, Failed};
use crate::text::to_name;
use crate::wire::{Json, Path, whole_factor};

type Connectors = IndexMap<String, Option<Dtype>>;

impl SdfgLifting<'_> {
    pub(super) fn node(&self, graph: &Graph<'_>, id: NodeId) -> Result<model::Node, Failed> {
        let node = graph.state.node(id);
        let (mut inputs, mut outputs) = self.connectors_of_edges(graph, id);
        let kind = match &node.kind {
            NodeKind::Access(container) => {
                let data = self.sdfg.container(*container).name.clone();
                model::NodeKind::Access { data, setzero: false }
            }
            NodeKind::Tasklet(tasklet) => {
                (inputs, outputs) = self.tasklet_connectors(graph, id, tasklet)?;
                match &tasklet.body {
                    TaskletBody::Code(_) => {
                        let (code, is_pythonic) = self.code(graph, id, tasklet)?;
                        model::NodeKind::Tasklet {
                            code,
                            language: "Python".to_owned(),
                            is_pythonic,
                            foreign: model::Foreign::default(),
                        }
                    }
                    TaskletBody::External(call) => {
                        let message =
                            format!("it calls the C function `{}`, which this form has not", call.symbol);
                        return Err(self.refuse_node(graph, id, Code::UnwritableNode, message));
                    }
                }
            }
            NodeKind::MapEntry(map) => self.map(graph, id, map)?,
            NodeKind::ConsumeEntry(consume) => self.consume(graph, id, consume)?,
            NodeKind::MapExit(exit) => model::NodeKind::MapExit(graph.place(exit.entry)),
            NodeKind::ConsumeExit(exit) => model::NodeKind::ConsumeExit(graph.place(exit.entry)),
            NodeKind::Nested(nested) => {
                (inputs, outputs) = (untyped(&nested.inputs), untyped(&nested.outputs));
                self.nested(graph, id, nested)?
            }
            NodeKind::Reduce(reduce) => self.reduction(graph, id, reduce)?,
            NodeKind::Library(library) => {
                (inputs, outputs) = (untyped(&library.inputs), untyped(&library.outputs));
                self.library(graph, id, library)?
            }
        };
        Ok(model::Node { label: to_name(&node.label), kind, inputs, outputs, path: Path::default() })
    }

    /// The connectors that edges have at a node, in the order of the edges.
    fn connectors_of_edges(&self, graph: &Graph<'_>, id: NodeId) -> (Connectors, Connectors) {
        let bound = |edge: EdgeId, at_end: bool| {
            let is_bound = self.bound_at(graph, edge) == Some(at_end);
            is_bound.then(|| self.bind_connector(graph, edge).to_owned())
        };
        let is_kept = |edge: &EdgeId| !graph.constants.edges.contains(edge);
        let inputs = graph.state.in_edges(id).into_iter().filter(is_kept);
        let inputs = inputs
            .filter_map(|edge| graph.state.edge(edge).dst_connector.clone().or_else(|| bound(edge, true)));
        let outputs = graph.state.out_edges(id).into_iter().filter(is_kept);
        let outputs = outputs
            .filter_map(|edge| graph.state.edge(edge).src_connector.clone().or_else(|| bound(edge, false)));
        (inputs.map(|name| (name, None)).collect(), outputs.map(|name| (name, None)).collect())
    }

    fn schedule(&self, graph: &Graph<'_>, id: NodeId, schedule: &Schedule) -> Result<Schedule, Failed> {
        match schedule {
            Schedule::Default(_)
            | Schedule::Sequential
            | Schedule::Unrolled
            | Schedule::CpuMulticore(_)
            | Schedule::GpuGrid(_)
            | Schedule::GpuBlock(_)
            | Schedule::Mpi => Ok(schedule.clone()),
            Schedule::Simd | Schedule::FpgaDevice | Schedule::FpgaReplicated => {
                let name = schedule.kind().name();
                let message = format!("the schedule {name} has no counterpart; use the default one");
                Err(self.refuse_node(graph, id, Code::UnwritableNode, message))
            }
        }
    }

    fn map(&self, graph: &Graph<'_>, id: NodeId, map: &Map) -> Result<model::NodeKind, Failed> {
        for param in &map.params {
            self.check_name(param, "parameter")?;
        }
        let mut ranges = Vec::with_capacity(map.ranges.rank());
        for range in &map.ranges.0 {
            if !range.tile.is_one() {
                let message =
                    "a range with tiles is no range of DaCe's maps; tile the map instead".to_owned();
                return Err(self.refuse_node(graph, id, Code::UnwritableNode, message));
            }
            // The order of iterations means nothing, and DaCe's code for maps only counts up.
            let descends = range.step.as_int().is_some_and(|step| step < 0);
            ranges.push(if descends {
                Range::new(range.last(), &range.begin + 1).with_step(-&range.step)
            } else {
                range.clone()
            });
        }
        Ok(model::NodeKind::MapEntry(model::Map {
            params: map.params.clone(),
            ranges: Subset(ranges),
            schedule: self.schedule(graph, id, &map.schedule)?,
            is_persistent: false,
        }))
    }

    fn consume(&self, graph: &Graph<'_>, id: NodeId, consume: &Consume) -> Result<model::NodeKind, Failed> {
        if consume.schedule != Schedule::from(consume.schedule.kind()) {
            let message = "consume scopes have schedules without attributes; leave them out".to_owned();
            return Err(self.refuse_node(graph, id, Code::UnwritableNode, message));
        }
        let condition = match &consume.condition {
            Some(condition) => Some(self.control_expression(condition, &graph.part(id))?),
            None => None,
        };
        Ok(model::NodeKind::ConsumeEntry(model::Consume {
            element: consume.element.clone(),
            elements: consume.elements.clone(),
            chunk: consume.chunk.clone(),
            condition,
            schedule: self.schedule(graph, id, &consume.schedule)?,
        }))
    }

    fn reduction(&self, graph: &Graph<'_>, id: NodeId, reduce: &Reduce) -> Result<model::NodeKind, Failed> {
        let refuse = |message: String| self.refuse_node(graph, id, Code::UnwritableNode, message);
        if reduce.schedule != ScheduleKind::Default {
            return Err(refuse("reductions have no schedule in this form; use the default one".to_owned()));
        }
        let mut properties = IndexMap::new();
        if let Some(axes) = &reduce.axes {
            let axes = axes.iter().map(|axis| Json::Integer(i64::try_from(*axis).unwrap_or(i64::MAX)));
            properties.insert("axes".to_owned(), Json::List(axes.collect()));
        }
        let function = lambda(&reduce.resolution).map_err(refuse)?;
        properties.insert("wcr".to_owned(), Json::Text(format!("({function})")));
        if let Some(identity) = &reduce.identity {
            match number(identity) {
                Some(value) => properties.insert("identity".to_owned(), value),
                None => {
                    return Err(refuse(format!("the identity `{identity}` must be a number here")));
                }
            };
        }
        Ok(model::NodeKind::Library { class: "Reduce".to_owned(), properties })
    }

    /// The value of a property: a number, or a text.
    ///
    /// # Errors
    /// Complex numbers, which DaCe's expansions take for texts or unknown symbols, as a part of a sentence.
    fn property(&self, value: &Expression) -> Result<Json, String> {
        let mut environment = Environment::new();
        for name in value.names() {
            environment.add_symbol(name, ScalarType::I64);
        }
        let typed = typecheck_expression(value, Dialect::Python, &environment).ok();
        let Some(typed) = typed.filter(|code| code.expression.ty.lane().is_complex()) else {
            return Ok(number(value).unwrap_or_else(|| Json::Text(value.to_string())));
        };
        match constant(&typed).map(|value| cast(value, ScalarType::Complex128)) {
            Some(Value::Complex128(value)) if value.im == 0.0 => Ok(Json::Float(value.re)),
            _ => Err("a complex number, which DaCe 1.0.2 does not compute with; expand the node first, as `sdfg print --expand` does".to_owned()),
        }
    }

    fn library(&self, graph: &Graph<'_>, id: NodeId, node: &LibraryNode) -> Result<model::NodeKind, Failed> {
        let class = node.operation.clone();
        if class == "Stencil" {
            return self.stencil(graph, id, node);
        }
        if library_module(&class).is_none() {
            let message = format!("DaCe 1.0.2 has no library node `{class}`; expand it first");
            return Err(self.refuse_node(graph, id, Code::UnwritableNode, message));
        }
        let is_of_lapack = matches!(class.as_str(), "Getrf" | "Getrs" | "Getri" | "Potrf");
        if is_of_lapack && !node.outputs.iter().any(|output| output.name == "_res") {
            let message = format!("DaCe's `{class}` always writes `_res`; give it a scalar of type `i32`");
            return Err(self.refuse_node(graph, id, Code::UnwritableNode, message));
        }
        let mut properties: IndexMap<String, Json> = IndexMap::new();
        for (name, value) in &node.properties {
            let value = match (&value.kind, class.as_str(), name.as_str()) {
                // The letters of `ij,jk->ik` are a word here.
                (ExpressionKind::Name(word), "Einsum", "einsum_str") => {
                    Json::Text(word.replace("_to_", "->").replace('_', ","))
                }
                _ => self.property(value).map_err(|why| {
                    let message = format!("the property `{name}` is `{value}`, {why}");
                    self.refuse_node(graph, id, Code::UnwritableNode, message)
                })?,
            };
            // A list is one property for each entry, numbered from 0.
            let list = name.rsplit_once('_').filter(|(_, number)| number.parse::<usize>().is_ok());
            match list {
                Some((list, _)) => {
                    let entry = properties.entry(list.to_owned()).or_insert_with(|| Json::List(Vec::new()));
                    if let Json::List(list) = entry {
                        list.push(value);
                    }
                }
                None => {
                    let value = match value {
                        Json::Float(number) => whole_factor(name, number).map_or(value, Json::Integer),
                        other => other,
                    };
                    properties.insert(name.clone(), value);
                }
            }
        }
        if class == "Transpose" {
            // DaCe has the type here, too.
            let edges = graph.state.in_edges(id).into_iter();
            let accesses = edges.filter_map(|edge| graph.state.edge(edge).memlet.read_access());
            let mut types = accesses.map(|access| self.sdfg.container(access.container).element.lane());
            if let Some(ty) = types.next() {
                properties.insert("dtype".to_owned(), Json::Text(scalar(ty).to_owned()));
            }
        }
        Ok(model::NodeKind::Library { class, properties })
    }
}

/// The value of an expression without names.
fn constant(code: &TypedExpressionCode) -> Option<Value> {
    let compiled = CompiledCode::of_expression(code);
    let mut frame = compiled.frame();
    // An expression has no loops, whose iterations steps are.
    compiled.run(&mut frame, &mut NoAccess, 0).ok()?;
    frame.result().first().copied()
}

/// Connectors that take their types from the other ends of their edges.
fn untyped(connectors: &[Connector]) -> Connectors {
    connectors.iter().map(|connector| (connector.name.clone(), None)).collect()
}

/// A literal as JSON.
pub(super) fn number(expression: &Expression) -> Option<Json> {
    Some(match &expression.kind {
        ExpressionKind::Integer(value) => Json::Integer(i64::try_from(*value).ok()?),
        ExpressionKind::Float(value) => Json::Float(value.value()),
        ExpressionKind::Bool(value) => Json::Bool(*value),
        ExpressionKind::Unary { op: UnaryOp::Negate, operand } => match &operand.kind {
            // The magnitude of the least integer is no integer of 64 bits.
            ExpressionKind::Integer(value) => Json::Integer(0_i64.checked_sub_unsigned(*value)?),
            _ => match number(operand)? {
                Json::Integer(value) => Json::Integer(value.checked_neg()?),
                Json::Float(value) => Json::Float(-value),
                Json::Null | Json::Bool(_) | Json::Text(_) | Json::List(_) | Json::Object(_) => return None,
            },
        },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use sdfg::syntax::parse_expression;

    use super::number;
    use crate::wire::Json;

    #[test]
    fn numbers_are_literals_with_a_sign() {
        let integer = |text: &str| match number(&parse_expression(text).unwrap()) {
            Some(Json::Integer(value)) => Some(value),
            _ => None,
        };
        assert_eq!(integer("-9223372036854775808"), Some(i64::MIN));
        assert_eq!(integer("-(-3)"), Some(3));
        assert_eq!(integer("9223372036854775808"), None);
        assert_eq!(integer("-9223372036854775809"), None);
    }
}
