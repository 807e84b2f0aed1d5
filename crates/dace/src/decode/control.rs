//! Decodes regions, blocks, interstate edges and loops.

use std::sync::Arc;

use sdfg::ir::Port;
use sdfg::syntax::{Expression, ExpressionKind, StatementKind};

use super::{ANYWHERE, Decoder};
use crate::model::{
    Block, BlockKind, Edge, InterstateEdge, LoopRegion, Memlet, Node, NodeKind, Region, State,
};
use crate::report::{Code, Failed};
use crate::wire::{List, Object, Path, Place, Value};

/// Keys of blocks beside `attributes` that repeat what stands elsewhere.
const BLOCK_KEYS: [&str; 16] = [
    "attributes",
    "collapsed",
    "id",
    "cfg_list_id",
    "sdfg_list_id",
    "dace_version",
    "scope_dict",
    "nodes",
    "edges",
    "start_block",
    "start_state",
    "error",
    "type",
    "label",
    "branches",
    "source_files",
];

/// Properties of blocks and edges that change nothing that is computed.
const BLOCK_PROPERTIES: [&str; 13] = [
    "dynamic_executions",
    "executions",
    "ranges",
    "instrument",
    "invariant_conditions",
    "is_collapsed",
    "location",
    "nosync",
    "pre_conditions",
    "post_conditions",
    "symbol_instrument",
    "symbol_instrument_condition",
    "label",
];

impl Decoder<'_> {
    /// The blocks and edges of an object that holds them.
    pub(super) fn region(&self, object: &Object<'_>, place: &Place<'_>) -> Result<Region, Failed> {
        let mut region = Region::default();
        let mut failed = None;
        for (at, value) in object.optional_list("nodes")?.iter().enumerate() {
            match self.block(value, place.entry("nodes", at)) {
                Ok(block) => region.blocks.push(block),
                Err(error) => failed = Some(error),
            }
        }
        if let Some(error) = failed {
            return Err(error);
        }
        for (at, value) in object.optional_list("edges")?.iter().enumerate() {
            region.edges.push(self.interstate_edge(value, place.entry("edges", at), region.blocks.len())?);
        }
        region.start = self.start(object, place, &region)?;
        Ok(region)
    }

    /// The one block without incoming edges, else the one that the file names.
    fn start(
        &self,
        object: &Object<'_>,
        place: &Place<'_>,
        region: &Region,
    ) -> Result<Option<usize>, Failed> {
        let count = region.blocks.len();
        let is_source =
            |block: &usize| !region.edges.iter().any(|edge| edge.dst == *block && edge.src != *block);
        let sources: Vec<usize> = (0..count).filter(is_source).collect();
        match (count, sources.as_slice()) {
            (0, _) => Ok(None),
            (_, [start]) => Ok(Some(*start)),
            _ if object.get("start_block").is_some() => object.index("start_block", count).map(Some),
            _ if object.get("start_state").is_some() => object.index("start_state", count).map(Some),
            _ => Err(self.log.error(Code::ControlFlow, place, "it is open which block runs first")),
        }
    }

    fn block(&self, value: Value<'_>, place: Place<'_>) -> Result<Block, Failed> {
        let object = Object::of(value, place, self.log)?;
        let kind = object.text("type")?;
        let attributes = Object::of(object.get("attributes").unwrap_or(Value::EMPTY), place, self.log)?;
        attributes.ignore(&ANYWHERE);
        attributes.ignore(&BLOCK_PROPERTIES);
        let label = match object.optional_text("label")? {
            Some(label) => label.to_owned(),
            None => attributes.optional_text("label")?.unwrap_or("block").to_owned(),
        };
        let kind = match kind {
            "SDFGState" => BlockKind::State(self.state(&object, &place)?),
            "LoopRegion" => BlockKind::Loop(Box::new(self.loop_region(&object, &attributes, &place)?)),
            "ConditionalBlock" => BlockKind::Conditional(self.branches(&object, &place)?),
            "ControlFlowRegion" | "NamedRegion" | "FunctionCallRegion" | "UnstructuredControlFlow" => {
                let body = self.region(&object, &place)?;
                BlockKind::Group { body, arguments: self.values(&attributes, "arguments", &place)? }
            }
            "BreakBlock" => BlockKind::Break,
            "ContinueBlock" => BlockKind::Continue,
            "ReturnBlock" => BlockKind::Return,
            // Old files name no type for states, or that of a subclass.
            _ if object.get("scope_dict").is_some() => BlockKind::State(self.state(&object, &place)?),
            other => {
                let message = format!("blocks of kind `{other}` are not supported");
                return Err(self.log.error(Code::ControlFlow, &place, message));
            }
        };
        attributes.finish();
        object.ignore(&BLOCK_KEYS);
        object.finish();
        Ok(Block { label, kind })
    }

    fn branches(
        &self,
        object: &Object<'_>,
        place: &Place<'_>,
    ) -> Result<Vec<(Option<Expression>, Region)>, Failed> {
        let mut branches = Vec::new();
        for (at, branch) in object.list("branches")?.iter().enumerate() {
            let here = place.entry("branches", at);
            let Some([condition, region]) = branch.as_list().and_then(List::exactly) else {
                let message = "expected a condition and a region";
                return Err(self.log.error(Code::Malformed, &here, message));
            };
            let condition = match condition {
                Value::Null => None,
                found => Some(self.code_expression(found, &here.at("condition"))?),
            };
            let region = Object::of(region, here, self.log)?;
            branches.push((condition, self.region(&region, &here)?));
        }
        Ok(branches)
    }

    fn interstate_edge(
        &self,
        value: Value<'_>,
        place: Place<'_>,
        blocks: usize,
    ) -> Result<InterstateEdge, Failed> {
        let object = Object::of(value, place, self.log)?;
        let (src, dst) = (object.index("src", blocks)?, object.index("dst", blocks)?);
        let outer = Object::of(object.required("attributes")?, place, self.log)?;
        let data = Object::of(outer.required("data")?, place, self.log)?;
        let attributes = Object::of(data.get("attributes").unwrap_or(Value::EMPTY), place, self.log)?;
        let condition = match attributes.get("condition") {
            None => None,
            Some(found) => Some(self.code_expression(found, &place.at("condition"))?),
        };
        let mut assignments = Vec::new();
        for (name, value) in attributes.pairs("assignments")? {
            let here = place.at("assignments");
            let here = here.at(name);
            let value = match value {
                Value::Text(text) => self.control_expression(text, &here)?,
                Value::Integer(number) => Expression::integer(number),
                Value::Float(number) => Expression::float(number),
                Value::Bool(value) => Expression::bool(value),
                other => {
                    let message = format!("expected an expression, found {}", other.noun());
                    return Err(self.log.error(Code::Malformed, &here, message));
                }
            };
            assignments.push((name.to_owned(), value));
        }
        attributes.ignore(&ANYWHERE);
        attributes.finish();
        let is_always = |condition: &Expression| {
            matches!(condition.kind, ExpressionKind::Bool(true) | ExpressionKind::Integer(1))
        };
        let condition = condition.filter(|condition| !is_always(condition));
        Ok(InterstateEdge { src, dst, condition, assignments, path: place.to_string() })
    }

    /// The expression of a code property, or of a plain text.
    fn code_expression(&self, value: Value<'_>, place: &Place<'_>) -> Result<Expression, Failed> {
        let text = self.python(value, place)?;
        self.control_expression(text.trim(), place)
    }

    /// The text of a code property, which must be Python.
    fn python<'j>(&self, value: Value<'j>, place: &Place<'_>) -> Result<&'j str, Failed> {
        if let Some(text) = value.as_text() {
            return Ok(text);
        }
        let language = value.get("language").and_then(Value::as_text).unwrap_or("Python");
        if language != "Python" {
            let message = format!("control flow in {language} is not supported");
            return Err(self.log.error(Code::Language, place, message));
        }
        value
            .get("string_data")
            .and_then(Value::as_text)
            .ok_or_else(|| self.log.error(Code::Malformed, place, "`string_data` must be a text"))
    }

    fn loop_region(
        &self,
        object: &Object<'_>,
        attributes: &Object<'_>,
        place: &Place<'_>,
    ) -> Result<LoopRegion, Failed> {
        let variable = attributes.optional_text("loop_variable")?.filter(|name| !name.is_empty());
        let condition = match attributes.get("loop_condition") {
            Some(found) => self.code_expression(found, &place.at("loop_condition"))?,
            None => Expression::bool(true),
        };
        let loop_region = LoopRegion {
            variable: variable.map(str::to_owned),
            init: self.step(attributes, "init_statement", variable, place)?,
            condition,
            update: self.step(attributes, "update_statement", variable, place)?,
            inverted: attributes.flag("inverted", false)?,
            update_before_condition: attributes.flag("update_before_condition", true)?,
            unroll: attributes.flag("unroll", false)?,
            body: self.region(object, place)?,
            path: place.to_string(),
        };
        attributes.ignore(&["unroll_factor"]);
        Ok(loop_region)
    }

    /// The value that a statement of a loop gives to its variable.
    fn step(
        &self,
        attributes: &Object<'_>,
        property: &str,
        variable: Option<&str>,
        place: &Place<'_>,
    ) -> Result<Option<Expression>, Failed> {
        let Some(found) = attributes.get(property) else { return Ok(None) };
        let here = place.at(property);
        let text = self.python(found, &here)?;
        if text.trim().is_empty() {
            return Ok(None);
        }
        let mut block = self.control_statements(text.trim(), &here)?;
        block.retain(|statement| !matches!(statement.kind, StatementKind::Pass));
        let value = match block.as_slice() {
            [statement] => match &statement.kind {
                StatementKind::Assign { target, value, .. }
                    if Some(target.name.text.as_str()) == variable && target.indices.is_empty() =>
                {
                    Some(value.clone())
                }
                StatementKind::Augmented { target, op, value }
                    if Some(target.name.text.as_str()) == variable && target.indices.is_empty() =>
                {
                    Some(Expression::binary(*op, Expression::name(&*target.name.text), value.clone()))
                }
                _ => None,
            },
            _ => None,
        };
        match value {
            Some(value) => Ok(Some(value)),
            None => {
                let message = format!("`{text}` does not assign the variable of the loop and nothing else");
                Err(self.log.error(Code::ControlFlow, &here, message))
            }
        }
    }
}

impl Decoder<'_> {
    /// The dataflow graph of a state.
    fn state(&self, object: &Object<'_>, place: &Place<'_>) -> Result<State, Failed> {
        let mut state = State::default();
        let path: Arc<str> = place.to_string().into();
        let nodes: Vec<Value<'_>> = object.optional_list("nodes")?.iter().collect();
        let mut failed = None;
        for (at, value) in nodes.iter().enumerate() {
            match self.node(*value, place.entry("nodes", at), Path::entry(&path, "nodes", at), &nodes) {
                Ok(node) => state.nodes.push(node),
                Err(error) => failed = Some(error),
            }
        }
        for (at, value) in object.optional_list("edges")?.iter().enumerate() {
            match self.edge(value, place.entry("edges", at), Path::entry(&path, "edges", at), nodes.len()) {
                Ok(edge) => state.edges.push(edge),
                Err(error) => failed = Some(error),
            }
        }
        state.edges.iter_mut().for_each(|edge| name_passage(&state.nodes, edge));
        order_callbacks(&mut state);
        failed.map_or(Ok(state), Err)
    }
}

/// Turns the scalar through which DaCe orders callbacks into edges that only order.
fn order_callbacks(state: &mut State) {
    let State { nodes, edges } = state;
    for edge in edges {
        if edge.src_connector.as_deref() == Some("__ostate") {
            nodes.get_mut(edge.src).map(|node| node.outputs.shift_remove("__ostate"));
        } else if edge.dst_connector.as_deref() == Some("__istate") {
            nodes.get_mut(edge.dst).map(|node| node.inputs.shift_remove("__istate"));
        } else {
            continue;
        }
        (edge.src_connector, edge.dst_connector) = (None, None);
        edge.memlet = Memlet::default();
    }
}

/// Gives an edge with data at the begin or end of a scope the connector that programs built by hand leave out.
fn name_passage(nodes: &[Node], edge: &mut Edge) {
    let Some(data) = &edge.memlet.data else { return };
    let is_scope = |node: usize| match nodes.get(node).map(|node| &node.kind) {
        Some(
            NodeKind::MapEntry(_)
            | NodeKind::MapExit(_)
            | NodeKind::ConsumeEntry(_)
            | NodeKind::ConsumeExit(_),
        ) => true,
        Some(
            NodeKind::Access { .. }
            | NodeKind::Tasklet { .. }
            | NodeKind::Nested { .. }
            | NodeKind::Library { .. },
        )
        | None => false,
    };
    if is_scope(edge.dst) && edge.dst_connector.is_none() {
        edge.dst_connector = Some(Port::In(data).into());
    }
    if is_scope(edge.src) && edge.src_connector.is_none() {
        edge.src_connector = Some(Port::Out(data).into());
    }
}
