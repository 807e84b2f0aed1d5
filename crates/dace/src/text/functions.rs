//! Functions that tasklet code defines locally, such as `f = lambda a, b: a + b`, inlined at their calls.

use std::collections::BTreeMap;

use sdfg::syntax::{
    Block, Expression, ExpressionKind, Lambda, ParseError, map_block, map_expression, parse_lambda,
};

/// The functions of a tasklet, by name.
#[derive(Default)]
pub(super) struct Functions(BTreeMap<String, Lambda>);

impl Functions {
    /// Takes the definitions out of code: those on lines of their own, outside of other statements. Their lines are left empty.
    ///
    /// # Errors
    /// What is wrong with a definition.
    pub(super) fn take_from(code: &str) -> Result<(String, Self), Vec<ParseError>> {
        let mut functions = Functions::default();
        if !code.contains("lambda") {
            return Ok((code.to_owned(), functions));
        }
        let mut rest = String::with_capacity(code.len());
        for line in code.lines() {
            match definition(line) {
                Some((name, text)) => {
                    let Lambda { parameters, body } = parse_lambda(text)?;
                    // What it calls was defined before it.
                    let body = functions.written_out_in(body);
                    functions.0.insert(name.to_owned(), Lambda { parameters, body });
                }
                None => rest.push_str(line),
            }
            rest.push('\n');
        }
        Ok((rest, functions))
    }

    /// Code with the functions' bodies in the place of their calls.
    pub(super) fn written_out(&self, code: Block) -> Block {
        if self.0.is_empty() { code } else { map_block(code, &mut |part| self.call(part)) }
    }

    fn written_out_in(&self, expression: Expression) -> Expression {
        map_expression(expression, &mut |part| self.call(part))
    }

    fn call(&self, expression: Expression) -> Expression {
        let ExpressionKind::Call { function, arguments } = &expression.kind else { return expression };
        let Some(found) = self.0.get(&function.text) else { return expression };
        if found.parameters.len() != arguments.len() {
            return expression;
        }
        let given = found.parameters.iter().map(|parameter| parameter.text.clone()).zip(arguments.clone());
        found.body.replace_names(&given.collect())
    }
}

/// A text without the parentheses around all of it.
pub(super) fn without_parentheses(text: &str) -> &str {
    let mut bare = text.trim();
    while let Some(inner) = bare.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
        bare = inner.trim();
    }
    bare
}

/// The name and the text of the function that a line defines.
fn definition(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    let is_name = |name: &str| name.chars().all(|c| c.is_alphanumeric() || c == '_') && !name.is_empty();
    let value = without_parentheses(value);
    (is_name(name.trim_end()) && value.starts_with("lambda")).then_some((name.trim_end(), value))
}
