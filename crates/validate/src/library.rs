//! Rule: form of library nodes. The registry that expands an operation defines its meaning and properties.

use sdfg_graph::diagnostic::Code;
use sdfg_graph::ir::{LibraryNode, NodeKind};
use sdfg_language::symbolic::Symbol;
use sdfg_language::syntax::ExpressionKind;
use sdfg_language::tasklet::{Dialect, Environment, typecheck_expression};

use super::scope_context::ScopeContexts;
use super::site::{Findings, Site};

/// Checks the library nodes of a state: each property is given once, and its value is a word, or known
/// where the node stands; code uses what has a value there.
pub(super) fn check(site: &Site<'_>, frames: &ScopeContexts, findings: &mut Findings) {
    for (id, node) in site.state.nodes() {
        let NodeKind::Library(library) = &node.kind else { continue };
        let error = |message: String| site.node_error(Code::LibraryProperty, id, None, message);
        if Symbol::new(&library.operation).is_err() {
            findings.push(error(format!("`{}` cannot name an operation", library.operation)));
        }
        let frame = frames.at(id);
        let mut environment = Environment::new();
        for (name, ty) in frame.typed(site.sdfg) {
            environment.add_symbol(name, ty);
        }
        for (index, (name, value)) in library.properties.iter().enumerate() {
            if library.properties[..index].iter().any(|(earlier, _)| earlier == name) {
                findings
                    .push(error(format!("the property `{name}` is given twice")).suggest("keep one of them"));
            }
            if LibraryNode::assigned(name).is_some() {
                // Names with a dot are constants, such as `math.pi`.
                let known = |used: &str| {
                    used.contains('.') || environment.symbol(used).is_some() || is_bound(library, index, used)
                };
                if let Some(unknown) = value.names().into_iter().find(|used| !known(used)) {
                    let message = format!("`{name} = {value}` uses `{unknown}`, which has no value there");
                    let advice = "use inputs of the node, names that code before it computes, and symbols";
                    findings.push(error(message).suggest(advice));
                }
                continue;
            }
            // A bare name may be a word that the operation knows.
            let is_word = matches!(value.kind, ExpressionKind::Name(_));
            if !is_word
                && let Err(errors) = typecheck_expression(value, Dialect::Python, &environment)
                && let Some(first) = errors.first()
            {
                let message = format!("the property `{name} = {value}` has no value here: {first}");
                findings.push(error(message).suggest("use literals, and symbols that have a value here"));
            }
        }
    }
}

/// Whether a name has a value in the code that is property number `index`.
fn is_bound(library: &LibraryNode, index: usize, name: &str) -> bool {
    library.inputs.iter().any(|connector| connector.name == name)
        || library.properties[..index].iter().any(|(earlier, _)| LibraryNode::assigned(earlier) == Some(name))
}
