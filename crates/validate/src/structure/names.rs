//! Rule: names. Each is valid and unique.

use std::collections::BTreeMap;

use sdfg_graph::diagnostic::{Code, Diagnostic, Element, Secondary};
use sdfg_graph::ir::{Connector, NodeId, NodeKind};
use sdfg_language::syntax::{ExpressionKind, parse_expression};

use super::super::site::{Findings, Program, Site};

/// Whether a name can stand in code and be a C identifier: ASCII letters, digits and `_`, and no word of the language.
fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && matches!(parse_expression(name), Ok(found) if matches!(found.kind, ExpressionKind::Name(_)))
}

const WHAT_NAMES_ARE: &str =
    "names are letters, digits and `_`, do not start with a digit and are no words of the language";

/// Names of the SDFG, its containers and its blocks.
pub(super) fn check(program: &Program<'_>, findings: &mut Findings) {
    let sdfg = program.sdfg;
    if !is_name(&sdfg.name) {
        let message = format!("`{}` cannot name an SDFG", sdfg.name);
        let error = Diagnostic::error(Code::InvalidName, program.path.clone(), message).at(sdfg.loc.as_ref());
        findings.push(error.suggest(WHAT_NAMES_ARE));
    }
    containers(program, findings);
    block_labels(program, findings);
}

fn containers(program: &Program<'_>, findings: &mut Findings) {
    let mut seen = BTreeMap::new();
    for (_, container) in program.sdfg.containers() {
        if !is_name(&container.name) {
            let message = format!("`{}` cannot name a container", container.name);
            let error = program.container_error(Code::InvalidName, container, message);
            findings.push(error.suggest(WHAT_NAMES_ARE));
        }
        if let Some(first) = seen.insert(container.name.as_str(), container) {
            let message = format!("there is another container `{}`", container.name);
            findings.push(program.container_error(Code::DuplicateName, container, message).also(Secondary {
                message: "the other one".to_owned(),
                path: program.path.to(Element::Container(first.name.clone())),
                loc: first.loc.clone(),
            }));
        }
        if program.sdfg.symbols().any(|(symbol, _)| symbol.as_str() == container.name) {
            let message = format!("`{}` names a symbol and a container", container.name);
            let error = program.container_error(Code::DuplicateName, container, message);
            findings.push(error.suggest("rename one of them"));
        }
    }
}

fn block_labels(program: &Program<'_>, findings: &mut Findings) {
    let mut seen = BTreeMap::new();
    for (id, block) in program.sdfg.blocks() {
        if block.label.is_empty() {
            let message = format!("a {} has an empty label", block.kind.noun());
            findings.push(program.block_error(Code::InvalidName, id, message));
        }
        if let Some(first) = seen.insert(block.label.as_str(), id) {
            let message = format!("there is another block `{}`", block.label);
            findings.push(program.block_error(Code::DuplicateLabel, id, message).also(Secondary {
                message: "the other one".to_owned(),
                path: program.block_path(first),
                loc: program.sdfg.block(first).loc.clone(),
            }));
        }
    }
}

/// Labels of nodes and names of their connectors.
pub(super) fn check_state(site: &Site<'_>, findings: &mut Findings) {
    let mut seen = BTreeMap::new();
    for (id, node) in site.state.nodes() {
        if node.label.is_empty() {
            let message = format!("a {} has an empty label", node.kind.noun());
            findings.push(site.node_error(Code::InvalidName, id, None, message));
        }
        connector_names(site, id, node.kind.inputs(), findings);
        connector_names(site, id, node.kind.outputs(), findings);
        if let NodeKind::Tasklet(tasklet) = &node.kind {
            for input in
                tasklet.inputs.iter().filter(|input| tasklet.outputs.iter().any(|o| o.name == input.name))
            {
                let message =
                    format!("`{}` is an input and an output, code cannot tell which it means", input.name);
                findings.push(site.node_error(Code::DuplicateConnector, id, Some(&input.name), message));
            }
        }
        // A scope's exit shares the label of its entry; that it does is a rule of scopes.
        if node.kind.exit_of().is_some() {
            continue;
        }
        if let Some(first) = seen.insert(node.label.as_str(), id) {
            let message = format!("there is another node `{}` in this state", node.label);
            findings.push(site.node_error(Code::DuplicateLabel, id, None, message).also(Secondary {
                message: "the other one".to_owned(),
                path: site.path.to(Element::Node(site.end(first, None))),
                loc: site.node_loc(first).cloned(),
            }));
        }
    }
}

fn connector_names(site: &Site<'_>, node: NodeId, connectors: &[Connector], findings: &mut Findings) {
    for (index, connector) in connectors.iter().enumerate() {
        let name = connector.name.as_str();
        if !is_name(name) {
            let message = format!("`{name}` cannot name a connector");
            findings
                .push(site.node_error(Code::InvalidName, node, Some(name), message).suggest(WHAT_NAMES_ARE));
        }
        if connectors[..index].iter().any(|other| other.name == name) {
            let message = format!("there is another connector `{name}` on the same side");
            findings.push(site.node_error(Code::DuplicateConnector, node, Some(name), message));
        }
    }
}
