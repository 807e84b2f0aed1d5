//! Stencils: code properties as one text of statements in which fields have offsets.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use sdfg::dtype::ElementType;
use sdfg::ir::{LibraryNode, NodeId};
use sdfg::symbolic::Expr;
use sdfg::syntax::{
    AssignmentTarget, Expression, ExpressionKind, Index, Name, Span, Statement, StatementKind, map_block,
    map_expression, print_block,
};
use sdfg::tasklet::{Code as TaskletCode, Dialect, Environment, typecheck};

use super::SdfgLifting;
use super::functions::spelled_python;
use super::node::number;
use super::state::Graph;
use super::typed;
use crate::model;
use crate::report::{Code, Failed};
use crate::wire::Json;

const BOUNDARY: &str = "boundary_conditions_";
const ITERATORS: &str = "iterator_mapping_";

impl SdfgLifting<'_> {
    /// DaCe's node for a stencil.
    pub(super) fn stencil(
        &self,
        graph: &Graph<'_>,
        id: NodeId,
        node: &LibraryNode,
    ) -> Result<model::NodeKind, Failed> {
        let refuse = |message: String| self.refuse_node(graph, id, Code::UnwritableNode, message);
        let (mut iterators, mut boundaries) = (IndexMap::new(), IndexMap::new());
        for input in &node.inputs {
            let mut flags = Vec::new();
            while let Some(flag) = property(node, &format!("{ITERATORS}{}_{}", input.name, flags.len())) {
                flags.push(number(flag).unwrap_or(Json::Bool(false)));
            }
            if !flags.is_empty() {
                iterators.insert(input.name.clone(), Json::List(flags));
            }
            let boundary = property(node, &format!("{BOUNDARY}{}", input.name));
            boundaries.insert(input.name.clone(), condition(boundary).map_err(refuse)?);
        }
        let code = self.stencil_code(graph, id, node).map_err(refuse)?;
        let code = [("string_data", code), ("language", "Python".to_owned())];
        let code = code.into_iter().map(|(name, text)| (name.to_owned(), Json::Text(text)));
        let one = |(name, value)| Json::Object([(name, value)].into_iter().collect());
        let properties = [
            ("code".to_owned(), Json::Object(code.collect())),
            ("iterator_mapping".to_owned(), Json::Object(iterators)),
            ("boundary_conditions".to_owned(), Json::List(boundaries.into_iter().map(one).collect())),
        ];
        let properties = properties.into_iter().collect();
        Ok(model::NodeKind::Library { class: "Stencil".to_owned(), properties })
    }

    /// The code in the arithmetic of C++.
    fn stencil_code(&self, graph: &Graph<'_>, id: NodeId, node: &LibraryNode) -> Result<String, String> {
        let mut elements: Vec<(String, Expression)> = Vec::new();
        let mut environment = Environment::new();
        let mut block = Vec::new();
        for (property, value) in &node.properties {
            let Some(name) = LibraryNode::assigned(property) else { continue };
            let mut single = None;
            // Elements get names while types are found.
            let value = map_expression(value.clone(), &mut |part| {
                let Some(field) = part.own_name().filter(|own| is_input(node, own)) else { return part };
                if matches!(part.kind, ExpressionKind::Name(_)) {
                    single = Some(field.to_owned());
                }
                let known = elements.iter().position(|(_, known)| *known == part);
                let number = known.unwrap_or_else(|| {
                    elements.push((field.to_owned(), part.clone()));
                    elements.len() - 1
                });
                Expression::name(format!("__field{number}"))
            });
            if let Some(field) = single {
                return Err(format!(
                    "`{field}` is a single value, which stencils of DaCe's do not read; expand it first"
                ));
            }
            let target = AssignmentTarget { name: Name::new(name), indices: Vec::new() };
            let kind = StatementKind::Assign { target, annotation: None, value };
            block.push(Statement { kind, span: Span::default() });
        }
        let is_c = property(node, "dialect").and_then(Expression::own_name) == Some("c");
        if !is_c {
            for (number, (field, _)) in elements.iter().enumerate() {
                let element = self.element_at(graph, id, field).ok_or("an input is not connected")?;
                environment.input(format!("__field{number}"), element);
            }
            for symbol in self.sdfg.symbols() {
                environment.add_symbol(symbol.0.as_str(), symbol.1);
            }
            let first = |why: Vec<String>| why.into_iter().next().unwrap_or_default();
            let code = TaskletCode::from_block(&block, Dialect::Python)
                .map_err(|errors| first(errors.iter().map(ToString::to_string).collect()))?;
            let typed = typecheck(&code, &environment)
                .map_err(|errors| first(errors.iter().map(ToString::to_string).collect()))?;
            block = typed::block(&typed)?;
        }
        let rank = self.iterators(node, &elements);
        // DaCe 1.0.2 does not read `a[-1]`, but offsets count from that of the output.
        let offsets = elements.iter().filter_map(|(_, element)| single_offset(element));
        let shift = if rank == 1 { offsets.map(|offset| -offset).fold(0, i64::max) } else { 0 };
        let center = || vec![Index::Point(Expression::integer(shift)); rank];
        let is_output = |name: &str| node.outputs.iter().any(|output| output.name == name);
        let fields: BTreeMap<String, &Expression> =
            elements.iter().enumerate().map(|(at, (_, part))| (format!("__field{at}"), part)).collect();
        let mut failed = None;
        let mut block = map_block(block, &mut |part| {
            if let ExpressionKind::Name(name) = &part.kind {
                if let Some(element) = fields.get(name) {
                    return if rank == 1 { shifted(element, shift) } else { (*element).clone() };
                }
                if is_output(name) {
                    let kind =
                        ExpressionKind::Subscript { base: Name::new(name.as_str()), indices: center() };
                    return Expression { kind, span: part.span };
                }
            }
            spelled_python(part.clone()).unwrap_or_else(|why| {
                failed.get_or_insert(why);
                part
            })
        });
        for statement in &mut block {
            if let StatementKind::Assign { target, annotation, .. } = &mut statement.kind {
                *annotation = None;
                if is_output(&target.name.text) {
                    target.indices = center();
                }
            }
        }
        failed.map_or_else(|| Ok(print_block(&block).trim_end().to_owned()), Err)
    }

    /// Number of iterators of a stencil.
    fn iterators(&self, node: &LibraryNode, elements: &[(String, Expression)]) -> usize {
        let subscripts = elements.iter().map(|(_, element)| match &element.kind {
            ExpressionKind::Subscript { indices, .. } => indices.len(),
            _ => 0,
        });
        let mapped = node.inputs.iter().map(|input| {
            let entry = |at: usize| format!("{ITERATORS}{}_{at}", input.name);
            (0..).take_while(|at| property(node, &entry(*at)).is_some()).count()
        });
        subscripts.chain(mapped).max().unwrap_or(0)
    }

    /// The type of an element at an input.
    fn element_at(&self, graph: &Graph<'_>, id: NodeId, connector: &str) -> Option<ElementType> {
        let edges = graph.state.in_edges(id).into_iter().map(|edge| graph.state.edge(edge));
        let mut edges = edges.filter(|edge| edge.dst_connector.as_deref() == Some(connector));
        let access = edges.find_map(|edge| edge.memlet.read_access())?;
        Some(self.sdfg.container(access.container).element)
    }
}

fn property<'n>(node: &'n LibraryNode, name: &str) -> Option<&'n Expression> {
    node.properties.iter().find(|(known, _)| known == name).map(|(_, value)| value)
}

fn is_input(node: &LibraryNode, name: &str) -> bool {
    node.inputs.iter().any(|input| input.name == name)
}

/// The offset in the only dimension.
fn single_offset(element: &Expression) -> Option<i64> {
    match &element.kind {
        ExpressionKind::Subscript { indices, .. } => match indices.as_slice() {
            [Index::Point(at)] => Expr::from_expression(at).ok()?.as_int(),
            _ => None,
        },
        _ => None,
    }
}

/// The element with another offset in its only dimension.
fn shifted(element: &Expression, by: i64) -> Expression {
    match (&element.kind, single_offset(element)) {
        (ExpressionKind::Subscript { base, .. }, Some(offset)) => {
            let indices = vec![Index::Point(Expression::integer(offset + by))];
            let kind = ExpressionKind::Subscript { base: base.clone(), indices };
            Expression { kind, span: element.span }
        }
        _ => element.clone(),
    }
}

/// A boundary condition as DaCe has it.
fn condition(value: Option<&Expression>) -> Result<Json, String> {
    let mut found = IndexMap::new();
    let mut set = |kind: &str| found.insert("btype".to_owned(), Json::Text(kind.to_owned()));
    match value.map(|value| (value, value.own_name())) {
        None | Some((_, Some("shrink"))) => {
            set("shrink");
        }
        Some((_, Some("copy"))) => {
            set("copy");
        }
        Some((value, _)) => {
            set("constant");
            let value = number(value)
                .ok_or_else(|| format!("the boundary condition `{value}` must be a number here"))?;
            found.insert("value".to_owned(), value);
        }
    }
    Ok(Json::Object(found))
}
