//! Containers that are shown after a run, including transients, as they are at the end or after a block.
//!
//! A transient that is shown at the end becomes an argument whose elements are undefined before the run. To
//! show a container as it was after a block, the program is extended with a copy into an additional argument.
//! The interpreter and native code both run the extended program, and neither needs support for dumps.

use sdfg::analysis::ScopeTree;
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{
    Access, BlockId, BlockKind, Container, ContainerId, ContainerKind, Edge, Layout, Memlet, Node, NodeKind,
    Sdfg,
};
use sdfg::subset::Subset;
use sdfg::symbolic::Expr;
use sdfg::validate::{Validated, validate};

use super::arguments::listed;
use super::options::DataOptions;
use crate::failure::{Failure, did_you_mean};

/// A program that shows what it is asked for.
pub(crate) struct Exposed {
    pub(crate) program: Validated,
    /// Arguments that the program as it was written does not have: nobody gives them contents.
    pub(crate) added: Vec<String>,
    /// For each of the dumps, the argument that has its elements after the run.
    pub(crate) shown: Vec<String>,
}

/// The program with what is to be shown as arguments.
pub(crate) fn with_dumps(program: Validated, options: &DataOptions) -> Result<Exposed, Failure> {
    let mut sdfg = program.sdfg().clone();
    // Validation tells of what comes of it, below.
    let mut editor = Editor::of_draft(&mut sdfg);
    let (mut added, mut shown) = (Vec::new(), Vec::new());
    for dump in &options.dumps {
        let at = |failure: Failure| failure.at(format_args!("--dump {}", dump.text()));
        // What is added for one dump is not there for the next.
        let id = find(program.sdfg(), &dump.name).map_err(at)?;
        if !program.sdfg().container(id).is_argument() {
            check(program.sdfg(), id).map_err(at)?;
            refuse_input(options, &dump.name)?;
        }
        shown.push(match &dump.block {
            Some(block) => {
                let name = copy_after(&mut editor, id, block).map_err(at)?;
                added.push(name.clone());
                name
            }
            None => {
                if editor.sdfg().container(id).transient {
                    editor
                        .change_container(id, |container| container.transient = false)
                        .map_err(|refusal| at(Failure::usage(refusal)))?;
                    added.push(dump.name.clone());
                }
                dump.name.clone()
            }
        });
    }
    editor.commit().map_err(Failure::usage)?;
    if added.is_empty() {
        return Ok(Exposed { program, added, shown });
    }
    let program = validate(sdfg).map_err(|rejected| {
        Failure::usage(format_args!("what is to be shown cannot be an argument: {rejected}")).at("--dump")
    })?;
    Ok(Exposed { program, added, shown })
}

fn refuse_input(options: &DataOptions, name: &str) -> Result<(), Failure> {
    if options.inputs.iter().all(|input| input.name != name) {
        return Ok(());
    }
    let what = format_args!("`{name}` is transient: it has no contents before the run");
    Err(Failure::usage(what).at(format_args!("--input {name}=...")))
}

/// Copies a container into a new argument each time after a block has run; gives the name of that.
fn copy_after(editor: &mut Editor<'_>, id: ContainerId, label: &str) -> Result<String, Failure> {
    let sdfg = editor.sdfg();
    let container = sdfg.container(id);
    let shape = container.shape().to_vec();
    if let ContainerKind::Stream { .. } = container.kind {
        return Err(Failure::usage("a stream cannot be copied").help("show what its elements are put into"));
    }
    let kind = match container.kind {
        ContainerKind::Scalar => ContainerKind::Scalar,
        ContainerKind::Array(_)
        | ContainerKind::Stream { .. }
        | ContainerKind::View(_)
        | ContainerKind::Reference(_) => ContainerKind::Array(Layout::packed(shape.clone())),
    };
    let element = container.element;
    let Some(block) = sdfg.find_block(label) else {
        let known: Vec<String> = sdfg.blocks().map(|(_, block)| block.label.clone()).collect();
        let similar = did_you_mean(label, known.iter().map(String::as_str));
        return Err(Failure::usage(format_args!("the program has no block `{label}`{similar}"))
            .help(format_args!("its blocks are {}", known.join(", "))));
    };
    let origin = container.name.clone();
    let name = editor.derived_container_name(&origin, "dump");
    insert_copy(editor, block, (id, Container::new(&name, element, kind)), &shape).map_err(Failure::usage)?;
    Ok(name)
}

/// Copies a container into a new one in a state after a block.
fn insert_copy(
    editor: &mut Editor<'_>,
    block: BlockId,
    (id, copy): (ContainerId, Container),
    shape: &[Expr],
) -> Result<(), EditError> {
    let copy = editor.add_container(copy)?;
    let after = editor.insert_state_after(block)?;
    if let BlockKind::State(state) = editor.sdfg().block(after).kind {
        let mut node = |container: ContainerId, label: &str| {
            let kind = NodeKind::Access(container);
            editor.add_node(state, Node { label: label.to_owned(), kind, loc: None })
        };
        let (src, dst) = (node(id, "from")?, node(copy, "to")?);
        let whole = |container| Access::elements(container, Subset::full(shape));
        let memlet = Memlet::copy(whole(id), whole(copy));
        let (src_connector, dst_connector, loc) = (None, None, None);
        editor.add_edge(state, Edge { src, src_connector, dst, dst_connector, memlet, loc })?;
    }
    Ok(())
}

fn find(sdfg: &Sdfg, name: &str) -> Result<ContainerId, Failure> {
    sdfg.find_container(name).ok_or_else(|| {
        let known: Vec<String> = sdfg.containers().map(|(_, container)| container.name.clone()).collect();
        let similar = did_you_mean(name, known.iter().map(String::as_str));
        Failure::usage(format_args!("the program has no container `{name}`{similar}"))
            .help(listed("containers", &known))
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
