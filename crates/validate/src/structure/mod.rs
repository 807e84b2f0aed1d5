//! The first phase: structural validity of the graph. All later rules, the interpreter and code generation
//! rely on it: ids are valid, names are unique, blocks form a tree, scopes nest, connectors are connected.

mod connectors;
mod control;
mod names;
mod scopes;

use sdfg_graph::diagnostic::Code;
use sdfg_graph::ir::NodeKind;

use super::site::{Findings, Program, Site};

/// SDFGs within SDFGs beyond which a program is refused; it bounds the stack of every recursion over a program.
const MAX_NESTING: usize = 64;

/// Checks an SDFG and the ones nested in it.
pub(super) fn check(program: &Program<'_>, findings: &mut Findings) {
    names::check(program, findings);
    control::check(program, findings);
    for site in program.sites() {
        check_state(program, &site, findings);
    }
}

fn check_state(program: &Program<'_>, site: &Site<'_>, findings: &mut Findings) {
    names::check_state(site, findings);
    dangling_containers(site, findings);
    connectors::check(site, findings);
    scopes::check(site, findings);
    for (id, node) in site.state.nodes() {
        if let NodeKind::Nested(nested) = &node.kind {
            if program.depth >= MAX_NESTING {
                let message = format!("this is the {MAX_NESTING}th SDFG within another");
                findings.push(site.node_error(Code::NestingTooDeep, id, None, message));
            } else {
                check(&program.nested(site, id, nested, site.device), findings);
            }
        }
    }
}

/// Access nodes and memlets name containers that are present.
fn dangling_containers(site: &Site<'_>, findings: &mut Findings) {
    for (id, node) in site.state.nodes() {
        if let Some(container) = node.kind.container()
            && site.sdfg.get_container(container).is_none()
        {
            let message = format!("this node uses container {container}, which does not exist");
            findings.push(site.node_error(Code::DanglingReference, id, None, message));
        }
    }
    for (id, edge) in site.state.edges() {
        for access in edge.memlet.accesses() {
            if site.sdfg.get_container(access.container).is_none() {
                let message = format!("the memlet uses container {}, which does not exist", access.container);
                findings.push(site.edge_error(Code::DanglingReference, id, message));
            }
        }
    }
}
