//! Stencils: DaCe's code, a text of assignments to fields with offsets, as one property for each computed
//! value.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use sdfg::ir::LibraryNode;
use sdfg::symbolic::{Expr, Symbol};
use sdfg::syntax::{
    AssignmentTarget, Expression, ExpressionKind, Index, Statement, StatementKind, UnaryOp, map_expression,
    parse_expression,
};

use super::SdfgLowering;
use super::unroll::unrolled;
use crate::model;
use crate::report::{Code, Failed};
use crate::text::statements;
use crate::wire::Json;

/// Maximum number of parts of a value: values computed within one statement are substituted where they are
/// used.
const LARGEST: usize = 1 << 10;

/// Meaning of names at a place of the code.
type Values = BTreeMap<String, Expression>;

/// Facts about the fields of a stencil.
struct Fields<'n> {
    node: &'n model::Node,
    /// The iterators of the fields that do not follow all of them.
    iterators: BTreeMap<&'n str, Vec<usize>>,
    /// The offset of what is written, which all others are relative to.
    center: Vec<i64>,
}

impl SdfgLowering<'_> {
    /// The properties of a stencil.
    pub(super) fn stencil(
        &self,
        node: &model::Node,
        properties: &IndexMap<String, Json>,
    ) -> Result<Vec<(String, Expression)>, Failed> {
        let refuse = |message: String| self.log().error(Code::LibraryNode, &node.path, message);
        let mut found = vec![("dialect".to_owned(), Expression::name("c"))];
        let mut iterators = BTreeMap::new();
        for (name, value) in entries(properties.get("iterator_mapping")).map_err(refuse)? {
            let Json::List(flags) = value else {
                return Err(refuse(format!("`iterator_mapping` of `{name}` is no list")));
            };
            let mut used = Vec::new();
            for (at, flag) in flags.iter().enumerate() {
                let is_used = matches!(flag, Json::Bool(true) | Json::Integer(1));
                found.push((format!("iterator_mapping_{name}_{at}"), Expression::bool(is_used)));
                used.extend(is_used.then_some(at));
            }
            iterators.insert(name, used);
        }
        for (name, value) in entries(properties.get("boundary_conditions")).map_err(refuse)? {
            if !node.inputs.contains_key(name) {
                continue;
            }
            let value = boundary(value).ok_or_else(|| {
                refuse(format!("the boundary condition of `{name}` is none of shrink, copy and constant"))
            })?;
            found.push((format!("boundary_conditions_{name}"), value));
        }
        let text = properties.get("code");
        let text = text.and_then(|code| code.as_text().or_else(|| code.get("string_data")?.as_text()));
        let block = statements(text.unwrap_or_default(), self.shared.structs, &node.path, self.log())?;
        let known = |name: &str| -> Option<Expression> {
            let number = || self.numbers.get(&Symbol::new(name).ok()?)?.to_expression();
            self.literals.get(name).cloned().or_else(number)
        };
        let block = unrolled(&block, &known).map_err(refuse)?;
        let mut fields = Fields { node, iterators, center: Vec::new() };
        fields.find_center(&block).map_err(refuse)?;
        found.extend(fields.properties(&block, &known).map_err(refuse)?);
        Ok(found)
    }
}

/// The entries of a dictionary, which DaCe writes as such or as a list of dictionaries.
fn entries(value: Option<&Json>) -> Result<Vec<(&str, &Json)>, String> {
    let mut found = Vec::new();
    match value {
        None | Some(Json::Null) => {}
        Some(Json::Object(all)) => found.extend(all.iter().map(|(name, value)| (name.as_str(), value))),
        Some(Json::List(parts)) => {
            for part in parts {
                found.extend(entries(Some(part))?);
            }
        }
        Some(other) => return Err(format!("expected a dictionary, found {}", other.noun())),
    }
    Ok(found)
}

fn boundary(condition: &Json) -> Option<Expression> {
    let value = match condition.get("btype")?.as_text()? {
        word @ ("shrink" | "copy") => return Some(Expression::name(word)),
        "constant" => condition.get("value")?,
        _ => return None,
    };
    match value {
        Json::Integer(value) => Some(Expression::integer(*value)),
        Json::Float(value) => Some(Expression::float(*value)),
        Json::Text(text) => parse_expression(text).ok(),
        Json::Null | Json::Bool(_) | Json::List(_) | Json::Object(_) => None,
    }
}

/// The numbers of a subscript.
fn offsets(name: &str, indices: &[Index]) -> Result<Vec<i64>, String> {
    let offset = |index: &Index| match index {
        Index::Point(at) => Expr::from_expression(at).ok()?.as_int(),
        Index::Range { .. } => None,
    };
    let found = indices.iter().map(offset).collect::<Option<Vec<i64>>>();
    found.ok_or_else(|| format!("an offset of `{name}` is no number"))
}

/// An offset as an index.
fn index(offset: i64) -> Index {
    let size = Expression::integer(offset.saturating_abs());
    Index::Point(if offset < 0 { Expression::unary(UnaryOp::Negate, size) } else { size })
}

impl<'n> Fields<'n> {
    /// Finds the offset at which the code writes, which is one for all outputs.
    fn find_center(&mut self, block: &[Statement]) -> Result<(), String> {
        for statement in block {
            match &statement.kind {
                StatementKind::Assign { target, .. } | StatementKind::Augmented { target, .. } => {
                    let found = offsets(&target.name.text, &target.indices)?;
                    if found.is_empty() {
                        continue;
                    }
                    if !self.center.is_empty() && self.center != found {
                        return Err("outputs are written at different offsets".to_owned());
                    }
                    self.center = found;
                }
                StatementKind::If { branches, otherwise } => {
                    for (_, branch) in branches {
                        self.find_center(branch)?;
                    }
                    self.find_center(otherwise)?;
                }
                // Loops are written out.
                StatementKind::For { .. } | StatementKind::While { .. } | StatementKind::Pass => {}
            }
        }
        Ok(())
    }

    /// One property for each value that a statement computes. The last value of a name keeps it.
    fn properties(
        &self,
        block: &[Statement],
        known: &dyn Fn(&str) -> Option<Expression>,
    ) -> Result<Vec<(String, Expression)>, String> {
        let mut steps: Vec<(String, Expression)> = Vec::new();
        let mut values = Values::new();
        for statement in block {
            let before = values.clone();
            self.run(std::slice::from_ref(statement), &mut values, known)?;
            for (name, value) in &mut values {
                if before.get(name) != Some(value) {
                    // No name of the code has a blank in it.
                    let version = format!("{name} {}", steps.len());
                    let value = std::mem::replace(value, Expression::name(version.as_str()));
                    steps.push((version, value));
                }
            }
        }
        let mut names = Values::new();
        for (at, (version, _)) in steps.iter().enumerate() {
            let name = version.split(' ').next().unwrap_or_default();
            let is_last = values.get(name).is_some_and(|last| last.own_name() == Some(version));
            let mut own = if is_last { name.to_owned() } else { format!("{name}__{at}") };
            while !is_last && values.contains_key(&own) {
                own.push('_');
            }
            names.insert(version.clone(), Expression::name(own));
        }
        let property =
            |version: &str| format!("{}{}", LibraryNode::CODE, names[version].own_name().unwrap_or_default());
        Ok(steps.iter().map(|(version, value)| (property(version), value.replace_names(&names))).collect())
    }

    /// Runs statements on values.
    fn run(
        &self,
        block: &[Statement],
        values: &mut Values,
        known: &dyn Fn(&str) -> Option<Expression>,
    ) -> Result<(), String> {
        for statement in block {
            match &statement.kind {
                StatementKind::Assign { target, value, .. } => {
                    let value = self.value(value, values, known)?;
                    values.insert(target.name.text.clone(), value);
                }
                StatementKind::Augmented { target, op, value } => {
                    let old = self.value(&read(target), values, known)?;
                    let new = self.value(value, values, known)?;
                    values.insert(target.name.text.clone(), Expression::binary(*op, old, new));
                }
                StatementKind::If { branches, otherwise } => {
                    let mut last = values.clone();
                    self.run(otherwise, &mut last, known)?;
                    for (condition, branch) in branches.iter().rev() {
                        let condition = self.value(condition, values, known)?;
                        let mut taken = values.clone();
                        self.run(branch, &mut taken, known)?;
                        last = either(&condition, taken, last);
                    }
                    *values = last;
                }
                StatementKind::For { .. } | StatementKind::While { .. } | StatementKind::Pass => {}
            }
        }
        Ok(())
    }

    /// A value with what its names stand for, and with offsets from what is written.
    fn value(
        &self,
        value: &Expression,
        values: &Values,
        known: &dyn Fn(&str) -> Option<Expression>,
    ) -> Result<Expression, String> {
        let mut failed = None;
        let found = map_expression(value.clone(), &mut |part| match self.part(&part, values, known) {
            Ok(found) => found.unwrap_or(part),
            Err(why) => {
                failed.get_or_insert(why);
                part
            }
        });
        if size(&found) > LARGEST {
            return Err("a value in a branch becomes too large; compute it in front of the branch".to_owned());
        }
        failed.map_or(Ok(found), Err)
    }

    fn part(
        &self,
        part: &Expression,
        values: &Values,
        known: &dyn Fn(&str) -> Option<Expression>,
    ) -> Result<Option<Expression>, String> {
        let Some(name) = part.own_name() else { return Ok(None) };
        let ExpressionKind::Subscript { base, indices } = &part.kind else {
            let is_own = self.node.inputs.contains_key(name);
            return Ok(values.get(name).cloned().or_else(|| if is_own { None } else { known(name) }));
        };
        let found = offsets(name, indices)?;
        if self.node.outputs.contains_key(name) && !self.node.inputs.contains_key(name) {
            let value = values.get(name).filter(|_| found == self.center);
            return value
                .cloned()
                .map(Some)
                .ok_or_else(|| format!("`{part}` is read before it is written, or at another offset"));
        }
        let all: Vec<usize> = (0..self.center.len()).collect();
        let iterators = self.iterators.get(name).unwrap_or(&all);
        let center = |at: usize| iterators.get(at).and_then(|i| self.center.get(*i)).copied().unwrap_or(0);
        let indices = found.iter().enumerate().map(|(at, offset)| index(offset - center(at))).collect();
        let kind = ExpressionKind::Subscript { base: base.clone(), indices };
        Ok(Some(Expression { kind, span: part.span }))
    }
}

/// Number of parts of an expression.
fn size(expression: &Expression) -> usize {
    let mut count = 0;
    expression.visit(&mut |_| count += 1);
    count
}

/// Contents of a target.
fn read(target: &AssignmentTarget) -> Expression {
    let name = Expression::name(target.name.text.as_str());
    if target.indices.is_empty() {
        return name;
    }
    let kind = ExpressionKind::Subscript { base: target.name.clone(), indices: target.indices.clone() };
    Expression { kind, span: name.span }
}

/// Meaning of names after a branch: those that both sides know.
fn either(condition: &Expression, taken: Values, other: Values) -> Values {
    let both = taken.into_iter().filter_map(|(name, then)| {
        let otherwise = other.get(&name)?.clone();
        let value = if then == otherwise {
            then
        } else {
            let (condition, then) = (Box::new(condition.clone()), Box::new(then));
            let kind = ExpressionKind::Conditional { condition, then, otherwise: Box::new(otherwise) };
            Expression { kind, span: sdfg::syntax::Span::default() }
        };
        Some((name, value))
    });
    both.collect()
}
