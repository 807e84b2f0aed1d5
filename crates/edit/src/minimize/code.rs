//! Reduction of code: drops statements, and replaces expressions by parts of themselves or by constants.

use sdfg_graph::ir::draft::{DraftSdfg, DraftState};
use sdfg_graph::ir::{BlockKind, Connector, NodeKind, Sdfg, TaskletBody};
use sdfg_language::syntax::{
    AssignmentTarget, Expression, ExpressionKind, FloatLiteral, Index, Name, Span, Statement, StatementKind,
};
use sdfg_language::tasklet::{Code, Dialect};

use super::step::Change;

/// Replaces an expression within a tree: what `new` gives something for, and inside of everything else.
pub(super) fn rewrite(
    expression: &Expression,
    new: &mut dyn FnMut(&Expression) -> Option<Expression>,
) -> Expression {
    if let Some(replaced) = new(expression) {
        return replaced;
    }
    let mut boxed = |inner: &Expression| Box::new(rewrite(inner, new));
    let kind = match &expression.kind {
        ExpressionKind::Integer(_)
        | ExpressionKind::Float(_)
        | ExpressionKind::Imaginary(_)
        | ExpressionKind::Bool(_)
        | ExpressionKind::Name(_) => return expression.clone(),
        ExpressionKind::Unary { op, operand } => ExpressionKind::Unary { op: *op, operand: boxed(operand) },
        ExpressionKind::Binary { op, left, right } => {
            ExpressionKind::Binary { op: *op, left: boxed(left), right: boxed(right) }
        }
        ExpressionKind::Compare { first, rest } => ExpressionKind::Compare {
            first: boxed(first),
            rest: rest.iter().map(|(op, operand)| (*op, *boxed(operand))).collect(),
        },
        ExpressionKind::Conditional { condition, then, otherwise } => ExpressionKind::Conditional {
            condition: boxed(condition),
            then: boxed(then),
            otherwise: boxed(otherwise),
        },
        ExpressionKind::Call { function, arguments } => ExpressionKind::Call {
            function: function.clone(),
            arguments: arguments.iter().map(|argument| *boxed(argument)).collect(),
        },
        ExpressionKind::Subscript { base, indices } => ExpressionKind::Subscript {
            base: base.clone(),
            indices: indices.iter().map(|index| rewrite_index(index, new)).collect(),
        },
    };
    Expression { kind, span: expression.span }
}

fn rewrite_index(index: &Index, new: &mut dyn FnMut(&Expression) -> Option<Expression>) -> Index {
    match index {
        Index::Point(at) => Index::Point(rewrite(at, new)),
        Index::Range { begin, end, step, tile, span } => {
            let mut part = |part: &Option<Expression>| part.as_ref().map(|part| rewrite(part, new));
            Index::Range {
                begin: part(begin),
                end: part(end),
                step: part(step),
                tile: part(tile),
                span: *span,
            }
        }
    }
}

/// Replaces statements and expressions of a block in the same way. A block inside of a statement that becomes empty holds
/// `pass`.
pub(super) fn rewrite_block(
    block: &[Statement],
    statements: &mut dyn FnMut(&Statement) -> Option<Vec<Statement>>,
    new: &mut dyn FnMut(&Expression) -> Option<Expression>,
) -> Vec<Statement> {
    let mut rewritten = Vec::new();
    for statement in block {
        if let Some(replaced) = statements(statement) {
            rewritten.extend(replaced);
            continue;
        }
        let mut inner = |block: &[Statement], new: &mut dyn FnMut(&Expression) -> Option<Expression>| {
            let found = rewrite_block(block, statements, new);
            let pass = Statement { kind: StatementKind::Pass, span: Span::default() };
            if found.is_empty() && !block.is_empty() { vec![pass] } else { found }
        };
        let kind = match &statement.kind {
            StatementKind::Assign { target, annotation, value } => {
                let mut target = target.clone();
                target.indices = target.indices.iter().map(|index| rewrite_index(index, new)).collect();
                StatementKind::Assign { target, annotation: annotation.clone(), value: rewrite(value, new) }
            }
            StatementKind::Augmented { target, op, value } => {
                let mut target = target.clone();
                target.indices = target.indices.iter().map(|index| rewrite_index(index, new)).collect();
                StatementKind::Augmented { target, op: *op, value: rewrite(value, new) }
            }
            StatementKind::If { branches, otherwise } => StatementKind::If {
                branches: branches
                    .iter()
                    .map(|(condition, body)| (rewrite(condition, new), inner(body, new)))
                    .collect(),
                otherwise: inner(otherwise, new),
            },
            StatementKind::For { variable, begin, end, step, body } => StatementKind::For {
                variable: variable.clone(),
                begin: begin.as_ref().map(|begin| rewrite(begin, new)),
                end: rewrite(end, new),
                step: step.as_ref().map(|step| rewrite(step, new)),
                body: inner(body, new),
            },
            StatementKind::While { condition, body } => {
                StatementKind::While { condition: rewrite(condition, new), body: inner(body, new) }
            }
            StatementKind::Pass => StatementKind::Pass,
        };
        rewritten.push(Statement { kind, span: statement.span });
    }
    rewritten
}

/// Candidates for the replacement of an expression: constants, then its parts.
fn simpler(expression: &Expression) -> Vec<Expression> {
    let constant = |kind| Expression { kind, span: Span::default() };
    let float = |value| FloatLiteral::new(value).map(|value| constant(ExpressionKind::Float(value)));
    let mut found: Vec<Expression> = [0, 1, 2].map(Expression::integer).to_vec();
    found.extend([0.0, 1.0].into_iter().filter_map(float));
    found.extend([Expression::bool(false), Expression::bool(true)]);
    match &expression.kind {
        ExpressionKind::Integer(value) if *value > 3 => {
            found.push(constant(ExpressionKind::Integer(value / 2)));
        }
        ExpressionKind::Integer(_)
        | ExpressionKind::Float(_)
        | ExpressionKind::Imaginary(_)
        | ExpressionKind::Bool(_)
        | ExpressionKind::Name(_) => {}
        // What was a pointer may have become a value.
        ExpressionKind::Subscript { base, .. } => found.push(Expression::name(&base.text)),
        ExpressionKind::Unary { op: _, operand } => found.push((**operand).clone()),
        ExpressionKind::Binary { op: _, left, right } => found.extend([(**left).clone(), (**right).clone()]),
        ExpressionKind::Compare { first, rest } => {
            found.push((**first).clone());
            found.extend(rest.iter().map(|(_, operand)| operand.clone()));
        }
        ExpressionKind::Conditional { condition, then, otherwise } => {
            found.extend([&**then, &**otherwise, &**condition].map(Expression::clone));
        }
        ExpressionKind::Call { function: _, arguments } => found.extend(arguments.iter().cloned()),
    }
    found.retain(|simpler| simpler != expression);
    found
}

/// Candidates for the replacement of a statement: nothing, its contents, or a plain assignment.
fn simpler_statements(statement: &Statement) -> Vec<Vec<Statement>> {
    let mut found = vec![Vec::new()];
    match &statement.kind {
        StatementKind::If { branches, otherwise } => {
            found.extend(branches.iter().map(|(_, body)| body.clone()));
            found.push(otherwise.clone());
        }
        StatementKind::For { body, .. } | StatementKind::While { body, .. } => found.push(body.clone()),
        StatementKind::Assign { target, annotation, value } => {
            let (value, annotation) = (value.clone(), annotation.clone());
            if !target.indices.is_empty() {
                let target = AssignmentTarget { indices: Vec::new(), ..target.clone() };
                let kind = StatementKind::Assign { target, annotation, value };
                found.push(vec![Statement { kind, span: statement.span }]);
            }
        }
        StatementKind::Augmented { target, op: _, value } => {
            let (target, value) = (target.clone(), value.clone());
            let kind = StatementKind::Assign { target, annotation: None, value };
            found.push(vec![Statement { kind, span: statement.span }]);
        }
        StatementKind::Pass => {}
    }
    found
}

/// The most simplifications of one piece of code that are tried in a row; more come up when some were made.
const SIMPLIFICATIONS: usize = 2000;

/// Expressions with one part simplified, outer parts first.
fn simpler_trees(expression: &Expression) -> Vec<Expression> {
    let mut found = Vec::new();
    let mut parts = Vec::new();
    expression.visit(&mut |part| parts.push(part.clone()));
    for (at, part) in parts.iter().enumerate() {
        for replacement in simpler(part) {
            let mut next = 0;
            let mut nth = |_: &Expression| {
                next += 1;
                (next == at + 1).then(|| replacement.clone())
            };
            found.push(rewrite(expression, &mut nth));
        }
        if found.len() > SIMPLIFICATIONS {
            break;
        }
    }
    found
}

/// Blocks with one statement or expression simplified, statements first.
fn simpler_blocks(block: &[Statement]) -> Vec<Vec<Statement>> {
    let mut found = Vec::new();
    let (mut statements, mut expressions) = (Vec::new(), Vec::new());
    // Both are numbered in the order in which `rewrite_block` comes by.
    rewrite_block(
        block,
        &mut |statement| {
            statements.push(statement.clone());
            None
        },
        &mut |expression| {
            expressions.push(expression.clone());
            None
        },
    );
    for (at, statement) in statements.iter().enumerate() {
        for replacement in simpler_statements(statement) {
            let mut next = 0;
            let mut nth = |_: &Statement| {
                next += 1;
                (next == at + 1).then(|| replacement.clone())
            };
            found.push(rewrite_block(block, &mut nth, &mut |_| None));
        }
    }
    for (at, expression) in expressions.iter().enumerate() {
        for replacement in simpler(expression) {
            let mut next = 0;
            let mut nth = |_: &Expression| {
                next += 1;
                (next == at + 1).then(|| replacement.clone())
            };
            found.push(rewrite_block(block, &mut |_| None, &mut nth));
        }
        if found.len() > SIMPLIFICATIONS {
            break;
        }
    }
    found
}

/// Code that writes zero to every output, in the place of a C function.
fn zeros(outputs: &[Connector]) -> Vec<Statement> {
    let assign = |output: &Connector| {
        let target = AssignmentTarget { name: Name::new(&output.name), indices: Vec::new() };
        let kind = StatementKind::Assign { target, annotation: None, value: Expression::integer(0) };
        Statement { kind, span: Span::default() }
    };
    outputs.iter().map(assign).collect()
}

/// Tasklets with one statement or expression simplified.
pub(super) fn simpler_tasklets(sdfg: &Sdfg) -> Vec<Change> {
    let mut changes = Vec::new();
    for (state, graph) in sdfg.states() {
        for (id, node) in graph.nodes() {
            let NodeKind::Tasklet(tasklet) = &node.kind else { continue };
            let (blocks, dialect) = match &tasklet.body {
                TaskletBody::Code(code) => (simpler_blocks(code.block()), code.dialect()),
                TaskletBody::External(_) => (vec![zeros(&tasklet.outputs)], Dialect::default()),
            };
            for block in blocks {
                let Ok(code) = Code::from_block(&block, dialect) else { continue };
                changes.push(Change::new(format!("simpler code in `{}`", node.label), move |sdfg| {
                    sdfg.get_state(state)?.get_node(id)?;
                    let NodeKind::Tasklet(tasklet) = &mut sdfg.state_mut(state).node_mut(id).kind else {
                        return None;
                    };
                    tasklet.body = TaskletBody::Code(code.clone());
                    Some(())
                }));
            }
        }
    }
    changes
}

/// Conditions, assignments and bounds of control flow with one part simplified.
pub(super) fn simpler_control(sdfg: &Sdfg) -> Vec<Change> {
    let mut changes = Vec::new();
    for (id, block) in sdfg.blocks() {
        for kind in simpler_kinds(&block.kind) {
            changes.push(Change::new(format!("simpler expressions in `{}`", block.label), move |sdfg| {
                sdfg.get_block(id)?;
                sdfg.block_mut(id).kind = kind.clone();
                Some(())
            }));
        }
    }
    for (id, transition) in sdfg.transitions() {
        let mut found = Vec::new();
        for condition in transition.condition.iter().flat_map(simpler_trees) {
            found.push((Some(condition), transition.assignments.clone()));
        }
        for (at, (symbol, value)) in transition.assignments.iter().enumerate() {
            for value in simpler_trees(value) {
                let mut assignments = transition.assignments.clone();
                assignments[at] = (symbol.clone(), value);
                found.push((transition.condition.clone(), assignments));
            }
        }
        let label = &sdfg.block(transition.src).label;
        for (condition, assignments) in found {
            changes.push(Change::new(format!("simpler expressions after `{label}`"), move |sdfg| {
                sdfg.get_transition(id)?;
                let transition = sdfg.transition_mut(id);
                transition.condition.clone_from(&condition);
                transition.assignments.clone_from(&assignments);
                Some(())
            }));
        }
    }
    changes
}

fn simpler_kinds(kind: &BlockKind) -> Vec<BlockKind> {
    let mut found = Vec::new();
    match kind {
        BlockKind::Loop(repeated) => {
            let changed = |change: &dyn Fn(&mut sdfg_graph::ir::Loop)| {
                let mut repeated = repeated.clone();
                change(&mut repeated);
                BlockKind::Loop(repeated)
            };
            for init in repeated.init.iter().flat_map(simpler_trees) {
                found.push(changed(&|repeated| repeated.init = Some(init.clone())));
            }
            for condition in simpler_trees(&repeated.condition) {
                found.push(changed(&|repeated| repeated.condition = condition.clone()));
            }
            for update in repeated.update.iter().flat_map(simpler_trees) {
                found.push(changed(&|repeated| repeated.update = Some(update.clone())));
            }
        }
        BlockKind::Branch(branch) => {
            for (at, (condition, _)) in branch.arms.iter().enumerate() {
                for condition in simpler_trees(condition) {
                    let mut branch = branch.clone();
                    branch.arms[at].0 = condition;
                    found.push(BlockKind::Branch(branch));
                }
            }
        }
        BlockKind::State(_) | BlockKind::Break | BlockKind::Continue | BlockKind::Return => {}
    }
    found
}
