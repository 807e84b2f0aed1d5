//! Containers that are shown after a run, also those that live only inside of the program.
//!
//! A transient that is to be shown becomes an argument, whose elements are undefined before the run: so it is there after
//! the run, in the interpreter and in native code alike, and neither has to know of it.

use sdfg::analysis::ScopeTree;
use sdfg::ir::{ContainerId, ContainerKind, Sdfg};
use sdfg::validate::{Validated, validate};

use super::options::DataOptions;
use crate::failure::{Failure, did_you_mean};

/// A program that shows what it is asked for.
pub(crate) struct Exposed {
    pub(crate) program: Validated,
    /// Arguments that were transients.
    pub(crate) transients: Vec<String>,
}

/// The program with the transients that are to be shown as arguments.
pub(crate) fn with_dumped_transients(program: Validated, options: &DataOptions) -> Result<Exposed, Failure> {
    let mut exposed = Vec::new();
    for dump in &options.dumps {
        let place = format!("--dump {}", dump.name);
        let id = find(program.sdfg(), &dump.name).map_err(|failure| failure.at(&place))?;
        if program.sdfg().container(id).is_argument() {
            continue;
        }
        check(program.sdfg(), id).map_err(|failure| failure.at(&place))?;
        if options.inputs.iter().any(|input| input.name == dump.name) {
            let what = format_args!("`{}` is transient: it has no contents before the run", dump.name);
            return Err(Failure::usage(what).at(format_args!("--input {}=...", dump.name)));
        }
        exposed.push(id);
    }
    if exposed.is_empty() {
        return Ok(Exposed { program, transients: Vec::new() });
    }
    let mut sdfg = program.sdfg().clone();
    let mut transients = Vec::new();
    for id in exposed {
        let container = sdfg.container_mut(id);
        container.transient = false;
        transients.push(container.name.clone());
    }
    let program = validate(sdfg).map_err(|rejected| {
        Failure::usage(format_args!("the transients cannot be arguments: {rejected}")).at("--dump")
    })?;
    Ok(Exposed { program, transients })
}

fn find(sdfg: &Sdfg, name: &str) -> Result<ContainerId, Failure> {
    sdfg.find_container(name).ok_or_else(|| {
        let known: Vec<String> = sdfg.containers().map(|(_, container)| container.name.clone()).collect();
        let similar = did_you_mean(name, known.iter().map(String::as_str));
        Failure::usage(format_args!("the program has no container `{name}`{similar}"))
            .help(format_args!("its containers are {}", known.join(", ")))
    })
}

/// Whether a transient can be an argument without a change of what the program does.
fn check(sdfg: &Sdfg, id: ContainerId) -> Result<(), Failure> {
    let container = sdfg.container(id);
    let name = &container.name;
    match &container.kind {
        ContainerKind::Scalar | ContainerKind::Array(_) if container.constant.is_some() => {
            return Err(Failure::usage(format_args!("`{name}` is a constant")));
        }
        ContainerKind::Scalar | ContainerKind::Array(_) => {}
        ContainerKind::Stream { .. } => {
            return Err(Failure::usage(format_args!(
                "`{name}` is a stream, whose elements go away when they are taken"
            ))
            .help("show what they are put into"));
        }
        ContainerKind::View(_) | ContainerKind::Reference(_) => {
            return Err(Failure::usage(format_args!("`{name}` has no memory of its own"))
                .help("show the container that it is bound to"));
        }
    }
    if let Some(symbol) = container
        .shape()
        .iter()
        .flat_map(|extent| extent.free_symbols())
        .find(|symbol| sdfg.symbol_type(symbol).is_none())
    {
        return Err(Failure::usage(format_args!(
            "the size of `{name}` uses `{symbol}`, which the program sets"
        ))
        .help("only transients whose size the caller knows can be shown"));
    }
    let in_a_scope = sdfg.states().any(|(_, state)| {
        let tree = ScopeTree::of(state);
        state.accesses_of(id).any(|node| tree.scope_of(node).is_some())
    });
    if in_a_scope {
        return Err(Failure::usage(format_args!(
            "`{name}` is used inside of a scope, where each iteration may have its own"
        ))
        .help("show what the scope writes"));
    }
    Ok(())
}
