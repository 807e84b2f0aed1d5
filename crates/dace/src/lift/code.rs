//! Tasklet code, and the types of connectors.
//!
//! Code in C's dialect is DaCe's own and is kept, apart from the spelling of functions. Code in Python's
//! dialect is written from its typed form, which contains every conversion, so that C++ computes the same
//! values.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use sdfg::analysis::TaskletConnectors;
use sdfg::dtype::ScalarType;
use sdfg::ir::{Flow, NodeId, Tasklet, TaskletBody};
use sdfg::syntax::{
    AssignmentTarget, Expression, ExpressionKind, Name, Statement, StatementKind, print_block, visit_block,
    visit_bound_names,
};
use sdfg::tasklet::{
    Code as TaskletCode, ConnectorKind, Dialect, Direction, Environment, typecheck, typecheck_expression,
};

use super::SdfgLifting;
use super::functions::{conversion, element, spelled};
use super::names::is_reserved;
use super::state::Graph;
use super::typed;
use crate::model::Dtype;
use crate::report::{Code, Failed};
use crate::text::map_block;

type Connectors = IndexMap<String, Option<Dtype>>;

impl SdfgLifting<'_> {
    /// The connectors of a tasklet; those of values between code nodes have their type, as no container tells it.
    pub(super) fn tasklet_connectors(
        &self,
        graph: &Graph<'_>,
        id: NodeId,
        tasklet: &Tasklet,
    ) -> Result<(Connectors, Connectors), Failed> {
        let found = TaskletConnectors::of(self.sdfg, graph.state, id, tasklet, []);
        let (mut inputs, mut outputs) = (Connectors::new(), Connectors::new());
        for ((name, connector), edges) in found.environment.connectors().zip(&found.edges) {
            if self.reads_constant(&graph.constants, id, name) {
                continue;
            }
            if connector.element.lanes() > 1 || connector.element.lane() == ScalarType::F16 {
                let message = format!("`{name}` is of type {}, which DaCe's code has not", connector.element);
                return Err(self.refuse_node(graph, id, Code::UnwritableType, message));
            }
            let flow = edges.first().map(|edge| &graph.state.edge(*edge).memlet);
            let carries_value = flow.is_some_and(|memlet| matches!(memlet.flow, Flow::Value));
            let container = flow.and_then(|memlet| memlet.accesses().next());
            let stored = container.map(|access| self.sdfg.container(access.container).element);
            if stored.is_some_and(|stored| stored != connector.element) {
                let message =
                    format!("`{name}` is of another type than its container; convert it in the code");
                return Err(self.refuse_node(graph, id, Code::UnwritableCode, message));
            }
            let ty = carries_value.then(|| Dtype::of(connector.element));
            let name = self.connector_name(tasklet, name);
            match connector.direction {
                Direction::In => inputs.insert(name, ty),
                Direction::Out => outputs.insert(name, ty),
            };
        }
        Ok((inputs, outputs))
    }

    /// The name of a connector there: one of its own where a container has it, which C++ would take it for.
    pub(super) fn connector_name(&self, tasklet: &Tasklet, name: &str) -> String {
        let is_taken = |name: &str| self.sdfg.find_container(name).is_some();
        let is_used = |name: &str| match &tasklet.body {
            TaskletBody::Code(code) => code.source().contains(name),
            TaskletBody::External(_) => false,
        };
        let mut found = name.to_owned();
        while is_taken(&found) || is_reserved(&found) || (found != name && is_used(&found)) {
            found = format!("__{found}");
        }
        found
    }

    /// The code of a tasklet as Python that DaCe compiles, and whether it was in the arithmetic of Python, whose meaning its text
    /// has in C++, too.
    pub(super) fn code(
        &self,
        graph: &Graph<'_>,
        id: NodeId,
        tasklet: &Tasklet,
    ) -> Result<(String, bool), Failed> {
        let TaskletBody::Code(code) = &tasklet.body else { return Ok((String::new(), false)) };
        let refuse = |why: String| self.refuse_node(graph, id, Code::UnwritableCode, why);
        // What the code names and does not assign is a connector or a symbol.
        let mut names: BTreeSet<String> = BTreeSet::new();
        visit_block(code.block(), &mut |part| names.extend(part.own_name().map(str::to_owned)));
        visit_bound_names(code.block(), &mut |name| {
            names.remove(&name.text);
        });
        let mut reserved: BTreeSet<String> = BTreeSet::new();
        visit_bound_names(code.block(), &mut |name| {
            if is_reserved(&name.text) {
                reserved.insert(name.text.clone());
            }
        });
        let symbols = names.into_iter().map(|name| (name, ScalarType::I64));
        let connectors = TaskletConnectors::of(self.sdfg, graph.state, id, tasklet, symbols);
        let connected = tasklet.inputs.iter().chain(&tasklet.outputs);
        let connected = connected.filter(|input| !self.reads_constant(&graph.constants, id, &input.name));
        let named = connected.map(|connector| connector.name.clone()).chain(reserved);
        let renamed = named.filter_map(|name| {
            let other = self.connector_name(tasklet, &name);
            (other != name).then(|| (name, Expression::name(other)))
        });
        let renamed: BTreeMap<String, Expression> = renamed.collect();
        let block = match code.dialect() {
            Dialect::C => code.block().to_vec(),
            Dialect::Python => {
                let typed = typecheck(code, &connectors.environment)
                    .map_err(|errors| refuse(errors.first().map_or_else(String::new, ToString::to_string)))?;
                typed::block(&typed).map_err(refuse)?
            }
        };
        // What is one element is a value in DaCe, also where the code indexes it.
        let mut elements = BTreeSet::new();
        for ((name, connector), edges) in connectors.environment.connectors().zip(&connectors.edges) {
            let memlet = edges.first().map(|edge| &graph.state.edge(*edge).memlet);
            let access = memlet.and_then(|memlet| memlet.accesses().next());
            let is_constant = self.reads_constant(&graph.constants, id, name);
            let is_element = access.is_some_and(|access| !access.is_queue() && access.subset().is_element());
            let is_element = is_element && !is_constant;
            if is_element && matches!(connector.kind, ConnectorKind::Pointer { .. }) {
                elements.insert(name.to_owned());
            }
        }
        let complex = connectors.environment.connectors().find(|(_, connector)| {
            connector.direction == Direction::Out && connector.element.lane().is_complex()
        });
        let complex = complex.map(|(name, _)| name);
        let mut failed = None;
        let mut block = map_block(block, &mut |part| {
            let part = plain_element(part, &elements, &connectors.environment);
            let part = self.constant_part(&graph.constants, id, part.clone()).unwrap_or_else(|name| {
                failed.get_or_insert(format!("a part of the constant `{name}` is not known"));
                part
            });
            let part = spelled(part.clone(), complex).unwrap_or_else(|why| {
                failed.get_or_insert(why);
                part
            });
            of_one_type(part, &connectors.environment)
        });
        for statement in &mut block {
            plain_targets(statement, &elements);
        }
        if let Some(why) = failed {
            return Err(refuse(format!("{why} in DaCe's code")));
        }
        let is_pythonic =
            code.dialect() == Dialect::Python && print_block(&block) == print_block(code.block());
        if renamed.is_empty() {
            return Ok((print_block(&block), is_pythonic));
        }
        let code = TaskletCode::from_block(&block, Dialect::C).and_then(|code| code.replace_names(&renamed));
        let code =
            code.map_err(|errors| refuse(errors.first().map_or_else(String::new, ToString::to_string)))?;
        Ok((print_block(code.block()), is_pythonic))
    }
}

/// Functions of DaCe's runtime whose operands must be of one type in C++.
const OF_ONE_TYPE: [&str; 3] = ["py_floor", "py_mod", "cpp_mod"];

/// A call of one of [`OF_ONE_TYPE`] with operands of its type, where that can be told.
fn of_one_type(expression: Expression, environment: &Environment) -> Expression {
    let ExpressionKind::Call { function, arguments } = &expression.kind else { return expression };
    if !OF_ONE_TYPE.contains(&function.text.as_str()) {
        return expression;
    }
    let typed = typecheck_expression(&expression, Dialect::C, environment);
    let Some(ty) = typed.ok().and_then(|typed| typed.expression.ty.as_scalar()) else { return expression };
    let is_of_type = |argument: &Expression| match &argument.kind {
        ExpressionKind::Name(name) => environment
            .connector(name)
            .is_some_and(|(_, connector)| connector.element.as_scalar() == Some(ty)),
        ExpressionKind::Float(_) => ty == ScalarType::F64,
        ExpressionKind::Call { function, .. } => function.text == conversion(ty),
        _ => false,
    };
    let converted = arguments.iter().map(|argument| match is_of_type(argument) {
        true => argument.clone(),
        false => Expression::call(&conversion(ty), vec![argument.clone()]),
    });
    // Operands of one type that are no names stay as they are: literals beside literals.
    if arguments.iter().any(is_of_type) {
        Expression::call(&function.text, converted.collect())
    } else {
        expression
    }
}

/// Elements that are values as names, and elements that are written as calls as subscripts.
fn plain_element(
    expression: Expression,
    elements: &BTreeSet<String>,
    environment: &Environment,
) -> Expression {
    match &expression.kind {
        ExpressionKind::Subscript { base, .. } if elements.contains(&base.text) => {
            Expression::name(&*base.text)
        }
        ExpressionKind::Call { function, .. } if elements.contains(&function.text) => {
            Expression::name(&*function.text)
        }
        ExpressionKind::Call { function, arguments } if environment.connector(&function.text).is_some() => {
            element(&function.text, arguments.clone())
        }
        _ => expression,
    }
}

/// The type of a local, as a conversion to it is spelled.
fn spelled_type(annotation: &mut Name) {
    let conversion = spelled(Expression::call(&annotation.text, vec![Expression::integer(0)]), None);
    if let Ok(ExpressionKind::Call { function, .. }) = conversion.map(|found| found.kind) {
        annotation.text = function.text;
    }
}

/// Left sides without indices of what is one element, and the types of locals in DaCe's spelling.
fn plain_targets(statement: &mut Statement, elements: &BTreeSet<String>) {
    let plain = |target: &mut AssignmentTarget| {
        if elements.contains(&target.name.text) {
            target.indices.clear();
        }
    };
    match &mut statement.kind {
        StatementKind::Assign { target, annotation, .. } => {
            plain(target);
            if let Some(annotation) = annotation {
                spelled_type(annotation);
            }
        }
        StatementKind::Augmented { target, .. } => plain(target),
        StatementKind::If { branches, otherwise } => {
            let blocks = branches.iter_mut().map(|(_, block)| block).chain([otherwise]);
            blocks.flatten().for_each(|inner| plain_targets(inner, elements));
        }
        StatementKind::For { body, .. } | StatementKind::While { body, .. } => {
            body.iter_mut().for_each(|inner| plain_targets(inner, elements));
        }
        StatementKind::Pass => {}
    }
}
